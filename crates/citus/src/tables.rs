//! create_distributed_table, create_reference_table, undistribute_table.

use super::{invalid, qualified, relation_in, unsupported};
use steppe_catalog::distribution::shards::{CITUS_SHARDS, SHARDS_MAX};
use steppe_catalog::system::definitions::quote_identifier;
use steppe_ddl::distribute::{Together, Wanted, distribute, localize};
use steppe_ddl::of_function::SpiDdl;
use steppe_exec::Spi;
use steppe_functions::CallInfo;
use steppe_functions::args::{given, int4, oid, text, void};
use steppe_txn::RelationLockMode;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid as types};

/// `create_distributed_table(table, column, type, colocate_with, shard_count)`
pub(super) fn create_distributed(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    if [0, 2, 3].iter().any(|i| given(args, *i).is_none()) {
        return void();
    }
    if given(args, 1).is_none() {
        return Err(unsupported("create_distributed_table without a distribution column"));
    }
    let (column, method, with) = (text(args, 1)?, text(args, 2)?, text(args, 3)?);
    match method {
        "hash" => {}
        "append" | "range" => {
            let what = format!("create_distributed_table with distribution type {method}");
            return Err(Error::not_supported(what));
        }
        _ => {
            let message =
                format!("invalid input value for enum citus.distribution_type: \"{method}\"");
            return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
        }
    }
    let together = match with {
        _ if with.eq_ignore_ascii_case("default") => Together::Default,
        _ if with.eq_ignore_ascii_case("none") => Together::None,
        table => Together::With(table_named(spi, table)?),
    };
    let shards = match given(args, 4) {
        None => CITUS_SHARDS,
        Some(_) if matches!(together, Together::With(_)) => {
            let message = "Cannot use colocate_with with a table and shard_count at the same time";
            return Err(invalid(message));
        }
        Some(_) => {
            let count = int4(args, 4)?;
            let in_range = usize::try_from(count).ok().filter(|n| (1..=SHARDS_MAX).contains(n));
            in_range.ok_or_else(|| {
                invalid(format!(
                    "{count} is outside the valid range for parameter \"shard_count\" (1 .. \
                     {SHARDS_MAX})"
                ))
            })?
        }
    };
    convert(spi, oid(args, 0)?, Wanted::Hash { column, shards, together })
}

/// `create_reference_table(table)`
pub(super) fn create_reference(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    match given(args, 0) {
        Some(_) => convert(spi, oid(args, 0)?, Wanted::Replicated),
        None => void(),
    }
}

/// The table of a name, as a regclass has it.
fn table_named(spi: &mut Spi<'_>, name: &str) -> Result<Oid> {
    spi.value("$1::regclass", &[(types::TEXT, Datum::Text(name.into()))])?.as_oid()
}

/// Distributes a table and moves its rows to the nodes.
fn convert(spi: &mut Spi<'_>, table: Oid, wanted: Wanted<'_>) -> Result<Datum> {
    let name = qualified(spi, table)?;
    let is_local = !relation_in(&spi.frame()?.names.catalog, table)?.is_distributed();
    let has_rows = is_local && has_rows(spi, table, &name)?;
    let rows =
        spi.ddl("create_distributed_table()", "", |ctx| distribute(ctx, table, wanted, has_rows))?;
    if let Some(rows) = rows {
        let rows = qualified(spi, rows)?;
        copy(spi, table, &rows)?;
        spi.execute(&format!("DROP TABLE {rows}"))?;
    }
    void()
}

/// `undistribute_table(table, cascade_via_foreign_keys)`
pub(super) fn undistribute(args: &[Datum], _: &CallInfo, spi: &mut Spi<'_>) -> Result<Datum> {
    if given(args, 0).is_none() {
        return void();
    }
    let table = oid(args, 0)?;
    let name = qualified(spi, table)?;
    let is_distributed = relation_in(&spi.frame()?.names.catalog, table)?.is_distributed();
    let has_rows = is_distributed && has_rows(spi, table, &name)?;
    let kept = format!("pg_temp.{}", quote_identifier(&format!("undistributed_{table}")));
    if has_rows {
        spi.execute(&format!("CREATE TEMPORARY TABLE {kept} AS SELECT * FROM {name}"))?;
    }
    spi.ddl("undistribute_table()", "", |ctx| localize(ctx, table))?;
    if has_rows {
        copy(spi, table, &kept)?;
        spi.execute(&format!("DROP TABLE {kept}"))?;
    }
    void()
}

/// Locks a table against everybody, and looks whether it has rows.
fn has_rows(spi: &mut Spi<'_>, table: Oid, name: &str) -> Result<bool> {
    spi.ddl("LOCK TABLE", "", |ctx| ctx.lock(table, RelationLockMode::AccessExclusive))?;
    spi.value(&format!("EXISTS (SELECT FROM {name})"), &[])?.as_bool()
}

/// Copies all rows of one table to another.
fn copy(spi: &mut Spi<'_>, to: Oid, from: &str) -> Result<()> {
    let catalog = spi.frame()?.names.catalog;
    let columns = relation_in(&catalog, to)?.columns.iter().filter(|column| !column.dropped);
    let columns: Vec<_> = columns.map(|column| quote_identifier(&column.name)).collect();
    let (columns, to) = (columns.join(", "), qualified(spi, to)?);
    let insert = format!(
        "INSERT INTO {to} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM {from}"
    );
    spi.execute(&insert).map(drop)
}
