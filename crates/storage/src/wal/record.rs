//! The format of a record in the stream.
//!
//! ```text
//!  byte   0        4        8               16              24
//!         │ length │ crc32c │ start LSN     │ xid           │
//!        24              32   33    34       36             [44]
//!         │ prev LSN      │kind│flags│durable│[undo next LSN]│ body … │ zeros to 8
//! ```
//!
//! All integers are little-endian. `length` counts header and body without the padding. The CRC
//! covers the bytes behind it, then `length`. The thread that writes the record to its file
//! computes it, not the appender (`core.rs`). `undo next` is present iff bit 7 of `flags` is set.
//!
//! `start LSN` distinguishes a record from the stale bytes of a recycled segment. `durable` is the
//! distance from `start LSN` back to the position up to which the log was durable when the record
//! was appended. Below 32768 it is in units of 8 bytes. From there on, less 32768, it is in units
//! of 8 KiB rounded up. 65535 means unknown. So a valid record *proves* that everything before its
//! durable LSN had been synced, which is how the reader distinguishes a damaged log from a torn
//! tail.

use crc_fast::{CrcAlgorithm, Digest};

use super::Lsn;

/// The appender's description of a record. The log itself gives no meaning to any of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordHeader {
    /// The type of the body: a code of the writer.
    pub kind: u8,
    /// Seven bits for the writer; bit 7 belongs to the log.
    pub flags: u8,
    /// The transaction, or 0.
    pub xid: u64,
    /// The transaction's previous record, or [`Lsn::INVALID`] for its first.
    pub prev_lsn: Lsn,
    /// In a compensation record: the next record of the transaction to undo ([`Lsn::INVALID`] if
    /// none is left).
    pub undo_next: Option<Lsn>,
}

/// Bits of [`RecordHeader::flags`] that the writer may use.
pub const USER_FLAGS: u8 = 0x7F;

const HAS_UNDO_NEXT: u8 = 0x80;

/// Records start at multiples of this number.
pub(super) const ALIGNMENT: u64 = 8;

/// Bytes of a header without `undo next`.
pub(crate) const HEADER_LEN: usize = 36;

/// Bytes of the longest header.
pub(super) const MAX_HEADER_LEN: usize = HEADER_LEN + 8;

/// The longest record, header included. It limits the memory that a reader allocates for a damaged
/// length. (A log with a small ring allows less: a quarter of the ring.)
pub(super) const MAX_RECORD_LEN: usize = 16 << 20;

const DURABLE_COARSE: u16 = 0x8000;
const DURABLE_COARSE_UNIT: u64 = 8192;
const DURABLE_UNKNOWN: u16 = u16::MAX;

/// The distance from `start` back to the durable LSN, rounded up.
fn encode_durable(start: Lsn, durable: Lsn) -> u16 {
    let distance = start.0.saturating_sub(durable.0);
    if let Ok(fine) = u16::try_from(distance.div_ceil(ALIGNMENT))
        && fine < DURABLE_COARSE
    {
        return fine;
    }
    match u16::try_from(distance.div_ceil(DURABLE_COARSE_UNIT)) {
        Ok(coarse) if coarse < DURABLE_COARSE - 1 => DURABLE_COARSE | coarse,
        _ => DURABLE_UNKNOWN,
    }
}

fn decode_durable(start: Lsn, code: u16) -> Lsn {
    let distance = match code {
        DURABLE_UNKNOWN => return Lsn::INVALID,
        fine if fine < DURABLE_COARSE => u64::from(fine) * ALIGNMENT,
        coarse => u64::from(coarse & !DURABLE_COARSE) * DURABLE_COARSE_UNIT,
    };
    Lsn(start.0.saturating_sub(distance))
}

/// The bytes of a header.
pub(super) struct EncodedHeader {
    bytes: [u8; MAX_HEADER_LEN],
    len: usize,
}

