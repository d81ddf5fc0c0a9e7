use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use steppe_types::SqlState;
use steppe_vfs::SeededRandom;

use super::*;
use crate::NodeId;

fn nodes(of: &[u64]) -> NodeSet {
    of.iter().map(|node| NodeId(*node)).collect()
}

fn passed(entry: Entry) -> Passage {
    match entry {
        Entry::Passed(passage) => passage,
        Entry::Waits(_) => panic!("has to wait"),
    }
}

fn waits(entry: Entry) -> PassageWait {
    match entry {
        Entry::Passed(_) => panic!("does not wait"),
        Entry::Waits(wait) => wait,
    }
}

#[test]
fn readers_and_commits_exclude_each_other_by_two_nodes() {
    let gate = Gate::new();
    let commit = passed(gate.enter_commit(nodes(&[1, 2])));
    let _other = passed(gate.enter_commit(nodes(&[1, 2])));
    let _one_shared = passed(gate.enter_read(nodes(&[1, 3])));
    let mut reader = waits(gate.enter_read(nodes(&[1, 2, 3])));
    drop(commit);
    assert!(reader.try_take().is_none());
    drop(_other);
    assert!(reader.try_take().is_some());
}

#[test]
fn a_newcomer_waits_behind_those_it_excludes_and_enters_with_its_kind() {
    let gate = Gate::new();
    let both = || nodes(&[1, 2]);
    let reading = passed(gate.enter_read(both()));
    let mut first = waits(gate.enter_commit(both()));
    let mut reader = waits(gate.enter_read(both()));
    let mut second = waits(gate.enter_commit(both()));
    drop(reading);
    let (one, two) = (first.try_take(), second.try_take());
    assert!(one.is_some() && two.is_some() && reader.try_take().is_none());
    // The reader was passed over once. A third commit waits behind it.
    let mut third = waits(gate.enter_commit(both()));
    drop(one);
    assert!(third.try_take().is_none() && reader.try_take().is_none());
    drop(two);
    let passage = reader.try_take();
    assert!(passage.is_some() && third.try_take().is_none());
    drop(passage);
    assert!(third.try_take().is_some());
}

#[test]
fn a_waiting_request_that_is_dropped_lets_others_pass() {
    let gate = Gate::new();
    let reading = passed(gate.enter_read(nodes(&[1, 2])));
    let commit = waits(gate.enter_commit(nodes(&[1, 2])));
    let mut reader = waits(gate.enter_read(nodes(&[1, 2])));
    drop(commit);
    assert!(reader.try_take().is_some());
    drop(reading);
}

#[test]
fn a_stuck_commit_keeps_out_readers_of_the_node_that_is_down() {
    let gate = Gate::new();
    let commit = passed(gate.enter_commit(nodes(&[1, 2, 3])));
    let mut living = waits(gate.enter_read(nodes(&[1, 2])));
    let dead = waits(gate.enter_read(nodes(&[2, 3])));
    commit.narrow(nodes(&[3]));
    assert!(living.try_take().is_some());
    let deadline = Instant::now() + Duration::from_millis(30);
    let error = dead.wait_in_place(Some(deadline)).err().expect("the deadline passes");
    assert_eq!(error.sqlstate(), SqlState::LOCK_NOT_AVAILABLE);
}

#[test]
fn a_held_transaction_of_unknown_nodes_keeps_out_all_readers_of_several() {
    let gate = Gate::new();
    let held = gate.hold(None, nodes(&[2]));
    let _without = passed(gate.enter_read(nodes(&[1, 3])));
    let mut with = waits(gate.enter_read(nodes(&[2, 9])));
    let known = gate.hold(Some(nodes(&[1, 2])), nodes(&[2]));
    drop(held);
    assert!(with.try_take().is_some());
    drop(known);
}

#[test]
fn a_node_joins_unless_a_commit_has_come_between() {
    let gate = Gate::new();
    let mut early = gate.snapshots(nodes(&[1]));
    drop(passed(gate.enter_commit(nodes(&[2, 3]))));
    assert!(early.join(NodeId(2)).is_ok());
    drop(passed(gate.enter_commit(nodes(&[1, 3]))));
    let error = early.join(NodeId(3)).expect_err("the commit is not in the first snapshot");
    assert_eq!(error.sqlstate(), SqlState::SERIALIZATION_FAILURE);
    assert!(early.join(NodeId(4)).is_ok() && early.join(NodeId(1)).is_ok());
    let mut late = gate.snapshots(nodes(&[1]));
    assert!(late.join(NodeId(3)).is_ok());
    // A node that has answered shows a commit that another one still owes.
    let commit = passed(gate.enter_commit(nodes(&[5, 6, 7])));
    let mut within = gate.snapshots(nodes(&[5]));
    commit.narrow(nodes(&[7]));
    assert!(within.join(NodeId(6)).is_err());
}

#[test]
fn the_log_of_commits_is_bounded() {
    let gate = Gate::new();
    let mut oldest = gate.snapshots(nodes(&[1]));
    for _ in 0..70_000 {
        drop(passed(gate.enter_commit(nodes(&[8, 9]))));
    }
    assert!(oldest.join(NodeId(2)).is_err());
    let mut newer = gate.snapshots(nodes(&[1]));
    assert!(newer.join(NodeId(2)).is_ok());
}

#[test]
fn a_future_is_woken() {
    let gate = Gate::new();
    let commit = passed(gate.enter_commit(nodes(&[1, 2])));
    let mut reader = waits(gate.enter_read(nodes(&[1, 2])));
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut reader).poll(&mut context).is_pending());
    drop(commit);
    assert!(matches!(Pin::new(&mut reader).poll(&mut context), Poll::Ready(_)));
}

