//! The pool with threads and futures, over things that are no sockets.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use steppe_types::interrupt::{self, Interrupts};
use steppe_types::{Error, Result, SqlState};

use super::*;

/// A node that counts its connections.
#[derive(Default)]
struct Node {
    connections: AtomicUsize,
    most: AtomicUsize,
    opened: AtomicUsize,
    is_down: AtomicBool,
    room: Mutex<Option<usize>>,
    /// Each connection's number is alive.
    alive: Mutex<BTreeMap<usize, bool>>,
}

struct Thing {
    node: Arc<Node>,
    number: usize,
    condition: Condition,
    resets: usize,
}

impl Drop for Thing {
    fn drop(&mut self) {
        self.node.connections.fetch_sub(1, SeqCst);
    }
}

impl Pooled for Thing {
    fn condition(&self) -> Condition {
        self.condition
    }

    fn is_alive(&mut self) -> bool {
        self.node.alive.lock()[&self.number]
    }

    fn reset(&mut self, _: Instant) -> Result<()> {
        self.resets += 1;
        self.condition = Condition::Clean;
        Ok(())
    }
}

struct Opens(Arc<Node>);

impl Opener for Opens {
    type Connection = Thing;
    type Key = &'static str;

    fn open(&self, _: &&'static str, _: Instant) -> Result<Thing, OpenFailure> {
        let node = Arc::clone(&self.0);
        if node.is_down.load(SeqCst) {
            let refused = Error::new(SqlState::CONNECTION_FAILURE, "Connection refused");
            return Err(OpenFailure::Down(refused));
        }
        let now = node.connections.fetch_add(1, SeqCst) + 1;
        if node.room.lock().is_some_and(|room| now > room) {
            node.connections.fetch_sub(1, SeqCst);
            let full =
                Error::new(SqlState::TOO_MANY_CONNECTIONS, "sorry, too many clients already");
            return Err(OpenFailure::Full(full));
        }
        node.most.fetch_max(now, SeqCst);
        let number = node.opened.fetch_add(1, SeqCst);
        node.alive.lock().insert(number, true);
        Ok(Thing { node, number, condition: Condition::Clean, resets: 0 })
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn pool(max_size: usize) -> (Arc<Node>, Keeper, Arc<Pool<Opens>>) {
    let keeper = Keeper::start().unwrap();
    let node = Arc::new(Node::default());
    let options = PoolOptions { max_size, ..PoolOptions::default() };
    let pool = Pool::new("dn1", Opens(Arc::clone(&node)), options, &keeper);
    (node, keeper, pool)
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn many_threads_share_few_connections() {
    let (node, _keeper, pool) = pool(5);
    let threads: Vec<_> = (0..40)
        .map(|i| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                for _ in 0..50 {
                    let key = if i % 8 == 0 { "other" } else { "one" };
                    let lease = pool.connect_in_place(key, soon()).unwrap();
                    thread::yield_now();
                    drop(lease);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(node.most.load(SeqCst) <= 5);
    let counts = pool.counts();
    assert_eq!((counts.used, counts.opening, counts.waiting), (0, 0, 0));
    assert_eq!(counts.idle, node.connections.load(SeqCst));
    pool.reload();
    assert_eq!(node.connections.load(SeqCst), 0);
}

#[test]
fn a_future_and_a_thread_wait_in_one_queue() {
    let (_node, _keeper, pool) = pool(1);
    let held = pool.connect_in_place("one", soon()).unwrap();
    let mut first = pin!(pool.request("one"));
    let flag = Arc::new(Flag::default());
    let waker = Waker::from(Arc::clone(&flag));
    let mut context = Context::from_waker(&waker);
    assert!(first.as_mut().poll(&mut context).is_pending());
    let second = {
        let pool = Arc::clone(&pool);
        thread::spawn(move || pool.connect_in_place("one", soon()).unwrap().number)
    };
    while pool.counts().waiting < 2 {
        thread::yield_now();
    }
    let number = held.number;
    drop(held);
    assert!(flag.0.load(SeqCst));
    let Poll::Ready(Ok(place)) = first.as_mut().poll(&mut context) else { panic!("not granted") };
    let Filled::Ready(lease) = place.fill(soon()).unwrap() else { panic!("sent back") };
    assert!(!second.is_finished());
    assert_eq!(lease.number, number);
    drop(lease);
    assert_eq!(second.join().unwrap(), number);
}

#[test]
fn what_comes_back_is_clean() {
    let (node, _keeper, pool) = pool(1);
    let mut lease = pool.connect_in_place("one", soon()).unwrap();
    lease.condition = Condition::NeedsReset;
    drop(lease);
    let mut lease = pool.connect_in_place("one", soon()).unwrap();
    assert_eq!((lease.number, lease.resets), (0, 1));
    lease.condition = Condition::Unusable;
    drop(lease);
    assert_eq!(node.connections.load(SeqCst), 0);
    let lease = pool.connect_in_place("one", soon()).unwrap();
    assert_eq!(lease.number, 1);
    // The session panics.
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _lease = lease;
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(unwound.is_err());
    assert_eq!(pool.counts().idle, 1);
    node.alive.lock().insert(1, false);
    assert_eq!(pool.connect_in_place("one", soon()).unwrap().number, 2);
}

#[test]
fn a_node_that_is_down_fails_at_once_and_comes_back_by_itself() {
    let (node, _keeper, pool) = pool(2);
    node.is_down.store(true, SeqCst);
    let error = pool.connect_in_place("one", soon()).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::CONNECTION_FAILURE);
    assert_eq!(error.message(), "connection to node \"dn1\" failed: Connection refused");
    assert!(pool.counts().down.is_some());
    assert!(pool.connect_in_place("one", soon()).is_err());
    node.is_down.store(false, SeqCst);
    while pool.counts().down.is_some() {
        thread::sleep(Duration::from_millis(5));
    }
    // The keeper's connection.
    assert_eq!(pool.connect_in_place("one", soon()).unwrap().number, 0);
}

#[test]
fn a_full_node_makes_requests_wait_while_others_have_connections() {
    let (node, _keeper, pool) = pool(4);
    *node.room.lock() = Some(1);
    let held = pool.connect_in_place("one", soon()).unwrap();
    let waiter = {
        let pool = Arc::clone(&pool);
        thread::spawn(move || pool.connect_in_place("two", soon()).map(|lease| lease.number))
    };
    thread::sleep(Duration::from_millis(60));
    assert!(!waiter.is_finished());
    drop(held);
    assert_eq!(waiter.join().unwrap().unwrap(), 1);
    pool.reload();
    *node.room.lock() = Some(0);
    let error = pool.connect_in_place("one", soon()).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::TOO_MANY_CONNECTIONS);
    assert_eq!(error.fields().context.as_deref(), Some("remote node \"dn1\""));
}

struct Asked(AtomicBool);

impl Interrupts for Asked {
    fn check(&self) -> Result<()> {
        match self.0.load(SeqCst) {
            true => Err(Error::new(SqlState::QUERY_CANCELED, "as asked")),
            false => Ok(()),
        }
    }

    fn reserve(&self, _: usize) -> Result<()> {
        Ok(())
    }
}

#[test]
fn waits_end_with_the_statement_and_with_their_deadline() {
    let (_node, _keeper, pool) = pool(1);
    let _held = pool.connect_in_place("one", soon()).unwrap();
    let deadline = Instant::now() + Duration::from_millis(30);
    let error = pool.connect_in_place("one", deadline).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::TOO_MANY_CONNECTIONS);
    let asked = Arc::new(Asked(AtomicBool::new(false)));
    let waiter = {
        let (pool, asked) = (Arc::clone(&pool), Arc::clone(&asked));
        thread::spawn(move || {
            let mut interrupts: Option<Arc<dyn Interrupts>> = Some(asked);
            interrupt::during(&mut interrupts, || pool.connect_in_place("one", soon()).map(drop))
        })
    };
    while pool.counts().waiting == 0 {
        thread::yield_now();
    }
    let begun = Instant::now();
    asked.0.store(true, SeqCst);
    let error = waiter.join().unwrap().unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::QUERY_CANCELED);
    assert!(begun.elapsed() < Duration::from_millis(100));
    assert_eq!(pool.counts().waiting, 0);
}
