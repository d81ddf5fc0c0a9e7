//! What VACUUM and ANALYZE have done to tables: last_vacuum, analyze_count and their kin.

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use steppe_catalog::Relation;
use steppe_types::Oid;

use super::{AUTOMATIC, Mark};
use crate::RelationStatistics;

/// What VACUUM and ANALYZE have done to a table.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Maintenance {
    /// How often, when for the last time, and for how long in all.
    pub vacuumed: Rounds,
    /// The same of ANALYZE.
    pub analyzed: Rounds,
    /// The same of what the background analyzer does.
    #[serde(default)]
    pub autoanalyzed: Rounds,
}

/// Rounds of one kind.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Rounds {
    /// How many.
    pub count: u64,
    /// When the last one ended: microseconds since 2000-01-01 UTC.
    pub last: i64,
    /// What they took.
    pub microseconds: i64,
}

impl Rounds {
    fn add(&mut self, begun: i64, ended: i64) {
        self.count += 1;
        self.last = ended;
        self.microseconds += ended - begun;
    }
}

impl RelationStatistics {
    fn maintain(&self, table: Oid, note: impl FnOnce(&mut Maintenance)) {
        note(self.maintenance.lock().entry(table).or_default());
    }

    /// A table has been vacuumed: it has so many rows.
    pub fn vacuumed(&self, table: &Relation, rows: u64, begun: i64, ended: i64) {
        self.know_vacuumed(table, rows);
        self.maintain(table.oid, |maintenance| maintenance.vacuumed.add(begun, ended));
    }

    /// A table has been analyzed: it had about so many rows when that began.
    pub fn analyzed(&self, table: &Relation, rows: u64, begun: &Mark, ended: i64) {
        self.know_analyzed(table, rows, begun);
        self.trees.lock().analyzed(table.oid);
        self.maintain(table.oid, |maintenance| {
            let rounds = match AUTOMATIC.get() {
                true => &mut maintenance.autoanalyzed,
                false => &mut maintenance.analyzed,
            };
            rounds.add(begun.at, ended);
        });
    }

    /// What was done to tables.
    pub fn maintenance(&self) -> HashMap<Oid, Maintenance> {
        self.maintenance.lock().clone()
    }

    /// Forgets what was done to tables.
    pub fn forget_maintenance(&self, of: impl Fn(Oid) -> bool) {
        self.maintenance.lock().retain(|table, _| !of(*table));
    }
}
