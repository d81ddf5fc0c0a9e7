//! pg_get_functiondef: CREATE FUNCTION of a built-in function, as psql's \sf shows it (ruleutils.c).

use super::args::{oid, text_datum};
use super::signature::{arguments, result};
use super::{Entry, scalar};
use crate::FnContext;
use steppe_catalog::builtin;
use steppe_catalog::objects::{Body, Function, FunctionRef, Parallel, Volatility};
use steppe_sql::deparse::quote_identifier;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// The function by its prosrc.
pub(super) const TABLE: &[Entry] = &[("pg_get_functiondef", scalar(definition))];

/// pg_language OID of c.
const C_LANGUAGE: Oid = 13;

/// The default procost of internal and C functions and of others, and the default prorows.
const COST_INTERNAL: f32 = 1.0;
const COST: f32 = 100.0;
const ROWS: f32 = 1000.0;

fn definition(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let Some(proc) = cx.catalog.function(oid(args, 0)?) else { return Ok(Datum::Null) };
    if proc.is_aggregate() {
        let message = format!("\"{}\" is an aggregate function", proc.name);
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    // Bodies in SQL, and extensions' functions, are not kept as PostgreSQL has them.
    let Some(source) = proc.built_in_source().filter(|source| !source.is_empty()) else {
        return Err(Error::not_supported(format!("the definition of function {}", proc.name)));
    };
    let (kind, quote) = match proc.is_procedure() {
        true => ("PROCEDURE", "$procedure$"),
        false => ("FUNCTION", "$function$"),
    };
    let schema = cx.catalog.schema(proc.schema).map_or("pg_catalog", |schema| &schema.name);
    let (name, given) = (quote_identifier(&proc.name), arguments(&proc, true));
    let mut out = format!("CREATE OR REPLACE {kind} {schema}.{name}({given})\n");
    if let Some(result) = result(&proc) {
        out.push_str(&format!(" RETURNS {result}\n"));
    }
    let language = language(&proc);
    out.push_str(&format!(" LANGUAGE {language}\n"));
    let options = options(&proc, language);
    if !options.is_empty() {
        out.push_str(&format!("{options}\n"));
    }
    let library = library(&proc).map_or(String::new(), |library| format!("'{library}', "));
    out.push_str(&format!("AS {library}{quote}{source}{quote}\n"));
    text_datum(out)
}

fn language(function: &Function) -> &'static str {
    match function.body {
        Body::Native { language: C_LANGUAGE, .. } => "c",
        Body::Native { .. } => "internal",
        _ => "sql",
    }
}

/// The library that PostgreSQL has the code in (probin), unless it is the server itself.
fn library(function: &Function) -> Option<&'static str> {
    let mut rows = builtin::table("pg_proc").into_iter().flat_map(|table| table.rows());
    let shown = function.oid.to_string();
    rows.find(|row| row.get("oid") == Some(&shown))?.get("probin")
}

/// The options of the function's declaration, each after a blank.
fn options(proc: &Function, language: &str) -> String {
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
    let default = if language == "sql" { COST } else { COST_INTERNAL };
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
