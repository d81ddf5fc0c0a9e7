//! The nodes of a cluster and groups of them: rows of pgxc_node and pgxc_group (CREATE NODE, CREATE
//! NODE GROUP of Postgres-XL).
//!
//! They are in no schema. A name is one of a node or of a group: both may have it.

use super::stored::{Objects, StoredKind};
use crate::object_id::ObjectId;
use crate::{BOOTSTRAP_SUPERUSER, Catalog};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use steppe_types::Oid;
use steppe_types::hashfuncs::hash_bytes;

/// The schema that the index of names has for nodes and groups.
const NO_SCHEMA: Oid = 0;

/// How many identifiers after the hash of its name a node may have (MAX_TRIES_FOR_NID).
const IDENTIFIERS_TRIED: u32 = 200;

/// A server of the cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// OID.
    pub oid: Oid,
    /// Name.
    pub name: Arc<str>,
    /// Owner.
    pub owner: Oid,
    /// Its part in the cluster.
    pub kind: NodeKind,
    /// Its hosts as libpq takes them: names or addresses, separated by commas.
    pub host: Arc<str>,
    /// Its port.
    pub port: u16,
    /// The node on which a change of a replicated table runs first.
    pub primary: bool,
    /// A node from which replicated tables are read.
    pub preferred: bool,
    /// A number that is its own among all nodes; it stays when the node is altered.
    pub identifier: u32,
    /// The random number that CREATE NODE stores in the node's database; 0 if the node was not reached
    /// yet. A table can be on it only when it is known.
    #[serde(default)]
    pub identity: u64,
    /// libpq's other words for a connection to it.
    pub connection: ConnectionOptions,
}

/// The part of a node in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NodeKind {
    /// It takes statements from clients and asks data nodes.
    Coordinator,
    /// It has rows.
    DataNode,
}

impl NodeKind {
    /// pgxc_node.node_type
    pub fn code(self) -> u8 {
        match self {
            NodeKind::Coordinator => b'C',
            NodeKind::DataNode => b'D',
        }
    }
}

/// Words of libpq with their values, such as `user` and `dbname`; each word once.
///
/// A password among them is stored as it was written, as PostgreSQL stores that of a user mapping
/// (pg_user_mapping.umoptions). The debug form has the words alone, and pgxc_node has none of them.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionOptions(Vec<(String, String)>);

impl ConnectionOptions {
    /// The value of a word.
    pub fn get(&self, word: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == word).map(|(_, value)| &**value)
    }

    /// Gives a word a value, in place of an earlier one.
    pub fn set(&mut self, word: &str, value: &str) {
        self.0.retain(|(own, _)| own != word);
        self.0.push((word.to_owned(), value.to_owned()));
    }

    /// All words and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(word, value)| (&**word, &**value))
    }
}

impl fmt::Debug for ConnectionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(word, _)| word)).finish()
    }
}

impl Node {
    /// The node of a name.
    pub fn find<'a>(catalog: &'a Catalog, name: &str) -> Option<&'a Arc<Node>> {
        let oid = catalog.nodes.named(NO_SCHEMA, name).next()?.oid;
        catalog.nodes.get(oid)
    }

    /// The node that is the primary one.
    pub fn primary(catalog: &Catalog) -> Option<&Arc<Node>> {
        catalog.nodes.iter().find(|node| node.primary)
    }

    /// An identifier for a new node (generate_node_id): the hash of its name, or a number after it
    /// that no node has. `None`: nodes have all that are tried.
    pub fn new_identifier(catalog: &Catalog, name: &str) -> Option<u32> {
        let hash = hash_bytes(name.as_bytes());
        let is_free = |id: &u32| catalog.nodes.iter().all(|node| node.identifier != *id);
        (0..IDENTIFIERS_TRIED).map(|tried| hash.wrapping_add(tried)).find(is_free)
    }
}

impl StoredKind for Node {
    fn oid(&self) -> Oid {
        self.oid
    }

    fn schema(&self) -> Oid {
        NO_SCHEMA
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn id(oid: Oid) -> ObjectId {
        ObjectId::Node(oid)
    }

    fn of(catalog: &Catalog) -> &Objects<Node> {
        &catalog.nodes
    }

    fn of_mut(catalog: &mut Catalog) -> &mut Objects<Node> {
        &mut catalog.nodes
    }
}

/// Data nodes under one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeGroup {
    /// OID.
    pub oid: Oid,
    /// Name.
    pub name: Arc<str>,
    /// Owner.
    pub owner: Oid,
    /// The nodes in the order written, each once.
    pub members: Vec<Oid>,
}

impl NodeGroup {
    /// A group owned by the superuser.
    pub fn new(oid: Oid, name: impl Into<Arc<str>>, members: Vec<Oid>) -> NodeGroup {
        NodeGroup { oid, name: name.into(), owner: BOOTSTRAP_SUPERUSER, members }
    }

    /// The group of a name.
    pub fn find<'a>(catalog: &'a Catalog, name: &str) -> Option<&'a Arc<NodeGroup>> {
        let oid = catalog.node_groups.named(NO_SCHEMA, name).next()?.oid;
        catalog.node_groups.get(oid)
    }
}

impl StoredKind for NodeGroup {
    fn oid(&self) -> Oid {
        self.oid
    }

    fn schema(&self) -> Oid {
        NO_SCHEMA
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn id(oid: Oid) -> ObjectId {
        ObjectId::NodeGroup(oid)
    }

    fn of(catalog: &Catalog) -> &Objects<NodeGroup> {
        &catalog.node_groups
    }

    fn of_mut(catalog: &mut Catalog) -> &mut Objects<NodeGroup> {
        &mut catalog.node_groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(oid: Oid, name: &str, identifier: u32) -> Arc<Node> {
        let mut connection = ConnectionOptions::default();
        connection.set("password", "secret");
        connection.set("user", "u");
        Arc::new(Node {
            oid,
            name: name.into(),
            owner: BOOTSTRAP_SUPERUSER,
            kind: NodeKind::DataNode,
            host: "localhost".into(),
            port: 5432,
            primary: oid == 2,
            preferred: false,
            identifier,
            identity: 0,
            connection,
        })
    }

    #[test]
    fn identifiers_are_hashes_of_names_and_differ() {
        let mut catalog = Catalog::default();
        let hash = hash_bytes(b"dn1");
        assert_eq!(Node::new_identifier(&catalog, "dn1"), Some(hash));
        Node::of_mut(&mut catalog).put(node(1, "dn1", hash));
        Node::of_mut(&mut catalog).put(node(2, "dn2", hash.wrapping_add(1)));
        assert_eq!(Node::new_identifier(&catalog, "dn1"), Some(hash.wrapping_add(2)));
        assert_eq!(Node::find(&catalog, "dn1").map(|node| node.oid), Some(1));
        assert!(Node::find(&catalog, "DN1").is_none());
        assert_eq!(Node::primary(&catalog).map(|node| node.oid), Some(2));
    }

    #[test]
    fn a_password_is_stored_and_not_shown() {
        let node = node(1, "dn1", 1);
        assert!(!format!("{node:?}").contains("secret"));
        let stored = serde_json::to_string(&*node).unwrap();
        let read: Node = serde_json::from_str(&stored).unwrap();
        assert_eq!((read.connection.get("password"), &read), (Some("secret"), &*node));
    }
}
