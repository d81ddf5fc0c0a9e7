//! Citus' functions and views over distributed tables. The extension is not installed in the
//! PostgreSQL at hand, so the expected results are written by hand, after Citus' documentation.

mod support;

use support::two_nodes::TwoNodes;
use support::{rows_of as rows, run};
use tokio_postgres::Client;

/// The one value of a query.
async fn value(client: &Client, sql: &str) -> String {
    let rows = rows(client, sql).await;
    assert_eq!(rows.len(), 1, "{sql}: {rows:?}");
    rows[0].clone()
}

/// SQLSTATE and message of a statement that must fail.
async fn refused(client: &Client, sql: &str) -> String {
    let error = client.simple_query(sql).await.expect_err(sql);
    let error = error.as_db_error().expect("an answer");
    format!("{} {}", error.code().code(), error.message())
}

async fn installed() -> Option<(TwoNodes, Client)> {
    let (cluster, client) = TwoNodes::start().await?;
    rows(&client, "CREATE EXTENSION citus").await;
    Some((cluster, client))
}

#[test]
fn an_empty_table_is_distributed() {
    run(async {
        let Some((cluster, client)) = installed().await else { return };
        rows(
            &client,
            "CREATE TABLE t (a bigint PRIMARY KEY, b text DEFAULT 'x'); CREATE INDEX ON t (b)",
        )
        .await;
        rows(&client, "SELECT create_distributed_table('t', 'a')").await;
        let table = "SELECT table_name, citus_table_type, distribution_column, shard_count \
                     FROM citus_tables";
        assert_eq!(value(&client, table).await, "t|distributed|a|32");
        let nodes = "SELECT n.nodename = '127.0.0.1', count(*) FROM citus_shards s JOIN \
                     pg_dist_node n USING (nodename, nodeport) GROUP BY 1";
        assert_eq!(value(&client, nodes).await, "t|64");
        rows(&client, "INSERT INTO t (a) VALUES (1)").await;
        for key in 2..40 {
            rows(&client, &format!("INSERT INTO t (a) VALUES ({key})")).await;
        }
        let counts: Vec<u32> = ["n1", "n2"]
            .iter()
            .map(|node| cluster.on(node, "SELECT count(*) FROM t").parse().expect("a number"))
            .collect();
        assert_eq!(counts.iter().sum::<u32>(), 39);
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
        assert_eq!(
            cluster.on("n1", "SELECT count(*) FROM pg_index WHERE indrelid = 't'::regclass"),
            "2"
        );
        let of_key = "SELECT count(DISTINCT get_shard_id_for_distribution_column('t', k)) > 8, \
                      bool_and(EXISTS (SELECT FROM pg_dist_shard WHERE shardid = \
                      get_shard_id_for_distribution_column('t', k))) FROM generate_series(1, 50) k";
        assert_eq!(value(&client, of_key).await, "t|t");
    });
}

#[test]
fn tables_are_together() {
    run(async {
        let Some((_cluster, client)) = installed().await else { return };
        for table in ["a", "b", "c", "d"] {
            rows(&client, &format!("CREATE TABLE {table} (k int, x text)")).await;
        }
        rows(&client, "SELECT create_distributed_table('a', 'k')").await;
        rows(&client, "SELECT create_distributed_table('b', 'k', colocate_with => 'a')").await;
        rows(&client, "SELECT create_distributed_table('c', 'k', shard_count => 7)").await;
        let types = "SELECT create_distributed_table('d', 'x', colocate_with => 'a')";
        assert_eq!(refused(&client, types).await, "22023 cannot colocate tables a and d");
        let both =
            "SELECT create_distributed_table('d', 'k', colocate_with => 'a', shard_count => 4)";
        assert_eq!(
            refused(&client, both).await,
            "22023 Cannot use colocate_with with a table and shard_count at the same time"
        );
        let none = "SELECT create_distributed_table('d', 'k', shard_count => 0)";
        assert_eq!(
            refused(&client, none).await,
            "22023 0 is outside the valid range for parameter \"shard_count\" (1 .. 64000)"
        );
        let groups = "SELECT string_agg(logicalrelid::text, ',' ORDER BY logicalrelid) \
                      FROM pg_dist_partition GROUP BY colocationid ORDER BY 1";
        assert_eq!(rows(&client, groups).await, ["a,b", "c"]);
        let colocations = "SELECT shardcount FROM pg_dist_colocation ORDER BY 1";
        assert_eq!(rows(&client, colocations).await, ["7", "32"]);
        let join = "SELECT count(*) FROM a JOIN b USING (k) WHERE a.k = 3";
        assert_eq!(value(&client, join).await, "0");
        rows(&client, "SELECT create_reference_table('d')").await;
        rows(&client, "INSERT INTO d VALUES (1, 'r')").await;
        let placements = "SELECT count(*), count(DISTINCT groupid) FROM pg_dist_placement p \
                          JOIN pg_dist_shard s USING (shardid) WHERE logicalrelid = 'd'::regclass";
        assert_eq!(value(&client, placements).await, "2|2");
    });
}

