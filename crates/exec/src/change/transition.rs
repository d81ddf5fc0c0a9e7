//! Transition tables: the rows that a statement has changed, for the triggers that name them in
//! REFERENCING (MakeTransitionCaptureState and TransitionTableAddTuple in
//! src/backend/commands/trigger.c).
//!
//! A statement captures the changed rows of the table that it names and of its leaves, all with the
//! columns of that table. A row that an UPDATE moves to another partition is captured as an updated
//! one. Captured rows are kept in memory up to work_mem, then in temporary files.
//!
//! When the triggers fire, the rows are complete. Statements of a trigger's function find the tables
//! by their names, in a schema of the trigger's call ([`steppe_functions::TransitionTable`]).

use super::hooks::OldAndNew;
use super::{RowCommand, Target};
use crate::context::ExecContext;
use crate::expr::Row;
use crate::tuplestore::{StoreReader, TupleStore};
use parking_lot::Mutex;
use std::sync::Arc;
use steppe_catalog::trigger::{Trigger as Definition, TriggerEnabled};
use steppe_catalog::{RelKind, Relation, TRANSITION_SCHEMA};
use steppe_functions::{TransitionRows, TransitionTable};
use steppe_types::{Datum, Oid, Result};

/// The rows of a statement's table that are captured.
pub(crate) struct Captures {
    /// The table that the statement names.
    table: Oid,
    /// The statement is an UPDATE: what it deletes and inserts are the versions of moved rows.
    is_update: bool,
    /// By command: old rows, new rows.
    wanted: [(bool, bool); 4],
}

impl Captures {
    /// For a statement of these commands; `None` if no trigger of the table names a transition
    /// table.
    pub(crate) fn of(table: &Relation, commands: &[RowCommand]) -> Option<Box<Captures>> {
        let mut wanted = [(false, false); 4];
        for trigger in &table.triggers {
            let Some(names) = &trigger.transition else { continue };
            let is_for = |command: &&RowCommand| match command {
                RowCommand::Insert => trigger.events.insert,
                RowCommand::Update => trigger.events.update,
                RowCommand::Delete => trigger.events.delete,
                RowCommand::Truncate => false,
            };
            if trigger.enabled == TriggerEnabled::Disabled {
                continue;
            }
            for command in commands.iter().filter(is_for) {
                let (old, new) = &mut wanted[*command as usize];
                *old |= names.old.is_some();
                *new |= names.new.is_some();
            }
        }
        let is_wanted = wanted.iter().any(|(old, new)| *old || *new);
        let is_update = commands == [RowCommand::Update];
        is_wanted.then(|| Box::new(Captures { table: table.oid, is_update, wanted }))
    }
}

/// The captured rows of a table and a command.
pub(super) struct Captured {
    table: Oid,
    command: RowCommand,
    old: Option<Log>,
    new: Option<Log>,
}

/// Rows in the order in which they were captured.
struct Log {
    rows: TupleStore,
    /// The runs of rows that count. The other rows belong to parts of the statement that were
    /// undone.
    runs: Vec<Run>,
}

/// Rows that were captured one after the other.
#[derive(Clone, Copy)]
struct Run {
    first: usize,
    count: usize,
    /// The number of the first row's change among all of the statement.
    change: u64,
}

impl Log {
    fn new(columns: usize, cx: &ExecContext) -> Result<Log> {
        let rows = TupleStore::new(columns, cx.work_mem_bytes, Some(cx.temp()?));
        Ok(Log { rows, runs: Vec::new() })
    }

    fn push(&mut self, row: &[Datum], change: u64) -> Result<()> {
        let at = self.rows.len();
        self.rows.push(Row::of(row))?;
        match self.runs.last_mut() {
            Some(run) if run.first + run.count == at && run.change + run.count as u64 == change => {
                run.count += 1;
            }
            _ => self.runs.push(Run { first: at, count: 1, change }),
        }
        Ok(())
    }

    /// Forgets the rows of this change and later ones.
    fn truncate(&mut self, change: u64) {
        while let Some(run) = self.runs.last_mut() {
            if run.change < change {
                run.count = run.count.min((change - run.change) as usize);
                return;
            }
            self.runs.pop();
        }
    }
}

impl Captured {
    pub(super) fn truncate(&mut self, change: u64) {
        self.old.iter_mut().chain(&mut self.new).for_each(|log| log.truncate(change));
    }
}

