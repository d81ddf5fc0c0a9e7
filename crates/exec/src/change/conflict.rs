//! INSERT … ON CONFLICT.
//!
//! A conflicting row that the snapshot sees is found by a look-up, so that nothing is written then.
//! For DO NOTHING the snapshot must see the row's newest version, too. Otherwise the row is
//! inserted, arbiter indexes first. If one of them refuses, the attempt is undone to its mark, and
//! the conflicting row decides. Before a wait for another transaction's insert the attempt is
//! undone, too. So two sessions that insert the same key never wait for each other.

use super::checks::named;
use super::outcome::{ChangeKind, ChangeOf, InTheWay, of_conflict, serialization};
use super::row::{Changed, update_known};
use super::writer::insert_key;
use super::{Inserter, RowCommand, Target};
use crate::access::IndexAccess;
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use crate::node::find_point;
use crate::row_wait::RowWait;
use crate::system_columns::VersionColumn;
use std::borrow::Cow;
use steppe_txn::{IndexInsert, IsolationLevel, RowBuf, RowId, RowLockMode, RowVersion, WaitPolicy};
use steppe_types::{Datum, Error, Result, SqlState};

/// DO UPDATE's assignments and WHERE.
pub(crate) type ConflictUpdate = (Box<[(usize, CExpr)]>, Option<CExpr>);

/// A compiled ON CONFLICT clause.
pub(crate) struct ConflictPlan {
    /// DO UPDATE: assignments and WHERE over existing row ‖ excluded row.
    pub(crate) update: Option<ConflictUpdate>,
    /// System columns of the existing row, behind the excluded one.
    pub(crate) system: Box<[VersionColumn]>,
}

enum Attempt {
    Inserted(RowId),
    Conflict(RowId),
    /// Another transaction held the key and has ended by now.
    Again,
}

impl ConflictPlan {
    /// Inserts a row, which satisfies the table's constraints, or does what the clause says. `None`
    /// if nothing was stored. Rows have the columns of the table that the statement names.
    pub(super) fn insert(
        &self,
        target: &Target,
        row: &[Datum],
        inserter: &mut Inserter,
        cx: &mut ExecContext,
    ) -> Result<Option<Changed>> {
        let mut arbiters = target.arbiters.iter().map(|at| &target.indexes[*at]);
        if let Some(index) = arbiters.find(|index| index.deferrable) {
            let message = "ON CONFLICT does not support deferrable unique constraints/exclusion constraints \
                 as arbiters";
            let error = Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
            let table = &target.table.relation;
            return Err(named(error, table, &cx.functions).constraint(&index.relation.name));
        }
        let stored = &*target.stored(row);
        let mut look_first = true;
        loop {
            cx.check_interrupts()?;
            let visible = if look_first { self.find_visible(target, stored, cx)? } else { None };
            let conflict = match visible {
                Some(id) => id,
                None => match self.attempt(target, stored, inserter, cx)? {
                    Attempt::Inserted(id) => {
                        target.queue_keys(RowCommand::Insert, id, (None, Some(stored)), cx)?;
                        target.queue_after(RowCommand::Insert, None, Some(stored), cx)?;
                        return Ok(Some(Changed::Inserted(row.to_vec(), id)));
                    }
                    Attempt::Conflict(id) => id,
                    Attempt::Again => continue,
                },
            };
            match &self.update {
                None => {
                    self.check_visible(target, conflict, cx)?;
                    return Ok(None);
                }
                Some((assignments, filter)) => {
                    let filter = filter.as_ref();
                    let mode = match target.written.is_key {
                        true => RowLockMode::Update,
                        false => RowLockMode::NoKeyUpdate,
                    };
                    let locked = lock_conflicting(target, (conflict, mode), stored, cx)?;
                    let Some(version) = locked else {
                        look_first = false;
                        continue;
                    };
                    let locked = (conflict, version);
                    match self.resolve(target, assignments, filter, locked, row, cx)? {
                        Resolved::Updated(changed) => return Ok(Some(changed)),
                        Resolved::Kept => return Ok(None),
                    }
                }
            }
        }
    }

    /// A conflicting row that the snapshot sees.
    fn find_visible(
        &self,
        target: &Target,
        row: &[Datum],
        cx: &mut ExecContext,
    ) -> Result<Option<RowId>> {
        let (mut key, mut postings, mut buffer) = (Vec::new(), Vec::new(), RowBuf::new());
        for at in &target.arbiters {
            let index = &target.indexes[*at];
            key.clear();
            if index.within(cx, || index.key_of(row, &mut key))? != Some(false) {
                continue;
            }
            let view = &cx.txn()?.view;
            let found = find_point(&target.table, index, view, &key, &mut postings, &mut buffer)?;
            // DO NOTHING must wait for a transaction that changes the row, and notice its deletion
            // after the snapshot. The attempt does both.
            if found.is_some() && (self.update.is_some() || buffer.is_newest()) {
                return Ok(found.map(|(id, _)| id));
            }
        }
        Ok(None)
    }

