//! A node that follows a script: the test says which bytes it sends.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use steppe_cluster::{ConnInfo, Connection};
use steppe_types::Result;
use steppe_wire::{TransactionStatus, backend};

/// A node does nothing for longer than this: its thread ends even if a test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts a node that runs `script` for each connection, one after the other.
pub(crate) fn node(script: impl Fn(&mut TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.set_write_timeout(Some(PATIENCE)).unwrap();
            script(&mut stream);
        }
    });
    address
}

/// Words for this address.
pub(crate) fn info(address: SocketAddr) -> ConnInfo {
    ConnInfo::parse(&format!(
        "host=127.0.0.1 port={} user=u dbname=d passfile=/nonexistent",
        address.port()
    ))
    .unwrap()
}

/// A deadline that a test should not reach.
pub(crate) fn later() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

/// Opens a session on a node that lets it in, and then runs `script`.
pub(crate) fn session(script: impl Fn(&mut TcpStream) + Send + 'static) -> Result<Connection> {
    let address = node(move |stream| {
        if start_up(stream).is_some() {
            send(stream, admission);
            script(stream);
        }
    });
    Ok(Connection::open_in_place(&info(address), later())?)
}

/// Reads the start-up packet.
pub(crate) fn start_up(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut packet = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut packet).ok()?;
    Some(packet)
}

/// Reads a message: its type and body.
pub(crate) fn read(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut tag = [0];
    stream.read_exact(&mut tag).ok()?;
    Some((tag[0], start_up(stream)?))
}

/// Sends messages. The client may have closed the connection.
pub(crate) fn send(stream: &mut TcpStream, write: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = Vec::new();
    write(&mut bytes);
    let _ = stream.write_all(&bytes);
}

/// The messages of a node that lets a session in.
pub(crate) fn admission(buf: &mut Vec<u8>) {
    backend::authentication_ok(buf);
    backend::parameter_status(buf, "server_version", "15.10 (Debian 15.10-0)");
    backend::backend_key_data(buf, 42, &[1, 2, 3, 4]);
    backend::ready_for_query(buf, TransactionStatus::Idle);
}
