//! The bytes that a node has sent: a window of one buffer, cut into messages in place.
//!
//! The buffer grows only with the bytes that have arrived ([`steppe_wire::frame::read_ahead`]), so
//! that a length word reserves nothing. It shrinks again once a long message is taken.

use std::io::{self, Read};
use std::ops::Range;

use socket2::Socket;
use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};
use steppe_wire::frame::{self, HEADER_LEN};

/// The buffer of a connection that sends little.
const SMALL: usize = 16 * 1024;
/// The longest single read of a node that sends much.
const LARGE: usize = 256 * 1024;

#[derive(Debug)]
pub(super) struct Input {
    buffer: Vec<u8>,
    /// The bytes that have arrived. All before are taken.
    window: Range<usize>,
    /// The length of the message at the front of the window that was handed out.
    handed_out: usize,
    /// The longest message that the node may send now, with its header.
    limit: usize,
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filled {
    Some,
    Nothing,
    EndOfStream,
}

impl Input {
    pub(super) fn new(limit: usize) -> Input {
        Input { buffer: vec![0; SMALL], window: 0..0, handed_out: 0, limit }
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Whether all bytes that have arrived were taken.
    pub(super) fn is_empty(&self) -> bool {
        self.window.len() == self.handed_out
    }

    /// Takes the message that was handed out.
    pub(super) fn take(&mut self) {
        self.window.start += std::mem::take(&mut self.handed_out);
        debug_assert!(self.window.start <= self.window.end, "took more than has arrived");
        if self.window.is_empty() {
            self.window = 0..0;
            if self.buffer.len() > LARGE {
                self.buffer = vec![0; SMALL];
            }
        }
    }

    /// Hands out the first whole message of the window. False until more bytes come. The one before
    /// is taken already.
    pub(super) fn next(&mut self) -> Result<bool> {
        debug_assert_eq!(self.handed_out, 0, "the message before was not taken");
        let arrived = &self.buffer[self.window.clone()];
        let whole = frame::peek_backend(arrived)?.map(|frame| frame.wire_len());
        self.check_limit()?;
        self.handed_out = whole.unwrap_or(0);
        Ok(whole.is_some())
    }

    fn check_limit(&self) -> Result<()> {
        let arrived = &self.buffer[self.window.clone()];
        let Some(word) = arrived.get(1..HEADER_LEN) else { return Ok(()) };
        let length = word.iter().fold(0usize, |length, &byte| length << 8 | usize::from(byte));
        if length < self.limit {
            return Ok(());
        }
        let message = format!("message of {length} bytes from server is too long here");
        Err(Error::new(SqlState::PROTOCOL_VIOLATION, message).severity(Severity::Fatal))
    }

    /// The message that was handed out.
    pub(super) fn front(&self) -> &[u8] {
        &self.buffer[self.window.start..self.window.start + self.handed_out]
    }

    /// Hands out all whole messages of type `tag` that are at the front of the window, one behind
    /// the other.
    pub(super) fn run_of(&mut self, tag: u8) -> Result<()> {
        self.take();
        let arrived = &self.buffer[self.window.clone()];
        let mut length = 0;
        while arrived.get(length) == Some(&tag)
            && let Some(frame) = frame::peek_backend(&arrived[length..])?
        {
            length += frame.wire_len();
        }
        self.handed_out = length;
        Ok(())
    }

    /// Reads what the socket has, once.
    pub(super) fn fill(&mut self, mut socket: &Socket) -> io::Result<Filled> {
        self.make_room();
        let free = &mut self.buffer[self.window.end..];
        match socket.read(free) {
            Ok(0) => Ok(Filled::EndOfStream),
            Ok(read) => {
                let is_full = read == free.len();
                self.window.end += read;
                if is_full && self.buffer.len() < LARGE {
                    self.buffer.resize(self.buffer.len() * 2, 0);
                }
                Ok(Filled::Some)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Filled::Nothing),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Filled::Some),
            Err(error) => Err(error),
        }
    }

    /// Room for the next read: at the end, else by moving the window to the front, else in a
    /// larger buffer.
    fn make_room(&mut self) {
        let wanted = frame::read_ahead(&self.buffer[self.window.clone()]);
        if self.buffer.len() - self.window.end >= wanted {
            return;
        }
        self.buffer.copy_within(self.window.clone(), 0);
        self.window = 0..self.window.len();
        if self.buffer.len() - self.window.end < wanted {
            self.buffer.resize(self.window.end + wanted, 0);
        }
    }
}
