//! One life of this server as a coordinator: from its first use of nodes to its stop.

use std::sync::Arc;

use hashbrown::HashMap;
use steppe_catalog::objects::Node;
use steppe_cluster::transaction::{Cluster, Recoverer, Times};
use steppe_cluster::{ConnInfo, NodeId};
use steppe_types::{Error, Result, SqlState};

use super::NodePool;
use super::fault::fault_points;
use super::local::LocalDatabase;
use crate::server::Server;

/// A life. Dropped, its recoverer stops in order.
pub(super) struct Life {
    pub(super) cluster: Arc<Cluster>,
    /// The nodes that the transactions know, each as it was told.
    told: HashMap<NodeId, Arc<Node>, foldhash::fast::RandomState>,
    _recoverer: Recoverer,
}

impl Life {
    /// Begins a life, whose generation is on disk before anything uses it.
    pub(super) fn begin(server: &Arc<Server>) -> Result<Life> {
        let next = server.data_dir.next_coordinator(&*server.random);
        let by = next.map_err(|error| Error::new(SqlState::IO_ERROR, error))?;
        let local = Arc::new(LocalDatabase::of(server));
        let cluster = Cluster::new(by, Times::default(), fault_points(), Some(local))?;
        let recoverer = Recoverer::start(&cluster)?;
        Ok(Life { cluster, told: HashMap::default(), _recoverer: recoverer })
    }

    /// Adds a node, or changes how it is reached.
    pub(super) fn know(
        &mut self,
        identity: NodeId,
        node: &Arc<Node>,
        pool: Arc<NodePool>,
        info: ConnInfo,
    ) {
        if self.told.get(&identity).is_some_and(|told| **told == **node) {
            return;
        }
        self.told.insert(identity, Arc::clone(node));
        self.cluster.add_node(identity, pool, info);
    }

    /// Forgets the nodes that are not among these.
    pub(super) fn forget_others(&mut self, known: &[NodeId]) {
        let cluster = &self.cluster;
        self.told.retain(|identity, _| {
            let stays = known.contains(identity);
            if !stays {
                cluster.remove_node(*identity);
            }
            stays
        });
    }
}
