//! What PREPARE TRANSACTION writes to the log: all that a prepared transaction consists of
//! beside its changes, which are in the log already.
//!
//! ```text
//!   gid │ note of the layer above │ first LSN │ files to drop │ locks │ SIREAD locks
//! ```
//!
//! It has no bound (a transaction may have locked a hundred thousand leaves), but a log record
//! does: the state is cut into parts, each of which names the one before as its transaction's
//! previous record. The last is the PREPARE record; before it is there, nothing has happened.

use steppe_storage::{LogHeader, Lsn};
use steppe_types::Result;

use crate::change::{Reader, corrupt, put_u64};
use crate::engine::Engine;
use crate::files::{DatabaseId, FileId};
use crate::lock::{AdvisoryKey, LockTag, Mode};
use crate::recovery::{RECORD_PREPARE, RECORD_PREPARE_PART};

/// Bytes of a part.
const PART_BYTES: usize = 8 << 10;

/// See the module.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) gid: String,
    pub(super) note: Vec<u8>,
    /// The log is needed from here on as long as the transaction has not ended.
    pub(super) first_lsn: u64,
    pub(super) drops: Vec<FileId>,
    pub(super) locks: Vec<(LockTag, Mode)>,
    /// SERIALIZABLE: what it has read, as `serializable` encodes it.
    pub(super) reads: Option<Vec<u8>>,
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u64(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn take_bytes<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8]> {
    let len = reader.u64()?;
    reader.bytes(usize::try_from(len).unwrap_or(usize::MAX))
}

fn put_lock(out: &mut Vec<u8>, (tag, mode): (LockTag, Mode)) {
    let none = DatabaseId::SHARED;
    let (kind, database, first, second) = match tag {
        LockTag::Relation { database, oid } => (0, database, u64::from(oid), 0),
        LockTag::Row(root, row) => (1, none, root, row),
        LockTag::Advisory { database, key: AdvisoryKey::Big(key) } => (2, database, key as u64, 0),
        LockTag::Advisory { database, key: AdvisoryKey::Pair(a, b) } => {
            (3, database, u64::from(a as u32), u64::from(b as u32))
        }
        LockTag::Leaves { database, oid } => (4, database, u64::from(oid), 0),
        LockTag::Object { database, class, oid } => (5, database, u64::from(class), u64::from(oid)),
        LockTag::Name { database, hash } => (6, database, hash, 0),
        // Those that wait for the transaction's end enter these again.
        LockTag::Transaction(_) | LockTag::Session(_) => return,
    };
    out.extend_from_slice(&[kind, mode]);
    out.extend_from_slice(&database.0.to_le_bytes());
    put_u64(out, first);
    put_u64(out, second);
}

fn take_lock(reader: &mut Reader<'_>) -> Result<(LockTag, Mode)> {
    let (kind, mode) = (reader.u8()?, reader.u8()?);
    let database = DatabaseId(reader.u32()?);
    let (first, second) = (reader.u64()?, reader.u64()?);
    let tag = match kind {
        0 => LockTag::Relation { database, oid: first as u32 },
        1 => LockTag::Row(first, second),
        2 => LockTag::Advisory { database, key: AdvisoryKey::Big(first as i64) },
        3 => LockTag::Advisory { database, key: AdvisoryKey::Pair(first as i32, second as i32) },
        4 => LockTag::Leaves { database, oid: first as u32 },
        5 => LockTag::Object { database, class: first as u32, oid: second as u32 },
        6 => LockTag::Name { database, hash: first },
        _ => return Err(corrupt("lock of a prepared transaction")),
    };
    if mode > 7 {
        return Err(corrupt("lock mode of a prepared transaction"));
    }
    Ok((tag, mode))
}

