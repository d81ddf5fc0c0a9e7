//! Prepared transactions: PREPARE TRANSACTION, COMMIT PREPARED, ROLLBACK PREPARED.
//!
//! ```text
//!   session 7           PREPARE 'x'                    COMMIT PREPARED 'x', by anybody
//!   xid 9 ──[change]──[change]──[PREPARE] ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─[COMMIT]
//!   locks of 7 ───────────────────────────► of a stand-in ─────► released
//!                                   crash │ restored from the log
//! ```
//!
//! What must be true:
//!
//! 1. From the PREPARE record on, a transaction ends by a COMMIT record or by the first
//!    compensation of its rollback, and by nothing else: no error, no end of a session, no crash,
//!    no shutdown.
//! 2. Until then it is as any running transaction to all others: nobody sees what it did, all
//!    reach the older versions, its locks are held, its reads count as SERIALIZABLE's.
//! 3. It can always end: what a commit could be refused for is checked before the PREPARE
//!    record, and the log that its rollback takes stays pledged.
//!
//! A lock's owner is a session, and so is a status word's. PREPARE therefore hands everything to
//! a *stand-in*, a session without a client (PostgreSQL's dummy PGPROC), whose process id is
//! none that a client sees. The session that prepared it goes on as if it had committed. The
//! session that ends the transaction becomes the stand-in for that.
//!
//! After a crash (and a clean shutdown, which is no different) a transaction whose last record is
//! PREPARE is not undone but restored; see `restore`. The log is kept from its first record on,
//! so that this is possible: an abandoned prepared transaction holds log, as it holds old
//! versions.

mod restore;
mod state;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use steppe_storage::Lsn;
use steppe_types::{Error, Result, SqlState};

pub(crate) use restore::{Found, restore};

use crate::budget::UndoBudget;
use crate::change::Change;
#[cfg(feature = "planted-bugs")]
use crate::engine::PlantedBug;
use crate::engine::{Engine, SessionInner};
use crate::files::FileId;
use crate::recovery::RECORD_NOTE;
use crate::serializable::Member;
use crate::session::SessionShared;
use crate::txn::{CommitWait, Txn};
use crate::undo::UndoPtr;
use state::State;

/// Identifiers are shorter than this (PostgreSQL's GIDSIZE).
const GID_BYTES_MAX: usize = 200;

/// What the layer above has left with a prepared transaction; gone after a restart.
pub type Attached = Option<Arc<dyn Any + Send + Sync>>;

/// A prepared transaction, as pg_prepared_xacts shows it.
#[derive(Clone, Debug)]
pub struct PreparedTransaction {
    /// Its identifier.
    pub gid: String,
    /// Its id.
    pub xid: u64,
    /// What the layer above has noted about it.
    pub note: Arc<[u8]>,
}

/// What a transaction leaves behind for its end.
pub(crate) struct LeftBehind {
    pub(crate) stand_in: Arc<SessionShared>,
    pub(crate) xid: u64,
    pub(crate) last_undo: UndoPtr,
    pub(crate) budget: UndoBudget,
    pub(crate) drops: Vec<FileId>,
    pub(crate) member: Option<Arc<Member>>,
    pub(crate) attached: Attached,
}

struct Entry {
    note: Arc<[u8]>,
    /// From the PREPARE record on.
    stand_in: Option<Arc<SessionShared>>,
    xid: u64,
    /// `None`: it is in the hands of somebody who prepares or ends it.
    left: Option<LeftBehind>,
}

/// The prepared transactions of an engine, by their identifiers.
pub(crate) struct PreparedTransactions {
    max: usize,
    entries: Mutex<BTreeMap<String, Entry>>,
}

impl PreparedTransactions {
    pub(crate) fn new(max: usize) -> PreparedTransactions {
        PreparedTransactions { max, entries: Mutex::default() }
    }

    /// Takes an identifier, as long as the answer lives (MarkAsPreparing).
    fn reserve(&self, gid: &str, note: Arc<[u8]>, max: usize) -> Result<Reserved<'_>> {
        if gid.len() >= GID_BYTES_MAX {
            let message = format!("transaction identifier \"{gid}\" is too long");
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        if max == 0 {
            let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
            return Err(Error::new(state, "prepared transactions are disabled")
                .hint("Set \"max_prepared_transactions\" to a nonzero value."));
        }
        let mut entries = self.entries.lock();
        if entries.contains_key(gid) {
            let message = format!("transaction identifier \"{gid}\" is already in use");
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
        }
        if entries.len() >= max {
            let hint = format!("Increase \"max_prepared_transactions\" (currently {max}).");
            let message = "maximum number of prepared transactions reached";
            return Err(Error::new(SqlState::OUT_OF_MEMORY, message).hint(hint));
        }
        let entry = Entry { note, stand_in: None, xid: 0, left: None };
        entries.insert(gid.to_owned(), entry);
        Ok(Reserved { all: self, gid: gid.to_owned() })
    }

