//! Counts the rows of tables, and their changes since ANALYZE.
//!
//! ```text
//!   what was done (the counts of all accesses) − what was taken back = what lasts
//!   live rows     = rows when they were known (a Base) + inserted since − deleted since
//! ```
//!
//! Rows are known when a table is vacuumed, analyzed, emptied or rewritten. A base belongs to a
//! file. TRUNCATE and commands that rewrite a table give it a new file with a new base. Both are
//! invisible to others before the commit, and a rollback removes both. (PostgreSQL keeps the counts
//! from before a TRUNCATE, and those of subtransactions, separately, in pgstat_relation.c.)
//!
//! Changes of a running transaction are counted as if they lasted. ANALYZE does not see them, so
//! that they count as changes since ANALYZE: the counts are taken when ANALYZE begins
//! ([`RelationStatistics::mark`]).

use hashbrown::HashMap;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use steppe_catalog::{Catalog, Relation};
use steppe_txn::{RelFileNumber, RowChanges, TakenBack};
use steppe_types::Oid;

use super::{Accesses, apart};
use crate::RelationStatistics;

/// The known number of rows in a file, and what was counted at that time.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Base {
    table: Oid,
    /// The rows at that time, and the changes since ANALYZE.
    rows: u64,
    modified: u64,
    /// The lasting changes of the table at that time.
    #[serde(with = "Changes")]
    lasting: RowChanges,
    /// All rows ever inserted until the last VACUUM, including rolled back ones.
    inserted: u64,
    /// Rows copied from another file when this one was made.
    copied: u64,
}

/// A table's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimates {
    /// The live rows.
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

/// How many rows the tables of a database have.
#[derive(Debug, Default)]
pub(crate) struct LiveRows {
    /// By file: a number is not used twice in an engine.
    bases: Mutex<HashMap<RelFileNumber, Base>>,
    /// Counted changes that were rolled back, by table.
    taken_back: Mutex<HashMap<Oid, RowChanges>>,
}

impl LiveRows {
    /// The changes of a table that were not rolled back.
    fn lasting(&self, table: Oid, done: &Accesses) -> RowChanges {
        let gone = self.taken_back.lock().get(&table).copied().unwrap_or_default();
        // A change is counted right after it is made, so perhaps after it is taken back.
        RowChanges {
            inserted: done.inserted.saturating_sub(gone.inserted),
            updated: done.updated.saturating_sub(gone.updated),
            deleted: done.deleted.saturating_sub(gone.deleted),
        }
    }

    fn base_of(&self, table: &Relation) -> Base {
        let bases = self.bases.lock();
        let base = table.storage.and_then(|file| bases.get(&{ file.number }).copied());
        base.unwrap_or_default()
    }

    fn put_base(&self, table: &Relation, base: Base) {
        if let Some(file) = table.storage {
            self.bases.lock().insert(file.number, Base { table: table.oid, ..base });
        }
    }

    /// Forgets dropped tables, and files that tables no longer use. (A newer file than a table's
    /// may be that of a transaction that goes on.)
    pub(super) fn forget_all_but(&self, catalog: &Catalog) {
        self.bases.lock().retain(|file, base| {
            catalog
                .relation(base.table)
                .is_some_and(|table| table.storage.map(|file| file.number) <= Some(*file))
        });
        self.taken_back.lock().retain(|table, _| catalog.relation(*table).is_some());
    }

    /// The present state, to be saved.
    pub(super) fn saved(&self) -> Saved {
        let (bases, taken_back) = (self.bases.lock(), self.taken_back.lock());
        let bases = bases.iter().map(|(file, base)| (file.0, *base));
        let taken_back = taken_back.iter();
        let taken_back = taken_back.map(|(table, changes)| (*table, TakenBackOf(*changes)));
        Saved { bases: bases.collect(), taken_back: taken_back.collect() }
    }

