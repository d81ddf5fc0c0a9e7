//! SAVEPOINT, RELEASE and ROLLBACK TO. They share one stack, whose depth is also that of settings,
//! portals and deferred constraints.

use std::sync::atomic::Ordering;

use steppe_exec::SavepointMark;
use steppe_types::{Error, Result, SqlState};

use super::Block;
use crate::session::Session;
use crate::session::tag::CommandTag;

/// A savepoint.
pub(super) struct Savepoint {
    pub(super) name: String,
    /// The undo position, and other state to restore.
    pub(super) mark: SavepointMark,
    /// The cursor that a function had opened last.
    pub(super) last_opened: u64,
    /// Whether the transaction was READ ONLY at the savepoint. The end of this level restores it.
    pub(super) read_only: bool,
}

impl Session {
    pub(super) fn savepoint(&mut self, name: &str) -> Result<CommandTag> {
        self.require_begun("SAVEPOINT")?;
        let (mark, read_only) = (self.transaction.running()?.mark(), self.transaction.read_only);
        let (name, last_opened) = (name.to_owned(), self.core.routines.last_opened_cursor());
        self.transaction.savepoints.push(Savepoint { name, mark, last_opened, read_only });
        self.set_level();
        Ok(CommandTag::Plain("SAVEPOINT"))
    }

    /// Sets the level of settings: one deeper for each savepoint.
    fn set_level(&self) {
        let level = u32::try_from(self.transaction.depth() + 1).unwrap_or(u32::MAX);
        self.core.level.store(level, Ordering::Relaxed);
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        self.transaction.savepoints.iter().rposition(|savepoint| savepoint.name == name).ok_or_else(
            || {
                Error::new(
                    SqlState::INVALID_SAVEPOINT_SPECIFICATION,
                    format!("savepoint \"{name}\" does not exist"),
                )
            },
        )
    }

    pub(super) fn release_savepoint(&mut self, name: &str) -> Result<CommandTag> {
        self.require_begun("RELEASE SAVEPOINT")?;
        let at = self.find_savepoint(name)?;
        self.end_settings_levels(at, true);
        self.put_read_only(self.transaction.savepoints[at].read_only)?;
        self.transaction.release(at);
        self.portals.lower_depth(at);
        self.set_level();
        Ok(CommandTag::Plain("RELEASE"))
    }

    /// Ends the levels of the savepoints from position `at` on, innermost first.
    fn end_settings_levels(&mut self, at: usize, commit: bool) {
        let mut settings = self.core.settings.lock();
        for depth in (at + 1..=self.transaction.depth()).rev() {
            settings.end_level(u32::try_from(depth + 1).unwrap_or(u32::MAX), commit);
        }
    }

    pub(super) fn rollback_to_savepoint(&mut self, name: &str) -> Result<CommandTag> {
        self.require_begun("ROLLBACK TO SAVEPOINT")?;
        let at = self.find_savepoint(name)?;
        self.portals.drop_deeper(at, &mut self.transaction);
        self.rollback_to(at)?;
        self.transaction.block = Block::Explicit;
        Ok(CommandTag::Plain("ROLLBACK"))
    }

    /// Rolls back to the savepoint at a position. The savepoint stays.
    pub(super) fn rollback_to(&mut self, at: usize) -> Result<()> {
        self.end_settings_levels(at, false);
        self.close_functions_cursors_since(self.transaction.savepoints[at].last_opened)?;
        self.transaction.rollback_to(at)?;
        self.put_read_only(self.transaction.savepoints[at].read_only)?;
        self.set_level();
        self.refresh_settings();
        Ok(())
    }
}
