//! The position where the grammar stopped. The safe binding keeps only the message of a parse
//! error, and this module fetches the rest.
//!
//! [`cursor`] parses a text that has just failed once more, through the binding's raw functions,
//! and reads the error's fields out of C memory. This module never sees a text that parses, so that
//! only errors pay.
//!
//! The module is the crate's only unsafe code. Its invariant: everything that C allocates during
//! the call lives either in a memory context that is deleted here or in one error that is freed
//! here. Returned values do not point at it.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char};
use std::ptr;

use pg_raw_parse::raw;

/// The fields of a parse error besides its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    /// The cursor position in characters, counted from 1. `None` where PostgreSQL has no position.
    pub(super) position: Option<u32>,
    /// Reported by the scanner itself, not on the grammar's behalf or after it.
    pub(super) in_scanner: bool,
}

/// The fields of the error that `source` fails to parse with. `None` if it does not fail, or holds
/// a NUL.
pub(super) fn cursor(source: &str) -> Option<Cursor> {
    let source = CString::new(source).ok()?;
    let context = Context::new();
    let error = context.parse_error(&source)?;
    Some(error.cursor())
}

/// A memory context that is deleted with all memory allocated in it.
struct Context(raw::MemoryContext);

impl Context {
    fn new() -> Context {
        // SAFETY: initialising is idempotent a thread. Only this module deletes a context without a
        // parent. Its name lives forever, as it has to.
        let context = unsafe {
            raw::pg_query_init();
            raw::AllocSetContextCreateInternal(
                ptr::null_mut(),
                c"parse error".as_ptr(),
                raw::ALLOCSET_DEFAULT_MINSIZE as raw::Size,
                raw::ALLOCSET_DEFAULT_INITSIZE as raw::Size,
                raw::ALLOCSET_DEFAULT_MAXSIZE as raw::Size,
            )
        };
        Context(context)
    }

    /// Parses in this context; the tree, if there is one, dies with it.
    fn parse_error(&self, source: &CStr) -> Option<ParseError> {
        let options = raw::PgQueryParseMode::PG_QUERY_PARSE_DEFAULT;
        // SAFETY: `source` ends in NUL and outlives the call. The parser catches its
        // own jumps, so that none crosses this frame, and nothing here panics before
        // the former context is current again.
        let parsed = unsafe {
            let former = raw::MemoryContextSwitchTo(self.0);
            let parsed = raw::pg_query_raw_parse(source.as_ptr(), options as _);
            raw::MemoryContextSwitchTo(former);
            parsed
        };
        if !parsed.stderr_buffer.is_null() {
            // SAFETY: made by strdup, and ours to free.
            unsafe { free(parsed.stderr_buffer.cast()) };
        }
        ptr::NonNull::new(parsed.error).map(ParseError)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: created in `new`, deleted once, and not the current context.
        unsafe { raw::MemoryContextDelete(self.0) };
    }
}

/// An error that the parser allocated and that we free.
struct ParseError(ptr::NonNull<raw::PgQueryError>);

impl ParseError {
    fn cursor(&self) -> Cursor {
        // SAFETY: the parser hands over a complete error, alive until `drop`.
        let fields = unsafe { self.0.as_ref() };
        Cursor {
            position: u32::try_from(fields.cursorpos).ok().filter(|position| *position > 0),
            in_scanner: is_scanner(fields.funcname),
        }
    }
}

impl Drop for ParseError {
    fn drop(&mut self) {
        // SAFETY: from the parser, freed once.
        unsafe { raw::pg_query_free_error(self.0.as_ptr()) };
    }
}

/// Whether the function that reported an error is the scanner.
fn is_scanner(function: *const c_char) -> bool {
    if function.is_null() {
        return false;
    }
    // SAFETY: not null, so that it is a string that strdup made, alive as the error is.
    let function = unsafe { CStr::from_ptr(function) };
    function == c"core_yylex"
}

unsafe extern "C" {
    /// The C library's: the parser allocates its results with the same library's malloc.
    fn free(memory: *mut std::ffi::c_void);
}

#[cfg(test)]
mod tests {
    use super::{Cursor, cursor};

    fn position(source: &str) -> Option<u32> {
        cursor(source).expect("the text does not parse").position
    }

    #[test]
    fn counts_characters_not_bytes() {
        assert_eq!(position("select 'é' x y"), Some(14));
        assert_eq!(position("select 'é' )"), Some(12));
        assert_eq!(position("select (1"), Some(10));
    }

    #[test]
    fn tells_the_scanner_from_the_grammar() {
        let expected = Cursor { position: Some(10), in_scanner: true };
        assert_eq!(cursor("select E'\\u00'"), Some(expected));
        let expected = Cursor { position: Some(10), in_scanner: false };
        assert_eq!(cursor("select 1 )"), Some(expected));
    }

    #[test]
    fn has_nothing_to_say_of_a_text_that_parses_or_cannot_be_passed() {
        assert_eq!(cursor("select 1"), None);
        assert_eq!(cursor("select \0"), None);
    }

    #[test]
    fn does_not_grow_memory() {
        for _ in 0..20_000 {
            assert_eq!(position("select )"), Some(8));
        }
    }
}
