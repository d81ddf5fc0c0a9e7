//! pg_pathman's functions. The extension is not installed in the PostgreSQL at hand. So the
//! expected results are written by hand, after pg_pathman's documentation and its own regression
//! tests.

mod support;

use support::{TestServer, rows_of as rows, run};
use tokio_postgres::Client;

/// The one value of a query.
async fn value(client: &Client, sql: &str) -> String {
    let rows = rows(client, sql).await;
    assert_eq!(rows.len(), 1, "{sql}: {rows:?}");
    rows[0].clone()
}

/// SQLSTATE, message and detail of a statement that must fail.
async fn refused(client: &Client, sql: &str) -> (String, String, String) {
    let error = client.simple_query(sql).await.expect_err(sql);
    let error = error.as_db_error().expect("an answer");
    let detail = error.detail().unwrap_or_default().to_owned();
    (error.code().code().to_owned(), error.message().to_owned(), detail)
}

async fn message(client: &Client, sql: &str) -> String {
    refused(client, sql).await.1
}

/// Each partition's range with the number of its rows.
async fn ranges(client: &Client, parent: &str) -> Vec<String> {
    let sql = format!(
        "SELECT l.partition, range_min, range_max, (SELECT count(*) FROM {parent} t \
         WHERE t.tableoid = l.partition) FROM pathman.pathman_partition_list l \
         WHERE parent = '{parent}'::regclass"
    );
    rows(client, &sql).await
}

async fn installed(server: &TestServer) -> Client {
    let client = server.client().await;
    let sql =
        "CREATE SCHEMA pathman; CREATE EXTENSION pg_pathman SCHEMA pathman; CREATE SCHEMA test";
    rows(&client, sql).await;
    client
}

#[test]
fn the_extension_brings_its_functions_and_takes_them_away() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        let call = "SELECT create_range_partitions('tbl_range', 'id', 0, 100, 128)";
        assert_eq!(refused(&client, call).await.0, "42883");
        let available = "SELECT default_version, installed_version FROM pg_available_extensions \
                         WHERE name = 'pg_pathman'";
        assert_eq!(value(&client, available).await, "1.5|NULL");
        rows(&client, "CREATE EXTENSION pg_pathman").await;
        assert_eq!(value(&client, available).await, "1.5|1.5");
        assert_eq!(
            refused(&client, "CREATE EXTENSION pg_pathman").await.1,
            "extension \"pg_pathman\" already exists"
        );
        rows(&client, "CREATE EXTENSION IF NOT EXISTS pg_pathman").await;
        assert_eq!(refused(&client, "CREATE EXTENSION nosuch").await.0, "0A000");

        rows(&client, "CREATE TABLE tbl_range (id int NOT NULL, info text, crt_time timestamp)")
            .await;
        assert_eq!(value(&client, call).await, "128");
        assert_eq!(value(&client, "SELECT count(*) FROM pathman_partition_list").await, "128");
        rows(&client, "INSERT INTO tbl_range SELECT i FROM generate_series(0, 12799) i").await;
        let spread = "SELECT min(n), max(n), count(*) FROM \
                      (SELECT count(*) AS n FROM tbl_range GROUP BY tableoid) t";
        assert_eq!(value(&client, spread).await, "100|100|128");
        // A view over a function of the extension refers to it under any search path.
        rows(&client, "CREATE VIEW v AS SELECT parttype FROM show_partition_list()").await;
        rows(&client, "SET search_path = pg_catalog").await;
        assert_eq!(value(&client, "SELECT count(*) FROM public.v").await, "128");
        rows(&client, "RESET search_path; DROP VIEW v").await;

        let member = refused(&client, "DROP VIEW pathman_config").await;
        let why = "cannot drop view pathman_config because extension pg_pathman requires it";
        assert_eq!((&*member.0, &*member.1), ("2BP01", why));
        rows(&client, "DROP EXTENSION pg_pathman").await;
        assert_eq!(refused(&client, "SELECT * FROM pathman_config").await.0, "42P01");
        assert_eq!(refused(&client, "SELECT pathman_version()").await.0, "42883");
        assert_eq!(value(&client, "SELECT count(*) FROM tbl_range").await, "12800");
    });
}

