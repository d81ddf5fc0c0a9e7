//! Sessions that do random things to random tables, and the model of what comes of it.

use std::sync::Arc;

use steppe_catalog::Catalog;
use steppe_storage::Lsn;
use steppe_txn::IsolationLevel;
use steppe_types::{Result, SqlState};
use steppe_vfs::{CrashVfs, SeededRandom};

use crate::check::{self, first_difference};
use crate::detaching::Begun;
use crate::model::{Op, State};
use crate::session::{Instance, Session, WOULD_WAIT};
use crate::snapshot::{self, Snapshot};
use crate::statement::{Effect, Look, Statement};
use crate::{ddl, dml};

/// A committed version of the database: its tables, and the catalog in every detail.
#[derive(Clone)]
pub(crate) struct Version {
    pub(crate) state: State,
    pub(crate) catalog: Arc<Catalog>,
}

/// A savepoint, and what there was at it.
struct Savepoint {
    name: String,
    ops: usize,
    /// The catalog as the transaction saw it, and as others did.
    catalog: Arc<Catalog>,
    published: u64,
}

/// A session, and what its transaction has done.
pub(crate) struct Client {
    pub(crate) session: Session,
    pub(crate) ops: Vec<Op>,
    savepoints: Vec<Savepoint>,
    /// It is between the transactions of a DETACH CONCURRENTLY.
    pub(crate) begun: Option<Begun>,
    /// REPEATABLE READ, from the first statement on.
    snapshot: Option<Snapshot>,
}

/// How a world behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    pub(crate) sessions: usize,
    /// The percentage of DDL statements.
    pub(crate) ddl: u64,
    /// Memory of an index build before it spills.
    pub(crate) memory_bytes: usize,
}

/// The database, its sessions, and the model.
pub(crate) struct World<'a> {
    instance: Arc<Instance>,
    vfs: CrashVfs,
    pub(crate) random: &'a SeededRandom,
    config: Config,
    pub(crate) clients: Vec<Client>,
    pub(crate) committed: Version,
    /// Commits since the world was opened, in order, with their positions.
    pub(crate) commits: Vec<(Lsn, Version)>,
    /// A commit that the power cut interrupted.
    pub(crate) in_doubt: Option<Version>,
    /// How many of `commits` were acknowledged.
    pub(crate) acknowledged: usize,
    /// Tells what is done: one seed is replayed.
    tells: bool,
}

