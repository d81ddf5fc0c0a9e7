//! Values too long for a row, out of line: cut into chunks in a tree of their own.
//!
//! ```text
//!   value id u64 ‖ chunk no u32 → bytes      chunk 0 starts with:
//!                                            │ 0 raw, 1 lz4 │ raw length u32 │
//! ```
//!
//! A value is immutable: a change stores a new one and frees the old,
//! which is removed only when no snapshot can see a row that refers to it.

use std::ops::Bound;

use steppe_storage::{Direction, Tree};
use steppe_types::{Error, Result, SqlState};

use crate::change::{Change, Reader, corrupt};
use crate::engine::Engine;
use crate::files::{FileId, NumberedFile};
use crate::txn::{Persistence, Txn};

/// Bytes of a chunk: three fill a page.
const CHUNK_LEN: usize = 2600;
/// Longest value, PostgreSQL's MaxAllocSize.
const VALUE_LEN_MAX: usize = (1 << 30) - 1;
/// What a byte of lz4 can stand for at most: one of a match's length.
const LZ4_RATIO_MAX: usize = 255;
/// How a value begins: compressed or not, and its length.
const HEADER_LEN: usize = 5;
const RAW: u8 = 0;
const LZ4: u8 = 1;
/// Below this compression is not tried.
const COMPRESS_MIN: usize = 256;

/// Where a value is; what a row stores in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverflowRef {
    /// The value's number in its tree.
    pub id: u64,
    /// Its chunks.
    pub chunks: u32,
}

/// How a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueForm {
    /// In so many bytes, without what says how.
    pub bytes: usize,
    /// Compressed, by lz4.
    pub is_compressed: bool,
}

pub(crate) fn chunk_key(id: u64, chunk: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&id.to_be_bytes());
    key[8..].copy_from_slice(&chunk.to_be_bytes());
    key
}

/// A table's out-of-line values. Cheap to clone.
#[derive(Clone)]
pub struct OverflowStore {
    file: NumberedFile,
}

impl OverflowStore {
    /// The values in `file`.
    pub fn open(engine: &Engine, file: FileId) -> OverflowStore {
        OverflowStore { file: NumberedFile::new(&engine.files, file, 0) }
    }

    /// Makes a store that goes away if the transaction does not commit, logged or not as its table
    /// is.
    pub fn create(txn: &mut Txn, persistence: Persistence) -> Result<OverflowStore> {
        let file = txn.create_file(persistence)?;
        Ok(OverflowStore::open(txn.engine(), file))
    }

    /// The file, for the catalog.
    pub fn file(&self) -> FileId {
        self.file.id()
    }

    /// The tree, if anything was ever written.
    pub fn tree(&self) -> Result<Option<&Tree>> {
        self.file.tree()
    }

    /// Values stored from now on have this id or a greater one.
    pub(crate) fn next_id(&self) -> Result<u64> {
        Ok(self.file.shared()?.map_or(0, |shared| shared.next()))
    }

    /// The smallest id of a value that is there.
    pub(crate) fn first_id(&self) -> Result<Option<u64>> {
        let Some(tree) = self.file.tree()? else { return Ok(None) };
        let first = tree.first_key()?;
        Ok(first.and_then(|key| key.first_chunk::<8>().map(|id| u64::from_be_bytes(*id))))
    }

