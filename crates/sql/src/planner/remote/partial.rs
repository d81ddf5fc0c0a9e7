//! Aggregates of a distributed table in two steps (create_partial_grouping_paths in planner.c).
//!
//! ```text
//!   SELECT b, count(*), avg(x)                      groups and results, here
//!   FROM (SELECT b, count(*), sum(x), count(x)      partial ones, on each node
//!         FROM t WHERE … GROUP BY b) GROUP BY b
//! ```
//!
//! A node's partial aggregate is an ordinary one, and so is the one over them here: the number of rows is the
//! sum of the numbers, a sum the sum of sums, an average a quotient. The query is left as it is unless all of
//! this holds: it reads one table, nodes can check its conditions and compute its groups and arguments, and each
//! aggregate can be split. DISTINCT and ORDER BY inside an aggregate cannot, nor can min and max of texts,
//! whose order is the node's.
//!
//! Sums of floats depend on the order of the additions, which PostgreSQL does not define either.

use super::super::subselect::contains_sublink;
use super::super::{Planner, node};
use super::ROUND_TRIP;
use super::scan::{is_sent, over_one};
use crate::expr::{Aggregate, CallSyntax, Expr, Place, TypeRef};
use crate::plan::{Cost, Plan, PlanNode, RelationLock};
use crate::query::{Distinct, FromItem, Query, Rte, RteColumn, RteKind, Target};
use std::sync::Arc;
use steppe_catalog::FunctionRef;
use steppe_types::{Datum, Error, Oid, Result, oid};

/// sum(bigint), which is numeric.
const SUM_INT8: Oid = 2107;
/// sum(smallint), sum(integer): bigint.
const SUM_INT2: Oid = 2109;
const SUM_INT4: Oid = 2108;
/// sum(numeric)
const SUM_NUMERIC: Oid = 2114;
/// sum(double precision)
const SUM_FLOAT8: Oid = 2111;
/// bigint(numeric)
const INT8_OF_NUMERIC: Oid = 1779;
/// numeric(bigint)
const NUMERIC_OF_INT8: Oid = 1781;
/// double precision(bigint)
const FLOAT8_OF_INT8: Oid = 482;
/// numeric / numeric
const NUMERIC_DIV: Oid = 1727;
/// double precision / double precision
const FLOAT8_DIV: Oid = 218;
/// count("any")
const COUNT: Oid = 2147;

/// The parts of a query that is split.
struct Split {
    /// The entry of the table.
    rte: usize,
    /// The partial query's targets: the groups first.
    targets: Vec<Expr>,
    groups: Vec<Expr>,
}

