//! From bound expressions to compiled ones.

use super::subplan::{CSubPlan, only_expression};
use super::{
    ArrayCoerce, ArrayCtor, ArrayOp, BinaryTest, CExpr, Call, Case, Compare, Distinct, Domain,
    InSet, Row, RowCompare, SpiCall, Subscript, TypedCall, ViaIo,
};
use crate::context::ExecContext;
use crate::deps::Dependencies;
use crate::registry::{self, Native};
use crate::routine::{Columns, RoutineCall, SetRoutine, is_routine};
use std::sync::Arc;
use steppe_catalog::{Catalog, Function, FunctionRef, builtin};
use steppe_functions::{Builtin, CallInfo, CmpOp, FnContext, ScalarFn, SetFn, compare_rows};
use steppe_sql::expr::{CallSyntax, DomainChecks, Expr, SubLinkKind, SubPlan, TypeRef};
use steppe_sql::plan::PlannedStmt;
use steppe_types::compare::HashedDatum;
use steppe_types::oid::{self, container_element_type, element_type_of};
use steppe_types::physical::Physical;
use steppe_types::{Datum, Error, Oid, Result, interrupt};

/// `age(timestamptz, timestamptz)`: PostgreSQL calls it immutable, but it counts days in the
/// session's time zone, which folding does not know.
pub(crate) const TIMESTAMPTZ_AGE: Oid = 1199;

/// `IN` lists from this length on are hashed.
const HASHED_LIST_MIN: usize = 9;

/// Compiles the expressions of one statement.
pub(crate) struct Compiler<'a> {
    pub(crate) stmt: &'a PlannedStmt,
    pub(crate) dependencies: Dependencies,
    /// Evaluates constant sub-expressions.
    folding: ExecContext,
    /// The number of calls of constants and parameters that stay unevaluated: they may fail.
    unevaluated: usize,
    /// Whether an expression calls a function that runs statements.
    pub(crate) runs_statements: bool,
    /// Whether such a function is VOLATILE, so its statements may change rows.
    pub(crate) runs_volatile: bool,
    /// Whether an expression has a sub-select that runs nodes.
    pub(crate) runs_nodes: bool,
}

/// A call of a set-returning function with its compiled arguments.
pub(crate) struct SetCall {
    pub(crate) code: SetCode,
    pub(crate) strict: bool,
    pub(crate) args: Box<[CExpr]>,
}

/// The code of a set-returning function.
pub(crate) enum SetCode {
    Native(SetFn, CallInfo),
    Routine(SetRoutine),
}

