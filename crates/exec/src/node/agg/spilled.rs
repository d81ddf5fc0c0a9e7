//! Rows of groups for which there is no room, by partitions of their keys' hashes.

use crate::context::{ExecContext, Note};
use crate::hashing::partition_of;
use steppe_spill::SpillFile;
use steppe_types::Result;

const PARTITIONS: usize = 32;
/// Past this depth the groups are too many for the bits of the hash: go on in memory.
const DEPTH_MAX: u32 = 6;

/// A file of rows, in any form.
pub(super) trait Partition {
    /// Writes buffered rows to the file; returns its bytes.
    fn end(&mut self) -> Result<u64>;
}

impl Partition for SpillFile {
    fn end(&mut self) -> Result<u64> {
        self.flush()?;
        Ok(self.written())
    }
}

/// The rows that one loading of the table writes.
pub(super) struct Spilling<P> {
    depth: u32,
    partitions: Vec<P>,
}

impl<P: Partition> Spilling<P> {
    /// `depth`: how often the rows have been written before.
    pub(super) fn new(depth: u32) -> Spilling<P> {
        Spilling { depth, partitions: Vec::new() }
    }

    /// Whether rows may be written at all.
    pub(super) fn may_begin(&self) -> bool {
        self.depth < DEPTH_MAX
    }

    /// Whether the rows have never been written.
    pub(super) fn is_first(&self) -> bool {
        self.depth == 0
    }

    /// The partitions; `create` makes one.
    pub(super) fn partitions(&mut self, create: impl Fn() -> Result<P>) -> Result<&mut [P]> {
        if self.partitions.is_empty() {
            self.partitions = (0..PARTITIONS).map(|_| create()).collect::<Result<_>>()?;
        }
        Ok(&mut self.partitions)
    }

    /// The number of the partition in which a row is whose key has this hash.
    pub(super) fn place(&self, hash: u64) -> usize {
        partition_of(hash, self.depth, PARTITIONS)
    }
}

/// The partitions that are still to be aggregated.
pub(super) struct Spilled<P> {
    partitions: Vec<(P, u32)>,
    /// The number of batches so far, and the table's greatest size.
    batches: u64,
    table_bytes: usize,
    bytes: u64,
}

impl<P> Default for Spilled<P> {
    fn default() -> Spilled<P> {
        Spilled { partitions: Vec::new(), batches: 0, table_bytes: 0, bytes: 0 }
    }
}

impl<P: Partition> Spilled<P> {
    /// Takes the rows that a loading has written, and the size of its table. Records both for
    /// EXPLAIN ANALYZE's line about batches and memory of node `id`. Several loadings of the same
    /// rows are one batch, which `is_last` ends.
    pub(super) fn take(
        &mut self,
        (spilling, is_last): (Spilling<P>, bool),
        table_bytes: usize,
        id: usize,
        cx: &mut ExecContext,
    ) -> Result<()> {
        self.keep(spilling)?;
        self.batches += u64::from(is_last);
        self.table_bytes = self.table_bytes.max(table_bytes);
        if let Some(instrument) = cx.instrument(id) {
            instrument.note = Some(Note::HashAggregate {
                batches: self.batches,
                memory_kilobytes: self.table_bytes.div_ceil(1024).max(24) as u64,
                disk_kilobytes: self.bytes.div_ceil(1024),
            });
        }
        Ok(())
    }

    /// Takes the rows that a loading has written.
    pub(super) fn keep(&mut self, spilling: Spilling<P>) -> Result<()> {
        let depth = spilling.depth + 1;
        for mut partition in spilling.partitions {
            let bytes = partition.end()?;
            if bytes > 0 {
                self.bytes += bytes;
                self.partitions.push((partition, depth));
            }
        }
        Ok(())
    }

    /// The next partition, and the number of times its rows have been written.
    pub(super) fn next(&mut self) -> Option<(P, u32)> {
        self.partitions.pop()
    }
}
