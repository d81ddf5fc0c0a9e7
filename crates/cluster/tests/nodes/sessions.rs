//! Sessions on nodes that follow a script: the client's side of each exchange.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use steppe_cluster::{ConnInfo, Connection, Interest, Step};
use steppe_types::interrupt::{self, Interrupts};
use steppe_types::{Error, Result, SqlState};
use steppe_wire::backend::{self, Field};
use steppe_wire::client::receive::BackendMessage;
use steppe_wire::{DataRow, Format, TransactionStatus};

use crate::support::{admission, info, later, node, read, send, session, start_up};

fn row(buf: &mut Vec<u8>, value: &str) {
    let mut row = DataRow::begin(buf);
    row.bytes(value.as_bytes()).unwrap();
    row.finish().unwrap();
}

fn ready(buf: &mut Vec<u8>) {
    backend::ready_for_query(buf, TransactionStatus::Idle);
}

#[test]
fn a_session_is_opened_with_its_words() {
    let (seen, packets) = mpsc::channel();
    let address = node(move |stream| {
        seen.send(start_up(stream)).unwrap();
        send(stream, admission);
        let _ = stream.read(&mut [0]);
    });
    let mut info = info(address);
    info.application_name = Some("app".into());
    info.settings = vec![("datestyle".into(), "ISO".into())];
    let connection = Connection::open_in_place(&info, later()).unwrap();
    let packet = packets.recv().unwrap().unwrap();
    let expected = b"\0\x03\0\0user\0u\0client_encoding\0UTF8\0database\0d\0\
                     application_name\0app\0datestyle\0ISO\0\0";
    assert_eq!(packet, expected);
    assert_eq!(connection.server_version(), Some(150_010));
    assert_eq!(connection.process_id(), Some(42));
    assert!(connection.is_idle() && !connection.is_broken());
}

#[test]
fn hosts_are_tried_in_order_and_each_failure_is_told() {
    let alive = node(|stream| {
        let _ = start_up(stream);
        send(stream, admission);
        let _ = stream.read(&mut [0]);
    });
    let starting = node(|stream| {
        let _ = start_up(stream);
        let error = Error::new(SqlState::CANNOT_CONNECT_NOW, "the database system is starting up");
        let error = error.severity(steppe_types::error::Severity::Fatal);
        send(stream, |buf| backend::error_response(buf, &error));
    });
    // A port that was free a moment ago has no server.
    let dead = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let words = |ports: &str| {
        let hosts = vec!["127.0.0.1"; ports.split(',').count()].join(",");
        ConnInfo::parse(&format!("host={hosts} port={ports} user=u")).unwrap()
    };
    let all = words(&format!("{dead},{},{}", starting.port(), alive.port()));
    assert!(Connection::open_in_place(&all, later()).is_ok());

    let none = words(&format!("{dead},{}", starting.port()));
    let refused = Connection::open_in_place(&none, later()).unwrap_err();
    assert_eq!(refused.error.sqlstate().as_str(), "08001");
    assert_eq!(refused.sqlstate, Some(SqlState::CANNOT_CONNECT_NOW));
    assert_eq!(
        refused.error.message(),
        format!(
            "connection to server at \"127.0.0.1\", port {dead} failed: Connection refused\n\
             connection to server at \"127.0.0.1\", port {} failed: \
             FATAL:  the database system is starting up",
            starting.port()
        )
    );
}

#[test]
fn a_host_that_does_not_answer_takes_its_connect_timeout() {
    let silent = node(|stream| {
        let _ = start_up(stream);
        let _ = stream.read(&mut [0]);
    });
    let mut info = info(silent);
    info.connect_timeout = Some(Duration::from_millis(100));
    let began = Instant::now();
    let refused = Connection::open_in_place(&info, later()).unwrap_err();
    assert!(began.elapsed() >= Duration::from_millis(100));
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(refused.error.message().ends_with("failed: timeout expired"), "{}", refused.error);
    // The caller's deadline counts, too.
    info.connect_timeout = None;
    let refused = Connection::open_in_place(&info, Instant::now() + Duration::from_millis(50));
    assert!(refused.unwrap_err().error.message().ends_with("failed: timeout expired"));
}

