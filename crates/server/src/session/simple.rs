//! The simple query protocol (exec_simple_query in src/backend/tcop/postgres.c).

use std::sync::Arc;

use steppe_exec::prepare::is_plannable;
use steppe_sql::ast;
use steppe_sql::bind::Params;
use steppe_sql::parser::{self, ParsedStatement};
use steppe_types::{Error, Result, SqlState};
use steppe_wire::backend;

use super::Session;
use super::explain::BoundParams;
use super::plan::BoundPlan;
use super::portal::PlanPortal;
use super::sink::ResultFormats;
use super::statement_log::{level_of, level_of_command};
use super::tag::CommandTag;
use super::transaction::{ends_failed_block, failed_block};
use super::utility::Outcome;
use crate::settings::live::LoggedStatements;
use crate::workers;

/// The remaining statements of a Query message.
pub(super) struct SimpleQuery {
    source: Arc<str>,
    rest: std::vec::IntoIter<ParsedStatement>,
    /// The message has only one statement. Several statements run in one transaction.
    is_single: bool,
}

impl Session {
    /// Handles a Query message.
    pub(super) async fn simple_query(&mut self, text: &str) -> Result<()> {
        self.begin_message();
        self.statement.has_begun = false;
        self.set_running(text);
        workers::unblock_if_large(text);
        self.statements.drop_unnamed();
        self.portals.remove("", &mut self.transaction);
        if !self.transaction.is_failed()
            && let Some(mut plan) = self.lifted_plan(text)?
        {
            self.log_start(level_of_command(plan.0.compiled.planned().command), "statement");
            self.start_transaction()?;
            loop {
                if self.lock_relations_of(&plan.0).await? {
                    plan.0 = self.for_values(plan.0, &plan.1)?;
                    return self.query_plan(plan).await;
                }
                match self.lifted_plan(text)? {
                    Some(anew) => plan = anew,
                    None => break,
                }
            }
        }
        self.note_truncations(text);
        let statements = parser::parse(text)?;
        let is_single = statements.len() == 1;
        if statements.is_empty() {
            backend::empty_query_response(&mut self.wire.out);
            self.ready();
            return Ok(());
        }
        let levels = statements.iter().map(|parsed| level_of(&parsed.statement));
        self.log_start(levels.min().unwrap_or(LoggedStatements::All), "statement");
        let query = SimpleQuery { source: text.into(), rest: statements.into_iter(), is_single };
        Box::pin(self.run_statements(query)).await
    }

    /// Runs a message that is one plan, found in the cache and locked.
    async fn query_plan(&mut self, (plan, params): BoundPlan) -> Result<()> {
        // Boxed, so that the message's future is small: it is moved when it is made.
        let mut portal = Box::new(PlanPortal::new(plan, params));
        self.transaction.ends_with_statement = true;
        let tag = self.plan_to_client(&mut portal).await?;
        self.end_implicit().await?;
        tag.put(&mut self.wire.out);
        self.ready();
        Ok(())
    }

    /// Sends RowDescription and all rows of a locked plan, without its tag.
    pub(super) async fn plan_to_client(&mut self, portal: &mut PlanPortal) -> Result<CommandTag> {
        self.check_constants(&portal.plan, &portal.params)?;
        portal.describes = true;
        portal.is_locked = true;
        self.run_plan(portal, &ResultFormats::Text, 0).await?;
        Ok(portal.done.take().unwrap_or(CommandTag::Empty))
    }

    /// Runs the rest of a Query message. A COPY FROM STDIN interrupts it.
    pub(super) async fn run_statements(&mut self, mut query: SimpleQuery) -> Result<()> {
        while let Some(ParsedStatement { statement, range }) = query.rest.next() {
            let statement = Arc::new(statement);
            self.statement.range = (!query.is_single).then_some(range);
            if self.transaction.is_failed() && !ends_failed_block(&statement) {
                return Err(failed_block());
            }
            self.transaction.is_one_of_several = !query.is_single;
            self.transaction.ends_with_statement = query.is_single;
            self.refresh_settings();
            self.restart_timers();
            let is_last = query.rest.len() == 0;
            let outcome = self.run_statement(&statement, &query).await?;
            let tag = match outcome {
                Outcome::Tag(tag) => tag,
                Outcome::CopyIn(copy) => {
                    self.begin_copy_in(*copy, Some(query));
                    return Ok(());
                }
            };
            if is_last || matches!(&*statement, ast::Statement::Transaction(_)) {
                self.end_implicit().await?;
            }
            self.put_notices();
            tag.put(&mut self.wire.out);
        }
        self.ready();
        Ok(())
    }

    /// Continues a Query message after a COPY FROM STDIN.
    pub(super) async fn resume_query(&mut self, query: SimpleQuery, tag: CommandTag) -> Result<()> {
        if query.rest.len() == 0 {
            self.end_implicit().await?;
        }
        self.put_notices();
        tag.put(&mut self.wire.out);
        self.run_statements(query).await
    }

    async fn run_statement(
        &mut self,
        statement: &Arc<ast::Statement>,
        query: &SimpleQuery,
    ) -> Result<Outcome> {
        if !is_plannable(statement) {
            let formats = ResultFormats::Text;
            return self
                .utility(statement, &query.source, &formats, true, &BoundParams::default())
                .await;
        }
        self.start_transaction()?;
        self.refresh_names();
        // Statements of a message with several are not worth cache entries.
        let plan = if query.is_single {
            self.made_locked(statement, |session| {
                let planned = session.text_plan(&query.source, Some(statement), &[]);
                // The error of a parameter without a type becomes that of an unknown parameter.
                let is_of_params =
                    |error: &Error| error.sqlstate() == SqlState::INDETERMINATE_DATATYPE;
                if planned.as_ref().is_err_and(is_of_params) {
                    return session.plan(statement, &query.source, Params::none(), "");
                }
                planned?.ok_or_else(|| Error::internal("statement was not planned"))
            })
            .await?
        } else {
            self.plan_locked(statement, &query.source, &Params::none()).await?
        };
        if !plan.param_types().is_empty() {
            // A Query message has no parameters. Planning without any gives the error with its
            // position.
            self.plan(statement, &query.source, Params::none(), "")?;
            return Err(Error::internal("a parameter was planned as none"));
        }
        let mut portal = PlanPortal::new(plan, Arc::from([]));
        self.plan_to_client(&mut portal).await.map(Outcome::Tag)
    }
}
