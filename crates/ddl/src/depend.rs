//! Dependencies between objects, and the objects that a DROP removes (a subset of dependency.c).
//!
//! | object | goes with it silently | depends on it: refuses, or goes with CASCADE |
//! |---|---|---|
//! | schema | | its tables, views, sequences, statistics objects, functions, operators |
//! | table | partitions, indexes, constraints, triggers, owned sequences, statistics objects, its row type | views that read it, tables that inherit from it, foreign keys that refer to it |
//! | column | indexes, constraints, owned sequences, statistics objects | views that read it, columns generated from it, triggers that name it, foreign keys that refer to it |
//! | primary key | its index | views whose grouping depends on it |
//! | view | | views that read it |
//! | sequence | | column defaults that call it |
//! | function | | what calls it, triggers, casts, operators |
//! | operator | | what applies it |
//! | type | its array type | columns of it, domains over it, casts, operators, functions that take or return it, and whatever has a text that names it |
//!
//! Dependents are found depth first, at each object those made last first, and each
//! after its own: the order to drop them in, and backwards that of the report, as
//! PostgreSQL's findDependentObjects and reportDependentObjects have it.

use super::{DdlContext, direct, foreign_key};
use hashbrown::HashSet;
use std::sync::Arc;
use steppe_catalog::objects::{Object, describe};
use steppe_catalog::{Catalog, ObjectId, RelKind, Relation, builtin, row_type_of};
use steppe_sql::ast::DropBehavior;
use steppe_sql::bind::typename::TypeNames;
use steppe_txn::RelationLockMode;
use steppe_types::oid::is_domain;
use steppe_types::{Error, Oid, Result, SqlState};

/// A dependent with the object that it was found by.
struct Dependent {
    object: Object,
    on: Object,
}

