//! The pool's rules under random steps of users, a node and the clock.
//!
//! All state of a pool is under one latch, so that each interleaving of threads is a sequence of
//! [`Core`]'s steps. The model draws such sequences. Its node goes down and up, is full at times,
//! and ends connections; users ask, sleep, give up, use, and give back in every condition. After
//! each step the conditions of [`super::core`] are checked; at the end all users get what they
//! ask for. Each [`Step`] left out must be found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use steppe_types::{Error, SqlState};

use super::core::{Core, Grant, Step, Ticket};
use super::{OpenFailure, PoolOptions};

const USERS: usize = 6;
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % n
    }
}

/// A connection: its number, key and the generation of the node's settings that it was made with.
#[derive(Debug)]
struct Made {
    number: u64,
    key: u8,
    generation: u64,
}

/// The tickets that were woken.
#[derive(Default)]
struct Woken(Mutex<BTreeSet<Ticket>>);

struct WakesTicket(Arc<Woken>, Ticket);

impl Wake for WakesTicket {
    fn wake(self: Arc<Self>) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).insert(self.1);
    }
}

enum User {
    Resting,
    /// Waits; whether it sleeps.
    Waiting {
        ticket: Ticket,
        key: u8,
        sleeps: bool,
    },
    /// Opens a connection for a grant.
    Opening {
        ticket: Ticket,
        key: u8,
        generation: u64,
    },
    Using {
        key: u8,
        made: Made,
        granted: u64,
    },
}

struct Model {
    chance: Chance,
    core: Core<u8, Made>,
    now: Instant,
    users: Vec<User>,
    /// Connections that the pool has not closed yet.
    closing: Vec<Made>,
    /// A try of the keeper that is under way.
    attempt: Option<(u8, u64)>,
    made: u64,
    /// Connections that the node has.
    on_node: BTreeSet<u64>,
    /// How many connections the node takes.
    room: usize,
    is_down: bool,
    max_size: usize,
    /// Places after the last step: more than `max_size` for a while after that was lowered.
    places: usize,
    woken: Arc<Woken>,
    /// The request that each queued ticket is about, to see the order in which they end.
    queued: BTreeMap<Ticket, bool>,
}

fn error(state: SqlState) -> Error {
    Error::new(state, "as the model says")
}

impl Model {
    fn new(seed: u64, skipped: Option<Step>) -> Model {
        let mut chance = Chance(seed);
        let max_size = 1 + chance.below(4) as usize;
        let connect_timeout = Duration::from_secs(1);
        let idle_timeout = Some(IDLE_TIMEOUT);
        let mut core = Core::new(PoolOptions { max_size, idle_timeout, connect_timeout });
        core.skipped = skipped;
        Model {
            chance,
            core,
            now: Instant::now(),
            users: (0..USERS).map(|_| User::Resting).collect(),
            closing: Vec::new(),
            attempt: None,
            made: 0,
            on_node: BTreeSet::new(),
            room: usize::MAX,
            is_down: false,
            max_size,
            places: 0,
            woken: Arc::default(),
            queued: BTreeMap::new(),
        }
    }

    /// The node's answer to a user that connects.
    fn connect(&mut self, key: u8, generation: u64) -> Result<Made, OpenFailure> {
        if self.is_down {
            return Err(OpenFailure::Down(error(SqlState::CONNECTION_FAILURE)));
        }
        if self.on_node.len() >= self.room {
            return Err(OpenFailure::Full(error(SqlState::TOO_MANY_CONNECTIONS)));
        }
        match self.chance.below(12) {
            0 => Err(OpenFailure::Refused(error(SqlState::INVALID_PASSWORD))),
            1 => Err(OpenFailure::Interrupted(error(SqlState::QUERY_CANCELED))),
            _ => {
                self.made += 1;
                self.on_node.insert(self.made);
                Ok(Made { number: self.made, key, generation })
            }
        }
    }

