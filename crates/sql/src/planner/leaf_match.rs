//! The leaves of two partitioned tables that are joined with each other.
//!
//! Every column of the partition keys must be compared for equality, at all levels. Where the
//! bounds are the same, leaves correspond by them, and the plan has only that. Where they are not,
//! and yet each partition has at most one partner ([`steppe_partition::JoinBounds`]), the plan
//! lists the leaves. As in PostgreSQL a table whose rows are kept must have a partner for each
//! partition.

use super::Planner;
use super::partitionwise::LeafByLeaf;
use crate::expr::Expr;
use crate::partners::{MatchedLeaves, corresponding};
use crate::plan::ScanRelation;
use crate::prune::is_same;
use crate::query::Rte;
use steppe_partition::{JoinBounds, KeySet, RowsKept};
use steppe_types::{Oid, Result};

/// A join of tables leaf by leaf.
pub(super) struct LeafJoin<'a> {
    pub(super) rtes: &'a [Rte],
    /// Expressions that are equal in joined rows.
    pub(super) pairs: &'a [(Expr, Expr)],
    pub(super) kept: RowsKept,
}

/// The rule by which leaves are joined.
pub(super) enum Matching {
    SameBounds,
    Listed(MatchedLeaves),
}

/// A table and a partition of it that is partitioned, or itself.
type Level<'a> = (&'a ScanRelation, Oid);

