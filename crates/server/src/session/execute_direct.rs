//! EXECUTE DIRECT ON (node) 'query': runs a query on a node as it is, for administrators
//! (transformExecDirectStmt in Postgres-XL's src/backend/parser/analyze.c).
//!
//! The node commits the query by itself. Its rows go to the client as they come, with the node's
//! RowDescription, and no more of them are in memory than fill the send buffer and one read of the
//! socket. Only the node knows the columns, so that Describe asks it.

use std::sync::Arc;
use std::time::Duration;

use steppe_catalog::objects::Node;
use steppe_sql::ast::{self, ExecuteDirectStmt, Statement};
use steppe_sql::parser;
use steppe_types::{Error, Result, SqlState};
use steppe_wire::backend;
use steppe_wire::client::receive::BackendMessage;
use steppe_wire::client::send;
use steppe_wire::frontend::Target;

use super::Session;
use super::client::SEND_AT_BYTES;
use super::remote::at_node;
use super::sink::ResultFormats;
use super::tag::CommandTag;
use crate::activity::Wait;
use crate::cluster::NodeLease;

/// How long a node may take to end a query that was cancelled. Afterwards its connection is closed.
const CANCEL_TIME: Duration = Duration::from_millis(500);

/// How far the node's answer has come.
enum Progress {
    /// The send buffer is full.
    Full,
    /// The node is ready for more.
    Done,
}

impl Session {
    /// EXECUTE DIRECT.
    pub(super) async fn execute_direct(
        &mut self,
        stmt: &ExecuteDirectStmt,
        formats: &ResultFormats,
        describe: bool,
    ) -> Result<CommandTag> {
        let node = self.direct_node(stmt)?;
        self.connect(&node).await?;
        let Some(lease) = self.remote.get(node.oid) else { return Err(not_connected()) };
        lease.touch();
        lease.parse_unnamed(&stmt.query, &[])?;
        send::bind(lease.out(), "", "", &[], None::<Option<&[u8]>>, formats.of_bind())?;
        if describe {
            send::describe(lease.out(), Target::Portal(""));
        }
        send::execute(lease.out(), "", 0);
        lease.sync();
        let mut failed = None;
        while let Progress::Full = self.pass_answer_on(&node, &mut failed)? {
            let passed = self.pass_rows_on().await;
            passed
                .and_then(|()| self.core.handle.check_interrupts())
                .map_err(|error| self.give_up(&node, error))?;
        }
        self.forward_notices(&node);
        match failed {
            Some(error) => Err(self.of_query(&node, stmt, error)),
            None => Ok(CommandTag::Plain("EXECUTE DIRECT")),
        }
    }

    /// The node of an EXECUTE DIRECT that may run.
    fn direct_node(&self, stmt: &ExecuteDirectStmt) -> Result<Arc<Node>> {
        let [name] = stmt.nodes.as_slice() else {
            let message = "Support for EXECUTE DIRECT on multiple nodes is not available yet";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        };
        let node = self.node(name)?;
        check_query(&stmt.query)?;
        Ok(node)
    }

    /// Appends what the node sends to the send buffer. It waits in place.
    fn pass_answer_on(&mut self, node: &Node, failed: &mut Option<Error>) -> Result<Progress> {
        self.control.activity.set_wait(Some(Wait::RemoteAnswer));
        let out = &mut self.wire.out;
        let Some(lease) = self.remote.get(node.oid) else { return Err(not_connected()) };
        let passed = tokio::task::block_in_place(|| pass_on(lease, out, failed));
        self.control.activity.set_wait(None);
        passed.map_err(|error| self.give_up(node, error))
    }

    /// The statement ends before the node's answer: by an interrupt, or since the connection is
    /// lost.
    fn give_up(&mut self, node: &Node, error: Error) -> Error {
        let Some(lease) = self.remote.get(node.oid) else { return error };
        let error = at_node(lease, error);
        if !lease.is_broken() {
            tokio::task::block_in_place(|| lease.settle_in_place(CANCEL_TIME));
        }
        self.remote.give_back_one(node.oid);
        error
    }

    /// An error of the node: its position counts the characters of the query.
    fn of_query(&mut self, node: &Node, stmt: &ExecuteDirectStmt, mut error: Error) -> Error {
        error.in_query(&stmt.query);
        match self.remote.get(node.oid) {
            Some(lease) => at_node(lease, error),
            None => error,
        }
    }

