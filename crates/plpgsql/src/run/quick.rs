//! Instructions that a call has specialised: over numbers and booleans, without plans and datums.
//!
//! ```text
//!   Script (immutable)           Quick script of a call
//!   Assign  total := total + i   Any  ── first run ──▶  Sum { total, total, i }
//!   Count   i                    Count                        │ NULL, overflow
//!                                                             ▼
//!                                                  the instruction of the script
//! ```
//!
//! An instruction runs in the general way first. After that its plan is there, and if the expression
//! is one of [`super::fast`] and the target fits, the call keeps the specialised form (Brunthaler,
//! "Efficient Interpretation using Quickening", 2010). [`QuickScript::run`] runs these forms one
//! after the other. It stops where a form gives up or where there is none, and the general way runs
//! that one instruction. So all errors, CONTEXT lines and NULLs are the general way's, and a form
//! need not note where it is.
//!
//! A form relies on the session's epoch (operators, the search path), on the columns of records and
//! on the types of CASE's subjects. These change outside of `run` only, so they are checked before it
//! ([`QuickScript::keep_current`]). Variables are in the frame in both ways, so an exception section
//! and a recursive call find them as ever.
//!
//! A loop over a query's rows runs its body over rows that are no variable's value yet
//! ([`QuickScript::run_rows`]). A form reads a record by its fields only, and has them from the row. The
//! record gets the row where the general way goes on, and from the last row of a piece.
//!
//! Jumps back count the instructions that they repeat, and `run` stops for a check of interrupts at
//! every few thousands.

use std::sync::Arc;

use steppe_types::{Datum, oid};

use super::array::{element_of, push_number, set_number};
use super::code::{Act, Address, Code, ForInteger, Instruction, Kind, Script, Step, Var};
use super::control::Counter;
use super::fast::{
    Arithmetic, Bool, Bound, Comparison, Fast, Int, Records, Unbound, Width, number, replace,
};
use super::frame::{Frame, Shape};
use super::plans::Plan;
use super::real::Real;
use crate::tree::SlotId;

/// The instructions between two checks for interrupts.
const INSTRUCTIONS_A_CHECK: u32 = 4096;

/// A specialised instruction.
#[derive(Debug)]
enum Quick {
    /// The general way. `is_new`: it has not run yet.
    Any {
        is_new: bool,
    },
    Jump(Address),
    Again(Address),
    Count {
        counter: u32,
        variable: u32,
        to: Address,
    },
    CountFrom(Box<CountFrom>),
    Found(u32),
    /// `target := left + right`, of variables.
    Sum {
        target: u32,
        width: Width,
        left: u32,
        right: u32,
    },
    /// `target := left + right`, of a variable and a constant.
    Increment {
        target: u32,
        width: Width,
        left: u32,
        right: i64,
    },
    Int {
        target: u32,
        width: Width,
        value: Int,
    },
    Real {
        target: u32,
        value: Real,
    },
    Bool {
        target: u32,
        value: Bool,
    },
    JumpIf {
        is_true: bool,
        condition: Bool,
        to: Address,
    },
    /// As `JumpIf`, with a comparison that jumps if it is as said.
    Compare {
        is_true: bool,
        comparison: Comparison,
        operands: Box<(Int, Int)>,
        to: Address,
    },
    /// `array[at] := value`
    Element {
        array: u32,
        width: Width,
        operands: Box<(Int, Int)>,
    },
    /// `array := array || value`
    Append {
        array: u32,
        width: Width,
        value: Int,
    },
    End,
}

#[derive(Debug)]
struct CountFrom {
    counter: u32,
    variable: u32,
    first: Int,
    last: Int,
    step: i32,
    reverse: bool,
    after: Address,
}

/// Why a run has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The instruction is to run in the general way.
    Any,
    /// Interrupts are to be checked.
    Check,
    /// The script has ended.
    End,
}

/// The specialised instructions of a script, and what they rely on.
#[derive(Debug, Default)]
pub(super) struct QuickScript {
    instructions: Vec<Quick>,
    epoch: u64,
    version: u64,
    retyped: u64,
    /// The records that they read, and the columns that these have.
    records: Vec<(SlotId, Option<Arc<Shape>>)>,
    /// The instructions until the next check for interrupts.
    left: u32,
}

impl QuickScript {
    /// Drops specialised instructions that are no longer right.
    #[inline]
    pub(super) fn keep_current(
        &mut self,
        script: &Script,
        found: SlotId,
        frame: &Frame,
        epoch: u64,
    ) {
        let is_current = self.epoch == epoch && self.version == frame.version();
        if !is_current || self.instructions.is_empty() {
            self.check(script, found, frame, epoch);
        }
    }

