//! Locks on what new objects refer to ([`references`]), which keep it from being dropped meanwhile.
//!
//! At its end a statement locks what its new and changed objects refer to and did not refer to
//! before: schemas, users' types, functions and operators, relations. A DROP locks what it drops in a
//! conflicting mode before it looks for dependents. So of two transactions that meet, the second one
//! waits. If that is the DROP, it finds the new dependent (2BP01, or CASCADE drops it). If it is the
//! new object's statement, it finds that the object it needs has been dropped: 42704, 42883, 3F000 or
//! 42P01.
//!
//! *Condition:* an object is published only by a transaction that has held a lock on each object it
//! refers to since a moment at which the newest published version contained that object.
//!
//! PostgreSQL 18 locks schemas and relations in this manner (RangeVarGetAndCheckCreationNamespace
//! in namespace.c). It locks no types and functions, where a dangling reference may be left behind.

use super::DdlContext;
use std::sync::Arc;
use steppe_catalog::objects::{Node, NodeGroup, Object, Operator, UserCast};
use steppe_catalog::references::{self, Dependency};
use steppe_catalog::type_spelling::is_spelled;
use steppe_catalog::{Catalog, Function, ObjectId, builtin};
use steppe_txn::RelationLockMode;
use steppe_types::oid::FIRST_NORMAL_OID;
use steppe_types::{Error, Result, SqlState};

/// Locks what the objects that the statement has changed refer to.
pub(super) fn lock(ctx: &mut DdlContext<'_>) -> Result<()> {
    let mut locked: Vec<Object> = Vec::new();
    let mut names: Option<Arc<Catalog>> = None;
    loop {
        let catalog = ctx.catalog();
        let changed: Vec<ObjectId> = ctx.store.changes(ctx.pending).unwritten().collect();
        if changed.is_empty() {
            return Ok(());
        }
        let published = ctx.store.published();
        let wanted = new_references(&published, &catalog, &changed);
        let names = names.get_or_insert_with(|| Arc::clone(&catalog));
        if let Some(gone) = wanted.iter().find(|object| !is_there(&catalog, **object)) {
            return Err(missing(names, *gone));
        }
        // Only this transaction sees the objects that it makes.
        let is_known = |object: &Object| is_there(&published, *object) && !locked.contains(object);
        let more: Vec<Object> = wanted.into_iter().filter(is_known).collect();
        if more.is_empty() {
            return Ok(());
        }
        for object in &more {
            lock_shared(ctx, *object)?;
        }
        locked.extend(more);
    }
}

fn lock_shared(ctx: &DdlContext<'_>, object: Object) -> Result<()> {
    let mode = RelationLockMode::AccessShare;
    match object {
        Object::Relation(oid) => ctx.lock(oid, mode),
        Object::Schema(oid) => ctx.lock_object(ObjectId::Schema(oid), mode),
        Object::Type(oid) => ctx.lock_object(ObjectId::Type(oid), mode),
        Object::Function(oid) => ctx.lock_object(ObjectId::Function(oid), mode),
        Object::Operator(oid) => ctx.lock_object(ObjectId::Operator(oid), mode),
        Object::Node(oid) => ctx.lock_object(ObjectId::Node(oid), mode),
        Object::NodeGroup(oid) => ctx.lock_object(ObjectId::NodeGroup(oid), mode),
        _ => Err(Error::internal("a reference to a part of an object")),
    }
}

fn is_there(catalog: &Catalog, object: Object) -> bool {
    match object {
        Object::Relation(oid) => catalog.relation(oid).is_some(),
        Object::Schema(oid) => catalog.schema(oid).is_some(),
        Object::Type(oid) => catalog.user_type(oid).is_some(),
        Object::Function(oid) => catalog.function(oid).is_some(),
        Object::Operator(oid) => catalog.operator(oid).is_some(),
        Object::Node(oid) => catalog.stored::<Node>().get(oid).is_some(),
        Object::NodeGroup(oid) => catalog.stored::<NodeGroup>().get(oid).is_some(),
        _ => false,
    }
}

