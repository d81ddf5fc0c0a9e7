//! `encode`, `decode` and `md5`.

use super::STRING_BYTES_MAX;
use crate::interrupt;
use crate::text_io::{decode_escape, decode_hex, write_hex};
use crate::{Error, Result, SqlState};
use md5::{Digest, Md5};

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Bytes that are encoded between two looks for interrupts: whole lines of base64.
const ENCODED_AT_ONCE: usize = 57 << 14;

/// Base64 lines are broken after this many characters, as in MIME.
const BASE64_LINE: usize = 76;

#[cold]
fn unrecognized(format: &str) -> Error {
    invalid(format!("unrecognized encoding: \"{format}\""))
}

#[cold]
fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// The number that each symbol of base64 stands for; [`NO_SYMBOL`] for other bytes.
const BASE64_VALUES: [u8; 128] = {
    let mut values = [NO_SYMBOL; 128];
    let mut i = 0;
    while i < BASE64.len() {
        values[BASE64[i] as usize] = i as u8;
        i += 1;
    }
    values
};
const NO_SYMBOL: u8 = u8::MAX;

/// `encode(bytes, format)`
pub fn encode(bytes: &[u8], format: &str) -> Result<String> {
    let write: fn(&[u8], &mut Vec<u8>) = match format.to_ascii_lowercase().as_str() {
        "hex" => write_hex,
        "base64" => write_base64,
        "escape" => write_escape,
        _ => return Err(unrecognized(format)),
    };
    let (mut out, mut encoded) = (String::new(), Vec::new());
    for piece in interrupt::pieces(bytes, ENCODED_AT_ONCE) {
        encoded.clear();
        write(piece?, &mut encoded);
        let text = std::str::from_utf8(&encoded);
        out.push_str(text.map_err(|_| Error::internal("encoded bytes are not text"))?);
        if out.len() > STRING_BYTES_MAX {
            let message = "result of encoding conversion is too large";
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
    }
    Ok(out)
}

/// `decode(text, format)`
pub fn decode(text: &str, format: &str) -> Result<Vec<u8>> {
    match format.to_ascii_lowercase().as_str() {
        "hex" => decode_hex(text),
        "base64" => decode_base64(text),
        "escape" => decode_escape(text, || {
            Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea")
        }),
        _ => Err(unrecognized(format)),
    }
}

/// Unlike bytea's output, only zero and bytes past ASCII are escaped.
fn write_escape(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            0 | 0x80.. => {
                let digits = [byte >> 6, byte >> 3 & 7, byte & 7].map(|d| b'0' + d);
                out.push(b'\\');
                out.extend_from_slice(&digits);
            }
            b'\\' => out.extend_from_slice(b"\\\\"),
            _ => out.push(*byte),
        }
    }
}

fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    let mut line = 0;
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |w, b| w << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let symbol = BASE64[(word >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= chunk.len() { symbol } else { b'=' });
        }
        line += 4;
        // A full line is broken even at the very end, unless by padding.
        if line == BASE64_LINE && chunk.len() == 3 {
            out.push(b'\n');
            line = 0;
        }
    }
}

fn decode_base64(text: &str) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    // Symbols so far in the group of four, and after how many of them "=" came.
    let (mut word, mut position, mut end) = (0u32, 0, 0);
    for (i, c) in text.chars().enumerate() {
        if i % interrupt::CHECK_EVERY_BYTES == 0 {
            interrupt::check()?;
        }
        if matches!(c, ' ' | '\t' | '\n' | '\r') {
            continue;
        }
        let value = if c == '=' {
            if end == 0 {
                end = match position {
                    2 => 1,
                    3 => 2,
                    _ => {
                        return Err(invalid("unexpected \"=\" while decoding base64 sequence"));
                    }
                };
            }
            0
        } else {
            match BASE64_VALUES.get(c as usize) {
                Some(value) if *value != NO_SYMBOL => u32::from(*value),
                _ => {
                    return Err(invalid(format!(
                        "invalid symbol \"{c}\" found while decoding base64 sequence"
                    )));
                }
            }
        };
        word = word << 6 | value;
        position += 1;
        if position == 4 {
            let bytes = word.to_be_bytes();
            out.extend_from_slice(&bytes[1..if end == 0 { 4 } else { 1 + end }]);
            (word, position, end) = (0, 0, 0);
        }
    }
    if position != 0 {
        return Err(invalid("invalid base64 end sequence")
            .hint("Input data is missing padding, is truncated, or is otherwise corrupted."));
    }
    Ok(out)
}

/// `md5`, as hexadecimal digits
pub fn md5_hex(bytes: &[u8]) -> Result<String> {
    let mut digest = Md5::new();
    for piece in bytes.chunks(interrupt::CHECK_EVERY_BYTES) {
        interrupt::check()?;
        digest.update(piece);
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_postgresqls() {
        assert_eq!(encode(b"\0\xffa\\", "escape").unwrap(), "\\000\\377a\\\\");
        assert_eq!(encode(b"abcd", "base64").unwrap(), "YWJjZA==");
        assert_eq!(encode(b"\x00\xab", "HEX").unwrap(), "00ab");
        assert_eq!(decode("YQ==YQ==", "base64").unwrap(), b"aa");
        assert_eq!(decode(" Y Q\n= =", "base64").unwrap(), b"a");
        assert_eq!(md5_hex(b"abc").unwrap(), "900150983cd24fb0d6963f7d28e17f72");
        for length in 0..200 {
            let bytes: Vec<u8> = (0..length).collect();
            for format in ["hex", "base64", "escape"] {
                assert_eq!(decode(&encode(&bytes, format).unwrap(), format).unwrap(), bytes);
            }
        }
    }

    #[test]
    fn bad_encodings_give_postgresqls_errors() {
        let message = |text, format| decode(text, format).unwrap_err().message().to_string();
        assert_eq!(message("a", "base64"), "invalid base64 end sequence");
        assert_eq!(
            message("a*==", "base64"),
            "invalid symbol \"*\" found while decoding base64 sequence"
        );
        assert_eq!(message("=", "base64"), "unexpected \"=\" while decoding base64 sequence");
        assert_eq!(message("a", "foo"), "unrecognized encoding: \"foo\"");
    }
}
