//! The leaves that remain under a scan's conditions (docs/design.md 6.2; partprune.c).
//!
//! Correctness: a leaf is left out only if its bound says that none of its rows satisfies the
//! conditions. A leaf's scan checks the conditions anyway (docs/design.md 12.4). Each level is
//! pruned by its own key. Steps are compiled when a level is first met, and kept with the
//! statement.

use super::LeafCache;
use super::leaves::{Kept, Leaves, LevelKept, Walk};
use crate::context::ExecContext;
use crate::expr::{CExpr, Compiler, Row};
use std::cell::Cell;
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation};
use steppe_functions::FnContext;
use steppe_partition::{KeyOrder, KeySet, PartitionMap, PruningSteps, RoutedPartition};
use steppe_sql::expr::{Expr, SortKey};
use steppe_sql::plan::PlannedStmt;
use steppe_sql::prune::{Bounds, KeyOfScan, Pruning, Reachable, Slot};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Result};

/// The pruning of one scan.
pub(crate) struct ScanPruning {
    table: Arc<Relation>,
    conditions: Box<[Expr]>,
    order: Box<[SortKey]>,
    levels: LeafCache<Level>,
}

/// The pruning steps of one parent's key.
struct Level {
    steps: PruningSteps,
    slots: Box<[LevelSlot]>,
    /// The order of its key that gives the order wanted.
    order: Option<KeyOrder>,
}

/// A [`Slot`], compiled.
enum LevelSlot {
    Value(CExpr),
    Test(Reachable),
}

/// Values by slot; `None` if unknown.
type Values = Vec<Option<Datum>>;

/// Finds the one leaf that a statement is about.
pub(crate) struct LeafRouting {
    /// The table's partitions in the catalog that the statement was planned against.
    map: PartitionMap,
    level: Arc<Level>,
    pruning: ScanPruning,
}

/// Computes the present value of a slot; `None` if unknown.
pub(crate) type SlotValue<'a> = dyn FnMut(&CExpr) -> Option<Datum> + 'a;

impl LeafRouting {
    /// The number of the table's partitions.
    pub(crate) fn partitions(&self) -> usize {
        self.map.len()
    }

    /// The leaf that has all rows, if the conditions fix the key of every level and some leaf takes
    /// such rows. `catalog` is the one that the statement was planned against. `is_leaf` returns
    /// true for partitions that are known to be leaves.
    pub(crate) fn leaf(
        &self,
        stmt: &PlannedStmt,
        catalog: &Arc<Catalog>,
        value: &mut SlotValue<'_>,
        is_leaf: &mut dyn FnMut(RoutedPartition) -> bool,
    ) -> Result<Option<RoutedPartition>> {
        let mut key = ROUTED_KEY.take();
        let mut found = self.level.routed(&self.map, value, &mut key)?.flatten();
        while let Some(partition @ RoutedPartition { relation: oid, .. }) = found
            && !is_leaf(partition)
            && let Some(map) = catalog.partition_map(oid)?
        {
            let parent = catalog.relation(oid);
            let parent = parent.ok_or_else(|| Error::internal("partitioned table has gone"))?;
            let level = self.pruning.level(stmt, catalog, parent)?;
            found = level.routed(map, value, &mut key)?.flatten();
            // Only partitions of the first level have places.
            found = found.map(|found| RoutedPartition { place: None, ..found });
        }
        ROUTED_KEY.set(key);
        Ok(found)
    }
}

