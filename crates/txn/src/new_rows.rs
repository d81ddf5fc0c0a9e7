//! Rows on their way into a table.
//!
//! A row is written once, where it is handed to the log and to the leaf from: each
//! has room for its header before it, which the table fills in.
//!
//! ```text
//!   header │ row │ header │ row │ header │ row
//!               ▲ends[0]       ▲ends[1]       ▲ends[2]
//! ```

use crate::change::{Origin, ROW_HEADER_LEN, RowHeader, Word};

/// Rows to be inserted together, in the order of their ids.
#[derive(Default, Debug)]
pub struct NewRows {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The numbers of the commands that the rows are of; empty if all are of the running one.
    commands: Vec<u32>,
}

impl NewRows {
    /// Adds the row that `write` appends to its buffer; none if it fails.
    pub fn push_with<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; ROW_HEADER_LEN]);
        let written = write(&mut self.bytes);
        match written {
            Ok(()) => self.ends.push(self.bytes.len()),
            Err(_) => self.bytes.truncate(start),
        }
        written
    }

    /// Adds a row.
    pub fn push(&mut self, row: &[u8]) {
        self.bytes.extend_from_slice(&[0; ROW_HEADER_LEN]);
        self.bytes.extend_from_slice(row);
        self.ends.push(self.bytes.len());
    }

    /// As [`Self::push_with`], for the row of another command ([`crate::Txn::number_command`]). All
    /// rows are added in this way, or none.
    pub fn push_of<E>(
        &mut self,
        command: u32,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        debug_assert_eq!(self.commands.len(), self.ends.len(), "rows of numbered commands");
        self.push_with(write)?;
        self.commands.push(command);
        Ok(())
    }

    /// Whether they are of other commands than the running one.
    pub fn are_of_others(&self) -> bool {
        !self.commands.is_empty()
    }

    /// The bytes that they take.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Row `i`, without its header.
    pub fn row(&self, i: usize) -> &[u8] {
        &self.value(i)[ROW_HEADER_LEN..]
    }

    /// Forgets the rows, not the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.commands.clear();
    }

    /// Row `i` with its header: what the table's tree holds.
    pub(crate) fn value(&self, i: usize) -> &[u8] {
        &self.bytes[self.start(i)..self.ends[i]]
    }

    fn start(&self, i: usize) -> usize {
        if i == 0 { 0 } else { self.ends[i - 1] }
    }

    /// Gives the rows their headers: inserted by a transaction, each by its command, or all by the
    /// running one.
    pub(crate) fn set_headers(&mut self, xid: u64, running: u32) {
        let mut start = 0;
        let header = |command| {
            RowHeader { word: Word::new(xid, 0), origin: Origin::Inserted(command) }.to_bytes()
        };
        let mut header_of = (running, header(running));
        for (i, &end) in self.ends.iter().enumerate() {
            if let Some(&command) = self.commands.get(i)
                && command != header_of.0
            {
                header_of = (command, header(command));
            }
            self.bytes[start..start + ROW_HEADER_LEN].copy_from_slice(&header_of.1);
            start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_row_leaves_nothing_behind() {
        let mut rows = NewRows::default();
        rows.push(b"one");
        let failed = rows.push_with(|out| {
            out.extend_from_slice(b"half a row");
            Err("no")
        });
        assert_eq!(failed, Err("no"));
        rows.push(b"");
        rows.push(b"three");
        rows.set_headers(7, 3);
        let kept: Vec<&[u8]> = (0..rows.len()).map(|i| rows.row(i)).collect();
        assert_eq!(kept, [&b"one"[..], b"", b"three"]);
        assert_eq!(command(&rows, 2), Origin::Inserted(3));
    }

    #[test]
    fn a_row_of_another_command_has_its_number() {
        let mut rows = NewRows::default();
        for number in [5, 6, 9] {
            let failed = rows.push_of(number, |_| Err("no"));
            assert_eq!(failed, Err("no"));
            let write = |out: &mut Vec<u8>| {
                out.push(b'r');
                Ok::<_, ()>(())
            };
            rows.push_of(number, write).expect("is written");
        }
        assert!(rows.are_of_others());
        rows.set_headers(7, 3);
        let commands: Vec<Origin> = (0..rows.len()).map(|i| command(&rows, i)).collect();
        assert_eq!(commands, [5, 6, 9].map(Origin::Inserted));
        rows.clear();
        assert!(!rows.are_of_others());
    }

    fn command(rows: &NewRows, i: usize) -> Origin {
        RowHeader::split(rows.value(i)).expect("has a header").0.origin
    }
}
