//! Upper and lower case as the locale C.UTF-8 of PostgreSQL's builtin provider has it: each
//! character's simple mapping, one for one, and letters and digits as POSIX knows them (the
//! digits are ASCII's).
//!
//! PostgreSQL 18 is at Unicode 16. The standard library may have a later version: letters that
//! Unicode 17 added are not mapped.

use crate::interrupt::{CHECK_EVERY_BYTES, interruptible};
use crate::{Result, interrupt};

/// Letters that Unicode 17 added.
const SINCE_UNICODE_17: &[(char, char)] = &[
    ('\u{88f}', '\u{88f}'),
    ('\u{c5c}', '\u{c5c}'),
    ('\u{cdc}', '\u{cdc}'),
    ('\u{a7ce}', '\u{a7cf}'),
    ('\u{a7d2}', '\u{a7d2}'),
    ('\u{a7d4}', '\u{a7d4}'),
    ('\u{a7f1}', '\u{a7f1}'),
    ('\u{10940}', '\u{10959}'),
    ('\u{10ec5}', '\u{10ec7}'),
    ('\u{10efa}', '\u{10efb}'),
    ('\u{11b60}', '\u{11b67}'),
    ('\u{11db0}', '\u{11ddb}'),
    ('\u{16ea0}', '\u{16eb8}'),
    ('\u{16ebb}', '\u{16ed3}'),
    ('\u{16ff2}', '\u{16ff6}'),
    ('\u{187f8}', '\u{187ff}'),
    ('\u{18d09}', '\u{18d1e}'),
    ('\u{18d80}', '\u{18df2}'),
    ('\u{1e6c0}', '\u{1e6de}'),
    ('\u{1e6e0}', '\u{1e6f5}'),
    ('\u{1e6fe}', '\u{1e6ff}'),
    ('\u{2b73a}', '\u{2b73f}'),
    ('\u{2cea2}', '\u{2cead}'),
    ('\u{323b0}', '\u{33479}'),
];

fn is_newer(c: char) -> bool {
    SINCE_UNICODE_17.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// The mapping of a character, if Unicode 16 knew both.
fn known(c: char, mapped: char) -> char {
    let is_old = c == mapped || mapped.is_ascii() || !is_newer(c) && !is_newer(mapped);
    if is_old { mapped } else { c }
}

fn simple_lower(c: char) -> char {
    // The one character with a longer mapping, U+0130, begins with its simple one.
    known(c, c.to_lowercase().next().unwrap_or(c))
}

/// ß stays ß: its upper case is two characters. Greek vowels with an iota below have both a
/// long mapping and a simple one.
fn simple_upper(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(single), None) => known(c, single),
        (Some(_), Some(_)) => match c {
            '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => {
                char::from_u32(c as u32 + 8).unwrap_or(c)
            }
            '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => char::from_u32(c as u32 + 9).unwrap_or(c),
            _ => c,
        },
        _ => c,
    }
}

/// Unicode's simple case folding: mostly the lower case of the upper case.
fn simple_fold(c: char) -> char {
    match c {
        // Turkish i with and without a dot fold to nothing else.
        '\u{130}' | '\u{131}' => c,
        // Two spellings of one letter each.
        '\u{1fd3}' => '\u{390}',
        '\u{1fe3}' => '\u{3b0}',
        '\u{fb05}' => '\u{fb06}',
        // Cherokee's lower case came later than its letters, and folds to them.
        '\u{13a0}'..='\u{13f5}' => c,
        '\u{13f8}'..='\u{13fd}' | '\u{ab70}'..='\u{abbf}' => simple_upper(c),
        _ => simple_lower(simple_upper(c)),
    }
}

/// `lower`
pub fn lower(text: &str) -> String {
    converted(text, str::to_ascii_lowercase, simple_lower)
}

/// `upper`
pub fn upper(text: &str) -> String {
    converted(text, str::to_ascii_uppercase, simple_upper)
}

/// `casefold`
pub fn casefold(text: &str) -> String {
    converted(text, str::to_ascii_lowercase, simple_fold)
}

/// A text in another case, piece by piece where it is long.
fn converted(text: &str, of_ascii: fn(&str) -> String, of_one: fn(char) -> char) -> String {
    let convert = |text: &str| match text.is_ascii() {
        true => of_ascii(text),
        false => text.chars().map(of_one).collect(),
    };
    let (mut out, mut rest) = (String::new(), text);
    while rest.len() > CHECK_EVERY_BYTES {
        let (piece, tail) = rest.split_at(rest.floor_char_boundary(CHECK_EVERY_BYTES));
        out.push_str(&convert(piece));
        interrupt::check_unwinding();
        rest = tail;
    }
    match out.is_empty() {
        true => convert(rest),
        false => out + &convert(rest),
    }
}

/// `initcap`: upper case after anything that is not a letter or digit.
pub fn initcap(text: &str) -> Result<String> {
    let mut in_word = false;
    let mut convert = |c: char| {
        let converted = if in_word { simple_lower(c) } else { simple_upper(c) };
        in_word = c.is_ascii_digit() || c.is_alphabetic() && !is_newer(c);
        converted
    };
    interrupt::catching(|| Ok(interruptible(text.chars()).map(&mut convert).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_character_becomes_one() {
        assert_eq!(upper("straße ﬁ ᾳ ᾀ"), "STRAßE ﬁ ᾼ ᾈ");
        assert_eq!(lower("İSTANBUL ΑΣ"), "istanbul ασ");
        assert_eq!(casefold("ΑΣς ſ İı ẞ Ꭰꭰ ﬅ"), "ασσ s İı ß ᎠᎠ ﬆ");
        assert_eq!(initcap("ﬁsh ǆabc o'neil x²y ٣a 1st").unwrap(), "ﬁsh Ǆabc O'Neil X²Y ٣A 1st");
    }

    #[test]
    fn what_is_newer_than_postgresql_is_left_alone() {
        assert_eq!(lower("\u{a7ce}\u{16ea0}"), "\u{a7ce}\u{16ea0}");
        assert_eq!(upper("\u{a7d3}\u{16ebb}"), "\u{a7d3}\u{16ebb}");
        assert_eq!(initcap("\u{88f}a").unwrap(), "\u{88f}A");
    }
}
