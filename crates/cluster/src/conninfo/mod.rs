//! libpq's connection words: where a node is, and as which user to connect.
//!
//! A [`ConnInfo`] is checked as a whole when it is made, so that a node that cannot work is refused
//! where it is configured. The words, their rules and error texts are libpq's
//! (src/interfaces/libpq/fe-connect.c of PostgreSQL 18). The differences:
//!
//! - The environment (PGHOST and the like) and service files are not read: the settings of a
//!   cluster do not depend on how its server was started.
//! - A host that is not named is `localhost`.
//! - There is no TLS yet. The words that need it, or another protection that is missing, are
//!   refused with 0A000. `sslmode` prefer and allow connect without encryption.
//!
//! Errors: HV00D an unknown word, 42601 a text that is no connection string, 22023 a bad value,
//! 0A000 a value that is not supported yet.

mod hosts;
mod numbers;
mod text;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use steppe_types::{Error, Result, SqlState};
use steppe_wire::startup::ProtocolVersion;

pub use hosts::Host;

/// FDW_INVALID_OPTION_NAME: what PostgreSQL's foreign-data wrappers raise for an unknown option.
pub(crate) const INVALID_OPTION_NAME: SqlState = SqlState(*b"HV00D");

/// Where a node is, and how to connect to it.
#[derive(Clone, Debug)]
pub struct ConnInfo {
    /// The hosts, at least one, in the order in which they are tried.
    pub hosts: Vec<Host>,
    /// The role; the caller sets a missing one before it connects.
    pub user: Option<String>,
    /// The database; the role's name if it is missing.
    pub dbname: Option<String>,
    /// The password; if it is missing, the password file is searched when a node asks for one.
    pub password: Option<Secret>,
    /// The password file; `~/.pgpass` of the server's own user if it is missing.
    pub passfile: Option<PathBuf>,
    /// Which of the hosts are acceptable.
    pub target: TargetSessionAttrs,
    /// How long each address of a host may take; `None` is no limit but the caller's deadline.
    pub connect_timeout: Option<Duration>,
    /// application_name on the node.
    pub application_name: Option<String>,
    /// Command-line options for the node's session (`-c name=value`).
    pub options: Option<String>,
    /// Settings for the start-up packet. They are the caller's: words do not set them.
    pub settings: Vec<(String, String)>,
    /// TCP's keepalive.
    pub keepalives: Keepalives,
    /// The oldest version of the protocol that is acceptable.
    pub oldest_protocol: ProtocolVersion,
    /// The newest version of the protocol to ask for.
    pub newest_protocol: ProtocolVersion,
}

/// A text that Debug does not show.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// Which servers are acceptable among several hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TargetSessionAttrs {
    /// Any server.
    #[default]
    Any,
    /// One whose sessions may write by default.
    ReadWrite,
    /// One whose sessions may not write by default.
    ReadOnly,
    /// One that is not in hot standby.
    Primary,
    /// One in hot standby.
    Standby,
    /// One in hot standby; if there is none, any server.
    PreferStandby,
}

/// TCP's keepalive. A number that is missing is the system's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalives {
    /// Whether TCP probes a silent connection.
    pub enabled: bool,
    /// Silence before the first probe.
    pub idle: Option<Duration>,
    /// Time between two probes.
    pub interval: Option<Duration>,
    /// Unanswered probes after which the connection is lost.
    pub count: Option<u32>,
    /// How long sent data may stay unacknowledged.
    pub user_timeout: Option<Duration>,
}

impl Keepalives {
    /// The system's defaults: silent connections are not probed.
    pub const OFF: Keepalives =
        Keepalives { enabled: false, idle: None, interval: None, count: None, user_timeout: None };
}

