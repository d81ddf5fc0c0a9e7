//! Replay of the log: recovery as a loop that can go on.
//!
//! ```text
//!   open ── torn pages, redo of the log in the directory ──► apply, apply, … ──► finish ──► Store
//!                                                            records of another store
//! ```
//!
//! Recovery after a crash is `open` and `finish`. A standby stays between the two: it applies the
//! records of its primary as they come. (PostgreSQL's PerformWalRecovery is the same loop, for both.)
//!
//! Guarantees:
//!
//! - After each record the pages are what the same log makes of them in one pass: `apply` redoes a
//!   record by the function that `open` uses.
//! - The store's own log is the primary's, record for record and position for position. A record
//!   that does not begin where the log ends, or does not end where it ended there, is refused.
//! - A record is in the own log before its pages change, so that W1 (see `pool/writeback`) holds: a
//!   page reaches the disk after the log that describes its changes. After a crash `open` begins
//!   again at the same checkpoint, and replays all that was received and written.
//!
//! Before `finish` the log gets the primary's records alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use steppe_vfs::{ErrorKind, File, FileLock, OpenMode};

use super::{Files, Inner, MIN_POOL_PAGES, Store, create, wal_options};
use crate::control::{self, Control};
use crate::error::{Result, StorageError};
use crate::options::StoreOptions;
use crate::pool::Pool;
use crate::pool::writeback::{self, WriteBack};
use crate::recovery::{self, RecoveryHandler, RecoverySummary, Redone};
use crate::space::Space;
use crate::types::PAGE_SIZE;
use crate::unlogged::Unlogged;
use crate::wal::{Lsn, Priority, Record, Wal, WalReader};

/// A store whose log is being replayed.
pub struct Replay {
    options: StoreOptions,
    files: Files,
    lock: FileLock,
    created: bool,
    control_file: Arc<dyn File>,
    control: Control,
    data: Arc<dyn File>,
    wal: Arc<Wal>,
    pool: Pool,
    redone: Redone,
    restored_pages: u64,
    scan_time: Duration,
}

fn lock_and_make(options: &StoreOptions, files: &Files) -> Result<(FileLock, bool)> {
    if options.pool_pages < MIN_POOL_PAGES {
        let what = format!("shared_buffers must be at least {MIN_POOL_PAGES} pages");
        return Err(StorageError::Invalid(what));
    }
    let vfs = &*options.vfs;
    vfs.create_dir_all(&options.dir)?;
    let lock = vfs.lock_file(&files.lock).map_err(|e| match e.kind() {
        ErrorKind::Locked => StorageError::Locked(options.dir.clone()),
        _ => e.into(),
    })?;
    let created = !vfs.exists(&files.control)?;
    if created {
        create(options, files)?;
    }
    vfs.create_dir_all(&files.wal)?;
    Ok((lock, created))
}

impl Replay {
    /// Opens the store in `options.dir`, or creates it if the directory has none. Restores torn
    /// pages, redoes the log that is there, and passes every record since the last checkpoint to
    /// `handler`.
    pub fn open(options: StoreOptions, handler: &mut dyn RecoveryHandler) -> Result<Replay> {
        let files = Files::in_dir(&options.dir);
        let (lock, created) = lock_and_make(&options, &files)?;
        let vfs = &options.vfs;
        let control_file = vfs.open(&files.control, OpenMode::READ_WRITE)?;
        let corrupt =
            |what| StorageError::Corrupt { file: files.control.clone(), page: None, what };
        let control = control::read(&*control_file)?
            .ok_or_else(|| corrupt("no valid checkpoint in it".into()))?;
        let data = vfs.open(&files.data, OpenMode::READ_WRITE)?;
        let double = vfs.open(&files.double, OpenMode::READ_WRITE.direct())?;
        let restored = writeback::restore(&*data, &*double)?;

        let wal_options = wal_options(&options, control.system_id, control.wal_segment_bytes);
        wal_options.check(control.redo).map_err(corrupt)?;
        let open_reader = || {
            let vfs = Arc::clone(vfs);
            WalReader::open(vfs, &files.wal, &wal_options, control.redo, control.durable)
        };
        let scan_start = Instant::now();
        let end = recovery::find_end(&mut open_reader())?;
        let scan_time = scan_start.elapsed();
        let wal = Arc::new(Wal::open(Arc::clone(vfs), &files.wal, wal_options.clone(), end)?);
        let on_fatal = options.on_fatal.clone();
        let (to_data, to_wal) = (Arc::clone(&data), Arc::clone(&wal));
        let writeback = WriteBack::new(to_data, double, to_wal, on_fatal, restored.next_sequence);
        let pool = Pool::new(options.pool_pages, options.max_pages, Arc::clone(&data), writeback)?;
        let redone = recovery::redo(&pool, &control, &mut open_reader(), end, handler)?;
        Ok(Replay {
            options,
            files,
            lock,
            created,
            control_file,
            control,
            data,
            wal,
            pool,
            redone,
            restored_pages: restored.pages,
            scan_time,
        })
    }

