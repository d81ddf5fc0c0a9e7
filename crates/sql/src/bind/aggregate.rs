//! The functions and types of a user's aggregate: at its creation, and in a call (lookup_agg_function
//! in pg_aggregate.c, resolve_aggregate_transtype in parse_agg.c).

use super::candidate::{Call, Candidate, Selection, select_candidate, settle_equal};
use super::coerce::{can_coerce, is_polymorphic, is_row, is_row_array, resolve_polymorphic};
use super::{BindContext, Binder, Params};
use crate::ast::ObjectName;
use crate::expr::{Aggregate, CallSyntax, Expr, TypeRef};
use steppe_catalog::builtin::{CastContext, CastMethod};
use steppe_catalog::{Catalog, FunctionRef};
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// A function that an aggregate calls with values of some types.
pub struct SupportFunction {
    /// The function.
    pub function: FunctionRef,
    /// The type of its result for these arguments, which may be polymorphic.
    pub ret: Oid,
}

/// The function that a name means for arguments of these types, some of which may be polymorphic.
/// Its arguments must be of the same types, or stored in the same form. `variadic` is the type of
/// the aggregate's VARIADIC argument, or 0. 42883 if there is none. 42804 if it returns a
/// set, or if values would have to be converted.
pub fn find_support_function(
    ctx: &BindContext<'_>,
    name: &ObjectName,
    inputs: &[Oid],
    variadic: Oid,
) -> Result<SupportFunction> {
    Binder::new(ctx, Params::none()).support_function(name, inputs, variadic)
}

impl Binder<'_> {
    fn support_function(
        &self,
        name: &ObjectName,
        inputs: &[Oid],
        variadic: Oid,
    ) -> Result<SupportFunction> {
        let catalog = self.ctx.catalog;
        let missing = || {
            let message =
                format!("function {name}({}) does not exist", self.format_signature(inputs));
            Error::new(SqlState::UNDEFINED_FUNCTION, message)
        };
        let mismatch = |message: String| Error::new(SqlState::DATATYPE_MISMATCH, message);
        let mut candidates: Vec<Candidate> = Vec::new();
        let call = Call { given: inputs.len(), names: &[], variadic: true };
        self.each_function(name, &mut |place, function| {
            let candidate = call.candidate(function, place);
            let is_whole =
                |c: &Candidate| c.variadic_from.is_none() && c.args.len() == inputs.len();
            candidates.extend(candidate.filter(is_whole));
        });
        settle_equal(&mut candidates);
        let chosen = match candidates.iter().position(|c| c.args == inputs) {
            Some(exact) => Selection::One(candidates.swap_remove(exact)),
            None => {
                let fits =
                    |c: &Candidate| can_coerce(catalog, inputs, &c.args, CastContext::Implicit);
                let fitting = candidates.into_iter().filter(fits).map(|c| (c.args.clone(), c));
                select_candidate(catalog, inputs, fitting.collect())
            }
        };
        let Selection::One(Candidate { proc: function, .. }) = chosen else {
            return Err(missing());
        };
        let is_plain =
            !function.is_aggregate() && !function.is_window() && !function.is_procedure();
        if !is_plain || function.args.len() != inputs.len() {
            return Err(missing());
        }
        let signature = || format!("{name}({})", self.format_signature(&function.args));
        if function.retset {
            return Err(mismatch(format!("function {} returns a set", signature())));
        }
        if variadic == oid::ANY && function.variadic != oid::ANY {
            return Err(mismatch(format!(
                "function {} must accept VARIADIC ANY to be used in this aggregate",
                signature()
            )));
        }
        // A polymorphic type of the aggregate stands for the function's one of the same name.
        let is_kept = inputs.iter().any(|input| is_polymorphic(*input));
        let ret = match is_polymorphic(function.ret) && !is_kept {
            true => resolve_polymorphic(catalog, inputs, &function.args)
                .and_then(|poly| poly.actual(function.ret))
                .ok_or_else(missing)?,
            false => function.ret,
        };
        for (input, declared) in inputs.iter().zip(&function.args) {
            if !is_polymorphic(*declared) && !is_binary_coercible(catalog, *input, *declared) {
                let message = format!("function {} requires run-time type coercion", signature());
                return Err(mismatch(message));
            }
        }
        Ok(SupportFunction { function, ret })
    }
}