    fn attempt(
        &self,
        target: &Target,
        row: &[Datum],
        inserter: &mut Inserter,
        cx: &mut ExecContext,
    ) -> Result<Attempt> {
        let mark = cx.mark()?;
        inserter.insert_rows(target, &[row], cx)?;
        let id = inserter.ids()[0];
        let mut key = Vec::new();
        for at in &target.arbiters {
            let index: &IndexAccess = &target.indexes[*at];
            key.clear();
            let Some(has_null) = index.within(cx, || index.key_of(row, &mut key))? else {
                continue;
            };
            let wait = match index.store.insert(&mut cx.txn()?.txn, &key, has_null, id)? {
                IndexInsert::Done => continue,
                IndexInsert::MustWait(wait) => {
                    cx.rollback_to(mark)?;
                    wait
                }
                IndexInsert::Duplicate(other) => {
                    cx.rollback_to(mark)?;
                    let rows = target.table.rows_for_write()?;
                    // DO UPDATE waits where it locks the row.
                    let wait = match self.update {
                        None => rows.wait_for_change(&mut cx.txn()?.txn, other)?,
                        Some(_) => None,
                    };
                    let Some(wait) = wait else { return Ok(Attempt::Conflict(other)) };
                    wait
                }
            };
            let relation = &target.table.relation;
            RowWait::new(ChangeKind::InsertKey, id, relation).wait(wait, cx)?;
            return Ok(Attempt::Again);
        }
        for (at, index) in target.indexes.iter().enumerate() {
            if !target.arbiters.contains(&at) {
                key.clear();
                if let Some(has_null) = index.within(cx, || index.key_of(row, &mut key))? {
                    insert_key(&target.table, index, &key, has_null, id, row, cx)?;
                }
            }
        }
        Ok(Attempt::Inserted(id))
    }

    /// DO UPDATE on a version of a row that is locked.
    fn resolve(
        &self,
        target: &Target,
        assignments: &[(usize, CExpr)],
        filter: Option<&CExpr>,
        (id, version): (RowId, RowVersion),
        excluded: &[Datum],
        cx: &mut ExecContext,
    ) -> Result<Resolved> {
        let mut old = Vec::new();
        target.table.decode_all(&version.row, &mut old)?;
        let seen = target.seen(old);
        let mut source = Cow::Borrowed(excluded);
        for column in &self.system {
            let view = &cx.txn()?.view;
            source.to_mut().push(column.value(&target.table, view, id, version.meta)?);
        }
        if let Some(filter) = filter
            && !filter.holds(cx, Row::pair(&seen, &source))?
        {
            return Ok(Resolved::Kept);
        }
        let updated = update_known(target, assignments, id, &version, seen, &source, cx)?;
        Ok(updated.map_or(Resolved::Kept, Resolved::Updated))
    }

    /// REPEATABLE READ must not silently skip a row because of a version that it does not see.
    fn check_visible(&self, target: &Target, id: RowId, cx: &mut ExecContext) -> Result<()> {
        let txn = &cx.txn()?.txn;
        let rows = target.table.rows_for_write()?;
        if txn.isolation() == IsolationLevel::ReadCommitted || rows.is_current(&txn.view(), id)? {
            return Ok(());
        }
        Err(serialization("update"))
    }
}

enum Resolved {
    Updated(Changed),
    /// The clause's WHERE does not hold, or a trigger rejected the change.
    Kept,
}

/// Locks the conflicting row. Its newest version counts, even if the snapshot does not see it.
/// `None` if that version does not conflict.
fn lock_conflicting(
    target: &Target,
    (id, mode): (RowId, RowLockMode),
    stored: &[Datum],
    cx: &mut ExecContext,
) -> Result<Option<RowVersion>> {
    let rows = target.table.rows_for_write()?;
    loop {
        let txn = cx.txn()?;
        let of = ChangeOf::new(ChangeKind::InsertKey, id, &target.table.relation, &txn.txn);
        let outcome = rows.lock_row(&mut txn.txn, id, mode, WaitPolicy::Block)?;
        return match of_conflict(outcome, &of)? {
            InTheWay::Seen => {
                let mut buffer = RowBuf::new();
                let found = rows.get(&txn.view, id, &mut buffer)?;
                Ok(found.map(|meta| RowVersion { row: buffer.row().to_vec(), meta }))
            }
            InTheWay::Newer(newest) if !is_in_the_way(target, &newest.row, stored)? => Ok(None),
            InTheWay::Newer(_) if of.repeatable => Err(serialization("update")),
            InTheWay::Newer(newest) => Ok(Some(newest)),
            // The snapshot has the row before this command. The row does not conflict if the
            // command has deleted it or changed its key since.
            InTheWay::Own(newest) if is_in_the_way(target, &newest.row, stored)? => {
                Err(affected_twice())
            }
            InTheWay::Own(_) | InTheWay::Gone => Ok(None),
            InTheWay::Wait(wait, at) => {
                at.wait(wait, cx)?;
                continue;
            }
        };
    }
}

/// Whether a version of a row has the key of another row in some arbiter index.
fn is_in_the_way(target: &Target, version: &[u8], stored: &[Datum]) -> Result<bool> {
    let mut existing = Vec::new();
    target.table.decode_all(version, &mut existing)?;
    let (mut key, mut other) = (Vec::new(), Vec::new());
    for at in &target.arbiters {
        let index = &target.indexes[*at];
        key.clear();
        other.clear();
        let keys = (index.key_of(stored, &mut key)?, index.key_of(&existing, &mut other)?);
        // A key with NULL equals no other.
        if keys == (Some(false), Some(false)) && key == other {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cold]
fn affected_twice() -> Error {
    Error::new(
        SqlState::CARDINALITY_VIOLATION,
        "ON CONFLICT DO UPDATE command cannot affect row a second time",
    )
    .hint(
        "Ensure that no rows proposed for insertion within the same command have duplicate \
         constrained values.",
    )
}
