//! The rules of a pool, without threads, sockets or a clock.
//!
//! Each method is one step, which the pool takes under its one latch. So every interleaving of
//! threads is a sequence of these steps, and [`super::model`] checks random ones. A step that
//! grants, fails or closes something only notes it ([`Effects`]); the pool wakes and closes after
//! it has left the latch.
//!
//! The conditions after each step:
//!
//! 1. *Places.* Connections in use, idle, granted, being opened and being closed are at most
//!    `max_size`, unless that was lowered meanwhile. Each is one place.
//! 2. *Order.* Requests are granted in the order of their tickets. A request that a node at its
//!    max_connections has sent back keeps its ticket.
//! 3. *Progress.* A request waits only if all places are taken, or if the node is at its
//!    max_connections and other connections of this pool exist. In the second case one is being
//!    opened, or [`Core::due`] says when the next try is. While a request waits, the node is not
//!    known to be down. A connection is idle then only while another one is being closed to make
//!    room.
//! 4. *Traces.* A request that leaves takes back its grant, and the next request gets it.

use std::collections::{BTreeMap, VecDeque};
use std::task::Waker;
use std::time::{Duration, Instant};

use steppe_types::{Error, Result};

use super::health::{Full, Health};
use super::{Counts, OpenFailure, PoolOptions};

/// A node that is down is tried as long as the last request for it is not older than this.
const TRIED_FOR: Duration = Duration::from_secs(60);
/// Steps that the model leaves out one by one, to see that each is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Waking a request that has ended.
    Wake,
    /// Ending the first request first.
    Order,
    /// Closing an idle connection of another key for the sake of a request.
    MakeRoom,
    /// Opening no more than `max_size`.
    Limit,
    /// Taking back what was granted to a request that leaves.
    TakeBack,
    /// Serving the next request after one could not open its connection.
    ServeAfterFailure,
    /// Closing what comes back from before a reload.
    Generation,
    /// Saying when a node that was full is tried again.
    DueWhenFull,
}

/// A request's place in the queue.
pub(super) type Ticket = u64;

/// A place, with the connection that has it or the permission to open one.
pub(super) struct Grant<C> {
    /// `None`: the request opens one.
    pub(super) connection: Option<C>,
    /// The pool's generation when it was granted.
    pub(super) generation: u64,
}

/// The work that steps leave to be done outside of the latch.
pub(super) struct Effects<C> {
    pub(super) wake: Vec<Waker>,
    pub(super) close: Vec<C>,
}

struct Waiting<K> {
    key: K,
    since: Instant,
    waker: Option<Waker>,
}

struct Idle<K, C> {
    key: K,
    connection: C,
    since: Instant,
}

/// A pool's state.
pub(super) struct Core<K, C> {
    options: PoolOptions,
    /// Connections in use, idle, granted, being opened and being closed.
    places: usize,
    /// Those of them that are being opened.
    opening: usize,
    /// Those of them that are being closed. A place is free when its connection is closed.
    closing: usize,
    /// The keeper tries the node.
    is_tried: bool,
    /// The least recently used first.
    idle: VecDeque<Idle<K, C>>,
    queue: BTreeMap<Ticket, Waiting<K>>,
    /// Requests that have left the queue with an end that they have not taken.
    ended: BTreeMap<Ticket, (K, Result<Grant<C>>)>,
    next_ticket: Ticket,
    last_asked: Option<Instant>,
    health: Health<K>,
    full: Full,
    generation: u64,
    /// The time that the keeper knows of [`Self::due`].
    announced: Option<Instant>,
    effects: Effects<C>,
    #[cfg(test)]
    pub(super) skipped: Option<Step>,
}

impl<K: Clone + Eq, C> Core<K, C> {
    pub(super) fn new(options: PoolOptions) -> Core<K, C> {
        Core {
            options,
            places: 0,
            opening: 0,
            closing: 0,
            is_tried: false,
            idle: VecDeque::new(),
            queue: BTreeMap::new(),
            ended: BTreeMap::new(),
            next_ticket: 0,
            last_asked: None,
            health: Health::Up,
            full: Full::default(),
            generation: 0,
            announced: None,
            effects: Effects { wake: Vec::new(), close: Vec::new() },
            #[cfg(test)]
            skipped: None,
        }
    }

    /// Takes the work that the last steps have left.
    pub(super) fn take_effects(&mut self) -> Effects<C> {
        let (wake, close) =
            (std::mem::take(&mut self.effects.wake), std::mem::take(&mut self.effects.close));
        Effects { wake, close }
    }

    pub(super) fn options(&self) -> &PoolOptions {
        &self.options
    }

    // ----- requests -----

