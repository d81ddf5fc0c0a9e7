//! The parameters of CREATE FUNCTION (interpret_function_parameter_list in functioncmds.c).

use super::super::DdlContext;
use super::super::table::stored_text;
use super::find::Kind;
use super::types;
use steppe_catalog::objects::{Argument, ArgumentMode, Text};
use steppe_sql::ast::{FunctionParameter, ParameterMode};
use steppe_sql::bind::bind_parameter_default;
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// The parameters of a new function.
pub(super) struct Parameters {
    /// The types of the input arguments.
    pub(super) inputs: Vec<Oid>,
    /// All arguments, in the order in which they are written.
    pub(super) all: Vec<Argument>,
    /// The defaults of the last input arguments, as stored, with their types.
    pub(super) defaults: Vec<(Text, Oid)>,
    /// The type of a VARIADIC argument, or 0.
    pub(super) variadic: Oid,
    /// The result type that OUT arguments demand.
    pub(super) result: Option<Oid>,
}

impl Parameters {
    /// All arguments if one has a name, or a mode other than IN. Otherwise the list is empty,
    /// because `inputs` has the arguments.
    pub(super) fn declared(&self) -> Box<[Argument]> {
        let is_plain = |a: &Argument| a.name.is_empty() && a.mode == ArgumentMode::In;
        match self.all.iter().all(is_plain) {
            true => Box::default(),
            false => self.all.clone().into(),
        }
    }
}

/// Reads the list, and binds the defaults.
pub(super) fn interpret(
    ctx: &mut DdlContext<'_>,
    list: &[FunctionParameter],
    kind: Kind,
) -> Result<Parameters> {
    let mut found = Parameters {
        inputs: Vec::new(),
        all: Vec::with_capacity(list.len()),
        defaults: Vec::new(),
        variadic: 0,
        result: None,
    };
    let mut outputs = 0;
    for (position, parameter) in list.iter().enumerate() {
        let mode = mode_of(parameter.mode);
        let ty = types::of_parameter(ctx, &parameter.type_name)?;
        let invalid = |message: String| {
            let at = parameter.location.position(ctx.source);
            Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message).at(at))
        };
        if parameter.type_name.setof {
            return invalid(format!("{kind}s cannot accept set arguments"));
        }
        if mode.is_input() {
            if found.variadic != 0 {
                return invalid("VARIADIC parameter must be the last input parameter".into());
            }
            found.inputs.push(ty);
        }
        if mode.is_output() {
            if kind == Kind::Procedure {
                if found.variadic != 0 {
                    return invalid("VARIADIC parameter must be the last parameter".into());
                }
                found.result = Some(oid::RECORD);
            } else if outputs == 0 {
                found.result = Some(ty);
            } else {
                found.result = Some(oid::RECORD);
            }
            outputs += 1;
        }
        if mode == ArgumentMode::Variadic {
            found.variadic = ty;
            if !may_be_variadic(ctx, ty) {
                return invalid("VARIADIC parameter must be an array".into());
            }
        }
        let name = parameter.name.as_deref().unwrap_or_default();
        if !name.is_empty() && list[..position].iter().any(|other| conflicts(other, parameter)) {
            return invalid(format!("parameter name \"{name}\" used more than once"));
        }
        match &parameter.default {
            Some(_) if !mode.is_input() => {
                return invalid("only input parameters can have default values".into());
            }
            Some(default) => {
                let bound = ctx.binding(|b| bind_parameter_default(b, default, ty))?;
                let text = stored_text(ctx, &bound);
                found.defaults.push((text.into(), bound.ty().oid));
            }
            None if mode.is_input() && !found.defaults.is_empty() => {
                return invalid(
                    "input parameters after one with a default value must also have defaults"
                        .into(),
                );
            }
            None if kind == Kind::Procedure && !found.defaults.is_empty() => {
                return invalid(
                    "procedure OUT parameters cannot appear after one with a default value".into(),
                );
            }
            None => {}
        }
        found.all.push(Argument { name: name.to_string().into(), mode, ty });
    }
    Ok(found)
}

/// Two parameters of one name, which are not one IN and one OUT.
fn conflicts(one: &FunctionParameter, other: &FunctionParameter) -> bool {
    let (a, b) = (mode_of(one.mode), mode_of(other.mode));
    let are_apart = a.is_input() != b.is_input() && a.is_output() != b.is_output();
    one.name == other.name && !are_apart
}

fn may_be_variadic(ctx: &mut DdlContext<'_>, ty: Oid) -> bool {
    matches!(ty, oid::ANYARRAY | oid::ANYCOMPATIBLEARRAY | oid::ANY)
        || ctx.catalog().ty(ty).is_some_and(|ty| ty.is_true_array())
}

/// The element type of a VARIADIC argument, as pg_proc keeps it (provariadic).
pub(super) fn variadic_element(ctx: &mut DdlContext<'_>, ty: Oid) -> Oid {
    match ty {
        0 => 0,
        oid::ANY => oid::ANY,
        oid::ANYARRAY => oid::ANYELEMENT,
        oid::ANYCOMPATIBLEARRAY => oid::ANYCOMPATIBLE,
        array => ctx.catalog().ty(array).map_or(0, |ty| ty.element),
    }
}

fn mode_of(mode: ParameterMode) -> ArgumentMode {
    match mode {
        ParameterMode::In => ArgumentMode::In,
        ParameterMode::Out => ArgumentMode::Out,
        ParameterMode::InOut => ArgumentMode::InOut,
        ParameterMode::Variadic => ArgumentMode::Variadic,
        ParameterMode::Table => ArgumentMode::Table,
    }
}
