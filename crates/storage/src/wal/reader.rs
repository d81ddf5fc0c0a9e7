//! Reading the log: forward from a checkpoint, or one record at a position.
//!
//! The log ends at the first record that is not valid. Usually writing stopped there. It could also
//! be damage in the middle, after which acknowledged commits would silently vanish. The reader
//! distinguishes the two:
//!
//! 1. Before `known_durable` (from the control file) every record was synced:
//!    an invalid one is damage.
//! 2. A later valid record says how far the log was durable when it was appended (see `record.rs`).
//!    If that is past the invalid record, the invalid record had been synced: damage. A torn tail
//!    contains no such record, since all of it was written after the last successful sync.
//!
//! 3. A segment's file gets its name when it has its full length: a shorter file has been damaged
//!    since.
//!
//! Undo after a crash reads backwards through the log of a running server: [`RecordReader`] reads
//! the files in big pieces.
//!
//! One kind of damage remains undetected: damage to the last synced group after a crash, before
//! anything was appended behind it. After a clean shutdown rule 1 detects even that.

use std::path::Path;
use std::sync::Arc;

use steppe_vfs::Vfs;

use super::core::Core;
use super::record::{self, Decoded, Invalid, Prefix, RecordHeader};
use super::segment::{Layout, Segments};
use super::{Lsn, WalError, WalOptions};

/// A record in the reader's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The record's first byte.
    pub start: Lsn,
    /// The first byte of the next record.
    pub end: Lsn,
    /// The header that its writer gave it.
    pub header: RecordHeader,
    /// The record's body.
    pub body: &'a [u8],
}

/// A record with its own memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedRecord {
    /// The record's first byte.
    pub start: Lsn,
    /// The first byte of the next record.
    pub end: Lsn,
    /// The header that its writer gave it.
    pub header: RecordHeader,
    /// The record's body.
    pub body: Vec<u8>,
}

/// Bytes that are read ahead.
const READ_AHEAD: usize = 256 * 1024;

/// Reads forward through the log of a server that does not run.
pub struct WalReader {
    segments: Segments,
    known_durable: Lsn,
    position: Lsn,
    buffer: Vec<u8>,
    /// The position of the buffer's first byte.
    buffer_start: Lsn,
}

impl WalReader {
    /// Starts at `from`, which must be the start of a record or the end of the
    /// log. Everything before `known_durable` is known to have been synced.
    pub fn open(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        options: &WalOptions,
        from: Lsn,
        known_durable: Lsn,
    ) -> WalReader {
        let layout = Layout { segment_size: options.segment_size, system_id: options.system_id };
        WalReader {
            segments: Segments::for_reading(vfs, dir, layout),
            known_durable,
            position: from,
            buffer: Vec::new(),
            buffer_start: from,
        }
    }

    /// The start of the next record; after the last record, the end of the log.
    pub fn position(&self) -> Lsn {
        self.position
    }

