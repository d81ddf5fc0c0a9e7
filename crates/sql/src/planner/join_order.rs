//! The order of joins.
//!
//! Up to a dozen members are ordered by dynamic programming over pairs of connected sets, each met
//! once (DPhyp: Moerkotte and Neumann, "Dynamic programming strikes back", SIGMOD 2008). Special
//! joins and conditions over several sides are edges between sets. For more members
//! (geqo_threshold), or more than `PAIRS_MAX` pairs, the two members with the fewest joined rows
//! are joined first, again and again (greedy operator ordering: Fegaras 1998). PostgreSQL has its
//! genetic search there.
//!
//! The graph decides whether two sets may be joined, and by which conditions
//! ([`super::join_graph`]): every way to a set decides the same conditions, each once. If the edges
//! lead to no order that is allowed, the one in which the joins were written is taken.

use super::join::FromContext;
use super::join_clause::Clause;
use super::join_graph::{Alternatives, Graph, Joined, Member, Set};
use super::joinpath::JoinInput;
use super::lookup_path::Lookups;
use super::path::{OrderUses, Pair, Path, Paths, Side};
use super::scan::clamp_rows;
use super::{Planner, Rel, RteSet};
use crate::expr::Expr;
use crate::query::JoinKind;
use hashbrown::HashMap;
use std::rc::Rc;
use steppe_types::{Error, Result};

/// After `PAIRS_MAX` pairs of sets the order is found greedily.
const PAIRS_MAX: usize = 10_000;

/// A search for the cheapest order.
pub(super) struct Search<'s, 'a> {
    pub(super) planner: &'s mut Planner<'a>,
    pub(super) from: &'s FromContext<'s>,
    pub(super) graph: &'s Graph,
    /// The sides that sets of units have been joined to.
    sides: HashMap<Set, Side>,
    /// The number of rows of a join, in any order.
    rows: HashMap<Set, f64>,
    /// The fraction of pairs of rows that match in a special join, once that has been estimated.
    matching: Vec<Option<f64>>,
    lookups: Lookups,
    pairs: usize,
    uses: OrderUses,
}

/// A list that is being put in order: its members by number.
struct List {
    members: Vec<Set>,
    edges: Vec<(Set, Set)>,
}

impl List {
    /// The units of a set of members.
    fn units(&self, set: Set) -> Set {
        bits(set).fold(0, |all, at| all | self.members[at])
    }

    fn is_connected(&self, a: Set, b: Set) -> bool {
        self.edges.iter().any(|(u, v)| u & !a == 0 && v & !b == 0 || v & !a == 0 && u & !b == 0)
    }

    /// One member of each set that an edge leads to from `set`, without those left out.
    fn neighbours(&self, set: Set, left_out: Set) -> Set {
        let mut found = 0;
        for (u, v) in &self.edges {
            for (u, v) in [(*u, *v), (*v, *u)] {
                if u & !set == 0 && v & (set | left_out) == 0 {
                    found |= v & v.wrapping_neg();
                }
            }
        }
        found
    }
}

fn bits(set: Set) -> impl Iterator<Item = usize> {
    let mut rest = set;
    std::iter::from_fn(move || {
        let at = rest.trailing_zeros() as usize;
        let is_there = rest != 0;
        rest &= rest.wrapping_sub(1);
        is_there.then_some(at)
    })
}

/// Subsets but the empty one, smaller numbers first.
fn subsets(of: Set) -> impl Iterator<Item = Set> {
    let mut next: Set = 0;
    std::iter::from_fn(move || {
        next = next.wrapping_sub(of) & of;
        (next != 0).then_some(next)
    })
}

fn lost_order() -> Error {
    Error::internal("join order was not found")
}

fn exprs(on: &[Rc<Clause>]) -> Vec<Expr> {
    on.iter().map(|clause| clause.expr.clone()).collect()
}

/// Members up to this one.
fn up_to(member: usize) -> Set {
    (1 << member) | ((1 << member) - 1)
}

impl<'s, 'a> Search<'s, 'a> {
    /// `sides`: the units, each planned.
    pub(super) fn new(
        planner: &'s mut Planner<'a>,
        from: &'s FromContext<'s>,
        graph: &'s Graph,
        units: Vec<Side>,
        uses: OrderUses,
    ) -> Self {
        let sides = units.into_iter().enumerate().map(|(at, side)| (1 << at, side)).collect();
        let (rows, lookups) = Default::default();
        let matching = vec![None; graph.specials.len()];
        Search { planner, from, graph, sides, rows, matching, lookups, pairs: 0, uses }
    }

