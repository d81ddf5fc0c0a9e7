//! Transactions of a coordinator over real connections: drives the machines of [`crate::commit`].
//!
//! ```text
//!   Participants ── a session per node, BEGIN in front of its first statement
//!        │ commit_in_place
//!        ▼
//!   PREPAREs in flight at once ─► gate, decision ─► COMMIT PREPAREDs in flight at once ─► told
//!        │ a connection broke after the first PREPARE
//!        ▼
//!   Recoverer (a thread) ── its own connection to each node: retries, lists, fences, deletes records
//! ```
//!
//! These hold:
//!
//! 1. The machine decides, the driver only carries out: each `Send` and `Retry` gets exactly one
//!    answer, and a connection that broke, or was given up, is `Lost` and never used again.
//! 2. The transaction's number is running ([`Running`]) from before its first PREPARE until its machine
//!    has finished, so that the recovery of the same life leaves it alone.
//! 3. The client waits for a bounded time (its patience), in place. Interrupts of its statement do
//!    not end a commit that has begun.
//! 4. A node gives no session to a transaction before it was listed in this life of the coordinator.
//!
//! The node session of a transaction is postgres_fdw's connection.c; the recovery thread is the idea of
//! a transaction manager's background resolver.

mod alone;
mod committing;
mod cursors;
mod exchange;
mod faults;
mod link;
mod local;
mod participants;
mod recoverer;
mod rows;
mod savepoints;
mod session;
mod together;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use nix::sys::eventfd::{EfdFlags, EventFd};
use parking_lot::Mutex;
use steppe_types::{Error, Result, SqlState};

pub use alone::{Alone, End, Progress, ReadAlone};
pub use cursors::{AbandonedCursors, CursorId, Fetched, RemoteStatement, Values};
pub use faults::{FaultPoint, Faults};
pub use local::{LocalNode, LocalPart};
pub use participants::{Isolation, Mode, OneNodeCommit, Participants, check_primary};
pub use recoverer::Recoverer;
pub use rows::{first_row, malformed, row_count};
pub use savepoints::RemoteMark;
pub use session::{Effect, NodeSession};

use crate::commit::{Coordinator, InDoubt, NodeNames, Running, TransactionKey};
use crate::gate::Gate;
use crate::pool::{NodeOpener, Pool, connection_failure, with_fixed_settings};
use crate::wait::{self, Heed};
use crate::{ConnInfo, Interest, NodeId};
use recoverer::Mailbox;

/// The times of a coordinator.
#[derive(Clone, Debug)]
pub struct Times {
    /// How long a client waits for a node in its COMMIT. After it the second phase is left to the
    /// recoverer.
    pub patience: Duration,
    /// The time between two lists of a node.
    pub look_every: Duration,
    /// The pause before a request is repeated.
    pub retry_after: Duration,
    /// How long the recoverer waits for one answer before it breaks the connection.
    pub answer_within: Duration,
}

impl Default for Times {
    fn default() -> Times {
        Times {
            patience: Duration::from_secs(10),
            look_every: Duration::from_secs(5),
            retry_after: Duration::from_millis(200),
            answer_within: Duration::from_secs(30),
        }
    }
}

/// A node as its coordinator reaches it.
#[derive(Clone)]
struct Node {
    pool: Arc<Pool<NodeOpener>>,
    /// The words of the recoverer's own session: a role that may end all prepared transactions.
    info: ConnInfo,
}

/// The nodes of one coordinator's life, and the things that its transactions share.
pub struct Cluster {
    by: Coordinator,
    gate: Arc<Gate>,
    times: Times,
    faults: Option<Arc<dyn Faults>>,
    local: Option<Arc<dyn LocalNode>>,
    mailbox: Mailbox,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    nodes: BTreeMap<NodeId, Node>,
    running: Running,
    /// Nodes that were listed in this life.
    listed: BTreeSet<NodeId>,
    /// Why the others could not be listed at the last try.
    unlisted: BTreeMap<NodeId, (Instant, Error)>,
    /// Rung when a node is listed or could not be, and when none will be.
    alarms: Vec<Weak<EventFd>>,
    /// Records to be deleted.
    forget: Vec<TransactionKey>,
    in_doubt: Vec<InDoubt>,
    is_superseded: bool,
}

impl State {
    /// An alarm for a thread that waits for a node.
    fn alarm(&mut self) -> Result<Arc<EventFd>> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let alarm = EventFd::from_value_and_flags(0, flags).map_err(|errno| {
            Error::new(SqlState::IO_ERROR, format!("could not create an eventfd: {errno}"))
        })?;
        let alarm = Arc::new(alarm);
        self.alarms.retain(|alarm| alarm.strong_count() > 0);
        self.alarms.push(Arc::downgrade(&alarm));
        Ok(alarm)
    }

    /// Has all that wait look again.
    fn ring(&mut self) {
        for alarm in self.alarms.drain(..).filter_map(|alarm| alarm.upgrade()) {
            // It fails only if it is rung already.
            let _ = alarm.write(1);
        }
    }
}

impl Cluster {
    /// A life of a coordinator. The caller's process is the only one with this identity and generation. `local` is its own
    /// database, if it has one. Error 58030: the system has no descriptor left.
    pub fn new(
        by: Coordinator,
        times: Times,
        faults: Option<Arc<dyn Faults>>,
        local: Option<Arc<dyn LocalNode>>,
    ) -> Result<Arc<Cluster>> {
        let (gate, mailbox) = (Gate::new(), Mailbox::new()?);
        let state = Mutex::new(State::default());
        Ok(Arc::new(Cluster { by, gate, times, faults, local, mailbox, state }))
    }