impl Planner<'_> {
    /// The query over partial results of the nodes. `None`: it cannot be split.
    pub(in super::super) fn split_for_nodes(&self, query: &Query) -> Option<Query> {
        let [FromItem::Rte(rte)] = query.from[..] else { return None };
        let RteKind::Relation(relation) = &query.rtes[rte].kind else { return None };
        let is_simple = query.has_aggregates
            && !query.on_nodes
            && relation.is_distributed()
            && query.grouping_sets.is_none()
            && query.windows.is_empty()
            && query.ctes.is_empty()
            && query.determining_keys.is_empty()
            && query.row_locks.is_empty()
            && query.distinct == Distinct::No;
        let may_send = |expr: &Expr| is_sent(expr, rte) && !contains_sublink(expr);
        if !is_simple || !query.filter.iter().chain(&query.group_by).all(may_send) {
            return None;
        }
        let groups = query.group_by.clone();
        let mut split = Split { rte, targets: groups.clone(), groups };
        let mut outer = query.clone();
        let targets = outer.targets.iter_mut().map(|target| &mut target.expr);
        for expr in targets.chain(&mut outer.having) {
            split.rewrite(expr)?;
        }
        outer.filter = None;
        outer.group_by = (0..split.groups.len()).map(|at| split.output(at)).collect();
        let mut inner = query.clone();
        inner.on_nodes = true;
        let own = |expr: &Expr| over_one(expr.clone(), rte);
        inner.rtes = vec![query.rtes[rte].clone()];
        inner.from = vec![FromItem::Rte(0)];
        inner.filter = query.filter.as_ref().map(own);
        inner.group_by = query.group_by.iter().map(own).collect();
        let name = |at: usize| -> Arc<str> { format!("c{}", at + 1).into() };
        let targets = split.targets.iter().enumerate();
        inner.targets = targets.map(|(at, expr)| Target::plain(own(expr), name(at))).collect();
        (inner.having, inner.limit, inner.offset) = (None, None, None);
        (inner.with_ties, inner.order_by) = (false, Vec::new());
        let column = |(at, expr): (usize, &Expr)| RteColumn {
            name: name(at),
            ty: expr.ty(),
            dropped: false,
        };
        outer.rtes = vec![Rte {
            alias: Arc::clone(&query.rtes[rte].alias),
            has_alias: true,
            columns: split.targets.iter().enumerate().map(column).collect(),
            kind: RteKind::Subquery { query: Box::new(inner), lateral: false, view: None },
            inherit: false,
        }];
        outer.from = vec![FromItem::Rte(0)];
        Some(outer)
    }

    /// The plan of the partial query of [`Self::split_for_nodes`].
    pub(in super::super) fn partial_on_nodes(&mut self, query: &Query) -> Result<Plan> {
        let missing = || Error::internal("a query for nodes has no table");
        let [FromItem::Rte(rte)] = query.from[..] else { return Err(missing()) };
        let RteKind::Relation(relation) = &query.rtes[rte].kind else { return Err(missing()) };
        let relation = Arc::clone(relation);
        self.use_relation(relation.oid, RelationLock::AccessShare);
        let rows = self.tuples_of(&query.rtes[rte])?;
        let nodes = relation.distribution.as_ref().map_or(1, |of| of.nodes.len()) as f64;
        let groups = if query.group_by.is_empty() { 1.0 } else { (rows / 10.0).max(1.0) };
        let names = query.targets.iter().map(|target| Arc::clone(&target.name)).collect();
        let mut query = query.clone();
        query.on_nodes = false;
        let (remote, types) = self.node_query(query, &relation)?;
        let total = ROUND_TRIP + rows * self.costs().cpu_tuple / nodes;
        let cost = Cost { startup: total, total, rows: groups * nodes, width: 8 };
        Ok(node(PlanNode::RemoteQuery(Box::new(remote)), types, names, cost))
    }
}

impl Split {
    /// A column of the partial results.
    fn output(&self, at: usize) -> Expr {
        Expr::var(0, at, self.targets[at].ty())
    }

    /// Replaces groups and aggregates by their values over partial results. `None`: it is over something
    /// else.
    fn rewrite(&mut self, expr: &mut Expr) -> Option<()> {
        if let Some(at) = self.groups.iter().position(|group| group == expr) {
            *expr = self.output(at);
            return Some(());
        }
        match expr {
            Expr::Aggregate(aggregate) => {
                *expr = self.combined(aggregate)?;
                return Some(());
            }
            Expr::Var { .. } | Expr::Grouping { .. } | Expr::SubLink { .. } => return None,
            _ => {}
        }
        let visited: std::result::Result<(), ()> =
            expr.for_each_child_mut(&mut |child| self.rewrite(child).ok_or(()));
        visited.ok()
    }

    /// An aggregate over partial ones, with its type.
    fn combined(&mut self, call: &Aggregate) -> Option<Expr> {
        let parts = call.args.iter().chain(&call.filter);
        let is_plain = call.levels_up == 0
            && !call.distinct
            && call.order_by.is_empty()
            && call.func.is_built_in()
            && parts.clone().all(|part| is_sent(part, self.rte) && !contains_sublink(part));
        if !is_plain {
            return None;
        }
        let of = call.args.first().map_or(0, |arg| arg.ty().oid);
        let combined = match (call.func.built_in_name()?, of) {
            ("count", _) => self.number(call),
            ("sum", oid::INT2 | oid::INT4) => {
                let sum = self.partial(call.clone());
                int8(aggregate(SUM_INT8, sum, oid::NUMERIC)?)
            }
            ("sum", oid::INT8 | oid::NUMERIC) => {
                let sum = self.partial(call.clone());
                aggregate(SUM_NUMERIC, sum, oid::NUMERIC)
            }
            ("sum", oid::FLOAT8) | ("bool_and" | "bool_or" | "every", _) => self.same(call),
            ("min" | "max", of) if is_ordered_everywhere(of) => self.same(call),
            ("avg", oid::INT2 | oid::INT4 | oid::INT8 | oid::NUMERIC | oid::FLOAT8) => {
                self.average(call, of)
            }
            _ => None,
        }?;
        (combined.ty() == call.ty).then_some(combined)
    }

