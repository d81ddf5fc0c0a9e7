//! Rows that are looked up many at a time.

use steppe_types::Result;

use crate::cursor::RowBlock;
use crate::table::{RowId, TableStore};
use crate::view::{RowBuf, View};

impl TableStore {
    /// Looks many rows up: puts the versions that the view sees into `block`, in place of what it
    /// has, in the order of `ids`. `places` says of each where in `ids` it is; rows that are not
    /// there are left out. With an error the block has the rows before the one that failed.
    ///
    /// Every row is what [`TableStore::get`] would have read at some moment during the call, those
    /// of later places at later moments, and is noted as read as it does.
    pub fn get_block(
        &self,
        view: &View,
        ids: &[RowId],
        block: &mut RowBlock,
        places: &mut Vec<u32>,
    ) -> Result<()> {
        block.clear(false);
        places.clear();
        let mut buffer = RowBuf::new();
        for (place, &id) in ids.iter().enumerate() {
            if let Some(meta) = self.get_near(view, id, &mut buffer)? {
                block.push_version(meta, buffer.row());
                places.push(place as u32);
            }
        }
        Ok(())
    }
}
