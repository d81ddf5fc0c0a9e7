//! The packets that open a connection; they have a length word but no type.
//!
//! Follows ProcessStartupPacket (src/backend/tcop/backend_startup.c). All errors are FATAL. At an
//! error about the packet's length PostgreSQL closes the connection without a message, since the
//! peer is likely not a PostgreSQL client at all: [`is_silent`] recognizes these errors.

use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};

use crate::body::Body;
use crate::frame::fatal;
use crate::text;

/// MAX_STARTUP_PACKET_LENGTH: the largest packet, without its length word.
pub const MAX_STARTUP_PACKET_LENGTH: usize = 10_000;
/// The longest cancel key of protocol 3.2.
pub const MAX_CANCEL_KEY_LEN: usize = 256;
/// NAMEDATALEN − 1: user and database names are cut to this many bytes.
const MAX_NAME_LEN: usize = 63;

pub(crate) const CANCEL_REQUEST_CODE: u32 = 1234 << 16 | 5678;
pub(crate) const NEGOTIATE_SSL_CODE: u32 = 1234 << 16 | 5679;
pub(crate) const NEGOTIATE_GSS_CODE: u32 = 1234 << 16 | 5680;

const BAD_LENGTH: &str = "invalid length of startup packet";

/// A protocol version: major in the high half, minor in the low.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtocolVersion(pub u32);

impl ProtocolVersion {
    /// The version every client speaks.
    pub const V3_0: ProtocolVersion = ProtocolVersion(3 << 16);
    /// PostgreSQL 18's: cancel keys of any length up to 256 bytes.
    pub const V3_2: ProtocolVersion = ProtocolVersion(3 << 16 | 2);
    /// The newest version that this codec speaks.
    pub const LATEST: ProtocolVersion = ProtocolVersion::V3_2;

    /// The major number.
    pub fn major(self) -> u32 {
        self.0 >> 16
    }

    /// The minor number.
    pub fn minor(self) -> u32 {
        self.0 & 0xffff
    }

    /// Whether the cancel key may be longer (or shorter) than four bytes.
    pub fn has_long_cancel_keys(self) -> bool {
        self >= ProtocolVersion::V3_2
    }
}

/// The request of a new connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartupPacket<'a> {
    /// A session.
    Startup(Startup<'a>),
    /// TLS: answered by one byte (`S` or `N`), and followed by another packet.
    SslRequest,
    /// GSSAPI encryption: answered by one byte (`G` or `N`), and followed by another packet.
    GssEncRequest,
    /// A request to cancel another session's statement. The server never answers it.
    Cancel(CancelRequest<'a>),
}

/// CancelRequest: the session, and the secret that proves the right to cancel its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelRequest<'a> {
    /// The session's process id, as BackendKeyData gave it.
    pub process_id: i32,
    /// The key: four bytes in protocol 3.0, up to 256 in 3.2.
    pub key: &'a [u8],
}

/// StartupMessage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Startup<'a> {
    /// The version that the client asked for.
    pub requested: ProtocolVersion,
    /// The version to speak: the lower of the client's and ours.
    pub protocol: ProtocolVersion,
    /// The role to connect as, cut to an identifier's length; never empty.
    pub user: &'a str,
    /// The database to use; the user's name if none was given.
    pub database: &'a str,
    /// Command-line options for the server ([`split_options`]).
    pub options: Option<&'a str>,
    /// The replication mode asked for.
    pub replication: Option<&'a str>,
    /// All other parameters: settings by name.
    pub settings: Vec<(&'a str, &'a str)>,
    /// Protocol options (`_pq_.…`) that this server does not know.
    pub unrecognized: Vec<&'a str>,
}

impl Startup<'_> {
    /// Whether NegotiateProtocolVersion must be sent first.
    pub fn must_negotiate(&self) -> bool {
        self.requested > self.protocol || !self.unrecognized.is_empty()
    }
}