#[test]
fn what_cannot_be_is_refused() {
    run(async {
        let Some((cluster, client)) = installed().await else { return };
        rows(&client, "CREATE TABLE t (a int PRIMARY KEY, b int, j json)").await;
        rows(&client, "CREATE TABLE r (a int REFERENCES t)").await;
        rows(&client, "CREATE TEMP TABLE temporary (a int)").await;
        for (call, answer) in [
            (
                "create_distributed_table('t', 'a')",
                "0A000 not supported yet: distributing a table with foreign keys",
            ),
            (
                "create_distributed_table('temporary', 'a')",
                "0A000 not supported yet: distributing a temporary table",
            ),
            ("citus_remove_node('h', 7)", "42704 node at \"h:7\" does not exist"),
            ("undistribute_table('t')", "42P16 cannot undistribute table because"),
            ("citus_rebalance_start()", "0A000 not supported yet: function citus_rebalance_start"),
            (
                "run_command_on_shards('t', 'SELECT 1')",
                "0A000 not supported yet: function run_command_on_shards",
            ),
            ("get_shard_id_for_distribution_column('t', 1)", "42P16 relation is not distributed"),
        ] {
            let refused = refused(&client, &format!("SELECT {call}")).await;
            assert!(refused.starts_with(answer), "{call}: {refused}");
        }
        rows(&client, "DROP TABLE r").await;
        for (call, answer) in [
            ("create_distributed_table('t', 'nope')", "42703 column \"nope\" of relation \"t\""),
            ("create_distributed_table('t', 'j')", "42704 data type of the distribution column"),
            ("create_distributed_table('t', 'b')", "42P17 cannot create constraint on \"t\""),
            (
                "create_distributed_table('t', 'a', 'range')",
                "0A000 not supported yet: create_distributed_table",
            ),
            ("create_distributed_table('t', 'a', 'x')", "22P02 invalid input value for enum"),
        ] {
            let refused = refused(&client, &format!("SELECT {call}")).await;
            assert!(refused.starts_with(answer), "{call}: {refused}");
        }
        rows(&client, "BEGIN; SELECT create_distributed_table('t', 'a'); ROLLBACK").await;
        assert_eq!(cluster.on("n1", "SELECT to_regclass('t')"), "");
        rows(&client, "INSERT INTO t VALUES (1, 2)").await;
        assert_eq!(value(&client, "SELECT a, b FROM t").await, "1|2");
        rows(&client, "DELETE FROM t; SELECT create_distributed_table('t', 'a')").await;
        let again = refused(&client, "SELECT create_distributed_table('t', 'a')").await;
        assert_eq!(again, "42P16 table \"t\" is already distributed");
        let called = "SELECT success, result FROM run_command_on_workers('SELECT count(*) FROM t')";
        assert_eq!(rows(&client, called).await, ["t|0", "t|0"]);
        let failed = "SELECT success, result FROM run_command_on_workers('SELECT nope')";
        assert_eq!(rows(&client, failed).await[0], "f|ERROR:  column \"nope\" does not exist");
    });
}

