//! Rows of groups for which there is no room, by partitions of their keys' hashes.

use crate::context::{ExecContext, Note};
use crate::hashing::partition_of;
use crate::spill::{SpillFile, SpillReader};
use steppe_types::{Datum, Result};

const PARTITIONS: usize = 32;
/// Past this depth the groups are too many for the bits of the hash: go on in memory.
const DEPTH_MAX: u32 = 6;

/// The rows that one loading of the table writes.
pub(super) struct Spilling {
    depth: u32,
    files: Vec<SpillFile>,
}

impl Spilling {
    /// `depth`: how often the rows that come have been written before.
    pub(super) fn new(depth: u32) -> Spilling {
        Spilling { depth, files: Vec::new() }
    }

    /// Whether rows may be written at all.
    pub(super) fn may_begin(&self) -> bool {
        self.depth < DEPTH_MAX
    }

    /// Writes a row whose key has this hash.
    pub(super) fn write(&mut self, hash: u64, row: &[Datum], cx: &ExecContext) -> Result<()> {
        if self.files.is_empty() {
            let temp = cx.temp()?;
            self.files = (0..PARTITIONS).map(|_| temp.create()).collect::<Result<_>>()?;
        }
        self.files[partition_of(hash, self.depth, PARTITIONS)].write(row.iter())
    }
}

/// The partitions that are still to be aggregated.
#[derive(Default)]
pub(super) struct Spilled {
    partitions: Vec<(SpillFile, u32)>,
    bytes: u64,
}

impl Spilled {
    /// Takes what a loading has written.
    pub(super) fn take(&mut self, spilling: Spilling) -> Result<()> {
        let depth = spilling.depth + 1;
        for mut file in spilling.files.into_iter().filter(|file| file.len() > 0) {
            file.flush()?;
            self.bytes += file.len();
            self.partitions.push((file, depth));
        }
        Ok(())
    }

    /// The rows of the next partition, and how often they have been written.
    pub(super) fn next(&mut self) -> Result<Option<(SpillReader, u32)>> {
        let Some((mut file, depth)) = self.partitions.pop() else { return Ok(None) };
        Ok(Some((file.reader(0)?, depth)))
    }

    /// EXPLAIN ANALYZE's "Batches: … Memory Usage: …" line for node `id`, whose table takes so many
    /// bytes.
    pub(super) fn note(&self, id: usize, table_bytes: usize, cx: &mut ExecContext) {
        if let Some(instrument) = cx.instrument(id) {
            instrument.note = Some(Note::HashAggregate {
                batches: self.partitions.len() as u64 + 1,
                memory_kilobytes: table_bytes.div_ceil(1024).max(24) as u64,
                disk_kilobytes: self.bytes.div_ceil(1024),
            });
        }
    }
}
