//! ALTER OPERATOR: SET (…), SET SCHEMA, OWNER TO (AlterOperator in operatorcmds.c).

use super::super::DdlContext;
use super::super::def_values::name;
use super::super::reloptions::def_boolean;
use super::super::set_schema::new_schema;
use super::definition::{Attributes, join_estimator, refused, restriction_estimator};
use super::find::{self, Operands, own};
use super::links::{self, Link};
use super::{lock_symbol, put};
use steppe_catalog::objects::Operator;
use steppe_sql::ast::{AlterOperatorStmt, DefElem, ObjectName, ObjectWithArgs};
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// The attributes that ALTER OPERATOR SET gives. An inner `None` is NONE.
#[derive(Default)]
struct Changes {
    restrict: Option<Option<ObjectName>>,
    join: Option<Option<ObjectName>>,
    commutator: Option<ObjectName>,
    negator: Option<ObjectName>,
    can_hash: Option<bool>,
    can_merge: Option<bool>,
}

impl Changes {
    fn read(list: &[DefElem]) -> Result<Changes> {
        let mut changes = Changes::default();
        let optional = |elem: &DefElem| elem.value.as_ref().map(|_| name(elem)).transpose();
        for elem in list {
            match &*elem.name {
                "restrict" => changes.restrict = Some(optional(elem)?),
                "join" => changes.join = Some(optional(elem)?),
                "commutator" => changes.commutator = Some(name(elem)?),
                "negator" => changes.negator = Some(name(elem)?),
                "hashes" => changes.can_hash = Some(def_boolean(elem)?),
                "merges" => changes.can_merge = Some(def_boolean(elem)?),
                other => {
                    let why = match other {
                        "leftarg" | "rightarg" | "function" | "procedure" => "cannot be changed",
                        _ => "not recognized",
                    };
                    let message = format!("operator attribute \"{other}\" {why}");
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                }
            }
        }
        Ok(changes)
    }
}

/// ALTER OPERATOR SET (…).
pub(in super::super) fn alter_operator(
    ctx: &mut DdlContext<'_>,
    stmt: &AlterOperatorStmt,
) -> Result<()> {
    let mut operator = own(ctx, &stmt.operator, "ALTER OPERATOR")?;
    let changes = Changes::read(&stmt.options)?;
    let (oid, types) = (operator.oid, (operator.left, operator.right));
    if let Some(restrict) = &changes.restrict {
        let found = restrict.as_ref().map(|name| restriction_estimator(ctx, name));
        operator.restrict = found.transpose()?.unwrap_or(0);
    }
    if let Some(join) = &changes.join {
        let found = join.as_ref().map(|name| join_estimator(ctx, name));
        operator.join = found.transpose()?.unwrap_or(0);
    }
    let commutator = match &changes.commutator {
        Some(name) => existing(ctx, name, (types.1, types.0))?,
        None => 0,
    };
    let negator = match &changes.negator {
        Some(name) => existing(ctx, name, types)?,
        None => 0,
    };
    if negator == oid {
        return Err(refused("operator cannot be its own negator"));
    }
    check_kept(&operator, &changes, (commutator, negator))?;
    operator.can_hash |= changes.can_hash == Some(true);
    operator.can_merge |= changes.can_merge == Some(true);
    check(&operator, &changes, (commutator, negator))?;
    if commutator != 0 {
        operator.commutator = commutator;
    }
    if negator != 0 {
        operator.negator = negator;
    }
    put(ctx, operator);
    for (link, other) in [(Link::Commutator, commutator), (Link::Negator, negator)] {
        if other != 0 && other != oid {
            links::link_back(ctx, link, other, oid)?;
        }
    }
    Ok(())
}

