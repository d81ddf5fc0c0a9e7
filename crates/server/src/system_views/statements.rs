//! pg_stat_statements: its functions, as version 1.12 has them. What is never done here is 0:
//! planning is not timed, there is no JIT compiler, helpers are not counted, temporary tables are
//! in the shared buffers, and times of I/O are not taken. Spill files have no blocks: their bytes
//! are shown in blocks of a page.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use steppe_catalog::BOOTSTRAP_SUPERUSER;
use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_storage::PAGE_SIZE;
use steppe_types::numeric::Numeric;
use steppe_types::{Datum, Oid, Result};

use crate::services::Core;
use crate::statements::Shown;

/// A function's value, by prosrc; `None`: it is none of these.
pub(super) fn call(core: &Core, source: &str, args: &[Datum]) -> Option<Result<Datum>> {
    let statements = &core.server.statements;
    Some(match (source, args) {
        ("pg_stat_statements_1_12", [Datum::Bool(with_text)]) => Ok(rows(core, *with_text)),
        (
            "pg_stat_statements_reset_1_11",
            [Datum::Oid(user), Datum::Oid(database), Datum::Int8(id), Datum::Bool(extremes)],
        ) => Ok(reset(core, *user, *database, *id, *extremes)),
        ("pg_stat_statements_info", _) => Ok(Datum::Record(
            [
                Datum::Int8(statements.deallocations.load(Ordering::Relaxed) as i64),
                Datum::TimestampTz(statements.reset_at.load(Ordering::Relaxed)),
            ]
            .into(),
        )),
        _ => return None,
    })
}

/// All sessions are the superuser's, in the one database.
fn reset(core: &Core, user: Oid, database: Oid, id: i64, extremes_only: bool) -> Datum {
    let is_ours = |given: Oid, ours: Oid| given == 0 || given == ours;
    if !is_ours(user, BOOTSTRAP_SUPERUSER) || !is_ours(database, POSTGRES_DATABASE) {
        return Datum::TimestampTz(crate::services::now_micros());
    }
    let id = (id != 0).then_some(id);
    Datum::TimestampTz(core.server.statements.reset(id, extremes_only))
}

fn rows(core: &Core, with_text: bool) -> Datum {
    let server = &core.server;
    let shown = server.statements.rows(|add| {
        server.backends.for_each(|_, backend| add(&backend.control.tally));
    });
    super::records(shown.iter().map(|statement| row(statement, with_text)).collect())
}

fn row(shown: &Shown, with_text: bool) -> Datum {
    let (statement, counts) = (&shown.statement, &shown.counts);
    let count = |value: u64| Datum::Int8(value as i64);
    let none = |columns: usize| std::iter::repeat_n(Datum::Int8(0), columns);
    let no_time = |columns: usize| std::iter::repeat_n(Datum::Float8(0.0), columns);
    let text = Datum::Text(Arc::clone(&statement.text));
    let mut row = vec![
        Datum::Oid(BOOTSTRAP_SUPERUSER),
        Datum::Oid(POSTGRES_DATABASE),
        Datum::Bool(true),
        Datum::Int8(statement.id),
        if with_text { text } else { Datum::Null },
    ];
    // plans and their times
    row.extend(none(1).chain(no_time(5)));
    row.extend([
        count(counts.calls),
        Datum::Float8(counts.total),
        Datum::Float8(counts.min),
        Datum::Float8(counts.max),
        Datum::Float8(counts.mean()),
        Datum::Float8(counts.deviation()),
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
    // JIT: numbers and times in turn; then parallel workers
    (0..5).for_each(|_| row.extend(none(1).chain(no_time(1))));
    row.extend(none(2));
    row.extend([Datum::TimestampTz(shown.since), Datum::TimestampTz(shown.extremes_since)]);
    Datum::Record(row.into())
}
