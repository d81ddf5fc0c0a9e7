//! A point inside a statement to which the statement can be undone.
//!
//! A batch of rows is tried at once, and done again row by row if it fails. An attempt of ON
//! CONFLICT ends if another row has the key. One call undoes all effects of such a part: its writes
//! (with the access counters, which follow the undo), the events that it queued, and the rows that
//! it counted. Locks stay.

use super::events::EventMark;
use crate::context::ExecContext;
use steppe_txn::UndoPosition;
use steppe_types::Result;

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    written: UndoPosition,
    events: EventMark,
    processed: u64,
}

impl ExecContext {
    /// The present point of the statement.
    pub(crate) fn mark(&mut self) -> Result<Mark> {
        let (events, processed) = (self.event_mark(), self.processed);
        Ok(Mark { written: self.txn()?.txn.undo_position(), events, processed })
    }

    /// Undoes the statement's changes since `mark`, which can be used again.
    pub(crate) fn rollback_to(&mut self, mark: Mark) -> Result<()> {
        self.txn()?.txn.rollback_to_position(mark.written)?;
        self.forget_events(mark.events);
        self.processed = mark.processed;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::change::events::Event;
    use crate::context::ExecContext;
    use crate::transaction::{StatementTxn, Transaction};
    use std::path::Path;
    use std::sync::Arc;
    use steppe_catalog::Catalog;
    use steppe_functions::{FnContext, KeyCheck};
    use steppe_spill::TempSpace;
    use steppe_txn::{
        DatabaseId, Engine, EngineOptions, IsolationLevel, Persistence, RowBuf, RowId, TableStore,
        Txn,
    };
    use steppe_vfs::CrashVfs;

    /// The context of a statement over an empty database.
    fn statement() -> ExecContext {
        let vfs = Arc::new(CrashVfs::new(1));
        let options = EngineOptions {
            pool_pages: 64,
            pages_max: 1 << 14,
            wal_buffers_bytes: 64 << 10,
            wal_segment_bytes: 64 << 10,
            wal_bytes_min: 64 << 10,
            background: false,
            ..EngineOptions::default()
        };
        let engine = Engine::open(vfs.clone(), Path::new("data"), options).expect("opens");
        let session = engine.new_session(DatabaseId::POSTGRES);
        let mut txn = Txn::begin(&session, IsolationLevel::ReadCommitted, false);
        txn.start_statement().expect("starts");
        let txn = StatementTxn::new(Transaction::new(txn));
        let functions = FnContext::pure(Arc::new(Catalog::default()));
        let temp = Arc::new(TempSpace::new(vfs, "temp"));
        ExecContext::new(functions, Arc::new([]), 0, 0, 1 << 20, temp, Some(txn))
    }

    #[test]
    fn a_part_of_a_statement_leaves_nothing() {
        let mut cx = statement();
        let txn = &mut cx.txn().expect("has one").txn;
        let rows = TableStore::create(txn, Persistence::Logged).expect("creates");
        let change = |cx: &mut ExecContext| {
            let row = rows.insert(&mut cx.txn().expect("has one").txn, b"row").expect("inserts");
            let check = KeyCheck { index: 1, key: (*b"key").into(), row };
            cx.queue().push(Event::UniqueRecheck(check));
            cx.processed += 1;
            row
        };
        let kept = change(&mut cx);
        let mark = cx.mark().expect("has a transaction");
        for _ in 0..2 {
            let gone: Vec<RowId> = (0..3).map(|_| change(&mut cx)).collect();
            assert_eq!((cx.queue().rows().len(), cx.processed), (4, 4));
            cx.rollback_to(mark).expect("takes back");
            assert_eq!((cx.queue().rows(), cx.processed), (vec![kept], 1));
            let txn = &mut cx.txn().expect("has one").txn;
            let outer = txn.suspend_statement();
            txn.start_statement().expect("starts");
            let mut is_there =
                |id| rows.get(&txn.view(), id, &mut RowBuf::new()).expect("reads").is_some();
            assert!(is_there(kept) && !gone.into_iter().any(&mut is_there));
            txn.resume_statement(outer);
        }
    }
}
