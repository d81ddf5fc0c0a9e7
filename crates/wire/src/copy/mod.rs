//! COPY data: how rows are framed in the text, CSV and binary formats, both ways.
//!
//! ```text
//!   CopyData ─ feed ─▶ CopyDecoder ─ next_row ─▶ Row: nullable byte slices
//!   values ─▶ CopyEncoder ─ begin_row ─▶ bytes for CopyData or a file
//! ```
//!
//! This module recognizes NULL and undoes the formats' escapes; otherwise a field's bytes have no
//! meaning here. Chunks may be cut anywhere. Decoding resumes where it stopped, so that every byte
//! is read a bounded number of times, for any size of chunks. The memory needed is that of the
//! unfinished line or tuple, at most 1 GiB.
//!
//! The behaviour, errors included, is PostgreSQL's
//! (src/backend/commands/copyfromparse.c, copyto.c). As in PostgreSQL up to 17,
//! `\.` alone on a line ends CSV data too: psql before 18 sends it.

mod binary;
mod csv;
mod encode;
mod lines;
mod plain;
mod scan;
mod text;

use steppe_types::{Error, Result, SqlState};

pub use encode::{CopyEncoder, RowEncoder};

use binary::BinaryDecoder;
use lines::LineDecoder;

/// Which of COPY's formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CopyFormat {
    /// `FORMAT text`: backslash escapes, one line a row.
    #[default]
    Text,
    /// `FORMAT csv`: with quotes, so that a row may span lines.
    Csv,
    /// `FORMAT binary`: length words and the types' binary forms.
    Binary,
}

/// The kind of the data's first line.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Header {
    /// A row like the others.
    #[default]
    None,
    /// Column names; skipped on input.
    Names,
    /// Column names, which on input must be these.
    Match(Vec<String>),
}

/// COPY's options. Column lists are flags by position among the copied columns;
/// missing ones are off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOptions {
    /// FORMAT.
    pub format: CopyFormat,
    /// DELIMITER.
    pub delimiter: u8,
    /// NULL.
    pub null: String,
    /// DEFAULT (input).
    pub default: Option<String>,
    /// HEADER.
    pub header: Header,
    /// QUOTE (CSV).
    pub quote: u8,
    /// ESCAPE (CSV).
    pub escape: u8,
    /// FORCE_QUOTE (CSV, output).
    pub force_quote: Vec<bool>,
    /// FORCE_NOT_NULL (CSV, input).
    pub force_not_null: Vec<bool>,
    /// FORCE_NULL (CSV, input).
    pub force_null: Vec<bool>,
}

impl CopyOptions {
    /// A format's defaults.
    pub fn new(format: CopyFormat) -> CopyOptions {
        let csv = format == CopyFormat::Csv;
        CopyOptions {
            format,
            delimiter: if csv { b',' } else { b'\t' },
            null: if csv { String::new() } else { "\\N".into() },
            default: None,
            header: Header::None,
            quote: b'"',
            escape: b'"',
            force_quote: Vec::new(),
            force_not_null: Vec::new(),
            force_null: Vec::new(),
        }
    }

