//! How many rows tables have, and how much has changed since ANALYZE, by counting.
//!
//! ```text
//!   what was done (the counts of all accesses) − what was taken back (TAKEN_BACK) = what lasts
//!   live rows     = rows when they were known (a Base) + inserted since − deleted since
//! ```
//!
//! Rows are known when a table is vacuumed, analyzed, emptied or rewritten. A base is of a file:
//! TRUNCATE and what rewrites a table give it a new one, which is nobody else's before the
//! transaction commits and gone when it is rolled back, and so is its base. (PostgreSQL keeps what
//! it had counted before a TRUNCATE, and subtransactions' counts apart, in pgstat_relation.c.)
//!
//! What a running transaction has done is counted as if it lasted. ANALYZE does not see it, so that
//! it is what has changed since: its counts are taken when it begins ([`mark`]).

use hashbrown::HashMap;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use steppe_catalog::{Catalog, Relation};
use steppe_txn::{RelFileNumber, RowChanges, TakenBack};
use steppe_types::Oid;

use super::{Accesses, apart, total, totals};

/// What was known of the rows in a file.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Base {
    table: Oid,
    /// Rows there were, and changes since ANALYZE.
    rows: u64,
    modified: u64,
    /// What had lasted of the table's changes.
    #[serde(with = "Changes")]
    lasting: RowChanges,
    /// Rows inserted ever, lasting or not, when VACUUM last came.
    inserted: u64,
    /// Rows that the file began with, copied from another.
    copied: u64,
}

/// A table's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimates {
    /// Rows there are.
    pub live: u64,
    /// Rows inserted, updated and deleted since ANALYZE.
    pub modified: u64,
    /// Rows inserted since VACUUM.
    pub inserted: u64,
}

/// [`RowChanges`], as they are saved.
#[derive(Serialize, Deserialize)]
#[serde(remote = "RowChanges")]
struct Changes {
    inserted: u64,
    updated: u64,
    deleted: u64,
}

static BASES: Mutex<Option<HashMap<RelFileNumber, Base>>> = Mutex::new(None);
/// Of what tables' counts say was done, what did not last.
static TAKEN_BACK: Mutex<Option<HashMap<Oid, RowChanges>>> = Mutex::new(None);

/// A rollback has taken something back: for
/// [`DatabaseOptions::on_taken_back`](steppe_txn::DatabaseOptions::on_taken_back).
pub fn taken_back(what: TakenBack) {
    match what {
        TakenBack::Rows(table, changes) => {
            TAKEN_BACK.lock().get_or_insert_default().entry(table).or_default().add(&changes);
        }
        TakenBack::File(file) => {
            let base = BASES.lock().as_mut().and_then(|bases| bases.remove(&file));
            // That copies were put into the file was not counted; that they are gone was.
            if let Some(base) = base.filter(|base| base.copied > 0)
                && let Some(changes) =
                    TAKEN_BACK.lock().get_or_insert_default().get_mut(&base.table)
            {
                changes.inserted = changes.inserted.saturating_sub(base.copied);
            }
        }
    }
}

/// What has lasted of a table's changes.
fn lasting(table: Oid, done: &Accesses) -> RowChanges {
    let gone = TAKEN_BACK.lock().as_ref().and_then(|all| all.get(&table).copied());
    let gone = gone.unwrap_or_default();
    // A change is counted right after it is made, so perhaps after it is taken back.
    RowChanges {
        inserted: done.inserted.saturating_sub(gone.inserted),
        updated: done.updated.saturating_sub(gone.updated),
        deleted: done.deleted.saturating_sub(gone.deleted),
    }
}

fn base_of(table: &Relation) -> Base {
    let bases = BASES.lock();
    let base = table.storage.and_then(|file| bases.as_ref()?.get(&file).copied());
    base.unwrap_or_default()
}

