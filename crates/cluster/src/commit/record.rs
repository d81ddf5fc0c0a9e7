//! Commit records: the rows that decide.
//!
//! | row of `steppe_cluster.commit_records` | the transaction |
//! |---|---|
//! | `key`, participants | has committed on its deciding node, and commits on all of these |
//! | `key`, fence | can never commit |
//! | none | has not committed, or has committed everywhere |

use std::fmt::Write as _;

use crate::NodeId;

/// A node's transaction number with its epoch (xid8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Xid(pub u64);

impl Xid {
    /// The number whose lower half is `low`, as near to `next` as possible: a running or prepared
    /// transaction is less than 2^31 away from the node's next one.
    pub fn widen(low: u32, next: Xid) -> Xid {
        let ahead = low.wrapping_sub(next.0 as u32).cast_signed();
        Xid(next.0.wrapping_add_signed(i64::from(ahead)))
    }
}

/// A part of a transaction that is prepared on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreparedPart {
    /// The node.
    pub node: NodeId,
    /// Its transaction number there.
    pub xid: Xid,
}

/// The meaning of a commit record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The transaction commits on these nodes, and has committed on the deciding one.
    Committed(Vec<PreparedPart>),
    /// It never commits on any node.
    Aborted,
}

/// The participants as a commit record has them.
pub(super) fn write_parts(parts: &[PreparedPart]) -> String {
    let mut text = String::with_capacity(parts.len() * 32);
    for (i, PreparedPart { node, xid }) in parts.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{node}={}", xid.0);
    }
    text
}

/// Reads a record's participants. `None`: it was not written by [`write_parts`].
pub(super) fn read_parts(text: &[u8]) -> Option<Vec<PreparedPart>> {
    let read = |part: &str| {
        let (node, xid) = part.split_once('=')?;
        let node = NodeId(u64::from_str_radix(node, 16).ok()?);
        Some(PreparedPart { node, xid: Xid(xid.parse().ok()?) })
    };
    let parts: Vec<_> =
        std::str::from_utf8(text).ok()?.split(',').map(read).collect::<Option<_>>()?;
    (write_parts(&parts).as_bytes() == text).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participants_are_read_as_they_were_written() {
        let part = |node, xid| PreparedPart { node: NodeId(node), xid: Xid(xid) };
        let parts = vec![part(1, 735), part(u64::MAX, u64::MAX)];
        let text = write_parts(&parts);
        assert_eq!(text, "0000000000000001=735,ffffffffffffffff=18446744073709551615");
        assert_eq!(read_parts(text.as_bytes()), Some(parts));
        for bad in ["", "1=2", "0000000000000001=", "0000000000000001=+7", "0000000000000001=7,"] {
            assert_eq!(read_parts(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn numbers_are_widened_to_the_nearest() {
        assert_eq!(Xid::widen(7, Xid(10)), Xid(7));
        assert_eq!(Xid::widen(u32::MAX, Xid(1 << 32)), Xid((1 << 32) - 1));
        assert_eq!(Xid::widen(3, Xid((1 << 32) - 2)), Xid((1 << 32) + 3));
    }
}
