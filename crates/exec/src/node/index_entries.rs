//! The entries that an index scan visits, one search after the other. The callers look up the rows
//! later, many at a time.
//!
//! ```text
//!   probes ──▶ stretch: a range of keys, one key, or some ──▶ checks ──▶ entry: key, row, how sure
//! ```
//!
//! Several keys are looked up together, so that their memory accesses overlap
//! ([`steppe_txn::IndexStore::lookup_many`]). Their entries are the same as from single look-ups.
//! The first look-up has one key, later ones have more, so that LIMIT stays cheap.

use super::index_scan::IndexPlan;
use super::key_check::KeyChecks;
use super::key_cursor::KeyCursor;
use super::probes::{Probe, Probes};
use crate::access::long_keys::group_of;
use crate::context::ExecContext;
use steppe_txn::{Found, LookupKeys, RowId, Visibility};
use steppe_types::{Error, Result};

pub(super) struct IndexEntries {
    probes: Probes,
    checks: KeyChecks,
    stretch: Stretch,
    together: Together,
    /// The number of keys in the next look-up.
    keys_next: usize,
    postings: Vec<u8>,
    examined: u32,
    /// Probes made, and rows that were read to compare their keys.
    pub(super) searches: u64,
    pub(super) fetches: u64,
}

/// The source of entries.
enum Stretch {
    None,
    Range(Box<KeyCursor>),
    /// The rows of one key, and the number of visited ones.
    Point(Vec<u8>, Vec<(RowId, Visibility)>, usize),
    /// The rows of several keys, in [`Together`], and the number of visited ones.
    Keys(usize),
}

/// Keys that are looked up together, and their rows.
#[derive(Default)]
struct Together {
    keys: LookupKeys,
    found: Found,
}

/// The most keys that are looked up together, and rows of them.
const KEYS_MAX: usize = 64;
const ROWS_MAX: usize = 1024;

impl IndexEntries {
    /// Evaluates the keys to search for, with the present parameters.
    pub(super) fn new(scan: &IndexPlan, cx: &mut ExecContext) -> Result<IndexEntries> {
        let probes = Probes::new(scan, cx)?;
        let checks = KeyChecks::new(&scan.range.checks, &scan.index, cx)?;
        let (probes, checks) = match checks {
            Some(checks) => (probes, checks),
            None => (Probes::nothing(), KeyChecks::default()),
        };
        Ok(IndexEntries {
            probes,
            checks,
            stretch: Stretch::None,
            together: Together::default(),
            keys_next: 1,
            postings: Vec::new(),
            examined: 0,
            searches: 0,
            fetches: 0,
        })
    }

    /// As [`Self::new`], for a caller that visits all entries.
    pub(super) fn all(scan: &IndexPlan, cx: &mut ExecContext) -> Result<IndexEntries> {
        Ok(IndexEntries { keys_next: KEYS_MAX, ..IndexEntries::new(scan, cx)? })
    }

    /// Moves to the next entry; false at the end.
    pub(super) fn advance(&mut self, scan: &IndexPlan, cx: &mut ExecContext) -> Result<bool> {
        loop {
            let is_there = match &mut self.stretch {
                Stretch::None => false,
                Stretch::Range(cursor) => {
                    cursor.advance(&scan.table, &scan.index, &mut self.fetches, cx)?
                }
                Stretch::Point(_, rows, visited) => {
                    *visited += 1;
                    *visited <= rows.len()
                }
                Stretch::Keys(visited) => {
                    *visited += 1;
                    *visited <= self.together.found.rows().len()
                }
            };
            if !is_there {
                if !self.next_stretch(scan, cx)? {
                    return Ok(false);
                }
                continue;
            }
            self.examined += 1;
            if self.examined.is_multiple_of(256) {
                cx.check_interrupts()?;
            }
            if self.checks.is_empty() {
                return Ok(true);
            }
            let key = match &self.stretch {
                Stretch::Range(cursor) => cursor.entry().0,
                Stretch::Point(key, ..) => key,
                Stretch::Keys(visited) => self.together.found.key(*visited - 1),
                Stretch::None => return Err(nowhere()),
            };
            if self.checks.pass(key, &scan.index)? {
                return Ok(true);
            }
        }
    }

    /// Moves to the next stretch; false if there is none.
    fn next_stretch(&mut self, scan: &IndexPlan, cx: &mut ExecContext) -> Result<bool> {
        self.stretch = Stretch::None;
        if self.keys_next > 1 && !scan.backward && self.look_up_keys(scan, cx)? {
            return Ok(true);
        }
        self.keys_next = (4 * self.keys_next).min(KEYS_MAX);
        let Some(probe) = self.probes.next(scan, cx)? else { return Ok(false) };
        self.searches += 1;
        cx.check_interrupts()?;
        let view = cx.view()?;
        self.stretch = match probe {
            Probe::Point(key) => {
                let mut rows = Vec::new();
                let mut found = scan.index.store.lookup_unique(view, &key, &mut self.postings)?;
                while let Some(row) = found.try_next()? {
                    rows.push(row);
                }
                Stretch::Point(key, rows, 0)
            }
            Probe::Range(range) => {
                let view = view.clone();
                let cursor = KeyCursor::open(&scan.index, view, range, scan.backward)?;
                Stretch::Range(Box::new(cursor))
            }
        };
        Ok(true)
    }

    /// Looks up the next keys together; false if the next stretch is of another kind.
    fn look_up_keys(&mut self, scan: &IndexPlan, cx: &mut ExecContext) -> Result<bool> {
        let Together { keys, found } = &mut self.together;
        self.probes.take_keys(self.keys_next, keys)?;
        if keys.is_empty() {
            return Ok(false);
        }
        cx.check_interrupts()?;
        scan.index.store.lookup_many(cx.view()?, keys, 0, ROWS_MAX, found)?;
        let looked_up = found.keys();
        self.probes.take_back(keys.len() - looked_up);
        // A cursor reads entries whose keys are not whole in the index, and the entries of a key
        // that has very many.
        if (0..found.rows().len()).any(|at| group_of(found.key(at)).is_some()) {
            self.probes.take_back(looked_up);
            self.keys_next = 1;
            return Ok(false);
        }
        self.searches += looked_up as u64;
        self.keys_next = (4 * self.keys_next).min(KEYS_MAX);
        self.stretch = Stretch::Keys(0);
        Ok(looked_up > 0)
    }

    /// The present entry: its key, its row, and its visibility.
    pub(super) fn entry(&self) -> Result<(&[u8], RowId, Visibility)> {
        match &self.stretch {
            Stretch::Range(cursor) => Ok(cursor.entry()),
            Stretch::Point(key, rows, visited) => {
                let (row, visibility) = *rows.get(visited.wrapping_sub(1)).ok_or_else(nowhere)?;
                Ok((key, row, visibility))
            }
            Stretch::Keys(visited) => {
                let (at, found) = (visited.wrapping_sub(1), &self.together.found);
                let row = *found.rows().get(at).ok_or_else(nowhere)?;
                Ok((found.key(at), row, found.visibility(at)))
            }
            Stretch::None => Err(nowhere()),
        }
    }
}

#[cold]
fn nowhere() -> Error {
    Error::internal("an index scan is at no entry")
}
