//! The counts, as they are saved for the next start of the server.

use serde::{Deserialize, Serialize};
use steppe_catalog::Catalog;
use steppe_types::Oid;

use super::{Accesses, Maintenance, live, trees};
use crate::RelationStatistics;

/// All that this module counts.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedAccesses {
    relations: Vec<(Oid, Accesses)>,
    gone: Accesses,
    maintenance: Vec<(Oid, Maintenance)>,
    rows: live::Saved,
    trees: trees::Trees,
}

impl RelationStatistics {
    /// The counts of existing relations, and of all others together.
    pub fn save(&self, catalog: &Catalog) -> SavedAccesses {
        self.forget_all_but(catalog);
        let all = self.totals().into_iter().filter(|(_, accesses)| *accesses != Accesses::NONE);
        let (relations, others): (Vec<_>, Vec<_>) =
            all.partition(|(relation, _)| catalog.relation(*relation).is_some());
        let mut gone = *self.counts.gone.lock();
        others.iter().for_each(|(_, accesses)| gone.add(accesses));
        let maintenance = self.maintenance().into_iter().collect();
        let (rows, trees) = (self.rows.saved(), self.trees.lock().clone());
        SavedAccesses { relations, gone, maintenance, rows, trees }
    }

    /// Adds the saved counts.
    pub fn restore(&self, saved: SavedAccesses) {
        self.counts.gone.lock().add(&saved.gone);
        self.counts.add(saved.relations.into_iter().collect());
        self.maintenance.lock().extend(saved.maintenance);
        self.rows.restore(saved.rows);
        self.trees.lock().restore(saved.trees);
    }
}
