//! Scans over the rows of a table.

use std::ops::Bound;
use std::sync::Arc;

use steppe_storage::{Cursor, Direction, Tree};
use steppe_types::{Error, Result};

use crate::change::{ROW_HEADER_LEN, RowHeader, Word, corrupt};
use crate::parts::ScanParts;
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
    /// Where the next part of the scan comes from that others help with.
    parts: Option<Arc<ScanParts>>,
}

/// Rows that a cursor has handed out many at a time, for one who reads them column by column.
#[derive(Default, Debug)]
pub struct RowBlock {
    /// Values of pages, and versions from undo between them.
    bytes: Vec<u8>,
    /// Where each row is in them.
    places: Vec<Place>,
    /// Where in `bytes` the page's values are that the cursor is at, and where in the page they
    /// begin.
    page: (usize, usize),
    /// Which versions the rows are, if they were looked up.
    metas: Vec<RowMeta>,
}

/// A row's bytes in a block.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u32,
    end: u32,
}

impl RowBlock {
    /// How many rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The bytes of row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> &[u8] {
        let place = self.places[i];
        &self.bytes[place.start as usize..place.end as usize]
    }

    /// Which version of its row a row is that [`TableStore::get_block`] has looked up; `None` in a
    /// scan's block.
    ///
    /// [`TableStore::get_block`]: crate::TableStore::get_block
    #[inline]
    pub fn meta(&self, i: usize) -> Option<RowMeta> {
        self.metas.get(i).copied()
    }

    /// Drops the rows, and the pages that no row is to come from any more.
    pub(crate) fn clear(&mut self, page_goes_on: bool) {
        self.places.clear();
        self.metas.clear();
        if !page_goes_on {
            self.bytes.clear();
        }
    }

    /// Takes the values of the page that the cursor has gone to.
    fn take_page(&mut self, cursor: &Cursor) {
        let (start, values) = cursor.values();
        self.page = (self.bytes.len(), start);
        self.bytes.extend_from_slice(values);
    }

    /// A row that ends where the value of the cursor's entry does.
    #[inline]
    fn push_newest(&mut self, value: std::ops::Range<usize>) {
        let (at, page_start) = self.page;
        let place = |offset: usize| (at + offset - page_start) as u32;
        self.places
            .push(Place { start: place(value.start + ROW_HEADER_LEN), end: place(value.end) });
    }

    /// The buffer of a block without pages, for rows that are looked up, and what says where they
    /// are in it.
    pub(crate) fn parts(&mut self) -> (&mut Vec<u8>, LookedUp<'_>) {
        (&mut self.bytes, LookedUp { places: &mut self.places, metas: &mut self.metas })
    }

    /// Takes a row as it is given.
    pub fn push(&mut self, row: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(row);
        self.places.push(Place { start: start as u32, end: self.bytes.len() as u32 });
    }
}

/// The rows of a block that are looked up.
pub(crate) struct LookedUp<'a> {
    places: &'a mut Vec<Place>,
    metas: &'a mut Vec<RowMeta>,
}

impl LookedUp<'_> {
    /// Makes room for so many rows.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.places.reserve(rows);
        self.metas.reserve(rows);
    }

    /// Takes a row that lies there in the buffer.
    #[inline]
    pub(crate) fn push(&mut self, row: std::ops::Range<usize>, meta: RowMeta) -> Result<()> {
        let (Ok(start), Ok(end)) = (u32::try_from(row.start), u32::try_from(row.end)) else {
            return Err(Error::internal("more rows were looked up than a block has room for"));
        };
        self.places.push(Place { start, end });
        self.metas.push(meta);
        Ok(())
    }
}

fn key_bound(bound: Bound<RowId>) -> Bound<[u8; 8]> {
    bound.map(|row| row.0.to_be_bytes())
}

fn as_slice(bound: &Bound<[u8; 8]>) -> Bound<&[u8]> {
    bound.as_ref().map(|key| &key[..])
}

