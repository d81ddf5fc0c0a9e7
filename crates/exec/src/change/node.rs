//! The plan node (PostgreSQL's nodeModifyTable.c): batches of a child's rows in, RETURNING out.
//!
//! The rows of an INSERT are inserted a batch at a time. Updates and deletes are made row by row,
//! in the order in which the child hands its rows up. The error is always that of the first row
//! that fails.

use super::conflict::ConflictPlan;
use super::returned::Returning;
use super::route::{OpenLeaves, Partitioned};
use super::row::Change;
use super::target::Target;
use super::trigger::Fired;
use super::writer::Inserter;
use super::{RowCommand, check_views};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::CExpr;
use crate::node::{BoxedNode, CNode, CPlan, Exchange, Node, start as start_node};
use crate::system_columns::VersionColumn;
use std::collections::VecDeque;
use std::sync::Arc;
use steppe_counting::accesses;
use steppe_sql::plan::VersionOf;
use steppe_sql::query::Command;
use steppe_types::{Datum, Error, Result};

/// The most rows of a multi-row INSERT that are inserted at a time.
const INSERT_ROWS: usize = 1024;

/// A compiled ModifyTable.
pub(crate) struct ModifyPlan {
    pub(crate) command: Command,
    /// The commands whose triggers fire: ON CONFLICT DO UPDATE has two.
    pub(crate) commands: &'static [RowCommand],
    pub(crate) target: Target,
    /// The target's rows are in its leaves.
    pub(crate) partitioned: Option<Box<Partitioned>>,
    pub(crate) child: Arc<CPlan>,
    pub(crate) row_id: usize,
    /// (column, value over target row ‖ child row)
    pub(crate) assignments: Arc<[(usize, CExpr)]>,
    pub(crate) recheck: Option<Arc<CExpr>>,
    pub(crate) on_conflict: Option<ConflictPlan>,
    pub(crate) returning: bool,
    /// RETURNING reads the row's old and new versions, too.
    pub(crate) returning_versions: bool,
    /// The child's columns that are system columns of the target.
    pub(crate) system: Arc<[(usize, VersionColumn)]>,
    /// The system columns behind the other input of RETURNING.
    pub(crate) returning_system: Arc<[(VersionOf, VersionColumn)]>,
    /// Whether the statement's row count is this node's.
    pub(crate) counts: bool,
    /// A row is changed before the next one is computed: a volatile function may look at the table.
    pub(crate) row_by_row: bool,
}

struct ModifyNode {
    plan: Arc<CPlan>,
    child: BoxedNode,
    incoming: RowBatch,
    begun: bool,
    finished: bool,
    inserter: Inserter,
    open: OpenLeaves,
    /// RETURNING rows that did not fit the last batch.
    ready: VecDeque<Vec<Datum>>,
}

pub(crate) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Modify(modify) = &plan.kind else { unreachable!("started as a modify") };
    let child = start_node(&modify.child, cx);
    let incoming = RowBatch::new(modify.child.width);
    Box::new(ModifyNode {
        plan,
        child,
        incoming,
        begun: false,
        finished: false,
        inserter: Inserter::default(),
        open: OpenLeaves::default(),
        ready: VecDeque::new(),
    })
}

impl ModifyPlan {
    /// The change of a table's rows as one of a table that is defined as it is. `None`: it has parts
    /// for its table alone.
    pub(crate) fn over(&self, leaves: &Exchange<'_>) -> Result<Option<ModifyPlan>> {
        if self.partitioned.is_some() || self.on_conflict.is_some() {
            return Ok(None);
        }
        let Some((_, leaf)) = leaves.leaf(&self.target.table) else { return Ok(None) };
        let Some(child) = self.child.over(leaves)? else { return Ok(None) };
        Ok(Some(ModifyPlan {
            command: self.command,
            commands: self.commands,
            target: self.target.open_alike(leaves.engine, leaf)?,
            partitioned: None,
            child,
            row_id: self.row_id,
            assignments: Arc::clone(&self.assignments),
            recheck: self.recheck.clone(),
            on_conflict: None,
            returning: self.returning,
            returning_versions: self.returning_versions,
            system: Arc::clone(&self.system),
            returning_system: Arc::clone(&self.returning_system),
            counts: self.counts,
            row_by_row: self.row_by_row,
        }))
    }

    /// Fires BEFORE STATEMENT triggers of the statement's table before the child runs, even if
    /// there are no rows.
    pub(crate) fn begin(&self, cx: &mut ExecContext) -> Result<()> {
        let Some(hooks) = &self.target.hooks else { return Ok(()) };
        let relation = &self.target.table.relation;
        for command in self.commands {
            let triggers = &hooks.command(*command).before_statement;
            if !triggers.is_empty() && cx.queue().begins(relation, *command) {
                let fired = Fired { command: *command, relation, captured: &[] };
                fired.statement(triggers, cx)?;
            }
        }
        Ok(())
    }

    /// Queues AFTER STATEMENT triggers after the last row.
    pub(crate) fn end(&self, cx: &mut ExecContext) -> Result<()> {
        let Some(hooks) = &self.target.hooks else { return Ok(()) };
        for command in self.commands.iter().rev() {
            cx.queue_statement(&self.target.table.relation, hooks, *command)?;
        }
        Ok(())
    }
}