#[test]
fn target_session_attrs_chooses_the_host() {
    let server = |settings: &'static [(&'static str, &'static str)], answer: &'static str| {
        node(move |stream| {
            let _ = start_up(stream);
            send(stream, |buf| {
                backend::authentication_ok(buf);
                settings
                    .iter()
                    .for_each(|(name, value)| backend::parameter_status(buf, name, value));
                ready(buf);
            });
            while read(stream).is_some() {
                send(stream, |buf| {
                    backend::row_description(buf, [Field::new("x", 25, -1)]).unwrap();
                    row(buf, answer);
                    backend::command_complete(buf, "SHOW");
                    ready(buf);
                });
            }
        })
        .port()
    };
    const PRIMARY: &[(&str, &str)] =
        &[("in_hot_standby", "off"), ("default_transaction_read_only", "off")];
    const STANDBY: &[(&str, &str)] =
        &[("in_hot_standby", "on"), ("default_transaction_read_only", "off")];
    let (primary, standby) = (server(PRIMARY, ""), server(STANDBY, ""));
    let (old_primary, old_standby) = (server(&[], "off"), server(&[], "on"));
    let open = |ports: &[u16], target: &str| {
        let list = |text: Vec<String>| text.join(",");
        let hosts = list(vec!["127.0.0.1".to_owned(); ports.len()]);
        let ports = list(ports.iter().map(u16::to_string).collect());
        let words = format!("host={hosts} port={ports} user=u target_session_attrs={target}");
        Connection::open_in_place(&ConnInfo::parse(&words).unwrap(), later())
    };
    for pair in [[standby, primary], [old_standby, old_primary]] {
        for target in ["any", "read-write", "read-only", "standby", "prefer-standby"] {
            assert!(open(&pair, target).is_ok(), "{target}");
        }
        let refused = open(&pair[..1], "read-write").unwrap_err().error;
        assert!(refused.message().ends_with("failed: session is read-only"), "{refused}");
        let refused = open(&pair[1..], "read-only").unwrap_err().error;
        assert!(refused.message().ends_with("failed: session is not read-only"), "{refused}");
        assert!(open(&pair[1..], "prefer-standby").is_ok());
    }
    assert!(open(&[standby, primary], "primary").is_ok());
    let refused = open(&[primary], "standby").unwrap_err().error;
    assert!(refused.message().ends_with("failed: server is not in hot standby mode"));
    let refused = open(&[standby], "primary").unwrap_err().error;
    assert!(refused.message().ends_with("failed: server is in hot standby mode"));
}

