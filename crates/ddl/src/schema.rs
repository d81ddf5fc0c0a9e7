//! CREATE SCHEMA, and the objects that it makes in it (schemacmds.c, and
//! transformCreateSchemaStmtElements in parse_utilcmd.c).

use super::{DdlContext, execute, truncate_name};
use std::sync::Arc;
use steppe_catalog::{SUPERUSER_NAME, Schema};
use steppe_sql::ast::{CreateSchemaStmt, RangeVar, RoleKind, RoleSpec, Statement};
use steppe_types::{Error, Oid, Result, SqlState};

/// CREATE SCHEMA.
pub(crate) fn create_schema(ctx: &mut DdlContext<'_>, create: &CreateSchemaStmt) -> Result<()> {
    let name = match (&create.name, &create.authorization) {
        (Some(name), _) => Arc::from(truncate_name(name)),
        (None, Some(role)) => role_name(ctx, role)?,
        (None, None) => return Err(Error::internal("CREATE SCHEMA without a name")),
    };
    let name = &*name;
    if name.starts_with("pg_") {
        return Err(Error::new(
            SqlState::RESERVED_NAME,
            format!("unacceptable schema name \"{name}\""),
        )
        .detail("The prefix \"pg_\" is reserved for system schemas."));
    }
    // Schema names share one name space: that of schema 0.
    ctx.lock_name(0, name)?;
    if ctx.catalog().schema_named(name).is_some() {
        let message = format!("schema \"{name}\" already exists");
        let present = Error::new(SqlState::DUPLICATE_SCHEMA, message);
        return ctx.skip_present(create.if_not_exists, present);
    }
    let oid = ctx.store.new_oid()?;
    let schema = Schema::new(oid, name);
    ctx.store.put_schema(ctx.store.changes(ctx.pending), schema);
    create_elements(ctx, oid, elements_in_order(name, &create.elements)?)
}

/// The role that a schema belongs to which is called after it.
fn role_name(ctx: &DdlContext<'_>, role: &RoleSpec) -> Result<Arc<str>> {
    let current = ctx.session.identity().user.clone();
    match &role.kind {
        RoleKind::Named(name) if **name == *current || name == SUPERUSER_NAME => {
            Ok(name.as_str().into())
        }
        RoleKind::Named(name) => {
            let message = format!("role \"{name}\" does not exist");
            Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
        }
        _ => Ok(current),
    }
}

/// The objects of the schema in the order of creation, in which one may refer to an earlier one:
/// sequences, tables, views, indexes. Each gets the schema's name.
fn elements_in_order(schema: &str, elements: &[Statement]) -> Result<Vec<Statement>> {
    let mut ordered = Vec::with_capacity(elements.len());
    for element in elements {
        let mut element = element.clone();
        let (rank, relation) = match &mut element {
            Statement::CreateSequence(create) => (0, &mut create.relation),
            Statement::CreateTable(create) => (1, &mut create.relation),
            Statement::CreateView(create) => (2, &mut create.relation),
            Statement::CreateIndex(create) => (3, &mut create.relation),
            _ => return Err(Error::not_supported("GRANT and CREATE TRIGGER in CREATE SCHEMA")),
        };
        set_schema_name(schema, relation)?;
        ordered.push((rank, element));
    }
    ordered.sort_by_key(|(rank, _)| *rank);
    Ok(ordered.into_iter().map(|(_, element)| element).collect())
}

fn set_schema_name(schema: &str, relation: &mut RangeVar) -> Result<()> {
    match &relation.schema {
        None => relation.schema = Some(schema.to_owned()),
        Some(given) if given == schema => {}
        Some(given) => {
            return Err(Error::new(
                SqlState::INVALID_SCHEMA_DEFINITION,
                format!(
                    "CREATE specifies a schema ({given}) different from the one being created \
                     ({schema})"
                ),
            ));
        }
    }
    Ok(())
}

/// Makes the schema's objects; their names for one another are looked for in it first.
fn create_elements(ctx: &mut DdlContext<'_>, schema: Oid, elements: Vec<Statement>) -> Result<()> {
    let mut path = ctx.search_path.clone();
    path.insert(0, schema);
    let outside = (
        std::mem::replace(&mut ctx.search_path, path),
        ctx.creation_schema.replace(schema),
        std::mem::replace(&mut ctx.creates_temporary, false),
    );
    let made = elements.iter().try_for_each(|element| {
        execute(element, ctx)?;
        let catalog = ctx.catalog();
        ctx.session.see_catalog(&catalog);
        Ok(())
    });
    (ctx.search_path, ctx.creation_schema, ctx.creates_temporary) = outside;
    made
}
