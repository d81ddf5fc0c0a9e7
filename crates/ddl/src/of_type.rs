//! The objects that depend on a type: columns of it, domains over it, and objects with a stored
//! text that names it (see [`steppe_catalog::type_spelling`]).

use steppe_catalog::objects::{Object, TypeDefinition, UserType};
use steppe_catalog::type_spelling::{is_spelled, mentions};
use steppe_catalog::{Catalog, Column, ConstraintKind, Relation, builtin};
use steppe_types::Oid;
use steppe_types::oid::place;

/// The direct dependents of a type, in the order of their objects' creation.
pub(super) fn users(catalog: &Catalog, ty: Oid) -> Vec<Object> {
    let mut found: Vec<(Oid, Object)> = Vec::new();
    for relation in catalog.referrers(ty) {
        columns_of(relation, ty, &mut |object| found.push((relation.oid, object)));
    }
    found.sort_by_key(|(oid, object)| match object {
        Object::Column(_, attnum) => (*oid, -attnum),
        _ => (*oid, 0),
    });
    let element = builtin::ty(ty).map_or(0, |ty| ty.element);
    // Stored texts name row types as those of their relations.
    if !is_spelled(ty) && !is_spelled(element) {
        return found.into_iter().map(|(_, object)| object).collect();
    }
    for relation in catalog.relations().filter(|relation| !relation.is_system()) {
        in_relation(relation, ty, &mut |object| found.push((relation.oid, object)));
    }
    for own in catalog.stored::<UserType>().iter() {
        if is_over(own, ty) {
            found.push((own.oid % place::LENGTH, Object::Type(own.oid)));
        }
    }
    let is_generated = |table: Oid, attnum: i16| {
        let column = catalog.relation(table).and_then(|t| t.columns.get(attnum as usize - 1));
        column.is_some_and(|column| column.generated)
    };
    // Columns in reverse order, and then defaults, which PostgreSQL creates after the columns.
    found.sort_by_key(|(oid, object)| match object {
        Object::Default(_, attnum) => (*oid, 1, *attnum),
        Object::Column(table, attnum) if is_generated(*table, *attnum) => (*oid, 1, *attnum),
        Object::Column(_, attnum) => (*oid, 0, -attnum),
        _ => (*oid, 2, 0),
    });
    found.into_iter().map(|(_, object)| object).collect()
}

/// Whether a domain is over the type, or has texts that name it.
fn is_over(own: &UserType, ty: Oid) -> bool {
    let TypeDefinition::Domain(domain) = &own.definition else { return false };
    let texts = domain.default.iter().chain(domain.checks.iter().map(|check| &check.expression));
    own.oid != ty && (domain.base == ty || texts.into_iter().any(|text| mentions(text, ty)))
}

/// Adds a relation's columns of the type.
fn columns_of(relation: &Relation, ty: Oid, add: &mut dyn FnMut(Object)) {
    for (column, attnum) in relation.columns.iter().zip(1..) {
        if !column.dropped && (column.type_oid == ty || column.domain == ty) {
            // A partitioned table is dropped with a column of its key.
            let key = relation.partition_key.iter().flat_map(|key| key.columns.iter());
            let is_key = key.into_iter().any(|column| column.attnum == attnum);
            add(match is_key {
                true => Object::Relation(relation.oid),
                false => Object::Column(relation.oid, attnum),
            });
        }
    }
}

/// Adds what a relation has with a text that names the type.
fn in_relation(relation: &Relation, ty: Oid, add: &mut dyn FnMut(Object)) {
    let is_named = |text: &str| mentions(text, ty);
    let table = relation.oid;
    if relation.view.as_deref().is_some_and(|text| is_named(text)) {
        return add(Object::Relation(table));
    }
    if let Some(index) = &relation.index {
        let texts = index.keys.iter().filter_map(|key| key.expression.as_deref());
        if texts.chain(index.predicate.as_deref()).any(is_named) {
            add(Object::Relation(table));
        }
        return;
    }
    for (column, attnum) in relation.columns.iter().zip(1..).filter(|(c, _)| !c.dropped) {
        let is_of_type = column.type_oid == ty || column.domain == ty;
        if !is_of_type && column.default.as_deref().is_some_and(is_named) {
            add(default_or_column(column, table, attnum));
        }
    }
    for constraint in &relation.constraints {
        if let ConstraintKind::Check { expression } = &constraint.kind
            && is_named(expression)
        {
            add(Object::Constraint(table, constraint.oid));
        }
    }
    for object in relation.extended.iter() {
        if object.expressions.iter().any(|expression| is_named(&expression.text)) {
            add(Object::Statistics(table, object.oid));
        }
    }
}

/// The object that a default's text belongs to. A generated column is dropped with its expression.
fn default_or_column(column: &Column, table: Oid, attnum: i16) -> Object {
    match column.generated {
        true => Object::Column(table, attnum),
        false => Object::Default(table, attnum),
    }
}
