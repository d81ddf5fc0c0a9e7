//! PostgreSQL itself, to ask for the right answer: a server that runs already,
//! or a private cluster that is made, used and removed.
//!
//! A cluster is made with the locale C and the encoding UTF8, as Steppe's
//! databases are. PostgreSQL refuses to run as root, so root runs it as the user
//! `postgres` that Debian's package makes; binaries which that user cannot reach
//! (a checkout below root's home) are copied next to the cluster first.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::process::{TempDir, UNPRIVILEGED, is_root};

/// How long initdb and the start may take together.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// The first major version with the locale provider "builtin".
const BUILTIN_LOCALES: u32 = 17;

/// A PostgreSQL server to ask.
#[derive(Debug)]
pub struct Oracle {
    address: SocketAddr,
    major: u32,
    /// The server ends before its directory is removed: fields are dropped in order.
    _server: Option<PrivateServer>,
    _directory: Option<TempDir>,
}

impl Oracle {
    /// `HOST:PORT` of a running server, or the directory of PostgreSQL's binaries.
    pub fn open(place: &str) -> io::Result<Oracle> {
        match place.parse() {
            Ok(address) => {
                Oracle { address, major: 0, _server: None, _directory: None }.with_version()
            }
            Err(_) => Oracle::start(Path::new(place)),
        }
    }

    /// Makes a cluster in a temporary directory and starts it.
    fn start(binaries: &Path) -> io::Result<Oracle> {
        let directory = TempDir::new("steppe-oracle")?;
        let user = User::current()?;
        user.give(directory.path())?;
        let binaries = user.reachable(&binaries.canonicalize()?, directory.path())?;
        let data = directory.path().join("data");
        let made = user
            .command(&binaries.join("initdb"))
            .args(["--no-locale", "--encoding=UTF8", "--auth=trust", "--username=postgres"])
            .args(["--no-sync", "-D"])
            .arg(&data)
            .output()?;
        succeeded("initdb", &made)?;
        let port = free_port()?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let child = user
            .command(&binaries.join("postgres"))
            .arg("-D")
            .arg(&data)
            .args(["-c", "fsync=off", "-c", "listen_addresses=127.0.0.1"])
            .args(["-c", crate::golden::AUTOVACUUM, "-c", crate::golden::PREPARED])
            .args(["-c", "unix_socket_directories=", "-c", &format!("port={port}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut server = PrivateServer { child, data, binaries, user };
        server.wait_ready(address)?;
        Oracle { address, major: 0, _server: Some(server), _directory: Some(directory) }
            .with_version()
    }

    fn with_version(mut self) -> io::Result<Oracle> {
        let answer = query(self.address, "postgres", "SHOW server_version_num")?;
        let number: u32 = answer
            .trim()
            .parse()
            .map_err(|_| io::Error::other(format!("server_version_num is {answer:?}")))?;
        self.major = number / 10_000;
        Ok(self)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// PostgreSQL's major version.
    pub fn major(&self) -> u32 {
        self.major
    }

    /// Makes an empty database, replacing one of that name. Its locale is Steppe's: orders are those
    /// of the bytes, and characters have their classes and cases.
    pub fn create_database(&self, name: &str) -> io::Result<()> {
        self.drop_database(name)?;
        let locale = match self.major {
            BUILTIN_LOCALES.. => "LOCALE_PROVIDER builtin LOCALE 'C.UTF-8'",
            _ => "LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'",
        };
        query(
            self.address,
            "postgres",
            &format!("CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING 'UTF8' {locale}"),
        )?;
        Ok(())
    }

    /// Removes a database, if it is there.
    pub fn drop_database(&self, name: &str) -> io::Result<()> {
        query(
            self.address,
            "postgres",
            &format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)"),
        )?;
        Ok(())
    }
}

/// The cluster's server process.
#[derive(Debug)]
struct PrivateServer {
    child: Child,
    data: PathBuf,
    binaries: PathBuf,
    user: User,
}

impl PrivateServer {
    fn wait_ready(&mut self, address: SocketAddr) -> io::Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        while query(address, "postgres", "SELECT 1").is_err() {
            if let Some(status) = self.child.try_wait()? {
                return Err(io::Error::other(format!("postgres ended with {status}")));
            }
            if Instant::now() > deadline {
                return Err(io::Error::other("postgres does not answer"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // pg_ctl, because under runuser the child is not the postmaster itself.
        let stopped = self
            .user
            .command(&self.binaries.join("pg_ctl"))
            .args(["-m", "immediate", "-s", "-w", "stop", "-D"])
            .arg(&self.data)
            .output();
        if !stopped.is_ok_and(|output| output.status.success()) {
            // The server has ended already, or dies with its wrapper.
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// The user that runs PostgreSQL.
#[derive(Debug, Clone, Copy)]
enum User {
    Myself,
    Postgres,
}

impl User {
    fn current() -> io::Result<User> {
        Ok(if is_root()? { User::Postgres } else { User::Myself })
    }

    fn command(self, program: &Path) -> Command {
        match self {
            User::Myself => Command::new(program),
            User::Postgres => {
                let mut command = Command::new("runuser");
                command.args(["-u", UNPRIVILEGED, "--"]).arg(program);
                // The user may not enter our working directory.
                command.current_dir("/");
                command
            }
        }
    }

    fn give(self, directory: &Path) -> io::Result<()> {
        if matches!(self, User::Postgres) {
            succeeded("chown", &Command::new("chown").arg(UNPRIVILEGED).arg(directory).output()?)?;
        }
        Ok(())
    }

    /// The binaries where this user can run them.
    fn reachable(self, binaries: &Path, directory: &Path) -> io::Result<PathBuf> {
        let server = binaries.join("postgres");
        let probe = self.command(&server).arg("--version").output();
        if probe.is_ok_and(|output| output.status.success()) {
            return Ok(binaries.to_owned());
        }
        let root = binaries.parent().unwrap_or(binaries);
        let copy = directory.join("postgresql");
        let copied = Command::new("cp").arg("-a").arg(root).arg(&copy).output()?;
        succeeded("cp", &copied)?;
        succeeded("chmod", &Command::new("chmod").args(["-R", "a+rX"]).arg(&copy).output()?)?;
        Ok(copy.join(binaries.file_name().unwrap_or_default()))
    }
}

/// A port that was free a moment ago.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// One statement through psql, its answer unaligned.
pub(crate) fn query(address: SocketAddr, database: &str, sql: &str) -> io::Result<String> {
    let output = Command::new("psql")
        .args(["-X", "-A", "-t", "-q", "-U", "postgres", "-d", database])
        .args(["-h", &address.ip().to_string(), "-p", &address.port().to_string()])
        .args(["-c", sql])
        .stdin(Stdio::null())
        .output()?;
    succeeded("psql", &output)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn succeeded(what: &str, output: &Output) -> io::Result<()> {
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{what} ended with {}:\n{text}", output.status)))
}
