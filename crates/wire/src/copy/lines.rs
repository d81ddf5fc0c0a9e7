//! The text and CSV formats' lines: where one ends, what the newline style is, and the `\.` that
//! ends the text format's data. The modules [`super::text`] and [`super::csv`] cut a line into
//! fields.

use steppe_types::{Error, Result};

use super::scan::find;
use super::{CopyFormat, CopyOptions, FieldPos, Header, Raw, Row, bad_format, csv, plain, text};
use crate::{MAX_ALLOC_SIZE, too_large};

/// How lines end; the first line decides for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Newline {
    Unknown,
    Lf,
    Cr,
    CrLf,
}

/// The result of the search for a line's end.
enum Found {
    /// A line up to `end`; the next begins at `next`.
    Line { end: usize, next: usize },
    /// The line goes on past the data that is there.
    More,
    /// The end-of-data mark.
    Mark,
}

/// The meaning of a backslash at `at`.
enum Backslash {
    Mark,
    NotMark,
    More,
}

pub(super) struct LineDecoder {
    options: CopyOptions,
    columns: usize,
    /// Data received; the current line begins at `pos`.
    buf: Vec<u8>,
    pos: usize,
    /// The search for this line's end continues here.
    scanned: usize,
    newline: Newline,
    /// CSV: between quotes.
    in_quote: bool,
    /// CSV: the byte before was an escape that is not itself escaped.
    after_escape: bool,
    /// The data has ended.
    ended: bool,
    /// The mark was seen, or all data was returned.
    done: bool,
    line_number: u64,
    /// Whether the line number is the current line's and not the last one's.
    in_line: bool,
    header_due: bool,
    /// A line without backslashes holds neither NULLs, defaults nor escapes.
    plain_lines: bool,
    /// The line last returned, for error contexts; empty range while searching.
    line: Option<(usize, usize)>,
    fields: Vec<FieldPos>,
    scratch: Vec<u8>,
}

impl LineDecoder {
    pub(super) fn new(options: CopyOptions, columns: usize) -> LineDecoder {
        LineDecoder {
            header_due: options.header != Header::None,
            plain_lines: options.format == CopyFormat::Text
                && columns > 0
                && options.null.contains('\\')
                && options.default.as_ref().is_none_or(|default| default.contains('\\')),
            options,
            columns,
            buf: Vec::new(),
            pos: 0,
            scanned: 0,
            newline: Newline::Unknown,
            in_quote: false,
            after_escape: false,
            ended: false,
            done: false,
            line_number: 0,
            in_line: false,
            line: None,
            fields: Vec::with_capacity(columns),
            scratch: Vec::new(),
        }
    }

    pub(super) fn feed(&mut self, chunk: &[u8]) {
        if self.done {
            return;
        }
        if self.pos > 0 {
            // The rest is less than a line, unless the caller left rows.
            self.buf.drain(..self.pos);
            self.scanned -= self.pos;
            self.pos = 0;
            self.line = None;
        }
        self.buf.extend_from_slice(chunk);
    }

    pub(super) fn finish(&mut self) {
        self.ended = true;
    }

    pub(super) fn line_number(&self) -> u64 {
        self.line_number
    }

    pub(super) fn line(&self) -> Option<&[u8]> {
        self.line.and_then(|(start, end)| self.buf.get(start..end))
    }

