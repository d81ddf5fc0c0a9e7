//! Connection pools: at most N connections to a node, for any number of users.
//!
//! ```text
//!   Pool::request ─► Request ──(granted)──► Place ──(opened, reset)──► Lease ──(dropped)──► pool
//!                       │ waits: a future,     │ a connection, or         │ the connection
//!                       │ or in place          │ the right to open one    │
//!                       └──────────────────────┴── dropped: goes to the next request
//! ```
//!
//! One queue serves both kinds of waiters, first in, first out. A grant hands the place over: the
//! next request has it before it is woken, so that no newcomer can slip in between. The pool does
//! no I/O under its latch, and none in a thread that has not asked for it: the request that is
//! granted a place opens the connection.
//!
//! - *A connection comes back clean or not at all.* Its [`Pooled::condition`] decides when the
//!   lease ends. One that is in a transaction or broken is closed, and its node rolls back.
//! - *A node that is down* fails the requests that wait, and new ones at once, with 08006 and the
//!   node's name. The [`Keeper`] tries it after growing pauses, while requests come. The first
//!   that succeeds ends this.
//! - *A node at its max_connections* (53300) makes its requests wait, while this pool has other
//!   connections to it, which come back.
//!
//! The rules are in [`core`]. The ideas are PgBouncer's: objects.c and janitor.c.

mod core;
mod expected;
mod health;
mod keeper;
mod lease;
mod node;
pub mod replay;
mod request;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use steppe_types::{Error, Result, SqlState};

use self::core::Core;
use self::keeper::Bell;
pub use expected::{DatabaseState, Expected};
pub use keeper::Keeper;
pub use lease::{Filled, Lease, Place};
pub(crate) use node::with_fixed_settings;
pub use node::{NodeConnection, NodeKey, NodeOpener};
pub use request::Request;

/// The use of a connection that comes back from its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The next user may have it as it is.
    Clean,
    /// The next user may have it after a reset.
    NeedsReset,
    /// It must be closed: it is in a transaction or broken, or has answers that were not read.
    Unusable,
}

/// A thing that is pooled.
pub trait Pooled: Send + 'static {
    /// Its condition now. This does no I/O.
    fn condition(&self) -> Condition;

    /// Whether the other side has not closed it, found out without a round trip.
    fn is_alive(&mut self) -> bool;

    /// Forgets what users have left in its session. It waits in place and checks interrupts.
    fn reset(&mut self, deadline: Instant) -> Result<()>;

    /// Closes it, without waiting.
    fn close(self)
    where
        Self: Sized,
    {
    }
}

/// Why a connection could not be opened.
#[derive(Clone, Debug)]
pub enum OpenFailure {
    /// The node was not reached, or does not accept connections now.
    Down(Error),
    /// The node is at its max_connections.
    Full(Error),
    /// The node refused this user or database.
    Refused(Error),
    /// The opening statement is to end.
    Interrupted(Error),
}

impl OpenFailure {
    /// The error.
    pub fn into_error(self) -> Error {
        match self {
            OpenFailure::Down(error)
            | OpenFailure::Full(error)
            | OpenFailure::Refused(error)
            | OpenFailure::Interrupted(error) => error,
        }
    }
}

/// Opens what a pool has.
pub trait Opener: Send + Sync + 'static {
    /// The thing that is opened.
    type Connection: Pooled;
    /// The property that a request's connection must have, such as its user.
    type Key: Clone + Eq + Send + Sync + 'static;

    /// Opens one. It waits in place, until the deadline at the latest, and checks interrupts.
    fn open(&self, key: &Self::Key, deadline: Instant) -> Result<Self::Connection, OpenFailure>;
}

/// The settings of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// How many connections there may be, at least 1.
    pub max_size: usize,
    /// Connections that were idle for this time are closed.
    pub idle_timeout: Option<Duration>,
    /// How long opening a connection may take.
    pub connect_timeout: Duration,
}

impl Default for PoolOptions {
    fn default() -> PoolOptions {
        PoolOptions {
            max_size: 25,
            idle_timeout: Some(Duration::from_secs(600)),
            connect_timeout: Duration::from_secs(30),
        }
    }
}

/// A pool at a moment.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Connections that have a user.
    pub used: usize,
    /// Connections that have none.
    pub idle: usize,
    /// Connections that are being opened.
    pub opening: usize,
    /// Requests that wait.
    pub waiting: usize,
    /// The time that the longest of them has waited for.
    pub longest_wait: Duration,
    /// The limit.
    pub max_size: usize,
    /// The error of the last try, if the node is down.
    pub down: Option<Error>,
}

