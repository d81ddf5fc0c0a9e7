//! PREPARE and EXECUTE in a function (src/backend/commands/prepare.c), also EXECUTE within EXPLAIN and
//! CREATE TABLE AS.
//!
//! The session has the statements ([`SessionStatements`]): the client and functions use the same ones.
//! A function plans a statement of the list in the state that it sees, and the session's routines keep
//! that plan for the next EXECUTE. The plan stays with the statement as long as the list has it, so its
//! text finds no other plan ([`super::shared`]): a text of the client may have several statements.

use super::prepared::{Body, Way, plan};
use super::run::Answer;
use super::utility::Run;
use super::{Prepared, Spi, present};
use crate::partition::lock_mode;
use crate::prepare::{PreparedPlan, Snapshot, is_plannable, run_in_place};
use crate::routine::SessionRoutines;
use crate::sink::RowSink;
use crate::statement::CompiledStmt;
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::sync::Arc;
use steppe_catalog::Catalog;
use steppe_sql::ast::{CreateTableAsStmt, ExecuteStmt, PrepareStmt, Statement};
use steppe_sql::bind::typename::TypeNames;
use steppe_sql::bind::{BindContext, Params, bind_execute_args};
use steppe_sql::expr::Expr;
use steppe_sql::plan::{PlannedStmt, ResultColumn};
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// The prepared statements of a session, with names.
pub trait SessionStatements: Send + Sync {
    /// The one of this name. 26000 if there is none.
    fn find(&self, name: &str) -> Result<SessionStatement>;

    /// Adds one. 42P05 if the name is taken.
    fn put(&self, name: &str, new: NewStatement<'_>) -> Result<()>;
}

/// A prepared statement of a session.
pub struct SessionStatement {
    /// The statement; `None` if it is empty.
    pub statement: Option<Arc<Statement>>,
    /// The text that its positions refer to.
    pub source: Arc<str>,
    /// The types of its parameters.
    pub types: Arc<[Oid]>,
    /// The columns of its rows.
    pub columns: Arc<[ResultColumn]>,
}

/// A statement that PREPARE adds.
pub struct NewStatement<'a> {
    /// Its plan.
    pub plan: PreparedPlan,
    /// The types of its parameters that PREPARE declares.
    pub types: &'a [Oid],
    /// The time of the client's statement.
    pub prepared_at: i64,
    /// The catalog that it was planned against.
    pub catalog: &'a Catalog,
}

/// The most plans that a session keeps. One more makes it forget all.
const PLANS_MAX: usize = 256;

/// The plans with which a session's functions run prepared statements, by name.
#[derive(Default)]
pub(crate) struct ExecutedPlans(Mutex<HashMap<Box<str>, Prepared, foldhash::fast::RandomState>>);

impl ExecutedPlans {
    /// Forgets all plans.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    /// The plan of this statement; not that of another one that had the name before.
    fn find(&self, name: &str, statement: &Arc<Statement>) -> Option<Prepared> {
        let is_of = |prepared: &&Prepared| match &prepared.body {
            Body::Plan(planned) => Arc::ptr_eq(&planned.plan.statement, statement),
            Body::Call(..) | Body::Utility(_) => false,
        };
        self.0.lock().get(name).filter(is_of).cloned()
    }

    fn put(&self, name: &str, prepared: Prepared) {
        let plans = &mut *self.0.lock();
        if plans.len() >= PLANS_MAX {
            plans.clear();
        }
        plans.insert(name.into(), prepared);
    }
}