/// `name(type, type)` as PostgreSQL's error messages print a signature.
pub(crate) fn signature(proc: &Function) -> String {
    let args: Vec<String> =
        proc.args.iter().map(|t| steppe_sql::bind::typename::format_type(*t, -1)).collect();
    format!("{}({})", proc.name, args.join(", "))
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(stmt: &'a PlannedStmt, pure: FnContext) -> Compiler<'a> {
        Compiler {
            unevaluated: 0,
            runs_statements: false,
            runs_volatile: false,
            runs_nodes: false,
            stmt,
            dependencies: Dependencies::of(stmt),
            folding: ExecContext::for_folding(pure),
        }
    }

    /// The catalog version that the statement was planned in.
    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.folding.functions.catalog
    }

    /// Compiles a list.
    pub(crate) fn list(&mut self, exprs: &[Expr]) -> Result<Box<[CExpr]>> {
        exprs.iter().map(|e| self.expr(e)).collect()
    }

    /// Compiles a list of keys with expressions. Keys are columns or names of constraints.
    pub(crate) fn each_of<K: Clone>(&mut self, list: &[(K, Expr)]) -> Result<Box<[(K, CExpr)]>> {
        list.iter().map(|(key, e)| Ok((key.clone(), self.expr(e)?))).collect()
    }

    /// Compiles an expression, if there is one.
    pub(crate) fn option(&mut self, expr: &Option<Expr>) -> Result<Option<CExpr>> {
        expr.as_ref().map(|e| self.expr(e)).transpose()
    }

    /// Compiles an expression.
    pub(crate) fn expr(&mut self, expr: &Expr) -> Result<CExpr> {
        Ok(match expr {
            Expr::Const(datum, _) => CExpr::Const(datum.clone()),
            Expr::Param { index, .. } => CExpr::Param(*index),
            Expr::ExecParam { id, .. } => CExpr::ExecParam(*id),
            Expr::Slot { index, .. } => CExpr::Slot(*index),
            Expr::CaseOperand(_) => CExpr::CaseOperand,
            Expr::DomainValue(_) => CExpr::DomainValue,
            Expr::Domain { arg, checks, .. } => {
                let compile = |(name, condition): &(Arc<str>, Expr)| {
                    Ok((Arc::clone(name), self.expr(condition)?))
                };
                let conditions = checks.conditions.iter().map(compile).collect::<Result<_>>()?;
                let checks = DomainChecks { conditions: Vec::new(), ..(**checks).clone() };
                CExpr::Domain(Box::new(Domain { arg: self.expr(arg)?, checks, conditions }))
            }
            Expr::Func { func, args, ty, syntax } => self.call(func, args, *ty, syntax)?,
            Expr::And(args) => CExpr::And(self.list(args)?),
            Expr::Or(args) => CExpr::Or(self.list(args)?),
            Expr::Not(arg) => CExpr::Not(Box::new(self.expr(arg)?)),
            Expr::IsNull { arg, negated } => {
                CExpr::IsNull { arg: Box::new(self.expr(arg)?), negated: *negated }
            }
            Expr::BoolTest { arg, test } => {
                CExpr::BoolTest { arg: Box::new(self.expr(arg)?), test: *test }
            }
            Expr::Distinct { eq, left, right, negated } => {
                CExpr::Distinct(self.distinct(eq, left, right, *negated)?)
            }
            Expr::NullIf { eq, left, right, .. } => {
                CExpr::NullIf(self.distinct(eq, left, right, false)?)
            }
            Expr::Case { operand, whens, otherwise, .. } => self.case(operand, whens, otherwise)?,
            Expr::Coalesce { args, .. } => CExpr::Coalesce(self.list(args)?),
            Expr::MinMax { greatest, args, ty } => {
                CExpr::MinMax { greatest: *greatest, type_oid: ty.oid, args: self.list(args)? }
            }
            Expr::ScalarArrayOp { func, all, left, array, .. } => {
                self.array_op(func, *all, left, array)?
            }
            Expr::Array { elements, element, multidim, .. } => {
                let elements = self.list(elements)?;
                let ctor = ArrayCtor { elements, element: *element, multidim: *multidim };
                let foldable = ctor.elements.iter().all(|e| matches!(e, CExpr::Const(_)));
                self.fold(CExpr::Array(Box::new(ctor)), foldable)
            }
            Expr::Subscript { array, indices, slice, assigned, ty } => {
                super::array::check_dimensions(indices.len())?;
                let indices = indices
                    .iter()
                    .map(|(a, b)| Ok((self.option(a)?, self.option(b)?)))
                    .collect::<Result<_>>()?;
                let array = self.expr(array)?;
                let assigned = match assigned {
                    None => None,
                    Some(value) => {
                        let element = element_type_of(ty.oid).unwrap_or(ty.oid);
                        Some((self.expr(value)?, element))
                    }
                };
                let of = Subscript { array, indices, slice: *slice, assigned };
                let foldable = of.is_constant();
                self.fold(CExpr::Subscript(Box::new(of)), foldable)
            }
            Expr::Row(args, _) => CExpr::Row(self.list(args)?),
            Expr::RowCompare { op, left, right, .. } => CExpr::RowCompare(Box::new(RowCompare {
                op: *op,
                types: left.iter().zip(right).map(|(l, r)| ordered_as(l, r)).collect(),
                left: self.list(left)?,
                right: self.list(right)?,
            })),
            Expr::Field { arg, index, .. } => {
                CExpr::Field { arg: Box::new(self.expr(arg)?), index: *index }
            }
            Expr::Relabel { arg, ty, .. } if is_shown_otherwise(arg.ty().oid, ty.oid) => {
                self.relabelled_array(arg, ty.oid)?
            }
            Expr::Relabel { arg, ty, .. } => {
                let from = Physical::of(arg.ty().oid);
                let arg = self.expr(arg)?;
                let constant = matches!(arg, CExpr::Const(_));
                match (from, Physical::of(ty.oid)) {
                    (Physical::Int4, Physical::Oid) => {
                        self.fold(CExpr::AsOid(Box::new(arg)), constant)
                    }
                    (Physical::Oid, Physical::Int4) => {
                        self.fold(CExpr::AsInt4(Box::new(arg)), constant)
                    }
                    _ => arg,
                }
            }
            Expr::CoerceViaIo { arg, ty, .. } => {
                let from = arg.ty().oid;
                let arg = self.expr(arg)?;
                CExpr::ViaIo(Box::new(ViaIo { arg, from, to: ty.oid }))
            }
            Expr::ArrayCoerce { arg, element, ty, .. } => {
                CExpr::ArrayCoerce(Box::new(ArrayCoerce {
                    arg: self.expr(arg)?,
                    element: self.expr(element)?,
                    element_type: element_type_of(ty.oid).unwrap_or(element.ty().oid),
                }))
            }
            Expr::SubPlan(sub) => CExpr::SubPlan(Arc::new(self.sub_plan(sub)?)),
            Expr::Var { .. }
            | Expr::Untyped { .. }
            | Expr::SubLink { .. }
            | Expr::Collate { .. }
            | Expr::SubLinkColumn { .. }
            | Expr::Aggregate(_)
            | Expr::Window(_)
            | Expr::Grouping { .. }
            | Expr::Default(_) => {
                return Err(Error::internal("expression was not planned"));
            }
        })
    }

    fn case(
        &mut self,
        operand: &Option<Box<Expr>>,
        whens: &[(Expr, Expr)],
        otherwise: &Expr,
    ) -> Result<CExpr> {
        let operand = operand.as_ref().map(|o| self.expr(o)).transpose()?;
        let whens = whens
            .iter()
            .map(|(when, then)| Ok((self.expr(when)?, self.expr(then)?)))
            .collect::<Result<_>>()?;
        let otherwise = self.expr(otherwise)?;
        Ok(CExpr::Case(Box::new(Case { operand, whens, otherwise })))
    }

    fn call(
        &mut self,
        proc: &FunctionRef,
        args: &[Expr],
        ret: TypeRef,
        syntax: &CallSyntax,
    ) -> Result<CExpr> {
        let unevaluated = self.unevaluated;
        let compiled = self.list(args)?;
        // A strict function of a NULL constant is NULL for any other arguments; see `fold`.
        let is_null = |arg: &CExpr| matches!(arg, CExpr::Const(Datum::Null));
        let may_skip = proc.strict && !proc.retset && unevaluated == self.unevaluated;
        if may_skip && compiled.iter().any(is_null) {
            return Ok(CExpr::Const(Datum::Null));
        }
        let foldable = proc.is_immutable()
            && proc.oid != TIMESTAMPTZ_AGE
            && compiled.iter().all(|a| matches!(a, CExpr::Const(_)));
        // PostgreSQL runs an SQL function if its arguments are known when it plans (a parameter's
        // value is), and inlines others.
        let is_known = |arg: &CExpr| matches!(arg, CExpr::Const(_) | CExpr::Param(_));
        let known_call = proc.is_immutable() && compiled.iter().all(is_known);
        let run_whole = known_call && registry::is_written_in_sql(proc);
        let variadic = *syntax == CallSyntax::Variadic;
        let types = || args.iter().map(|a| a.ty().oid).collect();
        let info = || CallInfo { func: proc.clone(), args: types(), ret, variadic };
        let expr = match registry::native(proc) {
            Some(Native::Builtin(Builtin::Scalar(function))) => {
                CExpr::Call(Box::new(Call { function, strict: proc.strict, args: compiled }))
            }
            Some(Native::Builtin(Builtin::Typed(function))) => {
                CExpr::TypedCall(Box::new(TypedCall {
                    function,
                    strict: proc.strict,
                    args: compiled,
                    info: info(),
                }))
            }
            Some(Native::Builtin(Builtin::Compare { op, bpchar })) => {
                let [left, right] = <[CExpr; 2]>::try_from(compiled.into_vec())
                    .map_err(|_| Error::internal("comparison without two operands"))?;
                let type_oid = comparison_type(bpchar, args);
                if compare_rows::has_rows(type_oid) {
                    let (function, args) = (compare_rows::comparison(op), [left, right].into());
                    let call = Call { function, strict: proc.strict, args };
                    return Ok(self.fold(CExpr::Call(Box::new(call)), foldable));
                }
                CExpr::Compare(Box::new(Compare { op, type_oid, left, right }))
            }
            Some(Native::Builtin(Builtin::Set(_))) => {
                return Err(Error::not_supported(
                    "a set-returning function in this place of an expression",
                ));
            }
            Some(Native::Builtin(Builtin::TransactionId)) => CExpr::TransactionId(ret.oid),
            Some(Native::Spi(function)) => {
                self.runs_statements = true;
                let (strict, info) = (proc.strict, info());
                CExpr::SpiCall(Box::new(SpiCall { function, strict, args: compiled, info }))
            }
            None if is_routine(proc) && proc.retset => {
                return Err(Error::not_supported(
                    "a set-returning function in this place of an expression",
                ));
            }
            None if is_routine(proc) => {
                let routine = SetRoutine::new(info(), None, self.catalog());
                // A user's function runs in a session, so it is not evaluated here.
                self.notes_routine(proc);
                return Ok(CExpr::RoutineCall(Box::new(RoutineCall::new(routine, compiled))));
            }
            Some(Native::Trigger(_)) | None => return Err(not_attached(proc)),
        };
        let folded = self.fold(expr, foldable);
        self.unevaluated += usize::from(known_call && !matches!(folded, CExpr::Const(_)));
        Ok(match folded {
            folded @ CExpr::Const(_) => folded,
            call if run_whole => {
                let context = format!("SQL function \"{}\" statement 1", proc.name);
                CExpr::InFunction { call: Box::new(call), context: context.into() }
            }
            call => call,
        })
    }

    fn notes_routine(&mut self, function: &Function) {
        self.runs_statements = true;
        self.runs_volatile |= function.is_volatile();
    }

    /// A constant for an expression over constants. One that fails stays unchanged: it raises the
    /// error only if it is reached.
    fn fold(&mut self, expr: CExpr, foldable: bool) -> CExpr {
        if !foldable {
            return expr;
        }
        match expr.eval(&mut self.folding, Row::EMPTY) {
            Ok(datum) => CExpr::Const(datum),
            Err(error) => {
                interrupt::pass_on(&error);
                expr
            }
        }
    }

    /// The call of a set-returning function, if `expr` is one. `columns` is its column definition
    /// list.
    pub(crate) fn set_call(
        &mut self,
        expr: &Expr,
        columns: Option<&Columns>,
    ) -> Result<Option<SetCall>> {
        let Expr::Func { func, args, ty, .. } = expr else { return Ok(None) };
        if !func.retset {
            return Ok(None);
        }
        let info = CallInfo {
            func: func.clone(),
            args: args.iter().map(|a| a.ty().oid).collect(),
            ret: *ty,
            variadic: false,
        };
        let code = match registry::native(func) {
            Some(Native::Builtin(Builtin::Set(function))) => SetCode::Native(function, info),
            None if is_routine(func) => {
                self.notes_routine(func);
                SetCode::Routine(SetRoutine::new(info, columns.cloned(), self.catalog()))
            }
            _ => return Err(not_attached(func)),
        };
        Ok(Some(SetCall { code, strict: func.strict, args: self.list(args)? }))
    }

    /// The call of a user's function that returns one row, with a column definition list.
    pub(crate) fn row_call(&mut self, expr: &Expr, columns: &Columns) -> Result<Option<CExpr>> {
        let Expr::Func { func, args, ty, .. } = expr else { return Ok(None) };
        if func.retset || !is_routine(func) {
            return Ok(None);
        }
        self.notes_routine(func);
        let types = args.iter().map(|a| a.ty().oid).collect();
        let info = CallInfo { func: func.clone(), args: types, ret: *ty, variadic: false };
        let routine = SetRoutine::new(info, Some(Arc::clone(columns)), self.catalog());
        let call = RoutineCall::new(routine, self.list(args)?);
        Ok(Some(CExpr::RoutineCall(Box::new(call))))
    }

    /// The code of a plain function.
    pub(crate) fn scalar_function(&self, proc: &Function) -> Result<ScalarFn> {
        match registry::native(proc) {
            Some(Native::Builtin(Builtin::Scalar(function))) => Ok(function),
            _ => Err(not_attached(proc)),
        }
    }

    /// A boolean function of two values of the given expressions' types.
    pub(crate) fn binary_test(
        &mut self,
        proc: &FunctionRef,
        left: TypeRef,
        right: TypeRef,
    ) -> Result<BinaryTest> {
        Ok(match registry::native(proc) {
            Some(Native::Builtin(Builtin::Compare { op, .. }))
                if compare_rows::has_rows(left.oid) =>
            {
                let function = compare_rows::comparison(op);
                BinaryTest::Call { function, strict: proc.strict }
            }
            Some(Native::Builtin(Builtin::Compare { op, bpchar })) => {
                let type_oid = if bpchar { oid::BPCHAR } else { left.oid };
                BinaryTest::Compare(op, plain_type(bpchar, type_oid))
            }
            Some(Native::Builtin(Builtin::Scalar(function))) => {
                BinaryTest::Call { function, strict: proc.strict }
            }
            Some(Native::Builtin(Builtin::Typed(function))) => BinaryTest::Typed {
                function,
                strict: proc.strict,
                info: binary_call(proc, left, right),
            },
            None if is_routine(proc) && !proc.retset => {
                let info = binary_call(proc, left, right);
                let routine = SetRoutine::new(info, None, self.catalog());
                self.notes_routine(proc);
                BinaryTest::Routine(Box::new(routine))
            }
            Some(
                Native::Builtin(Builtin::Set(_) | Builtin::TransactionId)
                | Native::Spi(_)
                | Native::Trigger(_),
            )
            | None => {
                return Err(not_attached(proc));
            }
        })
    }

    /// An array whose elements get another type.
    fn relabelled_array(&mut self, arg: &Expr, to: Oid) -> Result<CExpr> {
        let [from, to] =
            [arg.ty().oid, to].map(|array| container_element_type(array).unwrap_or(array));
        let element = Expr::Relabel {
            arg: Box::new(Expr::CaseOperand(TypeRef::plain(from))),
            ty: TypeRef::plain(to),
            implicit: true,
        };
        let (arg, element) = (self.expr(arg)?, self.expr(&element)?);
        let constant = matches!(arg, CExpr::Const(_));
        let coerce = ArrayCoerce { arg, element, element_type: to };
        Ok(self.fold(CExpr::ArrayCoerce(Box::new(coerce)), constant))
    }

    fn distinct(
        &mut self,
        eq: &FunctionRef,
        left: &Expr,
        right: &Expr,
        negated: bool,
    ) -> Result<Box<Distinct>> {
        let eq = self.binary_test(eq, left.ty(), right.ty())?;
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        Ok(Box::new(Distinct { eq, left, right, negated }))
    }

    fn array_op(
        &mut self,
        func: &FunctionRef,
        all: bool,
        left: &Expr,
        array: &Expr,
    ) -> Result<CExpr> {
        let element = TypeRef::plain(element_type_of(array.ty().oid).unwrap_or(array.ty().oid));
        let test = self.binary_test(func, left.ty(), element)?;
        let (left, array) = (self.expr(left)?, self.expr(array)?);
        match (&test, &array) {
            (BinaryTest::Compare(op, type_oid), CExpr::Const(Datum::Array(list)))
                if list.elements.len() >= HASHED_LIST_MIN
                    && matches!((op, all), (CmpOp::Eq, false) | (CmpOp::Ne, true)) =>
            {
                let values = list.elements.iter().filter(|e| !e.is_null());
                Ok(CExpr::InSet(Box::new(InSet {
                    left,
                    values: values
                        .map(|v| HashedDatum { type_oid: *type_oid, value: v.clone() })
                        .collect(),
                    has_null: list.elements.iter().any(Datum::is_null),
                    negated: all,
                    type_oid: *type_oid,
                })))
            }
            _ => Ok(CExpr::ArrayOp(Box::new(ArrayOp { test, all, left, array }))),
        }
    }

    fn sub_plan(&mut self, sub: &SubPlan) -> Result<CSubPlan> {
        let args = sub
            .args
            .iter()
            .map(|(id, e)| Ok((*id, self.expr(e)?)))
            .collect::<Result<Box<[_]>>>()?;
        let plan = self
            .stmt
            .subplans
            .get(sub.plan)
            .ok_or_else(|| Error::internal("statement has no such sub-plan"))?;
        let hash_keys = match &sub.hash_keys {
            Some(keys) if sub.args.is_empty() && sub.kind == SubLinkKind::Any => {
                Some(self.list(keys)?)
            }
            _ => None,
        };
        let direct = only_expression(sub, &self.stmt.subplans).map(|e| self.expr(e)).transpose()?;
        self.runs_nodes |= direct.is_none();
        Ok(CSubPlan {
            kind: sub.kind,
            plan: sub.plan,
            args,
            test: self.option(&sub.test)?,
            columns: sub.columns.iter().copied().collect(),
            hash_keys,
            null_is_false: sub.null_is_false,
            dependencies: self.dependencies.of_subplan(sub.plan),
            types: plan.types.iter().map(|t| t.oid).collect(),
            direct,
        })
    }
}

