//! From an accepted socket to a session: encryption requests, cancel requests, the start-up packet,
//! and the check of the role and the database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use steppe_catalog::system::role_named;
use steppe_catalog::{DATABASE_NAME, SUPERUSER_NAME};
use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};
use steppe_wire::startup::{self, ProtocolVersion, Startup, StartupPacket, split_options};
use steppe_wire::{TransactionStatus, backend};
use tokio::time::timeout;

use crate::affinity::{Migration, SessionAffinity};
use crate::log;
use crate::server::{Backend, BackendKind, Phase, Server, SessionControl, Starting};
use crate::session::{Identity, Session};
use crate::settings::Action;
use crate::stream::Stream;

/// Connections that may be in their start-up at once, besides the sessions.
pub(crate) const STARTING_MAX: usize = 1000;
/// How long the server waits for a refused client.
const TURNING_AWAY: Duration = Duration::from_secs(1);
/// Bytes of a protocol 3.2 cancel key, as in PostgreSQL 18.
const LONG_KEY_BYTES: usize = 32;

/// An owned copy of a client's start-up packet.
struct Request {
    protocol: ProtocolVersion,
    must_negotiate: bool,
    unrecognized: Vec<String>,
    user: Arc<str>,
    database: Arc<str>,
    /// Settings in order. Those of `options` come first, as in PostgreSQL.
    settings: Vec<(String, String)>,
}

/// Serves a connection from its first byte to its end, or until it moves to another worker.
pub(crate) async fn serve(
    server: Arc<Server>,
    mut stream: Stream,
    home: SessionAffinity,
) -> Option<Migration> {
    let Some(starting) = Starting::begin(&server, STARTING_MAX) else {
        turn_away(&server, &mut stream).await;
        return None;
    };
    let limit = u64::try_from(server.settings.int("authentication_timeout")).unwrap_or(60);
    let mut input = BytesMut::new();
    let begun = timeout(Duration::from_secs(limit), begin(&server, &mut stream, &mut input));
    // The timeout is for the packet only: a client that sends none has a socket, but no session.
    let request = match begun.await {
        Ok(Ok(Some(request))) => request,
        Ok(Ok(None)) | Err(_) => return None,
        Ok(Err(error)) => {
            refuse(&mut stream, error).await;
            return None;
        }
    };
    drop(starting);
    match open_session(&server, &stream, request) {
        Ok(session) => {
            let timing = session.io_timing();
            Box::pin(timing.during(Box::new(session).run(stream, input, home))).await
        }
        Err(error) => {
            refuse(&mut stream, error).await;
            None
        }
    }
}

/// Closes a connection when too many others are in their start-up.
async fn turn_away(server: &Server, stream: &mut Stream) {
    let error = Error::new(SqlState::TOO_MANY_CONNECTIONS, "sorry, too many clients already")
        .severity(Severity::Fatal);
    let told = server.turned_away.lock().tell(Instant::now());
    if let Some(others) = told {
        let client = match stream.addresses() {
            Some([client, _]) => client.to_string(),
            None => "[local]".to_owned(),
        };
        let detail = format!("{STARTING_MAX} connections have not sent their start-up packet yet");
        let (sqlstate, message) = (error.sqlstate(), error.message());
        log::write(
            log::Level::Fatal,
            &[
                ("client", &client),
                ("sqlstate", &sqlstate),
                ("message", &message),
                ("detail", &detail),
                ("others_since_last_told", &others),
            ],
        );
    }
    let mut out = Vec::new();
    backend::error_response(&mut out, &error);
    let mut unread = BytesMut::new();
    // The client's packet is read first: closing a socket with unread data could discard the error.
    let told = async {
        if stream.write_all(&out).await.is_ok() {
            stream.shutdown().await;
            while unread.len() < startup::MAX_STARTUP_PACKET_LENGTH
                && matches!(stream.read(&mut unread).await, Ok(1..))
            {}
        }
    };
    // A client that sends nothing more gets no more time.
    let _too_slow = timeout(TURNING_AWAY, told).await;
}

