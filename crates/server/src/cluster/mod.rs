//! The cluster as this coordinator sees it: a pool of connections for each node of the catalog, and
//! the transactions over nodes.
//!
//! A node's pool is made when a session first asks for it, from the words of CREATE NODE. When
//! ALTER NODE has changed them, the next session to ask makes another pool; connections of the old
//! one are closed as their transactions end.
//!
//! Transactions over nodes belong to one life of the coordinator ([`life`]). It begins when the server
//! starts with nodes, or when the first node is made, and knows the nodes of the published catalog
//! ([`Cluster::follow`]).

mod fault;
mod life;
mod local;

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use parking_lot::Mutex;
use steppe_catalog::Catalog;
use steppe_catalog::objects::Node;
use steppe_catalog::objects::NodeKind;
use steppe_catalog::{DATABASE_NAME, SUPERUSER_NAME};
use steppe_cluster::commit::InDoubt;
use steppe_cluster::pool::{Expected, Keeper, Lease, NodeOpener, Pool, PoolOptions};
use steppe_cluster::transaction as nodes;
use steppe_cluster::{ConnInfo, NodeId};
use steppe_types::{Error, Oid, Result, SqlState};

use crate::log;
use crate::server::{Phase, Server};
use crate::settings::SharedSettings;
use life::Life;

/// The connections to a node.
pub(crate) type NodePool = Pool<NodeOpener>;

/// A connection to a node, in use by a session.
pub(crate) type NodeLease = Lease<NodeOpener>;

struct Made {
    /// The node that the pool was made for.
    node: Arc<Node>,
    pool: Arc<NodePool>,
}

/// The pools and the transactions.
#[derive(Default)]
pub(crate) struct Cluster {
    pools: Mutex<Pools>,
    life: Mutex<Option<Life>>,
}

#[derive(Default)]
struct Pools {
    /// It starts with the first pool.
    keeper: Option<Keeper>,
    by_node: HashMap<Oid, Made, foldhash::fast::RandomState>,
}

impl Cluster {
    /// The pool of a node.
    pub(crate) fn pool(
        &self,
        node: &Arc<Node>,
        settings: &SharedSettings,
    ) -> Result<Arc<NodePool>> {
        let mut pools = self.pools.lock();
        let options = pool_options(settings);
        if let Some(made) = pools.by_node.get(&node.oid)
            && (Arc::ptr_eq(&made.node, node) || *made.node == **node)
        {
            made.pool.set_options(&options);
            return Ok(Arc::clone(&made.pool));
        }
        let opener = NodeOpener::new(connection_words(node)?);
        let opener = match node.identity {
            0 => opener,
            identity => opener.expecting(Expected::new(&node.name, NodeId(identity))),
        };
        let keeper = match pools.keeper.take() {
            Some(keeper) => keeper,
            None => Keeper::start()?,
        };
        let pool = Pool::new(&node.name, opener, options, &keeper);
        pools.keeper = Some(keeper);
        let made = Made { node: Arc::clone(node), pool: Arc::clone(&pool) };
        let before = pools.by_node.insert(node.oid, made);
        drop(pools);
        // Its idle connections are closed without the lock.
        drop(before);
        Ok(pool)
    }

    /// Closes idle connections now, and used ones when their transactions end. Forgets the pools of
    /// nodes that are not in the catalog any more.
    pub(crate) fn reload(&self, catalog: &Catalog) {
        let mut all = Vec::new();
        let mut pools = self.pools.lock();
        pools.by_node.retain(|oid, made| {
            all.push(Arc::clone(&made.pool));
            catalog.stored::<Node>().get(*oid).is_some()
        });
        drop(pools);
        all.iter().for_each(|pool| pool.reload());
    }

    /// The transactions over nodes. The first use begins this life of the coordinator: 58030 if its
    /// generation cannot be stored, 53000 if the system has no thread or descriptor left.
    pub(crate) fn transactions(&self, server: &Arc<Server>) -> Result<Arc<nodes::Cluster>> {
        let mut life = self.life.lock();
        if let Some(life) = &*life {
            return Ok(Arc::clone(&life.cluster));
        }
        let begun = life.insert(Life::begin(server)?);
        self.tell_nodes(begun, server);
        Ok(Arc::clone(&begun.cluster))
    }

