//! Statements within which others run, as a function's do, and of which a part is taken back.

use super::*;

/// The rows of a table.
type Rows = BTreeMap<u64, Row>;

/// A statement that has begun.
struct Running {
    /// The rows that it sees.
    seen: Rows,
    /// The rows that were written since, and by which command.
    written: BTreeMap<u64, OwnCommand>,
}

const DEPTH_MAX: u32 = 3;

impl World<'_> {
    /// A statement on a table, with others within it.
    pub(super) fn nested(
        &mut self,
        who: usize,
        txn: &mut Txn,
        number: u32,
        table: &Table,
        changes: &mut Changes,
    ) -> Result<bool> {
        let mut rows = self.state_of(who).remove(&number).unwrap_or_default();
        let Some(written) = self.parts(who, txn, (number, table), &mut rows, 0)? else {
            return Ok(false);
        };
        changes.rows.extend(written.keys().map(|id| ((number, *id), rows.get(id).cloned())));
        Ok(true)
    }

    /// What a statement that has begun writes, on `rows`; `None` if it comes to nothing.
    fn parts(
        &mut self,
        who: usize,
        txn: &mut Txn,
        of: (u32, &Table),
        rows: &mut Rows,
        depth: u32,
    ) -> Result<Option<BTreeMap<u64, OwnCommand>>> {
        txn.use_command();
        let mut running = Running { seen: rows.clone(), written: BTreeMap::new() };
        for _ in 0..1 + self.random.below(4) {
            let mark = (txn.undo_position(), rows.clone(), running.written.clone());
            for _ in 0..self.random.below(4) {
                if !self.write(who, txn, of, rows, &mut running)? {
                    return Ok(None);
                }
            }
            if depth < DEPTH_MAX && self.random.chance(1, 2) {
                let outer = txn.suspend_statement();
                txn.start_statement()?;
                let within = self.parts(who, txn, of, rows, depth + 1)?;
                txn.resume_statement(outer);
                let Some(within) = within else { return Ok(None) };
                for id in within.into_keys() {
                    running.written.entry(id).or_insert(OwnCommand::Later);
                }
            }
            if self.random.chance(1, 4) {
                txn.rollback_to_position(mark.0)?;
                (*rows, running.written) = (mark.1, mark.2);
            }
            Self::check_running(txn, of.1, rows, &running)?;
        }
        Ok(Some(running.written))
    }

    /// Writes some row that the statement sees, if it may; false if another session is in the way.
    fn write(
        &mut self,
        who: usize,
        txn: &mut Txn,
        (number, table): (u32, &Table),
        rows: &mut Rows,
        running: &mut Running,
    ) -> Result<bool> {
        let nth = self.random.below(running.seen.len() as u64 + 1) as usize;
        let Some((&id, old)) = running.seen.iter().nth(nth) else {
            let mut changes = Changes::default();
            let inserted = self.insert(who, txn, number, table, &mut changes)?;
            for ((_, id), row) in changes.rows {
                running.written.insert(id, OwnCommand::This);
                rows.extend(row.map(|row| (id, row)));
            }
            return Ok(inserted);
        };
        if running.written.contains_key(&id) {
            // It is met again: see `check_running`.
            return Ok(true);
        }
        if old.big || self.random.chance(1, 4) {
            if !self.take_out(who, txn, table, (id, old), Action::Delete)? {
                return Ok(false);
            }
            rows.remove(&id);
        } else {
            let Row { stamp, len, .. } = self.random_row();
            let new = Row { stamp, len: len % 2000, ..old.clone() };
            let outcome = table.rows.modify(txn, RowId(id), &mut |current, out| {
                if !current.visible_to_snapshot {
                    return Ok(Action::Keep);
                }
                assert_eq!(Row::decode(current.row).0, *old, "the version that is replaced");
                out.extend_from_slice(&new.encode(None));
                Ok(Action::Replace { key_changed: false })
            })?;
            if !self.is_done(who, outcome) {
                return Ok(false);
            }
            rows.insert(id, new);
        }
        self.check_unwritten(who, number, id);
        running.written.insert(id, OwnCommand::This);
        Ok(true)
    }

    /// A statement sees none of the rows that were written since it began as they are now. It does
    /// not change them again, and knows whether it has written them itself.
    fn check_running(txn: &mut Txn, table: &Table, rows: &Rows, running: &Running) -> Result<()> {
        let (view, mut buffer) = (txn.view(), RowBuf::new());
        for (&id, &expected) in &running.written {
            let found = table.rows.get(&view, RowId(id), &mut buffer)?;
            let found = found.map(|_| Row::decode(buffer.row()).0);
            assert_eq!(found.as_ref(), running.seen.get(&id), "row {id} as a statement sees it");
            let outcome = table
                .rows
                .modify(txn, RowId(id), &mut |_, _| panic!("row {id} is written twice"))?;
            match outcome {
                ModifyOutcome::SelfUpdated { by } => assert_eq!(by, expected, "row {id}"),
                other => panic!("unexpected outcome {other:?}"),
            }
            let mode = RowLockMode::NoKeyUpdate;
            match table.rows.lock_row(txn, RowId(id), mode, WaitPolicy::DontWait)? {
                LockOutcome::SelfUpdated { by, newest } => {
                    let newest = newest.map(|newest| Row::decode(&newest.row).0);
                    assert_eq!((by, newest.as_ref()), (expected, rows.get(&id)), "row {id}");
                }
                other => panic!("unexpected outcome {other:?}"),
            }
        }
        Ok(())
    }
}