    pub(super) fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        if self.header_due && !self.read_header()? {
            return Ok(None);
        }
        let (row, count) = match self.next_plain_line() {
            Some((start, end, count)) => (self.plain_row(start, end)?, count),
            None => {
                let Some((start, end)) = self.next_line()? else { return Ok(None) };
                self.split(start, end)?
            }
        };
        if count > row.len() {
            return Err(bad_format("extra data after last expected column"));
        }
        Ok(Some(row))
    }

    /// Cuts the next line if it is a plain one and complete. Returns its bounds and the number of
    /// its fields.
    #[inline]
    fn next_plain_line(&mut self) -> Option<(usize, usize, usize)> {
        let lf = matches!(self.newline, Newline::Lf | Newline::Unknown);
        if !self.plain_lines || !lf || self.done || self.scanned != self.pos {
            return None;
        }
        self.fields.clear();
        self.scratch.clear();
        let out = &mut Fields::new(self.columns, &mut self.fields, &mut self.scratch);
        let end = plain::cut(&self.buf[self.pos..], self.options.delimiter, out)?;
        let count = out.count;
        let (start, end) = (self.pos, self.pos + end);
        self.line_number += u64::from(!self.in_line);
        self.in_line = false;
        self.newline = Newline::Lf;
        (self.pos, self.scanned) = (end + 1, end + 1);
        self.line = Some((start, end));
        Some((start, end, count))
    }

    /// Checks that the line, which has no NUL, is UTF-8, and returns it as a row of its fields.
    #[inline]
    fn plain_row(&mut self, start: usize, end: usize) -> Result<Row<'_>> {
        let line = crate::text::verify_no_nul(&self.buf[start..end]);
        let line = line.inspect_err(|_| self.line = None)?;
        Ok(Row { raw: Raw::Line(line), scratch: &self.scratch, fields: &self.fields })
    }

    /// Cuts the line into fields. Returns the number of fields; at most one for each column is
    /// kept.
    fn split(&mut self, start: usize, end: usize) -> Result<(Row<'_>, usize)> {
        self.fields.clear();
        self.scratch.clear();
        // A line in the wrong encoding is not shown.
        let line = crate::text::verify(&self.buf[start..end]).inspect_err(|_| self.line = None)?;
        let mut count = usize::from(!line.is_empty());
        if self.columns > 0 {
            let out = &mut Fields::new(self.columns, &mut self.fields, &mut self.scratch);
            match self.options.format {
                CopyFormat::Csv => csv::split(line.as_bytes(), &self.options, out)?,
                _ => text::split(line.as_bytes(), &self.options, out)?,
            }
            count = out.count;
        }
        let raw = Raw::Line(line);
        Ok((Row { raw, scratch: &self.scratch, fields: &self.fields }, count))
    }

    /// Reads the line of names; returns whether it has arrived. If the data has no line at all,
    /// PostgreSQL matches the names against an empty one.
    #[cold]
    fn read_header(&mut self) -> Result<bool> {
        let (start, end) = match self.next_line()? {
            Some(line) => line,
            None if self.done => (self.pos, self.pos),
            None => return Ok(false),
        };
        self.header_due = false;
        self.line = Some((start, end));
        self.check_header(start, end)?;
        Ok(true)
    }

    fn check_header(&mut self, start: usize, end: usize) -> Result<()> {
        let Header::Match(names) = &self.options.header else { return Ok(()) };
        let names = names.clone();
        let null = self.options.null.clone();
        let (row, count) = self.split(start, end)?;
        if count != names.len() {
            return Err(bad_format(format!(
                "wrong number of fields in header line: got {count}, expected {}",
                names.len()
            )));
        }
        for (i, name) in names.iter().enumerate() {
            let got = match row.text(i)? {
                Some(got) if got == name => continue,
                Some(got) => format!("got \"{got}\""),
                None => format!("got null value (\"{null}\")"),
            };
            return Err(bad_format(format!(
                "column name mismatch in header line field {}: {got}, expected \"{name}\"",
                i + 1
            )));
        }
        Ok(())
    }

    /// The next line's bounds.
    fn next_line(&mut self) -> Result<Option<(usize, usize)>> {
        if self.done {
            return Ok(None);
        }
        if !self.in_line {
            self.line_number += 1;
            self.in_line = true;
            self.line = None;
        }
        let start = self.pos;
        let found = match self.options.format {
            CopyFormat::Csv => self.find_csv_end()?,
            _ => self.find_text_end()?,
        };
        let end = match found {
            Found::More => {
                let have = self.buf.len() - start;
                return if have > MAX_ALLOC_SIZE { Err(too_large(have, 1)) } else { Ok(None) };
            }
            Found::Line { end, next } => {
                self.pos = next;
                self.done = self.ended && end == self.buf.len() && next == end && start == end;
                end
            }
            Found::Mark => {
                self.done = true;
                self.in_line = false;
                (self.pos, self.scanned) = (self.buf.len(), self.buf.len());
                return Ok(None);
            }
        };
        self.scanned = self.pos;
        self.in_line = false;
        self.in_quote = false;
        self.after_escape = false;
        if self.done && start == end {
            return Ok(None);
        }
        self.line = Some((start, end));
        Ok(Some((start, end)))
    }

    /// The search has reached the end of the data without finding the line's end.
    fn out_of_data(&mut self) -> Found {
        let end = self.buf.len();
        self.scanned = end;
        if self.ended { Found::Line { end, next: end } } else { Found::More }
    }

    /// In the text format a backslash takes the next byte with it, newlines
    /// included.
    fn find_text_end(&mut self) -> Result<Found> {
        let mut at = self.scanned;
        loop {
            let Some(step) = find(&self.buf[at..], [b'\n', b'\r', b'\\']) else {
                return Ok(self.out_of_data());
            };
            at += step;
            self.scanned = at;
            if self.buf[at] != b'\\' {
                return self.end_line(at);
            }
            match self.backslash(at)? {
                Backslash::Mark => return Ok(Found::Mark),
                Backslash::More => return Ok(Found::More),
                Backslash::NotMark if at + 1 >= self.buf.len() => return Ok(self.out_of_data()),
                Backslash::NotMark => at += 2,
            }
        }
    }

    /// In the CSV format newlines between quotes are data, and so is `\.`: a client that marks the
    /// end of its own input with it does not send it.
    fn find_csv_end(&mut self) -> Result<Found> {
        let quote = self.options.quote;
        // An escape that is the quote needs no state of its own: a pair of quotes
        // turns "in quote" off and on again.
        let escape = Some(self.options.escape).filter(|&escape| escape != quote);
        let needles = [b'\n', b'\r', quote, escape.unwrap_or(quote)];
        let mut at = self.scanned;
        loop {
            let Some(step) = find(&self.buf[at..], needles) else {
                self.after_escape &= at == self.buf.len();
                return Ok(self.out_of_data());
            };
            self.after_escape &= step == 0;
            at += step;
            self.scanned = at;
            let byte = self.buf[at];
            // Looks ahead before any state changes, so that it can be redone.
            if byte == b'\r' && at + 1 >= self.buf.len() && !self.ended {
                return Ok(Found::More);
            }
            if self.in_quote && Some(byte) == escape {
                self.after_escape = !self.after_escape;
            }
            if byte == quote && !self.after_escape {
                self.in_quote = !self.in_quote;
            }
            if Some(byte) != escape {
                self.after_escape = false;
            }
            if self.in_quote {
                let counted = if self.newline == Newline::Lf { b'\n' } else { b'\r' };
                self.line_number += u64::from(byte == counted);
            } else if matches!(byte, b'\r' | b'\n') {
                return self.end_line(at);
            }
            at += 1;
        }
    }

    /// A `\r` or `\n` at `at` that is not data.
    fn end_line(&mut self, at: usize) -> Result<Found> {
        if self.buf[at] == b'\n' {
            return match self.newline {
                Newline::Cr | Newline::CrLf => Err(self.stray("newline", "\\n")),
                Newline::Lf | Newline::Unknown => {
                    self.newline = Newline::Lf;
                    Ok(Found::Line { end: at, next: at + 1 })
                }
            };
        }
        match self.newline {
            Newline::Lf => return Err(self.stray("carriage return", "\\r")),
            Newline::Cr => return Ok(Found::Line { end: at, next: at + 1 }),
            Newline::CrLf | Newline::Unknown => {}
        }
        match self.buf.get(at + 1) {
            Some(b'\n') => {
                self.newline = Newline::CrLf;
                Ok(Found::Line { end: at, next: at + 2 })
            }
            None if !self.ended => Ok(Found::More),
            _ if self.newline == Newline::CrLf => Err(self.stray("carriage return", "\\r")),
            _ => {
                self.newline = Newline::Cr;
                Ok(Found::Line { end: at, next: at + 1 })
            }
        }
    }

    #[cold]
    fn stray(&self, what: &str, escape: &str) -> Error {
        if self.options.format == CopyFormat::Csv {
            bad_format(format!("unquoted {what} found in data"))
                .hint(format!("Use quoted CSV field to represent {what}."))
        } else {
            bad_format(format!("literal {what} found in data"))
                .hint(format!("Use \"{escape}\" to represent {what}."))
        }
    }

    /// Whether the backslash at `at`, in the text format, begins the end-of-data
    /// mark: `\.` alone on its line, which ends as the lines before did. Anywhere
    /// else the pair is an error, so that no data behind it is lost in silence.
    fn backslash(&self, at: usize) -> Result<Backslash> {
        const MISMATCH: &str = "end-of-copy marker does not match previous newline style";
        const NOT_ALONE: &str = "end-of-copy marker is not alone on its line";
        let byte = |i: usize| match self.buf.get(at + i) {
            Some(&byte) => Some(byte),
            // PostgreSQL reads a NUL past the end of all data.
            None => self.ended.then_some(0),
        };
        let Some(second) = byte(1) else { return Ok(Backslash::More) };
        if second != b'.' {
            return Ok(Backslash::NotMark);
        }
        let mut next = 2;
        if self.newline == Newline::CrLf {
            match byte(2) {
                None => return Ok(Backslash::More),
                Some(b'\r') => next = 3,
                Some(b'\n') => return Err(bad_format(MISMATCH)),
                Some(_) => return Err(bad_format(NOT_ALONE)),
            }
        }
        let Some(last) = byte(next) else { return Ok(Backslash::More) };
        let expected = if self.newline == Newline::Cr { b'\r' } else { b'\n' };
        match last {
            b'\r' | b'\n' if self.newline != Newline::Unknown && last != expected => {
                Err(bad_format(MISMATCH))
            }
            b'\r' | b'\n' if at == self.pos => Ok(Backslash::Mark),
            _ => Err(bad_format(NOT_ALONE)),
        }
    }
}

/// The place for a line's fields. Fields past the last column are counted, not kept.
pub(super) struct Fields<'d> {
    limit: usize,
    pub(super) count: usize,
    fields: &'d mut Vec<FieldPos>,
    pub(super) scratch: &'d mut Vec<u8>,
}

impl<'d> Fields<'d> {
    pub(super) fn new(
        limit: usize,
        fields: &'d mut Vec<FieldPos>,
        scratch: &'d mut Vec<u8>,
    ) -> Fields<'d> {
        Fields { limit, count: 0, fields, scratch }
    }

    #[inline]
    pub(super) fn push(&mut self, field: FieldPos) {
        self.count += 1;
        if self.count <= self.limit {
            self.fields.push(field);
        }
    }
}
