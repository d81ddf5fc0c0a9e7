//! Which leaves a scan's conditions leave (design D10; partprune.c).
//!
//! Correctness: a leaf is left out only if its bound says that no row of it satisfies the
//! conditions, which the leaf's scan checks all the same (invariant 4). Each level is pruned by
//! its own key; steps are compiled when a level is first met, and kept with the statement.

use super::LeafCache;
use crate::context::ExecContext;
use crate::env::FnContext;
use crate::expr::{CExpr, Compiler, Row};
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation};
use steppe_partition::{KeySet, PartitionMap, PruningSteps};
use steppe_sql::expr::Expr;
use steppe_sql::plan::PlannedStmt;
use steppe_sql::prune::{KeyOfScan, Pruning};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result};

/// The pruning of one scan.
pub(crate) struct ScanPruning {
    table: Arc<Relation>,
    conditions: Box<[Expr]>,
    levels: LeafCache<Level>,
}

/// What the conditions say about one parent's key.
struct Level {
    steps: PruningSteps,
    slots: Box<[CExpr]>,
}

impl ScanPruning {
    pub(crate) fn new(table: &Arc<Relation>, conditions: &[Expr]) -> ScanPruning {
        let conditions = conditions.into();
        ScanPruning { table: table.clone(), conditions, levels: LeafCache::default() }
    }

    /// The leaves that can have rows, with the values that parameters have now.
    pub(crate) fn leaves(&self, stmt: &PlannedStmt, cx: &mut ExecContext) -> Result<Vec<Oid>> {
        let catalog = cx.functions.catalog.clone();
        walk(&catalog, self.table.oid, &mut |parent, map| {
            if self.conditions.is_empty() {
                return Ok(Kept::Set(KeySet::all()));
            }
            let level = self.level(stmt, &catalog, parent)?;
            level.kept(map, cx)
        })
    }

    fn level(
        &self,
        stmt: &PlannedStmt,
        catalog: &Arc<Catalog>,
        parent: &Arc<Relation>,
    ) -> Result<Arc<Level>> {
        if let Some(found) = self.levels.get(parent) {
            return Ok(found);
        }
        let Pruning { predicate, slots } = said_of(catalog, &self.table, parent, &self.conditions)?;
        let columns = parent.partition_key.as_ref().map_or(0, |key| key.columns.len());
        let mut compiler = Compiler::new(stmt, FnContext::pure(catalog.clone()));
        let slots = compiler.list(&slots)?;
        let level = Arc::new(Level { steps: PruningSteps::compile(&predicate, columns), slots });
        self.levels.put(parent, &level);
        Ok(level)
    }
}

/// What a level leaves.
enum Kept {
    One(Option<Oid>),
    Set(KeySet),
}

impl Level {
    fn kept(&self, map: &PartitionMap, cx: &mut ExecContext) -> Result<Kept> {
        if self.steps.keep_everything() {
            return Ok(Kept::Set(KeySet::all()));
        }
        // A value that cannot be computed prunes nothing: whether that is an error is for the
        // condition itself to say, if there is a row to check.
        let values: Vec<Option<Datum>> =
            self.slots.iter().map(|slot| slot.eval(cx, Row::of(&[])).ok()).collect();
        let slot = |number: u32| Ok(values.get(number as usize).cloned().flatten());
        if let Some(partition) = self.steps.route(map, &slot, &mut Vec::new())? {
            return Ok(Kept::One(partition));
        }
        Ok(Kept::Set(self.steps.evaluate(map, &slot, &cx.functions.io)?))
    }
}

/// The leaves that are left as far as values are known without running anything: what EXPLAIN
/// shows.
pub(crate) fn leaves_known(
    catalog: &Catalog,
    table: &Arc<Relation>,
    conditions: &[Expr],
) -> Result<Vec<Oid>> {
    let io = IoContext::default();
    walk(catalog, table.oid, &mut |parent, map| {
        let key = parent.partition_key.as_ref().map_or(0, |key| key.columns.len());
        let said = said_of(catalog, table, parent, conditions)?;
        let steps = PruningSteps::compile(&said.predicate, key);
        Ok(Kept::Set(steps.evaluate(map, &|_| Ok(None), &io)?))
    })
}

fn said_of(
    catalog: &Catalog,
    table: &Arc<Relation>,
    parent: &Relation,
    conditions: &[Expr],
) -> Result<Pruning> {
    let key = parent.partition_key.as_ref();
    let key = key.ok_or_else(|| Error::internal("partitioned table without a key"))?;
    Ok(KeyOfScan::new(catalog, table, parent, key)?.pruning(conditions))
}

/// The leaves below a table in the order of their bounds, those of its partitioned partitions in
/// their place. `kept` says what is left of each level.
fn walk(
    catalog: &Catalog,
    table: Oid,
    kept: &mut dyn FnMut(&Arc<Relation>, &PartitionMap) -> Result<Kept>,
) -> Result<Vec<Oid>> {
    let mut leaves = Vec::new();
    let mut pending = vec![table];
    while let Some(oid) = pending.pop() {
        let Some(map) = catalog.partition_map(oid)? else {
            leaves.push(oid);
            continue;
        };
        let parent = catalog.relation(oid);
        let parent = parent.ok_or_else(|| Error::internal("partitioned table has gone"))?;
        let first = pending.len();
        match kept(parent, map)? {
            Kept::One(partition) => pending.extend(partition),
            Kept::Set(set) => pending.extend(map.select(&set)),
        }
        pending[first..].reverse();
    }
    Ok(leaves)
}
