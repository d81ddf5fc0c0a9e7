//! Rows as columns in a spill file.
//!
//! A hash join or an aggregation writes a few rows at a time to each partition. The rows are
//! gathered and written as one block when there are many. An unread column takes one byte a block,
//! others take the space of their values.

use crate::vector::{Vector, read_block, write_block};
use steppe_spill::{SpillFile, SpillReader, TempSpace};
use steppe_types::{Error, Result};

/// A block has this many rows, or fewer if it has `BLOCK_BYTES` bytes.
const BLOCK_ROWS: usize = 1024;
const BLOCK_BYTES: usize = 64 * 1024;
/// A larger block is written in two.
const BLOCK_BYTES_MAX: usize = 1 << 30;

/// Rows that are written before they are read.
pub(super) struct BlockFile {
    file: SpillFile,
    gathered: Vec<Vector>,
    gathered_rows: usize,
    rows: usize,
}

impl BlockFile {
    /// An empty file for rows of `width` columns.
    pub(super) fn create(temp: &TempSpace, width: usize) -> Result<BlockFile> {
        let gathered = vec![Vector::default(); width];
        Ok(BlockFile { file: temp.create()?, gathered, gathered_rows: 0, rows: 0 })
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// Appends the rows at `places`. Columns that are not given have no values.
    pub(super) fn write<'a>(
        &mut self,
        columns: impl Iterator<Item = (usize, &'a Vector)>,
        places: &[u32],
    ) -> Result<()> {
        for (i, column) in columns {
            self.gathered[i].append_rows(column, places);
        }
        self.rows += places.len();
        self.gathered_rows += places.len();
        let bytes = || self.gathered.iter().map(Vector::bytes).sum::<usize>();
        if self.gathered_rows >= BLOCK_ROWS || bytes() >= BLOCK_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let empty = vec![Vector::default(); self.gathered.len()];
        let columns = std::mem::replace(&mut self.gathered, empty);
        let rows = std::mem::take(&mut self.gathered_rows);
        self.write_whole(rows, &columns)
    }

    fn write_whole(&mut self, rows: usize, columns: &[Vector]) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        if rows > 1 && columns.iter().map(Vector::bytes).sum::<usize>() > BLOCK_BYTES_MAX {
            let (half, end) = (rows as u32 / 2, rows as u32);
            for places in [0..half, half..end] {
                let places: Vec<u32> = places.collect();
                let part = |column: &Vector| match column.len() {
                    0 => Vector::default(),
                    _ => column.gather(&places),
                };
                let part: Vec<Vector> = columns.iter().map(part).collect();
                self.write_whole(places.len(), &part)?;
            }
            return Ok(());
        }
        let mut block = Vec::new();
        write_block(rows, columns, &mut block)?;
        self.file.write_bytes(&block)
    }

    /// Writes the gathered rows; returns the number of bytes in the file.
    pub(super) fn end(&mut self) -> Result<u64> {
        self.flush()?;
        self.file.flush()?;
        Ok(self.file.written())
    }

    /// Reads all rows.
    pub(super) fn reader(&mut self) -> Result<BlockReader> {
        self.flush()?;
        let (reader, width) = (self.file.reader(0)?, self.gathered.len());
        Ok(BlockReader { reader, block: Vec::new(), width })
    }
}

/// Reads the rows of a [`BlockFile`].
pub(super) struct BlockReader {
    reader: SpillReader,
    block: Vec<u8>,
    width: usize,
}

impl BlockReader {
    /// The number of rows of the next block, and its columns; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(usize, Vec<Vector>)>> {
        if !self.reader.read_bytes(&mut self.block)? {
            return Ok(None);
        }
        let (rows, columns) = read_block(&self.block)?;
        match columns.len() == self.width {
            true => Ok(Some((rows, columns))),
            false => Err(Error::internal("a block of spilled rows lacks columns")),
        }
    }
}
