//! Statements without a plan (ProcessUtility in src/backend/tcop/utility.c).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use steppe_ddl::{self as ddl, DdlContext, Origin};
use steppe_exec::explain::described_column;
use steppe_exec::prepare::is_plannable;
use steppe_exec::routine::too_deep;
use steppe_sql::ast::{self, AlterTableStmt, DiscardTarget, ReindexStmt, Statement};
use steppe_sql::bind::typename::TypeNames;
use steppe_sql::bind::{self, BindContext, Params};
use steppe_sql::expr::TypeRef;
use steppe_sql::plan::ResultColumn;
use steppe_txn::RelationLockMode;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};
use steppe_wire::DataRow;

use super::Session;
use super::copy_rows::CopyIn;
use super::explain::BoundParams;
use super::plan::put_description;
use super::portal::{Body, PlanPortal, Prepared};
use super::sink::{ResultFormats, put_value};
use super::tag::CommandTag;
use super::transaction::{ends_failed_block, failed_block};
use crate::outbox;

/// The most prepared EXECUTEs that execute one another.
const EXECUTES_MAX: usize = 100;

/// The outcome of a statement.
pub(super) enum Outcome {
    /// It has ended. Its rows, if any, are in the send buffer.
    Tag(CommandTag),
    /// It waits for COPY data.
    CopyIn(Box<CopyIn>),
}

/// A text column of a utility statement's result.
pub(super) fn text_column(name: &str) -> ResultColumn {
    ResultColumn { name: name.into(), ty: TypeRef::plain(oid::TEXT), domain: 0, origin: (0, 0) }
}

impl Session {
    /// Runs a statement without a plan. `describe` sends RowDescription before rows.
    pub(super) async fn utility_uncounted(
        &mut self,
        statement: &Arc<Statement>,
        source: &Arc<str>,
        formats: &ResultFormats,
        describe: bool,
        bound: &BoundParams,
    ) -> Result<Outcome> {
        if self.transaction.is_failed() && !ends_failed_block(statement) {
            return Err(failed_block());
        }
        if let Statement::Transaction(stmt) = &**statement {
            return self.transaction_statement(stmt).await.map(Outcome::Tag);
        }
        outbox::send_now();
        self.start_transaction()?;
        self.refresh_names();
        match &**statement {
            Statement::Copy(copy) => return self.copy(copy, source).await,
            Statement::Execute(execute) => {
                return Box::pin(self.execute_statement(execute, source, formats, describe)).await;
            }
            Statement::Fetch(fetch) => {
                return self.fetch_statement(fetch, formats, describe).await.map(Outcome::Tag);
            }
            Statement::DeclareCursor(declare) => {
                return self.declare_cursor(declare, source, bound).await.map(Outcome::Tag);
            }
            Statement::Explain(explain) => {
                let explained = self.explain(explain, source, formats, describe, bound);
                return explained.await.map(Outcome::Tag);
            }
            Statement::CreateTableAs(create) => {
                return self.create_table_as(create, source, bound).await.map(Outcome::Tag);
            }
            // A SELECT without INTO has a plan and is not handled here.
            Statement::Select(select) => {
                return self.select_into(select, source).await.map(Outcome::Tag);
            }
            Statement::ExecuteDirect(direct) => {
                return self.execute_direct(direct, formats, describe).await.map(Outcome::Tag);
            }
            Statement::Lock(lock) => return self.lock_tables(lock).await.map(Outcome::Tag),
            Statement::Prepare(prepare) => {
                self.prepare_statement(prepare, source).await?;
                return Ok(Outcome::Tag(CommandTag::Plain("PREPARE")));
            }
            Statement::Show(name) => {
                return self.show(name, formats, describe).map(Outcome::Tag);
            }
            Statement::Call(call) => {
                return self.call(call, source, formats, describe, bound).map(Outcome::Tag);
            }
            Statement::Do(stmt) => return self.run_do(stmt, source).map(Outcome::Tag),
            _ => {}
        }
        self.plain_utility(statement, source).map(Outcome::Tag)
    }