    /// A new request, behind all others.
    pub(super) fn ask(&mut self, key: K, now: Instant) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.ask_as(ticket, key, now);
        ticket
    }

    fn ask_as(&mut self, ticket: Ticket, key: K, now: Instant) {
        self.last_asked = Some(now);
        self.queue.insert(ticket, Waiting { key, since: now, waker: None });
        self.serve(now);
    }

    /// The request's end, if it has come.
    pub(super) fn take(&mut self, ticket: Ticket) -> Option<Result<Grant<C>>> {
        self.ended.remove(&ticket).map(|(_, end)| end)
    }

    /// Whether the request's end has come.
    pub(super) fn is_ended(&self, ticket: Ticket) -> bool {
        self.ended.contains_key(&ticket)
    }

    /// The request sleeps until its end is there.
    pub(super) fn sleep(&mut self, ticket: Ticket, waker: Waker) {
        if let Some(waiting) = self.queue.get_mut(&ticket) {
            waiting.waker = Some(waker);
        }
    }

    /// The request does not wait any more.
    pub(super) fn leave(&mut self, ticket: Ticket, now: Instant) {
        self.queue.remove(&ticket);
        if let Some((key, Ok(grant))) = self.ended.remove(&ticket)
            && !self.skips(Step::TakeBack)
        {
            self.give_up(key, grant, true, now);
        }
    }

    /// A grant comes back unused.
    pub(super) fn give_up(&mut self, key: K, grant: Grant<C>, is_clean: bool, now: Instant) {
        match grant.connection {
            Some(connection) => self.give_back(key, connection, grant.generation, is_clean, now),
            None => {
                self.free_opening();
                self.serve(now);
            }
        }
    }

    // ----- connections -----

    /// A connection comes back from its user. `is_clean`: another may have it.
    pub(super) fn give_back(
        &mut self,
        key: K,
        connection: C,
        generation: u64,
        is_clean: bool,
        now: Instant,
    ) {
        let is_current = generation == self.generation || self.skips(Step::Generation);
        let is_kept = is_clean && is_current && self.places <= self.options.max_size;
        if is_kept {
            self.idle.push_back(Idle { key, connection, since: now });
        } else {
            self.close(connection);
        }
        self.serve(now);
    }

    /// Connections of the last steps are closed now.
    pub(super) fn closed(&mut self, count: usize, now: Instant) {
        self.places -= count;
        self.closing -= count;
        self.full.has_room(now);
        self.serve(now);
    }

    /// A granted connection turned out to be closed by the node. Its user opens another one in its
    /// place, unless the node is down.
    pub(super) fn found_dead(&mut self, now: Instant) -> Result<()> {
        self.opening += 1;
        let Some(error) = self.health.error().cloned() else { return Ok(()) };
        self.free_opening();
        self.serve(now);
        Err(error)
    }

    /// A user has opened the connection that it was to open.
    pub(super) fn opened(&mut self, now: Instant) {
        self.opening -= 1;
        self.is_reached(now);
    }

    /// A user could not open its connection. `None`: its request waits again.
    pub(super) fn open_failed(
        &mut self,
        ticket: Ticket,
        key: K,
        failure: OpenFailure,
        now: Instant,
    ) -> Option<Error> {
        self.free_opening();
        let error = match failure {
            OpenFailure::Down(error) => {
                self.health.failed(key, error.clone(), now);
                error
            }
            OpenFailure::Full(_) if self.places > 0 => {
                self.full.refused(now);
                self.ask_as(ticket, key, now);
                return None;
            }
            OpenFailure::Full(error)
            | OpenFailure::Refused(error)
            | OpenFailure::Interrupted(error) => error,
        };
        if !self.skips(Step::ServeAfterFailure) {
            self.serve(now);
        }
        Some(error)
    }

    /// A try of the node that no request waits for has succeeded.
    pub(super) fn try_succeeded(&mut self, key: K, connection: C, generation: u64, now: Instant) {
        self.opening -= 1;
        self.is_tried = false;
        self.health = Health::Up;
        self.full.accepted();
        self.give_back(key, connection, generation, true, now);
    }

    /// Such a try has failed.
    pub(super) fn try_failed(&mut self, failure: OpenFailure, now: Instant) {
        self.free_opening();
        self.is_tried = false;
        self.health.try_failed(failure, now);
        self.serve(now);
    }

    // ----- from outside -----

    /// Closes what is idle. What is used is closed when it comes back.
    pub(super) fn reload(&mut self, now: Instant) {
        self.generation += 1;
        self.health = Health::Up;
        self.full.accepted();
        for idle in std::mem::take(&mut self.idle) {
            self.close(idle.connection);
        }
        self.serve(now);
    }

    pub(super) fn set_options(&mut self, options: PoolOptions, now: Instant) {
        self.options = options;
        while self.places - self.closing > self.options.max_size
            && let Some(idle) = self.idle.pop_front()
        {
            self.close(idle.connection);
        }
        self.serve(now);
    }

    /// Does the work that is due. Returns the key to try the node with, if it is down and a try is due; a
    /// place is taken for it.
    pub(super) fn tick(&mut self, now: Instant) -> Option<(K, u64)> {
        while let Some(idle) = self.idle.front()
            && self.options.idle_timeout.is_some_and(|limit| idle.since + limit <= now)
            && let Some(idle) = self.idle.pop_front()
        {
            self.close(idle.connection);
        }
        let tried = self.due_try(now);
        self.serve(now);
        tried
    }

    fn due_try(&mut self, now: Instant) -> Option<(K, u64)> {
        let (_, key) = self.health.next_try().filter(|(at, _)| !self.is_tried && *at <= now)?;
        let key = key.clone();
        let is_wanted = self.last_asked.is_some_and(|asked| now < asked + TRIED_FOR);
        if !is_wanted || self.places >= self.options.max_size {
            // The next request tries it.
            self.health = Health::Up;
            return None;
        }
        self.is_tried = true;
        self.places += 1;
        self.opening += 1;
        Some((key, self.generation))
    }

    /// When [`Self::tick`] has something to do, at the latest.
    pub(super) fn due(&self) -> Option<Instant> {
        let expiry = self.options.idle_timeout.and_then(|limit| {
            let oldest = self.idle.front()?;
            Some(oldest.since + limit)
        });
        let next_try = self.health.next_try().filter(|_| !self.is_tried).map(|(at, _)| at);
        let is_waited_for =
            !self.queue.is_empty() && self.opening == 0 && self.places < self.options.max_size;
        let not_full =
            self.full.until().filter(|_| is_waited_for && !self.skips(Step::DueWhenFull));
        [expiry, next_try, not_full].into_iter().flatten().min()
    }

    /// The same, if it is earlier than what the keeper knows.
    pub(super) fn earlier_due(&mut self) -> Option<Instant> {
        let due = self.due()?;
        if self.announced.is_some_and(|at| at <= due) {
            return None;
        }
        self.announced = Some(due);
        Some(due)
    }

    /// The same, for the keeper, after a tick.
    pub(super) fn announced_due(&mut self) -> Option<Instant> {
        self.announced = self.due();
        self.announced
    }

    pub(super) fn counts(&self, now: Instant) -> Counts {
        let longest_wait = self.queue.values().map(|waiting| now - waiting.since).max();
        Counts {
            used: self.places - self.idle.len() - self.opening - self.closing,
            idle: self.idle.len(),
            opening: self.opening,
            waiting: self.queue.len(),
            longest_wait: longest_wait.unwrap_or_default(),
            max_size: self.options.max_size,
            down: self.health.error().cloned(),
        }
    }

    // ----- the rules -----

    /// Ends the first requests as long as they can be ended.
    fn serve(&mut self, now: Instant) {
        while let Some((&ticket, first)) = self.next_in_queue() {
            let key = first.key.clone();
            let Some(end) = self.end_for(&key, now) else { break };
            let waker = self.queue.remove(&ticket).and_then(|waiting| waiting.waker);
            if !self.skips(Step::Wake) {
                self.effects.wake.extend(waker);
            }
            self.ended.insert(ticket, (key, end));
        }
    }

    fn next_in_queue(&self) -> Option<(&Ticket, &Waiting<K>)> {
        match self.skips(Step::Order) {
            true => self.queue.last_key_value(),
            false => self.queue.first_key_value(),
        }
    }

    /// The end of the first request, if it has one now.
    fn end_for(&mut self, key: &K, now: Instant) -> Option<Result<Grant<C>>> {
        let generation = self.generation;
        if let Some(at) = self.idle.iter().rposition(|idle| idle.key == *key) {
            let connection = self.idle.remove(at).map(|idle| idle.connection);
            return Some(Ok(Grant { connection, generation }));
        }
        if let Some(error) = self.health.error() {
            return Some(Err(error.clone()));
        }
        // A full node is asked by one request at a time.
        let is_asked = |until| now < until || self.opening > 0;
        let is_refused = self.places > 0 && self.full.until().is_some_and(is_asked);
        if self.places >= self.options.max_size || is_refused {
            // Another user's idle connection makes room, here and on the node.
            if self.closing == 0 && !self.skips(Step::MakeRoom) {
                let idle = self.idle.pop_front()?;
                self.close(idle.connection);
            }
            if !self.skips(Step::Limit) {
                return None;
            }
        }
        self.places += 1;
        self.opening += 1;
        Some(Ok(Grant { connection: None, generation }))
    }

    fn close(&mut self, connection: C) {
        self.effects.close.push(connection);
        self.closing += 1;
    }

    fn free_opening(&mut self) {
        self.places -= 1;
        self.opening -= 1;
    }

    fn is_reached(&mut self, now: Instant) {
        self.health = Health::Up;
        self.full.accepted();
        self.serve(now);
    }

    #[cfg(test)]
    fn skips(&self, step: Step) -> bool {
        self.skipped == Some(step)
    }

    #[cfg(not(test))]
    fn skips(&self, _: Step) -> bool {
        false
    }
}