impl ConnInfo {
    /// Reads a connection string: words (`host=a port=1`) or a URI (`postgresql://a:1/`).
    pub fn parse(text: &str) -> Result<ConnInfo> {
        let words = text::words(text)?;
        ConnInfo::from_words(words.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// Checks separate words. The later of two with one name counts.
    pub fn from_words<'a>(words: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<ConnInfo> {
        let mut given = Given::default();
        for (name, value) in words {
            given.set(name, value)?;
        }
        given.refuse_unsupported()?;
        let application_name = given.text("application_name");
        let (oldest_protocol, newest_protocol) = given.protocols()?;
        Ok(ConnInfo {
            hosts: hosts::hosts(given.get("host"), given.get("hostaddr"), given.get("port"))?,
            user: given.text("user"),
            dbname: given.text("dbname"),
            password: given.text("password").map(Secret),
            passfile: given.text("passfile").map(PathBuf::from),
            target: target(given.get("target_session_attrs"))?,
            connect_timeout: given.seconds("connect_timeout")?,
            application_name: application_name.or(given.text("fallback_application_name")),
            options: given.text("options"),
            settings: Vec::new(),
            keepalives: given.keepalives()?,
            oldest_protocol,
            newest_protocol,
        })
    }

    /// The database's name: the role's if none was given.
    pub fn database(&self) -> Option<&str> {
        self.dbname.as_deref().or(self.user.as_deref())
    }
}

/// All words that libpq of PostgreSQL 15 to 18 knows.
const NAMES: [&str; 53] = [
    "application_name",
    "authtype",
    "channel_binding",
    "client_encoding",
    "connect_timeout",
    "dbname",
    "fallback_application_name",
    "gssdelegation",
    "gssencmode",
    "gsslib",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "load_balance_hosts",
    "max_protocol_version",
    "min_protocol_version",
    "oauth_client_id",
    "oauth_client_secret",
    "oauth_issuer",
    "oauth_scope",
    "options",
    "passfile",
    "password",
    "port",
    "replication",
    "require_auth",
    "requirepeer",
    "requiressl",
    "scram_client_key",
    "scram_server_key",
    "service",
    "servicefile",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcertmode",
    "sslcompression",
    "sslcrl",
    "sslcrldir",
    "sslkey",
    "sslkeylogfile",
    "sslmode",
    "sslnegotiation",
    "sslpassword",
    "sslrootcert",
    "sslsni",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// Words that protect the connection, choose a host or change the session in a way that is missing
/// here: each with the values that ask for nothing of it.
const UNSUPPORTED: [(&str, &[&str]); 14] = [
    ("channel_binding", &["disable", "prefer"]),
    ("client_encoding", &["auto", "UTF8", "UTF-8", "utf8", "utf-8", "UNICODE", "unicode"]),
    ("gssencmode", &["disable", "prefer"]),
    ("load_balance_hosts", &["disable"]),
    ("oauth_client_id", &[""]),
    ("oauth_issuer", &[""]),
    ("replication", &["false", "off", "no", "0"]),
    ("require_auth", &[""]),
    ("requirepeer", &[""]),
    ("scram_client_key", &[""]),
    ("scram_server_key", &[""]),
    ("service", &[""]),
    ("sslmode", &["disable", "allow", "prefer"]),
    ("sslnegotiation", &["postgres"]),
];

/// Values that libpq knows; another one is 22023 there.
const KNOWN: [(&str, &[&str]); 5] = [
    ("channel_binding", &["disable", "prefer", "require"]),
    ("gssencmode", &["disable", "prefer", "require"]),
    ("load_balance_hosts", &["disable", "random"]),
    ("sslmode", &["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]),
    ("sslnegotiation", &["postgres", "direct"]),
];

/// The name, if libpq knows it.
fn storable(name: &str) -> Result<&str> {
    if NAMES.contains(&name) {
        return Ok(name);
    }
    Err(Error::new(INVALID_OPTION_NAME, format!("invalid connection option \"{name}\"")))
}

/// The words that were given; of two with one name the later.
#[derive(Default)]
struct Given(Vec<(&'static str, String)>);

impl Given {
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        storable(name)?;
        if value.contains('\0') {
            return Err(invalid_value(name, value));
        }
        // The old spelling of sslmode.
        let (name, value) = match (name, value.starts_with('1')) {
            ("requiressl", true) => ("sslmode", "require"),
            ("requiressl", false) => ("sslmode", "prefer"),
            _ => (name, value),
        };
        let Some(&name) = NAMES.iter().find(|known| **known == name) else { return Ok(()) };
        self.0.retain(|(earlier, _)| *earlier != name);
        self.0.push((name, value.to_owned()));
        Ok(())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    /// A word whose empty value is none.
    fn text(&self, name: &str) -> Option<String> {
        self.get(name).filter(|value| !value.is_empty()).map(str::to_owned)
    }

    fn refuse_unsupported(&self) -> Result<()> {
        for (name, values) in KNOWN {
            if let Some(value) = self.get(name)
                && !values.contains(&value)
            {
                return Err(invalid_value(name, value));
            }
        }
        for (name, harmless) in UNSUPPORTED {
            if let Some(value) = self.get(name)
                && !harmless.contains(&value)
            {
                return Err(Error::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("{name} \"{value}\" is not supported yet"),
                ));
            }
        }
        Ok(())
    }

    /// The oldest and the newest version of the protocol.
    fn protocols(&self) -> Result<(ProtocolVersion, ProtocolVersion)> {
        let oldest = self.protocol("min_protocol_version")?.unwrap_or(ProtocolVersion::V3_0);
        let newest = self.protocol("max_protocol_version")?;
        if newest.is_some_and(|newest| newest < oldest) {
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "\"min_protocol_version\" is greater than \"max_protocol_version\"",
            ));
        }
        // What every server speaks, unless the words ask for more.
        Ok((oldest, newest.unwrap_or(oldest)))
    }

    fn protocol(&self, name: &str) -> Result<Option<ProtocolVersion>> {
        match self.get(name) {
            None | Some("") => Ok(None),
            Some("3.0") => Ok(Some(ProtocolVersion::V3_0)),
            Some("3.2") => Ok(Some(ProtocolVersion::V3_2)),
            Some("latest") => Ok(Some(ProtocolVersion::LATEST)),
            Some(value) => Err(invalid_value(name, value)),
        }
    }

    fn keepalives(&self) -> Result<Keepalives> {
        Ok(Keepalives {
            enabled: self.integer("keepalives")? != Some(0),
            idle: self.seconds("keepalives_idle")?,
            interval: self.seconds("keepalives_interval")?,
            count: self
                .integer("keepalives_count")?
                .and_then(|n| u32::try_from(n).ok().filter(|&n| n > 0)),
            user_timeout: self
                .integer("tcp_user_timeout")?
                .and_then(|n| u64::try_from(n).ok().filter(|&n| n > 0))
                .map(Duration::from_millis),
        })
    }

    /// A time in whole seconds; zero and less are none.
    fn seconds(&self, name: &str) -> Result<Option<Duration>> {
        let seconds = self.integer(name)?.and_then(|n| u64::try_from(n).ok());
        Ok(seconds.filter(|&n| n > 0).map(Duration::from_secs))
    }

    fn integer(&self, name: &str) -> Result<Option<i32>> {
        self.get(name).map(|value| numbers::integer(name, value)).transpose()
    }
}

fn target(word: Option<&str>) -> Result<TargetSessionAttrs> {
    Ok(match word {
        None | Some("any") => TargetSessionAttrs::Any,
        Some("read-write") => TargetSessionAttrs::ReadWrite,
        Some("read-only") => TargetSessionAttrs::ReadOnly,
        Some("primary") => TargetSessionAttrs::Primary,
        Some("standby") => TargetSessionAttrs::Standby,
        Some("prefer-standby") => TargetSessionAttrs::PreferStandby,
        Some(value) => return Err(invalid_value("target_session_attrs", value)),
    })
}

#[cold]
fn invalid_value(name: &str, value: &str) -> Error {
    let message = format!("invalid {name} value: \"{value}\"");
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

#[cold]
fn invalid_syntax(message: impl Into<String>) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

#[cfg(test)]
mod tests;
