//! The work of VACUUM and ANALYZE on tables: last_vacuum, analyze_count and their kin.

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use steppe_catalog::Relation;
use steppe_types::Oid;

use super::{AUTOMATIC, Mark};
use crate::RelationStatistics;

/// The work of VACUUM and ANALYZE on a table.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Maintenance {
    /// The runs of VACUUM.
    pub vacuumed: Rounds,
    /// The runs of ANALYZE.
    pub analyzed: Rounds,
    /// The runs of the background analyzer.
    #[serde(default)]
    pub autoanalyzed: Rounds,
}

/// The runs of one command.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Rounds {
    /// The number of runs.
    pub count: u64,
    /// The end of the last run, in microseconds since 2000-01-01 UTC.
    pub last: i64,
    /// The duration of all runs together.
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

    /// VACUUM of a table has ended; the table has `rows` rows.
    pub fn vacuumed(&self, table: &Relation, rows: u64, begun: i64, ended: i64) {
        self.know_vacuumed(table, rows);
        self.maintain(table.oid, |maintenance| maintenance.vacuumed.add(begun, ended));
    }

    /// ANALYZE of a table has ended; the table had about `rows` rows when it began.
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

    /// The maintenance of all tables.
    pub fn maintenance(&self) -> HashMap<Oid, Maintenance> {
        self.maintenance.lock().clone()
    }

    /// Forgets the maintenance of some tables.
    pub fn forget_maintenance(&self, of: impl Fn(Oid) -> bool) {
        self.maintenance.lock().retain(|table, _| !of(*table));
    }
}
