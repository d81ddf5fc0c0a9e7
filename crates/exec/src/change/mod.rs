//! INSERT, UPDATE and DELETE (PostgreSQL's nodeModifyTable.c).
//!
//! | file | subject |
//! |---|---|
//! | `mod` | the plan node: batches in, RETURNING out |
//! | `writer` | batches of rows to the table and, sorted, to its indexes |
//! | `row` | UPDATE and DELETE of one row, with READ COMMITTED's recheck |
//! | `conflict` | INSERT … ON CONFLICT |
//! | `written` | which columns an UPDATE writes, and what follows |
//! | `mark` | points to which a part of a statement is taken back |
//! | `deferred` | keys of DEFERRABLE constraints, which are checked later |
//! | `checks` | NOT NULL, CHECK, and the errors with their details |
//! | `returned` | system columns in RETURNING |
//! | `route` | each row of a partitioned or inherited table to its leaf |
//!
//! A statement that fails half-way leaves its changes to the session, which takes
//! them back to the statement's start (an undo position).

mod checks;
mod conflict;
mod deferred;
mod mark;
mod returned;
mod route;
mod row;
mod writer;
mod written;

use crate::access::{IndexAccess, TableAccess};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::{CExpr, Compiler, Row};
use crate::node::{BoxedNode, CNode, CPlan, Node, start as start_node};
use crate::partition::{ColumnMap, Definition, PartitionCheck};
use crate::system_columns::VersionColumn;
use std::borrow::Cow;
use std::sync::Arc;
use steppe_counting::accesses;
use steppe_sql::expr::Expr;
use steppe_sql::plan::VersionOf;
use steppe_sql::query::Command;
use steppe_txn::{Database, RowId, RowMeta};
use steppe_types::{Datum, Error, Oid, Result};

pub use checks::shown_key;
pub(crate) use checks::{
    check_partition, check_row, check_views, duplicate_key, null_violation, shown,
};
pub use deferred::check_keys;
pub(crate) use deferred::finish as finish_keys;
pub(crate) use route::{OpenLeaves, Partitioned};
pub(crate) use writer::Inserter;
pub(crate) use written::Written;

/// Rows of a multi-row INSERT that are put in at a time.
const INSERT_ROWS: usize = 1024;

/// A compiled ModifyTable.
pub(crate) struct ModifyPlan {
    pub(crate) command: Command,
    pub(crate) target: Target,
    /// The target's rows are in its leaves.
    pub(crate) partitioned: Option<Box<Partitioned>>,
    pub(crate) child: Arc<CPlan>,
    pub(crate) row_id: usize,
    /// (column, value over target row ‖ child row)
    pub(crate) assignments: Box<[(usize, CExpr)]>,
    pub(crate) recheck: Option<CExpr>,
    pub(crate) on_conflict: Option<conflict::ConflictPlan>,
    pub(crate) returning: bool,
    /// RETURNING is over the row's old and new versions, too.
    pub(crate) returning_versions: bool,
    /// The child's columns that are system columns of the target.
    pub(crate) system: Box<[(usize, VersionColumn)]>,
    /// The system columns behind all that RETURNING is over.
    pub(crate) returning_system: Box<[(VersionOf, VersionColumn)]>,
    /// Whether the statement's row count is this node's.
    pub(crate) counts: bool,
}

/// A table that is written to.
pub(crate) struct Target {
    pub(crate) rules: Arc<TargetRules>,
    pub(crate) table: TableAccess,
    pub(crate) indexes: Box<[IndexAccess]>,
}

/// A column whose value is computed from others.
pub(crate) struct GeneratedColumn {
    column: usize,
    /// Over the new row.
    value: CExpr,
    /// The columns that it is computed from.
    reads: Box<[usize]>,
}

impl GeneratedColumn {
    pub(crate) fn compile_all(
        columns: &[(usize, Expr)],
        compiler: &mut Compiler<'_>,
    ) -> Result<Box<[GeneratedColumn]>> {
        fn collect(expr: &Expr, out: &mut Vec<usize>) {
            if let Expr::Slot { index, .. } = expr {
                out.push(*index);
            }
            expr.for_each_child(&mut |child| collect(child, out));
        }
        let compiled = columns.iter().map(|(column, expr)| {
            let mut reads = Vec::new();
            collect(expr, &mut reads);
            let value = compiler.expr(expr)?;
            Ok(GeneratedColumn { column: *column, value, reads: reads.into() })
        });
        compiled.collect()
    }

