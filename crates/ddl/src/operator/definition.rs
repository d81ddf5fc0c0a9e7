//! The attributes in CREATE OPERATOR and ALTER OPERATOR SET, and the rules about them
//! (OperatorValidateParams in pg_operator.c).

use super::super::DdlContext;
use super::super::def_values::{name, type_name};
use super::super::reloptions::def_boolean;
use super::find;
use steppe_sql::ast::{DefElem, ObjectName, TypeName};
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// The content of the definition.
#[derive(Default)]
pub(super) struct Definition {
    pub(super) left: Option<TypeName>,
    pub(super) right: Option<TypeName>,
    pub(super) function: Option<ObjectName>,
    pub(super) commutator: Option<ObjectName>,
    pub(super) negator: Option<ObjectName>,
    pub(super) restrict: Option<ObjectName>,
    pub(super) join: Option<ObjectName>,
    pub(super) can_hash: bool,
    pub(super) can_merge: bool,
}

impl Definition {
    /// Reads the definition of a new operator. A warning tells of an attribute that does not exist.
    pub(super) fn read(ctx: &mut DdlContext<'_>, list: &[DefElem]) -> Result<Definition> {
        let mut definition = Definition::default();
        for elem in list {
            match &*elem.name {
                "leftarg" => definition.left = Some(operand(elem)?),
                "rightarg" => definition.right = Some(operand(elem)?),
                "function" | "procedure" => definition.function = Some(name(elem)?),
                "commutator" => definition.commutator = Some(name(elem)?),
                "negator" => definition.negator = Some(name(elem)?),
                "restrict" => definition.restrict = Some(name(elem)?),
                "join" => definition.join = Some(name(elem)?),
                "hashes" => definition.can_hash = def_boolean(elem)?,
                "merges" => definition.can_merge = def_boolean(elem)?,
                // What old versions had in its place.
                "sort1" | "sort2" | "ltcmp" | "gtcmp" => definition.can_merge = true,
                other => {
                    let message = format!("operator attribute \"{other}\" not recognized");
                    ctx.warn(SqlState::SYNTAX_ERROR, message);
                }
            }
        }
        Ok(definition)
    }
}

/// The type of an operand: 42P13 for a set.
fn operand(elem: &DefElem) -> Result<TypeName> {
    let ty = type_name(elem)?;
    match ty.setof {
        true => Err(refused("SETOF type not allowed for operator argument")),
        false => Ok(ty),
    }
}

/// 42P13
pub(super) fn refused(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message.into())
}

/// The attributes of an operator, for the rules about them.
pub(super) struct Attributes {
    pub(super) is_binary: bool,
    pub(super) is_boolean: bool,
    pub(super) has_commutator: bool,
    pub(super) has_negator: bool,
    pub(super) has_restrict: bool,
    pub(super) has_join: bool,
    pub(super) can_hash: bool,
    pub(super) can_merge: bool,
}

impl Attributes {
    /// 42P13 for an attribute that only other operators can have.
    pub(super) fn check(&self) -> Result<()> {
        let of_binary = [
            (self.has_commutator, "have commutators"),
            (self.has_join, "have join selectivity"),
            (self.can_merge, "merge join"),
            (self.can_hash, "hash"),
        ];
        let of_boolean = [
            (self.has_negator, "have negators"),
            (self.has_restrict, "have restriction selectivity"),
            (self.has_join, "have join selectivity"),
            (self.can_merge, "merge join"),
            (self.can_hash, "hash"),
        ];
        let rules = [
            (self.is_binary, &of_binary[..], "binary"),
            (self.is_boolean, &of_boolean[..], "boolean"),
        ];
        for (_, attributes, kind) in rules.into_iter().filter(|(is_kind, ..)| !is_kind) {
            if let Some((_, what)) = attributes.iter().find(|(is_given, _)| *is_given) {
                return Err(refused(format!("only {kind} operators can {what}")));
            }
        }
        Ok(())
    }
}

/// RESTRICT (ValidateRestrictionEstimator).
pub(super) fn restriction_estimator(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<Oid> {
    let args = [oid::INTERNAL, oid::OID, oid::INTERNAL, oid::INT4];
    let function = find::existing_function(ctx, name, &args)?;
    check_estimator("restriction", name, function.ret)?;
    Ok(function.oid)
}

/// JOIN (ValidateJoinEstimator). The second form is that of old versions.
pub(super) fn join_estimator(ctx: &mut DdlContext<'_>, name: &ObjectName) -> Result<Oid> {
    let args = [oid::INTERNAL, oid::OID, oid::INTERNAL, oid::INT2, oid::INTERNAL];
    let found = match (find::function(ctx, name, &args)?, find::function(ctx, name, &args[..4])?) {
        (Some(_), Some(_)) => {
            let message = format!("join estimator function {name} has multiple matches");
            return Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, message));
        }
        (Some(found), None) | (None, Some(found)) => found,
        (None, None) => find::existing_function(ctx, name, &args)?,
    };
    check_estimator("join", name, found.ret)?;
    Ok(found.oid)
}

fn check_estimator(what: &str, name: &ObjectName, ret: Oid) -> Result<()> {
    if ret == oid::FLOAT8 {
        return Ok(());
    }
    let message = format!("{what} estimator function {name} must return type double precision");
    Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message))
}
