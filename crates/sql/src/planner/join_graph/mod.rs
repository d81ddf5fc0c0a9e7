//! The allowed joins of a FROM clause (initsplan.c; join_is_legal in joinrels.c).
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
//! 1. each special join is done by exactly one join, of two sets that have the least left and right
//!    sides that it needs. Another join mixes its right side with the rest only where (A ⟕ B) ⟕ C =
//!    A ⟕ (B ⟕ C) allows it. The join with C must then reject NULLs of B;
//! 2. each condition is decided by exactly one node: the lowest that has its entries and,
//!    where a special join below the condition pads some of them, that join's as well.
//!
//! [`Graph::joined`] decides 1; [`Condition::needs`] is 2.
//!
//! Equalities of plain columns form classes. That `a.x = b.x` and `b.x = c.x` make `a.x = c.x` is a
//! condition of its own, so that a and c may be joined first (equivclass.c). As every two members
//! have one, all members within a set are equal, and a join needs only one of the several that it
//! decides.
//!
//! | file | subject |
//! |---|---|
//! | `build` | the FROM clause taken apart |
//! | `conditions` | what conditions need, and classes |
//! | `edges` | what connects sets |

mod build;
mod conditions;
mod edges;

use super::is_volatile;
use super::join_clause::Clause;
use crate::query::{FromItem, JoinKind};
use build::Part;
use std::rc::Rc;

pub(super) use build::GraphBuilder;

/// A set of units.
pub(super) type Set = u128;

/// A condition of WHERE or of an inner join.
pub(super) struct Condition {
    pub(super) clause: Rc<Clause>,
    /// Without these units it cannot be decided.
    pub(super) needs: Set,
    /// A join needs only one condition of a class.
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
    /// The units that each side must have at least.
    pub(super) least_left: Set,
    pub(super) least_right: Set,
    /// Its condition rejects NULLs of the left side.
    is_left_strict: bool,
    /// A condition decided above its left side depends on columns that the left side pads.
    stays_below: bool,
}

impl SpecialJoin {
    /// Whether a set of units that is joined has this join done.
    fn is_within(&self, set: Set) -> bool {
        (self.least_left | self.least_right) & !set == 0
    }
}

/// Items that are joined together, in any allowed order.
pub(super) enum Member {
    Unit(usize),
    List(Vec<Member>),
}

/// A FROM clause to be put in order.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) units: Vec<FromItem>,
    /// Items that refer to the units, and are joined after them.
    pub(super) lateral: Vec<FromItem>,
    pub(super) conditions: Vec<Condition>,
    pub(super) specials: Vec<SpecialJoin>,
    /// Pairs of sets that something connects.
    pub(super) edges: Vec<(Set, Set)>,
}

/// The way two sets are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joined {
    Inner,
    /// By this special join. If flipped, its left side is the second set.
    Special {
        at: usize,
        is_flipped: bool,
    },
}

impl Graph {
    /// The allowed join of two sets, or `None`.
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

    /// Whether joins above a set only leave out or repeat its rows: no outer join pads them, and no
    /// condition is evaluated for each row anew.
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

    /// The conditions that a join of two sets decides, each with the equivalent ones for these
    /// sets: one of a class for each two members.
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
