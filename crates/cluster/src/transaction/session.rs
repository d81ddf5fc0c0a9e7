//! The session of one transaction on one node.
//!
//! BEGIN, and the savepoints that the transaction is in, are appended in front of the first statement
//! without a Sync: one round trip for all. If BEGIN failed, the node would skip the statement, so
//! that it never runs outside of the transaction.
//!
//! So are settings that the client's session has changed since the node's last statement: local ones, which
//! end with the transaction. The connection's own settings stay as its pool knows them. A savepoint's
//! rollback takes back what was set inside of it, so the settings at each savepoint are kept.

use steppe_types::{Error, Result};
use steppe_wire::TransactionStatus;
use steppe_wire::client::send;

use super::cursors::{CursorId, RemoteStatement, Values};
use super::exchange::{Ended, Exchange};
use super::participants::SETTLE_TIME;
use super::{Cluster, FaultPoint};
use crate::commit::{Answer, Request, Wrote};
use crate::connection::{Connection, Message, Step};
use crate::pool::replay::{SET_LOCALLY, Settings};
use crate::pool::{Lease, NodeConnection, NodeOpener, connection_failure};
use crate::{Interest, NodeId};

/// The messages that answer an appended statement: BindComplete and CommandComplete.
const ANSWERS: usize = 2;

/// The effect that a statement may have on a node, as its planner knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It reads, and calls no function that may write. It locks no rows.
    Read,
    /// It changes rows of ordinary tables of the node: its command tag tells whether it has.
    Rows,
    /// Anything else.
    Any,
}

/// A session of a transaction on a node.
pub struct NodeSession {
    node: NodeId,
    lease: Lease<NodeOpener>,
    /// Messages that answer BEGIN and savepoints, and are not the caller's.
    prefix: usize,
    effect: Effect,
    wrote: Wrote,
    /// The settings that the node's session has now.
    settings: Settings,
    /// The savepoints that it has, one a level: the settings that it had there.
    levels: Vec<Settings>,
    /// Statements about levels that have ended, for the next statement to carry.
    ended_levels: Vec<String>,
    /// Portals for the next statement to close.
    closed_portals: Vec<String>,
    /// The cursor whose batch is under way.
    pub(super) runs: Option<CursorId>,
    /// The error of a statement in front of the caller's, which the caller's answer is.
    prefix_error: Option<Error>,
    request: Option<(Request, Exchange)>,
}

impl NodeSession {
    /// Appends `begin`, the statement that begins the transaction. The lease has these settings.
    pub(super) fn begin(
        node: NodeId,
        lease: Lease<NodeOpener>,
        begin: &str,
        settings: Settings,
    ) -> Result<NodeSession> {
        let mut session = NodeSession {
            node,
            lease,
            prefix: 0,
            effect: Effect::Read,
            wrote: Wrote::No,
            settings,
            levels: Vec::new(),
            ended_levels: Vec::new(),
            closed_portals: Vec::new(),
            runs: None,
            prefix_error: None,
            request: None,
        };
        session.append(begin)?;
        Ok(session)
    }

    /// Appends a statement in front of the caller's, which has no answer for the caller.
    fn append(&mut self, text: &str) -> Result<()> {
        append(&mut self.lease, text, &[])?;
        self.prefix += ANSWERS;
        Ok(())
    }

    // ----- levels of savepoints -----

    /// How many levels it has.
    pub(super) fn level(&self) -> u32 {
        u32::try_from(self.levels.len()).unwrap_or(u32::MAX)
    }

    /// Appends the savepoints that it lacks, the settings that have changed, and what else waits for a
    /// statement to carry it.
    pub(super) fn bring_to(&mut self, level: u32, settings: &Settings) -> Result<()> {
        for portal in std::mem::take(&mut self.closed_portals) {
            self.lease.close_portal(&portal);
        }
        for text in std::mem::take(&mut self.ended_levels) {
            self.append(&text)?;
        }
        while self.level() < level {
            self.levels.push(self.settings.clone());
            self.append(&format!("SAVEPOINT {}", name_of(self.level())))?;
        }
        match self.settings.is_same(settings) {
            true => Ok(()),
            false => self.set(settings),
        }
    }

    fn set(&mut self, wanted: &Settings) -> Result<()> {
        for (name, value) in self.settings.changes(wanted) {
            append(&mut self.lease, SET_LOCALLY, &[name, value])?;
            self.prefix += ANSWERS;
        }
        self.settings = wanted.clone();
        Ok(())
    }

    /// Notes that a level has ended, and those inside of it.
    pub(super) fn release(&mut self, level: u32) {
        if self.level() >= level {
            self.ended_levels.push(format!("RELEASE SAVEPOINT {}", name_of(level)));
            self.levels.truncate(level as usize - 1);
        }
    }

