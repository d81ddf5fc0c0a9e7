//! Cutting the byte stream into messages: one type byte, a length word that
//! counts itself, a body.
//!
//! The hot path is [`peek`]: it borrows the first whole message of a receive
//! buffer, so a batch of pipelined messages is handled in place and the buffer
//! advanced once. [`next_message`] cuts an owned one for callers that must hold
//! it over an await.
//!
//! The limits are PostgreSQL's (SocketBackend in src/backend/tcop/postgres.c,
//! pq_getmessage in src/backend/libpq/pqcomm.c, recv_password_packet in
//! src/backend/libpq/auth.c). The type is checked before its length word has
//! arrived, and the length before its body has.

use bytes::{Buf, Bytes, BytesMut};
use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};

use crate::MAX_ALLOC_SIZE;

/// PQ_SMALL_MESSAGE_LIMIT: for messages that carry names at most.
pub const SMALL_MESSAGE_LIMIT: usize = 10_000;
/// PQ_LARGE_MESSAGE_LIMIT: for messages that carry statements or values.
pub const LARGE_MESSAGE_LIMIT: usize = MAX_ALLOC_SIZE - 1;
/// PG_MAX_AUTH_TOKEN_LENGTH: for messages of a client not yet let in.
pub const AUTH_MESSAGE_LIMIT: usize = 65_535;

/// The bytes in front of a message's body.
pub const HEADER_LEN: usize = 5;

/// The smallest amount that [`read_ahead`] asks for.
const MIN_READ: usize = 8 * 1024;

/// Which messages the server accepts now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Waiting for an answer to an authentication request: only `p`.
    Authentication,
    /// Authenticated: everything but `p`.
    Ready,
}

/// One whole message, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The message's type byte.
    pub tag: u8,
    /// Its body, without type byte and length word.
    pub body: &'a [u8],
}

impl Frame<'_> {
    /// The message's length in the receive buffer.
    #[inline]
    pub fn wire_len(&self) -> usize {
        HEADER_LEN + self.body.len()
    }
}

/// One whole message, owned; the body shares the receive buffer's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedFrame {
    /// The message's type byte.
    pub tag: u8,
    /// Its body, without type byte and length word.
    pub body: Bytes,
}

impl OwnedFrame {
    /// The message, borrowed.
    pub fn as_frame(&self) -> Frame<'_> {
        Frame { tag: self.tag, body: &self.body }
    }
}

/// The first whole message from a client in `input`, or `None` until more bytes
/// come. An error is FATAL: the stream's framing is lost.
#[inline]
pub fn peek(input: &[u8], phase: Phase) -> Result<Option<Frame<'_>>> {
    peek_with(input, |tag| limit(tag, phase))
}

/// The first whole message from a server in `input`.
#[inline]
pub fn peek_backend(input: &[u8]) -> Result<Option<Frame<'_>>> {
    peek_with(input, backend_limit)
}

/// Cuts the first whole message from a client off `buf`.
pub fn next_message(buf: &mut BytesMut, phase: Phase) -> Result<Option<OwnedFrame>> {
    let found = peek(buf, phase)?.map(|frame| (frame.tag, frame.body.len()));
    Ok(found.map(|(tag, len)| cut(buf, tag, len)))
}

/// Cuts the first whole message from a server off `buf`.
pub fn next_backend_message(buf: &mut BytesMut) -> Result<Option<OwnedFrame>> {
    let found = peek_backend(buf)?.map(|frame| (frame.tag, frame.body.len()));
    Ok(found.map(|(tag, len)| cut(buf, tag, len)))
}

fn cut(buf: &mut BytesMut, tag: u8, len: usize) -> OwnedFrame {
    buf.advance(HEADER_LEN);
    OwnedFrame { tag, body: buf.split_to(len).freeze() }
}

/// The free space that a receive buffer needs before the next read.
///
/// The number of bytes that the current message still needs, but at most the number of its bytes
/// that have arrived. So a length word alone reserves nothing, and a large message still takes only
/// a logarithm of reallocations.
pub fn read_ahead(input: &[u8]) -> usize {
    let missing = match input.get(1..HEADER_LEN) {
        Some(word) => {
            let len = word.iter().fold(0usize, |n, &b| n << 8 | usize::from(b));
            len.saturating_add(1).saturating_sub(input.len())
        }
        None => 0,
    };
    missing.min(input.len()).max(MIN_READ)
}

