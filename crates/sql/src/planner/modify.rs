//! INSERT, UPDATE, DELETE: a ModifyTable node over the rows to change
//! (createplan.c, preptlist.c).
//!
//! For UPDATE and DELETE the child's output row is
//!
//! ```text
//!   row id of the target ‖ columns of other FROM items that later expressions need
//! ```
//!
//! and where the target has partitions or inheritance children, the OID of the row's table after
//! the row id.
//!
//! New values, the recheck of WHERE and RETURNING are over
//! *target row (all columns) ‖ child's output*, so that they can be evaluated
//! again on a newer version of the row. If RETURNING names `old` or `new`, both versions
//! follow, each with its `tableoid` behind its columns, which is NULL where there is no such
//! version.

use super::inline::inline_ctes;
use super::joinpath::output_names;
use super::prep::prepare;
use super::pullup::pull_up_subqueries;
use super::recheck::Recheck;
use super::row_mark::replace_row_marks;
use super::{ColumnId, Planner, Rel, RteSet, and_all, collect_columns, column_id, node, to_slots};
use crate::bind::{stored_checks, stored_generated, stored_never_null};
use crate::expr::{Expr, TypeRef};
use crate::plan::*;
use crate::query::*;
use hashbrown::HashSet;
use std::sync::Arc;
use steppe_catalog::{RelKind, Relation};
use steppe_types::{Datum, Error, Result};

