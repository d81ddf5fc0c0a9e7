//! Tables with DEFERRABLE keys. A commit never leaves two rows with one key, even if the
//! transaction had such rows before, and even if it rolled back to savepoints in between.
//!
//! `id` identifies a row, and `k` is the DEFERRABLE key. A transaction swaps keys, shifts them, and
//! gives one key to two rows while the constraint is deferred. Some transactions mend that before
//! COMMIT. The commit of the others fails, and a power cut may leave none of their changes.
//!
//! The model derives from the transaction's statements which keys are deferred
//! ([`Op::Constraints`]). The database knows it from its own transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use steppe_catalog::{Catalog, ConstraintKind, PUBLIC, Relation};
use steppe_types::{Datum, Result, SqlState};

use crate::check::int;
use crate::families::have_orphans;
use crate::model::{Op, State};
use crate::session::{Session, WOULD_WAIT};
use crate::statement::{Effect, Look, Statement};
use crate::world::World;

/// Keys by the rows' ids.
type Rows = BTreeMap<i32, Option<i32>>;

/// Few, so that sessions meet.
const NAMES: u64 = 3;
const IDS: i32 = 40;
const KEYS: i32 = 24;
/// Statements about one table, one after the other.
const STATEMENTS_MAX: u64 = 7;
/// The most statements that mend a transaction before COMMIT.
const MENDS_MAX: usize = 8;

/// A table with a DEFERRABLE key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keyed {
    /// The key is the PRIMARY KEY, or UNIQUE and may be null.
    primary: bool,
    /// INITIALLY DEFERRED.
    deferred: bool,
    /// The keys by id.
    rows: Rows,
}

/// A change of one.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Create(Keyed),
    Drop,
    Truncate,
    Put(i32, Option<i32>),
    Remove(i32),
}

impl Change {
    pub(crate) fn apply(&self, name: &str, all: &mut BTreeMap<String, Rc<Keyed>>) {
        let mut change = |f: &dyn Fn(&mut Rows)| {
            let table = all.get_mut(name);
            f(&mut Rc::make_mut(table.unwrap_or_else(|| panic!("no table {name}"))).rows);
        };
        match self {
            Change::Create(new) => drop(all.insert(name.to_owned(), new.clone().into())),
            Change::Drop => drop(all.remove(name)),
            Change::Truncate => change(&BTreeMap::clear),
            Change::Put(id, k) => change(&|rows| _ = rows.insert(*id, *k)),
            Change::Remove(id) => change(&|rows| _ = rows.remove(id)),
        }
    }
}

impl Keyed {
    /// The table as the session's next statement sees it.
    pub(crate) fn read(session: &mut Session, table: &Relation) -> Result<Keyed> {
        let catalog = session.catalog();
        let index = key_of(&catalog, &table.name).index.as_ref().expect("it is an index");
        let is_primary = |kind: &ConstraintKind| matches!(kind, ConstraintKind::Primary { .. });
        let primary = table.constraints.iter().any(|constraint| is_primary(&constraint.kind));
        let found = read_rows(session, &table.name, "")?;
        let rows: Rows = found.iter().copied().collect();
        assert_eq!(rows.len(), found.len(), "an id twice in {}", table.name);
        Ok(Keyed { primary, deferred: index.deferral.is_deferred(), rows })
    }

    /// The table at an older snapshot.
    pub(crate) fn as_of(&self, then: Option<&Keyed>) -> Keyed {
        Keyed { rows: then.map(|then| then.rows.clone()).unwrap_or_default(), ..self.clone() }
    }

    /// The rows whose key another row has, too, but for the first one of each key.
    fn twice(&self) -> Vec<i32> {
        let mut seen = BTreeSet::new();
        let keys = self.rows.iter().filter_map(|(id, k)| Some((*id, (*k)?)));
        keys.filter(|(_, k)| !seen.insert(*k)).map(|(id, _)| id).collect()
    }

    /// A line for the table and each row.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let Keyed { primary, deferred, rows } = self;
        let mut lines = vec![format!("table {name}: primary {primary}, deferred {deferred}")];
        lines.extend(rows.iter().map(|(id, k)| format!("row {name} {id}: {k:?}")));
        lines
    }
}

