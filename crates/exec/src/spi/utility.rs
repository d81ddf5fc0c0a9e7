//! Statements without a plan that a function runs in the executor itself (ProcessUtility in
//! utility.c). They return rows, take locks, use cursors or store a query's rows. The session runs
//! the others ([`steppe_functions::SessionHost::utility`]).
//!
//! A statement that returns rows has its columns from the moment when it is prepared, as
//! UtilityTupleDescriptor gives them. Rows of a statement that is opened as a cursor are all made at
//! once (PORTAL_UTIL_SELECT).

use super::prepared::Way;
use super::sinks::Nothing;
use super::{Prepared, Spi};
use crate::explain::described_column;
use crate::routine::run_inline_within;
use crate::sink::RowSink;
use std::sync::Arc;
use steppe_functions::UtilityCall;
use steppe_sql::ast::{FetchStmt, SetStmt, Statement};
use steppe_sql::bind::Params;
use steppe_sql::expr::TypeRef;
use steppe_sql::plan::ResultColumn;
use steppe_types::{Datum, Result, oid};

/// A statement without a plan.
#[derive(Clone)]
pub(super) struct Utility {
    pub(super) statement: Arc<Statement>,
    /// The parameters, or the variables, of a query that it has.
    pub(super) params: Params,
    /// The columns of its rows; none if it returns no rows.
    pub(super) columns: Arc<[ResultColumn]>,
}

impl Utility {
    /// Whether its own run is watched. EXECUTE is seen as the run of its statement, and PREPARE as its
    /// planning (PGSS_HANDLED_UTILITY).
    pub(super) fn is_watched(&self) -> bool {
        !matches!(*self.statement, Statement::Execute(_) | Statement::Prepare(_))
    }
}

/// A run of a statement without a plan.
pub(super) struct Run<'r> {
    pub(super) source: &'r Arc<str>,
    pub(super) values: &'r [Datum],
    /// The most rows that the sink gets (0: all).
    pub(super) limit: u64,
}

