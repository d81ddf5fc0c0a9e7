//! Access paths of one base relation, of which the cheapest is taken (allpaths.c, plancat.c). What
//! they cost: `path_cost`. The conditions that an index can use: `index_match`.

use super::cost;
use super::index::{CandidateIndex, Key};
use super::index_path::IndexPath;
use super::partition::order_over_entry;
use super::path_cost::TableSize;
use super::selectivity::Estimator;
use super::stored_form::described;
use super::ties::scan_beats;
use super::{ColumnId, Planner, Rel, RteSet, and_all, node, to_slots};
use crate::deparse::quote_identifier;
use crate::expr::{Expr, TypeRef};
use crate::implies::implied_by;
use crate::plan::*;
use crate::query::{CursorName, OrderBy, Rte, Target};
use std::rc::Rc;
use std::sync::Arc;
use steppe_catalog::{RelKind, Relation};
use steppe_types::{Result, oid};

/// A scan to build: a relation with the columns and conditions of the query.
pub(crate) struct ScanRequest<'q> {
    pub(crate) rtes: &'q [Rte],
    pub(crate) rte: usize,
    pub(crate) relation: &'q Arc<Relation>,
    pub(crate) columns: &'q [ColumnId],
    /// Conditions over this relation alone (constants, parameters and exec params besides).
    pub(crate) conditions: &'q [Expr],
}

