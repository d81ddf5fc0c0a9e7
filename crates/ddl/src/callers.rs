//! The callers of a function, and the functions that take or return a type: dependents
//! (dependency.c).
//!
//! A view stores the functions that it calls, as it stores the tables that it reads. Other objects
//! keep their expressions as text. If the function's name occurs in a text, the text is bound, and
//! its calls tell whether it depends on the function.

use std::sync::Arc;
use steppe_catalog::objects::Object;
use steppe_catalog::system::definitions::quote_identifier;
use steppe_catalog::{Catalog, ConstraintKind, Function, PG_CATALOG, Relation};
use steppe_sql::bind::index::IndexExprs;
use steppe_sql::bind::{
    BindContext, ExprPlace, bind_table_expr, generated_value, parse_expression, statistics_exprs,
    stored_expr, stored_key,
};
use steppe_sql::expr::Expr;
use steppe_types::io::IoContext;
use steppe_types::{Oid, Result};

/// The direct dependents of a function, in the order of creation.
pub(super) fn of(catalog: &Catalog, oid: Oid) -> Vec<Object> {
    let Some(function) = catalog.function(oid) else { return Vec::new() };
    let callee =
        Callee { catalog, function: &function, name: quote_identifier(&function.name).into() };
    let mut found: Vec<(Oid, Object)> = Vec::new();
    for view in super::depend::readers(catalog, oid, 0) {
        found.push((view.oid, Object::Relation(view.oid)));
    }
    for relation in catalog.relations().filter(|relation| !relation.is_system()) {
        callee.in_relation(relation, &mut found);
    }
    for other in catalog.stored::<Function>().iter() {
        if callee.is_in_function(other) {
            found.push((other.oid, Object::Function(other.oid)));
        }
    }
    found.sort_unstable_by_key(|(created, _)| *created);
    found.into_iter().map(|(_, object)| object).collect()
}

/// The functions that take or return values of a type.
pub(super) fn with_type(catalog: &Catalog, ty: Oid) -> Vec<Object> {
    let uses = |f: &&Arc<Function>| {
        let mut types = f.args.iter().chain(f.declared.iter().map(|a| &a.ty)).chain([&f.ret]);
        let has_state = f.aggregate().is_some_and(|aggregate| {
            aggregate.state == ty || aggregate.moving.as_ref().is_some_and(|m| m.state == ty)
        });
        has_state || types.any(|used| *used == ty)
    };
    let functions = catalog.stored::<Function>().iter().filter(uses);
    functions.map(|function| Object::Function(function.oid)).collect()
}

/// The functions whose bodies read a relation (attribute number 0) or a column of it.
pub(super) fn readers(catalog: &Catalog, relation: Oid, attnum: i16) -> Vec<Object> {
    let reads = |f: &&Arc<Function>| f.reads.contains(&(relation, attnum));
    let functions = catalog.stored::<Function>().iter().filter(reads);
    functions.map(|function| Object::Function(function.oid)).collect()
}

/// A function whose callers are sought.
struct Callee<'a> {
    catalog: &'a Catalog,
    function: &'a Function,
    /// Its name, as texts have it.
    name: String,
}

