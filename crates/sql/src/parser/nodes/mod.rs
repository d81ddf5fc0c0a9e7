//! Statements and clauses about nodes, which are Postgres-XL's and which PostgreSQL's grammar does
//! not have.
//!
//! They are found by the text's tokens in front of the grammar, which reads the rest:
//!
//! ```text
//! source    create table t (a int) distribute by hash (a); drop node dn1; select 1
//! to read   create table t (a int)                       ;              ; select 1
//! ```
//!
//! A whole statement is read here ([`statements`]), and so is a clause ([`clauses`]), which is then
//! put into the tree of its statement. Spaces take the place of either, so that all other places in
//! the text stay what they are. In place of an action of ALTER TABLE the grammar reads the shortest
//! one there is, since a statement must have one.
//!
//! Guarantees:
//!
//! * A text that has none of these reads as without this module. Most texts do not even have the
//!   words ([`words`]), and no token of them is looked at.
//! * Where PostgreSQL's grammar accepts a text, this module finds nothing in it: each statement and
//!   clause begins with words that the grammar refuses there. [`split`] may be mistaken about the
//!   beginning of a statement. So what was found is compared with the grammar's statements, and is a
//!   syntax error where it is inside another one, as in a function's body.
//! * The error that is reported is the first one in the text, the grammar's or this module's.

mod clauses;
mod reader;
mod split;
mod statements;
mod words;

use steppe_types::{Error, Result};

use self::clauses::{Added, Clause, Refused};
use self::split::Split;
use super::ParsedStatement;
use super::error::syntax_error_at;
use crate::ast::{AlterTableCommand, Statement};

/// In place of an action of ALTER TABLE: shorter than any action that is found here.
const NO_ACTION: &str = "NOT OF";

/// The words that the statements begin with.
const FIRST_WORDS: &[&str] = &["create", "alter", "drop", "execute"];

/// The statements and clauses of a text.
#[derive(Default)]
struct Found {
    statements: Vec<ParsedStatement>,
    clauses: Vec<Clause>,
    /// The first one that could not be read. The text behind it has not been looked at.
    refused: Option<Refused>,
}

/// Parses a text that has the statements or clauses. `None`: it has none.
pub(super) fn parse(source: &str) -> Option<Result<Vec<ParsedStatement>>> {
    if !words::may_be_in(source) {
        return None;
    }
    let found = Found::in_text(source);
    let is_empty = found.statements.is_empty() && found.clauses.is_empty();
    if is_empty && found.refused.is_none() {
        return None;
    }
    Some(found.parse(source))
}

impl Found {
    fn in_text(source: &str) -> Found {
        let mut found = Found::default();
        let mut split = Split::new(source);
        while let Some(tokens) = split.next(FIRST_WORDS) {
            let (Some(first), Some(last)) = (tokens.tokens.first(), tokens.tokens.last()) else {
                continue;
            };
            let read = match statements::read(source, &tokens) {
                Some(Ok(statement)) => {
                    let range = first.start..last.end;
                    found.statements.push(ParsedStatement { statement, range });
                    continue;
                }
                Some(Err(error)) => Err(Refused { start: first.start, error }),
                None => clauses::read(source, &tokens, &mut found.clauses),
            };
            if let Err(refused) = read {
                found.refused = Some(refused);
                break;
            }
        }
        found
    }

    fn parse(self, source: &str) -> Result<Vec<ParsedStatement>> {
        let text = self.for_grammar(source);
        let parsed = super::grammar(source, &text);
        if let Some(refused) = self.refused {
            // The text ends where the clause begins, so an error at its end is none.
            let end = text.trim_ascii_end().len();
            return Err(match parsed {
                Err(error) if !is_at(&error, source, end) => error,
                _ => refused.error,
            });
        }
        let mut parsed = parsed?;
        for clause in self.clauses {
            put_into(&mut parsed, clause, source)?;
        }
        merged(parsed, self.statements, source)
    }

    /// The text for PostgreSQL's grammar. It ends where something could not be read.
    fn for_grammar(&self, source: &str) -> String {
        let end = self.refused.as_ref().map_or(source.len(), |refused| refused.start);
        let mut cuts: Vec<_> = self.statements.iter().map(|s| (s.range.clone(), "")).collect();
        cuts.extend(self.clauses.iter().map(|clause| match clause.added {
            Added::Distribution(_) => (clause.range.clone(), ""),
            Added::Action(..) => (clause.range.clone(), NO_ACTION),
        }));
        cuts.sort_by_key(|(range, _)| range.start);
        let (mut text, mut copied) = (String::with_capacity(source.len()), 0);
        for (range, instead) in cuts {
            debug_assert!(copied <= range.start && instead.len() <= range.len());
            text.push_str(&source[copied..range.start]);
            text.push_str(instead);
            text.extend(std::iter::repeat_n(' ', range.len() - instead.len()));
            copied = range.end;
        }
        text.push_str(source.get(copied..end).unwrap_or_default());
        text
    }
}

/// Whether an error is at this byte of the text or behind it.
fn is_at(error: &Error, source: &str, end: usize) -> bool {
    let end = reader::location(end).position(source);
    error.fields().position.zip(end).is_some_and(|(position, end)| position >= end)
}

/// Puts a clause into its statement.
fn put_into(parsed: &mut [ParsedStatement], clause: Clause, source: &str) -> Result<()> {
    let place = reader::location(clause.range.start);
    let holds = |parsed: &&mut ParsedStatement| parsed.range.contains(&clause.range.start);
    let statement = parsed.iter_mut().find(holds).map(|parsed| &mut parsed.statement);
    match (statement, clause.added) {
        (Some(Statement::CreateTable(create)), Added::Distribution(distribution)) => {
            create.distribution = Some(Box::new(distribution));
        }
        (Some(Statement::CreateTableAs(create)), Added::Distribution(distribution))
            if !create.materialized_view =>
        {
            create.into.distribution = Some(Box::new(distribution));
        }
        (Some(Statement::AlterTable(alter)), Added::Action(nth, command)) => {
            let is_not_of = |command: &&mut AlterTableCommand| {
                matches!(
                    command,
                    AlterTableCommand::NotOf
                        | AlterTableCommand::DistributeBy(_)
                        | AlterTableCommand::ToNodes(_)
                        | AlterTableCommand::AddNodes(_)
                        | AlterTableCommand::DeleteNodes(_)
                )
            };
            match alter.commands.iter_mut().filter(is_not_of).nth(nth) {
                Some(not_of) => *not_of = command,
                None => return Err(syntax_error_at(source, place)),
            }
        }
        // It raises 0A000 for another reason when it is run.
        (Some(Statement::Unsupported(_)), _) => {}
        _ => return Err(syntax_error_at(source, place)),
    }
    Ok(())
}

/// All statements in the order of the text; 42601 if one of `own` is inside one of `parsed`.
fn merged(
    parsed: Vec<ParsedStatement>,
    own: Vec<ParsedStatement>,
    source: &str,
) -> Result<Vec<ParsedStatement>> {
    let mut all = parsed;
    all.extend(own);
    all.sort_by_key(|statement| statement.range.start);
    match all.windows(2).find(|pair| pair[1].range.start < pair[0].range.end) {
        Some(pair) => Err(syntax_error_at(source, reader::location(pair[1].range.start))),
        None => Ok(all),
    }
}
