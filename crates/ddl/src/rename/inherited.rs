//! Columns and constraints that tables below have, too: all are renamed, or none.

use super::super::DdlContext;
use super::super::alter::Reach;
use super::super::inherit::{Inheritor, inheritors, invalid_table};
use super::column::rename_column;
use super::constraint::rename_constraint;
use std::sync::Arc;
use steppe_catalog::{Constraint, RelKind, Relation};
use steppe_types::{Error, Result};

/// A column or a constraint that is renamed.
#[derive(Clone, Copy)]
struct Renamed<'a> {
    /// The word for it in messages.
    kind: &'a str,
    name: &'a str,
}

/// 42P16: an inherited column is renamed at the parent, and in all children with it.
fn inherited(Renamed { kind, name }: Renamed<'_>) -> Error {
    invalid_table(format!("cannot rename inherited {kind} \"{name}\""))
}

/// The tables that inherit from a table. With ONLY there must be none: 42P16.
fn renamed_below(
    ctx: &mut DdlContext<'_>,
    relation: &Relation,
    renamed: Renamed<'_>,
    reach: Reach,
) -> Result<Vec<Inheritor>> {
    let below = match relation.kind {
        RelKind::Table | RelKind::PartitionedTable => inheritors(ctx, relation.oid)?,
        _ => Vec::new(),
    };
    if reach.is_only() && !below.is_empty() {
        let Renamed { kind, name } = renamed;
        let message = format!("inherited {kind} \"{name}\" must be renamed in child tables too");
        return Err(invalid_table(message));
    }
    Ok(below)
}

pub(super) fn rename_inherited_column(
    ctx: &mut DdlContext<'_>,
    relation: &Arc<Relation>,
    column: &str,
    new: String,
    reach: Reach,
) -> Result<()> {
    let below = renamed_below(ctx, relation, Renamed { kind: "column", name: column }, reach)?;
    let itself = Inheritor { table: relation.clone(), parents: 0 };
    for Inheritor { table, parents } in below.into_iter().chain([itself]) {
        let position = table.column_index(column);
        if position.is_some_and(|position| table.inherit_count(position) > parents) {
            return Err(inherited(Renamed { kind: "column", name: column }));
        }
        rename_column(ctx, &table, column, new.clone())?;
    }
    Ok(())
}

pub(super) fn rename_inherited_constraint(
    ctx: &mut DdlContext<'_>,
    relation: &Arc<Relation>,
    constraint: &str,
    new: String,
    reach: Reach,
) -> Result<()> {
    use steppe_catalog::ConstraintKind::{Check, NotNull};
    let goes_down = |c: &Constraint| {
        *c.name == *constraint && !c.no_inherit && matches!(c.kind, Check { .. } | NotNull)
    };
    let below = match relation.constraints.iter().any(goes_down) {
        true => {
            let renamed = Renamed { kind: "constraint", name: constraint };
            renamed_below(ctx, relation, renamed, reach)?
        }
        false => Vec::new(),
    };
    let itself = Inheritor { table: relation.clone(), parents: 0 };
    for Inheritor { table, parents } in below.into_iter().chain([itself]) {
        let own = table.constraints.iter().find(|c| *c.name == *constraint);
        if own.is_some_and(|own| own.parent == 0 && own.inherit_count > parents) {
            return Err(inherited(Renamed { kind: "constraint", name: constraint }));
        }
        rename_constraint(ctx, &table, constraint, new.clone())?;
    }
    Ok(())
}
