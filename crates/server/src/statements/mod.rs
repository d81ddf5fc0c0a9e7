//! pg_stat_statements: the costs of statements, grouped by their normalized text.
//!
//! ```text
//!   plan ── Arc<Statement> ◄─ number, serial ─┐
//!   session ── Tally: a few slots, written by the session alone
//!                │ another statement needs the slot, or the session ends
//!                ▼
//!   Statement::handed_over (a lock, seldom taken) ── rows() adds the counts in slots
//! ```
//!
//! 1. Counting another run of a recent statement takes a few additions to memory that only the
//!    session writes. It takes no lock and shares no cache line with other sessions. That holds for
//!    as many statements at a time as a session has slots.
//! 2. A reader sees every run that has ended: it adds up the slots of all sessions. (It may miss a
//!    slot that changes its owner at that moment, and sees it the next time.)
//! 3. Memory is bounded by pg_stat_statements.max statements, and by [`TEXT_BYTES_MAX`] for their
//!    texts. The statements that ran least are removed first.
//!
//! A removal of counts (a reset, or too many statements) cannot write to slots. It increments the
//! generation instead. A slot of an older generation does not count for a statement that was born
//! in a newer one. Its session clears the slot at the statement's next run.

mod counts;
mod saved;
mod tally;

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use hashbrown::HashMap;
use parking_lot::Mutex;
use steppe_sql::parser::normalize::{Parameters, normalize};
use steppe_types::Oid;

pub(crate) use counts::{Counts, Run, Temporary, Timed};
pub(crate) use saved::SavedStatements;
pub(crate) use tally::{Place, Tally};

use crate::services::now_micros;

/// All texts together take no more than this.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// Statements are removed in groups: 1/20 of pg_stat_statements.max at a time, as in PostgreSQL.
const GO_AT_A_TIME: usize = 20;

/// The identity of a statement: its queryid, and whether it was not run within another statement.
type Key = (i64, bool);

/// A statement with its counters.
pub(crate) struct Statement {
    /// queryid
    pub id: i64,
    /// It was not run within another statement.
    pub is_top_level: bool,
    /// The text with `$n` for constants.
    pub text: Arc<str>,
    /// It identifies this object, also among objects of the same statement.
    serial: u64,
    /// It is in the table.
    is_listed: AtomicBool,
    /// Slots of an older generation do not count.
    born: AtomicU64,
    /// The minimum and maximum of slots of an older generation do not count.
    extremes_born: AtomicU64,
    /// Microseconds since 2000-01-01 UTC.
    since: AtomicI64,
    extremes_since: AtomicI64,
    handed_over: Mutex<Counts>,
}

impl Statement {
    /// A statement that has not run.
    fn new((id, is_top_level): Key, text: Arc<str>, serials: &AtomicU64) -> Statement {
        Statement {
            id,
            is_top_level,
            text,
            serial: serials.fetch_add(1, Ordering::Relaxed),
            is_listed: AtomicBool::new(false),
            born: AtomicU64::new(0),
            extremes_born: AtomicU64::new(0),
            since: AtomicI64::new(0),
            extremes_since: AtomicI64::new(0),
            handed_over: Mutex::default(),
        }
    }

    fn key(&self) -> Key {
        (self.id, self.is_top_level)
    }
}

/// A statement as the view shows it.
pub(crate) struct Shown {
    pub statement: Arc<Statement>,
    pub counts: Counts,
    pub since: i64,
    pub extremes_since: i64,
}

/// All statements.
pub(crate) struct Statements {
    table: Mutex<Table>,
    /// pg_stat_statements.max
    max: usize,
    serials: AtomicU64,
    generation: AtomicU64,
    /// How often statements were removed to make room (pg_stat_statements_info).
    pub deallocations: AtomicU64,
    /// When all were reset.
    pub reset_at: AtomicI64,
}

#[derive(Default)]
struct Table {
    by_key: HashMap<Key, Arc<Statement>, foldhash::fast::RandomState>,
    text_bytes: usize,
}

impl Table {
    fn remove(&mut self, key: Key) {
        if let Some(statement) = self.by_key.remove(&key) {
            self.text_bytes -= statement.text.len();
            statement.is_listed.store(false, Ordering::Release);
        }
    }
}

impl Statements {
    /// An empty table for at most `max` statements.
    pub(crate) fn new(max: usize) -> Statements {
        Statements {
            table: Mutex::default(),
            max,
            serials: AtomicU64::new(1),
            generation: AtomicU64::new(1),
            deallocations: AtomicU64::new(0),
            reset_at: AtomicI64::new(now_micros()),
        }
    }

