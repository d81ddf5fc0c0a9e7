//! A statement in a transaction of its own on one node.
//!
//! ```text
//!   [Parse] Bind Execute Sync ──► DataRow … CommandComplete ReadyForQuery: committed
//! ```
//!
//! The node begins the transaction with the statement, and commits it at Sync: one round trip, where
//! BEGIN and COMMIT take two. The caller sees nothing else than with them if one of these holds:
//!
//! - The client's transaction has nothing but this statement, in READ COMMITTED. Then both
//!   transactions are the same.
//! - The statement only reads, in READ COMMITTED, and the client's transaction has no session on the
//!   node ([`Participants::read_alone`]). Its snapshot is as new as that of any statement now. It has
//!   changed nothing that another statement must see, and locked no rows. The coordinator holds the
//!   lock of the table.
//!
//! A statement has ended only when ReadyForQuery has come. Until then its commit may fail, or be
//! unknown: if the connection breaks under a change that has not failed, the error is 08007. (With
//! BEGIN and COMMIT the time in which this can happen is shorter.)
//!
//! PostgreSQL: exec_execute_message, finish_xact_command in src/backend/tcop/postgres.c.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use steppe_types::{Error, Result, SqlState};
use steppe_wire::client::receive::BackendMessage;
use steppe_wire::client::send;

use super::cursors::{RemoteStatement, Values};
use super::exchange::unexpected;
use super::participants::{Isolation, Participants, SETTLE_TIME};
use super::session::Effect;
use crate::connection::Step;
use crate::pool::{Lease, NodeOpener, connection_failure};
use crate::wait::{self, Heed};
use crate::{Interest, NodeId};

/// An answer with more rows is streamed by a portal instead.
const ROWS: i32 = 256;
/// When a cancel is sent again that the node has not answered.
const CANCEL_AGAIN: Duration = Duration::from_millis(100);

/// A statement under way.
#[derive(Debug)]
pub struct Alone {
    lease: Lease<NodeOpener>,
    effect: Effect,
    /// The end that ReadyForQuery makes final.
    end: Option<Result<End>>,
}

/// The end of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All rows have come, and the transaction has ended: the command tag.
    Done(String),
    /// The node has more rows than the caller wanted. They are lost.
    HasMore,
}

/// The state of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Rows have come, and more can.
    Rows,
    /// The answer has ended.
    Ended(End),
}

impl Alone {
    /// Sends the statement, as far as the socket takes it. At most `max_rows` rows come; zero is no
    /// limit. Error 08006: the connection is lost, and nothing was done.
    pub fn start(
        lease: Lease<NodeOpener>,
        statement: &RemoteStatement<'_>,
        values: &Values,
        max_rows: i32,
    ) -> Result<Alone> {
        let mut alone = Alone { lease, effect: statement.effect, end: None };
        let started = alone.append(statement, values, max_rows);
        started.and_then(|()| alone.lease.flush()).map_err(|error| alone.named(error))?;
        Ok(alone)
    }

    fn append(
        &mut self,
        statement: &RemoteStatement<'_>,
        values: &Values,
        max_rows: i32,
    ) -> Result<()> {
        let name = self.lease.prepare(statement.text, statement.types)?;
        let values = values.iter().map(Option::as_deref);
        send::bind(self.lease.out(), "", &name, &[], values, statement.result_formats)?;
        send::execute(self.lease.out(), "", max_rows);
        self.lease.sync();
        Ok(())
    }

