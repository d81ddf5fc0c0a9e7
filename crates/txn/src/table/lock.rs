//! Row locks: SELECT … FOR UPDATE and its kin.

use steppe_types::{Error, Result};

use super::{Blocked, LockOutcome, ModifyOutcome, RowId, Standing, Step, TableStore, WaitPolicy};
use super::{refuse, row_tag, standing};
use crate::change::{Origin, RowHeader};
use crate::lock::{Acquire, RowLockMode, Sharing};
use crate::txn::{IsolationLevel, Txn};
use crate::view::{RowVersion, View};

impl TableStore {
    /// SELECT … FOR UPDATE and its kin: locks the newest version of a row. To KEY SHARE versions
    /// with the same key are one: it is content with the snapshot's.
    pub fn lock_row(
        &self,
        txn: &mut Txn,
        row: RowId,
        mode: RowLockMode,
        policy: WaitPolicy,
    ) -> Result<LockOutcome> {
        txn.assign_xid();
        txn.use_command();
        txn.watched(|all, member| all.read_row(member, self.file.number(), row.0))?;
        if mode <= RowLockMode::Share && self.share_row(txn, row, mode)? {
            return Ok(LockOutcome::Locked);
        }
        loop {
            let blocked = match self.lock_once(txn, row, mode)? {
                Step::Done(LockOutcome::DeletedConcurrently { .. }) => {
                    let updated = self.was_updated(txn, row)?;
                    return Ok(LockOutcome::DeletedConcurrently { updated });
                }
                Step::Done(outcome) => return Ok(outcome),
                Step::Blocked(blocked) => blocked,
            };
            match self.queue(txn, row, blocked, policy)? {
                Acquire::Granted | Acquire::Retry => continue,
                Acquire::Wait(wait) => return Ok(LockOutcome::MustWait(wait)),
                Acquire::WouldBlock => return Ok(LockOutcome::WouldBlock),
            }
        }
    }

    /// Shares a row that has the version of the snapshot, if nobody stands in the way: no page is
    /// latched for it. False: nothing has been done.
    fn share_row(&self, txn: &mut Txn, row: RowId, mode: RowLockMode) -> Result<bool> {
        let Some(tree) = self.file.tree()? else { return Ok(false) };
        let (view, tag) = (txn.view(), row_tag(tree, row));
        let sharing = txn.engine().locks.share_row(txn.shared(), tag, mode);
        if sharing == Sharing::InTable {
            return Ok(false);
        }
        // From here on nobody writes it without having seen that it is shared.
        let mut value = std::mem::take(&mut txn.row);
        let found = tree.read(&row.0.to_be_bytes(), &mut value).map_err(Error::from);
        let now = found.and_then(|found| match found {
            true => standing(&view, RowHeader::split(&value)?.0),
            false => Ok(Standing::Absent),
        });
        txn.row = value;
        let is_as_seen = matches!(now, Ok(Standing::Free { visible: true, .. }));
        if !is_as_seen && sharing == Sharing::Noted {
            txn.engine().locks.release_row(txn.shared(), tag, mode);
        }
        now.map(|_| is_as_seen)
    }

    /// Locks rows in a shared mode, one after the other, up to the first that another transaction is
    /// at or that has not the version of the snapshot. [`Self::lock_row`] would have locked those
    /// before it in the same versions. Nothing has been done to it and those after it, so a wait for
    /// it holds no more locks than in the general way. Returns the number of rows that are locked.
    ///
    /// No page is latched for it ([`crate::lock`], `sharers`), and rows that lie close together need
    /// one descent for a leaf.
    pub fn share_rows(&self, txn: &mut Txn, rows: &[RowId], mode: RowLockMode) -> Result<usize> {
        let Some(tree) = self.file.tree()? else { return Ok(0) };
        txn.assign_xid();
        txn.use_command();
        let (view, mut near, mut value) = (txn.view(), None, std::mem::take(&mut txn.row));
        let mut locked = 0;
        for row in rows {
            txn.watched(|all, member| all.read_row(member, self.file.number(), row.0))?;
            let (locks, tag) = (&txn.engine().locks, row_tag(tree, *row));
            let sharing = locks.share_row_in_table(txn.shared(), tag, mode)?;
            let is_as_seen = sharing != Sharing::InTable
                && tree.read_near(&row.0.to_be_bytes(), &mut value, &mut near)?
                && is_seen(&view, RowHeader::split(&value)?.0)?;
            if !is_as_seen {
                if sharing == Sharing::Noted {
                    locks.release_row(txn.shared(), tag, mode);
                }
                break;
            }
            locked += 1;
        }
        txn.row = value;
        Ok(locked)
    }