impl Planner<'_> {
    /// The cheapest scan of a base relation.
    pub(crate) fn base_scan(&mut self, request: &ScanRequest<'_>) -> Result<Rel> {
        match (request.relation.kind, request.rtes[request.rte].inherit) {
            (RelKind::PartitionedTable, true) if !self.in_leaf => {
                match self.is_excluded(request, false)? {
                    true => self.no_rows(request),
                    false => self.partition_scan(request),
                }
            }
            (RelKind::PartitionedTable, false) => self.no_rows(request),
            _ if self.is_inherited(&request.rtes[request.rte]) => self.inheritance_scan(request),
            (RelKind::Table, _) if self.is_excluded(request, false)? => self.no_rows(request),
            _ => self.table_scan(request),
        }
    }

    /// The cheapest scan of one table. A whole unique key is always looked up in its index, for any
    /// size of the table. That reads exactly one row, and allows the executor's point path, which
    /// waits for a locked row without holding a thread.
    pub(super) fn table_scan(&mut self, request: &ScanRequest<'_>) -> Result<Rel> {
        if self.current_of.is_some() && self.changed == Some(request.rte) {
            return self.seq_scan(request);
        }
        let indexes = self.usable_indexes(request)?;
        if let Some(unique) = indexes.iter().find(|i| self.matches_whole_key(request, i))
            && let Some(rel) = self.index_scan(request, unique)?
        {
            return Ok(rel);
        }
        let size = self.table_size(request.relation)?;
        let mut cost = self.seq_scan_cost(request, size);
        if !self.ctx.settings.seqscan {
            cost.total += 1e10;
        }
        // Only the cheapest path is made a plan.
        let mut paths = Vec::with_capacity(indexes.len());
        for index in &indexes {
            paths.push(self.index_path(request, index, size, false)?);
        }
        let (mut best, mut filters) = (None, request.conditions.len());
        for (at, path) in paths.iter().enumerate() {
            let Some(path) = path else { continue };
            let Some(found) = self.index_cost(request, &indexes[at], path, size) else { continue };
            if scan_beats((&found, path.rest.len()), (&cost, filters)) {
                (best, cost, filters) = (Some(at), found, path.rest.len());
            }
        }
        let is_seq_scan = best.is_none();
        let whole = self.whole_index(request, (&indexes, &paths), size, (cost, is_seq_scan))?;
        if let Some((_, _, found)) = &whole {
            cost = *found;
        }
        let by_tid = self.tid_scan(request)?.filter(|rel| rel.plan.cost.total < cost.total);
        let below = by_tid.as_ref().map_or(cost.total, |rel| rel.plan.cost.total);
        if let Some(rel) = self.bitmap_scan(request, &indexes, (&paths, size), below)? {
            return Ok(rel);
        }
        let whole = whole.map(|(at, path, _)| (at, path));
        let chosen = whole.or_else(|| best.and_then(|at| Some((at, paths[at].take()?))));
        match (by_tid, chosen) {
            (Some(rel), _) => Ok(rel),
            (None, Some((at, path))) => {
                self.build_index_scan(request, &indexes[at], path, cost, false)
            }
            (None, None) => self.build_seq_scan(request, cost),
        }
    }

    /// The cheapest scan of a whole index that no condition bounds, but that has all wanted
    /// columns. `below` is the cost that it has to beat, and whether that is a full scan. A full
    /// scan reads cached pages as columns, which is faster than entry by entry: only a larger
    /// table's pages count.
    fn whole_index(
        &self,
        request: &ScanRequest<'_>,
        (indexes, paths): (&[CandidateIndex], &[Option<IndexPath>]),
        size: TableSize,
        (mut below, is_seq_scan): (Cost, bool),
    ) -> Result<Option<(usize, IndexPath, Cost)>> {
        let costs = &self.ctx.settings.costs;
        if is_seq_scan && size.pages <= costs.cache_pages {
            below.total -= size.pages * costs.seq_page;
        }
        let mut best = None;
        // A leaf may lack the index.
        if request.relation.kind == RelKind::PartitionedTable {
            return Ok(best);
        }
        for (at, index) in indexes.iter().enumerate() {
            if paths[at].is_some() || !self.answers_alone(request, index.info()) {
                continue;
            }
            let Some(path) = self.index_path(request, index, size, true)? else { continue };
            let Some(cost) = self.index_cost(request, index, &path, size) else { continue };
            if cost.total < below.total {
                (best, below) = (Some((at, path, cost)), cost);
            }
        }
        Ok(best)
    }

    /// Whether the conditions bind every key of a unique index by equality.
    fn matches_whole_key(&self, request: &ScanRequest<'_>, index: &CandidateIndex) -> bool {
        index.info().is_unique_now()
            && request.conditions.len() >= index.keys.len()
            && index.matching(request.rte, request.conditions, false).is_whole_key(index.keys.len())
    }

    /// A scan in the wanted order (which saves a sort): by an index, of a partitioned table by each
    /// leaf's. Any scan will do where conditions let all of it have one value only. What inherits
    /// from a table is not merged.
    pub(crate) fn ordered_scan(
        &mut self,
        request: &ScanRequest<'_>,
        targets: &[Target],
        order_by: &[OrderBy],
    ) -> Result<Option<Rel>> {
        let order = order_over_entry(request, targets, order_by);
        if order.is_empty() {
            return self.base_scan(request).map(Some);
        }
        let entry = &request.rtes[request.rte];
        let is_empty = request.relation.kind == RelKind::PartitionedTable && !entry.inherit;
        if is_empty {
            return Ok(None);
        }
        if self.is_inherited(entry) {
            return self.merged_inheritance_scan(request, targets, order_by, &order);
        }
        match self.ordered_index_scan(request, targets, order_by)? {
            Some(template) if request.relation.kind == RelKind::PartitionedTable => {
                self.over_leaves(request, template, order).map(Some)
            }
            scan => Ok(scan),
        }
    }

    /// The cheapest scan of an index that gives the order. Only that one is made a plan.
    fn ordered_index_scan(
        &mut self,
        request: &ScanRequest<'_>,
        targets: &[Target],
        order_by: &[OrderBy],
    ) -> Result<Option<Rel>> {
        let size = self.table_size(request.relation)?;
        let mut best: Option<(CandidateIndex, IndexPath, Cost, bool)> = None;
        for index in self.usable_indexes(request)? {
            let Some(backward) = index.provides_order(request, targets, order_by) else {
                continue;
            };
            let Some(path) = self.index_path(request, &index, size, true)? else { continue };
            let Some(cost) = self.index_cost(request, &index, &path, size) else { continue };
            let is_better = best.as_ref().is_none_or(|(_, best, least, _)| {
                scan_beats((&cost, path.rest.len()), (least, best.rest.len()))
            });
            if is_better {
                best = Some((index, path, cost, backward));
            }
        }
        let Some((index, path, cost, backward)) = best else { return Ok(None) };
        self.build_index_scan(request, &index, path, cost, backward).map(Some)
    }

    /// The table's indexes that may serve the query. A partial index may if the conditions imply
    /// its predicate.
    fn usable_indexes(&mut self, request: &ScanRequest<'_>) -> Result<Vec<CandidateIndex>> {
        let mut usable = Vec::new();
        // A system catalog is computed whole: its indexes are only shown.
        let settings = self.ctx.settings;
        let looks = settings.indexscan || settings.bitmapscan;
        if !looks || request.relation.kind == RelKind::Virtual {
            return Ok(usable);
        }
        for index in self.ctx.catalog.indexes_of(request.relation) {
            if !self.ctx.has_all_versions(index) {
                continue;
            }
            let Some(mut candidate) =
                CandidateIndex::new(self.ctx.catalog, request.relation, index, request.rte)?
            else {
                continue;
            };
            // Whether it can be used may depend on the value of a literal, not only on its type.
            self.depends_on_literals |= candidate.has_constants;
            let depends = |key: &Key| key.depends_on_pattern(request.conditions, request.rte);
            if candidate.keys.iter().any(depends) {
                self.depends_on_literals = true;
                candidate.examples = Rc::from(self.ctx.values);
            }
            if candidate.predicate.iter().all(|p| implied_by(p, request.conditions)) {
                usable.push(candidate);
            }
        }
        Ok(usable)
    }

    fn seq_scan(&mut self, request: &ScanRequest<'_>) -> Result<Rel> {
        let size = self.table_size(request.relation)?;
        let cost = self.seq_scan_cost(request, size);
        self.build_seq_scan(request, cost)
    }

    fn seq_scan_cost(&self, request: &ScanRequest<'_>, size: TableSize) -> Cost {
        let (costs, operators) = (&self.ctx.settings.costs, self.operators_of(request.conditions));
        let width = self.row_width(request);
        if self.cursor_of(request).is_some() {
            return costs.row_fetches(1.0, operators).for_rows(1.0, width);
        }
        let estimator = Estimator::new(self.ctx, request.rtes);
        let selected = clamp_rows(size.rows * estimator.selectivity(request.conditions));
        costs.seq_scan(size, operators).for_rows(selected, width)
    }

    /// The cursor whose row is meant, in WHERE CURRENT OF.
    fn cursor_of(&self, request: &ScanRequest<'_>) -> Option<&CursorName> {
        self.current_of.as_ref().filter(|_| self.changed == Some(request.rte))
    }

    fn build_seq_scan(&mut self, request: &ScanRequest<'_>, cost: Cost) -> Result<Rel> {
        let scan = PlanNode::SeqScan {
            rel: self.scan_relation(request),
            columns: attributes(request.columns),
            cursor: self.cursor_of(request).cloned(),
            parallel: false,
        };
        self.finish_scan(request, scan, cost, request.conditions.to_vec())
    }

    pub(super) fn finish_scan(
        &mut self,
        request: &ScanRequest<'_>,
        scan: PlanNode,
        cost: Cost,
        filter: Vec<Expr>,
    ) -> Result<Rel> {
        let (types, names) = row_of(request);
        let mut plan = node(scan, types, names, cost);
        plan.filter = match and_all(cost::cheapest_first(filter)) {
            Some(filter) => Some(to_slots(filter, request.columns)?),
            None => None,
        };
        if request.relation.kind != RelKind::Virtual {
            self.use_relation(request.relation.oid, RelationLock::AccessShare);
        }
        Ok(Rel { plan, layout: request.columns.to_vec(), rtes: RteSet::one(request.rte) })
    }

    pub(super) fn scan_relation(&self, request: &ScanRequest<'_>) -> ScanRelation {
        let alias = request.rtes[request.rte].alias.clone();
        ScanRelation { relation: request.relation.clone(), alias }
    }

    /// Rows and pages of a table, or of a partitioned table's average leaf.
    pub(super) fn table_size(&mut self, relation: &Relation) -> Result<TableSize> {
        let (rows, pages) = match relation.kind {
            RelKind::PartitionedTable => self.average_leaf(relation)?,
            _ => self.ctx.sizes.size(relation),
        };
        Ok(TableSize { rows: rows.max(1.0), pages: pages.max(1.0) })
    }

    pub(super) fn row_width(&self, request: &ScanRequest<'_>) -> u32 {
        let entry = &request.rtes[request.rte];
        let width = |id: &ColumnId| match usize::try_from(id.1 - 1) {
            Ok(i) if i < entry.columns.len() => {
                let stats = request.relation.statistics.as_ref().and_then(|s| s.columns.get(i));
                let stats = stats.filter(|s| !s.is_absent());
                stats.map_or_else(|| type_width(entry.columns[i].ty), |s| s.width)
            }
            _ => 8,
        };
        request.columns.iter().map(width).sum()
    }
}

