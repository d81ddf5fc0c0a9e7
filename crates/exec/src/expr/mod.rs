//! Compiled expressions.
//!
//! A bound [`steppe_sql::expr::Expr`] is compiled once per cached plan: functions
//! are resolved to pointers, constants folded, the commonest forms specialised.
//! The result is immutable and shared by all executions; everything that changes
//! while a statement runs (parameters, sub-select results) lives in the
//! [`ExecContext`](crate::context::ExecContext) that is passed to `eval`.
//!
//! ```text
//!   Expr ──compile──▶ CExpr ──eval(cx, row)──▶ Datum
//!                       └────test(cx, row)──▶ Option<bool>   (no datum for conditions)
//! ```

pub(crate) mod array;
mod array_assign;
mod compile;
mod domain;
mod eval;
mod subplan;

use crate::registry::SpiFn;
use crate::routine::{RoutineCall, SetRoutine};
use hashbrown::HashSet;
use std::sync::Arc;
use steppe_functions::{CallInfo, CmpOp, ScalarFn, TypedFn};
use steppe_sql::expr::{BoolTest, DomainChecks, RowCompareOp};
use steppe_types::compare::HashedDatum;
use steppe_types::{Datum, Oid};

pub use array_assign::assign_slice;
pub(crate) use compile::{Compiler, SetCall, SetCode, TIMESTAMPTZ_AGE, signature};
pub(crate) use eval::{eval_args, is_null_test, truth};
pub(crate) use subplan::{CSubPlan, SubPlanState, advance_cte, drain, kept_value, only_expression};

/// The row an expression is evaluated over: for a join the outer and the inner
/// row side by side, so that nothing is copied before a pair is known to match.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) left: &'a [Datum],
    pub(crate) right: &'a [Datum],
}

impl<'a> Row<'a> {
    /// A row without columns.
    pub(crate) const EMPTY: Row<'static> = Row { left: &[], right: &[] };

    /// One row.
    #[inline]
    pub(crate) fn of(left: &'a [Datum]) -> Row<'a> {
        Row { left, right: &[] }
    }

    /// An outer and an inner row.
    #[inline]
    pub(crate) fn pair(left: &'a [Datum], right: &'a [Datum]) -> Row<'a> {
        Row { left, right }
    }

    /// Column `index`, if the row is as wide as the planner said.
    #[inline]
    pub(crate) fn get(self, index: usize) -> Option<&'a Datum> {
        match self.left.get(index) {
            Some(datum) => Some(datum),
            None => self.right.get(index - self.left.len()),
        }
    }

    /// All columns.
    pub(crate) fn iter(self) -> impl Iterator<Item = &'a Datum> {
        self.left.iter().chain(self.right)
    }
}

/// A compiled expression.
#[derive(Debug)]
pub(crate) enum CExpr {
    Const(Datum),
    Slot(usize),
    Param(usize),
    ExecParam(usize),
    CaseOperand,
    DomainValue,
    Domain(Box<Domain>),
    Call(Box<Call>),
    TypedCall(Box<TypedCall>),
    SpiCall(Box<SpiCall>),
    RoutineCall(Box<RoutineCall>),
    /// A call whose errors name the SQL function that makes it.
    InFunction {
        call: Box<CExpr>,
        context: Box<str>,
    },
    /// The transaction's id, as bigint or xid8; it gets one if it has none.
    TransactionId(Oid),
    Compare(Box<Compare>),
    And(Box<[CExpr]>),
    Or(Box<[CExpr]>),
    Not(Box<CExpr>),
    IsNull {
        arg: Box<CExpr>,
        negated: bool,
    },
    BoolTest {
        arg: Box<CExpr>,
        test: BoolTest,
    },
    Distinct(Box<Distinct>),
    NullIf(Box<Distinct>),
    Case(Box<Case>),
    Coalesce(Box<[CExpr]>),
    MinMax {
        greatest: bool,
        type_oid: Oid,
        args: Box<[CExpr]>,
    },
    InSet(Box<InSet>),
    ArrayOp(Box<ArrayOp>),
    Array(Box<ArrayCtor>),
    Subscript(Box<Subscript>),
    Row(Box<[CExpr]>),
    RowCompare(Box<RowCompare>),
    Field {
        arg: Box<CExpr>,
        index: usize,
    },
    ViaIo(Box<ViaIo>),
    /// int4 and oid share their bits in PostgreSQL, not their datums here.
    AsOid(Box<CExpr>),
    AsInt4(Box<CExpr>),
    ArrayCoerce(Box<ArrayCoerce>),
    SubPlan(Arc<CSubPlan>),
}