    /// Restores a saved state.
    pub(super) fn restore(&self, saved: Saved) {
        let bases = saved.bases.into_iter().map(|(file, base)| (RelFileNumber(file), base));
        self.bases.lock().extend(bases);
        let mut taken_back = self.taken_back.lock();
        for (table, TakenBackOf(changes)) in saved.taken_back {
            taken_back.entry(table).or_default().add(&changes);
        }
    }
}

impl Base {
    /// The estimates, if `done` are all accesses to the table.
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

/// The counts of a table when ANALYZE began.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Microseconds since 2000-01-01 UTC.
    pub(super) at: i64,
    lasting: RowChanges,
    /// Changes of running transactions.
    unsettled: u64,
    /// The rows that the table gains if the changes of other transactions, which ANALYZE does not
    /// see, last.
    to_come: i64,
}

impl RelationStatistics {
    /// Notes the changes that a rollback has reverted; called by
    /// [`EngineOptions::on_taken_back`](steppe_txn::EngineOptions::on_taken_back). Those of another
    /// database are not this one's.
    pub fn taken_back(&self, what: TakenBack) {
        let LiveRows { bases, taken_back } = &self.rows;
        match what {
            TakenBack::Rows(database, table, changes) if database == self.database => {
                taken_back.lock().entry(table).or_default().add(&changes);
            }
            TakenBack::File(file) if { file.database } == self.database => {
                let base = bases.lock().remove(&{ file.number });
                // The copies in the file were not counted as inserted, but their removal was
                // counted as a rollback.
                if let Some(base) = base.filter(|base| base.copied > 0)
                    && let Some(changes) = taken_back.lock().get_mut(&base.table)
                {
                    changes.inserted = changes.inserted.saturating_sub(base.copied);
                }
            }
            TakenBack::Rows(..) | TakenBack::File(_) => {}
        }
    }

    /// A table's estimates, if `done` are all accesses to it.
    pub fn estimates(&self, table: &Relation, done: &Accesses) -> Estimates {
        self.rows.base_of(table).estimates(done, &self.rows.lasting(table.oid, done))
    }

    /// All changes of a table's rows that were not rolled back.
    pub fn changes_ever(&self, table: &Relation, done: &Accesses) -> u64 {
        let RowChanges { inserted, updated, deleted } = self.rows.lasting(table.oid, done);
        inserted + updated + deleted
    }

    /// Replaces the base of a table's rows, by the old base.
    fn know(
        &self,
        table: &Relation,
        before: &Relation,
        known: impl FnOnce(Base, Estimates, &Accesses) -> Base,
    ) {
        let done = self.counts.total(table.oid);
        let (base, lasting) = (self.rows.base_of(before), self.rows.lasting(table.oid, &done));
        let base = known(base, base.estimates(&done, &lasting), &done);
        self.rows.put_base(table, Base { lasting, ..base });
    }

    /// Sets the number of a table's rows, by VACUUM's count.
    pub(super) fn know_vacuumed(&self, table: &Relation, rows: u64) {
        self.know(table, table, |base, now, done| Base {
            rows,
            modified: now.modified,
            inserted: done.inserted,
            ..base
        });
    }

    /// ANALYZE of a table begins; it has no snapshot yet.
    pub fn mark(&self, table: &Relation, at: i64) -> Mark {
        let [mine, others] = apart::unsettled(&self.counts, table.oid);
        Mark {
            at,
            lasting: self.rows.lasting(table.oid, &self.counts.total(table.oid)),
            unsettled: mine.changes() + others.changes(),
            to_come: others.inserted as i64 - others.deleted as i64,
        }
    }

    /// Sets about how many rows a table had, as ANALYZE found.
    pub(super) fn know_analyzed(&self, table: &Relation, rows: u64, begun: &Mark) {
        let (lasting, modified) = (begun.lasting, begun.unsettled);
        let rows = rows.saturating_add_signed(begun.to_come);
        let base = Base { rows, modified, lasting, ..self.rows.base_of(table) };
        self.rows.put_base(table, base);
    }

