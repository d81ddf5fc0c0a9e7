//! The expressions that objects keep as text, each with the part of the object that it belongs to.
//!
//! A stored text names columns and built-in objects by name, users' types and relations by OID
//! ([`steppe_catalog::type_spelling`]), and users' functions with their schemas. So a text without a
//! qualified call calls no user's function, and only other texts have to be bound to tell which
//! functions they call.

use std::sync::Arc;
use steppe_catalog::objects::{Domain, Object, UserType};
use steppe_catalog::{
    Catalog, ConstraintKind, ExtendedStatistics, Function, IndexInfo, PG_CATALOG, PartitionKey,
    Relation,
};
use steppe_sql::bind::index::IndexExprs;
use steppe_sql::bind::trigger::stored_trigger_condition;
use steppe_sql::bind::{
    BindContext, ExprPlace, bind_table_expr, generated_value, parse_expression, statistics_exprs,
    stored_condition, stored_expr, stored_key,
};
use steppe_sql::expr::{Expr, TypeRef};
use steppe_types::io::IoContext;
use steppe_types::oid::place;
use steppe_types::{Oid, Result};

/// The expressions of a part of an object.
pub(super) struct Stored<'a> {
    /// The part, which is dropped with what the expressions name.
    pub(super) owner: Object,
    /// An OID, by which owners are in the order of creation.
    pub(super) created: Oid,
    /// The texts.
    pub(super) texts: Vec<&'a str>,
    binding: Binding<'a>,
}

/// How the texts are bound.
enum Binding<'a> {
    /// An expression without columns.
    Plain,
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
            false => (Object::Default(table, attnum), Binding::Plain),
        };
        found.push(Stored { owner, created: table, texts: vec![&**text], binding });
    }
    for constraint in &relation.constraints {
        let ConstraintKind::Check { expression } = &constraint.kind else { continue };
        let owner = Object::Constraint(table, constraint.oid);
        let texts = vec![expression.as_str()];
        let binding = Binding::Check(relation);
        found.push(Stored { owner, created: constraint.oid, texts, binding });
    }
    for trigger in relation.triggers.iter().filter(|trigger| trigger.parent == 0) {
        let Some(when) = &trigger.when else { continue };
        let owner = Object::Trigger(table, trigger.oid);
        let (created, binding) = (trigger.oid, Binding::Condition(relation));
        found.push(Stored { owner, created, texts: vec![&**when], binding });
    }
    for object in relation.extended.iter().filter(|object| !object.expressions.is_empty()) {
        let owner = Object::Statistics(table, object.oid);
        let texts = object.expressions.iter().map(|expression| &*expression.text).collect();
        let binding = Binding::Statistics(relation, object);
        found.push(Stored { owner, created: object.oid, texts, binding });
    }
    if let Some(key) = &relation.partition_key {
        let texts = key.columns.iter().filter_map(|column| column.expression.as_deref()).collect();
        let (owner, binding) = (Object::Relation(table), Binding::Key(relation, key));
        found.push(Stored { owner, created: table, texts, binding });
    }
    if let Some(info) = &relation.index {
        let keys = info.keys.iter().filter_map(|key| key.expression.as_deref());
        let texts = keys.chain(info.predicate.as_deref()).collect();
        let (owner, binding) = (Object::Relation(table), Binding::Index(info));
        found.push(Stored { owner, created: table, texts, binding });
    }
    found
}

/// The defaults of a function's arguments.
pub(super) fn of_function(function: &Function) -> Stored<'_> {
    let (owner, created) = (Object::Function(function.oid), function.oid);
    let texts = function.defaults.iter().map(|text| &**text).collect();
    Stored { owner, created, texts, binding: Binding::Plain }
}

/// The default and the conditions of a domain. The domain is dropped with its default, not with a
/// condition.
pub(super) fn of_type(ty: &UserType) -> Vec<Stored<'_>> {
    let Some(domain) = ty.domain() else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(default) = &domain.default {
        let (owner, created) = (Object::Type(ty.oid), ty.oid % place::LENGTH);
        let texts = vec![&**default];
        found.push(Stored { owner, created, texts, binding: Binding::Plain });
    }
    for check in &domain.checks {
        let (owner, created) = (Object::Constraint(ty.oid, check.oid), check.oid);
        let (texts, binding) = (vec![&*check.expression], Binding::Value(domain));
        found.push(Stored { owner, created, texts, binding });
    }
    found
}

impl Stored<'_> {
    /// The users' functions that the expressions call. An error if a text cannot be bound.
    pub(super) fn called(&self, catalog: &Catalog) -> Result<Vec<Oid>> {
        let mut called = Vec::new();
        if self.texts.iter().any(|text| has_qualified_call(text)) {
            for expr in self.bind(catalog)? {
                add_called(catalog, &expr, &mut called);
            }
        }
        Ok(called)
    }

    fn bind(&self, catalog: &Catalog) -> Result<Vec<Expr>> {
        match &self.binding {
            Binding::Plain => self.texts.iter().map(|text| bind_plain(catalog, text)).collect(),
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

/// Adds the users' functions that an expression calls.
fn add_called(catalog: &Catalog, expr: &Expr, called: &mut Vec<Oid>) {
    let function = match expr {
        Expr::Func { func, .. } => Some(func.oid),
        Expr::Aggregate(aggregate) => Some(aggregate.func.oid),
        Expr::Window(call) => Some(call.func.oid),
        _ => None,
    };
    let is_own = |oid: &Oid| catalog.stored::<Function>().get(*oid).is_some();
    called.extend(function.filter(is_own));
    expr.for_each_child(&mut |child| add_called(catalog, child, called));
}

/// Whether a text may call a user's function: `schema.name(`, or an operator of a schema. True for
/// some texts that do not.
fn has_qualified_call(text: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.match_indices('(').any(|(at, _)| {
        let before = &text[..at];
        let name = match before.strip_suffix('"') {
            Some(quoted) => quoted.rfind('"').map_or("", |start| &quoted[..start]),
            None => before.trim_end_matches(is_of_name),
        };
        name.ends_with('.') || name.ends_with('"') || before.ends_with("OPERATOR")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualified_calls_are_seen() {
        for text in ["public.f(1)", "1 + \"S\".\"F x\"(2)", "a.\"q\"\"q\"()", "OPERATOR(public.+)"]
        {
            assert!(has_qualified_call(text), "{text}");
        }
        for text in ["lower(a)", "(a + 1) * 2", "nextval('1'::regclass)", "(t.a)", "\"left\"(b, 1)"]
        {
            assert!(!has_qualified_call(text), "{text}");
        }
    }
}
