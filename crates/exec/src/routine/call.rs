//! Calls of routines: in expressions, as sets, as triggers.
//!
//! A call gets an [`Spi`] of its own. A function that is not VOLATILE runs its statements at the
//! snapshot of its caller and may not change anything. The settings of its SET clauses hold until
//! the call ends, also if it fails.

use super::{CallTypes, Columns, Routine, SessionRoutines, result_columns};
use crate::change::{TriggerCall, TriggerRows};
use crate::context::ExecContext;
use crate::expr::{CExpr, Row, eval_args};
use crate::registry::{self, TriggerFn};
use crate::spi::Spi;
use crate::tuplestore::TupleStore;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use steppe_catalog::objects::{Body, Function};
use steppe_catalog::{Catalog, FunctionRef};
use steppe_functions::{CallInfo, CountedCall, SessionHost};
use steppe_types::{Datum, Oid, Result, oid};

/// Stack that must be left before a call. A call within a call plans and runs statements and walks
/// their expressions before it checks again.
const CALL_STACK: usize = 256 * 1024;

/// A call of a user's function in an expression.
#[derive(Debug)]
pub(crate) struct RoutineCall {
    routine: SetRoutine,
    args: Box<[CExpr]>,
    /// A number of the call, if the function is immutable and its arguments are the same in the
    /// whole execution. Such a function is called once, and its result kept under the number.
    constant: Option<u64>,
}

/// The number of constant calls that have been compiled, from which each gets its own number. (Two
/// calls could have the same address, one after the other.)
static CONSTANT_CALLS: AtomicU64 = AtomicU64::new(0);

/// A user's function with the types that it is called with.
#[derive(Clone, Debug)]
pub(crate) struct SetRoutine {
    pub(crate) function: FunctionRef,
    types: Arc<CallTypes>,
}

/// The code of a trigger.
#[derive(Clone)]
pub(crate) enum TriggerCode {
    /// A function of the program.
    Native(TriggerFn),
    /// A user's function.
    Routine(SetRoutine),
}

/// Whether a function's code is a user's.
pub(crate) fn is_routine(function: &Function) -> bool {
    !function.is_built_in() && !matches!(function.body, Body::Native { .. })
}

impl RoutineCall {
    /// A call with compiled arguments.
    pub(crate) fn new(routine: SetRoutine, args: Box<[CExpr]>) -> RoutineCall {
        let is_fixed = |arg: &CExpr| matches!(arg, CExpr::Const(_) | CExpr::Param(_));
        let is_constant = routine.function.is_immutable() && args.iter().all(is_fixed);
        let constant = is_constant.then(|| CONSTANT_CALLS.fetch_add(1, Ordering::Relaxed));
        RoutineCall { routine, args, constant }
    }

    /// Whether its result is a row of one column.
    pub(crate) fn gives_one_column(&self) -> bool {
        self.routine.columns().len() == 1
    }

    /// The call's result over `row`.
    pub(crate) fn eval(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<Datum> {
        let Some(call) = self.constant else { return self.call(cx, row) };
        if let Some(value) = cx.constant_call(call) {
            return Ok(value.clone());
        }
        let value = self.call(cx, row)?;
        cx.keep_constant_call(call, value.clone());
        Ok(value)
    }

    fn call(&self, cx: &mut ExecContext, row: Row<'_>) -> Result<Datum> {
        match eval_args(&self.args, self.routine.function.strict, cx, row)? {
            Some(args) => self.routine.value(&args, cx),
            None => Ok(Datum::Null),
        }
    }
}

impl SetRoutine {
    /// A function as a call has it. `columns` is the call's column definition list.
    pub(crate) fn new(info: CallInfo, columns: Option<Columns>, catalog: &Catalog) -> SetRoutine {
        let CallInfo { func: function, args, ret, variadic } = info;
        let columns = result_columns(&function, &args, ret.oid, catalog).or(columns);
        let types = CallTypes { args, ret: ret.oid, columns, collation: 0, atomic: true, variadic };
        SetRoutine { function, types: Arc::new(types) }
    }

    /// The columns of a composite result.
    pub(super) fn columns(&self) -> &[(Arc<str>, Oid, i32)] {
        self.types.columns.as_deref().unwrap_or_default()
    }

    /// Whether settings hold while it runs.
    pub(super) fn has_settings(&self) -> bool {
        !self.function.config.is_empty()
    }

    /// The number of columns of a row of the result.
    pub(crate) fn width(&self) -> usize {
        self.types.columns.as_ref().map_or(1, |columns| columns.len())
    }

    /// Calls it for one value.
    pub(crate) fn value(&self, args: &[Datum], cx: &mut ExecContext) -> Result<Datum> {
        cx.be_heard()?;
        let value = self.enter(cx, |routine, spi| routine.call(args, spi))?;
        // psql shows the result of a void function as an empty field.
        let is_void = self.types.ret == oid::VOID && value.is_null();
        Ok(if is_void { Datum::text("") } else { value })
    }