thread_local! {
    /// Room for a key's bytes, reused by the thread's next statement.
    static ROUTED_KEY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl ScanPruning {
    pub(crate) fn new(
        table: &Arc<Relation>,
        conditions: &[Expr],
        order: &[SortKey],
    ) -> ScanPruning {
        let (conditions, order) = (conditions.into(), order.into());
        ScanPruning { table: table.clone(), conditions, order, levels: LeafCache::default() }
    }

    /// The leaves that can have rows, with the values that parameters have now: all, or the
    /// first `wanted` ones.
    pub(crate) fn leaves(
        &self,
        stmt: &PlannedStmt,
        cx: &mut ExecContext,
        wanted: usize,
    ) -> Result<Leaves> {
        let catalog = cx.functions.catalog.clone();
        let in_order = !self.order.is_empty();
        let walk = Walk { catalog: &catalog, table: self.table.oid, in_order, wanted };
        walk.leaves(&mut |parent, map| {
            if self.conditions.is_empty() && self.order.is_empty() {
                return Ok(LevelKept { kept: Kept::Set(KeySet::all()), order: None });
            }
            let level = self.level(stmt, &catalog, parent)?;
            Ok(LevelKept { kept: level.kept(map, cx)?, order: level.order })
        })
    }

    /// The routing to the one leaf that has all rows, if the conditions fix the key of the table.
    pub(crate) fn routing(
        self,
        stmt: &PlannedStmt,
        catalog: &Arc<Catalog>,
    ) -> Result<Option<LeafRouting>> {
        let Some(map) = catalog.partition_map(self.table.oid)? else { return Ok(None) };
        let level = self.level(stmt, catalog, &self.table)?;
        let routing = LeafRouting { map: map.clone(), level, pruning: self };
        Ok(routing.level.steps.fix_the_key().then_some(routing))
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
        let key = key_of(catalog, &self.table, parent)?;
        let Pruning { predicate, slots } =
            said_of(catalog, &key, (&self.table, parent), &self.conditions)?;
        let mut compiler = Compiler::new(stmt, FnContext::pure(catalog.clone()));
        let compiled = slots.into_iter().map(|slot| {
            Ok(match slot {
                Slot::Value(expr) => LevelSlot::Value(compiler.expr(&expr)?),
                Slot::Test(test) => LevelSlot::Test(test),
            })
        });
        let level = Arc::new(Level {
            steps: PruningSteps::compile(&predicate, key.len()),
            slots: compiled.collect::<Result<_>>()?,
            order: key.order(&self.order, &self.conditions),
        });
        self.levels.put(parent, &level);
        Ok(level)
    }
}

impl Level {
    fn kept(&self, map: &PartitionMap, cx: &mut ExecContext) -> Result<Kept> {
        if self.steps.keep_everything() {
            return Ok(Kept::Set(KeySet::all()));
        }
        let mut value = |slot: &CExpr| slot.eval(cx, Row::EMPTY).ok();
        if let Some(partition) = self.routed(map, &mut value, &mut Vec::new())? {
            return Ok(Kept::One(partition.map(|partition| partition.relation)));
        }
        let values = self.values(cx)?;
        let slot = |number: u32| Ok(values.get(number as usize).cloned().flatten());
        Ok(Kept::Set(self.steps.evaluate(map, &slot, &cx.functions.io)?))
    }

    /// The values that the steps need. A value that cannot be computed prunes nothing. The
    /// condition itself raises the error, if there is a row to check.
    fn values(&self, cx: &mut ExecContext) -> Result<Values> {
        let computed = self.slots.iter().map(|slot| match slot {
            LevelSlot::Value(expr) => expr.eval(cx, Row::EMPTY).ok(),
            LevelSlot::Test(_) => None,
        });
        let mut values: Values = computed.collect();
        let tests = self.slots.iter().enumerate().filter_map(|(number, slot)| match slot {
            LevelSlot::Test(test) => Some((number, test)),
            LevelSlot::Value(_) => None,
        });
        for (number, test) in tests {
            values[number] = test_value(test, &values, &cx.functions.io)?;
        }
        Ok(values)
    }

    /// The one partition that the values leave (or none), if the key is fixed.
    fn routed(
        &self,
        map: &PartitionMap,
        value: &mut SlotValue<'_>,
        key: &mut Vec<u8>,
    ) -> Result<Option<Option<RoutedPartition>>> {
        let slots = &self.slots;
        let slot = &mut |number: u32| match slots.get(number as usize) {
            Some(LevelSlot::Value(expr)) => Ok(value(expr)),
            _ => Ok(None),
        };
        self.steps.route(map, slot, key)
    }
}

/// A level's key over the columns of the table that is scanned.
pub(super) fn key_of(
    catalog: &Catalog,
    table: &Arc<Relation>,
    parent: &Relation,
) -> Result<KeyOfScan> {
    let key = parent.partition_key.as_ref();
    let key = key.ok_or_else(|| Error::internal("partitioned table without a key"))?;
    KeyOfScan::new(catalog, table, parent, key)
}

/// The pruning that the conditions allow by the key of `parent`, which is the table scanned or
/// below it.
pub(super) fn said_of(
    catalog: &Catalog,
    key: &KeyOfScan,
    (table, parent): (&Arc<Relation>, &Relation),
    conditions: &[Expr],
) -> Result<Pruning> {
    let bounds = Bounds::of(catalog, table, parent)?;
    let map = catalog.partition_map(parent.oid)?;
    let has_default = map.is_some_and(|map| map.default_partition().is_some());
    Ok(key.pruning_within(conditions, &bounds, has_default))
}

/// The result of a test of the values of slots; `None` if unknown.
pub(super) fn test_value(
    test: &Reachable,
    values: &[Option<Datum>],
    io: &IoContext,
) -> Result<Option<Datum>> {
    test.value(&|number| Ok(values.get(number as usize).cloned().flatten()), io)
}
