//! The statistics of an expression over one table, whether it is unique, and its number of distinct
//! values (examine_variable in selfuncs.c).
//!
//! A column of a sub-select or of a WITH query has the statistics of the table's column that it is,
//! if it is one. Their fractions are of that table's rows; numbers of distinct values that are
//! fractions, too, are taken of the rows that the sub-select yields.

use super::scalar::{integer, order};
use super::{DEFAULT_DISTINCT, Estimator};
use crate::bind::statistics_exprs;
use crate::expr::Expr;
use crate::planner::Planner;
use crate::planner::cost::strip;
use crate::planner::index::{CandidateIndex, Key};
use crate::planner::join::FromContext;
use crate::planner::prep::is_barrier;
use crate::planner::rtes_of;
use crate::planner::scan::clamp_rows;
use crate::query::{Distinct, Query, Rte, RteKind};
use hashbrown::HashMap;
use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::Arc;
use steppe_catalog::{ColumnStatistics, RelKind, Relation, SortedCommon};
use steppe_types::{Datum, Oid, Result, oid};

/// Attribute numbers of ctid and tableoid.
const CTID: i32 = -1;
const TABLE_OID: i32 = -6;
/// At most `DEPTH_MAX` nested sub-selects are looked through.
const DEPTH_MAX: usize = 32;

/// The estimates of an entry that has been planned.
#[derive(Debug, Default)]
pub(crate) struct Base {
    /// Rows before its conditions.
    pub(crate) tuples: f64,
    /// Rows that its conditions leave.
    pub(crate) rows: f64,
    /// The origins of its columns, if it is a query.
    pub(crate) origins: Arc<[Origin]>,
}

/// The entries of a query that have been planned.
pub(crate) type Bases = HashMap<usize, Base>;

/// The origin of a query's output column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// The table's column, and whether the table's inheritance children count.
    column: Option<(Arc<Relation>, i32, bool)>,
    /// All rows have different values.
    is_unique: bool,
}

/// The statistics of an expression.
pub(super) struct Variable<'a> {
    pub(super) type_oid: Oid,
    /// The one entry that it is over.
    pub(super) rte: Option<usize>,
    pub(super) statistics: Option<&'a ColumnStatistics>,
    /// Whether no two rows have the same value. Where that is not known yet, the column's indexes
    /// decide.
    is_unique: Cell<Option<bool>>,
    /// The table's column that it is.
    pub(super) column: Option<(&'a Arc<Relation>, i32)>,
    /// pg_statistic.stadistinct where there are no statistics, or 0 if it is not known.
    distinct: f64,
}

impl Variable<'_> {
    pub(super) fn null_fraction(&self) -> f64 {
        self.statistics.map_or(0.0, |found| found.null_fraction)
    }
}

/// The most common values of a column, for looking values up.
pub(super) struct CommonValues<'a> {
    type_oid: Oid,
    known: Option<(&'a ColumnStatistics, &'a SortedCommon)>,
}

impl<'a> CommonValues<'a> {
    pub(super) fn of(variable: &Variable<'a>) -> CommonValues<'a> {
        let type_oid = variable.type_oid;
        let known = variable.statistics.filter(|found| !found.most_common.is_empty());
        let in_order = |a: &Datum, b: &Datum| order(type_oid, a, b).unwrap_or(Ordering::Equal);
        let known = known.map(|found| (found, found.sorted_common(in_order)));
        CommonValues { type_oid, known }
    }

    /// The fraction of rows that have one of them.
    pub(super) fn total(&self) -> f64 {
        self.known.map_or(0.0, |(_, sorted)| sorted.total())
    }

    /// The fraction of rows with a value, 0 if it is none of them, and with one of those below it.
    /// `None`: there are none that it compares with.
    pub(super) fn look_up(&self, value: &Datum) -> Option<(f64, f64)> {
        let (found, sorted) = self.known?;
        if let (Some(integers), Some(value)) = (sorted.integers(), integer(value)) {
            return Some(found.common_integer((sorted, integers), value));
        }
        // Comparable with one, comparable with all.
        order(self.type_oid, &found.most_common.first()?.0, value)?;
        let of = |known: &Datum| order(self.type_oid, known, value).unwrap_or(Ordering::Equal);
        Some(found.common_at(sorted, of))
    }
}

impl<'a> Estimator<'a> {
    /// The statistics of an expression.
    pub(super) fn variable(&self, expr: &Expr) -> Variable<'a> {
        let bare = strip(expr);
        let mut variable = Variable {
            type_oid: bare.ty().oid,
            rte: None,
            statistics: None,
            is_unique: Cell::new(Some(false)),
            column: None,
            distinct: if bare.ty().oid == oid::BOOL { 2.0 } else { 0.0 },
        };
        if let Expr::Var { rte, column, levels_up: 0, .. } = bare {
            variable.rte = Some(*rte);
            self.look_up_column(*rte, *column, &mut variable);
            return variable;
        }
        let rtes = rtes_of(bare);
        let mut entries = rtes.iter();
        if let (Some(rte), None) = (entries.next(), entries.next()) {
            variable.rte = Some(rte);
            self.look_up_expression(rte, bare, &mut variable);
        }
        variable
    }

