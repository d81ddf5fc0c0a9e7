//! Errors of constant expressions, raised where PostgreSQL plans (eval_const_expressions in
//! clauses.c).
//!
//! PostgreSQL evaluates a call of an immutable function when its arguments are constants, whether
//! or not a row will reach it: `CASE WHEN a > 5 THEN 1/0 END` fails over an empty table, and in
//! EXPLAIN. The rule:
//!
//! - arguments come first, from left to right, so `NULL + 1/0` fails;
//! - a strict function of a NULL constant is NULL, a volatile one as well;
//! - AND and OR end at the constant that decides them. So `false AND 1/0 = 1` does not fail, and
//!   `1/0 = 1 AND false` does;
//! - an arm of CASE is left out when its condition is known not to be true, and the arms after a
//!   condition that is known to be true. COALESCE's arguments after a constant are left out, too;
//! - expressions come in the order in which a query is planned. The sub-selects of an expression
//!   follow it, and unused expressions are left out (the planner's `preprocess`).
//!
//! A plan is made once and run often, also by other sessions with other literals and parameters. So
//! planning raises no errors: the plan keeps the few expressions that may fail ([`may_fail`]). The
//! session that runs the plan evaluates them first ([`check`]), at the point where PostgreSQL would
//! plan. Parameters are constants then, except in a generic plan. This module only finds errors.
//! Other code folds the constants of a plan (`fold`, and the compiler).

use crate::context::ExecContext;
use crate::expr::{CExpr, Compiler, Row, TIMESTAMPTZ_AGE};
use crate::registry::{self, Native};
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::sync::Arc;
use steppe_catalog::{Catalog, Function, FunctionRef, builtin};
use steppe_functions::{Builtin, FnContext};
use steppe_sql::expr::{CallSyntax, Expr, SubPlanId, TypeRef};
use steppe_sql::plan::{Constants, PlannedLevel, PlannedStmt};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Oid, Result, SqlState, interrupt, oid};

/// Functions that depend on the session's time zone, although pg_proc calls them immutable:
/// `age(timestamptz, timestamptz)`, and `timezone(text, …)` of an abbreviation that the session's
/// zone had once.
const OF_TIME_ZONE: [Oid; 3] = [TIMESTAMPTZ_AGE, 1159, 2069];

/// Whether the evaluation of an expression's constants and parameters may fail.
pub fn may_fail(expr: &Expr, catalog: &Arc<Catalog>) -> bool {
    let walk = Walk::new(catalog, None);
    let value = walk.value(expr, &Known::Nothing);
    value.inspect_err(interrupt::pass_on).is_err() || walk.calls_parameters.get()
}

/// Evaluates the constants of a statement: the first error. `params` are constants, too, if they
/// are given.
pub fn check(
    constants: &Constants,
    params: Option<&[Datum]>,
    catalog: &Arc<Catalog>,
) -> Result<()> {
    Walk::new(catalog, params).query(&constants.statement, constants)
}

/// Evaluates the constants in an expression that a table is to have: CREATE fails, not each use
/// (contain_mutable_functions_after_planning).
pub fn check_stored(expr: &Expr, catalog: &Arc<Catalog>) -> Result<()> {
    Walk::new(catalog, None).value(expr, &Known::Nothing).map(drop)
}

/// The present value of an expression without columns and parameters. The planner uses it for
/// estimates, also of stable functions such as `now()` (estimate_expression_value).
pub fn estimated(expr: &Expr, catalog: &Arc<Catalog>, io: &Arc<IoContext>) -> Option<Datum> {
    if !is_stable_throughout(expr) {
        return None;
    }
    let context = || FnContext {
        io: Arc::clone(io),
        statement_timestamp: io.now,
        transaction_timestamp: io.now,
        ..FnContext::pure(Arc::clone(catalog))
    };
    let compiled = Compiler::new(&PlannedStmt::nothing(), context()).expr(expr).ok()?;
    compiled.eval(&mut ExecContext::for_folding(context()), Row::EMPTY).ok()
}

