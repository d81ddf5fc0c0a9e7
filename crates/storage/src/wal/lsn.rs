//! Log sequence numbers.

use std::fmt;

/// A byte position in the log stream. The position where a record starts identifies it. A record is
/// durable when everything before its *end* is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

impl Lsn {
    /// An invalid position: the stream starts past it.
    pub const INVALID: Lsn = Lsn(0);

    /// Whether this is a valid position.
    pub fn is_valid(self) -> bool {
        self != Lsn::INVALID
    }

    /// The next byte's position. Durability moves from record end to record end, so a flush up to
    /// `start.next_byte()` makes the whole record at `start` durable.
    pub fn next_byte(self) -> Lsn {
        Lsn(self.0.saturating_add(1))
    }
}

impl fmt::Display for Lsn {
    /// The format of PostgreSQL's pg_lsn: two hexadecimal halves.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_as_pg_lsn() {
        assert_eq!(Lsn(0x16_0000_0abc).to_string(), "16/ABC");
        assert_eq!(Lsn::INVALID.to_string(), "0/0");
        assert!(Lsn(u64::MAX).next_byte().is_valid());
    }
}
