//! CREATE AGGREGATE (aggregatecmds.c, pg_aggregate.c).
//!
//! An aggregate is a function without code of its own: the row of pg_aggregate names the functions
//! that compute it. It depends on these functions, and on the types of its states.

use super::super::DdlContext;
use super::find::Kind;
use super::parameters::{self, Parameters};
use super::types::{invalid, is_polymorphic, is_pseudo, missing_polymorphic};
use super::{aggregate_options, refused, store, target_schema};
use aggregate_options::{Definition, MovingDefinition};
use steppe_catalog::builtin::INTERNAL_LANGUAGE;
use steppe_catalog::objects::{
    Aggregate, AggregateKind, Body, FunctionKind, Moving, Parallel, Text, Volatility,
};
use steppe_catalog::{BOOTSTRAP_SUPERUSER, Function};
use steppe_sql::ast::{DefineStmt, FunctionParameter, ObjectName, TypeName};
use steppe_sql::bind::{find_support_function, is_binary_coercible, literal_of};
use steppe_types::oid::FIRST_NORMAL_OID;
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// procost of an aggregate.
const COST: f32 = 1.0;

/// CREATE AGGREGATE; returns the command tag.
pub(crate) fn create_aggregate(
    ctx: &mut DdlContext<'_>,
    create: &DefineStmt,
) -> Result<&'static str> {
    let schema = target_schema(ctx, &create.name)?;
    let direct = create.arguments.as_ref().and_then(|arguments| arguments.direct);
    let definition = aggregate_options::read(ctx, &create.definition, direct.is_some())?;
    definition.check()?;
    let parameters = arguments(ctx, create, &definition)?;
    if direct.is_some() {
        return Err(Error::not_supported("CREATE AGGREGATE of an ordered set"));
    }
    let mut new = New { ctx, parameters, uses: Vec::new() };
    let (aggregate, ret) = new.aggregate(&definition)?;
    let New { parameters, uses, .. } = new;
    if [aggregate.state, aggregate.moving.as_ref().map_or(0, |m| m.state)].contains(&oid::INTERNAL)
    {
        return Err(Error::not_supported("CREATE AGGREGATE with a state of type internal"));
    }
    let function = Function {
        oid: 0,
        schema,
        name: create.name.name().to_string().into(),
        brought_by: None,
        owner: BOOTSTRAP_SUPERUSER,
        kind: FunctionKind::Aggregate(Box::new(aggregate)),
        args: parameters.inputs.clone().into(),
        declared: parameters.declared(),
        ret,
        retset: false,
        strict: false,
        leakproof: false,
        security_definer: false,
        volatility: Volatility::Immutable,
        parallel: definition.parallel.unwrap_or(Parallel::Unsafe),
        cost: COST,
        rows: 0.0,
        variadic: parameters::variadic_element(ctx, parameters.variadic),
        support: 0,
        defaults: Box::default(),
        body: Body::Native { language: INTERNAL_LANGUAGE, source: "aggregate_dummy".into() },
        config: Box::default(),
        comment: None,
        reads: uses.into_iter().map(|oid| (oid, 0)).collect(),
    };
    store(ctx, function, &parameters, create.replace)?;
    Ok("CREATE AGGREGATE")
}

/// The arguments, which the old syntax has in its definition as one type.
fn arguments(
    ctx: &mut DdlContext<'_>,
    create: &DefineStmt,
    definition: &Definition,
) -> Result<Parameters> {
    let list = match (&create.arguments, &definition.base_type) {
        (None, None) => return Err(refused("aggregate input type must be specified")),
        (Some(_), Some(_)) => {
            let message = "basetype is redundant with aggregate input type specification";
            return Err(refused(message));
        }
        (Some(arguments), None) => arguments.parameters.clone(),
        (None, Some(base)) if is_any(base) => Vec::new(),
        (None, Some(base)) => vec![FunctionParameter {
            name: None,
            type_name: base.clone(),
            mode: Default::default(),
            default: None,
            location: Default::default(),
        }],
    };
    parameters::interpret(ctx, &list, Kind::Aggregate)
}

/// The word of the old syntax for an aggregate without arguments.
fn is_any(base: &TypeName) -> bool {
    base.name.schema().is_none() && base.name.name().eq_ignore_ascii_case("any")
}

/// An aggregate that is being made.
struct New<'c, 'd> {
    ctx: &'c mut DdlContext<'d>,
    parameters: Parameters,
    /// The functions and operators that it uses and that are not built in.
    uses: Vec<Oid>,
}

