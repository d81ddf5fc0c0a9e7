//! Changes of one row, step by step in PostgreSQL's order.
//!
//! | INSERT | UPDATE | DELETE |
//! |---|---|---|
//! | leaf by the bounds | where BEFORE ROW triggers are: the lock | the same |
//! | BEFORE ROW triggers | new values, BEFORE ROW triggers | BEFORE ROW triggers |
//! | generated columns | does it leave the partition? then DELETE here, INSERT there | |
//! | NOT NULL, CHECK, bound | generated columns, NOT NULL, CHECK | |
//! | row, entries of indexes | version, entries of indexes | deletion, entries of indexes |
//! | AFTER ROW event | AFTER ROW event | AFTER ROW event |
//! | views' checks, RETURNING | views' checks, RETURNING | RETURNING |
//!
//! If a trigger returns that the operation is to be skipped, the row is not counted and not
//! returned. INSERT's steps are in [`super::insert`]: rows without BEFORE ROW triggers are inserted
//! in batches, with the same outcome.
//!
//! The new version is computed from the version that the snapshot sees, without a latch, and is
//! stored only if that version is still the newest. Otherwise, after a wait for the row's holder:
//!
//! - REPEATABLE READ fails (40001);
//! - READ COMMITTED takes the newest version, checks the statement's WHERE again
//!   over it, and computes the new version from it (EvalPlanQual).

use super::checks::partition_violation;
use super::hooks::RowCommand;
use super::outcome::{Attempted, ChangeKind, ChangeOf, of_lock};
use super::returned::Versions;
use super::{ModifyPlan, Target, check_row};
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use crate::partition::ColumnMap;
use std::borrow::Cow;
use steppe_sql::query::Command;
use steppe_txn::{Action, RowBuf, RowId, RowLockMode, RowMeta, RowVersion, WaitPolicy};
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// A change to one row that is ready to be attempted.
struct Attempt {
    old: Vec<Datum>,
    new: Vec<Datum>,
    encoded: Vec<u8>,
    key_changed: bool,
}

impl Attempt {
    /// Replaces the version that the new one was made from, if that is still the newest.
    fn put(
        &self,
        target: &Target,
        id: RowId,
        version: &RowVersion,
        cx: &mut ExecContext,
    ) -> Result<Attempted> {
        let writer = target.writer();
        let action = Action::Replace { key_changed: self.key_changed };
        let attempted = writer.change(id, version, action, &self.encoded, cx)?;
        if let Attempted::Done = attempted {
            let versions = (&self.old[..], &self.new[..]);
            writer.finish_replace(&target.written, (id, version), versions, cx)?;
            target.queue_updated_keys((id, version.meta), (&self.old, &self.new), cx)?;
            target.queue_after(RowCommand::Update, Some(&self.old), Some(&self.new), cx)?;
        }
        Ok(attempted)
    }

    /// The change, after it has been made.
    fn changed(self, target: &Target, id: RowId, version: &RowVersion) -> Changed {
        let (old, new) = (target.seen(self.old), target.seen(self.new));
        Changed::Updated { old, was: (id, version.meta), new, is: id }
    }
}

/// The change that an UPDATE or DELETE made to a row.
pub(super) struct Change<'s> {
    pub(super) changed: Changed,
    /// The child's row, with the OID of the table that the row is in now.
    pub(super) source: Cow<'s, [Datum]>,
    /// The table that it was in.
    pub(super) from: Oid,
    /// The table that it is in.
    pub(super) to: Oid,
    /// The values of [`ModifyPlan::returning_system`].
    pub(super) system: Vec<Datum>,
}

/// The versions of a changed row, each with where it is.
pub(crate) enum Changed {
    Inserted(Vec<Datum>, RowId),
    Updated {
        old: Vec<Datum>,
        was: WrittenOver,
        new: Vec<Datum>,
        is: RowId,
    },
    Deleted(Vec<Datum>, WrittenOver),
    /// The INSTEAD OF triggers of a view made the change. `new` is `None` if they deleted the row.
    Instead {
        old: Vec<Datum>,
        new: Option<Vec<Datum>>,
    },
}

/// The id of a changed row, and the header of the version that the change was made to.
pub(crate) type WrittenOver = (RowId, RowMeta);

