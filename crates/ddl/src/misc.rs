//! RENAME and OWNER.

use super::alter::check_kind;
use super::inherit::{Inheritor, inheritors, invalid_table};
use super::{DdlContext, create_statistics, relation_exists, truncate_name};
use std::sync::Arc;
use steppe_catalog::{Constraint, RelKind, Relation};
use steppe_sql::ast::{AlterOwnerStmt, ObjectKind, ObjectRef, RangeVar, RenameStmt};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result, SqlState};

/// 42501: system catalogs are not changed.
pub(super) fn system_catalog(relation: &Relation) -> Error {
    Error::new(
        SqlState::INSUFFICIENT_PRIVILEGE,
        format!("permission denied: \"{}\" is a system catalog", relation.name),
    )
}

/// ALTER … OWNER TO: one role owns everything in this version.
pub(crate) fn alter_owner(ctx: &mut DdlContext<'_>, stmt: &AlterOwnerStmt) -> Result<&'static str> {
    if let (ObjectKind::Statistics, ObjectRef::Name(name)) = (stmt.kind, &stmt.object) {
        return create_statistics::check_exists(ctx, name).map(|()| "ALTER STATISTICS");
    }
    match stmt.kind {
        ObjectKind::Table => Ok("ALTER TABLE"),
        ObjectKind::Sequence => Ok("ALTER SEQUENCE"),
        ObjectKind::View => Ok("ALTER VIEW"),
        ObjectKind::Schema => Ok("ALTER SCHEMA"),
        other => Err(Error::not_supported(format!("ALTER {} … OWNER TO", other.as_str()))),
    }
}

/// ALTER … RENAME; returns the command tag.
pub(crate) fn rename(ctx: &mut DdlContext<'_>, rename: &RenameStmt) -> Result<&'static str> {
    let new = truncate_name(&rename.new_name).to_string();
    if let (ObjectKind::Statistics, ObjectRef::Name(name)) = (rename.kind, &rename.object) {
        return create_statistics::rename(ctx, name, new).map(|()| "ALTER STATISTICS");
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
            rename_inherited_column(ctx, &relation, column, new, !name.inherit)?;
        }
        (ObjectKind::TableConstraint, Some(constraint)) => {
            rename_inherited_constraint(ctx, &relation, constraint, new, !name.inherit)?;
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

/// What a table has from a parent is renamed there, for all parents at once: 42P16.
fn inherited(what: &str, name: &str) -> Error {
    invalid_table(format!("cannot rename inherited {what} \"{name}\""))
}

/// What inherits from a table. With ONLY there must be nothing: 42P16.
fn renamed_below(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    (what, name): (&str, &str),
    only: bool,
) -> Result<Vec<Inheritor>> {
    let below = match relation.kind {
        RelKind::Table | RelKind::PartitionedTable => inheritors(ctx, relation.oid)?,
        _ => Vec::new(),
    };
    if only && !below.is_empty() {
        let what = format!("inherited {what} \"{name}\"");
        return Err(invalid_table(format!("{what} must be renamed in child tables too")));
    }
    Ok(below)
}

fn rename_inherited_column(
    ctx: &mut DdlContext<'_>,
    relation: &Arc<Relation>,
    column: &str,
    new: String,
    only: bool,
) -> Result<()> {
    let below = renamed_below(ctx, relation, ("column", column), only)?;
    let itself = Inheritor { table: relation.clone(), parents: 0 };
    for Inheritor { table, parents } in below.into_iter().chain([itself]) {
        let position = table.column_index(column);
        if position.is_some_and(|position| table.inherit_count(position) > parents) {
            return Err(inherited("column", column));
        }
        rename_column(ctx, &table, column, new.clone())?;
    }
    Ok(())
}

fn rename_inherited_constraint(
    ctx: &mut DdlContext<'_>,
    relation: &Arc<Relation>,
    constraint: &str,
    new: String,
    only: bool,
) -> Result<()> {
    use steppe_catalog::ConstraintKind::{Check, NotNull};
    let goes_down = |c: &Constraint| {
        *c.name == *constraint && !c.no_inherit && matches!(c.kind, Check { .. } | NotNull)
    };
    let below = match relation.constraints.iter().any(goes_down) {
        true => renamed_below(ctx, relation, ("constraint", constraint), only)?,
        false => Vec::new(),
    };
    let itself = Inheritor { table: relation.clone(), parents: 0 };
    for Inheritor { table, parents } in below.into_iter().chain([itself]) {
        let own = table.constraints.iter().find(|c| *c.name == *constraint);
        if own.is_some_and(|own| own.parent == 0 && own.inherit_count > parents) {
            return Err(inherited("constraint", constraint));
        }
        rename_constraint(ctx, &table, constraint, new.clone())?;
    }
    Ok(())
}

fn rename_relation(ctx: &mut DdlContext<'_>, relation: &Arc<Relation>, new: String) -> Result<()> {
    ctx.lock_name(relation.schema, &new)?;
    let catalog = ctx.catalog();
    if catalog.relation_named(relation.schema, &new).is_some() {
        return Err(relation_exists(&new));
    }
    let mut renamed = (**relation).clone();
    renamed.name = new.as_str().into();
    super::view::follow_rename(ctx, &Arc::new(renamed.clone()))?;
    // What was printed again may be the view itself.
    if let Some(printed) = ctx.catalog().relation(renamed.oid) {
        renamed.view = printed.view.clone();
    }
    // An index renames the constraint it serves.
    if let Some(table) = renamed.index.as_ref().and_then(|i| catalog.relation(i.table))
        && super::index::constraint_of(table, renamed.oid).is_some()
    {
        let mut table = (**table).clone();
        for constraint in &mut table.constraints {
            if constraint.name == relation.name {
                constraint.name = new.as_str().into();
            }
        }
        ctx.put(table)?;
    }
    ctx.put(renamed)
}

fn rename_column(
    ctx: &mut DdlContext<'_>,
    relation: &Arc<Relation>,
    column: &str,
    new: String,
) -> Result<()> {
    let Some(position) = relation.column_index(column) else {
        return Err(Error::new(
            SqlState::UNDEFINED_COLUMN,
            format!("column \"{column}\" does not exist"),
        ));
    };
    if relation.column_index(&new).is_some() {
        return Err(Error::new(
            SqlState::DUPLICATE_COLUMN,
            format!("column \"{new}\" of relation \"{}\" already exists", relation.name),
        ));
    }
    let mut renamed = (**relation).clone();
    renamed.columns[position].name = new.as_str().into();
    rename_in_checks(ctx, relation, &mut renamed)?;
    create_statistics::reprint(ctx, relation, &mut renamed)?;
    super::generated::follow_rename(ctx, relation, &mut renamed)?;
    super::partition::rename_in_key(ctx, relation, &mut renamed)?;
    super::view::follow_rename(ctx, &Arc::new(renamed.clone()))?;
    if let Some(printed) = ctx.catalog().relation(renamed.oid) {
        renamed.view = printed.view.clone();
    }
    ctx.put(renamed.clone())?;
    // Index columns are named after the table's.
    let catalog = ctx.catalog();
    for index in catalog.indexes_of(&renamed) {
        let Some(info) = &index.index else { continue };
        let attnums = info.keys.iter().map(|k| k.attnum).chain(info.include.iter().copied());
        let at: Vec<usize> = attnums
            .enumerate()
            .filter(|(_, a)| *a == position as i16 + 1)
            .map(|(i, _)| i)
            .collect();
        let mut index = (**index).clone();
        for i in at {
            index.columns[i].name = new.as_str().into();
        }
        super::index::reprint(ctx, relation, &renamed, &mut index)?;
        ctx.put(index)?;
    }
    Ok(())
}

/// CHECK texts are bound under the old names and written again under the new ones.
fn rename_in_checks(
    ctx: &mut DdlContext<'_>,
    old: &Arc<Relation>,
    renamed: &mut Relation,
) -> Result<()> {
    use steppe_catalog::ConstraintKind::Check;
    use steppe_sql::bind::{ExprPlace, bind_table_expr, parse_expression};
    for i in 0..renamed.constraints.len() {
        let Check { expression } = &renamed.constraints[i].kind else { continue };
        let parsed = parse_expression(expression)?;
        let bound = ctx.binding(|b| bind_table_expr(b, Some(old), &parsed, ExprPlace::Check))?;
        let expression = steppe_sql::deparse::table_expression(&bound, Some(renamed)).into();
        renamed.constraints[i].kind = Check { expression };
    }
    Ok(())
}

fn rename_constraint(
    ctx: &mut DdlContext<'_>,
    relation: &Arc<Relation>,
    constraint: &str,
    new: String,
) -> Result<()> {
    use steppe_catalog::ConstraintKind::{Primary, Unique};
    let Some(at) = relation.constraints.iter().position(|c| *c.name == *constraint) else {
        return Err(Error::new(
            SqlState::UNDEFINED_OBJECT,
            format!("constraint \"{constraint}\" for table \"{}\" does not exist", relation.name),
        ));
    };
    if let Primary { index } | Unique { index } = relation.constraints[at].kind {
        let catalog = ctx.catalog();
        let index = catalog.relation(index).ok_or_else(|| Error::internal("index has gone"))?;
        return rename_relation(ctx, index, new);
    }
    let mut renamed = (**relation).clone();
    renamed.constraints[at].name = new.as_str().into();
    ctx.put(renamed)
}
