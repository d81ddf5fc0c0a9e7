//! Timers that may end a running statement: statement_timeout, and the check of the client's
//! connection (client_connection_check_interval).
//!
//! Both begin with a message and end before its answer. A session that waits for its client sees on
//! the socket itself that the client has disconnected.

use std::os::fd::AsFd;
use std::sync::Arc;

use steppe_txn::Interrupt;
use tokio::task::JoinHandle;

use super::Session;
use crate::stream::has_hung_up;

/// The timers of a session.
#[derive(Default)]
pub(super) struct Timers {
    statement: Option<JoinHandle<()>>,
    client: Option<JoinHandle<()>>,
}

impl Timers {
    /// Whether statement_timeout runs.
    pub(super) fn time_statement(&self) -> bool {
        self.statement.is_some()
    }

    /// Ends both.
    pub(super) fn stop(&mut self) {
        for running in [self.statement.take(), self.client.take()].into_iter().flatten() {
            running.abort();
        }
    }
}

impl Session {
    /// Starts the timers that the settings require, unless they run already.
    pub(super) fn start_timers(&mut self) {
        self.start_statement_timer();
        self.watch_client();
    }

    /// Starts them for the next statement of a message. statement_timeout starts again.
    pub(super) fn restart_timers(&mut self) {
        if let Some(running) = self.statement.timers.statement.take() {
            running.abort();
        }
        self.start_timers();
    }

    fn start_statement_timer(&mut self) {
        let Some(limit) = self.settings.live.statement_timeout else { return };
        if self.statement.timers.statement.is_some() {
            return;
        }
        let (server, pid) = (Arc::clone(self.server()), self.pid());
        self.statement.timers.statement = Some(self.server().timers.spawn(async move {
            tokio::time::sleep(limit).await;
            server.backends.signal(pid, Interrupt::StatementTimeout);
        }));
    }

    fn watch_client(&mut self) {
        let Some(interval) = self.settings.live.client_check_interval else { return };
        if self.statement.timers.client.is_some() {
            return;
        }
        // The timer has its own descriptor, as the session may close its socket at any time.
        // Without a free descriptor, the client is not checked during this message.
        let socket = self.wire.client.as_ref().map(|client| client.stream.descriptor());
        let Some(Ok(socket)) = socket.map(|socket| socket.try_clone_to_owned()) else { return };
        let (server, pid) = (Arc::clone(self.server()), self.pid());
        self.statement.timers.client = Some(self.server().timers.spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                if has_hung_up(socket.as_fd()) {
                    server.backends.signal(pid, Interrupt::ClientLost);
                    return;
                }
            }
        }));
    }
}
