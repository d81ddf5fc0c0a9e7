//! Built-in functions, attached to pg_proc rows by their C symbol (prosrc).
//!
//! One file a family, each with a static table of `(prosrc, Builtin)`. A call of
//! a function that has no entry is refused when the statement is compiled.
//!
//! The default comparisons (`int4eq`, `text_lt`, `numeric_ge` …) are entries of
//! their own kind, [`Builtin::Compare`]: the compiler turns them into an inlined
//! comparison that looks at its operands where they are.

mod boolean;
mod compare;
mod float;
mod int;
mod numeric;
mod series;
mod session;
mod text;

use crate::env::FnContext;
use hashbrown::HashMap;
use std::cmp::Ordering;
use std::sync::OnceLock;
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
    /// pg_proc OID.
    pub func: Oid,
    /// Types of the actual arguments.
    pub args: Box<[Oid]>,
    /// Actual result type.
    pub ret: TypeRef,
}

/// The rows of a set-returning function, produced one at a time.
pub trait SetRows: Send {
    /// Appends the columns of the next row to `out`; false at the end.
    fn next(&mut self, out: &mut Vec<Datum>, cx: &mut FnContext) -> Result<bool>;
}

/// An implementation.
#[derive(Clone, Copy)]
pub enum Builtin {
    /// A plain function.
    Scalar(ScalarFn),
    /// One that looks at its call's types.
    Typed(TypedFn),
    /// A comparison by the arguments' default order; `bpchar` ignores trailing blanks.
    Compare {
        /// Which.
        op: CmpOp,
        /// Compare as `char(n)`.
        bpchar: bool,
    },
    /// A set-returning function.
    Set(SetFn),
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

/// The families.
const FAMILIES: &[&[Entry]] = &[
    boolean::TABLE,
    compare::TABLE,
    float::TABLE,
    int::TABLE,
    numeric::TABLE,
    series::TABLE,
    session::TABLE,
    text::TABLE,
];

/// The implementation behind a prosrc name.
pub fn lookup(source: &str) -> Option<Builtin> {
    static INDEX: OnceLock<HashMap<&'static str, Builtin>> = OnceLock::new();
    let index =
        INDEX.get_or_init(|| FAMILIES.iter().flat_map(|table| table.iter().copied()).collect());
    index.get(source).copied()
}

/// Argument `i`: the binder has matched the number of arguments to the signature.
#[inline]
pub(crate) fn arg(args: &[Datum], i: usize) -> Result<&Datum> {
    args.get(i).ok_or_else(|| Error::internal("function called with too few arguments"))
}
