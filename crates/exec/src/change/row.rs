//! UPDATE and DELETE of one row.
//!
//! The new version is computed from the version that the snapshot sees, outside
//! any latch, and put in place only if that is still the newest one. Otherwise,
//! after waiting for the row's holder:
//!
//! - REPEATABLE READ fails (40001);
//! - READ COMMITTED takes the newest version, checks the statement's WHERE again
//!   over it, and computes the new version from it (EvalPlanQual).

use super::checks::partition_violation;
use super::returned::Versions;
use super::writer::insert_key;
use super::{ModifyPlan, Target, check_row};
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use crate::node::{changed_by_triggered, moved_concurrently, serialization};
use crate::partition::ColumnMap;
use crate::row_wait::{Doing, RowWait};
use std::borrow::Cow;
use steppe_counting::accesses;
use steppe_sql::query::Command;
use steppe_txn::{
    Action, IsolationLevel, ModifyOutcome, OwnCommand, RowBuf, RowId, RowMeta, RowVersion,
};
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// A change to one row that is ready to be tried.
struct Attempt {
    old: Vec<Datum>,
    new: Vec<Datum>,
    encoded: Vec<u8>,
    key_changed: bool,
}

impl Attempt {
    /// What has been done, once it is.
    fn changed(self, target: &Target, id: RowId, version: &RowVersion) -> Changed {
        let (old, new) = (target.seen(self.old), target.seen(self.new));
        Changed::Updated { old, was: (id, version.meta), new, is: id }
    }
}

/// What an UPDATE or DELETE did to a row.
pub(super) struct Change<'s> {
    pub(super) changed: Changed,
    /// The child's row, with the OID of the table that the row is in now.
    pub(super) source: Cow<'s, [Datum]>,
    /// The table that it was in.
    pub(super) from: Oid,
    /// The table that it is in.
    pub(super) to: Oid,
    /// [`ModifyPlan::returning_system`] of it.
    pub(super) system: Vec<Datum>,
}

/// The versions of a changed row, each with where it is.
pub(crate) enum Changed {
    Inserted(Vec<Datum>, RowId),
    Updated { old: Vec<Datum>, was: WrittenOver, new: Vec<Datum>, is: RowId },
    Deleted(Vec<Datum>, WrittenOver),
}

/// A row and its version that a change was made to.
pub(crate) type WrittenOver = (RowId, RowMeta);

impl Changed {
    /// The row's version that it is known by afterwards.
    pub(super) fn stored(&self) -> &[Datum] {
        match self {
            Changed::Inserted(row, _)
            | Changed::Updated { new: row, .. }
            | Changed::Deleted(row, _) => row,
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
            Changed::Updated { old, .. } | Changed::Deleted(old, _) => Some(old),
        }
    }

    fn after(&self) -> Option<&[Datum]> {
        match self {
            Changed::Inserted(new, _) | Changed::Updated { new, .. } => Some(new),
            Changed::Deleted(..) => None,
        }
    }
}

/// What trying came to.
enum Tried {
    Done,
    Gone,
    Newer(RowVersion),
}

/// What became of the row that a child's row names. Rows are laid out as the table that the
/// statement names has them.
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
    let mut version = RowVersion { row: buffer.row().to_vec(), meta };
    let mut source = Cow::Borrowed(source);
    let mut newer = false;
    loop {
        let mut old = Vec::new();
        target.table.decode_all(&version.row, &mut old)?;
        let old = target.seen(old);
        if newer
            && let Some(recheck) = &modify.recheck
            && !recheck.holds(cx, Row::pair(&old, &source))?
        {
            return Ok(Outcome::Kept);
        }
        let (tried, outcome) = match modify.command {
            Command::Delete => {
                let tried = try_delete(target, id, &version, Action::Delete, cx)?;
                (tried, Outcome::Done(Changed::Deleted(old, (id, version.meta))))
            }
            _ => update_version(modify, target, id, &version, old, &source, cx)?,
        };
        match tried {
            Tried::Done => return Ok(outcome),
            Tried::Gone => return Ok(Outcome::Kept),
            Tried::Newer(newest) => {
                version = newest;
                newer = true;
                for (at, column) in &modify.system {
                    let view = &cx.txn()?.view;
                    let value = column.value(&target.table, view, id, version.meta)?;
                    if let Some(place) = source.to_mut().get_mut(*at) {
                        *place = value;
                    }
                }
            }
        }
    }
}