impl EncodedHeader {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The length of the encoded header.
pub(super) fn header_len(header: &RecordHeader) -> usize {
    if header.undo_next.is_some() { MAX_HEADER_LEN } else { HEADER_LEN }
}

/// The header of a record of `total_len` bytes that starts at `start`, without its checksum.
pub(super) fn encode(
    header: &RecordHeader,
    start: Lsn,
    total_len: u32,
    durable: Lsn,
) -> EncodedHeader {
    debug_assert_eq!(header.flags & !USER_FLAGS, 0, "bit 7 of the flags belongs to the log");
    let mut bytes = [0; MAX_HEADER_LEN];
    bytes[0..4].copy_from_slice(&total_len.to_le_bytes());
    bytes[8..16].copy_from_slice(&start.0.to_le_bytes());
    bytes[16..24].copy_from_slice(&header.xid.to_le_bytes());
    bytes[24..32].copy_from_slice(&header.prev_lsn.0.to_le_bytes());
    bytes[32] = header.kind;
    bytes[33] = header.flags & USER_FLAGS;
    bytes[34..36].copy_from_slice(&encode_durable(start, durable).to_le_bytes());
    if let Some(undo_next) = header.undo_next {
        bytes[33] |= HAS_UNDO_NEXT;
        bytes[HEADER_LEN..].copy_from_slice(&undo_next.0.to_le_bytes());
    }
    EncodedHeader { bytes, len: header_len(header) }
}

/// The bytes of a record that hold its checksum.
pub(super) const CHECKSUM: std::ops::Range<usize> = 4..8;

/// The checksum of a record in two parts: `head`, with at least its first 8 bytes, and `tail`.
pub(super) fn checksum(head: &[u8], tail: &[u8]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(&head[CHECKSUM.end..]);
    if !tail.is_empty() {
        digest.update(tail);
    }
    digest.update(&head[..CHECKSUM.start]);
    // A 32-bit CRC in a 64-bit word.
    (digest.finalize() & 0xFFFF_FFFF) as u32
}

/// The reason why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Invalid {
    /// Length 0: no record was written here.
    Empty,
    Length(u32),
    WrongStart(Lsn),
    Crc {
        stored: u32,
        computed: u32,
    },
    /// The segment that should hold it is missing or has no valid header.
    NoSegment,
}

impl std::fmt::Display for Invalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Invalid::Empty => f.write_str("there is no record"),
            Invalid::Length(length) => write!(f, "invalid record length {length}"),
            Invalid::WrongStart(lsn) => write!(f, "the record there says that it starts at {lsn}"),
            Invalid::Crc { stored, computed } => {
                write!(f, "the record's checksum is {stored:08X}, computed {computed:08X}")
            }
            Invalid::NoSegment => f.write_str("the segment is missing or its header is invalid"),
        }
    }
}

/// The first words of a header: enough to know the record's length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix {
    pub(super) total_len: usize,
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a slice of N bytes")
}

impl Prefix {
    pub(super) const LEN: usize = 16;

    /// Checks the first 16 bytes of a record at `lsn`.
    pub(super) fn decode(bytes: &[u8], lsn: Lsn) -> Result<Prefix, Invalid> {
        let total_len = u32::from_le_bytes(array(bytes, 0));
        let start = Lsn(u64::from_le_bytes(array(bytes, 8)));
        if total_len == 0 {
            return Err(Invalid::Empty);
        }
        if start != lsn {
            return Err(Invalid::WrongStart(start));
        }
        match usize::try_from(total_len) {
            Ok(len) if (HEADER_LEN..=MAX_RECORD_LEN).contains(&len) => {
                Ok(Prefix { total_len: len })
            }
            _ => Err(Invalid::Length(total_len)),
        }
    }
}

/// A decoded record whose body starts at `body_at` of its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoded {
    pub(super) header: RecordHeader,
    pub(super) body_at: usize,
    /// Everything before this was durable when the record was appended.
    pub(super) durable: Lsn,
}

