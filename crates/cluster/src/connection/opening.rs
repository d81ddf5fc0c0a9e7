//! Opening a session on a node: its hosts in order, each with its addresses, until one lets the
//! session in and is acceptable (PQconnectPoll in src/interfaces/libpq/fe-connect.c).
//!
//! After a failure to connect, the next address is tried. A host that is starting up or that
//! target_session_attrs refuses is left for the next host. Any other refusal of a host ends the
//! attempts, as in libpq: another host would refuse a wrong password, too.
//!
//! Only the look-up of a host's name may keep the thread waiting. `hostaddr` avoids it.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Instant;

use steppe_types::{Error, SqlState};

use super::attempt::{Attempt, Failure, Next};
use super::socket::{Address, words};
use super::{Connection, Step};
use crate::conninfo::{ConnInfo, Host, TargetSessionAttrs};

/// 08001: the hosts of the node have refused the session, or cannot be reached.
pub(crate) const UNABLE_TO_CONNECT: SqlState = SqlState(*b"08001");

/// Why no session could be opened.
#[derive(Clone, Debug)]
pub struct Refused {
    /// 08001 with libpq's text: a line for each address that was tried.
    pub error: Error,
    /// The SQLSTATE of the last host that answered with an error: 53300 if it has no room for more
    /// sessions, 57P03 if it is starting up, 28P01 if the password is wrong.
    pub sqlstate: Option<SqlState>,
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        refused.error
    }
}

/// A session that is being opened.
pub struct Opening {
    info: Arc<ConnInfo>,
    wanted: TargetSessionAttrs,
    /// The next host.
    host: usize,
    /// The addresses of the host before it that are still to be tried.
    addresses: VecDeque<Address>,
    attempt: Option<Attempt>,
    failures: Vec<Error>,
    sqlstate: Option<SqlState>,
}

impl Opening {
    /// Begins; the first call of [`advance`](Self::advance) connects.
    pub fn new(info: &ConnInfo) -> Opening {
        Opening {
            info: Arc::new(info.clone()),
            wanted: info.target,
            host: 0,
            addresses: VecDeque::new(),
            attempt: None,
            failures: Vec::new(),
            sqlstate: None,
        }
    }

    /// The socket of the attempt that runs, to wait for.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.attempt.as_ref().map(Attempt::descriptor)
    }

    /// When the attempt that runs has taken connect_timeout: the caller calls
    /// [`advance`](Self::advance) again at this time, even if the socket is not ready.
    pub fn deadline(&self) -> Option<Instant> {
        self.attempt.as_ref()?.deadline
    }

    /// Goes on as far as it can without waiting.
    pub fn advance(&mut self) -> Result<Step<Connection>, Refused> {
        loop {
            let Some(attempt) = &mut self.attempt else {
                self.next_attempt()?;
                continue;
            };
            match attempt.advance() {
                Ok(Step::Ready(())) => {
                    if let Some(attempt) = self.attempt.take() {
                        return Ok(Step::Ready(attempt.into_connection()));
                    }
                }
                Ok(Step::Waits(interest)) => {
                    if attempt.deadline.is_none_or(|at| Instant::now() < at) {
                        return Ok(Step::Waits(interest));
                    }
                    self.give_up_attempt();
                }
                Err(failure) => self.failed(failure)?,
            }
        }
    }

    /// The attempt that runs has no time left.
    fn give_up_attempt(&mut self) {
        if let Some(attempt) = self.attempt.take() {
            self.failures.push(attempt.timed_out());
        }
    }

    /// The caller's deadline has passed.
    pub fn timed_out(mut self) -> Refused {
        self.give_up_attempt();
        self.refused()
    }

    fn failed(&mut self, failure: Failure) -> Result<(), Refused> {
        self.attempt = None;
        self.failures.push(failure.error);
        self.sqlstate = failure.sqlstate.or(self.sqlstate);
        match failure.next {
            Next::Address => {}
            Next::Host => self.addresses.clear(),
            Next::Nothing => return Err(self.refused()),
        }
        Ok(())
    }

    /// Begins to connect to the next address.
    fn next_attempt(&mut self) -> Result<(), Refused> {
        let Some(address) = self.addresses.pop_front() else { return self.next_host() };
        match Attempt::new(&self.info, self.host - 1, self.wanted, address) {
            Ok(attempt) => {
                self.attempt = Some(attempt);
                Ok(())
            }
            Err(failure) => self.failed(failure),
        }
    }

    fn next_host(&mut self) -> Result<(), Refused> {
        let Some(host) = self.info.hosts.get(self.host) else {
            if self.wanted != TargetSessionAttrs::PreferStandby {
                return Err(self.refused());
            }
            // All were refused because none is a standby: the second round takes any.
            self.wanted = TargetSessionAttrs::Any;
            self.host = 0;
            self.failures.clear();
            return Ok(());
        };
        self.host += 1;
        match addresses(host) {
            Ok(addresses) => self.addresses = addresses,
            Err(error) => self.failures.push(error),
        }
        Ok(())
    }

    fn refused(&mut self) -> Refused {
        let mut failures = std::mem::take(&mut self.failures);
        let error = match failures.len() {
            0 => Error::new(UNABLE_TO_CONNECT, "timeout expired"),
            1 => failures.remove(0),
            _ => {
                let lines: Vec<&str> = failures.iter().map(Error::message).collect();
                Error::new(UNABLE_TO_CONNECT, lines.join("\n"))
            }
        };
        Refused { error, sqlstate: self.sqlstate }
    }
}

/// The addresses of a host, looked up if it is a name.
fn addresses(host: &Host) -> Result<VecDeque<Address>, Error> {
    if let Some(path) = host.socket_path() {
        return Ok(VecDeque::from([Address::Unix(path)]));
    }
    if let Some(address) = &host.address {
        let parsed: Result<IpAddr, _> = address.parse();
        return match parsed {
            Ok(ip) => Ok(VecDeque::from([Address::Tcp(SocketAddr::new(ip, host.port))])),
            Err(error) => Err(Error::new(
                UNABLE_TO_CONNECT,
                format!("could not parse network address \"{address}\": {error}"),
            )),
        };
    }
    let found = (host.name.as_str(), host.port).to_socket_addrs();
    found.map(|found| found.map(Address::Tcp).collect()).map_err(|error: io::Error| {
        let text = words(&error);
        let reason = text.strip_prefix("failed to lookup address information: ").unwrap_or(&text);
        Error::new(
            UNABLE_TO_CONNECT,
            format!("could not translate host name \"{}\" to address: {reason}", host.name),
        )
    })
}
