//! The cluster as this coordinator sees it: a pool of connections for each node of the catalog.
//!
//! A node's pool is made when a session first asks for it, from the words of CREATE NODE. When
//! ALTER NODE has changed them, the next session to ask makes another pool; connections of the old
//! one are closed as their transactions end.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use parking_lot::Mutex;
use steppe_catalog::Catalog;
use steppe_catalog::objects::Node;
use steppe_cluster::ConnInfo;
use steppe_cluster::pool::{Keeper, Lease, NodeOpener, Pool, PoolOptions};
use steppe_types::{Error, Oid, Result, SqlState};

use crate::settings::SharedSettings;

/// The connections to a node.
pub(crate) type NodePool = Pool<NodeOpener>;

/// A connection to a node, in use by a session.
pub(crate) type NodeLease = Lease<NodeOpener>;

struct Made {
    /// The node that the pool was made for.
    node: Arc<Node>,
    pool: Arc<NodePool>,
}

/// The pools.
#[derive(Default)]
pub(crate) struct Cluster(Mutex<Pools>);

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
        let mut pools = self.0.lock();
        let options = pool_options(settings);
        if let Some(made) = pools.by_node.get(&node.oid)
            && (Arc::ptr_eq(&made.node, node) || *made.node == **node)
        {
            made.pool.set_options(&options);
            return Ok(Arc::clone(&made.pool));
        }
        let opener = NodeOpener::new(connection_words(node)?);
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
        let mut pools = self.0.lock();
        pools.by_node.retain(|oid, made| {
            all.push(Arc::clone(&made.pool));
            catalog.stored::<Node>().get(*oid).is_some()
        });
        drop(pools);
        all.iter().for_each(|pool| pool.reload());
    }
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
