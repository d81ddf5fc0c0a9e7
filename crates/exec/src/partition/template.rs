//! Makes a leaf's scan from its parent's scan, and a join or an aggregation of leaves from that of
//! their parents.
//!
//! The planner writes one scan against the partitioned table. Columns are found in the leaf by
//! name. In place of an index the leaf's index is used that was made or attached for it. A leaf
//! without one (CREATE INDEX ON ONLY) is read from end to end, and its rows are sorted if an order
//! is wanted.

use super::{ColumnMap, index_above};
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation};
use steppe_sql::deparse::quote_identifier;
use steppe_sql::expr::{Expr, SortKey, TypeRef};
use steppe_sql::plan::{IndexRange, Plan, PlanNode, ScanRelation};
use steppe_types::{Error, Oid, Result};

/// The part of a partitioned table's scan that each leaf runs.
pub(crate) struct LeafTemplate {
    pub(crate) plan: Plan,
    /// It filters and computes everything that the scan does. False: the planner's template
    /// computes something before that.
    pub(crate) is_whole: bool,
    /// The order wanted, over the leaf's rows. Additional columns for it come after the scan's
    /// columns.
    pub(crate) order: Vec<SortKey>,
}

impl LeafTemplate {
    /// `None`: the plan is not a partitioned table's scan.
    pub(crate) fn of(plan: &Plan) -> Result<Option<LeafTemplate>> {
        let PlanNode::PartitionScan { template, .. } = &plan.node else { return Ok(None) };
        let mut leaf = (**template).clone();
        let is_whole = template.project.is_none() || plan.is_plain();
        if is_whole && !plan.is_plain() {
            leaf.filter = all_of(leaf.filter.into_iter().chain(plan.filter.clone()).collect());
            leaf.project = plan.project.clone();
            leaf.types = plan.types.clone();
        }
        let order = order_of(plan)?.into_iter().map(|key| in_output(&mut leaf, key)).collect();
        Ok(Some(LeafTemplate { plan: leaf, is_whole, order }))
    }
}

/// The order wanted of a partitioned table's scan, over its input row.
pub(crate) fn order_of(plan: &Plan) -> Result<Vec<SortKey>> {
    let PlanNode::PartitionScan { template, order, .. } = &plan.node else {
        return Ok(Vec::new());
    };
    let columns = match &template.node {
        PlanNode::SeqScan { columns, .. }
        | PlanNode::IndexScan { columns, .. }
        | PlanNode::BitmapScan { columns, .. }
        | PlanNode::TidScan { columns, .. } => &columns[..],
        _ => &[],
    };
    let slot = |e: Expr| match e {
        Expr::Var { column, ty, .. } => {
            let read = columns.iter().position(|attribute| i32::from(*attribute) == column + 1);
            let missing = || Error::internal("a scan does not read what it is ordered by");
            Ok::<_, Error>(Expr::Slot { index: read.ok_or_else(missing)?, ty })
        }
        other => Ok(other),
    };
    let key =
        |key: &SortKey| Ok(SortKey { expr: key.expr.clone().transform(&mut |e| slot(e))?, ..*key });
    order.iter().map(key).collect()
}

/// A key over a plan's input row as one of its output, to which it is added if need be.
fn in_output(plan: &mut Plan, key: SortKey) -> SortKey {
    let ty = key.expr.ty();
    if plan.project.is_none() && matches!(key.expr, Expr::Slot { .. }) {
        return key;
    }
    let same = |(index, ty): (usize, &TypeRef)| Expr::Slot { index, ty: *ty };
    let project =
        plan.project.get_or_insert_with(|| plan.types.iter().enumerate().map(same).collect());
    let found = project.iter().position(|expr| *expr == key.expr);
    let index = found.unwrap_or_else(|| {
        project.push(key.expr.clone());
        plan.types.push(ty);
        project.len() - 1
    });
    SortKey { expr: Expr::Slot { index, ty }, ..key }
}

fn all_of(mut conditions: Vec<Expr>) -> Option<Expr> {
    match conditions.len() {
        0 | 1 => conditions.pop(),
        _ => Some(Expr::And(conditions)),
    }
}

/// The leaves of one turn: the leading table's and those of its partners.
pub(crate) struct LeafSet {
    pub(crate) members: Vec<LeafMember>,
}

