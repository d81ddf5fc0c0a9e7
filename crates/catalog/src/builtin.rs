//! PostgreSQL's built-in types, functions, operators, casts and aggregates.
//!
//! The rows are facts extracted from a live PostgreSQL by
//! tools/extract-catalog.sh into data/*.tsv (COPY text format with a header
//! line). They are compiled in and indexed once, on first use.

mod brought;
mod collation;
mod estimate;
mod tsv;

use crate::row_types;
pub use collation::sorts_by_code_point;
pub use estimate::{Estimate, PatternKind};
use hashbrown::HashMap;
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
    /// Whether it is in information_schema, not in pg_catalog.
    pub in_information_schema: bool,
    /// Bytes, or -1 for variable width, -2 for C strings.
    pub len: i16,
    /// typtype: b base, c composite, d domain, e enum, p pseudo, r range, m multirange.
    pub kind: u8,
    /// typcategory
    pub category: u8,
    /// typispreferred
    pub preferred: bool,
    /// typrelid: the relation whose row type it is, or 0.
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
    /// A varlena array type (`int4[]`, also `record[]`), as opposed to `name` or `point`, which
    /// have elements too (IsTrueArrayType).
    pub fn is_true_array(&self) -> bool {
        self.element != 0 && self.subscript == ARRAY_SUBSCRIPT_HANDLER
    }
}

/// pg_proc row.
#[derive(Debug)]
pub struct Proc {
    /// OID.
    pub oid: Oid,
    /// Name.
    pub name: &'static str,
    /// Whether it is in information_schema, not in pg_catalog.
    pub in_information_schema: bool,
    /// The extension that brings it, into the schema that CREATE EXTENSION names.
    pub extension: Option<&'static str>,
    /// Input argument types.
    pub args: Vec<Oid>,
    /// Return type.
    pub ret: Oid,
    /// prokind: f function, a aggregate, w window, p procedure.
    pub kind: u8,
    /// Returns NULL on NULL input.
    pub strict: bool,
    /// Returns a set.
    pub retset: bool,
    /// provolatile: i immutable, s stable, v volatile.
    pub volatility: u8,
    /// proparallel: s safe, r restricted to the leader, u unsafe.
    pub parallel: u8,
    /// Element type of a VARIADIC last argument, or 0.
    pub variadic: Oid,
    /// Defaults of the last arguments, as SQL text.
    pub defaults: Vec<&'static str>,
    /// Names of the input arguments, where they have any.
    pub arg_names: Vec<&'static str>,
    /// OUT and TABLE columns: (name, type).
    pub out_columns: Vec<(&'static str, Oid)>,
    /// prosrc: the C symbol; Rust functions attach by it.
    pub src: &'static str,
    /// Estimated rows of a set-returning function.
    pub rows: f64,
}

/// pg_operator row.
#[derive(Debug)]
pub struct Operator {
    /// OID.
    pub oid: Oid,
    /// Symbol.
    pub name: &'static str,
    /// Left operand type, 0 for a prefix operator.
    pub left: Oid,
    /// Right operand type.
    pub right: Oid,
    /// Result type.
    pub result: Oid,
    /// The function that computes it.
    pub func: Oid,
    /// Commutator operator, or 0.
    pub commutator: Oid,
    /// Negator operator, or 0.
    pub negator: Oid,
    /// oprcanhash
    pub can_hash: bool,
    /// oprcanmerge
    pub can_merge: bool,
    /// How many rows it selects (oprrest).
    pub estimate: Estimate,
    /// How many pairs of rows it selects (oprjoin).
    pub join_estimate: Estimate,
}

/// How a cast may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// i: anywhere
    Implicit,
    /// a: in assignments
    Assignment,
    /// e: only if written
    Explicit,
}

/// How a cast works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastMethod {
    /// f: by this function
    Function(Oid),
    /// i: text output and input
    InOut,
    /// b: same representation
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

/// pg_aggregate row (what the binder and the executor need).
#[derive(Debug)]
pub struct AggregateInfo {
    /// The aggregate's pg_proc OID.
    pub func: Oid,
    /// aggkind: n normal, o ordered-set, h hypothetical-set.
    pub kind: u8,
    /// Direct arguments before WITHIN GROUP; a VARIADIC one counts once.
    pub direct_args: usize,
    /// Sort operator for min/max by index, or 0.
    pub sort_operator: Oid,
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
pub struct Builtins {
    types: HashMap<Oid, Type>,
    types_by_name: HashMap<&'static str, Oid>,
    information_schema_types: HashMap<&'static str, Oid>,
    /// The row types of the system catalogs, by relation.
    row_types: HashMap<Oid, Oid>,
    procs: HashMap<Oid, Proc>,
    procs_by_name: HashMap<&'static str, Vec<Oid>>,
    operators: HashMap<Oid, Operator>,
    operators_by_name: HashMap<&'static str, Vec<Oid>>,
    casts: HashMap<(Oid, Oid), Cast>,
    aggregates: HashMap<Oid, AggregateInfo>,
    orderings: HashMap<Oid, Ordering>,
    strategies: HashMap<Oid, Strategy>,
    tables: HashMap<&'static str, Table>,
}

macro_rules! data_files {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../data/", $name, ".tsv")))),*]
    };
}