/// Decodes a whole record; `bytes` has exactly the length that its prefix contains.
pub(super) fn decode(bytes: &[u8]) -> Result<Decoded, Invalid> {
    let total_len = u32::from_le_bytes(array(bytes, 0));
    let has_undo_next = bytes[33] & HAS_UNDO_NEXT != 0;
    let body_at = if has_undo_next { MAX_HEADER_LEN } else { HEADER_LEN };
    if bytes.len() < body_at {
        return Err(Invalid::Length(total_len));
    }
    let computed = checksum(bytes, &[]);
    let stored = u32::from_le_bytes(array(bytes, CHECKSUM.start));
    if stored != computed {
        return Err(Invalid::Crc { stored, computed });
    }
    let lsn_at = |at| Lsn(u64::from_le_bytes(array(bytes, at)));
    let durable = decode_durable(lsn_at(8), u16::from_le_bytes(array(bytes, 34)));
    let header = RecordHeader {
        kind: bytes[32],
        flags: bytes[33] & USER_FLAGS,
        xid: u64::from_le_bytes(array(bytes, 16)),
        prev_lsn: lsn_at(24),
        undo_next: has_undo_next.then(|| lsn_at(HEADER_LEN)),
    };
    Ok(Decoded { header, body_at, durable })
}

/// The start of the record that follows one of `total_len` bytes at `start`.
pub(super) fn end_of(start: Lsn, total_len: usize) -> Lsn {
    Lsn((start.0 + total_len as u64).next_multiple_of(ALIGNMENT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(header: &RecordHeader, body: &[u8], start: Lsn, durable: Lsn) -> Vec<u8> {
        let total_len = u32::try_from(header_len(header) + body.len()).expect("small");
        let mut bytes = encode(header, start, total_len, durable).bytes().to_vec();
        bytes.extend_from_slice(body);
        // The ring's buffer may end in the middle of the record.
        let (head, tail) = bytes.split_at(8 + body.len() / 3);
        let crc = checksum(head, tail);
        bytes[CHECKSUM].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    proptest! {
        #[test]
        fn records_come_back_and_no_flipped_bit_goes_unseen(
            (kind, flags, xid, prev) in any::<(u8, u8, u64, u64)>(),
            undo_next in any::<Option<u64>>(),
            body in prop::collection::vec(any::<u8>(), 0..200),
            start in 1..u64::MAX / 16,
            flip in any::<prop::sample::Index>(),
        ) {
            let start = Lsn(start * 8);
            let header = RecordHeader {
                kind,
                flags: flags & USER_FLAGS,
                xid,
                prev_lsn: Lsn(prev),
                undo_next: undo_next.map(Lsn),
            };
            let durable = Lsn(start.0.saturating_sub(9_600));
            let mut bytes = whole(&header, &body, start, durable);
            let prefix = Prefix::decode(&bytes, start).expect("valid");
            prop_assert_eq!(prefix.total_len, bytes.len());
            let decoded = decode(&bytes).expect("valid");
            prop_assert_eq!(decoded.header, header);
            prop_assert_eq!(&bytes[decoded.body_at..], &body[..]);
            prop_assert_eq!(decoded.durable, durable);

            let bit = flip.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            let accepted = Prefix::decode(&bytes, start)
                .is_ok_and(|p| p.total_len == bytes.len() && decode(&bytes).is_ok());
            prop_assert!(!accepted);
        }

        #[test]
        fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 36..100)) {
            let _ = Prefix::decode(&bytes, Lsn(8));
            prop_assert!(decode(&bytes).is_err());
        }
    }

    #[test]
    fn the_durable_position_is_exact_when_near_and_never_overstated() {
        let start = Lsn(1 << 40);
        for distance in [0, 8, 4096, 262_136, 262_144, 1 << 24, (1 << 28) - 16384] {
            let durable = Lsn(start.0 - distance);
            let shown = decode_durable(start, encode_durable(start, durable));
            let slack = if distance < 262_144 { 0 } else { 8191 };
            assert!(shown <= durable && shown.0 + slack >= durable.0, "{distance}: {shown}");
        }
        assert_eq!(decode_durable(start, encode_durable(start, Lsn(8))), Lsn::INVALID);
        assert_eq!(encode_durable(start, Lsn(start.0 + 8)), 0);
    }
}
