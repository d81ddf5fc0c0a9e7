//! The values of string tokens, for the few that the grammar itself reads: the format of RAISE and
//! the code after SQLSTATE.

use steppe_types::{Error, Result, SqlState};

/// The value of a string token: `'…'` in one piece or several, `E'…'`, `$tag$…$tag$`. A position
/// in an error counts from the token.
pub(crate) fn value(token: &str) -> Result<String> {
    if let Some(rest) = token.strip_prefix('$') {
        let tag = rest.find('$').map_or(token.len(), |end| end + 2);
        return Ok(token.get(tag..token.len().saturating_sub(tag)).unwrap_or_default().to_owned());
    }
    let escapes = token.starts_with(['e', 'E']);
    let mut out = Vec::with_capacity(token.len());
    let mut rest = token;
    // One piece each turn; what is between two pieces holds no quote outside comments.
    while let Some(open) = opening(rest) {
        rest = piece(&rest[open + 1..], escapes, &mut out)?;
    }
    String::from_utf8(out).map_err(|_| {
        let message = "invalid byte sequence for encoding \"UTF8\"";
        Error::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message)
    })
}

/// Where the next piece's quote is.
fn opening(text: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(ahead) = text[at..].find(['\'', '-']) {
        at += ahead;
        if text.as_bytes()[at] == b'\'' {
            return Some(at);
        }
        at += text[at..].find(['\n', '\r']).unwrap_or(text.len() - at);
    }
    None
}

/// Reads a piece after its opening quote; what follows its closing one.
fn piece<'a>(text: &'a str, escapes: bool, out: &mut Vec<u8>) -> Result<&'a str> {
    let mut at = 0;
    while let Some(ahead) = text[at..].find(['\'', '\\']) {
        out.extend_from_slice(&text.as_bytes()[at..at + ahead]);
        at += ahead;
        let next = text.as_bytes().get(at + 1);
        match (text.as_bytes()[at], next) {
            (b'\'', Some(b'\'')) => {
                out.push(b'\'');
                at += 2;
            }
            (b'\'', _) => return Ok(&text[at + 1..]),
            (_, Some(_)) if escapes => at += 1 + escape(&text[at + 1..], out)?,
            _ => {
                out.push(b'\\');
                at += 1;
            }
        }
    }
    Ok("")
}

/// An escape after its backslash; how many bytes it has.
fn escape(text: &str, out: &mut Vec<u8>) -> Result<usize> {
    let digits = |from: usize, most: usize, radix: u32| {
        text[from..].bytes().take(most).take_while(|byte| (*byte as char).is_digit(radix)).count()
    };
    let simple = match text.as_bytes()[0] {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'0'..=b'7' => {
            let length = digits(0, 3, 8);
            out.push(u32::from_str_radix(&text[..length], 8).unwrap_or_default() as u8);
            return Ok(length);
        }
        b'x' if digits(1, 2, 16) > 0 => {
            let length = 1 + digits(1, 2, 16);
            out.push(u8::from_str_radix(&text[1..length], 16).unwrap_or_default());
            return Ok(length);
        }
        kind @ (b'u' | b'U') => return unicode(text, if kind == b'u' { 4 } else { 8 }, out),
        _ => {
            let length = text.chars().next().map_or(1, char::len_utf8);
            out.extend_from_slice(&text.as_bytes()[..length]);
            return Ok(length);
        }
    };
    out.push(simple);
    Ok(1)
}

/// `uXXXX` or `UXXXXXXXX`, or two of them that are one character.
fn unicode(text: &str, digits: usize, out: &mut Vec<u8>) -> Result<usize> {
    let code = |text: &str| {
        let hex = text.get(1..=digits).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
        hex.and_then(|hex| u32::from_str_radix(hex, 16).ok())
    };
    let first = code(text).ok_or_else(|| {
        Error::new(SqlState::INVALID_ESCAPE_SEQUENCE, "invalid Unicode escape")
            .hint("Unicode escapes must be \\uXXXX or \\UXXXXXXXX.")
    })?;
    let mut length = digits + 1;
    let mut scalar = first;
    if (0xD800..0xDC00).contains(&first)
        && let Some(low) = text.get(length + 1..).and_then(code)
    {
        scalar = 0x10000 + ((first - 0xD800) << 10) + (low.wrapping_sub(0xDC00) & 0x3FF);
        length += 1 + digits + 1;
    }
    let character = char::from_u32(scalar)
        .ok_or_else(|| Error::new(SqlState::SYNTAX_ERROR, "invalid Unicode escape value"))?;
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn strings_of_every_form() {
        let cases = [
            ("'it''s'", "it's"),
            ("'a\\n'", "a\\n"),
            ("'a' -- it's\n 'b'", "ab"),
            ("E'\\x41\\101\\t\\'\\u00e9'", "AA\t'é"),
            ("$t$a$$'b$t$", "a$$'b"),
            ("$$$$", ""),
        ];
        for (token, expected) in cases {
            assert_eq!(value(token).ok().as_deref(), Some(expected), "{token}");
        }
        assert!(value("E'\\u00'").is_err());
    }
}
