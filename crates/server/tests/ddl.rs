//! Indexes of every kind against the table itself under random changes. Index builds that do not
//! fit in memory, or that several sessions run on one table. Temporary objects of several sessions.

mod support;

use support::{Random, TestServer, rows_of as rows, run};
use tokio_postgres::Client;

/// Queries that each can use one of the indexes.
const QUERIES: &[&str] = &[
    "SELECT id FROM m WHERE id = 7 ORDER BY id",
    "SELECT id FROM m WHERE lower(name) = 'n3' ORDER BY id",
    "SELECT id, name FROM m WHERE lower(name) > 'n5' ORDER BY id",
    "SELECT id FROM m WHERE state = 'open' AND n > 3 ORDER BY id",
    "SELECT n FROM m WHERE state = 'open' ORDER BY n, id",
    "SELECT id FROM m WHERE n + id IN (20, 25, 30) ORDER BY id",
    "SELECT id FROM m WHERE n + id BETWEEN 10 AND 40 ORDER BY n + id, id",
    "SELECT id FROM m WHERE n IS NULL ORDER BY id",
    "SELECT id, slot FROM m WHERE slot = 4 AND slot IS NOT NULL ORDER BY id",
    "SELECT count(*), sum(n) FROM m",
];

async fn compare(client: &Client, seed: u64, step: usize) {
    for query in QUERIES {
        rows(client, "SET enable_indexscan = off; SET enable_indexonlyscan = off").await;
        let by_table = rows(client, query).await;
        rows(client, "RESET enable_indexscan; RESET enable_indexonlyscan").await;
        rows(client, "SET enable_seqscan = off").await;
        let by_index = rows(client, query).await;
        rows(client, "RESET enable_seqscan").await;
        assert_eq!(by_index, by_table, "seed {seed}, step {step}: {query}");
    }
}

/// A random change. A unique index may refuse it.
fn change(random: &mut Random) -> String {
    let id = random.below(60);
    let name = format!("{}{}", ["n", "N"][random.below(2) as usize], random.below(9));
    let state = ["'open'", "'done'", "NULL"][random.below(3) as usize];
    let n = match random.below(6) {
        0 => "NULL".to_owned(),
        _ => random.below(30).to_string(),
    };
    let slot = match random.below(3) {
        0 => random.below(40).to_string(),
        _ => "NULL".to_owned(),
    };
    match random.below(8) {
        0..=2 => format!("INSERT INTO m VALUES ({id}, '{name}', {state}, {n}, {slot})"),
        3 => format!("UPDATE m SET state = {state}, n = {n} WHERE id = {id}"),
        4 => format!("UPDATE m SET name = '{name}', slot = {slot} WHERE id % 7 = {}", id % 7),
        5 => format!("DELETE FROM m WHERE id = {id}"),
        6 => format!(
            "INSERT INTO m VALUES ({id}, '{name}', {state}, {n}, {slot}) \
             ON CONFLICT (id) DO UPDATE SET n = excluded.n, state = excluded.state"
        ),
        _ => format!(
            "INSERT INTO m VALUES ({id}, '{name}', {state}, {n}, {slot}) \
             ON CONFLICT (slot) WHERE slot IS NOT NULL DO UPDATE SET name = 'taken'"
        ),
    }
}

#[test]
fn every_index_has_the_rows_of_its_table() {
    run(async {
        let server = TestServer::start();
        let (writer, reader) = (server.client().await, server.client().await);
        for seed in 1..=6 {
            let mut random = Random(seed);
            rows(
                &writer,
                "DROP TABLE IF EXISTS m;
                 CREATE TABLE m (id int PRIMARY KEY, name text, state text, n int, slot int);
                 CREATE INDEX m_name ON m (lower(name));
                 CREATE INDEX m_open ON m (n) WHERE state = 'open';
                 CREATE INDEX m_sum ON m ((n + id));
                 CREATE INDEX m_n ON m (n DESC NULLS LAST);
                 CREATE UNIQUE INDEX m_slot ON m (slot) WHERE slot IS NOT NULL",
            )
            .await;
            rows(&reader, "BEGIN ISOLATION LEVEL REPEATABLE READ").await;
            for step in 0..160 {
                let in_block = random.below(4) == 0;
                if in_block {
                    rows(&writer, "BEGIN").await;
                }
                // A refused change must leave the table unchanged: this is part of the test.
                let _ = writer.simple_query(&change(&mut random)).await;
                if in_block {
                    let end = ["COMMIT", "ROLLBACK"][random.below(2) as usize];
                    rows(&writer, end).await;
                }
                if step % 20 == 0 {
                    compare(&writer, seed, step).await;
                    // An old snapshot sees the rows under their old keys.
                    compare(&reader, seed, step).await;
                }
                if step % 50 == 49 {
                    rows(&reader, "COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ").await;
                }
            }
            rows(&reader, "COMMIT").await;
            let before = rows(&writer, "SELECT * FROM m ORDER BY id").await;
            rows(&writer, "REINDEX TABLE m").await;
            compare(&writer, seed, 999).await;
            assert_eq!(rows(&writer, "SELECT * FROM m ORDER BY id").await, before);
        }
    });
}

