//! The socket of a connection: nonblocking, TCP or Unix.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use socket2::{SockAddr, Socket, TcpKeepalive, Type};

use crate::conninfo::Keepalives;

/// One address of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// An IP address and port.
    Tcp(SocketAddr),
    /// The path of a Unix socket; one that begins with `@` is in the abstract namespace.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => path.display().fmt(f),
        }
    }
}

impl Address {
    fn resolved(&self) -> io::Result<SockAddr> {
        use std::os::unix::ffi::OsStrExt;
        match self {
            Address::Tcp(address) => Ok(SockAddr::from(*address)),
            Address::Unix(path) => match path.as_os_str().as_bytes().strip_prefix(b"@") {
                Some(name) => SockAddr::unix(std::ffi::OsStr::from_bytes(&[b"\0", name].concat())),
                None => SockAddr::unix(path),
            },
        }
    }

    /// Begins to connect. The socket is connected once it is writable without an error.
    pub(crate) fn connect(&self, keepalives: &Keepalives) -> io::Result<Socket> {
        let address = self.resolved()?;
        let socket = Socket::new(address.domain(), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        if matches!(self, Address::Tcp(_)) {
            tune(&socket, keepalives)?;
        }
        match socket.connect(&address) {
            Ok(()) => Ok(socket),
            Err(error) if is_in_progress(&error) => Ok(socket),
            Err(error) => Err(error),
        }
    }
}

fn is_in_progress(error: &io::Error) -> bool {
    use nix::errno::Errno;
    [Errno::EINPROGRESS, Errno::EINTR]
        .iter()
        .any(|&errno| error.raw_os_error() == Some(errno as i32))
}

fn tune(socket: &Socket, keepalives: &Keepalives) -> io::Result<()> {
    socket.set_tcp_nodelay(true)?;
    if keepalives.enabled {
        let mut wanted = TcpKeepalive::new();
        if let Some(idle) = keepalives.idle {
            wanted = wanted.with_time(idle);
        }
        if let Some(interval) = keepalives.interval {
            wanted = wanted.with_interval(interval);
        }
        if let Some(count) = keepalives.count {
            wanted = wanted.with_retries(count);
        }
        socket.set_keepalive(true)?;
        socket.set_tcp_keepalive(&wanted)?;
    }
    match keepalives.user_timeout {
        Some(timeout) => socket.set_tcp_user_timeout(Some(timeout)),
        None => Ok(()),
    }
}

/// Whether the socket is connected; an error if it never will be.
pub(crate) fn is_connected(socket: &Socket) -> io::Result<bool> {
    if let Some(error) = socket.take_error()? {
        return Err(error);
    }
    match socket.peer_addr() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}

/// The system's words for an error, without the number that Rust adds.
pub(crate) fn words(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(code) => nix::errno::Errno::from_raw(code).desc().to_owned(),
        None => error.to_string(),
    }
}
