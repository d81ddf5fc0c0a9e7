//! Two parents whose partitions match one by one although their bounds differ
//! (partition_bounds_merge).
//!
//! ```text
//!   a   ├── a1 ──┤├── a2 ──┤            a JOIN b:       a1 ⋈ b1
//!   b     ├─ b1 ─┤           ├─ b2 ─┤   (a2, b2: no row of theirs has a partner)
//! ```
//!
//! The pairs have two guarantees. A row of a partition finds rows with an equal key in the partner
//! of its partition and in no other. A side that keeps all its rows has all its partitions in
//! pairs. Without such a pairing there is no answer: a partition would need two partners or, on a
//! side that is kept, has none. There is also none in a few cases in which PostgreSQL finds none,
//! because a default partition is the partner of one partition at most.
//!
//! The keys of the pairs are bounds again, so that they can be matched with a third parent.

use crate::key::Key;
use crate::map::{PartitionMap, Partitions};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use steppe_types::oid::Oid;

/// Which sides of a join keep the rows that find no partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsKept {
    /// The rows of neither side (inner and semi joins).
    None,
    /// The first (left and anti joins).
    First,
    /// Both (full joins).
    Both,
}

/// The keys of numbered partitions: those of a parent, or pairs of them.
#[derive(Clone, Debug)]
pub struct JoinBounds {
    types: Arc<[Oid]>,
    taken: Taken,
    default: Option<usize>,
    count: usize,
}

#[derive(Clone, Debug)]
enum Taken {
    /// Ascending and disjoint.
    Ranges(Vec<Range>),
    /// Ascending; each value is there once.
    Values { by_value: Vec<(Key, usize)>, null: Option<usize> },
}

#[derive(Clone, Debug)]
struct Range {
    lower: Key,
    /// The exclusive end.
    upper: Key,
    partition: usize,
}

/// Partitions that match one by one.
#[derive(Debug)]
pub struct Pairs {
    /// The numbers of both partitions of each pair, in the order of their keys.
    pub numbers: Vec<(usize, usize)>,
    /// The keys of the pairs.
    pub bounds: JoinBounds,
}

impl PartitionMap {
    /// The keys of the partitions, and the partitions by number. `None`: hashes match only where
    /// they are the same.
    pub fn join_bounds(&self) -> Option<(JoinBounds, Vec<Oid>)> {
        let mut numbers: HashMap<Oid, usize> = HashMap::with_capacity(self.len());
        let mut partitions: Vec<Oid> = Vec::with_capacity(self.len());
        let mut number = |partition: Oid| {
            *numbers.entry(partition).or_insert_with(|| {
                partitions.push(partition);
                partitions.len() - 1
            })
        };
        let taken = match &self.partitions {
            Partitions::Range(ranges) => {
                let ranges = ranges.all().map(|(lower, range)| Range {
                    lower: lower.clone(),
                    upper: range.upper.key(),
                    partition: number(range.relation),
                });
                Taken::Ranges(ranges.collect())
            }
            Partitions::List(lists) => {
                let values = lists.all().map(|(key, list)| (key.clone(), number(list.relation)));
                let by_value = values.collect();
                Taken::Values { by_value, null: lists.null().map(|list| number(list.relation)) }
            }
            Partitions::Hash(_) => return None,
        };
        let default = self.default.map(number);
        let (types, count) = (self.types().into(), partitions.len());
        Some((JoinBounds { types, taken, default, count }, partitions))
    }
}

/// One of the two sides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    First,
    Second,
}

/// A partition's place among the pairs.
#[derive(Clone, Copy, Default)]
struct Place {
    pair: Option<usize>,
    has_partner: bool,
}

/// Unfinished pairs (PartitionMap of partbounds.c). Each may lack a side.
struct Matching {
    first: Vec<Place>,
    second: Vec<Place>,
    defaults: (Option<usize>, Option<usize>),
    pairs: usize,
    /// The pair that takes the keys that no other pair takes.
    default: Option<usize>,
    kept: RowsKept,
}

/// The partitions do not match one by one.
struct Unmatched;

type Matched<T> = Result<T, Unmatched>;

impl JoinBounds {
    /// The partitions that match one by one, if they do.
    pub fn pairs(&self, other: &JoinBounds, kept: RowsKept) -> Option<Pairs> {
        if self.types != other.types {
            return None;
        }
        let mut matching = Matching {
            first: vec![Place::default(); self.count],
            second: vec![Place::default(); other.count],
            defaults: (self.default, other.default),
            pairs: 0,
            default: None,
            kept,
        };
        let taken = match (&self.taken, &other.taken) {
            (Taken::Ranges(a), Taken::Ranges(b)) => matching.ranges(a, b),
            (
                Taken::Values { by_value: a, null: first },
                Taken::Values { by_value: b, null: second },
            ) => matching.values((a, *first), (b, *second)),
            _ => return None,
        };
        matching.finish(taken.ok()?, self.types.clone())
    }
}

