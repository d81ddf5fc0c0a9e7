//! CREATE OPERATOR (DefineOperator in operatorcmds.c, OperatorCreate in pg_operator.c).

use super::super::DdlContext;
use super::super::drop::relation_name;
use super::definition::{Attributes, Definition, join_estimator, refused, restriction_estimator};
use super::find::{self, Operands};
use super::links::{self, Link};
use super::{lock_symbol, put};
use steppe_catalog::objects::Operator;
use steppe_catalog::{BOOTSTRAP_SUPERUSER, FunctionRef, ObjectId, PG_CATALOG};
use steppe_sql::ast::{DefineStmt, ObjectName};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// CREATE OPERATOR.
pub(in super::super) fn create_operator(
    ctx: &mut DdlContext<'_>,
    create: &DefineStmt,
) -> Result<()> {
    let schema = target_schema(ctx, &create.name)?;
    let definition = Definition::read(ctx, &create.definition)?;
    let Some(function) = &definition.function else {
        return Err(refused("operator function must be specified"));
    };
    let types = operands(ctx, &definition)?;
    let function = underlying(ctx, function, types)?;
    let restrict = match &definition.restrict {
        Some(name) => restriction_estimator(ctx, name)?,
        None => 0,
    };
    let join = match &definition.join {
        Some(name) => join_estimator(ctx, name)?,
        None => 0,
    };
    let symbol = create.name.name();
    check_symbol(symbol)?;
    let attributes = Attributes {
        is_binary: types.0 != 0,
        is_boolean: function.ret == oid::BOOL,
        has_commutator: definition.commutator.is_some(),
        has_negator: definition.negator.is_some(),
        has_restrict: restrict != 0,
        has_join: join != 0,
        can_hash: definition.can_hash,
        can_merge: definition.can_merge,
    };
    attributes.check()?;
    lock_symbol(ctx, schema, symbol)?;
    let mut operator = place(ctx, schema, symbol, types)?;
    operator.func = function.oid;
    operator.result = function.ret;
    operator.can_hash = definition.can_hash;
    operator.can_merge = definition.can_merge;
    operator.restrict = restrict;
    operator.join = join;
    store(ctx, operator, &definition)
}

/// Stores the operator with its links. A shell keeps the links that others have given it.
fn store(ctx: &mut DdlContext<'_>, mut operator: Operator, definition: &Definition) -> Result<()> {
    let (oid, types) = (operator.oid, (operator.left, operator.right));
    let mut others = Vec::new();
    if let Some(named) = &definition.commutator {
        let other = links::other_operator(ctx, named, (types.1, types.0), &operator)?;
        operator.commutator = if other == 0 { oid } else { other };
        others.push((Link::Commutator, operator.commutator));
    }
    if let Some(named) = &definition.negator {
        let other = links::other_operator(ctx, named, types, &operator)?;
        if other == 0 || other == oid {
            return Err(refused("operator cannot be its own negator"));
        }
        operator.negator = other;
        others.push((Link::Negator, other));
    }
    put(ctx, operator);
    for (link, other) in others.into_iter().filter(|(_, other)| *other != oid) {
        links::link_back(ctx, link, other, oid)?;
    }
    Ok(())
}

/// The schema that a new operator goes to.
pub(super) fn target_schema(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<Oid> {
    let is_system = ctx.creation_schema == Some(PG_CATALOG);
    if name.schema() == Some("pg_catalog") || (name.schema().is_none() && is_system) {
        return Err(Error::not_supported("operators in pg_catalog"));
    }
    ctx.target_schema(&relation_name(name))
}

/// The types of the operands: 42P13 unless there is a right one.
fn operands(ctx: &mut DdlContext<'_>, definition: &Definition) -> Result<Operands> {
    let mut types = [0; 2];
    for (ty, name) in types.iter_mut().zip([&definition.left, &definition.right]) {
        if let Some(name) = name {
            *ty = ctx.resolve_type(name).map_err(|error| error.at(None))?.oid;
        }
    }
    match types {
        [0, 0] => Err(refused("operator argument types must be specified")),
        [_, 0] => Err(refused("operator right argument type must be specified")
            .detail("Postfix operators are not supported.")),
        [left, right] => Ok((left, right)),
    }
}

/// The function that computes the operator.
fn underlying(
    ctx: &mut DdlContext<'_>,
    name: &ObjectName,
    (left, right): Operands,
) -> Result<FunctionRef> {
    let args: Vec<Oid> = [left, right].into_iter().filter(|ty| *ty != 0).collect();
    let function = find::existing_function(ctx, name, &args)?;
    if function.is_aggregate() || function.is_window() || function.is_procedure() {
        return Err(Error::not_supported(
            "CREATE OPERATOR with an aggregate, a window function or a procedure",
        ));
    }
    Ok(function)
}

/// 42602 for a symbol that the grammar would not read as one operator (validOperatorName).
pub(super) fn check_symbol(symbol: &str) -> Result<()> {
    let is_of_symbols = |text: &str| text.chars().all(|c| "~!@#^&|`?+-*/%<>=".contains(c));
    let has_comment = symbol.contains("/*") || symbol.contains("--");
    let ends_with_sign = symbol.len() > 1 && symbol.ends_with(['+', '-']);
    let is_invalid = symbol.is_empty()
        || symbol.len() > steppe_catalog::NAME_BYTES_MAX
        || !is_of_symbols(symbol)
        || has_comment
        || ends_with_sign && !symbol.contains(['~', '!', '@', '#', '%', '^', '&', '|', '`', '?'])
        || symbol == "!=";
    match is_invalid {
        true => {
            let message = format!("\"{symbol}\" is not a valid operator name");
            Err(Error::new(SqlState::INVALID_NAME, message))
        }
        false => Ok(()),
    }
}

/// An operator without a function, which only holds the place of one (OperatorShellMake).
pub(super) fn shell(oid: Oid, schema: Oid, symbol: &str, (left, right): Operands) -> Operator {
    Operator {
        oid,
        schema,
        name: symbol.to_owned().into(),
        owner: BOOTSTRAP_SUPERUSER,
        left,
        right,
        result: 0,
        func: 0,
        commutator: 0,
        negator: 0,
        can_hash: false,
        can_merge: false,
        restrict: 0,
        join: 0,
        comment: None,
    }
}

/// The shell that a new operator completes, or a new one: 42723 if there is such an operator.
fn place(ctx: &mut DdlContext<'_>, schema: Oid, symbol: &str, types: Operands) -> Result<Operator> {
    let same = |ctx: &mut DdlContext<'_>| {
        let catalog = ctx.catalog();
        let mut named = catalog.stored::<Operator>().named(schema, symbol);
        named.find(|operator| (operator.left, operator.right) == types).cloned()
    };
    if let Some(found) = same(ctx) {
        ctx.lock_object(ObjectId::Operator(found.oid), RelationLockMode::AccessExclusive)?;
    }
    match same(ctx) {
        Some(found) if !found.is_shell() => {
            let message = format!("operator {symbol} already exists");
            Err(Error::new(SqlState::DUPLICATE_FUNCTION, message))
        }
        Some(found) => Ok((*found).clone()),
        None => Ok(shell(ctx.store.new_oid()?, schema, symbol, types)),
    }
}
