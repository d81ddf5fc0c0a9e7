//! CREATE TABLE AS and SELECT INTO (src/backend/commands/createas.c).
//!
//! The table gets the columns of the query's plan. An `INSERT … SELECT` of the same query stores
//! its rows, like every bulk insert. Both are one statement: if the query fails, there is no table.
//!
//! EXPLAIN ANALYZE runs and prints the query's own plan. The rows are stored in batches.

use std::borrow::Cow;
use std::sync::Arc;

use steppe_catalog::Relation;
use steppe_ddl as ddl;
use steppe_exec::spi::{insert_into, take_into};
use steppe_exec::{Execution, FetchStatus};
use steppe_sql::ast::{CreateTableAsStmt, IntoClause, Persistence, SelectStmt, Statement};
use steppe_sql::bind::Params;
use steppe_types::{Datum, Error, Result, SqlState};

use super::Session;
use super::explain::BoundParams;
use super::portal::{Body, PlanPortal};
use super::sink::{CollectingSink, ResultFormats};
use super::tag::CommandTag;
use crate::plan_cache::CachedPlan;

/// The query of a CREATE TABLE AS, with the parameters of EXECUTE.
struct Source {
    query: SelectStmt,
    text: Arc<str>,
    params: Arc<[Datum]>,
    param_types: Vec<steppe_types::Oid>,
}

/// The table that an explained statement creates.
pub(super) struct Target {
    into: IntoClause,
    pub(super) with_no_data: bool,
    if_not_exists: bool,
    materialized_view: bool,
}

/// The table and the query of CREATE TABLE AS or SELECT INTO. For any other statement, the
/// statement itself.
pub(super) fn target_of(statement: &Statement) -> (Option<Target>, Cow<'_, Statement>) {
    match statement {
        Statement::CreateTableAs(create) => {
            let target = Target {
                into: create.into.clone(),
                with_no_data: create.with_no_data,
                if_not_exists: create.if_not_exists,
                materialized_view: create.materialized_view,
            };
            (Some(target), Cow::Borrowed(&*create.query))
        }
        Statement::Select(select) if select.has_into() => {
            let mut query = select.clone();
            let target = take_into(&mut query).map(|into| Target {
                into,
                with_no_data: false,
                if_not_exists: false,
                materialized_view: false,
            });
            (target, Cow::Owned(Statement::Select(query)))
        }
        other => (None, Cow::Borrowed(other)),
    }
}

/// The error that refuses a materialized view.
fn no_materialized_view(into: &IntoClause) -> Error {
    match into.relation.persistence {
        Persistence::Unlogged => {
            let message = "materialized views cannot be unlogged";
            Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        }
        _ => Error::not_supported("CREATE MATERIALIZED VIEW"),
    }
}

impl Session {
    /// Whether an explained statement's table exists already and IF NOT EXISTS allows that
    /// (CreateTableAsRelExists).
    pub(super) fn is_made(&mut self, target: &Target, source: &str) -> Result<bool> {
        if target.materialized_view {
            return Err(no_materialized_view(&target.into));
        }
        self.start_transaction()?;
        self.refresh_names();
        self.with_ddl(source, |context| {
            ddl::is_made(context, &target.into.relation, target.if_not_exists)
        })
    }

    /// Creates the table of an explained statement, without rows.
    pub(super) fn make_target(
        &mut self,
        target: &Target,
        plan: &CachedPlan,
        source: &str,
    ) -> Result<Arc<Relation>> {
        if !matches!(*plan.statement, Statement::Select(_)) {
            return Err(not_a_select());
        }
        let columns = plan.compiled.columns();
        let made = self.with_ddl(source, |context| {
            ddl::create_table_as(context, &target.into, columns, false)
        })?;
        made.ok_or_else(|| Error::internal("the table was not made"))
    }

