//! Transactions: begin, statements, savepoints, commit, rollback.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use steppe_storage::{Appended, LogHeader, Lsn, Priority, Tree, WriteOp};
use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};

use crate::budget::{ANY_CHANGE, Owed, UndoBudget};
use crate::change::Change;
#[cfg(feature = "planted-bugs")]
use crate::database::PlantedBug;
use crate::database::{Database, SessionHandle, SessionInner};
use crate::files::{DroppedFile, RelFileNumber};
use crate::lock::{
    Acquire, AdvisoryScope, LeavesLockMode, LockPosition, LockTag, LockWait, RelationLockMode,
    RelationUsers, SharedMode,
};
use crate::prepared::LeftBehind;
use crate::recovery::{RECORD_ABORT, RECORD_COMMIT, RECORD_DROPS, RECORD_NOTE};
use crate::rollback::Undoer;
use crate::serializable::{Member, Safety, Serializable};
use crate::session::SessionShared;
use crate::undo::UndoPtr;
use crate::undone::UndoneSum;
use crate::view::{Snapshot, View};

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

/// A point in a transaction to which it can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoPosition {
    undo: UndoPtr,
    owed: Owed,
    locks: LockPosition,
    drops: usize,
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

struct Savepoint {
    name: String,
    position: UndoPosition,
}

/// A running transaction. Dropped without [`Txn::commit`], it rolls back.
pub struct Txn {
    pub(crate) session: Arc<SessionInner>,
    isolation: IsolationLevel,
    read_only: bool,
    xid: u64,
    cid: u32,
    /// Something was written or locked by the command `cid`, so that the next one has another
    /// number.
    cid_is_used: bool,
    /// The statement's snapshot, or 0 if there is none.
    snapshot_lsn: u64,
    /// Snapshots of open portals, beside the current one.
    held: Vec<Lsn>,
    pub(crate) last_undo: UndoPtr,
    pub(crate) budget: UndoBudget,
    savepoints: Vec<Savepoint>,
    pub(crate) drops: Vec<RelFileNumber>,
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

    fn new(session: Arc<SessionInner>, isolation: IsolationLevel, read_only: bool) -> Txn {
        Txn {
            session,
            isolation,
            read_only,
            xid: 0,
            cid: 0,
            cid_is_used: false,
            snapshot_lsn: 0,
            held: Vec::new(),
            last_undo: 0,
            budget: UndoBudget::default(),
            savepoints: Vec::new(),
            drops: Vec::new(),
            member: None,
            is_prepared: false,
            ended: false,
            body: Vec::new(),
            row: Vec::new(),
        }
    }

