//! Recovery: makes a store usable again after a crash.
//!
//! 1. Pages torn in place are restored from the doublewrite file.
//! 2. The log's end is found. The log is made durable up to there, and bytes behind it are erased.
//!    Only then may redo let pages reach the disk. (W1 holds for redone pages, too: a killed
//!    process leaves log in the kernel's cache that is not on the disk.)
//! 3. Redo from the checkpoint's redo LSN: each operation whose page has an older LSN is applied.
//!    So pages go through exactly the states that they had before, and it does not matter how far
//!    an earlier recovery got.
//! 4. The allocator's map is read from the bitmap pages.
//!
//! Steps 1 to 3 are [`Replay::open`](crate::Replay::open), and step 4 is
//! [`Replay::finish`](crate::Replay::finish). Between the two, more log may come, record by record.
//! The log gets no record of this store's own before step 4, so a crash during recovery starts again
//! with the same log. The caller undoes transactions, by ordinary writes.

use crate::control::Control;
use crate::error::{Result, StorageError};
use crate::ops;
use crate::page::{self, Kind, bitmap};
use crate::pool::Pool;
use crate::space;
use crate::types::{FIRST_USER_KIND, PageId, TreeId};
use crate::wal::{Lsn, Record, WalReader};
use std::time::{Duration, Instant};

/// A log record for the layer above.
#[derive(Clone, Copy, Debug)]
pub struct LogRecord<'a> {
    /// The start of the record, which identifies it.
    pub start: Lsn,
    /// The end of the record.
    pub end: Lsn,
    /// The kind: below [`FIRST_USER_KIND`] a change of pages, otherwise a kind of the caller.
    pub kind: u8,
    /// The transaction, or 0.
    pub xid: u64,
    /// The transaction's previous record, or [`Lsn::INVALID`].
    pub prev_lsn: Lsn,
    /// In a compensation: the next record to undo.
    pub undo_next: Option<Lsn>,
    /// The caller's payload: empty for pure structure modifications.
    pub payload: &'a [u8],
}

impl<'a> LogRecord<'a> {
    /// A record as [`RecordReader`](crate::wal::RecordReader) returns it.
    pub fn of(record: &Record<'a>) -> Result<LogRecord<'a>> {
        let (_, payload) = split_record(record.header.kind, record.start, record.body)?;
        Ok(LogRecord::with(record, payload))
    }

    fn with(record: &Record<'_>, payload: &'a [u8]) -> LogRecord<'a> {
        LogRecord {
            start: record.start,
            end: record.end,
            kind: record.header.kind,
            xid: record.header.xid,
            prev_lsn: record.header.prev_lsn,
            undo_next: record.header.undo_next,
            payload,
        }
    }
}

/// Receives the log during recovery, in order.
pub trait RecoveryHandler {
    /// Called first, with the state that the last complete checkpoint was given (empty if there is
    /// none) and the start of redo.
    fn begin(&mut self, state: &[u8], redo: Lsn) -> Result<()>;

    /// Called for each record from the redo LSN on, after its page changes were redone.
    fn record(&mut self, record: &LogRecord<'_>) -> Result<()>;

    /// Called from time to time during a long redo.
    fn progress(&mut self, _progress: RedoProgress) {}
}

/// The progress of redo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedoProgress {
    /// The start of redo.
    pub redo: Lsn,
    /// The current position.
    pub position: Lsn,
    /// The end of redo.
    pub end: Lsn,
    /// The time since redo started.
    pub elapsed: Duration,
}

/// The interval between progress reports: PostgreSQL's log_startup_progress_interval.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);
/// Records between two reads of the clock.
const PROGRESS_RECORDS: u64 = 4096;

/// A handler for stores without transactions (tests, tools).
impl RecoveryHandler for () {
    fn begin(&mut self, _state: &[u8], _redo: Lsn) -> Result<()> {
        Ok(())
    }

    fn record(&mut self, _record: &LogRecord<'_>) -> Result<()> {
        Ok(())
    }
}

/// The result of recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoverySummary {
    /// Whether the store was new.
    pub created: bool,
    /// The start of redo.
    pub redo: Lsn,
    /// The end of the log.
    pub end: Lsn,
    /// Records read.
    pub records: u64,
    /// Torn pages restored from the doublewrite file.
    pub restored_pages: u64,
    /// The time that the search for the log's end took.
    pub scan_time: Duration,
    /// The time that redo took.
    pub redo_time: Duration,
}

/// The results of redo.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Redone {
    pub(crate) records: u64,
    /// The data file has at least this many pages.
    pub(crate) file_pages: u64,
    /// A number greater than any generation in use.
    pub(crate) next_generation: u64,
    pub(crate) time: Duration,
}

/// Splits a record of storage's own kinds into page operations and payload. A record of the
/// caller's kinds is all payload.
pub(crate) fn split_record(kind: u8, start: Lsn, body: &[u8]) -> Result<(&[u8], &[u8])> {
    if kind >= FIRST_USER_KIND {
        return Ok((&[], body));
    }
    if kind == ops::kind::FILLER {
        return Ok((&[], &[]));
    }
    ops::split_body(body)
        .ok_or_else(|| StorageError::CorruptLog { lsn: start, what: "body is too short".into() })
}