    fn compute(&self, row: &mut [Datum], cx: &mut ExecContext) -> Result<()> {
        let value = self.value.eval(cx, Row::of(row))?;
        let place = row.get_mut(self.column);
        *place.ok_or_else(|| Error::internal("generated column that is not there"))? = value;
        Ok(())
    }
}

/// What the rows of a table must satisfy, and how they are made so.
pub(crate) struct TargetRules {
    /// ON CONFLICT: positions of the indexes that decide.
    pub(crate) arbiters: Box<[usize]>,
    /// Positions of NOT NULL columns that rows have values of.
    pub(crate) not_null: Box<[usize]>,
    pub(crate) generated: Box<[GeneratedColumn]>,
    /// Virtual generated columns that are NOT NULL, over the new row.
    pub(crate) never_null: Box<[(usize, CExpr)]>,
    /// CHECK constraints over the new row.
    pub(crate) checks: Box<[(Arc<str>, CExpr)]>,
    /// WITH CHECK OPTION: views' names and conditions over the new row.
    pub(crate) view_checks: Box<[(Arc<str>, CExpr)]>,
    /// What the rows of a partition must satisfy.
    pub(crate) partition: Option<PartitionCheck>,
    /// Of a leaf whose columns are placed otherwise than those of that table.
    pub(crate) columns: Option<ColumnMap>,
    /// What an UPDATE writes.
    pub(crate) written: Written,
}

impl std::ops::Deref for Target {
    type Target = TargetRules;

    fn deref(&self) -> &TargetRules {
        &self.rules
    }
}

impl TargetRules {
    /// These rules for a statement that assigns to some columns of the table that it names.
    pub(crate) fn writing(mut self, assigned: &[usize], indexes: &[IndexAccess]) -> TargetRules {
        self.written = Written::new(assigned, &self, indexes);
        self
    }

    /// Whether there is anything that a row must satisfy to be stored.
    pub(crate) fn is_constrained(&self) -> bool {
        !self.not_null.is_empty()
            || !self.never_null.is_empty()
            || !self.checks.is_empty()
            || self.partition.is_some()
    }
}

impl Target {
    /// A table that is defined as this one is; the indexes are in the same order.
    pub(crate) fn open_alike(&self, database: &Database, leaf: &Definition) -> Result<Target> {
        let indexes = self.indexes.iter().zip(&leaf.indexes);
        Ok(Target {
            rules: self.rules.clone(),
            table: self.table.open_alike(database, &leaf.table),
            indexes: indexes.map(|(i, new)| i.open_alike(database, new)).collect::<Result<_>>()?,
        })
    }

    fn oid(&self) -> Oid {
        self.table.oid
    }

    /// A row of the statement's table as this one stores it.
    pub(crate) fn stored<'r>(&self, row: &'r [Datum]) -> Cow<'r, [Datum]> {
        match &self.columns {
            None => Cow::Borrowed(row),
            Some(map) => Cow::Owned(map.row_in_leaf(row)),
        }
    }

    /// A row stored here as the statement's table has it.
    pub(crate) fn seen(&self, row: Vec<Datum>) -> Vec<Datum> {
        match &self.columns {
            None => row,
            Some(map) => map.row_in_parent(&row),
        }
    }

    /// [`Self::stored`] of a row that is not needed any more.
    fn stored_of(&self, row: Vec<Datum>) -> Vec<Datum> {
        match &self.columns {
            None => row,
            Some(map) => map.row_in_leaf(&row),
        }
    }

    /// Computes the generated columns of a new row, whose other columns are known.
    pub(crate) fn generate(&self, row: &mut [Datum], cx: &mut ExecContext) -> Result<()> {
        self.generated.iter().try_for_each(|generated| generated.compute(row, cx))
    }

    /// Computes those that are generated from what an UPDATE sets; the others stay as they are.
    fn generate_again(&self, row: &mut [Datum], cx: &mut ExecContext) -> Result<()> {
        let again = self.written.generated.iter().filter_map(|at| self.generated.get(*at));
        again.into_iter().try_for_each(|generated| generated.compute(row, cx))
    }

    /// The rows of a batch with their generated columns, if the table has any.
    fn completed(&self, rows: &RowBatch, cx: &mut ExecContext) -> Result<Option<Vec<Vec<Datum>>>> {
        if self.generated.is_empty() {
            return Ok(None);
        }
        let mut completed: Vec<Vec<Datum>> = rows.iter().map(<[Datum]>::to_vec).collect();
        completed.iter_mut().try_for_each(|row| self.generate(row, cx))?;
        Ok(Some(completed))
    }
}

