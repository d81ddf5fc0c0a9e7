//! Distributed tables as objects: what DISTRIBUTE BY stores, and what is refused, since the table
//! has no rows on the coordinator.

mod support;

use support::two_nodes::{NODES, TwoNodes};
use support::{TestServer, rows_of as rows, run, sqlstate};
use tokio_postgres::Client;

/// SQLSTATE, message and detail of a statement that must fail.
async fn failure(client: &Client, sql: &str) -> String {
    let error = client.simple_query(sql).await.expect_err(sql);
    let error = error.as_db_error().expect("an answer");
    let detail = error.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
    format!("{} {}{detail}", error.code().code(), error.message())
}

/// Two nodes, a group of the first one, and a coordinator.
async fn with_nodes() -> Option<(TwoNodes, Client)> {
    let (cluster, client) = TwoNodes::start().await?;
    let node = "CREATE NODE co WITH (TYPE = 'coordinator', HOST = '127.0.0.1', PORT = 1)";
    rows(&client, node).await;
    rows(&client, "CREATE NODE GROUP g WITH (n1)").await;
    Some((cluster, client))
}

const CLASSES: &str = "SELECT pcrelid::regclass, pclocatortype, pcattnum, pchashalgorithm, \
    pchashbuckets, array_agg(node_name ORDER BY i) FROM pgxc_class, \
    LATERAL unnest(nodeoids::oid[]) WITH ORDINALITY m (o, i) JOIN pgxc_node n ON n.oid = o \
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1";

#[test]
fn distributions_are_stored_and_listed() {
    run(async {
        let Some((mut cluster, client)) = with_nodes().await else { return };
        for table in [
            "h (a int, b text) DISTRIBUTE BY HASH (b)",
            "m (a int, b text) DISTRIBUTE BY MODULO (a) TO NODE (n1, n2, n1)",
            "n (a int) DISTRIBUTE BY ROUNDROBIN",
            "r (a int PRIMARY KEY) DISTRIBUTE BY REPLICATION TO GROUP g",
            "t1 (a json, b int) TO NODE (n2)",
            "t2 (a int, b int, UNIQUE (b, a)) TO NODE (n2)",
            "t3 (a json) TO NODE (n2)",
            "l (a int)",
        ] {
            rows(&client, &format!("CREATE TABLE {table}")).await;
        }
        let expected = [
            "h|H|2|1|480|{n1,n2}",
            "m|M|1|0|0|{n1,n2}",
            "n|N|0|0|0|{n1,n2}",
            "r|R|0|0|0|{n1}",
            "t1|H|2|1|480|{n2}",
            "t2|H|2|1|480|{n2}",
            "t3|N|0|0|0|{n2}",
        ];
        assert_eq!(rows(&client, CLASSES).await, expected);
        let files = "SELECT pg_relation_size('r'), pg_table_size('r'), pg_relation_size('r_pkey'), \
            pg_total_relation_size('r')";
        assert_eq!(rows(&client, files).await, ["NULL|NULL|NULL|NULL"]);
        drop(client);
        cluster.server.restart();
        let client = cluster.server.client().await;
        assert_eq!(rows(&client, CLASSES).await, expected);
        assert_eq!(
            failure(&client, "DROP NODE n1").await,
            "2BP01 cannot drop node n1 because other objects depend on it (node group g depends \
             on node n1\ntable h depends on node n1\ntable m depends on node n1\ntable n \
             depends on node n1\ntable r depends on node n1)"
        );
        rows(&client, "DROP NODE GROUP g; DROP TABLE h, m, n, r; DROP NODE n1").await;
        assert_eq!(rows(&client, CLASSES).await, expected[4..]);
    });
}