    /// The stand-ins, for a checkpoint: it may have looked for them among the sessions too
    /// early, and come to the session that prepared too late.
    pub(crate) fn stand_ins(&self) -> Vec<Arc<SessionShared>> {
        let entries = self.entries.lock();
        entries.values().filter_map(|entry| entry.stand_in.clone()).collect()
    }

    /// From here on a checkpoint finds the transaction with its stand-in.
    fn set_stand_in(&self, gid: &str, stand_in: &Arc<SessionShared>) {
        if let Some(entry) = self.entries.lock().get_mut(gid) {
            entry.stand_in = Some(Arc::clone(stand_in));
        }
    }

    /// From here on anybody may end it.
    fn put_back(&self, gid: &str, left: LeftBehind) {
        if let Some(entry) = self.entries.lock().get_mut(gid) {
            entry.xid = left.xid;
            entry.left = Some(left);
        }
    }

    fn remove(&self, gid: &str) {
        self.entries.lock().remove(gid);
    }

    fn all(&self) -> Vec<PreparedTransaction> {
        let entries = self.entries.lock();
        let prepared = entries.iter().filter(|(_, entry)| entry.xid != 0);
        let shown = prepared.map(|(gid, entry)| PreparedTransaction {
            gid: gid.clone(),
            xid: entry.xid,
            note: Arc::clone(&entry.note),
        });
        shown.collect()
    }
}

/// An identifier that is given back unless the transaction comes to be prepared.
struct Reserved<'a> {
    all: &'a PreparedTransactions,
    gid: String,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let mut entries = self.all.entries.lock();
        if entries.get(&self.gid).is_some_and(|entry| entry.stand_in.is_none()) {
            entries.remove(&self.gid);
        }
    }
}

impl Txn {
    /// PREPARE TRANSACTION: the transaction is nobody's from here on, and stays until it is
    /// ended by its identifier. Returns when that is durable. An error before has rolled it back.
    ///
    /// `note` comes back after a crash, too; `attached` does not.
    pub fn prepare(self, gid: &str, note: &[u8], attached: Attached) -> Result<()> {
        let max = self.engine().prepared.max;
        self.prepare_below(gid, note, attached, max)
    }

    /// [`Txn::prepare`] of the local part of a transaction over several servers. It ends at once with the
    /// others, so that max_prepared_transactions does not limit such parts.
    pub fn prepare_part(self, gid: &str, note: &[u8], attached: Attached) -> Result<()> {
        self.prepare_below(gid, note, attached, usize::MAX)
    }

    fn prepare_below(
        mut self,
        gid: &str,
        note: &[u8],
        attached: Attached,
        max: usize,
    ) -> Result<()> {
        let session = Arc::clone(&self.session);
        let (engine, shared) = (&session.engine, &session.shared);
        self.check_may_commit()?;
        let reserved = engine.prepared.reserve(gid, note.into(), max)?;
        let xid = self.assign_xid();
        self.log_unlogged_changes()?;
        let state = State {
            gid: gid.to_owned(),
            note: note.to_vec(),
            first_lsn: shared.first_lsn().unwrap_or(engine.insert_position()),
            drops: self.drops.clone(),
            locks: engine.locks.locks_to_keep(shared)?,
            reads: self.member.as_ref().and_then(|member| member.encode_reads()),
        };
        let state = state.encode();
        let logged = shared.log_section(
            || engine.insert_position(),
            || match state::log(engine, xid, shared.last_lsn(), &state) {
                Ok(logged) => (Ok(logged), Some(logged.0.0)),
                Err(error) => (Err(error), None),
            },
        );
        let (_, end) = logged?;
        // Whatever comes now, it is not rolled back any more.
        self.ended = true;
        engine.wait_durable(end.max(self.observed_lsn()))?;
        let left = self.hand_over(&reserved, attached);
        engine.prepared.put_back(gid, left);
        Ok(())
    }

