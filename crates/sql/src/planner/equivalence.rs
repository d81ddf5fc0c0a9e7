//! Equalities that follow from others (equivclass.c, as far as a constant takes part).
//!
//! ```text
//!   t.a = u.b AND t.a = 10      becomes      t.a = 10 AND u.b = 10
//! ```
//!
//! Expressions that conditions hold equal form a *class*. If a class has a constant (a value that
//! no row of the query decides), one condition for each other member replaces the class's
//! conditions. Then each table is read, and its partitions are pruned, by the constant. The
//! conditions that joined the members become redundant. The new conditions come behind all other
//! conditions, as in PostgreSQL.
//!
//! A *domain* has the conditions that hold together: WHERE with the inner and semi joins below it,
//! and the side of an outer join that keeps its rows. The other side of an outer join is a domain
//! of its own, of the conditions in ON that concern it alone. A constant that the rows kept have
//! comes there through ON (reconsider_outer_join_clauses):
//!
//! ```text
//!   t LEFT JOIN u ON t.a = u.b WHERE t.a = 10     ON becomes u.b = 10
//! ```
//!
//! Correctness: every row that comes out of a domain satisfies all of its conditions. The operators
//! of a class are equalities of one ordering, which are transitive. So the new conditions hold for
//! the same rows as the replaced ones. A row of an outer join's kept side that has not the constant
//! is dropped above, with any row that it is joined with.

use super::index::same_ordering;
use super::join::{item_rtes, take_conditions};
use super::{RteSet, and_all, conjuncts, is_volatile, rtes_of};
use crate::expr::{CallSyntax, Expr, TypeRef};
use crate::prune::is_same;
use crate::query::{FromItem, JoinKind};
use steppe_catalog::builtin;
use steppe_catalog::builtin::Strategy;
use steppe_types::{Oid, compare, interrupt, oid};

/// Expressions that have one value each, by the value that they share.
pub(super) type Fixed = Vec<Vec<Expr>>;

/// Rewrites WHERE and the conditions of joins; which expressions they give a constant.
pub(super) fn imply_equalities(items: &mut [FromItem], conditions: &mut Vec<Expr>) -> Fixed {
    let mut fixed = Fixed::new();
    rewrite(items, conditions, true, &mut fixed);
    fixed
}

/// Rewrites one domain and those inside it. `is_top`: a condition without columns may come back.
fn rewrite(items: &mut [FromItem], conditions: &mut Vec<Expr>, is_top: bool, fixed: &mut Fixed) {
    let mut domain = Domain::default();
    items.iter_mut().for_each(|item| domain.take(item, None));
    let own = conditions.drain(..).map(|expr| Clause { semi_join: None, expr });
    domain.clauses.extend(own);
    for clause in &mut domain.clauses {
        if let Some(known) = known_value(&clause.expr) {
            clause.expr = known;
        }
    }
    let classes = domain.classes();
    let mut parts = domain.rewritten(&classes, is_top);
    *conditions = std::mem::take(&mut parts[0]);
    let mut of_semi_joins = parts.into_iter().skip(1);
    items.iter_mut().for_each(|item| put_back(item, &mut of_semi_joins));
    items.iter_mut().for_each(|item| below_outer_joins(item, &classes, fixed));
    fixed.extend(classes.into_iter().map(|class| class.members));
}

/// A condition of a domain.
struct Clause {
    /// The semi join that it belongs to. `None` is WHERE, or an inner join.
    semi_join: Option<usize>,
    expr: Expr,
}

/// The conditions that hold together.
#[derive(Default)]
struct Domain {
    clauses: Vec<Clause>,
    /// The entries on the right of its semi joins, those outside before those inside them.
    semi_joins: Vec<RteSet>,
}

/// Expressions that conditions hold equal to a constant.
struct Class {
    /// A type of the ordering whose equality it is.
    ordering: Oid,
    members: Vec<Expr>,
    constants: Vec<Expr>,
    /// The positions of the class's conditions.
    sources: Vec<usize>,
}

impl Domain {
    /// Takes the conditions of joins out of a FROM item.
    fn take(&mut self, item: &mut FromItem, within: Option<usize>) {
        let FromItem::Join { kind, left, right, on, .. } = item else { return };
        match kind {
            JoinKind::Inner => {
                self.take(left, within);
                self.take(right, within);
                self.take_on(on, within);
            }
            JoinKind::Semi => {
                self.take(left, within);
                self.semi_joins.push(item_rtes(right));
                let of_this = Some(self.semi_joins.len() - 1);
                self.take(right, of_this);
                self.take_on(on, of_this);
            }
            JoinKind::Left | JoinKind::Anti => self.take(left, within),
            JoinKind::Right => self.take(right, within),
            JoinKind::Full | JoinKind::RightSemi | JoinKind::RightAnti => {}
        }
    }

