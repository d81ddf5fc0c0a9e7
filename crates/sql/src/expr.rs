//! Bound expressions: names, types, overloads and coercions are resolved.
//!
//! The binder produces `Expr` trees whose columns are [`Expr::Var`]s (range
//! table entry, column). The planner rewrites every `Var` into a
//! [`Expr::Slot`] (a position in the row that the plan node's input hands up)
//! or an [`Expr::ExecParam`] (a value that an outer plan node supplies at run
//! time: correlated sub-selects, nested-loop keys, init plans). The executor
//! compiles the result; it never sees a `Var`.
//!
//! The shape follows PostgreSQL's src/include/nodes/primnodes.h.

use crate::ast::Location;
use std::convert::Infallible;
use std::sync::Arc;
use steppe_catalog::{Column, FunctionRef, OperatorRef};
use steppe_types::{Datum, Oid, oid};

/// A type with its modifier (`-1`: none), e.g. `numeric(10,2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeRef {
    /// pg_type OID.
    pub oid: Oid,
    /// atttypmod-style modifier; -1 where there is none.
    pub typmod: i32,
}

impl TypeRef {
    /// A type without modifier.
    pub const fn plain(oid: Oid) -> TypeRef {
        TypeRef { oid, typmod: -1 }
    }

    /// The type that a column was declared with.
    pub fn of(column: &Column) -> TypeRef {
        let (oid, typmod) = column.declared_type();
        TypeRef { oid, typmod }
    }

    /// The type that a column's values have in memory and on disk.
    pub fn held(column: &Column) -> TypeRef {
        TypeRef { oid: column.type_oid, typmod: column.typmod }
    }
}

/// The place of an expression, for errors that are found after it was bound. It never makes two
/// expressions differ, as in PostgreSQL's equal().
#[derive(Clone, Copy, Debug, Default)]
pub struct Place(pub Location);

impl Place {
    /// An unknown place.
    pub const NONE: Place = Place(Location::NONE);
}

impl PartialEq for Place {
    fn eq(&self, _: &Place) -> bool {
        true
    }
}

/// Index of a plan in [`crate::plan::PlannedStmt::subplans`].
pub type SubPlanId = usize;
/// Index of a run-time parameter slot of a statement's execution.
pub type ExecParamId = usize;

/// The parts of a subscript: the lower bound of a slice, and its upper one or an element's index.
pub type Bounds = (Option<Expr>, Option<Expr>);