    /// Runs a statement that neither waits nor returns rows.
    fn plain_utility(
        &mut self,
        statement: &Arc<Statement>,
        source: &Arc<str>,
    ) -> Result<CommandTag> {
        let tag = match &**statement {
            Statement::Set(set) => return self.set(set),
            Statement::SetConstraints(set) => {
                if !self.in_block_of_any_kind() {
                    self.warn(
                        SqlState::NO_ACTIVE_SQL_TRANSACTION,
                        "SET CONSTRAINTS can only be used in transaction blocks",
                    );
                }
                self.set_constraints(set)?;
                "SET CONSTRAINTS"
            }
            Statement::Discard(target) => return self.discard(*target),
            Statement::Deallocate(deallocate) => return self.deallocate(deallocate),
            Statement::Close(name) => return self.close_cursor(name.as_deref()),
            Statement::Checkpoint => {
                let engine = Arc::clone(&self.server().engine);
                self.server().statistics.checkpoints_requested.fetch_add(1, Ordering::Relaxed);
                tokio::task::block_in_place(|| engine.checkpoint())?;
                "CHECKPOINT"
            }
            // There is no NOTIFY yet, so UNLISTEN has nothing to remove.
            Statement::Listen(_) | Statement::Notify(_) => {
                return Err(Error::not_supported("LISTEN and NOTIFY"));
            }
            Statement::Unlisten(_) => "UNLISTEN",
            Statement::Load(library) => {
                load(library)?;
                "LOAD"
            }
            Statement::Merge(_) => return Err(Error::not_supported("MERGE")),
            Statement::Unsupported(unsupported) => {
                return Err(Error::not_supported(&unsupported.what)
                    .at(unsupported.location.position(source)));
            }
            other if ddl::is_ddl(other) => return self.run_ddl(other, source),
            other => return Err(Error::not_supported(name_of(other))),
        };
        Ok(CommandTag::Plain(tag))
    }

    /// Runs DDL, VACUUM or ANALYZE without delaying the worker's other sessions.
    fn run_ddl(&mut self, statement: &Statement, source: &str) -> Result<CommandTag> {
        if let Some(alter) = ddl::detaches_concurrently(statement) {
            return self.detach_concurrently(alter, source);
        }
        if let Statement::Vacuum(vacuum) = statement {
            if vacuum.is_vacuum {
                self.prevent_in_block("VACUUM")?;
            }
        } else {
            self.check_writable(ddl::command_name(statement))?;
        }
        match statement {
            Statement::CreateIndex(create) if create.concurrently => {
                self.prevent_in_block("CREATE INDEX CONCURRENTLY")?;
            }
            Statement::Drop(drop) if drop.concurrently => {
                self.prevent_in_block("DROP INDEX CONCURRENTLY")?;
            }
            _ => {}
        }
        self.start_statement()?;
        if let Statement::Reindex(reindex) = statement {
            self.check_reindex(reindex, source)?;
        }
        let tag = match statement {
            Statement::Truncate(truncate) => self.truncate(statement, truncate, source)?,
            _ if ddl::is_brief(statement) => {
                self.with_brief_ddl(source, |context| ddl::execute(statement, context))?
            }
            _ => self.with_ddl(source, |context| ddl::execute(statement, context))?,
        };
        self.end_statement();
        Ok(CommandTag::Plain(tag))
    }

    /// 25001 for a REINDEX of several indexes in a block (PostgreSQL uses a transaction for each).
    fn check_reindex(&mut self, reindex: &ReindexStmt, source: &str) -> Result<()> {
        let many = self.with_ddl(source, |context| ddl::reindexes_many(context, reindex))?;
        let Some((command, of)) = many else { return Ok(()) };
        self.prevent_in_block(command).map_err(|error| match of {
            Some(of) => error.context(of),
            None => error,
        })
    }

    /// DETACH PARTITION … CONCURRENTLY, in two transactions.
    fn detach_concurrently(&mut self, alter: &AlterTableStmt, source: &str) -> Result<CommandTag> {
        self.prevent_in_block("ALTER TABLE ... DETACH CONCURRENTLY")?;
        self.check_writable("ALTER TABLE")?;
        self.start_statement()?;
        let begun = self.with_ddl(source, |context| ddl::begin_detach(context, alter))?;
        self.end_statement();
        if let Some(detaching) = begun {
            self.commit()?;
            self.start_transaction()?;
            self.refresh_names();
            self.start_statement()?;
            self.with_ddl(source, |context| ddl::finish_detach(context, &detaching))?;
            self.end_statement();
        }
        Ok(CommandTag::Plain("ALTER TABLE"))
    }

