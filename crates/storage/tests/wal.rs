//! The log for its users: appends, flushes, reads and refusals.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use steppe_storage::wal::{
    Appended, Lsn, OwnedRecord, Priority, Record, RecordHeader, Wal, WalError, WalOptions,
    WalReader,
};
use steppe_vfs::{CrashVfs, OpenMode, SlowSyncVfs, Vfs};

const DIR: &str = "pg_wal";

fn options(threads: bool) -> WalOptions {
    WalOptions {
        ring_size: 16 << 10,
        segment_size: 16 << 10,
        system_id: 4711,
        threads,
        ..WalOptions::default()
    }
}

fn open(vfs: &CrashVfs, options: &WalOptions, start: Lsn) -> Wal {
    Wal::open(Arc::new(vfs.clone()), Path::new(DIR), options.clone(), start).expect("opens")
}

fn create(vfs: &CrashVfs, options: &WalOptions) -> Wal {
    open(vfs, options, options.first_lsn())
}

fn reader(vfs: &CrashVfs, from: Lsn, known_durable: Lsn) -> WalReader {
    WalReader::open(Arc::new(vfs.clone()), Path::new(DIR), &options(false), from, known_durable)
}

/// All records from the beginning, and the end of the log.
fn read_all(vfs: &CrashVfs) -> Result<(Vec<OwnedRecord>, Lsn), WalError> {
    read_from(vfs, options(false).first_lsn(), Lsn::INVALID)
}

fn read_from(
    vfs: &CrashVfs,
    from: Lsn,
    known_durable: Lsn,
) -> Result<(Vec<OwnedRecord>, Lsn), WalError> {
    let mut reader = reader(vfs, from, known_durable);
    let mut records = Vec::new();
    while let Some(record) = reader.next()? {
        let (start, end, header) = (record.start, record.end, record.header);
        records.push(OwnedRecord { start, end, header, body: record.body.to_vec() });
    }
    Ok((records, reader.position()))
}

fn record(xid: u64) -> RecordHeader {
    RecordHeader { kind: 1, xid, ..RecordHeader::default() }
}

#[test]
fn records_are_read_back_across_segments() {
    for threads in [false, true] {
        let vfs = CrashVfs::new(1);
        let wal = create(&vfs, &options(threads));
        let mut expected: Vec<OwnedRecord> = Vec::new();
        for i in 0..200_usize {
            let header = RecordHeader {
                kind: u8::try_from(i % 250).expect("small"),
                flags: u8::try_from(i % 128).expect("small"),
                xid: i as u64,
                prev_lsn: expected.last().map_or(Lsn::INVALID, |r| r.start),
                undo_next: (i % 3 == 0).then_some(Lsn(i as u64)),
            };
            let body: Vec<u8> = (0..i * 7).map(|b| u8::try_from(b % 256).expect("byte")).collect();
            let (a, b) = body.split_at(body.len() / 2);
            let Appended { start, end } = wal.append(header, &[a, &[], b]).expect("appends");
            assert_eq!(wal.insert_position(), end);
            assert!(!wal.is_durable(end) || wal.durable_lsn() == end);
            expected.push(OwnedRecord { start, end, header, body });
            if i % 50 == 0 {
                assert_eq!(wal.read_at(start).expect("reads"), expected[i]);
                wal.flush(end).expect("flushes");
                assert!(wal.is_durable(end));
            }
        }
        assert!(expected[199].end.0 > 5 * (16 << 10), "several laps and segments");
        // Backwards, then forwards again; the last records are not in the files before they are
        // requested.
        let mut near = wal.record_reader();
        for record in expected.iter().rev().chain(&expected) {
            let OwnedRecord { start, end, header, body } = record;
            let (start, end, header) = (*start, *end, *header);
            let found = near.read(start).expect("reads");
            assert_eq!(found, Record { start, end, header, body });
        }
        let beyond = near.read(wal.insert_position());
        assert!(matches!(beyond, Err(WalError::PastEnd { .. })), "{beyond:?}");
        assert_eq!(wal.read_at(expected[7].start).expect("reads"), expected[7]);
        let end = wal.shutdown().expect("flushes");
        assert_eq!(end, expected[199].end);
        let vfs = vfs.crash();
        assert_eq!(read_all(&vfs).expect("reads"), (expected.clone(), end));
        let one = reader(&vfs, end, end).read_at(expected[42].start).expect("reads");
        assert_eq!(one, expected[42]);
    }
}

