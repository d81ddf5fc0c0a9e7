//! Temporary files for rows that exceed work_mem.
//!
//! A spill file is removed from its directory as soon as it is open, so that
//! nothing is left behind however the statement ends. Rows are written one after
//! the other in a self-describing form:
//!
//! ```text
//! row   := length:u32 value*
//! value := 0                      NULL
//!        | 1 i64                  bigint        | 2 i32  integer   | 3 u8  boolean
//!        | 4 length:u32 bytes     text
//!        | 5 f64                  double precision
//!        | 6 length:u32 bytes     anything else, as steppe_types::stored writes it
//! ```

pub mod entries;

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use steppe_storage::usage::{Io, timed};
use steppe_types::physical::Physical;
use steppe_types::{Datum, Error, Result, SqlState, stored};
use steppe_vfs::{File, OpenMode, Vfs};

/// Bytes gathered before a write, and read ahead.
const BUFFER_BYTES: usize = 64 * 1024;

thread_local! {
    /// Bytes that this thread has read from and written to spill files.
    static READ: Cell<u64> = const { Cell::new(0) };
    static WRITTEN: Cell<u64> = const { Cell::new(0) };
}

/// Bytes that this thread has read from and written to spill files so far.
pub fn transferred() -> (u64, u64) {
    (READ.get(), WRITTEN.get())
}

/// The size of one session's spill files together, and its limit.
#[derive(Default)]
struct Quota {
    used: AtomicU64,
    /// In kilobytes, as the setting is: 0 stands for no limit, `n + 1` for `n` kilobytes.
    limit: AtomicU64,
}

impl Quota {
    /// 53400 if `bytes` more would exceed the limit. Parallel workers of the session write as well.
    fn take(&self, bytes: u64) -> Result<()> {
        let limit = self.limit.load(Ordering::Relaxed).checked_sub(1);
        let most = limit.map_or(u64::MAX, |limit| limit.saturating_mul(1024));
        let more = |used: u64| used.checked_add(bytes).filter(|used| *used <= most);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.map(|_| ()).map_err(|_| {
            let limit = limit.unwrap_or_default();
            let message = format!("temporary file size exceeds \"temp_file_limit\" ({limit}kB)");
            Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, message)
        })
    }
}

/// The place of spill files.
pub struct TempSpace {
    vfs: Arc<dyn Vfs>,
    directory: PathBuf,
    next_file: Arc<AtomicU64>,
    quota: Arc<Quota>,
}

impl TempSpace {
    /// Spill files are made in `directory`, which must exist.
    pub fn new(vfs: Arc<dyn Vfs>, directory: impl Into<PathBuf>) -> TempSpace {
        let (next_file, quota) = (Arc::default(), Arc::default());
        TempSpace { vfs, directory: directory.into(), next_file, quota }
    }

    /// The same place for one session, with a quota of its own.
    pub fn for_session(&self) -> TempSpace {
        TempSpace {
            vfs: Arc::clone(&self.vfs),
            directory: self.directory.clone(),
            next_file: Arc::clone(&self.next_file),
            quota: Arc::default(),
        }
    }

    /// Sets temp_file_limit, in kilobytes; `None` is no limit.
    pub fn set_limit(&self, kilobytes: Option<u64>) {
        self.quota.limit.store(kilobytes.map_or(0, |limit| limit + 1), Ordering::Relaxed);
    }

    /// How many files were made so far.
    pub fn files_made(&self) -> u64 {
        self.next_file.load(Ordering::Relaxed)
    }

    /// A new, nameless file.
    pub fn create(&self) -> Result<SpillFile> {
        let number = self.next_file.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.join(format!("spill.{}.{number}", std::process::id()));
        let file = self.vfs.open(&path, OpenMode::TRUNCATE).map_err(io_error)?;
        self.vfs.remove(&path).map_err(io_error)?;
        Ok(SpillFile { file, flushed: 0, buffer: Vec::new(), quota: Arc::clone(&self.quota) })
    }
}

fn io_error(error: steppe_vfs::Error) -> Error {
    let sqlstate = if error.is_out_of_space() { SqlState::DISK_FULL } else { SqlState::IO_ERROR };
    Error::new(sqlstate, format!("could not use temporary file: {error}"))
}