    /// Stores a value.
    pub fn put(&self, txn: &mut Txn, bytes: &[u8]) -> Result<OverflowRef> {
        if bytes.len() > VALUE_LEN_MAX {
            let message = format!("value of {} bytes is too long", bytes.len());
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        txn.assign_xid();
        let stored = encode(bytes);
        let chunks: Vec<&[u8]> = stored.chunks(CHUNK_LEN).collect();
        let (tree, shared) = self.file.for_write()?;
        let reference = OverflowRef { id: shared.take_one(), chunks: chunks.len() as u32 };
        let keys: Vec<[u8; 12]> =
            (0..reference.chunks).map(|chunk| chunk_key(reference.id, chunk)).collect();
        let entries: Vec<(&[u8], &[u8])> =
            keys.iter().zip(chunks).map(|(key, chunk)| (&key[..], chunk)).collect();
        let OverflowRef { id, chunks } = reference;
        let change = Change::OverflowPut { tree: tree.id(), id, chunks };
        txn.prepare_undo(change.undo_cost())?;
        let body = change.to_vec();
        // One undo record for the value, before its first chunk: a failure in the
        // middle is then taken back like everything else. In the log each leaf's
        // record says the same; undoing that twice does no harm.
        let undo = txn.append_undo(&body)?;
        txn.chain(undo)?;
        let mut done = 0;
        while done < entries.len() {
            let inserted = txn.logged(|log| {
                let inserted = tree.insert_many(&entries[done..], log, |_, payload| {
                    payload.extend_from_slice(&body);
                    Ok::<(), Error>(())
                })?;
                Ok((inserted, inserted.appended))
            })?;
            if inserted.consumed == 0 {
                return Err(corrupt("overflow tree: a new value's chunk exists"));
            }
            done += inserted.consumed;
        }
        Ok(reference)
    }

    /// Reads a value into `out` (replacing what is there).
    pub fn get(&self, reference: OverflowRef, out: &mut Vec<u8>) -> Result<()> {
        let (first, last) = (
            chunk_key(reference.id, 0),
            chunk_key(reference.id, reference.chunks.saturating_sub(1)),
        );
        let (lower, upper) = (Bound::Included(&first[..]), Bound::Included(&last[..]));
        let mut cursor = self.file.tree_of_entry()?.scan(lower, upper, Direction::Forward);
        let mut stored = Vec::new();
        let mut seen = 0u32;
        while cursor.next_page()? {
            while let Some((key, chunk)) = cursor.next() {
                if key != chunk_key(reference.id, seen) {
                    return Err(corrupt("overflow value: a chunk is missing"));
                }
                seen += 1;
                stored.extend_from_slice(chunk);
            }
        }
        if seen != reference.chunks {
            return Err(corrupt("overflow value: a chunk is missing"));
        }
        decode(&stored, out)
    }

    /// How a value is stored.
    pub fn form(&self, reference: OverflowRef) -> Result<ValueForm> {
        let (mut first, mut last) = (Vec::new(), Vec::new());
        let tree = self.file.tree_of_entry()?;
        let before = reference.chunks.saturating_sub(1);
        let found = tree.read(&chunk_key(reference.id, 0), &mut first)?
            && tree.read(&chunk_key(reference.id, before), &mut last)?;
        let kind = first.first().filter(|_| found && first.len() >= HEADER_LEN);
        let is_compressed = match kind {
            Some(&RAW) => false,
            Some(&LZ4) => true,
            _ => return Err(corrupt("overflow value: a chunk is missing")),
        };
        let bytes = before as usize * CHUNK_LEN + last.len() - HEADER_LEN;
        Ok(ValueForm { bytes, is_compressed })
    }

    /// Says that the version of the row which this transaction replaces or
    /// deletes was the last to refer to a value. It goes when nobody can see
    /// that version any more; a rollback calls it off.
    pub fn free(&self, txn: &mut Txn, reference: OverflowRef) -> Result<()> {
        let OverflowRef { id, chunks } = reference;
        let tree = self.file.tree_of_entry()?.id();
        txn.note(Change::OverflowFree { tree, id, chunks })
    }
}

fn encode(bytes: &[u8]) -> Vec<u8> {
    let raw_len = (bytes.len() as u32).to_le_bytes();
    if bytes.len() >= COMPRESS_MIN {
        let compressed = lz4_flex::block::compress(bytes);
        // An eighth saved pays for the work of reading it.
        if compressed.len() <= bytes.len() - bytes.len() / 8 {
            return [&[LZ4], &raw_len[..], &compressed].concat();
        }
    }
    [&[RAW], &raw_len[..], bytes].concat()
}

fn decode(stored: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut reader = Reader(stored);
    let (kind, raw_len) = (reader.u8()?, reader.u32()? as usize);
    out.clear();
    if kind == RAW {
        out.extend_from_slice(reader.0);
    } else {
        // No byte of lz4 stands for more than 255: a length that cannot be is not allocated.
        if raw_len > VALUE_LEN_MAX || raw_len > reader.0.len() * LZ4_RATIO_MAX {
            return Err(corrupt("overflow value: its length"));
        }
        out.resize(raw_len, 0);
        let written = lz4_flex::block::decompress_into(reader.0, out)
            .map_err(|e| corrupt(&format!("overflow value: {e}")))?;
        out.truncate(written);
    }
    if out.len() == raw_len { Ok(()) } else { Err(corrupt("overflow value: its length")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_round_trip_compressed_or_not() {
        let noise: Vec<u8> =
            (0..5000u64).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect();
        for value in [Vec::new(), vec![7; 100_000], noise, b"short".to_vec()] {
            let mut out = vec![1];
            decode(&encode(&value), &mut out).expect("decodes");
            assert_eq!(out, value);
        }
        assert!(encode(&vec![7; 100_000]).len() < 2000);
        assert!(decode(&[1, 255, 255, 255, 255, 0], &mut Vec::new()).is_err());
    }

    #[test]
    fn damaged_values_are_errors_and_allocate_no_more_than_they_can_hold() {
        for value in [vec![7; 100_000], b"some words, some words, ".repeat(40)] {
            let stored = encode(&value);
            for at in 0..stored.len() {
                for bit in 0..8 {
                    let mut damaged = stored.clone();
                    damaged[at] ^= 1 << bit;
                    let mut out = Vec::new();
                    if let Err(error) = decode(&damaged, &mut out) {
                        assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED);
                    }
                    let possible = stored.len() * LZ4_RATIO_MAX;
                    assert!(out.capacity() <= 2 * possible, "{}", out.capacity());
                }
                assert!(decode(&stored[..at], &mut Vec::new()).is_err());
            }
        }
    }
}
