//! Keys that are too long for an index entry: their beginning, and a digest of the rest.
//!
//! ```text
//!   key of up to 1,990 bytes   itself
//!   longer                     its first 1,959 bytes ‖ SHA-256 of the others = 1,991 bytes
//! ```
//!
//! An inner node must have room for two fences and two separators of the longest key (storage's
//! README). So a key cannot be as long as PostgreSQL's 2,704 bytes in a page of the same size. That
//! would not be enough either, since PostgreSQL compresses keys before it measures them. So keys of
//! any length are accepted here.
//!
//! *Correctness.*
//!
//! 1. Two keys of an index are shortened to the same bytes only if they are equal: the length
//!    decides the form, and no two byte strings with the same SHA-256 are known. So equality works
//!    on shortened keys, and with it uniqueness, ON CONFLICT, the marking of postings, undo and the
//!    purge.
//! 2. The order of two shortened keys is that of the keys wherever their first 1,959 bytes differ.
//!    Keys that have these in common (no key is a prefix of another one) are a *group*; they stand
//!    together in the tree, in any order. A scan that reads entries in the order of keys puts each
//!    group in order (`node/key_cursor.rs`), and a bound that ends within a group takes all of it
//!    in ([`around`]) and is applied to whole keys.
//! 3. A whole key is made again from the row version that the snapshot sees, as a posting of the
//!    snapshot's has that version's key.

use std::ops::Bound;
use steppe_functions::sha2::{Sha2, digest};
use steppe_types::Result;

/// The longest key that is kept unchanged.
const KEY_BYTES_MAX: usize = 1990;
/// Bytes of SHA-256.
const DIGEST_BYTES: usize = 32;
/// The number of bytes of a longer key that are kept before its digest.
const HEAD_BYTES: usize = KEY_BYTES_MAX + 1 - DIGEST_BYTES;

/// Shortens the key that `key` ends with, from `start` on, if it is too long.
#[inline]
pub(crate) fn shorten(key: &mut Vec<u8>, start: usize) -> Result<()> {
    if key.len() - start > KEY_BYTES_MAX { cut(key, start + HEAD_BYTES) } else { Ok(()) }
}

#[cold]
fn cut(key: &mut Vec<u8>, at: usize) -> Result<()> {
    let digest = digest(Sha2::Sha256, &key[at..])?;
    key.truncate(at);
    key.extend_from_slice(&digest);
    Ok(())
}

/// Whether an index's key is not the whole key.
#[inline]
pub(crate) fn is_shortened(key: &[u8]) -> bool {
    key.len() > KEY_BYTES_MAX
}

/// The bytes that an entry has in common with its group, if it may be in one with others.
#[inline]
pub(crate) fn group_of(key: &[u8]) -> Option<&[u8]> {
    if key.len() > HEAD_BYTES { Some(&key[..HEAD_BYTES]) } else { None }
}

/// A bound for shortened keys that leaves out no key which a bound for whole ones takes in. Bounds
/// are prefixes, as in `steppe_txn::IndexStore::scan`.
pub(crate) fn around(bound: Bound<&[u8]>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => group_of(key).map_or(bound, Bound::Included),
        Bound::Unbounded => bound,
    }
}

/// Whether a whole key lies between two bounds.
pub(crate) fn lies_between(key: &[u8], lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    let above = match lower {
        Bound::Included(bound) => key >= bound,
        Bound::Excluded(bound) => key > bound && !key.starts_with(bound),
        Bound::Unbounded => true,
    };
    above
        && match upper {
            Bound::Included(bound) => key < bound || key.starts_with(bound),
            Bound::Excluded(bound) => key < bound,
            Bound::Unbounded => true,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Bound::{Excluded, Included, Unbounded};

    fn shortened(key: &[u8]) -> Vec<u8> {
        let mut key = key.to_vec();
        shorten(&mut key, 0).expect("is shortened");
        key
    }

    /// Keys of all lengths around the limits that differ early, late or in their length.
    fn keys() -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        for length in [1, 1000, 1958, 1959, 1960, 1989, 1990, 1991, 2500, 100_000] {
            for place in [0, length / 2, length - 1] {
                for byte in [3, 7, 200] {
                    let mut key = vec![7; length];
                    key[place] = byte;
                    // The end of every key, so that none is a prefix of another one.
                    key.extend_from_slice(&[0, 0]);
                    keys.push(key);
                }
            }
        }
        keys.sort();
        keys.dedup();
        keys
    }

    #[test]
    fn equal_shortened_keys_are_equal_keys_and_groups_are_in_order() {
        let keys = keys();
        for a in &keys {
            assert_eq!(is_shortened(&shortened(a)), a.len() > KEY_BYTES_MAX);
            assert!(shortened(a).len() <= KEY_BYTES_MAX + 1);
            for b in &keys {
                let (short_a, short_b) = (shortened(a), shortened(b));
                assert_eq!(a == b, short_a == short_b);
                if group_of(&short_a).is_none() || group_of(&short_a) != group_of(&short_b) {
                    assert_eq!(a.cmp(b), short_a.cmp(&short_b));
                }
            }
        }
    }

    #[test]
    fn a_bound_takes_in_what_it_should() {
        let keys = keys();
        let bounds = keys.iter().flat_map(|key| {
            let cut = &key[..key.len() - 2];
            [Included(&key[..]), Excluded(&key[..]), Included(cut), Excluded(cut)]
        });
        let all: Vec<_> = bounds.chain([Unbounded]).collect();
        for key in &keys {
            let short = shortened(key);
            for bound in &all {
                // A key within a bound is also within the bound around it.
                if lies_between(key, *bound, Unbounded) {
                    assert!(lies_between(&short, around(*bound), Unbounded));
                }
                if lies_between(key, Unbounded, *bound) {
                    assert!(lies_between(&short, Unbounded, around(*bound)));
                }
                // A key that is only within the bound around it is in the bound's group.
                if let Included(at) | Excluded(at) = bound
                    && lies_between(&short, around(*bound), Unbounded)
                    && !lies_between(key, *bound, Unbounded)
                    && group_of(at).is_some()
                {
                    assert!(key.starts_with(&at[..HEAD_BYTES]));
                }
            }
        }
    }
}
