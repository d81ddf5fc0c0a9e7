//! The costs of reading one relation (costsize.c, btcostestimate in selfuncs.c).
//!
//! A fetch through an index is charged between two bounds. The upper one has every row on a page of
//! its own at random, by Mackert and Lohman's formula for a cache of `effective_cache_size` ("Index
//! scans using a finite LRU buffer: a validated I/O model", TODS 1989). The lower one has the pages
//! one after the other. The square of the first key's correlation with the order of rows determines
//! the place between them.
//!
//! Tables are trees by row id here, and an entry that the snapshot may trust needs no fetch at
//! all: an index-only scan is charged no table pages.

use super::cost;
use crate::plan::Cost;

/// The settings of costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostParameters {
    /// seq_page_cost
    pub seq_page: f64,
    /// random_page_cost
    pub random_page: f64,
    /// cpu_tuple_cost
    pub cpu_tuple: f64,
    /// cpu_index_tuple_cost
    pub cpu_index_tuple: f64,
    /// cpu_operator_cost
    pub cpu_operator: f64,
    /// effective_cache_size in pages
    pub cache_pages: f64,
}

impl Default for CostParameters {
    fn default() -> CostParameters {
        CostParameters {
            seq_page: cost::SEQ_PAGE,
            random_page: cost::RANDOM_PAGE,
            cpu_tuple: cost::CPU_TUPLE,
            cpu_index_tuple: cost::CPU_INDEX_TUPLE,
            cpu_operator: cost::CPU_OPERATOR,
            cache_pages: 524_288.0,
        }
    }
}

/// The work of going down to a page, in operators (DEFAULT_PAGE_CPU_MULTIPLIER).
const PAGE_OPERATORS: f64 = 50.0;
/// Entries that a page of an inner node holds, about.
const FANOUT: f64 = 250.0;
/// Operators for a row id that is added to a bitmap (cost_bitmap_tree_node).
const BITMAP_OPERATORS: f64 = 0.1;
/// The part of an index that a scan reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexReads {
    /// Entries of the whole index, and its pages.
    pub(super) entries: f64,
    pub(super) pages: f64,
    /// Entries between the bounds of all searches.
    pub(super) visited: f64,
    /// The entries that conditions on later keys leave.
    pub(super) found: f64,
    /// Descents.
    pub(super) searches: f64,
    /// Conditions that are compared with an entry's keys.
    pub(super) conditions: f64,
    /// The table's order and the index's, from -1 to 1.
    pub(super) correlation: f64,
    /// The number of runs of the scan, with other values each time: the pages that one run has read
    /// are in the cache for the next.
    pub(super) loops: f64,
}

/// A table's size.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableSize {
    pub(super) rows: f64,
    pub(super) pages: f64,
}

/// A cost without rows: before the first one, and for all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Charge {
    pub(super) startup: f64,
    pub(super) total: f64,
}

impl Charge {
    pub(super) fn for_rows(self, rows: f64, width: u32) -> Cost {
        Cost { startup: self.startup, total: self.total, rows, width }
    }
}

impl CostParameters {
    /// A full scan (cost_seqscan).
    pub(super) fn seq_scan(&self, table: TableSize, operators: f64) -> Charge {
        let per_row = self.cpu_tuple + self.cpu_operator * operators;
        Charge { startup: 0.0, total: table.pages * self.seq_page + table.rows * per_row }
    }

    /// Rows fetched by their ids from the table's tree, with `operators` operators for each
    /// (cost_tidscan).
    pub(super) fn row_fetches(&self, rows: f64, operators: f64) -> Charge {
        let per_row = self.random_page + self.cpu_tuple + self.cpu_operator * operators;
        Charge { startup: 0.0, total: rows * per_row }
    }

    /// Part of a full scan (cost_tidrangescan).
    pub(super) fn row_range(&self, table: TableSize, part: f64, operators: f64) -> Charge {
        let pages = (part * table.pages).ceil().max(1.0);
        let per_row = self.cpu_tuple + self.cpu_operator * operators;
        let total = self.random_page + (pages - 1.0) * self.seq_page + part * table.rows * per_row;
        Charge { startup: 0.0, total }
    }

    /// The entries alone (btcostestimate).
    pub(super) fn index(&self, reads: &IndexReads) -> Charge {
        let searches = reads.searches.max(1.0);
        let height = (reads.pages.max(1.0).ln() / FANOUT.ln()).ceil().max(0.0);
        let descent = reads.entries.max(2.0).log2().ceil() * self.cpu_operator
            + (height + 1.0) * PAGE_OPERATORS * self.cpu_operator;
        let share = (reads.visited / reads.entries.max(1.0)).min(1.0);
        // Searches in the order of keys find most of the inner pages in the cache.
        let pages = (share * reads.pages).ceil().max(1.0);
        let pages = pages.max(searches.min(reads.pages)).max(1.0);
        let pages = match reads.loops > 1.0 {
            true => self.pages_of_loops(pages, reads.pages, reads),
            false => pages,
        };
        let per_entry = self.cpu_index_tuple + self.cpu_operator * reads.conditions;
        Charge {
            startup: descent,
            total: descent * searches + pages * self.random_page + reads.visited * per_entry,
        }
    }

