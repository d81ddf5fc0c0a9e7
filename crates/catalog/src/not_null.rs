//! The two stored forms of NOT NULL in a user's table: a mark and a constraint.
//!
//! A NOT NULL column has a mark, which is the only thing that statements check. The table also has
//! a named constraint for it, as in PostgreSQL since version 18. When the catalog is written, each
//! mark has its constraint and each such constraint its mark.
//!
//! Earlier versions of Steppe stored a constraint only if one had been named. Their tables are
//! completed in memory each time that they are read, and on disk when the table is changed. Until
//! then the constraint's OID changes at each start.

use crate::relation::{Constraint, ConstraintKind, RelKind, Relation};
use crate::snapshot::Catalog;
use std::sync::Arc;
use steppe_types::{Oid, Result};

/// Whether each mark has its constraint, and each constraint its mark. A column has at most one
/// such constraint.
pub(crate) fn is_complete(relation: &Relation) -> bool {
    let mut constrained = relation.constraints.iter().filter_map(Constraint::not_null_column);
    let is_marked = |at: usize| relation.columns.get(at).is_some_and(|column| column.not_null);
    let count = constrained.clone().count();
    count == marked(relation).count() && constrained.all(is_marked)
}

/// The positions of marks in a user's table.
fn marked(relation: &Relation) -> impl Iterator<Item = usize> {
    let is_table = matches!(relation.kind, RelKind::Table | RelKind::PartitionedTable);
    let columns = relation.columns.iter().enumerate();
    columns.filter(move |(_, column)| is_table && column.not_null).map(|(at, _)| at)
}

/// The positions of marks without a constraint.
fn lacking(relation: &Relation) -> impl Iterator<Item = usize> {
    marked(relation).filter(|at| relation.not_null_constraint(*at).is_none())
}

/// Adds the missing constraints of marks to all tables.
pub(crate) fn complete(
    catalog: &mut Catalog,
    new_oid: &mut dyn FnMut() -> Result<Oid>,
) -> Result<()> {
    let incomplete = |relation: &&Arc<Relation>| !is_complete(relation);
    let tables: Vec<Oid> = catalog.relations().filter(incomplete).map(|r| r.oid).collect();
    tables.into_iter().try_for_each(|table| complete_table(catalog, table, new_oid))
}

/// Completes the parents first: a child's constraint has its parent's name.
fn complete_table(
    catalog: &mut Catalog,
    table: Oid,
    new_oid: &mut dyn FnMut() -> Result<Oid>,
) -> Result<()> {
    let Some(relation) = catalog.relation(table).cloned() else { return Ok(()) };
    let mut relation = (*relation).clone();
    let positions: Vec<usize> = lacking(&relation).collect();
    if positions.is_empty() {
        return Ok(());
    }
    let parents: Vec<Oid> = relation.parents().collect();
    parents.iter().try_for_each(|parent| complete_table(catalog, *parent, new_oid))?;
    for position in positions {
        let constraint = missing(catalog, &relation, &parents, position, new_oid()?);
        relation.constraints.push(constraint);
    }
    catalog.put_relation(relation);
    Ok(())
}

/// The constraint that a column would have if it had been created with the mark. An older version
/// did not store whether an inherited column also has a NOT NULL of its own. Then it is assumed to
/// have one.
fn missing(
    catalog: &Catalog,
    relation: &Relation,
    parents: &[Oid],
    position: usize,
    oid: Oid,
) -> Constraint {
    let column = &relation.columns[position].name;
    let theirs = parents.iter().filter_map(|parent| {
        let parent = catalog.relation(*parent)?;
        parent.inheritable_not_null(parent.column_index(column)?)
    });
    let names: Vec<&Arc<str>> = theirs.map(|constraint| &constraint.name).collect();
    let taken: Vec<&str> = relation.constraints.iter().map(|own| &*own.name).collect();
    let name = match names.first().filter(|name| !taken.contains(&&****name)) {
        Some(name) => Arc::clone(name),
        None => {
            let parts = (&*relation.name, &**column, "not_null");
            catalog.free_constraint_name(relation.schema, parts, &taken).into()
        }
    };
    let is_own = relation.is_local(position);
    Constraint {
        inherit_count: names.len() as i16,
        local: is_own || names.is_empty(),
        ..Constraint::new(oid, name, ConstraintKind::NotNull, vec![position as i16 + 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relation::Column;
    use crate::{PUBLIC, PartitionOf};
    use steppe_types::oid;

    fn table(table: Oid, name: &str) -> Relation {
        let mut relation = Relation::new(table, PUBLIC, name, RelKind::Table);
        relation.columns =
            vec![Column::new("a", oid::INT4, -1), Column::new("b", oid::INT4, -1)].into();
        relation.columns[0].not_null = true;
        relation
    }

    fn not_null(catalog: &Catalog, table: Oid) -> (String, i16, bool) {
        let found = catalog.relation(table).expect("there");
        assert!(is_complete(found));
        let constraint = &found.constraints[found.not_null_constraint(0).expect("completed")];
        (constraint.name.to_string(), constraint.inherit_count, constraint.local)
    }

    /// A partition may precede its parent in the order of OIDs.
    #[test]
    fn what_older_versions_wrote_is_completed() {
        let mut catalog = Catalog::default();
        let mut leaf = table(20_000, "leaf");
        leaf.partition_of =
            Some(PartitionOf { parent: 30_000, bound: None, detach_pending: false });
        catalog.put_relation(leaf);
        catalog.put_relation(table(30_000, "parent"));
        let mut child = table(40_000, "child");
        child.inherits = vec![30_000].into();
        child.columns[0].inherit_count = 1;
        child.columns[1].not_null = true;
        let kind = ConstraintKind::NotNull;
        child.constraints.push(Constraint::new(40_001, "named", kind.clone(), vec![2]));
        catalog.put_relation(child);
        let mut renamed = table(50_000, "renamed");
        renamed.constraints.push(Constraint::new(50_001, "late_a_not_null", kind, vec![1]));
        catalog.put_relation(renamed);
        catalog.put_relation(table(60_000, "late"));
        let before = catalog.clone();
        let mut oid = 70_000;
        complete(&mut catalog, &mut || {
            oid += 1;
            Ok(oid)
        })
        .expect("OIDs are there");
        let named = |table| not_null(&catalog, table);
        assert_eq!(named(20_000), ("parent_a_not_null".into(), 1, false));
        assert_eq!(named(30_000), ("parent_a_not_null".into(), 0, true));
        assert_eq!(named(40_000), ("parent_a_not_null".into(), 1, true));
        assert_eq!(named(50_000), ("late_a_not_null".into(), 0, true));
        assert_eq!(named(60_000), ("late_a_not_null1".into(), 0, true));
        assert_eq!(oid, 70_004, "what was named keeps its OID");
        assert!(!is_complete(before.relation(60_000).expect("there")));
        let mut none = || panic!("nothing is missing");
        complete(&mut catalog, &mut none).expect("complete");
    }
}
