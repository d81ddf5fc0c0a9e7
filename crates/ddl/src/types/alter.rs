//! Changes that are the same for each kind of type: RENAME TO, SET SCHEMA and OWNER TO of ALTER
//! TYPE and ALTER DOMAIN, and COMMENT ON TYPE and DOMAIN.

use super::super::rename::rename_relation;
use super::super::set_schema::{move_all, new_schema};
use super::{DdlContext, Found, check_name_is_free, not_a, type_name};
use std::sync::Arc;
use steppe_catalog::objects::UserType;
use steppe_catalog::{RareText, RelKind, Relation, row_type_of};
use steppe_sql::ast::{ObjectKind, ObjectRef};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// The type that a statement changes: 42809 for a row type or an array type.
fn open(ctx: &mut DdlContext<'_>, object: &ObjectRef, kind: ObjectKind) -> Result<Arc<UserType>> {
    let name = type_name(object)?;
    match ctx.find_type(&name)? {
        Found::Own(ty) if kind == ObjectKind::Domain && ty.domain().is_none() => {
            let shown = ctx.format_type(ty.oid);
            Err(not_a("a domain", &shown))
        }
        Found::Own(ty) => Ok(ty),
        Found::Row(relation) => {
            let shown = ctx.format_type(row_type_of(&relation).unwrap_or(0));
            Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("{shown} is a table's row type"))
                .hint("Use ALTER TABLE instead."))
        }
        Found::Array(oid) => {
            let shown = ctx.format_type(oid);
            let element = steppe_catalog::builtin::ty(oid).map_or(0, |ty| ty.element);
            let element = ctx.format_type(element);
            let message = format!("cannot alter array type {shown}");
            Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).hint(format!(
                "You can alter type {element}, which will alter the array type as well."
            )))
        }
        Found::BuiltIn(_) => Err(Error::not_supported("ALTER of a built-in type")),
    }
}

fn tag(kind: ObjectKind) -> &'static str {
    if kind == ObjectKind::Domain { "ALTER DOMAIN" } else { "ALTER TYPE" }
}

/// The relation of a composite type, whose name and schema are the relation's.
fn composite(ctx: &mut DdlContext<'_>, object: &ObjectRef) -> Result<Option<Arc<Relation>>> {
    match ctx.find_type(&type_name(object)?)? {
        Found::Row(relation) if relation.kind == RelKind::Composite => {
            ctx.lock_current(relation.oid, RelationLockMode::AccessExclusive).map(Some)
        }
        _ => Ok(None),
    }
}

/// RENAME TO; returns the command tag.
pub(in super::super) fn rename(
    ctx: &mut DdlContext<'_>,
    object: &ObjectRef,
    kind: ObjectKind,
    new: &str,
) -> Result<&'static str> {
    if let Some(relation) = composite(ctx, object)? {
        return rename_relation(ctx, &relation, new.to_owned()).map(|()| tag(kind));
    }
    let ty = open(ctx, object, kind)?;
    ctx.lock_name(ty.schema, new)?;
    check_name_is_free(ctx, ty.schema, new)?;
    ctx.put_type(UserType { name: new.into(), ..(*ty).clone() });
    Ok(tag(kind))
}

/// SET SCHEMA; returns the command tag.
pub(in super::super) fn set_schema(
    ctx: &mut DdlContext<'_>,
    object: &ObjectRef,
    kind: ObjectKind,
    schema: &str,
) -> Result<&'static str> {
    if let Some(relation) = composite(ctx, object)? {
        let target = new_schema(ctx, relation.schema, schema)?;
        if target != relation.schema {
            ctx.lock_name(target, &relation.name)?;
            check_is_free_in(ctx, target, schema, &relation.name)?;
            move_all(ctx, &relation, target, schema)?;
        }
        return Ok(tag(kind));
    }
    let ty = open(ctx, object, kind)?;
    let target = new_schema(ctx, ty.schema, schema)?;
    if target != ty.schema {
        ctx.lock_name(target, &ty.name)?;
        check_is_free_in(ctx, target, schema, &ty.name)?;
        ctx.put_type(UserType { schema: target, ..(*ty).clone() });
    }
    Ok(tag(kind))
}

fn check_is_free_in(
    ctx: &mut DdlContext<'_>,
    schema: Oid,
    schema_name: &str,
    name: &str,
) -> Result<()> {
    if ctx.catalog().type_named(schema, name).is_none() {
        return Ok(());
    }
    let message = format!("type \"{name}\" already exists in schema \"{schema_name}\"");
    Err(Error::new(SqlState::DUPLICATE_OBJECT, message))
}

/// OWNER TO: one role owns everything in this version. Returns the command tag.
pub(in super::super) fn alter_owner(
    ctx: &mut DdlContext<'_>,
    object: &ObjectRef,
    kind: ObjectKind,
) -> Result<&'static str> {
    if composite(ctx, object)?.is_some() {
        return Ok(tag(kind));
    }
    open(ctx, object, kind).map(|_| tag(kind))
}

/// COMMENT ON TYPE, COMMENT ON DOMAIN.
pub(in super::super) fn comment(
    ctx: &mut DdlContext<'_>,
    object: &ObjectRef,
    kind: ObjectKind,
    text: Option<RareText>,
) -> Result<()> {
    let ty = match ctx.find_type(&type_name(object)?)? {
        Found::Own(ty) => ty,
        Found::Row(relation) if relation.kind == RelKind::Composite => {
            return ctx.put(Relation { comment: text, ..(*relation).clone() });
        }
        _ => {
            return Err(Error::not_supported(
                "COMMENT ON a row type, an array type or a built-in one",
            ));
        }
    };
    if kind == ObjectKind::Domain && ty.domain().is_none() {
        return Err(not_a("a domain", &ctx.format_type(ty.oid)));
    }
    ctx.put_type(UserType { comment: text, ..(*ty).clone() });
    Ok(())
}