#[test]
fn a_path_is_a_unix_socket() {
    let directory = std::env::temp_dir().join(format!("steppe-socket-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join(".s.PGSQL.7");
    let words = format!("host={} port=7 user=u", directory.display());
    let info = ConnInfo::parse(&words).unwrap();
    let missing = Connection::open_in_place(&info, later()).unwrap_err().error;
    assert_eq!(
        missing.message(),
        format!(
            "connection to server on socket \"{}\" failed: No such file or directory",
            path.display()
        )
    );
    let listener = UnixListener::bind(&path).unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        admission(&mut bytes);
        stream.write_all(&bytes).unwrap();
    });
    Connection::open_in_place(&info, later()).unwrap();
    server.join().unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn rows_are_passed_on_as_they_came() {
    let mut connection = session(|stream| {
        while read(stream).is_some() {
            send(stream, |buf| {
                backend::row_description(buf, [Field::new("x", 25, -1)]).unwrap();
                (0..10_000).for_each(|n: u32| row(buf, &n.to_string()));
                backend::command_complete(buf, "SELECT 10000");
                ready(buf);
            });
        }
    })
    .unwrap();
    let mut expected = Vec::new();
    (0..10_000).for_each(|n: u32| row(&mut expected, &n.to_string()));
    for by_runs in [false, true] {
        connection.query("SELECT").unwrap();
        let (mut passed, mut others) = (Vec::new(), Vec::new());
        while connection.cycles() > 0 {
            let message = connection.message_in_place(Some(later())).unwrap();
            match message.tag() {
                b'D' => passed.extend_from_slice(message.bytes()),
                tag => others.push(tag),
            }
            if by_runs {
                passed.extend_from_slice(connection.receive_run(b'D').unwrap());
            }
        }
        assert!(passed == expected);
        assert_eq!(others, b"TCZ");
    }
    assert!(connection.is_idle());
    let answers = connection.query_in_place("SELECT").unwrap();
    assert_eq!(answers[0].text(9_999, 0), Some("9999"));
    assert_eq!((answers.len(), answers[0].tag.as_str()), (1, "SELECT 10000"));
}

#[test]
fn the_nodes_error_is_returned_and_breaks_nothing() {
    let mut connection = session(|stream| {
        while let Some((_, sql)) = read(stream) {
            let fatal = sql.starts_with(b"end");
            let error = Error::new(SqlState::DIVISION_BY_ZERO, "division by zero").detail("d");
            let ended = Error::new(SqlState::ADMIN_SHUTDOWN, "terminating connection")
                .severity(steppe_types::error::Severity::Fatal);
            send(stream, |buf| match fatal {
                true => backend::error_response(buf, &ended),
                false => {
                    backend::error_response(buf, &error);
                    backend::ready_for_query(buf, TransactionStatus::Failed);
                }
            });
            if fatal {
                return;
            }
        }
    })
    .unwrap();
    let error = connection.query_in_place("SELECT 1/0").unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::DIVISION_BY_ZERO);
    assert_eq!(error.fields().detail.as_deref(), Some("d"));
    assert_eq!(connection.transaction_status(), TransactionStatus::Failed);
    assert!(!connection.is_broken() && !connection.is_idle());
    // A FATAL error is the reason why the connection ends.
    let error = connection.query_in_place("end").unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::ADMIN_SHUTDOWN);
    assert!(connection.is_broken());
}

#[test]
fn a_lost_connection_is_08006_for_good() {
    let mut connection = session(|stream| drop(read(stream))).unwrap();
    let error = connection.query_in_place("SELECT 1").unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::CONNECTION_FAILURE);
    assert_eq!(error.message(), "server closed the connection unexpectedly");
    assert!(connection.is_broken());
    let again = connection.receive().unwrap_err();
    assert_eq!(again.message(), error.message());
    assert!(connection.flush().is_err());
}

#[test]
fn a_node_that_stops_reading_does_not_stop_the_client() {
    // The node sends its answers before it reads on: a client that only writes waits for ever. All
    // that is sent is more than the buffers of the sockets take.
    const STATEMENTS: usize = 40;
    let text = "x".repeat(1 << 20);
    let mut connection = session(|stream| {
        let answer = "y".repeat(1 << 20);
        while let Some((tag, _)) = read(stream) {
            if tag == b'Q' {
                send(stream, |buf| {
                    row(buf, &answer);
                    backend::command_complete(buf, "SELECT 1");
                    ready(buf);
                });
            }
        }
    })
    .unwrap();
    (0..STATEMENTS).for_each(|_| connection.query(&text).unwrap());
    let mut rows = 0;
    while connection.cycles() > 0 {
        rows += usize::from(connection.message_in_place(Some(later())).unwrap().tag() == b'D');
    }
    assert_eq!(rows, STATEMENTS);
}

#[test]
fn a_large_answer_is_refused_and_the_connection_lives() {
    let mut connection = session(|stream| {
        let value = "y".repeat(1 << 20);
        while let Some((_, sql)) = read(stream) {
            let rows = if sql.starts_with(b"large") { 40 } else { 1 };
            send(stream, |buf| {
                (0..rows).for_each(|_| row(buf, &value));
                backend::command_complete(buf, "SELECT");
                ready(buf);
            });
        }
    })
    .unwrap();
    let error = connection.query_in_place("large").unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::PROGRAM_LIMIT_EXCEEDED);
    assert_eq!(
        connection.query_in_place("small").unwrap()[0].rows[0][0].as_ref().unwrap().len(),
        1 << 20
    );
}