fn is_stable_throughout(expr: &Expr) -> bool {
    let is_stable = match expr {
        Expr::Const(..) => return true,
        Expr::Func { func, .. } => is_pure_function(func, false),
        Expr::CoerceViaIo { .. } | Expr::ArrayCoerce { .. } | Expr::Array { .. } => true,
        Expr::CaseOperand(_) | Expr::Relabel { .. } => true,
        _ => false,
    };
    is_stable && expr.children().into_iter().all(is_stable_throughout)
}

/// The knowledge that planning has of an expression's value.
enum Known {
    Value(Datum),
    /// The expression has only parameters and constants.
    OfParameters,
    Nothing,
}

struct Walk<'a> {
    catalog: &'a Arc<Catalog>,
    params: Option<&'a [Datum]>,
    /// There is a call of parameters that fails for some values of theirs.
    calls_parameters: Cell<bool>,
    /// The sub-selects that are left in the visited expressions.
    sub_selects: RefCell<Vec<SubPlanId>>,
}

impl<'a> Walk<'a> {
    fn new(catalog: &'a Arc<Catalog>, params: Option<&'a [Datum]>) -> Walk<'a> {
        let (calls_parameters, sub_selects) = (Cell::new(false), RefCell::default());
        Walk { catalog, params, calls_parameters, sub_selects }
    }

    /// Evaluates the constants of one query and of those in it.
    fn query(&self, level: &PlannedLevel, all: &Constants) -> Result<()> {
        level.with.iter().try_for_each(|query| self.query(query, all))?;
        for clause in &level.clauses {
            for expr in clause.exprs.iter().filter(|expr| !self.is_stored_as_it_is(expr)) {
                match clause.is_condition {
                    true => self.condition(expr)?,
                    false => self.value(expr, &Known::Nothing)?,
                };
            }
            for id in self.sub_selects.take() {
                let own = all.sub_selects.iter().find(|(of, _)| *of == id);
                own.map_or(Ok(()), |(_, query)| self.query(query, all))?;
            }
        }
        for condition in level.conditions.iter().filter(|_| !level.from.is_empty()) {
            if let Known::Value(Datum::Null | Datum::Bool(false)) = self.condition(condition)? {
                return Ok(());
            }
        }
        self.sub_selects.take();
        level.from.iter().try_for_each(|query| self.query(query, all))
    }

    /// Whether it is a parameter that its column accepts, as in most statements that change rows.
    fn is_stored_as_it_is(&self, expr: &Expr) -> bool {
        let Expr::Func { func, args, ty, syntax: CallSyntax::ImplicitCast } = expr else {
            return false;
        };
        if !func.is_built_in() {
            return false;
        }
        let (Some(Expr::Param { index, .. }), Some(params)) = (args.first(), self.params) else {
            return false;
        };
        match params.get(*index) {
            Some(Datum::Null) => true,
            Some(Datum::Int4(value)) => ty.oid == oid::INT2 && i16::try_from(*value).is_ok(),
            // A character has a byte at least; typmod counts four more.
            Some(Datum::Text(text)) => {
                let is_counted = matches!(ty.oid, oid::VARCHAR | oid::BPCHAR);
                is_counted && i32::try_from(text.len()).is_ok_and(|len| len <= ty.typmod - 4)
            }
            _ => false,
        }
    }

    /// The value of a condition, where NULL counts as false (find_duplicate_ors): a NULL argument
    /// decides AND.
    fn condition(&self, expr: &Expr) -> Result<Known> {
        let before = self.sub_selects.borrow().len();
        let arg = |arg: &Expr| self.condition(arg);
        let known = match expr {
            Expr::And(args) => junction(args, true, true, arg)?,
            Expr::Or(args) => junction(args, false, true, arg)?,
            _ => return self.value(expr, &Known::Nothing),
        };
        Ok(self.in_place_of(before, known))
    }

    /// The value of an expression. `operand`: the value of the CASE around it.
    fn value(&self, expr: &Expr, operand: &Known) -> Result<Known> {
        let before = self.sub_selects.borrow().len();
        let known = self.value_of(expr, operand)?;
        Ok(self.in_place_of(before, known))
    }

    /// A constant takes the place of its expression, with the sub-selects from `before` on.
    fn in_place_of(&self, before: usize, known: Known) -> Known {
        if let Known::Value(_) = known {
            self.sub_selects.borrow_mut().truncate(before);
        }
        known
    }

    fn value_of(&self, expr: &Expr, operand: &Known) -> Result<Known> {
        match expr {
            Expr::Const(value, _) => Ok(Known::Value(value.clone())),
            Expr::Param { index, .. } => Ok(match self.params.and_then(|all| all.get(*index)) {
                Some(value) => Known::Value(value.clone()),
                None => Known::OfParameters,
            }),
            Expr::CaseOperand(_) => Ok(match operand {
                Known::Value(value) => Known::Value(value.clone()),
                Known::OfParameters => Known::OfParameters,
                Known::Nothing => Known::Nothing,
            }),
            Expr::And(args) => junction(args, true, false, |arg| self.value(arg, operand)),
            Expr::Or(args) => junction(args, false, false, |arg| self.value(arg, operand)),
            Expr::Case { operand: own, whens, otherwise, .. } => {
                let own = match own {
                    Some(own) => self.value(own, operand)?,
                    None => Known::Nothing,
                };
                self.case(&own, whens, otherwise)
            }
            Expr::Coalesce { args, .. } => self.coalesce(args, operand),
            Expr::Field { arg, index, .. } => Ok(match self.value(arg, operand)? {
                Known::Value(Datum::Record(columns)) => match columns.get(*index) {
                    Some(column) => Known::Value(column.clone()),
                    None => Known::Nothing,
                },
                Known::Value(Datum::Null) => Known::Value(Datum::Null),
                Known::OfParameters => Known::OfParameters,
                Known::Value(_) | Known::Nothing => Known::Nothing,
            }),
            Expr::ArrayCoerce { arg, element, .. } => {
                self.array_coercion(expr, arg, element, operand)
            }
            Expr::Subscript { array, indices, .. } => {
                // Indices come first; their errors count before the array's.
                let upper = indices.iter().filter_map(|(_, upper)| upper.as_ref());
                let lower = indices.iter().filter_map(|(lower, _)| lower.as_ref());
                for index in upper.chain(lower).chain([&**array]) {
                    self.value(index, operand)?;
                }
                self.of_children(expr, operand)
            }
            Expr::NullIf { left, right, .. } => {
                let before = self.sub_selects.borrow().len();
                let first = self.value(left, operand)?;
                let of_first = self.sub_selects.borrow().len();
                if let Known::Value(Datum::Null) = self.value(right, operand)? {
                    // The first value is NULL, which equals no value, so it is the result.
                    self.sub_selects.borrow_mut().truncate(of_first);
                    return Ok(first);
                }
                if let Known::Value(Datum::Null) = first {
                    return Ok(first);
                }
                self.sub_selects.borrow_mut().truncate(before);
                self.of_children(expr, operand)
            }
            Expr::SubPlan(sub) => {
                self.sub_selects.borrow_mut().push(sub.plan);
                self.of_children(expr, operand)
            }
            _ => self.of_children(expr, operand),
        }
    }

    fn of_children(&self, expr: &Expr, operand: &Known) -> Result<Known> {
        let mut values = Vec::new();
        let (mut has_null, mut so_far) = (false, SoFar::Known);
        expr.try_for_each_child(&mut |child| -> Result<()> {
            let value = self.value(child, operand)?;
            so_far = so_far.and(&value);
            if let Known::Value(value) = value {
                has_null |= value.is_null();
                values.push(Expr::Const(value, child.ty()));
            }
            Ok(())
        })?;
        if has_null && is_strict(expr) {
            return Ok(Known::Value(Datum::Null));
        }
        if !is_immutable(expr) {
            return Ok(Known::Nothing);
        }
        match so_far {
            SoFar::Known => self.evaluate(with_children(expr, values)),
            SoFar::OfParameters => {
                self.calls_parameters.set(self.calls_parameters.get() || fails_for_some(expr));
                Ok(Known::OfParameters)
            }
            SoFar::Nothing => Ok(Known::Nothing),
        }
    }

    /// A cast of an array's elements.
    fn array_coercion(
        &self,
        expr: &Expr,
        arg: &Expr,
        element: &Expr,
        operand: &Known,
    ) -> Result<Known> {
        let is_foldable = is_immutable_throughout(element);
        Ok(match self.value(arg, operand)? {
            Known::Value(Datum::Null) => Known::Value(Datum::Null),
            Known::Value(value) if is_foldable => {
                let array = Expr::Const(value, arg.ty());
                self.evaluate(with_children(expr, vec![array, element.clone()]))?
            }
            Known::OfParameters if is_foldable => {
                self.calls_parameters.set(true);
                Known::OfParameters
            }
            _ => Known::Nothing,
        })
    }

    fn case(&self, operand: &Known, whens: &[(Expr, Expr)], otherwise: &Expr) -> Result<Known> {
        let mut so_far = SoFar::Known;
        for (when, then) in whens {
            match self.value(when, operand)? {
                Known::Value(Datum::Bool(true)) => {
                    let value = self.value(then, &Known::Nothing)?;
                    return Ok(so_far.known(value));
                }
                Known::Value(_) => {}
                known => {
                    so_far = so_far.and(&known).and(&self.value(then, &Known::Nothing)?);
                }
            }
        }
        let value = self.value(otherwise, &Known::Nothing)?;
        Ok(so_far.known(value))
    }

    fn coalesce(&self, args: &[Expr], operand: &Known) -> Result<Known> {
        let mut so_far = SoFar::Known;
        for arg in args {
            match self.value(arg, operand)? {
                Known::Value(Datum::Null) => {}
                Known::Value(value) => return Ok(so_far.known(Known::Value(value))),
                known => so_far = so_far.and(&known),
            }
        }
        Ok(so_far.known(Known::Value(Datum::Null)))
    }

    /// The value of an expression over constants. Parts that need a session are not evaluated.
    fn evaluate(&self, expr: Expr) -> Result<Known> {
        let stmt = PlannedStmt::nothing();
        let pure = || FnContext::pure(Arc::clone(self.catalog));
        let Ok(compiled) = Compiler::new(&stmt, pure()).expr(&expr) else {
            return Ok(Known::Nothing);
        };
        if let CExpr::Const(value) = compiled {
            return Ok(Known::Value(value));
        }
        match compiled.eval(&mut ExecContext::for_folding(pure()), Row::EMPTY) {
            Ok(value) => Ok(Known::Value(value)),
            Err(error) if is_own(error.sqlstate()) => Ok(Known::Nothing),
            Err(error) => Err(error),
        }
    }
}

