//! Tables whose own constraints exclude all rows that a query wants (constraint_exclusion).
//!
//! By default, only tables that are read as a parent's descendants are checked. A partitioned
//! table's leaves are found by their bounds instead, and only by these. For a partition that the
//! query names itself, its bound counts as a constraint if all tables are checked.

use super::Planner;
use super::index::over_entry;
use super::scan::ScanRequest;
use crate::bind::index::is_mutable;
use crate::constraints::constraints_of;
use crate::expr::Expr;
use crate::prune::KeyOfScan;
use crate::refutes::{Strength, refuted_by};
use steppe_partition::{PartitionStrategy, PruningSteps};
use steppe_types::{Oid, Result};

/// The setting constraint_exclusion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConstraintExclusion {
    /// For no table.
    Off,
    /// For tables that are read as another one's descendants.
    #[default]
    Partition,
    /// For all.
    On,
}

impl Planner<'_> {
    /// Whether no row of one table can satisfy the conditions. `is_member`: it is read as one of
    /// an inheritance tree.
    pub(super) fn is_excluded(
        &mut self,
        request: &ScanRequest<'_>,
        is_member: bool,
    ) -> Result<bool> {
        let is_wanted = match self.ctx.settings.constraint_exclusion {
            ConstraintExclusion::Off => false,
            ConstraintExclusion::Partition => is_member,
            ConstraintExclusion::On => true,
        };
        let stays = |condition: &&Expr| !is_mutable(condition);
        let conditions: Vec<Expr> = request.conditions.iter().filter(stays).cloned().collect();
        if !is_wanted || conditions.is_empty() {
            return Ok(false);
        }
        // What a literal is decides.
        self.depends_on_literals = true;
        if refuted_by(&conditions, &conditions, Strength::NotTrue) {
            return Ok(true);
        }
        let known = constraints_of(self.ctx.catalog, request.relation)?;
        let known: Vec<Expr> = known.into_iter().map(|c| over_entry(c, request.rte)).collect();
        Ok(refuted_by(&known, &conditions, Strength::False)
            || !is_member && self.is_outside_bounds(request, &conditions)?)
    }

    /// Whether the bound of the table, or of a partition that it is in, takes no row that satisfies
    /// the conditions. The hash of a row is ignored, as in PostgreSQL.
    fn is_outside_bounds(&self, request: &ScanRequest<'_>, conditions: &[Expr]) -> Result<bool> {
        let catalog = self.ctx.catalog;
        let conditions: Vec<Expr> = conditions.iter().map(|c| over_entry(c.clone(), 0)).collect();
        let mut partition = request.relation;
        while let Some(of) = partition.attached() {
            let Some(parent) = catalog.relation(of.parent) else { break };
            let (Some(map), Some(key)) =
                (catalog.partition_map(parent.oid)?, &parent.partition_key)
            else {
                break;
            };
            if map.strategy() != PartitionStrategy::Hash {
                let key = KeyOfScan::new(catalog, request.relation, parent, key)?;
                let said = key.pruning(&conditions).predicate;
                let steps = PruningSteps::compile(&said, key.len());
                let known = steps.evaluate(map, &|_| Ok(None), self.ctx.io)?;
                let is_it = |found: Oid| found == partition.oid;
                if !known.is_all() && !map.select(&known).any(is_it) {
                    return Ok(true);
                }
            }
            partition = parent;
        }
        Ok(false)
    }
}
