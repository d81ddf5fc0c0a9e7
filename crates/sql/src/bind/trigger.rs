//! WHEN of CREATE TRIGGER: a condition over the rows before and after a change
//! (CreateTriggerFiringOn in src/backend/commands/trigger.c).
//!
//! The condition is bound over two entries of the range table, `old` and `new`, which both have the
//! columns of the trigger's table. The catalog keeps it as text with these names
//! ([`crate::deparse::trigger_condition`]). A statement that fires the trigger evaluates it over both
//! rows, one behind the other ([`stored_condition`]).

use super::{BindContext, Binder, ExprPlace, Params, generated_value, parse_expression, settled};
use crate::ast::{self, Location};
use crate::deparse::unnamed::check_named;
use crate::expr::{Expr, Place};
use crate::plan::TABLE_OID;
use std::sync::Arc;
use steppe_catalog::trigger::{Trigger, TriggerLevel, TriggerTiming};
use steppe_catalog::{Catalog, PG_CATALOG, Relation};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Result, SqlState};

/// The range-table entry of the row before the change.
pub const OLD: usize = 0;
/// The entry of the row after it.
pub const NEW: usize = 1;

/// The names of the two entries.
pub const VERSIONS: [&str; 2] = ["old", "new"];

/// Binds the WHEN of a trigger that is otherwise complete. Columns are `Var { rte: OLD | NEW, .. }`.
///
/// 42P17 or 0A000 if the condition reads a row or a column that the trigger does not have.
pub fn bind_trigger_condition(
    ctx: &BindContext<'_>,
    relation: &Arc<Relation>,
    trigger: &Trigger,
    when: &ast::Expr,
) -> Result<Expr> {
    let mut binder = Binder::new(ctx, Params::none());
    let bound = binder.condition_over_versions(relation, when)?;
    let mut reads = Vec::new();
    read_columns(&bound, relation, &mut reads);
    reads.iter().try_for_each(|read| binder.check_read(relation, trigger, read))?;
    check_named(&bound)?;
    Ok(settled(bound))
}

/// Binds the stored text of a condition over a table that has the columns it names.
pub fn stored_trigger_condition(
    catalog: &Catalog,
    relation: &Arc<Relation>,
    text: &str,
) -> Result<Expr> {
    let io = IoContext::default();
    let ctx = BindContext { catalog, search_path: &[PG_CATALOG], io: &io, source: text };
    let parsed = parse_expression(text)?;
    Binder::new(&ctx, Params::none()).condition_over_versions(relation, &parsed).map(settled)
}

/// A stored condition over the stored row before the change, followed by the one after it.
pub fn stored_condition(catalog: &Catalog, relation: &Arc<Relation>, text: &str) -> Result<Expr> {
    let bound = stored_trigger_condition(catalog, relation, text)?;
    over_versions(catalog, relation, bound, None)
}

/// Turns columns into slots, and replaces virtual generated columns by their expressions. Such an
/// expression is over entry 0, and `of` is the version for which it is evaluated.
fn over_versions(
    catalog: &Catalog,
    relation: &Arc<Relation>,
    expr: Expr,
    of: Option<usize>,
) -> Result<Expr> {
    expr.transform(&mut |e| {
        let Expr::Var { rte, column, levels_up: 0, ty, .. } = e else { return Ok(e) };
        let version = of.unwrap_or(rte);
        let Ok(position) = usize::try_from(column) else {
            return match column == i32::from(TABLE_OID) {
                true => Ok(Expr::Const(Datum::Oid(relation.oid), ty)),
                false => Err(Error::not_supported("system columns in a trigger's WHEN condition")),
            };
        };
        let is_virtual = relation.columns.get(position).is_some_and(|column| column.is_virtual);
        match is_virtual.then(|| generated_value(catalog, relation, position)).transpose()? {
            Some(Some(value)) => over_versions(catalog, relation, value, Some(version)),
            _ => Ok(Expr::Slot { index: version * relation.columns.len() + position, ty }),
        }
    })
}