    /// The next record, or `None` at the end of the log.
    // It is no `Iterator`, since the record borrows the reader's buffer.
    #[expect(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, WalError> {
        let start = self.position;
        match self.load(start)? {
            Ok((decoded, total_len)) => {
                let end = record::end_of(start, total_len);
                self.position = end;
                let at = self.index_of(start);
                let body = &self.buffer[at + decoded.body_at..at + total_len];
                Ok(Some(Record { start, end, header: decoded.header, body }))
            }
            Err(invalid) => {
                self.check_end(start, invalid)?;
                Ok(None)
            }
        }
    }

    /// Reads the record at `lsn`, for an undo chain: the record must exist.
    pub fn read_at(&mut self, lsn: Lsn) -> Result<OwnedRecord, WalError> {
        read_record(&self.segments, lsn)
    }

    fn index_of(&self, lsn: Lsn) -> usize {
        usize::try_from(lsn.0 - self.buffer_start.0).expect("within the buffer")
    }

    /// Reads `len` bytes from `lsn` into the buffer; `false` if the segments end before.
    fn fill(&mut self, lsn: Lsn, len: usize) -> Result<bool, WalError> {
        let available = (self.buffer_start.0 + self.buffer.len() as u64).saturating_sub(lsn.0);
        if lsn >= self.buffer_start && available >= len as u64 {
            return Ok(true);
        }
        self.buffer.resize(len.max(READ_AHEAD), 0);
        self.buffer_start = lsn;
        let read = self.segments.read(lsn, &mut self.buffer)?;
        self.buffer.truncate(read);
        Ok(read >= len)
    }

    /// Reads the record at `lsn` into the buffer and checks it.
    fn load(&mut self, lsn: Lsn) -> Result<Result<(Decoded, usize), Invalid>, WalError> {
        if !self.fill(lsn, Prefix::LEN)? {
            return Ok(Err(Invalid::NoSegment));
        }
        let prefix = match self.prefix(lsn) {
            Ok(prefix) => prefix,
            Err(invalid) => return Ok(Err(invalid)),
        };
        if !self.fill(lsn, prefix.total_len)? {
            return Ok(Err(Invalid::NoSegment));
        }
        let at = self.index_of(lsn);
        let decoded = record::decode(&self.buffer[at..at + prefix.total_len]);
        Ok(decoded.map(|decoded| (decoded, prefix.total_len)))
    }

    fn prefix(&self, lsn: Lsn) -> Result<Prefix, Invalid> {
        let at = self.index_of(lsn);
        Prefix::decode(&self.buffer[at..at + Prefix::LEN], lsn)
    }

    /// Fails if the invalid record at `end` is damage rather than the end of the log.
    fn check_end(&self, end: Lsn, invalid: Invalid) -> Result<(), WalError> {
        if end < self.known_durable {
            let reason = format!("{invalid}, but the log was durable up to {}", self.known_durable);
            return Err(self.segments.corrupt(end, &reason));
        }
        let mut segment = self.segments.layout().segment_of(end);
        while self.segments.name_exists(segment)? {
            if self.segments.is_cut_short(segment)? {
                let start = self.segments.layout().start_of(segment).max(end);
                return Err(self.segments.corrupt(start, "the segment's file has lost a part"));
            }
            segment += 1;
        }
        match self.find_proof_of_damage(end)? {
            None => Ok(()),
            Some(proof) => {
                let reason =
                    format!("{invalid}, but the record at {proof} proves that it had been synced");
                Err(self.segments.corrupt(end, &reason))
            }
        }
    }

    /// Searches the remaining segments for a valid record that was appended when the log was
    /// already durable past `end`.
    fn find_proof_of_damage(&self, end: Lsn) -> Result<Option<Lsn>, WalError> {
        let layout = self.segments.layout();
        let mut segment = layout.segment_of(end);
        let mut from = end.next_byte().0.next_multiple_of(record::ALIGNMENT);
        let mut buffer = vec![0; READ_AHEAD];
        while self.segments.name_exists(segment)? {
            let segment_end = layout.start_of(segment + 1).0;
            while from < segment_end {
                let left = usize::try_from(segment_end - from).unwrap_or(usize::MAX);
                let len = left.min(buffer.len());
                let read = self.segments.read_unchecked(Lsn(from), &mut buffer[..len])?;
                if let Some(proof) = self.proof_among(Lsn(from), &buffer[..read], end)? {
                    return Ok(Some(proof));
                }
                if read < len {
                    break;
                }
                // A record's second word may be in the next chunk: overlap by one.
                from += (len as u64 - 8).max(8);
            }
            segment += 1;
            from = from.max(segment_end);
        }
        Ok(None)
    }

    fn proof_among(&self, from: Lsn, bytes: &[u8], end: Lsn) -> Result<Option<Lsn>, WalError> {
        for (index, word) in bytes.chunks_exact(8).enumerate().skip(1) {
            let candidate = Lsn(from.0 + (index as u64 - 1) * 8);
            if word == candidate.0.to_le_bytes()
                && let Ok((decoded, _)) = load_unchecked(&self.segments, candidate)?
                && decoded.durable > end
            {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }
}

/// Bytes that a [`RecordReader`] reads on each side of the requested record.
const PIECE: usize = 256 * 1024;

/// Reads records of a running log that are near one another, in either direction. Most of them come
/// from the piece of the files that was read for an earlier record.
pub struct RecordReader {
    core: Arc<Core>,
    piece: Vec<u8>,
    /// The position of the piece's first byte. All of the piece had been written when it was read,
    /// and written parts of a log do not change.
    piece_start: Lsn,
}

impl RecordReader {
    pub(super) fn new(core: Arc<Core>) -> RecordReader {
        RecordReader { core, piece: Vec::new(), piece_start: Lsn(0) }
    }

    /// The record that starts at `lsn`. The caller knows that it exists.
    pub fn read(&mut self, lsn: Lsn) -> Result<Record<'_>, WalError> {
        let at = self.cover(lsn, Prefix::LEN)?;
        let prefix = Prefix::decode(&self.piece[at..at + Prefix::LEN], lsn);
        let total_len = prefix.map_err(|invalid| self.corrupt(lsn, invalid))?.total_len;
        let at = self.cover(lsn, total_len)?;
        let decoded = record::decode(&self.piece[at..at + total_len]);
        let decoded = decoded.map_err(|invalid| self.corrupt(lsn, invalid))?;
        let body = &self.piece[at + decoded.body_at..at + total_len];
        let end = record::end_of(lsn, total_len);
        Ok(Record { start: lsn, end, header: decoded.header, body })
    }

    fn corrupt(&self, lsn: Lsn, invalid: Invalid) -> WalError {
        self.core.segments.corrupt(lsn, &invalid.to_string())
    }

    /// Makes the piece contain `len` bytes from `lsn` on, and returns their offset in it.
    fn cover(&mut self, lsn: Lsn, len: usize) -> Result<usize, WalError> {
        let wanted = lsn.0 + len as u64;
        if lsn < self.piece_start || self.piece_start.0 + (self.piece.len() as u64) < wanted {
            self.load(lsn, len)?;
        }
        Ok(usize::try_from(lsn.0 - self.piece_start.0).expect("within the piece"))
    }

    fn load(&mut self, lsn: Lsn, len: usize) -> Result<(), WalError> {
        let (core, wanted) = (&self.core, lsn.0 + len as u64);
        let reserved = Lsn(core.ring.reserved());
        if lsn >= reserved {
            return Err(WalError::PastEnd { lsn, end: reserved });
        }
        if core.written().0 < wanted {
            core.write_past(lsn)?;
        }
        let layout = core.segments.layout();
        // Segments before this one may have been removed.
        let segment = layout.segment_of(lsn);
        let start = lsn.0.saturating_sub(PIECE as u64).max(layout.start_of(segment).0);
        let end = core.written().0.min(lsn.0 + len.max(PIECE) as u64);
        self.piece.resize(usize::try_from(end.saturating_sub(start)).expect("two pieces"), 0);
        let read = core.segments.read(Lsn(start), &mut self.piece);
        self.piece.truncate(*read.as_ref().unwrap_or(&0));
        self.piece_start = Lsn(start);
        if start + read? as u64 >= wanted {
            return Ok(());
        }
        self.piece.clear();
        match self.core.segments.name_exists(segment)? {
            true => Err(self.corrupt(lsn, Invalid::NoSegment)),
            false => Err(WalError::Removed(lsn)),
        }
    }
}

