//! SEARCH and CYCLE of a recursive WITH query: their names and added columns (analyzeCTE in
//! parse_cte.c).
//!
//! The added columns are there in each reference to the query, its recursive term included. The
//! planner adds the expressions that compute them.

use super::coerce::is_row;
use super::with::cte_columns;
use super::{Binder, ExprPlace};
use crate::ast::{self, Location, ObjectName};
use crate::expr::Expr;
use crate::query::*;
use std::sync::Arc;
use steppe_catalog::builtin;
use steppe_types::{Error, Result, SqlState};

/// SEARCH before the columns that it names are known.
pub(super) fn unsettled_search(search: &ast::CteSearch) -> CteSearch {
    CteSearch {
        columns: Vec::new(),
        breadth_first: search.breadth_first,
        set_column: search.set_column.as_str().into(),
    }
}

impl Binder<'_> {
    /// CYCLE's marks, whose type the query may need; its columns are not known yet.
    pub(super) fn cycle_marks(&mut self, cycle: &ast::CteCycle) -> Result<CteCycle> {
        let (value, default) = (&cycle.mark_value, &cycle.mark_default);
        let mut marks = [value, default].map(|_| Expr::boolean(false));
        for (mark, written) in marks.iter_mut().zip([value, default]) {
            *mark = self.expr(written, ExprPlace::CycleMark)?;
        }
        let ty =
            self.coerce_common(&mut marks, "CYCLE", &[value.leftmost(), default.leftmost()])?;
        let comparable = is_row(ty.oid)
            || builtin::ordering(self.base_of(ty.oid)).is_some()
            || builtin::operator_of("=", ty.oid, ty.oid).is_some_and(|o| o.can_hash);
        if !comparable {
            let shown = self.format_type(ty.oid, -1);
            let message = format!("could not identify an equality operator for type {shown}");
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
        }
        let [mark_value, mark_default] = marks;
        // The negator of the type's own equality.
        let unequal = ObjectName(vec!["pg_catalog".into(), "<>".into()]);
        let mark = Some(Expr::CaseOperand(ty));
        let unmarked = self.operator(&unequal, mark, mark_value.clone(), Location::NONE)?;
        Ok(CteCycle {
            columns: Vec::new(),
            mark_column: cycle.mark_column.as_str().into(),
            mark_value,
            mark_default,
            unmarked,
            path_column: cycle.path_column.as_str().into(),
        })
    }

    /// Finds the columns that the clauses of the query that was bound last name.
    pub(super) fn settle_search_and_cycle(
        &mut self,
        cte: &ast::CommonTableExpr,
        recursive: bool,
    ) -> Result<()> {
        if cte.search.is_none() && cte.cycle.is_none() {
            return Ok(());
        }
        if !recursive {
            let message = "WITH query is not recursive";
            return Err(self.error(SqlState::SYNTAX_ERROR, message, cte.location));
        }
        self.check_expandable(cte)?;
        let Some(bound) = self.scope().ctes.last() else {
            return Err(Error::internal("a WITH query is lost"));
        };
        let own = Cte { search: None, cycle: None, ..bound.clone() };
        let names: Vec<Arc<str>> = cte_columns(&own).into_iter().map(|c| c.name).collect();
        let search = match &cte.search {
            Some(search) => Some(self.search_columns(search, &names)?),
            None => None,
        };
        let cycle = match &cte.cycle {
            Some(cycle) => Some(self.cycle_columns(cycle, &names)?),
            None => None,
        };
        self.check_added_names(cte)?;
        let Some(bound) = self.scope().ctes.last_mut() else { return Ok(()) };
        if let (Some(clause), Some(columns)) = (&mut bound.search, search) {
            clause.columns = columns;
        }
        if let (Some(clause), Some(columns)) = (&mut bound.cycle, cycle) {
            clause.columns = columns;
        }
        Ok(())
    }

    /// The form that the added columns can be computed in.
    fn check_expandable(&mut self, cte: &ast::CommonTableExpr) -> Result<()> {
        let refuse = |sqlstate, message: String| Err(Error::new(sqlstate, message));
        let ast::Statement::Select(select) = &*cte.query else { return Ok(()) };
        let ast::SelectBody::SetOp(operation) = &select.body else { return Ok(()) };
        let (left, right) = (&operation.left, &operation.right);
        for (side, term, sqlstate) in [
            ("left", left, SqlState::FEATURE_NOT_SUPPORTED),
            ("right", right, SqlState::SYNTAX_ERROR),
        ] {
            if !is_select(term) {
                let message = format!(
                    "with a SEARCH or CYCLE clause, the {side} side of the UNION must be a SELECT"
                );
                return refuse(sqlstate, message);
            }
        }
        let index = self.scope().ctes.len() - 1;
        let right = self.scope().ctes[index].query.set_operation.as_ref().map(|o| &o.right);
        if right.is_none_or(|right| recursive_entry(right, index).is_none()) {
            let message = format!(
                "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{}\" must \
                 be at the top level of its right-hand SELECT",
                cte.name
            );
            return refuse(SqlState::FEATURE_NOT_SUPPORTED, message);
        }
        Ok(())
    }

    fn search_columns(&self, search: &ast::CteSearch, names: &[Arc<str>]) -> Result<Vec<usize>> {
        let columns = self.named_columns("search", &search.columns, names, search.location)?;
        self.check_unused("search sequence", &search.set_column, names, search.location)?;
        Ok(columns)
    }

    fn cycle_columns(&self, cycle: &ast::CteCycle, names: &[Arc<str>]) -> Result<Vec<usize>> {
        let columns = self.named_columns("cycle", &cycle.columns, names, cycle.location)?;
        self.check_unused("cycle mark", &cycle.mark_column, names, cycle.location)?;
        self.check_unused("cycle path", &cycle.path_column, names, cycle.location)?;
        if cycle.mark_column == cycle.path_column {
            let message = "cycle mark column name and cycle path column name are the same";
            return Err(self.error(SqlState::SYNTAX_ERROR, message, cycle.location));
        }
        Ok(columns)
    }

    /// The positions of the columns that a clause names.
    fn named_columns(
        &self,
        clause: &str,
        wanted: &[String],
        names: &[Arc<str>],
        location: Location,
    ) -> Result<Vec<usize>> {
        let mut columns = Vec::with_capacity(wanted.len());
        for (i, name) in wanted.iter().enumerate() {
            let Some(column) = names.iter().position(|n| **n == **name) else {
                let message = format!("{clause} column \"{name}\" not in WITH query column list");
                return Err(self.error(SqlState::SYNTAX_ERROR, message, location));
            };
            if wanted[..i].contains(name) {
                let message = format!("{clause} column \"{name}\" specified more than once");
                return Err(self.error(SqlState::DUPLICATE_COLUMN, message, location));
            }
            columns.push(column);
        }
        Ok(columns)
    }

    fn check_unused(
        &self,
        what: &str,
        name: &str,
        names: &[Arc<str>],
        location: Location,
    ) -> Result<()> {
        if names.iter().all(|n| **n != *name) {
            return Ok(());
        }
        let message =
            format!("{what} column name \"{name}\" already used in WITH query column list");
        Err(self.error(SqlState::SYNTAX_ERROR, message, location))
    }

    /// The columns that both clauses add have different names.
    fn check_added_names(&self, cte: &ast::CommonTableExpr) -> Result<()> {
        let (Some(search), Some(cycle)) = (&cte.search, &cte.cycle) else { return Ok(()) };
        for (what, name) in [("mark", &cycle.mark_column), ("path", &cycle.path_column)] {
            if search.set_column == *name {
                let message = format!(
                    "search sequence column name and cycle {what} column name are the same"
                );
                return Err(self.error(SqlState::SYNTAX_ERROR, message, search.location));
            }
        }
        Ok(())
    }

    /// The number of columns at the end of an entry that its `*` leaves out: inside a query around
    /// which, or in which, SEARCH and CYCLE add them (p_dontexpand).
    pub(super) fn columns_not_in_star(&self, scope: usize, rte: &Rte) -> usize {
        let RteKind::Cte { index, levels_up } = rte.kind else { return 0 };
        if levels_up == 0 {
            return 0;
        }
        let around = scope.checked_sub(levels_up).and_then(|scope| self.scopes.get(scope));
        around.and_then(|scope| scope.ctes.get(index)).map_or(0, |cte| cte.added_columns().len())
    }
}

/// Whether a side of a UNION is a SELECT of its own, not another set operation.
fn is_select(term: &ast::SelectStmt) -> bool {
    !matches!(term.body, ast::SelectBody::SetOp(_))
        || term.with.is_some()
        || !term.order_by.is_empty()
        || term.limit.is_some()
        || term.offset.is_some()
        || !term.locking.is_empty()
}
