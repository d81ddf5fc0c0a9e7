//! Kept plans against new plans, while another session changes the schema.
//!
//! A kept plan must answer as a new one would. One session keeps its settings, so that it finds its
//! plans again. The other changes a setting each time, so that it finds none.

mod support;

use support::{Random, TestServer, rows_of as rows, run, try_rows_of};
use tokio_postgres::Client;

const NAMES: [&str; 3] = ["a", "b", "c"];
/// The schemas in the order of the search path. The first exists at times.
const SCHEMAS: [&str; 3] = ["first", "second", "third"];

/// A change of the schema, which may be refused.
fn change(random: &mut Random, step: u64) -> String {
    let mut one_of = |list: &[&str]| list[random.below(list.len() as u64) as usize].to_owned();
    let (schema, name, other) = (one_of(&SCHEMAS), one_of(&NAMES), one_of(&NAMES));
    let (elsewhere, table) = (one_of(&SCHEMAS), format!("{schema}.{name}"));
    let columns = format!("id int, v text DEFAULT 'by {step}'");
    match random.below(22) {
        0..=3 => format!("CREATE TABLE {table} ({columns}); INSERT INTO {table} VALUES (1)"),
        4 => format!("DROP TABLE {table} CASCADE"),
        5 => format!("ALTER TABLE {table} RENAME TO {other}"),
        6 => format!("ALTER TABLE {table} SET SCHEMA {elsewhere}"),
        7 => format!("CREATE VIEW {table} AS SELECT {step} AS id, 'view'::text AS v"),
        8 => format!("DROP VIEW {table}"),
        9 => format!(
            "CREATE TABLE child_{step} () INHERITS ({table}); \
             INSERT INTO child_{step} (id) VALUES ({step})"
        ),
        10 => format!("ALTER TABLE {table} INHERIT {elsewhere}.{other}"),
        11 => format!("ALTER TABLE {table} ADD COLUMN more_{step} int DEFAULT {step}"),
        12 => format!("ALTER TABLE {table} ALTER v SET DEFAULT 'now {step}'"),
        13 | 14 => format!("CREATE UNIQUE INDEX {name}_{step} ON {table} (id)"),
        15 => format!("ALTER TABLE {table} ADD CHECK (id < {})", random.below(8)),
        16 => format!("ALTER TABLE {table} ALTER v TYPE varchar(3)"),
        17 => "CREATE SCHEMA first".to_owned(),
        18 => "DROP SCHEMA first CASCADE".to_owned(),
        19 => format!("ALTER SCHEMA {schema} RENAME TO {elsewhere}"),
        _ => format!("CREATE TABLE unrelated_{step} (id serial PRIMARY KEY)"),
    }
}

/// The statements after each change. Their own changes are rolled back.
fn statements() -> Vec<String> {
    let of_each = |name: &&str| {
        [
            format!("SELECT tableoid::regclass, * FROM {name} ORDER BY id, v"),
            format!("SELECT '{name}'::regclass::oid"),
            format!("INSERT INTO {name} (id) VALUES (5) RETURNING *"),
            format!("INSERT INTO {name} (id) VALUES (1) ON CONFLICT (id) DO NOTHING RETURNING id"),
            format!("UPDATE {name} SET v = 'changed' WHERE id = 1 RETURNING *"),
            format!("SELECT v FROM second.{name} ORDER BY v"),
        ]
    };
    let mut all: Vec<String> = NAMES.iter().flat_map(of_each).collect();
    all.push("SELECT count(*), min(a.v) FROM a JOIN b USING (id)".to_owned());
    all
}

/// The rows, or the error's SQLSTATE.
async fn answer(client: &Client, statement: &str) -> Result<Vec<String>, String> {
    rows(client, "BEGIN").await;
    let answer = try_rows_of(client, statement).await;
    rows(client, "ROLLBACK").await;
    answer.map_err(|e| e.code().map_or_else(|| e.to_string(), |code| code.code().to_owned()))
}

async fn random_changes(server: &TestServer, seed: u64) {
    let (changing, kept, new) =
        (server.client().await, server.client().await, server.client().await);
    let mut random = Random(seed);
    let statements = statements();
    rows(&changing, "CREATE SCHEMA second; CREATE SCHEMA third").await;
    for client in [&changing, &kept, &new] {
        rows(client, "SET search_path = first, second, third").await;
    }
    for step in 0..150 {
        let change = change(&mut random, step);
        // Some changes run in one transaction with another.
        match random.below(8) {
            0 => rows(&changing, &format!("BEGIN; CREATE TABLE beside_{step} ()")).await,
            _ => Vec::new(),
        };
        let _ = try_rows_of(&changing, &change).await;
        rows(&changing, "COMMIT").await;
        rows(&new, &format!("SET work_mem = {}", 4096 + step)).await;
        for statement in &statements {
            let (kept, new) = (answer(&kept, statement).await, answer(&new, statement).await);
            assert_eq!(kept, new, "seed {seed}, step {step}, after {change}: {statement}");
        }
    }
}

#[test]
fn kept_plans_answer_as_new_ones() {
    for seed in 1..=6 {
        run(async { random_changes(&TestServer::start(), seed).await });
    }
}

/// A leaf that was never analysed is taken to have ten pages. That guess, made for each of many
/// leaves, starts no workers; rows that are there do.
#[test]
fn tiny_leaves_start_no_workers() {
    let server = TestServer::start();
    let mut raw = server.raw();
    raw.query("create table t (a int, b int) partition by range (a)");
    raw.query(
        "do $$ begin for i in 1..200 loop
             execute format('create table t_%s partition of t for values from (%s) to (%s)', i, i, i + 1);
         end loop; end $$",
    );
    raw.query("set parallel_setup_cost = 100");
    let gathers = |raw: &mut support::Raw| {
        let plan = support::rows(&raw.query("explain select count(*) from t"));
        plan.iter().any(|line| line[0].as_deref().is_some_and(|line| line.contains("Gather")))
    };
    raw.query("insert into t select i, i from generate_series(1, 200) i");
    assert!(!gathers(&mut raw));
    raw.query("insert into t select i % 200 + 1, i from generate_series(1, 20000) i");
    assert!(gathers(&mut raw));
}
