//! CREATE DOMAIN, and ALTER DOMAIN's changes of defaults and constraints (typecmds.c).

use super::super::table::{default_text, written_collation};
use super::domain_rows::{check_condition, check_not_null};
use super::{DdlContext, Found, not_a, object, plain};
use std::sync::Arc;
use steppe_catalog::objects::{Domain, DomainCheck, DomainNotNull, TypeDefinition, UserType};
use steppe_catalog::{builtin, object_name};
use steppe_sql::ast::{
    self, AlterDomainAction, AlterDomainStmt, ConstraintKind, CreateDomainStmt, Location,
};
use steppe_sql::bind::bind_domain_condition;
use steppe_sql::deparse;
use steppe_sql::expr::{Expr, TypeRef};
use steppe_types::oid::place;
use steppe_types::{Error, Oid, Result, SqlState};

/// CREATE DOMAIN.
pub(in super::super) fn create_domain(
    ctx: &mut DdlContext<'_>,
    create: &CreateDomainStmt,
) -> Result<()> {
    let (schema, name) = ctx.new_type_name(&create.name)?;
    let base = base_type(ctx, create)?;
    let mut domain = Domain {
        base: base.oid,
        modifier: base.typmod,
        collation: collation(ctx, create, base.oid)?,
        not_null: None,
        default: None,
        checks: Vec::new(),
    };
    let mut nullness = None;
    let mut has_default = false;
    for constraint in &create.constraints {
        match &constraint.kind {
            ConstraintKind::Default(expr) => {
                if std::mem::replace(&mut has_default, true) {
                    return Err(syntax(ctx, "multiple default expressions", constraint.location));
                }
                domain.default = bound_default(ctx, &name, &domain, expr)?;
            }
            ConstraintKind::Null | ConstraintKind::NotNull { .. } => {
                let not_null = !matches!(constraint.kind, ConstraintKind::Null);
                if nullness.is_some_and(|known| known != not_null) {
                    let message = "conflicting NULL/NOT NULL constraints";
                    return Err(syntax(ctx, message, constraint.location));
                }
                nullness = Some(not_null);
                if not_null && domain.not_null.is_none() {
                    domain.not_null = Some(not_null_constraint(ctx, &name, &domain, constraint)?);
                }
            }
            ConstraintKind::Check(expr) => {
                let check = check_constraint(ctx, &name, &domain, constraint, expr)?;
                domain.checks.push(check);
            }
            other => return Err(refused_kind(ctx, other, constraint.location)),
        }
    }
    let definition = TypeDefinition::Domain(domain);
    let made = object(ctx, (schema, name), place::DOMAINS, definition)?;
    ctx.put_type(made);
    Ok(())
}

fn syntax(ctx: &DdlContext<'_>, message: &str, location: Location) -> Error {
    ctx.error(SqlState::SYNTAX_ERROR, message, location)
}

/// The type that a domain is over: 42804 for a pseudo-type.
fn base_type(ctx: &mut DdlContext<'_>, create: &CreateDomainStmt) -> Result<TypeRef> {
    let place = create.type_name.location;
    let position = place.position(ctx.source);
    let base = ctx.resolve_type(&create.type_name).map_err(|e| e.at(position))?;
    ctx.warn_of_precision(&create.type_name, Location::NONE);
    let Some(ty) = builtin::ty(base.oid) else {
        return Err(Error::internal("a type that is not there"));
    };
    if ty.kind == b'p' {
        let message =
            format!("\"{}\" is not a valid base type for a domain", create.type_name.name);
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(position));
    }
    let held = ctx.catalog().held_type(base.oid).oid;
    let element = steppe_sql::bind::own_element(held).unwrap_or(held);
    let is_supported = steppe_types::oid::is_enum_type(element)
        || steppe_types::physical::Physical::of(held) != steppe_types::physical::Physical::Any;
    if !is_supported {
        return Err(Error::not_supported(format!("domains over {}", ctx.format_type(base.oid))));
    }
    Ok(base)
}

/// The collation: the base type's, or that of COLLATE.
fn collation(ctx: &mut DdlContext<'_>, create: &CreateDomainStmt, base: Oid) -> Result<Oid> {
    let catalog = ctx.catalog();
    let held = catalog.held_type(base).oid;
    match &create.collation {
        Some(name) => {
            let clause = ast::CollateClause { name: name.clone(), location: Location::NONE };
            written_collation(ctx, &clause, held)
        }
        None => Ok(catalog.domain(base).map_or(builtin::collation_of(held), |d| d.collation)),
    }
}

