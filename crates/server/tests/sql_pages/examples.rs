//! The pages that are written by hand: the test runs each line of SQL in them.
//!
//! A line of a block of SQL has a statement, a semicolon, and its outcome. `-- 0A000` is an
//! SQLSTATE. `-- answers x` is its only row, with columns joined by `|`. A line without an outcome
//! succeeds. In parentheses, `a1, …, a9` means all from 1 to 9. Each block has its own schema.

use crate::ask::Asker;
use crate::page::folder;

/// The pages.
const PAGES: [&str; 2] = ["differences.md", "limits.md"];

#[test]
fn examples_come_to_what_the_pages_say() {
    let mut asker = Asker::start();
    let mut wrong = Vec::new();
    for name in PAGES {
        let text = std::fs::read_to_string(folder().join(name)).expect("the page can be read");
        for block in text.split("```sql\n").skip(1) {
            let block = block.split("```").next().unwrap_or_default();
            asker.must("DROP SCHEMA IF EXISTS page CASCADE");
            asker.must("CREATE SCHEMA page");
            asker.must("SET search_path = page");
            for line in block.lines() {
                if let Some(found) = differs(&mut asker, line) {
                    wrong.push(format!("docs/sql/{name}: {line}\n  found {found}"));
                }
            }
            asker.must("ROLLBACK");
            asker.must("RESET ALL");
        }
    }
    assert!(wrong.is_empty(), "{} examples are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The outcome of a line, if it differs from the stated one.
fn differs(asker: &mut Asker, line: &str) -> Option<String> {
    let (sql, said) = line.split_once("; -- ").unwrap_or((line.trim_end_matches(';'), ""));
    let answer = asker.run(&written_out(sql));
    let rows = answer.rows.join("\n");
    match (said.strip_prefix("answers "), answer.sqlstate) {
        (Some(said), None) => (rows != said).then_some(rows),
        (None, None) => (!said.is_empty()).then(|| "no error".to_owned()),
        (_, Some(found)) => (found != said).then_some(found),
    }
}

/// Expands `(a1 x, …, a3 x)` to `(a1 x, a2 x, a3 x)`.
fn written_out(sql: &str) -> String {
    let Some((before, after)) = sql.split_once(", …, ") else { return sql.to_owned() };
    let (Some(open), Some(close)) = (before.rfind('('), after.find(')')) else {
        return sql.to_owned();
    };
    let last = &after[..close];
    let is_digit = |c: char| c.is_ascii_digit();
    let start = last.find(is_digit).expect("a number to count to");
    let length = last[start..].find(|c| !is_digit(c)).unwrap_or(last.len() - start);
    let (prefix, suffix) = (&last[..start], &last[start + length..]);
    let count: usize = last[start..start + length].parse().expect("a number to count to");
    let all: Vec<String> = (1..=count).map(|i| format!("{prefix}{i}{suffix}")).collect();
    format!("{}({}{}", &before[..open], all.join(", "), &after[close..])
}

#[test]
fn lists_are_written_out() {
    assert_eq!(
        written_out("CREATE TABLE t (a1 int, …, a3 int)"),
        "CREATE TABLE t (a1 int, a2 int, a3 int)"
    );
    assert_eq!(written_out("SELECT 1"), "SELECT 1");
}
