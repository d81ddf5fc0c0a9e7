//! CREATE, ALTER and DROP NODE, CREATE and DROP NODE GROUP (nodemgr.c and groupmgr.c of
//! Postgres-XL, whose messages these are).
//!
//! The statement's text stays as it was sent where PostgreSQL shows texts: in pg_stat_activity, in
//! pg_stat_statements and in the server's log. So a password in it is seen there, as that of CREATE
//! USER MAPPING is in PostgreSQL. A passfile keeps it out of the text.
//!
//! One transaction at a time changes nodes, so that no two become the primary one, and no two get
//! one identifier.

mod options;

use super::{DdlContext, depend, direct};
use std::sync::Arc;
use steppe_catalog::objects::{Node, NodeGroup, NodeKind, Object};
use steppe_catalog::{BOOTSTRAP_SUPERUSER, Catalog, ObjectId, Relation};
use steppe_sql::ast::{
    AlterNodeStmt, CreateNodeGroupStmt, CreateNodeStmt, DropNodeGroupStmt, DropNodeStmt,
};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

use options::Properties;

/// A node's port if CREATE NODE has none.
const DEFAULT_PORT: u16 = 5432;
/// A node's host if CREATE NODE has none.
const DEFAULT_HOST: &str = "localhost";

/// CREATE NODE.
pub(super) fn create(ctx: &mut DdlContext<'_>, create: &CreateNodeStmt) -> Result<()> {
    let name = create.name.as_str();
    lock_nodes(ctx)?;
    let catalog = ctx.catalog();
    if Node::find(&catalog, name).is_some() {
        let message = format!("PGXC Node {name}: object already defined");
        return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
    }
    let written = Properties::read(ctx, &create.options)?;
    let kind = written.kind.ok_or_else(|| refused(name, "Node type not specified"))?;
    let port = written.port.unwrap_or_else(|| {
        ctx.notice(format!("PGXC node {name}: Applying default port value: {DEFAULT_PORT}"));
        DEFAULT_PORT
    });
    let host = written.host.clone().unwrap_or_else(|| {
        ctx.notice(format!("PGXC node {name}: Applying default host value: {DEFAULT_HOST}"));
        DEFAULT_HOST.into()
    });
    let identifier = Node::new_identifier(&catalog, name).ok_or_else(|| {
        let message = "Please choose different node name.";
        Error::new(SqlState::INVALID_OBJECT_DEFINITION, message)
            .detail(format!("Name \"{name}\" produces a duplicate identifier node_name"))
    })?;
    let mut node = Node {
        oid: ctx.store.new_oid()?,
        name: name.into(),
        owner: BOOTSTRAP_SUPERUSER,
        kind,
        host,
        port,
        primary: false,
        preferred: false,
        identifier,
        identity: 0,
        connection: Default::default(),
    };
    written.put_into(&mut node);
    put(ctx, node)
}

/// ALTER NODE.
pub(super) fn alter(ctx: &mut DdlContext<'_>, alter: &AlterNodeStmt) -> Result<()> {
    lock_nodes(ctx)?;
    let mut node = (*find(ctx, &alter.name)?).clone();
    ctx.lock_object(ObjectId::Node(node.oid), RelationLockMode::ShareUpdateExclusive)?;
    let written = Properties::read(ctx, &alter.options)?;
    match (node.kind, written.kind) {
        (NodeKind::Coordinator, Some(NodeKind::DataNode)) => {
            return Err(refused(&node.name, "cannot alter Coordinator to Datanode"));
        }
        (NodeKind::DataNode, Some(NodeKind::Coordinator)) => {
            return Err(refused(&node.name, "cannot alter Datanode to Coordinator"));
        }
        _ => {}
    }
    written.put_into(&mut node);
    put(ctx, node)
}

/// DROP NODE.
pub(super) fn drop(ctx: &mut DdlContext<'_>, drop: &DropNodeStmt) -> Result<()> {
    lock_nodes(ctx)?;
    let node = find(ctx, &drop.name)?;
    // A statement that is making an object on the node has locked the node, too.
    ctx.lock_object(ObjectId::Node(node.oid), RelationLockMode::AccessExclusive)?;
    check_unused(ctx, Object::Node(node.oid))?;
    ctx.store.remove::<Node>(ctx.store.changes(ctx.pending), node.oid);
    Ok(())
}

