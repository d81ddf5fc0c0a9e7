//! The running calls and statements, as an error, a notice and PG_CONTEXT show them (elog.c's
//! error_context_stack).
//!
//! ```text
//!   f(integer) line 3 at PERFORM ─▶ SQL statement "SELECT g()" ─▶ g() line 1 at RAISE
//! ```
//!
//! An error collects its lines while it leaves each of these, so the stack is read only for notices
//! and diagnostics. It belongs to the thread: calls are nested calls of this thread.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use steppe_types::Error;

use super::code::Code;

/// A phase of a call in which no statement runs, as context lines name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Statement,
    Storing,
    Entry,
    Declaration,
    BlockEntry,
    BlockExit,
    Cleanup,
    Exit,
    Casting,
}

impl Phase {
    fn text(self) -> &'static str {
        match self {
            Phase::Statement => "",
            Phase::Storing => "while storing call arguments into local variables",
            Phase::Entry => "during function entry",
            Phase::Declaration => "during statement block local variable initialization",
            Phase::BlockEntry => "during statement block entry",
            Phase::BlockExit => "during statement block exit",
            Phase::Cleanup => "during exception cleanup",
            Phase::Exit => "during function exit",
            Phase::Casting => "while casting return value to function's return type",
        }
    }

    fn of(number: u32) -> Phase {
        const ALL: [Phase; 9] = [
            Phase::Statement,
            Phase::Storing,
            Phase::Entry,
            Phase::Declaration,
            Phase::BlockEntry,
            Phase::BlockExit,
            Phase::Cleanup,
            Phase::Exit,
            Phase::Casting,
        ];
        ALL.get(number as usize).copied().unwrap_or(Phase::Statement)
    }
}

/// A running call: where it is.
#[derive(Debug)]
pub(super) struct Position {
    code: Arc<Code>,
    /// The statement's place ([`Code::places`]); 0 for none.
    place: AtomicU32,
    /// The phase, and the line of the variable that is declared.
    phase: AtomicU32,
    line: AtomicU32,
}

impl Position {
    pub(super) fn new(code: Arc<Code>) -> Position {
        let zero = || AtomicU32::new(0);
        Position { code, place: zero(), phase: zero(), line: zero() }
    }

    /// The running statement's place.
    #[inline]
    pub(super) fn place(&self) -> u32 {
        self.place.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set_place(&self, place: u32) {
        self.place.store(place, Ordering::Relaxed);
    }

    pub(super) fn set_phase(&self, phase: Phase) {
        self.set_phase_at(phase, 0);
    }

    /// A phase at a line that is not its statement's.
    pub(super) fn set_phase_at(&self, phase: Phase, line: u32) {
        self.phase.store(phase as u32, Ordering::Relaxed);
        self.line.store(line, Ordering::Relaxed);
    }

    /// The context line.
    pub(super) fn line(&self) -> String {
        let signature = &self.code.signature;
        let (line, name) = self.code.places.get(self.place() as usize).copied().unwrap_or_default();
        let phase = Phase::of(self.phase.load(Ordering::Relaxed));
        let line = match self.line.load(Ordering::Relaxed) {
            0 => line,
            line => line,
        };
        match (phase, line) {
            (Phase::Statement, 0) => format!("PL/pgSQL function {signature}"),
            (Phase::Statement, line) => {
                format!("PL/pgSQL function {signature} line {line} at {name}")
            }
            (phase, 0) => format!("PL/pgSQL function {signature} {}", phase.text()),
            (phase, line) => format!("PL/pgSQL function {signature} line {line} {}", phase.text()),
        }
    }
}

enum Entry {
    Call(Arc<Position>),
    Sql(Shown),
}

/// A piece of SQL as context lines show it.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) what: &'static str,
    pub(super) text: Arc<str>,
}

impl Shown {
    /// The context line.
    pub(super) fn line(&self) -> String {
        format!("{} \"{}\"", self.what, self.text)
    }

    /// The text of a whole statement.
    pub(super) fn statement(text: Arc<str>) -> Shown {
        Shown { what: "SQL statement", text }
    }

    /// An error of it: at a place in its text, or with a line that shows the text
    /// (_SPI_error_callback in spi.c).
    pub(super) fn located(&self, mut error: Error) -> Error {
        match error.in_query(&self.text) {
            true => error,
            false => error.within(self.line()),
        }
    }
}

thread_local! {
    static STACK: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

/// Takes an entry off again when it is dropped.
pub(super) struct Entered(());

impl Drop for Entered {
    fn drop(&mut self) {
        STACK.with(|stack| stack.borrow_mut().pop());
    }
}

/// A call begins.
pub(super) fn enter_call(position: &Arc<Position>) -> Entered {
    STACK.with(|stack| stack.borrow_mut().push(Entry::Call(Arc::clone(position))));
    Entered(())
}

/// A statement of the running call begins.
pub(super) fn enter_statement(shown: &Shown) -> Entered {
    STACK.with(|stack| stack.borrow_mut().push(Entry::Sql(shown.clone())));
    Entered(())
}

/// All context lines, the innermost first, but the `skipped` innermost ones.
pub(super) fn lines(skipped: usize) -> String {
    STACK.with(|stack| {
        let stack = stack.borrow();
        let lines = stack.iter().rev().skip(skipped).map(|entry| match entry {
            Entry::Call(position) => position.line(),
            Entry::Sql(shown) => shown.line(),
        });
        lines.collect::<Vec<_>>().join("\n")
    })
}
