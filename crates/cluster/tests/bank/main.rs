//! A bank on PostgreSQL servers: transfers between nodes, while readers add up all accounts.
//!
//! The sum is the same at every read, and each client is told what has happened. Meanwhile connections
//! break at every step of the protocol, and servers are killed and come back. The coordinator crashes,
//! too, and is followed by a life that knows only what is on the nodes.
//!
//!     STEPPE_BANK_SECONDS=120 cargo test -p steppe-cluster --test bank      # long; 10 s if not said
//!     STEPPE_SEED=7 …                                                       # other faults
//!     STEPPE_PG_BIN=/usr/lib/postgresql/18/bin …                            # other servers

mod clients;
mod life;
mod postgres;
mod settings;
mod streams;

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use steppe_cluster::commit::Outcome;

use clients::{ACCOUNTS, Dice, TABLES, is_expected};
use life::{Coordinators, holds_within};
use postgres::Postgres;

/// One of this number of requests breaks its connection, at one of three points.
const FAULT_RATE: u64 = 60;
/// How much longer a run may take on a busy machine.
const BUSY_LIMIT: Duration = Duration::from_secs(40);
const TRANSFERRERS: u64 = 4;
const READERS: u64 = 3;

fn number_of(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

/// The things that the threads share.
struct Bank {
    servers: Vec<Postgres>,
    coordinators: Coordinators,
    is_over: AtomicBool,
    next: AtomicI64,
    told: Mutex<Vec<(i64, Outcome)>>,
    sums: AtomicU64,
    refused: AtomicU64,
}

impl Bank {
    fn expected(&self) -> i64 {
        (self.servers.len() as u64 * ACCOUNTS * 1000).cast_signed()
    }

    fn pay(&self, seed: u64) {
        let mut dice = Dice::new(seed);
        while !self.is_over.load(Ordering::SeqCst) {
            let number = self.next.fetch_add(1, Ordering::SeqCst);
            let outcome = clients::transfer(&self.coordinators.life(), number, &mut dice);
            if let Outcome::RolledBack(error) | Outcome::Unknown(error) = &outcome {
                assert!(is_expected(error), "transfer {number}: {error:?}");
                thread::sleep(Duration::from_millis(5));
            }
            self.told.lock().push((number, outcome));
        }
    }

    fn read(&self, seed: u64) {
        let mut dice = Dice::new(seed);
        while !self.is_over.load(Ordering::SeqCst) {
            let life = self.coordinators.life();
            match clients::sums(&life, &mut dice) {
                // The next life has begun meanwhile, perhaps.
                Ok(_) if life.is_dead() => {}
                Ok(sums) => {
                    let expected = self.expected();
                    let is_right = sums.iter().all(|sum| *sum == expected);
                    if !is_right {
                        self.is_over.store(true, Ordering::SeqCst);
                    }
                    assert!(is_right, "{sums:?} are not {expected}");
                    self.sums.fetch_add(1, Ordering::SeqCst);
                }
                Err(error) => {
                    assert!(is_expected(&error), "a reader: {error:?}");
                    self.refused.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(5));
                }
            }
        }
    }

    /// Until a time, or longer on a machine that is busy otherwise, so that something happens.
    fn goes_on(&self, until: Instant) -> bool {
        let is_enough = self.told.lock().len() > 100 && self.sums.load(Ordering::SeqCst) > 50;
        let limit = if is_enough { until } else { until + BUSY_LIMIT };
        Instant::now() < limit && !self.is_over.load(Ordering::SeqCst)
    }

    /// Kills servers and the coordinator in turn.
    fn disturb(&self, seed: u64, until: Instant) {
        let mut dice = Dice::new(seed);
        let pause = |dice: &mut Dice| {
            let end = Instant::now() + Duration::from_millis(300 + dice.roll(900));
            let end = end.min(until);
            while Instant::now() < end && !self.is_over.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(10));
            }
        };
        while self.goes_on(until) {
            pause(&mut dice);
            if dice.roll(2) == 0 {
                self.coordinators.crash(&self.servers, dice.roll(1 << 32));
            } else {
                let at = usize::try_from(dice.roll(self.servers.len() as u64)).expect("small");
                self.servers[at].kill();
                thread::sleep(Duration::from_millis(dice.roll(200)));
                if dice.roll(3) == 0 {
                    self.coordinators.crash(&self.servers, dice.roll(1 << 32));
                }
                self.servers[at].start_again();
            }
        }
    }

    // ----- afterwards -----

    /// The nodes have nothing left, and each client was told what has happened.
    fn check(&self) {
        let life = self.coordinators.life();
        let left = || -> Vec<String> {
            let sql = "SELECT string_agg(gid, ' ') FROM pg_prepared_xacts; \
                       SELECT string_agg(key || coalesce(participants, ' fence'), ' ') \
                       FROM steppe_cluster.commit_records";
            let of = |server: &Postgres| {
                let answers = server.query(sql);
                let texts = answers.iter().filter_map(|answer| answer.text(0, 0));
                texts.map(str::to_owned).collect::<Vec<_>>()
            };
            self.servers.iter().flat_map(of).collect()
        };
        let is_clean = || life.cluster.is_quiet() && left().is_empty();
        let was_clean = holds_within(Duration::from_secs(20), is_clean);
        assert!(was_clean, "left: {:?}, in doubt: {:?}", left(), life.cluster.in_doubt());
        let sum: i64 = self.servers.iter().map(balance).sum();
        assert_eq!(sum, self.expected());
        self.check_told();
    }

    fn check_told(&self) {
        let mut found = std::collections::BTreeMap::<i64, usize>::new();
        for server in &self.servers {
            let answers = server.query("SELECT transfer FROM done");
            for row in 0..answers[0].rows.len() {
                let number = answers[0].text(row, 0).and_then(|text| text.parse().ok());
                *found.entry(number.expect("a number")).or_default() += 1;
            }
        }
        let (mut committed, mut rolled_back, mut unknown) = (0, 0, 0);
        for (number, outcome) in &*self.told.lock() {
            let is_there = found.contains_key(number);
            match outcome {
                Outcome::Committed => {
                    committed += 1;
                    assert!(is_there, "transfer {number} was told COMMIT");
                }
                Outcome::RolledBack(error) => {
                    rolled_back += 1;
                    assert!(!is_there, "transfer {number} was told to be rolled back: {error:?}");
                }
                Outcome::Unknown(_) => unknown += 1,
            }
        }
        let (sums, refused) =
            (self.sums.load(Ordering::SeqCst), self.refused.load(Ordering::SeqCst));
        println!("{committed} committed, {rolled_back} rolled back, {unknown} unknown");
        println!("{sums} times the right sum, {refused} reads refused");
        println!("broken: {:#?}", self.coordinators.broken.points());
        assert!(committed > 0 && sums > 0, "nothing was tested");
    }
}

