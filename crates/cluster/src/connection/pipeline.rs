//! The requests that a node has not answered yet, and the prepared statements that it has.
//!
//! A statement is sent once to a connection and gets a name there, which is never used again. The
//! table is bounded: the statement that was not used for the longest time is closed.
//!
//! The table never names a statement that the node does not have. The node executes requests in
//! order, and skips all behind an error up to the next Sync. So the requests that change what is
//! prepared (Parse, Close) are kept in a queue with the ends of the cycles (Sync, Query). An answer
//! is matched with the front of the queue. ReadyForQuery ends a cycle: a Parse of this cycle that
//! was not answered was skipped and leaves the table, and a Close that was skipped is sent again.

use std::collections::VecDeque;

use foldhash::fast::RandomState;
use hashbrown::{Equivalent, HashMap};
use steppe_types::{Error, Oid, Result, SqlState};
use steppe_wire::client::send;
use steppe_wire::frontend::Target;

/// The most statements that a connection keeps prepared.
const MAX_STATEMENTS: usize = 256;
/// A longer text is prepared each time, without a name.
const MAX_TEXT: usize = 64 * 1024;

/// A name for a prepared statement; zero is the statement without a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(u64);

impl Name {
    pub(super) const UNNAMED: Name = Name(0);

    pub(super) fn text(self) -> String {
        if self == Name::UNNAMED { String::new() } else { format!("s{}", self.0) }
    }
}

/// A request whose answer changes the table, or ends a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Parse(Name),
    Close(Name),
    /// Close of a portal.
    ClosePortal,
    /// Sync, Query, or the start of the session: answered by ReadyForQuery.
    Cycle,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    text: Box<str>,
    types: Box<[Oid]>,
}

/// The same, borrowed. It hashes like [`Key`].
#[derive(Hash)]
struct KeyRef<'a> {
    text: &'a str,
    types: &'a [Oid],
}

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.text == &*key.text && self.types == &*key.types
    }
}

#[derive(Debug)]
struct Prepared {
    name: Name,
    last_used: u64,
}

#[derive(Debug, Default)]
pub(super) struct Pipeline {
    requests: VecDeque<Request>,
    statements: HashMap<Key, Prepared, RandomState>,
    /// Statements that the node has and the table no longer names.
    to_close: Vec<Name>,
    /// Counts uses, and names.
    clock: u64,
}

impl Pipeline {
    /// The number of ReadyForQuery that the node still owes.
    pub(super) fn cycles(&self) -> usize {
        self.requests.iter().filter(|request| **request == Request::Cycle).count()
    }

    /// Notes a request that ReadyForQuery answers.
    pub(super) fn cycle_sent(&mut self) {
        self.requests.push_back(Request::Cycle);
    }

    /// The name of a statement; appends its Parse, and the Close of another one that it displaces,
    /// unless the node has it.
    pub(super) fn prepare(&mut self, out: &mut Vec<u8>, text: &str, types: &[Oid]) -> Result<Name> {
        if text.len() > MAX_TEXT {
            return self.parse(out, Name::UNNAMED, text, types);
        }
        self.clock += 1;
        if let Some(prepared) = self.statements.get_mut(&KeyRef { text, types }) {
            prepared.last_used = self.clock;
            return Ok(prepared.name);
        }
        let name = self.parse(out, Name(self.clock), text, types)?;
        if self.statements.len() >= MAX_STATEMENTS {
            self.displace();
        }
        let key = Key { text: text.into(), types: types.into() };
        self.statements.insert(key, Prepared { name, last_used: self.clock });
        self.close_displaced(out);
        Ok(name)
    }

    /// Appends a Parse.
    pub(super) fn parse(
        &mut self,
        out: &mut Vec<u8>,
        name: Name,
        text: &str,
        types: &[Oid],
    ) -> Result<Name> {
        send::parse(out, &name.text(), text, types)?;
        self.requests.push_back(Request::Parse(name));
        Ok(name)
    }

    /// Appends the Close of a portal.
    pub(super) fn close_portal(&mut self, out: &mut Vec<u8>, portal: &str) {
        send::close(out, Target::Portal(portal));
        self.requests.push_back(Request::ClosePortal);
    }

    /// Forgets a statement that the node no longer accepts.
    pub(super) fn forget(&mut self, text: &str, types: &[Oid]) {
        if let Some(prepared) = self.statements.remove(&KeyRef { text, types }) {
            self.to_close.push(prepared.name);
        }
    }

    /// Forgets all statements: the node has dropped them.
    pub(super) fn forget_all(&mut self) {
        self.statements.clear();
        self.to_close.clear();
    }

    /// Removes the statement that was not used for the longest time.
    fn displace(&mut self) {
        let oldest = self.statements.values().min_by_key(|prepared| prepared.last_used);
        if let Some(name) = oldest.map(|prepared| prepared.name) {
            self.statements.retain(|_, prepared| prepared.name != name);
            self.to_close.push(name);
        }
    }

