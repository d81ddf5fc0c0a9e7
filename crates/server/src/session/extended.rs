//! The extended query protocol: Parse, Bind, Describe, Execute, Close, Sync
//! (exec_parse_message and its kin in src/backend/tcop/postgres.c).
//!
//! All statements between two Syncs outside a block are one transaction.

use std::sync::Arc;

use steppe_catalog::builtin;
use steppe_exec::prepare::{is_plannable, only};
use steppe_sql::ast;
use steppe_sql::bind::is_own;
use steppe_sql::bind::typename::format_type;
use steppe_sql::parser;
use steppe_types::io::IoContext;
use steppe_types::physical::Physical;
use steppe_types::{Datum, Error, Oid, Result, SqlState, binary_io, oid, text_io};
use steppe_wire::frontend::{Bind, Formats, Parse, Target, text_param};
use steppe_wire::{Format, backend};

use super::Session;
use super::explain::BoundParams;
use super::plan::put_description;
use super::portal::{
    Body, HeldRows, PlanPortal, Portal, PortalBody, Prepared, RowsLeft, UtilityRun, cannot_be_run,
};
use super::run::Progress;
use super::sink::ResultFormats;
use super::statement_log::{level_of, level_of_command};
use super::tag::CommandTag;
use super::transaction::{ends_failed_block, failed_block};
use super::utility::Outcome;
use crate::plan_cache::CachedPlan;
use crate::settings::live::LoggedStatements;
use crate::workers;

impl Session {
    /// Parse. As PostgreSQL's parse analysis, it locks the tables until the transaction's end.
    pub(super) async fn parse(&mut self, parse: &Parse<'_>) -> Result<()> {
        self.begin_message();
        self.set_running(parse.query);
        workers::unblock_if_large(parse.query);
        self.statements.check_free(parse.statement)?;
        if parse.statement.is_empty() {
            self.statements.drop_unnamed();
        }
        let declared: Vec<Oid> =
            parse.types.iter().map(|ty| if ty == oid::UNKNOWN { 0 } else { ty }).collect();
        let prepared = self.prepare(parse.query, &declared).await?;
        self.statements.put(parse.statement, prepared)?;
        backend::parse_complete(&mut self.wire.out);
        Ok(())
    }

    async fn prepare(&mut self, text: &str, declared: &[Oid]) -> Result<Prepared> {
        let body = match self.prepare_cached(text, declared).await? {
            Some(plan) => Body::Plan(plan),
            None => self.prepare_parsed(text, declared).await?,
        };
        let declared: Arc<[Oid]> = match &body {
            Body::Utility(statement) => match (&**statement, query_within(statement)) {
                (ast::Statement::Call(call), _) if !self.transaction.is_failed() => {
                    self.call_params(call, text, declared)?
                }
                (_, Some(query)) if !self.transaction.is_failed() => {
                    self.param_types_within(query, &text.into(), declared).await?
                }
                _ => declared.into(),
            },
            _ => declared.into(),
        };
        Ok(Prepared {
            text: text.into(),
            body,
            declared,
            prepared_at: self.statement.env.statement_timestamp,
            from_sql: false,
            custom_plans: 0,
        })
    }

    async fn prepare_cached(
        &mut self,
        text: &str,
        declared: &[Oid],
    ) -> Result<Option<Arc<CachedPlan>>> {
        if self.transaction.is_failed() {
            return Ok(None);
        }
        self.start_transaction()?;
        let plan = match self.text_plan(text, None, declared)? {
            Some(plan) => plan,
            None => match self.rows_of_params(text, declared)? {
                Some(plan) => plan,
                None => return Ok(None),
            },
        };
        Ok(self.lock_relations_of(&plan).await?.then_some(plan))
    }

    async fn prepare_parsed(&mut self, text: &str, declared: &[Oid]) -> Result<Body> {
        self.note_truncations(text);
        let parsed = parser::parse(text)?;
        if parsed.is_empty() {
            return Ok(Body::Empty);
        }
        let statement = Arc::new(only(parsed)?.statement);
        if self.transaction.is_failed() && !ends_failed_block(&statement) {
            return Err(failed_block());
        }
        if !is_plannable(&statement) {
            return Ok(Body::Utility(statement));
        }
        let plan = self.made_locked(&statement, |session| {
            let plan = session.text_plan(text, Some(&statement), declared)?;
            plan.ok_or_else(|| Error::internal("statement was not planned"))
        });
        plan.await.map(Body::Plan)
    }

