//! CREATE, ALTER and DROP of functions and procedures (functioncmds.c, pg_proc.c).
//!
//! ```text
//!   CREATE FUNCTION ─ options, parameters, types, body ─▶ Function ─ replace: checks ─▶ catalog
//! ```
//!
//! A function is an object of the catalog with an OID. Several functions of a schema may share a
//! name if their input arguments differ, so CREATE FUNCTION first locks the name. A function is not
//! locked while it runs: a running call goes on with the version that it has.

mod aggregate;
mod aggregate_options;
mod alter;
mod body;
mod comment;
mod drop;
mod find;
mod options;
mod parameters;
mod replace;
mod settings;
mod sql_body;
mod types;

pub(crate) use aggregate::create_aggregate;
pub(crate) use alter::{alter_function, check_owned, rename, set_schema};
pub(crate) use comment::comment;
pub(crate) use drop::{drop_functions, remove};
pub(crate) use find::Kind;
pub(super) use sql_body::follow_rename;
pub(crate) use types::is_pseudo;

use super::DdlContext;
use super::drop::relation_name;
use find::ARGUMENTS_MAX;
use std::sync::Arc;
use steppe_catalog::objects::{Body, FunctionKind, Parallel, Volatility};
use steppe_catalog::{BOOTSTRAP_SUPERUSER, Function, ObjectId, PG_CATALOG};
use steppe_sql::ast::{CreateFunctionStmt, ObjectName};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState};
use types::invalid;

/// procost of functions in internal, and in other languages; prorows of sets.
const COST_INTERNAL: f32 = 1.0;
const COST: f32 = 100.0;
const ROWS: f32 = 1000.0;

/// CREATE FUNCTION, CREATE PROCEDURE; returns the command tag.
pub(crate) fn create_function(
    ctx: &mut DdlContext<'_>,
    create: &CreateFunctionStmt,
) -> Result<&'static str> {
    let schema = target_schema(ctx, &create.name)?;
    let options = options::read(ctx, &create.options, create.is_procedure)?;
    let settings = settings::read(ctx, &create.settings, Vec::new())?;
    let language = body::language(create, &options)?;
    let kind = if create.is_procedure { Kind::Procedure } else { Kind::Function };
    let parameters = parameters::interpret(ctx, &create.parameters, kind)?;
    let (ret, retset) = types::of_result(ctx, create, &parameters)?;
    let name = create.name.name().to_string();
    let mut function = Function {
        oid: 0,
        schema,
        name: name.into(),
        brought_by: None,
        owner: BOOTSTRAP_SUPERUSER,
        kind: if create.is_procedure { FunctionKind::Procedure } else { FunctionKind::Plain },
        args: parameters.inputs.clone().into(),
        declared: parameters.declared(),
        ret,
        retset,
        strict: false,
        leakproof: false,
        security_definer: false,
        volatility: Volatility::Volatile,
        parallel: Parallel::Unsafe,
        cost: if language.is_internal() { COST_INTERNAL } else { COST },
        rows: if retset { ROWS } else { 0.0 },
        variadic: parameters::variadic_element(ctx, parameters.variadic),
        support: 0,
        defaults: parameters.defaults.iter().map(|(text, _)| text.clone()).collect(),
        body: Body::Sql { text: "".into() },
        config: settings.into(),
        comment: None,
        reads: Box::default(),
    };
    options::check_rows(&options, retset)?;
    options.apply(&mut function);
    body::interpret(ctx, create, &options, language, &mut function)?;
    check_declaration(ctx, &function, &parameters)?;
    let function = store(ctx, function, &parameters, create.replace)?;
    body::validate(ctx, &function)?;
    Ok(if create.is_procedure { "CREATE PROCEDURE" } else { "CREATE FUNCTION" })
}

