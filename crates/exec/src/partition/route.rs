//! Finds the leaf of a row, and checks whether a row may be in its leaf.
//!
//! All tables of a partition tree have the same columns by name, so that the key of
//! every level is computed from the row as the statement's table has it.

use super::LeafCache;
use super::key::{KeyOfRow, shown_key};
use crate::context::ExecContext;
use crate::expr::Compiler;
use crate::registry;
use crate::spi::Spi;
use std::sync::Arc;
use steppe_catalog::{Catalog, PartitionKey, Relation};
use steppe_functions::FnContext;
use steppe_partition::{PartitionBound, PartitionMap, Route, route_to_leaf};
use steppe_sql::plan::PlannedStmt;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// Routes a key of a partitioned table by another map, and returns the partition that it chooses,
/// if any. `None`: there is no other map.
type OtherWay<'f> = dyn FnMut(Oid, &[Datum]) -> Result<Option<Option<Oid>>> + 'f;

/// Finds the leaves of rows of one partitioned table.
pub(crate) struct Router {
    table: Arc<Relation>,
    keys: LeafCache<KeyOfRow>,
}

/// Buffers that routing reuses from row to row.
#[derive(Default)]
pub(crate) struct RouteBuffers {
    key: Vec<Datum>,
    encoded: Vec<u8>,
}

impl Router {
    pub(crate) fn new(table: &Arc<Relation>) -> Router {
        Router { table: table.clone(), keys: LeafCache::default() }
    }

    /// The leaf of a row; 23514 if there is none. If an extension makes a partition for the row,
    /// the leaf is in the catalog that is then in force.
    pub(crate) fn route(
        &self,
        catalog: &Arc<Catalog>,
        row: &[Datum],
        buffers: &mut RouteBuffers,
        cx: &mut ExecContext,
    ) -> Result<Oid> {
        let parent = match self.find(catalog, row, buffers, cx)? {
            Route::Leaf(leaf) => return Ok(leaf),
            Route::NoPartition { parent } => parent,
        };
        // An earlier row, or another session's, may have made one since the statement was planned.
        if let Some(leaf) = self.find_newer(catalog, row, buffers, cx)? {
            return Ok(leaf);
        }
        if is_made(cx, parent, &buffers.key)?
            && let Some(leaf) = self.find_newer(catalog, row, buffers, cx)?
        {
            return Ok(leaf);
        }
        Err(no_partition(catalog, parent, &buffers.key, &cx.functions))
    }

    /// The leaf of a row by the catalog in force, if that is newer.
    #[cold]
    fn find_newer(
        &self,
        catalog: &Arc<Catalog>,
        row: &[Datum],
        buffers: &mut RouteBuffers,
        cx: &mut ExecContext,
    ) -> Result<Option<Oid>> {
        let Some(newer) = cx.newer_than(catalog)? else { return Ok(None) };
        match self.find(&newer, row, buffers, cx)? {
            Route::Leaf(leaf) => Ok(Some(leaf)),
            Route::NoPartition { .. } => Ok(None),
        }
    }

    /// The default partition, at any level, to which a row would be routed although the bound of a
    /// partition that is being detached includes it.
    pub(crate) fn wrong_default(
        &self,
        catalog: &Arc<Catalog>,
        row: &[Datum],
        cx: &mut ExecContext,
    ) -> Result<Option<Arc<Relation>>> {
        if !catalog.has_pending_detaches() {
            return Ok(None);
        }
        self.default_on_path(catalog, row, cx, &mut |parent, key| {
            let pending = catalog.map_with_pending(parent)?;
            pending.map_or(Ok(None), |map| map.route(key, &mut Vec::new()).map(Some))
        })
    }

    /// The default partition, at any level, to which a row would be routed although a partition of
    /// a newer catalog includes its key.
    #[cold]
    pub(crate) fn left_default(
        &self,
        catalog: &Arc<Catalog>,
        newer: &Catalog,
        row: &[Datum],
        cx: &mut ExecContext,
    ) -> Result<Option<Arc<Relation>>> {
        self.default_on_path(catalog, row, cx, &mut |parent, key| {
            let map = newer.partition_map(parent)?;
            map.map_or(Ok(None), |map| map.route(key, &mut Vec::new()).map(Some))
        })
    }

    /// The first default partition on a row's path that `other` does not choose.
    fn default_on_path(
        &self,
        catalog: &Arc<Catalog>,
        row: &[Datum],
        cx: &mut ExecContext,
        other: &mut OtherWay<'_>,
    ) -> Result<Option<Arc<Relation>>> {
        let (mut key, mut encoded) = (Vec::new(), Vec::new());
        let mut parent = self.table.oid;
        while let Some(map) = catalog.partition_map(parent)? {
            key.clear();
            self.key(catalog, parent)?.append(row, cx, &mut key)?;
            let Some(child) = map.route(&key, &mut encoded)? else { break };
            if Some(child) == map.default_partition()
                && other(parent, &key)?.is_some_and(|chosen| chosen != Some(child))
            {
                return Ok(catalog.relation(child).cloned());
            }
            parent = child;
        }
        Ok(None)
    }

