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

/// Makes the partitions of a pass at `depth`; of each side's rows is known how many columns they
/// and their keys have.
pub(super) fn create_partitions(
    temp: &TempSpace,
    depth: u32,
    (inner, outer): ((usize, usize), (usize, usize)),
) -> Result<Vec<Partition>> {
    let create = |_| {
        let (inner, outer) = (Blocks::create(temp, inner)?, Blocks::create(temp, outer)?);
        Ok(Partition { inner, outer, depth: depth + 1 })
    };
    (0..PARTITIONS).map(create).collect()
}

/// Writes rows to the partitions that their hashes fall into; those of `skipped` to none.
pub(super) fn distribute(
    open: &mut [Partition],
    side: Side,
    (rows, kept): (&Keyed, &[usize]),
    (hashes, skipped): (&[u64], &[bool]),
) -> Result<()> {
    let depth = open.first().map_or(0, |partition| partition.depth - 1);
    let mut places = vec![Vec::new(); open.len()];
    for (i, hash) in hashes.iter().enumerate() {
        if skipped.get(i) != Some(&true) {
            places[partition_of(*hash, depth, PARTITIONS)].push(i as u32);
        }
    }
    for (partition, places) in open.iter_mut().zip(&places) {
        if places.is_empty() {
            continue;
        }
        match side {
            Side::Outer => partition.outer.write(rows, kept, places)?,
            Side::Inner => partition.inner.write(rows, kept, places)?,
        }
    }
    Ok(())
}
