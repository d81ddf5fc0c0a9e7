//! The simulated disk behind one mutex: what programs see, what is durable, and
//! what lies between the two.
//!
//! ```text
//!   write ──► visible (page cache)          sync ──► durable
//!               │                             ▲
//!               └──► pending: sectors, lengths┘   power cut: a seeded subset
//!                                                 of pending, each op whole,
//!                                                 torn by sector, or lost
//! ```
//!
//! A pending write holds *whole sectors as they looked just after it*, since a page cache writes
//! whole sectors back. So a sector after a power cut is one of the versions that the file really
//! had, never a mixture that no program wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::content::{Content, SECTOR_SIZE};
use crate::{Error, ErrorKind, Result, SeededRandom, parent_dir};

pub(super) type InodeId = u64;

/// The object behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    Directory,
    File(InodeId),
}

/// A change of a file that no sync has covered yet.
#[derive(Debug, Clone)]
enum Pending {
    /// Whole sectors from an aligned `offset`, in a file then `file_len` long.
    Sectors {
        offset: u64,
        bytes: Vec<u8>,
        file_len: u64,
    },
    Length(u64),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Inode {
    visible: Content,
    durable: Content,
    pending: Vec<Pending>,
    /// Blocks of [`HOLE_BYTES`] within the file that have no space.
    holes: BTreeSet<u64>,
}

/// The smallest unit that a file system can free.
const HOLE_BYTES: u64 = 4096;

/// The blocks that lie wholly within some bytes.
fn whole_blocks(from: u64, to: u64) -> Range<u64> {
    let first = from.div_ceil(HOLE_BYTES);
    first..(to / HOLE_BYTES).max(first)
}

/// The blocks that some bytes touch.
fn touched_blocks(from: u64, to: u64) -> Range<u64> {
    let first = from / HOLE_BYTES;
    first..to.div_ceil(HOLE_BYTES).max(first)
}

/// A change of names that no directory sync has covered yet.
#[derive(Debug, Clone)]
enum NameChange {
    Link { path: PathBuf, inode: InodeId },
    Unlink { path: PathBuf },
    Rename { from: PathBuf, to: PathBuf, inode: InodeId },
}

impl NameChange {
    fn is_in(&self, dir: &Path) -> bool {
        match self {
            NameChange::Link { path, .. } | NameChange::Unlink { path } => parent_dir(path) == dir,
            NameChange::Rename { from, to, .. } => parent_dir(from) == dir || parent_dir(to) == dir,
        }
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, Node>) {
        match self {
            NameChange::Link { path, inode } => {
                names.insert(path.clone(), Node::File(*inode));
            }
            NameChange::Unlink { path } => {
                names.remove(path);
            }
            NameChange::Rename { from, to, inode } => {
                if names.get(from) == Some(&Node::File(*inode)) {
                    names.remove(from);
                }
                names.insert(to.clone(), Node::File(*inode));
            }
        }
    }
}

/// Which operation an injected EIO is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultyOperation {
    Write,
    Sync,
}

#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) operation: FaultyOperation,
    pub(super) path_contains: String,
    /// Fires when this reaches 0.
    pub(super) countdown: u64,
}

/// Whether the power is cut while an operation is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) struct InFlight(bool);

impl InFlight {
    /// Fails if the power was cut during this operation.
    pub(super) fn finish(self, operation: &'static str, path: &Path) -> Result<()> {
        if self.0 { Err(power_cut(operation, path)) } else { Ok(()) }
    }
}

fn power_cut(operation: &'static str, path: &Path) -> Error {
    Error::new(operation, path, ErrorKind::PowerCut, "the power was cut")
}

fn input_output_error(operation: &'static str, path: &Path) -> Error {
    Error::new(operation, path, ErrorKind::Io, "Input/output error (injected)")
}

#[derive(Debug)]
pub(super) struct Disk {
    pub(super) inodes: BTreeMap<InodeId, Inode>,
    pub(super) names: BTreeMap<PathBuf, Node>,
    durable_names: BTreeMap<PathBuf, Node>,
    pending_names: Vec<NameChange>,
    pub(super) locks: BTreeSet<PathBuf>,
    pub(super) random: SeededRandom,
    next_inode: InodeId,
    pub(super) powered: bool,
    /// Operations that change the disk, so far.
    pub(super) operations: u64,
    pub(super) cut_at_operation: Option<u64>,
    pub(super) faults: Vec<Fault>,
    /// Bytes by which files may still grow.
    pub(super) free_bytes: Option<u64>,
}