    /// The socket, to wait for.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.lease.descriptor()
    }

    /// Appends the rows that have arrived to `rows`, as DataRow messages. It returns once `rows` is
    /// `enough` bytes long. Errors: the node's own, 08006 the connection is lost, and 08007 it is
    /// lost and the change may have been committed.
    pub fn advance(&mut self, rows: &mut Vec<u8>, enough: usize) -> Result<Step<Progress>> {
        match self.read(rows, enough) {
            Ok(step) => Ok(step),
            Err(error) => Err(self.lost(error)),
        }
    }

    fn read(&mut self, rows: &mut Vec<u8>, enough: usize) -> Result<Step<Progress>> {
        let flushed = self.lease.flush()?;
        loop {
            if rows.len() >= enough {
                return Ok(Step::Ready(Progress::Rows));
            }
            let run = self.lease.receive_run(b'D')?;
            if !run.is_empty() {
                rows.extend_from_slice(run);
                continue;
            }
            let message = match self.lease.receive()? {
                Step::Ready(message) => message,
                Step::Waits(_) if flushed != Step::Ready(()) => {
                    return Ok(Step::Waits(Interest::Both));
                }
                Step::Waits(interest) => return Ok(Step::Waits(interest)),
            };
            let tag = message.tag();
            match message.decode()? {
                BackendMessage::DataRow(_) => rows.extend_from_slice(message.bytes()),
                BackendMessage::BindComplete | BackendMessage::NoticeResponse(_) => {}
                BackendMessage::PortalSuspended => self.end = Some(Ok(End::HasMore)),
                BackendMessage::CommandComplete(tag) => {
                    self.end = Some(Ok(End::Done(tag.to_owned())));
                }
                BackendMessage::EmptyQueryResponse => {
                    self.end = Some(Ok(End::Done(String::new())));
                }
                BackendMessage::ErrorResponse(error) => self.end = Some(Err(error)),
                BackendMessage::ReadyForQuery(_) => match self.end.take() {
                    Some(Ok(end)) => return Ok(Step::Ready(Progress::Ended(end))),
                    Some(Err(error)) => {
                        self.end = Some(Err(error.clone()));
                        return Err(error);
                    }
                    None => return Err(unexpected(tag)),
                },
                _ => return Err(unexpected(tag)),
            }
        }
    }

    /// The error for the statement. The node's own, if it has sent one.
    fn lost(&mut self, error: Error) -> Error {
        if self.lease.cycles() == 0 {
            return self.named(error);
        }
        let error = self.lease.violated(error);
        match self.end.take() {
            // The statement has failed before.
            Some(Err(reason)) => self.named(reason),
            _ if self.effect == Effect::Read => self.named(error),
            _ => self.unknown(&error),
        }
    }

    fn named(&self, error: Error) -> Error {
        let name = self.lease.pool().name();
        match self.lease.is_broken() {
            true => connection_failure(name, self.lease.of_node(error)),
            false => error.within(format!("remote node \"{name}\"")),
        }
    }

    /// 08007: the answer of a change is lost.
    fn unknown(&self, error: &Error) -> Error {
        let name = self.lease.pool().name();
        let message = format!("connection to node \"{name}\" was lost during a commit");
        Error::new(SqlState::TRANSACTION_RESOLUTION_UNKNOWN, message)
            .detail(error.message().to_owned())
            .hint("The transaction may have been committed: look at its rows before you repeat it.")
    }

    /// Waits in place until the answer has ended. `rows` gets all rows. Errors as [`Self::advance`],
    /// and the statement's interrupt.
    pub fn end_in_place(&mut self, rows: &mut Vec<u8>) -> Result<End> {
        loop {
            let interest = match self.advance(rows, usize::MAX)? {
                Step::Ready(Progress::Ended(end)) => return Ok(end),
                Step::Ready(Progress::Rows) => continue,
                Step::Waits(interest) => interest,
            };
            if let Err(interrupt) = wait::one(self.descriptor(), interest, None, Heed::Statement) {
                return self.stop_in_place(interrupt, rows);
            }
        }
    }

    /// Ends a statement whose client wants it to end: the node is asked to cancel it. If it was
    /// faster, its end is returned. Else the error is `reason`. A node that does not answer in time
    /// loses the connection.
    pub fn stop_in_place(&mut self, reason: Error, rows: &mut Vec<u8>) -> Result<End> {
        let deadline = Instant::now() + SETTLE_TIME;
        let cancel = self.lease.cancel_handle();
        let mut cancel_at = Instant::now();
        loop {
            if Instant::now() >= deadline {
                let error = Error::new(
                    SqlState::CONNECTION_FAILURE,
                    "server did not end a canceled statement in time",
                );
                let lost = self.lost(error);
                let is_unknown = lost.sqlstate() == SqlState::TRANSACTION_RESOLUTION_UNKNOWN;
                return Err(if is_unknown { lost } else { reason });
            }
            let interest = match self.advance(rows, usize::MAX) {
                Ok(Step::Ready(Progress::Ended(end))) => return Ok(end),
                Ok(Step::Ready(Progress::Rows)) => continue,
                Ok(Step::Waits(interest)) => interest,
                Err(error) if error.sqlstate() == SqlState::QUERY_CANCELED => return Err(reason),
                Err(error) => return Err(error),
            };
            if let Some(cancel) = &cancel
                && Instant::now() >= cancel_at
            {
                // Without an answer it is tried again.
                let _ = cancel.send_in_place(deadline);
                cancel_at = Instant::now() + CANCEL_AGAIN;
            }
            let until = deadline.min(cancel_at);
            wait::one(self.descriptor(), interest, Some(until), Heed::Nothing)?;
        }
    }

    /// Forgets the prepared statement if the node no longer accepts it, so that the next run
    /// prepares it again.
    pub fn note_failure(&mut self, statement: &RemoteStatement<'_>, error: &Error) {
        if error.sqlstate() == SqlState::FEATURE_NOT_SUPPORTED && !self.lease.is_broken() {
            self.lease.forget_statement(statement.text, statement.types);
        }
    }
}

impl Participants {
    /// Runs a statement that only reads in a transaction of its own on a node. Errors: those of
    /// the pool, the node's own, and the statement's interrupts.
    pub fn read_alone(
        &mut self,
        statement: &RemoteStatement<'_>,
        node: NodeId,
        values: &Values,
    ) -> Result<ReadAlone> {
        debug_assert_eq!(statement.effect, Effect::Read);
        let is_committed = self.mode().isolation == Isolation::ReadCommitted;
        if !is_committed || self.sessions.contains_key(&node) {
            return Ok(ReadAlone::InTransaction);
        }
        self.check_usable()?;
        let lease = self.ready_lease(node)?;
        let mut alone = Alone::start(lease, statement, values, ROWS)?;
        let mut rows = Vec::new();
        match alone.end_in_place(&mut rows) {
            Ok(End::Done(tag)) => Ok(ReadAlone::Rows(rows, tag)),
            Ok(End::HasMore) => Ok(ReadAlone::IsLong),
            Err(error) => {
                alone.note_failure(statement, &error);
                Err(error)
            }
        }
    }
}

/// The result of [`Participants::read_alone`].
#[derive(Debug)]
pub enum ReadAlone {
    /// The rows, as DataRow messages, and the command tag.
    Rows(Vec<u8>, String),
    /// There are more rows than are kept in memory. A portal of the transaction has to stream them.
    IsLong,
    /// The transaction has a session on the node, or is not READ COMMITTED: it has to run the
    /// statement.
    InTransaction,
}