    fn forward_notices(&mut self, node: &Node) {
        let Some(lease) = self.remote.get(node.oid) else { return };
        self.core.notices.lock().extend(lease.take_notices());
    }

    /// Describe: appends the RowDescription of the node, with the formats that Bind has named.
    pub(super) async fn describe_direct(
        &mut self,
        stmt: &ExecuteDirectStmt,
        formats: &ResultFormats,
    ) -> Result<()> {
        self.start_transaction()?;
        self.refresh_names();
        let node = self.direct_node(stmt)?;
        self.connect(&node).await?;
        let Some(lease) = self.remote.get(node.oid) else { return Err(not_connected()) };
        lease.parse_unnamed(&stmt.query, &[])?;
        send::describe(lease.out(), Target::Statement(""));
        lease.sync();
        let (start, mut failed) = (self.wire.out.len(), None);
        self.pass_answer_on(&node, &mut failed)?;
        if let Some(error) = failed {
            return Err(self.of_query(&node, stmt, error));
        }
        let described = self.wire.out.split_off(start);
        put_described(&mut self.wire.out, &described, formats)
    }
}

/// A connection that was just made is missing.
#[cold]
fn not_connected() -> Error {
    Error::internal("the connection to a node is gone")
}

/// Appends the node's messages up to ReadyForQuery, or until there are enough.
fn pass_on(
    lease: &mut NodeLease,
    out: &mut Vec<u8>,
    failed: &mut Option<Error>,
) -> Result<Progress> {
    loop {
        let message = lease.message_in_place(None)?;
        match message.tag() {
            b'D' => {
                out.extend_from_slice(message.bytes());
                out.extend_from_slice(lease.receive_run(b'D')?);
                if out.len() >= SEND_AT_BYTES {
                    return Ok(Progress::Full);
                }
            }
            b'T' => out.extend_from_slice(message.bytes()),
            b'E' => {
                if let BackendMessage::ErrorResponse(error) = message.decode()? {
                    failed.get_or_insert(error);
                }
                if lease.is_broken() {
                    let fallback = || Error::internal("the node has ended the session");
                    return Err(failed.take().unwrap_or_else(fallback));
                }
            }
            b'Z' => return Ok(Progress::Done),
            // BindComplete, ParameterDescription, NoData, CommandComplete, EmptyQueryResponse
            b'2' | b't' | b'n' | b'C' | b'I' => {}
            other => {
                let message =
                    format!("unexpected message of type \"{}\" from server", char::from(other));
                return Err(lease.violated(Error::new(SqlState::PROTOCOL_VIOLATION, message)));
            }
        }
    }
}

/// Appends a RowDescription with other formats, or NoData if the node has sent none.
fn put_described(out: &mut Vec<u8>, described: &[u8], formats: &ResultFormats) -> Result<()> {
    let Some(frame) = steppe_wire::frame::peek_backend(described)? else {
        backend::no_data(out);
        return Ok(());
    };
    let BackendMessage::RowDescription(fields) = steppe_wire::client::receive::decode(frame)?
    else {
        return Err(Error::internal("a description has no columns"));
    };
    let fields = fields.iter().enumerate().map(|(i, mut field)| {
        field.format = formats.get(i);
        field
    });
    backend::row_description(out, fields)
}

/// 0A000 for a query that EXECUTE DIRECT does not run.
fn check_query(query: &str) -> Result<()> {
    let parsed = parser::parse(query).map_err(|mut error| {
        error.in_query(query);
        error
    })?;
    let refused = |what: &str| {
        let message = format!("EXECUTE DIRECT cannot execute {what}");
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
    };
    match parsed.as_slice() {
        [] => Err(Error::new(SqlState::SYNTAX_ERROR, "EXECUTE DIRECT needs a query")),
        [only] if changes_rows(&only.statement) => refused("DML queries"),
        [only] if is_refused(&only.statement) => refused("this utility query"),
        [_] => Ok(()),
        _ => refused("multiple queries"),
    }
}

fn changes_rows(statement: &Statement) -> bool {
    let changes_within = |with: &Option<ast::WithClause>| {
        with.iter().flat_map(|with| &with.ctes).any(|cte| changes_rows(&cte.query))
    };
    match statement {
        Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_) => true,
        Statement::Select(select) => changes_within(&select.with),
        _ => false,
    }
}

/// Statements that need more than one query: transactions, a protocol of their own, or another node.
fn is_refused(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Transaction(_) | Statement::Copy(_) | Statement::ExecuteDirect(_)
    )
}
