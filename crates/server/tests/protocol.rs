//! The protocol, byte by byte.

mod support;

use std::time::Duration;
use support::*;

#[test]
fn a_connection_is_greeted() {
    let server = TestServer::start();
    let mut raw = server.connect();
    raw.send(&[0, 0, 0, 8, 4, 210, 22, 47]); // SSLRequest
    let mut answer = [0];
    std::io::Read::read_exact(&mut raw.stream, &mut answer).unwrap();
    assert_eq!(&answer, b"N");
    let options =
        [("user", "postgres"), ("options", "-c work_mem=2MB"), ("application_name", "test")];
    raw.startup(&options);
    let greeting = raw.until_ready();
    let text = |message: &Message| String::from_utf8_lossy(&message.body).into_owned();
    let statuses: Vec<String> = greeting.iter().filter(|m| m.tag == b'S').map(text).collect();
    for expected in [
        "application_name\0test\0",
        "session_authorization\0postgres\0",
        "server_encoding\0UTF8\0",
        "integer_datetimes\0on\0",
        "standard_conforming_strings\0on\0",
        "DateStyle\0ISO, MDY\0",
    ] {
        assert!(statuses.iter().any(|status| status == expected), "{expected:?} in {statuses:?}");
    }
    assert!(statuses.iter().any(|status| status.starts_with("server_version\x0018.4")));
    let key = greeting.iter().find(|m| m.tag == b'K').unwrap();
    assert_eq!(key.body.len(), 8);
    assert_eq!(rows(&raw.query("show work_mem")), [[Some("2MB".to_owned())]]);
}

/// The packets that request encryption.
const SSL: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
const GSS: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 48];

#[test]
fn encryption_is_refused_once_and_before_anything_else_is_said() {
    let server = TestServer::start();
    let refused = |raw: &mut Raw| {
        let mut answer = [0];
        std::io::Read::read_exact(&mut raw.stream, &mut answer).unwrap();
        assert_eq!(&answer, b"N");
    };
    let ends = |raw: &mut Raw, sqlstate: &str, message: &str| {
        let error = raw.receive().unwrap();
        assert_eq!(error.field(b'C').as_deref(), Some(sqlstate));
        assert_eq!(error.field(b'M').as_deref(), Some(message));
        assert!(raw.receive().is_none());
    };
    let mut raw = server.connect();
    raw.send(&[SSL, SSL].concat());
    refused(&mut raw);
    ends(&mut raw, "08P01", "received unencrypted data after SSL request");
    let mut raw = server.connect();
    raw.send(&[GSS, [0; 8]].concat());
    refused(&mut raw);
    ends(&mut raw, "08P01", "received unencrypted data after GSSAPI encryption request");
    let mut raw = server.connect();
    for request in [SSL, GSS] {
        raw.send(&request);
        refused(&mut raw);
    }
    raw.send(&SSL);
    let message = "unsupported frontend protocol 1234.5679: server supports 3.0 to 3.2";
    ends(&mut raw, "0A000", message);
}

#[test]
fn newer_protocols_are_negotiated() {
    let server = TestServer::start();
    let mut raw = server.connect();
    raw.startup_version(3 << 16 | 9, &[("user", "postgres"), ("_pq_.magic", "1")]);
    let greeting = raw.until_ready();
    let negotiated = greeting.iter().find(|m| m.tag == b'v').unwrap();
    assert_eq!(negotiated.body[..4], (3u32 << 16 | 2).to_be_bytes());
    let key = greeting.iter().find(|m| m.tag == b'K').unwrap();
    assert_eq!(key.body.len(), 4 + 32);
}

#[test]
fn unknown_settings_and_versions_are_refused() {
    let server = TestServer::start();
    let mut raw = server.connect();
    raw.startup(&[("user", "postgres"), ("nonsense", "1")]);
    assert_eq!(sqlstate(&raw.until_ready()).as_deref(), Some("42704"));
    let mut old = server.connect();
    old.startup_version(2 << 16, &[("user", "postgres")]);
    assert_eq!(sqlstate(&old.until_ready()).as_deref(), Some("0A000"));
}

