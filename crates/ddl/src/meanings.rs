//! The meanings of the catalog's texts in two versions of the catalog.
//!
//! Views, expressions and bodies in SQL's own syntax are kept as texts that are bound again at each
//! use. They name functions, operators and types exactly, and a user's cast by its function. But a
//! cast through text is written as `::type`, or not at all. So a cast that is created or dropped might
//! change what a text means, which never happens in PostgreSQL: it keeps the
//! bound tree. [`first_changed`] finds such a text, and the caller refuses the statement.

use super::expressions;
use std::sync::Arc;
use steppe_catalog::objects::{Body, Object, UserType};
use steppe_catalog::{Catalog, Function, PG_CATALOG, Relation};
use steppe_sql::bind::sql_function::{Arguments, parse_body};
use steppe_sql::bind::{BindContext, Params, bind_function_query, bind_view};
use steppe_sql::query::Query;
use steppe_types::Result;
use steppe_types::io::IoContext;

/// The first object with a text that is bound in one version, but not to the same in the other. Both
/// versions have the same texts.
pub(super) fn first_changed(before: &Catalog, after: &Catalog) -> Option<Object> {
    let relations = || before.relations().filter(|relation| !relation.is_system());
    let expressions = relations()
        .flat_map(expressions::of_relation)
        .chain(before.stored::<UserType>().iter().flat_map(|ty| expressions::of_type(ty)))
        .chain(
            before.stored::<Function>().iter().map(|function| expressions::of_function(function)),
        );
    let mut changed = expressions
        .filter(|stored| differs(|catalog| stored.bind(catalog), before, after))
        .map(|stored| stored.owner);
    let view = |relation: &Arc<Relation>| {
        let text = relation.view.as_ref()?;
        let bind = |catalog: &Catalog| bind_view(catalog, text);
        differs(bind, before, after).then_some(Object::Relation(relation.oid))
    };
    let body = |function: &Arc<Function>| {
        let is_standard = matches!(function.body, Body::SqlStandard { .. });
        let changes = || differs(|catalog| bind_body(catalog, function), before, after);
        (is_standard && changes()).then_some(Object::Function(function.oid))
    };
    changed
        .next()
        .or_else(|| relations().find_map(view))
        .or_else(|| before.stored::<Function>().iter().find_map(body))
}

/// Whether what is bound in the first version is not the same in the second.
fn differs<T: PartialEq>(
    bind: impl Fn(&Catalog) -> Result<T>,
    before: &Catalog,
    after: &Catalog,
) -> bool {
    bind(before).is_ok_and(|was| bind(after).ok() != Some(was))
}

/// The statements of a function's body in SQL's own syntax.
fn bind_body(catalog: &Catalog, function: &Function) -> Result<Vec<Query>> {
    let body = parse_body(function)?;
    let io = IoContext::default();
    let ctx = BindContext { catalog, search_path: &[PG_CATALOG], io: &io, source: &body.text };
    let bind = |statement| {
        let params = Params::variables(Arc::new(Arguments::of(function, &function.args, None)));
        Ok(bind_function_query(&ctx, statement, params)?.query)
    };
    body.statements.iter().map(|statement| bind(&statement.statement)).collect()
}