/// Sends the error and closes the connection.
async fn refuse(stream: &mut Stream, error: Error) {
    if startup::is_silent(&error) {
        return;
    }
    log::session_error(0, &error, "");
    let mut out = Vec::new();
    backend::error_response(&mut out, &error.severity(Severity::Fatal));
    let sent = timeout(Duration::from_secs(5), stream.write_all(&out)).await;
    if matches!(sent, Ok(Ok(()))) {
        stream.shutdown().await;
    }
}

/// Reads packets up to a session request; `None` if the connection ends without a message.
async fn begin(
    server: &Server,
    stream: &mut Stream,
    input: &mut BytesMut,
) -> Result<Option<Request>> {
    // A client may send one encryption request of each kind, as in ProcessStartupPacket.
    let mut refused = Vec::new();
    loop {
        let step = match startup::peek(input)? {
            None => None,
            Some((StartupPacket::SslRequest, len)) => Some((Err(Encryption::Ssl), len)),
            Some((StartupPacket::GssEncRequest, len)) => Some((Err(Encryption::Gss), len)),
            Some((StartupPacket::Cancel(cancel), _)) => {
                server.backends.cancel(cancel.process_id, cancel.key);
                return Ok(None);
            }
            Some((StartupPacket::Startup(startup), len)) => Some((Ok(request(&startup)?), len)),
        };
        match step {
            Some((Ok(request), len)) => {
                input.advance(len);
                return Ok(Some(request));
            }
            Some((Err(encryption), len)) => {
                input.advance(len);
                if refused.contains(&encryption) {
                    return Err(encryption.asked_twice());
                }
                refused.push(encryption);
                if stream.write_all(b"N").await.is_err() {
                    return Ok(None);
                }
                if !input.is_empty() {
                    return Err(encryption.not_awaited());
                }
            }
            None => {
                input.reserve(startup::MAX_STARTUP_PACKET_LENGTH.min(1024));
                if !matches!(stream.read(input).await, Ok(1..)) {
                    return Ok(None);
                }
            }
        }
    }
}

/// Encryption that a client may request before its start-up packet. The server refuses it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encryption {
    Ssl,
    Gss,
}

impl Encryption {
    /// A second request is read as a protocol version, since its code has the same place.
    #[cold]
    fn asked_twice(self) -> Error {
        let minor = match self {
            Encryption::Ssl => 5679,
            Encryption::Gss => 5680,
        };
        let message =
            format!("unsupported frontend protocol 1234.{minor}: server supports 3.0 to 3.2");
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
    }

    /// Data that arrives before the answer to the request is not encrypted, so it may come from an
    /// attacker.
    #[cold]
    fn not_awaited(self) -> Error {
        let what = match self {
            Encryption::Ssl => "SSL",
            Encryption::Gss => "GSSAPI encryption",
        };
        let message = format!("received unencrypted data after {what} request");
        Error::new(SqlState::PROTOCOL_VIOLATION, message).detail(
            "This could be either a client-software bug or evidence of an attempted \
             man-in-the-middle attack.",
        )
    }
}

fn request(startup: &Startup<'_>) -> Result<Request> {
    if startup.replication.is_some_and(|value| !matches!(value, "false" | "off" | "no" | "0")) {
        return Err(Error::not_supported("replication"));
    }
    let mut settings = Vec::new();
    let mut words = split_options(startup.options.unwrap_or_default()).into_iter();
    while let Some(word) = words.next() {
        let text = match word.as_str() {
            "-c" => words.next().unwrap_or_default(),
            _ => match word.strip_prefix("-c").or_else(|| word.strip_prefix("--")) {
                Some(text) => text.to_owned(),
                None => return Err(bad_option(&word)),
            },
        };
        let parsed = crate::cli::setting(&text);
        settings.push(parsed.map_err(|_| bad_option(&text))?);
    }
    let named = startup.settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
    settings.extend(named);
    Ok(Request {
        protocol: startup.protocol,
        must_negotiate: startup.must_negotiate(),
        unrecognized: startup.unrecognized.iter().map(|name| (*name).to_owned()).collect(),
        user: startup.user.into(),
        database: startup.database.into(),
        settings,
    })
}

fn bad_option(option: &str) -> Error {
    let message = format!("invalid command-line argument for server process: {option}");
    Error::new(SqlState::SYNTAX_ERROR, message)
}

