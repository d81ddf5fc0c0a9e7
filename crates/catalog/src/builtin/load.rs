//! Reads the extracted files.

use super::language::SQL_LANGUAGE;
use super::tsv::{self, Row, Table};
use super::{Cast, CastContext, CastMethod, Facts, Named, Ordering, Strategy, Type};
use crate::BOOTSTRAP_SUPERUSER;
use crate::objects::{
    Aggregate, AggregateKind, Argument, ArgumentMode, Body, FinishModify, Function, FunctionKind,
    Moving, Operator, Parallel, Text, Volatility,
};
use hashbrown::HashMap;
use steppe_types::Oid;

macro_rules! data_files {
    ($($name:literal $(+ $own:literal)?),*) => {
        [$(($name, concat!(
            include_str!(concat!("../../data/", $name, ".tsv"))
            $(, include_str!(concat!("../../data/", $own, ".tsv")))?
        ))),*]
    };
}

/// Reads all extracted files. The rows of those whose names begin with `own` are about catalogs that
/// PostgreSQL does not have.
pub(super) fn all() -> Facts {
    let tables: HashMap<&'static str, Table> = data_files!(
        "pg_type" + "own_pg_type",
        "pg_proc" + "own_pg_proc",
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
        "system_columns" + "own_system_columns",
        "system_constraints" + "own_system_constraints",
        "system_indexes",
        "pg_settings"
    )
    .into_iter()
    .map(|(name, text)| (name, Table::parse(text)))
    .collect();

    let types = types(&tables["pg_type"]);
    let functions = functions(&tables["pg_proc"], Some(&tables["pg_aggregate"]), None);
    let operators = operators(&tables["pg_operator"]);
    let (orderings, strategies) = orderings(&tables["pg_opclass"], &tables["pg_amop"]);
    Facts {
        types_by_name: by_name(&types, false),
        information_schema_types: by_name(&types, true),
        row_types: types
            .values()
            .filter(|ty| ty.relation != 0)
            .map(|ty| (ty.relation, ty.oid))
            .collect(),
        casts: casts(&tables["pg_cast"]),
        types,
        functions,
        operators,
        orderings,
        strategies,
        tables,
    }
}

/// The types in information_schema, or the types in pg_catalog, by name.
fn by_name(types: &HashMap<Oid, Type>, in_information_schema: bool) -> HashMap<&'static str, Oid> {
    let there = types.values().filter(|ty| ty.in_information_schema == in_information_schema);
    there.map(|ty| (ty.name, ty.oid)).collect()
}

fn types(table: &Table) -> HashMap<Oid, Type> {
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

/// The functions of a table, with their extension if they belong to one.
pub(super) fn functions(
    table: &Table,
    aggregates: Option<&Table>,
    brought_by: Option<&'static str>,
) -> Named<Function> {
    let row_of = aggregates.into_iter().flat_map(|table| table.rows());
    let row_of = row_of.map(|row| (row.number("aggfnoid"), aggregate(row)));
    let mut aggregates: HashMap<Oid, Aggregate> = row_of.collect();
    let read = |row: Row<'_>| {
        let oid: Oid = row.number("oid");
        function(row, aggregates.remove(&oid), brought_by)
    };
    Named::new(table.rows().map(read).collect(), |f| f.oid, |f| &f.name)
}

fn function(
    row: Row<'_>,
    aggregate: Option<Aggregate>,
    brought_by: Option<&'static str>,
) -> Function {
    let args = tsv::oid_vector(row.text("proargtypes"));
    let defaults = match row.text("argdefaults") {
        tsv::NULL => Vec::new(),
        text => tsv::split_expressions(text),
    };
    Function {
        oid: row.number("oid"),
        schema: match row.number("pronamespace") {
            _ if brought_by.is_some() => 0,
            crate::PG_CATALOG => crate::PG_CATALOG,
            _ => crate::INFORMATION_SCHEMA,
        },
        name: row.text("proname").into(),
        brought_by,
        owner: row.number("proowner"),
        kind: match (aggregate, row.byte("prokind")) {
            (Some(aggregate), _) => FunctionKind::Aggregate(Box::new(aggregate)),
            (None, b'w') => FunctionKind::Window,
            (None, b'p') => FunctionKind::Procedure,
            _ => FunctionKind::Plain,
        },
        declared: declared(&row, &args),
        args: args.into(),
        ret: row.number("prorettype"),
        retset: row.flag("proretset"),
        strict: row.flag("proisstrict"),
        leakproof: row.flag("proleakproof"),
        security_definer: row.flag("prosecdef"),
        volatility: match row.byte("provolatile") {
            b'i' => Volatility::Immutable,
            b's' => Volatility::Stable,
            _ => Volatility::Volatile,
        },
        parallel: match row.byte("proparallel") {
            b's' => Parallel::Safe,
            b'r' => Parallel::Restricted,
            _ => Parallel::Unsafe,
        },
        cost: row.number("procost"),
        rows: row.number("prorows"),
        variadic: row.number("provariadic"),
        support: row.number("prosupport"),
        defaults: defaults.into_iter().map(Text::from).collect(),
        body: match row.number("prolang") {
            SQL_LANGUAGE => Body::Sql { text: row.text("prosrc").into() },
            language => Body::Native { language, source: row.text("prosrc").into() },
        },
        config: Box::default(),
        comment: None,
        reads: Box::default(),
    }
}

