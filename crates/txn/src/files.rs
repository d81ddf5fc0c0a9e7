//! Files: storage under a number, before and after there is any of it.
//!
//! A table's rows, its out-of-line values and each index are a *file* of their own. Its
//! number is what the catalog of its database knows it by, and is never used for another, in any
//! database (PostgreSQL's relfilenumber). Only the numbers that the layer above gives itself are
//! the same in each database. Its tree, the pages, is made when the first entry is written: a
//! hundred thousand empty partitions have numbers and not one page.
//!
//! ```text
//!   catalog ──file──▶ system tree: f‖database‖number → tree ──▶ pages
//!                     (no entry: nothing was ever written to it)
//! ```
//!
//! The files of a database are next to each other in the system tree: one range of it is what
//! belongs to the database.
//!
//! Two things happen to a file, and neither depends on the transaction that writes first:
//!
//! * *The tree is made*, once, by the first writer, for good: a rollback leaves an
//!   empty tree behind. One log record makes it and says which file it is for, the next
//!   enters it in the system tree. A crash between the two leaves a tree that no entry
//!   names; recovery finds the first record and frees it.
//! * *The file goes*, when the transaction that made it is undone (it has logged
//!   [`Change::CreateFile`]), or when a drop has committed: the tree is freed, then the
//!   entry removed. Until both have happened a committed drop is pending, and a
//!   checkpoint lists it. Nobody writes to a file meanwhile: what makes or drops it
//!   holds ACCESS EXCLUSIVE on what it belongs to.
//!
//! An *unlogged* file has an unlogged tree (storage's `unlogged`). A crash takes the trees of all
//! such files, and then they have none, as if nothing had ever been written to them. It is done
//! before anything else looks for a tree ([`Files::reset_unlogged`]), twice if need be.

use std::collections::HashSet;
use std::ops::{Bound, Range};
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};
use steppe_storage::{Cursor, Direction, LogHeader, Priority, StorageError, Store, Tree, TreeId};
use steppe_types::{Error, Result};

use crate::change::{Change, Reader, corrupt};
use crate::rollback::Gone;
use crate::row_ids::TableShared;

/// A database, by its OID (pg_database.oid).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatabaseId(pub u32);

impl DatabaseId {
    /// What all databases share: databases, roles, tablespaces. No database has this OID.
    pub const SHARED: DatabaseId = DatabaseId(0);
    /// The database "postgres", which every data directory has from the beginning.
    pub const POSTGRES: DatabaseId = DatabaseId(5);
}

/// A file.
///
/// It is packed because a relation in memory has two of them, and there may be a hundred thousand
/// relations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(C, packed(4))]
pub struct FileId {
    /// The database whose catalog knows the file.
    pub database: DatabaseId,
    /// Its number.
    pub number: RelFileNumber,
}

impl FileId {
    /// Bytes of the encoded form.
    const LEN: usize = 12;

    /// See [`RelFileNumber::is_unlogged`].
    pub fn is_unlogged(self) -> bool {
        self.number.is_unlogged()
    }

    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&{ self.database }.0.to_le_bytes());
        out.extend_from_slice(&{ self.number }.0.to_le_bytes());
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<FileId> {
        let database = DatabaseId(reader.u32()?);
        Ok(FileId { database, number: RelFileNumber(reader.u64()?) })
    }
}

/// The number of a file. Those below [`RelFileNumber::FIRST_FREE`] belong to the layer
/// above, for what it must find without a catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelFileNumber(pub u64);

impl RelFileNumber {
    /// The first that [`crate::Txn::create_file`] gives out.
    pub const FIRST_FREE: RelFileNumber = RelFileNumber(16);

    /// Set in the number of an unlogged file.
    const UNLOGGED: u64 = 1 << 62;

    /// Whether changes of the file are not logged: a crash empties it, and so do rollbacks and
    /// drops like those of any other.
    pub fn is_unlogged(self) -> bool {
        self.0 & RelFileNumber::UNLOGGED != 0
    }

    /// The number of an unlogged file.
    pub(crate) fn unlogged(self) -> RelFileNumber {
        RelFileNumber(self.0 | RelFileNumber::UNLOGGED)
    }
}

