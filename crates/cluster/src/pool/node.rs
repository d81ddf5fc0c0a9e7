//! Sessions on a node, which a pool keeps.

use std::ops::{Deref, DerefMut};
use std::time::Instant;

use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};

use super::expected::Expected;
use super::lease::is_interrupt;
use super::replay::{FIXED, Settings};
use super::{Condition, OpenFailure, Opener, Pooled};
use crate::connection::{Connection, Opening, Refused, Step};
use crate::conninfo::ConnInfo;
use crate::wait::{self, Heed};

/// The user and the database that a session on a node is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeKey {
    /// The role.
    pub user: Box<str>,
    /// The database.
    pub database: Box<str>,
}

/// Opens sessions on one node.
#[derive(Debug)]
pub struct NodeOpener {
    info: ConnInfo,
    expected: Option<Expected>,
}

impl NodeOpener {
    /// For the node that these words name. Its user and database, where they are given, are those
    /// of every session.
    pub fn new(info: ConnInfo) -> NodeOpener {
        NodeOpener { info: with_fixed_settings(info), expected: None }
    }

    /// Has each session asked whether it has reached this database.
    pub fn expecting(self, expected: Expected) -> NodeOpener {
        NodeOpener { expected: Some(expected), ..self }
    }

    /// The database that its sessions must reach.
    pub(crate) fn expected(&self) -> Option<&Expected> {
        self.expected.as_ref()
    }

    /// The key of a session's connections, whose own user and database these are.
    pub fn key(&self, user: &str, database: &str) -> NodeKey {
        let user = self.info.user.as_deref().unwrap_or(user);
        let database = self.info.dbname.as_deref().unwrap_or(database);
        NodeKey { user: user.into(), database: database.into() }
    }
}

impl Opener for NodeOpener {
    type Connection = NodeConnection;
    type Key = NodeKey;

    fn open(&self, key: &NodeKey, deadline: Instant) -> Result<NodeConnection, OpenFailure> {
        let mut info = self.info.clone();
        info.user = Some(key.user.to_string());
        info.dbname = Some(key.database.to_string());
        let mut connection = NodeConnection::new(opened(&info, deadline)?);
        if let Some(expected) = &self.expected {
            check(&mut connection, expected, deadline)?;
        }
        Ok(connection)
    }
}

/// The words with the settings that all sessions on nodes have.
pub(crate) fn with_fixed_settings(mut info: ConnInfo) -> ConnInfo {
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    info.settings = FIXED.into_iter().map(owned).collect();
    info
}

fn opened(info: &ConnInfo, deadline: Instant) -> Result<Connection, OpenFailure> {
    let mut opening = Opening::new(info);
    loop {
        let interest = match opening.advance().map_err(classified)? {
            Step::Ready(connection) => return Ok(connection),
            Step::Waits(interest) => interest,
        };
        if Instant::now() >= deadline {
            return Err(classified(opening.timed_out()));
        }
        let until = opening.deadline().map_or(deadline, |at| at.min(deadline));
        let Some(descriptor) = opening.descriptor() else { continue };
        wait::one(descriptor, interest, Some(until), Heed::Statement)
            .map_err(OpenFailure::Interrupted)?;
    }
}

/// Asks a new session whether it has reached the node.
fn check(
    connection: &mut NodeConnection,
    expected: &Expected,
    deadline: Instant,
) -> Result<(), OpenFailure> {
    let asked = connection.query_in_place_until(&Expected::question(), Some(deadline));
    match asked {
        Err(error) if connection.is_broken() => {
            Err(OpenFailure::Down(error.severity(Severity::Error)))
        }
        Err(error) if is_interrupt(&error) => Err(OpenFailure::Interrupted(error)),
        // The deadline: the node has not answered.
        Err(error) if error.sqlstate() == SqlState::CONNECTION_FAILURE => {
            Err(OpenFailure::Down(error))
        }
        Err(error) => expected.judge(Err(error)),
        Ok(answers) => {
            let row = answers.first().and_then(|answer| answer.rows.first());
            expected.judge(Ok(row.map(Vec::as_slice)))
        }
    }
}

/// The meaning of a failure for the node.
fn classified(refused: Refused) -> OpenFailure {
    let Refused { mut error, sqlstate } = refused;
    match sqlstate {
        Some(SqlState::TOO_MANY_CONNECTIONS) => {
            error.fields_mut().sqlstate = SqlState::TOO_MANY_CONNECTIONS;
            OpenFailure::Full(error)
        }
        None | Some(SqlState::CANNOT_CONNECT_NOW | SqlState::ADMIN_SHUTDOWN) => {
            OpenFailure::Down(error)
        }
        Some(state) if state.0.starts_with(b"08") => OpenFailure::Down(error),
        Some(_) => OpenFailure::Refused(error),
    }
}

/// A session on a node, with what its users have made of it.
#[derive(Debug)]
pub struct NodeConnection {
    connection: Connection,
    /// The settings that the session was brought to.
    settings: Settings,
    /// A user's own text has run: it may have left anything in the session.
    is_touched: bool,
}

impl NodeConnection {
    fn new(connection: Connection) -> NodeConnection {
        NodeConnection { connection, settings: Settings::default(), is_touched: false }
    }

    /// A user's own text runs now. The session is reset before another user has it.
    pub fn touch(&mut self) {
        self.is_touched = true;
    }

    /// Whether the session has these settings.
    pub fn has(&self, wanted: &Settings) -> bool {
        self.settings == *wanted
    }

    /// Gives the session these settings. It waits in place, if they differ. The error is the
    /// node's, the interrupt's, or that the connection is lost.
    pub fn bring_to(&mut self, wanted: &Settings, deadline: Instant) -> Result<()> {
        let Some(sql) = self.settings.difference(wanted) else { return Ok(()) };
        if let Err(error) = self.run(&sql, deadline) {
            // The node may have carried it out before the interrupt came.
            self.is_touched = true;
            return Err(error);
        }
        self.settings = wanted.clone();
        Ok(())
    }

    fn run(&mut self, sql: &str, deadline: Instant) -> Result<()> {
        let ran = self.connection.query_in_place_until(sql, Some(deadline));
        ran.map(drop).map_err(|error| self.of_node(error))
    }

    /// The error of an operation, in the statement that meets it. An error of the node, or of the
    /// connection, ends that statement and not the client's session. An interrupt's error stays.
    pub fn of_node(&self, error: Error) -> Error {
        if self.connection.is_broken() { error.severity(Severity::Error) } else { error }
    }
}

impl Deref for NodeConnection {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for NodeConnection {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

impl Pooled for NodeConnection {
    fn condition(&self) -> Condition {
        if !self.connection.is_idle() {
            return Condition::Unusable;
        }
        if self.is_touched { Condition::NeedsReset } else { Condition::Clean }
    }

    /// The node owes no answer. It may have sent settings and notices, or the reason why it has
    /// ended the session.
    fn is_alive(&mut self) -> bool {
        matches!(self.connection.receive(), Ok(Step::Waits(_)))
    }

    fn reset(&mut self, deadline: Instant) -> Result<()> {
        self.run("DISCARD ALL", deadline)?;
        self.connection.forget_statements();
        self.settings = Settings::default();
        self.is_touched = false;
        Ok(())
    }

    fn close(self) {
        self.connection.close();
    }
}