#[test]
fn whoever_names_another_role_or_database_is_not_let_in() {
    let server = TestServer::start();
    for (user, database, sqlstate, message) in [
        ("ann", "postgres", "28000", "role \"ann\" does not exist"),
        ("ann", "books", "28000", "role \"ann\" does not exist"),
        ("pg_monitor", "books", "28000", "role \"pg_monitor\" is not permitted to log in"),
        ("postgres", "books", "3D000", "database \"books\" does not exist"),
        ("postgres", "template1", "3D000", "database \"template1\" does not exist"),
    ] {
        let mut raw = server.connect();
        raw.startup(&[("user", user), ("database", database)]);
        let error = raw.receive().unwrap();
        assert_eq!(error.field(b'S').as_deref(), Some("FATAL"));
        assert_eq!(error.field(b'C').as_deref(), Some(sqlstate));
        assert_eq!(error.field(b'M').as_deref(), Some(message));
        assert_eq!(raw.receive(), None, "the connection is closed");
    }
    // A client without a database name gets the database with the role's name.
    let mut raw = server.connect();
    raw.startup(&[("user", "postgres")]);
    raw.until_ready();
    assert_eq!(rows(&raw.query("select current_database()")), [[Some("postgres".to_owned())]]);
    let roles = [("set role pg_monitor", "0A000"), ("set role ann", "22023")];
    for (statement, state) in roles {
        assert_eq!(sqlstate(&raw.query(statement)).as_deref(), Some(state), "{statement}");
    }
}

#[test]
fn a_pipeline_is_answered_in_order() {
    let server = TestServer::start();
    let mut raw = server.raw();
    raw.query("create table t (a int primary key, b text)");
    let insert = parse("i", "insert into t values ($1, $2)");
    let mut batch = insert;
    for i in 0..3 {
        batch.extend(bind("", "i", &[&i.to_string(), "x"]));
        batch.extend(execute("", 0));
    }
    batch.extend(parse("", "select b from t where a = $1"));
    batch.extend(bind("", "", &["1"]));
    batch.extend(describe(b'P', ""));
    batch.extend(execute("", 0));
    batch.extend(sync());
    assert_eq!(raw.tags(&batch), "12C2C2C12TDCZ");
}

#[test]
fn an_error_skips_to_sync_and_takes_the_batch_back() {
    let server = TestServer::start();
    let mut raw = server.raw();
    raw.query("create table t (a int primary key)");
    let mut batch = parse("", "insert into t values ($1)");
    batch.extend(bind("", "", &["1"]));
    batch.extend(execute("", 0));
    batch.extend(bind("", "", &["1"]));
    batch.extend(execute("", 0));
    batch.extend(bind("", "", &["2"]));
    batch.extend(execute("", 0));
    batch.extend(sync());
    assert_eq!(raw.tags(&batch), "12C2EZ");
    assert_eq!(rows(&raw.query("select count(*) from t")), [[Some("0".to_owned())]]);
}

#[test]
fn portals_suspend_and_go_on() {
    let server = TestServer::start();
    let mut raw = server.raw();
    let mut batch = parse("s", "select * from generate_series(1, 5) g");
    batch.extend(bind("p", "s", &[]));
    batch.extend(execute("p", 2));
    batch.extend(execute("p", 2));
    batch.extend(execute("p", 2));
    batch.extend(sync());
    raw.send(&batch);
    let answer = raw.until_ready();
    assert_eq!(tags(&answer), "12DDsDDsDCZ");
    // The transaction and its portal have ended.
    let mut again = execute("p", 0);
    again.extend(sync());
    raw.send(&again);
    assert_eq!(sqlstate(&raw.until_ready()).as_deref(), Some("34000"));
}

