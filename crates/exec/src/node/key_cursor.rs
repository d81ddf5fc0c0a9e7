//! The entries of an index in the order of whole keys.
//!
//! ```text
//!   entry entry ┌ entry entry entry ┐ entry …       as the tree has them
//!               └──────group────────┘
//!                  │ whole keys, from the rows
//!                  ▼ those between the bounds, sorted (work_mem, then disk)
//! ```
//!
//! A group is that of `access/long_keys.rs`: entries whose keys are equal as far as the index keeps
//! them. Most groups have one entry, or none of their keys is long, which is visible from an
//! entry's length. A group is read to its end before its first entry is returned.

use crate::access::long_keys::{around, group_of, is_shortened, lies_between, shorten};
use crate::access::{IndexAccess, TableAccess};
use crate::context::ExecContext;
use crate::expr::Row;
use crate::sorter::{SortColumn, Sorter};
use std::ops::Bound;
use std::sync::Arc;
use steppe_txn::{Direction, IndexCursor, RowBuf, RowId, View, Visibility};
use steppe_types::{Datum, Error, Result, oid};

/// The keys that a scan visits.
#[derive(Debug)]
pub(super) enum KeyRange {
    /// Keys between bounds, which are prefixes.
    Between(Bound<Vec<u8>>, Bound<Vec<u8>>),
    /// This key.
    One(Vec<u8>),
}

/// A scan over a range of keys.
pub(super) struct KeyCursor {
    cursor: IndexCursor,
    range: KeyRange,
    backward: bool,
    /// The group whose entries are being returned.
    group: Option<Sorter>,
    /// The entry after the group, at which `cursor` is.
    behind: Option<(RowId, Visibility)>,
    current: Entry,
}

/// An entry to return.
struct Entry {
    /// Its whole key, unless the index has it.
    key: Option<Datum>,
    row: RowId,
    visibility: Visibility,
}

impl KeyCursor {
    pub(super) fn open(
        index: &IndexAccess,
        view: View,
        range: KeyRange,
        backward: bool,
    ) -> Result<KeyCursor> {
        let direction = if backward { Direction::Backward } else { Direction::Forward };
        let cursor = match &range {
            KeyRange::Between(lower, upper) => {
                let (lower, upper) = (lower.as_ref(), upper.as_ref());
                let (lower, upper) = (lower.map(|k| &k[..]), upper.map(|k| &k[..]));
                index.store.scan(view, around(lower), around(upper), direction)?
            }
            KeyRange::One(key) => {
                let mut key = key.clone();
                shorten(&mut key, 0)?;
                let key = Bound::Included(&key[..]);
                index.store.scan(view, key, key, direction)?
            }
        };
        let current = Entry { key: None, row: RowId(0), visibility: Visibility::AskRow };
        Ok(KeyCursor { cursor, range, backward, group: None, behind: None, current })
    }

    /// Moves to the next entry; false at the end. `fetches` counts the rows that are read.
    #[inline]
    pub(super) fn advance(
        &mut self,
        table: &TableAccess,
        index: &IndexAccess,
        fetches: &mut u64,
        cx: &mut ExecContext,
    ) -> Result<bool> {
        loop {
            if self.group.is_some() && self.advance_in_group()? {
                return Ok(true);
            }
            let (row, visibility) = match self.behind.take() {
                Some(entry) => entry,
                None => match self.cursor.next()? {
                    Some((_, row, visibility)) => (row, visibility),
                    None => return Ok(false),
                },
            };
            if group_of(self.cursor.key()).is_none() {
                self.current = Entry { key: None, row, visibility };
                return Ok(true);
            }
            self.read_group((row, visibility), (table, index), fetches, cx)?;
        }
    }

    /// The entry: its whole key, its row, and its visibility.
    #[inline]
    pub(super) fn entry(&self) -> (&[u8], RowId, Visibility) {
        let key = match &self.current.key {
            Some(Datum::Bytea(key)) => key,
            _ => self.cursor.key(),
        };
        (key, self.current.row, self.current.visibility)
    }

