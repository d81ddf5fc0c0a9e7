//! The session and its client: reading messages, sending answers, saying goodbye.
//!
//! The answer to all that a client has sent goes out with those of the worker's other sessions, if
//! the client is on this machine ([`crate::outbox`]). Clients elsewhere run beside the server
//! whatever it does, and an answer that waited for others would only reach them later.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::BytesMut;
use steppe_txn::{Interrupt, statement_timed_out};
use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};
use steppe_wire::{backend, frame};

use super::Session;
use crate::activity::Wait;
use crate::log;
use crate::outbox::{Queued, Returned};
use crate::server::SessionControl;
use crate::stream::{Accepted, Stream};
use crate::system_views::SessionEnd;

/// Answers are sent when so many bytes have gathered, even within a statement.
pub(super) const SEND_AT_BYTES: usize = 64 * 1024;
/// Answers that no Sync or Flush has asked for go out when so many bytes have gathered, as
/// PostgreSQL's send buffer does.
pub(super) const HELD_BACK_BYTES: usize = 8 * 1024;
/// Larger buffers are given back when they are empty.
pub(super) const KEEP_BYTES: usize = 1 << 20;

/// A session's connection.
pub(super) struct Client {
    /// Before the stream, so that an answer leaves the outbox before the socket is closed.
    queued: Queued,
    /// Whether the client is on this machine.
    is_local: bool,
    pub(super) stream: Stream,
}

/// What a session that waits for its client is woken by.
enum Woken {
    /// As [`Stream::read`].
    Read(io::Result<usize>),
    /// An answer has come back from the outbox.
    Returned,
}

impl Client {
    /// Of a session on the calling thread's worker.
    pub(super) fn new(stream: Stream, control: &Arc<SessionControl>) -> Client {
        Client { queued: Queued::new(control), is_local: stream.is_local(), stream }
    }

    /// Gives the socket up, for another worker.
    pub(super) fn leave(self) -> io::Result<Accepted> {
        let Client { queued, stream, .. } = self;
        drop(queued);
        stream.leave()
    }

    /// Leaves an answer to the outbox, if it may wait and nothing is before it.
    fn put(&self, answer: &[u8]) -> bool {
        self.queued.settle();
        self.is_local
            && !self.queued.has_returned()
            && self.queued.put(self.stream.descriptor(), answer)
    }

    /// Has the client's answer leave the outbox; says what has come back from there.
    fn settle(&self) -> Option<Returned> {
        self.queued.settle();
        self.queued.take_returned()
    }
}

impl Session {
    /// Reads more; false: the client has gone.
    pub(super) async fn receive(&mut self, input: &mut BytesMut) -> Result<bool> {
        self.statement.has_begun = false;
        input.reserve(frame::read_ahead(input));
        let idle_limit = match (self.wire.copy.is_some(), self.transaction.in_block()) {
            (true, _) => None,
            (false, true) => self.settings.live.idle_in_transaction_timeout,
            (false, false) => self.settings.live.idle_session_timeout,
        };
        let (shared, control) = (self.core.handle.shared(), &self.control);
        // Between Parse and Sync the statement's time runs on while nothing comes.
        let (in_copy, is_timed) =
            (self.wire.copy.is_some(), self.statement.timers.time_statement());
        let Some(Client { queued, stream, .. }) = &mut self.wire.client else { return Ok(false) };
        let read = {
            let mut reading = pin!(stream.read(input));
            let waiting = poll_fn(|cx| {
                control.register(cx.waker());
                if is_timed && shared.take_statement_timeout() {
                    return Poll::Ready(Err(statement_timed_out()));
                }
                if shared.has_interrupt()
                    && let Err(interrupt) = shared.check_interrupts()
                    && (in_copy || interrupt.fields().severity != Severity::Error)
                {
                    // A cancel that finds nothing to cancel is forgotten, as in PostgreSQL.
                    return Poll::Ready(Err(interrupt));
                }
                if queued.has_returned() {
                    return Poll::Ready(Ok(Woken::Returned));
                }
                reading.as_mut().poll(cx).map(Woken::Read).map(Ok)
            });
            match idle_limit {
                None => Some(waiting.await),
                Some(limit) => tokio::time::timeout(limit, waiting).await.ok(),
            }
        };
        match read {
            None => Err(self.idle_too_long()),
            Some(Ok(Woken::Read(read))) => Ok(matches!(read, Ok(1..))),
            Some(Ok(Woken::Returned)) => self.write().await.map(|()| true),
            Some(Err(interrupt)) if interrupt.fields().severity == Severity::Error => {
                self.failed(b'd', interrupt)?;
                self.send().await?;
                Ok(true)
            }
            Some(Err(interrupt)) => Err(interrupt),
        }
    }

