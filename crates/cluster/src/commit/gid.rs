//! The names of transactions on the nodes.
//!
//! ```text
//!   steppe1:00000000000000c1:0000000000000007:000000000000002a:00000000000000d1:00000000000000d2
//!   │       │ coordinator    │ generation     │ number         │ deciding node  │ participant
//!   └───────┴─────────── the transaction: key of its commit record ─────────────┘
//! ```
//!
//! Every field has 16 lower-case hexadecimal digits, so that a transaction has exactly one name and
//! no name begins another. A name that differs in one byte, or has one more, is foreign. The
//! participant is part of the identifier, because identifiers are unique in a server, and two
//! databases of a server may be two nodes of one transaction.

use std::fmt;

use crate::NodeId;

/// PostgreSQL takes identifiers of at most this many bytes (GIDSIZE without its zero byte).
pub const GID_BYTES_MAX: usize = 199;

const PREFIX: &[u8] = b"steppe1";
const FIELD_DIGITS: usize = 16;
const KEY_FIELDS: usize = 4;
const GID_FIELDS: usize = 5;

const fn bytes_of(fields: usize) -> usize {
    PREFIX.len() + fields * (1 + FIELD_DIGITS)
}

const _: () = assert!(bytes_of(GID_FIELDS) <= GID_BYTES_MAX);

/// One life of a coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coordinator {
    /// The coordinator's random identity, which stays the same over restarts.
    pub id: u64,
    /// Counts the starts of this coordinator. It is registered on a node before its first use.
    pub generation: u64,
}

/// A transaction over several nodes. Its text is the key of its commit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionKey {
    /// The coordinator's life that runs the transaction.
    pub coordinator: Coordinator,
    /// The transaction's number in that life.
    pub number: u64,
    /// The node whose commit record decides.
    pub deciding: NodeId,
}

/// The identifier of a prepared transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gid {
    /// The transaction that it is a part of.
    pub transaction: TransactionKey,
    /// The node that it is prepared on.
    pub participant: NodeId,
}

impl TransactionKey {
    /// Its identifier on one of its nodes.
    pub fn on(self, participant: NodeId) -> Gid {
        Gid { transaction: self, participant }
    }

    /// Reads a commit record's key. `None`: it is foreign.
    pub fn parse(text: &[u8]) -> Option<TransactionKey> {
        fields::<KEY_FIELDS>(text).map(TransactionKey::of)
    }

    fn of([id, generation, number, deciding]: [u64; KEY_FIELDS]) -> TransactionKey {
        let coordinator = Coordinator { id, generation };
        TransactionKey { coordinator, number, deciding: NodeId(deciding) }
    }
}

impl Gid {
    /// Reads an identifier of pg_prepared_xacts. `None`: it is foreign.
    pub fn parse(text: &[u8]) -> Option<Gid> {
        #[cfg(feature = "planted-bugs")]
        let text = match super::is_planted(super::PlantedBug::GidByPrefix) {
            true => text.get(..bytes_of(GID_FIELDS)).unwrap_or(text),
            false => text,
        };
        let [id, generation, number, deciding, participant] = fields::<GID_FIELDS>(text)?;
        let transaction = TransactionKey::of([id, generation, number, deciding]);
        Some(transaction.on(NodeId(participant)))
    }
}

/// The numbers of a name that has exactly this many fields.
fn fields<const COUNT: usize>(text: &[u8]) -> Option<[u64; COUNT]> {
    if text.len() != bytes_of(COUNT) {
        return None;
    }
    let mut fields = [0; COUNT];
    let (prefix, rest) = text.split_at(PREFIX.len());
    for (field, written) in fields.iter_mut().zip(rest.chunks_exact(1 + FIELD_DIGITS)) {
        let digits = written.strip_prefix(b":")?;
        *field = digits.iter().try_fold(0, |number: u64, digit| match digit {
            b'0'..=b'9' => Some(number << 4 | u64::from(digit - b'0')),
            b'a'..=b'f' => Some(number << 4 | u64::from(digit - b'a' + 10)),
            _ => None,
        })?;
    }
    (prefix == PREFIX).then_some(fields)
}

impl fmt::Display for TransactionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Coordinator { id, generation } = self.coordinator;
        write!(f, "steppe1:{id:016x}:{generation:016x}:{:016x}:{}", self.number, self.deciding)
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.transaction, self.participant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gid() -> Gid {
        let coordinator = Coordinator { id: u64::MAX, generation: 7 };
        let transaction = TransactionKey { coordinator, number: 42, deciding: NodeId(0xd1) };
        transaction.on(NodeId(0xd2))
    }

    #[test]
    fn a_name_is_read_as_it_was_written() {
        let text = gid().to_string();
        assert_eq!(text.len(), bytes_of(GID_FIELDS));
        assert_eq!(Gid::parse(text.as_bytes()), Some(gid()));
        let key = gid().transaction.to_string();
        assert_eq!(TransactionKey::parse(key.as_bytes()), Some(gid().transaction));
        assert!(Gid::parse(key.as_bytes()).is_none());
        assert!(TransactionKey::parse(text.as_bytes()).is_none());
    }

    #[cfg(not(feature = "planted-bugs"))]
    #[test]
    fn a_name_that_differs_in_a_byte_is_foreign_or_another_ones() {
        let text = gid().to_string().into_bytes();
        for at in 0..text.len() {
            for byte in 0..=255 {
                let mut changed = text.clone();
                changed[at] = byte;
                match Gid::parse(&changed) {
                    Some(read) => assert_eq!(read.to_string().as_bytes(), changed),
                    None => assert_ne!(changed, text),
                }
            }
            assert!(Gid::parse(&text[..at]).is_none());
            let (mut longer, mut upper) = (text.clone(), text.clone());
            longer.insert(at, b'0');
            assert!(Gid::parse(&longer).is_none());
            upper[at] = upper[at].to_ascii_uppercase();
            assert!(upper == text || Gid::parse(&upper).is_none());
        }
        assert!(Gid::parse(&[&text[..], b" "].concat()).is_none());
    }
}
