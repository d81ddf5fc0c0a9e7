//! PostgreSQL servers as data nodes, each on its own data.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use steppe_cluster::commit::INSTALL;
use steppe_cluster::{Answer, ConnInfo, Connection};

/// The binaries of PostgreSQL 15 in Debian; STEPPE_PG_BIN names others.
const BINARIES: &str = "/usr/lib/postgresql/15/bin";
/// How long a server may take to start.
const START_LIMIT: Duration = Duration::from_secs(60);
const SETTINGS: [&str; 6] = [
    "fsync=off",
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_prepared_transactions=64",
    "max_connections=100",
    "deadlock_timeout=100ms",
];

fn binaries() -> PathBuf {
    std::env::var_os("STEPPE_PG_BIN").map_or_else(|| BINARIES.into(), PathBuf::from)
}

/// PostgreSQL refuses to run as root.
fn command(program: &str) -> Command {
    let program = binaries().join(program);
    let id = Command::new("id").arg("-u").output().expect("id runs");
    if id.stdout.trim_ascii() != b"0" {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program).current_dir("/");
    command
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A server, which is killed when this is dropped.
pub(crate) struct Postgres {
    port: u16,
    dir: PathBuf,
    server: Mutex<Option<Child>>,
}

impl Postgres {
    /// Starts servers; `None` where PostgreSQL is not installed.
    pub(crate) fn start(count: usize) -> Option<Vec<Postgres>> {
        if !binaries().join("initdb").exists() {
            eprintln!("skipped: there is no PostgreSQL");
            return None;
        }
        let servers: Vec<Postgres> = (0..count).map(|_| Postgres::new()).collect();
        thread::scope(|scope| {
            for server in &servers {
                scope.spawn(|| server.make());
            }
        });
        Some(servers)
    }

    fn new() -> Postgres {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name =
            format!("steppe-bank-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(name);
        fs::create_dir_all(&dir).expect("a directory is made");
        let _only_root_can = Command::new("chown").arg("postgres").arg(&dir).output();
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        Postgres { port, dir, server: Mutex::new(None) }
    }

    fn make(&self) {
        let made = command("initdb")
            .args(["--no-locale", "--encoding=UTF8", "--auth=trust", "--username=postgres"])
            .args(["--no-sync", "-D"])
            .arg(self.data())
            .output();
        succeeded(&made.expect("initdb is run"));
        self.start_again();
        let mut connection = Connection::open_in_place(&self.info(), soon()).expect("it answers");
        connection.query_in_place(INSTALL).expect("tables are made");
    }

    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Starts the server on the data that is there.
    pub(crate) fn start_again(&self) {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            let mut postgres = command("postgres");
            postgres.arg("-D").arg(self.data()).args(["-c", &format!("port={}", self.port)]);
            for setting in SETTINGS {
                postgres.args(["-c", setting]);
            }
            postgres.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = postgres.spawn().expect("postgres is run");
            // It ends at once while processes of the server before use its shared memory.
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
                if Connection::open_in_place(&self.info(), soon()).is_ok() {
                    *self.server.lock() = Some(child);
                    return;
                }
                thread::sleep(Duration::from_millis(20));
            }
            assert!(Instant::now() < deadline, "postgres does not start");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Kills all processes of the server at once.
    pub(crate) fn kill(&self) {
        let Some(mut server) = self.server.lock().take() else { return };
        let first = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        if let Some(postmaster) = first.lines().next().and_then(|line| line.trim().parse().ok()) {
            let processes = [postmaster].into_iter().chain(children_of(postmaster));
            let processes: Vec<String> =
                processes.map(|process: u32| process.to_string()).collect();
            let _ = Command::new("kill").arg("-9").args(processes).output();
        }
        let _ = server.wait();
    }

    /// The words of sessions on it.
    pub(crate) fn info(&self) -> ConnInfo {
        let words = format!(
            "host=127.0.0.1 port={} user=postgres dbname=postgres connect_timeout=2",
            self.port
        );
        ConnInfo::parse(&words).expect("words")
    }

    /// The answers to statements, in a session of its own.
    pub(crate) fn query(&self, sql: &str) -> Vec<Answer> {
        let mut connection = Connection::open_in_place(&self.info(), soon()).expect("it answers");
        connection.query_in_place(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The first value of the answer.
    pub(crate) fn value(&self, sql: &str) -> String {
        let answers = self.query(sql);
        answers.last().and_then(|answer| answer.text(0, 0)).unwrap_or_default().to_owned()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

/// The processes whose parent this is.
fn children_of(parent: u32) -> Vec<u32> {
    let path = |process: &str| Path::new("/proc").join(process).join("stat");
    let is_child = |process: &str| {
        let stat = fs::read_to_string(path(process)).ok()?;
        // The name before may have spaces.
        let of: u32 = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        (of == parent).then_some(process.parse().ok()?)
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| is_child(entry.file_name().to_str()?)).collect()
}