/// The operator that becomes a commutator or negator: 42883 (ValidateOperatorReference).
fn existing(ctx: &mut DdlContext<'_>, name: &ObjectName, types: Operands) -> Result<Oid> {
    match find::lookup(ctx, name, types)? {
        Some(operator) if operator.is_shell() => {
            let shown = find::signature(ctx, name, types);
            let message = format!("operator is only a shell: {shown}");
            Err(Error::new(SqlState::UNDEFINED_FUNCTION, message))
        }
        Some(operator) => Ok(operator.oid),
        None => Err(find::missing(ctx, name, types)),
    }
}

/// 42P13 for another value of an attribute that plans may rely on.
fn check_kept(
    operator: &Operator,
    changes: &Changes,
    (commutator, negator): (Oid, Oid),
) -> Result<()> {
    let is_other = |new: Oid, old: Oid| new != 0 && old != 0 && new != old;
    let taken_back = |old: bool, new: Option<bool>| old && new == Some(false);
    let attributes = [
        (is_other(commutator, operator.commutator), "commutator"),
        (is_other(negator, operator.negator), "negator"),
        (taken_back(operator.can_merge, changes.can_merge), "merges"),
        (taken_back(operator.can_hash, changes.can_hash), "hashes"),
    ];
    match attributes.iter().find(|(is_changed, _)| *is_changed) {
        Some((_, attribute)) => Err(refused(format!(
            "operator attribute \"{attribute}\" cannot be changed if it has already been set"
        ))),
        None => Ok(()),
    }
}

fn check(operator: &Operator, changes: &Changes, (commutator, negator): (Oid, Oid)) -> Result<()> {
    let attributes = Attributes {
        is_binary: operator.left != 0,
        is_boolean: operator.result == oid::BOOL,
        has_commutator: commutator != 0,
        has_negator: negator != 0,
        has_restrict: matches!(changes.restrict, Some(Some(_))),
        has_join: matches!(changes.join, Some(Some(_))),
        can_hash: changes.can_hash == Some(true),
        can_merge: changes.can_merge == Some(true),
    };
    attributes.check()
}

/// ALTER OPERATOR SET SCHEMA.
pub(in super::super) fn set_schema(
    ctx: &mut DdlContext<'_>,
    named: &ObjectWithArgs,
    schema_name: &str,
) -> Result<()> {
    let mut operator = own(ctx, named, "ALTER OPERATOR SET SCHEMA")?;
    let schema = new_schema(ctx, operator.schema, schema_name)?;
    if schema == operator.schema {
        return Ok(());
    }
    if schema < oid::FIRST_NORMAL_OID && schema != steppe_catalog::PUBLIC {
        return Err(Error::not_supported(format!("SET SCHEMA {schema_name}")));
    }
    lock_symbol(ctx, schema, &operator.name)?;
    let catalog = ctx.catalog();
    let types = (operator.left, operator.right);
    let is_taken = catalog
        .stored::<Operator>()
        .named(schema, &operator.name)
        .any(|other| (other.left, other.right) == types);
    if is_taken {
        return Err(duplicate(&operator, schema));
    }
    operator.schema = schema;
    put(ctx, operator);
    Ok(())
}

/// 23505: PostgreSQL leaves this to the index of pg_operator.
fn duplicate(operator: &Operator, schema: Oid) -> Error {
    const INDEX: &str = "pg_operator_oprname_l_r_n_index";
    let message = format!("duplicate key value violates unique constraint \"{INDEX}\"");
    let Operator { name, left, right, .. } = operator;
    let detail = format!(
        "Key (oprname, oprleft, oprright, oprnamespace)=({name}, {left}, {right}, {schema}) already \
         exists."
    );
    let error = Error::new(SqlState::UNIQUE_VIOLATION, message).detail(detail);
    error.table("pg_catalog", "pg_operator").constraint(INDEX)
}

/// ALTER OPERATOR OWNER TO: one role owns everything in this version.
pub(in super::super) fn check_owned(
    ctx: &mut DdlContext<'_>,
    named: &ObjectWithArgs,
) -> Result<()> {
    own(ctx, named, "ALTER OPERATOR OWNER TO").map(drop)
}
