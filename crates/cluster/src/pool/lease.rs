//! A granted place, and the connection that fills it.

#![allow(unsafe_code)]

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Instant;

use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};

use super::core::{Grant, Ticket};
use super::request::Request;
use super::{Condition, Opener, Pool, Pooled};

/// A place in the pool: an idle connection, or the permission to open one. Dropped, it goes to the
/// next request.
pub struct Place<O: Opener> {
    pool: Arc<Pool<O>>,
    key: O::Key,
    ticket: Ticket,
    /// `None` once it is used.
    grant: Option<Grant<O::Connection>>,
}

/// The end of a place.
pub enum Filled<O: Opener> {
    /// The connection.
    Ready(Lease<O>),
    /// The node is at its max_connections: the request waits again, where it was in the queue.
    Again(Request<O>),
}

impl<O: Opener> fmt::Debug for Place<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({} {})", self.pool.name(), self.ticket)
    }
}

impl<O: Opener> Place<O> {
    pub(super) fn new(
        pool: Arc<Pool<O>>,
        key: O::Key,
        ticket: Ticket,
        grant: Grant<O::Connection>,
    ) -> Place<O> {
        Place { pool, key, ticket, grant: Some(grant) }
    }

    fn connection(&mut self) -> Option<&mut O::Connection> {
        self.grant.as_mut()?.connection.as_mut()
    }

    /// Whether [`Self::fill`] would not wait for the node.
    pub fn is_ready(&mut self) -> bool {
        self.connection().is_some_and(|connection| {
            connection.condition() == Condition::Clean && connection.is_alive()
        })
    }

    /// The connection of the place. If it has none that is alive and clean, opens or resets one.
    /// This waits in place, until the deadline or connect_timeout, and fails with 08006 if the node
    /// is down, or with the node's own error.
    pub fn fill(mut self, deadline: Instant) -> Result<Filled<O>> {
        let deadline = deadline.min(Instant::now() + self.pool.connect_timeout());
        let is_usable = self.is_usable(deadline)?;
        let Some(Grant { connection, generation }) = self.grant.take() else {
            return Err(Error::internal("a place in a pool was used twice"));
        };
        match connection {
            Some(connection) if is_usable => {
                return Ok(Filled::Ready(self.lease(connection, generation)));
            }
            Some(dead) => {
                dead.close();
                self.pool.step(|core, now| core.found_dead(now))?;
            }
            None => {}
        }
        self.open(generation, deadline)
    }

    /// Whether the place has a connection that is alive and clean, after a reset if it needs one.
    fn is_usable(&mut self, deadline: Instant) -> Result<bool> {
        let Some(connection) = self.connection() else { return Ok(false) };
        if !connection.is_alive() {
            return Ok(false);
        }
        if connection.condition() == Condition::NeedsReset {
            match connection.reset(deadline) {
                Err(error) if is_interrupt(&error) => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(connection.condition() == Condition::Clean)
    }

    fn lease(&self, connection: O::Connection, generation: u64) -> Lease<O> {
        let (pool, key) = (Arc::clone(&self.pool), self.key.clone());
        Lease { pool, key, generation, connection: ManuallyDrop::new(connection) }
    }

    fn open(mut self, generation: u64, deadline: Instant) -> Result<Filled<O>> {
        // If opening panics, the place goes to the next.
        self.grant = Some(Grant { connection: None, generation });
        let opened = self.pool.opener.open(&self.key, deadline);
        self.grant = None;
        let failure = match opened {
            Ok(connection) => {
                self.pool.step(|core, now| core.opened(now));
                return Ok(Filled::Ready(self.lease(connection, generation)));
            }
            Err(failure) => self.pool.named(failure),
        };
        let (ticket, key) = (self.ticket, self.key.clone());
        match self.pool.step(|core, now| core.open_failed(ticket, key, failure, now)) {
            Some(error) => Err(error),
            None => {
                let (pool, key) = (Arc::clone(&self.pool), self.key.clone());
                Ok(Filled::Again(Request::new(pool, key, ticket)))
            }
        }
    }
}

/// Whether the error is about the waiting statement, not about its connection. A node's errors
/// have severity ERROR here.
pub(super) fn is_interrupt(error: &Error) -> bool {
    error.sqlstate() == SqlState::QUERY_CANCELED || error.fields().severity == Severity::Fatal
}

impl<O: Opener> Drop for Place<O> {
    fn drop(&mut self) {
        let Some(grant) = self.grant.take() else { return };
        let key = self.key.clone();
        // A reset may have been interrupted.
        let is_clean = grant.connection.as_ref().is_none_or(is_reusable);
        self.pool.step(|core, now| core.give_up(key, grant, is_clean, now));
    }
}

fn is_reusable<C: Pooled>(connection: &C) -> bool {
    connection.condition() != Condition::Unusable
}

/// A connection in use. Dropped, it is given back to the pool if it is clean or can be reset. Else it
/// is closed.
pub struct Lease<O: Opener> {
    pool: Arc<Pool<O>>,
    key: O::Key,
    generation: u64,
    connection: ManuallyDrop<O::Connection>,
}

impl<O: Opener> fmt::Debug for Lease<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lease({})", self.pool.name())
    }
}

impl<O: Opener> Lease<O> {
    /// Its pool.
    pub fn pool(&self) -> &Arc<Pool<O>> {
        &self.pool
    }
}

impl<O: Opener> Deref for Lease<O> {
    type Target = O::Connection;

    fn deref(&self) -> &O::Connection {
        &self.connection
    }
}

impl<O: Opener> DerefMut for Lease<O> {
    fn deref_mut(&mut self) -> &mut O::Connection {
        &mut self.connection
    }
}

impl<O: Opener> Drop for Lease<O> {
    fn drop(&mut self) {
        // SAFETY: only this takes it, and nothing looks at it afterwards.
        let connection = unsafe { ManuallyDrop::take(&mut self.connection) };
        let (key, generation) = (self.key.clone(), self.generation);
        let is_clean = is_reusable(&connection);
        self.pool.step(|core, now| core.give_back(key, connection, generation, is_clean, now));
    }
}
