//! A node gets to know its coordinator when CREATE NODE and ALTER NODE run: its database gets the
//! tables that transactions over nodes need, and an identity that stays.
//!
//! The statements warn if the node cannot be reached, or if it will refuse such transactions. The node
//! is kept either way: it may be started or set up later, and ALTER NODE tries again. A database that
//! orders texts differently is refused, since its answers could not be put together with those of others.

use std::time::{Duration, Instant};

use steppe_catalog::objects::{Node, NodeKind};
use steppe_cluster::commit::INSTALL;
use steppe_cluster::connection::Answer;
use steppe_cluster::pool::{
    DatabaseState, NodeConnection, NodeOpener, OpenFailure, Opener, Pooled,
};
use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};

use crate::cluster::connection_words;
use crate::services::SharedSession;

/// How long this may take.
const TIME: Duration = Duration::from_secs(2);

/// How long a connection for statements of a function may take to open.
const CONNECT_TIME: Duration = Duration::from_secs(10);

const CAN_PREPARE: &str =
    "SELECT pg_catalog.current_setting('max_prepared_transactions') OPERATOR(pg_catalog.<>) '0'";

/// Other roles' sessions ask for the identity, too, and record their commits.
const GRANT: &str = "GRANT USAGE ON SCHEMA steppe_cluster TO PUBLIC; \
                     GRANT SELECT ON steppe_cluster.node TO PUBLIC";

impl SharedSession {
    /// [`SessionHost::introduce_node`](steppe_functions::SessionHost::introduce_node)
    pub(crate) fn introduced_node(&self, node: &Node) -> Result<u64> {
        let opener = NodeOpener::new(connection_words(node)?);
        if node.kind != NodeKind::DataNode {
            return Ok(0);
        }
        let key = opener.key(&self.identity.user, &self.identity.database);
        let deadline = Instant::now() + TIME;
        // 0 stands for no identity.
        let drawn =
            self.server.random.next_u64().map_err(|e| Error::internal(e.to_string()))?.max(1);
        let introduced = tokio::task::block_in_place(|| {
            let mut connection = opener.open(&key, deadline)?;
            let introduced = introduce(&mut connection, drawn, deadline);
            let is_interrupt = introduced.as_ref().is_err_and(is_of_statement);
            connection.close();
            introduced.map_err(|error| match is_interrupt {
                true => OpenFailure::Interrupted(error),
                false => OpenFailure::Refused(error),
            })
        });
        match introduced {
            Ok((identity, true)) => Ok(identity),
            Ok((identity, false)) => {
                self.warn_of_node(cannot_prepare(&node.name));
                Ok(identity)
            }
            Err(OpenFailure::Interrupted(interrupt)) => Err(interrupt),
            Err(OpenFailure::Refused(error)) if is_unlike(&error) => {
                Err(error.within(format!("remote node \"{}\"", node.name)))
            }
            Err(
                OpenFailure::Down(error) | OpenFailure::Full(error) | OpenFailure::Refused(error),
            ) => {
                self.warn_of_node(not_reached(&node.name, &error));
                Ok(0)
            }
        }
    }

    /// [`SessionHost::run_on_node`](steppe_functions::SessionHost::run_on_node)
    pub(crate) fn ran_on_node(&self, node: &Node, text: &str) -> Result<Option<String>> {
        let opener = NodeOpener::new(connection_words(node)?);
        let key = opener.key(&self.identity.user, &self.identity.database);
        tokio::task::block_in_place(|| {
            let deadline = Instant::now() + CONNECT_TIME;
            let mut connection = opener.open(&key, deadline).map_err(OpenFailure::into_error)?;
            connection.bring_to(&self.text_settings(), deadline)?;
            let answers = connection.query_in_place_until(text, None);
            connection.close();
            let Some(last) = answers?.pop() else { return Ok(None) };
            Ok(match last.columns.is_empty() {
                true => Some(last.tag),
                false => last.text(0, 0).map(str::to_owned),
            })
        })
    }

    fn warn_of_node(&self, warning: Error) {
        self.notices.lock().push(warning.severity(Severity::Warning));
    }
}

/// Makes the tables. Returns the database's identity, which is `drawn` if it had none, and whether the
/// node can prepare transactions.
fn introduce(
    connection: &mut NodeConnection,
    drawn: u64,
    deadline: Instant,
) -> Result<(u64, bool)> {
    let mut run = |sql: &str| connection.query_in_place_until(sql, Some(deadline));
    let answers = run(&DatabaseState::question())?;
    let state = answers.first().and_then(|answer| DatabaseState::read(answer.rows.first()?));
    let state = state.ok_or_else(|| Error::internal("the node has no database"))?;
    if state.is_standby {
        let message = "the server is a standby";
        return Err(Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message));
    }
    state.check_texts()?;
    let can_prepare = text(&run(CAN_PREPARE)?, 0) == Some("t");
    let drawn = drawn.cast_signed();
    run(&format!(
        "{INSTALL}
         CREATE TABLE IF NOT EXISTS steppe_cluster.node (
             \"only\" boolean PRIMARY KEY DEFAULT true CHECK (\"only\"),
             identity bigint NOT NULL);
         INSERT INTO steppe_cluster.node (identity) VALUES ({drawn}) ON CONFLICT DO NOTHING"
    ))?;
    match run(GRANT) {
        // A server that has no rights.
        Err(error) if error.sqlstate() == SqlState::FEATURE_NOT_SUPPORTED => {}
        granted => drop(granted?),
    }
    let answers = run("SELECT identity FROM steppe_cluster.node")?;
    let identity = text(&answers, 0).and_then(|identity| identity.parse::<i64>().ok());
    let identity = identity.ok_or_else(|| Error::internal("the node has no identity"))?;
    Ok((identity.cast_unsigned(), can_prepare))
}

fn text(answers: &[Answer], column: usize) -> Option<&str> {
    answers.last()?.text(0, column)
}

/// Whether the error is the interrupt of the running statement. A node's errors have severity ERROR.
fn is_of_statement(error: &Error) -> bool {
    error.sqlstate() == SqlState::QUERY_CANCELED || error.fields().severity == Severity::Fatal
}

/// Whether the node's texts are not this server's.
fn is_unlike(error: &Error) -> bool {
    error.sqlstate() == SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE
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