pub(crate) use conflict::ConflictPlan;

struct ModifyNode {
    plan: Arc<CPlan>,
    child: BoxedNode,
    incoming: RowBatch,
    finished: bool,
    inserter: Inserter,
    open: OpenLeaves,
    /// RETURNING rows that did not fit the last batch.
    ready: std::collections::VecDeque<Vec<Datum>>,
}

pub(crate) fn start(plan: Arc<CPlan>, cx: &mut ExecContext) -> BoxedNode {
    let CNode::Modify(modify) = &plan.kind else { unreachable!("started as a modify") };
    let child = start_node(&modify.child, cx);
    let incoming = RowBatch::new(modify.child.width);
    Box::new(ModifyNode {
        plan,
        child,
        incoming,
        finished: false,
        inserter: Inserter::default(),
        open: OpenLeaves::default(),
        ready: std::collections::VecDeque::new(),
    })
}

/// What an UPDATE or DELETE did to a row.
struct Change<'s> {
    changed: Changed,
    /// The child's row, with the OID of the table that the row is in now.
    source: Cow<'s, [Datum]>,
    /// The table that it was in.
    from: Oid,
    /// The table that it is in.
    to: Oid,
    /// [`ModifyPlan::returning_system`] of it.
    system: Vec<Datum>,
}

/// The versions of a changed row, each with where it is.
pub(crate) enum Changed {
    Inserted(Vec<Datum>, RowId),
    Updated { old: Vec<Datum>, was: WrittenOver, new: Vec<Datum>, is: RowId },
    Deleted(Vec<Datum>, WrittenOver),
}

/// A row and its version that a change was made to.
pub(crate) type WrittenOver = (RowId, RowMeta);

impl Changed {
    /// The row's version that it is known by afterwards.
    fn stored(&self) -> &[Datum] {
        match self {
            Changed::Inserted(row, _)
            | Changed::Updated { new: row, .. }
            | Changed::Deleted(row, _) => row,
        }
    }

    /// The version before the change, and the one after it. `from`, `to`: the table that a row
    /// was stored in, and is.
    fn versions(&self, from: Oid, to: Oid) -> Versions<'_> {
        let before = self.before().map(|row| (row, from));
        (before, self.after().map(|row| (row, to)))
    }

    fn before(&self) -> Option<&[Datum]> {
        match self {
            Changed::Inserted(..) => None,
            Changed::Updated { old, .. } | Changed::Deleted(old, _) => Some(old),
        }
    }

    fn after(&self) -> Option<&[Datum]> {
        match self {
            Changed::Inserted(new, _) | Changed::Updated { new, .. } => Some(new),
            Changed::Deleted(..) => None,
        }
    }
}

/// A row's version before its change and the one after it, each with the table that it is in.
type Versions<'r> = (Option<(&'r [Datum], Oid)>, Option<(&'r [Datum], Oid)>);

/// Collects what RETURNING computes.
pub(crate) struct Returning<'a> {
    plan: &'a CPlan,
    modify: &'a ModifyPlan,
    ready: &'a mut std::collections::VecDeque<Vec<Datum>>,
}

impl Returning<'_> {
    /// `target` is the row's new (for DELETE its old) version.
    fn row(
        &mut self,
        target: &[Datum],
        (old, new): Versions<'_>,
        (source, system): (&[Datum], &[Datum]),
        cx: &mut ExecContext,
    ) -> Result<()> {
        if !self.modify.returning {
            return Ok(());
        }
        if !self.modify.returning_versions && system.is_empty() {
            return self.put(Row::pair(target, source), cx);
        }
        let mut versions = source.to_vec();
        let wanted = if self.modify.returning_versions { &[old, new][..] } else { &[] };
        for version in wanted {
            match version {
                Some((row, table)) => {
                    versions.extend_from_slice(row);
                    versions.push(Datum::Oid(*table));
                }
                None => versions.extend(std::iter::repeat_n(Datum::Null, target.len() + 1)),
            }
        }
        versions.extend_from_slice(system);
        self.put(Row::pair(target, &versions), cx)
    }

    fn put(&mut self, row: Row<'_>, cx: &mut ExecContext) -> Result<()> {
        if !self.plan.passes(cx, row)? {
            return Ok(());
        }
        let out = match &self.plan.project {
            Some(project) => project.iter().map(|e| e.eval(cx, row)).collect::<Result<Vec<_>>>()?,
            None => row.iter().cloned().collect(),
        };
        self.ready.push_back(out);
        Ok(())
    }
}

