//! Rows kept for reading again, any number of times and from any place
//! (PostgreSQL's tuplestore.c).
//!
//! In memory up to a bound, then in a spill file. A reader is a position: the
//! number of the row it reads next. Sparse file offsets make any row reachable
//! after at most [`OFFSET_EVERY`] skips; sequential readers keep their place.

use crate::batch::RowBatch;
use crate::expr::Row;
use std::sync::Arc;
use steppe_spill::{SpillFile, SpillReader, TempSpace, row_bytes};
use steppe_types::{Datum, Error, Result, SqlState};

/// Rows between remembered file offsets.
const OFFSET_EVERY: u64 = 128;

/// Rows of any one width, in memory, or on disk past `memory_max` bytes.
pub struct TupleStore {
    width: usize,
    memory: Vec<Datum>,
    bytes: usize,
    bytes_max: usize,
    rows: u64,
    temp: Option<Arc<TempSpace>>,
    file: Option<Spilled>,
}

struct Spilled {
    file: SpillFile,
    /// Offset of each row whose number is a multiple of [`OFFSET_EVERY`].
    offsets: Vec<u64>,
}

/// A place in a store.
#[derive(Default)]
pub struct StoreReader {
    next: u64,
    /// Open on the file at row `next`, once the store has spilled.
    file: Option<SpillReader>,
}

impl StoreReader {
    /// Back to the first row.
    pub(crate) fn rewind(&mut self) {
        *self = StoreReader::default();
    }
}

impl TupleStore {
    /// An empty store for rows of `width` columns.
    pub fn new(width: usize, bytes_max: usize, temp: Option<Arc<TempSpace>>) -> TupleStore {
        TupleStore { width, memory: Vec::new(), bytes: 0, bytes_max, rows: 0, temp, file: None }
    }

    /// The number of columns.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows as usize
    }

    /// Appends a row's values. 53400 where temp_file_limit allows no more.
    pub fn append(&mut self, row: &[Datum]) -> Result<()> {
        self.push(Row::of(row))
    }

    /// Appends a row.
    pub(crate) fn push(&mut self, row: Row<'_>) -> Result<()> {
        self.push_all(&[row.left, row.right])
    }

    /// Appends a row of several parts.
    pub(crate) fn push_all(&mut self, parts: &[&[Datum]]) -> Result<()> {
        let values = || parts.iter().copied().flatten();
        match &mut self.file {
            Some(spilled) => spilled.push(self.rows, values())?,
            None => {
                parts.iter().for_each(|part| self.memory.extend_from_slice(part));
                self.bytes += row_bytes(values());
                if self.bytes > self.bytes_max {
                    self.rows += 1;
                    return self.spill();
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Drops all rows. Readers must rewind.
    pub(crate) fn clear(&mut self) {
        self.memory.clear();
        self.bytes = 0;
        self.rows = 0;
        self.file = None;
    }

    /// Whether its rows are in memory.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.file.is_none()
    }

    /// Row number `index`, if the store is in memory.
    #[inline]
    pub(crate) fn in_memory(&self, index: usize) -> Option<&[Datum]> {
        match self.file {
            None => self.memory.get(index * self.width..(index + 1) * self.width),
            Some(_) => None,
        }
    }

    /// Appends the values of row number `index` to `out`. Rising indices read on; another order
    /// opens the file again.
    pub fn read_at(
        &mut self,
        reader: &mut StoreReader,
        index: usize,
        out: &mut Vec<Datum>,
    ) -> Result<bool> {
        if reader.next != index as u64 {
            *reader = StoreReader { next: index as u64, file: None };
        }
        self.read_one(reader, out)
    }

    /// Moves all rows to a new file.
    fn spill(&mut self) -> Result<()> {
        let Some(temp) = &self.temp else {
            return Err(Error::new(SqlState::OUT_OF_MEMORY, "out of memory"));
        };
        let mut spilled = Spilled { file: temp.create()?, offsets: Vec::new() };
        for i in 0..self.rows {
            let at = i as usize * self.width;
            spilled.push(i, self.memory[at..at + self.width].iter())?;
        }
        self.memory = Vec::new();
        self.bytes = 0;
        self.file = Some(spilled);
        Ok(())
    }

    /// Appends rows from the reader's place to `out` until it is full or there are no more.
    pub(crate) fn read(&mut self, reader: &mut StoreReader, out: &mut RowBatch) -> Result<()> {
        while !out.is_full() && reader.next < self.rows {
            self.read_one(reader, out.open_row())?;
            out.finish_row();
        }
        Ok(())
    }

    /// Appends the next row's values to `out`; false if there is none.
    pub fn read_one(&mut self, reader: &mut StoreReader, out: &mut Vec<Datum>) -> Result<bool> {
        if reader.next >= self.rows {
            return Ok(false);
        }
        match &mut self.file {
            None => {
                let at = reader.next as usize * self.width;
                out.extend_from_slice(&self.memory[at..at + self.width]);
            }
            Some(spilled) => {
                let before = out.len();
                let found = match &mut reader.file {
                    Some(file) => file.read(out)?,
                    None => false,
                };
                if !found {
                    // The first read after the spill, or rows were added since the reader was
                    // opened: open it again at its row.
                    debug_assert_eq!(out.len(), before);
                    let mut file = spilled.reader_at(reader.next)?;
                    file.read(out)?;
                    reader.file = Some(file);
                }
            }
        }
        reader.next += 1;
        Ok(true)
    }
}

impl Spilled {
    fn push<'a>(&mut self, number: u64, row: impl Iterator<Item = &'a Datum>) -> Result<()> {
        if number.is_multiple_of(OFFSET_EVERY) {
            self.offsets.push(self.file.written());
        }
        self.file.write(row)
    }

    fn reader_at(&mut self, row: u64) -> Result<SpillReader> {
        let offset = self.offsets.get((row / OFFSET_EVERY) as usize).copied().unwrap_or(0);
        let mut reader = self.file.reader(offset)?;
        for _ in 0..row % OFFSET_EVERY {
            reader.skip()?;
        }
        Ok(reader)
    }
}
