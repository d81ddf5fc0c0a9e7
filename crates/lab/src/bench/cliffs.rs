//! Loads under which PostgreSQL's throughput falls steeply: hot rows, wide indexes, a slow log
//! device, savepoints, unchanged keys, shared locks, log insertion, an old snapshot, many sessions.
//! Each experiment was published. Each has its flat case, measured in turn with it on the same
//! server. Dropping many tables is in drops.rs.

use super::beside::Beside;
use super::workload::{Conditions, Data, Flat, Kept, Load, Script, Section, Workload};

/// Rows of the table whose hits are counted.
const URLS: u32 = 100_000;
/// Columns of it that are indexed, beside the key.
const PARAMETERS: u32 = 20;
/// The extra time of each sync on the slow device.
const SLOW_SYNC_MS: u32 = 1;
/// Connections that do nothing.
const IDLE: u32 = 10_000;

/// All of them, for pgbench tables of this scale. Read-only workloads run first, workloads that
/// need servers of their own last.
pub(super) fn workloads(scale: u32) -> Vec<Workload> {
    let mut all = share_locks(scale);
    all.extend(tpcb(scale));
    all.extend(hits("hits", 0));
    all.extend(log_insertion());
    all.extend(hits("slow-hits", SLOW_SYNC_MS));
    all
}

/// A pgbench script as a workload without a target.
fn script(name: &str, title: &str, text: String, clients: u32, data: Data) -> Workload {
    Workload {
        name: format!("cliffs-{name}"),
        title: format!("{title}, {clients} clients"),
        load: Load::Pgbench {
            script: Script::Custom(text.into()),
            mode: "prepared",
            rows_per_transaction: 1,
        },
        data,
        clients,
        target_to_postgresql: None,
        target_to_noop: None,
        section: Section::Cliffs,
        group: format!("cliffs-{name}"),
        flat: None,
        conditions: Conditions::default(),
    }
}

impl Workload {
    /// Compared with another one, in whose group it is measured.
    fn compared(mut self, flat: &Workload, target: f64) -> Workload {
        self.flat = Some(Flat { name: flat.name.clone(), target });
        self.group.clone_from(&flat.group);
        self
    }

    fn against_postgresql(mut self, target: f64) -> Workload {
        self.target_to_postgresql = Some(target);
        self
    }

    fn beside(mut self, beside: Beside) -> Workload {
        self.conditions.beside = Some(beside);
        self
    }
}

/// Counting hits on a table with 20 more indexes: rows at random, a few hot ones, one.
/// On a slow device only the latter two differ.
fn hits(name: &str, sync_delay_ms: u32) -> Vec<Workload> {
    let device = if sync_delay_ms == 0 { "" } else { ", a log that takes 1 ms a flush" };
    let workload = |case: &str, what: &str, table: &'static str, set: &str| {
        let create = url(table, if table == "url" { PARAMETERS } else { 0 });
        let told = if table == "url" {
            "SELECT sum(hits) FROM url"
        } else {
            "SELECT sum(hits) FROM url_narrow"
        };
        let text = format!("{set}UPDATE {table} SET hits = hits + 1 WHERE id = :id;\n");
        let data = Data::Kept(Kept { table, create, told });
        let mut workload = script(
            &format!("{name}-{case}"),
            &format!("count hits, {what}{device}"),
            text,
            60,
            data,
        );
        workload.conditions.sync_delay_ms = sync_delay_ms;
        workload
    };
    let uniform = format!("\\set id random(1, {URLS})\n");
    let narrow = workload("narrow", "1 index", "url_narrow", &uniform);
    let wide = workload("uniform", "21 indexes", "url", &uniform);
    let one = workload("one", "one row", "url", "\\set id 1\n");
    if sync_delay_ms > 0 {
        let one = one.compared(&wide, 0.5).against_postgresql(20.0);
        return vec![wide, one];
    }
    let wide = wide.compared(&narrow, 0.95);
    let zipfian = format!("\\set id random_zipfian(1, {URLS}, 1.5)\n");
    let zipfian = workload("zipfian", "zipfian 1.5", "url", &zipfian);
    let zipfian = zipfian.compared(&wide, 0.9).against_postgresql(8.0);
    let one = one.compared(&wide, 0.7).against_postgresql(8.0);
    vec![narrow, wide, zipfian, one]
}

/// The statements that make the table of hits with `parameters` indexed columns.
fn url(table: &str, parameters: u32) -> String {
    let each = |f: &dyn Fn(u32) -> String| (1..=parameters).map(f).collect::<String>();
    format!(
        "CREATE TABLE {table} (id bigint PRIMARY KEY, href text{}, hits bigint NOT NULL);\n\
         INSERT INTO {table} SELECT g, 'http://example.com/' || g{}, 0 \
         FROM generate_series(1, {URLS}) AS g;\n{}",
        each(&|n| format!(", param{n} integer")),
        each(&|n| format!(", g + {n}")),
        each(&|n| format!("CREATE INDEX ON {table} (param{n});\n")),
    )
}