/// A bound scalar expression. Fields are named by their content; each variant is documented.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Expr {
    /// A constant.
    Const(Datum, TypeRef),
    /// Binder only: a string literal or NULL whose type its surroundings decide.
    Untyped { value: Datum, at: Place },
    /// External parameter `$index+1`.
    Param { index: usize, ty: TypeRef, at: Place },
    /// A value supplied by an enclosing plan node at run time.
    ExecParam { id: ExecParamId, ty: TypeRef },
    /// Binder output only: column `column` of the range-table entry `rte`, `levels_up` query levels
    /// out. Columns count from 0; [`SystemColumn`]s are negative.
    Var { rte: usize, column: i32, levels_up: usize, ty: TypeRef, at: Place },
    /// Planner output only: position in the input row. For joins the outer
    /// input's slots come first, the inner input's after them.
    Slot { index: usize, ty: TypeRef },
    /// A call of the function `func` (operators are resolved to theirs).
    /// Strict functions return NULL on any NULL argument.
    Func { func: FunctionRef, args: Vec<Expr>, ty: TypeRef, syntax: CallSyntax },
    /// `a AND b AND …`, three-valued.
    And(Vec<Expr>),
    /// `a OR b OR …`, three-valued.
    Or(Vec<Expr>),
    /// `NOT a`.
    Not(Box<Expr>),
    /// `a IS [NOT] NULL`; on a row value, true when all columns are (not) null.
    IsNull { arg: Box<Expr>, negated: bool },
    /// `a IS [NOT] TRUE|FALSE|UNKNOWN`.
    BoolTest { arg: Box<Expr>, test: BoolTest },
    /// `a IS [NOT] DISTINCT FROM b`; `eq` is the equality function.
    Distinct { eq: FunctionRef, left: Box<Expr>, right: Box<Expr>, negated: bool },
    /// `NULLIF(a, b)`; `eq` is the equality function.
    NullIf { eq: FunctionRef, left: Box<Expr>, right: Box<Expr>, ty: TypeRef },
    /// `CASE`. With an operand, the binder has expanded `operand = value`. The operand is evaluated
    /// once, and [`Expr::CaseOperand`] refers to it.
    Case { operand: Option<Box<Expr>>, whens: Vec<(Expr, Expr)>, otherwise: Box<Expr>, ty: TypeRef },
    /// The operand of the innermost enclosing `CASE`.
    CaseOperand(TypeRef),
    /// `COALESCE(…)`.
    Coalesce { args: Vec<Expr>, ty: TypeRef },
    /// `GREATEST`/`LEAST(…)`.
    MinMax { greatest: bool, args: Vec<Expr>, ty: TypeRef },
    /// `left op ANY|ALL (array)`; `func` is the operator's function. `IN (list)` binds to
    /// this over an [`Expr::Array`].
    ScalarArrayOp {
        func: FunctionRef,
        all: bool,
        left: Box<Expr>,
        array: Box<Expr>,
        syntax: CallSyntax,
    },
    /// `ARRAY[…]` (elements of `element` type; nested arrays when `multidim`).
    Array { elements: Vec<Expr>, element: Oid, multidim: bool, ty: TypeRef },
    /// `a[i]`, `a[i:j]`; with `assigned` the array after the assignment of that to it.
    Subscript {
        array: Box<Expr>,
        indices: Vec<Bounds>,
        slice: bool,
        assigned: Option<Box<Expr>>,
        ty: TypeRef,
    },
    /// `ROW(…)`.
    Row(Vec<Expr>, Oid),
    /// Row comparison `(a,b) < (c,d)`, with the operators' functions per column.
    RowCompare {
        op: RowCompareOp,
        lt: Vec<FunctionRef>,
        eq: Vec<FunctionRef>,
        left: Vec<Expr>,
        right: Vec<Expr>,
    },
    /// Column `index` of a composite value.
    Field { arg: Box<Expr>, index: usize, ty: TypeRef },
    /// Same bits, other type (binary-coercible cast).
    Relabel { arg: Box<Expr>, ty: TypeRef, implicit: bool },
    /// Binder only: `a COLLATE collation`.
    Collate { arg: Box<Expr>, collation: Oid, at: Place },
    /// Cast through text output and input.
    CoerceViaIo { arg: Box<Expr>, ty: TypeRef, implicit: bool },
    /// Cast of each array element by `element` (an expression over [`Expr::CaseOperand`]).
    ArrayCoerce { arg: Box<Expr>, element: Box<Expr>, ty: TypeRef, implicit: bool },
    /// A value that has to fulfil a domain's conditions.
    Domain { arg: Box<Expr>, checks: Box<DomainChecks>, ty: TypeRef, implicit: bool },
    /// VALUE in a condition of the innermost enclosing [`Expr::Domain`].
    DomainValue(TypeRef),
    /// A sub-select as an expression. The binder sets `query`; the planner replaces the node by
    /// `SubPlan`.
    SubLink {
        kind: SubLinkKind,
        test: Option<Box<Expr>>,
        query: Box<crate::query::Query>,
        ty: TypeRef,
    },
    /// Binder: an ANY/ALL sub-link's test refers to the sub-select's output column.
    SubLinkColumn { index: usize, ty: TypeRef },
    /// Planner output for a sub-select; see [`SubPlan`].
    SubPlan(Box<SubPlan>),
    /// Binder: an aggregate call. The planner replaces it by the Agg node's output slot.
    Aggregate(Box<Aggregate>),
    /// Binder: a call over a window. The planner replaces it by the WindowAgg node's output slot.
    Window(Box<WindowCall>),
    /// Binder: `GROUPING(…)` over expressions of the GROUP BY `levels_up` query levels out. The
    /// planner replaces it, too.
    Grouping { args: Vec<Expr>, levels_up: usize, at: Place },
    /// Default of a column in INSERT … VALUES (DEFAULT); replaced by the binder.
    Default(TypeRef),
}

