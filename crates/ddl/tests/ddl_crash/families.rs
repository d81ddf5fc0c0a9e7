//! Tables with foreign keys of all kinds: a statement and its cascades are whole or absent, and no
//! row refers to a key that is not there.
//!
//! ```text
//!   fp ◀── fc   SET NULL, SET DEFAULT or CASCADE     fp ◀── fl   NO ACTION, INITIALLY DEFERRED
//!          ▲                                         fp ◀── ft   CASCADE, partitioned
//!          └── fd   CASCADE                          fs ◀── fs   CASCADE, to itself
//! ```
//!
//! The model derives all rows that a statement changes from the actions ([`Families::remove`],
//! [`Families::rekey`]). The database makes them by statements of its own. Some transactions leave
//! a reference of `fl` without its key until COMMIT, which is refused then.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use steppe_catalog::{ConstraintKind, PUBLIC, ReferentialAction, Relation};
use steppe_types::{Result, SqlState};

use crate::check::int;
use crate::model::{Op, State};
use crate::session::Session;
use crate::statement::{Effect, Look, Statement};
use crate::world::World;

/// The references of rows by id.
type Rows = BTreeMap<i32, Option<i32>>;

const IDS: i32 = 24;
/// The DEFAULT of references.
const DEFAULT: i32 = 0;
/// The first id of the second partition of `ft`.
const SECOND_PART: i32 = 10;
const STATEMENTS_MAX: u64 = 6;
const TABLES: [&str; 6] = ["fp", "fc", "fd", "fl", "fs", "ft"];
/// The partitions of `ft`.
const PARTS: [&str; 2] = ["ft_0", "ft_1"];

/// A foreign key: the referencing table, and the referenced one.
struct Link {
    from: &'static str,
    to: &'static str,
}

const LINKS: [Link; 5] = [
    Link { from: "fc", to: "fp" },
    Link { from: "fd", to: "fc" },
    Link { from: "fl", to: "fp" },
    Link { from: "fs", to: "fs" },
    Link { from: "ft", to: "fp" },
];

/// The tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Families {
    /// ON DELETE of `fc`.
    on_delete: ReferentialAction,
    rows: BTreeMap<&'static str, Rows>,
}

/// A change of them.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Create(Families),
    Drop,
    /// TRUNCATE of `fp` and what refers to it.
    Clear,
    Put(&'static str, i32, Option<i32>),
    Remove(&'static str, i32),
}

impl Change {
    pub(crate) fn apply(&self, all: &mut Option<Rc<Families>>) {
        let mut change = |f: &dyn Fn(&mut Families)| {
            f(Rc::make_mut(all.as_mut().expect("the families are there")));
        };
        match self {
            Change::Create(new) => *all = Some(new.clone().into()),
            Change::Drop => *all = None,
            Change::Clear => change(&|families| {
                for (table, rows) in &mut families.rows {
                    if *table != "fs" {
                        rows.clear();
                    }
                }
            }),
            Change::Put(table, id, r) => change(&|families| _ = families.of(table).insert(*id, *r)),
            Change::Remove(table, id) => change(&|families| {
                assert!(families.of(table).remove(id).is_some(), "no row {id} in {table}");
            }),
        }
    }
}

impl Families {
    /// The tables as the session's next statement sees them, if they are there.
    pub(crate) fn read(session: &mut Session) -> Result<Option<Families>> {
        let catalog = session.catalog();
        let Some(fc) = catalog.relation_named(PUBLIC, "fc") else { return Ok(None) };
        let action = fc.constraints.iter().find_map(|constraint| match &constraint.kind {
            ConstraintKind::ForeignKey(key) => Some(key.on_delete),
            _ => None,
        });
        let mut rows = BTreeMap::new();
        for table in TABLES {
            rows.insert(table, read_rows(session, table)?);
        }
        Ok(Some(Families { on_delete: action.expect("fc has a foreign key"), rows }))
    }

    fn of(&mut self, table: &str) -> &mut Rows {
        self.rows.get_mut(table).expect("the table is one of these")
    }

    /// The rows whose keys are not there. Those of `fl` may wait for COMMIT.
    fn orphans(&self, with_deferred: bool) -> Vec<String> {
        let links = LINKS.iter().filter(|link| with_deferred || link.from != "fl");
        let orphans = links.flat_map(|link| {
            let has_key = |id: &i32| self.rows[link.to].contains_key(id);
            let rows = self.rows[link.from].iter();
            rows.filter(move |(_, r)| r.is_some_and(|r| !has_key(&r)))
                .map(|(id, r)| format!("{} {id}: {r:?}", link.from))
        });
        orphans.collect()
    }

    /// Deletes a row, and changes all rows that the actions of its foreign keys reach.
    fn remove(&mut self, table: &'static str, id: i32, changes: &mut Vec<Change>) {
        if self.of(table).remove(&id).is_none() {
            return; // a circle
        }
        changes.push(Change::Remove(table, id));
        for (from, referring) in self.referring(table, id) {
            let action = match from {
                "fc" => self.on_delete,
                "fl" => ReferentialAction::NoAction,
                _ => ReferentialAction::Cascade,
            };
            match action {
                ReferentialAction::Cascade => self.remove(from, referring, changes),
                ReferentialAction::SetNull => self.put(from, referring, None, changes),
                ReferentialAction::SetDefault => self.put(from, referring, Some(DEFAULT), changes),
                _ => {}
            }
        }
    }

    /// Gives a row another id, which all references but those of `fl` follow.
    fn rekey(&mut self, table: &'static str, (old, new): (i32, i32), changes: &mut Vec<Change>) {
        let r = self.of(table).remove(&old).expect("the row is there");
        changes.push(Change::Remove(table, old));
        self.put(table, new, r, changes);
        for (from, referring) in self.referring(table, old) {
            if from != "fl" {
                self.put(from, referring, Some(new), changes);
            }
        }
    }

    fn put(&mut self, table: &'static str, id: i32, r: Option<i32>, changes: &mut Vec<Change>) {
        self.of(table).insert(id, r);
        changes.push(Change::Put(table, id, r));
    }

    fn referring(&self, table: &str, id: i32) -> Vec<(&'static str, i32)> {
        let links = LINKS.iter().filter(|link| link.to == table);
        let rows = links.flat_map(|link| {
            let rows = self.rows[link.from].iter().filter(|(_, r)| **r == Some(id));
            rows.map(|(referring, _)| (link.from, *referring))
        });
        rows.collect()
    }

    /// A line for the tables and each row.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("families: {:?}", self.on_delete)];
        for (table, rows) in &self.rows {
            lines.extend(rows.iter().map(|(id, r)| format!("row {table} {id}: {r:?}")));
        }
        lines
    }
}

