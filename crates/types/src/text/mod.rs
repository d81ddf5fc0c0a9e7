//! String functions (varlena.c, oracle_compat.c, quote.c, encode.c, like_match.c).
//!
//! Positions and lengths count characters, from 1. These functions take and return plain strings.
//! The caller handles NULLs (all of them are strict, except `concat_ws` and `format`).
//!
//! | file | subject |
//! |---|---|
//! | `mod` | lengths, cutting, padding, searching, replacing |
//! | `case` | upper and lower case |
//! | `encode` | hex, base64, escape; md5 |
//! | `quote` | identifiers and literals |
//! | `format` | `format()` |
//! | `like` | LIKE, ILIKE |
//! | `regex` | POSIX regular expressions; SIMILAR TO |

mod case;
pub mod encode;
pub mod format;
pub mod like;
pub mod quote;
pub mod regex;
mod regex_long;
mod regex_translate;

use crate::interrupt::{self, interruptible};
use crate::{Error, Result, SqlState};

/// Bytes a string may have (MaxAllocSize, less a length word).
const STRING_BYTES_MAX: usize = 0x3FFF_FFFF - 4;

/// Bytes a StringInfo may have, with the zero at its end (MaxAllocSize).
const BUFFER_BYTES_MAX: usize = 0x3FFF_FFFF;

#[cold]
fn too_large() -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "requested length too large")
}

fn check_size(bytes: usize) -> Result<()> {
    if bytes > STRING_BYTES_MAX { Err(too_large()) } else { interrupt::reserve(bytes) }
}

/// Checks the length of a string before it is made: 54000 past 1 GB, where PostgreSQL's palloc
/// fails with XX000.
pub fn check_length(bytes: usize) -> Result<()> {
    if bytes <= STRING_BYTES_MAX {
        return interrupt::reserve(bytes);
    }
    let message = format!("invalid memory alloc request size {}", bytes.saturating_add(4));
    Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message))
}

/// The same if PostgreSQL makes the string in a growing buffer that has `length` bytes already.
pub fn check_buffer(length: usize, more: usize) -> Result<()> {
    if length.saturating_add(more) < BUFFER_BYTES_MAX {
        return interrupt::reserve(more);
    }
    let message =
        format!("string buffer exceeds maximum allowed length ({BUFFER_BYTES_MAX} bytes)");
    Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message).detail(format!(
        "Cannot enlarge string buffer containing {length} bytes by {more} more bytes."
    )))
}

pub use case::{casefold, initcap, lower, upper};

/// `length`, `char_length`
pub fn char_length(text: &str) -> i32 {
    text.chars().count() as i32
}

/// `octet_length`
pub fn octet_length(text: &str) -> i32 {
    text.len() as i32
}

/// The byte where character number `index` (from 0) begins, or the end.
fn byte_of(text: &str, index: usize) -> usize {
    if text.is_ascii() {
        return index.min(text.len());
    }
    text.char_indices().nth(index).map_or(text.len(), |(at, _)| at)
}

/// `substring(text from start for length)`; no length means to the end. Positions
/// outside the text are allowed and count toward the length.
pub fn substring(text: &str, start: i32, length: Option<i32>) -> Result<&str> {
    let first = start.max(1);
    let end = match length {
        None => None,
        Some(length) if length < 0 => {
            return Err(Error::new(
                SqlState::SUBSTRING_ERROR,
                "negative substring length not allowed",
            ));
        }
        // An end past every possible text is the end of this one.
        Some(length) => start.checked_add(length),
    };
    let rest = &text[byte_of(text, first as usize - 1)..];
    match end {
        None => Ok(rest),
        Some(end) if end <= first => Ok(""),
        Some(end) => Ok(&rest[..byte_of(rest, (end - first) as usize)]),
    }
}

