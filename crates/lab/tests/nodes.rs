//! The cluster's connections against PostgreSQL: authentication, hosts, cancels, prepared
//! statements.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use steppe_cluster::conninfo::Secret;
use steppe_cluster::{ConnInfo, Connection};
use steppe_lab::oracle::Oracle;
use steppe_lab::process::TempDir;
use steppe_types::interrupt::{self, Interrupts};
use steppe_types::{Error, Result, SqlState};
use steppe_wire::Format;
use steppe_wire::client::send;
use steppe_wire::startup::ProtocolVersion;

const BINARIES: &str = "/usr/lib/postgresql/15/bin";

/// A PostgreSQL whose roles authenticate by the method they are named after.
fn postgres() -> Option<Oracle> {
    if !Path::new(BINARIES).exists() {
        eprintln!("skipped: there is no PostgreSQL in {BINARIES}");
        return None;
    }
    let oracle = Oracle::open(BINARIES).unwrap();
    let mut admin = open(&oracle, "user=postgres").unwrap();
    admin.query_in_place("SET password_encryption = 'md5'").unwrap();
    admin.query_in_place("CREATE ROLE md5 LOGIN PASSWORD 'secret'").unwrap();
    admin.query_in_place("SET password_encryption = 'scram-sha-256'").unwrap();
    admin.query_in_place("CREATE ROLE scram LOGIN PASSWORD 'secret'").unwrap();
    admin.query_in_place("CREATE ROLE password LOGIN PASSWORD 'secret'").unwrap();
    let file = admin.query_in_place("SHOW hba_file").unwrap();
    let file = file[0].text(0, 0).unwrap();
    let rules = "('host all postgres all trust'), ('host all md5 all md5'), \
                 ('host all scram all scram-sha-256'), ('host all password all password')";
    admin.query_in_place(&format!("COPY (VALUES {rules}) TO '{file}'")).unwrap();
    admin.query_in_place("SELECT pg_reload_conf()").unwrap();
    // The postmaster has read the file once it refuses a role that has no line.
    let deadline = later();
    while open(&oracle, "user=nobody").unwrap_err().message().contains("does not exist") {
        assert!(Instant::now() < deadline, "pg_hba.conf was not read");
        thread::sleep(Duration::from_millis(20));
    }
    Some(oracle)
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn words(oracle: &Oracle, words: &str) -> ConnInfo {
    let port = oracle.address().port();
    let text = format!("host=127.0.0.1 port={port} dbname=postgres passfile=/nonexistent {words}");
    ConnInfo::parse(&text).unwrap()
}

fn open(oracle: &Oracle, more: &str) -> Result<Connection> {
    Ok(Connection::open_in_place(&words(oracle, more), later())?)
}

fn one(connection: &mut Connection, sql: &str) -> String {
    connection.query_in_place(sql).unwrap()[0].text(0, 0).unwrap().to_owned()
}

#[test]
fn authentication() {
    let Some(oracle) = postgres() else { return };
    let port = oracle.address().port();
    assert_eq!(one(&mut open(&oracle, "user=postgres").unwrap(), "SELECT 1"), "1");
    for role in ["password", "md5", "scram"] {
        let mut session = open(&oracle, &format!("user={role} password=secret")).unwrap();
        assert_eq!(one(&mut session, "SELECT current_user"), role);
        let wrong = words(&oracle, &format!("user={role} password=wrong"));
        let refused = Connection::open_in_place(&wrong, later()).unwrap_err();
        assert_eq!(refused.sqlstate, Some(SqlState::INVALID_PASSWORD));
        assert_eq!(
            refused.error.message(),
            format!(
                "connection to server at \"127.0.0.1\", port {port} failed: \
                 FATAL:  password authentication failed for user \"{role}\""
            )
        );
        let missing = open(&oracle, &format!("user={role}")).unwrap_err();
        assert_eq!(
            missing.message(),
            format!(
                "connection to server at \"127.0.0.1\", port {port} failed: \
                 fe_sendauth: no password supplied"
            )
        );
    }
    let directory = TempDir::new("steppe-passfile").unwrap();
    let path = directory.path().join("passwords");
    fs::write(&path, format!("127.0.0.1:{port}:*:scram:secret\n")).unwrap();
    for (mode, works) in [(0o600, true), (0o644, false)] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let mut info = words(&oracle, "user=scram");
        info.passfile = Some(path.clone());
        assert_eq!(Connection::open_in_place(&info, later()).is_ok(), works);
    }
    // The password given comes before the file's.
    let mut info = words(&oracle, "user=scram");
    info.password = Some(Secret("wrong".into()));
    info.passfile = Some(path);
    assert!(Connection::open_in_place(&info, later()).is_err());
}

#[test]
fn hosts_protocols_and_prepared_statements() {
    let Some(oracle) = postgres() else { return };
    let port = oracle.address().port();
    let text = format!(
        "host=127.0.0.1,127.0.0.1 port=1,{port} user=postgres target_session_attrs=read-write \
         application_name=coordinator options='-c work_mem=7MB'"
    );
    let info = ConnInfo::parse(&text).unwrap();
    let mut session = Connection::open_in_place(&info, later()).unwrap();
    assert_eq!(one(&mut session, "SHOW application_name"), "coordinator");
    assert_eq!(one(&mut session, "SHOW work_mem"), "7MB");
    assert_eq!(session.server_version().map(|version| version / 10_000), Some(oracle.major()));
    let standby = open(&oracle, "user=postgres target_session_attrs=standby").unwrap_err();
    assert!(standby.message().ends_with("server is not in hot standby mode"), "{standby}");
    open(&oracle, "user=postgres target_session_attrs=prefer-standby").unwrap();

    // PostgreSQL 15 negotiates the protocol down.
    let mut newer = words(&oracle, "user=postgres max_protocol_version=latest");
    assert_eq!(newer.newest_protocol, ProtocolVersion::V3_2);
    Connection::open_in_place(&newer, later()).unwrap();
    newer.oldest_protocol = ProtocolVersion::V3_2;
    assert_eq!(Connection::open_in_place(&newer, later()).is_ok(), oracle.major() >= 18);

    prepared_statements(&mut session);
}

