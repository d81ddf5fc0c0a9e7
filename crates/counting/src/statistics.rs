//! The counts of one database's relations.
//!
//! Each database of each engine has its own: counts are kept by OID, and two databases may use one
//! OID. The server makes them before the engine is open, so that they learn what a rollback reverts,
//! and gives them to DDL, to the views and to the background analyzer.

use hashbrown::HashMap;
use parking_lot::Mutex;
use steppe_txn::DatabaseId;
use steppe_types::Oid;

use crate::accesses::{Counts, LiveRows, Maintenance, Trees};
use crate::blocks::Former;

/// The counts of the relations of one database (PostgreSQL's cumulative statistics of relations,
/// which have the database in their key).
pub struct RelationStatistics {
    pub(crate) database: DatabaseId,
    pub(crate) counts: Counts,
    pub(crate) rows: LiveRows,
    pub(crate) trees: Mutex<Trees>,
    pub(crate) maintenance: Mutex<HashMap<Oid, Maintenance>>,
    pub(crate) former: Mutex<Former>,
}

impl RelationStatistics {
    /// Makes them for a database, all zero.
    pub fn new(database: DatabaseId) -> RelationStatistics {
        RelationStatistics {
            database,
            counts: Counts::default(),
            rows: LiveRows::default(),
            trees: Mutex::default(),
            maintenance: Mutex::default(),
            former: Mutex::default(),
        }
    }
}

#[cfg(test)]
impl RelationStatistics {
    /// Those of the first database, for tests.
    pub(crate) fn of_postgres() -> std::sync::Arc<RelationStatistics> {
        std::sync::Arc::new(RelationStatistics::new(DatabaseId::POSTGRES))
    }
}