/// A leaf in the place of a table that the template names.
pub(crate) struct LeafMember {
    pub(crate) table: ScanRelation,
    /// `None`: the table has no leaf here, and so no rows.
    pub(crate) leaf: Option<Arc<Relation>>,
    /// The alias in EXPLAIN.
    pub(crate) alias: Arc<str>,
}

impl LeafSet {
    fn member(&self, rel: &ScanRelation) -> Result<&LeafMember> {
        let is_it = |member: &&LeafMember| {
            member.table.relation.oid == rel.relation.oid && member.table.alias == rel.alias
        };
        let found = self.members.iter().find(is_it);
        found.ok_or_else(|| Error::internal("a template names another table than its scan"))
    }
}

impl LeafTemplate {
    /// The plan over these leaves.
    pub(crate) fn plan_of(&self, catalog: &Catalog, leaves: &LeafSet) -> Result<Plan> {
        let mut plan = plan_over(&self.plan, catalog, leaves)?;
        let has_order = self.order.is_empty() || keep_order(&self.plan, &mut plan);
        Ok(if has_order { plan } else { sorted(plan, &self.order) })
    }
}

/// A part of a template, with its scans over leaves.
fn plan_over(template: &Plan, catalog: &Catalog, leaves: &LeafSet) -> Result<Plan> {
    let rel = match &template.node {
        PlanNode::SeqScan { rel, .. }
        | PlanNode::IndexScan { rel, .. }
        | PlanNode::BitmapScan { rel, .. }
        | PlanNode::TidScan { rel, .. } => rel,
        _ => {
            let mut plan = template.clone();
            for_each_child_mut(&mut plan, &mut |child| {
                *child = plan_over(child, catalog, leaves)?;
                Ok(())
            })?;
            return Ok(plan);
        }
    };
    let member = leaves.member(rel)?;
    match &member.leaf {
        Some(leaf) => leaf_plan(template, catalog, leaf, &member.alias),
        None => Ok(no_rows(template)),
    }
}

/// The scan of a missing leaf.
fn no_rows(template: &Plan) -> Plan {
    let node = PlanNode::Result { one_time_filter: Some(Expr::boolean(false)), child: None };
    Plan { node, filter: None, project: None, ..template.clone() }
}

/// The children of a node that a template may have above its scans.
fn for_each_child_mut(plan: &mut Plan, f: &mut dyn FnMut(&mut Plan) -> Result<()>) -> Result<()> {
    match &mut plan.node {
        PlanNode::NestLoop { outer, inner, .. }
        | PlanNode::HashJoin { outer, inner, .. }
        | PlanNode::MergeJoin { outer, inner, .. } => {
            f(outer)?;
            f(inner)
        }
        PlanNode::Materialize(child)
        | PlanNode::Memoize { child, .. }
        | PlanNode::Sort { child, .. }
        | PlanNode::Agg { child, .. } => f(child),
        PlanNode::Append(children) => children.iter_mut().try_for_each(f),
        _ => Err(Error::internal("a node that a leaf's template does not have")),
    }
}

/// Whether a leaf's scan yields the template's order. The leaf's index may have the opposite
/// direction in some columns. If all columns differ, it is read in the other direction.
fn keep_order(template: &Plan, leaf: &mut Plan) -> bool {
    let (
        PlanNode::IndexScan { index: of_table, backward: wanted, .. },
        PlanNode::IndexScan { index, backward, .. },
    ) = (&template.node, &mut leaf.node)
    else {
        return false;
    };
    let (Some(a), Some(b)) = (&of_table.index, &index.index) else { return false };
    let differs = |at: usize| {
        let (a, b) = (a.keys.get(at)?, b.keys.get(at)?);
        let (turned, moved) = (a.descending != b.descending, a.nulls_first != b.nulls_first);
        (turned == moved).then_some(turned)
    };
    let Some(is_turned) = differs(0) else { return false };
    *backward = *wanted != is_turned;
    (1..a.keys.len()).all(|at| differs(at) == Some(is_turned))
}

/// Sorts a leaf's rows, if none of its indexes gives the order.
fn sorted(plan: Plan, order: &[SortKey]) -> Plan {
    let (types, cost) = (plan.types.clone(), plan.cost);
    let slot_names = plan.slot_names.clone();
    let node =
        PlanNode::Sort { child: Box::new(plan), keys: order.to_vec(), presorted: 0, bound: None };
    Plan { node, filter: None, project: None, types, slot_names, cost }
}

