//! The cost of the log: nanoseconds per append, bytes per second against memcpy by one and two
//! threads, and commits per second.
//!
//! `cargo run --release -p steppe-storage --example wal_bench [DIRECTORY [ring]]`
//!
//! `ring` stops after the ring: under callgrind that shows the instructions per record.
//!
//! The directory's device determines the commit figures: on tmpfs they show the cost of the log
//! itself, on a disk the cost of a sync.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use steppe_storage::wal::{RecordHeader, Wal, WalError, WalOptions};
use steppe_vfs::{DIRECT_ALIGNMENT, File, OpenMode, RealVfs, Vfs};

const BODY: [u8; 100] = [7; 100];
/// Sizes of bodies: the record of a row, of some rows, and of a page.
const BODIES: [usize; 4] = [100, 1000, 8192, 65536];
/// Bytes of the ring by default.
const RING: usize = 16 << 20;
const ROUNDS: usize = 20;
/// Bytes of a record in addition to its body.
const HEADER: usize = 36;
const MEASURE: Duration = Duration::from_secs(2);

fn main() -> Result<(), WalError> {
    let base = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = base.join(format!("steppe-wal-bench-{}", std::process::id()));
    let only_ring = std::env::args().nth(2).is_some_and(|word| word == "ring");
    println!("directory: {}", base.display());
    let result = measure(&dir, only_ring);
    let _ = std::fs::remove_dir_all(&dir);
    result
}

fn measure(dir: &Path, only_ring: bool) -> Result<(), WalError> {
    let open = |name: &str, delay, threads| {
        let options = WalOptions { wal_writer_delay: delay, threads, ..WalOptions::default() };
        let first = options.first_lsn();
        Wal::open(Arc::new(RealVfs::new()), &dir.join(name), options, first)
    };
    // There is no flusher, which would work beside the measured threads.
    let wal = open("ring", Duration::from_secs(60), false)?;
    let file = RealVfs::new().open(&dir.join("copied"), OpenMode::CREATE.direct())?;
    for body in BODIES {
        for threads in [1, 2] {
            let warm = memcpy(threads, body, None)?;
            let copied = memcpy(threads, body, Some(&*file))?;
            let appended = append_into_the_ring(&wal, threads, body)?;
            println!(
                "{body:5} bytes, {threads} thread(s): memcpy {warm:5.2} GB/s, of what is written \
                 out {copied:5.2}, ring {appended:5.2} GB/s ({:.2} of that), {:7.1} ns per record \
                 in all",
                appended / copied,
                (body + HEADER) as f64 / appended
            );
        }
    }
    wal.shutdown()?;
    if only_ring {
        return Ok(());
    }
    let wal = open("append", Duration::from_secs(60), true)?;
    for threads in [1, 2] {
        append_through(&wal, threads)?;
    }
    wal.shutdown()?;
    let wal = open("commit", Duration::from_millis(200), true)?;
    for threads in [1, 2, 8, 32] {
        commit(&wal, threads, "blocking", |wal, end| wal.flush(end))?;
    }
    for threads in [1, 2, 8, 32] {
        commit(&wal, threads, "future", |wal, end| block_on(wal.flush_async(end)))?;
    }
    wal.shutdown().map(|_| ())
}

/// GB/s of copying as many bytes as a record has, repeatedly through a buffer as large as the ring
/// that the threads share; the best of some rounds.
///
/// Between the rounds the buffer is written to `file`, as the ring is: memory that a device has
/// just read may be a third as fast.
fn memcpy(threads: u64, body: usize, file: Option<&dyn File>) -> Result<f64, WalError> {
    let record = vec![7; body + HEADER];
    let mut memory = vec![0_u8; RING + DIRECT_ALIGNMENT];
    let first = memory.as_ptr().align_offset(DIRECT_ALIGNMENT);
    let buffer = &mut memory[first..first + RING];
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let parts = std::sync::Mutex::new(buffer.chunks_exact_mut(RING / threads as usize));
        let took = on_threads(threads, |_| {
            let Some(part) = parts.lock().expect("nobody panics").next() else { return Ok(()) };
            for place in part.chunks_exact_mut(record.len()) {
                place.copy_from_slice(std::hint::black_box(&record));
            }
            std::hint::black_box(part);
            Ok(())
        })?;
        best = best.min(took);
        if let Some(file) = file {
            file.write_at(buffer, 0)?;
            file.sync_data()?;
        }
    }
    let each = RING / threads as usize / record.len() * record.len();
    Ok((each * threads as usize) as f64 / best.as_nanos() as f64)
}