impl State {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_bytes(&mut out, self.gid.as_bytes());
        put_bytes(&mut out, &self.note);
        put_u64(&mut out, self.first_lsn);
        let mut part = Vec::new();
        self.drops.iter().for_each(|file| file.encode(&mut part));
        put_bytes(&mut out, &part);
        part.clear();
        self.locks.iter().for_each(|&lock| put_lock(&mut part, lock));
        put_bytes(&mut out, &part);
        if let Some(reads) = &self.reads {
            put_bytes(&mut out, reads);
        }
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<State> {
        let mut reader = Reader(bytes);
        let gid = String::from_utf8(take_bytes(&mut reader)?.to_vec());
        let gid = gid.map_err(|_| corrupt("identifier of a prepared transaction"))?;
        let note = take_bytes(&mut reader)?.to_vec();
        let first_lsn = reader.u64()?;
        let mut state = State { gid, note, first_lsn, ..State::default() };
        let mut files = Reader(take_bytes(&mut reader)?);
        while !files.0.is_empty() {
            state.drops.push(FileId::decode(&mut files)?);
        }
        let mut locks = Reader(take_bytes(&mut reader)?);
        while !locks.0.is_empty() {
            state.locks.push(take_lock(&mut locks)?);
        }
        if !reader.0.is_empty() {
            state.reads = Some(take_bytes(&mut reader)?.to_vec());
        }
        Ok(state)
    }
}

/// The start and the end of the PREPARE record.
pub(super) type Logged = (Lsn, Lsn);

/// Logs a state behind the transaction's last record.
pub(super) fn log(
    engine: &Engine,
    xid: u64,
    last_lsn: u64,
    state: &[u8],
) -> steppe_storage::Result<Logged> {
    let mut log = LogHeader::change(xid, Lsn(last_lsn));
    let parts = state.chunks(PART_BYTES);
    let count = parts.len();
    let mut body = Vec::new();
    for (at, part) in parts.enumerate() {
        // How many there are before this one.
        body.clear();
        put_u64(&mut body, at as u64);
        body.extend_from_slice(part);
        let kind = if at + 1 == count { RECORD_PREPARE } else { RECORD_PREPARE_PART };
        let appended = engine.store.append(kind, log, &body)?;
        if at + 1 == count {
            return Ok((appended.start, appended.end));
        }
        log = LogHeader { prev_lsn: appended.start, ..log };
    }
    Err(steppe_storage::StorageError::Invalid("a prepared transaction has no state".into()))
}

/// Reads a state back from its PREPARE record; also says where the transaction's own chain of
/// records ends.
pub(super) fn read(engine: &Engine, lsn: u64) -> Result<(State, u64)> {
    let mut parts = Vec::new();
    let (mut at, mut expected) = (lsn, None);
    loop {
        let (body, prev_lsn) = engine
            .store
            .read_record(Lsn(at), |record| Ok((record.payload.to_vec(), record.prev_lsn.0)))?;
        let mut reader = Reader(&body);
        let before = reader.u64()?;
        if expected.is_some_and(|expected| expected != before) {
            return Err(corrupt("state of a prepared transaction"));
        }
        parts.push(reader.0.to_vec());
        at = prev_lsn;
        expected = before.checked_sub(1);
        if expected.is_none() {
            break;
        }
    }
    parts.reverse();
    Ok((State::decode(&parts.concat())?, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::RelFileNumber;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decoding_never_panics(bytes: Vec<u8>) {
            let _ = State::decode(&bytes);
        }

        #[test]
        fn states_round_trip(gid: String, note: Vec<u8>, first_lsn: u64, files: Vec<u64>,
                             keys: Vec<(i32, i32, u8)>, reads: Option<Vec<u8>>,
                             flips: Vec<(prop::sample::Index, u8)>) {
            let lock = |(a, b, kind): (i32, i32, u8)| {
                let (database, oid) = (DatabaseId(b as u32), a as u32);
                let tag = match kind % 7 {
                    0 => LockTag::Relation { database, oid },
                    1 => LockTag::Row(a as u64, b as u64),
                    2 => LockTag::Advisory { database, key: AdvisoryKey::Big(i64::from(a) << 20) },
                    3 => LockTag::Advisory { database, key: AdvisoryKey::Pair(a, b) },
                    4 => LockTag::Leaves { database, oid },
                    5 => LockTag::Object { database, class: 1259, oid },
                    _ => LockTag::Name { database, hash: a as u64 },
                };
                (tag, kind % 8)
            };
            let file = |number| FileId { database: DatabaseId(5), number: RelFileNumber(number) };
            let state = State {
                gid, note, first_lsn, reads,
                drops: files.into_iter().map(file).collect(),
                locks: keys.into_iter().map(lock).collect(),
            };
            let mut bytes = state.encode();
            prop_assert_eq!(State::decode(&bytes).expect("decodes"), state);
            for (at, byte) in flips {
                let at = at.index(bytes.len());
                bytes[at] = byte;
                let _ = State::decode(&bytes);
            }
        }
    }
}