/// `substring(bytea from start for length)`
pub fn substring_bytes(bytes: &[u8], start: i32, length: Option<i32>) -> Result<&[u8]> {
    if length.is_some_and(|length| length < 0) {
        return Err(Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    let first = (start.max(1) as usize - 1).min(bytes.len());
    let end = match length.map(|length| start.checked_add(length)) {
        Some(Some(end)) => (end.max(1) as usize - 1).clamp(first, bytes.len()),
        _ => bytes.len(),
    };
    Ok(&bytes[first..end])
}

/// `strpos`, `position`: the first position of `needle`, or 0.
pub fn strpos(text: &str, needle: &str) -> i32 {
    text.find(needle).map_or(0, |at| char_length(&text[..at]) + 1)
}

/// Which end of a text to work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `ltrim`, `lpad`
    Left,
    /// `rtrim`, `rpad`
    Right,
    /// `btrim`
    Both,
}

/// `btrim`, `ltrim`, `rtrim`: strips characters that occur in `set`.
pub fn trim<'a>(text: &'a str, set: &str, side: Side) -> Result<&'a str> {
    let mut looked_at = 0;
    let in_set = |c: char| {
        looked_at += 1;
        if looked_at % interrupt::CHECK_EVERY_ITEMS == 0 {
            interrupt::check_unwinding();
        }
        set.contains(c)
    };
    interrupt::catching(|| {
        Ok(match side {
            Side::Left => text.trim_start_matches(in_set),
            Side::Right => text.trim_end_matches(in_set),
            Side::Both => text.trim_matches(in_set),
        })
    })
}

/// `lpad`, `rpad`: exactly `length` characters, cut on the right or filled.
pub fn pad(text: &str, length: i32, fill: &str, side: Side) -> Result<String> {
    let length = length.max(0) as usize;
    // PostgreSQL reserves four bytes for each character in advance.
    check_size(length.checked_mul(4).ok_or_else(too_large)?)?;
    let have = text.chars().count();
    if have >= length || fill.is_empty() {
        return Ok(text[..byte_of(text, length)].to_string());
    }
    let filling = interruptible(fill.chars().cycle().take(length - have));
    interrupt::catching(|| {
        Ok(match side {
            Side::Left => filling.chain(text.chars()).collect(),
            Side::Right | Side::Both => text.chars().chain(filling).collect(),
        })
    })
}

/// `replace`: every `from` becomes `to`. An empty `from` occurs nowhere.
pub fn replace(text: &str, from: &str, to: &str) -> Result<String> {
    if from.is_empty() {
        return Ok(text.to_string());
    }
    if to.len() > from.len() {
        let found = interrupt::catching(|| Ok(interruptible(text.matches(from)).count()))?;
        let growth = found.saturating_mul(to.len() - from.len());
        check_size(text.len().saturating_add(growth))?;
    }
    if text.len() < interrupt::CHECK_EVERY_BYTES {
        return Ok(text.replace(from, to));
    }
    let mut out = String::new();
    let mut kept = 0;
    for (i, (at, _)) in text.match_indices(from).enumerate() {
        if i % 1024 == 0 {
            interrupt::check()?;
        }
        out.push_str(&text[kept..at]);
        out.push_str(to);
        kept = at + from.len();
    }
    out.push_str(&text[kept..]);
    Ok(out)
}

/// `repeat`; a negative count stands for 0.
pub fn repeat(text: &str, count: i32) -> Result<String> {
    let count = count.max(0) as usize;
    check_size(text.len().saturating_mul(count))?;
    let at_once = interrupt::CHECK_EVERY_BYTES / text.len().max(1);
    if count <= at_once {
        return Ok(text.repeat(count));
    }
    let (piece, mut out) = (text.repeat(at_once.max(1)), String::new());
    out.reserve_exact(text.len() * count);
    while out.len() + piece.len() <= text.len() * count {
        interrupt::check()?;
        out.push_str(&piece);
    }
    let left = text.len() * count - out.len();
    out.push_str(&piece[..left]);
    Ok(out)
}

/// `reverse`, by characters
pub fn reverse(text: &str) -> Result<String> {
    interrupt::catching(|| Ok(interruptible(text.chars().rev()).collect()))
}

/// `split_part`: field number `n`, counted from the end if negative.
pub fn split_part<'a>(text: &'a str, separator: &str, n: i32) -> Result<&'a str> {
    if n == 0 {
        return Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "field position must not be zero",
        ));
    }
    if text.is_empty() {
        return Ok("");
    }
    if separator.is_empty() {
        return Ok(if n == 1 || n == -1 { text } else { "" });
    }
    let skip = n.unsigned_abs() as usize - 1;
    let fields = || interruptible(text.split(separator));
    interrupt::catching(|| {
        if n > 0 {
            return Ok(fields().nth(skip).unwrap_or(""));
        }
        // From the end, but with the separators that a scan from the start finds:
        // they differ where separators can overlap.
        Ok(match fields().count().checked_sub(skip + 1) {
            Some(index) => fields().nth(index).unwrap_or(""),
            None => "",
        })
    })
}

/// `left`: the first `n` characters, or all but the last `-n`.
pub fn left(text: &str, n: i32) -> &str {
    let kept = if n >= 0 {
        n as usize
    } else {
        text.chars().count().saturating_sub(n.unsigned_abs() as usize)
    };
    &text[..byte_of(text, kept)]
}