    /// The cheapest way to join all members, and the ways that give wanted orders.
    pub(super) fn best(&mut self, member: &Member) -> Result<(Rc<Path>, Vec<Rc<Path>>)> {
        let all = self.solve(member)?;
        let side = self.sides.get(&all).ok_or_else(lost_order)?;
        Ok((side.best.clone(), side.paths().skip(1).cloned().collect()))
    }

    /// Whether each set of members that can be joined has been considered.
    pub(super) fn is_complete(&self, member: &Member) -> bool {
        let settings = self.planner.ctx.settings;
        let is_short = |list: &Vec<Member>| {
            list.iter().all(|member| matches!(member, Member::Unit(_)))
                && !(settings.geqo && list.len() >= settings.geqo_threshold)
        };
        matches!(member, Member::List(list) if is_short(list)) && self.pairs <= PAIRS_MAX
    }

    /// The sets that are not all there is to join.
    pub(super) fn partial_joins(&self) -> impl Iterator<Item = (Set, &Side)> {
        let all = self.sides.keys().fold(0, |all, units| all | units);
        self.sides
            .iter()
            .map(|(units, side)| (*units, side))
            .filter(move |(units, _)| *units != all)
    }

    /// The plan of the cheapest way to join a set.
    pub(super) fn build_joined(&self, set: Set) -> Result<Rel> {
        let side = self.sides.get(&set).ok_or_else(lost_order)?;
        self.planner.build(&side.best)
    }

    /// The cheapest way to join all, where a set of units is one side that is there already.
    pub(super) fn best_over(&mut self, set: Set, side: Side) -> Result<Option<Rc<Path>>> {
        let is_other = |units: Set| units.count_ones() == 1 && units & set == 0;
        let others = self.sides.iter().filter(|(units, _)| is_other(**units));
        let mut sides: HashMap<Set, Side> = others.map(|(at, side)| (*at, side.clone())).collect();
        sides.insert(set, side);
        let mut members: Vec<Set> = sides.keys().copied().collect();
        members.sort_unstable();
        let all = members.iter().fold(0, |all, units| all | units);
        let list = self.list(members);
        let sides = std::mem::replace(&mut self.sides, sides);
        let rows = std::mem::take(&mut self.rows);
        let searched = self.by_pairs(&list);
        let mut found = std::mem::replace(&mut self.sides, sides);
        self.rows = rows;
        searched?;
        Ok(found.remove(&all).map(|side| side.best))
    }

    /// Joins the parts of a member. Returns its units.
    fn solve(&mut self, member: &Member) -> Result<Set> {
        let list = match member {
            Member::Unit(at) => return Ok(1 << at),
            Member::List(list) => list,
        };
        let members = list.iter().map(|member| self.solve(member)).collect::<Result<Vec<Set>>>()?;
        let all = members.iter().fold(0, |all, units| all | units);
        if members.len() < 2 {
            return Ok(all);
        }
        let list = self.list(members);
        let settings = self.planner.ctx.settings;
        let is_long = settings.geqo && list.members.len() >= settings.geqo_threshold;
        if is_long || !self.by_pairs(&list)? || !self.sides.contains_key(&all) {
            self.greedily(&list)?;
        }
        Ok(all)
    }

    fn list(&self, members: Vec<Set>) -> List {
        let numbers = |units: Set| {
            let has = |(at, member): (usize, &Set)| (member & units != 0).then_some(1 << at);
            members.iter().enumerate().filter_map(has).fold(0, |all: Set, one: Set| all | one)
        };
        let all = members.iter().fold(0, |all, units| all | units);
        let within = self.graph.edges.iter().filter(|(u, v)| (u | v) & !all == 0);
        let edges = within.map(|(u, v)| (numbers(*u), numbers(*v)));
        let mut edges: Vec<(Set, Set)> = edges.filter(|(u, v)| u & v == 0).collect();
        edges.sort_unstable();
        edges.dedup();
        List { members, edges }
    }