impl Callee<'_> {
    /// Adds the relation, or its parts, that call the function. The OID of each orders it by
    /// creation.
    fn in_relation(&self, relation: &Arc<Relation>, found: &mut Vec<(Oid, Object)>) {
        let table = relation.oid;
        self.in_columns(relation, found);
        for constraint in &relation.constraints {
            let ConstraintKind::Check { expression } = &constraint.kind else { continue };
            if self.is_in(expression, |text| {
                stored_expr(self.catalog, relation, text, ExprPlace::Check).map(|e| vec![e])
            }) {
                found.push((constraint.oid, Object::Constraint(table, constraint.oid)));
            }
        }
        for trigger in relation.triggers.iter().filter(|trigger| trigger.parent == 0) {
            let calls = |when: &Arc<str>| self.names_it(when);
            if trigger.function == self.function.oid || trigger.when.as_ref().is_some_and(calls) {
                found.push((trigger.oid, Object::Trigger(table, trigger.oid)));
            }
        }
        for object in &relation.extended {
            let exprs = || statistics_exprs(self.catalog, relation, object);
            let mut texts = object.expressions.iter().map(|e| &e.text);
            if texts.any(|text| self.names_it(text)) && self.is_called(exprs()) {
                found.push((object.oid, Object::Statistics(table, object.oid)));
            }
        }
        if self.is_in_key(relation) || self.is_in_index(relation) {
            found.push((table, Object::Relation(table)));
        }
    }

    fn in_columns(&self, relation: &Arc<Relation>, found: &mut Vec<(Oid, Object)>) {
        for (position, column) in relation.columns.iter().enumerate() {
            let (Some(text), attnum) = (&column.default, position as i16 + 1) else { continue };
            let bind = |text: &str| match column.generated {
                true => {
                    let value = generated_value(self.catalog, relation, position);
                    value.map(|value| value.into_iter().collect())
                }
                false => self.bind(text).map(|expr| vec![expr]),
            };
            if self.is_in(text, bind) {
                let object = match column.generated {
                    true => Object::Column(relation.oid, attnum),
                    false => Object::Default(relation.oid, attnum),
                };
                found.push((relation.oid, object));
            }
        }
    }

    fn is_in_key(&self, relation: &Arc<Relation>) -> bool {
        let Some(key) = &relation.partition_key else { return false };
        let mut texts = key.columns.iter().filter_map(|column| column.expression.as_ref());
        texts.any(|text| self.names_it(text))
            && self.is_called(stored_key(self.catalog, relation, relation, key))
    }

    fn is_in_index(&self, relation: &Relation) -> bool {
        let Some(info) = &relation.index else { return false };
        let Some(table) = self.catalog.relation(info.table) else { return false };
        let texts = info.keys.iter().filter_map(|key| key.expression.as_ref());
        if !texts.chain(&info.predicate).any(|text| self.names_it(text)) {
            return false;
        }
        self.is_called(
            IndexExprs::bind(self.catalog, table, info)
                .map(|exprs| exprs.keys.into_iter().flatten().chain(exprs.predicate).collect()),
        )
    }

    /// Whether another function's defaults or its body in SQL's own syntax call it.
    fn is_in_function(&self, other: &Function) -> bool {
        other.oid != self.function.oid
            && (other.reads.contains(&(self.function.oid, 0))
                || other
                    .defaults
                    .iter()
                    .any(|text| self.is_in(text, |text| self.bind(text).map(|e| vec![e]))))
    }

    /// Whether a text, which `bind` binds, calls the function.
    fn is_in(&self, text: &str, bind: impl FnOnce(&str) -> Result<Vec<Expr>>) -> bool {
        self.names_it(text) && self.is_called(bind(text))
    }

    fn names_it(&self, text: &str) -> bool {
        text.contains(&self.name)
    }

    /// Whether expressions call it. (What cannot be bound any more calls nothing.)
    fn is_called(&self, exprs: Result<Vec<Expr>>) -> bool {
        exprs.is_ok_and(|exprs| exprs.iter().any(|expr| calls(expr, self.function.oid)))
    }

    /// An expression that reads no table.
    fn bind(&self, text: &str) -> Result<Expr> {
        let io = IoContext::default();
        let ctx = BindContext {
            catalog: self.catalog,
            search_path: &[PG_CATALOG],
            io: &io,
            source: text,
        };
        bind_table_expr(&ctx, None, &parse_expression(text)?, ExprPlace::ColumnDefault)
    }
}

/// Whether an expression calls a function.
fn calls(expr: &Expr, function: Oid) -> bool {
    let is_it = match expr {
        Expr::Func { func, .. } => func.oid == function,
        Expr::Aggregate(aggregate) => aggregate.func.oid == function,
        Expr::Window(call) => call.func.oid == function,
        _ => false,
    };
    is_it || expr.any_child(|child| calls(child, function))
}
