//! The catalog on disk and its published versions.
//!
//! Each schema object is one row (JSON, see shorthand.rs) of an ordinary table of the engine, so
//! that DDL is transactional, logged and recovered like any other change. All
//! rows are read once, at start-up; from then on look-ups go to memory.
//!
//! ```text
//!   published ──Arc──▶ Catalog (epoch 7)       every session's statements
//!                         │ clone: O(1)
//!                         ▼
//!   CatalogChanges  private Catalog + set of changed objects
//!                         │ commit, before locks are released: merged into
//!                         ▼ the newest published version
//!   published ──Arc──▶ Catalog (epoch 8)
//! ```
//!
//! Two transactions that change the same object exclude each other by the
//! relation's lock (or the name's, [`CatalogStore::lock_name`], or the object's,
//! [`CatalogStore::lock_object`]); changes to different objects merge. A private version is rebased on the newest
//! published one when a DDL statement starts.
//!
//! A statement may change an object many times (a new table, then with its
//! constraints, then with its index): in memory at once, on disk when it ends
//! ([`CatalogStore::write`]), once for each object.
//!
//! The store remembers for a while which objects each publication has touched. So a plan outlives
//! a publication that touched none of the plan's objects (`history.rs`).

use crate::distribution::NodeStatement;
use crate::extension::Extension;
use crate::history::{History, Mentions};
use crate::not_null;
use crate::object_id::{ObjectId, StoredObject, install, is_there, stored_object, transfer};
use crate::objects::{StoredKind, UserType};
use crate::relation::Relation;
use crate::shorthand::{expand, shorten};
use crate::snapshot::{Catalog, Schema, name_hash};
use arc_swap::ArcSwap;
use imbl::{OrdMap, OrdSet};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use steppe_txn::{
    Action, CellId, DatabaseId, Engine, FileId, IsolationLevel, LockWait, ModifyOutcome,
    OverflowRef, OverflowStore, RelFileNumber, RelationLockMode, RowBuf, RowId, TableStore, Txn,
};
use steppe_types::oid::{FIRST_NORMAL_OID, place};
use steppe_types::{Error, Oid, Result, SqlState};

/// The catalog's table, and what is too long for its rows: found without a catalog, in each
/// database under the same numbers.
const ROWS: RelFileNumber = RelFileNumber(1);
const OVERFLOW: RelFileNumber = RelFileNumber(2);
/// Durable cell of the next OID to reserve from.
const OID_CELL: u64 = 1;
/// The number of OIDs reserved at once. A crash skips at most this number.
const OIDS_RESERVED_AT_ONCE: u32 = 1024;
/// Longer objects are stored out of line.
const INLINE_BYTES_MAX: usize = 2000;
/// Most objects are shorter before they are shortened.
const JSON_BYTES: usize = 2048;
/// First byte of a row: the object follows, or a pointer to it.
const INLINE: u8 = 0;
const OUT_OF_LINE: u8 = 1;

/// Reserved OIDs: next and end.
struct OidRange {
    next: Oid,
    end: Oid,
}

/// The catalog of an open database.
pub struct CatalogStore {
    engine: Arc<Engine>,
    /// Which of the engine's databases has this catalog.
    id: DatabaseId,
    rows: TableStore,
    /// Objects too long for a row.
    overflow: OverflowStore,
    published: ArcSwap<Catalog>,
    /// Its epoch, which every statement asks for.
    published_epoch: AtomicU64,
    /// The recent publications before it.
    history: Mutex<History>,
    /// Where the committed version of each object is stored.
    row_ids: Mutex<HashMap<ObjectId, RowId>>,
    /// Epochs are handed out to private versions too, so that no two versions share one.
    epoch: AtomicU64,
    oids: Mutex<OidRange>,
}

/// The catalog changes of one transaction. A copy costs little: what is in it is persistent.
#[derive(Clone)]
pub struct CatalogChanges {
    catalog: Arc<Catalog>,
    /// Epoch of the published version it is based on.
    base_epoch: u64,
    changed: OrdSet<ObjectId>,
    /// Those of them that the present statement has changed: their rows are not written yet.
    unwritten: OrdSet<ObjectId>,
    /// Rows that this transaction inserted.
    row_ids: OrdMap<ObjectId, RowId>,
    /// The statements that the nodes of distributed tables have not run yet. The statement's caller
    /// takes them and runs them in the same transaction.
    for_nodes: Vec<NodeStatement>,
}

