//! COPY TO's data, row by row. Values are written in place by the caller; the
//! rare one that needs quoting or escaping is rewritten behind it.

use steppe_types::Result;

use super::binary::SIGNATURE;
use super::scan::has;
use super::{CopyFormat, CopyOptions, Header, flag};
use crate::{MAX_ALLOC_SIZE, too_large};

/// Encoder of COPY TO's data.
#[derive(Clone, Debug)]
pub struct CopyEncoder {
    options: CopyOptions,
}

impl CopyEncoder {
    /// An encoder. The options must have passed [`CopyOptions::check`].
    pub fn new(options: CopyOptions) -> CopyEncoder {
        CopyEncoder { options }
    }

    /// Writes the data before the first row: the binary header, or the line of column names if
    /// asked for.
    pub fn header(&self, buf: &mut Vec<u8>, names: &[&str]) -> Result<()> {
        if self.options.format == CopyFormat::Binary {
            buf.extend_from_slice(&SIGNATURE);
            buf.extend_from_slice(&[0; 8]);
            return Ok(());
        }
        if self.options.header == Header::None {
            return Ok(());
        }
        let mut row = self.begin_row(buf, names.len());
        row.is_header = true;
        for name in names {
            row.bytes(name.as_bytes())?;
        }
        row.finish();
        Ok(())
    }

    /// Starts a row of `columns` values at the end of `buf`.
    #[inline]
    pub fn begin_row<'b>(&'b self, buf: &'b mut Vec<u8>, columns: usize) -> RowEncoder<'b> {
        if self.options.format == CopyFormat::Binary {
            // A row has at most 1,664 columns.
            buf.extend_from_slice(&(columns as i16).to_be_bytes());
        }
        RowEncoder { options: &self.options, buf, column: 0, columns, is_header: false }
    }

    /// Writes the data behind the last row: the binary trailer.
    pub fn trailer(&self, buf: &mut Vec<u8>) {
        if self.options.format == CopyFormat::Binary {
            buf.extend_from_slice(&(-1i16).to_be_bytes());
        }
    }
}

/// A row being encoded.
pub struct RowEncoder<'b> {
    options: &'b CopyOptions,
    buf: &'b mut Vec<u8>,
    column: usize,
    columns: usize,
    is_header: bool,
}

impl RowEncoder<'_> {
    /// A NULL.
    #[inline]
    pub fn null(&mut self) {
        self.separate();
        match self.options.format {
            CopyFormat::Binary => self.buf.extend_from_slice(&(-1i32).to_be_bytes()),
            _ => self.buf.extend_from_slice(self.options.null.as_bytes()),
        }
        self.column += 1;
    }

    /// A value that is there already, in its text or binary form.
    #[inline]
    pub fn bytes(&mut self, value: &[u8]) -> Result<()> {
        self.value(|buf| {
            buf.extend_from_slice(value);
            Ok(())
        })
    }

    /// A value that `write` appends to the buffer, in its text or binary form.
    #[inline]
    pub fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.separate();
        let start = self.buf.len();
        if self.options.format == CopyFormat::Binary {
            self.buf.extend_from_slice(&[0; 4]);
            write(self.buf)?;
            let len = self.buf.len() - start - 4;
            if len > MAX_ALLOC_SIZE {
                return Err(too_large(len, 0));
            }
            self.buf[start..start + 4].copy_from_slice(&(len as u32).to_be_bytes());
        } else {
            write(self.buf)?;
            match self.options.format {
                CopyFormat::Csv => self.quote(start),
                _ => self.escape(start),
            }
        }
        self.column += 1;
        Ok(())
    }

    /// Ends the row.
    #[inline]
    pub fn finish(self) {
        debug_assert_eq!(self.column, self.columns, "a row has all its columns");
        if self.options.format != CopyFormat::Binary {
            self.buf.push(b'\n');
        }
    }

    fn separate(&mut self) {
        if self.column > 0 && self.options.format != CopyFormat::Binary {
            self.buf.push(self.options.delimiter);
        }
    }

    /// CopyAttributeOutText on the value that begins at `start`.
    fn escape(&mut self, start: usize) {
        let delimiter = self.options.delimiter;
        let special = |b: u8| (b < 0x20) | (b == b'\\') | (b == delimiter);
        if !has(&self.buf[start..], special) {
            return;
        }
        let value = self.buf.split_off(start);
        for byte in value {
            let letter = match byte {
                0x08 => b'b',
                0x0c => b'f',
                b'\n' => b'n',
                b'\r' => b'r',
                b'\t' => b't',
                0x0b => b'v',
                _ if byte == b'\\' || byte == delimiter => byte,
                _ => {
                    self.buf.push(byte);
                    continue;
                }
            };
            self.buf.extend_from_slice(&[b'\\', letter]);
        }
    }

    /// CopyAttributeOutCSV on the value that begins at `start`.
    fn quote(&mut self, start: usize) {
        let (quote, escape) = (self.options.quote, self.options.escape);
        let value = &self.buf[start..];
        let delimiter = self.options.delimiter;
        let special = |b: u8| (b == delimiter) | (b == quote) | (b == b'\n') | (b == b'\r');
        // Alone on its line, `\.` would end the data.
        let must_quote = (!self.is_header && flag(&self.options.force_quote, self.column))
            || value == self.options.null.as_bytes()
            || (self.columns == 1 && value == b"\\.")
            || has(value, special);
        if !must_quote {
            return;
        }
        let value = self.buf.split_off(start);
        self.buf.push(quote);
        for byte in value {
            if byte == quote || byte == escape {
                self.buf.push(escape);
            }
            self.buf.push(byte);
        }
        self.buf.push(quote);
    }
}
