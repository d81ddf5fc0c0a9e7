//! Sets of range-table entries (PostgreSQL's Relids).
//!
//! Nearly all queries have few entries. Planning makes and compares sets of them all the time, and
//! so does each lookup of parameter values. So the first 64 entries are bits of one word, and such
//! a set costs no allocation. The others follow in order.

/// Entries that are bits.
const BITS: usize = u64::BITS as usize;

/// A set of range-table entries of one query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RteSet {
    bits: u64,
    /// The entries from [`BITS`] on, in order.
    others: Vec<usize>,
}

impl RteSet {
    pub(crate) fn one(rte: usize) -> RteSet {
        let mut set = RteSet::default();
        set.insert(rte);
        set
    }

    pub(crate) fn insert(&mut self, rte: usize) {
        if rte < BITS {
            self.bits |= 1 << rte;
        } else if let Err(at) = self.others.binary_search(&rte) {
            self.others.insert(at, rte);
        }
    }

    pub(crate) fn union(&self, other: &RteSet) -> RteSet {
        let mut out = self.clone();
        out.bits |= other.bits;
        other.others.iter().for_each(|rte| out.insert(*rte));
        out
    }

    pub(crate) fn contains(&self, rte: usize) -> bool {
        match rte < BITS {
            true => self.bits & (1 << rte) != 0,
            false => self.others.binary_search(&rte).is_ok(),
        }
    }

    pub(crate) fn is_subset(&self, of: &RteSet) -> bool {
        self.bits & !of.bits == 0 && self.others.iter().all(|rte| of.contains(*rte))
    }

    pub(crate) fn overlaps(&self, other: &RteSet) -> bool {
        self.bits & other.bits != 0 || self.others.iter().any(|rte| other.contains(*rte))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bits == 0 && self.others.is_empty()
    }

    /// Whether there is one, and no other.
    pub(crate) fn is_one(&self) -> bool {
        self.bits.count_ones() as usize + self.others.len() == 1
    }

    /// In ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        let mut left = self.bits;
        let bits = std::iter::from_fn(move || {
            let rte = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            (rte < BITS).then_some(rte)
        });
        bits.chain(self.others.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn sets_are_as_sets_are() {
        let lists: [&[usize]; 7] =
            [&[], &[0], &[63], &[64], &[5, 3, 5, 70], &[0, 63, 64, 65, 200], &[3, 5, 70, 200]];
        let of = |list: &[usize]| {
            let mut set = RteSet::default();
            list.iter().for_each(|rte| set.insert(*rte));
            set
        };
        for a in lists {
            let (set, known): (_, BTreeSet<usize>) = (of(a), a.iter().copied().collect());
            assert!(set.iter().eq(known.iter().copied()));
            assert_eq!((set.is_empty(), set.is_one()), (known.is_empty(), known.len() == 1));
            assert!((0..210).all(|rte| set.contains(rte) == known.contains(&rte)));
            for b in lists {
                let (other, both): (_, BTreeSet<usize>) = (of(b), b.iter().copied().collect());
                assert!(set.union(&other).iter().eq(known.union(&both).copied()));
                assert_eq!(set.is_subset(&other), known.is_subset(&both));
                assert_eq!(set.overlaps(&other), !known.is_disjoint(&both));
                assert_eq!(set == other, known == both);
            }
        }
        assert_eq!(RteSet::one(64), of(&[64]));
    }
}
