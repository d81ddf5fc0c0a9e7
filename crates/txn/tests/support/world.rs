//! Sessions that do random things to random tables.

mod leaves;
mod nested;
mod prepared;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use steppe_txn::*;
use steppe_types::Result;
use steppe_vfs::SeededRandom;

use super::model::{Changes, Prepared, Row, State, is_unlogged};

/// The stores of one table.
#[derive(Clone)]
pub struct Table {
    rows: TableStore,
    unique: IndexStore,
    plain: IndexStore,
    big: OverflowStore,
}

/// A statement on a table; false if it comes to nothing.
type StatementOf<'a> =
    fn(&mut World<'a>, usize, &mut Txn, u32, &Table, &mut Changes) -> Result<bool>;

const CATALOG: FileId = FileId { database: DatabaseId::POSTGRES, number: RelFileNumber(1) };
const TABLES_MAX: usize = 3;

impl Table {
    fn create(txn: &mut Txn, number: u32) -> Result<Table> {
        let persistence = match is_unlogged(number) {
            true => Persistence::Unlogged,
            false => Persistence::Logged,
        };
        Ok(Table {
            rows: TableStore::create(txn, persistence)?,
            unique: IndexStore::create(txn, true, persistence)?,
            plain: IndexStore::create(txn, false, persistence)?,
            big: OverflowStore::create(txn, persistence)?,
        })
    }

    fn files(&self) -> [FileId; 4] {
        [self.rows.file(), self.unique.file(), self.plain.file(), self.big.file()]
    }

    /// The trees of those files that have one.
    pub fn trees(&self, engine: &Engine) -> Result<Vec<TreeId>> {
        let trees = self.files().map(|file| engine.tree_of(file));
        trees.into_iter().filter_map(Result::transpose).collect()
    }

    fn open(engine: &Engine, files: &[u8]) -> Table {
        let files: Vec<FileId> = files
            .chunks_exact(8)
            .map(|bytes| RelFileNumber(u64::from_le_bytes(bytes.try_into().expect("8 bytes"))))
            .map(|number| FileId { number, ..CATALOG })
            .collect();
        Table {
            rows: TableStore::open(engine, files[0]),
            unique: IndexStore::open(engine, files[1], true),
            plain: IndexStore::open(engine, files[2], false),
            big: OverflowStore::open(engine, files[3]),
        }
    }

    /// All rows that a view sees, with every index checked against them.
    pub fn check(&self, view: &View) -> Result<BTreeMap<u64, Row>> {
        let mut rows = BTreeMap::new();
        let mut big = Vec::new();
        let mut cursor = self.rows.scan_all(view.clone())?;
        while let Some((id, bytes)) = cursor.next()? {
            let (row, reference) = Row::decode(bytes);
            if let Some((value, chunks)) = reference {
                self.big.get(OverflowRef { id: value, chunks }, &mut big)?;
                assert_eq!(big, row.big_value(), "out-of-line value of row {id:?}");
            }
            assert!(rows.insert(id.0, row).is_none(), "row {id:?} seen twice");
        }
        self.check_index(view, &self.unique, &rows, Row::unique_key)?;
        self.check_index(view, &self.plain, &rows, Row::group_key)?;
        self.check_lookups(view, &rows)?;
        Ok(rows)
    }

    /// VACUUM.
    pub fn sweep(&self, engine: &Engine) -> Result<bool> {
        let check = &mut || Ok(());
        engine.sweep_index(&self.unique, check)?;
        engine.sweep_index(&self.plain, check)?;
        engine.sweep_rows(&self.rows, check)?;
        let references = &mut |row: &[u8], out: &mut Vec<OverflowRef>| {
            let (_, reference) = Row::decode(row);
            out.extend(reference.map(|(id, chunks)| OverflowRef { id, chunks }));
            Ok(())
        };
        Ok(engine.sweep_values(&self.rows, &self.big, references, check)?.is_some())
    }

    /// The entries of the four trees, garbage included.
    fn entry_counts(&self, engine: &Engine) -> Result<[u64; 4]> {
        let mut counts = [0; 4];
        for (count, file) in counts.iter_mut().zip(self.files()) {
            let Some(tree) = engine.tree_of(file)? else { continue };
            let tree = engine.store().tree(tree);
            let mut cursor = tree.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
            while cursor.next_page()? {
                *count += cursor.remaining() as u64;
            }
        }
        Ok(counts)
    }

    fn check_index(
        &self,
        view: &View,
        index: &IndexStore,
        rows: &BTreeMap<u64, Row>,
        key_of: fn(&Row) -> Vec<u8>,
    ) -> Result<()> {
        let mut expected: Vec<(Vec<u8>, u64)> =
            rows.iter().map(|(&id, row)| (key_of(row), id)).collect();
        expected.sort();
        for direction in [Direction::Forward, Direction::Backward] {
            let mut found = Vec::new();
            let mut cursor =
                index.scan(view.clone(), Bound::Unbounded, Bound::Unbounded, direction)?;
            while let Some((key, id, visibility)) = cursor.next()? {
                let row = rows.get(&id.0).filter(|row| key_of(row) == key);
                match visibility {
                    Visibility::Definitive => assert!(row.is_some(), "stale posting of {id:?}"),
                    Visibility::AskRow if row.is_none() => continue,
                    Visibility::AskRow => {}
                }
                found.push((key.to_vec(), id.0));
            }
            found.sort();
            assert_eq!(found, expected, "index and table differ");
        }
        Ok(())
    }

    fn check_lookups(&self, view: &View, rows: &BTreeMap<u64, Row>) -> Result<()> {
        let (mut postings, mut buffer) = (Vec::new(), RowBuf::new());
        for row in rows.values().filter(|row| !row.null) {
            let key = row.unique_key();
            // More than one, if REPEATABLE READ has inserted a key again that
            // another session has deleted since its snapshot.
            let expected = rows.iter().filter(|(_, other)| other.unique_key() == key);
            let expected: BTreeSet<u64> = expected.map(|(&id, _)| id).collect();
            let mut candidates = self.unique.lookup_unique(view, &key, &mut postings)?;
            let mut hits = BTreeSet::new();
            while let Some((candidate, _)) = candidates.try_next()? {
                let found = self.rows.get(view, candidate, &mut buffer)?;
                if found.is_some() && Row::decode(buffer.row()).0.unique_key() == key {
                    hits.insert(candidate.0);
                }
            }
            assert_eq!(hits, expected, "look-up of key {key:?}");
        }
        Ok(())
    }
}

fn catalog_row(number: u32, table: &Table) -> Vec<u8> {
    let mut row = number.to_le_bytes().to_vec();
    table.files().iter().for_each(|file| row.extend_from_slice(&{ file.number }.0.to_le_bytes()));
    row
}

/// A session, and what its transaction must see.
struct Client {
    handle: SessionHandle,
    txn: Option<Txn>,
    isolation: IsolationLevel,
    /// REPEATABLE READ: what its snapshot sees.
    base: Option<State>,
    /// How many of the commits it sees.
    base_commits: usize,
    changes: Changes,
    created: BTreeMap<u32, Table>,
    /// Positions, with what the transaction had changed and created there.
    savepoints: Vec<(UndoPosition, Changes, BTreeMap<u32, Table>)>,
}

/// How a world behaves.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub sessions: usize,
    pub keys: u64,
    /// Of 100 steps, how many check what a session sees.
    pub checks: u64,
    pub tables_change: bool,
}