    #[cold]
    fn check(&mut self, script: &Script, found: SlotId, frame: &Frame, epoch: u64) {
        let has_shape = |(slot, shape): &(SlotId, Option<Arc<Shape>>)| match (
            shape.as_ref(),
            frame.shape(*slot),
        ) {
            (None, None) => true,
            (Some(known), Some(now)) => Arc::ptr_eq(known, now) || known == now,
            _ => false,
        };
        let is_right = self.epoch == epoch
            && self.retyped == frame.retyped()
            && self.records.iter().all(has_shape)
            && !self.instructions.is_empty();
        if !is_right {
            self.instructions.clear();
            let generic = script.instructions.iter().map(|one| Quick::generic(&one.act, found));
            self.instructions.extend(generic);
            self.records.clear();
            self.left = INSTRUCTIONS_A_CHECK;
        }
        (self.epoch, self.version, self.retyped) = (epoch, frame.version(), frame.retyped());
    }

    /// Runs specialised instructions.
    pub(super) fn run(
        &mut self,
        values: &mut [Datum],
        counters: &mut [Counter],
        at: &mut usize,
    ) -> Stop {
        self.run_over(Unbound, values, counters, at)
    }

    /// Runs specialised instructions from the first one for each row, in the place of a record's value.
    /// (An instruction changes no record.) Returns the number of rows that it has begun, and where and
    /// why it stopped for the last one.
    pub(super) fn run_rows(
        &mut self,
        (record, rows, width): (SlotId, &[Datum], usize),
        values: &mut [Datum],
        counters: &mut [Counter],
    ) -> (usize, usize, Stop) {
        let mut run = 0;
        for row in rows.chunks_exact(width) {
            let mut at = 0;
            let bound = Bound { slot: record.0, row };
            run += 1;
            match self.run_over(bound, values, counters, &mut at) {
                Stop::End => {}
                stop => return (run, at, stop),
            }
        }
        (run, 0, Stop::End)
    }

    #[inline]
    fn run_over(
        &mut self,
        records: impl Records,
        values: &mut [Datum],
        counters: &mut [Counter],
        at: &mut usize,
    ) -> Stop {
        let from = (*at, records);
        let (stopped, stop) = go(&self.instructions, values, counters, from, &mut self.left);
        *at = stopped;
        if stop == Stop::Check {
            self.left = INSTRUCTIONS_A_CHECK;
        }
        stop
    }

    /// Whether an instruction that has just run may have a specialised form.
    #[inline]
    pub(super) fn is_new(&self, at: usize) -> bool {
        matches!(self.instructions.get(at), Some(Quick::Any { is_new: true }))
    }

    /// Specialises an instruction that has just run, if that is possible.
    #[cold]
    pub(super) fn specialize(
        &mut self,
        at: usize,
        instruction: &Instruction,
        code: &Code,
        plans: &[Option<Plan>],
    ) {
        let mut of = Specializer { code, plans, records: Vec::new() };
        let made = of.instruction(&instruction.act);
        if made.is_some() {
            self.records.append(&mut of.records);
        }
        if let Some(place) = self.instructions.get_mut(at) {
            *place = made.unwrap_or(Quick::Any { is_new: false });
        }
    }
}