/// The attribute numbers of the columns that a condition names, of either version. A row as a whole
/// names none.
pub fn columns_of_condition(condition: &Expr, relation: &Relation) -> Vec<i16> {
    let mut reads = Vec::new();
    read_columns(condition, relation, &mut reads);
    let named = reads.iter().filter_map(|read| usize::try_from(read.column?).ok());
    let mut attnums: Vec<i16> = named.map(|position| position as i16 + 1).collect();
    attnums.sort_unstable();
    attnums.dedup();
    attnums
}

/// A column of a version that a condition reads, or (`None`) a version as a whole.
struct Read {
    version: usize,
    column: Option<i32>,
    location: Location,
}

fn read_columns(expr: &Expr, relation: &Relation, out: &mut Vec<Read>) {
    if let Expr::Row(fields, _) = expr
        && let Some((version, location)) = whole_version(fields, relation)
    {
        out.push(Read { version, column: None, location });
        return;
    }
    match expr {
        Expr::Var { rte, column, at: Place(location), .. } => {
            out.push(Read { version: *rte, column: Some(*column), location: *location });
        }
        other => other.for_each_child(&mut |child| read_columns(child, relation, out)),
    }
}

/// The version of which these are all columns, written at one place: `new.*`.
pub(crate) fn whole_version(fields: &[Expr], relation: &Relation) -> Option<(usize, Location)> {
    let live = relation.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
    let Some(Expr::Var { rte, at: Place(location), .. }) = fields.first() else { return None };
    let is_column = |(field, (position, _)): (&Expr, (usize, _))| {
        matches!(field, Expr::Var { rte: r, column, levels_up: 0, at: Place(l), .. }
            if (r, l) == (rte, location) && usize::try_from(*column) == Ok(position))
    };
    let is_whole = live.clone().count() == fields.len() && fields.iter().zip(live).all(is_column);
    is_whole.then_some((*rte, *location))
}

impl Binder<'_> {
    fn condition_over_versions(
        &mut self,
        relation: &Arc<Relation>,
        when: &ast::Expr,
    ) -> Result<Expr> {
        self.push_scope();
        for name in VERSIONS {
            let alias = ast::Alias { name: name.to_owned(), columns: Vec::new() };
            let rte = self.add_relation_rte(relation.clone(), Some(&alias), false)?;
            self.make_visible(rte);
        }
        let bound = self.expr(when, ExprPlace::TriggerWhen)?;
        self.coerce_boolean(bound, "WHEN", when.leftmost())
    }

    fn check_read(&self, relation: &Relation, trigger: &Trigger, read: &Read) -> Result<()> {
        let refused = |message: &str| -> Result<()> {
            Err(self.error(SqlState::INVALID_OBJECT_DEFINITION, message, read.location))
        };
        if trigger.level == TriggerLevel::Statement {
            return refused("statement trigger's WHEN condition cannot reference column values");
        }
        if read.version == OLD {
            return match trigger.events.insert {
                true => refused("INSERT trigger's WHEN condition cannot reference OLD values"),
                false => Ok(()),
            };
        }
        if trigger.events.delete {
            return refused("DELETE trigger's WHEN condition cannot reference NEW values");
        }
        if trigger.timing != TriggerTiming::Before {
            return Ok(());
        }
        let generated = "BEFORE trigger's WHEN condition cannot reference NEW generated columns";
        match read.column.map(usize::try_from) {
            None if relation.columns.iter().any(|column| column.generated && !column.dropped) => {
                let detail =
                    "A whole-row reference is used and the table contains generated columns.";
                refused(generated).map_err(|error: Error| error.detail(detail))
            }
            Some(Err(_)) => {
                let message = "BEFORE trigger's WHEN condition cannot reference NEW system columns";
                Err(self.error(SqlState::FEATURE_NOT_SUPPORTED, message, read.location))
            }
            Some(Ok(position)) => match relation.columns.get(position) {
                Some(column) if column.generated => {
                    let detail = format!("Column \"{}\" is a generated column.", column.name);
                    refused(generated).map_err(|error: Error| error.detail(detail))
                }
                _ => Ok(()),
            },
            None => Ok(()),
        }
    }
}
