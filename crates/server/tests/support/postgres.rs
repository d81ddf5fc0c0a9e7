//! PostgreSQL 15 as a data node, on its own data.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::TestDir;

/// The folder of PostgreSQL 15.
pub const BINARIES: &str = "/usr/lib/postgresql/15/bin";

/// A running node.
pub struct Postgres {
    pub port: u16,
    server: Option<Child>,
    binaries: PathBuf,
    settings: Vec<String>,
    dir: TestDir,
}

/// PostgreSQL refuses to run as root.
fn command(binaries: &Path, program: &str) -> Command {
    let program = binaries.join(program);
    let id = Command::new("id").arg("-u").output().expect("id runs");
    if id.stdout.trim_ascii() != b"0" {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program).current_dir("/");
    command
}

impl Postgres {
    /// Starts a node; `None` where PostgreSQL 15 is not installed.
    pub fn start(settings: &[&str]) -> Option<Postgres> {
        Postgres::start_of(Path::new(BINARIES), settings)
    }

    /// Starts a node of another PostgreSQL, by the folder of its programs.
    pub fn start_of(binaries: &Path, settings: &[&str]) -> Option<Postgres> {
        if !binaries.join("initdb").exists() {
            eprintln!("skipped: there is no PostgreSQL in {}", binaries.display());
            return None;
        }
        let dir = TestDir::new();
        let _only_root_can = Command::new("chown").arg("postgres").arg(&dir.0).output();
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        drop(listener);
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let mut node = Postgres { port, server: None, binaries: binaries.into(), settings, dir };
        let made = command(binaries, "initdb")
            .args(["--no-locale", "--encoding=UTF8", "--auth=trust", "--username=postgres"])
            .args(["--no-sync", "-D"])
            .arg(node.data())
            .output()
            .expect("initdb is run");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        node.start_again();
        Some(node)
    }

    fn data(&self) -> PathBuf {
        self.dir.0.join("data")
    }

    /// Starts it on the data that is there.
    pub fn start_again(&mut self) {
        let mut postgres = command(&self.binaries, "postgres");
        postgres.arg("-D").arg(self.data());
        postgres.args(["-c", "fsync=off", "-c", "listen_addresses=127.0.0.1"]);
        postgres.args(["-c", "unix_socket_directories=", "-c", &format!("port={}", self.port)]);
        for setting in &self.settings {
            postgres.args(["-c", setting]);
        }
        postgres.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.server = Some(postgres.spawn().expect("postgres is run"));
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.try_query("SELECT 1").is_none() {
            assert!(Instant::now() < deadline, "postgres does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends it without a shutdown.
    pub fn kill(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        // pg_ctl, because under runuser the child is not the postmaster itself.
        let mut stop = command(&self.binaries, "pg_ctl");
        stop.args(["-m", "immediate", "-s", "-w", "stop", "-D"]).arg(self.data());
        let _ = stop.output();
        let _ = server.kill();
        let _ = server.wait();
    }

    /// The answer of psql, unaligned.
    pub fn try_query(&self, sql: &str) -> Option<String> {
        self.try_query_in("postgres", sql)
    }

    /// The same in another database.
    pub fn try_query_in(&self, database: &str, sql: &str) -> Option<String> {
        let output = Command::new("psql")
            .args(["-X", "-A", "-t", "-q", "-U", "postgres", "-d", database, "-h", "127.0.0.1"])
            .args(["-p", &self.port.to_string(), "-c", sql])
            .stdin(Stdio::null())
            .output()
            .expect("psql is run");
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(text)
    }

    pub fn query(&self, sql: &str) -> String {
        self.try_query(sql).unwrap_or_else(|| panic!("{sql} fails on the node"))
    }

    pub fn query_in(&self, database: &str, sql: &str) -> String {
        self.try_query_in(database, sql).unwrap_or_else(|| panic!("{sql} fails in {database}"))
    }

    /// A session that runs these statements, and ends when it is dropped.
    pub fn hold(&self, sql: &str) -> Held {
        let mut psql = Command::new("psql")
            .args(["-X", "-A", "-t", "-q", "-U", "postgres", "-d", "postgres", "-h", "127.0.0.1"])
            .args(["-p", &self.port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("psql is run");
        let input = psql.stdin.as_mut().expect("its input is piped");
        writeln!(input, "{sql};\nSELECT 'held';").expect("psql reads");
        let mut line = String::new();
        let output = psql.stdout.take().expect("its output is piped");
        BufReader::new(output).read_line(&mut line).expect("psql answers");
        assert_eq!(line, "held\n");
        Held(psql)
    }

    /// The number of sessions of Steppe on it, whose state is this.
    pub fn sessions(&self, state: &str) -> usize {
        let sql = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'steppe' AND state \
             LIKE '{state}'"
        );
        self.query(&sql).parse().expect("a number")
    }

    /// The statement that makes one of its databases a node of a cluster.
    pub fn create_node_in(&self, name: &str, database: &str) -> String {
        let port = self.port;
        format!(
            "CREATE NODE {name} WITH (TYPE = 'datanode', HOST = '127.0.0.1', PORT = {port}, \
             dbname = '{database}')"
        )
    }

    /// The statement that makes it a node of a cluster.
    pub fn create_node(&self, name: &str) -> String {
        let port = self.port;
        format!("CREATE NODE {name} WITH (TYPE = 'datanode', HOST = '127.0.0.1', PORT = {port})")
    }
}

/// A session that holds what its statements have got.
pub struct Held(Child);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}