/// The database, its sessions, and the model.
pub struct World<'a> {
    pub engine: Arc<Engine>,
    random: &'a SeededRandom,
    config: Config,
    clients: Vec<Client>,
    tables: BTreeMap<u32, Table>,
    catalog: TableStore,
    catalog_rows: BTreeMap<u32, RowId>,
    pub committed: State,
    /// The prepared transactions, by their identifiers.
    pub prepared: BTreeMap<String, Prepared>,
    /// Commits since the world was opened, in order, with their positions.
    pub commits: Vec<(Lsn, Changes)>,
    /// A commit that the power cut interrupted.
    pub in_doubt: Option<Changes>,
    /// How many of `commits` were acknowledged.
    pub acknowledged: usize,
    stamp: u32,
    next_table: u32,
}

impl<'a> World<'a> {
    /// Opens the world in a database; what it holds is the committed state.
    pub fn open(
        engine: Arc<Engine>,
        random: &'a SeededRandom,
        config: Config,
    ) -> Result<World<'a>> {
        let handle = engine.new_session(DatabaseId::POSTGRES);
        let catalog = TableStore::open(&engine, CATALOG);
        let mut world = World {
            random,
            config,
            clients: Vec::new(),
            tables: BTreeMap::new(),
            catalog,
            catalog_rows: BTreeMap::new(),
            committed: State::new(),
            prepared: BTreeMap::new(),
            commits: Vec::new(),
            in_doubt: None,
            acknowledged: 0,
            stamp: 1 + (random.below(1 << 30) as u32),
            next_table: 0,
            engine,
        };
        world.load(&handle)?;
        for _ in 0..config.sessions {
            world.clients.push(Client {
                handle: world.engine.new_session(DatabaseId::POSTGRES),
                txn: None,
                isolation: IsolationLevel::ReadCommitted,
                base: None,
                base_commits: 0,
                changes: Changes::default(),
                created: BTreeMap::new(),
                savepoints: Vec::new(),
            });
        }
        Ok(world)
    }

    fn load(&mut self, handle: &SessionHandle) -> Result<()> {
        self.read_tables()?;
        let mut txn = Txn::begin(handle, IsolationLevel::ReadCommitted, false);
        txn.start_statement()?;
        let view = txn.view();
        for (&number, table) in &self.tables {
            self.committed.insert(number, table.check(&view)?);
        }
        txn.rollback()
    }

    /// Reads which tables there are.
    fn read_tables(&mut self) -> Result<()> {
        let handle = self.engine.new_session(DatabaseId::POSTGRES);
        let mut txn = Txn::begin(&handle, IsolationLevel::ReadCommitted, false);
        txn.start_statement()?;
        let mut cursor = self.catalog.scan_all(txn.view())?;
        self.tables.clear();
        while let Some((id, bytes)) = cursor.next()? {
            let number = u32::from_le_bytes(bytes[..4].try_into().expect("4 bytes"));
            self.tables.insert(number, Table::open(&self.engine, &bytes[4..]));
            self.catalog_rows.insert(number, id);
            self.next_table = self.next_table.max(number + 1);
        }
        drop(cursor);
        txn.rollback()
    }

    /// Structure and space: every tree is sound, and no page is lost or shared.
    pub fn check_structure(&self) -> Result<()> {
        let mut trees = vec![self.engine.system_tree_id()];
        trees.extend(self.engine.tree_of(CATALOG)?);
        for table in self.tables.values() {
            trees.extend(table.trees(&self.engine)?);
        }
        trees.extend(self.prepared_trees()?);
        for &tree in &trees {
            self.engine.store().tree(tree).check()?;
        }
        self.engine.store().check_space(&trees)?;
        Ok(())
    }

    /// Sweeps a quiet database: nothing may be left but what its rows need.
    pub fn check_sweep(&self) -> Result<()> {
        for (number, table) in &self.tables {
            assert!(table.sweep(&self.engine)?, "nobody is at work");
            let (mut rows, mut chunks) = (0, 0);
            let handle = self.engine.new_session(DatabaseId::POSTGRES);
            let mut txn = Txn::begin(&handle, IsolationLevel::ReadCommitted, true);
            txn.start_statement()?;
            let mut cursor = table.rows.scan_all(txn.view())?;
            while let Some((_, bytes)) = cursor.next()? {
                rows += 1;
                chunks += Row::decode(bytes).1.map_or(0, |(_, chunks)| u64::from(chunks));
            }
            txn.rollback()?;
            let counts = table.entry_counts(&self.engine)?;
            assert_eq!(counts, [rows, rows, rows, chunks], "garbage in table {number}");
        }
        Ok(())
    }

    /// Every open transaction is rolled back, and nothing of them is left.
    pub fn finish(&mut self) -> Result<()> {
        for at in 0..self.clients.len() {
            if let Some(txn) = self.clients[at].txn.take() {
                txn.rollback()?;
            }
        }
        self.finish_prepared()?;
        assert_eq!(self.engine.locks().entry_count(), 0, "locks left behind");
        Ok(())
    }

    /// One random step of a random session.
    pub fn step(&mut self) -> Result<()> {
        let who = self.random.below(self.clients.len() as u64) as usize;
        if self.random.chance(1, 12) {
            return self.maintain();
        }
        if self.clients[who].txn.is_none() {
            return self.begin(who);
        }
        let check = self.config.checks;
        match self.random.below(100) {
            n if n < check => self.check_client(who),
            _ => match self.random.below(100) {
                0..30 => self.statement(who, Self::insert),
                30..36 => self.statement(who, Self::insert_many),
                36..60 => self.statement(who, Self::update),
                60..66 => self.statement(who, Self::delete),
                66..70 => self.statement(who, Self::move_row),
                70..72 => self.lock_some_row(who),
                72..74 => self.statement(who, Self::nested),
                74..80 => self.savepoint(who),
                80..84 => self.rollback_to(who),
                84..93 => self.commit(who),
                93..95 => self.prepare_or_commit(who),
                95..97 => self.roll_back(who),
                _ => self.change_tables(who),
            },
        }
    }

    fn maintain(&mut self) -> Result<()> {
        match self.random.below(12) {
            10 => self.end_some_prepared(),
            11 => self.check_prepared(),
            0..2 => self.engine.checkpoint().map(drop),
            2..4 => self.engine.purge().map(drop),
            4 => self.engine.purge_all().map(drop),
            5 => {
                let nth = self.random.below(self.tables.len().max(1) as u64) as usize;
                let Some(table) = self.tables.values().nth(nth) else { return Ok(()) };
                table.sweep(&self.engine).map(drop)
            }
            _ => self.acknowledge(),
        }
    }

    /// Waits for the last commit to be durable.
    pub fn acknowledge(&mut self) -> Result<()> {
        if let Some((lsn, _)) = self.commits.last() {
            self.engine.wait_durable(*lsn)?;
            self.acknowledged = self.commits.len();
        }
        Ok(())
    }

    fn begin(&mut self, who: usize) -> Result<()> {
        let isolation = match self.random.below(3) {
            0 => IsolationLevel::RepeatableRead,
            _ => IsolationLevel::ReadCommitted,
        };
        let client = &mut self.clients[who];
        let mut txn = Txn::begin(&client.handle, isolation, false);
        txn.start_statement()?;
        let repeatable = isolation == IsolationLevel::RepeatableRead;
        client.base = repeatable.then(|| self.committed.clone());
        client.base_commits = self.commits.len();
        client.isolation = isolation;
        client.changes = Changes::default();
        client.savepoints.clear();
        client.created.clear();
        client.txn = Some(txn);
        Ok(())
    }

    /// What the session's next statement sees.
    fn state_of(&self, who: usize) -> State {
        let client = &self.clients[who];
        let mut state = client.base.clone().unwrap_or_else(|| self.committed.clone());
        client.changes.apply(&mut state);
        state
    }

    fn table(&self, who: usize, number: u32) -> Table {
        self.clients[who].created.get(&number).or(self.tables.get(&number)).expect("known").clone()
    }

    fn check_client(&mut self, who: usize) -> Result<()> {
        let state = self.state_of(who);
        let mut txn = self.clients[who].txn.take().expect("begun");
        txn.start_statement()?;
        let view = txn.view();
        for (&number, rows) in &state {
            let seen = self.table(who, number).check(&view)?;
            assert_eq!(&seen, rows, "table {number} as session {who} sees it");
        }
        txn.end_statement();
        self.clients[who].txn = Some(txn);
        Ok(())
    }

    /// Runs a statement on some table.
    fn statement(&mut self, who: usize, f: StatementOf<'a>) -> Result<()> {
        let state = self.state_of(who);
        let numbers: Vec<u32> = state.keys().copied().collect();
        let Some(&number) = numbers.get(self.random.below(numbers.len().max(1) as u64) as usize)
        else {
            return self.change_tables(who);
        };
        self.statement_on(who, number, f)
    }

    /// Runs a statement; one that comes to nothing is undone as a whole.
    fn statement_on(&mut self, who: usize, number: u32, f: StatementOf<'a>) -> Result<()> {
        let table = self.table(who, number);
        let mut txn = self.clients[who].txn.take().expect("begun");
        let mut changes = self.clients[who].changes.clone();
        txn.start_statement()?;
        let position = txn.undo_position();
        let done = f(self, who, &mut txn, number, &table, &mut changes)?;
        if done {
            self.clients[who].changes = changes;
        } else {
            txn.rollback_to_position(position)?;
        }
        txn.end_statement();
        self.clients[who].txn = Some(txn);
        Ok(())
    }

    fn random_row(&mut self) -> Row {
        self.stamp += 1;
        let big = self.random.chance(1, 12);
        let len = match (big, self.random.below(10)) {
            (true, _) => 500 + self.random.below(20_000),
            (_, 0) => self.random.below(2000),
            _ => self.random.below(120),
        };
        Row {
            key: self.random.below(self.config.keys) as u32,
            null: self.random.chance(1, 10),
            group: self.random.below(5) as u8,
            stamp: self.stamp,
            len: len as u32,
            big,
        }
    }

    fn encode(&self, txn: &mut Txn, table: &Table, row: &Row) -> Result<Vec<u8>> {
        if !row.big {
            return Ok(row.encode(None));
        }
        let reference = table.big.put(txn, &row.big_value())?;
        Ok(row.encode(Some((reference.id, reference.chunks))))
    }

    fn insert(
        &mut self,
        _who: usize,
        txn: &mut Txn,
        number: u32,
        table: &Table,
        changes: &mut Changes,
    ) -> Result<bool> {
        let row = self.random_row();
        let bytes = self.encode(txn, table, &row)?;
        let id = table.rows.insert(txn, &bytes)?;
        if !self.index(txn, table, &row, id)? {
            return Ok(false);
        }
        changes.rows.insert((number, id.0), Some(row));
        Ok(true)
    }

    fn index(&self, txn: &mut Txn, table: &Table, row: &Row, id: RowId) -> Result<bool> {
        let inserted = table.unique.insert(txn, &row.unique_key(), row.null, id)?;
        if !matches!(inserted, IndexInsert::Done) {
            return Ok(false);
        }
        let inserted = table.plain.insert(txn, &row.group_key(), false, id)?;
        assert!(matches!(inserted, IndexInsert::Done));
        Ok(true)
    }

    fn insert_many(
        &mut self,
        _who: usize,
        txn: &mut Txn,
        number: u32,
        table: &Table,
        changes: &mut Changes,
    ) -> Result<bool> {
        let count = 1 + self.random.below(150);
        let mut rows = Vec::new();
        for n in 0..count {
            let mut row = self.random_row();
            // Mostly keys of their own, else hardly any batch would succeed.
            row.key = 1_000_000 + self.stamp % 100_000 * 200 + n as u32;
            rows.push(row);
        }
        let mut encoded = NewRows::default();
        for row in &rows {
            encoded.push(&self.encode(txn, table, row)?);
        }
        let mut ids = Vec::new();
        table.rows.insert_batch(txn, &mut encoded, &mut ids)?;
        for (index, key_of) in [
            (&table.unique, Row::unique_key as fn(&Row) -> Vec<u8>),
            (&table.plain, Row::group_key),
        ] {
            let mut keys: Vec<(Vec<u8>, bool, RowId)> = rows
                .iter()
                .zip(&ids)
                .map(|(row, &id)| (key_of(row), row.null && index.is_unique(), id))
                .collect();
            keys.sort();
            let entries: Vec<IndexEntry<'_>> = keys
                .iter()
                .map(|(key, has_null, row)| IndexEntry { key, has_null: *has_null, row: *row })
                .collect();
            let batch = index.insert_batch(txn, &entries)?;
            if !matches!(batch.stopped, IndexInsert::Done) {
                return Ok(false);
            }
            assert_eq!(batch.consumed, entries.len());
        }
        for (row, id) in rows.into_iter().zip(ids) {
            changes.rows.insert((number, id.0), Some(row));
        }
        Ok(true)
    }

    fn some_row(&self, who: usize, number: u32) -> Option<(u64, Row)> {
        let state = self.state_of(who);
        let rows = state.get(&number)?;
        let nth = self.random.below(rows.len().max(1) as u64) as usize;
        rows.iter().nth(nth).map(|(&id, row)| (id, row.clone()))
    }

    fn update(
        &mut self,
        who: usize,
        txn: &mut Txn,
        number: u32,
        table: &Table,
        changes: &mut Changes,
    ) -> Result<bool> {
        let Some((id, old)) = self.some_row(who, number) else { return Ok(false) };
        let mut new = self.random_row();
        if self.random.chance(2, 3) {
            (new.key, new.null, new.group) = (old.key, old.null, old.group);
            if self.random.chance(1, 2) && !old.big && !new.big {
                new.len = old.len;
            }
        }
        if self.random.chance(1, 5) && !old.big {
            // The same bytes: no less a write than others.
            new = old.clone();
        }
        let bytes = self.encode(txn, table, &new)?;
        let mut old_bytes = Vec::new();
        let key_changed = new.key != old.key;
        let outcome = table.rows.modify(txn, RowId(id), &mut |current, out| {
            if !current.visible_to_snapshot {
                return Ok(Action::Keep);
            }
            old_bytes.clear();
            old_bytes.extend_from_slice(current.row);
            out.extend_from_slice(&bytes);
            Ok(Action::Replace { key_changed })
        })?;
        if !self.is_done(who, outcome) {
            return Ok(false);
        }
        self.check_unwritten(who, number, id);
        let (seen, reference) = Row::decode(&old_bytes);
        assert_eq!(seen, old, "the version that was replaced");
        self.free(txn, table, reference)?;
        let id = RowId(id);
        if old.unique_key() != new.unique_key() {
            table.unique.mark_deleted(txn, &old.unique_key(), old.null, id)?;
            let inserted = table.unique.insert(txn, &new.unique_key(), new.null, id)?;
            if !matches!(inserted, IndexInsert::Done) {
                return Ok(false);
            }
        }
        if old.group != new.group {
            table.plain.mark_deleted(txn, &old.group_key(), false, id)?;
            table.plain.insert(txn, &new.group_key(), false, id)?;
        }
        changes.rows.insert((number, id.0), Some(new));
        Ok(true)
    }

    /// A row that a REPEATABLE READ transaction may write, or lock, was written by no commit
    /// that its snapshot does not see.
    fn check_unwritten(&self, who: usize, number: u32, id: u64) {
        let client = &self.clients[who];
        if client.isolation == IsolationLevel::RepeatableRead {
            let later = &self.commits[client.base_commits..];
            let is_lost = later.iter().any(|(_, changes)| changes.rows.contains_key(&(number, id)));
            assert!(!is_lost, "session {who} does not notice who wrote row {id} of table {number}");
        }
    }

    /// What the model expects of an outcome: a row that the statement sees is
    /// there, unless another session has changed it since.
    fn is_done(&self, who: usize, outcome: ModifyOutcome) -> bool {
        let repeatable = self.clients[who].isolation == IsolationLevel::RepeatableRead;
        match outcome {
            ModifyOutcome::Done => true,
            ModifyOutcome::MustWait(_) => false,
            ModifyOutcome::UpdatedConcurrently { .. }
            | ModifyOutcome::DeletedConcurrently { .. }
            | ModifyOutcome::MovedConcurrently
                if repeatable =>
            {
                false
            }
            other => panic!("unexpected outcome {other:?}"),
        }
    }

    fn free(&self, txn: &mut Txn, table: &Table, reference: Option<(u64, u32)>) -> Result<()> {
        match reference {
            Some((id, chunks)) => table.big.free(txn, OverflowRef { id, chunks }),
            None => Ok(()),
        }
    }

    fn delete(
        &mut self,
        who: usize,
        txn: &mut Txn,
        number: u32,
        table: &Table,
        changes: &mut Changes,
    ) -> Result<bool> {
        let Some((id, old)) = self.some_row(who, number) else { return Ok(false) };
        let is_gone = self.take_out(who, txn, table, (id, &old), Action::Delete)?;
        if is_gone {
            self.check_unwritten(who, number, id);
            changes.rows.insert((number, id), None);
        }
        Ok(is_gone)
    }

    /// Takes a row out of its table, to delete it or to move it elsewhere; false if it has to
    /// stay.
    fn take_out(
        &mut self,
        who: usize,
        txn: &mut Txn,
        table: &Table,
        (id, row): (u64, &Row),
        action: Action,
    ) -> Result<bool> {
        let mut old_bytes = Vec::new();
        let outcome = table.rows.modify(txn, RowId(id), &mut |current, _| {
            old_bytes.clear();
            old_bytes.extend_from_slice(current.row);
            Ok(if current.visible_to_snapshot { action } else { Action::Keep })
        })?;
        if !self.is_done(who, outcome) {
            return Ok(false);
        }
        self.free(txn, table, Row::decode(&old_bytes).1)?;
        table.unique.mark_deleted(txn, &row.unique_key(), row.null, RowId(id))?;
        table.plain.mark_deleted(txn, &row.group_key(), false, RowId(id))?;
        Ok(true)
    }

    fn lock_some_row(&mut self, who: usize) -> Result<()> {
        let numbers: Vec<u32> = self.state_of(who).keys().copied().collect();
        let Some(&number) = numbers.first() else { return Ok(()) };
        let Some((id, _)) = self.some_row(who, number) else { return Ok(()) };
        let modes = [
            RowLockMode::KeyShare,
            RowLockMode::Share,
            RowLockMode::NoKeyUpdate,
            RowLockMode::Update,
        ];
        let mode = modes[self.random.below(4) as usize];
        let table = self.table(who, number);
        let mut txn = self.clients[who].txn.take().expect("begun");
        txn.start_statement()?;
        let outcome = table.rows.lock_row(&mut txn, RowId(id), mode, WaitPolicy::DontWait)?;
        match outcome {
            LockOutcome::Locked if mode > RowLockMode::KeyShare => {
                self.check_unwritten(who, number, id);
            }
            LockOutcome::Locked | LockOutcome::WouldBlock => {}
            LockOutcome::UpdatedConcurrently { .. }
            | LockOutcome::DeletedConcurrently { .. }
            | LockOutcome::MovedConcurrently => {
                assert_eq!(self.clients[who].isolation, IsolationLevel::RepeatableRead);
            }
            other => panic!("unexpected outcome {other:?}"),
        }
        txn.end_statement();
        self.clients[who].txn = Some(txn);
        Ok(())
    }

    fn savepoint(&mut self, who: usize) -> Result<()> {
        let client = &mut self.clients[who];
        let position = client.txn.as_ref().expect("begun").undo_position();
        client.savepoints.push((position, client.changes.clone(), client.created.clone()));
        Ok(())
    }

    fn rollback_to(&mut self, who: usize) -> Result<()> {
        let client = &mut self.clients[who];
        if client.savepoints.is_empty() {
            return Ok(());
        }
        let at = self.random.below(client.savepoints.len() as u64) as usize;
        if self.random.chance(1, 4) {
            client.savepoints.truncate(at);
            return Ok(());
        }
        let (position, changes, created) = client.savepoints[at].clone();
        client.txn.as_mut().expect("begun").rollback_to_savepoint(position)?;
        client.savepoints.truncate(at + 1);
        (client.changes, client.created) = (changes, created);
        Ok(())
    }

    fn commit(&mut self, who: usize) -> Result<()> {
        let client = &mut self.clients[who];
        let txn = client.txn.take().expect("begun");
        let changes = std::mem::take(&mut client.changes);
        let created = std::mem::take(&mut client.created);
        self.in_doubt = Some(changes.clone());
        let wait = txn.commit()?;
        self.in_doubt = None;
        if wait.wrote || !changes.is_empty() {
            changes.apply(&mut self.committed);
            for (&number, &exists) in &changes.tables {
                if !exists {
                    self.tables.remove(&number);
                    self.catalog_rows.remove(&number);
                }
            }
            self.tables.extend(created);
            // One that has only written to unlogged tables need not be durable, but those before it.
            let before = self.commits.last().map_or(Lsn(0), |(lsn, _)| *lsn);
            self.commits.push((wait.lsn.max(before), changes));
        }
        if self.random.chance(1, 3) {
            self.acknowledge()?;
        }
        Ok(())
    }

    fn roll_back(&mut self, who: usize) -> Result<()> {
        self.clients[who].txn.take().expect("begun").rollback()
    }

    /// PREPARE TRANSACTION, if one more is allowed.
    fn prepare_or_commit(&mut self, who: usize) -> Result<()> {
        let max = 4;
        if self.prepared.len() == max { self.commit(who) } else { self.prepare(who).map(drop) }
    }

    /// Ends a transaction that nobody else may see the middle of.
    fn end_at_once(&mut self, who: usize) -> Result<()> {
        if self.random.chance(1, 3) {
            let gid = self.prepare(who)?;
            let commit = self.random.chance(2, 3);
            return self.end_prepared(&gid, commit);
        }
        if self.random.chance(1, 4) { self.roll_back(who) } else { self.commit(who) }
    }

    /// Creates a table, or drops or truncates one if nobody else is at work. (In a server
    /// ACCESS EXCLUSIVE sees to that.)
    fn change_tables(&mut self, who: usize) -> Result<()> {
        let others = self.clients.iter().enumerate();
        let alone = others.filter(|(at, client)| *at != who && client.txn.is_some()).count() == 0
            && self.prepared.is_empty();
        let existing = self.tables.len()
            + self.prepared.values().map(|prepared| prepared.created.len()).sum::<usize>()
            + self.clients.iter().map(|client| client.created.len()).sum::<usize>();
        if existing < TABLES_MAX && (existing == 0 || self.config.tables_change) {
            return self.create_table(who);
        }
        let known: Vec<u32> = self.state_of(who).keys().copied().collect();
        let own = |number: &u32| self.tables.contains_key(number);
        let droppable: Vec<u32> = known.into_iter().filter(own).collect();
        if alone && self.config.tables_change && !droppable.is_empty() {
            let number = droppable[self.random.below(droppable.len() as u64) as usize];
            return match self.random.chance(1, 2) {
                true => self.drop_table(who, number),
                false => self.truncate_table(who, number),
            };
        }
        Ok(())
    }

    fn create_table(&mut self, who: usize) -> Result<()> {
        let number = self.next_table;
        self.next_table += 1;
        let client = &mut self.clients[who];
        let txn = client.txn.as_mut().expect("begun");
        txn.start_statement()?;
        let table = Table::create(txn, number)?;
        let id = self.catalog.insert(txn, &catalog_row(number, &table))?;
        self.catalog_rows.insert(number, id);
        client.changes.tables.insert(number, true);
        client.created.insert(number, table);
        Ok(())
    }

    fn drop_table(&mut self, who: usize, number: u32) -> Result<()> {
        let table = self.tables[&number].clone();
        let client = &mut self.clients[who];
        let txn = client.txn.as_mut().expect("begun");
        txn.start_statement()?;
        let before = txn.undo_position();
        let id = self.catalog_rows[&number];
        let outcome = self.catalog.modify(txn, id, &mut |_, _| Ok(Action::Delete))?;
        assert!(matches!(outcome, ModifyOutcome::Done), "{outcome:?}");
        txn.drop_files_at_commit(&table.files());
        if self.random.chance(1, 6) {
            return txn.rollback_to_position(before);
        }
        client.changes.tables.insert(number, false);
        // At once: in a server the lock would keep the others off the table.
        self.end_at_once(who)
    }
}
