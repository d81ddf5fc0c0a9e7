//! The expressions that objects keep as text, each with the part of the object that it belongs to, as
//! a version of the catalog binds them.

use std::sync::Arc;
use steppe_catalog::objects::{Domain, Object, UserType};
use steppe_catalog::{
    Catalog, ConstraintKind, ExtendedStatistics, Function, IndexInfo, PG_CATALOG, PartitionKey,
    Relation,
};
use steppe_sql::bind::index::IndexExprs;
use steppe_sql::bind::trigger::stored_trigger_condition;
use steppe_sql::bind::{
    BindContext, ExprPlace, bind_assigned_expr, bind_table_expr, generated_value, parse_expression,
    statistics_exprs, stored_condition, stored_expr, stored_key,
};
use steppe_sql::expr::{Expr, TypeRef};
use steppe_types::Result;
use steppe_types::io::IoContext;

/// The expressions of a part of an object.
pub(super) struct Stored<'a> {
    /// The part, which is dropped with what the expressions name.
    pub(super) owner: Object,
    /// The texts.
    texts: Vec<&'a str>,
    binding: Binding<'a>,
}

/// How the texts are bound.
enum Binding<'a> {
    /// An expression without columns.
    Plain,
    /// The default of a column, of the column's type.
    Default(TypeRef, &'a str),
    Generated(&'a Arc<Relation>, usize),
    Check(&'a Arc<Relation>),
    Key(&'a Arc<Relation>, &'a PartitionKey),
    Index(&'a IndexInfo),
    Statistics(&'a Arc<Relation>, &'a ExtendedStatistics),
    /// WHEN of a trigger.
    Condition(&'a Arc<Relation>),
    /// CHECK of a domain.
    Value(&'a Domain),
}

/// The expressions of a relation. (The query of a view is no expression.)
pub(super) fn of_relation(relation: &Arc<Relation>) -> Vec<Stored<'_>> {
    let table = relation.oid;
    let mut found = Vec::new();
    for (position, column) in relation.columns.iter().enumerate().filter(|(_, c)| !c.dropped) {
        let (Some(text), attnum) = (&column.default, position as i16 + 1) else { continue };
        let (owner, binding) = match column.generated {
            // A generated column is dropped with its expression.
            true => (Object::Column(table, attnum), Binding::Generated(relation, position)),
            false => {
                let binding = Binding::Default(TypeRef::of(column), &column.name);
                (Object::Default(table, attnum), binding)
            }
        };
        found.push(Stored { owner, texts: vec![&**text], binding });
    }
    for constraint in &relation.constraints {
        let ConstraintKind::Check { expression } = &constraint.kind else { continue };
        let owner = Object::Constraint(table, constraint.oid);
        let texts = vec![expression.as_str()];
        let binding = Binding::Check(relation);
        found.push(Stored { owner, texts, binding });
    }
    for trigger in relation.triggers.iter().filter(|trigger| trigger.parent == 0) {
        let Some(when) = &trigger.when else { continue };
        let owner = Object::Trigger(table, trigger.oid);
        let binding = Binding::Condition(relation);
        found.push(Stored { owner, texts: vec![&**when], binding });
    }
    for object in relation.extended.iter().filter(|object| !object.expressions.is_empty()) {
        let owner = Object::Statistics(table, object.oid);
        let texts = object.expressions.iter().map(|expression| &*expression.text).collect();
        let binding = Binding::Statistics(relation, object);
        found.push(Stored { owner, texts, binding });
    }
    if let Some(key) = &relation.partition_key {
        let texts = key.columns.iter().filter_map(|column| column.expression.as_deref()).collect();
        let (owner, binding) = (Object::Relation(table), Binding::Key(relation, key));
        found.push(Stored { owner, texts, binding });
    }
    if let Some(info) = &relation.index {
        let keys = info.keys.iter().filter_map(|key| key.expression.as_deref());
        let texts = keys.chain(info.predicate.as_deref()).collect();
        let (owner, binding) = (Object::Relation(table), Binding::Index(info));
        found.push(Stored { owner, texts, binding });
    }
    found
}

/// The defaults of a function's arguments.
pub(super) fn of_function(function: &Function) -> Stored<'_> {
    let owner = Object::Function(function.oid);
    let texts = function.defaults.iter().map(|text| &**text).collect();
    Stored { owner, texts, binding: Binding::Plain }
}

/// The default and the conditions of a domain. The domain is dropped with its default, not with a
/// condition.
pub(super) fn of_type(ty: &UserType) -> Vec<Stored<'_>> {
    let Some(domain) = ty.domain() else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(default) = &domain.default {
        let owner = Object::Type(ty.oid);
        let texts = vec![&**default];
        found.push(Stored { owner, texts, binding: Binding::Plain });
    }
    for check in &domain.checks {
        let owner = Object::Constraint(ty.oid, check.oid);
        let (texts, binding) = (vec![&*check.expression], Binding::Value(domain));
        found.push(Stored { owner, texts, binding });
    }
    found
}

impl Stored<'_> {
    /// The expressions as a version of the catalog binds them.
    pub(super) fn bind(&self, catalog: &Catalog) -> Result<Vec<Expr>> {
        match &self.binding {
            Binding::Plain => self.texts.iter().map(|text| bind_plain(catalog, text)).collect(),
            Binding::Default(ty, column) => {
                self.texts.iter().map(|text| bind_default(catalog, text, *ty, column)).collect()
            }
            Binding::Generated(table, position) => {
                Ok(generated_value(catalog, table, *position)?.into_iter().collect())
            }
            Binding::Check(table) => {
                let texts = self.texts.iter();
                texts.map(|text| stored_expr(catalog, table, text, ExprPlace::Check)).collect()
            }
            Binding::Key(table, key) => stored_key(catalog, table, table, key),
            Binding::Statistics(table, object) => statistics_exprs(catalog, table, object),
            Binding::Condition(table) => {
                let texts = self.texts.iter();
                texts.map(|text| stored_trigger_condition(catalog, table, text)).collect()
            }
            Binding::Value(domain) => {
                let value = TypeRef { oid: domain.base, typmod: domain.modifier };
                let texts = self.texts.iter();
                texts.map(|text| stored_condition(catalog, value, text)).collect()
            }
            Binding::Index(info) => {
                let Some(table) = catalog.relation(info.table) else { return Ok(Vec::new()) };
                let exprs = IndexExprs::bind(catalog, table, info)?;
                Ok(exprs.keys.into_iter().flatten().chain(exprs.predicate).collect())
            }
        }
    }
}

fn bind_plain(catalog: &Catalog, text: &str) -> Result<Expr> {
    let io = IoContext::default();
    let ctx = BindContext { catalog, search_path: &[PG_CATALOG], io: &io, source: text };
    bind_table_expr(&ctx, None, &parse_expression(text)?, ExprPlace::ColumnDefault)
}

fn bind_default(catalog: &Catalog, text: &str, ty: TypeRef, column: &str) -> Result<Expr> {
    let io = IoContext::default();
    let ctx = BindContext { catalog, search_path: &[PG_CATALOG], io: &io, source: text };
    bind_assigned_expr(&ctx, None, &parse_expression(text)?, ExprPlace::ColumnDefault, ty, column)
}