#[test]
fn a_mark_ends_text_but_not_csv() {
    let server = TestServer::start();
    let mut raw = server.raw();
    raw.query("create table t (a text)");
    let mut copy = |options: &str, data: &[u8]| {
        let mut batch = query(&format!("copy t from stdin {options}"));
        batch.extend(message(b'd', data));
        batch.extend(message(b'c', b""));
        raw.send(&batch);
        let answer = raw.until_ready();
        (completions(&answer), sqlstate(&answer))
    };
    assert_eq!(copy("(format csv)", b"x\n\\.\ny\n"), (vec!["COPY 3".to_owned()], None));
    assert_eq!(copy("", b"x\n\\.\ny\n"), (vec!["COPY 1".to_owned()], None));
    assert_eq!(copy("", b"x\ny\\.\nz\n"), (Vec::new(), Some("22P04".to_owned())));
}

/// The tags of CommandComplete messages.
fn completions(answer: &[Message]) -> Vec<String> {
    let tags = answer.iter().filter(|message| message.tag == b'C');
    tags.map(|tag| String::from_utf8_lossy(&tag.body[..tag.body.len() - 1]).into_owned()).collect()
}

#[test]
fn each_execute_tells_what_it_has_done_itself() {
    let server = TestServer::start();
    let mut raw = server.raw();
    raw.query("create table t (a int)");
    let mut pieces = |statement: &str, limits: &[i32]| {
        let mut batch = parse("", statement);
        batch.extend(bind("p", "", &[]));
        limits.iter().for_each(|limit| batch.extend(execute("p", *limit)));
        batch.extend(sync());
        raw.send(&batch);
        let answer = raw.until_ready();
        (tags(&answer), completions(&answer), sqlstate(&answer))
    };
    let (seen, told, _) = pieces("select * from generate_series(1, 10) g", &[3, 3, 0, 0]);
    assert_eq!(
        (seen.as_str(), told),
        ("12DDDsDDDsDDDDCCZ", vec!["SELECT 4".into(), "SELECT 0".into()])
    );
    let (seen, told, _) = pieces("insert into t values (1), (2), (3) returning a", &[2, 0, 0]);
    assert_eq!(
        (seen.as_str(), told),
        ("12DDsDCCZ", vec!["INSERT 0 1".into(), "INSERT 0 0".into()])
    );
    // A statement without rows does all its work, once.
    let (seen, told, state) = pieces("insert into t values (4), (5)", &[1, 0]);
    assert_eq!((seen.as_str(), told), ("12CEZ", vec!["INSERT 0 2".into()]));
    assert_eq!(state.as_deref(), Some("55000"));
    let (seen, told, _) =
        pieces("explain (costs off) select * from t a, t b order by 1", &[2, 1, 0]);
    assert!(seen.starts_with("12DDsDsD") && seen.ends_with("DCZ"), "{seen}");
    assert_eq!(told, ["EXPLAIN"]);
    let (seen, told, _) = pieces("show all", &[1, 2]);
    assert_eq!((seen.as_str(), told.len()), ("12DsDDsZ", 0));
    let (seen, _, state) = pieces("set work_mem = '4MB'", &[1, 1]);
    assert_eq!((seen.as_str(), state.as_deref()), ("12CEZ", Some("55000")));
}

