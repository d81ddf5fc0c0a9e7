//! The entries that an index scan visits, one stretch of the index after the other, for those who
//! look the rows up later and many at a time.
//!
//! ```text
//!   probes ──▶ stretch: a range of keys, or one key ──▶ checks ──▶ entry: key, row, how sure
//! ```

use super::index_scan::IndexPlan;
use super::key_check::KeyChecks;
use super::key_cursor::KeyCursor;
use super::probes::{Probe, Probes};
use crate::context::ExecContext;
use steppe_txn::{RowId, Visibility};
use steppe_types::{Error, Result};

pub(super) struct IndexEntries {
    probes: Probes,
    checks: KeyChecks,
    stretch: Stretch,
    postings: Vec<u8>,
    examined: u32,
    /// Probes made, and rows that were looked at to tell keys apart.
    pub(super) searches: u64,
    pub(super) fetches: u64,
}

/// Where entries come from.
enum Stretch {
    None,
    Range(Box<KeyCursor>),
    /// The rows of one key, and how many of them have been visited.
    Point(Vec<u8>, Vec<(RowId, Visibility)>, usize),
}

impl IndexEntries {
    /// Evaluates what is searched for, with the present parameters.
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
            postings: Vec::new(),
            examined: 0,
            searches: 0,
            fetches: 0,
        })
    }

    /// Goes on to the next entry; false at the end.
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
                Stretch::None => return Err(nowhere()),
            };
            if self.checks.pass(key, &scan.index)? {
                return Ok(true);
            }
        }
    }

    /// Goes on to the next stretch; false if there is none.
    fn next_stretch(&mut self, scan: &IndexPlan, cx: &mut ExecContext) -> Result<bool> {
        self.stretch = Stretch::None;
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

    /// The entry that [`Self::advance`] went to: its key, its row, and how much it says.
    pub(super) fn entry(&self) -> Result<(&[u8], RowId, Visibility)> {
        match &self.stretch {
            Stretch::Range(cursor) => Ok(cursor.entry()),
            Stretch::Point(key, rows, visited) => {
                let (row, visibility) = *rows.get(visited.wrapping_sub(1)).ok_or_else(nowhere)?;
                Ok((key, row, visibility))
            }
            Stretch::None => Err(nowhere()),
        }
    }
}

#[cold]
fn nowhere() -> Error {
    Error::internal("an index scan is at no entry")
}