    /// The partial aggregate's column.
    fn partial(&mut self, call: Aggregate) -> Expr {
        let partial = Expr::Aggregate(Box::new(call));
        let known = self.targets.iter().position(|target| *target == partial);
        let at = known.unwrap_or_else(|| {
            self.targets.push(partial);
            self.targets.len() - 1
        });
        self.output(at)
    }

    /// The same aggregate over its partial results.
    fn same(&mut self, call: &Aggregate) -> Option<Expr> {
        let partial = self.partial(call.clone());
        let mut call = call.clone();
        (call.args, call.filter) = (vec![partial], None);
        Some(Expr::Aggregate(Box::new(call)))
    }

    /// The number of rows: 0 where no node has sent one.
    fn number(&mut self, call: &Aggregate) -> Option<Expr> {
        let partial = self.partial(call.clone());
        let sum = int8(aggregate(SUM_INT8, partial, oid::NUMERIC)?)?;
        let zero = Expr::Const(Datum::Int8(0), TypeRef::plain(oid::INT8));
        Some(Expr::Coalesce { args: vec![sum, zero], ty: TypeRef::plain(oid::INT8) })
    }

    /// The sum by the number. It is NULL without a value, as the sum is.
    fn average(&mut self, call: &Aggregate, of: Oid) -> Option<Expr> {
        let (sum_oid, sum_type) = match of {
            oid::INT2 => (SUM_INT2, oid::INT8),
            oid::INT4 => (SUM_INT4, oid::INT8),
            oid::INT8 => (SUM_INT8, oid::NUMERIC),
            oid::NUMERIC => (SUM_NUMERIC, oid::NUMERIC),
            _ => (SUM_FLOAT8, oid::FLOAT8),
        };
        let part = |func: Oid, ty: Oid| {
            Some(Aggregate {
                func: FunctionRef::built_in(func)?,
                ty: TypeRef::plain(ty),
                ..call.clone()
            })
        };
        let (sum, number) = (part(sum_oid, sum_type)?, part(COUNT, oid::INT8)?);
        let (sum, number) = (self.partial(sum), self.partial(number));
        let number = int8(aggregate(SUM_INT8, number, oid::NUMERIC)?)?;
        match sum_type {
            oid::FLOAT8 => {
                let sum = aggregate(SUM_FLOAT8, sum, oid::FLOAT8)?;
                let number = function(FLOAT8_OF_INT8, vec![number], oid::FLOAT8)?;
                function(FLOAT8_DIV, vec![sum, number], oid::FLOAT8)
            }
            _ => {
                let over = if sum_type == oid::INT8 { SUM_INT8 } else { SUM_NUMERIC };
                let sum = aggregate(over, sum, oid::NUMERIC)?;
                let number = function(NUMERIC_OF_INT8, vec![number], oid::NUMERIC)?;
                function(NUMERIC_DIV, vec![sum, number], oid::NUMERIC)
            }
        }
    }
}

/// Types whose order is the same on every server.
fn is_ordered_everywhere(type_oid: Oid) -> bool {
    matches!(
        type_oid,
        oid::INT2
            | oid::INT4
            | oid::INT8
            | oid::FLOAT4
            | oid::FLOAT8
            | oid::NUMERIC
            | oid::DATE
            | oid::TIME
            | oid::TIMESTAMP
            | oid::TIMESTAMPTZ
    )
}

fn int8(numeric: Expr) -> Option<Expr> {
    function(INT8_OF_NUMERIC, vec![numeric], oid::INT8)
}

fn function(func: Oid, args: Vec<Expr>, ty: Oid) -> Option<Expr> {
    let func = FunctionRef::built_in(func)?;
    Some(Expr::Func { func, args, ty: TypeRef::plain(ty), syntax: CallSyntax::Function })
}

fn aggregate(func: Oid, arg: Expr, ty: Oid) -> Option<Expr> {
    Some(Expr::Aggregate(Box::new(Aggregate {
        func: FunctionRef::built_in(func)?,
        args: vec![arg],
        distinct: false,
        order_by: Vec::new(),
        filter: None,
        star: false,
        levels_up: 0,
        ty: TypeRef::plain(ty),
        at: Place::NONE,
    })))
}