/// Whether a table is one of these.
pub(crate) fn is_keyed(table: &Relation) -> bool {
    table.name.starts_with('d')
}

/// The index of a table's DEFERRABLE key.
pub(crate) fn key_of<'c>(catalog: &'c Catalog, table: &str) -> &'c Relation {
    catalog.relation_named(PUBLIC, &format!("{table}_k")).expect("the key is there")
}

fn read_rows(
    session: &mut Session,
    table: &str,
    condition: &str,
) -> Result<Vec<(i32, Option<i32>)>> {
    let rows = session.query(&format!("SELECT id, k FROM {table}{condition}"), &[])?;
    let row = |row: &Vec<Datum>| (int(&row[0]).expect("id is not null"), int(&row[1]));
    let mut rows: Vec<_> = rows.iter().map(row).collect();
    rows.sort_unstable();
    Ok(rows)
}

/// Checks, while no transaction is open, that keys are unique and that each row is found by its
/// key.
pub(crate) fn check(session: &mut Session, state: &State, table: &Relation) -> Result<()> {
    let (name, keyed) = (&table.name, &state.keyed[&*table.name]);
    assert_eq!(keyed.twice(), Vec::<i32>::new(), "rows of {name} whose keys others have");
    let text = format!("SELECT id FROM {name} WHERE k = $1");
    let look_up = session.compile(&text, &[steppe_types::oid::INT4])?;
    for (id, k) in &keyed.rows {
        let Some(k) = *k else { continue };
        let found = session.run_compiled(&look_up, &[k])?.rows;
        assert_eq!(found, [[Datum::Int4(*id)]], "the row of {name} with k = {k}");
    }
    Ok(())
}

// ----- statements -----

fn literal(k: Option<i32>) -> String {
    k.map_or("NULL::int".to_owned(), |k| format!("({k})"))
}

/// The state from which statements about one table are drawn. The session sees `look.state`. The
/// keys that are taken are those of `now`, because uniqueness does not depend on a snapshot.
struct Draw<'a> {
    look: Look<'a>,
    now: &'a State,
    name: &'a str,
    is_deferred: bool,
}