impl Spi<'_> {
    fn session_statements(&self) -> Result<Arc<dyn SessionStatements>> {
        let statements = SessionRoutines::of(&**self.session())?.statements.clone();
        statements.ok_or_else(|| Error::not_supported("prepared statements in this context"))
    }

    /// The columns of a prepared statement's rows; none if there is no such statement.
    pub(super) fn executed_columns(&mut self, name: &str) -> Result<Arc<[ResultColumn]>> {
        let Ok(found) = self.session_statements()?.find(name) else { return Ok(Arc::default()) };
        match found.statement {
            Some(statement) if !is_plannable(&statement) && !is_execute(&statement) => {
                Ok(self.utility_of(statement, Params::fixed(&found.types))?.columns)
            }
            _ => Ok(found.columns),
        }
    }

    /// PREPARE. As parse analysis does, it locks the relations until the transaction's end.
    pub(super) fn prepare_statement(
        &mut self,
        prepare: &PrepareStmt,
        source: &Arc<str>,
    ) -> Result<()> {
        if prepare.name.is_empty() {
            let message = "invalid statement name: must not be empty";
            return Err(Error::new(SqlState(*b"42P14"), message));
        }
        if !is_plannable(&prepare.query) {
            return Err(Error::not_supported("PREPARE of this statement"));
        }
        let types = self.declared_types(prepare, source)?;
        let statement = Arc::new((*prepare.query).clone());
        let (session, statements) = (Arc::clone(self.session()), self.session_statements()?);
        let prepared_at = self.cx.functions.statement_timestamp;
        self.lend(|txn| {
            let transaction = present(txn)?;
            loop {
                transaction.rebase(&*session)?;
                let (version, frame) = (session.frame_version(), session.frame()?);
                let of = (&statement, source, Way::ALONE);
                let plan = plan(&*session, &frame, of, Params::variable(&types), &[])?;
                for (relation, mode) in &plan.compiled.planned().relations {
                    if let Some(wait) =
                        transaction.txn.lock_relation(*relation, lock_mode(*mode))?
                    {
                        session.block_on(wait)?;
                    }
                }
                transaction.rebase(&*session)?;
                if session.frame_version() == version {
                    let (catalog, types) = (&*frame.names.catalog, &*types);
                    let new = NewStatement { plan, types, prepared_at, catalog };
                    return statements.put(&prepare.name, new);
                }
            }
        })
    }

    fn declared_types(&self, prepare: &PrepareStmt, source: &str) -> Result<Vec<Oid>> {
        let names = self.frame()?.names;
        let types = TypeNames { catalog: &names.catalog, path: &names.path };
        let resolved = prepare.arg_types.iter().map(|name| {
            let resolved = types.resolve(name).map(|ty| ty.oid);
            resolved.map_err(|error| error.at(name.location.position(source)))
        });
        resolved.collect()
    }

    /// EXECUTE. Returns the number of rows that it returns. The rows that it changes are not counted.
    pub(super) fn execute_prepared(
        &mut self,
        execute: &ExecuteStmt,
        source: &str,
        sink: &mut dyn RowSink,
    ) -> Result<u64> {
        let found = self.session_statements()?.find(&execute.name)?;
        let values = self.execute_values(execute, &found.types, source)?;
        let Some(statement) = &found.statement else { return Ok(0) };
        let session = Arc::clone(self.session());
        let plans = &SessionRoutines::of(&*session)?.executed;
        let known = plans.find(&execute.name, statement);
        let mut prepared = match known {
            Some(known) => known,
            None => self.found_statement(&found, statement)?,
        };
        if prepared.command().is_none() {
            return self.run_limited(&mut prepared, &values, 0, sink);
        }
        let is_same = |(a, b): (&ResultColumn, &ResultColumn)| a.name == b.name && a.ty == b.ty;
        let accepts = |columns: &[ResultColumn]| {
            columns.len() == found.columns.len() && columns.iter().zip(&*found.columns).all(is_same)
        };
        let rows = self.run_accepted(&mut prepared, &values, &accepts, sink)?;
        let rows = rows.ok_or_else(other_columns)?;
        let returns_rows = prepared.returns_rows();
        plans.put(&execute.name, prepared);
        Ok(if returns_rows { rows } else { 0 })
    }

    /// A statement of the session's list, planned if it has a plan.
    fn found_statement(
        &mut self,
        found: &SessionStatement,
        statement: &Arc<Statement>,
    ) -> Result<Prepared> {
        let (params, source) = (Params::fixed(&found.types), &found.source);
        if is_plannable(statement) {
            return self.prepared_query(statement, source, &params, Way::ALONE);
        }
        if is_execute(statement) {
            return Err(Error::not_supported("EXECUTE of an EXECUTE in a function"));
        }
        let body = match &**statement {
            Statement::Call(_) => Body::Call(Arc::clone(statement), params),
            _ => Body::Utility(self.utility_of(Arc::clone(statement), params)?),
        };
        let text = Arc::clone(source);
        Ok(Prepared { body, text, is_dynamic: true, literals: Arc::default() })
    }

    /// The statement of an EXECUTE that EXPLAIN or CREATE TABLE AS names, and its parameters' values.
    pub(super) fn executed(
        &mut self,
        execute: &ExecuteStmt,
        source: &str,
    ) -> Result<(SessionStatement, Arc<[Datum]>)> {
        let found = self.session_statements()?.find(&execute.name)?;
        let values = self.execute_values(execute, &found.types, source)?;
        Ok((found, values))
    }

    /// CREATE TABLE AS EXECUTE.
    pub(super) fn create_table_as_execute(
        &mut self,
        create: &CreateTableAsStmt,
        execute: &ExecuteStmt,
        run: &Run<'_>,
    ) -> Result<u64> {
        let (found, values) = self.executed(execute, run.source)?;
        let Some(Statement::Select(query)) = found.statement.as_deref() else {
            let message = "prepared statement is not a SELECT";
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        };
        let how = (create.with_no_data, create.if_not_exists);
        let run = Run { source: &found.source, values: &values, limit: run.limit };
        let of = (&**query, &Params::fixed(&found.types), Way::ALONE);
        self.create_from(&create.into, of, how, &run)
    }

    /// Evaluates EXECUTE's arguments.
    fn execute_values(
        &mut self,
        execute: &ExecuteStmt,
        types: &[Oid],
        source: &str,
    ) -> Result<Arc<[Datum]>> {
        let (wanted, given) = (types.len(), execute.args.len());
        if wanted != given {
            let message =
                format!("wrong number of parameters for prepared statement \"{}\"", execute.name);
            return Err(Error::new(SqlState::SYNTAX_ERROR, message)
                .detail(format!("Expected {wanted} parameters but got {given}.")));
        }
        if types.is_empty() {
            return Ok(Arc::default());
        }
        let frame = self.frame()?;
        let context = BindContext {
            catalog: &frame.names.catalog,
            search_path: &frame.names.path,
            io: &frame.io,
            source,
        };
        let planned = Arc::new(plan_of_values(bind_execute_args(&context, &execute.args, types)?));
        let env = self.env_of(&frame)?;
        let compiled = CompiledStmt::compile_without_tables(planned, &frame.names.catalog)?;
        let (compiled, none, mut answer) = (Arc::new(compiled), Arc::default(), Answer::default());
        let within = (&env, &*frame.engine);
        let how = (0, Snapshot::New);
        self.lend(|txn| run_in_place(&compiled, &none, within, txn, how, &mut answer))?;
        let row = answer.rows.pop();
        row.map(Arc::from).ok_or_else(|| Error::internal("parameters were not evaluated"))
    }
}

/// Whether a statement, which the protocol has prepared, executes another one. That may be itself.
fn is_execute(statement: &Statement) -> bool {
    matches!(statement, Statement::Execute(_))
}

/// A plan of one row of expressions without a table.
pub fn plan_of_values(exprs: Vec<Expr>) -> PlannedStmt {
    let types: Vec<_> = exprs.iter().map(Expr::ty).collect();
    let columns = types
        .iter()
        .map(|ty| ResultColumn { name: "?column?".into(), ty: *ty, domain: 0, origin: (0, 0) })
        .collect();
    let mut planned = PlannedStmt::nothing();
    planned.plan.project = Some(exprs);
    planned.plan.types = types;
    planned.columns = columns;
    planned
}

#[cold]
fn other_columns() -> Error {
    let message = "cached plan must not change result type";
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}
