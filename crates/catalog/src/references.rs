//! The references of objects to others, each with its kind of dependency (pg_depend, dependency.c).
//!
//! PostgreSQL stores this list. Here it follows from the objects, which name each other by OID, in
//! their texts too ([`crate::type_spelling`]). It has one form for all uses:
//!
//! ```text
//!   DROP                     the references to what it drops
//!   a statement at its end   locks what its new objects refer to
//!   pg_depend                all of them
//! ```
//!
//! Only the columns that a stored expression reads in its own table are not listed: the text has
//! their names, and the binder tells which they are.

use crate::objects::{Body, Function, NodeGroup, Object, Operator, UserCast, UserType};
use crate::operator_spelling;
use crate::relation::{Constraint, ConstraintKind, IndexInfo, Relation};
use crate::snapshot::Catalog;
use crate::system::definitions::named_relations;
use crate::trigger::Trigger;
use crate::type_spelling::{called_functions, mentioned};
use crate::{builtin, row_type_of};
use hashbrown::HashSet;
use std::sync::Arc;
use steppe_types::Oid;
use steppe_types::oid::FIRST_NORMAL_OID;

/// The effect of a reference on a DROP of the object that it is to (deptype of pg_depend).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dependency {
    /// It is refused, or drops the other one with CASCADE.
    Normal,
    /// It drops the other one silently.
    Auto,
    /// The other one is a part of it.
    Internal,
    /// As [`Dependency::Auto`], for a part of a partition that belongs to its parent's.
    PartitionPrimary,
    /// The same, to the partition.
    PartitionSecondary,
}

impl Dependency {
    /// As pg_depend has it.
    pub fn code(self) -> u8 {
        match self {
            Dependency::Normal => b'n',
            Dependency::Auto => b'a',
            Dependency::Internal => b'i',
            Dependency::PartitionPrimary => b'P',
            Dependency::PartitionSecondary => b'S',
        }
    }
}

/// A reference of an object, or of a part of it, to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The object that depends on the other one.
    pub from: Object,
    /// The other one.
    pub on: Object,
    /// How it depends.
    pub kind: Dependency,
}

/// The references of a relation with all its parts.
pub fn of_relation(catalog: &Catalog, relation: &Relation) -> Vec<Reference> {
    let mut list = List { catalog, found: Vec::new() };
    match &relation.index {
        Some(info) => list.add_index(relation, info),
        None => list.add_relation(relation),
    }
    list.finish()
}

/// The references of a user's function, procedure or aggregate.
pub fn of_function(catalog: &Catalog, function: &Function) -> Vec<Reference> {
    let mut list = List { catalog, found: Vec::new() };
    let own = Object::Function(function.oid);
    list.add(own, Object::Schema(function.schema), Dependency::Normal);
    let declared = function.declared.iter().map(|argument| argument.ty);
    let states = function.aggregate().into_iter().flat_map(|aggregate| {
        [Some(aggregate.state), aggregate.moving.as_ref().map(|moving| moving.state)]
    });
    let mut types: Vec<Oid> = function.args.iter().copied().chain(declared).collect();
    types.extend(states.flatten().chain([function.ret]));
    types.sort_unstable();
    types.dedup();
    types.into_iter().for_each(|ty| list.add_type(own, ty));
    list.add_reads(own, &function.reads);
    if let Body::SqlStandard { text } = &function.body {
        list.add_text(own, text);
    }
    function.defaults.iter().for_each(|text| list.add_text(own, text));
    list.finish()
}

/// The references of a user's type with its array type and its constraints.
pub fn of_type(catalog: &Catalog, ty: &UserType) -> Vec<Reference> {
    let mut list = List { catalog, found: Vec::new() };
    let own = Object::Type(ty.oid);
    list.add(own, Object::Schema(ty.schema), Dependency::Normal);
    let array = builtin::ty(ty.oid).map_or(0, |ty| ty.array);
    list.add(Object::Type(array), own, Dependency::Internal);
    let Some(domain) = ty.domain() else { return list.finish() };
    list.add_type(own, domain.base);
    domain.default.iter().for_each(|text| list.add_text(own, text));
    if let Some(not_null) = &domain.not_null {
        list.add(Object::Constraint(ty.oid, not_null.oid), own, Dependency::Auto);
    }
    for check in &domain.checks {
        let constraint = Object::Constraint(ty.oid, check.oid);
        list.add(constraint, own, Dependency::Auto);
        list.add_text(constraint, &check.expression);
    }
    list.finish()
}

