//! pg_proc: PostgreSQL's own functions, those of installed extensions, and users'.

use super::facts::{self, Rows};
use super::rows::{RowsBuilder, array, optional, text, vector};
use super::session::SystemContext;
use super::shape::Shape;
use crate::builtin;
use crate::objects::{ArgumentMode, Body, Function, FunctionKind, Parallel, Volatility};
use std::sync::Arc;
use steppe_types::{Datum, Error, Oid, Result, oid};

/// pg_class OID of pg_proc.
pub(super) const PG_PROC: Oid = 1255;

/// The rows of pg_proc.
pub(super) fn pg_proc(shape: &'static Shape, context: &SystemContext<'_>) -> Result<Option<Rows>> {
    let built_in = facts::rows(shape)?;
    let catalog = context.catalog;
    if catalog.extensions().next().is_none() && catalog.stored::<Function>().is_empty() {
        return Ok(built_in);
    }
    let mut rows = built_in.map(|rows| (*rows).clone()).unwrap_or_default();
    let namespace = shape.position("pronamespace");
    let namespace = namespace.ok_or_else(|| Error::internal("pg_proc has no namespaces"))?;
    for extension in catalog.extensions() {
        let brought = builtin::table_of_extension(&extension.name);
        for mut row in facts::rows_of(brought, &extension.name, shape)? {
            row[namespace] = Datum::Oid(extension.schema);
            rows.push(row);
        }
    }
    let mut stored = RowsBuilder::of(shape);
    catalog.stored::<Function>().iter().for_each(|function| row(function, &mut stored));
    rows.extend(stored.finish()?);
    Ok(Some(Arc::new(rows)))
}

fn row(function: &Function, out: &mut RowsBuilder) {
    let flag = Datum::Bool;
    let has_modes = function.declared.iter().any(|a| a.mode != ArgumentMode::In);
    let has_names = function.declared.iter().any(|a| !a.name.is_empty());
    let declared = || function.declared.iter();
    let types = |types: Vec<Oid>| types.into_iter().map(Datum::Oid).collect::<Vec<_>>();
    let when = |is_wanted: bool, value: &dyn Fn() -> Datum| match is_wanted {
        true => value(),
        false => Datum::Null,
    };
    let language = language_of(function);
    let sql_body = match &function.body {
        Body::SqlStandard { text } => Some(text.to_string()),
        _ => None,
    };
    out.row([
        ("oid", Datum::Oid(function.oid)),
        ("proname", text(&*function.name)),
        ("pronamespace", Datum::Oid(function.schema)),
        ("proowner", Datum::Oid(function.owner)),
        ("prolang", Datum::Oid(language)),
        ("procost", Datum::Float4(function.cost)),
        ("prorows", Datum::Float4(function.rows)),
        ("provariadic", Datum::Oid(function.variadic)),
        ("prosupport", Datum::Oid(function.support)),
        ("prokind", Datum::Char(kind_letter(function))),
        ("prosecdef", flag(function.security_definer)),
        ("proleakproof", flag(function.leakproof)),
        ("proisstrict", flag(function.strict)),
        ("proretset", flag(function.retset)),
        ("provolatile", Datum::Char(volatility_letter(function.volatility))),
        ("proparallel", Datum::Char(parallel_letter(function.parallel))),
        ("pronargs", Datum::Int2(function.args.len() as i16)),
        ("pronargdefaults", Datum::Int2(function.defaults.len() as i16)),
        ("prorettype", Datum::Oid(function.ret)),
        ("proargtypes", vector(oid::OID, types(function.args.to_vec()))),
        (
            "proallargtypes",
            when(has_modes, &|| array(oid::OID, types(declared().map(|a| a.ty).collect()))),
        ),
        (
            "proargmodes",
            when(has_modes, &|| {
                array(oid::CHAR, declared().map(|a| Datum::Char(a.mode.letter())).collect())
            }),
        ),
        (
            "proargnames",
            when(has_names, &|| array(oid::TEXT, declared().map(|a| text(&*a.name)).collect())),
        ),
        (
            "proargdefaults",
            when(!function.defaults.is_empty(), &|| text(function.defaults.join(", "))),
        ),
        ("protrftypes", Datum::Null),
        ("prosrc", text(if sql_body.is_some() { "" } else { function.source() })),
        ("probin", Datum::Null),
        ("prosqlbody", optional(sql_body)),
        (
            "proconfig",
            when(!function.config.is_empty(), &|| {
                let settings = function.config.iter();
                let shown = settings.map(|(name, value)| text(format!("{name}={value}")));
                array(oid::TEXT, shown.collect())
            }),
        ),
        ("proacl", Datum::Null),
    ]);
}

/// prolang
pub(super) fn language_of(function: &Function) -> Oid {
    match function.body {
        Body::Native { language, .. } | Body::Procedural { language, .. } => language,
        Body::Sql { .. } | Body::SqlStandard { .. } => builtin::SQL_LANGUAGE,
    }
}

fn kind_letter(function: &Function) -> u8 {
    match function.kind {
        FunctionKind::Plain => b'f',
        FunctionKind::Procedure => b'p',
        FunctionKind::Window => b'w',
        FunctionKind::Aggregate(_) => b'a',
    }
}

fn volatility_letter(volatility: Volatility) -> u8 {
    match volatility {
        Volatility::Immutable => b'i',
        Volatility::Stable => b's',
        Volatility::Volatile => b'v',
    }
}

fn parallel_letter(parallel: Parallel) -> u8 {
    match parallel {
        Parallel::Safe => b's',
        Parallel::Restricted => b'r',
        Parallel::Unsafe => b'u',
    }
}
