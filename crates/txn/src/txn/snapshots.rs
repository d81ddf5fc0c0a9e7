//! Statements of a transaction, and the snapshots that they look through.
//!
//! A statement has a number among the transaction's commands (PostgreSQL's command ID). Its versions
//! of rows are stamped with it, and it sees the transaction's own of smaller ones. A statement that
//! runs within another, as a function's does, has a greater number, and the outer one goes on with
//! its own afterwards:
//!
//! ```text
//!   command 4   ●────●┄┄┄┄┄┄┄┄┄●────●┄┄┄┄┄┄┄┄┄●───   the outer statement
//!           5         ●───────●                       sees what 4 has written by then
//!           6                        ●───────●        sees that, and what 5 has written
//! ```
//!
//! So the outer statement sees nothing of what it runs, and tells what it has written itself from
//! what the others have ([`OwnCommand`](crate::OwnCommand)).

use std::sync::Arc;

use steppe_storage::Lsn;
use steppe_types::{Error, Result, SqlState};

use super::{IsolationLevel, Txn};
#[cfg(feature = "planted-bugs")]
use crate::engine::PlantedBug;
use crate::lock::{Acquire, LockWait};
use crate::serializable::{Member, Safety, Serializable};
use crate::view::{Snapshot, View};

impl Txn {
    /// Starts a statement: what earlier ones wrote becomes visible to it, and in
    /// READ COMMITTED so does what others have committed.
    pub fn start_statement(&mut self) -> Result<()> {
        self.next_command()?;
        self.cid = self.last_cid;
        if self.older_lsn != 0 {
            // The statement runs within one that looks at a newer snapshot than the transaction's.
            self.snapshot_lsn = std::mem::take(&mut self.older_lsn);
        }
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
        let engine = Arc::clone(self.engine());
        let (pid, read_only) = (self.shared().pid(), self.read_only);
        let member = engine.serializable.begin(pid, read_only, || self.take_snapshot());
        if self.xid != 0 {
            engine.serializable.set_xid(&member, self.xid);
        }
        self.member = Some(member);
    }

    /// SERIALIZABLE READ ONLY DEFERRABLE, before the first statement: takes snapshots until
    /// one is safe, so that the transaction can neither fail nor make another one fail.
    /// `Some`: wait, then call again.
    pub fn await_safe_snapshot(&mut self) -> Result<Option<LockWait>> {
        let engine = Arc::clone(self.engine());
        loop {
            if self.snapshot_lsn == 0 {
                self.begin_serializable();
            }
            let Some(member) = self.member.clone() else { return Ok(None) };
            let wait = |pid| engine.locks.wait_for_end(self.shared(), pid);
            match engine.serializable.safety(&member, wait) {
                Safety::Safe => return Ok(None),
                Safety::Unsafe => {
                    engine.serializable.rolled_back(&member);
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
        self.engine().serializable.watch(self.member.as_ref(), what)
    }

    /// The number of a command that takes no snapshot: all that it does is to insert a row, perhaps
    /// later ([`crate::NewRows::push_of`]). It is the number that [`Self::start_statement`] would
    /// give it, and the running command keeps its own. As [`Self::suspend_statement`] asks, the
    /// running one has said if it changes rows.
    pub fn number_command(&mut self) -> Result<u32> {
        self.next_command()?;
        self.last_cid_is_used = true;
        Ok(self.last_cid)
    }

    /// Moves on to the number of the next command.
    fn next_command(&mut self) -> Result<()> {
        let used = std::mem::take(&mut self.last_cid_is_used);
        self.last_cid = self.last_cid.checked_add(u32::from(used)).ok_or_else(|| {
            let message = "cannot have more than 2^32-2 commands in a transaction";
            Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        })?;
        Ok(())
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

    /// Suspends the running statement, so that others may run within it: a function's. Its
    /// snapshot stays valid. Needs one [`Txn::resume_statement`].
    ///
    /// If it changes or locks rows, the caller has said so ([`Txn::use_command`]).
    pub fn suspend_statement(&mut self) -> Snapshot {
        let outer = self.snapshot();
        self.hold_snapshot(outer);
        outer
    }

    /// Goes on with a statement after those that ran within it: with its snapshot and its number.
    /// It does not see what they wrote.
    pub fn resume_statement(&mut self, outer: Snapshot) {
        (self.snapshot_lsn, self.older_lsn) = (outer.lsn.0, outer.older.0);
        self.release_snapshot(outer);
        #[cfg(feature = "planted-bugs")]
        if self.engine().options.planted_bug == Some(PlantedBug::ResumeWithInnerCommand) {
            return;
        }
        self.cid = outer.cid;
    }

    /// Lets the commands up to [`Txn::resume_statement`] see all that is committed by now, in each
    /// isolation level: a check for rows that refer to a key must find each such row. The
    /// statement has been suspended.
    pub fn look_at_newest(&mut self) {
        if self.isolation != IsolationLevel::ReadCommitted {
            self.take_snapshot();
        }
    }

    /// Begins a command that changes rows as they are now, in each isolation level: all rows that
    /// refer to a removed key. Above READ COMMITTED it fails to change a row that the transaction's
    /// snapshot does not see ([`ModifyOutcome::UpdatedConcurrently`](crate::ModifyOutcome)), and
    /// statements that run within it look at that snapshot. The running statement has been suspended.
    pub fn change_at_newest(&mut self) -> Result<()> {
        self.start_statement()?;
        if self.isolation != IsolationLevel::ReadCommitted {
            let older = self.snapshot_lsn;
            self.take_snapshot();
            self.older_lsn = older;
        }
        Ok(())
    }

    /// Goes on with a statement that has changed nothing and has waited for a row: in READ COMMITTED
    /// at a new snapshot.
    pub fn start_statement_again(&mut self) -> Result<()> {
        match self.isolation {
            IsolationLevel::ReadCommitted => self.start_statement(),
            IsolationLevel::RepeatableRead | IsolationLevel::Serializable => Ok(()),
        }
    }

    fn take_snapshot(&mut self) {
        let engine = Arc::clone(self.engine());
        let position = || engine.insert_position();
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
        let engine = Arc::clone(self.engine());
        let is_held = engine.sessions.share_snapshot(lsn.0, from, self.shared());
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
        let (lsn, older) = (Lsn(self.snapshot_lsn), Lsn(self.older_lsn));
        Snapshot { lsn, xid: self.xid, cid: self.cid, older }
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
            newest.lsn = Lsn(self.engine().insert_position());
        }
        self.hold_snapshot(newest);
        self.publish_held();
        Ok(newest)
    }

    /// What is held, ready to look through. Nobody is told that it was read: a change of what a
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
}