#[test]
fn execute_and_fetch_give_as_many_rows_as_are_asked_for() {
    let server = TestServer::start();
    let mut raw = server.raw();
    raw.query("create table t (a int)");
    raw.query("prepare numbers as select g, repeat('x', 100) from generate_series(1, 5000) g");
    raw.query("prepare writes as insert into t values (1), (2), (3) returning a");
    raw.query("prepare quiet as delete from t where a > 1");
    raw.query("begin; declare c cursor for select g from generate_series(1, 10) g");
    let mut pieces = |statement: &str, limits: &[i32]| {
        let mut batch = parse("", statement);
        batch.extend(bind("p", "", &[]));
        limits.iter().for_each(|limit| batch.extend(execute("p", *limit)));
        batch.extend(message(b'C', b"Pp\0"));
        batch.extend(sync());
        raw.send(&batch);
        let answer = raw.until_ready();
        (tags(&answer), completions(&answer), rows(&answer), sqlstate(&answer))
    };
    let (seen, told, ..) = pieces("fetch 5 from c", &[2, 2, 2, 0]);
    assert_eq!((seen.as_str(), told), ("12DDsDDsDCC3Z", vec!["FETCH 1".into(), "FETCH 0".into()]));
    // FETCH had taken all five from the cursor.
    let (_, told, found, _) = pieces("fetch next from c", &[0, 0]);
    assert_eq!(
        (told, found),
        (vec!["FETCH 1".into(), "FETCH 0".into()], vec![vec![Some("6".into())]])
    );
    let (seen, told, ..) = pieces("move 2 from c", &[1]);
    assert_eq!((seen.as_str(), told), ("12C3Z", vec!["MOVE 2".to_owned()]));
    let (seen, told, found, _) = pieces("execute numbers", &[3, 4990, 100, 0]);
    assert!(seen.starts_with("12DDDsD") && seen.ends_with("DsDDDDDDDCC3Z"), "{}", seen.len());
    assert_eq!(told, ["SELECT 7", "SELECT 0"]);
    let numbers: Vec<_> = found.into_iter().filter_map(|row| row[0].clone()).collect();
    assert!(numbers.iter().map(String::as_str).eq((1..=5000).map(|n| n.to_string())), "in order");
    let (seen, told, ..) = pieces("execute writes", &[2, 2]);
    assert_eq!((seen.as_str(), told), ("12DDsDC3Z", vec!["INSERT 0 1".to_owned()]));
    let (seen, told, _, state) = pieces("execute quiet", &[1, 1]);
    assert_eq!((seen.as_str(), told), ("12CEZ", vec!["DELETE 2".to_owned()]));
    assert_eq!(state.as_deref(), Some("55000"));
}

#[test]
fn a_type_without_a_binary_form_is_named() {
    let server = TestServer::start();
    let mut raw = server.raw();
    // aclitem
    let mut batch = message(b'P', b"\0select $1\0\0\x01\0\0\x04\x09");
    batch.extend(message(b'B', b"\0\0\0\x01\0\x01\0\x01\0\0\0\x01x\0\0"));
    batch.extend(sync());
    raw.send(&batch);
    let answer = raw.until_ready();
    let error = answer.iter().find(|message| message.tag == b'E').expect("it is refused");
    assert_eq!(error.field(b'C').as_deref(), Some("42883"));
    let message = "no binary input function available for type aclitem";
    assert_eq!(error.field(b'M').as_deref(), Some(message));
}

#[test]
fn rows_of_a_cursor_with_hold_spill_within_temp_file_limit() {
    let server = TestServer::start();
    let mut raw = server.raw();
    let declare = "declare c cursor with hold for
        select g, repeat(md5(g::text), 30) from generate_series(1, 20000) g";
    raw.query("set work_mem = '1MB'");
    raw.query("set temp_file_limit = '10MB'");
    let before = server.spill_files();
    // COMMIT fails, and so does the transaction.
    assert_eq!(sqlstate(&raw.query(declare)).as_deref(), Some("53400"));
    raw.query("set temp_file_limit = -1");
    assert_eq!(sqlstate(&raw.query(declare)), None);
    assert!(server.spill_files() > before, "the rows take more than a megabyte");
    let all = rows(&raw.query("fetch all from c"));
    assert_eq!(all.len(), 20000);
    let numbers = all.iter().map(|row| row[0].clone().unwrap_or_default());
    assert!(numbers.eq((1..=20000).map(|n| n.to_string())), "in order");
    assert_eq!(all[7][1].as_ref().map(String::len), Some(960));
}

