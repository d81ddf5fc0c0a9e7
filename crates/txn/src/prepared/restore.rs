//! After a crash: prepared transactions as they were.
//!
//! Redo has put the pages in the state of the crash: the rows of a prepared transaction are in
//! place, with its xid and with pointers to undo that the crash has lost. From its PREPARE record
//! its chain of log records leads back through everything that it has not rolled back itself, and
//! each record carries what its undo record carried. So the undo is made again from them, oldest
//! first, and a reader of an old pointer is led to the new record:
//!
//! ```text
//!   row in its table            undo of this run
//!   [xid 9 │ old pointer] ─ ─ ► restored: old → new ───► [xid 9 │ before: xid 5 │ delta]
//! ```
//!
//! The old pointers are where they always were: that to a row's last change in its header, that
//! to the one before in the last one's undo record. New segments are numbered above all of them,
//! so that no pointer means two records.
//!
//! Nothing here is logged, so that it may be repeated after a crash in the middle of it.

use std::sync::Arc;

use hashbrown::HashMap;
use steppe_storage::{StorageError, TreeId};
use steppe_types::{Result, SqlState};

use super::state::{self, State};
use super::{Entry, LeftBehind};
use crate::budget::UndoBudget;
use crate::change::{Change, Origin, RowHeader, corrupt};
use crate::engine::Engine;
#[cfg(feature = "planted-bugs")]
use crate::engine::PlantedBug;
use crate::recovery::read_link;
use crate::session::SessionShared;
use crate::undo::UndoPtr;

/// A transaction whose last record is PREPARE.
pub(crate) struct Found {
    pub(crate) xid: u64,
    pub(crate) prepare_lsn: u64,
    pub(crate) stand_in: Arc<SessionShared>,
}

/// A change that the transaction has not taken back, and where rows say that its undo was (0:
/// nothing points to it).
struct Restorable {
    lsn: u64,
    old: UndoPtr,
}

/// Restores all of them. Comes before anything else makes undo.
pub(crate) fn restore(engine: &Engine, found: Vec<Found>) -> Result<()> {
    let mut all = Vec::new();
    let mut last = 0;
    for found in found {
        let (state, chain) = state::read(engine, found.prepare_lsn)?;
        let changes = changes_of(engine, found.xid, chain)?;
        last = changes.iter().fold(last, |last, change| change.old.max(last));
        all.push((found, state, changes));
    }
    engine.undo.number_after(last);
    for (found, state, changes) in all {
        let (last_undo, budget) = restore_undo(engine, &found, &changes)?;
        restore_one(engine, found, state, (last_undo, budget))?;
    }
    Ok(())
}

/// The changes of a transaction, newest first.
fn changes_of(engine: &Engine, xid: u64, chain: u64) -> Result<Vec<Restorable>> {
    // Pointers to the change before, of rows that it has changed more than once.
    let mut pointers: HashMap<(TreeId, u64), UndoPtr, foldhash::fast::RandomState> =
        HashMap::default();
    let mut log = engine.wal().record_reader();
    let (mut changes, mut body, mut lsn) = (Vec::new(), Vec::new(), chain);
    while lsn != 0 {
        let link = read_link(&mut log, xid, lsn, &mut body)?;
        if link.is_change && !is_of_reset(engine, &body)? {
            let old = match Change::decode(&body)? {
                Change::RowUpdate { tree, row, before, .. }
                | Change::RowDelete { tree, row, before } => {
                    let known = pointers.remove(&(tree, row));
                    let old = known.map_or_else(|| pointer_in(engine, xid, tree, row), Ok)?;
                    if before.word.xid() == xid
                        && let Origin::Changed(older) = before.origin
                    {
                        pointers.insert((tree, row), older);
                    }
                    old
                }
                _ => 0,
            };
            changes.push(Restorable { lsn, old });
        }
        lsn = link.next;
    }
    Ok(changes)
}

/// Whether it is a change of an unlogged file that this crash, or one since PREPARE, has emptied:
/// there is nothing to it.
fn is_of_reset(engine: &Engine, body: &[u8]) -> Result<bool> {
    match Change::decode(body)?.tree().filter(|tree| tree.is_unlogged()) {
        None => Ok(false),
        Some(tree) => match engine.store.tree(tree).read(&[], &mut Vec::new()) {
            Err(StorageError::NoSuchTree(_)) => Ok(true),
            found => Ok(found.map(|_| false)?),
        },
    }
}

/// The pointer in the header of a row.
fn pointer_in(engine: &Engine, xid: u64, tree: TreeId, row: u64) -> Result<UndoPtr> {
    let mut value = Vec::new();
    let is_there = engine.store.tree(tree).read(&row.to_be_bytes(), &mut value)?;
    let header = if is_there { Some(RowHeader::split(&value)?.0) } else { None };
    match header {
        Some(RowHeader { word, origin: Origin::Changed(undo) }) if word.xid() == xid => Ok(undo),
        _ => Err(corrupt("row header: a prepared transaction has changed the row")),
    }
}

/// Makes the undo again, oldest first; returns its end, and what taking it all back would log.
fn restore_undo(
    engine: &Engine,
    found: &Found,
    changes: &[Restorable],
) -> Result<(UndoPtr, UndoBudget)> {
    let (budget, mut last_undo, mut body) = (UndoBudget::default(), 0, Vec::new());
    let mut log = engine.wal().record_reader();
    for change in changes.iter().rev() {
        let link = read_link(&mut log, found.xid, change.lsn, &mut body)?;
        budget.owe(&Change::decode(&body)?);
        let (pid, xid) = (found.stand_in.pid(), found.xid);
        // Only the transaction itself asks for its commands, and there will be no more.
        last_undo = engine.undo.append(pid, xid, last_undo, link.prev_lsn, 0, &body)?;
        if change.old != 0 {
            engine.undo.restored(change.old, last_undo);
        }
        engine.undo.spill_if_needed()?;
    }
    match budget.prepare(engine.wal(), 0) {
        // An engine must open on a full disk. Then a rollback has the log's own reserve.
        Err(error) if error.sqlstate() == SqlState::DISK_FULL => {}
        pledged => pledged?,
    }
    Ok((last_undo, budget))
}

fn restore_one(
    engine: &Engine,
    found: Found,
    state: State,
    (last_undo, budget): (UndoPtr, UndoBudget),
) -> Result<()> {
    let Found { xid, prepare_lsn, stand_in } = found;
    stand_in.adopt(xid, state.first_lsn, prepare_lsn);
    for (tag, mode) in state.locks {
        #[cfg(feature = "planted-bugs")]
        if engine.options.planted_bug == Some(PlantedBug::ForgetPreparedLocks) {
            break;
        }
        engine.locks.restore(&stand_in, tag, mode);
    }
    let restore = |reads: Vec<u8>| engine.serializable.restore(stand_in.pid(), xid, &reads);
    let member = state.reads.map(restore).transpose()?;
    let left = LeftBehind {
        stand_in: Arc::clone(&stand_in),
        xid,
        last_undo,
        budget,
        drops: state.drops,
        member,
        attached: None,
    };
    let note = state.note.into();
    let entry = Entry { note, stand_in: Some(stand_in), xid, left: Some(left) };
    engine.prepared.entries.lock().insert(state.gid, entry);
    Ok(())
}
