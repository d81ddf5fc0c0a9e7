//! Numbers among the words, read as libpq's parse_int_param does.

use steppe_types::{Error, Result, SqlState};

/// A 32-bit number with an optional sign, and white space around it.
pub(super) fn integer(name: &str, value: &str) -> Result<i32> {
    let digits = value.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
    digits.parse().map_err(|_| {
        Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("invalid integer value \"{value}\" for connection option \"{name}\""),
        )
    })
}

/// A TCP port, also used in a Unix socket's name.
pub(super) fn port(value: &str) -> Result<u16> {
    let number = integer("port", value)?;
    u16::try_from(number).ok().filter(|&port| port > 0).ok_or_else(|| {
        let message = format!("invalid port number: \"{value}\"");
        Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
    })
}
