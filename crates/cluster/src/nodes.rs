//! Names of nodes, and sets of them.

use std::fmt;
use std::sync::Arc;

/// The identity of a node: a random number that CREATE NODE stores in the node's database. It
/// stays the same when the node is renamed, moves to another host, or fails over to a standby.
/// Two databases of one server are two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A set of nodes. A copy costs a count.
#[derive(Clone, PartialEq, Eq)]
pub struct NodeSet(Arc<[NodeId]>);

impl NodeSet {
    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set has no node.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The nodes in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.0.iter().copied()
    }

    /// Whether the set has the node.
    pub fn contains(&self, node: NodeId) -> bool {
        self.0.binary_search(&node).is_ok()
    }

    /// How many nodes are in both sets.
    pub fn shared_with(&self, other: &NodeSet) -> usize {
        self.iter().filter(|node| other.contains(*node)).count()
    }

    /// The set with one more node.
    pub fn with(&self, node: NodeId) -> NodeSet {
        self.iter().chain([node]).collect()
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> NodeSet {
        let mut nodes: Vec<NodeId> = nodes.into_iter().collect();
        nodes.sort_unstable();
        nodes.dedup();
        NodeSet(nodes.into())
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter().map(|node| node.0)).finish()
    }
}
