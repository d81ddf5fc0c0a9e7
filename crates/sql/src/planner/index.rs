//! The conditions that an index can use, and the order that it yields (indxpath.c, pathkeys.c).
//!
//! A key is a column or an expression. A condition uses a key if one of its sides
//! is the key and the other does not depend on the row. Expressions are compared
//! as the binder left them, however their casts were written.

use super::cost::strip;
use super::inline_functions::index_exprs;
use super::or_lists::as_any;
use super::scan::ScanRequest;
use super::{is_volatile, rtes_of};
use crate::bind::index::IndexExprs;
use crate::expr::{CallSyntax, Expr};
use crate::implies::{canonical, equivalent};
use crate::query::{OrderBy, Target};
use std::rc::Rc;
use std::sync::Arc;
use steppe_catalog::builtin::Strategy;
use steppe_catalog::{Catalog, IndexInfo, OperatorRef, Relation};
use steppe_types::{Datum, Oid, Result, oid};

/// An index with its expressions bound over the query's range-table entry.
pub(super) struct CandidateIndex {
    pub(super) relation: Arc<Relation>,
    pub(super) keys: Vec<Key>,
    /// Only rows for which it is true are in the index.
    pub(super) predicate: Option<Expr>,
    /// Constants occur in its expressions or predicate.
    pub(super) has_constants: bool,
    /// Values that parameters may have, where a pattern is one.
    pub(super) examples: Rc<[Datum]>,
}

/// One key of an index.
pub(super) struct Key {
    pub(super) source: Source,
    pub(super) type_oid: Oid,
}

pub(super) enum Source {
    /// Attribute number.
    Column(i16),
    /// In canonical form.
    Expr(Expr),
}

impl CandidateIndex {
    /// An index as the entry `rte` of a query sees it; `None` if it is no index.
    pub(super) fn new(
        catalog: &Catalog,
        table: &Arc<Relation>,
        index: &Arc<Relation>,
        rte: usize,
    ) -> Result<Option<CandidateIndex>> {
        let Some(info) = &index.index else { return Ok(None) };
        let computes = info.predicate.is_some() || info.keys.iter().any(|k| k.expression.is_some());
        let mut exprs = match computes {
            true => index_exprs(catalog, table, info)?,
            false => IndexExprs::default(),
        };
        for expr in exprs.keys.iter_mut().flatten().chain(&mut exprs.predicate) {
            let bound = std::mem::replace(expr, Expr::boolean(true));
            *expr = canonical(over_entry(bound, rte));
        }
        let has_constants = exprs.keys.iter().flatten().chain(&exprs.predicate).any(has_constant);
        let mut bound = exprs.keys.into_iter();
        let keys = info.keys.iter().map(|key| Key {
            source: match bound.next().flatten() {
                Some(expr) => Source::Expr(expr),
                None => Source::Column(key.attnum),
            },
            type_oid: key.type_oid,
        });
        Ok(Some(CandidateIndex {
            relation: index.clone(),
            keys: keys.collect(),
            predicate: exprs.predicate,
            has_constants,
            examples: Rc::from([]),
        }))
    }

    /// The definition of the index.
    pub(super) fn info(&self) -> &IndexInfo {
        // `new` makes no candidate of anything else.
        self.relation.index.as_ref().unwrap_or_else(|| unreachable!("a candidate is an index"))
    }

    /// Whether the index yields the order: `Some(backward)`. Keys bound by equality count as
    /// sorted already.
    pub(super) fn provides_order(
        &self,
        request: &ScanRequest<'_>,
        targets: &[Target],
        order_by: &[OrderBy],
    ) -> Option<bool> {
        let fixed = self.matching(request.rte, request.conditions, false);
        let is_fixed = |expr: &Expr| {
            let is_it = |(i, key): (usize, &Key)| fixed.is_fixed(i) && key.is(expr, request.rte);
            self.keys.iter().enumerate().any(is_it)
        };
        let mut keys = self.keys.iter().zip(&self.info().keys).enumerate();
        let mut backward = None;
        for order in order_by {
            let wanted = &targets[order.target].expr;
            if is_fixed(wanted) {
                continue;
            }
            let (key, stored) = loop {
                let (i, pair) = keys.next()?;
                if !fixed.is_fixed(i) {
                    break pair;
                }
            };
            if !key.is(wanted, request.rte) {
                return None;
            }
            let not_null = match key.source {
                Source::Column(attnum) => request.relation.is_not_null_below(attnum as usize - 1),
                Source::Expr(_) => false,
            };
            let same_nulls = stored.nulls_first == order.nulls_first || not_null;
            let opposite_nulls = stored.nulls_first != order.nulls_first || not_null;
            let direction = match stored.descending == order.descending {
                true if same_nulls => false,
                false if opposite_nulls => true,
                _ => return None,
            };
            if *backward.get_or_insert(direction) != direction {
                return None;
            }
        }
        Some(backward.unwrap_or(false))
    }
}

impl Key {
    /// An expression that was bound over a table, as the entry `rte` of a query has it.
    pub(super) fn of_expr(bound: Expr, rte: usize) -> Key {
        let type_oid = bound.ty().oid;
        Key { source: Source::Expr(canonical(over_entry(bound, rte))), type_oid }
    }

