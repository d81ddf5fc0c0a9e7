//! The direct dependents of an object: the references to it that refuse a DROP with RESTRICT
//! ([`references`] lists what each object refers to).
//!
//! The catalog's indexes lead to the relations that refer to an object. Users' functions, types,
//! casts, operators and groups of nodes are few, so all of them are read.

use super::trigger;
use hashbrown::HashSet;
use std::sync::Arc;
use steppe_catalog::objects::{NodeGroup, Object, Operator, UserCast, UserType};
use steppe_catalog::references::{self, Dependency, Reference};
use steppe_catalog::system::extended_statistics::statistics_objects;
use steppe_catalog::{Catalog, Function, Relation};
use steppe_sql::bind::generated_value;
use steppe_sql::bind::index::columns_of;
use steppe_types::Oid;
use steppe_types::oid::{is_domain, place};

/// The direct dependents of an object, in the order of creation.
pub(super) fn dependents(catalog: &Catalog, on: Object) -> Vec<Object> {
    let mut found: Vec<Object> = Vec::new();
    let mut take = |list: Vec<Reference>| {
        let is_meant = |r: &Reference| r.kind == Dependency::Normal && is_part(r.on, on);
        let from = list.into_iter().filter(is_meant).map(|reference| reference.from);
        found.extend(from.filter_map(|from| owner(catalog, from)));
    };
    for relation in candidates(catalog, on) {
        take(references::of_relation(catalog, relation));
    }
    for function in catalog.stored::<Function>().iter() {
        take(references::of_function(catalog, function));
    }
    for ty in catalog.stored::<UserType>().iter() {
        take(references::of_type(catalog, ty));
    }
    for cast in catalog.stored::<UserCast>().iter() {
        take(references::of_cast(catalog, cast));
    }
    for operator in catalog.stored::<Operator>().iter() {
        take(references::of_operator(catalog, operator));
    }
    for group in catalog.stored::<NodeGroup>().iter() {
        take(references::of_node_group(group));
    }
    if let Object::Column(table, attnum) = on {
        found.extend(in_own_table(catalog, table, attnum));
    }
    found.retain(|object| !is_own(*object, on));
    found.sort_by_key(|object| age(catalog, *object));
    let mut seen = HashSet::new();
    found.retain(|object| seen.insert(*object));
    found
}

/// Whether an object is the other one or a column of it.
fn is_part(object: Object, of: Object) -> bool {
    object == of || matches!((object, of), (Object::Column(t, _), Object::Relation(r)) if t == r)
}

/// Whether an object is the other one or a part of it.
fn is_own(object: Object, of: Object) -> bool {
    let table = match object {
        Object::Column(table, _)
        | Object::Default(table, _)
        | Object::Constraint(table, _)
        | Object::Statistics(table, _)
        | Object::Trigger(table, _) => Some(table),
        _ => None,
    };
    object == of || matches!(of, Object::Relation(oid) if table == Some(oid))
}

/// The relations that may refer to an object.
fn candidates(catalog: &Catalog, on: Object) -> Vec<&Arc<Relation>> {
    let mut found: Vec<&Arc<Relation>> = match on {
        Object::Schema(schema) => {
            let statistics = statistics_objects(catalog).filter(|(_, o)| o.schema == schema);
            let tables = statistics.filter_map(|(table, _)| catalog.relation(table.oid));
            catalog.relations_in(schema).chain(tables).collect()
        }
        Object::Relation(oid) => {
            let indexed = catalog.relation(oid).and_then(|relation| relation.index.as_ref());
            let referenced = indexed.map_or(oid, |info| info.table);
            let inherits = |child: &&Arc<Relation>| child.partition_of.is_none();
            let children = catalog.children(oid).filter_map(|child| catalog.relation(child));
            let by_keys = catalog.referencing(referenced).into_iter().map(|by| by.table);
            catalog.referrers(oid).chain(children.filter(inherits)).chain(by_keys).collect()
        }
        Object::Column(table, _) => {
            let by_keys = catalog.referencing(table).into_iter().map(|by| by.table);
            catalog.referrers(table).chain(by_keys).collect()
        }
        Object::Constraint(_, oid)
        | Object::Function(oid)
        | Object::Type(oid)
        | Object::Operator(oid) => catalog.referrers(oid).collect(),
        Object::Default(..)
        | Object::Statistics(..)
        | Object::Trigger(..)
        | Object::Cast(_)
        | Object::NodeGroup(_) => Vec::new(),
        Object::Node(node) => {
            let is_on = |r: &&Arc<Relation>| {
                r.distribution.as_ref().is_some_and(|by| by.nodes.contains(&node))
            };
            catalog.relations().filter(is_on).collect()
        }
    };
    found.sort_by_key(|relation| relation.oid);
    found.dedup_by_key(|relation| relation.oid);
    found
}

