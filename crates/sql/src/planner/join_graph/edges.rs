//! The edges between sets of units, along which the search for an order of joins proceeds
//! (joinrels.c: have_join_order_restriction, has_legal_joinclause).
//!
//! An edge is a pair of sets that a special join or a condition brings together. Unconnected parts
//! of a set get an edge of their own, so that each set that a special join needs whole, and the
//! whole FROM clause, can be reached.

use super::{Condition, GraphBuilder, Set};
use crate::expr::Expr;
use crate::planner::rtes_of;
use crate::query::JoinKind;

impl GraphBuilder<'_, '_> {
    /// Adds the edges between sets, and the edges that make these sets reachable.
    pub(super) fn add_edges(&mut self, all: Set) {
        let mut edges = Vec::new();
        for special in &self.graph.specials {
            edges.push((special.least_left, special.least_right));
        }
        for condition in self.graph.conditions.iter().filter(|c| c.needs.count_ones() > 1) {
            self.connect(condition, &mut edges);
        }
        let mut sides: Vec<Set> = edges.iter().flat_map(|(a, b)| [*a, *b]).collect();
        sides.retain(|side| side.count_ones() > 1);
        sides.push(all);
        sides.sort_by_key(|side| side.count_ones());
        for side in sides {
            link(side, &mut edges);
        }
        self.graph.edges = edges;
    }

    fn connect(&self, condition: &Condition, edges: &mut Vec<(Set, Set)>) {
        let specials = &self.graph.specials;
        if let Some(equality) = &condition.clause.equality {
            let closed = |expr: &Expr| {
                let units = self.units_of(&rtes_of(expr));
                let padding = specials.iter().filter(|s| s.kind == JoinKind::Left);
                let padding = padding.filter(|s| s.least_right & units != 0);
                let needed = padding.fold(units, |all, s| all | s.least_left | s.least_right);
                needed & condition.needs
            };
            let (left, right) = (closed(&equality.left), closed(&equality.right));
            if left & right == 0 {
                edges.push((left, right));
            }
            return;
        }
        let units = self.units_of(&condition.clause.rtes);
        for unit in (0..self.graph.units.len()).filter(|unit| units >> unit & 1 == 1) {
            let (one, rest) = (1 << unit, condition.needs & !(1 << unit));
            if rest != 0 && (units.count_ones() > 2 || one < rest) {
                edges.push((one, rest));
            }
        }
    }
}

/// Adds edges until those within `side` connect it.
fn link(side: Set, edges: &mut Vec<(Set, Set)>) {
    let mut reached = side & side.wrapping_neg();
    loop {
        let before = reached;
        for (a, b) in edges.iter() {
            let both = a | b;
            if both & !side == 0 && (a & !reached == 0 || b & !reached == 0) {
                reached |= both;
            }
        }
        if reached == before {
            let rest = side & !reached;
            if rest == 0 {
                return;
            }
            let next = rest & rest.wrapping_neg();
            edges.push((reached & reached.wrapping_neg(), next));
            reached |= next;
        }
    }
}
