//! A cursor over one message's body, with the checks and words of
//! src/backend/libpq/pqformat.c.

use std::ffi::CStr;

use steppe_types::{Error, Result, SqlState};

use crate::text;

/// The unread rest of a message's body.
#[derive(Clone, Copy)]
pub(crate) struct Body<'a> {
    rest: &'a [u8],
}

/// An 08P01 that leaves the session alive.
#[cold]
pub(crate) fn violation(message: impl Into<String>) -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, message)
}

#[cold]
fn insufficient() -> Error {
    violation("insufficient data left in message")
}

impl<'a> Body<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Body<'a> {
        Body { rest: body }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or_else(insufficient)?;
        self.rest = rest;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        let (&head, rest) =
            self.rest.split_first().ok_or_else(|| violation("no data left in message"))?;
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn i16(&mut self) -> Result<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline]
    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(len).ok_or_else(insufficient)?;
        self.rest = rest;
        Ok(head)
    }

    /// A length word and that many bytes; −1 means NULL.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<Option<&'a [u8]>> {
        match self.i32()? {
            -1 => Ok(None),
            len => {
                let len = usize::try_from(len).map_err(|_| insufficient())?;
                self.bytes(len).map(Some)
            }
        }
    }

    /// `count` values: checked, and returned as the bytes they take.
    pub(crate) fn values(&mut self, count: u16) -> Result<&'a [u8]> {
        let start = self.rest;
        for _ in 0..count {
            self.value()?;
        }
        Ok(&start[..start.len() - self.rest.len()])
    }

    /// The bytes of a NUL-terminated string, not yet checked as text.
    #[inline]
    pub(crate) fn raw_str(&mut self) -> Result<&'a [u8]> {
        let text = CStr::from_bytes_until_nul(self.rest)
            .map_err(|_| violation("invalid string in message"))?
            .to_bytes();
        self.rest = &self.rest[text.len() + 1..];
        Ok(text)
    }

    /// A NUL-terminated string.
    #[inline]
    pub(crate) fn str(&mut self) -> Result<&'a str> {
        self.raw_str().and_then(text::verify_no_nul)
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The message must end here.
    #[inline]
    pub(crate) fn end(self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(violation("invalid message format")) }
    }
}
