//! The session's connections to data nodes.
//!
//! A connection is the transaction's from its first statement for the node until the transaction
//! ends, and then the pool's again ([`steppe_cluster::pool`]). Waiting for one is outside of all
//! work: the worker's other sessions continue meanwhile.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use steppe_catalog::objects::Node;
use steppe_cluster::pool::replay::Settings;
use steppe_cluster::pool::{Filled, NodeOpener, Place, Request, connection_failure};
use steppe_cluster::transaction::{Isolation as Level, Mode, Participants};
use steppe_types::{Error, Oid, Result};

use super::{Identity, Session};
use crate::activity::Wait;
use crate::cluster::{NodeLease, NodePool, no_such_node};
use crate::services::SharedSession;
use crate::settings::Isolation;
use crate::transaction_modes::Modes;

/// Settings that change what a statement on a node means or how its values are printed. They are
/// always those of the coordinator's session. The others are the same in all sessions
/// ([`steppe_cluster::pool::replay::FIXED`]).
const OF_STATEMENTS: [&str; 5] =
    ["DateStyle", "IntervalStyle", "TimeZone", "bytea_output", "lock_timeout"];

/// The same for a text of the client's own, in EXECUTE DIRECT.
const OF_TEXTS: [&str; 7] = [
    "DateStyle",
    "IntervalStyle",
    "TimeZone",
    "bytea_output",
    "extra_float_digits",
    "lock_timeout",
    "search_path",
];

/// The connections that a transaction holds.
#[derive(Default)]
pub(super) struct RemoteConnections {
    held: Vec<(Oid, NodeLease)>,
}

/// The settings to replay, and the generation of the session's settings that they are of.
#[derive(Default)]
struct Kept(Mutex<Option<(u64, Settings)>>);

/// The same, of its two kinds.
#[derive(Default)]
pub(crate) struct Replayed {
    of_statements: Kept,
    of_texts: Kept,
}

impl RemoteConnections {
    /// The connection to a node that the transaction holds.
    pub(super) fn get(&mut self, node: Oid) -> Option<&mut NodeLease> {
        self.held.iter_mut().find(|(oid, _)| *oid == node).map(|(_, lease)| lease)
    }

    /// Gives all of them back. An unclean connection is closed, and its node ends there what the
    /// transaction has begun.
    pub(super) fn give_back(&mut self) {
        self.held.clear();
    }

    /// Closes a connection that cannot be used any more, or gives it back.
    pub(super) fn give_back_one(&mut self, node: Oid) {
        self.held.retain(|(oid, _)| *oid != node);
    }
}

impl Session {
    /// A node by name.
    pub(super) fn node(&self, name: &str) -> Result<Arc<Node>> {
        Node::find(&self.namespace.names.catalog, name).cloned().ok_or_else(|| no_such_node(name))
    }

    /// Makes sure that the transaction has a connection to a node, with the session's settings.
    pub(super) async fn connect(&mut self, node: &Arc<Node>) -> Result<()> {
        if self.remote.get(node.oid).is_none_or(|lease| lease.is_broken()) {
            self.remote.give_back_one(node.oid);
            self.control.activity.set_wait(Some(Wait::RemoteConnection));
            let connected = self.connected(node).await;
            self.control.activity.set_wait(None);
            self.remote.held.push((node.oid, connected?));
        }
        let settings = self.core.text_settings();
        let Some(lease) = self.remote.get(node.oid) else { return Ok(()) };
        if lease.has(&settings) {
            return Ok(());
        }
        let deadline = Instant::now() + lease.pool().connect_timeout();
        let brought = tokio::task::block_in_place(|| lease.bring_to(&settings, deadline));
        brought.map_err(|error| at_node(lease, error))
    }

    async fn connected(&mut self, node: &Arc<Node>) -> Result<NodeLease> {
        let server = Arc::clone(self.server());
        let pool = server.cluster.pool(node, &server.settings)?;
        self.leased(pool).await
    }