#[test]
fn rows_move_to_their_partitions_and_back() {
    run(async {
        let server = TestServer::start();
        let client = installed(&server).await;
        rows(&client, "CREATE TABLE test.hash_rel (id serial PRIMARY KEY, value int)").await;
        rows(&client, "INSERT INTO test.hash_rel (value) VALUES (1), (2), (3)").await;
        let create = "SELECT pathman.create_hash_partitions('test.hash_rel', 'Value', 3)";
        assert_eq!(
            refused(&client, create).await,
            (
                "22023".into(),
                "failed to analyze partitioning expression \"Value\"".into(),
                "column \"value\" should be marked NOT NULL".into()
            )
        );
        rows(&client, "ALTER TABLE test.hash_rel ALTER COLUMN value SET NOT NULL").await;
        assert_eq!(value(&client, create).await, "3");
        assert_eq!(
            message(&client, create).await,
            "table \"test.hash_rel\" has already been partitioned"
        );
        assert_eq!(
            value(&client, "SELECT * FROM pathman.pathman_config").await,
            "test.hash_rel|value|1|NULL"
        );
        assert_eq!(value(&client, "SELECT sum(value) FROM test.hash_rel").await, "6");
        // The primary key does not cover the partition key: each partition has its own.
        let keys = "SELECT conrelid::regclass FROM pg_constraint WHERE contype = 'p' \
                    AND conrelid::regclass::text LIKE 'test.hash_rel%' ORDER BY 1";
        assert_eq!(
            rows(&client, keys).await,
            ["test.hash_rel_0", "test.hash_rel_1", "test.hash_rel_2"]
        );
        let back = "SELECT pathman.drop_partitions('test.hash_rel')";
        assert_eq!(value(&client, back).await, "3");
        assert_eq!(rows(&client, keys).await, ["test.hash_rel"]);
        rows(&client, "INSERT INTO test.hash_rel (value) VALUES (4)").await;
        assert_eq!(rows(&client, "SELECT * FROM test.hash_rel ORDER BY id").await.len(), 4);
        assert_eq!(
            refused(&client, "INSERT INTO test.hash_rel VALUES (1, 9)").await.0,
            "23505",
            "the primary key is back, with its entries"
        );
        assert_eq!(value(&client, create).await, "3");
        let drop = "SELECT pathman.drop_partitions('test.hash_rel', true)";
        assert_eq!(value(&client, drop).await, "3");
        assert_eq!(value(&client, "SELECT count(*) FROM test.hash_rel").await, "0");
        assert_eq!(message(&client, back).await, "table \"test.hash_rel\" has no partitions");
    });
}

