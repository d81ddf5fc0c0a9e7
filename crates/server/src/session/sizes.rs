//! How large tables and indexes are, as the optimiser asks (plancat.c's estimate_rel_size).
//!
//! Storage knows a tree's pages and entries from a few of its pages: without ANALYZE, and after a
//! crash. ANALYZE's counts stand for a tree that has hardly changed since, so that estimates do not
//! depend on which pages were looked at; one that has grown or shrunk has as many rows a page as
//! ANALYZE found.
//!
//! A table that was never analysed is taken to have at least [`NEW_TABLE_PAGES`] full pages: it is
//! most likely just being filled, and a plan that suits a few rows may be kept for many.

use std::ops::Bound;
use std::sync::Arc;

use steppe_catalog::{Catalog, IndexKey, Relation, Statistics};
use steppe_sql::expr::{Expr, TypeRef};
use steppe_sql::planner::{self, TableSizes};
use steppe_storage::{Direction, TreeSize};
use steppe_txn::Database;
use steppe_types::Datum;
use steppe_types::io::IoContext;
use steppe_types::key::{KeyPart, WITH_A_VALUE, decode_key, is_exact};
use steppe_types::physical::Physical;

/// A new table's pages, at least.
const NEW_TABLE_PAGES: f64 = 10.0;
/// What of a page is for rows.
const PAGE_ROW_BYTES: f64 = 8192.0 - 24.0;
/// What a row takes besides its columns.
const ROW_OVERHEAD_BYTES: f64 = 28.0;
/// How far a tree's pages may be from what ANALYZE counted, in shares of that, to count as the same.
const ESTIMATE_ERROR: f64 = 0.05;

/// Sizes of tables and indexes, as the storage engine knows them.
pub(super) struct Sizes<'a> {
    pub(super) database: &'a Database,
    pub(super) catalog: &'a Arc<Catalog>,
    pub(super) io: &'a Arc<IoContext>,
}

impl TableSizes for Sizes<'_> {
    fn size(&self, relation: &Relation) -> (f64, f64) {
        let now = self.tree_size(relation).unwrap_or_default();
        let (pages, entries) = (now.pages as f64, now.entries as f64);
        match relation.statistics.as_deref() {
            Some(known) if known.rows > 0.0 && known.pages > 0 => since_analyze(known, pages),
            None if self.may_be_new(relation) && pages < NEW_TABLE_PAGES => {
                let rows = NEW_TABLE_PAGES * rows_per_page(relation);
                (entries.max(rows.floor()), NEW_TABLE_PAGES)
            }
            _ => (entries, pages.max(1.0)),
        }
    }

    fn end(&self, index: &Relation, is_last: bool) -> Option<Datum> {
        self.end_of(index, is_last)
    }

    fn value(&self, expr: &Expr) -> Option<Datum> {
        steppe_exec::constants::estimated(expr, self.catalog, self.io)
    }
}

impl Sizes<'_> {
    /// `None`: it has no tree, or one that cannot be read, which says so when it is scanned.
    fn tree_size(&self, relation: &Relation) -> Option<TreeSize> {
        let id = self.database.tree_of(relation.storage?).ok()??;
        self.database.store().tree(id).estimate_size().ok()
    }

    /// The first key of an index at one of its ends that is not NULL, if it says what the value is.
    fn end_of(&self, index: &Relation, is_last: bool) -> Option<Datum> {
        let key = index.index.as_ref()?.keys.first()?;
        // A long text may not be in its key.
        let is_told = is_exact(key.type_oid) && Physical::of(key.type_oid) != Physical::Text;
        let IndexKey { type_oid, descending, nulls_first, .. } = *key;
        let part = KeyPart { type_oid, descending, nulls_first };
        let id = self.database.tree_of(index.storage.filter(|_| is_told)?).ok()??;
        let tree = self.database.store().tree(id);
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

    /// Not an index, nor the parent of an inheritance tree, which often stays empty.
    fn may_be_new(&self, relation: &Relation) -> bool {
        let is_table = relation.storage.is_some() && relation.index.is_none();
        is_table && self.catalog.children(relation.oid).next().is_none()
    }
}

/// Rows and pages of an analysed table that has so many pages now.
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