    /// The statement of a text over these relations. It is listed when it has run.
    pub(crate) fn statement(
        &self,
        source: &str,
        parameters: Parameters,
        relations: impl IntoIterator<Item = Oid>,
    ) -> Arc<Statement> {
        self.statement_at(true, source, parameters, relations)
    }

    /// As [`Self::statement`], for one that runs within another statement.
    pub(crate) fn nested(
        &self,
        source: &str,
        parameters: Parameters,
        relations: impl IntoIterator<Item = Oid>,
    ) -> Arc<Statement> {
        self.statement_at(false, source, parameters, relations)
    }

    fn statement_at(
        &self,
        is_top_level: bool,
        source: &str,
        parameters: Parameters,
        relations: impl IntoIterator<Item = Oid>,
    ) -> Arc<Statement> {
        let normalized = normalize(source, parameters);
        let mut relations: Vec<Oid> = relations.into_iter().collect();
        relations.sort_unstable();
        relations.dedup();
        let state = foldhash::quality::FixedState::default();
        let hash = state.hash_one((&*normalized.shape, relations)) as i64;
        // As in PostgreSQL, 0 means "not known".
        let key = (if hash == 0 { 1 } else { hash }, is_top_level);
        if let Some(known) = self.table.lock().by_key.get(&key) {
            return Arc::clone(known);
        }
        Arc::new(Statement::new(key, normalized.text.into(), &self.serials))
    }

    /// The object that counts for a statement: itself, or the one that was listed before it. Also
    /// returns the generation in which that holds.
    fn listed(&self, statement: &Arc<Statement>) -> (Arc<Statement>, u64) {
        let mut table = self.table.lock();
        if let Some(known) = table.by_key.get(&statement.key()) {
            return (Arc::clone(known), self.generation.load(Ordering::Relaxed));
        }
        let bytes = table.text_bytes + statement.text.len();
        if table.by_key.len() >= self.max || bytes > TEXT_BYTES_MAX {
            self.make_room(&mut table);
        }
        let generation = self.generation.load(Ordering::Relaxed);
        let now = now_micros();
        *statement.handed_over.lock() = Counts::default();
        statement.born.store(generation, Ordering::Relaxed);
        statement.extremes_born.store(generation, Ordering::Relaxed);
        statement.since.store(now, Ordering::Relaxed);
        statement.extremes_since.store(now, Ordering::Relaxed);
        statement.is_listed.store(true, Ordering::Release);
        table.text_bytes += statement.text.len();
        table.by_key.insert(statement.key(), Arc::clone(statement));
        (Arc::clone(statement), generation)
    }

