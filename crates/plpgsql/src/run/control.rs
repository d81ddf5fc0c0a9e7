//! CASE and the loops that run no query (exec_stmt_case, exec_stmt_fori, exec_stmt_foreach_a in
//! pl_exec.c).

use std::ops::ControlFlow;
use std::sync::Arc;

use steppe_types::datum::Array;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

use super::code::{Case, ForEach, ForInteger, Label, SqlNumber, Statement, Var};
use super::value::{Value, wrong_type};
use super::walk::{Flow, Run};
use crate::tree::SlotId;

const CASE_NOT_FOUND: SqlState = SqlState(*b"20000");

impl Run<'_, '_, '_> {
    pub(super) fn set_found(&mut self, found: bool) {
        self.state.frame.set(self.code.found, Datum::Bool(found));
    }

    /// CASE.
    pub(super) fn case(&mut self, case: &Case) -> Result<Flow> {
        if let Some((subject, slot)) = case.subject {
            let value = self.eval_typed(subject)?;
            self.set_subject(slot, value);
        }
        for branch in &case.branches {
            if self.condition(branch.condition)? {
                self.forget_subject(case);
                return self.statements(&branch.body);
            }
        }
        self.forget_subject(case);
        match &case.otherwise {
            Some(list) => self.statements(list),
            None => Err(Error::new(CASE_NOT_FOUND, "case not found")
                .hint("CASE statement is missing ELSE part.")),
        }
    }

    /// The subject's variable takes the subject's type. Plans for another type are dropped.
    fn set_subject(&mut self, slot: SlotId, value: Value) {
        let Value { datum, ty, modifier, .. } = value;
        let ty = if ty == oid::UNKNOWN { oid::TEXT } else { ty };
        let frame = &mut self.state.frame;
        let (old, old_modifier, _) = frame.type_of(self.code, slot);
        if (old, old_modifier) != (ty, modifier) {
            frame.types.retain(|(of, ..)| *of != slot);
            frame.types.push((slot, ty, modifier));
            self.state.plans.iter_mut().for_each(|plan| *plan = None);
            self.shared.clear();
        }
        self.state.frame.set(slot, datum);
    }

    fn forget_subject(&mut self, case: &Case) {
        if let Some((_, slot)) = case.subject {
            self.state.frame.set(slot, Datum::Null);
        }
    }

    /// LOOP.
    pub(super) fn endless_loop(&mut self, label: Label, body: &[Statement]) -> Result<Flow> {
        loop {
            if let ControlFlow::Break(flow) = self.statements(body)?.in_loop(label) {
                return Ok(flow);
            }
        }
    }

    /// WHILE.
    pub(super) fn while_loop(
        &mut self,
        label: Label,
        condition: SqlNumber,
        body: &[Statement],
    ) -> Result<Flow> {
        while self.condition(condition)? {
            if let ControlFlow::Break(flow) = self.statements(body)?.in_loop(label) {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    /// FOR over integers.
    pub(super) fn for_integer(&mut self, of: &ForInteger) -> Result<Flow> {
        let mut value = self.bound(of.first, "lower bound of FOR loop cannot be null")?;
        let last = self.bound(of.last, "upper bound of FOR loop cannot be null")?;
        let step = match of.step {
            None => 1,
            Some(step) => self.bound(step, "BY value of FOR loop cannot be null")?,
        };
        if step <= 0 {
            let message = "BY value of FOR loop must be greater than zero";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        let (mut found, mut after) = (false, Flow::Next);
        loop {
            if if of.reverse { value < last } else { value > last } {
                break;
            }
            found = true;
            self.state.frame.set(of.variable, Datum::Int4(value));
            if let ControlFlow::Break(flow) = self.statements(&of.body)?.in_loop(of.label) {
                after = flow;
                break;
            }
            let next = match of.reverse {
                true => value.checked_sub(step),
                false => value.checked_add(step),
            };
            // The next value would be no integer.
            let Some(next) = next else { break };
            value = next;
        }
        self.set_found(found);
        Ok(after)
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
            if let ControlFlow::Break(flow) = self.statements(&of.body)?.in_loop(of.label) {
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
