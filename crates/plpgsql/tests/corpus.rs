//! Bodies good and bad, against PostgreSQL 18's answers: `record.py` asks it again.

#![allow(missing_docs)]

mod support;

use steppe_plpgsql::parse;
use steppe_types::Error;
use support::{ANSWERS, Schema, corpus};

fn escaped(text: &str) -> String {
    text.replace('\n', "\\n").replace('\t', "\\t")
}

/// An error as a line of the answers, without the number.
fn line(error: Option<&Error>, warnings: &[Error]) -> String {
    let place = |error: &Error| error.fields().position.map_or(String::new(), |at| at.to_string());
    let warnings: Vec<String> = warnings
        .iter()
        .map(|warning| format!("{} {}", place(warning), warning.message()))
        .collect();
    let warnings = escaped(&warnings.join(";"));
    let Some(error) = error else { return format!("00000\t\t\t\t\t\t{warnings}") };
    let fields = error.fields();
    let optional = |text: &Option<String>| escaped(text.as_deref().unwrap_or_default());
    format!(
        "{}\t{}\t{}\t{}\t{}\t{}\t{warnings}",
        error.sqlstate(),
        place(error),
        escaped(error.message()),
        optional(&fields.detail),
        optional(&fields.hint),
        optional(&fields.context),
    )
}

#[test]
fn answers_are_postgresqls() {
    let mut failures = String::new();
    let entries = corpus();
    assert_eq!(entries.len(), ANSWERS.lines().count(), "record.py has not been run");
    for (number, (entry, answer)) in entries.iter().zip(ANSWERS.lines()).enumerate() {
        let expected = answer.split_once('\t').map_or("", |(_, rest)| rest);
        let mut schema = Schema { checks: true };
        let result = parse(entry.body, &entry.signature, &entry.options, &mut schema);
        let got = match result {
            Ok(program) => line(None, &program.warnings),
            Err(failed) => {
                let warnings = failed.warnings.clone();
                line(Some(&failed.in_command()), &warnings)
            }
        };
        if got != expected {
            failures.push_str(&format!(
                "{number}: {}\n{}\n  expected {expected}\n  got      {got}\n",
                entry.head, entry.body
            ));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
