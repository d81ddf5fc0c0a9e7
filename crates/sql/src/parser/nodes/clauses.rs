//! DISTRIBUTE BY and TO in CREATE TABLE [AS], and the actions of ALTER TABLE (gram.y of
//! Postgres-XL 10).
//!
//! ```text
//! CREATE TABLE t (…) [DISTRIBUTE BY method] [TO NODE (…) | TO GROUP g] [AS query]
//! ALTER TABLE t {DISTRIBUTE BY method | TO … | ADD NODE (…) | DELETE NODE (…)} [, …]
//! ```
//!
//! A clause begins with two words that PostgreSQL's grammar refuses in that place: a table or column
//! of such a name is none (`ALTER TABLE t ADD node int`).

use std::ops::Range;

use steppe_types::{Error, Result, SqlState};

use super::reader::Reader;
use super::split::Tokens;
use crate::ast::{AlterTableCommand, DistributeBy, Distribution, DistributionMethod, NodeSet};

/// The part of the tree that a clause is.
pub(super) enum Added {
    /// To CREATE TABLE [AS].
    Distribution(Distribution),
    /// To ALTER TABLE: in place of its nth NOT OF, counted from 0. The grammar reads a NOT OF where
    /// the action is.
    Action(usize, AlterTableCommand),
}

/// A clause and where it stands in the text.
pub(super) struct Clause {
    pub(super) range: Range<usize>,
    pub(super) added: Added,
}

/// An error in a statement or a clause, and the beginning of that.
pub(super) struct Refused {
    pub(super) start: usize,
    pub(super) error: Error,
}

/// Reads the clauses of a statement, up to one that cannot be read. Only CREATE TABLE and ALTER TABLE
/// have some.
pub(super) fn read(
    source: &str,
    tokens: &Tokens,
    clauses: &mut Vec<Clause>,
) -> Result<(), Refused> {
    let mut reader = Reader::new(source, tokens, 0);
    if reader.skip(&["alter", "table"]) {
        return actions(&mut reader, clauses);
    }
    if reader.skip(&["create"]) {
        let is_kind = ["global", "local", "temp", "temporary", "unlogged"];
        while is_kind.iter().any(|word| reader.skip(&[word])) {}
        if reader.skip(&["table"]) {
            clauses.extend(distribution(&mut reader)?);
        }
    }
    Ok(())
}

/// The distribution of a new table.
fn distribution(reader: &mut Reader<'_>) -> Result<Option<Clause>, Refused> {
    let begins = |reader: &Reader<'_>| {
        [["distribute", "by"], ["to", "node"], ["to", "group"]].iter().any(|words| reader.is(words))
    };
    // The words after AS are the query's.
    while !begins(reader) {
        if reader.is_at_end() || reader.is(&["as"]) {
            return Ok(None);
        }
        reader.skip_enclosed();
    }
    let start = reader.start();
    let read = whole_distribution(reader).map_err(|error| Refused { start, error })?;
    let range = start..reader.end_of_last();
    Ok(Some(Clause { range, added: Added::Distribution(read) }))
}

fn whole_distribution(reader: &mut Reader<'_>) -> Result<Distribution> {
    let location = reader.location();
    let by = reader.skip(&["distribute", "by"]).then(|| distribute_by(reader)).transpose()?;
    let to = reader.skip(&["to"]).then(|| node_set(reader)).transpose()?;
    if !reader.is_at_end() && !reader.is(&["as"]) {
        return Err(reader.unexpected());
    }
    Ok(Distribution { by, to, location })
}

/// The actions of ALTER TABLE that are about nodes.
fn actions(reader: &mut Reader<'_>, clauses: &mut Vec<Clause>) -> Result<(), Refused> {
    skip_relation(reader);
    let mut not_ofs = 0;
    while !reader.is_at_end() {
        let start = reader.start();
        match action(reader).map_err(|error| Refused { start, error })? {
            Some(command) => {
                let range = start..reader.end_of_last();
                clauses.push(Clause { range, added: Added::Action(not_ofs, command) });
                not_ofs += 1;
            }
            None => not_ofs += usize::from(reader.is(&["not", "of"])),
        }
        while !reader.is_at_end() && !reader.is_mark(0, b',') {
            reader.skip_enclosed();
        }
        reader.skip_mark(b',');
    }
    Ok(())
}

/// `[IF EXISTS] [ONLY] name [*]`. Where the text has something else, the grammar refuses it.
fn skip_relation(reader: &mut Reader<'_>) {
    reader.skip(&["if", "exists"]);
    reader.skip(&["only"]);
    // The name, maybe in parentheses.
    reader.skip_enclosed();
    while reader.skip_mark(b'.') {
        reader.skip_enclosed();
    }
    if reader.is_operator("*") {
        reader.skip_enclosed();
    }
}

/// The present action if it is about nodes.
fn action(reader: &mut Reader<'_>) -> Result<Option<AlterTableCommand>> {
    let command = if reader.skip(&["distribute", "by"]) {
        AlterTableCommand::DistributeBy(distribute_by(reader)?)
    } else if reader.is(&["to", "node"]) || reader.is(&["to", "group"]) {
        reader.skip(&["to"]);
        AlterTableCommand::ToNodes(node_set(reader)?)
    } else if reader.is(&["add", "node"]) && reader.is_mark(2, b'(') {
        reader.skip(&["add", "node"]);
        AlterTableCommand::AddNodes(reader.names_in_parentheses()?)
    } else if reader.skip(&["delete", "node"]) {
        AlterTableCommand::DeleteNodes(reader.names_in_parentheses()?)
    } else {
        return Ok(None);
    };
    if reader.is_at_end() || reader.is_mark(0, b',') {
        return Ok(Some(command));
    }
    Err(reader.unexpected())
}

/// The method, after DISTRIBUTE BY.
fn distribute_by(reader: &mut Reader<'_>) -> Result<DistributeBy> {
    let mut location = reader.location();
    let named = [
        ("hash", DistributionMethod::Hash),
        ("modulo", DistributionMethod::Modulo),
        ("range", DistributionMethod::Range),
        ("roundrobin", DistributionMethod::RoundRobin),
        ("replication", DistributionMethod::Replication),
    ];
    let Some((_, method)) = named.into_iter().find(|(word, _)| reader.skip(&[word])) else {
        return Err(reader.unknown_method());
    };
    let mut column = None;
    if !matches!(method, DistributionMethod::RoundRobin | DistributionMethod::Replication) {
        if !reader.skip_mark(b'(') {
            return Err(reader.unexpected());
        }
        location = reader.location();
        column = Some(reader.name()?);
        if !reader.skip_mark(b')') {
            return Err(reader.unexpected());
        }
    }
    Ok(DistributeBy { method, column, location })
}

/// The nodes, after TO.
fn node_set(reader: &mut Reader<'_>) -> Result<NodeSet> {
    if reader.skip(&["group"]) {
        return Ok(NodeSet::Group(reader.name()?));
    }
    reader.expect("node")?;
    reader.names().map(NodeSet::Nodes)
}

impl Reader<'_> {
    /// 42601 for a word that is no method.
    fn unknown_method(&self) -> Error {
        match self.word() {
            Some(word) => {
                let message = format!("unrecognized distribution option \"{word}\"");
                Error::new(SqlState::SYNTAX_ERROR, message).at(self.position())
            }
            None => self.unexpected(),
        }
    }
}
