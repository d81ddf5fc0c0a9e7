//! Conditions of a graph: the units that each needs to be decided, and classes of equal columns
//! (distribute_qual_to_rels in initsplan.c, equivclass.c).

use super::{Condition, GraphBuilder, Part, Set};
use crate::expr::Expr;
use crate::planner::equivalence::{equal, equality};
use crate::planner::index::same_ordering;
use crate::planner::join_clause::Clause;
use crate::query::JoinKind;
use std::ops::Range;
use steppe_types::Oid;

/// A class with more members keeps its conditions.
const CLASS_MAX: usize = 16;

impl GraphBuilder<'_, '_> {
    /// Conditions that hold where a part is whole.
    pub(super) fn add_conditions(&mut self, conditions: Vec<Expr>, part: &Part) {
        for expr in conditions {
            let clause = self.planner.clause(expr);
            let is_here = |rte: usize| {
                self.units_of_entries.get(&rte).is_some_and(|at| part.units >> at & 1 == 1)
            };
            if part.units == 0 || !clause.rtes.iter().all(is_here) {
                self.later.push(clause.expr.clone());
                continue;
            }
            let units = self.units_of(&clause.rtes);
            let needs = match units {
                0 => part.units,
                units => self.needed(units, &part.specials),
            };
            if needs == units && self.is_of_class(&clause) {
                self.equalities.push((self.scope, clause.expr.clone()));
                continue;
            }
            self.graph.conditions.push(Condition { clause, needs, class: None });
        }
    }

    fn is_of_class(&self, clause: &Clause) -> bool {
        let is_column = |side: &Expr| matches!(side, Expr::Var { levels_up: 0, .. });
        clause.equality.is_some()
            && equality(&clause.expr).is_some_and(|(_, sides)| sides.iter().all(is_column))
    }

    /// The units that a condition over `units` above these special joins needs
    /// (check_outerjoin_delay).
    pub(super) fn needed(&mut self, units: Set, specials: &Range<usize>) -> Set {
        let (mut needs, mut padded) = (units, 0);
        loop {
            let before = needs;
            for special in &self.graph.specials[specials.clone()] {
                if special.kind == JoinKind::Left && needs & special.least_right != 0 {
                    needs |= special.least_left | special.least_right;
                    padded |= special.least_right;
                }
            }
            if needs == before {
                break;
            }
        }
        for special in &mut self.graph.specials[specials.clone()] {
            special.stays_below |= padded & special.least_left != 0;
        }
        needs
    }

    /// Makes a condition of each pair of members of each class.
    pub(super) fn add_classes(&mut self) {
        let mut classes: Vec<Class> = Vec::new();
        for (scope, expr) in std::mem::take(&mut self.equalities) {
            let Some((ordering, sides)) = equality(&expr) else { continue };
            let is_joined = |class: &mut Class| {
                class.scope == scope
                    && same_ordering(class.ordering, ordering)
                    && sides.iter().any(|side| class.members.contains(side))
            };
            let joined: Vec<Class> = classes.extract_if(.., is_joined).collect();
            let (members, sources) = (Vec::new(), Vec::new());
            let mut class = Class { scope, ordering, members, sources };
            for other in joined {
                class.members.extend(other.members);
                class.sources.extend(other.sources);
            }
            for side in sides {
                if !class.members.contains(&side) {
                    class.members.push(side);
                }
            }
            class.sources.push(expr);
            classes.push(class);
        }
        for (at, class) in classes.into_iter().enumerate() {
            let pairs = class.pairs();
            let number = pairs.as_ref().map(|_| at);
            for expr in pairs.unwrap_or(class.sources) {
                let clause = self.planner.clause(expr);
                let needs = self.units_of(&clause.rtes);
                self.graph.conditions.push(Condition { clause, needs, class: number });
            }
        }
    }
}

/// Columns that conditions hold equal.
struct Class {
    scope: usize,
    ordering: Oid,
    members: Vec<Expr>,
    sources: Vec<Expr>,
}

impl Class {
    /// A condition for each two members. The written ones stay as they are. `None` if two of them
    /// have no operator.
    fn pairs(&self) -> Option<Vec<Expr>> {
        if self.members.len() > CLASS_MAX {
            return None;
        }
        let mut pairs = self.sources.clone();
        for (at, a) in self.members.iter().enumerate() {
            for b in &self.members[at + 1..] {
                let is_this = |source: &Expr| {
                    equality(source)
                        .is_some_and(|(_, [x, y])| x == *a && y == *b || x == *b && y == *a)
                };
                if !self.sources.iter().any(is_this) {
                    pairs.push(equal(a, b)?);
                }
            }
        }
        Some(pairs)
    }
}