    /// Whether an expression is this key.
    pub(super) fn is(&self, expr: &Expr, rte: usize) -> bool {
        match &self.source {
            Source::Column(attnum) => {
                matches!(strip(expr), Expr::Var { rte: r, column, levels_up: 0, .. }
                    if *r == rte && *column + 1 == i32::from(*attnum))
            }
            Source::Expr(key) => equivalent(expr, key) || equivalent(strip(expr), strip(key)),
        }
    }

    /// `key op value` or `value op key`, as (strategy from the key's side, value).
    pub(super) fn comparison(&self, condition: &Expr, rte: usize) -> Option<(Strategy, Expr)> {
        let Expr::Func { syntax: CallSyntax::Operator(op), args, .. } = condition else {
            return None;
        };
        let [left, right] = args.as_slice() else { return None };
        let (value, op) = if self.is(left, rte) {
            (right, op.clone())
        } else if self.is(right, rte) {
            (left, OperatorRef::built_in(op.commutator)?)
        } else {
            return None;
        };
        let comparable = same_ordering(op.left, op.right) && same_ordering(self.type_oid, op.left)
            || is_family_pair(self.type_oid, op.left, op.right);
        let usable = comparable && rtes_of(value).is_empty() && !is_volatile(value);
        usable.then_some((op.strategy()?, value.clone()))
    }

    /// Whether a value can be compared with the key in its own order.
    pub(super) fn is_comparable(&self, column: Oid, value: &Expr) -> bool {
        same_ordering(self.type_oid, column)
            && same_ordering(column, value.ty().oid)
            && rtes_of(value).is_empty()
            && !is_volatile(value)
    }

    /// The array whose elements a condition lets the key be, with the condition on that if it was
    /// an OR.
    pub(super) fn any(&self, condition: &Expr, rte: usize) -> Option<(Expr, Option<Expr>)> {
        if let Expr::Or(arms) = condition {
            let any = as_any(arms, |arm| self.equal_arm(arm, rte))?;
            let Expr::ScalarArrayOp { array, .. } = &any else { return None };
            return Some(((**array).clone(), Some(any)));
        }
        let Expr::ScalarArrayOp {
            all: false, left, array, syntax: CallSyntax::Operator(op), ..
        } = condition
        else {
            return None;
        };
        let usable = self.is(left, rte)
            && op.strategy() == Some(Strategy::Equal)
            && same_ordering(op.left, op.right)
            && same_ordering(self.type_oid, op.left)
            && rtes_of(array).is_empty()
            && !is_volatile(array);
        usable.then(|| ((**array).clone(), None))
    }

    /// `key = value`, or the other way round: the key, the operator, the value.
    fn equal_arm<'e>(
        &self,
        arm: &'e Expr,
        rte: usize,
    ) -> Option<(&'e Expr, OperatorRef, &'e Expr)> {
        let Expr::Func { syntax: CallSyntax::Operator(op), args, .. } = arm else { return None };
        let [left, right] = args.as_slice() else { return None };
        let (Strategy::Equal, _) = self.comparison(arm, rte)? else { return None };
        match self.is(left, rte) {
            true => Some((left, op.clone(), right)),
            false => Some((right, OperatorRef::built_in(op.commutator)?, left)),
        }
    }
}

/// Columns of a table expression as those of the query's entry.
pub(super) fn over_entry(expr: Expr, entry: usize) -> Expr {
    let moved = expr.transform::<std::convert::Infallible>(&mut |e| {
        Ok(match e {
            Expr::Var { column, levels_up, ty, at, .. } => {
                Expr::Var { rte: entry, column, levels_up, ty, at }
            }
            other => other,
        })
    });
    match moved {
        Ok(expr) => expr,
        Err(never) => match never {},
    }
}

fn has_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Const(..)) || expr.any_child(has_constant)
}

/// Whether an operator of the key's own family compares the key with a value of another type, and
/// the place of the value among the key's own does not depend on the time zone (datetime_ops,
/// float_ops).
fn is_family_pair(key: Oid, left: Oid, right: Oid) -> bool {
    let is_pair = matches!(
        (left, right),
        (oid::DATE, oid::TIMESTAMP)
            | (oid::TIMESTAMP, oid::DATE)
            | (oid::FLOAT4, oid::FLOAT8)
            | (oid::FLOAT8, oid::FLOAT4)
    );
    is_pair && key == left
}

/// Types whose values have the same index keys: the same type, integers among each other, text and
/// varchar.
pub(crate) fn same_ordering(a: Oid, b: Oid) -> bool {
    let class = |t: Oid| match t {
        oid::INT2 | oid::INT4 | oid::INT8 => oid::INT8,
        oid::TEXT | oid::VARCHAR => oid::TEXT,
        oid::OID
        | oid::REGCLASS
        | oid::REGTYPE
        | oid::REGPROC
        | oid::REGPROCEDURE
        | oid::REGNAMESPACE
        | oid::REGROLE
        | oid::REGOPER
        | oid::REGOPERATOR => oid::OID,
        // Operators are those of any enum; a value is always of the column's own.
        other if oid::is_enum_type(other) => oid::ANYENUM,
        other => other,
    };
    class(a) == class(b)
}
