//! Data too large for a page survive as other data do: rows out of line, and shortened keys.

mod support;

use support::process::Steppe;
use support::{Raw, TestDir, rows, sqlstate};

const SETTINGS: &[&str] = &["max_prepared_transactions=2"];

/// The result's one row, columns joined by `|`.
fn one(raw: &mut Raw, sql: &str) -> String {
    let messages = raw.query(sql);
    assert_eq!(sqlstate(&messages), None, "{sql}");
    let rows = rows(&messages);
    assert_eq!(rows.len(), 1, "{sql}");
    let columns = rows[0].iter().map(|value| value.as_deref().unwrap_or("NULL"));
    columns.collect::<Vec<_>>().join("|")
}

fn done(raw: &mut Raw, sql: &str) {
    assert_eq!(sqlstate(&raw.query(sql)), None, "{sql}");
}

fn tables(raw: &mut Raw) {
    let columns: Vec<String> = (1..1600).map(|i| format!("c{i} int default 3")).collect();
    done(raw, &format!("create table wide (id int primary key, {})", columns.join(", ")));
    done(raw, "insert into wide (id) select generate_series(1, 40)");
    done(raw, "create table long (k text primary key, n int)");
    done(raw, "create index on long (n, k)");
    done(
        raw,
        "insert into long select repeat('k', 20000) || i, i from generate_series(10, 59) as i",
    );
}

/// The data, by rows and by indexes.
fn state(raw: &mut Raw) -> [String; 4] {
    let wide = one(raw, "select count(*), sum(c7), sum(c8), sum(c9), sum(c1599) from wide");
    let long = one(raw, "select count(*), sum(n), sum(length(k)) from long");
    done(raw, "set enable_seqscan = off; set enable_sort = off");
    let order = "select string_agg(n::text, ' ') from (select n from long order by k) as ordered";
    let order = one(raw, order);
    let keys = "select count(*), (select count(*) from long where k > repeat('k', 20000) || '3')
        from long as a join long as b on a.k = b.k and a.n = b.n";
    let keys = one(raw, keys);
    done(raw, "reset enable_seqscan; reset enable_sort");
    [wide, long, order, keys]
}

#[test]
fn a_kill_takes_back_what_was_not_committed_and_nothing_else() {
    let dir = TestDir::new();
    let server = Steppe::start_with(&dir, SETTINGS);
    let mut raw = server.connect();
    tables(&mut raw);
    done(&mut raw, "checkpoint");
    done(&mut raw, "update wide set c7 = 70 where id <= 20");
    done(&mut raw, "delete from wide where id > 35");
    done(&mut raw, "update long set k = k || 'x' where n % 3 = 0");
    done(&mut raw, "begin; update wide set c8 = 800; savepoint a");
    done(&mut raw, "update long set k = k || 'y'; rollback to a");
    done(&mut raw, "update wide set c8 = 8; delete from long where n = 58; commit");
    let mut prepared = server.connect();
    done(
        &mut prepared,
        "begin; update wide set c9 = 90 where id = 30; delete from long where n = 17",
    );
    done(&mut prepared, "insert into long values (repeat('k', 20000) || 17 || 'z', 1000)");
    done(&mut prepared, "prepare transaction 'p'");
    let committed = state(&mut raw);
    assert_eq!(committed[0], format!("35|{}|280|105|105", 20 * 70 + 15 * 3));
    assert_eq!(committed[1], "49|1667|980114");
    let mut open = server.connect();
    done(&mut open, "begin; update wide set c9 = 900 where id <> 30");
    done(&mut open, "update long set k = 'short' || n where n <> 17");

    let kill = |mut server: Steppe| {
        server.signal("-KILL");
        server.child.wait().expect("it ends");
        Steppe::start_with(&dir, SETTINGS)
    };
    let server = kill(server);
    let mut raw = server.connect();
    assert_eq!(state(&mut raw), committed);
    // The prepared transaction still has its rows and keys.
    done(&mut raw, "set lock_timeout = 1");
    let refused = raw.query("update wide set c9 = 0 where id = 30");
    assert_eq!(sqlstate(&refused).as_deref(), Some("55P03"));
    let refused = raw.query("insert into long values (repeat('k', 20000) || 17 || 'z', 0)");
    assert_eq!(sqlstate(&refused).as_deref(), Some("55P03"));
    done(&mut raw, "reset lock_timeout");
    done(&mut raw, "commit prepared 'p'");
    let after = state(&mut raw);
    assert_eq!(after[0], format!("35|{}|280|{}|105", 20 * 70 + 15 * 3, 34 * 3 + 90));
    assert_eq!(after[1], format!("49|{}|980115", 1667 - 17 + 1000));
    done(&mut raw, "vacuum wide; ");
    done(&mut raw, "vacuum long");
    assert_eq!(state(&mut raw), after);

    // A second recovery keeps the result of the first, and of VACUUM.
    let server = kill(server);
    let mut raw = server.connect();
    assert_eq!(state(&mut raw), after);
    let twice = raw.query("insert into long values (repeat('k', 20000) || 17 || 'z', 0)");
    assert_eq!(sqlstate(&twice).as_deref(), Some("23505"));
    done(&mut raw, "delete from wide; delete from long");
    done(&mut raw, "vacuum wide");
    assert_eq!(one(&mut raw, "select count(*) from wide"), "0");
}
