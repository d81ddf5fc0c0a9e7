//! docs/sql/functions.md: the functions that PostgreSQL documents, and which of them are
//! implemented.

use std::collections::{BTreeMap, BTreeSet};

use steppe_catalog::objects::AggregateKind;
use steppe_catalog::{
    AvailableExtension, Function as Proc, FunctionRef, INFORMATION_SCHEMA, builtin,
};
use steppe_exec::registry::native;
use steppe_sql::bind::typename::format_type;
use steppe_types::Oid;

use crate::ask::Asker;
use crate::page::{Page, code};
use crate::types::{has_values, names_of_types};
use crate::words;

const CHAPTERS: &str = include_str!("chapters.txt");

const AGGREGATES: &str = "Aggregate functions";
const WINDOW: &str = "Window functions";

/// Chapters whose functions belong to the chapter of their arguments' types, if there is one.
const GENERAL: &[&str] =
    &["Mathematical functions", "String functions", "Binary string functions", "Array functions"];

/// Calls of functions that are attached to an error.
const STUBS: &[(&str, &str)] = &[
    ("pg_notify", "SELECT pg_notify('a', 'b')"),
    ("pg_relation_filepath", "SELECT pg_relation_filepath('pg_class')"),
];

/// Chapters of types.
const OF_TYPES: &[(&str, &str)] = &[
    ("bytea", "Binary string functions"),
    ("bit varbit", "Bit string functions"),
    ("point line lseg box path polygon circle", "Geometric functions"),
    ("inet cidr macaddr macaddr8", "Network address functions"),
    ("tsvector tsquery", "Text search functions"),
    ("json jsonb jsonpath", "JSON functions"),
    ("anyrange anymultirange", "Range functions"),
];

#[test]
fn functions_page() {
    let mut asker = Asker::start();
    let mut chapters = chapters();
    let titles: Vec<&str> = words::sections(CHAPTERS).iter().map(|(title, _)| *title).collect();
    let (mut supported, mut all) = (0, 0);
    for function in chapters.values_mut().flatten() {
        function.is_supported = function.is_supported(&mut asker);
        supported += usize::from(function.is_supported);
        all += 1;
    }
    let mut page = Page::new("functions.md", "Functions");
    page.paragraph(&format!(
        "The functions that PostgreSQL 18 documents, in the order of its chapters: {supported} of {all} \
         signatures are supported. A call of one that is not fails with 0A000. What a supported one \
         answers is what PostgreSQL answers. The last column counts a function's signatures that are not \
         supported yet, mostly because of a type that is not (see [types](types.md)). An argument in \
         brackets may be left out. What is written with keywords (CASE, COALESCE, EXTRACT, \
         CURRENT_DATE, …) is listed under [statements](statements.md), operators have a page of \
         [their own](operators.md).",
    ));
    for title in titles {
        let Some(functions) = chapters.get(title) else { continue };
        page.heading(title);
        write(&mut page, functions);
    }
    for extension in AvailableExtension::all() {
        page.heading(&format!("Functions of the extension {}", extension.name));
        let mut functions: Vec<Function> = Vec::new();
        for proc in builtin::functions_of_extension(extension.name) {
            functions.push(Function { proc: proc.into(), is_supported: native(proc).is_some() });
        }
        write(&mut page, &functions);
    }
    let undocumented: Vec<FunctionRef> = undocumented();
    page.heading("All others");
    page.paragraph(&format!(
        "pg_proc has {} functions more: those that types, operators, casts, aggregates, indexes and \
         system views consist of. {} of them are attached.",
        undocumented.len(),
        undocumented.iter().filter(|proc| native(proc).is_some()).count()
    ));
    page.compare();
}

/// A signature.
struct Function {
    proc: FunctionRef,
    is_supported: bool,
}

/// All of pg_catalog's pg_proc.
fn all() -> Vec<FunctionRef> {
    let table = builtin::table("pg_proc").expect("the functions");
    let oids = table.rows().filter_map(|row| row.get("oid")?.parse().ok());
    let procs = oids.filter_map(FunctionRef::built_in);
    procs.filter(|proc| proc.schema != INFORMATION_SCHEMA).collect()
}

/// The chapter that lists a name.
fn listed() -> BTreeMap<&'static str, &'static str> {
    let sections = words::sections(CHAPTERS);
    let of = |(title, lines): (&'static str, Vec<&'static str>)| {
        let names = lines.into_iter().flat_map(str::split_ascii_whitespace);
        names.map(move |name| (name, title)).collect::<Vec<_>>()
    };
    sections.into_iter().flat_map(of).collect()
}

fn chapters() -> BTreeMap<&'static str, Vec<Function>> {
    let listed = listed();
    let all = all();
    let names: BTreeSet<&str> = all.iter().map(|proc| &*proc.name).collect();
    let unknown: Vec<_> = listed.keys().filter(|name| !names.contains(**name)).collect();
    assert!(unknown.is_empty(), "chapters.txt names what is not in pg_proc: {unknown:?}");
    let mut chapters: BTreeMap<&str, Vec<Function>> = BTreeMap::new();
    for proc in all.iter().cloned() {
        if let Some(chapter) = chapter(&proc, &listed) {
            chapters.entry(chapter).or_default().push(Function { proc, is_supported: false });
        }
    }
    chapters
}

