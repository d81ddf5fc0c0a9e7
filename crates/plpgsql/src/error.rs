//! Errors of a body, in PostgreSQL's words, and how a command reports them.
//!
//! Inside this crate an error's position counts the characters of the body. PostgreSQL moves it to
//! the text of the command that holds the body where it can, and then says no more; an error with
//! no position gets the line that the compiler was at.

use steppe_types::{Error, SqlState};

/// An error of the compilation of a body.
#[derive(Clone, Debug)]
pub struct CompileError {
    /// The error. Its position, if any, counts the characters of the body, from 1.
    pub error: Error,
    /// The line of the body that the compiler had reached, from 1.
    pub near_line: u32,
    /// The function's name.
    pub function: String,
    /// The warnings before it, in order.
    pub warnings: Vec<Error>,
}

impl CompileError {
    /// The error of CREATE FUNCTION or DO. One with a position has no context: the caller moves the
    /// position to the command's text.
    pub fn in_command(self) -> Error {
        if self.error.fields().position.is_some() { self.error } else { self.at_call() }
    }

    /// The error of a call that compiles the function again.
    pub fn at_call(self) -> Error {
        let line = self.context_line();
        let context = match self.error.fields().context.as_deref() {
            Some(inner) => format!("{inner}\n{line}"),
            None => line,
        };
        self.error.context(context)
    }

    fn context_line(&self) -> String {
        format!(
            "compilation of PL/pgSQL function \"{}\" near line {}",
            self.function, self.near_line
        )
    }
}

/// A place as an error's position: characters, from 1.
pub(crate) fn position(body: &str, offset: usize) -> Option<u32> {
    let before = body.get(..offset)?;
    u32::try_from(before.chars().count() + 1).ok()
}

/// A byte of the body, for a position that counts the characters from `start`.
pub(crate) fn moved(body: &str, start: usize, inner: Option<u32>) -> Option<u32> {
    let first = position(body, start)?;
    Some(inner.map_or(first, |inner| first.saturating_add(inner).saturating_sub(1)))
}

/// 54001: blocks or loops nest deeper than the parser follows.
pub(crate) fn too_deep() -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").hint(
        "Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), after \
         ensuring the platform's stack depth limit is adequate.",
    )
}
