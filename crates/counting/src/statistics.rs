//! The counts of one engine's relations.
//!
//! Each engine of a process has its own: counts are kept by OID, and OIDs belong to an engine. Its
//! server makes them before the database is open, so that they learn what a rollback reverts, and
//! gives them to DDL, to the views and to the background analyzer.

use hashbrown::HashMap;
use parking_lot::Mutex;
use steppe_types::Oid;

use crate::accesses::{Counts, LiveRows, Maintenance, Trees};
use crate::blocks::Former;

/// The counts of the relations of one engine (PostgreSQL's cumulative statistics of relations).
#[derive(Default)]
pub struct RelationStatistics {
    pub(crate) counts: Counts,
    pub(crate) rows: LiveRows,
    pub(crate) trees: Mutex<Trees>,
    pub(crate) maintenance: Mutex<HashMap<Oid, Maintenance>>,
    pub(crate) former: Mutex<Former>,
}
