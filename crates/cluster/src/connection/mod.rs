//! A session on a node: one socket, messages in and out.
//!
//! ```text
//!   out(), prepare(), sync(), query() ─► out ──flush()──► socket ──receive()──► input ─► Message
//!                        │                                                        │
//!                        └─► pipeline (what the node still owes) ◄────────────────┤
//!                                                   notices, parameters, status ◄─┘
//! ```
//!
//! An operation never waits: [`Step::Waits`] says what the socket must become ready for. The in-place
//! driver of the same operations is in [`in_place`].
//!
//! The guarantees:
//!
//! - Rows are not copied or decoded: a [`Message`] is a view of the receive buffer, header
//!   included, so that it can be passed on to a client as it is.
//! - A message is at most [`MESSAGE_LIMIT`] bytes long, and [`START_UP_LIMIT`] until the node has
//!   let the session in. What is kept of a node's messages is bounded: settings and notices
//!   ([`notes`]), prepared statements ([`pipeline`]).
//! - After an error of the socket or a violation of the protocol every operation returns that
//!   error. An error that the node reports is a [`Message`] and breaks nothing, unless it is FATAL:
//!   the node closes the connection behind it.
//!
//! Errors: 08006 the connection failed, 08P01 the node violated the protocol.

mod attempt;
mod authentication;
mod cancel;
pub mod in_place;
mod input;
mod notes;
mod opening;
mod pipeline;
mod socket;
mod target;

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

use socket2::Socket;
use steppe_types::error::Severity;
use steppe_types::{Error, Oid, Result, SqlState};
use steppe_wire::client::receive::{self, BackendMessage};
use steppe_wire::client::send;
use steppe_wire::frame::HEADER_LEN;
use steppe_wire::{Frame, MAX_ALLOC_SIZE, TransactionStatus};

pub use cancel::Cancel;
pub use in_place::Answer;
pub use opening::{Opening, Refused};

use crate::wait::Interest;
use input::{Filled, Input};
use notes::Notes;
use pipeline::{Name, Pipeline};
use socket::{Address, words};

/// The longest message of a node, with its header: PostgreSQL's own limit.
pub const MESSAGE_LIMIT: usize = MAX_ALLOC_SIZE + HEADER_LEN;
/// The longest message of a node that has not let the session in. An error is the longest one.
pub const START_UP_LIMIT: usize = 64 * 1024;
/// The most messages in succession that concern the connection only. PostgreSQL sends a few.
const MAX_SKIPPED: usize = 100_000;
/// A send buffer that grew beyond this is given back once it is sent.
const KEPT_OUT: usize = 256 * 1024;

/// The result of an operation that does not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// It is done.
    Ready(T),
    /// The caller calls again once the connection's descriptor is ready for this.
    Waits(Interest),
}

/// A message of a node, as it came.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    bytes: &'a [u8],
}

impl<'a> Message<'a> {
    /// Its type.
    pub fn tag(self) -> u8 {
        self.bytes[0]
    }

    /// Its body, without type and length.
    pub fn body(self) -> &'a [u8] {
        &self.bytes[HEADER_LEN..]
    }

    /// All of it, to be passed on.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Its content. Only a row can be malformed (08P01), which the caller tells the connection
    /// ([`Connection::violated`]): other messages were checked when they were received.
    pub fn decode(self) -> Result<BackendMessage<'a>> {
        receive::decode(Frame { tag: self.tag(), body: self.body() })
    }
}

/// A session on a node.
#[derive(Debug)]
pub struct Connection {
    socket: Socket,
    address: Address,
    input: Input,
    out: Vec<u8>,
    /// The bytes of `out` that the socket has taken.
    sent: usize,
    pipeline: Pipeline,
    notes: Notes,
    status: TransactionStatus,
    /// The node has let the session in.
    is_admitted: bool,
    /// The node has reported an error behind which it closes the connection, or the socket takes
    /// no more bytes. What has arrived can still be read.
    is_ending: bool,
    /// Every operation fails with it.
    broken: Option<Error>,
}

impl Connection {
    fn new(socket: Socket, address: Address) -> Connection {
        Connection {
            socket,
            address,
            input: Input::new(START_UP_LIMIT),
            out: Vec::new(),
            sent: 0,
            pipeline: Pipeline::default(),
            notes: Notes::default(),
            status: TransactionStatus::Idle,
            is_admitted: false,
            is_ending: false,
            broken: None,
        }
    }