    /// Dynamic programming; false if there are too many pairs.
    fn by_pairs(&mut self, list: &List) -> Result<bool> {
        self.pairs = 0;
        for member in (0..list.members.len()).rev() {
            self.pairs_of(list, 1 << member)?;
            self.grow(list, 1 << member, up_to(member))?;
            if self.pairs > PAIRS_MAX {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Larger connected sets (EnumerateCsgRec).
    fn grow(&mut self, list: &List, set: Set, left_out: Set) -> Result<()> {
        let neighbours = list.neighbours(set, left_out);
        for more in subsets(neighbours) {
            if self.pairs > PAIRS_MAX {
                return Ok(());
            }
            if self.sides.contains_key(&list.units(set | more)) {
                self.pairs_of(list, set | more)?;
            }
        }
        for more in subsets(neighbours) {
            if self.pairs > PAIRS_MAX {
                return Ok(());
            }
            self.grow(list, set | more, left_out | neighbours)?;
        }
        Ok(())
    }

    /// The sets that a connected set is joined with (EmitCsg).
    fn pairs_of(&mut self, list: &List, set: Set) -> Result<()> {
        let left_out = set | up_to(set.trailing_zeros() as usize);
        let neighbours = list.neighbours(set, left_out);
        let mut descending: Vec<usize> = bits(neighbours).collect();
        descending.reverse();
        for member in descending {
            let other = 1 << member;
            if list.is_connected(set, other) {
                self.join(list.units(set), list.units(other))?;
            }
            self.grow_other(list, set, other, left_out | up_to(member) & neighbours)?;
        }
        Ok(())
    }

    /// Larger sets on the other side (EnumerateCmpRec).
    fn grow_other(&mut self, list: &List, set: Set, other: Set, left_out: Set) -> Result<()> {
        let neighbours = list.neighbours(other, left_out);
        for more in subsets(neighbours) {
            if self.pairs > PAIRS_MAX {
                return Ok(());
            }
            let more = other | more;
            if list.is_connected(set, more) && self.sides.contains_key(&list.units(more)) {
                self.join(list.units(set), list.units(more))?;
            }
        }
        for more in subsets(neighbours) {
            if self.pairs > PAIRS_MAX {
                return Ok(());
            }
            self.grow_other(list, set, other | more, left_out | neighbours)?;
        }
        Ok(())
    }

    /// Joins the two that have the fewest rows together until one is left.
    fn greedily(&mut self, list: &List) -> Result<()> {
        let mut left: Vec<Set> = (0..list.members.len()).map(|at| 1 << at).collect();
        while left.len() > 1 {
            (self.planner.ctx.interrupts)()?;
            let mut best: Option<(f64, usize, usize)> = None;
            for is_connected in [true, false] {
                for i in 0..left.len() {
                    for j in i + 1..left.len() {
                        if is_connected && !list.is_connected(left[i], left[j]) {
                            continue;
                        }
                        let (a, b) = (list.units(left[i]), list.units(left[j]));
                        let Some(joined) = self.graph.joined(a, b) else { continue };
                        let rows = self.rows_of(a, b, joined);
                        if best.is_none_or(|(fewest, ..)| rows < fewest) {
                            best = Some((rows, i, j));
                        }
                    }
                }
                if best.is_some() {
                    break;
                }
            }
            let lost = || Error::internal("failed to build any joins");
            let (_, i, j) = best.ok_or_else(lost)?;
            self.join(list.units(left[i]), list.units(left[j]))?;
            let other = left.remove(j);
            left[i] |= other;
        }
        Ok(())
    }

    /// Rows of the join of two sets before conditions above it.
    fn rows_of(&mut self, a: Set, b: Set, joined: Joined) -> f64 {
        if let Some(known) = self.rows.get(&(a | b)) {
            return *known;
        }
        let (Some(left), Some(right)) = (self.sides.get(&a), self.sides.get(&b)) else {
            return f64::INFINITY;
        };
        let (kind, left, right, on) = match joined {
            Joined::Inner => {
                let decided = self.graph.decided(a, b);
                let most = |of: &Alternatives| self.most_pairs(of).expr.clone();
                (JoinKind::Inner, left, right, decided.iter().map(most).collect())
            }
            Joined::Special { at, is_flipped } => {
                let special = &self.graph.specials[at];
                let (left, right) = if is_flipped { (right, left) } else { (left, right) };
                (special.kind, left, right, exprs(&special.on))
            }
        };
        let outer = JoinInput { rows: left.rows(), rtes: &left.rtes };
        let inner = JoinInput { rows: right.rows(), rtes: &right.rtes };
        let rows = clamp_rows(self.planner.join_rows(self.from, kind, &outer, &inner, &on));
        self.rows.insert(a | b, rows);
        rows
    }

    /// Pairs of rows of two sides that match in a special join with `rows` rows. In a semi or an
    /// anti join they are not its rows.
    fn matching_pairs(&mut self, at: usize, (left, right): (&Side, &Side), rows: f64) -> f64 {
        let special = &self.graph.specials[at];
        if !matches!(special.kind, JoinKind::Semi | JoinKind::Anti) {
            return rows;
        }
        let share = *self.matching[at].get_or_insert_with(|| {
            self.from.estimator(self.planner).selectivity(&exprs(&special.on))
        });
        left.rows() * right.rows() * share
    }

    /// The one of equivalent conditions that most pairs of rows satisfy. The values that a side has
    /// after its joins are spread like the values of its most skewed member: the value that a key
    /// is equal to is as common as it was before it found the key.
    fn most_pairs<'o>(&self, of: &'o Alternatives) -> &'o Rc<Clause> {
        let estimator = self.from.estimator(self.planner);
        let pairs = |clause: &Clause| clause.pairs(|expr| estimator.selectivity_of(expr));
        let more = |most: &'o Rc<Clause>, other: &'o Rc<Clause>| {
            if pairs(other) > pairs(most) { other } else { most }
        };
        if of.others.is_empty() { &of.first } else { of.others.iter().fold(&of.first, more) }
    }

    /// Considers the joins of two sets, if they may be joined (make_join_rel).
    fn join(&mut self, a: Set, b: Set) -> Result<()> {
        self.pairs += 1;
        (self.planner.ctx.interrupts)()?;
        let Some(joined) = self.graph.joined(a, b) else { return Ok(()) };
        let (Some(left), Some(right)) = (self.sides.get(&a), self.sides.get(&b)) else {
            return Ok(());
        };
        let (left, right) = (left.clone(), right.clone());
        let rows = self.rows_of(a, b, joined);
        let decided = self.graph.decided(a, b);
        let on: Rc<[Rc<Clause>]> = decided.iter().map(|of| of.first.clone()).collect();
        let rtes = left.rtes.union(&right.rtes);
        let mut paths = match joined {
            // Other ways to join the same have been found: most others lose against them at once.
            Joined::Inner => self.take_paths(a | b, &rtes),
            // The conditions above the join are added to these paths first.
            Joined::Special { .. } => self.no_paths(&rtes),
        };
        let above = match joined {
            Joined::Inner => {
                for (outer, inner) in [(&left, &right), (&right, &left)] {
                    let (kind, on, same) = (JoinKind::Inner, on.clone(), decided.as_slice());
                    let pair = Pair { kind, outer, inner, on, same, rows, pairs: rows };
                    self.consider(&pair, &mut paths)?;
                }
                return self.put(a | b, rtes, paths);
            }
            Joined::Special { at, is_flipped } => {
                let special = &self.graph.specials[at];
                let (outer, inner) = if is_flipped { (&right, &left) } else { (&left, &right) };
                let kind = special.kind;
                let pairs = self.matching_pairs(at, (outer, inner), rows);
                let pair =
                    Pair { kind, outer, inner, on: special.on.clone(), same: &[], rows, pairs };
                self.consider(&pair, &mut paths)?;
                if kind == JoinKind::Semi {
                    self.planner.consider_distinct_inner(
                        self.from,
                        &pair,
                        &mut self.lookups,
                        &mut paths,
                    )?;
                }
                on
            }
        };
        self.keep(a | b, rtes, paths, above)
    }

    /// Keeps the best paths to a set, with conditions above them.
    fn keep(
        &mut self,
        set: Set,
        rtes: RteSet,
        paths: Paths,
        above: Rc<[Rc<Clause>]>,
    ) -> Result<()> {
        let Paths { best, ordered, .. } = paths;
        let best = best.ok_or_else(|| Error::internal("no way to join was found"))?;
        let mut all = self.take_paths(set, &rtes);
        let others =
            ordered.into_iter().filter(|path| !Rc::ptr_eq(path, &best)).collect::<Vec<_>>();
        for path in std::iter::once(best).chain(others) {
            all.add(self.planner.filtered(self.from, path, above.clone()));
        }
        self.put(set, rtes, all)
    }

    fn no_paths(&self, rtes: &RteSet) -> Paths {
        let uses = OrderUses { rtes: rtes.clone(), ..self.uses.clone() };
        Paths::in_orders(uses, self.planner.sorting())
    }

    /// Takes the paths to a set that are known so far; [`Self::put`] puts them back.
    fn take_paths(&mut self, set: Set, rtes: &RteSet) -> Paths {
        let mut paths = self.no_paths(rtes);
        if let Some(known) = self.sides.remove(&set) {
            (paths.best, paths.ordered) = (Some(known.best), known.ordered);
        }
        paths
    }

    fn put(&mut self, set: Set, rtes: RteSet, paths: Paths) -> Result<()> {
        let Paths { best, ordered, .. } = paths;
        let best = best.ok_or_else(|| Error::internal("no way to join was found"))?;
        self.sides.insert(set, Side { ordered, ..Side::of(rtes, best) });
        Ok(())
    }

    fn consider(&mut self, pair: &Pair<'_>, paths: &mut Paths) -> Result<()> {
        if let Some(by_leaf) = self.planner.joined_by_leaf(self.from, pair)? {
            paths.add(by_leaf);
            return Ok(());
        }
        self.planner.consider_join(self.from, pair, &mut self.lookups, paths)
    }
}