/// Opens a session: checks the request, and puts the greeting in the send buffer.
fn open_session(server: &Arc<Server>, stream: &Stream, request: Request) -> Result<Session> {
    let fatal = |state, message: &str| Error::new(state, message).severity(Severity::Fatal);
    if !stream.is_local() {
        return Err(fatal(
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            "connections from other hosts are not let in",
        )
        .detail("There is no authentication yet: only loopback addresses and Unix sockets are."));
    }
    if server.phase() != Phase::Running {
        return Err(fatal(SqlState::CANNOT_CONNECT_NOW, "the database system is shutting down"));
    }
    let handle = server.engine.new_session(server.catalog.database_id());
    let pid = i32::try_from(handle.pid()).unwrap_or(i32::MAX);
    let key_bytes = if request.protocol.has_long_cancel_keys() { LONG_KEY_BYTES } else { 4 };
    let mut cancel_key = vec![0; key_bytes];
    if server.random.fill(&mut cancel_key).is_err() {
        return Err(fatal(SqlState::INTERNAL_ERROR, "could not generate random cancel key"));
    }
    let control = Arc::new(SessionControl::default());
    let backend = Backend {
        kind: BackendKind::Client,
        shared: Arc::clone(handle.shared()),
        control: Arc::clone(&control),
        cancel_key: cancel_key.clone(),
        user: Arc::clone(&request.user),
        database: Arc::clone(&request.database),
        client_port: stream.client_port(),
        addresses: stream.addresses(),
        started: crate::services::now_micros(),
    };
    let max = usize::try_from(server.settings.int("max_connections")).unwrap_or(1);
    if !server.backends.add(pid, backend, max) {
        return Err(fatal(SqlState::TOO_MANY_CONNECTIONS, "sorry, too many clients already"));
    }
    // From here on, the drop of the session removes the backend.
    let identity = Identity::new(pid, Arc::clone(&request.user), Arc::clone(&request.database));
    let mut session = Session::new(Arc::clone(server), handle, control, identity);
    check_role(&request.user)?;
    check_database(&request.database)?;
    if server.phase() != Phase::Running {
        return Err(fatal(SqlState::CANNOT_CONNECT_NOW, "the database system is shutting down"));
    }
    session.settings().override_value("session_authorization", &request.user);
    for (name, value) in &request.settings {
        session.settings().set(name, value, Action::Set, 0, true)?;
    }
    greet(
        &mut session,
        &request.unrecognized,
        request.must_negotiate,
        request.protocol,
        &cancel_key,
    );
    Ok(session)
}

/// 28000 unless the role may connect. A client that sends no role name uses the operating system's
/// user name, hence the hint.
fn check_role(name: &str) -> Result<()> {
    if name == SUPERUSER_NAME {
        return Ok(());
    }
    let state = SqlState::INVALID_AUTHORIZATION_SPECIFICATION;
    if role_named(name).is_some() {
        return Err(Error::new(state, format!("role \"{name}\" is not permitted to log in")));
    }
    let hint = format!("Connect as \"{SUPERUSER_NAME}\": further roles are not supported yet.");
    Err(Error::new(state, format!("role \"{name}\" does not exist")).hint(hint))
}

/// 3D000 unless the database exists.
fn check_database(name: &str) -> Result<()> {
    if name == DATABASE_NAME {
        return Ok(());
    }
    let hint = format!("Connect to \"{DATABASE_NAME}\": further databases are not supported yet.");
    let message = format!("database \"{name}\" does not exist");
    Err(Error::new(SqlState::INVALID_CATALOG_NAME, message).hint(hint))
}

fn greet(
    session: &mut Session,
    unrecognized: &[String],
    must_negotiate: bool,
    protocol: ProtocolVersion,
    cancel_key: &[u8],
) {
    let pid = session.pid();
    let reported = session.settings().reported();
    let out = session.output();
    if must_negotiate {
        let names: Vec<&str> = unrecognized.iter().map(String::as_str).collect();
        backend::negotiate_protocol_version(out, protocol, &names);
    }
    backend::authentication_ok(out);
    for (name, value) in reported {
        backend::parameter_status(out, name, &value);
    }
    backend::backend_key_data(out, pid, cancel_key);
    backend::ready_for_query(out, TransactionStatus::Idle);
}