impl Builtins {
    /// The facts; indexed on first use.
    pub fn get() -> &'static Builtins {
        static BUILTINS: OnceLock<Builtins> = OnceLock::new();
        BUILTINS.get_or_init(Builtins::load)
    }

    /// A type by OID. Row types of relations that are not built in are told by their place, as
    /// is the array type over one: only a catalog knows their names, and whether they are there.
    pub fn ty(&self, oid: Oid) -> Option<Type> {
        self.types.get(&oid).copied().or_else(|| row_types::by_place(oid))
    }

    /// A type of pg_catalog by internal name (`int4`, `_text`).
    pub fn type_named(&self, name: &str) -> Option<&Type> {
        self.types_by_name.get(name).and_then(|oid| self.types.get(oid))
    }

    /// A type of information_schema by name.
    pub fn information_schema_type(&self, name: &str) -> Option<&Type> {
        self.information_schema_types.get(name).and_then(|oid| self.types.get(oid))
    }

    /// The row type of a system catalog.
    pub(crate) fn row_type(&self, relation: Oid) -> Option<Oid> {
        self.row_types.get(&relation).copied()
    }

    /// A function by OID; also one that an extension brings, installed or not.
    pub fn proc(&self, oid: Oid) -> Option<&Proc> {
        self.procs.get(&oid).or_else(|| brought::proc(oid))
    }

    /// All overloads of a function name.
    pub fn procs_named(&self, name: &str) -> impl Iterator<Item = &Proc> {
        self.procs_by_name.get(name).into_iter().flatten().map(|oid| &self.procs[oid])
    }

    /// An operator by OID.
    pub fn operator(&self, oid: Oid) -> Option<&Operator> {
        self.operators.get(&oid)
    }

    /// All overloads of an operator name.
    pub fn operators_named(&self, name: &str) -> impl Iterator<Item = &Operator> {
        self.operators_by_name.get(name).into_iter().flatten().map(|oid| &self.operators[oid])
    }

    /// The cast from one type to another, if pg_cast has one.
    pub fn cast(&self, from: Oid, to: Oid) -> Option<Cast> {
        self.casts.get(&(from, to)).copied()
    }

    /// An aggregate by its function's OID.
    pub fn aggregate(&self, func: Oid) -> Option<&AggregateInfo> {
        self.aggregates.get(&func)
    }

    /// The default btree ordering of a type (of its binary-coercible base, or of any array).
    pub fn ordering(&self, type_oid: Oid) -> Option<Ordering> {
        use steppe_types::oid;
        let base = match type_oid {
            oid::VARCHAR => oid::TEXT,
            oid::REGCLASS
            | oid::REGTYPE
            | oid::REGPROC
            | oid::REGPROCEDURE
            | oid::REGOPER
            | oid::REGOPERATOR
            | oid::REGNAMESPACE
            | oid::REGROLE
            | oid::REGCONFIG
            | oid::REGCOLLATION => oid::OID,
            other => match self.ty(other) {
                Some(ty) if ty.is_true_array() => oid::ANYARRAY,
                Some(ty) if ty.kind == b'c' => oid::RECORD,
                _ => other,
            },
        };
        self.orderings.get(&base).copied()
    }

    /// The btree strategy that an operator stands for in a default operator family.
    pub fn strategy(&self, operator: Oid) -> Option<Strategy> {
        self.strategies.get(&operator).copied()
    }

    /// The raw rows of an extracted catalog, for pg_catalog's virtual tables.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.get(name)
    }

    fn load() -> Builtins {
        let tables: HashMap<&'static str, Table> = data_files!(
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
            "initial_acls",
            "system_columns",
            "system_constraints",
            "system_indexes",
            "pg_settings"
        )
        .into_iter()
        .map(|(name, text)| (name, Table::parse(text)))
        .collect();

        let types = load_types(&tables["pg_type"]);
        let procs = load_procs(&tables["pg_proc"], None);
        let operators = load_operators(&tables["pg_operator"]);
        let (orderings, strategies) = load_orderings(&tables["pg_opclass"], &tables["pg_amop"]);
        Builtins {
            types_by_name: by_name(&types, false),
            information_schema_types: by_name(&types, true),
            row_types: types
                .values()
                .filter(|ty| ty.relation != 0)
                .map(|ty| (ty.relation, ty.oid))
                .collect(),
            procs_by_name: group_by_name(procs.values().map(|p| (p.name, p.oid))),
            operators_by_name: group_by_name(operators.values().map(|o| (o.name, o.oid))),
            casts: load_casts(&tables["pg_cast"]),
            aggregates: load_aggregates(&tables["pg_aggregate"]),
            types,
            procs,
            operators,
            orderings,
            strategies,
            tables,
        }
    }
}