/// All arguments, if they have names or modes.
fn declared(row: &Row<'_>, args: &[Oid]) -> Box<[Argument]> {
    let modes = tsv::array(row.text("proargmodes"));
    let names = tsv::array(row.text("proargnames"));
    if modes.is_empty() && names.is_empty() {
        return Box::default();
    }
    let all = tsv::array(row.text("proallargtypes"));
    let all = all.iter().map(|ty| ty.parse().unwrap_or(0)).collect::<Vec<Oid>>();
    let types = if all.is_empty() { args } else { &all };
    let argument = |(i, ty): (usize, &Oid)| Argument {
        name: names.get(i).copied().unwrap_or_default().into(),
        mode: modes.get(i).map_or(ArgumentMode::In, |mode| ArgumentMode::of(mode)),
        ty: *ty,
    };
    types.iter().enumerate().map(argument).collect()
}

fn aggregate(row: Row<'_>) -> Aggregate {
    Aggregate {
        kind: match row.byte("aggkind") {
            b'n' => AggregateKind::Normal,
            b'o' => AggregateKind::OrderedSet,
            _ => AggregateKind::HypotheticalSet,
        },
        direct_args: row.number("aggnumdirectargs"),
        transition: row.number("aggtransfn"),
        state: row.number("aggtranstype"),
        initial: row.get("agginitval").map(Text::from),
        finish: row.number("aggfinalfn"),
        finish_extra: row.flag("aggfinalextra"),
        finish_modify: FinishModify::of(row.byte("aggfinalmodify")),
        combine: row.number("aggcombinefn"),
        serialize: row.number("aggserialfn"),
        deserialize: row.number("aggdeserialfn"),
        sort_operator: row.number("aggsortop"),
        space: row.number("aggtransspace"),
        moving: (row.number::<Oid>("aggmtransfn") != 0).then(|| moving(row)),
    }
}

fn moving(row: Row<'_>) -> Moving {
    Moving {
        transition: row.number("aggmtransfn"),
        inverse: row.number("aggminvtransfn"),
        state: row.number("aggmtranstype"),
        initial: row.get("aggminitval").map(Text::from),
        finish: row.number("aggmfinalfn"),
        finish_extra: row.flag("aggmfinalextra"),
        finish_modify: FinishModify::of(row.byte("aggmfinalmodify")),
        space: row.number("aggmtransspace"),
    }
}

fn operators(table: &Table) -> Named<Operator> {
    let read = |row: Row<'_>| Operator {
        oid: row.number("oid"),
        schema: row.number("oprnamespace"),
        name: row.text("oprname").into(),
        left: row.number("oprleft"),
        right: row.number("oprright"),
        result: row.number("oprresult"),
        func: row.number("oprcode"),
        commutator: row.number("oprcom"),
        negator: row.number("oprnegate"),
        can_hash: row.flag("oprcanhash"),
        can_merge: row.flag("oprcanmerge"),
        restrict: row.number("oprrest"),
        join: row.number("oprjoin"),
        owner: BOOTSTRAP_SUPERUSER,
        comment: None,
    };
    Named::new(table.rows().map(read).collect(), |o| o.oid, |o| &o.name)
}

fn casts(table: &Table) -> HashMap<(Oid, Oid), Cast> {
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

/// pg_am OID of btree.
const BTREE_AM: Oid = 403;

/// Default orderings by type, and the strategies of their families' operators.
fn orderings(opclasses: &Table, amops: &Table) -> (HashMap<Oid, Ordering>, HashMap<Oid, Strategy>) {
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
