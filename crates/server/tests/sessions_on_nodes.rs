//! The coordinator's sessions on its nodes: their settings, and the databases that they reach.

mod support;

use std::time::{Duration, Instant};

use support::postgres::Postgres;
use support::two_nodes::{NODES, TwoNodes};
use support::{Raw, TestServer, rows_of as rows, run, sqlstate};

/// Notes on a node the settings that each row is inserted with.
const NOTES: &str = "CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
     NEW.z = current_setting('TimeZone') || ' ' || current_setting('DateStyle'); RETURN NEW; END $$; \
     CREATE TRIGGER noted BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION noted()";

#[test]
fn statements_run_with_the_settings_of_now() {
    run(async {
        let Some((cluster, client)) = TwoNodes::start().await else { return };
        let table = "CREATE TABLE t (k int PRIMARY KEY, z text) DISTRIBUTE BY HASH (k)";
        rows(&client, table).await;
        for name in NODES {
            cluster.on(name, NOTES);
        }
        let functions = "CREATE FUNCTION in_lima(int) RETURNS void LANGUAGE plpgsql \
             SET TimeZone = 'America/Lima' AS $$ BEGIN INSERT INTO t VALUES ($1, ''); END $$;
             CREATE FUNCTION taken_back(int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
               BEGIN SET TimeZone = 'Asia/Tokyo'; INSERT INTO t VALUES ($1, ''); RAISE 'no';
               EXCEPTION WHEN raise_exception THEN INSERT INTO t VALUES ($1, ''); END; END $$";
        rows(&client, functions).await;
        let usual = rows(&client, "SHOW TimeZone").await.remove(0);
        // Each key is inserted once with each node in the transaction, and once in a new one.
        let steps = [
            ("SELECT 1", "UTC ISO, MDY"),
            ("SET TimeZone = 'Europe/Berlin'", "Europe/Berlin ISO, MDY"),
            ("SELECT set_config('DateStyle', 'German', true)", "Europe/Berlin German, DMY"),
            ("SAVEPOINT a", "Europe/Berlin German, DMY"),
            ("SET LOCAL TimeZone = 'Asia/Tokyo'", "Asia/Tokyo German, DMY"),
            ("SAVEPOINT b; SET DateStyle = 'SQL, DMY'", "Asia/Tokyo SQL, DMY"),
            ("RELEASE b", "Asia/Tokyo SQL, DMY"),
            ("ROLLBACK TO a", "Europe/Berlin German, DMY"),
            ("RESET TimeZone", &*format!("{usual} German, DMY")),
        ];
        rows(&client, "SET TimeZone = 'UTC'").await;
        for keys in [0..1, 0..8] {
            rows(&client, "BEGIN").await;
            for (at, (sql, expected)) in steps.iter().enumerate() {
                rows(&client, sql).await;
                for key in keys.clone() {
                    let key = key * 100 + at;
                    let inserted = format!("INSERT INTO t VALUES ({key}, '') RETURNING z");
                    assert_eq!(rows(&client, &inserted).await, [*expected], "{sql}");
                }
            }
            let within = "SELECT in_lima(1000); INSERT INTO t VALUES (1001, ''); \
                          SELECT taken_back(1002); INSERT INTO t VALUES (1003, '')";
            rows(&client, within).await;
            let zones = ["America/Lima", &usual, &usual, &usual];
            for (key, zone) in (1000..).zip(zones) {
                let found = format!("SELECT z FROM t WHERE k = {key}");
                assert_eq!(rows(&client, &found).await, [format!("{zone} German, DMY")], "{key}");
            }
            rows(&client, "ROLLBACK").await;
            let after = "INSERT INTO t VALUES (1, '') RETURNING z";
            assert_eq!(rows(&client, after).await, ["UTC ISO, MDY"]);
            rows(&client, "DELETE FROM t WHERE k = 1").await;
        }
    });
}

/// The first fields of the error: SQLSTATE, message, hint.
fn error(raw: &mut Raw, sql: &str) -> [String; 3] {
    let answer = raw.query(sql);
    let error = answer.iter().find(|message| message.tag == b'E');
    let error = error.unwrap_or_else(|| panic!("{sql} succeeds"));
    [b'C', b'M', b'H'].map(|field| error.field(field).unwrap_or_default())
}

fn done(raw: &mut Raw, sql: &str) {
    let answer = raw.query(sql);
    let error = answer.iter().find(|message| message.tag == b'E');
    assert_eq!(error.and_then(|error| error.field(b'M')), None, "{sql}");
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "it does not happen that {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn another_database_at_the_same_place_is_refused() {
    let Some(node) = Postgres::start(&["max_prepared_transactions=20"]) else { return };
    for name in ["n1", "n2"] {
        node.query(&format!("CREATE DATABASE {name}"));
    }
    let mut server = TestServer::start();
    let mut raw = server.raw();
    for name in ["n1", "n2"] {
        done(&mut raw, &node.create_node_in(name, name));
    }
    done(&mut raw, "CREATE TABLE t (k int) DISTRIBUTE BY HASH (k)");
    let all = (1..9).map(|k| format!("INSERT INTO t VALUES ({k})"));
    all.for_each(|sql| done(&mut raw, &sql));

    // The two have changed their names. Connections that are open reach what they have reached.
    let swap = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'n%'; \
                ALTER DATABASE n1 RENAME TO x; ALTER DATABASE n2 RENAME TO n1; \
                ALTER DATABASE x RENAME TO n2";
    let swapped = || swap.split(';').all(|sql| node.try_query(sql).is_some());
    until("the databases are renamed", || {
        node.try_query("SELECT 1 FROM pg_database WHERE datname = 'x'").is_some() && swapped()
    });
    let refused = |raw: &mut Raw| {
        let [state, message, hint] = error(raw, "INSERT INTO t VALUES (1)");
        (state == "08006").then_some((message, hint))
    };
    // A connection that the swap has ended may be met first.
    let mut found = (String::new(), String::new());
    until("the other database is noticed", || {
        found = refused(&mut raw).unwrap_or_default();
        found.0.contains("another database")
    });
    assert!(found.0.contains("is another database than the one it was made for"), "{found:?}");
    assert_eq!(found.1, "Use ALTER NODE if the node has moved.");
    // Also for the connections of a new life, of which recovery's come first.
    server.restart();
    let mut raw = server.raw();
    let (message, _) = refused(&mut raw).expect("it is refused");
    assert!(message.contains("is another database than the one it was made for"), "{message}");
    assert_eq!(node.query_in("n1", "SELECT count(*) FROM pg_prepared_xacts"), "0");
    // ALTER NODE does not make a table's node another one.
    let [state, ..] = error(&mut raw, "ALTER NODE n1 WITH (dbname = 'n1')");
    assert_eq!(state, "42710");
    for sql in ["ALTER DATABASE n1 RENAME TO x", "ALTER DATABASE n2 RENAME TO n1"] {
        until("it is renamed", || node.try_query(sql).is_some());
    }
    until("it is renamed", || node.try_query("ALTER DATABASE x RENAME TO n2").is_some());
    until("the nodes are used again", || {
        sqlstate(&server.raw().query("INSERT INTO t VALUES (1)")).is_none()
    });
}

#[test]
fn a_database_that_orders_texts_differently_is_refused() {
    let Some(node) = Postgres::start(&[]) else { return };
    let server = TestServer::start();
    let mut raw = server.raw();
    let of_icu = "CREATE DATABASE icu TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'";
    let latin = "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'";
    let like = "CREATE DATABASE like_here TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'";
    for (name, made) in [("icu", of_icu), ("latin", latin)] {
        node.query(made);
        let [state, message, hint] = error(&mut raw, &node.create_node_in(name, name));
        assert_eq!(state, "55000", "{name}");
        assert_eq!(message, "the database does not order texts as this server does");
        assert!(hint.contains("LOCALE 'C.UTF-8'"));
    }
    node.query(like);
    done(&mut raw, &node.create_node_in("like_here", "like_here"));
    let [state, ..] = error(&mut raw, "ALTER NODE like_here WITH (dbname = 'icu')");
    assert_eq!(state, "55000");
}
