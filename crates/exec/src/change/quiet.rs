//! INSERT of rows that BEFORE ROW triggers see, in batches.
//!
//! In general a row is stored before the triggers of the next one are called: their functions may
//! look at the table (PostgreSQL's ExecInsert). Most functions only compute. Such a call is *quiet*:
//! the function runs no statement, sets no savepoint and sends no message. It calls neither a user's
//! function nor a function of the program that does or sees more than its arguments tell. A quiet
//! call has the same result whether or not the rows before it are stored, and its moment leaves no
//! trace. The triggers of a batch are called first, and then its rows are stored together.
//!
//! Quiet calls of the table's only trigger are one run ([`super::trigger`]). The rows are completed and
//! checked after it, in their order, up to the first that fails.
//!
//! A call is begun as a quiet one, and the first step that is not quiet ends it with an error
//! ([`ExecContext::be_heard`]). The call has left no trace by then, and is forgotten. The rows before
//! it are stored, and it is made again in the general way, as are all later calls of the statement.
//! An exception block begins with a savepoint, and therefore never catches that error. Function
//! statistics would count the forgotten call: with track_functions all calls are made in the general
//! way.
//!
//! The first row that fails decides the error, as in the general way: rows before a failed call are
//! stored before its error is reported, and a batch that fails is stored again row by row.

use super::hooks::{OldAndNew, Trigger};
use super::insert::{Placed, complete, insert_fired, is_of_a_row, pass_insert};
use super::node::no_row;
use super::trigger::{Fired, TriggerAnswer, TriggerRows, of_another_table};
use super::{Inserter, ModifyPlan, RowCommand, Target};
use crate::context::ExecContext;
use std::borrow::Cow;
use steppe_types::{Datum, Error, Result};

/// Whether the call that runs must be quiet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Quiet {
    /// It may do everything.
    #[default]
    Off,
    /// It must be quiet.
    On,
    /// It was to be quiet, and is ending because it cannot be.
    Broken,
}

impl ExecContext {
    /// A step follows that is not quiet. An error ends a call that must be quiet. Rows that are held
    /// ([`super::held`]) are stored.
    #[inline]
    pub(crate) fn be_heard(&mut self) -> Result<()> {
        self.store_held()?;
        match self.quiet {
            Quiet::Off => Ok(()),
            Quiet::On | Quiet::Broken => self.break_quiet(),
        }
    }

    #[cold]
    fn break_quiet(&mut self) -> Result<()> {
        self.quiet = Quiet::Broken;
        Err(Error::internal("a trigger's call that must be quiet was not made again"))
    }

    /// Whether the call that has ended is to be made again.
    pub(super) fn is_broken(&self) -> bool {
        self.quiet == Quiet::Broken
    }

    /// Whether track_functions is off.
    pub(super) fn counts_no_calls(&self) -> Result<bool> {
        let tracked = self.functions.session.setting("track_functions")?;
        Ok(tracked.is_none_or(|tracked| tracked == "none"))
    }
}

impl ModifyPlan {
    /// Inserts rows behind the BEFORE ROW triggers of a table without leaves.
    pub(super) fn insert_behind_triggers(
        &self,
        rows: &[&[Datum]],
        inserter: &mut Inserter,
        cx: &mut ExecContext,
    ) -> Result<Vec<Option<Placed>>> {
        let mut placed = Vec::with_capacity(rows.len());
        while placed.len() < rows.len() {
            let rest = &rows[placed.len()..];
            if rest.len() > 1 && inserter.calls_ahead.is_none() {
                inserter.calls_ahead = Some(cx.counts_no_calls()?);
            }
            match rest.len() > 1 && inserter.calls_ahead == Some(true) {
                true => self.insert_ahead(rest, &mut placed, inserter, cx)?,
                false => placed.push(insert_fired(&self.target, rest[0], inserter, cx)?),
            }
        }
        Ok(placed)
    }

    /// Calls the triggers of rows, up to the first call that is not quiet, and then stores the rows.
    fn insert_ahead(
        &self,
        rows: &[&[Datum]],
        placed: &mut Vec<Option<Placed>>,
        inserter: &mut Inserter,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let called = match self.target.before_row(RowCommand::Insert).map(|all| &all[..]) {
            Some([trigger]) if cx.calls_are_alike(trigger)? && trigger.definition.parent == 0 => {
                Called::in_a_run(&self.target, trigger, rows, cx)?
            }
            _ => Called::one_by_one(&self.target, rows, cx),
        };
        let Called { passed, end } = called;
        self.store_passed(&passed, inserter, cx)?;
        match end {
            End::Rows => {}
            End::Broken => inserter.calls_ahead = Some(false),
            End::Failed(error) => return Err(error),
        }
        let mut ids = inserter.ids().iter();
        for row in passed {
            placed.push(match row {
                None => None,
                Some(row) => {
                    let id = *ids.next().ok_or_else(no_row)?;
                    Some(Placed { leaf: self.target.oid(), row: Some(self.target.seen(row)), id })
                }
            });
        }
        Ok(())
    }

