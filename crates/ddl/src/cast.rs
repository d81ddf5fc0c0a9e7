//! CREATE CAST, DROP CAST, COMMENT ON CAST (functioncmds.c, pg_cast.c).
//!
//! A cast depends on its types and on its function. Expressions that use it have the function's call
//! in them, and depend on the function, not on the cast.

use super::{DdlContext, depend, function, meanings};
use std::sync::Arc;
use steppe_catalog::builtin::{CastContext, CastMethod, Type};
use steppe_catalog::objects::UserCast;
use steppe_catalog::system::are_stored_alike;
use steppe_catalog::{Catalog, Function, ObjectId, RareText};
use steppe_sql::ast::{CastUse, CreateCastStmt, DropStmt, ObjectRef, TypeName};
use steppe_sql::bind::is_binary_coercible;
use steppe_txn::RelationLockMode;
use steppe_types::text_io::is_reg_type;
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// CREATE CAST.
pub(super) fn create_cast(ctx: &mut DdlContext<'_>, create: &CreateCastStmt) -> Result<()> {
    let source = a_type(ctx, &create.source)?;
    let target = a_type(ctx, &create.target)?;
    check_no_pseudo_type(ctx, source, "source")?;
    check_no_pseudo_type(ctx, target, "target")?;
    if let Some((_, what)) =
        [(source, "source"), (target, "target")].iter().find(|(ty, _)| oid::is_domain(*ty))
    {
        let message = format!("cast will be ignored because the {what} data type is a domain");
        ctx.warn(SqlState::WRONG_OBJECT_TYPE, message);
    }
    let mut arguments = 0;
    let method = match &create.function {
        Some(named) => {
            let function = function::find_function(ctx, named)?;
            check_function(ctx, &function, source, target)?;
            arguments = function.args.len();
            CastMethod::Function(function.oid)
        }
        None if create.in_out => CastMethod::InOut,
        None => {
            check_binary(ctx, source, target)?;
            CastMethod::Binary
        }
    };
    // Only a function for lengths casts a type to itself.
    if source == target && arguments < 2 {
        return Err(refused("source data type and target data type are the same"));
    }
    let context = match create.context {
        CastUse::Implicit => CastContext::Implicit,
        CastUse::Assignment => CastContext::Assignment,
        CastUse::Explicit => CastContext::Explicit,
    };
    lock_pair(ctx, source, target)?;
    let before = ctx.catalog();
    if before.cast(source, target).is_some() {
        let message = format!("{} already exists", shown(ctx, source, target));
        return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
    }
    if method == CastMethod::Binary && !shares_values(source, target) {
        let (from, to) = (ctx.format_type(source), ctx.format_type(target));
        let what = format!("CREATE CAST WITHOUT FUNCTION from type {from} to type {to}");
        return Err(Error::not_supported(what));
    }
    let cast = UserCast::new(ctx.store.new_oid()?, (source, target), context, method);
    put(ctx, cast);
    check_meanings(ctx, &before, "CREATE CAST")
}

/// Excludes other transactions from the cast between two types.
fn lock_pair(ctx: &DdlContext<'_>, source: Oid, target: Oid) -> Result<()> {
    ctx.lock_name(0, &format!("cast {source} {target}"))
}

/// 0A000 if the catalog's expressions mean something else now: they are kept as text, which is bound
/// again. PostgreSQL keeps them bound.
fn check_meanings(ctx: &mut DdlContext<'_>, before: &Catalog, command: &str) -> Result<()> {
    let after = ctx.catalog();
    match meanings::first_changed(before, &after) {
        Some(object) => {
            let what = depend::description(&after, &ctx.search_path, object);
            Err(Error::not_supported(format!(
                "{command} where {what} has a cast between the types"
            )))
        }
        None => Ok(()),
    }
}

/// Whether values of both types are kept in the same form here, so that a value of one is a value of
/// the other: strings, or numbers of four bytes.
fn shares_values(source: Oid, target: Oid) -> bool {
    let both = |of: &[Oid]| of.contains(&source) && of.contains(&target);
    both(&[oid::TEXT, oid::VARCHAR, oid::BPCHAR])
        || [source, target].iter().all(|ty| [oid::INT4, oid::OID].contains(ty) || is_reg_type(*ty))
}

/// 42P17
fn refused(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_OBJECT_DEFINITION, message.into())
}

fn put(ctx: &mut DdlContext<'_>, cast: UserCast) {
    ctx.store.put::<UserCast>(ctx.store.changes(ctx.pending), Arc::new(cast));
}

fn shown(ctx: &mut DdlContext<'_>, source: Oid, target: Oid) -> String {
    let [source, target] = [source, target].map(|ty| ctx.format_type(ty));
    format!("cast from type {source} to type {target}")
}

/// A type that a statement names.
fn a_type(ctx: &mut DdlContext<'_>, name: &TypeName) -> Result<Oid> {
    Ok(ctx.resolve_type(name).map_err(|error| error.at(None))?.oid)
}

/// 42809 for a pseudo-type.
fn check_no_pseudo_type(ctx: &mut DdlContext<'_>, ty: Oid, what: &str) -> Result<()> {
    if !function::is_pseudo(ty) {
        return Ok(());
    }
    let shown = ctx.format_type(ty);
    let message = format!("{what} data type {shown} is a pseudo-type");
    Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
}

