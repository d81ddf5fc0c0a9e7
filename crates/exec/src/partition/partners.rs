//! Leaves that are joined with each other: those that have the same bound.

use steppe_catalog::Catalog;
use steppe_types::{Error, Oid, Result};

/// The leaf of `table` that corresponds to a leaf of a table with the same bounds.
pub(crate) fn corresponding(catalog: &Catalog, leaf: Oid, table: Oid) -> Result<Oid> {
    let bound = catalog.relation(leaf).and_then(|leaf| leaf.partition_of.as_ref()?.bound.as_ref());
    let found = match (bound, catalog.partition_map(table)?) {
        (Some(bound), Some(map)) => map.with_bound(bound)?,
        _ => None,
    };
    found.ok_or_else(|| Error::internal("tables that are joined leaf by leaf have other bounds"))
}