/// Goes on with the next part that nobody has taken; false if there is none.
fn take_part(cursor: &mut Cursor, parts: Option<&Arc<ScanParts>>) -> bool {
    let Some((from, to)) = parts.and_then(|parts| parts.take()) else { return false };
    let (from, to) = (key_bound(from), key_bound(to));
    cursor.go_on_with(as_slice(&from), as_slice(&to));
    true
}

/// Goes to the next page, of the next part where the present one has ended.
#[inline]
fn next_page(cursor: &mut Cursor, parts: Option<&Arc<ScanParts>>) -> Result<bool> {
    while !cursor.next_page()? {
        if !take_part(cursor, parts) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Passes a row that the view does not see.
fn pass(passed: &mut Passed, view: &View, cursor: &Cursor, header: RowHeader) {
    if header.word.is_deleted() {
        let key = |out: &mut Vec<u8>| out.extend_from_slice(cursor.key());
        passed.deleted(view.engine(), header.word, (cursor.tree().id(), Entries::Rows), key);
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
        RowCursor::over(tree.map(|tree| tree.scan(as_slice(&from), as_slice(&to), direction)), view)
    }

    /// A scan of all rows.
    pub(crate) fn whole(tree: Option<Tree>, view: View) -> RowCursor {
        RowCursor::over(tree.map(|tree| tree.scan_whole()), view)
    }

    fn over(cursor: Option<Cursor>, view: View) -> RowCursor {
        let (version, scratch) = (Vec::new(), Vec::new());
        RowCursor { cursor, view, version, scratch, passed: Passed::default(), parts: None }
    }

    /// A scan of the rows of the parts that it takes, one after the other.
    pub(crate) fn of_parts(tree: Option<Tree>, view: View, parts: Arc<ScanParts>) -> RowCursor {
        let mut all = RowCursor::whole(tree, view);
        if let Some(cursor) = &mut all.cursor
            && !take_part(cursor, Some(&parts))
        {
            all.cursor = None;
        }
        all.parts = Some(parts);
        all
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
        if !next_page(cursor, self.parts.as_ref())? {
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
                if !next_page(cursor, self.parts.as_ref())? {
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

    /// Puts the next visible rows into `block`, in place of those that it has: about `wanted`, those
    /// of whole pages unless a page has more. False at the end of the scan. With an error the
    /// block has the rows before the one that failed.
    pub fn next_rows(&mut self, block: &mut RowBlock, wanted: usize) -> Result<bool> {
        let Some(cursor) = &mut self.cursor else {
            block.clear(false);
            return Ok(false);
        };
        let mut pages = usize::from(cursor.remaining() > 0);
        block.clear(pages > 0);
        loop {
            // Every xid below it is seen by everyone; it only moves forward.
            let settled = self.view.engine().status.horizon();
            let most = if pages > 1 { usize::MAX } else { wanted };
            while block.len() < most && cursor.advance_to_value() {
                let word = first_word(cursor.value())?;
                if word.xid() < settled && !word.is_deleted() {
                    self.passed.live();
                    block.push_newest(cursor.value_place());
                    continue;
                }
                let (header, newest) = RowHeader::split(cursor.value())?;
                let (version, scratch) = (&mut self.version, &mut self.scratch);
                match self.view.version(header, newest, version, scratch)? {
                    Some((_, is_newest)) => {
                        self.passed.live();
                        match is_newest {
                            true => block.push_newest(cursor.value_place()),
                            false => block.push(version),
                        }
                    }
                    None => {
                        cursor.read_key();
                        pass(&mut self.passed, &self.view, cursor, header);
                    }
                }
            }
            if block.len() >= wanted {
                return Ok(true);
            }
            if !next_page(cursor, self.parts.as_ref())? {
                return Ok(!block.is_empty());
            }
            block.take_page(cursor);
            pages += 1;
        }
    }
}

/// The word of the header that a row's value begins with.
#[inline]
fn first_word(value: &[u8]) -> Result<Word> {
    match value.first_chunk::<ROW_HEADER_LEN>() {
        Some([a, b, c, d, e, f, g, h, ..]) => {
            Ok(Word(u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h])))
        }
        None => Err(corrupt("row header")),
    }
}