#[test]
fn the_longest_record_fits_and_a_longer_one_is_refused() {
    let vfs = CrashVfs::new(1);
    let wal = create(&vfs, &options(true));
    let limit = options(true).max_record_len();
    let body = vec![5; limit - 36];
    for _ in 0..20 {
        wal.append(record(1), &[&body]).expect("appends");
    }
    let error = wal.append(record(1), &[&body, &[1]]).expect_err("too long");
    assert!(matches!(error, WalError::TooLarge { .. }), "{error}");
    let parts: Vec<&[u8]> = body.chunks(100).collect();
    let appended = wal.append(record(2), &parts).expect("many parts");
    assert_eq!(wal.read_at(appended.start).expect("reads").body, body);
    wal.shutdown().expect("flushes");
    assert_eq!(read_all(&vfs.crash()).expect("reads").0.len(), 21);
}

#[test]
fn a_record_may_span_several_segments() {
    for threads in [false, true] {
        let vfs = CrashVfs::new(1);
        let options = WalOptions { ring_size: 1 << 20, ..options(threads) };
        let wal = create(&vfs, &options);
        let body = vec![6; 150_000];
        for _ in 0..10 {
            wal.append(record(1), &[&body]).expect("appends");
        }
        let end = wal.shutdown().expect("flushes");
        let (records, found) = read_all(&vfs.crash()).expect("reads");
        assert_eq!((records.len(), found), (10, end));
        assert!(records.iter().all(|r| r.body == body));
    }
}

#[test]
fn a_new_log_goes_on_where_the_old_one_ended() {
    let vfs = CrashVfs::new(1);
    let mut start = options(true).first_lsn();
    for run in 0..10 {
        let wal = open(&vfs, &options(true), start);
        assert_eq!((wal.insert_position(), wal.durable_lsn()), (start, start));
        for _ in 0..run {
            wal.append(record(run), &[&[7; 1000]]).expect("appends");
        }
        start = wal.shutdown().expect("flushes");
        let (records, end) = read_all(&vfs).expect("reads");
        assert_eq!((records.len() as u64, end), ((0..=run).sum(), start));
    }
}

#[test]
fn segments_of_another_database_are_not_read() {
    let vfs = CrashVfs::new(1);
    let wal = create(&vfs, &options(false));
    wal.append(record(1), &[b"x"]).expect("appends");
    wal.shutdown().expect("flushes");
    let other = WalOptions { system_id: 1, ..options(false) };
    let from = other.first_lsn();
    let open = |known| WalReader::open(Arc::new(vfs.clone()), Path::new(DIR), &other, from, known);
    let error = open(Lsn(from.0 + 8)).next().expect_err("not this database's");
    assert!(matches!(error, WalError::Corrupt { .. }), "{error}");
}

// ---- asynchronous flushes ----

struct ThreadWake(std::thread::Thread);

impl Wake for ThreadWake {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(ThreadWake(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn flushes_form_groups() {
    let disk = Arc::new(CrashVfs::new(1));
    let vfs = SlowSyncVfs::new(disk.clone(), Duration::from_millis(2));
    let options = WalOptions { ring_size: 1 << 20, segment_size: 1 << 20, ..options(true) };
    let first = options.first_lsn();
    let wal = Wal::open(Arc::new(vfs), Path::new(DIR), options, first).expect("opens");
    let before = wal.stats().syncs;
    std::thread::scope(|scope| {
        for thread in 0..16_u64 {
            let wal = &wal;
            scope.spawn(move || {
                for _ in 0..20 {
                    let end = wal.append(record(thread), &[&[1; 50]]).expect("appends").end;
                    if thread % 2 == 0 {
                        wal.flush(end).expect("flushes");
                    } else {
                        block_on(wal.flush_async(end)).expect("flushes");
                    }
                    assert!(wal.is_durable(end));
                }
            });
        }
    });
    let syncs = wal.stats().syncs - before;
    assert!(syncs < 160, "{syncs} syncs for 320 commits");
}

/// Callers flush for themselves when they can, otherwise they wait for other callers' flushes.
/// Every request is served, though the flusher by itself would check only after a minute.
#[test]
fn a_request_that_finds_a_flush_under_way_is_not_forgotten() {
    // Slow enough that requests meet a running flush, quick enough that callers may lead one.
    let vfs = SlowSyncVfs::new(Arc::new(CrashVfs::new(5)), Duration::from_micros(20));
    let delay = Duration::from_secs(60);
    let options = WalOptions { wal_writer_delay: delay, ..options(true) };
    let first = options.first_lsn();
    let wal = Wal::open(Arc::new(vfs), Path::new(DIR), options, first).expect("opens");
    let start = Instant::now();
    let led = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (wal, led) = (&wal, &led);
            scope.spawn(move || {
                for n in 0..500 {
                    let end = wal.append(record(thread), &[&[n as u8; 20]]).expect("appends").end;
                    if wal.try_flush(end, Duration::from_millis(1)).expect("flushes") {
                        led.fetch_add(1, Ordering::Relaxed);
                    } else {
                        block_on(wal.flush_async(end)).expect("flushes");
                    }
                    assert!(wal.is_durable(end));
                }
            });
        }
    });
    assert!(led.load(Ordering::Relaxed) > 0, "nobody found the lock free");
    assert!(start.elapsed() < delay, "somebody waited for the flusher's own round");
}

