//! The hosts of a node: parallel lists of names, addresses and ports (libpq's connectOptions2).

use std::path::PathBuf;

use steppe_types::{Error, Result, SqlState};

use super::numbers;

/// PostgreSQL's port.
const DEFAULT_PORT: u16 = 5432;
/// The host if none is named.
const DEFAULT_HOST: &str = "localhost";
/// More hosts than a node can sensibly have: each may take connect_timeout.
const MAX_HOSTS: usize = 100;

/// One place where the node may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name or address; a name that begins with `/` is the directory of a Unix socket, and
    /// one that begins with `@` is in the abstract namespace.
    pub name: String,
    /// The IP address, for a caller that spares the look-up of the name (hostaddr).
    pub address: Option<String>,
    /// Its TCP port, or the number in the Unix socket's name.
    pub port: u16,
}

impl Host {
    /// The path of its Unix socket; `None` if it listens on TCP.
    pub fn socket_path(&self) -> Option<PathBuf> {
        let is_directory = self.address.is_none() && self.name.starts_with(['/', '@']);
        is_directory.then(|| PathBuf::from(format!("{}/.s.PGSQL.{}", self.name, self.port)))
    }

    /// The host's name in the password file.
    pub(crate) fn name_in_passfile(&self) -> &str {
        match &self.address {
            Some(address) if self.name.is_empty() => address,
            _ => &self.name,
        }
    }
}

/// Joins the three lists. One port serves all hosts.
pub(super) fn hosts(
    names: Option<&str>,
    addresses: Option<&str>,
    ports: Option<&str>,
) -> Result<Vec<Host>> {
    let list = |text: Option<&str>| -> Vec<String> {
        let given = text.filter(|text| !text.is_empty());
        given.map_or_else(Vec::new, |text| text.split(',').map(str::to_owned).collect())
    };
    let (names, addresses, ports) = (list(names), list(addresses), list(ports));
    if !names.is_empty() && !addresses.is_empty() && names.len() != addresses.len() {
        return Err(mismatch(names.len(), "host names", addresses.len(), "hostaddr values"));
    }
    let count = names.len().max(addresses.len()).max(1);
    if ports.len() > 1 && ports.len() != count {
        return Err(mismatch(ports.len(), "port numbers", count, "hosts"));
    }
    if count > MAX_HOSTS {
        let message = format!("a node cannot have more than {MAX_HOSTS} hosts");
        return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    (0..count)
        .map(|at| {
            let address = addresses.get(at).filter(|address| !address.is_empty()).cloned();
            let name = names.get(at).filter(|name| !name.is_empty()).cloned();
            let port = match ports.get(at).or(ports.first()).map(String::as_str) {
                None | Some("") => DEFAULT_PORT,
                Some(text) => numbers::port(text)?,
            };
            let default = if address.is_some() { "" } else { DEFAULT_HOST };
            Ok(Host { name: name.unwrap_or_else(|| default.to_owned()), address, port })
        })
        .collect()
}

#[cold]
fn mismatch(have: usize, what: &str, expected: usize, of: &str) -> Error {
    let message = format!("could not match {have} {what} to {expected} {of}");
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}
