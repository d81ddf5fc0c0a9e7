//! The sessions of one transaction on its nodes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use steppe_types::{Error, Result, SqlState};

use super::Cluster;
use super::committing::{Advanced, Committing};
use super::cursors::Cursors;
use super::exchange::Ended;
use super::local::LocalPart;
use super::session::{Effect, NodeSession};
use crate::commit::{Outcome, Participant, Reply, Wrote};
use crate::gate::{Entry, Passage, Snapshots};
use crate::pool::replay::Settings;
use crate::pool::{Lease, NodeOpener};
use crate::wait::Watched;
use crate::{NodeId, NodeSet};

/// A caller without a deadline has its statement's interrupts.
pub(super) const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// How long a node may take to end a statement that was cancelled.
pub(super) const SETTLE_TIME: Duration = Duration::from_secs(2);

/// The isolation level of a transaction over nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement sees what was committed before it.
    ReadCommitted,
    /// The transaction sees what was committed before its first statement.
    RepeatableRead,
}

/// The characteristics of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// Its isolation level.
    pub isolation: Isolation,
    /// It writes nothing.
    pub read_only: bool,
    /// DEFERRABLE.
    pub deferrable: bool,
}

impl Mode {
    fn begin(self) -> &'static str {
        use Isolation::{ReadCommitted, RepeatableRead};
        match (self.isolation, self.read_only, self.deferrable) {
            (ReadCommitted, false, false) => "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
            (ReadCommitted, true, false) => "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY",
            (ReadCommitted, false, true) => {
                "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE DEFERRABLE"
            }
            (ReadCommitted, true, true) => {
                "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY DEFERRABLE"
            }
            (RepeatableRead, false, false) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE",
            (RepeatableRead, true, false) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            (RepeatableRead, false, true) => {
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE DEFERRABLE"
            }
            (RepeatableRead, true, true) => {
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY DEFERRABLE"
            }
        }
    }
}

/// The sessions of one transaction. Dropped, it is rolled back: the pools close the connections
/// without waiting.
pub struct Participants {
    cluster: Arc<Cluster>,
    user: String,
    database: String,
    settings: Settings,
    mode: Mode,
    pub(super) sessions: BTreeMap<NodeId, NodeSession>,
    /// The number of open levels of savepoints.
    pub(super) level: u32,
    /// Why the transaction can only be rolled back.
    pub(super) spoilt: Option<Error>,
    snapshots: Option<Snapshots>,
    /// Which copy of a replicated table the session reads, if it may choose.
    choice: usize,
    pub(super) cursors: Cursors,
}

impl Participants {
    /// A transaction without nodes. User, database and settings are those of its client's session.
    pub fn new(
        cluster: &Arc<Cluster>,
        user: &str,
        database: &str,
        settings: Settings,
        mode: Mode,
    ) -> Participants {
        Participants {
            cluster: Arc::clone(cluster),
            user: user.to_owned(),
            database: database.to_owned(),
            settings,
            mode,
            sessions: BTreeMap::new(),
            level: 0,
            spoilt: None,
            snapshots: None,
            choice: 0,
            cursors: Cursors::default(),
        }
    }

    /// Sets which copy of a replicated table is read, if any will do. It is the same for all transactions of a
    /// session, so that what one has seen the next one sees, too.
    pub fn choose_copy(&mut self, number: usize) {
        self.choice = number;
    }

    /// The node of these on which the transaction reads what they all have: one that has joined, else the
    /// session's choice. If that gives no connection, the next one is taken. Errors: those of the last one.
    pub fn one_of(&self, nodes: &[NodeId]) -> Result<NodeId> {
        if let Some(node) = nodes.iter().find(|node| self.sessions.contains_key(node)) {
            return Ok(*node);
        }
        let mut failed = Error::internal("a replicated table has no node");
        for turn in 0..nodes.len() {
            let node = nodes[self.choice.wrapping_add(turn) % nodes.len()];
            match self.ready_lease(node) {
                Ok(_) => return Ok(node),
                Err(error) if is_unreachable(&error) => failed = error,
                Err(error) => return Err(error),
            }
        }
        Err(failed)
    }

