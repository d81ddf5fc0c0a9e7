//! CREATE TABLE (LIKE …): columns, and what INCLUDING asks for (parse_utilcmd.c).
//!
//! Columns with their types and NOT NULL always come along. Constraints and indexes
//! are entered as if they had been written in the statement; indexes that serve no
//! constraint are built last, under names of their own.

use super::index::{self, IndexBuilder};
use super::inherit::Merged;
use super::not_null::PendingNotNull;
use super::sequence::SequenceOptions;
use super::table::{TableParts, check_column_name};
use super::{DdlContext, NameParts, create_statistics};
use std::sync::Arc;
use steppe_catalog::{Catalog, Column, ConstraintKind, IndexInfo, RelKind, Relation, SequenceInfo};
use steppe_sql::ast::{LikeClause, LikeOptions};
use steppe_sql::bind::parse_expression;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Result, SqlState};

/// An index to copy: its model and the model's table.
pub(super) struct CopiedIndex {
    index: Arc<Relation>,
    table: Arc<Relation>,
    comments: bool,
}

/// Adds to a table under construction what LIKE copies; returns the indexes to build at the end.
pub(super) fn copy(
    ctx: &mut DdlContext<'_>,
    parts: &mut TableParts,
    merged: &mut Merged,
    like: &LikeClause,
) -> Result<Vec<CopiedIndex>> {
    let found = ctx.try_open(&like.relation, RelationLockMode::AccessShare)?;
    let model = found
        .ok_or_else(|| like.relation.undefined().at(like.relation.location.position(ctx.source)))?;
    use RelKind::{PartitionedTable, Table, View, Virtual};
    if !matches!(model.kind, Table | PartitionedTable | View | Virtual) {
        return Err(Error::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!("relation \"{}\" is invalid in LIKE clause", model.name),
        ));
    }
    let wanted = &like.including;
    let catalog = ctx.catalog();
    for (column, attnum) in model.columns.iter().zip(1..).filter(|(c, _)| !c.dropped) {
        let copy = copied_column(column, wanted);
        let has_identity = copy.identity.is_some();
        let position = match merged.merge_copied(ctx, &mut parts.table, &copy)? {
            Some(position) => position,
            None => {
                check_column_name(&parts.table, &copy.name)?;
                parts.table.columns.push(copy);
                parts.table.columns.len() - 1
            }
        };
        if has_identity {
            let info = owned_sequence(&catalog, &model, attnum)?;
            parts.sequences.push(SequenceOptions::like(position, info));
        }
    }
    for constraint in &model.constraints {
        match &constraint.kind {
            ConstraintKind::Check { expression } if wanted.constraints => {
                let comment = constraint.comment.clone().filter(|_| wanted.comments);
                let expr = parse_expression(expression)?;
                parts.constraints.add_copied_check(constraint, expr, comment);
            }
            ConstraintKind::NotNull => {
                let column = constraint.columns.first().copied().unwrap_or_default();
                let comment = constraint.comment.clone().filter(|_| wanted.comments);
                let name = column_name(&model, column);
                let not_null = PendingNotNull::copied(&name, constraint, comment);
                parts.constraints.add_not_null(not_null);
            }
            _ => {}
        }
    }
    let mut copied = Vec::new();
    for index in catalog.indexes_of(&model).filter(|_| wanted.indexes) {
        let Some(info) = &index.index else { continue };
        if index::constraint_of(&model, index.oid).is_some() {
            let columns = info.keys.iter().map(|k| column_name(&model, k.attnum)).collect();
            let include = info.include.iter().map(|a| column_name(&model, *a)).collect();
            parts.constraints.add_copied_key(columns, index, info, include);
        } else {
            copied.push(CopiedIndex {
                index: index.clone(),
                table: model.clone(),
                comments: wanted.comments,
            });
        }
    }
    if wanted.statistics {
        create_statistics::copy(ctx, &mut parts.table, &model, wanted.comments)?;
    }
    Ok(copied)
}

/// The column that LIKE copies, without NOT NULL.
fn copied_column(column: &Column, wanted: &LikeOptions) -> Column {
    let mut copy = Column::new(column.name.clone(), column.type_oid, column.typmod);
    copy.domain = column.domain;
    copy.collation = column.collation;
    if column.identity.is_some() {
        copy.identity = column.identity.filter(|_| wanted.identity);
    } else if column.generated {
        // The expression names columns, which are called the same here.
        copy.generated = wanted.generated;
        copy.is_virtual = wanted.generated && column.is_virtual;
        copy.default = column.default.clone().filter(|_| wanted.generated);
    } else if wanted.defaults {
        copy.default = column.default.clone();
    }
    copy.storage = column.storage.filter(|_| wanted.storage);
    copy.compression = column.compression.filter(|_| wanted.compression);
    if wanted.comments {
        copy.comment = column.comment.clone();
    }
    copy
}

/// The sequence of an identity column, which a partition has from the top of its tree.
fn owned_sequence<'c>(
    catalog: &'c Catalog,
    table: &Relation,
    attnum: i16,
) -> Result<&'c SequenceInfo> {
    let mut owner = (table.oid, attnum);
    let mut below = table;
    while let Some(parent) = below.partition_of.as_ref().and_then(|of| catalog.relation(of.parent))
        && let Some(position) = parent.column_index(&column_name(table, attnum))
    {
        owner = (parent.oid, position as i16 + 1);
        below = parent;
    }
    let owned = |info: &&SequenceInfo| info.owned_by == Some(owner);
    let mut sequences = catalog.referrers(owner.0).filter_map(|r| r.sequence.as_deref());
    sequences.find(owned).ok_or_else(|| Error::internal("identity column without a sequence"))
}

fn column_name(table: &Relation, attnum: i16) -> String {
    table.columns[attnum as usize - 1].name.to_string()
}

/// Builds the copied indexes on the new table.
pub(super) fn create_indexes(
    ctx: &mut DdlContext<'_>,
    table: &mut Relation,
    copied: Vec<CopiedIndex>,
) -> Result<()> {
    for copy in copied {
        let Some(info) = &copy.index.index else { continue };
        like_index(ctx, table, &copy, info)?.finish(ctx, table)?;
    }
    Ok(())
}

fn like_index(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    copy: &CopiedIndex,
    info: &IndexInfo,
) -> Result<IndexBuilder> {
    // Expressions name columns, which are called the same here.
    let attnum = |model: i16| -> Result<i16> {
        if model == 0 {
            return Ok(0);
        }
        let position = table.column_index(&column_name(&copy.table, model));
        let position = position.ok_or_else(|| Error::internal("LIKE lost a column"))?;
        Ok(position as i16 + 1)
    };
    let mut keys = info.keys.to_vec();
    for key in &mut keys {
        key.attnum = attnum(key.attnum)?;
    }
    let include = info.include.iter().map(|a| attnum(*a)).collect::<Result<_>>()?;
    let mut key_names: Vec<String> =
        copy.index.columns.iter().map(|c| c.name.to_string()).collect();
    let columns = &key_names.join("_");
    let parts = NameParts { table: &table.name, columns, label: "idx" };
    let name = ctx.choose_name(table.schema, parts)?;
    key_names.truncate(keys.len());
    Ok(IndexBuilder {
        name,
        keys,
        key_names,
        include,
        unique: info.unique,
        primary: false,
        nulls_not_distinct: info.nulls_not_distinct,
        deferral: info.deferral,
        predicate: info.predicate.clone(),
        options: copy.index.options.to_vec(),
        parent: None,
        comment: copy.index.comment.clone().filter(|_| copy.comments),
    })
}