/// An append-only temporary file.
pub struct SpillFile {
    file: Arc<dyn File>,
    flushed: u64,
    buffer: Vec<u8>,
    quota: Arc<Quota>,
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.quota.used.fetch_sub(self.flushed, Ordering::Relaxed);
    }
}

impl SpillFile {
    /// Bytes written so far: the offset of the next row.
    pub fn written(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    /// Appends a row.
    pub fn write<'a>(&mut self, row: impl Iterator<Item = &'a Datum>) -> Result<()> {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        for datum in row {
            write_value(datum, &mut self.buffer)?;
        }
        let length = (self.buffer.len() - start - 4) as u32;
        self.buffer[start..start + 4].copy_from_slice(&length.to_le_bytes());
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Appends a row of plain bytes.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Hands buffered bytes to the file.
    pub fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.quota.take(self.buffer.len() as u64)?;
            let offset = self.flushed;
            self.flushed += self.buffer.len() as u64;
            timed(Io::SpillWrite, || self.file.write_at(&self.buffer, offset)).map_err(io_error)?;
            WRITTEN.with(|bytes| bytes.set(bytes.get() + self.buffer.len() as u64));
            self.buffer.clear();
        }
        Ok(())
    }

    /// Reads rows from `offset` up to what is written now.
    pub fn reader(&mut self, offset: u64) -> Result<SpillReader> {
        self.reader_between(offset, self.written())
    }

    /// Reads rows from `offset` up to `end`.
    pub fn reader_between(&mut self, offset: u64, end: u64) -> Result<SpillReader> {
        self.flush()?;
        Ok(SpillReader { file: self.file.clone(), offset, end, buffer: Vec::new(), position: 0 })
    }
}

/// Reads rows of a spill file in order.
pub struct SpillReader {
    file: Arc<dyn File>,
    /// File offset of what comes after `buffer`.
    offset: u64,
    end: u64,
    buffer: Vec<u8>,
    position: usize,
}

impl SpillReader {
    /// Makes `count` unread bytes available; false at the end of the file.
    fn fill(&mut self, count: usize) -> Result<bool> {
        let unread = self.buffer.len() - self.position;
        if unread >= count {
            return Ok(true);
        }
        let left = self.end - self.offset;
        if unread == 0 && left == 0 {
            return Ok(false);
        }
        self.buffer.drain(..self.position);
        self.position = 0;
        let more = (count.max(BUFFER_BYTES) as u64).min(left) as usize;
        self.buffer.resize(unread + more, 0);
        let read = || self.file.read_exact_at(&mut self.buffer[unread..], self.offset);
        timed(Io::SpillRead, read).map_err(io_error)?;
        self.offset += more as u64;
        READ.with(|bytes| bytes.set(bytes.get() + more as u64));
        if self.buffer.len() < count {
            return Err(Error::new(SqlState::DATA_CORRUPTED, "temporary file is cut short"));
        }
        Ok(true)
    }

    /// The next row's bytes; `None` at the end.
    fn next_row(&mut self) -> Result<Option<&[u8]>> {
        if !self.fill(4)? {
            return Ok(None);
        }
        let length = self.peek_length();
        self.fill(4 + length)?;
        let begin = self.position + 4;
        self.position = begin + length;
        Ok(Some(&self.buffer[begin..self.position]))
    }

    /// Appends the next row's values to `out`; false at the end.
    #[inline]
    pub fn read(&mut self, out: &mut Vec<Datum>) -> Result<bool> {
        let Some(mut rest) = self.next_row()? else { return Ok(false) };
        while !rest.is_empty() {
            out.push(read_value(&mut rest)?);
        }
        Ok(true)
    }

    /// Puts the next row of plain bytes into `out`; false at the end.
    pub fn read_bytes(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let row = self.next_row()?;
        row.inspect(|row| out.extend_from_slice(row));
        Ok(row.is_some())
    }

    /// Passes over the next row; false at the end.
    pub fn skip(&mut self) -> Result<bool> {
        Ok(self.next_row()?.is_some())
    }

    fn peek_length(&self) -> usize {
        let at = self.position;
        let bytes = &self.buffer[at..at + 4];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize
    }
}