    fn look_up_column(&self, rte: usize, column: i32, variable: &mut Variable<'a>) {
        let Some(entry) = self.rtes.get(rte) else { return };
        match (&entry.kind, column) {
            (_, CTID) => {
                (variable.is_unique, variable.distinct) = (Cell::new(Some(true)), -1.0);
            }
            (_, TABLE_OID) => variable.distinct = 1.0,
            (RteKind::Relation(relation), _) => {
                let with_children = self.has_children(relation, entry);
                self.look_up_in_table(relation, column, with_children, variable);
                // An index does not cover the rows of children.
                let is_whole = !with_children || relation.kind == RelKind::PartitionedTable;
                variable.is_unique = Cell::new(if is_whole { None } else { Some(false) });
                variable.column = Some((relation, column));
            }
            (RteKind::Values(_), _) => variable.distinct = -1.0,
            _ => {
                let origins = self.bases.and_then(|bases| bases.get(&rte)).map(|b| &b.origins);
                let at = usize::try_from(column).ok();
                if let Some(origin) = origins.and_then(|origins| origins.get(at?)) {
                    variable.is_unique = Cell::new(Some(origin.is_unique));
                    if let Some((relation, column, with_children)) = &origin.column {
                        self.look_up_in_table(relation, *column, *with_children, variable);
                    }
                }
            }
        }
    }

    fn look_up_in_table(
        &self,
        relation: &'a Relation,
        column: i32,
        with_children: bool,
        variable: &mut Variable<'a>,
    ) {
        let columns = relation.statistics.as_ref().map(|s| s.columns_of(with_children));
        let found = columns.and_then(|columns| columns.get(usize::try_from(column).ok()?));
        variable.statistics = found.filter(|found| !found.is_absent());
    }

    /// Looks up the statistics of an index over the expression, or of CREATE STATISTICS on it.
    fn look_up_expression(&self, rte: usize, expr: &Expr, variable: &mut Variable<'a>) {
        let Some(entry) = self.rtes.get(rte) else { return };
        let RteKind::Relation(relation) = &entry.kind else { return };
        for index in self.ctx.catalog.indexes_of(relation) {
            let Some(info) = &index.index else { continue };
            if info.keys.iter().all(|key| key.expression.is_none()) {
                continue;
            }
            let Ok(Some(candidate)) = CandidateIndex::new(self.ctx.catalog, relation, index, rte)
            else {
                continue;
            };
            let Some(at) = candidate.keys.iter().position(|key| key.is(expr, rte)) else {
                continue;
            };
            let is_whole = candidate.predicate.is_none() && info.keys.len() == 1;
            if info.is_unique_now() && is_whole {
                variable.is_unique = Cell::new(Some(true));
            }
            if variable.statistics.is_none() {
                let found = index.statistics.as_ref().and_then(|s| s.columns.get(at));
                variable.statistics = found.filter(|found| !found.is_absent());
            }
        }
        if variable.statistics.is_none() {
            variable.statistics = self.kept_of_expression(rte, entry, relation, expr);
        }
    }

