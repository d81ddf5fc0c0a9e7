//! Parse errors against those of a live PostgreSQL (data/parse_errors.tsv).

use steppe_sql::parser::parse;

/// Statements whose error differs on purpose, with the reason.
const DIFFERENT: &[(&str, &str)] = &[
    ("select 0x", "PostgreSQL 16 has hexadecimal integers: another message"),
    ("select * from (values (1)) limit fetch", "PostgreSQL 16 needs no alias there"),
];

#[test]
fn errors_are_postgresqls() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for line in include_str!("data/parse_errors.tsv").lines().filter(|line| !line.starts_with('#'))
    {
        let fields: Vec<&str> = line.split('\t').collect();
        let [statement, sqlstate, position, message, hint] = fields[..] else {
            panic!("malformed line {line:?}");
        };
        if DIFFERENT.iter().any(|(different, _)| *different == statement) {
            continue;
        }
        compared += 1;
        let answer = match parse(statement) {
            Ok(statements) => format!("accepted as {statements:?}"),
            Err(error) => {
                let fields = error.fields();
                let position = fields.position.map_or("-".to_owned(), |p| p.to_string());
                let hint = fields.hint.as_deref().unwrap_or("-");
                format!("{}\t{position}\t{}\t{hint}", error.sqlstate(), error.message())
            }
        };
        let expected = format!("{sqlstate}\t{position}\t{message}\t{hint}");
        if answer != expected {
            wrong.push(format!("{statement}\n  expected {expected}\n  answered {answer}"));
        }
    }
    assert!(compared > 100, "the golden file is not where it was");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
