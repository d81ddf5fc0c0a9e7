//! The check of a node after CREATE NODE and ALTER NODE: they warn if it cannot be reached, or if it
//! will refuse the transactions of a cluster.
//!
//! The node is kept either way: it may be started or set up later.

use std::time::{Duration, Instant};

use steppe_cluster::pool::{NodeConnection, NodeOpener, OpenFailure, Opener, Pooled};
use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};

use super::Session;
use crate::cluster::connection_words;

/// How long the check may take.
const TIME: Duration = Duration::from_secs(2);

impl Session {
    /// Warns of a node that was made or changed. An error is a connection word that is not
    /// supported, or the statement's interrupt.
    pub(super) fn check_node(&self, name: &str) -> Result<()> {
        let node = self.node(name)?;
        let opener = NodeOpener::new(connection_words(&node)?);
        let identity = &self.core.identity;
        let key = opener.key(&identity.user, &identity.database);
        let deadline = Instant::now() + TIME;
        let checked = tokio::task::block_in_place(|| {
            let mut connection = opener.open(&key, deadline)?;
            let max = max_prepared(&mut connection, deadline).map_err(OpenFailure::Refused);
            connection.close();
            max
        });
        let warning = match checked {
            Ok(0) => cannot_prepare(name),
            Ok(_) => return Ok(()),
            Err(OpenFailure::Interrupted(interrupt)) => return Err(interrupt),
            Err(
                OpenFailure::Down(error) | OpenFailure::Full(error) | OpenFailure::Refused(error),
            ) => not_reached(name, &error),
        };
        self.core.notices.lock().push(warning.severity(Severity::Warning));
        Ok(())
    }
}

/// max_prepared_transactions
fn max_prepared(connection: &mut NodeConnection, deadline: Instant) -> Result<i64> {
    let sql = "SHOW max_prepared_transactions";
    let answers = connection.query_in_place_until(sql, Some(deadline))?;
    let max = answers.first().and_then(|answer| answer.text(0, 0)?.parse().ok());
    max.ok_or_else(|| Error::internal("max_prepared_transactions is not a number"))
}

fn not_reached(name: &str, error: &Error) -> Error {
    Error::new(SqlState::WARNING, format!("node \"{name}\" could not be reached"))
        .detail(error.message())
}

fn cannot_prepare(name: &str) -> Error {
    Error::new(SqlState::WARNING, format!("prepared transactions are disabled on node \"{name}\""))
        .detail("A transaction that changes rows on this node and on another will fail.")
        .hint("Set \"max_prepared_transactions\" to a nonzero value.")
}