/// The captured rows of a table and a command, when the last one has been captured.
pub(super) struct Complete {
    table: Oid,
    command: RowCommand,
    old: Option<Arc<Rows>>,
    new: Option<Arc<Rows>>,
}

/// Captured rows that triggers read.
struct Rows {
    log: Mutex<(TupleStore, StoreReader)>,
    runs: Box<[Run]>,
}

impl From<Log> for Rows {
    fn from(log: Log) -> Rows {
        let Log { rows, runs } = log;
        Rows { log: Mutex::new((rows, StoreReader::default())), runs: runs.into() }
    }
}

impl TransitionRows for Rows {
    fn read(&self, from: usize, count: usize, out: &mut Vec<Vec<Datum>>) -> Result<()> {
        let (mut skipped, mut left) = (from, count);
        let (rows, reader) = &mut *self.log.lock();
        for run in &self.runs {
            if skipped >= run.count {
                skipped -= run.count;
                continue;
            }
            for at in run.first + skipped..run.first + run.count {
                if left == 0 {
                    return Ok(());
                }
                let mut row = Vec::new();
                rows.read_at(reader, at, &mut row)?;
                out.push(row);
                left -= 1;
            }
            skipped = 0;
        }
        Ok(())
    }
}

/// The rows of a statement that has changed nothing.
struct NoRows;

impl TransitionRows for NoRows {
    fn read(&self, _: usize, _: usize, _: &mut Vec<Vec<Datum>>) -> Result<()> {
        Ok(())
    }
}

impl Complete {
    pub(super) fn of(captured: Captured) -> Complete {
        let Captured { table, command, old, new } = captured;
        let rows = |log: Log| Arc::new(Rows::from(log));
        Complete { table, command, old: old.map(rows), new: new.map(rows) }
    }

    pub(super) fn is_of(&self, of: (Oid, RowCommand)) -> bool {
        (self.table, self.command) == of
    }
}

/// The transition tables for a call of a trigger; `None` if it names none.
pub(super) fn tables_for(
    trigger: &Definition,
    relation: &Relation,
    command: RowCommand,
    captured: &[Complete],
) -> Option<Arc<[TransitionTable]>> {
    let names = trigger.transition.as_ref()?;
    let found = captured.iter().find(|c| (c.table, c.command) == (relation.oid, command));
    let table = |oid: Oid, name: &Arc<str>, rows: Option<&Arc<Rows>>| {
        let rows: Arc<dyn TransitionRows> = match rows {
            Some(rows) => rows.clone(),
            None => Arc::new(NoRows),
        };
        let shown = Relation::new(oid, TRANSITION_SCHEMA, name.clone(), RelKind::Virtual);
        let shown = Relation { columns: relation.columns.clone(), ..shown };
        TransitionTable { relation: Arc::new(shown), rows }
    };
    // The trigger's OID and its complement serve as OIDs: other relations do not have them.
    let (old, new) = (!trigger.oid, trigger.oid);
    let of_old = found.and_then(|found| found.old.as_ref());
    let of_new = found.and_then(|found| found.new.as_ref());
    let tables = names.old.iter().map(|name| table(old, name, of_old));
    Some(tables.chain(names.new.iter().map(|name| table(new, name, of_new))).collect())
}

impl Target {
    /// Captures a change for transition tables.
    #[cold]
    pub(super) fn capture(
        &self,
        captures: &Captures,
        command: RowCommand,
        (old, new): OldAndNew<'_>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let command = if captures.is_update { RowCommand::Update } else { command };
        let (wants_old, wants_new) = captures.wanted[command as usize];
        let old = old.filter(|_| wants_old).map(|row| self.seen(row.to_vec()));
        let new = new.filter(|_| wants_new).map(|row| self.seen(row.to_vec()));
        if old.is_none() && new.is_none() {
            return Ok(());
        }
        let change = cx.queue().next_change();
        for (row, is_old) in [(old, true), (new, false)] {
            let Some(row) = row else { continue };
            let empty = Log::new(row.len(), cx)?;
            let captured = cx.queue().captured(captures.table, command);
            let log = if is_old { &mut captured.old } else { &mut captured.new };
            log.get_or_insert(empty).push(&row, change)?;
        }
        Ok(())
    }
}

impl Captured {
    pub(super) fn new(table: Oid, command: RowCommand) -> Captured {
        Captured { table, command, old: None, new: None }
    }

    pub(super) fn is_of(&self, table: Oid, command: RowCommand) -> bool {
        (self.table, self.command) == (table, command)
    }
}