fn put_base(table: &Relation, base: Base) {
    if let Some(file) = table.storage {
        BASES.lock().get_or_insert_default().insert(file, Base { table: table.oid, ..base });
    }
}

impl Base {
    /// `done`: all that was counted of the table.
    fn estimates(&self, done: &Accesses, lasting: &RowChanges) -> Estimates {
        let since = |now: u64, then: u64| now as i64 - then as i64;
        let inserted = since(lasting.inserted, self.lasting.inserted);
        let updated = since(lasting.updated, self.lasting.updated);
        let deleted = since(lasting.deleted, self.lasting.deleted);
        Estimates {
            live: self.rows.saturating_add_signed(inserted - deleted),
            modified: self.modified.saturating_add_signed(inserted + updated + deleted),
            inserted: done.inserted.saturating_sub(self.inserted),
        }
    }
}

/// A table's numbers, of which `done` is counted.
pub fn estimates(table: &Relation, done: &Accesses) -> Estimates {
    base_of(table).estimates(done, &lasting(table.oid, done))
}

/// Changes of a table's rows ever, as far as they have lasted.
pub fn changes_ever(table: &Relation, done: &Accesses) -> u64 {
    let RowChanges { inserted, updated, deleted } = lasting(table.oid, done);
    inserted + updated + deleted
}

/// Notes what is known of a table's rows from now on, by what was known.
fn know(
    table: &Relation,
    before: &Relation,
    known: impl FnOnce(Base, Estimates, &Accesses) -> Base,
) {
    let done = total(table.oid);
    let (base, lasting) = (base_of(before), lasting(table.oid, &done));
    let base = known(base, base.estimates(&done, &lasting), &done);
    put_base(table, Base { lasting, ..base });
}

/// A table has so many rows, by VACUUM's count.
pub(super) fn vacuumed(table: &Relation, rows: u64) {
    know(table, table, |base, now, done| Base {
        rows,
        modified: now.modified,
        inserted: done.inserted,
        ..base
    });
}

/// How a table stood when ANALYZE began.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Microseconds since 2000-01-01 UTC.
    pub(super) at: i64,
    lasting: RowChanges,
    /// Changes of transactions that go on.
    unsettled: u64,
    /// How many rows more there are if those of others last, which ANALYZE does not see.
    to_come: i64,
}

/// ANALYZE of a table begins; it has no snapshot yet.
pub fn mark(table: &Relation, at: i64) -> Mark {
    let [mine, others] = apart::unsettled(table.oid);
    Mark {
        at,
        lasting: lasting(table.oid, &total(table.oid)),
        unsettled: mine.changes() + others.changes(),
        to_come: others.inserted as i64 - others.deleted as i64,
    }
}

/// A table had about so many rows, as ANALYZE found.
pub(super) fn analyzed(table: &Relation, rows: u64, begun: &Mark) {
    let (lasting, modified) = (begun.lasting, begun.unsettled);
    let rows = rows.saturating_add_signed(begun.to_come);
    put_base(table, Base { rows, modified, lasting, ..base_of(table) });
}

/// A table has a new file, without rows.
pub fn emptied(table: &Relation, before: &Relation) {
    know(table, before, |_, now, done| Base {
        modified: now.modified,
        inserted: done.inserted,
        ..Base::default()
    });
}

/// A table has a new file, with as many rows copied into it.
pub fn rewritten(table: &Relation, before: &Relation, copied: u64) {
    know(table, before, |base, now, _| Base {
        rows: copied,
        modified: now.modified,
        copied,
        ..base
    });
}

/// Counts from nothing again, as after pg_stat_reset.
pub fn reset_estimates<'a>(tables: impl IntoIterator<Item = &'a Relation>) {
    let all = totals();
    for table in tables {
        if let Some(done) = all.get(&table.oid) {
            let lasting = lasting(table.oid, done);
            put_base(table, Base { lasting, inserted: done.inserted, ..Base::default() });
        }
    }
}