/// Overloads by name, in OID order so that look-ups are deterministic.
fn group_by_name(
    pairs: impl Iterator<Item = (&'static str, Oid)>,
) -> HashMap<&'static str, Vec<Oid>> {
    let mut map: HashMap<&'static str, Vec<Oid>> = HashMap::new();
    for (name, oid) in pairs {
        map.entry(name).or_default().push(oid);
    }
    map.values_mut().for_each(|oids| oids.sort_unstable());
    map
}

/// The types in information_schema, or those in pg_catalog, by name.
fn by_name(types: &HashMap<Oid, Type>, in_information_schema: bool) -> HashMap<&'static str, Oid> {
    let there = types.values().filter(|ty| ty.in_information_schema == in_information_schema);
    there.map(|ty| (ty.name, ty.oid)).collect()
}

fn load_types(table: &Table) -> HashMap<Oid, Type> {
    let read = |row: Row<'_>| Type {
        oid: row.number("oid"),
        name: row.text("typname"),
        in_information_schema: row.number::<Oid>("typnamespace") != crate::PG_CATALOG,
        len: row.number("typlen"),
        kind: row.byte("typtype"),
        category: row.byte("typcategory"),
        preferred: row.flag("typispreferred"),
        relation: row.number("typrelid"),
        subscript: row.number("typsubscript"),
        element: row.number("typelem"),
        array: row.number("typarray"),
        collation: row.number("typcollation"),
        input: row.number("typinput"),
        output: row.number("typoutput"),
        receive: row.number("typreceive"),
    };
    table.rows().map(read).map(|t| (t.oid, t)).collect()
}

fn load_procs(table: &Table, extension: Option<&'static str>) -> HashMap<Oid, Proc> {
    table.rows().map(|row| load_proc(row, extension)).map(|p| (p.oid, p)).collect()
}

fn load_proc(row: Row<'_>, extension: Option<&'static str>) -> Proc {
    let args = tsv::oid_vector(row.text("proargtypes"));
    let modes = tsv::array(row.text("proargmodes"));
    let names = tsv::array(row.text("proargnames"));
    let all_types: Vec<Oid> =
        tsv::array(row.text("proallargtypes")).iter().map(|t| t.parse().unwrap_or(0)).collect();
    let is_input = |i: usize| modes.get(i).is_none_or(|m| matches!(*m, "i" | "b" | "v"));
    let is_output = |i: usize| modes.get(i).is_some_and(|m| matches!(*m, "o" | "b" | "t"));
    Proc {
        oid: row.number("oid"),
        name: row.text("proname"),
        in_information_schema: extension.is_none() && row.text("pronamespace") != "11",
        extension,
        ret: row.number("prorettype"),
        kind: row.byte("prokind"),
        strict: row.flag("proisstrict"),
        retset: row.flag("proretset"),
        volatility: row.byte("provolatile"),
        parallel: row.byte("proparallel"),
        variadic: row.number("provariadic"),
        defaults: match row.text("argdefaults") {
            tsv::NULL => Vec::new(),
            text => tsv::split_expressions(text),
        },
        arg_names: (0..names.len()).filter(|i| is_input(*i)).map(|i| names[i]).collect(),
        out_columns: (0..all_types.len())
            .filter(|i| is_output(*i))
            .map(|i| (names.get(i).copied().unwrap_or(""), all_types[i]))
            .collect(),
        src: row.text("prosrc"),
        rows: row.number("prorows"),
        args,
    }
}

