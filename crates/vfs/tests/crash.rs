//! The data that the crashable disk keeps, loses and tears.

use std::collections::BTreeSet;
use std::path::Path;

use steppe_vfs::{CrashVfs, ErrorKind, OpenMode, SECTOR_SIZE, Vfs};

const FILE: &str = "data/file";

fn path() -> &'static Path {
    Path::new(FILE)
}

/// A disk with a durable, empty file.
fn disk(seed: u64) -> CrashVfs {
    let vfs = CrashVfs::new(seed);
    vfs.create_dir_all(Path::new("data")).expect("a new directory");
    vfs.open(path(), OpenMode::CREATE_NEW).expect("a new file").sync_all().expect("syncs");
    vfs.sync_dir(Path::new("data")).expect("syncs");
    vfs
}

fn contents(vfs: &CrashVfs) -> Vec<u8> {
    let file = vfs.open(path(), OpenMode::READ).expect("exists");
    let mut bytes = vec![0; usize::try_from(file.len().expect("length")).expect("small")];
    file.read_exact_at(&mut bytes, 0).expect("reads");
    bytes
}

#[test]
fn synced_bytes_survive_every_crash() {
    for seed in 0..200 {
        let vfs = disk(seed);
        let file = vfs.open(path(), OpenMode::READ_WRITE).expect("opens");
        file.write_at(&[1; 3000], 0).expect("writes");
        file.sync_data().expect("syncs");
        assert_eq!(contents(&vfs.crash()), [1; 3000], "seed {seed}");
    }
}

#[test]
fn an_unsynced_write_is_lost_kept_or_torn_by_sector() {
    let (mut lost, mut kept, mut torn) = (0, 0, 0);
    for seed in 0..400 {
        let vfs = disk(seed);
        let file = vfs.open(path(), OpenMode::READ_WRITE).expect("opens");
        file.write_at(&[1; 4 * SECTOR_SIZE], 0).expect("writes");
        file.sync_data().expect("syncs");
        file.write_at(&[2; 4 * SECTOR_SIZE], 0).expect("writes");
        let bytes = contents(&vfs.crash());
        let sectors: Vec<u8> = bytes
            .chunks(SECTOR_SIZE)
            .map(|sector| {
                assert!(sector.iter().all(|b| *b == sector[0]), "a sector is never torn");
                sector[0]
            })
            .collect();
        match sectors[..] {
            [1, 1, 1, 1] => lost += 1,
            [2, 2, 2, 2] => kept += 1,
            _ => torn += 1,
        }
    }
    assert!(lost > 40 && kept > 40 && torn > 40, "{lost} {kept} {torn}");
}

#[test]
fn unsynced_writes_are_reordered() {
    // The later of two writes survives without the earlier one, for some seed.
    let outcomes: BTreeSet<(u8, u8)> = (0..200)
        .map(|seed| {
            let vfs = disk(seed);
            let file = vfs.open(path(), OpenMode::READ_WRITE).expect("opens");
            file.write_at(&[1; 2 * SECTOR_SIZE], 0).expect("writes");
            file.sync_data().expect("syncs");
            file.write_at(&[2; SECTOR_SIZE], 0).expect("writes");
            file.write_at(&[3; SECTOR_SIZE], SECTOR_SIZE as u64).expect("writes");
            let bytes = contents(&vfs.crash());
            (bytes[0], bytes[SECTOR_SIZE])
        })
        .collect();
    assert_eq!(outcomes, BTreeSet::from([(1, 1), (1, 3), (2, 1), (2, 3)]));
}