    /// Adds a node, or changes how it is reached. `info` is for the recoverer's session, whose role may
    /// end all prepared transactions of the database.
    pub fn add_node(&self, node: NodeId, pool: Arc<Pool<NodeOpener>>, info: ConnInfo) {
        let info = with_fixed_settings(info);
        self.state.lock().nodes.insert(node, Node { pool, info });
        self.mailbox.look_now();
    }

    /// Forgets a node that has no transaction any more.
    pub fn remove_node(&self, node: NodeId) {
        let mut state = self.state.lock();
        state.nodes.remove(&node);
        state.listed.remove(&node);
        state.unlisted.remove(&node);
        state.ring();
    }

    /// The gate of this coordinator.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// The rows of the view of in-doubt transactions, as of the recoverer's last step.
    pub fn in_doubt(&self) -> Vec<InDoubt> {
        self.state.lock().in_doubt.clone()
    }

    /// Whether a later life of this coordinator has taken over. Then nothing can be committed here.
    pub fn is_superseded(&self) -> bool {
        self.state.lock().is_superseded
    }

    /// Whether no commit runs, none is in doubt, and no record waits for its deletion.
    pub fn is_quiet(&self) -> bool {
        let state = self.state.lock();
        state.running.numbers.is_empty() && state.forget.is_empty() && state.in_doubt.is_empty()
    }

    /// Has all nodes listed soon, and not only at the next time.
    pub fn look_now(&self) {
        self.mailbox.look_now();
    }

    /// The pool of a node, if the node was listed in this life.
    pub fn pool_if_listed(&self, node: NodeId) -> Option<Arc<Pool<NodeOpener>>> {
        let state = self.state.lock();
        let is_usable = !state.is_superseded && state.listed.contains(&node);
        let known = state.nodes.get(&node).filter(|_| is_usable)?;
        Some(Arc::clone(&known.pool))
    }

    /// The node could not be listed now. Statements that wait for that fail.
    fn not_listed(&self, node: NodeId, why: Error) {
        let mut state = self.state.lock();
        if !state.listed.contains(&node) {
            state.unlisted.insert(node, (Instant::now(), why));
            state.ring();
        }
    }

    /// The pool of a node that was listed in this life. It waits for the end of a try that begins meanwhile,
    /// for connect_timeout at most. Errors: 42704 the node does not exist, 08006 it was not listed, 57P01 a
    /// later life has taken over, and the statement's interrupts.
    fn listed_pool(&self, node: NodeId, deadline: Instant) -> Result<Arc<Pool<NodeOpener>>> {
        let began = Instant::now();
        loop {
            let mut state = self.state.lock();
            if state.is_superseded {
                return Err(superseded());
            }
            let Some(known) = state.nodes.get(&node) else {
                let message = format!("node {node} does not exist");
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
            };
            let pool = Arc::clone(&known.pool);
            if state.listed.contains(&node) {
                return Ok(pool);
            }
            if let Some((at, why)) = state.unlisted.get(&node)
                && *at > began
            {
                return Err(connection_failure(pool.name(), why.clone()));
            }
            let alarm = state.alarm()?;
            drop(state);
            let until = deadline.min(began + pool.connect_timeout());
            if !wait::one(alarm.as_fd(), Interest::Read, Some(until), Heed::Statement)? {
                let message = format!("connection to node \"{}\" failed", pool.name());
                return Err(Error::new(SqlState::CONNECTION_FAILURE, message)
                    .detail("Transactions that a crash may have left there were not listed yet."));
            }
        }
    }

    /// A number that is running until the guard is dropped.
    fn begin_number(self: &Arc<Cluster>) -> Result<RunningNumber> {
        let mut state = self.state.lock();
        if state.is_superseded {
            return Err(superseded());
        }
        let number = state.running.next;
        state.running.next += 1;
        state.running.numbers.insert(number);
        drop(state);
        Ok(RunningNumber { cluster: Arc::clone(self), number, is_handed_over: false })
    }

    fn finished(&self, number: u64) {
        self.state.lock().running.numbers.remove(&number);
    }

    fn supersede(&self) {
        let mut state = self.state.lock();
        state.is_superseded = true;
        state.ring();
    }

    fn fails(&self, point: FaultPoint, node: NodeId, request: &crate::commit::Request) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.breaks(point, node, request))
    }
}

impl NodeNames for Cluster {
    fn name_of(&self, node: NodeId) -> Option<String> {
        let state = self.state.lock();
        state.nodes.get(&node).map(|known| known.pool.name().to_owned())
    }
}

/// The number of a commit that its client carries out. If the client's thread panics, the recovery of
/// the same life takes what is left.
struct RunningNumber {
    cluster: Arc<Cluster>,
    number: u64,
    is_handed_over: bool,
}

impl RunningNumber {
    /// The recoverer says when it has finished.
    fn hand_over(mut self) {
        self.is_handed_over = true;
    }
}

impl Drop for RunningNumber {
    fn drop(&mut self) {
        if !self.is_handed_over {
            self.cluster.finished(self.number);
        }
    }
}

/// 57P01: a later life of the coordinator is registered on a node.
#[cold]
fn superseded() -> Error {
    let message = "another coordinator has taken over the transactions of this one";
    Error::new(SqlState::ADMIN_SHUTDOWN, message)
}
