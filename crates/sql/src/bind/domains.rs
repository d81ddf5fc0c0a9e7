//! Values of domains: the check that makes one (coerce_to_domain), and what a value is without its
//! domain (getBaseType).
//!
//! A value of a domain is stored as one of the base type, so the planner and the executor need no
//! domains in types. [`without_domains`] takes them out of the types of a bound query before it is
//! planned. Only [`Expr::Domain`] stays, where a value becomes one of a domain with conditions.

use super::coerce::hide_cast;
use super::{BindContext, Binder, ExprPlace, bind_table_condition, parse_expression};
use crate::ast;
use crate::expr::{CallSyntax, DomainChecks, Expr, TypeRef};
use crate::query::Query;
use crate::walk;
use std::convert::Infallible;
use std::sync::Arc;
use steppe_catalog::builtin::CastContext;
use steppe_catalog::objects::UserType;
use steppe_catalog::{Catalog, Column, PG_CATALOG, RelKind, Relation};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// The type as which values of a type are stored: the base type of a domain.
fn held(catalog: &Catalog, ty: TypeRef) -> TypeRef {
    let held = catalog.held_type(ty.oid);
    match held.oid == ty.oid {
        true => ty,
        false => TypeRef { oid: held.oid, typmod: held.modifier },
    }
}

impl Binder<'_> {
    /// A value of a domain as one of the type below it.
    pub(crate) fn to_base(&self, expr: Expr) -> Expr {
        let ty = expr.ty();
        let base = self.ctx.catalog.base_type(ty.oid);
        if base.oid == ty.oid {
            return expr;
        }
        let ty = TypeRef { oid: base.oid, typmod: base.modifier };
        Expr::Relabel { arg: Box::new(expr), ty, implicit: true }
    }

    /// The type below a domain; any other type is its own.
    pub(crate) fn base_of(&self, ty: Oid) -> Oid {
        self.ctx.catalog.base_type(ty).oid
    }

    /// Coerces a value to a domain. When the statement runs, a value that the domain refuses is
    /// 23502 or 23514.
    pub(super) fn coerce_to_domain(
        &mut self,
        expr: Expr,
        domain: Oid,
        context: CastContext,
        syntax: CallSyntax,
    ) -> Result<Option<Expr>> {
        let base = self.ctx.catalog.base_type(domain);
        let to = TypeRef { oid: base.oid, typmod: base.modifier };
        let implicit = syntax == CallSyntax::ImplicitCast;
        let Some(mut value) = self.coerce(expr, to, context, syntax)? else { return Ok(None) };
        hide_cast(&mut value);
        let (arg, ty) = (Box::new(value), TypeRef::plain(domain));
        let checks = self.domain_checks(domain)?;
        if !checks.not_null && checks.conditions.is_empty() {
            return Ok(Some(Expr::Relabel { arg, ty, implicit }));
        }
        Ok(Some(Expr::Domain { arg, checks: Box::new(checks), ty, implicit }))
    }

    /// The conditions of a domain; those of the domains below come first.
    fn domain_checks(&self, domain: Oid) -> Result<DomainChecks> {
        let catalog = self.ctx.catalog;
        let named = catalog.own_type_name(domain);
        let (schema, name) = named.ok_or_else(|| Error::internal("a domain is lost"))?;
        let schema = catalog.schema(schema).map_or_else(|| "?".into(), |s| s.name.clone());
        let mut conditions = Vec::new();
        let mut levels: Vec<_> = catalog.domains_down(domain).map(|(_, domain)| domain).collect();
        levels.reverse();
        for level in &levels {
            let mut checks: Vec<_> = level.checks.iter().collect();
            checks.sort_by(|a, b| a.name.cmp(&b.name));
            for check in checks {
                let value = TypeRef { oid: level.base, typmod: level.modifier };
                let condition = stored_condition(catalog, value, &check.expression)?;
                conditions.push((check.name.clone(), condition));
            }
        }
        Ok(DomainChecks {
            domain,
            shown: self.format_type(domain, -1).into(),
            name: (schema, name),
            not_null: levels.iter().any(|level| level.not_null.is_some()),
            conditions,
        })
    }

    /// The default that a column has from its domain, or from the nearest below that has one.
    pub(super) fn domain_default(&self, domain: Oid) -> Option<Arc<str>> {
        self.ctx.catalog.domains_down(domain).find_map(|(_, domain)| domain.default.clone())
    }

    /// NULL as a column's value, which its domain may refuse.
    pub(super) fn null_of(&mut self, column: &Column, ty: TypeRef) -> Result<Expr> {
        if column.domain == 0 || column.dropped || column.generated {
            return Ok(Expr::Const(Datum::Null, TypeRef::held(column)));
        }
        let null = Expr::Const(Datum::Null, TypeRef::plain(oid::UNKNOWN));
        self.coerce_implicit(null, ty)
    }
}

