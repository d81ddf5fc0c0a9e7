//! A running call, and the choice among statements (exec_stmts in pl_exec.c).
//!
//! A script's instructions run one after the other. [`super::quick`] runs the instructions that the
//! call has specialised, this module the others. A statement's place is noted before it runs here, for the
//! context of errors. What statements do is in a module for each family.

use std::sync::Arc;

use steppe_exec::{RowSink, Spi};
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

use super::cast::Cast;
use super::code::{Act, Code, Instruction, Kind, Label, Piece, RegionOf, Script};
use super::code::{SqlNumber, UNLABELLED};
use super::context::{Phase, Position};
use super::control::{Counter, case_not_found};
use super::cursor::KnownPortal;
use super::frame::{Frame, Shape};
use super::loops::OpenLoop;
use super::plans::{self, Plan, Shared};
use super::quick::{QuickScript, Stop};
use super::value::Value;
use crate::tree::SlotId;

/// The stack that one level of statements may need.
const LEVEL_STACK: usize = 128 << 10;

/// The statements between two checks for interrupts.
const STATEMENTS_A_CHECK: u32 = 64;

/// The place where execution continues after a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// To the next statement.
    Next,
    /// Behind a loop or a block.
    Exit(Label),
    /// To a loop's next round.
    Continue(Label),
    /// Out of the function.
    Return,
}

impl Flow {
    /// At the end of a loop's body: the loop continues, or breaks with the flow behind it.
    #[inline]
    pub(super) fn in_loop(self, label: Label) -> std::ops::ControlFlow<Flow> {
        use std::ops::ControlFlow::{Break, Continue};
        let own = |to: Label| to == UNLABELLED || to == label;
        match self {
            Flow::Next => Continue(()),
            Flow::Continue(to) if own(to) => Continue(()),
            Flow::Exit(to) if own(to) => Break(Flow::Next),
            other => Break(other),
        }
    }
}

/// The place where execution continues after an instruction.
enum Next {
    /// The instruction at a place.
    At(usize),
    /// Out of the script, or to a region of it.
    Leave(Flow),
}

/// The part of a call that the routine's next call uses again.
pub(super) struct State {
    pub(super) frame: Frame,
    pub(super) plans: Box<[Option<Plan>]>,
    pub(super) position: Arc<Position>,
    /// The specialised instructions of each script. A script that runs has taken its own.
    pub(super) quick: Box<[Option<Box<QuickScript>>]>,
    /// The FOR loops over integers.
    pub(super) counters: Box<[Counter]>,
    /// The casts that it has made ([`super::cast`]).
    pub(super) casts: Vec<Cast>,
    /// The columns of composite types, as of an epoch.
    pub(super) row_types: Vec<(Oid, u64, Arc<Shape>)>,
}

impl State {
    pub(super) fn new(code: &Arc<Code>) -> State {
        State {
            frame: Frame::new(code),
            plans: code.pieces.iter().map(|_| None).collect(),
            position: Arc::new(Position::new(Arc::clone(code))),
            quick: (0..code.scripts).map(|_| None).collect(),
            counters: vec![Counter::default(); code.counters as usize].into(),
            casts: Vec::new(),
            row_types: Vec::new(),
        }
    }
}

impl State {
    /// Takes a script's specialised instructions. It runs once at a time in a call.
    pub(super) fn take_quick(&mut self, script: &Script) -> Box<QuickScript> {
        self.quick[script.number as usize].take().unwrap_or_default()
    }

    /// Drops what belongs to the call that has ended.
    pub(super) fn reset(&mut self) {
        self.position.set_place(0);
        self.position.set_phase(Phase::Statement);
        self.frame.clear();
    }

    /// As [`Self::reset`], for another call that gives these records rows of the same columns.
    pub(super) fn begin_again(&mut self, records: [Option<SlotId>; 2]) {
        self.position.set_place(0);
        self.position.set_phase(Phase::Statement);
        self.frame.clear_but(records);
    }
}

