//! The text format's fields: delimiters and backslash escapes
//! (CopyReadAttributesText).

use steppe_types::Result;

use super::lines::Fields;
use super::scan::find;
use super::{CopyOptions, FieldPos};

/// Cuts `line` into fields. A field without escapes stays where it is.
pub(super) fn split(line: &[u8], options: &CopyOptions, out: &mut Fields<'_>) -> Result<()> {
    let (delimiter, null) = (options.delimiter, options.null.as_bytes());
    let default = options.default.as_deref().map(str::as_bytes);
    let mut at = 0;
    loop {
        let start = at;
        let stop = find(&line[at..], [delimiter, b'\\']).map_or(line.len(), |step| at + step);
        let escaped = line.get(stop) == Some(&b'\\');
        let kept = out.scratch.len();
        let field = if escaped {
            unescape(line, start, stop, delimiter, out)
        } else {
            Scanned { text_end: stop, end: stop, non_ascii: false }
        };
        // The NULL and DEFAULT strings are compared with the field as it was written.
        let written = &line[start..field.text_end];
        if written == null || Some(written) == default {
            out.scratch.truncate(kept);
            out.push(if written == null { FieldPos::Null } else { FieldPos::Default });
        } else if escaped {
            if field.non_ascii {
                crate::text::verify(&out.scratch[kept..])?;
            }
            out.push(FieldPos::Unescaped(kept as u32, out.scratch.len() as u32));
        } else {
            out.push(FieldPos::Raw(start as u32, stop as u32));
        }
        if field.end >= line.len() {
            return Ok(());
        }
        at = field.end + 1;
    }
}

/// A field with its end.
struct Scanned {
    /// Where its text ends: at `end`, but for a backslash that ends the line.
    text_end: usize,
    /// Where its delimiter is, or the line's end.
    end: usize,
    /// An escape made a byte that could break the encoding.
    non_ascii: bool,
}

/// Appends the field that begins at `start`, with its first backslash at
/// `first`, to the scratch buffer.
fn unescape(
    line: &[u8],
    start: usize,
    first: usize,
    delimiter: u8,
    out: &mut Fields<'_>,
) -> Scanned {
    out.scratch.extend_from_slice(&line[start..first]);
    let mut at = first;
    let mut non_ascii = false;
    loop {
        match line.get(at) {
            Some(&byte) if byte == delimiter => {
                return Scanned { text_end: at, end: at, non_ascii };
            }
            Some(b'\\') => {
                let Some(&escaped) = line.get(at + 1) else {
                    return Scanned { text_end: at, end: line.len(), non_ascii };
                };
                let (byte, len) = escape(escaped, &line[at + 1..]);
                non_ascii |= matches!(escaped, b'0'..=b'7' | b'x') && (byte == 0 || byte >= 0x80);
                out.scratch.push(byte);
                at += 1 + len;
            }
            Some(_) => {
                let stop =
                    find(&line[at..], [delimiter, b'\\']).map_or(line.len(), |step| at + step);
                out.scratch.extend_from_slice(&line[at..stop]);
                at = stop;
            }
            None => return Scanned { text_end: at, end: at, non_ascii },
        }
    }
}

/// The byte for the escape with the letter `letter`, the first of `rest`, and the length of the
/// escape there.
fn escape(letter: u8, rest: &[u8]) -> (u8, usize) {
    match letter {
        b'0'..=b'7' => number(&rest[..rest.len().min(3)], 8),
        b'x' => match number(&rest[1..rest.len().min(3)], 16) {
            (_, 0) => (b'x', 1),
            (byte, digits) => (byte, digits + 1),
        },
        b'b' => (0x08, 1),
        b'f' => (0x0c, 1),
        b'n' => (b'\n', 1),
        b'r' => (b'\r', 1),
        b't' => (b'\t', 1),
        b'v' => (0x0b, 1),
        other => (other, 1),
    }
}

/// The leading digits' value, of which the low eight bits count.
fn number(digits: &[u8], radix: u32) -> (u8, usize) {
    let values = digits.iter().map_while(|&digit| char::from(digit).to_digit(radix));
    let (value, len) = values.fold((0, 0), |(n, len), digit| (n * radix + digit, len + 1));
    ((value & 0xff) as u8, len)
}
