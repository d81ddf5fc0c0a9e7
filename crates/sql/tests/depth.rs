//! Statements nested 20,000 deep, on a thread with a 2 MiB stack: a result or 54001, never a crash.

use steppe_sql::parser::{MAX_DEPTH, parse};
use steppe_types::SqlState;

const DEEP: usize = 20_000;

/// Runs on a thread with the stack of a tokio worker.
fn on_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(test);
    thread.expect("a thread starts").join().expect("no panic");
}

fn nest(before: &str, inside: &str, after: &str, depth: usize) -> String {
    format!("select {}{inside}{}", before.repeat(depth), after.repeat(depth))
}

fn chain(term: &str, operator: &str, count: usize) -> String {
    format!("select {}", vec![term; count].join(operator))
}

fn shapes(depth: usize) -> Vec<(&'static str, String)> {
    vec![
        ("not", nest("not ", "true", "", depth)),
        ("minus", nest("- ", "a", "", depth)),
        ("subselect", nest("(select ", "1", ")", depth)),
        ("case", nest("case when true then ", "1", " end", depth)),
        ("array", nest("array[", "1", "]", depth)),
        ("call", nest("f(", "1", ")", depth)),
        ("row", nest("row(", "1", ")", depth)),
        ("cast", nest("", "1", "::int", depth)),
        ("field", nest("(", "a", ").b", depth)),
        ("subscript", nest("", "a", "[1]", depth)),
        ("plus", chain("1", " + ", depth)),
        ("concat", chain("'a'", " || ", depth)),
        ("union", chain("1", " union all select ", depth)),
        (
            "from",
            format!("select * from {}t{}", "(select * from ".repeat(depth), ") s".repeat(depth)),
        ),
        ("join", format!("select * from t{}", " cross join t".repeat(depth))),
        (
            "sets",
            format!("select 1 group by {}a{}", "grouping sets (".repeat(depth), ")".repeat(depth)),
        ),
        ("explain", format!("{}select 1", "explain ".repeat(depth))),
        ("with", format!("{}select 1{} select 1", "with a as (".repeat(depth), ")".repeat(depth))),
    ]
}

#[test]
fn deep_nesting_is_refused() {
    on_small_stack(|| {
        for (name, sql) in shapes(DEEP) {
            match parse(&sql) {
                Err(error) if name == "explain" => {
                    assert_eq!(error.sqlstate(), SqlState::SYNTAX_ERROR, "{name}");
                }
                Err(error) => {
                    assert_eq!(error.sqlstate(), SqlState::STATEMENT_TOO_COMPLEX, "{name}");
                    assert_eq!(error.message(), "stack depth limit exceeded", "{name}");
                    assert!(error.fields().hint.is_some(), "{name}");
                }
                // A subscript chain is one node.
                Ok(_) => assert_eq!(name, "subscript"),
            }
        }
    });
}

#[test]
fn parentheses_alone_are_bounded_by_the_grammar() {
    on_small_stack(|| {
        assert!(parse(&nest("(", "1", ")", 5_000)).is_ok());
        let error = parse(&nest("(", "1", ")", DEEP)).expect_err("too deep");
        assert_eq!(error.sqlstate(), SqlState::STATEMENT_TOO_COMPLEX);
    });
}

#[test]
fn flat_chains_have_no_limit() {
    on_small_stack(|| {
        for operator in [" and ", " or "] {
            assert_eq!(parse(&chain("true", operator, DEEP)).expect("parses").len(), 1);
        }
        let list = format!("select a in ({})", vec!["1"; DEEP].join(", "));
        assert_eq!(parse(&list).expect("parses").len(), 1);
    });
}

/// An accepted tree can be cloned, compared, printed and dropped.
#[test]
fn the_deepest_accepted_trees_are_safe_to_handle() {
    on_small_stack(|| {
        for (name, sql) in shapes(MAX_DEPTH / 2 - 10) {
            let Ok(parsed) = parse(&sql) else {
                // The grammar's own stack limits these.
                assert!(["case", "explain", "with", "from", "array"].contains(&name), "{name}");
                continue;
            };
            let copy = parsed.clone();
            assert!(copy == parsed, "{name}");
            drop(copy);
        }
        let deepest = nest("not ", "true", "", MAX_DEPTH - 3);
        drop(parse(&deepest).expect("parses"));
        drop(parse(&chain("1", " + ", MAX_DEPTH - 3)).expect("parses"));
    });
}