#[test]
fn an_abandoned_wait_leaves_no_trace() {
    let vfs = CrashVfs::new(1);
    let wal = create(&vfs, &options(true));
    let end = wal.append(record(1), &[b"x"]).expect("appends").end;
    let mut future = Box::pin(wal.flush_async(end));
    let mut context = Context::from_waker(Waker::noop());
    let _ = future.as_mut().poll(&mut context);
    let _ = future.as_mut().poll(&mut context);
    drop(future);
    wal.flush(end).expect("flushes");
    let future = wal.flush_async(end);
    drop(wal);
    block_on(future).expect("it was durable before");
}

#[test]
fn what_nobody_waits_for_is_flushed_after_the_delay() {
    let vfs = CrashVfs::new(1);
    let delay = Duration::from_millis(20);
    let wal = create(&vfs, &WalOptions { wal_writer_delay: delay, ..options(true) });
    let end = wal.append(record(1), &[b"x"]).expect("appends").end;
    for _ in 0..500 {
        if wal.is_durable(end) {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(wal.is_durable(end));
    let next = wal.append(record(1), &[b"x"]).expect("appends").end;
    wal.request_flush();
    block_on(wal.flush_async(next)).expect("flushes");
}

/// The flusher does not forget such records when it is often woken to write, without sync, because
/// the ring fills up.
#[test]
fn what_nobody_waits_for_is_flushed_while_much_is_appended() {
    let vfs = CrashVfs::new(1);
    let delay = Duration::from_millis(50);
    let options = WalOptions { wal_writer_delay: delay, ..options(true) };
    let wal = create(&vfs, &options);
    let end = wal.append(record(1), &[b"nobody waits"]).expect("appends").end;
    let start = Instant::now();
    while !wal.is_durable(end) {
        assert!(start.elapsed() < Duration::from_secs(20), "nobody flushed it");
        wal.append(record(2), &[&[7; 1000]]).expect("appends");
    }
}

#[test]
fn a_wait_that_can_never_end_is_refused() {
    let vfs = CrashVfs::new(1);
    let wal = create(&vfs, &options(true));
    let beyond = Lsn(wal.insert_position().0 + 8);
    assert!(matches!(wal.flush(beyond), Err(WalError::PastEnd { .. })));
    assert!(matches!(block_on(wal.flush_async(beyond)), Err(WalError::PastEnd { .. })));
    assert!(matches!(wal.read_at(beyond), Err(WalError::PastEnd { .. })));
    let end = wal.append(record(1), &[b"x"]).expect("appends").end;
    let future = wal.flush_async(end);
    drop(wal);
    // The log is dropped without shutdown: the record may be lost, as in a crash, and its future
    // then returns an error.
    let result = block_on(future);
    assert!(matches!(result, Ok(()) | Err(WalError::Failed(_))), "{result:?}");
}

// ---- retention ----

#[test]
fn segments_are_recycled_and_their_old_bytes_are_not_records() {
    for threads in [false, true] {
        let vfs = CrashVfs::new(9);
        let wal = create(&vfs, &options(threads));
        let mut kept = Vec::new();
        for i in 0..600 {
            kept.push(wal.append(record(i), &[&[3; 500]]).expect("appends"));
            if i % 25 == 0 {
                wal.flush(kept[kept.len() - 1].end).expect("flushes");
                if kept.len() > 50 {
                    kept.drain(..kept.len() - 50);
                }
                wal.remove_before(kept[0].start, 40 << 10).expect("recycles");
            }
        }
        let old = wal.read_at(options(false).first_lsn()).expect_err("is gone");
        assert!(matches!(old, WalError::Removed(_)), "{old}");
        let files = vfs.list_dir(Path::new(DIR)).expect("lists").len();
        assert!(files <= 10, "{files} segments");
        wal.flush(kept[kept.len() - 1].end).expect("flushes");
        drop(wal);
        let (records, end) = read_from(&vfs.crash(), kept[0].start, Lsn::INVALID).expect("reads");
        assert_eq!(records.len(), kept.len());
        assert_eq!(end, kept[kept.len() - 1].end);
    }
}

/// The danger when a log is opened: a record survived a crash behind a lost one, and a new record
/// ends exactly where the survivor starts. (They meet at the end of a block, as the rest of a
/// written block is zeroed anyway.)
#[test]
fn a_record_cut_off_by_a_crash_does_not_come_back() {
    let vfs = CrashVfs::new(1);
    let wal = create(&vfs, &options(false));
    let first = wal.append(record(1), &[&[1; 100]]).expect("appends");
    let to_block_end = vec![2; 4096 - 136 - 36];
    let lost = wal.append(record(2), &[&to_block_end]).expect("appends");
    assert_eq!(lost.end.0 % 4096, 0);
    wal.append(record(3), &[&[3; 100]]).expect("appends");
    wal.flush(wal.insert_position()).expect("flushes");
    drop(wal);
    let path = segment_path(&vfs, 0);
    let file = vfs.open(&path, OpenMode::READ_WRITE).expect("opens");
    let offset = 4096 + lost.start.0 % (16 << 10);
    file.write_at(&[0; 80], offset).expect("writes");
    file.sync_data().expect("syncs");

    let (records, end) = read_all(&vfs).expect("a torn tail");
    assert_eq!((records.len(), end), (1, first.end));
    let wal = open(&vfs, &options(false), end);
    let again = wal.append(record(4), &[&to_block_end]).expect("appends");
    assert_eq!(again, lost, "the survivor would be next");
    wal.flush(again.end).expect("flushes");
    drop(wal);
    let (records, end) = read_all(&vfs).expect("reads");
    let xids: Vec<u64> = records.iter().map(|r| r.header.xid).collect();
    assert_eq!((xids, end), (vec![1, 4], again.end));
}

/// After a kill -9 the log's tail may be only in the page cache. Recovery uses it, so opening the
/// log must make it durable first.
#[test]
fn what_recovery_has_read_stays() {
    for seed in 0..20 {
        let vfs = CrashVfs::new(seed);
        let wal = create(&vfs, &options(false));
        for _ in 0..12 {
            wal.append(record(1), &[&[8; 3000]]).expect("appends");
        }
        drop(wal);
        let vfs = vfs.restart();
        let before = read_all(&vfs).expect("reads");
        assert!(before.0.len() > 2, "a full ring is written out without a sync");
        drop(open(&vfs, &options(false), before.1));
        assert_eq!(read_all(&vfs.crash()).expect("reads"), before);
    }
}

// ---- disk errors ----

fn segment_path(vfs: &CrashVfs, index: usize) -> PathBuf {
    let names = vfs.list_dir(Path::new(DIR)).expect("lists");
    Path::new(DIR).join(&names[index])
}

#[test]
fn a_failed_write_or_sync_stops_the_log_for_good() {
    for threads in [false, true] {
        for sync in [false, true] {
            let vfs = CrashVfs::new(1);
            let calls = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&calls);
            let on_fatal = Arc::new(move |error: &WalError| {
                assert!(matches!(error, WalError::Failed(_)));
                counted.fetch_add(1, Ordering::SeqCst);
            });
            let delay = Duration::from_secs(60);
            let options = WalOptions {
                on_fatal: Some(on_fatal),
                wal_writer_delay: delay,
                ..options(threads)
            };
            let wal = create(&vfs, &options);
            let good = wal.append(record(1), &[b"good"]).expect("appends").end;
            wal.flush(good).expect("flushes");
            let bad = wal.append(record(2), &[b"bad"]).expect("appends").end;
            let waiting = wal.flush_async(bad);
            if sync {
                vfs.fail_sync(DIR, 1)
            } else {
                vfs.fail_write(DIR, 1)
            }
            let error = wal.flush(bad).expect_err("EIO");
            assert!(matches!(error, WalError::Failed(_)), "{error}");
            assert!(error.to_string().contains("Input/output error"), "{error}");
            // The disk would report success now, after losing the data.
            assert!(matches!(wal.flush(bad), Err(WalError::Failed(_))));
            assert!(matches!(block_on(waiting), Err(WalError::Failed(_))));
            assert!(matches!(wal.append(record(3), &[b"x"]), Err(WalError::Failed(_))));
            assert!(!wal.is_durable(bad));
            wal.flush(good).expect("was durable before");
            assert_eq!(calls.load(Ordering::SeqCst), 1);
            drop(wal);
            let (records, _) = read_all(&vfs.crash()).expect("reads");
            assert_eq!(records.len(), 1);
        }
    }
}

#[test]
fn a_full_disk_refuses_new_work_and_lets_old_work_end() {
    for threads in [false, true] {
        let vfs = CrashVfs::new(1);
        let wal = create(&vfs, &options(threads));
        vfs.set_free_space(Some(1000));
        let mut count = 0;
        let error = loop {
            match wal.append(record(1), &[&[0; 400]]) {
                Ok(_) => count += 1,
                Err(e) => break e,
            }
        };
        assert!(matches!(error, WalError::NoSpace(_)), "{error}");
        assert!(error.to_string().contains("No space left on device"), "{error}");
        assert!(count > 30, "{count}: what had been allocated was usable");
        let end = wal.insert_position();
        assert!(matches!(wal.append(record(1), &[&[0; 400]]), Err(WalError::NoSpace(_))));
        assert_eq!(wal.insert_position(), end, "nothing was reserved");
        let must = Priority::MustSucceed;
        for _ in 0..20 {
            let appended = wal.append_with(must, record(2), &[b"rollback"]).expect("the reserve");
            wal.flush(appended.end).expect("flushes");
        }
        let exhausted = loop {
            if let Err(e) = wal.append_with(must, record(2), &[&[0; 400]]) {
                break e;
            }
        };
        assert!(matches!(exhausted, WalError::NoSpace(_)), "still no catastrophe: {exhausted}");
        wal.flush(wal.insert_position()).expect("flushes");

        vfs.set_free_space(Some(1 << 20));
        let appended = wal.append(record(3), &[b"again"]).expect("there is space again");
        wal.flush(appended.end).expect("flushes");
        drop(wal);
        let (records, _) = read_all(&vfs.crash()).expect("reads");
        assert_eq!(records.last().map(|r| r.header.xid), Some(3));
    }
}

/// Ten flushed groups of records.
fn log_of_groups(vfs: &CrashVfs) -> (Vec<Appended>, Lsn) {
    let wal = create(vfs, &options(false));
    let mut records = Vec::new();
    for group in 0..10 {
        for _ in 0..5 {
            records.push(wal.append(record(group), &[&[9; 300]]).expect("appends"));
        }
        wal.flush(wal.insert_position()).expect("flushes");
    }
    let end = wal.shutdown().expect("flushes");
    (records, end)
}

#[test]
fn a_flipped_bit_is_reported_with_file_and_position() {
    for seed in 0..300 {
        let vfs = CrashVfs::new(seed);
        let (records, end) = log_of_groups(&vfs);
        let first_group_of_last = records[45].start;
        let path = segment_path(&vfs, 0);
        let byte = vfs.flip_random_bit(&path).expect("flips");
        let hit = Lsn((16 << 10) + byte.saturating_sub(4096));
        let result = read_from(&vfs, options(false).first_lsn(), end);
        let in_padding = records.iter().any(|r| r.start.0 + 336 <= hit.0 && hit < r.end);
        let in_header = byte < 44;
        let in_unused = (44..4096).contains(&byte) || hit >= end || in_padding;
        match &result {
            Ok((read, _)) => assert!(in_unused && read.len() == 50, "seed {seed}: byte {byte}"),
            Err(WalError::Corrupt { file, lsn, .. }) => {
                assert_eq!(*file, path);
                let at = records.iter().find(|r| r.start <= hit && hit < r.end);
                let expected = if in_header { records[0].start } else { at.expect("a hit").start };
                assert_eq!(*lsn, expected);
            }
            Err(e) => panic!("seed {seed}: {e}"),
        }
        // Without the control file's durable position, the later groups still prove damage.
        let unaided = read_all(&vfs);
        if hit < first_group_of_last {
            assert_eq!(unaided.is_ok(), result.is_ok(), "seed {seed}: byte {byte}");
        }
    }
}

#[test]
fn a_lost_segment_in_the_middle_is_reported() {
    let vfs = CrashVfs::new(1);
    let wal = create(&vfs, &options(false));
    for group in 0..100 {
        wal.append(record(group), &[&[9; 1000]]).expect("appends");
        wal.flush(wal.insert_position()).expect("flushes");
    }
    wal.shutdown().expect("flushes");
    let path = segment_path(&vfs, 2);
    vfs.flip_bit(&path, 3, 0).expect("flips");
    let error = read_all(&vfs).expect_err("the header is damaged");
    assert!(matches!(error, WalError::Corrupt { .. }), "{error}");
    vfs.flip_bit(&path, 3, 0).expect("flips back");
    read_all(&vfs).expect("is whole again");
}