#[test]
fn tables_that_cannot_be_are_refused() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        assert_eq!(
            failure(&client, "CREATE TABLE t (a int) DISTRIBUTE BY HASH (a)").await,
            "42704 No Datanode defined in cluster"
        );
        let Some((_cluster, client)) = with_nodes().await else { return };
        rows(&client, "CREATE TABLE local (a int PRIMARY KEY); CREATE TYPE row AS (a int)").await;
        rows(&client, "CREATE TABLE d (a int PRIMARY KEY) DISTRIBUTE BY HASH (a)").await;
        for (table, expected) in [
            (
                "(a int) DISTRIBUTE BY HASH (b)",
                "42703 column \"b\" named in DISTRIBUTE BY does not exist",
            ),
            ("(a int) DISTRIBUTE BY HASH (ctid)", "42P16 Invalid distribution column specified"),
            (
                "(a json) DISTRIBUTE BY HASH (a)",
                "42809 Column a is not a hash distributable data type",
            ),
            (
                "(a numeric) DISTRIBUTE BY MODULO (a)",
                "42809 Column a is not a modulo distributable data type",
            ),
            ("(a int) DISTRIBUTE BY RANGE (a)", "0A000 not supported yet: DISTRIBUTE BY RANGE"),
            ("(a int) TO NODE (n3)", "42704 PGXC Node n3: object not defined"),
            ("(a int) TO NODE (co)", "42601 PGXC node co: not a Datanode"),
            ("(a int) TO GROUP x", "42704 PGXC Group x: group not defined"),
            (
                "(a int, b int PRIMARY KEY) DISTRIBUTE BY HASH (a)",
                "42P16 Unique index of partitioned table must contain the hash distribution \
                 column.",
            ),
            (
                "(a int UNIQUE) DISTRIBUTE BY ROUNDROBIN",
                "42P16 Unique index of partitioned table must contain the hash distribution \
                 column.",
            ),
            (
                "(a int, b int UNIQUE, LIKE local INCLUDING INDEXES) DISTRIBUTE BY HASH (b)",
                "42701 column \"a\" specified more than once",
            ),
            (
                "(b int, LIKE local INCLUDING INDEXES) DISTRIBUTE BY HASH (b)",
                "42P16 Unique index of partitioned table must contain the hash distribution \
                 column.",
            ),
            (
                "(a int REFERENCES local) DISTRIBUTE BY HASH (a)",
                "0A000 FOREIGN KEY of distributed table \"t\" is not supported",
            ),
            (
                "(a int REFERENCES d)",
                "0A000 REFERENCES of distributed table \"d\" is not supported",
            ),
            (
                "(a int) PARTITION BY LIST (a) DISTRIBUTE BY HASH (a)",
                "0A000 not supported yet: DISTRIBUTE BY of a partitioned table",
            ),
            (
                "() INHERITS (local) DISTRIBUTE BY HASH (a)",
                "0A000 not supported yet: DISTRIBUTE BY with INHERITS",
            ),
            ("() INHERITS (d)", "0A000 INHERITS of distributed table \"d\" is not supported"),
            (
                "(a int, b int GENERATED ALWAYS AS (a) STORED) DISTRIBUTE BY HASH (a)",
                "0A000 not supported yet: DISTRIBUTE BY with generated columns",
            ),
            (
                "DISTRIBUTE BY HASH (a) AS SELECT 1 a",
                "0A000 not supported yet: CREATE TABLE AS with DISTRIBUTE BY",
            ),
            ("OF row DISTRIBUTE BY HASH (a)", "0A000 not supported yet: CREATE TABLE OF"),
        ] {
            assert_eq!(failure(&client, &format!("CREATE TABLE t {table}")).await, expected);
        }
        for (kind, what) in [("TEMP", "a temporary"), ("UNLOGGED", "an unlogged")] {
            let sql = format!("CREATE {kind} TABLE t (a int) DISTRIBUTE BY HASH (a)");
            let expected = format!("0A000 not supported yet: DISTRIBUTE BY of {what} table");
            assert_eq!(failure(&client, &sql).await, expected);
        }
        let temporary = "SET search_path = pg_temp; CREATE TABLE t (a int) DISTRIBUTE BY HASH (a)";
        assert_eq!(
            failure(&client, temporary).await,
            "0A000 not supported yet: DISTRIBUTE BY of a temporary table"
        );
    });
}

