//! The services of the calling session for built-in functions.
//!
//! This is all that families of functions see of a session ([`crate::FnContext::host`]): they know
//! no statements, locks or progress. The defaults are those without a session: a service that needs
//! one is refused with 0A000, so that a test implements only what it needs.

mod session;

pub use session::{
    CountedCall, Frame, KeyCheck, NoSession, SessionHost, TransitionRows, TransitionTable,
    UtilityCall,
};

use std::any::Any;
use std::sync::Arc;
use steppe_catalog::TEMPORARY_SCHEMA;
use steppe_types::{Error, Oid, Result};

/// The process and the role that a statement runs as.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The process id that clients see.
    pub pid: i32,
    /// The database.
    pub database: Arc<str>,
    /// The name of the session's schema of temporary objects, which need not exist.
    pub temporary_schema: Arc<str>,
    /// The current role.
    pub user: Arc<str>,
    /// Its OID.
    pub user_oid: Oid,
    /// The role that the client has connected as.
    pub session_user: Arc<str>,
}

impl Identity {
    /// The identity of a session whose current role is the one that the client has connected as.
    pub fn new(pid: i32, user: Arc<str>, database: Arc<str>) -> Identity {
        Identity {
            pid,
            database,
            temporary_schema: format!("{TEMPORARY_SCHEMA}_{pid}").into(),
            session_user: Arc::clone(&user),
            user,
            user_oid: steppe_catalog::BOOTSTRAP_SUPERUSER,
        }
    }

    /// The identity without a session: the superuser's.
    pub fn superuser() -> Identity {
        let user = Arc::from(steppe_catalog::SUPERUSER_NAME);
        Identity::new(0, user, Arc::from(steppe_catalog::DATABASE_NAME))
    }
}

/// The services of a session for the functions that a statement calls.
///
/// A crate above that registers functions converts it to its own session type by [`Any`].
pub trait Host: Any + Send + Sync {
    /// 57014 and its kin, if the statement is to stop.
    fn check_interrupts(&self) -> Result<()> {
        Ok(())
    }

    /// Sends a notice to the client.
    fn notice(&self, notice: Error) {
        let _ = notice;
    }

    /// Writes a message to the server's log.
    fn log(&self, message: Error) {
        let _ = message;
    }

    /// The session's process and role: current_user, session_user, pg_backend_pid and the like.
    fn identity(&self) -> Arc<Identity> {
        Arc::new(Identity::superuser())
    }

    /// current_setting; `None` if there is no such setting.
    fn setting(&self, name: &str) -> Result<Option<String>> {
        let _ = name;
        Ok(None)
    }

    /// The effective search path, first the creation schema; implicit schemas on demand.
    fn search_path(&self, include_implicit: bool) -> Vec<Arc<str>> {
        let _ = include_implicit;
        vec![Arc::from("public")]
    }

    /// clock_timestamp: microseconds since 2000-01-01 UTC.
    fn clock_timestamp(&self) -> i64 {
        0
    }

    /// A uniformly distributed number from 0 (inclusive) to 1 (exclusive).
    fn random(&self) -> f64 {
        0.0
    }

    /// setseed
    fn set_seed(&self, seed: f64) -> Result<()> {
        let _ = seed;
        Ok(())
    }

    /// The number of triggers that are being called, one within the other (pg_trigger_depth).
    fn trigger_depth(&self) -> i32 {
        0
    }

    /// Sixteen random bytes for UUIDs.
    fn random_bytes(&self) -> [u8; 16] {
        [0; 16]
    }

    /// nextval by the sequence's OID. It, currval and setval wait for a transaction that changes the
    /// sequence, and keep others from changing it until this one ends.
    fn nextval(&self, sequence: Oid) -> Result<i64> {
        let _ = sequence;
        Err(Error::not_supported("nextval in this context"))
    }

    /// currval by the sequence's OID.
    fn currval(&self, sequence: Oid) -> Result<i64> {
        let _ = sequence;
        Err(Error::not_supported("currval in this context"))
    }

    /// lastval.
    fn lastval(&self) -> Result<i64> {
        Err(Error::not_supported("lastval in this context"))
    }

    /// setval(sequence, value, is_called).
    fn setval(&self, sequence: Oid, value: i64, is_called: bool) -> Result<i64> {
        let _ = (sequence, value, is_called);
        Err(Error::not_supported("setval in this context"))
    }
}
