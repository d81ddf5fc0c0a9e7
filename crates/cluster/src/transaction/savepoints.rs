//! Savepoints of a transaction over nodes, by level.
//!
//! A mark is the beginning of a level. A node is told of it with its next statement: SAVEPOINT
//! precedes the statement for each level that the node lacks, and so does RELEASE of levels
//! that have ended. So a node that a level has not used has nothing to undo in it, and is not asked.
//!
//! *Right.* Let a node have `h` levels, and the transaction `t`. Each statement first brings the node to
//! `h = t`. So if `h < n` at a rollback to level `n`, the node has run nothing since the mark. Else it
//! has a savepoint at exactly the place of the mark, which ROLLBACK TO undoes up to.
//!
//! A rollback that a node does not confirm leaves its part unknown. Then the whole transaction can only
//! be rolled back: every later use of it, and its COMMIT, is an error.

use std::time::{Duration, Instant};

use steppe_types::{Error, Result, interrupt};

use super::participants::Participants;
use super::session::NodeSession;
use crate::NodeId;

/// How long a node may take to undo a level.
const UNDO_TIME: Duration = Duration::from_secs(10);

/// The beginning of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteMark(u32);

impl Participants {
    /// Begins a level: SAVEPOINT. It asks the nodes nothing.
    pub fn mark(&mut self) -> RemoteMark {
        self.level += 1;
        RemoteMark(self.level)
    }

    /// Undoes what was done since a mark on all nodes, which may not be interrupted. The level begins
    /// again. A node that does not confirm it makes the transaction unusable.
    pub fn rollback_to(&mut self, mark: RemoteMark) {
        let RemoteMark(level) = mark;
        self.level = level;
        let deadline = Instant::now() + UNDO_TIME;
        let undone = interrupt::during(&mut None, || self.undo(level, deadline));
        if let Err(error) = undone {
            self.spoil(error);
        }
    }

    fn undo(&mut self, level: u32, deadline: Instant) -> Result<()> {
        self.undo_cursors(level)?;
        let has_level = |session: &&mut NodeSession| session.level() >= level;
        let mut nodes: Vec<NodeId> = Vec::new();
        for session in self.sessions.values_mut().filter(has_level) {
            if !session.is_ready() {
                let error = Error::internal("a node has not ended its statement");
                return Err(session.named(error));
            }
            session.roll_back_to(level)?;
            nodes.push(session.node());
        }
        let answers = self.run(&nodes, deadline, NodeSession::advance)?;
        answers.into_iter().collect::<Result<Vec<_>>>().map(drop)
    }

    /// Ends a level, and those inside of it, and keeps their changes: RELEASE. It asks the nodes nothing.
    pub fn release(&mut self, mark: RemoteMark) {
        let RemoteMark(level) = mark;
        self.level = level - 1;
        for session in self.sessions.values_mut() {
            session.release(level);
        }
    }

    /// The transaction can only be rolled back from now on.
    fn spoil(&mut self, error: Error) {
        // The nodes roll back when their connections are closed.
        self.sessions.clear();
        self.spoilt.get_or_insert(error);
    }
}
