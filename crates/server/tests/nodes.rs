//! CREATE, ALTER and DROP NODE [GROUP], and pgxc_node and pgxc_group. PostgreSQL has none of them,
//! so the answers are written by hand, after Postgres-XL's code.

mod support;

use support::{TestServer, rows_of as rows, run};
use tokio_postgres::Client;

/// SQLSTATE, message, detail and position of a statement that must fail.
async fn refused(client: &Client, sql: &str) -> (String, String, String, Option<u32>) {
    let error = client.simple_query(sql).await.expect_err(sql);
    let error = error.as_db_error().expect("an answer");
    let position = match error.position() {
        Some(tokio_postgres::error::ErrorPosition::Original(position)) => Some(*position),
        _ => None,
    };
    let detail = error.detail().unwrap_or_default().to_owned();
    (error.code().code().to_owned(), error.message().to_owned(), detail, position)
}

/// SQLSTATE and message.
async fn failure(client: &Client, sql: &str) -> String {
    let (code, message, _, _) = refused(client, sql).await;
    format!("{code} {message}")
}

const NODES: &str = "SELECT node_name, node_type, node_port, node_host, nodeis_primary, \
    nodeis_preferred FROM pgxc_node ORDER BY node_name";
const GROUPS: &str = "SELECT group_name, array_agg(node_name ORDER BY i) FROM pgxc_group, \
    LATERAL unnest(group_members::oid[]) WITH ORDINALITY m (o, i) JOIN pgxc_node n ON n.oid = o \
    GROUP BY 1 ORDER BY 1";

async fn with_nodes(client: &Client) {
    rows(
        client,
        "CREATE NODE dn1 WITH (TYPE = 'datanode', HOST = 'db1,db2', PORT = 5433, PRIMARY, \
           user = 'u', password = 'secret');
         CREATE NODE dn2 WITH (TYPE = datanode, HOST = 'db3', PORT = '5434', preferred = on);
         CREATE NODE co WITH (TYPE = 'coordinator', HOST = 'db4', PORT = 5432);
         CREATE NODE GROUP g WITH (dn2, dn1)",
    )
    .await;
}

#[test]
fn nodes_and_groups_are_listed() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        assert!(rows(&client, NODES).await.is_empty());
        with_nodes(&client).await;
        let listed = ["co|C|5432|db4|f|f", "dn1|D|5433|db1,db2|t|f", "dn2|D|5434|db3|f|t"];
        assert_eq!(rows(&client, NODES).await, listed);
        assert_eq!(rows(&client, GROUPS).await, ["g|{dn2,dn1}"]);
        // The hash of the name, as Postgres-XL has it.
        let ids = "SELECT count(DISTINCT node_id) FROM pgxc_node";
        assert_eq!(rows(&client, ids).await, ["3"]);
        let described = "SELECT pg_describe_object(classid, objid, 0), \
            pg_describe_object(refclassid, refobjid, 0), deptype \
            FROM pg_depend WHERE classid = 'pgxc_group'::regclass ORDER BY 2";
        assert_eq!(
            rows(&client, described).await,
            ["node group g|node dn1|n", "node group g|node dn2|n"]
        );
        let whole = "SELECT n::text LIKE '(%,dn1,D,5433,%' AND n::text NOT LIKE '%secret%' \
            FROM pgxc_node n WHERE node_name = 'dn1'";
        assert_eq!(rows(&client, whole).await, ["t"]);
        assert!(rows(&client, "SELECT * FROM pgxc_class").await.is_empty());
        rows(&client, "ALTER NODE dn1 WITH (PORT = 6000, PRIMARY = off); DROP NODE co").await;
        rows(&client, "ALTER NODE dn2 WITH (PRIMARY, PREFERRED = 0)").await;
        assert_eq!(rows(&client, NODES).await, ["dn1|D|6000|db1,db2|f|f", "dn2|D|5434|db3|t|f"]);
        rows(&client, "DROP NODE GROUP g; DROP NODE dn1; DROP NODE dn2").await;
        assert!(rows(&client, NODES).await.is_empty());
    });
}