    /// The settings of the client's session now. Each statement that is opened later runs with these on
    /// all nodes. They have the same names as those of the beginning.
    pub fn set_settings(&mut self, settings: Settings) {
        if !self.settings.is_same(&settings) {
            self.settings = settings;
        }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The session on a node, for a statement with this effect. The first use gets a connection and
    /// puts BEGIN in front. In REPEATABLE READ a node that joins others takes its snapshot here, in one
    /// round trip. Errors: those of the pool, 55P03 at the deadline of the gate, and 40001 if the
    /// node's snapshot would not fit to the others.
    pub fn session(
        &mut self,
        node: NodeId,
        effect: Effect,
        deadline: Instant,
    ) -> Result<&mut NodeSession> {
        self.take_snapshots(&[node], deadline)?;
        let session = self.joined(node, deadline)?;
        session.expect(effect);
        Ok(session)
    }

    pub(super) fn joined(&mut self, node: NodeId, deadline: Instant) -> Result<&mut NodeSession> {
        self.joined_with(node, None, deadline)
    }

    /// The session on a node, whose next statement has these settings, or the present ones.
    pub(super) fn joined_with(
        &mut self,
        node: NodeId,
        settings: Option<&Settings>,
        deadline: Instant,
    ) -> Result<&mut NodeSession> {
        self.check_usable()?;
        self.free(node)?;
        if !self.sessions.contains_key(&node) {
            let lease = self.settled_lease(node, deadline)?;
            let (begin, settings) = (self.mode.begin(), self.settings.clone());
            self.sessions.insert(node, NodeSession::begin(node, lease, begin, settings)?);
        }
        let missing = || Error::internal("a session of a node is missing");
        let session = self.sessions.get_mut(&node).ok_or_else(missing)?;
        session.bring_to(self.level, settings.unwrap_or(&self.settings))?;
        Ok(session)
    }

    /// A connection to a primary, with the session's settings.
    fn settled_lease(&self, node: NodeId, deadline: Instant) -> Result<Lease<NodeOpener>> {
        let mut lease = self.lease(node, deadline)?;
        check_primary(&lease)?;
        lease.bring_to(&self.settings, deadline)?;
        Ok(lease)
    }

    /// The same for a statement without a deadline of its own.
    pub(super) fn ready_lease(&self, node: NodeId) -> Result<Lease<NodeOpener>> {
        self.settled_lease(node, Instant::now() + NEVER)
    }

    /// Whether each statement has a snapshot of its own: several on one node do not see the same.
    pub fn has_snapshots_by_statement(&self) -> bool {
        self.mode.isolation == Isolation::ReadCommitted
    }

    /// Whether the transaction has done nothing on any node, and can end as if there were none.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.spoilt.is_none()
    }

