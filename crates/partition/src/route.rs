//! Routes a row from a root to a leaf, level by level.

use crate::map::PartitionMap;
use steppe_types::oid::Oid;
use steppe_types::{Datum, Result};

/// The place of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// In this leaf.
    Leaf(Oid),
    /// This parent has no partition for the row.
    NoPartition {
        /// The root, or the partition below it that is partitioned again.
        parent: Oid,
    },
}

/// Walks a row down from `root`. `map_of` gives the map of a partition that is
/// partitioned itself, `None` for a leaf; `key_of` puts the row's key for a parent
/// into an empty vector.
pub fn route_to_leaf<'a>(
    root: Oid,
    root_map: &'a PartitionMap,
    map_of: impl Fn(Oid) -> Option<&'a PartitionMap>,
    mut key_of: impl FnMut(Oid, &mut Vec<Datum>) -> Result<()>,
    scratch: &mut Vec<u8>,
) -> Result<Route> {
    let (mut parent, mut map) = (root, root_map);
    let mut key = Vec::with_capacity(map.types().len());
    loop {
        key.clear();
        key_of(parent, &mut key)?;
        let Some(child) = map.route(&key, scratch)? else {
            return Ok(Route::NoPartition { parent });
        };
        match map_of(child) {
            Some(next) => (parent, map) = (child, next),
            None => return Ok(Route::Leaf(child)),
        }
    }
}
