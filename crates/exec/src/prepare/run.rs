//! A statement run to its end in the calling thread, for functions, which have no client to wait
//! for.
//!
//! ```text
//!   the plan's relations are locked (by the caller)
//!        │ the one leaf that it concerns with these parameters: locked
//!        │ snapshot
//!        ├─ a point statement ──▶ run_point, again after each row that is waited for
//!        └─ others ────────────▶ Execution of the leaf's statement, or of the plan
//! ```
//!
//! The rows and the count are the same as for a client. The statement runs only if the catalog of
//! its plan is in force when the snapshot is taken. A partition that was added meanwhile could have
//! rows that the snapshot sees.

use super::{Planning, parse_one, prepare};
use crate::sink::RowSink;
use crate::statement::{
    CompiledStmt, ExecEnv, ExecOutcome, Execution, FetchStatus, LeafOfStatement,
};
use crate::transaction::Transaction;
use std::sync::Arc;
use steppe_sql::bind::Params;
use steppe_txn::{Engine, RowId, Txn, View};
use steppe_types::{Datum, Error, Result};

/// The snapshot at which a statement reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshot {
    /// A new one, where the isolation level takes one for each statement.
    New,
    /// That of the statement that calls the function.
    Callers,
    /// A new one at each isolation level.
    Newest,
    /// The same, for a change of rows. Above READ COMMITTED it fails with 40001 if the transaction's
    /// snapshot does not see a row that it changes.
    NewestToChange,
}

/// Runs a statement whose relations are locked, and returns the number of rows that it returned or
/// changed. It ends after `limit` rows (0: at its end). `env` has the catalog of its plan. `None`:
/// another catalog has come into force and the statement has not run. The caller plans it again.
pub fn run_in_place(
    compiled: &Arc<CompiledStmt>,
    params: &Arc<[Datum]>,
    (env, engine): (&ExecEnv, &Engine),
    txn: &mut Option<Transaction>,
    how: (u64, Snapshot),
    sink: &mut dyn RowSink,
) -> Result<Option<u64>> {
    run_keeping(compiled, params, (env, engine), txn, how, sink, None)
}

/// The remains of a run that is watched.
#[derive(Default)]
pub(crate) struct Kept {
    /// The nodes are measured, so the statement takes no point path.
    pub(crate) measures_nodes: bool,
    /// The execution, if it did not take the point path.
    pub(crate) execution: Option<Box<Execution>>,
}

/// As [`run_in_place`], with what is kept of the run.
pub(crate) fn run_keeping(
    compiled: &Arc<CompiledStmt>,
    params: &Arc<[Datum]>,
    (env, engine): (&ExecEnv, &Engine),
    txn: &mut Option<Transaction>,
    (limit, snapshot): (u64, Snapshot),
    sink: &mut dyn RowSink,
    kept: Option<&mut Kept>,
) -> Result<Option<u64>> {
    let measures_nodes = kept.as_ref().is_some_and(|kept| kept.measures_nodes);
    let Some(leaf) = lock_leaf(compiled, params, env, txn)? else { return Ok(None) };
    start_statement(txn, snapshot)?;
    let awaited = match measures_nodes {
        true => None,
        false => match run_point(compiled, leaf, params, (env, engine), txn, sink)? {
            Ran::Point(rows) => return Ok(Some(rows)),
            Ran::Not { awaited } => awaited,
        },
    };
    let within = (env, engine);
    let Some(mut execution) = execution(compiled, leaf, params, within, txn, measures_nodes)?
    else {
        return Ok(None);
    };
    if let Some(awaited) = awaited {
        execution.change_only(awaited);
    }
    let status = execution.fetch(txn, limit, sink)?;
    if let Some(kept) = kept {
        kept.execution = Some(Box::new(execution));
    }
    match status {
        FetchStatus::Done { rows } | FetchStatus::Suspended { rows } => Ok(Some(rows)),
    }
}

/// Whether a query over locked tables has a row at a view. It has no transaction of its own, so it
/// can read only, and its tables must not be partitioned. Other threads may help. `env` has the
/// catalog that the query is planned with.
pub(crate) fn has_row_at(
    planning: &Planning<'_>,
    text: &str,
    env: &ExecEnv,
    view: &View,
) -> Result<bool> {
    let (statement, text) = (parse_one(text)?.statement, Arc::from(text));
    let plan = prepare(planning, &Arc::new(statement), &text, Params::fixed(&[]))?;
    let mut execution = Execution::start_at(&plan.compiled, env, view);
    execution.allow_helpers();
    let mut first = FirstRow::default();
    match execution.fetch(&mut None, 0, &mut first) {
        Err(_) if first.is_found => Ok(true),
        done => done.map(|_| false),
    }
}

/// Ends a query at its first row, by an error.
#[derive(Default)]
struct FirstRow {
    is_found: bool,
}