/// Whether a table is one of these, or a partition of one.
pub(crate) fn is_family(table: &Relation) -> bool {
    table.name.starts_with('f')
}

/// Whether rows refer to keys that are not there, which COMMIT refuses.
pub(crate) fn have_orphans(state: &State) -> bool {
    state.families.as_ref().is_some_and(|families| !families.orphans(true).is_empty())
}

fn has_reference(table: &str) -> bool {
    table != "fp"
}

fn read_rows(session: &mut Session, table: &str) -> Result<Rows> {
    let columns = if has_reference(table) { "id, r" } else { "id" };
    let found = session.query(&format!("SELECT {columns} FROM {table}"), &[])?;
    let row = |row: &Vec<_>| (int(&row[0]).expect("id is not null"), row.get(1).and_then(int));
    let rows: Rows = found.iter().map(row).collect();
    assert_eq!(rows.len(), found.len(), "an id twice in {table}");
    Ok(rows)
}

/// Checks a quiet database: what the tables themselves say of each other, and of their indexes.
pub(crate) fn check(session: &mut Session, state: &State) -> Result<()> {
    let Some(families) = &state.families else { return Ok(()) };
    assert_eq!(families.orphans(true), Vec::<String>::new(), "rows without their keys");
    for Link { from, to } in LINKS {
        let sql = format!(
            "SELECT id FROM {from} c WHERE r IS NOT NULL AND NOT EXISTS \
             (SELECT FROM {to} p WHERE p.id = c.r)"
        );
        assert_eq!(session.query(&sql, &[])?, Vec::<Vec<_>>::new(), "orphans of {from}");
        let by_reference = session
            .compile(&format!("SELECT id FROM {from} WHERE r = $1"), &[steppe_types::oid::INT4])?;
        for r in 0..IDS {
            let found = session.run_compiled(&by_reference, &[r])?.rows;
            let found: BTreeSet<i32> = found.iter().filter_map(|row| int(&row[0])).collect();
            let rows = families.rows[from].iter().filter(|(_, own)| **own == Some(r));
            assert_eq!(found, rows.map(|(id, _)| *id).collect(), "rows of {from} with r = {r}");
        }
    }
    let first = read_rows(session, PARTS[0])?;
    assert!(first.keys().all(|id| *id < SECOND_PART), "ft_0 has {first:?}");
    Ok(())
}

// ----- statements -----

