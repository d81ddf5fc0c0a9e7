//! The row store: rows by row id, newest version in place.
//!
//! Every change happens under the latch of one leaf, in one descent: look at the
//! newest version, decide, write the undo record, change the row, append one log
//! record. Whether the change is allowed follows from the newest version alone:
//!
//! | newest version written by | the change |
//! |---|---|
//! | another running transaction | waits for it, first in first out |
//! | this transaction, earlier command | goes ahead |
//! | this transaction, this command or one that ran within it | is not made (`SelfUpdated`) |
//! | one that the snapshot sees | goes ahead |
//! | one that committed after the snapshot | is the caller's decision (READ COMMITTED checks the row again, REPEATABLE READ fails with 40001) |
//!
//! An uncommitted version *is* the exclusive row lock (docs/design.md 5.5); the lock table
//! comes in only where there are explicit locks or waiters.

mod block;
mod lock;

use std::ops::Bound;
use std::sync::Arc;

use steppe_storage::{Direction, Tree, TreeId, WriteOp};
use steppe_types::{Error, Result, SqlState};

use crate::change::{
    Change, DELETED, KEY_CHANGED, LOCKED, MOVED, Origin, ROW_HEADER_LEN, RowHeader, Word,
    common_ends, corrupt,
};
use crate::cursor::RowCursor;
use crate::engine::Engine;
#[cfg(feature = "planted-bugs")]
use crate::engine::PlantedBug;
use crate::files::{FileId, NumberedFile};
use crate::lock::{Acquire, LockTag, LockWait, RowLockMode, RowOwner};
use crate::new_rows::NewRows;
use crate::parts::ScanParts;
use crate::row_ids::{RANGE_SIZE_MAX, row_id_of};
use crate::status::TxnStatus;
use crate::txn::{IsolationLevel, Persistence, Txn};
use crate::view::{RowBuf, RowMeta, RowVersion, View};

/// The number of a row in its table; never changes, and never is another row's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(pub u64);

/// The newest version of a row, as [`TableStore::modify`] shows it.
#[derive(Clone, Copy, Debug)]
pub struct Current<'a> {
    /// The row's bytes.
    pub row: &'a [u8],
    /// Whether the statement's snapshot sees exactly this version. If not, it
    /// committed after the snapshot.
    pub visible_to_snapshot: bool,
    /// Who wrote it.
    pub meta: RowMeta,
}

/// What is to be done with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Keep,
    /// Put the bytes in the output buffer in its place. `key_changed`: a column
    /// that foreign keys may refer to differs.
    Replace {
        /// Whether this takes mode UPDATE rather than NO KEY UPDATE.
        key_changed: bool,
    },
    /// Delete it.
    Delete,
    /// Delete it here: its new version is put into another table.
    Move,
}

/// What [`TableStore::modify`] came to.
#[derive(Debug)]
pub enum ModifyOutcome {
    /// The row is changed: it has a new version, be it of the same bytes.
    Done,
    /// The caller kept the version that its snapshot sees.
    Kept,
    /// The snapshot sees no such row.
    NotFound,
    /// Deleted by a transaction that committed after the snapshot.
    DeletedConcurrently {
        /// The version that the snapshot sees was updated first. READ COMMITTED does not ask for this.
        updated: bool,
    },
    /// Moved to another table by a transaction that committed after the snapshot.
    MovedConcurrently,
    /// The caller kept a version that committed after its snapshot: here it is.
    UpdatedConcurrently {
        /// The row as it is now.
        newest: RowVersion,
    },
    /// Changed by the transaction itself since the statement's snapshot; nothing was done.
    SelfUpdated {
        /// Which of its commands.
        by: OwnCommand,
    },
    /// Another transaction has it; nothing was done. Wait, then do it again.
    MustWait(LockWait),
}

/// Which of a transaction's commands has changed a row that the running one comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnCommand {
    /// The running one, which meets the row again: it leaves the row alone.
    This,
    /// One that ran within the running one, such as a trigger's: what the running one was about
    /// to change is not there any more.
    Later,
}

/// What a row lock request does when it would have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Waits.
    Block,
    /// NOWAIT or SKIP LOCKED: answers [`LockOutcome::WouldBlock`].
    DontWait,
}

