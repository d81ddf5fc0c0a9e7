//! RANGE: partitions in the order of their lower bounds.
//!
//! Partitions do not overlap. So only the last partition whose lower bound is not above a key may
//! hold it, and does if its upper bound is above the key.

use crate::bound::RangeDatum;
use crate::error::{BoundError, BoundPlace};
use crate::flat::{Flat, FlatRanges, Undecided};
use crate::key::{CompactKey, EncodedBound, Key, SPACE_BEGIN};
use crate::sorted::SortedMap;
use std::sync::Arc;
use steppe_types::oid::Oid;
use steppe_types::{Error, Result};

/// The range partitions of one parent, by lower bound.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangePartitions {
    pub(crate) by_lower: SortedMap<RangePartition>,
    /// The same partitions for fast routing.
    flat: Arc<Flat>,
}

/// A partition without its lower bound.
#[derive(Clone, Debug)]
pub(crate) struct RangePartition {
    /// The exclusive end.
    pub(crate) upper: CompactKey,
    pub(crate) relation: Oid,
}

impl RangePartitions {
    pub(crate) fn len(&self) -> usize {
        self.by_lower.len()
    }

    /// All of them, by lower bound.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Key, &RangePartition)> {
        self.by_lower.ascending(&Key::from(SPACE_BEGIN))
    }

    /// The partitions with the least and with the greatest bounds.
    pub(crate) fn ends(&self) -> Option<(Oid, Oid)> {
        self.by_lower.ends().map(|(first, last)| (first.relation, last.relation))
    }

    /// The partition that holds a key, and its place among all if it is known.
    #[inline]
    pub(crate) fn route(&self, key: &Key) -> Option<(Oid, Option<u32>)> {
        let flat = self.flat.ranges(self.len(), || {
            let all = self.all();
            FlatRanges::new(all.map(|(lower, p)| (lower.clone(), p.upper.key(), p.relation)))
        });
        match flat.map(|flat| flat.route(key)) {
            Some(Ok(found)) => found.map(|(relation, place)| (relation, Some(place))),
            Some(Err(Undecided)) | None => self.find(key).map(|relation| (relation, None)),
        }
    }

    /// The same for a key that its hint determines, if the flat bounds have been made.
    #[inline]
    pub(crate) fn route_quickly(&self, hint: u64) -> Option<Option<(Oid, u32)>> {
        self.flat.known()?.find(hint).ok()
    }

    fn find(&self, key: &Key) -> Option<Oid> {
        let partition = self.by_lower.value_at_or_below(key)?;
        partition.upper.is_above(key).then_some(partition.relation)
    }

    pub(crate) fn attach(
        &mut self,
        relation: Oid,
        types: &[Oid],
        lower: &[RangeDatum],
        upper: &[RangeDatum],
    ) -> Result<(), BoundError> {
        let (lower, upper) = self.check(types, lower, upper)?;
        self.flat = Arc::default();
        self.by_lower.insert(lower.key, RangePartition { upper: upper.key.into(), relation });
        Ok(())
    }

    /// The bounds of a partition that could be added.
    pub(crate) fn check(
        &self,
        types: &[Oid],
        lower: &[RangeDatum],
        upper: &[RangeDatum],
    ) -> Result<(EncodedBound, EncodedBound), BoundError> {
        let lower = EncodedBound::new(types, lower)?;
        let upper = EncodedBound::new(types, upper)?;
        if lower.key >= upper.key {
            // Equal ends are equal up to the last column.
            let column = match lower.key == upper.key {
                true => types.len().saturating_sub(1),
                false => lower.column_of_difference(&upper.key),
            };
            return Err(BoundError::EmptyRange { place: BoundPlace::Lower(column) });
        }
        if let Some((start, partition)) = self.by_lower.at_or_below(&lower.key)
            && partition.upper.is_above(&lower.key)
        {
            let place = BoundPlace::Lower(lower.column_of_difference(start));
            return Err(BoundError::Overlap { existing: partition.relation, place });
        }
        if let Some((start, partition)) = self.by_lower.ascending(&lower.key).next()
            && *start < upper.key
        {
            let place = BoundPlace::Upper(upper.column_of_difference(start));
            return Err(BoundError::Overlap { existing: partition.relation, place });
        }
        Ok((lower, upper))
    }

    pub(crate) fn detach(
        &mut self,
        relation: Oid,
        types: &[Oid],
        lower: &[RangeDatum],
    ) -> Result<()> {
        let lower = EncodedBound::new(types, lower)?;
        self.flat = Arc::default();
        match self.by_lower.remove(&lower.key) {
            Some(partition) if partition.relation == relation => Ok(()),
            _ => Err(Error::internal("partition to detach does not have the bound it claims")),
        }
    }
}
