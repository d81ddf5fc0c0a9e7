//! PL/pgSQL's execution (pl_exec.c, pl_comp.c and pl_handler.c).
//!
//! ```text
//!   Function ── compile ──▶ parse ── build ──▶ Code     immutable, by slots and numbers
//!                                               │
//!   call ── State (frame, plans) ── Run ────────┘──▶ Spi: expressions, statements, savepoints
//! ```
//!
//! A call has a frame with a value for each variable, and plans of its own, so that an expression is
//! evaluated without a lock. States of calls that have ended serve the next ones. Errors, positions
//! and CONTEXT lines are PostgreSQL's. Each round of a loop and each statement checks for
//! interrupts. Blocks nest as deep as the parser lets them, on a stack that grows.
//!
//! | file | subject |
//! |---|---|
//! | `compile`, `build`, `script`, `code` | from the catalog's function to code |
//! | `walk` | a running call; the choice among statements |
//! | `frame`, `plans`, `value`, `cast` | variables, plans of SQL, assignment, casts |
//! | `growth` | texts and arrays that grow in their place |
//! | `fast`, `real`, `quick` | simple expressions; instructions that a call has specialised |
//! | `block`, `control`, `loops` | blocks with exception sections; CASE and loops |
//! | `sql`, `cursor`, `message`, `returns` | families of statements |
//! | `array` | assignment to elements, slices and fields |
//! | `trigger` | calls as a trigger |
//! | `context` | what runs, for CONTEXT lines |

mod array;
mod block;
mod build;
mod cast;
mod code;
mod compile;
mod context;
mod control;
mod cursor;
mod fast;
mod frame;
mod growth;
mod loops;
mod message;
mod own_cursor;
mod plans;
mod quick;
mod real;
mod returns;
mod script;
mod sql;
mod trigger;
mod value;
mod walk;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use steppe_catalog::Relation;
use steppe_catalog::objects::{Function, FunctionRef};
use steppe_exec::routine::{CallTypes, Language, Routine};
use steppe_exec::{RowSink, Spi, TriggerCall, TriggerRows};
use steppe_functions::{Frame, SessionHost};
use steppe_types::{Datum, Error, Oid, Result, SqlState};

use self::code::{Code, Var};
use self::context::Phase;
use self::plans::Shared;
use self::trigger::TableRow;
use self::value::Value;
use self::walk::{Flow, Run, State};
use crate::types::RoutineKind;

const NO_RETURN: SqlState = SqlState(*b"2F005");

/// The most states of ended calls that are kept for the next ones.
const IDLE_STATES_MAX: usize = 64;
/// The most tables that a trigger function keeps plans for.
const TABLES_MAX: usize = 256;

/// The language.
pub struct PlPgSql;

/// Makes the language known to the executor.
pub fn register() {
    steppe_exec::registry::register_language(&PlPgSql);
}

impl Language for PlPgSql {
    fn name(&self) -> &'static str {
        "plpgsql"
    }

    fn compile(
        &self,
        function: &FunctionRef,
        call: &Arc<CallTypes>,
        spi: &mut Spi<'_>,
    ) -> Result<Arc<dyn Routine>> {
        let code = compile::function(function, call, spi)?;
        Ok(Arc::new(Compiled { kept: Kept::new(&Arc::new(code)), tables: Mutex::default() }))
    }

    fn validate(
        &self,
        function: &Function,
        frame: &Frame,
        session: &Arc<dyn SessionHost>,
    ) -> Result<()> {
        compile::validate(function, frame, session)
    }

    fn run_inline(&self, source: &str, _atomic: bool, spi: &mut Spi<'_>) -> Result<()> {
        let code = Arc::new(compile::inline(source, spi)?);
        Kept::new(&code).call(spi, None, |run| run.run_body(&[]).map(drop))
    }
}

/// A compiled function.
struct Compiled {
    kept: Kept,
    /// Its code and plans for each table, if it is a trigger function.
    tables: Mutex<HashMap<(Oid, Oid), Arc<OfTable>>>,
}

/// A trigger function for one table: its plans depend on the table's columns.
struct OfTable {
    relation: Arc<Relation>,
    row: TableRow,
    kept: Kept,
}

/// Code with its plans, and states of calls that have ended.
struct Kept {
    code: Arc<Code>,
    shared: Shared,
    idle: Mutex<Vec<State>>,
}

impl Kept {
    fn new(code: &Arc<Code>) -> Kept {
        Kept { code: Arc::clone(code), shared: Shared::new(code), idle: Mutex::default() }
    }