    /// An index scan (cost_index): the entries, and the rows unless it is index-only.
    pub(super) fn index_scan(
        &self,
        reads: &IndexReads,
        table: TableSize,
        operators: f64,
        index_only: bool,
    ) -> Charge {
        let mut charge = self.index(reads);
        if !index_only {
            let scattered = self.pages_of_loops(reads.found, table.pages, reads);
            let scattered = scattered * self.random_page;
            let share = (reads.found / table.rows.max(1.0)).min(1.0);
            let together = (share * table.pages).ceil().max(1.0);
            let together = match reads.loops > 1.0 {
                true => self.pages_of_loops(together, table.pages, reads) * self.random_page,
                false => self.random_page + (together - 1.0) * self.seq_page,
            };
            let clustered = reads.correlation * reads.correlation;
            charge.total += scattered + clustered * (together - scattered);
        }
        charge.total += reads.found * (self.cpu_tuple + self.cpu_operator * operators);
        charge
    }

    /// Rows that a bitmap of `found` row ids names, in their order (cost_bitmap_heap_scan).
    pub(super) fn bitmap_rows(
        &self,
        index: Charge,
        found: f64,
        table: TableSize,
        operators: f64,
    ) -> Charge {
        let all = table.pages.max(1.0);
        let pages = (2.0 * all * found / (2.0 * all + found)).min(all).ceil().max(1.0);
        let per_page = match pages >= 2.0 {
            true => self.random_page - (self.random_page - self.seq_page) * (pages / all).sqrt(),
            false => self.random_page,
        };
        let rows = found.max(1.0);
        // Each row is rechecked as if its bit were not exact.
        let per_row = self.cpu_tuple + self.cpu_operator * operators;
        Charge { startup: index.total, total: index.total + pages * per_page + rows * per_row }
    }

    /// The entries of an index scan as a bitmap (cost_bitmap_tree_node).
    pub(super) fn bitmap_of_index(&self, reads: &IndexReads) -> Charge {
        let mut charge = self.index(reads);
        charge.total += BITMAP_OPERATORS * self.cpu_operator * reads.found;
        charge.startup = charge.total;
        charge
    }

    /// Two or more bitmaps as one (cost_bitmap_and_node, cost_bitmap_or_node).
    pub(super) fn combined_bitmaps(&self, inputs: &[Charge]) -> Charge {
        let total = inputs.iter().map(|input| input.total).sum::<f64>();
        let merged = inputs.len().saturating_sub(1) as f64 * 100.0 * self.cpu_operator;
        Charge { startup: total + merged, total: total + merged }
    }

    /// Pages that one of the scan's runs reads at random, each of `rows` rows.
    fn pages_of_loops(&self, rows: f64, pages: f64, reads: &IndexReads) -> f64 {
        let loops = reads.loops.max(1.0);
        self.pages_fetched(rows * loops, pages, reads.pages) / loops
    }

    /// Pages read for `rows` rows in no order (index_pages_fetched).
    fn pages_fetched(&self, rows: f64, pages: f64, index_pages: f64) -> f64 {
        let all = pages.max(1.0);
        let cache = (self.cache_pages * all / (all + index_pages)).ceil().max(1.0);
        let uncached = 2.0 * all * rows / (2.0 * all + rows);
        let fetched = if all <= cache {
            uncached.min(all)
        } else {
            let limit = 2.0 * all * cache / (2.0 * all - cache);
            match rows <= limit {
                true => uncached,
                false => cache + (rows - limit) * (all - cache) / all,
            }
        };
        fetched.ceil().max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableSize = TableSize { rows: 200_000.0, pages: 5_400.0 };

    fn reads(found: f64, correlation: f64) -> IndexReads {
        IndexReads {
            entries: TABLE.rows,
            pages: 500.0,
            visited: found,
            found,
            searches: 1.0,
            conditions: 2.0,
            correlation,
            loops: 1.0,
        }
    }

    #[test]
    fn a_range_of_unknown_bounds_is_read_by_index() {
        let costs = CostParameters::default();
        let scan = costs.index_scan(&reads(1_000.0, 0.0), TABLE, 0.0, false);
        assert!(scan.total < costs.seq_scan(TABLE, 2.0).total);
        let most = costs.index_scan(&reads(100_000.0, 0.0), TABLE, 0.0, false);
        assert!(most.total > costs.seq_scan(TABLE, 2.0).total);
    }

    #[test]
    fn what_lies_together_is_cheaper_than_what_is_scattered() {
        let costs = CostParameters::default();
        let cost =
            |correlation| costs.index_scan(&reads(20_000.0, correlation), TABLE, 0.0, false).total;
        assert!(cost(1.0) < cost(0.5) && cost(0.5) < cost(0.0));
    }

    #[test]
    fn a_table_larger_than_the_cache_is_read_again() {
        let small = CostParameters { cache_pages: 100.0, ..CostParameters::default() };
        let large = CostParameters::default();
        let pages = |costs: &CostParameters| costs.pages_fetched(50_000.0, 5_400.0, 500.0);
        assert!(pages(&small) > pages(&large));
        assert_eq!(pages(&large), 5_400.0);
    }
}