#[test]
fn ranges_are_counted_and_checked() {
    run(async {
        let server = TestServer::start();
        let client = installed(&server).await;
        rows(&client, "CREATE TABLE test.r (id serial PRIMARY KEY, dt timestamp NOT NULL)").await;
        rows(&client, "CREATE INDEX ON test.r (dt)").await;
        let create = "SELECT pathman.create_range_partitions('test.r', 'dt', '2015-01-01'::date, \
                      '1 month'::interval";
        assert_eq!(
            message(&client, &format!("{create})")).await,
            "cannot determine partitions count for empty table"
        );
        let fill = "INSERT INTO test.r (dt) SELECT g FROM generate_series('2015-01-01', \
                    '2015-04-30', '1 day'::interval) g";
        rows(&client, fill).await;
        assert_eq!(
            message(&client, &format!("{create}, 2)")).await,
            "not enough partitions to fit all values of \"dt\""
        );
        assert_eq!(
            message(
                &client,
                &create.replace("-01-01", "-02-01").replace("interval", "interval, 9)")
            )
            .await,
            "start value is greater than min value of \"dt\""
        );
        assert_eq!(
            message(&client, &format!("{create}, -1)")).await,
            "partitions count must not be less than zero"
        );
        assert_eq!(
            refused(&client, &create.replace("1 month", "1 second").replace("d::date", "d"))
                .await
                .0,
            "42601"
        );
        assert_eq!(value(&client, &format!("{create})")).await, "4");
        let month = |n: u32, from: &str, to: &str, rows: u32| {
            format!("test.r_{n}|2015-{from}-01 00:00:00|2015-{to}-01 00:00:00|{rows}")
        };
        assert_eq!(
            ranges(&client, "test.r").await,
            [
                month(1, "01", "02", 31),
                month(2, "02", "03", 28),
                month(3, "03", "04", 31),
                month(4, "04", "05", 30)
            ]
        );
        let indexes = "SELECT count(*) FROM pg_indexes WHERE schemaname = 'test' \
                       AND indexdef LIKE '%USING btree (dt)'";
        assert_eq!(value(&client, indexes).await, "5");
        // A failure leaves the table unchanged.
        rows(&client, "CREATE TABLE test.n (id int NOT NULL); INSERT INTO test.n VALUES (1), (25)")
            .await;
        let bounds = "SELECT pathman.create_range_partitions('test.n', 'id', '{0,10,30}'::int[], \
                      '{test.small,pg_class}'::text[])";
        rows(&client, "CREATE TABLE test.pg_class (id int)").await;
        assert_eq!(refused(&client, bounds).await.0, "42P07");
        assert_eq!(value(&client, "SELECT count(*) FROM ONLY test.n").await, "2");
        assert_eq!(value(&client, &bounds.replace("pg_class", "Large")).await, "2");
        assert_eq!(ranges(&client, "test.n").await, ["test.small|0|10|1", "test.large|10|30|1"]);
        let generated = "SELECT pathman.generate_range_bounds('2020-01-31'::date, \
                         '1 month'::interval, 2)";
        assert_eq!(value(&client, generated).await, "{2020-01-31,2020-02-29,2020-03-29}");
    });
}

#[test]
fn partitions_are_managed() {
    run(async {
        let server = TestServer::start();
        let client = installed(&server).await;
        rows(&client, "SET search_path = test, pathman").await;
        rows(&client, "CREATE TABLE t (id serial PRIMARY KEY, k numeric NOT NULL)").await;
        rows(&client, "INSERT INTO t (k) SELECT i FROM generate_series(0, 39) i").await;
        let create = "SELECT create_range_partitions('t', 'k', 0::numeric, 10::numeric, 4)";
        assert_eq!(value(&client, create).await, "4");
        assert_eq!(value(&client, "SELECT split_range_partition('t_1', 5)").await, "t_5");
        assert_eq!(
            ranges(&client, "t").await,
            ["t_1|0|5|5", "t_5|5|10|5", "t_2|10|20|10", "t_3|20|30|10", "t_4|30|40|10"]
        );
        assert_eq!(
            message(&client, "SELECT split_range_partition('t_1', 5)").await,
            "specified value does not fit into the range (0, 5)"
        );
        assert_eq!(
            message(&client, "SELECT merge_range_partitions('t_1', 't_2')").await,
            "partitions \"t_1\" and \"t_2\" are not adjacent"
        );
        assert_eq!(
            value(&client, "SELECT merge_range_partitions('t_2', 't_5', 't_1')").await,
            "t_2"
        );
        assert_eq!(value(&client, "SELECT append_range_partition('t')").await, "t_6");
        assert_eq!(value(&client, "SELECT prepend_range_partition('t', 'lowest')").await, "lowest");
        assert_eq!(
            ranges(&client, "t").await,
            ["lowest|-10|0|0", "t_2|0|20|20", "t_3|20|30|10", "t_4|30|40|10", "t_6|40|50|0"]
        );
        assert_eq!(
            message(&client, "SELECT add_range_partition('t', 45, 60)").await,
            "specified range [45, 60) overlaps with existing partitions"
        );
        assert_eq!(
            message(&client, "SELECT add_range_partition('t', 70, 60)").await,
            "failed to create partition: start_value is greater than end_value"
        );
        assert_eq!(
            value(&client, "SELECT add_range_partition('t', 60, NULL, 'rest')").await,
            "rest"
        );
        assert_eq!(
            message(&client, "SELECT append_range_partition('t')").await,
            "Cannot append partition because last partition's range is half open"
        );
        assert_eq!(value(&client, "SELECT drop_range_partition('rest')").await, "rest");
        assert_eq!(refused(&client, "SELECT drop_range_partition('t_2', false)").await.0, "0A000");
        assert_eq!(value(&client, "SELECT detach_range_partition('t_3')").await, "t_3");
        assert_eq!(value(&client, "SELECT count(*) FROM t_3").await, "10");
        let attach = "SELECT attach_range_partition('t', 't_3', 20, 30)";
        assert_eq!(value(&client, attach).await, "t_3");
        rows(&client, "CREATE TABLE other (id int NOT NULL)").await;
        assert_eq!(
            message(&client, "SELECT attach_range_partition('t', 'other', 100, 200)").await,
            "partition must have a compatible tuple format"
        );
        // The rest of the statement may see a function's changes of the catalog.
        let dropped = "SELECT drop_range_partition(partition) FROM pathman_partition_list \
                       WHERE parent = 't'::regclass AND range_min::int >= 30";
        assert_eq!(rows(&client, dropped).await, ["t_4", "t_6"]);
        assert_eq!(value(&client, "SELECT count(*), sum(k) FROM t").await, "30|435");
        rows(&client, "DROP TABLE t").await;
        assert_eq!(rows(&client, "SELECT * FROM pathman_config").await, Vec::<String>::new());
    });
}

