//! pg_depend. It has the references of all objects ([`references`]), and rows about views' rules,
//! languages and extensions.

use super::casts::PG_CAST;
use super::classes::{
    PG_ATTRDEF, PG_CLASS, PG_CONSTRAINT, PG_NAMESPACE, PG_REWRITE, PG_STATISTIC_EXT, PG_TYPE,
    default_oid,
};
use super::extensions::{PG_EXTENSION, members};
use super::functions::{PG_PROC, language_of};
use super::nodes::{PGXC_GROUP, PGXC_NODE};
use super::operators::PG_OPERATOR;
use super::rows::RowsBuilder;
use super::session::SystemContext;
use super::triggers::PG_TRIGGER;
use crate::objects::{Function, NodeGroup, Object, Operator, UserCast, UserType};
use crate::references::{self, Dependency, Reference};
use crate::snapshot::Catalog;
use hashbrown::HashSet;
use steppe_types::{Datum, Oid};

/// OID of pg_language.
const PG_LANGUAGE: Oid = 2612;
/// Objects from here on may be dropped (FirstUnpinnedObjectId).
const FIRST_UNPINNED: Oid = 12000;

/// The catalog of an object, its OID there, and a column's number.
type Address = (Oid, Oid, i16);

/// pg_depend. (The columns that an expression reads in its own table are not stored, so they are
/// not shown.)
pub(super) fn pg_depend(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    let catalog = context.catalog;
    extension_dependencies(context, out);
    for function in catalog.stored::<Function>().iter() {
        // The languages that PostgreSQL cannot be without are pinned.
        let language = language_of(function);
        if language >= FIRST_UNPINNED {
            let own = (PG_PROC, function.oid, 0);
            row(out, own, (PG_LANGUAGE, language, 0), Dependency::Normal.code());
        }
        rows_of(catalog, &references::of_function(catalog, function), out);
    }
    for ty in catalog.stored::<UserType>().iter() {
        rows_of(catalog, &references::of_type(catalog, ty), out);
    }
    for cast in catalog.stored::<UserCast>().iter() {
        rows_of(catalog, &references::of_cast(catalog, cast), out);
    }
    for operator in catalog.stored::<Operator>().iter() {
        rows_of(catalog, &references::of_operator(catalog, operator), out);
    }
    for group in catalog.stored::<NodeGroup>().iter() {
        rows_of(catalog, &references::of_node_group(group), out);
    }
    for relation in catalog.relations().filter(|relation| !relation.is_system()) {
        if relation.view.is_some() {
            let (rule, view) = ((PG_REWRITE, relation.oid, 0), (PG_CLASS, relation.oid, 0));
            row(out, rule, view, Dependency::Internal.code());
        }
        rows_of(catalog, &references::of_relation(catalog, relation), out);
    }
}

fn rows_of(catalog: &Catalog, references: &[Reference], out: &mut RowsBuilder) {
    // A query's column stands for its relation, too (eliminate_duplicate_dependencies).
    let is_of_query = |reference: &&Reference| {
        matches!(reference.from, Object::Function(_) | Object::Relation(_))
            && reference.kind == Dependency::Normal
    };
    let of_columns = references.iter().filter(is_of_query).filter_map(|r| match r.on {
        Object::Column(table, _) => Some((r.from, table)),
        _ => None,
    });
    let of_columns: HashSet<(Object, Oid)> = of_columns.collect();
    for reference in references {
        if let Object::Relation(table) = reference.on
            && is_of_query(&reference)
            && of_columns.contains(&(reference.from, table))
        {
            continue;
        }
        let from = match (reference.from, reference.on) {
            // What a view reads, its rule depends on.
            (Object::Relation(view), on) if !matches!(on, Object::Schema(_)) => {
                let is_view = catalog.relation(view).is_some_and(|view| view.view.is_some());
                if is_view { (PG_REWRITE, view, 0) } else { address(reference.from) }
            }
            (from, _) => address(from),
        };
        row(out, from, address(reference.on), reference.kind.code());
    }
}

/// pg_depend's rows about extensions.
fn extension_dependencies(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for extension in context.catalog.extensions() {
        let own = (PG_EXTENSION, extension.oid, 0);
        row(out, own, (PG_NAMESPACE, extension.schema, 0), Dependency::Normal.code());
    }
    for (class, oid, extension) in members(context) {
        row(out, (class, oid, 0), (PG_EXTENSION, extension, 0), b'e');
    }
}

fn address(object: Object) -> Address {
    match object {
        Object::Schema(oid) => (PG_NAMESPACE, oid, 0),
        Object::Relation(oid) => (PG_CLASS, oid, 0),
        Object::Column(table, attnum) => (PG_CLASS, table, attnum),
        Object::Default(table, attnum) => (PG_ATTRDEF, default_oid(table, attnum), 0),
        Object::Constraint(_, oid) => (PG_CONSTRAINT, oid, 0),
        Object::Statistics(_, oid) => (PG_STATISTIC_EXT, oid, 0),
        Object::Trigger(_, oid) => (PG_TRIGGER, oid, 0),
        Object::Function(oid) => (PG_PROC, oid, 0),
        Object::Type(oid) => (PG_TYPE, oid, 0),
        Object::Cast(oid) => (PG_CAST, oid, 0),
        Object::Operator(oid) => (PG_OPERATOR, oid, 0),
        Object::Node(oid) => (PGXC_NODE, oid, 0),
        Object::NodeGroup(oid) => (PGXC_GROUP, oid, 0),
    }
}

fn row(out: &mut RowsBuilder, object: Address, on: Address, kind: u8) {
    out.row([
        ("classid", Datum::Oid(object.0)),
        ("objid", Datum::Oid(object.1)),
        ("objsubid", Datum::Int4(i32::from(object.2))),
        ("refclassid", Datum::Oid(on.0)),
        ("refobjid", Datum::Oid(on.1)),
        ("refobjsubid", Datum::Int4(i32::from(on.2))),
        ("deptype", Datum::Char(kind)),
    ]);
}