    fn find(
        &self,
        catalog: &Arc<Catalog>,
        row: &[Datum],
        buffers: &mut RouteBuffers,
        cx: &mut ExecContext,
    ) -> Result<Route> {
        let root = self.table.oid;
        let map = catalog.partition_map(root)?;
        let map = map.ok_or_else(|| Error::internal("table has no partition map"))?;
        let RouteBuffers { key, encoded } = buffers;
        let mut key_of = |parent: Oid, out: &mut Vec<Datum>| {
            self.key(catalog, parent)?.append(row, cx, out)?;
            key.clone_from(out);
            Ok(())
        };
        let map_of = |oid: Oid| catalog.partition_map(oid).ok().flatten();
        route_to_leaf(root, map, map_of, &mut key_of, encoded)
    }

    /// The key of the table or of a partitioned partition of it, over the table's rows.
    fn key(&self, catalog: &Arc<Catalog>, parent: Oid) -> Result<Arc<KeyOfRow>> {
        let (parent, key) = partitioned(catalog, parent)?;
        if let Some(found) = self.keys.get(parent) {
            return Ok(found);
        }
        let stmt = PlannedStmt::nothing();
        let mut compiler = Compiler::new(&stmt, FnContext::pure(catalog.clone()));
        let made = Arc::new(KeyOfRow::new(parent, key, &self.table, &mut compiler)?);
        self.keys.put(parent, &made);
        Ok(made)
    }
}

/// Lets the extension that manages `parent` make a partition for a key that has none. True: the
/// extension made one, and the row must be routed again, by the catalog then in force.
#[cold]
fn is_made(cx: &mut ExecContext, parent: Oid, key: &[Datum]) -> Result<bool> {
    let spi = &mut Spi::new(cx);
    let catalog = spi.catalog_in_force()?;
    let kept = catalog.relation(parent).and_then(|table| table.kept.as_ref());
    match kept.and_then(|kept| registry::missing_partition(&kept.extension)) {
        Some(make) => make(spi, parent, key),
        None => Ok(false),
    }
}

/// A map in which a partition is the only one.
fn map_of_one(key: &PartitionKey, child: Oid, bound: &PartitionBound) -> Result<PartitionMap> {
    let mut map = key.empty_map()?;
    map.attach(child, bound).map_err(|_| Error::internal("a single bound overlaps"))?;
    Ok(map)
}

fn partitioned(catalog: &Catalog, table: Oid) -> Result<(&Arc<Relation>, &PartitionKey)> {
    let relation = catalog.relation(table);
    let found = relation.and_then(|relation| Some((relation, relation.partition_key.as_deref()?)));
    found.ok_or_else(|| Error::internal(format!("relation {table} is not partitioned")))
}

#[cold]
fn no_partition(catalog: &Catalog, parent: Oid, key: &[Datum], cx: &FnContext) -> Error {
    let Some(parent) = catalog.relation(parent) else {
        return Error::internal("partitioned table has gone");
    };
    let error = Error::new(
        SqlState::CHECK_VIOLATION,
        format!("no partition of relation \"{}\" found for row", parent.name),
    );
    let schema = catalog.schema(parent.schema);
    let error = error.table(schema.map_or("public", |s| &s.name), &parent.name);
    match shown_key(parent, key, cx) {
        Some(key) => error.detail(format!("Partition key of the failing row contains {key}.")),
        None => error,
    }
}

/// The partition constraint of a table: its parent and all above route the rows to it.
pub(crate) struct PartitionCheck {
    levels: Box<[Level]>,
}

/// A partitioned table above a partition.
struct Level {
    parent: Oid,
    key: KeyOfRow,
    /// The bound of a partition that is being detached. The parent's map has it no more, but it is
    /// valid until the end.
    detaching: Option<PartitionMap>,
}

impl PartitionCheck {
    /// For rows of `table`. `None`: it is no partition.
    pub(crate) fn new(
        table: &Arc<Relation>,
        compiler: &mut Compiler<'_>,
    ) -> Result<Option<PartitionCheck>> {
        let catalog = compiler.catalog().clone();
        let mut levels = Vec::new();
        let mut child = table;
        while let Some(of) = &child.partition_of {
            let (parent, key) = partitioned(&catalog, of.parent)?;
            let detaching = match &of.bound {
                Some(bound) if of.detach_pending => Some(map_of_one(key, child.oid, bound)?),
                _ => None,
            };
            let key = KeyOfRow::new(parent, key, table, compiler)?;
            levels.push(Level { parent: parent.oid, key, detaching });
            child = parent;
        }
        Ok((!levels.is_empty()).then(|| PartitionCheck { levels: levels.into() }))
    }

    /// Whether a row belongs into that table, which is `table` or has the same definition.
    pub(crate) fn holds(&self, table: Oid, row: &[Datum], cx: &mut ExecContext) -> Result<bool> {
        let catalog = cx.functions.catalog.clone();
        let (mut key, mut encoded) = (Vec::new(), Vec::new());
        let mut child = table;
        for level in &self.levels {
            key.clear();
            level.key.append(row, cx, &mut key)?;
            let map = match &level.detaching {
                Some(own) => Some(own),
                None => catalog.partition_map(level.parent)?,
            };
            let map = map.ok_or_else(|| Error::internal("parent has no partition map"))?;
            if map.route(&key, &mut encoded)? != Some(child) {
                return Ok(false);
            }
            if map.default_partition() == Some(child)
                && let Some(pending) = catalog.map_with_pending(level.parent)?
                && pending.route(&key, &mut encoded)? != Some(child)
            {
                return Ok(false);
            }
            child = level.parent;
        }
        Ok(true)
    }

    /// Whether it depends on a column.
    pub(crate) fn reads(&self, column: usize) -> bool {
        self.levels.iter().any(|level| level.key.reads(column))
    }
}
