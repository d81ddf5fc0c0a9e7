//! Lines of the text format that hold no backslash, cut into fields while their
//! end is looked for: one pass, eight bytes at a time.
//!
//! ```text
//!   4 2 \t a b c d e   f \t 1 . 5 \n …     the bytes
//!   . . ^  . . . . .   . ^  . . . ^        those that mean something
//! ```
//!
//! A line with an escape, a carriage return or no end yet is left to
//! [`super::lines`] and [`super::text`].

use super::FieldPos;
use super::lines::Fields;

const ONES: u64 = 0x0101_0101_0101_0101;
const LOWS: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// The high bit of each byte of `word` that equals `byte`, and no other bit.
#[inline]
fn marks(word: u64, byte: u8) -> u64 {
    let x = word ^ (ONES * u64::from(byte));
    !(((x & LOWS) + LOWS) | x | LOWS)
}

/// Cuts the line that `data` begins with; answers where its newline is. `None`, with
/// `out` as it may be, if the line is not a plain one.
#[inline]
pub(super) fn cut(data: &[u8], delimiter: u8, out: &mut Fields<'_>) -> Option<usize> {
    let (words, tail) = data.as_chunks::<8>();
    let mut field = 0;
    let mut take = |at: usize, byte: u8, out: &mut Fields<'_>| {
        if byte != delimiter && byte != b'\n' {
            return Some(None);
        }
        out.push(FieldPos::Raw(field as u32, at as u32));
        field = at + 1;
        (byte == b'\n').then_some(Some(at))
    };
    for (i, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let mut found =
            marks(word, delimiter) | marks(word, b'\n') | marks(word, b'\\') | marks(word, b'\r');
        while found != 0 {
            let step = found.trailing_zeros() as usize / 8;
            found &= found - 1;
            let byte = (word >> (step * 8)) as u8;
            if let Some(end) = take(i * 8 + step, byte, out) {
                return end;
            }
        }
    }
    for (at, &byte) in (words.len() * 8..).zip(tail) {
        let special = byte == delimiter || matches!(byte, b'\n' | b'\\' | b'\r');
        if special && let Some(end) = take(at, byte, out) {
            return end;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fields(data: &[u8]) -> Option<(usize, Vec<Vec<u8>>)> {
        let (mut fields, mut scratch) = (Vec::new(), Vec::new());
        let mut out = Fields::new(100, &mut fields, &mut scratch);
        let end = cut(data, b'\t', &mut out)?;
        let text = |field: &FieldPos| match *field {
            FieldPos::Raw(from, to) => data[from as usize..to as usize].to_vec(),
            _ => unreachable!("plain lines are not unescaped"),
        };
        Some((end, fields.iter().map(text).collect()))
    }

    proptest! {
        #[test]
        fn cuts_as_split_does(
            data in prop::collection::vec(prop_oneof![
                30 => b'a'..=b'z',
                4 => Just(b'\t'),
                2 => Just(b'\n'),
                1 => Just(b'\\'),
                1 => Just(b'\r'),
                // Neighbours of the bytes that matter, and bytes of other characters.
                2 => prop_oneof![Just(0x08), Just(0x0b), Just(0x89), Just(0x8a), Just(0xdc)],
            ], 0..60),
        ) {
            let special = data.iter().position(|b| matches!(b, b'\n' | b'\r' | b'\\'));
            let expected = special.filter(|&at| data[at] == b'\n').map(|end| {
                let fields = data[..end].split(|&b| b == b'\t').map(<[u8]>::to_vec).collect();
                (end, fields)
            });
            prop_assert_eq!(fields(&data), expected);
        }
    }
}