/// The end of the log: reads all records and ignores their content.
pub(crate) fn find_end(reader: &mut WalReader) -> Result<Lsn> {
    while reader.next()?.is_some() {}
    Ok(reader.position())
}

/// Step 3: redoes the log.
pub(crate) fn redo(
    pool: &Pool,
    control: &Control,
    reader: &mut WalReader,
    end: Lsn,
    handler: &mut dyn RecoveryHandler,
) -> Result<Redone> {
    let mut redone = Redone { next_generation: control.next_generation, ..Redone::default() };
    handler.begin(&control.state, control.redo)?;
    let start = Instant::now();
    let mut next_report = PROGRESS_INTERVAL;
    while reader.position() < end {
        let Some(record) = reader.next()? else {
            let what = "the log ends before its end was found to be".into();
            return Err(StorageError::CorruptLog { lsn: reader.position(), what });
        };
        redone.apply(pool, &record, handler)?;
        if redone.records.is_multiple_of(PROGRESS_RECORDS) && start.elapsed() >= next_report {
            let (position, elapsed) = (reader.position(), start.elapsed());
            handler.progress(RedoProgress { redo: control.redo, position, end, elapsed });
            next_report = elapsed + PROGRESS_INTERVAL;
        }
    }
    redone.time = start.elapsed();
    Ok(redone)
}

impl Redone {
    /// Redoes one record, and passes it to the layer above.
    pub(crate) fn apply(
        &mut self,
        pool: &Pool,
        record: &Record<'_>,
        handler: &mut dyn RecoveryHandler,
    ) -> Result<()> {
        self.records += 1;
        let (operations, payload) = split_record(record.header.kind, record.start, record.body)?;
        redo_record(pool, record, operations, self)?;
        handler.record(&LogRecord::with(record, payload))
    }
}

fn redo_record(
    pool: &Pool,
    record: &Record<'_>,
    operations: &[u8],
    redone: &mut Redone,
) -> Result<()> {
    let corrupt = |what: &str| StorageError::CorruptLog { lsn: record.start, what: what.into() };
    let mut failure = None;
    let walked = ops::for_each(operations, |op| {
        let result = redo_op(pool, record, &op, redone);
        result.map_err(|e| {
            failure = Some(e);
            "redo failed"
        })
    });
    match (walked, failure) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(error)) => Err(error),
        (Err(what), None) => Err(corrupt(what)),
    }
}

fn redo_op(pool: &Pool, record: &Record<'_>, op: &ops::Op<'_>, redone: &mut Redone) -> Result<()> {
    if op.page.0 >= pool.max_pages() || op.page.0 == 0 {
        let what = format!("page {} is beyond the data file's maximal size", op.page.0);
        return Err(StorageError::CorruptLog { lsn: record.start, what });
    }
    redone.file_pages = redone.file_pages.max(op.page.0 + 1);
    if let Some(generation) = op.new_generation() {
        redone.next_generation = redone.next_generation.max(TreeId::number_of(generation) + 1);
    }
    let mut guard = pool.latch_for_redo(op.page, op.formats())?;
    if page::lsn(guard.page()) >= record.end {
        return Ok(());
    }
    guard.will_change();
    ops::apply(&mut guard.page_mut(), op).map_err(|what| {
        pool.corrupt(op.page, format!("{what} (log record at {})", record.start))
    })?;
    // The LSN is set after each operation: a record has at most one operation for a page.
    page::set_lsn(&mut guard.page_mut(), record.end);
    Ok(())
}

/// Step 4: one bit a page for a file of `file_pages` pages, and the bitmap pages that were never
/// created (the file had just grown).
pub(crate) fn read_bitmaps(pool: &Pool, file_pages: u64) -> Result<(Vec<u64>, Vec<PageId>)> {
    let mut words = vec![0u64; file_pages.div_ceil(64) as usize];
    let mut missing = Vec::new();
    for id in space::bitmap_pages(0..file_pages) {
        let guard = pool.latch_for_redo(id, false)?;
        match page::kind(guard.page()) {
            Some(Kind::Bitmap) => {}
            Some(Kind::Free) => {
                missing.push(id);
                continue;
            }
            _ => return Err(pool.corrupt(id, "not an allocation bitmap")),
        }
        for index in 0..bitmap::WORDS {
            let mut bits = bitmap::word(guard.page(), index);
            while bits != 0 {
                let used = id.0 + index as u64 * 64 + u64::from(bits.trailing_zeros());
                bits &= bits - 1;
                match words.get_mut((used / 64) as usize) {
                    Some(word) => *word |= 1 << (used % 64),
                    None => return Err(pool.corrupt(id, "marks a page past the file's end")),
                }
            }
        }
    }
    Ok((words, missing))
}