impl Changed {
    /// The row's version after the change.
    pub(super) fn stored(&self) -> &[Datum] {
        match self {
            Changed::Inserted(row, _)
            | Changed::Updated { new: row, .. }
            | Changed::Deleted(row, _)
            | Changed::Instead { new: Some(row), .. }
            | Changed::Instead { old: row, new: None } => row,
        }
    }

    /// The version before the change, and the one after it. `from`, `to`: the table that a row
    /// was stored in, and is.
    pub(super) fn versions(&self, from: Oid, to: Oid) -> Versions<'_> {
        let before = self.before().map(|row| (row, from));
        (before, self.after().map(|row| (row, to)))
    }

    fn before(&self) -> Option<&[Datum]> {
        match self {
            Changed::Inserted(..) => None,
            Changed::Updated { old, .. }
            | Changed::Deleted(old, _)
            | Changed::Instead { old, .. } => Some(old),
        }
    }

    fn after(&self) -> Option<&[Datum]> {
        match self {
            Changed::Inserted(new, _) | Changed::Updated { new, .. } => Some(new),
            Changed::Deleted(..) => None,
            Changed::Instead { new, .. } => new.as_deref(),
        }
    }
}

/// The outcome for the row that a child's row names. Rows have the columns of the table that the
/// statement names.
pub(super) enum Outcome {
    Kept,
    Done(Changed),
    /// Deleted from a leaf that the new version does not belong to.
    Leaves {
        old: Vec<Datum>,
        was: WrittenOver,
        new: Vec<Datum>,
    },
}

/// A row of the statement, in the version that counts.
struct Found<'s> {
    id: RowId,
    version: RowVersion,
    /// The child's row.
    source: Cow<'s, [Datum]>,
    /// The snapshot does not see the version.
    is_newer: bool,
}

impl Found<'_> {
    /// Continues with a newer version.
    fn take(
        &mut self,
        modify: &ModifyPlan,
        target: &Target,
        newest: RowVersion,
        cx: &mut ExecContext,
    ) -> Result<()> {
        self.version = newest;
        self.is_newer = true;
        for (at, column) in modify.system.iter() {
            let view = &cx.txn()?.view;
            let value = column.value(&target.table, view, self.id, self.version.meta)?;
            if let Some(place) = self.source.to_mut().get_mut(*at) {
                *place = value;
            }
        }
        Ok(())
    }

    /// Locks the row for a command whose triggers need it locked (GetTupleForTrigger).
    fn lock(
        &self,
        target: &Target,
        command: RowCommand,
        cx: &mut ExecContext,
    ) -> Result<Attempted> {
        let (kind, mode) = match command {
            RowCommand::Delete => (ChangeKind::Delete, RowLockMode::Update),
            _ if target.written.is_key => (ChangeKind::Update, RowLockMode::Update),
            _ => (ChangeKind::Update, RowLockMode::NoKeyUpdate),
        };
        let rows = target.table.rows_for_write()?;
        loop {
            let txn = &mut cx.txn()?.txn;
            let of = ChangeOf::new(kind, self.id, &target.table.relation, txn);
            let outcome = rows.lock_row(txn, self.id, mode, WaitPolicy::Block)?;
            match of_lock(outcome, &of)? {
                Attempted::Wait(wait, at) => at.wait(wait, cx)?,
                Attempted::Newer(newest) if newest.meta == self.version.meta => {
                    return Ok(Attempted::Done);
                }
                attempted => return Ok(attempted),
            }
        }
    }
}

