//! A query's expressions before the query is planned (preprocess_expression in planner.c), clause
//! by clause in the order of subquery_planner. The sub-selects in a clause are planned. Constants
//! that may fail are noted ([`Constants`](crate::plan::Constants)), so that they can be evaluated
//! in PostgreSQL's order.

use super::subselect::{contains_sublink, replace_keys};
use super::{Planner, rtes_of};
use crate::bind::index::is_mutable;
use crate::expr::{Expr, SubPlanId, TypeRef};
use crate::plan::{Plan, PlannedClause, PlannedLevel};
use crate::query::{FromItem, JoinKind, Query, RteKind, WindowClause};
use crate::walk;
use std::convert::Infallible;
use steppe_types::Result;

/// The expressions that are preprocessed together.
struct Clause<'q> {
    exprs: Vec<&'q mut Expr>,
    is_condition: bool,
}

impl<'q> Clause<'q> {
    fn of(exprs: impl IntoIterator<Item = &'q mut Expr>) -> Clause<'q> {
        Clause { exprs: exprs.into_iter().collect(), is_condition: false }
    }

    fn condition(expr: &'q mut Expr) -> Clause<'q> {
        Clause { exprs: vec![expr], is_condition: true }
    }
}

impl Planner<'_> {
    /// Plans every sub-select in a query's expressions, in place, and notes the expressions that
    /// may fail.
    pub(crate) fn preprocess(&mut self, query: &mut Query) -> Result<()> {
        // What has been planned of this query so far are its WITH queries.
        let level = &mut self.constants.statement;
        level.with = std::mem::take(&mut level.from);
        self.preprocess_keys(query)?;
        for clause in clauses(query) {
            self.preprocess_clause(clause)?;
        }
        if let [FromItem::Rte(rte)] = query.from.as_slice()
            && let RteKind::Subquery { .. } = query.rtes[*rte].kind
        {
            let conditions = query.filter.iter().chain(&query.having);
            self.constants.statement.conditions.extend(conditions.cloned());
        }
        Ok(())
    }

    /// Plans the sub-selects in GROUP BY's keys: a key stays one wherever it occurs.
    fn preprocess_keys(&mut self, query: &mut Query) -> Result<()> {
        let mut keys = Vec::new();
        for key in &mut query.group_by {
            if contains_sublink(key) {
                let written = key.clone();
                self.plan_sublinks(key)?;
                keys.push((written, key.clone()));
            }
        }
        if !keys.is_empty() {
            walk::for_each_root(query, &mut |root| replace_keys(root, &keys));
        }
        Ok(())
    }

    fn preprocess_clause(&mut self, clause: Clause<'_>) -> Result<()> {
        let mut noted = Vec::new();
        for expr in clause.exprs {
            let has_sub_selects = contains_sublink(expr);
            self.plan_sublinks(expr)?;
            if (self.ctx.may_fail)(expr) || self.has_noted_sub_select(expr) {
                noted.push(expr.clone());
            }
            if has_sub_selects {
                decide_known_first(expr);
            }
        }
        if !noted.is_empty() {
            let clause = PlannedClause { exprs: noted, is_condition: clause.is_condition };
            self.constants.statement.clauses.push(clause);
        }
        Ok(())
    }

    fn plan_sublinks(&mut self, expr: &mut Expr) -> Result<()> {
        let taken = std::mem::replace(expr, Expr::Default(TypeRef::plain(0)));
        *expr = self.replace_sublinks(taken)?;
        Ok(())
    }

    fn has_noted_sub_select(&self, expr: &Expr) -> bool {
        let noted = &self.constants.sub_selects;
        let is_noted = |plan: SubPlanId| noted.iter().any(|(of, _)| *of == plan);
        if noted.is_empty() {
            return false;
        }
        matches!(expr, Expr::SubPlan(sub) if is_noted(sub.plan))
            || expr.any_child(|child| self.has_noted_sub_select(child))
    }

    /// Plans a query of this one's FROM or WITH; expressions in it that may fail are noted there.
    pub(crate) fn with_constants_of(
        &mut self,
        plan: impl FnOnce(&mut Self) -> Result<Plan>,
    ) -> Result<Plan> {
        let (plan, constants) = self.with_own_constants(plan)?;
        if !constants.is_empty() {
            self.constants.statement.from.push(constants);
        }
        Ok(plan)
    }

    /// Plans a query, and notes separately the expressions in it that may fail.
    pub(crate) fn with_own_constants(
        &mut self,
        plan: impl FnOnce(&mut Self) -> Result<Plan>,
    ) -> Result<(Plan, PlannedLevel)> {
        let outer = std::mem::take(&mut self.constants.statement);
        let planned = plan(self);
        let own = std::mem::replace(&mut self.constants.statement, outer);
        Ok((planned?, own))
    }
}

/// Sorts the terms of AND and OR: the ones that constants and parameters decide come before
/// sub-selects. PostgreSQL drops the sub-select beside such a constant unplanned, with any error in
/// it. A plan for any parameters must not evaluate it either. Noted constants keep their order.
fn decide_known_first(expr: &mut Expr) {
    if let Expr::And(args) | Expr::Or(args) = expr {
        let (known, rest): (Vec<Expr>, Vec<Expr>) =
            std::mem::take(args).into_iter().partition(is_known);
        args.extend(known.into_iter().chain(rest));
    }
    let visited: std::result::Result<(), Infallible> = expr.for_each_child_mut(&mut |child| {
        decide_known_first(child);
        Ok(())
    });
    match visited {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

/// Whether an expression has only constants and parameters.
fn is_known(expr: &Expr) -> bool {
    !matches!(expr, Expr::SubPlan(_) | Expr::ExecParam { .. })
        && rtes_of(expr).is_empty()
        && !is_mutable(expr)
        && expr.children().into_iter().all(is_known)
}

/// The clauses of this query level in the order of subquery_planner.
fn clauses(query: &mut Query) -> Vec<Clause<'_>> {
    let (mut functions, mut values) = (Vec::new(), Vec::new());
    for rte in &mut query.rtes {
        match &mut rte.kind {
            RteKind::Function { calls, .. } => {
                functions.push(Clause::of(calls.iter_mut().map(|(call, _)| call)));
            }
            RteKind::Values(rows) => values.push(Clause::of(rows.iter_mut().flatten())),
            RteKind::Join { columns } => values.push(Clause::of(columns)),
            RteKind::Relation(_) | RteKind::Subquery { .. } | RteKind::Cte { .. } => {}
        }
    }
    let mut targets = Clause::of(query.targets.iter_mut().map(|target| &mut target.expr));
    let mut offsets = Vec::new();
    for WindowClause { partition_by, order_by, frame, .. } in &mut query.windows {
        targets.exprs.extend(partition_by);
        targets.exprs.extend(order_by.iter_mut().map(|key| &mut key.expr));
        let ends = frame.start.offset_mut().into_iter().chain(frame.end.offset_mut());
        offsets.extend(ends.map(|offset| Clause::of([offset])));
    }
    targets.exprs.extend(query.assignments.iter_mut().map(|(_, value)| value));
    let mut all = functions;
    all.push(targets);
    all.extend(query.view_checks.iter_mut().map(|(_, check)| Clause::condition(check)));
    all.push(Clause::of(query.returning.iter_mut().map(|target| &mut target.expr)));
    let mut semi_joins = Vec::new();
    query.from.iter_mut().for_each(|item| conditions(item, &mut all, &mut semi_joins));
    all.extend(query.filter.iter_mut().map(Clause::condition));
    all.extend(semi_joins);
    all.extend(query.having.iter_mut().map(Clause::condition));
    all.extend(offsets);
    all.extend(query.offset.iter_mut().chain(&mut query.limit).map(|bound| Clause::of([bound])));
    if let Some((assignments, filter)) = query.on_conflict.as_mut().and_then(|c| c.update.as_mut())
    {
        all.push(Clause::of(assignments.iter_mut().map(|(_, value)| value)));
        all.extend(filter.iter_mut().map(Clause::condition));
    }
    all.extend(values);
    all.push(Clause::of(&mut query.group_by));
    all
}

/// The conditions of joins. The conditions of joins that WHERE's sub-selects have become
/// (pull_up_sublinks) follow the rest of WHERE.
fn conditions<'q>(
    item: &'q mut FromItem,
    joins: &mut Vec<Clause<'q>>,
    semi_joins: &mut Vec<Clause<'q>>,
) {
    let FromItem::Join { kind, left, right, on, .. } = item else { return };
    conditions(left, joins, semi_joins);
    let (own, mut within) = match kind {
        JoinKind::Semi | JoinKind::Anti => (semi_joins, Vec::new()),
        _ => (joins, Vec::new()),
    };
    conditions(right, own, &mut within);
    own.append(&mut within);
    own.extend(on.iter_mut().map(Clause::condition));
}