/// The references of a user's cast.
pub fn of_cast(catalog: &Catalog, cast: &UserCast) -> Vec<Reference> {
    let mut list = List { catalog, found: Vec::new() };
    let own = Object::Cast(cast.oid);
    [cast.source, cast.target].into_iter().for_each(|ty| list.add_type(own, ty));
    cast.function().into_iter().for_each(|function| list.add_function(own, function));
    list.finish()
}

/// The references of a user's operator. It does not depend on its commutator and negator
/// (makeOperatorDependencies).
pub fn of_operator(catalog: &Catalog, operator: &Operator) -> Vec<Reference> {
    let mut list = List { catalog, found: Vec::new() };
    let own = Object::Operator(operator.oid);
    list.add(own, Object::Schema(operator.schema), Dependency::Normal);
    let mut types = vec![operator.left, operator.right, operator.result];
    types.sort_unstable();
    types.dedup();
    types.into_iter().for_each(|ty| list.add_type(own, ty));
    for function in [operator.func, operator.restrict, operator.join] {
        list.add_function(own, function);
    }
    list.finish()
}

/// The references of a group of nodes.
pub fn of_node_group(group: &NodeGroup) -> Vec<Reference> {
    let own = Object::NodeGroup(group.oid);
    let to =
        |node: &Oid| Reference { from: own, on: Object::Node(*node), kind: Dependency::Normal };
    group.members.iter().map(to).collect()
}

/// The relations, functions, operators and types that a relation refers to by its queries, texts and
/// columns, or as their sequence; some more than once. The catalog has an index of them
/// ([`Catalog::referrers`]).
pub(crate) fn referred(relation: &Relation) -> impl Iterator<Item = Oid> {
    let texts = texts_of(relation).flat_map(|text| {
        let relations = named_relations(text).filter(|oid| *oid >= FIRST_NORMAL_OID);
        let called = called_functions(text).chain(operator_spelling::mentioned(text));
        mentioned(text).chain(called).chain(relations)
    });
    let fired = relation.triggers.iter().map(|trigger| trigger.function);
    let fired = fired.filter(|function| *function >= FIRST_NORMAL_OID);
    relation.refers_to().chain(relation.own_types()).chain(texts).chain(fired)
}

/// The stored texts of a relation and of its parts.
fn texts_of(relation: &Relation) -> impl Iterator<Item = &str> {
    let columns = relation.columns.iter().filter(|column| !column.dropped);
    let defaults = columns.filter_map(|column| column.default.as_deref());
    let checks = relation.constraints.iter().filter_map(|constraint| match &constraint.kind {
        ConstraintKind::Check { expression } => Some(expression.as_str()),
        _ => None,
    });
    let conditions = relation.triggers.iter().filter_map(|trigger| trigger.when.as_deref());
    let statistics = relation.extended.iter().flat_map(|object| object.expressions.iter());
    let statistics = statistics.map(|expression| &*expression.text);
    let key = relation.partition_key.iter().flat_map(|key| key.columns.iter());
    let key = key.filter_map(|column| column.expression.as_deref());
    let index = relation.index.iter().flat_map(|info| {
        let keys = info.keys.iter().filter_map(|key| key.expression.as_deref());
        keys.chain(info.predicate.as_deref())
    });
    let view = relation.view.as_deref().map(String::as_str);
    defaults.chain(checks).chain(conditions).chain(statistics).chain(key).chain(index).chain(view)
}

struct List<'a> {
    catalog: &'a Catalog,
    found: Vec<Reference>,
}

