//! Strings from the client: UTF-8 without NUL, or 22021 as PostgreSQL words it
//! (src/common/wchar.c, report_invalid_encoding in src/backend/utils/mb/mbutils.c).

use steppe_types::{Error, Result, SqlState};

/// Checks that `bytes` is text PostgreSQL would store: UTF-8 without NUL bytes.
#[inline]
pub fn verify(bytes: &[u8]) -> Result<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => Ok(text),
        _ => Err(invalid(bytes)),
    }
}

/// As [`verify`], for bytes known to hold no NUL.
#[inline]
pub(crate) fn verify_no_nul(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| invalid(bytes))
}

/// The error 22021 for the first bad sequence of `bytes`. It names all bytes that belong to the
/// sequence by its first byte, as far as they are there.
#[cold]
pub fn invalid(bytes: &[u8]) -> Error {
    let utf8 = std::str::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), str::len);
    let nul = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    let rest = &bytes[utf8.min(nul)..];
    let claimed = rest.first().map_or(0, |&first| sequence_len(first)).min(rest.len());
    let shown: Vec<String> = rest[..claimed].iter().map(|b| format!("0x{b:02x}")).collect();
    Error::new(
        SqlState::CHARACTER_NOT_IN_REPERTOIRE,
        format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
    )
}

/// The length that a sequence's first byte announces (pg_utf_mblen).
fn sequence_len(first: u8) -> usize {
    match first {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> String {
        let error = verify(bytes).expect_err("bad text");
        assert_eq!(error.sqlstate(), SqlState::CHARACTER_NOT_IN_REPERTOIRE);
        error.message().replace("invalid byte sequence for encoding \"UTF8\": ", "")
    }

    #[test]
    fn accepts_text_and_shows_the_first_bad_sequence() {
        assert_eq!(verify("žluť 🐎".as_bytes()).unwrap(), "žluť 🐎");
        assert_eq!(verify(b"").unwrap(), "");
        assert_eq!(message(b"ab\xff\xfe"), "0xff");
        assert_eq!(message(b"ab\xc3("), "0xc3 0x28");
        assert_eq!(message(b"\xe2\x82"), "0xe2 0x82");
        assert_eq!(message(b"\xf0\x9f\x90x---"), "0xf0 0x9f 0x90 0x78");
        assert_eq!(message(b"a\0\xff"), "0x00");
        // A surrogate, an overlong form, and a code point past the last.
        assert_eq!(message(b"\xed\xa0\x80"), "0xed 0xa0 0x80");
        assert_eq!(message(b"\xc0\x80"), "0xc0 0x80");
        assert_eq!(message(b"\xf4\x90\x80\x80"), "0xf4 0x90 0x80 0x80");
    }
}
