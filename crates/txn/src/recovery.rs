//! After a crash: which transactions had not ended, and taking back what they did.
//!
//! ```text
//!   checkpoint          redo ──────────────────────────► end      then
//!   [next xid, active: xid 7 @ 812] ──[xid 9 …]──[xid 7 …]──     undo 7, 9:
//!          └ control file, or a                           walk prev LSNs back,
//!            record after redo                            log compensations, ABORT
//! ```
//!
//! Storage has redone every page change before any of this is undone, so undo
//! works on exactly the trees that the crash interrupted (repeating history).
//! Transactions whose records all precede the redo LSN are known from the list
//! of *active* ones that each checkpoint makes after choosing that LSN. Files of
//! committed drops are freed again; freeing a tree that is gone is no error. So are
//! trees that were made for a file and not entered as its own.
//!
//! A transaction whose last record is PREPARE is no loser: see `prepared`. All
//! others are committed, or gone: undo pointers in their rows lead nowhere, and
//! nobody follows them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hashbrown::{HashMap, HashSet};
use steppe_storage::wal::RecordReader;
use steppe_storage::{
    LogRecord, Lsn, RecoveryHandler, RecoverySummary, RedoProgress, Result as StorageResult,
    StorageError, Store, TreeId,
};
use steppe_types::{Result, SqlState};

use crate::change::{Change, Reader, UndoNext, put_u64};
use crate::engine::Engine;
use crate::files::{DatabaseId, DroppedFile, FileId};
use crate::rollback::Undoer;
use crate::status::FIRST_XID;

/// A transaction has committed; the body lists the files it dropped that had trees, or the last of
/// them: others are in [`RECORD_DROPS`] before.
pub(crate) const RECORD_COMMIT: u8 = 64;
/// A transaction has been undone.
pub(crate) const RECORD_ABORT: u8 = 65;
/// Transactions running at a checkpoint, and files still to be freed.
pub(crate) const RECORD_ACTIVE: u8 = 66;
/// A change without a page.
pub(crate) const RECORD_NOTE: u8 = 67;
/// Files that a transaction drops which is about to commit. No checkpoint comes between these and
/// the commit (`SessionShared::log_section`).
pub(crate) const RECORD_DROPS: u8 = 68;

/// A transaction is prepared; the body is (the end of) its state.
pub(crate) const RECORD_PREPARE: u8 = 69;
/// What comes before the end of that state.
pub(crate) const RECORD_PREPARE_PART: u8 = 70;

/// Garbage remembered from the log, in bytes; what is beyond is met in passing.
const GARBAGE_BYTES_MAX: usize = 64 << 20;

pub(crate) fn encode_active(active: &[(u64, u64)], drops: &[DroppedFile]) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend_from_slice(&(active.len() as u32).to_le_bytes());
    for &(xid, last_lsn) in active {
        put_u64(&mut body, xid);
        put_u64(&mut body, last_lsn);
    }
    drops.iter().for_each(|dropped| dropped.encode(&mut body));
    body
}

/// What is left of a record, which is a list of files.
fn decode_drops(mut reader: Reader<'_>) -> Result<Vec<DroppedFile>> {
    let mut drops = Vec::new();
    while !reader.0.is_empty() {
        drops.push(DroppedFile::decode(&mut reader)?);
    }
    Ok(drops)
}

/// Is told, in words, what recovery does.
pub type Progress = Arc<dyn Fn(&str) + Send + Sync>;

/// What the log says about transactions.
#[derive(Default)]
pub(crate) struct Analysis {
    next_xid: u64,
    system: Option<TreeId>,
    /// Not ended: their last record.
    losers: HashMap<u64, u64>,
    /// Ended since the redo LSN: an active record may still list them.
    ended: HashSet<u64>,
    /// Neither: prepared.
    prepared: HashSet<u64>,
    drops: BTreeSet<DroppedFile>,
    /// Those of transactions whose commit is still to come.
    announced: HashMap<u64, Vec<DroppedFile>>,
    /// Trees made for files: the crash may have come before they were entered.
    made: Vec<(FileId, TreeId)>,
    /// Deletions to clean up after, with their transactions.
    garbage: Vec<(u64, Box<[u8]>)>,
    garbage_bytes: usize,
    /// Is told how a long redo goes.
    pub(crate) on_progress: Option<Progress>,
}

