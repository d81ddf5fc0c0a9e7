//! auto_explain: slow statements tell their plans. The messages are those of PostgreSQL 18 with the
//! module, but for times.

mod support;

use support::{Message, Raw, TestServer};

/// The messages of notices, with durations and costs masked.
fn notices(messages: &[Message]) -> Vec<String> {
    let text = |message: &Message| {
        let fields = message.body.split(|byte| *byte == 0);
        let found = fields.into_iter().find(|field| field.first() == Some(&b'M'));
        found.map(|field| String::from_utf8_lossy(&field[1..]).into_owned())
    };
    let all = messages.iter().filter(|message| message.tag == b'N').filter_map(text);
    all.map(|text| masked(&text)).collect()
}

/// Numbers of milliseconds are `N`.
fn masked(text: &str) -> String {
    let begin = "duration: ".len();
    match (text.starts_with("duration: "), text.find(" ms  plan:")) {
        (true, Some(end)) => {
            assert!(text[begin..end].parse::<f64>().is_ok(), "{text}");
            format!("duration: N{}", &text[end..])
        }
        _ => text.to_owned(),
    }
}

fn told(raw: &mut Raw, sql: &str) -> Vec<String> {
    notices(&raw.query(sql))
}

fn session(server: &TestServer) -> Raw {
    let mut raw = server.raw();
    for sql in [
        "load 'auto_explain'",
        "create table t (a int primary key, b int)",
        "insert into t select i, i from generate_series(1, 10) i",
        "create function f(x int) returns int language plpgsql as $$
         declare r int;
         begin select b into r from t where a = x; return r; end $$",
        "set auto_explain.log_level = notice",
        "set auto_explain.log_min_duration = 0",
    ] {
        raw.query(sql);
    }
    raw
}

#[test]
fn plans_of_slow_statements_are_told() {
    let server = TestServer::start();
    let mut raw = session(&server);
    let plan = told(&mut raw, "select b from t where a = 3");
    assert_eq!(plan.len(), 1, "{plan:?}");
    let lines: Vec<&str> = plan[0].lines().collect();
    assert_eq!(lines[0], "duration: N ms  plan:");
    assert_eq!(lines[1], "Query Text: select b from t where a = 3");
    assert!(lines[2].starts_with("Index Scan using t_pkey on t  (cost="), "{lines:?}");
    assert_eq!(lines[3], "  Index Cond: (a = 3)");
    assert_eq!(lines.len(), 4);
    raw.query("prepare p(int) as select b from t where a = $1");
    let plan = told(&mut raw, "execute p(7)");
    let text = "Query Text: prepare p(int) as select b from t where a = $1\n\
                Query Parameters: $1 = '7'\nIndex Scan using t_pkey on t ";
    assert!(plan[0].contains(text), "{plan:?}");
    raw.query("set auto_explain.log_parameter_max_length = 0");
    assert!(!told(&mut raw, "execute p(7)")[0].contains("Query Parameters"));
    raw.query("set auto_explain.log_min_duration = '1h'");
    assert!(told(&mut raw, "select b from t where a = 3").is_empty());
    raw.query("set auto_explain.log_min_duration = -1");
    assert!(told(&mut raw, "select b from t where a = 3").is_empty());
}

#[test]
fn what_the_nodes_did_is_told_with_log_analyze() {
    let server = TestServer::start();
    let mut raw = session(&server);
    raw.query("set auto_explain.log_analyze = on");
    raw.query("set auto_explain.log_timing = off");
    // A point statement, which takes no point path now.
    let plan = told(&mut raw, "select b from t where a = 3");
    assert!(plan[0].contains("(actual rows=1.00 loops=1)"), "{plan:?}");
    let plan = told(&mut raw, "update t set b = b + 1 where a = 4");
    assert!(plan[0].contains("Update on t") && plan[0].contains("(actual rows=1.00 loops=1)"));
    raw.query("set auto_explain.log_format = json");
    let plan = told(&mut raw, "select b from t where a = 3");
    let (_, json) = plan[0].split_once('\n').expect("two parts");
    assert!(
        json.starts_with("{\n  \"Query Text\": \"select b from t where a = 3\",\n  \"Plan\": {")
    );
    assert!(json.ends_with("\n}") && json.contains("\"Actual Rows\": 1.00"), "{json}");
}

#[test]
fn statements_of_functions_are_told_if_they_are_to_be() {
    let server = TestServer::start();
    let mut raw = session(&server);
    assert_eq!(told(&mut raw, "select f(3)").len(), 1);
    raw.query("set auto_explain.log_nested_statements = on");
    let both = told(&mut raw, "select f(3)");
    assert_eq!(both.len(), 2, "{both:?}");
    // The inner statement ends first.
    assert!(both[0].contains("Query Text: select b        from t where a = x\n"), "{both:?}");
    assert!(both[1].contains("Query Text: select f(3)\n"), "{both:?}");
    // The statements of a DO run within no plan.
    raw.query("set auto_explain.log_nested_statements = off");
    let inner = told(&mut raw, "do $$ begin perform count(*) from t; perform f(1); end $$");
    assert_eq!(inner.len(), 2, "{inner:?}");
    assert!(inner[0].contains("Query Text: SELECT count(*) from t\n"), "{inner:?}");
    raw.query("select f(1) / 0");
    assert_eq!(told(&mut raw, "do $$ begin perform count(*) from t; end $$").len(), 1);
    raw.query("set auto_explain.sample_rate = 0");
    assert!(told(&mut raw, "select f(3)").is_empty());
}