impl Planner<'_> {
    /// INSERT.
    pub(crate) fn insert(&mut self, mut query: Query) -> Result<Plan> {
        self.cte_levels.push(Vec::new());
        let planned = self.with_constants_of(|planner| planner.insert_plan(&mut query));
        self.cte_levels.pop();
        planned
    }

    fn insert_plan(&mut self, query: &mut Query) -> Result<Plan> {
        let (target, relation) = target_of(query)?;
        if relation.is_distributed() {
            return self.remote_insert(query, target, relation);
        }
        let child = self.insert_source(query)?;
        let mut layout = row_layout(target, &relation);
        // The executor sets the leaf of the new row.
        layout.extend(relation.partition_key.is_some().then_some((target, TABLE_OID)));
        let on_conflict = match query.on_conflict.take() {
            Some(conflict) => Some(conflict_action(conflict, target, &relation)?),
            None => None,
        };
        let returning = self.returning(query, target, &relation, &mut layout)?;
        let over = Over { child, assignments: Vec::new(), recheck: None, system: Vec::new() };
        self.modify(query, target, relation, over, on_conflict, returning)
    }

    /// The rows to insert, in the table's column order.
    pub(super) fn insert_source(&mut self, query: &mut Query) -> Result<Plan> {
        replace_row_marks(query);
        inline_ctes(query);
        pull_up_subqueries(query);
        self.plan_ctes(query)?;
        self.preprocess(query)?;
        self.simplify(query);
        let mut wanted = HashSet::new();
        query.targets.iter().for_each(|t| collect_columns(&t.expr, &mut wanted));
        let rel = self.plan_from_and_where(query, wanted, None, None)?.cheapest;
        project(rel, query.targets.iter().map(|t| t.expr.clone()).collect())
    }

    /// UPDATE and DELETE.
    pub(crate) fn update_or_delete(&mut self, mut query: Query) -> Result<Plan> {
        self.cte_levels.push(Vec::new());
        let planned = self.with_constants_of(|planner| planner.update_or_delete_plan(&mut query));
        self.cte_levels.pop();
        planned
    }

    fn update_or_delete_plan(&mut self, query: &mut Query) -> Result<Plan> {
        let (target, relation) = target_of(query)?;
        if relation.kind == RelKind::View {
            return self.instead_of_plan(query);
        }
        prepare(query);
        self.plan_ctes(query)?;
        self.preprocess(query)?;
        self.simplify(query);
        let recheck = Recheck::of_change(query, target).conditions;
        // The columns of other FROM items that later expressions need follow the row id.
        let mut needed = HashSet::new();
        query.assignments.iter().for_each(|(_, e)| collect_columns(e, &mut needed));
        recheck.iter().for_each(|e| collect_columns(e, &mut needed));
        let of_version = of_version(target, &needed);
        query.returning.iter().for_each(|t| collect_columns(&t.expr, &mut needed));
        let not_from = |rte| rte == target || versions_of(query).any(|version| version == rte);
        let many = self.is_in_many_tables(&query.rtes[target]);
        let mut columns = vec![(target, ROW_ID)];
        columns.extend(many.then_some((target, TABLE_OID)));
        let mut others: Vec<ColumnId> = needed.into_iter().filter(|c| !not_from(c.0)).collect();
        others.extend(of_version.into_iter().filter(|c| !columns.contains(c)));
        others.sort_unstable();
        columns.extend(&others);
        let system = columns.iter().enumerate();
        let system = system.filter(|(_, c)| is_of_version(target, **c)).map(|(at, c)| (at, c.1));
        let system = system.collect();
        let mut layout = row_layout(target, &relation);
        layout.extend(&columns);
        let wanted: HashSet<ColumnId> = columns.iter().copied().collect();
        self.changed = Some(target);
        self.current_of = query.current_of.take();
        self.keeps_partners = true;
        let planned = self.plan_from_and_where(query, wanted, None, None);
        self.changed = None;
        self.current_of = None;
        self.keeps_partners = false;
        let rel = planned?.cheapest;
        let child = project_columns(rel, &columns)?;

        let assignments = std::mem::take(&mut query.assignments)
            .into_iter()
            .map(|(column, e)| Ok((column, to_slots(e, &layout)?)))
            .collect::<Result<Vec<_>>>()?;
        let assignments = without_own_values(assignments);
        let recheck = and_all(recheck).map(|f| to_slots(f, &layout)).transpose()?;
        // RETURNING is over the changed rows.
        layout.iter_mut().filter(|c| is_of_version(target, **c)).for_each(|c| c.0 = NO_ENTRY);
        let returning = self.returning(query, target, &relation, &mut layout)?;
        let over = Over { child, assignments, recheck, system };
        self.modify(query, target, relation, over, None, returning)
    }

    /// UPDATE and DELETE of a view by INSTEAD OF triggers. The child's output row is the view's old
    /// row, the new values, and columns of other FROM items for RETURNING.
    fn instead_of_plan(&mut self, query: &mut Query) -> Result<Plan> {
        let (target, view) = target_of(query)?;
        prepare(query);
        self.plan_ctes(query)?;
        self.preprocess(query)?;
        self.simplify(query);
        let width = view.columns.len();
        let old = query.targets.iter().map(|t| t.expr.clone());
        let assigned = std::mem::take(&mut query.assignments);
        let mut output: Vec<Expr> = old.chain(assigned.iter().map(|(_, e)| e.clone())).collect();
        let mut layout = row_layout(target, &view);
        layout.extend(output.iter().map(|_| (NO_ENTRY, 0)));
        let mut needed = HashSet::new();
        query.returning.iter().for_each(|t| collect_columns(&t.expr, &mut needed));
        let not_from = |rte| rte == target || versions_of(query).any(|version| version == rte);
        let mut others: Vec<ColumnId> = needed.into_iter().filter(|c| !not_from(c.0)).collect();
        others.sort_unstable();
        layout.extend(&others);
        let mut wanted: HashSet<ColumnId> = others.iter().copied().collect();
        output.iter().for_each(|e| collect_columns(e, &mut wanted));
        let rel = self.plan_from_and_where(query, wanted, None, None)?.cheapest;
        for id in &others {
            let at = rel.layout.iter().position(|column| column == id);
            let at = at.ok_or_else(|| Error::internal("RETURNING lacks a column"))?;
            let at_slot = |index: usize| Expr::Slot { index, ty: rel.plan.types[index] };
            output.push(at_slot(at));
        }
        let child = project(rel, output)?;
        let value = |(i, (column, e)): (usize, &(usize, Expr))| {
            (*column, Expr::Slot { index: 2 * width + i, ty: e.ty() })
        };
        let assignments = assigned.iter().enumerate().map(value).collect();
        let returning = self.returning(query, target, &view, &mut layout)?;
        let over = Over { child, assignments, recheck: None, system: Vec::new() };
        self.modify(query, target, view, over, None, returning)
    }

    /// RETURNING over the target row; `tableoid` is known, or beside the row.
    fn returning(
        &mut self,
        query: &mut Query,
        target: usize,
        relation: &Relation,
        layout: &mut Vec<ColumnId>,
    ) -> Result<Option<Returning>> {
        if query.returning.is_empty() {
            return Ok(None);
        }
        if let Some(versions) = query.returning_versions {
            for rte in [versions.old, versions.new] {
                let rte = rte.unwrap_or(NO_ENTRY);
                layout.extend(row_layout(rte, relation));
                layout.push((rte, TABLE_OID));
            }
        }
        let many = match query.command {
            Command::Insert => relation.partition_key.is_some(),
            _ => self.is_in_many_tables(&query.rtes[target]),
        };
        let system = returned_system(query, target);
        layout.extend(system.iter().map(|(id, _)| *id));
        let known = |e: Expr| -> Result<Expr> {
            Ok(match e {
                Expr::Var { rte, column: -6, levels_up: 0, ty, .. } if rte == target && !many => {
                    Expr::Const(Datum::Oid(relation.oid), ty)
                }
                other => other,
            })
        };
        let list = query.returning.iter();
        let list = list.map(|t| to_slots(t.expr.clone().transform(&mut &known)?, layout));
        let list = list.collect::<Result<Vec<_>>>()?;
        let system = system.into_iter().map(|(id, of)| (of, id.1)).collect();
        Ok(Some(Returning { list, system }))
    }

    /// A change of a table looks its foreign keys up in the tables that they refer to, and changes
    /// the tables that refer to it.
    fn use_foreign_keys(&mut self, relation: &Relation, stores: bool) {
        for (_, key) in relation.foreign_keys().filter(|_| stores) {
            self.use_relation(key.table, RelationLock::RowShare);
        }
        let catalog = self.ctx.catalog;
        let mut referenced = Some(relation.oid);
        while let Some(oid) = referenced {
            let references = catalog.referencing(oid);
            self.referencing.extend(references.iter().map(|reference| reference.table.oid));
            let above = catalog.relation(oid).and_then(|table| table.partition_of.as_ref());
            referenced = above.map(|of| of.parent);
        }
    }

    fn modify(
        &mut self,
        query: &Query,
        target: usize,
        relation: Arc<Relation>,
        over: Over,
        on_conflict: Option<ConflictAction>,
        returning: Option<Returning>,
    ) -> Result<Plan> {
        let Over { child, assignments, recheck, system } = over;
        let (returning, returning_system) = match returning {
            Some(Returning { list, system }) => (Some(list), system),
            None => (None, Vec::new()),
        };
        self.use_relation(relation.oid, RelationLock::RowExclusive);
        self.use_foreign_keys(&relation, query.command != Command::Delete);
        let catalog = self.ctx.catalog;
        let (checks, generated, never_null) = match query.command {
            Command::Delete => (Vec::new(), Vec::new(), Vec::new()),
            _ => (
                stored_checks(catalog, &relation)?,
                stored_generated(catalog, &relation)?,
                stored_never_null(catalog, &relation)?,
            ),
        };
        let view_checks = view_checks(query, target, &relation)?;
        let alias = query.rtes[target].alias.clone();
        let indexes = self.ctx.catalog.indexes_of(&relation).cloned().collect();
        let entry = &query.rtes[target];
        let inserts = query.command == Command::Insert;
        let leaf = (!inserts && self.is_in_many_tables(entry)).then_some(1);
        let members = if inserts { Vec::new() } else { self.members(entry) };
        for member in &members {
            self.use_relation(member.relation.oid, RelationLock::RowExclusive);
            self.use_foreign_keys(&member.relation, query.command != Command::Delete);
        }
        let mut cost = child.cost;
        let names = modify_names(&relation, &alias, &child);
        cost.startup = cost.total;
        if returning.is_none() {
            cost.rows = 0.0;
            cost.width = 0;
        }
        let types = match &returning {
            Some(exprs) => exprs.iter().map(Expr::ty).collect(),
            None => Vec::new(),
        };
        let modify = ModifyTable {
            command: query.command,
            rel: ScanRelation { relation, alias },
            indexes,
            child,
            row_id: 0,
            leaf,
            members,
            assignments,
            recheck,
            generated,
            never_null,
            checks,
            view_checks,
            on_conflict,
            returning: returning.is_some(),
            returning_versions: query.returning_versions.map(|versions| {
                let alias =
                    |rte: Option<usize>| rte.map_or("".into(), |rte| query.rtes[rte].alias.clone());
                [alias(versions.old), alias(versions.new)]
            }),
            system,
            returning_system,
        };
        let mut plan = node(PlanNode::Modify(Box::new(modify)), types, names, cost);
        plan.project = returning;
        Ok(plan)
    }
}