    /// Takes the conditions with columns out of an ON clause.
    fn take_on(&mut self, on: &mut Option<Expr>, semi_join: Option<usize>) {
        let mut all = Vec::new();
        on.take().into_iter().for_each(|on| conjuncts(on, &mut all));
        let (taken, kept) = all.into_iter().partition(|expr: &Expr| !rtes_of(expr).is_empty());
        *on = and_all(kept);
        let taken: Vec<Expr> = taken;
        self.clauses.extend(taken.into_iter().map(|expr| Clause { semi_join, expr }));
    }

    /// The classes that have a constant, in the order of their first conditions.
    fn classes(&self) -> Vec<Class> {
        let mut classes: Vec<Class> = Vec::new();
        for (at, clause) in self.clauses.iter().enumerate() {
            interrupt::check_unwinding();
            let Some((ordering, sides)) = equality(&clause.expr) else { continue };
            let has_side = |class: &Class| sides.iter().any(|side| class.has(side));
            let is_joined =
                |class: &mut Class| same_ordering(class.ordering, ordering) && has_side(class);
            let mut joined = classes.extract_if(.., is_joined);
            let mut class = joined.next().unwrap_or_else(|| Class::of(ordering));
            joined.for_each(|other| class.unite(other));
            sides.into_iter().for_each(|side| class.add(side));
            class.sources.push(at);
            classes.push(class);
        }
        classes.retain(|class| !class.constants.is_empty());
        classes.sort_by_key(|class| class.sources.iter().copied().min());
        classes
    }

    /// The conditions as they are to be: those of WHERE, then those of each semi join.
    fn rewritten(&self, classes: &[Class], is_top: bool) -> Vec<Vec<Expr>> {
        let mut parts = vec![Vec::new(); self.semi_joins.len() + 1];
        let (mut replaced, mut replacing) = (vec![false; self.clauses.len()], Vec::new());
        for class in classes {
            let Some(conditions) = self.conditions_of(class, is_top) else { continue };
            replacing.extend(conditions);
            class.sources.iter().for_each(|source| replaced[*source] = true);
        }
        let kept = self.clauses.iter().zip(replaced).filter(|(_, replaced)| !replaced);
        for (Clause { semi_join, expr }, _) in kept {
            parts[semi_join.map_or(0, |at| at + 1)].push(expr.clone());
        }
        for expr in replacing {
            let rtes = rtes_of(&expr);
            let within = self.semi_joins.iter().rposition(|right| right.overlaps(&rtes));
            parts[within.map_or(0, |at| at + 1)].push(expr);
        }
        parts
    }

    /// The conditions that replace a class's. `None` if an operator is missing.
    fn conditions_of(&self, class: &Class, is_top: bool) -> Option<Vec<Expr>> {
        if let [source] = class.sources[..] {
            return Some(vec![self.clauses[source].expr.clone()]);
        }
        let is_known = |constant: &&Expr| matches!(constant, Expr::Const(..));
        let constant = class.constants.iter().find(is_known).or(class.constants.first())?;
        let mut conditions: Vec<Expr> = Vec::new();
        for member in &class.members {
            conditions.push(equal(member, constant)?);
        }
        for other in class.constants.iter().filter(|other| *other != constant) {
            match are_equal(other, constant) {
                Some(true) => {}
                Some(false) if is_top => conditions.push(Expr::boolean(false)),
                None if is_top => conditions.push(equal(other, constant)?),
                _ => conditions.push(equal(class.members.first()?, other)?),
            }
        }
        Some(conditions)
    }
}

impl Class {
    fn of(ordering: Oid) -> Class {
        let (members, constants, sources) = Default::default();
        Class { ordering, members, constants, sources }
    }

    fn side(&self, of: &Expr) -> &[Expr] {
        if rtes_of(of).is_empty() { &self.constants } else { &self.members }
    }

    fn has(&self, expr: &Expr) -> bool {
        self.side(expr).iter().any(|one| is_same(one, expr))
    }

    fn add(&mut self, expr: Expr) {
        if self.has(&expr) {
            return;
        }
        match rtes_of(&expr).is_empty() {
            true => self.constants.push(expr),
            false => self.members.push(expr),
        }
    }

    fn unite(&mut self, other: Class) {
        other.members.into_iter().chain(other.constants).for_each(|expr| self.add(expr));
        self.sources.extend(other.sources);
    }
}

/// Puts the conditions of semi joins back, in the order in which they were taken.
fn put_back(item: &mut FromItem, of_semi_joins: &mut impl Iterator<Item = Vec<Expr>>) {
    let FromItem::Join { kind, left, right, on, .. } = item else { return };
    match kind {
        JoinKind::Inner => {
            put_back(left, of_semi_joins);
            put_back(right, of_semi_joins);
        }
        JoinKind::Semi => {
            put_back(left, of_semi_joins);
            let own = of_semi_joins.next().unwrap_or_default();
            put_back(right, of_semi_joins);
            *on = and_all(on.take().into_iter().chain(own).collect());
        }
        JoinKind::Left | JoinKind::Anti => put_back(left, of_semi_joins),
        JoinKind::Right => put_back(right, of_semi_joins),
        JoinKind::Full | JoinKind::RightSemi | JoinKind::RightAnti => {}
    }
}