    /// The byte that the option `what` ("delimiter", "quote", "escape") names.
    pub fn single_byte(what: &str, value: &str) -> Result<u8> {
        match value.as_bytes() {
            [byte] => Ok(*byte),
            _ => Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("COPY {what} must be a single one-byte character"),
            )),
        }
    }

    /// Refuses options that would make the data ambiguous (ProcessCopyOptions).
    pub fn check(&self) -> Result<()> {
        let csv = self.format == CopyFormat::Csv;
        let newline = |b: u8| matches!(b, b'\r' | b'\n');
        let null = self.null.as_bytes();
        let message = if newline(self.delimiter) {
            "COPY delimiter cannot be newline or carriage return".to_owned()
        } else if null.iter().any(|&b| newline(b)) {
            "COPY null representation cannot use newline or carriage return".to_owned()
        } else if !csv && is_text_special(self.delimiter) {
            format!("COPY delimiter cannot be \"{}\"", char::from(self.delimiter))
        } else if csv && self.delimiter == self.quote {
            "COPY delimiter and quote must be different".to_owned()
        } else if null.contains(&self.delimiter) {
            "COPY delimiter character must not appear in the NULL specification".to_owned()
        } else if csv && null.contains(&self.quote) {
            "CSV quote character must not appear in the NULL specification".to_owned()
        } else {
            return self.check_default();
        };
        Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
    }

    fn check_default(&self) -> Result<()> {
        let Some(default) = self.default.as_deref() else { return Ok(()) };
        if default.contains(['\r', '\n']) {
            let message = "COPY default representation cannot use newline or carriage return";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        let message = if default.as_bytes().contains(&self.delimiter) {
            "COPY delimiter character must not appear in the DEFAULT specification"
        } else if self.format == CopyFormat::Csv && default.as_bytes().contains(&self.quote) {
            "CSV quote character must not appear in the DEFAULT specification"
        } else if default == self.null {
            "NULL specification and DEFAULT specification cannot be the same"
        } else {
            return Ok(());
        };
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
    }
}

/// Whether a byte can follow a backslash, so that it cannot be the text format's delimiter.
fn is_text_special(byte: u8) -> bool {
    matches!(byte, b'\\' | b'.' | b'a'..=b'z' | b'0'..=b'9')
}

/// A flag of a per-column list.
fn flag(flags: &[bool], i: usize) -> bool {
    flags.get(i).copied().unwrap_or(false)
}

#[cold]
fn bad_format(message: impl Into<String>) -> Error {
    Error::new(SqlState::BAD_COPY_FILE_FORMAT, message)
}

/// Where a field's bytes are.
#[derive(Clone, Copy, Debug)]
enum FieldPos {
    Null,
    /// The column's default is asked for.
    Default,
    /// In the row's own bytes.
    Raw(u32, u32),
    /// In the scratch buffer, because escapes were undone.
    Unescaped(u32, u32),
}

/// A row as the client sent it.
#[derive(Clone, Copy, Debug)]
enum Raw<'a> {
    /// A line of the text and CSV formats.
    Line(&'a str),
    Binary(&'a [u8]),
}

/// One decoded row. Fields of the text and CSV formats are valid UTF-8.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    raw: Raw<'a>,
    scratch: &'a [u8],
    fields: &'a [FieldPos],
}

impl<'a> Row<'a> {
    /// The number of fields in the row, which is at most the number of columns. If it is less, the
    /// caller reports the first missing one ([`missing_data`]).
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether the row has no fields (a table without columns).
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Whether field `i` asks for the column's default.
    #[inline]
    pub fn is_default(&self, i: usize) -> bool {
        matches!(self.fields.get(i), Some(FieldPos::Default))
    }

    /// Field `i`; `None` if it is NULL, asks for the default, or is missing.
    #[inline]
    pub fn get(&self, i: usize) -> Option<&'a [u8]> {
        match *self.fields.get(i)? {
            FieldPos::Null | FieldPos::Default => None,
            FieldPos::Raw(start, end) => {
                let bytes = match self.raw {
                    Raw::Line(line) => line.as_bytes(),
                    Raw::Binary(bytes) => bytes,
                };
                bytes.get(start as usize..end as usize)
            }
            FieldPos::Unescaped(start, end) => self.scratch.get(start as usize..end as usize),
        }
    }

    /// Field `i` of the text and CSV formats.
    #[inline]
    pub fn text(&self, i: usize) -> Result<Option<&'a str>> {
        // The line was verified as a whole, and a field of it begins and ends at ASCII.
        if let (Raw::Line(line), Some(FieldPos::Raw(start, end))) = (self.raw, self.fields.get(i))
            && let Some(field) = line.get(*start as usize..*end as usize)
        {
            return Ok(Some(field));
        }
        self.get(i).map(crate::text::verify_no_nul).transpose()
    }

    /// Iterates over the fields.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&'a [u8]>> + use<'a> {
        let row = *self;
        (0..row.len()).map(move |i| row.get(i))
    }
}

