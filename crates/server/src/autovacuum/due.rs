//! Finds the tables that are due for ANALYZE (autovacuum.c, relation_needs_vacanalyze).

use std::sync::Arc;

use hashbrown::HashSet;
use steppe_catalog::{Catalog, RelKind, Relation};
use steppe_counting::accesses::Accesses;
use steppe_txn::Engine;
use steppe_types::Oid;
use steppe_types::setting_number::leading_number;
use steppe_types::text_io::parse_bool;

use crate::server::Server;
use crate::settings::{ServerSettings, Value};

/// For this many changed tables it is cheaper to read all counters at once.
const MANY: usize = 16;
/// After a crash: a table is due if its pages differ by more than this and a share from ANALYZE's.
const PAGES_APART: f64 = 8.0;

type Oids = HashSet<Oid, foldhash::fast::RandomState>;

/// A table's storage parameter.
pub(super) fn option<'a>(table: &'a Relation, name: &str) -> Option<&'a str> {
    table.options.iter().find(|(option, _)| **option == *name).map(|(_, value)| &**value)
}

/// A table's storage parameter, as a number.
pub(super) fn number(table: &Relation, name: &str) -> Option<f64> {
    leading_number(option(table, name)?).map(|(number, _)| number)
}

/// Decides which tables are due.
pub(super) struct Due<'a> {
    server: &'a Server,
    settings: Arc<ServerSettings>,
    catalog: Arc<Catalog>,
}

/// The state of a table's counters.
struct Standing {
    /// It has changed enough.
    is_due: bool,
    /// It has never been analyzed, or at least half of it has changed since.
    is_urgent: bool,
    /// Changes since it was analyzed.
    changes: u64,
}

/// A table that is due.
pub(super) struct Candidate {
    pub(super) table: Oid,
    /// It is analyzed before the nap's end.
    pub(super) is_urgent: bool,
    /// Changes since it was analyzed.
    pub(super) changes: u64,
}

impl Standing {
    fn candidate(&self, table: Oid) -> Option<Candidate> {
        let Standing { is_urgent, changes, .. } = *self;
        self.is_due.then_some(Candidate { table, is_urgent, changes })
    }
}