#[test]
fn functions_change_the_catalog_in_the_transaction_of_their_statement() {
    run(async {
        let server = TestServer::start();
        let client = installed(&server).await;
        rows(&client, "SET search_path = test, pathman").await;
        rows(&client, "CREATE TABLE t (k int NOT NULL)").await;
        let create = "SELECT create_range_partitions('t', 'k', 0, 10, 2)";
        rows(&client, "BEGIN").await;
        assert_eq!(value(&client, create).await, "2");
        rows(&client, "INSERT INTO t VALUES (1), (11)").await;
        assert_eq!(value(&client, "SELECT count(*) FROM t_2").await, "1");
        rows(&client, "SAVEPOINT a").await;
        assert_eq!(value(&client, "SELECT append_range_partition('t')").await, "t_3");
        rows(&client, "INSERT INTO t VALUES (21); ROLLBACK TO a").await;
        assert_eq!(value(&client, "SELECT get_number_of_partitions('t')").await, "2");
        let other = server.client().await;
        assert_eq!(
            value(&other, "SELECT relkind FROM pg_class WHERE relname = 't'").await,
            "r",
            "nobody else sees it before the commit"
        );
        rows(&client, "ROLLBACK").await;
        assert_eq!(value(&client, "SELECT relkind FROM pg_class WHERE relname = 't'").await, "r");
        assert_eq!(refused(&client, "SELECT append_range_partition('t')").await.0, "P0001");
        rows(&client, "BEGIN READ ONLY").await;
        assert_eq!(refused(&client, create).await.0, "25006");
        rows(&client, "ROLLBACK").await;
        assert_eq!(value(&client, create).await, "2");
        assert_eq!(value(&other, "SELECT count(*) FROM test.t").await, "0");
        // A function called for many rows runs its statements one after the other.
        let appended = "SELECT append_range_partition('t') FROM generate_series(1, 3)";
        assert_eq!(rows(&client, appended).await, ["t_3", "t_4", "t_5"]);
        assert_eq!(value(&other, "SELECT count(*) FROM pathman.show_partition_list()").await, "5");
    });
}

