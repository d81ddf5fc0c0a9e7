//! What PostgreSQL's system columns show of a version: xmin, xmax, cmin, cmax.
//!
//! xmin is in the row's header for ever. xmax is the transaction that has changed, deleted or
//! locked the row since: nothing of it is stored in the version that was read, so it is looked for
//! when somebody asks, in the newer versions and in the lock table. It is 0 again once a locker has
//! ended, or a change was rolled back (PostgreSQL leaves the number there until somebody writes the
//! row).
//! The command is in the header of an inserted row; a changed row's is in its undo record, and
//! 0 once nobody needs that.

use steppe_types::Result;

use crate::change::{Change, LOCKED, Origin, RowHeader};
use crate::lock::LockTag;
use crate::table::{RowId, TableStore};
use crate::view::{RowMeta, View};

/// The transaction that wrote a version, and the one that has changed or locked it since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionOwners {
    /// Its writer.
    pub xmin: u64,
    /// The transaction that has changed, deleted or locked it; 0: none.
    pub xmax: u64,
    /// The command that did the later of the two.
    pub command: u32,
}

impl TableStore {
    /// What there is to know of a row's version that was read through a view.
    pub fn owners(&self, view: &View, row: RowId, meta: RowMeta) -> Result<VersionOwners> {
        let header = meta.header();
        let mut owners =
            VersionOwners { xmin: header.word.xid(), xmax: 0, command: command(view, header) };
        let (Some(tree), mut value) = (self.tree()?, Vec::new()) else { return Ok(owners) };
        if !tree.read(&row.0.to_be_bytes(), &mut value)? {
            return Ok(owners);
        }
        let newest = RowHeader::split(&value)?.0;
        if newest == header {
            let tag = LockTag::Row(tree.id().root.0, row.0);
            let locker = view.engine().locks.row_locker(tag);
            let own = if header.word.flags() & LOCKED != 0 { owners.xmin } else { 0 };
            owners.xmax = locker.unwrap_or(own);
            return Ok(owners);
        }
        if let Some(next) = next_version(view, newest, header)? {
            (owners.xmax, owners.command) = (next.word.xid(), command(view, next));
        }
        Ok(owners)
    }

    /// The newest version of a row, to a transaction that has just written it.
    pub fn newest(&self, row: RowId) -> Result<Option<RowMeta>> {
        let (Some(tree), mut value) = (self.tree()?, Vec::new()) else { return Ok(None) };
        if !tree.read(&row.0.to_be_bytes(), &mut value)? {
            return Ok(None);
        }
        Ok(Some(crate::view::meta(RowHeader::split(&value)?.0)))
    }
}

/// The version that took another's place, from the newest one on; `None`: it was rolled back.
fn next_version(view: &View, newest: RowHeader, wanted: RowHeader) -> Result<Option<RowHeader>> {
    let (mut header, mut scratch) = (newest, Vec::new());
    // A view needs the undo of what it does not see, so that is there.
    while !view.sees(header)? {
        let Origin::Changed(undo) = header.origin else { return Ok(None) };
        view.engine().undo.read(undo, &mut scratch)?;
        let before = match Change::decode(&scratch)? {
            Change::RowUpdate { before, .. } | Change::RowDelete { before, .. } => before,
            _ => return Ok(None),
        };
        if before == wanted {
            return Ok(Some(header));
        }
        header = before;
    }
    Ok(None)
}

/// The command that made a version, as long as that is known.
fn command(view: &View, header: RowHeader) -> u32 {
    match header.origin {
        Origin::Inserted(cid) => cid,
        Origin::Changed(undo) => {
            let head = view.engine().undo.head(undo);
            head.ok().filter(|head| head.xid == header.word.xid()).map_or(0, |head| head.cid)
        }
    }
}
