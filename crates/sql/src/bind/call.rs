//! CALL (transformCallStmt in analyze.c).
//!
//! A call names all arguments of a procedure, OUT arguments included. Their expressions decide which
//! overload is meant and are not evaluated.

use super::{BindContext, Binder, ExprPlace, Params, drop_collation, settle};
use crate::ast;
use crate::expr::Expr;
use std::convert::Infallible;
use std::sync::Arc;
use steppe_catalog::FunctionRef;
use steppe_catalog::objects::{Argument, ArgumentMode, Function};
use steppe_types::{Error, Oid, Result, SqlState};

/// A bound CALL.
#[derive(Debug)]
pub struct ProcedureCall {
    /// The procedure.
    pub procedure: FunctionRef,
    /// The values of its input arguments, defaults included.
    pub args: Vec<Expr>,
    /// For each OUT and INOUT argument its place among the arguments as they are written; `None` for
    /// a default.
    pub outputs: Vec<Option<usize>>,
    /// Types of the parameters.
    pub param_types: Vec<Oid>,
    /// Where parameters are the variables of a function: the variable of each parameter.
    pub variables: Vec<usize>,
}

/// Binds a CALL. 42883 if there is no such procedure, 42809 if it is a function.
pub fn bind_call(
    ctx: &BindContext<'_>,
    call: &ast::CallStmt,
    params: Params,
) -> Result<ProcedureCall> {
    let mut binder = Binder::new(ctx, params);
    binder.push_scope();
    binder.calls_procedure = true;
    binder.procedure_call(call)
}

/// The procedure with its OUT arguments among the input arguments, since a CALL gives them too.
pub(super) fn with_all_arguments(function: FunctionRef) -> FunctionRef {
    let has_out = function.declared.iter().any(|a| a.mode == ArgumentMode::Out);
    if !function.is_procedure() || !has_out {
        return function;
    }
    let mut given: Function = (*function).clone();
    for argument in &mut given.declared {
        if argument.mode == ArgumentMode::Out {
            argument.mode = ArgumentMode::InOut;
        }
    }
    given.args = given.declared.iter().map(|argument| argument.ty).collect();
    FunctionRef::from(Arc::new(given))
}

/// Where the OUT and INOUT arguments of a procedure stand among a call's, whose names these are.
fn outputs(procedure: &Function, names: &[Option<String>]) -> Vec<Option<usize>> {
    let positional = names.iter().take_while(|name| name.is_none()).count();
    let given = procedure.declared.iter().enumerate().filter(|(_, a)| a.mode.is_output());
    let place = |(at, argument): (usize, &Argument)| match at < positional {
        true => Some(at),
        false => names.iter().position(|name| name.as_deref() == Some(&*argument.name)),
    };
    given.map(place).collect()
}

impl Binder<'_> {
    fn procedure_call(&mut self, call: &ast::CallStmt) -> Result<ProcedureCall> {
        let ast::CallStmt { call, location } = call;
        let what = match call {
            ast::FuncCall { distinct: true, .. } => Some("DISTINCT"),
            ast::FuncCall { within_group: true, .. } => Some("WITHIN GROUP"),
            ast::FuncCall { order_by, .. } if !order_by.is_empty() => Some("ORDER BY"),
            ast::FuncCall { filter: Some(_), .. } => Some("FILTER"),
            ast::FuncCall { over: Some(_), .. } => Some("OVER"),
            _ => None,
        };
        if let Some(what) = what {
            let message =
                format!("{what} specified, but {} is not an aggregate function", call.name.name());
            return Err(self.error(SqlState::WRONG_OBJECT_TYPE, message, *location));
        }
        let args = call.args.iter().map(|arg| self.expr(&arg.value, ExprPlace::CallArgument));
        let args = args.collect::<Result<Vec<_>>>()?;
        let types: Vec<Oid> = args.iter().map(|arg| arg.ty().oid).collect();
        let names: Vec<Option<String>> = call.args.iter().map(|arg| arg.name.clone()).collect();
        let (found, args, _) = self.function(&call.name, args, &names, call.variadic, *location)?;
        if !found.is_procedure() {
            let signature = self.named_signature(&types, &names);
            let message = format!("{}({signature}) is not a procedure", call.name);
            let error = self.error(SqlState::WRONG_OBJECT_TYPE, message, *location);
            return Err(error.hint("To call a function, use SELECT."));
        }
        let lost = || Error::internal(format!("procedure {found:?} has been lost"));
        let procedure = self.ctx.catalog.function(found.oid).ok_or_else(lost)?;
        let modes = procedure.declared.iter().map(|argument| argument.mode);
        let is_input: Vec<bool> = modes.map(ArgumentMode::is_input).collect();
        let outputs = outputs(&procedure, &names);
        let input = |at: usize| is_input.get(at).copied().unwrap_or(true);
        let inputs = args.into_iter().enumerate().filter(|(at, _)| input(*at));
        let inputs: Vec<Expr> = inputs.map(|(_, arg)| arg).collect();
        let (param_types, variables) = (self.finish_params()?, self.params.used());
        let finish = |arg: Expr| {
            let done: Result<Expr, Infallible> = arg.transform(&mut |mut e| {
                drop_collation(&mut e);
                settle(&mut e, &param_types);
                Ok(e)
            });
            match done {
                Ok(arg) => arg,
                Err(never) => match never {},
            }
        };
        let args = inputs.into_iter().map(finish).collect();
        Ok(ProcedureCall { procedure, args, outputs, param_types, variables })
    }
}
