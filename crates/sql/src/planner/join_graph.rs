//! What may be joined with what (initsplan.c; join_is_legal in joinrels.c).
//!
//! The FROM clause becomes *units*, which are joined in some order, *conditions*, and *special
//! joins* (left, semi and anti joins). FULL joins, and outer ones with LATERAL references inside,
//! are units as wholes.
//!
//! ```text
//!   a JOIN b ON p LEFT JOIN c ON q WHERE r     units a, b, c; conditions p, r;
//!                                              special join {a or b or both} ⟕ {c} on q
//! ```
//!
//! Correctness. An order of joins is one of the query's if
//! 1. each special join is done by exactly one join, of two sets that have the least left and
//!    right sides that it needs, and no other join mixes its right side with the rest, unless
//!    (A ⟕ B) ⟕ C = A ⟕ (B ⟕ C) allows it, whose condition must reject NULLs of B;
//! 2. each condition is decided by exactly one node: the lowest that has its entries and,
//!    where a special join below the condition pads some of them, that join's as well.
//!
//! [`Graph::joined`] answers 1; [`Condition::needs`] is 2.
//!
//! Equalities of plain columns form classes: that `a.x = b.x` and `b.x = c.x` make `a.x = c.x` is
//! said by a condition of its own, so that a and c may be joined first (equivclass.c). As every
//! two members have one, all members within a set are equal, and of several that a join
//! decides one is enough.

use super::equivalence::{equal, equality};
use super::join::{FromContext, item_rtes};
use super::join_clause::{Clause, entries_rejecting_null};
use super::{Planner, RteSet, conjuncts, index::same_ordering, is_volatile, rtes_of};
use crate::expr::Expr;
use crate::query::{FromItem, JoinKind};
use hashbrown::HashMap;
use std::ops::Range;
use std::rc::Rc;
use steppe_types::Oid;

/// A set of units.
pub(super) type Set = u128;

/// No more units than this are joined in an order of their own.
const UNITS_MAX: usize = 120;
/// A class with more members is left as its conditions say.
const CLASS_MAX: usize = 16;

/// A condition of WHERE or of an inner join.
pub(super) struct Condition {
    pub(super) clause: Rc<Clause>,
    /// Without these units it cannot be decided.
    pub(super) needs: Set,
    /// Of these one is enough for a join.
    pub(super) class: Option<usize>,
}

/// Conditions of which a join decides the first, which decides the others as well.
pub(super) struct Alternatives {
    class: Option<usize>,
    pub(super) first: Rc<Clause>,
    pub(super) others: Vec<Rc<Clause>>,
}

impl Alternatives {
    pub(super) fn all(&self) -> impl Iterator<Item = &Rc<Clause>> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

/// A left, semi or anti join.
pub(super) struct SpecialJoin {
    pub(super) kind: JoinKind,
    pub(super) on: Rc<[Rc<Clause>]>,
    /// The sides as they were written.
    left: Set,
    right: Set,
    /// What each side must have at least.
    pub(super) least_left: Set,
    pub(super) least_right: Set,
    /// Its condition rejects NULLs of the left side.
    is_left_strict: bool,
    /// A condition decided above its left side depends on what that pads.
    stays_below: bool,
}

impl SpecialJoin {
    /// Whether a set of units that is joined has this join done.
    fn is_within(&self, set: Set) -> bool {
        (self.least_left | self.least_right) & !set == 0
    }
}

/// What is joined together, in any order that is allowed.
pub(super) enum Member {
    Unit(usize),
    List(Vec<Member>),
}

/// A FROM clause to be put in order.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) units: Vec<FromItem>,
    /// What refers to the units, and is joined after them.
    pub(super) lateral: Vec<FromItem>,
    pub(super) conditions: Vec<Condition>,
    pub(super) specials: Vec<SpecialJoin>,
    /// Pairs of sets that something connects.
    pub(super) edges: Vec<(Set, Set)>,
}

/// How two sets are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joined {
    Inner,
    /// By this special join; flipped: its left side is the second set.
    Special {
        at: usize,
        is_flipped: bool,
    },
}

/// A part of the FROM clause on the way into the graph.
struct Part {
    member: Member,
    units: Set,
    /// Units that inner joins within it join.
    inner: Set,
    specials: Range<usize>,
}

/// Builds a [`Graph`].
pub(super) struct GraphBuilder<'b, 'a> {
    pub(super) planner: &'b Planner<'a>,
    pub(super) from: &'b FromContext<'b>,
    pub(super) graph: Graph,
    /// Where equalities hold together: the nullable side, or the side of a semi join, that they
    /// are in.
    scope: usize,
    scopes: usize,
    equalities: Vec<(usize, Expr)>,
    /// Conditions on what is joined later: LATERAL items.
    later: Vec<Expr>,
    units_of_entries: HashMap<usize, usize>,
}