/// The error for an object that another transaction has dropped. `names` has its name, unless it
/// was dropped before.
fn missing(names: &Catalog, object: Object) -> Error {
    let (code, what, name) = match object {
        Object::Schema(oid) => {
            let name = names.schema(oid).map(|schema| schema.name.to_string());
            (SqlState::INVALID_SCHEMA_NAME, "schema", name)
        }
        Object::Type(oid) => {
            let name = names.user_type(oid).map(|ty| ty.name.to_string());
            (SqlState::UNDEFINED_OBJECT, "type", name)
        }
        Object::Relation(oid) => {
            let name = names.relation(oid).map(|relation| relation.name.to_string());
            (SqlState::UNDEFINED_TABLE, "relation", name)
        }
        Object::Function(oid) => {
            let name = names.function(oid).map(|function| function.name.to_string());
            (SqlState::UNDEFINED_FUNCTION, "function", name)
        }
        Object::Operator(oid) => {
            let name = names.operator(oid).map(|operator| operator.name.to_string());
            (SqlState::UNDEFINED_FUNCTION, "operator", name)
        }
        Object::Node(oid) => {
            let name = names.stored::<Node>().get(oid).map(|node| node.name.to_string());
            (SqlState::UNDEFINED_OBJECT, "node", name)
        }
        Object::NodeGroup(oid) => {
            let name = names.stored::<NodeGroup>().get(oid).map(|group| group.name.to_string());
            (SqlState::UNDEFINED_OBJECT, "node group", name)
        }
        _ => (SqlState::INTERNAL_ERROR, "object", None),
    };
    Error::new(
        code,
        match name {
            Some(name) => format!("{what} \"{name}\" does not exist"),
            None => format!("{what} has been dropped concurrently"),
        },
    )
}

/// The objects that changed objects refer to and did not refer to before, each once.
fn new_references(before: &Catalog, after: &Catalog, changed: &[ObjectId]) -> Vec<Object> {
    let mut found = Vec::new();
    for id in changed {
        let is_same = match *id {
            ObjectId::Relation(oid) => match (before.relation(oid), after.relation(oid)) {
                (Some(old), Some(new)) => Arc::ptr_eq(old, new),
                _ => false,
            },
            _ => false,
        };
        if !is_same {
            let known = objects_of(before, *id);
            found.extend(objects_of(after, *id).into_iter().filter(|on| !known.contains(on)));
        }
    }
    let mut seen = hashbrown::HashSet::new();
    found.retain(|object| seen.insert(*object));
    found
}

/// The whole objects that an object refers to. A part of an object is kept by the lock of that.
fn objects_of(catalog: &Catalog, id: ObjectId) -> Vec<Object> {
    let list = match id {
        ObjectId::Relation(oid) => {
            catalog.relation(oid).map(|relation| references::of_relation(catalog, relation))
        }
        ObjectId::Function(oid) => {
            let function = catalog.stored::<Function>().get(oid);
            function.map(|function| references::of_function(catalog, function))
        }
        ObjectId::Type(oid) => catalog.user_type(oid).map(|ty| references::of_type(catalog, ty)),
        ObjectId::Cast(oid) => {
            let cast = catalog.stored::<UserCast>().get(oid);
            cast.map(|cast| references::of_cast(catalog, cast))
        }
        ObjectId::Operator(oid) => {
            let operator = catalog.stored::<Operator>().get(oid);
            operator.map(|operator| references::of_operator(catalog, operator))
        }
        ObjectId::NodeGroup(oid) => {
            let group = catalog.stored::<NodeGroup>().get(oid);
            group.map(|group| references::of_node_group(group))
        }
        ObjectId::Schema(_) | ObjectId::Extension(_) | ObjectId::Node(_) => None,
    };
    let normal = list.unwrap_or_default().into_iter().filter(|r| r.kind == Dependency::Normal);
    let wholes = normal.filter_map(|reference| whole(reference.on));
    wholes
        .filter(|on| !matches!((*on, id), (Object::Relation(t), ObjectId::Relation(r)) if t == r))
        .collect()
}

/// The object that is locked for a reference. An array type stands for that of its elements, a row
/// type for its relation. Built-in objects are not locked.
fn whole(on: Object) -> Option<Object> {
    match on {
        Object::Relation(oid) | Object::Column(oid, _) => {
            (oid >= FIRST_NORMAL_OID).then_some(Object::Relation(oid))
        }
        Object::Function(oid) | Object::Operator(oid) => (oid >= FIRST_NORMAL_OID).then_some(on),
        Object::Type(ty) => {
            let array = builtin::ty(ty).filter(|ty| ty.is_true_array());
            let ty = array.map_or(ty, |array| array.element);
            if is_spelled(ty) {
                return Some(Object::Type(ty));
            }
            let row = builtin::ty(ty).filter(|ty| ty.kind == b'c')?;
            (row.relation >= FIRST_NORMAL_OID).then_some(Object::Relation(row.relation))
        }
        Object::Schema(_) | Object::Node(_) | Object::NodeGroup(_) => Some(on),
        Object::Default(..)
        | Object::Constraint(..)
        | Object::Statistics(..)
        | Object::Trigger(..)
        | Object::Cast(_) => None,
    }
}