/// Updates a version of a row, or deletes it if the new one belongs elsewhere.
fn update_version(
    modify: &ModifyPlan,
    target: &Target,
    id: RowId,
    version: &RowVersion,
    old: Vec<Datum>,
    source: &[Datum],
    cx: &mut ExecContext,
) -> Result<(Tried, Outcome)> {
    let new = assigned_row(&modify.assignments, &old, source, cx)?;
    if leaves_partition(target, &new, cx)? {
        if modify.partitioned.is_none() {
            return Err(partition_violation(
                target,
                &target.table.relation,
                &target.stored(&new),
                &cx.functions,
            ));
        }
        let tried = try_delete(target, id, version, Action::Move, cx)?;
        return Ok((tried, Outcome::Leaves { old, was: (id, version.meta), new }));
    }
    let attempt = prepare(target, old, new, version, cx)?;
    let tried = try_update(target, id, version, &attempt, cx)?;
    if matches!(tried, Tried::Done) {
        finish_update(target, id, version, &attempt, cx)?;
    }
    Ok((tried, Outcome::Done(attempt.changed(target, id, version))))
}

/// Whether a row's new version does not belong into its partition.
fn leaves_partition(target: &Target, new: &[Datum], cx: &mut ExecContext) -> Result<bool> {
    let Some(partition) = &target.partition else { return Ok(false) };
    let table = target.table.oid;
    Ok(target.written.moves && !partition.holds(table, &target.stored(new), cx)?)
}

/// Updates a row whose newest version is known and locked (ON CONFLICT DO UPDATE).
pub(super) fn update_known(
    target: &Target,
    assignments: &[(usize, CExpr)],
    id: RowId,
    version: &RowVersion,
    old: Vec<Datum>,
    source: &[Datum],
    cx: &mut ExecContext,
) -> Result<Changed> {
    let new = assigned_row(assignments, &old, source, cx)?;
    if leaves_partition(target, &new, cx)? {
        let message = "invalid ON UPDATE specification";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(
            "The result tuple would appear in a different partition than the original tuple.",
        ));
    }
    let attempt = prepare(target, old, new, version, cx)?;
    match try_update(target, id, version, &attempt, cx)? {
        Tried::Done => {
            finish_update(target, id, version, &attempt, cx)?;
            Ok(attempt.changed(target, id, version))
        }
        Tried::Gone | Tried::Newer(_) => Err(Error::internal("a locked row was changed")),
    }
}

