//! Parts of CASE and of FOR over integers, and FOREACH (exec_stmt_case, exec_stmt_fori,
//! exec_stmt_foreach_a in pl_exec.c).

use std::ops::ControlFlow;
use std::sync::Arc;

use steppe_types::datum::Array;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

use super::code::{ForEach, ForInteger, SqlNumber, Var};
use super::value::{Value, wrong_type};
use super::walk::{Flow, Run};
use crate::tree::SlotId;

const CASE_NOT_FOUND: SqlState = SqlState(*b"20000");

/// The rounds of a FOR over integers. What the body does to the loop's variable changes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counter {
    value: i32,
    last: i32,
    /// Below zero for REVERSE.
    step: i32,
}

impl Counter {
    /// `None`: there is no round. The step is above zero.
    pub(super) fn new(first: i32, last: i32, step: i32, reverse: bool) -> Option<Counter> {
        let has_round = if reverse { first >= last } else { first <= last };
        let step = if reverse { -step } else { step };
        has_round.then_some(Counter { value: first, last, step })
    }

    /// The next round's value. The last round is the one before a value that would be no integer.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<i32> {
        let next = self.value.checked_add(self.step)?;
        let has_round = if self.step < 0 { next >= self.last } else { next <= self.last };
        self.value = next;
        has_round.then_some(next)
    }
}

impl Run<'_, '_, '_> {
    pub(super) fn set_found(&mut self, found: bool) {
        self.state.frame.set(self.code.found, Datum::Bool(found));
    }

    /// The subject's variable takes the subject's type. Plans for another type are dropped.
    pub(super) fn set_subject(&mut self, slot: SlotId, value: Value) {
        let Value { datum, ty, modifier, .. } = value;
        let ty = if ty == oid::UNKNOWN { oid::TEXT } else { ty };
        let frame = &mut self.state.frame;
        let (old, old_modifier, _) = frame.type_of(self.code, slot);
        if (old, old_modifier) != (ty, modifier) {
            frame.set_type(slot, ty, modifier);
            self.state.plans.iter_mut().for_each(|plan| *plan = None);
            self.shared.clear();
        }
        self.state.frame.set(slot, datum);
    }

    /// Begins a FOR over integers. False: it has no round.
    pub(super) fn count_from(&mut self, of: &ForInteger) -> Result<bool> {
        let first = self.bound(of.first, "lower bound of FOR loop cannot be null")?;
        let last = self.bound(of.last, "upper bound of FOR loop cannot be null")?;
        let step = match of.step {
            None => 1,
            Some(step) => self.bound(step, "BY value of FOR loop cannot be null")?,
        };
        if step <= 0 {
            let message = "BY value of FOR loop must be greater than zero";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        let Some(counter) = Counter::new(first, last, step, of.reverse) else {
            self.set_found(false);
            return Ok(false);
        };
        self.state.counters[of.counter as usize] = counter;
        self.state.frame.set(of.variable, Datum::Int4(first));
        Ok(true)
    }

    fn bound(&mut self, number: SqlNumber, null: &str) -> Result<i32> {
        let value = self.eval_typed(number)?;
        match self.cast(value, oid::INT4, -1)? {
            Datum::Int4(value) => Ok(value),
            _ => Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, null)),
        }
    }

    /// FOREACH.
    pub(super) fn for_each(&mut self, of: &ForEach) -> Result<Flow> {
        let value = self.eval_typed(of.array)?;
        if value.datum.is_null() {
            let message = "FOREACH expression must not be null";
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        }
        let Datum::Array(array) = &value.datum else {
            let name = self.type_name(value.ty);
            return Err(wrong_type(format!(
                "FOREACH expression must yield an array, not type {name}"
            )));
        };
        let dimensions = array.dimensions.len();
        if of.slice < 0 || of.slice as usize > dimensions {
            let message =
                format!("slice dimension ({}) is out of the valid range 0..{dimensions}", of.slice);
            return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
        }
        self.check_loop_variable(of)?;
        let (array, slice) = (Arc::clone(array), of.slice as usize);
        let length = match slice {
            0 => 1,
            slice => slice_length(&array, slice),
        };
        let element = steppe_catalog::builtin::ty(value.ty).map_or(array.element_type, |ty| {
            if ty.element == 0 { array.element_type } else { ty.element }
        });
        let (mut found, mut after) = (false, Flow::Next);
        let mut at = 0;
        while at < array.elements.len() {
            found = true;
            let round = match slice {
                0 => Value {
                    datum: array.elements[at].clone(),
                    ty: element,
                    modifier: value.modifier,
                    shape: None,
                },
                slice => Value { datum: slice_of(&array, slice, at, length), ..value.clone() },
            };
            at += length;
            self.assign_value(of.target, round)?;
            if let ControlFlow::Break(flow) = self.script(&of.body)?.in_loop(of.label) {
                after = flow;
                break;
            }
        }
        self.set_found(found);
        Ok(after)
    }

    /// The variable of a loop over slices is an array; that of one over elements is none.
    fn check_loop_variable(&mut self, of: &ForEach) -> Result<()> {
        let ty: Oid = match self.code.var(of.target) {
            Var::Record(_) | Var::Row(_) => 0,
            _ => self.variable(of.target)?.ty,
        };
        let is_array = steppe_catalog::builtin::ty(ty).is_some_and(|ty| ty.is_true_array());
        match (of.slice > 0, is_array) {
            (true, false) => {
                Err(wrong_type("FOREACH ... SLICE loop variable must be of an array type"))
            }
            (false, true) => Err(wrong_type("FOREACH loop variable must not be of an array type")),
            _ => Ok(()),
        }
    }
}

/// The number of elements of a slice of the last dimensions.
fn slice_length(array: &Array, slice: usize) -> usize {
    let last = &array.dimensions[array.dimensions.len() - slice..];
    last.iter().map(|(length, _)| *length as usize).product()
}

/// The slice of the last dimensions that begins at an element.
fn slice_of(array: &Array, slice: usize, at: usize, length: usize) -> Datum {
    let dimensions = array.dimensions[array.dimensions.len() - slice..].to_vec();
    let elements = array.elements[at..at + length].to_vec();
    Datum::Array(Arc::new(Array { element_type: array.element_type, dimensions, elements }))
}

/// 20000
pub(super) fn case_not_found() -> Error {
    Error::new(CASE_NOT_FOUND, "case not found").hint("CASE statement is missing ELSE part.")
}
