//! What partitioned tables do to their leaves: a row moves to another table, a table's rows go
//! with its files and others come into new ones.

use super::*;

impl World<'_> {
    /// Moves a row to another table, as an UPDATE of its partition key does.
    pub(super) fn move_row(
        &mut self,
        who: usize,
        txn: &mut Txn,
        number: u32,
        table: &Table,
        changes: &mut Changes,
    ) -> Result<bool> {
        let others: Vec<u32> = self.state_of(who).into_keys().filter(|n| *n != number).collect();
        let nth = self.random.below(others.len().max(1) as u64) as usize;
        let (Some(&to), Some((id, row))) = (others.get(nth), self.some_row(who, number)) else {
            return Ok(false);
        };
        if !self.take_out(who, txn, table, (id, &row), Action::Move)? {
            return Ok(false);
        }
        changes.rows.insert((number, id), None);
        let other = self.table(who, to);
        let bytes = self.encode(txn, &other, &row)?;
        let new = other.rows.insert(txn, &bytes)?;
        changes.rows.insert((to, new.0), Some(row.clone()));
        self.index(txn, &other, &row, new)
    }

    /// TRUNCATE, perhaps with new rows in the same transaction, which ends with it: in a server
    /// ACCESS EXCLUSIVE keeps the others off the table until then.
    pub(super) fn truncate_table(&mut self, who: usize, number: u32) -> Result<()> {
        let old = self.tables[&number].clone();
        // Also those that are too new for the transaction's snapshot.
        let mut rows: Vec<u64> = self.state_of(who)[&number].keys().copied().collect();
        rows.extend(self.committed.get(&number).into_iter().flat_map(BTreeMap::keys));
        let client = &mut self.clients[who];
        let txn = client.txn.as_mut().expect("begun");
        txn.start_statement()?;
        let before = txn.undo_position();
        let new = Table::create(txn, number)?;
        let row = catalog_row(number, &new);
        let outcome = self.catalog.modify(txn, self.catalog_rows[&number], &mut |_, out| {
            out.extend_from_slice(&row);
            Ok(Action::Replace { key_changed: false })
        })?;
        assert!(matches!(outcome, ModifyOutcome::Done), "{outcome:?}");
        txn.drop_files_at_commit(&old.files());
        if self.random.chance(1, 6) {
            return txn.rollback_to_position(before);
        }
        client.changes.rows.extend(rows.into_iter().map(|id| ((number, id), None)));
        client.created.insert(number, new);
        for _ in 0..self.random.below(4) {
            self.statement_on(who, number, Self::insert)?;
        }
        self.end_at_once(who)
    }
}
