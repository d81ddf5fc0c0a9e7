//! Statements that change rows, bound to be printed: as PostgreSQL's analysis leaves them, before its
//! rewriter (analyze.c, which rewriteHandler.c follows).
//!
//! Such a query keeps what a query that is run does not have any more:
//!
//! - INSERT has the columns that were named, in their order, as assignments. DEFAULT stays DEFAULT;
//! - each part of a column that is assigned is an assignment of its own, over [`Expr::Default`] as
//!   the column's value;
//! - the columns of `(a, b) = (SELECT …)` are fields of one row, a [`SubLinkKind::Row`] without a test;
//! - a view is the target itself;
//! - ON CONFLICT has its elements, or its constraint.

use super::Binder;
use super::element::Assigned;
use crate::expr::{Expr, SubLinkKind, TypeRef};
use crate::query::{Assignments, FromItem, Query, Rte, RteColumn, RteKind};
use steppe_catalog::Relation;
use steppe_types::oid;

impl Binder<'_> {
    /// The columns that INSERT gives, with their values.
    pub(super) fn written_columns(
        &self,
        relation: &Relation,
        columns: &[Assigned],
        values: Vec<Expr>,
    ) -> Assignments {
        let columns = columns.iter().cloned();
        columns.zip(values).map(|(target, value)| written(relation, target, value)).collect()
    }

    /// Makes several VALUES lists the source of an INSERT. Gives their columns.
    pub(super) fn written_lists(&mut self, query: &mut Query, lists: Vec<Vec<Expr>>) -> Vec<Expr> {
        let first = lists.first().map_or(&[][..], Vec::as_slice);
        let column = |(i, value): (usize, &Expr)| RteColumn {
            name: format!("column{}", i + 1).into(),
            ty: value.ty(),
            dropped: false,
        };
        let columns: Vec<RteColumn> = first.iter().enumerate().map(column).collect();
        let values = columns.iter().map(|column| column.ty).enumerate().collect::<Vec<_>>();
        let rte = self.push_rte(Rte {
            alias: "*VALUES*".into(),
            has_alias: false,
            kind: RteKind::Values(lists),
            inherit: false,
            columns,
        });
        query.from = vec![FromItem::Rte(rte)];
        values.into_iter().map(|(i, ty)| Expr::var(rte, i, ty)).collect()
    }
}

/// An assignment to a column, or to a part of one.
pub(super) fn written(relation: &Relation, target: Assigned, value: Expr) -> (usize, Expr) {
    let ty = TypeRef::of(&relation.columns[target.column]);
    match target.part {
        None => (target.column, value),
        Some(part) => (target.column, part.set(Expr::Default(ty), ty, value)),
    }
}

/// The row whose fields are the values of `(a, b) = (SELECT …)`.
pub(super) fn written_row(query: Query) -> Expr {
    let ty = TypeRef::plain(oid::RECORD);
    Expr::SubLink { kind: SubLinkKind::Row, test: None, query: Box::new(query), ty }
}