/// The packet at the front of `input` and its length, or `None` until more bytes
/// come.
pub fn peek(input: &[u8]) -> Result<Option<(StartupPacket<'_>, usize)>> {
    let Some((word, rest)) = input.split_first_chunk::<4>() else { return Ok(None) };
    let len = u32::from_be_bytes(*word) as usize;
    if !(8..=MAX_STARTUP_PACKET_LENGTH + 4).contains(&len) {
        return Err(fatal(BAD_LENGTH));
    }
    let Some(packet) = rest.get(..len - 4) else { return Ok(None) };
    decode(packet)
        .map(|decoded| Some((decoded, len)))
        .map_err(|error| error.severity(Severity::Fatal))
}

/// Whether PostgreSQL closes the connection on this error without telling the
/// client.
pub fn is_silent(error: &Error) -> bool {
    error.message() == BAD_LENGTH
}

/// Checks, after SSLRequest or GSSENCRequest was granted, that the client sent
/// nothing in clear behind it: such bytes could have been injected.
pub fn check_no_plaintext(request: &StartupPacket<'_>, buffered: &[u8]) -> Result<()> {
    if buffered.is_empty() {
        return Ok(());
    }
    let what = match request {
        StartupPacket::GssEncRequest => "GSSAPI encryption request",
        _ => "SSL request",
    };
    Err(fatal(format!("received unencrypted data after {what}")).detail(
        "This could be either a client-software bug or evidence of an attempted \
         man-in-the-middle attack.",
    ))
}

fn decode(packet: &[u8]) -> Result<StartupPacket<'_>> {
    let mut body = Body::new(packet);
    match body.u32()? {
        NEGOTIATE_SSL_CODE => Ok(StartupPacket::SslRequest),
        NEGOTIATE_GSS_CODE => Ok(StartupPacket::GssEncRequest),
        CANCEL_REQUEST_CODE => {
            let process_id = body.i32().map_err(|_| fatal(BAD_LENGTH))?;
            let key = body.rest();
            if key.is_empty() || key.len() > MAX_CANCEL_KEY_LEN {
                return Err(fatal(BAD_LENGTH));
            }
            Ok(StartupPacket::Cancel(CancelRequest { process_id, key }))
        }
        version => startup(ProtocolVersion(version), body).map(StartupPacket::Startup),
    }
}

fn startup<'a>(requested: ProtocolVersion, mut body: Body<'a>) -> Result<Startup<'a>> {
    if requested.major() != ProtocolVersion::LATEST.major() {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!(
                "unsupported frontend protocol {}.{}: server supports {}.0 to {}.{}",
                requested.major(),
                requested.minor(),
                ProtocolVersion::V3_0.major(),
                ProtocolVersion::LATEST.major(),
                ProtocolVersion::LATEST.minor(),
            ),
        ));
    }
    let mut startup = Startup {
        requested,
        protocol: requested.min(ProtocolVersion::LATEST),
        user: "",
        database: "",
        options: None,
        replication: None,
        settings: Vec::new(),
        unrecognized: Vec::new(),
    };
    parameters(&mut body, &mut startup)?;
    if startup.user.is_empty() {
        return Err(Error::new(
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            "no PostgreSQL user name specified in startup packet",
        ));
    }
    if startup.database.is_empty() {
        startup.database = startup.user;
    }
    startup.user = clip(startup.user);
    startup.database = clip(startup.database);
    Ok(startup)
}