#[test]
fn an_insert_is_done_when_its_first_rows_are_given() {
    let server = TestServer::start();
    let mut raw = server.raw();
    raw.query("create table t (a int)");
    let mut batch = parse("", "insert into t values (1), (2), (3) returning a");
    batch.extend(bind("", "", &[]));
    batch.extend(execute("", 1));
    batch.extend(sync());
    assert_eq!(raw.tags(&batch), "12DsZ");
    assert_eq!(rows(&raw.query("select count(*) from t")), [[Some("3".to_owned())]]);
}

#[test]
fn statements_are_described_and_closed() {
    let server = TestServer::start();
    let mut raw = server.raw();
    let mut batch = parse("s", "select $1::int + 1 as next");
    batch.extend(describe(b'S', "s"));
    batch.extend(parse("e", ""));
    batch.extend(describe(b'S', "e"));
    batch.extend(bind("", "e", &[]));
    batch.extend(execute("", 0));
    batch.extend(message(b'C', b"Ss\0"));
    batch.extend(message(b'C', b"Snever\0"));
    batch.extend(sync());
    assert_eq!(raw.tags(&batch), "1tT1tn2I33Z");
    let mut batch = bind("", "s", &["1"]);
    batch.extend(sync());
    raw.send(&batch);
    assert_eq!(sqlstate(&raw.until_ready()).as_deref(), Some("26000"));
}

#[test]
fn a_query_message_is_one_transaction() {
    let server = TestServer::start();
    let mut raw = server.raw();
    raw.query("create table t (a int primary key)");
    let answer = raw.query("insert into t values (1); insert into t values (1)");
    assert_eq!(tags(&answer), "CEZ");
    assert_eq!(rows(&raw.query("select count(*) from t")), [[Some("0".to_owned())]]);
    let answer = raw.query("insert into t values (1); begin; insert into t values (2)");
    assert_eq!(answer.last().unwrap().body, b"T");
    raw.query("rollback");
    assert_eq!(rows(&raw.query("select count(*) from t")), [[Some("0".to_owned())]]);
    assert_eq!(tags(&raw.query("")), "IZ");
    assert_eq!(tags(&raw.query(" ; ; ")), "IZ");
}

#[test]
fn a_failed_block_takes_only_its_end() {
    let server = TestServer::start();
    let mut raw = server.raw();
    raw.query("begin");
    let failed = raw.query("select 1/0");
    assert_eq!(sqlstate(&failed).as_deref(), Some("22012"));
    assert_eq!(failed.last().unwrap().body, b"E");
    let refused = raw.query("select 1");
    let error = refused.iter().find(|m| m.tag == b'E').unwrap();
    assert_eq!(
        error.field(b'M').as_deref(),
        Some("current transaction is aborted, commands ignored until end of transaction block")
    );
    let ended = raw.query("commit");
    assert_eq!(ended[0].body, b"ROLLBACK\0");
    let warned = raw.query("commit");
    assert_eq!(tags(&warned), "NCZ");
    assert_eq!(warned[0].field(b'C').as_deref(), Some("25P01"));
}

#[test]
fn reported_settings_follow_the_transaction() {
    let server = TestServer::start();
    let mut raw = server.raw();
    let set = raw.query("begin; set application_name = 'one'");
    assert!(set.iter().any(|m| m.tag == b'S' && m.body == b"application_name\0one\0"));
    let back = raw.query("rollback");
    assert!(back.iter().any(|m| m.tag == b'S' && m.body == b"application_name\0\0"));
}

