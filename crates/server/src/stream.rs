//! A client's socket: TCP or Unix.

use std::io::Result;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

/// An accepted socket, not yet on a worker's runtime.
pub(crate) enum Accepted {
    /// TCP, with the client's address.
    Tcp(std::net::TcpStream, SocketAddr),
    /// Unix.
    Unix(std::os::unix::net::UnixStream),
}

impl Accepted {
    /// Takes the socket to the runtime of the calling task.
    pub(crate) fn open(self) -> Result<Stream> {
        match self {
            Accepted::Tcp(socket, peer) => {
                socket.set_nonblocking(true)?;
                socket.set_nodelay(true)?;
                Ok(Stream { socket: Socket::Tcp(TcpStream::from_std(socket)?), peer: Some(peer) })
            }
            Accepted::Unix(socket) => {
                socket.set_nonblocking(true)?;
                Ok(Stream { socket: Socket::Unix(UnixStream::from_std(socket)?), peer: None })
            }
        }
    }
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A client's socket.
pub(crate) struct Stream {
    socket: Socket,
    peer: Option<SocketAddr>,
}

impl Stream {
    /// Whether the client is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.peer.is_none_or(|peer| peer.ip().to_canonical().is_loopback())
    }

    /// The client's port; -1 on a Unix socket.
    pub(crate) fn client_port(&self) -> i32 {
        self.peer.map_or(-1, |peer| i32::from(peer.port()))
    }

    /// Reads what has arrived, at least a byte; 0 at the end.
    pub(crate) async fn read(&mut self, buffer: &mut BytesMut) -> Result<usize> {
        match &mut self.socket {
            Socket::Tcp(socket) => socket.read_buf(buffer).await,
            Socket::Unix(socket) => socket.read_buf(buffer).await,
        }
    }

    /// Writes everything.
    pub(crate) async fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.socket {
            Socket::Tcp(socket) => socket.write_all(bytes).await,
            Socket::Unix(socket) => socket.write_all(bytes).await,
        }
    }

    /// Polls to write.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        match &mut self.socket {
            Socket::Tcp(socket) => Pin::new(socket).poll_write(cx, bytes),
            Socket::Unix(socket) => Pin::new(socket).poll_write(cx, bytes),
        }
    }

    /// Says that nothing more comes, so that the client reads the last error.
    pub(crate) async fn shutdown(&mut self) {
        let _already_gone = match &mut self.socket {
            Socket::Tcp(socket) => socket.shutdown().await,
            Socket::Unix(socket) => socket.shutdown().await,
        };
    }
}
