//! Transactions: begin, statements, savepoints, commit, rollback.

mod locks;
mod savepoints;
mod snapshots;

pub use savepoints::UndoPosition;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use steppe_storage::{Appended, LogHeader, Lsn, Priority, Tree, WriteOp};
use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};

use crate::budget::{ANY_CHANGE, UndoBudget};
use crate::change::Change;
#[cfg(feature = "planted-bugs")]
use crate::engine::PlantedBug;
use crate::engine::{Engine, SessionHandle, SessionInner};
use crate::files::{DatabaseId, DroppedFile, FileId};
use crate::lock::LockPosition;
use crate::prepared::LeftBehind;
use crate::recovery::{RECORD_ABORT, RECORD_COMMIT, RECORD_DROPS, RECORD_NOTE};
use crate::rollback::Undoer;
use crate::serializable::Member;
use crate::session::SessionShared;
use crate::undo::UndoPtr;

/// How much a transaction sees of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    /// A snapshot per statement.
    ReadCommitted,
    /// A snapshot per transaction.
    RepeatableRead,
    /// That, and the outcome is that of some serial order.
    Serializable,
}

/// What to wait for before a commit is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the commit is durable only when the log is, up to here"]
pub struct CommitWait {
    /// The log must be durable up to here.
    pub lsn: Lsn,
    /// Whether the transaction itself wrote (else it has only read what is not
    /// durable yet).
    pub wrote: bool,
}

/// Whether what is written to a file survives a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Persistence {
    /// It does.
    #[default]
    Logged,
    /// A crash empties the file.
    Unlogged,
}

/// How a transaction ended.
#[derive(Clone, Copy)]
enum Outcome {
    Committed { wrote: bool },
    RolledBack,
}

/// A running transaction. Dropped without [`Txn::commit`], it rolls back.
pub struct Txn {
    pub(crate) session: Arc<SessionInner>,
    isolation: IsolationLevel,
    read_only: bool,
    xid: u64,
    /// The number of the running command.
    cid: u32,
    /// The greatest that a command has had: another one's, if the running one was suspended.
    last_cid: u32,
    /// The command `last_cid` changes or locks rows, so that the next one has another number.
    last_cid_is_used: bool,
    /// The statement's snapshot, or 0 if there is none.
    snapshot_lsn: u64,
    /// The transaction's snapshot, if the statement looks at a newer one and changes rows; or 0.
    older_lsn: u64,
    /// Snapshots of open portals, beside the current one.
    held: Vec<Lsn>,
    pub(crate) last_undo: UndoPtr,
    pub(crate) budget: UndoBudget,
    pub(crate) drops: Vec<FileId>,
    /// SERIALIZABLE: since its snapshot.
    pub(crate) member: Option<Arc<Member>>,
    /// Nothing but COMMIT PREPARED and ROLLBACK PREPARED may end it.
    is_prepared: bool,
    pub(crate) ended: bool,
    /// Buffer for undo bodies, reused.
    pub(crate) body: Vec<u8>,
    /// Buffer for new rows, reused.
    pub(crate) row: Vec<u8>,
}

impl Txn {
    /// Begins a transaction. It costs nothing until its first statement.
    pub fn begin(session: &SessionHandle, isolation: IsolationLevel, read_only: bool) -> Txn {
        Txn::new(Arc::clone(&session.0), isolation, read_only)
    }

    /// A prepared transaction, to be ended by its stand-in.
    pub(crate) fn of_prepared(session: Arc<SessionInner>, left: LeftBehind) -> Txn {
        let mut txn = Txn::new(session, IsolationLevel::ReadCommitted, false);
        txn.is_prepared = true;
        txn.xid = left.xid;
        (txn.last_undo, txn.budget) = (left.last_undo, left.budget);
        (txn.drops, txn.member) = (left.drops, left.member);
        txn
    }

    /// The transaction, for code that must own it. The caller puts it back: what stays here has ended.
    pub fn take(&mut self) -> Txn {
        let mut rest = Txn::new(Arc::clone(&self.session), self.isolation, self.read_only);
        rest.ended = true;
        std::mem::replace(self, rest)
    }

    fn new(session: Arc<SessionInner>, isolation: IsolationLevel, read_only: bool) -> Txn {
        Txn {
            session,
            isolation,
            read_only,
            xid: 0,
            cid: 0,
            last_cid: 0,
            last_cid_is_used: false,
            snapshot_lsn: 0,
            older_lsn: 0,
            held: Vec::new(),
            last_undo: 0,
            budget: UndoBudget::default(),
            drops: Vec::new(),
            member: None,
            is_prepared: false,
            ended: false,
            body: Vec::new(),
            row: Vec::new(),
        }
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.session.engine
    }

