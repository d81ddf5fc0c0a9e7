//! Access paths of one base relation: sequential scan, index scans and what they
//! cost (costsize.c, plancat.c). Which conditions an index can use: `index`.

use super::cost;
use super::index::CandidateIndex;
use super::partition::order_over_entry;
use super::selectivity::Estimator;
use super::stored_form::described;
use super::{ColumnId, Planner, Rel, RteSet, and_all, node, to_slots};
use crate::deparse::quote_identifier;
use crate::expr::{BoolTest, Expr, TypeRef};
use crate::implies::implied_by;
use crate::plan::*;
use crate::query::{OrderBy, Rte, Target};
use std::sync::Arc;
use steppe_catalog::{RelKind, Relation};
use steppe_types::{Result, oid};

/// An OR of more arms is not taken apart: each arm's scan has all arms before it in its filter.
const ARMS_MAX: usize = 64;

/// A scan to build: a relation with what the query wants from it.
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

    /// The cheapest scan of one table. A whole unique key is always looked up in its index:
    /// that is one row without looking at any other, however small the table, and the executor's
    /// point path, which waits for a locked row without holding a thread.
    pub(super) fn table_scan(&mut self, request: &ScanRequest<'_>) -> Result<Rel> {
        if self.current_of.is_some() && self.changed == Some(request.rte) {
            return self.seq_scan(request);
        }
        let indexes = self.usable_indexes(request)?;
        if let Some(unique) = indexes.iter().find(|i| self.matches_whole_key(request, i))
            && let Some(rel) = self.index_scan(request, unique, false, false)?
        {
            return Ok(rel);
        }
        let mut best = self.seq_scan(request)?;
        if !self.ctx.settings.seqscan {
            best.plan.cost.total += 1e10;
        }
        for index in &indexes {
            if let Some(rel) = self.index_scan(request, index, false, false)?
                && rel.plan.cost.total < best.plan.cost.total
            {
                best = rel;
            }
        }
        for (i, condition) in request.conditions.iter().enumerate() {
            if let Expr::Or(arms) = condition
                && !indexes.is_empty()
                && arms.len() <= ARMS_MAX
                && !indexes.iter().any(|index| index.looks_up_arms(request.rte, condition))
                && let Some(rel) = self.scan_of_arms(request, i, arms, &indexes)?
                && rel.plan.cost.total < best.plan.cost.total
            {
                best = rel;
            }
        }
        Ok(best)
    }

    /// `a OR b` with an index for each: one scan after the other, each without the rows that an
    /// arm before has found (where PostgreSQL combines bitmaps).
    fn scan_of_arms(
        &mut self,
        request: &ScanRequest<'_>,
        position: usize,
        arms: &[Expr],
        indexes: &[CandidateIndex],
    ) -> Result<Option<Rel>> {
        let others = request.conditions.iter().enumerate().filter(|(i, _)| *i != position);
        let others: Vec<Expr> = others.map(|(_, c)| c.clone()).collect();
        let (mut children, mut cost) = (Vec::with_capacity(arms.len()), Cost::default());
        for (i, arm) in arms.iter().enumerate() {
            let mut conditions = others.clone();
            super::conjuncts(arm.clone(), &mut conditions);
            let not_before = arms[..i].iter().map(|before| Expr::BoolTest {
                arg: Box::new(before.clone()),
                test: BoolTest::NotTrue,
            });
            conditions.extend(not_before);
            let of_arm = ScanRequest { conditions: &conditions, ..*request };
            let mut best: Option<Rel> = None;
            for index in indexes {
                if let Some(rel) = self.index_scan(&of_arm, index, false, false)?
                    && best.as_ref().is_none_or(|b| rel.plan.cost.total < b.plan.cost.total)
                {
                    best = Some(rel);
                }
            }
            let Some(rel) = best else { return Ok(None) };
            cost.total += rel.plan.cost.total;
            cost.rows += rel.plan.cost.rows;
            cost.width = rel.plan.cost.width;
            children.push(rel.plan);
        }
        let Some(first) = children.first() else { return Ok(None) };
        let (types, names) = (first.types.clone(), first.slot_names.clone());
        let plan = node(PlanNode::Append(children), types, names, cost);
        let rtes = RteSet::one(request.rte);
        Ok(Some(Rel { plan, layout: request.columns.to_vec(), rtes }))
    }

    /// Whether the conditions bind every key of a unique index by equality.
    fn matches_whole_key(&self, request: &ScanRequest<'_>, index: &CandidateIndex) -> bool {
        let found = index.matching(request.rte, request.conditions);
        index.info().is_unique_now()
            && found.equal.len() == index.keys.len()
            && !found.equal_is_null.contains(&true)
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
        let mut best: Option<Rel> = None;
        for index in self.usable_indexes(request)? {
            let Some(backward) = index.provides_order(request, targets, order_by) else {
                continue;
            };
            if let Some(rel) = self.index_scan(request, &index, true, backward)?
                && best.as_ref().is_none_or(|b| rel.plan.cost.total < b.plan.cost.total)
            {
                best = Some(rel);
            }
        }
        match best {
            Some(template) if request.relation.kind == RelKind::PartitionedTable => {
                self.over_leaves(request, template, order).map(Some)
            }
            best => Ok(best),
        }
    }

    /// The table's indexes that may answer the query: of partial ones those whose predicate the
    /// conditions imply.
    fn usable_indexes(&mut self, request: &ScanRequest<'_>) -> Result<Vec<CandidateIndex>> {
        let mut usable = Vec::new();
        // A system catalog is computed whole: its indexes are there to be looked at only.
        if !self.ctx.settings.indexscan || request.relation.kind == RelKind::Virtual {
            return Ok(usable);
        }
        for index in self.ctx.catalog.indexes_of(request.relation) {
            if !self.ctx.has_all_versions(index) {
                continue;
            }
            let Some(candidate) =
                CandidateIndex::new(self.ctx.catalog, request.relation, index, request.rte)?
            else {
                continue;
            };
            // Whether it can be used may depend on what a literal is, not only on its type.
            self.depends_on_literals |= candidate.has_constants;
            if candidate.predicate.iter().all(|p| implied_by(p, request.conditions)) {
                usable.push(candidate);
            }
        }
        Ok(usable)
    }

    fn seq_scan(&mut self, request: &ScanRequest<'_>) -> Result<Rel> {
        let relation = request.relation;
        let (rows, pages) = self.table_size(relation)?;
        let estimator = Estimator::new(self.ctx, request.rtes);
        let selected = rows * estimator.selectivity(request.conditions);
        let per_row = cost::CPU_TUPLE + cost::CPU_OPERATOR * request.conditions.len() as f64;
        let cost = Cost {
            startup: 0.0,
            total: pages * cost::SEQ_PAGE + rows * per_row,
            rows: clamp_rows(selected),
            width: self.row_width(request),
        };
        let columns = attributes(request.columns);
        let cursor = self.current_of.clone().filter(|_| self.changed == Some(request.rte));
        let cost = match cursor {
            None => cost,
            Some(_) => Cost { total: cost::RANDOM_PAGE + per_row, rows: 1.0, ..cost },
        };
        let scan = PlanNode::SeqScan { rel: self.scan_relation(request), columns, cursor };
        self.finish_scan(request, scan, cost, request.conditions.to_vec())
    }

    /// An index scan over the conditions it can use. Without any only if `ordered`, or if the
    /// index has only the rows wanted.
    fn index_scan(
        &mut self,
        request: &ScanRequest<'_>,
        index: &CandidateIndex,
        ordered: bool,
        backward: bool,
    ) -> Result<Option<Rel>> {
        let found = index.matching(request.rte, request.conditions);
        if found.is_empty() && !ordered && index.predicate.is_none() {
            return Ok(None);
        }
        let info = index.info();
        // A leaf without the index is read from end to end: its rows must be checked.
        let partitioned = request.relation.kind == RelKind::PartitionedTable;
        let in_index = |c: &Expr| match &index.predicate {
            Some(predicate) => !partitioned && implied_by(c, std::slice::from_ref(predicate)),
            None => false,
        };
        let rest: Vec<Expr> = request
            .conditions
            .iter()
            .enumerate()
            .filter(|(i, c)| !found.used.contains(i) && !in_index(c))
            .map(|(_, c)| c.clone())
            .collect();
        let used = found.used.iter().map(|i| match (&request.conditions[*i], &found.any_of_or) {
            (Expr::Or(_), Some(any)) => any.clone(),
            (condition, _) => condition.clone(),
        });
        let used: Vec<Expr> = used.collect();
        let key_attributes: Vec<i16> = info.keys.iter().map(|k| k.attnum).collect();
        let is_place = |a: i16| self.for_cursor && (a == ROW_ID || a == TABLE_OID);
        let in_key = |(_, a): &ColumnId| key_attributes.contains(a) || is_place(*a);
        let index_only = self.ctx.settings.indexonlyscan
            && request.columns.iter().all(in_key)
            && info.keys.iter().all(|k| steppe_types::key::is_exact(k.type_oid));

        let (rows, pages) = self.table_size(request.relation)?;
        let estimator = Estimator::new(self.ctx, request.rtes);
        let full_key = info.is_unique_now() && found.equal.len() == info.keys.len();
        let in_index = rows * index.predicate.as_ref().map_or(1.0, |p| estimator.selectivity_of(p));
        let probed = if full_key { 1.0 } else { in_index * estimator.selectivity(&used) };
        let selected = probed * estimator.selectivity(&rest);
        // Row fetches: pages of a B+tree by row id; clustered access touches each page once.
        let index_pages = (pages * 0.2 * in_index / rows).max(1.0);
        let fraction = (probed / in_index.max(1.0)).min(1.0);
        let loops = self.scan_loops;
        let heap = match index_only {
            true => 0.0,
            false => cost::RANDOM_PAGE * pages_fetched(pages, probed, loops),
        };
        let of_index = index_pages * fraction;
        let entries = match loops > 1.0 {
            // One page of an index is no entries'.
            true => cost::RANDOM_PAGE * pages_fetched(index_pages + 1.0, of_index, loops),
            false => (of_index * cost::SEQ_PAGE).max(cost::RANDOM_PAGE),
        };
        let descent = cost::log2(rows) * cost::CPU_OPERATOR + 50.0 * cost::CPU_OPERATOR;
        let cost = Cost {
            startup: descent,
            total: descent
                + entries
                + heap
                + probed * (cost::CPU_INDEX_TUPLE + cost::CPU_TUPLE)
                + probed * cost::CPU_OPERATOR * rest.len() as f64,
            rows: clamp_rows(selected),
            width: self.row_width(request),
        };
        let all_columns: Vec<ColumnId> =
            (1..=request.relation.columns.len() as i16).map(|a| (request.rte, a)).collect();
        let conditions =
            used.into_iter().map(|c| to_slots(c, &all_columns)).collect::<Result<_>>()?;
        let range = IndexRange {
            equal: found.equal,
            equal_is_null: found.equal_is_null,
            any: found.any,
            lower: found.lower,
            upper: found.upper,
            not_null: found.not_null,
            conditions,
        };
        let scan = PlanNode::IndexScan {
            rel: self.scan_relation(request),
            index: index.relation.clone(),
            range,
            backward,
            index_only,
            columns: attributes(request.columns),
        };
        self.finish_scan(request, scan, cost, rest).map(Some)
    }

    fn finish_scan(
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
    fn table_size(&mut self, relation: &Relation) -> Result<(f64, f64)> {
        let (rows, pages) = match relation.kind {
            RelKind::PartitionedTable => self.average_leaf(relation)?,
            _ => self.ctx.sizes.size(relation),
        };
        Ok((rows.max(1.0), pages.max(1.0)))
    }

    fn row_width(&self, request: &ScanRequest<'_>) -> u32 {
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
    let qualify = |name: &str| format!("{alias}.{}", quote_identifier(name));
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

fn attributes(columns: &[ColumnId]) -> Vec<i16> {
    columns.iter().map(|(_, a)| *a).collect()
}

/// Pages that one of so many scans reads at random, each of `rows` rows: what scans before it have
/// read is in the cache (Mackert and Lohman's formula, index_pages_fetched).
fn pages_fetched(pages: f64, rows: f64, loops: f64) -> f64 {
    if loops <= 1.0 {
        return rows.min(pages);
    }
    let all = rows.max(1.0) * loops;
    (2.0 * pages * all / (2.0 * pages + all)).min(pages).ceil() / loops
}

/// Row estimates are at least one row and whole.
pub(crate) fn clamp_rows(rows: f64) -> f64 {
    rows.max(1.0).round()
}

/// Average width guessed from a type: a char(n) is full, a varchar(n) of more than 32 to half of
/// what is above that (get_typavgwidth).
pub fn type_width(ty: TypeRef) -> u32 {
    let builtins = steppe_catalog::Builtins::get();
    match builtins.ty(ty.oid).map_or(32, |t| t.len) {
        len if len > 0 => len as u32,
        _ if ty.oid == oid::BPCHAR && ty.typmod > 4 => (ty.typmod - 4) as u32,
        _ if ty.oid == oid::VARCHAR && ty.typmod > 4 => match (ty.typmod - 4) as u32 {
            most @ 0..=32 => most,
            most => 32 + (most.min(1000) - 32) / 2,
        },
        _ => 32,
    }
}