/// The errors of constraints that a domain cannot have.
fn refused_kind(ctx: &DdlContext<'_>, kind: &ConstraintKind, location: Location) -> Error {
    let what = match kind {
        ConstraintKind::PrimaryKey(_) => "primary key constraints",
        ConstraintKind::Unique { .. } => "unique constraints",
        ConstraintKind::Exclude(_) => "exclusion constraints",
        ConstraintKind::ForeignKey(_) => "foreign key constraints",
        ConstraintKind::Generated { .. } => {
            let message = "specifying GENERATED not supported for domains";
            return ctx.error(SqlState::FEATURE_NOT_SUPPORTED, message, location);
        }
        _ => {
            let message = "specifying constraint attributes not supported for domains";
            return ctx.error(SqlState::FEATURE_NOT_SUPPORTED, message, location);
        }
    };
    ctx.error(SqlState::SYNTAX_ERROR, format!("{what} not possible for domains"), location)
}

/// DEFAULT as a stored text; `None` for a plain NULL.
fn bound_default(
    ctx: &mut DdlContext<'_>,
    name: &Arc<str>,
    domain: &Domain,
    expr: &ast::Expr,
) -> Result<Option<Arc<str>>> {
    let column = ctx.catalog().column(name.clone(), domain.base, domain.modifier);
    default_text(ctx, &column, expr)
}

/// A name that was written, or one that is made of the domain's: 42710 if the domain has it already.
fn constraint_name(
    domain_name: &str,
    domain: &Domain,
    written: Option<&str>,
    label: &str,
) -> Result<Arc<str>> {
    let is_taken = |name: &str| domain.constraint_names().any(|known| **known == *name);
    if let Some(written) = written {
        if is_taken(written) {
            let message =
                format!("constraint \"{written}\" for domain \"{domain_name}\" already exists");
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
        }
        return Ok(written.into());
    }
    let numbered = (0u32..).map(|n| match n {
        0 => object_name(domain_name, "", label),
        n => object_name(domain_name, "", &format!("{label}{n}")),
    });
    let free = numbered.into_iter().find(|name| !is_taken(name));
    free.map(Arc::from).ok_or_else(|| Error::internal("no free name was found"))
}

fn not_null_constraint(
    ctx: &DdlContext<'_>,
    domain_name: &str,
    domain: &Domain,
    constraint: &ast::Constraint,
) -> Result<DomainNotNull> {
    let name = constraint_name(domain_name, domain, constraint.name.as_deref(), "not_null")?;
    Ok(DomainNotNull { oid: ctx.store.new_oid()?, name })
}

/// CHECK as the catalog keeps it.
fn check_constraint(
    ctx: &mut DdlContext<'_>,
    domain_name: &str,
    domain: &Domain,
    constraint: &ast::Constraint,
    expr: &ast::Expr,
) -> Result<DomainCheck> {
    if constraint.no_inherit {
        let message = "check constraints for domains cannot be marked NO INHERIT";
        return Err(ctx.error(SqlState::INVALID_OBJECT_DEFINITION, message, constraint.location));
    }
    if !constraint.enforced {
        let message = "specifying constraint enforceability not supported for domains";
        return Err(ctx.error(SqlState::FEATURE_NOT_SUPPORTED, message, constraint.location));
    }
    let name = constraint_name(domain_name, domain, constraint.name.as_deref(), "check")?;
    let condition = condition(ctx, domain, expr)?;
    let expression = deparse::kept_expression(&condition, &|_| None, &ctx.catalog()).into();
    let (oid, validated) = (ctx.store.new_oid()?, !constraint.not_valid);
    Ok(DomainCheck { oid, name, expression, validated })
}

/// A condition over VALUE.
fn condition(ctx: &mut DdlContext<'_>, domain: &Domain, expr: &ast::Expr) -> Result<Expr> {
    let value = TypeRef { oid: domain.base, typmod: domain.modifier };
    ctx.binding(|b| bind_domain_condition(b, value, expr)).map_err(Error::without_position)
}

/// The domain of a name: 42809 for another type.
fn open(ctx: &mut DdlContext<'_>, name: &ast::TypeName) -> Result<(Arc<UserType>, Domain)> {
    let oid = match ctx.find_type(name)? {
        Found::Own(ty) => match ty.domain().cloned() {
            Some(domain) => return Ok((ty, domain)),
            None => ty.oid,
        },
        Found::Row(relation) => steppe_catalog::row_type_of(&relation).unwrap_or(0),
        Found::Array(oid) | Found::BuiltIn(oid) => oid,
    };
    Err(not_a("a domain", &ctx.format_type(oid)))
}

