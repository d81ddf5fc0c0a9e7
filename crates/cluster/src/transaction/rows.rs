//! The rows of a fetch: DataRow messages, one behind the other.

use steppe_types::{Error, Result, SqlState};
use steppe_wire::client::receive::{self, BackendMessage};
use steppe_wire::frame;
use steppe_wire::frontend::Values;

/// The values of the first row of some, and the bytes that the row takes. Error 08P01: the bytes are no
/// rows.
pub fn first_row(rows: &[u8]) -> Result<(Values<'_>, usize)> {
    let frame = frame::peek_backend(rows)?.ok_or_else(malformed)?;
    match receive::decode(frame)? {
        BackendMessage::DataRow(values) => Ok((values, frame.wire_len())),
        _ => Err(malformed()),
    }
}

/// The number of rows in a command tag; 0 if it has none.
pub fn row_count(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// 08P01: a node has sent a row that is none.
#[cold]
pub fn malformed() -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, "malformed row of a node")
}
