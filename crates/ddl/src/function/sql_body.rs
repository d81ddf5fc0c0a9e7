//! Bodies in SQL's own syntax: RETURN, BEGIN ATOMIC (interpret_AS_clause in functioncmds.c).
//!
//! Such a body is bound when the function is created. It is kept as it is printed, with qualified
//! names, and the function depends on what it reads.

use super::super::DdlContext;
use std::sync::Arc;
use steppe_catalog::objects::Body;
use steppe_catalog::system::definitions::{kept_function_name, qualified_name};
use steppe_catalog::{Catalog, Function};
use steppe_sql::ast::{Expr, SelectBody, SqlBody, Statement};
use steppe_sql::bind::sql_function::Arguments;
use steppe_sql::bind::{Bound, Params, bind_function_query};
use steppe_sql::deparse::function_body::print_body;
use steppe_sql::deparse::query::QueryStyle;
use steppe_sql::deparse::unnamed::check_all_named;
use steppe_sql::parser::parse;
use steppe_types::io::IoContext;
use steppe_types::{Error, Result};

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
    let catalog: &Catalog = &ctx.catalog();
    let style = QueryStyle {
        current: &Arc::clone,
        relation_name: &|relation| qualified_name(catalog, relation),
        relation: &|oid| catalog.relation(oid).cloned(),
        function_name: &|function| kept_function_name(catalog, function),
        parameter: None,
        pretty: false,
        kept: true,
        using: true,
        io: &IoContext::default(),
    };
    let printed = print_body(function, is_return, &bound, &style)?;
    function.body = Body::SqlStandard { text: printed.text.into() };
    function.reads = printed.reads.into();
    Ok(())
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
    let what = match statement {
        Statement::Select(_) => return Ok(()),
        Statement::Insert(_) => "INSERT",
        Statement::Update(_) => "UPDATE",
        Statement::Delete(_) => "DELETE",
        Statement::Merge(_) => "MERGE",
        _ => return Err(Error::not_supported("this statement in unquoted SQL function body")),
    };
    Err(Error::not_supported(format!("{what} in a function body with BEGIN ATOMIC")))
}
