//! The parts of a column's definition that are only recommendations: STORAGE, COMPRESSION,
//! statistics. The catalog keeps them, and copies of the schema have them. The results of queries
//! do not depend on them.

use super::DdlContext;
use super::alter::column_position;
use super::reloptions::Options;
use super::table_change::TableChange;
use std::sync::Arc;
use steppe_catalog::system::type_storage;
use steppe_catalog::{Column, Relation};
use steppe_sql::ast::{ColumnAddress, ColumnDef};
use steppe_sql::bind::typename::format_type;
use steppe_types::{Error, Oid, Result, SqlState};

/// The largest statistics target (MAX_STATISTICS_TARGET).
const STATISTICS_MAX: i16 = 10_000;
/// typstorage of types whose values are never out of line.
const PLAIN: char = 'p';

/// The value of SET STATISTICS; `None` stands for DEFAULT, which may also be written as -1.
pub(super) fn statistics_target(ctx: &DdlContext<'_>, target: Option<i32>) -> Result<Option<i16>> {
    let Some(target) = target.filter(|target| *target != -1) else { return Ok(None) };
    if target < 0 {
        let message = format!("statistics target {target} is too low");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    if target > i32::from(STATISTICS_MAX) {
        let message = format!("lowering statistics target to {STATISTICS_MAX}");
        ctx.warn(SqlState::INVALID_PARAMETER_VALUE, message);
    }
    Ok(Some(i16::try_from(target).map_or(STATISTICS_MAX, |target| target.min(STATISTICS_MAX))))
}

/// ALTER COLUMN … SET STATISTICS.
pub(super) fn set_statistics(
    ctx: &DdlContext<'_>,
    change: &mut TableChange,
    column: &ColumnAddress,
    target: Option<i32>,
) -> Result<()> {
    let table = change.table();
    if table.index.is_none() && matches!(column, ColumnAddress::Number(_)) {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "cannot refer to non-index column by number",
        ));
    }
    let target = statistics_target(ctx, target)?;
    let position = match column {
        ColumnAddress::Name(name) => column_position(table, name)?,
        ColumnAddress::Number(number) => numbered(table, *number)?,
    };
    check_index_column(table, position)?;
    change.edit().columns[position].statistics = target;
    Ok(())
}

/// The position of an index's column by its number.
fn numbered(index: &Relation, number: i16) -> Result<usize> {
    let position = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    position.filter(|position| *position < index.columns.len()).ok_or_else(|| {
        let message =
            format!("column number {number} of relation \"{}\" does not exist", index.name);
        Error::new(SqlState::UNDEFINED_COLUMN, message)
    })
}

/// 0A000 for statistics of an index's column that is no expression.
fn check_index_column(index: &Relation, position: usize) -> Result<()> {
    let Some(info) = &index.index else { return Ok(()) };
    let refused = |what: &str| {
        let (column, index) = (&index.columns[position].name, &index.name);
        let message =
            format!("cannot alter statistics on {what} column \"{column}\" of index \"{index}\"");
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
    };
    match info.keys.get(position) {
        None => Err(refused("included")),
        Some(key) if key.attnum != 0 => {
            Err(refused("non-expression").hint("Alter statistics on table column instead."))
        }
        Some(_) => Ok(()),
    }
}

/// ALTER COLUMN … SET (…) and RESET (…): the options as `change` makes them of the old ones.
pub(super) fn change_options(
    table: &mut TableChange,
    name: &str,
    change: impl FnOnce(&[(Arc<str>, Arc<str>)]) -> Result<Options>,
) -> Result<()> {
    let position = column_position(table.table(), name)?;
    let options = change(&table.table().columns[position].options)?;
    table.edit().columns[position].options = options.into();
    Ok(())
}

/// ALTER COLUMN … SET STORAGE.
pub(super) fn set_storage(change: &mut TableChange, name: &str, storage: &str) -> Result<()> {
    let position = column_position(change.table(), name)?;
    let storage = storage_of(change.table().columns[position].type_oid, storage)?;
    change.edit().columns[position].storage = storage;
    Ok(())
}

/// ALTER COLUMN … SET COMPRESSION.
pub(super) fn set_compression(change: &mut TableChange, name: &str, method: &str) -> Result<()> {
    let position = column_position(change.table(), name)?;
    let compression = compression_of(change.table().columns[position].type_oid, method)?;
    change.edit().columns[position].compression = compression;
    Ok(())
}

/// STORAGE and COMPRESSION of a new column.
pub(super) fn of_definition(column: &mut Column, def: &ColumnDef) -> Result<()> {
    if let Some(method) = &def.compression {
        column.compression = compression_of(column.type_oid, method)?;
    }
    if let Some(storage) = &def.storage {
        column.storage = storage_of(column.type_oid, storage)?;
    }
    Ok(())
}

/// The value of pg_attribute.attcompression for a method (GetAttributeCompression). LZ4 is for
/// servers that were built with it.
fn compression_of(ty: Oid, method: &str) -> Result<Option<char>> {
    if method == "default" {
        return Ok(None);
    }
    let refused = |message| Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
    if char::from(type_storage(ty)) == PLAIN {
        let shown = format_type(ty, -1);
        return Err(refused(format!("column data type {shown} does not support compression")));
    }
    match method {
        "pglz" => Ok(Some('p')),
        "lz4" => Err(refused("compression method lz4 not supported".to_owned())
            .detail("This functionality requires the server to be built with lz4 support.")),
        _ => {
            let message = format!("invalid compression method \"{method}\"");
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    }
}

/// The storage of a column, where it is not its type's (GetAttributeStorage).
fn storage_of(ty: Oid, storage: &str) -> Result<Option<char>> {
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
    Ok(Some(wanted).filter(|wanted| *wanted != of_type))
}