impl New<'_, '_> {
    /// The row of pg_aggregate, and the type of the result.
    fn aggregate(&mut self, definition: &Definition) -> Result<(Aggregate, Oid)> {
        let state = self.state_type(definition.state.as_ref())?;
        let moving_state = match &definition.moving.state {
            Some(name) => Some(self.state_type(Some(name))?),
            None => None,
        };
        definition.check_serialization(state)?;
        self.check_initial(&definition.initial, state)?;
        if let Some(state) = moving_state {
            self.check_initial(&definition.moving.initial, state)?;
        }
        for state in [Some(state), moving_state].into_iter().flatten() {
            self.check_polymorphic(state, "cannot determine transition data type")?;
        }
        let transition =
            self.transition(definition.transition.as_ref(), state, &definition.initial)?.0;
        let half = match moving_state {
            Some(state) => Some(self.moving_rows(&definition.moving, state)?),
            None => None,
        };
        let (finish, ret) =
            self.final_function(definition.finish.as_ref(), definition.finish_extra, state)?;
        let combine = self.combine(definition.combine.as_ref(), state)?;
        let serialize = self.named(
            definition.serialize.as_ref(),
            &[oid::INTERNAL],
            oid::BYTEA,
            "serialization",
        )?;
        let inputs = [oid::BYTEA, oid::INTERNAL];
        let deserialize =
            self.named(definition.deserialize.as_ref(), &inputs, oid::INTERNAL, "deserialization")?;
        self.check_polymorphic(ret, "cannot determine result data type")?;
        let moving = match (half, moving_state) {
            (Some((transition, inverse)), Some(state)) => {
                Some(self.moving(&definition.moving, state, (transition, inverse), ret)?)
            }
            _ => None,
        };
        let sort_operator = self.sort_operator(definition.sort_operator.as_ref())?;
        let aggregate = Aggregate {
            kind: AggregateKind::Normal,
            direct_args: 0,
            transition,
            state,
            initial: definition.initial.clone(),
            finish,
            finish_extra: definition.finish_extra,
            finish_modify: definition.finish_modify,
            combine,
            serialize,
            deserialize,
            sort_operator,
            space: definition.space,
            moving,
        };
        Ok((aggregate, ret))
    }

    /// 42P13 for a pseudo-type that is not polymorphic.
    fn state_type(&mut self, name: Option<&TypeName>) -> Result<Oid> {
        let name = name.ok_or_else(|| Error::internal("an aggregate without a state"))?;
        let ty = self.ctx.resolve_type(name)?.oid;
        if is_pseudo(ty) && !is_polymorphic(ty) && ty != oid::INTERNAL {
            let shown = self.ctx.format_type(ty);
            return Err(refused(format!("aggregate transition data type cannot be {shown}")));
        }
        Ok(ty)
    }

    fn check_initial(&mut self, initial: &Option<Text>, state: Oid) -> Result<()> {
        match initial {
            Some(text) if !is_pseudo(state) => {
                let read = self.ctx.binding(|b| literal_of(b, text, state));
                read.map(drop).map_err(|error| error.at(None))
            }
            _ => Ok(()),
        }
    }

    fn check_polymorphic(&mut self, ty: Oid, message: &str) -> Result<()> {
        let Some(needed) = missing_polymorphic(ty, &self.parameters.inputs) else { return Ok(()) };
        let shown = self.ctx.format_type(ty);
        let detail =
            format!("A result of type {shown} requires at least one input of type {needed}.");
        Err(invalid(message.into()).detail(detail))
    }

    /// A function for these inputs: its OID, its result's type, and whether it is strict.
    fn find(
        &mut self,
        name: &ObjectName,
        inputs: &[Oid],
        variadic: Oid,
    ) -> Result<(Oid, Oid, bool)> {
        let found = self.ctx.binding(|b| find_support_function(b, name, inputs, variadic))?;
        let oid = found.function.oid;
        if oid >= FIRST_NORMAL_OID && !self.uses.contains(&oid) {
            self.uses.push(oid);
        }
        Ok((oid, found.ret, found.function.strict))
    }

    /// The same for one that must return a type: 42804.
    fn returning(
        &mut self,
        name: &ObjectName,
        (inputs, variadic): (&[Oid], Oid),
        wanted: Oid,
        what: &str,
    ) -> Result<(Oid, bool)> {
        let (oid, ret, strict) = self.find(name, inputs, variadic)?;
        if ret != wanted {
            let wanted = self.ctx.format_type(wanted);
            let message = format!("return type of {what} function {name} is not {wanted}");
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        }
        Ok((oid, strict))
    }

    /// A function that the definition may lack.
    fn named(
        &mut self,
        name: Option<&ObjectName>,
        inputs: &[Oid],
        wanted: Oid,
        what: &str,
    ) -> Result<Oid> {
        match name {
            Some(name) => self.returning(name, (inputs, 0), wanted, what).map(|(oid, _)| oid),
            None => Ok(0),
        }
    }

