//! Partitions of a hash join over columns, in spill files.
//!
//! Rows of a partition are gathered as columns and written as one block when there are many. A
//! row there has the columns that somebody reads, and those that were computed for its key.

use super::PARTITIONS;
use super::table::Keyed;
use crate::hashing::partition_of;
use crate::spill::{SpillFile, SpillReader, TempSpace};
use crate::vector::{Vector, read_block, write_block};
use steppe_types::{Error, Result};

/// A block has so many rows, or so many bytes if it is not that many.
const BLOCK_ROWS: usize = 1024;
const BLOCK_BYTES: usize = 64 * 1024;
/// One of so many bytes is written in two.
const BLOCK_BYTES_MAX: usize = 1 << 30;

/// One side of a partition.
pub(super) struct Blocks {
    file: SpillFile,
    gathered: Keyed,
    rows: usize,
}

impl Blocks {
    fn create(temp: &TempSpace) -> Result<Blocks> {
        Ok(Blocks { file: temp.create()?, gathered: Keyed::default(), rows: 0 })
    }

    /// How many rows.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// Appends rows with the columns of `kept`.
    fn write(&mut self, from: &Keyed, kept: &[usize], rows: &[u32]) -> Result<()> {
        self.rows += rows.len();
        let gathered = &mut self.gathered;
        gathered.columns.resize_with(from.columns.len(), Vector::default);
        gathered.computed.resize_with(from.computed.len(), Vector::default);
        gathered.rows += rows.len();
        kept.iter().for_each(|i| gathered.columns[*i].append_rows(&from.columns[*i], rows));
        for (to, from) in gathered.computed.iter_mut().zip(&from.computed) {
            to.append_rows(from, rows);
        }
        if gathered.rows >= BLOCK_ROWS || gathered.bytes() >= BLOCK_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.gathered);
        self.write_whole(rows)
    }

    fn write_whole(&mut self, mut rows: Keyed) -> Result<()> {
        if rows.rows == 0 {
            return Ok(());
        }
        if rows.rows > 1 && rows.bytes() > BLOCK_BYTES_MAX {
            let half = rows.rows as u32 / 2;
            let mut first = Keyed { rows: rows.rows, ..Keyed::default() };
            first.columns = rows.columns.clone();
            first.computed = rows.computed.clone();
            let end = rows.rows as u32;
            first.keep(&(0..half).collect::<Vec<_>>());
            rows.keep(&(half..end).collect::<Vec<_>>());
            self.write_whole(first)?;
            return self.write_whole(rows);
        }
        let count = rows.rows;
        let mut columns = rows.columns;
        columns.append(&mut rows.computed);
        let mut block = Vec::new();
        write_block(count, &columns, &mut block)?;
        self.file.write_bytes(&block)
    }

    /// Reads all rows; `width` of their columns are not computed.
    pub(super) fn reader(&mut self, width: usize) -> Result<BlockReader> {
        self.flush()?;
        Ok(BlockReader { reader: self.file.reader(0)?, block: Vec::new(), width })
    }
}

/// Reads the rows of one side.
pub(super) struct BlockReader {
    reader: SpillReader,
    block: Vec<u8>,
    width: usize,
}

impl BlockReader {
    /// The next block; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Keyed>> {
        if !self.reader.read_bytes(&mut self.block)? {
            return Ok(None);
        }
        let (rows, mut columns) = read_block(&self.block)?;
        if columns.len() < self.width {
            return Err(Error::internal("a block of a hash join lacks columns"));
        }
        let computed = columns.split_off(self.width);
        Ok(Some(Keyed { rows, columns, computed }))
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

/// Makes the partitions of a pass at `depth`.
pub(super) fn create_partitions(temp: &TempSpace, depth: u32) -> Result<Vec<Partition>> {
    let create = |_| {
        let (inner, outer) = (Blocks::create(temp)?, Blocks::create(temp)?);
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
