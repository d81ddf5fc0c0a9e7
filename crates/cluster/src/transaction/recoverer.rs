//! The thread that ends what clients have not: it goes on with commits whose connections broke, and
//! resolves what earlier lives have left.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::eventfd::{EfdFlags, EventFd};
use parking_lot::Mutex;
use steppe_types::{Error, Result, SqlState};

use super::Cluster;
use super::link::{Answers, Link, Owner, Reach};
use crate::commit::{Action, Actions, Answer, Commit, Outcome, Recovery, Request, TransactionKey};
use crate::gate::Passage;
use crate::wait::{self, Heed, Watched};
use crate::{Interest, NodeId};

/// How many records one request deletes.
const FORGET_BATCH: usize = 500;
/// The time between two deletions of records.
const SWEEP_EVERY: Duration = Duration::from_millis(500);

/// A commit that its client has handed over.
pub(super) struct Job {
    pub(super) commit: Commit,
    pub(super) passage: Option<Passage>,
    /// Requests that any session can carry out.
    pub(super) requests: Vec<(NodeId, Request)>,
    pub(super) tell: mpsc::SyncSender<Outcome>,
    /// Until when the client waits.
    pub(super) deadline: Instant,
}

#[derive(Default)]
struct Inbox {
    jobs: Vec<Job>,
    looks: bool,
    stops: bool,
}

/// Messages to the recoverer.
pub(super) struct Mailbox {
    bell: EventFd,
    inbox: Mutex<Inbox>,
}

impl Mailbox {
    pub(super) fn new() -> Result<Mailbox> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let bell = EventFd::from_value_and_flags(0, flags).map_err(|errno| {
            Error::new(SqlState::IO_ERROR, format!("could not create an eventfd: {errno}"))
        })?;
        Ok(Mailbox { bell, inbox: Mutex::default() })
    }

    fn ring(&self, note: impl FnOnce(&mut Inbox)) {
        note(&mut self.inbox.lock());
        // It fails only if the counter is at its maximum: the descriptor is readable then.
        let _ = self.bell.write(1);
    }

    pub(super) fn look_now(&self) {
        self.ring(|inbox| inbox.looks = true);
    }

    /// After the recoverer has stopped, the job is dropped, and its client is told at once.
    pub(super) fn hand_over(&self, job: Job) {
        self.ring(|inbox| {
            if !inbox.stops {
                inbox.jobs.push(job);
            }
        });
    }

    fn take(&self) -> Inbox {
        // It fails if the bell was not rung.
        let _ = self.bell.read();
        let mut inbox = self.inbox.lock();
        let stops = inbox.stops;
        Inbox { stops, ..std::mem::take(&mut *inbox) }
    }
}

/// The recoverer of a coordinator's life. Dropped, it stops in order.
pub struct Recoverer {
    cluster: Arc<Cluster>,
    thread: Option<JoinHandle<()>>,
}

impl Recoverer {
    /// Starts the thread. Error 53000: the system has none left.
    pub fn start(cluster: &Arc<Cluster>) -> Result<Recoverer> {
        let worker = Worker::new(Arc::clone(cluster));
        let thread = std::thread::Builder::new()
            .name("cluster recoverer".into())
            .spawn(move || worker.run())
            .map_err(|error| {
                let message = format!("could not start the recoverer: {error}");
                Error::new(SqlState::INSUFFICIENT_RESOURCES, message)
            })?;
        Ok(Recoverer { cluster: Arc::clone(cluster), thread: Some(thread) })
    }
}

impl Drop for Recoverer {
    fn drop(&mut self) {
        self.cluster.mailbox.ring(|inbox| inbox.stops = true);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported by it.
            let _ = thread.join();
        }
    }
}

/// A commit that the thread goes on with.
struct Running {
    commit: Commit,
    passage: Option<Passage>,
    tell: mpsc::SyncSender<Outcome>,
    /// `None`: the client was told.
    deadline: Option<Instant>,
}

struct Worker {
    cluster: Arc<Cluster>,
    recovery: Recovery,
    links: BTreeMap<NodeId, Link>,
    registered: std::collections::BTreeSet<NodeId>,
    /// When a node is listed next. `None`: it is being listed.
    looks: BTreeMap<NodeId, Option<Instant>>,
    running: BTreeMap<u64, Running>,
    holds: BTreeMap<TransactionKey, Passage>,
    retries: Vec<(Instant, Owner, NodeId, Request)>,
    /// Answers of the coordinator's own database.
    local_answers: Answers,
    sweep_at: Instant,
}

impl Worker {
    fn new(cluster: Arc<Cluster>) -> Worker {
        let recovery = Recovery::new(cluster.by);
        Worker {
            cluster,
            recovery,
            links: BTreeMap::new(),
            registered: Default::default(),
            looks: BTreeMap::new(),
            running: BTreeMap::new(),
            holds: BTreeMap::new(),
            retries: Vec::new(),
            local_answers: Answers::new(),
            sweep_at: Instant::now(),
        }
    }