/// The join meets the first row twice. Each time, the function has run a statement before.
#[test]
fn an_update_goes_on_after_the_statements_of_its_functions() {
    run(async {
        let server = TestServer::start();
        let client = installed(&server).await;
        rows(&client, "SET search_path = test, pathman").await;
        rows(&client, "CREATE TABLE t (k int NOT NULL)").await;
        rows(&client, "SELECT create_range_partitions('t', 'k', 0, 10, 1)").await;
        rows(&client, "CREATE TABLE s (id int PRIMARY KEY, v int, made text)").await;
        rows(&client, "INSERT INTO s VALUES (1, 0), (2, 0)").await;
        let update = "UPDATE s SET v = v + 1, made = append_range_partition('t') \
                      FROM (VALUES (1), (1), (2)) j (id) WHERE s.id = j.id";
        rows(&client, update).await;
        let changed = rows(&client, "SELECT id, v, made FROM s ORDER BY id").await;
        assert_eq!(changed, ["1|1|t_2", "2|1|t_4"]);
    });
}

#[test]
fn what_is_kept_can_be_changed() {
    run(async {
        let server = TestServer::start();
        let client = installed(&server).await;
        rows(&client, "SET search_path = test, pathman").await;
        rows(&client, "CREATE TABLE t (k int NOT NULL); CREATE TABLE h (k int NOT NULL)").await;
        rows(&client, "SELECT create_range_partitions('t', 'k', 0, 10, 2)").await;
        rows(&client, "SELECT create_hash_partitions('h', 'k', 2)").await;
        let config = "SELECT partrel, range_interval, enable_parent, auto FROM pathman_config \
                      JOIN pathman_config_params USING (partrel) ORDER BY 1";
        assert_eq!(rows(&client, config).await, ["t|10|f|t", "h|NULL|f|t"]);
        assert_eq!(
            message(&client, "SELECT set_interval('t', 0)").await,
            "interval should not be trivial"
        );
        rows(&client, "SELECT set_interval('t', 5); SELECT set_auto('h', false)").await;
        rows(&client, "SELECT set_enable_parent('t', true)").await;
        assert_eq!(rows(&client, config).await, ["t|5|t|t", "h|NULL|f|f"]);
        rows(&client, "SELECT append_range_partition('t')").await;
        assert_eq!(ranges(&client, "t").await.last().map(String::as_str), Some("t_3|20|25|0"));
        assert_eq!(
            message(&client, "SELECT set_interval('h', 5)").await,
            "table \"h\" is not partitioned by RANGE"
        );
        assert_eq!(
            message(&client, "SELECT set_init_callback('t', 'now()'::regprocedure)").await,
            "callback function must have the following signature: callback(arg JSONB) RETURNS VOID"
        );
        let add = "SELECT add_to_pathman_config('t', 'k')";
        assert_eq!(refused(&client, add).await.0, "0A000");
        // All rows moved when the table was partitioned.
        assert_eq!(value(&client, "SELECT partition_table_concurrently('t')").await, "");
        assert_eq!(value(&client, "SELECT partition_data('t')").await, "0");
        assert!(rows(&client, "SELECT * FROM pathman_concurrent_part_tasks").await.is_empty());
        rows(&client, "CREATE TABLE plain (k int)").await;
        assert_eq!(
            message(&client, "SELECT partition_table_concurrently('plain', 10)").await,
            "relation \"plain\" has no partitions"
        );
        assert_eq!(
            message(&client, "SELECT stop_concurrent_part_task('t')").await,
            "cannot find worker for relation \"t\""
        );
        rows(&client, "CREATE TABLE h2 (k int NOT NULL)").await;
        assert_eq!(value(&client, "SELECT replace_hash_partition('h_0', 'h2')").await, "h2");
        rows(&client, "SELECT disable_pathman_for('t')").await;
        assert_eq!(rows(&client, config).await, ["h|NULL|f|f"]);
        assert_eq!(
            message(&client, "SELECT append_range_partition('t')").await,
            "table \"t\" is not partitioned"
        );
    });
}

