//! A file system in memory that behaves as badly as a real one may.
//!
//! Deterministic: the same seed and the same sequence of operations give the
//! same disk after a power cut. A crash test runs the engine on a `CrashVfs`,
//! cuts the power at an operation of its choice ([`CrashVfs::cut_power_at`]),
//! lets every thread of the engine run into [`ErrorKind::PowerCut`], takes the
//! disk that is left ([`CrashVfs::crash`]), and recovers on that one.

mod content;
mod disk;

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

pub use content::SECTOR_SIZE;

use crate::{Error, ErrorKind, File, FileLock, IoStats, OpenMode, Result, Vfs, parent_dir};
use disk::{Disk, Fault, FaultyOperation, InodeId, Node};

#[derive(Debug)]
struct Machine {
    disk: Mutex<Disk>,
    stats: IoStats,
}

/// A simulated file system. Clones share the disk.
#[derive(Debug, Clone)]
pub struct CrashVfs {
    machine: Arc<Machine>,
}

impl CrashVfs {
    /// An empty disk whose misbehaviour is drawn from `seed`.
    pub fn new(seed: u64) -> CrashVfs {
        CrashVfs::from_disk(Disk::new(seed))
    }

    fn from_disk(disk: Disk) -> CrashVfs {
        CrashVfs {
            machine: Arc::new(Machine { disk: Mutex::new(disk), stats: IoStats::default() }),
        }
    }

    /// Cuts the power now, and returns the disk as it is found when the power is back: synced data,
    /// and a seeded choice of what was not synced. Users of the old disk get
    /// [`ErrorKind::PowerCut`] from now on.
    pub fn crash(&self) -> CrashVfs {
        let mut disk = self.machine.disk.lock();
        disk.powered = false;
        let after = disk.after_power_cut(&disk.random);
        CrashVfs::from_disk(after)
    }

    /// As [`CrashVfs::crash`], with the choice drawn from `seed`: one run up to
    /// the power cut can be examined under many outcomes.
    pub fn crash_with_seed(&self, seed: u64) -> CrashVfs {
        let mut disk = self.machine.disk.lock();
        disk.powered = false;
        let after = disk.after_power_cut(&crate::SeededRandom::new(seed));
        CrashVfs::from_disk(after)
    }

    /// The process dies (kill -9) but the machine lives: the next process sees
    /// all writes, synced or not, and a later power cut may still lose them.
    pub fn restart(&self) -> CrashVfs {
        let mut disk = self.machine.disk.lock();
        disk.powered = false;
        let after = disk.after_kill(&disk.random);
        CrashVfs::from_disk(after)
    }

    /// Switches the power off now, for every thread.
    pub fn cut_power(&self) {
        self.machine.disk.lock().powered = false;
    }

    /// Arms a power cut during the `nth` operation from now that changes the
    /// disk (1 is the next; a write, a length change, a sync, a change of names).
    /// That operation is begun but its caller sees it fail.
    pub fn cut_power_at(&self, nth: u64) {
        let mut disk = self.machine.disk.lock();
        disk.cut_at_operation = Some(disk.operations + nth.max(1));
    }

    /// Whether the power is on.
    pub fn is_powered(&self) -> bool {
        self.machine.disk.lock().powered
    }

    /// Operations that changed the disk so far: the range of [`CrashVfs::cut_power_at`].
    pub fn operations(&self) -> u64 {
        self.machine.disk.lock().operations
    }

    /// The `nth` write from now (1 is the next) to a file whose path contains
    /// `path_contains` fails with EIO.
    pub fn fail_write(&self, path_contains: &str, nth: u64) {
        self.inject(FaultyOperation::Write, path_contains, nth);
    }

    /// The `nth` sync from now of a file whose path contains `path_contains`
    /// fails with EIO; what it should have written is lost for good, and later
    /// syncs succeed all the same.
    pub fn fail_sync(&self, path_contains: &str, nth: u64) {
        self.inject(FaultyOperation::Sync, path_contains, nth);
    }

    fn inject(&self, operation: FaultyOperation, path_contains: &str, nth: u64) {
        let path_contains = path_contains.to_owned();
        let fault = Fault { operation, path_contains, countdown: nth.max(1) };
        self.machine.disk.lock().faults.push(fault);
    }

    /// Lets files grow by this many bytes in all before ENOSPC; `None` for no
    /// limit. Removing and cutting files gives space back.
    pub fn set_free_space(&self, bytes: Option<u64>) {
        self.machine.disk.lock().free_bytes = bytes;
    }

