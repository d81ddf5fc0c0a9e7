//! The columns that triggers name, in UPDATE OF and in WHEN.

use super::super::DdlContext;
use super::super::depend::description;
use std::sync::Arc;
use steppe_catalog::objects::Object;
use steppe_catalog::trigger::Trigger;
use steppe_catalog::{Catalog, Relation};
use steppe_sql::bind::trigger::{columns_of_condition, stored_trigger_condition};
use steppe_sql::deparse;
use steppe_types::{Error, Result, SqlState};

/// Whether a trigger names a column. A condition that cannot be bound any more names none.
pub(in super::super) fn depends_on(
    catalog: &Catalog,
    relation: &Arc<Relation>,
    trigger: &Trigger,
    attnum: i16,
) -> bool {
    if trigger.columns.contains(&attnum) {
        return true;
    }
    let Some(when) = &trigger.when else { return false };
    let condition = stored_trigger_condition(catalog, relation, when);
    condition.is_ok_and(|condition| columns_of_condition(&condition, relation).contains(&attnum))
}

/// 0A000 if a trigger names a column whose type is to change.
pub(in super::super) fn check_retype(
    ctx: &mut DdlContext<'_>,
    table: &Relation,
    position: usize,
) -> Result<()> {
    if table.triggers.is_empty() {
        return Ok(());
    }
    let table = &Arc::new(table.clone());
    let (catalog, attnum) = (ctx.catalog(), position as i16 + 1);
    let mut triggers = table.triggers.iter().filter(|trigger| trigger.parent == 0);
    let Some(trigger) = triggers.find(|trigger| depends_on(&catalog, table, trigger, attnum))
    else {
        return Ok(());
    };
    let message = "cannot alter type of a column used in a trigger definition";
    let trigger = description(&catalog, &ctx.search_path, Object::Trigger(table.oid, trigger.oid));
    let detail = format!("{trigger} depends on column \"{}\"", table.columns[position].name);
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(detail))
}

/// Writes the conditions again after a column was renamed: bound over the table as it `was`, printed
/// over it as it `is`.
pub(in super::super) fn reprint(
    ctx: &mut DdlContext<'_>,
    was: &Arc<Relation>,
    is: &mut Relation,
) -> Result<()> {
    if is.triggers.iter().all(|trigger| trigger.when.is_none()) {
        return Ok(());
    }
    let catalog = ctx.catalog();
    let mut triggers = is.triggers.clone();
    for trigger in triggers.iter_mut() {
        if let Some(when) = &trigger.when {
            let condition = stored_trigger_condition(&catalog, was, when)?;
            trigger.when = Some(deparse::trigger_condition(&condition, is, &catalog).into());
        }
    }
    is.triggers = triggers;
    Ok(())
}
