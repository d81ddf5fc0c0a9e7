//! A client's socket: TCP or Unix. Waits for any other socket.

#![allow(unsafe_code)]

use std::io::Result;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::BytesMut;
use socket2::SockRef;
use steppe_cluster::Interest;
use steppe_types::{Error, SqlState};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

/// An accepted socket, before it is on a worker's runtime.
pub(crate) enum Accepted {
    /// TCP, with the client's address.
    Tcp(std::net::TcpStream, SocketAddr),
    /// Unix.
    Unix(std::os::unix::net::UnixStream),
}

impl Accepted {
    /// The processor where the client's packets arrive.
    pub(crate) fn incoming_cpu(&self) -> Option<usize> {
        match self {
            Accepted::Tcp(socket, _) => SockRef::from(socket).cpu_affinity().ok(),
            Accepted::Unix(_) => None,
        }
    }

    /// Moves the socket to the runtime of the calling task.
    pub(crate) fn open(self) -> Result<Stream> {
        match self {
            Accepted::Tcp(socket, peer) => {
                socket.set_nonblocking(true)?;
                socket.set_nodelay(true)?;
                Ok(Stream::Tcp(TcpStream::from_std(socket)?, peer))
            }
            Accepted::Unix(socket) => {
                socket.set_nonblocking(true)?;
                Ok(Stream::Unix(UnixStream::from_std(socket)?))
            }
        }
    }
}

/// A client's socket.
pub(crate) enum Stream {
    /// TCP, with the client's address.
    Tcp(TcpStream, SocketAddr),
    /// Unix.
    Unix(UnixStream),
}

impl Stream {
    /// Takes the socket from its worker's runtime, for another one.
    pub(crate) fn leave(self) -> Result<Accepted> {
        Ok(match self {
            Stream::Tcp(socket, peer) => Accepted::Tcp(socket.into_std()?, peer),
            Stream::Unix(socket) => Accepted::Unix(socket.into_std()?),
        })
    }

    /// The processor where the client's packets arrive.
    pub(crate) fn incoming_cpu(&self) -> Option<usize> {
        match self {
            Stream::Tcp(socket, _) => SockRef::from(socket).cpu_affinity().ok(),
            Stream::Unix(_) => None,
        }
    }

    /// Whether the client is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Stream::Tcp(_, peer) => peer.ip().to_canonical().is_loopback(),
            Stream::Unix(_) => true,
        }
    }

    /// The client's port, or -1 on a Unix socket.
    pub(crate) fn client_port(&self) -> i32 {
        match self {
            Stream::Tcp(_, peer) => i32::from(peer.port()),
            Stream::Unix(_) => -1,
        }
    }

    /// The socket's descriptor, valid until this is dropped.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(socket, _) => socket.as_fd(),
            Stream::Unix(socket) => socket.as_fd(),
        }
    }

    /// The addresses of the client and of the server; none on a Unix socket.
    pub(crate) fn addresses(&self) -> Option<[SocketAddr; 2]> {
        let Stream::Tcp(socket, peer) = self else { return None };
        let canonical =
            |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        Some([canonical(*peer), canonical(socket.local_addr().ok()?)])
    }

    /// Reads the bytes that have arrived, at least one; 0 at the end.
    pub(crate) async fn read(&mut self, buffer: &mut BytesMut) -> Result<usize> {
        match self {
            Stream::Tcp(socket, _) => socket.read_buf(buffer).await,
            Stream::Unix(socket) => socket.read_buf(buffer).await,
        }
    }

    /// Writes everything.
    pub(crate) async fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Stream::Tcp(socket, _) => socket.write_all(bytes).await,
            Stream::Unix(socket) => socket.write_all(bytes).await,
        }
    }

    /// Polls to write.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        match self {
            Stream::Tcp(socket, _) => Pin::new(socket).poll_write(cx, bytes),
            Stream::Unix(socket) => Pin::new(socket).poll_write(cx, bytes),
        }
    }

    /// Closes the sending side, so that the client reads the last error.
    pub(crate) async fn shutdown(&mut self) {
        let _already_gone = match self {
            Stream::Tcp(socket, _) => socket.shutdown().await,
            Stream::Unix(socket) => socket.shutdown().await,
        };
    }
}

/// The readiness of a socket that has its own reads and writes, on the calling task's runtime.
pub(crate) struct ReadySocket<'fd> {
    socket: AsyncFd<BorrowedFd<'fd>>,
    interest: Interest,
}

impl ReadySocket<'_> {
    /// Registers a socket, until this is dropped. 58030 if the system cannot.
    pub(crate) fn of(
        socket: BorrowedFd<'_>,
        interest: Interest,
    ) -> steppe_types::Result<ReadySocket<'_>> {
        use tokio::io::Interest as Of;
        let registered = match interest {
            Interest::Read => Of::READABLE,
            Interest::Write => Of::WRITABLE,
            Interest::Both => Of::READABLE.add(Of::WRITABLE),
        };
        // SAFETY: the descriptor is borrowed, so that it stays open and the same.
        let socket = unsafe { AsyncFd::register_with_interest(socket, registered) };
        let socket = socket.map_err(|error| {
            Error::new(SqlState::IO_ERROR, format!("could not wait for a socket: {error}"))
        })?;
        Ok(ReadySocket { socket, interest })
    }

    /// Whether a read or write would not block. A failed socket is ready: its use says why.
    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        let (reads, writes) = (self.interest != Interest::Write, self.interest != Interest::Read);
        let is_ready = (reads && self.socket.poll_read_ready(cx).is_ready())
            || (writes && self.socket.poll_write_ready(cx).is_ready());
        if is_ready { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Whether the client has closed its socket, or its side of it (pq_check_connection). Its earlier
/// messages need not have been read.
pub(crate) fn has_hung_up(socket: BorrowedFd<'_>) -> bool {
    let closed = libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR | libc::POLLNVAL;
    let mut asked = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
    // SAFETY: it is one entry, and the socket is open as long as it is borrowed.
    let answers = unsafe { libc::poll(&raw mut asked, 1, 0) };
    answers > 0 && asked.revents & closed != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_client_has_hung_up_whatever_it_has_said_before() {
        let (mut client, socket) = UnixStream::pair().unwrap();
        client.write_all(b"not read yet").unwrap();
        assert!(!has_hung_up(socket.as_fd()));
        client.shutdown(Shutdown::Write).unwrap();
        assert!(has_hung_up(socket.as_fd()));
        let (client, socket) = UnixStream::pair().unwrap();
        drop(client);
        assert!(has_hung_up(socket.as_fd()));
    }
}