impl Draw<'_> {
    fn seen(&self) -> &Rows {
        &self.look.state.keyed[self.name].rows
    }

    /// A statement that makes these changes: where its key is not deferred, it leaves no key twice.
    fn changes(&self, sql: String, changes: Vec<Change>) -> Statement {
        let mut after = self.now.keyed.clone();
        changes.iter().for_each(|change| change.apply(self.name, &mut after));
        if !self.is_deferred && !after[self.name].twice().is_empty() {
            return Statement::refused(sql, SqlState::UNIQUE_VIOLATION);
        }
        let count = Some(changes.len() as u64);
        let ops = changes.into_iter().map(|change| Op::Keyed(self.name.to_owned(), change));
        Statement::done(sql, Effect { ops: ops.collect(), count })
    }

    fn any(&self) -> Option<Statement> {
        match self.look.random.below(20) {
            0..6 => self.insert(),
            6..9 => Some(self.shift()),
            9..12 => self.swap(),
            12..16 => self.set(),
            16..18 => self.mend(),
            _ => self.delete(),
        }
    }

    /// Some key, or one that another row has.
    fn some_key(&self) -> Option<i32> {
        let taken: Vec<Option<i32>> = self.seen().values().copied().collect();
        let taken = self.look.some_of(&taken).filter(|_| self.look.random.chance(1, 2));
        let drawn = || Some(self.look.below(KEYS)).filter(|_| self.look.random.chance(9, 10));
        let k = taken.copied().unwrap_or_else(drawn);
        if self.now.keyed[self.name].primary { k.or(Some(self.look.below(KEYS))) } else { k }
    }

    fn free_key(&self) -> i32 {
        let taken = |k: &i32| self.now.keyed[self.name].rows.values().any(|own| *own == Some(*k));
        let first = self.look.below(KEYS);
        (first..).find(|k| !taken(k)).expect("some key is free")
    }

    fn insert(&self) -> Option<Statement> {
        let now = &self.now.keyed[self.name].rows;
        let (mut changes, mut written, mut ids) = (Vec::new(), Vec::new(), BTreeSet::new());
        for _ in 0..1 + self.look.below(4) {
            let id = self.look.below(IDS);
            // Where others have removed a row that is seen, its id would be seen twice.
            let is_free = !now.contains_key(&id) && !self.seen().contains_key(&id);
            if !is_free || !ids.insert(id) {
                continue;
            }
            let k = match self.is_deferred || self.look.random.chance(1, 4) {
                true => self.some_key(),
                false => Some(self.free_key()),
            };
            written.push(format!("({id}, {})", literal(k)));
            changes.push(Change::Put(id, k));
        }
        let sql = format!("INSERT INTO {} (id, k) VALUES {}", self.name, written.join(", "));
        (!written.is_empty()).then(|| self.changes(sql, changes))
    }

    /// Many keys by one: each takes the place of the next.
    fn shift(&self) -> Statement {
        let by = if self.look.random.chance(1, 2) { 1 } else { -1 };
        let from = self.look.random.chance(1, 2).then(|| self.look.below(KEYS));
        let condition = from.map(|from| format!(" WHERE k >= {from}")).unwrap_or_default();
        let rows = self.seen().iter().filter(|(_, k)| from.is_none() || **k >= from);
        let changes = rows.map(|(id, k)| Change::Put(*id, k.map(|k| k + by))).collect();
        self.changes(format!("UPDATE {} SET k = k + ({by}){condition}", self.name), changes)
    }

    fn swap(&self) -> Option<Statement> {
        let rows: Vec<(i32, Option<i32>)> = self.seen().iter().map(|(id, k)| (*id, *k)).collect();
        let ((a, k_of_a), (b, k_of_b)) = (*self.look.some_of(&rows)?, *self.look.some_of(&rows)?);
        let (to_a, to_b) = (literal(k_of_b), literal(k_of_a));
        let keys = format!("CASE id WHEN {a} THEN {to_a} ELSE {to_b} END");
        let sql = format!("UPDATE {} SET k = {keys} WHERE id IN ({a}, {b})", self.name);
        let changes = vec![Change::Put(a, k_of_b), Change::Put(b, k_of_a)];
        (a != b).then(|| self.changes(sql, changes))
    }

    fn put(&self, id: i32, k: Option<i32>) -> Statement {
        let sql = format!("UPDATE {} SET k = {} WHERE id = {id}", self.name, literal(k));
        self.changes(sql, vec![Change::Put(id, k)])
    }

    fn set(&self) -> Option<Statement> {
        let ids: Vec<i32> = self.seen().keys().copied().collect();
        Some(self.put(*self.look.some_of(&ids)?, self.some_key()))
    }

    /// Gives a row whose key another row has a key of its own, or removes it.
    fn mend(&self) -> Option<Statement> {
        let (now, seen) = (&self.now.keyed[self.name], self.seen());
        let mut twice = now.twice();
        twice.retain(|id| seen.get(id) == now.rows.get(id));
        let id = *self.look.some_of(&twice)?;
        if self.look.random.chance(1, 3) {
            let sql = format!("DELETE FROM {} WHERE id = {id}", self.name);
            return Some(self.changes(sql, vec![Change::Remove(id)]));
        }
        Some(self.put(id, Some(self.free_key())))
    }

    /// DELETE by key.
    fn delete(&self) -> Option<Statement> {
        let keys: Vec<i32> = self.seen().values().filter_map(|k| *k).collect();
        let k = *self.look.some_of(&keys)?;
        let rows = self.seen().iter().filter(|(_, own)| **own == Some(k));
        let changes = rows.map(|(id, _)| Change::Remove(*id)).collect();
        Some(self.changes(format!("DELETE FROM {} WHERE k = {k}", self.name), changes))
    }

    /// TRUNCATE, REINDEX or DROP.
    fn ddl(&self) -> Statement {
        let (name, done) = (self.name, |change| vec![Op::Keyed(self.name.to_owned(), change)]);
        let (sql, ops) = match self.look.random.below(6) {
            0..2 => ("TRUNCATE", done(Change::Truncate)),
            2..5 => ("REINDEX TABLE", Vec::new()),
            _ => ("DROP TABLE", done(Change::Drop)),
        };
        Statement::done(format!("{sql} {name}"), Effect::of(ops))
    }
}