    /// Removes the statements that ran least (entry_dealloc).
    fn make_room(&self, table: &mut Table) {
        let mut all: Vec<(f64, usize, Key)> = Vec::with_capacity(table.by_key.len());
        for (key, statement) in &table.by_key {
            let mut counts = statement.handed_over.lock();
            // Older runs count for less each time.
            counts.score *= 0.99;
            all.push((counts.score, statement.text.len(), *key));
        }
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let least = (table.by_key.len() / GO_AT_A_TIME).max(10);
        for (gone, (_, _, key)) in all.into_iter().enumerate() {
            if gone >= least && table.text_bytes < TEXT_BYTES_MAX / 2 {
                break;
            }
            table.remove(key);
        }
        self.deallocations.fetch_add(1, Ordering::Relaxed);
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// All statements that have run, including the counts that `tallies` have not handed over.
    pub(crate) fn rows(&self, tallies: impl FnOnce(&mut dyn FnMut(&Tally))) -> Vec<Shown> {
        let mut shown: HashMap<u64, Shown, foldhash::fast::RandomState> = HashMap::default();
        for statement in self.table.lock().by_key.values() {
            let counts = *statement.handed_over.lock();
            let row = Shown {
                counts,
                since: statement.since.load(Ordering::Relaxed),
                extremes_since: statement.extremes_since.load(Ordering::Relaxed),
                statement: Arc::clone(statement),
            };
            shown.insert(statement.serial, row);
        }
        tallies(&mut |tally| {
            tally.for_each(|statement, counts| {
                if let Some(row) = shown.get_mut(&statement.serial) {
                    row.counts.merge(counts);
                }
            });
        });
        let mut rows: Vec<Shown> = shown.into_values().filter(|row| row.counts.is_used()).collect();
        rows.sort_unstable_by_key(|row| (row.since, row.statement.serial));
        rows
    }

    /// Removes the counts of all statements, or of one id. With `extremes_only`, only their minimum
    /// and maximum times. Returns the time in microseconds since 2000-01-01 UTC.
    pub(crate) fn reset(&self, id: Option<i64>, extremes_only: bool) -> i64 {
        let mut table = self.table.lock();
        let generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
        let now = now_micros();
        let is_meant = |(known, _): &Key| id.is_none_or(|id| id == *known);
        let meant: Vec<Key> = table.by_key.keys().copied().filter(is_meant).collect();
        for key in meant {
            if extremes_only {
                let statement = &table.by_key[&key];
                statement.handed_over.lock().forget_extremes();
                statement.extremes_born.store(generation, Ordering::Relaxed);
                statement.extremes_since.store(now, Ordering::Relaxed);
            } else {
                table.remove(key);
            }
        }
        if id.is_none() && !extremes_only {
            self.deallocations.store(0, Ordering::Relaxed);
            self.reset_at.store(now, Ordering::Relaxed);
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(milliseconds: f64) -> Run {
        Run { milliseconds, rows: 1, ..Run::default() }
    }

    fn count(tally: &Tally, statements: &Statements, statement: &Arc<Statement>, ms: f64) {
        tally.count(tally.place(statements, statement), &run(ms));
    }

    fn calls(statements: &Statements, tallies: &[&Tally]) -> Vec<(String, u64)> {
        let rows = statements.rows(|f| tallies.iter().for_each(|tally| f(tally)));
        rows.into_iter()
            .map(|row| (row.statement.text.to_string(), row.counts.runs.calls))
            .collect()
    }

    #[test]
    fn runs_of_all_sessions_are_added_up() {
        let statements = Statements::new(100);
        let of = |sql: &str| statements.statement(sql, Parameters::Own, []);
        let (one, two) = (Tally::default(), Tally::default());
        for i in 0..100 {
            count(&one, &statements, &of(&format!("select {i}")), 1.0);
            count(&two, &statements, &of(&format!("select {i} from t{}", i % 50)), 2.0);
        }
        let seen = calls(&statements, &[&one, &two]);
        assert_eq!(seen.len(), 51);
        assert!(seen.contains(&("select $1".to_owned(), 100)));
        assert!(seen.contains(&("select $1 from t7".to_owned(), 2)));
        two.hand_over();
        one.hand_over();
        assert_eq!(calls(&statements, &[]).iter().map(|(_, calls)| calls).sum::<u64>(), 200);
    }

    #[test]
    fn what_is_forgotten_does_not_come_back() {
        let statements = Statements::new(100);
        let tally = Tally::default();
        let statement = statements.statement("select 1", Parameters::Own, []);
        count(&tally, &statements, &statement, 1.0);
        statements.reset(None, false);
        assert!(calls(&statements, &[&tally]).is_empty());
        tally.hand_over();
        assert!(calls(&statements, &[&tally]).is_empty());
        // A plan still has the statement: it is listed again, with counts from 0.
        count(&tally, &statements, &statement, 3.0);
        assert_eq!(calls(&statements, &[&tally]), [("select $1".to_owned(), 1)]);
        // A new object of the same statement counts with it.
        let again = statements.statement("SELECT 2", Parameters::Own, []);
        let other = Tally::default();
        count(&other, &statements, &again, 1.0);
        other.hand_over();
        statements.reset(Some(statement.id), true);
        let rows = statements.rows(|f| f(&tally));
        assert_eq!((rows[0].counts.runs.calls, rows[0].counts.runs.max), (2, 0.0));
        count(&tally, &statements, &statement, 2.0);
        let rows = statements.rows(|f| f(&tally));
        assert_eq!((rows[0].counts.runs.calls, rows[0].counts.runs.max), (3, 2.0));
    }

    #[test]
    fn there_are_never_more_than_may_be() {
        let statements = Statements::new(100);
        let tally = Tally::default();
        let often = statements.statement("select often", Parameters::Own, []);
        for i in 0..1000 {
            count(&tally, &statements, &often, 1.0);
            let other = statements.statement(&format!("select a{i}"), Parameters::Own, []);
            count(&tally, &statements, &other, 1.0);
        }
        let seen = calls(&statements, &[&tally]);
        assert!(seen.len() <= 100 && seen.len() > 50, "{}", seen.len());
        assert!(statements.deallocations.load(Ordering::Relaxed) > 10);
        assert!(seen.contains(&("select often".to_owned(), 1000)), "{:?}", &seen[..3]);
    }
}