/// The 22P04 for a row that ends before this column.
pub fn missing_data(column: &str) -> Error {
    bad_format(format!("missing data for column \"{column}\""))
}

/// The 22P04 for a default that is asked for where there is none.
pub fn no_default(column: &str) -> Error {
    bad_format("unexpected default marker in COPY data")
        .detail(format!("Column \"{column}\" has no default value."))
}

/// The activity of COPY FROM, for the error's context line.
#[derive(Clone, Copy, Debug)]
pub enum Doing<'a> {
    /// Cutting the row into fields, or something with the whole row.
    Row,
    /// Converting this column's field (`None`: NULL).
    Column(&'a str, Option<&'a str>),
}

/// Incremental decoder of COPY FROM's data.
pub struct CopyDecoder(Kind);

enum Kind {
    Lines(Box<LineDecoder>),
    Binary(Box<BinaryDecoder>),
}

impl CopyDecoder {
    /// A decoder of rows of `columns` fields. The options must have passed
    /// [`CopyOptions::check`].
    pub fn new(options: CopyOptions, columns: usize) -> CopyDecoder {
        CopyDecoder(match options.format {
            CopyFormat::Binary => Kind::Binary(Box::new(BinaryDecoder::new(columns))),
            _ => Kind::Lines(Box::new(LineDecoder::new(options, columns))),
        })
    }

    /// Adds a chunk of data.
    pub fn feed(&mut self, chunk: &[u8]) {
        match &mut self.0 {
            Kind::Lines(decoder) => decoder.feed(chunk),
            Kind::Binary(decoder) => decoder.feed(chunk),
        }
    }

    /// Ends the data: the rest of it is the last row.
    pub fn finish(&mut self) {
        match &mut self.0 {
            Kind::Lines(decoder) => decoder.finish(),
            Kind::Binary(decoder) => decoder.finish(),
        }
    }

    /// The next whole row; `None` until more data comes, or at the end.
    #[inline]
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        match &mut self.0 {
            Kind::Lines(decoder) => decoder.next_row(),
            Kind::Binary(decoder) => decoder.next_row(),
        }
    }

    /// The number of the line (binary: tuple) last looked at, from 1.
    pub fn line_number(&self) -> u64 {
        match &self.0 {
            Kind::Lines(decoder) => decoder.line_number(),
            Kind::Binary(decoder) => decoder.tuple_number(),
        }
    }

    /// The context line of an error in this COPY (CopyFromErrorCallback).
    pub fn context(&self, table: &str, doing: Doing<'_>) -> String {
        let place = format!("COPY {table}, line {}", self.line_number());
        match (&self.0, doing) {
            (Kind::Binary(_), Doing::Column(column, _)) => format!("{place}, column {column}"),
            (Kind::Binary(_), Doing::Row) => place,
            (Kind::Lines(_), Doing::Column(column, Some(value))) => {
                format!("{place}, column {column}: \"{}\"", shorten(value))
            }
            (Kind::Lines(_), Doing::Column(column, None)) => {
                format!("{place}, column {column}: null input")
            }
            (Kind::Lines(decoder), Doing::Row) => match decoder.line() {
                Some(line) => {
                    format!("{place}: \"{}\"", shorten(&String::from_utf8_lossy(line)))
                }
                None => place,
            },
        }
    }
}

/// MAX_COPY_DATA_DISPLAY: data in a context line is cut to this many bytes.
const MAX_DISPLAY: usize = 100;

/// Data as messages show it (CopyLimitPrintoutLength).
pub fn shorten(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() <= MAX_DISPLAY {
        return text.into();
    }
    format!("{}...", &text[..text.floor_char_boundary(MAX_DISPLAY)]).into()
}

#[cfg(test)]
mod tests;