    fn advance_in_group(&mut self) -> Result<bool> {
        let Some(sorter) = &mut self.group else { return Ok(false) };
        let mut entry = Vec::with_capacity(ENTRY_COLUMNS);
        if !sorter.next(ENTRY_COLUMNS, &mut entry)? {
            self.group = None;
            return Ok(false);
        }
        let (Some(Datum::Bool(definitive)), Some(Datum::Int8(row)), key @ Some(_)) =
            (entry.pop(), entry.pop(), entry.pop())
        else {
            return Err(Error::internal("a sorted index entry has other columns"));
        };
        let visibility = if definitive { Visibility::Definitive } else { Visibility::AskRow };
        self.current = Entry { key, row: RowId(row as u64), visibility };
        Ok(true)
    }

    /// Reads the group of the present entry.
    #[cold]
    fn read_group(
        &mut self,
        first: (RowId, Visibility),
        (table, index): (&TableAccess, &IndexAccess),
        fetches: &mut u64,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let view = cx.view()?.clone();
        let group = group_of(self.cursor.key()).unwrap_or_default().to_vec();
        let mut sorter = group_sorter(self.backward, cx)?;
        let (mut entry, mut buffer, mut examined) = (Some(first), RowBuf::new(), 0u32);
        while let Some((row, visibility)) = entry {
            let key = self.cursor.key();
            if group_of(key) != Some(&group) {
                self.behind = entry;
                break;
            }
            examined += 1;
            if examined.is_multiple_of(256) {
                cx.check_interrupts()?;
            }
            let whole = if is_shortened(key) {
                *fetches += 1;
                whole_key(table, index, &view, (key, row), &mut buffer)?
            } else {
                Some((key.to_vec(), visibility))
            };
            if let Some((key, visibility)) = whole
                && self.range.has(&key)
            {
                let definitive = Datum::Bool(visibility == Visibility::Definitive);
                let row = Datum::Int8(row.0 as i64);
                sorter.push(Row::of(&[Datum::Bytea(key.into()), row, definitive]))?;
            }
            entry = self.cursor.next()?.map(|(_, row, visibility)| (row, visibility));
        }
        sorter.finish()?;
        self.group = Some(sorter);
        Ok(())
    }
}

impl KeyRange {
    fn has(&self, key: &[u8]) -> bool {
        match self {
            KeyRange::One(one) => key == one,
            KeyRange::Between(lower, upper) => {
                let (lower, upper) = (lower.as_ref(), upper.as_ref());
                lies_between(key, lower.map(|k| &k[..]), upper.map(|k| &k[..]))
            }
        }
    }
}

/// Whole key, row, and whether the entry is definitive.
const ENTRY_COLUMNS: usize = 3;

fn group_sorter(descending: bool, cx: &ExecContext) -> Result<Sorter> {
    let column = |index, type_oid| SortColumn { index, type_oid, descending, nulls_first: false };
    let keys: Arc<[SortColumn]> = Arc::new([column(0, oid::BYTEA), column(1, oid::INT8)]);
    Ok(Sorter::new(keys, ENTRY_COLUMNS, None, cx.work_mem_bytes, cx.temp()?))
}

/// The whole key of the version of a row that the snapshot sees. `None` if there is none, or it has
/// another key than the entry.
fn whole_key(
    table: &TableAccess,
    index: &IndexAccess,
    view: &View,
    (shortened, row): (&[u8], RowId),
    buffer: &mut RowBuf,
) -> Result<Option<(Vec<u8>, Visibility)>> {
    let Some(rows) = table.rows() else { return Ok(None) };
    if rows.get(view, row, buffer)?.is_none() {
        return Ok(None);
    }
    let mut key = Vec::new();
    if index.whole_key_of_row(table, buffer.row(), &mut key)?.is_none() {
        return Ok(None);
    }
    let whole = key.clone();
    shorten(&mut key, 0)?;
    Ok((key == shortened).then_some((whole, Visibility::Definitive)))
}