    /// The database.
    pub fn database(&self) -> &Arc<Database> {
        &self.session.database
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

    // ----- statements and snapshots -----

    /// Starts a statement: what earlier ones wrote becomes visible to it, and in
    /// READ COMMITTED so does what others have committed.
    pub fn start_statement(&mut self) -> Result<()> {
        let used = std::mem::take(&mut self.cid_is_used);
        self.cid = self.cid.checked_add(u32::from(used)).ok_or_else(|| {
            let message = "cannot have more than 2^32-2 commands in a transaction";
            Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        })?;
        match self.isolation {
            IsolationLevel::ReadCommitted => self.take_snapshot(),
            _ if self.snapshot_lsn != 0 => {}
            IsolationLevel::RepeatableRead => self.take_snapshot(),
            IsolationLevel::Serializable => self.begin_serializable(),
        }
        Ok(())
    }

    /// Takes the snapshot of a serializable transaction.
    fn begin_serializable(&mut self) {
        let database = Arc::clone(self.database());
        let (pid, read_only) = (self.shared().pid(), self.read_only);
        let member = database.serializable.begin(pid, read_only, || self.take_snapshot());
        if self.xid != 0 {
            database.serializable.set_xid(&member, self.xid);
        }
        self.member = Some(member);
    }

    /// SERIALIZABLE READ ONLY DEFERRABLE, before the first statement: takes snapshots until
    /// one is safe, so that the transaction can neither fail nor make another one fail.
    /// `Some`: wait, then call again.
    pub fn await_safe_snapshot(&mut self) -> Result<Option<LockWait>> {
        let database = Arc::clone(self.database());
        loop {
            if self.snapshot_lsn == 0 {
                self.begin_serializable();
            }
            let Some(member) = self.member.clone() else { return Ok(None) };
            let wait = |pid| database.locks.wait_for_end(self.shared(), pid);
            match database.serializable.safety(&member, wait) {
                Safety::Safe => return Ok(None),
                Safety::Unsafe => {
                    database.serializable.rolled_back(&member);
                    self.member = None;
                    self.snapshot_lsn = 0;
                    self.publish_held();
                }
                Safety::DependsOn(Acquire::Wait(wait)) => return Ok(Some(wait)),
                Safety::DependsOn(_) => {}
            }
        }
    }

    /// SERIALIZABLE: notes what is about to be read, or looks for conflicts with a change that was
    /// just made.
    pub(crate) fn watched(
        &self,
        what: impl FnOnce(&Serializable, &Member) -> Result<()>,
    ) -> Result<()> {
        self.database().serializable.watch(self.member.as_ref(), what)
    }

    /// Ends a statement: in READ COMMITTED its snapshot is let go, so that an
    /// idle transaction holds no garbage. Views of it must not be used any more
    /// unless held (see [`Txn::hold_snapshot`]).
    pub fn end_statement(&mut self) {
        if self.isolation == IsolationLevel::ReadCommitted && self.snapshot_lsn != 0 {
            self.snapshot_lsn = 0;
            self.publish_held();
        }
    }

    /// Suspends the running statement, so that another one may run within it: a function's.
    /// Its snapshot stays valid. Needs one [`Txn::resume_statement`].
    pub fn suspend_statement(&mut self) -> Snapshot {
        let outer = self.snapshot();
        self.hold_snapshot(outer);
        outer
    }

    /// Goes on with a statement after those that ran within it. It does not see what they wrote.
    pub fn resume_statement(&mut self, outer: Snapshot) {
        self.snapshot_lsn = outer.lsn.0;
        self.release_snapshot(outer);
    }

    fn take_snapshot(&mut self) {
        let database = Arc::clone(self.database());
        let position = || database.insert_position();
        if self.held.is_empty() {
            self.snapshot_lsn = self.shared().publish_snapshot(position);
            return;
        }
        // An older snapshot is published already, so this one is protected.
        self.snapshot_lsn = position();
        self.publish_held();
    }

    /// Takes the snapshot that another session holds for that of this transaction, which is
    /// REPEATABLE READ and has not begun; false if it is held no longer.
    pub fn import_snapshot(&mut self, lsn: Lsn, from: u32) -> bool {
        debug_assert!(self.snapshot_lsn == 0 && self.held.is_empty());
        let database = Arc::clone(self.database());
        let is_held = database.sessions.share_snapshot(lsn.0, from, self.shared());
        if is_held {
            self.snapshot_lsn = lsn.0;
        }
        is_held
    }

    fn publish_held(&self) {
        let current = Some(self.snapshot_lsn).filter(|&lsn| lsn != 0);
        let all = self.held.iter().map(|lsn| lsn.0).chain(current);
        match (all.clone().min(), all.max()) {
            (Some(oldest), Some(newest)) => self.shared().hold_snapshots(oldest, newest),
            _ => self.shared().drop_snapshots(),
        }
    }

    /// The current statement's snapshot.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { lsn: Lsn(self.snapshot_lsn), xid: self.xid, cid: self.cid }
    }

    /// The current snapshot, ready to look through. It does not see what this
    /// statement itself writes.
    pub fn view(&self) -> View {
        let (session, member) = (Arc::clone(&self.session), self.member.clone());
        View { session, snapshot: self.snapshot(), member }
    }

