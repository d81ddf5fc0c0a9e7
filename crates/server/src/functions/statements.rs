//! pg_stat_statements: the functions of version 1.12. Columns without a counter here are 0: there
//! is no JIT compiler, parallel workers are not counted, and temporary tables are in the shared
//! buffers. Spill files have no blocks: their bytes are shown in blocks of a page.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_catalog::{AvailableExtension, BOOTSTRAP_SUPERUSER};
use steppe_exec::registry::{ExtensionCode, Family, Native};
use steppe_functions::arg;
use steppe_storage::PAGE_SIZE;
use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Oid, Result};

use super::record;
use crate::services::SharedSession;
use crate::statements::{Shown, Timed};

/// The extension.
pub(super) static CODE: ExtensionCode =
    ExtensionCode { extension: &EXTENSION, family: &FAMILY, missing_partition: None };

const NAME: &str = "pg_stat_statements";

// Statements are counted from the start. The extension only shows them.
static EXTENSION: AvailableExtension = AvailableExtension {
    name: NAME,
    version: "1.12",
    comment: "what the statements that ran have taken",
    functions: include_str!("../../data/pg_stat_statements.tsv"),
    views: &[
        ("pg_stat_statements", "pg_stat_statements", "true"),
        ("pg_stat_statements_info", "pg_stat_statements_info", ""),
    ],
};

static FAMILY: Family = Family { name: NAME, by_source: &[TABLE], by_oid: &[] };

/// Functions by prosrc.
const TABLE: &[(&str, Native)] = &[
    ("pg_stat_statements_1_12", rows!(|core, args| Ok(rows(core, arg(args, 0)?.as_bool()?)))),
    ("pg_stat_statements_reset_1_11", value!(reset)),
    ("pg_stat_statements_info", value!(info)),
];

fn info(core: &SharedSession, _: &[Datum]) -> Result<Datum> {
    let statements = &core.server.statements;
    Ok(record([
        Datum::Int8(statements.deallocations.load(Ordering::Relaxed) as i64),
        Datum::TimestampTz(statements.reset_at.load(Ordering::Relaxed)),
    ]))
}

/// `pg_stat_statements_reset(user, database, id, extremes only)`. All sessions belong to the
/// superuser and the one database.
fn reset(core: &SharedSession, args: &[Datum]) -> Result<Datum> {
    let is_ours = |given: Oid, ours: Oid| given == 0 || given == ours;
    let (user, database) = (arg(args, 0)?.as_oid()?, arg(args, 1)?.as_oid()?);
    if !is_ours(user, BOOTSTRAP_SUPERUSER) || !is_ours(database, POSTGRES_DATABASE) {
        return Ok(Datum::TimestampTz(crate::services::now_micros()));
    }
    let id = Some(arg(args, 2)?.as_int8()?).filter(|id| *id != 0);
    Ok(Datum::TimestampTz(core.server.statements.reset(id, arg(args, 3)?.as_bool()?)))
}

fn rows(core: &SharedSession, with_text: bool) -> Vec<Vec<Datum>> {
    let server = &core.server;
    let shown = server.statements.rows(|add| {
        server.backends.for_each(|_, backend| add(&backend.control.tally));
    });
    shown.iter().map(|statement| row(statement, with_text)).collect()
}

/// The number of calls, and the total, least, greatest and mean time with the deviation.
fn timed(timed: &Timed) -> [Datum; 6] {
    let Timed { calls, total, min, max, .. } = *timed;
    let (mean, deviation) = (timed.mean(), timed.deviation());
    let [total, min, max, mean, deviation] = [total, min, max, mean, deviation].map(Datum::Float8);
    [Datum::Int8(calls as i64), total, min, max, mean, deviation]
}

fn row(shown: &Shown, with_text: bool) -> Vec<Datum> {
    let (statement, counts) = (&shown.statement, &shown.counts);
    let count = |value: u64| Datum::Int8(value as i64);
    let none = |columns: usize| std::iter::repeat_n(Datum::Int8(0), columns);
    let no_time = |columns: usize| std::iter::repeat_n(Datum::Float8(0.0), columns);
    let text = Datum::Text(Arc::clone(&statement.text));
    let mut row = vec![
        Datum::Oid(BOOTSTRAP_SUPERUSER),
        Datum::Oid(POSTGRES_DATABASE),
        Datum::Bool(statement.is_top_level),
        Datum::Int8(statement.id),
        if with_text { text } else { Datum::Null },
    ];
    row.extend(timed(&counts.plans));
    row.extend(timed(&counts.runs));
    row.extend([
        count(counts.rows),
        count(counts.usage.hit),
        count(counts.usage.read),
        count(counts.usage.dirtied),
        count(counts.usage.written),
    ]);
    // local blocks
    row.extend(none(4));
    let blocks = |bytes: u64| count(bytes.div_ceil(PAGE_SIZE as u64));
    row.extend([blocks(counts.temp.read), blocks(counts.temp.written)]);
    let times = counts.usage.times;
    let took = |nanos: u64| Datum::Float8(nanos as f64 / 1e6);
    row.extend([took(times.read), took(times.write)]);
    // local blocks' times
    row.extend(no_time(2));
    row.extend([took(times.spill_read), took(times.spill_write)]);
    row.extend([
        count(counts.usage.log_records),
        Datum::Int8(0),
        Datum::Numeric(Numeric::from(counts.usage.log_bytes)),
        Datum::Int8(0),
    ]);
    // JIT: numbers and times in turn, then parallel workers
    (0..5).for_each(|_| row.extend(none(1).chain(no_time(1))));
    row.extend(none(2));
    row.extend([Datum::TimestampTz(shown.since), Datum::TimestampTz(shown.extremes_since)]);
    row
}