impl RowSink for FirstRow {
    fn row(&mut self, _: &[Datum]) -> Result<()> {
        self.is_found = true;
        Err(Error::internal("a query was not ended at its first row"))
    }
}

/// Begins a statement whose relations are locked, for rows in pieces. As [`run_in_place`] otherwise.
pub(crate) fn begin_in_place(
    compiled: &Arc<CompiledStmt>,
    params: &Arc<[Datum]>,
    (env, engine): (&ExecEnv, &Engine),
    txn: &mut Option<Transaction>,
    (snapshot, measures_nodes): (Snapshot, bool),
) -> Result<Option<Execution>> {
    let Some(leaf) = lock_leaf(compiled, params, env, txn)? else { return Ok(None) };
    start_statement(txn, snapshot)?;
    execution(compiled, leaf, params, (env, engine), txn, measures_nodes)
}

fn start_statement(txn: &mut Option<Transaction>, snapshot: Snapshot) -> Result<()> {
    match snapshot {
        Snapshot::New => lent(txn)?.start_statement(),
        Snapshot::Callers => Ok(()),
        Snapshot::Newest => {
            lent(txn)?.look_at_newest();
            lent(txn)?.start_statement()
        }
        Snapshot::NewestToChange => lent(txn)?.change_at_newest(),
    }
}

/// Locks the one leaf that a statement concerns with these parameters, if it concerns only one. The
/// outer `None`: the leaf may have been dropped, or its bounds changed, before it was locked.
fn lock_leaf(
    compiled: &CompiledStmt,
    params: &Arc<[Datum]>,
    env: &ExecEnv,
    txn: &mut Option<Transaction>,
) -> Result<Option<Option<LeafOfStatement>>> {
    let Some((leaf, mode)) = compiled.leaf(params, env)? else { return Ok(Some(None)) };
    if let Some(wait) = lent(txn)?.lock_relation(leaf.oid(), mode)? {
        env.session.block_on(wait)?;
    }
    Ok((!is_overtaken(env, txn)?).then_some(Some(leaf)))
}

/// The execution of a statement that has its snapshot.
fn execution(
    compiled: &Arc<CompiledStmt>,
    leaf: Option<LeafOfStatement>,
    params: &Arc<[Datum]>,
    (env, engine): (&ExecEnv, &Engine),
    txn: &mut Option<Transaction>,
    measures_nodes: bool,
) -> Result<Option<Execution>> {
    let of_leaf = match leaf {
        Some(leaf) => compiled.of_leaf(leaf, env, engine)?,
        None => None,
    };
    // The bound of a locked leaf cannot change.
    if of_leaf.is_none() && is_overtaken(env, txn)? {
        return Ok(None);
    }
    let compiled = of_leaf.as_ref().unwrap_or(compiled);
    let start = if measures_nodes { Execution::start_analyzed } else { Execution::start };
    start(compiled, Arc::clone(params), env, txn).map(Some)
}

/// Whether another catalog is in force than that of the plan.
fn is_overtaken(env: &ExecEnv, txn: &mut Option<Transaction>) -> Result<bool> {
    if let Some(transaction) = txn {
        transaction.rebase(&*env.session)?;
    }
    Ok(env.session.newer_catalog(&env.catalog).is_some())
}

/// The outcome of the point path.
enum Ran {
    /// The statement has ended.
    Point(u64),
    /// The statement needs the general plan.
    Not {
        /// The row that was waited for before.
        awaited: Option<RowId>,
    },
}

/// Runs a statement with a snapshot if it is a point statement.
fn run_point(
    compiled: &CompiledStmt,
    leaf: Option<LeafOfStatement>,
    params: &Arc<[Datum]>,
    (env, engine): (&ExecEnv, &Engine),
    txn: &mut Option<Transaction>,
    sink: &mut dyn RowSink,
) -> Result<Ran> {
    let mut awaited = None;
    loop {
        let over = (leaf, awaited);
        let outcome = compiled.run_point(over, params, (env, engine), txn, sink)?;
        let (wait, row) = match outcome {
            None => return Ok(Ran::Not { awaited }),
            Some(ExecOutcome::Done { rows }) => return Ok(Ran::Point(rows)),
            Some(ExecOutcome::MustWait(wait, row)) => (wait, row),
        };
        // The statement has changed nothing. It runs again over the same row.
        awaited = Some(row.row());
        lent(txn)?.end_statement();
        env.session.block_on(wait).map_err(|error| row.failed(error))?;
        lent(txn)?.start_statement_again()?;
    }
}

fn lent(txn: &mut Option<Transaction>) -> Result<&mut Txn> {
    let transaction = txn.as_mut().map(|transaction| &mut transaction.txn);
    transaction.ok_or_else(|| Error::internal("a statement is run without a transaction"))
}
