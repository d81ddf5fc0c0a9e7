//! COMMENT ON (comment.c).

use super::depend::kind_word;
use super::drop::relation_name;
use super::{DdlContext, misc};
use std::sync::Arc;
use steppe_catalog::{RelKind, Relation};
use steppe_sql::ast::{CommentStmt, ObjectKind, ObjectName, ObjectRef};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result, SqlState};

/// COMMENT ON.
pub(crate) fn comment(ctx: &mut DdlContext<'_>, stmt: &CommentStmt) -> Result<()> {
    let text = stmt.comment.as_deref().filter(|c| !c.is_empty()).map(Arc::<str>::from);
    let ObjectRef::Name(name) = &stmt.object else {
        return Err(Error::not_supported(format!("COMMENT ON {}", stmt.kind.as_str())));
    };
    match stmt.kind {
        ObjectKind::Table => on_relation(ctx, name, RelKind::Table, text),
        ObjectKind::View => on_relation(ctx, name, RelKind::View, text),
        ObjectKind::Index => on_relation(ctx, name, RelKind::Index, text),
        ObjectKind::Sequence => on_relation(ctx, name, RelKind::Sequence, text),
        ObjectKind::Column => on_column(ctx, name, text),
        ObjectKind::TableConstraint => on_constraint(ctx, name, text),
        ObjectKind::Schema => on_schema(ctx, name, text),
        kind => Err(Error::not_supported(format!("COMMENT ON {}", kind.as_str()))),
    }
}

fn on_relation(
    ctx: &mut DdlContext<'_>,
    name: &ObjectName,
    kind: RelKind,
    text: Option<Arc<str>>,
) -> Result<()> {
    let mut relation = open(ctx, &relation_name(name))?;
    if relation.kind != kind {
        let article = if kind == RelKind::Index { "an" } else { "a" };
        return Err(Error::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!("\"{}\" is not {article} {}", relation.name, kind_word(kind)),
        ));
    }
    relation.comment = text;
    ctx.put(relation)
}

fn open(ctx: &mut DdlContext<'_>, name: &steppe_sql::ast::RangeVar) -> Result<Relation> {
    let relation = ctx.open(name, RelationLockMode::ShareUpdateExclusive)?;
    if relation.is_system() {
        return Err(misc::system_catalog(&relation));
    }
    Ok((*relation).clone())
}

/// What belongs to a relation, by a name whose last part is its own.
fn part_of(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<(String, Relation)> {
    let Some((part, table)) = name.parts().split_last() else {
        return Err(Error::internal("COMMENT on a part of nothing"));
    };
    Ok((part.clone(), open(ctx, &relation_name(&ObjectName(table.to_vec())))?))
}

fn on_column(ctx: &mut DdlContext<'_>, name: &ObjectName, text: Option<Arc<str>>) -> Result<()> {
    let (column, mut relation) = part_of(ctx, name)?;
    if !matches!(relation.kind, RelKind::Table | RelKind::View) {
        return Err(Error::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!("cannot set comment on relation \"{}\"", relation.name),
        )
        .detail(match relation.kind {
            RelKind::Index => "This operation is not supported for indexes.",
            _ => "This operation is not supported for sequences.",
        }));
    }
    let Some(position) = relation.column_index(&column) else {
        return Err(Error::new(
            SqlState::UNDEFINED_COLUMN,
            format!("column \"{column}\" of relation \"{}\" does not exist", relation.name),
        ));
    };
    relation.columns[position].comment = text;
    ctx.put(relation)
}

fn on_constraint(
    ctx: &mut DdlContext<'_>,
    name: &ObjectName,
    text: Option<Arc<str>>,
) -> Result<()> {
    let (wanted, mut relation) = part_of(ctx, name)?;
    let table = relation.name.clone();
    let Some(constraint) = relation.constraints.iter_mut().find(|c| *c.name == *wanted) else {
        return Err(Error::new(
            SqlState::UNDEFINED_OBJECT,
            format!("constraint \"{wanted}\" for table \"{table}\" does not exist"),
        ));
    };
    constraint.comment = text;
    ctx.put(relation)
}

fn on_schema(ctx: &mut DdlContext<'_>, name: &ObjectName, text: Option<Arc<str>>) -> Result<()> {
    let name = name.name();
    let Some(schema) = ctx.catalog().schema_named(name).cloned() else {
        return Err(Error::new(
            SqlState::INVALID_SCHEMA_NAME,
            format!("schema \"{name}\" does not exist"),
        ));
    };
    if schema.oid < steppe_types::oid::FIRST_NORMAL_OID {
        return Err(Error::not_supported("COMMENT ON a schema that every database has"));
    }
    let mut schema = (*schema).clone();
    schema.comment = text;
    let changes = ctx.store.changes(ctx.pending);
    ctx.store.put_schema(ctx.txn, changes, schema)
}
