//! A session that runs examples and returns their outcomes.

use crate::support::{Raw, TestServer, message, query};

/// A session of its own server.
pub(crate) struct Asker {
    raw: Raw,
    _server: TestServer,
}

/// The outcome of a statement.
pub(crate) struct Answer {
    /// The error, if it failed.
    pub(crate) sqlstate: Option<String>,
    /// Its rows, their columns joined by `|`.
    pub(crate) rows: Vec<String>,
}

impl Asker {
    pub(crate) fn start() -> Asker {
        let server = TestServer::start_with(&[("max_prepared_transactions", "5")]);
        Asker { raw: server.raw(), _server: server }
    }

    /// Runs one statement; COPY FROM STDIN gets no rows.
    pub(crate) fn run(&mut self, sql: &str) -> Answer {
        self.raw.send(&query(sql));
        let mut answer = Answer { sqlstate: None, rows: Vec::new() };
        loop {
            let Some(part) = self.raw.receive() else { panic!("the server went away: {sql}") };
            match part.tag {
                b'E' => answer.sqlstate = part.field(b'C'),
                b'D' => {
                    let columns = part.columns().into_iter();
                    let shown = columns.map(|column| column.unwrap_or_else(|| "NULL".to_owned()));
                    answer.rows.push(shown.collect::<Vec<_>>().join("|"));
                }
                b'G' => self.raw.send(&message(b'c', b"")),
                b'Z' => return answer,
                _ => {}
            }
        }
    }

    /// Runs one statement that must succeed.
    pub(crate) fn must(&mut self, sql: &str) -> Vec<String> {
        let answer = self.run(sql);
        assert_eq!(answer.sqlstate, None, "{sql}");
        answer.rows
    }

    /// Runs statements up to the first failure, in a transaction that is rolled back or outside of
    /// one. Returns the failure's SQLSTATE.
    pub(crate) fn outcome(&mut self, example: &str, in_transaction: bool) -> Option<String> {
        if in_transaction {
            self.must("BEGIN");
        }
        let failed = statements(example).into_iter().find_map(|sql| self.run(sql).sqlstate);
        self.must("ROLLBACK");
        failed
    }

    /// Whether the statement is refused with 0A000.
    pub(crate) fn is_refused(&mut self, example: &str) -> bool {
        self.outcome(example, true).as_deref() == Some("0A000")
    }
}

/// The statements of a text. It splits the text at semicolons outside of quotes.
pub(crate) fn statements(text: &str) -> Vec<&str> {
    let mut statements = Vec::new();
    let mut quote: Option<&str> = None;
    let (mut start, mut at) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let opened = ["'", "\"", "$$"].into_iter().find(|quote| rest.starts_with(quote));
        match (quote, opened) {
            (None, Some(opened)) => quote = Some(opened),
            (Some(quoted), Some(opened)) if quoted == opened => quote = None,
            (None, None) if rest.starts_with(';') => {
                statements.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        let length = opened.map(str::len).or_else(|| rest.chars().next().map(char::len_utf8));
        at += length.unwrap_or(1);
    }
    statements.push(text[start..].trim());
    statements.retain(|statement| !statement.is_empty());
    statements
}

#[test]
fn statements_are_cut_outside_of_quotes() {
    assert_eq!(statements("a; b 'x;y'; c $$;$$;"), ["a", "b 'x;y'", "c $$;$$"]);
}
