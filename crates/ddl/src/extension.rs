//! CREATE EXTENSION and DROP EXTENSION (extension.c).
//!
//! An extension's functions are there from the start, invisible; installing it records the schema
//! that makes them visible and creates its views there. See [`steppe_catalog::extension`].

use super::depend;
use super::{DdlContext, drop, relation_exists};
use std::sync::Arc;
use steppe_catalog::objects::{Object, kind_word};
use steppe_catalog::{
    AvailableExtension, BOOTSTRAP_SUPERUSER, Column, Extension, PG_CATALOG, PLPGSQL, RelKind,
    Relation, builtin,
};
use steppe_sql::ast::{CreateExtensionStmt, DefValue, DropStmt, ObjectRef};
use steppe_sql::deparse::quote_identifier;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};

/// CREATE EXTENSION.
pub(super) fn create_extension(
    ctx: &mut DdlContext<'_>,
    create: &CreateExtensionStmt,
) -> Result<()> {
    let name = create.name.as_str();
    // Another session that installs the same one waits.
    ctx.lock_name(PG_CATALOG, name)?;
    if name == PLPGSQL.name || ctx.catalog().extension_named(name).is_some() {
        let message = format!("extension \"{name}\" already exists");
        let present = Error::new(SqlState::DUPLICATE_OBJECT, message);
        return ctx.skip_present(create.if_not_exists, present);
    }
    let Some(available) = AvailableExtension::named(name) else {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("extension \"{name}\" is not available"),
        )
        .hint("The extension must first be installed on the system where PostgreSQL is running."));
    };
    check_version(available, create)?;
    let schema = target_schema(ctx, create)?;
    let oid = ctx.store.new_oid()?;
    let members = available.views.iter().map(|view| create_view(ctx, available, schema, view));
    let members = members.collect::<Result<Vec<Oid>>>()?;
    let extension = Extension {
        oid,
        name: available.name.into(),
        owner: BOOTSTRAP_SUPERUSER,
        schema,
        version: available.version.into(),
        members,
        comment: Some(available.comment.to_string().into()),
    };
    ctx.store.put_extension(ctx.store.changes(ctx.pending), extension);
    Ok(())
}

fn option<'o>(create: &'o CreateExtensionStmt, name: &str) -> Option<&'o DefValue> {
    create.options.iter().find(|option| option.name == name)?.value.as_ref()
}

fn word(value: Option<&DefValue>) -> Option<&str> {
    match value {
        Some(DefValue::String(text)) => Some(text),
        _ => None,
    }
}

/// 22023 for a version that there is no script for.
fn check_version(available: &AvailableExtension, create: &CreateExtensionStmt) -> Result<()> {
    match word(option(create, "new_version")) {
        Some(version) if version != available.version => Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!(
                "extension \"{}\" has no installation script nor update path for version \
                 \"{version}\"",
                available.name
            ),
        )),
        _ => Ok(()),
    }
}

/// The schema of SCHEMA, or else the schema in which new objects are created.
fn target_schema(ctx: &mut DdlContext<'_>, create: &CreateExtensionStmt) -> Result<Oid> {
    let Some(name) = word(option(create, "schema")) else {
        return ctx.creation_schema.ok_or_else(|| {
            Error::new(SqlState::INVALID_SCHEMA_NAME, "no schema has been selected to create in")
        });
    };
    let found = ctx.catalog().schema_named(name).map(|schema| schema.oid);
    found.ok_or_else(|| {
        let message = format!("schema \"{name}\" does not exist");
        Error::new(SqlState::INVALID_SCHEMA_NAME, message)
    })
}

