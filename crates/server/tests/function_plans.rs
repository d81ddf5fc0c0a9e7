//! Plans of functions' statements, while leaves are changed.
//!
//! Sessions share such plans, and one plan serves all leaves with the same definition. The answers are
//! compared with those of a session that plans for itself.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use support::{Random, TestServer, rows_of as rows, run, try_rows_of};
use tokio_postgres::Client;

/// Leaves of each table, and the keys of each leaf.
const LEAVES: u64 = 5;
const KEYS: u64 = 4;

/// Two partitioned tables. The second has no unique index.
fn tables() -> String {
    let mut sql =
        "CREATE TABLE p (id int PRIMARY KEY, k int DEFAULT 0, v text) PARTITION BY RANGE (id);
                   CREATE TABLE q (id int, w text) PARTITION BY RANGE (id);
                   CREATE INDEX ON q (id);"
            .to_owned();
    for leaf in 0..LEAVES {
        for table in ["p", "q"] {
            let bounds = bounds(leaf);
            sql.push_str(&format!("CREATE TABLE {table}_{leaf} PARTITION OF {table} {bounds};"));
        }
    }
    let last = LEAVES * KEYS - 1;
    sql.push_str(&format!(
        "INSERT INTO p SELECT i, 0, 'v' || i FROM generate_series(0, {last}) i;
         INSERT INTO q SELECT i / 2, 'w' || i FROM generate_series(0, 2 * {last} + 1) i;"
    ));
    sql
}

fn bounds(leaf: u64) -> String {
    format!("FOR VALUES FROM ({}) TO ({})", leaf * KEYS, (leaf + 1) * KEYS)
}

