//! A query's expressions before the query is planned (preprocess_expression in planner.c), clause
//! by clause in the order of subquery_planner: each expression of a clause is asked whether its
//! constants may fail, then the sub-selects in them are planned. So the statement's list of what
//! may fail is in the order in which PostgreSQL comes to it.

use super::Planner;
use super::subselect::{contains_sublink, replace_keys};
use crate::expr::{Expr, TypeRef};
use crate::query::{FromItem, JoinKind, Query, RteKind, WindowClause};
use crate::walk;
use steppe_types::Result;

/// The expressions that are preprocessed together.
type Clause<'q> = Vec<&'q mut Expr>;

impl Planner<'_> {
    /// Lists the expressions that may fail, and plans every sub-select in a query's expressions,
    /// in place.
    pub(crate) fn preprocess(&mut self, query: &mut Query) -> Result<()> {
        let of_keys = self.preprocess_keys(query)?;
        for clause in clauses(query) {
            self.preprocess_clause(clause)?;
        }
        self.constants.extend(of_keys);
        Ok(())
    }

    /// Plans the sub-selects in GROUP BY's keys: a key stays one wherever it occurs. What may fail
    /// in them has its turn last.
    fn preprocess_keys(&mut self, query: &mut Query) -> Result<Vec<Expr>> {
        let before = self.constants.len();
        let mut keys = Vec::new();
        for key in &mut query.group_by {
            if contains_sublink(key) {
                let written = key.clone();
                self.preprocess_clause(vec![key])?;
                keys.push((written, key.clone()));
            }
        }
        if !keys.is_empty() {
            walk::for_each_root(query, &mut |root| replace_keys(root, &keys));
        }
        Ok(self.constants.split_off(before))
    }

    fn preprocess_clause(&mut self, clause: Clause<'_>) -> Result<()> {
        for expr in &clause {
            if (self.ctx.may_fail)(expr) {
                self.constants.push((**expr).clone());
            }
        }
        for expr in clause {
            let taken = std::mem::replace(expr, Expr::Default(TypeRef::plain(0)));
            *expr = self.replace_sublinks(taken)?;
        }
        Ok(())
    }
}

/// The clauses of this query level in the order of subquery_planner.
fn clauses(query: &mut Query) -> Vec<Clause<'_>> {
    let (mut functions, mut values) = (Vec::new(), Vec::new());
    for rte in &mut query.rtes {
        match &mut rte.kind {
            RteKind::Function { calls, .. } => {
                functions.push(calls.iter_mut().map(|(call, _)| call).collect());
            }
            RteKind::Values(rows) => values.push(rows.iter_mut().flatten().collect()),
            RteKind::Join { columns } => values.push(columns.iter_mut().collect()),
            RteKind::Relation(_) | RteKind::Subquery { .. } | RteKind::Cte { .. } => {}
        }
    }
    let mut targets: Clause<'_> = query.targets.iter_mut().map(|target| &mut target.expr).collect();
    let mut offsets = Vec::new();
    for WindowClause { partition_by, order_by, frame, .. } in &mut query.windows {
        targets.extend(partition_by);
        targets.extend(order_by.iter_mut().map(|key| &mut key.expr));
        let ends = frame.start.offset_mut().into_iter().chain(frame.end.offset_mut());
        offsets.extend(ends.map(|offset| vec![offset]));
    }
    targets.extend(query.assignments.iter_mut().map(|(_, value)| value));
    let mut all = functions;
    all.push(targets);
    all.extend(query.view_checks.iter_mut().map(|(_, condition)| vec![condition]));
    all.push(query.returning.iter_mut().map(|target| &mut target.expr).collect());
    let mut semi_joins = Vec::new();
    query.from.iter_mut().for_each(|item| conditions(item, &mut all, &mut semi_joins));
    all.extend(query.filter.iter_mut().map(|filter| vec![filter]));
    all.extend(semi_joins);
    all.extend(query.having.iter_mut().map(|having| vec![having]));
    all.extend(offsets);
    all.extend(query.offset.iter_mut().chain(&mut query.limit).map(|bound| vec![bound]));
    if let Some((assignments, filter)) = query.on_conflict.as_mut().and_then(|c| c.update.as_mut())
    {
        all.push(assignments.iter_mut().map(|(_, value)| value).collect());
        all.extend(filter.iter_mut().map(|filter| vec![filter]));
    }
    all.extend(values);
    all.push(query.group_by.iter_mut().collect());
    all
}

/// The conditions of joins. What WHERE's sub-selects have become (pull_up_sublinks) joins what
/// WHERE has left.
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
    own.extend(on.iter_mut().map(|on| vec![on]));
}
