//! Partitions of a hash join in spill files, for rows in any form: which ones a pass writes, and in
//! what order they are joined.
//!
//! A row in a file of columns ([`Blocks`]) has the columns that the join reads, and those computed
//! for its key.

use super::table::Keyed;
use super::{HashJoinPlan, PARTITIONS};
use crate::hashing::partition_of;
use crate::node::block_file::{self, BlockFile};
use steppe_spill::{SpillFile, TempSpace};
use steppe_types::Result;

/// One side of a partition.
pub(super) struct Blocks {
    file: BlockFile,
    /// The number of columns before the computed ones.
    width: usize,
}

impl Blocks {
    /// `width`: the number of the rows' columns. `computed`: the number of computed key columns.
    pub(super) fn create(temp: &TempSpace, (width, computed): (usize, usize)) -> Result<Blocks> {
        Ok(Blocks { file: BlockFile::create(temp, width + computed)?, width })
    }

    /// Appends rows with the columns of `kept`.
    fn write(&mut self, from: &Keyed, kept: &[usize], rows: &[u32]) -> Result<()> {
        let columns = kept.iter().map(|i| (*i, &from.columns[*i]));
        let computed = from.computed.iter().enumerate().map(|(i, c)| (self.width + i, c));
        self.file.write(columns.chain(computed), rows)
    }

    /// Reads all rows.
    pub(super) fn reader(&mut self) -> Result<BlockReader> {
        Ok(BlockReader { reader: self.file.reader()?, width: self.width })
    }
}

/// Reads the rows of one side.
pub(super) struct BlockReader {
    reader: block_file::BlockReader,
    width: usize,
}

impl BlockReader {
    /// The next block; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Keyed>> {
        let next = self.reader.next()?;
        Ok(next.map(|(rows, mut columns)| {
            let computed = columns.split_off(self.width);
            Keyed { rows, columns, computed }
        }))
    }
}

/// The rows of one side of a partition.
pub(super) trait SideFile {
    fn is_empty(&self) -> bool;
}

impl SideFile for Blocks {
    fn is_empty(&self) -> bool {
        self.file.len() == 0
    }
}

impl SideFile for SpillFile {
    fn is_empty(&self) -> bool {
        self.written() == 0
    }
}

/// A pair of partitions on disk that is yet to be joined.
pub(super) struct Partition<F> {
    pub(super) inner: F,
    pub(super) outer: F,
    pub(super) depth: u32,
}

/// A side of a join.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Outer,
    Inner,
}

/// The partitions that one pass fills. The first ones stay in memory as long as there is room:
/// their rows are in the table.
pub(super) struct Open<F> {
    partitions: Vec<Partition<F>>,
    /// The number of partitions in memory.
    resident: usize,
    depth: u32,
}

impl<F> Open<F> {
    /// The partitions of a pass at `depth`, all of which are in memory still. `create` makes the
    /// inner and the outer side of one.
    pub(super) fn new(depth: u32, create: impl Fn() -> Result<(F, F)>) -> Result<Open<F>> {
        let create = |_| {
            let (inner, outer) = create()?;
            Ok(Partition { inner, outer, depth: depth + 1 })
        };
        let partitions = (0..PARTITIONS).map(create).collect::<Result<_>>()?;
        Ok(Open { partitions, resident: PARTITIONS, depth })
    }

    /// Moves half of the partitions in memory to disk.
    pub(super) fn shed(&mut self) {
        self.resident /= 2;
    }

    /// The number of batches in which the rows are joined.
    pub(super) fn batches(&self) -> usize {
        PARTITIONS / self.resident.max(1)
    }

    /// The partition for a key of this hash, if it is on disk.
    pub(super) fn on_disk(&mut self, hash: u64) -> Option<&mut Partition<F>> {
        let place = partition_of(hash, self.depth, PARTITIONS);
        if place < self.resident { None } else { self.partitions.get_mut(place) }
    }
}

/// The partitions that are yet to be joined.
pub(super) struct Pending<F>(Vec<Partition<F>>);

impl<F> Default for Pending<F> {
    fn default() -> Pending<F> {
        Pending(Vec::new())
    }
}

impl<F: SideFile> Pending<F> {
    /// Takes the partitions that a pass has written, if any.
    pub(super) fn take(&mut self, written: Option<Open<F>>) {
        let on_disk = |open: Open<F>| open.partitions.into_iter().skip(open.resident);
        self.0.extend(written.into_iter().flat_map(on_disk));
    }

    /// The next partition that may have rows to hand up.
    pub(super) fn next(&mut self, join: &HashJoinPlan) -> Option<Partition<F>> {
        loop {
            let partition = self.0.pop()?;
            let nothing_outer = partition.outer.is_empty() && !join.keeps_inner();
            let nothing_inner = partition.inner.is_empty() && !join.keeps_outer();
            if !nothing_outer && !nothing_inner {
                return Some(partition);
            }
        }
    }
}

impl Open<Blocks> {
    /// Writes the rows that belong to disk, except those in `skipped`. Returns the places of the
    /// other rows.
    pub(super) fn distribute(
        &mut self,
        side: Side,
        (rows, kept): (&Keyed, &[usize]),
        (hashes, skipped): (&[u64], &[bool]),
    ) -> Result<Vec<u32>> {
        let (mut left, mut places) = (Vec::new(), vec![Vec::new(); PARTITIONS]);
        for (i, hash) in hashes.iter().enumerate() {
            let place = partition_of(*hash, self.depth, PARTITIONS);
            match place < self.resident || skipped.get(i) == Some(&true) {
                true => left.push(i as u32),
                false => places[place].push(i as u32),
            }
        }
        for (partition, places) in self.partitions.iter_mut().zip(&places) {
            if places.is_empty() {
                continue;
            }
            match side {
                Side::Outer => partition.outer.write(rows, kept, places)?,
                Side::Inner => partition.inner.write(rows, kept, places)?,
            }
        }
        Ok(left)
    }
}
