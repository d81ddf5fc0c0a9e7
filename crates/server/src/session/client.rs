//! The session's connection: reads messages, sends answers, sends the final error.
//!
//! If the client is on this machine, the answer to all its messages is sent with those of the
//! worker's other sessions ([`crate::outbox`]). A remote client runs in parallel with the server,
//! so its answer would only arrive later if it waited for others.

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

/// Answers are sent when this many bytes have gathered, even within a statement.
pub(super) const SEND_AT_BYTES: usize = 64 * 1024;
/// Without a Sync or Flush, answers are sent when this many bytes have gathered, as in PostgreSQL's
/// send buffer.
pub(super) const HELD_BACK_BYTES: usize = 8 * 1024;
/// Larger buffers are freed when they are empty.
pub(super) const KEEP_BYTES: usize = 1 << 20;

/// A session's connection.
pub(super) struct Client {
    /// It is declared before the stream, so that its answer is sent before the socket closes.
    queued: Queued,
    /// Whether the client is on this machine.
    is_local: bool,
    pub(super) stream: Stream,
}

/// The event that wakes a session that waits for its client.
enum Woken {
    /// The result of [`Stream::read`].
    Read(io::Result<usize>),
    /// The outbox has returned an answer.
    Returned,
}

impl Client {
    /// The client of a session on the calling thread's worker.
    pub(super) fn new(stream: Stream, control: &Arc<SessionControl>) -> Client {
        Client { queued: Queued::new(control), is_local: stream.is_local(), stream }
    }

    /// Gives the socket to another worker.
    pub(super) fn leave(self) -> io::Result<Accepted> {
        let Client { queued, stream, .. } = self;
        drop(queued);
        stream.leave()
    }

    /// Gives an answer to the outbox, unless the client is remote or earlier bytes were returned.
    fn put(&self, answer: &[u8]) -> bool {
        self.queued.settle();
        self.is_local
            && !self.queued.has_returned()
            && self.queued.put(self.stream.descriptor(), answer)
    }

    /// Sends the client's answer in the outbox. Takes the returned bytes.
    fn settle(&self) -> Option<Returned> {
        self.queued.settle();
        self.queued.take_returned()
    }
}

impl Session {
    /// Reads more. Returns false if the client has disconnected.
    pub(super) async fn receive(&mut self, input: &mut BytesMut) -> Result<bool> {
        self.statement.has_begun = false;
        input.reserve(frame::read_ahead(input));
        let idle_limit = match (self.wire.copy.is_some(), self.transaction.in_block()) {
            (true, _) => None,
            (false, true) => self.settings.live.idle_in_transaction_timeout,
            (false, false) => self.settings.live.idle_session_timeout,
        };
        let (shared, control) = (self.core.handle.shared(), &self.control);
        // Between Parse and Sync, statement_timeout runs on while no message arrives.
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
                    // As in PostgreSQL, a cancel is ignored if no statement runs.
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

    /// Empties the send buffer of the running statement's rows once it is large. They are sent, or
    /// kept if the client has asked for a part of them only.
    pub(super) async fn pass_rows_on(&mut self) -> Result<()> {
        if self.wire.out.len() < SEND_AT_BYTES {
            return Ok(());
        }
        match &mut self.wire.held_rows {
            Some(held) => held.rows.take(&mut self.wire.out, held.start),
            None => self.send().await,
        }
    }

    /// Sends the answer so far, once the changes that it shows are durable.
    pub(super) async fn send(&mut self) -> Result<()> {
        if self.wire.out.is_empty() {
            return Ok(());
        }
        self.finish_run();
        self.wait_durable().await?;
        self.write().await
    }

    /// Sends the answer to all messages, once the changes that it shows are durable, with those of
    /// the worker's other sessions if possible.
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

    /// Writes the bytes that the outbox has returned, then the send buffer.
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
                        // A client that does not read must not delay the server's stop.
                        control.register(cx.waker());
                        if shared.has_interrupt()
                            && let Err(interrupt) = shared.check_interrupts()
                        {
                            if interrupt.fields().severity != Severity::Error {
                                return Poll::Ready(Err(connection_lost()));
                            }
                            // The statement takes it, once there is room again.
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

    /// Sends the error that ends the session, if the client still reads.
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

/// 08000: the client gets no message.
pub(super) fn connection_lost() -> Error {
    Error::new(SqlState::CONNECTION_EXCEPTION, "connection to client lost")
        .severity(Severity::Fatal)
}
