//! The progress of a long utility command, for pg_stat_progress_vacuum and its kin.
//!
//! The command's thread alone writes; a view reads the numbers one after the other.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use steppe_types::Oid;

/// The utility command that is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Utility {
    /// VACUUM of a table.
    Vacuum,
    /// ANALYZE of a table.
    Analyze,
    /// An index is filled.
    BuildIndex {
        /// The index.
        index: Oid,
        /// `CREATE INDEX` or `REINDEX`.
        command: &'static str,
    },
}

/// PostgreSQL's phases, as they apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The first phase of each command.
    Initializing,
    /// VACUUM sweeps an index.
    VacuumingIndexes,
    /// It sweeps rows.
    VacuumingHeap,
    /// It sweeps out-of-line values.
    FinalCleanup,
    /// ANALYZE reads rows.
    AcquiringSampleRows,
    /// It makes statistics of them.
    ComputingStatistics,
    /// An index's table is read.
    ScanningTable,
    /// Its entries are sorted.
    SortingTuples,
    /// They are put into the tree.
    LoadingTuples,
}

impl Phase {
    const ALL: [Phase; 9] = [
        Phase::Initializing,
        Phase::VacuumingIndexes,
        Phase::VacuumingHeap,
        Phase::FinalCleanup,
        Phase::AcquiringSampleRows,
        Phase::ComputingStatistics,
        Phase::ScanningTable,
        Phase::SortingTuples,
        Phase::LoadingTuples,
    ];

    /// As the views show it.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Initializing => "initializing",
            Phase::VacuumingIndexes => "vacuuming indexes",
            Phase::VacuumingHeap => "vacuuming heap",
            Phase::FinalCleanup => "performing final cleanup",
            Phase::AcquiringSampleRows => "acquiring sample rows",
            Phase::ComputingStatistics => "computing statistics",
            Phase::ScanningTable => "building index: scanning table",
            Phase::SortingTuples => "building index: sorting live tuples",
            Phase::LoadingTuples => "building index: loading tuples in tree",
        }
    }
}

/// A growing number, and its final value.
#[derive(Debug, Default)]
pub struct Course {
    total: AtomicU64,
    done: AtomicU64,
}

impl Course {
    /// Begins with `total` to do.
    pub fn begin(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
    }

    /// Adds `more` to the amount done.
    pub fn advance(&self, more: u64) {
        self.done.store(self.done() + more, Ordering::Relaxed);
    }

    /// The amount to do; 0 while it is unknown.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// The amount done.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}

/// A command's progress.
#[derive(Debug)]
pub struct Progress {
    /// The command.
    pub utility: Utility,
    /// The table; that of a partitioned index, while its leaves' are built.
    pub relation: Oid,
    phase: AtomicU8,
    /// Pages of the table.
    pub pages: Course,
    /// Entries of the index that is filled.
    pub entries: Course,
    /// Indexes of the table.
    pub indexes: Course,
    /// Partitions that get an index of their own, at all levels.
    pub partitions: Course,
}

impl Progress {
    /// The progress of a command that begins.
    pub fn new(utility: Utility, relation: Oid) -> Progress {
        Progress {
            utility,
            relation,
            phase: AtomicU8::new(Phase::Initializing as u8),
            pages: Course::default(),
            entries: Course::default(),
            indexes: Course::default(),
            partitions: Course::default(),
        }
    }

    /// The command enters another phase.
    pub fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// The current phase.
    pub fn phase(&self) -> Phase {
        Phase::ALL[usize::from(self.phase.load(Ordering::Relaxed))]
    }
}