/// The conditions of a domain, those of the domains below it included.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainChecks {
    /// The domain.
    pub domain: Oid,
    /// Its name as messages have it.
    pub shown: Arc<str>,
    /// Its schema and its name.
    pub name: (Arc<str>, Arc<str>),
    /// NULL is no value of it.
    pub not_null: bool,
    /// CHECK constraints: names, and conditions over [`Expr::DomainValue`].
    pub conditions: Vec<(Arc<str>, Expr)>,
}

/// The syntax of a function call: EXPLAIN and pg_get_expr print it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallSyntax {
    /// `f(a, b)`
    Function,
    /// `f(a, c => b)`: a call that leaves arguments to their defaults. A bit of the set says that the
    /// argument of its number is one of them.
    Defaulted(u128),
    /// `f(a, VARIADIC b)` of a function of arguments of any type: the elements of the array
    /// are its last arguments.
    Variadic,
    /// An operator expression.
    Operator(OperatorRef),
    /// `a::type` written by the user.
    ExplicitCast,
    /// A cast that the binder put in: not printed.
    ImplicitCast,
    /// `EXTRACT(year FROM a)` and other calls with their own SQL syntax, by the function.
    Sql,
    /// A SQL-standard form printed without parentheses, e.g. `CURRENT_TIMESTAMP`.
    SqlValue(&'static str),
}

/// IS TRUE and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoolTest {
    /// IS TRUE
    True,
    /// IS NOT TRUE
    NotTrue,
    /// IS FALSE
    False,
    /// IS NOT FALSE
    NotFalse,
    /// IS UNKNOWN
    Unknown,
    /// IS NOT UNKNOWN
    NotUnknown,
}

/// Operator of a row comparison (= and <> become AND/OR of columns).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowCompareOp {
    /// <
    Lt,
    /// <=
    Le,
    /// >
    Gt,
    /// >=
    Ge,
}

/// Kinds of sub-select expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubLinkKind {
    /// EXISTS (…)
    Exists,
    /// x op ANY (…), x IN (…)
    Any,
    /// x op ALL (…)
    All,
    /// (…) as a scalar
    Scalar,
    /// (a, b) op (…): at most one row, compared as a row
    Row,
    /// ARRAY(…)
    Array,
}

/// A planned sub-select.
#[derive(Clone, Debug, PartialEq)]
pub struct SubPlan {
    /// The kind of the sub-select.
    pub kind: SubLinkKind,
    /// The plan.
    pub plan: SubPlanId,
    /// Correlation: parameters set from expressions over the *current* row before each run. If
    /// empty, the sub-select is uncorrelated; it runs once and its result is kept.
    pub args: Vec<(ExecParamId, Expr)>,
    /// Any/All: the comparison. The sub-select's columns are the `ExecParam`s in `columns`.
    pub test: Option<Expr>,
    /// Any/All: run-time parameters that stand for the sub-select's columns in `test`.
    pub columns: Vec<ExecParamId>,
    /// Any, uncorrelated, plain equality: hash the sub-select's rows. Left-hand expressions
    /// (over the current row), in column order.
    pub hash_keys: Option<Vec<Expr>>,
    /// Any, hashed: a NULL result is false, as for EXISTS.
    pub null_is_false: bool,
    /// Exists, correlated, while the plan around it is made: the same by one evaluation that is
    /// hashed. The planner chooses once the number of its calls is known.
    pub hashed: Option<Box<SubPlan>>,
    /// Result type.
    pub ty: TypeRef,
}

impl SubPlan {
    /// Whether it is run once, before its result is first needed: an InitPlan.
    pub fn runs_once(&self) -> bool {
        self.args.is_empty() && self.hash_keys.is_none() && self.test.is_none()
    }
}

