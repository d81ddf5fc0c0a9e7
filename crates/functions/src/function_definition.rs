//! pg_get_functiondef: CREATE FUNCTION of a function, as psql's \sf shows it (ruleutils.c).

use super::args::{oid, text_datum};
use super::reg::CatalogNames;
use super::rules::printed_body;
use super::signature::{arguments, result, shown};
use super::{Entry, scalar};
use crate::FnContext;
use steppe_catalog::builtin::{self, C_LANGUAGE, INTERNAL_LANGUAGE, SQL_LANGUAGE};
use steppe_catalog::objects::{Body, Function, FunctionRef, Parallel, Volatility};
use steppe_sql::deparse::{quote_identifier, simple_quote_literal};
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// The function by its prosrc.
pub(super) const TABLE: &[Entry] = &[("pg_get_functiondef", scalar(definition))];

/// The default procost of internal and C functions and of others, and the default prorows.
const COST_INTERNAL: f32 = 1.0;
const COST: f32 = 100.0;
const ROWS: f32 = 1000.0;

/// Settings that are lists of names, each quoted by itself (GUC_LIST_QUOTE).
const LISTS: &[&str] = &[
    "search_path",
    "temp_tablespaces",
    "local_preload_libraries",
    "session_preload_libraries",
    "shared_preload_libraries",
];

fn definition(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let Some(proc) = cx.catalog.function(oid(args, 0)?) else { return Ok(Datum::Null) };
    if proc.is_aggregate() {
        let message = format!("\"{}\" is an aggregate function", proc.name);
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    // The bodies in SQL of built-in functions, and extensions' functions, are not kept as
    // PostgreSQL has them.
    let is_kept = match proc.built_in_source() {
        Some(source) => !source.is_empty(),
        None => proc.brought_by.is_none(),
    };
    if !is_kept {
        return Err(Error::not_supported(format!("the definition of function {}", proc.name)));
    }
    let (kind, delimiter) = match proc.is_procedure() {
        true => ("PROCEDURE", "$procedure"),
        false => ("FUNCTION", "$function"),
    };
    let names = CatalogNames::of(cx);
    let types = |ty: Oid| names.types().format(ty, -1);
    let schema = cx.catalog.schema(proc.schema).map_or("pg_catalog", |schema| &schema.name);
    let schema = quote_identifier(schema);
    let (name, given) =
        (quote_identifier(&proc.name), shown(&names, &arguments(&proc, true, &types)));
    let mut out = format!("CREATE OR REPLACE {kind} {schema}.{name}({given})\n");
    if let Some(result) = result(&proc, &types) {
        out.push_str(&format!(" RETURNS {result}\n"));
    }
    let language = language(&proc);
    let language_name = builtin::language_name(language).unwrap_or("internal");
    out.push_str(&format!(" LANGUAGE {}\n", quote_identifier(language_name)));
    let options = options(&proc, language);
    if !options.is_empty() {
        out.push_str(&format!("{options}\n"));
    }
    for (name, value) in &proc.config {
        let value = match LISTS.contains(&&**name) {
            true => quoted_list(value),
            false => simple_quote_literal(value),
        };
        out.push_str(&format!(" SET {} TO {value}\n", quote_identifier(name)));
    }
    out.push_str(&match &proc.body {
        Body::SqlStandard { .. } => format!("{}\n", printed_body(&names, &cx.io, &proc)),
        _ => body(&proc, delimiter),
    });
    text_datum(out)
}

/// The body, in a form that CREATE FUNCTION takes.
fn body(function: &Function, delimiter: &str) -> String {
    let source = function.source();
    let mut quote = delimiter.to_owned();
    while source.contains(&quote) {
        quote.push('x');
    }
    let library = library(function).map_or(String::new(), |library| format!("'{library}', "));
    format!("AS {library}{quote}${source}{quote}$\n")
}

/// The names of a list, each as a string.
fn quoted_list(value: &str) -> String {
    let names = value.split(',').map(str::trim);
    let unquoted = names.map(|name| match name.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"').unwrap_or(rest).replace("\"\"", "\""),
        None => name.to_owned(),
    });
    unquoted.map(|name| simple_quote_literal(&name)).collect::<Vec<_>>().join(", ")
}

fn language(function: &Function) -> Oid {
    match function.body {
        Body::Native { language, .. } | Body::Procedural { language, .. } => language,
        Body::Sql { .. } | Body::SqlStandard { .. } => SQL_LANGUAGE,
    }
}

/// The library that PostgreSQL has the code in (probin), unless it is the server itself.
fn library(function: &Function) -> Option<&'static str> {
    let mut rows = builtin::table("pg_proc").into_iter().flat_map(|table| table.rows());
    let shown = function.oid.to_string();
    rows.find(|row| row.get("oid") == Some(&shown))?.get("probin")
}

/// The options of the function's declaration, each after a blank.
fn options(proc: &Function, language: Oid) -> String {
    let flags = [
        (proc.is_window(), " WINDOW"),
        (proc.is_immutable(), " IMMUTABLE"),
        (proc.volatility == Volatility::Stable, " STABLE"),
        (proc.parallel == Parallel::Safe, " PARALLEL SAFE"),
        (proc.parallel == Parallel::Restricted, " PARALLEL RESTRICTED"),
        (proc.strict, " STRICT"),
        (proc.security_definer, " SECURITY DEFINER"),
        (proc.leakproof, " LEAKPROOF"),
    ];
    let mut out: String = flags.iter().filter(|(has, _)| *has).map(|(_, word)| *word).collect();
    let is_internal = matches!(language, INTERNAL_LANGUAGE | C_LANGUAGE);
    let default = if is_internal { COST_INTERNAL } else { COST };
    if proc.cost != default {
        out.push_str(&format!(" COST {}", proc.cost));
    }
    if proc.rows > 0.0 && proc.rows != ROWS {
        out.push_str(&format!(" ROWS {}", proc.rows));
    }
    if let Some(support) = FunctionRef::built_in(proc.support) {
        out.push_str(&format!(" SUPPORT {}", quote_identifier(&support.name)));
    }
    out
}