    /// Stores the rows of a query in a new table.
    pub(super) fn fill(
        &mut self,
        execution: &mut Execution,
        table: &Arc<Relation>,
        source: &str,
    ) -> Result<()> {
        const BATCH: u64 = 1000;
        loop {
            let mut batch = CollectingSink::default();
            let txn = &mut self.transaction.txn;
            let status = tokio::task::block_in_place(|| execution.fetch(txn, BATCH, &mut batch))?;
            self.with_ddl(source, |context| ddl::fill(context, table, &batch.rows))?;
            if matches!(status, FetchStatus::Done { .. }) {
                return Ok(());
            }
        }
    }

    /// CREATE TABLE AS.
    pub(super) async fn create_table_as(
        &mut self,
        create: &CreateTableAsStmt,
        text: &Arc<str>,
        bound: &BoundParams,
    ) -> Result<CommandTag> {
        if create.materialized_view {
            return Err(no_materialized_view(&create.into));
        }
        self.check_writable("CREATE TABLE AS")?;
        let source = self.source_of(&create.query, text, bound)?;
        self.create_from(&create.into, source, create.with_no_data, create.if_not_exists).await
    }

    /// SELECT INTO.
    pub(super) async fn select_into(
        &mut self,
        select: &SelectStmt,
        text: &Arc<str>,
    ) -> Result<CommandTag> {
        self.check_writable("SELECT INTO")?;
        let mut query = select.clone();
        let into = take_into(&mut query).ok_or_else(|| Error::internal("SELECT without INTO"))?;
        let (params, param_types) = (Arc::from([]), Vec::new());
        let source = Source { query, text: Arc::clone(text), params, param_types };
        self.create_from(&into, source, false, false).await
    }

    /// The query, or the one that EXECUTE names.
    fn source_of(
        &mut self,
        query: &Statement,
        text: &Arc<str>,
        bound: &BoundParams,
    ) -> Result<Source> {
        match query {
            Statement::Select(select) => Ok(Source {
                query: (**select).clone(),
                text: Arc::clone(text),
                params: Arc::clone(&bound.values),
                param_types: bound.types.to_vec(),
            }),
            Statement::Execute(execute) => {
                let prepared = self.statements.get(&execute.name)?;
                let Body::Plan(plan) = &prepared.body else { return Err(not_a_select()) };
                let Statement::Select(select) = &*plan.statement else {
                    return Err(not_a_select());
                };
                Ok(Source {
                    query: (**select).clone(),
                    text: Arc::clone(&plan.source),
                    params: self.execute_params(execute, plan.param_types(), text)?,
                    param_types: plan.param_types().to_vec(),
                })
            }
            _ => Err(not_a_select()),
        }
    }

    async fn create_from(
        &mut self,
        into: &IntoClause,
        source: Source,
        with_no_data: bool,
        if_not_exists: bool,
    ) -> Result<CommandTag> {
        const TAG: CommandTag = CommandTag::Plain("CREATE TABLE AS");
        let Source { query, text, params, param_types } = source;
        let select = Arc::new(Statement::Select(Box::new(query.clone())));
        let plan = self.plan_locked(&select, &text, &Params::fixed(&param_types)).await?;
        let columns = plan.compiled.columns().to_vec();
        self.start_statement()?;
        let made = self.with_ddl(&text, |context| {
            ddl::create_table_as(context, into, &columns, if_not_exists)
        })?;
        self.end_statement();
        let Some(table) = made else { return Ok(TAG) };
        if with_no_data {
            return Ok(TAG);
        }
        self.check_constants(&plan, &params)?;
        let insert = insert_into(&table, into, query, &self.namespace.names.catalog);
        let plan = self.plan(&Arc::new(insert), &text, Params::fixed(&param_types), "")?;
        let mut portal = PlanPortal::new(plan, params);
        self.run_plan(&mut portal, &ResultFormats::Text, 0).await?;
        match portal.done {
            Some(CommandTag::Rows(_, rows)) => Ok(CommandTag::Rows("SELECT", rows)),
            _ => Err(Error::internal("the rows of a new table were not counted")),
        }
    }
}

fn not_a_select() -> Error {
    Error::new(steppe_types::SqlState::WRONG_OBJECT_TYPE, "prepared statement is not a SELECT")
}