#[test]
fn a_sector_is_always_one_that_the_program_wrote() {
    // Two small writes to one sector: the second never survives without the first.
    for seed in 0..200 {
        let vfs = disk(seed);
        let file = vfs.open(path(), OpenMode::READ_WRITE).expect("opens");
        file.write_at(b"first", 0).expect("writes");
        file.write_at(b"second", 5).expect("writes");
        let bytes = contents(&vfs.crash());
        assert!(["", "first", "firstsecond"].iter().any(|s| s.as_bytes() == bytes), "{bytes:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_disk() {
    let run = |seed| {
        let vfs = disk(seed);
        let file = vfs.open(path(), OpenMode::READ_WRITE).expect("opens");
        for round in 0..20_u8 {
            file.write_at(&[round; 1500], u64::from(round) * 700).expect("writes");
        }
        contents(&vfs.crash())
    };
    for seed in 0..50 {
        assert_eq!(run(seed), run(seed));
    }
    let different: BTreeSet<Vec<u8>> = (0..50).map(run).collect();
    assert!(different.len() > 25);
}

#[test]
fn an_unsynced_length_may_be_lost() {
    let lengths: BTreeSet<usize> = (0..100)
        .map(|seed| {
            let vfs = disk(seed);
            let file = vfs.open(path(), OpenMode::READ_WRITE).expect("opens");
            file.allocate(5000).expect("extends");
            contents(&vfs.crash()).len()
        })
        .collect();
    assert_eq!(lengths, BTreeSet::from([0, 5000]));
}

#[test]
fn names_survive_only_after_sync_dir_or_by_chance() {
    let mut seen = BTreeSet::new();
    for seed in 0..200 {
        let vfs = disk(seed);
        let other = Path::new("data/other");
        vfs.open(other, OpenMode::CREATE_NEW).expect("new").sync_all().expect("syncs");
        seen.insert(vfs.crash().exists(other).expect("asks"));

        let vfs = disk(seed);
        vfs.rename(path(), other).expect("renames");
        let after = vfs.crash();
        let names = after.list_dir(Path::new("data")).expect("lists");
        assert!(names == ["file"] || names == ["other"], "a rename is atomic: {names:?}");

        let vfs = disk(seed);
        vfs.rename(path(), other).expect("renames");
        vfs.sync_dir(Path::new("data")).expect("syncs");
        vfs.remove(other).expect("removes");
        vfs.sync_dir(Path::new("./data")).expect("syncs");
        assert!(vfs.crash().list_dir(Path::new("data")).expect("lists").is_empty());
    }
    assert_eq!(seen, BTreeSet::from([false, true]));
}

#[test]
fn the_power_goes_at_the_chosen_operation_for_everybody() {
    let vfs = disk(1);
    let file = vfs.open(path(), OpenMode::READ_WRITE).expect("opens");
    let before = vfs.operations();
    vfs.cut_power_at(3);
    file.write_at(b"a", 0).expect("the first operation");
    file.sync_data().expect("the second");
    let error = file.write_at(b"b", 0).expect_err("the third");
    assert_eq!(error.kind(), ErrorKind::PowerCut);
    assert_eq!(vfs.operations(), before + 3);
    assert!(!vfs.is_powered());
    let mut byte = [0];
    assert_eq!(file.read_at(&mut byte, 0).expect_err("no power").kind(), ErrorKind::PowerCut);
    assert_eq!(file.sync_all().expect_err("no power").kind(), ErrorKind::PowerCut);
    assert_eq!(vfs.exists(path()).expect_err("no power").kind(), ErrorKind::PowerCut);
    assert!(vfs.crash().is_powered());
}

#[test]
fn a_sync_cut_short_promises_nothing() {
    let outcomes: BTreeSet<Vec<u8>> = (0..100)
        .map(|seed| {
            let vfs = disk(seed);
            let file = vfs.open(path(), OpenMode::READ_WRITE).expect("opens");
            vfs.cut_power_at(2);
            file.write_at(b"x", 0).expect("writes");
            file.sync_data().expect_err("the power goes");
            contents(&vfs.crash())
        })
        .collect();
    assert_eq!(outcomes, BTreeSet::from([b"".to_vec(), b"x".to_vec()]));
}

#[test]
fn after_a_failed_sync_the_data_is_lost_though_the_next_sync_succeeds() {
    for seed in 0..50 {
        let vfs = disk(seed);
        let file = vfs.open(path(), OpenMode::READ_WRITE).expect("opens");
        file.write_at(b"old", 0).expect("writes");
        file.sync_data().expect("syncs");
        vfs.fail_sync("file", 1);
        file.write_at(b"new", 0).expect("writes");
        assert_eq!(file.sync_data().expect_err("EIO").kind(), ErrorKind::Io);
        file.sync_data().expect("as Linux: reports success");
        assert_eq!(contents(&vfs), b"new", "still in the cache");
        assert_eq!(contents(&vfs.crash()), b"old", "and never on the disk");
    }
}

#[test]
fn the_nth_write_fails() {
    let vfs = disk(1);
    let file = vfs.open(path(), OpenMode::READ_WRITE).expect("opens");
    vfs.fail_write("another", 1);
    vfs.fail_write("data/", 2);
    file.write_at(b"aa", 0).expect("the first");
    assert_eq!(file.write_at(b"bb", 0).expect_err("the second").kind(), ErrorKind::Io);
    file.write_at(b"cc", 2).expect("the third");
    assert_eq!(contents(&vfs), b"aacc");
}

#[test]
fn a_full_disk_says_so_and_can_be_freed() {
    let vfs = disk(1);
    let file = vfs.open(path(), OpenMode::READ_WRITE).expect("opens");
    vfs.set_free_space(Some(1000));
    file.write_at(&[1; 900], 0).expect("fits");
    file.write_at(&[2; 900], 0).expect("overwriting needs no space");
    assert!(file.write_at(&[3; 200], 900).expect_err("full").is_out_of_space());
    assert!(file.allocate(2000).expect_err("full").is_out_of_space());
    assert_eq!(file.len().expect("length"), 900);
    file.set_len(0).expect("cuts");
    file.allocate(1000).expect("fits again");
    vfs.remove(path()).expect("removes");
    let other = vfs.open(Path::new("other"), OpenMode::CREATE).expect("opens");
    other.allocate(1000).expect("fits after the removal");
}

#[test]
fn a_flipped_bit_is_found_after_the_crash() {
    let vfs = disk(3);
    let file = vfs.open(path(), OpenMode::READ_WRITE).expect("opens");
    file.write_at(&[0; 100], 0).expect("writes");
    file.sync_data().expect("syncs");
    vfs.flip_bit(path(), 7, 1).expect("flips");
    let other = vfs.flip_random_bit(path()).expect("flips");
    assert!(other < 100);
    let bytes = contents(&vfs.crash());
    assert_eq!(bytes.iter().map(|b| b.count_ones()).sum::<u32>(), 2);
}

#[test]
fn a_killed_process_loses_nothing_until_the_power_goes() {
    let mut lost = false;
    for seed in 0..50 {
        let vfs = disk(seed);
        let file = vfs.open(path(), OpenMode::READ_WRITE).expect("opens");
        file.write_at(b"unsynced", 0).expect("writes");
        let next = vfs.restart();
        assert_eq!(file.len().expect_err("the old process").kind(), ErrorKind::PowerCut);
        assert_eq!(contents(&next), b"unsynced");
        lost |= contents(&next.crash()).is_empty();
    }
    assert!(lost);
}

#[test]
fn counts_and_modes() {
    let vfs = disk(1);
    let before = vfs.stats().counts();
    let file = vfs.open(path(), OpenMode::READ_WRITE).expect("opens");
    file.write_at(b"abcde", 0).expect("writes");
    file.sync_data().expect("syncs");
    let after = vfs.stats().counts();
    assert_eq!(after.writes - before.writes, 1);
    assert_eq!(after.bytes_written - before.bytes_written, 5);
    assert_eq!(after.syncs - before.syncs, 1);
    let reader = vfs.open(path(), OpenMode::READ).expect("opens");
    assert_eq!(reader.write_at(b"x", 0).expect_err("read only").kind(), ErrorKind::Io);
    let mut bytes = [0; 4];
    let error = reader.read_exact_at(&mut bytes, 3).expect_err("too short");
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
}