/// Numbers reserved at once: a crash skips at most so many.
const NUMBERS_RESERVED_AT_ONCE: u64 = 1024;
/// Where the next number to reserve from is.
const NEXT_NUMBER_KEY: &[u8] = b"n";
/// How many crashes have emptied the unlogged files.
const CRASHES_KEY: &[u8] = b"u";

/// A file whose drop has committed, with what is left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DroppedFile {
    pub(crate) file: FileId,
    pub(crate) tree: TreeId,
}

impl DroppedFile {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        self.file.encode(out);
        out.extend_from_slice(&self.tree.to_bytes());
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<DroppedFile> {
        Ok(DroppedFile { file: FileId::decode(reader)?, tree: reader.tree()? })
    }
}

type TreeByFile = HashMap<FileId, TreeId, foldhash::fast::RandomState>;

/// What is known of all files; shared by their handles.
pub(crate) struct Files {
    store: Store,
    system: Tree,
    /// The trees of all files that have one, read when the first is asked for: a file without
    /// pages costs no memory, and no look into the system tree.
    trees: OnceLock<RwLock<TreeByFile>>,
    /// Held by readers.
    reading: Mutex<()>,
    /// Row id allocators.
    tables: Mutex<HashMap<TreeId, Arc<TableShared>, foldhash::fast::RandomState>>,
    /// Held while a tree is made.
    making: Mutex<()>,
    numbers: Mutex<Range<u64>>,
}

/// First byte of the keys of files.
const FILE_KEY: u8 = b'f';

fn file_key(file: FileId) -> [u8; 1 + FileId::LEN] {
    let mut key = [FILE_KEY; 1 + FileId::LEN];
    key[1..5].copy_from_slice(&{ file.database }.0.to_be_bytes());
    key[5..].copy_from_slice(&{ file.number }.0.to_be_bytes());
    key
}

fn file_of(key: &[u8]) -> Result<FileId> {
    let parts = key.get(1..).and_then(|key| key.split_first_chunk::<4>());
    let parts = parts.and_then(|(database, number)| Some((database, number.try_into().ok()?)));
    let (database, number) = parts.ok_or_else(|| corrupt("entry of a file in the system tree"))?;
    let database = DatabaseId(u32::from_be_bytes(*database));
    Ok(FileId { database, number: RelFileNumber(u64::from_be_bytes(number)) })
}

impl Files {
    pub(crate) fn new(store: Store, system: Tree) -> Files {
        Files {
            store,
            system,
            trees: OnceLock::new(),
            reading: Mutex::new(()),
            tables: Mutex::default(),
            making: Mutex::new(()),
            numbers: Mutex::new(0..0),
        }
    }

    /// A number that no file has had.
    pub(crate) fn new_number(&self) -> Result<RelFileNumber> {
        let mut numbers = self.numbers.lock();
        if numbers.is_empty() {
            let mut first = 0;
            self.system.write(NEXT_NUMBER_KEY, LogHeader::default(), |value, op| {
                first = match value {
                    Some(value) => Reader(value).u64()?,
                    None => RelFileNumber::FIRST_FREE.0,
                };
                op.put(&(first + NUMBERS_RESERVED_AT_ONCE).to_le_bytes());
                Ok::<(), Error>(())
            })?;
            *numbers = first..first + NUMBERS_RESERVED_AT_ONCE;
        }
        let number = numbers.next().ok_or_else(|| Error::internal("no file number is left"))?;
        Ok(RelFileNumber(number))
    }

    /// A file's tree, if it has one yet.
    pub(crate) fn tree_of(&self, file: FileId) -> Result<Option<TreeId>> {
        Ok(self.trees()?.read().get(&file).copied())
    }

    /// All trees there are.
    pub(crate) fn all_trees(&self) -> Result<HashSet<TreeId>> {
        Ok(self.trees()?.read().values().copied().collect())
    }

    /// Nobody enters or removes a tree while they are read: both come here first.
    fn trees(&self) -> Result<&RwLock<TreeByFile>> {
        if let Some(trees) = self.trees.get() {
            return Ok(trees);
        }
        let _only_one = self.reading.lock();
        if let Some(trees) = self.trees.get() {
            return Ok(trees);
        }
        let mut trees = TreeByFile::default();
        let mut cursor = self.scan_files();
        while cursor.next_page()? {
            while let Some((key, value)) = cursor.next() {
                trees.insert(file_of(key)?, Reader(value).tree()?);
            }
        }
        Ok(self.trees.get_or_init(|| RwLock::new(trees)))
    }

