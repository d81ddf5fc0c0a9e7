//! pg_stat_user_functions and pg_stat_xact_user_functions.

use steppe_catalog::system::RowsBuilder;
use steppe_types::{Datum, Result};

use crate::services::SharedSession;

/// The rows of a view; `None` if it is another one.
pub(super) fn rows(core: &SharedSession, view: &str) -> Result<Option<Vec<Vec<Datum>>>> {
    let is_of_transaction = match view {
        "pg_stat_user_functions" => false,
        "pg_stat_xact_user_functions" => true,
        _ => return Ok(None),
    };
    let names = core.names();
    let mut out = RowsBuilder::new(view)?;
    let mut all = match is_of_transaction {
        true => core.function_counts.all(),
        false => core.server.function_statistics.all(),
    };
    all.sort_unstable_by_key(|(function, _)| *function);
    for (function, counts) in all {
        let Some(function) = names.catalog.function(function) else { continue };
        let schema = names.catalog.schema(function.schema).map_or("", |schema| &schema.name);
        let shown = counts.shown();
        out.row([
            ("funcid", Datum::Oid(function.oid)),
            ("schemaname", Datum::text(schema)),
            ("funcname", Datum::text(&*function.name)),
            ("calls", shown.calls),
            ("total_time", shown.total),
            ("self_time", shown.own),
        ]);
    }
    out.finish().map(Some)
}