#[test]
fn malformed_input_ends_the_connection_only() {
    let server = TestServer::start();
    let fatal: &[&[u8]] = &[
        b"Q\x3f\xff\xff\xff",      // past the limit
        b"Q\xff\xff\xff\xff",      // negative
        b"Q\0\0\0\x01",            // shorter than itself
        b"y\0\0\0\x04",            // no such type
        b"S\x10\0\0\0",            // far too long for a Sync
        b"\x16\x03\x01\x02\0\x01", // a TLS hello
    ];
    for bytes in fatal {
        let mut raw = server.raw();
        raw.send(bytes);
        let answer = raw.until_ready();
        assert_eq!(answer.len(), 1, "{bytes:?}: {answer:?}");
        assert_eq!(answer[0].field(b'S').as_deref(), Some("FATAL"), "{bytes:?}");
        assert_eq!(answer[0].field(b'C').as_deref(), Some("08P01"), "{bytes:?}");
    }
    // A bad body is an error, and the session continues.
    let mut raw = server.raw();
    assert_eq!(raw.tags(&message(b'Q', b"\xff\0")), "EZ");
    let mut batch = message(b'B', b"\0\0\0\x07");
    batch.extend(sync());
    assert_eq!(raw.tags(&batch), "EZ");
    assert_eq!(rows(&raw.query("select 1")), [[Some("1".to_owned())]]);
}

#[test]
fn a_gigabyte_that_never_comes_costs_nothing() {
    let server = TestServer::start();
    let waiting: Vec<Raw> = (0..50)
        .map(|_| {
            let mut raw = server.raw();
            raw.send(b"Q\x3f\xff\xff\xfeselect 1");
            raw
        })
        .collect();
    assert_eq!(rows(&server.raw().query("select 1")), [[Some("1".to_owned())]]);
    drop(waiting);
}