/// The types of a scan's row, and the names of its columns for EXPLAIN.
pub(super) fn row_of(request: &ScanRequest<'_>) -> (Vec<TypeRef>, Arc<[Arc<str>]>) {
    let entry = &request.rtes[request.rte];
    let alias = quote_identifier(&entry.alias);
    let qualify = |name: &str| [&*alias, ".", &*quote_identifier(name)].concat();
    let column = |id: &ColumnId| match (StoredForm::of(id.1), id.1) {
        (Some((form, a)), _) => described(form, &qualify(&entry.columns[a as usize - 1].name)),
        (None, ROW_ID) => (TypeRef::plain(oid::INT8), qualify("ctid")),
        (None, a) if a < 0 => {
            let system = crate::bind::system_column(a.into());
            let ty = TypeRef::plain(system.map_or(oid::OID, |s| s.1));
            (ty, qualify(system.map_or("?", |s| s.0)))
        }
        (None, a) => {
            let c = &entry.columns[a as usize - 1];
            (c.ty, qualify(&c.name))
        }
    };
    let (types, names): (Vec<TypeRef>, Vec<String>) = request.columns.iter().map(column).unzip();
    (types, names.into_iter().map(Arc::from).collect())
}

pub(super) fn attributes(columns: &[ColumnId]) -> Vec<i16> {
    columns.iter().map(|(_, a)| *a).collect()
}

/// Row estimates are at least one row and whole.
pub(crate) fn clamp_rows(rows: f64) -> f64 {
    rows.max(1.0).round()
}

/// Average width guessed from a type. A char(n) is full; a varchar(n) of more than 32 has half of
/// the rest besides (get_typavgwidth).
pub fn type_width(ty: TypeRef) -> u32 {
    match steppe_catalog::builtin::ty(ty.oid).map_or(32, |t| t.len) {
        len if len > 0 => len as u32,
        _ if ty.oid == oid::BPCHAR && ty.typmod > 4 => (ty.typmod - 4) as u32,
        _ if ty.oid == oid::VARCHAR && ty.typmod > 4 => match (ty.typmod - 4) as u32 {
            most @ 0..=32 => most,
            most => 32 + (most.min(1000) - 32) / 2,
        },
        _ => 32,
    }
}
