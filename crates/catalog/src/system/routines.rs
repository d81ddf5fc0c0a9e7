//! information_schema.routines: PostgreSQL's built-in functions.

use super::information_schema::{data_type, yes};
use super::rows::{RowsBuilder, optional, text};
use super::session::SystemContext;
use super::views::schema_name;
use crate::PG_CATALOG;
use crate::builtin::{self, Row};
use hashbrown::HashMap;
use steppe_types::{Datum, Oid};

/// information_schema.routines
pub(super) fn routines(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    let languages: HashMap<&str, &str> = builtin::table("pg_language")
        .into_iter()
        .flat_map(|t| t.rows())
        .filter_map(|row| Some((row.get("oid")?, row.get("lanname")?)))
        .collect();
    for row in builtin::table("pg_proc").into_iter().flat_map(|t| t.rows()) {
        let language = row.get("prolang").and_then(|l| languages.get(l)).copied();
        routine_row(context, &row, language.unwrap_or("internal"), out);
    }
}

fn routine_row(context: &SystemContext<'_>, row: &Row<'_>, language: &str, out: &mut RowsBuilder) {
    let field = |name| row.get(name).unwrap_or("");
    let number = |name| field(name).parse::<Oid>().unwrap_or(0);
    let procedure = field("prokind") == "p";
    let unless_procedure = |datum: Datum| if procedure { Datum::Null } else { datum };
    let schema = schema_name(context.catalog, number("pronamespace"));
    let kind = match field("prokind") {
        "f" => Some("FUNCTION"),
        "p" => Some("PROCEDURE"),
        _ => None,
    };
    let result = number("prorettype");
    let result_name = builtin::ty(result).map(|t| t.name);
    out.row([
        ("specific_catalog", text(context.database)),
        ("specific_schema", schema.clone()),
        ("specific_name", text(format!("{}_{}", field("proname"), field("oid")))),
        ("routine_catalog", text(context.database)),
        ("routine_schema", schema),
        ("routine_name", text(field("proname"))),
        ("routine_type", optional(kind)),
        ("data_type", unless_procedure(data_type(result))),
        ("type_udt_catalog", unless_procedure(text(context.database))),
        ("type_udt_schema", unless_procedure(schema_name(context.catalog, PG_CATALOG))),
        ("type_udt_name", unless_procedure(optional(result_name))),
        ("dtd_identifier", unless_procedure(text("0"))),
        ("routine_body", text(if language == "sql" { "SQL" } else { "EXTERNAL" })),
        ("routine_definition", optional(row.get("prosrc"))),
        ("external_name", optional((language == "c").then(|| field("prosrc")))),
        ("external_language", text(language.to_uppercase())),
        ("parameter_style", text("GENERAL")),
        ("is_deterministic", yes(field("provolatile") == "i")),
        ("sql_data_access", text("MODIFIES")),
        ("is_null_call", unless_procedure(yes(field("proisstrict") == "t"))),
        ("schema_level_routine", yes(true)),
        ("max_dynamic_result_sets", Datum::Int4(0)),
        ("security_type", text(if field("prosecdef") == "t" { "DEFINER" } else { "INVOKER" })),
        ("as_locator", yes(false)),
        ("is_udt_dependent", yes(false)),
    ]);
}
