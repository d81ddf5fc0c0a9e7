//! Short lists of OIDs.

use crate::Shared;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::Deref;
use steppe_partition::make_exact;
use steppe_types::Oid;

/// The most OIDs that are stored in place.
const IN_PLACE_MAX: usize = 3;

/// A list of OIDs that is mostly short, such as a partition's indexes. It is as large as a pointer
/// and a length; a short list needs no other memory.
#[derive(Clone, Debug)]
pub struct Oids(List);

#[derive(Clone, Debug)]
enum List {
    InPlace { len: u8, oids: [Oid; IN_PLACE_MAX] },
    Elsewhere(Shared<Oid>),
}

impl Default for Oids {
    fn default() -> Oids {
        Oids(List::InPlace { len: 0, oids: [0; IN_PLACE_MAX] })
    }
}

impl Deref for Oids {
    type Target = [Oid];

    fn deref(&self) -> &[Oid] {
        match &self.0 {
            List::InPlace { len, oids } => &oids[..usize::from(*len)],
            List::Elsewhere(list) => list,
        }
    }
}

impl From<Vec<Oid>> for Oids {
    fn from(mut list: Vec<Oid>) -> Oids {
        if list.len() > IN_PLACE_MAX {
            make_exact(&mut list);
            return Oids(List::Elsewhere(list.into()));
        }
        let mut oids = [0; IN_PLACE_MAX];
        oids[..list.len()].copy_from_slice(&list);
        Oids(List::InPlace { len: list.len() as u8, oids })
    }
}

impl Oids {
    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.deref().is_empty()
    }

    /// Adds an OID at the end.
    pub fn push(&mut self, oid: Oid) {
        self.change(|list| list.push(oid));
    }

    /// Adds an OID at the front.
    pub fn push_front(&mut self, oid: Oid) {
        self.change(|list| list.insert(0, oid));
    }

    /// Keeps the OIDs for which `is_wanted` is true.
    pub fn retain(&mut self, is_wanted: impl FnMut(&Oid) -> bool) {
        self.change(|list| list.retain(is_wanted));
    }

    fn change(&mut self, change: impl FnOnce(&mut Vec<Oid>)) {
        let mut list = self.to_vec();
        change(&mut list);
        *self = list.into();
    }
}

impl<'a> IntoIterator for &'a Oids {
    type Item = &'a Oid;
    type IntoIter = std::slice::Iter<'a, Oid>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Serialize for Oids {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.deref().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Oids {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Oids, D::Error> {
        Vec::deserialize(deserializer).map(Oids::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_grows_and_shrinks() {
        let (mut oids, mut model) = (Oids::default(), Vec::new());
        for oid in 1..=10 {
            match oid % 3 {
                0 => {
                    oids.push_front(oid);
                    model.insert(0, oid);
                }
                _ => {
                    oids.push(oid);
                    model.push(oid);
                }
            }
            assert_eq!(*oids, *model);
        }
        for most in (0..10).rev() {
            oids.retain(|oid| *oid <= most);
            model.retain(|oid| *oid <= most);
            assert_eq!(*oids, *model);
            let json = serde_json::to_string(&oids).expect("serializable");
            assert_eq!(json, serde_json::to_string(&model).expect("serializable"));
            let read: Oids = serde_json::from_str(&json).expect("readable");
            assert_eq!(*read, *model);
        }
        assert!(oids.is_empty());
        assert_eq!(size_of::<Oids>(), 2 * size_of::<usize>());
    }
}
