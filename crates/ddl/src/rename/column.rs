//! A column's name, and the texts and index columns that have it.

use super::super::{DdlContext, create_statistics, generated, index, partition, trigger, view};
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_types::{Error, Result, SqlState};

pub(super) fn rename_column(
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
    trigger::reprint(ctx, relation, &mut renamed)?;
    generated::follow_rename(ctx, relation, &mut renamed)?;
    partition::rename_in_key(ctx, relation, &mut renamed)?;
    view::follow_rename(ctx, &Arc::new(renamed.clone()))?;
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
        index::reprint(ctx, relation, &renamed, &mut index)?;
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
        let expression =
            steppe_sql::deparse::table_expression(&bound, Some(renamed), &ctx.catalog()).into();
        renamed.constraints[i].kind = Check { expression };
    }
    Ok(())
}
