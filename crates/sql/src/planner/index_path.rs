//! Index scans of one table: the scanned part of the index, and the cost (indxpath.c).

use super::index::{CandidateIndex, Source};
use super::index_match::IndexMatch;
use super::path_cost::{IndexReads, TableSize};
use super::scan::{ScanRequest, clamp_rows, type_width};
use super::selectivity::Estimator;
use super::{ColumnId, Planner, Rel, rtes_of, to_slots};
use crate::expr::{CallSyntax, Expr, TypeRef};
use crate::implies::implied_by;
use crate::plan::*;
use std::rc::Rc;
use steppe_catalog::{IndexInfo, OperatorRef, RelKind};
use steppe_types::Result;

/// Bytes of an entry besides its key, and how full pages are.
const ENTRY_BYTES: f64 = 16.0;
const PAGE_BYTES: f64 = 8192.0 * 0.75;

/// An index scan that has been chosen.
pub(super) struct IndexPath {
    pub(super) found: Rc<IndexMatch>,
    /// The places of the conditions that the index leaves undecided.
    pub(super) rest: Vec<usize>,
    pub(super) reads: IndexReads,
    /// Rows that satisfy all conditions.
    pub(super) selected: f64,
}

impl Planner<'_> {
    /// The scan of an index over the conditions it can use, if it can use any.
    pub(super) fn index_scan(
        &mut self,
        request: &ScanRequest<'_>,
        index: &CandidateIndex,
    ) -> Result<Option<Rel>> {
        let size = self.table_size(request.relation)?;
        let Some(path) = self.index_path(request, index, size, false)? else { return Ok(None) };
        match self.index_cost(request, index, &path, size) {
            Some(cost) => self.build_index_scan(request, index, path, cost, false).map(Some),
            None => Ok(None),
        }
    }

    /// The cost of the scan of a path, if it may be one.
    pub(super) fn index_cost(
        &self,
        request: &ScanRequest<'_>,
        index: &CandidateIndex,
        path: &IndexPath,
        size: TableSize,
    ) -> Option<Cost> {
        let settings = self.ctx.settings;
        let index_only = self.answers_alone(request, index.info());
        let operators = self.operators_of(path.rest.iter().map(|i| &request.conditions[*i]));
        let charge = settings.costs.index_scan(&path.reads, size, operators, index_only);
        let cost = charge.for_rows(clamp_rows(path.selected), self.row_width(request));
        settings.indexscan.then_some(cost)
    }

    pub(super) fn build_index_scan(
        &mut self,
        request: &ScanRequest<'_>,
        index: &CandidateIndex,
        path: IndexPath,
        cost: Cost,
        backward: bool,
    ) -> Result<Rel> {
        let rest = path.rest.iter().map(|i| path.found.condition(request.conditions, *i).clone());
        let rest = rest.collect();
        let scan = PlanNode::IndexScan {
            rel: self.scan_relation(request),
            index: index.relation.clone(),
            range: index_range(request, &path.found)?,
            backward,
            index_only: self.answers_alone(request, index.info()),
            columns: super::scan::attributes(request.columns),
        };
        self.finish_scan(request, scan, cost, rest)
    }

    /// The cheaper index scan: with columns stepped over or without. Stepping over is tried only
    /// where statistics have the number of their values. A scan that no condition bounds is one
    /// only if `ordered`, or if the index has only the rows wanted.
    pub(super) fn index_path(
        &self,
        request: &ScanRequest<'_>,
        index: &CandidateIndex,
        size: TableSize,
        ordered: bool,
    ) -> Result<Option<IndexPath>> {
        let estimator = Estimator::new(self.ctx, request.rtes);
        let found = index.matching(request.rte, request.conditions, false);
        if found.is_empty() && !ordered && index.predicate.is_none() {
            return Ok(None);
        }
        let plain = self.index_reads(request, index, size, found, &estimator);
        let has_gap = plain.found.checks.iter().any(|check| !matches!(check, KeyCheck::Row { .. }));
        if !has_gap || request.relation.statistics.is_none() {
            return Ok(Some(plain));
        }
        let found = index.matching(request.rte, request.conditions, true);
        if found.skipped.is_empty() {
            return Ok(Some(plain));
        }
        let skipping = self.index_reads(request, index, size, found, &estimator);
        let costs = &self.ctx.settings.costs;
        let total = |path: &IndexPath| costs.index(&path.reads).total;
        Ok(Some(if total(&skipping) < total(&plain) { skipping } else { plain }))
    }

    fn index_reads(
        &self,
        request: &ScanRequest<'_>,
        index: &CandidateIndex,
        size: TableSize,
        found: IndexMatch,
        estimator: &Estimator<'_>,
    ) -> IndexPath {
        // A leaf without the index is read from end to end: its rows must be checked.
        let partitioned = request.relation.kind == RelKind::PartitionedTable;
        let in_index = |c: &Expr| match &index.predicate {
            Some(predicate) => !partitioned && implied_by(c, std::slice::from_ref(predicate)),
            None => false,
        };
        let of = |places: &[usize]| -> Vec<&Expr> {
            places.iter().map(|i| found.condition(request.conditions, *i)).collect()
        };
        let rest: Vec<usize> = (0..request.conditions.len())
            .filter(|i| !found.used.contains(i) && !in_index(&request.conditions[*i]))
            .collect();
        let undecided: Vec<usize> =
            rest.iter().filter(|i| !found.bounding.contains(i)).copied().collect();
        let entries =
            size.rows * index.predicate.as_ref().map_or(1.0, |p| estimator.selectivity_of(p));
        let bounds_more = found.bounding.iter().filter(|i| !found.used.contains(i));
        let used: Vec<usize> = found.used.iter().chain(bounds_more).copied().collect();
        let whole = index.info().is_unique_now() && found.is_whole_key(index.keys.len());
        let share = |places: &[usize]| match places.is_empty() {
            true => 1.0,
            false => estimator.selectivity(&of(places)),
        };
        let (visited, matched) = match whole {
            true => (1.0, 1.0),
            false => {
                let matched = share(&used);
                let is_same = found.bounding == used;
                let bounded = if is_same { matched } else { share(&found.bounding) };
                (entries * bounded, entries * matched)
            }
        };
        let steps =
            found.skipped.iter().map(|c| 2.0 * self.values_of(request, index, *c, estimator));
        let searches = found.searches * steps.product::<f64>();
        let skips = !found.skipped.is_empty();
        let reads = IndexReads {
            entries,
            pages: (entries * self.entry_width(request, index.info()) / PAGE_BYTES).max(1.0),
            // What is searched for after a column that is stepped over bounds the entries, too.
            visited: if skips { matched } else { visited.max(matched) },
            found: matched,
            searches: if skips { searches } else { found.searches },
            conditions: found.used.len() as f64,
            correlation: self.correlation(request, index),
            loops: self.scan_loops,
        };
        let selected = matched * share(&undecided);
        IndexPath { found: Rc::new(found), rest, reads, selected }
    }

    /// Whether an index has all columns that are wanted, as they are.
    pub(super) fn answers_alone(&self, request: &ScanRequest<'_>, info: &IndexInfo) -> bool {
        let is_place = |a: i16| self.for_cursor && (a == ROW_ID || a == TABLE_OID);
        let in_key =
            |(_, a): &ColumnId| info.keys.iter().any(|key| key.attnum == *a) || is_place(*a);
        self.ctx.settings.indexonlyscan
            && request.columns.iter().all(in_key)
            && info.keys.iter().all(|k| steppe_types::key::is_exact(k.type_oid))
    }

    fn values_of(
        &self,
        request: &ScanRequest<'_>,
        index: &CandidateIndex,
        column: usize,
        estimator: &Estimator<'_>,
    ) -> f64 {
        let values = match &index.keys[column].source {
            Source::Column(attnum) => {
                let column = i32::from(*attnum) - 1;
                let ty = request.rtes[request.rte].columns[column as usize].ty;
                let at = crate::expr::Place::NONE;
                estimator.distinct(&Expr::Var { rte: request.rte, column, levels_up: 0, ty, at })
            }
            Source::Expr(expr) => estimator.distinct(expr),
        };
        values.max(1.0)
    }

    /// The correlation of the index's order and the table's (genericcostestimate's
    /// indexCorrelation).
    fn correlation(&self, request: &ScanRequest<'_>, index: &CandidateIndex) -> f64 {
        let (Some(stats), Some(first)) = (&request.relation.statistics, index.info().keys.first())
        else {
            return 0.0;
        };
        let column = usize::try_from(first.attnum - 1).ok().and_then(|i| stats.columns.get(i));
        let correlation = column.map_or(0.0, |column| column.correlation);
        if index.keys.len() > 1 { correlation * 0.75 } else { correlation }
    }

    fn entry_width(&self, request: &ScanRequest<'_>, info: &IndexInfo) -> f64 {
        let of_key = |key: &steppe_catalog::IndexKey| {
            let stats = request.relation.statistics.as_ref();
            let column = usize::try_from(key.attnum - 1).ok();
            let known = column.and_then(|i| stats?.columns.get(i)).map(|s| s.width);
            f64::from(known.unwrap_or_else(|| type_width(TypeRef::plain(key.type_oid))))
        };
        ENTRY_BYTES + info.keys.iter().map(of_key).sum::<f64>()
    }
}