fn leaf_plan(
    template: &Plan,
    catalog: &Catalog,
    leaf: &Arc<Relation>,
    alias: &Arc<str>,
) -> Result<Plan> {
    let mut plan = template.clone();
    let names = template.slot_names.iter();
    plan.slot_names = names.map(|name| renamed(name, alias)).collect();
    plan.node = match &template.node {
        PlanNode::SeqScan { rel, columns, cursor, parallel } => {
            let map = ColumnMap::new(&rel.relation, leaf)?;
            let rel = ScanRelation { relation: leaf.clone(), alias: alias.clone() };
            let (columns, cursor) = (attributes(columns, map.as_ref())?, cursor.clone());
            PlanNode::SeqScan { rel, columns, cursor, parallel: *parallel }
        }
        PlanNode::IndexScan { rel, index, range, backward, index_only, columns } => {
            let Some(index) = index_in_leaf(catalog, leaf, index.oid) else {
                return without_index(template, leaf, alias);
            };
            let map = ColumnMap::new(&rel.relation, leaf)?;
            PlanNode::IndexScan {
                rel: ScanRelation { relation: leaf.clone(), alias: alias.clone() },
                index,
                range: range_over_leaf(range, map.as_ref())?,
                backward: *backward,
                index_only: *index_only,
                columns: attributes(columns, map.as_ref())?,
            }
        }
        PlanNode::TidScan { rel, rows, condition, columns } => {
            let map = ColumnMap::new(&rel.relation, leaf)?;
            let rel = ScanRelation { relation: leaf.clone(), alias: alias.clone() };
            let (columns, rows) = (attributes(columns, map.as_ref())?, rows.clone());
            PlanNode::TidScan { rel, rows, condition: condition.clone(), columns }
        }
        PlanNode::BitmapScan { rel, bitmap, recheck, columns } => {
            let map = ColumnMap::new(&rel.relation, leaf)?;
            let columns = attributes(columns, map.as_ref())?;
            let rel = ScanRelation { relation: leaf.clone(), alias: alias.clone() };
            match leaf_bitmap(bitmap, catalog, &rel, map.as_ref())? {
                Some(bitmap) => PlanNode::BitmapScan {
                    rel,
                    bitmap: Box::new(bitmap),
                    recheck: recheck.clone(),
                    columns,
                },
                None => {
                    let decided = std::iter::once(recheck.clone());
                    plan.filter = all_of(decided.chain(plan.filter.take()).collect());
                    PlanNode::SeqScan { rel, columns, cursor: None, parallel: false }
                }
            }
        }
        _ => return Err(Error::internal("a partitioned table's scan is of another kind")),
    };
    Ok(plan)
}

/// A bitmap of a leaf's indexes; `None` if the leaf has not all of them.
fn leaf_bitmap(
    template: &Plan,
    catalog: &Catalog,
    leaf: &ScanRelation,
    map: Option<&ColumnMap>,
) -> Result<Option<Plan>> {
    let inputs = |inputs: &[Plan]| -> Result<Option<Vec<Plan>>> {
        inputs.iter().map(|input| leaf_bitmap(input, catalog, leaf, map)).collect()
    };
    let node = match &template.node {
        PlanNode::BitmapIndexScan { index, range, .. } => {
            index_in_leaf(catalog, &leaf.relation, index.oid)
                .map(|index| {
                    let range = range_over_leaf(range, map)?;
                    Ok::<_, Error>(PlanNode::BitmapIndexScan { rel: leaf.clone(), index, range })
                })
                .transpose()?
        }
        PlanNode::BitmapAnd(all) => inputs(all)?.map(PlanNode::BitmapAnd),
        PlanNode::BitmapOr(all) => inputs(all)?.map(PlanNode::BitmapOr),
        _ => return Err(Error::internal("a bitmap of another kind")),
    };
    Ok(node.map(|node| Plan { node, ..template.clone() }))
}

/// An index's range with its conditions over a leaf's columns.
fn range_over_leaf(range: &IndexRange, map: Option<&ColumnMap>) -> Result<IndexRange> {
    let mut range = range.clone();
    if let Some(map) = map {
        let conditions = range.conditions.into_iter().map(|c| over_leaf(c, map));
        range.conditions = conditions.collect::<Result<_>>()?;
    }
    Ok(range)
}