fn balance(server: &Postgres) -> i64 {
    server.value("SELECT sum(balance)::bigint FROM account").parse().expect("a number")
}

fn run(nodes: usize, fault_rate: u64, seconds: u64, is_disturbed: bool) {
    let Some(servers) = Postgres::start(nodes) else { return };
    for server in &servers {
        server.query(TABLES);
    }
    let seed = number_of("STEPPE_SEED", 1);
    let bank = Bank {
        coordinators: Coordinators::new(&servers, seed, fault_rate),
        servers,
        is_over: AtomicBool::new(false),
        next: AtomicI64::new(0),
        told: Mutex::new(Vec::new()),
        sums: AtomicU64::new(0),
        refused: AtomicU64::new(0),
    };
    let until = Instant::now() + Duration::from_secs(seconds);
    thread::scope(|scope| {
        let bank = &bank;
        for i in 0..TRANSFERRERS {
            scope.spawn(move || bank.pay(seed * 1000 + i));
        }
        for i in 0..READERS {
            scope.spawn(move || bank.read(seed * 1000 + 500 + i));
        }
        if is_disturbed {
            bank.disturb(seed, until);
        } else {
            while bank.goes_on(until) {
                thread::sleep(Duration::from_millis(20));
            }
        }
        bank.is_over.store(true, Ordering::SeqCst);
        bank.coordinators.calm();
    });
    bank.check();
}

#[test]
fn no_money_is_lost_on_two_nodes_at_rest() {
    run(2, 0, number_of("STEPPE_BANK_SECONDS", 3), false);
}

#[test]
fn no_money_is_lost_while_connections_break_and_all_are_killed_in_turn() {
    run(3, FAULT_RATE, number_of("STEPPE_BANK_SECONDS", 10), true);
}
