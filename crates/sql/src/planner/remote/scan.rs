//! The scan of a distributed table for a statement that the coordinator runs itself.
//!
//! A node is asked for the columns that the statement needs, of the rows that satisfy the conditions that
//! a node can check ([`super::values`]). The other conditions are checked here. If a condition gives the
//! key, one node is asked; else all nodes that have rows.
//!
//! The scans of a statement begin together, before it is known which of them the plan reads. So their
//! parameters must be such that computing them has no effect and gives the same now and later: they are
//! over the client's parameters, stable, and call no function of a user's, which could run statements.
//! Conditions with others are checked here.

use super::super::join::FromContext;
use super::super::or_lists::as_any;
use super::super::{ColumnId, Planner, Rel, RteSet, and_all, is_volatile, node, to_slots};
use super::facts::{Facts, have_equal_hashes, is_value, places};
use super::values::{Values, is_hoisted, refusal_of};
use super::{ROUND_TRIP, refused, text};
use crate::expr::{CallSyntax, Expr, TypeRef};
use crate::plan::{Cost, PlanNode, RelationLock, RemoteEffect, RemoteQuery, RemoteTarget};
use crate::query::{Command, FromItem, Query, Target};
use std::sync::Arc;
use steppe_catalog::builtin::Strategy;
use steppe_catalog::system::definitions::quote_identifier;
use steppe_catalog::{OperatorRef, Relation};
use steppe_types::oid::{self, FIRST_NORMAL_OID};
use steppe_types::{Error, Oid, Result};