    /// The statistics of the expression in a statistics object.
    fn kept_of_expression(
        &self,
        rte: usize,
        entry: &Rte,
        relation: &'a Arc<Relation>,
        expr: &Expr,
    ) -> Option<&'a ColumnStatistics> {
        let inherited = self.has_children(relation, entry);
        let objects = relation.extended.iter().filter(|object| !object.expressions.is_empty());
        objects.into_iter().find_map(|object| {
            let found = object.found.iter().find(|found| found.inherited == inherited)?;
            let exprs = statistics_exprs(self.ctx.catalog, relation, object).ok()?;
            let keys = exprs.into_iter().map(|bound| Key::of_expr(bound, rte));
            let at = keys.into_iter().position(|key| key.is(expr, rte))?;
            found.expressions.get(at).filter(|found| !found.is_absent())
        })
    }

    pub(super) fn has_children(&self, relation: &Relation, entry: &Rte) -> bool {
        entry.inherit && self.ctx.catalog.children(relation.oid).next().is_some()
    }

    /// Whether no two rows have the same value.
    pub(super) fn is_unique(&self, variable: &Variable<'_>) -> bool {
        if let Some(known) = variable.is_unique.get() {
            return known;
        }
        let found = variable.column.is_some_and(|(table, at)| self.has_unique_index(table, at));
        variable.is_unique.set(Some(found));
        found
    }

    fn has_unique_index(&self, relation: &Relation, column: i32) -> bool {
        self.ctx.catalog.indexes_of(relation).any(|index| {
            index.index.as_ref().is_some_and(|info| {
                info.is_unique_now()
                    && info.predicate.is_none()
                    && matches!(&info.keys[..], [key] if i32::from(key.attnum) == column + 1)
            })
        })
    }

    /// Rows of an entry, all of them; 0 if that is not known.
    pub(super) fn tuples(&self, rte: usize) -> f64 {
        if let Some(base) = self.bases.and_then(|bases| bases.get(&rte)) {
            return base.tuples;
        }
        match self.rtes.get(rte).map(|entry| &entry.kind) {
            Some(RteKind::Relation(table)) if table.kind == RelKind::PartitionedTable => {
                table.statistics.as_ref().map_or(0.0, |s| s.rows)
            }
            Some(RteKind::Relation(relation)) => self.ctx.sizes.size(relation).0,
            Some(RteKind::Values(rows)) => rows.len() as f64,
            _ => 0.0,
        }
    }

    /// The number of different values of an expression, and whether that is only a guess
    /// (get_variable_numdistinct).
    pub(super) fn distinct_values(&self, variable: &Variable<'_>) -> (f64, bool) {
        let (all, is_guess) = self.distinct_in_all(variable);
        (clamp_rows(all / self.parted_by(variable)), is_guess)
    }

    /// The number of partitions that a column's values are spread over, if a leaf is planned alone.
    pub(super) fn parted_by(&self, variable: &Variable<'_>) -> f64 {
        let Some((relation, column)) = variable.column.filter(|_| self.in_leaf) else { return 1.0 };
        let is_key = relation
            .partition_key
            .as_ref()
            .is_some_and(|key| key.columns.iter().any(|part| i32::from(part.attnum) == column + 1));
        if is_key { self.ctx.catalog.children(relation.oid).count().max(1) as f64 } else { 1.0 }
    }

    fn distinct_in_all(&self, variable: &Variable<'_>) -> (f64, bool) {
        let of_rows = match (self.is_unique(variable), variable.statistics) {
            (true, found) => found.map_or(0.0, |s| s.null_fraction) - 1.0,
            (false, Some(found)) => found.distinct,
            (false, None) => variable.distinct,
        };
        if of_rows > 0.0 {
            return (clamp_rows(of_rows), false);
        }
        let rows = variable.rte.map_or(0.0, |rte| self.tuples(rte));
        match rows {
            rows if rows <= 0.0 => (DEFAULT_DISTINCT, true),
            rows if of_rows < 0.0 => (clamp_rows(-of_rows * rows), false),
            rows if rows < DEFAULT_DISTINCT => (clamp_rows(rows), false),
            _ => (DEFAULT_DISTINCT, true),
        }
    }

    /// Whether nothing is known of how many values an expression has.
    pub(crate) fn distinct_is_guess(&self, expr: &Expr) -> bool {
        self.distinct_values(&self.variable(expr)).1
    }

    /// Estimated number of distinct values of an expression.
    pub(crate) fn distinct(&self, expr: &Expr) -> f64 {
        self.distinct_values(&self.variable(expr)).0
    }
}