    /// A connection from a pool.
    pub(super) async fn leased(&mut self, pool: Arc<NodePool>) -> Result<NodeLease> {
        let identity = Arc::clone(&self.core.identity);
        let mut request = pool.request(pool.opener().key(&identity.user, &identity.database));
        let limit = u64::try_from(self.server().settings.int("query_wait_timeout")).unwrap_or(0);
        let deadline = (limit > 0).then(|| Instant::now() + Duration::from_secs(limit));
        loop {
            let mut place = self.granted(request, deadline).await?;
            let until = Instant::now() + pool.connect_timeout();
            let filled = match place.is_ready() {
                true => place.fill(until),
                false => tokio::task::block_in_place(|| place.fill(until)),
            };
            match filled? {
                Filled::Ready(lease) => return Ok(lease),
                Filled::Again(again) => request = again,
            }
        }
    }

    /// Waits in the queue, while the worker's other sessions continue.
    async fn granted(
        &mut self,
        mut request: Request<NodeOpener>,
        deadline: Option<Instant>,
    ) -> Result<Place<NodeOpener>> {
        let control = Arc::clone(&self.control);
        let waiting = poll_fn(|cx| {
            control.register(cx.waker());
            Pin::new(&mut request).poll(cx)
        });
        let Some(deadline) = deadline else { return waiting.await };
        match tokio::time::timeout_at(deadline.into(), waiting).await {
            Ok(granted) => granted,
            Err(_) => Err(request.timed_out()),
        }
    }
}

impl SharedSession {
    /// The session's settings for its statements on nodes.
    pub(crate) fn statement_settings(&self) -> Settings {
        self.replayed(&self.replayed.of_statements, &OF_STATEMENTS)
    }

    /// The same for texts of the client's own.
    pub(crate) fn text_settings(&self) -> Settings {
        self.replayed(&self.replayed.of_texts, &OF_TEXTS)
    }

    fn replayed(&self, kept: &Kept, names: &[&str]) -> Settings {
        let settings = self.settings.lock();
        let generation = settings.generation();
        let mut kept = kept.0.lock();
        if let Some((of, kept)) = &*kept
            && *of == generation
        {
            return kept.clone();
        }
        let value = |name: &&str| Some(((*name).to_owned(), settings.show(name)?));
        let made = Settings::of(names.iter().filter_map(value).collect());
        *kept = Some((generation, made.clone()));
        made
    }

    /// New sessions on nodes for the running transaction ([`SessionHost::participants`]).
    ///
    /// [`SessionHost::participants`]: steppe_functions::SessionHost::participants
    pub(crate) fn new_participants(&self) -> Result<Participants> {
        let Modes { isolation, read_only, deferrable } = self.modes.get();
        let isolation = match isolation {
            Isolation::ReadUncommitted | Isolation::ReadCommitted => Level::ReadCommitted,
            Isolation::RepeatableRead => Level::RepeatableRead,
            Isolation::Serializable => {
                return Err(Error::not_supported("SERIALIZABLE for tables on nodes"));
            }
        };
        let mode = Mode { isolation, read_only, deferrable };
        let cluster = self.server.cluster.transactions(&self.server)?;
        let Identity { user, database, pid, .. } = &*self.identity;
        let settings = self.statement_settings();
        let mut participants = Participants::new(&cluster, user, database, settings, mode);
        participants.choose_copy(usize::try_from(*pid).unwrap_or(0));
        Ok(participants)
    }
}

/// The error of an operation of a connection: 08006 if the connection is lost, else the node's own
/// with its name in the context, or the interrupt's.
pub(super) fn at_node(lease: &NodeLease, error: Error) -> Error {
    let name = lease.pool().name();
    if lease.is_broken() {
        return connection_failure(name, lease.of_node(error));
    }
    // An interrupt has left the node's answer unread.
    match lease.is_idle() {
        true => error.within(format!("remote node \"{name}\"")),
        false => error,
    }
}
