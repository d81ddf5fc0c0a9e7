//! The lives of the coordinator, one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use steppe_cluster::NodeId;
use steppe_cluster::commit::{Coordinator, Request};
use steppe_cluster::pool::{Keeper, NodeOpener, Pool, PoolOptions};
use steppe_cluster::transaction::{Cluster, FaultPoint, Faults, Recoverer, Times};

use crate::postgres::Postgres;

const COORDINATOR: u64 = 0x00ba_2c00;
/// Clients of a life may be faster than its recoverer.
const RECOVERER_DELAY: Duration = Duration::from_millis(100);

/// The steps of the protocol at which a life may crash.
const STEPS: [&str; 12] = [
    "BeforeSend Prepare",
    "AfterSend Prepare",
    "BeforeRead Prepare",
    "BeforeSend Decide",
    "AfterSend Decide",
    "BeforeRead Decide",
    "BeforeSend Finish",
    "AfterSend Finish",
    "BeforeRead Finish",
    "BeforeSend Forget",
    "AfterSend Commit",
    "AfterSend Fence",
];

/// The network between one life and the nodes.
#[derive(Default)]
pub(crate) struct Network {
    seed: u64,
    events: AtomicU64,
    /// One of this number of requests breaks its connection. Zero: they all pass.
    rate: AtomicU64,
    /// The life has crashed: nothing is sent, and no answer is read.
    is_dead: AtomicBool,
    /// The step at which it crashes.
    dies_at: Mutex<Option<&'static str>>,
    broken: Arc<Broken>,
}

/// How often a connection broke at which point of which request.
#[derive(Default)]
pub(crate) struct Broken(Mutex<std::collections::BTreeMap<String, u64>>);

impl Broken {
    fn note(&self, point: String) {
        *self.0.lock().entry(point).or_default() += 1;
    }

    pub(crate) fn points(&self) -> Vec<String> {
        self.0.lock().iter().map(|(point, count)| format!("{point} {count}")).collect()
    }
}

/// A number that looks random (splitmix64).
pub(crate) fn scramble(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Faults for Network {
    fn breaks(&self, point: FaultPoint, _: NodeId, request: &Request) -> bool {
        if self.is_dead.load(Ordering::SeqCst) {
            return true;
        }
        let rate = self.rate.load(Ordering::SeqCst);
        let event = self.events.fetch_add(1, Ordering::SeqCst);
        let breaks = rate > 0 && scramble(self.seed ^ event).is_multiple_of(rate);
        let text = format!("{request:?}");
        let name = text.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        let step = format!("{point:?} {name}");
        let dies = *self.dies_at.lock() == Some(step.as_str());
        if dies {
            self.is_dead.store(true, Ordering::SeqCst);
            self.broken.note(format!("crash {step}"));
        } else if breaks {
            self.broken.note(step);
        }
        breaks || dies
    }
}

/// One life.
pub(crate) struct Life {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) nodes: Vec<NodeId>,
    network: Arc<Network>,
    recoverer: Mutex<Option<Recoverer>>,
    _keeper: Keeper,
}

impl Life {
    fn new(servers: &[Postgres], generation: u64, network: Arc<Network>) -> Life {
        let times = Times {
            patience: Duration::from_secs(2),
            look_every: Duration::from_millis(300),
            retry_after: Duration::from_millis(20),
            answer_within: Duration::from_secs(5),
        };
        let by = Coordinator { id: COORDINATOR, generation };
        let faults: Arc<dyn Faults> = network.clone();
        let cluster = Cluster::new(by, times, Some(faults), None).expect("it has descriptors");
        let keeper = Keeper::start().expect("a thread is started");
        let mut nodes = Vec::new();
        for (number, server) in (1..).zip(servers) {
            let options = PoolOptions {
                max_size: 20,
                connect_timeout: Duration::from_secs(2),
                ..PoolOptions::default()
            };
            let opener = NodeOpener::new(server.info());
            let pool = Pool::new(&format!("dn{number}"), opener, options, &keeper);
            nodes.push(NodeId(number));
            cluster.add_node(NodeId(number), pool, server.info());
        }
        Life { cluster, nodes, network, recoverer: Mutex::new(None), _keeper: keeper }
    }

    fn start_recoverer(&self) {
        let recoverer = Recoverer::start(&self.cluster).expect("a thread is started");
        *self.recoverer.lock() = Some(recoverer);
    }

    /// Whether it has crashed. A client has not got what it reads then.
    pub(crate) fn is_dead(&self) -> bool {
        self.network.is_dead.load(Ordering::SeqCst)
    }
}

/// The coordinator.
pub(crate) struct Coordinators {
    life: RwLock<Arc<Life>>,
    generation: AtomicU64,
    seed: u64,
    pub(crate) broken: Arc<Broken>,
    rate: u64,
}

impl Coordinators {
    /// The first life. One of `rate` requests breaks its connection.
    pub(crate) fn new(servers: &[Postgres], seed: u64, rate: u64) -> Coordinators {
        let broken = Arc::new(Broken::default());
        let network = network(seed, rate, &broken);
        let first = Life::new(servers, 1, network);
        first.start_recoverer();
        let life = RwLock::new(Arc::new(first));
        Coordinators { life, generation: AtomicU64::new(1), seed, broken, rate }
    }

    pub(crate) fn life(&self) -> Arc<Life> {
        Arc::clone(&self.life.read())
    }

    /// Ends the life at one of the steps, and begins the next one, which knows nothing of it.
    pub(crate) fn crash(&self, servers: &[Postgres], dice: u64) {
        let old = self.life();
        let at = usize::try_from(dice % STEPS.len() as u64).expect("small");
        *old.network.dies_at.lock() = Some(STEPS[at]);
        // A step that is not reached now is left for another time.
        holds_within(Duration::from_millis(500), || old.is_dead());
        old.network.is_dead.store(true, Ordering::SeqCst);
        let generation = self.generation.fetch_add(1, Ordering::SeqCst) + 1;
        let seed = scramble(self.seed ^ generation);
        let network = network(seed, self.rate, &self.broken);
        let next = Arc::new(Life::new(servers, generation, network));
        *self.life.write() = Arc::clone(&next);
        // Its clients come before it knows what the last life has left.
        std::thread::sleep(RECOVERER_DELAY);
        next.start_recoverer();
        old.recoverer.lock().take();
    }

    /// From now on connections last.
    pub(crate) fn calm(&self) {
        self.life().network.rate.store(0, Ordering::SeqCst);
    }
}

fn network(seed: u64, rate: u64, broken: &Arc<Broken>) -> Arc<Network> {
    let (rate, broken) = (AtomicU64::new(rate), Arc::clone(broken));
    Arc::new(Network { seed, rate, broken, ..Network::default() })
}

/// Waits until this holds. False after the limit.
pub(crate) fn holds_within(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
