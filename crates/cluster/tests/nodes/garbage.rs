//! Nodes that send what is not the protocol: random, truncated, changed and oversized bytes. The
//! client ends with an error, in time, and never panics.

use std::io::Write;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use steppe_cluster::Connection;
use steppe_types::{Error, SqlState};
use steppe_wire::backend::{self, Field};
use steppe_wire::{DataRow, TransactionStatus};

use crate::support::{admission, info, node, read, send, session, start_up};

const CASES: u32 = 300;

/// The same cases in each run.
fn runner() -> TestRunner {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
}

/// The messages of a node to a new session and then to a statement.
fn conversation() -> Vec<u8> {
    let mut bytes = Vec::new();
    backend::authentication_sasl(&mut bytes, &["SCRAM-SHA-256"]);
    backend::authentication_sasl_continue(&mut bytes, b"r=abc,s=QUJD,i=4096");
    admission(&mut bytes);
    answer(&mut bytes);
    bytes
}

fn answer(bytes: &mut Vec<u8>) {
    backend::row_description(bytes, [Field::new("x", 25, -1)]).unwrap();
    let mut row = DataRow::begin(bytes);
    row.bytes(b"value").unwrap();
    row.null();
    row.finish().unwrap();
    backend::command_complete(bytes, "SELECT 1");
    backend::parse_complete(bytes);
    backend::error_response(bytes, &Error::new(SqlState::DIVISION_BY_ZERO, "m").hint("h"));
    backend::ready_for_query(bytes, TransactionStatus::Idle);
}

/// Random bytes, or a conversation with some bytes changed, and cut somewhere.
fn bytes(whole: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let length = whole.len();
    let change = (0..length, any::<u8>());
    let changed =
        (prop::collection::vec(change, 0..4), 0..=length).prop_map(move |(changes, cut)| {
            let mut bytes = whole.clone();
            changes.iter().for_each(|(at, byte)| bytes[*at] = *byte);
            bytes.truncate(cut);
            bytes
        });
    prop_oneof![1 => prop::collection::vec(any::<u8>(), 0..200), 3 => changed]
}

const TIME: Duration = Duration::from_secs(5);

#[test]
fn a_start_of_garbage_is_an_error_in_time() {
    runner()
        .run(&bytes(conversation()), |bytes| {
            let address = node(move |stream| {
                let _ = start_up(stream);
                let _ = stream.write_all(&bytes);
            });
            let mut info = info(address);
            info.password = Some(steppe_cluster::conninfo::Secret("p".into()));
            let began = Instant::now();
            // Some changes leave a session that can be used.
            let opened = Connection::open_in_place(&info, began + TIME);
            prop_assert!(began.elapsed() < TIME);
            if let Err(refused) = opened {
                prop_assert_eq!(refused.error.sqlstate(), SqlState(*b"08001"));
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn an_answer_of_garbage_is_an_error_in_time() {
    let mut whole = Vec::new();
    answer(&mut whole);
    runner()
        .run(&bytes(whole), |bytes| {
            let mut connection = session(move |stream| {
                let _ = read(stream);
                let _ = stream.write_all(&bytes);
            })
            .unwrap();
            let began = Instant::now();
            let ended = connection.query_in_place_until("SELECT", Some(began + TIME));
            prop_assert!(began.elapsed() < TIME);
            match ended {
                Ok(_) => {}
                Err(error) if connection.is_broken() => {
                    prop_assert!(connection.receive().is_err());
                    prop_assert_ne!(error.sqlstate(), SqlState::INTERNAL_ERROR);
                }
                Err(_) => prop_assert_eq!(connection.cycles(), 0),
            }
            Ok(())
        })
        .unwrap();
}

/// Opens a session on a node that sends these bytes after the start-up packet.
fn refusal(bytes: Vec<u8>) -> String {
    let address = node(move |stream| {
        let _ = start_up(stream);
        let _ = stream.write_all(&bytes);
        let _ = read(stream);
    });
    let refused = Connection::open_in_place(&info(address), Instant::now() + TIME).unwrap_err();
    refused.error.message().rsplit_once("failed: ").unwrap().1.to_owned()
}

#[test]
fn an_oversized_message_is_refused_by_its_length() {
    // A gigabyte that a node announces before it has let the session in.
    assert_eq!(
        refusal(b"E\x3f\xff\xff\xff".to_vec()),
        "message of 1073741823 bytes from server is too long here"
    );
    assert_eq!(refusal(b"R\xff\xff\xff\xff".to_vec()), "invalid message length");
    assert_eq!(refusal(b"E\0\0\0\x03".to_vec()), "invalid message length");
    assert!(refusal(b"HTTP/1.1 400".to_vec()).starts_with("invalid message length"));
    assert!(refusal(b"220 mail".to_vec()).starts_with("invalid message length"));
    assert!(refusal(b"?xxxxx".to_vec()).starts_with("lost synchronization with server"));
}

#[test]
fn answers_without_requests_break_the_connection() {
    type Write = fn(&mut Vec<u8>);
    let sent: [(&str, Write); 4] = [
        ("ReadyForQuery", |buf| backend::ready_for_query(buf, TransactionStatus::Idle)),
        ("ParseComplete", backend::parse_complete),
        ("CloseComplete", backend::close_complete),
        ("type \"R\"", backend::authentication_ok),
    ];
    for (name, message) in sent {
        let mut connection = session(move |stream| send(stream, message)).unwrap();
        let error = connection.message_in_place(Some(Instant::now() + TIME)).unwrap_err();
        assert_eq!(error.sqlstate(), SqlState::PROTOCOL_VIOLATION);
        assert!(error.message().contains(name), "{error}");
        assert!(connection.is_broken());
    }
}

#[test]
fn a_flood_of_settings_ends() {
    let mut connection = session(|stream| {
        let mut bytes = Vec::new();
        (0..1000).for_each(|_| backend::parameter_status(&mut bytes, "a", "b"));
        while stream.write_all(&bytes).is_ok() {}
    })
    .unwrap();
    let error = connection.message_in_place(Some(Instant::now() + TIME)).unwrap_err();
    assert_eq!(error.message(), "server sent settings or notifications without an end");
}

#[test]
fn a_flood_of_rows_ends_with_the_deadline() {
    let mut connection = session(|stream| {
        let mut bytes = Vec::new();
        (0..1000).for_each(|_| {
            let mut row = DataRow::begin(&mut bytes);
            row.bytes(b"value").unwrap();
            row.finish().unwrap();
        });
        while stream.write_all(&bytes).is_ok() {}
    })
    .unwrap();
    let began = Instant::now();
    let soon = Some(began + Duration::from_millis(200));
    assert!(connection.query_in_place_until("SELECT", soon).is_err());
    assert!(began.elapsed() < TIME);
    assert!(connection.is_broken());
}