    fn lock_once(&self, txn: &Txn, row: RowId, mode: RowLockMode) -> Result<Step<LockOutcome>> {
        let Some(tree) = self.file.tree()? else {
            return Ok(Step::Done(LockOutcome::NotFound));
        };
        let (view, tag) = (txn.view(), row_tag(tree, row));
        let mut step = Step::Done(LockOutcome::NotFound);
        let mut unseen = None;
        txn.write(tree, &row.0.to_be_bytes(), |value, _keep| {
            (step, unseen) = (Step::Done(LockOutcome::NotFound), None);
            let Some(value) = value else { return Ok(()) };
            let (header, bytes) = RowHeader::split(value)?;
            let (visible, running) = match standing(&view, header)? {
                Standing::Free { visible, .. } => (visible, None),
                Standing::Running(owner) => {
                    let compatible = tag.conflicts(mode as u8) & (1 << owner.mode as u8) == 0;
                    if !compatible || matches!(header.origin, Origin::Inserted(_)) {
                        let blocked = Blocked::By(Some(owner), mode);
                        step = Step::Blocked(blocked);
                        return Ok(());
                    }
                    (false, Some(owner))
                }
                other => {
                    step = match refuse(other) {
                        Step::Done(ModifyOutcome::DeletedConcurrently { updated }) => {
                            Step::Done(LockOutcome::DeletedConcurrently { updated })
                        }
                        Step::Done(ModifyOutcome::MovedConcurrently) => {
                            Step::Done(LockOutcome::MovedConcurrently)
                        }
                        Step::Done(ModifyOutcome::SelfUpdated { by }) => {
                            let meta = crate::view::meta(header);
                            let is_there = !header.word.is_deleted();
                            let newest = is_there.then(|| RowVersion { row: bytes.to_vec(), meta });
                            Step::Done(LockOutcome::SelfUpdated { by, newest })
                        }
                        Step::Done(_) => Step::Done(LockOutcome::NotFound),
                        Step::Blocked(blocked) => Step::Blocked(blocked),
                    };
                    return Ok(());
                }
            };
            let locks = &txn.engine().locks;
            step = if !locks.try_lock_row(txn.shared(), tag, mode)? {
                Step::Blocked(Blocked::By(None, mode))
            } else if visible {
                Step::Done(LockOutcome::Locked)
            } else {
                unseen = (mode == RowLockMode::KeyShare).then_some((header, running));
                let meta = crate::view::meta(header);
                let newest = RowVersion { row: bytes.to_vec(), meta };
                Step::Done(LockOutcome::UpdatedConcurrently { newest })
            };
            Ok(())
        })?;
        // The lock keeps the key from here on: what it was before may be read without the latch.
        if let Some((header, running)) = unseen {
            if view.has_key_of(header)? {
                return Ok(Step::Done(LockOutcome::Locked));
            }
            if let Some(owner) = running
                && txn.isolation() == IsolationLevel::ReadCommitted
            {
                return Ok(Step::Blocked(Blocked::UntilEnd(owner)));
            }
        }
        Ok(step)
    }

    /// Gives back a row lock that a wait has brought, when the row turned out
    /// not to be wanted any more. An uncommitted version keeps it anyway.
    pub fn release_row(&self, txn: &Txn, row: RowId, mode: RowLockMode) -> Result<()> {
        let tag = row_tag(self.file.tree_of_entry()?, row);
        txn.engine().locks.release_row(txn.shared(), tag, mode);
        Ok(())
    }
}

/// Whether a row has the version of a snapshot, and no other transaction is at it.
fn is_seen(view: &View, header: RowHeader) -> Result<bool> {
    Ok(matches!(standing(view, header)?, Standing::Free { visible: true, .. }))
}
