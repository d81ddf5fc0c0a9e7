//! A table while ALTER TABLE changes it.
//!
//! A part of the statement that changes nothing but the table's definition edits the next version
//! ([`TableChange::edit`]), which is put once for all such parts. A part that also changes other
//! objects or rows ([`TableChange::replace`]) gets the version with all earlier changes, puts the
//! table itself, and the next part reads it again.

use super::DdlContext;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_types::{Error, Oid, Result};

/// A table before and after a change of its definition.
pub(super) struct TableChange {
    before: Arc<Relation>,
    after: Relation,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// `after` is in the catalog.
    Put,
    /// `after` is newer than the catalog.
    Edited,
    /// The catalog is newer than `after`.
    Replaced,
}

impl TableChange {
    /// The table as the transaction has it.
    pub(super) fn open(ctx: &mut DdlContext<'_>, oid: Oid) -> Result<TableChange> {
        let before = ctx.catalog().relation(oid).cloned();
        let before = before.ok_or_else(|| Error::internal("the table being altered has gone"))?;
        let after = (*before).clone();
        Ok(TableChange { before, after, state: State::Put })
    }

    /// Reads the table again if a part has put it.
    pub(super) fn renew(&mut self, ctx: &mut DdlContext<'_>) -> Result<()> {
        if self.state == State::Replaced {
            *self = TableChange::open(ctx, self.before.oid)?;
        }
        Ok(())
    }

    /// The table as it was when it was read.
    pub(super) fn before(&self) -> &Arc<Relation> {
        &self.before
    }

    /// The table with the changes so far.
    pub(super) fn table(&self) -> &Relation {
        &self.after
    }

    /// The version to change.
    pub(super) fn edit(&mut self) -> &mut Relation {
        self.state = State::Edited;
        &mut self.after
    }

    /// Puts the changes.
    pub(super) fn put(&mut self, ctx: &mut DdlContext<'_>) -> Result<()> {
        if self.state == State::Edited {
            self.state = State::Put;
            ctx.put(self.after.clone())?;
        }
        Ok(())
    }

    /// Runs a part that puts the table itself.
    pub(super) fn replace<'c>(
        &mut self,
        ctx: &mut DdlContext<'c>,
        part: impl FnOnce(&mut DdlContext<'c>, Relation) -> Result<()>,
    ) -> Result<()> {
        self.put(ctx)?;
        self.state = State::Replaced;
        part(ctx, self.after.clone())
    }
}