/// Forgets tables that are gone, and files that tables have no more. (A newer file than a table's
/// may be that of a transaction that goes on.)
pub(super) fn forget_all_but(catalog: &Catalog) {
    if let Some(bases) = &mut *BASES.lock() {
        bases.retain(|file, base| {
            catalog.relation(base.table).is_some_and(|table| table.storage <= Some(*file))
        });
    }
    if let Some(taken_back) = &mut *TAKEN_BACK.lock() {
        taken_back.retain(|table, _| catalog.relation(*table).is_some());
    }
}

/// What is known of tables' rows, as it is saved.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Saved {
    bases: Vec<(u64, Base)>,
    taken_back: Vec<(Oid, TakenBackOf)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TakenBackOf(#[serde(with = "Changes")] RowChanges);

impl Saved {
    /// What is known now.
    pub(super) fn now() -> Saved {
        let (bases, taken_back) = (BASES.lock(), TAKEN_BACK.lock());
        let bases = bases.iter().flatten().map(|(file, base)| (file.0, *base));
        let taken_back = taken_back.iter().flatten();
        let taken_back = taken_back.map(|(table, changes)| (*table, TakenBackOf(*changes)));
        Saved { bases: bases.collect(), taken_back: taken_back.collect() }
    }

    /// Knows it again.
    pub(super) fn restore(self) {
        let bases = self.bases.into_iter().map(|(file, base)| (RelFileNumber(file), base));
        BASES.lock().get_or_insert_default().extend(bases);
        let mut taken_back = TAKEN_BACK.lock();
        for (table, TakenBackOf(changes)) in self.taken_back {
            taken_back.get_or_insert_default().entry(table).or_default().add(&changes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accesses::{deleted, inserted, updated};

    const TABLE: Oid = 3_200_000_000;

    fn table(file: u64) -> Relation {
        let names = steppe_catalog::RelKind::Table;
        Relation { storage: Some(RelFileNumber(file)), ..Relation::new(TABLE, 0, "t", names) }
    }

    fn of(table: &Relation) -> (u64, u64, u64) {
        let Estimates { live, modified, inserted } = estimates(table, &total(TABLE));
        (live, modified, inserted)
    }

    #[test]
    fn what_is_rolled_back_and_truncated_is_not_there() {
        let first = table(100);
        inserted(TABLE, 50);
        updated(TABLE, false);
        deleted(TABLE);
        assert_eq!(of(&first), (49, 52, 50));
        inserted(TABLE, 7);
        let changes = RowChanges { inserted: 7, ..RowChanges::default() };
        taken_back(TakenBack::Rows(TABLE, changes));
        assert_eq!(of(&first), (49, 52, 57));
        analyzed(&first, 48, &mark(&first, 0));
        assert_eq!(of(&first), (48, 0, 57));
        vacuumed(&first, 49);
        inserted(TABLE, 1);
        assert_eq!(of(&first), (50, 1, 1));
        // TRUNCATE, insert two rows, ROLLBACK; others see the table as it was all the time.
        let second = table(101);
        emptied(&second, &first);
        inserted(TABLE, 2);
        assert_eq!(of(&second), (2, 3, 2));
        taken_back(TakenBack::Rows(TABLE, RowChanges { inserted: 2, ..changes }));
        taken_back(TakenBack::File(RelFileNumber(101)));
        assert_eq!(of(&first), (50, 1, 3));
        // The same with a rewrite: its copies are taken back, too, though nobody counted them.
        let third = table(102);
        rewritten(&third, &first, 50);
        inserted(TABLE, 3);
        assert_eq!(of(&third), (53, 4, 6));
        taken_back(TakenBack::Rows(TABLE, RowChanges { inserted: 53, ..changes }));
        taken_back(TakenBack::File(RelFileNumber(102)));
        assert_eq!(of(&first), (50, 1, 6));
    }
}
