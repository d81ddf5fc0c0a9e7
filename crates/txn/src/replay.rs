//! Replay of the log, as a loop that can continue, and its end.
//!
//! ```text
//!   Replay::open ──► apply, apply, … ──► finish ──► Engine
//!   redo and         the same for each   roll back the losers, restore the prepared,
//!   analysis of the  record that a       free dropped files, purge, checkpoint:
//!   log that is      primary has sent    from here on the log gets records of its own
//!   there
//! ```
//!
//! A start after a crash is `open` and `finish`. A standby stays between the two.
//!
//! Guarantees:
//!
//! - At each position the pages, and what is known of transactions, depend on the log alone: not on
//!   the number of calls. `tests/replay.rs` compares the two.
//! - `finish` is the first that writes. A replay that is dropped before it leaves a directory that
//!   `open` takes up where the received log ends.
//!
//! There are no readers before `finish`. README.md, "A replica", says what readers during replay need
//! and what the log has for them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use steppe_storage::wal::Record;
use steppe_storage::{self as storage, Lsn, StoreOptions};
use steppe_types::Result;
use steppe_vfs::Vfs;

use crate::engine::{Engine, EngineOptions};
use crate::recovery::Analysis;

/// An engine whose log is being replayed.
pub struct Replay {
    pages: storage::Replay,
    analysis: Analysis,
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    options: EngineOptions,
}

impl Replay {
    /// Opens the engine's directory, making a new one if there is none, and replays the log that is
    /// there.
    pub fn open(vfs: Arc<dyn Vfs>, dir: &Path, options: EngineOptions) -> Result<Replay> {
        let store_options = StoreOptions {
            vfs: Arc::clone(&vfs),
            dir: dir.to_path_buf(),
            pool_pages: options.pool_pages,
            max_pages: options.pages_max,
            background: options.background,
            wal_buffers_bytes: options.wal_buffers_bytes,
            wal_segment_bytes: options.wal_segment_bytes,
            min_wal_bytes: options.wal_bytes_min,
            system_id: options.system_id,
            on_fatal: options.on_fatal.clone(),
        };
        let mut analysis = Analysis::default();
        analysis.on_progress = options.on_progress.clone();
        let pages = storage::Replay::open(store_options, &mut analysis)?;
        Ok(Replay { pages, analysis, vfs, dir: dir.to_path_buf(), options })
    }

    /// The end of the log that was replayed: where the next record begins.
    pub fn position(&self) -> Lsn {
        self.pages.position()
    }

    /// Waits until the log that was replayed is on stable storage.
    pub fn flush(&self) -> Result<()> {
        Ok(self.pages.flush()?)
    }

    /// Replays the next record of a primary's log, which becomes the next of this one's. XX001 if it
    /// does not begin where the log ends, or makes no sense. After an error other than 53100 the
    /// replay is of no more use.
    pub fn apply(&mut self, record: &Record<'_>) -> Result<()> {
        Ok(self.pages.apply(record, &mut self.analysis)?)
    }

    /// Ends replay: takes back what has not ended, and opens the engine for sessions.
    pub fn finish(self) -> Result<Arc<Engine>> {
        let Replay { pages, analysis, vfs, dir, options } = self;
        Engine::recovered(pages.finish()?, analysis, (vfs, &dir), options)
    }
}