    /// Starts a statement that works on all rows there are, whatever the isolation: what DDL
    /// writes anew, indexes or checks is not only what an older snapshot of the transaction's
    /// sees. Needs one [`Txn::release_snapshot`].
    pub fn hold_newest(&mut self) -> Result<Snapshot> {
        self.start_statement()?;
        let mut newest = self.snapshot();
        if self.isolation != IsolationLevel::ReadCommitted {
            // The transaction's own is published, and protects what is younger.
            newest.lsn = Lsn(self.database().insert_position());
        }
        self.hold_snapshot(newest);
        self.publish_held();
        Ok(newest)
    }

    /// What is held, ready to look through. Nobody is told that it was read: who changes what a
    /// serializable transaction's DDL has read waits for the table.
    pub fn view_of(&self, held: Snapshot) -> View {
        View { session: Arc::clone(&self.session), snapshot: held, member: None }
    }

    /// Keeps a snapshot valid beyond its statement, for an open portal. Each
    /// call needs one [`Txn::release_snapshot`].
    pub fn hold_snapshot(&mut self, snapshot: Snapshot) {
        self.held.push(snapshot.lsn);
    }

    /// Gives a held snapshot up.
    pub fn release_snapshot(&mut self, snapshot: Snapshot) {
        if let Some(at) = self.held.iter().position(|&lsn| lsn == snapshot.lsn) {
            self.held.swap_remove(at);
            self.publish_held();
        }
    }

    /// The current command locks rows: it counts as one that writes.
    pub(crate) fn use_command(&mut self) {
        self.cid_is_used = true;
    }