impl ModifyNode {
    /// Changes the rows of one batch.
    fn run_batch(&mut self, modify: &ModifyPlan, cx: &mut ExecContext) -> Result<()> {
        let mut returning = Returning { plan: &self.plan, modify, ready: &mut self.ready };
        let mut changed = 0;
        match (modify.command, &modify.on_conflict) {
            (Command::Insert, None) => {
                let completed = modify.target.completed(&self.incoming, cx)?;
                let rows: Vec<&[Datum]> = match &completed {
                    Some(rows) => rows.iter().map(Vec::as_slice).collect(),
                    None => self.incoming.iter().collect(),
                };
                let (open, inserter) = (&mut self.open, &mut self.inserter);
                let placed = modify.insert_in_order(&rows, open, inserter, cx)?;
                changed += rows.len() as u64;
                let looked_at = modify.returning || !modify.target.view_checks.is_empty();
                for (i, row) in rows.iter().enumerate().filter(|_| looked_at) {
                    let placed = placed.get(i);
                    let row = placed.and_then(|placed| placed.row.as_deref()).unwrap_or(row);
                    check_views(&modify.target, row, cx)?;
                    let leaf = placed.map(|placed| Datum::Oid(placed.leaf));
                    let table = placed.map_or(modify.target.oid(), |placed| placed.leaf);
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
            }
            (Command::Insert, Some(conflict)) => {
                let completed = modify.target.completed(&self.incoming, cx)?;
                let rows: Vec<&[Datum]> = match &completed {
                    Some(rows) => rows.iter().map(Vec::as_slice).collect(),
                    None => self.incoming.iter().collect(),
                };
                for row in rows {
                    let leaf = modify.leaf_for(row, &mut self.open, cx)?;
                    let (target, row) = match &leaf {
                        Some((leaf, computed)) => (&**leaf, computed.as_deref().unwrap_or(row)),
                        None => (&modify.target, row),
                    };
                    let done = conflict.insert(target, row, &mut self.inserter, cx)?;
                    if let Some(done) = done {
                        changed += 1;
                        check_views(&modify.target, done.stored(), cx)?;
                        let table = target.oid();
                        let leaf = leaf.is_some().then_some(Datum::Oid(table));
                        let system = modify.system_of(&done, target, cx)?;
                        let versions = done.versions(table, table);
                        let beside = (leaf.as_slice(), &system[..]);
                        returning.row(done.stored(), versions, beside, cx)?;
                    }
                }
            }
            (Command::Update | Command::Delete, _) => {
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
            }
            (Command::Select, _) => {
                return Err(Error::internal("SELECT is not a data-modifying command"));
            }
        }
        if modify.counts {
            cx.processed += changed;
        }
        Ok(())
    }
}

impl Node for ModifyNode {
    fn next(&mut self, cx: &mut ExecContext, out: &mut RowBatch) -> Result<()> {
        let plan = self.plan.clone();
        let CNode::Modify(modify) = &plan.kind else {
            return Err(Error::internal("modify node over another plan"));
        };
        while self.ready.is_empty() && !self.finished {
            self.incoming.clear();
            self.incoming.wanted = INSERT_ROWS;
            self.child.next(cx, &mut self.incoming)?;
            cx.check_interrupts()?;
            self.finished = self.incoming.is_empty();
            self.run_batch(modify, cx)?;
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
fn no_row() -> Error {
    Error::internal("an inserted row has no place")
}

/// Positions of the columns that must not be NULL, but for those that no row has values of.
pub(crate) fn not_null_columns(relation: &steppe_catalog::Relation) -> Box<[usize]> {
    let columns = relation.columns.iter().enumerate();
    columns.filter(|(_, c)| c.not_null && !c.dropped && !c.is_virtual).map(|(i, _)| i).collect()
}

/// Arbiter indexes by OID.
pub(crate) fn arbiters(indexes: &[IndexAccess], oids: &[Oid]) -> Box<[usize]> {
    let positions = indexes.iter().enumerate();
    positions
        .filter(|(_, i)| i.is_arbiter() && (oids.is_empty() || oids.contains(&i.relation.oid)))
        .map(|(at, _)| at)
        .collect()
}