impl Planner<'_> {
    /// Notes how many rows an entry has, and how many of them conditions leave.
    pub(in crate::planner) fn note_base(
        &mut self,
        from: &FromContext<'_>,
        rte: usize,
        conditions: &[Expr],
        tuples: f64,
    ) {
        let base = self.bases.entry(rte).or_default();
        (base.tuples, base.rows) = (tuples, tuples);
        let rows = clamp_rows(tuples * from.estimator(self).selectivity(conditions));
        self.bases.entry(rte).or_default().rows = rows;
    }

    /// Notes the origins of the columns of an entry that is a query.
    pub(in crate::planner) fn note_outputs(&mut self, rte: usize, outputs: Option<Arc<[Origin]>>) {
        self.bases.entry(rte).or_default().origins = outputs.unwrap_or_default();
    }

    /// The number of rows in a table with its children.
    pub(in crate::planner) fn tuples_of(&mut self, entry: &Rte) -> Result<f64> {
        let RteKind::Relation(relation) = &entry.kind else { return Ok(0.0) };
        if relation.kind == RelKind::PartitionedTable {
            return Ok(if entry.inherit { self.partitioned_size(relation.oid)?.rows } else { 0.0 });
        }
        if !self.is_inherited(entry) {
            return Ok(self.ctx.sizes.size(relation).0);
        }
        let members = self.members(entry);
        Ok(members.iter().map(|member| self.ctx.sizes.size(&member.relation).0).sum())
    }
}

/// The origins of a query's output columns, before it is planned.
pub(crate) fn origins(query: &Query) -> Arc<[Origin]> {
    let visible = (0..query.output().len()).filter(|at| !query.output()[*at].hidden);
    visible.map(|at| origin(query, at, DEPTH_MAX)).collect()
}

fn origin(query: &Query, target: usize, depth: usize) -> Origin {
    let is_distinct = |alone: bool| Origin { column: None, is_unique: alone };
    if depth == 0 || query.set_operation.is_some() || query.grouping_sets.is_some() {
        return Origin::default();
    }
    let visible = || query.targets.iter().enumerate().filter(|(_, t)| !t.hidden).map(|(i, _)| i);
    match &query.distinct {
        Distinct::No => {}
        Distinct::All => return is_distinct(visible().eq([target])),
        Distinct::On(on) => return is_distinct(on[..] == [target]),
    }
    let Some(expr) = query.output().get(target).map(|target| &target.expr) else {
        return Origin::default();
    };
    if !query.group_by.is_empty() {
        return is_distinct(query.group_by[..] == [expr.clone()]);
    }
    match query.has_aggregates {
        true => Origin::default(),
        false => origin_of(query, expr, depth),
    }
}

fn origin_of(query: &Query, expr: &Expr, depth: usize) -> Origin {
    let Expr::Var { rte, column, levels_up: 0, .. } = expr else { return Origin::default() };
    let Some(entry) = query.rtes.get(*rte) else { return Origin::default() };
    let Ok(at) = usize::try_from(*column) else { return Origin::default() };
    match &entry.kind {
        RteKind::Relation(relation) => {
            let column = Some((relation.clone(), *column, entry.inherit));
            Origin { column, is_unique: false }
        }
        RteKind::Subquery { query: inner, view, .. }
            if !view.as_deref().is_some_and(is_barrier) =>
        {
            let visible = inner.targets.iter().enumerate().filter(|(_, t)| !t.hidden);
            let target = visible.map(|(i, _)| i).nth(at);
            let found = target.map(|target| origin(inner, target, depth - 1)).unwrap_or_default();
            // What is joined with it may repeat its rows.
            Origin { is_unique: false, ..found }
        }
        RteKind::Join { columns } => match columns.get(at) {
            Some(merged) if depth > 1 => origin_of(query, merged, depth - 1),
            _ => Origin::default(),
        },
        _ => Origin::default(),
    }
}