/// Binds a condition over VALUE, a value of this type: 42703 for any other name.
pub fn bind_domain_condition(
    ctx: &BindContext<'_>,
    value: TypeRef,
    expr: &ast::Expr,
) -> Result<Expr> {
    let mut relation = Relation::new(oid::INVALID_OID, PG_CATALOG, "", RelKind::Table);
    relation.columns = vec![ctx.catalog.column("value", value.oid, value.typmod)].into();
    let place = ExprPlace::Check;
    let bound = bind_table_condition(ctx, &Arc::new(relation), expr, "CHECK", place);
    // A hint would name the column that stands for VALUE.
    let bound = bound.map_err(|mut error| {
        if error.sqlstate() == SqlState::UNDEFINED_COLUMN {
            error.fields_mut().hint = None;
        }
        error
    })?;
    bound.transform(&mut |expr| match expr {
        Expr::Var { column: 0, ty, .. } => Ok(Expr::DomainValue(ty)),
        Expr::Var { .. } => Err(Error::not_supported("system columns in a domain's condition")),
        other => Ok(other),
    })
}

/// Binds a domain's stored condition.
pub fn stored_condition(catalog: &Catalog, value: TypeRef, text: &str) -> Result<Expr> {
    let io = IoContext::default();
    let ctx = BindContext { catalog, search_path: &[PG_CATALOG], io: &io, source: text };
    bind_domain_condition(&ctx, value, &parse_expression(text)?)
}

/// Takes domains out of the types of a query and of all queries in it.
pub(crate) fn without_domains(catalog: &Catalog, query: &mut Query) {
    if !has_domains(catalog) {
        return;
    }
    walk::for_each_expr(query, &mut |expr| erase(catalog, expr));
    walk::for_each_query(query, 0, &mut |query, _| {
        for rte in &mut query.rtes {
            rte.columns.iter_mut().for_each(|column| column.ty = held(catalog, column.ty));
        }
    });
}

/// Takes domains out of the types of an expression.
pub(crate) fn expr_without_domains(catalog: &Catalog, expr: Expr) -> Expr {
    if !has_domains(catalog) {
        return expr;
    }
    let erased: std::result::Result<Expr, Infallible> = expr.transform(&mut |mut expr| {
        erase(catalog, &mut expr);
        Ok(expr)
    });
    match erased {
        Ok(expr) => expr,
        Err(never) => match never {},
    }
}

fn has_domains(catalog: &Catalog) -> bool {
    catalog.stored::<UserType>().iter().any(|ty| ty.domain().is_some())
}

/// Takes the domain out of the type of a node. A relabelling that is then to the same type is
/// removed.
fn erase(catalog: &Catalog, expr: &mut Expr) {
    if let Some(ty) = expr.ty_mut() {
        *ty = held(catalog, *ty);
    }
    if let Expr::Array { element, .. } = expr {
        *element = catalog.held_type(*element).oid;
    }
    if let Expr::Func { func, args, .. } = expr
        && func.built_in_name() == Some("pg_typeof")
        && let Some(ty) = args.first().map(|arg| arg.ty().oid)
        && catalog.held_type(ty).oid != ty
    {
        *expr = Expr::Const(Datum::Oid(ty), TypeRef::plain(oid::REGTYPE));
    }
    while let Expr::Relabel { arg, ty, .. } = expr
        && held(catalog, arg.ty()) == *ty
    {
        let inner = std::mem::replace(&mut **arg, Expr::Default(TypeRef::plain(0)));
        *expr = inner;
        if let Some(ty) = expr.ty_mut() {
            *ty = held(catalog, *ty);
        }
    }
}