    /// Runs a change of the catalog without delaying the worker's other sessions. The session sees
    /// the changes afterwards.
    pub(super) fn with_ddl<T>(
        &mut self,
        source: &str,
        f: impl FnOnce(&mut DdlContext<'_>) -> Result<T>,
    ) -> Result<T> {
        tokio::task::block_in_place(|| self.with_brief_ddl(source, f))
    }

    /// The same for a brief change: the worker's other sessions wait, and no thread is changed.
    fn with_brief_ddl<T>(
        &mut self,
        source: &str,
        f: impl FnOnce(&mut DdlContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let core = Arc::clone(&self.core);
        let in_use = self.portals.read_by_cursors();
        let frame = core.frame_of(&self.namespace, Arc::clone(&self.statement.env.io));
        let transaction = self.transaction.txn.as_mut();
        let transaction = transaction.ok_or_else(|| Error::internal("no transaction"))?;
        let pending_checks = transaction.tables_with_events(&self.namespace.names.catalog)?;
        let (txn, pending) = transaction.for_ddl();
        let origin = Origin {
            txn,
            pending,
            source,
            in_use,
            pending_checks,
            parent_lock: RelationLockMode::AccessExclusive,
            reaches_nodes: true,
        };
        let mut context =
            DdlContext::new(&core.server.catalog, &frame, &self.statement.env.session, origin);
        let done = context.run(f);
        let session = &*self.statement.env.session;
        let done = done.and_then(|done| transaction.run_on_nodes(session).map(|()| done));
        transaction.forget_no_changes();
        let done = done?;
        self.refresh_names();
        Ok(done)
    }

    /// The columns of a statement without a plan; `None` if it returns no rows.
    pub(super) fn utility_columns(
        &self,
        statement: &Statement,
    ) -> Result<Option<Vec<ResultColumn>>> {
        Ok(match statement {
            Statement::Call(call) => self.call_columns(call)?,
            Statement::Show(name) => Some(self.show_columns(name)),
            Statement::Explain(explain) => Some(vec![described_column(explain)]),
            // Only the node knows them: `describe_direct`.
            Statement::ExecuteDirect(_) => Some(Vec::new()),
            Statement::Execute(execute) => match &self.executed(execute, &Arc::default())?.2.body {
                Body::Plan(plan) if !plan.description.is_empty() => {
                    Some(plan.compiled.columns().to_vec())
                }
                Body::Utility(statement) => self.utility_columns(statement)?,
                _ => None,
            },
            Statement::Fetch(fetch) if !fetch.is_move => self.cursor_columns(&fetch.cursor),
            _ => None,
        })
    }

    /// Appends rows to the answer.
    pub(super) fn put_rows(
        &mut self,
        columns: &[ResultColumn],
        rows: &[Vec<Datum>],
        formats: &ResultFormats,
        describe: bool,
    ) -> Result<()> {
        if describe {
            put_description(&mut self.wire.out, columns, formats)?;
        }
        for values in rows {
            let mut row = DataRow::begin(&mut self.wire.out);
            for (i, (value, column)) in values.iter().zip(columns).enumerate() {
                put_value(&mut row, value, column.ty.oid, formats.get(i), &self.statement.env.io)?;
            }
            row.finish()?;
        }
        Ok(())
    }

    /// A relation by name along the search path.
    pub(super) fn find_relation(
        &self,
        name: &ast::RangeVar,
    ) -> Result<Arc<steppe_catalog::Relation>> {
        steppe_exec::spi::find_relation(&self.namespace.names, name)
    }

    fn discard(&mut self, target: DiscardTarget) -> Result<CommandTag> {
        let tag = match target {
            DiscardTarget::All => {
                self.prevent_in_block("DISCARD ALL")?;
                self.portals.remove_all(&mut self.transaction);
                self.core.routines.close_cursors();
                self.core.settings.lock().reset_all(1);
                self.statements.deallocate(None)?;
                self.core.handle.unlock_all_advisory();
                self.planning.local_plans.clear();
                self.core.routines.forget();
                self.core.forget_sequences();
                self.discard_temporary()?;
                "DISCARD ALL"
            }
            DiscardTarget::Plans => {
                self.planning.local_plans.clear();
                self.core.routines.forget();
                "DISCARD PLANS"
            }
            DiscardTarget::Sequences => {
                self.core.forget_sequences();
                "DISCARD SEQUENCES"
            }
            DiscardTarget::Temp => {
                self.discard_temporary()?;
                "DISCARD TEMP"
            }
        };
        self.refresh_settings();
        Ok(CommandTag::Plain(tag))
    }

    fn discard_temporary(&mut self) -> Result<()> {
        self.start_statement()?;
        self.with_ddl("", ddl::discard_temporary)?;
        self.end_statement();
        Ok(())
    }

    // ----- PREPARE, EXECUTE, DEALLOCATE -----

    /// Like PostgreSQL's parse analysis, it locks the tables until the transaction's end. In a
    /// block it takes a snapshot, which a REPEATABLE READ transaction keeps.
    async fn prepare_statement(
        &mut self,
        prepare: &ast::PrepareStmt,
        source: &Arc<str>,
    ) -> Result<()> {
        if prepare.name.is_empty() {
            let message = "invalid statement name: must not be empty";
            return Err(Error::new(SqlState(*b"42P14"), message));
        }
        self.statements.check_free(&prepare.name)?;
        if !is_plannable(&prepare.query) {
            return Err(Error::not_supported("PREPARE of this statement"));
        }
        let types =
            TypeNames { catalog: &self.namespace.names.catalog, path: &self.namespace.names.path };
        let types = prepare.arg_types.iter().map(|name| {
            let resolved = types.resolve(name).map(|ty| ty.oid);
            resolved.map_err(|error| error.at(name.location.position(source)))
        });
        let types = types.collect::<Result<Vec<Oid>>>()?;
        let statement = Arc::new((*prepare.query).clone());
        let plan = self.plan_locked(&statement, source, &Params::variable(&types)).await?;
        if self.transaction.in_block() {
            self.start_statement()?;
            self.end_statement();
        }
        let prepared = Prepared {
            text: Arc::clone(source),
            body: Body::Plan(plan),
            declared: types.into(),
            prepared_at: self.statement.env.statement_timestamp,
            from_sql: true,
            custom_plans: 0,
        };
        self.statements.put(&prepare.name, prepared)
    }

    async fn execute_statement(
        &mut self,
        execute: &ast::ExecuteStmt,
        source: &Arc<str>,
        formats: &ResultFormats,
        describe: bool,
    ) -> Result<Outcome> {
        let (execute, source, prepared) = self.executed(execute, source)?;
        let plan = match &prepared.body {
            Body::Plan(plan) => Arc::clone(plan),
            Body::Empty => return Ok(Outcome::Tag(CommandTag::Empty)),
            Body::Utility(statement) => {
                let text = Arc::clone(&prepared.text);
                let none = BoundParams::default();
                return self.utility(statement, &text, formats, describe, &none).await;
            }
        };
        let params = self.execute_params(&execute, plan.param_types(), &source)?;
        let mut current = Arc::clone(&plan);
        self.lock_plan(&mut current).await?;
        if !Arc::ptr_eq(&current, &plan) {
            self.statements.set_plan(&execute.name, Arc::clone(&current));
        }
        self.check_prepared(&execute.name, &current, &params)?;
        let current = self.for_prepared_values(current, &params)?;
        let mut portal = PlanPortal::new(current, params);
        (portal.describes, portal.is_locked) = (describe, true);
        self.run_plan(&mut portal, formats, 0).await?;
        Ok(Outcome::Tag(portal.done.unwrap_or(CommandTag::Empty)))
    }

    /// The statement that an EXECUTE runs, and the EXECUTE that names it with its text: the protocol's
    /// Parse may prepare an EXECUTE, too. 54001 if one executes itself, or another one after too many.
    fn executed(
        &self,
        execute: &ast::ExecuteStmt,
        source: &Arc<str>,
    ) -> Result<(ast::ExecuteStmt, Arc<str>, Prepared)> {
        let (mut execute, mut source) = (execute.clone(), Arc::clone(source));
        for _ in 0..EXECUTES_MAX {
            let prepared = self.statements.get(&execute.name)?;
            let inner = match &prepared.body {
                Body::Utility(statement) => match &**statement {
                    Statement::Execute(inner) => Some((**inner).clone()),
                    _ => None,
                },
                _ => None,
            };
            let Some(inner) = inner else { return Ok((execute, source, prepared)) };
            (execute, source) = (inner, prepared.text);
        }
        Err(too_deep())
    }

    /// Evaluates EXECUTE's arguments.
    pub(super) fn execute_params(
        &mut self,
        execute: &ast::ExecuteStmt,
        types: &[Oid],
        source: &str,
    ) -> Result<Arc<[Datum]>> {
        if execute.args.len() != types.len() {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("wrong number of parameters for prepared statement \"{}\"", execute.name),
            )
            .detail(format!(
                "Expected {} parameters but got {}.",
                types.len(),
                execute.args.len()
            )));
        }
        let context = BindContext {
            catalog: &self.namespace.names.catalog,
            search_path: &self.namespace.names.path,
            io: &self.statement.env.io,
            source,
        };
        let values = bind::bind_execute_args(&context, &execute.args, types)?;
        self.evaluate(values)
    }