/// Changes the row that a child's row names.
pub(super) fn change_row(
    modify: &ModifyPlan,
    target: &Target,
    source: &[Datum],
    cx: &mut ExecContext,
) -> Result<Outcome> {
    let id = match source.get(modify.row_id) {
        Some(Datum::Int8(id)) => RowId(*id as u64),
        // The nullable side of an outer join has no row to change.
        Some(Datum::Null) => return Ok(Outcome::Kept),
        _ => return Err(Error::internal("modify node's input has no row id")),
    };
    if cx.awaited.is_some_and(|awaited| awaited != id) {
        return Ok(Outcome::Kept);
    }
    let mut buffer = RowBuf::new();
    let rows = target.table.rows_for_write()?;
    let Some(meta) = rows.get(&cx.txn()?.view, id, &mut buffer)? else {
        return Ok(Outcome::Kept);
    };
    let version = RowVersion { row: buffer.row().to_vec(), meta };
    let mut found = Found { id, version, source: Cow::Borrowed(source), is_newer: false };
    let command = match modify.command {
        Command::Delete => RowCommand::Delete,
        _ => RowCommand::Update,
    };
    if target.before_row(command).is_some() {
        match found.lock(target, command, cx)? {
            Attempted::Done => {}
            Attempted::Newer(newest) => found.take(modify, target, newest, cx)?,
            _ => return Ok(Outcome::Kept),
        }
    }
    loop {
        let mut old = Vec::new();
        target.table.decode_all(&found.version.row, &mut old)?;
        let old = target.seen(old);
        if found.is_newer
            && let Some(recheck) = &modify.recheck
            && !recheck.holds(cx, Row::pair(&old, &found.source))?
        {
            return Ok(Outcome::Kept);
        }
        let (attempted, outcome) = match command {
            RowCommand::Delete => delete_found(target, &found, old, cx)?,
            _ => update_found(modify, target, &found, old, cx)?,
        };
        match attempted {
            Attempted::Done => return Ok(outcome),
            Attempted::Newer(newest) => found.take(modify, target, newest, cx)?,
            _ => return Ok(Outcome::Kept),
        }
    }
}

/// Deletes a row in the version that was found.
fn delete_found(
    target: &Target,
    found: &Found<'_>,
    old: Vec<Datum>,
    cx: &mut ExecContext,
) -> Result<(Attempted, Outcome)> {
    let Found { id, version, .. } = found;
    let attempted = delete_version(target, *id, version, Action::Delete, cx)?;
    Ok((attempted, Outcome::Done(Changed::Deleted(old, (*id, version.meta)))))
}

/// Updates the version of a row that was found, or deletes it if the new one belongs elsewhere.
fn update_found(
    modify: &ModifyPlan,
    target: &Target,
    found: &Found<'_>,
    old: Vec<Datum>,
    cx: &mut ExecContext,
) -> Result<(Attempted, Outcome)> {
    let Found { id, version, .. } = found;
    let new = assigned_row(&modify.assignments, &old, &found.source, cx)?;
    let (old, new) = laid_out(target, old, new, version)?;
    let Some(new) = pass_triggers(target, &old, new, cx)? else {
        return Ok((Attempted::Gone, Outcome::Kept));
    };
    if leaves_partition(target, &new, cx)? {
        if modify.partitioned.is_none() {
            let table = &target.table.relation;
            return Err(partition_violation(target, table, &new, &cx.functions));
        }
        if target.before_row(RowCommand::Delete).is_some() {
            match found.lock(target, RowCommand::Delete, cx)? {
                Attempted::Done => {}
                attempted => return Ok((attempted, Outcome::Kept)),
            }
        }
        let attempted = delete_version(target, *id, version, Action::Move, cx)?;
        let (old, new) = (target.seen(old), target.seen(new));
        return Ok((attempted, Outcome::Leaves { old, was: (*id, version.meta), new }));
    }
    let attempt = prepare(target, old, new, version, cx)?;
    let attempted = attempt.put(target, *id, version, cx)?;
    Ok((attempted, Outcome::Done(attempt.changed(target, *id, version))))
}

/// Whether a row's new version, as its leaf stores it, does not belong there.
fn leaves_partition(target: &Target, new: &[Datum], cx: &mut ExecContext) -> Result<bool> {
    let Some(partition) = &target.partition else { return Ok(false) };
    let table = target.table.oid;
    Ok(target.written.moves && !partition.holds(table, new, cx)?)
}

/// Updates a row whose newest version is known and locked (ON CONFLICT DO UPDATE). `None`: a
/// trigger rejected the change.
pub(super) fn update_known(
    target: &Target,
    assignments: &[(usize, CExpr)],
    id: RowId,
    version: &RowVersion,
    old: Vec<Datum>,
    source: &[Datum],
    cx: &mut ExecContext,
) -> Result<Option<Changed>> {
    let new = assigned_row(assignments, &old, source, cx)?;
    let (old, new) = laid_out(target, old, new, version)?;
    let Some(new) = pass_triggers(target, &old, new, cx)? else { return Ok(None) };
    if leaves_partition(target, &new, cx)? {
        let message = "invalid ON UPDATE specification";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(
            "The result tuple would appear in a different partition than the original tuple.",
        ));
    }
    let attempt = prepare(target, old, new, version, cx)?;
    match attempt.put(target, id, version, cx)? {
        Attempted::Done => Ok(Some(attempt.changed(target, id, version))),
        _ => Err(Error::internal("a locked row was changed")),
    }
}