    /// Stores complete rows together; if that fails, one by one for the error of the first that
    /// fails.
    fn store_passed(
        &self,
        rows: &[Option<Vec<Datum>>],
        inserter: &mut Inserter,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let (target, rows): (_, Vec<&[Datum]>) =
            (&self.target, rows.iter().flatten().map(Vec::as_slice).collect());
        if rows.is_empty() {
            return Ok(());
        }
        let (mark, events) = (cx.mark()?, cx.event_mark());
        if let Err(error) = inserter.insert_checked(target, &rows, cx) {
            if rows.len() > 1 && is_of_a_row(&error) {
                cx.rollback_to(mark)?;
                for row in &rows {
                    cx.check_interrupts()?;
                    inserter.insert_checked(target, &[row], cx)?;
                }
            }
            return Err(error);
        }
        target.queue_inserted(&rows, inserter.ids(), events, cx)
    }
}

/// Rows whose triggers have been called, up to the first that fails.
struct Called {
    passed: Vec<Option<Vec<Datum>>>,
    end: End,
}

/// The reason why the calls ended.
enum End {
    /// There were no more rows.
    Rows,
    /// The next call cannot be quiet.
    Broken,
    /// The next row failed.
    Failed(Error),
}

impl Called {
    /// Calls all triggers of a row before those of the next one.
    fn one_by_one(target: &Target, rows: &[&[Datum]], cx: &mut ExecContext) -> Called {
        let mut called = Called { passed: Vec::with_capacity(rows.len()), end: End::Rows };
        for row in rows {
            let row = cx.quietly(|cx| pass_insert(target, target.stored(row).into_owned(), cx));
            match row {
                Ok(row) => called.passed.push(row),
                Err(end) => {
                    called.end = end;
                    break;
                }
            }
        }
        called
    }

    /// Calls the only trigger of all rows, and then completes and checks them.
    fn in_a_run(
        target: &Target,
        trigger: &Trigger,
        rows: &[&[Datum]],
        cx: &mut ExecContext,
    ) -> Result<Called> {
        let passed = Vec::with_capacity(rows.len());
        let mut run = Run { target, rows: rows.iter(), row: Cow::Borrowed(&[]), passed };
        let relation = &target.table.relation;
        let fired = Fired { command: RowCommand::Insert, relation, captured: &[] };
        let mut ended = Ok(());
        if !trigger.fires((None, None), cx)? {
            run.pass_all();
        }
        while ended.is_ok() && !run.is_done() {
            ended = cx.quietly(|cx| fired.call_run(trigger, &mut run, cx));
        }
        let mut called = Called { passed: run.passed, end: ended.err().unwrap_or(End::Rows) };
        for at in 0..called.passed.len() {
            let Some(row) = &mut called.passed[at] else { continue };
            if let Err(end) = cx.quietly(|cx| complete(target, row, cx)) {
                called.passed.truncate(at);
                called.end = end;
                break;
            }
        }
        Ok(called)
    }
}

impl ExecContext {
    /// Runs a call that must be quiet.
    fn quietly<T>(
        &mut self,
        call: impl FnOnce(&mut ExecContext) -> Result<T>,
    ) -> std::result::Result<T, End> {
        self.quiet = Quiet::On;
        let done = call(self);
        match std::mem::take(&mut self.quiet) {
            Quiet::Broken => Err(End::Broken),
            Quiet::On | Quiet::Off => done.map_err(End::Failed),
        }
    }
}

/// Rows that a trigger is called for, and the rows that have passed it.
struct Run<'a> {
    target: &'a Target,
    rows: std::slice::Iter<'a, &'a [Datum]>,
    /// The row of the call.
    row: Cow<'a, [Datum]>,
    passed: Vec<Option<Vec<Datum>>>,
}

impl Run<'_> {
    /// Lets all rows pass: the trigger does not fire.
    fn pass_all(&mut self) {
        let rows = self.rows.by_ref().map(|row| Some(self.target.stored(row).into_owned()));
        self.passed.extend(rows);
    }
}

impl TriggerRows for Run<'_> {
    fn next(&mut self) -> Result<Option<OldAndNew<'_>>> {
        let Some(row) = self.rows.next() else { return Ok(None) };
        self.row = self.target.stored(row);
        Ok(Some((None, Some(&self.row))))
    }

    fn answered(&mut self, answer: TriggerAnswer) -> Result<()> {
        self.passed.push(match answer {
            TriggerAnswer::Skip => None,
            TriggerAnswer::Same => Some(self.row.to_vec()),
            TriggerAnswer::Row(row) if row.len() == self.row.len() => Some(row),
            TriggerAnswer::Row(_) => return Err(of_another_table()),
        });
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.rows.len() == 0
    }
}