    /// Bind. It locks the relations of the portal's plan, as PostgreSQL does when it plans.
    pub(super) async fn bind(&mut self, bind: &Bind<'_>) -> Result<()> {
        self.begin_message();
        let prepared = self.statements.get(bind.statement)?;
        let expected = prepared.param_types().len();
        if bind.params.len() != expected {
            return Err(Error::new(
                SqlState::PROTOCOL_VIOLATION,
                format!(
                    "bind message supplies {} parameters, but prepared statement \"{}\" requires \
                     {expected}",
                    bind.params.len(),
                    bind.statement
                ),
            ));
        }
        let may_run = match &prepared.body {
            Body::Empty => true,
            Body::Plan(_) => false,
            Body::Utility(statement) => ends_failed_block(statement),
        };
        if self.transaction.is_failed() && !(may_run && expected == 0) {
            return Err(failed_block());
        }
        if bind.portal.is_empty() {
            self.portals.remove("", &mut self.transaction);
        } else {
            self.check_portal_free(bind.portal)?;
        }
        match prepared.body {
            Body::Empty => {
                let bound = (PortalBody::Empty, 0, ResultFormats::Text);
                self.put_portal(bind.portal, prepared.text, bound)
            }
            Body::Utility(statement) => {
                let formats = result_formats(&bind.result_formats, None)?;
                let (values, bytes) = self.bind_params(bind, &prepared.declared)?;
                let params = BoundParams { types: prepared.declared, values };
                let body = PortalBody::Utility { statement, params, ran: UtilityRun::NotYet };
                self.put_portal(bind.portal, prepared.text, (body, bytes, formats))
            }
            Body::Plan(plan) => self.bind_plan(bind, prepared.text, plan).await,
        }
    }

    async fn bind_plan(
        &mut self,
        bind: &Bind<'_>,
        source: Arc<str>,
        plan: Arc<CachedPlan>,
    ) -> Result<()> {
        self.start_transaction()?;
        let (params, bytes) = self.bind_params(bind, plan.param_types())?;
        let mut current = Arc::clone(&plan);
        self.lock_plan(&mut current).await?;
        if !Arc::ptr_eq(&current, &plan) {
            self.statements.set_plan(bind.statement, Arc::clone(&current));
        }
        self.check_prepared(bind.statement, &current, &params)?;
        let current = self.for_prepared_values(current, &params)?;
        let columns = current.compiled.columns().len();
        let formats = result_formats(&bind.result_formats, Some(columns))?;
        let mut portal = PlanPortal::new(current, params);
        portal.is_locked = true;
        self.put_portal(bind.portal, source, (PortalBody::Plan(portal), bytes, formats))
    }

    /// Adds a portal with its body, the bytes of its parameters, and its result's formats.
    fn put_portal(
        &mut self,
        name: &str,
        source: Arc<str>,
        (body, bytes, formats): (PortalBody, usize, ResultFormats),
    ) -> Result<()> {
        let depth = self.transaction.depth();
        let created_at = self.statement.env.statement_timestamp;
        let has_failed = false;
        let portal = Portal { body, source, formats, depth, created_at, bytes, has_failed };
        self.portals.put(name, Box::new(portal))?;
        backend::bind_complete(&mut self.wire.out);
        Ok(())
    }

    /// The parameters' values, and the number of their bytes.
    fn bind_params(&self, bind: &Bind<'_>, types: &[Oid]) -> Result<(Arc<[Datum]>, usize)> {
        let mut bytes = 0;
        // It is made at its full length: one allocation, and none without parameters.
        let mut params = match types.len() {
            0 => Arc::default(),
            count => std::iter::repeat_n(Datum::Null, count).collect::<Arc<[Datum]>>(),
        };
        let slots = Arc::get_mut(&mut params).into_iter().flatten();
        for (i, ((value, type_oid), slot)) in bind.params.iter().zip(types).zip(slots).enumerate() {
            let Some(value) = value else { continue };
            bytes += value.len();
            *slot = match bind.formats.get(i)? {
                Format::Text => text_io::input(*type_oid, -1, text_param(value)?, self.io())?,
                Format::Binary => {
                    receive(*type_oid, value, self.io()).map_err(|error| binary_error(error, i))?
                }
            };
        }
        Ok((params, bytes))
    }

