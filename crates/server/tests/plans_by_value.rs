//! Values of parameters select a variant of a statement's plan.

mod support;

use support::{TestServer, rows_of, run};
use tokio_postgres::Client;

/// A table with 100 rare rows in 100,000. Its index is useful only for those.
async fn skewed(client: &Client) {
    let sql = "create table s (id int primary key, k int, status text);
        insert into s select g, g % 1000, case when g % 1000 = 0 then 'rare' else 'common' end
            from generate_series(1, 100000) g;
        create index s_status on s (status);
        analyze s;
        prepare st (text) as select sum(k) from s where status = $1;
        prepare r (int, int) as select count(status) from s where id between $1 and $2";
    client.batch_execute(sql).await.unwrap();
}

async fn uses_index(client: &Client, call: &str) -> bool {
    let plan = rows_of(client, &format!("explain (costs off) execute {call}")).await.join("\n");
    assert!(plan.contains("Index") || plan.contains("Seq Scan"), "{plan}");
    !plan.contains("Seq Scan")
}

#[test]
fn a_rare_value_is_looked_up_and_a_common_one_is_scanned_for() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        skewed(&client).await;
        for _ in 0..2 {
            assert!(uses_index(&client, "st('rare')").await);
            assert!(!uses_index(&client, "st('common')").await);
            assert!(uses_index(&client, "r(10, 60)").await);
            assert!(!uses_index(&client, "r(10, 99000)").await);
        }
        // Each plan is right for any values, regardless of which was made first.
        for (call, answer) in [("st('rare')", "0"), ("st('common')", "49950000"), ("st('no')", "")]
        {
            let found = rows_of(&client, &format!("execute {call}")).await;
            assert_eq!(found, [if answer.is_empty() { "NULL" } else { answer }], "{call}");
        }
        assert_eq!(rows_of(&client, "execute r(10, 60)").await, ["51"]);
        assert_eq!(rows_of(&client, "execute r(99000, 10)").await, ["0"]);
        assert_eq!(rows_of(&client, "execute r(10, null)").await, ["0"]);
    });
}

/// Texts that nearly all begin in the same way, and patterns for them.
async fn texts(client: &Client) {
    let sql = "create table w (id int primary key, t text);
        insert into w select g, case when g % 1000 = 0 then 'rare' || g else 'word' || g end
            from generate_series(1, 100000) g;
        create index w_t on w (t);
        analyze w;
        prepare l (text) as select count(id) from w where t like $1;
        prepare x (text) as select count(id) from w where t ~ $1";
    client.batch_execute(sql).await.unwrap();
}

#[test]
fn a_pattern_that_says_how_texts_begin_is_looked_up() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        texts(&client).await;
        for _ in 0..2 {
            assert!(uses_index(&client, "l('rare%')").await);
            assert!(!uses_index(&client, "l('word%')").await);
            assert!(!uses_index(&client, "l('%re1000')").await);
            assert!(uses_index(&client, "x('^rare')").await);
            assert!(!uses_index(&client, "x('re1000$')").await);
        }
        for (call, answer) in [
            ("l('rare%')", "100"),
            ("l('%re1000')", "1"),
            ("l('word%')", "99900"),
            ("l('none%')", "0"),
            ("l(null)", "0"),
            ("x('^rare')", "100"),
            ("x('re1000$')", "1"),
            ("x('^none')", "0"),
        ] {
            let found = rows_of(&client, &format!("execute {call}")).await;
            assert_eq!(found, [answer], "{call}");
        }
    });
}

#[test]
fn plan_cache_mode_keeps_its_meaning() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        skewed(&client).await;
        client.batch_execute("set plan_cache_mode = force_generic_plan").await.unwrap();
        let generic = uses_index(&client, "st('rare')").await;
        assert_eq!(uses_index(&client, "st('common')").await, generic);
        client.batch_execute("set plan_cache_mode = force_custom_plan").await.unwrap();
        assert!(uses_index(&client, "st('rare')").await);
        assert!(!uses_index(&client, "st('common')").await);
    });
}

#[test]
fn more_classes_than_are_kept_still_run() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        skewed(&client).await;
        let three = "prepare three (int, int, int, int) as select count(*) from s a, s b \
            where a.id = b.id and a.id between $1 and $2 and b.id between $3 and $4";
        client.batch_execute(three).await.unwrap();
        for i in 0..8 {
            for j in 0..8 {
                let (a, b) = (4_i32.pow(i), 4_i32.pow(j));
                let call = format!("execute three(1, {a}, 1, {b})");
                assert_eq!(rows_of(&client, &call).await, [a.min(b).to_string()]);
            }
        }
    });
}

#[test]
fn variants_go_when_the_table_changes() {
    run(async {
        let server = TestServer::start();
        let client = server.client().await;
        skewed(&client).await;
        assert!(uses_index(&client, "st('rare')").await);
        client.batch_execute("drop index s_status").await.unwrap();
        assert!(!uses_index(&client, "st('rare')").await);
        assert_eq!(rows_of(&client, "execute st('rare')").await, ["0"]);
        client.batch_execute("create index s_status on s (status)").await.unwrap();
        assert!(uses_index(&client, "st('rare')").await);
        // A transaction's own changes stay its own.
        client.batch_execute("begin; alter table s add column more int").await.unwrap();
        assert!(uses_index(&client, "st('rare')").await);
        assert!(!uses_index(&client, "st('common')").await);
        client.batch_execute("rollback").await.unwrap();
        assert!(uses_index(&client, "st('rare')").await);
    });
}
