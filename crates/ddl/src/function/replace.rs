//! CREATE OR REPLACE: the properties of an existing function that may change (ProcedureCreate in
//! pg_proc.c). Calls of it in views and other functions must stay valid and keep their types.

use super::super::DdlContext;
use super::parameters::Parameters;
use super::refused;
use steppe_catalog::objects::{Argument, FunctionKind, function_signature};
use steppe_catalog::{Function, PG_CATALOG};
use steppe_sql::bind::typename::TypeNames;
use steppe_sql::bind::{BindContext, ExprPlace, bind_table_expr, parse_expression};
use steppe_types::io::IoContext;
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// 42809 for another kind of routine; 42P13 for a result, argument names or defaults that calls of
/// the old function do not expect.
pub(super) fn check(
    ctx: &mut DdlContext<'_>,
    old: &Function,
    new: &Function,
    parameters: &Parameters,
) -> Result<()> {
    if kind_word(old) != kind_word(new) {
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, "cannot change routine kind")
            .detail(format!("\"{}\" is {}.", old.name, kind_word(old))));
    }
    let hint = drop_first(ctx, old);
    if (old.ret, old.retset) != (new.ret, new.retset) {
        let message = match new.is_procedure() {
            true => "cannot change whether a procedure has output parameters",
            false => "cannot change return type of existing function",
        };
        return Err(refused(message).hint(hint));
    }
    if new.ret == oid::RECORD && !columns(old).eq(columns(new)) {
        return Err(refused("cannot change return type of existing function")
            .detail("Row type defined by OUT parameters is different.")
            .hint(hint));
    }
    let mut names = new.input_names();
    for name in old.input_names() {
        let new_name = names.next().unwrap_or_default();
        if !name.is_empty() && name != new_name {
            let message = format!("cannot change name of input parameter \"{name}\"");
            return Err(refused(message).hint(hint));
        }
    }
    check_defaults(ctx, old, parameters, hint)
}

/// An article and the kind of routine.
fn kind_word(function: &Function) -> &'static str {
    match function.kind {
        FunctionKind::Plain => "a function",
        FunctionKind::Procedure => "a procedure",
        FunctionKind::Window => "a window function",
        FunctionKind::Aggregate(_) => "an aggregate function",
    }
}

fn drop_first(ctx: &mut DdlContext<'_>, old: &Function) -> String {
    let command = match old.kind {
        FunctionKind::Procedure => "DROP PROCEDURE",
        FunctionKind::Aggregate(_) => "DROP AGGREGATE",
        _ => "DROP FUNCTION",
    };
    let catalog = ctx.catalog();
    let names = TypeNames { catalog: &catalog, path: &ctx.search_path };
    let types = |ty: Oid| names.format(ty, -1);
    let shown = function_signature(&catalog, &ctx.search_path, &types, old);
    format!("Use {command} {shown} first.")
}

/// The columns of a record that OUT arguments define.
fn columns(function: &Function) -> impl Iterator<Item = (&str, Oid)> {
    let outputs = function.declared.iter().filter(|argument| argument.mode.is_output());
    outputs.map(|Argument { name, ty, .. }| (&**name, *ty))
}

fn check_defaults(
    ctx: &mut DdlContext<'_>,
    old: &Function,
    parameters: &Parameters,
    hint: String,
) -> Result<()> {
    let Some(more) = parameters.defaults.len().checked_sub(old.defaults.len()) else {
        let message = "cannot remove parameter defaults from existing function";
        return Err(refused(message).hint(hint));
    };
    for (text, (_, ty)) in old.defaults.iter().zip(&parameters.defaults[more..]) {
        if type_of(ctx, text)? != *ty {
            let message = "cannot change data type of existing parameter default value";
            return Err(refused(message).hint(hint));
        }
    }
    Ok(())
}

/// The type of a stored default.
fn type_of(ctx: &mut DdlContext<'_>, text: &str) -> Result<Oid> {
    let (catalog, io) = (ctx.catalog(), IoContext::default());
    let bind = BindContext { catalog: &catalog, search_path: &[PG_CATALOG], io: &io, source: text };
    let bound = bind_table_expr(&bind, None, &parse_expression(text)?, ExprPlace::FunctionDefault)?;
    Ok(bound.ty().oid)
}
