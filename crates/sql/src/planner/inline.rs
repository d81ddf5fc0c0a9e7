//! WITH queries that are read once, or are NOT MATERIALIZED, become sub-selects where they are read
//! (inline_cte in subselect.c).
//!
//! A WITH query reads only those before it. So each is completed in its turn and put where it is
//! read. Each query is visited once: a chain of thousands costs its length. The last place takes
//! the query as it is, those before it take copies.
//!
//! A chain of hundreds would nest as deep, and planning and running it go down the stack (they may,
//! as deep as a statement can be written). So a WITH query that has become too deep stays one, which
//! is run once.

use crate::expr::Expr;
use crate::query::{Command, Cte, Query, RteKind};
use crate::walk;

/// The maximum number of levels of a WITH query that becomes a sub-select.
const LEVELS_MAX: usize = 250;

/// A WITH query that becomes a sub-select.
struct Body {
    query: Box<Query>,
    extent: Extent,
}

/// The properties of a WITH query once its own places are filled.
#[derive(Clone, Copy)]
struct Extent {
    /// It refers to something outside it.
    refers_outside: bool,
    /// The number of query levels from its own on.
    levels: usize,
}

/// The WITH queries that come before the place in hand.
struct Inlining {
    /// `None`: it stays a WITH query.
    bodies: Vec<Option<Body>>,
    /// The number of remaining places of each.
    places: Vec<usize>,
}

/// Puts a query's WITH queries where they are read. Their entries stay, so that the others keep
/// their numbers.
pub(crate) fn inline_ctes(query: &mut Query) {
    if query.ctes.is_empty() {
        return;
    }
    let mut ctes = std::mem::take(&mut query.ctes);
    let mut places = vec![0; ctes.len()];
    let mut count = |kind: &mut RteKind, index: usize, _| {
        if let (RteKind::Cte { .. }, Some(places)) = (kind, places.get_mut(index)) {
            *places += 1;
        }
    };
    ctes.iter_mut().for_each(|cte| for_each_reference(&mut cte.query, 1, &mut count));
    for_each_reference(query, 0, &mut count);
    let mut inlining = Inlining { bodies: Vec::with_capacity(ctes.len()), places };
    for cte in &mut ctes {
        let extent = match is_wanted(cte) && may_repeat(&mut cte.query) {
            true => Some(inlining.extent(&mut cte.query)),
            false => None,
        };
        inlining.fill(&mut cte.query, 1);
        let body = extent.filter(|extent| extent.levels <= LEVELS_MAX).map(|extent| {
            cte.references = 0;
            Body { query: std::mem::take(&mut cte.query), extent }
        });
        inlining.bodies.push(body);
    }
    inlining.fill(query, 0);
    query.ctes = ctes;
}

fn is_wanted(cte: &Cte) -> bool {
    let is_asked_for = match cte.materialized {
        None => cte.references == 1,
        Some(materialized) => !materialized && cte.references > 0,
    };
    is_asked_for && !cte.recursive && cte.query.command == Command::Select
}

impl Inlining {
    /// Puts sub-selects in the places of a query that is `depth` levels further in than the one
    /// whose WITH queries they are.
    fn fill(&mut self, query: &mut Query, depth: usize) {
        for_each_reference(query, depth, &mut |kind, index, depth| {
            let Some(Some(body)) = self.bodies.get_mut(index) else { return };
            self.places[index] -= 1;
            let query = match self.places[index] {
                0 => std::mem::take(&mut body.query),
                _ => body.query.clone(),
            };
            let query = if body.extent.refers_outside { deepened(query, depth) } else { query };
            *kind = RteKind::Subquery { query, lateral: false, view: None };
        });
    }

    /// The properties of a WITH query once its own places are filled.
    fn extent(&self, query: &mut Query) -> Extent {
        let (mut refers_outside, mut levels) = (false, 0);
        walk::for_each_node(query, 0, &mut |e, depth| {
            refers_outside |= match e {
                Expr::Var { levels_up, .. } | Expr::Grouping { levels_up, .. } => {
                    *levels_up > depth
                }
                Expr::Aggregate(call) => call.levels_up > depth,
                _ => false,
            };
        });
        walk::for_each_query(query, 0, &mut |query, depth| {
            levels = levels.max(depth + 1);
            for rte in &query.rtes {
                let RteKind::Cte { index, levels_up } = &rte.kind else { continue };
                let of_this_with = *levels_up == depth + 1;
                let body = self.bodies.get(*index).and_then(Option::as_ref);
                match body.filter(|_| of_this_with) {
                    Some(body) => {
                        refers_outside |= body.extent.refers_outside;
                        levels = levels.max(depth + 1 + body.extent.levels);
                    }
                    None => refers_outside |= *levels_up > depth,
                }
            }
        });
        Extent { refers_outside, levels }
    }
}

/// The places that read WITH queries of a level which is `depth` further out than this query: with
/// the number of the WITH query, and how many levels further in they are.
fn for_each_reference(
    query: &mut Query,
    depth: usize,
    f: &mut dyn FnMut(&mut RteKind, usize, usize),
) {
    walk::for_each_query(query, depth, &mut |query, depth| {
        for rte in &mut query.rtes {
            if let RteKind::Cte { index, levels_up } = rte.kind
                && levels_up == depth
            {
                f(&mut rte.kind, index, depth);
            }
        }
    });
}

/// Whether it makes no difference how often, or in which part, a query is run.
fn may_repeat(query: &mut Query) -> bool {
    let mut repeatable = true;
    walk::for_each_node(query, 0, &mut |e, _| repeatable &= !is_volatile_here(e));
    walk::for_each_query(query, 0, &mut |query, _| repeatable &= query.row_locks.is_empty());
    repeatable
}

pub(super) fn is_volatile_here(expr: &Expr) -> bool {
    matches!(expr, Expr::Func { func, .. }
        if func.is_volatile())
}

/// A sub-select moved `by` levels further in: its references to the outside are further out.
pub(super) fn deepened(mut query: Box<Query>, by: usize) -> Box<Query> {
    if by == 0 {
        return query;
    }
    walk::for_each_node(&mut query, 0, &mut |e, depth| match e {
        Expr::Var { levels_up, .. } if *levels_up > depth => *levels_up += by,
        Expr::Aggregate(a) if a.levels_up > depth => a.levels_up += by,
        Expr::Grouping { levels_up, .. } if *levels_up > depth => *levels_up += by,
        _ => {}
    });
    walk::for_each_query(&mut query, 0, &mut |query, depth| {
        for rte in &mut query.rtes {
            if let RteKind::Cte { levels_up, .. } = &mut rte.kind
                && *levels_up > depth
            {
                *levels_up += by;
            }
        }
    });
    query
}