impl CatalogStore {
    /// Reads the catalog of a database; makes an empty one in a new database.
    pub fn open(engine: &Arc<Engine>, id: DatabaseId) -> Result<CatalogStore> {
        let file = |number| FileId { database: id, number };
        let store = CatalogStore {
            engine: engine.clone(),
            id,
            rows: TableStore::open(engine, file(ROWS)),
            overflow: OverflowStore::open(engine, file(OVERFLOW)),
            published: ArcSwap::from_pointee(Catalog::default()),
            published_epoch: AtomicU64::new(0),
            history: Mutex::default(),
            row_ids: Mutex::default(),
            epoch: AtomicU64::new(1),
            oids: Mutex::new(OidRange { next: 0, end: 0 }),
        };
        store.load()?;
        Ok(store)
    }

    /// The engine below.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Which of the engine's databases has this catalog.
    pub fn database_id(&self) -> DatabaseId {
        self.id
    }

    /// The newest committed version.
    pub fn published(&self) -> Arc<Catalog> {
        self.published.load_full()
    }

    /// The epoch of the newest committed version, without taking a reference.
    pub fn published_epoch(&self) -> u64 {
        self.published_epoch.load(Ordering::SeqCst)
    }

    /// Makes a version the newest committed one. (A session that asks for the epoch in that very
    /// moment may be told the one before, as if it had asked before.)
    fn set_published(&self, catalog: Arc<Catalog>) {
        let epoch = catalog.epoch;
        self.published.store(catalog);
        self.published_epoch.store(epoch, Ordering::SeqCst);
    }

    /// Reads the catalog again, after a commit whose changes no session has in memory. The caller
    /// still holds the committed transaction's locks.
    pub fn reload(&self) -> Result<()> {
        self.load()
    }

    fn load(&self) -> Result<()> {
        // Before the snapshot: a session that publishes meanwhile waits, and comes on top of it.
        let mut row_ids = self.row_ids.lock();
        row_ids.clear();
        let session = self.engine.new_session(self.id);
        let mut txn = Txn::begin(&session, IsolationLevel::ReadCommitted, true);
        txn.start_statement()?;
        let mut catalog = Catalog::default();
        let mut cursor = self.rows.scan_all(txn.view())?;
        let mut json = Vec::new();
        while cursor.next_batch(&mut |row, bytes| {
            let object = self.read(row, bytes, &mut json)?;
            row_ids.insert(install(&mut catalog, object), row);
            Ok(())
        })? {}
        drop(cursor);
        txn.rollback()?;
        not_null::complete(&mut catalog, &mut || self.new_oid())?;
        catalog.epoch = self.new_epoch();
        self.history.lock().start_anew(catalog.epoch);
        self.set_published(Arc::new(catalog));
        Ok(())
    }

    fn read(&self, row: RowId, bytes: &[u8], json: &mut Vec<u8>) -> Result<StoredObject> {
        let unreadable = |e: serde_json::Error| {
            Error::internal(format!("unreadable catalog row {}: {e}", row.0))
        };
        match out_of_line(bytes)? {
            None => expand(&bytes[1..], json)?,
            Some(reference) => {
                let mut short = Vec::new();
                self.overflow.get(reference, &mut short)?;
                expand(&short, json)?;
            }
        }
        let mut object = serde_json::from_slice(json).map_err(unreadable)?;
        if let StoredObject::Relation(relation) = &mut object {
            Arc::make_mut(relation).set_database(self.id);
        }
        Ok(object)
    }

