//! The three servers: each is started on a port of its own with fresh data, and stopped when its
//! value is dropped. An unavailable one is left out with a note.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::client::{Client, USER};
use super::options::Options;
use super::process::{Daemon, Launch, as_user, await_ready, run_client};
use super::{Failure, Result, interrupt, procfs};

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// The server that Steppe is compared with.
    PostgreSql,
    /// The server under development.
    Steppe,
    /// A server that only speaks the protocol.
    Noop,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::PostgreSql, Kind::Steppe, Kind::Noop];

    pub(super) fn title(self) -> &'static str {
        match self {
            Kind::PostgreSql => "PostgreSQL",
            Kind::Steppe => "Steppe",
            Kind::Noop => "the do-nothing server",
        }
    }

    pub(super) fn named(name: &str) -> Option<Kind> {
        match name {
            "postgresql" => Some(Kind::PostgreSql),
            "steppe" => Some(Kind::Steppe),
            "noop" => Some(Kind::Noop),
            _ => None,
        }
    }
}

/// A running server.
pub(super) struct Server {
    pub(super) kind: Kind,
    /// With its version, if it has one.
    pub(super) label: String,
    pub(super) port: u16,
    launch: Launch,
    daemon: Daemon,
}

const START_LIMIT: Duration = Duration::from_secs(60);
const SETTLE_LIMIT: Duration = Duration::from_secs(5);

impl Server {
    pub(super) fn start(kind: Kind, options: &Options, scratch: &Path) -> Result<Server> {
        let port = free_port()?;
        let launched = match kind {
            Kind::PostgreSql => start_postgresql(options, scratch, port, &[])?,
            Kind::Steppe => start_steppe(options, scratch, port)?,
            Kind::Noop => start_noop(options, scratch, port)?,
        };
        Server::launched(kind, port, launched)
    }

    /// PostgreSQL as a data node.
    pub(super) fn start_node(options: &Options, scratch: &Path) -> Result<Server> {
        let port = free_port()?;
        let settings = ["max_prepared_transactions=100"];
        let launched = start_postgresql(options, scratch, port, &settings)?;
        Server::launched(Kind::PostgreSql, port, launched)
    }

    fn launched(kind: Kind, port: u16, (label, launch): (String, Launch)) -> Result<Server> {
        let daemon = Daemon::start(&launch)?;
        let mut server = Server { kind, label, port, launch, daemon };
        server.await_ready()?;
        Ok(server)
    }

    fn await_ready(&mut self) -> Result<()> {
        let port = self.port;
        await_ready(&mut self.daemon, START_LIMIT, || {
            Client::connect(port)?.query("SELECT 1").map(drop)
        })
    }

    /// Stops it in order and starts it again on its data. Returns the time from the start to the
    /// first answer.
    pub(super) fn restart(&mut self) -> Result<Duration> {
        self.daemon.stop();
        let started = Instant::now();
        self.daemon = Daemon::start(&self.launch)?;
        self.await_ready()?;
        Ok(started.elapsed())
    }

    pub(super) fn pid(&self) -> u32 {
        self.daemon.pid()
    }

    /// An error if the server has ended.
    pub(super) fn check(&mut self) -> Result<()> {
        match self.daemon.has_ended() {
            None => Ok(()),
            Some(status) => Err(Failure::new(format!(
                "the server has ended ({status}): {}",
                self.daemon.last_words()
            ))),
        }
    }

    /// Waits, for a while, until the server has nothing left to do: its work after one
    /// measurement must not slow another server's next one.
    pub(super) fn settle(&self) -> Result<()> {
        const WINDOW: Duration = Duration::from_millis(200);
        let deadline = Instant::now() + SETTLE_LIMIT;
        let mut used = procfs::tree_seconds(self.pid());
        while Instant::now() < deadline {
            interrupt::check()?;
            std::thread::sleep(WINDOW);
            let now = procfs::tree_seconds(self.pid());
            // A tick of the clock is a hundredth of a second: allow one.
            if now - used < 0.015 {
                break;
            }
            used = now;
        }
        Ok(())
    }
}

/// A port without a listener (a moment ago).
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// PostgreSQL with its defaults but for the size of its pool; the two settings that a
/// fair comparison needs are spelled out although they are defaults.
fn start_postgresql(
    options: &Options,
    scratch: &Path,
    port: u16,
    more: &[&str],
) -> Result<(String, Launch)> {
    let home = scratch.join("postgresql");
    // PostgreSQL refuses to run as root; then another user must own its data.
    let user = if is_root() { Some(postgresql_user()?) } else { None };
    let mut install = Command::new("install");
    install.args(["-d", "-m", "700"]);
    if let Some(user) = user {
        install.args(["-o", user, "-g", user]);
    }
    install.arg(&home);
    run_client(install, scratch, START_LIMIT)?;

    let bin = postgresql_programs(options, scratch, user)?;
    let mut version = Command::new(bin.join("postgres"));
    version.arg("--version");
    let version = run_client(version, scratch, START_LIMIT)?;
    // "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)": the third word.
    let number = version.split_ascii_whitespace().nth(2).unwrap_or("of unknown version");

    let data = home.join("data").display().to_string();
    let mut initdb = as_user(&bin.join("initdb"), user, None);
    initdb.args(["-D", &data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]);
    run_client(initdb, scratch, START_LIMIT)?;

    let mut arguments = vec!["-D".to_owned(), data, "-p".to_owned(), port.to_string()];
    for setting in [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "fsync=on",
        "synchronous_commit=on",
        &format!("shared_buffers={}", options.shared_buffers),
    ]
    .into_iter()
    .chain(more.iter().copied())
    {
        arguments.extend(["-c".to_owned(), setting.to_owned()]);
    }
    // INT is PostgreSQL's fast shutdown: it does not wait for sessions to end.
    let log = scratch.join("postgresql.log");
    let environment = match options.sync_delay_ms {
        0 => Vec::new(),
        millis => vec![
            ("LD_PRELOAD", slow_sync(&home)?.display().to_string()),
            ("SLOW_SYNC_US", (millis * 1000).to_string()),
        ],
    };
    let program = bin.join("postgres");
    let launch = Launch { program, arguments, environment, user, stop_signal: "INT", log };
    Ok((format!("PostgreSQL {number}"), launch))
}