/// The statements that make the tables.
fn create(look: &Look<'_>) -> (Vec<String>, Families) {
    let actions = [
        (ReferentialAction::SetNull, "SET NULL"),
        (ReferentialAction::SetDefault, "SET DEFAULT"),
        (ReferentialAction::Cascade, "CASCADE"),
    ];
    let (on_delete, action) = *look.some_of(&actions).expect("there are some");
    let row = "id int PRIMARY KEY, r int DEFAULT 0 REFERENCES";
    let cascades = "ON DELETE CASCADE ON UPDATE CASCADE";
    let mut sql = vec![
        "CREATE TABLE fp (id int PRIMARY KEY)".to_owned(),
        format!("CREATE TABLE fc ({row} fp ON DELETE {action} ON UPDATE CASCADE)"),
        format!("CREATE TABLE fd ({row} fc {cascades})"),
        format!("CREATE TABLE fl ({row} fp DEFERRABLE INITIALLY DEFERRED)"),
        format!("CREATE TABLE fs ({row} fs {cascades})"),
        format!("CREATE TABLE ft ({row} fp {cascades}) PARTITION BY RANGE (id)"),
        format!(
            "CREATE TABLE {} PARTITION OF ft FOR VALUES FROM (MINVALUE) TO ({SECOND_PART})",
            PARTS[0]
        ),
        format!("CREATE TABLE {} PARTITION OF ft DEFAULT", PARTS[1]),
    ];
    for Link { from, .. } in LINKS {
        if look.random.chance(1, 2) {
            sql.push(format!("CREATE INDEX ON {from} (r)"));
        }
    }
    let rows = TABLES.iter().map(|table| (*table, Rows::new())).collect();
    (sql, Families { on_delete, rows })
}

/// The state from which a statement is drawn.
struct Draw<'a> {
    look: Look<'a>,
    families: &'a Families,
    /// `fl` is checked at COMMIT.
    is_deferred: bool,
}

impl Draw<'_> {
    /// A statement that makes these changes, unless they leave a reference without its key.
    fn done(&self, sql: String, after: &Families, changes: Vec<Change>, count: u64) -> Statement {
        if !after.orphans(!self.is_deferred).is_empty() {
            return Statement::refused(sql, SqlState::FOREIGN_KEY_VIOLATION);
        }
        let ops = changes.into_iter().map(Op::Family).collect();
        Statement::done(sql, Effect { ops, count: Some(count) })
    }

    fn any(&self) -> Option<Statement> {
        match self.look.random.below(20) {
            0..9 => self.insert(),
            9..13 => self.delete(),
            13..16 => self.rekey(),
            _ => self.refer(),
        }
    }

    fn some_table(&self) -> &'static str {
        // Without rows of `fp` there is nothing to refer to.
        let tables = ["fp", "fp", "fp", "fc", "fc", "fd", "fl", "fl", "fs", "fs", "ft"];
        self.look.some_of(&tables).expect("there are some")
    }

    /// Mostly a key that is there.
    fn some_reference(&self, table: &str) -> Option<i32> {
        let link = LINKS.iter().find(|link| link.from == table)?;
        let keys: Vec<i32> = self.families.rows[link.to].keys().copied().collect();
        match self.look.random.below(12) {
            0 => None,
            1 => Some(self.look.below(IDS)),
            _ => self.look.some_of(&keys).copied(),
        }
    }

    fn insert(&self) -> Option<Statement> {
        let (table, mut after) = (self.some_table(), self.families.clone());
        let (mut changes, mut values, mut is_twice) = (Vec::new(), Vec::new(), false);
        for _ in 0..1 + self.look.below(5) {
            let (id, r) = (self.look.below(IDS), self.some_reference(table));
            let is_taken = after.rows[table].contains_key(&id);
            if is_taken && !self.look.random.chance(1, 20) {
                continue;
            }
            is_twice |= is_taken;
            values.push(match (has_reference(table), r) {
                (true, Some(r)) => format!("({id}, {r})"),
                (true, None) => format!("({id}, NULL)"),
                (false, _) => format!("({id})"),
            });
            after.put(table, id, r, &mut changes);
        }
        let sql = format!("INSERT INTO {table} VALUES {}", values.join(", "));
        match values.len() as u64 {
            0 => None,
            _ if is_twice => Some(Statement::refused(sql, SqlState::UNIQUE_VIOLATION)),
            count => Some(self.done(sql, &after, changes, count)),
        }
    }

    fn delete(&self) -> Option<Statement> {
        let (table, mut after, mut changes) = (self.some_table(), self.families.clone(), vec![]);
        let ids: Vec<i32> = self.families.rows[table].keys().copied().collect();
        let first = *self.look.some_of(&ids)?;
        let last = first + if self.look.random.chance(1, 3) { self.look.below(8) } else { 0 };
        let ids: Vec<i32> = ids.into_iter().filter(|id| (first..=last).contains(id)).collect();
        for id in &ids {
            after.remove(table, *id, &mut changes);
        }
        let sql = format!("DELETE FROM {table} WHERE id BETWEEN {first} AND {last}");
        Some(self.done(sql, &after, changes, ids.len() as u64))
    }

    /// Another id for a row, where references follow.
    fn rekey(&self) -> Option<Statement> {
        let table = self.look.some_of(&["fp", "fp", "fp", "fc", "fs"])?;
        let (mut after, mut changes) = (self.families.clone(), vec![]);
        let ids: Vec<i32> = self.families.rows[table].keys().copied().collect();
        let (old, new) = (*self.look.some_of(&ids)?, self.look.below(IDS));
        let sql = format!("UPDATE {table} SET id = {new} WHERE id = {old}");
        if old != new && ids.contains(&new) {
            return Some(Statement::refused(sql, SqlState::UNIQUE_VIOLATION));
        }
        if old != new {
            after.rekey(table, (old, new), &mut changes);
        }
        Some(self.done(sql, &after, changes, 1))
    }

    /// Another reference for a row.
    fn refer(&self) -> Option<Statement> {
        let table = self.some_table();
        let ids: Vec<i32> = self.families.rows[table].keys().copied().collect();
        let id = *self.look.some_of(&ids).filter(|_| has_reference(table))?;
        let (r, mut after, mut changes) =
            (self.some_reference(table), self.families.clone(), vec![]);
        after.put(table, id, r, &mut changes);
        let value = r.map_or("NULL".to_owned(), |r| r.to_string());
        let sql = format!("UPDATE {table} SET r = {value} WHERE id = {id}");
        Some(self.done(sql, &after, changes, 1))
    }
}

