//! WITH: common table expressions, recursive ones and data-modifying ones included (parse_cte.c).

use super::from::output_columns;
use super::search_cycle::unsettled_search;
use super::select::coerce_output;
use super::typename::format_type_with_typmod;
use super::{Binder, Recursion};
use crate::ast::{self, Location, RangeVar};
use crate::expr::{Expr, TypeRef};
use crate::query::*;
use steppe_types::{Error, Result, SqlState};

impl Binder<'_> {
    /// Binds WITH. Each entry is visible to the following ones. With RECURSIVE, each is visible to
    /// all, and an entry is bound after the entries that it names.
    pub(crate) fn with_clause(&mut self, with: &ast::WithClause) -> Result<()> {
        for (i, cte) in with.ctes.iter().enumerate() {
            if with.ctes[..i].iter().any(|other| other.name == cte.name) {
                return Err(self.error(
                    SqlState::DUPLICATE_ALIAS,
                    format!("WITH query name \"{}\" specified more than once", cte.name),
                    cte.location,
                ));
            }
        }
        let ctes = match with.recursive {
            true => self.in_order(&with.ctes)?,
            false => with.ctes.iter().map(|cte| (cte, false)).collect(),
        };
        for (cte, recursive) in &ctes {
            if *recursive {
                self.check_form_of_recursion(cte)?;
            }
        }
        for (i, (cte, recursive)) in ctes.iter().enumerate() {
            if !with.recursive {
                let later = ctes[i..].iter().map(|(later, _)| later.name.clone());
                self.scope().later_queries = later.collect();
            }
            self.with_query(cte, *recursive)?;
        }
        self.scope().later_queries.clear();
        Ok(())
    }

    fn with_query(&mut self, cte: &ast::CommonTableExpr, recursive: bool) -> Result<()> {
        let cycle = cte.cycle.as_deref().map(|cycle| self.cycle_marks(cycle)).transpose()?;
        match (&*cte.query, recursive) {
            (ast::Statement::Select(select), true) => self.recursive_cte(cte, select, cycle)?,
            (statement, _) => {
                let mut query = match statement {
                    ast::Statement::Select(select) => self.select(select)?,
                    modifying => self.modifying_cte(modifying, cte)?,
                };
                self.settle_unknown_targets(&mut query)?;
                self.check_cte_columns(&query, cte)?;
                self.push_cte(cte, query, None);
            }
        }
        self.settle_search_and_cycle(cte, recursive)
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

    /// A WITH query of this level. `recursion` has the columns that SEARCH and CYCLE add to a
    /// recursive one.
    fn push_cte(
        &mut self,
        cte: &ast::CommonTableExpr,
        query: Query,
        recursion: Option<(Option<CteSearch>, Option<Box<CteCycle>>)>,
    ) {
        let recursive = recursion.is_some();
        let (search, cycle) = recursion.unwrap_or_default();
        self.scope().ctes.push(Cte {
            name: cte.name.as_str().into(),
            columns: cte.columns.iter().map(|name| name.as_str().into()).collect(),
            query: Box::new(query),
            recursive,
            materialized: cte.materialized,
            references: 0,
            search,
            cycle,
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

    /// `non-recursive UNION [ALL] recursive`.
    fn recursive_cte(
        &mut self,
        cte: &ast::CommonTableExpr,
        select: &ast::SelectStmt,
        cycle: Option<CteCycle>,
    ) -> Result<()> {
        let ast::SelectBody::SetOp(operation) = &select.body else {
            return Err(Error::internal("a recursive query is no UNION"));
        };
        // Both sides sit one level below the query that holds the operation.
        self.push_scope();
        let left = self.non_recursive_term(cte, select, operation);
        let union = self.pop_scope();
        let left = left?;
        let index = self.scope().ctes.len();
        let search = cte.search.as_ref().map(unsettled_search);
        self.push_cte(cte, left.clone(), Some((search, cycle.map(Box::new))));
        self.recursions.push(Recursion { entry: (self.scopes.len() - 1, index), within: None });
        self.scopes.push(union);
        let right = self.select(&operation.right);
        let union = self.pop_scope();
        self.recursions.pop();
        let entry = self.scope().ctes.remove(index);
        let mut right = right?;
        if entry.references == 0 {
            return Err(Error::internal("missing recursive reference"));
        }
        let types = self.recursive_columns(&left, &mut right, cte)?;
        let mut query = Query::new(Command::Select);
        query.ctes = union.ctes;
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
        Ok(())
    }

    fn non_recursive_term(
        &mut self,
        cte: &ast::CommonTableExpr,
        select: &ast::SelectStmt,
        operation: &ast::SetOperation,
    ) -> Result<Query> {
        if let Some(with) = &select.with {
            self.with_clause(with)?;
        }
        let mut left = self.select(&operation.left)?;
        self.settle_unknown_targets(&mut left)?;
        self.check_cte_columns(&left, cte)?;
        Ok(left)
    }

    /// The queries in an order in which none names a later one, and whether each names itself
    /// (makeDependencyGraph). 0A000 where there is none.
    fn in_order<'w>(
        &self,
        ctes: &'w [ast::CommonTableExpr],
    ) -> Result<Vec<(&'w ast::CommonTableExpr, bool)>> {
        let mut items = Vec::with_capacity(ctes.len());
        for cte in ctes {
            let (mut recursive, mut needs) = (false, Vec::new());
            ast::each_free_table(&cte.query, &mut |table| match table.name == cte.name {
                true => recursive = true,
                false => needs.push(table.name.as_str()),
            });
            needs.retain(|name| ctes.iter().any(|other| other.name == *name));
            items.push((cte, recursive, needs));
        }
        for i in 0..items.len() {
            let ready = items[i..].iter().position(|(_, _, needs)| needs.is_empty());
            let Some(ready) = ready else {
                return Err(self.error(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "mutual recursion between WITH items is not implemented",
                    items[i].0.location,
                ));
            };
            items.swap(i, i + ready);
            let (bound, rest) = items[i..].split_at_mut(1);
            rest.iter_mut().for_each(|item| item.2.retain(|name| *name != bound[0].0.name));
        }
        Ok(items.into_iter().map(|(cte, recursive, _)| (cte, recursive)).collect())
    }

    /// Checks the form of a recursive query before it is bound (checkWellFormedRecursion).
    fn check_form_of_recursion(&self, cte: &ast::CommonTableExpr) -> Result<()> {
        let name = &cte.name;
        let refuse = |message: String, location| {
            Err(self.error(SqlState::INVALID_RECURSION, message, location))
        };
        let ast::Statement::Select(select) = &*cte.query else {
            let message =
                format!("recursive query \"{name}\" must not contain data-modifying statements");
            return refuse(message, cte.location);
        };
        let operation = match &select.body {
            ast::SelectBody::SetOp(operation) if operation.op == ast::SetOperator::Union => {
                operation
            }
            _ => {
                let message = format!(
                    "recursive query \"{name}\" does not have the form non-recursive-term \
                     UNION [ALL] recursive-term"
                );
                return refuse(message, cte.location);
            }
        };
        let mut own = None;
        let mut note = |table: &RangeVar| {
            if table.name == *name {
                own.get_or_insert(table.location);
            }
        };
        for inner in select.with.iter().flat_map(|with| &with.ctes) {
            ast::each_free_table(&inner.query, &mut note);
        }
        let refused =
            |part| format!("recursive reference to query \"{name}\" must not appear within {part}");
        if let Some(location) = own {
            return refuse(refused("a subquery"), location);
        }
        self.refuse_clauses_of_recursion(select)?;
        let mut own = None;
        ast::each_free_table_of_select(&operation.left, &mut |table| {
            if table.name == *name {
                own.get_or_insert(table.location);
            }
        });
        match own {
            Some(location) => refuse(refused("its non-recursive term"), location),
            None => Ok(()),
        }
    }

    /// Refuses the clauses that need all rows, of which there is no end yet
    /// (checkWellFormedRecursion).
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
                        // The place where the overall type was decided.
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
        Ok(None)
    }
}

/// The columns of a WITH query as references see them.
pub(super) fn cte_columns(cte: &Cte) -> Vec<RteColumn> {
    let mut columns = output_columns(&cte.query);
    for (column, name) in columns.iter_mut().zip(&cte.columns) {
        column.name = name.clone();
    }
    columns.extend(cte.added_columns());
    columns
}