#[test]
fn a_node_is_added_by_its_host_and_port() {
    run(async {
        let Some((cluster, client)) = installed().await else { return };
        let (host, port) = ("127.0.0.1", cluster.port());
        // It is there, as CREATE NODE has made it.
        let add = format!("SELECT citus_add_node('{host}', {port})");
        let id = value(&client, &add).await;
        let named = format!("SELECT node_name FROM pgxc_node WHERE oid = {id}");
        assert_eq!(value(&client, &named).await, "n1");
        rows(&client, "DROP NODE n1; DROP NODE n2").await;
        let again = value(&client, &add).await;
        let named = format!("SELECT node_name FROM pgxc_node WHERE oid = {again}");
        assert_eq!(value(&client, &named).await, format!("worker_127_0_0_1_{port}"));
        let active = "SELECT node_name, node_port FROM citus_get_active_worker_nodes()";
        assert_eq!(value(&client, active).await, format!("{host}|{port}"));
        rows(&client, &format!("SELECT citus_remove_node('{host}', {port})")).await;
        assert!(rows(&client, active).await.is_empty());
    });
}

#[test]
fn rows_move_to_the_nodes_and_back() {
    run(async {
        let Some((cluster, client)) = installed().await else { return };
        let make = "CREATE TABLE t (a bigint PRIMARY KEY, gone int, b text, \
                    c int GENERATED ALWAYS AS IDENTITY); ALTER TABLE t DROP COLUMN gone; \
                    CREATE INDEX ON t (b); CREATE VIEW v AS SELECT count(*) FROM t; \
                    INSERT INTO t (a, b) SELECT i, 'row ' || i FROM generate_series(1, 5000) i";
        rows(&client, make).await;
        let sums = "SELECT count(*), sum(a), sum(c), max(b), sum(hashtext(b)::bigint) FROM t";
        let before = value(&client, sums).await;
        rows(&client, "BEGIN; SELECT create_distributed_table('t', 'a'); ROLLBACK").await;
        assert_eq!(value(&client, sums).await, before);
        rows(&client, "SELECT create_distributed_table('t', 'a', shard_count => 5)").await;
        assert_eq!(value(&client, sums).await, before);
        assert_eq!(value(&client, "SELECT * FROM v").await, "5000");
        let on_nodes: Vec<u32> = ["n1", "n2"]
            .iter()
            .map(|node| cluster.on(node, "SELECT count(*) FROM t").parse().expect("a number"))
            .collect();
        assert_eq!(on_nodes.iter().sum::<u32>(), 5000);
        assert!(on_nodes.iter().all(|count| *count > 1000), "{on_nodes:?}");
        for key in [1, 77, 5000] {
            let row = value(&client, &format!("SELECT b FROM t WHERE a = {key}")).await;
            assert_eq!(row, format!("row {key}"));
        }
        let left = "SELECT count(*) FROM pg_class WHERE relname LIKE 't%rows%'";
        assert_eq!(value(&client, left).await, "0");
        rows(&client, "INSERT INTO t (a, b) VALUES (5001, 'new')").await;
        let before = value(&client, sums).await;
        rows(&client, "SELECT undistribute_table('t')").await;
        assert_eq!(value(&client, sums).await, before);
        assert_eq!(cluster.on("n2", "SELECT to_regclass('t')"), "");
        assert_eq!(value(&client, "SELECT count(*) FROM citus_tables").await, "0");
        let twice = "INSERT INTO t (a, b) VALUES (5001, 'again')";
        assert!(refused(&client, twice).await.starts_with("23505"));
        rows(&client, "SELECT create_reference_table('t')").await;
        assert_eq!(value(&client, sums).await, before);
        assert_eq!(cluster.on("n1", "SELECT count(*) FROM t"), "5001");
        assert_eq!(cluster.on("n2", "SELECT count(*) FROM t"), "5001");
    });
}