/// Random requests: those inside never exclude each other, each is let in in the end, and one that waits
/// sees at most two groups of later ones pass.
#[test]
fn no_request_starves() {
    for seed in 0..300 {
        let random = SeededRandom::new(seed);
        let some = || nodes(&[random.below(4), random.below(4), random.below(4)]);
        let mut queue = Queue::default();
        let mut inside: BTreeMap<Ticket, Claim> = BTreeMap::new();
        let mut waiting: BTreeMap<Ticket, (Claim, u64)> = BTreeMap::new();
        for step in 0..400 {
            let leaves = inside.len() > 6 || random.chance(1, 2);
            let mut entered = Vec::new();
            if leaves && !inside.is_empty() {
                let at = random.below(inside.len() as u64) as usize;
                let ticket = *inside.keys().nth(at).expect("counted");
                inside.remove(&ticket);
                entered = queue.leave(ticket).1;
            } else {
                let claim = match random.below(2) {
                    0 => Claim::Read(some()),
                    _ => {
                        let of = some();
                        Claim::Commit { nodes: Some(of.clone()), pending: of }
                    }
                };
                let (ticket, is_inside) = queue.enter(claim.clone());
                waiting.insert(ticket, (claim, step));
                entered.extend(is_inside.then_some(ticket));
            }
            for ticket in entered {
                let (claim, _) = waiting.remove(&ticket).expect("waited");
                assert!(inside.values().all(|other| !other.excludes(&claim)), "seed {seed}");
                inside.insert(ticket, claim);
            }
            assert!(waiting.values().all(|(_, since)| step - since < 250), "seed {seed} starves");
        }
        while let Some(ticket) = inside.keys().next().copied() {
            inside.remove(&ticket);
            for ticket in queue.leave(ticket).1 {
                inside.insert(ticket, waiting.remove(&ticket).expect("waited").0);
            }
        }
        assert!(waiting.is_empty(), "seed {seed}");
    }
}

/// Threads that move an amount between two nodes, and others that add both up.
#[test]
fn threads_see_no_half_of_a_commit() {
    use std::sync::atomic::{AtomicI64, Ordering};
    let gate = Gate::new();
    let accounts = [AtomicI64::new(100), AtomicI64::new(100)];
    let enter = |entry| match entry {
        Entry::Passed(passage) => passage,
        Entry::Waits(wait) => {
            let deadline = Instant::now() + Duration::from_secs(60);
            wait.wait_in_place(Some(deadline)).expect("no side starves")
        }
    };
    std::thread::scope(|scope| {
        for amount in [1, 7, -3] {
            let (gate, accounts, enter) = (&gate, &accounts, &enter);
            scope.spawn(move || {
                for _ in 0..500 {
                    let _passage = enter(gate.enter_commit(nodes(&[1, 2])));
                    accounts[0].fetch_sub(amount, Ordering::SeqCst);
                    std::thread::yield_now();
                    accounts[1].fetch_add(amount, Ordering::SeqCst);
                }
            });
            scope.spawn(move || {
                for _ in 0..500 {
                    let _passage = enter(gate.enter_read(nodes(&[1, 2])));
                    let first = accounts[0].load(Ordering::SeqCst);
                    std::thread::yield_now();
                    assert_eq!(first + accounts[1].load(Ordering::SeqCst), 200);
                }
            });
        }
    });
}

/// A statement's interrupts, which wake the waiter or do not.
struct Cancel {
    is_asked: std::sync::atomic::AtomicBool,
    wakes: bool,
    waker: Mutex<Option<Waker>>,
}

impl steppe_types::interrupt::Interrupts for Cancel {
    fn check(&self) -> steppe_types::Result<()> {
        match self.is_asked.load(std::sync::atomic::Ordering::SeqCst) {
            true => Err(steppe_types::Error::new(SqlState::QUERY_CANCELED, "canceled")),
            false => Ok(()),
        }
    }

    fn reserve(&self, _bytes: usize) -> steppe_types::Result<()> {
        Ok(())
    }

    fn wake_by(&self, waker: Option<Waker>) -> bool {
        *self.waker.lock() = waker;
        self.wakes
    }
}

#[test]
fn a_cancel_ends_a_wait_in_place() {
    for wakes in [true, false] {
        let gate = Gate::new();
        let commit = passed(gate.enter_commit(nodes(&[1, 2])));
        let cancel = Arc::new(Cancel { is_asked: false.into(), wakes, waker: Mutex::new(None) });
        let waiting = {
            let (gate, cancel) = (Arc::clone(&gate), Arc::clone(&cancel));
            std::thread::spawn(move || {
                let wait = waits(gate.enter_read(nodes(&[1, 2])));
                let mut interrupts: Option<Arc<dyn steppe_types::interrupt::Interrupts>> =
                    Some(cancel);
                let wait = || wait.wait_in_place(None).map(drop);
                steppe_types::interrupt::during(&mut interrupts, wait)
            })
        };
        while cancel.waker.lock().is_none() {
            std::thread::yield_now();
        }
        cancel.is_asked.store(true, std::sync::atomic::Ordering::SeqCst);
        if wakes && let Some(waker) = &*cancel.waker.lock() {
            waker.wake_by_ref();
        }
        let error = waiting.join().expect("does not panic").expect_err("was canceled");
        assert_eq!(error.sqlstate(), SqlState::QUERY_CANCELED);
        assert!(cancel.waker.lock().is_none());
        // The request has left the queue.
        drop(commit);
        drop(passed(gate.enter_commit(nodes(&[1, 2]))));
    }
}