impl Analysis {
    pub(crate) fn next_xid(&self) -> u64 {
        self.next_xid.max(FIRST_XID)
    }

    pub(crate) fn system_tree(&self) -> Option<TreeId> {
        self.system
    }

    fn see(&mut self, record: &LogRecord<'_>) -> Result<()> {
        match record.kind {
            RECORD_DROPS => {
                let announced = self.announced.entry(record.xid).or_default();
                announced.extend(decode_drops(Reader(record.payload))?);
            }
            RECORD_COMMIT => {
                self.drops.extend(self.announced.remove(&record.xid).unwrap_or_default());
                self.drops.extend(decode_drops(Reader(record.payload))?);
                self.end(record.xid);
            }
            RECORD_ABORT => {
                self.announced.remove(&record.xid);
                self.end(record.xid);
            }
            RECORD_ACTIVE => self.see_active(Reader(record.payload))?,
            _ if record.xid != 0 => {
                self.losers.insert(record.xid, record.start.0);
                self.next_xid = self.next_xid.max(record.xid + 1);
                if !is_state(record.kind) {
                    self.see_change(record.xid, record.payload)?;
                }
            }
            _ if record.payload.is_empty() => {}
            _ => match Change::decode(record.payload)? {
                Change::SystemTree { tree } => self.system = Some(tree),
                Change::FileTree { tree, file } => self.made.push((file, tree)),
                _ => {}
            },
        }
        Ok(())
    }

    fn see_state(&mut self, mut reader: Reader<'_>) -> Result<()> {
        self.next_xid = reader.u64()?;
        self.system = Some(reader.tree()?);
        self.see_active(reader)
    }

    fn see_active(&mut self, mut reader: Reader<'_>) -> Result<()> {
        for _ in 0..reader.u32()? {
            let (xid, last_lsn) = (reader.u64()?, reader.u64()?);
            self.next_xid = self.next_xid.max(xid + 1);
            if !self.ended.contains(&xid) {
                self.losers.entry(xid).or_insert(last_lsn);
            }
        }
        self.drops.extend(decode_drops(reader)?);
        Ok(())
    }

    fn see_change(&mut self, xid: u64, payload: &[u8]) -> Result<()> {
        if payload.is_empty() {
            return Ok(());
        }
        match Change::decode(payload)? {
            Change::RowDelete { .. }
            | Change::PostingDelete { .. }
            | Change::OverflowFree { .. }
                if self.garbage_bytes < GARBAGE_BYTES_MAX =>
            {
                self.garbage_bytes += payload.len() + 64;
                self.garbage.push((xid, payload.into()));
            }
            Change::Compensation { kept: Some(kept), .. } => self.keep_value(xid, kept)?,
            _ => {}
        }
        Ok(())
    }

    /// A rollback has called the removal of an overflow value off.
    fn keep_value(&mut self, xid: u64, kept: u64) -> Result<()> {
        for at in (0..self.garbage.len()).rev() {
            let (of, payload) = &self.garbage[at];
            if *of == xid
                && let Change::OverflowFree { id, .. } = Change::decode(payload)?
                && id == kept
            {
                self.garbage.remove(at);
                return Ok(());
            }
        }
        Ok(())
    }

    fn end(&mut self, xid: u64) {
        self.losers.remove(&xid);
        self.ended.insert(xid);
        self.next_xid = self.next_xid.max(xid + 1);
    }
}

fn corrupt_log(lsn: Lsn, error: &steppe_types::Error) -> StorageError {
    StorageError::CorruptLog { lsn, what: error.message().to_owned() }
}

impl RecoveryHandler for Analysis {
    fn begin(&mut self, state: &[u8], redo: Lsn) -> StorageResult<()> {
        if state.is_empty() {
            return Ok(());
        }
        self.see_state(Reader(state)).map_err(|e| corrupt_log(redo, &e))
    }

