//! What a snapshot sees.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic;

use steppe_storage::{Lsn, Near};
use steppe_types::{Error, Result};

use crate::change::{Change, DELETED, KEY_CHANGED, Origin, RowHeader, Word, apply_delta, corrupt};
use crate::engine::{Engine, SessionInner};
use crate::serializable::{Member, Serializable};
use crate::status::TxnStatus;
use crate::table::OwnCommand;
use crate::undo::UndoPtr;

/// A moment in the engine's history, seen by one transaction's command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Commits that end at or before this are visible.
    pub lsn: Lsn,
    /// The transaction's own xid, or 0.
    pub xid: u64,
    /// Its own changes are visible if made by earlier commands than this.
    pub cid: u32,
    /// Rows may be changed only if this older snapshot of the transaction sees them, too
    /// ([`Txn::change_at_newest`](crate::Txn::change_at_newest)). 0: there is none.
    pub older: Lsn,
}

/// A snapshot with what it takes to look through it. Cheap to clone; valid as
/// long as its transaction holds the snapshot.
#[derive(Clone)]
pub struct View {
    pub(crate) session: Arc<SessionInner>,
    pub(crate) snapshot: Snapshot,
    /// SERIALIZABLE: whose.
    pub(crate) member: Option<Arc<Member>>,
}

/// Rows of a leaf have numbers that are hardly ever further apart: one further off is not worth a
/// look at the last one's leaf, which the processor would have to fetch.
const LEAF_ROWS_MAX: u64 = 512;

/// A row that was read, in a reusable buffer.
#[derive(Default, Debug)]
pub struct RowBuf {
    value: Vec<u8>,
    start: usize,
    scratch: Vec<u8>,
    near: Option<Near>,
    /// The row that `near` is about.
    near_row: u64,
}

/// Which version of its row was read. Those of two versions of a row are never equal, whatever
/// their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowMeta {
    header: RowHeader,
}

impl RowMeta {
    /// Who wrote it: xmin.
    pub fn xid(&self) -> u64 {
        self.header.word.xid()
    }

    /// Its number among the versions of its row, up to 15 and again from 0.
    pub fn version(&self) -> u8 {
        self.header.word.version()
    }

    pub(crate) fn header(&self) -> RowHeader {
        self.header
    }
}

/// A version of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowVersion {
    /// The row's bytes.
    pub row: Vec<u8>,
    /// Which one.
    pub meta: RowMeta,
}

impl RowBuf {
    /// An empty buffer.
    pub fn new() -> RowBuf {
        RowBuf::default()
    }

    /// The row's bytes.
    pub fn row(&self) -> &[u8] {
        &self.value[self.start..]
    }

    /// Whether the version that [`RowTable::get`](crate::TableStore::get) found is its row's newest,
    /// committed or not: nobody has changed or deleted the row unseen by the snapshot.
    pub fn is_newest(&self) -> bool {
        self.start != 0
    }

    pub(crate) fn value_buffer(&mut self) -> &mut Vec<u8> {
        &mut self.value
    }

    /// As [`Self::value_buffer`], and where the row was that was read last as one of neighbours, if
    /// this one may be on its leaf.
    pub(crate) fn near_buffer(&mut self, row: u64) -> (&mut Vec<u8>, &mut Option<Near>) {
        if self.near_row.abs_diff(row) > LEAF_ROWS_MAX {
            self.near = None;
        }
        self.near_row = row;
        (&mut self.value, &mut self.near)
    }
}

impl View {
    /// SERIALIZABLE: notes what is about to be read.
    #[inline]
    pub(crate) fn reads(
        &self,
        what: impl FnOnce(&Serializable, &Member) -> Result<()>,
    ) -> Result<()> {
        self.engine().serializable.watch(self.member.as_ref(), what)
    }

    /// SERIALIZABLE: whether what is read is noted.
    pub fn notes_reads(&self) -> bool {
        self.member.is_some()
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.session.engine
    }

