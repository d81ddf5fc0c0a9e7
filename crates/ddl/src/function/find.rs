//! The function that a statement names (LookupFuncWithArgs in parse_func.c).
//!
//! A name with argument types means the function with exactly these input types. A procedure's list
//! may also have its OUT arguments. A name without a list must be that of one function only.

use super::super::DdlContext;
use std::fmt;
use steppe_catalog::FunctionRef;
use steppe_catalog::objects::ArgumentMode;
use steppe_sql::ast::{ObjectKind, ObjectName, ObjectWithArgs, TypeName};
use steppe_types::{Error, Oid, Result, SqlState};

/// The most arguments of a function (FUNC_MAX_ARGS).
pub(super) const ARGUMENTS_MAX: usize = 100;

/// The kind of function that a statement means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// FUNCTION: no procedure.
    Function,
    /// PROCEDURE.
    Procedure,
    /// ROUTINE: anything.
    Routine,
    /// AGGREGATE.
    Aggregate,
}

impl Kind {
    /// The kind that the grammar tells; `None` for objects that are no functions.
    pub(crate) fn of(kind: ObjectKind) -> Option<Kind> {
        match kind {
            ObjectKind::Function => Some(Kind::Function),
            ObjectKind::Procedure => Some(Kind::Procedure),
            ObjectKind::Routine => Some(Kind::Routine),
            ObjectKind::Aggregate => Some(Kind::Aggregate),
            _ => None,
        }
    }

    fn admits(self, function: &FunctionRef) -> bool {
        match self {
            Kind::Function | Kind::Aggregate => !function.is_procedure(),
            Kind::Procedure => function.is_procedure(),
            Kind::Routine => true,
        }
    }
}

/// The word for it in messages.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Function => "function",
            Kind::Procedure => "procedure",
            Kind::Routine => "routine",
            Kind::Aggregate => "aggregate",
        })
    }
}

/// Why no function was found.
enum Lost {
    Missing,
    Ambiguous,
}

/// The function that a statement names. The error is 42883 for none, 42725 for several, 42809 for
/// one of another kind, 42704 and 3F000 for unknown types and schemas.
pub(crate) fn find(
    ctx: &mut DdlContext<'_>,
    named: &ObjectWithArgs,
    kind: Kind,
) -> Result<FunctionRef> {
    let args = named.args.iter().flatten().map(|ty| argument_type(ctx, ty));
    let args = args.collect::<Result<Vec<Oid>>>()?;
    if args.len() > ARGUMENTS_MAX {
        let what = if kind == Kind::Procedure { "procedures" } else { "functions" };
        let message = format!("{what} cannot have more than {ARGUMENTS_MAX} arguments");
        return Err(Error::new(SqlState::TOO_MANY_ARGUMENTS, message));
    }
    check_schema(ctx, &named.name)?;
    let found = match (lookup(ctx, named, kind, &args), &named.all_args) {
        (Err(Lost::Ambiguous), _) => Err(Lost::Ambiguous),
        (found, Some(all)) if matches!(kind, Kind::Procedure | Kind::Routine) => {
            let all = all.iter().map(|ty| argument_type(ctx, ty));
            let all = all.collect::<Result<Vec<Oid>>>()?;
            match (found, lookup_with_outputs(ctx, &named.name, kind, &all)) {
                (Ok(one), Ok(other)) if one != other => Err(Lost::Ambiguous),
                (_, Ok(other)) => Ok(other),
                (_, Err(Lost::Ambiguous)) => Err(Lost::Ambiguous),
                (found, Err(Lost::Missing)) => found,
            }
        }
        (found, _) => found,
    };
    match found {
        Ok(function) => check_kind(ctx, &named.name, kind, &args, function),
        Err(Lost::Missing) => Err(missing(ctx, named, kind, &args)),
        Err(Lost::Ambiguous) => {
            let message = format!("{kind} name \"{}\" is not unique", named.name);
            let error = Error::new(SqlState::AMBIGUOUS_FUNCTION, message);
            Err(match named.args_unspecified {
                true => error
                    .hint(format!("Specify the argument list to select the {kind} unambiguously.")),
                false => error,
            })
        }
    }
}

/// The type of an argument. The error is 42704 for one that does not exist.
fn argument_type(ctx: &mut DdlContext<'_>, name: &TypeName) -> Result<Oid> {
    ctx.resolve_type(name).map(|ty| ty.oid)
}