impl Planner<'_> {
    /// How the leaves of two sides are matched. `None` if they do not match one by one.
    pub(super) fn matching(
        &self,
        join: &LeafJoin<'_>,
        left: &LeafByLeaf<'_>,
        right: &LeafByLeaf<'_>,
    ) -> Result<Option<Matching>> {
        let have_own_bounds = left.matched.is_none() && right.matched.is_none();
        let mut is_joined = false;
        for a in left.tables() {
            for b in right.tables() {
                let tops = ((a, a.relation.oid), (b, b.relation.oid));
                if !self.is_joined(join, tops.0, tops.1)? {
                    continue;
                }
                if have_own_bounds && self.has_same_leaves(join, tops.0, tops.1)? {
                    return Ok(Some(Matching::SameBounds));
                }
                is_joined = true;
            }
        }
        if !is_joined {
            return Ok(None);
        }
        if left.partners.is_empty() && right.partners.is_empty() {
            let tops = ((left.rel, left.rel.relation.oid), (right.rel, right.rel.relation.oid));
            let mut rows = Vec::new();
            let bounds = self.leaf_pairs(join, tops.0, tops.1, &mut rows)?;
            let has_levels =
                [tops.0, tops.1].iter().any(|top| !self.partitioned_again(top.1).is_empty());
            let bounds = bounds.map(|bounds| bounds.filter(|_| !has_levels));
            return Ok(bounds.map(|bounds| Matching::Listed(MatchedLeaves::new(rows, bounds))));
        }
        self.rows_matched(join, left, right)
    }

    /// Whether the partition keys of two levels are compared.
    fn is_joined(&self, join: &LeafJoin<'_>, a: Level<'_>, b: Level<'_>) -> Result<bool> {
        let is_pair =
            |(a, b): (&Expr, &Expr)| join.pairs.iter().any(|(x, y)| is_same(x, a) && is_same(y, b));
        let (a, b) = (self.key_over_entry(join.rtes, a)?, self.key_over_entry(join.rtes, b)?);
        Ok(!a.is_empty() && a.len() == b.len() && a.iter().zip(&b).all(is_pair))
    }

    /// Whether partitions correspond one by one by their bounds, down to the leaves.
    fn has_same_leaves(&self, join: &LeafJoin<'_>, a: Level<'_>, b: Level<'_>) -> Result<bool> {
        let catalog = self.ctx.catalog;
        let (Some(left), Some(right)) = (catalog.partition_map(a.1)?, catalog.partition_map(b.1)?)
        else {
            return Ok(false);
        };
        if !left.has_same_bounds(right) {
            return Ok(false);
        }
        let below = self.partitioned_again(a.1);
        if below.len() != self.partitioned_again(b.1).len() {
            return Ok(false);
        }
        for partition in below {
            let partner = corresponding(catalog, partition, a.1, b.1)?;
            let (a, b) = ((a.0, partition), (b.0, partner));
            if !self.is_joined(join, a, b)? || !self.has_same_leaves(join, a, b)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The pairs of leaves of two levels, and their bounds if these differ. `None`: they do not
    /// match one by one.
    fn leaf_pairs(
        &self,
        join: &LeafJoin<'_>,
        a: Level<'_>,
        b: Level<'_>,
        rows: &mut Vec<Vec<Oid>>,
    ) -> Result<Option<Option<JoinBounds>>> {
        let catalog = self.ctx.catalog;
        let (Some(left), Some(right)) = (catalog.partition_map(a.1)?, catalog.partition_map(b.1)?)
        else {
            return Ok(None);
        };
        let (pairs, bounds) = if left.has_same_bounds(right) {
            let all = KeySet::all();
            let pairs = left.select(&all).map(|p| Ok((p, corresponding(catalog, p, a.1, b.1)?)));
            (pairs.collect::<Result<Vec<(Oid, Oid)>>>()?, None)
        } else {
            let (Some((first, of_first)), Some((second, of_second))) =
                (left.join_bounds(), right.join_bounds())
            else {
                return Ok(None);
            };
            let Some(pairs) = first.pairs(&second, join.kept) else { return Ok(None) };
            let numbers = pairs.numbers.iter();
            (numbers.map(|(i, j)| (of_first[*i], of_second[*j])).collect(), Some(pairs.bounds))
        };
        let is_leaf = |oid| catalog.relation(oid).is_some_and(|part| part.partition_key.is_none());
        for (p, q) in pairs {
            let (below_a, below_b) = ((a.0, p), (b.0, q));
            match (is_leaf(p), is_leaf(q)) {
                (true, true) => rows.push(vec![p, q]),
                (false, false)
                    if self.is_joined(join, below_a, below_b)?
                        && self.leaf_pairs(join, below_a, below_b, rows)?.is_some() => {}
                _ => return Ok(None),
            }
        }
        Ok(Some(bounds))
    }

    /// The same for sides that are joins leaf by leaf themselves. Their tables have one level.
    fn rows_matched(
        &self,
        join: &LeafJoin<'_>,
        left: &LeafByLeaf<'_>,
        right: &LeafByLeaf<'_>,
    ) -> Result<Option<Matching>> {
        let (Some((first, of_first)), Some((second, of_second))) =
            (self.rows_of(left)?, self.rows_of(right)?)
        else {
            return Ok(None);
        };
        let Some(pairs) = first.pairs(&second, join.kept) else { return Ok(None) };
        let row = |(i, j): &(usize, usize)| [&of_first[*i][..], &of_second[*j][..]].concat();
        let rows = pairs.numbers.iter().map(row).collect();
        Ok(Some(Matching::Listed(MatchedLeaves::new(rows, Some(pairs.bounds)))))
    }

    /// The bounds of each join of a side's leaves, and its leaves.
    fn rows_of(&self, side: &LeafByLeaf<'_>) -> Result<Option<(JoinBounds, Vec<Vec<Oid>>)>> {
        if let Some(matched) = side.matched {
            return Ok(matched.bounds().map(|bounds| (bounds.clone(), matched.rows().to_vec())));
        }
        let (catalog, root) = (self.ctx.catalog, side.rel.relation.oid);
        let map = catalog.partition_map(root)?;
        let Some((bounds, leaves)) = map.and_then(|map| map.join_bounds()) else { return Ok(None) };
        if !self.partitioned_again(root).is_empty() {
            return Ok(None);
        }
        let row = |leaf: Oid| {
            let others = side.partners.iter().map(|partner| partner.rel.relation.oid);
            let others = others.map(|table| corresponding(catalog, leaf, root, table));
            std::iter::once(Ok(leaf)).chain(others).collect::<Result<Vec<Oid>>>()
        };
        let rows = leaves.into_iter().map(row).collect::<Result<Vec<_>>>()?;
        Ok(Some((bounds, rows)))
    }
}