    fn close_displaced(&mut self, out: &mut Vec<u8>) {
        for name in self.to_close.drain(..) {
            send::close(out, Target::Statement(&name.text()));
            self.requests.push_back(Request::Close(name));
        }
    }

    /// ParseComplete has come.
    pub(super) fn parsed(&mut self) -> Result<()> {
        match self.requests.pop_front() {
            Some(Request::Parse(_)) => Ok(()),
            _ => Err(unexpected("ParseComplete")),
        }
    }

    /// CloseComplete has come.
    pub(super) fn closed(&mut self) -> Result<()> {
        match self.requests.pop_front() {
            Some(Request::Close(_) | Request::ClosePortal) => Ok(()),
            _ => Err(unexpected("CloseComplete")),
        }
    }

    /// ReadyForQuery has come: what its cycle left unanswered was skipped.
    pub(super) fn ready(&mut self) -> Result<()> {
        loop {
            match self.requests.pop_front() {
                Some(Request::Cycle) => return Ok(()),
                Some(Request::Parse(skipped)) => {
                    self.statements.retain(|_, prepared| prepared.name != skipped);
                    self.to_close.retain(|name| *name != skipped);
                }
                Some(Request::Close(skipped)) => self.to_close.push(skipped),
                // The transaction has failed, and its end closes the portal.
                Some(Request::ClosePortal) => {}
                None => return Err(unexpected("ReadyForQuery")),
            }
        }
    }
}

#[cold]
fn unexpected(message: &str) -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, format!("server sent {message} without a request"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_sent_once() {
        let (mut pipeline, mut out) = (Pipeline::default(), Vec::new());
        let first = pipeline.prepare(&mut out, "SELECT 1", &[]).unwrap();
        let sent = out.len();
        assert!(sent > 0);
        assert_eq!(pipeline.prepare(&mut out, "SELECT 1", &[]).unwrap(), first);
        assert_eq!(out.len(), sent);
        assert_ne!(pipeline.prepare(&mut out, "SELECT 1", &[23]).unwrap(), first);
        let long = "x".repeat(MAX_TEXT + 1);
        assert_eq!(pipeline.prepare(&mut out, &long, &[]).unwrap(), Name::UNNAMED);
        assert_eq!(pipeline.statements.len(), 2);
    }

    #[test]
    fn a_skipped_parse_is_sent_again() {
        let (mut pipeline, mut out) = (Pipeline::default(), Vec::new());
        let good = pipeline.prepare(&mut out, "good", &[]).unwrap();
        let bad = pipeline.prepare(&mut out, "bad", &[]).unwrap();
        pipeline.cycle_sent();
        let late = pipeline.prepare(&mut out, "late", &[]).unwrap();
        pipeline.cycle_sent();
        // An error answers "bad"; the cycle of "late" is not touched by it.
        pipeline.parsed().unwrap();
        pipeline.ready().unwrap();
        assert_eq!(pipeline.prepare(&mut out, "late", &[]).unwrap(), late);
        pipeline.parsed().unwrap();
        pipeline.ready().unwrap();
        assert_eq!(pipeline.cycles(), 0);
        assert_eq!(pipeline.prepare(&mut out, "good", &[]).unwrap(), good);
        assert_eq!(pipeline.prepare(&mut out, "late", &[]).unwrap(), late);
        assert_ne!(pipeline.prepare(&mut out, "bad", &[]).unwrap(), bad);
        assert!(pipeline.closed().is_err());
        assert!(Pipeline::default().ready().is_err());
        assert!(Pipeline::default().parsed().is_err());
    }

    #[test]
    fn the_table_is_bounded_and_a_skipped_close_is_sent_again() {
        let (mut pipeline, mut out) = (Pipeline::default(), Vec::new());
        for n in 0..MAX_STATEMENTS {
            pipeline.prepare(&mut out, &n.to_string(), &[]).unwrap();
        }
        pipeline.cycle_sent();
        for _ in 0..MAX_STATEMENTS {
            pipeline.parsed().unwrap();
        }
        pipeline.ready().unwrap();
        let first = pipeline.prepare(&mut out, "0", &[]).unwrap();
        out.clear();
        pipeline.prepare(&mut out, "one more", &[]).unwrap();
        assert_eq!(pipeline.statements.len(), MAX_STATEMENTS);
        let mut closed = Vec::new();
        send::close(&mut closed, Target::Statement("s2"));
        assert!(out.ends_with(&closed), "the least recently used is closed");
        pipeline.cycle_sent();
        // An error before both: the Parse is forgotten, the Close is sent with the next statement.
        pipeline.ready().unwrap();
        out.clear();
        pipeline.prepare(&mut out, "one more", &[]).unwrap();
        assert!(out.ends_with(&closed));
        assert_eq!(pipeline.prepare(&mut out, "0", &[]).unwrap(), first);
    }
}