impl List<'_> {
    fn add(&mut self, from: Object, on: Object, kind: Dependency) {
        self.found.push(Reference { from, on, kind });
    }

    /// The list, each reference once.
    fn finish(mut self) -> Vec<Reference> {
        let mut seen = HashSet::with_capacity(self.found.len());
        self.found.retain(|reference| seen.insert(*reference));
        self.found
    }

    /// A type, unless it is built in.
    fn add_type(&mut self, from: Object, ty: Oid) {
        if ty >= FIRST_NORMAL_OID {
            self.add(from, Object::Type(ty), Dependency::Normal);
        }
    }

    /// A function, unless it is built in.
    fn add_function(&mut self, from: Object, function: Oid) {
        if function >= FIRST_NORMAL_OID {
            self.add(from, Object::Function(function), Dependency::Normal);
        }
    }

    /// The objects that a stored text names by OID.
    fn add_text(&mut self, from: Object, text: &str) {
        let types = mentioned(text).map(Object::Type);
        let functions = called_functions(text).map(Object::Function);
        let is_there = |oid: &Oid| self.catalog.stored::<Operator>().get(*oid).is_some();
        let operators = operator_spelling::mentioned(text).filter(is_there);
        let called: Vec<Object> = functions.chain(operators.map(Object::Operator)).collect();
        let relations = named_relations(text).filter(|oid| *oid >= FIRST_NORMAL_OID);
        for on in types.chain(called).chain(relations.map(Object::Relation)) {
            self.add(from, on, Dependency::Normal);
        }
    }

    /// The objects that a query reads. All but columns, and also keys that a grouping needs, have column
    /// 0.
    fn add_reads(&mut self, from: Object, reads: &[(Oid, i16)]) {
        for (oid, attnum) in reads {
            let on = if self.catalog.relation(*oid).is_some() {
                part_of(*oid, *attnum)
            } else if self.catalog.stored::<Function>().get(*oid).is_some() {
                Object::Function(*oid)
            } else if self.catalog.stored::<Operator>().get(*oid).is_some() {
                Object::Operator(*oid)
            } else if self.catalog.stored::<UserType>().get(*oid).is_some() {
                Object::Type(*oid)
            } else if self.catalog.schema(*oid).is_some() {
                Object::Schema(*oid)
            } else {
                let tables = reads.iter().filter_map(|(table, _)| self.catalog.relation(*table));
                let has_key =
                    |table: &&Arc<Relation>| table.constraints.iter().any(|key| key.oid == *oid);
                // A number that names no object is no reference.
                let Some(table) = tables.into_iter().find(has_key) else { continue };
                Object::Constraint(table.oid, *oid)
            };
            self.add(from, on, Dependency::Normal);
        }
    }

    fn add_relation(&mut self, relation: &Relation) {
        let own = Object::Relation(relation.oid);
        self.add(own, Object::Schema(relation.schema), Dependency::Normal);
        let parent_kind = match relation.partition_of {
            Some(_) => Dependency::Auto,
            None => Dependency::Normal,
        };
        for parent in relation.parents() {
            self.add(own, Object::Relation(parent), parent_kind);
        }
        if let Some(row) = row_type_of(relation) {
            self.add(Object::Type(row), own, Dependency::Internal);
        }
        let nodes = relation.distribution.iter().flat_map(|distribution| distribution.nodes.iter());
        nodes.for_each(|node| self.add(own, Object::Node(*node), Dependency::Normal));
        self.add_columns(relation);
        if let Some(query) = &relation.view {
            self.add_reads(own, &relation.reads);
            self.add_text(own, query);
        }
        self.add_statistics(relation);
        relation.triggers.iter().for_each(|trigger| self.add_trigger(relation, trigger));
        relation.constraints.iter().for_each(|of| self.add_constraint(relation, of));
        let key = relation.partition_key.iter().flat_map(|key| key.columns.iter());
        key.filter_map(|column| column.expression.as_deref())
            .for_each(|text| self.add_text(own, text));
        if let Some((table, attnum)) = relation.sequence.as_ref().and_then(|s| s.owned_by) {
            // The sequence of an identity column is a part of it.
            let kind = match is_identity(self.catalog, table, attnum) {
                true => Dependency::Internal,
                false => Dependency::Auto,
            };
            self.add(own, part_of(table, attnum), kind);
        }
    }

    /// Columns with their types and defaults.
    fn add_columns(&mut self, table: &Relation) {
        for (column, attnum) in table.columns.iter().zip(1..).filter(|(c, _)| !c.dropped) {
            let own = Object::Column(table.oid, attnum);
            self.add_type(own, column.declared_type().0);
            if let Some(text) = column.default.as_ref().filter(|_| column.identity.is_none()) {
                let default = Object::Default(table.oid, attnum);
                self.add(default, own, Dependency::Auto);
                self.add_text(default, text);
            }
        }
    }

    fn add_statistics(&mut self, table: &Relation) {
        for object in table.extended.iter() {
            let own = Object::Statistics(table.oid, object.oid);
            self.add(own, Object::Schema(object.schema), Dependency::Normal);
            for attnum in &object.columns {
                self.add(own, Object::Column(table.oid, *attnum), Dependency::Auto);
            }
            object.expressions.iter().for_each(|expression| self.add_text(own, &expression.text));
        }
    }

    fn add_trigger(&mut self, table: &Relation, trigger: &Trigger) {
        let own = Object::Trigger(table.oid, trigger.oid);
        // Built-in functions are pinned.
        if trigger.function >= FIRST_NORMAL_OID {
            self.add(own, Object::Function(trigger.function), Dependency::Normal);
        }
        self.add(own, Object::Relation(table.oid), Dependency::Auto);
        if let Some(constraint) = &trigger.constraint {
            if constraint.from != 0 {
                self.add(own, Object::Relation(constraint.from), Dependency::Auto);
            }
            let constraint = Object::Constraint(table.oid, constraint.oid);
            self.add(constraint, own, Dependency::Internal);
        }
        if trigger.parent != 0 {
            let parent = Object::Trigger(parent_of(table), trigger.parent);
            self.add(own, parent, Dependency::PartitionPrimary);
            self.add(own, Object::Relation(table.oid), Dependency::PartitionSecondary);
        }
        for attnum in trigger.columns.iter() {
            self.add(own, Object::Column(table.oid, *attnum), Dependency::Normal);
        }
        trigger.when.iter().for_each(|text| self.add_text(own, text));
    }

    fn add_constraint(&mut self, table: &Relation, constraint: &Constraint) {
        let own = Object::Constraint(table.oid, constraint.oid);
        if constraint.parent != 0 {
            let parent = Object::Constraint(parent_of(table), constraint.parent);
            self.add(own, parent, Dependency::PartitionPrimary);
            self.add(own, Object::Relation(table.oid), Dependency::PartitionSecondary);
        }
        for attnum in constraint.columns.iter() {
            self.add(own, Object::Column(table.oid, *attnum), Dependency::Auto);
        }
        if let ConstraintKind::Check { expression } = &constraint.kind {
            self.add_text(own, expression);
        }
        let Some(key) = constraint.foreign_key() else { return };
        for attnum in key.columns.iter() {
            self.add(own, Object::Column(key.table, *attnum), Dependency::Normal);
        }
        self.add(own, Object::Relation(key.index), Dependency::Normal);
    }

    fn add_index(&mut self, index: &Relation, info: &IndexInfo) {
        let own = Object::Relation(index.oid);
        for parent in index.parents() {
            self.add(own, Object::Relation(parent), Dependency::PartitionPrimary);
            self.add(own, Object::Relation(info.table), Dependency::PartitionSecondary);
        }
        let expressions = info.keys.iter().filter_map(|key| key.expression.as_deref());
        for text in expressions.chain(info.predicate.as_deref()) {
            self.add_text(own, text);
        }
        let table = self.catalog.relation(info.table);
        let is_behind = |constraint: &&Constraint| constraint.index() == Some(index.oid);
        let behind = table.and_then(|table| table.constraints.iter().find(is_behind));
        if let Some(constraint) = behind {
            let constraint = Object::Constraint(info.table, constraint.oid);
            return self.add(own, constraint, Dependency::Internal);
        }
        let columns = info.keys.iter().map(|key| key.attnum).chain(info.include.iter().copied());
        for attnum in columns.filter(|attnum| *attnum != 0) {
            self.add(own, Object::Column(info.table, attnum), Dependency::Auto);
        }
    }
}

/// The table that has the parent of a partition's trigger or constraint.
fn parent_of(table: &Relation) -> Oid {
    table.partition_of.as_ref().map_or(table.oid, |of| of.parent)
}

/// A relation (column 0) or a column of it.
fn part_of(relation: Oid, attnum: i16) -> Object {
    match attnum {
        0 => Object::Relation(relation),
        attnum => Object::Column(relation, attnum),
    }
}

/// Whether a column is GENERATED AS IDENTITY.
pub(crate) fn is_identity(catalog: &Catalog, table: Oid, attnum: i16) -> bool {
    let position = usize::try_from(attnum - 1).ok();
    let column = catalog.relation(table).zip(position).and_then(|(t, i)| t.columns.get(i));
    column.is_some_and(|column| column.identity.is_some())
}