    /// Does the work that the step has left, and checks the conditions.
    fn settle(&mut self) {
        let effects = self.core.take_effects();
        effects.wake.into_iter().for_each(Waker::wake);
        self.closing.extend(effects.close);
        let ended: Vec<Ticket> =
            self.queued.keys().copied().filter(|ticket| self.core.is_ended(*ticket)).collect();
        let mut woken = self.woken.0.lock().unwrap_or_else(PoisonError::into_inner);
        for ticket in &ended {
            if self.queued.remove(ticket) == Some(true) {
                assert!(woken.remove(ticket), "{ticket} ended and sleeps on");
            }
        }
        if let (Some(last), Some((first, _))) = (ended.last(), self.queued.first_key_value()) {
            assert!(last < first, "{last} was served before {first}");
        }
        drop(woken);
        let counts = self.core.counts(self.now);
        let places = counts.used + counts.idle + counts.opening + self.closing.len();
        let limit = self.max_size.max(self.places);
        assert!(places <= limit, "{places} of {limit} places");
        self.places = places;
        assert_eq!(counts.waiting, self.queued.len());
        let (used, opening) = self.in_hands();
        let granted = counts.used + counts.opening - used - opening;
        assert!(counts.used >= used && counts.opening >= opening, "more than is counted");
        assert!(granted <= self.granted(), "{granted} granted to nobody");
        if counts.waiting > 0 {
            assert!(counts.down.is_none(), "waits for a node that is down");
            assert!(counts.idle == 0 || !self.closing.is_empty(), "waits while one is idle");
            let is_changing = counts.opening > 0 || !self.closing.is_empty();
            let is_tried = is_changing || self.core.due().is_some();
            assert!(places > 0, "waits while nothing exists");
            assert!(places >= self.max_size || is_tried, "waits for a full node for ever");
        }
    }

    /// How many connections users have, and how many they are opening.
    fn in_hands(&self) -> (usize, usize) {
        let using = self.users.iter().filter(|user| matches!(user, User::Using { .. }));
        let opening = self.users.iter().filter(|user| matches!(user, User::Opening { .. }));
        (using.count(), opening.count() + usize::from(self.attempt.is_some()))
    }

    /// How many users have a grant that they have not taken.
    fn granted(&self) -> usize {
        let is_granted = |user: &&User| match user {
            User::Waiting { ticket, .. } => self.core.is_ended(*ticket),
            _ => false,
        };
        self.users.iter().filter(is_granted).count()
    }

    fn ask(&mut self, at: usize) {
        let key = self.chance.below(2) as u8;
        let ticket = self.core.ask(key, self.now);
        self.queued.insert(ticket, false);
        self.users[at] = User::Waiting { ticket, key, sleeps: false };
    }

    /// A user that waits looks, sleeps, or leaves.
    fn wait(&mut self, at: usize, may_leave: bool) {
        let User::Waiting { ticket, key, ref mut sleeps } = self.users[at] else { return };
        if may_leave && self.chance.below(8) == 0 {
            self.core.leave(ticket, self.now);
            self.queued.remove(&ticket);
            self.users[at] = User::Resting;
            return;
        }
        match self.core.take(ticket) {
            None if !*sleeps => {
                *sleeps = true;
                let waker = Arc::new(WakesTicket(Arc::clone(&self.woken), ticket));
                self.core.sleep(ticket, Waker::from(waker));
                self.queued.insert(ticket, true);
            }
            None => {}
            Some(Err(_)) => self.users[at] = User::Resting,
            Some(Ok(Grant { connection: None, generation })) => {
                self.users[at] = User::Opening { ticket, key, generation };
            }
            Some(Ok(Grant { connection: Some(made), generation: granted })) => {
                assert_eq!(made.key, key, "a connection of another key");
                assert_eq!(made.generation, granted, "from before a reload");
                self.take_idle(at, ticket, key, made, granted);
            }
        }
    }

    fn take_idle(&mut self, at: usize, ticket: Ticket, key: u8, made: Made, granted: u64) {
        if self.on_node.contains(&made.number) {
            self.users[at] = User::Using { key, made, granted };
            return;
        }
        self.users[at] = match self.core.found_dead(self.now) {
            Ok(()) => User::Opening { ticket, key, generation: granted },
            Err(_) => User::Resting,
        };
    }

    fn open(&mut self, at: usize) {
        let User::Opening { ticket, key, generation } = self.users[at] else { return };
        match self.connect(key, generation) {
            Ok(made) => {
                self.core.opened(self.now);
                self.users[at] = User::Using { key, made, granted: generation };
            }
            Err(failure) => {
                let failed = self.core.open_failed(ticket, key, failure, self.now);
                self.users[at] = match failed {
                    Some(_) => User::Resting,
                    None => {
                        self.queued.insert(ticket, false);
                        User::Waiting { ticket, key, sleeps: false }
                    }
                };
            }
        }
    }

