//! The states of sequences for nextval (sequence.c).
//!
//! A sequence's definition is in the catalog and transactional. Its state is a
//! durable cell outside transactions: nextval is never undone. As in
//! PostgreSQL the state is logged some values ahead, so that a crash may skip
//! values but never repeats one.
//!
//! A sequence has several cells, and its definition names the current one. ALTER SEQUENCE changes
//! the state in a cell that is named by no version of the definition that may become valid again.
//! So commit, ROLLBACK, ROLLBACK TO and a crash select the cell together with the definition. The
//! lock of ALTER SEQUENCE keeps other sessions from nextval until the transaction ends, and running
//! transactions that have used nextval keep ALTER SEQUENCE waiting.
//!
//! An unlogged sequence's cell also contains the value at which it was begun, and the number of
//! crashes before it was written. If a crash has happened since, the sequence returns to the value
//! at which the cell was begun. (It corresponds to the init fork of PostgreSQL's sequence, which
//! only CREATE and ALTER SEQUENCE write.)

use crate::{Relation, SequenceInfo};
use parking_lot::Mutex;
use std::sync::Arc;
use steppe_txn::{CellId, DatabaseId, Engine};
use steppe_types::{Error, Oid, Result, SqlState};

/// Values that are logged ahead (PostgreSQL's SEQ_LOG_VALS).
const LOGGED_AHEAD: i64 = 32;

/// The current durable cell. Its keys follow the catalog's own keys.
fn cell_of(database: DatabaseId, sequence: Oid, info: &SequenceInfo) -> CellId {
    CellId { database, key: (u64::from(info.cell) + 1) << 32 | u64::from(sequence) }
}

/// A cell that a transaction may write to. It is neither the committed one, if that exists, nor one
/// that the transaction itself has used since, to which ROLLBACK TO may return. Cells of earlier
/// transactions are reused.
pub fn free_cell(committed: Option<u32>, current: u32) -> u32 {
    match committed {
        Some(committed) if committed == current => u32::from(committed == 0),
        // The transaction's cells after the first ascend from the committed one.
        Some(committed) => committed.max(current) + 1,
        None => current + 1,
    }
}

/// The shared state of one sequence.
pub struct SequenceState {
    /// The sequence's database.
    database: DatabaseId,
    inner: Mutex<Position>,
    /// For an unlogged sequence: its position after a crash (last_value, is_called).
    begun_at: Option<(i64, bool)>,
}

#[derive(Clone, Copy)]
struct Position {
    /// The last returned value, or the start if `called` is false.
    last: i64,
    called: bool,
    /// Values that may be returned before the cell is written again.
    ahead: i64,
}

impl SequenceState {
    /// Reads a sequence's state.
    fn load(engine: &Engine, id: DatabaseId, sequence: &Relation) -> Result<SequenceState> {
        let info = sequence_info(sequence)?;
        let cell = engine.cell_get(cell_of(id, sequence.oid, info))?;
        let begun_at = match &cell {
            Some(bytes) if info.unlogged => Some(decode_begin(bytes)?),
            None if info.unlogged => Some(((info.start, false), 0)),
            _ => None,
        };
        let (last, called) = match (&cell, begun_at) {
            (_, Some((begun_at, crashes))) if crashes != engine.unlogged_crashes()? => begun_at,
            (Some(bytes), _) => decode(bytes)?,
            (None, _) => (info.start, false),
        };
        let inner = Mutex::new(Position { last, called, ahead: 0 });
        let begun_at = begun_at.map(|(position, _)| position);
        Ok(SequenceState { database: id, inner, begun_at })
    }

    /// nextval.
    pub fn next(&self, engine: &Engine, sequence: &Relation) -> Result<i64> {
        let info = sequence_info(sequence)?;
        let mut position = self.inner.lock();
        let value = match position.called {
            false => position.last,
            true => advance(sequence, info, position.last)?,
        };
        if position.ahead == 0 {
            let logged = logged_ahead(info, value);
            store(
                engine,
                cell_of(self.database, sequence.oid, info),
                (logged.last, true),
                self.begun_at,
            )?;
            position.ahead = logged.ahead;
        } else {
            position.ahead -= 1;
        }
        position.last = value;
        position.called = true;
        Ok(value)
    }

    /// setval.
    pub fn set(
        &self,
        engine: &Engine,
        sequence: &Relation,
        value: i64,
        called: bool,
    ) -> Result<()> {
        let info = sequence_info(sequence)?;
        if value < info.min || value > info.max {
            return Err(Error::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                format!(
                    "setval: value {value} is out of bounds for sequence \"{}\" ({}..{})",
                    sequence.name, info.min, info.max
                ),
            ));
        }
        let mut position = self.inner.lock();
        store(engine, cell_of(self.database, sequence.oid, info), (value, called), self.begun_at)?;
        *position = Position { last: value, called, ahead: 0 };
        Ok(())
    }

    /// (last_value, is_called), as SELECT from the sequence shows them.
    pub fn position(&self) -> (i64, bool) {
        let position = self.inner.lock();
        (position.last, position.called)
    }
}

