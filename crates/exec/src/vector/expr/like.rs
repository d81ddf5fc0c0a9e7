//! LIKE with a pattern that is the same for all rows.
//!
//! A pattern without `_` is a list of strings ([`LikePattern`]). Each is found as early as possible
//! behind the one before it. Bytes suffice for this: a UTF-8 string occurs in another one only at
//! characters.

use super::{Truths, Value};
use crate::vector::{Data, Texts};
use memchr::memmem::Finder;
use steppe_types::Datum;
use steppe_types::text::like::LikePattern;

/// LIKE, or NOT LIKE if it is not `expected`.
pub(super) fn like(expected: bool, text: &Value<'_>, pattern: &Value<'_>) -> Option<Truths> {
    let (Value::Each(vector), Value::Same(pattern)) = (text, pattern) else { return None };
    let Data::Texts(texts) = &vector.data else { return None };
    let Datum::Text(pattern) = pattern else {
        return pattern.is_null().then(|| Truths::repeat(None, texts.len()));
    };
    let pattern = LikePattern::new(pattern, Some('\\'));
    let mut values = match pattern.literals() {
        Some(pieces) => {
            let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
            match_pieces(texts, &pieces)
        }
        None => match_each(texts, &pattern)?,
    };
    values.iter_mut().for_each(|value| *value = *value == expected);
    Some(Truths::new(values, vector.nulls.clone()))
}

/// `None` if one fails.
fn match_each(texts: &Texts, pattern: &LikePattern) -> Option<Vec<bool>> {
    (0..texts.len()).map(|i| pattern.matches(texts.str(i).ok()?).ok()).collect()
}

fn match_pieces(texts: &Texts, pieces: &[&[u8]]) -> Vec<bool> {
    let each = |f: &dyn Fn(&[u8]) -> bool| (0..texts.len()).map(|i| f(texts.get(i))).collect();
    match pieces {
        [whole] => each(&|text| text == *whole),
        [first, last] => each(&|text| has_ends(text, first, last)),
        [first, middle @ .., last] => {
            let middle: Vec<Finder<'_>> = middle.iter().map(|piece| Finder::new(*piece)).collect();
            each(&|text| {
                if !has_ends(text, first, last) {
                    return false;
                }
                let mut rest = &text[first.len()..text.len() - last.len()];
                middle.iter().all(|piece| match piece.find(rest) {
                    Some(at) => {
                        rest = &rest[at + piece.needle().len()..];
                        true
                    }
                    None => false,
                })
            })
        }
        [] => vec![false; texts.len()],
    }
}

/// An empty end is not compared. libc's comparison of no bytes may load a masked vector from an
/// empty slice's address, which is invalid. The processor takes a hundred cycles to suppress that.
fn has_ends(text: &[u8], first: &[u8], last: &[u8]) -> bool {
    text.len() >= first.len() + last.len()
        && (first.is_empty() || text.starts_with(first))
        && (last.is_empty() || text.ends_with(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]
        #[test]
        fn pieces_match_as_the_pattern_does(text in "[ab]{0,40}", pattern in "[ab%]{0,9}") {
            let compiled = LikePattern::new(&pattern, Some('\\'));
            let mut texts = Texts::default();
            texts.push(text.as_bytes());
            let pieces = compiled.literals().unwrap();
            let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
            prop_assert_eq!(match_pieces(&texts, &pieces), [compiled.matches(&text).unwrap()]);
        }
    }
}