    /// The number of the current command.
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
            let database = self.database();
            let sessions = &database.sessions;
            self.xid = database.status.assign(self.shared().pid(), || sessions.snapshot_ranges());
            self.shared().set_xid(self.xid);
            if let Some(member) = &self.member {
                self.database().serializable.set_xid(member, self.xid);
            }
        }
        self.xid
    }

    // ----- writing -----

    fn log_header(&self) -> LogHeader {
        #[cfg(feature = "planted-bugs")]
        if self.database().options.planted_bug == Some(PlantedBug::SkipLogRecord)
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
        self.budget.prepare(self.database().wal(), cost)
    }

    /// Runs something that appends to the log for this transaction.
    pub(crate) fn logged<T>(
        &self,
        append: impl FnOnce(LogHeader) -> Result<(T, Option<Appended>)>,
    ) -> Result<T> {
        self.prepare_undo(ANY_CHANGE)?;
        let database = self.database();
        self.shared().log_section(
            || database.insert_position(),
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
        self.database().undo.append(pid, self.xid, self.last_undo, prev_lsn, self.cid, body)
    }

    /// The change of this undo record has happened.
    pub(crate) fn chain(&mut self, undo: UndoPtr) -> Result<()> {
        self.last_undo = undo;
        self.cid_is_used = true;
        self.database().undo.spill_if_needed()
    }

    /// Appends a change that touches no page.
    pub(crate) fn note(&mut self, change: Change<'_>) -> Result<()> {
        self.assign_xid();
        let body = change.to_vec();
        let undo = self.append_undo(&body)?;
        if change.is_unlogged() {
            return self.chain(undo);
        }
        let database = Arc::clone(self.database());
        self.logged(|log| {
            let appended = database.store.append(RECORD_NOTE, log, &body)?;
            Ok(((), Some(appended)))
        })?;
        self.chain(undo)
    }

    /// The number of a new file, which goes away if the transaction does not commit. It has
    /// no pages before something is written to it.
    pub fn create_file(&mut self, persistence: Persistence) -> Result<RelFileNumber> {
        let number = self.database().files.new_number()?;
        let file = match persistence {
            Persistence::Logged => number,
            Persistence::Unlogged => number.unlogged(),
        };
        self.note(Change::CreateFile { file: file.0 })?;
        Ok(file)
    }

    /// Whether the commit will free files, for which it waits until it is durable.
    pub fn drops_files(&self) -> bool {
        !self.drops.is_empty()
    }

    /// Frees these files once the transaction has committed. The caller holds
    /// ACCESS EXCLUSIVE on what they belong to.
    pub fn drop_files_at_commit(&mut self, files: &[RelFileNumber]) {
        self.assign_xid();
        self.drops.extend_from_slice(files);
    }

    // ----- savepoints -----

    /// The present position, for a later [`Txn::rollback_to_position`].
    pub fn undo_position(&self) -> UndoPosition {
        let locks = self.database().locks.position(self.shared());
        let (undo, owed) = (self.last_undo, self.budget.owed());
        UndoPosition { undo, owed, locks, drops: self.drops.len() }
    }

    /// Takes back what was done after `position`, keeping locks.
    pub fn rollback_to_position(&mut self, position: UndoPosition) -> Result<()> {
        self.undo_until(position.undo)?;
        self.budget.settle_to(position.owed);
        #[cfg(feature = "planted-bugs")]
        if self.database().options.planted_bug == Some(PlantedBug::DropsSurviveRollback) {
            return Ok(());
        }
        self.drops.truncate(position.drops);
        Ok(())
    }

    /// SAVEPOINT.
    pub fn savepoint(&mut self, name: &str) {
        let position = self.undo_position();
        self.savepoints.push(Savepoint { name: name.to_owned(), position });
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        self.savepoints.iter().rposition(|s| s.name == name).ok_or_else(|| {
            let message = format!("savepoint \"{name}\" does not exist");
            Error::new(SqlState::INVALID_SAVEPOINT_SPECIFICATION, message)
        })
    }

    /// ROLLBACK TO SAVEPOINT: undoes and unlocks; the savepoint stays.
    pub fn rollback_to(&mut self, name: &str) -> Result<()> {
        let at = self.find_savepoint(name)?;
        let position = self.savepoints[at].position;
        self.savepoints.truncate(at + 1);
        self.rollback_to_position(position)?;
        let locks = Arc::clone(&self.database().locks);
        locks.release_to(self.shared(), position.locks);
        if self.xid != 0 {
            // Whoever waits for this transaction because of a key may go on now.
            let exclusive = SharedMode::Exclusive as u8;
            locks.release_mode(self.shared().pid(), LockTag::Transaction(self.xid), exclusive);
        }
        Ok(())
    }

    /// RELEASE SAVEPOINT.
    pub fn release(&mut self, name: &str) -> Result<()> {
        let at = self.find_savepoint(name)?;
        self.savepoints.truncate(at);
        Ok(())
    }

    fn undo_until(&mut self, until: UndoPtr) -> Result<()> {
        let session = Arc::clone(&self.session);
        let undoer = Undoer::new(&session.database, &session.shared, self.xid);
        let mut body = std::mem::take(&mut self.body);
        let mut undone = UndoneSum::default();
        while self.last_undo != until && self.last_undo != 0 {
            let step = session.database.undo.read(self.last_undo, &mut body).and_then(|head| {
                let taken_back = undoer.undo(&body, head.prev_lsn, Some(self.last_undo))?;
                undone.add(&session.database, taken_back);
                Ok(head.chain)
            });
            match step {
                Ok(chain) => self.last_undo = chain,
                // Half undone is no state to go on from: only recovery, which
                // starts over from the log, can finish this.
                Err(error) => return Err(stop_the_server("roll back", &session.database, &error)),
            }
        }
        undone.tell(&session.database);
        self.body = body;
        Ok(())
    }

    // ----- the end -----

    /// Commits. Locks are released before the log is durable: the caller waits
    /// for [`CommitWait::lsn`] before it tells anyone.
    pub fn commit(self) -> Result<CommitWait> {
        self.commit_with(|| ())
    }

    /// Commits; `committed` runs once the commit is in the log and before any lock is released,
    /// so that whoever waited for a lock finds what it publishes (a new catalog version).
    pub fn commit_with(mut self, committed: impl FnOnce()) -> Result<CommitWait> {
        let wrote = self.has_written() || !self.drops.is_empty();
        self.check_may_commit()?;
        if !wrote {
            committed();
            self.finish_without_log(Outcome::Committed { wrote });
            return Ok(CommitWait { lsn: self.observed_lsn(), wrote: false });
        }
        let drops = self.database().files_with_trees(&self.drops)?;
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
            self.drops.iter().try_for_each(|file| all.dropped_file(member, *file))?;
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
        let (database, shared) = (&session.database, &session.shared);
        let (xid, pid) = (self.xid, shared.pid());
        let log = self.log_header();
        let is_logged = shared.last_lsn() != 0 || !drops.is_empty();
        let appended = shared.log_section(
            || database.insert_position(),
            || {
                database.status.set_committing(xid, pid);
                let appended = log_commit(database, log, drops);
                match &appended {
                    Ok(appended) => {
                        // Neither before: a checkpoint would list what may yet be rolled back;
                        // nor later: it would find neither them nor the transaction.
                        database.pending_drops.lock().extend(drops.iter().copied());
                        database.status.set_committed(xid, pid, appended.end.0);
                        shared.clear_transaction();
                    }
                    Err(_) => database.status.set_in_progress(xid, pid),
                }
                (appended, None)
            },
        );
        let appended = match appended {
            Ok(appended) => appended,
            Err(error) if self.is_prepared => {
                // Only a log that has failed refuses this. What it holds stays as it is: to
                // the next start the transaction is prepared.
                let error = stop_the_server("commit", database, &error.into());
                std::mem::forget(self);
                return Err(error);
            }
            Err(error) => return Err(error.into()), // and rolls back
        };
        committed();
        self.end(Outcome::Committed { wrote: true });
        if !drops.is_empty() {
            // Not before the commit is durable: a crash may still undo it.
            database.wait_durable(appended.end)?;
            database.free_files(drops)?;
        }
        database.count_commit();
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
        let undoer = Undoer::new(&session.database, &session.shared, self.xid);
        let ended = undoer.finish(RECORD_ABORT);
        self.end(Outcome::RolledBack);
        ended
    }

    /// A transaction that logged nothing leaves no trace but its xid.
    fn finish_without_log(&mut self, outcome: Outcome) {
        if self.xid != 0 {
            let end = self.database().insert_position();
            let (xid, pid) = (self.xid, self.shared().pid());
            let status = &self.database().status;
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
            let all = &self.session.database.serializable;
            match outcome {
                Outcome::Committed { wrote } => all.committed(&member, wrote),
                Outcome::RolledBack => all.rolled_back(&member),
            }
        }
        self.budget.release(self.database().wal());
        self.shared().drop_snapshots();
        self.database().locks.release_to(self.shared(), LockPosition(0));
    }

    // ----- locks -----

    /// Locks a relation until the transaction ends; `Ok(None)`: granted.
    pub fn lock_relation(&self, oid: u32, mode: RelationLockMode) -> Result<Option<LockWait>> {
        let locks = &self.database().locks;
        Ok(wait_of(locks.lock_relation(self.shared(), oid, mode, true)?))
    }

    /// As [`Txn::lock_relation`], waiting in place.
    pub fn lock_relation_blocking(&self, oid: u32, mode: RelationLockMode) -> Result<()> {
        match self.lock_relation(oid, mode)? {
            Some(wait) => wait.wait_blocking(),
            None => Ok(()),
        }
    }

    /// Locks a relation if that needs no waiting.
    pub fn try_lock_relation(&self, oid: u32, mode: RelationLockMode) -> Result<bool> {
        let locks = &self.database().locks;
        let acquired = locks.lock_relation(self.shared(), oid, mode, false)?;
        Ok(matches!(acquired, Acquire::Granted))
    }

    /// Locks the files of a partitioned table's leaves until the transaction ends: who reads
    /// leaves one after the other and locks each at its turn keeps them from being given new
    /// files before that. `Ok(None)`: granted.
    pub fn lock_leaves(&self, table: u32, mode: LeavesLockMode) -> Result<Option<LockWait>> {
        let locks = &self.database().locks;
        Ok(wait_of(locks.lock_leaves(self.shared(), table, mode)?))
    }

    /// The relations that the transaction has locked.
    pub fn locked_relations(&self) -> Vec<u32> {
        self.database().locks.relations_of(self.shared())
    }

    /// The transactions of other sessions that use a relation now.
    pub fn users_of(&self, oid: u32) -> RelationUsers {
        self.database().locks.users_of(self.shared(), oid)
    }

    /// Waits for one of them; `None`: they have ended.
    pub fn wait_for_users(&self, users: &mut RelationUsers) -> Option<LockWait> {
        wait_of(self.database().locks.wait_for_users(self.shared(), users))
    }

    /// pg_advisory_lock and friends; `Ok(None)`: granted. After a wait for a
    /// session-level lock, call again: that counts it.
    pub fn lock_advisory(
        &self,
        tag: LockTag,
        mode: SharedMode,
        scope: AdvisoryScope,
    ) -> Result<Option<LockWait>> {
        let locks = &self.database().locks;
        Ok(wait_of(locks.lock_advisory(self.shared(), tag, mode, scope, true)?))
    }

    /// pg_try_advisory_lock and friends.
    pub fn try_lock_advisory(
        &self,
        tag: LockTag,
        mode: SharedMode,
        scope: AdvisoryScope,
    ) -> Result<bool> {
        let locks = &self.database().locks;
        let acquired = locks.lock_advisory(self.shared(), tag, mode, scope, false)?;
        Ok(matches!(acquired, Acquire::Granted))
    }

    /// pg_advisory_unlock: false if the session does not hold it.
    pub fn unlock_advisory(&self, tag: LockTag, mode: SharedMode) -> bool {
        self.database().locks.unlock_advisory(self.shared(), tag, mode)
    }

    /// pg_advisory_unlock_all.
    pub fn unlock_all_advisory(&self) {
        self.database().locks.unlock_all_advisory(self.shared());
    }
}