    /// Calls it for a set of rows.
    pub(crate) fn rows(&self, args: &[Datum], cx: &mut ExecContext) -> Result<TupleStore> {
        cx.be_heard()?;
        let mut rows = cx.new_store(self.width());
        self.enter(cx, |routine, spi| routine.call_set(args, spi, &mut rows))?;
        Ok(rows)
    }

    /// Runs its code within the running statement.
    pub(super) fn enter<T>(
        &self,
        cx: &mut ExecContext,
        run: impl FnOnce(&dyn Routine, &mut Spi<'_>) -> Result<T>,
    ) -> Result<T> {
        let is_read_only = !self.function.is_volatile();
        self.run_with(&mut Spi::of_call(cx, is_read_only), run)
    }

    /// Runs its code with an interface to the running statement. The caller has said that it is
    /// heard, unless it is a trigger: the call itself is none that others notice.
    pub(super) fn run_with<T>(
        &self,
        spi: &mut Spi<'_>,
        run: impl FnOnce(&dyn Routine, &mut Spi<'_>) -> Result<T>,
    ) -> Result<T> {
        let session = Arc::clone(spi.session());
        spi.check_interrupts()?;
        let routines = SessionRoutines::of(&*session)?;
        let _depth = routines.deeper()?;
        stacker::maybe_grow(CALL_STACK, 16 * CALL_STACK, || {
            let _settings = InForce::of(&*session, &self.function)?;
            spi.see_changes()?;
            let _counted = Counted::of(&*session, &self.function);
            let _called = Called::of(&*session);
            let routine = match routines.find(&self.function, &self.types) {
                Some(routine) => routine,
                None => {
                    let routine = self.compile(spi)?;
                    routines.put(&self.function, &self.types, &routine);
                    routine
                }
            };
            run(&*routine, spi)
        })
    }

    fn compile(&self, spi: &mut Spi<'_>) -> Result<Arc<dyn Routine>> {
        let language = registry::language_of(&self.function)?;
        language.compile(&self.function, &self.types, spi)
    }
}

/// A call that track_functions counts, while it runs.
struct Counted<'s>(Option<(&'s dyn SessionHost, CountedCall)>);

impl Counted<'_> {
    fn of<'s>(session: &'s dyn SessionHost, function: &Function) -> Counted<'s> {
        Counted(session.begin_function(function).map(|call| (session, call)))
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if let Some((session, call)) = self.0.take() {
            session.end_function(call);
        }
    }
}

/// A call of a function or of a DO's code, to which the transition tables of the function that calls
/// it are unknown.
pub(super) struct Called<'s>(Option<&'s dyn SessionHost>);

impl Called<'_> {
    pub(super) fn of(session: &dyn SessionHost) -> Called<'_> {
        Called(session.enter_function().then_some(session))
    }
}

impl Drop for Called<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.0.take() {
            session.leave_function();
        }
    }
}

/// The settings of a function's SET clauses, while it runs.
struct InForce<'s>(Option<(&'s dyn SessionHost, u32)>);

impl InForce<'_> {
    fn of<'s>(session: &'s dyn SessionHost, function: &Function) -> Result<InForce<'s>> {
        if function.config.is_empty() {
            return Ok(InForce(None));
        }
        let before = session.enter_settings(&function.config)?;
        Ok(InForce(Some((session, before))))
    }
}

impl Drop for InForce<'_> {
    fn drop(&mut self) {
        if let Some((session, before)) = self.0.take() {
            session.leave_settings(before);
        }
    }
}

impl TriggerCode {
    /// A user's function as a trigger.
    pub(crate) fn of_routine(function: FunctionRef) -> TriggerCode {
        let types = CallTypes {
            args: Box::default(),
            ret: function.ret,
            columns: None,
            collation: 0,
            atomic: true,
            variadic: false,
        };
        TriggerCode::Routine(SetRoutine { function, types: Arc::new(types) })
    }

    /// Calls it for changes that have happened or are about to. It may end before the last one
    /// ([`Routine::fire`]).
    pub(crate) fn fire(
        &self,
        of: &TriggerCall<'_>,
        rows: &mut dyn TriggerRows,
        cx: &mut ExecContext,
    ) -> Result<()> {
        match self {
            TriggerCode::Native(function) => {
                while let Some(changed) = rows.next()? {
                    cx.check_interrupts()?;
                    cx.be_heard()?;
                    let answer = function(&of.for_row(changed), &mut Spi::new(cx))?;
                    rows.answered(answer)?;
                }
                Ok(())
            }
            TriggerCode::Routine(routine) => {
                routine.enter(cx, |routine, spi| routine.fire(of, rows, spi))
            }
        }
    }

    /// Whether nothing but the rows distinguishes one call from the next: settings of the function's
    /// own begin and end with each call.
    pub(crate) fn is_called_alike(&self) -> bool {
        match self {
            TriggerCode::Native(_) => true,
            TriggerCode::Routine(routine) => !routine.has_settings(),
        }
    }
}
