//! The links between an operator and its commutator and negator (OperatorUpd and get_other_operator
//! in pg_operator.c).

use super::super::DdlContext;
use super::definition::refused;
use super::find::{self, Operands};
use super::{create, lock_symbol, put};
use steppe_catalog::objects::Operator;
use steppe_catalog::{ObjectId, OperatorRef};
use steppe_sql::ast::ObjectName;
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result};

/// The kind of a link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Commutator,
    Negator,
}

impl Link {
    fn word(self) -> &'static str {
        match self {
            Link::Commutator => "commutator",
            Link::Negator => "negator",
        }
    }

    fn of(self, operator: &Operator) -> Oid {
        match self {
            Link::Commutator => operator.commutator,
            Link::Negator => operator.negator,
        }
    }

    fn set(self, operator: &mut Operator, oid: Oid) {
        match self {
            Link::Commutator => operator.commutator = oid,
            Link::Negator => operator.negator = oid,
        }
    }
}

/// The operator that a new one names. A shell is made for one that does not exist yet; 0 means the new
/// operator itself.
pub(super) fn other_operator(
    ctx: &mut DdlContext<'_>,
    named: &ObjectName,
    types: Operands,
    new: &Operator,
) -> Result<Oid> {
    if let Some(found) = find::lookup(ctx, named, types)? {
        return Ok(found.oid);
    }
    let schema = create::target_schema(ctx, named)?;
    let is_itself =
        *named.name() == *new.name && schema == new.schema && types == (new.left, new.right);
    if is_itself {
        return Ok(0);
    }
    create::check_symbol(named.name())?;
    lock_symbol(ctx, schema, named.name())?;
    // Another session may have made it meanwhile.
    if let Some(found) = find::lookup(ctx, named, types)? {
        return Ok(found.oid);
    }
    let oid = ctx.store.new_oid()?;
    put(ctx, create::shell(oid, schema, named.name(), types));
    Ok(oid)
}

/// Points the operator `to` back at `from`: 42P13 if it points at another one.
pub(super) fn link_back(ctx: &mut DdlContext<'_>, link: Link, to: Oid, from: Oid) -> Result<()> {
    let lost = || Error::internal(format!("operator {to} is lost"));
    if to >= steppe_types::oid::FIRST_NORMAL_OID {
        ctx.lock_object(ObjectId::Operator(to), RelationLockMode::AccessExclusive)?;
    }
    let catalog = ctx.catalog();
    let other: OperatorRef = catalog.operator(to).ok_or_else(lost)?;
    let linked = link.of(&other);
    if linked == from {
        return Ok(());
    }
    if linked != 0 {
        let third = catalog.operator(linked).map_or(linked.to_string(), |o| o.name.to_string());
        let word = link.word();
        return Err(refused(format!(
            "{word} operator {} is already the {word} of operator {third}",
            other.name
        )));
    }
    if other.is_built_in() {
        let what = format!("an operator that the server has as a new {}", link.word());
        return Err(Error::not_supported(what));
    }
    let mut other = (*other).clone();
    link.set(&mut other, from);
    put(ctx, other);
    Ok(())
}

/// Takes the links to an operator out of its commutator and its negator.
pub(super) fn unlink(ctx: &mut DdlContext<'_>, oid: Oid) -> Result<()> {
    let catalog = ctx.catalog();
    let Some(operator) = catalog.stored::<Operator>().get(oid) else { return Ok(()) };
    for link in [Link::Commutator, Link::Negator] {
        let other = link.of(operator);
        if other == 0 || other == oid {
            continue;
        }
        if other >= steppe_types::oid::FIRST_NORMAL_OID {
            ctx.lock_object(ObjectId::Operator(other), RelationLockMode::AccessExclusive)?;
        }
        let catalog = ctx.catalog();
        if let Some(other) = catalog.stored::<Operator>().get(other)
            && link.of(other) == oid
        {
            let mut other = (**other).clone();
            link.set(&mut other, 0);
            put(ctx, other);
        }
    }
    Ok(())
}
