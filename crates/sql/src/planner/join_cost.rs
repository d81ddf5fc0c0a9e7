//! The costs of joins (costsize.c).
//!
//! | | before the first row | for all rows |
//! |---|---|---|
//! | nested loop | both sides' | the inner side again for each outer row; of semi and anti joins up to the first match |
//! | hash join | the inner side, hashed | the outer side, and a chain of the table for each of its rows; pages written and read if the table outgrows memory |
//! | merge join | both sides' sorts, and what is passed over of one before the other begins | a comparison for each row, up to where one of them ends |

use super::cost::log2;
use super::path_cost::CostParameters;
use crate::plan::Cost;
use crate::query::JoinKind;

const PAGE_BYTES: f64 = 8192.0;
/// The memory of a row besides its columns.
const ROW_OVERHEAD: f64 = 24.0;

/// Cost parameters, and memory in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Means {
    pub(super) costs: CostParameters,
    pub(super) memory: f64,
}

/// The parts of a join that its cost depends on, for any method.
#[derive(Clone, Copy)]
pub(super) struct JoinShape {
    pub(super) costs: CostParameters,
    pub(super) kind: JoinKind,
    pub(super) outer: Cost,
    pub(super) inner: Cost,
    /// Rows that it hands up.
    pub(super) rows: f64,
    /// Pairs of rows that match, of semi and anti joins too.
    pub(super) pairs: f64,
    /// Conditions that are evaluated for each pair.
    pub(super) conditions: f64,
    /// An outer row has one match at most.
    pub(super) is_inner_unique: bool,
}

/// Reading a side once more.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rescan {
    pub(super) startup: f64,
    pub(super) total: f64,
}

/// The split of a hash table.
#[derive(Clone, Copy, Debug)]
pub(super) struct HashSize {
    pub(super) buckets: f64,
    pub(super) batches: f64,
}

impl HashSize {
    /// The hash table of `rows` rows in `memory` bytes (ExecChooseHashTableSize).
    pub(super) fn of(rows: f64, width: u32, memory: f64) -> HashSize {
        let row = f64::from(width) + ROW_OVERHEAD;
        let bytes = rows.max(1.0) * row;
        let in_memory = (memory / row).max(1024.0);
        let buckets = rows.clamp(1024.0, in_memory.max(1024.0)).log2().ceil().exp2();
        let batches = (bytes / memory.max(1.0)).max(1.0).log2().ceil().exp2();
        HashSize { buckets, batches }
    }
}

/// A side of a merge join, in the order of the keys.
#[derive(Clone, Copy)]
pub(super) struct MergeSide {
    pub(super) cost: Cost,
    /// The part of it that is read: the rows before it are passed over.
    pub(super) read: (f64, f64),
}

impl JoinShape {
    /// The share of outer rows that a semi or anti join finds a match for, and the share of the
    /// inner rows that it reads for one (compute_semi_anti_join_factors).
    fn early_end(&self) -> Option<(f64, f64)> {
        let outer = self.outer.rows.max(1.0);
        let matched = match self.kind {
            JoinKind::Semi | JoinKind::RightSemi => self.rows / outer,
            JoinKind::Anti | JoinKind::RightAnti => 1.0 - self.rows / outer,
            _ if self.is_inner_unique => self.pairs / outer,
            _ => return None,
        };
        let matched = matched.clamp(0.0, 1.0);
        let matches = (self.pairs / (matched * outer).max(1.0)).max(1.0);
        Some((matched, 2.0 / (matches + 1.0)))
    }

    /// `is_looked_up`: an inner row without a match is not even read.
    pub(super) fn nest_loop(&self, rescan: Rescan, is_looked_up: bool) -> Cost {
        let (o, i) = (&self.outer, &self.inner);
        let (first, again) = (i.total - i.startup, rescan.total - rescan.startup);
        let loops = (o.rows - 1.0).max(0.0);
        let mut run = o.total - o.startup + loops * rescan.startup;
        let mut pairs = o.rows * i.rows;
        match self.early_end() {
            Some((share, scanned)) => {
                let matched = (o.rows * share).round();
                let others = o.rows - matched;
                pairs = matched * i.rows * scanned;
                if is_looked_up {
                    run += first * scanned + (matched - 1.0).max(0.0) * again * scanned;
                    run += others * again / i.rows.max(1.0);
                } else {
                    pairs += others * i.rows;
                    run += first + (matched - 1.0).max(0.0) * again * scanned;
                    run += (others - f64::from(matched < 1.0)).max(0.0) * again;
                }
            }
            None => run += first + loops * again,
        }
        run += pairs * (self.costs.cpu_tuple + self.costs.cpu_operator * self.conditions);
        self.cost(o.startup + i.startup, run)
    }