impl Planner<'_> {
    /// The scan of an entry that is a distributed table.
    pub(in super::super) fn remote_scan(
        &mut self,
        from: &FromContext<'_>,
        rte: usize,
        relation: &Arc<Relation>,
        conditions: Vec<Expr>,
    ) -> Result<Rel> {
        self.use_relation(relation.oid, RelationLock::AccessShare);
        let rows = self.tuples_of(&from.rtes[rte])?;
        self.note_base(from, rte, &conditions, rows);
        let selected = rows * from.estimator(self).selectivity(&conditions);
        let layout: Vec<ColumnId> = from.columns.get(&rte).cloned().unwrap_or_default();
        let columns: Vec<i16> = layout.iter().map(|(_, attnum)| *attnum).collect();
        if columns.iter().any(|attnum| *attnum <= 0) {
            return Err(refused(relation, "a system column of distributed table"));
        }
        let (sent, kept): (Vec<Expr>, Vec<Expr>) =
            conditions.into_iter().partition(|condition| is_sent(condition, rte));
        let (remote, types) = self.scan_query(from, (rte, relation), &columns, sent)?;
        let alias = quote_identifier(&from.rtes[rte].alias);
        let names = columns.iter().map(|attnum| {
            let column = &relation.columns[usize::try_from(*attnum - 1).unwrap_or(0)];
            format!("{alias}.{}", quote_identifier(&column.name)).into()
        });
        let costs = self.costs();
        let cost = Cost {
            startup: ROUND_TRIP,
            total: ROUND_TRIP + rows * costs.cpu_tuple + selected * costs.cpu_tuple,
            rows: selected.max(1.0),
            width: types.iter().map(|ty| super::super::scan::type_width(*ty)).sum(),
        };
        let names = names.collect();
        let mut plan = node(PlanNode::RemoteQuery(Box::new(remote)), types, names, cost);
        plan.filter = and_all(kept).map(|filter| to_slots(filter, &layout)).transpose()?;
        Ok(Rel { plan, layout, rtes: RteSet::one(rte) })
    }

    /// The statement for the nodes: SELECT of the columns, with the conditions that are sent.
    fn scan_query(
        &mut self,
        from: &FromContext<'_>,
        (rte, relation): (usize, &Arc<Relation>),
        columns: &[i16],
        sent: Vec<Expr>,
    ) -> Result<(RemoteQuery, Vec<TypeRef>)> {
        let entry = &from.rtes[rte];
        let column = |attnum: &i16| {
            let at = usize::try_from(*attnum - 1).unwrap_or(0);
            let named = entry.columns.get(at);
            let named = named.ok_or_else(|| Error::internal("a column is missing"))?;
            Ok(Target::plain(Expr::var(0, at, named.ty), Arc::clone(&named.name)))
        };
        let mut query = Query::new(Command::Select);
        query.rtes = vec![entry.clone()];
        query.from = vec![FromItem::Rte(0)];
        query.targets = columns.iter().map(column).collect::<Result<_>>()?;
        query.filter =
            and_all(sent.into_iter().map(|condition| over_one(condition, rte)).collect());
        self.node_query(query, relation)
    }

    /// The statement for the nodes of a query of one table. Returns the types of its columns, too.
    pub(super) fn node_query(
        &mut self,
        mut query: Query,
        relation: &Arc<Relation>,
    ) -> Result<(RemoteQuery, Vec<TypeRef>)> {
        let types: Vec<TypeRef> = query.targets.iter().map(|target| target.expr.ty()).collect();
        let mut target = self.scan_target(&mut query, relation)?;
        let params_before = self.scan_params;
        let mut values = Values::new(self.param_types.len());
        let keys = match &target {
            RemoteTarget::Every(_) => lift_keys(&mut query, relation, &mut values),
            _ => None,
        };
        values.hoist(&mut query, relation)?;
        let (text, params) =
            Values::numbered(params_before, |name| text::of(self.ctx.catalog, &mut query, name))?;
        if let Some((distribution, type_oid)) =
            relation.distribution.clone().zip(key_type(relation))
            && let Some(place) = params.iter().position(|param| Some(*param) == keys)
        {
            target = RemoteTarget::Keys { distribution, place, type_oid };
        }
        self.scan_params += params.len();
        let params =
            params.into_iter().map(|index| values.value(index, &self.param_types)).collect();
        let (effect, columns) = (RemoteEffect::Read, types.clone());
        Ok((
            RemoteQuery {
                text: text.into(),
                params,
                target,
                effect,
                columns,
                params_before,
                is_whole: false,
            },
            types,
        ))
    }

    fn scan_target(&self, query: &mut Query, relation: &Relation) -> Result<RemoteTarget> {
        let Some(distribution) = &relation.distribution else {
            return Err(Error::internal("the table is not distributed"));
        };
        if distribution.is_replicated() {
            return Ok(RemoteTarget::Any(distribution.nodes.clone()));
        }
        let key = distribution.key().and_then(|key| usize::try_from(key - 1).ok());
        let facts = Facts::of(query)?;
        let value = key.and_then(|key| facts.values_of((0, 0, key)).into_iter().next());
        Ok(match (key, value) {
            (Some(key), Some(value)) => RemoteTarget::Key {
                distribution: Arc::clone(distribution),
                key: value,
                type_oid: relation.columns.get(key).map_or(0, |column| column.type_oid),
                others: Box::default(),
            },
            _ => RemoteTarget::Every(distribution.nodes.clone()),
        })
    }
}

/// The position of the distribution column.
fn key_of(relation: &Relation) -> Option<usize> {
    let key = relation.distribution.as_ref()?.key()?;
    usize::try_from(key - 1).ok()
}

fn key_type(relation: &Relation) -> Option<Oid> {
    relation.columns.get(key_of(relation)?).map(|column| column.type_oid)
}