    /// The entries of all files.
    fn scan_files(&self) -> Cursor {
        let (first, end) = (Bound::Included(&[FILE_KEY][..]), Bound::Excluded(&[FILE_KEY + 1][..]));
        self.system.scan(first, end, Direction::Forward)
    }

    /// A file's tree, which is made if it has none.
    fn tree_for_write(&self, file: FileId) -> Result<TreeId> {
        if let Some(tree) = self.tree_of(file)? {
            return Ok(tree);
        }
        let _only_one = self.making.lock();
        if let Some(tree) = self.tree_of(file)? {
            return Ok(tree);
        }
        let log = LogHeader::default();
        let payload = |tree, out: &mut Vec<u8>| Change::FileTree { tree, file }.encode(out);
        let tree = match file.is_unlogged() {
            true => self.store.create_unlogged_tree(log)?,
            false => self.store.create_tree(log, payload)?.0,
        };
        let entered = self.system.write(&file_key(file), log, |_, op| {
            op.put(&tree.to_bytes());
            Ok::<(), Error>(())
        });
        if let Err(error) = entered {
            self.store.drop_tree(tree)?;
            return Err(error);
        }
        self.trees()?.write().insert(file, tree);
        Ok(tree)
    }

    /// Waits until no tree is half made: what the log holds then names every tree whose
    /// making began before.
    pub(crate) fn wait_for_makers(&self) {
        drop(self.making.lock());
    }

    /// Frees a file's tree, then its entry. Safe to repeat.
    pub(crate) fn remove(&self, dropped: DroppedFile) -> Result<()> {
        let DroppedFile { file, tree } = dropped;
        let trees = self.trees()?;
        self.store.drop_tree(tree)?;
        let log = LogHeader { priority: Priority::MustSucceed, ..LogHeader::default() };
        self.system.write(&file_key(file), log, |value, op| {
            if value.is_some() {
                op.remove();
            }
            Ok::<(), Error>(())
        })?;
        self.tables.lock().remove(&tree);
        trees.write().remove(&file);
        Ok(())
    }

    /// After a crash: frees a tree that was made for a file but is not the one it has.
    pub(crate) fn free_unless_entered(&self, file: FileId, tree: TreeId) -> Result<()> {
        if self.tree_of(file)? != Some(tree) {
            self.store.drop_tree(tree)?;
        }
        Ok(())
    }

    /// How many crashes have emptied the unlogged files.
    pub(crate) fn unlogged_crashes(&self) -> Result<u64> {
        let mut value = Vec::new();
        let is_there = self.system.read(CRASHES_KEY, &mut value)?;
        if is_there { Reader(&value).u64() } else { Ok(0) }
    }

    /// After a crash, before anything else: makes all unlogged files empty.
    pub(crate) fn reset_unlogged(&self) -> Result<()> {
        let mut found = Vec::new();
        let mut cursor = self.scan_files();
        while cursor.next_page()? {
            while let Some((key, value)) = cursor.next() {
                let file = file_of(key)?;
                if file.is_unlogged() {
                    found.push((file, Reader(value).tree()?));
                }
            }
        }
        // All trees before any entry: what removes these may take pages that were free.
        for (_, tree) in &found {
            self.store.forget_tree(*tree)?;
        }
        let log = LogHeader { priority: Priority::MustSucceed, ..LogHeader::default() };
        self.system.write(CRASHES_KEY, log, |value, op| {
            let crashes = value.map_or(Ok(0), |value| Reader(value).u64())?;
            op.put(&(crashes + 1).to_le_bytes());
            Ok::<(), Error>(())
        })?;
        for (file, _) in &found {
            self.system.write(&file_key(*file), log, |value, op| {
                if value.is_some() {
                    op.remove();
                }
                Ok::<(), Error>(())
            })?;
        }
        Ok(())
    }

