//! Blocks: their variables, and their exception sections (exec_stmt_block in pl_exec.c).
//!
//! An exception section is a savepoint, which is a position in the transaction's undo and costs
//! nothing until an error returns to it. Variables keep what they have when the error occurs.

use std::sync::Arc;

use steppe_types::{Datum, Error, Result};

use super::code::{Block, Exceptions, Handler, UNLABELLED, Var};
use super::context::Phase;
use super::value::Value;
use super::walk::{Flow, Run};
use crate::tree::SlotId;

impl Run<'_, '_, '_> {
    /// A block.
    pub(super) fn block(&mut self, block: &Block) -> Result<Flow> {
        if !block.declared.is_empty() {
            self.declare(&block.declared)?;
        }
        let flow = match &block.exceptions {
            None => self.script(&block.body)?,
            Some(exceptions) => self.guarded(block, exceptions)?,
        };
        match flow {
            // An EXIT without a label is a loop's.
            Flow::Exit(label) if label != UNLABELLED && label == block.label => Ok(Flow::Next),
            flow => Ok(flow),
        }
    }

    /// Gives the variables of a block their first values.
    pub(super) fn declare(&mut self, declared: &[SlotId]) -> Result<()> {
        let code = self.code;
        for slot in declared {
            let (line, default) = match code.var(*slot) {
                Var::Scalar(scalar) => (scalar.line, scalar.default),
                Var::Record(record) => (record.line, record.default),
                Var::Field { .. } | Var::Row(_) => continue,
            };
            self.state.position.set_phase_at(Phase::Declaration, line);
            match (default, code.var(*slot)) {
                (Some(default), _) => {
                    self.assign(*slot, default)?;
                }
                (None, Var::Record(_)) => self.state.frame.unset(*slot),
                (None, Var::Scalar(scalar)) => {
                    self.state.frame.set(*slot, Datum::Null);
                    // A domain may not take NULL.
                    if scalar.ty.oid >= steppe_types::oid::FIRST_NORMAL_OID {
                        self.assign_value(*slot, Value::null(steppe_types::oid::UNKNOWN))?;
                    }
                }
                (None, _) => {}
            }
        }
        self.state.position.set_phase(Phase::Statement);
        Ok(())
    }

    /// A block's statements under its exception section.
    fn guarded(&mut self, block: &Block, exceptions: &Exceptions) -> Result<Flow> {
        let here = self.state.position.place();
        self.state.position.set_phase(Phase::BlockEntry);
        let savepoint = self.spi.savepoint()?;
        self.state.position.set_phase(Phase::Statement);
        let error = match self.script(&block.body) {
            Ok(flow) => {
                self.state.position.set_phase(Phase::BlockExit);
                self.spi.release(savepoint);
                self.state.position.set_phase(Phase::Statement);
                return Ok(flow);
            }
            Err(error) => error,
        };
        let error = self.located(error);
        self.state.position.set_place(here);
        self.state.position.set_phase(Phase::Cleanup);
        let cleaned = self.spi.rollback_to(savepoint);
        self.is_located = false;
        cleaned?;
        self.state.position.set_phase(Phase::Statement);
        let state = error.sqlstate();
        let catches = |handler: &&Handler| handler.conditions.iter().any(|c| c.catches(state));
        let Some(handler) = exceptions.handlers.iter().find(catches) else {
            self.is_located = true;
            return Err(error);
        };
        self.handle(exceptions, handler, error)
    }

    /// Runs the statements of a handler.
    fn handle(&mut self, of: &Exceptions, handler: &Handler, error: Error) -> Result<Flow> {
        let text = |text: &str| Datum::Text(text.into());
        self.state.frame.set(of.sqlstate, text(error.sqlstate().as_str()));
        self.state.frame.set(of.sqlerrm, text(error.message()));
        let outer = self.error.replace(Arc::new(error));
        let flow = self.script(&handler.body);
        self.error = outer;
        flow
    }

    /// An error with this call's context line.
    pub(super) fn located(&mut self, error: Error) -> Error {
        match std::mem::replace(&mut self.is_located, true) {
            true => error,
            false => error.within(self.state.position.line()),
        }
    }
}
