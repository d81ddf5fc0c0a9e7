//! Partitions of a hash join over columns, in spill files.
//!
//! A row there has the columns that somebody reads, and those that were computed for its key.

use super::PARTITIONS;
use super::table::Keyed;
use crate::hashing::partition_of;
use crate::node::block_file::{self, BlockFile};
use crate::spill::TempSpace;
use steppe_types::Result;

/// One side of a partition.
pub(super) struct Blocks {
    file: BlockFile,
    /// So many columns are not computed.
    width: usize,
}

impl Blocks {
    /// `width`: how many columns rows have, and how many their keys have besides.
    fn create(temp: &TempSpace, (width, computed): (usize, usize)) -> Result<Blocks> {
        Ok(Blocks { file: BlockFile::create(temp, width + computed)?, width })
    }

    /// How many rows.
    pub(super) fn len(&self) -> usize {
        self.file.len()
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

/// A pair of partitions on disk that is yet to be joined.
pub(super) struct Partition {
    pub(super) inner: Blocks,
    pub(super) outer: Blocks,
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
pub(super) struct Open {
    partitions: Vec<Partition>,
    /// So many are in memory.
    resident: usize,
    depth: u32,
}

impl Open {
    /// Those of a pass at `depth`, all of which are in memory still; of each side's rows is known
    /// how many columns they and their keys have.
    pub(super) fn new(
        temp: &TempSpace,
        depth: u32,
        (inner, outer): ((usize, usize), (usize, usize)),
    ) -> Result<Open> {
        let create = |_| {
            let (inner, outer) = (Blocks::create(temp, inner)?, Blocks::create(temp, outer)?);
            Ok(Partition { inner, outer, depth: depth + 1 })
        };
        let partitions = (0..PARTITIONS).map(create).collect::<Result<_>>()?;
        Ok(Open { partitions, resident: PARTITIONS, depth })
    }

    /// Has half of those that are in memory go to disk.
    pub(super) fn shed(&mut self) {
        self.resident /= 2;
    }

    /// In how many batches the rows are joined.
    pub(super) fn batches(&self) -> usize {
        PARTITIONS / self.resident.max(1)
    }

    /// Those on disk.
    pub(super) fn on_disk(self) -> impl Iterator<Item = Partition> {
        self.partitions.into_iter().skip(self.resident)
    }

    /// Writes the rows that belong to disk, but for those of `skipped`; answers the places of the
    /// others.
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
