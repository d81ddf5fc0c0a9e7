//! Scans over the rows of a table.

use std::ops::Bound;

use steppe_storage::{Cursor, Direction, Tree};
use steppe_types::Result;

use crate::change::RowHeader;
use crate::purge::{Entries, Passed};
use crate::row_ids::row_id_of;
use crate::table::RowId;
use crate::view::{RowMeta, View, meta};

/// A scan over the rows of a table that a view sees. It works on private copies
/// of leaves and never waits for a writer.
pub struct RowCursor {
    /// `None`: there are no rows yet.
    cursor: Option<Cursor>,
    view: View,
    version: Vec<u8>,
    scratch: Vec<u8>,
    passed: Passed,
}

fn key_bound(bound: Bound<RowId>) -> Bound<[u8; 8]> {
    bound.map(|row| row.0.to_be_bytes())
}

fn as_slice(bound: &Bound<[u8; 8]>) -> Bound<&[u8]> {
    bound.as_ref().map(|key| &key[..])
}

/// Passes a row that the view does not see.
fn pass(passed: &mut Passed, view: &View, cursor: &Cursor, header: RowHeader) {
    if header.word.is_deleted() {
        let key = |out: &mut Vec<u8>| out.extend_from_slice(cursor.key());
        passed.deleted(view.database(), header.word, (cursor.tree().id(), Entries::Rows), key);
    }
}

impl RowCursor {
    pub(crate) fn new(
        tree: Option<Tree>,
        view: View,
        from: Bound<RowId>,
        to: Bound<RowId>,
        direction: Direction,
    ) -> RowCursor {
        let (from, to) = (key_bound(from), key_bound(to));
        let cursor = tree.map(|tree| tree.scan(as_slice(&from), as_slice(&to), direction));
        let (version, scratch) = (Vec::new(), Vec::new());
        RowCursor { cursor, view, version, scratch, passed: Passed::default() }
    }

    /// Goes to the page that `row` is on, or would be: the next batch is its rows from there.
    pub fn seek(&mut self, row: RowId) {
        if let Some(cursor) = &mut self.cursor {
            let key = row.0.to_be_bytes();
            cursor.reset(Bound::Included(&key), Bound::Unbounded, Direction::Forward);
        }
    }

    /// Shows the visible rows of the next leaf to `f`, without copying those
    /// whose newest version is the visible one. False at the end of the scan.
    /// `f` may stop the scan with an error.
    pub fn next_batch(&mut self, f: &mut dyn FnMut(RowId, &[u8]) -> Result<()>) -> Result<bool> {
        let Some(cursor) = &mut self.cursor else { return Ok(false) };
        if !cursor.next_page()? {
            return Ok(false);
        }
        while let Some((key, value)) = cursor.next() {
            let (header, newest) = RowHeader::split(value)?;
            let found = self.view.version(header, newest, &mut self.version, &mut self.scratch)?;
            if found.is_some() {
                self.passed.live();
            }
            match found {
                Some((_, true)) => f(row_id_of(key)?, newest)?,
                Some((_, false)) => f(row_id_of(key)?, &self.version)?,
                None => pass(&mut self.passed, &self.view, cursor, header),
            }
        }
        Ok(true)
    }

    /// The next visible row. The bytes are valid until the next call.
    #[allow(clippy::should_implement_trait)] // lends from the cursor
    pub fn next(&mut self) -> Result<Option<(RowId, &[u8])>> {
        Ok(self.next_version()?.map(|(id, _, row)| (id, row)))
    }

    /// The same, and which version of the row it is.
    #[inline]
    pub fn next_version(&mut self) -> Result<Option<(RowId, RowMeta, &[u8])>> {
        let Some(cursor) = &mut self.cursor else { return Ok(None) };
        let (header, start, is_newest) = loop {
            if !cursor.advance() {
                if !cursor.next_page()? {
                    return Ok(None);
                }
                continue;
            }
            let value = cursor.value();
            let (header, newest) = RowHeader::split(value)?;
            let found = self.view.version(header, newest, &mut self.version, &mut self.scratch)?;
            if let Some((header, is_newest)) = found {
                self.passed.live();
                break (header, value.len() - newest.len(), is_newest);
            }
            pass(&mut self.passed, &self.view, cursor, header);
        };
        let row = if is_newest { &cursor.value()[start..] } else { &self.version };
        Ok(Some((row_id_of(cursor.key())?, meta(header), row)))
    }
}
