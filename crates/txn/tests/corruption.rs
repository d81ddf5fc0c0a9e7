//! Damaged files: pages, log records, the doublewrite file, the control file.
//!
//! Two kinds of damage, drawn from a seed. *Blind*: bits flipped, ranges zeroed, files cut,
//! as a disk does it; checksums notice. *Forged*: something inside is changed and the
//! checksum made right again, so that everything behind the checksum is put to the test.
//!
//! What must hold, whatever the files say: opening and using the database ends, with
//! errors or without, and never in a panic. After blind damage what is read is what was
//! written, or an error that says so; and a damaged page is named.

#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use steppe_txn::*;
use steppe_types::Result;
use steppe_vfs::{CrashVfs, OpenMode, SeededRandom, Vfs};

const PAGE: usize = 8192;
const ROWS: u32 = 600;
/// Rows changed after the last checkpoint: what the log is needed for.
const CHANGED: u32 = 60;

fn options() -> EngineOptions {
    EngineOptions {
        pool_pages: 64,
        pages_max: 1 << 14,
        wal_buffers_bytes: 64 << 10,
        wal_segment_bytes: 64 << 10,
        wal_bytes_min: 64 << 10,
        system_id: Some(7),
        background: false,
        ..EngineOptions::default()
    }
}

/// The files of a database that a crash has interrupted.
#[derive(Clone)]
struct Image {
    files: BTreeMap<PathBuf, Vec<u8>>,
    stores: [FileId; 3],
}

fn row_bytes(n: u32, changed: bool) -> Vec<u8> {
    let mut row = n.to_le_bytes().to_vec();
    row.resize(40 + n as usize % 90, if changed { 2 } else { 1 });
    row
}

fn begin(session: &SessionHandle) -> Result<Txn> {
    let mut txn = Txn::begin(session, IsolationLevel::ReadCommitted, false);
    txn.start_statement()?;
    Ok(txn)
}

fn replace(txn: &mut Txn, table: &TableStore, id: RowId, row: &[u8]) -> Result<ModifyOutcome> {
    table.modify(txn, id, &mut |_, out| {
        out.extend_from_slice(row);
        Ok(Action::Replace { key_changed: false })
    })
}

fn make_image() -> Result<Image> {
    let vfs = CrashVfs::new(1);
    let engine = Engine::open(Arc::new(vfs.clone()), Path::new("db"), options())?;
    let session = engine.new_session(DatabaseId::POSTGRES);
    let mut txn = begin(&session)?;
    let table = TableStore::create(&mut txn, Persistence::Logged)?;
    let index = IndexStore::create(&mut txn, true, Persistence::Logged)?;
    let values = OverflowStore::create(&mut txn, Persistence::Logged)?;
    let mut ids = Vec::new();
    for n in 0..ROWS {
        let id = table.insert(&mut txn, &row_bytes(n, false))?;
        index.insert(&mut txn, &n.wrapping_mul(0x9E37_79B1).to_be_bytes(), false, id)?;
        ids.push(id);
    }
    values.put(&mut txn, &[9; 30_000])?;
    engine.wait_durable(txn.commit()?.lsn)?;
    engine.checkpoint()?;
    let mut txn = begin(&session)?;
    for n in 0..CHANGED {
        replace(&mut txn, &table, ids[n as usize], &row_bytes(n, true))?;
    }
    let mut more = NewRows::default();
    (ROWS..ROWS + 200).for_each(|n| more.push(&row_bytes(n, false)));
    table.insert_batch(&mut txn, &mut more, &mut Vec::new())?;
    values.put(&mut txn, &(0..9000u32).map(|n| ((n * n) >> 7) as u8).collect::<Vec<u8>>())?;
    engine.wait_durable(txn.commit()?.lsn)?;
    // And a loser, whose records are in the log.
    let mut loser = begin(&session)?;
    for (n, &id) in ids.iter().take(20).enumerate() {
        replace(&mut loser, &table, id, b"never committed")?;
        index.mark_deleted(&mut loser, &(n as u32).to_be_bytes(), false, id)?;
    }
    let end = engine.wal().insert_position();
    engine.wait_durable(end)?;
    let stores = [table.file(), index.file(), values.file()];
    let disk = vfs.restart();
    let mut files = BTreeMap::new();
    for dir in ["db", "db/wal"] {
        for name in disk.list_dir(Path::new(dir)).expect("lists") {
            let path = Path::new(dir).join(name);
            let Ok(file) = disk.open(&path, OpenMode::READ) else { continue };
            let mut bytes = vec![0; file.len().expect("has a length") as usize];
            file.read_at(&mut bytes, 0).expect("reads");
            files.insert(path, bytes);
        }
    }
    files.retain(|path, _| !path.ends_with("steppe.lock") && !path.ends_with("wal"));
    std::mem::forget(loser);
    Ok(Image { files, stores })
}

