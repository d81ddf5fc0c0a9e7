//! Finds the few special bytes in data, a word or a block at a time.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Bytes tested at once where special bytes are rare.
const BLOCK: usize = 32;

/// The first position of any of `needles`: blocks without any are skipped with
/// vector instructions, and the block that has one is searched by words.
#[inline]
pub(super) fn find<const N: usize>(haystack: &[u8], needles: [u8; N]) -> Option<usize> {
    // Fields are short: test the first words before the blocks.
    let (head, rest) = haystack.split_at(haystack.len().min(BLOCK / 2));
    if let Some(at) = find_by_words(head, needles) {
        return Some(at);
    }
    let is_needle = |b: u8| needles.iter().fold(false, |found, &needle| found | (b == needle));
    let (blocks, _) = rest.as_chunks::<BLOCK>();
    let clean = blocks.iter().take_while(|block| !block_has(block, is_needle)).count() * BLOCK;
    find_by_words(&rest[clean..], needles).map(|at| head.len() + clean + at)
}

/// `(x − ONES) & !x & HIGHS` marks the zero bytes of `x`; above a true mark a
/// borrow may make false ones, but the lowest mark is always true, and only that
/// one is used.
#[inline]
fn find_by_words<const N: usize>(haystack: &[u8], needles: [u8; N]) -> Option<usize> {
    let patterns = needles.map(|needle| ONES * u64::from(needle));
    let (words, tail) = haystack.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let mut marks = 0;
        for pattern in patterns {
            let x = word ^ pattern;
            marks |= x.wrapping_sub(ONES) & !x & HIGHS;
        }
        if marks != 0 {
            return Some(i * 8 + marks.trailing_zeros() as usize / 8);
        }
    }
    let start = words.len() * 8;
    tail.iter().position(|byte| needles.contains(byte)).map(|i| start + i)
}

/// Whether any byte of `bytes` satisfies `special`, which should not branch:
/// there is no early exit within a block, so that the compiler can test a block
/// in a few vector instructions.
#[inline]
pub(super) fn has(bytes: &[u8], special: impl Fn(u8) -> bool) -> bool {
    let (blocks, tail) = bytes.as_chunks::<BLOCK>();
    blocks.iter().any(|block| block_has(block, &special)) || tail.iter().any(|&b| special(b))
}

#[inline]
fn block_has(block: &[u8; BLOCK], special: impl Fn(u8) -> bool) -> bool {
    block.iter().fold(0, |found, &b| found | u8::from(special(b))) != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_what_a_plain_loop_finds(
            haystack in prop::collection::vec(prop_oneof![1 => 0u8..4, 20 => any::<u8>()], 0..200),
            needles in any::<[u8; 3]>(),
        ) {
            let low = [0, 1, 0x80];
            for needles in [needles, low] {
                let expected = haystack.iter().position(|b| needles.contains(b));
                prop_assert_eq!(find(&haystack, needles), expected);
                prop_assert_eq!(has(&haystack, |b| needles.contains(&b)), expected.is_some());
            }
        }
    }
}