/// The objects that are dropped with `roots`. With RESTRICT there must be none: 2BP01 with a
/// list. With CASCADE a notice names them, and they are locked.
pub(super) fn dependents(
    ctx: &mut DdlContext<'_>,
    roots: &[Object],
    behavior: DropBehavior,
) -> Result<Vec<Object>> {
    ctx.touched.cascades |= behavior == DropBehavior::Cascade;
    let mut locked: Vec<Object> = Vec::new();
    let (catalog, found) = loop {
        let catalog = ctx.catalog();
        let found = Search::of(&catalog, roots);
        let mut more = found.iter().map(|d| d.object).filter(|o| !locked.contains(o)).peekable();
        // While this waited for a lock, another transaction may have made dependents of the objects
        // that are locked now.
        if behavior == DropBehavior::Restrict || more.peek().is_none() {
            break (catalog, found);
        }
        for object in more.collect::<Vec<_>>() {
            lock(ctx, object)?;
            locked.push(object);
        }
    };
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let path = ctx.search_path.clone();
    let name = |object| description(&catalog, &path, object);
    if behavior == DropBehavior::Restrict {
        let message = match roots {
            [one] => {
                format!("cannot drop {} because other objects depend on it", name(*one))
            }
            _ => "cannot drop desired object(s) because other objects depend on them".into(),
        };
        let lines = found.iter().map(|d| format!("{} depends on {}", name(d.object), name(d.on)));
        return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
            .detail(lines.collect::<Vec<_>>().join("\n"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    let lines: Vec<String> =
        found.iter().map(|d| format!("drop cascades to {}", name(d.object))).collect();
    match lines.as_slice() {
        [one] => ctx.notice(one.clone()),
        many => {
            let message = format!("drop cascades to {} other objects", many.len());
            ctx.notice_with(message, many.join("\n"));
        }
    }
    Ok(found.into_iter().map(|d| d.object).collect())
}

/// Locks a dependent that is about to be dropped.
fn lock(ctx: &DdlContext<'_>, dependent: Object) -> Result<()> {
    let exclusive = RelationLockMode::AccessExclusive;
    match dependent {
        Object::Constraint(domain, _) if is_domain(domain) => {
            ctx.lock_object(ObjectId::Type(domain), exclusive)
        }
        Object::Relation(oid)
        | Object::Default(oid, _)
        | Object::Column(oid, _)
        | Object::Constraint(oid, _)
        | Object::Trigger(oid, _) => ctx.lock(oid, exclusive),
        Object::Statistics(table, _) => ctx.lock(table, RelationLockMode::ShareUpdateExclusive),
        Object::Function(oid) => ctx.lock_object(ObjectId::Function(oid), exclusive),
        Object::Type(oid) => ctx.lock_object(ObjectId::Type(oid), exclusive),
        Object::Cast(oid) => ctx.lock_object(ObjectId::Cast(oid), exclusive),
        Object::Operator(oid) => ctx.lock_object(ObjectId::Operator(oid), exclusive),
        Object::Node(oid) => ctx.lock_object(ObjectId::Node(oid), exclusive),
        Object::NodeGroup(oid) => ctx.lock_object(ObjectId::NodeGroup(oid), exclusive),
        Object::Schema(_) => Ok(()),
    }
}

/// An object as messages name it.
pub(super) fn description(catalog: &Catalog, path: &[Oid], object: Object) -> String {
    let types = |ty: Oid| TypeNames { catalog, path }.format(ty, -1);
    describe(catalog, path, &types, object)
}

/// The objects that are dropped with an object without a notice.
pub(super) fn silently(catalog: &Catalog, root: Object) -> Vec<Object> {
    Search::of(catalog, &[root]).into_iter().map(|d| d.object).collect()
}

/// A search for what depends on some objects.
struct Search<'a> {
    catalog: &'a Catalog,
    found: Vec<Dependent>,
    /// The roots and what was found.
    known: HashSet<Object>,
    /// Objects that are dropped silently with one of those: partitions, owned sequences.
    silent: HashSet<Object>,
}

impl Search<'_> {
    /// The dependents of `roots`, each after what it depends on.
    fn of(catalog: &Catalog, roots: &[Object]) -> Vec<Dependent> {
        let known = roots.iter().copied().collect();
        let mut search = Search { catalog, found: Vec::new(), known, silent: HashSet::new() };
        for root in roots {
            search.collect(*root);
            search.collect_above(*root);
        }
        search.forget_silent();
        search.found.reverse();
        search.found
    }

    /// Adds the foreign keys that refer to a partition through a table above it.
    fn collect_above(&mut self, root: Object) {
        let Object::Relation(oid) = root else { return };
        let parent_of = |oid: Oid| {
            let relation = self.catalog.relation(oid).filter(|relation| relation.index.is_none());
            relation.and_then(|relation| relation.partition_of.as_ref()).map(|of| of.parent)
        };
        let mut above = parent_of(oid);
        while let Some(table) = above {
            // This includes a key from that table to itself, unless the table is dropped, too.
            for (by, key) in foreign_key::dependents(self.catalog, table, |_| true) {
                let object = Object::Constraint(by, key);
                if !self.known.contains(&Object::Relation(by)) && self.known.insert(object) {
                    self.found.push(Dependent { object, on: root });
                }
            }
            above = parent_of(table);
        }
    }

    /// Adds what depends on an object, dependents before what they depend on.
    fn collect(&mut self, on: Object) {
        // An object that is dropped silently may have dependents.
        for sequence in owned_sequences(self.catalog, on) {
            self.collect_silently(Object::Relation(sequence));
        }
        if let Object::Constraint(table, constraint) = on {
            let table = self.catalog.relation(table);
            let own = table.and_then(|t| t.constraints.iter().find(|c| c.oid == constraint));
            if let Some(index) = own.and_then(|own| own.index()) {
                self.collect_silently(Object::Relation(index));
            }
        }
        if let Object::Relation(parent) = on {
            let children = self.catalog.children(parent);
            for partition in children.filter(|child| !inherits(self.catalog, *child)) {
                self.collect_silently(Object::Relation(partition));
            }
        }
        self.collect_row_type(on, true);
        for object in direct::dependents(self.catalog, on).into_iter().rev() {
            if self.known.contains(&object) {
                continue;
            }
            self.collect(object);
            if self.known.insert(object) {
                self.found.push(Dependent { object, on });
            }
        }
        self.collect_row_type(on, false);
        if let Object::Type(element) = on
            && let Some(array) = builtin::ty(element).map(|ty| ty.array).filter(|array| *array != 0)
        {
            self.collect_silently(Object::Type(array));
        }
    }

    /// Collects the row type of a relation. A composite type comes before its relation, any other row
    /// type after its table.
    fn collect_row_type(&mut self, on: Object, composite: bool) {
        let Object::Relation(relation) = on else { return };
        let relation = self.catalog.relation(relation);
        let meant = relation.filter(|r| (r.kind == RelKind::Composite) == composite);
        if let Some(row) = meant.and_then(|relation| row_type_of(relation)) {
            self.collect_silently(Object::Type(row));
        }
    }

    fn collect_silently(&mut self, object: Object) {
        if self.silent.insert(object) {
            self.collect(object);
        }
    }

    /// An object that is dropped silently may also have been found through another dependency. A
    /// default is dropped silently with its column or table, a statistics object with its table.
    fn forget_silent(&mut self) {
        let Search { catalog, found, known, silent } = self;
        found.retain(|dependent| {
            if silent.contains(&dependent.object) {
                return false;
            }
            let goes = |owner: Object| known.contains(&owner) || silent.contains(&owner);
            match dependent.object {
                Object::Default(table, attnum) => {
                    let schema = catalog.relation(table).map_or(0, |r| r.schema);
                    let is_own = goes(Object::Column(table, attnum));
                    !is_own && !goes(Object::Relation(table)) && !goes(Object::Schema(schema))
                }
                Object::Statistics(table, _) | Object::Trigger(table, _) => {
                    !goes(Object::Relation(table))
                }
                // A constraint is dropped with its table, or its column.
                Object::Constraint(table, constraint) => {
                    let relation = catalog.relation(table);
                    let schema = relation.map_or(0, |relation| relation.schema);
                    let columns = relation
                        .and_then(|table| table.constraints.iter().find(|c| c.oid == constraint))
                        .map_or(&[][..], |own| &own.columns[..]);
                    !goes(Object::Relation(table))
                        && !goes(Object::Type(table))
                        && !goes(Object::Schema(schema))
                        && !columns.iter().any(|attnum| goes(Object::Column(table, *attnum)))
                }
                Object::Column(table, _) => !goes(Object::Relation(table)),
                _ => true,
            }
        });
    }
}

/// Whether a child inherits. (A partition is dropped without being listed.)
fn inherits(catalog: &Catalog, child: Oid) -> bool {
    catalog.relation(child).is_some_and(|child| child.partition_of.is_none())
}

/// The views that read a relation (attribute number 0) or a column of it, or need a constraint
/// (0).
pub(super) fn readers(
    catalog: &Catalog,
    relation: Oid,
    attnum: i16,
) -> impl Iterator<Item = &Arc<Relation>> {
    catalog.referrers(relation).filter(move |view| view.reads.contains(&(relation, attnum)))
}

/// The sequences that are dropped with a table or a column.
fn owned_sequences(catalog: &Catalog, owner: Object) -> Vec<Oid> {
    let (table, column) = match owner {
        Object::Relation(table) => (table, None),
        Object::Column(table, attnum) => (table, Some(attnum)),
        Object::Schema(_)
        | Object::Default(..)
        | Object::Constraint(..)
        | Object::Statistics(..)
        | Object::Trigger(..)
        | Object::Function(_)
        | Object::Type(_)
        | Object::Cast(_)
        | Object::Operator(_)
        | Object::Node(_)
        | Object::NodeGroup(_) => return Vec::new(),
    };
    let owned = |r: &&Arc<Relation>| {
        let by = r.sequence.as_ref().and_then(|s| s.owned_by);
        by.is_some_and(|(t, attnum)| t == table && column.is_none_or(|c| c == attnum))
    };
    catalog.referrers(table).filter(owned).map(|r| r.oid).collect()
}