/// What [`TableStore::lock_row`] came to.
#[derive(Debug)]
pub enum LockOutcome {
    /// Locked, and the newest version is the one that the snapshot sees; or, in mode KEY SHARE,
    /// it has the same key.
    Locked,
    /// The snapshot sees no such row.
    NotFound,
    /// Deleted by a transaction that committed after the snapshot.
    DeletedConcurrently {
        /// The version that the snapshot sees was updated first. READ COMMITTED does not ask for this.
        updated: bool,
    },
    /// Moved to another table by a transaction that committed after the snapshot.
    MovedConcurrently,
    /// Locked, but the newest version committed after the snapshot.
    UpdatedConcurrently {
        /// The row as it is now.
        newest: RowVersion,
    },
    /// Changed by the transaction itself since the statement's snapshot.
    SelfUpdated {
        /// Which of its commands.
        by: OwnCommand,
        /// The row as it is now; `None`: deleted.
        newest: Option<RowVersion>,
    },
    /// Somebody else has it; nothing was done. Wait, then do it again.
    MustWait(LockWait),
    /// Somebody else has it, and the request was not to wait.
    WouldBlock,
}

/// A table's rows. Cheap to clone.
#[derive(Clone)]
pub struct TableStore {
    file: NumberedFile,
}

/// What a look at the newest version says about changing it.
enum Standing {
    /// Nothing there for anyone.
    Absent,
    /// Another transaction is at it.
    Running(RowOwner),
    /// It is ours to change, as far as versions go.
    Free { visible: bool, own: bool },
    /// The running command has written it, or one that ran within it.
    SelfUpdated(OwnCommand),
    /// Its deletion is visible to the snapshot.
    DeletedBefore,
    /// Its deletion committed after the snapshot.
    DeletedAfter,
    /// Its move to another table committed after the snapshot.
    MovedAfter,
}

fn standing(view: &View, header: RowHeader) -> Result<Standing> {
    let xid = header.word.xid();
    let deleted = header.word.is_deleted();
    if xid == view.snapshot.xid && xid != 0 {
        return Ok(match (view.sees_own(header)?, deleted) {
            (false, _) => Standing::SelfUpdated(view.replaced_by(header)?),
            (true, true) => Standing::DeletedBefore,
            (true, false) => Standing::Free { visible: true, own: true },
        });
    }
    Ok(match view.engine().status.status(xid) {
        // Nobody can be waited for.
        TxnStatus::InProgress(0) => {
            return Err(corrupt("row header: its transaction has not begun"));
        }
        TxnStatus::InProgress(pid) => {
            let key = deleted || header.word.flags() & KEY_CHANGED != 0;
            let mode = if key { RowLockMode::Update } else { RowLockMode::NoKeyUpdate };
            Standing::Running(RowOwner { pid, xid, mode })
        }
        TxnStatus::Committed(csn) => {
            view.observe(csn);
            match (view.sees_xid(xid), deleted) {
                (true, true) => Standing::DeletedBefore,
                (false, true) if header.word.is_moved() => Standing::MovedAfter,
                (false, true) => Standing::DeletedAfter,
                (visible, false) => Standing::Free { visible, own: false },
            }
        }
        // Rollback takes the versions away before it says that it has ended.
        TxnStatus::Aborted(_) => Standing::Absent,
    })
}

/// Why nothing was done under the latch.
enum Blocked {
    By(Option<RowOwner>, RowLockMode),
    /// By a transaction whose lock would let this one in, but whose version is wanted.
    UntilEnd(RowOwner),
}

enum Step<T> {
    Done(T),
    Blocked(Blocked),
}

impl Action {
    /// The mode in which a row is locked for it.
    pub fn mode(self) -> RowLockMode {
        match self {
            Action::Keep | Action::Replace { key_changed: false } => RowLockMode::NoKeyUpdate,
            Action::Replace { key_changed: true } | Action::Delete | Action::Move => {
                RowLockMode::Update
            }
        }
    }
}

impl TableStore {
    /// The table whose rows are in `file`.
    pub fn open(engine: &Engine, file: FileId) -> TableStore {
        TableStore { file: NumberedFile::new(&engine.files, file, 0) }
    }