/// Where the record of a change starts, if it has one.
pub(crate) fn lsn_of(appended: Option<Appended>) -> Option<u64> {
    appended.and_then(Appended::record).map(|lsn| lsn.0)
}

fn wait_of(acquired: Acquire) -> Option<LockWait> {
    match acquired {
        Acquire::Wait(wait) => Some(wait),
        _ => None,
    }
}

/// Logs a commit and the files that it drops, in as many records as they take.
fn log_commit(
    database: &Database,
    log: LogHeader,
    drops: &[DroppedFile],
) -> steppe_storage::Result<Appended> {
    let body_of = |part: &[DroppedFile]| {
        let mut body = Vec::new();
        part.iter().for_each(|dropped| dropped.encode(&mut body));
        body
    };
    let at_once = database.options.drops_per_record.max(1);
    let (before, last) = drops.split_at(drops.len().saturating_sub(1) / at_once * at_once);
    for part in before.chunks(at_once) {
        database.store.append(RECORD_DROPS, log, &body_of(part))?;
    }
    database.store.append(RECORD_COMMIT, log, &body_of(last))
}

/// Reports an end that cannot be come to.
fn stop_the_server(doing: &str, database: &Database, cause: &Error) -> Error {
    let message = format!("could not {doing} a transaction: {}", cause.message());
    if let Some(on_fatal) = &database.options.on_fatal {
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