    /// `bucket`: the share of the inner rows with one key. `keys` of the conditions are keys.
    pub(super) fn hash_join(&self, keys: f64, bucket: f64, size: HashSize) -> Cost {
        let (o, i) = (&self.outer, &self.inner);
        let mut startup = o.startup + i.total;
        startup += (self.costs.cpu_operator * keys + self.costs.cpu_tuple) * i.rows;
        let mut run = o.total - o.startup + self.costs.cpu_operator * keys * o.rows;
        if size.batches > 1.0 {
            startup += self.costs.seq_page * pages(i);
            run += self.costs.seq_page * (pages(i) + 2.0 * pages(o));
        }
        let share = bucket.max(1.0 / (size.buckets * size.batches));
        let chain = (i.rows * share).max(1.0);
        let compared = match (self.early_end(), self.kind) {
            (Some((matched, scanned)), JoinKind::Semi | JoinKind::Anti | JoinKind::Inner) => {
                let matched = (o.rows * matched).round();
                matched * (chain * scanned).max(1.0) + (o.rows - matched) * 0.1
            }
            _ => o.rows * chain,
        };
        run += self.costs.cpu_operator * keys * compared * 0.5;
        run += self.handed_up(keys);
        self.cost(startup, run)
    }

    pub(super) fn merge_join(&self, keys: f64, outer: MergeSide, inner: MergeSide) -> Cost {
        let mut cost = (0.0, 0.0);
        for MergeSide { cost: side, read: (from, to) } in [outer, inner] {
            let (run, compared) =
                (side.total - side.startup, self.costs.cpu_operator * keys.max(1.0));
            let (skipped, read) = ((side.rows * from).round(), (side.rows * to).round());
            cost.0 += side.startup + run * from + compared * skipped;
            cost.1 += run * (to - from) + compared * (read - skipped);
        }
        // Rows of one key are kept to be paired again.
        let again = (self.pairs - inner.cost.rows).max(0.0) * self.costs.cpu_operator;
        self.cost(cost.0, cost.1 + again + self.handed_up(keys))
    }

    /// The conditions besides the keys, and the rows themselves.
    fn handed_up(&self, keys: f64) -> f64 {
        let others = (self.conditions - keys).max(0.0);
        self.pairs.max(self.rows) * (self.costs.cpu_tuple + self.costs.cpu_operator * others)
    }

    fn cost(&self, startup: f64, run: f64) -> Cost {
        let width = self.outer.width + self.inner.width;
        Cost { startup, total: startup + run, rows: self.rows, width }
    }
}

fn bytes(cost: &Cost) -> f64 {
    cost.rows * (f64::from(cost.width) + ROW_OVERHEAD)
}

fn pages(cost: &Cost) -> f64 {
    (bytes(cost) / PAGE_BYTES).ceil()
}

/// Keeping rows, the first time (cost_material).
pub(super) fn materialized(input: &Cost, means: &Means) -> Cost {
    let spilled =
        if bytes(input) > means.memory { means.costs.seq_page * pages(input) } else { 0.0 };
    Cost { total: input.total + 2.0 * means.costs.cpu_operator * input.rows + spilled, ..*input }
}

/// Reading kept rows again (cost_rescan).
pub(super) fn kept_rows(input: &Cost, means: &Means) -> Rescan {
    let spilled =
        if bytes(input) > means.memory { means.costs.seq_page * pages(input) } else { 0.0 };
    Rescan { startup: 0.0, total: means.costs.cpu_operator * input.rows + spilled }
}

/// A sort for a merge join, within this memory (cost_tuplesort).
pub(super) fn sorted(input: &Cost, means: &Means) -> Cost {
    let rows = input.rows.max(2.0);
    let mut startup = input.total + 2.0 * means.costs.cpu_operator * rows * log2(rows);
    if bytes(input) > means.memory {
        let costs = &means.costs;
        // Written and read once: three quarters of it in order.
        startup += 2.0 * pages(input) * (costs.seq_page * 0.75 + costs.random_page * 0.25);
    }
    Cost { startup, total: startup + means.costs.cpu_operator * rows, ..*input }
}
