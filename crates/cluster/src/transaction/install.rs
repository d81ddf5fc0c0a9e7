//! Makes the tables of the protocol in a node's database.

use steppe_types::{Error, Result, SqlState};

use crate::Connection;
use crate::commit::INSTALL;

/// Makes the tables that the protocol needs, if they are not there. It waits in place. Errors:
/// 55000 the node cannot prepare transactions, 25006 it is a standby, and the node's own.
pub fn install(connection: &mut Connection, node: &str) -> Result<()> {
    let asked = "SELECT pg_catalog.pg_is_in_recovery(), \
                 pg_catalog.current_setting('max_prepared_transactions')";
    let answers = connection.query_in_place(asked)?;
    let answer = answers.first();
    let value = |column| answer.and_then(|answer| answer.text(0, column));
    match (value(0), value(1).and_then(|count| count.parse::<u64>().ok())) {
        (Some("t"), _) => {
            let message = format!("node \"{node}\" is a standby");
            return Err(Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message)
                .hint("Use target_session_attrs=read-write with the hosts of all its servers."));
        }
        (Some("f"), Some(1..)) => {}
        (Some("f"), Some(0)) => {
            let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
            return Err(Error::new(state, "prepared transactions are disabled").hint(format!(
                "Set \"max_prepared_transactions\" to a nonzero value on node \"{node}\"."
            )));
        }
        _ => {
            let message = format!("unexpected answer of node \"{node}\"");
            return Err(Error::new(SqlState::PROTOCOL_VIOLATION, message));
        }
    }
    connection.query_in_place(INSTALL).map(drop)
}