/// The new version of a row.
fn assigned_row(
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

/// Makes a new version ready to be stored.
fn prepare(
    target: &Target,
    old: Vec<Datum>,
    new: Vec<Datum>,
    version: &RowVersion,
    cx: &mut ExecContext,
) -> Result<Attempt> {
    let (mut old, mut new) = (target.stored_of(old), target.stored_of(new));
    if let Some(own) = target.columns.as_ref().map(ColumnMap::own).filter(|own| !own.is_empty()) {
        // The statement does not see these: they stay as they are.
        let mut stored = Vec::new();
        target.table.decode_all(&version.row, &mut stored)?;
        for at in own {
            (old[*at], new[*at]) = (stored[*at].clone(), stored[*at].clone());
        }
    }
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

fn try_update(
    target: &Target,
    id: RowId,
    version: &RowVersion,
    attempt: &Attempt,
    cx: &mut ExecContext,
) -> Result<Tried> {
    let action = Action::Replace { key_changed: attempt.key_changed };
    try_change(target, id, version, action, &attempt.encoded, cx)
}

/// Puts the change in place if `version` still is the newest, waiting for other writers.
fn try_change(
    target: &Target,
    id: RowId,
    version: &RowVersion,
    action: Action,
    new: &[u8],
    cx: &mut ExecContext,
) -> Result<Tried> {
    let rows = target.table.rows_for_write()?;
    loop {
        let txn = &mut cx.txn()?.txn;
        let repeatable = txn.isolation() != IsolationLevel::ReadCommitted;
        let outcome = rows.modify(txn, id, &mut |current, out| {
            if current.meta != version.meta {
                return Ok(Action::Keep);
            }
            out.extend_from_slice(new);
            Ok(action)
        })?;
        return match outcome {
            ModifyOutcome::Done => Ok(Tried::Done),
            ModifyOutcome::NotFound | ModifyOutcome::SelfUpdated { by: OwnCommand::This } => {
                Ok(Tried::Gone)
            }
            ModifyOutcome::SelfUpdated { by: OwnCommand::Later } => {
                let updates = matches!(action, Action::Replace { .. });
                Err(changed_by_triggered(if updates { "updated" } else { "deleted" }))
            }
            ModifyOutcome::DeletedConcurrently if repeatable => Err(serialization("delete")),
            ModifyOutcome::DeletedConcurrently => Ok(Tried::Gone),
            ModifyOutcome::MovedConcurrently => Err(moved_concurrently(repeatable)),
            ModifyOutcome::UpdatedConcurrently { .. } if repeatable => Err(serialization("update")),
            ModifyOutcome::UpdatedConcurrently { newest } => Ok(Tried::Newer(newest)),
            ModifyOutcome::Kept => {
                Err(Error::internal("the version to be changed is not the one that was seen"))
            }
            ModifyOutcome::MustWait(wait) => {
                let doing = match action {
                    Action::Delete => Doing::Deleting,
                    _ => Doing::Updating,
                };
                RowWait::new(doing, id, &target.table.relation).wait(wait, cx)?;
                continue;
            }
        };
    }
}

/// Indexes whose key has changed, and values that nothing refers to any more.
fn finish_update(
    target: &Target,
    id: RowId,
    version: &RowVersion,
    attempt: &Attempt,
    cx: &mut ExecContext,
) -> Result<()> {
    // The row is changed, whatever comes of its keys: what takes it back takes this back, too.
    let moved = change_entries(target, id, attempt, cx)
        .inspect_err(|_| accesses::updated(target.table.oid, true))?;
    accesses::updated(target.table.oid, moved);
    target.table.let_go(&mut cx.txn()?.txn, &version.row, |column| target.written.has(column))
}

/// Indexes whose key has changed: whether there are any.
fn change_entries(
    target: &Target,
    id: RowId,
    attempt: &Attempt,
    cx: &mut ExecContext,
) -> Result<bool> {
    let mut moved = false;
    for index in target.written.indexes.iter().filter_map(|at| target.indexes.get(*at)) {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let was = index.key_of(&attempt.old, &mut before)?;
        let is = index.key_of(&attempt.new, &mut after)?;
        if was.is_some() == is.is_some() && before == after {
            continue;
        }
        moved = true;
        if let Some(has_null) = is {
            insert_key(target, index, &after, has_null, id, &attempt.new, cx)?;
        }
        if let Some(had_null) = was {
            index.store.mark_deleted(&mut cx.txn()?.txn, &before, had_null, id)?;
        }
    }
    Ok(moved)
}

/// Deletes a version of a row, or its last one here.
fn try_delete(
    target: &Target,
    id: RowId,
    version: &RowVersion,
    action: Action,
    cx: &mut ExecContext,
) -> Result<Tried> {
    let tried = try_change(target, id, version, action, &[], cx)?;
    if !matches!(tried, Tried::Done) {
        return Ok(tried);
    }
    accesses::deleted(target.table.oid);
    for index in &target.indexes {
        let mut key = Vec::new();
        if let Some(has_null) = index.key_of_row(&target.table, &version.row, &mut key)? {
            index.store.mark_deleted(&mut cx.txn()?.txn, &key, has_null, id)?;
        }
    }
    target.table.let_go(&mut cx.txn()?.txn, &version.row, |_| true)?;
    Ok(tried)
}