/// The object that is dropped for a reference. `None`: it is dropped with another one, as a
/// partition's clone of its parent's trigger or key.
fn owner(catalog: &Catalog, from: Object) -> Option<Object> {
    match from {
        // A sequence is dropped with the table that owns it.
        Object::Relation(oid) => {
            let relation = catalog.relation(oid)?;
            let is_owned = relation.sequence.as_ref().is_some_and(|s| s.owned_by.is_some());
            (!is_owned).then_some(from)
        }
        // A generated column is dropped with its expression.
        Object::Default(table, attnum) => {
            let column = catalog.relation(table)?.columns.get(usize::try_from(attnum - 1).ok()?)?;
            Some(if column.generated { Object::Column(table, attnum) } else { from })
        }
        // A partitioned table is dropped with a column of its key.
        Object::Column(table, attnum) => {
            let relation = catalog.relation(table)?;
            let mut key = relation.partition_key.iter().flat_map(|key| key.columns.iter());
            let is_key = key.any(|column| column.attnum == attnum);
            Some(if is_key { Object::Relation(table) } else { from })
        }
        Object::Constraint(table, oid) if !is_domain(table) => {
            let constraints = &catalog.relation(table)?.constraints;
            let constraint = constraints.iter().find(|constraint| constraint.oid == oid)?;
            let is_clone = constraint.parent != 0 && constraint.foreign_key().is_some();
            (!is_clone).then_some(from)
        }
        Object::Trigger(table, oid) => {
            let triggers = &catalog.relation(table)?.triggers;
            let trigger = triggers.iter().find(|trigger| trigger.oid == oid)?;
            (trigger.parent == 0).then_some(from)
        }
        from => Some(from),
    }
}

/// The order of creation: an OID, then columns backwards, then defaults, which PostgreSQL creates
/// after the columns.
fn age(catalog: &Catalog, object: Object) -> (Oid, u8, i16) {
    match object {
        Object::Default(table, attnum) => (table, 1, attnum),
        Object::Column(table, attnum) => {
            let position = usize::try_from(attnum - 1).unwrap_or(usize::MAX);
            let column = catalog.relation(table).and_then(|table| table.columns.get(position));
            match column.is_some_and(|column| column.generated) {
                true => (table, 1, attnum),
                false => (table, 0, -attnum),
            }
        }
        Object::Type(oid) => (oid % place::LENGTH, 0, 0),
        Object::Schema(oid)
        | Object::Relation(oid)
        | Object::Function(oid)
        | Object::Constraint(_, oid)
        | Object::Statistics(_, oid)
        | Object::Trigger(_, oid)
        | Object::Cast(oid)
        | Object::Operator(oid)
        | Object::Node(oid)
        | Object::NodeGroup(oid) => (oid, 0, 0),
    }
}

/// The generated columns and triggers of a table that read a column of it by name. (An expression
/// that cannot be bound any more reads none.)
fn in_own_table(catalog: &Catalog, table: Oid, attnum: i16) -> Vec<Object> {
    let Some(relation) = catalog.relation(table) else { return Vec::new() };
    let reads = |at: &usize| match generated_value(catalog, relation, *at) {
        Ok(Some(value)) => columns_of(&value).contains(&attnum),
        _ => false,
    };
    let generated = (0..relation.columns.len()).filter(reads);
    let generated = generated.map(|at| Object::Column(table, at as i16 + 1));
    let triggers = relation.triggers.iter().filter(|trigger| {
        trigger.parent == 0 && trigger::depends_on(catalog, relation, trigger, attnum)
    });
    generated.chain(triggers.map(|trigger| Object::Trigger(table, trigger.oid))).collect()
}
