//! pgxc_class, pgxc_node, pgxc_group: the nodes of a cluster and the tables that are distributed
//! over them, as Postgres-XL shows them.
//!
//! pgxc_node has no column for a password or for other words of the connection. It lists the nodes
//! that CREATE NODE has named: the server itself is among them only if it has been named, too, as a
//! coordinator. (In Postgres-XL initdb names it.)

use super::rows::{RowsBuilder, text, vector};
use super::session::SystemContext;
use crate::DistributionMethod;
use crate::objects::{Node, NodeGroup};
use steppe_types::{Datum, Oid, oid};

/// pg_class OID of pgxc_node.
pub(super) const PGXC_NODE: Oid = 9015;
/// pg_class OID of pgxc_group.
pub(super) const PGXC_GROUP: Oid = 9014;
/// pgxc_class.pchashalgorithm of a table that is distributed by a hash; 0 for others.
const HASH_ALGORITHM: i16 = 1;

/// pgxc_node
pub(super) fn pgxc_node(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for node in context.catalog.stored::<Node>().iter() {
        out.row([
            ("oid", Datum::Oid(node.oid)),
            ("node_name", Datum::Text(node.name.clone())),
            ("node_type", Datum::Char(node.kind.code())),
            ("node_port", Datum::Int4(i32::from(node.port))),
            ("node_host", text(node.host.clone())),
            ("nodeis_primary", Datum::Bool(node.primary)),
            ("nodeis_preferred", Datum::Bool(node.preferred)),
            ("node_id", Datum::Int4(node.identifier.cast_signed())),
        ]);
    }
}

/// pgxc_class
pub(super) fn pgxc_class(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for relation in context.catalog.relations() {
        let Some(distribution) = relation.distribution.as_deref() else { continue };
        let by_hash = distribution.method == DistributionMethod::Hash;
        let buckets = i16::try_from(distribution.shard_count()).unwrap_or(i16::MAX);
        let (algorithm, buckets) = if by_hash { (HASH_ALGORITHM, buckets) } else { (0, 0) };
        let nodes = distribution.nodes.iter().map(|node| Datum::Oid(*node)).collect();
        out.row([
            ("pcrelid", Datum::Oid(relation.oid)),
            ("pclocatortype", Datum::Char(distribution.method.code())),
            ("pcattnum", Datum::Int2(distribution.key)),
            ("pchashalgorithm", Datum::Int2(algorithm)),
            ("pchashbuckets", Datum::Int2(buckets)),
            ("nodeoids", vector(oid::OID, nodes)),
        ]);
    }
}

/// pgxc_group
pub(super) fn pgxc_group(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for group in context.catalog.stored::<NodeGroup>().iter() {
        let members = group.members.iter().map(|member| Datum::Oid(*member)).collect();
        out.row([
            ("oid", Datum::Oid(group.oid)),
            ("group_name", Datum::Text(group.name.clone())),
            ("group_members", vector(oid::OID, members)),
        ]);
    }
}
