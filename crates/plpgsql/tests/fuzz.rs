//! The corpus with tokens cut, doubled and swapped, deep nesting and long bodies.
//!
//! Parsing ends with a program, or with an error whose position is in the body. It never panics, and
//! takes time in proportion to the body's length. `make fuzz` goes on without end.

#![allow(missing_docs)]

mod support;

use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use steppe_plpgsql::tree::{Program, Slot};
use steppe_plpgsql::{CompileError, NESTING_MAX, parse};
use steppe_sql::parser::lexer::{Lexer, TokenKind};
use support::{Entry, Schema, corpus};

/// The tokens of a body, each with the blanks before it.
fn tokens(body: &str) -> Vec<&str> {
    let (mut lexer, mut start, mut found) = (Lexer::new(body), 0, Vec::new());
    loop {
        let token = lexer.next_token();
        if token.kind == TokenKind::End {
            return found;
        }
        found.push(&body[start..token.end]);
        start = token.end;
    }
}

/// One change of a list of tokens.
#[derive(Clone, Debug)]
enum Change {
    Cut(Index),
    Double(Index),
    Swap(Index, Index),
    Replace(Index, Index),
    End(Index),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        any::<Index>().prop_map(Change::Cut),
        any::<Index>().prop_map(Change::Double),
        any::<(Index, Index)>().prop_map(|(a, b)| Change::Swap(a, b)),
        any::<(Index, Index)>().prop_map(|(a, b)| Change::Replace(a, b)),
        any::<Index>().prop_map(Change::End),
    ];
    vec(change, 1..4)
}

fn changed(body: &str, other: &str, changes: &[Change]) -> String {
    let mut list = tokens(body);
    let others = tokens(other);
    for change in changes {
        if list.is_empty() {
            break;
        }
        let length = list.len();
        match change {
            Change::Cut(at) => {
                list.remove(at.index(length));
            }
            Change::Double(at) => list.insert(at.index(length), list[at.index(length)]),
            Change::Swap(a, b) => list.swap(a.index(length), b.index(length)),
            Change::Replace(at, from) if !others.is_empty() => {
                list[at.index(length)] = others[from.index(others.len())];
            }
            Change::Replace(..) => {}
            Change::End(at) => list.truncate(at.index(length)),
        }
    }
    list.join(" ")
}

fn run(entry: &Entry, body: &str, checks: bool) -> Result<Program, CompileError> {
    parse(body, &entry.signature, &entry.options, &mut Schema { checks })
}

/// Every slot that a slot points to is in the frame.
fn check_frame(program: &Program) {
    let known = |id: steppe_plpgsql::tree::SlotId| (id.0 as usize) < program.slots.len();
    for slot in &program.slots {
        match slot {
            Slot::Field(field) => assert!(known(field.record)),
            Slot::Row(row) => assert!(row.fields.iter().all(|(_, slot)| known(*slot))),
            _ => {}
        }
    }
    assert!(program.arguments.iter().all(|slot| known(*slot)));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_bodies_end_in_a_program_or_an_error(
        at in any::<Index>(), other in any::<Index>(), changes in changes(), checks in any::<bool>()
    ) {
        let entries = corpus();
        let entry = &entries[at.index(entries.len())];
        let body = changed(entry.body, entries[other.index(entries.len())].body, &changes);
        match run(entry, &body, checks) {
            Ok(program) => check_frame(&program),
            Err(failed) => {
                let lines = body.lines().count().max(1) as u32;
                prop_assert!(failed.near_line <= lines, "{failed:?}");
                let characters = body.chars().count() as u32;
                let position = failed.in_command().fields().position;
                prop_assert!(position.is_none_or(|at| (1..=characters + 1).contains(&at)));
            }
        }
    }

    #[test]
    fn any_text_ends_in_an_error(body in "\\PC{0,60}") {
        let entries = corpus();
        let _ = run(&entries[0], &body, false);
        let _ = run(&entries[0], &format!("declare {body}; begin {body}; end"), false);
    }
}

#[test]
fn deep_nesting_is_refused_without_a_stack_overflow() {
    let entries = corpus();
    let forms = [
        ("begin ", "end;"),
        ("begin if true then ", "end if; end;"),
        ("begin case when true then ", "end case; end;"),
        ("begin null; exception when others then ", "end;"),
        ("begin loop ", "end loop; end;"),
    ];
    for (open, close) in forms {
        for depth in [NESTING_MAX / 4, 10_000] {
            let body = format!("{}{}", open.repeat(depth), close.repeat(depth));
            match run(&entries[0], &body, false) {
                Ok(program) => drop(program),
                Err(failed) => {
                    assert_eq!(failed.error.sqlstate().as_str(), "54001", "{open} {depth}");
                    assert_eq!(failed.error.message(), "stack depth limit exceeded");
                    assert!(depth > NESTING_MAX / 4, "{open}");
                }
            }
        }
    }
    // Blocks that do not end are refused, too.
    let failed = run(&entries[0], &"begin ".repeat(10_000), false);
    assert!(failed.is_err_and(|failed| failed.error.sqlstate().as_str() == "54001"));
}

/// The time of the fastest of three runs.
fn fastest(entry: &Entry, body: &str) -> Duration {
    let once = || {
        let start = Instant::now();
        assert!(run(entry, body, false).is_ok());
        start.elapsed()
    };
    once().min(once()).min(once())
}

#[test]
fn time_is_linear() {
    let entries = corpus();
    let body = |size: usize| {
        let mut body = String::from("declare r record;\n");
        (0..size).for_each(|n| body.push_str(&format!("v{n} integer := {n};\n")));
        body.push_str("begin\n");
        (0..size).for_each(|n| body.push_str(&format!("v{n} := v{n} + 1; r.f{n} := f({n});\n")));
        body.push_str("end");
        body
    };
    let (small, large) = (body(1_000), body(10_000));
    let (small, large) = (fastest(&entries[0], &small), fastest(&entries[0], &large));
    // Ten times the text; quadratic time would be a hundred times.
    assert!(large < small * 40, "{small:?} and {large:?}");
}