    fn run(mut self) {
        loop {
            let inbox = self.cluster.mailbox.take();
            if inbox.looks {
                self.looks.values_mut().flatten().for_each(|at| *at = Instant::now());
            }
            inbox.jobs.into_iter().for_each(|job| self.take_over(job));
            if inbox.stops {
                return self.stop();
            }
            let now = Instant::now();
            self.give_up(|deadline| now >= deadline);
            self.retry(now);
            self.look(now);
            self.sweep(now);
            if !self.advance() {
                let mut in_doubt = self.recovery.in_doubt();
                in_doubt.extend(self.running.values().flat_map(|run| run.commit.in_doubt()));
                self.cluster.state.lock().in_doubt = in_doubt;
                self.sleep();
            }
        }
    }

    /// Tells the clients that still wait what is known.
    fn stop(mut self) {
        self.give_up(|_| true);
    }

    fn give_up(&mut self, is_due: impl Fn(Instant) -> bool) {
        let due = self.running.iter().filter(|(_, run)| run.deadline.is_some_and(&is_due));
        for number in due.map(|(number, _)| *number).collect::<Vec<_>>() {
            let mut out = Vec::new();
            if let Some(run) = self.running.get_mut(&number)
                && run.commit.give_up(&mut out)
            {
                run.deadline = None;
            }
            self.act_for_commit(number, out);
        }
    }

    fn take_over(&mut self, job: Job) {
        let Job { commit, passage, requests, tell, deadline } = job;
        let number = commit.number();
        for (node, request) in requests {
            self.send(Owner::Commit(number), node, request);
        }
        self.running.insert(number, Running { commit, passage, tell, deadline: Some(deadline) });
    }

    fn send(&mut self, owner: Owner, node: NodeId, request: Request) {
        if node == self.cluster.local_id() {
            let answer = self.cluster.ask_local(&request);
            return self.local_answers.push((owner, node, answer));
        }
        let within = self.cluster.times.answer_within;
        self.links.entry(node).or_insert_with(|| Link::new(node, within)).push(owner, request);
    }

    fn retry(&mut self, now: Instant) {
        let (due, later) =
            std::mem::take(&mut self.retries).into_iter().partition(|(at, ..)| now >= *at);
        self.retries = later;
        let due: Vec<(Instant, Owner, NodeId, Request)> = due;
        for (_, owner, node, request) in due {
            self.send(owner, node, request);
        }
    }

    // ----- lists -----

    fn look(&mut self, now: Instant) {
        let mut nodes: Vec<NodeId> = self.cluster.state.lock().nodes.keys().copied().collect();
        nodes.extend(self.cluster.local.is_some().then(|| self.cluster.local_id()));
        self.looks.retain(|node, _| nodes.contains(node));
        self.registered.retain(|node| nodes.contains(node));
        for node in nodes {
            let at = self.looks.entry(node).or_insert(Some(now));
            if at.is_some_and(|at| now >= at) {
                *at = None;
                self.ask(node);
            }
        }
    }

    fn ask(&mut self, node: NodeId) {
        if !self.registered.contains(&node) {
            return self.send(Owner::Look, node, Request::Register(self.cluster.by));
        }
        let running = self.cluster.state.lock().running.clone();
        self.recovery.ask(node, running);
        self.send(Owner::Look, node, Request::List);
    }

    fn looked(&mut self, node: NodeId, answer: Answer) {
        let next = Instant::now() + self.cluster.times.look_every;
        match answer {
            Answer::Done => {
                self.registered.insert(node);
                return self.ask(node);
            }
            Answer::Listed(listing) => {
                let mut out = Vec::new();
                self.recovery.listed(node, listing, &mut out);
                // The gate is held before a reader gets a session.
                self.act(out);
                let mut state = self.cluster.state.lock();
                state.listed.insert(node);
                state.unlisted.remove(&node);
                state.ring();
                drop(state);
                // Also those of earlier lives. Mostly there are none.
                self.send(Owner::Chore, node, Request::ForgetFences);
            }
            Answer::Superseded => self.cluster.supersede(),
            _ if !self.looks.contains_key(&node) => self.recovery.not_listed(node),
            answer => {
                self.recovery.not_listed(node);
                self.cluster.not_listed(node, self.why_not_listed(node, answer));
                let soon = Instant::now() + self.cluster.times.retry_after;
                self.looks.insert(node, Some(soon.min(next)));
                return;
            }
        }
        self.looks.insert(node, Some(next));
    }

    fn why_not_listed(&self, node: NodeId, answer: Answer) -> Error {
        let of_link = || self.links.get(&node)?.failure().cloned();
        match answer {
            Answer::Refused(error) => error,
            _ => of_link().unwrap_or_else(|| {
                Error::new(SqlState::CONNECTION_FAILURE, "the connection was lost")
            }),
        }
    }

    // ----- records -----

