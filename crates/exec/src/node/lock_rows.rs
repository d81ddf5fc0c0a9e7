//! SELECT … FOR UPDATE, FOR SHARE and the like (PostgreSQL's nodeLockRows.c).
//!
//! If a transaction that committed after the snapshot changed the row, a statement in REPEATABLE
//! READ fails (40001). In READ COMMITTED the newest version is locked and its columns are read
//! again. The row is handed up if it still satisfies the statement's conditions (EvalPlanQual).

use super::{BoxedNode, CNode, CPlan, Input, Node};
use crate::access::{ScanColumn, TableAccess};
use crate::batch::RowBatch;
use crate::change::outcome::{Attempted, ChangeKind, ChangeOf, of_lock};
use crate::context::ExecContext;
use crate::expr::{CExpr, Row};
use crate::partition::{ColumnMap, LockedLeaf};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use std::sync::Arc;
use steppe_sql::query::WaitPolicy;
use steppe_txn::{RelationLockMode, RowId, RowLockMode, RowVersion};
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// One table to lock.
pub(crate) struct CRowLock {
    pub(crate) rows: LockedRows,
    /// For a table whose rows are in several leaves: the column of the child's output with the OID
    /// of the row's leaf.
    pub(crate) leaf: Option<usize>,
    /// Column of the child's output with the row id.
    pub(crate) row_id: usize,
    pub(crate) mode: RowLockMode,
    pub(crate) wait: WaitPolicy,
}

/// A table whose rows are locked.
#[derive(Clone)]
pub(crate) struct LockedRows {
    pub(crate) table: Arc<TableAccess>,
    /// Its columns in the child's output, to be read again from a newer version.
    pub(crate) columns: Box<[(usize, ScanColumn)]>,
}

impl CRowLock {
    /// The table of a leaf's rows.
    fn leaf_rows(&self, leaf: Oid, cx: &mut ExecContext) -> Result<Option<LockedRows>> {
        let table = &self.rows.table.relation;
        let Some(leaf) = LockedLeaf::lock(cx, leaf, table, RelationLockMode::RowShare)? else {
            return Ok(None);
        };
        let leaf = &leaf.relation;
        let map = ColumnMap::new(table, leaf)?;
        let columns = self.rows.columns.iter().map(|(slot, column)| {
            Ok(match (&map, column) {
                (Some(map), ScanColumn::Stored(at)) => {
                    (*slot, ScanColumn::Stored(map.in_leaf(*at)?))
                }
                _ => (*slot, *column),
            })
        });
        let columns = columns.collect::<Result<_>>()?;
        let table = Arc::new(TableAccess::open(cx.txn()?.txn.engine(), leaf)?);
        Ok(Some(LockedRows { table, columns }))
    }
}

/// A compiled LockRows.
pub(crate) struct LockRowsPlan {
    pub(crate) child: Arc<CPlan>,
    pub(crate) locks: Box<[CRowLock]>,
    /// The statement's conditions over the child's output.
    pub(crate) recheck: Option<CExpr>,
    /// Outer joins below: the ON condition, and the slots that are NULL where it fails.
    pub(crate) outer_joins: Box<[(CExpr, Box<[usize]>)]>,
}

impl LockRowsPlan {
    /// Whether a row that has been read again is still one of the statement's.
    fn still_qualifies(&self, cx: &mut ExecContext, row: &mut [Datum]) -> Result<bool> {
        for (on, padded) in &self.outer_joins {
            if !on.holds(cx, Row::of(row))? {
                for slot in padded {
                    if let Some(value) = row.get_mut(*slot) {
                        *value = Datum::Null;
                    }
                }
            }
        }
        match &self.recheck {
            Some(recheck) => recheck.holds(cx, Row::of(row)),
            None => Ok(true),
        }
    }
}

struct LockRowsNode {
    plan: Arc<CPlan>,
    child: Input,
    scratch: Vec<Datum>,
    /// Leaves with locked rows, by the number of their lock clause.
    leaves: HashMap<(usize, Oid), Option<LockedRows>>,
}

