//! A relation's name, and that of the constraint that an index serves.

use super::super::{DdlContext, function, index, relation_exists, types, view};
use std::sync::Arc;
use steppe_catalog::{Relation, row_type_of};
use steppe_types::Result;

pub(in super::super) fn rename_relation(
    ctx: &mut DdlContext<'_>,
    relation: &Arc<Relation>,
    new: String,
) -> Result<()> {
    ctx.lock_name(relation.schema, &new)?;
    let catalog = ctx.catalog();
    if catalog.relation_named(relation.schema, &new).is_some() {
        return Err(relation_exists(&new));
    }
    if row_type_of(relation).is_some() {
        types::check_name_is_free(ctx, relation.schema, &new)?;
    }
    let mut renamed = (**relation).clone();
    renamed.name = new.as_str().into();
    view::follow_rename(ctx, &Arc::new(renamed.clone()))?;
    // The view that was printed again may be this one.
    if let Some(printed) = ctx.catalog().relation(renamed.oid) {
        renamed.view = printed.view.clone();
    }
    // An index renames the constraint it serves.
    if let Some(table) = renamed.index.as_ref().and_then(|i| catalog.relation(i.table))
        && index::constraint_of(table, renamed.oid).is_some()
    {
        let mut table = (**table).clone();
        for constraint in &mut table.constraints {
            if constraint.name == relation.name {
                constraint.name = new.as_str().into();
            }
        }
        function::follow_rename(ctx, &catalog, &Arc::new(table.clone()), true)?;
        ctx.put(table)?;
    }
    ctx.put(renamed)
}
