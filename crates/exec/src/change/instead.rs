//! Changes of views by INSTEAD OF triggers (ExecIRInsertTriggers and the like in
//! src/backend/commands/trigger.c).
//!
//! The triggers make all changes; the executor itself changes no table. Each trigger gets the row
//! that the trigger before it returned, and RETURNING sees the row of the last one. If a trigger
//! returns NULL, the row counts as unchanged. The rows of UPDATE and DELETE come from the child
//! plan, which reads the view. They are neither locked nor checked again.

use super::hooks::RowCommand;
use super::insert::Placed;
use super::row::{Change, Changed, assigned_row};
use super::trigger::Fired;
use super::{ModifyPlan, Target, TriggerAnswer};
use crate::context::ExecContext;
use std::borrow::Cow;
use steppe_catalog::RelKind;
use steppe_sql::query::Command;
use steppe_txn::RowId;
use steppe_types::{Datum, Error, Result};

impl Target {
    /// Whether it is a view, whose INSTEAD OF triggers are to make the changes.
    #[inline]
    pub(super) fn is_view(&self) -> bool {
        self.table.relation.kind == RelKind::View
    }

    /// Fires the triggers for a row. The new row is empty for DELETE. `None`: nothing was done.
    fn fire_instead(
        &self,
        command: RowCommand,
        old: Option<&[Datum]>,
        mut new: Vec<Datum>,
        cx: &mut ExecContext,
    ) -> Result<Option<Vec<Datum>>> {
        let Some(hooks) = &self.hooks else { return Ok(Some(new)) };
        let fired = Fired { command, relation: &self.table.relation, captured: &[] };
        for trigger in &hooks.command(command).instead_of {
            let rows = (old, (command != RowCommand::Delete).then_some(&new[..]));
            if !trigger.fires(rows, cx)? {
                continue;
            }
            match fired.call(trigger, rows, cx)? {
                TriggerAnswer::Skip => return Ok(None),
                TriggerAnswer::Row(row) if rows.1.is_some() => new = row,
                TriggerAnswer::Row(_) | TriggerAnswer::Same => {}
            }
        }
        Ok(Some(new))
    }
}

impl ModifyPlan {
    /// INSERT of rows into a view.
    pub(super) fn insert_instead(
        &self,
        rows: &[&[Datum]],
        cx: &mut ExecContext,
    ) -> Result<Vec<Option<Placed>>> {
        let mut placed = Vec::with_capacity(rows.len());
        for row in rows {
            cx.check_interrupts()?;
            let done = self.target.fire_instead(RowCommand::Insert, None, row.to_vec(), cx)?;
            let leaf = self.target.oid();
            placed.push(done.map(|row| Placed { leaf, row: Some(row), id: RowId(0) }));
        }
        Ok(placed)
    }

    /// UPDATE or DELETE of the view's row at the front of a child's row.
    pub(super) fn change_instead<'s>(
        &self,
        source: &'s [Datum],
        cx: &mut ExecContext,
    ) -> Result<Option<Change<'s>>> {
        cx.check_interrupts()?;
        let width = self.target.table.relation.columns.len();
        let old = source.get(..width);
        let old = old.ok_or_else(|| Error::internal("a view's row is too short"))?.to_vec();
        let (command, new) = match self.command {
            Command::Update => {
                (RowCommand::Update, assigned_row(&self.assignments, &old, source, cx)?)
            }
            _ => (RowCommand::Delete, Vec::new()),
        };
        let Some(new) = self.target.fire_instead(command, Some(&old), new, cx)? else {
            return Ok(None);
        };
        let new = (command == RowCommand::Update).then_some(new);
        let (changed, oid) = (Changed::Instead { old, new }, self.target.oid());
        let source = Cow::Borrowed(source);
        Ok(Some(Change { changed, source, from: oid, to: oid, system: Vec::new() }))
    }
}