/// Statements that would read or write a table's file, or believe its size.
const READERS: &[&str] = &[
    "SELECT * FROM d",
    "SELECT a FROM d WHERE a = 1",
    "SELECT count(*) FROM d",
    "SELECT 1 WHERE EXISTS (SELECT FROM d)",
    "SELECT (SELECT max(b) FROM d)",
    "SELECT * FROM local NATURAL JOIN d",
    "SELECT * FROM d ORDER BY a LIMIT 1",
    "SELECT * FROM d TABLESAMPLE SYSTEM (10)",
    "SELECT * FROM d FOR UPDATE",
    "SELECT * FROM ONLY d",
    "SELECT * FROM v",
    "TABLE d",
    "WITH x AS (SELECT * FROM d) SELECT * FROM x",
    "INSERT INTO d VALUES (1, 1)",
    "INSERT INTO d SELECT * FROM local",
    "INSERT INTO local SELECT * FROM d",
    "INSERT INTO d VALUES (1, 1) ON CONFLICT (a) DO UPDATE SET b = 2 RETURNING *",
    "UPDATE d SET b = 2 WHERE a = 1",
    "UPDATE d SET b = 2",
    "UPDATE local SET a = 2 FROM d",
    "DELETE FROM d WHERE a = 1",
    "DELETE FROM d",
    "DELETE FROM v",
    "COPY d TO STDOUT",
    "COPY (SELECT * FROM d) TO STDOUT",
    "EXPLAIN ANALYZE SELECT * FROM d",
    "CREATE TABLE x AS SELECT * FROM d",
    "SELECT * INTO x FROM d",
    "SELECT f()",
    "SELECT p()",
    "DO $$ BEGIN PERFORM * FROM d; END $$",
    "SELECT a FROM d UNION ALL SELECT a FROM local",
    "BEGIN; DECLARE c CURSOR FOR SELECT * FROM d; FETCH c",
    "BEGIN; DECLARE c CURSOR FOR SELECT * FROM d FOR UPDATE; FETCH c",
    "BEGIN; DECLARE c CURSOR FOR SELECT * FROM local FOR UPDATE; FETCH c; \
     DELETE FROM d WHERE CURRENT OF c",
    "PREPARE x AS SELECT * FROM d WHERE a = $1; EXECUTE x (1)",
];

/// Statements about the table.
const COMMANDS: &[&str] = &[
    "VACUUM d",
    "VACUUM FULL d",
    "CLUSTER d USING d_pkey",
    "BEGIN; LOCK TABLE d",
    "BEGIN; LOCK TABLE v",
    "DO $$ BEGIN LOCK TABLE d; END $$",
    "CREATE INDEX CONCURRENTLY ON d (b)",
    "CREATE UNIQUE INDEX ON d (b)",
    "DROP INDEX CONCURRENTLY i",
    "CREATE STATISTICS s ON a, b FROM d",
    "CREATE TRIGGER t BEFORE INSERT ON d FOR EACH ROW EXECUTE FUNCTION tf()",
    "CREATE RULE r AS ON INSERT TO d DO NOTHING",
    "ALTER TABLE d ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY x ON d",
    "CREATE PUBLICATION x FOR TABLE d",
    "ALTER TABLE d ADD FOREIGN KEY (a) REFERENCES local",
    "ALTER TABLE local ADD FOREIGN KEY (a) REFERENCES d",
    "ALTER TABLE d INHERIT local",
    "ALTER TABLE local INHERIT d",
    "ALTER TABLE parts ATTACH PARTITION d FOR VALUES IN (1)",
    "ALTER TABLE d SET UNLOGGED",
    "ALTER TABLE d ALTER b SET STATISTICS 7",
    "ALTER TABLE d CLUSTER ON d_pkey",
    "ALTER TABLE d DISABLE TRIGGER ALL",
    "ALTER TABLE d DISTRIBUTE BY ROUNDROBIN",
    "ALTER TABLE d ALTER a TYPE bigint",
    "ALTER TABLE d ALTER b TYPE bigint USING b + 1",
    "ALTER TABLE d ADD c serial",
    "ALTER TABLE d ADD UNIQUE (b)",
    "ALTER TABLE d ADD c int GENERATED ALWAYS AS (a) STORED",
    "ALTER TABLE d ADD c float DEFAULT random()",
    "ALTER DOMAIN positive ADD CHECK (VALUE < 10)",
    "ALTER INDEX d_pkey SET (fillfactor = 10)",
    "SELECT create_range_partitions('d', 'a', 1, 10, 2)",
];

async fn with_tables(client: &Client) {
    rows(
        client,
        "CREATE DOMAIN positive AS int CHECK (VALUE > 0);
         CREATE TABLE d (a int PRIMARY KEY, b positive) DISTRIBUTE BY HASH (a);
         CREATE INDEX i ON d (b);
         CREATE TABLE local (a int PRIMARY KEY, b positive);
         INSERT INTO local VALUES (1, 1);
         CREATE TABLE parts (a int NOT NULL, b positive) PARTITION BY LIST (a);
         CREATE VIEW v AS SELECT * FROM d;
         CREATE EXTENSION pg_pathman;
         CREATE FUNCTION f() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM d';
         CREATE FUNCTION p() RETURNS int LANGUAGE plpgsql AS
           $$ BEGIN RETURN (SELECT b FROM d WHERE a = 1); END $$;
         CREATE FUNCTION tf() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN RETURN NEW; END $$",
    )
    .await;
}