#[inline]
fn peek_with(input: &[u8], limit: impl FnOnce(u8) -> Result<usize>) -> Result<Option<Frame<'_>>> {
    let Some((&tag, rest)) = input.split_first() else { return Ok(None) };
    let limit = limit(tag)?;
    let Some((word, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
    let len = u32::from_be_bytes(*word) as usize;
    if len < 4 || len > limit {
        return Err(fatal("invalid message length"));
    }
    Ok(rest.get(..len - 4).map(|body| Frame { tag, body }))
}

/// The largest length word allowed for a client's message of this type.
#[inline]
fn limit(tag: u8, phase: Phase) -> Result<usize> {
    if phase == Phase::Authentication {
        return if tag == b'p' {
            Ok(AUTH_MESSAGE_LIMIT)
        } else {
            Err(fatal(format!("expected password response, got message type {tag}")))
        };
    }
    match tag {
        b'Q' | b'P' | b'B' | b'F' | b'd' => Ok(LARGE_MESSAGE_LIMIT),
        b'C' | b'D' | b'E' | b'H' | b'S' | b'X' | b'c' | b'f' => Ok(SMALL_MESSAGE_LIMIT),
        _ => Err(fatal(format!("invalid frontend message type {tag}"))),
    }
}

/// libpq's rule: only types that can be long may be long, so that another protocol's stream is
/// recognized at once (src/interfaces/libpq/fe-protocol3.c).
#[inline]
fn backend_limit(tag: u8) -> Result<usize> {
    match tag {
        b'T' | b'D' | b'd' | b'V' | b'E' | b'N' | b'A' => Ok(MAX_ALLOC_SIZE),
        b'R' | b'S' | b'K' | b'Z' | b'C' | b'I' | b'1' | b'2' | b'3' | b'n' | b's' | b't'
        | b'G' | b'H' | b'W' | b'c' | b'v' => Ok(LARGEST_CONTROL_MESSAGE),
        _ => Err(Error::new(
            SqlState::PROTOCOL_VIOLATION,
            format!(
                "lost synchronization with server: got message type \"{}\"",
                char::from(tag).escape_default()
            ),
        )
        .severity(Severity::Fatal)),
    }
}

/// Enough for a ParameterDescription of 65,535 parameters.
const LARGEST_CONTROL_MESSAGE: usize = 300_000;

/// An 08P01 after which the connection cannot go on.
#[cold]
pub(crate) fn fatal(message: impl Into<String>) -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, message).severity(Severity::Fatal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(input: &[u8]) -> String {
        let error = peek(input, Phase::Ready).expect_err("refused");
        assert_eq!(error.fields().severity, Severity::Fatal);
        assert_eq!(error.sqlstate(), SqlState::PROTOCOL_VIOLATION);
        error.message().to_owned()
    }

    #[test]
    fn refuses_bad_types_and_lengths_as_soon_as_they_are_seen() {
        assert_eq!(refusal(b"y"), "invalid frontend message type 121");
        assert_eq!(refusal(b"p\0\0\0\x08"), "invalid frontend message type 112");
        assert_eq!(refusal(b"Q\0\0\0\x03"), "invalid message length");
        assert_eq!(refusal(b"Q\xff\xff\xff\xff"), "invalid message length");
        assert_eq!(refusal(b"Q\x3f\xff\xff\xff"), "invalid message length");
        assert_eq!(refusal(b"S\0\0\x27\x11"), "invalid message length");
        assert_eq!(peek(b"S\0\0\x27\x10", Phase::Ready).unwrap(), None);
        assert_eq!(peek(b"Q\x3f\xff\xff\xfe", Phase::Ready).unwrap(), None);
        assert_eq!(peek(b"", Phase::Ready).unwrap(), None);
        let early = peek(b"Q", Phase::Authentication).unwrap_err();
        assert_eq!(early.message(), "expected password response, got message type 81");
    }

    #[test]
    fn cuts_pipelined_messages() {
        let mut buf = BytesMut::from(&b"S\0\0\0\x04Q\0\0\0\x06x\0H"[..]);
        let sync = next_message(&mut buf, Phase::Ready).unwrap().unwrap();
        assert_eq!((sync.tag, &sync.body[..]), (b'S', &b""[..]));
        let query = next_message(&mut buf, Phase::Ready).unwrap().unwrap();
        assert_eq!((query.tag, &query.body[..]), (b'Q', &b"x\0"[..]));
        assert_eq!(query.as_frame().wire_len(), 7);
        assert_eq!(next_message(&mut buf, Phase::Ready).unwrap(), None);
        assert_eq!(&buf[..], b"H");
    }

    #[test]
    fn a_length_word_reserves_nothing() {
        let mut input = b"Q\x3f\xff\xff\xfe".to_vec();
        assert_eq!(read_ahead(&input), MIN_READ);
        input.resize(100_000, b'x');
        assert_eq!(read_ahead(&input), 100_000);
        // Near its end a message asks for no more than it lacks.
        let mut input = b"Q\0\x02\0\0".to_vec();
        input.resize(0x20001 - 20_000, b'x');
        assert_eq!(read_ahead(&input), 20_000);
    }
}
