//! The answers of a node to one cycle of requests, collected without waiting.

use steppe_types::{Error, Result, SqlState};
use steppe_wire::client::receive::BackendMessage;

use crate::commit::{Reply, Row};
use crate::connection::{Connection, Step};

/// The most bytes of rows that are collected.
const MAX_BYTES: usize = 16 << 20;
/// The bytes that a value takes besides its own.
const OVERHEAD: usize = 32;

/// The end of a cycle: the replies to its statements, or the node's error.
pub(super) type Ended = Result<Vec<Reply>>;

/// Answers that are being collected, up to ReadyForQuery.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    replies: Vec<Reply>,
    rows: Vec<Row>,
    bytes: usize,
    binds: usize,
    error: Option<Error>,
}

impl Exchange {
    /// A statement in front has failed, so that the node skips this cycle.
    pub(super) fn failed_before(&mut self, error: Option<Error>) {
        self.error = self.error.take().or(error);
    }

    /// Sends and receives as far as the socket allows. The outer error: the connection is broken, and
    /// the inner result is the node's last word, if it gave one.
    pub(super) fn advance(&mut self, connection: &mut Connection) -> Result<Step<Ended>> {
        loop {
            let step = self.next(connection)?;
            match step {
                Step::Ready(true) => {
                    let replies = std::mem::take(&mut self.replies);
                    return Ok(Step::Ready(self.error.take().map_or(Ok(replies), Err)));
                }
                Step::Ready(false) => {}
                Step::Waits(interest) => return Ok(Step::Waits(interest)),
            }
        }
    }

    /// The same, up to the BindComplete of the last of `binds` statements, or an error.
    pub(super) fn advance_to_bind(
        &mut self,
        connection: &mut Connection,
        binds: usize,
    ) -> Result<Step<Result<()>>> {
        loop {
            if let Some(error) = &self.error {
                return Ok(Step::Ready(Err(error.clone())));
            }
            if self.binds >= binds {
                return Ok(Step::Ready(Ok(())));
            }
            match self.next(connection)? {
                Step::Ready(true) => {
                    return Err(connection.violated(unexpected(b'Z')));
                }
                Step::Ready(false) => {}
                Step::Waits(interest) => return Ok(Step::Waits(interest)),
            }
        }
    }

    /// Takes one message. True: the cycle has ended.
    fn next(&mut self, connection: &mut Connection) -> Result<Step<bool>> {
        let flushed = connection.flush()?;
        let noted = match connection.receive() {
            Ok(Step::Ready(message)) => message.decode().and_then(|m| self.note(message.tag(), m)),
            Ok(Step::Waits(interest)) => {
                return Ok(Step::Waits(match flushed {
                    Step::Ready(()) => interest,
                    Step::Waits(_) => crate::Interest::Both,
                }));
            }
            // The reason why the node has closed the connection.
            Err(error) => return Err(self.error.take().unwrap_or(error)),
        };
        noted.map(Step::Ready).map_err(|error| connection.violated(error))
    }

    fn note(&mut self, tag: u8, message: BackendMessage<'_>) -> Result<bool> {
        match message {
            BackendMessage::DataRow(values) => {
                let bytes = |value: Option<&[u8]>| value.map_or(0, <[u8]>::len) + OVERHEAD;
                self.bytes += values.iter().map(bytes).sum::<usize>() + OVERHEAD;
                if self.bytes <= MAX_BYTES {
                    self.rows.push(values.iter().map(|v| v.map(<[u8]>::to_vec)).collect());
                } else {
                    self.rows.clear();
                    let message = format!("answer of node exceeds {MAX_BYTES} bytes");
                    let error = Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message);
                    self.error.get_or_insert(error);
                }
            }
            BackendMessage::CommandComplete(tag) => self.end(tag),
            BackendMessage::EmptyQueryResponse => self.end(""),
            BackendMessage::ErrorResponse(error) => {
                self.error.get_or_insert(error);
            }
            BackendMessage::ReadyForQuery(_) => return Ok(true),
            BackendMessage::BindComplete => self.binds += 1,
            BackendMessage::RowDescription(_)
            | BackendMessage::NoData
            | BackendMessage::NoticeResponse(_) => {}
            _ => return Err(unexpected(tag)),
        }
        Ok(false)
    }

    fn end(&mut self, tag: &str) {
        self.bytes += tag.len() + OVERHEAD;
        let rows = std::mem::take(&mut self.rows);
        if self.bytes <= MAX_BYTES {
            self.replies.push(Reply { rows, tag: tag.to_owned() });
        }
    }
}

/// 08P01: a message that is no answer to what was asked.
#[cold]
pub(super) fn unexpected(tag: u8) -> Error {
    let text = format!("unexpected message of type \"{}\" from server", char::from(tag));
    Error::new(SqlState::PROTOCOL_VIOLATION, text)
}