/// The type that a pair of columns of a row comparison is compared as.
fn ordered_as(left: &Expr, right: &Expr) -> Option<Oid> {
    let (left, right) = (left.ty().oid, right.ty().oid);
    let is_time = |ty| matches!(ty, oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ);
    (left == right || !is_time(left) || !is_time(right)).then_some(left)
}

/// The call of a boolean function of two values.
fn binary_call(func: &FunctionRef, left: TypeRef, right: TypeRef) -> CallInfo {
    let (func, args) = (func.clone(), [left.oid, right.oid].into());
    CallInfo { func, args, ret: TypeRef::plain(oid::BOOL), variadic: false }
}

/// Whether a cast that keeps the elements of an array changes their text form.
fn is_shown_otherwise(from: Oid, to: Oid) -> bool {
    let (Some(from), Some(to)) = (container_element_type(from), container_element_type(to)) else {
        return false;
    };
    match (builtin::ty(from), builtin::ty(to)) {
        (Some(f), Some(t)) => f.output != t.output && (f.category != b'S' || t.category != b'S'),
        _ => false,
    }
}

fn comparison_type(bpchar: bool, args: &[Expr]) -> Oid {
    plain_type(bpchar, args.first().map_or(0, |a| a.ty().oid))
}

/// The type to compare as: `bpchar` operands compared by a text function keep their blanks.
fn plain_type(bpchar: bool, type_oid: Oid) -> Oid {
    match (bpchar, type_oid) {
        (true, _) => oid::BPCHAR,
        (false, oid::BPCHAR) => oid::TEXT,
        (false, other) => other,
    }
}

#[cold]
pub(crate) fn not_attached(proc: &Function) -> Error {
    Error::not_supported(format_args!("function {}", signature(proc)))
}
