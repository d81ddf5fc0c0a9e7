//! CancelRequest: a connection of its own that names the session and shows its key.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::Instant;

use socket2::Socket;
use steppe_types::{Error, Result};
use steppe_wire::client::send;

use super::failure;
use super::socket::{self, Address, words};
use crate::conninfo::Keepalives;
use crate::wait::{self, Heed, Interest};

/// The right to cancel what a session on a node runs.
#[derive(Clone, Debug)]
pub struct Cancel {
    address: Address,
    request: Vec<u8>,
}

impl Cancel {
    pub(super) fn new(address: Address, process_id: i32, key: &[u8]) -> Cancel {
        let mut request = Vec::new();
        send::cancel_request(&mut request, process_id, key);
        Cancel { address, request }
    }

    /// Asks the node to cancel, and waits until it has taken the request. The statement may end
    /// before. The wait heeds no interrupts, because an interrupt is the reason for most cancels.
    /// 08006 if the node cannot be reached by the deadline.
    pub fn send_in_place(&self, deadline: Instant) -> Result<()> {
        let failed =
            |error: io::Error| failure(format!("could not send cancel request: {}", words(&error)));
        let socket = self.address.connect(&Keepalives::OFF).map_err(failed)?;
        while !socket::is_connected(&socket).map_err(failed)? {
            ready(&socket, Interest::Write, deadline)?;
        }
        let mut rest = self.request.as_slice();
        while !rest.is_empty() {
            match (&socket).write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if may_go_on(&error) => ready(&socket, Interest::Write, deadline)?,
                Err(error) => return Err(failed(error)),
            }
        }
        // The node closes the connection once it has signalled the session. It says nothing.
        let mut answer = [0; 64];
        loop {
            match (&socket).read(&mut answer) {
                Err(error) if may_go_on(&error) => ready(&socket, Interest::Read, deadline)?,
                Ok(_) | Err(_) => return Ok(()),
            }
        }
    }
}

fn may_go_on(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn ready(socket: &Socket, interest: Interest, deadline: Instant) -> Result<()> {
    match wait::one(socket.as_fd(), interest, Some(deadline), Heed::Nothing)? {
        true => Ok(()),
        false => Err(timed_out()),
    }
}

#[cold]
fn timed_out() -> Error {
    failure("could not send cancel request: timeout expired")
}