pub(super) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::LockRows(lock) = &plan.kind else { unreachable!("started as lock rows") };
    let child = Input::new(&lock.child, cx);
    Box::new(LockRowsNode { plan, child, scratch: Vec::new(), leaves: HashMap::new() })
}

/// The outcome of locking a row.
pub(crate) enum Locked {
    /// The version that the snapshot sees.
    Same,
    /// The row is not to be handed up.
    Skip,
    /// A newer version, which is locked.
    Newer(RowVersion),
}

/// Locks one row, and waits as the clause says.
pub(crate) fn lock_row(
    table: &TableAccess,
    row: RowId,
    mode: RowLockMode,
    wait: WaitPolicy,
    cx: &mut ExecContext,
) -> Result<Locked> {
    let rows = table.rows_for_write()?;
    let policy = match wait {
        WaitPolicy::Block => steppe_txn::WaitPolicy::Block,
        WaitPolicy::SkipLocked | WaitPolicy::NoWait => steppe_txn::WaitPolicy::DontWait,
    };
    loop {
        let txn = &mut cx.txn()?.txn;
        let of = ChangeOf::new(ChangeKind::Lock, row, &table.relation, txn);
        return match of_lock(rows.lock_row(txn, row, mode, policy)?, &of)? {
            Attempted::Done => Ok(Locked::Same),
            Attempted::Gone | Attempted::Kept => Ok(Locked::Skip),
            Attempted::Newer(newest) => Ok(Locked::Newer(newest)),
            Attempted::Held if wait == WaitPolicy::SkipLocked => Ok(Locked::Skip),
            Attempted::Held => Err(Error::new(
                SqlState::LOCK_NOT_AVAILABLE,
                format!("could not obtain lock on row in relation \"{}\"", table.relation.name),
            )),
            Attempted::Wait(lock, at) => {
                at.wait(lock, cx)?;
                continue;
            }
        };
    }
}

impl Node for LockRowsNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::LockRows(lock_rows) = &plan.kind else {
            return Err(Error::internal("lock rows node over another plan"));
        };
        'rows: while !out.is_full() && self.child.advance(cx, out.room())? {
            self.scratch.clear();
            self.scratch.extend_from_slice(self.child.row());
            let mut newer = false;
            for (number, lock) in lock_rows.locks.iter().enumerate() {
                // The nullable side of an outer join has no row to lock.
                let Some(Datum::Int8(id)) = self.scratch.get(lock.row_id) else { continue };
                let id = RowId(*id as u64);
                let rows = match lock.leaf.and_then(|at| self.scratch.get(at)) {
                    Some(Datum::Oid(leaf)) => {
                        let leaf = *leaf;
                        let entry = match self.leaves.entry((number, leaf)) {
                            Entry::Occupied(found) => found.into_mut(),
                            Entry::Vacant(free) => free.insert(lock.leaf_rows(leaf, cx)?),
                        };
                        let Some(rows) = entry else { continue 'rows };
                        &*rows
                    }
                    _ => &lock.rows,
                };
                match lock_row(&rows.table, id, lock.mode, lock.wait, cx)? {
                    Locked::Same => {}
                    Locked::Skip => continue 'rows,
                    Locked::Newer(version) => {
                        newer = true;
                        for (slot, column) in &rows.columns {
                            let mut value = Vec::with_capacity(1);
                            let (at, view) = ((id, version.meta), &cx.txn()?.view);
                            let columns = &[*column];
                            rows.table.decode_columns(
                                &version.row,
                                at,
                                view,
                                columns,
                                &mut value,
                            )?;
                            if let (Some(place), Some(value)) =
                                (self.scratch.get_mut(*slot), value.pop())
                            {
                                *place = value;
                            }
                        }
                    }
                }
            }
            if newer && !lock_rows.still_qualifies(cx, &mut self.scratch)? {
                continue;
            }
            plan.emit_owned(cx, &mut self.scratch, out)?;
        }
        Ok(())
    }

    fn rescan(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.child.rescan(cx)
    }
}