fn create(look: &Look<'_>, name: &str) -> Statement {
    let (primary, deferred) = (look.random.chance(1, 3), look.random.chance(2, 3));
    let kind = if primary { "PRIMARY KEY" } else { "UNIQUE" };
    let mode = if deferred { "DEFERRED" } else { "IMMEDIATE" };
    let key = format!("CONSTRAINT {name}_k {kind} (k) DEFERRABLE INITIALLY {mode}");
    let sql = format!("CREATE TABLE {name} (id int NOT NULL UNIQUE, k int, {key})");
    let new = Keyed { primary, deferred, rows: BTreeMap::new() };
    Statement::done(sql, Effect::of(vec![Op::Keyed(name.to_owned(), Change::Create(new))]))
}

/// Whether a table's key is deferred in a transaction that has done this.
fn is_deferred(state: &State, name: &str, ops: &[Op]) -> bool {
    let (mut all, mut own) = (None, None);
    for op in ops {
        match op {
            Op::Constraints(None, deferred) => (all, own) = (Some(*deferred), None),
            Op::Constraints(Some(of), deferred) if of == name => own = Some(*deferred),
            Op::Keyed(of, Change::Create(_)) if of == name => own = None,
            _ => {}
        }
    }
    own.or(all).unwrap_or_else(|| state.keyed[name].deferred)
}

fn have_twice(state: &State) -> bool {
    state.keyed.values().any(|table| !table.twice().is_empty())
}