    /// Appends the rollback to the beginning of a level that it has, which begins again.
    pub(super) fn roll_back_to(&mut self, level: u32) -> Result<()> {
        // They were inside of it.
        self.ended_levels.clear();
        self.levels.truncate(level as usize);
        if let Some(at_level) = self.levels.last() {
            self.settings = at_level.clone();
        }
        self.effect = Effect::Read;
        self.bind(&format!("ROLLBACK TO SAVEPOINT {}", name_of(level)))?;
        self.execute();
        Ok(())
    }

    /// The node.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The connection, to append requests and to flush. Its messages are received by
    /// [`Self::receive`].
    pub fn connection(&mut self) -> &mut NodeConnection {
        &mut self.lease
    }

    /// Whether the transaction has written here, as far as it is known.
    pub fn wrote(&self) -> Wrote {
        self.wrote
    }

    /// Notes the effect that the next statement may have.
    pub(super) fn expect(&mut self, effect: Effect) {
        self.effect = effect;
        if effect == Effect::Any {
            // It may leave something in the session: settings, locks, temporary tables.
            self.lease.touch();
        }
        if effect != Effect::Read && self.wrote == Wrote::No {
            self.wrote = Wrote::Maybe;
        }
    }

    /// The next message of the caller's statements.
    pub fn receive(&mut self) -> Result<Step<Message<'_>>> {
        if let Step::Waits(interest) = self.skip_prefix()? {
            return Ok(Step::Waits(interest));
        }
        if let Some(error) = self.take_prefix_error() {
            return Err(self.lease.violated(error));
        }
        let step = self.lease.receive()?;
        if let Step::Ready(message) = &step
            && message.tag() == b'C'
            && self.effect == Effect::Rows
            && has_rows(message.body())
        {
            self.wrote = Wrote::Yes;
        }
        Ok(step)
    }

    /// Receives the answers of the statements in front of the caller's. An error of one that has not
    /// begun the transaction is the caller's answer.
    pub(super) fn skip_prefix(&mut self) -> Result<Step<()>> {
        while self.prefix > 0 {
            let flushed = self.lease.flush()?;
            let step = self.lease.receive()?;
            let message = match step {
                Step::Ready(message) => message,
                Step::Waits(_) if flushed != Step::Ready(()) => {
                    return Ok(Step::Waits(Interest::Both));
                }
                Step::Waits(interest) => return Ok(Step::Waits(interest)),
            };
            match message.tag() {
                b'2' | b'C' => self.prefix -= 1,
                // What set_config returns.
                b'D' | b'N' => {}
                b'E' => {
                    let error = match message.decode()? {
                        steppe_wire::client::receive::BackendMessage::ErrorResponse(error) => error,
                        _ => Error::internal("an error is none"),
                    };
                    if self.lease.transaction_status() == TransactionStatus::Idle {
                        return Err(self.lease.violated(error));
                    }
                    // The node skips all up to Sync.
                    self.prefix = 0;
                    self.prefix_error = Some(error);
                }
                _ => {
                    let error = Error::internal("a node has not answered BEGIN");
                    return Err(self.lease.violated(error));
                }
            }
        }
        Ok(Step::Ready(()))
    }

    /// The error in front of the caller's statement, if there was one. ReadyForQuery comes next.
    pub(super) fn take_prefix_error(&mut self) -> Option<Error> {
        self.prefix_error.take()
    }

    // ----- cursors -----

    /// Appends a statement with parameters, and the first Execute of its portal. Flush has the Bind
    /// answered at once.
    pub(super) fn start(
        &mut self,
        statement: &RemoteStatement<'_>,
        values: &Values,
        portal: &str,
        batch: i32,
    ) -> Result<()> {
        let name = self.lease.prepare(statement.text, statement.types)?;
        let values = values.iter().map(Option::as_deref);
        send::bind(self.lease.out(), portal, &name, &[], values, statement.result_formats)?;
        send::flush(self.lease.out());
        self.execute_portal(portal, batch);
        Ok(())
    }

    /// Appends the Execute of a portal, and Sync.
    pub(super) fn execute_portal(&mut self, portal: &str, batch: i32) {
        send::execute(self.lease.out(), portal, batch);
        self.lease.sync();
    }

    /// Notes a portal to be closed.
    pub(super) fn close_portal(&mut self, portal: String) {
        self.closed_portals.push(portal);
    }

    /// Notes the command tag of a statement.
    pub(super) fn note_tag(&mut self, effect: Effect, tag: &[u8]) {
        if effect == Effect::Rows && has_rows(tag) {
            self.wrote = Wrote::Yes;
        }
    }

    /// The process id of the session.
    pub(super) fn process_id(&self) -> Option<i32> {
        self.lease.process_id()
    }

    /// Cancels what runs, and discards its answers. The connection stays in the transaction, or is
    /// unusable.
    pub(super) fn settle(&mut self, reason: &Error) {
        if !self.lease.is_broken() {
            self.lease.settle_in_place(SETTLE_TIME);
            self.prefix = 0;
            self.prefix_error = None;
            if self.lease.transaction_status() == TransactionStatus::Idle {
                // BEGIN has failed.
                self.lease.violated(reason.clone());
            }
        }
    }

    /// Appends one statement without parameters up to its Bind.
    pub(super) fn bind(&mut self, text: &str) -> Result<()> {
        self.lease.parse_unnamed(text, &[])?;
        send::bind(self.lease.out(), "", "", &[], [], &[])
    }

    /// Appends the execution of what was bound, and Sync.
    pub(super) fn execute(&mut self) {
        send::execute(self.lease.out(), "", 0);
        self.lease.sync();
    }

    pub(super) fn flush_request(&mut self) {
        send::flush(self.lease.out());
    }

    pub(super) fn advance(&mut self, exchange: &mut Exchange) -> Result<Step<Ended>> {
        if let Step::Waits(interest) = self.skip_prefix()? {
            return Ok(Step::Waits(interest));
        }
        exchange.failed_before(self.take_prefix_error());
        let step = exchange.advance(&mut self.lease)?;
        if let Step::Ready(Ok(replies)) = &step
            && self.effect == Effect::Rows
            && replies.iter().any(|reply| has_rows(reply.tag.as_bytes()))
        {
            self.wrote = Wrote::Yes;
        }
        Ok(step)
    }

    pub(super) fn advance_to_bind(&mut self, exchange: &mut Exchange) -> Result<Step<Result<()>>> {
        if let Step::Waits(interest) = self.skip_prefix()? {
            return Ok(Step::Waits(interest));
        }
        exchange.failed_before(self.take_prefix_error());
        exchange.advance_to_bind(&mut self.lease, 1)
    }

    /// The error of an operation, with the node's name.
    pub(super) fn named(&self, error: Error) -> Error {
        let name = self.lease.pool().name();
        match self.lease.is_broken() {
            true => connection_failure(name, self.lease.of_node(error)),
            false => error.within(format!("remote node \"{name}\"")),
        }
    }

    // ----- the commit -----

    /// Whether a request of the protocol can be sent: all statements were answered.
    pub(super) fn is_ready(&self) -> bool {
        !self.lease.is_broken() && self.lease.cycles() == 0 && self.request.is_none()
    }

    pub(super) fn awaits(&self) -> bool {
        self.request.is_some()
    }

    /// Sends a request of the protocol. False: the connection is lost.
    pub(super) fn send(&mut self, cluster: &Cluster, request: Request) -> bool {
        if !self.is_ready() || cluster.fails(FaultPoint::BeforeSend, self.node, &request) {
            return false;
        }
        if self.lease.query(&request.sql()).is_err() || self.lease.flush().is_err() {
            return false;
        }
        let fails = cluster.fails(FaultPoint::AfterSend, self.node, &request);
        self.request = Some((request, Exchange::default()));
        !fails
    }

    /// Goes on with the request. An answer of [`Answer::Lost`]: the session must be dropped.
    pub(super) fn answer(&mut self, cluster: &Cluster) -> Step<Answer> {
        let Some((request, mut exchange)) = self.request.take() else {
            return Step::Ready(Answer::Lost);
        };
        let step = match self.skip_prefix() {
            Ok(Step::Ready(())) => {
                exchange.failed_before(self.take_prefix_error());
                exchange.advance(&mut self.lease)
            }
            Ok(Step::Waits(interest)) => Ok(Step::Waits(interest)),
            Err(error) => Err(error),
        };
        match step {
            Ok(Step::Waits(interest)) => {
                self.request = Some((request, exchange));
                Step::Waits(interest)
            }
            Ok(Step::Ready(_)) if cluster.fails(FaultPoint::BeforeRead, self.node, &request) => {
                Step::Ready(Answer::Lost)
            }
            Ok(Step::Ready(Ok(replies))) => Step::Ready(request.answered(&replies)),
            Ok(Step::Ready(Err(error))) => Step::Ready(request.failed(error)),
            Err(_) => Step::Ready(Answer::Lost),
        }
    }
}

/// The savepoint of a level.
fn name_of(level: u32) -> String {
    format!("steppe_{level}")
}

/// Appends a statement without answers of its own for the caller.
fn append(connection: &mut Connection, text: &str, values: &[&str]) -> Result<()> {
    let name = connection.prepare(text, &[])?;
    let values = values.iter().map(|value| Some(value.as_bytes()));
    send::bind(connection.out(), "", &name, &[], values, &[])?;
    send::execute(connection.out(), "", 0);
    Ok(())
}

/// Whether a command tag says that rows were changed.
fn has_rows(tag: &[u8]) -> bool {
    let tag = tag.strip_suffix(b"\0").unwrap_or(tag);
    let mut words = tag.split(|byte| *byte == b' ');
    let changes = words
        .next()
        .is_some_and(|word| matches!(word, b"INSERT" | b"UPDATE" | b"DELETE" | b"MERGE"));
    changes && words.next_back().is_some_and(|count| count.iter().any(|digit| *digit != b'0'))
}