/// ALTER DOMAIN, without the forms that ALTER TYPE has too.
pub(in super::super) fn alter_domain(
    ctx: &mut DdlContext<'_>,
    stmt: &AlterDomainStmt,
) -> Result<()> {
    let (ty, mut domain) = open(ctx, &plain(&stmt.name))?;
    match &stmt.action {
        AlterDomainAction::Default(None) => domain.default = None,
        AlterDomainAction::Default(Some(expr)) => {
            domain.default = bound_default(ctx, &ty.name, &domain, expr)?;
        }
        AlterDomainAction::SetNotNull if domain.not_null.is_some() => return Ok(()),
        AlterDomainAction::SetNotNull => {
            let name = constraint_name(&ty.name, &domain, None, "not_null")?;
            domain.not_null = Some(DomainNotNull { oid: ctx.store.new_oid()?, name });
            check_not_null(ctx, ty.oid)?;
        }
        AlterDomainAction::DropNotNull => domain.not_null = None,
        AlterDomainAction::AddConstraint(constraint) => {
            add_constraint(ctx, &ty, &mut domain, constraint)?;
        }
        AlterDomainAction::ValidateConstraint(name) => validate(ctx, &ty, &mut domain, name)?,
        AlterDomainAction::DropConstraint { name, if_exists, .. } => {
            let before = domain.constraint_names().count();
            domain.checks.retain(|check| *check.name != **name);
            domain.not_null = domain.not_null.filter(|not_null| *not_null.name != **name);
            if domain.constraint_names().count() == before {
                let missing = no_constraint(&ty.name, name);
                return ctx.skip_missing(*if_exists, missing);
            }
        }
    }
    ctx.put_type(UserType { definition: TypeDefinition::Domain(domain), ..(*ty).clone() });
    Ok(())
}

/// Removes a CHECK of a domain.
pub(in super::super) fn remove_check(ctx: &mut DdlContext<'_>, domain: Oid, check: Oid) {
    let Some(ty) = ctx.catalog().user_type(domain).cloned() else { return };
    let Some(mut without) = ty.domain().cloned() else { return };
    without.checks.retain(|own| own.oid != check);
    ctx.put_type(UserType { definition: TypeDefinition::Domain(without), ..(*ty).clone() });
}

fn no_constraint(domain: &str, name: &str) -> Error {
    let message = format!("constraint \"{name}\" of domain \"{domain}\" does not exist");
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}

/// ADD CONSTRAINT: values that are stored must fulfil it, unless it is NOT VALID.
fn add_constraint(
    ctx: &mut DdlContext<'_>,
    ty: &UserType,
    domain: &mut Domain,
    constraint: &ast::Constraint,
) -> Result<()> {
    match &constraint.kind {
        ConstraintKind::NotNull { .. } if domain.not_null.is_some() => Ok(()),
        ConstraintKind::NotNull { .. } => {
            domain.not_null = Some(not_null_constraint(ctx, &ty.name, domain, constraint)?);
            check_not_null(ctx, ty.oid)
        }
        ConstraintKind::Check(expr) => {
            let check = check_constraint(ctx, &ty.name, domain, constraint, expr)?;
            if check.validated {
                let condition = condition(ctx, domain, expr)?;
                check_condition(ctx, ty.oid, &condition)?;
            }
            domain.checks.push(check);
            Ok(())
        }
        other => Err(refused_kind(ctx, other, constraint.location)),
    }
}

/// VALIDATE CONSTRAINT.
fn validate(
    ctx: &mut DdlContext<'_>,
    ty: &UserType,
    domain: &mut Domain,
    name: &str,
) -> Result<()> {
    let value = TypeRef { oid: domain.base, typmod: domain.modifier };
    let Some(check) = domain.checks.iter_mut().find(|check| *check.name == *name) else {
        let is_not_null = domain.not_null.as_ref().is_some_and(|known| *known.name == *name);
        if is_not_null {
            let message = format!(
                "constraint \"{name}\" of domain \"{}\" is not a check constraint",
                ty.name
            );
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        return Err(no_constraint(&ty.name, name));
    };
    let catalog = ctx.catalog();
    let condition = steppe_sql::bind::stored_condition(&catalog, value, &check.expression)?;
    check_condition(ctx, ty.oid, &condition)?;
    check.validated = true;
    Ok(())
}

/// ALTER DOMAIN … RENAME CONSTRAINT.
pub(in super::super) fn rename_constraint(
    ctx: &mut DdlContext<'_>,
    domain_name: &ast::TypeName,
    old: &str,
    new: &str,
) -> Result<()> {
    let (ty, mut domain) = open(ctx, domain_name)?;
    if !domain.constraint_names().any(|name| **name == *old) {
        let shown = ctx.format_type(ty.oid);
        let message = format!("constraint \"{old}\" for domain {shown} does not exist");
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
    }
    let name = constraint_name(&ty.name, &domain, Some(new), "")?;
    for check in domain.checks.iter_mut().filter(|check| *check.name == *old) {
        check.name = name.clone();
    }
    for not_null in domain.not_null.iter_mut().filter(|not_null| *not_null.name == *old) {
        not_null.name = name.clone();
    }
    ctx.put_type(UserType { definition: TypeDefinition::Domain(domain), ..(*ty).clone() });
    Ok(())
}