    /// Notes that a table has a new file without rows.
    pub fn emptied(&self, table: &Relation, before: &Relation) {
        self.know(table, before, |_, now, done| Base {
            modified: now.modified,
            inserted: done.inserted,
            ..Base::default()
        });
    }

    /// Notes that a table has a new file into which `copied` rows were copied.
    pub fn rewritten(&self, table: &Relation, before: &Relation, copied: u64) {
        self.know(table, before, |base, now, _| Base {
            rows: copied,
            modified: now.modified,
            copied,
            ..base
        });
    }

    /// Counts from zero again, as after pg_stat_reset.
    pub fn reset_estimates<'a>(&self, tables: impl IntoIterator<Item = &'a Relation>) {
        let all = self.totals();
        for table in tables {
            if let Some(done) = all.get(&table.oid) {
                let lasting = self.rows.lasting(table.oid, done);
                let base = Base { lasting, inserted: done.inserted, ..Base::default() };
                self.rows.put_base(table, base);
            }
        }
    }
}

/// The known state of tables' rows, as it is saved.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Saved {
    bases: Vec<(u64, Base)>,
    taken_back: Vec<(Oid, TakenBackOf)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TakenBackOf(#[serde(with = "Changes")] RowChanges);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accesses::{deleted, inserted, updated};
    use steppe_txn::{DatabaseId, FileId};

    fn file_of(number: u64) -> FileId {
        FileId { database: DatabaseId::POSTGRES, number: RelFileNumber(number) }
    }

    const TABLE: Oid = 16_384;

    fn table(file: u64) -> Relation {
        let names = steppe_catalog::RelKind::Table;
        Relation { storage: Some(file_of(file)), ..Relation::new(TABLE, 0, "t", names) }
    }

    #[test]
    fn what_is_rolled_back_and_truncated_is_not_there() {
        let counts = RelationStatistics::of_postgres();
        counts.enter();
        let of = |table: &Relation| {
            let Estimates { live, modified, inserted } =
                counts.estimates(table, &counts.counts.total(TABLE));
            (live, modified, inserted)
        };
        let taken_back = |changes| {
            counts.taken_back(TakenBack::Rows(DatabaseId::POSTGRES, TABLE, changes));
        };
        let first = table(100);
        inserted(TABLE, 50);
        updated(TABLE, false);
        deleted(TABLE);
        assert_eq!(of(&first), (49, 52, 50));
        inserted(TABLE, 7);
        let changes = RowChanges { inserted: 7, ..RowChanges::default() };
        taken_back(changes);
        // A table of another database with the same OID.
        counts.taken_back(TakenBack::Rows(DatabaseId(6), TABLE, changes));
        assert_eq!(of(&first), (49, 52, 57));
        counts.know_analyzed(&first, 48, &counts.mark(&first, 0));
        assert_eq!(of(&first), (48, 0, 57));
        counts.know_vacuumed(&first, 49);
        inserted(TABLE, 1);
        assert_eq!(of(&first), (50, 1, 1));
        // TRUNCATE, insert two rows, ROLLBACK; others see the table as it was all the time.
        let second = table(101);
        counts.emptied(&second, &first);
        inserted(TABLE, 2);
        assert_eq!(of(&second), (2, 3, 2));
        taken_back(RowChanges { inserted: 2, ..changes });
        counts.taken_back(TakenBack::File(file_of(101)));
        assert_eq!(of(&first), (50, 1, 3));
        // The same with a rewrite: its copies are taken back, too, although they were not counted.
        let third = table(102);
        counts.rewritten(&third, &first, 50);
        inserted(TABLE, 3);
        assert_eq!(of(&third), (53, 4, 6));
        taken_back(RowChanges { inserted: 53, ..changes });
        counts.taken_back(TakenBack::File(file_of(102)));
        assert_eq!(of(&first), (50, 1, 6));
    }
}
