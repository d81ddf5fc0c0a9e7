//! PostgreSQL's built-in types, functions, operators, casts and aggregates.
//!
//! The rows are facts that tools/extract-catalog.sh has extracted from a live PostgreSQL into
//! data/*.tsv (COPY text format with a header line). They are compiled in and indexed once, on
//! first use.

mod brought;
mod collation;
mod estimate;
mod language;
mod load;
mod tsv;

use crate::objects::{Function, FunctionRef, Operator, OperatorRef};
use crate::type_places;
pub use brought::{
    extension_functions_named, function_rows, functions_of_extension, table_of_extension,
};
pub use collation::{collation_name, collation_named, collation_of, sorts_by_code_point};
pub use estimate::{Estimate, PatternKind};
use hashbrown::HashMap;
pub use language::{C_LANGUAGE, INTERNAL_LANGUAGE, SQL_LANGUAGE, language_name, language_named};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use steppe_types::Oid;
pub use tsv::{Row, Table};

/// pg_type row.
#[derive(Clone, Copy, Debug)]
pub struct Type {
    /// OID.
    pub oid: Oid,
    /// Internal name, e.g. `int4`.
    pub name: &'static str,
    /// Whether the type is in information_schema, not in pg_catalog.
    pub in_information_schema: bool,
    /// Length in bytes, or -1 for variable width, -2 for C strings.
    pub len: i16,
    /// typtype: b base, c composite, d domain, e enum, p pseudo, r range, m multirange.
    pub kind: u8,
    /// typcategory
    pub category: u8,
    /// typispreferred
    pub preferred: bool,
    /// typrelid: the relation of a row type, or 0.
    pub relation: Oid,
    /// typsubscript: the function that handles subscripts, or 0.
    pub subscript: Oid,
    /// Element type of a true array or of a subscriptable type, or 0.
    pub element: Oid,
    /// Array type over this type, or 0.
    pub array: Oid,
    /// Default collation, or 0.
    pub collation: Oid,
    /// typinput function.
    pub input: Oid,
    /// typoutput function.
    pub output: Oid,
    /// typreceive function, or 0.
    pub receive: Oid,
}

/// array_subscript_handler
pub(crate) const ARRAY_SUBSCRIPT_HANDLER: Oid = 6179;

impl Type {
    /// Whether this is a varlena array type (`int4[]`, also `record[]`), not `name` or `point`,
    /// which have elements too (IsTrueArrayType).
    pub fn is_true_array(&self) -> bool {
        self.element != 0 && self.subscript == ARRAY_SUBSCRIPT_HANDLER
    }
}

/// The contexts in which a cast applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CastContext {
    /// i: in any expression
    Implicit,
    /// a: in assignments
    Assignment,
    /// e: only explicit casts
    Explicit,
}

/// The implementation of a cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CastMethod {
    /// f: a function
    Function(Oid),
    /// i: text output and input
    InOut,
    /// b: none, the types have the same representation
    Binary,
}

/// pg_cast row.
#[derive(Clone, Copy, Debug)]
pub struct Cast {
    /// Context.
    pub context: CastContext,
    /// Method.
    pub method: CastMethod,
}

/// Ordering of a type: its default btree operators.
#[derive(Clone, Copy, Debug)]
pub struct Ordering {
    /// `<` operator.
    pub lt: Oid,
    /// `=` operator.
    pub eq: Oid,
    /// `>` operator.
    pub gt: Oid,
}

/// Btree strategy numbers (src/include/access/stratnum.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// <
    Less,
    /// <=
    LessEqual,
    /// =
    Equal,
    /// >=
    GreaterEqual,
    /// >
    Greater,
}

/// All built-in facts with their indexes.
struct Facts {
    types: HashMap<Oid, Type>,
    types_by_name: HashMap<&'static str, Oid>,
    information_schema_types: HashMap<&'static str, Oid>,
    /// The row types of the system catalogs, by relation.
    row_types: HashMap<Oid, Oid>,
    functions: Named<Function>,
    operators: Named<Operator>,
    casts: HashMap<(Oid, Oid), Cast>,
    orderings: HashMap<Oid, Ordering>,
    strategies: HashMap<Oid, Strategy>,
    tables: HashMap<&'static str, Table>,
}

/// Objects by OID and by name. They stay in memory as long as the process runs.
struct Named<T: 'static> {
    by_oid: HashMap<Oid, &'static T>,
    /// The values are in the order of their OIDs, so that look-ups are deterministic.
    by_name: HashMap<&'static str, Vec<&'static T>>,
}