    /// Describe.
    pub(super) async fn describe(&mut self, target: Target<'_>) -> Result<()> {
        self.begin_message();
        match target {
            Target::Statement(name) => self.describe_statement(name).await,
            Target::Portal(name) => Box::pin(self.describe_portal(name)).await,
        }
    }

    async fn describe_statement(&mut self, name: &str) -> Result<()> {
        let prepared = self.statements.get(name)?;
        if self.transaction.is_failed() && self.returns_rows(&prepared.body)? {
            return Err(failed_block());
        }
        backend::parameter_description(&mut self.wire.out, prepared.param_types());
        match &prepared.body {
            Body::Empty => backend::no_data(&mut self.wire.out),
            Body::Plan(plan) => {
                self.start_transaction()?;
                let mut plan = Arc::clone(plan);
                self.lock_plan(&mut plan).await?;
                if plan.description.is_empty() {
                    backend::no_data(&mut self.wire.out);
                } else {
                    self.wire.out.extend_from_slice(&plan.description);
                }
            }
            Body::Utility(statement) => {
                let described = self.describe_utility(statement, &ResultFormats::Text);
                Box::pin(described).await?;
            }
        }
        Ok(())
    }

    fn returns_rows(&self, body: &Body) -> Result<bool> {
        Ok(match body {
            Body::Empty => false,
            Body::Plan(plan) => !plan.description.is_empty(),
            Body::Utility(statement) => self.utility_columns(statement)?.is_some(),
        })
    }

    async fn describe_utility(
        &mut self,
        statement: &Arc<ast::Statement>,
        formats: &ResultFormats,
    ) -> Result<()> {
        if let ast::Statement::ExecuteDirect(direct) = &**statement {
            return self.describe_direct(direct, formats).await;
        }
        match self.utility_columns(statement)? {
            Some(columns) => put_description(&mut self.wire.out, &columns, formats),
            None => {
                backend::no_data(&mut self.wire.out);
                Ok(())
            }
        }
    }

    async fn describe_portal(&mut self, name: &str) -> Result<()> {
        let looked_at = self.portals.with(name, |portal| {
            let plan = match &portal.body {
                PortalBody::Empty => Ok(None),
                PortalBody::Plan(plan) => Ok(Some(Arc::clone(&plan.plan))),
                PortalBody::Cursor(cursor) => Ok(Some(Arc::clone(&cursor.plan.plan))),
                PortalBody::Utility { statement, .. } => Err(Arc::clone(statement)),
            };
            (portal.formats.clone(), plan)
        });
        let (formats, plan) = looked_at?;
        let plan = match plan {
            Ok(plan) => plan,
            Err(statement) => return self.describe_utility(&statement, &formats).await,
        };
        match plan {
            Some(plan) if !plan.description.is_empty() => {
                if self.transaction.is_failed() {
                    return Err(failed_block());
                }
                if formats == ResultFormats::Text {
                    self.wire.out.extend_from_slice(&plan.description);
                    return Ok(());
                }
                put_description(&mut self.wire.out, plan.compiled.columns(), &formats)
            }
            _ => {
                backend::no_data(&mut self.wire.out);
                Ok(())
            }
        }
    }

    /// Execute.
    pub(super) async fn execute_portal(&mut self, name: &str, max_rows: i32) -> Result<()> {
        self.begin_message();
        self.statement.has_begun = false;
        self.check_executable(name)?;
        let mut portal = self.portals.take(name)?;
        let max_rows = u64::try_from(max_rows).unwrap_or(0);
        let executed = self.execute_taken(name, &mut portal, max_rows).await;
        if executed.is_err() {
            portal.fail(&mut self.transaction.txn);
        }
        // A statement that has ended the transaction has removed its portals.
        let is_empty = matches!(portal.body, PortalBody::Empty);
        if self.transaction.txn.is_some() || is_empty || executed.is_err() {
            self.portals.put_back(name, portal);
        }
        executed
    }

