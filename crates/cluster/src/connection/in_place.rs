//! A connection's operations for a caller that waits in place ([`crate::wait`]).
//!
//! A statement that is to end while the caller waits ends on the node, too: the caller (or
//! [`Connection::query_in_place`] for its own statements) sends CancelRequest and discards the
//! answers ([`Connection::settle_in_place`]). A node that does not answer within the time given
//! makes the connection unusable.

use std::time::{Duration, Instant};

use steppe_types::{Error, Result, SqlState, interrupt};
use steppe_wire::client::receive::{BackendMessage, Fields};
use steppe_wire::client::send;
use steppe_wire::frontend::Values;

use super::{Connection, Message, Opening, Refused, Step, failure};
use crate::conninfo::ConnInfo;
use crate::wait::{self, Heed, Interest};

/// The most bytes of rows that [`Connection::query_in_place`] collects.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// The bytes that a row or a value takes besides its own.
const OVERHEAD: usize = 32;
/// How long the node may take to end a statement that was cancelled.
const CANCEL_TIME: Duration = Duration::from_secs(2);
/// When a cancel is sent again that the node has not answered.
const CANCEL_AGAIN: Duration = Duration::from_millis(100);

/// A row in text format; `None` is NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// The result of one statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The names of the columns; none if the statement returns no rows.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
    /// The command tag, such as `UPDATE 1`; empty for an empty statement.
    pub tag: String,
}

impl Answer {
    /// The value of a row's column as text; `None` if it is NULL, missing or not UTF-8.
    pub fn text(&self, row: usize, column: usize) -> Option<&str> {
        std::str::from_utf8(self.rows.get(row)?.get(column)?.as_deref()?).ok()
    }
}

impl Connection {
    /// Opens a session by `deadline`, or until the statement is to end.
    pub fn open_in_place(info: &ConnInfo, deadline: Instant) -> Result<Connection, Refused> {
        let mut opening = Opening::new(info);
        loop {
            let interest = match opening.advance()? {
                Step::Ready(connection) => return Ok(connection),
                Step::Waits(interest) => interest,
            };
            let until = opening.deadline().map_or(deadline, |at| at.min(deadline));
            if let Some(descriptor) = opening.descriptor() {
                wait::one(descriptor, interest, Some(until), Heed::Statement)
                    .map_err(|error| Refused { error, sqlstate: None })?;
            }
            if Instant::now() >= deadline {
                return Err(opening.timed_out());
            }
        }
    }

    /// Sends what is in the send buffer, and waits for the next message. It checks for interrupts
    /// only while it waits. It fails with the statement's interrupt, or with 08006 after the
    /// deadline. The connection stays usable.
    pub fn message_in_place(&mut self, deadline: Option<Instant>) -> Result<Message<'_>> {
        self.wait_for_message(deadline, Heed::Statement)?;
        Ok(Message { bytes: self.input.front() })
    }

    fn wait_for_message(&mut self, deadline: Option<Instant>, heed: Heed) -> Result<()> {
        loop {
            let flushed = self.flush()?;
            let Step::Waits(interest) = self.advance()? else { return Ok(()) };
            let interest = if flushed == Step::Ready(()) { interest } else { Interest::Both };
            if !wait::one(self.descriptor(), interest, deadline, heed)? {
                return Err(failure("timeout expired"));
            }
        }
    }

    /// Runs statements by the simple protocol and collects their rows: for DDL, COMMIT and checks.
    /// The node's first error is returned once the node is ready for more. 54000 if the rows are
    /// too large.
    pub fn query_in_place(&mut self, sql: &str) -> Result<Vec<Answer>> {
        self.query_in_place_until(sql, None)
    }

    /// [`query_in_place`](Self::query_in_place) with a deadline, after which the statement is
    /// cancelled: 08006.
    pub fn query_in_place_until(
        &mut self,
        sql: &str,
        deadline: Option<Instant>,
    ) -> Result<Vec<Answer>> {
        if self.cycles() > 0 {
            return Err(Error::internal("an answer of an earlier request is still to come"));
        }
        self.query(sql)?;
        let mut collected = Collected::default();
        let ended = self.collect(&mut collected, deadline);
        match (ended, collected.error) {
            (Ok(()), None) => Ok(collected.answers),
            (Ok(()), Some(error)) => Err(error),
            // The reason why the node has closed the connection.
            (Err(_), Some(error)) if self.is_broken() => Err(error),
            (Err(error), _) => {
                if !self.is_broken() {
                    self.settle_in_place(CANCEL_TIME);
                }
                Err(error)
            }
        }
    }

    fn collect(&mut self, collected: &mut Collected, deadline: Option<Instant>) -> Result<()> {
        loop {
            // Also while messages come without a wait.
            interrupt::check()?;
            if deadline.is_some_and(|at| Instant::now() >= at) {
                return Err(failure("timeout expired"));
            }
            self.wait_for_message(deadline, Heed::Statement)?;
            let noted = collected.note(Message { bytes: self.input.front() });
            match noted {
                Ok(Noted::Nothing) => {}
                Ok(Noted::Notice(notice)) => self.notes.notice(notice),
                Ok(Noted::CopyIn) => self.refuse_copy()?,
                Ok(Noted::End) => return Ok(()),
                Err(error) => return Err(self.violated(error)),
            }
        }
    }

    /// Answers a node that asks for COPY data.
    fn refuse_copy(&mut self) -> Result<()> {
        send::copy_fail(&mut self.out, "COPY FROM STDIN was not expected")
    }

    /// Cancels what the session runs, and discards its answers until the node owes none. If that
    /// takes longer than `time`, the connection is unusable. It heeds no interrupts.
    ///
    /// The cancel cannot hit a later statement: the node has signalled its session before it
    /// closes the connection of the request, and a session drops a cancel that it finds while it
    /// waits for the next statement. If that end is not seen, the connection is unusable. For the same
    /// reason a cancel is lost that comes before the session has read the statement. So it is sent
    /// again until the node answers.
    pub fn settle_in_place(&mut self, time: Duration) {
        let deadline = Instant::now() + time;
        let settled = self.settle(deadline);
        if let Err(error) = settled {
            self.violated(error);
        }
    }

    fn settle(&mut self, deadline: Instant) -> Result<()> {
        let cancel = self.cancel_handle();
        // A node that reads COPY data notices no cancel. Another one ignores the message.
        self.refuse_copy()?;
        if self.cycles() == 0 {
            self.sync();
        }
        let mut cancel_at = Instant::now();
        while self.cycles() > 0 {
            let now = Instant::now();
            if now >= deadline {
                return Err(failure("server did not end a canceled statement in time"));
            }
            if let Some(cancel) = &cancel
                && now >= cancel_at
            {
                cancel.send_in_place(deadline)?;
                cancel_at = Instant::now() + CANCEL_AGAIN;
            }
            self.discard(deadline.min(cancel_at))?;
        }
        Ok(())
    }

    /// Discards the next message, if one comes until then.
    fn discard(&mut self, until: Instant) -> Result<()> {
        loop {
            let flushed = self.flush()?;
            let Step::Waits(interest) = self.advance()? else { break };
            let interest = if flushed == Step::Ready(()) { interest } else { Interest::Both };
            if !wait::one(self.descriptor(), interest, Some(until), Heed::Nothing)? {
                return Ok(());
            }
        }
        match self.input.front().first() {
            Some(b'G' | b'W') => self.refuse_copy(),
            _ => Ok(()),
        }
    }
}

