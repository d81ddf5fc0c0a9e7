//! What a column's definition only recommends (ALTER COLUMN … SET STATISTICS, SET STORAGE). It is
//! kept, for the catalog and for who copies a schema; what a query answers does not depend on it.

use super::DdlContext;
use super::alter::column_position;
use steppe_catalog::Relation;
use steppe_catalog::system::type_storage;
use steppe_sql::ast::ColumnAddress;
use steppe_sql::bind::typename::format_type;
use steppe_types::{Error, Result, SqlState};

/// The largest statistics target (MAX_STATISTICS_TARGET).
const STATISTICS_MAX: i32 = 10_000;
/// typstorage of types whose values are never out of line.
const PLAIN: char = 'p';

/// ALTER COLUMN … SET STATISTICS; DEFAULT is written -1, too.
pub(super) fn set_statistics(
    ctx: &mut DdlContext<'_>,
    mut table: Relation,
    column: &ColumnAddress,
    target: Option<i32>,
) -> Result<()> {
    let ColumnAddress::Name(name) = column else {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "cannot refer to non-index column by number",
        ));
    };
    let mut target = target.filter(|target| *target != -1);
    if let Some(target) = target.filter(|target| *target < 0) {
        let message = format!("statistics target {target} is too low");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    if target.is_some_and(|target| target > STATISTICS_MAX) {
        target = Some(STATISTICS_MAX);
        let message = format!("lowering statistics target to {STATISTICS_MAX}");
        ctx.warn(SqlState::INVALID_PARAMETER_VALUE, message);
    }
    let position = column_position(&table, name)?;
    table.columns[position].statistics = target.and_then(|target| i16::try_from(target).ok());
    ctx.put(table)
}

/// ALTER COLUMN … SET STORAGE.
pub(super) fn set_storage(
    ctx: &mut DdlContext<'_>,
    mut table: Relation,
    name: &str,
    storage: &str,
) -> Result<()> {
    let position = column_position(&table, name)?;
    let ty = table.columns[position].type_oid;
    let of_type = char::from(type_storage(ty));
    let wanted = match storage.to_ascii_lowercase().as_str() {
        "plain" => PLAIN,
        "external" => 'e',
        "extended" => 'x',
        "main" => 'm',
        "default" => of_type,
        _ => {
            let message = format!("invalid storage type \"{storage}\"");
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
    };
    if wanted != PLAIN && of_type == PLAIN {
        let shown = format_type(ty, -1);
        let message = format!("column data type {shown} can only have storage PLAIN");
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    table.columns[position].storage = Some(wanted).filter(|wanted| *wanted != of_type);
    ctx.put(table)
}