/// Runs `work` on `threads` threads at once; returns the time of the slowest.
fn on_threads(
    threads: u64,
    work: impl Fn(u64) -> Result<(), WalError> + Sync,
) -> Result<Duration, WalError> {
    let ready = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads)
            .map(|thread| {
                let (work, ready) = (&work, &ready);
                scope.spawn(move || {
                    ready.fetch_add(1, Ordering::SeqCst);
                    while ready.load(Ordering::SeqCst) < threads {
                        std::hint::spin_loop();
                    }
                    let start = Instant::now();
                    work(thread).map(|()| start.elapsed())
                })
            })
            .collect();
        let mut slowest = Duration::ZERO;
        for thread in started {
            slowest = slowest.max(thread.join().expect("a worker does not panic")?);
        }
        Ok(slowest)
    })
}

fn header(xid: u64) -> RecordHeader {
    RecordHeader { kind: 1, xid, ..RecordHeader::default() }
}

/// GB/s of appends that never wait: less than a ring full, which is emptied between the rounds.
fn append_into_the_ring(wal: &Wal, threads: u64, body: usize) -> Result<f64, WalError> {
    let each = RING as u64 * 2 / 3 / (body + HEADER) as u64 / threads;
    let body = vec![7; body];
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let took = on_threads(threads, |thread| {
            for _ in 0..each {
                wal.append(header(thread), &[&body])?;
            }
            Ok(())
        })?;
        best = best.min(took);
        wal.flush(wal.insert_position())?;
        wal.remove_before(wal.durable_lsn(), 64 << 20)?;
    }
    let bytes = each * threads * (body.len() + HEADER) as u64;
    Ok(bytes as f64 / best.as_nanos() as f64)
}

/// Appends for a while; the speed of writing out the ring is the limit.
fn append_through(wal: &Wal, threads: u64) -> Result<(), WalError> {
    let before = wal.insert_position();
    let took = on_threads(threads, |thread| {
        let start = Instant::now();
        while start.elapsed() < MEASURE {
            for _ in 0..1000 {
                wal.append(header(thread), &[&BODY])?;
            }
            if thread == 0 {
                wal.remove_before(wal.durable_lsn(), 256 << 20)?;
                wal.request_flush();
            }
        }
        Ok(())
    })?;
    let bytes = (wal.insert_position().0 - before.0) as f64;
    let seconds = took.as_secs_f64();
    let nanos = seconds * 1e9 / (bytes / 136.0);
    let rate = bytes / seconds / 1e9;
    println!("append, {threads} thread(s), to files:  {nanos:7.1} ns, {rate:5.2} GB/s");
    Ok(())
}

fn commit(
    wal: &Wal,
    threads: u64,
    how: &str,
    wait: impl Fn(&Wal, steppe_storage::wal::Lsn) -> Result<(), WalError> + Sync,
) -> Result<(), WalError> {
    let commits = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let syncs = wal.stats().syncs;
    let took = on_threads(threads, |thread| {
        let start = Instant::now();
        let mut done = 0;
        while !stop.load(Ordering::Relaxed) {
            let end = wal.append(header(thread), &[&BODY])?.end;
            wait(wal, end)?;
            done += 1;
            if start.elapsed() > MEASURE {
                stop.store(true, Ordering::Relaxed);
            }
        }
        commits.fetch_add(done, Ordering::Relaxed);
        Ok(())
    })?;
    wal.remove_before(wal.durable_lsn(), 64 << 20)?;
    let rate = commits.load(Ordering::Relaxed) as f64 / took.as_secs_f64();
    let groups = (wal.stats().syncs - syncs) as f64 / took.as_secs_f64();
    println!("commit, {threads:2} threads, {how:8}: {rate:9.0} per second, {groups:9.0} syncs");
    Ok(())
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
