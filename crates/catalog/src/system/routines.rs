//! information_schema.routines and parameters: functions and their arguments.

use super::functions::language_of;
use super::information_schema::{data_type, yes};
use super::rows::{RowsBuilder, optional, text};
use super::session::SystemContext;
use super::views::schema_name;
use crate::builtin;
use crate::objects::{Argument, ArgumentMode, Function, FunctionKind, Volatility};
use crate::{Catalog, PG_CATALOG};
use steppe_types::{Datum, Oid};

/// information_schema.routines
pub(super) fn routines(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for_each(context.catalog, |function| routine_row(context, function, out));
}

/// information_schema.parameters
pub(super) fn parameters(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    let path = context.session.search_path();
    let shown = |text: &str| context.catalog.with_names(text, &path).into_owned();
    for_each(context.catalog, |function| {
        let mut inputs = 0;
        for (argument, number) in function.arguments().iter().zip(1..) {
            let default = match argument.mode.is_input() {
                true => {
                    inputs += 1;
                    function.default_of(inputs)
                }
                false => None,
            };
            let default = default.map(shown);
            parameter_row(context, function, (argument, number), default, out);
        }
    });
}

/// All functions: built-in ones, those of installed extensions, and users'.
fn for_each(catalog: &Catalog, mut f: impl FnMut(&Function)) {
    builtin::functions().for_each(&mut f);
    for extension in catalog.extensions() {
        builtin::functions_of_extension(&extension.name).into_iter().for_each(&mut f);
    }
    catalog.stored::<Function>().iter().for_each(|function| f(function));
}

/// The schema and name of a function as other views refer to it.
fn specific(context: &SystemContext<'_>, function: &Function) -> [(&'static str, Datum); 3] {
    [
        ("specific_catalog", text(context.database)),
        ("specific_schema", schema_of(context, function)),
        ("specific_name", text(format!("{}_{}", function.name, function.oid))),
    ]
}

fn schema_of(context: &SystemContext<'_>, function: &Function) -> Datum {
    context.catalog.schema_of(function).map_or(Datum::Null, |oid| schema_name(context.catalog, oid))
}

/// The columns data_type, udt_schema and udt_name of a type.
fn type_columns(context: &SystemContext<'_>, ty: Oid) -> [Datum; 3] {
    let (schema, name) = context.catalog.type_name(ty).unwrap_or((PG_CATALOG, "???".into()));
    let is_array = builtin::ty(ty).is_some_and(|ty| ty.element != 0 && ty.len == -1);
    let shown = match schema == PG_CATALOG || is_array {
        true => data_type(ty),
        false => text("USER-DEFINED"),
    };
    [shown, schema_name(context.catalog, schema), text(name)]
}

fn routine_row(context: &SystemContext<'_>, function: &Function, out: &mut RowsBuilder) {
    let procedure = function.is_procedure();
    let unless_procedure = |datum: Datum| if procedure { Datum::Null } else { datum };
    let kind = match function.kind {
        FunctionKind::Plain => Some("FUNCTION"),
        FunctionKind::Procedure => Some("PROCEDURE"),
        _ => None,
    };
    let language = builtin::language_name(language_of(function)).unwrap_or("internal");
    let [shown, type_schema, type_name] = type_columns(context, function.ret);
    let own = [
        ("routine_catalog", text(context.database)),
        ("routine_schema", schema_of(context, function)),
        ("routine_name", text(&*function.name)),
        ("routine_type", optional(kind)),
        ("data_type", unless_procedure(shown)),
        ("type_udt_catalog", unless_procedure(text(context.database))),
        ("type_udt_schema", unless_procedure(type_schema)),
        ("type_udt_name", unless_procedure(type_name)),
        ("dtd_identifier", unless_procedure(text("0"))),
        ("routine_body", text(if language == "sql" { "SQL" } else { "EXTERNAL" })),
        ("routine_definition", text(function.source())),
        ("external_name", optional((language == "c").then(|| function.source().to_owned()))),
        ("external_language", text(language.to_uppercase())),
        ("parameter_style", text("GENERAL")),
        ("is_deterministic", yes(function.volatility == Volatility::Immutable)),
        ("sql_data_access", text("MODIFIES")),
        ("is_null_call", unless_procedure(yes(function.strict))),
        ("schema_level_routine", yes(true)),
        ("max_dynamic_result_sets", Datum::Int4(0)),
        ("security_type", text(if function.security_definer { "DEFINER" } else { "INVOKER" })),
        ("as_locator", yes(false)),
        ("is_udt_dependent", yes(false)),
    ];
    out.row(specific(context, function).into_iter().chain(own));
}

fn parameter_row(
    context: &SystemContext<'_>,
    function: &Function,
    (argument, number): (&Argument, i32),
    default: Option<String>,
    out: &mut RowsBuilder,
) {
    let mode = match argument.mode {
        ArgumentMode::In | ArgumentMode::Variadic => "IN",
        ArgumentMode::Out | ArgumentMode::Table => "OUT",
        ArgumentMode::InOut => "INOUT",
    };
    let [shown, type_schema, type_name] = type_columns(context, argument.ty);
    let name = (!argument.name.is_empty()).then(|| argument.name.to_string());
    let own = [
        ("ordinal_position", Datum::Int4(number)),
        ("parameter_mode", text(mode)),
        ("is_result", yes(false)),
        ("as_locator", yes(false)),
        ("parameter_name", optional(name)),
        ("data_type", shown),
        ("udt_catalog", text(context.database)),
        ("udt_schema", type_schema),
        ("udt_name", type_name),
        ("dtd_identifier", text(number.to_string())),
        ("parameter_default", optional(default)),
    ];
    out.row(specific(context, function).into_iter().chain(own));
}
