//! The text of a statement for a node: qualified names, parameters by number.

use super::for_each_query;
use crate::deparse::query::{QueryStyle, print, print_statement};
use crate::query::{Command, Query, RteKind};
use std::sync::Arc;
use steppe_catalog::system::definitions;
use steppe_catalog::{Catalog, Relation};
use steppe_types::Result;
use steppe_types::io::IoContext;

/// Prints a statement. `parameter` has the name of a parameter. Error 0A000: it has a part that is not
/// printed.
pub(super) fn of(
    catalog: &Catalog,
    io: &IoContext,
    query: &mut Query,
    parameter: &dyn Fn(usize, bool) -> String,
) -> Result<String> {
    // Views are the coordinator's: their queries are sent.
    for_each_query(query, &mut |query| {
        for entry in &mut query.rtes {
            if let RteKind::Subquery { view, .. } = &mut entry.kind {
                *view = None;
                entry.has_alias = true;
            }
        }
    });
    let current = |relation: &Arc<Relation>| Arc::clone(relation);
    let relation_name = |relation: &Relation| definitions::qualified_name(catalog, relation);
    let relation = |oid| catalog.relation(oid).cloned();
    let style = QueryStyle {
        current: &current,
        relation_name: &relation_name,
        relation: &relation,
        function_name: &|_| None,
        parameter: Some(parameter),
        pretty: false,
        kept: false,
        using: false,
        io,
    };
    let printed = match query.command {
        Command::Select => print(query, None, &style)?,
        _ => print_statement(query, &style, 0)?,
    };
    Ok(printed.text.trim().to_owned())
}
