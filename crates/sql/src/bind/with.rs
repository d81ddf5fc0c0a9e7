//! WITH: common table expressions, those that refer to themselves and those that change rows
//! (parse_cte.c).

use super::from::output_columns;
use super::select::coerce_output;
use super::typename::format_type_with_typmod;
use super::{Binder, Recursion};
use crate::ast::{self, Location, RangeVar};
use crate::expr::{Expr, TypeRef};
use crate::query::*;
use steppe_types::{Result, SqlState};

impl Binder<'_> {
    /// WITH: each entry is visible to the following ones (RECURSIVE: to itself).
    pub(crate) fn with_clause(&mut self, with: &ast::WithClause) -> Result<()> {
        for cte in &with.ctes {
            if self.scope().ctes.iter().any(|c| *c.name == *cte.name.as_str()) {
                return Err(self.error(
                    SqlState::DUPLICATE_ALIAS,
                    format!("WITH query name \"{}\" specified more than once", cte.name),
                    cte.location,
                ));
            }
            if cte.search.is_some() || cte.cycle.is_some() {
                return Err(self.unsupported("SEARCH and CYCLE", cte.location));
            }
            let mut query = match &*cte.query {
                ast::Statement::Select(select) => {
                    if with.recursive
                        && let Some(()) = self.recursive_cte(cte, select)?
                    {
                        continue;
                    }
                    self.select(select)?
                }
                modifying => {
                    let own_name = (cte.name.clone(), cte.location);
                    self.modifying = with.recursive.then_some(own_name);
                    let query = self.modifying_cte(modifying, cte);
                    self.modifying = None;
                    query?
                }
            };
            self.settle_unknown_targets(&mut query)?;
            self.check_cte_columns(&query, cte)?;
            self.push_cte(cte, query, false);
        }
        Ok(())
    }

    /// INSERT, UPDATE or DELETE in WITH: at the top of the statement only.
    fn modifying_cte(
        &mut self,
        statement: &ast::Statement,
        cte: &ast::CommonTableExpr,
    ) -> Result<Query> {
        if self.scopes.len() > 1 {
            return Err(self.error(
                SqlState::FEATURE_NOT_SUPPORTED,
                "WITH clause containing a data-modifying statement must be at the top level",
                cte.location,
            ));
        }
        match statement {
            ast::Statement::Insert(insert) => self.insert(insert),
            ast::Statement::Update(update) => self.update(update),
            ast::Statement::Delete(delete) => self.delete(delete),
            _ => Err(self.unsupported("MERGE", cte.location)),
        }
    }

    fn push_cte(&mut self, cte: &ast::CommonTableExpr, query: Query, recursive: bool) {
        self.scope().ctes.push(Cte {
            name: cte.name.as_str().into(),
            columns: cte.columns.iter().map(|name| name.as_str().into()).collect(),
            query: Box::new(query),
            recursive,
            materialized: cte.materialized,
            references: 0,
        });
    }

    fn check_cte_columns(&self, query: &Query, cte: &ast::CommonTableExpr) -> Result<()> {
        let available = query.output().iter().filter(|t| !t.hidden).count();
        if cte.columns.len() > available {
            return Err(self.error(
                SqlState::INVALID_COLUMN_REFERENCE,
                format!(
                    "WITH query \"{}\" has {available} columns available but {} columns specified",
                    cte.name,
                    cte.columns.len()
                ),
                cte.location,
            ));
        }
        Ok(())
    }

    /// `non-recursive UNION [ALL] recursive`. `None`: it does not refer to itself.
    fn recursive_cte(
        &mut self,
        cte: &ast::CommonTableExpr,
        select: &ast::SelectStmt,
    ) -> Result<Option<()>> {
        let ast::SelectBody::SetOp(operation) = &select.body else { return Ok(None) };
        if operation.op != ast::SetOperator::Union {
            return Ok(None);
        }
        let mut left = self.select_with_cte_level(&operation.left)?;
        self.settle_unknown_targets(&mut left)?;
        self.check_cte_columns(&left, cte)?;
        let index = self.scope().ctes.len();
        self.push_cte(cte, left.clone(), true);
        self.recursions.push(Recursion { entry: (self.scopes.len() - 1, index), within: None });
        let right = self.select_with_cte_level(&operation.right);
        self.recursions.pop();
        let entry = self.scope().ctes.remove(index);
        let mut right = right?;
        if entry.references == 0 {
            return Ok(None);
        }
        self.refuse_clauses_of_recursion(select)?;
        let types = self.recursive_columns(&left, &mut right, cte)?;
        let mut query = Query::new(Command::Select);
        let columns: Vec<RteColumn> = output_columns(&left);
        for (i, column) in columns.iter().enumerate() {
            let expr = Expr::var(0, i, column.ty);
            query.targets.push(Target::plain(expr, column.name.clone()));
        }
        query.rtes.push(Rte {
            alias: "*SETOP*".into(),
            has_alias: false,
            kind: RteKind::Values(Vec::new()),
            inherit: false,
            columns,
        });
        query.set_operation = Some(SetOperation {
            op: SetOp::Union,
            all: operation.all,
            left: Box::new(left),
            right: Box::new(right),
            types,
        });
        self.scope().ctes.push(Cte { query: Box::new(query), references: 0, ..entry });
        Ok(Some(()))
    }

    /// What would be of all rows, of which there is no end yet (checkWellFormedRecursion).
    fn refuse_clauses_of_recursion(&self, select: &ast::SelectStmt) -> Result<()> {
        let order = select.order_by.first().map(|sort| ("ORDER BY", sort.expr.leftmost()));
        let offset = select.offset.as_ref().map(|offset| ("OFFSET", offset.leftmost()));
        let limit = select.limit.as_ref().map(|limit| ("LIMIT", limit.leftmost()));
        let locking = select.locking.first().map(|_| ("FOR UPDATE/SHARE", Location::NONE));
        match order.or(offset).or(limit).or(locking) {
            None => Ok(()),
            Some((clause, location)) => {
                let message = format!("{clause} in a recursive query is not implemented");
                Err(self.error(SqlState::FEATURE_NOT_SUPPORTED, message, location))
            }
        }
    }

    /// Binds a part of a recursive term where its query must not be named.
    pub(crate) fn within<T>(
        &mut self,
        part: Option<&'static str>,
        bind: impl FnOnce(&mut Self) -> T,
    ) -> T {
        if part.is_none() || self.recursions.is_empty() {
            return bind(self);
        }
        let around: Vec<_> = self.recursions.iter().map(|recursion| recursion.within).collect();
        self.recursions.iter_mut().for_each(|recursion| recursion.within = part);
        let bound = bind(self);
        for (recursion, within) in self.recursions.iter_mut().zip(around) {
            recursion.within = within;
        }
        bound
    }

    /// 42P19 where a recursive query names itself and must not, or not again.
    fn check_recursion(&self, entry: (usize, usize), range_var: &RangeVar) -> Result<()> {
        let Some(recursion) = self.recursions.iter().find(|r| r.entry == entry) else {
            return Ok(());
        };
        let is_again = self.scopes[entry.0].ctes[entry.1].references > 0;
        let refused = match recursion.within {
            Some(part) => format!("within {part}"),
            None if is_again => "more than once".to_owned(),
            None => return Ok(()),
        };
        let name = &range_var.name;
        let message = format!("recursive reference to query \"{name}\" must not appear {refused}");
        Err(self.error(SqlState::INVALID_RECURSION, message, range_var.location))
    }

    fn select_with_cte_level(&mut self, select: &ast::SelectStmt) -> Result<Query> {
        // Both sides of a set operation sit one level below the query that owns it.
        self.push_scope();
        let bound = self.select(select);
        self.pop_scope();
        bound
    }

    fn recursive_columns(
        &mut self,
        left: &Query,
        right: &mut Query,
        cte: &ast::CommonTableExpr,
    ) -> Result<Vec<TypeRef>> {
        let columns = output_columns(left);
        let visible: Vec<usize> =
            (0..right.targets.len()).filter(|i| !right.targets[*i].hidden).collect();
        if columns.len() != visible.len() {
            return Err(self.error(
                SqlState::SYNTAX_ERROR,
                "each UNION query must have the same number of columns",
                cte.location,
            ));
        }
        for (i, (column, target)) in columns.iter().zip(visible).enumerate() {
            let found = right.targets[target].expr.ty();
            if found == column.ty {
                continue;
            }
            let mut both = [Expr::Default(column.ty), right.targets[target].expr.clone()];
            let at_left = left.targets.iter().filter(|t| !t.hidden).nth(i).map(|t| t.at.0);
            let (at_left, at_right) = (at_left.unwrap_or_default(), right.targets[target].at.0);
            let overall = self.coerce_common(&mut both, "UNION", &[at_left, at_right])?;
            if overall != column.ty {
                return Err(self
                    .error(
                        SqlState::DATATYPE_MISMATCH,
                        format!(
                            "recursive query \"{}\" column {} has type {} in non-recursive term but type {} overall",
                            cte.name,
                            i + 1,
                            format_type_with_typmod(column.ty.oid, column.ty.typmod),
                            format_type_with_typmod(overall.oid, overall.typmod)
                        ),
                        // Where the overall type was decided.
                        if overall.oid == column.ty.oid { at_left } else { at_right },
                    )
                    .hint("Cast the output of the non-recursive term to the correct type."));
            }
            let [_, coerced] = both;
            coerce_output(right, target, coerced);
        }
        Ok(columns.iter().map(|c| c.ty).collect())
    }

    /// A CTE by name, at this level or further out.
    pub(crate) fn cte_reference(&mut self, range_var: &RangeVar) -> Result<Option<usize>> {
        for levels_up in 0..self.scopes.len() {
            let scope = self.scopes.len() - 1 - levels_up;
            let named = |c: &Cte| *c.name == *range_var.name.as_str();
            let Some(index) = self.scopes[scope].ctes.iter().position(named) else { continue };
            self.check_recursion((scope, index), range_var)?;
            let cte = &mut self.scopes[scope].ctes[index];
            cte.references += 1;
            if cte.query.command != Command::Select && cte.query.returning.is_empty() {
                return Err(self.error(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("WITH query \"{}\" does not have a RETURNING clause", range_var.name),
                    range_var.location,
                ));
            }
            let columns = cte_columns(cte);
            let default = ast::Alias { name: range_var.name.clone(), columns: Vec::new() };
            let alias = range_var.alias.as_ref().unwrap_or(&default);
            let kind = RteKind::Cte { index, levels_up };
            let rte = self.add_derived_rte(alias, range_var.alias.is_some(), kind, columns)?;
            return Ok(Some(rte));
        }
        match &self.modifying {
            Some((name, location)) if *name == range_var.name => {
                let message = format!(
                    "recursive query \"{name}\" must not contain data-modifying statements"
                );
                Err(self.error(SqlState::INVALID_RECURSION, message, *location))
            }
            _ => Ok(None),
        }
    }
}

/// The columns of a WITH query as references see them.
fn cte_columns(cte: &Cte) -> Vec<RteColumn> {
    let mut columns = output_columns(&cte.query);
    for (column, name) in columns.iter_mut().zip(&cte.columns) {
        column.name = name.clone();
    }
    columns
}
