//! Leaves that are joined with each other: leaves with the same bound, or a list of them where
//! bounds differ and yet match one by one.

use hashbrown::HashMap;
use steppe_catalog::Catalog;
use steppe_partition::JoinBounds;
use steppe_types::{Error, Oid, Result};

/// The leaves of several tables that are joined, where that does not follow from their bounds being
/// the same.
#[derive(Debug)]
pub struct MatchedLeaves {
    /// For each join of leaves one of each table, the leading one's first.
    rows: Vec<Vec<Oid>>,
    /// The row of each leaf of the leading table.
    by_leading: HashMap<Oid, usize>,
    /// The bounds of the rows, by number. `None` if a table has sub-partitioned partitions.
    bounds: Option<JoinBounds>,
}

impl MatchedLeaves {
    /// From the leaves of each join, in the order in which they are read.
    pub fn new(rows: Vec<Vec<Oid>>, bounds: Option<JoinBounds>) -> MatchedLeaves {
        let leading = rows.iter().enumerate();
        let by_leading = leading.filter_map(|(at, row)| Some((*row.first()?, at))).collect();
        MatchedLeaves { rows, by_leading, bounds }
    }

    /// The leaves of each join.
    pub fn rows(&self) -> &[Vec<Oid>] {
        &self.rows
    }

    /// The place of a leading leaf's join among all. `None`: it has no partner, so it yields no
    /// row.
    pub fn place(&self, leading: Oid) -> Option<usize> {
        self.by_leading.get(&leading).copied()
    }

    /// The bounds of the joins, by their places, if they are known.
    pub fn bounds(&self) -> Option<&JoinBounds> {
        self.bounds.as_ref()
    }
}

/// The leaf of another table that is joined with a leaf of the leading one, `root`. `table` is the
/// other and its number among all but the leading one. XX000 if it is missing.
pub fn partner(
    catalog: &Catalog,
    matched: Option<&MatchedLeaves>,
    (leaf, root): (Oid, Oid),
    (number, table): (usize, Oid),
) -> Result<Oid> {
    let Some(matched) = matched else { return corresponding(catalog, leaf, root, table) };
    let row = matched.place(leaf).map(|place| &matched.rows[place]);
    row.and_then(|row| row.get(number + 1)).copied().ok_or_else(without_partner)
}

/// The partition of `table` that corresponds to a partition of `root`, a table with the same
/// bounds. XX000 if it is missing.
pub fn corresponding(catalog: &Catalog, partition: Oid, root: Oid, table: Oid) -> Result<Oid> {
    if partition == root {
        return Ok(table);
    }
    let of = catalog.relation(partition).and_then(|partition| partition.partition_of.as_ref());
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
    found.ok_or_else(without_partner)
}

fn without_partner() -> Error {
    Error::internal("a leaf that is joined leaf by leaf has no partner")
}
