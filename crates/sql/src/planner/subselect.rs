//! Sub-selects in expressions and correlation (subselect.c).
//!
//! A sub-select is planned before the query around it. A column of an outer
//! query inside it becomes a run-time parameter; the outer side lists which of
//! its own columns each parameter takes its value from.

use super::hashed_exists::{exists_as_any, simplify_exists, stop_at_first};
use super::index::same_ordering;
use super::union::without_limit;
use super::{Planner, strip};
use crate::expr::{ExecParamId, Expr, SubLinkKind, SubPlan, TypeRef};
use crate::query::Query;
use crate::walk;
use steppe_types::{Error, Result};

/// Parameters that a sub-query takes from the query around it.
pub(crate) type Correlation = Vec<(ExecParamId, Expr)>;

impl Planner<'_> {
    pub(super) fn replace_sublinks(&mut self, expr: Expr) -> Result<Expr> {
        expr.transform(&mut |e| match e {
            Expr::SubLink { kind, test, query, ty } => self.sub_plan(kind, test, *query, ty),
            other => Ok(other),
        })
    }

    fn sub_plan(
        &mut self,
        kind: SubLinkKind,
        test: Option<Box<Expr>>,
        mut query: Query,
        ty: TypeRef,
    ) -> Result<Expr> {
        let is_exists = kind == SubLinkKind::Exists;
        if is_exists {
            simplify_exists(&mut query);
        }
        let hashable = if is_exists { exists_as_any(&query) } else { None };
        let mut args = Correlation::new();
        self.extract_correlation(&mut query, &|_| true, &mut args);
        // An aggregate of the query around it may have sub-selects of its own.
        for (_, outer) in &mut args {
            if contains_sublink(outer) {
                let taken = std::mem::replace(outer, Expr::Default(TypeRef::plain(0)));
                *outer = self.replace_sublinks(taken)?;
            }
        }
        let width = query.targets.iter().filter(|t| !t.hidden).count();
        let stops_early = is_exists && stop_at_first(&mut query);
        let (plan, constants) = self.with_own_constants(|planner| planner.query(query))?;
        self.subplans.push(if stops_early { without_limit(plan) } else { plan });
        let plan = self.subplans.len() - 1;
        if !constants.is_empty() {
            self.constants.sub_selects.push((plan, constants));
        }
        let columns: Vec<ExecParamId> = match kind {
            SubLinkKind::Any | SubLinkKind::All | SubLinkKind::Row => {
                (0..width).map(|_| self.new_param()).collect()
            }
            _ => Vec::new(),
        };
        let test = match test {
            Some(test) => Some(self.bind_test(*test, &columns)?),
            None => None,
        };
        let hash_keys = match (&test, kind, args.is_empty()) {
            (Some(test), SubLinkKind::Any, true) => self.hash_keys(test, &columns),
            _ => None,
        };
        let hashed = match hashable {
            Some(hashable) => self.hashed_exists(hashable, ty)?,
            None => None,
        };
        let null_is_false = false;
        Ok(Expr::SubPlan(Box::new(SubPlan {
            kind,
            plan,
            args,
            test,
            columns,
            hash_keys,
            null_is_false,
            hashed,
            ty,
        })))
    }

    /// The sub-select's columns in an ANY/ALL comparison become parameters.
    pub(super) fn bind_test(&mut self, test: Expr, columns: &[ExecParamId]) -> Result<Expr> {
        test.transform(&mut |e| match e {
            Expr::SubLinkColumn { index, ty } => columns
                .get(index)
                .map(|id| Expr::ExecParam { id: *id, ty })
                .ok_or_else(|| Error::internal("sub-select has lost a column")),
            other => Ok(other),
        })
    }

    /// `a = p1 AND b = p2 …` with hashable operators, each over types whose equal values have equal
    /// hashes: the left sides (subplan_is_hashable, testexpr_is_hashable).
    pub(super) fn hash_keys(&self, test: &Expr, columns: &[ExecParamId]) -> Option<Vec<Expr>> {
        let clauses: Vec<&Expr> = match test {
            Expr::And(args) => args.iter().collect(),
            one => vec![one],
        };
        if clauses.len() != columns.len() {
            return None;
        }
        let mut keys = Vec::with_capacity(columns.len());
        for (clause, column) in clauses.into_iter().zip(columns) {
            let Expr::Func { args, syntax: crate::expr::CallSyntax::Operator(op), .. } = clause
            else {
                return None;
            };
            let [left, right] = args.as_slice() else { return None };
            let Expr::ExecParam { id, ty } = strip(right) else { return None };
            // Another name of the same bits, as a row type's or an array's, is not the same type.
            let is_same = left.ty().oid == ty.oid && right.ty().oid == ty.oid;
            let hashes_alike = same_ordering(left.ty().oid, ty.oid)
                && same_ordering(right.ty().oid, ty.oid)
                && same_ordering(strip(left).ty().oid, ty.oid);
            let is_hashable = op.can_hash && op.built_in_name() == Some("=");
            if !is_hashable || !(is_same || hashes_alike) || id != column {
                return None;
            }
            keys.push(left.clone());
        }
        Some(keys)
    }

    /// Replaces the columns and the aggregates of the enclosing query inside `query` by
    /// parameters, if they are of the entries `of`.
    pub(crate) fn extract_correlation(
        &mut self,
        query: &mut Query,
        of: &dyn Fn(usize) -> bool,
        found: &mut Correlation,
    ) {
        walk::for_each_node(query, 1, &mut |e, depth| {
            let outer = match e {
                Expr::Aggregate(call) if call.levels_up == depth => {
                    walk::moved_out(e.clone(), depth)
                }
                Expr::Grouping { levels_up, .. } if *levels_up == depth => {
                    walk::moved_out(e.clone(), depth)
                }
                Expr::Var { rte, column, levels_up, ty, at } if *levels_up == depth && of(*rte) => {
                    Expr::Var { rte: *rte, column: *column, levels_up: 0, ty: *ty, at: *at }
                }
                _ => return,
            };
            *e = self.param_for(outer, found);
        });
    }

    /// The parameter that stands for a value of the enclosing query.
    pub(super) fn param_for(&mut self, outer: Expr, found: &mut Correlation) -> Expr {
        let ty = outer.ty();
        if let Some((id, _)) = found.iter().find(|(_, known)| *known == outer) {
            return Expr::ExecParam { id: *id, ty };
        }
        let id = self.new_param();
        found.push((id, outer));
        Expr::ExecParam { id, ty }
    }
}

/// Whether a sub-select occurs that is yet to be planned.
pub(crate) fn contains_sublink(expr: &Expr) -> bool {
    matches!(expr, Expr::SubLink { .. }) || expr.any_child(contains_sublink)
}

/// Replaces keys as they were written by their expressions.
pub(super) fn replace_keys(expr: &mut Expr, keys: &[(Expr, Expr)]) {
    if let Some((_, planned)) = keys.iter().find(|(written, _)| written == expr) {
        *expr = planned.clone();
        return;
    }
    let replaced: std::result::Result<(), std::convert::Infallible> =
        expr.for_each_child_mut(&mut |child| {
            replace_keys(child, keys);
            Ok(())
        });
    match replaced {
        Ok(()) => {}
        Err(never) => match never {},
    }
}
