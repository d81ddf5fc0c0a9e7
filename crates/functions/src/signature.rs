//! Functions about functions: pg_get_function_arguments and its kin, as psql's \df shows them
//! (ruleutils.c), and pg_get_keywords.

use super::args::{oid, text_datum, text_or_null};
use super::{CallInfo, Entry, SetRows, scalar, set};
use crate::FnContext;
use hashbrown::HashMap;
use std::sync::OnceLock;
use steppe_catalog::Builtins;
use steppe_catalog::builtin::{Proc, Row};
use steppe_sql::bind::typename::format_type;
use steppe_sql::deparse::quote_identifier;
use steppe_types::{Datum, Oid, Result};

/// Signature functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("pg_get_function_arguments", scalar(|a, _| arguments(oid(a, 0)?, true))),
    ("pg_get_function_identity_arguments", scalar(|a, _| arguments(oid(a, 0)?, false))),
    ("pg_get_function_result", scalar(|a, _| result(oid(a, 0)?))),
    ("pg_get_function_arg_default", scalar(argument_default)),
    ("pg_get_function_sqlbody", scalar(|_, _| Ok(Datum::Null))),
    ("pg_get_keywords", set(keywords)),
];

/// One argument as pg_proc declares it.
struct Argument {
    mode: char,
    name: &'static str,
    type_oid: Oid,
}

/// All arguments of the functions that have modes or names, by function.
fn declared(function: Oid) -> &'static [Argument] {
    static DECLARED: OnceLock<HashMap<Oid, Vec<Argument>>> = OnceLock::new();
    let all = DECLARED.get_or_init(|| {
        let rows = Builtins::get().proc_rows();
        rows.filter_map(|row| Some((row.get("oid")?.parse().ok()?, read_arguments(row)))).collect()
    });
    all.get(&function).map_or(&[], Vec::as_slice)
}

fn read_arguments(row: Row<'_>) -> Vec<Argument> {
    let list = |column: &str| -> Vec<&'static str> {
        let text = row.get(column).unwrap_or("");
        let body = text.trim_start_matches('{').trim_end_matches('}');
        if body.is_empty() { Vec::new() } else { body.split(',').collect() }
    };
    let mut types = list("proallargtypes");
    if types.is_empty() {
        types = row.get("proargtypes").unwrap_or("").split_ascii_whitespace().collect();
    }
    let (modes, names) = (list("proargmodes"), list("proargnames"));
    let argument = |(i, ty): (usize, &&str)| Argument {
        mode: modes.get(i).and_then(|mode| mode.chars().next()).unwrap_or('i'),
        name: names.get(i).map_or("", |name| name.trim_matches('"')),
        type_oid: ty.parse().unwrap_or(0),
    };
    types.iter().enumerate().map(argument).collect()
}

/// The place of the last input argument if it is VARIADIC without a mode.
fn variadic_at(proc: &Proc, arguments: &[Argument]) -> Option<usize> {
    let implied = proc.variadic != 0 && arguments.iter().all(|a| a.mode != 'v');
    implied.then(|| proc.args.len().checked_sub(1)).flatten()
}

/// The arguments as CREATE FUNCTION lists them.
pub(super) fn arguments(function: Oid, with_outputs: bool) -> Result<Datum> {
    let Some(proc) = Builtins::get().proc(function) else { return Ok(Datum::Null) };
    let all = declared(function);
    let variadic = variadic_at(proc, all);
    let first_default = proc.args.len() - proc.defaults.len();
    let (mut shown, mut input) = (Vec::new(), 0);
    for argument in all {
        let is_input = matches!(argument.mode, 'i' | 'b' | 'v');
        let prefix = match argument.mode {
            't' => continue,
            'o' if !with_outputs => continue,
            'o' => "OUT ",
            'b' => "INOUT ",
            'v' => "VARIADIC ",
            _ if variadic == Some(input) => "VARIADIC ",
            _ => "",
        };
        let mut text = prefix.to_string();
        if !argument.name.is_empty() {
            text.push_str(&format!("{} ", quote_identifier(argument.name)));
        }
        text.push_str(&format_type_quoted(argument.type_oid));
        if is_input {
            if with_outputs && input >= first_default {
                text.push_str(&format!(" DEFAULT {}", proc.defaults[input - first_default]));
            }
            input += 1;
        }
        shown.push(text);
    }
    text_datum(shown.join(", "))
}

/// The default of input argument number `args[1]`, counted from 1.
fn argument_default(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let proc = Builtins::get().proc(oid(args, 0)?);
    let number = usize::try_from(super::args::int4(args, 1)?).unwrap_or(0);
    let default = proc.and_then(|proc| {
        let first = proc.args.len() - proc.defaults.len();
        proc.defaults.get(number.checked_sub(first + 1)?)
    });
    text_or_null(default.copied())
}

/// Pseudo-types that are key words are quoted.
fn format_type_quoted(type_oid: Oid) -> String {
    match type_oid {
        steppe_types::oid::ANY => "\"any\"".to_string(),
        other => format_type(other, -1),
    }
}

/// The result as RETURNS has it; NULL for a procedure.
pub(super) fn result(function: Oid) -> Result<Datum> {
    let Some(proc) = Builtins::get().proc(function) else { return Ok(Datum::Null) };
    let columns: Vec<String> = declared(function)
        .iter()
        .filter(|argument| argument.mode == 't')
        .map(|a| format!("{} {}", quote_identifier(a.name), format_type_quoted(a.type_oid)))
        .collect();
    if !columns.is_empty() {
        return text_datum(format!("TABLE({})", columns.join(", ")));
    }
    let set = if proc.retset { "SETOF " } else { "" };
    text_or_null((proc.kind != b'p').then(|| format!("{set}{}", format_type_quoted(proc.ret))))
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
