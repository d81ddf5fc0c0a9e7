//! Aggregates that users define: states that functions of the catalog advance and finish
//! (nodeAgg.c, functions initialize_aggregate, advance_transition_function and finalize_aggregate).
//!
//! The functions are calls over a row of the state and the arguments, compiled as any other
//! expression: they may be built in, or users'. So they need an [`ExecContext`], which the program's
//! own aggregates do not. The methods here take one, and serve all kinds. An aggregation over columns
//! has no context, and computes only the program's own.
//!
//! A strict transition function gets no NULL. A row with a NULL argument changes nothing. If there is
//! no initial state, the first argument of the first other row is the state. A NULL state stays NULL.

use super::{AggKind, AggState};
use crate::context::ExecContext;
use crate::expr::{CExpr, Compiler, Row};
use std::sync::Arc;
use steppe_sql::bind::{AggregateCalls, aggregate_calls};
use steppe_sql::expr::Aggregate;
use steppe_types::{Datum, Error, Oid, Result};

/// A user's aggregate, compiled for a call.
#[derive(Debug)]
pub(crate) struct UserAggregate {
    transition: CExpr,
    is_strict: bool,
    initial: Option<CExpr>,
    finish: Option<CExpr>,
}

impl UserAggregate {
    fn compile(call: &Aggregate, exprs: &mut Compiler<'_>) -> Result<UserAggregate> {
        let AggregateCalls { transition, is_strict, initial, finish } =
            aggregate_calls(&Arc::clone(exprs.catalog()), call)?;
        Ok(UserAggregate {
            transition: exprs.expr(&transition)?,
            is_strict,
            initial: exprs.option(&initial)?,
            finish: exprs.option(&finish)?,
        })
    }

    fn start(&self, cx: &mut ExecContext) -> Result<Option<Datum>> {
        match &self.initial {
            Some(initial) => initial.eval(cx, Row::EMPTY).map(Some),
            None if self.is_strict => Ok(None),
            None => Ok(Some(Datum::Null)),
        }
    }

    fn add(&self, state: &mut Option<Datum>, args: &[Datum], cx: &mut ExecContext) -> Result<()> {
        if self.is_strict {
            if args.iter().any(Datum::is_null) || state.as_ref().is_some_and(Datum::is_null) {
                return Ok(());
            }
            if state.is_none() {
                *state = args.first().cloned();
                return Ok(());
            }
        }
        let before = [state.take().unwrap_or(Datum::Null)];
        *state = Some(self.transition.eval(cx, Row::pair(&before, args))?);
        Ok(())
    }

    fn finish(&self, state: Option<Datum>, cx: &mut ExecContext) -> Result<Datum> {
        let state = state.unwrap_or(Datum::Null);
        match &self.finish {
            Some(finish) => finish.eval(cx, Row::of(&[state])),
            None => Ok(state),
        }
    }
}

impl AggKind {
    /// The kind of a bound call; 0A000 for aggregates that are not implemented.
    pub(crate) fn compile(call: &Aggregate, exprs: &mut Compiler<'_>) -> Result<AggKind> {
        match call.func.is_built_in() {
            true => AggKind::of(call),
            false => Ok(AggKind::User(Arc::new(UserAggregate::compile(call, exprs)?))),
        }
    }

    /// Whether functions of the catalog compute it.
    pub(crate) fn is_user(&self) -> bool {
        matches!(self, AggKind::User(_))
    }

    /// Whether a user's transition function is strict.
    pub(super) fn is_strict_user(&self) -> bool {
        matches!(self, AggKind::User(user) if user.is_strict)
    }

    /// [`AggKind::start`] of any kind.
    pub(crate) fn start_in(&self, cx: &mut ExecContext) -> Result<AggState> {
        match self {
            AggKind::User(user) => user.start(cx).map(AggState::Value),
            _ => Ok(self.start()),
        }
    }

    /// [`AggKind::add`] of any kind.
    pub(crate) fn add_in(
        &self,
        state: &mut AggState,
        args: &[Datum],
        cx: &mut ExecContext,
    ) -> Result<()> {
        match (self, state) {
            (AggKind::User(user), AggState::Value(state)) => user.add(state, args, cx),
            (AggKind::User(_), _) => Err(Error::internal("the state of another aggregate")),
            (_, state) => self.add(state, args),
        }
    }

    /// [`AggKind::finish`] of any kind.
    pub(crate) fn finish_in(
        &self,
        state: AggState,
        ret: Oid,
        cx: &mut ExecContext,
    ) -> Result<Datum> {
        match (self, state) {
            (AggKind::User(user), AggState::Value(state)) => user.finish(state, cx),
            (AggKind::User(_), _) => Err(Error::internal("the state of another aggregate")),
            (_, state) => self.finish(state, ret),
        }
    }
}
