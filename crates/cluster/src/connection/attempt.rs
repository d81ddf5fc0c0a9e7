//! One attempt to open a session: the socket, the start-up packet, authentication, and whether
//! target_session_attrs accepts the server.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Instant;

use steppe_types::{Error, Result, SqlState};
use steppe_wire::client::receive::BackendMessage;
use steppe_wire::client::send;
use steppe_wire::startup::ProtocolVersion;

use super::authentication::Authentication;
use super::opening::UNABLE_TO_CONNECT;
use super::socket::{self, Address, words};
use super::target::{self, Verdict};
use super::{Connection, MESSAGE_LIMIT, Message, Step};
use crate::conninfo::{ConnInfo, Host, TargetSessionAttrs};
use crate::wait::Interest;

/// Where the attempt is.
enum Stage {
    Connecting,
    /// The start-up packet is sent, and the node lets the session in.
    Starting(Authentication),
    /// The server was asked for a property, which is known once a row has come.
    Checking(Option<bool>),
    /// The session is open.
    Done,
}

/// An attempt at one address.
pub(super) struct Attempt {
    info: Arc<ConnInfo>,
    /// The host's place among those of `info`.
    host: usize,
    wanted: TargetSessionAttrs,
    connection: Connection,
    stage: Stage,
    /// connect_timeout.
    pub(super) deadline: Option<Instant>,
}

/// Why an attempt failed.
pub(super) struct Failure {
    /// 08001 with libpq's text.
    pub(super) error: Error,
    /// The SQLSTATE of the node's own error.
    pub(super) sqlstate: Option<SqlState>,
    pub(super) next: Next,
}

/// The attempts that may follow a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The next address of this host, or the next host.
    Address,
    /// The next host.
    Host,
    Nothing,
}

impl Attempt {
    pub(super) fn new(
        info: &Arc<ConnInfo>,
        host: usize,
        wanted: TargetSessionAttrs,
        address: Address,
    ) -> Result<Attempt, Failure> {
        let cannot =
            |error| failure(cannot_connect(&info.hosts[host], &address, &error), Next::Address);
        let socket = address.connect(&info.keepalives).map_err(cannot)?;
        Ok(Attempt {
            info: Arc::clone(info),
            host,
            wanted,
            connection: Connection::new(socket, address),
            stage: Stage::Connecting,
            deadline: info.connect_timeout.map(|timeout| Instant::now() + timeout),
        })
    }

    fn host(&self) -> &Host {
        &self.info.hosts[self.host]
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.connection.descriptor()
    }

    pub(super) fn into_connection(self) -> Connection {
        self.connection
    }

    pub(super) fn timed_out(&self) -> Error {
        refusal(self.host(), &self.connection.address, "timeout expired")
    }

    /// Goes on as far as it can without waiting.
    pub(super) fn advance(&mut self) -> Result<Step<()>, Failure> {
        if matches!(self.stage, Stage::Connecting) {
            match socket::is_connected(&self.connection.socket) {
                Ok(true) => self.start().map_err(|error| self.failed(&error, Next::Nothing))?,
                Ok(false) => return Ok(Step::Waits(Interest::Write)),
                Err(error) => {
                    let error = cannot_connect(self.host(), &self.connection.address, &error);
                    return Err(failure(error, Next::Address));
                }
            }
        }
        while !matches!(self.stage, Stage::Done) {
            let flushed = self.connection.flush().map_err(|error| self.lost(&error))?;
            match self.connection.advance().map_err(|error| self.lost(&error))? {
                Step::Ready(()) => self.handle()?,
                Step::Waits(interest) => {
                    let is_sent = flushed == Step::Ready(());
                    return Ok(Step::Waits(if is_sent { interest } else { Interest::Both }));
                }
            }
        }
        Ok(Step::Ready(()))
    }

    /// Appends the start-up packet.
    fn start(&mut self) -> Result<()> {
        let info = Arc::clone(&self.info);
        let Some(user) = info.user.as_deref() else {
            return Err(Error::new(UNABLE_TO_CONNECT, "no user name was given"));
        };
        let mut parameters = vec![("user", user), ("client_encoding", "UTF8")];
        let named = [
            ("database", info.database()),
            ("application_name", info.application_name.as_deref()),
            ("options", info.options.as_deref()),
        ];
        parameters.extend(named.iter().filter_map(|(name, value)| Some((*name, (*value)?))));
        let settings = info.settings.iter();
        parameters.extend(settings.map(|(name, value)| (name.as_str(), value.as_str())));
        send::startup(&mut self.connection.out, info.newest_protocol, &parameters);
        self.connection.pipeline.cycle_sent();
        self.stage = Stage::Starting(Authentication::new());
        Ok(())
    }