impl Spi<'_> {
    pub(super) fn utility_of(
        &mut self,
        statement: Arc<Statement>,
        params: Params,
    ) -> Result<Utility> {
        let columns = match &*statement {
            Statement::Show(name) if is_all(name) => ALL_SETTINGS.map(text_column).into(),
            Statement::Show(name) => {
                vec![text_column(&self.session().shown_setting(name)?.0)]
            }
            Statement::Explain(explain) => vec![described_column(explain)],
            Statement::Fetch(fetch) if !fetch.is_move && self.has_cursor(&fetch.cursor) => {
                self.with_cursor(&fetch.cursor, |cursor, _| Ok(cursor.columns().to_vec()))?
            }
            Statement::Execute(execute) => self.executed_columns(&execute.name)?.to_vec(),
            _ => Vec::new(),
        };
        Ok(Utility { statement, params, columns: columns.into() })
    }

    /// Runs a statement without a plan. Returns the number of rows that it returned or stored.
    pub(super) fn utility(
        &mut self,
        utility: &Utility,
        run: &Run<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<u64> {
        let statement = &*utility.statement;
        if self.is_read_only
            && let Some(command) = command_of(statement)
        {
            return Err(super::prepared::not_allowed(command));
        }
        match statement {
            Statement::Show(name) if is_all(name) => {
                give(&self.session().all_settings()?, run.limit, sink)
            }
            Statement::Show(name) => {
                let value = Datum::text(self.session().shown_setting(name)?.1);
                give(&[[value]], run.limit, sink)
            }
            Statement::Explain(explain) => {
                let lines = self.explain(explain, &utility.params, run)?;
                let rows: Vec<_> = lines.into_iter().map(|line| [line]).collect();
                give(&rows, run.limit, sink)
            }
            Statement::CreateTableAs(create) => self.create_table_as(create, &utility.params, run),
            Statement::Select(select) => self.select_into(select, &utility.params, run),
            Statement::Lock(lock) => self.lock_tables(lock).map(|()| 0),
            Statement::DeclareCursor(declare) => {
                self.declare_cursor(declare, &utility.params, run).map(|()| 0)
            }
            Statement::Fetch(fetch) => self.fetch_cursor(fetch, sink),
            Statement::SetConstraints(set) => self.set_constraints(set).map(|()| 0),
            Statement::Prepare(prepare) => self.prepare_statement(prepare, run.source).map(|()| 0),
            Statement::Copy(copy) => self.copy_with_file(copy, run.source),
            Statement::Execute(execute) => self.execute_prepared(execute, run.source, sink),
            Statement::Close(Some(name)) => self.close_cursor(name).map(|()| 0),
            Statement::Close(None) => self.close_all_cursors().map(|()| 0),
            Statement::Do(stmt) => self.within(|spi| run_inline_within(stmt, spi)).map(|()| 0),
            Statement::Set(set) if let SetStmt::Transaction(modes) = &**set => {
                self.set_modes(modes).map(|()| 0)
            }
            _ => self.in_session(statement, run.source).map(|()| 0),
        }
    }

    fn in_session(&mut self, statement: &Statement, source: &str) -> Result<()> {
        let (is_read_only, in_use) = (self.is_read_only, self.relations_in_use());
        self.in_transaction(|session, transaction| {
            let (txn, pending) = transaction.for_ddl();
            let call =
                UtilityCall { session, txn, pending, statement, source, in_use, is_read_only };
            session.utility(call)
        })
    }

    /// FETCH and MOVE. The rows of a MOVE are not counted: it returns none.
    fn fetch_cursor(&mut self, fetch: &FetchStmt, sink: &mut dyn RowSink) -> Result<u64> {
        let (direction, count) = (fetch.direction, fetch.count);
        let sink: &mut dyn RowSink = if fetch.is_move { &mut Nothing } else { sink };
        let rows = self.with_cursor(&fetch.cursor, |cursor, spi| {
            cursor.fetch_direction(spi, direction, count, sink)
        })?;
        Ok(if fetch.is_move { 0 } else { rows })
    }

    /// A query that is part of a statement without a plan, planned over the statement's parameters.
    pub(super) fn prepared_query(
        &mut self,
        query: &Arc<Statement>,
        source: &Arc<str>,
        params: &Params,
        way: Way,
    ) -> Result<Prepared> {
        let is_dynamic = !params.are_variables();
        let planned = self.planned(query, source, params.clone(), way)?;
        let (body, text) = (super::prepared::Body::Plan(Box::new(planned)), Arc::clone(source));
        Ok(Prepared { body, text, is_dynamic, literals: Arc::default() })
    }
}

/// The columns of SHOW ALL.
const ALL_SETTINGS: [&str; 3] = ["name", "setting", "description"];

fn is_all(setting: &str) -> bool {
    setting.eq_ignore_ascii_case("all")
}

/// Gives rows, and returns their number.
fn give(rows: &[impl AsRef<[Datum]>], limit: u64, sink: &mut dyn RowSink) -> Result<u64> {
    let most = if limit == 0 { usize::MAX } else { usize::try_from(limit).unwrap_or(usize::MAX) };
    rows.iter().take(most).try_for_each(|row| sink.row(row.as_ref()))?;
    Ok(rows.len() as u64)
}

fn text_column(name: &str) -> ResultColumn {
    ResultColumn { name: name.into(), ty: TypeRef::plain(oid::TEXT), domain: 0, origin: (0, 0) }
}

/// The command by which a function that is not VOLATILE refuses a statement that is run here.
fn command_of(statement: &Statement) -> Option<&'static str> {
    Some(match statement {
        Statement::Show(_) => "SHOW",
        Statement::Explain(_) => "EXPLAIN",
        Statement::CreateTableAs(_) => "CREATE TABLE AS",
        Statement::Select(_) => "SELECT INTO",
        Statement::Lock(_) => "LOCK TABLE",
        Statement::SetConstraints(_) => "SET CONSTRAINTS",
        Statement::DeclareCursor(_) => "DECLARE CURSOR",
        Statement::Fetch(fetch) => {
            if fetch.is_move {
                "MOVE"
            } else {
                "FETCH"
            }
        }
        Statement::Close(_) => "CLOSE CURSOR",
        Statement::Copy(_) => "COPY",
        Statement::Prepare(_) => "PREPARE",
        Statement::Execute(_) => "EXECUTE",
        Statement::Do(_) => "DO",
        Statement::Set(set) if matches!(**set, SetStmt::Transaction(_)) => "SET",
        _ => return None,
    })
}
