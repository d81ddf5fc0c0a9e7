//! Expressions over columns.
//!
//! [`VExpr::compile`] turns a bound expression into nodes that are evaluated for all rows of a
//! batch at once (Boncz, Zukowski and Nes, "MonetDB/X100", CIDR 2005). If the operands of a call
//! have a representation that a kernel knows, the kernel's loop runs. For any other batch the same
//! call runs row by row, over datums. So a kernel changes only the time:
//!
//! ```text
//!   Call { kernel, args, by_row }
//!     args ──▶ kernel: typed loop ──▶ vector
//!                └─ None: not these types, an overflow ──▶ by_row for each row ──▶ vector
//!                                                            └─ error ──▶ GiveUp
//! ```
//!
//! AND, OR, CASE and COALESCE evaluate an operand only for the rows for which the row path would
//! evaluate it. These rows are gathered ([`Input`]), so that kernels always see dense values.

mod arithmetic;
mod case;
mod compare;
mod compile;
mod convert;
mod in_list;
mod like;
mod logic;
mod rowwise;
#[cfg(test)]
mod tests;
mod text;

use super::{ColumnBatch, Data, IntKind, Nulls, Vector};
use crate::context::ExecContext;
use crate::expr::{CExpr, CSubPlan, Row, kept_value};
use std::borrow::Cow;
use std::sync::Arc;
use steppe_sql::expr::BoolTest;
use steppe_types::{Datum, Error, interrupt};

/// A kernel met a case that it does not handle, or an error: the rows are to be evaluated one by
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GiveUp;

impl GiveUp {
    /// For an error, which the row path will find again. A cancelled statement ends at once.
    #[cold]
    fn on(error: Error) -> GiveUp {
        interrupt::pass_on(&error);
        GiveUp
    }
}

/// An expression that is evaluated for a whole batch.
#[derive(Debug)]
pub(crate) enum VExpr {
    /// A column.
    Slot(usize),
    /// The same for all rows: it has only constants and parameters.
    Same(CExpr),
    /// The same for all rows, once the row path has evaluated it. A kernel never runs a sub-select
    /// for the first time, because a kernel may be ahead of its consumer.
    SubSelect(Arc<CSubPlan>),
    /// All operands are evaluated, then the call.
    Call(Box<rowwise::Call>),
    And(Box<[VExpr]>),
    Or(Box<[VExpr]>),
    Not(Box<VExpr>),
    IsNull {
        arg: Box<VExpr>,
        negated: bool,
    },
    BoolTest {
        arg: Box<VExpr>,
        test: BoolTest,
    },
    /// The conditions with their values, and the value if none holds.
    Case {
        whens: Box<[(VExpr, VExpr)]>,
        otherwise: Box<VExpr>,
    },
    Coalesce(Box<[VExpr]>),
}

/// The rows that an expression is evaluated for.
#[derive(Clone, Copy)]
struct Input<'a> {
    batch: &'a ColumnBatch,
    /// The numbers of the rows; `None` means all of the batch.
    rows: Option<&'a [u32]>,
}

/// The values of an expression, one for each row of its input.
enum Value<'a> {
    /// This one for every row.
    Same(Datum),
    Each(Cow<'a, Vector>),
}

/// The truth values of a condition. A NULL has `false` in its place.
#[derive(Clone, Debug, Default)]
struct Truths {
    values: Vec<bool>,
    nulls: Nulls,
}

impl<'a> Input<'a> {
    fn len(&self) -> usize {
        self.rows.map_or(self.batch.len(), <[u32]>::len)
    }

    fn slot(&self, index: usize) -> Result<Cow<'a, Vector>, GiveUp> {
        let column = self.batch.columns.get(index).ok_or(GiveUp)?;
        Ok(match self.rows {
            None => Cow::Borrowed(column),
            Some(rows) => Cow::Owned(column.gather(rows)),
        })
    }

    /// The batch's numbers of the rows at these places of the input.
    fn numbers(&self, mut places: Vec<u32>) -> Vec<u32> {
        if let Some(rows) = self.rows {
            places.iter_mut().for_each(|place| *place = rows[*place as usize]);
        }
        places
    }

    fn of_rows<'b>(&self, rows: &'b [u32]) -> Input<'b>
    where
        'a: 'b,
    {
        Input { batch: self.batch, rows: Some(rows) }
    }
}

impl Value<'_> {
    /// One value a row.
    fn into_vector(self, rows: usize) -> Vector {
        match self {
            Value::Same(value) => Vector::repeat(&value, rows),
            Value::Each(vector) => vector.into_owned(),
        }
    }

    /// The NULL flags, if the values are typed.
    fn nulls(&self) -> Nulls {
        match self {
            Value::Same(_) => Nulls::default(),
            Value::Each(vector) => vector.nulls.clone(),
        }
    }

    fn is_same_null(&self) -> bool {
        matches!(self, Value::Same(Datum::Null))
    }
}

impl Truths {
    /// The truth values as a boolean column.
    fn into_vector(self) -> Vector {
        let values = self.values.iter().map(|value| i64::from(*value)).collect();
        Vector { data: Data::Ints(IntKind::Bool, values), nulls: self.nulls }
    }

    /// The same for every row.
    fn repeat(value: Option<bool>, rows: usize) -> Truths {
        let nulls = match value {
            None => Nulls::from_flags(vec![true; rows]),
            Some(_) => Nulls::default(),
        };
        Truths { values: vec![value == Some(true); rows], nulls }
    }

