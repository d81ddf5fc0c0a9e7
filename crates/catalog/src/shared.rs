//! Values that many objects have in common.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use steppe_partition::make_exact;

/// A text that few objects have. If absent, it takes half the room of an `Arc<str>`.
pub type RareText = Arc<String>;

/// A list that is equal in many objects, such as the columns of a table's partitions, or mostly
/// empty. A change makes a separate copy.
#[derive(Clone, Debug)]
pub struct Shared<T>(Option<Arc<Vec<T>>>);

impl<T> Default for Shared<T> {
    fn default() -> Shared<T> {
        Shared(None)
    }
}

impl<T> Deref for Shared<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        match &self.0 {
            Some(list) => list,
            None => const { &Vec::new() },
        }
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}

impl<T> Shared<T> {
    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }
}

impl<T: PartialEq> Shared<T> {
    /// Replaces its own list by `other` if they are equal.
    pub fn share_with(&mut self, other: &Shared<T>) {
        let is_one = match (&self.0, &other.0) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            _ => false,
        };
        if !is_one && **self == **other {
            self.0 = other.0.clone();
        }
    }
}

impl<T: Clone> Shared<T> {
    /// Frees unused memory.
    pub fn shrink(&mut self) {
        match &mut self.0 {
            Some(list) if list.is_empty() => self.0 = None,
            // A list that other objects share has already been shrunk.
            Some(list) => Arc::get_mut(list).into_iter().for_each(make_exact),
            None => {}
        }
    }
}

impl<T: PartialEq> PartialEq<Shared<T>> for Vec<T> {
    fn eq(&self, other: &Shared<T>) -> bool {
        *self == **other
    }
}

impl<T, Other: ?Sized> PartialEq<Other> for Shared<T>
where
    Vec<T>: PartialEq<Other>,
{
    fn eq(&self, other: &Other) -> bool {
        **self == *other
    }
}

impl<T> From<Vec<T>> for Shared<T> {
    fn from(list: Vec<T>) -> Shared<T> {
        Shared((!list.is_empty()).then(|| Arc::new(list)))
    }
}

impl<T> FromIterator<T> for Shared<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Shared<T> {
        Vec::from_iter(items).into()
    }
}

impl<'a, T> IntoIterator for &'a Shared<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Clone> IntoIterator for &'a mut Shared<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_slice().serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Shared<T>, D::Error> {
        Vec::deserialize(deserializer).map(Shared::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lists_are_one_until_one_changes() {
        let parent = Shared::from(vec![1, 2]);
        let mut child = Shared::from(vec![1, 2]);
        child.share_with(&parent);
        assert_eq!(parent.as_ptr(), child.as_ptr());
        child.push(3);
        assert_eq!((parent.as_slice(), child.as_slice()), (&[1, 2][..], &[1, 2, 3][..]));
        child.share_with(&parent);
        assert_eq!(child.len(), 3, "they differ");
        child.clear();
        child.shrink();
        assert!(child.0.is_none() && child.is_empty());
    }
}