/// WITH CHECK OPTION over the new row.
fn view_checks(query: &Query, target: usize, relation: &Relation) -> Result<Vec<(Arc<str>, Expr)>> {
    let layout = row_layout(target, relation);
    let checks = query.view_checks.iter();
    checks.map(|(name, e)| Ok((name.clone(), to_slots(e.clone(), &layout)?))).collect()
}

/// Stands for a version's entry where its name means something else: it is not referred to.
const NO_ENTRY: usize = usize::MAX;

/// Whether a column is a system column of the target that each version of a row has its own of.
fn is_of_version(target: usize, (rte, column): ColumnId) -> bool {
    rte == target && column < 0 && column != ROW_ID && column != TABLE_OID
}

/// The system columns that conditions and values need of the target.
fn of_version(target: usize, needed: &HashSet<ColumnId>) -> Vec<ColumnId> {
    let is_system = |c: &&ColumnId| is_of_version(target, **c) || **c == (target, TABLE_OID);
    needed.iter().filter(is_system).copied().collect()
}

/// The system columns that RETURNING needs, and of which version.
fn returned_system(query: &Query, target: usize) -> Vec<(ColumnId, VersionOf)> {
    let mut needed = HashSet::new();
    query.returning.iter().for_each(|t| collect_columns(&t.expr, &mut needed));
    let (old, new) = query.returning_versions.map_or((None, None), |v| (v.old, v.new));
    let of = |rte: usize| match rte {
        rte if rte == target => Some(VersionOf::Target),
        rte if Some(rte) == old => Some(VersionOf::Old),
        rte if Some(rte) == new => Some(VersionOf::New),
        _ => None,
    };
    let needed = needed.into_iter().filter(|id| is_of_version(id.0, *id));
    let mut found: Vec<_> = needed.filter_map(|id| Some((id, of(id.0)?))).collect();
    found.sort_unstable_by_key(|(id, _)| *id);
    found
}