#[test]
fn rows_beyond_the_ends_make_partitions() {
    run(async {
        let server = TestServer::start();
        let client = installed(&server).await;
        rows(&client, "SET search_path = test, pathman").await;
        rows(&client, "CREATE TABLE t (id serial PRIMARY KEY, d date NOT NULL)").await;
        let create = "SELECT create_range_partitions('t', 'd', date '2016-10-01', \
                      interval '1 month', 3)";
        rows(&client, create).await;
        let insert = "INSERT INTO t (d) VALUES ('2016-12-01'), ('2017-03-11'), ('2016-08-12')";
        rows(&client, insert).await;
        assert_eq!(
            ranges(&client, "t").await,
            [
                "t_8|2016-08-01|2016-09-01|1",
                "t_7|2016-09-01|2016-10-01|0",
                "t_1|2016-10-01|2016-11-01|0",
                "t_2|2016-11-01|2016-12-01|0",
                "t_3|2016-12-01|2017-01-01|1",
                "t_4|2017-01-01|2017-02-01|0",
                "t_5|2017-02-01|2017-03-01|0",
                "t_6|2017-03-01|2017-04-01|1"
            ]
        );
        let keys = "SELECT count(*) FROM pg_constraint WHERE contype = 'p' AND conrelid IN \
                    (SELECT partition FROM pathman_partition_list)";
        assert_eq!(value(&client, keys).await, "8");
        // The partition stays when the row is rolled back.
        rows(&client, "BEGIN; INSERT INTO t (d) VALUES ('2017-04-02'); ROLLBACK").await;
        assert_eq!(value(&client, "SELECT get_number_of_partitions('t')").await, "9");
        // UPDATE makes partitions, too. Many rows of one statement share one.
        rows(&client, "UPDATE t SET d = '2017-05-05' WHERE d = '2016-12-01'").await;
        let many =
            "INSERT INTO t (d) SELECT date '2017-06-01' + i % 30 FROM generate_series(1, 99) i";
        rows(&client, many).await;
        assert_eq!(value(&client, "SELECT get_number_of_partitions('t')").await, "11");
        assert_eq!(value(&client, "SELECT count(*) FROM t").await, "102");

        rows(&client, "SELECT set_interval('t', NULL::interval)").await;
        let beyond = "INSERT INTO t (d) VALUES ('2030-01-01')";
        assert_eq!(
            refused(&client, beyond).await,
            (
                "0A000".into(),
                "cannot spawn new partition for key '2030-01-01'".into(),
                "default range interval is NULL".into()
            )
        );
        rows(&client, "SELECT set_auto('t', false)").await;
        assert_eq!(refused(&client, beyond).await.0, "23514");
        rows(&client, "SELECT set_auto('t', true), set_interval('t', interval '1 year')").await;
        rows(&client, "SELECT drop_range_partition('t_2')").await;
        let gap = refused(&client, "INSERT INTO t (d) VALUES ('2016-11-11')").await;
        assert_eq!((&*gap.0, &*gap.1), ("22023", "cannot spawn a partition"));
    });
}

/// Only this transaction sees the table, so no other session could add a partition to it.
#[test]
fn a_new_table_grows_in_its_own_transaction() {
    run(async {
        let server = TestServer::start();
        let client = installed(&server).await;
        rows(&client, "SET search_path = test, pathman").await;
        rows(&client, "BEGIN; CREATE TABLE t (k int NOT NULL)").await;
        rows(&client, "SELECT create_range_partitions('t', 'k', 0, 10, 1)").await;
        rows(&client, "INSERT INTO t VALUES (5), (25); SAVEPOINT a").await;
        rows(&client, "INSERT INTO t VALUES (35)").await;
        assert_eq!(value(&client, "SELECT get_number_of_partitions('t')").await, "4");
        rows(&client, "ROLLBACK TO a").await;
        assert_eq!(value(&client, "SELECT get_number_of_partitions('t')").await, "3");
        rows(&client, "INSERT INTO t VALUES (31); COMMIT").await;
        assert_eq!(
            ranges(&client, "t").await,
            ["t_1|0|10|1", "t_2|10|20|0", "t_3|20|30|1", "t_5|30|40|1"]
        );
        // A lock that conflicts with other sessions also stops them from adding partitions.
        rows(&client, "BEGIN; LOCK TABLE t IN SHARE MODE; INSERT INTO t VALUES (45); COMMIT").await;
        assert_eq!(value(&client, "SELECT count(*) FROM t").await, "4");
    });
}