    /// Deletes records that are not needed any more. (Fences are deleted after each list.)
    fn sweep(&mut self, now: Instant) {
        if now < self.sweep_at {
            return;
        }
        self.sweep_at = now + SWEEP_EVERY;
        let mut by_node: BTreeMap<NodeId, Vec<TransactionKey>> = BTreeMap::new();
        for key in std::mem::take(&mut self.cluster.state.lock().forget) {
            by_node.entry(key.deciding).or_default().push(key);
        }
        for (node, keys) in by_node {
            for batch in keys.chunks(FORGET_BATCH) {
                self.send(Owner::Chore, node, Request::Forget(batch.to_vec()));
            }
        }
    }

    // ----- the machines -----

    /// Goes on with all links. Whether an answer has come.
    fn advance(&mut self) -> bool {
        let mut answers = std::mem::take(&mut self.local_answers);
        for (node, link) in &mut self.links {
            match reach_of(&self.cluster, *node) {
                Some(reach) => link.advance(&self.cluster, &reach, &mut answers),
                // It was removed.
                None => link.fail(&mut answers),
            }
        }
        let has_answers = !answers.is_empty();
        for (owner, node, answer) in answers {
            match owner {
                Owner::Look => self.looked(node, answer),
                Owner::Commit(number) => {
                    let mut out = Vec::new();
                    if let Some(run) = self.running.get_mut(&number) {
                        run.commit.answer(node, answer, &mut out);
                    }
                    self.act_for_commit(number, out);
                }
                Owner::Recovery(key) => {
                    let mut out = Vec::new();
                    self.recovery.answer(key, node, answer, &mut out);
                    self.act(out);
                }
                // A record that stays is found by the next life's list, and deleted then.
                Owner::Chore => {}
            }
        }
        has_answers
    }

    fn again(&mut self, owner: Owner, node: NodeId, request: Request) {
        let at = Instant::now() + self.cluster.times.retry_after;
        self.retries.push((at, owner, node, request));
    }

    fn act_for_commit(&mut self, number: u64, actions: Vec<Action>) {
        for action in actions {
            let owner = Owner::Commit(number);
            let Some(run) = self.running.get_mut(&number) else { return };
            match action {
                Action::Send(node, request) if request.is_in_transaction() => {
                    let mut out = Vec::new();
                    run.commit.answer(node, Answer::Lost, &mut out);
                    self.act_for_commit(number, out);
                }
                Action::Send(node, request) => self.send(owner, node, request),
                Action::Retry(node, request) => self.again(owner, node, request),
                Action::NarrowGate(pending) => {
                    if let Some(passage) = &run.passage {
                        passage.narrow(pending);
                    }
                }
                Action::LeaveGate => run.passage = None,
                Action::Tell(outcome) => {
                    run.deadline = None;
                    // The client may not wait any more.
                    let _ = run.tell.try_send(outcome);
                }
                Action::Forget(key) => self.cluster.state.lock().forget.push(key),
                Action::Superseded => self.cluster.supersede(),
                Action::Finished => {
                    self.running.remove(&number);
                    self.cluster.finished(number);
                }
                // It has decided before it was handed over.
                Action::EnterGate(_) | Action::HoldGate { .. } => {}
            }
        }
    }

    fn act(&mut self, actions: Actions) {
        for (key, action) in actions {
            let owner = Owner::Recovery(key);
            match action {
                Action::Send(node, request) => self.send(owner, node, request),
                Action::Retry(node, request) => self.again(owner, node, request),
                Action::HoldGate { nodes, pending } => {
                    let passage = self.cluster.gate.hold(nodes, pending);
                    self.holds.insert(key, passage);
                }
                Action::LeaveGate => drop(self.holds.remove(&key)),
                Action::Forget(key) => self.cluster.state.lock().forget.push(key),
                Action::Superseded => self.cluster.supersede(),
                Action::Finished
                | Action::Tell(_)
                | Action::EnterGate(_)
                | Action::NarrowGate(_) => {}
            }
        }
    }

    fn sleep(&self) {
        let looks = self.looks.values().flatten().copied();
        let links = self.links.values().filter_map(Link::deadline);
        let clients = self.running.values().filter_map(|run| run.deadline);
        let retries = self.retries.iter().map(|(at, ..)| *at);
        let next = looks.chain(links).chain(clients).chain(retries).chain([self.sweep_at]).min();
        let bell = Watched::new(self.cluster.mailbox.bell.as_fd(), Interest::Read);
        let mut watched: Vec<Watched<'_>> =
            self.links.values().filter_map(Link::watched).chain([bell]).collect();
        if wait::any(&mut watched, next, Heed::Nothing).is_err() {
            // The system cannot wait for descriptors now: pause, not spin.
            std::thread::sleep(self.cluster.times.retry_after);
        }
    }
}

fn reach_of(cluster: &Cluster, node: NodeId) -> Option<Reach> {
    let state = cluster.state.lock();
    let known = state.nodes.get(&node)?;
    Some(Reach { info: known.info.clone(), expected: known.pool.opener().expected().cloned() })
}
