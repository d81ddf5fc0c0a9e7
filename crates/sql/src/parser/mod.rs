//! The façade over the parser: text in, our own syntax tree out.
//!
//! ```text
//! text ──> PostgreSQL 18's own lexer and grammar (pg_raw_parse)
//!              │ raw tree in C memory          │ message
//!              v                               v
//!           lower: crate::ast           error: SQLSTATE, position
//! ```
//!
//! [`parse`] guarantees:
//!
//! * A text is split into statements exactly as PostgreSQL splits it, since it is
//!   PostgreSQL's grammar that does.
//! * Raw trees stay in this module.
//! * Stack overflow is impossible for any input. The grammar's own stack is bounded at 10,000
//!   entries, lowering moves to fresh stack as it descends, and a tree deeper than [`MAX_DEPTH`] is
//!   refused with 54001.
//! * Parsing returns for any input, without a panic. The binding panics on lists that it has
//!   mistyped, which is why they are read through `lower::items`. Any other panic is caught and
//!   makes the statement unsupported.
//!
//! Statements and clauses about nodes are not PostgreSQL's. They are read in front of the grammar
//! ([`nodes`]).
//!
//! [`literals`] finds statements of one shape without parsing them.

mod comments;
mod cursor;
mod error;
pub mod lexer;
pub mod literals;
mod lower;
mod nodes;
pub mod normalize;
pub mod prosrc;
pub mod rows;
mod truncate;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pg_raw_parse::{Node, Owned, StmtList};
use steppe_types::Result;

pub(crate) use self::error::too_deep;
pub use self::truncate::{NAME_BYTES_MAX, truncation_notices};

use self::lower::{Failure, Lower};
use crate::ast::{Location, Statement, UnsupportedStmt};

/// The deepest tree that [`parse`] returns, in nodes from a statement's root.
///
/// PostgreSQL's limit is its stack (max_stack_depth): with its default of 2 MB,
/// chains of 3,000 operators pass and of 5,000 do not.
pub const MAX_DEPTH: usize = 3000;

/// Stack that the grammar may need: its tables live on the heap past 200 entries.
const GRAMMAR_STACK: usize = 256 * 1024;

/// A statement and where it stands in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedStatement {
    /// The statement.
    pub statement: Statement,
    /// Its bytes in the text: from its first token to its last, without the
    /// semicolon.
    pub range: Range<usize>,
}

impl ParsedStatement {
    /// The statement's own text.
    pub fn text<'a>(&self, source: &'a str) -> &'a str {
        source.get(self.range.clone()).unwrap_or_default()
    }
}

/// Parses a text of any number of statements; empty ones vanish.
///
/// Locations in the trees are byte offsets into `source`.
pub fn parse(source: &str) -> Result<Vec<ParsedStatement>> {
    if source.as_bytes().contains(&0) {
        return Err(error::embedded_nul());
    }
    let flattened = comments::flattened(source)?;
    nodes::parse(&flattened).unwrap_or_else(|| grammar(source, &flattened))
}

/// The statements that PostgreSQL's grammar reads. `text` is `source` with other characters in some places,
/// which the grammar is to skip.
fn grammar(source: &str, text: &str) -> Result<Vec<ParsedStatement>> {
    let tree = stacker::maybe_grow(GRAMMAR_STACK, 4 * GRAMMAR_STACK, || {
        raw_parse(text).map_err(|message| {
            let error = error::from_message(&message, text);
            error::moved(error, text, source)
        })
    })?;
    if let Some(error) = error::junk_after_parameter(source) {
        return Err(error);
    }
    let mut statements = Vec::with_capacity(tree.len());
    for raw in tree.iter() {
        statements.push(ParsedStatement {
            statement: lower(raw.stmt(), source)?,
            range: statement_range(raw.stmt_location, raw.stmt_len, source),
        });
    }
    Ok(statements)
}

/// The raw tree, or the parser's message.
fn raw_parse(source: &str) -> Result<Owned<StmtList>, String> {
    let parsed = pg_raw_parse::parse(source).map(pg_raw_parse::ParseResult::into_inner);
    parsed.map_err(|failure| match failure {
        pg_raw_parse::Error::Parse(error) => error.to_string(),
        other => other.to_string(),
    })
}

fn lower(node: Node<'_>, source: &str) -> Result<Statement> {
    // The second line, behind `lower::items`. A caught panic leaves no state half-changed.
    let lowered = catch_unwind(AssertUnwindSafe(|| Lower::new().statement(node)));
    match lowered {
        Ok(Ok(statement)) => Ok(statement),
        Ok(Err(Failure::Unsupported(what, location))) => {
            Ok(Statement::Unsupported(UnsupportedStmt { what: what.into_owned(), location }))
        }
        Ok(Err(Failure::TooDeep)) => Err(error::too_deep()),
        Ok(Err(Failure::Syntax(location))) => Err(error::syntax_error_at(source, location)),
        Ok(Err(Failure::Refused(error, location))) => Err(error.at(location.position(source))),
        Err(_) => Ok(Statement::Unsupported(UnsupportedStmt {
            what: "this form of the statement".to_owned(),
            location: Location::NONE,
        })),
    }
}

/// A statement's bytes: a length of 0 means up to the end of the text.
fn statement_range(location: i32, length: i32, source: &str) -> Range<usize> {
    let start = usize::try_from(location).unwrap_or(0).min(source.len());
    let end = match usize::try_from(length) {
        Ok(length) if length > 0 => (start + length).min(source.len()),
        _ => source.len(),
    };
    let text = source.get(start..end).unwrap_or_default();
    let trimmed = text.trim_ascii_start();
    let start = start + (text.len() - trimmed.len());
    start..start + trimmed.trim_ascii_end().len()
}
