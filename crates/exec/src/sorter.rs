//! Sorting rows: in memory, as a bounded top-N, or by external merge
//! (PostgreSQL's tuplesort.c).
//!
//! ```text
//!   push ──▶ rows in memory ──(work_mem full)──▶ sorted run on disk ─┐ … ─┐
//!                 │                                                  ▼    ▼
//!   finish ──▶ sorted order                                     k-way merge
//! ```
//!
//! A row is stored with its computed sort keys appended; keys that are plain columns are not stored
//! twice. In memory (prefix, row number) pairs are sorted. The prefix is an order-preserving digest
//! of the first key, so that most comparisons never touch the row.

use crate::expr::Row;
use crate::heap::InputHeap;
use std::cmp::Ordering;
use std::sync::Arc;
use steppe_spill::{SpillFile, SpillReader, TempSpace, row_bytes};
use steppe_types::compare::{bpchar_key, compare_as};
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// Runs merged at a time: each needs a read buffer.
const FAN_IN: usize = 64;

/// One sort key: a column of the stored row.
#[derive(Clone, Debug)]
pub(crate) struct SortColumn {
    pub(crate) index: usize,
    pub(crate) type_oid: Oid,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

/// Compares two rows by sort keys.
#[inline]
pub(crate) fn compare_rows(keys: &[SortColumn], a: &[Datum], b: &[Datum]) -> Ordering {
    for key in keys {
        let order = compare_key(key, &a[key.index], &b[key.index]);
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

#[inline]
pub(crate) fn compare_key(key: &SortColumn, a: &Datum, b: &Datum) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => {
            if key.nulls_first {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (false, true) => {
            if key.nulls_first {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        (false, false) => {
            let order = compare_as(key.type_oid, a, b);
            if key.descending { order.reverse() } else { order }
        }
    }
}

/// An order-preserving digest. A smaller one means an earlier row; equal ones decide nothing.
pub(crate) fn prefix(key: &SortColumn, value: &Datum) -> u64 {
    let digest = match value {
        Datum::Null => return if key.nulls_first { 0 } else { u64::MAX },
        Datum::Bool(v) => u64::from(*v),
        Datum::Int2(v) => flip(i64::from(*v)),
        Datum::Int4(v) | Datum::Date(v) => flip(i64::from(*v)),
        Datum::Int8(v) | Datum::Time(v) | Datum::Timestamp(v) | Datum::TimestampTz(v) => flip(*v),
        Datum::Oid(v) => u64::from(*v),
        Datum::Float4(v) => float_bits(f64::from(*v)),
        Datum::Float8(v) | Datum::Enum(_, v) => float_bits(*v),
        Datum::Text(v) if key.type_oid == oid::BPCHAR => leading(bpchar_key(v).as_bytes()),
        Datum::Text(v) => leading(v.as_bytes()),
        Datum::Bytea(v) => leading(v),
        Datum::Uuid(v) => leading(&v[..]),
        _ => 1 << 63,
    };
    if key.descending { !digest } else { digest }
}

fn flip(v: i64) -> u64 {
    v as u64 ^ 1 << 63
}

fn float_bits(v: f64) -> u64 {
    if v.is_nan() {
        return u64::MAX;
    }
    let bits = (v + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn leading(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let n = bytes.len().min(8);
    first[..n].copy_from_slice(&bytes[..n]);
    u64::from_be_bytes(first)
}

/// The method of a sort, for EXPLAIN ANALYZE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SortMethod {
    Quicksort,
    TopN,
    ExternalMerge,
}

impl SortMethod {
    /// The name in EXPLAIN.
    pub(crate) fn name(self) -> &'static str {
        match self {
            SortMethod::Quicksort => "quicksort",
            SortMethod::TopN => "top-N heapsort",
            SortMethod::ExternalMerge => "external merge",
        }
    }
}

/// Sorts rows.
pub(crate) struct Sorter {
    keys: Arc<[SortColumn]>,
    /// Columns of a stored row: payload ‖ computed keys.
    stride: usize,
    memory: Vec<Datum>,
    rows: usize,
    bytes: usize,
    bytes_peak: usize,
    bytes_max: usize,
    bound: Option<usize>,
    /// With a bound: the last row that still counted at the last cut.
    worst: Option<Vec<Datum>>,
    temp: Arc<TempSpace>,
    runs: Vec<SpillFile>,
    disk_bytes: u64,
    output: Output,
}

enum Output {
    Loading,
    Memory { order: Vec<(u64, u32)>, next: usize },
    Merge(Merge),
}

impl Sorter {
    /// A sorter of rows of `stride` columns.
    pub(crate) fn new(
        keys: Arc<[SortColumn]>,
        stride: usize,
        bound: Option<usize>,
        bytes_max: usize,
        temp: Arc<TempSpace>,
    ) -> Sorter {
        Sorter {
            keys,
            stride,
            memory: Vec::new(),
            rows: 0,
            bytes: 0,
            bytes_peak: 0,
            bytes_max,
            bound,
            worst: None,
            temp,
            runs: Vec::new(),
            disk_bytes: 0,
            output: Output::Loading,
        }
    }

    /// Adds a row: payload and computed keys side by side.
    pub(crate) fn push(&mut self, row: Row<'_>) -> Result<()> {
        let start = self.memory.len();
        self.memory.extend(row.iter().cloned());
        debug_assert_eq!(self.memory.len() - start, self.stride);
        if let Some(worst) = &self.worst
            && compare_rows(&self.keys, &self.memory[start..], worst).is_ge()
        {
            self.memory.truncate(start);
            return Ok(());
        }
        self.bytes += row_bytes(&self.memory[start..]) + size_of::<(u64, u32)>();
        self.rows += 1;
        self.bytes_peak = self.bytes_peak.max(self.bytes);
        if let Some(bound) = self.bound
            && self.rows >= bound.saturating_mul(2).max(64)
        {
            return self.cut(bound);
        }
        if self.bytes > self.bytes_max && self.rows > 1 || self.rows == u32::MAX as usize {
            return self.spill();
        }
        Ok(())
    }

    fn stored(&self, i: u32) -> &[Datum] {
        let at = i as usize * self.stride;
        &self.memory[at..at + self.stride]
    }

    fn sorted_order(&self) -> Vec<(u64, u32)> {
        let first = self.keys.first();
        let digest = |i: u32| first.map_or(0, |key| prefix(key, &self.stored(i)[key.index]));
        let mut order: Vec<(u64, u32)> = (0..self.rows as u32).map(|i| (digest(i), i)).collect();
        order.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0)
                .then_with(|| compare_rows(&self.keys, self.stored(a.1), self.stored(b.1)))
                // Ties in arrival order: the sort is stable, but callers must not rely on it.
                .then(a.1.cmp(&b.1))
        });
        order
    }

    /// Keeps the first `bound` rows.
    fn cut(&mut self, bound: usize) -> Result<()> {
        let order = self.sorted_order();
        let mut kept = Vec::with_capacity(bound * self.stride);
        for (_, i) in order.iter().take(bound) {
            let at = *i as usize * self.stride;
            kept.extend(self.memory[at..at + self.stride].iter_mut().map(std::mem::take));
        }
        self.memory = kept;
        self.rows = order.len().min(bound);
        self.bytes = row_bytes(&self.memory);
        self.worst = match self.rows {
            0 => Some(Vec::new()),
            n => Some(self.stored(n as u32 - 1).to_vec()),
        };
        Ok(())
    }

    /// Writes the rows in memory as a sorted run.
    fn spill(&mut self) -> Result<()> {
        let mut run = self.temp.create()?;
        for (_, i) in self.sorted_order() {
            run.write(self.stored(i).iter())?;
        }
        run.flush()?;
        self.disk_bytes += run.written();
        self.runs.push(run);
        self.memory.clear();
        self.rows = 0;
        self.bytes = 0;
        Ok(())
    }

    /// Ends loading; rows can be read.
    pub(crate) fn finish(&mut self) -> Result<()> {
        if self.runs.is_empty() {
            let mut order = self.sorted_order();
            order.truncate(self.bound.unwrap_or(usize::MAX));
            self.output = Output::Memory { order, next: 0 };
            return Ok(());
        }
        if self.rows > 0 {
            self.spill()?;
        }
        self.memory = Vec::new();
        while self.runs.len() > FAN_IN {
            let mut batch: Vec<SpillFile> = self.runs.drain(..FAN_IN).collect();
            let mut merge = Merge::new(&self.keys, &mut batch)?;
            let mut run = self.temp.create()?;
            let mut row = Vec::with_capacity(self.stride);
            while merge.next(&mut row)? {
                run.write(row.iter())?;
                row.clear();
            }
            run.flush()?;
            self.runs.push(run);
        }
        self.output = Output::Merge(Merge::new(&self.keys, &mut self.runs)?);
        Ok(())
    }

    /// Back to the first row of the result.
    pub(crate) fn rewind(&mut self) -> Result<()> {
        match &mut self.output {
            Output::Loading => {}
            Output::Memory { next, .. } => *next = 0,
            Output::Merge(merge) => *merge = Merge::new(&self.keys, &mut self.runs)?,
        }
        Ok(())
    }

    /// Appends the first `width` columns of the next row to `out`; false at the end.
    pub(crate) fn next(&mut self, width: usize, out: &mut Vec<Datum>) -> Result<bool> {
        match &mut self.output {
            Output::Loading => Err(Error::internal("sort is read before it is finished")),
            Output::Memory { order, next } => match order.get(*next) {
                None => Ok(false),
                Some((_, i)) => {
                    *next += 1;
                    let at = *i as usize * self.stride;
                    out.extend_from_slice(&self.memory[at..at + width]);
                    Ok(true)
                }
            },
            Output::Merge(merge) => {
                let start = out.len();
                let found = merge.next(out)?;
                out.truncate(if found { start + width } else { start });
                Ok(found)
            }
        }
    }

    /// The method of the sort, and the bytes it took in memory or on disk.
    pub(crate) fn statistics(&self) -> (SortMethod, u64) {
        match (self.disk_bytes, self.bound) {
            (0, Some(_)) if self.worst.is_some() => (SortMethod::TopN, self.bytes_peak as u64),
            (0, _) => (SortMethod::Quicksort, self.bytes_peak as u64),
            (disk, _) => (SortMethod::ExternalMerge, disk),
        }
    }
}

/// A k-way merge of sorted runs by their head rows.
struct Merge {
    keys: Arc<[SortColumn]>,
    readers: Vec<SpillReader>,
    heads: Vec<Vec<Datum>>,
    heap: InputHeap,
}

impl Merge {
    fn new(keys: &Arc<[SortColumn]>, runs: &mut [SpillFile]) -> Result<Merge> {
        let mut readers = runs.iter_mut().map(|r| r.reader(0)).collect::<Result<Vec<_>>>()?;
        let mut heads = vec![Vec::new(); readers.len()];
        let mut begun = Vec::with_capacity(readers.len());
        for (run, reader) in readers.iter_mut().enumerate() {
            if reader.read(&mut heads[run])? {
                begun.push(run);
            }
        }
        let heap = InputHeap::new(begun, |a, b| is_before(keys, &heads, a, b));
        Ok(Merge { keys: keys.clone(), readers, heads, heap })
    }

    fn next(&mut self, out: &mut Vec<Datum>) -> Result<bool> {
        let Some(run) = self.heap.first() else { return Ok(false) };
        out.append(&mut self.heads[run]);
        let ended = !self.readers[run].read(&mut self.heads[run])?;
        self.heap.moved_on(ended, |a, b| is_before(&self.keys, &self.heads, a, b));
        Ok(true)
    }
}

/// Whether run `a`'s head comes before run `b`'s; ties by run, which keeps arrival order.
fn is_before(keys: &[SortColumn], heads: &[Vec<Datum>], a: usize, b: usize) -> bool {
    compare_rows(keys, &heads[a], &heads[b]).then(a.cmp(&b)).is_lt()
}

/// The number of rows a LIMIT lets through, as a bound.
pub(crate) fn bound_from(value: &Datum) -> Result<Option<usize>> {
    match value {
        Datum::Null => Ok(None),
        Datum::Int8(v) if *v >= 0 => Ok(usize::try_from(*v).ok()),
        // The Limit node above reports it.
        Datum::Int8(_) => Ok(None),
        _ => Err(Error::new(SqlState::DATATYPE_MISMATCH, "argument of LIMIT must be type bigint")),
    }
}
