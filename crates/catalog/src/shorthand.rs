//! Stored objects, written short.
//!
//! An object is stored as JSON, which goes on being readable when fields come and go, and
//! most of which is the names of fields. A control character never stands in JSON as it is,
//! so each can stand for a phrase that is frequent in the objects there are many of:
//! tables, their partitions and indexes.
//!
//! ```text
//!   {"Relation":{"oid":16385,"schema":2200,"name":"t_1","kind":"Table", …
//!   \x01       16385\x02          2200\x03     t_1\x04              …
//! ```

use steppe_types::{Error, Result};

/// Phrase `n` is written as the byte `n + 1`. What is stored depends on this list: a phrase
/// may be added at its end, none changed.
const PHRASES: [&str; 30] = [
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
];

/// The last byte that stands for a phrase.
const LAST: u8 = PHRASES.len() as u8;

/// Writes JSON short.
pub(crate) fn shorten(json: &[u8]) -> Vec<u8> {
    let mut short = Vec::with_capacity(json.len() / 2);
    let mut rest = json;
    while let Some((first, after)) = rest.split_first() {
        match longest_phrase(rest) {
            Some(number) => {
                short.push(number + 1);
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

/// The longest phrase that the text begins with.
fn longest_phrase(text: &[u8]) -> Option<u8> {
    // All begin with punctuation: most of the text is told by its first byte.
    if !matches!(text.first(), Some(b'"' | b',' | b'{' | b'}' | b']')) {
        return None;
    }
    let fits = |number: &u8| text.starts_with(PHRASES[usize::from(*number)].as_bytes());
    (0..LAST).filter(fits).max_by_key(|number| PHRASES[usize::from(*number)].len())
}

/// The JSON that was written short, in the place of what `json` holds.
pub(crate) fn expand(short: &[u8], json: &mut Vec<u8>) -> Result<()> {
    json.clear();
    for byte in short {
        match byte {
            1..=LAST => json.extend_from_slice(PHRASES[usize::from(byte - 1)].as_bytes()),
            b' '.. => json.push(*byte),
            _ => return Err(Error::internal("unreadable catalog row")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, RelKind, Relation};
    use steppe_types::oid;

    /// Names that need escapes, too.
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
        for unknown in [0, LAST + 1] {
            assert!(expand(&[unknown], &mut Vec::new()).is_err());
        }
    }

    #[test]
    fn phrases_are_distinct_and_begin_with_punctuation() {
        const { assert!(LAST < b' ') };
        for (number, phrase) in PHRASES.iter().enumerate() {
            let found = longest_phrase(phrase.as_bytes());
            assert_eq!(found.map(usize::from), Some(number), "{phrase}");
        }
    }
}