    /// The same, for a counter of changes: if any of this store's are taken back,
    /// [`EngineOptions::on_taken_back`](crate::EngineOptions::on_taken_back) is told, with
    /// the file's database and `owner`.
    pub fn open_counted(engine: &Engine, file: FileId, owner: u32) -> TableStore {
        TableStore { file: NumberedFile::new(&engine.files, file, owner) }
    }

    /// Makes a table that goes away if the transaction does not commit.
    pub fn create(txn: &mut Txn, persistence: Persistence) -> Result<TableStore> {
        let file = txn.create_file(persistence)?;
        Ok(TableStore::open(txn.engine(), file))
    }

    /// The file, for the catalog.
    pub fn file(&self) -> FileId {
        self.file.id()
    }

    /// Starts loading what is looked at first, for a look that is about to come.
    #[inline]
    pub fn prefetch(&self) {
        self.file.prefetch();
    }

    /// The tree (for its size and its checks), if anything was ever written.
    pub fn tree(&self) -> Result<Option<&Tree>> {
        self.file.tree()
    }

    // ----- reading -----

    /// Reads the version of a row that the view sees. Allocates nothing once the
    /// buffer has grown, unless an older version has to be rebuilt.
    pub fn get(&self, view: &View, row: RowId, buffer: &mut RowBuf) -> Result<Option<RowMeta>> {
        view.reads(|all, member| all.read_row(member, self.file.number(), row.0))?;
        let Some(tree) = self.file.tree()? else { return Ok(None) };
        if !tree.read(&row.0.to_be_bytes(), buffer.value_buffer())? {
            return Ok(None);
        }
        view.resolve(buffer)
    }

    /// As [`Self::get`], for one who reads many rows that are likely to lie beside each other: the
    /// leaf of the last one that the buffer has had is looked at first.
    #[inline]
    pub fn get_near(
        &self,
        view: &View,
        row: RowId,
        buffer: &mut RowBuf,
    ) -> Result<Option<RowMeta>> {
        view.reads(|all, member| all.read_row(member, self.file.number(), row.0))?;
        let Some(tree) = self.file.tree()? else { return Ok(None) };
        let (value, near) = buffer.near_buffer(row.0);
        if !tree.read_near(&row.0.to_be_bytes(), value, near)? {
            return Ok(None);
        }
        view.resolve(buffer)
    }

    /// Whether nobody has committed a version of a row, or its deletion, that the snapshot does
    /// not see.
    pub fn is_current(&self, view: &View, row: RowId) -> Result<bool> {
        view.reads(|all, member| all.read_row(member, self.file.number(), row.0))?;
        self.newest_header(row)?.map_or(Ok(true), |header| view.is_current(header))
    }

    /// The header of a row's newest version.
    fn newest_header(&self, row: RowId) -> Result<Option<RowHeader>> {
        let (Some(tree), mut value) = (self.file.tree()?, Vec::new()) else { return Ok(None) };
        if !tree.read(&row.0.to_be_bytes(), &mut value)? {
            return Ok(None);
        }
        Ok(Some(RowHeader::split(&value)?.0))
    }

    /// Whether each of some rows still is in the version that a command of the transaction has written:
    /// no later command has changed it, or deleted it.
    pub fn are_versions_of(&self, txn: &Txn, rows: &[(RowId, u32)]) -> Result<Vec<bool>> {
        let Some(tree) = self.file.tree()? else { return Ok(vec![false; rows.len()]) };
        let (view, mut near, mut value) = (txn.view(), None, Vec::new());
        let mut is_version = |(row, command): &(RowId, u32)| {
            if !tree.read_near(&row.0.to_be_bytes(), &mut value, &mut near)? {
                return Ok(false);
            }
            let (header, _) = RowHeader::split(&value)?;
            view.is_written_by(header, *command)
        };
        rows.iter().map(&mut is_version).collect()
    }

    /// Whether the version of a row that the snapshot sees was updated before a deletion that the
    /// snapshot does not see. PostgreSQL names the first change in its error, because a transaction
    /// only looks at the tuple that its snapshot sees.
    fn was_updated(&self, txn: &Txn, row: RowId) -> Result<bool> {
        if txn.isolation() == IsolationLevel::ReadCommitted {
            return Ok(false);
        }
        self.newest_header(row)?.map_or(Ok(false), |deletion| txn.view().was_updated(deletion))
    }