/// A call through a function pointer.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) function: ScalarFn,
    pub(crate) strict: bool,
    pub(crate) args: Box<[CExpr]>,
}

/// A call of a function that wants to know its argument types.
#[derive(Debug)]
pub(crate) struct TypedCall {
    pub(crate) function: TypedFn,
    pub(crate) strict: bool,
    pub(crate) args: Box<[CExpr]>,
    pub(crate) info: CallInfo,
}

/// A call of a function that runs statements.
#[derive(Debug)]
pub(crate) struct SpiCall {
    pub(crate) function: SpiFn,
    pub(crate) strict: bool,
    pub(crate) args: Box<[CExpr]>,
    pub(crate) info: CallInfo,
}

/// A comparison by a type's default order.
#[derive(Debug)]
pub(crate) struct Compare {
    pub(crate) op: CmpOp,
    pub(crate) type_oid: Oid,
    pub(crate) left: CExpr,
    pub(crate) right: CExpr,
}

/// `IS DISTINCT FROM` and `NULLIF`.
#[derive(Debug)]
pub(crate) struct Distinct {
    pub(crate) eq: BinaryTest,
    pub(crate) left: CExpr,
    pub(crate) right: CExpr,
    pub(crate) negated: bool,
}

/// A boolean function of two values.
#[derive(Debug, Clone)]
pub(crate) enum BinaryTest {
    Compare(CmpOp, Oid),
    Call {
        function: ScalarFn,
        strict: bool,
    },
    Typed {
        function: TypedFn,
        strict: bool,
        info: CallInfo,
    },
    /// A user's function.
    Routine(Box<SetRoutine>),
}

/// `CASE`.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) operand: Option<CExpr>,
    pub(crate) whens: Box<[(CExpr, CExpr)]>,
    pub(crate) otherwise: CExpr,
}

/// `x IN (constants)`, hashed.
#[derive(Debug)]
pub(crate) struct InSet {
    pub(crate) left: CExpr,
    pub(crate) values: HashSet<HashedDatum, foldhash::fast::FixedState>,
    pub(crate) has_null: bool,
    /// `<> ALL`: the result is negated.
    pub(crate) negated: bool,
    pub(crate) type_oid: Oid,
}

/// `x op ANY|ALL (array)`.
#[derive(Debug)]
pub(crate) struct ArrayOp {
    pub(crate) test: BinaryTest,
    pub(crate) all: bool,
    pub(crate) left: CExpr,
    pub(crate) array: CExpr,
}

/// `ARRAY[…]`.
#[derive(Debug)]
pub(crate) struct ArrayCtor {
    pub(crate) elements: Box<[CExpr]>,
    pub(crate) element: Oid,
    pub(crate) multidim: bool,
}

/// `a[i]`, `a[i:j]`.
#[derive(Debug)]
pub(crate) struct Subscript {
    pub(crate) array: CExpr,
    pub(crate) indices: Box<[(Option<CExpr>, Option<CExpr>)]>,
    pub(crate) slice: bool,
    /// The value to assign to the element or the slice, and the type of the array's elements.
    pub(crate) assigned: Option<(CExpr, Oid)>,
}

impl Subscript {
    /// Whether it is of constants alone.
    pub(super) fn is_constant(&self) -> bool {
        let is_so = |expr: &CExpr| matches!(expr, CExpr::Const(_));
        let index = |index: &Option<CExpr>| index.as_ref().is_none_or(is_so);
        self.assigned.is_none()
            && is_so(&self.array)
            && self.indices.iter().all(|(upper, lower)| index(upper) && index(lower))
    }
}

/// `(a, b) < (c, d)`.
#[derive(Debug)]
pub(crate) struct RowCompare {
    pub(crate) op: RowCompareOp,
    /// The type to compare as. `None`: the types are two different ones of date and time.
    pub(crate) types: Box<[Option<Oid>]>,
    pub(crate) left: Box<[CExpr]>,
    pub(crate) right: Box<[CExpr]>,
}

/// A cast through text.
#[derive(Debug)]
pub(crate) struct ViaIo {
    pub(crate) arg: CExpr,
    pub(crate) from: Oid,
    pub(crate) to: Oid,
}

/// A check of a domain's conditions.
#[derive(Debug)]
pub(crate) struct Domain {
    pub(crate) arg: CExpr,
    /// The domain, without its conditions.
    pub(crate) checks: DomainChecks,
    pub(crate) conditions: Box<[(Arc<str>, CExpr)]>,
}

/// A cast of each element.
#[derive(Debug)]
pub(crate) struct ArrayCoerce {
    pub(crate) arg: CExpr,
    pub(crate) element: CExpr,
    pub(crate) element_type: Oid,
}
