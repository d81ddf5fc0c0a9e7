//! pg_stat_database: the sums of all sessions' counters and of all relations' counters.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hashbrown::HashMap;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use steppe_catalog::Catalog;
use steppe_catalog::system::RowsBuilder;
use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_counting::RelationStatistics;
use steppe_counting::accesses::Accesses;
use steppe_counting::blocks::{Blocks, Files};
use steppe_storage::usage::Totals;
use steppe_txn::Engine;
use steppe_types::{Datum, Oid, Result, SqlState};

use super::io::{by_clients, nanoseconds};
use crate::activity::Activity;
use crate::services::{SharedSession, now_micros};

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    /// The client sent Terminate.
    Normal,
    /// The client closed the connection without Terminate.
    Abandoned,
    /// pg_terminate_backend or the server's stop ended it.
    Killed,
    /// An error of severity FATAL ended it.
    Fatal,
}

impl SessionEnd {
    /// The end that an error causes.
    pub(crate) fn of(sqlstate: SqlState) -> SessionEnd {
        match sqlstate {
            SqlState::CONNECTION_EXCEPTION => SessionEnd::Abandoned,
            SqlState::ADMIN_SHUTDOWN => SessionEnd::Killed,
            _ => SessionEnd::Fatal,
        }
    }
}

/// Sums over sessions. Times in microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Sessions {
    count: u64,
    abandoned: u64,
    killed: u64,
    fatal: u64,
    commits: u64,
    rollbacks: u64,
    deadlocks: u64,
    session_time: u64,
    active: u64,
    idle_in_transaction: u64,
}

impl Sessions {
    fn add(&mut self, activity: &Activity, session_time: i64) {
        let counts = &activity.counts;
        self.count += 1;
        self.commits += counts.commits.load(Ordering::Relaxed);
        self.rollbacks += counts.rollbacks.load(Ordering::Relaxed);
        self.deadlocks += counts.deadlocks.load(Ordering::Relaxed);
        self.active += counts.active.load(Ordering::Relaxed);
        self.idle_in_transaction += counts.idle_in_transaction.load(Ordering::Relaxed);
        self.session_time += u64::try_from(session_time).unwrap_or(0);
    }

    fn since(&self, before: &Sessions) -> Sessions {
        // A session that ended while the sum was taken may be missing from one of the two.
        let less = u64::saturating_sub;
        Sessions {
            count: less(self.count, before.count),
            abandoned: less(self.abandoned, before.abandoned),
            killed: less(self.killed, before.killed),
            fatal: less(self.fatal, before.fatal),
            commits: less(self.commits, before.commits),
            rollbacks: less(self.rollbacks, before.rollbacks),
            deadlocks: less(self.deadlocks, before.deadlocks),
            session_time: less(self.session_time, before.session_time),
            active: less(self.active, before.active),
            idle_in_transaction: less(self.idle_in_transaction, before.idle_in_transaction),
        }
    }
}

/// The counters of relations and sessions, and their values at the last reset.
#[derive(Debug, Default)]
pub(crate) struct DatabaseStatistics {
    ended: Mutex<Sessions>,
    reset: Mutex<Reset>,
}

#[derive(Debug, Default)]
struct Reset {
    /// Microseconds since 2000-01-01 UTC.
    at: i64,
    relations: HashMap<Oid, Accesses>,
    /// The sum of all relations, including dropped ones.
    tuples: Accesses,
    sessions: Sessions,
    pages: Totals,
    blocks: Blocks,
    /// The counts between the reset and this start.
    carried_pages: Totals,
    carried_blocks: Blocks,
}

/// The counts that the views show, and their start, as they are saved for the next start.
/// [`steppe_counting::accesses`] saves its own.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SavedDatabase {
    at: i64,
    relations: Vec<(Oid, Accesses)>,
    tuples: Accesses,
    sessions: Sessions,
    pages: Totals,
    blocks: Vec<(Oid, u64, u64)>,
}

