//! Expressions that are evaluated without a plan's nodes (exec_eval_simple_expr in pl_exec.c).
//!
//! A SELECT of one expression, without FROM, sub-selects, aggregates and sets, is compiled over the
//! function's values as if they were a row. An evaluation copies no values, takes no lock and counts
//! no reference.
//!
//! So is a SELECT of several expressions ([`Spi::simple_row`]), if they call nothing but immutable
//! functions of the program. These see neither a snapshot nor a command's number, so that nothing is
//! missed where none is taken. A run that is watched, and one that would take the transaction's first
//! snapshot, is a run of the plan.

use super::prepared::{Body, Planned};
use super::{Prepared, Spi};
use crate::expr::{CExpr, Compiler, Row};
use crate::transaction::StatementTxn;
use crate::watch::watch_of;
use std::convert::Infallible;
use std::sync::Arc;
use steppe_functions::FnContext;
use steppe_sql::expr::{Expr, TypeRef};
use steppe_sql::plan::{PlanNode, PlannedStmt};
use steppe_sql::query::Command;
use steppe_txn::Lsn;
use steppe_types::{Datum, Error, Result};

/// An expression over a function's values. A copy shares the code.
#[derive(Clone)]
pub struct SimpleExpression {
    code: Arc<CExpr>,
    expr: Arc<Expr>,
    /// The version of the session's frame that it was made for.
    version: u64,
    /// It calls functions whose statements must see what the function has changed.
    reads: bool,
    /// It calls functions of the program that do or see more than their arguments tell.
    is_heard: bool,
}

impl SimpleExpression {
    /// The bound expression. Its parameters are the places of the function's values.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Its type.
    pub fn ty(&self) -> TypeRef {
        self.expr.ty()
    }

    /// An expression of a statement.
    fn compiled(expr: Expr, planned: &Planned) -> Option<SimpleExpression> {
        let over_values = over_values(&expr);
        let pure = FnContext::pure(Arc::clone(&planned.env.catalog));
        let nothing = PlannedStmt::nothing();
        let code = Compiler::new(&nothing, pure).expr(&over_values).ok()?;
        let (reads, is_heard) = (calls_stable(&expr), calls_heard(&expr));
        let (version, code, expr) = (planned.version(), Arc::new(code), Arc::new(expr));
        Some(SimpleExpression { code, expr, version, reads, is_heard })
    }
}

impl Spi<'_> {
    /// The expression, if the statement is nothing but one.
    pub fn simple(&self, prepared: &Prepared) -> Option<SimpleExpression> {
        let Body::Plan(planned) = &prepared.body else { return None };
        let stmt = planned.plan.compiled.planned();
        let expr = only_expression(stmt)?;
        // A constant that fails must fail also where it is not reached.
        planned.plan.compiled.check_constants(None, &planned.env.catalog).ok()?;
        let of_variables = planned.params.are_variables();
        let expr = renumbered(expr, |index| match of_variables {
            true => stmt.variables.get(index).copied().unwrap_or(index),
            false => index,
        });
        SimpleExpression::compiled(expr, planned)
    }

    /// The expressions of a SELECT without FROM, whose one row depends on the function's values alone.
    pub fn simple_row(&self, prepared: &Prepared) -> Option<Arc<[SimpleExpression]>> {
        let Body::Plan(planned) = &prepared.body else { return None };
        let stmt = planned.plan.compiled.planned();
        let row = only_row(stmt).filter(|row| row.iter().all(depends_on_values_alone))?;
        let is_bound = planned.params.are_variables() && stmt.constants.statement.is_empty();
        let number = |index| stmt.variables.get(index).copied().unwrap_or(index);
        let compiled = |expr| SimpleExpression::compiled(renumbered(expr, number), planned);
        is_bound.then(|| row.iter().map(compiled).collect())?
    }

    /// The row of these expressions, as a command of its own. `None`: the plan must run.
    pub fn evaluate_row(
        &mut self,
        row: &[SimpleExpression],
        values: &[Datum],
    ) -> Result<Option<Vec<Datum>>> {
        let has_snapshot = self.cx.txn().is_ok_and(|txn| txn.txn.snapshot().lsn != Lsn(0));
        if !has_snapshot || watch_of(&**self.session()).is_some() {
            return Ok(None);
        }
        row.iter()
            .map(|expression| self.evaluate(expression, values))
            .collect::<Result<_>>()
            .map(Some)
    }

    /// A part of a statement's expression, as an expression of its own. `None` if the parts may not
    /// be evaluated one after the other: functions that they call see one snapshot.
    pub fn simple_part(
        &self,
        prepared: &Prepared,
        whole: &SimpleExpression,
        part: &Expr,
    ) -> Option<SimpleExpression> {
        let Body::Plan(planned) = &prepared.body else { return None };
        let is_free = !whole.reads && planned.version() == whole.version;
        is_free.then(|| SimpleExpression::compiled(part.clone(), planned))?
    }

    /// Whether the text of an expression still means the same. If not, it must be prepared again.
    #[inline]
    pub fn is_current(&self, expression: &SimpleExpression) -> bool {
        expression.version == self.version
    }

    /// The value of an expression over the function's values.
    #[inline]
    pub fn evaluate(&mut self, expression: &SimpleExpression, values: &[Datum]) -> Result<Datum> {
        if expression.is_heard {
            self.be_heard()?;
        }
        let value = match expression.reads && !self.is_read_only {
            false => expression.code.eval(self.cx, Row::of(values)),
            true => self.at_new_snapshot(&expression.code, values),
        };
        // It may have changed a setting.
        if expression.is_heard {
            self.see_changes()?;
        }
        value
    }

    /// Evaluates an expression as a command of its own: the functions that it calls see what this
    /// function has changed.
    fn at_new_snapshot(&mut self, code: &CExpr, values: &[Datum]) -> Result<Datum> {
        self.be_heard()?;
        let Some(statement) = self.cx.take_txn() else {
            return code.eval(self.cx, Row::of(values));
        };
        let (mut transaction, view) = statement.into_parts();
        let outer = transaction.txn.suspend_statement();
        let started = transaction.txn.start_statement();
        self.cx.lend_txn(Some(StatementTxn::new(transaction)));
        let value = started.and_then(|()| code.eval(self.cx, Row::of(values)));
        let lost = || Error::internal("an expression has lost its transaction");
        let mut transaction = self.cx.take_txn().ok_or_else(lost)?.into_transaction();
        transaction.txn.resume_statement(outer);
        self.cx.lend_txn(Some(StatementTxn::with_view(transaction, view)));
        value
    }
}