    pub(super) fn check_usable(&self) -> Result<()> {
        self.spoilt.as_ref().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// A connection to a node from its pool.
    pub(super) fn lease(&self, node: NodeId, deadline: Instant) -> Result<Lease<NodeOpener>> {
        let pool = self.cluster.listed_pool(node, deadline)?;
        let key = pool.opener().key(&self.user, &self.database);
        pool.connect_in_place(key, deadline)
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether the transaction has written on the node, as far as it is known.
    pub fn has_written(&self, node: NodeId) -> Wrote {
        self.sessions.get(&node).map_or(Wrote::No, NodeSession::wrote)
    }

    /// Runs one statement without parameters on a node, and collects its answer.
    pub fn execute_in_place(
        &mut self,
        node: NodeId,
        effect: Effect,
        text: &str,
        deadline: Instant,
    ) -> Result<Vec<Reply>> {
        let session = self.session(node, effect, deadline)?;
        session.bind(text)?;
        session.execute();
        let mut answers = self.run(&[node], deadline, NodeSession::advance)?;
        answers.pop().unwrap_or_else(|| Ok(Vec::new()))
    }

    /// Runs a plain SELECT on several nodes, whose snapshots are taken in one passage of the gate:
    /// no commit over several nodes is seen half.
    pub fn read_in_place(
        &mut self,
        nodes: &[NodeId],
        text: &str,
        deadline: Instant,
    ) -> Result<Vec<Vec<Reply>>> {
        self.take_snapshots(nodes, deadline)?;
        for node in nodes {
            self.joined(*node, deadline)?.expect(Effect::Read);
        }
        let passage = match self.mode.isolation {
            Isolation::ReadCommitted => self.pass(nodes.iter().copied().collect(), deadline)?,
            Isolation::RepeatableRead => None,
        };
        for session in self.of(nodes) {
            session.bind(text)?;
            session.flush_request();
        }
        let bound = self.run(nodes, deadline, NodeSession::advance_to_bind)?;
        drop(passage);
        self.of(nodes).for_each(NodeSession::execute);
        let answers = self.run(nodes, deadline, NodeSession::advance)?;
        bound.into_iter().collect::<Result<()>>()?;
        answers.into_iter().collect()
    }

    /// The first snapshots of a REPEATABLE READ transaction on these nodes. A single one is taken by its
    /// first statement.
    pub(super) fn take_snapshots(&mut self, nodes: &[NodeId], deadline: Instant) -> Result<()> {
        if self.mode.isolation != Isolation::RepeatableRead {
            return Ok(());
        }
        let is_new = |node: &NodeId| !self.sessions.contains_key(node);
        let new: Vec<NodeId> = nodes.iter().copied().filter(is_new).collect();
        if new.is_empty() {
            return Ok(());
        }
        for node in &new {
            self.joined(*node, deadline)?;
        }
        let all: NodeSet = self.sessions.keys().copied().collect();
        let passage = self.pass(all.clone(), deadline)?;
        match &mut self.snapshots {
            None => self.snapshots = Some(self.cluster.gate.snapshots(all.clone())),
            Some(snapshots) => {
                for node in &new {
                    snapshots.join(*node)?;
                }
            }
        }
        if all.len() > 1 {
            for session in self.of(&new) {
                session.bind("SELECT 1")?;
                session.execute();
            }
            let answers = self.run(&new, deadline, NodeSession::advance)?;
            answers.into_iter().collect::<Result<Vec<_>>>()?;
        }
        drop(passage);
        Ok(())
    }

    pub(super) fn pass(&self, nodes: NodeSet, deadline: Instant) -> Result<Option<Passage>> {
        if nodes.len() < 2 {
            return Ok(None);
        }
        match self.cluster.gate.enter_read(nodes) {
            Entry::Passed(passage) => Ok(Some(passage)),
            Entry::Waits(wait) => wait.wait_in_place(Some(deadline)).map(Some),
        }
    }

    pub(super) fn of(&mut self, nodes: &[NodeId]) -> impl Iterator<Item = &mut NodeSession> {
        self.sessions.values_mut().filter(|session| nodes.contains(&session.node()))
    }

    /// Runs a statement on all nodes at once.
    fn everywhere(&mut self, text: &str, deadline: Instant) -> Result<()> {
        let nodes: Vec<NodeId> = self.sessions.keys().copied().collect();
        for session in self.sessions.values_mut() {
            session.bind(text)?;
            session.execute();
        }
        let answers: Vec<Ended> = self.run(&nodes, deadline, NodeSession::advance)?;
        answers.into_iter().collect::<Result<Vec<_>>>().map(drop)
    }

    // ----- the end -----

    /// Commits on all nodes and in the coordinator's database, or nowhere. `local`: the transaction has
    /// changed something there. It waits in place, for the patience of [`super::Times`] and no
    /// interrupt.
    pub fn commit_in_place(self, local: Option<&mut dyn LocalPart>) -> Outcome {
        match self.committing(local) {
            Ok(committing) => committing.run(),
            Err(error) => Outcome::RolledBack(error),
        }
    }

    fn committing(mut self, local: Option<&mut dyn LocalPart>) -> Result<Committing<'_>> {
        self.free_all()?;
        let Participants { cluster, sessions, snapshots, spoilt, .. } = self;
        drop(snapshots);
        if let Some(error) = spoilt {
            return Err(error);
        }
        let participant = |session: &NodeSession| Participant {
            node: session.node(),
            wrote: session.wrote(),
            number: None,
        };
        let mut participants: Vec<Participant> = sessions.values().map(participant).collect();
        if local.is_some() {
            // Last: the first writer decides.
            let (node, wrote) = (cluster.local_id(), Wrote::Yes);
            participants.push(Participant { node, wrote, number: None });
        }
        Committing::new(cluster, &participants, sessions, local)
    }

    /// Whether one node has all that it has done.
    pub fn is_on_one_node(&self) -> bool {
        self.sessions.len() == 1
    }

    /// Begins the commit of a transaction on one node, for a caller that waits as a future.
    /// The error: it is rolled back.
    pub fn begin_commit(self) -> Result<OneNodeCommit> {
        debug_assert!(self.is_on_one_node());
        Ok(OneNodeCommit(Some(self.committing(None)?)))
    }

    /// Rolls back on all nodes. A node that does not answer by the deadline rolls back when its connection
    /// is closed.
    pub fn rollback_in_place(mut self, deadline: Instant) {
        // What runs is canceled.
        let _ = self.undo_cursors(0);
        self.sessions.retain(|_, session| session.is_ready());
        // A failure closes the connection, which rolls back, too.
        let _ = self.everywhere("ROLLBACK", deadline);
    }
}

/// A commit on one node. It heeds no interrupts. Dropped, it is left to the recoverer.
pub struct OneNodeCommit(Option<Committing<'static>>);

impl OneNodeCommit {
    /// Takes the node's answer. `None`: [`Self::watched`] says what must become ready.
    pub fn advance(&mut self) -> Option<Outcome> {
        let Some(committing) = &mut self.0 else {
            return Some(Outcome::Unknown(Error::internal("a commit was ended twice")));
        };
        match committing.advance() {
            Advanced::Ended(outcome) => Some(outcome),
            Advanced::NeedsRecoverer => self.0.take().map(Committing::hand_over),
            Advanced::Waits => None,
        }
    }

    /// The socket that it waits for.
    pub fn watched(&mut self) -> Option<Watched<'_>> {
        self.0.as_mut()?.watched().pop()
    }

    /// When the client waits no longer.
    pub fn deadline(&self) -> Instant {
        self.0.as_ref().map_or_else(Instant::now, Committing::deadline)
    }

    /// The deadline has passed: the connection is given up.
    pub fn give_up(&mut self) {
        if let Some(committing) = &mut self.0 {
            committing.give_up();
        }
    }
}

/// 25006: the node is a standby.
pub fn check_primary(lease: &Lease<NodeOpener>) -> Result<()> {
    if lease.parameter("in_hot_standby") != Some("on") {
        return Ok(());
    }
    let message = format!("node \"{}\" is a standby", lease.pool().name());
    Err(Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message))
}

/// Whether a node has given no connection: it is down, starting or stopping, a standby, or full.
fn is_unreachable(error: &Error) -> bool {
    let state = error.sqlstate();
    let is_connection = state.as_str().starts_with("08");
    is_connection
        || [
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::TOO_MANY_CONNECTIONS,
            SqlState::READ_ONLY_SQL_TRANSACTION,
        ]
        .contains(&state)
}