impl Disk {
    pub(super) fn new(seed: u64) -> Disk {
        Disk {
            inodes: BTreeMap::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            pending_names: Vec::new(),
            locks: BTreeSet::new(),
            random: SeededRandom::new(seed),
            next_inode: 1,
            powered: true,
            operations: 0,
            cut_at_operation: None,
            faults: Vec::new(),
            free_bytes: None,
        }
    }

    /// Fails if the power is off. Every operation asks first.
    pub(super) fn check_power(&self, operation: &'static str, path: &Path) -> Result<()> {
        if self.powered { Ok(()) } else { Err(power_cut(operation, path)) }
    }

    /// Counts an operation that changes the disk. At the armed operation the power is cut while it
    /// is in flight: the operation begins, and its caller sees it fail.
    pub(super) fn begin_change(
        &mut self,
        operation: &'static str,
        path: &Path,
    ) -> Result<InFlight> {
        self.check_power(operation, path)?;
        self.operations += 1;
        let cut = self.cut_at_operation.is_some_and(|at| self.operations >= at);
        self.powered = !cut;
        Ok(InFlight(cut))
    }

    /// Whether an injected fault fires now.
    fn fault_fires(&mut self, operation: FaultyOperation, path: &Path) -> bool {
        let name = path.to_string_lossy();
        let mut fires = false;
        self.faults.retain_mut(|fault| {
            if fault.operation != operation || !name.contains(&fault.path_contains) {
                return true;
            }
            fault.countdown = fault.countdown.saturating_sub(1);
            fires |= fault.countdown == 0;
            fault.countdown > 0
        });
        fires
    }

    pub(super) fn inode(&self, id: InodeId) -> &Inode {
        self.inodes.get(&id).expect("inodes are never dropped while the disk lives")
    }

    fn inode_mut(&mut self, id: InodeId) -> &mut Inode {
        self.inodes.get_mut(&id).expect("inodes are never dropped while the disk lives")
    }

    // ---- names ----

    pub(super) fn directory_exists(&self, dir: &Path) -> bool {
        dir == Path::new(".")
            || dir == Path::new("/")
            || self.names.get(dir) == Some(&Node::Directory)
    }

    fn change_names(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.pending_names.push(change);
    }

    pub(super) fn create_file(&mut self, path: &Path) -> InodeId {
        let inode = self.next_inode;
        self.next_inode += 1;
        self.inodes.insert(inode, Inode::default());
        self.change_names(NameChange::Link { path: path.to_path_buf(), inode });
        inode
    }

    pub(super) fn rename_file(&mut self, from: &Path, to: &Path, inode: InodeId) {
        let (from, to) = (from.to_path_buf(), to.to_path_buf());
        self.change_names(NameChange::Rename { from, to, inode });
    }

    pub(super) fn unlink(&mut self, path: &Path, inode: InodeId) {
        if let Some(free) = &mut self.free_bytes {
            let inode = &self.inodes[&inode];
            *free += inode.visible.len() - inode.holes.len() as u64 * HOLE_BYTES;
        }
        self.change_names(NameChange::Unlink { path: path.to_path_buf() });
    }

    /// Directories are durable at once: see [`crate::Vfs::create_dir_all`].
    pub(super) fn create_directory(&mut self, path: &Path) {
        self.names.insert(path.to_path_buf(), Node::Directory);
        self.durable_names.insert(path.to_path_buf(), Node::Directory);
    }

    pub(super) fn sync_names(&mut self, dir: &Path) {
        let (synced, rest) =
            std::mem::take(&mut self.pending_names).into_iter().partition(|c| c.is_in(dir));
        self.pending_names = rest;
        let synced: Vec<NameChange> = synced;
        for change in synced {
            change.apply(&mut self.durable_names);
        }
    }

    // ---- contents ----

    /// Takes the bytes that a write to `bytes` needs from the free space: those by which the file
    /// grows, and those of the holes there.
    fn take_space(
        &mut self,
        operation: &'static str,
        path: &Path,
        inode: InodeId,
        bytes: Range<u64>,
    ) -> Result<()> {
        let blocks = touched_blocks(bytes.start, bytes.end);
        let holes: Vec<u64> = self.inode(inode).holes.range(blocks).copied().collect();
        let growth = bytes.end.saturating_sub(self.inode(inode).visible.len())
            + holes.len() as u64 * HOLE_BYTES;
        match &mut self.free_bytes {
            Some(free) if *free < growth => {
                let message = "No space left on device (injected)";
                Err(Error::new(operation, path, ErrorKind::OutOfSpace, message))
            }
            free => {
                if let Some(free) = free {
                    *free -= growth;
                }
                let inode = self.inode_mut(inode);
                inode.holes.retain(|block| !holes.contains(block));
                Ok(())
            }
        }
    }