/// The value of AND (`neutral` is true) or OR of arguments whose values `known_of` computes. In a
/// condition, a NULL argument decides AND.
fn junction(
    args: &[Expr],
    neutral: bool,
    is_condition: bool,
    known_of: impl Fn(&Expr) -> Result<Known>,
) -> Result<Known> {
    let (mut so_far, mut value) = (SoFar::Known, Datum::Bool(neutral));
    for arg in args {
        let known = known_of(arg)?;
        so_far = so_far.and(&known);
        match known {
            Known::Value(Datum::Bool(decides)) if decides != neutral => {
                return Ok(Known::Value(Datum::Bool(decides)));
            }
            Known::Value(Datum::Null) => value = Datum::Null,
            _ => {}
        }
    }
    match value {
        Datum::Null if is_condition && neutral => Ok(Known::Value(Datum::Null)),
        value => Ok(so_far.known(Known::Value(value))),
    }
}

/// The knowledge about several values.
#[derive(Clone, Copy)]
enum SoFar {
    Known,
    OfParameters,
    Nothing,
}

impl SoFar {
    fn and(self, other: &Known) -> SoFar {
        match (self, other) {
            (SoFar::Nothing, _) | (_, Known::Nothing) => SoFar::Nothing,
            (SoFar::OfParameters, _) | (_, Known::OfParameters) => SoFar::OfParameters,
            (SoFar::Known, Known::Value(_)) => SoFar::Known,
        }
    }