/// Reads name and value strings in turn. An empty name ends them and the packet.
fn parameters<'a>(body: &mut Body<'a>, startup: &mut Startup<'a>) -> Result<()> {
    let misshapen = || fatal("invalid startup packet layout: expected terminator as last byte");
    loop {
        let name = body.raw_str().map_err(|_| misshapen())?;
        if name.is_empty() {
            return if body.is_empty() { Ok(()) } else { Err(misshapen()) };
        }
        let value = body.raw_str().map_err(|_| misshapen())?;
        let (name, value) = (text::verify_no_nul(name)?, text::verify_no_nul(value)?);
        match name {
            "user" => startup.user = value,
            "database" => startup.database = value,
            "options" => startup.options = Some(value),
            "replication" => startup.replication = Some(value),
            _ if name.starts_with("_pq_.") => startup.unrecognized.push(name),
            _ => startup.settings.push((name, value)),
        }
    }
}

/// At most an identifier's length of `name`, without splitting a character.
fn clip(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME_LEN)]
}

/// Splits the `options` parameter into words: whitespace separates, a backslash
/// takes the next character as it is (pg_split_opts).
pub fn split_options(options: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = options.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c' => words.extend(word.take()),
            '\\' => word.get_or_insert_default().extend(chars.next()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(code: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = (body.len() as u32 + 8).to_be_bytes().to_vec();
        bytes.extend_from_slice(&code.to_be_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    fn refusal(bytes: &[u8]) -> Error {
        let error = peek(bytes).expect_err("refused");
        assert_eq!(error.fields().severity, Severity::Fatal);
        error
    }

    #[test]
    fn reads_a_session_request() {
        let body = b"user\0ann\0options\0-c a=b\0application_name\0psql\0_pq_.x\0y\0\0";
        let bytes = packet(3 << 16 | 9, body);
        let (decoded, len) = peek(&bytes).unwrap().unwrap();
        let StartupPacket::Startup(startup) = decoded else { panic!("not a startup") };
        assert_eq!(len, bytes.len());
        assert_eq!((startup.user, startup.database), ("ann", "ann"));
        assert_eq!(startup.options, Some("-c a=b"));
        assert_eq!(startup.settings, [("application_name", "psql")]);
        assert_eq!(startup.unrecognized, ["_pq_.x"]);
        assert_eq!(startup.protocol, ProtocolVersion::V3_2);
        assert!(startup.must_negotiate());
        assert_eq!(peek(&bytes[..bytes.len() - 1]).unwrap(), None);
    }

    #[test]
    fn refuses_what_postgresql_refuses() {
        assert!(is_silent(&refusal(b"GET / HTTP/1.1\r\n")));
        assert!(is_silent(&refusal(&[0, 0, 0, 7, 0, 3, 0])));
        assert!(is_silent(&refusal(&10_005u32.to_be_bytes())));
        assert!(is_silent(&refusal(&packet(CANCEL_REQUEST_CODE, &[0; 4]))));
        assert!(is_silent(&refusal(&packet(CANCEL_REQUEST_CODE, &[0; 261]))));
        let old = refusal(&packet(2 << 16, b"\0"));
        assert_eq!(old.message(), "unsupported frontend protocol 2.0: server supports 3.0 to 3.2");
        assert_eq!(old.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED);
        for layout in [&b"user\0a\0"[..], b"user\0a\0\0x", b"user\0", b"user", b""] {
            assert_eq!(
                refusal(&packet(3 << 16, layout)).message(),
                "invalid startup packet layout: expected terminator as last byte"
            );
        }
        assert_eq!(refusal(&packet(3 << 16, b"\0")).sqlstate().as_str(), "28000");
    }

    #[test]
    fn names_are_clipped_between_characters() {
        let name = "ž".repeat(40);
        let bytes = packet(3 << 16, format!("user\0{name}\0\0").as_bytes());
        let Some((StartupPacket::Startup(startup), _)) = peek(&bytes).unwrap() else {
            panic!("not a startup")
        };
        assert_eq!(startup.user, "ž".repeat(31));
    }

    #[test]
    fn options_split_at_unescaped_blanks() {
        assert_eq!(split_options(r"  -c a=b\ c  -c x=\\ \"), ["-c", "a=b c", "-c", r"x=\", ""]);
        assert!(split_options("  ").is_empty());
    }
}