/// Appends a value.
#[inline]
pub fn write_value(datum: &Datum, out: &mut Vec<u8>) -> Result<()> {
    match datum {
        Datum::Null => out.push(0),
        Datum::Int8(v) => {
            out.push(1);
            out.extend_from_slice(&v.to_le_bytes());
        }
        Datum::Int4(v) => {
            out.push(2);
            out.extend_from_slice(&v.to_le_bytes());
        }
        Datum::Bool(v) => out.extend_from_slice(&[3, u8::from(*v)]),
        Datum::Text(v) => {
            out.push(4);
            out.extend_from_slice(&(v.len() as u32).to_le_bytes());
            out.extend_from_slice(v.as_bytes());
        }
        Datum::Float8(v) => {
            out.push(5);
            out.extend_from_slice(&v.to_le_bytes());
        }
        other => {
            out.push(6);
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            stored::write_variable(Physical::Any, other, out)?;
            let length = (out.len() - at - 4) as u32;
            out[at..at + 4].copy_from_slice(&length.to_le_bytes());
        }
    }
    Ok(())
}

/// Takes `N` bytes.
pub fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>().ok_or_else(cut_short)?;
    *rest = tail;
    Ok(*head)
}

fn take_bytes<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = u32::from_le_bytes(take(rest)?) as usize;
    take_bytes_of(rest, length)
}

/// Takes `length` bytes.
#[inline]
pub fn take_bytes_of<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    let (head, tail) = rest.split_at_checked(length).ok_or_else(cut_short)?;
    *rest = tail;
    Ok(head)
}

/// XX001: a temporary file does not have the bytes that were written.
#[cold]
pub fn cut_short() -> Error {
    Error::new(SqlState::DATA_CORRUPTED, "temporary file is corrupted")
}

/// Takes a value that [`write_value`] wrote.
#[inline]
pub fn read_value(rest: &mut &[u8]) -> Result<Datum> {
    Ok(match take::<1>(rest)?[0] {
        0 => Datum::Null,
        1 => Datum::Int8(i64::from_le_bytes(take(rest)?)),
        2 => Datum::Int4(i32::from_le_bytes(take(rest)?)),
        3 => Datum::Bool(take::<1>(rest)?[0] != 0),
        4 => {
            let bytes = take_bytes(rest)?;
            Datum::text(std::str::from_utf8(bytes).map_err(|_| cut_short())?)
        }
        5 => Datum::Float8(f64::from_le_bytes(take(rest)?)),
        6 => stored::read(Physical::Any, take_bytes(rest)?)?,
        _ => return Err(cut_short()),
    })
}

/// Bytes of memory a datum takes, for accounting against work_mem.
#[inline]
pub fn datum_bytes(datum: &Datum) -> usize {
    let heap = match datum {
        Datum::Text(v) => v.len() + 16,
        Datum::Bytea(v) => v.len() + 16,
        Datum::Numeric(v) => v.heap_size(),
        Datum::Interval(_) | Datum::Uuid(_) => 32,
        Datum::Array(v) => 64 + v.elements.iter().map(datum_bytes).sum::<usize>(),
        Datum::Record(v) => 16 + v.iter().map(datum_bytes).sum::<usize>(),
        _ => 0,
    };
    heap + size_of::<Datum>()
}

/// Bytes of memory a row takes.
pub fn row_bytes<'a>(row: impl IntoIterator<Item = &'a Datum>) -> usize {
    row.into_iter().map(datum_bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_take_together_use_what_all_of_them_have_taken() {
        let quota = Quota::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100_000).for_each(|_| quota.take(3).unwrap()));
            }
        });
        assert_eq!(quota.used.load(Ordering::Relaxed), 4 * 100_000 * 3);
    }

    #[test]
    fn no_more_is_taken_than_may_be() {
        let quota = Quota { limit: AtomicU64::new(1 + 1), ..Quota::default() };
        assert!(quota.take(1024).is_ok());
        let refused = quota.take(1).unwrap_err();
        assert_eq!(refused.sqlstate(), SqlState::CONFIGURATION_LIMIT_EXCEEDED);
        assert_eq!(quota.used.load(Ordering::Relaxed), 1024);
    }
}
