//! Bodies in SQL's own syntax: RETURN, BEGIN ATOMIC (interpret_AS_clause in functioncmds.c).
//!
//! Such a body is bound when the function is created. It is kept as it is printed, with qualified
//! names, and the function depends on what it reads and changes. When one of these gets another
//! name, or the function does, the body is bound as things were and printed as they are.

use super::super::{DdlContext, command_name};
use super::put;
use std::sync::Arc;
use steppe_catalog::objects::Body;
use steppe_catalog::system::definitions::{kept_function_name, qualified_name};
use steppe_catalog::{Catalog, Function, PG_CATALOG, Relation};
use steppe_sql::ast::{Expr, SelectBody, SqlBody, Statement};
use steppe_sql::bind::sql_function::{Arguments, BodyStatement, parse_body};
use steppe_sql::bind::{BindContext, Bound, Params, bind_function_query};
use steppe_sql::deparse::function_body::print_body;
use steppe_sql::deparse::query::{PrintedQuery, QueryStyle};
use steppe_sql::deparse::unnamed::check_all_named;
use steppe_sql::parser::parse;
use steppe_types::io::IoContext;
use steppe_types::{Error, Result, SqlState};

/// Gives a function such a body.
pub(super) fn interpret(
    ctx: &mut DdlContext<'_>,
    body: &SqlBody,
    function: &mut Function,
) -> Result<()> {
    let (is_return, statements) = match body {
        SqlBody::Return(value) => (true, vec![select_of(value)?]),
        SqlBody::Atomic(statements) => (false, statements.clone()),
    };
    let mut bound: Vec<Bound> = Vec::with_capacity(statements.len());
    for statement in &statements {
        check(statement)?;
        let params = Params::variables(Arc::new(Arguments::of(function, &function.args, None)));
        let query = ctx.binding(|b| Ok(bind_function_query(b, statement, params)?))?;
        check_all_named(&query.query)?;
        bound.push(query);
    }
    let printed = print_kept(&ctx.catalog(), function, is_return, &bound, &Arc::clone, true)?;
    function.body = Body::SqlStandard { text: printed.text.into() };
    function.reads = printed.reads.into();
    Ok(())
}

/// A body as the catalog keeps it. `current` gives relations as they are called now. `using` allows
/// joins with USING to be printed as such.
fn print_kept(
    catalog: &Catalog,
    function: &Function,
    is_return: bool,
    bound: &[Bound],
    current: &dyn Fn(&Arc<Relation>) -> Arc<Relation>,
    using: bool,
) -> Result<PrintedQuery> {
    let style = QueryStyle {
        current,
        relation_name: &|relation| qualified_name(catalog, relation),
        relation: &|oid| catalog.relation(oid).map(current),
        function_name: &|function| kept_function_name(catalog, function),
        parameter: None,
        pretty: false,
        kept: true,
        using,
        io: &IoContext::default(),
    };
    print_body(function, is_return, bound, &style)
}

/// Prints the bodies that name a relation again, which is now called, or has columns or constraints
/// called, as in `renamed`. `catalog` is as it was before any of that.
pub(in super::super) fn follow_rename(
    ctx: &mut DdlContext<'_>,
    catalog: &Catalog,
    renamed: &Arc<Relation>,
    using: bool,
) -> Result<()> {
    let current = |relation: &Arc<Relation>| match relation.oid == renamed.oid {
        true => Arc::clone(renamed),
        false => Arc::clone(relation),
    };
    let names_it = |f: &&Arc<Function>| f.reads.iter().any(|(read, _)| *read == renamed.oid);
    for function in catalog.stored::<Function>().iter().filter(names_it) {
        if let Body::SqlStandard { .. } = function.body {
            let text = printed_again(catalog, function, function, &current, using)?;
            let body = Body::SqlStandard { text: text.into() };
            put(ctx, Function { body, ..(**function).clone() });
        }
    }
    Ok(())
}

/// The body of a function that is now called as `renamed`.
pub(super) fn with_name(
    catalog: &Catalog,
    function: &Function,
    renamed: &Function,
) -> Result<Body> {
    let text = printed_again(catalog, function, renamed, &Arc::clone, true)?;
    Ok(Body::SqlStandard { text: text.into() })
}

fn printed_again(
    catalog: &Catalog,
    function: &Function,
    renamed: &Function,
    current: &dyn Fn(&Arc<Relation>) -> Arc<Relation>,
    using: bool,
) -> Result<String> {
    let body = parse_body(function)?;
    let (io, search_path) = (IoContext::default(), [PG_CATALOG]);
    let context = BindContext { catalog, search_path: &search_path, io: &io, source: &body.text };
    let bind = |statement: &BodyStatement| -> Result<Bound> {
        let arguments = Arguments::of(function, &function.args, None);
        let params = Params::variables(Arc::new(arguments));
        Ok(bind_function_query(&context, &statement.statement, params)?)
    };
    let bound = body.statements.iter().map(bind).collect::<Result<Vec<Bound>>>()?;
    let is_return = function.source().starts_with("RETURN ");
    print_kept(catalog, renamed, is_return, &bound, current, using).map(|printed| printed.text)
}

/// `SELECT value`
fn select_of(value: &Expr) -> Result<Statement> {
    let mut statement = parse("SELECT NULL")?.pop().map(|parsed| parsed.statement);
    if let Some(Statement::Select(select)) = &mut statement
        && let SelectBody::Select(core) = &mut select.body
    {
        core.targets.iter_mut().for_each(|target| target.value = value.clone());
    }
    statement.ok_or_else(|| Error::internal("SELECT is no statement"))
}

/// 0A000 for a statement that such a body cannot have, or cannot have here.
fn check(statement: &Statement) -> Result<()> {
    match statement {
        Statement::Select(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_) => Ok(()),
        Statement::Merge(_) => {
            Err(Error::not_supported("MERGE in a function body with BEGIN ATOMIC"))
        }
        other => {
            let command = command_name(other);
            let message = format!("{command} is not yet supported in unquoted SQL function body");
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        }
    }
}
