//! Virtual generated columns (prepjointree.c: expand_virtual_generated_columns).
//!
//! A table's rows hold no values of them. Each reference to one becomes the column's expression
//! over the same entry, before anything else is planned. Texts of views keep the names, for they
//! are made of queries that are not planned.
//!
//! The column is NULL where an outer join has no row of the entry, and for a version that a
//! change's row has not, even if its expression is not NULL there. So the expression is put beside
//! a mark, the entry's `tableoid`, which is NULL only where there is no row. (PostgreSQL wraps it
//! into a PlaceHolderVar.) Grouping sets have every expression marked, since two keys that were
//! written as columns must stay two keys. So must a key and an equal expression that stands for
//! something else.

use crate::bind::virtual_value;
use crate::expr::{Expr, Place, TypeRef};
use crate::plan::TABLE_OID;
use crate::query::{FromItem, Query, RteKind};
use crate::walk;
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation};
use steppe_types::{Datum, Error, Result, oid};

/// Replaces the virtual generated columns that a query, or one inside it, refers to.
pub(super) fn expand(catalog: &Catalog, query: &mut Query) -> Result<()> {
    let mut failed = None;
    walk::for_each_query(query, 0, &mut |query, _| {
        if let Err(error) = expand_level(catalog, query) {
            failed.get_or_insert(error);
        }
    });
    failed.map_or(Ok(()), Err)
}

/// The virtual columns of the entries of one query, wherever it or a query inside it refers to
/// them.
fn expand_level(catalog: &Catalog, query: &mut Query) -> Result<()> {
    let entries = entries_of(catalog, query)?;
    if entries.is_empty() {
        return Ok(());
    }
    let is_grouped = query.grouping_sets.is_some();
    let excluded = query.on_conflict.as_ref().map(|conflict| conflict.excluded);
    let mut columns = Columns { entries, marked: HashSet::new(), is_grouped, excluded };
    for item in &mut query.from {
        columns.replace_in_joins(item);
    }
    // All else is above the joins.
    columns.marked.extend(query.from.iter().flat_map(FromItem::nullable_entries));
    columns.marked.extend(query.returning_versions.iter().flat_map(|v| v.entries()));
    walk::for_each_node(query, 0, &mut |e, depth| columns.replace(e, depth));
    Ok(())
}

/// A table that an entry ranges over, and its virtual columns' expressions by position.
struct Entry {
    table: Arc<Relation>,
    columns: Vec<(usize, Expr)>,
}

fn entries_of(catalog: &Catalog, query: &Query) -> Result<HashMap<usize, Entry>> {
    let mut entries = HashMap::new();
    for (rte, entry) in query.rtes.iter().enumerate() {
        let RteKind::Relation(table) = &entry.kind else { continue };
        let mut columns = Vec::new();
        for (position, _) in table.columns.iter().enumerate().filter(|(_, c)| c.is_virtual) {
            let value = virtual_value(catalog, table, position)?
                .ok_or_else(|| Error::internal("a virtual column without an expression"))?;
            columns.push((position, value));
        }
        if !columns.is_empty() {
            entries.insert(rte, Entry { table: table.clone(), columns });
        }
    }
    Ok(entries)
}

struct Columns {
    entries: HashMap<usize, Entry>,
    /// The entries that may have no row where the expression is evaluated.
    marked: HashSet<usize>,
    /// All are marked.
    is_grouped: bool,
    /// ON CONFLICT's `excluded`, which has no system columns.
    excluded: Option<usize>,
}

impl Columns {
    /// The conditions of joins: below them, their own sides have all their rows.
    fn replace_in_joins(&mut self, item: &mut FromItem) {
        let FromItem::Join { left, right, on, .. } = item else { return };
        self.replace_in_joins(left);
        self.replace_in_joins(right);
        self.marked =
            [left.nullable_entries(), right.nullable_entries()].concat().into_iter().collect();
        if let Some(on) = on {
            walk::for_each_level(on, 0, &mut |e, depth| self.replace(e, depth));
        }
        self.marked.clear();
    }

    fn replace(&self, expr: &mut Expr, depth: usize) {
        let Expr::Var { rte, column, levels_up, .. } = expr else { return };
        if *levels_up != depth {
            return;
        }
        let Some(entry) = self.entries.get(rte) else { return };
        let is_it = |(position, _): &&(usize, Expr)| usize::try_from(*column) == Ok(*position);
        if let Some((position, value)) = entry.columns.iter().find(is_it) {
            *expr = self.value(*rte, entry, (*position, value), depth);
        }
    }

    /// A column's expression for a reference `depth` levels further in.
    fn value(
        &self,
        rte: usize,
        entry: &Entry,
        (position, value): (usize, &Expr),
        depth: usize,
    ) -> Expr {
        let own = value.clone();
        let mut value = own.clone();
        walk::for_each_level(&mut value, 0, &mut |e, _| match e {
            Expr::Var { column, ty, .. }
                if *column == i32::from(TABLE_OID) && self.excluded == Some(rte) =>
            {
                *e = Expr::Const(Datum::Oid(entry.table.oid), *ty);
            }
            Expr::Var { rte: of, levels_up, .. } => (*of, *levels_up) = (rte, depth),
            _ => {}
        });
        if !self.is_grouped && !self.marked.contains(&rte) {
            return value;
        }
        // As many marks as there are columns of this expression, up to this one.
        let alike = entry.columns.iter().filter(|(at, e)| *at <= position && *e == own).count();
        let marks = if self.is_grouped { alike } else { 1 };
        if_there(rte, depth, value, marks)
    }
}

/// `CASE WHEN rte.tableoid IS NULL THEN NULL … ELSE value END`, with `marks` tests.
fn if_there(rte: usize, levels_up: usize, value: Expr, marks: usize) -> Expr {
    let ty = TypeRef::plain(oid::OID);
    let mark = Expr::Var { rte, column: TABLE_OID.into(), levels_up, ty, at: Place::NONE };
    let absent = Expr::IsNull { arg: Box::new(mark), negated: false };
    let ty = value.ty();
    let whens = vec![(absent, Expr::Const(Datum::Null, ty)); marks];
    Expr::Case { operand: None, whens, otherwise: Box::new(value), ty }
}