    /// Which of the engine's databases the transaction is in.
    pub fn database_id(&self) -> DatabaseId {
        self.session.shared.database()
    }

    pub(crate) fn shared(&self) -> &Arc<SessionShared> {
        &self.session.shared
    }

    /// The isolation level.
    pub fn isolation(&self) -> IsolationLevel {
        self.isolation
    }

    /// Changes the isolation level; only before the first snapshot.
    pub fn set_isolation(&mut self, isolation: IsolationLevel) -> Result<()> {
        if self.snapshot_lsn != 0 && isolation != self.isolation {
            let message = "SET TRANSACTION ISOLATION LEVEL must be called before any query";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        self.isolation = isolation;
        Ok(())
    }

    /// Whether it was begun READ ONLY. The caller refuses statements by it.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Changes READ ONLY.
    pub fn set_read_only(&mut self, read_only: bool) {
        self.read_only = read_only;
    }

    /// The running command changes or locks rows, or is going to: those that run within it and
    /// after it have other numbers (PostgreSQL's `GetCurrentCommandId(true)`).
    pub fn use_command(&mut self) {
        // One that was suspended has a number that none gets again.
        self.last_cid_is_used |= self.cid == self.last_cid;
    }

    /// The number of the running command: what it writes is stamped with it.
    pub fn command_id(&self) -> u32 {
        self.cid
    }

    /// See [`SessionHandle::observed_lsn`].
    pub fn observed_lsn(&self) -> Lsn {
        Lsn(self.session.observed_lsn.load(Ordering::Acquire))
    }

    /// The transaction's id, or 0 if it has none yet.
    pub fn xid(&self) -> u64 {
        self.xid
    }

    /// The transaction's id; gives it one if it has none.
    pub fn assign_xid(&mut self) -> u64 {
        if self.xid == 0 {
            let engine = self.engine();
            let sessions = &engine.sessions;
            self.xid = engine.status.assign(self.shared().pid(), || sessions.snapshot_ranges());
            self.shared().set_xid(self.xid);
            if let Some(member) = &self.member {
                self.engine().serializable.set_xid(member, self.xid);
            }
        }
        self.xid
    }

    // ----- writing -----

    fn log_header(&self) -> LogHeader {
        #[cfg(feature = "planted-bugs")]
        if self.engine().options.planted_bug == Some(PlantedBug::SkipLogRecord)
            && self.shared().last_lsn() % 5 == 3
        {
            return LogHeader::default();
        }
        let log = LogHeader::change(self.xid, Lsn(self.shared().last_lsn()));
        match self.is_prepared {
            // It was promised that it can commit.
            true => LogHeader { priority: Priority::MustSucceed, ..log },
            false => log,
        }
    }

    /// Makes sure that a change can be taken back on a full disk, too; one that owes more
    /// than [`ANY_CHANGE`] must call this first.
    pub(crate) fn prepare_undo(&self, cost: u64) -> Result<()> {
        self.budget.prepare(self.engine().wal(), cost)
    }

    /// Runs something that appends to the log for this transaction.
    pub(crate) fn logged<T>(
        &self,
        append: impl FnOnce(LogHeader) -> Result<(T, Option<Appended>)>,
    ) -> Result<T> {
        self.prepare_undo(ANY_CHANGE)?;
        let engine = self.engine();
        self.shared().log_section(
            || engine.insert_position(),
            || match append(self.log_header()) {
                Ok((result, appended)) => (Ok(result), lsn_of(appended)),
                Err(error) => (Err(error), None),
            },
        )
    }

    /// A tree write in the name of this transaction.
    pub(crate) fn write(
        &self,
        tree: &Tree,
        key: &[u8],
        f: impl FnMut(Option<&[u8]>, &mut WriteOp) -> Result<()>,
    ) -> Result<Option<Appended>> {
        self.logged(|log| tree.write(key, log, f).map(|appended| (appended, appended)))
    }

    /// Appends an undo record, to be made the last of the chain by
    /// [`Txn::chain`] once the change has happened.
    pub(crate) fn append_undo(&self, body: &[u8]) -> Result<UndoPtr> {
        let shared = self.shared();
        let (pid, prev_lsn) = (shared.pid(), shared.last_lsn());
        self.budget.owe(&Change::decode(body)?);
        self.engine().undo.append(pid, self.xid, self.last_undo, prev_lsn, self.cid, body)
    }

    /// The change of this undo record has happened.
    pub(crate) fn chain(&mut self, undo: UndoPtr) -> Result<()> {
        self.last_undo = undo;
        self.use_command();
        self.engine().undo.spill_if_needed()
    }

    /// Appends a change that touches no page.
    pub(crate) fn note(&mut self, change: Change<'_>) -> Result<()> {
        self.assign_xid();
        let body = change.to_vec();
        let undo = self.append_undo(&body)?;
        if change.is_unlogged() {
            return self.chain(undo);
        }
        let engine = Arc::clone(self.engine());
        self.logged(|log| {
            let appended = engine.store.append(RECORD_NOTE, log, &body)?;
            Ok(((), Some(appended)))
        })?;
        self.chain(undo)
    }

    /// A new file in the transaction's database, which goes away if the transaction does not commit. It has
    /// no pages before something is written to it.
    pub fn create_file(&mut self, persistence: Persistence) -> Result<FileId> {
        let number = self.engine().files.new_number()?;
        let number = match persistence {
            Persistence::Logged => number,
            Persistence::Unlogged => number.unlogged(),
        };
        let file = FileId { database: self.database_id(), number };
        self.note(Change::CreateFile { file })?;
        Ok(file)
    }

    /// Whether the commit will free files, for which it waits until it is durable.
    pub fn drops_files(&self) -> bool {
        !self.drops.is_empty()
    }

    /// Frees these files once the transaction has committed. The caller holds
    /// ACCESS EXCLUSIVE on what they belong to.
    pub fn drop_files_at_commit(&mut self, files: &[FileId]) {
        self.assign_xid();
        self.drops.extend_from_slice(files);
    }

    // ----- the end -----

    /// Commits. Locks are released before the log is durable: the caller waits
    /// for [`CommitWait::lsn`] before it tells anyone.
    pub fn commit(self) -> Result<CommitWait> {
        self.commit_with(|| ())
    }

    /// Commits; `committed` runs once the commit is in the log and before any lock is released,
    /// so that one that waited for a lock finds what it publishes (a new catalog version).
    pub fn commit_with(mut self, committed: impl FnOnce()) -> Result<CommitWait> {
        let wrote = self.has_written() || !self.drops.is_empty();
        self.check_may_commit()?;
        if !wrote {
            committed();
            self.finish_without_log(Outcome::Committed { wrote });
            return Ok(CommitWait { lsn: self.observed_lsn(), wrote: false });
        }
        let drops = self.engine().files_with_trees(&self.drops)?;
        self.commit_logged(&drops, committed)
    }

    /// Whether there is anything of it to commit or to take back; only unlogged files may be
    /// concerned, of whose changes the log knows nothing.
    fn has_written(&self) -> bool {
        self.shared().last_lsn() != 0 || self.last_undo != 0
    }

    /// SERIALIZABLE: fails if it must not commit; after this it may.
    pub(crate) fn check_may_commit(&self) -> Result<()> {
        self.watched(|all, member| {
            self.drops.iter().try_for_each(|file| all.dropped_file(member, file.number))?;
            all.prepare(member)
        })
    }

    /// Commits what has written something; `drops` are the files it drops that have trees.
    pub(crate) fn commit_logged(
        mut self,
        drops: &[DroppedFile],
        committed: impl FnOnce(),
    ) -> Result<CommitWait> {
        let session = Arc::clone(&self.session);
        let (engine, shared) = (&session.engine, &session.shared);
        let (xid, pid) = (self.xid, shared.pid());
        let log = self.log_header();
        let is_logged = shared.last_lsn() != 0 || !drops.is_empty();
        let appended = shared.log_section(
            || engine.insert_position(),
            || {
                engine.status.set_committing(xid, pid);
                let appended = log_commit(engine, log, drops);
                match &appended {
                    Ok(appended) => {
                        // Neither before: a checkpoint would list what may yet be rolled back;
                        // nor later: it would find neither them nor the transaction.
                        engine.pending_drops.lock().extend(drops.iter().copied());
                        engine.status.set_committed(xid, pid, appended.end.0);
                        shared.clear_transaction();
                    }
                    Err(_) => engine.status.set_in_progress(xid, pid),
                }
                (appended, None)
            },
        );
        let appended = match appended {
            Ok(appended) => appended,
            Err(error) if self.is_prepared => {
                // Only a log that has failed refuses this. What it holds stays as it is: to
                // the next start the transaction is prepared.
                let error = stop_the_server("commit", engine, &error.into());
                std::mem::forget(self);
                return Err(error);
            }
            Err(error) => return Err(error.into()), // and rolls back
        };
        committed();
        self.end(Outcome::Committed { wrote: true });
        if !drops.is_empty() {
            // Not before the commit is durable: a crash may still undo it.
            engine.wait_durable(appended.end)?;
            engine.free_files(drops)?;
        }
        engine.count_commit();
        if !is_logged {
            // A crash that loses the commit empties all that the transaction has written to.
            return Ok(CommitWait { lsn: self.observed_lsn(), wrote: false });
        }
        let lsn = appended.end.max(self.observed_lsn());
        Ok(CommitWait { lsn, wrote: true })
    }

    /// Bytes of log that a rollback would write: how long it would take.
    pub fn rollback_bytes(&self) -> u64 {
        self.budget.size()
    }

    /// Rolls back.
    pub fn rollback(mut self) -> Result<()> {
        self.rollback_now()
    }

    fn rollback_now(&mut self) -> Result<()> {
        if self.ended {
            return Ok(());
        }
        if !self.has_written() {
            self.finish_without_log(Outcome::RolledBack);
            return Ok(());
        }
        if let Err(error) = self.undo_until(0) {
            self.ended = true; // locks stay: the rows are not ours to hand on
            return Err(error);
        }
        let session = Arc::clone(&self.session);
        let undoer = Undoer::new(&session.engine, &session.shared, self.xid);
        let ended = undoer.finish(RECORD_ABORT);
        self.end(Outcome::RolledBack);
        ended
    }

    /// A transaction that logged nothing leaves no trace but its xid.
    fn finish_without_log(&mut self, outcome: Outcome) {
        if self.xid != 0 {
            let end = self.engine().insert_position();
            let (xid, pid) = (self.xid, self.shared().pid());
            let status = &self.engine().status;
            match outcome {
                Outcome::Committed { .. } => status.set_committed(xid, pid, end),
                Outcome::RolledBack => status.set_aborted(xid, pid, end),
            }
        }
        self.shared().clear_transaction();
        self.end(outcome);
    }

    fn end(&mut self, outcome: Outcome) {
        self.ended = true;
        if let Some(member) = self.member.take() {
            let all = &self.session.engine.serializable;
            match outcome {
                Outcome::Committed { wrote } => all.committed(&member, wrote),
                Outcome::RolledBack => all.rolled_back(&member),
            }
        }
        self.budget.release(self.engine().wal());
        self.shared().drop_snapshots();
        self.engine().locks.release_to(self.shared(), LockPosition(0));
    }
}

/// Where the record of a change starts, if it has one.
pub(crate) fn lsn_of(appended: Option<Appended>) -> Option<u64> {
    appended.and_then(Appended::record).map(|lsn| lsn.0)
}

/// Logs a commit and the files that it drops, in as many records as they take.
fn log_commit(
    engine: &Engine,
    log: LogHeader,
    drops: &[DroppedFile],
) -> steppe_storage::Result<Appended> {
    let body_of = |part: &[DroppedFile]| {
        let mut body = Vec::new();
        part.iter().for_each(|dropped| dropped.encode(&mut body));
        body
    };
    let at_once = engine.options.drops_per_record.max(1);
    let (before, last) = drops.split_at(drops.len().saturating_sub(1) / at_once * at_once);
    for part in before.chunks(at_once) {
        engine.store.append(RECORD_DROPS, log, &body_of(part))?;
    }
    engine.store.append(RECORD_COMMIT, log, &body_of(last))
}

/// Reports an end that cannot be come to.
fn stop_the_server(doing: &str, engine: &Engine, cause: &Error) -> Error {
    let message = format!("could not {doing} a transaction: {}", cause.message());
    if let Some(on_fatal) = &engine.options.on_fatal {
        on_fatal(&message);
    }
    Error::new(cause.sqlstate(), message).severity(Severity::Panic)
}

impl Drop for Txn {
    fn drop(&mut self) {
        // A failure has stopped the server (see `undo_until`), and a destructor
        // has nobody to tell.
        let _ = self.rollback_now();
    }
}
