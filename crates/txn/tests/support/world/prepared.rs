//! PREPARE TRANSACTION and what comes after it, at any time, by anybody, or after a crash.

use super::super::model::Prepared;
use super::*;

impl World<'_> {
    /// Prepares a session's transaction, with a row and a relation locked beside what it has
    /// changed.
    pub(super) fn prepare(&mut self, who: usize) -> Result<String> {
        self.stamp += 1;
        let gid = format!("g{}", self.stamp);
        let rows = self.lock_for_prepared(who)?;
        let client = &mut self.clients[who];
        let txn = client.txn.take().expect("begun");
        let relation =
            txn.try_lock_relation(self.stamp, RelationLockMode::Share)?.then_some(self.stamp);
        let created = std::mem::take(&mut client.created);
        let prepared = Prepared {
            changes: std::mem::take(&mut client.changes),
            created: created.iter().map(|(&number, table)| (number, table.files())).collect(),
            rows,
            relation,
        };
        let event = Changes {
            prepares: Some((gid.clone(), Box::new(prepared.clone()))),
            ..Changes::default()
        };
        self.in_doubt = Some(event.clone());
        // A state of many parts now and then.
        let note = vec![7; self.random.below(2) as usize * 20_000];
        txn.prepare(&gid, &note, None)?;
        self.in_doubt = None;
        self.commits.push((self.engine.wal().durable_lsn(), event));
        // It is durable, with all that came before.
        self.acknowledged = self.commits.len();
        self.prepared.insert(gid.clone(), prepared);
        Ok(gid)
    }

    fn lock_for_prepared(&mut self, who: usize) -> Result<BTreeSet<(u32, u64)>> {
        let mut rows = BTreeSet::new();
        for number in self.tables.keys().copied().collect::<Vec<_>>() {
            if self.clients[who].changes.tables.contains_key(&number)
                || self.clients[who].created.contains_key(&number)
            {
                continue;
            }
            let Some((id, _)) = self.some_row(who, number) else { continue };
            let table = self.table(who, number);
            let mut txn = self.clients[who].txn.take().expect("begun");
            txn.start_statement()?;
            let (mode, policy) = (RowLockMode::Update, WaitPolicy::DontWait);
            let outcome = table.rows.lock_row(&mut txn, RowId(id), mode, policy)?;
            if matches!(outcome, LockOutcome::Locked) {
                rows.insert((number, id));
            }
            txn.end_statement();
            self.clients[who].txn = Some(txn);
        }
        Ok(rows)
    }

    /// Ends one of the prepared transactions.
    pub(super) fn end_some_prepared(&mut self) -> Result<()> {
        let nth = self.random.below(self.prepared.len().max(1) as u64) as usize;
        let Some(gid) = self.prepared.keys().nth(nth).cloned() else { return Ok(()) };
        let commit = self.random.chance(1, 2);
        self.end_prepared(&gid, commit)
    }

    pub(super) fn end_prepared(&mut self, gid: &str, commit: bool) -> Result<()> {
        let held = self.engine.hold_prepared(gid)?;
        let busy = self.engine.hold_prepared(gid).err().expect("it is in our hands");
        assert_eq!(busy.sqlstate().as_str(), "55000");
        let changes = if commit { self.prepared[gid].changes.clone() } else { Changes::default() };
        let event = Changes { ends: Some(gid.to_owned()), ..changes };
        self.in_doubt = Some(event.clone());
        let wait = if commit { held.commit_with(|| ()) } else { held.rollback() }?;
        self.in_doubt = None;
        self.prepared.remove(gid);
        event.apply(&mut self.committed);
        self.commits.push((wait.lsn, event));
        self.read_tables()?;
        if self.random.chance(1, 2) { self.acknowledge() } else { Ok(()) }
    }

    /// Ends all of them.
    pub fn finish_prepared(&mut self) -> Result<()> {
        while !self.prepared.is_empty() {
            self.end_some_prepared()?;
        }
        assert!(self.engine.prepared_transactions().is_empty());
        Ok(())
    }

    /// After a crash: these are there.
    pub fn set_prepared(&mut self, prepared: BTreeMap<String, Prepared>) {
        for prepared in prepared.values() {
            let last = prepared.created.keys().next_back().map_or(0, |number| number + 1);
            self.next_table = self.next_table.max(last);
        }
        self.prepared = prepared;
        let known = self.engine.prepared_transactions().into_iter().map(|known| known.gid);
        assert!(known.eq(self.prepared.keys().cloned()), "other transactions are prepared");
    }

    /// Ends those that have dropped or emptied a table: in a server the others could not use it.
    pub fn end_prepared_drops(&mut self) -> Result<()> {
        for gid in self.prepared.keys().cloned().collect::<Vec<_>>() {
            let prepared = &self.prepared[&gid];
            let drops = prepared.changes.tables.values().any(|exists| !exists);
            let truncates = prepared.created.keys().any(|number| self.tables.contains_key(number));
            if drops || truncates {
                let commit = self.random.chance(1, 2);
                self.end_prepared(&gid, commit)?;
            }
        }
        self.acknowledge()?;
        self.commits.clear();
        self.acknowledged = 0;
        Ok(())
    }

    /// Nothing that a prepared transaction has locked or changed can be had.
    pub fn check_prepared(&self) -> Result<()> {
        let handle = self.engine.new_session(DatabaseId::POSTGRES);
        let mut txn = Txn::begin(&handle, IsolationLevel::ReadCommitted, false);
        txn.start_statement()?;
        for (gid, prepared) in &self.prepared {
            if let Some(oid) = prepared.relation {
                let granted = txn.try_lock_relation(oid, RelationLockMode::RowExclusive)?;
                assert!(!granted, "{gid} has the relation");
            }
            let whole = |number: &u32| {
                !prepared.created.contains_key(number)
                    && !prepared.changes.tables.contains_key(number)
            };
            let changed = prepared.changes.rows.keys();
            for &(number, id) in changed.chain(&prepared.rows).filter(|(number, _)| whole(number)) {
                let committed = self.committed.get(&number);
                if !committed.is_some_and(|rows| rows.contains_key(&id)) {
                    continue;
                }
                let (mode, policy) = (RowLockMode::Update, WaitPolicy::DontWait);
                let rows = &self.tables[&number].rows;
                let outcome = rows.lock_row(&mut txn, RowId(id), mode, policy)?;
                assert!(
                    matches!(outcome, LockOutcome::WouldBlock),
                    "{gid} has row {id} of {number}"
                );
            }
        }
        txn.rollback()
    }

    /// The trees of tables that only a prepared transaction knows.
    pub(super) fn prepared_trees(&self) -> Result<Vec<TreeId>> {
        let mut trees = Vec::new();
        for files in self.prepared.values().flat_map(|prepared| prepared.created.values()) {
            for file in files {
                trees.extend(self.engine.tree_of(*file)?);
            }
        }
        Ok(trees)
    }
}