/// The connections to one node.
pub struct Pool<O: Opener> {
    name: Box<str>,
    opener: O,
    bell: Arc<Bell>,
    core: Mutex<Core<O::Key, O::Connection>>,
}

impl<O: Opener> Pool<O> {
    /// An empty pool for the node `name`.
    pub fn new(name: &str, opener: O, options: PoolOptions, keeper: &Keeper) -> Arc<Pool<O>> {
        let (core, bell) = (Mutex::new(Core::new(options)), Arc::clone(&keeper.bell));
        let pool = Arc::new(Pool { name: name.into(), opener, bell, core });
        let kept: Weak<Pool<O>> = Arc::downgrade(&pool);
        pool.bell.keep(kept);
        pool
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The opener of its connections.
    pub fn opener(&self) -> &O {
        &self.opener
    }

    /// How long opening a connection may take.
    pub fn connect_timeout(&self) -> Duration {
        self.core.lock().options().connect_timeout
    }

    /// Asks for a connection. The request stands in the queue from here on.
    pub fn request(self: &Arc<Self>, key: O::Key) -> Request<O> {
        let ticket = self.step(|core, now| core.ask(key.clone(), now));
        Request::new(Arc::clone(self), key, ticket)
    }

    /// Gets a connection, waiting in place: 08006 if the node is down, 53300 if the deadline
    /// passes first, or the interrupt's error.
    pub fn connect_in_place(self: &Arc<Self>, key: O::Key, deadline: Instant) -> Result<Lease<O>> {
        let mut request = self.request(key);
        loop {
            match request.wait_in_place(deadline)?.fill(deadline)? {
                Filled::Ready(lease) => return Ok(lease),
                Filled::Again(again) => request = again,
            }
        }
    }

    /// Closes the idle connections now, and the used ones when they come back (pgxc_pool_reload).
    pub fn reload(&self) {
        self.step(|core, now| core.reload(now));
    }

    /// Changes the settings. Connections above a lowered limit are closed as they become idle.
    pub fn set_options(&self, options: &PoolOptions) {
        self.step(|core, now| {
            if core.options() != options {
                core.set_options(options.clone(), now);
            }
        });
    }

    /// How many connections and requests there are.
    pub fn counts(&self) -> Counts {
        self.core.lock().counts(Instant::now())
    }

    /// The error of a request that has waited until its deadline.
    fn timed_out(&self) -> Error {
        let message = format!("timed out waiting for a connection to node \"{}\"", self.name);
        let max = self.core.lock().options().max_size;
        Error::new(SqlState::TOO_MANY_CONNECTIONS, message)
            .detail(format!("The pool has at most {max} connections, held by transactions."))
            .hint("Increase \"max_pool_size\", or have fewer transactions at a time.")
    }

    /// A failure as the statement that meets it reports it: with the node's name.
    fn named(&self, failure: OpenFailure) -> OpenFailure {
        let within = |error: Error| error.within(format!("remote node \"{}\"", self.name));
        match failure {
            OpenFailure::Down(error) => OpenFailure::Down(connection_failure(&self.name, error)),
            OpenFailure::Full(error) => OpenFailure::Full(within(error)),
            OpenFailure::Refused(error) => OpenFailure::Refused(within(error)),
            OpenFailure::Interrupted(error) => OpenFailure::Interrupted(error),
        }
    }

    /// Takes one step, then wakes and closes what it has noted.
    fn step<T>(&self, step: impl FnOnce(&mut Core<O::Key, O::Connection>, Instant) -> T) -> T {
        let mut core = self.core.lock();
        let done = step(&mut core, Instant::now());
        loop {
            let (effects, due) = (core.take_effects(), core.earlier_due());
            drop(core);
            effects.wake.into_iter().for_each(Waker::wake);
            if let Some(due) = due {
                self.bell.ring_at(due);
            }
            let closing = effects.close.len();
            if closing == 0 {
                return done;
            }
            effects.close.into_iter().for_each(Pooled::close);
            core = self.core.lock();
            core.closed(closing, Instant::now());
        }
    }
}

/// 08006: the connection to a node was not made, or is lost.
pub fn connection_failure(node: &str, mut error: Error) -> Error {
    let fields = error.fields_mut();
    fields.message = format!("connection to node \"{node}\" failed: {}", fields.message);
    fields.sqlstate = SqlState::CONNECTION_FAILURE;
    error
}