#[test]
fn nodes_are_stored_and_rolled_back() {
    run(async {
        let mut server = TestServer::start();
        let client = server.client().await;
        with_nodes(&client).await;
        let before = rows(&client, "SELECT * FROM pgxc_node ORDER BY 1").await;
        rows(
            &client,
            "BEGIN; SAVEPOINT a; DROP NODE GROUP g; DROP NODE dn1; CREATE TABLE t (a int);
             CREATE NODE dn1 WITH (TYPE = datanode, HOST = 'other', PORT = 1)",
        )
        .await;
        assert_eq!(rows(&client, NODES).await[1], "dn1|D|1|other|f|f");
        rows(&client, "ROLLBACK TO a; ALTER NODE dn2 WITH (PORT = 2)").await;
        assert_eq!(rows(&client, GROUPS).await, ["g|{dn2,dn1}"]);
        rows(&client, "ROLLBACK").await;
        assert_eq!(rows(&client, "SELECT * FROM pgxc_node ORDER BY 1").await, before);
        drop(client);
        server.restart();
        let client = server.client().await;
        assert_eq!(rows(&client, "SELECT * FROM pgxc_node ORDER BY 1").await, before);
        assert_eq!(rows(&client, GROUPS).await, ["g|{dn2,dn1}"]);
    });
}

#[test]
fn what_cannot_be_is_refused() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        with_nodes(&client).await;
        for (sql, expected) in [
            (
                "CREATE NODE dn1 WITH (TYPE = datanode)",
                "42710 PGXC Node dn1: object already defined",
            ),
            ("CREATE NODE n", "42601 No options specified"),
            ("ALTER NODE dn1", "42601 No options specified"),
            ("CREATE NODE n WITH (PORT = 1)", "42601 PGXC node n: Node type not specified"),
            (
                "CREATE NODE n WITH (TYPE = x)",
                "22023 type value is incorrect, specify 'coordinator' or 'datanode'",
            ),
            ("CREATE NODE n WITH (TYPE = datanode, PORT = 0)", "22003 port value is out of range"),
            (
                "CREATE NODE n WITH (TYPE = datanode, PORT = 65536)",
                "22003 port value is out of range",
            ),
            (
                "CREATE NODE n WITH (TYPE = datanode, PORT = x)",
                "42601 port requires an integer value",
            ),
            ("CREATE NODE n WITH (TYPE)", "42601 type requires a parameter"),
            (
                "CREATE NODE n WITH (TYPE = datanode, PRIMARY = 7)",
                "42601 primary requires a Boolean value",
            ),
            ("CREATE NODE n WITH (TYPE = datanode, size = 7)", "42601 incorrect option: size"),
            (
                "CREATE NODE n WITH (TYPE = datanode, TYPE = datanode)",
                "42601 conflicting or redundant options",
            ),
            (
                "CREATE NODE n WITH (TYPE = datanode, sslmode = 'maybe')",
                "22023 invalid sslmode value: \"maybe\"",
            ),
            (
                "CREATE NODE n WITH (TYPE = datanode, PRIMARY)",
                "42601 PGXC node n: two nodes cannot be primary",
            ),
            ("ALTER NODE dn2 WITH (PRIMARY)", "42601 PGXC node dn2: two nodes cannot be primary"),
            (
                "CREATE NODE n WITH (TYPE = coordinator, PREFERRED)",
                "42601 PGXC node n: cannot be a preferred node, it has to be a Datanode",
            ),
            (
                "ALTER NODE dn1 WITH (TYPE = coordinator)",
                "42601 PGXC node dn1: cannot alter Datanode to Coordinator",
            ),
            ("ALTER NODE n WITH (PORT = 1)", "42704 PGXC Node n: object not defined"),
            ("DROP NODE n", "42704 PGXC Node n: object not defined"),
            ("CREATE NODE GROUP g WITH (dn1)", "42710 PGXC Group g: group already defined"),
            ("CREATE NODE GROUP h WITH (dn1, n)", "42704 PGXC Node n: object not defined"),
            (
                "CREATE NODE GROUP h WITH co",
                "42601 PGXC node co: only Datanodes can be group members",
            ),
            (
                "CREATE NODE GROUP h WITH (dn1, dn1)",
                "42601 PGXC Group h: node dn1 is listed more than once",
            ),
            ("DROP NODE GROUP h", "42704 PGXC Group h: group not defined"),
            (
                "BEGIN READ ONLY; DROP NODE dn1",
                "25006 cannot execute DROP NODE in a read-only transaction",
            ),
        ] {
            assert_eq!(failure(&client, sql).await, expected, "{sql}");
            rows(&client, "ROLLBACK").await;
        }
        let (code, message, detail, _) = refused(&client, "DROP NODE dn2").await;
        assert_eq!(code, "2BP01");
        assert_eq!(message, "cannot drop node dn2 because other objects depend on it");
        assert_eq!(detail, "node group g depends on node dn2");
        // At their places in a text of several statements.
        let sql = "SELECT 'é'; CREATE NODE n WITH (TYPE = datanode, size = 7)";
        let position = sql.chars().position(|c| c == 'z').expect("size") as u32 - 1;
        assert_eq!(refused(&client, sql).await.3, Some(position));
        let sql = "CREATE TABLE t (a int) DISTRIBUTE BY RANGE (a)";
        let (code, message, _, position) = refused(&client, sql).await;
        assert_eq!((&*code, &*message), ("0A000", "not supported yet: DISTRIBUTE BY RANGE"));
        assert_eq!(position, Some(45));
        assert_eq!(rows(&client, "SELECT to_regclass('t')").await, ["NULL"]);
        rows(&client, "CREATE TABLE node (node int)").await;
        let sql = "ALTER TABLE node ADD direct int, ADD NODE (dn1)";
        let refusal = "0A000 not supported yet: ALTER TABLE … ADD NODE beside other actions";
        assert_eq!(failure(&client, sql).await, refusal);
    });
}