impl<'a> World<'a> {
    /// Opens the world in a database; what it holds is the committed version.
    pub(crate) fn open(
        vfs: &CrashVfs,
        instance: &Arc<Instance>,
        random: &'a SeededRandom,
        config: Config,
    ) -> Result<World<'a>> {
        let new_client = |_| Client {
            session: Session::new(instance, config.memory_bytes),
            ops: Vec::new(),
            savepoints: Vec::new(),
            begun: None,
            snapshot: None,
        };
        let mut clients: Vec<Client> = (0..config.sessions).map(new_client).collect();
        let reader = &mut clients[0].session;
        reader.begin();
        let state = check::read_state(reader)?;
        reader.rollback()?;
        Ok(World {
            instance: Arc::clone(instance),
            vfs: vfs.clone(),
            random,
            config,
            clients,
            committed: Version { state, catalog: instance.catalog.published() },
            commits: Vec::new(),
            in_doubt: None,
            acknowledged: 0,
            tells: std::env::var_os("STEPPE_SEED").is_some(),
        })
    }

    /// Checks a quiet database from end to end.
    pub(crate) fn check(&mut self) -> Result<()> {
        let session = &mut self.clients[0].session;
        session.begin();
        check::check_all(session, &self.committed.state)?;
        session.rollback()?;
        let locks = self.instance.engine.locks();
        assert_eq!(locks.entry_count(), 0, "locks left behind: {:#?}", locks.report());
        Ok(())
    }

    /// Ends every open transaction; what they did is gone.
    pub(crate) fn finish(&mut self) -> Result<()> {
        for who in 0..self.clients.len() {
            if self.is_open(who) {
                self.roll_back(who)?;
            }
        }
        let session = &mut self.clients[0].session;
        session.begin();
        let found = check::read_state(session)?;
        assert!(found == self.committed.state, "{}", differences(&found, &self.committed.state));
        session.rollback()
    }

    pub(crate) fn is_powered(&self) -> bool {
        self.vfs.is_powered()
    }

    pub(crate) fn is_open(&self, who: usize) -> bool {
        self.clients[who].session.txn.is_some()
    }

    /// The state that a session's next query sees.
    pub(crate) fn seen_by(&mut self, who: usize) -> State {
        let own = self.clients[who].session.catalog();
        let client = &self.clients[who];
        let Some(snapshot) = &client.snapshot else { return self.state_of(who) };
        let Version { state, catalog } = &self.committed;
        snapshot::seen(snapshot, (state, catalog), &client.ops, &own)
    }

    /// Keeps what a session's snapshot is of, when it has just been taken.
    pub(crate) fn keep_snapshot(&mut self, who: usize) {
        let client = &mut self.clients[who];
        let Some(catalog) = client.session.snapshot_catalog() else { return };
        client.snapshot.get_or_insert_with(|| Snapshot {
            state: self.committed.state.clone(),
            catalog: Arc::clone(catalog),
            commits: self.commits.len(),
        });
    }

    /// Whether others have committed since a session's snapshot was taken.
    pub(crate) fn is_stale(&self, who: usize) -> bool {
        let snapshot = self.clients[who].snapshot.as_ref();
        snapshot.is_some_and(|snapshot| snapshot.commits != self.commits.len())
    }

    /// The state that a session's next DDL sees: the newest.
    pub(crate) fn state_of(&self, who: usize) -> State {
        let mut state = self.committed.state.clone();
        self.clients[who].ops.iter().for_each(|op| op.apply(&mut state));
        state
    }

    /// One random step of a random session.
    pub(crate) fn step(&mut self) -> Result<()> {
        let who = self.random.below(self.clients.len() as u64) as usize;
        if self.clients[who].begun.is_some() {
            return self.go_on_detaching(who);
        }
        if self.random.chance(1, 12) {
            return self.maintain(who);
        }
        if !self.is_open(who) {
            if self.random.chance(1, 8) {
                return self.begin_detach(who);
            }
            let level = match self.random.chance(1, 4) {
                true => IsolationLevel::RepeatableRead,
                false => IsolationLevel::ReadCommitted,
            };
            self.tell(who, &format!("BEGIN {level:?}"));
            self.clients[who].session.begin_at(level);
        }
        match self.random.below(100) {
            0..5 => self.check_some_table(who),
            5..10 => self.savepoint(who),
            10..16 => self.rollback_to(who),
            16..30 => self.commit(who),
            30..33 => self.roll_back(who),
            33..36 => self.draw_values(who),
            36..38 => self.change_keys(who),
            38..42 => self.change_families(who),
            _ => self.statement(who),
        }
    }

    fn maintain(&mut self, who: usize) -> Result<()> {
        let engine = &self.instance.engine;
        match self.random.below(10) {
            0..2 => engine.checkpoint().map(drop),
            2..4 => engine.purge().map(drop),
            4 => engine.purge_all().map(drop),
            5 if !self.is_open(who) => {
                self.clients[who].session.begin();
                self.run_some(who, ddl::maintain)?;
                if self.is_open(who) { self.commit(who) } else { Ok(()) }
            }
            _ => self.acknowledge(),
        }
    }

    /// Waits for the last commit to be durable.
    pub(crate) fn acknowledge(&mut self) -> Result<()> {
        if let Some((lsn, _)) = self.commits.last() {
            self.instance.engine.wait_durable(*lsn)?;
            self.acknowledged = self.commits.len();
        }
        Ok(())
    }

    pub(crate) fn tell(&self, who: usize, what: &str) {
        if self.tells {
            println!("{who}: {}", what.get(..200).unwrap_or(what));
        }
    }

    // ----- statements -----

    fn statement(&mut self, who: usize) -> Result<()> {
        match self.random.below(100) < self.config.ddl {
            true => self.run_some(who, ddl::any),
            false => self.change_rows(who),
        }
    }

    /// Draws a statement and runs it, if one is drawn.
    fn run_some(
        &mut self,
        who: usize,
        draw: impl Fn(&Look<'_>) -> Option<Statement>,
    ) -> Result<()> {
        let (state, catalog) = (self.state_of(who), self.clients[who].session.catalog());
        let look = Look { random: self.random, state: &state, catalog: &catalog };
        match draw(&look) {
            Some(statement) => self.run(who, statement),
            None => Ok(()),
        }
    }

    /// Draws an INSERT, UPDATE or DELETE and runs it. Where others have committed since the
    /// snapshot, it may come to rows that they have changed, or to keys that it cannot see.
    fn change_rows(&mut self, who: usize) -> Result<()> {
        let (state, catalog) = (self.seen_by(who), self.clients[who].session.catalog());
        let look = Look { random: self.random, state: &state, catalog: &catalog };
        let Some(statement) = dml::any(&look) else { return Ok(()) };
        if !self.is_stale(who) {
            return self.run(who, statement);
        }
        // A key that is seen may be free by now, and a row be where it would not go any more.
        let is_strange = state.has_misplaced_rows() || state.has_strange_columns();
        if statement.outcome.is_err() || is_strange {
            return Ok(());
        }
        self.tell(who, &statement.sql);
        let done = self.clients[who].session.run(&statement.sql).map(|answer| Some(answer.count));
        let state = done.as_ref().err().map(|error| error.sqlstate());
        match state {
            Some(SqlState::SERIALIZATION_FAILURE | SqlState::UNIQUE_VIOLATION)
                if self.vfs.is_powered() =>
            {
                self.abort(who)
            }
            _ => self.settle(who, &statement.sql, done, statement.outcome),
        }
    }

    /// Runs a statement: it must come to what was foretold, unless it meets another session's lock.
    fn run(&mut self, who: usize, statement: Statement) -> Result<()> {
        self.tell(who, &statement.sql);
        let done = self.clients[who].session.run(&statement.sql);
        let count = done.map(|answer| Some(answer.count));
        self.keep_snapshot(who);
        self.settle(who, &statement.sql, count, statement.outcome)
    }

    /// Compares what a statement came to, the number of its command tag if it was asked for, with
    /// what was foretold.
    pub(crate) fn settle(
        &mut self,
        who: usize,
        sql: &str,
        done: Result<Option<u64>>,
        outcome: Result<Effect, SqlState>,
    ) -> Result<()> {
        match (done, outcome) {
            (Ok(count), Ok(effect)) => {
                if effect.count.is_some() {
                    assert_eq!(count, effect.count, "rows changed by {sql}");
                }
                self.clients[who].ops.extend(effect.ops);
                Ok(())
            }
            (Ok(_), Err(state)) => panic!("no error {state} from {sql}"),
            (Err(error), _) if !self.vfs.is_powered() => Err(error),
            (Err(error), _) if error.sqlstate() == WOULD_WAIT && self.has_others(who) => {
                self.abort(who)
            }
            (Err(error), Err(state)) if error.sqlstate() == state => self.abort(who),
            (Err(error), _) => panic!("{sql} failed by itself: {error}"),
        }
    }

    pub(crate) fn has_others(&self, who: usize) -> bool {
        (0..self.clients.len()).any(|other| other != who && self.is_open(other))
    }

    /// After an error: back to the innermost savepoint, or all of the transaction.
    pub(crate) fn abort(&mut self, who: usize) -> Result<()> {
        match self.clients[who].savepoints.len() {
            0 => self.roll_back(who),
            count => self.rollback_to_nth(who, count - 1),
        }
    }

    /// A session sees what others have committed and what it has done itself.
    fn check_some_table(&mut self, who: usize) -> Result<()> {
        let (state, catalog) = (self.seen_by(who), self.clients[who].session.catalog());
        if state.has_strange_columns() {
            return Ok(()); // Such a query is refused, unless the partition is pruned.
        }
        let look = Look { random: self.random, state: &state, catalog: &catalog };
        let Some(table) = look.some_table(|_| true) else { return Ok(()) };
        let all = || (String::new(), state.rows(&table));
        let (condition, expected) = match self.random.chance(1, 2) && !state.has_misplaced_rows() {
            true => dml::condition(&look, &table).unwrap_or_else(all),
            false => all(),
        };
        let added = &state.table(&table).added;
        let session = &mut self.clients[who].session;
        let found = check::read_rows(session, &table, added, &condition);
        self.keep_snapshot(who);
        let mut found = match found {
            Ok(found) => found,
            Err(error) if !self.vfs.is_powered() => return Err(error),
            Err(error) if error.sqlstate() == WOULD_WAIT && self.has_others(who) => {
                return self.abort(who);
            }
            Err(error) => panic!("reading {table} failed by itself: {error}"),
        };
        found.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        let mut expected: Vec<_> =
            expected.into_iter().map(|(leaf, key, row)| (leaf, key, row.clone())).collect();
        expected.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        assert_eq!(found, expected, "what a session sees of {table}{condition}");
        Ok(())
    }

    // ----- transactions -----

    pub(crate) fn savepoint(&mut self, who: usize) -> Result<()> {
        let name = format!("s{}", self.random.below(3));
        self.tell(who, &format!("SAVEPOINT {name}"));
        let client = &mut self.clients[who];
        client.session.savepoint(&name);
        let catalog = client.session.catalog();
        let published = self.instance.catalog.published_epoch();
        client.savepoints.push(Savepoint { name, ops: client.ops.len(), catalog, published });
        Ok(())
    }

    pub(crate) fn rollback_to(&mut self, who: usize) -> Result<()> {
        let client = &mut self.clients[who];
        let count = client.savepoints.len();
        if count == 0 {
            return Ok(());
        }
        let drawn = self.random.below(count as u64) as usize;
        // The last of this name is the one that is meant.
        let is_meant = |s: &Savepoint| s.name == client.savepoints[drawn].name;
        let at = client.savepoints.iter().rposition(is_meant).expect("exists");
        if self.random.chance(1, 4) {
            let name = client.savepoints[at].name.clone();
            self.tell(who, &format!("RELEASE {name}"));
            let client = &mut self.clients[who];
            client.session.release(&name)?;
            client.savepoints.truncate(at);
            return Ok(());
        }
        self.rollback_to_nth(who, at)
    }

    fn rollback_to_nth(&mut self, who: usize, at: usize) -> Result<()> {
        self.tell(who, &format!("ROLLBACK TO {}", self.clients[who].savepoints[at].name));
        let client = &mut self.clients[who];
        client.savepoints.truncate(at + 1);
        let savepoint = &client.savepoints[at];
        client.session.rollback_to(&savepoint.name)?;
        client.ops.truncate(savepoint.ops);
        // Others may have added theirs.
        if savepoint.published == self.instance.catalog.published_epoch() {
            let catalog = client.session.catalog();
            let difference = first_difference(&savepoint.catalog, &catalog);
            assert!(difference.is_none(), "after ROLLBACK TO: {difference:#?}");
        }
        Ok(())
    }

    pub(crate) fn commit(&mut self, who: usize) -> Result<()> {
        if !self.check_deferred(who)? {
            return Ok(());
        }
        self.tell(who, "COMMIT");
        let state = self.state_of(who);
        let client = &mut self.clients[who];
        client.snapshot = None;
        client.ops.clear();
        client.savepoints.clear();
        self.in_doubt = Some(Version { state: state.clone(), catalog: client.session.catalog() });
        let wait = client.session.commit()?;
        self.in_doubt = None;
        if wait.wrote {
            self.committed = Version { state, catalog: self.instance.catalog.published() };
            self.commits.push((wait.lsn, self.committed.clone()));
        }
        if self.random.chance(1, 3) {
            self.acknowledge()?;
        }
        Ok(())
    }

    pub(crate) fn roll_back(&mut self, who: usize) -> Result<()> {
        self.tell(who, "ROLLBACK");
        let client = &mut self.clients[who];
        client.snapshot = None;
        client.ops.clear();
        client.savepoints.clear();
        client.session.rollback()
    }
}

/// The differences between two states.
pub(crate) fn differences(found: &State, expected: &State) -> String {
    let (found, expected) = (found.lines(), expected.lines());
    let side = |of: &std::collections::BTreeSet<String>, other| -> String {
        of.difference(other).map(|line| format!("  {line}\n")).collect()
    };
    format!("found:\n{}expected:\n{}", side(&found, &expected), side(&expected, &found))
}
