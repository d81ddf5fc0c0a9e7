//! Scans of partitioned tables: one plan for all leaves (docs/design.md 6.2).
//!
//! The table is planned as if it were one leaf of average size, and that scan is the template of
//! every leaf's. Planning and the plan do not depend on how many leaves there are: the sizes come
//! from a few of them.
//!
//! Rows in order: each leaf is scanned by its index, and leaves are read in the order
//! of their bounds, or merged where that is no help (generate_orderedappend_paths).

use super::cost;
use super::index::over_entry;
use super::path_cost::CostParameters;
use super::scan::{ScanRequest, clamp_rows};
use super::{Planner, Rel, node};
use crate::expr::{Expr, SortKey};
use crate::plan::*;
use crate::prune::{KeyOfScan, fixes};
use crate::query::{OrderBy, Target};
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_partition::PruningSteps;
use steppe_types::{Oid, Result};

/// Sizes are estimated from this many partitions at either end of the list.
const SAMPLED_AT_EACH_END: usize = 4;
/// At most this many of the partitions that conditions leave are counted.
const COUNTED_MAX: usize = 1000;

/// A partitioned table's size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PartitionedSize {
    pub(super) leaves: f64,
    pub(super) rows: f64,
    pub(super) pages: f64,
    /// The rows that are stored, also of leaves that are taken to be larger than they are.
    pub(super) stored_rows: f64,
}

impl PartitionedSize {
    fn add(&mut self, other: PartitionedSize) {
        self.leaves += other.leaves;
        self.rows += other.rows;
        self.pages += other.pages;
        self.stored_rows += other.stored_rows;
    }

    fn times(self, factor: f64) -> PartitionedSize {
        PartitionedSize {
            leaves: self.leaves * factor,
            rows: self.rows * factor,
            pages: self.pages * factor,
            stored_rows: self.stored_rows * factor,
        }
    }
}

/// The leaves of a partitioned table that conditions leave.
struct Kept {
    leaves: f64,
    /// In an order that their bounds do not give.
    is_merged: bool,
}

impl Kept {
    /// The cost of all leaves' scans, by that of the average one (cost_append, cost_merge_append).
    fn cost(&self, leaf: &Cost, costs: &CostParameters) -> Cost {
        let leaves = self.leaves;
        let (total, rows) = (leaf.total * leaves, clamp_rows(leaf.rows * leaves));
        if !self.is_merged {
            return Cost { startup: leaf.startup, total, rows, width: leaf.width };
        }
        let startup = leaf.startup * leaves;
        let mut cost = Cost { startup, total, rows, width: leaf.width };
        cost::add_merge(&mut cost, leaves, costs);
        cost
    }
}