    /// The errors that refuse a portal's run without making the portal fail.
    fn check_executable(&self, name: &str) -> Result<()> {
        let is_failed = self.transaction.is_failed();
        self.portals.with(name, |portal| {
            let ends_block = match &portal.body {
                PortalBody::Utility { statement, .. } => ends_failed_block(statement),
                PortalBody::Empty => true,
                _ => false,
            };
            if is_failed && !ends_block {
                return Err(failed_block());
            }
            portal.check_runnable(name)
        })?
    }

    async fn execute_taken(
        &mut self,
        name: &str,
        portal: &mut Portal,
        max_rows: u64,
    ) -> Result<()> {
        self.transaction.ends_with_statement =
            self.wire.sync_follows && !self.transaction.is_pipelined;
        let source = Arc::clone(&portal.source);
        self.set_running(&source);
        if self.settings.live.logs_statements {
            self.log_start(level_of_portal(&portal.body), &format!("execute {name}"));
        }
        match &mut portal.body {
            PortalBody::Empty => backend::empty_query_response(&mut self.wire.out),
            PortalBody::Plan(plan) => {
                if plan.is_spent() {
                    return Err(cannot_be_run(name));
                }
                self.start_transaction()?;
                let progress = self.run_plan(plan, &portal.formats, max_rows).await?;
                self.put_notices();
                match (progress, plan.tag()) {
                    (Progress::Done, Some(tag)) => tag.put(&mut self.wire.out),
                    _ => {
                        plan.told += max_rows;
                        backend::portal_suspended(&mut self.wire.out);
                    }
                }
            }
            PortalBody::Cursor(cursor) => {
                self.start_transaction()?;
                let rows = Box::pin(self.execute_cursor(cursor, max_rows, &portal.formats)).await?;
                self.put_notices();
                match max_rows > 0 && rows == max_rows {
                    true => backend::portal_suspended(&mut self.wire.out),
                    false => CommandTag::Rows("SELECT", rows).put(&mut self.wire.out),
                }
            }
            PortalBody::Utility { statement, params, ran } => match ran {
                UtilityRun::Done => return Err(cannot_be_run(name)),
                UtilityRun::Rows(left) => Box::pin(self.put_rows_left(left, max_rows)).await?,
                UtilityRun::NotYet => {
                    let statement = Arc::clone(statement);
                    let formats = &portal.formats;
                    let run = self.execute_utility(&statement, &source, formats, params, max_rows);
                    *ran = Box::pin(run).await?;
                }
            },
        }
        self.log_end();
        self.transaction.is_pipelined = self.transaction.txn.is_some();
        Ok(())
    }

    /// Runs a statement without a plan.
    async fn execute_utility(
        &mut self,
        statement: &Arc<ast::Statement>,
        source: &Arc<str>,
        formats: &ResultFormats,
        params: &BoundParams,
        max_rows: u64,
    ) -> Result<UtilityRun> {
        // The columns may become known only when the statement runs, so an error is ignored here.
        let gives_rows = self.utility_columns(statement).is_ok_and(|columns| columns.is_some());
        let is_short = matches!(&**statement, ast::Statement::Explain(_) | ast::Statement::Show(_));
        if gives_rows && (max_rows > 0 || is_short) {
            let rows = RowsLeft::new(&self.statement.env);
            self.wire.held_rows = Some(Box::new(HeldRows { start: self.wire.out.len(), rows }));
        }
        let outcome = self.utility(statement, source, formats, false, params).await;
        let gathered = self.wire.held_rows.take();
        let tag = match outcome? {
            Outcome::Tag(tag) => tag,
            Outcome::CopyIn(copy) => {
                self.begin_copy_in(*copy, None);
                return Ok(UtilityRun::Done);
            }
        };
        let mut left = match gathered {
            None => None,
            Some(gathered) => {
                let HeldRows { start, mut rows } = *gathered;
                rows.take(&mut self.wire.out, start)?;
                rows.tag = tag.clone();
                Some(rows)
            }
        };
        if matches!(&**statement, ast::Statement::Transaction(_)) {
            self.end_implicit().await?;
        }
        self.put_notices();
        match &mut left {
            Some(left) => self.put_rows_left(left, max_rows).await?,
            None => tag.put(&mut self.wire.out),
        }
        if gives_rows && left.is_none() {
            // A further Execute returns no rows.
            let mut none = RowsLeft::new(&self.statement.env);
            none.tag = tag;
            left = Some(none);
        }
        Ok(left.map_or(UtilityRun::Done, |left| UtilityRun::Rows(Box::new(left))))
    }

