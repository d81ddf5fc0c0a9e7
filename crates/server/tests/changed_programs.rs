//! The golden files with PL/pgSQL, run with some tokens of their functions changed.
//!
//! Every statement is answered, with rows or with an error that is not an internal one (XX000) unless it is
//! one in PostgreSQL, within statement_timeout. The session lives on after each. `make fuzz` runs other seeds.

mod support;

use std::path::Path;
use std::time::Duration;

use steppe_sql::parser::lexer::{Lexer, TokenKind};
use support::{Random, Raw, TestServer, rows, sqlstate};

/// Files that are run, if the environment does not say otherwise (STEPPE_SEEDS).
const RUNS: u64 = 40;
/// The longest that a statement may run. A changed loop may have no end.
const TIMEOUT_MS: u64 = 150;
/// A statement that does not end by then is not interrupted by its timeout.
const PATIENCE: Duration = Duration::from_secs(30);

/// Errors that are internal ones in PostgreSQL, too (elog).
const INTERNAL_THERE: [&str; 1] = ["unrecognized print_strict_params option"];

/// The tokens of a text, each with the blanks and comments before it.
fn tokens(text: &str) -> Vec<&str> {
    let (mut lexer, mut start, mut found) = (Lexer::new(text), 0, Vec::new());
    loop {
        let token = lexer.next_token();
        if token.kind == TokenKind::End {
            return found;
        }
        found.push(&text[start..token.end]);
        start = token.end;
    }
}

/// The text between the dollars of a token, with its place in the token.
fn body(token: &str) -> Option<(usize, &str)> {
    let start = token.find('$')?;
    let tag = &token[start..start + token[start + 1..].find('$')? + 2];
    let inside = token[start..].strip_prefix(tag)?.strip_suffix(tag)?;
    Some((start + tag.len(), inside))
}

/// A file's statements, each a list of tokens.
struct Program {
    name: String,
    statements: Vec<Vec<String>>,
}

impl Program {
    fn read(path: &Path) -> Option<Program> {
        if path.extension()? != "sql" {
            return None;
        }
        let text = std::fs::read_to_string(path).expect("a file of the corpus");
        if !text.contains("plpgsql") || text.starts_with("-- Sessions") {
            return None;
        }
        let is_sql = |line: &&str| !line.starts_with('\\');
        let text: String = text.split_inclusive('\n').filter(is_sql).collect();
        let tokens: Vec<String> = tokens(&text).into_iter().map(str::to_owned).collect();
        let ends = |token: &String| token.trim_start() == ";";
        let statements = tokens.split(ends).filter(|s| !s.is_empty()).map(<[String]>::to_vec);
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some(Program { name, statements: statements.collect() })
    }

    fn bodies(&self) -> impl Iterator<Item = (usize, usize)> {
        self.statements.iter().enumerate().flat_map(|(at, tokens)| {
            let is_body = |(_, token): &(usize, &String)| body(token).is_some();
            tokens.iter().enumerate().filter(is_body).map(move |(nth, _)| (at, nth))
        })
    }
}

fn corpus() -> Vec<Program> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql");
    let files = std::fs::read_dir(directory).expect("the corpus");
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    let programs: Vec<Program> = paths.iter().filter_map(|path| Program::read(path)).collect();
    assert!(programs.len() > 20, "the corpus is where it was");
    programs
}

/// A body after some changes, with tokens of another one.
fn changed(text: &str, other: &str, random: &mut Random) -> String {
    let (mut list, others) = (tokens(text), tokens(other));
    for _ in 0..1 + random.below(3) {
        if list.is_empty() || others.is_empty() {
            break;
        }
        let at = random.below(list.len() as u64) as usize;
        let from = random.below(others.len() as u64) as usize;
        match random.below(6) {
            0 => drop(list.remove(at)),
            1 => list.insert(at, list[at]),
            2 => {
                let with = random.below(list.len() as u64) as usize;
                list.swap(at, with);
            }
            3 => list[at] = others[from],
            4 => list.insert(at, others[from]),
            // Another statement or a part of one.
            _ => {
                let until = others.len().min(from + 2 + random.below(8) as usize);
                list.splice(at..at, others[from..until].iter().copied());
            }
        }
    }
    list.join(" ")
}

/// A file's statements with some of their bodies changed.
fn program(programs: &[Program], random: &mut Random) -> (String, Vec<String>) {
    let chosen = &programs[random.below(programs.len() as u64) as usize];
    let other = &programs[random.below(programs.len() as u64) as usize];
    let mut statements = chosen.statements.clone();
    let others: Vec<(usize, usize)> = other.bodies().collect();
    for (at, nth) in chosen.bodies() {
        if random.below(3) == 0 || others.is_empty() {
            continue;
        }
        let (of, by) = others[random.below(others.len() as u64) as usize];
        let (_, own) = body(&chosen.statements[at][nth]).expect("it is a body");
        let (_, foreign) = body(&other.statements[of][by]).expect("it is a body");
        let text = changed(own, foreign, random);
        statements[at][nth] = format!(" $changed${text}$changed$");
    }
    (chosen.name.clone(), statements.into_iter().map(|tokens| tokens.concat()).collect())
}

/// Runs the statements in an empty schema.
fn run(raw: &mut Raw, (name, statements): &(String, Vec<String>), seed: u64) -> u64 {
    let begin = format!(
        "drop schema if exists public cascade; create schema public; set statement_timeout = {TIMEOUT_MS}; \
         set client_min_messages = error"
    );
    assert_eq!(sqlstate(&raw.query(&begin)), None, "{name}, seed {seed}");
    let mut done = 0;
    for statement in statements {
        let answer = raw.query(statement);
        let is_whole = answer.last().is_some_and(|message| message.tag == b'Z');
        assert!(is_whole, "seed {seed}, {name}: no answer to\n{statement}");
        let state = sqlstate(&answer);
        let message = answer.iter().find(|m| m.tag == b'E').and_then(|error| error.field(b'M'));
        let is_known = |text: &String| INTERNAL_THERE.iter().any(|known| text.starts_with(known));
        let is_internal = state.as_deref().is_some_and(|state| state.starts_with("XX"))
            && !message.as_ref().is_some_and(is_known);
        assert!(!is_internal, "seed {seed}, {name}: {message:?} of\n{statement}");
        done += u64::from(state.is_none());
    }
    done
}

#[test]
fn changed_programs_end_without_an_internal_error() {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let first = number("STEPPE_FIRST_SEED").unwrap_or(1);
    let runs = number("STEPPE_SEEDS").unwrap_or(RUNS);
    let (programs, server) = (corpus(), TestServer::start());
    let mut done = 0;
    for seed in first..first + runs {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut raw = server.raw();
        raw.stream.set_read_timeout(Some(PATIENCE)).expect("a time-out is set");
        done += run(&mut raw, &program(&programs, &mut random), seed);
    }
    // Else nothing has been shown.
    assert!(done > runs * 5, "only {done} statements had no error");
    let mut raw = server.raw();
    assert_eq!(rows(&raw.query("select 'lives'")), [[Some("lives".to_owned())]]);
}
