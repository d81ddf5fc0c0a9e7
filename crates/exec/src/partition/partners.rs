//! Leaves that are joined with each other: those that have the same bound.

use steppe_catalog::Catalog;
use steppe_types::{Error, Oid, Result};

/// The leaf of `table` that corresponds to a leaf of `root`, a table with the same bounds.
pub(crate) fn corresponding(catalog: &Catalog, leaf: Oid, root: Oid, table: Oid) -> Result<Oid> {
    if leaf == root {
        return Ok(table);
    }
    let of = catalog.relation(leaf).and_then(|leaf| leaf.partition_of.as_ref());
    let found = match of.and_then(|of| Some((of.parent, of.bound.as_ref()?))) {
        None => None,
        Some((parent, bound)) => {
            let among = match parent == root {
                true => table,
                false => corresponding(catalog, parent, root, table)?,
            };
            catalog.partition_map(among)?.map_or(Ok(None), |map| map.with_bound(bound))?
        }
    };
    found.ok_or_else(|| Error::internal("tables that are joined leaf by leaf have other bounds"))
}