impl<'b, 'a> GraphBuilder<'b, 'a> {
    pub(super) fn new(planner: &'b Planner<'a>, from: &'b FromContext<'b>) -> Self {
        let (graph, equalities, later, units_of_entries) = Default::default();
        let (scope, scopes) = (0, 0);
        GraphBuilder { planner, from, graph, scope, scopes, equalities, later, units_of_entries }
    }

    /// The graph of a list of items under a pool of conditions. Those that name other entries
    /// besides, or none, are left in the pool.
    pub(super) fn build(mut self, items: Vec<FromItem>, pool: &mut Vec<Expr>) -> (Graph, Member) {
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

    /// Takes an item apart. `spare` is how many units may be made of it besides one.
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

    /// Whether something within refers to what stands beside it.
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
        // What ON says of the right side alone is decided there.
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

    /// What each side of a special join must have at least (make_outerjoininfo).
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

    /// Conditions that hold where a part is whole.
    fn add_conditions(&mut self, conditions: Vec<Expr>, part: &Part) {
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
    fn needed(&mut self, units: Set, specials: &Range<usize>) -> Set {
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
    fn add_classes(&mut self) {
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

    /// What connects sets, and what must be connected for that.
    fn add_edges(&mut self, all: Set) {
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

    fn units_of(&self, rtes: &RteSet) -> Set {
        let units = rtes.iter().filter_map(|rte| self.units_of_entries.get(&rte));
        units.fold(0, |all, at| all | 1 << at)
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
    /// A condition for each two members, those that were written as they are; nothing if there is
    /// no operator for two of them.
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

impl Graph {
    /// How two sets may be joined; `None`: not at all.
    pub(super) fn joined(&self, a: Set, b: Set) -> Option<Joined> {
        let both = a | b;
        let (mut found, mut is_associated) = (None, false);
        for (at, special) in self.specials.iter().enumerate() {
            let (left, right) = (special.least_left, special.least_right);
            let own = left | right;
            let is_apart = right & both == 0 || both & !right == 0;
            if is_apart || own & !a == 0 || own & !b == 0 {
                continue;
            }
            let is_straight = left & !a == 0 && right & !b == 0;
            if is_straight || left & !b == 0 && right & !a == 0 {
                if found.is_some() {
                    return None;
                }
                found = Some((at, !is_straight));
                continue;
            }
            if right & a != 0 && right & b != 0 {
                continue;
            }
            if special.kind != JoinKind::Left || both & left != 0 {
                return None;
            }
            is_associated = true;
        }
        let Some((at, is_flipped)) = found else {
            return (!is_associated).then_some(Joined::Inner);
        };
        let special = &self.specials[at];
        let may_associate = special.kind == JoinKind::Left && special.is_left_strict;
        (!is_associated || may_associate).then_some(Joined::Special { at, is_flipped })
    }

    /// Whether joins above a set leave its rows as they are, but for leaving some out and repeating
    /// others: no outer join pads them, and no condition is evaluated for each row anew.
    pub(super) fn may_be_aggregated(&self, set: Set) -> bool {
        let is_padded = |s: &SpecialJoin| !s.is_within(set) && s.right & set != 0;
        !self.specials.iter().any(is_padded)
            && !self.decided_outside(set).any(|clause| is_volatile(&clause.expr))
    }

    /// The conditions that are decided where a set is joined to others, or above that.
    pub(super) fn decided_outside(&self, set: Set) -> impl Iterator<Item = &Rc<Clause>> {
        let conditions = self.conditions.iter().filter(move |c| c.needs & !set != 0);
        let specials = self.specials.iter().filter(move |special| !special.is_within(set));
        conditions.map(|c| &c.clause).chain(specials.flat_map(|special| special.on.iter()))
    }

    /// The conditions that a join of two sets decides, each with those that say the same of these
    /// sets: of a class, one for each two members.
    pub(super) fn decided(&self, a: Set, b: Set) -> Vec<Alternatives> {
        let both = a | b;
        let mut decided: Vec<Alternatives> = Vec::new();
        for condition in &self.conditions {
            let Condition { clause, needs, class } = condition;
            if needs & !both != 0 || needs & !a == 0 || needs & !b == 0 {
                continue;
            }
            let is_its = |known: &&mut Alternatives| class.is_some() && known.class == *class;
            match decided.iter_mut().find(is_its) {
                Some(known) => known.others.push(clause.clone()),
                None => decided.push(Alternatives {
                    class: *class,
                    first: clause.clone(),
                    others: Vec::new(),
                }),
            }
        }
        decided
    }
}