fn image() -> Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(|| make_image().expect("a sound disk")).clone()
}

impl Image {
    fn install(&self) -> CrashVfs {
        let vfs = CrashVfs::new(2);
        vfs.create_dir_all(Path::new("db/wal")).expect("makes");
        for (path, bytes) in &self.files {
            let file = vfs.open(path, OpenMode::TRUNCATE).expect("opens");
            file.write_at(bytes, 0).expect("writes");
            file.sync_all().expect("syncs");
        }
        vfs.sync_dir(Path::new("db/wal")).expect("syncs");
        vfs.sync_dir(Path::new("db")).expect("syncs");
        vfs
    }

    fn file(&mut self, name: &str) -> &mut Vec<u8> {
        self.files.get_mut(&Path::new("db").join(name)).expect("there is such a file")
    }
}

// ----- damage -----

fn random_file<'i>(image: &'i mut Image, random: &SeededRandom) -> &'i mut Vec<u8> {
    let nth = random.below(image.files.len() as u64) as usize;
    image.files.values_mut().nth(nth).expect("in range")
}

/// Bits, sectors, lengths.
fn damage_blindly(image: &mut Image, random: &SeededRandom) {
    let bytes = random_file(image, random);
    let len = bytes.len() as u64;
    match random.below(4) {
        0 => bytes.truncate(random.below(len) as usize),
        1 => {
            let at = (random.below(len) / 512 * 512) as usize;
            let end = (at + 512).min(bytes.len());
            bytes[at..end].fill(0);
        }
        _ => {
            for _ in 0..=random.below(4) {
                bytes[random.below(len) as usize] ^= 1 << random.below(8);
            }
        }
    }
}

fn crc(parts: &[&[u8]]) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    parts.iter().for_each(|part| digest.update(part));
    (digest.finalize() & 0xFFFF_FFFF) as u32
}

/// A number that is often nearly right.
fn nasty(random: &SeededRandom) -> u64 {
    match random.below(6) {
        0 => 0,
        1 => random.below(8),
        2 => u64::MAX - random.below(8),
        3 => 8192 - random.below(64),
        4 => 1 << random.below(64),
        _ => random.below(u64::MAX),
    }
}

/// Overwrites a few bytes of a range with something nasty.
fn forge(bytes: &mut [u8], random: &SeededRandom) {
    let width = [1, 2, 2, 4, 8][random.below(5) as usize].min(bytes.len());
    let at = random.below((bytes.len() - width + 1) as u64) as usize;
    if random.chance(1, 3) {
        bytes[at] ^= 1 << random.below(8);
    } else {
        bytes[at..at + width].copy_from_slice(&nasty(random).to_le_bytes()[..width]);
    }
}

/// Header fields, slots, heap of some page.
fn forge_page(image: &mut Image, random: &SeededRandom) {
    let data = image.file("data");
    let pages: Vec<usize> = (1..data.len() / PAGE).filter(|p| data[p * PAGE + 4] != 0).collect();
    let page = pages[random.below(pages.len() as u64) as usize] * PAGE;
    let donor = pages[random.below(pages.len() as u64) as usize] * PAGE;
    let (from, to) = match random.below(5) {
        0 => (4, 64),
        1 => (40, 64),
        2 => (64, 200),
        3 => (4, PAGE),
        _ => {
            // Half of another page.
            let half = data[donor + 4096..donor + PAGE].to_vec();
            data[page + 4096..page + PAGE].copy_from_slice(&half);
            (4, PAGE)
        }
    };
    for _ in 0..=random.below(2) {
        forge(&mut data[page + from..page + to], random);
    }
    let sum = crc(&[&data[page + 4..page + PAGE]]);
    data[page..page + 4].copy_from_slice(&sum.to_le_bytes());
}

