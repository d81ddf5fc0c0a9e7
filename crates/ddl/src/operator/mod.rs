//! CREATE, ALTER, DROP OPERATOR, COMMENT ON OPERATOR (operatorcmds.c, pg_operator.c).
//!
//! An operator is a symbol for a function. It depends on its schema, its types and its functions.
//! Commutators and negators do not depend on each other: a link to an operator that is dropped is
//! taken out, and a link to one that does not exist yet makes a shell, which CREATE OPERATOR
//! completes.
//!
//! Stored texts name users' operators by OID ([`steppe_catalog::operator_spelling`]), so that an
//! operator may move to another schema while others use it.

mod alter;
mod create;
mod definition;
mod find;
mod links;

pub(super) use alter::{alter_operator, check_owned, set_schema};
pub(super) use create::create_operator;

use super::{DdlContext, depend, drop};
use find::{own, to_drop};
use std::sync::Arc;
use steppe_catalog::objects::{Object, Operator};
use steppe_catalog::{ObjectId, RareText};
use steppe_sql::ast::{DropStmt, ObjectRef, ObjectWithArgs};
use steppe_txn::RelationLockMode;
use steppe_types::{Error, Oid, Result};

fn put(ctx: &mut DdlContext<'_>, operator: Operator) {
    ctx.store.put::<Operator>(ctx.store.changes(ctx.pending), Arc::new(operator));
}

/// Excludes other transactions from giving the symbol to an operator.
fn lock_symbol(ctx: &DdlContext<'_>, schema: Oid, symbol: &str) -> Result<()> {
    ctx.lock_name(schema, &format!("operator {symbol}"))
}

/// DROP OPERATOR. All operators are looked up before one is dropped.
pub(super) fn drop_operators(ctx: &mut DdlContext<'_>, stmt: &DropStmt) -> Result<()> {
    let mut roots: Vec<Object> = Vec::new();
    for object in &stmt.objects {
        let ObjectRef::Function(named) = object else {
            return Err(Error::internal("DROP OPERATOR without an operator"));
        };
        let Some(oid) = to_drop(ctx, named, stmt.if_exists)? else { continue };
        ctx.lock_object(ObjectId::Operator(oid), RelationLockMode::AccessExclusive)?;
        // Another session may have dropped it meanwhile.
        if ctx.catalog().operator(oid).is_none() {
            return Err(Error::internal(format!("cache lookup failed for operator {oid}")));
        }
        if !roots.contains(&Object::Operator(oid)) {
            roots.push(Object::Operator(oid));
        }
    }
    let dependents = depend::dependents(ctx, &roots, stmt.behavior)?;
    drop::drop_dependents(ctx, &dependents)?;
    drop::drop_dependents(ctx, &roots)
}

/// Takes an operator out of the catalog, and out of the links of others to it (RemoveOperatorById).
pub(super) fn remove(ctx: &mut DdlContext<'_>, oid: Oid) -> Result<()> {
    links::unlink(ctx, oid)?;
    ctx.store.remove::<Operator>(ctx.store.changes(ctx.pending), oid);
    Ok(())
}

/// COMMENT ON OPERATOR.
pub(super) fn comment(
    ctx: &mut DdlContext<'_>,
    named: &ObjectWithArgs,
    text: Option<RareText>,
) -> Result<()> {
    let mut operator = own(ctx, named, "COMMENT")?;
    operator.comment = text;
    put(ctx, operator);
    Ok(())
}