#[test]
fn nothing_reads_or_writes_rows_here() {
    run(async {
        let Some((cluster, client)) = with_nodes().await else { return };
        for node in NODES {
            cluster.on(node, "CREATE DOMAIN positive AS int CHECK (VALUE > 0)");
        }
        with_tables(&client).await;
        // A session that has planned over the table has not done so over its file.
        let mut raw = cluster.server.raw();
        let mut answered = Vec::new();
        let statements = READERS.iter().map(|sql| (sql, true));
        for (sql, may_succeed) in statements.chain(COMMANDS.iter().map(|sql| (sql, false))) {
            if may_succeed {
                raw.query("BEGIN");
            }
            match sqlstate(&raw.query(sql)).as_deref() {
                Some("0A000") => {}
                None if may_succeed => {}
                other => answered.push(format!("{sql}: {other:?}")),
            }
            raw.query("ROLLBACK");
        }
        assert!(answered.is_empty(), "{}", answered.join("\n"));
        assert_eq!(rows(&client, "SELECT count(*) FROM local").await, ["1"]);
        // All tables, the distributed ones left out.
        rows(&client, "VACUUM").await;
        rows(&client, "ANALYZE").await;
        let size = "SELECT reltuples, relpages FROM pg_class WHERE relname = 'd'";
        assert_eq!(rows(&client, size).await, ["-1|0"]);
    });
}

#[test]
fn an_empty_table_gets_other_nodes() {
    run(async {
        let Some((cluster, client)) = with_nodes().await else { return };
        let on = |node: &str| cluster.on(node, "SELECT to_regclass('t'), to_regclass('i')");
        rows(
            &client,
            "CREATE TABLE t (a int PRIMARY KEY, b text) DISTRIBUTE BY HASH (a) TO NODE (n1)",
        )
        .await;
        rows(&client, "CREATE INDEX i ON t (b)").await;
        assert_eq!((on("n1"), on("n2")), ("t|i".into(), "|".into()));
        rows(&client, "ALTER TABLE t ADD NODE (n2)").await;
        assert_eq!((on("n1"), on("n2")), ("t|i".into(), "t|i".into()));
        assert_eq!(rows(&client, CLASSES).await, ["t|H|1|1|480|{n1,n2}"]);
        for key in 0..40 {
            rows(&client, &format!("INSERT INTO t VALUES ({key})")).await;
        }
        assert_ne!(cluster.on("n1", "SELECT count(*) FROM t"), "40");
        let delete = "ALTER TABLE t DELETE NODE (n1)";
        let refusal = "0A000 not supported yet: redistribution of table \"t\", which has rows";
        assert!(failure(&client, delete).await.starts_with(refusal));
        rows(&client, "TRUNCATE t").await;
        for (action, refusal) in [
            ("ADD NODE (n1)", "42710 table \"t\" is on one of these nodes already"),
            ("DELETE NODE (n1, n2)", "42P16 table \"t\" would be on no node"),
            ("DISTRIBUTE BY HASH (b)", "0A000 Cannot create index"),
            ("DISTRIBUTE BY MODULO (b)", "42809 Column b is not a modulo"),
        ] {
            let refused = failure(&client, &format!("ALTER TABLE t {action}")).await;
            assert!(refused.starts_with(refusal), "{action}: {refused}");
        }
        rows(&client, delete).await;
        assert_eq!((on("n1"), on("n2")), ("|".into(), "t|i".into()));
        let missing = failure(&client, delete).await;
        assert!(missing.starts_with("42704 table \"t\" is not on all of these nodes"), "{missing}");
        rows(&client, "BEGIN; ALTER TABLE t ADD NODE (n1), DISTRIBUTE BY REPLICATION; ROLLBACK")
            .await;
        assert_eq!((on("n1"), on("n2")), ("|".into(), "t|i".into()));
        rows(&client, "ALTER TABLE t ADD NODE (n1), DISTRIBUTE BY REPLICATION").await;
        rows(&client, "INSERT INTO t VALUES (1)").await;
        for node in ["n1", "n2"] {
            assert_eq!(cluster.on(node, "SELECT count(*) FROM t"), "1");
        }
        rows(&client, "CREATE TABLE l (a int)").await;
        let local = failure(&client, "ALTER TABLE l TO NODE (n1)").await;
        assert!(local.starts_with("0A000 not supported yet: ALTER TABLE … TO NODE of a local"));
    });
}
