//! Calls: by a kernel where it has one for the operands' types, otherwise row by row.

use super::{
    GiveUp, Input, Truths, VExpr, Value, arithmetic, compare, convert, in_list, like, text,
};
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use crate::vector::{IntKind, Nulls, Vector};
use arithmetic::Operator;
use steppe_functions::CmpOp;
use steppe_types::Datum;

/// A call, or any other expression whose operands are all evaluated.
#[derive(Debug)]
pub(crate) struct Call {
    pub(super) kernel: Option<Kernel>,
    pub(super) args: Box<[VExpr]>,
    /// The call, with the operands' values as its columns.
    pub(super) by_row: CExpr,
}

/// The loops of calls. Each returns `None` for cases that it does not handle.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kernel {
    /// By the operands' default order; char(n) without its trailing blanks.
    Compare {
        op: CmpOp,
        bpchar: bool,
    },
    /// IS [NOT] DISTINCT FROM, by the default order.
    Distinct {
        negated: bool,
        bpchar: bool,
    },
    /// NULLIF, by the default order.
    NullIf {
        bpchar: bool,
    },
    /// date with timestamp, or the other way round.
    CompareDate {
        op: CmpOp,
        date_first: bool,
    },
    /// `+ - *`; of integers, the result's type.
    Arithmetic {
        op: Operator,
        result: IntKind,
    },
    Negate {
        result: IntKind,
    },
    /// date plus or minus days.
    DatePlus {
        minus: bool,
    },
    /// Between integers.
    ToInt(IntKind),
    IntToFloat,
    IntToNumeric,
    DateToTimestamp,
    /// extract() of the same field from each date or timestamp.
    Extract,
    /// rtrim() of blanks: char(n) as text.
    TrimBlanks,
    /// substring() by the same numbers in each text.
    Substring,
    /// LIKE or NOT LIKE.
    Like {
        expected: bool,
    },
    /// `= ANY` or, negated, `<> ALL` of a list that is the same for all rows.
    InList {
        negated: bool,
        bpchar: bool,
    },
}

impl Call {
    pub(super) fn values(&self, cx: &mut ExecContext, input: Input<'_>) -> Result<Vector, GiveUp> {
        if self.kernel.is_some_and(Kernel::is_condition) {
            return Ok(self.truths(cx, input)?.into_vector());
        }
        let args = self.arguments(cx, input)?;
        let rows = input.len();
        let by_kernel = self.kernel.and_then(|kernel| match (kernel, &args[..]) {
            (Kernel::Arithmetic { op, result }, [a, b]) => {
                arithmetic::arithmetic(op, result, a, b, rows)
            }
            (Kernel::Negate { result }, [a]) => arithmetic::negate(result, a),
            (Kernel::DatePlus { minus }, [a, b]) => arithmetic::date_plus(minus, a, b),
            (Kernel::ToInt(kind), [a]) => convert::to_int(kind, a),
            (Kernel::IntToFloat, [a]) => convert::int_to_float(a),
            (Kernel::IntToNumeric, [a]) => convert::int_to_numeric(a),
            (Kernel::DateToTimestamp, [a]) => convert::date_to_timestamp(a),
            (Kernel::Extract, [field, a]) => convert::extract(field, a),
            (Kernel::TrimBlanks, [a]) => text::trim_blanks(a),
            (Kernel::Substring, [a, numbers @ ..]) => text::substring(a, numbers),
            (Kernel::NullIf { bpchar }, [a, b]) => compare::null_if(bpchar, a, b, rows),
            _ => None,
        });
        match by_kernel {
            Some(vector) => Ok(vector),
            None => {
                let mut out = Vec::with_capacity(rows);
                self.each_row(cx, &args, rows, |by_row, cx, row| {
                    out.push(by_row.eval(cx, row).map_err(GiveUp::on)?);
                    Ok(())
                })?;
                Ok(Vector::of(out))
            }
        }
    }

    pub(super) fn truths(&self, cx: &mut ExecContext, input: Input<'_>) -> Result<Truths, GiveUp> {
        let args = self.arguments(cx, input)?;
        let rows = input.len();
        let by_kernel = self.kernel.and_then(|kernel| match (kernel, &args[..]) {
            (Kernel::Compare { op, bpchar }, [a, b]) => compare::compare(op, bpchar, a, b, rows),
            (Kernel::Distinct { negated, bpchar }, [a, b]) => {
                compare::distinct(negated, bpchar, a, b, rows)
            }
            (Kernel::CompareDate { op, date_first: true }, [date, timestamp])
            | (Kernel::CompareDate { op, date_first: false }, [timestamp, date]) => {
                compare::date_timestamp(op, date, timestamp, kernel.is_date_first(), rows)
            }
            (Kernel::Like { expected }, [a, pattern]) => like::like(expected, a, pattern),
            (Kernel::InList { negated, bpchar }, [a, list]) => {
                in_list::in_list(negated, bpchar, a, list)
            }
            _ => None,
        });
        if let Some(truths) = by_kernel {
            return Ok(truths);
        }
        let (mut values, mut nulls) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        self.each_row(cx, &args, rows, |by_row, cx, row| {
            let value = by_row.test(cx, row).map_err(GiveUp::on)?;
            values.push(value == Some(true));
            nulls.push(value.is_none());
            Ok(())
        })?;
        Ok(Truths { values, nulls: Nulls::from_flags(nulls) })
    }

    fn arguments<'a>(
        &self,
        cx: &mut ExecContext,
        input: Input<'a>,
    ) -> Result<Vec<Value<'a>>, GiveUp> {
        self.args.iter().map(|arg| arg.values(cx, input)).collect()
    }

    /// Calls `f` with the operands' values for each row.
    fn each_row(
        &self,
        cx: &mut ExecContext,
        args: &[Value<'_>],
        rows: usize,
        mut f: impl FnMut(&CExpr, &mut ExecContext, Row<'_>) -> Result<(), GiveUp>,
    ) -> Result<(), GiveUp> {
        let constant = |value: &Value<'_>| match value {
            Value::Same(value) => value.clone(),
            Value::Each(_) => Datum::Null,
        };
        let mut row: Vec<Datum> = args.iter().map(constant).collect();
        for i in 0..rows {
            for (slot, value) in row.iter_mut().zip(args) {
                if let Value::Each(vector) = value {
                    *slot = vector.datum(i).map_err(GiveUp::on)?;
                }
            }
            f(&self.by_row, cx, Row::of(&row))?;
        }
        Ok(())
    }

    /// Whether no value of the operands can make it fail.
    pub(super) fn never_fails(&self) -> bool {
        let kernel_never_fails = matches!(
            self.kernel,
            Some(
                Kernel::Compare { .. }
                    | Kernel::Distinct { .. }
                    | Kernel::CompareDate { .. }
                    | Kernel::InList { .. }
            )
        );
        kernel_never_fails && self.args.iter().all(VExpr::never_fails)
    }
}

impl Kernel {
    fn is_condition(self) -> bool {
        matches!(
            self,
            Kernel::Compare { .. }
                | Kernel::Distinct { .. }
                | Kernel::CompareDate { .. }
                | Kernel::Like { .. }
                | Kernel::InList { .. }
        )
    }

    fn is_date_first(self) -> bool {
        matches!(self, Kernel::CompareDate { date_first: true, .. })
    }
}
