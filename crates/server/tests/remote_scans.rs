//! Queries that read distributed tables from several nodes: the same answers as those of one PostgreSQL
//! with plain tables.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::both::{Both, answer};
use support::postgres::Postgres;
use support::{Random, TestServer, rows_of as rows, run};
use tokio_postgres::Client;

fn pick<'a>(random: &mut Random, words: &[&'a str]) -> &'a str {
    words[random.below(words.len() as u64) as usize]
}

/// Conditions joined by AND, and now and then by OR.
fn random_condition(random: &mut Random) -> String {
    const TERMS: [&str; 12] = [
        "a.aid = 3",
        "a.aid = 4",
        "4 = a.aid",
        "a.aid = m.r_aid",
        "a.aid = m.l_aid",
        "m.l_aid = a.aid",
        "m.l_aid = 3",
        "m.l_aid = 4",
        "m.l_aid = a.bid",
        "a.balance > 2",
        "m.body IS NULL",
        "a.bid = 1",
    ];
    let mut condition = pick(random, &TERMS).to_owned();
    for _ in 0..random.below(4) {
        let word = pick(random, &["AND", "AND", "AND", "OR"]);
        condition.push_str(&format!(" {word} {}", pick(random, &TERMS)));
    }
    condition
}

fn random_query(random: &mut Random) -> String {
    let join = pick(random, &["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
    let (on, filter) = (random_condition(random), random_condition(random));
    let from = format!("accounts a {join} messages m ON {on}");
    match random.below(3) {
        0 => format!(
            "SELECT * FROM (SELECT a.aid, a.bid, a.balance, m.l_aid, m.r_aid, m.body FROM {from}) s \
             WHERE {} ORDER BY 1, 4, 5",
            filter.replace("a.", "s.").replace("m.", "s.")
        ),
        1 => format!(
            "SELECT a.aid FROM accounts a WHERE {} AND {}EXISTS (SELECT FROM messages m WHERE {on}) \
             ORDER BY 1",
            filter
                .replace("m.l_aid", "a.aid")
                .replace("m.r_aid", "a.bid")
                .replace("m.body", "a.note"),
            pick(random, &["", "NOT "])
        ),
        _ => format!("SELECT a.aid, m.l_aid, m.r_aid FROM {from} WHERE {filter} ORDER BY 1, 2, 3"),
    }
}

#[test]
fn scans_of_several_nodes_answer_as_postgresql() {
    run(async {
        let Some(both) = Both::start().await else { return };
        for sql in [
            "CREATE TABLE here (a int)",
            "INSERT INTO here VALUES (3), (4), (500)",
            "CREATE FUNCTION own(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $1 + 1; END'",
            "SELECT count(*), sum(balance), min(note) FROM accounts",
            "SELECT bid, count(*), avg(balance) FROM accounts GROUP BY bid ORDER BY bid",
            "SELECT aid FROM accounts ORDER BY balance DESC LIMIT 5",
            "SELECT aid FROM accounts WHERE aid = 1 OR bid = 1 ORDER BY 1",
            "SELECT aid FROM accounts WHERE aid IN (1, 2) ORDER BY 1",
            "SELECT aid FROM accounts WHERE aid > 15 ORDER BY 1",
            "SELECT aid FROM accounts WHERE aid = 1.0",
            "SELECT aid FROM accounts WHERE aid = NULL",
            "SELECT count(*) FROM accounts a LEFT JOIN messages m ON a.aid = 3 AND m.l_aid = 3",
            "SELECT count(*) FROM accounts a FULL JOIN messages m ON a.aid = m.l_aid AND a.aid = 3",
            "SELECT a.aid, m.r_aid FROM accounts a JOIN messages m ON a.aid = m.r_aid ORDER BY 1, 2",
            "SELECT a.aid FROM accounts a WHERE EXISTS (SELECT FROM messages m WHERE m.r_aid = a.aid) ORDER BY 1",
            "SELECT a.aid, (SELECT count(*) FROM messages m WHERE m.r_aid < a.aid) FROM accounts a ORDER BY 1",
            "SELECT a.aid, b.aid FROM accounts a, accounts b WHERE a.aid < b.aid AND b.bid = 1 ORDER BY 1, 2",
            "WITH a AS (SELECT * FROM accounts) SELECT count(*) FROM a x, a y WHERE x.aid = y.bid",
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT m.r_aid FROM r JOIN messages m ON m.l_aid = r.n) \
             SELECT count(*) FROM r",
            "SELECT aid, rank() OVER (PARTITION BY bid ORDER BY balance) FROM accounts ORDER BY 1",
            "SELECT bid, note, count(*) FROM accounts GROUP BY ROLLUP (bid, note) ORDER BY 1, 2, 3",
            "SELECT aid FROM accounts, here WHERE aid = a ORDER BY 1",
            "SELECT h.a, a.note FROM here h LEFT JOIN accounts a ON a.aid = h.a ORDER BY 1",
            "SELECT own(bid) FROM accounts WHERE aid = 3",
            "SELECT count(*) FROM accounts a, pg_class c WHERE c.relname = 'pg_class'",
            "SELECT aid FROM accounts WHERE own(aid) = 4",
            "SELECT aid FROM accounts WHERE aid = 2 UNION ALL SELECT l_aid FROM messages WHERE l_aid = 3",
            "SELECT count(*) FROM (SELECT DISTINCT bid FROM accounts) s",
            "INSERT INTO here SELECT aid FROM accounts WHERE bid = 2",
            "SELECT count(*), sum(a) FROM here",
            "DO $$ DECLARE r record; n int := 0; BEGIN FOR r IN SELECT * FROM accounts LOOP \
             n := n + 1; PERFORM 1 FROM messages WHERE l_aid = r.aid; END LOOP; \
             IF n <> 20 THEN RAISE EXCEPTION '% rows', n; END IF; END $$",
            "BEGIN",
            "DECLARE c CURSOR FOR SELECT aid FROM accounts ORDER BY aid",
            "FETCH 3 FROM c",
            "UPDATE accounts SET note = 'x' WHERE aid = 9",
            "FETCH 30 FROM c",
            "COMMIT",
        ] {
            both.same(sql).await;
        }
    });
}

/// Random conditions and joins.
#[test]
fn random_queries_answer_as_postgresql() {
    run(async {
        let Some(both) = Both::start().await else { return };
        let mut random = Random(20_261_127);
        for _ in 0..600 {
            both.same(&random_query(&mut random)).await;
        }
    });
}

/// An error in a branch that is never evaluated is none.
#[test]
fn what_is_never_evaluated_raises_no_error() {
    run(async {
        let Some(both) = Both::start().await else { return };
        let missing = "(SELECT max(l_aid) FROM messages WHERE (r_aid + length(current_setting('no.ne'))) % 2 = 1)";
        for sql in [
            format!("SELECT count(*), CASE WHEN count(*) > 1000 THEN {missing} END FROM accounts"),
            format!("SELECT count(*), CASE WHEN count(*) > 10 THEN {missing} END FROM accounts"),
            format!("SELECT count(*), coalesce(count(*), {missing}) FROM accounts"),
            format!("SELECT aid FROM accounts WHERE bid = 1 OR aid = {missing} ORDER BY aid"),
            "PREPARE p (int) AS SELECT count(*), CASE WHEN count(*) > 1000 THEN (SELECT max(l_aid) \
             FROM messages WHERE r_aid - extract(year FROM now()) > $1) END FROM accounts"
                .to_owned(),
            "EXECUTE p (1)".to_owned(),
        ] {
            both.same(&sql).await;
        }
    });
}

/// A cursor has the rows of the time when it was opened.
#[test]
fn cursors_see_no_later_changes() {
    run(async {
        let Some(both) = Both::start().await else { return };
        for sql in [
            "CREATE FUNCTION later() RETURNS text LANGUAGE plpgsql AS $$ \
             DECLARE c CURSOR FOR SELECT note FROM accounts ORDER BY aid; n text; BEGIN OPEN c; \
             UPDATE accounts SET note = 'later' WHERE aid = 1; FETCH c INTO n; RETURN n; END $$",
            "SELECT later()",
            "SELECT note FROM accounts WHERE aid = 1",
            "BEGIN",
            "DECLARE c CURSOR FOR SELECT aid, note FROM accounts ORDER BY aid",
            "DECLARE d SCROLL CURSOR FOR SELECT aid, note FROM accounts ORDER BY aid",
            "DECLARE one SCROLL CURSOR FOR SELECT aid, note FROM accounts WHERE aid = 2",
            "UPDATE accounts SET note = 'new' WHERE aid = 2",
            "DELETE FROM accounts WHERE aid = 3",
            "FETCH 4 FROM c",
            "FETCH 4 FROM d",
            "UPDATE accounts SET note = 'newer' WHERE aid = 2",
            "FETCH BACKWARD 3 FROM d",
            "FETCH LAST FROM d",
            "FETCH FIRST FROM d",
            "FETCH 4 FROM c",
            "FETCH BACKWARD 3 FROM c",
            "ROLLBACK",
            "BEGIN",
            "DECLARE h CURSOR WITH HOLD FOR SELECT aid FROM accounts ORDER BY balance DESC",
            "FETCH 2 FROM h",
            "COMMIT",
            "FETCH 100 FROM h",
        ] {
            both.same(sql).await;
        }
    });
}

/// Rows that exceed work_mem, scans that take turns on their connections, and scans that are read again.
#[test]
fn scans_take_turns_and_are_read_again() {
    run(async {
        let Some(both) = Both::start().await else { return };
        let wide = "SELECT i, i % 10, i, repeat('x', 300) || i FROM generate_series(1000, 2200) i";
        fill(&both, wide).await;
        for setting in [
            "SET enable_hashjoin = off; SET enable_nestloop = off",
            "SET enable_mergejoin = off; SET enable_hashjoin = off; SET enable_nestloop = on",
            "RESET enable_mergejoin; RESET enable_hashjoin; RESET enable_nestloop",
        ] {
            both.same("SET work_mem = '64kB'").await;
            both.same(setting).await;
            for sql in [
                "SELECT count(*), sum(length(a.note || b.note)) FROM accounts a JOIN accounts b ON a.aid = b.balance",
                "SELECT count(*) FROM branches, accounts a WHERE a.aid < 1100 OR city = 'city 1'",
                "SELECT count(*) FROM messages m LEFT JOIN accounts a ON a.bid = m.r_aid WHERE length(a.note) > 5",
                "SELECT sum((SELECT count(*) FROM accounts a WHERE a.bid = m.r_aid)) FROM messages m",
                "SELECT a.aid FROM accounts a UNION ALL SELECT aid FROM accounts ORDER BY 1 DESC LIMIT 7",
                "WITH a AS MATERIALIZED (SELECT * FROM accounts) SELECT count(*) FROM a x JOIN a y ON x.aid = y.aid + 1",
            ] {
                both.same(sql).await;
            }
        }
        // A reader that ends early leaves the connection usable.
        for sql in [
            "BEGIN",
            "SELECT note FROM accounts ORDER BY aid LIMIT 1",
            "SELECT 1 FROM accounts LIMIT 1",
        ] {
            both.same(sql).await;
        }
        for sql in
            ["SELECT count(*) FROM accounts a, (SELECT aid FROM accounts LIMIT 3) b", "COMMIT"]
        {
            both.same(sql).await;
        }
    });
}

/// The rows of a query, in accounts: on the node of each, and in the plain table.
async fn fill(both: &Both, query: &str) {
    rows(&both.plain, &format!("INSERT INTO accounts {query}")).await;
    let made = "CREATE TABLE made (aid int, bid int, balance numeric, note text)";
    rows(&both.steppe, made).await;
    rows(&both.steppe, &format!("INSERT INTO made {query}")).await;
    let copy = "DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM made LOOP \
                INSERT INTO accounts VALUES (r.aid, r.bid, r.balance, r.note); END LOOP; END $$";
    rows(&both.steppe, copy).await;
    both.same("SELECT count(*), sum(balance) FROM accounts").await;
}

/// Threads that help the session have none of its sessions on nodes.
#[test]
fn functions_that_read_nodes_run_in_the_session() {
    run(async {
        let Some(both) = Both::start().await else { return };
        for sql in [
            "CREATE TABLE here AS SELECT i AS a FROM generate_series(1, 20000) i",
            "CREATE FUNCTION note_of(p int) RETURNS text STABLE PARALLEL SAFE LANGUAGE plpgsql AS \
             'DECLARE n text; BEGIN SELECT note INTO n FROM accounts WHERE aid = p; RETURN n; END'",
            "CREATE FUNCTION count_of(p int) RETURNS bigint STABLE PARALLEL SAFE LANGUAGE sql AS \
             'SELECT count(*) FROM accounts WHERE bid = p LIMIT 1'",
            "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0",
            "SELECT count(*), count(note_of(a)) FROM here WHERE a < 100",
            "SELECT count(*) FROM here WHERE a < 100 AND note_of(a) IS NULL",
            "SELECT sum(count_of(a % 3 + 1)) FROM here WHERE a < 50",
            "SELECT count(*), sum(b.balance) FROM here a JOIN accounts b ON a.a = b.aid",
            "SELECT a % 7, count(*), (SELECT count(*) FROM accounts) FROM here GROUP BY 1 ORDER BY 1",
        ] {
            both.same(sql).await;
        }
    });
}

#[test]
fn copy_to_has_the_rows_of_all_nodes() {
    run(async {
        let Some(both) = Both::start().await else { return };
        for sql in
            ["COPY accounts TO STDOUT", "COPY (SELECT note FROM accounts WHERE bid = 2) TO STDOUT"]
        {
            let port = both.cluster.server.address.port();
            let (mut found, mut expected) = (copied(port, sql), copied(both.cluster.port(), sql));
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{sql}");
        }
    });
}

fn copied(port: u16, sql: &str) -> Vec<String> {
    let psql = std::process::Command::new("psql")
        .args(["-X", "-q", "-h", "127.0.0.1", "-U", "postgres", "-p", &port.to_string()])
        .args(["-d", "postgres", "-c", sql])
        .output()
        .expect("psql runs");
    assert!(psql.status.success(), "{sql}: {}", String::from_utf8_lossy(&psql.stderr));
    String::from_utf8_lossy(&psql.stdout).lines().map(str::to_owned).collect()
}

/// The statements of a reader that must find the same total at any time.
const TOTALS: [&str; 6] = [
    "SELECT sum(balance) FROM accounts",
    "SELECT (SELECT sum(balance) FROM accounts WHERE aid <= 10) + (SELECT sum(balance) FROM accounts WHERE aid > 10)",
    "SELECT sum(balance) FROM (SELECT balance FROM accounts WHERE aid <= 10 UNION ALL SELECT balance FROM accounts \
     WHERE aid > 10) s",
    "SELECT sum(a.balance) FROM accounts a JOIN accounts b ON a.aid = b.aid WHERE a.balance = b.balance",
    "SELECT (SELECT balance FROM accounts WHERE aid = 1) + (SELECT sum(balance) FROM accounts WHERE aid <> 1)",
    "SELECT CASE WHEN count(*) > 0 THEN sum(balance) + (SELECT 0 * count(*) FROM accounts) \
     + (SELECT sum(balance) FROM accounts) - (SELECT sum(balance) FROM accounts) END FROM accounts",
];

/// Transfers between accounts on different nodes while others read: no statement sees half of one.
#[test]
fn a_statement_of_several_scans_sees_no_half_commit() {
    run(async {
        let Some(both) = Both::start().await else { return };
        let total = rows(&both.steppe, TOTALS[0]).await;
        let ends = Arc::new(AtomicBool::new(false));
        let mut writers = Vec::new();
        for seed in 0..3 {
            let (client, ends) = (both.cluster.server.client().await, Arc::clone(&ends));
            writers.push(tokio::spawn(transfer(client, seed, ends)));
        }
        let until = Instant::now() + Duration::from_secs(8);
        let mut readers = Vec::new();
        for number in 0..2 {
            let client = both.cluster.server.client().await;
            let total = total.clone();
            readers.push(tokio::spawn(async move {
                let mut reads = 0;
                while Instant::now() < until {
                    let is_block = (reads / TOTALS.len() + number).is_multiple_of(2);
                    if is_block {
                        rows(&client, "BEGIN").await;
                    }
                    let sql = TOTALS[reads % TOTALS.len()];
                    assert_eq!(rows(&client, sql).await, total, "{sql}");
                    if is_block {
                        rows(&client, "COMMIT").await;
                    }
                    reads += 1;
                }
                reads
            }));
        }
        let mut reads = 0;
        for reader in readers {
            reads += reader.await.expect("the reader ends");
        }
        ends.store(true, Ordering::Relaxed);
        let mut transfers = 0;
        for writer in writers {
            transfers += writer.await.expect("the writer ends");
        }
        assert!(reads > 20 && transfers > 20, "{reads} reads, {transfers} transfers");
        println!("{reads} reads, {transfers} transfers");
        assert_eq!(rows(&both.steppe, TOTALS[0]).await, total);
    });
}

async fn transfer(client: Client, seed: u64, ends: Arc<AtomicBool>) -> usize {
    let mut random = Random(seed);
    let mut done = 0;
    while !ends.load(Ordering::Relaxed) {
        let (mut from, mut to) = (random.below(20) + 1, random.below(20) + 1);
        if from > to {
            (from, to) = (to, from);
        }
        rows(&client, "BEGIN").await;
        for (aid, sign) in [(from, '-'), (to, '+')] {
            let sql = format!("UPDATE accounts SET balance = balance {sign} 1 WHERE aid = {aid}");
            rows(&client, &sql).await;
        }
        rows(&client, "COMMIT").await;
        done += 1;
    }
    done
}

/// A replicated table is read from a node that is there.
#[test]
fn another_copy_is_read_when_a_node_is_down() {
    run(async {
        let settings = ["max_prepared_transactions=20"];
        let (Some(one), Some(mut two)) = (Postgres::start(&settings), Postgres::start(&settings))
        else {
            return;
        };
        let server = TestServer::start();
        let client = server.client().await;
        rows(&client, &one.create_node("n1")).await;
        rows(&client, &two.create_node("n2")).await;
        rows(&client, "CREATE TABLE towns (id int, name text) DISTRIBUTE BY REPLICATION").await;
        rows(&client, "CREATE TABLE sales (id int, town int) DISTRIBUTE BY HASH (id)").await;
        for id in 1..=4 {
            rows(&client, &format!("INSERT INTO towns VALUES ({id}, 'town {id}')")).await;
            rows(&client, &format!("INSERT INTO sales VALUES ({id}, {id})")).await;
        }
        // The copies differ here, as they never do, to tell which one is read.
        one.query("UPDATE towns SET name = 'one'");
        two.query("UPDATE towns SET name = 'two'");
        let read = "SELECT DISTINCT name FROM towns";
        let mut sessions = Vec::new();
        for _ in 0..4 {
            let client = server.client().await;
            let first = rows(&client, read).await;
            // A session stays with its copy.
            for _ in 0..3 {
                assert_eq!(rows(&client, read).await, first);
            }
            sessions.push((client, first));
        }
        assert!(sessions.iter().any(|(_, first)| *first == ["one"]));
        assert!(sessions.iter().any(|(_, first)| *first == ["two"]));
        // A transaction reads the copy of a node that it has joined.
        for (client, _) in &sessions {
            for (id, node) in [(1, on(&one)), (2, on(&one)), (3, on(&one)), (4, on(&one))]
                .map(|(id, ids)| (id, if ids.contains(&id) { "one" } else { "two" }))
            {
                rows(client, "BEGIN").await;
                rows(client, &format!("UPDATE sales SET town = 1 WHERE id = {id}")).await;
                assert_eq!(rows(client, read).await, [node]);
                rows(client, "COMMIT").await;
            }
        }
        two.kill();
        for (client, _) in &sessions {
            assert_eq!(rows(client, read).await, ["one"]);
            for level in ["READ COMMITTED", "REPEATABLE READ"] {
                rows(client, &format!("BEGIN ISOLATION LEVEL {level}")).await;
                assert_eq!(rows(client, read).await, ["one"]);
                assert_eq!(rows(client, "SELECT count(*) FROM towns").await, ["4"]);
                rows(client, "COMMIT").await;
            }
            let all = answer(client, "SELECT count(*) FROM sales").await;
            assert!(all[0].starts_with("ERROR 08006"), "{all:?}");
        }
    });
}

/// The keys of the rows that a node has.
fn on(node: &Postgres) -> Vec<i32> {
    node.query("SELECT id FROM sales").lines().filter_map(|id| id.parse().ok()).collect()
}

/// The lines of EXPLAIN about nodes.
async fn explained(client: &Client, sql: &str) -> Vec<String> {
    let plan = rows(client, &format!("EXPLAIN {sql}")).await;
    let is_of_nodes = |line: &&String| line.contains("Remote ") || line.contains("Node");
    let name = |line: &String| {
        let line = line.trim().trim_start_matches("->").trim();
        line.split("  (").next().unwrap_or_default().to_owned()
    };
    plan.iter().filter(is_of_nodes).map(name).collect()
}

/// A list of keys asks the nodes of these keys alone.
#[test]
fn lists_of_keys_ask_their_nodes() {
    run(async {
        let Some(both) = Both::start().await else { return };
        rows(&both.steppe, "SET plan_cache_mode = auto").await;
        for sql in [
            "SELECT * FROM accounts WHERE aid IN (1, 2, 3, 2) ORDER BY aid",
            "SELECT * FROM accounts WHERE aid IN (1, NULL, 300) ORDER BY aid",
            "SELECT * FROM accounts WHERE aid = ANY (ARRAY[]::int[])",
            "SELECT * FROM accounts WHERE aid = ANY (NULL::int[])",
            "SELECT * FROM accounts WHERE aid = ANY ('{{1,2},{3,4}}') ORDER BY aid",
            "SELECT * FROM accounts WHERE aid = ANY ('{5,6,7}'::bigint[]) ORDER BY aid",
            "SELECT * FROM accounts WHERE aid = ANY ('{5,6,7}'::smallint[]) ORDER BY aid",
            "SELECT * FROM accounts WHERE aid = ANY ('{5,6.0,7.5}'::numeric[]) ORDER BY aid",
            "SELECT * FROM accounts WHERE aid = 4 OR 5 = aid OR aid = 2 + 4 ORDER BY aid",
            "SELECT * FROM accounts WHERE (aid = 4 OR aid = 5 OR bid = 1) ORDER BY aid",
            "SELECT * FROM accounts WHERE aid IN (4, 5) AND bid = 2 ORDER BY aid",
            "SELECT * FROM accounts WHERE aid IN (4, 5) AND aid IN (5, 6) ORDER BY aid",
            "SELECT * FROM accounts WHERE aid NOT IN (4, 5) ORDER BY aid",
            "SELECT * FROM accounts WHERE aid = ALL ('{4}') ORDER BY aid",
            "SELECT * FROM accounts WHERE NOT aid = ANY ('{4,5}') ORDER BY aid",
            "SELECT * FROM named WHERE name IN ('name 3', 'name 4', 'none', '') ORDER BY name",
            "SELECT * FROM named WHERE name = ANY (string_to_array('name 5,name 6', ',')) ORDER BY name",
            "SELECT a.aid, m.r_aid FROM accounts a JOIN messages m ON a.aid = m.l_aid WHERE a.aid IN (3, 4) ORDER BY 1",
            "PREPARE p (int, int) AS SELECT * FROM accounts WHERE aid IN ($1, $2) ORDER BY aid",
            "EXECUTE p (1, 2)",
            "EXECUTE p (7, NULL)",
            "PREPARE q (int[]) AS SELECT count(*) FROM accounts WHERE aid = ANY ($1)",
            "EXECUTE q ('{1,2,3,4,5,6,7,8}')",
            "EXECUTE q ('{}')",
            "EXECUTE q (NULL)",
            "SELECT s.n, (SELECT count(*) FROM accounts WHERE aid IN (1, 2)) FROM generate_series(1, 2) s(n)",
        ] {
            both.same(sql).await;
        }
        let of_key = |aid: i32| {
            let sql = format!("SELECT count(*) FROM accounts WHERE aid = {aid}");
            if both.cluster.on("n1", &sql) == "1" { "n1" } else { "n2" }
        };
        let on_first: Vec<i32> = (1..=20).filter(|aid| of_key(*aid) == "n1").collect();
        let list = format!("aid IN ({}, {})", on_first[0], on_first[1]);
        let of = |kind: &str, names: &str, count: &str| {
            vec![kind.to_owned(), format!("Node/s: {names}"), format!("Nodes: {count} of 2")]
        };
        let scan = |names, count| of("Remote Subquery", names, count);
        for (sql, expected) in [
            (format!("SELECT * FROM accounts WHERE {list}"), scan("n1", "1")),
            ("SELECT * FROM accounts WHERE aid = ANY ('{}')".to_owned(), scan("none", "0")),
            ("SELECT * FROM accounts WHERE aid > 3".to_owned(), scan("n1, n2", "2")),
            ("SELECT *, random() FROM branches".to_owned(), scan("one of n1, n2", "1")),
            (
                format!("SELECT * FROM accounts WHERE aid = {}", on_first[0]),
                of("Remote Fast Query Execution", "n1", "1"),
            ),
            (format!("EXECUTE p ({}, {})", on_first[0], on_first[1]), scan("n1", "1")),
            (format!("EXECUTE q ('{{{}}}')", on_first[0]), scan("n1", "1")),
        ] {
            assert_eq!(explained(&both.steppe, &sql).await, expected, "{sql}");
        }
        rows(&both.steppe, "SET plan_cache_mode = force_generic_plan").await;
        assert_eq!(
            explained(&both.steppe, "EXECUTE q ('{1}')").await,
            scan("by the key", "up to 2")
        );
        // It is the truth: the other node may be locked.
        let mut holder = both.cluster.client_of("n2").await;
        let held = holder.transaction().await.expect("it begins");
        held.batch_execute("LOCK TABLE accounts").await.expect("it locks");
        let found =
            rows(&both.steppe, &format!("SELECT aid FROM accounts WHERE {list} ORDER BY 1")).await;
        assert_eq!(found, on_first[..2].iter().map(ToString::to_string).collect::<Vec<_>>());
        held.rollback().await.expect("it ends");
    });
}

/// Nodes aggregate their rows, and the coordinator their results.
#[test]
fn aggregates_are_split() {
    run(async {
        let Some(both) = Both::start().await else { return };
        let table = "kinds (id int, i2 smallint, i8 bigint, f8 float8, f4 real, n numeric, b bool, t text, d date)";
        rows(&both.steppe, &format!("CREATE TABLE {table} DISTRIBUTE BY HASH (id)")).await;
        rows(&both.plain, &format!("CREATE TABLE {table}")).await;
        let aggregates = [
            "count(*), count(i2), count(t), count(DISTINCT i2)",
            "sum(i2), sum(id), sum(i8), sum(n), sum(f8), sum(f4)",
            "avg(i2), avg(id), avg(i8), avg(n), avg(f8), avg(f4)",
            "min(i2), max(i8), min(f8), max(n), min(d), max(d), min(t), max(t)",
            "bool_and(b), bool_or(b), every(b)",
            "count(*) FILTER (WHERE i2 > 3), sum(i8) FILTER (WHERE b), avg(n) FILTER (WHERE false)",
            "sum(id) + count(*) * 2, coalesce(sum(n), 0), avg(id) > 5",
            "string_agg(t, ',' ORDER BY t), array_agg(id ORDER BY id), sum(DISTINCT i2)",
            "stddev(i2), variance(n)",
            "sum(i2 * 2), max(length(t)), min(-id)",
        ];
        for is_filled in [false, true] {
            if is_filled {
                for id in 0..40 {
                    let null = if id % 7 == 0 { "NULL" } else { "1" };
                    both.same(&format!(
                        "INSERT INTO kinds VALUES ({id}, {id} % 5 * {null}, 9000000000000000000 / ({id} + 1), \
                         {id} * 0.5, {id} * 0.25, {id} * 1.1 * {null}, {id} % 3 = 0, 't' || {id} % 4, \
                         date '2026-01-01' + {id})"
                    ))
                    .await;
                }
            }
            for list in aggregates {
                for rest in [
                    "",
                    "WHERE id > 100",
                    "WHERE id IN (3, 4, 5)",
                    "WHERE id = ANY ('{}')",
                    "WHERE t <> 't1' AND random() < 2",
                    "HAVING count(*) > 3",
                    "LIMIT 0",
                ] {
                    both.same(&format!("SELECT {list} FROM kinds {rest}")).await;
                }
                for rest in [
                    "GROUP BY i2 ORDER BY i2",
                    "GROUP BY t, b ORDER BY t, b",
                    "GROUP BY i2 HAVING sum(id) > 50 AND i2 > 1 ORDER BY i2",
                    "GROUP BY id % 3 ORDER BY id % 3 LIMIT 2",
                    "WHERE b GROUP BY id ORDER BY id",
                    "GROUP BY ROLLUP (i2, b) ORDER BY grouping(i2, b), i2, b",
                ] {
                    both.same(&format!("SELECT {list} FROM kinds {rest}")).await;
                }
            }
        }
        for sql in [
            "SELECT DISTINCT count(*) FROM kinds GROUP BY i2 ORDER BY 1",
            "SELECT i2, sum(count(*)) OVER (ORDER BY i2) FROM kinds GROUP BY i2 ORDER BY 1",
            "SELECT * FROM (SELECT i2, count(*) AS c FROM kinds GROUP BY i2) s WHERE s.i2 = 2 AND s.c > 1",
            "SELECT a.aid, (SELECT count(*) FROM kinds k WHERE k.i2 = a.bid) FROM accounts a ORDER BY 1",
            "WITH s AS (SELECT b, sum(i8 / 1000) AS x FROM kinds GROUP BY b) SELECT * FROM s x JOIN s y USING (b) ORDER BY b",
            "SELECT sum(i8) FROM kinds k JOIN accounts a ON k.id = a.aid",
            "SELECT count(*) FROM kinds HAVING false",
            "SELECT 1 FROM kinds HAVING true",
            "SELECT sum(1 / id) FROM kinds",
            "SELECT sum(i2::int4 * 1000000000) FROM kinds",
            "PREPARE p (int) AS SELECT count(*), sum(id + $1) FROM kinds WHERE i2 < $1 GROUP BY i2 + $1 ORDER BY 1, 2",
            "EXECUTE p (3)",
            "SELECT count(*) FROM (SELECT DISTINCT t FROM kinds) s",
            "SELECT (SELECT max(k.id) + count(a.aid) FROM kinds k) FROM accounts a",
        ] {
            both.same(sql).await;
        }
        let plan = "EXPLAIN VERBOSE SELECT t, avg(i8), count(*) FROM kinds WHERE i2 > 1 GROUP BY t";
        let plan = rows(&both.steppe, plan).await.join(" ");
        for part in ["sum(kinds.i8) AS c2", "GROUP BY kinds.t", "Nodes: 2 of 2"] {
            assert!(plan.contains(part), "{plan}");
        }
    });
}
