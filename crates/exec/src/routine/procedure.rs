//! CALL and DO (ExecuteCallStmt and ExecuteDoStmt in functioncmds.c).
//!
//! A procedure has an execution of its own, without a plan. Outside a transaction block it gets a
//! [`TransactionControl`], with which it may end the transaction. It passes that on to a CALL that
//! it runs itself.

use super::Language;
use super::call::{Called, SetRoutine};
use crate::context::ExecContext;
use crate::expr::{CExpr, Compiler, Row};
use crate::registry;
use crate::spi::{Spi, TransactionControl};
use crate::statement::ExecEnv;
use crate::transaction::{StatementTxn, Transaction};
use std::sync::Arc;
use steppe_catalog::NameSpace;
use steppe_functions::{CallInfo, FnContext};
use steppe_sql::ast::{CallStmt, DoStmt};
use steppe_sql::bind::{self, BindContext, Params, ProcedureCall};
use steppe_sql::expr::TypeRef;
use steppe_sql::plan::{PlannedStmt, ResultColumn};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// A CALL that can be run.
pub struct BoundCall {
    routine: SetRoutine,
    args: Box<[CExpr]>,
    columns: Box<[ResultColumn]>,
    written_at: Box<[Option<usize>]>,
    param_types: Box<[Oid]>,
    /// The variables that its parameters are; `None` if they are given as they are.
    variables: Option<Box<[usize]>>,
}

impl BoundCall {
    /// The columns of its row: OUT and INOUT arguments.
    pub fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }

    /// The place of each column among the arguments as they are written.
    pub(crate) fn written_at(&self) -> &[Option<usize>] {
        &self.written_at
    }

    /// Types of its parameters.
    pub fn param_types(&self) -> &[Oid] {
        &self.param_types
    }

    fn args(&self, params: &[Datum], cx: &mut ExecContext) -> Result<Vec<Datum>> {
        let chosen: Arc<[Datum]> = match &self.variables {
            None => params.into(),
            Some(variables) => {
                let value = |at: &usize| params.get(*at).cloned().unwrap_or(Datum::Null);
                variables.iter().map(value).collect()
            }
        };
        let outer = Arc::clone(cx.all_params());
        cx.set_params(chosen);
        let args = self.args.iter().map(|arg| arg.eval(cx, Row::EMPTY)).collect();
        cx.set_params(outer);
        args
    }

    /// The row of a result.
    fn row(&self, result: Datum) -> Option<Vec<Datum>> {
        match (result, self.columns.len()) {
            (_, 0) => None,
            (Datum::Record(values), _) => Some(values.to_vec()),
            (value, 1) => Some(vec![value]),
            (_, width) => Some(vec![Datum::Null; width]),
        }
    }
}

/// Binds a CALL and compiles its arguments.
pub fn bind_call(
    names: &NameSpace,
    io: &Arc<IoContext>,
    call: &CallStmt,
    source: &str,
    params: Params,
) -> Result<BoundCall> {
    let catalog = &names.catalog;
    let are_variables = params.are_variables();
    let context = BindContext { catalog, search_path: &names.path, io, source };
    let bound = bind::bind_call(&context, call, params)?;
    let ProcedureCall { procedure, args, outputs, param_types, variables } = bound;
    let nothing = PlannedStmt::nothing();
    let mut compiler = Compiler::new(&nothing, FnContext::pure(Arc::clone(catalog)));
    let compiled = compiler.list(&args)?;
    let types: Box<[Oid]> = args.iter().map(|arg| arg.ty().oid).collect();
    let ret = TypeRef::plain(procedure.ret);
    let info = CallInfo { func: procedure, args: types, ret, variadic: false };
    let routine = SetRoutine::new(info, None, catalog);
    let column = |(name, ty, typmod): &(Arc<str>, Oid, i32)| ResultColumn {
        name: Arc::clone(name),
        ty: TypeRef { oid: *ty, typmod: *typmod },
        domain: 0,
        origin: (0, 0),
    };
    let columns = routine.columns().iter().map(column).collect();
    Ok(BoundCall {
        routine,
        args: compiled,
        columns,
        written_at: outputs.into(),
        param_types: param_types.into(),
        variables: are_variables.then(|| variables.into()),
    })
}