    /// The socket, to wait for.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether the connection cannot be used any more.
    pub fn is_broken(&self) -> bool {
        self.broken.is_some() || self.is_ending
    }

    /// Whether the node owes no answer, is outside a transaction, and has nothing unread: another
    /// session may use the connection.
    pub fn is_idle(&self) -> bool {
        !self.is_broken()
            && self.status == TransactionStatus::Idle
            && self.pipeline.cycles() == 0
            && self.out.is_empty()
            && self.input.is_empty()
    }

    /// The status that the last ReadyForQuery gave.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.status
    }

    /// The number of ReadyForQuery that the node still owes.
    pub fn cycles(&self) -> usize {
        self.pipeline.cycles()
    }

    /// A setting that the node has reported (ParameterStatus).
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.notes.parameter(name)
    }

    /// The node's version as a number, such as 180001; `None` if it has not reported one.
    pub fn server_version(&self) -> Option<u32> {
        target::version_number(self.parameter("server_version")?)
    }

    /// The process id of the session on the node.
    pub fn process_id(&self) -> Option<i32> {
        self.notes.key().map(|(process_id, _)| process_id)
    }

    /// Notices that came while the session was opened or during operations in place, since the
    /// last call. At most a bounded number is kept.
    pub fn take_notices(&mut self) -> Vec<Error> {
        self.notes.take_notices()
    }

    /// The right to cancel what the session runs, for any thread.
    pub fn cancel_handle(&self) -> Option<Cancel> {
        let (process_id, key) = self.notes.key()?;
        Some(Cancel::new(self.address.clone(), process_id, key))
    }

    // ----- requests -----

    /// The send buffer, for Bind, Describe, Execute, Flush and COPY messages
    /// ([`steppe_wire::client::send`]). Parse, Close, Sync and Query have functions of their own:
    /// the connection must know that it sent them.
    pub fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Appends the Parse of a statement without a name. Its ParseComplete is not handed out.
    pub fn parse_unnamed(&mut self, text: &str, types: &[Oid]) -> Result<()> {
        self.pipeline.parse(&mut self.out, Name::UNNAMED, text, types).map(drop)
    }

    /// The name of a prepared statement, for Bind. Its Parse is appended unless the node has it; no
    /// ParseComplete is handed out. The name is empty if the text is too long to be kept.
    pub fn prepare(&mut self, text: &str, types: &[Oid]) -> Result<String> {
        self.pipeline.prepare(&mut self.out, text, types).map(Name::text)
    }

    /// Appends the Close of a portal. Its CloseComplete is not handed out.
    pub fn close_portal(&mut self, portal: &str) {
        self.pipeline.close_portal(&mut self.out, portal);
    }

    /// Forgets a prepared statement that the node no longer accepts (its result type changed).
    pub fn forget_statement(&mut self, text: &str, types: &[Oid]) {
        self.pipeline.forget(text, types);
    }

    /// Forgets all prepared statements: the caller had the node drop them (DISCARD ALL).
    pub fn forget_statements(&mut self) {
        self.pipeline.forget_all();
    }

    /// Appends a Sync.
    pub fn sync(&mut self) {
        send::sync(&mut self.out);
        self.pipeline.cycle_sent();
    }

    /// Appends a Query: statements as one text.
    pub fn query(&mut self, text: &str) -> Result<()> {
        send::query(&mut self.out, text)?;
        self.pipeline.cycle_sent();
        Ok(())
    }

    /// Ends the session in order, if the socket takes the message at once.
    pub fn close(mut self) {
        if !self.is_broken() {
            send::terminate(&mut self.out);
            // The node notices the end of the stream, too.
            let _ = self.flush();
        }
    }

    // ----- the socket -----

    /// Sends what is in the send buffer. While it waits, the caller also receives: a node that
    /// cannot send its answers reads no more requests.
    pub fn flush(&mut self) -> Result<Step<()>> {
        self.check()?;
        while self.sent < self.out.len() && !self.is_ending {
            match self.socket.write(&self.out[self.sent..]) {
                Ok(written) => self.sent += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Step::Waits(Interest::Both));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The node has closed the connection. Its reason may have arrived before.
                Err(error) if is_closed(&error) => self.is_ending = true,
                Err(error) => {
                    let error = format!("could not send data to server: {}", words(&error));
                    return Err(self.violated(failure(error)));
                }
            }
        }
        self.sent = 0;
        self.out.clear();
        self.out.shrink_to(KEPT_OUT);
        Ok(Step::Ready(()))
    }

    /// The next message. Settings, notifications, ParseComplete and CloseComplete are not handed
    /// out. Notices are, so that the caller can pass them on in their place among the rows.
    pub fn receive(&mut self) -> Result<Step<Message<'_>>> {
        Ok(match self.advance()? {
            Step::Ready(()) => Step::Ready(Message { bytes: self.input.front() }),
            Step::Waits(interest) => Step::Waits(interest),
        })
    }

    /// All whole messages of type `tag` (DataRow, CopyData) at the front of what has arrived, one
    /// behind the other as they came; empty if another type is there. It never reads the socket.
    pub fn receive_run(&mut self, tag: u8) -> Result<&[u8]> {
        debug_assert!(matches!(tag, b'D' | b'd'), "only rows and COPY data are passed on unseen");
        self.check()?;
        if let Err(error) = self.input.run_of(tag) {
            return Err(self.violated(error));
        }
        Ok(self.input.front())
    }

    /// Makes the connection unusable: the node has sent what is not the protocol, or an operation
    /// was given up in the middle. Returns the error.
    pub fn violated(&mut self, error: Error) -> Error {
        self.broken.get_or_insert(error).clone()
    }

    fn check(&self) -> Result<()> {
        match &self.broken {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Brings the next message for the caller to the front of the input.
    fn advance(&mut self) -> Result<Step<()>> {
        self.check()?;
        let mut skipped = 0;
        loop {
            self.input.take();
            let filled = match self.input.next() {
                Ok(true) => match self.note() {
                    Ok(true) => return Ok(Step::Ready(())),
                    Ok(false) if skipped < MAX_SKIPPED => {
                        skipped += 1;
                        continue;
                    }
                    Ok(false) => return Err(self.violated(flood())),
                    Err(error) => return Err(self.violated(error)),
                },
                Ok(false) => self.input.fill(&self.socket),
                Err(error) => return Err(self.violated(error)),
            };
            let error = match filled {
                Ok(Filled::Some) => continue,
                Ok(Filled::Nothing) => return Ok(Step::Waits(Interest::Read)),
                Ok(Filled::EndOfStream) => closed_unexpectedly(),
                Err(error) => {
                    failure(format!("could not receive data from server: {}", words(&error)))
                }
            };
            return Err(self.violated(error));
        }
    }

    /// Looks at the message at the front. Whether it is the caller's.
    fn note(&mut self) -> Result<bool> {
        let message = Message { bytes: self.input.front() };
        // Long ones, whose content only the caller needs.
        if matches!(message.tag(), b'D' | b'd') {
            return Ok(true);
        }
        match message.decode()? {
            BackendMessage::ParameterStatus { name, value } => self.notes.set(name, value)?,
            BackendMessage::Notification { .. } => {}
            BackendMessage::ParseComplete => self.pipeline.parsed()?,
            BackendMessage::CloseComplete => self.pipeline.closed()?,
            BackendMessage::BackendKeyData { process_id, key } if !self.is_admitted => {
                self.notes.set_key(process_id, key)?;
            }
            BackendMessage::ReadyForQuery(status) => {
                self.pipeline.ready()?;
                self.status = status;
                return Ok(true);
            }
            BackendMessage::ErrorResponse(error) => {
                self.is_ending |= error.fields().severity != Severity::Error;
                return Ok(true);
            }
            BackendMessage::BackendKeyData { .. }
            | BackendMessage::Authentication(_)
            | BackendMessage::NegotiateProtocolVersion { .. }
                if self.is_admitted =>
            {
                let tag = char::from(message.tag());
                return Err(Error::new(
                    SqlState::PROTOCOL_VIOLATION,
                    format!("unexpected message of type \"{tag}\" from server"),
                ));
            }
            _ => return Ok(true),
        }
        Ok(false)
    }
}

/// The peer takes no more bytes. Then a read ends, too.
fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// 08006: the connection is lost.
#[cold]
fn failure(message: impl Into<String>) -> Error {
    Error::new(SqlState::CONNECTION_FAILURE, message)
}

#[cold]
fn closed_unexpectedly() -> Error {
    failure("server closed the connection unexpectedly").detail(
        "This probably means the server terminated abnormally before or while processing the \
         request.",
    )
}

#[cold]
fn flood() -> Error {
    let message = "server sent settings or notifications without an end";
    Error::new(SqlState::PROTOCOL_VIOLATION, message)
}
