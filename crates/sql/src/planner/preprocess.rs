//! A query's expressions before the query is planned (preprocess_expression in planner.c, in the
//! order of subquery_planner): each is asked whether its constants may fail, then the sub-selects
//! in it are planned. So the statement's list of what may fail is in the order in which PostgreSQL
//! comes to it.

use super::Planner;
use super::subselect::{contains_sublink, replace_keys};
use crate::expr::{Expr, TypeRef};
use crate::query::{FromItem, Query, RteKind};
use crate::walk;
use steppe_types::Result;

impl Planner<'_> {
    /// Lists the expressions that may fail, and plans every sub-select in a query's expressions,
    /// in place.
    pub(crate) fn preprocess(&mut self, query: &mut Query) -> Result<()> {
        self.preprocess_keys(query)?;
        for_each_in_order(query, &mut |root| self.preprocess_expr(root))
    }

    /// A key of GROUP BY stays one wherever it occurs.
    fn preprocess_keys(&mut self, query: &mut Query) -> Result<()> {
        let mut keys = Vec::new();
        for key in &mut query.group_by {
            if contains_sublink(key) {
                let written = key.clone();
                self.preprocess_expr(key)?;
                keys.push((written, key.clone()));
            }
        }
        if !keys.is_empty() {
            walk::for_each_root(query, &mut |root| replace_keys(root, &keys));
        }
        Ok(())
    }

    fn preprocess_expr(&mut self, expr: &mut Expr) -> Result<()> {
        if (self.ctx.may_fail)(expr) {
            self.constants.push(expr.clone());
        }
        let taken = std::mem::replace(expr, Expr::Default(TypeRef::plain(0)));
        *expr = self.replace_sublinks(taken)?;
        Ok(())
    }
}

type Visit<'v> = dyn FnMut(&mut Expr) -> Result<()> + 'v;

/// Visits the expressions of this query level in the order of subquery_planner.
fn for_each_in_order(query: &mut Query, f: &mut Visit<'_>) -> Result<()> {
    for rte in &mut query.rtes {
        if let RteKind::Function { calls, .. } = &mut rte.kind {
            calls.iter_mut().try_for_each(|(call, _)| f(call))?;
        }
    }
    query.targets.iter_mut().try_for_each(|target| f(&mut target.expr))?;
    for window in &mut query.windows {
        window.partition_by.iter_mut().try_for_each(&mut *f)?;
        window.order_by.iter_mut().try_for_each(|key| f(&mut key.expr))?;
    }
    query.assignments.iter_mut().try_for_each(|(_, value)| f(value))?;
    query.view_checks.iter_mut().try_for_each(|(_, condition)| f(condition))?;
    query.returning.iter_mut().try_for_each(|target| f(&mut target.expr))?;
    query.from.iter_mut().try_for_each(|item| join_conditions(item, f))?;
    query.filter.iter_mut().chain(&mut query.having).try_for_each(&mut *f)?;
    for window in &mut query.windows {
        let frame = &mut window.frame;
        let offsets = frame.start.offset_mut().into_iter().chain(frame.end.offset_mut());
        offsets.into_iter().try_for_each(&mut *f)?;
    }
    query.offset.iter_mut().chain(&mut query.limit).try_for_each(&mut *f)?;
    if let Some((assignments, filter)) = query.on_conflict.as_mut().and_then(|c| c.update.as_mut())
    {
        assignments.iter_mut().try_for_each(|(_, value)| f(value))?;
        filter.iter_mut().try_for_each(&mut *f)?;
    }
    for rte in &mut query.rtes {
        match &mut rte.kind {
            RteKind::Values(rows) => rows.iter_mut().flatten().try_for_each(&mut *f)?,
            RteKind::Join { columns } => columns.iter_mut().try_for_each(&mut *f)?,
            _ => {}
        }
    }
    query.group_by.iter_mut().try_for_each(f)
}

fn join_conditions(item: &mut FromItem, f: &mut Visit<'_>) -> Result<()> {
    if let FromItem::Join { left, right, on, .. } = item {
        join_conditions(left, f)?;
        join_conditions(right, f)?;
        on.iter_mut().try_for_each(f)?;
    }
    Ok(())
}