/// A comparison with the column on the left, as an index decides it (match_opclause_to_indexcol).
pub(super) fn key_first(condition: Expr) -> Expr {
    let Expr::Func { func, mut args, ty, syntax: CallSyntax::Operator(op) } = condition else {
        return condition;
    };
    let turned = match args.as_slice() {
        [left, right] if rtes_of(left).is_empty() && !rtes_of(right).is_empty() => {
            OperatorRef::built_in(op.commutator)
                .and_then(|turned| Some((turned.built_in_function()?, turned)))
        }
        _ => None,
    };
    let Some((turned_func, turned)) = turned else {
        return Expr::Func { func, args, ty, syntax: CallSyntax::Operator(op) };
    };
    args.reverse();
    Expr::Func { func: turned_func, args, ty, syntax: CallSyntax::Operator(turned) }
}

/// The part of an index that has been matched.
pub(super) fn index_range(request: &ScanRequest<'_>, found: &IndexMatch) -> Result<IndexRange> {
    let all_columns: Vec<ColumnId> =
        (1..=request.relation.columns.len() as i16).map(|a| (request.rte, a)).collect();
    let used = found.used.iter();
    let used = used.map(|i| key_first(found.condition(request.conditions, *i).clone()));
    let used: Vec<Expr> = used.chain(found.derived.iter().cloned()).collect();
    let to_slots = |c| to_slots(c, &all_columns);
    let conditions = used.into_iter().map(to_slots).collect::<Result<_>>()?;
    Ok(IndexRange {
        keys: found.keys.clone(),
        lower: found.lower.clone(),
        upper: found.upper.clone(),
        not_null: found.not_null,
        checks: found.checks.clone(),
        conditions,
    })
}
