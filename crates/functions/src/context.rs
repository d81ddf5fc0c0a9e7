//! The context of a function call, besides the arguments.

use crate::host::{Host, NoSession, SessionHost};
use std::sync::Arc;
use steppe_catalog::Catalog;
use steppe_types::io::IoContext;

/// A function's view of the session.
#[derive(Clone)]
pub struct FnContext {
    /// The session.
    pub session: Arc<dyn SessionHost>,
    /// Settings that text input and output depend on.
    pub io: Arc<IoContext>,
    /// The catalog the statement was planned against.
    pub catalog: Arc<Catalog>,
    /// statement_timestamp: microseconds since 2000-01-01 UTC.
    pub statement_timestamp: i64,
    /// now, transaction_timestamp.
    pub transaction_timestamp: i64,
}

impl FnContext {
    /// The services of the session that functions may use.
    #[inline]
    pub fn host(&self) -> &dyn Host {
        &*self.session
    }

    /// A context in which only pure functions work.
    pub fn pure(catalog: Arc<Catalog>) -> FnContext {
        FnContext {
            session: Arc::new(NoSession),
            io: Arc::new(IoContext::default()),
            catalog,
            statement_timestamp: 0,
            transaction_timestamp: 0,
        }
    }
}