    fn give_back(&mut self, at: usize) {
        let User::Using { key, made, granted } =
            std::mem::replace(&mut self.users[at], User::Resting)
        else {
            return;
        };
        let is_clean = self.on_node.contains(&made.number) && self.chance.below(5) > 0;
        self.core.give_back(key, made, granted, is_clean, self.now);
    }

    fn user_steps(&mut self, may_leave: bool) {
        let at = self.chance.below(USERS as u64) as usize;
        match &self.users[at] {
            User::Resting => self.ask(at),
            User::Waiting { .. } => self.wait(at, may_leave),
            User::Opening { .. } => self.open(at),
            User::Using { .. } => self.give_back(at),
        }
    }

    fn tick(&mut self) {
        self.now += Duration::from_millis(self.chance.below(400));
        let due_try = self.core.tick(self.now);
        assert!(self.core.due().is_none_or(|due| due > self.now), "due for ever");
        if let Some(due_try) = due_try {
            assert!(self.attempt.replace(due_try).is_none(), "two tries at a time");
        }
    }

    /// The pool closes what it has to close.
    fn close(&mut self) {
        let closed = std::mem::take(&mut self.closing);
        for made in &closed {
            self.on_node.remove(&made.number);
        }
        self.core.closed(closed.len(), self.now);
    }

    fn end_attempt(&mut self) {
        let Some((key, generation)) = self.attempt.take() else { return };
        match self.connect(key, generation) {
            Ok(made) => self.core.try_succeeded(key, made, generation, self.now),
            Err(failure) => self.core.try_failed(failure, self.now),
        }
    }

    fn world_steps(&mut self) {
        match self.chance.below(18) {
            13.. => self.close(),
            12 => {
                self.max_size = 1 + self.chance.below(4) as usize;
                let options = self.core.options().clone();
                self.core.set_options(PoolOptions { max_size: self.max_size, ..options }, self.now);
            }
            0 => {
                self.is_down = !self.is_down;
                if self.is_down {
                    self.on_node.clear();
                }
            }
            1 => self.room = [1, 2, usize::MAX][self.chance.below(3) as usize],
            2 => self.core.reload(self.now),
            3 => {
                self.on_node.pop_first();
            }
            4..8 => self.end_attempt(),
            _ => self.tick(),
        }
    }

    fn run(&mut self) {
        for _ in 0..400 {
            match self.chance.below(4) {
                0 => self.world_steps(),
                _ => self.user_steps(true),
            }
            self.settle();
        }
        self.is_down = false;
        self.room = usize::MAX;
        self.finish();
    }

    /// The node is well, and there are no new requests: all get their connections and leave nothing.
    fn finish(&mut self) {
        for _ in 0..4_000 {
            let rest = |user: &User| matches!(user, User::Resting);
            if self.users.iter().all(rest) && self.attempt.is_none() {
                break;
            }
            let at = self.chance.below(USERS as u64) as usize;
            match &self.users[at] {
                User::Resting => {}
                User::Waiting { .. } => self.wait(at, false),
                User::Opening { .. } => self.open(at),
                User::Using { .. } => self.give_back(at),
            }
            self.settle();
            self.end_attempt();
            self.settle();
            self.close();
            self.settle();
            if self.core.due().is_some_and(|due| due <= self.now + Duration::from_secs(1)) {
                self.tick();
                self.settle();
            }
        }
        let counts = self.core.counts(self.now);
        assert_eq!((counts.used, counts.opening, counts.waiting), (0, 0, 0), "a trace is left");
        self.now += IDLE_TIMEOUT;
        self.attempt = self.core.tick(self.now);
        self.settle();
        self.close();
        self.settle();
        assert_eq!(self.core.counts(self.now).idle, 0, "an idle connection outlives its time");
    }
}

fn check(seeds: std::ops::Range<u64>, skipped: Option<Step>) {
    for seed in seeds {
        Model::new(seed, skipped).run();
    }
}

#[test]
fn the_rules_hold_under_random_steps() {
    check(0..3_000, None);
}

#[test]
fn each_step_is_needed() {
    use Step::*;
    for step in [Wake, Order, MakeRoom, Limit, TakeBack, ServeAfterFailure, Generation, DueWhenFull]
    {
        let found = std::panic::catch_unwind(|| check(0..3_000, Some(step)));
        assert!(found.is_err(), "{step:?} left out goes unnoticed");
    }
}
