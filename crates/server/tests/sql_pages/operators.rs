//! docs/sql/operators.md: the operators of pg_operator, and which of them are implemented.

use std::collections::BTreeMap;

use steppe_catalog::{Operator, OperatorRef, builtin};
use steppe_exec::registry::native;
use steppe_sql::bind::typename::format_type;
use steppe_types::Oid;

use crate::ask::Asker;
use crate::functions::of_types;
use crate::page::{Page, code};
use crate::types::{has_values, names_of_types};

/// The page's headings.
const KINDS: &[&str] = &[
    "Comparison",
    "Mathematics",
    "Text",
    "Pattern matching",
    "Dates and times",
    "Arrays",
    "Bytes",
    "Bit strings",
    "JSON",
    "Ranges",
    "Networks",
    "Geometry",
    "Text search",
    "Others",
];

#[test]
fn operators_page() {
    // Its start registers the functions of all layers with the executor.
    let _asker = Asker::start();
    let mut kinds: BTreeMap<&str, Vec<OperatorRef>> = BTreeMap::new();
    for operator in all() {
        kinds.entry(kind(&operator)).or_default().push(operator);
    }
    let supported = all().into_iter().filter(|operator| is_supported(operator)).count();
    let mut page = Page::new("operators.md", "Operators");
    page.paragraph(&format!(
        "{supported} of the {} operators of PostgreSQL 18's pg_operator are supported. One that is not \
         fails with 0A000. The last column counts the operators of a name that are not supported yet, \
         mostly because of a type that is not (see [types](types.md)).",
        all().len()
    ));
    for heading in KINDS {
        page.heading(heading);
        write(&mut page, kinds.get(heading).map_or(&[], Vec::as_slice));
    }
    page.compare();
}

fn all() -> Vec<OperatorRef> {
    let table = builtin::table("pg_operator").expect("the operators");
    let oids = table.rows().filter_map(|row| row.get("oid")?.parse().ok());
    oids.filter_map(|oid: Oid| OperatorRef::built_in(oid)).collect()
}

fn is_supported(operator: &Operator) -> bool {
    let operands = [operator.left, operator.right];
    operator.built_in_function().is_some_and(|function| native(&function).is_some())
        && operands.iter().all(|operand| *operand == 0 || has_values(*operand))
}

fn kind(operator: &Operator) -> &'static str {
    const COMPARISONS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];
    const PATTERNS: [&str; 9] = ["~", "!~", "~*", "!~*", "~~", "!~~", "~~*", "!~~*", "^@"];
    let operands = [operator.left, operator.right];
    let names = names_of_types(&operands);
    let is_one_of = |types: &str| types.split(' ').any(|name| names.contains(&name));
    match of_types(&operands) {
        Some("Binary string functions") => return "Bytes",
        Some("Bit string functions") => return "Bit strings",
        Some("Geometric functions") => return "Geometry",
        Some("Network address functions") => return "Networks",
        Some("Text search functions") => return "Text search",
        Some("JSON functions") => return "JSON",
        Some("Range functions") => return "Ranges",
        _ => {}
    }
    if COMPARISONS.contains(&&*operator.name) {
        return "Comparison";
    }
    if is_one_of("anyarray anycompatiblearray") {
        return "Arrays";
    }
    if is_one_of("date time timetz timestamp timestamptz interval") {
        return "Dates and times";
    }
    if is_one_of("text bpchar name char") {
        return if PATTERNS.contains(&&*operator.name) { "Pattern matching" } else { "Text" };
    }
    if is_one_of("int2 int4 int8 numeric float4 float8 money") {
        return "Mathematics";
    }
    "Others"
}

/// Writes a row for each operator. Operators without any support share a line.
fn write(page: &mut Page, operators: &[OperatorRef]) {
    let mut by_name: BTreeMap<&str, Vec<&Operator>> = BTreeMap::new();
    for operator in operators {
        by_name.entry(&*operator.name).or_default().push(operator);
    }
    let (mut rows, mut missing) = (Vec::new(), Vec::new());
    for (name, overloads) in by_name {
        let there: Vec<String> =
            overloads.iter().filter(|op| is_supported(op)).map(|op| code(&shown(op))).collect();
        let absent = overloads.len() - there.len();
        if there.is_empty() {
            missing.push(format!("{} ({absent})", code(name)));
            continue;
        }
        let absent = if absent == 0 { String::new() } else { absent.to_string() };
        rows.push([code(name), there.join("<br>"), absent]);
    }
    page.table(["Operator", "Supported", "Not yet"], &rows);
    if !missing.is_empty() {
        page.paragraph(&format!("Not yet: {}.", missing.join(", ")));
    }
}

/// `integer + integer → integer`
fn shown(operator: &Operator) -> String {
    let left = match operator.left {
        0 => String::new(),
        left => format!("{} ", format_type(left, -1)),
    };
    let (right, result) = (format_type(operator.right, -1), format_type(operator.result, -1));
    format!("{left}{} {right} → {result}", operator.name)
}
