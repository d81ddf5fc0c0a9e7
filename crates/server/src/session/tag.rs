//! Command tags.

use steppe_sql::query::Command;
use steppe_wire::backend;

/// What CommandComplete says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CommandTag {
    /// A whole tag.
    Plain(&'static str),
    /// A verb and a row count.
    Rows(&'static str, u64),
    /// Nothing is said: the statement was empty.
    Empty,
}

impl CommandTag {
    /// The tag of a planned statement.
    pub(super) fn of_command(command: Command, rows: u64) -> CommandTag {
        CommandTag::Rows(
            match command {
                Command::Select => "SELECT",
                Command::Insert => "INSERT 0",
                Command::Update => "UPDATE",
                Command::Delete => "DELETE",
            },
            rows,
        )
    }

    /// The tag of a part of the rows.
    pub(super) fn of_rows(&self, rows: u64) -> CommandTag {
        match self {
            CommandTag::Rows(verb, _) => CommandTag::Rows(verb, rows),
            other => other.clone(),
        }
    }

    /// Appends CommandComplete.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        match self {
            CommandTag::Plain(tag) => backend::command_complete(out, tag),
            CommandTag::Rows(verb, rows) => backend::command_complete_rows(out, verb, *rows),
            CommandTag::Empty => backend::empty_query_response(out),
        }
    }
}