/// `right`: the last `n` characters, or all but the first `-n`.
pub fn right(text: &str, n: i32) -> &str {
    let skipped = if n < 0 {
        // The least integer has no opposite: PostgreSQL's negation of it skips nothing.
        n.checked_neg().unwrap_or(0) as usize
    } else {
        text.chars().count().saturating_sub(n as usize)
    };
    &text[byte_of(text, skipped)..]
}

/// `overlay(text placing new from start for length)`; the length is that of `new`
/// unless given.
pub fn overlay(text: &str, new: &str, start: i32, length: Option<i32>) -> Result<String> {
    let length = length.unwrap_or_else(|| char_length(new));
    if start <= 0 {
        return Err(Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    let after = start.checked_add(length).ok_or_else(|| crate::arith::out_of_range("integer"))?;
    let head = substring(text, 1, Some(start - 1))?;
    let tail = substring(text, after, None)?;
    check_size(head.len() + new.len() + tail.len())?;
    Ok([head, new, tail].concat())
}

/// `translate`: each character of `from` by the one at its place in `to`, or by
/// nothing. The first of equal characters in `from` counts.
pub fn translate(text: &str, from: &str, to: &str) -> Result<String> {
    let one = |c: char| match from.chars().position(|f| f == c) {
        Some(at) => to.chars().nth(at),
        None => Some(c),
    };
    interrupt::catching(|| Ok(interruptible(text.chars()).filter_map(one).collect()))
}

/// `ascii`: the first character's code point, or 0 for an empty text.
pub fn ascii(text: &str) -> i32 {
    text.chars().next().map_or(0, |c| c as i32)
}

/// `chr`
pub fn chr(code: i32) -> Result<String> {
    let limit = |message: String| Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    match code {
        0 => limit("null character not permitted".into()),
        ..0 => {
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "character number must be positive"))
        }
        0x11_0000.. => limit(format!("requested character too large for encoding: {code}")),
        _ => match char::from_u32(code as u32) {
            Some(c) => Ok(c.to_string()),
            None => limit(format!("requested character not valid for encoding: {code}")),
        },
    }
}

/// `to_hex(integer)`
pub fn to_hex_int4(value: i32) -> String {
    format!("{value:x}")
}

/// `to_hex(bigint)`
pub fn to_hex_int8(value: i64) -> String {
    format!("{value:x}")
}

/// `starts_with`, `^@`
pub fn starts_with(text: &str, prefix: &str) -> bool {
    text.starts_with(prefix)
}

/// `concat_ws` over arguments already shown as text; NULLs (`None`) are left out.
/// `concat` is this with an empty separator.
pub fn concat_ws<'a>(
    separator: &str,
    arguments: impl IntoIterator<Item = Option<&'a str>>,
) -> Result<String> {
    let mut out = String::new();
    for (i, argument) in arguments.into_iter().flatten().enumerate() {
        if i > 0 {
            check_buffer(out.len(), separator.len())?;
            out.push_str(separator);
        }
        check_buffer(out.len(), argument.len())?;
        out.push_str(argument);
        if i % 65_536 == 65_535 {
            interrupt::check()?;
        }
    }
    Ok(out)
}