    /// The knowledge about a `value` that is computed from these.
    fn known(self, value: Known) -> Known {
        match self.and(&value) {
            SoFar::Known => value,
            SoFar::OfParameters => Known::OfParameters,
            SoFar::Nothing => Known::Nothing,
        }
    }
}

/// Whether an error is about a missing session or feature here, and not about the values.
fn is_own(code: SqlState) -> bool {
    code == SqlState::INTERNAL_ERROR || code == SqlState::FEATURE_NOT_SUPPORTED
}

fn is_strict(expr: &Expr) -> bool {
    let Expr::Func { func, .. } = expr else { return false };
    func.strict && !func.retset
}

fn is_immutable(expr: &Expr) -> bool {
    match expr {
        Expr::Func { func, .. } => is_immutable_function(func) && !OF_TIME_ZONE.contains(&func.oid),
        Expr::Distinct { eq: func, .. }
        | Expr::NullIf { eq: func, .. }
        | Expr::ScalarArrayOp { func, .. } => is_immutable_function(func),
        Expr::CoerceViaIo { arg, ty, .. } => {
            let output = builtin::ty(arg.ty().oid).is_some_and(|ty| is_immutable_io(ty.output));
            output && builtin::ty(ty.oid).is_some_and(|ty| is_immutable_io(ty.input))
        }
        Expr::Not(_)
        | Expr::IsNull { .. }
        | Expr::BoolTest { .. }
        | Expr::MinMax { .. }
        | Expr::Array { .. }
        | Expr::Subscript { .. }
        | Expr::Relabel { .. } => true,
        _ => false,
    }
}