#[test]
fn functions_have_the_statements_too() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        rows(
            &client,
            "DO $$ BEGIN
               CREATE NODE dn1 WITH (TYPE = 'datanode', HOST = 'a', PORT = 1);
               EXECUTE 'CREATE NODE GROUP g WITH (dn1)';
             END $$;
             CREATE FUNCTION f() RETURNS void LANGUAGE sql AS 'DROP NODE GROUP g; DROP NODE dn1'",
        )
        .await;
        assert_eq!(rows(&client, GROUPS).await, ["g|{dn1}"]);
        rows(&client, "SELECT f()").await;
        assert!(rows(&client, NODES).await.is_empty());
        let atomic = "CREATE FUNCTION g() RETURNS int BEGIN ATOMIC DROP NODE dn1; SELECT 1; END";
        assert_eq!(failure(&client, atomic).await, "42601 syntax error at or near \"NODE\"");
    });
}

/// Runs a statement that waits for the other session's transaction, which commits then. Returns the
/// refusal of the statement.
async fn refused_after(server: &TestServer, first: &Client, second: &Client, sql: &str) -> String {
    let observer = server.client().await;
    let committing = async {
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        while rows(&observer, waits).await != ["1"] {}
        rows(first, "COMMIT").await
    };
    tokio::join!(failure(second, sql), committing).0
}

/// A group that is being made keeps its nodes from being dropped. A node that is being made keeps
/// others from becoming the primary one.
#[test]
fn sessions_wait_for_one_another() {
    run(async {
        let server = TestServer::start();
        let (first, second) = (server.client().await, server.client().await);
        with_nodes(&first).await;
        rows(&first, "DROP NODE GROUP g; BEGIN; CREATE NODE GROUP h WITH (dn2)").await;
        assert_eq!(
            refused_after(&server, &first, &second, "DROP NODE dn2").await,
            "2BP01 cannot drop node dn2 because other objects depend on it"
        );
        rows(&first, "DROP NODE GROUP h; BEGIN; DROP NODE dn2").await;
        assert_eq!(
            refused_after(&server, &first, &second, "CREATE NODE GROUP k WITH (dn2)").await,
            "42704 node \"dn2\" does not exist"
        );
        rows(&first, "ALTER NODE dn1 WITH (PRIMARY = false); BEGIN; ALTER NODE dn1 WITH (PRIMARY)")
            .await;
        let create = "CREATE NODE dn3 WITH (TYPE = datanode, HOST = 'x', PORT = 1, PRIMARY)";
        assert_eq!(
            refused_after(&server, &first, &second, create).await,
            "42601 PGXC node dn3: two nodes cannot be primary"
        );
    });
}