/// Whether a value of one type is one of the other as it is stored (IsBinaryCoercible).
pub fn is_binary_coercible(catalog: &Catalog, from: Oid, to: Oid) -> bool {
    if from == to || matches!(to, oid::ANY | oid::ANYELEMENT | oid::ANYCOMPATIBLE) {
        return true;
    }
    let from = catalog.base_type(from).oid;
    let is_array = || catalog.ty(from).is_some_and(|ty| ty.is_true_array());
    let by_kind = match to {
        oid::ANYARRAY | oid::ANYCOMPATIBLEARRAY => is_array(),
        oid::ANYNONARRAY | oid::ANYCOMPATIBLENONARRAY => !is_array(),
        oid::ANYENUM => catalog.type_category(from) == b'E',
        oid::RECORD => is_row(from),
        oid::RECORD_ARRAY => is_row_array(from),
        _ => false,
    };
    from == to
        || by_kind
        || catalog.cast(from, to).is_some_and(|cast| {
            cast.method == CastMethod::Binary && cast.context == CastContext::Implicit
        })
}

/// The calls that compute a user's aggregate, over rows of slots: the state, then the arguments.
pub struct AggregateCalls {
    /// The state after a row.
    pub transition: Expr,
    /// The transition function is strict.
    pub is_strict: bool,
    /// The state before the first row, as a literal of its type.
    pub initial: Option<Expr>,
    /// The result; without a final function it is the state.
    pub finish: Option<Expr>,
}

/// The calls of an aggregate that is no built-in one.
pub fn aggregate_calls(catalog: &Catalog, call: &Aggregate) -> Result<AggregateCalls> {
    let lost = || Error::internal(format!("aggregate {:?} has lost a function", call.func));
    let info = call.func.aggregate().ok_or_else(lost)?;
    let inputs: Vec<Oid> = call.args.iter().map(|arg| arg.ty().oid).collect();
    let state = match is_polymorphic(info.state) {
        true => resolve_polymorphic(catalog, &inputs, &call.func.args)
            .and_then(|poly| poly.actual(info.state))
            .ok_or_else(lost)?,
        false => info.state,
    };
    let slot = |(index, ty): (usize, &Oid)| Expr::Slot { index, ty: TypeRef::plain(*ty) };
    let row: Vec<Expr> = std::iter::once(&state).chain(&inputs).enumerate().map(slot).collect();
    let function = |oid: Oid| catalog.function(oid).ok_or_else(lost);
    let made = |func: FunctionRef, args: Vec<Expr>, ty: Oid| {
        let syntax = CallSyntax::Function;
        Expr::Func { func, args, ty: TypeRef::plain(ty), syntax }
    };
    let transition = function(info.transition)?;
    let is_strict = transition.strict;
    let finish = match info.finish {
        0 => None,
        oid => {
            let mut args = vec![row[0].clone()];
            if info.finish_extra {
                let null = |ty: &Oid| Expr::Const(Datum::Null, TypeRef::plain(*ty));
                args.extend(inputs.iter().map(null));
            }
            Some(made(function(oid)?, args, call.ty.oid))
        }
    };
    Ok(AggregateCalls {
        transition: made(transition, row, state),
        is_strict,
        initial: info.initial.as_deref().map(|text| literal(catalog, text, state)).transpose()?,
        finish,
    })
}

/// A string as a value of a type: 22P02 and the like for one that is none.
fn literal(catalog: &Catalog, text: &str, ty: Oid) -> Result<Expr> {
    let io = steppe_types::io::IoContext::default();
    let ctx = BindContext { catalog, search_path: &[], io: &io, source: "" };
    literal_of(&ctx, text, ty)
}

/// The same, with the settings of a session.
pub fn literal_of(ctx: &BindContext<'_>, text: &str, ty: Oid) -> Result<Expr> {
    let unknown = Expr::Const(Datum::text(text), TypeRef::plain(oid::UNKNOWN));
    Binder::new(ctx, Params::none()).coerce_implicit(unknown, TypeRef::plain(ty))
}
