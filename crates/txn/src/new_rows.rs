//! Rows on their way into a table.
//!
//! A row is written once, where it is handed to the log and to the leaf from: each
//! has room for its header before it, which the table fills in.
//!
//! ```text
//!   header │ row │ header │ row │ header │ row
//!               ▲ends[0]       ▲ends[1]       ▲ends[2]
//! ```

use crate::change::ROW_HEADER_LEN;

/// Rows to be inserted together, in the order of their ids.
#[derive(Default, Debug)]
pub struct NewRows {
    bytes: Vec<u8>,
    ends: Vec<usize>,
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
    }

    /// Row `i` with its header: what the table's tree holds.
    pub(crate) fn value(&self, i: usize) -> &[u8] {
        &self.bytes[self.start(i)..self.ends[i]]
    }

    fn start(&self, i: usize) -> usize {
        if i == 0 { 0 } else { self.ends[i - 1] }
    }

    /// Gives every row the same header.
    pub(crate) fn set_headers(&mut self, header: &[u8; ROW_HEADER_LEN]) {
        let mut start = 0;
        for &end in &self.ends {
            self.bytes[start..start + ROW_HEADER_LEN].copy_from_slice(header);
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
        rows.set_headers(&[7; ROW_HEADER_LEN]);
        let kept: Vec<&[u8]> = (0..rows.len()).map(|i| rows.row(i)).collect();
        assert_eq!(kept, [&b"one"[..], b"", b"three"]);
        assert_eq!(rows.value(2)[..ROW_HEADER_LEN], [7; ROW_HEADER_LEN]);
    }
}
