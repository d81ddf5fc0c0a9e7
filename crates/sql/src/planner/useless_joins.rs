//! Joins that neither add rows nor drop any, and semi joins that are plain ones (analyzejoins.c).
//!
//! ```text
//!   SELECT t.* FROM t LEFT JOIN u ON u.id = t.x      u.id is unique: each row of t comes out once,
//!                                                    with a match or without. u is not read.
//!   … WHERE t.x IN (SELECT id FROM u)                u.id is unique: a plain join, which takes
//!                                                    part in the order of joins.
//! ```
//!
//! A table is unique by columns if it has an index without holes on them that is checked row by row
//! (no DEFERRABLE one). A sub-select is unique by them if it is distinct or grouped by them.

use super::index::same_ordering;
use super::{Planner, conjuncts, is_volatile, returns_set, rtes_of, strip};
use crate::expr::{CallSyntax, Expr};
use crate::plan::RelationLock;
use crate::query::{Distinct, FromItem, JoinKind, Query, Rte, RteKind};
use crate::walk;
use hashbrown::{HashMap, HashSet};
use steppe_catalog::builtin::Strategy;
use steppe_catalog::{RelKind, Relation};

/// The number of references to each entry in a query.
type Uses = HashMap<usize, usize>;

impl Planner<'_> {
    /// Removes the joins that have no effect, and makes plain joins of semi joins.
    pub(super) fn remove_useless_joins(&mut self, query: &mut Query) {
        if !query.from.iter().any(has_candidate) {
            return;
        }
        let mut uses = uses_of(query);
        let mut from = std::mem::take(&mut query.from);
        from.iter_mut().for_each(|item| self.remove_from(item, &query.rtes, &mut uses));
        query.from = from;
    }

    fn remove_from(&mut self, item: &mut FromItem, rtes: &[Rte], uses: &mut Uses) {
        let FromItem::Join { kind, left, right, on, .. } = item else { return };
        match (*kind, &**right) {
            (JoinKind::Left, FromItem::Rte(rte)) => {
                let own = on.as_ref().map_or(0, |on| uses_in(on, *rte));
                let is_used = uses.get(rte).is_some_and(|all| *all > own);
                if !is_used && self.is_unique_by(*rte, on.as_ref(), rtes) {
                    self.forget(*rte, on.as_ref(), rtes, uses);
                    let left = std::mem::replace(&mut **left, FromItem::Rte(*rte));
                    *item = left;
                    return self.remove_from(item, rtes, uses);
                }
            }
            (JoinKind::Semi, FromItem::Rte(rte))
                if matches!(rtes[*rte].kind, RteKind::Relation(_))
                    && self.is_unique_by(*rte, on.as_ref(), rtes) =>
            {
                *kind = JoinKind::Inner;
            }
            _ => {}
        }
        self.remove_from(left, rtes, uses);
        self.remove_from(right, rtes, uses);
    }

    /// An entry that is not read is locked nevertheless, as where it is.
    fn forget(&mut self, rte: usize, on: Option<&Expr>, rtes: &[Rte], uses: &mut Uses) {
        if let Some(on) = on {
            count_uses(on, 0, uses, &|count| *count -= 1);
        }
        if let RteKind::Relation(relation) = &rtes[rte].kind
            && relation.kind != RelKind::Virtual
        {
            self.use_relation(relation.oid, RelationLock::AccessShare);
        }
    }

    /// Whether an entry has at most one row for each row of the other side.
    fn is_unique_by(&self, rte: usize, on: Option<&Expr>, rtes: &[Rte]) -> bool {
        let mut conditions = Vec::new();
        on.into_iter().for_each(|on| conjuncts(on.clone(), &mut conditions));
        let columns: HashSet<usize> =
            conditions.iter().filter_map(|condition| equated(condition, rte)).collect();
        match &rtes[rte].kind {
            RteKind::Relation(relation) => self.has_key_in(relation, &rtes[rte], &columns),
            RteKind::Subquery { query, .. } => is_distinct_by(query, &columns),
            _ => false,
        }
    }

    /// Whether an index guarantees that no two rows of a table agree in these columns.
    pub(super) fn has_key_in(
        &self,
        relation: &Relation,
        entry: &Rte,
        columns: &HashSet<usize>,
    ) -> bool {
        if columns.is_empty() || self.is_inherited(entry) {
            return false;
        }
        self.ctx.catalog.indexes_of(relation).any(|index| {
            let Some(info) = &index.index else { return false };
            let in_columns = |attnum: i16| {
                attnum > 0 && columns.contains(&(usize::try_from(attnum - 1).unwrap_or(0)))
            };
            info.is_unique_now()
                && info.predicate.is_none()
                && info.keys.iter().all(|key| in_columns(key.attnum))
                && self.ctx.has_all_versions(index)
                && self.ctx.catalog.is_valid_index(index)
        })
    }
}