    /// Turns over one bit of a file, on the disk and in the cache.
    pub fn flip_bit(&self, path: &Path, byte: u64, bit: u8) -> Result<()> {
        let mut disk = self.machine.disk.lock();
        let inode = find_file(&disk, "corrupt", &normalize(path))?;
        disk.flip_bit(inode, byte, bit);
        Ok(())
    }

    /// Turns over one bit at a random place of a file, and says which byte.
    pub fn flip_random_bit(&self, path: &Path) -> Result<u64> {
        let mut disk = self.machine.disk.lock();
        let inode = find_file(&disk, "corrupt", &normalize(path))?;
        let byte = disk.random.below(disk.file_len(inode));
        let bit = disk.random.below(8);
        disk.flip_bit(inode, byte, u8::try_from(bit).expect("below 8"));
        Ok(byte)
    }

    /// Counts of reads, writes and syncs.
    pub fn stats(&self) -> &IoStats {
        &self.machine.stats
    }
}

/// Leaves out "." components, so that one file has one name.
fn normalize(path: &Path) -> PathBuf {
    let normal: PathBuf = path.components().filter(|c| *c != Component::CurDir).collect();
    if normal.as_os_str().is_empty() { PathBuf::from(".") } else { normal }
}

fn not_found(operation: &'static str, path: &Path) -> Error {
    Error::new(operation, path, ErrorKind::NotFound, "No such file or directory")
}

fn find_file(disk: &Disk, operation: &'static str, path: &Path) -> Result<InodeId> {
    match disk.names.get(path) {
        Some(Node::File(inode)) => Ok(*inode),
        Some(Node::Directory) => Err(Error::new(operation, path, ErrorKind::Io, "Is a directory")),
        None => Err(not_found(operation, path)),
    }
}

#[derive(Debug)]
struct CrashFile {
    machine: Arc<Machine>,
    inode: InodeId,
    path: PathBuf,
    mode: OpenMode,
}

impl CrashFile {
    fn check_mode(&self, operation: &'static str, allowed: bool) -> Result<()> {
        if allowed {
            return Ok(());
        }
        Err(Error::new(operation, &self.path, ErrorKind::Io, "Bad file descriptor"))
    }

    fn change_len(&self, operation: &'static str, len: u64) -> Result<()> {
        self.check_mode(operation, self.mode.write)?;
        let mut disk = self.machine.disk.lock();
        let in_flight = disk.begin_change(operation, &self.path)?;
        self.machine.stats.count_write(0);
        disk.set_len(operation, &self.path, self.inode, len)?;
        in_flight.finish(operation, &self.path)
    }

    fn sync(&self, operation: &'static str) -> Result<()> {
        let mut disk = self.machine.disk.lock();
        let in_flight = disk.begin_change(operation, &self.path)?;
        self.machine.stats.count_sync();
        // A sync that a power cut interrupts promises nothing: its changes stay pending, and the
        // seed decides about each.
        in_flight.finish(operation, &self.path)?;
        disk.sync(operation, &self.path, self.inode)
    }
}

impl File for CrashFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        self.check_mode("read", self.mode.read)?;
        let disk = self.machine.disk.lock();
        disk.check_power("read", &self.path)?;
        let count = disk.read(self.inode, buffer, offset);
        self.machine.stats.count_read(count);
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.check_mode("write", self.mode.write)?;
        let mut disk = self.machine.disk.lock();
        let in_flight = disk.begin_change("write", &self.path)?;
        self.machine.stats.count_write(bytes.len() as u64);
        disk.write(&self.path, self.inode, bytes, offset)?;
        in_flight.finish("write", &self.path)
    }

    fn sync_data(&self) -> Result<()> {
        self.sync("fdatasync")
    }

    fn sync_all(&self) -> Result<()> {
        self.sync("fsync")
    }

    fn len(&self) -> Result<u64> {
        let disk = self.machine.disk.lock();
        disk.check_power("stat", &self.path)?;
        Ok(disk.file_len(self.inode))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.change_len("truncate", len)
    }

    fn allocate(&self, len: u64) -> Result<()> {
        if self.len()? >= len { Ok(()) } else { self.change_len("extend", len) }
    }

    fn reserve(&self, len: u64) -> Result<()> {
        self.allocate(len)
    }

    fn punch_hole(&self, offset: u64, len: u64) -> Result<bool> {
        self.check_mode("punch a hole into", self.mode.write)?;
        let mut disk = self.machine.disk.lock();
        let in_flight = disk.begin_change("punch a hole into", &self.path)?;
        self.machine.stats.count_write(0);
        disk.punch_hole(&self.path, self.inode, offset, len)?;
        in_flight.finish("punch a hole into", &self.path)?;
        Ok(true)
    }

    fn fill_hole(&self, offset: u64, len: u64) -> Result<()> {
        self.check_mode("extend", self.mode.write)?;
        let mut disk = self.machine.disk.lock();
        let in_flight = disk.begin_change("extend", &self.path)?;
        self.machine.stats.count_write(0);
        disk.fill_hole(&self.path, self.inode, offset, len)?;
        in_flight.finish("extend", &self.path)
    }
}