/// One of the extension's views: all rows of one of its functions.
fn create_view(
    ctx: &mut DdlContext<'_>,
    available: &AvailableExtension,
    schema: Oid,
    (name, function, arguments): &(&str, &str, &str),
) -> Result<Oid> {
    let brought = builtin::functions_of_extension(available.name);
    let function = brought.into_iter().find(|proc| proc.name == *function);
    let function = function.ok_or_else(|| Error::internal("an extension's function is missing"))?;
    ctx.lock_name(schema, name)?;
    let catalog = ctx.catalog();
    if catalog.relation_named(schema, name).is_some() {
        return Err(relation_exists(name));
    }
    let columns: Vec<String> =
        function.out_columns().map(|(name, _)| quote_identifier(name)).collect();
    let schema_name = catalog.schema(schema).map_or("public", |schema| &schema.name);
    let mut view = Relation::new(ctx.store.new_oid()?, schema, *name, RelKind::View);
    view.columns = function.out_columns().map(|(name, ty)| Column::new(name, ty, -1)).collect();
    let text = format!(
        "SELECT {columns} FROM {}.{function}({arguments}) {function}({columns})",
        quote_identifier(schema_name),
        columns = columns.join(", "),
        function = function.name,
    );
    view.view = Some(Arc::from(text));
    let oid = view.oid;
    ctx.put(view)?;
    Ok(oid)
}

/// DROP EXTENSION.
pub(super) fn drop_extensions(ctx: &mut DdlContext<'_>, stmt: &DropStmt) -> Result<()> {
    let mut doomed: Vec<Arc<Extension>> = Vec::new();
    for object in &stmt.objects {
        let ObjectRef::Name(name) = object else {
            return Err(Error::internal("DROP EXTENSION without a name"));
        };
        let name = name.name();
        if name == PLPGSQL.name {
            return Err(Error::not_supported("DROP EXTENSION plpgsql"));
        }
        ctx.lock_name(PG_CATALOG, name)?;
        match ctx.catalog().extension_named(name) {
            Some(extension) => doomed.push(extension.clone()),
            None => {
                let message = format!("extension \"{name}\" does not exist");
                let missing = Error::new(SqlState::UNDEFINED_OBJECT, message);
                ctx.skip_missing(stmt.if_exists, missing)?;
            }
        }
    }
    let members = doomed.iter().flat_map(|extension| extension.members.iter());
    let roots: Vec<Object> = members.map(|oid| Object::Relation(*oid)).collect();
    let dependents = depend::dependents(ctx, &roots, stmt.behavior)?;
    drop::drop_dependents(ctx, &dependents)?;
    for extension in doomed {
        drop_extension(ctx, &extension)?;
    }
    Ok(())
}

/// Removes an extension with its members.
fn drop_extension(ctx: &mut DdlContext<'_>, extension: &Extension) -> Result<()> {
    for member in &extension.members {
        if let Some(relation) = ctx.catalog().relation(*member).cloned() {
            drop::drop_relation(ctx, relation)?;
        }
    }
    // The tables that it kept something of stay as they are; no code manages them any more.
    let catalog = ctx.catalog();
    let is_kept =
        |table: &Relation| table.kept.as_ref().is_some_and(|kept| kept.extension == extension.name);
    for table in catalog.relations().filter(|table| is_kept(table)) {
        ctx.lock(table.oid, RelationLockMode::AccessExclusive)?;
        ctx.put(Relation { kept: None, ..(**table).clone() })?;
    }
    ctx.store.remove_extension(ctx.store.changes(ctx.pending), extension.oid);
    Ok(())
}

/// Drops the extensions of a schema that is dropped.
pub(super) fn drop_with_schema(ctx: &mut DdlContext<'_>, schema: Oid) -> Result<()> {
    let catalog = ctx.catalog();
    for extension in catalog.extensions().filter(|extension| extension.schema == schema) {
        drop_extension(ctx, extension)?;
    }
    Ok(())
}

/// 2BP01 for DROP of a relation that belongs to an extension.
pub(super) fn check_member(ctx: &mut DdlContext<'_>, relation: &Relation) -> Result<()> {
    let catalog = ctx.catalog();
    let mut extensions = catalog.extensions();
    let Some(extension) = extensions.find(|e| e.members.contains(&relation.oid)) else {
        return Ok(());
    };
    let word = kind_word(relation.kind);
    Err(Error::new(
        SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        format!(
            "cannot drop {word} {} because extension {} requires it",
            relation.name, extension.name
        ),
    )
    .hint(format!("You can drop extension {} instead.", extension.name)))
}