fn has_candidate(item: &FromItem) -> bool {
    let FromItem::Join { kind, left, right, .. } = item else { return false };
    matches!(kind, JoinKind::Left | JoinKind::Semi) || has_candidate(left) || has_candidate(right)
}

/// The column of an entry that a condition holds equal to an expression without the entry.
fn equated(condition: &Expr, rte: usize) -> Option<usize> {
    let Expr::Func { syntax: CallSyntax::Operator(op), args, .. } = condition else { return None };
    let [left, right] = args.as_slice() else { return None };
    let is_equality = op.strategy() == Some(Strategy::Equal)
        && same_ordering(op.left, op.right)
        && !is_volatile(condition);
    let column = |expr: &Expr| match strip(expr) {
        Expr::Var { rte: of, column, levels_up: 0, .. } if *of == rte => {
            usize::try_from(*column).ok()
        }
        _ => None,
    };
    let found = match (column(left), column(right)) {
        (Some(column), None) if !rtes_of(right).contains(rte) => column,
        (None, Some(column)) if !rtes_of(left).contains(rte) => column,
        _ => return None,
    };
    is_equality.then_some(found)
}

/// Whether no two rows of a sub-select agree in these of its columns (query_is_distinct_for).
fn is_distinct_by(query: &Query, columns: &HashSet<usize>) -> bool {
    let visible: Vec<&Expr> = query.targets.iter().filter(|t| !t.hidden).map(|t| &t.expr).collect();
    let is_among = |expr: &Expr| {
        columns.iter().any(|column| visible.get(*column).is_some_and(|target| *target == expr))
    };
    if query.targets.iter().any(|target| returns_set(&target.expr)) {
        return false;
    }
    if let Some(operation) = &query.set_operation {
        return !operation.all && (0..operation.types.len()).all(|at| columns.contains(&at));
    }
    let is_distinct = match &query.distinct {
        Distinct::No => false,
        Distinct::All => (0..visible.len()).all(|at| columns.contains(&at)),
        Distinct::On(targets) => targets.iter().all(|at| is_among(&query.targets[*at].expr)),
    };
    is_distinct
        || query.has_aggregates
            && query.grouping_sets.is_none()
            && query.group_by.iter().all(is_among)
}

/// Counts where entries are named, outside the lists of merged columns, which are written out
/// where they are named.
fn uses_of(query: &mut Query) -> Uses {
    let mut uses = Uses::new();
    let mut add = |e: &mut Expr, depth: usize| {
        if let Expr::Var { rte, levels_up, .. } = e
            && *levels_up == depth
        {
            *uses.entry(*rte).or_default() += 1;
        }
    };
    let mut merged = Vec::new();
    for (at, rte) in query.rtes.iter_mut().enumerate() {
        if let RteKind::Join { columns } = &mut rte.kind {
            merged.push((at, std::mem::take(columns)));
        }
    }
    walk::for_each_node(query, 0, &mut add);
    for (at, columns) in merged {
        query.rtes[at].kind = RteKind::Join { columns };
    }
    let locked = query.row_locks.iter().flat_map(|clause| &clause.rtes);
    for rte in locked.chain(&query.result_relation) {
        *uses.entry(*rte).or_default() += 1;
    }
    uses
}

fn uses_in(expr: &Expr, rte: usize) -> usize {
    let mut uses = Uses::new();
    count_uses(expr, 0, &mut uses, &|count| *count += 1);
    uses.get(&rte).copied().unwrap_or(0)
}

fn count_uses(expr: &Expr, depth: usize, uses: &mut Uses, change: &dyn Fn(&mut usize)) {
    walk::visit_levels(expr, depth, &mut |e, depth| {
        if let Expr::Var { rte, levels_up, .. } = e
            && *levels_up == depth
        {
            change(uses.entry(*rte).or_default());
        }
        true
    });
}