    /// Notes the changes of unlogged files in the log, oldest first. They are needed after a clean
    /// shutdown: then the files are as they were, and the transaction must be able to roll back.
    fn log_unlogged_changes(&mut self) -> Result<()> {
        let (engine, mut body) = (Arc::clone(self.engine()), Vec::new());
        #[cfg(feature = "planted-bugs")]
        if engine.options.planted_bug == Some(PlantedBug::ForgetUnloggedOfPrepared) {
            return Ok(());
        }
        let (mut unlogged, mut at) = (Vec::new(), self.last_undo);
        while at != 0 {
            let head = engine.undo.read(at, &mut body)?;
            if Change::decode(&body)?.is_unlogged() {
                unlogged.push(at);
            }
            at = head.chain;
        }
        for at in unlogged.into_iter().rev() {
            engine.undo.read(at, &mut body)?;
            self.logged(|log| {
                let appended = engine.store.append(RECORD_NOTE, log, &body)?;
                Ok(((), Some(appended)))
            })?;
        }
        Ok(())
    }

    /// Makes a stand-in the owner of everything.
    fn hand_over(&mut self, reserved: &Reserved<'_>, attached: Attached) -> LeftBehind {
        let session = Arc::clone(&self.session);
        let (engine, shared) = (&session.engine, &session.shared);
        let (xid, member) = (self.xid(), self.member.take());
        let stand_in = engine.sessions.add_stand_in();
        stand_in.adopt(xid, shared.first_lsn().unwrap_or(1), shared.last_lsn());
        // In this order: one that looks for the owner finds one of the two, and one that has found
        // the session looks again when its locks are gone.
        engine.prepared.set_stand_in(&reserved.gid, &stand_in);
        engine.status.set_owner(xid, shared.pid(), stand_in.pid());
        if let Some(member) = &member {
            engine.serializable.set_owner(member, stand_in.pid());
        }
        engine.locks.hand_over(shared, &stand_in);
        shared.clear_transaction();
        shared.drop_snapshots();
        LeftBehind {
            stand_in,
            xid,
            last_undo: self.last_undo,
            budget: std::mem::take(&mut self.budget),
            drops: std::mem::take(&mut self.drops),
            member,
            attached,
        }
    }
}

/// A prepared transaction in the hands of the session that ends it. Dropped before that, it is as
/// it was.
pub struct HeldPrepared {
    engine: Arc<Engine>,
    gid: String,
    note: Arc<[u8]>,
    left: Option<LeftBehind>,
}

impl HeldPrepared {
    /// What the layer above has noted about it.
    pub fn note(&self) -> &[u8] {
        &self.note
    }

    /// What the layer above has left with it, unless the server has been restarted.
    pub fn attached(&self) -> Attached {
        self.left.as_ref().and_then(|left| left.attached.clone())
    }

    /// The transaction, once nothing can be in the way of its end.
    fn take_txn(&mut self) -> Result<Txn> {
        let left = self.left.take().ok_or_else(|| Error::internal("it has been ended"))?;
        let session = SessionInner::new(&self.engine, Arc::clone(&left.stand_in));
        Ok(Txn::of_prepared(Arc::new(session), left))
    }

    /// COMMIT PREPARED; as [`Txn::commit_with`].
    pub fn commit_with(mut self, committed: impl FnOnce()) -> Result<CommitWait> {
        let drops = self.left.as_ref().map_or(&[][..], |left| &left.drops);
        let drops = self.engine.files_with_trees(drops)?;
        let wait = self.take_txn()?.commit_logged(&drops, committed)?;
        self.engine.prepared.remove(&self.gid);
        Ok(wait)
    }

    /// ROLLBACK PREPARED.
    pub fn rollback(mut self) -> Result<CommitWait> {
        self.take_txn()?.rollback()?;
        self.engine.prepared.remove(&self.gid);
        let lsn = Lsn(self.engine.insert_position());
        Ok(CommitWait { lsn, wrote: true })
    }
}

impl Drop for HeldPrepared {
    fn drop(&mut self) {
        if let Some(left) = self.left.take() {
            self.engine.prepared.put_back(&self.gid, left);
        }
    }
}

impl Engine {
    /// The prepared transactions.
    pub fn prepared_transactions(&self) -> Vec<PreparedTransaction> {
        self.prepared.all()
    }

    /// Takes a prepared transaction in hand, to end it (LockGXact).
    pub fn hold_prepared(self: &Arc<Self>, gid: &str) -> Result<HeldPrepared> {
        let mut entries = self.prepared.entries.lock();
        let Some(entry) = entries.get_mut(gid).filter(|entry| entry.xid != 0) else {
            let message = format!("prepared transaction with identifier \"{gid}\" does not exist");
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
        };
        let Some(left) = entry.left.take() else {
            let message = format!("prepared transaction with identifier \"{gid}\" is busy");
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        };
        let note = Arc::clone(&entry.note);
        let engine = Arc::clone(self);
        Ok(HeldPrepared { engine, gid: gid.to_owned(), note, left: Some(left) })
    }
}