/// CREATE NODE GROUP.
pub(super) fn create_group(ctx: &mut DdlContext<'_>, create: &CreateNodeGroupStmt) -> Result<()> {
    let name = create.name.as_str();
    lock_group(ctx, name)?;
    if NodeGroup::find(&ctx.catalog(), name).is_some() {
        let message = format!("PGXC Group {name}: group already defined");
        return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
    }
    let mut members: Vec<Oid> = Vec::with_capacity(create.members.len());
    for member in &create.members {
        let node = find(ctx, member)?;
        if node.kind != NodeKind::DataNode {
            return Err(refused(member, "only Datanodes can be group members"));
        }
        if members.contains(&node.oid) {
            let message = format!("PGXC Group {name}: node {member} is listed more than once");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        members.push(node.oid);
    }
    // The nodes are locked when the statement ends, as all that a new object refers to.
    let group = NodeGroup::new(ctx.store.new_oid()?, name, members);
    ctx.store.put(ctx.store.changes(ctx.pending), Arc::new(group));
    Ok(())
}

/// DROP NODE GROUP.
pub(super) fn drop_group(ctx: &mut DdlContext<'_>, drop: &DropNodeGroupStmt) -> Result<()> {
    lock_group(ctx, &drop.name)?;
    let oid = find_group(ctx, &drop.name)?.oid;
    ctx.lock_object(ObjectId::NodeGroup(oid), RelationLockMode::AccessExclusive)?;
    check_unused(ctx, Object::NodeGroup(oid))?;
    ctx.store.remove::<NodeGroup>(ctx.store.changes(ctx.pending), oid);
    Ok(())
}

/// Excludes other transactions from changing nodes.
fn lock_nodes(ctx: &DdlContext<'_>) -> Result<()> {
    ctx.lock_name(0, "the nodes of the cluster")
}

/// Excludes other transactions from making or dropping a group of this name.
fn lock_group(ctx: &DdlContext<'_>, name: &str) -> Result<()> {
    ctx.lock_name(0, &format!("node group {name}"))
}

/// The node of a name: 42704 if there is none.
pub(super) fn find(ctx: &mut DdlContext<'_>, name: &str) -> Result<Arc<Node>> {
    let found = Node::find(&ctx.catalog(), name).cloned();
    found.ok_or_else(|| {
        let message = format!("PGXC Node {name}: object not defined");
        Error::new(SqlState::UNDEFINED_OBJECT, message)
    })
}

/// The group of a name: 42704 if there is none.
pub(super) fn find_group(ctx: &mut DdlContext<'_>, name: &str) -> Result<Arc<NodeGroup>> {
    let found = NodeGroup::find(&ctx.catalog(), name).cloned();
    found.ok_or_else(|| {
        let message = format!("PGXC Group {name}: group not defined");
        Error::new(SqlState::UNDEFINED_OBJECT, message)
    })
}

/// 42601 for a node that cannot be as it is written.
pub(super) fn refused(name: &str, why: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, format!("PGXC node {name}: {why}"))
}

/// Stores a node that the nodes have been locked for: 42601 if a node of its kind cannot be so.
fn put(ctx: &mut DdlContext<'_>, mut node: Node) -> Result<()> {
    for (is_it, what) in [(node.primary, "primary"), (node.preferred, "preferred")] {
        if is_it && node.kind != NodeKind::DataNode {
            let why = format!("cannot be a {what} node, it has to be a Datanode");
            return Err(refused(&node.name, &why));
        }
    }
    let catalog = ctx.catalog();
    let other = Node::primary(&catalog).filter(|other| other.oid != node.oid);
    if node.primary && other.is_some() {
        return Err(refused(&node.name, "two nodes cannot be primary"));
    }
    introduce(ctx, &catalog, &mut node)?;
    ctx.store.put(ctx.store.changes(ctx.pending), Arc::new(node));
    Ok(())
}

/// Asks the node for its database's identity. A node that cannot be reached keeps the one that it has.
/// Errors: 42710 if another node has the same database, since a transaction would wait for itself
/// there. 55006 if the node has tables, and is another database now.
fn introduce(ctx: &DdlContext<'_>, catalog: &Catalog, node: &mut Node) -> Result<()> {
    let identity = ctx.session.introduce_node(node)?;
    if identity == 0 {
        return Ok(());
    }
    let is_same = |other: &&Arc<Node>| other.oid != node.oid && other.identity == identity;
    if let Some(other) = catalog.stored::<Node>().iter().find(is_same) {
        let message = format!("PGXC Node {}: object already defined", node.name);
        let detail = format!("Node \"{}\" is the same database.", other.name);
        return Err(Error::new(SqlState::DUPLICATE_OBJECT, message).detail(detail));
    }
    if node.identity != 0 && node.identity != identity {
        let has_rows = |table: &Arc<Relation>| {
            table.distribution.as_ref().is_some_and(|how| how.nodes.contains(&node.oid))
        };
        if let Some(table) = catalog.relations().find(|table| has_rows(table)) {
            let message = format!("PGXC Node {}: cannot be altered to another database", node.name);
            let detail = format!("Table \"{}\" has rows on it.", table.name);
            return Err(Error::new(SqlState::OBJECT_IN_USE, message).detail(detail));
        }
    }
    node.identity = identity;
    Ok(())
}

/// 2BP01 if objects depend on a node or a group. There is no CASCADE.
fn check_unused(ctx: &mut DdlContext<'_>, object: Object) -> Result<()> {
    let catalog = ctx.catalog();
    let name = |object| depend::description(&catalog, &ctx.search_path, object);
    let own = name(object);
    let users = direct::dependents(&catalog, object);
    if users.is_empty() {
        return Ok(());
    }
    let depends = |user: Object| format!("{} depends on {own}", name(user));
    let detail: Vec<String> = users.into_iter().map(depends).collect();
    let message = format!("cannot drop {own} because other objects depend on it");
    Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message).detail(detail.join("\n")))
}