/// Reading hot rows with and without a lock, and advisory locks: nothing may be written.
fn share_locks(scale: u32) -> Vec<Workload> {
    let rows = 100_000 * scale;
    let workload = |name: &str, title: &str, statement: &str| {
        let text = format!("\\set aid random_zipfian(1, {rows}, 5)\n{statement};\n");
        script(name, title, text, 16, Data::PgbenchRead)
    };
    let read = "SELECT abalance FROM pgbench_accounts WHERE aid = :aid";
    let plain = workload("read", "SELECT, zipfian 5", read);
    let locks = [
        workload("share", "SELECT … FOR SHARE, zipfian 5", &format!("{read} FOR SHARE")),
        workload(
            "advisory",
            "pg_advisory_xact_lock_shared",
            "SELECT pg_advisory_xact_lock_shared(:aid)",
        ),
    ];
    let locks = locks.map(|lock| {
        let mut lock = lock.compared(&plain, 0.8).against_postgresql(3.0);
        lock.conditions.writes_nothing = true;
        lock
    });
    std::iter::once(plain.clone()).chain(locks).collect()
}

/// tpcb-like unchanged, with keys set to their own values, and beside other sessions.
fn tpcb(scale: u32) -> Vec<Workload> {
    let workload = |name: &str, title: &str, sets: bool| {
        script(name, title, tpcb_like(scale, sets), 16, Data::PgbenchChanged)
    };
    let flat = workload("tpcb", "tpcb-like", false);
    let held = |name: &str, title: &str, target, beside| {
        let title = format!("tpcb-like beside {title}");
        workload(name, &title, false).compared(&flat, target).beside(beside)
    };
    let savepoints = |each| Beside::Savepoints { sessions: 2, each };
    vec![
        flat.clone(),
        workload("same-keys", "tpcb-like that sets keys to what they are", true)
            .compared(&flat, 0.95)
            .against_postgresql(2.5),
        held("savepoints-100", "two sessions with 100 savepoints", 0.97, savepoints(100)),
        held("savepoints-10000", "two sessions with 10,000 savepoints", 0.97, savepoints(10_000)),
        held("snapshot", "an old snapshot", 0.9, Beside::Snapshot),
        held("idle", "10,000 idle connections", 0.9, Beside::Idle(IDLE)),
    ]
}

/// pgbench's script of that name. With `sets_keys` each UPDATE also sets the key to the value that
/// it has, as object-relational mappers do.
fn tpcb_like(scale: u32, sets_keys: bool) -> String {
    let same = |key: &str| if sets_keys { format!(", {key} = {key}") } else { String::new() };
    format!(
        "\\set aid random(1, {})\n\\set bid random(1, {scale})\n\\set tid random(1, {})\n\
         \\set delta random(-5000, 5000)\n\
         BEGIN;\n\
         UPDATE pgbench_accounts SET abalance = abalance + :delta{} WHERE aid = :aid;\n\
         SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\
         UPDATE pgbench_tellers SET tbalance = tbalance + :delta{} WHERE tid = :tid;\n\
         UPDATE pgbench_branches SET bbalance = bbalance + :delta{} WHERE bid = :bid;\n\
         INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
         VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n\
         END;\n",
        100_000 * scale,
        10 * scale,
        same("aid"),
        same("tid"),
        same("bid"),
    )
}

/// Many sessions that do nothing but write the log.
fn log_insertion() -> Vec<Workload> {
    let one_row = |clients| {
        let table = "bench_log";
        let create = format!("CREATE TABLE {table} (a integer, b text)");
        let text = format!("INSERT INTO {table} VALUES (1, 'one row of the benchmark');\n");
        let data = Data::Own { table, create };
        script(&format!("insert-{clients}"), "one-row insert", text, clients, data)
    };
    let table = "bench_log_series";
    let create = format!("CREATE TABLE {table} (n integer)");
    let text = format!("INSERT INTO {table} SELECT generate_series(1,100000);\n");
    let title = "insert … select generate_series(1,100000)";
    let mut series = script("series-16", title, text, 16, Data::Own { table, create });
    if let Load::Pgbench { mode, rows_per_transaction, .. } = &mut series.load {
        (*mode, *rows_per_transaction) = ("simple", 100_000);
    }
    let table = "bench_log_copy";
    let columns = "id bigint NOT NULL, a integer, b text, c timestamp";
    let create = format!("CREATE TABLE {table} ({columns})");
    let mut copy = script("copy-16", "COPY in", String::new(), 16, Data::Own { table, create });
    copy.load = Load::Copy;
    [one_row(16), one_row(96), series, copy].map(|workload| workload.against_postgresql(3.0)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_cases_come_first_and_in_the_same_group() {
        let all = workloads(7);
        for (i, workload) in all.iter().enumerate() {
            let Some(flat) = &workload.flat else { continue };
            let of_flat = all[..i].iter().find(|other| other.name == flat.name).unwrap();
            assert_eq!(of_flat.group, workload.group, "{}", workload.name);
            assert_eq!(of_flat.conditions.sync_delay_ms, workload.conditions.sync_delay_ms);
        }
    }

    #[test]
    fn tables_and_keys_are_as_published() {
        let wide = url("url", PARAMETERS);
        assert_eq!(wide.matches("CREATE INDEX").count(), 20);
        assert!(wide.contains(", param20 integer, hits bigint"), "{wide}");
        assert!(tpcb_like(2, true).contains("bbalance + :delta, bid = bid WHERE"));
        assert!(tpcb_like(2, false).contains("bbalance + :delta WHERE bid = :bid"));
        assert!(tpcb_like(2, false).contains("random(1, 200000)"));
    }
}
