//! Makes units and special joins of a FROM clause (initsplan.c: deconstruct_jointree,
//! make_outerjoininfo).
//!
//! The least sides of a special join are decided when it is met, innermost first. The special joins
//! within it are known then.

use super::{Graph, Member, Set, SpecialJoin};
use crate::expr::Expr;
use crate::planner::join::{FromContext, item_rtes};
use crate::planner::join_clause::{Clause, entries_rejecting_null};
use crate::planner::{Planner, RteSet, conjuncts, rtes_of};
use crate::query::{FromItem, JoinKind};
use hashbrown::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// At most this many units are joined in an order of their own.
const UNITS_MAX: usize = 120;

/// A part of the FROM clause on the way into the graph.
pub(super) struct Part {
    member: Member,
    pub(super) units: Set,
    /// Units that inner joins within it join.
    inner: Set,
    pub(super) specials: Range<usize>,
}

/// Builds a [`Graph`].
pub(in crate::planner) struct GraphBuilder<'b, 'a> {
    pub(super) planner: &'b Planner<'a>,
    pub(super) from: &'b FromContext<'b>,
    pub(super) graph: Graph,
    /// The scope in which equalities hold together: the nullable side, or the side of a semi join,
    /// that they are in.
    pub(super) scope: usize,
    scopes: usize,
    pub(super) equalities: Vec<(usize, Expr)>,
    /// Conditions on items that are joined later: LATERAL items.
    pub(super) later: Vec<Expr>,
    pub(super) units_of_entries: HashMap<usize, usize>,
}

impl<'b, 'a> GraphBuilder<'b, 'a> {
    pub(in crate::planner) fn new(planner: &'b Planner<'a>, from: &'b FromContext<'b>) -> Self {
        let (graph, equalities, later, units_of_entries) = Default::default();
        let (scope, scopes) = (0, 0);
        GraphBuilder { planner, from, graph, scope, scopes, equalities, later, units_of_entries }
    }

    /// The graph of a list of items under a pool of conditions. Conditions that name other entries
    /// besides, or none, are left in the pool.
    pub(in crate::planner) fn build(
        mut self,
        items: Vec<FromItem>,
        pool: &mut Vec<Expr>,
    ) -> (Graph, Member) {
        let mut whole =
            Part { member: Member::List(Vec::new()), units: 0, inner: 0, specials: 0..0 };
        let mut items = items;
        while items.len() > UNITS_MAX {
            let rest = items.split_off(UNITS_MAX);
            let first = items.drain(..).reduce(|left, right| FromItem::Join {
                kind: JoinKind::Inner,
                left: Box::new(left),
                right: Box::new(right),
                on: None,
                using: Vec::new(),
                entry: None,
            });
            items.extend(first);
            items.extend(rest);
        }
        let mut spare = UNITS_MAX - items.len();
        let mut remaining = items.len();
        for item in items {
            remaining -= 1;
            let part = self.part(item, &mut spare);
            let limit = self.planner.ctx.settings.from_collapse_limit;
            whole = self.beside(whole, part, limit.saturating_sub(remaining), true);
        }
        let decided = |expr: &mut Expr| !rtes_of(expr).is_empty();
        let conditions: Vec<Expr> = pool.extract_if(.., decided).collect();
        self.add_conditions(conditions, &whole);
        pool.append(&mut self.later);
        self.add_classes();
        self.add_edges(whole.units);
        (self.graph, whole.member)
    }

    /// Splits an item into units. It may make `spare` units more than one.
    fn part(&mut self, item: FromItem, spare: &mut usize) -> Part {
        match item {
            FromItem::Join { kind, left, right, on, using, entry } => {
                let is_whole = kind == JoinKind::Full
                    || *spare == 0
                    || kind != JoinKind::Inner && self.has_references(&left, &right, &on);
                if is_whole {
                    return self.unit(FromItem::Join { kind, left, right, on, using, entry });
                }
                *spare -= 1;
                let mut conditions = Vec::new();
                on.into_iter().for_each(|on| conjuncts(on, &mut conditions));
                match kind {
                    JoinKind::Inner => self.inner(*left, *right, conditions, spare),
                    JoinKind::Right => {
                        self.special(JoinKind::Left, (*right, *left), conditions, spare)
                    }
                    kind => self.special(kind, (*left, *right), conditions, spare),
                }
            }
            entry => self.unit(entry),
        }
    }

    /// Whether an item within refers to one beside it.
    fn has_references(&self, left: &FromItem, right: &FromItem, on: &Option<Expr>) -> bool {
        let inside = item_rtes(left).union(&item_rtes(right));
        let refers = |rte: usize| self.from.lateral.contains_key(&rte);
        inside.iter().any(refers)
            || self.from.refers_outside(left)
            || self.from.refers_outside(right)
            || on.as_ref().is_some_and(|on| !rtes_of(on).is_subset(&inside))
    }

    fn unit(&mut self, item: FromItem) -> Part {
        let specials = self.graph.specials.len();
        if self.from.refers_outside(&item) {
            self.graph.lateral.push(item);
            let member = Member::List(Vec::new());
            return Part { member, units: 0, inner: 0, specials: specials..specials };
        }
        let at = self.graph.units.len();
        for rte in item_rtes(&item).iter() {
            self.units_of_entries.insert(rte, at);
        }
        self.graph.units.push(item);
        let member = Member::Unit(at);
        Part { member, units: 1 << at, inner: 0, specials: specials..specials }
    }

