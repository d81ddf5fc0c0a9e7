//! Facts about the columns of a statement's tables: "only rows in which this column equals this value,
//! or is NULL, make a difference".
//!
//! Facts come from equalities that must hold. An equality binds a column only where rows that do not
//! satisfy it are of no use:
//!
//! | the equality stands in | it binds |
//! |---|---|
//! | WHERE | the tables of this query |
//! | ON of an inner join | the tables of the join |
//! | ON of LEFT, RIGHT JOIN | the tables of the side that may be filled with NULLs |
//! | ON of FULL JOIN | none |
//!
//! It never binds a column of a query around it, whose rows go on without it. A fact of a sub-select's
//! column holds for the column inside if each row of the sub-select is made of one row of its tables,
//! and the other way round always.
//!
//! A value is an expression over no column. It is the same value in the whole statement: parameters
//! and constants are, and so are calls of stable functions.

use super::super::equivalence::equality;
use super::super::is_volatile;
use super::super::subselect::contains_sublink;
use crate::bind::SOURCE_OF_SEVERAL;
use crate::deparse::has_fixed_name;
use crate::expr::Expr;
use crate::query::{Command, Distinct, FromItem, JoinKind, Query, Rte, RteKind};
use crate::walk;
use hashbrown::HashMap;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// A column of an entry of one of the statement's queries: the query's number, the entry, the column.
pub(super) type Column = (usize, usize, usize);

/// A table in the statement.
pub(super) struct Table {
    /// The query's number: 0 is the statement.
    pub(super) level: usize,
    /// The entry of the query.
    pub(super) rte: usize,
    pub(super) relation: Arc<Relation>,
}

/// The tables of a statement, and what it says about their columns.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) tables: Vec<Table>,
    /// A query in it has FOR UPDATE or its kin.
    pub(super) locks_rows: bool,
    equalities: Vec<Equality>,
    /// Columns of sub-selects in FROM, and the columns inside that they are.
    outputs: Vec<Output>,
    values: HashMap<Column, Vec<Expr>>,
    /// The numbers of the queries around the present one and of itself, outermost first.
    around: Vec<usize>,
    queries: usize,
    unsupported: Option<&'static str>,
}

struct Equality {
    sides: [Side; 2],
    level: usize,
    /// The entries that it binds.
    binds: Vec<usize>,
}

enum Side {
    Column(Column),
    Value(Expr),
}

struct Output {
    outside: Column,
    inside: Column,
    /// Each row is made of one row of the sub-select's tables.
    by_row: bool,
}