/// A record's header or body; now and then the body of another one.
fn forge_record(image: &mut Image, random: &SeededRandom) {
    let names: Vec<PathBuf> =
        image.files.keys().filter(|path| path.starts_with("db/wal")).cloned().collect();
    let mut records: Vec<(PathBuf, usize, usize)> = Vec::new();
    for name in names {
        let bytes = &image.files[&name];
        for at in (4096..bytes.len().saturating_sub(64)).step_by(8) {
            let len = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4")) as usize;
            let Some(record) = bytes.get(at..at + len).filter(|_| len >= 36) else { continue };
            let header = if record[33] & 0x80 != 0 { 44 } else { 36 };
            if len < header {
                continue;
            }
            let sum = crc(&[&record[header..], &record[8..header], &record[..4]]);
            if sum.to_le_bytes() == record[4..8] {
                records.push((name.clone(), at, len));
            }
        }
    }
    let (name, at, len) = records[random.below(records.len() as u64) as usize].clone();
    let donor = records[random.below(records.len() as u64) as usize].clone();
    let donor = image.files[&donor.0][donor.1..donor.1 + donor.2].to_vec();
    let bytes = image.files.get_mut(&name).expect("known");
    let record = &mut bytes[at..at + len];
    match random.below(4) {
        0 => forge(&mut record[16..36], random),
        1 if donor.len() <= len => {
            record[36..donor.len()].copy_from_slice(&donor[36..]);
            record[32..34].copy_from_slice(&donor[32..34]);
        }
        _ if len > 36 => forge(&mut record[36..], random),
        _ => forge(&mut record[16..], random),
    }
    let header = if record[33] & 0x80 != 0 && len >= 44 { 44 } else { 36 };
    let sum = crc(&[&record[header..], &record[8..header], &record[..4]]);
    record[4..8].copy_from_slice(&sum.to_le_bytes());
}

/// The header of an area of the doublewrite file, and pages that need it.
fn forge_doublewrite(image: &mut Image, random: &SeededRandom) {
    let double = image.file("doublewrite");
    let area = random.below(2) as usize * (double.len() / 2);
    forge(&mut double[area + 8..area + 64], random);
    let mut header = double[area..area + PAGE].to_vec();
    header[20..24].fill(0);
    let sum = crc(&[&header]);
    double[area + 20..area + 24].copy_from_slice(&sum.to_le_bytes());
    let data = image.file("data");
    let torn = 1 + random.below((data.len() / PAGE) as u64 - 1) as usize;
    data[torn * PAGE + 100] ^= 1;
}

/// A slot of the control file, the other one gone.
fn forge_control(image: &mut Image, random: &SeededRandom) {
    let control = image.file("control");
    for slot in 0..2 {
        let slot = &mut control[slot * 4096..(slot + 1) * 4096];
        if random.chance(1, 2) {
            forge(&mut slot[16..72], random);
        } else {
            forge(&mut slot[64..160], random);
        }
        let sum = crc(&[&slot[..12], &slot[16..]]);
        slot[12..16].copy_from_slice(&sum.to_le_bytes());
    }
}

// ----- use -----

/// What was found wrong, and whether all rows were read.
#[derive(Default, Debug)]
struct Report {
    errors: Vec<String>,
    complete: bool,
}

impl Report {
    fn note<T>(&mut self, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.errors.push(format!("{} {}", error.sqlstate(), error.message()));
                None
            }
        }
    }
}

fn use_it(image: &Image) -> Report {
    let mut report = Report::default();
    let vfs = image.install();
    let opened = Engine::open(Arc::new(vfs.clone()), Path::new("db"), options());
    let Some(engine) = report.note(opened) else { return report };
    read(&engine, image, &mut report);
    let written = write(&engine, image);
    report.note(written);
    for file in image.stores {
        let Some(Some(tree)) = report.note(engine.tree_of(file)) else { continue };
        let checked = engine.store().tree(tree).check();
        report.note(checked.map_err(steppe_types::Error::from));
    }
    let closed = engine.purge_all().and_then(|_| engine.close());
    report.note(closed);
    report
}

fn read(engine: &Arc<Engine>, image: &Image, report: &mut Report) {
    let session = engine.new_session(DatabaseId::POSTGRES);
    let Some(txn) = report.note(begin(&session)) else { return };
    let table = TableStore::open(engine, image.stores[0]);
    let rows = table.scan_all(txn.view()).and_then(|mut cursor| {
        let mut rows = 0;
        while let Some((_, row)) = cursor.next()? {
            let n = row.get(..4).map_or(0, |n| u32::from_le_bytes(n.try_into().expect("4")));
            rows += u32::from(row == row_bytes(n, n < CHANGED));
        }
        Ok(rows)
    });
    let rows = report.note(rows);
    report.complete = rows == Some(ROWS + 200) && report.errors.is_empty();
    let index = IndexStore::open(engine, image.stores[1], true);
    for direction in [Direction::Forward, Direction::Backward] {
        let cursor = index.scan(txn.view(), Bound::Unbounded, Bound::Unbounded, direction);
        let Some(mut cursor) = report.note(cursor) else { continue };
        let scanned = std::iter::from_fn(|| match cursor.next() {
            Ok(found) => found.map(|_| Ok(())),
            Err(error) => Some(Err(error)),
        });
        let scanned: Result<()> = scanned.collect();
        report.note(scanned);
    }
    let mut buffer = RowBuf::new();
    for n in (0..ROWS).step_by(7) {
        report.note(table.get(&txn.view(), RowId(u64::from(n)), &mut buffer));
    }
    if let Some(Some(tree)) = report.note(table.tree()) {
        report.note(tree.page_count().map_err(steppe_types::Error::from));
    }
}