impl<T> Named<T> {
    fn new(
        objects: Vec<T>,
        oid: impl Fn(&T) -> Oid,
        name: impl Fn(&'static T) -> &'static str,
    ) -> Self {
        let mut objects = objects;
        objects.sort_unstable_by_key(|object| oid(object));
        let mut named = Named { by_oid: HashMap::new(), by_name: HashMap::new() };
        for object in &*objects.leak() {
            named.by_oid.insert(oid(object), object);
            named.by_name.entry(name(object)).or_default().push(object);
        }
        named
    }

    fn get(&self, oid: Oid) -> Option<&'static T> {
        self.by_oid.get(&oid).copied()
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &'static T> + use<'_, T> {
        self.by_name.get(name).into_iter().flatten().copied()
    }
}

/// The facts; indexed on first use.
fn facts() -> &'static Facts {
    static FACTS: OnceLock<Facts> = OnceLock::new();
    FACTS.get_or_init(load::all)
}

/// A type by OID. The answer for a user's type follows from the OID alone, because only a catalog
/// knows its name, and whether it exists.
pub fn ty(oid: Oid) -> Option<Type> {
    facts().types.get(&oid).copied().or_else(|| type_places::by_place(oid))
}

/// A type of pg_catalog by internal name (`int4`, `_text`).
pub fn type_named(name: &str) -> Option<&'static Type> {
    facts().types_by_name.get(name).and_then(|oid| facts().types.get(oid))
}

/// A type of information_schema by name.
pub(crate) fn information_schema_type(name: &str) -> Option<&'static Type> {
    facts().information_schema_types.get(name).and_then(|oid| facts().types.get(oid))
}

/// The row type of a system catalog.
pub(crate) fn row_type(relation: Oid) -> Option<Oid> {
    facts().row_types.get(&relation).copied()
}

/// A function by OID, also one of an extension, installed or not.
pub(crate) fn function(oid: Oid) -> Option<FunctionRef> {
    facts().functions.get(oid).or_else(|| brought::function(oid)).map(FunctionRef::from)
}

/// All functions, in no order.
pub(crate) fn functions() -> impl Iterator<Item = &'static Function> {
    facts().functions.by_oid.values().copied()
}

/// All overloads of a function name, in the order of their OIDs.
pub fn functions_named(name: &str) -> impl Iterator<Item = FunctionRef> {
    facts().functions.named(name).map(FunctionRef::from)
}

/// An operator by OID.
pub(crate) fn operator(oid: Oid) -> Option<OperatorRef> {
    facts().operators.get(oid).map(OperatorRef::from)
}

/// All overloads of an operator name, in the order of their OIDs.
pub fn operators_named(name: &str) -> impl Iterator<Item = OperatorRef> {
    facts().operators.named(name).map(OperatorRef::from)
}

/// The operator of this name for these two types, without coercion.
pub fn operator_of(name: &str, left: Oid, right: Oid) -> Option<OperatorRef> {
    operators_named(name).find(|operator| operator.left == left && operator.right == right)
}

/// The cast from one type to another, if pg_cast has one.
pub fn cast(from: Oid, to: Oid) -> Option<Cast> {
    facts().casts.get(&(from, to)).copied()
}

/// The default btree ordering of a type (of its binary-coercible base, or of any array).
pub fn ordering(type_oid: Oid) -> Option<Ordering> {
    use steppe_types::{oid, text_io};
    let base = match type_oid {
        oid::VARCHAR => oid::TEXT,
        reg if text_io::is_reg_type(reg) => oid::OID,
        other => match ty(other) {
            Some(ty) if ty.is_true_array() => oid::ANYARRAY,
            Some(ty) if ty.kind == b'c' => oid::RECORD,
            Some(ty) if ty.kind == b'e' => oid::ANYENUM,
            _ => other,
        },
    };
    facts().orderings.get(&base).copied()
}

/// The btree strategy of an operator in a default operator family.
pub fn strategy(operator: Oid) -> Option<Strategy> {
    facts().strategies.get(&operator).copied()
}

/// The raw rows of an extracted catalog, for pg_catalog's virtual tables.
pub fn table(name: &str) -> Option<&'static Table> {
    facts().tables.get(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_types::oid;

    #[test]
    fn facts_are_indexed() {
        let int4 = type_named("int4").expect("int4 is a built-in type");
        assert_eq!((int4.oid, int4.array, int4.category), (oid::INT4, 1007, b'N'));
        let plus = operator_of("+", oid::INT4, oid::INT4).expect("int4 + int4");
        let function = plus.built_in_function().expect("its function");
        assert_eq!(function.built_in_source(), Some("int4pl"));
        assert_eq!(cast(oid::INT4, oid::INT8).expect("widening").context, CastContext::Implicit);
        let int4 = ordering(oid::INT4).expect("int4 is ordered");
        assert_eq!(operator(int4.lt).expect("its <").name, "<");
        assert_eq!(strategy(int4.eq), Some(Strategy::Equal));
        assert!(ordering(1007).is_some(), "arrays are ordered");
    }

    #[test]
    fn defaults_and_out_columns_are_read() {
        let f = functions_named("make_interval").next().expect("make_interval");
        assert_eq!(f.defaults.len(), 7);
        assert_eq!(f.input_names().next(), Some("years"));
        let g = functions_named("pg_get_keywords").next().expect("pg_get_keywords");
        assert_eq!(g.out_columns().next(), Some(("word", oid::TEXT)));
    }
}
