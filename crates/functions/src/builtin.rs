//! The definition of a built-in function: its possible forms, and the information that a call gives
//! it.

use crate::FnContext;
use std::cmp::Ordering;
use steppe_catalog::FunctionRef;
use steppe_sql::expr::TypeRef;
use steppe_types::{Datum, Error, Oid, Result};

/// A function of its arguments' values (and of the session).
pub type ScalarFn = fn(&[Datum], &mut FnContext) -> Result<Datum>;

/// A function that also depends on the declared types of its arguments or result.
pub type TypedFn = fn(&[Datum], &CallInfo, &mut FnContext) -> Result<Datum>;

/// A set-returning function.
pub type SetFn = fn(&[Datum], &CallInfo, &mut FnContext) -> Result<Box<dyn SetRows>>;

/// The types of a call, for polymorphic functions.
#[derive(Clone, Debug)]
pub struct CallInfo {
    /// The function that is called.
    pub func: FunctionRef,
    /// Types of the actual arguments.
    pub args: Box<[Oid]>,
    /// Actual result type.
    pub ret: TypeRef,
    /// Whether the last argument was written VARIADIC, so that its elements are the arguments.
    pub variadic: bool,
}

impl CallInfo {
    /// 0A000 for a function that cannot be computed in the statement's context.
    #[cold]
    pub fn not_in_this_context(&self) -> Error {
        Error::not_supported(format_args!("function {} in this context", self.func.name))
    }
}

/// The rows of a set-returning function, produced as they are asked for.
pub trait SetRows: Send {
    /// Appends the columns of the next row to `out`; false at the end.
    fn next(&mut self, out: &mut Vec<Datum>, cx: &mut FnContext) -> Result<bool>;

    /// Appends the next `wanted` rows, each as one value, and returns their number, which is less
    /// only at the end.
    fn fill(&mut self, wanted: usize, out: &mut Vec<Datum>, cx: &mut FnContext) -> Result<usize> {
        for count in 0..wanted {
            let start = out.len();
            if !self.next(out, cx)? {
                return Ok(count);
            }
            as_one_value(out, start);
        }
        Ok(wanted)
    }
}

/// Makes a record of the columns from `start` on unless there is just one.
pub fn as_one_value(out: &mut Vec<Datum>, start: usize) {
    if out.len() - start != 1 {
        let columns: Vec<Datum> = out.drain(start..).collect();
        out.push(Datum::Record(columns.into()));
    }
}

/// An implementation.
#[derive(Clone, Copy)]
pub enum Builtin {
    /// A plain function.
    Scalar(ScalarFn),
    /// A function that depends on its call's types.
    Typed(TypedFn),
    /// A comparison by the arguments' default order; `bpchar` ignores trailing blanks.
    Compare {
        /// The comparison.
        op: CmpOp,
        /// Compare as `char(n)`.
        bpchar: bool,
    },
    /// A set-returning function.
    Set(SetFn),
    /// The transaction's id.
    TransactionId,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmpOp {
    /// =
    Eq,
    /// <>
    Ne,
    /// <
    Lt,
    /// <=
    Le,
    /// >
    Gt,
    /// >=
    Ge,
}

impl CmpOp {
    /// Whether `a op b` holds where `a` and `b` are in this order.
    #[inline]
    pub fn accepts(self, order: Ordering) -> bool {
        match self {
            CmpOp::Eq => order.is_eq(),
            CmpOp::Ne => order.is_ne(),
            CmpOp::Lt => order.is_lt(),
            CmpOp::Le => order.is_le(),
            CmpOp::Gt => order.is_gt(),
            CmpOp::Ge => order.is_ge(),
        }
    }
}

/// One entry of a family's table.
pub type Entry = (&'static str, Builtin);

/// An entry's implementation: a plain function.
pub const fn scalar(f: ScalarFn) -> Builtin {
    Builtin::Scalar(f)
}

/// An entry's implementation: a function that depends on its call's types.
pub const fn typed(f: TypedFn) -> Builtin {
    Builtin::Typed(f)
}

/// An entry's implementation: a set-returning function.
pub const fn set(f: SetFn) -> Builtin {
    Builtin::Set(f)
}

/// Argument `i`: the binder has matched the number of arguments to the signature.
#[inline]
pub fn arg(args: &[Datum], i: usize) -> Result<&Datum> {
    args.get(i).ok_or_else(|| Error::internal("function called with too few arguments"))
}