/// Executes a prepared statement with one parameter, and returns the rows or the error.
fn execute(session: &mut Connection, text: &str, parameter: &str) -> Result<Vec<Vec<u8>>> {
    let name = session.prepare(text, &[23])?;
    let values = [Some(parameter.as_bytes())];
    send::bind(session.out(), "", &name, &[Format::Text], values, &[])?;
    send::execute(session.out(), "", 0);
    session.sync();
    let (mut rows, mut error) = (Vec::new(), None);
    while session.cycles() > 0 {
        let message = session.message_in_place(Some(later()))?;
        match message.decode()? {
            steppe_wire::client::receive::BackendMessage::DataRow(row) => {
                rows.extend(row.iter().flatten().map(<[u8]>::to_vec));
            }
            steppe_wire::client::receive::BackendMessage::ErrorResponse(found) => {
                error = Some(found);
            }
            _ => {}
        }
    }
    error.map_or(Ok(rows), Err)
}

fn prepared_statements(session: &mut Connection) {
    for divisor in ["1", "0", "5"] {
        let answer = execute(session, "SELECT 10 / $1", divisor);
        match divisor {
            "0" => assert_eq!(answer.unwrap_err().sqlstate(), SqlState::DIVISION_BY_ZERO),
            _ => assert_eq!(answer.unwrap().len(), 1),
        }
    }
    let error = execute(session, "SELECT $1 FROM missing", "1").unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::UNDEFINED_TABLE);
    session
        .query_in_place("CREATE TEMP TABLE missing (a int); INSERT INTO missing VALUES (1)")
        .unwrap();
    assert_eq!(execute(session, "SELECT $1 FROM missing", "1").unwrap(), [b"1"]);
    // Far more statements than the table holds, in a mixed order.
    for round in 0..2 {
        for n in 0..600 {
            let text = format!("SELECT $1 + {}", (n * 7 + round) % 400);
            execute(session, &text, "1").unwrap();
        }
    }
    let names = one(session, "SELECT count(*) FROM pg_prepared_statements");
    assert_eq!(names, "256");
    assert!(session.is_idle());
}

/// Interrupts as of a session.
#[derive(Default)]
struct Statement(AtomicBool, Mutex<Option<Waker>>);

impl Interrupts for Statement {
    fn check(&self) -> Result<()> {
        match self.0.swap(false, Ordering::SeqCst) {
            true => Err(Error::new(SqlState::QUERY_CANCELED, "canceling statement")),
            false => Ok(()),
        }
    }

    fn reserve(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn wake_by(&self, waker: Option<Waker>) -> bool {
        *self.1.lock().unwrap() = waker;
        true
    }
}

#[test]
fn a_cancel_ends_the_statement_on_the_node() {
    let Some(oracle) = postgres() else { return };
    let mut session = open(&oracle, "user=postgres").unwrap();
    let statement = Arc::new(Statement::default());
    for sql in ["SELECT pg_sleep(60)", "SELECT count(*) FROM generate_series(1, 1000000000000)"] {
        let canceller = {
            let statement = Arc::clone(&statement);
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(200));
                statement.0.store(true, Ordering::SeqCst);
                if let Some(waker) = statement.1.lock().unwrap().clone() {
                    waker.wake();
                }
                Instant::now()
            })
        };
        let mut interrupts: Option<Arc<dyn Interrupts>> = Some(statement.clone());
        let ended = interrupt::during(&mut interrupts, || session.query_in_place(sql));
        let after = canceller.join().unwrap().elapsed();
        assert_eq!(ended.unwrap_err().message(), "canceling statement");
        assert!(after < Duration::from_secs(1), "{after:?}");
        assert!(session.is_idle());
        assert_eq!(one(&mut session, "SELECT 1"), "1");
    }
    // By a handle, from another thread.
    let cancel = session.cancel_handle().unwrap();
    let canceller = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        cancel.send_in_place(later())
    });
    let error = session.query_in_place_until("SELECT pg_sleep(60)", Some(later())).unwrap_err();
    assert_eq!(error.message(), "canceling statement due to user request");
    canceller.join().unwrap().unwrap();
    // COPY data that never comes.
    session.query_in_place("CREATE TEMP TABLE t (a int)").unwrap();
    session.query("COPY t FROM STDIN").unwrap();
    assert_eq!(session.message_in_place(Some(later())).unwrap().tag(), b'G');
    session.settle_in_place(Duration::from_secs(2));
    assert!(session.is_idle());
    assert_eq!(one(&mut session, "SELECT count(*) FROM t"), "0");
}

#[test]
fn a_terminated_session_says_why() {
    let Some(oracle) = postgres() else { return };
    let mut session = open(&oracle, "user=postgres").unwrap();
    let mut admin = open(&oracle, "user=postgres").unwrap();
    let pid = session.process_id().unwrap();
    one(&mut admin, &format!("SELECT pg_terminate_backend({pid}, 5000)"));
    let error = session.query_in_place("SELECT 1").unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::ADMIN_SHUTDOWN);
    assert!(session.is_broken());
}