/// Fires BEFORE ROW UPDATE triggers for a new version, in its leaf's layout. `None`: they rejected
/// it.
#[inline]
fn pass_triggers(
    target: &Target,
    old: &[Datum],
    new: Vec<Datum>,
    cx: &mut ExecContext,
) -> Result<Option<Vec<Datum>>> {
    match target.before_row(RowCommand::Update) {
        None => Ok(Some(new)),
        Some(triggers) => target.fire_before(triggers, Some(old), new, cx),
    }
}

/// The new version of a row.
pub(super) fn assigned_row(
    assignments: &[(usize, CExpr)],
    old: &[Datum],
    source: &[Datum],
    cx: &mut ExecContext,
) -> Result<Vec<Datum>> {
    let mut new = old.to_vec();
    for (column, expr) in assignments {
        let value = expr.eval(cx, Row::pair(old, source))?;
        let place = new
            .get_mut(*column)
            .ok_or_else(|| Error::internal("assignment to a column that is not there"))?;
        *place = value;
    }
    Ok(new)
}

/// The versions of a row as its leaf stores them.
fn laid_out(
    target: &Target,
    old: Vec<Datum>,
    new: Vec<Datum>,
    version: &RowVersion,
) -> Result<(Vec<Datum>, Vec<Datum>)> {
    let (mut old, mut new) = (target.stored_of(old), target.stored_of(new));
    if let Some(own) = target.columns.as_ref().map(ColumnMap::own).filter(|own| !own.is_empty()) {
        // The statement does not see these columns, so they stay unchanged.
        let mut stored = Vec::new();
        target.table.decode_all(&version.row, &mut stored)?;
        for at in own {
            (old[*at], new[*at]) = (stored[*at].clone(), stored[*at].clone());
        }
    }
    Ok((old, new))
}

/// Makes a new version ready to be put in the place of the old one.
fn prepare(
    target: &Target,
    old: Vec<Datum>,
    mut new: Vec<Datum>,
    version: &RowVersion,
    cx: &mut ExecContext,
) -> Result<Attempt> {
    target.generate_again(&mut new, cx)?;
    check_row(target, &new, cx)?;
    let mut kept = target.table.out_of_line(&version.row)?;
    kept.retain(|(i, _)| !target.written.has(*i));
    let mut encoded = Vec::with_capacity(version.row.len() + 16);
    target.table.append_row(&mut cx.txn()?.txn, &new, &kept, &mut encoded)?;
    let key_changed = target.indexes.iter().any(|index| {
        let mut columns = index.referable_columns();
        columns.any(|(c, p)| target.written.has(c) && differs(&old[c], &new[c], p.type_oid))
    });
    Ok(Attempt { old, new, encoded, key_changed })
}

fn differs(a: &Datum, b: &Datum, type_oid: u32) -> bool {
    match (a.is_null(), b.is_null()) {
        (false, false) => !steppe_types::compare::equal_as(type_oid, a, b),
        (a, b) => a != b,
    }
}

/// Deletes a version of a row, or its last one in this leaf, unless a trigger keeps it.
fn delete_version(
    target: &Target,
    id: RowId,
    version: &RowVersion,
    action: Action,
    cx: &mut ExecContext,
) -> Result<Attempted> {
    let mut old = Vec::new();
    let has_keys = target.has_keys(RowCommand::Delete);
    if target.is_observed() || has_keys {
        target.table.decode_all(&version.row, &mut old)?;
        if !target.fire_before_delete(&old, cx)? {
            return Ok(Attempted::Gone);
        }
    }
    let writer = target.writer();
    let attempted = writer.change(id, version, action, &[], cx)?;
    if let Attempted::Done = attempted {
        writer.finish_delete(id, &version.row, &mut Vec::new(), cx)?;
        match action {
            // The row's new version follows, in another leaf.
            Action::Move => target.check_may_move(&old)?,
            _ => target.queue_keys(RowCommand::Delete, id, (Some(&old), None), cx)?,
        }
        target.queue_after(RowCommand::Delete, Some(&old), None, cx)?;
    }
    Ok(attempted)
}
