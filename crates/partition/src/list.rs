//! LIST: each value, and NULL, has at most one partition.
//!
//! PostgreSQL orders list partitions by their least value, and a partition that takes only NULL
//! after the others. Therefore each value has its partition's least value, so that any selection of
//! values gives partitions in that order.

use crate::bound::BoundValue;
use crate::error::{BoundError, BoundPlace};
use crate::key::{Key, SPACE_BEGIN, encode_value};
use crate::sorted::SortedMap;
use std::sync::Arc;
use steppe_types::oid::Oid;
use steppe_types::{Error, Result};

/// The list partitions of one parent, by value.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListPartitions {
    pub(crate) by_value: SortedMap<ListPartition>,
    null: Option<ListPartition>,
    count: usize,
    /// The number of partitions that take more than one value.
    shared_count: usize,
}

/// The partition that takes some value.
#[derive(Clone, Debug)]
pub(crate) struct ListPartition {
    pub(crate) relation: Oid,
    /// The partition's least value, unless this entry is for that value itself (for
    /// NULL: unless there is none).
    pub(crate) least: Option<Arc<Key>>,
}

impl ListPartitions {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Whether some partition takes more than one value, counting NULL.
    pub(crate) fn has_shared(&self) -> bool {
        self.shared_count > 0
    }

    /// The partition that takes NULL.
    pub(crate) fn null(&self) -> Option<&ListPartition> {
        self.null.as_ref()
    }

    /// All values but NULL, in order, with their partitions.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Key, &ListPartition)> {
        self.by_value.ascending(&Key::from(SPACE_BEGIN))
    }

    /// The partition that takes a value.
    pub(crate) fn route(&self, key: &Key) -> Option<Oid> {
        self.by_value.get(key).map(|partition| partition.relation)
    }

    pub(crate) fn attach(
        &mut self,
        relation: Oid,
        type_oid: Oid,
        values: &[BoundValue],
    ) -> Result<(), BoundError> {
        let mut keys = Vec::with_capacity(values.len());
        for (n, value) in values.iter().enumerate() {
            let key = encode(type_oid, value)?;
            let existing = match &key {
                Some(key) => self.by_value.get(key),
                None => self.null.as_ref(),
            };
            if let Some(existing) = existing {
                let (existing, place) = (existing.relation, BoundPlace::Value(n));
                return Err(BoundError::Overlap { existing, place });
            }
            keys.push(key);
        }
        let takes_null = keys.iter().any(Option::is_none);
        let keys = distinct(keys);
        let is_shared = keys.len() + usize::from(takes_null) > 1;
        let shared = keys.first().filter(|_| is_shared).map(|least| Arc::new(least.clone()));
        for (n, key) in keys.into_iter().enumerate() {
            let least = if n == 0 { None } else { shared.clone() };
            self.by_value.insert(key, ListPartition { relation, least });
        }
        if takes_null {
            self.null = Some(ListPartition { relation, least: shared });
        }
        self.count += 1;
        self.shared_count += usize::from(is_shared);
        Ok(())
    }

    pub(crate) fn detach(
        &mut self,
        relation: Oid,
        type_oid: Oid,
        values: &[BoundValue],
    ) -> Result<()> {
        let keys: Vec<_> = values.iter().map(|v| encode(type_oid, v)).collect::<Result<_>>()?;
        let owned = keys.iter().all(|key| {
            let entry = match key {
                Some(key) => self.by_value.get(key),
                None => self.null.as_ref(),
            };
            entry.is_some_and(|entry| entry.relation == relation)
        });
        if !owned {
            return Err(Error::internal("partition to detach does not have the bound it claims"));
        }
        let takes_null = keys.iter().any(Option::is_none);
        if takes_null {
            self.null = None;
        }
        let keys = distinct(keys);
        keys.iter().for_each(|key| drop(self.by_value.remove(key)));
        self.shared_count -= usize::from(keys.len() + usize::from(takes_null) > 1);
        self.count -= 1;
        Ok(())
    }
}

/// A value's key; `None` for NULL.
pub(crate) fn encode(type_oid: Oid, value: &BoundValue) -> Result<Option<Key>> {
    if value.datum().is_null() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    encode_value(type_oid, value.datum(), &mut bytes)?;
    Ok(Some(Key::from(&bytes[..])))
}

/// The keys that are not NULL, ascending, each once.
fn distinct(keys: Vec<Option<Key>>) -> Vec<Key> {
    let mut keys: Vec<Key> = keys.into_iter().flatten().collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}
