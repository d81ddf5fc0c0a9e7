//! ALTER FUNCTION, PROCEDURE, ROUTINE: attributes, settings, name, schema, owner.

use super::super::{DdlContext, set_schema as moving};
use super::find::{Kind, find, signature};
use super::{is_aggregate, lock_name, options, own, put, settings, sql_body, with_arguments};
use steppe_catalog::objects::Body;
use steppe_catalog::{Function, PG_CATALOG};
use steppe_sql::ast::{AlterFunctionStmt, ObjectKind, ObjectWithArgs};
use steppe_types::{Error, Oid, Result, SqlState};

/// The command tag of ALTER of a kind.
fn tag(kind: Kind) -> &'static str {
    match kind {
        Kind::Procedure => "ALTER PROCEDURE",
        Kind::Routine => "ALTER ROUTINE",
        Kind::Aggregate => "ALTER AGGREGATE",
        Kind::Function => "ALTER FUNCTION",
    }
}

/// ALTER … attributes; returns the command tag.
pub(crate) fn alter_function(
    ctx: &mut DdlContext<'_>,
    stmt: &AlterFunctionStmt,
) -> Result<&'static str> {
    let kind = kind_of(stmt.kind)?;
    let found = find(ctx, &stmt.function, kind)?;
    if found.is_aggregate() {
        return Err(is_aggregate(&stmt.function.name));
    }
    let old = own(ctx, found.oid, tag(kind))?;
    let options = options::read(ctx, &stmt.actions, old.is_procedure())?;
    options::check_rows(&options, old.retset)?;
    let mut function = (*old).clone();
    options.apply(&mut function);
    function.config = settings::read(ctx, &stmt.settings, old.config.to_vec())?.into();
    put(ctx, function);
    Ok(tag(kind))
}

/// ALTER … RENAME TO; returns the command tag.
pub(crate) fn rename(
    ctx: &mut DdlContext<'_>,
    kind: ObjectKind,
    named: &ObjectWithArgs,
    new: String,
) -> Result<&'static str> {
    let kind = kind_of(kind)?;
    let found = find(ctx, named, kind)?;
    let old = own(ctx, found.oid, tag(kind))?;
    check_free(ctx, &old, old.schema, &new)?;
    let mut renamed = Function { name: new.into(), ..(*old).clone() };
    if let Body::SqlStandard { .. } = old.body {
        renamed.body = sql_body::with_name(&ctx.catalog(), &old, &renamed)?;
    }
    put(ctx, renamed);
    Ok(tag(kind))
}

/// ALTER … SET SCHEMA; returns the command tag.
pub(crate) fn set_schema(
    ctx: &mut DdlContext<'_>,
    kind: ObjectKind,
    named: &ObjectWithArgs,
    schema: &str,
) -> Result<&'static str> {
    let kind = kind_of(kind)?;
    let found = find(ctx, named, kind)?;
    let old = own(ctx, found.oid, tag(kind))?;
    let schema = moving::new_schema(ctx, old.schema, schema)?;
    if schema == PG_CATALOG {
        return Err(Error::not_supported("functions in pg_catalog"));
    }
    if schema != old.schema {
        check_free(ctx, &old, schema, &old.name)?;
        put(ctx, Function { schema, ..(*old).clone() });
    }
    Ok(tag(kind))
}

/// ALTER … OWNER TO: one role owns everything in this version. Returns the command tag.
pub(crate) fn check_owned(
    ctx: &mut DdlContext<'_>,
    kind: ObjectKind,
    named: &ObjectWithArgs,
) -> Result<&'static str> {
    let kind = kind_of(kind)?;
    find(ctx, named, kind).map(|_| tag(kind))
}

fn kind_of(kind: ObjectKind) -> Result<Kind> {
    Kind::of(kind).ok_or_else(|| Error::internal("ALTER of something that is no function"))
}

/// 42723 if a function of that name has the same arguments (IsThereFunctionInNamespace).
fn check_free(
    ctx: &mut DdlContext<'_>,
    function: &Function,
    schema: Oid,
    name: &str,
) -> Result<()> {
    lock_name(ctx, schema, name)?;
    if with_arguments(ctx, schema, name, &function.args).is_none() {
        return Ok(());
    }
    let shown = signature(ctx, name, &function.args);
    let schema = ctx.catalog().schema(schema).map_or("?".into(), |schema| schema.name.clone());
    let message = format!("function {shown} already exists in schema \"{schema}\"");
    Err(Error::new(SqlState::DUPLICATE_FUNCTION, message))
}
