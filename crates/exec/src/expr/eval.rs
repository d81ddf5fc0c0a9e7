//! Evaluation of compiled expressions (PostgreSQL's execExprInterp.c).
//!
//! Three-valued logic: `test` returns `None` for unknown. AND and OR stop at the first operand that
//! decides, left to right, as PostgreSQL's do.

use super::{ArrayOp, BinaryTest, CExpr, Call, Case, Compare, Distinct, InSet, Row};
use super::{RowCompare, SpiCall, TypedCall, array};
use crate::context::ExecContext;
use crate::spi::Spi;
use std::cmp::Ordering;
use steppe_functions::{CmpOp, transaction_id};
use steppe_sql::expr::{BoolTest, RowCompareOp};
use steppe_types::compare::{HashedDatum, compare_as, equal_as};
use steppe_types::{Datum, Error, Oid, Result};

impl CExpr {
    /// The elements of a list of expressions (`IN (…)`, `ARRAY[…]`), if this is one.
    pub(crate) fn elements(&self) -> Option<&[CExpr]> {
        match self {
            CExpr::Array(ctor) if !ctor.multidim => Some(&ctor.elements),
            _ => None,
        }
    }

    /// The value over `row`.
    pub(crate) fn eval(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<Datum> {
        match self {
            CExpr::Const(datum) => Ok(datum.clone()),
            CExpr::Slot(index) => row.get(*index).cloned().ok_or_else(|| no_slot(*index)),
            CExpr::Param(index) => cx.param(*index).cloned(),
            CExpr::ExecParam(id) => Ok(cx.exec_param(*id).clone()),
            CExpr::CaseOperand => Ok(cx.case_operand.clone()),
            CExpr::DomainValue => Ok(cx.domain_value.clone()),
            CExpr::Domain(domain) => super::domain::check(domain, cx, row),
            CExpr::Call(call) => call.eval(cx, row),
            CExpr::TypedCall(call) => call.eval(cx, row),
            CExpr::SpiCall(call) => call.eval(cx, row),
            CExpr::RoutineCall(call) => call.eval(cx, row),
            CExpr::InFunction { call, context } => {
                call.eval(cx, row).map_err(|error| error.context(&**context))
            }
            CExpr::TransactionId(type_oid) => {
                Ok(transaction_id(cx.txn()?.txn.assign_xid(), *type_oid))
            }
            CExpr::Coalesce(args) => {
                for arg in args {
                    let value = arg.eval(cx, row)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Datum::Null)
            }
            CExpr::Case(case) => case.choose(cx, row),
            CExpr::NullIf(d) => {
                let left = d.left.eval(cx, row)?;
                let right = d.right.eval(cx, row)?;
                let equal = !left.is_null()
                    && !right.is_null()
                    && d.eq.test(cx, &left, &right)? == Some(true);
                Ok(if equal { Datum::Null } else { left })
            }
            CExpr::MinMax { greatest, type_oid, args } => {
                eval_min_max(*greatest, *type_oid, args, cx, row)
            }
            CExpr::Array(ctor) => array::construct(ctor, cx, row),
            CExpr::Subscript(s) => match &s.assigned {
                None => array::subscript(s, cx, row),
                Some((value, element)) => super::array_assign::assign(s, value, *element, cx, row),
            },
            CExpr::Row(args) => {
                let values = args.iter().map(|a| a.eval(cx, row)).collect::<Result<Vec<_>>>()?;
                Ok(Datum::Record(values.into()))
            }
            CExpr::Field { arg, index } => match arg.leaf(row) {
                // The field of a column or of a variable, without a clone of the others.
                Some(Datum::Record(columns)) => {
                    columns.get(*index).cloned().ok_or_else(|| no_slot(*index))
                }
                Some(Datum::Null) => Ok(Datum::Null),
                _ => field(arg.eval(cx, row)?, *index),
            },
            CExpr::ViaIo(via) => {
                let value = via.arg.eval(cx, row)?;
                steppe_functions::as_text::cast_via_text(
                    &value,
                    via.from,
                    via.to,
                    &mut cx.functions,
                )
            }
            CExpr::AsOid(arg) => Ok(match arg.eval(cx, row)? {
                Datum::Int4(v) => Datum::Oid(v as u32),
                other => other,
            }),
            CExpr::AsInt4(arg) => Ok(match arg.eval(cx, row)? {
                Datum::Oid(v) => Datum::Int4(v as i32),
                other => other,
            }),
            CExpr::ArrayCoerce(c) => array::coerce(c, cx, row),
            CExpr::SubPlan(sub) => super::subplan::eval(sub, cx, row),
            // Everything else is a condition.
            _ => Ok(match self.test(cx, row)? {
                Some(value) => Datum::Bool(value),
                None => Datum::Null,
            }),
        }
    }

    /// The truth value over `row`; `None` is unknown.
    pub(crate) fn test(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<Option<bool>> {
        match self {
            CExpr::Compare(compare) => compare.test(cx, row),
            CExpr::And(args) => {
                let mut unknown = false;
                for arg in args {
                    match arg.test(cx, row)? {
                        Some(false) => return Ok(Some(false)),
                        Some(true) => {}
                        None => unknown = true,
                    }
                }
                Ok(if unknown { None } else { Some(true) })
            }
            CExpr::Or(args) => {
                let mut unknown = false;
                for arg in args {
                    match arg.test(cx, row)? {
                        Some(true) => return Ok(Some(true)),
                        Some(false) => {}
                        None => unknown = true,
                    }
                }
                Ok(if unknown { None } else { Some(false) })
            }
            CExpr::Not(arg) => Ok(arg.test(cx, row)?.map(|v| !v)),
            CExpr::IsNull { arg, negated } => {
                let value = arg.eval(cx, row)?;
                Ok(Some(is_null_test(&value, *negated)))
            }
            CExpr::BoolTest { arg, test } => {
                let value = arg.test(cx, row)?;
                Ok(Some(match test {
                    BoolTest::True => value == Some(true),
                    BoolTest::NotTrue => value != Some(true),
                    BoolTest::False => value == Some(false),
                    BoolTest::NotFalse => value != Some(false),
                    BoolTest::Unknown => value.is_none(),
                    BoolTest::NotUnknown => value.is_some(),
                }))
            }
            CExpr::Distinct(d) => d.test(cx, row).map(Some),
            CExpr::InSet(set) => set.test(cx, row),
            CExpr::ArrayOp(op) => op.test(cx, row),
            CExpr::RowCompare(compare) => compare.test(cx, row),
            CExpr::SubPlan(sub) => truth(&super::subplan::eval(sub, cx, row)?),
            CExpr::Const(datum) => truth(datum),
            CExpr::Slot(index) => truth(row.get(*index).ok_or_else(|| no_slot(*index))?),
            _ => truth(&self.eval(cx, row)?),
        }
    }

    /// Whether the condition holds (unknown is false).
    #[inline]
    pub(crate) fn holds(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<bool> {
        Ok(self.test(cx, row)? == Some(true))
    }

    /// The value without evaluating anything: constants and columns.
    #[inline]
    fn leaf<'a>(&'a self, row: Row<'a>) -> Option<&'a Datum> {
        match self {
            CExpr::Const(datum) => Some(datum),
            CExpr::Slot(index) => row.get(*index),
            _ => None,
        }
    }
}

#[cold]
fn no_slot(index: usize) -> Error {
    Error::internal(format!("input row has no column {index}"))
}

/// A column of a composite value.
fn field(value: Datum, index: usize) -> Result<Datum> {
    match value {
        Datum::Null => Ok(Datum::Null),
        Datum::Record(columns) => columns.get(index).cloned().ok_or_else(|| no_slot(index)),
        _ => Err(Error::internal("field selection from a value that is not composite")),
    }
}

/// A boolean datum as a truth value.
#[inline]
pub(crate) fn truth(datum: &Datum) -> Result<Option<bool>> {
    match datum {
        Datum::Bool(value) => Ok(Some(*value)),
        Datum::Null => Ok(None),
        _ => Err(Error::internal("condition is not boolean")),
    }
}

/// IS [NOT] NULL. For a composite value it checks all columns.
pub(crate) fn is_null_test(value: &Datum, negated: bool) -> bool {
    match value {
        Datum::Record(columns) => columns.iter().all(|c| c.is_null() != negated),
        other => other.is_null() != negated,
    }
}

impl Compare {
    fn test(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<Option<bool>> {
        // Columns and constants are compared where they are, without a clone.
        match (self.left.leaf(row), self.right.leaf(row)) {
            (Some(left), Some(right)) => Ok(compare(self.op, self.type_oid, left, right)),
            (Some(left), None) => {
                if let CExpr::Param(index) = self.right {
                    return Ok(compare(self.op, self.type_oid, left, cx.param(index)?));
                }
                if let CExpr::ExecParam(id) = self.right {
                    return Ok(compare(self.op, self.type_oid, left, cx.exec_param(id)));
                }
                let right = self.right.eval(cx, row)?;
                Ok(compare(self.op, self.type_oid, left, &right))
            }
            (None, Some(right)) => {
                let left = self.left.eval(cx, row)?;
                Ok(compare(self.op, self.type_oid, &left, right))
            }
            (None, None) => {
                let left = self.left.eval(cx, row)?;
                let right = self.right.eval(cx, row)?;
                Ok(compare(self.op, self.type_oid, &left, &right))
            }
        }
    }
}

/// SQL comparison: unknown if either side is NULL.
#[inline]
pub(crate) fn compare(op: CmpOp, type_oid: Oid, left: &Datum, right: &Datum) -> Option<bool> {
    if left.is_null() || right.is_null() {
        return None;
    }
    Some(match op {
        CmpOp::Eq => equal_as(type_oid, left, right),
        CmpOp::Ne => !equal_as(type_oid, left, right),
        _ => op.accepts(compare_as(type_oid, left, right)),
    })
}

impl Call {
    #[inline]
    fn eval(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<Datum> {
        match &*self.args {
            [] => (self.function)(&[], &mut cx.functions),
            [a] => {
                let a = a.eval(cx, row)?;
                if self.strict && a.is_null() {
                    return Ok(Datum::Null);
                }
                (self.function)(&[a], &mut cx.functions)
            }
            [a, b] => {
                let a = a.eval(cx, row)?;
                if self.strict && a.is_null() {
                    return Ok(Datum::Null);
                }
                let b = b.eval(cx, row)?;
                if self.strict && b.is_null() {
                    return Ok(Datum::Null);
                }
                (self.function)(&[a, b], &mut cx.functions)
            }
            args => match eval_args(args, self.strict, cx, row)? {
                Some(values) => (self.function)(&values, &mut cx.functions),
                None => Ok(Datum::Null),
            },
        }
    }
}

impl TypedCall {
    fn eval(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<Datum> {
        match eval_args(&self.args, self.strict, cx, row)? {
            Some(values) => (self.function)(&values, &self.info, &mut cx.functions),
            None => Ok(Datum::Null),
        }
    }
}

impl SpiCall {
    #[cold]
    fn eval(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<Datum> {
        match eval_args(&self.args, self.strict, cx, row)? {
            Some(values) => (self.function)(&values, &self.info, &mut Spi::new(cx)),
            None => Ok(Datum::Null),
        }
    }
}

/// The arguments' values; `None` if a strict function has a NULL argument.
pub(crate) fn eval_args(
    args: &[CExpr],
    strict: bool,
    cx: &mut ExecContext,
    row: Row<'_>,
) -> Result<Option<Vec<Datum>>> {
    let mut values = Vec::with_capacity(args.len());
    for arg in args {
        let value = arg.eval(cx, row)?;
        if strict && value.is_null() {
            return Ok(None);
        }
        values.push(value);
    }
    Ok(Some(values))
}

impl BinaryTest {
    /// The test over two values.
    pub(crate) fn test(
        &self,
        cx: &mut ExecContext,
        left: &Datum,
        right: &Datum,
    ) -> Result<Option<bool>> {
        let skip = |strict: bool| strict && (left.is_null() || right.is_null());
        match self {
            BinaryTest::Compare(op, type_oid) => Ok(compare(*op, *type_oid, left, right)),
            BinaryTest::Call { strict, .. } | BinaryTest::Typed { strict, .. } if skip(*strict) => {
                Ok(None)
            }
            BinaryTest::Routine(routine) if skip(routine.function.strict) => Ok(None),
            BinaryTest::Routine(routine) => {
                truth(&routine.value(&[left.clone(), right.clone()], cx)?)
            }
            BinaryTest::Call { function, .. } => {
                truth(&function(&[left.clone(), right.clone()], &mut cx.functions)?)
            }
            BinaryTest::Typed { function, info, .. } => {
                truth(&function(&[left.clone(), right.clone()], info, &mut cx.functions)?)
            }
        }
    }
}

impl Distinct {
    fn test(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<bool> {
        let left = self.left.eval(cx, row)?;
        let right = self.right.eval(cx, row)?;
        let distinct = match (left.is_null(), right.is_null()) {
            (true, true) => false,
            (false, false) => self.eq.test(cx, &left, &right)? != Some(true),
            _ => true,
        };
        Ok(distinct != self.negated)
    }
}

impl Case {
    fn choose(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<Datum> {
        let Some(operand) = &self.operand else {
            return self.choose_branch(cx, row);
        };
        let operand = operand.eval(cx, row)?;
        let outer = std::mem::replace(&mut cx.case_operand, operand);
        let result = self.choose_branch(cx, row);
        cx.case_operand = outer;
        result
    }

    fn choose_branch(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<Datum> {
        for (when, then) in &self.whens {
            if when.holds(cx, row)? {
                return then.eval(cx, row);
            }
        }
        self.otherwise.eval(cx, row)
    }
}

fn eval_min_max(
    greatest: bool,
    type_oid: Oid,
    args: &[CExpr],
    cx: &mut ExecContext,
    row: Row<'_>,
) -> Result<Datum> {
    let wanted = if greatest { Ordering::Greater } else { Ordering::Less };
    let mut best = Datum::Null;
    for arg in args {
        let value = arg.eval(cx, row)?;
        if value.is_null() {
            continue;
        }
        if best.is_null() || compare_as(type_oid, &value, &best) == wanted {
            best = value;
        }
    }
    Ok(best)
}

impl InSet {
    fn test(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<Option<bool>> {
        let value = self.left.eval(cx, row)?;
        if value.is_null() {
            return Ok(None);
        }
        let found = self.values.contains(&HashedDatum { type_oid: self.type_oid, value });
        Ok(match (found, self.has_null) {
            (true, _) => Some(!self.negated),
            (false, true) => None,
            (false, false) => Some(self.negated),
        })
    }
}

impl ArrayOp {
    fn test(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<Option<bool>> {
        let left = self.left.eval(cx, row)?;
        let array = match self.array.eval(cx, row)? {
            Datum::Null => return Ok(None),
            Datum::Array(array) => array,
            _ => return Err(Error::internal("ANY or ALL over a value that is not an array")),
        };
        let mut unknown = false;
        for element in &array.elements {
            match self.test.test(cx, &left, element)? {
                Some(value) if value != self.all => return Ok(Some(value)),
                Some(_) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { None } else { Some(self.all) })
    }
}

impl RowCompare {
    /// The first pair of columns that differs decides. A NULL before it makes the result unknown.
    fn test(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<Option<bool>> {
        let pairs = self.left.iter().zip(&self.right).zip(&self.types);
        for ((left, right), type_oid) in pairs {
            let left = left.eval(cx, row)?;
            let right = right.eval(cx, row)?;
            if left.is_null() || right.is_null() {
                return Ok(None);
            }
            let order = match type_oid {
                Some(type_oid) => compare_as(*type_oid, &left, &right),
                None => steppe_functions::order_of_times(&left, &right, &cx.functions)?,
            };
            match order {
                Ordering::Equal => {}
                order => {
                    let less = matches!(self.op, RowCompareOp::Lt | RowCompareOp::Le);
                    return Ok(Some((order == Ordering::Less) == less));
                }
            }
        }
        Ok(Some(matches!(self.op, RowCompareOp::Le | RowCompareOp::Ge)))
    }
}
