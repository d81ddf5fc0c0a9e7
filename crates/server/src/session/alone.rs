//! A plan that is one statement of one node, which the node runs in a transaction of its own
//! ([`steppe_cluster::transaction::Alone`] says when that changes nothing).
//!
//! The worker's other sessions continue while the node works. The rows are passed on as they
//! come: they are not decoded.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use steppe_cluster::transaction::{Alone, Effect, End, Participants, Progress, check_primary};
use steppe_cluster::{Interest, NodeId, Step};
use steppe_txn::Lsn;
use steppe_types::{Error, Result, interrupt};

use super::Session;
use super::client::SEND_AT_BYTES;
use super::portal::PlanPortal;
use super::sink::ResultFormats;
use crate::activity::Wait;
use crate::cluster::NodeLease;
use crate::server::SessionControl;
use crate::stream::ReadySocket;

impl Session {
    /// Whether a plan that is about to start may run alone, as far as is known without its values.
    pub(super) fn may_run_alone(&self, portal: &PlanPortal, formats: &ResultFormats) -> bool {
        let Some(statement) = portal.plan.compiled.remote(formats.of_bind()) else { return false };
        // A node always prints floats in full.
        self.io().extra_float_digits > 0 && self.is_free_of_nodes(statement.effect)
    }

    /// Whether a statement need not run in a session that the transaction has on a node.
    fn is_free_of_nodes(&self, effect: Effect) -> bool {
        let running = self.transaction.txn.as_ref();
        let on_nodes = running.and_then(|running| running.participants_if_any());
        self.transaction.is_read_committed()
            && on_nodes.is_none_or(Participants::is_empty)
            && (effect == Effect::Read || self.transaction.is_one_statement())
    }

    /// Runs a plan whose execution has begun on its node. False: the execution has to do it.
    pub(super) async fn run_alone(
        &mut self,
        portal: &mut PlanPortal,
        formats: &ResultFormats,
    ) -> Result<bool> {
        let plan = Arc::clone(&portal.plan);
        let Some(statement) = plan.compiled.remote(formats.of_bind()) else { return Ok(false) };
        let Some(execution) = &mut portal.execution else { return Ok(false) };
        let request = execution.remote_request(&mut self.transaction.txn)?;
        // A function that gives a value may have changed something here.
        let request = request.filter(|_| self.is_free_of_nodes(statement.effect));
        let Some((node, values)) = request else { return Ok(false) };
        if statement.effect != Effect::Read {
            // Numbers of sequences, and what it has read here: a crash must not take back what a
            // node keeps.
            let written = Lsn(self.core.flush_to.load(Ordering::Acquire));
            self.wait_flushed(self.core.handle.observed_lsn().max(written)).await?;
        }
        let Some(lease) = self.lease_alone(node).await? else { return Ok(false) };
        let mut alone = Alone::start(lease, &statement, &values, 0)?;
        match self.pass_rows_of(&mut alone).await {
            Ok(End::Done(tag)) => {
                self.finish_execution(portal, rows_of(&tag));
                Ok(true)
            }
            Ok(End::HasMore) => Err(Error::internal("a node has not sent all rows")),
            Err(error) => {
                alone.note_failure(&statement, &error);
                Err(error)
            }
        }
    }

    /// A connection to a node with the session's settings. `None`: a transaction must first wait for
    /// the node.
    async fn lease_alone(&mut self, node: NodeId) -> Result<Option<NodeLease>> {
        let server = Arc::clone(self.server());
        let cluster = server.cluster.transactions(&server)?;
        let Some(pool) = cluster.pool_if_listed(node) else { return Ok(None) };
        let mut lease = self.leased(pool).await?;
        check_primary(&lease)?;
        let settings = self.core.replayed_settings();
        if !lease.has(&settings) {
            let deadline = Instant::now() + lease.pool().connect_timeout();
            tokio::task::block_in_place(|| lease.bring_to(&settings, deadline))?;
        }
        Ok(Some(lease))
    }

    /// Passes the rows on to the client as they come.
    async fn pass_rows_of(&mut self, alone: &mut Alone) -> Result<End> {
        loop {
            match alone.advance(&mut self.wire.out, SEND_AT_BYTES)? {
                Step::Ready(Progress::Ended(end)) => return Ok(end),
                Step::Ready(Progress::Rows) => Box::pin(self.pass_rows_on()).await?,
                Step::Waits(interest) => {
                    let control = Arc::clone(&self.control);
                    control.activity.set_wait(Some(Wait::RemoteAnswer));
                    let waited = node_ready(&control, alone, interest).await;
                    control.activity.set_wait(None);
                    if let Err(reason) = waited {
                        let out = &mut self.wire.out;
                        return tokio::task::block_in_place(|| alone.stop_in_place(reason, out));
                    }
                }
            }
        }
    }
}

/// Waits until the node's socket is ready. The error is the statement's interrupt.
async fn node_ready(control: &SessionControl, alone: &Alone, interest: Interest) -> Result<()> {
    let socket = ReadySocket::of(alone.descriptor(), interest)?;
    poll_fn(|cx| {
        control.register(cx.waker());
        interrupt::check()?;
        socket.poll_ready(cx).map(Ok)
    })
    .await
}

/// The number of rows in a command tag.
fn rows_of(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}
