//! Hashing and comparing rows by their keys, as SQL's default equality does.

use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hasher};
use steppe_types::compare::{equal_as, hash_as};
use steppe_types::{Datum, Oid};

/// One seed for all: a row hashes the same when it comes back from a spill file.
const STATE: FixedState = FixedState::with_seed(0x57E9_9E00);

/// The hash of a key. Integers of different widths hash by value.
#[inline]
pub(crate) fn hash_key<'a>(types: &[Oid], values: impl IntoIterator<Item = &'a Datum>) -> u64 {
    let mut hasher = STATE.build_hasher();
    for (type_oid, value) in types.iter().zip(values) {
        match value {
            Datum::Null => hasher.write_u8(0),
            value => hash_as(*type_oid, value, &mut hasher),
        }
    }
    hasher.finish()
}

/// Whether two keys are equal, NULLs being equal to each other.
#[inline]
pub(crate) fn equal_keys<'a>(
    types: &[Oid],
    a: impl IntoIterator<Item = &'a Datum>,
    b: impl IntoIterator<Item = &'a Datum>,
) -> bool {
    types.iter().zip(a).zip(b).all(|((type_oid, a), b)| match (a.is_null(), b.is_null()) {
        (false, false) => equal_as(*type_oid, a, b),
        (a, b) => a == b,
    })
}

/// The partition, out of `count` (a power of two), to which a hash belongs at a recursion depth.
/// Each depth uses separate bits, which hash tables do not use first.
#[inline]
pub(crate) fn partition_of(hash: u64, depth: u32, count: usize) -> usize {
    let mixed = hash.rotate_left(17 + depth * 7).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 40) as usize & (count - 1)
}
