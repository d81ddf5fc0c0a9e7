//! PostgreSQL's frontend/backend protocol 3.0 and 3.2 as a codec, both sides.
//!
//! ```text
//!            server                                        client
//!   bytes ─ startup / frame ─ frontend (views)   client::send (writers) ─ bytes
//!   bytes ─ backend, row (writers)            client::receive (views) ─ bytes
//!                      copy: the three COPY data formats, both ways
//! ```
//!
//! This crate does no I/O, never waits, and does not know sessions. It guarantees:
//!
//! - **Zero copy.** A decoded message borrows from the receive buffer; the
//!   writers append to one `Vec<u8>` in place and patch lengths afterwards, so
//!   a row costs no allocation in either direction.
//! - **Lengths are not trusted.** A length word is checked against PostgreSQL's limit for its
//!   message type, but it never reserves memory: the buffer grows only as bytes arrive
//!   ([`frame::read_ahead`]). Each count and length inside a message is checked against the bytes
//!   that are there.
//! - **Two kinds of failure.** Lost framing (bad length word, unknown type) is
//!   `FATAL`: no later byte can be trusted. A bad message body is `ERROR`: the
//!   framing stands, and the session goes on after it, as PostgreSQL's does.
//! - **Data cannot move a message boundary.** A string with an embedded NUL is cut there. A message
//!   larger than the protocol allows is removed from the buffer and reported.
//!
//! The specification is PostgreSQL 18's documentation ("Frontend/Backend
//! Protocol") and, for limits and error texts, src/backend/libpq/pqcomm.c,
//! pqformat.c, src/backend/tcop/postgres.c and backend_startup.c.
//!
//! SCRAM and TLS sit on top: the SASL messages are carried here as opaque
//! bytes, and `SSLRequest` is decoded and answered by one byte.

pub mod backend;
mod body;
pub mod client;
pub mod copy;
pub mod frame;
pub mod frontend;
mod message;
pub mod row;
pub mod startup;
pub mod text;

pub use backend::TransactionStatus;
pub use frame::{Frame, OwnedFrame, Phase};
pub use frontend::FrontendMessage;
pub use row::DataRow;

use steppe_types::{Error, Result, SqlState};

/// PostgreSQL's MaxAllocSize: no message, field or line may be larger.
pub const MAX_ALLOC_SIZE: usize = 0x3fff_ffff;

/// Text or binary representation of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum Format {
    /// The type's text form.
    #[default]
    Text,
    /// The type's binary form.
    Binary,
}

impl Format {
    /// The format with this code on the wire.
    pub fn from_code(code: i16) -> Result<Format> {
        match code {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            _ => Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("unsupported format code: {code}"),
            )),
        }
    }

    /// Its code on the wire.
    pub fn code(self) -> i16 {
        match self {
            Format::Text => 0,
            Format::Binary => 1,
        }
    }
}

/// Messages count columns in 16 bits.
#[cold]
pub(crate) fn too_many_columns(columns: u32) -> Error {
    let message = format!("number of columns ({columns}) exceeds limit ({})", i16::MAX);
    Error::new(SqlState::TOO_MANY_COLUMNS, message)
}

/// 54000 as PostgreSQL's stringinfo.c words it.
#[cold]
pub(crate) fn too_large(have: usize, more: usize) -> Error {
    Error::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!("string buffer exceeds maximum allowed length ({MAX_ALLOC_SIZE} bytes)"),
    )
    .detail(format!("Cannot enlarge string buffer containing {have} bytes by {more} more bytes."))
}