    /// Handles the message at the front.
    fn handle(&mut self) -> Result<(), Failure> {
        let message = Message { bytes: self.connection.input.front() };
        let decoded = match message.decode() {
            Ok(decoded) => decoded,
            Err(error) => return Err(self.failed(&error, Next::Nothing)),
        };
        let stage = &mut self.stage;
        match (stage, decoded) {
            (_, BackendMessage::ErrorResponse(error)) => Err(self.refused_by_node(&error)),
            (_, BackendMessage::NoticeResponse(notice)) => {
                self.connection.notes.notice(notice);
                Ok(())
            }
            (Stage::Starting(exchange), BackendMessage::Authentication(request)) => {
                let (out, notes) = (&mut self.connection.out, &mut self.connection.notes);
                let answered =
                    exchange.answer(request, (&self.info, &self.info.hosts[self.host]), out, notes);
                answered.map_err(|error| self.failed(&error, Next::Nothing))
            }
            (
                Stage::Starting(exchange),
                BackendMessage::NegotiateProtocolVersion { version, unrecognized },
            ) if !exchange.is_over() => {
                let negotiated = negotiated(&self.info, version, &unrecognized);
                negotiated.map_err(|error| self.failed(&error, Next::Nothing))
            }
            (Stage::Starting(exchange), BackendMessage::ReadyForQuery(_)) if exchange.is_over() => {
                self.connection.is_admitted = true;
                self.connection.input.set_limit(MESSAGE_LIMIT);
                let connection = &self.connection;
                let verdict = target::by_settings(self.wanted, |name| connection.parameter(name));
                self.obey(verdict)
            }
            (Stage::Checking(answer), BackendMessage::DataRow(row)) => {
                let value = row.iter().next().flatten();
                *answer = value.map(|value| value == b"on" || value == b"t");
                Ok(())
            }
            (Stage::Checking(Some(property)), BackendMessage::ReadyForQuery(_)) => {
                let verdict = target::judge(self.wanted, *property);
                self.obey(verdict)
            }
            (
                Stage::Checking(_),
                BackendMessage::RowDescription(_) | BackendMessage::CommandComplete(_),
            ) => Ok(()),
            _ => {
                let text = "server sent an unexpected message at the start of the session";
                Err(self.failed(&Error::new(SqlState::PROTOCOL_VIOLATION, text), Next::Nothing))
            }
        }
    }

    fn obey(&mut self, verdict: Verdict) -> Result<(), Failure> {
        match verdict {
            Verdict::Accepted => self.stage = Stage::Done,
            Verdict::Refused(reason) => {
                let error = refusal(self.host(), &self.connection.address, reason);
                return Err(failure(error, Next::Host));
            }
            Verdict::Ask(statement) => {
                self.connection.query(statement).map_err(|error| self.lost(&error))?;
                self.stage = Stage::Checking(None);
            }
        }
        Ok(())
    }

    /// The node has answered with an error.
    fn refused_by_node(&self, error: &Error) -> Failure {
        let fields = error.fields();
        let text = format!("{}:  {}", fields.severity.as_str(), fields.message);
        let mut refused = refusal(self.host(), &self.connection.address, &text);
        refused.fields_mut().detail.clone_from(&fields.detail);
        refused.fields_mut().hint.clone_from(&fields.hint);
        let is_starting = fields.sqlstate == SqlState::CANNOT_CONNECT_NOW;
        Failure {
            error: refused,
            sqlstate: Some(fields.sqlstate),
            next: if is_starting { Next::Host } else { Next::Nothing },
        }
    }

    /// The socket has failed, or the node has violated the protocol.
    fn lost(&self, error: &Error) -> Failure {
        self.failed(error, Next::Address)
    }

    fn failed(&self, error: &Error, next: Next) -> Failure {
        let mut refused = refusal(self.host(), &self.connection.address, error.message());
        refused.fields_mut().detail.clone_from(&error.fields().detail);
        failure(refused, next)
    }
}

/// Checks what the node answered to the version that was asked for.
fn negotiated(info: &ConnInfo, version: ProtocolVersion, unrecognized: &[&str]) -> Result<()> {
    let violation = |message: String| Err(Error::new(SqlState::PROTOCOL_VIOLATION, message));
    if let Some(name) = unrecognized.first() {
        return violation(format!(
            "received invalid protocol negotiation message: server reported an unsupported \
             parameter that was not requested (\"{name}\")"
        ));
    }
    if version > info.newest_protocol || version.major() != info.newest_protocol.major() {
        return violation(
            "received invalid protocol negotiation message: server requested downgrade to a \
             higher-numbered version"
                .to_owned(),
        );
    }
    if version < info.oldest_protocol {
        return violation(format!(
            "server only supports protocol version {}.{}, but \"min_protocol_version\" was set to \
             {}.{}",
            version.major(),
            version.minor(),
            info.oldest_protocol.major(),
            info.oldest_protocol.minor(),
        ));
    }
    Ok(())
}

fn failure(error: Error, next: Next) -> Failure {
    Failure { error, sqlstate: None, next }
}

/// 08001 in libpq's words: which place failed, and why.
fn refusal(host: &Host, address: &Address, reason: &str) -> Error {
    let place = match address {
        Address::Unix(path) => format!("on socket \"{}\"", path.display()),
        Address::Tcp(address) => {
            let ip = address.ip().to_string();
            let shown = host.address.as_deref().unwrap_or(&host.name);
            let behind = if shown == ip { String::new() } else { format!(" ({ip})") };
            format!("at \"{shown}\"{behind}, port {}", address.port())
        }
    };
    Error::new(UNABLE_TO_CONNECT, format!("connection to server {place} failed: {reason}"))
}

/// The system could not connect.
fn cannot_connect(host: &Host, address: &Address, error: &std::io::Error) -> Error {
    use std::io::ErrorKind;
    let refused = refusal(host, address, &words(error));
    let is_absent = matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound);
    match address {
        _ if !is_absent => refused,
        Address::Unix(_) => {
            refused.hint("Is the server running locally and accepting connections on that socket?")
        }
        Address::Tcp(_) => {
            refused.hint("Is the server running on that host and accepting TCP/IP connections?")
        }
    }
}
