//! The operator that a statement names (LookupOperWithArgs in parse_oper.c), and the functions that
//! its definition names.

use super::super::DdlContext;
use super::super::depend;
use steppe_catalog::objects::{Object, Operator};
use steppe_catalog::{FunctionRef, ObjectId, OperatorRef};
use steppe_sql::ast::{ObjectName, ObjectWithArgs};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// The types of an operator's operands; 0 for NONE.
pub(super) type Operands = (Oid, Oid);

/// The operand types that a statement gives. The error is 42601 for a postfix operator.
fn operands(ctx: &mut DdlContext<'_>, named: &ObjectWithArgs) -> Result<Operands> {
    let mut types = Vec::with_capacity(named.args.len());
    for arg in &named.args {
        types.push(match arg {
            Some(name) => ctx.resolve_type(name).map_err(|error| error.at(None))?.oid,
            None => 0,
        });
    }
    match types[..] {
        [left, right] if right != 0 => Ok((left, right)),
        _ => Err(Error::new(SqlState::SYNTAX_ERROR, "postfix operators are not supported")),
    }
}

/// 3F000 for a name with a schema that does not exist.
pub(super) fn check_schema(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<()> {
    match name.schema() {
        Some(schema) if ctx.catalog().schema_in(schema, &ctx.search_path).is_none() => {
            let message = format!("schema \"{schema}\" does not exist");
            Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message))
        }
        _ => Ok(()),
    }
}

/// The operator of a name over exactly these types.
pub(super) fn lookup(
    ctx: &mut DdlContext<'_>,
    name: &ObjectName,
    types: Operands,
) -> Result<Option<OperatorRef>> {
    check_schema(ctx, name)?;
    Ok(ctx.catalog().operator_in(name.schema(), name.name(), types, &ctx.search_path))
}

/// A name with operand types, for messages (op_signature_string).
pub(super) fn signature(
    ctx: &mut DdlContext<'_>,
    name: &ObjectName,
    (left, right): Operands,
) -> String {
    let right = ctx.format_type(right);
    match left {
        0 => format!("{name} {right}"),
        left => format!("{} {name} {right}", ctx.format_type(left)),
    }
}

/// 42883 for an operator that does not exist.
pub(super) fn missing(ctx: &mut DdlContext<'_>, name: &ObjectName, types: Operands) -> Error {
    let message = format!("operator does not exist: {}", signature(ctx, name, types));
    Error::new(SqlState::UNDEFINED_FUNCTION, message)
}

/// The operator that a statement names: 42883 if there is none.
pub(super) fn find(ctx: &mut DdlContext<'_>, named: &ObjectWithArgs) -> Result<OperatorRef> {
    let types = operands(ctx, named)?;
    match lookup(ctx, &named.name, types)? {
        Some(operator) => Ok(operator),
        None => Err(missing(ctx, &named.name, types)),
    }
}

/// A user's operator, locked to be changed: 0A000 for a built-in one.
pub(super) fn own(
    ctx: &mut DdlContext<'_>,
    named: &ObjectWithArgs,
    command: &str,
) -> Result<Operator> {
    loop {
        let found = find(ctx, named)?;
        if found.is_built_in() {
            return Err(Error::not_supported(format!(
                "{command} of an operator that the server has"
            )));
        }
        ctx.lock_object(ObjectId::Operator(found.oid), RelationLockMode::AccessExclusive)?;
        // Another session may have dropped or moved it meanwhile: the name is looked up again.
        if find(ctx, named).is_ok_and(|again| again.oid == found.oid)
            && let Some(operator) = ctx.catalog().stored::<Operator>().get(found.oid)
        {
            return Ok((**operator).clone());
        }
    }
}

/// The operator that DROP OPERATOR names. `None` if the statement has IF EXISTS, and the operator, a
/// type or the schema does not exist. The error is 2BP01 for a built-in one.
pub(super) fn to_drop(
    ctx: &mut DdlContext<'_>,
    named: &ObjectWithArgs,
    if_exists: bool,
) -> Result<Option<Oid>> {
    let error = match find(ctx, named) {
        Ok(operator) if operator.is_built_in() => {
            let (catalog, object) = (ctx.catalog(), Object::Operator(operator.oid));
            let what = depend::description(&catalog, &ctx.search_path, object);
            let message =
                format!("cannot drop {what} because it is required by the database system");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message));
        }
        Ok(operator) => return Ok(Some(operator.oid)),
        Err(error) => error,
    };
    match error.sqlstate() {
        SqlState::UNDEFINED_FUNCTION if if_exists => {
            ctx.notice(format!("operator {} does not exist, skipping", named.name));
            Ok(None)
        }
        SqlState::UNDEFINED_OBJECT | SqlState::INVALID_SCHEMA_NAME => {
            ctx.skip_missing(if_exists, error).map(|()| None)
        }
        _ => Err(error),
    }
}

/// The function of a name with exactly these arguments (LookupFuncName); `None` if there is none.
pub(super) fn function(
    ctx: &mut DdlContext<'_>,
    name: &ObjectName,
    args: &[Oid],
) -> Result<Option<FunctionRef>> {
    check_schema(ctx, name)?;
    let mut first: Option<(usize, FunctionRef)> = None;
    let (catalog, path) = (ctx.catalog(), ctx.search_path.clone());
    catalog.functions_in(name.schema(), name.name(), &path, &mut |place, function| {
        if *function.args == *args && first.as_ref().is_none_or(|(at, _)| place < *at) {
            first = Some((place, function));
        }
    });
    Ok(first.map(|(_, function)| function))
}

/// The same; the error is 42883.
pub(super) fn existing_function(
    ctx: &mut DdlContext<'_>,
    name: &ObjectName,
    args: &[Oid],
) -> Result<FunctionRef> {
    if let Some(found) = function(ctx, name, args)? {
        return Ok(found);
    }
    let args: Vec<String> = args.iter().map(|ty| ctx.format_type(*ty)).collect();
    let message = format!("function {name}({}) does not exist", args.join(", "));
    Err(Error::new(SqlState::UNDEFINED_FUNCTION, message))
}
