//! Scans of partitioned tables: one plan for all leaves (design D10).
//!
//! The table is planned as if it were one leaf of average size, and that scan is
//! the template of every leaf's. Neither planning nor the plan depends on how many
//! leaves there are: the sizes come from a few of them.

use super::index::over_entry;
use super::scan::{ScanRequest, clamp_rows};
use super::{Planner, Rel, node};
use crate::expr::Expr;
use crate::plan::*;
use crate::prune::KeyOfScan;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_partition::PruningSteps;
use steppe_types::{Oid, Result};

/// Sizes are estimated from so many partitions at either end of the list.
const SAMPLED_AT_EACH_END: usize = 4;
/// So many of the partitions that conditions leave are counted.
const COUNTED_MAX: usize = 1000;

/// A partitioned table's size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PartitionedSize {
    pub(super) leaves: f64,
    pub(super) rows: f64,
    pub(super) pages: f64,
}

impl PartitionedSize {
    fn add(&mut self, other: PartitionedSize) {
        self.leaves += other.leaves;
        self.rows += other.rows;
        self.pages += other.pages;
    }

    fn times(self, factor: f64) -> PartitionedSize {
        PartitionedSize {
            leaves: self.leaves * factor,
            rows: self.rows * factor,
            pages: self.pages * factor,
        }
    }
}

impl Planner<'_> {
    /// The scan of a partitioned table.
    pub(super) fn partition_scan(&mut self, request: &ScanRequest<'_>) -> Result<Rel> {
        let Rel { plan: template, layout, rtes } = self.table_scan(request)?;
        let of_this = |condition: &Expr| over_entry(condition.clone(), 0);
        let conditions: Vec<Expr> = request.conditions.iter().map(of_this).collect();
        let leaves = self.leaves_kept(request.relation, &conditions)?;
        let cost = Cost {
            startup: template.cost.startup,
            total: template.cost.total * leaves,
            rows: clamp_rows(template.cost.rows * leaves),
            width: template.cost.width,
        };
        let (types, names) = (template.types.clone(), template.slot_names.clone());
        let scan = PlanNode::PartitionScan {
            rel: self.scan_relation(request),
            template: Box::new(template),
            conditions,
        };
        Ok(Rel { plan: node(scan, types, names, cost), layout, rtes })
    }

    /// How many leaves the conditions will leave, as far as their values are known.
    fn leaves_kept(&self, table: &Arc<Relation>, conditions: &[Expr]) -> Result<f64> {
        let catalog = self.ctx.catalog;
        let all = self.partitioned_size(table.oid)?.leaves;
        let (Some(map), Some(key)) = (catalog.partition_map(table.oid)?, &table.partition_key)
        else {
            return Ok(all);
        };
        let key = KeyOfScan::new(catalog, table, table, key)?;
        let steps = PruningSteps::compile(&key.pruning(conditions).predicate, key.len());
        let per_partition = all / (map.len().max(1) as f64);
        if steps.fix_the_key() {
            return Ok(per_partition.max(1.0));
        }
        let known = steps.evaluate(map, &|_| Ok(None), self.ctx.io)?;
        let kept = match known.is_all() {
            true => map.len(),
            false => map.select(&known).take(COUNTED_MAX).count(),
        };
        Ok((kept as f64 * per_partition).max(1.0))
    }

    /// Rows and pages of the average leaf.
    pub(super) fn average_leaf(&self, relation: &Relation) -> Result<(f64, f64)> {
        let size = self.partitioned_size(relation.oid)?;
        let leaves = size.leaves.max(1.0);
        Ok((size.rows / leaves, size.pages / leaves))
    }

    /// What a partitioned table's leaves come to.
    fn partitioned_size(&self, table: Oid) -> Result<PartitionedSize> {
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
            size.add(PartitionedSize { leaves: 1.0, rows, pages });
        }
        Ok(size.times(partitions as f64 / sampled.len().max(1) as f64))
    }
}
