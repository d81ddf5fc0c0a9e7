//! COPY FROM, from STDIN and from files (src/backend/commands/copyfrom.c).
//!
//! The session continues to read messages during a COPY FROM STDIN. [`super::copy_rows`] takes the rows.

use std::sync::Arc;

use crate::activity::SessionCounts;
use crate::outbox;
use crate::server::SessionControl;
use steppe_catalog::{NameSpace, Relation};
use steppe_exec::{CompiledStmt, ExecEnv, Transaction};
use steppe_sql::ast::{CopyStmt, Statement};
use steppe_sql::bind::Params;
use steppe_txn::RelationLockMode;
use steppe_types::error::Severity;
use steppe_types::{Error, Result, SqlState};
use steppe_wire::Format;
use steppe_wire::backend::{self, CopyDirection};
use steppe_wire::frontend::FrontendMessage;

use super::client::connection_lost;
use super::copy_file::SourceFile;
use super::copy_rows::{CopyIn, CopyPlace};
use super::simple::SimpleQuery;
use super::tag::CommandTag;
use super::utility::Outcome;
use super::{Session, copy_options};

impl Session {
    /// COPY FROM STDIN, before its data.
    pub(super) async fn copy_from_client(
        &mut self,
        copy: &CopyStmt,
        source: &Arc<str>,
    ) -> Result<Outcome> {
        let begun = self.begin_copy_from(copy, source).await?;
        Ok(Outcome::CopyIn(Box::new(begun)))
    }

    /// COPY FROM a file on the server.
    pub(super) async fn copy_from_file(
        &mut self,
        copy: &CopyStmt,
        name: &str,
        source: &Arc<str>,
    ) -> Result<CommandTag> {
        let begun = self.begin_copy_from(copy, source).await?;
        let mut file = SourceFile::open(name, self.core.server.data_dir.path())?;
        begun.whole_file(self, &mut file).map(|rows| CommandTag::Rows("COPY", rows))
    }

    /// The start of COPY FROM, before its data.
    async fn begin_copy_from(&mut self, copy: &CopyStmt, source: &Arc<str>) -> Result<CopyIn> {
        self.check_writable("COPY FROM")?;
        let parsed = copy_options::parse(&copy.options, true, source)?;
        let name =
            copy.relation.as_ref().ok_or_else(|| Error::internal("COPY FROM without a table"))?;
        let relation = self.lock_copied(name, RelationLockMode::RowExclusive).await?;
        CopyIn::begin(self, (copy, source), parsed, &relation)
    }

    /// Finds and locks the table. After a wait, another table may have the name.
    pub(super) async fn lock_copied(
        &mut self,
        name: &steppe_sql::ast::RangeVar,
        lock: RelationLockMode,
    ) -> Result<Arc<Relation>> {
        loop {
            let oid = self.find_relation(name)?.oid;
            if let Some(wait) = self.transaction.txn()?.lock_relation(oid, lock)? {
                wait.await?;
            }
            self.refresh_names();
            let relation = self.find_relation(name)?;
            if relation.oid == oid {
                return Ok(relation);
            }
        }
    }

    /// Sends CopyInResponse. Further messages are data.
    pub(super) fn begin_copy_in(&mut self, mut copy: CopyIn, query: Option<SimpleQuery>) {
        self.wire.is_due = true;
        copy.is_simple = query.is_some();
        copy.query = query;
        let format = if copy.is_binary { Format::Binary } else { Format::Text };
        let count = u16::try_from(copy.columns.len()).unwrap_or(u16::MAX);
        backend::copy_response(&mut self.wire.out, CopyDirection::In, format, count);
        self.wire.copy = Some(Box::new(copy));
    }

    /// Handles a message during COPY FROM STDIN.
    pub(super) async fn copy_message(&mut self, message: FrontendMessage<'_>) -> Result<()> {
        match message {
            FrontendMessage::CopyData(data) => {
                outbox::send_now();
                let Some(mut copy) = self.wire.copy.take() else { return Ok(()) };
                SessionCounts::add(&copy.progress.bytes, data.len() as u64);
                copy.decoder.feed(data);
                let result = copy.rows(self, false);
                // It is put back in any case: it has the protocol's state.
                self.wire.copy = Some(copy);
                result
            }
            FrontendMessage::CopyDone => self.end_copy_in().await,
            FrontendMessage::CopyFail(reason) => Err(Error::new(
                SqlState::QUERY_CANCELED,
                format!("COPY from stdin failed: {reason}"),
            )),
            // As in PostgreSQL, they are ignored: client libraries may send them.
            FrontendMessage::Flush | FrontendMessage::Sync => Ok(()),
            FrontendMessage::Terminate => Err(connection_lost()),
            _ => Err(Error::new(
                SqlState::PROTOCOL_VIOLATION,
                "unexpected message type during COPY from stdin",
            )
            .severity(Severity::Fatal)),
        }
    }

    async fn end_copy_in(&mut self) -> Result<()> {
        let Some(mut copy) = self.wire.copy.take() else { return Ok(()) };
        copy.decoder.finish();
        if let Err(error) = copy.rows(self, true) {
            self.wire.copy = Some(copy);
            return Err(error);
        }
        let tag = CommandTag::Rows("COPY", copy.count);
        self.count_copy_in(copy.count);
        match copy.query.take() {
            Some(query) => {
                let resumed = Box::pin(self.resume_query(query, tag)).await;
                if resumed.is_err() {
                    // The failure belongs to the Query message that has continued.
                    copy.is_simple = true;
                    self.wire.copy = self.wire.copy.take().or(Some(copy));
                }
                resumed
            }
            None => {
                self.put_notices();
                tag.put(&mut self.wire.out);
                Ok(())
            }
        }
    }
}

impl CopyPlace for Session {
    fn env(&self) -> &ExecEnv {
        &self.statement.env
    }

    fn names(&self) -> &NameSpace {
        &self.namespace.names
    }

    fn control(&self) -> &SessionControl {
        &self.control
    }

    fn compiled(
        &mut self,
        statement: &Arc<Statement>,
        source: &Arc<str>,
        params: Params,
    ) -> Result<Arc<CompiledStmt>> {
        Ok(Arc::clone(&self.plan(statement, source, params, "")?.compiled))
    }

    fn in_statement(
        &mut self,
        run: impl FnOnce(&ExecEnv, &mut Option<Transaction>) -> Result<()>,
    ) -> Result<()> {
        self.start_statement()?;
        let (env, txn) = (&self.statement.env, &mut self.transaction.txn);
        tokio::task::block_in_place(|| run(env, txn))?;
        self.end_statement();
        Ok(())
    }
}