/// A slot's name (`alias.column`, either perhaps quoted) under another alias.
fn renamed(name: &str, alias: &str) -> Arc<str> {
    let (call, column) = slot_name_parts(name);
    format!("{call}{}.{column}", quote_identifier(alias)).into()
}

/// The parts of a slot's name before and after the alias. The part before it is empty, unless the
/// slot is a column's stored form (`pg_column_size(alias.column)`).
pub(crate) fn slot_name_parts(name: &str) -> (&str, &str) {
    let call = name.find('(').filter(|open| !name[..*open].contains(['"', '.']));
    let (call, name) = name.split_at(call.map_or(0, |open| open + 1));
    let mut quoted = false;
    let end = name.find(|c| {
        quoted ^= c == '"';
        c == '.' && !quoted
    });
    (call, end.map_or(name, |end| &name[end + 1..]))
}

fn attributes(columns: &[i16], map: Option<&ColumnMap>) -> Result<Vec<i16>> {
    match map {
        None => Ok(columns.to_vec()),
        Some(map) => columns.iter().map(|attribute| map.attribute(*attribute)).collect(),
    }
}

/// A condition whose slots are the parent's columns, with the leaf's.
fn over_leaf(condition: Expr, map: &ColumnMap) -> Result<Expr> {
    condition.transform(&mut |e| match e {
        Expr::Slot { index, ty } => Ok(Expr::Slot { index: map.in_leaf(index)?, ty }),
        other => Ok(other),
    })
}

/// The leaf's index that belongs to a partitioned one.
fn index_in_leaf(catalog: &Catalog, leaf: &Relation, above: Oid) -> Option<Arc<Relation>> {
    catalog.indexes_of(leaf).find(|index| index_above(catalog, index, above)).cloned()
}

/// An index scan as a scan of all rows, with the index conditions in the filter.
fn without_index(template: &Plan, leaf: &Arc<Relation>, alias: &Arc<str>) -> Result<Plan> {
    let PlanNode::IndexScan { rel, range, columns, .. } = &template.node else {
        return Err(Error::internal("not an index scan"));
    };
    let mut plan = template.clone();
    let (mut read, wanted) = (columns.clone(), columns.len());
    let mut conditions = Vec::with_capacity(range.conditions.len() + 1);
    for condition in &range.conditions {
        conditions.push(condition.clone().transform(&mut |e| match e {
            Expr::Slot { index: column, ty } => {
                let attribute = column as i16 + 1;
                let found = read.iter().position(|a| *a == attribute);
                let index = found.unwrap_or_else(|| {
                    read.push(attribute);
                    read.len() - 1
                });
                Ok::<_, Error>(Expr::Slot { index, ty })
            }
            other => Ok(other),
        })?);
    }
    conditions.extend(plan.filter.take());
    plan.filter = all_of(conditions);
    if read.len() > wanted && plan.project.is_none() {
        let slot = |(index, ty): (usize, &_)| Expr::Slot { index, ty: *ty };
        plan.project = Some(plan.types.iter().enumerate().map(slot).collect());
    }
    let added = read[wanted..].iter().filter_map(|a| rel.relation.columns.get(*a as usize - 1));
    let added = added.map(|column| renamed(&quote_identifier(&column.name), alias));
    let names = template.slot_names.iter().map(|name| renamed(name, alias));
    plan.slot_names = names.chain(added).collect();
    let map = ColumnMap::new(&rel.relation, leaf)?;
    let rel = ScanRelation { relation: leaf.clone(), alias: alias.clone() };
    let columns = attributes(&read, map.as_ref())?;
    plan.node = PlanNode::SeqScan { rel, columns, cursor: None, parallel: false };
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_keeps_its_column_under_another_alias() {
        for (name, shown) in [
            ("t.a", "u.a"),
            ("\"a.b\".\"c.d\"", "u.\"c.d\""),
            ("t.\"a(b)\"", "u.\"a(b)\""),
            ("\"t(\".a", "u.a"),
            ("pg_column_size(t.a)", "pg_column_size(u.a)"),
            ("pg_column_size(\"t.u\".\"a.b\")", "pg_column_size(u.\"a.b\")"),
        ] {
            assert_eq!(&*renamed(name, "u"), shown);
        }
    }
}
