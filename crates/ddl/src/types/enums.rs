//! Enums: CREATE TYPE … AS ENUM, and ALTER TYPE's ADD VALUE and RENAME VALUE (pg_enum.c).

use super::{DdlContext, Found, not_a, object, plain};
use std::sync::Arc;
use steppe_catalog::NAME_BYTES_MAX;
use steppe_catalog::objects::{EnumLabel, EnumLabels, TypeDefinition, UserType};
use steppe_sql::ast::{AlterEnumStmt, CreateEnumStmt, ObjectName};
use steppe_types::oid::place;
use steppe_types::{Error, Result, SqlState};

/// CREATE TYPE … AS ENUM.
pub(in super::super) fn create_enum(
    ctx: &mut DdlContext<'_>,
    create: &CreateEnumStmt,
) -> Result<()> {
    let name = ctx.new_type_name(&create.name)?;
    let mut labels: Vec<EnumLabel> = Vec::with_capacity(create.labels.len());
    for label in &create.labels {
        check_label(label)?;
        if labels.iter().any(|known| *known.name == **label) {
            return Err(repeated_label(ctx, label)?);
        }
        let order = (labels.len() + 1) as f64;
        labels.push(new_label(ctx, label, order, false)?);
    }
    let definition = TypeDefinition::Enum { labels: EnumLabels(labels.into()) };
    let made = object(ctx, name, place::ENUMS, definition)?;
    ctx.put_type(made);
    Ok(())
}

/// 23505 for a label that is given twice. (PostgreSQL finds it by a unique index of pg_enum, so the
/// error is the index's.)
fn repeated_label(ctx: &DdlContext<'_>, label: &str) -> Result<Error> {
    let ty = place::ENUMS + ctx.store.new_oid()?;
    let index = "pg_enum_typid_label_index";
    let message = format!("duplicate key value violates unique constraint \"{index}\"");
    let detail = format!("Key (enumtypid, enumlabel)=({ty}, {label}) already exists.");
    Ok(Error::new(SqlState::UNIQUE_VIOLATION, message)
        .detail(detail)
        .table("pg_catalog", "pg_enum")
        .constraint(index))
}

fn new_label(ctx: &DdlContext<'_>, name: &str, order: f64, uncommitted: bool) -> Result<EnumLabel> {
    Ok(EnumLabel { oid: ctx.store.new_oid()?, name: name.into(), order, uncommitted })
}

/// 42602 for a label that is too long.
fn check_label(label: &str) -> Result<()> {
    if label.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    Err(Error::new(SqlState::INVALID_NAME, format!("invalid enum label \"{label}\""))
        .detail(format!("Labels must be {NAME_BYTES_MAX} bytes or less.")))
}

/// ALTER TYPE … ADD VALUE, RENAME VALUE.
pub(in super::super) fn alter_enum(ctx: &mut DdlContext<'_>, alter: &AlterEnumStmt) -> Result<()> {
    let ty = open(ctx, &alter.name)?;
    let Some(labels) = ctx.catalog().enum_labels(ty.oid).cloned() else {
        return Err(Error::internal("an enum without labels"));
    };
    let changed = match &alter.old_value {
        Some(old) => Some(renamed(&labels, old, &alter.new_value)?),
        None => extended(ctx, &ty, &labels, alter)?,
    };
    if let Some(labels) = changed {
        ctx.put_type(UserType { definition: TypeDefinition::Enum { labels }, ..(*ty).clone() });
    }
    Ok(())
}

/// The enum of a name: 42809 for another type.
fn open(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<Arc<UserType>> {
    let oid = match ctx.find_type(&plain(name))? {
        Found::Own(ty) if matches!(ty.definition, TypeDefinition::Enum { .. }) => return Ok(ty),
        Found::Own(ty) => ty.oid,
        Found::Row(relation) => steppe_catalog::row_type_of(&relation).unwrap_or(0),
        Found::Array(oid) | Found::BuiltIn(oid) => oid,
    };
    Err(not_a("an enum", &ctx.format_type(oid)))
}

fn renamed(labels: &EnumLabels, old: &str, new: &str) -> Result<EnumLabels> {
    check_label(new)?;
    let Some(at) = labels.0.iter().position(|label| *label.name == *old) else {
        return Err(missing_label(old));
    };
    if labels.named(new).is_some() {
        return Err(label_exists(new));
    }
    let mut labels = labels.clone();
    labels.0[at].name = new.into();
    Ok(labels)
}

/// The labels with a new one. `None` if the label exists and the statement has IF NOT EXISTS.
fn extended(
    ctx: &mut DdlContext<'_>,
    ty: &UserType,
    labels: &EnumLabels,
    alter: &AlterEnumStmt,
) -> Result<Option<EnumLabels>> {
    let new = &alter.new_value;
    check_label(new)?;
    if labels.named(new).is_some() {
        ctx.skip_present(alter.if_not_exists, label_exists(new))?;
        return Ok(None);
    }
    let position = match &alter.neighbor {
        None => labels.0.len(),
        Some(neighbor) => {
            let at = labels.0.iter().position(|label| *label.name == **neighbor);
            at.ok_or_else(|| missing_label(neighbor))? + usize::from(alter.after)
        }
    };
    let order = labels.place_for(position)?;
    // Other transactions do not see a type that this transaction has made.
    let is_older = ctx.store.published().user_type(ty.oid).is_some();
    let mut list = labels.0.to_vec();
    list.insert(position, new_label(ctx, new, order, is_older)?);
    Ok(Some(EnumLabels(list.into())))
}

fn missing_label(label: &str) -> Error {
    let message = format!("\"{label}\" is not an existing enum label");
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn label_exists(label: &str) -> Error {
    let message = format!("enum label \"{label}\" already exists");
    Error::new(SqlState::DUPLICATE_OBJECT, message)
}