    /// Evaluates expressions by a plan of one row.
    fn evaluate(&mut self, exprs: Vec<steppe_sql::expr::Expr>) -> Result<Arc<[Datum]>> {
        if exprs.is_empty() {
            return Ok(Arc::from([]));
        }
        let planned = steppe_exec::spi::plan_of_values(exprs);
        let catalog = &self.namespace.names.catalog;
        let compiled =
            steppe_exec::CompiledStmt::compile_without_tables(Arc::new(planned), catalog)?;
        let (compiled, mut none) = (Arc::new(compiled), None);
        let mut execution = steppe_exec::Execution::start(
            &compiled,
            Arc::from([]),
            &self.statement.env,
            &mut none,
        )?;
        let mut sink = super::sink::CollectingSink::default();
        execution.fetch(&mut none, 0, &mut sink)?;
        match sink.rows.pop() {
            Some(row) => Ok(row.into_vec().into()),
            None => Err(Error::internal("parameters were not evaluated")),
        }
    }

    fn deallocate(&mut self, deallocate: &ast::DeallocateStmt) -> Result<CommandTag> {
        self.statements.deallocate(deallocate.name.as_deref())?;
        Ok(CommandTag::Plain(match &deallocate.name {
            None => "DEALLOCATE ALL",
            Some(_) => "DEALLOCATE",
        }))
    }
}

