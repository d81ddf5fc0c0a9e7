//! The counters as functions, from which PostgreSQL makes its statistics views, and their resets
//! (src/backend/utils/adt/pgstatfuncs.c).

use steppe_exec::registry::Native;
use steppe_functions::arg;
use steppe_types::{Datum, Result};

use super::void;
use crate::function_counts::ShownCounts;
use crate::services::SharedSession;
use crate::system_views::{io, slru, statistics};

/// A pg_stat_get_… function by its prosrc. It computes a counter of a relation's OID.
macro_rules! counter {
    ($name:literal) => {
        (
            concat!("pg_stat_get_", $name),
            value!(|core, args| statistics::counter(core, $name, arg(args, 0)?.as_oid()?)),
        )
    };
}

/// A pg_stat_get_… function by its prosrc. It computes a count of a user's function.
macro_rules! function_counter {
    ($name:literal, $xact:literal, $count:ident) => {
        (
            concat!("pg_stat_get_", $name),
            value!(|core, args| of_function(core, args, $xact, |shown| shown.$count.clone())),
        )
    };
}

/// Functions by prosrc.
pub(super) const TABLE: &[(&str, Native)] = &[
    counter!("numscans"),
    counter!("lastscan"),
    counter!("tuples_returned"),
    counter!("tuples_fetched"),
    counter!("tuples_inserted"),
    counter!("tuples_updated"),
    counter!("tuples_deleted"),
    counter!("tuples_hot_updated"),
    counter!("tuples_newpage_updated"),
    counter!("xact_numscans"),
    counter!("xact_tuples_returned"),
    counter!("xact_tuples_fetched"),
    counter!("xact_tuples_inserted"),
    counter!("xact_tuples_updated"),
    counter!("xact_tuples_deleted"),
    counter!("xact_tuples_hot_updated"),
    counter!("xact_tuples_newpage_updated"),
    counter!("live_tuples"),
    counter!("dead_tuples"),
    counter!("mod_since_analyze"),
    counter!("ins_since_vacuum"),
    counter!("last_vacuum_time"),
    counter!("last_autovacuum_time"),
    counter!("last_analyze_time"),
    counter!("last_autoanalyze_time"),
    counter!("vacuum_count"),
    counter!("autovacuum_count"),
    counter!("analyze_count"),
    counter!("autoanalyze_count"),
    counter!("total_vacuum_time"),
    counter!("total_autovacuum_time"),
    counter!("total_analyze_time"),
    counter!("total_autoanalyze_time"),
    ("pg_stat_get_slru", rows!(|core, _| Ok(slru::counters(core)))),
    function_counter!("function_calls", false, calls),
    function_counter!("function_total_time", false, total),
    function_counter!("function_self_time", false, own),
    function_counter!("xact_function_calls", true, calls),
    function_counter!("xact_function_total_time", true, total),
    function_counter!("xact_function_self_time", true, own),
    ("pg_stat_reset_single_function_counters", value!(reset_function)),
    ("pg_stat_reset", value!(reset)),
    ("pg_stat_reset_single_table_counters", value!(reset_relation)),
    ("pg_stat_reset_shared", value!(|core, args| io::reset_shared(core, target(args)?))),
    ("pg_stat_reset_slru", value!(|core, args| Ok(io::reset_slru(core, target(args)?)))),
];

fn reset(core: &SharedSession, _: &[Datum]) -> Result<Datum> {
    core.server.statistics.database.reset(core);
    core.server.function_statistics.reset_all();
    Ok(void())
}

/// A count of a function; NULL if it has not been called. Times are in milliseconds.
fn of_function(
    core: &SharedSession,
    args: &[Datum],
    is_of_transaction: bool,
    count: fn(&ShownCounts) -> Datum,
) -> Result<Datum> {
    let function = arg(args, 0)?.as_oid()?;
    let counts = match is_of_transaction {
        true => core.function_counts.get(function),
        false => core.server.function_statistics.get(function),
    };
    Ok(counts.map_or(Datum::Null, |counts| count(&counts.shown())))
}

fn reset_function(core: &SharedSession, args: &[Datum]) -> Result<Datum> {
    core.server.function_statistics.reset(arg(args, 0)?.as_oid()?);
    Ok(void())
}

fn reset_relation(core: &SharedSession, args: &[Datum]) -> Result<Datum> {
    let relation = arg(args, 0)?.as_oid()?;
    core.server.statistics.database.reset_relation(core, relation)?;
    Ok(void())
}

/// The target of a reset; NULL is all.
fn target(args: &[Datum]) -> Result<Option<&str>> {
    match arg(args, 0)? {
        Datum::Null => Ok(None),
        name => Ok(Some(name.as_text()?)),
    }
}