    /// Waits for the transaction that is changing a row, if it is another one. `None` if none is. A
    /// transaction that has only locked the row is not waited for.
    pub fn wait_for_change(&self, txn: &mut Txn, row: RowId) -> Result<Option<LockWait>> {
        let Some(header) = self.newest_header(row)? else { return Ok(None) };
        let xid = header.word.xid();
        match txn.engine().status.status(xid) {
            TxnStatus::InProgress(pid) if xid != txn.view().snapshot.xid => txn.wait_for(pid, xid),
            _ => Ok(None),
        }
    }

    /// Scans the visible rows with ids in a range.
    pub fn scan(
        &self,
        view: View,
        from: Bound<RowId>,
        to: Bound<RowId>,
        direction: Direction,
    ) -> Result<RowCursor> {
        view.reads(|all, member| all.read_file(member, self.file.number()))?;
        Ok(RowCursor::new(self.file.tree()?.cloned(), view, from, to, direction))
    }

    /// Scans all visible rows.
    pub fn scan_all(&self, view: View) -> Result<RowCursor> {
        view.reads(|all, member| all.read_file(member, self.file.number()))?;
        Ok(RowCursor::whole(self.file.tree()?.cloned(), view))
    }

    /// Scans the visible rows of those parts of the table that nobody else has taken.
    pub fn scan_parts(&self, view: View, parts: Arc<ScanParts>) -> Result<RowCursor> {
        view.reads(|all, member| all.read_file(member, self.file.number()))?;
        Ok(RowCursor::of_parts(self.file.tree()?.cloned(), view, parts))
    }

    /// Calls `f` with the row id that each page of rows begins with, in order, without reading
    /// those pages.
    pub fn page_starts(&self, f: &mut dyn FnMut(RowId) -> Result<()>) -> Result<()> {
        let Some(tree) = self.file.tree()? else { return Ok(()) };
        tree.leaf_starts(&mut |key| {
            // Separators are cut short; zeros make them the least id that they can mean.
            let mut id = [0; 8];
            let length = key.len().min(id.len());
            id[..length].copy_from_slice(&key[..length]);
            f(RowId(u64::from_be_bytes(id)))
        })
    }

    /// Cuts the present row ids into at most `parts` ranges of similar width.
    pub fn split_ranges(&self, parts: u64) -> Result<Vec<(Bound<RowId>, Bound<RowId>)>> {
        let whole = vec![(Bound::Unbounded, Bound::Unbounded)];
        let Some(tree) = self.file.tree()? else { return Ok(whole) };
        let (Some(first), Some(last)) = (tree.first_key()?, tree.last_key()?) else {
            return Ok(whole);
        };
        let (first, last) = (row_id_of(&first)?.0, row_id_of(&last)?.0);
        let width = ((last - first) / parts.max(1) + 1).max(1);
        let mut ranges = Vec::new();
        let mut from = Bound::Unbounded;
        let mut cut = first.saturating_add(width);
        while cut <= last {
            ranges.push((from, Bound::Excluded(RowId(cut))));
            from = Bound::Included(RowId(cut));
            cut = cut.saturating_add(width);
        }
        ranges.push((from, Bound::Unbounded));
        Ok(ranges)
    }

    // ----- inserting -----

    /// Inserts a row.
    pub fn insert(&self, txn: &mut Txn, row: &[u8]) -> Result<RowId> {
        let xid = txn.assign_xid();
        let ranges = &txn.session.ranges;
        let (tree, shared) = self.file.for_write()?;
        let (id, _) = ranges.lock().take(tree.id(), shared, 1);
        let mut body = std::mem::take(&mut txn.body);
        body.clear();
        body.reserve(64);
        Change::RowInsert { tree: tree.id(), first: id, count: 1 }.encode(&mut body);
        let undo = txn.append_undo(&body)?;
        let header =
            RowHeader { word: Word::new(xid, 0), origin: Origin::Inserted(txn.command_id()) };
        txn.write(tree, &id.to_be_bytes(), |current, op| {
            if current.is_some() {
                return Err(duplicate_row_id(id));
            }
            let value = op.put_with();
            value.extend_from_slice(&header.to_bytes());
            value.extend_from_slice(row);
            op.payload().extend_from_slice(&body);
            Ok(())
        })?;
        txn.body = body;
        txn.chain(undo)?;
        txn.watched(|all, member| all.inserted_row(member, self.file.number()))?;
        Ok(RowId(id))
    }