impl<'a> Due<'a> {
    /// Decides by the present settings and catalog.
    pub(super) fn new(server: &'a Server) -> Due<'a> {
        let (settings, catalog) = (server.settings.current(), server.catalog.published());
        Due { server, settings, catalog }
    }

    /// The due tables of all tables. A crash loses the counters of earlier changes. So the first
    /// look compares the sizes of tables that have no counts. Parents come after their children.
    pub(super) fn of_all(&self, is_first: bool) -> Vec<Oid> {
        let counted = &self.server.relation_statistics;
        let (counts, unsettled) = (counted.totals(), counted.unsettled());
        let tables = self.catalog.relations().filter(|table| self.is_analyzed(table));
        let (mut due, mut parents, mut outgrown) = (Vec::new(), Oids::default(), Oids::default());
        for table in tables {
            let done = counts.get(&table.oid).copied().unwrap_or_default();
            let (standing, ancestors) = self.look_at(table, &done, unsettled.of(table.oid));
            let is_unknown = is_first && done.changes() == 0;
            let is_another = is_unknown && !standing.is_due && self.is_another(table);
            if standing.is_due || is_another {
                due.push(table.oid);
            }
            if is_another {
                outgrown.extend(&ancestors);
            }
            parents.extend(ancestors);
        }
        let is_due = |parent: &&Arc<Relation>| {
            outgrown.contains(&parent.oid) || self.standing_of_tree(parent).is_due
        };
        let parents = parents.iter().filter_map(|parent| self.catalog.relation(*parent));
        due.extend(parents.filter(is_due).map(|parent| parent.oid));
        due
    }

    /// The due tables of the changed ones, and of their parents.
    pub(super) fn of_changed(&self, changed: &[Oid]) -> Vec<Candidate> {
        let counted = &self.server.relation_statistics;
        let many = changed.len() > MANY;
        let many = many.then(|| (counted.totals(), counted.unsettled()));
        let tables = changed.iter().filter_map(|oid| self.catalog.relation(*oid));
        let (mut due, mut parents) = (Vec::new(), Oids::default());
        for table in tables {
            if self.catalog.children(table.oid).next().is_some() {
                parents.insert(table.oid);
            }
            if !self.is_analyzed(table) {
                continue;
            }
            let (done, unsettled) = match &many {
                Some((counts, unsettled)) => {
                    let done = counts.get(&table.oid).copied().unwrap_or_default();
                    (done, unsettled.of(table.oid))
                }
                None => counted.totals_of(table.oid),
            };
            let (standing, ancestors) = self.look_at(table, &done, unsettled);
            due.extend(standing.candidate(table.oid));
            parents.extend(ancestors);
        }
        let parents = parents.iter().filter_map(|parent| self.catalog.relation(*parent));
        due.extend(parents.filter_map(|p| self.standing_of_tree(p).candidate(p.oid)));
        due
    }

    /// The state of a table by its counters. Adds its changes to its ancestors, which it also
    /// returns.
    fn look_at(&self, table: &Relation, done: &Accesses, unsettled: u64) -> (Standing, Vec<Oid>) {
        let statistics = &self.server.relation_statistics;
        let ever = statistics.changes_ever(table, done).saturating_sub(unsettled);
        let ancestors = statistics.add_to_trees(&self.catalog, table, ever);
        let changes = statistics.estimates(table, done).modified.saturating_sub(unsettled);
        (self.standing(table, changes, rows(table)), ancestors)
    }

    fn standing_of_tree(&self, parent: &Arc<Relation>) -> Standing {
        let changes = self.server.relation_statistics.changed_below(parent.oid);
        self.standing(parent, changes, self.rows_of_tree(parent))
    }

    /// Whether it may be analyzed. Other sessions cannot read the rows of temporary tables.
    fn is_analyzed(&self, table: &Relation) -> bool {
        table.kind == RelKind::Table
            && table.storage.is_some()
            && !self.catalog.is_temporary(table)
            && !table.is_detaching()
    }

    fn standing(&self, table: &Relation, changes: u64, rows: Option<f64>) -> Standing {
        let is_enabled = option(table, "autovacuum_enabled")
            .is_none_or(|value| parse_bool(value).unwrap_or(true));
        let real = |name| match self.settings.get(name) {
            Value::Real(value) => value,
            _ => 0.0,
        };
        let threshold = number(table, "autovacuum_analyze_threshold")
            .unwrap_or(self.settings.int("autovacuum_analyze_threshold") as f64);
        let share = number(table, "autovacuum_analyze_scale_factor")
            .unwrap_or_else(|| real("autovacuum_analyze_scale_factor"));
        let (so_many, known) = (changes as f64, rows.unwrap_or(0.0));
        Standing {
            is_due: is_enabled && so_many > threshold + share * known,
            is_urgent: rows.is_none() || so_many >= known / 2.0,
            changes,
        }
    }

    /// The rows that ANALYZE has found in a table and all its descendants; `None` if one is not
    /// analyzed.
    fn rows_of_tree(&self, table: &Arc<Relation>) -> Option<f64> {
        match table.kind {
            RelKind::PartitionedTable => rows(table),
            _ => self.catalog.descendants(table).iter().map(|table| rows(table)).sum(),
        }
    }

    /// Whether a table's size differs from its size at the last ANALYZE.
    fn is_another(&self, table: &Relation) -> bool {
        let pages = pages(&self.server.engine, table).unwrap_or(0) as f64;
        let known = table.statistics.as_ref().filter(|known| known.rows >= 0.0);
        let enabled = self.standing(table, u64::MAX, None).is_due;
        enabled
            && match known.map(|known| known.pages as f64) {
                // A sequential scan of one page is as fast as any plan.
                None => pages > 1.0,
                Some(known) => (pages - known).abs() > PAGES_APART + known / 10.0,
            }
    }
}

/// The rows that ANALYZE has found; `None` before the first ANALYZE.
fn rows(table: &Relation) -> Option<f64> {
    table.statistics.as_ref().map(|known| known.rows).filter(|rows| *rows >= 0.0)
}

/// The pages of a table; `None` if they cannot be counted now.
fn pages(engine: &Engine, table: &Relation) -> Option<u64> {
    let tree = engine.tree_of(table.storage?).ok()??;
    engine.store().tree(tree).page_count().ok()
}