#[test]
fn connects_without_startup_do_not_keep_others_out() {
    let server = TestServer::start_with(&[("authentication_timeout", "1s")]);
    let silent: Vec<Raw> = (0..500).map(|_| server.connect()).collect();
    let mut garbage = server.connect();
    garbage.send(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(garbage.receive(), None);
    assert_eq!(rows(&server.raw().query("select 1")), [[Some("1".to_owned())]]);
    std::thread::sleep(Duration::from_millis(1500));
    for mut raw in silent {
        assert_eq!(raw.receive(), None, "a start-up that says nothing is closed");
    }
}

#[test]
fn too_many_clients_are_told_so() {
    let server = TestServer::start_with(&[("max_connections", "3")]);
    let held: Vec<Raw> = (0..3).map(|_| server.raw()).collect();
    let mut one_more = server.connect();
    one_more.startup(&[("user", "postgres")]);
    assert_eq!(sqlstate(&one_more.until_ready()).as_deref(), Some("53300"));
    drop(held);
}

#[test]
fn deep_nesting_is_refused_and_the_session_lives() {
    let server = TestServer::start();
    let mut raw = server.raw();
    for text in [
        format!("select {}1{}", "(".repeat(20_000), ")".repeat(20_000)),
        format!("select {}1", "- ".repeat(20_000)),
        format!("select 1{}", " + 1".repeat(20_000)),
        format!("select {}", "not ".repeat(20_000) + "true"),
    ] {
        let answer = raw.query(&text);
        assert_eq!(sqlstate(&answer).as_deref(), Some("54001"), "{}", &text[..30]);
    }
    assert_eq!(rows(&raw.query("select 1")), [[Some("1".to_owned())]]);
}

#[test]
fn copy_in_goes_on_with_the_next_statement() {
    let server = TestServer::start();
    let mut raw = server.raw();
    raw.query("create table t (a int, b text)");
    raw.send(&query("copy t from stdin; select count(*) from t"));
    assert_eq!(raw.receive().unwrap().tag, b'G');
    // The message ends in the middle of a row.
    raw.send(&message(b'd', b"1\tone\n2\t"));
    raw.send(&message(b'd', b"two\n"));
    raw.send(&message(b'c', b""));
    let answer = raw.until_ready();
    assert_eq!(tags(&answer), "CTDCZ");
    assert_eq!(answer[0].body, b"COPY 2\0");
    assert_eq!(rows(&answer), [[Some("2".to_owned())]]);
}

#[test]
fn a_failed_copy_names_the_line_and_takes_everything_back() {
    let server = TestServer::start();
    let mut raw = server.raw();
    raw.query("create table t (a int primary key, b text)");
    let mut fail = |data: &[u8]| {
        raw.send(&query("copy t from stdin"));
        assert_eq!(raw.receive().unwrap().tag, b'G');
        raw.send(&message(b'd', data));
        raw.send(&message(b'c', b""));
        let answer = raw.until_ready();
        let error = answer.iter().find(|m| m.tag == b'E').expect("an error").clone();
        (error.field(b'C').unwrap(), error.field(b'W').unwrap())
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let bad_field = fail(b"1\tone\nx\ttwo\n");
    assert_eq!(bad_field, pair("22P02", "COPY t, line 2, column a: \"x\""));
    let duplicate = fail(b"1\tone\n2\ttwo\n1\tagain\n3\tx\n");
    assert_eq!(duplicate, pair("23505", "COPY t, line 3"));
    let short = fail(b"1\n");
    assert_eq!(short, pair("22P04", "COPY t, line 1: \"1\""));
    // Data that arrive after the failure are skipped.
    raw.send(&message(b'd', b"more"));
    assert_eq!(rows(&raw.query("select count(*) from t")), [[Some("0".to_owned())]]);
    raw.send(&query("copy t from stdin"));
    raw.send(&message(b'f', b"no more\0"));
    let answer = raw.until_ready();
    assert_eq!(sqlstate(&answer).as_deref(), Some("57014"));
}

#[test]
fn clients_that_read_late_get_every_answer_in_order() {
    // More bytes than sockets hold.
    const QUERIES: usize = 4000;
    let server = TestServer::start();
    // There are several sessions a worker, so that answers leave together.
    let mut clients: Vec<_> = (0..6).map(|_| server.raw()).collect();
    let mut other = server.raw();
    for client in &clients {
        client.stream.set_nodelay(true).unwrap();
    }
    for i in 0..QUERIES {
        for client in &mut clients {
            client.send(&query(&format!("select {i}, repeat('x', 2500)")));
        }
        // Meanwhile, another session gets its answers.
        assert_eq!(rows(&other.query("select 1")).len(), 1);
    }
    for client in &mut clients {
        for i in 0..QUERIES {
            let answer = rows(&client.until_ready());
            assert_eq!(answer, [[Some(i.to_string()), Some("x".repeat(2500))]]);
        }
    }
}

#[test]
fn answers_wait_for_sync_or_flush() {
    let server = TestServer::start();
    let mut raw = server.raw();
    let has_come = |raw: &mut Raw| {
        raw.stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let come = raw.stream.peek(&mut [0]).is_ok();
        raw.stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        come
    };
    let run = |text| [parse("", text), bind("", "", &[]), execute("", 0)].concat();
    raw.send(&run("select 1"));
    assert!(!has_come(&mut raw));
    raw.send(&[run("select 2"), message(b'H', b"")].concat());
    let flushed: Vec<Message> = std::iter::repeat_with(|| raw.receive().unwrap()).take(8).collect();
    assert_eq!(tags(&flushed), "12DC12DC");
    raw.send(&run("select 3"));
    assert!(!has_come(&mut raw));
    assert_eq!(raw.tags(&sync()), "12DCZ");
    // An error, a notice, or a full buffer of PostgreSQL's size is sent at once.
    raw.send(&run("select nothing"));
    assert_eq!(raw.receive().unwrap().tag, b'E');
    assert_eq!(raw.tags(&sync()), "Z");
    raw.send(&run("drop table if exists nothing"));
    let noticed: Vec<Message> = std::iter::repeat_with(|| raw.receive().unwrap()).take(3).collect();
    assert_eq!(tags(&noticed), "12N");
    assert_eq!(raw.tags(&sync()), "CZ");
    raw.send(&run("select repeat('x', 9000)"));
    assert!(has_come(&mut raw));
    assert_eq!(raw.tags(&sync()), "12DCZ");
}