/// The name of a statement that is not supported.
pub(crate) fn name_of(statement: &Statement) -> &'static str {
    match statement {
        Statement::ExecuteDirect(_) => "EXECUTE DIRECT",
        Statement::Listen(_) => "LISTEN",
        Statement::Notify(_) => "NOTIFY",
        Statement::Cluster(_) => "CLUSTER",
        Statement::CreateRange(_) => "CREATE TYPE â¦ AS RANGE",
        Statement::CreateRole(_) => "CREATE ROLE",
        Statement::CreateDatabase(_) => "CREATE DATABASE",
        Statement::CreateServer(_) => "CREATE SERVER",
        Statement::UserMapping(_) => "CREATE USER MAPPING",
        Statement::RefreshMatView(_) => "REFRESH MATERIALIZED VIEW",
        Statement::AlterSchema(_) => "ALTER SET SCHEMA",
        Statement::AlterRoleSet(set) if set.role.is_none() && set.database.is_some() => {
            "ALTER DATABASE"
        }
        Statement::AlterRole(_) | Statement::AlterRoleSet(_) => "ALTER ROLE",
        Statement::AlterDatabase(_) => "ALTER DATABASE",
        Statement::AlterSystem(_) => "ALTER SYSTEM",
        Statement::DropRole(_) => "DROP ROLE",
        Statement::DropDatabase(_) => "DROP DATABASE",
        Statement::DropOwned(_) => "DROP OWNED",
        Statement::ReassignOwned(_) => "REASSIGN OWNED",
        Statement::Grant(_) | Statement::GrantRole(_) => "GRANT",
        _ => "this statement",
    }
}

/// LOAD: the libraries that PostgreSQL would load are part of the program.
pub(crate) fn load(library: &str) -> Result<()> {
    let name = library.strip_prefix("$libdir/").unwrap_or(library);
    match name.strip_suffix(".so").unwrap_or(name) {
        "auto_explain" | "pg_stat_statements" | "plpgsql" => Ok(()),
        _ => Err(Error::not_supported(format!("LOAD of the library \"{library}\""))),
    }
}
