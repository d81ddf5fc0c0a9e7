//! Sets of points of a key space, as ranges.

use crate::key::{MAXVALUE, SPACE_BEGIN, SPACE_END};

/// From `start`, included, to `end`, not included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) start: Vec<u8>,
    pub(crate) end: Vec<u8>,
}

impl KeyRange {
    /// All rows whose key begins with `prefix`.
    pub(crate) fn prefix(prefix: Vec<u8>) -> KeyRange {
        let mut end = Vec::with_capacity(prefix.len() + 1);
        end.extend_from_slice(&prefix);
        end.push(MAXVALUE);
        KeyRange { start: prefix, end }
    }

    /// Whether this is one value of the first column or columns, with all possible values of later
    /// ones. Other ranges end at another value, with or without MAXVALUE behind it.
    pub(crate) fn is_prefix(&self) -> bool {
        !self.start.is_empty() && self.end.strip_suffix(&[MAXVALUE]) == Some(&self.start[..])
    }

    /// This range of a column, behind the columns of `prefix`.
    pub(crate) fn behind(&self, prefix: &[u8]) -> KeyRange {
        KeyRange { start: [prefix, &self.start].concat(), end: [prefix, &self.end].concat() }
    }
}

/// Ranges in ascending order that neither overlap nor touch; none is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyRanges(Vec<KeyRange>);

impl KeyRanges {
    /// The empty set.
    pub(crate) fn none() -> KeyRanges {
        KeyRanges(Vec::new())
    }

    /// Every key without NULLs, and every bound.
    pub(crate) fn all() -> KeyRanges {
        KeyRanges::between(SPACE_BEGIN.to_vec(), SPACE_END.to_vec())
    }

    pub(crate) fn between(start: Vec<u8>, end: Vec<u8>) -> KeyRanges {
        if start < end { KeyRanges(vec![KeyRange { start, end }]) } else { KeyRanges::none() }
    }

    /// The keys in any of the ranges, which come in any order.
    pub(crate) fn from_unordered(mut ranges: Vec<KeyRange>) -> KeyRanges {
        ranges.retain(|range| range.start < range.end);
        if ranges.len() <= 1 {
            return KeyRanges(ranges);
        }
        ranges.sort_by(|a, b| a.start.cmp(&b.start));
        let mut joined: Vec<KeyRange> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => {
                    if last.end < range.end {
                        last.end = range.end;
                    }
                }
                _ => joined.push(range),
            }
        }
        KeyRanges(joined)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn is_all(&self) -> bool {
        matches!(&self.0[..], [only] if only.start == SPACE_BEGIN && only.end == SPACE_END)
    }

    pub(crate) fn as_slice(&self) -> &[KeyRange] {
        &self.0
    }

    pub(crate) fn union(mut self, other: KeyRanges) -> KeyRanges {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        self.0.extend(other.0);
        KeyRanges::from_unordered(self.0)
    }

    pub(crate) fn intersect(self, other: KeyRanges) -> KeyRanges {
        if self.is_all() {
            return other;
        }
        if other.is_all() {
            return self;
        }
        let mut common = Vec::new();
        let (mut ours, mut theirs) =
            (self.0.into_iter().peekable(), other.0.into_iter().peekable());
        while let (Some(a), Some(b)) = (ours.peek(), theirs.peek()) {
            let start = (&a.start).max(&b.start);
            let end = (&a.end).min(&b.end);
            if start < end {
                common.push(KeyRange { start: start.clone(), end: end.clone() });
            }
            // The range that ends first meets none of the later ones.
            if a.end < b.end { drop(ours.next()) } else { drop(theirs.next()) }
        }
        KeyRanges(common)
    }
}
