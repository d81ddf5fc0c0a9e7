//! GROUP BY with GROUPING SETS, ROLLUP and CUBE, and GROUPING
//! (parse_clause.c's transformGroupClause, parse_agg.c's expand_grouping_sets).
//!
//! The clause's items multiply: every choice of one set from each item is a set of
//! the query. A plain expression is an item of one set.

use super::{Binder, ExprPlace};
use crate::ast::{self, ExprKind, Location};
use crate::expr::{Expr, Place};
use crate::query::*;
use crate::walk::{moved_out, visit_levels};
use steppe_types::{Error, Result, SqlState};

const SETS_MAX: usize = 4096;
const CUBE_ELEMENTS_MAX: usize = 12;
const GROUPING_ARGS_MAX: usize = 31;

/// Positions of keys.
type Set = Vec<usize>;

impl Binder<'_> {
    /// GROUP BY: keys, and sets where they are not simply all of them.
    pub(crate) fn group_by(&mut self, core: &ast::SelectCore, query: &mut Query) -> Result<()> {
        let plain = |i: &ast::GroupItem| matches!(i, ast::GroupItem::Expr(_));
        let mut keys: Vec<Expr> = Vec::new();
        let mut sets: Vec<Set> = vec![Vec::new()];
        for item in &core.group_by {
            let choices = self.group_item(item, &mut query.targets, &mut keys)?;
            if sets.len().saturating_mul(choices.len()) > SETS_MAX {
                return Err(Error::new(
                    SqlState::STATEMENT_TOO_COMPLEX,
                    "too many grouping sets present (maximum 4096)",
                ));
            }
            let both = |set: &Set| choices.iter().map(|c| union(set, c)).collect::<Vec<_>>();
            sets = sets.iter().flat_map(both).collect();
        }
        if core.group_distinct {
            let mut seen: Vec<Set> = Vec::new();
            sets.retain(|set| {
                let mut sorted = set.clone();
                sorted.sort_unstable();
                let new = !seen.contains(&sorted);
                seen.push(sorted);
                new
            });
        }
        query.group_by = keys;
        let every_key = |s: &Set| s.len() == query.group_by.len();
        let trivial = core.group_by.iter().all(plain) || matches!(&sets[..], [s] if every_key(s));
        query.grouping_sets = (!trivial).then_some(sets);
        Ok(())
    }

    /// The sets that one item of GROUP BY or GROUPING SETS stands for.
    fn group_item(
        &mut self,
        item: &ast::GroupItem,
        targets: &mut Vec<Target>,
        keys: &mut Vec<Expr>,
    ) -> Result<Vec<Set>> {
        match item {
            ast::GroupItem::Expr(expr) => Ok(vec![self.group_expr(expr, targets, keys)?]),
            ast::GroupItem::Empty => Ok(vec![Vec::new()]),
            ast::GroupItem::Sets(items, _) => {
                let mut sets = Vec::new();
                for item in items {
                    sets.extend(self.group_item(item, targets, keys)?);
                }
                Ok(sets)
            }
            ast::GroupItem::Rollup(items, _) => {
                let parts = self.group_parts(items, targets, keys)?;
                let joined = |n: usize| parts[..n].iter().fold(Set::new(), |s, p| union(&s, p));
                Ok((0..=parts.len()).rev().map(joined).collect())
            }
            ast::GroupItem::Cube(items, location) => {
                if items.len() > CUBE_ELEMENTS_MAX {
                    return Err(self.error(
                        SqlState::TOO_MANY_COLUMNS,
                        format!("CUBE is limited to {CUBE_ELEMENTS_MAX} elements"),
                        *location,
                    ));
                }
                let parts = self.group_parts(items, targets, keys)?;
                let chosen = |bits: u32| {
                    let is_in = |(i, _): &(usize, &Set)| bits & (1 << i) != 0;
                    let parts = parts.iter().enumerate().filter(is_in);
                    parts.fold(Set::new(), |s, (_, p)| union(&s, p))
                };
                Ok((0..1u32 << parts.len()).map(chosen).collect())
            }
        }
    }

    /// The elements of ROLLUP and CUBE: expressions, or lists of them in parentheses.
    fn group_parts(
        &mut self,
        items: &[ast::GroupItem],
        targets: &mut Vec<Target>,
        keys: &mut Vec<Expr>,
    ) -> Result<Vec<Set>> {
        let mut parts = Vec::with_capacity(items.len());
        for item in items {
            parts.extend(self.group_item(item, targets, keys)?);
        }
        Ok(parts)
    }

    /// `a`, or `(a, b)`, which is `a, b`.
    fn group_expr(
        &mut self,
        expr: &ast::Expr,
        targets: &mut Vec<Target>,
        keys: &mut Vec<Expr>,
    ) -> Result<Set> {
        let parts = match &expr.kind {
            ExprKind::Row { fields, explicit: false } => fields.iter().collect(),
            _ => vec![expr],
        };
        let mut set = Set::with_capacity(parts.len());
        for part in parts {
            let visible = targets.len();
            let target = self.sort_target(part, targets, "GROUP BY", ExprPlace::GroupBy, false)?;
            self.settle_sort_type(&mut targets[target])?;
            let key = targets[target].expr.clone();
            targets.truncate(visible);
            let position = match keys.iter().position(|k| *k == key) {
                Some(position) => position,
                None => {
                    keys.push(key);
                    keys.len() - 1
                }
            };
            set = union(&set, &[position]);
        }
        Ok(set)
    }

    /// `GROUPING(…)`. Whether GROUP BY has the arguments is checked when that is bound.
    pub(crate) fn grouping_call(
        &mut self,
        args: &[ast::Expr],
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        if args.len() > GROUPING_ARGS_MAX {
            return Err(self.error(
                SqlState::TOO_MANY_ARGUMENTS,
                "GROUPING must have fewer than 32 arguments",
                location,
            ));
        }
        let bound = args.iter().map(|arg| self.expr(arg, place)).collect::<Result<Vec<_>>>()?;
        let levels_up = bound.iter().filter_map(level_of).min().unwrap_or(0);
        self.check_grouping_place(levels_up, place, location)?;
        let index = self.scopes.len() - 1 - levels_up;
        let scope = &mut self.scopes[index];
        scope.has_aggregates = true;
        for (expr, arg) in bound.iter().zip(args) {
            scope.grouping_args.push((moved_out(expr.clone(), levels_up), arg.location));
        }
        Ok(Expr::Grouping { args: bound, levels_up, at: Place(location) })
    }

    /// GROUPING stands where its query level allows aggregates.
    fn check_grouping_place(
        &self,
        level: usize,
        place: ExprPlace,
        location: Location,
    ) -> Result<()> {
        let place = match level {
            0 => place,
            _ => match self.scopes[self.scopes.len() - 1 - level].sub_select_place {
                Some(place) => place,
                None => ExprPlace::FromFunction,
            },
        };
        let allowed = matches!(
            place,
            ExprPlace::Targets
                | ExprPlace::Having
                | ExprPlace::OrderBy
                | ExprPlace::DistinctOn
                | ExprPlace::WindowPartition
                | ExprPlace::WindowOrder
        );
        if !allowed {
            let place = match place {
                ExprPlace::JoinOn => "JOIN conditions",
                ExprPlace::FromFunction => "functions in FROM",
                ExprPlace::Check => "check constraints",
                ExprPlace::ColumnDefault
                | ExprPlace::FunctionDefault
                | ExprPlace::GeneratedColumn
                | ExprPlace::TriggerWhen => place.phrase(),
                other => other.name(),
            };
            return Err(self.error(
                SqlState::GROUPING_ERROR,
                format!("grouping operations are not allowed in {place}"),
                location,
            ));
        }
        Ok(())
    }

    /// The arguments of GROUPING must be keys.
    pub(crate) fn check_grouping_args(&mut self, query: &Query) -> Result<()> {
        for (arg, location) in std::mem::take(&mut self.scope().grouping_args) {
            if !query.group_by.contains(&arg) {
                return Err(self.error(
                    SqlState::GROUPING_ERROR,
                    "arguments to GROUPING must be grouping expressions of the associated query \
                     level",
                    location,
                ));
            }
        }
        Ok(())
    }
}

fn union(a: &[usize], b: &[usize]) -> Set {
    let mut out = a.to_vec();
    for key in b {
        if !out.contains(key) {
            out.push(*key);
        }
    }
    out
}

/// The number of levels out of the innermost column of an expression.
fn level_of(expr: &Expr) -> Option<usize> {
    let mut level = None;
    visit_levels(expr, 0, &mut |node, depth| {
        if let Expr::Var { levels_up, .. } = node
            && let Some(out) = levels_up.checked_sub(depth)
        {
            level = Some(level.map_or(out, |least: usize| least.min(out)));
        }
        true
    });
    level
}
