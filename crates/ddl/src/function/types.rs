//! The types in a function's declaration: those of its arguments, and of its result
//! (compute_return_type in functioncmds.c), and the pseudo-types that may be there (pg_proc.c).

use super::super::DdlContext;
use super::super::drop::relation_name;
use super::parameters::Parameters;
use steppe_catalog::builtin;
use steppe_catalog::objects::ArgumentMode;
use steppe_sql::ast::{CreateFunctionStmt, ObjectName, TypeName};
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// The type of a parameter: 42704 at its place if there is none.
pub(super) fn of_parameter(ctx: &mut DdlContext<'_>, name: &TypeName) -> Result<Oid> {
    let undefined = |shown: &str| format!("type {shown} does not exist");
    let at = name.location.position(ctx.source);
    let found = resolve(ctx, name, undefined);
    found.map_err(|error| match error.sqlstate() {
        SqlState::UNDEFINED_TABLE => error,
        _ => error.at(at),
    })
}

/// The result: its type, and whether it is a set.
pub(super) fn of_result(
    ctx: &mut DdlContext<'_>,
    create: &CreateFunctionStmt,
    parameters: &Parameters,
) -> Result<(Oid, bool)> {
    let Some(name) = create.return_type.as_ref().filter(|_| !create.is_procedure) else {
        return match parameters.result {
            Some(result) => Ok((result, false)),
            None if create.is_procedure => Ok((oid::VOID, false)),
            None => Err(invalid("function result type must be specified".into())),
        };
    };
    let result = resolve(ctx, name, |shown| format!("type \"{shown}\" does not exist"))?;
    if let Some(demanded) = parameters.result.filter(|demanded| *demanded != result) {
        let demanded = ctx.format_type(demanded);
        let message = format!("function result type must be {demanded} because of OUT parameters");
        return Err(invalid(message));
    }
    Ok((result, name.setof))
}

/// A type by its name as written, or that of a column (`t.c%TYPE`), about which a notice tells.
fn resolve(
    ctx: &mut DdlContext<'_>,
    name: &TypeName,
    undefined: impl FnOnce(&str) -> String,
) -> Result<Oid> {
    if name.percent_type {
        return of_column(ctx, name);
    }
    ctx.resolve_type(name).map(|ty| ty.oid).map_err(|error| match error.sqlstate() {
        SqlState::UNDEFINED_OBJECT => {
            let brackets = if name.array_bounds.is_empty() { "" } else { "[]" };
            let shown = format!("{}{brackets}", name.name);
            Error::new(SqlState::UNDEFINED_OBJECT, undefined(&shown))
        }
        _ => error,
    })
}

fn of_column(ctx: &mut DdlContext<'_>, name: &TypeName) -> Result<Oid> {
    let improper = |what: &str| {
        let message = format!("improper %TYPE reference (too {what} dotted names): {}", name.name);
        Err(Error::new(SqlState::SYNTAX_ERROR, message))
    };
    let Some((column, table)) = name.name.parts().split_last() else { return improper("few") };
    match table.len() {
        0 => return improper("few"),
        1..=3 => {}
        _ => return improper("many"),
    }
    let table = relation_name(&ObjectName(table.to_vec()));
    let Some(relation) = ctx.find(&table)? else { return Err(table.undefined()) };
    let Some(position) = relation.column_index(column) else {
        let message =
            format!("column \"{column}\" of relation \"{}\" does not exist", relation.name);
        return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
    };
    let mut found = relation.columns[position].type_oid;
    if !name.array_bounds.is_empty() {
        let array = ctx.catalog().ty(found).map_or(0, |ty| ty.array);
        if array == 0 {
            let message = format!("type \"{}%TYPE[]\" does not exist", name.name);
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
        }
        found = array;
    }
    let shown = ctx.format_type(found);
    ctx.notice(format!("type reference {}%TYPE converted to {shown}", name.name));
    Ok(found)
}

/// 42P13 for a result whose type the arguments cannot tell: of a polymorphic type, or `internal`.
pub(super) fn check_results(
    ctx: &mut DdlContext<'_>,
    parameters: &Parameters,
    result: Oid,
) -> Result<()> {
    let outputs = parameters
        .all
        .iter()
        .filter(|argument| !matches!(argument.mode, ArgumentMode::In | ArgumentMode::Variadic));
    for ty in std::iter::once(result).chain(outputs.map(|argument| argument.ty)) {
        if let Some(needed) = missing_polymorphic(ty, &parameters.inputs) {
            let shown = ctx.format_type(ty);
            let detail =
                format!("A result of type {shown} requires at least one input of type {needed}.");
            return Err(invalid("cannot determine result data type".into()).detail(detail));
        }
        if ty == oid::INTERNAL && !parameters.inputs.contains(&oid::INTERNAL) {
            let detail = "A result of type internal requires at least one input of type internal.";
            let message = "unsafe use of pseudo-type \"internal\"";
            return Err(invalid(message.into()).detail(detail));
        }
    }
    Ok(())
}

/// The polymorphic types of one family. An argument of one of them decides the type of a result of
/// another (check_valid_polymorphic_signature).
const FAMILY: &[Oid] = &[
    oid::ANYELEMENT,
    oid::ANYARRAY,
    oid::ANYNONARRAY,
    oid::ANYENUM,
    oid::ANYRANGE,
    oid::ANYMULTIRANGE,
];
/// The types of the other family.
const COMPATIBLE_FAMILY: &[Oid] = &[
    oid::ANYCOMPATIBLE,
    oid::ANYCOMPATIBLEARRAY,
    oid::ANYCOMPATIBLENONARRAY,
    oid::ANYCOMPATIBLERANGE,
    oid::ANYCOMPATIBLEMULTIRANGE,
];

/// The error's list of input types that a polymorphic result needs, if the function has none of
/// them.
pub(super) fn missing_polymorphic(result: Oid, inputs: &[Oid]) -> Option<&'static str> {
    let has = |family: &[Oid]| inputs.iter().any(|input| family.contains(input));
    let (family, needed): (&[Oid], &str) = match result {
        oid::ANYRANGE | oid::ANYMULTIRANGE => {
            (&[oid::ANYRANGE, oid::ANYMULTIRANGE], "anyrange or anymultirange")
        }
        oid::ANYCOMPATIBLERANGE | oid::ANYCOMPATIBLEMULTIRANGE => (
            &[oid::ANYCOMPATIBLERANGE, oid::ANYCOMPATIBLEMULTIRANGE],
            "anycompatiblerange or anycompatiblemultirange",
        ),
        ty if FAMILY.contains(&ty) => {
            (FAMILY, "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange")
        }
        ty if COMPATIBLE_FAMILY.contains(&ty) => (
            COMPATIBLE_FAMILY,
            "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or \
             anycompatiblemultirange",
        ),
        _ => return None,
    };
    (!has(family)).then_some(needed)
}

/// Whether a type is polymorphic.
pub(super) fn is_polymorphic(ty: Oid) -> bool {
    FAMILY.contains(&ty) || COMPATIBLE_FAMILY.contains(&ty)
}

/// Whether it is a pseudo-type.
pub(crate) fn is_pseudo(ty: Oid) -> bool {
    builtin::ty(ty).is_some_and(|ty| ty.kind == b'p')
}

/// 42P13
pub(super) fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message)
}