/// A running call.
pub(super) struct Run<'a, 's, 'k> {
    pub(super) code: &'a Arc<Code>,
    pub(super) shared: &'a Shared,
    pub(super) state: &'a mut State,
    pub(super) spi: &'a mut Spi<'s>,
    /// GET DIAGNOSTICS … ROW_COUNT
    pub(super) processed: u64,
    /// The value of RETURN.
    pub(super) returned: Value,
    /// The receiver of the rows of a function that returns a set.
    pub(super) sink: Option<&'a mut (dyn RowSink + 'k)>,
    /// The columns of the rows that it returns.
    pub(super) expected: Option<Arc<Shape>>,
    pub(super) has_returned: bool,
    /// The error whose handler runs.
    pub(super) error: Option<Arc<Error>>,
    /// Whether the error that leaves has this call's context line already.
    pub(super) is_located: bool,
    /// The cursors of the loops that run, the innermost last.
    pub(super) loops: Vec<OpenLoop>,
    /// The portals that it has fetched from.
    pub(super) portals: Vec<KnownPortal>,
    /// Counts statements, for the checks of interrupts.
    pub(super) ticks: u32,
}

impl Run<'_, '_, '_> {
    /// Runs a script.
    pub(super) fn script(&mut self, script: &Script) -> Result<Flow> {
        self.script_from(script, 0)
    }

    /// Runs a script from an instruction on.
    pub(super) fn script_from(&mut self, script: &Script, at: usize) -> Result<Flow> {
        let before = self.state.position.place();
        let mut quick = self.state.take_quick(script);
        let done = self.instructions(script, &mut quick, at);
        self.state.quick[script.number as usize] = Some(quick);
        if done.is_ok() {
            self.state.position.set_place(before);
        }
        done
    }

    fn instructions(
        &mut self,
        script: &Script,
        quick: &mut QuickScript,
        mut at: usize,
    ) -> Result<Flow> {
        loop {
            let State { frame, counters, .. } = &mut *self.state;
            quick.keep_current(script, self.code.found, frame, self.spi.epoch());
            match quick.run(frame.without_texts(), counters, &mut at) {
                Stop::End => return Ok(Flow::Next),
                Stop::Check => {
                    self.state.position.set_place(script.instructions[at].place);
                    self.spi.check_interrupts()?;
                }
                Stop::Any => {
                    let instruction = &script.instructions[at];
                    self.state.position.set_place(instruction.place);
                    self.tick()?;
                    let next = match self.act(&instruction.act, at)? {
                        Next::At(next) => next,
                        Next::Leave(flow) => match self.land(script, instruction, flow) {
                            Some(next) => next,
                            None => return Ok(flow),
                        },
                    };
                    if quick.is_new(at) {
                        quick.specialize(at, instruction, self.code, &self.state.plans);
                    }
                    at = next;
                }
            }
        }
    }

    /// Runs an instruction in the general way.
    fn act(&mut self, act: &Act, at: usize) -> Result<Next> {
        let to = |jumps: bool, to: u32| Next::At(if jumps { to as usize } else { at + 1 });
        match act {
            Act::Assign { target, value } => self.assign(*target, *value)?,
            Act::JumpIf { is_true, condition, to: target } => {
                return Ok(to(self.condition(*condition)? == *is_true, *target));
            }
            Act::Statement(kind) => {
                return match self.statement(kind)? {
                    Flow::Next => Ok(to(false, 0)),
                    flow => Ok(Next::Leave(flow)),
                };
            }
            Act::Jump(target) | Act::Again(target) => return Ok(to(true, *target)),
            Act::CountFrom { of, after } => return Ok(to(!self.count_from(of)?, *after)),
            Act::Count { counter, variable, to: target } => {
                let next = self.state.counters[*counter as usize].next();
                if let Some(value) = next {
                    self.state.frame.set(*variable, Datum::Int4(value));
                }
                return Ok(to(next.is_some(), *target));
            }
            Act::Found => self.set_found(true),
            Act::Subject { value, slot } => {
                let value = self.eval_typed(*value)?;
                self.set_subject(*slot, value);
            }
            Act::Compared(slot) => self.state.frame.set(*slot, Datum::Null),
            Act::NoCase => return Err(case_not_found()),
            Act::Declare(declared) => self.declare(declared)?,
            Act::Leave(flow) => return Ok(Next::Leave(*flow)),
            Act::End => return Ok(Next::Leave(Flow::Next)),
        }
        Ok(to(false, 0))
    }

    /// Where an EXIT or a CONTINUE out of a script that has ended goes on in the script around it.
    fn land(&mut self, script: &Script, from: &Instruction, flow: Flow) -> Option<usize> {
        let (exit, label) = match flow {
            Flow::Exit(label) => (true, label),
            Flow::Continue(label) => (false, label),
            Flow::Next | Flow::Return => return None,
        };
        let mut within = from.within;
        while let Some(at) = within {
            let region = &script.regions[at as usize];
            if region.is_meant(exit, label) {
                return Some(if exit { region.exit } else { region.again } as usize);
            }
            if region.of == RegionOf::For {
                self.set_found(true);
            }
            within = region.outer;
        }
        None
    }

    /// Checks for interrupts at every few statements. Statements that take longer check themselves.
    #[inline]
    fn tick(&mut self) -> Result<()> {
        self.ticks = self.ticks.wrapping_add(1);
        if self.ticks.is_multiple_of(STATEMENTS_A_CHECK) {
            self.spi.check_interrupts()
        } else {
            Ok(())
        }
    }

    /// Runs a statement that is one instruction.
    #[inline]
    fn statement(&mut self, kind: &Kind) -> Result<Flow> {
        match kind {
            Kind::Return(returned) => self.return_value(returned),
            // They nest as deep as the parser lets them.
            Kind::Block(block) => {
                stacker::maybe_grow(LEVEL_STACK, 8 * LEVEL_STACK, || self.block(block))
            }
            Kind::ForQuery(of) => {
                stacker::maybe_grow(LEVEL_STACK, 8 * LEVEL_STACK, || self.for_query(of))
            }
            Kind::ForCursor(of) => {
                stacker::maybe_grow(LEVEL_STACK, 8 * LEVEL_STACK, || self.for_cursor(of))
            }
            Kind::ForEach(of) => {
                stacker::maybe_grow(LEVEL_STACK, 8 * LEVEL_STACK, || self.for_each(of))
            }
            _ => self.plain(kind).map(|()| Flow::Next),
        }
    }

    /// Runs a statement after which the next one always runs.
    fn plain(&mut self, kind: &Kind) -> Result<()> {
        match kind {
            Kind::AssignPart(of) => self.assign_part(of),
            Kind::ReturnNext(returned) => self.return_next(returned),
            Kind::ReturnQuery(query) => self.return_query(query),
            Kind::Raise(raise) => self.raise(raise),
            Kind::Assert { condition, message } => self.assert(*condition, *message),
            Kind::Execute { sql, into } => self.execute(*sql, *into),
            Kind::ExecuteDynamic { query, into, parameters } => {
                self.execute_dynamic(*query, *into, parameters)
            }
            Kind::Perform(sql) => self.perform(*sql),
            Kind::Call { sql, call } => self.call_procedure(*sql, *call),
            Kind::GetDiagnostics { stacked, items } => self.get_diagnostics(*stacked, items),
            Kind::Open { cursor, query } => self.open(*cursor, query),
            Kind::Fetch(fetch) => self.fetch(fetch),
            Kind::Close(cursor) => self.close(*cursor),
            Kind::EndTransaction { commit, chain } => self.end_transaction(*commit, *chain),
            _ => Err(Error::internal("a statement was given to the wrong hands")),
        }
    }

    /// COMMIT and ROLLBACK.
    fn end_transaction(&mut self, commit: bool, chain: bool) -> Result<()> {
        self.spi.check_may_end(commit)?;
        self.hold_loops()?;
        match commit {
            true => self.spi.commit(chain),
            false => self.spi.rollback(chain),
        }
    }

    /// The plan of a piece of SQL.
    #[inline]
    pub(super) fn plan(&mut self, number: SqlNumber) -> Result<&mut Plan> {
        let State { frame, plans, .. } = &mut *self.state;
        let own = &mut plans[number.0 as usize];
        plans::plan(own, number, (self.code, self.shared), frame, self.spi)
    }

    /// Evaluates an expression.
    #[inline]
    pub(super) fn eval(&mut self, number: SqlNumber) -> Result<Datum> {
        let State { frame, plans, .. } = &mut *self.state;
        let own = &mut plans[number.0 as usize];
        let of = (self.code, self.shared);
        let plan = plans::plan(own, number, of, frame, self.spi)?;
        match plan.eval(frame, self.spi) {
            Some(value) => value,
            None => self.eval_by_plan(number),
        }
    }

    /// An expression that needs the executor: one row of one column.
    #[cold]
    fn eval_by_plan(&mut self, number: SqlNumber) -> Result<Datum> {
        let mut rows = Rows::at_most(2);
        let columns = self.with_plan(number, |run, plan| {
            run.run_prepared(&mut plan.prepared, &run.piece(number).shown.clone(), 2, &mut rows)?;
            Ok(plan.prepared.columns().len())
        })?;
        // As in PostgreSQL, ROW_COUNT tells of it.
        self.processed = rows.rows.len() as u64;
        let shown = || format!("query: {}", self.piece(number).shown.text);
        if columns != 1 {
            let message = format!("query returned {columns} columns");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).within(shown()));
        }
        let mut rows = rows.rows.into_iter();
        match (rows.next(), rows.next()) {
            (None, _) => Ok(Datum::Null),
            (Some(row), None) => Ok(row.first().cloned().unwrap_or_default()),
            (Some(_), Some(_)) => {
                let message = "query returned more than one row";
                Err(Error::new(SqlState::CARDINALITY_VIOLATION, message).within(shown()))
            }
        }
    }

    /// A piece of SQL.
    pub(super) fn piece(&self, number: SqlNumber) -> &Piece {
        &self.code.pieces[number.0 as usize]
    }

    /// Lends out the plan of a piece of SQL. A call runs one statement at a time, and other calls
    /// have plans of their own.
    pub(super) fn with_plan<T>(
        &mut self,
        number: SqlNumber,
        f: impl FnOnce(&mut Self, &mut Plan) -> Result<T>,
    ) -> Result<T> {
        self.plan(number)?;
        let Some(mut plan) = self.state.plans[number.0 as usize].take() else {
            return Err(Error::internal("a plan was lost"));
        };
        let done = f(self, &mut plan);
        self.state.plans[number.0 as usize] = Some(plan);
        done
    }

    /// Evaluates an expression; its value with its type.
    pub(super) fn eval_typed(&mut self, number: SqlNumber) -> Result<Value> {
        let datum = self.eval(number)?;
        let plan = self.plan(number)?;
        let (ty, modifier) = (plan.ty, plan.modifier);
        let shape = self.shape_of_result(number, ty, &datum)?;
        Ok(Value { datum, ty, modifier, shape })
    }

    /// Evaluates an expression whose value is no row.
    #[inline]
    pub(super) fn eval_scalar(&mut self, number: SqlNumber) -> Result<Value> {
        let datum = self.eval(number)?;
        match &self.state.plans[number.0 as usize] {
            Some(plan) => Ok(Value { datum, ty: plan.ty, modifier: plan.modifier, shape: None }),
            None => Err(Error::internal("an expression has no plan")),
        }
    }

    /// Evaluates a condition: NULL is false.
    #[inline]
    pub(super) fn condition(&mut self, number: SqlNumber) -> Result<bool> {
        match self.eval(number)? {
            Datum::Bool(value) => Ok(value),
            Datum::Null => Ok(false),
            other => self.condition_of(number, other),
        }
    }

    /// A condition of another type is cast.
    #[cold]
    fn condition_of(&mut self, number: SqlNumber, datum: Datum) -> Result<bool> {
        let plan = self.plan(number)?;
        let value = Value { datum, ty: plan.ty, modifier: plan.modifier, shape: None };
        Ok(matches!(self.cast(value, oid::BOOL, -1)?, Datum::Bool(true)))
    }

    /// The columns of a composite result.
    pub(super) fn shape_of_result(
        &mut self,
        number: SqlNumber,
        ty: u32,
        datum: &Datum,
    ) -> Result<Option<Arc<Shape>>> {
        if !matches!(datum, Datum::Record(_)) {
            return Ok(None);
        }
        // A record variable alone hands its columns on.
        let piece = &self.code.pieces[number.0 as usize];
        let name = piece.text.trim().to_ascii_lowercase();
        if let Some(found) = self.code.names.find(piece.scope, &[&name])
            && let crate::names::Named::Record(slot) = found.named
            && let Some(shape) = self.state.frame.shape(slot)
        {
            return Ok(Some(Arc::clone(shape)));
        }
        self.shape_of(ty, datum).map(Some)
    }
}

/// Keeps the first rows.
pub(super) struct Rows {
    pub(super) rows: Vec<Arc<[Datum]>>,
    most: usize,
}

impl Rows {
    pub(super) fn at_most(most: usize) -> Rows {
        Rows { rows: Vec::new(), most }
    }

    /// The most rows that it keeps.
    pub(super) fn most(&self) -> usize {
        self.most
    }
}

impl RowSink for Rows {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        if self.rows.len() < self.most {
            self.rows.push(row.into());
        }
        Ok(())
    }

    fn take_back(&mut self) -> bool {
        self.rows.clear();
        true
    }
}
