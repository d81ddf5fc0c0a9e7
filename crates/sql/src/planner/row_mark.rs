//! Whether an outer join found a row, for references to a row as a whole.
//!
//! `t` as a value is the row of t's columns, but NULL where an outer join has no row of t. The
//! binder writes that as `CASE WHEN mark IS NULL THEN NULL ELSE ROW(t.a, …) END` with the mark
//! [`ROW_MARK`], a column that is NULL only where there is no row. (In PostgreSQL a whole-row
//! `Var` is evaluated below the join: expandRecordVariable, pullup_replace_vars.)
//!
//! Here each mark becomes a column that its entry has. A table has its `tableoid`; any other item
//! of FROM is wrapped into a sub-select with a constant behind its columns.

use crate::expr::{Expr, Place, TypeRef};
use crate::plan::{ROW_MARK, TABLE_OID};
use crate::query::{Command, FromItem, Query, Rte, RteColumn, RteKind, Target};
use crate::walk;
use hashbrown::HashMap;
use steppe_types::oid;

/// The name of the column that a sub-select gets for a mark.
const NAME: &str = "present";

/// Replaces the marks of a query's entries, wherever they are referred to.
pub(crate) fn replace_row_marks(query: &mut Query) {
    // What a mark becomes: the column and its type.
    let mut marks: HashMap<usize, Option<(i32, TypeRef)>> = HashMap::new();
    for_each_mark(query, &mut |rte, _, _| {
        marks.insert(rte, None);
    });
    if marks.is_empty() {
        return;
    }
    for (rte, mark) in &mut marks {
        *mark = query.rtes.get_mut(*rte).map(mark_of);
    }
    for_each_mark(query, &mut |rte, column, ty| {
        if let Some(Some(mark)) = marks.get(&rte) {
            (*column, *ty) = *mark;
        }
    });
}

/// Calls `f(entry, column, type)` on every mark of an entry of this query.
fn for_each_mark(query: &mut Query, f: &mut dyn FnMut(usize, &mut i32, &mut TypeRef)) {
    walk::for_each_node(query, 0, &mut |e, depth| match e {
        Expr::Var { rte, column, levels_up, ty, .. }
            if *column == i32::from(ROW_MARK) && *levels_up == depth =>
        {
            f(*rte, column, ty);
        }
        _ => {}
    });
}

/// The column of an entry that is never NULL, made if there is none.
fn mark_of(entry: &mut Rte) -> (i32, TypeRef) {
    if let RteKind::Relation(_) = entry.kind {
        return (TABLE_OID.into(), TypeRef::plain(oid::OID));
    }
    let column = entry.columns.len() as i32;
    let ty = TypeRef::plain(oid::BOOL);
    let mut query = Query::new(Command::Select);
    let inner = Rte { kind: RteKind::Values(Vec::new()), ..entry.clone() };
    let kind = std::mem::replace(&mut entry.kind, RteKind::Values(Vec::new()));
    query.rtes.push(Rte { kind, ..inner });
    let lateral = move_in(&mut query);
    query.from.push(FromItem::Rte(0));
    let of_entry = entry.columns.iter().enumerate().map(|(i, column)| {
        let at = Place::NONE;
        let var = Expr::Var { rte: 0, column: i as i32, levels_up: 0, ty: column.ty, at };
        Target::plain(var, column.name.clone())
    });
    query.targets.extend(of_entry);
    query.targets.push(Target::plain(Expr::boolean(true), NAME.into()));
    entry.columns.push(RteColumn { name: NAME.into(), ty, dropped: false });
    entry.kind = RteKind::Subquery { query: Box::new(query), lateral, view: None };
    (column, ty)
}

/// Moves the outside references of the only entry of a new query one level further out. True if it
/// refers to items of the query that it came from.
fn move_in(query: &mut Query) -> bool {
    let mut lateral = false;
    walk::for_each_node(query, 0, &mut |e, depth| match e {
        Expr::Var { levels_up, .. } if *levels_up >= depth => {
            lateral |= *levels_up == depth;
            *levels_up += 1;
        }
        Expr::Aggregate(a) if a.levels_up >= depth && a.levels_up > 0 => a.levels_up += 1,
        _ => {}
    });
    walk::for_each_query(query, 0, &mut |query, depth| {
        for rte in &mut query.rtes {
            if let RteKind::Cte { levels_up, .. } = &mut rte.kind
                && *levels_up >= depth
            {
                *levels_up += 1;
            }
        }
    });
    lateral
}