/// The schema that gets a new function (QualifiedNameGetCreationNamespace).
fn target_schema(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<Oid> {
    if name.schema() == Some("pg_catalog") || (name.schema().is_none() && is_system(ctx)) {
        return Err(Error::not_supported("functions in pg_catalog"));
    }
    ctx.target_schema(&relation_name(name))
}

fn is_system(ctx: &DdlContext<'_>) -> bool {
    ctx.creation_schema == Some(PG_CATALOG)
}

/// The checks of a function by itself (ProcedureCreate).
fn check_declaration(
    ctx: &mut DdlContext<'_>,
    function: &Function,
    parameters: &parameters::Parameters,
) -> Result<()> {
    if function.args.len() > ARGUMENTS_MAX {
        let message = format!("functions cannot have more than {ARGUMENTS_MAX} arguments");
        return Err(Error::new(SqlState::TOO_MANY_ARGUMENTS, message));
    }
    types::check_results(ctx, parameters, function.ret)
}

/// Puts the function into the catalog: as a new one, or in place of one with the same arguments.
fn store(
    ctx: &mut DdlContext<'_>,
    mut function: Function,
    parameters: &parameters::Parameters,
    replace: bool,
) -> Result<Arc<Function>> {
    lock_name(ctx, function.schema, &function.name)?;
    match with_arguments(ctx, function.schema, &function.name, &function.args) {
        Some(old) if !replace => {
            let message =
                format!("function \"{}\" already exists with same argument types", old.name);
            return Err(Error::new(SqlState::DUPLICATE_FUNCTION, message));
        }
        Some(old) => {
            // Objects that call it may be made meanwhile: what calls rely on stays.
            let id = ObjectId::Function(old.oid);
            ctx.lock_object(id, RelationLockMode::ShareUpdateExclusive)?;
            replace::check(ctx, &old, &function, parameters)?;
            function.oid = old.oid;
            function.owner = old.owner;
            function.comment = old.comment.clone();
        }
        None => function.oid = ctx.store.new_oid()?,
    }
    let function = Arc::new(function);
    put(ctx, Arc::clone(&function));
    Ok(function)
}

/// Excludes other transactions from giving the name to a function. (Relations have a name space of
/// their own.)
fn lock_name(ctx: &DdlContext<'_>, schema: Oid, name: &str) -> Result<()> {
    ctx.lock_name(schema, &format!("{name}()"))
}

/// The function of a schema with a name and these input arguments.
fn with_arguments(
    ctx: &mut DdlContext<'_>,
    schema: Oid,
    name: &str,
    args: &[Oid],
) -> Option<Arc<Function>> {
    let catalog = ctx.catalog();
    let mut named = catalog.stored::<Function>().named(schema, name);
    named.find(|function| *function.args == *args).cloned()
}

/// The function of a cast.
pub(crate) fn find_function(
    ctx: &mut DdlContext<'_>,
    named: &steppe_sql::ast::ObjectWithArgs,
) -> Result<steppe_catalog::FunctionRef> {
    find::find(ctx, named, Kind::Function)
}

fn put(ctx: &mut DdlContext<'_>, function: impl Into<Arc<Function>>) {
    let function: Arc<Function> = function.into();
    ctx.store.put(ctx.store.changes(ctx.pending), function);
}

/// A user's function, to be changed: 0A000 for one that is built in or an extension's.
fn own(ctx: &mut DdlContext<'_>, oid: Oid, command: &str) -> Result<Arc<Function>> {
    ctx.lock_object(ObjectId::Function(oid), RelationLockMode::AccessExclusive)?;
    let found = ctx.catalog().stored::<Function>().get(oid).cloned();
    found.ok_or_else(|| {
        Error::not_supported(format!("{command} of a function that the server or an extension has"))
    })
}

/// 42809 for an aggregate, which has statements of its own.
fn is_aggregate(name: &ObjectName) -> Error {
    let message = format!("\"{name}\" is an aggregate function");
    Error::new(SqlState::WRONG_OBJECT_TYPE, message)
}

/// 42P13 without more words.
fn refused(message: impl Into<String>) -> Error {
    invalid(message.into())
}