    pub(super) fn write(
        &mut self,
        path: &Path,
        inode: InodeId,
        bytes: &[u8],
        offset: u64,
    ) -> Result<()> {
        if self.fault_fires(FaultyOperation::Write, path) {
            return Err(input_output_error("write", path));
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let end = offset + bytes.len() as u64;
        self.take_space("write", path, inode, offset..end)?;
        self.write_to_cache(inode, bytes, offset);
        Ok(())
    }

    fn write_to_cache(&mut self, inode: InodeId, bytes: &[u8], offset: u64) {
        let end = offset + bytes.len() as u64;
        let inode = self.inode_mut(inode);
        inode.visible.write(bytes, offset);
        let sector = SECTOR_SIZE as u64;
        let first = offset / sector * sector;
        let count = usize::try_from(end.next_multiple_of(sector) - first)
            .expect("a buffer in memory plus two sectors fits the address space");
        let mut sectors = vec![0; count];
        inode.visible.read_padded(&mut sectors, first);
        let file_len = inode.visible.len();
        inode.pending.push(Pending::Sectors { offset: first, bytes: sectors, file_len });
    }

    pub(super) fn set_len(
        &mut self,
        operation: &'static str,
        path: &Path,
        inode: InodeId,
        len: u64,
    ) -> Result<()> {
        if self.fault_fires(FaultyOperation::Write, path) {
            return Err(input_output_error(operation, path));
        }
        self.take_space(operation, path, inode, len..len)?;
        let old_len = self.inode(inode).visible.len();
        let cut_off = self.inode_mut(inode).holes.split_off(&len.div_ceil(HOLE_BYTES));
        if let Some(free) = &mut self.free_bytes {
            *free += old_len.saturating_sub(len + cut_off.len() as u64 * HOLE_BYTES);
        }
        let inode = self.inode_mut(inode);
        inode.visible.set_len(len);
        inode.pending.push(Pending::Length(len));
        Ok(())
    }

    /// Writes zeros, which survive a power cut sector by sector or not, as other writes do.
    pub(super) fn punch_hole(
        &mut self,
        path: &Path,
        inode: InodeId,
        offset: u64,
        len: u64,
    ) -> Result<()> {
        const PIECE: u64 = 1 << 20;
        if self.fault_fires(FaultyOperation::Write, path) {
            return Err(input_output_error("punch a hole into", path));
        }
        let end = (offset + len).min(self.inode(inode).visible.len());
        let mut from = offset;
        while from < end {
            let count = (end - from).min(PIECE);
            let zeros = vec![0; usize::try_from(count).expect("at most a piece")];
            self.write_to_cache(inode, &zeros, from);
            from += count;
        }
        let holes = &mut self.inode_mut(inode).holes;
        let before = holes.len();
        holes.extend(whole_blocks(offset, end));
        let given_back = (holes.len() - before) as u64 * HOLE_BYTES;
        if let Some(free) = &mut self.free_bytes {
            *free += given_back;
        }
        Ok(())
    }

    pub(super) fn fill_hole(
        &mut self,
        path: &Path,
        inode: InodeId,
        offset: u64,
        len: u64,
    ) -> Result<()> {
        let end = (offset + len).min(self.inode(inode).visible.len());
        self.take_space("extend", path, inode, offset..end.max(offset))
    }

    pub(super) fn read(&self, inode: InodeId, buffer: &mut [u8], offset: u64) -> usize {
        self.inode(inode).visible.read(buffer, offset)
    }

    pub(super) fn file_len(&self, inode: InodeId) -> u64 {
        self.inode(inode).visible.len()
    }

    pub(super) fn sync(
        &mut self,
        operation: &'static str,
        path: &Path,
        inode: InodeId,
    ) -> Result<()> {
        let fails = self.fault_fires(FaultyOperation::Sync, path);
        let inode = self.inode_mut(inode);
        let pending = std::mem::take(&mut inode.pending);
        if fails {
            // As Linux does: the pages are marked clean, stay readable, and no
            // later sync will ever write them.
            return Err(input_output_error(operation, path));
        }
        for change in &pending {
            change.apply(&mut inode.durable, |_| true);
        }
        Ok(())
    }

    /// Turns a bit over in what is durable and what is visible.
    pub(super) fn flip_bit(&mut self, inode: InodeId, byte: u64, bit: u8) {
        let inode = self.inode_mut(inode);
        for content in [&mut inode.visible, &mut inode.durable] {
            if byte < content.len() {
                content.flip(byte, bit);
            }
        }
    }

    // ---- the end of the machine ----

    /// The disk after the power is back.
    pub(super) fn after_power_cut(&self, random: &SeededRandom) -> Disk {
        let mut disk = Disk::new(random.next());
        disk.next_inode = self.next_inode;
        disk.durable_names = self.surviving_names(random);
        disk.names = disk.durable_names.clone();
        for (id, inode) in &self.inodes {
            // Drawn for every inode, linked or not, so that one file's fate does
            // not depend on another's name.
            let content = inode.surviving_content(random);
            if disk.names.values().any(|node| *node == Node::File(*id)) {
                let survivor =
                    Inode { visible: content.clone(), durable: content, ..Inode::default() };
                disk.inodes.insert(*id, survivor);
            }
        }
        disk
    }

    /// The disk as the next process finds it after this one was killed: the
    /// page cache lives on, so that unsynced data can still be lost later.
    pub(super) fn after_kill(&self, random: &SeededRandom) -> Disk {
        let mut disk = Disk::new(random.next());
        disk.next_inode = self.next_inode;
        disk.names = self.names.clone();
        disk.durable_names = self.durable_names.clone();
        disk.pending_names = self.pending_names.clone();
        disk.inodes = self.inodes.clone();
        disk
    }

    fn surviving_names(&self, random: &SeededRandom) -> BTreeMap<PathBuf, Node> {
        let mut names = self.durable_names.clone();
        let mut fate = Fate::draw(random, self.pending_names.len());
        for change in &self.pending_names {
            // A change of names is atomic: if it is torn, it has no effect.
            if fate.next(random) == Survival::Whole {
                change.apply(&mut names);
            }
        }
        names
    }
}

impl Pending {
    /// Applies the change as far as `keep(sector index)` says.
    fn apply(&self, content: &mut Content, mut keep: impl FnMut(usize) -> bool) {
        match self {
            Pending::Length(len) => {
                if keep(0) {
                    content.set_len(*len);
                }
            }
            Pending::Sectors { offset, bytes, file_len } => {
                for (index, sector) in bytes.chunks(SECTOR_SIZE).enumerate() {
                    if !keep(index) {
                        continue;
                    }
                    let position = offset + (index * SECTOR_SIZE) as u64;
                    let count = (file_len - position).min(sector.len() as u64);
                    let count = usize::try_from(count).expect("at most a sector");
                    content.write(&sector[..count], position);
                }
            }
        }
    }
}

impl Inode {
    fn surviving_content(&self, random: &SeededRandom) -> Content {
        let mut content = self.durable.clone();
        let mut fate = Fate::draw(random, self.pending.len());
        for change in &self.pending {
            match fate.next(random) {
                Survival::Whole => change.apply(&mut content, |_| true),
                Survival::Torn => change.apply(&mut content, |_| random.chance(1, 2)),
                Survival::Lost => {}
            }
        }
        content
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Survival {
    Whole,
    Torn,
    Lost,
}

/// The plan by which a sequence of unsynced changes survives.
enum Fate {
    /// All of them are lost.
    Nothing,
    /// All of them.
    Everything,
    /// The first few, the next one torn, the rest lost: a device that writes in order.
    Prefix { whole: u64 },
    /// Each on its own: a device that reorders.
    Subset,
}

impl Fate {
    fn draw(random: &SeededRandom, count: usize) -> Fate {
        match random.below(8) {
            0 => Fate::Nothing,
            1 => Fate::Everything,
            2..=4 => Fate::Prefix { whole: random.below(count as u64 + 1) },
            _ => Fate::Subset,
        }
    }

    fn next(&mut self, random: &SeededRandom) -> Survival {
        match self {
            Fate::Nothing => Survival::Lost,
            Fate::Everything => Survival::Whole,
            Fate::Prefix { whole: 0 } => {
                *self = Fate::Nothing;
                Survival::Torn
            }
            Fate::Prefix { whole } => {
                *whole -= 1;
                Survival::Whole
            }
            Fate::Subset => match random.below(3) {
                0 => Survival::Whole,
                1 => Survival::Torn,
                _ => Survival::Lost,
            },
        }
    }
}