fn check_schema(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<()> {
    match name.schema() {
        Some(schema) if ctx.catalog().schema_in(schema, &ctx.search_path).is_none() => {
            let message = format!("schema \"{schema}\" does not exist");
            Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message))
        }
        _ => Ok(()),
    }
}

/// The functions that a name can mean, each with its schema's place in the search path.
fn named(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Vec<(usize, FunctionRef)> {
    let mut found = Vec::new();
    let catalog = ctx.catalog();
    catalog.functions_in(name.schema(), name.name(), &ctx.search_path, &mut |place, function| {
        found.push((place, function));
    });
    found
}

fn lookup(
    ctx: &mut DdlContext<'_>,
    named_as: &ObjectWithArgs,
    kind: Kind,
    args: &[Oid],
) -> Result<FunctionRef, Lost> {
    let found = named(ctx, &named_as.name);
    if named_as.args_unspecified {
        return only(found.into_iter().map(|(_, f)| f).filter(|f| kind.admits(f)).collect());
    }
    first(found, |function| *function.args == *args)
}

/// A procedure by the types of all its arguments, OUT ones included.
fn lookup_with_outputs(
    ctx: &mut DdlContext<'_>,
    name: &ObjectName,
    kind: Kind,
    all: &[Oid],
) -> Result<FunctionRef, Lost> {
    let is_it = |function: &FunctionRef| {
        let arguments = function.arguments();
        let listed = arguments.iter().filter(|argument| argument.mode != ArgumentMode::Table);
        kind.admits(function) && listed.map(|argument| argument.ty).eq(all.iter().copied())
    };
    let mut found = named(ctx, name);
    found.retain(|(_, function)| is_it(function));
    let Some(place) = found.iter().map(|(place, _)| *place).min() else {
        return Err(Lost::Missing);
    };
    only(found.into_iter().filter(|(at, _)| *at == place).map(|(_, f)| f).collect())
}

/// The function that comes first in the search path.
fn first(
    found: Vec<(usize, FunctionRef)>,
    is_it: impl Fn(&FunctionRef) -> bool,
) -> Result<FunctionRef, Lost> {
    let fitting = found.into_iter().filter(|(_, function)| is_it(function));
    fitting.min_by_key(|(place, _)| *place).map(|(_, function)| function).ok_or(Lost::Missing)
}

fn only(mut found: Vec<FunctionRef>) -> Result<FunctionRef, Lost> {
    match (found.pop(), found.is_empty()) {
        (None, _) => Err(Lost::Missing),
        (Some(one), true) => Ok(one),
        (Some(_), false) => Err(Lost::Ambiguous),
    }
}

fn check_kind(
    ctx: &mut DdlContext<'_>,
    name: &ObjectName,
    kind: Kind,
    args: &[Oid],
    function: FunctionRef,
) -> Result<FunctionRef> {
    let is_it = match kind {
        Kind::Function => !function.is_procedure(),
        Kind::Procedure => function.is_procedure(),
        Kind::Aggregate => function.is_aggregate(),
        Kind::Routine => true,
    };
    if is_it {
        return Ok(function);
    }
    let signature = signature(ctx, &name.to_string(), args);
    Err(Error::new(
        SqlState::WRONG_OBJECT_TYPE,
        match kind {
            Kind::Aggregate => format!("function {signature} is not an aggregate"),
            kind => format!("{signature} is not a {kind}"),
        },
    ))
}

fn missing(ctx: &mut DdlContext<'_>, named: &ObjectWithArgs, kind: Kind, args: &[Oid]) -> Error {
    let kind = if kind == Kind::Routine { Kind::Function } else { kind };
    let message = match (named.args_unspecified, kind) {
        (true, Kind::Aggregate) => format!("could not find an aggregate named \"{}\"", named.name),
        (true, _) => format!("could not find a {kind} named \"{}\"", named.name),
        (false, Kind::Aggregate) if args.is_empty() => {
            format!("aggregate {}(*) does not exist", named.name)
        }
        (false, _) => {
            format!("{kind} {} does not exist", signature(ctx, &named.name.to_string(), args))
        }
    };
    Error::new(SqlState::UNDEFINED_FUNCTION, message)
}

/// A name with argument types, for messages (funcname_signature_string).
pub(super) fn signature(ctx: &mut DdlContext<'_>, name: &str, args: &[Oid]) -> String {
    let args: Vec<String> = args.iter().map(|ty| ctx.format_type(*ty)).collect();
    format!("{name}({})", args.join(", "))
}