    /// Runs a call; an error gets its context line.
    fn call<T>(
        &self,
        spi: &mut Spi<'_>,
        sink: Option<&mut dyn RowSink>,
        f: impl FnOnce(&mut Run<'_, '_, '_>) -> Result<T>,
    ) -> Result<T> {
        let idle = self.idle.lock().pop();
        let mut state = idle.unwrap_or_else(|| State::new(&self.code));
        let entered = context::enter_call(&state.position);
        let mut run = Run {
            code: &self.code,
            shared: &self.shared,
            state: &mut state,
            spi,
            processed: 0,
            returned: Value::default(),
            has_returned: false,
            sink,
            expected: self.code.expected.clone(),
            error: None,
            is_located: false,
            loops: Vec::new(),
            portals: Vec::new(),
            ticks: 0,
        };
        // Positions in SQL have become internal ones.
        let done = f(&mut run).map_err(|error| run.located(error.without_position()));
        drop(entered);
        state.reset();
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_STATES_MAX {
            idle.push(state);
        }
        done
    }
}

impl Routine for Compiled {
    fn call(&self, args: &[Datum], spi: &mut Spi<'_>) -> Result<Datum> {
        self.check_no_trigger()?;
        self.kept.call(spi, None, |run| {
            run.run_body(args)?;
            run.state.position.set_phase(Phase::Casting);
            run.result()
        })
    }

    fn call_set(&self, args: &[Datum], spi: &mut Spi<'_>, sink: &mut dyn RowSink) -> Result<()> {
        self.check_no_trigger()?;
        self.kept.call(spi, Some(sink), |run| run.run_body(args).map(drop))
    }

    fn fire(
        &self,
        of: &TriggerCall<'_>,
        rows: &mut dyn TriggerRows,
        spi: &mut Spi<'_>,
    ) -> Result<()> {
        let table = self.of_table(of);
        table.kept.call(spi, None, |run| {
            let common = run.begin_run(of)?;
            while let Some(changed) = rows.next()? {
                let answer = run.fire(&of.for_row(changed), &table.row, &common)?;
                rows.answered(answer)?;
                if rows.is_done() || !run.spi.is_as_called() {
                    break;
                }
                run.begin_again();
            }
            Ok(())
        })
    }
}

impl Compiled {
    /// 0A000 for a trigger function that is called as another one.
    fn check_no_trigger(&self) -> Result<()> {
        match self.kept.code.kind {
            RoutineKind::Trigger | RoutineKind::EventTrigger => {
                Err(trigger::not_a_trigger(&self.kept.code.name))
            }
            _ => Ok(()),
        }
    }

    /// Its code and plans for a table, or for a trigger of it with transition tables, which only its
    /// plans read.
    fn of_table(&self, call: &TriggerCall<'_>) -> Arc<OfTable> {
        let relation = call.relation;
        let has_tables = call.transition_tables().iter().any(Option::is_some);
        let of = (relation.oid, if has_tables { call.oid() } else { 0 });
        let mut tables = self.tables.lock();
        if let Some(found) = tables.get(&of)
            && Arc::ptr_eq(&found.relation, relation)
        {
            return Arc::clone(found);
        }
        if tables.len() >= TABLES_MAX {
            tables.clear();
        }
        let made = Arc::new(OfTable {
            relation: Arc::clone(relation),
            row: TableRow::of(relation),
            kept: Kept::new(&self.kept.code),
        });
        tables.insert(of, Arc::clone(&made));
        made
    }
}

impl Run<'_, '_, '_> {
    /// Runs the body with its arguments. If the function must return a value, reaching the end
    /// without RETURN is an error.
    fn run_body(&mut self, args: &[Datum]) -> Result<()> {
        let code = self.code;
        self.state.position.set_phase(Phase::Storing);
        for (slot, arg) in code.arguments.iter().zip(args) {
            match code.var(*slot) {
                Var::Scalar(_) => self.state.frame.set(*slot, arg.clone()),
                Var::Record(record) if !arg.is_null() => {
                    let shape = self.shape_of(record.ty.oid, arg)?;
                    self.state.frame.set_shape(*slot, &shape);
                    self.state.frame.set(*slot, arg.clone());
                }
                _ => {}
            }
        }
        if !self.enter_body()? {
            self.leave_body();
            return Err(Error::new(NO_RETURN, "control reached end of function without RETURN"));
        }
        Ok(())
    }

    /// Runs the outermost block. False: control has reached its end.
    fn enter_body(&mut self) -> Result<bool> {
        let code = self.code;
        self.state.frame.set(code.found, Datum::Bool(false));
        self.state.position.set_phase(Phase::Statement);
        self.state.position.set_place(build::OUTERMOST);
        let flow = self.block(&code.body)?;
        self.state.position.set_place(0);
        Ok(flow == Flow::Return || code.kind == RoutineKind::Anonymous)
    }

    /// The last statement has ended.
    fn leave_body(&mut self) {
        self.state.position.set_phase(Phase::Statement);
        self.state.position.set_place(0);
    }
}
