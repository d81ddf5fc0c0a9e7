//! The binary format: a signature and header, tuples of length-prefixed fields,
//! a trailer.

use steppe_types::Result;

use super::{FieldPos, Raw, Row, bad_format};
use crate::{MAX_ALLOC_SIZE, too_large};

/// The beginning of every binary COPY. Its odd bytes reveal transfers that change newlines or drop
/// the eighth bit or NULs.
pub(super) const SIGNATURE: [u8; 11] = *b"PGCOPY\n\xff\r\n\0";

/// A flag in the header, which PostgreSQL no longer supports.
const FLAG_OIDS: u32 = 1 << 16;

enum State {
    Signature,
    Flags,
    ExtensionLength,
    /// This many bytes of header extension are still to be skipped.
    Extension(usize),
    /// Between tuples.
    TupleStart,
    /// This many fields of the tuple are still to come.
    InTuple(usize),
    /// The trailer was seen: nothing may follow.
    Trailer,
    /// All data was returned.
    Done,
}

pub(super) struct BinaryDecoder {
    columns: usize,
    /// Data received; the current tuple begins at `pos`.
    buf: Vec<u8>,
    pos: usize,
    /// The end of the tuple's part that was decoded.
    at: usize,
    state: State,
    ended: bool,
    tuple_number: u64,
    fields: Vec<FieldPos>,
}

impl BinaryDecoder {
    pub(super) fn new(columns: usize) -> BinaryDecoder {
        BinaryDecoder {
            columns,
            buf: Vec::new(),
            pos: 0,
            at: 0,
            state: State::Signature,
            ended: false,
            tuple_number: 0,
            fields: Vec::with_capacity(columns),
        }
    }

    pub(super) fn feed(&mut self, chunk: &[u8]) {
        if self.pos > 0 {
            self.buf.drain(..self.pos);
            self.at -= self.pos;
            self.pos = 0;
        }
        self.buf.extend_from_slice(chunk);
    }

    pub(super) fn finish(&mut self) {
        self.ended = true;
    }

    pub(super) fn tuple_number(&self) -> u64 {
        self.tuple_number
    }

    pub(super) fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        loop {
            let go_on = match self.state {
                State::Signature | State::Flags | State::ExtensionLength => self.header()?,
                State::Extension(left) => self.extension(left)?,
                State::TupleStart => self.tuple_start()?,
                State::InTuple(left) => {
                    if !self.tuple(left)? {
                        return Ok(None);
                    }
                    let start = self.pos;
                    self.pos = self.at;
                    self.state = State::TupleStart;
                    return Ok(Some(Row {
                        raw: Raw::Binary(&self.buf[start..self.at]),
                        scratch: &[],
                        fields: &self.fields,
                    }));
                }
                State::Trailer if self.at < self.buf.len() => {
                    return Err(bad_format("received copy data after EOF marker"));
                }
                State::Trailer | State::Done => false,
            };
            if !go_on {
                return Ok(None);
            }
        }
    }

    /// The next `N` bytes, if they are there.
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = *self.buf[self.at..].first_chunk::<N>()?;
        self.at += N;
        Some(bytes)
    }

    /// Decodes one part of the header; returns whether it was there.
    fn header(&mut self) -> Result<bool> {
        let (taken, missing) = match self.state {
            State::Signature => (self.signature()?, "COPY file signature not recognized"),
            State::Flags => (self.flags()?, "invalid COPY file header (missing flags)"),
            _ => (self.extension_length()?, "invalid COPY file header (missing length)"),
        };
        if !taken && self.ended {
            return Err(bad_format(missing));
        }
        self.pos = self.at;
        Ok(taken)
    }

    fn signature(&mut self) -> Result<bool> {
        let Some(bytes) = self.take::<{ SIGNATURE.len() }>() else { return Ok(false) };
        if bytes != SIGNATURE {
            return Err(bad_format("COPY file signature not recognized"));
        }
        self.state = State::Flags;
        Ok(true)
    }

    fn flags(&mut self) -> Result<bool> {
        let Some(flags) = self.take().map(u32::from_be_bytes) else { return Ok(false) };
        if flags & FLAG_OIDS != 0 {
            return Err(bad_format("invalid COPY file header (WITH OIDS)"));
        }
        // The high half's flags change the format; the low half's may be ignored.
        if flags >> 16 != 0 {
            return Err(bad_format("unrecognized critical flags in COPY file header"));
        }
        self.state = State::ExtensionLength;
        Ok(true)
    }

    fn extension_length(&mut self) -> Result<bool> {
        let Some(len) = self.take().map(i32::from_be_bytes) else { return Ok(false) };
        let len = usize::try_from(len)
            .map_err(|_| bad_format("invalid COPY file header (missing length)"))?;
        self.state = State::Extension(len);
        Ok(true)
    }

    fn extension(&mut self, left: usize) -> Result<bool> {
        let skipped = left.min(self.buf.len() - self.at);
        self.at += skipped;
        self.pos = self.at;
        if skipped == left {
            self.state = State::TupleStart;
            return Ok(true);
        }
        self.state = State::Extension(left - skipped);
        if self.ended {
            return Err(bad_format("invalid COPY file header (wrong length)"));
        }
        Ok(false)
    }

    fn tuple_start(&mut self) -> Result<bool> {
        let Some(count) = self.take().map(i16::from_be_bytes) else {
            // PostgreSQL takes the end of the data for the trailer, too.
            if self.ended {
                self.tuple_number += 1;
                self.state = State::Done;
            }
            return Ok(false);
        };
        self.tuple_number += 1;
        self.fields.clear();
        match usize::try_from(count) {
            _ if count == -1 => self.state = State::Trailer,
            Ok(count) if count == self.columns => self.state = State::InTuple(count),
            _ => {
                return Err(bad_format(format!(
                    "row field count is {count}, expected {}",
                    self.columns
                )));
            }
        }
        Ok(true)
    }

    /// Decodes the tuple's remaining fields; returns whether all are there.
    fn tuple(&mut self, mut left: usize) -> Result<bool> {
        while left > 0 {
            let Some(field) = self.field()? else {
                self.state = State::InTuple(left);
                return if self.ended {
                    Err(bad_format("unexpected EOF in COPY data"))
                } else {
                    Ok(false)
                };
            };
            self.fields.push(field);
            left -= 1;
        }
        Ok(true)
    }

    fn field(&mut self) -> Result<Option<FieldPos>> {
        let rest = &self.buf[self.at..];
        let Some((word, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let len = match i32::from_be_bytes(*word) {
            -1 => {
                self.at += 4;
                return Ok(Some(FieldPos::Null));
            }
            len => usize::try_from(len).map_err(|_| bad_format("invalid field size"))?,
        };
        let start = self.at + 4 - self.pos;
        if start + len > MAX_ALLOC_SIZE {
            return Err(too_large(start, len));
        }
        if rest.len() < len {
            return Ok(None);
        }
        self.at += 4 + len;
        // Both are below MAX_ALLOC_SIZE.
        Ok(Some(FieldPos::Raw(start as u32, (start + len) as u32)))
    }
}
