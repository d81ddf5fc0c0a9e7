//! The references of objects to others, and the locks that keep those from being dropped meanwhile.
//!
//! At its end a statement locks what its new and changed objects refer to and did not refer to
//! before: schemas, users' types and functions, relations. A DROP locks what it drops in a
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
use super::expressions::{self, Stored};
use std::sync::Arc;
use steppe_catalog::objects::{Object, TypeDefinition, UserType};
use steppe_catalog::system::definitions::named_relations;
use steppe_catalog::type_spelling::mentioned;
use steppe_catalog::{Catalog, Function, ObjectId, Relation, builtin};
use steppe_txn::RelationLockMode;
use steppe_types::oid::FIRST_NORMAL_OID;
use steppe_types::{Error, Oid, Result, SqlState};

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
        let wanted = new_references(&published, &catalog, &changed)?;
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
        _ => Err(Error::internal("a reference to a part of an object")),
    }
}

fn is_there(catalog: &Catalog, object: Object) -> bool {
    match object {
        Object::Relation(oid) => catalog.relation(oid).is_some(),
        Object::Schema(oid) => catalog.schema(oid).is_some(),
        Object::Type(oid) => catalog.user_type(oid).is_some(),
        Object::Function(oid) => catalog.function(oid).is_some(),
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
fn new_references(before: &Catalog, after: &Catalog, changed: &[ObjectId]) -> Result<Vec<Object>> {
    let mut found = References { catalog: after, objects: Vec::new() };
    for id in changed {
        let mut old = References { catalog: before, objects: Vec::new() };
        let first = found.objects.len();
        match *id {
            ObjectId::Relation(oid) => {
                let Some(new) = after.relation(oid) else { continue };
                let old_version = before.relation(oid);
                if let Some(version) = old_version {
                    if Arc::ptr_eq(version, new) {
                        continue;
                    }
                    old.of_relation(version);
                }
                found.of_relation(new);
                found.calls_of_relation(old_version, new)?;
            }
            ObjectId::Function(oid) => {
                let Some(new) = after.stored::<Function>().get(oid) else { continue };
                let version = before.stored::<Function>().get(oid);
                version.into_iter().for_each(|version| old.of_function(version));
                found.of_function(new);
                found.calls(&expressions::of_function(new))?;
            }
            ObjectId::Type(oid) => {
                let Some(new) = after.user_type(oid) else { continue };
                let version = before.user_type(oid);
                version.into_iter().for_each(|version| old.of_type(version));
                found.of_type(new);
                expressions::of_type(new).iter().try_for_each(|stored| found.calls(stored))?;
            }
            ObjectId::Schema(_) | ObjectId::Extension(_) => {}
        }
        let known = old.objects;
        let mut at = 0;
        found.objects.retain(|object| {
            at += 1;
            at <= first || !known.contains(object)
        });
    }
    let mut seen = hashbrown::HashSet::new();
    found.objects.retain(|object| seen.insert(*object));
    Ok(found.objects)
}

/// A list of the objects that others refer to.
struct References<'a> {
    catalog: &'a Catalog,
    objects: Vec<Object>,
}

impl References<'_> {
    fn of_relation(&mut self, relation: &Arc<Relation>) {
        self.objects.push(Object::Schema(relation.schema));
        for column in relation.columns.iter().filter(|column| !column.dropped) {
            self.add_type(column.declared_type().0);
        }
        for (read, _) in relation.reads.iter() {
            self.add_read(*read, &relation.reads);
        }
        self.objects.extend(
            relation
                .triggers
                .iter()
                .filter(|trigger| trigger.function >= FIRST_NORMAL_OID)
                .map(|trigger| Object::Function(trigger.function)),
        );
        for object in &relation.extended {
            self.objects.push(Object::Schema(object.schema));
        }
        relation.view.iter().for_each(|text| self.add_named(text));
        for stored in expressions::of_relation(relation) {
            stored.texts.into_iter().for_each(|text| self.add_named(text));
        }
    }

    fn of_function(&mut self, function: &Function) {
        self.objects.push(Object::Schema(function.schema));
        let declared = function.declared.iter().map(|argument| argument.ty);
        for ty in function.args.iter().copied().chain(declared).chain([function.ret]) {
            self.add_type(ty);
        }
        for (read, _) in function.reads.iter() {
            self.add_read(*read, &function.reads);
        }
        if !function.reads.is_empty() {
            self.add_named(function.source());
        }
        function.defaults.iter().for_each(|text| self.add_named(text));
    }

    fn of_type(&mut self, ty: &UserType) {
        self.objects.push(Object::Schema(ty.schema));
        let TypeDefinition::Domain(domain) = &ty.definition else { return };
        self.add_type(domain.base);
        let checks = domain.checks.iter().map(|check| &check.expression);
        domain.default.iter().chain(checks).for_each(|text| self.add_named(text));
    }

    /// Adds a user's type. An array type stands for that of its elements, a row type for its
    /// relation.
    fn add_type(&mut self, ty: Oid) {
        let array = builtin::ty(ty).filter(|ty| ty.is_true_array());
        let ty = array.map_or(ty, |array| array.element);
        if steppe_catalog::type_spelling::is_spelled(ty) {
            self.objects.push(Object::Type(ty));
        } else if let Some(row) = builtin::ty(ty).filter(|ty| ty.kind == b'c')
            && row.relation >= FIRST_NORMAL_OID
        {
            self.objects.push(Object::Relation(row.relation));
        }
    }

    /// Adds what a query reads: a relation or a function. A key that a grouping needs is left out:
    /// the lock of its table keeps it.
    fn add_read(&mut self, read: Oid, reads: &[(Oid, i16)]) {
        if read < FIRST_NORMAL_OID {
            return;
        }
        if let Some(relation) = self.catalog.relation(read) {
            return self.objects.push(Object::Relation(relation.oid));
        }
        let tables = reads.iter().filter_map(|(table, _)| self.catalog.relation(*table));
        let mut keys = tables.flat_map(|table| table.constraints.iter());
        if !keys.any(|key| key.oid == read) {
            self.objects.push(Object::Function(read));
        }
    }

    /// Adds the types and relations that a text names by OID.
    fn add_named(&mut self, text: &str) {
        for ty in mentioned(text) {
            self.add_type(ty);
        }
        let relations = named_relations(text).filter(|oid| *oid >= FIRST_NORMAL_OID);
        self.objects.extend(relations.map(Object::Relation));
    }

    /// Adds the functions that a relation's new expressions call.
    fn calls_of_relation(
        &mut self,
        old: Option<&Arc<Relation>>,
        new: &Arc<Relation>,
    ) -> Result<()> {
        let known = old.map(expressions::of_relation).unwrap_or_default();
        let known: Vec<&str> = known.into_iter().flat_map(|stored| stored.texts).collect();
        for stored in expressions::of_relation(new) {
            if stored.texts.iter().any(|text| !known.contains(text)) {
                self.calls(&stored)?;
            }
        }
        Ok(())
    }

    fn calls(&mut self, stored: &Stored<'_>) -> Result<()> {
        let called = stored.called(self.catalog)?;
        self.objects.extend(called.into_iter().map(Object::Function));
        Ok(())
    }
}