/// The expression of a SELECT that consists of one expression only.
fn only_expression(stmt: &PlannedStmt) -> Option<&Expr> {
    match only_row(stmt)? {
        [expr] => Some(expr),
        _ => None,
    }
}

/// The expressions of a SELECT that consists of expressions only.
fn only_row(stmt: &PlannedStmt) -> Option<&[Expr]> {
    let is_bare = stmt.command == Command::Select
        && matches!(stmt.plan.node, PlanNode::Result { one_time_filter: None, child: None })
        && stmt.plan.filter.is_none()
        && stmt.subplans.is_empty()
        && stmt.relations.is_empty();
    let row = stmt.plan.project.as_deref().filter(|_| is_bare)?;
    (row.len() == stmt.columns.len()).then_some(row)
}

/// Whether an expression calls nothing but immutable functions of the program.
fn depends_on_values_alone(expr: &Expr) -> bool {
    !calls(expr, &|function| crate::routine::is_routine(function) || !function.is_immutable())
}

fn renumbered(expr: &Expr, number: impl Fn(usize) -> usize) -> Expr {
    transformed(expr, &mut |expr| match expr {
        Expr::Param { index, ty, at } => Expr::Param { index: number(index), ty, at },
        other => other,
    })
}

/// An expression whose parameters are columns of a row.
fn over_values(expr: &Expr) -> Expr {
    transformed(expr, &mut |expr| match expr {
        Expr::Param { index, ty, .. } => Expr::Slot { index, ty },
        other => other,
    })
}

fn transformed(expr: &Expr, change: &mut dyn FnMut(Expr) -> Expr) -> Expr {
    let done: Result<Expr, Infallible> = expr.clone().transform(&mut |expr| Ok(change(expr)));
    match done {
        Ok(expr) => expr,
        Err(never) => match never {},
    }
}

/// Whether it calls a user's function that runs statements at the snapshot of its caller.
fn calls_stable(expr: &Expr) -> bool {
    calls(expr, &|function| {
        crate::routine::is_routine(function) && !function.is_volatile() && !function.is_immutable()
    })
}

/// The functions of the program that are not VOLATILE and yet tell whether the transaction has
/// changed anything.
const TELLING: [&str; 2] = ["pg_current_xact_id_if_assigned", "txid_current_if_assigned"];

/// The VOLATILE functions of the program that change nothing and look at the clock or at chance
/// only. A repeated call is like any other one. (random() is not: setseed() fixes its values.)
const UNHEARD: [&str; 5] = ["clock_timestamp", "timeofday", "gen_random_uuid", "uuidv4", "uuidv7"];

/// Whether it calls a function of the program that does or sees more than its arguments tell. A
/// user's function says so itself when it is called.
fn calls_heard(expr: &Expr) -> bool {
    calls(expr, &|function| {
        let name = &*function.name;
        let is_heard = function.is_volatile() && !UNHEARD.contains(&name);
        !crate::routine::is_routine(function) && (is_heard || TELLING.contains(&name))
    })
}

/// Whether it calls a function of which `is_so` holds.
fn calls(expr: &Expr, is_so: &dyn Fn(&steppe_catalog::Function) -> bool) -> bool {
    let calls_one = match expr {
        Expr::Func { func, .. }
        | Expr::Distinct { eq: func, .. }
        | Expr::NullIf { eq: func, .. }
        | Expr::ScalarArrayOp { func, .. } => is_so(func),
        _ => false,
    };
    calls_one || expr.children().into_iter().any(|child| calls(child, is_so))
}