    /// Values with these NULLs.
    fn new(mut values: Vec<bool>, nulls: Nulls) -> Truths {
        values.iter_mut().zip(nulls.flags()).for_each(|(value, null)| *value &= !null);
        Truths { values, nulls }
    }

    /// The places that hold.
    fn places(&self) -> Vec<u32> {
        places(self.values.iter().copied())
    }
}

/// The places whose flags are set. Every place is written, and counts if its flag is set.
fn places(flags: impl ExactSizeIterator<Item = bool>) -> Vec<u32> {
    let mut places = vec![0; flags.len()];
    let mut count = 0;
    for (i, flag) in flags.enumerate() {
        places[count] = i as u32;
        count += usize::from(flag);
    }
    places.truncate(count);
    places
}

impl VExpr {
    /// The values for all rows of a batch.
    pub(crate) fn eval(&self, cx: &mut ExecContext, batch: &ColumnBatch) -> Result<Vector, GiveUp> {
        let values = self.values(cx, Input { batch, rows: None })?;
        Ok(values.into_vector(batch.len()))
    }

    /// The rows for which the condition holds. A conjunct is evaluated for the rows that the
    /// conjuncts before it leave, as in PostgreSQL's ExecQual.
    pub(crate) fn select(
        &self,
        cx: &mut ExecContext,
        batch: &ColumnBatch,
    ) -> Result<Vec<u32>, GiveUp> {
        let mut rows = None;
        self.narrow(cx, batch, &mut rows)?;
        Ok(rows.unwrap_or_else(|| (0..batch.len() as u32).collect()))
    }

    /// Keeps the rows for which the condition holds.
    fn narrow(
        &self,
        cx: &mut ExecContext,
        batch: &ColumnBatch,
        rows: &mut Option<Vec<u32>>,
    ) -> Result<(), GiveUp> {
        if let VExpr::And(args) = self {
            return args.iter().try_for_each(|arg| arg.narrow(cx, batch, rows));
        }
        let everywhere = Input { batch, rows: None };
        *rows = Some(match rows.take() {
            None => self.truths(cx, everywhere)?.places(),
            Some(mut left) if left.len() > batch.len() / 4 * 3 && self.never_fails() => {
                let truths = self.truths(cx, everywhere)?;
                left.retain(|row| truths.values[*row as usize]);
                left
            }
            Some(left) if left.is_empty() => left,
            Some(left) => {
                let input = everywhere.of_rows(&left);
                let held = self.truths(cx, input)?.places();
                input.numbers(held)
            }
        });
        Ok(())
    }

    fn values<'a>(&self, cx: &mut ExecContext, input: Input<'a>) -> Result<Value<'a>, GiveUp> {
        match self {
            VExpr::Slot(index) => input.slot(*index).map(Value::Each),
            VExpr::Same(expr) => expr.eval(cx, Row::EMPTY).map(Value::Same).map_err(GiveUp::on),
            VExpr::SubSelect(sub) => kept_value(sub, cx).map(Value::Same).ok_or(GiveUp),
            VExpr::Call(call) => Ok(Value::Each(Cow::Owned(call.values(cx, input)?))),
            VExpr::Case { whens, otherwise } => {
                Ok(Value::Each(Cow::Owned(case::case(whens, otherwise, cx, input)?)))
            }
            VExpr::Coalesce(args) => Ok(Value::Each(Cow::Owned(case::coalesce(args, cx, input)?))),
            VExpr::And(_)
            | VExpr::Or(_)
            | VExpr::Not(_)
            | VExpr::IsNull { .. }
            | VExpr::BoolTest { .. } => {
                Ok(Value::Each(Cow::Owned(self.truths(cx, input)?.into_vector())))
            }
        }
    }

    fn truths(&self, cx: &mut ExecContext, input: Input<'_>) -> Result<Truths, GiveUp> {
        match self {
            VExpr::And(args) => logic::junction(args, false, cx, input),
            VExpr::Or(args) => logic::junction(args, true, cx, input),
            VExpr::Not(arg) => Ok(logic::not(arg.truths(cx, input)?)),
            VExpr::IsNull { arg, negated } => {
                Ok(logic::is_null(&arg.values(cx, input)?, *negated, input.len()))
            }
            VExpr::BoolTest { arg, test } => Ok(logic::bool_test(arg.truths(cx, input)?, *test)),
            VExpr::Call(call) => call.truths(cx, input),
            VExpr::Slot(_)
            | VExpr::Same(_)
            | VExpr::SubSelect(_)
            | VExpr::Case { .. }
            | VExpr::Coalesce(_) => logic::truths_of(&self.values(cx, input)?, input.len()),
        }
    }

    /// Whether it may be evaluated for rows that the row path would not evaluate it for.
    fn never_fails(&self) -> bool {
        match self {
            VExpr::Slot(_) | VExpr::Same(CExpr::Const(_) | CExpr::Param(_)) => true,
            VExpr::Call(call) => call.never_fails(),
            VExpr::And(args) | VExpr::Or(args) => args.iter().all(VExpr::never_fails),
            VExpr::Not(arg) | VExpr::IsNull { arg, .. } | VExpr::BoolTest { arg, .. } => {
                arg.never_fails()
            }
            _ => false,
        }
    }
}