/// Reads the record at `lsn` from the files. The caller knows that it exists.
pub(super) fn read_record(segments: &Segments, lsn: Lsn) -> Result<OwnedRecord, WalError> {
    let read = |bytes: &mut [u8]| -> Result<(), WalError> {
        if segments.read(lsn, bytes)? == bytes.len() {
            return Ok(());
        }
        if segments.name_exists(segments.layout().segment_of(lsn))? {
            return Err(segments.corrupt(lsn, &Invalid::NoSegment.to_string()));
        }
        Err(WalError::Removed(lsn))
    };
    let corrupt = |invalid: Invalid| segments.corrupt(lsn, &invalid.to_string());
    let mut prefix = [0; Prefix::LEN];
    read(&mut prefix)?;
    let total_len = Prefix::decode(&prefix, lsn).map_err(corrupt)?.total_len;
    let mut bytes = vec![0; total_len];
    read(&mut bytes)?;
    let decoded = record::decode(&bytes).map_err(corrupt)?;
    bytes.drain(..decoded.body_at);
    let end = record::end_of(lsn, total_len);
    Ok(OwnedRecord { start: lsn, end, header: decoded.header, body: bytes })
}

/// Reads bytes that may be a record, without a check of the segments' headers.
fn load_unchecked(
    segments: &Segments,
    lsn: Lsn,
) -> Result<Result<(Decoded, usize), Invalid>, WalError> {
    let read = |buffer: &mut [u8]| -> Result<bool, WalError> {
        let mut done = 0;
        while done < buffer.len() {
            let at = Lsn(lsn.0 + done as u64);
            let layout = segments.layout();
            let left = layout.start_of(layout.segment_of(at) + 1).0 - at.0;
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len() - done);
            if segments.read_unchecked(at, &mut buffer[done..done + count])? < count {
                return Ok(false);
            }
            done += count;
        }
        Ok(true)
    };
    let mut prefix = [0; Prefix::LEN];
    if !read(&mut prefix)? {
        return Ok(Err(Invalid::NoSegment));
    }
    let total_len = match Prefix::decode(&prefix, lsn) {
        Ok(prefix) => prefix.total_len,
        Err(invalid) => return Ok(Err(invalid)),
    };
    let mut bytes = vec![0; total_len];
    if !read(&mut bytes)? {
        return Ok(Err(Invalid::NoSegment));
    }
    Ok(record::decode(&bytes).map(|decoded| (decoded, total_len)))
}