/// The input of a change.
struct Over {
    child: Plan,
    assignments: Vec<(usize, Expr)>,
    recheck: Option<Expr>,
    /// System columns of the target in the child's output.
    system: Vec<(usize, i16)>,
}

/// A planned RETURNING.
struct Returning {
    list: Vec<Expr>,
    system: Vec<(VersionOf, i16)>,
}

/// The entries of RETURNING's `old` and `new`.
fn versions_of(query: &Query) -> impl Iterator<Item = usize> + use<> {
    query.returning_versions.into_iter().flat_map(|versions| versions.entries())
}

fn target_of(query: &Query) -> Result<(usize, Arc<Relation>)> {
    let target = query.result_relation.ok_or_else(|| Error::internal("no target table"))?;
    match &query.rtes[target].kind {
        RteKind::Relation(relation) => Ok((target, relation.clone())),
        _ => Err(Error::internal("the target of a change is no table")),
    }
}

/// All columns of a table in attribute order.
fn row_layout(rte: usize, relation: &Relation) -> Vec<ColumnId> {
    (1..=relation.columns.len() as i16).map(|a| (rte, a)).collect()
}

/// Leaves out assignments of a column to itself, which change no version of the row: with a key
/// among them an UPDATE would not be one of a row in place. An UPDATE with only such assignments
/// keeps them, for it locks the row all the same.
fn without_own_values(assignments: Vec<(usize, Expr)>) -> Vec<(usize, Expr)> {
    // The target row comes first in the input of the values.
    let is_own = |(column, value): &(usize, Expr)| matches!(value, Expr::Slot { index, .. } if index == column);
    if assignments.iter().all(is_own) {
        return assignments;
    }
    assignments.into_iter().filter(|assignment| !is_own(assignment)).collect()
}

