//! pg_get_functiondef: CREATE FUNCTION of a built-in function, as psql's \sf shows it (ruleutils.c).

use super::args::{oid, text_datum};
use super::signature::{arguments, result};
use super::{Entry, scalar};
use crate::FnContext;
use steppe_catalog::Builtins;
use steppe_catalog::builtin::{Proc, Row};
use steppe_sql::deparse::quote_identifier;
use steppe_types::{Datum, Error, Result, SqlState};

/// The function by its prosrc.
pub(super) const TABLE: &[Entry] = &[("pg_get_functiondef", scalar(definition))];

/// The default procost of internal and C functions and of others, and the default prorows.
const COST_INTERNAL: f64 = 1.0;
const COST: f64 = 100.0;
const ROWS: f64 = 1000.0;

fn definition(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let function = oid(args, 0)?;
    let Some(proc) = Builtins::get().proc(function) else { return Ok(Datum::Null) };
    if proc.kind == b'a' {
        let message = format!("\"{}\" is an aggregate function", proc.name);
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    let mut rows = Builtins::get().table("pg_proc").into_iter().flat_map(|table| table.rows());
    let shown = function.to_string();
    // Steppe does not have PostgreSQL's form of bodies in SQL and of extensions' functions.
    let row = rows.find(|row| row.get("oid") == Some(&shown)).filter(|_| !proc.src.is_empty());
    let row = row
        .ok_or_else(|| Error::not_supported(format!("the definition of function {}", proc.name)))?;
    let (kind, quote) = match proc.kind {
        b'p' => ("PROCEDURE", "$procedure$"),
        _ => ("FUNCTION", "$function$"),
    };
    let schema = if proc.in_information_schema { "information_schema" } else { "pg_catalog" };
    let (name, given) = (quote_identifier(proc.name), arguments(function, true)?);
    let mut out = format!("CREATE OR REPLACE {kind} {schema}.{name}({})\n", given.as_text()?);
    if let Datum::Text(result) = result(function)? {
        out.push_str(&format!(" RETURNS {result}\n"));
    }
    let language = language(&row);
    out.push_str(&format!(" LANGUAGE {language}\n"));
    let options = options(proc, &row, language);
    if !options.is_empty() {
        out.push_str(&format!("{options}\n"));
    }
    let library = row.get("probin").map_or(String::new(), |library| format!("'{library}', "));
    out.push_str(&format!("AS {library}{quote}{}{quote}\n", proc.src));
    text_datum(out)
}

fn language(row: &Row<'_>) -> &'static str {
    match row.get("prolang") {
        Some("12") => "internal",
        Some("13") => "c",
        _ => "sql",
    }
}

/// The options of the function's declaration, each after a blank.
fn options(proc: &Proc, row: &Row<'_>, language: &str) -> String {
    let is = |column: &str, value: &str| row.get(column) == Some(value);
    let flags = [
        (proc.kind == b'w', " WINDOW"),
        (proc.volatility == b'i', " IMMUTABLE"),
        (proc.volatility == b's', " STABLE"),
        (is("proparallel", "s"), " PARALLEL SAFE"),
        (is("proparallel", "r"), " PARALLEL RESTRICTED"),
        (proc.strict, " STRICT"),
        (is("prosecdef", "t"), " SECURITY DEFINER"),
        (is("proleakproof", "t"), " LEAKPROOF"),
    ];
    let mut out: String = flags.iter().filter(|(has, _)| *has).map(|(_, word)| *word).collect();
    let default = if language == "sql" { COST } else { COST_INTERNAL };
    let cost = row.get("procost").and_then(|cost| cost.parse::<f64>().ok());
    if let Some(cost) = cost.filter(|cost| *cost != default) {
        out.push_str(&format!(" COST {cost}"));
    }
    if proc.rows > 0.0 && proc.rows != ROWS {
        out.push_str(&format!(" ROWS {}", proc.rows));
    }
    let support = row.get("prosupport").and_then(|support| support.parse().ok());
    if let Some(support) = support.and_then(|support| Builtins::get().proc(support)) {
        out.push_str(&format!(" SUPPORT {}", quote_identifier(support.name)));
    }
    out
}