fn undocumented() -> Vec<FunctionRef> {
    let listed = listed();
    all().into_iter().filter(|proc| chapter(proc, &listed).is_none()).collect()
}

fn chapter(proc: &Proc, listed: &BTreeMap<&'static str, &'static str>) -> Option<&'static str> {
    if proc.is_aggregate() || proc.is_window() {
        return Some(if proc.is_window() { WINDOW } else { AGGREGATES });
    }
    let internal = ["internal", "cstring"];
    if names_of_types(&proc.args).iter().any(|name| internal.contains(name)) {
        return None;
    }
    let chapter = *listed.get(&*proc.name)?;
    Some(if GENERAL.contains(&chapter) { of_types(&proc.args).unwrap_or(chapter) } else { chapter })
}

/// The chapter of the arguments' types.
pub(crate) fn of_types(args: &[Oid]) -> Option<&'static str> {
    let names = names_of_types(args);
    let is_of = |types: &str| types.split(' ').any(|name| names.contains(&name));
    OF_TYPES.iter().find(|(types, _)| is_of(types)).map(|(_, chapter)| *chapter)
}

impl Function {
    fn is_supported(&self, asker: &mut Asker) -> bool {
        if self.proc.is_aggregate() || self.proc.is_window() {
            let has_arguments = self.proc.args.iter().all(|arg| has_values(*arg));
            return has_arguments && !asker.is_refused(&self.call());
        }
        match STUBS.iter().find(|(name, _)| *name == &*self.proc.name) {
            Some((_, call)) => !asker.is_refused(call),
            None => native(&self.proc).is_some(),
        }
    }

    /// A query that calls an aggregate or a window function.
    fn call(&self) -> String {
        let proc = &self.proc;
        let args: Vec<String> = proc.args.iter().map(|arg| null(*arg)).collect();
        let name = format!("pg_catalog.{}", proc.name);
        if proc.is_window() {
            return format!("SELECT {name}({}) OVER (ORDER BY 1)", args.join(", "));
        }
        let ordered = proc.aggregate().filter(|aggregate| aggregate.kind != AggregateKind::Normal);
        match ordered {
            Some(aggregate) => {
                let hypothetical = aggregate.kind == AggregateKind::HypotheticalSet;
                let direct = if hypothetical { 1 } else { aggregate.direct_args };
                let rest = if hypothetical { &args[..1] } else { &args[direct..] };
                let (direct, rest) = (args[..direct].join(", "), rest.join(", "));
                format!("SELECT {name}({direct}) WITHIN GROUP (ORDER BY {rest})")
            }
            None if args.is_empty() => format!("SELECT {name}(*)"),
            None => format!("SELECT {name}({})", args.join(", ")),
        }
    }

    /// `(integer [, text]) → integer`
    fn signature(&self) -> String {
        let proc = &self.proc;
        let required = proc.args.len().saturating_sub(proc.defaults.len());
        let mut args = String::new();
        for (i, arg) in proc.args.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            let open = if i == required { if i == 0 { "[" } else { " [" } } else { "" };
            let last = i + 1 == proc.args.len();
            let variadic = if last && proc.variadic != 0 { "VARIADIC " } else { "" };
            args.push_str(&format!("{open}{comma}{variadic}{}", format_type(*arg, -1)));
        }
        if required < proc.args.len() {
            args.push(']');
        }
        format!("({args}) → {}", self.result())
    }

    fn result(&self) -> String {
        let set = if self.proc.retset { "setof " } else { "" };
        let columns: Vec<_> = self.proc.out_columns().collect();
        if columns.len() < 2 {
            return format!("{set}{}", format_type(self.proc.ret, -1));
        }
        let column = |(name, ty): &(&str, Oid)| format!("{name} {}", format_type(*ty, -1));
        format!("{set}({})", columns.iter().map(column).collect::<Vec<_>>().join(", "))
    }
}

/// NULL of a type that the argument accepts.
fn null(arg: Oid) -> String {
    let name = builtin::ty(arg).map_or("unknown", |ty| ty.name);
    let concrete = match name {
        "any" | "anyelement" | "anynonarray" | "anycompatible" => "int4",
        "anyarray" | "anycompatiblearray" => "_int4",
        "record" => return "ROW(1)".to_owned(),
        name => name,
    };
    format!("NULL::pg_catalog.\"{concrete}\"")
}

/// Writes a row for each function. Functions without any support share a line.
fn write(page: &mut Page, functions: &[Function]) {
    let mut by_name: BTreeMap<&str, Vec<&Function>> = BTreeMap::new();
    for function in functions {
        by_name.entry(&*function.proc.name).or_default().push(function);
    }
    let (mut rows, mut missing) = (Vec::new(), Vec::new());
    for (name, overloads) in by_name {
        let mut there: Vec<String> = Vec::new();
        for function in overloads.iter().filter(|function| function.is_supported) {
            there.push(code(&function.signature()));
        }
        let absent = overloads.len() - there.len();
        if there.is_empty() {
            missing.push(match absent {
                1 => name.to_owned(),
                absent => format!("{name} ({absent})"),
            });
            continue;
        }
        let absent = if absent == 0 { String::new() } else { absent.to_string() };
        rows.push([code(name), there.join("<br>"), absent]);
    }
    page.table(["Function", "Supported", "Not yet"], &rows);
    if !missing.is_empty() {
        page.paragraph(&format!("Not yet: {}.", missing.join(", ")));
    }
}