/// Makes the list of keys that a condition of the query has a parameter, of which each node gets its part.
/// Returns the parameter.
fn lift_keys(query: &mut Query, relation: &Relation, values: &mut Values) -> Option<usize> {
    let key = key_of(relation)?;
    let conditions: &mut [Expr] = match query.filter.as_mut()? {
        Expr::And(parts) => parts,
        one => std::slice::from_mut(one),
    };
    for condition in conditions {
        let listed = match &*condition {
            Expr::Or(arms) => as_any(arms, |arm| key_equality(arm, key)),
            other => Some(other.clone()),
        };
        let Some(mut listed) = listed else { continue };
        let Expr::ScalarArrayOp { all: false, left, array, syntax, .. } = &mut listed else {
            continue;
        };
        let CallSyntax::Operator(op) = &*syntax else { continue };
        if op.strategy() == Some(Strategy::Equal)
            && is_key(left, key)
            && places(left.ty().oid)
            && have_equal_hashes(op.left, op.right)
            && is_value(array)
        {
            **array = values.parameter(array);
            let Expr::Param { index, .. } = **array else { return None };
            *condition = listed;
            return Some(index);
        }
    }
    None
}

/// An arm of an OR that compares the key with a value.
fn key_equality(arm: &Expr, key: usize) -> Option<(&Expr, OperatorRef, &Expr)> {
    let Expr::Func { syntax: CallSyntax::Operator(op), args, .. } = arm else { return None };
    let [left, right] = args.as_slice() else { return None };
    let is_equality = op.strategy() == Some(Strategy::Equal);
    match is_equality && is_key(left, key) && is_value(right) {
        true => Some((left, op.clone(), right)),
        false if is_equality && is_key(right, key) && is_value(left) => {
            Some((right, OperatorRef::built_in(op.commutator)?, left))
        }
        false => None,
    }
}

/// Whether an expression is the key, or its characters.
fn is_key(expr: &Expr, key: usize) -> bool {
    match expr {
        Expr::Var { rte: 0, column, levels_up: 0, .. } => usize::try_from(*column) == Ok(key),
        Expr::Relabel { arg, ty, .. } if ty.oid == oid::TEXT && arg.ty().oid == oid::VARCHAR => {
            is_key(arg, key)
        }
        _ => false,
    }
}

/// Whether a node can check a condition on the columns of one entry.
pub(super) fn is_sent(condition: &Expr, rte: usize) -> bool {
    // The coordinator computes nothing in a branch, which may never be evaluated.
    fn is_known(expr: &Expr, rte: usize, in_branch: bool) -> bool {
        let is_branch = in_branch || matches!(expr, Expr::Case { .. } | Expr::Coalesce { .. });
        match expr {
            Expr::Var { rte: own, levels_up, .. } if *own != rte || *levels_up != 0 => false,
            Expr::ExecParam { .. } | Expr::SubPlan(_) | Expr::SubLink { .. } => false,
            expr if !in_branch && is_hoisted(expr) => !calls_user(expr),
            expr => {
                refusal_of(expr).is_none()
                    && !expr.any_child(|part| !is_known(part, rte, is_branch))
            }
        }
    }
    !is_volatile(condition) && is_known(condition, rte, false)
}

/// Whether an expression may call a function of a user's: by itself, or as a domain's check.
fn calls_user(expr: &Expr) -> bool {
    let is_user = match expr {
        Expr::Func { func, .. }
        | Expr::Distinct { eq: func, .. }
        | Expr::NullIf { eq: func, .. }
        | Expr::ScalarArrayOp { func, .. } => !func.is_built_in(),
        Expr::RowCompare { lt, eq, .. } => lt.iter().chain(eq).any(|func| !func.is_built_in()),
        Expr::Domain { .. } | Expr::DomainValue(_) => true,
        other => other.ty().oid >= FIRST_NORMAL_OID,
    };
    is_user || expr.any_child(calls_user)
}

/// A condition on an entry, which is the only one of another query.
pub(super) fn over_one(condition: Expr, rte: usize) -> Expr {
    let moved: std::result::Result<Expr, std::convert::Infallible> =
        condition.transform(&mut |expr| {
            Ok(match expr {
                Expr::Var { rte: own, column, levels_up: 0, ty, at } if own == rte => {
                    Expr::Var { rte: 0, column, levels_up: 0, ty, at }
                }
                other => other,
            })
        });
    match moved {
        Ok(expr) => expr,
        Err(never) => match never {},
    }
}
