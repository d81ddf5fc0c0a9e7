//! The stored form of a view's query: its text and its dependencies.
//!
//! The text is the query printed by ruleutils' rules with every relation qualified,
//! so that it means the same under any search path. When something that it names is
//! renamed, the text is bound as things were and printed as they are.
//!
//! ```text
//!   CREATE VIEW ── bound query ── print ──▶ text ──┬── bind: each use of the view
//!                                  └──▶ reads      └── bind, print: renames, pg_get_viewdef
//! ```
//!
//! A query whose text would not read back as itself is refused, so that the catalog has no other text.

use super::DdlContext;
use std::sync::Arc;
use steppe_catalog::system::definitions::{kept_function_name, qualified_name};
use steppe_catalog::{Catalog, Relation};
use steppe_sql::bind::bind_view;
use steppe_sql::deparse::query::{PrintedQuery, QueryStyle, print};
use steppe_sql::query::Query;
use steppe_types::{Error, Result};

/// Sets a view's text and dependencies. 0A000 for a query that the text would not stand for.
pub(super) fn keep(ctx: &mut DdlContext<'_>, view: &mut Relation, query: &Query) -> Result<()> {
    let catalog = ctx.catalog();
    let names: Vec<Arc<str>> = view.columns.iter().map(|c| c.name.clone()).collect();
    let text = stored_text(&catalog, query, &names, &Arc::clone, true)?;
    let conditions = stored_text(&catalog, query, &names, &Arc::clone, false)?;
    if !reads_back(&catalog, &text.text, &names) {
        return Err(Error::not_supported("a view whose text reads back as another query"));
    }
    view.reads = conditions.reads.into();
    view.view = Some(text.text.into());
    Ok(())
}

/// A view's query as the catalog keeps it. `current` gives relations as they are called now.
fn stored_text(
    catalog: &Catalog,
    query: &Query,
    names: &[Arc<str>],
    current: &dyn Fn(&Arc<Relation>) -> Arc<Relation>,
    using: bool,
) -> Result<PrintedQuery> {
    let style = QueryStyle {
        current,
        relation_name: &|r| qualified_name(catalog, r),
        relation: &|oid| catalog.relation(oid).map(current),
        function_name: &|func| kept_function_name(catalog, func),
        parameter: None,
        pretty: false,
        kept: true,
        using,
        io: &steppe_types::io::IoContext::default(),
    };
    print(query, Some(names), &style)
}

/// Whether a text is bound to a query that is printed as this text.
fn reads_back(catalog: &Catalog, text: &str, names: &[Arc<str>]) -> bool {
    let again = bind_view(catalog, text)
        .and_then(|query| stored_text(catalog, &query, names, &Arc::clone, true));
    again.is_ok_and(|again| again.text == text)
}

/// Prints the views and the bodies of functions that read a relation again, which is now called, or
/// has columns called, as in `renamed`. The catalog still has the old version.
pub(super) fn follow_rename(ctx: &mut DdlContext<'_>, renamed: &Arc<Relation>) -> Result<()> {
    let catalog = ctx.catalog();
    let current = |r: &Arc<Relation>| match r.oid == renamed.oid {
        true => renamed.clone(),
        false => r.clone(),
    };
    let mut views: Vec<Arc<Relation>> =
        super::depend::readers(&catalog, renamed.oid, 0).cloned().collect();
    // The columns of a view are named in its own text.
    views.extend(renamed.view.is_some().then(|| renamed.clone()));
    for view in views {
        let text = view.view.as_deref().map_or("", String::as_str);
        let names: Vec<Arc<str>> = view.columns.iter().map(|c| c.name.clone()).collect();
        let query = bind_view(&catalog, text)?;
        // The condition of USING names columns that may be called differently now.
        let using = same_columns(&catalog, renamed);
        let printed = stored_text(&catalog, &query, &names, &current, using)?;
        let mut view = (*view).clone();
        view.view = Some(printed.text.into());
        ctx.put(view)?;
    }
    super::function::follow_rename(ctx, &catalog, renamed, same_columns(&catalog, renamed))
}

fn same_columns(catalog: &Catalog, renamed: &Relation) -> bool {
    catalog
        .relation(renamed.oid)
        .is_some_and(|was| was.columns.iter().zip(&renamed.columns).all(|(a, b)| a.name == b.name))
}
