//! The short stored form of objects.
//!
//! An object is stored as JSON, which stays readable when fields are added or removed. Most of its
//! text is names of fields. Control characters never occur in JSON directly, nor do the bytes that
//! UTF-8 does not use. So each of them can stand for a phrase that is frequent in the most numerous
//! objects: tables, their partitions and indexes.
//!
//! ```text
//!   {"Relation":{"oid":16385,"schema":2200,"name":"t_1","kind":"Table", …
//!   \x01       16385\x02          2200\x03     t_1\x04              …
//! ```

use steppe_types::{Error, Result};

/// Phrases, each written as its [`byte_of`]. Stored objects depend on this list: phrases may be
/// added at its end, but not changed.
const PHRASES: [&str; 37] = [
    "{\"Relation\":{\"oid\":",
    ",\"schema\":",
    ",\"name\":\"",
    "\",\"kind\":\"Table\",\"owner\":10,\"columns\":[{\"name\":\"",
    "\",\"kind\":\"Index\",\"owner\":10,\"columns\":[{\"name\":\"",
    "\",\"type_oid\":",
    ",\"typmod\":-1},{\"name\":\"",
    ",\"typmod\":-1",
    ",\"typmod\":",
    ",\"not_null\":true",
    ",\"collation\":100",
    "},{\"name\":\"",
    "}],\"constraints\":[{\"oid\":",
    "\",\"kind\":\"NotNull\",\"columns\":[",
    "\",\"kind\":{\"Primary\":{\"index\":",
    "\",\"kind\":{\"Unique\":{\"index\":",
    "}},\"columns\":[",
    "],\"inherit_count\":1,\"local\":false",
    ",\"parent\":",
    "},{\"oid\":",
    "}],\"indexes\":[",
    "],\"storage\":",
    ",\"overflow\":",
    ",\"partition_of\":{\"parent\":",
    ",\"bound\":{\"range\":{\"lower\":[{\"value\":[",
    "]}],\"upper\":[{\"value\":[",
    "}],\"index\":{\"table\":",
    ",\"keys\":[{\"attnum\":",
    ",\"unique\":true",
    ",\"primary\":true",
    ",\"type_oid\":",
    "},{\"attnum\":",
    "},\"storage\":",
    ",\"default\":\"nextval('",
    "'::regclass)\"",
    "]}]}}}}}",
    "_not_null\",\"kind\":\"NotNull\",\"columns\":[",
];

/// Phrases whose bytes are control characters, from 1 on.
const CONTROLS: u8 = b' ' - 1;
/// The first byte that UTF-8 never uses, for the other phrases.
const NO_UTF8: u8 = 0xF8;
const _: () = assert!(PHRASES.len() <= CONTROLS as usize + (0x100 - NO_UTF8 as usize));

/// The byte that stands for a phrase.
fn byte_of(phrase: u8) -> u8 {
    if phrase < CONTROLS { phrase + 1 } else { NO_UTF8 + (phrase - CONTROLS) }
}

/// The phrase of a byte. `None`: the byte belongs to the JSON. An error: the byte has no phrase.
fn phrase_of(byte: u8) -> Result<Option<&'static str>> {
    let phrase = match byte {
        b' '..NO_UTF8 => return Ok(None),
        NO_UTF8.. => Some(CONTROLS + (byte - NO_UTF8)),
        _ => byte.checked_sub(1),
    };
    let phrase = phrase.and_then(|phrase| PHRASES.get(usize::from(phrase)).copied());
    phrase.map(Some).ok_or_else(|| Error::internal("unreadable catalog row"))
}

/// Returns the short form of JSON.
pub(crate) fn shorten(json: &[u8]) -> Vec<u8> {
    let mut short = Vec::with_capacity(json.len() / 2);
    let mut rest = json;
    while let Some((first, after)) = rest.split_first() {
        match longest_phrase(rest) {
            Some(number) => {
                short.push(byte_of(number));
                rest = &rest[PHRASES[usize::from(number)].len()..];
            }
            None => {
                short.push(*first);
                rest = after;
            }
        }
    }
    short
}

/// A set of phrases, with a bit for each.
type PhraseSet = u64;

/// The sets of phrases by their byte at a place.
const fn with_byte_at(place: usize) -> [PhraseSet; 256] {
    let mut sets = [0; 256];
    let mut number = 0;
    while number < PHRASES.len() {
        sets[PHRASES[number].as_bytes()[place] as usize] |= 1 << number;
        number += 1;
    }
    sets
}

/// Places whose bytes distinguish most phrases. All phrases are longer than the last place.
const PLACES: [usize; 3] = [0, 2, 3];
static BY_BYTE: [[PhraseSet; 256]; 3] =
    [with_byte_at(PLACES[0]), with_byte_at(PLACES[1]), with_byte_at(PLACES[2])];

/// The longest phrase that the text begins with.
fn longest_phrase(text: &[u8]) -> Option<u8> {
    let mut left = PhraseSet::MAX;
    for (place, sets) in PLACES.iter().zip(&BY_BYTE) {
        left &= sets[usize::from(*text.get(*place)?)];
        if left == 0 {
            return None;
        }
    }
    let mut longest: Option<u8> = None;
    while left != 0 {
        let number = left.trailing_zeros() as u8;
        left &= left - 1;
        let phrase = PHRASES[usize::from(number)];
        let is_longer = longest.is_none_or(|n| PHRASES[usize::from(n)].len() < phrase.len());
        if is_longer && text.starts_with(phrase.as_bytes()) {
            longest = Some(number);
        }
    }
    longest
}

/// Replaces the content of `json` by the JSON of a short form.
pub(crate) fn expand(short: &[u8], json: &mut Vec<u8>) -> Result<()> {
    json.clear();
    for byte in short {
        match phrase_of(*byte)? {
            Some(phrase) => json.extend_from_slice(phrase.as_bytes()),
            None => json.push(*byte),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, RelKind, Relation};
    use steppe_types::oid;

    /// Some names need escapes.
    #[test]
    fn what_is_written_short_reads_back() {
        for name in ["t_1", "a \"b\\\u{1}\n", "\u{7f}größer", "},{\"oid\":"] {
            let mut relation = Relation::new(16385, 2200, name, RelKind::Table);
            relation.columns =
                vec![Column::new("aid", oid::INT4, -1), Column::new(name, oid::TEXT, 7)].into();
            let json = serde_json::to_vec(&relation).expect("serializable");
            let short = shorten(&json);
            assert!(short.len() < json.len() * 2 / 3, "{} of {}", short.len(), json.len());
            let mut expanded = b"what was there before".to_vec();
            expand(&short, &mut expanded).expect("ours");
            assert_eq!(expanded, json);
        }
        let after_last = byte_of(PHRASES.len() as u8);
        for unknown in [0, after_last, u8::MAX] {
            assert!(expand(&[unknown], &mut Vec::new()).is_err());
        }
    }

    #[test]
    fn phrases_are_distinct() {
        const { assert!(PHRASES.len() <= PhraseSet::BITS as usize) };
        for (number, phrase) in PHRASES.iter().enumerate() {
            let found = longest_phrase(phrase.as_bytes());
            assert_eq!(found.map(usize::from), Some(number), "{phrase}");
        }
    }
}