#[test]
fn a_statement_is_prepared_once() {
    let (seen, parsed) = mpsc::channel();
    let mut connection = session(move |stream| {
        while let Some((tag, body)) = read(stream) {
            send(stream, |buf| match tag {
                b'P' => {
                    seen.send(body).unwrap();
                    backend::parse_complete(buf);
                }
                b'S' => ready(buf),
                _ => {}
            });
        }
    })
    .unwrap();
    for _ in 0..3 {
        assert_eq!(connection.prepare("SELECT $1", &[23]).unwrap(), "s1");
        connection.sync();
        // ParseComplete is not handed out.
        assert_eq!(connection.message_in_place(Some(later())).unwrap().tag(), b'Z');
    }
    assert_eq!(parsed.try_iter().collect::<Vec<_>>(), [b"s1\0SELECT $1\0\0\x01\0\0\0\x17"]);
    connection.forget_statements();
    assert_eq!(connection.prepare("SELECT $1", &[23]).unwrap(), "s4");
}

#[test]
fn copy_is_answered() {
    let mut connection = session(|stream| {
        while let Some((tag, body)) = read(stream) {
            send(stream, |buf| match (tag, body.first()) {
                (b'Q', Some(b'i')) => {
                    backend::copy_response(buf, backend::CopyDirection::In, Format::Text, 1);
                }
                (b'Q', _) => {
                    backend::copy_response(buf, backend::CopyDirection::Out, Format::Text, 1);
                    backend::copy_data(buf, |data| {
                        data.push(b'x');
                        Ok(())
                    })
                    .unwrap();
                    backend::copy_done(buf);
                    backend::command_complete(buf, "COPY 1");
                    ready(buf);
                }
                (b'f', _) => {
                    let error = Error::new(SqlState::QUERY_CANCELED, "COPY from stdin failed");
                    backend::error_response(buf, &error);
                    ready(buf);
                }
                _ => {}
            });
        }
    })
    .unwrap();
    let error = connection.query_in_place("in").unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::QUERY_CANCELED);
    assert_eq!(connection.query_in_place("out").unwrap()[0].tag, "COPY 1");
}

/// Interrupts as of a session.
#[derive(Default)]
struct Statement {
    is_cancelled: AtomicBool,
    waker: Mutex<Option<Waker>>,
    takes_waker: bool,
}

impl Statement {
    fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
        let waker = self.waker.lock().unwrap().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Interrupts for Statement {
    fn check(&self) -> Result<()> {
        match self.is_cancelled.swap(false, Ordering::SeqCst) {
            true => Err(Error::new(SqlState::QUERY_CANCELED, "canceling statement")),
            false => Ok(()),
        }
    }

    fn reserve(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn wake_by(&self, waker: Option<Waker>) -> bool {
        if self.takes_waker {
            *self.waker.lock().unwrap() = waker;
        }
        self.takes_waker
    }
}

/// The time in which a cancel must be on its way to the node.
const SOON: Duration = Duration::from_millis(100);

#[test]
fn a_cancel_reaches_the_node_at_once() {
    for takes_waker in [true, false] {
        let statement = Arc::new(Statement { takes_waker, ..Statement::default() });
        let (cancelled, cancels) = mpsc::channel();
        let (asleep, sleeps) = mpsc::channel();
        // The node accepts the CancelRequest on a second connection while the first one waits.
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut session, _) = listener.accept().unwrap();
            start_up(&mut session).unwrap();
            send(&mut session, admission);
            read(&mut session).unwrap();
            asleep.send(()).unwrap();
            let (mut request, _) = listener.accept().unwrap();
            cancelled.send((Instant::now(), start_up(&mut request).unwrap())).unwrap();
            drop(request);
            let error = Error::new(SqlState::QUERY_CANCELED, "canceled on the node");
            send(&mut session, |buf| {
                backend::error_response(buf, &error);
                ready(buf);
            });
            while let Some((_, sql)) = read(&mut session) {
                send(&mut session, |buf| {
                    if sql.starts_with(b"SELECT 1") {
                        backend::command_complete(buf, "SELECT 0");
                        ready(buf);
                    }
                });
            }
        });
        let canceller = {
            let statement = Arc::clone(&statement);
            thread::spawn(move || {
                sleeps.recv().unwrap();
                // The client is asleep in poll(2), most likely; the result is the same if not.
                thread::sleep(Duration::from_millis(30));
                let at = Instant::now();
                statement.cancel();
                at
            })
        };
        let mut connection = Connection::open_in_place(&info(address), later()).unwrap();
        let mut interrupts: Option<Arc<dyn Interrupts>> = Some(statement.clone());
        let ended = interrupt::during(&mut interrupts, || connection.query_in_place("sleep"));
        assert_eq!(ended.unwrap_err().message(), "canceling statement");
        let asked = canceller.join().unwrap();
        let (arrived, request) = cancels.recv().unwrap();
        assert!(arrived - asked < SOON, "{:?}", arrived - asked);
        assert_eq!(request, b"\x04\xd2\x16\x2e\0\0\0\x2a\x01\x02\x03\x04");
        assert!(statement.waker.lock().unwrap().is_none(), "the waker was taken back");
        assert!(connection.is_idle());
        assert_eq!(connection.query_in_place("SELECT 1").unwrap()[0].tag, "SELECT 0");
        drop(connection);
        server.join().unwrap();
    }
}