fn load_operators(table: &Table) -> HashMap<Oid, Operator> {
    let read = |row: Row<'_>| Operator {
        oid: row.number("oid"),
        name: row.text("oprname"),
        left: row.number("oprleft"),
        right: row.number("oprright"),
        result: row.number("oprresult"),
        func: row.number("oprcode"),
        commutator: row.number("oprcom"),
        negator: row.number("oprnegate"),
        can_hash: row.flag("oprcanhash"),
        can_merge: row.flag("oprcanmerge"),
        estimate: Estimate::of(row.number("oprrest")),
        join_estimate: Estimate::of(row.number("oprjoin")),
    };
    table.rows().map(read).map(|o| (o.oid, o)).collect()
}

fn load_casts(table: &Table) -> HashMap<(Oid, Oid), Cast> {
    let read = |row: Row<'_>| {
        let cast = Cast {
            context: match row.byte("castcontext") {
                b'i' => CastContext::Implicit,
                b'a' => CastContext::Assignment,
                _ => CastContext::Explicit,
            },
            method: match row.byte("castmethod") {
                b'b' => CastMethod::Binary,
                b'i' => CastMethod::InOut,
                _ => CastMethod::Function(row.number("castfunc")),
            },
        };
        ((row.number("castsource"), row.number("casttarget")), cast)
    };
    table.rows().map(read).collect()
}

fn load_aggregates(table: &Table) -> HashMap<Oid, AggregateInfo> {
    let read = |row: Row<'_>| AggregateInfo {
        func: row.number("aggfnoid"),
        kind: row.byte("aggkind"),
        direct_args: row.number("aggnumdirectargs"),
        sort_operator: row.number("aggsortop"),
    };
    table.rows().map(read).map(|a| (a.func, a)).collect()
}

/// pg_am OID of btree.
const BTREE_AM: Oid = 403;

/// Default orderings by type, and the strategy of each operator of their families.
fn load_orderings(
    opclasses: &Table,
    amops: &Table,
) -> (HashMap<Oid, Ordering>, HashMap<Oid, Strategy>) {
    let default_families: HashMap<Oid, Oid> = opclasses
        .rows()
        .filter(|r| r.number::<Oid>("opcmethod") == BTREE_AM && r.flag("opcdefault"))
        .map(|r| (r.number("opcintype"), r.number("opcfamily")))
        .collect();
    let families: hashbrown::HashSet<Oid> = default_families.values().copied().collect();
    let mut by_key: HashMap<(Oid, Oid, Oid, u16), Oid> = HashMap::new();
    let mut strategies = HashMap::new();
    for row in amops.rows().filter(|r| families.contains(&r.number::<Oid>("amopfamily"))) {
        let strategy: u16 = row.number("amopstrategy");
        let operator: Oid = row.number("amopopr");
        let (left, right) = (row.number("amoplefttype"), row.number("amoprighttype"));
        by_key.insert((row.number("amopfamily"), left, right, strategy), operator);
        let meaning = match strategy {
            1 => Strategy::Less,
            2 => Strategy::LessEqual,
            3 => Strategy::Equal,
            4 => Strategy::GreaterEqual,
            _ => Strategy::Greater,
        };
        strategies.insert(operator, meaning);
    }
    let orderings = default_families
        .iter()
        .filter_map(|(ty, family)| {
            let find = |strategy| by_key.get(&(*family, *ty, *ty, strategy)).copied();
            Some((*ty, Ordering { lt: find(1)?, eq: find(3)?, gt: find(5)? }))
        })
        .collect();
    (orderings, strategies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_types::oid;

    #[test]
    fn facts_are_indexed() {
        let b = Builtins::get();
        let int4 = b.type_named("int4").expect("int4 is a built-in type");
        assert_eq!((int4.oid, int4.array, int4.category), (oid::INT4, 1007, b'N'));
        let plus = b
            .operators_named("+")
            .find(|o| o.left == oid::INT4 && o.right == oid::INT4)
            .expect("int4 + int4");
        assert_eq!(b.proc(plus.func).expect("its function").src, "int4pl");
        assert_eq!(b.cast(oid::INT4, oid::INT8).expect("widening").context, CastContext::Implicit);
        let ordering = b.ordering(oid::INT4).expect("int4 is ordered");
        assert_eq!(b.operator(ordering.lt).expect("its <").name, "<");
        assert_eq!(b.strategy(ordering.eq), Some(Strategy::Equal));
        assert!(b.ordering(1007).is_some(), "arrays are ordered");
    }

    #[test]
    fn defaults_and_out_columns_are_read() {
        let b = Builtins::get();
        let f = b.procs_named("make_interval").next().expect("make_interval");
        assert_eq!(f.defaults.len(), 7);
        assert_eq!(f.arg_names[0], "years");
        let g = b.procs_named("pg_get_keywords").next().expect("pg_get_keywords");
        assert_eq!(g.out_columns[0].0, "word");
    }
}
