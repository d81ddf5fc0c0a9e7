//! The callers of a function, and the functions that take or return a type: dependents
//! (dependency.c).
//!
//! A view stores the functions that it calls, as it stores the tables that it reads. Other objects
//! keep their expressions as text. If the function's name occurs in a text, the text is bound, and
//! its calls tell whether it depends on the function.

use super::expressions::{self, Stored};
use hashbrown::HashSet;
use std::sync::Arc;
use steppe_catalog::objects::{Object, UserType};
use steppe_catalog::system::definitions::quote_identifier;
use steppe_catalog::trigger::Trigger;
use steppe_catalog::{Catalog, Function};
use steppe_types::Oid;

/// The direct dependents of a function, in the order of creation.
pub(super) fn of(catalog: &Catalog, oid: Oid) -> Vec<Object> {
    let Some(function) = catalog.function(oid) else { return Vec::new() };
    let name = quote_identifier(&function.name);
    // (What cannot be bound any more calls nothing.)
    let calls_it = |stored: &Stored<'_>| {
        stored.texts.iter().any(|text| text.contains(&*name))
            && stored.called(catalog).is_ok_and(|called| called.contains(&oid))
    };
    let mut found: Vec<(Oid, Object)> = Vec::new();
    let relations = catalog.relations().filter(|relation| !relation.is_system());
    let types = catalog.stored::<UserType>().iter();
    let others = || catalog.stored::<Function>().iter().filter(|other| other.oid != oid);
    let stored = relations
        .flat_map(expressions::of_relation)
        .chain(types.flat_map(|ty| expressions::of_type(ty)))
        .chain(others().map(|other| expressions::of_function(other)));
    let calling = stored.filter(calls_it);
    found.extend(calling.map(|stored| (stored.created, stored.owner)));
    let readers = others().filter(|other| other.reads.contains(&(oid, 0)));
    found.extend(readers.map(|other| (other.oid, Object::Function(other.oid))));
    for view in super::depend::readers(catalog, oid, 0) {
        found.push((view.oid, Object::Relation(view.oid)));
    }
    for relation in catalog.relations().filter(|relation| !relation.triggers.is_empty()) {
        let fires_it = |t: &&Trigger| t.parent == 0 && t.function == oid;
        let triggers = relation.triggers.iter().filter(fires_it);
        found.extend(triggers.map(|t| (t.oid, Object::Trigger(relation.oid, t.oid))));
    }
    let mut seen = HashSet::new();
    found.sort_by_key(|(created, _)| *created);
    found.into_iter().map(|(_, object)| object).filter(|object| seen.insert(*object)).collect()
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
