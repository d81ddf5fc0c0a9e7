//! The text of a statement for a node: tables by qualified names, parameters by number.
//!
//! It means the same under all settings of the node's session that follow those of the coordinator's
//! session. Constants are printed in the default formats (ISO dates, intervals of IntervalStyle postgres,
//! all digits of floating-point numbers), which are read the same under any setting. Functions,
//! operators and types are built-in ones with bare names: search_path on a node is pg_catalog
//! (`pool::replay` in the crate cluster).

use super::for_each_query;
use crate::deparse::query::{QueryStyle, print, print_statement};
use crate::query::{Command, Cte, Query, RteKind};
use hashbrown::HashSet;
use std::sync::Arc;
use steppe_catalog::system::definitions;
use steppe_catalog::{Catalog, Relation};
use steppe_types::Result;
use steppe_types::io::IoContext;

/// Prints a statement. `parameter` has the name of a parameter. Error 0A000: it has a part that is not
/// printed.
pub(super) fn of(
    catalog: &Catalog,
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
            let columns = entry.columns.iter_mut().filter(|column| !column.dropped);
            make_unique(columns.map(|column| &mut column.name));
        }
        query.ctes.iter_mut().for_each(name_columns);
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
        io: &IoContext::default(),
    };
    let printed = match query.command {
        Command::Select => print(query, None, &style)?,
        _ => print_statement(query, &style, 0)?,
    };
    Ok(printed.text.trim().to_owned())
}

/// Names the columns of a WITH query, if two have one name.
fn name_columns(cte: &mut Cte) {
    let visible = cte.query.output().iter().filter(|target| !target.hidden);
    let mut names: Vec<Arc<str>> = visible.map(|target| Arc::clone(&target.name)).collect();
    names.iter_mut().zip(&cte.columns).for_each(|(name, given)| *name = Arc::clone(given));
    if make_unique(names.iter_mut()) {
        cte.columns = names;
    }
}

/// Gives each column a name of its own: the text names columns that `*` stood for in the statement.
/// Whether a name is new.
fn make_unique<'a>(names: impl Iterator<Item = &'a mut Arc<str>>) -> bool {
    let mut seen: HashSet<Arc<str>> = HashSet::new();
    let mut is_new = false;
    for name in names {
        let mut candidate = Arc::clone(name);
        let mut number = 0;
        while !seen.insert(Arc::clone(&candidate)) {
            number += 1;
            candidate = format!("{name}_{number}").into();
        }
        is_new |= number > 0;
        *name = candidate;
    }
    is_new
}