/// Builds a library that slows down each sync of a program that loads it. (Steppe has a setting for
/// that.)
fn slow_sync(home: &Path) -> Result<PathBuf> {
    let (source, library) = (home.join("slow_sync.c"), home.join("slow_sync.so"));
    std::fs::write(&source, include_str!("slow_sync.c"))?;
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(&source).arg("-ldl");
    run_client(cc, home, START_LIMIT)?;
    // Another user may run the server.
    let mut chmod = Command::new("chmod");
    chmod.arg("a+rx").arg(&library);
    run_client(chmod, home, START_LIMIT)?;
    Ok(library)
}

/// The folder of PostgreSQL's programs: the given one, or what tools/pg18.sh finds.
/// If `user` cannot reach them (a checkout under a closed home), a copy.
fn postgresql_programs(options: &Options, scratch: &Path, user: Option<&str>) -> Result<PathBuf> {
    let bin = match &options.pg_bin {
        Some(bin) => bin.clone(),
        None => {
            let limit = Duration::from_secs(300);
            PathBuf::from(run_client(Command::new("tools/pg18.sh"), scratch, limit)?.trim())
        }
    };
    let bin = bin.canonicalize().map_err(|error| {
        Failure::new(format!("no PostgreSQL programs in {}: {error}", bin.display()))
    })?;
    let mut probe = as_user(&bin.join("postgres"), user, None);
    probe.arg("--version");
    if run_client(probe, scratch, START_LIMIT).is_ok() {
        return Ok(bin);
    }
    let (Some(tree), Some(name)) = (bin.parent(), bin.file_name()) else { return Ok(bin) };
    let copy = scratch.join("programs");
    let mut cp = Command::new("cp");
    cp.arg("-r").arg(tree).arg(&copy);
    run_client(cp, scratch, START_LIMIT)?;
    Ok(copy.join(name))
}

fn is_root() -> bool {
    // The owner of this process's entry is the user that runs it.
    std::fs::metadata("/proc/self")
        .is_ok_and(|entry| std::os::unix::fs::MetadataExt::uid(&entry) == 0)
}

/// The user that Debian's packages make for PostgreSQL.
fn postgresql_user() -> Result<&'static str> {
    let users = std::fs::read_to_string("/etc/passwd")?;
    if users.lines().any(|line| line.starts_with("postgres:")) {
        return Ok("postgres");
    }
    Err(Failure::new("PostgreSQL does not run as root, and there is no user postgres"))
}

fn start_steppe(options: &Options, scratch: &Path, port: u16) -> Result<(String, Launch)> {
    let program = program(options.steppe_bin.as_deref(), "steppe")?;
    let data = scratch.join("steppe");
    let mut arguments =
        ["serve", "--data-dir", &data.display().to_string()].map(str::to_owned).to_vec();
    arguments.extend(["--listen".to_owned(), format!("127.0.0.1:{port}")]);
    for setting in [
        "synchronous_commit=on",
        &format!("shared_buffers={}", options.shared_buffers),
        &format!("debug_sync_delay={}ms", options.sync_delay_ms),
        &format!("max_connections={}", options.connections()),
    ] {
        arguments.extend(["-c".to_owned(), setting.to_owned()]);
    }
    let log = scratch.join("steppe.log");
    let (environment, stop_signal) = (Vec::new(), "TERM");
    let launch = Launch { program, arguments, environment, user: None, stop_signal, log };
    Ok(("Steppe".to_owned(), launch))
}

fn start_noop(options: &Options, scratch: &Path, port: u16) -> Result<(String, Launch)> {
    let program = program(options.noop_bin.as_deref(), "noop_server")?;
    let arguments = vec!["--listen".to_owned(), format!("127.0.0.1:{port}")];
    let log = scratch.join("noop.log");
    let (environment, stop_signal) = (Vec::new(), "TERM");
    let launch = Launch { program, arguments, environment, user: None, stop_signal, log };
    Ok(("do-nothing".to_owned(), launch))
}

/// A program of this project: the given one, one built together with this one, or a
/// release build.
fn program(given: Option<&Path>, name: &str) -> Result<PathBuf> {
    let candidates = match given {
        Some(path) => vec![path.to_owned()],
        None => {
            let beside = std::env::current_exe().ok().map(|exe| exe.with_file_name(name));
            beside.into_iter().chain([Path::new("target/release").join(name)]).collect()
        }
    };
    candidates.iter().find(|path| path.is_file()).cloned().ok_or_else(|| {
        let tried: Vec<_> = candidates.iter().map(|path| path.display().to_string()).collect();
        Failure::new(format!("no program at {}: build it first", tried.join(" or ")))
    })
}