/// A session that has not read the statement yet drops the cancel, and would run the statement.
#[test]
fn a_cancel_that_comes_too_early_is_sent_again() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut session, _) = listener.accept().unwrap();
        start_up(&mut session).unwrap();
        send(&mut session, admission);
        for is_read in [false, true] {
            let (mut request, _) = listener.accept().unwrap();
            start_up(&mut request).unwrap();
            if !is_read {
                read(&mut session).unwrap();
            }
        }
        let error = Error::new(SqlState::QUERY_CANCELED, "canceled on the node");
        send(&mut session, |buf| {
            backend::error_response(buf, &error);
            ready(buf);
        });
    });
    let mut connection = Connection::open_in_place(&info(address), later()).unwrap();
    let soon = Some(Instant::now() + Duration::from_millis(50));
    assert!(connection.query_in_place_until("sleep", soon).is_err());
    assert!(connection.is_idle());
    server.join().unwrap();
}

#[test]
fn a_node_that_ignores_a_cancel_loses_its_connection() {
    let mut connection = session(|stream| {
        while read(stream).is_some() {
            send(stream, |buf| row(buf, "again"));
        }
    })
    .unwrap();
    let soon = Some(Instant::now() + Duration::from_millis(50));
    let error = connection.query_in_place_until("sleep", soon).unwrap_err();
    assert_eq!(error.message(), "timeout expired");
    assert!(connection.is_broken());
}

#[test]
fn operations_do_not_wait() {
    // The node reads nothing until the test ends.
    let (end, ended) = mpsc::channel::<()>();
    let mut connection = session(move |_| ended.recv().unwrap_or_default()).unwrap();
    assert!(matches!(connection.receive(), Ok(Step::Waits(Interest::Read))));
    connection.query(&"x".repeat(50 << 20)).unwrap();
    assert_eq!(connection.flush().unwrap(), Step::Waits(Interest::Both));
    drop(end);
}

#[test]
fn notices_and_settings_are_noted() {
    let mut connection = session(|stream| {
        while read(stream).is_some() {
            let notice = Error::new(SqlState::SUCCESSFUL_COMPLETION, "hello")
                .severity(steppe_types::error::Severity::Notice);
            send(stream, |buf| {
                backend::parameter_status(buf, "TimeZone", "UTC");
                backend::notification_response(buf, 7, "channel", "payload");
                backend::error_response(buf, &notice);
                backend::command_complete(buf, "DO");
                ready(buf);
            });
        }
    })
    .unwrap();
    connection.query_in_place("DO").unwrap();
    assert_eq!(connection.parameter("TimeZone"), Some("UTC"));
    let notices = connection.take_notices();
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].message(), "hello");
    // A caller that reads itself gets them in their place.
    connection.query("DO").unwrap();
    let first = connection.message_in_place(Some(later())).unwrap();
    assert!(matches!(first.decode(), Ok(BackendMessage::NoticeResponse(_))));
}
