//! PostgreSQL's own rows of the catalogs that only facts go into, as datums.
//!
//! Each is converted once, on first use, and shared from then on.

use super::shape::{self, Shape};
use crate::builtin::{Builtins, Row};
use crate::{INFORMATION_SCHEMA, PG_CATALOG};
use hashbrown::HashMap;
use std::sync::{Arc, OnceLock};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, oid, text_io};

/// Rows of a system catalog in its column order.
pub type Rows = Arc<Vec<Vec<Datum>>>;

/// pg_am OID of btree.
pub(super) const BTREE_AM: Oid = 403;
/// pg_am: hash.
const HASH_AM: Oid = 405;

/// Catalogs whose rows are the extracted ones, no more and no less.
const FACTS: &[&str] = &[
    "pg_type",
    "pg_proc",
    "pg_operator",
    "pg_cast",
    "pg_aggregate",
    "pg_am",
    "pg_opfamily",
    "pg_opclass",
    "pg_amop",
    "pg_amproc",
    "pg_collation",
    "pg_language",
    "pg_range",
];

/// The rows of a catalog of facts; `None` for any other relation.
pub(super) fn rows(shape: &Shape) -> Result<Option<Rows>> {
    static CACHE: OnceLock<HashMap<&'static str, OnceLock<Rows>>> = OnceLock::new();
    let cache = CACHE.get_or_init(|| FACTS.iter().map(|f| (*f, OnceLock::new())).collect());
    let Some(cell) = cache.get(shape.name) else { return Ok(None) };
    if let Some(rows) = cell.get() {
        return Ok(Some(rows.clone()));
    }
    let rows = convert(shape)?;
    Ok(Some(cell.get_or_init(|| rows).clone()))
}

fn convert(shape: &Shape) -> Result<Rows> {
    brought_rows(shape.name, shape).map(Arc::new)
}

/// The rows of a catalog's shape that a file of facts holds: the catalog's own, or an
/// extension's.
pub(super) fn brought_rows(file: &str, shape: &Shape) -> Result<Vec<Vec<Datum>>> {
    let table = Builtins::get().table(file);
    let table = table.ok_or_else(|| Error::internal(format!("no facts about {file}")))?;
    let context = IoContext::default();
    let rows = table.rows().map(|row| {
        shape.columns.iter().map(|column| convert_field(&row, column, &context)).collect()
    });
    rows.collect()
}

fn convert_field(row: &Row<'_>, column: &shape::ShapeColumn, context: &IoContext) -> Result<Datum> {
    // pg_node_tree is extracted as text under another name.
    let name = if column.name == "proargdefaults" { "argdefaults" } else { column.name };
    match row.get(name) {
        None => Ok(Datum::Null),
        // What is not in pg_catalog is in information_schema, which has another OID here.
        Some(schema) if name.ends_with("namespace") && schema.parse() != Ok(PG_CATALOG) => {
            Ok(Datum::Oid(INFORMATION_SCHEMA))
        }
        Some(text) => text_io::input(column.type_oid, -1, &unescape(text), context),
    }
}

/// Undoes COPY's escapes.
fn unescape(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains('\\') {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('v') => '\u{b}',
                Some(other) => other,
                None => '\\',
            },
            (c, false) => c,
        });
    }
    out.into()
}

/// Btree operator classes by name, and the default ones of btree and hash by input type.
struct OperatorClasses {
    /// Class and input type.
    by_name: HashMap<&'static str, (Oid, Oid)>,
    defaults: HashMap<Oid, Oid>,
    hash_defaults: HashMap<Oid, Oid>,
}

fn operator_classes() -> &'static OperatorClasses {
    static CLASSES: OnceLock<OperatorClasses> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let number = |row: &Row<'_>, column| -> Oid {
            row.get(column).and_then(|text| text.parse().ok()).unwrap_or(0)
        };
        let table = Builtins::get().table("pg_opclass");
        let of_method = |method| {
            let rows = table.into_iter().flat_map(|t| t.rows());
            rows.filter(move |row| number(row, "opcmethod") == method)
        };
        let btree = || of_method(BTREE_AM);
        OperatorClasses {
            hash_defaults: of_method(HASH_AM)
                .filter(|row| row.get("opcdefault") == Some("t"))
                .map(|row| (number(&row, "opcintype"), number(&row, "oid")))
                .collect(),
            by_name: btree()
                .filter_map(|row| {
                    let class = (number(&row, "oid"), number(&row, "opcintype"));
                    Some((row.get("opcname")?, class))
                })
                .collect(),
            defaults: btree()
                .filter(|row| row.get("opcdefault") == Some("t"))
                .map(|row| (number(&row, "opcintype"), number(&row, "oid")))
                .collect(),
        }
    })
}

/// The btree operator class of a name.
pub(super) fn btree_opclass_named(name: &str) -> Option<Oid> {
    operator_classes().by_name.get(name).map(|class| class.0)
}

/// Whether the btree operator class of a name takes values of a type.
pub(super) fn btree_opclass_accepts(name: &str, type_oid: Oid) -> Option<bool> {
    let (_, input) = *operator_classes().by_name.get(name)?;
    Some(input == type_oid || Some(input) == coercible_base(type_oid))
}

/// The default btree operator class of a type, or of the type it is binary-coercible to
/// (GetDefaultOpClass).
pub(super) fn default_btree_opclass(type_oid: Oid) -> Option<Oid> {
    let defaults = &operator_classes().defaults;
    if let Some(class) = defaults.get(&type_oid) {
        return Some(*class);
    }
    defaults.get(&coercible_base(type_oid)?).copied()
}

/// The default hash operator class of a type.
pub(super) fn default_hash_opclass(type_oid: Oid) -> Option<Oid> {
    let defaults = &operator_classes().hash_defaults;
    defaults.get(&type_oid).or_else(|| defaults.get(&coercible_base(type_oid)?)).copied()
}

/// The type with operator classes of its own that a type is binary-coercible to.
fn coercible_base(type_oid: Oid) -> Option<Oid> {
    Some(match type_oid {
        oid::VARCHAR => oid::TEXT,
        oid::REGPROC
        | oid::REGPROCEDURE
        | oid::REGOPER
        | oid::REGOPERATOR
        | oid::REGCLASS
        | oid::REGTYPE
        | oid::REGCONFIG
        | oid::REGNAMESPACE
        | oid::REGROLE
        | oid::REGCOLLATION => oid::OID,
        other if Builtins::get().ty(other).is_some_and(|t| t.is_true_array()) => oid::ANYARRAY,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_converts() {
        for name in FACTS {
            let shape = shape::named("pg_catalog", name).expect("a system catalog");
            let rows = rows(shape).expect("readable").expect("facts");
            assert!(rows.len() > 3, "{name}");
            for row in rows.iter() {
                shape.check(row).expect(name);
            }
        }
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescape(r"a\\b\tc\nd"), "a\\b\tc\nd");
    }

    #[test]
    fn default_operator_classes() {
        assert_eq!(default_btree_opclass(oid::INT4), Some(1978));
        assert_eq!(default_btree_opclass(oid::VARCHAR), default_btree_opclass(oid::TEXT));
        assert_eq!(default_btree_opclass(oid::REGCLASS), default_btree_opclass(oid::OID));
        assert!(default_btree_opclass(1007).is_some(), "arrays");
        assert_eq!(default_btree_opclass(oid::JSON), None);
    }
}