/// An aggregate call.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// The aggregate.
    pub func: FunctionRef,
    /// Arguments (empty for `count(*)`); of an ordered-set aggregate the direct ones.
    pub args: Vec<Expr>,
    /// DISTINCT arguments only.
    pub distinct: bool,
    /// ORDER BY inside the call, or WITHIN GROUP's.
    pub order_by: Vec<SortKey>,
    /// FILTER (WHERE …).
    pub filter: Option<Expr>,
    /// `count(*)` was written with a star.
    pub star: bool,
    /// The number of query levels out at which the aggregate belongs.
    pub levels_up: usize,
    /// Result type.
    pub ty: TypeRef,
    /// The place of the call.
    pub at: Place,
}

impl Aggregate {
    /// Whether the sorted rows are the input (WITHIN GROUP), hypothetical sets included.
    pub fn is_ordered_set(&self) -> bool {
        self.func.is_ordered_set()
    }

    /// Whether it has DISTINCT and its result does not depend on the order of the values: it
    /// counts, compares, or adds exactly in a type that partial sums cannot overflow.
    pub fn is_distinct_by_hash(&self) -> bool {
        let [arg] = &self.args[..] else { return false };
        let is_exact = matches!(arg.ty().oid, oid::INT2 | oid::INT4 | oid::INT8 | oid::NUMERIC);
        let in_any_order = match self.func.built_in_name() {
            Some("count" | "min" | "max" | "bool_and" | "bool_or" | "every") => true,
            Some("bit_and" | "bit_or" | "bit_xor" | "sum" | "avg") => is_exact,
            _ => false,
        };
        self.distinct && self.order_by.is_empty() && in_any_order
    }
}

/// A call of a window function, or of an aggregate over a window.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    /// The window function or aggregate.
    pub func: FunctionRef,
    /// Arguments (empty for `count(*)`).
    pub args: Vec<Expr>,
    /// `count(*)` was written with a star.
    pub star: bool,
    /// FILTER (WHERE …).
    pub filter: Option<Expr>,
    /// An aggregate.
    pub aggregate: bool,
    /// The window's number in the query.
    pub window: usize,
    /// Result type.
    pub ty: TypeRef,
    /// The place of the call.
    pub at: Place,
}

/// One ORDER BY key.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// The sorted expression.
    pub expr: Expr,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST
    pub nulls_first: bool,
}

/// Hands each direct child of a node to `f`, stopping at its first error. One text for the
/// shared and the mutable walk: the patterns bind references of the node's own kind.
macro_rules! each_child {
    ($node:expr, $f:ident, $($reborrow:tt)+) => {{
        match $node {
            Expr::Const(..)
            | Expr::Untyped { .. }
            | Expr::Param { .. }
            | Expr::ExecParam { .. }
            | Expr::Var { .. }
            | Expr::Slot { .. }
            | Expr::CaseOperand(_)
            | Expr::DomainValue(_)
            | Expr::SubLinkColumn { .. }
            | Expr::Default(_) => {}
            Expr::Func { args, .. }
            | Expr::And(args)
            | Expr::Or(args)
            | Expr::Coalesce { args, .. }
            | Expr::MinMax { args, .. }
            | Expr::Row(args, _)
            | Expr::Grouping { args, .. }
            | Expr::Array { elements: args, .. } => {
                for arg in args {
                    $f(arg)?;
                }
            }
            Expr::Not(arg)
            | Expr::IsNull { arg, .. }
            | Expr::BoolTest { arg, .. }
            | Expr::Field { arg, .. }
            | Expr::Relabel { arg, .. }
            | Expr::Collate { arg, .. }
            | Expr::CoerceViaIo { arg, .. } => $f(arg)?,
            Expr::Distinct { left: a, right: b, .. }
            | Expr::NullIf { left: a, right: b, .. }
            | Expr::ScalarArrayOp { left: a, array: b, .. }
            | Expr::ArrayCoerce { arg: a, element: b, .. } => {
                $f(a)?;
                $f(b)?;
            }
            Expr::Domain { arg, checks, .. } => {
                $f(arg)?;
                let DomainChecks { conditions, .. } = $($reborrow)+ **checks;
                for (_, condition) in conditions {
                    $f(condition)?;
                }
            }
            Expr::Case { operand, whens, otherwise, .. } => {
                if let Some(operand) = operand {
                    $f(operand)?;
                }
                for (when, then) in whens {
                    $f(when)?;
                    $f(then)?;
                }
                $f(otherwise)?;
            }
            Expr::Subscript { array, indices, assigned, .. } => {
                $f(array)?;
                if let Some(assigned) = assigned {
                    $f(assigned)?;
                }
                for (lower, upper) in indices {
                    for bound in lower.into_iter().chain(upper) {
                        $f(bound)?;
                    }
                }
            }
            Expr::RowCompare { left, right, .. } => {
                for field in left.into_iter().chain(right) {
                    $f(field)?;
                }
            }
            Expr::SubLink { test, .. } => {
                if let Some(test) = test {
                    $f(test)?;
                }
            }
            Expr::SubPlan(plan) => {
                let SubPlan { args, test, hash_keys, hashed, .. } = $($reborrow)+ **plan;
                for (_, value) in args {
                    $f(value)?;
                }
                if let Some(test) = test {
                    $f(test)?;
                }
                for key in hash_keys.into_iter().flatten() {
                    $f(key)?;
                }
                if let Some(hashed) = hashed {
                    let SubPlan { test, hash_keys, .. } = $($reborrow)+ **hashed;
                    if let Some(test) = test {
                        $f(test)?;
                    }
                    for key in hash_keys.into_iter().flatten() {
                        $f(key)?;
                    }
                }
            }
            Expr::Aggregate(call) => {
                let Aggregate { args, order_by, filter, .. } = $($reborrow)+ **call;
                for arg in args {
                    $f(arg)?;
                }
                for SortKey { expr, .. } in order_by {
                    $f(expr)?;
                }
                if let Some(filter) = filter {
                    $f(filter)?;
                }
            }
            Expr::Window(call) => {
                let WindowCall { args, filter, .. } = $($reborrow)+ **call;
                for arg in args.into_iter().chain(filter) {
                    $f(arg)?;
                }
            }
        }
        Ok(())
    }};
}