#[test]
fn builds_that_do_not_fit_in_memory_spill() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        rows(
            &client,
            "CREATE TABLE big AS SELECT i AS a, 'text number ' || i AS b
               FROM generate_series(1, 60000) AS i",
        )
        .await;
        rows(&client, "SET maintenance_work_mem = '1MB'").await;
        let before = server.spill_files();
        rows(&client, "CREATE UNIQUE INDEX big_b ON big (upper(b))").await;
        let built = server.spill_files();
        assert!(built > before, "the keys take more than a megabyte");
        rows(&client, "SET enable_seqscan = off").await;
        let found = rows(&client, "SELECT a FROM big WHERE upper(b) = 'TEXT NUMBER 777'").await;
        assert_eq!(found, ["777"]);
        rows(&client, "ALTER TABLE big ALTER a TYPE bigint").await;
        assert!(server.spill_files() > built, "the index is built again");
        let counted = rows(&client, "SELECT count(*) FROM big WHERE upper(b) > 'TEXT'").await;
        assert_eq!(counted, ["60000"]);
        rows(&client, "SET maintenance_work_mem = '64MB'").await;
        let before = server.spill_files();
        rows(&client, "REINDEX INDEX big_b").await;
        assert_eq!(server.spill_files(), before, "now they fit");
    });
}

/// A table's catalog entry lists its indexes. Each session's index must be in it.
#[test]
fn indexes_that_are_made_at_the_same_time_are_all_kept() {
    run(async {
        let server = TestServer::start();
        let (one, two) = (server.client().await, server.client().await);
        rows(
            &one,
            "CREATE TABLE p (a int, b int) PARTITION BY RANGE (a);
             CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
        )
        .await;
        // Indexes of the parent and of the leaf: the leaf gets both.
        for (n, tables) in [["p", "p"], ["p", "p1"], ["p1", "p1"]].into_iter().enumerate() {
            rows(&one, &format!("BEGIN; CREATE INDEX one_{n} ON {} (b)", tables[0])).await;
            let second = format!("CREATE INDEX two_{n} ON {} (b)", tables[1]);
            tokio::join!(rows(&two, &second), async {
                let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
                while rows(&one, waits).await != ["1"] {}
                rows(&one, "COMMIT").await
            });
        }
        let count = "SELECT count(*) FROM pg_index WHERE indrelid = 'p1'::regclass";
        assert_eq!(rows(&one, count).await, ["6"]);
        rows(&one, "DROP TABLE p").await;
        let left = "SELECT relname FROM pg_class WHERE relname ~ '^(one|two|p|p1)_'";
        assert_eq!(rows(&one, left).await, Vec::<String>::new(), "left behind");
    });
}

#[test]
fn temporary_objects_are_their_sessions_own() {
    run(async {
        let server = TestServer::start();
        let watcher = server.client().await;
        rows(&watcher, "CREATE TABLE t (a int); INSERT INTO t VALUES (0)").await;
        {
            let (one, two) = (server.client().await, server.client().await);
            for (client, value) in [(&one, 1), (&two, 2)] {
                rows(client, &format!("CREATE TEMP TABLE t AS SELECT {value} AS a")).await;
            }
            assert_eq!(rows(&one, "SELECT a FROM t").await, ["1"]);
            assert_eq!(rows(&two, "SELECT a FROM t").await, ["2"]);
            assert_eq!(rows(&watcher, "SELECT a FROM t").await, ["0"]);
            let schema =
                "SELECT nspname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
                            WHERE relpersistence = 't' ORDER BY c.oid LIMIT 1";
            let schema = rows(&watcher, schema).await.remove(0);
            let refused = watcher.simple_query(&format!("SELECT * FROM {schema}.t")).await;
            let error = refused.err().and_then(|e| e.code().cloned());
            assert_eq!(error, Some(tokio_postgres::error::SqlState::FEATURE_NOT_SUPPORTED));
        }
        let left = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pg\\_temp\\_%'";
        for _ in 0..100 {
            if rows(&watcher, left).await == ["0"] {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("temporary schemas outlive their sessions");
    });
}

/// An index's constraint belongs to its table. So a rename must keep concurrent changes of the
/// table.
#[test]
fn a_renamed_index_loses_no_change_of_its_table() {
    run(async {
        let server = TestServer::start();
        let (one, two) = (server.client().await, server.client().await);
        rows(&one, "CREATE TABLE t (a int PRIMARY KEY)").await;
        rows(&one, "BEGIN; ALTER TABLE t ADD COLUMN c int").await;
        let rename = rows(&two, "ALTER INDEX t_pkey RENAME TO t_one");
        let change = async {
            let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
            while rows(&one, waits).await != ["1"] {
                tokio::task::yield_now().await;
            }
            rows(&one, "COMMIT").await
        };
        tokio::join!(rename, change);
        let columns =
            "SELECT attname FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0";
        assert_eq!(rows(&one, columns).await, ["a", "c"]);
        let key =
            "SELECT conname FROM pg_constraint WHERE conrelid = 't'::regclass AND contype = 'p'";
        assert_eq!(rows(&one, key).await, ["t_one"]);
    });
}