impl Matching {
    fn values(
        &mut self,
        (a, first_null): (&[(Key, usize)], Option<usize>),
        (b, second_null): (&[(Key, usize)], Option<usize>),
    ) -> Matched<Taken> {
        let mut by_value: Vec<(Key, Side, usize)> = Vec::new();
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let order = match (a.get(i), b.get(j)) {
                (Some((x, _)), Some((y, _))) => x.cmp(y),
                (Some(_), None) => Ordering::Less,
                _ => Ordering::Greater,
            };
            let pair = match order {
                Ordering::Equal => Some(self.match_both(a[i].1, b[j].1)?),
                Ordering::Less => self.only_in(Side::First, a[i].1)?,
                Ordering::Greater => self.only_in(Side::Second, b[j].1)?,
            };
            let (key, side, partition) = match order {
                Ordering::Greater => (&b[j].0, Side::Second, b[j].1),
                _ => (&a[i].0, Side::First, a[i].1),
            };
            if pair.is_some() && pair != self.default {
                by_value.push((key.clone(), side, partition));
            }
            i += usize::from(order != Ordering::Greater);
            j += usize::from(order != Ordering::Less);
        }
        let null = self.nulls(first_null, second_null)?;
        self.match_defaults()?;
        // Pairs without a partner may have been joined since.
        let pair = |(key, side, partition): (Key, Side, usize)| {
            self.place(side, partition).pair.map(|pair| (key, pair))
        };
        Ok(Taken::Values { by_value: by_value.into_iter().filter_map(pair).collect(), null })
    }

    /// NULLs have no partner: their partitions get pairs only so that all partitions have one.
    fn nulls(&mut self, a: Option<usize>, b: Option<usize>) -> Matched<Option<usize>> {
        let a = a.filter(|a| self.first[*a].pair.is_none());
        let b = b.filter(|b| self.second[*b].pair.is_none());
        Ok(match (a, b, self.kept) {
            (Some(a), Some(b), RowsKept::First | RowsKept::Both) => Some(self.match_both(a, b)?),
            (Some(a), None, RowsKept::First | RowsKept::Both) => Some(self.alone(Side::First, a)),
            (None, Some(b), RowsKept::Both) => Some(self.alone(Side::Second, b)),
            _ => None,
        })
    }

    fn ranges(&mut self, a: &[Range], b: &[Range]) -> Matched<Taken> {
        let mut ranges: Vec<Range> = Vec::new();
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let (pair, lower, upper) = match (a.get(i), b.get(j)) {
                (Some(x), Some(y)) if x.lower < y.upper && y.lower < x.upper => {
                    (i, j) = (i + 1, j + 1);
                    self.check_overlap((x, a.get(i)), (y, b.get(j)))?;
                    let pair = self.match_both(x.partition, y.partition)?;
                    let (lower, upper) = self.bounds_of_both(x, y);
                    (Some(pair), lower, upper)
                }
                (Some(x), y) if y.is_none_or(|y| x.upper <= y.lower) => {
                    i += 1;
                    (self.only_in(Side::First, x.partition)?, &x.lower, &x.upper)
                }
                (_, Some(y)) => {
                    j += 1;
                    (self.only_in(Side::Second, y.partition)?, &y.lower, &y.upper)
                }
                (_, None) => break,
            };
            if let Some(partition) = pair.filter(|pair| Some(*pair) != self.default) {
                ranges.push(Range { lower: lower.clone(), upper: upper.clone(), partition });
            }
        }
        self.match_defaults()?;
        Ok(Taken::Ranges(ranges))
    }

    /// Checks that both ranges have one partner only. The second one would be the next range, or
    /// the default partition for keys that are not in both.
    fn check_overlap(
        &self,
        (x, after_x): (&Range, Option<&Range>),
        (y, after_y): (&Range, Option<&Range>),
    ) -> Matched<()> {
        let first_has_two = after_y.is_some_and(|next| x.upper > next.lower);
        let second_has_two = after_x.is_some_and(|next| y.upper > next.lower);
        let only_in_first = x.lower < y.lower || x.upper > y.upper;
        let only_in_second = y.lower < x.lower || y.upper > x.upper;
        let is_in_default = self.defaults.1.is_some() && only_in_first
            || self.defaults.0.is_some() && only_in_second;
        if first_has_two || second_has_two || is_in_default { Err(Unmatched) } else { Ok(()) }
    }

    /// The keys of a pair's rows (get_merged_range_bounds).
    fn bounds_of_both<'r>(&self, x: &'r Range, y: &'r Range) -> (&'r Key, &'r Key) {
        match self.kept {
            RowsKept::None => ((&x.lower).max(&y.lower), (&x.upper).min(&y.upper)),
            RowsKept::First => (&x.lower, &x.upper),
            RowsKept::Both => ((&x.lower).min(&y.lower), (&x.upper).max(&y.upper)),
        }
    }

    fn place(&self, side: Side, partition: usize) -> Place {
        match side {
            Side::First => self.first[partition],
            Side::Second => self.second[partition],
        }
    }

    fn place_mut(&mut self, side: Side, partition: usize) -> &mut Place {
        match side {
            Side::First => &mut self.first[partition],
            Side::Second => &mut self.second[partition],
        }
    }

    /// A new pair.
    fn new_pair(&mut self) -> usize {
        self.pairs += 1;
        self.pairs - 1
    }

    /// Puts two partitions into one pair (merge_matching_partitions).
    fn match_both(&mut self, a: usize, b: usize) -> Matched<usize> {
        let (x, y) = (self.first[a], self.second[b]);
        let pair = match (x.pair, y.pair) {
            (Some(p), Some(q)) if p == q => return Ok(p),
            (Some(p), Some(q)) if !x.has_partner && !y.has_partner => p.min(q),
            (Some(p), None) if !x.has_partner => p,
            (None, Some(q)) if !y.has_partner => q,
            (None, None) => self.new_pair(),
            _ => return Err(Unmatched),
        };
        let both = Place { pair: Some(pair), has_partner: true };
        (self.first[a], self.second[b]) = (both, both);
        Ok(pair)
    }

    /// The pair of a partition without a partner (merge_partition_with_dummy).
    fn alone(&mut self, side: Side, partition: usize) -> usize {
        if let Some(pair) = self.place(side, partition).pair {
            return pair;
        }
        let pair = self.new_pair();
        *self.place_mut(side, partition) = Place { pair: Some(pair), has_partner: false };
        pair
    }

    /// A key that only one side has a bound for: on the other it is in the default partition, or
    /// nowhere (process_outer_partition, process_inner_partition). `None`: the key is in no pair.
    fn only_in(&mut self, side: Side, partition: usize) -> Matched<Option<usize>> {
        let (own, other, is_kept, acts_as_default) = match (side, self.defaults) {
            (Side::First, (own, other)) => {
                let is_full = self.kept == RowsKept::Both;
                (own, other, self.kept != RowsKept::None, is_full)
            }
            (Side::Second, (other, own)) => {
                (own, other, self.kept == RowsKept::Both, self.kept != RowsKept::None)
            }
        };
        let Some(default) = other else {
            return Ok(is_kept.then(|| self.alone(side, partition)));
        };
        if own.is_some() {
            return Err(Unmatched);
        }
        let pair = match side {
            Side::First => self.match_both(partition, default)?,
            Side::Second => self.match_both(default, partition)?,
        };
        if acts_as_default {
            self.default.get_or_insert(pair);
        }
        Ok(Some(pair))
    }

    /// Matches the default partitions (merge_default_partitions).
    fn match_defaults(&mut self) -> Matched<()> {
        let default = match (self.defaults, self.kept) {
            ((Some(a), Some(b)), _) => self.match_both(a, b)?,
            ((Some(a), None), RowsKept::First | RowsKept::Both) => self.alone(Side::First, a),
            ((None, Some(b)), RowsKept::Both) => self.alone(Side::Second, b),
            _ => return Ok(()),
        };
        self.default = Some(default);
        Ok(())
    }

    /// The pairs, if each has both sides.
    fn finish(self, taken: Taken, types: Arc<[Oid]>) -> Option<Pairs> {
        let mut sides: Vec<(Option<usize>, Option<usize>)> = vec![(None, None); self.pairs];
        for (partition, place) in self.first.iter().enumerate() {
            place.pair.into_iter().for_each(|pair| sides[pair].0 = Some(partition));
        }
        for (partition, place) in self.second.iter().enumerate() {
            place.pair.into_iter().for_each(|pair| sides[pair].1 = Some(partition));
        }
        // Some pairs were joined with others.
        let (mut numbers, mut number_of) = (Vec::new(), vec![None; self.pairs]);
        for (pair, side) in sides.into_iter().enumerate() {
            match side {
                (Some(a), Some(b)) => {
                    number_of[pair] = Some(numbers.len());
                    numbers.push((a, b));
                }
                (None, None) => {}
                _ => return None,
            }
        }
        let number = |pair: usize| number_of.get(pair).copied().flatten();
        let taken = match taken {
            Taken::Ranges(ranges) => {
                let renumbered = |range: Range| {
                    number(range.partition).map(|partition| Range { partition, ..range })
                };
                Taken::Ranges(ranges.into_iter().filter_map(renumbered).collect())
            }
            Taken::Values { by_value, null } => {
                let renumbered = |(key, pair)| number(pair).map(|pair| (key, pair));
                let by_value = by_value.into_iter().filter_map(renumbered).collect();
                Taken::Values { by_value, null: null.and_then(number) }
            }
        };
        let default = self.default.and_then(number);
        let bounds = JoinBounds { types, taken, default, count: numbers.len() };
        Some(Pairs { numbers, bounds })
    }
}