impl Planner<'_> {
    /// The scan of a partitioned table.
    pub(super) fn partition_scan(&mut self, request: &ScanRequest<'_>) -> Result<Rel> {
        let template = self.table_scan(request)?;
        self.over_leaves(request, template, Vec::new())
    }

    /// The template's scan of every leaf, in an order that the template has.
    pub(super) fn over_leaves(
        &mut self,
        request: &ScanRequest<'_>,
        template: Rel,
        order: Vec<SortKey>,
    ) -> Result<Rel> {
        let Rel { plan: template, layout, rtes } = template;
        let of_this = |condition: &Expr| over_entry(condition.clone(), 0);
        // Conditions prune and no more: without them every leaf is read.
        let pruning = self.ctx.settings.partition_pruning;
        let conditions = request.conditions.iter().filter(|_| pruning);
        let conditions: Vec<Expr> = conditions.map(of_this).collect();
        let kept = self.leaves_kept(request.relation, &conditions, &order)?;
        let cost = kept.cost(&template.cost, self.costs());
        let (types, names) = (template.types.clone(), template.slot_names.clone());
        let scan = PlanNode::PartitionScan {
            rel: self.scan_relation(request),
            template: Box::new(template),
            conditions,
            order,
            partners: Vec::new(),
            matched: None,
        };
        Ok(Rel { plan: node(scan, types, names, cost), layout, rtes })
    }

    /// Whether the conditions after the first `own` ones, which compare with an outer row's values,
    /// leave one partition. As in PostgreSQL only where an index could be searched for them, though
    /// reading a small partition is cheaper (get_cheapest_parameterized_child_path): not knowing how
    /// many outer rows there are is forgiven then.
    pub(super) fn picks_partition(&self, request: &ScanRequest<'_>, own: usize) -> Result<bool> {
        let table = request.relation;
        let Some(key) = table.partition_key.as_ref() else { return Ok(false) };
        let of_this = |condition: &Expr| over_entry(condition.clone(), 0);
        let conditions: Vec<Expr> = request.conditions.iter().map(of_this).collect();
        let catalog = self.ctx.catalog;
        let is_searchable = |index: &Arc<Relation>| {
            let first = index.index.as_ref().and_then(|info| info.keys.first());
            first.is_some_and(|first| {
                let column = i32::from(first.attnum) - 1;
                conditions[own..].iter().any(|condition| reads(condition, column))
            })
        };
        if !self.ctx.settings.partition_pruning || !catalog.indexes_of(table).any(is_searchable) {
            return Ok(false);
        }
        let key = KeyOfScan::new(catalog, table, table, key)?;
        let leave_one = |conditions: &[Expr]| {
            PruningSteps::compile(&key.pruning(conditions).predicate, key.len()).fix_the_key()
        };
        Ok(leave_one(&conditions) && !leave_one(&conditions[..own]))
    }

    /// The leaves that the conditions will leave, as far as their values are known.
    fn leaves_kept(
        &mut self,
        table: &Arc<Relation>,
        conditions: &[Expr],
        order: &[SortKey],
    ) -> Result<Kept> {
        let catalog = self.ctx.catalog;
        let leaves = self.partitioned_size(table.oid)?.leaves;
        let (Some(map), Some(key)) = (catalog.partition_map(table.oid)?, &table.partition_key)
        else {
            return Ok(Kept { leaves, is_merged: false });
        };
        let key = KeyOfScan::new(catalog, table, table, key)?;
        let steps = PruningSteps::compile(&key.pruning(conditions).predicate, key.len());
        let per_partition = leaves / (map.len().max(1) as f64);
        if steps.fix_the_key() {
            return Ok(Kept { leaves: per_partition.max(1.0), is_merged: false });
        }
        let known = steps.evaluate(map, &|_| Ok(None), self.ctx.io)?;
        let kept = match known.is_all() {
            true => map.len(),
            false => map.select(&known).take(COUNTED_MAX).count(),
        };
        let is_ordered = |by| match map.len() > COUNTED_MAX {
            true => map.default_partition().is_none(),
            false => map.select_ordered(&known, by).is_some(),
        };
        let is_merged =
            !order.is_empty() && kept > 1 && !key.order(order, conditions).is_some_and(is_ordered);
        Ok(Kept { leaves: (kept as f64 * per_partition).max(1.0), is_merged })
    }

    /// Rows and pages of the average leaf.
    pub(super) fn average_leaf(&mut self, relation: &Relation) -> Result<(f64, f64)> {
        let size = self.partitioned_size(relation.oid)?;
        let leaves = size.leaves.max(1.0);
        Ok((size.rows / leaves, size.pages / leaves))
    }

    /// Rows and pages of the average leaf of a partitioned table that a scan has been planned of.
    pub(super) fn known_leaf_size(&self, relation: &Relation) -> Option<(f64, f64)> {
        let size = self.partitioned_sizes.get(&relation.oid)?;
        let leaves = size.leaves.max(1.0);
        Some((size.rows / leaves, size.pages / leaves))
    }

    /// The rows of all leaves of a partitioned table: as plans take them to be, and as they are
    /// stored.
    pub(super) fn rows_guessed_and_stored(&self, relation: &Relation) -> Option<(f64, f64)> {
        self.partitioned_sizes.get(&relation.oid).map(|size| (size.rows, size.stored_rows))
    }

    /// The number and sizes of a partitioned table's leaves, computed once a statement.
    pub(super) fn partitioned_size(&mut self, table: Oid) -> Result<PartitionedSize> {
        if let Some(known) = self.partitioned_sizes.get(&table) {
            return Ok(*known);
        }
        let catalog = self.ctx.catalog;
        let partitions = catalog.partition_map(table)?.map_or(0, |map| map.len());
        let mut sampled: Vec<Oid> = catalog.children(table).take(SAMPLED_AT_EACH_END).collect();
        let rest = partitions.saturating_sub(sampled.len()).min(SAMPLED_AT_EACH_END);
        sampled.extend(catalog.children(table).rev().take(rest));
        let mut size = PartitionedSize::default();
        for oid in &sampled {
            let Some(partition) = catalog.relation(*oid) else { continue };
            if partition.partition_key.is_some() {
                size.add(self.partitioned_size(*oid)?);
                continue;
            }
            let (rows, pages) = self.ctx.sizes.size(partition);
            let stored_rows = self.ctx.sizes.stored_rows(partition);
            size.add(PartitionedSize { leaves: 1.0, rows, pages, stored_rows });
        }
        let size = size.times(partitions as f64 / sampled.len().max(1) as f64);
        self.partitioned_sizes.insert(table, size);
        Ok(size)
    }
}

/// ORDER BY over the table's columns, without keys of one value.
pub(super) fn order_over_entry(
    request: &ScanRequest<'_>,
    targets: &[Target],
    order_by: &[OrderBy],
) -> Vec<SortKey> {
    let key = |order: &OrderBy| {
        let expr = &targets[order.target].expr;
        let is_fixed = request.conditions.iter().any(|condition| fixes(condition, expr));
        (!is_fixed).then(|| SortKey {
            expr: over_entry(expr.clone(), 0),
            descending: order.descending,
            nulls_first: order.nulls_first,
        })
    };
    order_by.iter().filter_map(key).collect()
}

/// Whether an expression over one table reads a column, by its position.
fn reads(expr: &Expr, position: i32) -> bool {
    match expr {
        Expr::Var { column, levels_up: 0, .. } => *column == position,
        other => other.any_child(|child| reads(child, position)),
    }
}
