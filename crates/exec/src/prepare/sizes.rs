//! The sizes of tables and indexes for the optimiser (plancat.c's estimate_rel_size).
//!
//! Storage estimates a tree's pages and entries from a few of its pages, even without ANALYZE and
//! after a crash. If a tree has hardly changed since ANALYZE, its counts are used, so that
//! estimates do not depend on the sampled pages. A tree that has grown or shrunk is taken to have
//! as many rows a page as ANALYZE found.
//!
//! A table that was never analysed is taken to have at least [`NEW_TABLE_PAGES`] full pages. It is
//! probably being filled, and a plan for a few rows may be kept for many.
//!
//! The planner needs the size of a table or an index once for each way to read it. Storage is asked
//! once a statement, so that all of its estimates use the same sizes.

use crate::constants;
use std::cell::RefCell;
use std::ops::Bound;
use std::sync::Arc;

use hashbrown::HashMap;
use steppe_catalog::{Catalog, IndexKey, Relation, Statistics};
use steppe_sql::expr::{Expr, TypeRef};
use steppe_sql::planner::{self, TableSizes};
use steppe_storage::{Direction, Tree};
use steppe_txn::Engine;
use steppe_types::io::IoContext;
use steppe_types::key::{KeyPart, WITH_A_VALUE, decode_key, is_exact};
use steppe_types::physical::Physical;
use steppe_types::{Datum, Oid};

/// A new table's pages, at least.
const NEW_TABLE_PAGES: f64 = 10.0;
/// The bytes of a page that rows can use.
const PAGE_ROW_BYTES: f64 = 8192.0 - 24.0;
/// The bytes of a row besides its columns.
const ROW_OVERHEAD_BYTES: f64 = 28.0;
/// The greatest difference, as a share, between a tree's pages and ANALYZE's count, to count as the
/// same.
const ESTIMATE_ERROR: f64 = 0.05;

/// Sizes of tables and indexes, as the storage engine knows them, for one statement.
pub(super) struct Sizes<'a> {
    engine: &'a Engine,
    catalog: &'a Arc<Catalog>,
    io: &'a Arc<IoContext>,
    /// (rows, pages) of the relations estimated so far.
    known: RefCell<HashMap<Oid, (f64, f64)>>,
}

impl TableSizes for Sizes<'_> {
    fn size(&self, relation: &Relation) -> (f64, f64) {
        if let Some(size) = self.known.borrow().get(&relation.oid) {
            return *size;
        }
        let size = self.size_now(relation);
        self.known.borrow_mut().insert(relation.oid, size);
        size
    }

    fn stored_rows(&self, relation: &Relation) -> f64 {
        if relation.statistics.is_some() {
            return self.size(relation).0;
        }
        let tree = self.tree(relation);
        tree.and_then(|tree| tree.estimate_size().ok()).map_or(0.0, |size| size.entries as f64)
    }

    fn end(&self, index: &Relation, is_last: bool) -> Option<Datum> {
        self.end_of(index, is_last)
    }

    fn value(&self, expr: &Expr) -> Option<Datum> {
        constants::estimated(expr, self.catalog, self.io)
    }
}

impl<'a> Sizes<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        catalog: &'a Arc<Catalog>,
        io: &'a Arc<IoContext>,
    ) -> Sizes<'a> {
        Sizes { engine, catalog, io, known: RefCell::default() }
    }

    fn size_now(&self, relation: &Relation) -> (f64, f64) {
        let tree = self.tree(relation);
        if let Some(known) = relation.statistics.as_deref().filter(|s| s.rows > 0.0 && s.pages > 0)
        {
            let pages = tree.and_then(|tree| tree.estimate_pages().ok()).unwrap_or_default();
            return since_analyze(known, pages as f64);
        }
        let now = tree.and_then(|tree| tree.estimate_size().ok()).unwrap_or_default();
        let (pages, entries) = (now.pages as f64, now.entries as f64);
        if relation.statistics.is_none() && pages < NEW_TABLE_PAGES && self.may_be_new(relation) {
            let rows = NEW_TABLE_PAGES * rows_per_page(relation);
            return (entries.max(rows.floor()), NEW_TABLE_PAGES);
        }
        (entries, pages.max(1.0))
    }

    /// `None`: there is no tree, or one that cannot be read. Its scan reports that.
    fn tree(&self, relation: &Relation) -> Option<Tree> {
        let id = self.engine.tree_of(relation.storage?).ok()??;
        Some(self.engine.store().tree(id))
    }

    /// The first key of an index from one of its ends that is not NULL, if the key gives the value.
    fn end_of(&self, index: &Relation, is_last: bool) -> Option<Datum> {
        let key = index.index.as_ref()?.keys.first()?;
        // A long text may not be in its key.
        let is_told = is_exact(key.type_oid) && Physical::of(key.type_oid) != Physical::Text;
        let IndexKey { type_oid, descending, nulls_first, .. } = *key;
        let part = KeyPart { type_oid, descending, nulls_first };
        let tree = self.tree(index).filter(|_| is_told)?;
        let direction = if is_last { Direction::Backward } else { Direction::Forward };
        let [from, to] = WITH_A_VALUE;
        let mut cursor = tree.scan(Bound::Included(from), Bound::Excluded(to), direction);
        while cursor.next_page().ok()? {
            if let Some((key, _)) = cursor.next() {
                let mut found = Vec::with_capacity(1);
                decode_key(key, &[part], &mut found).ok()?;
                return found.pop();
            }
        }
        None
    }

    /// Whether it may be a new table: neither an index nor the parent of an inheritance tree, which
    /// often stays empty.
    fn may_be_new(&self, relation: &Relation) -> bool {
        let is_table = relation.storage.is_some() && relation.index.is_none();
        is_table && self.catalog.children(relation.oid).next().is_none()
    }
}

/// Rows and pages of an analysed table that has `pages` pages now.
fn since_analyze(known: &Statistics, pages: f64) -> (f64, f64) {
    let pages_then = known.pages as f64;
    match (pages - pages_then).abs() <= pages_then * ESTIMATE_ERROR {
        true => (known.rows, pages_then),
        false => ((known.rows / pages_then * pages).round(), pages.max(1.0)),
    }
}

/// Rows that fill a page, by the widths of their columns' types.
fn rows_per_page(relation: &Relation) -> f64 {
    let columns = relation.columns.iter().filter(|column| !column.dropped);
    let widths = columns
        .map(|column| planner::type_width(TypeRef { oid: column.type_oid, typmod: column.typmod }));
    PAGE_ROW_BYTES / (f64::from(widths.sum::<u32>()) + ROW_OVERHEAD_BYTES)
}
