//! Command tags.

use steppe_sql::query::Command;
use steppe_wire::{backend, frame};

/// The content of CommandComplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CommandTag {
    /// A whole tag.
    Plain(&'static str),
    /// A verb and a row count.
    Rows(&'static str, u64),
    /// EmptyQueryResponse instead of a tag.
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

/// Whether a client's messages are only tags of changed rows or of BEGIN. In a block, these promise
/// nothing yet. A tag that shows that *no* row was changed does not count, because the client may
/// act on it.
pub(super) fn only_tags_of_changes(mut messages: &[u8]) -> bool {
    while let Ok(Some(message)) = frame::peek_backend(messages) {
        let harmless = match message.tag {
            // ParseComplete, BindComplete, CloseComplete, NoData, ReadyForQuery
            b'1' | b'2' | b'3' | b'n' | b'Z' => true,
            b'C' => is_of_change(message.body),
            _ => false,
        };
        if !harmless {
            return false;
        }
        messages = &messages[message.wire_len()..];
    }
    messages.is_empty()
}

/// `INSERT 0 1`, `UPDATE 3`, `DELETE 2`, BEGIN
fn is_of_change(tag: &[u8]) -> bool {
    let verbs: [&[u8]; 4] = [b"INSERT ", b"UPDATE ", b"DELETE ", b"BEGIN\0"];
    verbs.iter().any(|verb| tag.starts_with(verb)) && !tag.ends_with(b" 0\0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_wire::TransactionStatus::InTransaction;

    #[test]
    fn rows_and_their_absence_are_told_by_more_than_tags() {
        let messages = |put: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            backend::bind_complete(&mut out);
            backend::no_data(&mut out);
            put(&mut out);
            backend::ready_for_query(&mut out, InTransaction);
            only_tags_of_changes(&out)
        };
        let tag = |tag: CommandTag| messages(&|out| tag.put(out));
        assert!(tag(CommandTag::Plain("BEGIN")));
        for command in [Command::Insert, Command::Update, Command::Delete] {
            assert!(tag(CommandTag::of_command(command, 10)), "{command:?}");
            assert!(!tag(CommandTag::of_command(command, 0)), "{command:?}");
        }
        assert!(!tag(CommandTag::of_command(Command::Select, 0)));
        assert!(!tag(CommandTag::Plain("COMMIT")));
        assert!(!tag(CommandTag::Empty));
        let error = steppe_types::Error::internal("said");
        assert!(!messages(&|out| backend::error_response(out, &error)));
        let row = |out: &mut Vec<u8>| steppe_wire::DataRow::begin(out).finish().expect("fits");
        assert!(!messages(&row));
        assert!(!only_tags_of_changes(b"C\0\0\0"), "half a message");
    }
}
