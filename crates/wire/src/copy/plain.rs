//! Cuts lines of the text format without backslashes into fields while it searches their end: one
//! pass, 32 bytes at a time.
//!
//! ```text
//!   4 2 \t a b c d e   f \t 1 . 5 \n …     the bytes
//!   . . ^  . . . . .   . ^  . . . ^        those that mean something
//! ```
//!
//! A line with an escape, a carriage return, a NUL or no end yet is left to
//! [`super::lines`] and [`super::text`].

use super::FieldPos;
use super::lines::Fields;

/// Bytes tested at once.
const CHUNK: usize = 32;

/// Whether a byte ends a field, or keeps its line from being plain.
#[inline]
fn is_mark(byte: u8, delimiter: u8) -> bool {
    // The operators avoid short cuts, which would be branches.
    (byte == delimiter) | (byte == b'\n') | (byte == b'\\') | (byte == b'\r') | (byte == 0)
}

/// For each eight bytes of the chunk a word with a bit in each byte that is a mark. Compilers turn
/// a loop over exactly this many bytes into a few vector instructions.
#[inline]
fn marks(chunk: &[u8; CHUNK], delimiter: u8) -> [u64; CHUNK / 8] {
    let mut marks = [0; CHUNK];
    for (mark, &byte) in marks.iter_mut().zip(chunk) {
        *mark = u8::from(is_mark(byte, delimiter));
    }
    let (words, _) = marks.as_chunks::<8>();
    std::array::from_fn(|i| u64::from_le_bytes(words[i]))
}

/// Cuts the line that `data` begins with; returns the position of its newline. `None`, with `out`
/// undefined, if the line is not a plain one.
#[inline]
pub(super) fn cut(data: &[u8], delimiter: u8, out: &mut Fields<'_>) -> Option<usize> {
    let (chunks, tail) = data.as_chunks::<CHUNK>();
    let mut field = 0;
    let mut take = |at: usize, byte: u8, out: &mut Fields<'_>| {
        if byte != delimiter && byte != b'\n' {
            return Some(None);
        }
        out.push(FieldPos::Raw(field as u32, at as u32));
        field = at + 1;
        (byte == b'\n').then_some(Some(at))
    };
    for (i, chunk) in chunks.iter().enumerate() {
        for (j, mut found) in marks(chunk, delimiter).into_iter().enumerate() {
            while found != 0 {
                let step = j * 8 + found.trailing_zeros() as usize / 8;
                found &= found - 1;
                if let Some(end) = take(i * CHUNK + step, chunk[step % CHUNK], out) {
                    return end;
                }
            }
        }
    }
    for (at, &byte) in (chunks.len() * CHUNK..).zip(tail) {
        if is_mark(byte, delimiter)
            && let Some(end) = take(at, byte, out)
        {
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
                1 => Just(0),
                // Neighbours of the bytes that matter, and bytes of other characters.
                2 => prop_oneof![Just(0x08), Just(0x0b), Just(0x89), Just(0x8a), Just(0xdc)],
            ], 0..120),
        ) {
            let special = data.iter().position(|b| matches!(b, b'\n' | b'\r' | b'\\' | 0));
            let expected = special.filter(|&at| data[at] == b'\n').map(|end| {
                let fields = data[..end].split(|&b| b == b'\t').map(<[u8]>::to_vec).collect();
                (end, fields)
            });
            prop_assert_eq!(fields(&data), expected);
        }
    }
}