impl Vfs for CrashVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        let path = normalize(path);
        let mut disk = self.machine.disk.lock();
        disk.check_power("open", &path)?;
        let inode = match find_file(&disk, "open", &path) {
            Ok(_) if mode.create_new => {
                return Err(Error::new("open", &path, ErrorKind::AlreadyExists, "File exists"));
            }
            Ok(inode) => {
                if mode.truncate && disk.file_len(inode) > 0 {
                    let in_flight = disk.begin_change("open", &path)?;
                    disk.set_len("open", &path, inode, 0)?;
                    in_flight.finish("open", &path)?;
                }
                inode
            }
            Err(e) if e.kind() == ErrorKind::NotFound && (mode.create || mode.create_new) => {
                if !disk.directory_exists(parent_dir(&path)) {
                    return Err(e);
                }
                let in_flight = disk.begin_change("open", &path)?;
                let inode = disk.create_file(&path);
                in_flight.finish("open", &path)?;
                inode
            }
            Err(e) => return Err(e),
        };
        Ok(Arc::new(CrashFile { machine: Arc::clone(&self.machine), inode, path, mode }))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        let path = normalize(path);
        let disk = self.machine.disk.lock();
        disk.check_power("stat", &path)?;
        Ok(disk.names.contains_key(&path) || disk.directory_exists(&path))
    }

    fn list_dir(&self, path: &Path) -> Result<Vec<String>> {
        let path = normalize(path);
        let disk = self.machine.disk.lock();
        disk.check_power("read directory", &path)?;
        if !disk.directory_exists(&path) {
            return Err(not_found("read directory", &path));
        }
        let children = disk.names.keys().filter(|name| parent_dir(name) == path);
        let mut names: Vec<String> =
            children.filter_map(|name| name.file_name()?.to_str().map(str::to_owned)).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        let path = normalize(path);
        let mut disk = self.machine.disk.lock();
        disk.check_power("create directory", &path)?;
        let ancestors: Vec<&Path> = path.ancestors().collect();
        for dir in ancestors.into_iter().rev() {
            if dir.as_os_str().is_empty() || disk.directory_exists(dir) {
                continue;
            }
            if disk.names.contains_key(dir) {
                let (operation, message) = ("create directory", "Not a directory");
                return Err(Error::new(operation, dir, ErrorKind::AlreadyExists, message));
            }
            disk.begin_change("create directory", dir)?.finish("create directory", dir)?;
            disk.create_directory(dir);
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let (from, to) = (normalize(from), normalize(to));
        let mut disk = self.machine.disk.lock();
        disk.check_power("rename", &from)?;
        let inode = find_file(&disk, "rename", &from)?;
        if !disk.directory_exists(parent_dir(&to)) {
            return Err(not_found("rename", &to));
        }
        let in_flight = disk.begin_change("rename", &from)?;
        disk.rename_file(&from, &to, inode);
        in_flight.finish("rename", &from)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let path = normalize(path);
        let mut disk = self.machine.disk.lock();
        disk.check_power("remove", &path)?;
        let inode = find_file(&disk, "remove", &path)?;
        let in_flight = disk.begin_change("remove", &path)?;
        disk.unlink(&path, inode);
        in_flight.finish("remove", &path)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        let path = normalize(path);
        let mut disk = self.machine.disk.lock();
        disk.check_power("fsync", &path)?;
        if !disk.directory_exists(&path) {
            return Err(not_found("fsync", &path));
        }
        let in_flight = disk.begin_change("fsync", &path)?;
        self.machine.stats.count_sync();
        in_flight.finish("fsync", &path)?;
        disk.sync_names(&path);
        Ok(())
    }

    fn lock_file(&self, path: &Path) -> Result<FileLock> {
        let path = normalize(path);
        self.open(&path, OpenMode::CREATE)?;
        let mut disk = self.machine.disk.lock();
        if !disk.locks.insert(path.clone()) {
            let message = "it is locked by another process";
            return Err(Error::new("lock", &path, ErrorKind::Locked, message));
        }
        Ok(FileLock::new(HeldLock { machine: Arc::clone(&self.machine), path }))
    }
}

struct HeldLock {
    machine: Arc<Machine>,
    path: PathBuf,
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        self.machine.disk.lock().locks.remove(&self.path);
    }
}
