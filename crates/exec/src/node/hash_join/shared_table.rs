//! A hash join's table that the threads of a team share. One thread makes it of the rows that they
//! have found together (`node::shared_rows`), so that it is made and in memory once.
//!
//! A thread gets here after all rows have been found, so the thread that makes the table waits for
//! no other. The table never changes afterwards, because shared joins mark no inner rows. A table
//! without enough room is not shared. Its partitions are on disk, and are filled with the outer
//! rows of one thread. Then each thread makes a table of its own.

use super::HashJoinPlan;
use super::table::Table;
use crate::context::ExecContext;
use crate::node::CNode;
use crate::node::shared_rows;
use parking_lot::{Condvar, Mutex};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use steppe_types::{Error, Result, interrupt};

/// The interval at which a thread that waits for the table checks for interrupts.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The table, or its state.
#[derive(Default)]
pub(crate) struct SharedTable {
    state: Mutex<State>,
    has_changed: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Nobodys,
    BeingMade,
    Made(Arc<Table>),
    TooLarge,
    Failed(Error),
}

/// The task of a thread that wants the table.
pub(super) enum Claim {
    /// Make one of its own.
    Own,
    /// Make it for all.
    Make(Arc<SharedTable>),
    Have(Arc<Table>),
}

impl Claim {
    /// Waits for the inner rows that threads find together, then decides.
    pub(super) fn of(join: &HashJoinPlan, cx: &mut ExecContext) -> Result<Claim> {
        let (CNode::SharedRows { .. }, Some(team)) = (&join.inner.kind, cx.team().cloned()) else {
            return Ok(Claim::Own);
        };
        shared_rows::find(&join.inner, cx)?;
        let shared = team.table(join.inner.id);
        let mut state = shared.state.lock();
        loop {
            match &*state {
                State::Nobodys => {
                    *state = State::BeingMade;
                    drop(state);
                    return Ok(Claim::Make(shared));
                }
                State::Made(table) => return Ok(Claim::Have(table.clone())),
                State::TooLarge => return Ok(Claim::Own),
                State::Failed(error) => return Err(error.clone()),
                State::BeingMade => {}
            }
            if shared.has_changed.wait_for(&mut state, LOOK_EVERY).timed_out() {
                drop(state);
                cx.check_interrupts()?;
                state = shared.state.lock();
            }
        }
    }
}

impl SharedTable {
    /// Publishes the result of `make` to all threads; `None` means that there is no room for a
    /// table.
    pub(super) fn make(&self, make: impl FnOnce() -> Result<Option<Arc<Table>>>) -> Result<()> {
        let made = interrupt::catching(make);
        *self.state.lock() = match &made {
            Ok(Some(table)) => State::Made(table.clone()),
            Ok(None) => State::TooLarge,
            Err(error) => State::Failed(error.clone()),
        };
        self.has_changed.notify_all();
        made.map(|_| ())
    }
}

/// The table that a join looks its outer rows up in.
pub(super) enum Held {
    Own(Table),
    Shared(Arc<Table>),
}

impl Default for Held {
    fn default() -> Held {
        Held::Own(Table::default())
    }
}

impl Deref for Held {
    type Target = Table;

    fn deref(&self) -> &Table {
        match self {
            Held::Own(table) => table,
            Held::Shared(table) => table,
        }
    }
}

impl Held {
    /// The join's own table: an empty one if it had the shared one.
    pub(super) fn own(&mut self) -> &mut Table {
        if let Held::Shared(_) = self {
            *self = Held::default();
        }
        match self {
            Held::Own(table) => table,
            Held::Shared(_) => unreachable!("is the join's own now"),
        }
    }

    /// Makes the join's own table the shared one.
    pub(super) fn share(&mut self) -> Arc<Table> {
        let shared = Arc::new(std::mem::take(self.own()));
        *self = Held::Shared(shared.clone());
        shared
    }
}