/// Takes constants through ON to the sides of outer joins that are not kept, and rewrites the
/// conditions there.
fn below_outer_joins(item: &mut FromItem, classes: &[Class], fixed: &mut Fixed) {
    let FromItem::Join { kind, left, right, on, .. } = item else { return };
    let (kept, other) = match kind {
        JoinKind::Inner | JoinKind::Semi => {
            below_outer_joins(left, classes, fixed);
            return below_outer_joins(right, classes, fixed);
        }
        JoinKind::Left | JoinKind::Anti => (left, right),
        JoinKind::Right => (right, left),
        JoinKind::Full | JoinKind::RightSemi | JoinKind::RightAnti => return,
    };
    below_outer_joins(kept, classes, fixed);
    let (of_kept, of_other) = (item_rtes(kept), item_rtes(other));
    let mut conditions = Vec::new();
    on.take().into_iter().for_each(|on| conjuncts(on, &mut conditions));
    let mut through = Vec::new();
    conditions.retain(|condition| {
        let taken = taken_through(condition, (&of_kept, &of_other), classes, fixed);
        through.extend(taken.clone());
        taken.is_none()
    });
    conditions.extend(through);
    let mut inside = take_conditions(&mut conditions, &of_other);
    rewrite(std::slice::from_mut(&mut **other), &mut inside, false, fixed);
    conditions.extend(inside);
    *on = and_all(conditions);
}

/// `kept = other` with the constant that the kept side's expression has. The other side's shares
/// it, where its row is not padded: it is no member of the class, since to a join further out it
/// may be NULL.
fn taken_through(
    condition: &Expr,
    (of_kept, of_other): (&RteSet, &RteSet),
    classes: &[Class],
    fixed: &mut Fixed,
) -> Option<Expr> {
    let (ordering, [a, b]) = equality(condition)?;
    let is_within = |expr: &Expr, rtes: &RteSet| {
        let own = rtes_of(expr);
        !own.is_empty() && own.is_subset(rtes)
    };
    let (kept, other) = match (is_within(&a, of_kept), is_within(&a, of_other)) {
        (true, _) => (a, b),
        (_, true) => (b, a),
        _ => return None,
    };
    if !is_within(&kept, of_kept) || !is_within(&other, of_other) {
        return None;
    }
    let is_its = |class: &&Class| same_ordering(class.ordering, ordering) && class.has(&kept);
    let class = classes.iter().find(is_its)?;
    let through = equal(&other, class.constants.first()?)?;
    fixed.push(class.members.iter().cloned().chain([other]).collect());
    Some(through)
}

/// A condition that holds two expressions equal, by the equality of one ordering: a type of that,
/// and both.
pub(super) fn equality(condition: &Expr) -> Option<(Oid, [Expr; 2])> {
    let Expr::Func { syntax: CallSyntax::Operator(op), args, .. } = condition else { return None };
    let [left, right] = args.as_slice() else { return None };
    let is_eligible = op.strategy() == Some(Strategy::Equal)
        && same_ordering(op.left, op.right)
        // A row may be NULL and yet equal itself.
        && op.left != oid::RECORD
        && !rtes_of(condition).is_empty()
        && !is_volatile(condition);
    is_eligible.then(|| (op.left, [left.clone(), right.clone()]))
}

/// The expressions that a condition holds equal.
pub(super) fn equated_sides(condition: &Expr) -> Option<[Expr; 2]> {
    equality(condition).map(|(_, sides)| sides)
}

/// `a = a` means that `a` is not NULL.
pub(super) fn known_value(condition: &Expr) -> Option<Expr> {
    let (_, [a, b]) = equality(condition)?;
    is_same(&a, &b).then(|| Expr::IsNull { arg: Box::new(a), negated: true })
}

/// `a = b` by the operator of their types.
pub(super) fn equal(a: &Expr, b: &Expr) -> Option<Expr> {
    let (left, right) = (a.ty().oid, b.ty().oid);
    let operator = builtin::operator_of("=", left, right)?;
    if operator.strategy() != Some(Strategy::Equal) {
        return None;
    }
    Some(Expr::Func {
        func: operator.built_in_function()?,
        args: vec![a.clone(), b.clone()],
        ty: TypeRef::plain(oid::BOOL),
        syntax: CallSyntax::Operator(operator),
    })
}

/// Whether constants of one type are equal, if they are known.
fn are_equal(a: &Expr, b: &Expr) -> Option<bool> {
    let (Expr::Const(x, of), Expr::Const(y, other)) = (a, b) else { return None };
    let are_known = of.oid == other.oid && !x.is_null() && !y.is_null();
    are_known.then(|| compare::equal_as(of.oid, x, y))
}