impl ModifyNode {
    /// Changes the rows of one batch.
    fn run_batch(&mut self, modify: &ModifyPlan, cx: &mut ExecContext) -> Result<()> {
        let changed = match (modify.command, &modify.on_conflict) {
            (Command::Insert, Some(_)) if modify.target.is_view() => self.insert(modify, cx)?,
            (Command::Insert, None) => self.insert(modify, cx)?,
            (Command::Insert, Some(conflict)) => self.insert_or(modify, conflict, cx)?,
            (Command::Update | Command::Delete, _) => self.change(modify, cx)?,
            (Command::Select, _) => {
                return Err(Error::internal("SELECT is not a data-modifying command"));
            }
        };
        if modify.counts {
            cx.processed += changed;
        }
        Ok(())
    }

    fn insert(&mut self, modify: &ModifyPlan, cx: &mut ExecContext) -> Result<u64> {
        let mut returning = Returning { plan: &self.plan, modify, ready: &mut self.ready };
        let completed = modify.target.completed(&self.incoming, cx)?;
        let rows: Vec<&[Datum]> = match &completed {
            Some(rows) => rows.iter().map(Vec::as_slice).collect(),
            None => self.incoming.iter().collect(),
        };
        let (open, inserter) = (&mut self.open, &mut self.inserter);
        let placed = modify.insert_in_order(&rows, open, inserter, cx)?;
        let kept_out = placed.iter().filter(|placed| placed.is_none()).count();
        let looked_at = modify.returning || !modify.target.view_checks.is_empty();
        for (i, row) in rows.iter().enumerate().filter(|_| looked_at) {
            let placed = match placed.get(i) {
                Some(None) => continue,
                Some(placed) => placed.as_ref(),
                None => None,
            };
            let row = placed.and_then(|placed| placed.row.as_deref()).unwrap_or(row);
            check_views(&modify.target, row, cx)?;
            let table = placed.map_or(modify.target.oid(), |placed| placed.leaf);
            let leaf = modify.partitioned.is_some().then_some(Datum::Oid(table));
            let system = match modify.returning_system.is_empty() {
                true => Vec::new(),
                false => {
                    let own = || self.inserter.ids().get(i).copied();
                    let id = placed.map(|placed| placed.id).or_else(own);
                    modify.system_of_insert(id.ok_or_else(no_row)?, cx)?
                }
            };
            let versions = (None, Some((row, table)));
            returning.row(row, versions, (leaf.as_slice(), &system), cx)?;
        }
        Ok((rows.len() - kept_out) as u64)
    }

    fn insert_or(
        &mut self,
        modify: &ModifyPlan,
        conflict: &ConflictPlan,
        cx: &mut ExecContext,
    ) -> Result<u64> {
        let mut returning = Returning { plan: &self.plan, modify, ready: &mut self.ready };
        let mut changed = 0;
        let completed = modify.target.completed(&self.incoming, cx)?;
        let rows: Vec<&[Datum]> = match &completed {
            Some(rows) => rows.iter().map(Vec::as_slice).collect(),
            None => self.incoming.iter().collect(),
        };
        for row in rows {
            let Some(proposed) = modify.propose(row, &mut self.open, cx)? else { continue };
            let target = proposed.leaf.as_deref().unwrap_or(&modify.target);
            let row = proposed.row.as_deref().unwrap_or(row);
            let done = conflict.insert(target, row, &mut self.inserter, cx)?;
            if let Some(done) = done {
                changed += 1;
                check_views(&modify.target, done.stored(), cx)?;
                let table = target.oid();
                let leaf = proposed.leaf.is_some().then_some(Datum::Oid(table));
                let system = modify.system_of(&done, target, cx)?;
                let versions = done.versions(table, table);
                let beside = (leaf.as_slice(), &system[..]);
                returning.row(done.stored(), versions, beside, cx)?;
            }
        }
        Ok(changed)
    }

    /// UPDATE and DELETE.
    fn change(&mut self, modify: &ModifyPlan, cx: &mut ExecContext) -> Result<u64> {
        let mut returning = Returning { plan: &self.plan, modify, ready: &mut self.ready };
        let mut changed = 0;
        if self.incoming.len() > 1 {
            accesses::count_apart();
        }
        for row in self.incoming.iter() {
            let done = modify.change(row, &mut self.open, &mut self.inserter, cx)?;
            if let Some(Change { changed: done, source, from, to, system }) = done {
                changed += 1;
                check_views(&modify.target, done.stored(), cx)?;
                let versions = done.versions(from, to);
                returning.row(done.stored(), versions, (&source, &system), cx)?;
            }
        }
        Ok(changed)
    }
}

impl Node for ModifyNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::Modify(modify) = &plan.kind else {
            return Err(Error::internal("modify node over another plan"));
        };
        if !std::mem::replace(&mut self.begun, true) {
            modify.begin(cx)?;
        }
        while self.ready.is_empty() && !self.finished {
            self.incoming.clear();
            self.incoming.wanted = if modify.row_by_row { 1 } else { INSERT_ROWS };
            self.child.next(cx, &mut self.incoming)?;
            cx.check_interrupts()?;
            self.finished = self.incoming.is_empty();
            self.run_batch(modify, cx)?;
            if self.finished {
                modify.end(cx)?;
            }
        }
        while !out.is_full()
            && let Some(mut row) = self.ready.pop_front()
        {
            out.push_owned(&mut row);
        }
        Ok(())
    }

    fn rescan(&mut self, _: &mut ExecContext) -> Result<()> {
        Err(Error::internal("a data-modifying node runs once"))
    }
}

#[cold]
pub(super) fn no_row() -> Error {
    Error::internal("an inserted row has no place")
}
