//! What was counted, for the next start of the server to go on from.

use serde::{Deserialize, Serialize};
use steppe_catalog::Catalog;
use steppe_types::Oid;

use super::{
    Accesses, GONE, MAINTENANCE, Maintenance, add_known, forget_all_but, live, maintenance, shard,
    totals, trees,
};

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

impl SavedAccesses {
    /// What was counted of the relations that there are, and of all others together.
    pub fn now(catalog: &Catalog) -> SavedAccesses {
        forget_all_but(catalog);
        let all = totals().into_iter().filter(|(_, accesses)| *accesses != Accesses::NONE);
        let (relations, others): (Vec<_>, Vec<_>) =
            all.partition(|(relation, _)| catalog.relation(*relation).is_some());
        let mut gone = *GONE.lock();
        others.iter().for_each(|(_, accesses)| gone.add(accesses));
        let maintenance = maintenance().into_iter().collect();
        let (rows, trees) = (live::Saved::now(), trees::Trees::now());
        SavedAccesses { relations, gone, maintenance, rows, trees }
    }

    /// Adds it to what is counted.
    pub fn restore(self) {
        GONE.lock().add(&self.gone);
        for (relation, accesses) in self.relations {
            add_known(shard(relation), [(relation, accesses)]);
        }
        MAINTENANCE.lock().get_or_insert_default().extend(self.maintenance);
        self.rows.restore();
        self.trees.restore();
    }
}