/// Runs a CALL of a client, in a transaction with a statement. The result is the row of the OUT and
/// INOUT arguments. Without `control` the procedure must not end the transaction.
pub fn call_procedure(
    call: &BoundCall,
    params: &[Datum],
    env: &ExecEnv,
    txn: &mut Option<Transaction>,
    control: Option<&mut dyn TransactionControl>,
) -> Result<Option<Vec<Datum>>> {
    in_context(env, txn, |cx| {
        let args = call.args(params, cx)?;
        enter(call, &args, &mut Spi::of_procedure(cx, shortened(control)))
    })
}

/// Runs a CALL that a procedure or a function contains. The called procedure may end the
/// transaction if its caller may.
pub(crate) fn call_within(
    call: &BoundCall,
    params: &[Datum],
    spi: &mut Spi<'_>,
) -> Result<Option<Vec<Datum>>> {
    spi.within(|spi| {
        let args = call.args(params, spi.context())?;
        enter(call, &args, spi)
    })
}

fn enter(call: &BoundCall, args: &[Datum], spi: &mut Spi<'_>) -> Result<Option<Vec<Datum>>> {
    // A procedure with SET clauses must not end the transaction, whose end would end the settings.
    let is_restricted = call.routine.has_settings();
    let result = spi.without_control(is_restricted, |spi| {
        spi.be_heard()?;
        call.routine.run_with(spi, |routine, spi| routine.call(args, spi))
    })?;
    Ok(call.row(result))
}

/// Runs the text of a DO. 42704 for an unknown language, 0A000 for a language without DO.
pub fn run_inline(
    language: &str,
    source: &str,
    env: &ExecEnv,
    txn: &mut Option<Transaction>,
    control: Option<&mut dyn TransactionControl>,
) -> Result<()> {
    let language = inline_language(language)?;
    let atomic = control.is_none();
    in_context(env, txn, |cx| {
        language.run_inline(source, atomic, &mut Spi::of_procedure(cx, shortened(control)))
    })
}

/// Runs a DO of a function or of the text of another DO.
pub(crate) fn run_inline_within(stmt: &DoStmt, spi: &mut Spi<'_>) -> Result<()> {
    let language = inline_language(stmt.language.as_deref().unwrap_or("plpgsql"))?;
    let session = Arc::clone(spi.session());
    let _called = Called::of(&*session);
    language.run_inline(&stmt.body, spi.is_atomic(), spi)
}

fn inline_language(name: &str) -> Result<&'static dyn Language> {
    match (registry::language_named(name), name) {
        (_, "sql" | "c" | "internal") => {
            let message = format!("language \"{name}\" does not support inline code execution");
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        }
        (Some(found), _) => Ok(found),
        (None, _) => {
            let message = format!("language \"{name}\" does not exist");
            Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
        }
    }
}

/// The same control for a shorter time.
fn shortened<'a>(
    control: Option<&'a mut (dyn TransactionControl + '_)>,
) -> Option<&'a mut (dyn TransactionControl + 'a)> {
    match control {
        Some(control) => Some(control),
        None => None,
    }
}

/// Runs code in an execution without a plan. `txn` has the transaction again afterwards, unless it
/// has ended with an error.
fn in_context<T>(
    env: &ExecEnv,
    txn: &mut Option<Transaction>,
    run: impl FnOnce(&mut ExecContext) -> Result<T>,
) -> Result<T> {
    let mut cx = env.context(txn);
    let done = run(&mut cx);
    *txn = cx.take_txn().map(StatementTxn::into_transaction);
    done
}
