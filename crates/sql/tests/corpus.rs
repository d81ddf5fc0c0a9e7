//! A corpus across PostgreSQL's grammar: every statement parses, into a statement
//! of our own unless it is listed as one that has no place in the tree.

use steppe_sql::ast::Statement;
use steppe_sql::parser::parse;

fn corpus(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with("--"))
}

#[test]
fn every_statement_is_expressed() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for sql in corpus(include_str!("data/corpus.sql")) {
        count += 1;
        let text = sql.trim_end_matches(';').trim();
        match parse(sql) {
            Ok(parsed) => match &parsed[..] {
                [one] if one.text(sql) == text => {
                    if let Statement::Unsupported(unsupported) = &one.statement {
                        wrong.push(format!("{sql}: {unsupported:?}"));
                    }
                }
                other => wrong.push(format!("{sql}: {other:?}")),
            },
            Err(error) => wrong.push(format!("{sql}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 250, "{count} statements");
}

#[test]
fn what_is_not_expressed_is_named() {
    for line in corpus(include_str!("data/unsupported.sql")) {
        let (sql, what) = line.split_once(" --> ").expect("a line names what is missing");
        match parse(sql).map(|mut parsed| parsed.remove(0).statement) {
            Ok(Statement::Unsupported(unsupported)) => assert_eq!(unsupported.what, what, "{sql}"),
            other => panic!("{sql}: {other:?}"),
        }
    }
}

/// Damaged statements get an error or a tree, never a panic.
#[test]
fn damaged_statements_do_not_panic() {
    for sql in corpus(include_str!("data/corpus.sql")) {
        for cut in (0..sql.len()).step_by(7).filter(|&cut| sql.is_char_boundary(cut)) {
            let _ = parse(&sql[..cut]);
            let _ = parse(&sql[cut..]);
        }
    }
}

#[test]
fn texts_are_split_as_postgresql_splits_them() {
    let sql = ";; select 1; -- a; b\n select ';' ; /* ; */ insert into t values ($$;$$);;  ";
    let parsed = parse(sql).expect("parses");
    let texts: Vec<&str> = parsed.iter().map(|statement| statement.text(sql)).collect();
    assert_eq!(texts, ["select 1", "select ';'", "insert into t values ($$;$$)"]);
    assert!(parse("  -- nothing\n").expect("parses").is_empty());
    assert_eq!(
        parse("create function f() begin atomic select 1; select 2; end; select 3")
            .expect("parses")
            .len(),
        2
    );
}

#[test]
fn nul_bytes_are_refused() {
    let error = parse("select 'a\0b'").expect_err("a NUL");
    assert_eq!(error.sqlstate().as_str(), "22021");
}

/// One panic is a fault, though the parser catches it: each would be a backtrace in the log.
#[test]
fn no_statement_panics_inside_the_binding() {
    use std::cell::Cell;
    thread_local!(static PANICS: Cell<u32> = const { Cell::new(0) });
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.set(PANICS.get() + 1);
        before(info);
    }));
    let texts = [include_str!("data/corpus.sql"), include_str!("data/unusual.sql")];
    let mut count = 0;
    let mut panicked = Vec::new();
    for sql in texts.into_iter().flat_map(corpus) {
        count += 1;
        let _ = parse(sql);
        if PANICS.take() > 0 {
            panicked.push(sql);
        }
    }
    assert!(panicked.is_empty(), "{panicked:#?}");
    assert!(count > 600, "{count} statements");
}