    /// The state, then the arguments.
    fn with_arguments(&self, state: Oid) -> Vec<Oid> {
        std::iter::once(state).chain(self.parameters.inputs.iter().copied()).collect()
    }

    fn transition(
        &mut self,
        name: Option<&ObjectName>,
        state: Oid,
        initial: &Option<Text>,
    ) -> Result<(Oid, bool)> {
        let name = name.ok_or_else(|| Error::internal("an aggregate without a transition"))?;
        let inputs = self.with_arguments(state);
        let variadic = self.parameters.variadic;
        let (oid, strict) = self.returning(name, (&inputs, variadic), state, "transition")?;
        let catalog = self.ctx.catalog();
        let first = self.parameters.inputs.first();
        let is_state = first.is_some_and(|first| is_binary_coercible(&catalog, *first, state));
        match strict && initial.is_none() && !is_state {
            true => Err(refused(
                "must not omit initial value when transition function is strict and transition type \
                 is not compatible with input type",
            )),
            false => Ok((oid, strict)),
        }
    }

    /// The forward and the inverse transition function of a moving frame.
    fn moving_rows(&mut self, moving: &MovingDefinition, state: Oid) -> Result<(Oid, Oid)> {
        let (transition, strict) =
            self.transition(moving.transition.as_ref(), state, &moving.initial)?;
        let lost = || Error::internal("a moving aggregate without an inverse transition");
        let inverse = moving.inverse.as_ref().ok_or_else(lost)?;
        let (inputs, variadic) = (self.with_arguments(state), self.parameters.variadic);
        let (inverse, other) =
            self.returning(inverse, (&inputs, variadic), state, "inverse transition")?;
        match strict == other {
            true => Ok((transition, inverse)),
            false => Err(refused(
                "strictness of aggregate's forward and inverse transition functions must match",
            )),
        }
    }

    /// The final function, and the type of the aggregate's result.
    fn final_function(
        &mut self,
        name: Option<&ObjectName>,
        extra: bool,
        state: Oid,
    ) -> Result<(Oid, Oid)> {
        let Some(name) = name else { return Ok((0, state)) };
        let inputs = if extra { self.with_arguments(state) } else { vec![state] };
        let variadic = if extra { self.parameters.variadic } else { 0 };
        let (oid, ret, strict) = self.find(name, &inputs, variadic)?;
        match extra && strict {
            true => Err(refused("final function with extra arguments must not be declared STRICT")),
            false => Ok((oid, ret)),
        }
    }

    fn combine(&mut self, name: Option<&ObjectName>, state: Oid) -> Result<Oid> {
        let Some(name) = name else { return Ok(0) };
        let (oid, strict) = self.returning(name, (&[state, state], 0), state, "combine")?;
        if strict && state == oid::INTERNAL {
            let message =
                "combine function with transition type internal must not be declared STRICT";
            return Err(refused(message));
        }
        Ok(oid)
    }

    fn moving(
        &mut self,
        definition: &MovingDefinition,
        state: Oid,
        (transition, inverse): (Oid, Oid),
        ret: Oid,
    ) -> Result<Moving> {
        let finish_extra = definition.finish_extra;
        let (finish, moving_ret) =
            self.final_function(definition.finish.as_ref(), finish_extra, state)?;
        if moving_ret != ret {
            let [moving, plain] = [moving_ret, ret].map(|ty| self.ctx.format_type(ty));
            return Err(refused(format!(
                "moving-aggregate implementation returns type {moving}, but plain implementation \
                 returns type {plain}"
            )));
        }
        Ok(Moving {
            transition,
            inverse,
            state,
            initial: definition.initial.clone(),
            finish,
            finish_extra,
            finish_modify: definition.finish_modify,
            space: definition.space,
        })
    }

    fn sort_operator(&mut self, name: Option<&ObjectName>) -> Result<Oid> {
        let Some(name) = name else { return Ok(0) };
        let [ty] = self.parameters.inputs[..] else {
            return Err(refused(
                "sort operator can only be specified for single-argument aggregates",
            ));
        };
        let (catalog, path) = (self.ctx.catalog(), self.ctx.search_path.clone());
        let found = catalog.operator_in(name.schema(), name.name(), (ty, ty), &path);
        if let Some(operator) = found {
            if !operator.is_built_in() {
                self.uses.push(operator.oid);
            }
            return Ok(operator.oid);
        }
        let shown = self.ctx.format_type(ty);
        let message = format!("operator does not exist: {shown} {name} {shown}");
        Err(Error::new(SqlState::UNDEFINED_FUNCTION, message))
    }
}