    /// The published catalog may have other nodes than before: transactions use those. The first node
    /// begins this life of the coordinator. If that fails, the first statement that needs a node
    /// tries it again, and reports why it cannot.
    pub(crate) fn follow(&self, server: &Arc<Server>) {
        let mut life = self.life.lock();
        if let Some(life) = &mut *life {
            return self.tell_nodes(life, server);
        }
        let is_needed = server.catalog.published().stored::<Node>().iter().any(|n| is_in_use(n));
        if !is_needed || server.phase() != Phase::Running {
            return;
        }
        match Life::begin(server) {
            Ok(begun) => self.tell_nodes(life.insert(begun), server),
            Err(error) => log::write(
                log::Level::Error,
                &[("message", &"transactions over nodes cannot begin"), ("error", &error)],
            ),
        }
    }

    fn tell_nodes(&self, life: &mut Life, server: &Arc<Server>) {
        let catalog = server.catalog.published();
        let data_nodes = catalog.stored::<Node>().iter().filter(|node| is_in_use(node));
        let mut known = Vec::new();
        for node in data_nodes {
            let reached = self
                .pool(node, &server.settings)
                .and_then(|pool| Ok((pool, recovery_words(node)?)));
            match reached {
                Ok((pool, info)) => {
                    known.push(NodeId(node.identity));
                    life.know(NodeId(node.identity), node, pool, info);
                }
                // CREATE NODE has checked its words: another release may have accepted more.
                Err(error) => log::write(
                    log::Level::Error,
                    &[
                        ("message", &"a node cannot be used"),
                        ("node", &node.name),
                        ("error", &error),
                    ],
                ),
            }
        }
        life.forget_others(&known);
    }

    /// The parts of transactions that no client waits for any more.
    pub(crate) fn in_doubt(&self) -> Vec<InDoubt> {
        self.life.lock().as_ref().map(|life| life.cluster.in_doubt()).unwrap_or_default()
    }

    /// Ends this life at the server's stop: clients that wait for a commit are told what is known.
    pub(crate) fn end(&self) {
        let life = self.life.lock().take();
        drop(life);
    }
}

/// Whether a node can take part in transactions.
fn is_in_use(node: &Node) -> bool {
    node.kind == NodeKind::DataNode && node.identity != 0
}

/// How the recoverer connects to a node: as the role of the node's words, else the superuser.
fn recovery_words(node: &Node) -> Result<ConnInfo> {
    let mut info = connection_words(node)?;
    info.user.get_or_insert_with(|| SUPERUSER_NAME.to_owned());
    info.dbname.get_or_insert_with(|| DATABASE_NAME.to_owned());
    // A DBA distinguishes it from the pool's sessions, which are counted by their name.
    info.application_name = Some("steppe recovery".to_owned());
    Ok(info)
}

/// The settings of pools.
fn pool_options(settings: &SharedSettings) -> PoolOptions {
    let number = |name| u64::try_from(settings.int(name)).unwrap_or(0);
    let idle = number("pool_conn_keepalive");
    PoolOptions {
        max_size: usize::try_from(settings.int("max_pool_size")).unwrap_or(1).max(1),
        idle_timeout: (idle > 0).then(|| Duration::from_secs(idle)),
        connect_timeout: Duration::from_millis(number("citus.node_connection_timeout")),
    }
}

/// How to connect to a node.
pub(crate) fn connection_words(node: &Node) -> Result<ConnInfo> {
    let port = node.port.to_string();
    let own = [("host", &*node.host), ("port", &*port), ("application_name", "steppe")];
    ConnInfo::from_words(own.into_iter().chain(node.connection.iter()))
}

/// 42704: there is no such node.
pub(crate) fn no_such_node(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("PGXC Node {name}: object not defined"))
}