impl World<'_> {
    /// Some statements about one table of these, with savepoints among them.
    pub(crate) fn change_keys(&mut self, who: usize) -> Result<()> {
        let name = format!("d{}", self.random.below(NAMES));
        for _ in 0..1 + self.random.below(STATEMENTS_MAX) {
            match self.random.below(8) {
                0 => self.savepoint(who)?,
                1 => self.rollback_to(who)?,
                _ => self.change_keys_of(who, &name)?,
            }
            if !self.is_open(who) {
                break;
            }
        }
        Ok(())
    }

    fn change_keys_of(&mut self, who: usize, name: &str) -> Result<()> {
        let now = self.state_of(who);
        if !now.keyed.contains_key(name) {
            let catalog = self.clients[who].session.catalog();
            let look = Look { random: self.random, state: &now, catalog: &catalog };
            let statement = create(&look, name);
            return self.run_keyed(who, statement);
        }
        match self.random.below(12) {
            0 => self.check_keyed(who, name),
            1..3 => self.set_constraints(who, name),
            3 if self.random.chance(1, 3) => match self.has_pending(who, name) {
                true => Ok(()), // It would be refused.
                false => self.draw_keyed(who, name, |draw| Some(draw.ddl())),
            },
            _ => self.draw_keyed(who, name, |draw| draw.any()),
        }
    }

    fn has_pending(&mut self, who: usize, name: &str) -> bool {
        let session = &mut self.clients[who].session;
        let catalog = session.catalog();
        let table = catalog.relation_named(PUBLIC, name).expect("the table is there");
        session.tables_with_pending_keys().contains(&table.oid)
    }

    fn draw_keyed(
        &mut self,
        who: usize,
        name: &str,
        draw: impl Fn(&Draw<'_>) -> Option<Statement>,
    ) -> Result<()> {
        let (seen, now) = (self.seen_by(who), self.state_of(who));
        let catalog = self.clients[who].session.catalog();
        let is_deferred = is_deferred(&now, name, &self.clients[who].ops);
        let look = Look { random: self.random, state: &seen, catalog: &catalog };
        match draw(&Draw { look, now: &now, name, is_deferred }) {
            Some(statement) => self.run_keyed(who, statement),
            None => Ok(()),
        }
    }

    /// Runs a statement. Others may have changed its rows since the snapshot.
    fn run_keyed(&mut self, who: usize, statement: Statement) -> Result<()> {
        self.tell(who, &statement.sql);
        let is_stale = self.is_stale(who);
        let done = self.clients[who].session.run(&statement.sql);
        let done = done.map(|answer| Some(answer.count));
        self.keep_snapshot(who);
        let state = done.as_ref().err().map(|error| error.sqlstate());
        if is_stale && state == Some(SqlState::SERIALIZATION_FAILURE) && self.is_powered() {
            return self.abort(who);
        }
        self.settle(who, &statement.sql, done, statement.outcome)
    }

    /// SET CONSTRAINTS: what is not deferred any more is checked.
    fn set_constraints(&mut self, who: usize, name: &str) -> Result<()> {
        let deferred = self.random.chance(2, 3);
        let of = self.random.chance(1, 2).then(|| name.to_owned());
        let state = self.state_of(who);
        if have_orphans(&state) {
            return Ok(()); // Either of two errors would come.
        }
        let is_refused = !deferred
            && match &of {
                Some(name) => !state.keyed[name].twice().is_empty(),
                None => have_twice(&state),
            };
        let outcome = match is_refused {
            true => Err(SqlState::UNIQUE_VIOLATION),
            false => Ok(Effect::of(vec![Op::Constraints(of.clone(), deferred)])),
        };
        let mode = if deferred { "DEFERRED" } else { "IMMEDIATE" };
        let named = of.as_ref().map_or("ALL".to_owned(), |name| format!("{name}_k"));
        let sql = format!("SET CONSTRAINTS {named} {mode}");
        self.tell(who, &sql);
        let session = &mut self.clients[who].session;
        let done = session.set_constraints(of.as_deref(), deferred).map(|()| None);
        self.keep_snapshot(who);
        self.settle(who, &sql, done, outcome)
    }

    /// Checks that a session sees its keys, even a key that two rows have.
    fn check_keyed(&mut self, who: usize, name: &str) -> Result<()> {
        let state = self.seen_by(who);
        let rows = &state.keyed[name].rows;
        let keys: Vec<i32> = rows.values().filter_map(|k| *k).collect();
        let drawn = keys.get(self.random.below(1 + 2 * keys.len() as u64) as usize).copied();
        let condition = drawn.map(|k| format!(" WHERE k = {k}")).unwrap_or_default();
        let found = read_rows(&mut self.clients[who].session, name, &condition);
        self.keep_snapshot(who);
        match found {
            Ok(found) => {
                let expected = rows.iter().filter(|(_, k)| drawn.is_none() || **k == drawn);
                let expected: Vec<_> = expected.map(|(id, k)| (*id, *k)).collect();
                assert_eq!(found, expected, "what a session sees of {name}{condition}");
                Ok(())
            }
            Err(error) => self.settle(who, name, Err(error), Ok(Effect::default())),
        }
    }

    /// Checks the deferred keys, which COMMIT does first. Returns whether the transaction is still
    /// open.
    pub(crate) fn check_deferred(&mut self, who: usize) -> Result<bool> {
        let mut is_refused = have_twice(&self.state_of(who));
        if is_refused && self.random.chance(2, 3) {
            self.mend_all(who)?;
            if !self.is_open(who) {
                return Ok(false);
            }
            is_refused = have_twice(&self.state_of(who));
        }
        let Err(error) = self.clients[who].session.check_deferred() else {
            assert!(!is_refused, "COMMIT takes a key twice");
            assert!(!have_orphans(&self.state_of(who)), "COMMIT takes a row without its key");
            return Ok(true);
        };
        match error.sqlstate() {
            _ if !self.is_powered() => return Err(error),
            WOULD_WAIT if self.has_others(who) => {}
            SqlState::UNIQUE_VIOLATION if is_refused => {}
            SqlState::FOREIGN_KEY_VIOLATION if have_orphans(&self.state_of(who)) => {}
            _ => panic!("COMMIT failed by itself: {error}"),
        }
        self.tell(who, "COMMIT is refused");
        self.roll_back(who)?;
        Ok(false)
    }

    fn mend_all(&mut self, who: usize) -> Result<()> {
        for _ in 0..MENDS_MAX {
            let state = self.state_of(who);
            let twice = state.keyed.iter().find(|(_, table)| !table.twice().is_empty());
            let Some((name, _)) = twice.filter(|_| self.is_open(who)) else { break };
            self.draw_keyed(who, name, |draw| draw.mend())?;
        }
        Ok(())
    }
}
