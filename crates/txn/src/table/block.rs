//! Rows that are looked up many at a time.
//!
//! The tree reads them in groups whose descents wait for memory together ([`Tree::read_many`]); its
//! condition is the one that matters here: each row's newest version is what a single read would
//! have found at some moment during the call, and the moments are in the order of the ids. What
//! the view sees of it is decided as for a single row, right after its reading.
//!
//! A serializable transaction notes each row before it is read, and that may end it: its rows are
//! read one after the other.
//!
//! [`Tree::read_many`]: steppe_storage::Tree::read_many

use steppe_storage::Spread;
use steppe_types::{Error, Result};

use crate::change::{ROW_HEADER_LEN, RowHeader};
use crate::cursor::RowBlock;
use crate::table::{RowId, TableStore};
use crate::view::{RowBuf, View, meta};

/// So many bytes are made room for at once.
const RESERVED_MAX: usize = 256 << 10;

/// Ids that are not much further apart than if they followed each other lie together on leaves.
fn spread_of(ids: &[RowId]) -> Spread {
    let span = match ids {
        [first, .., last] => last.0.abs_diff(first.0),
        _ => 0,
    };
    match span <= 4 * ids.len() as u64 {
        true => Spread::Beside,
        false => Spread::Anywhere,
    }
}

impl TableStore {
    /// Looks many rows up: puts the versions that the view sees into `block`, in place of what it
    /// has, in the order of `ids`. `places` says of each where in `ids` it is; rows that are not
    /// there are left out. With an error the block has the rows before the one that failed.
    ///
    /// Every row is what [`TableStore::get`] would have read at some moment during the call, those
    /// of later places at later moments, and is noted as read as it does. (The block keeps all of
    /// them: some hundreds or thousands at a time are meant.)
    pub fn get_block(
        &self,
        view: &View,
        ids: &[RowId],
        block: &mut RowBlock,
        places: &mut Vec<u32>,
    ) -> Result<()> {
        block.clear(false);
        places.clear();
        if view.member.is_some() {
            return self.get_each(view, ids, block, places);
        }
        let Some(tree) = self.file.tree()? else { return Ok(()) };
        let (mut version, mut scratch) = (Vec::new(), Vec::new());
        let (bytes, mut rows) = block.parts();
        rows.reserve(ids.len());
        places.reserve(ids.len());
        // Every xid below it is seen by everyone; it only moves forward.
        let settled = view.engine().status.horizon();
        tree.read_many(
            (ids.len(), spread_of(ids)),
            |i| ids[i].0.to_be_bytes(),
            bytes,
            |i, start, bytes| {
                let Some(start) = start else { return Ok(()) };
                if start == 0 {
                    // The others may be as long.
                    bytes.reserve((bytes.len() * (ids.len() - 1)).min(RESERVED_MAX));
                }
                let (newest, row) = RowHeader::split(&bytes[start..])?;
                if newest.word.xid() < settled && !newest.word.is_deleted() {
                    rows.push(start + ROW_HEADER_LEN..bytes.len(), meta(newest))?;
                    places.push(i as u32);
                    return Ok(());
                }
                match view.version(newest, row, &mut version, &mut scratch)? {
                    None => bytes.truncate(start),
                    Some((header, is_newest)) => {
                        let start = if is_newest { start + ROW_HEADER_LEN } else { start };
                        if !is_newest {
                            bytes.truncate(start);
                            bytes.extend_from_slice(&version);
                        }
                        rows.push(start..bytes.len(), meta(header))?;
                        places.push(i as u32);
                    }
                }
                Ok::<(), Error>(())
            },
        )
    }

    /// As [`Self::get_block`], each row by itself.
    fn get_each(
        &self,
        view: &View,
        ids: &[RowId],
        block: &mut RowBlock,
        places: &mut Vec<u32>,
    ) -> Result<()> {
        let mut buffer = RowBuf::new();
        for (place, &id) in ids.iter().enumerate() {
            if let Some(meta) = self.get_near(view, id, &mut buffer)? {
                let (bytes, mut rows) = block.parts();
                let start = bytes.len();
                bytes.extend_from_slice(buffer.row());
                rows.push(start..bytes.len(), meta)?;
                places.push(place as u32);
            }
        }
        Ok(())
    }
}