impl Reset {
    /// The accesses to pages since the reset.
    fn pages(&self) -> Totals {
        let mut pages = by_clients() - self.pages;
        pages += self.carried_pages;
        pages
    }
}

impl DatabaseStatistics {
    /// Counts from now on. The server calls it before there are sessions.
    pub(super) fn begin(&self, at: i64, engine: &Engine) {
        let (pages, blocks) = (by_clients(), Blocks::now(engine));
        *self.reset.lock() = Reset { at, pages, blocks, ..Reset::default() };
    }

    /// Counts from now on.
    pub(crate) fn reset(&self, core: &SharedSession) {
        let sessions = self.all_sessions(core);
        let counted = &core.server.relation_statistics;
        counted.forget_maintenance(|_| true);
        counted.reset_estimates(core.names().catalog.relations().map(|table| &**table));
        let (relations, tuples, pages) = (counted.totals(), counted.sum(), by_clients());
        let blocks = Blocks::now(&core.server.engine);
        let at = now_micros();
        let none = Reset::default();
        *self.reset.lock() = Reset { at, relations, tuples, sessions, pages, blocks, ..none };
    }

    /// The counts to save, when all sessions have ended.
    pub(super) fn save(&self, files: Files<'_>, catalog: &Catalog) -> Result<SavedDatabase> {
        let blocks = self.blocks_since_reset(files.engine).by_relation(files, catalog)?;
        let reset = self.reset.lock();
        let relations = reset.relations.iter().map(|(oid, counts)| (*oid, *counts));
        Ok(SavedDatabase {
            at: reset.at,
            relations: relations.filter(|(oid, _)| catalog.relation(*oid).is_some()).collect(),
            tuples: reset.tuples,
            sessions: self.ended.lock().since(&reset.sessions),
            pages: reset.pages(),
            blocks,
        })
    }

    /// Continues from the saved counts, before there are sessions.
    pub(super) fn restore(
        &self,
        saved: SavedDatabase,
        engine: &Engine,
        catalog: &Catalog,
    ) -> Result<()> {
        *self.ended.lock() = saved.sessions;
        let mut reset = self.reset.lock();
        reset.at = saved.at;
        reset.relations = saved.relations.into_iter().collect();
        reset.tuples = saved.tuples;
        reset.carried_pages = saved.pages;
        reset.carried_blocks = Blocks::of_relations(engine, catalog, saved.blocks)?;
        Ok(())
    }

    /// Counts accesses to a relation from now on.
    pub(crate) fn reset_relation(&self, core: &SharedSession, relation: Oid) -> Result<()> {
        let counted = &core.server.relation_statistics;
        let now = counted.totals().get(&relation).copied().unwrap_or_default();
        counted.forget_maintenance(|table| table == relation);
        let mut reset = self.reset.lock();
        reset.relations.insert(relation, now);
        reset.at = now_micros();
        let files = core.server.files();
        match core.names().catalog.relation(relation) {
            Some(relation) => {
                counted.reset_estimates([&**relation]);
                reset.carried_blocks.forget(files, relation)?;
                reset.blocks.copy_of(&Blocks::now(files.engine), files, relation)
            }
            None => Ok(()),
        }
    }

    /// Pages read, by relation.
    pub(super) fn blocks(&self, core: &SharedSession) -> Blocks {
        self.blocks_since_reset(&core.server.engine)
    }

    fn blocks_since_reset(&self, engine: &Engine) -> Blocks {
        let reset = self.reset.lock();
        let mut blocks = Blocks::now(engine).since(&reset.blocks);
        blocks.add(&reset.carried_blocks);
        blocks
    }

    /// Adds the counters of a session that has ended.
    pub(super) fn session_ended(&self, activity: &Activity, session_time: i64, end: SessionEnd) {
        let mut ended = self.ended.lock();
        ended.add(activity, session_time);
        match end {
            SessionEnd::Normal => {}
            SessionEnd::Abandoned => ended.abandoned += 1,
            SessionEnd::Killed => ended.killed += 1,
            SessionEnd::Fatal => ended.fatal += 1,
        }
    }

