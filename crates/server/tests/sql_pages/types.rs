//! docs/sql/types.md: the types, and the support of each.

use std::collections::{BTreeMap, BTreeSet};

use steppe_catalog::FunctionRef;
use steppe_catalog::builtin::{self, CastMethod, Type};
use steppe_exec::registry::native;
use steppe_sql::bind::typename::format_type;
use steppe_types::io::IoContext;
use steppe_types::{Oid, SqlState, binary_io, text_io};

use crate::ask::Asker;
use crate::page::{Page, code};
use crate::words;

const TYPES: &str = include_str!("types.txt");

#[test]
fn types_page() {
    check();
    let mut asker = Asker::start();
    let mut page = Page::new("types.md", "Types");
    let documented = words::sections(TYPES).iter().map(|(_, lines)| lines.len()).sum::<usize>();
    page.paragraph(&format!(
        "The {documented} base and range types of PostgreSQL 18. A supported type has PostgreSQL's text \
         format and order, and arrays of any dimensions; an index is a btree over a column of the type. \
         The binary format is what drivers use for parameters, results and COPY (FORMAT binary). A value or \
         a column of any other type fails with 0A000.",
    ));
    page.paragraph(
        "Every table and view has a row type: `ROW(1, 'x')::t`, whole rows as values, fields of them; \
         columns of row types, and CREATE TYPE and CREATE DOMAIN, are not there yet. `serial` and its kin \
         make sequences, as in PostgreSQL.",
    );
    for (heading, lines) in words::sections(TYPES) {
        page.heading(heading);
        let (mut rows, mut missing) = (Vec::new(), Vec::new());
        for line in lines {
            let (name, value) = line.split_once('\t').expect("a name and what a value is");
            let ty = builtin::type_named(name).expect("check has looked");
            if !has_values(ty.oid) || asker.is_refused(&format!("SELECT ''::pg_catalog.\"{name}\""))
            {
                missing.push(code(&sql_name(ty)));
                continue;
            }
            let is = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
            rows.push([
                code(&sql_name(ty)),
                value.to_owned(),
                is(has_binary_format(ty.oid)),
                is(!asker.is_refused(&format!("CREATE TABLE n (a pg_catalog.\"{name}\")"))),
                is(can_be_indexed(&mut asker, name)),
            ]);
        }
        page.table(["Type", "A value is", "Binary", "Columns", "Indexes"], &rows);
        if !missing.is_empty() {
            page.paragraph(&format!("Not yet: {}.", missing.join(", ")));
        }
    }
    page.heading("Casts");
    page.paragraph(
        "A value becomes one of another type by itself where the cast is implicit, in INSERT and UPDATE \
         where it is of assignments, and anywhere by `::` and CAST. Beside these every type casts to and \
         from text types by way of its text.",
    );
    write_casts(&mut page);
    page.compare();
}

/// Writes a row for each type, with the casts of pg_cast that are implemented.
fn write_casts(page: &mut Page) {
    let table = builtin::table("pg_cast").expect("the casts");
    let mut by_source: BTreeMap<String, [BTreeSet<String>; 3]> = BTreeMap::new();
    for row in table.rows() {
        let number = |column| row.get(column).and_then(|text| text.parse().ok()).unwrap_or(0);
        let (from, to): (Oid, Oid) = (number("castsource"), number("casttarget"));
        let Some(cast) = builtin::cast(from, to).filter(|_| from != to) else { continue };
        let is_attached = match cast.method {
            CastMethod::Function(function) => {
                FunctionRef::built_in(function).is_some_and(|function| native(&function).is_some())
            }
            CastMethod::Binary | CastMethod::InOut => true,
        };
        if is_attached && has_values(from) && has_values(to) {
            let by_context = by_source.entry(format_type(from, -1)).or_default();
            by_context[cast.context as usize].insert(format_type(to, -1));
        }
    }
    let list = |types: &BTreeSet<String>| types.iter().cloned().collect::<Vec<_>>().join(", ");
    let row = |(from, [implicit, assignment, explicit]): (&String, &[BTreeSet<String>; 3])| {
        [code(from), list(implicit), list(assignment), list(explicit)]
    };
    let rows: Vec<_> = by_source.iter().map(row).collect();
    page.table(["From", "Implicit to", "In assignments to", "Explicit to"], &rows);
}

fn can_be_indexed(asker: &mut Asker, name: &str) -> bool {
    let example = format!("CREATE TABLE n (a pg_catalog.\"{name}\"); CREATE INDEX ON n (a)");
    asker.outcome(&example, true).is_none()
}

/// SQL's name, and the catalog's if it differs.
fn sql_name(ty: &Type) -> String {
    let name = format_type(ty.oid, -1);
    if name.trim_matches('"') == ty.name { name } else { format!("{name}, {}", ty.name) }
}

/// Whether text can become a value of a type. A polymorphic type has the values of others.
pub(crate) fn has_values(ty: Oid) -> bool {
    let Some(known) = builtin::ty(ty) else { return false };
    if known.kind == b'p' {
        return !["anyenum", "anyrange", "anymultirange"].contains(&known.name)
            && !["anycompatiblerange", "anycompatiblemultirange"].contains(&known.name);
    }
    let element = if known.is_true_array() { known.element } else { ty };
    is_supported(text_io::input(element, -1, "", &IoContext::default()))
}

fn has_binary_format(ty: Oid) -> bool {
    is_supported(binary_io::receive(ty, -1, &[], &IoContext::default()))
}

fn is_supported<T>(read: steppe_types::Result<T>) -> bool {
    read.err().is_none_or(|error| error.sqlstate() != SqlState::FEATURE_NOT_SUPPORTED)
}

/// The names of types. For an array, also its elements' names.
pub(crate) fn names_of_types(types: &[Oid]) -> Vec<&'static str> {
    let known = types.iter().filter_map(|ty| builtin::ty(*ty));
    let with_element = |ty: Type| {
        let element = Some(ty).filter(Type::is_true_array).and_then(|ty| builtin::ty(ty.element));
        [Some(ty.name), element.map(|element| element.name)]
    };
    known.flat_map(with_element).flatten().collect()
}

/// types.txt names all base and range types, and no others.
fn check() {
    let named: BTreeSet<&str> = words::phrases(TYPES).into_keys().collect();
    let table = builtin::table("pg_type").expect("the types");
    let mut there: BTreeSet<&str> = BTreeSet::new();
    for row in table.rows() {
        let ty = row.get("oid").and_then(|oid| builtin::ty(oid.parse().ok()?));
        let ty = ty.expect("a type");
        if matches!(ty.kind, b'b' | b'r' | b'm')
            && !ty.name.starts_with('_')
            && !ty.in_information_schema
        {
            there.insert(ty.name);
        }
    }
    there.remove("unknown");
    assert_eq!(named, there, "types.txt names the base and range types");
}