fn is_immutable_throughout(expr: &Expr) -> bool {
    let is_leaf = matches!(expr, Expr::Const(..) | Expr::CaseOperand(_));
    is_leaf || is_immutable(expr) && expr.children().into_iter().all(is_immutable_throughout)
}

/// Whether the function needs no session and is immutable.
fn is_immutable_function(func: &Function) -> bool {
    is_pure_function(func, true)
}

/// Whether the function needs no session, and is immutable or at least not volatile.
pub(crate) fn is_pure_function(function: &Function, immutable: bool) -> bool {
    let is_pure = matches!(
        registry::native(function),
        Some(Native::Builtin(Builtin::Scalar(_) | Builtin::Typed(_) | Builtin::Compare { .. }))
    );
    let is_steady = function.is_immutable() || !immutable && !function.is_volatile();
    is_pure && is_steady && !function.retset
}

fn is_immutable_io(func: Oid) -> bool {
    FunctionRef::built_in(func).is_some_and(|function| function.is_immutable())
}

/// Whether an expression fails for some values.
fn fails_for_some(expr: &Expr) -> bool {
    match expr {
        Expr::Func { func, args, ty, syntax } => {
            let is_comparison =
                matches!(registry::native(func), Some(Native::Builtin(Builtin::Compare { .. })));
            let is_negation =
                matches!(func.built_in_name(), Some("int4um" | "int8um" | "numeric_uminus"));
            let is_cast = matches!(syntax, CallSyntax::ImplicitCast | CallSyntax::ExplicitCast)
                && args.first().is_some_and(|arg| widens(arg.ty(), *ty));
            !is_comparison && !is_negation && !is_cast
        }
        Expr::CoerceViaIo { .. } | Expr::Subscript { .. } => true,
        _ => false,
    }
}

/// Whether all values of one type are values of another.
fn widens(from: TypeRef, to: TypeRef) -> bool {
    matches!(from.oid, oid::INT2 | oid::INT4)
        && matches!(to.oid, oid::INT4 | oid::INT8 | oid::NUMERIC | oid::FLOAT8)
        && to.typmod == -1
}

/// An expression with other children.
fn with_children(expr: &Expr, children: Vec<Expr>) -> Expr {
    let mut expr = expr.clone();
    let mut children = children.into_iter();
    let visited: std::result::Result<(), Infallible> = expr.for_each_child_mut(&mut |child| {
        if let Some(value) = children.next() {
            *child = value;
        }
        Ok(())
    });
    match visited {
        Ok(()) => expr,
        Err(never) => match never {},
    }
}