fn project(rel: Rel, exprs: Vec<Expr>) -> Result<Plan> {
    let slots = exprs.into_iter().map(|e| to_slots(e, &rel.layout)).collect::<Result<Vec<_>>>()?;
    let mut plan = rel.plan;
    let types: Vec<TypeRef> = slots.iter().map(Expr::ty).collect();
    let as_it_is = types.len() == plan.types.len()
        && slots
            .iter()
            .enumerate()
            .all(|(i, e)| matches!(e, Expr::Slot { index, .. } if *index == i));
    if as_it_is {
        return Ok(plan);
    }
    if slots.iter().any(super::returns_set) {
        return Ok(super::project_set::project_sets(plan, slots));
    }
    if plan.project.is_some() {
        let (names, child_types, cost) = (output_names(&plan), plan.types.clone(), plan.cost);
        let above = PlanNode::Result { one_time_filter: None, child: Some(Box::new(plan)) };
        plan = node(above, child_types, names, cost);
    }
    plan.types = types;
    plan.project = Some(slots);
    Ok(plan)
}

fn project_columns(rel: Rel, columns: &[ColumnId]) -> Result<Plan> {
    let position = |c: &ColumnId| {
        rel.layout.iter().position(|l| l == c).ok_or_else(|| {
            Error::internal("a column that the change needs is not in the plan's row")
        })
    };
    let slots = columns
        .iter()
        .map(|c| {
            let index = position(c)?;
            Ok(Expr::Slot { index, ty: rel.plan.types[index] })
        })
        .collect::<Result<Vec<_>>>()?;
    if rel.layout == columns {
        return Ok(rel.plan);
    }
    project(Rel { layout: Vec::new(), rtes: RteSet::default(), ..rel }, slots)
}

/// ON CONFLICT over existing row ‖ excluded row.
fn conflict_action(
    conflict: OnConflict,
    target: usize,
    relation: &Relation,
) -> Result<ConflictAction> {
    let mut layout = row_layout(target, relation);
    layout.extend(row_layout(conflict.excluded, relation));
    let mut needed = HashSet::new();
    let mut conflict = conflict;
    if let Some((assignments, filter)) = &mut conflict.update {
        for expr in assignments.iter_mut().map(|(_, e)| e).chain(filter) {
            know_table(expr, target, relation)?;
        }
    }
    if let Some((assignments, filter)) = &conflict.update {
        let exprs = assignments.iter().map(|(_, e)| e).chain(filter);
        exprs.for_each(|e| collect_columns(e, &mut needed));
    }
    let mut system: Vec<ColumnId> =
        needed.into_iter().filter(|id| is_of_version(target, *id)).collect();
    system.sort_unstable();
    layout.extend(&system);
    let update = match conflict.update {
        None => None,
        Some((assignments, filter)) => {
            let assignments = assignments
                .into_iter()
                .map(|(column, e)| Ok((column, to_slots(e, &layout)?)))
                .collect::<Result<Vec<_>>>()?;
            let filter = filter.map(|f| to_slots(f, &layout)).transpose()?;
            Some((assignments, filter))
        }
    };
    let system = system.into_iter().map(|id| id.1).collect();
    Ok(ConflictAction { arbiters: conflict.arbiters, update, system })
}

/// The `tableoid` of the row that is there: that of the only table.
fn know_table(expr: &mut Expr, target: usize, relation: &Relation) -> Result<()> {
    if let Expr::Var { rte, column, levels_up: 0, ty, .. } = expr
        && column_id(*rte, *column) == (target, TABLE_OID)
    {
        if relation.partition_key.is_some() {
            let what = "tableoid in ON CONFLICT DO UPDATE of a partitioned table";
            return Err(Error::not_supported(what));
        }
        *expr = Expr::Const(Datum::Oid(relation.oid), *ty);
    }
    expr.for_each_child_mut(&mut |child| know_table(child, target, relation))
}

fn modify_names(relation: &Relation, alias: &str, child: &Plan) -> Arc<[Arc<str>]> {
    let own = relation.columns.iter().map(|c| Arc::<str>::from(format!("{alias}.{}", c.name)));
    own.chain(output_names(child).iter().cloned()).collect()
}