/// `string_to_array`: fields between separators, each character where there is no
/// separator, the whole where it is empty. `None` stands for NULL: fields equal to
/// `null` become it.
pub fn split_fields<'a>(
    text: &'a str,
    separator: Option<&str>,
    null: Option<&str>,
) -> Result<Vec<Option<&'a str>>> {
    let keep = |field: &'a str| (null != Some(field)).then_some(field);
    let character = |(at, c): (usize, char)| keep(&text[at..at + c.len_utf8()]);
    interrupt::catching(|| {
        Ok(match separator {
            _ if text.is_empty() => Vec::new(),
            None => interruptible(text.char_indices()).map(character).collect(),
            Some("") => vec![keep(text)],
            Some(separator) => interruptible(text.split(separator)).map(keep).collect(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substrings_count_from_outside_the_text() {
        assert_eq!(substring("abc", -1, Some(3)).unwrap(), "a");
        assert_eq!(substring("abc", 2, Some(i32::MAX)).unwrap(), "bc");
        assert_eq!(substring("abc", -5, Some(2)).unwrap(), "");
        assert_eq!(substring("aéc", 2, Some(1)).unwrap(), "é");
        assert_eq!(substring("abc", 9, None).unwrap(), "");
        assert_eq!(substring("abc", i32::MIN, Some(i32::MAX)).unwrap(), "");
        let error = substring("abc", 1, Some(-1)).unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::SUBSTRING_ERROR);
        assert_eq!(substring_bytes(b"abc", -1, Some(3)).unwrap(), b"a");
        assert_eq!(substring_bytes(b"abc", 2, None).unwrap(), b"bc");
        assert_eq!(substring_bytes(b"abc", 5, Some(2)).unwrap(), b"");
    }

    #[test]
    fn cutting_and_padding() {
        assert_eq!(pad("abc", 5, "xy", Side::Left).unwrap(), "xyabc");
        assert_eq!(pad("abc", 2, " ", Side::Left).unwrap(), "ab");
        assert_eq!(pad("abc", -1, " ", Side::Right).unwrap(), "");
        assert_eq!(pad("abc", 5, "", Side::Left).unwrap(), "abc");
        assert_eq!(pad("é", 3, "xy", Side::Right).unwrap(), "éxy");
        assert_eq!((left("abc", -1), right("abc", -1)), ("ab", "bc"));
        assert_eq!((left("abc", -5), right("abc", 2)), ("", "bc"));
        assert_eq!((left("abc", i32::MIN), right("abc", i32::MIN)), ("", "abc"));
        assert_eq!(trim("xxabxx", "x", Side::Both).unwrap(), "ab");
        assert_eq!(trim("abcxy", "yx", Side::Right).unwrap(), "abc");
        assert_eq!(overlay("abcdef", "X", 2, Some(3)).unwrap(), "aXef");
        assert_eq!(overlay("abcdef", "X", 2, None).unwrap(), "aXcdef");
        assert_eq!(overlay("abc", "x", 0, None).unwrap_err().sqlstate().as_str(), "22011");
        assert_eq!(repeat("a", 2_000_000_000).unwrap_err().sqlstate().as_str(), "54000");
        assert_eq!(repeat("ab", -3).unwrap(), "");
    }

    #[test]
    fn fields_count_from_either_end() {
        let part = |text, n| split_part(text, ",", n).unwrap();
        assert_eq!((part("a,b,c", -1), part("a,b,c", 2), part("a,b", 5)), ("c", "b", ""));
        assert_eq!(part("abc", -5), "");
        assert_eq!(split_part("abc", "", -1).unwrap(), "abc");
        assert_eq!(split_part("a", ",", 0).unwrap_err().sqlstate().as_str(), "22023");
        assert_eq!(
            split_fields("a,,n", Some(","), Some("n")).unwrap(),
            [Some("a"), Some(""), None]
        );
        assert_eq!(split_fields("aé", None, None).unwrap(), [Some("a"), Some("é")]);
    }

    #[test]
    fn case_maps_one_character_to_one() {
        assert_eq!(upper("ßéİ"), "ßÉİ");
        assert_eq!(lower("İÉ"), "ié");
        assert_eq!(initcap("hELLO wORLD-foo_bar 1st").unwrap(), "Hello World-Foo_Bar 1st");
        assert_eq!(initcap("été x'y").unwrap(), "Été X'Y");
    }

    #[test]
    fn searching_and_replacing() {
        assert_eq!((strpos("abc", ""), strpos("", "a"), strpos("xé", "é")), (1, 0, 2));
        assert_eq!(translate("12345", "143", "ax").unwrap(), "a2x5");
        assert_eq!(replace("aaa", "a", "bb").unwrap(), "bbbbbb");
        assert_eq!(replace("a", "", "b").unwrap(), "a");
        assert_eq!(concat_ws(",", [Some("a"), None, Some("b")]).unwrap(), "a,b");
        assert_eq!((to_hex_int4(-1), to_hex_int8(255)), ("ffffffff".into(), "ff".into()));
        assert_eq!((ascii("é"), ascii(""), reverse("aé").unwrap()), (233, 0, "éa".into()));
    }

    #[test]
    fn characters_that_do_not_exist_are_refused() {
        let error = |code| {
            let error = chr(code).unwrap_err();
            format!("{} {}", error.sqlstate(), error.message())
        };
        assert_eq!(error(0), "54000 null character not permitted");
        assert_eq!(error(-1), "22023 character number must be positive");
        assert_eq!(error(0x11_0000), "54000 requested character too large for encoding: 1114112");
        assert_eq!(error(0xD800), "54000 requested character not valid for encoding: 55296");
        assert_eq!(chr(233).unwrap(), "é");
    }
}