/// Sessions insert beyond the end at once, and others read. Every row is in one place and visible
/// from its commit on, and each partition is made once.
#[test]
fn many_sessions_grow_a_table_together() {
    const SESSIONS: i64 = 8;
    const ROWS: i64 = 60;
    run(async {
        let server = TestServer::start();
        let client = installed(&server).await;
        rows(&client, "CREATE TABLE t (k int NOT NULL, s int NOT NULL)").await;
        rows(&client, "CREATE TABLE ledger (n int NOT NULL); INSERT INTO ledger VALUES (0)").await;
        rows(&client, "SELECT pathman.create_range_partitions('t', 'k', 0, 10, 1)").await;
        let mut writers = Vec::new();
        for session in 0..SESSIONS {
            let client = server.client().await;
            writers.push(tokio::spawn(async move {
                for i in 0..ROWS {
                    let k = i * 5 + session % 5;
                    let both = format!(
                        "BEGIN; INSERT INTO t VALUES ({k}, {session}); \
                         UPDATE ledger SET n = n + 1; COMMIT"
                    );
                    rows(&client, &both).await;
                }
            }));
        }
        let reader = server.client().await;
        let reads = tokio::spawn(async move {
            loop {
                let line = value(&reader, "SELECT (SELECT count(*) FROM t), n FROM ledger").await;
                let (seen, written) = line.split_once('|').expect("two columns");
                assert_eq!(seen, written, "a snapshot sees all rows of a transaction or none");
                if seen == (SESSIONS * ROWS).to_string() {
                    return;
                }
            }
        });
        for writer in writers {
            writer.await.expect("no panic");
        }
        reads.await.expect("no panic");
        let leaves = "SELECT count(*), min(range_min::int), max(range_max::int) \
                      FROM pathman.pathman_partition_list";
        assert_eq!(value(&client, leaves).await, "30|0|300");
        let misplaced = "SELECT count(*) FROM t JOIN pathman.pathman_partition_list l \
                         ON l.partition = t.tableoid \
                         WHERE NOT (k >= range_min::int AND k < range_max::int)";
        assert_eq!(value(&client, misplaced).await, "0");
    });
}

/// They are computed again when rows are moved.
#[test]
fn generated_columns() {
    run(async {
        let server = TestServer::start();
        let client = installed(&server).await;
        rows(
            &client,
            "SET search_path = test, pathman; \
             CREATE TABLE t (k int NOT NULL, double int GENERATED ALWAYS AS (k * 2) STORED, n text); \
             INSERT INTO t (k, n) SELECT k, 'n' || k FROM generate_series(0, 24) k",
        )
        .await;
        let create = "SELECT create_range_partitions('t', 'k', 0, 10, 3, false)";
        assert_eq!(value(&client, create).await, "3");
        assert_eq!(ranges(&client, "t").await, ["t_1|0|10|10", "t_2|10|20|10", "t_3|20|30|5"]);
        let sums = "SELECT count(*), sum(k), sum(double), min(n) FROM t";
        assert_eq!(rows(&client, sums).await, ["25|300|600|n0"]);
        rows(&client, "SELECT split_range_partition('t_1', 5)").await;
        rows(&client, "SELECT merge_range_partitions('t_2', 't_3')").await;
        rows(&client, "INSERT INTO t (k) VALUES (31)").await;
        assert_eq!(rows(&client, sums).await, ["26|331|662|n0"]);
        assert_eq!(value(&client, "SELECT drop_partitions('t')").await, "4");
        assert_eq!(rows(&client, sums).await, ["26|331|662|n0"]);
        assert_eq!(value(&client, "SELECT double FROM t WHERE k = 31").await, "62");
    });
}