    fn record(&mut self, record: &LogRecord<'_>) -> StorageResult<()> {
        self.see(record).map_err(|e| corrupt_log(record.start, &e))
    }

    fn progress(&mut self, progress: RedoProgress) {
        let RedoProgress { redo, position, end, elapsed } = progress;
        let percent = (position.0 - redo.0) * 100 / (end.0 - redo.0).max(1);
        let seconds = elapsed.as_secs_f64();
        self.say(|| {
            format!(
                "redo in progress, elapsed time: {seconds:.2} s, current LSN: {position}, \
                 {percent}% of the log up to {end}"
            )
        });
    }
}

impl Analysis {
    fn say(&self, message: impl FnOnce() -> String) {
        if let Some(on_progress) = &self.on_progress {
            on_progress(&message());
        }
    }

    /// Takes the prepared transactions out of those to be undone: their ids and their PREPARE
    /// records.
    pub(crate) fn take_prepared(&mut self, store: &Store) -> Result<Vec<(u64, u64)>> {
        let mut prepared = Vec::new();
        for (&xid, &last_lsn) in &self.losers {
            if store.read_record(Lsn(last_lsn), |record| Ok(record.kind))? == RECORD_PREPARE {
                prepared.push((xid, last_lsn));
            }
        }
        prepared.sort_unstable();
        for (xid, _) in &prepared {
            self.losers.remove(xid);
            self.prepared.insert(*xid);
        }
        Ok(prepared)
    }

    /// Says what redo has come to, if there was anything to do.
    pub(crate) fn report(&self, summary: RecoverySummary) {
        if summary.created || summary.records == 0 {
            return;
        }
        let RecoverySummary { redo, end, records, restored_pages, .. } = summary;
        let seconds = (summary.scan_time + summary.redo_time).as_secs_f64();
        self.say(|| {
            format!(
                "redo of {records} records from {redo} to {end} took {seconds:.2} s; {} torn pages \
                 restored, {} transactions to undo, {} prepared",
                restored_pages,
                self.losers.len(),
                self.prepared.len()
            )
        });
    }
}

/// Undoes the losers, frees dropped files, cleans up: after this the engine
/// is as if the unfinished transactions had never been.
pub(crate) fn finish(engine: &Engine, analysis: Analysis) -> Result<()> {
    let mut losers: Vec<(u64, u64)> = analysis.losers.iter().map(|(&x, &l)| (x, l)).collect();
    losers.sort_unstable();
    let undo = LoserUndo {
        engine,
        analysis: &analysis,
        log: engine.wal().record_reader(),
        begin: Instant::now(),
        next_report: PROGRESS_INTERVAL,
        records: 0,
    };
    undo.all(&losers)?;
    let drops: Vec<DroppedFile> = analysis.drops.iter().copied().collect();
    engine.pending_drops.lock().extend(drops.iter().copied());
    engine.free_files(&drops)?;
    for &(file, tree) in &analysis.made {
        engine.files.free_unless_entered(file, tree)?;
    }
    engine.flush_all()?;
    let horizon = engine.status.horizon();
    for (xid, payload) in &analysis.garbage {
        // Those of the prepared are in their undo.
        if analysis.losers.contains_key(xid) || analysis.prepared.contains(xid) {
            continue;
        }
        if *xid >= horizon {
            // Not before the prepared transactions below it have ended.
            engine.undo.append(0, *xid, 0, 0, 0, payload)?;
            engine.undo.spill_if_needed()?;
            continue;
        }
        match engine.purge_change(*xid, payload) {
            // On a full disk the rest stays for VACUUM: an engine must open on one.
            Err(error) if error.sqlstate() == SqlState::DISK_FULL => break,
            purged => drop(purged?),
        }
    }
    Ok(())
}

/// Whether a record is about the transaction as a whole: it takes part in its chain, and there is
/// nothing in it to undo.
fn is_state(kind: u8) -> bool {
    matches!(kind, RECORD_PREPARE | RECORD_PREPARE_PART)
}