    fn new_epoch(&self) -> u64 {
        self.epoch.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A new OID. Durable ahead: no OID is given out twice, also across a crash.
    pub fn new_oid(&self) -> Result<Oid> {
        let mut range = self.oids.lock();
        if range.next == range.end {
            let cell = CellId { database: self.id, key: OID_CELL };
            let stored = self.engine.cell_get(cell)?;
            let bytes = stored.as_deref().map(<[u8; 4]>::try_from).transpose();
            let bytes = bytes.map_err(|_| Error::internal("unreadable OID counter"))?;
            let next = bytes.map_or(FIRST_NORMAL_OID, Oid::from_le_bytes);
            let end = next.checked_add(OIDS_RESERVED_AT_ONCE).filter(|e| *e < place::LENGTH);
            let end = end.ok_or_else(|| Error::not_supported("more than 2^29 schema objects"))?;
            self.engine.cell_put(cell, &end.to_le_bytes())?;
            *range = OidRange { next, end };
        }
        range.next += 1;
        Ok(range.next - 1)
    }

    /// Starts (or goes on with) a transaction's changes, based on the newest published version.
    pub fn changes<'c>(&self, pending: &'c mut Option<CatalogChanges>) -> &'c mut CatalogChanges {
        let published = self.published();
        let changes = pending.get_or_insert_with(|| CatalogChanges::new(published.clone()));
        if changes.base_epoch != published.epoch {
            changes.rebase(published, self.new_epoch());
        }
        changes
    }

    /// Excludes other transactions from creating (or renaming to) the same name until this one
    /// ends. `None` if the lock is granted.
    pub fn lock_name(&self, txn: &Txn, schema: Oid, name: &str) -> Result<Option<LockWait>> {
        txn.lock_name(name_hash(schema, name))
    }

    /// Locks an object until the transaction ends. A transaction that changes the object takes a
    /// mode that conflicts with itself, one that drops it ACCESS EXCLUSIVE, and one whose objects
    /// refer to it ACCESS SHARE. A relation has a relation lock too, but several transactions may
    /// hold that in mode SHARE, as CREATE INDEX does. This lock excludes them from each other.
    /// `None` if the lock is granted.
    pub fn lock_object(
        &self,
        txn: &Txn,
        id: ObjectId,
        mode: RelationLockMode,
    ) -> Result<Option<LockWait>> {
        let (class, oid) = id.address();
        txn.lock_object(class, oid, mode)
    }

    /// Adds or replaces an object of a kind that is stored one by one.
    pub fn put<T: StoredKind>(&self, changes: &mut CatalogChanges, object: Arc<T>) {
        let id = T::id(object.oid());
        changes.change(self.new_epoch(), id, |c| T::of_mut(c).put(object));
    }

    /// Removes an object of a kind that is stored one by one.
    pub fn remove<T: StoredKind>(&self, changes: &mut CatalogChanges, oid: Oid) {
        changes.change(self.new_epoch(), T::id(oid), |c| T::of_mut(c).remove(oid));
    }

    /// Adds or replaces a relation.
    pub fn put_relation(&self, changes: &mut CatalogChanges, relation: impl Into<Arc<Relation>>) {
        let relation = relation.into();
        let id = ObjectId::Relation(relation.oid);
        changes.change(self.new_epoch(), id, |c| c.put_relation(relation));
    }

    /// Removes a relation.
    pub fn remove_relation(&self, changes: &mut CatalogChanges, oid: Oid) {
        changes.change(self.new_epoch(), ObjectId::Relation(oid), |c| {
            c.remove_relation(oid);
        });
    }

    /// Adds or replaces a schema.
    pub fn put_schema(&self, changes: &mut CatalogChanges, schema: Schema) {
        let id = ObjectId::Schema(schema.oid);
        changes.change(self.new_epoch(), id, |c| c.put_schema(schema));
    }

    /// Removes a schema.
    pub fn remove_schema(&self, changes: &mut CatalogChanges, oid: Oid) {
        changes.change(self.new_epoch(), ObjectId::Schema(oid), |c| c.remove_schema(oid));
    }

    /// Writes the objects that have changed since the last call. Every statement that changes
    /// objects ends with it, so that the commit, or the rollback to a savepoint, finds the rows of
    /// the statement.
    pub fn write(&self, txn: &mut Txn, changes: &mut CatalogChanges) -> Result<()> {
        if changes.unwritten.is_empty() {
            return Ok(());
        }
        txn.start_statement()?;
        for id in std::mem::take(&mut changes.unwritten) {
            let row = self.row_of(changes, id);
            match (stored_object(&changes.catalog, id), row) {
                (Some(object), row) => self.write_object(txn, changes, (id, row), &object)?,
                (None, Some(row)) => self.delete_row(txn, row)?,
                // Made and removed by one statement.
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// Adds an extension.
    pub fn put_extension(&self, changes: &mut CatalogChanges, extension: Extension) {
        let id = ObjectId::Extension(extension.oid);
        changes.change(self.new_epoch(), id, |c| c.put_extension(extension));
    }

    /// Removes an extension.
    pub fn remove_extension(&self, changes: &mut CatalogChanges, oid: Oid) {
        let id = ObjectId::Extension(oid);
        changes.change(self.new_epoch(), id, |c| c.remove_extension(oid));
    }

    fn row_of(&self, changes: &CatalogChanges, id: ObjectId) -> Option<RowId> {
        changes.row_ids.get(&id).copied().or_else(|| self.row_ids.lock().get(&id).copied())
    }

    fn write_object(
        &self,
        txn: &mut Txn,
        changes: &mut CatalogChanges,
        (id, row): (ObjectId, Option<RowId>),
        object: &StoredObject,
    ) -> Result<()> {
        if let StoredObject::Relation(relation) = object {
            debug_assert!(not_null::is_complete(relation), "NOT NULL of {}", relation.name);
        }
        let mut json = Vec::with_capacity(JSON_BYTES);
        serde_json::to_writer(&mut json, object)
            .map_err(|e| Error::internal(format!("catalog object cannot be stored: {e}")))?;
        let short = shorten(&json);
        if let Some(row) = row {
            self.free_overflow(txn, row)?;
        }
        let mut bytes = Vec::with_capacity(short.len().min(INLINE_BYTES_MAX) + 1);
        if short.len() <= INLINE_BYTES_MAX {
            bytes.push(INLINE);
            bytes.extend_from_slice(&short);
        } else {
            let OverflowRef { id, chunks } = self.overflow.put(txn, &short)?;
            bytes.push(OUT_OF_LINE);
            bytes.extend_from_slice(&id.to_le_bytes());
            bytes.extend_from_slice(&chunks.to_le_bytes());
        }
        match row {
            Some(row) => self.modify(txn, row, &mut |out| {
                out.extend_from_slice(&bytes);
                Action::Replace { key_changed: false }
            }),
            None => {
                let row = self.rows.insert(txn, &bytes)?;
                changes.row_ids.insert(id, row);
                Ok(())
            }
        }
    }

    fn delete_row(&self, txn: &mut Txn, row: RowId) -> Result<()> {
        self.free_overflow(txn, row)?;
        self.modify(txn, row, &mut |_| Action::Delete)
    }

    /// The version about to be replaced was the last to use its out-of-line bytes.
    fn free_overflow(&self, txn: &mut Txn, row: RowId) -> Result<()> {
        let mut buffer = RowBuf::new();
        if self.rows.get(&txn.view(), row, &mut buffer)?.is_some()
            && let Some(reference) = out_of_line(buffer.row())?
        {
            self.overflow.free(txn, reference)?;
        }
        Ok(())
    }

    fn modify(
        &self,
        txn: &mut Txn,
        row: RowId,
        action: &mut dyn FnMut(&mut Vec<u8>) -> Action,
    ) -> Result<()> {
        loop {
            match self.rows.modify(txn, row, &mut |_, out| Ok(action(out)))? {
                ModifyOutcome::Done => return Ok(()),
                // A writer whose lock we were handed is still finishing.
                ModifyOutcome::MustWait(wait) => wait.wait_blocking()?,
                ModifyOutcome::NotFound | ModifyOutcome::DeletedConcurrently { .. } => {
                    return Err(Error::new(
                        SqlState::SERIALIZATION_FAILURE,
                        "could not serialize access due to concurrent update",
                    ));
                }
                other => {
                    return Err(Error::internal(format!("catalog row {}: {other:?}", row.0)));
                }
            }
        }
    }

    /// Makes a transaction's changes visible to all. Called while it still holds its locks.
    pub fn publish(&self, changes: &CatalogChanges) {
        debug_assert!(changes.unwritten.is_empty(), "changes that are on no disk");
        debug_assert!(changes.for_nodes.is_empty(), "changes that no node has made");
        let mut row_ids = self.row_ids.lock();
        for id in &changes.changed {
            if !is_there(&changes.catalog, *id) {
                row_ids.remove(id);
            } else if let Some(row) = changes.row_ids.get(id) {
                row_ids.insert(*id, *row);
            }
        }
        let published = self.published();
        if changes.base_epoch == published.epoch {
            // The private version is based on the published one: it becomes the next one.
            let next = with_committed_labels(changes.catalog.clone(), &changes.changed);
            return self.follow(&published, next, changes);
        }
        let mut catalog = (*published).clone();
        unlink_moved(changes, &mut catalog);
        for id in &changes.changed {
            transfer(&changes.catalog, &mut catalog, *id);
        }
        catalog.epoch = self.new_epoch();
        let next = with_committed_labels(Arc::new(catalog), &changes.changed);
        self.follow(&published, next, changes);
    }

    /// Publishes what follows the published version. A session that sees its epoch finds what was
    /// touched.
    fn follow(&self, published: &Catalog, next: Arc<Catalog>, changes: &CatalogChanges) {
        if next.epoch != published.epoch {
            self.history.lock().add(published, &next, changes.changed.iter());
        }
        self.set_published(next);
    }

    /// Whether what a plan was made of is in the published version `now` as it was in the published
    /// version `then`. False if that is not known (any more).
    pub fn is_untouched(&self, then: u64, now: u64, mentions: &Mentions) -> bool {
        self.history.lock().is_untouched(then, now, mentions)
    }
}

impl CatalogChanges {
    fn new(base: Arc<Catalog>) -> CatalogChanges {
        CatalogChanges {
            base_epoch: base.epoch,
            catalog: base,
            changed: OrdSet::new(),
            unwritten: OrdSet::new(),
            row_ids: OrdMap::new(),
            for_nodes: Vec::new(),
        }
    }

    /// Adds a statement that nodes are to run.
    pub fn add_for_nodes(&mut self, statement: NodeStatement) {
        self.for_nodes.push(statement);
    }

    /// Takes the statements that nodes are to run.
    pub fn take_for_nodes(&mut self) -> Vec<NodeStatement> {
        std::mem::take(&mut self.for_nodes)
    }

    /// The transaction's own version.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The epoch of the published version that they are on top of.
    pub fn base_epoch(&self) -> u64 {
        self.base_epoch
    }

    /// The objects that the present statement has changed.
    pub fn unwritten(&self) -> impl Iterator<Item = ObjectId> {
        self.unwritten.iter().copied()
    }

    /// Whether anything is changed.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty()
    }

    fn change(&mut self, epoch: u64, id: ObjectId, f: impl FnOnce(&mut Catalog)) {
        let catalog = Arc::make_mut(&mut self.catalog);
        f(catalog);
        catalog.epoch = epoch;
        self.changed.insert(id);
        self.unwritten.insert(id);
    }

    /// Puts the changes on top of a newer published version.
    fn rebase(&mut self, published: Arc<Catalog>, epoch: u64) {
        self.base_epoch = published.epoch;
        let mut catalog = (*published).clone();
        unlink_moved(self, &mut catalog);
        for id in &self.changed {
            transfer(&self.catalog, &mut catalog, *id);
        }
        catalog.epoch = epoch;
        self.catalog = Arc::new(catalog);
    }
}

/// Takes the partitions that the changes move or drop out of a version. A transaction may give the
/// bounds of one partition to another, and the order of such changes is not known any more. With
/// all of them taken out, each finds its new bounds free.
fn unlink_moved(changes: &CatalogChanges, to: &mut Catalog) {
    for id in &changes.changed {
        let ObjectId::Relation(oid) = *id else { continue };
        let Some(old) = to.relation(oid).filter(|old| old.partition_of.is_some()) else { continue };
        let new = changes.catalog.relation(oid).and_then(|new| new.partition_of.as_ref());
        if new != old.partition_of.as_ref() {
            to.remove_relation(oid);
        }
    }
}

/// A version to be published, in which all may use the labels that a transaction has added to enums.
fn with_committed_labels(catalog: Arc<Catalog>, changed: &OrdSet<ObjectId>) -> Arc<Catalog> {
    let mut catalog = catalog;
    for id in changed {
        let ObjectId::Type(oid) = *id else { continue };
        let committed = catalog.user_type(oid).and_then(|ty| ty.with_committed_labels());
        if let Some(committed) = committed {
            UserType::of_mut(Arc::make_mut(&mut catalog)).put(Arc::new(committed));
        }
    }
    catalog
}

/// Where an object's bytes are if they are not in the row.
fn out_of_line(row: &[u8]) -> Result<Option<OverflowRef>> {
    match row {
        [INLINE, ..] => Ok(None),
        [OUT_OF_LINE, a, b, c, d, e, f, g, h, i, j, k, l] => Ok(Some(OverflowRef {
            id: u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]),
            chunks: u32::from_le_bytes([*i, *j, *k, *l]),
        })),
        _ => Err(Error::internal("unreadable catalog row")),
    }
}