impl Facts {
    /// The facts of a statement. Error 0A000: it has a part that is not looked into, beside a
    /// distributed table.
    pub(super) fn of(query: &mut Query) -> Result<Facts> {
        let mut facts = Facts::default();
        facts.query(query);
        let distributed = facts.tables.iter().find(|table| table.relation.is_distributed());
        if let (Some(what), Some(table)) = (facts.unsupported, distributed) {
            let name = &table.relation.name;
            let message =
                format!("{what} in a statement of distributed table \"{name}\" is not supported");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if distributed.is_some() {
            facts.settle();
        }
        Ok(facts)
    }

    /// The values that a column equals.
    pub(super) fn values_of(&self, column: Column) -> Vec<Expr> {
        self.values.get(&column).cloned().unwrap_or_default()
    }

    /// Looks into a query. Returns its number.
    fn query(&mut self, query: &mut Query) -> usize {
        let level = self.queries;
        self.queries += 1;
        self.around.push(level);
        if level > 0 && query.command != Command::Select {
            self.unsupported = Some("a change of rows in WITH");
        }
        if query.current_of.is_some() {
            self.unsupported = Some("WHERE CURRENT OF");
        }
        if !query.view_checks.is_empty() {
            self.unsupported = Some("WITH CHECK OPTION");
        }
        if query.returning_versions.is_some() {
            self.unsupported = Some("OLD or NEW in RETURNING");
        }
        self.locks_rows |= !query.row_locks.is_empty();
        for cte in &mut query.ctes {
            if cte.search.is_some() || cte.cycle.is_some() {
                self.unsupported = Some("SEARCH or CYCLE");
            }
            self.query(&mut cte.query);
        }
        if let Some(operation) = &mut query.set_operation {
            self.query(&mut operation.left);
            self.query(&mut operation.right);
        }
        let fixed: Vec<bool> =
            (0..query.rtes.len()).map(|rte| has_fixed_name(query, rte)).collect();
        for (rte, entry) in query.rtes.iter_mut().enumerate() {
            match &mut entry.kind {
                RteKind::Relation(relation) if !fixed[rte] => {
                    let relation = Arc::clone(relation);
                    self.tables.push(Table { level, rte, relation });
                }
                RteKind::Subquery { query, .. } => {
                    if *entry.alias == *SOURCE_OF_SEVERAL {
                        self.unsupported = Some("an assignment of a sub-select's row");
                    }
                    let inner = self.query(query);
                    self.outputs(level, rte, inner, query);
                }
                _ => {}
            }
        }
        self.equalities_of(query, level);
        walk::for_each_root(query, &mut |root| self.sub_links(root));
        self.around.pop();
        level
    }

    fn sub_links(&mut self, expr: &mut Expr) {
        if let Expr::SubLink { query, .. } = expr {
            self.query(query);
        }
        let visited: Result<(), std::convert::Infallible> = expr.for_each_child_mut(&mut |child| {
            self.sub_links(child);
            Ok(())
        });
        match visited {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    /// The output columns of a sub-select in FROM that are columns inside.
    fn outputs(&mut self, level: usize, rte: usize, inner: usize, query: &Query) {
        // The columns of UNION and its kin are those of several queries.
        if query.set_operation.is_some() {
            return;
        }
        let by_row = query.limit.is_none()
            && query.offset.is_none()
            && !query.has_aggregates
            && query.windows.is_empty()
            && query.distinct == Distinct::No
            && query.row_locks.is_empty()
            && !query.targets.iter().any(|target| super::super::returns_set(&target.expr));
        let visible = query.targets.iter().filter(|target| !target.hidden);
        for (column, target) in visible.enumerate() {
            if let Expr::Var { rte: own, column: own_column, levels_up: 0, .. } = target.expr
                && let Ok(own_column) = usize::try_from(own_column)
            {
                let outside = (level, rte, column);
                self.outputs.push(Output { outside, inside: (inner, own, own_column), by_row });
            }
        }
    }

    fn equalities_of(&mut self, query: &Query, level: usize) {
        if let Some(filter) = &query.filter {
            let all: Vec<usize> = (0..query.rtes.len()).collect();
            self.conjuncts(filter, level, &all);
        }
        for item in &query.from {
            self.join(item, level);
        }
    }

    fn join(&mut self, item: &FromItem, level: usize) {
        let FromItem::Join { kind, left, right, on, .. } = item else { return };
        self.join(left, level);
        self.join(right, level);
        let binds = match kind {
            JoinKind::Inner => item.entries(),
            JoinKind::Left => right.entries(),
            JoinKind::Right => left.entries(),
            _ => return,
        };
        if let Some(on) = on {
            self.conjuncts(on, level, &binds);
        }
    }

    fn conjuncts(&mut self, condition: &Expr, level: usize, binds: &[usize]) {
        match condition {
            Expr::And(parts) => parts.iter().for_each(|part| self.conjuncts(part, level, binds)),
            condition => {
                if let Some((_, [left, right])) = equality(condition)
                    && have_equal_hashes(hashed_type(&left), hashed_type(&right))
                    && let (Some(left), Some(right)) = (self.side(&left), self.side(&right))
                {
                    let sides = [left, right];
                    self.equalities.push(Equality { sides, level, binds: binds.to_vec() });
                }
            }
        }
    }

    fn side(&self, expr: &Expr) -> Option<Side> {
        match expr {
            Expr::Var { rte, column, levels_up, ty, .. } => {
                let depth = self.around.len().checked_sub(1 + levels_up)?;
                let column = usize::try_from(*column).ok()?;
                places(ty.oid).then_some(Side::Column((self.around[depth], *rte, column)))
            }
            // The same characters have the same hash.
            Expr::Relabel { arg, ty, .. }
                if ty.oid == oid::TEXT && arg.ty().oid == oid::VARCHAR =>
            {
                self.side(arg)
            }
            value if is_value(value) && places(value.ty().oid) => Some(Side::Value(value.clone())),
            _ => None,
        }
    }

    /// Follows the equalities until they say nothing new.
    fn settle(&mut self) {
        loop {
            let mut found: Vec<(Column, Expr)> = Vec::new();
            for equality in &self.equalities {
                let [left, right] = &equality.sides;
                for (bound, other) in [(left, right), (right, left)] {
                    let Side::Column(column) = bound else { continue };
                    if column.0 != equality.level || !equality.binds.contains(&column.1) {
                        continue;
                    }
                    match other {
                        Side::Value(value) => found.push((*column, value.clone())),
                        Side::Column(other) => self.copy(*other, *column, &mut found),
                    }
                }
            }
            for Output { outside, inside, by_row } in &self.outputs {
                self.copy(*inside, *outside, &mut found);
                if *by_row {
                    self.copy(*outside, *inside, &mut found);
                }
            }
            let mut is_new = false;
            for (column, value) in found {
                let known = self.values.entry(column).or_default();
                if !known.contains(&value) {
                    known.push(value);
                    is_new = true;
                }
            }
            if !is_new {
                return;
            }
        }
    }

    fn copy(&self, from: Column, to: Column, found: &mut Vec<(Column, Expr)>) {
        found.extend(self.values.get(&from).into_iter().flatten().map(|v| (to, v.clone())));
    }
}

/// Whether a distributed table is in a query or in a query inside it. One that only ON CONFLICT names is
/// not found: its table cannot be opened here.
pub(super) fn has_distributed(query: &Query) -> bool {
    let operation = query.set_operation.iter().flat_map(|both| [&both.left, &both.right]);
    let inside = query.ctes.iter().map(|cte| &cte.query).chain(operation);
    let is_within = |rte: &Rte| match &rte.kind {
        RteKind::Relation(relation) => relation.is_distributed(),
        RteKind::Subquery { query, .. } => has_distributed(query),
        _ => false,
    };
    if query.rtes.iter().any(is_within) || inside.into_iter().any(|query| has_distributed(query)) {
        return true;
    }
    let mut found = false;
    walk::for_each_top_expr(query, &mut |expr| found = found || names_distributed(expr));
    found
}

fn names_distributed(expr: &Expr) -> bool {
    matches!(expr, Expr::SubLink { query, .. } if has_distributed(query))
        || expr.any_child(names_distributed)
}

/// The type of which a value has its hash.
pub(super) fn hashed_type(expr: &Expr) -> Oid {
    match expr.ty().oid {
        oid::VARCHAR => oid::TEXT,
        other => other,
    }
}

/// Whether equal values of two types have the same hash.
pub(super) fn have_equal_hashes(one: Oid, other: Oid) -> bool {
    let is_integer = |ty| matches!(ty, oid::INT2 | oid::INT4 | oid::INT8);
    one == other || (is_integer(one) && is_integer(other))
}

/// Types by whose values a row is placed.
pub(super) fn places(type_oid: Oid) -> bool {
    matches!(
        type_oid,
        oid::INT2
            | oid::INT4
            | oid::INT8
            | oid::TEXT
            | oid::VARCHAR
            | oid::BPCHAR
            | oid::UUID
            | oid::DATE
            | oid::TIMESTAMP
            | oid::TIMESTAMPTZ
            | oid::NUMERIC
            | oid::BYTEA
            | oid::BOOL
    )
}

/// Whether an expression has one value in the whole statement.
pub(super) fn is_value(expr: &Expr) -> bool {
    is_free(expr) && !is_volatile(expr) && !contains_sublink(expr)
}

/// Whether an expression is over no column and no row, sub-selects in it aside.
pub(super) fn is_free(expr: &Expr) -> bool {
    !matches!(
        expr,
        Expr::Var { .. }
            | Expr::Slot { .. }
            | Expr::ExecParam { .. }
            | Expr::CaseOperand(_)
            | Expr::DomainValue(_)
            | Expr::SubLinkColumn { .. }
            | Expr::Default(_)
            | Expr::Aggregate(_)
            | Expr::Window(_)
            | Expr::Grouping { .. }
    ) && !expr.any_child(|child| !is_free(child))
}