    /// Sends up to `max_rows` rows, or all if it is 0. After the last row it sends the tag, which
    /// counts these rows.
    async fn put_rows_left(&mut self, left: &mut RowsLeft, max_rows: u64) -> Result<()> {
        let mut rows = 0;
        while (max_rows == 0 || rows < max_rows) && left.put_row(&mut self.wire.out)? {
            rows += 1;
            self.pass_rows_on().await?;
        }
        if max_rows > 0 && rows == max_rows {
            backend::portal_suspended(&mut self.wire.out);
        } else {
            left.tag.of_rows(rows).put(&mut self.wire.out);
        }
        Ok(())
    }

    /// Close.
    pub(super) fn close(&mut self, target: Target<'_>) {
        match target {
            Target::Statement(name) => {
                self.statements.remove(name);
            }
            Target::Portal(name) => {
                self.portals.remove(name, &mut self.transaction);
            }
        }
        backend::close_complete(&mut self.wire.out);
    }

    /// Sync.
    pub(super) async fn sync(&mut self) -> Result<()> {
        self.wire.skips_to_sync = false;
        self.end_implicit().await?;
        self.ready();
        Ok(())
    }
}

/// The query in a utility statement that uses the statement's parameters
/// (transformOptionalSelectInto and its kin).
fn query_within(statement: &ast::Statement) -> Option<&ast::Statement> {
    match statement {
        ast::Statement::Explain(explain) => match query_within(&explain.query) {
            Some(query) => Some(query),
            None => Some(&explain.query),
        },
        ast::Statement::DeclareCursor(declare) => Some(&declare.query),
        ast::Statement::CreateTableAs(create) => Some(&create.query),
        _ => None,
    }
}

/// The least log_statement that logs a portal's execution.
fn level_of_portal(body: &PortalBody) -> LoggedStatements {
    match body {
        PortalBody::Plan(plan) => level_of_command(plan.plan.compiled.planned().command),
        PortalBody::Utility { statement, .. } => level_of(statement),
        PortalBody::Empty | PortalBody::Cursor(_) => LoggedStatements::All,
    }
}

/// Reads a value in binary form; 42883 for a type without one.
fn receive(type_oid: Oid, value: &[u8], io: &IoContext) -> Result<Datum> {
    if Physical::of(type_oid) != Physical::Any || is_own(type_oid) {
        return binary_io::receive(type_oid, -1, value, io);
    }
    let ty = format_type(type_oid, -1);
    if builtin::ty(type_oid).is_some_and(|ty| ty.receive == 0) {
        let message = format!("no binary input function available for type {ty}");
        return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
    }
    Err(Error::not_supported(format!("binary input of type {ty}")))
}

/// Names the parameter if a binary value is too short or too long for its type.
fn binary_error(error: Error, i: usize) -> Error {
    if error.sqlstate() == SqlState::INVALID_BINARY_REPRESENTATION {
        let message = format!("incorrect binary data format in bind parameter {}", i + 1);
        return Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message);
    }
    error
}

/// The formats of a Bind message. `columns` is the number of the result's columns, if known.
fn result_formats(formats: &Formats<'_>, columns: Option<usize>) -> Result<ResultFormats> {
    if let Some(columns) = columns {
        formats.check_columns(columns)?;
    }
    match formats.len() {
        0 => Ok(ResultFormats::Text),
        1 => Ok(match formats.get(0)? {
            Format::Text => ResultFormats::Text,
            Format::Binary => ResultFormats::Binary,
        }),
        n => {
            let each = (0..n).map(|i| formats.get(i)).collect::<Result<_>>()?;
            Ok(ResultFormats::Each(each))
        }
    }
}