/// Answers that are being collected.
#[derive(Default)]
struct Collected {
    answers: Vec<Answer>,
    current: Answer,
    bytes: usize,
    error: Option<Error>,
}

/// The request of a message to the collector's caller.
enum Noted {
    Nothing,
    Notice(Error),
    CopyIn,
    End,
}

impl Collected {
    /// 08P01 if the message does not belong to an answer of the simple protocol.
    fn note(&mut self, message: Message<'_>) -> Result<Noted> {
        match message.decode()? {
            BackendMessage::RowDescription(fields) => self.columns(fields),
            BackendMessage::DataRow(values) => self.row(values),
            BackendMessage::CommandComplete(tag) => self.end(tag),
            BackendMessage::EmptyQueryResponse => self.end(""),
            BackendMessage::ErrorResponse(error) => {
                self.error.get_or_insert(error);
            }
            BackendMessage::NoticeResponse(notice) => return Ok(Noted::Notice(notice)),
            BackendMessage::CopyResponse { .. } if message.tag() != b'H' => {
                return Ok(Noted::CopyIn);
            }
            // COPY TO STDOUT: its data is not kept.
            BackendMessage::CopyResponse { .. }
            | BackendMessage::CopyData(_)
            | BackendMessage::CopyDone => {}
            BackendMessage::ReadyForQuery(_) => return Ok(Noted::End),
            _ => {
                let tag = char::from(message.tag());
                let text = format!("unexpected message of type \"{tag}\" from server");
                return Err(Error::new(SqlState::PROTOCOL_VIOLATION, text));
            }
        }
        Ok(Noted::Nothing)
    }

    fn columns(&mut self, fields: Fields<'_>) {
        let bytes: usize = fields.iter().map(|field| field.name.len() + OVERHEAD).sum();
        if self.has_room(bytes) {
            self.current.columns = fields.iter().map(|field| field.name.to_owned()).collect();
        }
    }

    fn end(&mut self, tag: &str) {
        if self.has_room(size_of::<Answer>() + tag.len()) {
            self.current.tag = tag.to_owned();
            self.answers.push(std::mem::take(&mut self.current));
        }
    }

    fn row(&mut self, values: Values<'_>) {
        let value_bytes = |value: Option<&[u8]>| value.map_or(0, <[u8]>::len) + OVERHEAD;
        let bytes = OVERHEAD + values.iter().map(value_bytes).sum::<usize>();
        if self.has_room(bytes) {
            self.current.rows.push(values.iter().map(|value| value.map(<[u8]>::to_vec)).collect());
        }
    }

    /// False once the rows are too large, which ends the answer with an error.
    fn has_room(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        let has_room = self.bytes <= MAX_ANSWER_BYTES;
        if !has_room {
            self.answers.clear();
            self.current = Answer::default();
            let message = format!("answer of node exceeds {MAX_ANSWER_BYTES} bytes");
            self.error.get_or_insert_with(|| Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        has_room
    }
}
