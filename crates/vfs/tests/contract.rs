//! The guarantees of every implementation of `Vfs`, checked on each.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use steppe_vfs::{
    AlignedBuffer, CrashVfs, DIRECT_ALIGNMENT, ErrorKind, OpenMode, RealVfs, SlowSyncVfs, Vfs,
};

/// A directory that is removed at the end.
struct TestDir(PathBuf);

impl TestDir {
    fn new(name: &str) -> TestDir {
        let dir = std::env::temp_dir().join(format!("steppe-vfs-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        TestDir(dir)
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn check_contract(vfs: &dyn Vfs, base: &Path) {
    let dir = base.join("a/b");
    vfs.create_dir_all(&dir).expect("creates");
    vfs.create_dir_all(&dir).expect("is content with what exists");
    assert!(vfs.exists(&dir).expect("asks"));
    let path = dir.join("file");
    let kind = |result: steppe_vfs::Result<_>| result.map(|_: Arc<_>| ()).map_err(|e| e.kind());

    assert_eq!(kind(vfs.open(&path, OpenMode::READ)), Err(ErrorKind::NotFound));
    assert_eq!(kind(vfs.open(&path, OpenMode::READ_WRITE)), Err(ErrorKind::NotFound));
    let nowhere = base.join("nowhere/file");
    assert_eq!(kind(vfs.open(&nowhere, OpenMode::CREATE)), Err(ErrorKind::NotFound));
    let file = vfs.open(&path, OpenMode::CREATE_NEW).expect("creates");
    assert_eq!(kind(vfs.open(&path, OpenMode::CREATE_NEW)), Err(ErrorKind::AlreadyExists));
    assert!(file.is_empty().expect("asks"));

    file.write_at(b"hello world", 2).expect("writes");
    let mut bytes = [9; 20];
    assert_eq!(file.read_at(&mut bytes, 0).expect("reads"), 13);
    assert_eq!(&bytes[..13], b"\0\0hello world");
    assert_eq!(file.read_at(&mut bytes, 100).expect("reads nothing"), 0);
    file.set_len(4).expect("cuts");
    file.allocate(200_000).expect("extends");
    file.allocate(10).expect("never cuts");
    file.reserve(300_000).expect("extends");
    file.reserve(10).expect("never cuts");
    assert_eq!(file.len().expect("length"), 300_000);
    let mut all = vec![1; 300_000];
    file.read_exact_at(&mut all, 0).expect("reads");
    assert_eq!(&all[..4], b"\0\0he");
    assert!(all[4..].iter().all(|&b| b == 0));
    file.sync_data().expect("syncs");
    file.sync_all().expect("syncs");

    let moved = dir.join("moved");
    vfs.open(&moved, OpenMode::CREATE).expect("a file to replace");
    vfs.rename(&path, &moved).expect("renames");
    vfs.sync_dir(&dir).expect("syncs");
    assert_eq!(vfs.list_dir(&dir).expect("lists"), ["moved"]);
    assert_eq!(vfs.list_dir(base).expect("lists"), ["a"]);
    assert_eq!(file.len().expect("the handle follows the file"), 300_000);
    assert_eq!(vfs.open(&moved, OpenMode::TRUNCATE).expect("opens").len().expect("length"), 0);
    vfs.remove(&moved).expect("removes");
    assert_eq!(vfs.remove(&moved).expect_err("is gone").kind(), ErrorKind::NotFound);
    file.write_at(b"x", 0).expect("a removed file is usable while open");

    let lock_path = dir.join("lock");
    let lock = vfs.lock_file(&lock_path).expect("locks");
    assert_eq!(vfs.lock_file(&lock_path).expect_err("is held").kind(), ErrorKind::Locked);
    drop(lock);
    vfs.lock_file(&lock_path).expect("locks again");
}

#[test]
fn the_real_file_system_keeps_the_contract() {
    let dir = TestDir::new("contract");
    check_contract(&RealVfs::new(), &dir.0);
}

/// Writes past the page cache and through it see one another in any order.
fn check_direct(vfs: &dyn Vfs, base: &Path) {
    const BLOCK: usize = DIRECT_ALIGNMENT;
    vfs.create_dir_all(base).expect("creates");
    let path = base.join("direct");
    let file = vfs.open(&path, OpenMode::CREATE_NEW.direct()).expect("opens");
    file.allocate(5000).expect("extends");
    file.allocate(64 * BLOCK as u64).expect("extends");
    let mut expected = vec![0; 64 * BLOCK];
    let mut aligned = AlignedBuffer::new(4 * BLOCK);
    for round in 0..40_usize {
        let fill = vec![round as u8 + 1; 1 + round * 1000 % (4 * BLOCK)];
        aligned.clear();
        aligned.extend_from_slice(&fill);
        let at = (round * 7 % 60) * BLOCK;
        if round % 3 == 0 {
            // In the middle of bytes of which other rounds write whole blocks.
            file.write_at(&fill, at as u64 + 100).expect("writes");
            expected[at + 100..at + 100 + fill.len()].copy_from_slice(&fill);
        } else {
            aligned.pad_to(fill.len().next_multiple_of(BLOCK));
            file.write_at(&aligned, at as u64).expect("writes");
            expected[at..at + aligned.len()].copy_from_slice(&aligned);
        }
        let mut all = vec![0; expected.len()];
        file.read_exact_at(&mut all, 0).expect("reads");
        assert!(all == expected, "round {round}");
    }
    file.sync_data().expect("syncs");
    let mut all = vec![0; expected.len()];
    let reader = vfs.open(&path, OpenMode::READ.direct()).expect("opens");
    reader.read_exact_at(&mut all, 0).expect("reads");
    assert!(all == expected);
}

#[test]
fn writes_past_the_page_cache_are_seen_as_any() {
    check_direct(&CrashVfs::new(1), Path::new("base"));
    check_direct(&RealVfs::new(), &TestDir::new("direct").0);
    // A file system in memory does not support writes past the page cache.
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        let name = format!("steppe-vfs-{}", std::process::id());
        check_direct(&RealVfs::new(), &TestDir(memory.join(name)).0);
    }
}

#[test]
fn the_crashable_file_system_keeps_the_contract() {
    check_contract(&CrashVfs::new(1), Path::new("base"));
    check_contract(&CrashVfs::new(1), Path::new("/base"));
}

#[test]
fn the_slow_file_system_keeps_the_contract_slowly() {
    let vfs = SlowSyncVfs::new(Arc::new(CrashVfs::new(1)), Duration::ZERO);
    check_contract(&vfs, Path::new("base"));
    vfs.set_sync_delay(Duration::from_millis(20));
    let file = vfs.open(Path::new("file"), OpenMode::CREATE).expect("opens");
    let start = Instant::now();
    file.sync_data().expect("syncs");
    assert!(start.elapsed() >= Duration::from_millis(20));
}

#[test]
fn a_full_device_is_told_from_a_broken_one() {
    // /dev/full answers every write with ENOSPC.
    let path = Path::new("/dev/full");
    if !path.exists() {
        return;
    }
    let file = RealVfs::new().open(path, OpenMode::READ_WRITE).expect("opens");
    let error = file.write_at(b"x", 0).expect_err("is full");
    assert!(error.is_out_of_space());
    let message = error.to_string();
    assert!(message.starts_with("could not write file \"/dev/full\": No space left"), "{message}");
}