fn write(engine: &Arc<Engine>, image: &Image) -> Result<()> {
    let session = engine.new_session(DatabaseId::POSTGRES);
    let table = TableStore::open(engine, image.stores[0]);
    let index = IndexStore::open(engine, image.stores[1], true);
    let values = OverflowStore::open(engine, image.stores[2]);
    let mut failure = None;
    for round in 0..3u32 {
        let mut txn = begin(&session)?;
        let mut work = || -> Result<()> {
            for n in (0..ROWS).step_by(11) {
                replace(&mut txn, &table, RowId(u64::from(n + round)), &row_bytes(n, true))?;
            }
            for n in 0..60u32 {
                let id = table.insert(&mut txn, &row_bytes(n, false))?;
                let key = (round * 1000 + n).wrapping_mul(0x85EB_CA6B).to_be_bytes();
                index.insert(&mut txn, &key, false, id)?;
            }
            values.put(&mut txn, &[3; 9000]).map(drop)
        };
        let worked = work();
        let ended = if round == 1 { txn.rollback() } else { txn.commit().map(drop) };
        failure = failure.or(worked.and(ended).err());
    }
    let check = &mut || Ok(());
    engine.sweep_rows(&table, check)?;
    engine.sweep_index(&index, check)?;
    let references = &mut |_: &[u8], _: &mut Vec<OverflowRef>| Ok(());
    engine.sweep_values(&table, &values, references, check)?;
    failure.map_or(Ok(()), Err)
}

/// Runs one case; it must end soon.
fn try_case(seed: u64, damage: fn(&mut Image, &SeededRandom)) -> Report {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut image = image();
        let random = SeededRandom::new(seed);
        damage(&mut image, &random);
        // A receiver that has given up is not waiting for this.
        let _ = sender.send(use_it(&image));
    });
    match receiver.recv_timeout(Duration::from_secs(60)) {
        Ok(report) => report,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("seed {seed} does not end"),
        Err(mpsc::RecvTimeoutError::Disconnected) => panic!("seed {seed} has panicked"),
    }
}

fn seeds(default_count: u64) -> std::ops::RangeInclusive<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    match number("STEPPE_SEED") {
        Some(seed) => seed..=seed,
        None => {
            let first = number("STEPPE_FIRST_SEED").unwrap_or(1);
            first..=first - 1 + number("STEPPE_SEEDS").unwrap_or(default_count)
        }
    }
}

fn all_cases(count: u64, damage: fn(&mut Image, &SeededRandom)) {
    let (mut noticed, mut internal) = (0, Vec::new());
    for seed in seeds(count) {
        let report = try_case(seed, damage);
        noticed += u64::from(!report.errors.is_empty());
        internal.extend(report.errors.into_iter().filter(|e| e.starts_with("XX000")).take(1));
    }
    // A few seeds may do nothing but what changes nothing.
    let enough = u64::try_from(seeds(count).count()).is_ok_and(|seeds| seeds >= count);
    assert!(noticed > 0 || !enough, "no damage was ever noticed");
    internal.sort();
    internal.dedup();
    println!("{noticed} noticed; internal errors: {internal:#?}");
}

#[test]
fn sound_files_are_read_in_full() {
    let report = try_case(0, |_, _| {});
    assert!(report.complete && report.errors.is_empty(), "{report:?}");
}

#[test]
fn blind_damage_is_an_error_and_never_a_wrong_answer() {
    for seed in seeds(150) {
        let report = try_case(seed, damage_blindly);
        assert!(report.complete || !report.errors.is_empty(), "seed {seed}: rows are missing");
    }
}

#[test]
fn forged_pages_do_no_harm() {
    all_cases(300, forge_page);
}

#[test]
fn forged_log_records_do_no_harm() {
    all_cases(300, forge_record);
}

#[test]
fn a_forged_doublewrite_file_does_no_harm() {
    all_cases(100, forge_doublewrite);
}

#[test]
fn a_forged_control_file_does_no_harm() {
    all_cases(150, forge_control);
}
