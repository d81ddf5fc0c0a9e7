//! A decision by the name or the source of a function or operator is only for built-in ones: it
//! compares `built_in_name()` and `built_in_source()`, never `name` and `source()`, which a
//! function of a user may share.

use std::fs;
use std::path::{Path, PathBuf};

/// The places where plans are made and calls are given their code.
const PLACES: [&str; 9] = [
    "sql/src/bind/collation.rs",
    "sql/src/deparse",
    "sql/src/expr.rs",
    "sql/src/planner",
    "exec/src/aggregate",
    "exec/src/constants.rs",
    "exec/src/node/window.rs",
    "exec/src/node/compile.rs",
    "exec/src/vector",
];

/// The names of variables for functions and operators in those places.
const CALLED: [&str; 5] = ["func", "function", "proc", "op", "operator"];

fn sources(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a directory of sources") {
            sources(&entry.expect("an entry").path(), found);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        found.push(path.to_owned());
    }
}

/// Whether a line compares a name or a source that may be a user's.
fn decides(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let compares = ["==", "!=", "match ", "matches!", "contains(", "starts_with(", "strip_"];
    let names = CALLED.iter().any(|called| {
        code.match_indices(&format!("{called}.name"))
            .any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric()))
    });
    (names || code.contains(".source()")) && compares.iter().any(|word| code.contains(word))
}

#[test]
fn names_decide_for_built_in_functions_alone() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates");
    let mut files = Vec::new();
    PLACES.iter().for_each(|place| sources(&crates.join(place), &mut files));
    assert!(files.len() > 60, "only {} files were looked at", files.len());
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a source");
        let lines = text.lines().enumerate().filter(|(_, line)| decides(line));
        found.extend(lines.map(|(i, line)| format!("{}:{}: {line}", file.display(), i + 1)));
    }
    assert!(found.is_empty(), "decided by the name of what may be a user's:\n{}", found.join("\n"));
}

#[test]
fn what_is_looked_for_is_found() {
    assert!(decides("if call.func.name == \"count\" {"));
    assert!(decides("let form = match function.source() {"));
    assert!(!decides("let form = match func.built_in_source()? {"));
    assert!(!decides("let name = &*call.func.name;"));
}