/// Runs instructions from one on. Returns where and why it stopped.
fn go(
    code: &[Quick],
    values: &mut [Datum],
    counters: &mut [Counter],
    (mut at, records): (usize, impl Records),
    left: &mut u32,
) -> (usize, Stop) {
    loop {
        let Some(instruction) = code.get(at) else { return (at, Stop::End) };
        let next = match instruction {
            Quick::Any { .. } => None,
            Quick::End => return (at, Stop::End),
            Quick::Sum { target, width, left, right } => {
                let operand = |slot: &u32| values.get(*slot as usize).and_then(number);
                operand(left)
                    .zip(operand(right))
                    .and_then(|(left, right)| left.checked_add(right))
                    .and_then(|sum| store(values, *target, *width, sum))
                    .map(|()| at + 1)
            }
            Quick::Increment { target, width, left, right } => {
                let left = values.get(*left as usize).and_then(number);
                left.and_then(|left| left.checked_add(*right))
                    .and_then(|sum| store(values, *target, *width, sum))
                    .map(|()| at + 1)
            }
            Quick::Int { target, width, value } => value
                .eval(values, records)
                .and_then(|value| store(values, *target, *width, value))
                .map(|()| at + 1),
            Quick::Real { target, value } => value
                .eval(values, records)
                .and_then(|value| put_real(values, *target, value))
                .map(|()| at + 1),
            Quick::Bool { target, value } => value
                .eval(values, records)
                .and_then(|value| put_bool(values, *target, value))
                .map(|()| at + 1),
            Quick::Compare { is_true, comparison, operands, to } => {
                let operands = both(operands, values, records);
                operands.map(|(left, right)| match comparison.holds(left, right) == *is_true {
                    true => *to as usize,
                    false => at + 1,
                })
            }
            Quick::JumpIf { is_true, condition, to } => {
                condition.eval(values, records).map(|holds| match holds == *is_true {
                    true => *to as usize,
                    false => at + 1,
                })
            }
            Quick::Count { counter, variable, to } => {
                match counters.get_mut(*counter as usize).and_then(Counter::next) {
                    Some(value) => {
                        match values.get_mut(*variable as usize) {
                            Some(Datum::Int4(old)) => *old = value,
                            Some(place) => *place = Datum::Int4(value),
                            None => {}
                        }
                        if is_time(left, at, *to) {
                            return (*to as usize, Stop::Check);
                        }
                        Some(*to as usize)
                    }
                    None => Some(at + 1),
                }
            }
            Quick::Jump(to) => Some(*to as usize),
            Quick::Again(to) => {
                if is_time(left, at, *to) {
                    return (*to as usize, Stop::Check);
                }
                Some(*to as usize)
            }
            Quick::Found(slot) => put_bool(values, *slot, true).map(|()| at + 1),
            Quick::CountFrom(of) => {
                of.begin(values, counters, records).map(|has_round| match has_round {
                    true => at + 1,
                    false => of.after as usize,
                })
            }
            Quick::Element { array, width, operands } => {
                let operands = both(operands, values, records);
                operands
                    .and_then(|(at, value)| {
                        set_number(values.get_mut(*array as usize)?, at, *width, value)
                    })
                    .map(|()| at + 1)
            }
            Quick::Append { array, width, value } => value
                .operand(values, records)
                .and_then(|value| push_number(values.get_mut(*array as usize)?, *width, value))
                .map(|()| at + 1),
        };
        match next {
            Some(next) => at = next,
            None => return (at, Stop::Any),
        }
    }
}

#[inline(always)]
fn both(operands: &(Int, Int), values: &[Datum], records: impl Records) -> Option<(i64, i64)> {
    operands.0.operand(values, records).zip(operands.1.operand(values, records))
}

/// Counts the instructions that a jump back repeats. True: it is time for a check.
#[inline(always)]
fn is_time(left: &mut u32, at: usize, to: Address) -> bool {
    *left = left.saturating_sub(at as u32 - to + 1);
    *left == 0
}

#[inline(always)]
fn store(values: &mut [Datum], target: u32, width: Width, value: i64) -> Option<()> {
    width.set(values.get_mut(target as usize)?, value)
}

/// Gives a variable a value. `None`: it is not a number or a truth value yet.
#[inline(always)]
fn put_bool(values: &mut [Datum], target: u32, value: bool) -> Option<()> {
    match values.get_mut(target as usize)? {
        Datum::Bool(old) => *old = value,
        place => return replace(place, Datum::Bool(value)),
    }
    Some(())
}

/// As [`put_bool`].
#[inline(always)]
fn put_real(values: &mut [Datum], target: u32, value: f64) -> Option<()> {
    match values.get_mut(target as usize)? {
        Datum::Float8(old) => *old = value,
        place => return replace(place, Datum::Float8(value)),
    }
    Some(())
}

impl CountFrom {
    /// Begins the loop. False: it has no round.
    fn begin(
        &self,
        values: &mut [Datum],
        counters: &mut [Counter],
        records: impl Records,
    ) -> Option<bool> {
        let bound = |value: &Int| i32::try_from(value.operand(values, records)?).ok();
        let (first, last) = (bound(&self.first)?, bound(&self.last)?);
        // The general way sets FOUND.
        let counter = Counter::new(first, last, self.step, self.reverse)?;
        *counters.get_mut(self.counter as usize)? = counter;
        store(values, self.variable, Width::Four, first.into())?;
        Some(true)
    }
}

impl Quick {
    /// The form that an instruction has before it has run.
    fn generic(act: &Act, found: SlotId) -> Quick {
        match act {
            Act::Jump(to) => Quick::Jump(*to),
            Act::Again(to) => Quick::Again(*to),
            Act::Count { counter, variable, to } => {
                Quick::Count { counter: *counter, variable: variable.0, to: *to }
            }
            Act::Found => Quick::Found(found.0),
            Act::End => Quick::End,
            _ => Quick::Any { is_new: true },
        }
    }
}

