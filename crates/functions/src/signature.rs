//! Functions about functions: pg_get_function_arguments and its kin, as psql's \df shows them
//! (ruleutils.c), and pg_get_keywords.

use super::args::{oid, text_or_null};
use super::reg::CatalogNames;
use super::rules::printed_body;
use super::{CallInfo, Entry, SetRows, scalar, set};
use crate::FnContext;
use steppe_catalog::objects::{Argument, ArgumentMode, Body, Function};
use steppe_sql::deparse::quote_identifier;
use steppe_types::{Datum, Oid, Result};

/// Signature functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("pg_get_function_arguments", scalar(|a, cx| of(a, cx, |f, t| Some(arguments(f, true, t))))),
    (
        "pg_get_function_identity_arguments",
        scalar(|a, cx| of(a, cx, |f, t| Some(arguments(f, false, t)))),
    ),
    ("pg_get_function_result", scalar(|a, cx| of(a, cx, result))),
    ("pg_get_function_arg_default", scalar(argument_default)),
    ("pg_get_function_sqlbody", scalar(sql_body)),
    ("pg_get_keywords", set(keywords)),
];

/// A text about the function that the first argument names; NULL if there is no such function.
fn of(
    args: &[Datum],
    cx: &FnContext,
    say: impl FnOnce(&Function, &TypeFormat<'_>) -> Option<String>,
) -> Result<Datum> {
    let names = CatalogNames::of(cx);
    let types = |ty: Oid| names.types().format(ty, -1);
    let function = cx.catalog.function(oid(args, 0)?);
    let said = function.and_then(|function| say(&function, &types));
    text_or_null(said.map(|text| shown(&names, &text)))
}

/// A text with the names of types and functions as the search path finds them.
pub(super) fn shown(names: &CatalogNames, text: &str) -> String {
    names.catalog().with_names(text, names.path()).into_owned()
}

/// Names types.
pub(super) type TypeFormat<'a> = dyn Fn(Oid) -> String + 'a;

/// A body in SQL's own syntax.
fn sql_body(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let function = cx.catalog.function(oid(args, 0)?);
    text_or_null(function.and_then(|function| match &function.body {
        Body::SqlStandard { .. } if !function.is_built_in() => {
            Some(printed_body(&CatalogNames::of(cx), &cx.io, &function))
        }
        _ => None,
    }))
}

/// Whether the last input argument is VARIADIC without a mode saying so.
fn variadic_at(proc: &Function, arguments: &[Argument]) -> Option<usize> {
    let implied = proc.variadic != 0 && arguments.iter().all(|a| a.mode != ArgumentMode::Variadic);
    implied.then(|| proc.args.len().checked_sub(1)).flatten()
}

/// The arguments as CREATE FUNCTION lists them, with their defaults or without.
pub(super) fn arguments(proc: &Function, with_defaults: bool, types: &TypeFormat<'_>) -> String {
    let all = proc.arguments();
    let variadic = variadic_at(proc, &all);
    let first_default = proc.args.len() - proc.defaults.len();
    let (mut shown, mut input) = (Vec::new(), 0);
    for argument in all.iter() {
        let prefix = match argument.mode {
            ArgumentMode::Table => continue,
            ArgumentMode::Out => "OUT ",
            ArgumentMode::InOut => "INOUT ",
            ArgumentMode::Variadic => "VARIADIC ",
            _ if variadic == Some(input) => "VARIADIC ",
            // DROP PROCEDURE would take an argument without a mode for any.
            ArgumentMode::In if proc.is_procedure() => "IN ",
            ArgumentMode::In => "",
        };
        let mut text = prefix.to_string();
        if !argument.name.is_empty() {
            text.push_str(&format!("{} ", quote_identifier(&argument.name)));
        }
        text.push_str(&types(argument.ty));
        if argument.mode.is_input() {
            if with_defaults && input >= first_default {
                text.push_str(&format!(" DEFAULT {}", proc.defaults[input - first_default]));
            }
            input += 1;
        }
        shown.push(text);
    }
    shown.join(", ")
}

/// The default of argument number `args[1]`, counted from 1.
fn argument_default(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let proc = cx.catalog.function(oid(args, 0)?);
    let number = usize::try_from(super::args::int4(args, 1)?).unwrap_or(0);
    let default = proc.as_ref().and_then(|proc| {
        let all = proc.arguments();
        let listed = all.get(..number)?;
        let input = listed.last().filter(|argument| argument.mode.is_input());
        input.and_then(|_| proc.default_of(listed.iter().filter(|a| a.mode.is_input()).count()))
    });
    text_or_null(default.map(|text| shown(&CatalogNames::of(cx), text)))
}

/// The result as RETURNS has it; NULL for a procedure.
pub(super) fn result(proc: &Function, types: &TypeFormat<'_>) -> Option<String> {
    let columns = proc.declared.iter().filter(|argument| argument.mode == ArgumentMode::Table);
    let columns: Vec<String> =
        columns.map(|a| format!("{} {}", quote_identifier(&a.name), types(a.ty))).collect();
    if !columns.is_empty() {
        return Some(format!("TABLE({})", columns.join(", ")));
    }
    let set = if proc.retset { "SETOF " } else { "" };
    (!proc.is_procedure()).then(|| format!("{set}{}", types(proc.ret)))
}

/// Word, category, whether it can be a label without AS (a fact of the grammar).
const KEYWORDS: &str = include_str!("keywords.tsv");

fn keywords(_: &[Datum], _: &CallInfo, _: &mut FnContext) -> Result<Box<dyn SetRows>> {
    let row = |line: &str| {
        let mut fields = line.split('\t');
        let word = fields.next().unwrap_or("");
        let category = fields.next().unwrap_or("");
        let bare = fields.next() == Some("t");
        let description = match category {
            "U" => "unreserved",
            "C" => "unreserved (cannot be function or type name)",
            "T" => "reserved (can be function or type name)",
            _ => "reserved",
        };
        vec![
            Datum::text(word),
            Datum::Char(category.bytes().next().unwrap_or(b'U')),
            Datum::Bool(bare),
            Datum::text(description),
            Datum::text(if bare { "can be bare label" } else { "requires AS" }),
        ]
    };
    Ok(super::series::rows(KEYWORDS.lines().map(row).collect()))
}