/// A record in a transaction's chain.
pub(crate) struct Link {
    /// The transaction's record before it.
    pub(crate) prev_lsn: u64,
    /// That with which undo goes on.
    pub(crate) next: u64,
    /// Whether there is something to undo in it.
    pub(crate) is_change: bool,
}

/// Reads a record of a transaction's chain; `body` becomes its payload.
pub(crate) fn read_link(
    log: &mut RecordReader,
    xid: u64,
    lsn: u64,
    body: &mut Vec<u8>,
) -> Result<Link> {
    let record = log.read(Lsn(lsn)).map_err(StorageError::from)?;
    let record = LogRecord::of(&record)?;
    body.clear();
    body.extend_from_slice(record.payload);
    if record.xid != xid {
        let what = format!("it belongs to transaction {}, not {xid}", record.xid);
        return Err(StorageError::CorruptLog { lsn: Lsn(lsn), what }.into());
    }
    let (kind, prev_lsn) = (record.kind, record.prev_lsn.0);
    let mut link = Link { prev_lsn, next: prev_lsn, is_change: false };
    if !body.is_empty() && !is_state(kind) {
        match Change::decode(body)? {
            Change::Compensation { next: UndoNext::At(next), .. } => link.next = next,
            Change::Compensation { next: UndoNext::SameRecord, .. } => {}
            _ => link.is_change = true,
        }
    }
    if link.next >= lsn {
        let what = format!("the record before it is said to be at {}", Lsn(link.next));
        return Err(StorageError::CorruptLog { lsn: Lsn(lsn), what }.into());
    }
    Ok(link)
}

/// How often undo says how far it is, as redo does.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);
/// Records between two looks at the clock.
const PROGRESS_RECORDS: u64 = 4096;

/// Undoing the losers, and saying how it goes.
struct LoserUndo<'a> {
    engine: &'a Engine,
    analysis: &'a Analysis,
    log: RecordReader,
    begin: Instant,
    next_report: Duration,
    records: u64,
}

impl LoserUndo<'_> {
    fn all(mut self, losers: &[(u64, u64)]) -> Result<()> {
        for (at, &(xid, last_lsn)) in losers.iter().rev().enumerate() {
            self.one(xid, last_lsn, losers.len() - at)?;
        }
        if !losers.is_empty() {
            let (records, seconds) = (self.records, self.begin.elapsed().as_secs_f64());
            self.analysis.say(|| {
                format!(
                    "undo of {records} records of {} transactions took {seconds:.2} s",
                    losers.len()
                )
            });
        }
        Ok(())
    }

    fn one(&mut self, xid: u64, last_lsn: u64, left: usize) -> Result<()> {
        let session = self.engine.sessions.add(DatabaseId::SHARED);
        session.adopt(xid, last_lsn, last_lsn);
        let undoer = Undoer::new(self.engine, &session, xid);
        let mut lsn = last_lsn;
        let mut body = Vec::new();
        while lsn != 0 {
            let link = read_link(&mut self.log, xid, lsn, &mut body)?;
            if link.is_change {
                undoer.undo(&body, link.prev_lsn, None)?;
            }
            lsn = link.next;
            self.count(lsn, left);
        }
        // The status table says nothing of this xid: only the log needs to know.
        let ended = undoer.finish_in_log(RECORD_ABORT);
        self.engine.sessions.remove(session.pid());
        ended
    }

    fn count(&mut self, lsn: u64, left: usize) {
        self.records += 1;
        if !self.records.is_multiple_of(PROGRESS_RECORDS) {
            return;
        }
        let elapsed = self.begin.elapsed();
        if elapsed >= self.next_report {
            self.next_report = elapsed + PROGRESS_INTERVAL;
            let (records, seconds) = (self.records, elapsed.as_secs_f64());
            self.analysis.say(|| {
                format!(
                    "undo in progress, elapsed time: {seconds:.2} s, {records} records undone, \
                     current LSN: {}, {left} transactions left",
                    Lsn(lsn)
                )
            });
        }
    }
}