/// Finds the specialised form of an instruction.
struct Specializer<'a> {
    code: &'a Code,
    plans: &'a [Option<Plan>],
    records: Vec<(SlotId, Option<Arc<Shape>>)>,
}

impl Specializer<'_> {
    fn instruction(&mut self, act: &Act) -> Option<Quick> {
        match act {
            Act::Assign { target, value } => {
                let ty = self.plain_type(*target)?;
                match self.fast(value.0) {
                    Some(value) => self.assignment(*target, ty, value),
                    None => self.append(*target, ty, value.0),
                }
            }
            Act::JumpIf { is_true, condition, to } => {
                let (is_true, to) = (*is_true, *to);
                match self.fast(condition.0)? {
                    Fast::Bool(Bool::Compare(comparison, operands)) => {
                        Some(Quick::Compare { is_true, comparison, operands, to })
                    }
                    Fast::Bool(condition) => Some(Quick::JumpIf { is_true, condition, to }),
                    _ => None,
                }
            }
            Act::CountFrom { of, after } => self.count_from(of, *after),
            Act::Statement(Kind::AssignPart(of)) => {
                let [Step::Elements(subscripts)] = &*of.path else { return None };
                let [subscript] = **subscripts else { return None };
                let array = self.plain_type(of.target)?;
                let width = Width::of(element_of(array)?)?;
                let operands = Box::new((self.int(subscript.0)?, self.int(of.value.0)?));
                Some(Quick::Element { array: of.target.0, width, operands })
            }
            _ => None,
        }
    }

    fn assignment(&self, target: SlotId, ty: u32, value: Fast) -> Option<Quick> {
        let target = target.0;
        let value = match value {
            Fast::Int(_, value) => value,
            Fast::Bool(value) if ty == oid::BOOL => return Some(Quick::Bool { target, value }),
            Fast::Real(value) if ty == oid::FLOAT8 => return Some(Quick::Real { target, value }),
            _ => return None,
        };
        let width = Width::of(ty)?;
        if let Int::Operator(operator, of, operands) = &value
            && *of == width
        {
            match (operator, &operands.0, &operands.1) {
                (Arithmetic::Add, Int::Variable(left), Int::Variable(right)) => {
                    return Some(Quick::Sum { target, width, left: *left, right: *right });
                }
                (Arithmetic::Add, Int::Variable(left), Int::Constant(right)) => {
                    return Some(Quick::Increment { target, width, left: *left, right: *right });
                }
                (Arithmetic::Subtract, Int::Variable(left), Int::Constant(right)) => {
                    let right = right.checked_neg()?;
                    return Some(Quick::Increment { target, width, left: *left, right });
                }
                _ => {}
            }
        }
        Some(Quick::Int { target, width, value })
    }

    /// An integer that is appended to an array.
    fn append(&mut self, target: SlotId, ty: u32, number: u32) -> Option<Quick> {
        let growth = self.plan(number)?.growth.as_ref()?;
        let width = Width::of(element_of(ty)?)?;
        match growth.element()? {
            Fast::Int(of, value) if of == width && growth.to == target.0 => {
                Some(Quick::Append { array: target.0, width, value })
            }
            _ => None,
        }
    }

    fn count_from(&mut self, of: &ForInteger, after: Address) -> Option<Quick> {
        let step = match of.step {
            None => 1,
            Some(step) => match self.int(step.0)? {
                Int::Constant(step) => i32::try_from(step).ok().filter(|step| *step > 0)?,
                _ => return None,
            },
        };
        Some(Quick::CountFrom(Box::new(CountFrom {
            counter: of.counter,
            variable: of.variable.0,
            first: self.int(of.first.0)?,
            last: self.int(of.last.0)?,
            step,
            reverse: of.reverse,
            after,
        })))
    }

    /// The type of a scalar variable that any value of it may be stored in.
    fn plain_type(&self, slot: SlotId) -> Option<u32> {
        match self.code.var(slot) {
            Var::Scalar(scalar) if scalar.ty.modifier == -1 => Some(scalar.ty.oid),
            _ => None,
        }
    }

    fn int(&mut self, number: u32) -> Option<Int> {
        match self.fast(number)? {
            Fast::Int(_, value) => Some(value),
            _ => None,
        }
    }

    /// The expression of a plan that has just been found good.
    fn fast(&mut self, number: u32) -> Option<Fast> {
        self.plan(number)?.fast.clone()
    }

    fn plan(&mut self, number: u32) -> Option<&Plan> {
        let plan = self.plans.get(number as usize)?.as_ref()?;
        self.records.extend_from_slice(plan.records());
        Some(plan)
    }
}
