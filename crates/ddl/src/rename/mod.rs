//! ALTER … RENAME of relations, columns and constraints.
//!
//! Texts that contain the old name follow: CHECKs, generated columns, partition keys, index
//! expressions, views. A column or a constraint that is inherited is renamed at the parent, and in
//! all tables below it at once.

mod column;
mod constraint;
mod inherited;
mod relation;

use super::alter::{Reach, check_kind};
use super::open::system_catalog;
use super::{DdlContext, create_statistics, function, trigger, truncate_name, types};
use inherited::{rename_inherited_column, rename_inherited_constraint};
pub(super) use relation::rename_relation;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_sql::ast::{ObjectKind, ObjectRef, RangeVar, RenameStmt};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result};

/// ALTER … RENAME; returns the command tag.
pub(crate) fn rename(ctx: &mut DdlContext<'_>, rename: &RenameStmt) -> Result<&'static str> {
    let new = truncate_name(&rename.new_name).to_string();
    if let (ObjectKind::Statistics, ObjectRef::Name(name)) = (rename.kind, &rename.object) {
        return create_statistics::rename(ctx, name, new).map(|()| "ALTER STATISTICS");
    }
    if rename.kind == ObjectKind::Trigger {
        return trigger::rename(ctx, rename).map(|()| "ALTER TRIGGER");
    }
    if let ObjectRef::Function(named) = &rename.object
        && function::Kind::of(rename.kind).is_some()
    {
        return function::rename(ctx, rename.kind, named, new);
    }
    if let ObjectKind::Type | ObjectKind::Domain = rename.kind {
        return types::rename(ctx, &rename.object, rename.kind, &new);
    }
    if let (ObjectKind::Attribute, ObjectRef::Relation(name)) = (rename.kind, &rename.object) {
        return types::rename_attribute(ctx, name, rename, &new).map(|()| "ALTER TYPE");
    }
    if let (ObjectKind::DomainConstraint, Some(part)) = (rename.kind, &rename.part) {
        let name = types::type_name(&rename.object)?;
        return types::rename_constraint(ctx, &name, part, &new).map(|()| "ALTER DOMAIN");
    }
    let ObjectRef::Relation(name) = &rename.object else {
        return Err(Error::not_supported(format!("ALTER {} … RENAME", rename.kind.as_str())));
    };
    let kind = match (rename.kind, rename.relation_kind) {
        (ObjectKind::Column, Some(kind)) => kind,
        (ObjectKind::TableConstraint, _) => ObjectKind::Table,
        (kind, _) => kind,
    };
    let tag = match kind {
        ObjectKind::Table => "ALTER TABLE",
        ObjectKind::Index => "ALTER INDEX",
        ObjectKind::Sequence => "ALTER SEQUENCE",
        ObjectKind::View => "ALTER VIEW",
        other => return Err(Error::not_supported(format!("ALTER {} … RENAME", other.as_str()))),
    };
    let Some(relation) = open_to_rename(ctx, name, kind)? else {
        ctx.skip_missing(rename.if_exists, name.undefined())?;
        return Ok(tag);
    };
    if relation.is_system() {
        return Err(system_catalog(&relation));
    }
    match (rename.kind, &rename.part) {
        (ObjectKind::Column, Some(column)) => {
            rename_inherited_column(ctx, &relation, column, new, Reach::of(name))?;
        }
        (ObjectKind::TableConstraint, Some(constraint)) => {
            rename_inherited_constraint(ctx, &relation, constraint, new, Reach::of(name))?;
        }
        _ => {
            // ALTER INDEX renames anything.
            if kind != ObjectKind::Index {
                check_kind(kind, &relation)?;
            }
            rename_relation(ctx, &relation, new)?;
        }
    }
    Ok(tag)
}

/// Locks what is renamed: no user of an index need know its name (RenameRelation). The table
/// of an index that serves a constraint is changed, too; it comes first, as with DROP.
fn open_to_rename(
    ctx: &mut DdlContext<'_>,
    name: &RangeVar,
    kind: ObjectKind,
) -> Result<Option<Arc<Relation>>> {
    loop {
        let Some(found) = ctx.find(name)? else { return Ok(None) };
        let mut mode = RelationLockMode::AccessExclusive;
        if let Some(info) = &found.index {
            let catalog = ctx.catalog();
            let table = catalog.relation(info.table);
            if table.is_some_and(|table| super::index::constraint_of(table, found.oid).is_some()) {
                ctx.lock(info.table, RelationLockMode::ShareUpdateExclusive)?;
            }
            if kind == ObjectKind::Index {
                mode = RelationLockMode::ShareUpdateExclusive;
            }
        }
        match ctx.try_open(name, mode)? {
            Some(now) if now.oid != found.oid => continue,
            now => return Ok(now),
        }
    }
}
