//! Waiting at a row for the transaction that has it. An error that ends the wait (a deadlock, a
//! timeout, a cancel) names the row in its context (XactLockTableWaitErrorCb).

use std::sync::Arc;

use steppe_catalog::Relation;
use steppe_txn::{LockWait, RowId};
use steppe_types::{Error, Result};

use crate::change::outcome::ChangeKind;
use crate::context::ExecContext;

/// A row that is waited at.
#[derive(Debug)]
pub struct RowWait {
    kind: ChangeKind,
    row: RowId,
    /// The table; the index that a key is put into.
    relation: Arc<Relation>,
}

impl RowWait {
    pub(crate) fn new(kind: ChangeKind, row: RowId, relation: &Arc<Relation>) -> RowWait {
        RowWait { kind, row, relation: Arc::clone(relation) }
    }

    /// The row.
    pub fn row(&self) -> RowId {
        self.row
    }

    /// The error that ended the wait, with its context.
    #[cold]
    pub fn failed(&self, error: Error) -> Error {
        let doing = match self.kind {
            ChangeKind::Update => "updating",
            ChangeKind::Delete => "deleting",
            ChangeKind::Lock => "locking",
            ChangeKind::InsertKey => "inserting index",
        };
        let (page, place) = (self.row.0 >> 16, self.row.0 as u16);
        let relation = &self.relation.name;
        error.context(format!("while {doing} tuple ({page},{place}) in relation \"{relation}\""))
    }

    /// Waits in place.
    pub(crate) fn wait(self, wait: LockWait, cx: &ExecContext) -> Result<()> {
        cx.functions.session.block_on(wait).map_err(|error| self.failed(error))
    }
}