    /// The end of the log that was replayed: where the next record begins.
    pub fn position(&self) -> Lsn {
        self.wal.insert_position()
    }

    /// Waits until the log that was replayed is on stable storage.
    pub fn flush(&self) -> Result<()> {
        Ok(self.wal.flush(self.position())?)
    }

    /// Adds the next record of the primary's log to this store's, redoes it, and passes it to
    /// `handler`.
    ///
    /// After an error the replay is of no more use: open it again. A full disk
    /// ([`StorageError::NoSpace`]) has changed nothing, and the record may be applied again.
    pub fn apply(&mut self, record: &Record<'_>, handler: &mut dyn RecoveryHandler) -> Result<()> {
        let refuse = |what| Err(StorageError::CorruptLog { lsn: record.start, what });
        let position = self.position();
        if record.start != position {
            return refuse(format!("the log goes on at {position}"));
        }
        let appended = self.wal.append_with(Priority::Normal, record.header, &[record.body])?;
        if appended.end != record.end {
            return refuse(format!("it ends at {} here, at {} there", appended.end, record.end));
        }
        self.redone.apply(&self.pool, record, handler)
    }

    /// Ends replay: reads the allocator's map, and opens the store for writers.
    pub fn finish(self) -> Result<Store> {
        let background = self.options.background;
        let store = Store { inner: Arc::new(self.into_inner()?) };
        if background {
            store.inner.start_cleaner(Arc::downgrade(&store.inner))?;
        }
        Ok(store)
    }

    fn into_inner(self) -> Result<Inner> {
        let Replay { options, files, control, data, pool, wal, redone, .. } = self;
        let end = wal.insert_position();
        let file_pages = (data.len()? / PAGE_SIZE as u64).max(redone.file_pages);
        data.reserve(file_pages * PAGE_SIZE as u64)?;
        let (mut words, missing) = recovery::read_bitmaps(&pool, file_pages)?;
        let unlogged = Unlogged::open(&options.vfs, &files.unlogged, &control, end, &mut words)?;
        let space = Space::new(data, pool.max_pages(), file_pages, words);
        let summary = RecoverySummary {
            created: self.created,
            redo: control.redo,
            end,
            records: redone.records,
            restored_pages: self.restored_pages,
            scan_time: self.scan_time,
            redo_time: redone.time,
        };
        let inner = Inner {
            pool,
            wal,
            space,
            unlogged,
            control_file: self.control_file,
            redo: AtomicU64::new(control.redo.0),
            control: Mutex::new(control),
            checkpoints: Mutex::default(),
            next_generation: AtomicU64::new(redone.next_generation),
            switched: AtomicU64::new(0),
            min_wal_bytes: options.min_wal_bytes,
            summary,
            stop: Arc::new(AtomicBool::new(false)),
            cleaner: Mutex::new(None),
            _lock: self.lock,
        };
        for id in missing {
            inner.make_bitmap(id)?;
        }
        Ok(inner)
    }
}