    /// Accesses to all relations.
    pub(super) fn relations(&self, counted: &RelationStatistics) -> HashMap<Oid, Accesses> {
        let mut all = counted.totals();
        let reset = self.reset.lock();
        for (relation, accesses) in &mut all {
            if let Some(before) = reset.relations.get(relation) {
                *accesses = accesses.since(before);
            }
        }
        all
    }

    /// The sum of all ended and running sessions.
    fn all_sessions(&self, core: &SharedSession) -> Sessions {
        let now = now_micros();
        let mut sum = *self.ended.lock();
        core.server.backends.for_each(|_, backend| {
            sum.add(&backend.control.activity, now - backend.started);
        });
        sum
    }
}

/// The rows of pg_stat_database_conflicts. Only a standby's recovery has conflicts with queries.
pub(super) fn conflicts(core: &SharedSession) -> Result<Vec<Vec<Datum>>> {
    let mut builder = RowsBuilder::new("pg_stat_database_conflicts")?;
    let kinds = [
        "confl_tablespace",
        "confl_lock",
        "confl_snapshot",
        "confl_bufferpin",
        "confl_deadlock",
        "confl_active_logicalslot",
    ];
    let none = kinds.into_iter().map(|kind| (kind, Datum::Int8(0)));
    builder.row(none.chain([
        ("datid", Datum::Oid(POSTGRES_DATABASE)),
        ("datname", Datum::Text(Arc::clone(&core.identity.database))),
    ]));
    builder.finish()
}

/// The rows of pg_stat_database. Times are those of timed I/O. Spill files are not counted.
pub(super) fn rows(core: &SharedSession) -> Result<Vec<Vec<Datum>>> {
    let statistics = &core.server.statistics.database;
    let sessions = statistics.all_sessions(core).since(&statistics.reset.lock().sessions);
    let (at, pages, tuples) = {
        let reset = statistics.reset.lock();
        (reset.at, reset.pages(), core.server.relation_statistics.sum().since(&reset.tuples))
    };
    let backends = i32::try_from(core.server.backends.count()).unwrap_or(i32::MAX);
    let count = |value: u64| Datum::Int8(value as i64);
    let milliseconds = |micros: u64| Datum::Float8(micros as f64 / 1e3);
    let mut builder = RowsBuilder::new("pg_stat_database")?;
    builder.row([
        ("datid", Datum::Oid(POSTGRES_DATABASE)),
        ("datname", Datum::Text(core.identity.database.clone())),
        ("numbackends", Datum::Int4(backends)),
        ("xact_commit", count(sessions.commits)),
        ("xact_rollback", count(sessions.rollbacks)),
        ("blks_read", count(pages.read)),
        ("blks_hit", count(pages.hit)),
        ("tup_returned", count(tuples.returned)),
        ("tup_fetched", count(tuples.fetched)),
        ("tup_inserted", count(tuples.inserted)),
        ("tup_updated", count(tuples.updated)),
        ("tup_deleted", count(tuples.deleted)),
        ("conflicts", Datum::Int8(0)),
        ("deadlocks", count(sessions.deadlocks)),
        ("blk_read_time", nanoseconds(pages.read_time)),
        ("blk_write_time", nanoseconds(pages.write_time + pages.extend_time)),
        ("session_time", milliseconds(sessions.session_time)),
        ("active_time", milliseconds(sessions.active)),
        ("idle_in_transaction_time", milliseconds(sessions.idle_in_transaction)),
        ("sessions", count(sessions.count)),
        ("sessions_abandoned", count(sessions.abandoned)),
        ("sessions_fatal", count(sessions.fatal)),
        ("sessions_killed", count(sessions.killed)),
        ("parallel_workers_to_launch", Datum::Int8(0)),
        ("parallel_workers_launched", Datum::Int8(0)),
        ("stats_reset", Datum::TimestampTz(at)),
    ]);
    builder.finish()
}
