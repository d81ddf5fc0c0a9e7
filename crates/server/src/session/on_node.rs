//! A plan that is one statement of one node.
//!
//! The node runs it in a transaction of its own if that changes nothing
//! ([`steppe_cluster::transaction::Alone`]), else in the session that the transaction has there. The
//! worker's other sessions continue while the node works. The rows are passed on as they come: they
//! are not decoded.

use std::future::poll_fn;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use steppe_cluster::transaction::{
    Alone, Effect, End, Fetched, Participants, Progress, RemoteStatement, Values, check_primary,
    row_count,
};
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
    /// Whether a plan that is about to start is one statement of nodes, whose rows can be passed on.
    pub(super) fn is_of_a_node(&self, portal: &PlanPortal, formats: &ResultFormats) -> bool {
        // A node always prints floats in full.
        let passes_on = self.io().extra_float_digits > 0;
        passes_on && portal.plan.compiled.remote(formats.of_bind()).is_some()
    }

    /// Whether a statement need not run in a session that the transaction has on a node.
    fn is_free_of_nodes(&self, effect: Effect) -> bool {
        let running = self.transaction.txn.as_ref();
        let on_nodes = running.and_then(|running| running.participants_if_any());
        self.transaction.is_read_committed()
            && on_nodes.is_none_or(Participants::is_empty)
            && (effect == Effect::Read || self.transaction.is_one_statement())
    }

    /// Runs a plan whose execution has begun on its node. False: it has several nodes.
    pub(super) async fn run_on_node(
        &mut self,
        portal: &mut PlanPortal,
        formats: &ResultFormats,
    ) -> Result<bool> {
        let plan = Arc::clone(&portal.plan);
        let Some(statement) = plan.compiled.remote(formats.of_bind()) else { return Ok(false) };
        let Some(execution) = &mut portal.execution else { return Ok(false) };
        let request = execution.remote_request(&mut self.transaction.txn)?;
        let Some((node, values)) = request else { return Ok(false) };
        // A function that gives a value may have changed something here.
        let lease = match self.is_free_of_nodes(statement.effect) {
            true => self.lease_alone(node, statement.effect).await?,
            false => None,
        };
        let tag = match lease {
            Some(lease) => self.run_alone(lease, &statement, &values).await?,
            None => self.run_in_session(node, &statement, values).await?,
        };
        self.finish_execution(portal, row_count(&tag));
        Ok(true)
    }

    /// Runs a statement in a transaction of its own. Returns its tag.
    async fn run_alone(
        &mut self,
        lease: NodeLease,
        statement: &RemoteStatement<'_>,
        values: &Values,
    ) -> Result<String> {
        let mut alone = Alone::start(lease, statement, values, 0)?;
        match self.pass_rows_of(&mut alone).await {
            Ok(End::Done(tag)) => Ok(tag),
            Ok(End::HasMore) => Err(Error::internal("a node has not sent all rows")),
            Err(error) => {
                alone.note_failure(statement, &error);
                Err(error)
            }
        }
    }

    /// Runs a statement in the session that the transaction has on a node. Returns its tag.
    async fn run_in_session(
        &mut self,
        node: NodeId,
        statement: &RemoteStatement<'_>,
        values: Values,
    ) -> Result<String> {
        let host = Arc::clone(&self.core);
        let participants = self.transaction.running()?.participants(&*host)?;
        let opened = participants.open(statement, &[(node, values)], 0, None)?;
        let [cursor] = opened[..] else {
            return Err(Error::internal("a statement was not opened once"));
        };
        loop {
            let participants = self.transaction.running()?.participants(&*host)?;
            match participants.fetch_step(cursor, &mut self.wire.out, SEND_AT_BYTES)? {
                Step::Ready(Fetched::Done(tag)) => {
                    participants.close(cursor);
                    return Ok(tag);
                }
                Step::Ready(Fetched::More) => Box::pin(self.pass_rows_on()).await?,
                Step::Waits(interest) => {
                    let socket = participants.descriptor(cursor)?;
                    if let Err(reason) = node_ready(&self.control, socket, interest).await {
                        let stop = || participants.stop_in_place(cursor, reason);
                        return Err(tokio::task::block_in_place(stop));
                    }
                }
            }
        }
    }

    /// A connection to a node with the session's settings. `None`: a transaction must first wait for
    /// the node.
    async fn lease_alone(&mut self, node: NodeId, effect: Effect) -> Result<Option<NodeLease>> {
        if effect != Effect::Read {
            self.wait_kept().await?;
        }
        let server = Arc::clone(self.server());
        let cluster = server.cluster.transactions(&server)?;
        let Some(pool) = cluster.pool_if_listed(node) else { return Ok(None) };
        let mut lease = self.leased(pool).await?;
        check_primary(&lease)?;
        let settings = self.core.statement_settings();
        if !lease.has(&settings) {
            let deadline = Instant::now() + lease.pool().connect_timeout();
            tokio::task::block_in_place(|| lease.bring_to(&settings, deadline))?;
        }
        Ok(Some(lease))
    }

    /// Waits until what a node must not outlive is durable: numbers of sequences, and what the
    /// transaction has read here.
    pub(super) async fn wait_kept(&mut self) -> Result<()> {
        let written = Lsn(self.core.flush_to.load(Ordering::Acquire));
        self.wait_flushed(self.core.handle.observed_lsn().max(written)).await
    }

    /// Passes the rows on to the client as they come.
    async fn pass_rows_of(&mut self, alone: &mut Alone) -> Result<End> {
        loop {
            match alone.advance(&mut self.wire.out, SEND_AT_BYTES)? {
                Step::Ready(Progress::Ended(end)) => return Ok(end),
                Step::Ready(Progress::Rows) => Box::pin(self.pass_rows_on()).await?,
                Step::Waits(interest) => {
                    let socket = alone.descriptor();
                    if let Err(reason) = node_ready(&self.control, socket, interest).await {
                        let out = &mut self.wire.out;
                        return tokio::task::block_in_place(|| alone.stop_in_place(reason, out));
                    }
                }
            }
        }
    }
}

/// Waits until a node's socket is ready. The error is the statement's interrupt.
async fn node_ready(
    control: &SessionControl,
    socket: BorrowedFd<'_>,
    interest: Interest,
) -> Result<()> {
    let socket = ReadySocket::of(socket, interest)?;
    control.activity.set_wait(Some(Wait::RemoteAnswer));
    let waited = poll_fn(|cx| {
        control.register(cx.waker());
        interrupt::check()?;
        socket.poll_ready(cx).map(Ok)
    });
    let waited = waited.await;
    control.activity.set_wait(None);
    waited
}
