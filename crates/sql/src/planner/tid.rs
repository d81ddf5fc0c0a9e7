//! Scans by ctid (tidpath.c): rows that are named, or those between two ctids.
//!
//! A ctid is a row's id and the number of its version. So the row is looked up by its id, and
//! found if the version that the snapshot sees has that number.

use super::cost::{Estimator, list_length, strip};
use super::scan::{ScanRequest, attributes, clamp_rows};
use super::{Planner, Rel, and_all, is_volatile, rtes_of, to_slots};
use crate::expr::{CallSyntax, Expr};
use crate::plan::*;
use steppe_catalog::builtin::Strategy;
use steppe_catalog::{OperatorRef, RelKind};
use steppe_types::{Result, oid};

/// Elements of an array that is not known.
const UNKNOWN_ARRAY: usize = 10;

impl Planner<'_> {
    /// The scan of a table by ctid, if a condition is about it.
    pub(super) fn tid_scan(&mut self, request: &ScanRequest<'_>) -> Result<Option<Rel>> {
        if !self.ctx.settings.tidscan || request.relation.kind == RelKind::Virtual {
            return Ok(None);
        }
        let named = request.conditions.iter().enumerate().find_map(|(i, condition)| {
            let mut rows = Vec::new();
            named_by(condition, request.rte, &mut rows).then_some((i, rows))
        });
        if let Some((position, rows)) = named {
            let count = rows.iter().map(TidValues::count).sum::<usize>();
            return self.finish_tid_scan(request, TidRows::Named(rows), &[position], count as f64);
        }
        let bounds: Vec<(usize, TidBound)> = request
            .conditions
            .iter()
            .enumerate()
            .filter_map(|(i, condition)| Some((i, bound_by(condition, request.rte)?)))
            .collect();
        if bounds.is_empty() {
            return Ok(None);
        }
        let (positions, bounds): (Vec<usize>, Vec<TidBound>) = bounds.into_iter().unzip();
        self.finish_tid_scan(request, TidRows::Between(bounds), &positions, 0.0)
    }

    fn finish_tid_scan(
        &mut self,
        request: &ScanRequest<'_>,
        rows: TidRows,
        decided: &[usize],
        named: f64,
    ) -> Result<Option<Rel>> {
        let (mut conditions, mut rest) = (Vec::new(), Vec::new());
        for (i, condition) in request.conditions.iter().enumerate() {
            if decided.contains(&i) { &mut conditions } else { &mut rest }.push(condition.clone());
        }
        let size = self.table_size(request.relation)?;
        let estimator = Estimator::new(self.ctx, request.rtes);
        let (costs, operators) = (&self.ctx.settings.costs, self.operators_of(&rest));
        let share = |conditions: &[Expr]| match conditions.is_empty() {
            true => 1.0,
            false => estimator.selectivity(conditions),
        };
        let (charge, found) = match &rows {
            TidRows::Named(_) => (costs.row_fetches(named, operators), named),
            TidRows::Between(_) => {
                let part = share(&conditions);
                (costs.row_range(size, part, operators), size.rows * part)
            }
        };
        let cost = charge.for_rows(clamp_rows(found * share(&rest)), self.row_width(request));
        let Some(condition) = and_all(conditions) else { return Ok(None) };
        let scan = PlanNode::TidScan {
            rel: self.scan_relation(request),
            rows,
            condition: to_slots(condition, request.columns)?,
            columns: attributes(request.columns),
        };
        self.finish_scan(request, scan, cost, rest).map(Some)
    }
}

impl TidValues {
    fn count(&self) -> usize {
        match self {
            TidValues::One(_) => 1,
            TidValues::Any(array) => list_length(array).unwrap_or(UNKNOWN_ARRAY),
        }
    }
}

fn is_ctid(expr: &Expr, of: usize) -> bool {
    matches!(strip(expr), Expr::Var { rte, column, levels_up: 0, .. }
        if *rte == of && *column == i32::from(CTID))
}

fn is_value(expr: &Expr) -> bool {
    rtes_of(expr).is_empty() && !is_volatile(expr)
}

/// `ctid = value`, `ctid = ANY (array)`, and these joined by OR.
fn named_by(condition: &Expr, rte: usize, rows: &mut Vec<TidValues>) -> bool {
    match condition {
        Expr::Or(arms) => arms.iter().all(|arm| named_by(arm, rte, rows)),
        Expr::ScalarArrayOp {
            all: false, left, array, syntax: CallSyntax::Operator(op), ..
        } if is_ctid(left, rte) && is_value(array) => {
            rows.push(TidValues::Any((**array).clone()));
            op.strategy() == Some(Strategy::Equal)
        }
        _ => match compared(condition, rte) {
            Some((Strategy::Equal, value)) => {
                rows.push(TidValues::One(value));
                true
            }
            _ => false,
        },
    }
}

fn bound_by(condition: &Expr, rte: usize) -> Option<TidBound> {
    let (strategy, value) = compared(condition, rte)?;
    let (lower, inclusive) = match strategy {
        Strategy::Greater => (true, false),
        Strategy::GreaterEqual => (true, true),
        Strategy::Less => (false, false),
        Strategy::LessEqual => (false, true),
        Strategy::Equal => return None,
    };
    Some(TidBound { value, lower, inclusive })
}

/// `ctid op value`, or the other way round.
fn compared(condition: &Expr, rte: usize) -> Option<(Strategy, Expr)> {
    let Expr::Func { syntax: CallSyntax::Operator(op), args, .. } = condition else {
        return None;
    };
    let [left, right] = args.as_slice() else { return None };
    let (value, op) = match (is_ctid(left, rte), is_ctid(right, rte)) {
        (true, false) => (right, op.clone()),
        (false, true) => (left, OperatorRef::built_in(op.commutator)?),
        _ => return None,
    };
    let usable = value.ty().oid == oid::TID && is_value(value);
    usable.then_some((op.strategy()?, value.clone()))
}