    /// Two parts that inner joins may mix, in one list if that is no longer than `limit`.
    fn beside(&mut self, left: Part, right: Part, limit: usize, is_list: bool) -> Part {
        let length = |part: &Part| match &part.member {
            Member::Unit(_) => 1,
            Member::List(members) => members.len(),
        };
        let fits = length(&left) + length(&right) <= limit || is_list && length(&right) <= 1;
        let into = |member: Member, list: &mut Vec<Member>, is_open: bool| match member {
            Member::List(members) if is_open => list.extend(members),
            member => list.push(member),
        };
        let mut members = Vec::new();
        into(left.member, &mut members, fits || is_list);
        into(right.member, &mut members, fits);
        let units = left.units | right.units;
        let specials = left.specials.start.min(right.specials.start)..self.graph.specials.len();
        Part { member: Member::List(members), units, inner: units, specials }
    }

    fn inner(
        &mut self,
        left: FromItem,
        right: FromItem,
        conditions: Vec<Expr>,
        spare: &mut usize,
    ) -> Part {
        let (left, right) = self.sides(left, right, spare, None);
        let limit = self.planner.ctx.settings.join_collapse_limit;
        let part = self.beside(left, right, limit, false);
        self.add_conditions(conditions, &part);
        part
    }

    /// Both sides, the right one perhaps in a scope of its own.
    fn sides(
        &mut self,
        left: FromItem,
        right: FromItem,
        spare: &mut usize,
        right_scope: Option<usize>,
    ) -> (Part, Part) {
        let left = self.part(left, spare);
        let scope = right_scope.unwrap_or(self.scope);
        let before = std::mem::replace(&mut self.scope, scope);
        let right = self.part(right, spare);
        self.scope = before;
        (left, right)
    }

    fn special(
        &mut self,
        kind: JoinKind,
        (left, right): (FromItem, FromItem),
        mut on: Vec<Expr>,
        spare: &mut usize,
    ) -> Part {
        let right_rtes = item_rtes(&right);
        self.scopes += 1;
        let scope = self.scopes;
        let (left, right) = self.sides(left, right, spare, Some(scope));
        let specials = left.specials.start.min(right.specials.start)..self.graph.specials.len();
        let mut clause_units = 0;
        let mut strict = 0;
        for condition in &on {
            clause_units |= self.units_of(&rtes_of(condition));
            strict |= self.units_of(&entries_rejecting_null(condition));
        }
        // ON's conditions on the right side alone are decided there.
        let decided = |expr: &mut Expr| {
            let rtes = rtes_of(expr);
            !rtes.is_empty() && rtes.is_subset(&right_rtes)
        };
        let of_right: Vec<Expr> = on.extract_if(.., decided).collect();
        let before = std::mem::replace(&mut self.scope, scope);
        self.add_conditions(of_right, &right);
        self.scope = before;
        for condition in &on {
            let units = self.units_of(&rtes_of(condition));
            self.needed(units, &specials);
        }
        let on = on.into_iter().map(|on| self.planner.clause(on)).collect();
        let special = self.least_sides(kind, on, (&left, &right), clause_units, strict);
        self.graph.specials.push(special);
        let limit = self.planner.ctx.settings.join_collapse_limit;
        let inner = left.inner | right.inner;
        let part = self.beside(left, right, limit, false);
        Part { inner, ..part }
    }

    /// The units that each side of a special join must have at least (make_outerjoininfo).
    fn least_sides(
        &self,
        kind: JoinKind,
        on: Rc<[Rc<Clause>]>,
        (left_part, right_part): (&Part, &Part),
        clause_units: Set,
        strict: Set,
    ) -> SpecialJoin {
        let (left, right) = (left_part.units, right_part.units);
        let mut least_left = clause_units & left;
        let mut least_right = (clause_units | right_part.inner | left_part.inner) & right;
        let keeps_order = |kind| matches!(kind, JoinKind::Semi | JoinKind::Anti);
        for other in &self.graph.specials {
            let is_mixed = clause_units & other.right != 0;
            if left & other.right != 0
                && is_mixed
                && (keeps_order(kind) || strict & other.least_right == 0)
            {
                least_left |= other.left | other.right;
            }
            if right & other.right != 0
                && (is_mixed
                    || clause_units & other.least_left == 0
                    || keeps_order(kind)
                    || keeps_order(other.kind)
                    || !other.is_left_strict
                    || other.stays_below)
            {
                least_right |= other.left | other.right;
            }
        }
        if least_left == 0 {
            least_left = left;
        }
        if least_right == 0 {
            least_right = right;
        }
        let is_left_strict = strict & left != 0;
        let stays_below = false;
        SpecialJoin { kind, on, left, right, least_left, least_right, is_left_strict, stays_below }
    }

    pub(super) fn units_of(&self, rtes: &RteSet) -> Set {
        let units = rtes.iter().filter_map(|rte| self.units_of_entries.get(&rte));
        units.fold(0, |all, at| all | 1 << at)
    }
}