impl Expr {
    /// The expression without the casts around it that the binder put in
    /// (nodeFuncs.c, strip_implicit_coercions).
    pub(crate) fn without_implicit_cast(&self) -> &Expr {
        let mut expr = self;
        while let Some(operand) = expr.implicit_cast_operand() {
            expr = operand;
        }
        expr
    }

    /// The operand, if the expression is a cast that the binder put in.
    pub(crate) fn implicit_cast_operand(&self) -> Option<&Expr> {
        match self {
            Expr::Func { args, syntax: CallSyntax::ImplicitCast, .. } => args.first(),
            Expr::Relabel { arg, implicit: true, .. }
            | Expr::ArrayCoerce { arg, implicit: true, .. }
            | Expr::Domain { arg, implicit: true, .. }
            | Expr::CoerceViaIo { arg, implicit: true, .. } => Some(arg),
            _ => None,
        }
    }

    /// The expression's type.
    pub fn ty(&self) -> TypeRef {
        use steppe_types::oid;
        match self {
            Expr::Const(_, ty)
            | Expr::Param { ty, .. }
            | Expr::ExecParam { ty, .. }
            | Expr::Var { ty, .. }
            | Expr::Slot { ty, .. }
            | Expr::Func { ty, .. }
            | Expr::NullIf { ty, .. }
            | Expr::Case { ty, .. }
            | Expr::CaseOperand(ty)
            | Expr::DomainValue(ty)
            | Expr::Domain { ty, .. }
            | Expr::Coalesce { ty, .. }
            | Expr::MinMax { ty, .. }
            | Expr::Array { ty, .. }
            | Expr::Subscript { ty, .. }
            | Expr::Field { ty, .. }
            | Expr::Relabel { ty, .. }
            | Expr::CoerceViaIo { ty, .. }
            | Expr::ArrayCoerce { ty, .. }
            | Expr::SubLink { ty, .. }
            | Expr::SubLinkColumn { ty, .. }
            | Expr::Default(ty) => *ty,
            Expr::Collate { arg, .. } => arg.ty(),
            Expr::SubPlan(s) => s.ty,
            Expr::Aggregate(a) => a.ty,
            Expr::Window(w) => w.ty,
            Expr::Grouping { .. } => TypeRef::plain(oid::INT4),
            Expr::Untyped { .. } => TypeRef::plain(oid::UNKNOWN),
            Expr::Row(_, ty) => TypeRef::plain(*ty),
            Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_)
            | Expr::IsNull { .. }
            | Expr::BoolTest { .. }
            | Expr::Distinct { .. }
            | Expr::ScalarArrayOp { .. }
            | Expr::RowCompare { .. } => TypeRef::plain(oid::BOOL),
        }
    }

    /// The type that a node stores, to be changed. `None` if its kind or its parts decide the type.
    pub(crate) fn ty_mut(&mut self) -> Option<&mut TypeRef> {
        match self {
            Expr::Const(_, ty)
            | Expr::Param { ty, .. }
            | Expr::ExecParam { ty, .. }
            | Expr::Var { ty, .. }
            | Expr::Slot { ty, .. }
            | Expr::Func { ty, .. }
            | Expr::NullIf { ty, .. }
            | Expr::Case { ty, .. }
            | Expr::CaseOperand(ty)
            | Expr::DomainValue(ty)
            | Expr::Domain { ty, .. }
            | Expr::Coalesce { ty, .. }
            | Expr::MinMax { ty, .. }
            | Expr::Array { ty, .. }
            | Expr::Subscript { ty, .. }
            | Expr::Field { ty, .. }
            | Expr::Relabel { ty, .. }
            | Expr::CoerceViaIo { ty, .. }
            | Expr::ArrayCoerce { ty, .. }
            | Expr::SubLink { ty, .. }
            | Expr::SubLinkColumn { ty, .. }
            | Expr::Default(ty) => Some(ty),
            Expr::Aggregate(call) => Some(&mut call.ty),
            Expr::Window(call) => Some(&mut call.ty),
            Expr::SubPlan(sub) => Some(&mut sub.ty),
            _ => None,
        }
    }

    /// Column `column` of an entry of the same query level.
    pub fn var(rte: usize, column: usize, ty: TypeRef) -> Expr {
        Expr::Var { rte, column: column as i32, levels_up: 0, ty, at: Place::NONE }
    }

    /// The boolean constant `value`.
    pub fn boolean(value: bool) -> Expr {
        Expr::Const(Datum::Bool(value), TypeRef::plain(steppe_types::oid::BOOL))
    }

    /// The direct children, for walks.
    pub fn children(&self) -> Vec<&Expr> {
        let mut out = Vec::new();
        self.for_each_child(&mut |e| out.push(e));
        out
    }

    /// Whether `f` holds for a direct child (sub-select bodies are not entered).
    pub fn any_child(&self, mut f: impl FnMut(&Expr) -> bool) -> bool {
        let mut visit = |child: &Expr| if f(child) { Err(()) } else { Ok(()) };
        self.try_for_each_child(&mut visit).is_err()
    }

    /// Calls `f` on each direct child (sub-select bodies are not entered).
    pub fn for_each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        let mut visit = |child: &'a Expr| -> Result<(), Infallible> {
            f(child);
            Ok(())
        };
        match self.try_for_each_child(&mut visit) {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    /// Calls `f` on each direct child up to the first error.
    pub fn try_for_each_child<'a, E>(
        &'a self,
        f: &mut dyn FnMut(&'a Expr) -> Result<(), E>,
    ) -> Result<(), E> {
        each_child!(self, f, &)
    }

    /// Calls `f` on each direct child, mutably (sub-select bodies are not entered).
    pub fn for_each_child_mut<E>(
        &mut self,
        f: &mut dyn FnMut(&mut Expr) -> Result<(), E>,
    ) -> Result<(), E> {
        each_child!(self, f, &mut)
    }

    /// Rewrites the tree bottom-up: children first, then `f` on the node itself.
    /// Sub-select bodies are not entered.
    pub fn transform<E>(self, f: &mut dyn FnMut(Expr) -> Result<Expr, E>) -> Result<Expr, E> {
        let mut node = self;
        node.for_each_child_mut(&mut |child| {
            let taken = std::mem::replace(child, Expr::Default(TypeRef::plain(0)));
            *child = taken.transform(f)?;
            Ok(())
        })?;
        f(node)
    }
}