/// 42P17 for a function that cannot compute the cast.
fn check_function(
    ctx: &mut DdlContext<'_>,
    function: &Function,
    source: Oid,
    target: Oid,
) -> Result<()> {
    let catalog = ctx.catalog();
    let fits = |from: Oid, to: Oid| is_binary_coercible(&catalog, from, to);
    let Some(first) = function.args.first().filter(|_| function.args.len() <= 3) else {
        return Err(refused("cast function must take one to three arguments"));
    };
    if !fits(source, *first) {
        return Err(refused(
            "argument of cast function must match or be binary-coercible from source data type",
        ));
    }
    if function.args.get(1).is_some_and(|ty| *ty != oid::INT4) {
        return Err(refused("second argument of cast function must be type integer"));
    }
    if function.args.get(2).is_some_and(|ty| *ty != oid::BOOL) {
        return Err(refused("third argument of cast function must be type boolean"));
    }
    if !fits(function.ret, target) {
        return Err(refused(
            "return data type of cast function must match or be binary-coercible to target data type",
        ));
    }
    if function.is_aggregate() || function.is_window() || function.is_procedure() {
        return Err(refused("cast function must be a normal function"));
    }
    if function.retset {
        return Err(refused("cast function must not return a set"));
    }
    Ok(())
}

/// 42P17 for types whose values are never stored in the same form.
fn check_binary(ctx: &mut DdlContext<'_>, source: Oid, target: Oid) -> Result<()> {
    let catalog = ctx.catalog();
    let pair = [source, target].map(|ty| catalog.ty(ty));
    let [Some(from), Some(to)] = &pair else {
        return Err(Error::internal("a cast between types that are not there"));
    };
    if !are_stored_alike(catalog.base_type(source).oid, catalog.base_type(target).oid) {
        return Err(refused("source and target data types are not physically compatible"));
    }
    let is_any = |is_it: &dyn Fn(&Type) -> bool| is_it(from) || is_it(to);
    let message = if is_any(&|ty| ty.kind == b'c') {
        "composite data types are not binary-compatible"
    } else if is_any(&|ty| ty.is_true_array()) {
        "array data types are not binary-compatible"
    } else if is_any(&|ty| matches!(ty.kind, b'r' | b'm')) {
        "range data types are not binary-compatible"
    } else if is_any(&|ty| ty.kind == b'e') {
        "enum data types are not binary-compatible"
    } else if is_any(&|ty| ty.kind == b'd') {
        "domain data types must not be marked binary-compatible"
    } else {
        return Ok(());
    };
    Err(refused(message))
}

/// DROP CAST. A cast has no dependents.
pub(super) fn drop_casts(ctx: &mut DdlContext<'_>, stmt: &DropStmt) -> Result<()> {
    for object in &stmt.objects {
        let ObjectRef::Cast(source, target) = object else {
            return Err(Error::internal("DROP CAST without a cast"));
        };
        let oid = match find(ctx, source, target) {
            Ok(Found::Own(oid)) => oid,
            Ok(Found::BuiltIn(source, target)) => return Err(required(ctx, source, target)),
            Err(error) if is_missing(&error) => {
                ctx.skip_missing(stmt.if_exists, error)?;
                continue;
            }
            Err(error) => return Err(error),
        };
        let before = ctx.catalog();
        remove(ctx, oid);
        check_meanings(ctx, &before, "DROP CAST")?;
    }
    Ok(())
}

fn is_missing(error: &Error) -> bool {
    [SqlState::UNDEFINED_OBJECT, SqlState::INVALID_SCHEMA_NAME].contains(&error.sqlstate())
}

/// 2BP01 for a built-in cast.
fn required(ctx: &mut DdlContext<'_>, source: Oid, target: Oid) -> Error {
    let [source, target] = [source, target].map(|ty| ctx.format_type(ty));
    let message = format!(
        "cannot drop cast from {source} to {target} because it is required by the database system"
    );
    Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
}

/// The cast between two types.
enum Found {
    /// A user's, locked.
    Own(Oid),
    /// One that the server has, between these types.
    BuiltIn(Oid, Oid),
}

/// The cast that a statement names: 42704 if there is none.
fn find(ctx: &mut DdlContext<'_>, source: &TypeName, target: &TypeName) -> Result<Found> {
    let (source, target) = (a_type(ctx, source)?, a_type(ctx, target)?);
    lock_pair(ctx, source, target)?;
    loop {
        let catalog = ctx.catalog();
        let Some(oid) = UserCast::find(&catalog, source, target).map(|cast| cast.oid) else {
            return match catalog.cast(source, target) {
                Some(_) => Ok(Found::BuiltIn(source, target)),
                None => {
                    let message = format!("{} does not exist", shown(ctx, source, target));
                    Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
                }
            };
        };
        ctx.lock_object(ObjectId::Cast(oid), RelationLockMode::AccessExclusive)?;
        // It may have been dropped with its function or a type while this waited.
        if ctx.catalog().stored::<UserCast>().get(oid).is_some() {
            return Ok(Found::Own(oid));
        }
    }
}

/// Takes a cast out of the catalog.
pub(super) fn remove(ctx: &mut DdlContext<'_>, oid: Oid) {
    ctx.store.remove::<UserCast>(ctx.store.changes(ctx.pending), oid);
}

/// COMMENT ON CAST.
pub(super) fn comment(
    ctx: &mut DdlContext<'_>,
    source: &TypeName,
    target: &TypeName,
    text: Option<RareText>,
) -> Result<()> {
    let Found::Own(oid) = find(ctx, source, target)? else {
        return Err(Error::not_supported("COMMENT of a cast that the server has"));
    };
    let catalog = ctx.catalog();
    if let Some(cast) = catalog.stored::<UserCast>().get(oid) {
        let mut cast = (**cast).clone();
        cast.comment = text;
        put(ctx, cast);
    }
    Ok(())
}