    /// The snapshot.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot
    }

    /// Whether a version of a row is visible (if it is a deletion: that the row is gone).
    #[inline]
    pub(crate) fn sees(&self, header: RowHeader) -> Result<bool> {
        let xid = header.word.xid();
        if xid == self.snapshot.xid && xid != 0 {
            return self.sees_own(header);
        }
        Ok(self.sees_xid(xid))
    }

    /// Whether an earlier command of the own transaction wrote a version.
    pub(crate) fn sees_own(&self, header: RowHeader) -> Result<bool> {
        Ok(self.command_of(header)? < self.snapshot.cid)
    }

    /// The command of the own transaction that wrote a version.
    fn command_of(&self, header: RowHeader) -> Result<u32> {
        match header.origin {
            Origin::Inserted(cid) => Ok(cid),
            Origin::Changed(undo) => Ok(self.engine().undo.head(undo)?.cid),
        }
    }

    /// Whether a command of the own transaction wrote a version that is no deletion.
    pub(crate) fn is_written_by(&self, header: RowHeader, command: u32) -> Result<bool> {
        let is_own = header.word.xid() == self.snapshot.xid && !header.word.is_deleted();
        Ok(is_own && self.command_of(header)? == command)
    }

    /// Which command of the own transaction put a version in the place of the one that the
    /// snapshot sees, given the row's newest version, which is the own transaction's and unseen.
    #[cold]
    pub(crate) fn replaced_by(&self, newest: RowHeader) -> Result<OwnCommand> {
        let (mut header, mut scratch) = (newest, Vec::new());
        // A row that the running command has written may have been written again within it.
        while header.word.xid() == self.snapshot.xid {
            match self.command_of(header)?.cmp(&self.snapshot.cid) {
                Ordering::Less => break,
                Ordering::Equal => return Ok(OwnCommand::This),
                Ordering::Greater => {}
            }
            let Origin::Changed(undo) = header.origin else { break };
            header = self.before(undo, &mut scratch)?;
        }
        Ok(OwnCommand::Later)
    }

    /// Whether the changes of another transaction are visible.
    #[inline]
    pub(crate) fn sees_xid(&self, xid: u64) -> bool {
        let status = &self.engine().status;
        if xid < status.horizon() {
            return true;
        }
        match status.visible(xid, self.snapshot.lsn.0) {
            Some(csn) => {
                self.observe(csn);
                true
            }
            None => false,
        }
    }

    /// Whether the snapshot forbids changes of a version that it sees, which another transaction has
    /// committed.
    #[inline]
    pub(crate) fn is_too_new(&self, xid: u64) -> bool {
        let (status, older) = (&self.engine().status, self.snapshot.older.0);
        older != 0 && xid >= status.horizon() && status.visible(xid, older).is_none()
    }

    /// Notes that the answer depends on a commit that may not be durable yet.
    pub(crate) fn observe(&self, csn: u64) {
        if csn > self.engine().wal().durable_lsn().0 {
            self.session.observed_lsn.fetch_max(csn, atomic::Ordering::AcqRel);
        }
    }

    /// Whether a posting says by itself what the snapshot sees: `Some(live)`;
    /// `None`: the row has to be asked.
    pub(crate) fn posting(&self, word: Word) -> Option<bool> {
        let xid = word.xid();
        // Own postings carry no command id.
        (xid != self.snapshot.xid && self.sees_xid(xid)).then(|| !word.is_deleted())
    }

    /// The version of a row that the snapshot sees, if any, given its newest
    /// version as the tree has it; the bytes end up in `out` unless the newest
    /// is the one, which is said by `true`.
    pub(crate) fn version(
        &self,
        header: RowHeader,
        newest: &[u8],
        out: &mut Vec<u8>,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<(RowHeader, bool)>> {
        if self.sees(header)? {
            return Ok((!header.word.is_deleted()).then_some((header, true)));
        }
        self.met_unseen(header)?;
        out.clear();
        out.extend_from_slice(newest);
        let mut header = header;
        loop {
            let Origin::Changed(undo) = header.origin else { return Ok(None) };
            self.engine().undo.read(undo, scratch)?;
            header = match Change::decode(scratch)? {
                Change::RowUpdate { before, prefix, suffix, middle, .. } => {
                    apply_delta(out, prefix, suffix, middle)?;
                    before
                }
                Change::RowDelete { before, .. } => before,
                _ => return Err(strange_chain()),
            };
            if self.sees(header)? {
                return Ok((!header.word.is_deleted()).then_some((header, false)));
            }
            self.met_unseen(header)?;
        }
    }

    /// Whether the version of a row that the snapshot sees has the key of its newest one: no
    /// change in between is of the key, or a deletion.
    pub(crate) fn has_key_of(&self, newest: RowHeader) -> Result<bool> {
        let (mut header, mut scratch) = (newest, Vec::new());
        while !self.sees(header)? {
            let Origin::Changed(undo) = header.origin else { return Ok(false) };
            if header.word.flags() & (KEY_CHANGED | DELETED) != 0 {
                return Ok(false);
            }
            header = self.before(undo, &mut scratch)?;
        }
        Ok(true)
    }

    /// Whether the version that the snapshot sees was replaced by an update first, given the row's
    /// deletion, which the snapshot does not see.
    #[cold]
    pub(crate) fn was_updated(&self, deletion: RowHeader) -> Result<bool> {
        let (mut header, mut scratch) = (deletion, Vec::new());
        while let Origin::Changed(undo) = header.origin {
            let before = self.before(undo, &mut scratch)?;
            if self.sees(before)? {
                break;
            }
            header = before;
        }
        Ok(!header.word.is_deleted())
    }

    /// Whether nobody has committed a version that the snapshot does not see, given the newest.
    pub(crate) fn is_current(&self, newest: RowHeader) -> Result<bool> {
        let (mut header, mut scratch) = (newest, Vec::new());
        loop {
            let xid = header.word.xid();
            let status = &self.engine().status;
            if (xid == self.snapshot.xid && xid != 0) || self.sees_xid(xid) {
                return Ok(true);
            }
            if let TxnStatus::Committed(_) = status.status(xid) {
                return Ok(false);
            }
            let Origin::Changed(undo) = header.origin else { return Ok(true) };
            header = self.before(undo, &mut scratch)?;
        }
    }

    /// The header of the version that one took the place of.
    fn before(&self, undo: UndoPtr, scratch: &mut Vec<u8>) -> Result<RowHeader> {
        self.engine().undo.read(undo, scratch)?;
        match Change::decode(scratch)? {
            Change::RowUpdate { before, .. } | Change::RowDelete { before, .. } => Ok(before),
            _ => Err(strange_chain()),
        }
    }

    /// SERIALIZABLE: a change that this view does not see, though it looks where it was made.
    fn met_unseen(&self, header: RowHeader) -> Result<()> {
        match &self.member {
            Some(member) if header.word.xid() != self.snapshot.xid => {
                self.engine().serializable.met_unseen(member, header.word.xid())
            }
            _ => Ok(()),
        }
    }

    /// Turns the tree value in `buffer` into the version that the snapshot sees.
    pub(crate) fn resolve(&self, buffer: &mut RowBuf) -> Result<Option<RowMeta>> {
        let (header, row) = RowHeader::split(&buffer.value)?;
        if self.sees(header)? {
            buffer.start = crate::change::ROW_HEADER_LEN;
            return Ok((!header.word.is_deleted()).then_some(meta(header)));
        }
        let mut version = Vec::new();
        let found = self.version(header, row, &mut version, &mut buffer.scratch)?;
        buffer.value = version;
        buffer.start = 0;
        Ok(found.map(|(header, _)| meta(header)))
    }
}

#[cold]
fn strange_chain() -> Error {
    corrupt("undo record: a row's chain leads to another kind")
}

pub(crate) fn meta(header: RowHeader) -> RowMeta {
    RowMeta { header }
}