    /// What the sessions share about the rows in a tree. From the first call on, no number in it
    /// comes again before the next start.
    pub(crate) fn table_shared(&self, tree: &Tree) -> Result<Arc<TableShared>, Gone> {
        let mut tables = self.tables.lock();
        if let Some(shared) = tables.get(&tree.id()) {
            return Ok(Arc::clone(shared));
        }
        let shared = Arc::new(TableShared::open(tree)?);
        tables.insert(tree.id(), Arc::clone(&shared));
        Ok(shared)
    }
}

impl Files {
    /// The database and the owner that changes of the rows in a tree are counted for.
    pub(crate) fn owner_of(&self, tree: TreeId) -> Option<(DatabaseId, u32)> {
        self.tables.lock().get(&tree)?.owner()
    }
}

/// A file as a store uses it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct File {
    files: Arc<Files>,
    id: FileId,
    /// The tree, once there is one.
    tree: OnceLock<Tree>,
}

impl File {
    pub(crate) fn new(files: &Arc<Files>, id: FileId) -> File {
        File { files: Arc::clone(files), id, tree: OnceLock::new() }
    }

    pub(crate) fn id(&self) -> FileId {
        self.id
    }

    /// Its number, which no other file has but those that the layer above numbers.
    pub(crate) fn number(&self) -> RelFileNumber {
        self.id.number
    }

    /// The tree to read; `None`: there is nothing to read.
    #[inline]
    pub(crate) fn tree(&self) -> Result<Option<&Tree>> {
        match self.tree.get() {
            Some(tree) => Ok(Some(tree)),
            None => self.find_tree(),
        }
    }

    /// The tree to write to.
    #[inline]
    pub(crate) fn tree_for_write(&self) -> Result<&Tree> {
        match self.tree.get() {
            Some(tree) => Ok(tree),
            None => {
                let tree = self.files.tree_for_write(self.id)?;
                Ok(self.remember(tree))
            }
        }
    }

    /// Starts loading the first page, if the tree is known.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if let Some(tree) = self.tree.get() {
            tree.prefetch_root();
        }
    }

    /// The tree that an entry is in.
    pub(crate) fn tree_of_entry(&self) -> Result<&Tree> {
        self.tree()?.ok_or_else(|| corrupt("reference into a file without pages"))
    }

    #[cold]
    fn find_tree(&self) -> Result<Option<&Tree>> {
        let found = self.files.tree_of(self.id)?;
        Ok(found.map(|tree| self.remember(tree)))
    }

    fn remember(&self, tree: TreeId) -> &Tree {
        self.tree.get_or_init(|| self.files.store.tree(tree))
    }
}

/// A file of numbered things (rows, values): with the allocator of their numbers.
#[derive(Clone)]
pub(crate) struct NumberedFile {
    file: File,
    shared: OnceLock<Arc<TableShared>>,
    /// What counts changes of what is in it; 0: nobody.
    owner: u32,
}

impl NumberedFile {
    pub(crate) fn new(files: &Arc<Files>, id: FileId, owner: u32) -> NumberedFile {
        NumberedFile { file: File::new(files, id), shared: OnceLock::new(), owner }
    }

    /// The tree to write to, and where new numbers come from.
    #[inline]
    pub(crate) fn for_write(&self) -> Result<(&Tree, &Arc<TableShared>)> {
        let tree = self.file.tree_for_write()?;
        Ok((tree, self.shared_of(tree)?))
    }

    /// Where new numbers come from, if anything was ever written.
    pub(crate) fn shared(&self) -> Result<Option<&Arc<TableShared>>> {
        self.file.tree()?.map(|tree| self.shared_of(tree)).transpose()
    }

    #[inline]
    fn shared_of(&self, tree: &Tree) -> Result<&Arc<TableShared>> {
        if let Some(shared) = self.shared.get() {
            return Ok(shared);
        }
        let shared = self.file.files.table_shared(tree).map_err(|gone| match gone {
            Gone::Tree => StorageError::NoSuchTree(tree.id()).into(),
            Gone::Other(error) => error,
        })?;
        if self.owner != 0 {
            shared.set_owner(self.file.id.database, self.owner);
        }
        Ok(self.shared.get_or_init(|| shared))
    }
}

impl std::ops::Deref for NumberedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}
