//! PostgreSQL's own rows of catalogs that contain only facts, as datums.
//!
//! Each catalog is converted once, on first use, and shared afterwards.

use super::acls;
use super::functions::PG_PROC;
use super::shape::{self, Shape};
use crate::builtin::{self, Row, Table};
use crate::{INFORMATION_SCHEMA, PG_CATALOG, is_row_type};
use hashbrown::HashMap;
use std::sync::{Arc, OnceLock};
use steppe_partition::PartitionStrategy;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid, text_io};

/// Rows of a system catalog, with its columns in order.
pub type Rows = Arc<Vec<Vec<Datum>>>;

/// pg_am OID of btree.
pub(super) const BTREE_AM: Oid = 403;
/// pg_am: hash.
const HASH_AM: Oid = 405;

/// Catalogs that have exactly the extracted rows.
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
    rows_of(builtin::table(shape.name), shape.name, shape).map(Arc::new)
}

/// The rows of a file of facts in a catalog's shape: the catalog's own, or an extension's.
pub(super) fn rows_of(table: Option<&Table>, name: &str, shape: &Shape) -> Result<Vec<Vec<Datum>>> {
    let table = table.ok_or_else(|| Error::internal(format!("no facts about {name}")))?;
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
        None if name == "proacl" => {
            let function = row.get("oid").and_then(|oid| oid.parse().ok()).unwrap_or(0);
            Ok(acls::of(PG_PROC, function, 0))
        }
        None => Ok(Datum::Null),
        // Facts outside pg_catalog are in information_schema, which has another OID here.
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

/// The family and input type of an operator class. Classes with the same two are equivalent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpclassId {
    /// The class's family.
    pub family: Oid,
    /// The type of the class's values.
    pub input: Oid,
}

/// An access method with operator classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpclassMethod {
    /// Indexes, and partitions by range or list.
    Btree,
    /// Partitions by hash.
    Hash,
}

impl OpclassMethod {
    /// The access method with the operator classes of partition keys.
    pub fn of_partitions(strategy: PartitionStrategy) -> OpclassMethod {
        match strategy {
            PartitionStrategy::Hash => OpclassMethod::Hash,
            PartitionStrategy::Range | PartitionStrategy::List => OpclassMethod::Btree,
        }
    }

    /// 42704: the access method has no operator class of this name.
    pub fn has_no_opclass(self, name: &str) -> Error {
        let method = match self {
            OpclassMethod::Btree => "btree",
            OpclassMethod::Hash => "hash",
        };
        let message =
            format!("operator class \"{name}\" does not exist for access method \"{method}\"");
        Error::new(SqlState::UNDEFINED_OBJECT, message)
    }
}

/// Operator classes of an access method: by name and OID, and the default ones by input type.
#[derive(Default)]
struct OperatorClasses {
    by_name: HashMap<&'static str, (Oid, OpclassId)>,
    by_oid: HashMap<Oid, OpclassId>,
    defaults: HashMap<Oid, Oid>,
}

fn operator_classes(method: OpclassMethod) -> &'static OperatorClasses {
    static CLASSES: OnceLock<[OperatorClasses; 2]> = OnceLock::new();
    let all = CLASSES.get_or_init(|| [classes_of(BTREE_AM), classes_of(HASH_AM)]);
    match method {
        OpclassMethod::Btree => &all[0],
        OpclassMethod::Hash => &all[1],
    }
}

fn classes_of(method: Oid) -> OperatorClasses {
    let mut classes = OperatorClasses::default();
    let number = |row: &Row<'_>, column| -> Oid {
        row.get(column).and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    let table = builtin::table("pg_opclass");
    let rows = table.into_iter().flat_map(|table| table.rows());
    for row in rows.filter(|row| number(row, "opcmethod") == method) {
        let (class, input) = (number(&row, "oid"), number(&row, "opcintype"));
        let id = OpclassId { family: number(&row, "opcfamily"), input };
        classes.by_oid.insert(class, id);
        if let Some(name) = row.get("opcname") {
            classes.by_name.insert(name, (class, id));
        }
        if row.get("opcdefault") == Some("t") {
            classes.defaults.insert(input, class);
        }
    }
    classes
}

/// The operator class of a name.
pub(super) fn opclass_named(method: OpclassMethod, name: &str) -> Option<(Oid, OpclassId)> {
    operator_classes(method).by_name.get(name).copied()
}

/// The family and input type of a btree operator class.
pub(super) fn btree_opclass_id(class: Oid) -> Option<OpclassId> {
    operator_classes(OpclassMethod::Btree).by_oid.get(&class).copied()
}

/// Whether the operator class of a name accepts values of a type.
pub(super) fn opclass_accepts(method: OpclassMethod, name: &str, type_oid: Oid) -> Option<bool> {
    let (_, OpclassId { input, .. }) = opclass_named(method, name)?;
    Some(input == type_oid || Some(input) == coercible_base(type_oid))
}

/// The default operator class of a type, or of its binary-coercible base type (GetDefaultOpClass).
pub(super) fn default_opclass(method: OpclassMethod, type_oid: Oid) -> Option<Oid> {
    let defaults = &operator_classes(method).defaults;
    defaults.get(&type_oid).or_else(|| defaults.get(&coercible_base(type_oid)?)).copied()
}

/// The binary-coercible base type of a type; it has operator classes of its own.
fn coercible_base(type_oid: Oid) -> Option<Oid> {
    Some(match type_oid {
        oid::VARCHAR => oid::TEXT,
        reg if text_io::is_reg_type(reg) => oid::OID,
        other if builtin::ty(other).is_some_and(|t| t.is_true_array()) => oid::ANYARRAY,
        other if is_row_type(other) => oid::RECORD,
        other if oid::is_enum_type(other) => oid::ANYENUM,
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
        assert_eq!(default_opclass(OpclassMethod::Btree, oid::INT4), Some(1978));
        assert_eq!(
            default_opclass(OpclassMethod::Btree, oid::VARCHAR),
            default_opclass(OpclassMethod::Btree, oid::TEXT)
        );
        assert_eq!(
            default_opclass(OpclassMethod::Btree, oid::REGCLASS),
            default_opclass(OpclassMethod::Btree, oid::OID)
        );
        assert!(default_opclass(OpclassMethod::Btree, 1007).is_some(), "arrays");
        assert_eq!(default_opclass(OpclassMethod::Btree, oid::JSON), None);
    }
}