/// A function for each way in which a statement is run.
const FUNCTIONS: &str = "
CREATE FUNCTION found(i int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r p%ROWTYPE;
BEGIN SELECT * INTO r FROM p WHERE id = i; RETURN r; END $$;
CREATE FUNCTION found(i bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE unused int; r p%ROWTYPE;
BEGIN SELECT * INTO r FROM p WHERE id = i; RETURN r; END $$;
CREATE FUNCTION found(i text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r p%ROWTYPE;
BEGIN SELECT * INTO r FROM p WHERE v = i; RETURN r; END $$;
CREATE FUNCTION rows_of_q(i int) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN RETURN QUERY SELECT w FROM q WHERE id = i ORDER BY w; RETURN QUERY SELECT i::text; END $$;
CREATE FUNCTION joined(i int) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN RETURN QUERY SELECT p.v || coalesce(q.w, '-') FROM p LEFT JOIN q ON p.id = q.id
                   WHERE p.id = i ORDER BY 1; END $$;
CREATE FUNCTION changed(i int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r p%ROWTYPE; n int;
BEGIN
  UPDATE p SET k = k + 1 WHERE id = i;
  UPDATE p SET v = v || '!' WHERE id = i RETURNING * INTO r;
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n || r::text;
END $$;
CREATE FUNCTION cleared(i int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  UPDATE p SET v = NULL WHERE id = i;
  UPDATE q SET w = NULL WHERE id = i;
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END $$;
CREATE FUNCTION deleted(i int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN DELETE FROM q WHERE id = i; GET DIAGNOSTICS n = ROW_COUNT; RETURN n; END $$;
CREATE FUNCTION inserted(i int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r p%ROWTYPE;
BEGIN
  INSERT INTO q VALUES (i, 'new');
  INSERT INTO p (id, v) VALUES (i, 'new') ON CONFLICT (id) DO UPDATE SET k = p.k + 10
    RETURNING * INTO r;
  RETURN r;
END $$;
CREATE FUNCTION made(i int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r p%ROWTYPE; n int;
BEGIN
  EXECUTE 'UPDATE p SET k = k + $1 WHERE id = ' || i USING 3;
  EXECUTE 'DELETE FROM q WHERE id = $1' USING i;
  EXECUTE 'SELECT * FROM p WHERE id = ' || i INTO r;
  EXECUTE format('SELECT count(*) FROM q WHERE id = %s', i) INTO n;
  RETURN n || r::text;
END $$;
CREATE FUNCTION of_sql(i int) RETURNS SETOF text LANGUAGE sql AS $$
  UPDATE p SET k = k + 1 WHERE id = i; SELECT p::text FROM p WHERE id = i $$;
CREATE FUNCTION changing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN RETURN NULL; END IF;
  NEW := jsonb_populate_record(NEW, jsonb_build_object(TG_ARGV[0], TG_NAME));
  RETURN NEW;
END $$;
";

/// A change of a leaf, or of a table, which may be refused.
fn change(random: &mut Random, step: u64) -> String {
    let leaf = random.below(LEAVES);
    let table = ["p", "q"][random.below(2) as usize];
    let name = format!("{table}_{leaf}");
    let bounds = bounds(leaf);
    // The key's column in its place, or not.
    let (columns, read) = match (table, random.below(3)) {
        ("p", 0) => ("v text, gone int, id int NOT NULL, k int DEFAULT 7", "v, 1, id, k"),
        ("p", _) => ("id int NOT NULL, gone int, v text, k int DEFAULT 7", "id, 1, v, k"),
        (_, 0) => ("gone int, w text, id int", "1, w, id"),
        _ => ("id int, gone int, w text", "id, 1, w"),
    };
    match random.below(15) {
        0 | 1 => format!(
            "ALTER TABLE {table} DETACH PARTITION {name}; ALTER TABLE {name} RENAME TO o_{step};
             CREATE TABLE {name} ({columns}); INSERT INTO {name} SELECT {read} FROM o_{step};
             ALTER TABLE {name} DROP COLUMN gone; DROP TABLE o_{step};
             ALTER TABLE {table} ATTACH PARTITION {name} {bounds}"
        ),
        2 => format!(
            "DROP TABLE {name}; CREATE TABLE {name} PARTITION OF {table} {bounds};
             INSERT INTO {table} (id) SELECT generate_series({}, {})",
            leaf * KEYS,
            leaf * KEYS + 2
        ),
        3 => format!("TRUNCATE {name}"),
        4 => format!("CREATE INDEX made_{step} ON {name} (id)"),
        5 => "DO $$ BEGIN EXECUTE (SELECT 'DROP INDEX ' || relname FROM pg_class
              WHERE relname LIKE 'made%' ORDER BY random() LIMIT 1); END $$"
            .to_owned(),
        6 => format!("ALTER TABLE {name} ADD CHECK (id < {})", leaf * KEYS + random.below(5)),
        7 => {
            let column = if table == "p" { "v" } else { "w" };
            format!(
                "CREATE TRIGGER t_{step} BEFORE INSERT OR UPDATE OR DELETE ON {name}
                 FOR EACH ROW EXECUTE FUNCTION changing('{column}')"
            )
        }
        // It comes late, because it lets no leaf be attached afterwards.
        8 if step > 20 => {
            format!("ALTER TABLE {table} ADD COLUMN more_{step} int DEFAULT {step}")
        }
        9 => format!("ALTER TABLE {name} ALTER id SET DEFAULT {step}"),
        10 => format!("ALTER TABLE {table} DETACH PARTITION {name}"),
        11 => format!("ALTER TABLE {table} ATTACH PARTITION {name} {bounds}"),
        12 => format!("CREATE TABLE beside_{step} (id int)"),
        13 => {
            let column = if table == "p" { "v" } else { "w" };
            format!("ALTER TABLE {name} ALTER {column} SET NOT NULL")
        }
        _ => format!("CREATE UNIQUE INDEX made_{step} ON {name} (id)"),
    }
}

fn statements(random: &mut Random) -> Vec<String> {
    let mut statements = Vec::new();
    for leaf in 0..LEAVES {
        let i = leaf * KEYS + random.below(KEYS);
        for function in ["found", "changed", "cleared", "deleted", "inserted", "made"] {
            statements.push(format!("SELECT {function}({i})"));
        }
        for function in ["rows_of_q", "joined", "of_sql"] {
            statements.push(format!("SELECT * FROM {function}({i})"));
        }
        statements.push(format!("SELECT found({i}::bigint), found('v{i}')"));
    }
    statements
}

/// The rows, or the error's SQLSTATE. Changes are rolled back.
async fn answer(client: &Client, statement: &str) -> Result<Vec<String>, String> {
    rows(client, "BEGIN").await;
    let answer = try_rows_of(client, statement).await;
    rows(client, "ROLLBACK").await;
    answer.map_err(|e| e.code().map_or_else(|| e.to_string(), |code| code.code().to_owned()))
}

/// Two sessions share plans. The third changes a setting before each statement, so that it plans for
/// itself alone. (A plan that it found among the shared ones would be one that other leaves have met.)
async fn random_changes(server: &TestServer, seed: u64) {
    let changing = server.client().await;
    let sharing = [server.client().await, server.client().await];
    let own = server.client().await;
    let mut random = Random(seed);
    rows(&changing, &tables()).await;
    rows(&changing, FUNCTIONS).await;
    let (mut answers, mut settings) = (0, 0);
    for step in 0..40 {
        let change = change(&mut random, step);
        let _ = try_rows_of(&changing, &change).await;
        for statement in statements(&mut random) {
            settings += 1;
            rows(&own, &format!("SET work_mem = {}; DISCARD PLANS", 4096 + settings)).await;
            let right = answer(&own, &statement).await;
            answers += usize::from(right.is_ok());
            for client in &sharing {
                let shared = answer(client, &statement).await;
                assert_eq!(shared, right, "seed {seed}, step {step}, {change}: {statement}");
            }
        }
    }
    assert!(answers > 1000, "{answers} statements of seed {seed} had an answer");
}

#[test]
fn shared_plans_answer_as_own_ones() {
    for seed in 1..=2 {
        run(async { random_changes(&TestServer::start(), seed).await });
    }
}

/// Sessions that call beside the changes.
const CALLERS: u64 = 8;

const COUNTING: &str = "
CREATE FUNCTION count_up(i int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int; was text; changed int := 0; made int;
BEGIN
  FOR at IN 0..2 LOOP
    n := (i + at * 5) % 20;
    SELECT v INTO was FROM p WHERE id = n;
    IF was <> 'v' || n THEN RAISE 'row % has %', n, was; END IF;
    EXECUTE 'SELECT v FROM p WHERE id = $1' INTO was USING n;
    IF was <> 'v' || n THEN RAISE 'row % has %', n, was; END IF;
    SELECT p.v INTO was FROM p LEFT JOIN q ON p.id = q.id WHERE p.id = n;
    IF was <> 'v' || n THEN RAISE 'row % has %', n, was; END IF;
    UPDATE p SET k = k + 1 WHERE id = n;
    GET DIAGNOSTICS made = ROW_COUNT;
    changed := changed + made;
    EXECUTE 'UPDATE p SET k = k + $1 WHERE id = ' || n USING 1;
    GET DIAGNOSTICS made = ROW_COUNT;
    changed := changed + made;
    DELETE FROM q WHERE id = n;
    EXIT WHEN i % 3 = 0;
  END LOOP;
  RETURN changed;
END $$;
";

/// Calls until the changes are over. A change that waits for a call, which waits for another leaf,
/// ends one of them (40P01).
async fn call(client: Client, seed: u64, counted: Arc<AtomicI64>, is_over: Arc<AtomicBool>) {
    let mut random = Random(seed);
    while !is_over.load(Ordering::Relaxed) {
        let statement = format!("SELECT count_up({})", random.below(LEAVES * KEYS));
        match try_rows_of(&client, &statement).await {
            Ok(rows) => {
                counted.fetch_add(rows[0].parse().expect("a count"), Ordering::Relaxed);
            }
            Err(error) => {
                let code = error.code().map(|code| code.code().to_owned());
                assert_eq!(code.as_deref(), Some("40P01"), "{error:?}");
            }
        }
    }
}

/// A change that keeps all rows, though some are not in the table meanwhile.
fn harmless_change(random: &mut Random, step: u64) -> String {
    let leaf = random.below(LEAVES);
    let (name, bounds) = (format!("p_{leaf}"), bounds(leaf));
    match random.below(7) {
        0 => format!(
            "BEGIN; ALTER TABLE p DETACH PARTITION {name}; COMMIT; SELECT pg_sleep(0.002);
             ALTER TABLE p ATTACH PARTITION {name} {bounds}"
        ),
        1 => format!(
            "BEGIN; ALTER TABLE p DETACH PARTITION {name}; ALTER TABLE {name} RENAME TO o_{step};
             CREATE TABLE {name} (v text, gone int, k int DEFAULT 0, id int NOT NULL);
             INSERT INTO {name} SELECT v, 1, k, id FROM o_{step}; DROP TABLE o_{step};
             ALTER TABLE {name} DROP COLUMN gone; ALTER TABLE p ATTACH PARTITION {name} {bounds};
             COMMIT"
        ),
        2 => format!(
            "BEGIN; LOCK TABLE {name}; CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT id, k, v FROM {name};
             TRUNCATE {name}; INSERT INTO p (id, k, v) SELECT id, k, v FROM kept; COMMIT"
        ),
        3 => format!("CREATE INDEX made_{step} ON {name} (k); DROP INDEX made_{step}"),
        4 => format!("ALTER TABLE {name} ADD CONSTRAINT c CHECK (k >= 0)"),
        5 => format!("ALTER TABLE {name} DROP CONSTRAINT IF EXISTS c"),
        _ => format!("TRUNCATE q_{leaf}; INSERT INTO q SELECT {}, 'again'", leaf * KEYS),
    }
}

#[test]
fn calls_beside_changes_of_leaves_lose_no_row() {
    run(async {
        let server = TestServer::start();
        let changing = server.client().await;
        rows(&changing, &tables()).await;
        rows(&changing, COUNTING).await;
        let (counted, is_over) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicBool::new(false)));
        let mut callers = Vec::new();
        for seed in 1..=CALLERS {
            let client = server.client().await;
            let (counted, is_over) = (Arc::clone(&counted), Arc::clone(&is_over));
            callers.push(tokio::spawn(call(client, seed, counted, is_over)));
        }
        let mut random = Random(99);
        let mut done = 0;
        for step in 0..80 {
            let change = harmless_change(&mut random, step);
            match try_rows_of(&changing, &change).await {
                Ok(_) => done += 1,
                Err(_) => drop(rows(&changing, "ROLLBACK").await),
            }
            // A detached leaf comes back.
            for leaf in 0..LEAVES {
                let attach = format!("ALTER TABLE p ATTACH PARTITION p_{leaf} {}", bounds(leaf));
                let is_out = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'p'::regclass";
                while rows(&changing, is_out).await != [LEAVES.to_string()]
                    && try_rows_of(&changing, &attach)
                        .await
                        .is_err_and(|error| error.code().is_some_and(|code| code.code() == "40P01"))
                {
                }
            }
        }
        is_over.store(true, Ordering::Relaxed);
        for caller in callers {
            caller.await.expect("a caller found what it had to");
        }
        let sum = rows(&changing, "SELECT sum(k), count(*) FROM p").await;
        let wanted = format!("{}|{}", counted.load(Ordering::Relaxed), LEAVES * KEYS);
        assert_eq!(sum, [wanted]);
        assert!(done > 40, "{done} changes were made");
    });
}