    /// Inserts many rows; their ids are appended to `ids` in order. One log and
    /// one undo record cover a leaf's worth.
    pub fn insert_batch(
        &self,
        txn: &mut Txn,
        rows: &mut NewRows,
        ids: &mut Vec<RowId>,
    ) -> Result<()> {
        let xid = txn.assign_xid();
        rows.set_headers(xid, txn.command_id());
        let (tree, shared) = self.file.for_write()?;
        let mut done = 0;
        while done < rows.len() {
            let wanted = (rows.len() - done).min(RANGE_SIZE_MAX as usize) as u64;
            let ranges = &txn.session.ranges;
            let (first, count) = ranges.lock().take(tree.id(), shared, wanted);
            let run = done..done + count as usize;
            done = run.end;
            ids.extend((first..first + count).map(RowId));
            let keys: Vec<[u8; 8]> = (first..first + count).map(u64::to_be_bytes).collect();
            let values = run.map(|i| rows.value(i));
            let entries: Vec<_> = keys.iter().map(|key| &key[..]).zip(values).collect();
            insert_run(tree, txn, first, &entries)?;
        }
        txn.watched(|all, member| all.inserted_row(member, self.file.number()))
    }

    // ----- changing -----

    /// Changes a row in one descent. `f` sees the newest version if that is not
    /// in another transaction's hands, and says what to do; for
    /// [`Action::Replace`] it fills its buffer, which is empty, with the new row.
    /// It runs under a latch and may run more than once: it must not wait nor
    /// call into the engine.
    ///
    /// A new version of the same bytes is a version: a transaction with an older snapshot learns
    /// that the row was written, as from any other (the README's table of short cuts).
    pub fn modify(
        &self,
        txn: &mut Txn,
        row: RowId,
        f: &mut dyn FnMut(Current<'_>, &mut Vec<u8>) -> Result<Action>,
    ) -> Result<ModifyOutcome> {
        self.modify_in(txn, row, RowLockMode::NoKeyUpdate, f)
    }

    /// As [`Self::modify`], for a caller that knows the mode of its change before `f` sees the newest
    /// version. While another transaction's version is in the way, the request queues in this mode:
    /// a session that shares the key then queues before the change that waits for it.
    pub fn modify_in(
        &self,
        txn: &mut Txn,
        row: RowId,
        mode: RowLockMode,
        f: &mut dyn FnMut(Current<'_>, &mut Vec<u8>) -> Result<Action>,
    ) -> Result<ModifyOutcome> {
        txn.assign_xid();
        txn.watched(|all, member| all.read_row(member, self.file.number(), row.0))?;
        loop {
            let blocked = match self.modify_once(txn, row, f)? {
                Step::Done(ModifyOutcome::DeletedConcurrently { .. }) => {
                    let updated = self.was_updated(txn, row)?;
                    return Ok(ModifyOutcome::DeletedConcurrently { updated });
                }
                Step::Done(outcome) => return Ok(outcome),
                Step::Blocked(Blocked::By(Some(owner), known)) => {
                    Blocked::By(Some(owner), known.max(mode))
                }
                Step::Blocked(blocked) => blocked,
            };
            match self.queue(txn, row, blocked, WaitPolicy::Block)? {
                Acquire::Granted | Acquire::Retry => continue,
                Acquire::Wait(wait) => return Ok(ModifyOutcome::MustWait(wait)),
                Acquire::WouldBlock => {
                    return Err(Error::internal("a row lock request was not queued"));
                }
            }
        }
    }

    fn queue(
        &self,
        txn: &Txn,
        row: RowId,
        blocked: Blocked,
        policy: WaitPolicy,
    ) -> Result<Acquire> {
        let (engine, shared) = (txn.engine(), txn.shared());
        let is_running = |owner: RowOwner| engine.status.is_run_by(owner.xid, owner.pid);
        let block = policy == WaitPolicy::Block;
        match blocked {
            Blocked::By(owner, mode) => {
                let still_running = || owner.is_none_or(is_running);
                let tag = row_tag(self.file.tree_of_entry()?, row);
                engine.locks.lock_row_slow(shared, tag, mode, owner, block, still_running)
            }
            Blocked::UntilEnd(_) if !block => Ok(Acquire::WouldBlock),
            Blocked::UntilEnd(owner) => {
                let still_running = || is_running(owner);
                let of = (owner.pid, owner.xid);
                Ok(engine.locks.wait_for_transaction(shared, of, still_running))
            }
        }
    }

    fn modify_once(
        &self,
        txn: &mut Txn,
        row: RowId,
        f: &mut dyn FnMut(Current<'_>, &mut Vec<u8>) -> Result<Action>,
    ) -> Result<Step<ModifyOutcome>> {
        let view = txn.view();
        let Some(tree) = self.file.tree()? else {
            return Ok(Step::Done(ModifyOutcome::NotFound));
        };
        let mut new = std::mem::take(&mut txn.row);
        let mut step = Step::Done(ModifyOutcome::NotFound);
        let (mut undo, mut replaced) = (0, 0);
        txn.write(tree, &row.0.to_be_bytes(), |value, op| {
            undo = 0;
            step = Step::Done(ModifyOutcome::NotFound);
            let Some(value) = value else { return Ok(()) };
            let (header, bytes) = RowHeader::split(value)?;
            replaced = header.word.xid();
            let (visible, own) = match standing(&view, header)? {
                Standing::Free { visible, own } => (visible, own),
                other => {
                    step = refuse(other);
                    return Ok(());
                }
            };
            new.clear();
            let meta = crate::view::meta(header);
            if !own && view.is_too_new(header.word.xid()) {
                let newest = RowVersion { row: bytes.to_vec(), meta };
                step = Step::Done(ModifyOutcome::UpdatedConcurrently { newest });
                return Ok(());
            }
            let current = Current { row: bytes, visible_to_snapshot: visible, meta };
            let action = f(current, &mut new)?;
            if action == Action::Keep {
                step = Step::Done(match visible {
                    true => ModifyOutcome::Kept,
                    false => {
                        let newest = RowVersion { row: bytes.to_vec(), meta };
                        ModifyOutcome::UpdatedConcurrently { newest }
                    }
                });
                return Ok(());
            }
            let mode = action.mode();
            let pid = txn.shared().pid();
            let claim = txn.engine().locks.row_claim(pid, row_tag(tree, row), mode);
            // Also where the version is its own: beside a change that keeps the key, another transaction
            // may have the row KEY SHARE.
            if !claim.is_free {
                step = Step::Blocked(Blocked::By(None, mode));
                return Ok(());
            }
            #[cfg(feature = "planted-bugs")]
            if txn.engine().options.planted_bug == Some(PlantedBug::NoVersionOfTheSame)
                && new == bytes
            {
                step = Step::Done(ModifyOutcome::Done);
                return Ok(());
            }
            let put = match action {
                Action::Delete => Put::Deletion(DELETED),
                Action::Move => Put::Deletion(DELETED | MOVED),
                Action::Replace { .. } | Action::Keep => {
                    // What the row is locked in already it is written in.
                    let key = (1 << mode as u8 | claim.own) & 1 << RowLockMode::Update as u8 != 0;
                    let locked = claim.own != 0 || !visible;
                    Put::Row(&new, (u8::from(key) * KEY_CHANGED) | (u8::from(locked) * LOCKED))
                }
            };
            undo = change_row(txn, (tree.id(), row), (header, bytes), put, op)?;
            step = Step::Done(ModifyOutcome::Done);
            Ok(())
        })?;
        txn.row = new;
        if undo != 0 {
            txn.chain(undo)?;
            let place = (self.file.number(), row.0);
            txn.watched(|all, member| all.changed_row(member, place, replaced))?;
        }
        Ok(step)
    }
}

fn row_tag(tree: &Tree, row: RowId) -> LockTag {
    LockTag::Row(tree.id().root.0, row.0)
}

/// Inserts rows with consecutive ids, from `first` on.
fn insert_run(tree: &Tree, txn: &mut Txn, first: u64, entries: &[(&[u8], &[u8])]) -> Result<()> {
    let mut done = 0;
    while done < entries.len() {
        let change = |count: usize| Change::RowInsert {
            tree: tree.id(),
            first: first + done as u64,
            count: count as u64,
        };
        let mut undo = 0;
        let inserted = txn.logged(|log| {
            let inserted = tree.insert_many(&entries[done..], log, |count, payload| {
                change(count).encode(payload);
                undo = txn.append_undo(payload)?;
                Ok::<(), Error>(())
            })?;
            Ok((inserted, inserted.appended))
        })?;
        if inserted.duplicate || inserted.consumed == 0 {
            return Err(duplicate_row_id(first + (done + inserted.consumed) as u64));
        }
        txn.chain(undo)?;
        done += inserted.consumed;
    }
    Ok(())
}

/// What is put in a version's place.
enum Put<'a> {
    /// A new version with these flags.
    Row(&'a [u8], u8),
    /// A mark with these flags.
    Deletion(u8),
}

/// Fills in the tree operation, its payload and the undo record.
fn change_row(
    txn: &Txn,
    (tree, row): (TreeId, RowId),
    (before, old): (RowHeader, &[u8]),
    put: Put<'_>,
    op: &mut WriteOp,
) -> Result<u64> {
    let xid = txn.xid();
    let (new, flags) = match put {
        Put::Row(new, flags) => (new, flags),
        Put::Deletion(flags) => {
            Change::RowDelete { tree, row: row.0, before }.encode(op.payload());
            let undo = txn.append_undo(op.payload())?;
            let word = before.word.next(xid, flags);
            let header = RowHeader { word, origin: Origin::Changed(undo) };
            op.splice(0, ROW_HEADER_LEN, &header.to_bytes());
            return Ok(undo);
        }
    };
    let (prefix, suffix) = common_ends(old, new);
    let middle = &old[prefix..old.len() - suffix];
    let (prefix_len, suffix_len) = (prefix as u32, suffix as u32);
    Change::RowUpdate { tree, row: row.0, before, prefix: prefix_len, suffix: suffix_len, middle }
        .encode(op.payload());
    let undo = txn.append_undo(op.payload())?;
    // What was so for an earlier version of the same writer is so for this one.
    let own_flags = if before.word.xid() == xid { before.word.flags() } else { 0 };
    let word = before.word.next(xid, flags | own_flags & (KEY_CHANGED | LOCKED));
    let header = RowHeader { word, origin: Origin::Changed(undo) };
    splice_row(op, &header, &new[..new.len() - suffix], prefix, old.len() - suffix);
    Ok(undo)
}

/// From so many bytes between a row's header and what changes on, the two are spliced apart: about
/// what the second splice takes in the log.
const APART_FROM: usize = 24;

/// Puts a row's header and its bytes `prefix..` in place of what stands there up to `old_end`.
/// `new` is the new row up to where the rows are alike again.
pub(crate) fn splice_row(
    op: &mut WriteOp,
    header: &RowHeader,
    new: &[u8],
    prefix: usize,
    old_end: usize,
) {
    if prefix == old_end && prefix == new.len() {
        op.splice(0, ROW_HEADER_LEN, &header.to_bytes());
        return;
    }
    if prefix < APART_FROM {
        let bytes = op.splice_with(0, ROW_HEADER_LEN + old_end);
        bytes.extend_from_slice(&header.to_bytes());
        bytes.extend_from_slice(new);
        return;
    }
    op.splice(ROW_HEADER_LEN + prefix, old_end - prefix, &new[prefix..]);
    op.with_head(&header.to_bytes());
}

fn refuse(standing: Standing) -> Step<ModifyOutcome> {
    Step::Done(match standing {
        Standing::Running(owner) => {
            return Step::Blocked(Blocked::By(Some(owner), RowLockMode::NoKeyUpdate));
        }
        Standing::SelfUpdated(by) => ModifyOutcome::SelfUpdated { by },
        Standing::DeletedAfter => ModifyOutcome::DeletedConcurrently { updated: false },
        Standing::MovedAfter => ModifyOutcome::MovedConcurrently,
        Standing::Absent | Standing::DeletedBefore | Standing::Free { .. } => {
            ModifyOutcome::NotFound
        }
    })
}

#[cold]
fn duplicate_row_id(id: u64) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("row id {id} is in use already"))
}
