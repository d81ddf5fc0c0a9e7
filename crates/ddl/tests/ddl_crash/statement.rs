//! Statements with what they must come to, and what they are made from.

use steppe_catalog::Catalog;
use steppe_types::SqlState;
use steppe_vfs::SeededRandom;

use crate::model::{Op, State, Table};

/// The effect of a statement.
#[derive(Debug, Default)]
pub(crate) struct Effect {
    pub(crate) ops: Vec<Op>,
    /// The number of its command tag, if it has one.
    pub(crate) count: Option<u64>,
}

impl Effect {
    pub(crate) fn of(ops: Vec<Op>) -> Effect {
        Effect { ops, count: None }
    }
}

/// A statement.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    /// Its effect, or the reason for its error.
    pub(crate) outcome: Result<Effect, SqlState>,
}

impl Statement {
    pub(crate) fn done(sql: String, effect: Effect) -> Statement {
        Statement { sql, outcome: Ok(effect) }
    }

    pub(crate) fn refused(sql: String, state: SqlState) -> Statement {
        Statement { sql, outcome: Err(state) }
    }
}

/// The state that a session sees, and the source of its choices.
pub(crate) struct Look<'a> {
    pub(crate) random: &'a SeededRandom,
    pub(crate) state: &'a State,
    pub(crate) catalog: &'a Catalog,
}

impl Look<'_> {
    /// A number from 0 on and below this one.
    pub(crate) fn below(&self, bound: i32) -> i32 {
        let drawn = self.random.below(u64::try_from(bound).expect("bounds are not negative"));
        i32::try_from(drawn).expect("below an i32")
    }

    pub(crate) fn some_of<'t, T>(&self, all: &'t [T]) -> Option<&'t T> {
        all.get(self.random.below(all.len() as u64) as usize)
    }

    pub(crate) fn some_table(&self, wanted: impl Fn(&Table) -> bool) -> Option<String> {
        self.some_table_named(&|_, table| wanted(table))
    }

    pub(crate) fn some_table_named(&self, wanted: &dyn Fn(&str, &Table) -> bool) -> Option<String> {
        let tables = self.state.tables.iter().filter(|(name, table)| wanted(name, table));
        let names: Vec<&String> = tables.map(|(name, _)| name).collect();
        self.some_of(&names).map(|name| (*name).clone())
    }

    pub(crate) fn shuffle<T>(&self, all: &mut [T]) {
        for at in (1..all.len()).rev() {
            all.swap(at, self.random.below(at as u64 + 1) as usize);
        }
    }
}