    fn idle_too_long(&self) -> Error {
        let (state, what) = if self.transaction.in_block() {
            (SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT, "idle-in-transaction")
        } else {
            (SqlState(*b"57P05"), "idle-session")
        };
        Error::new(state, format!("terminating connection due to {what} timeout"))
            .severity(Severity::Fatal)
    }

    /// Lets the rows of the running statement out of the send buffer once it is large: to the
    /// client, or to be kept where it has asked for a part of them only.
    pub(super) async fn pass_rows_on(&mut self) -> Result<()> {
        if self.wire.out.len() < SEND_AT_BYTES {
            return Ok(());
        }
        match &mut self.wire.held_rows {
            Some(held) => held.rows.take(&mut self.wire.out, held.start),
            None => self.send().await,
        }
    }

    /// Sends the answer so far, once all that it tells is durable.
    pub(super) async fn send(&mut self) -> Result<()> {
        if self.wire.out.is_empty() {
            return Ok(());
        }
        self.finish_run();
        self.wait_durable().await?;
        self.write().await
    }

    /// Sends the answer to all that has come, once all that it tells is durable: with those of the
    /// worker's other sessions, if it can.
    pub(super) async fn answer(&mut self) -> Result<()> {
        if self.wire.out.is_empty() {
            return Ok(());
        }
        self.finish_run();
        self.wait_durable().await?;
        if self.wire.client.as_ref().is_some_and(|client| client.put(&self.wire.out)) {
            self.wire.out.clear();
            return Ok(());
        }
        self.write().await
    }

    /// Writes what is in the send buffer, and what has come back from the outbox before it.
    pub(super) async fn write(&mut self) -> Result<()> {
        let (shared, control) = (self.core.handle.shared(), &self.control);
        let Some(client) = &mut self.wire.client else { return Ok(()) };
        match client.settle() {
            None => {}
            Some(Returned::Rest(rest)) => drop(self.wire.out.splice(..0, rest)),
            Some(Returned::Lost) => return Err(connection_lost()),
        }
        let stream = &mut client.stream;
        let (out, mut sent, mut waited) = (&self.wire.out, 0, false);
        let written = poll_fn(|cx| {
            while sent < out.len() {
                match stream.poll_write(cx, &out[sent..]) {
                    Poll::Ready(Ok(n)) if n > 0 => sent += n,
                    Poll::Ready(_) => return Poll::Ready(Err(connection_lost())),
                    Poll::Pending => {
                        waited = true;
                        control.activity.set_wait(Some(Wait::ClientWrite));
                        // A client that does not read cannot keep the server from stopping.
                        control.register(cx.waker());
                        if shared.has_interrupt()
                            && let Err(interrupt) = shared.check_interrupts()
                        {
                            if interrupt.fields().severity != Severity::Error {
                                return Poll::Ready(Err(connection_lost()));
                            }
                            // For the statement, once there is room again.
                            shared.interrupt(Interrupt::Cancel);
                        }
                        return Poll::Pending;
                    }
                }
            }
            Poll::Ready(Ok(()))
        });
        let written = written.await;
        control.activity.set_wait(None);
        written?;
        if waited {
            self.counters.answer_sent_at = None;
        }
        self.wire.writes += 1;
        self.wire.out.clear();
        if self.wire.out.capacity() > KEEP_BYTES {
            self.wire.out = Vec::new();
        }
        Ok(())
    }

    /// Tells the client why it is sent away, if it still listens.
    pub(super) async fn say_goodbye(&mut self, error: Error) {
        let fields = error.fields();
        self.wire.end = SessionEnd::of(fields.sqlstate);
        if fields.sqlstate == SqlState::CONNECTION_EXCEPTION {
            return;
        }
        log::session_error(self.core.handle.pid(), &error, &self.control.activity.query());
        if fields.sqlstate == SqlState::CONNECTION_FAILURE {
            return;
        }
        let fatal = match fields.severity {
            Severity::Panic => error,
            _ => error.severity(Severity::Fatal),
        };
        self.wire.out.clear();
        let Some(client) = &mut self.wire.client else { return };
        if let Some(Returned::Rest(rest)) = client.settle() {
            self.wire.out = rest;
        }
        backend::error_response(&mut self.wire.out, &fatal);
        let stream = &mut client.stream;
        let sent =
            tokio::time::timeout(Duration::from_secs(5), stream.write_all(&self.wire.out)).await;
        if matches!(sent, Ok(Ok(()))) {
            stream.shutdown().await;
        }
    }
}

/// 08000: nobody is told.
pub(super) fn connection_lost() -> Error {
    Error::new(SqlState::CONNECTION_EXCEPTION, "connection to client lost")
        .severity(Severity::Fatal)
}
