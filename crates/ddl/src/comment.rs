//! COMMENT ON (comment.c).

use super::drop::relation_name;
use super::open::system_catalog;
use super::{DdlContext, cast, create_statistics, function, operator, trigger, types};
use steppe_catalog::objects::kind_word;
use steppe_catalog::{RareText, RelKind, Relation};
use steppe_sql::ast::{CommentStmt, ObjectKind, ObjectName, ObjectRef};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result, SqlState};

/// COMMENT ON.
pub(crate) fn comment(ctx: &mut DdlContext<'_>, stmt: &CommentStmt) -> Result<()> {
    let text = stmt
        .comment
        .as_deref()
        .filter(|c| !c.is_empty())
        .map(|text| RareText::new(text.to_string()));
    let unsupported = || Error::not_supported(format!("COMMENT ON {}", stmt.kind.as_str()));
    let name = match &stmt.object {
        ObjectRef::Name(name) => name,
        ObjectRef::Cast(source, target) => return cast::comment(ctx, source, target, text),
        object @ ObjectRef::Type(_) => return types::comment(ctx, object, stmt.kind, text),
        ObjectRef::Function(named) if stmt.kind == ObjectKind::Operator => {
            return operator::comment(ctx, named, text);
        }
        ObjectRef::Function(named) => {
            let kind = function::Kind::of(stmt.kind).ok_or_else(unsupported)?;
            return function::comment(ctx, named, kind, text);
        }
        _ => return Err(unsupported()),
    };
    match stmt.kind {
        ObjectKind::Table => on_relation(ctx, name, RelKind::Table, text),
        ObjectKind::View => on_relation(ctx, name, RelKind::View, text),
        ObjectKind::Index => on_relation(ctx, name, RelKind::Index, text),
        ObjectKind::Sequence => on_relation(ctx, name, RelKind::Sequence, text),
        ObjectKind::Column => on_column(ctx, name, text),
        ObjectKind::TableConstraint => on_constraint(ctx, name, text),
        ObjectKind::Trigger => trigger::comment(ctx, name, text),
        ObjectKind::Statistics => create_statistics::comment(ctx, name, text),
        ObjectKind::Schema => on_schema(ctx, name, text),
        _ => Err(unsupported()),
    }
}

fn on_relation(
    ctx: &mut DdlContext<'_>,
    name: &ObjectName,
    kind: RelKind,
    text: Option<RareText>,
) -> Result<()> {
    let mut relation = open(ctx, &relation_name(name))?;
    let is_it = match kind {
        RelKind::Table => matches!(relation.kind, RelKind::Table | RelKind::PartitionedTable),
        RelKind::Index => matches!(relation.kind, RelKind::Index | RelKind::PartitionedIndex),
        kind => relation.kind == kind,
    };
    if !is_it {
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
        return Err(system_catalog(&relation));
    }
    Ok((*relation).clone())
}

/// A part of a relation, by a name whose last part is the part's.
fn part_of(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<(String, Relation)> {
    let Some((part, table)) = name.parts().split_last() else {
        return Err(Error::internal("COMMENT on a part of nothing"));
    };
    Ok((part.clone(), open(ctx, &relation_name(&ObjectName(table.to_vec())))?))
}

fn on_column(ctx: &mut DdlContext<'_>, name: &ObjectName, text: Option<RareText>) -> Result<()> {
    let (column, mut relation) = part_of(ctx, name)?;
    if !matches!(
        relation.kind,
        RelKind::Table | RelKind::View | RelKind::PartitionedTable | RelKind::Composite
    ) {
        return Err(Error::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!("cannot set comment on relation \"{}\"", relation.name),
        )
        .detail(match relation.kind {
            RelKind::Index => "This operation is not supported for indexes.",
            RelKind::PartitionedIndex => "This operation is not supported for partitioned indexes.",
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
    text: Option<RareText>,
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

fn on_schema(ctx: &mut DdlContext<'_>, name: &ObjectName, text: Option<RareText>) -> Result<()> {
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
    ctx.store.put_schema(ctx.store.changes(ctx.pending), schema);
    Ok(())
}