/// The definition of a sequence: 42809 for another relation.
pub fn sequence_info(sequence: &Relation) -> Result<&SequenceInfo> {
    sequence.sequence.as_deref().ok_or_else(|| {
        Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is not a sequence", sequence.name))
    })
}

fn decode(bytes: &[u8]) -> Result<(i64, bool)> {
    let (value, called) = bytes.split_first_chunk::<8>().ok_or_else(unreadable)?;
    Ok((i64::from_le_bytes(*value), called.first() == Some(&1)))
}

/// For an unlogged sequence: the position at which it was begun, and the number of crashes before
/// the cell was written.
fn decode_begin(bytes: &[u8]) -> Result<((i64, bool), u64)> {
    let begin = bytes.get(POSITION_LEN..).ok_or_else(unreadable)?;
    let crashes = begin.get(POSITION_LEN..).and_then(|bytes| bytes.try_into().ok());
    Ok((decode(begin)?, crashes.map(u64::from_le_bytes).ok_or_else(unreadable)?))
}

fn unreadable() -> Error {
    Error::internal("unreadable sequence state")
}

/// Bytes of a value and of the flag that it was returned.
const POSITION_LEN: usize = 9;

fn store(
    engine: &Engine,
    cell: CellId,
    position: (i64, bool),
    begun_at: Option<(i64, bool)>,
) -> Result<()> {
    let mut bytes = Vec::with_capacity(2 * POSITION_LEN + 8);
    for (value, called) in [Some(position), begun_at].into_iter().flatten() {
        bytes.extend_from_slice(&value.to_le_bytes());
        bytes.push(u8::from(called));
    }
    if begun_at.is_some() {
        bytes.extend_from_slice(&engine.unlogged_crashes()?.to_le_bytes());
    }
    engine.cell_put(cell, &bytes).map(|_| ())
}

/// The value after `last`: it wraps around with CYCLE, otherwise 2200H.
fn advance(sequence: &Relation, info: &SequenceInfo, last: i64) -> Result<i64> {
    let next = last.checked_add(info.increment).filter(|v| *v <= info.max && *v >= info.min);
    match next {
        Some(value) => Ok(value),
        None if info.cycle => Ok(if info.increment > 0 { info.min } else { info.max }),
        None => {
            let (word, bound) = match info.increment > 0 {
                true => ("maximum", info.max),
                false => ("minimum", info.min),
            };
            Err(Error::new(
                SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
                format!(
                    "nextval: reached {word} value of sequence \"{}\" ({bound})",
                    sequence.name
                ),
            ))
        }
    }
}

/// The furthest value to log when `value` is returned, and the number of values up to it.
fn logged_ahead(info: &SequenceInfo, value: i64) -> Position {
    let mut logged = Position { last: value, called: true, ahead: 0 };
    while logged.ahead < LOGGED_AHEAD {
        match logged.last.checked_add(info.increment) {
            Some(next) if next <= info.max && next >= info.min => logged.last = next,
            _ => break,
        }
        logged.ahead += 1;
    }
    logged
}

/// The states of all sequences of a database in use, shared by its sessions.
pub struct Sequences {
    database: DatabaseId,
    states: Mutex<std::collections::HashMap<CellId, Arc<SequenceState>>>,
}

impl Sequences {
    /// A set without sequences in use.
    pub fn new(database: DatabaseId) -> Sequences {
        Sequences { database, states: Mutex::default() }
    }

    /// The state of a sequence, read on first use.
    pub fn get(&self, engine: &Engine, sequence: &Relation) -> Result<Arc<SequenceState>> {
        let cell = cell_of(self.database, sequence.oid, sequence_info(sequence)?);
        let mut states = self.states.lock();
        if let Some(state) = states.get(&cell) {
            return Ok(state.clone());
        }
        let state = Arc::new(SequenceState::load(engine, self.database, sequence)?);
        states.insert(cell, state.clone());
        Ok(state)
    }

    /// Writes the state of a sequence to a cell that no other transaction knows yet.
    pub fn begin_at(
        &self,
        engine: &Engine,
        sequence: &Relation,
        last: i64,
        called: bool,
    ) -> Result<()> {
        let info = sequence_info(sequence)?;
        let cell = cell_of(self.database, sequence.oid, info);
        let begun_at = info.unlogged.then_some((last, called));
        store(engine, cell, (last, called), begun_at)?;
        let position = Position { last, called, ahead: 0 };
        let state =
            SequenceState { database: self.database, inner: Mutex::new(position), begun_at };
        self.states.lock().insert(cell, Arc::new(state));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::free_cell;

    #[test]
    fn a_transaction_writes_to_no_cell_that_it_may_return_to() {
        for committed in 0..4 {
            let mut cells = vec![committed];
            for _ in 0..5 {
                let current = cells[cells.len() - 1];
                let free = free_cell(Some(committed), current);
                assert!(!cells.contains(&free), "{free} after {cells:?}");
                cells.push(free);
            }
        }
        assert_eq!(free_cell(None, 0), 1, "a sequence that the transaction has made");
    }

    #[test]
    fn transactions_one_after_the_other_need_two_cells() {
        let mut committed = 7;
        for expected in [0, 1, 0, 1] {
            committed = free_cell(Some(committed), committed);
            assert_eq!(committed, expected);
        }
    }
}