/// Whether `fl` is deferred in a transaction that has done this.
fn is_deferred(ops: &[Op]) -> bool {
    let all = ops.iter().rev().find_map(|op| match op {
        Op::Constraints(None, deferred) => Some(*deferred),
        _ => None,
    });
    all.unwrap_or(true)
}

impl World<'_> {
    /// Some statements about these tables, with savepoints among them.
    pub(crate) fn change_families(&mut self, who: usize) -> Result<()> {
        if self.clients[who].session.is_repeatable() {
            return Ok(());
        }
        for _ in 0..1 + self.random.below(STATEMENTS_MAX) {
            match self.random.below(10) {
                0 => self.savepoint(who)?,
                1 => self.rollback_to(who)?,
                _ => self.change_family(who)?,
            }
            if !self.is_open(who) {
                break;
            }
        }
        Ok(())
    }

    fn change_family(&mut self, who: usize) -> Result<()> {
        let now = self.state_of(who);
        let catalog = self.clients[who].session.catalog();
        let look = Look { random: self.random, state: &now, catalog: &catalog };
        let Some(families) = &now.families else { return self.create_families(who, &look) };
        let has_changed = self.clients[who].ops.iter().any(|op| matches!(op, Op::Family(_)));
        if self.random.chance(1, 60) && !has_changed {
            let (sql, change) = match self.random.chance(1, 2) {
                true => ("DROP TABLE fd, fc, fl, ft, fs, fp", Change::Drop),
                false => ("TRUNCATE fp CASCADE", Change::Clear),
            };
            let effect = Effect::of(vec![Op::Family(change)]);
            return self.run_family(who, Statement::done(sql.to_owned(), effect));
        }
        let is_deferred = is_deferred(&self.clients[who].ops);
        match (Draw { look, families, is_deferred }).any() {
            Some(statement) => self.run_family(who, statement),
            None => Ok(()),
        }
    }

    fn create_families(&mut self, who: usize, look: &Look<'_>) -> Result<()> {
        let (statements, new) = create(look);
        for statement in statements {
            self.run_family(who, Statement::done(statement, Effect::default()))?;
            let catalog = self.clients[who].session.catalog();
            if !self.is_open(who) || catalog.relation_named(PUBLIC, "fp").is_none() {
                return Ok(()); // Another session makes them, too.
            }
        }
        self.clients[who].ops.push(Op::Family(Change::Create(new)));
        Ok(())
    }

    fn run_family(&mut self, who: usize, statement: Statement) -> Result<()> {
        self.tell(who, &statement.sql);
        let done = self.clients[who].session.run(&statement.sql);
        let done = done.map(|answer| Some(answer.count));
        self.settle(who, &statement.sql, done, statement.outcome)
    }
}
