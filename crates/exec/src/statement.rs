//! Compiled statements and their executions, as the session uses them.
//!
//! ```text
//!   PlannedStmt ──CompiledStmt::compile──▶ Arc<CompiledStmt>      (plan cache)
//!                                              │ Execution::start(params, env)
//!                                              ▼
//!                                          Execution ──fetch(max)──▶ rows to a RowSink
//!                                          (portal)   ◀─Suspended──
//! ```

use crate::batch::{BATCH_ROWS, RowBatch};
use crate::change::{EventMark, finish_events};
use crate::context::{ExecContext, Instrument, LeafRun};
use crate::explain::TriggerRun;
use crate::expr::{CExpr, Compiler, Row, SubPlanState};
use crate::node::columns::RowsOfColumns;
use crate::node::{
    BoxedNode, CPlan, Exchange, PlanCompiler, RemoteRequest, StoredSink, begin_scans, compile_plan,
    start, stored_columns,
};
use crate::partition::{LeafStatements, lock_mode_of};
use crate::point::{PointOutcome, PointPlan, PointTable};
use crate::routine::in_session;
use crate::row_wait::RowWait;
use crate::sink::RowSink;
use crate::transaction::{StatementTxn, Transaction};
use crate::tuplestore::{StoreReader, TupleStore};
use crate::vector::ColumnBatch;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use steppe_catalog::{Catalog, Function, RelKind};
use steppe_cluster::transaction::{RemoteStatement, Values};
use steppe_cluster::{Format, NodeId};
use steppe_functions::{FnContext, SessionHost};
use steppe_partition::RoutedPartition;
use steppe_spill::TempSpace;
use steppe_sql::plan::{Plan, PlanNode, PlannedStmt, ResultColumn};
use steppe_sql::query::Command;
use steppe_storage::Usage;
use steppe_txn::{
    Engine, LockWait, Lsn, RelationLockMode, RowId, Snapshot, Txn, UndoPosition, View,
};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, interrupt};

/// A statement ready to run, shared between sessions.
pub struct CompiledStmt {
    planned: Arc<PlannedStmt>,
    root: Arc<CPlan>,
    subplans: Box<[Arc<CPlan>]>,
    /// Data-modifying CTEs, which run to their end even if they are not read.
    modifying: Box<[usize]>,
    work_tables: usize,
    nodes: usize,
    point: Option<PointPlan>,
    /// The rows are handed up in their stored form; these are their columns.
    stored: Option<Box<[usize]>>,
    leaves: Option<Box<LeafStatements>>,
    /// The number of parameters of a row, if the statement is about rows made of parameters.
    row_params: Option<usize>,
    /// Its scans of tables on nodes.
    scans: Box<[Arc<CPlan>]>,
    /// The constants were evaluated without values of parameters and did not fail. They are
    /// immutable, so they never will.
    constants_hold: AtomicBool,
}

/// The environment of an execution.
#[derive(Clone)]
pub struct ExecEnv {
    /// The session.
    pub session: Arc<dyn SessionHost>,
    /// Settings that text input and output depend on.
    pub io: Arc<IoContext>,
    /// The catalog the statement was planned against.
    pub catalog: Arc<Catalog>,
    /// statement_timestamp: microseconds since 2000-01-01 UTC.
    pub statement_timestamp: i64,
    /// now: microseconds since 2000-01-01 UTC.
    pub transaction_timestamp: i64,
    /// work_mem in bytes.
    pub work_mem_bytes: usize,
    /// The space for temporary files.
    pub temp: Arc<TempSpace>,
}

/// The result of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchStatus {
    /// The statement has ended; the number for its command tag.
    Done {
        /// Rows handed up by a SELECT over all fetches, or changed by another command.
        rows: u64,
    },
    /// The row limit was reached; there may be more.
    Suspended {
        /// Rows handed up by this fetch.
        rows: u64,
    },
}

/// The outcome of running a whole statement.
#[derive(Debug)]
pub enum ExecOutcome {
    /// The statement has ended.
    Done {
        /// Rows handed up or changed.
        rows: u64,
    },
    /// A point statement met a lock and changed nothing. Await the lock and run the statement
    /// again, over this row.
    MustWait(LockWait, RowWait),
}

/// The one leaf of a partitioned table that an execution concerns.
#[derive(Clone, Copy, Debug)]
pub struct LeafOfStatement(RoutedPartition);

impl LeafOfStatement {
    /// The leaf's OID.
    pub fn oid(self) -> Oid {
        self.0.relation
    }
}

impl CompiledStmt {
    /// Compiles a planned statement. Fails with 0A000 for functions without an implementation.
    pub fn compile(
        planned: Arc<PlannedStmt>,
        catalog: &Arc<Catalog>,
        engine: &Engine,
    ) -> Result<CompiledStmt> {
        Self::compile_inner(planned, catalog, Some(engine), None)
    }

    /// Compiles a statement that touches no stored table.
    pub fn compile_without_tables(
        planned: Arc<PlannedStmt>,
        catalog: &Arc<Catalog>,
    ) -> Result<CompiledStmt> {
        Self::compile_inner(planned, catalog, None, None)
    }

    /// The INSERT of one row, compiled for several rows of parameters: `rows` times those of this
    /// statement, or any number if `rows` is 0. `None`: the statement is no such INSERT, or does
    /// not run row by row (a sub-select would run once).
    pub fn of_rows(
        &self,
        rows: usize,
        catalog: &Arc<Catalog>,
        engine: &Engine,
    ) -> Result<Option<CompiledStmt>> {
        let width = self.planned.param_types.len();
        if width == 0 || !is_one_row(&self.planned) {
            return Ok(None);
        }
        let planned = match rows {
            0 | 1 => self.planned.clone(),
            rows => {
                let param_types = self.planned.param_types.repeat(rows);
                Arc::new(PlannedStmt { param_types, ..(*self.planned).clone() })
            }
        };
        Self::compile_inner(planned, catalog, Some(engine), Some(width)).map(Some)
    }

    /// The number of parameters of a row, if the statement is about rows made of parameters.
    pub fn row_params(&self) -> Option<usize> {
        self.row_params
    }

    fn compile_inner(
        planned: Arc<PlannedStmt>,
        catalog: &Arc<Catalog>,
        engine: Option<&Engine>,
        row_params: Option<usize>,
    ) -> Result<CompiledStmt> {
        let mut exprs = Compiler::new(&planned, FnContext::pure(catalog.clone()));
        let mut compiler = PlanCompiler {
            exprs: &mut exprs,
            stmt: &planned,
            engine,
            next_id: 0,
            work_tables: 0,
            top: true,
            row_params,
            shared_scans: Vec::new(),
            scans: Vec::new(),
            loops: 0,
        };
        let root = compile_plan(&mut compiler, &planned.plan)?;
        compiler.top = false;
        let mut subplans = Vec::new();
        for plan in &planned.subplans {
            // It runs again when a parameter of its has another value.
            compiler.loops = u32::from(!compiler.exprs.dependencies.of_plan(plan).is_empty());
            subplans.push(compile_plan(&mut compiler, plan)?);
        }
        let scans = std::mem::take(&mut compiler.scans).into();
        let (work_tables, nodes) = (compiler.work_tables, compiler.next_id);
        let modifying = planned
            .subplans
            .iter()
            .enumerate()
            .filter(|(_, p)| contains_modify(p))
            .map(|(i, _)| i)
            .collect();
        // The point path holds resources that a statement of a called function could need.
        let exprs = &compiler.exprs;
        let may_be_point = !exprs.runs_nodes && !exprs.runs_statements;
        let point = if may_be_point { PointPlan::of(&planned, &root) } else { None };
        let stored = stored_columns(&root).filter(|_| planned.command == Command::Select);
        let leaves = LeafStatements::of(&planned, &root, catalog)?;
        Ok(CompiledStmt {
            root,
            subplans: subplans.into(),
            modifying,
            work_tables,
            nodes,
            point,
            stored,
            leaves,
            row_params,
            scans,
            planned,
            constants_hold: AtomicBool::new(false),
        })
    }

    /// The statement over leaves in the place of the leaves that it was compiled for, with the same
    /// definitions. `None`: it must be compiled for them. (Users are shown the plan of the statement
    /// that names the parent.)
    pub(crate) fn over(&self, leaves: &Exchange<'_>) -> Result<Option<CompiledStmt>> {
        if !self.subplans.is_empty() || self.leaves.is_some() {
            return Ok(None);
        }
        let root = self.root.over(leaves)?;
        Ok(root.map(|root| CompiledStmt {
            planned: Arc::clone(&self.planned),
            root,
            subplans: Box::default(),
            modifying: Box::default(),
            work_tables: self.work_tables,
            nodes: self.nodes,
            // A point statement finds other leaves by itself.
            point: None,
            stored: self.stored.clone(),
            leaves: None,
            row_params: self.row_params,
            scans: self.scans.clone(),
            constants_hold: AtomicBool::new(false),
        }))
    }

    /// Its scans of tables on nodes.
    pub(crate) fn scans(&self) -> &[Arc<CPlan>] {
        &self.scans
    }

    /// The plan it was compiled from.
    pub fn planned(&self) -> &Arc<PlannedStmt> {
        &self.planned
    }

    /// Whether there are constants that may fail.
    #[inline]
    pub fn has_constants(&self) -> bool {
        !self.planned.constants.statement.is_empty()
    }

    /// Evaluates the constants that may fail, as planning with these parameters does. The
    /// parameters of a generic plan are unknown.
    #[inline]
    pub fn check_constants(&self, params: Option<&[Datum]>, catalog: &Arc<Catalog>) -> Result<()> {
        match self.has_constants() {
            true => self.check_each(params, catalog),
            false => Ok(()),
        }
    }

    fn check_each(&self, params: Option<&[Datum]>, catalog: &Arc<Catalog>) -> Result<()> {
        let constants = &self.planned.constants;
        let Some(params) = params else {
            if !self.constants_hold.load(Ordering::Relaxed) {
                crate::constants::check(constants, None, catalog)?;
                self.constants_hold.store(true, Ordering::Relaxed);
            }
            return Ok(());
        };
        let Some(width) = self.row_params else {
            return crate::constants::check(constants, Some(params), catalog);
        };
        for rows in interrupt::pieces(params, width * ROWS_CHECKED) {
            for row in rows?.chunks(width) {
                crate::constants::check(constants, Some(row), catalog)?;
            }
        }
        Ok(())
    }

    /// The statement that nodes run with the result's columns in these formats (none: text), if the
    /// plan only hands up its rows as they are.
    pub fn remote<'a>(&'a self, formats: &'a [Format]) -> Option<RemoteStatement<'a>> {
        let remote = self.root.as_remote().filter(|remote| remote.is_passed_through(formats))?;
        Some(remote.statement(formats))
    }

    /// The compiled root node.
    pub(crate) fn root(&self) -> &Arc<CPlan> {
        &self.root
    }

    /// Columns sent to the client.
    pub fn columns(&self) -> &[ResultColumn] {
        &self.planned.columns
    }

    /// Whether [`CompiledStmt::run_point`] may be tried.
    pub(crate) fn is_point(&self) -> bool {
        self.point.is_some()
    }

    /// The point plan, if it is a point statement.
    pub(crate) fn point(&self) -> Option<&PointPlan> {
        self.point.as_ref()
    }

    /// Whether it reads one of these virtual relations of pg_catalog.
    pub fn reads_virtual(&self, names: &[&str]) -> bool {
        fn reads(plan: &Plan, names: &[&str]) -> bool {
            let mut found = matches!(&plan.node, PlanNode::SeqScan { rel, .. }
                if rel.relation.kind == RelKind::Virtual && names.contains(&&*rel.relation.name));
            crate::deps::for_each_child(plan, &mut |child| found |= reads(child, names));
            found
        }
        let planned = &self.planned;
        std::iter::once(&planned.plan).chain(&planned.subplans).any(|plan| reads(plan, names))
    }

    /// The leaf of a partitioned table that an execution with these parameters concerns, and
    /// how it is to be locked. `None`: it may be several, or the statement is not of that kind.
    pub fn leaf(
        &self,
        params: &Arc<[Datum]>,
        env: &ExecEnv,
    ) -> Result<Option<(LeafOfStatement, RelationLockMode)>> {
        let Some(leaves) = &self.leaves else { return Ok(None) };
        let mut cx = None;
        let mut value = |slot: &CExpr| match slot {
            CExpr::Param(number) => params.get(*number).cloned(),
            slot => {
                let new = || self.context(params.clone(), env, &mut None);
                // The condition itself raises such an error, if there is a row.
                slot.eval(cx.get_or_insert_with(new), Row::EMPTY).ok()
            }
        };
        let leaf = leaves.leaf(&self.planned, &env.catalog, &mut value)?;
        let mode = || lock_mode_of(&self.planned, leaves.table());
        Ok(leaf.map(|leaf| (LeafOfStatement(leaf), mode())))
    }

    /// The statement to run for a locked leaf, if the general one is not needed. `env` has the
    /// catalog that the statement was planned against.
    pub fn of_leaf(
        &self,
        leaf: LeafOfStatement,
        env: &ExecEnv,
        engine: &Engine,
    ) -> Result<Option<Arc<CompiledStmt>>> {
        match &self.leaves {
            Some(leaves) => leaves.statement(&self.planned, leaf.0, &env.catalog, engine),
            None => Ok(None),
        }
    }

    /// Runs a point statement over one row by its unique key, without plan nodes and without an
    /// allocation for each row. `leaf`: the locked leaf that it concerns, if any. Then `env` has
    /// the catalog of the plan. `awaited`: the row that the statement has waited for. `None`: the
    /// statement is no point statement, or this case needs the plan's nodes. The call then has done
    /// nothing.
    pub fn run_point(
        &self,
        (leaf, awaited): (Option<LeafOfStatement>, Option<RowId>),
        params: &Arc<[Datum]>,
        (env, engine): (&ExecEnv, &Engine),
        txn: &mut Option<Transaction>,
        sink: &mut dyn RowSink,
    ) -> Result<Option<ExecOutcome>> {
        let Some((leaves, LeafOfStatement(leaf))) = self.leaves.as_ref().zip(leaf) else {
            return self.run_point_over((None, awaited), params, env, txn, sink);
        };
        leaves.with_point(&self.planned, leaf, &env.catalog, engine, |point| {
            let over = (Some(point.table()), awaited);
            point.statement().run_point_over(over, params, env, txn, sink)
        })
    }

    fn run_point_over(
        &self,
        over: (Option<PointTable<'_>>, Option<RowId>),
        params: &Arc<[Datum]>,
        env: &ExecEnv,
        txn: &mut Option<Transaction>,
        sink: &mut dyn RowSink,
    ) -> Result<Option<ExecOutcome>> {
        let Some(point) = &self.point else { return Ok(None) };
        let mut cx = self.context(params.clone(), env, txn);
        let outcome = point.run(&self.root, over, &mut cx, sink);
        let outcome = outcome.and_then(|done| finish_events(&mut cx).map(|()| done));
        *txn = cx.take_txn().map(StatementTxn::into_transaction);
        Ok(match outcome? {
            PointOutcome::Done(rows) => Some(ExecOutcome::Done { rows }),
            PointOutcome::MustWait(wait, row) => Some(ExecOutcome::MustWait(wait, row)),
            PointOutcome::General => None,
        })
    }

    /// Whether it changes rows.
    fn writes(&self) -> bool {
        self.planned.command != Command::Select || !self.modifying.is_empty()
    }

    pub(crate) fn context(
        &self,
        params: Arc<[Datum]>,
        env: &ExecEnv,
        txn: &mut Option<Transaction>,
    ) -> ExecContext {
        let mut events = None;
        let txn = txn.take().map(|mut transaction| {
            if self.writes() {
                transaction.txn.use_command();
            }
            let mut txn = StatementTxn::new(transaction);
            events = txn.left_events().and_then(Option::take);
            txn
        });
        let mut cx = ExecContext::new(
            env.functions(),
            params,
            self.planned.exec_params,
            self.work_tables,
            env.work_mem_bytes,
            env.temp.clone(),
            txn,
        );
        cx.events = events;
        cx
    }
}

impl ExecEnv {
    /// The context of code that runs without a statement.
    pub(crate) fn context(&self, txn: &mut Option<Transaction>) -> ExecContext {
        let txn = txn.take().map(StatementTxn::new);
        let (work_mem, temp) = (self.work_mem_bytes, self.temp.clone());
        ExecContext::new(self.functions(), Arc::new([]), 0, 0, work_mem, temp, txn)
    }

    /// The state of the session that functions can read.
    pub(crate) fn functions(&self) -> FnContext {
        FnContext {
            session: self.session.clone(),
            io: self.io.clone(),
            catalog: self.catalog.clone(),
            statement_timestamp: self.statement_timestamp,
            transaction_timestamp: self.transaction_timestamp,
        }
    }
}

/// Rows whose constants are checked between two checks for interrupts.
const ROWS_CHECKED: usize = 1024;

/// Whether it is an INSERT of one row of expressions alone.
fn is_one_row(planned: &PlannedStmt) -> bool {
    let PlanNode::Modify(modify) = &planned.plan.node else { return false };
    let is_bare =
        matches!(modify.child.node, PlanNode::Result { one_time_filter: None, child: None });
    planned.command == Command::Insert
        && planned.subplans.is_empty()
        && is_bare
        && modify.child.filter.is_none()
        && modify.child.project.is_some()
}

fn contains_modify(plan: &Plan) -> bool {
    let mut found = matches!(plan.node, PlanNode::Modify(_) | PlanNode::RemoteInsert(_));
    crate::deps::for_each_child(plan, &mut |child| found |= contains_modify(child));
    found
}

/// Switches to the snapshot and command number of a portal. Other statements of the transaction may
/// have run since, and the portal must not see their changes. Returns the snapshot to switch back
/// to.
fn go_on(txn: &mut Txn, own: Snapshot) -> Option<Snapshot> {
    let running = txn.snapshot();
    if (running.lsn, running.cid) == (own.lsn, own.cid) {
        return None;
    }
    let running = if running.lsn == Lsn(0) { running } else { txn.suspend_statement() };
    txn.hold_snapshot(own);
    txn.resume_statement(own);
    Some(running)
}

/// A running statement. A portal with a row limit keeps it between fetches.
pub struct Execution {
    stmt: Arc<CompiledStmt>,
    cx: ExecContext,
    view: Option<View>,
    root: Option<BoxedNode>,
    /// Rows of INSERT/UPDATE/DELETE … RETURNING: the command runs to its end first.
    stored: Option<(TupleStore, StoreReader)>,
    batch: RowBatch,
    /// The state of a plan that hands up columns.
    columns: RowsOfColumns,
    handed: u64,
    finished: bool,
    /// Where the transaction was when the statement began, unless that is long past.
    began_at: Option<UndoPosition>,
    /// The events that it found there: of other statements that actions of foreign keys have run.
    queued_before: EventMark,
}

impl Execution {
    /// Starts a statement with its parameters. The transaction, in which a statement has started,
    /// gives the snapshot now. `None` for statements that touch no table.
    pub fn start(
        stmt: &Arc<CompiledStmt>,
        params: Arc<[Datum]>,
        env: &ExecEnv,
        txn: &mut Option<Transaction>,
    ) -> Result<Execution> {
        Self::start_inner(stmt, params, env, txn, false)
    }

    /// Starts a query without parameters, which reads at a view without a transaction.
    pub(crate) fn start_at(stmt: &Arc<CompiledStmt>, env: &ExecEnv, view: &View) -> Execution {
        let mut cx = stmt.context(Arc::new([]), env, &mut None);
        cx.lend_view(view.clone());
        Execution::of_context(stmt, cx, Some(view.clone()))
    }

    fn of_context(stmt: &Arc<CompiledStmt>, mut cx: ExecContext, view: Option<View>) -> Execution {
        cx.statement = Some(Arc::clone(stmt));
        cx.subplans = stmt.subplans.iter().map(|p| SubPlanState::new(p.clone())).collect();
        Execution {
            batch: RowBatch::new(stmt.root.width),
            columns: RowsOfColumns::default(),
            stmt: stmt.clone(),
            cx,
            view,
            root: None,
            stored: None,
            handed: 0,
            finished: false,
            began_at: None,
            queued_before: EventMark::default(),
        }
    }

    /// Lets other threads help. The caller must take all rows until there are no more.
    pub fn allow_helpers(&mut self) {
        self.cx.may_be_helped = true;
    }

    /// The resources that helpers have used: pages and log, and bytes read from and written to
    /// spill files.
    pub fn used_by_helpers(&self) -> (Usage, (u64, u64)) {
        self.cx.helped.parts()
    }

    /// Restricts a change to one row. A point statement began it and waited for that row; another
    /// row may have the key by now.
    pub fn change_only(&mut self, awaited: RowId) {
        self.cx.awaited = Some(awaited);
    }

    /// Starts a statement whose nodes are counted and timed, for EXPLAIN ANALYZE.
    pub fn start_analyzed(
        stmt: &Arc<CompiledStmt>,
        params: Arc<[Datum]>,
        env: &ExecEnv,
        txn: &mut Option<Transaction>,
    ) -> Result<Execution> {
        Self::start_inner(stmt, params, env, txn, true)
    }

    fn start_inner(
        stmt: &Arc<CompiledStmt>,
        params: Arc<[Datum]>,
        env: &ExecEnv,
        txn: &mut Option<Transaction>,
        analyze: bool,
    ) -> Result<Execution> {
        let mut cx = stmt.context(params, env, txn);
        let queued_before = cx.event_mark();
        let (taken, view) = cx.take_txn().map(StatementTxn::into_parts).unzip();
        let began_at = taken.as_ref().map(|taken: &Transaction| taken.txn.undo_position());
        *txn = taken;
        if analyze {
            cx.instruments = Some(vec![Instrument::default(); stmt.nodes]);
        }
        Ok(Execution { began_at, queued_before, ..Execution::of_context(stmt, cx, view) })
    }

    /// The same statement from its beginning, with these parameters, at the same snapshot.
    pub fn again(&self, params: Arc<[Datum]>, env: &ExecEnv) -> Result<Execution> {
        let cx = self.stmt.context(params, env, &mut None);
        Ok(Execution::of_context(&self.stmt, cx, self.view.clone()))
    }

    /// The statement.
    pub fn statement(&self) -> &Arc<CompiledStmt> {
        &self.stmt
    }

    /// The counters by node, after an analyzed execution.
    pub fn instruments(&self) -> &[Instrument] {
        self.cx.instruments.as_deref().unwrap_or(&[])
    }

    /// The leaves that an analyzed execution has touched.
    pub fn leaf_runs(&self) -> &[LeafRun] {
        &self.cx.leaf_runs
    }

    /// The triggers that an analyzed execution has called.
    pub fn trigger_runs(&self) -> &[TriggerRun] {
        &self.cx.trigger_runs
    }

    /// Begins the scans of tables on nodes, for a cursor: their rows are those of now. The transaction
    /// is taken for the duration of the call and put back, also after an error.
    pub fn begin_scans(&mut self, txn: &mut Option<Transaction>) -> Result<()> {
        if self.stmt.scans.is_empty() {
            return Ok(());
        }
        let begin = |execution: &mut Execution| begin_scans(&mut execution.cx);
        self.with_transaction(txn, |execution| execution.in_session(begin))
    }

    /// Hands up to `max_rows` rows (0: all) to the sink. The transaction is taken for the
    /// duration of the call and put back, also after an error.
    pub fn fetch(
        &mut self,
        txn: &mut Option<Transaction>,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<FetchStatus> {
        self.with_transaction(txn, |execution| {
            let mut result = execution.in_session(|execution| execution.run(max_rows, sink));
            while let Some(position) = execution.began_at.filter(|_| execution.cx.is_overtaken)
                && (execution.handed == 0 || sink.take_back())
            {
                result =
                    execution.begin_again(position).and_then(|()| execution.run(max_rows, sink));
            }
            if result.is_err() {
                execution.finished = true;
                // Helpers end before the snapshot is released.
                execution.root = None;
            }
            result
        })
    }

    /// Evaluates what the plan asks its one node for, if that is all it does. The caller may ask
    /// the node itself. Else [`Self::fetch`] does, with the same values.
    pub fn remote_request(
        &mut self,
        txn: &mut Option<Transaction>,
    ) -> Result<Option<(NodeId, Values)>> {
        let root = Arc::clone(&self.stmt.root);
        let Some(remote) = root.as_remote() else { return Ok(None) };
        let evaluate = |execution: &mut Execution| RemoteRequest::of(remote, &mut execution.cx);
        let evaluated = self.with_transaction(txn, |execution| execution.in_session(evaluate));
        let request = self.cx.remote_request.insert(evaluated?);
        Ok(match &request.targets[..] {
            [one] => Some(one.clone()),
            _ => None,
        })
    }

    /// Runs work with the transaction at hand.
    fn with_transaction<T>(
        &mut self,
        txn: &mut Option<Transaction>,
        work: impl FnOnce(&mut Execution) -> Result<T>,
    ) -> Result<T> {
        let mut running = None;
        let lent = match (txn.take(), &self.view) {
            (Some(mut txn), Some(view)) => {
                running = go_on(&mut txn.txn, view.snapshot());
                Some(StatementTxn::with_view(txn, view.clone()))
            }
            (Some(unused), None) => {
                *txn = Some(unused);
                None
            }
            (None, _) => None,
        };
        let lent_any = lent.is_some();
        self.cx.lend_txn(lent);
        let result = work(self);
        if lent_any {
            *txn = self.cx.take_txn().map(StatementTxn::into_transaction);
        }
        if let (Some(txn), Some(running)) = (txn, running) {
            txn.txn.resume_statement(running);
        }
        result
    }

    /// Runs work in which functions may be called.
    fn in_session<T>(&mut self, work: impl FnOnce(&mut Execution) -> Result<T>) -> Result<T> {
        // Keys of indexes are made without a context, also where a scan looks at an older version.
        let may_call = || !self.cx.functions.catalog.stored::<Function>().is_empty();
        match self.stmt.writes() || may_call() {
            false => work(self),
            true => {
                let session = Arc::clone(&self.cx.functions.session);
                in_session(&session, || work(self))
            }
        }
    }

    /// Undoes the changes, and starts at a snapshot that is as young as the leaves' files. The
    /// locks on the leaves are held by now.
    #[cold]
    fn begin_again(&mut self, began_at: UndoPosition) -> Result<()> {
        self.cx.is_overtaken = false;
        let Some(statement) = self.cx.take_txn() else {
            return Err(Error::internal("overtaken without a transaction"));
        };
        let mut transaction = statement.into_transaction();
        let txn = &mut transaction.txn;
        let restarted = txn.rollback_to_position(began_at).and_then(|()| txn.start_statement());
        if self.stmt.writes() {
            txn.use_command();
        }
        let statement = StatementTxn::new(transaction);
        self.view = Some(statement.view.clone());
        self.cx.lend_txn(Some(statement));
        // Read after the snapshot was taken: it has the partitions whose rows the snapshot sees.
        let catalog = self.cx.newer_catalog()?;
        let catalog = catalog.unwrap_or_else(|| self.cx.functions.catalog.clone());
        let statement = self.cx.take_txn();
        self.cx.forget_events(self.queued_before);
        let events = self.cx.events.take();
        self.cx = self.cx.again(catalog);
        self.cx.events = events;
        self.cx.lend_txn(statement);
        (self.root, self.stored) = (None, None);
        (self.handed, self.finished) = (0, false);
        restarted
    }

    fn run(&mut self, max_rows: u64, sink: &mut dyn RowSink) -> Result<FetchStatus> {
        let select = self.stmt.planned.command == Command::Select;
        // A statement that changes data runs to its end, even if few rows of its result are
        // fetched.
        let modifies = self.stmt.writes();
        if modifies && self.stored.is_none() && !self.finished {
            self.run_command()?;
        }
        let hands_up_stored =
            !modifies && self.stmt.stored.is_some() && self.cx.instruments.is_none();
        let hands_up_columns = !modifies && self.stmt.root.columns.is_some();
        let mut rows = 0;
        while !self.finished {
            if max_rows > 0 && rows == max_rows {
                return Ok(FetchStatus::Suspended { rows });
            }
            let wanted = if max_rows == 0 { u64::MAX } else { max_rows - rows };
            if hands_up_stored {
                rows += self.next_stored(wanted, sink)?;
                continue;
            }
            if hands_up_columns {
                rows += self.next_columns(wanted, sink)?;
                continue;
            }
            self.batch.clear();
            self.batch.wanted = wanted.min(BATCH_ROWS as u64) as usize;
            let filled = self.next_batch();
            if filled.is_ok() && self.batch.is_empty() {
                self.end()?;
                break;
            }
            // A client hears of the rows before the one that failed, as PostgreSQL makes and
            // sends one at a time.
            if filled.is_err() && self.cx.is_overtaken {
                self.batch.clear();
            }
            for row in self.batch.iter() {
                sink.row(row)?;
            }
            rows += self.batch.len() as u64;
            self.handed += self.batch.len() as u64;
            filled?;
        }
        Ok(FetchStatus::Done { rows: if select { self.handed } else { self.cx.processed } })
    }

    fn next_batch(&mut self) -> Result<()> {
        if let Some((store, reader)) = &mut self.stored {
            return store.read(reader, &mut self.batch);
        }
        self.cx.check_interrupts()?;
        let (cx, batch) = (&mut self.cx, &mut self.batch);
        self.root.get_or_insert_with(|| start(&self.stmt.root, cx)).next(cx, batch)
    }

    /// Hands the next rows to the sink in their stored form, and returns their number; none at the
    /// end.
    fn next_stored(&mut self, wanted: u64, sink: &mut dyn RowSink) -> Result<u64> {
        let Some(columns) = &self.stmt.stored else {
            return Err(Error::internal("rows are not handed up as they are stored"));
        };
        self.cx.check_interrupts()?;
        let wanted = wanted.min(BATCH_ROWS as u64) as usize;
        let (cx, mut out) = (&mut self.cx, StoredSink { columns, sink, wanted, rows: 0 });
        let root = self.root.get_or_insert_with(|| start(&self.stmt.root, cx));
        let handed = root.next_stored(cx, &mut out);
        let rows = out.rows as u64;
        self.handed += rows;
        handed?;
        if rows == 0 {
            self.end()?;
        }
        Ok(rows)
    }

    /// Hands the next rows to the sink as columns, and returns their number; none at the end.
    fn next_columns(&mut self, wanted: u64, sink: &mut dyn RowSink) -> Result<u64> {
        self.cx.check_interrupts()?;
        let (cx, wanted) = (&mut self.cx, wanted.min(BATCH_ROWS as u64) as usize);
        let root = self.root.get_or_insert_with(|| start(&self.stmt.root, cx));
        let fill = |cx: &mut ExecContext, out: &mut ColumnBatch| root.next_columns(cx, out);
        let rows = self.columns.hand_over(cx, (wanted, sink), fill)? as u64;
        self.handed += rows;
        if rows == 0 {
            self.end()?;
        }
        Ok(rows)
    }

    /// Runs a data-modifying command to its end, and keeps the rows that it returns.
    fn run_command(&mut self) -> Result<()> {
        let mut store = self.cx.new_store(self.stmt.root.width);
        loop {
            self.batch.clear();
            self.batch.wanted = BATCH_ROWS;
            self.next_batch()?;
            if self.batch.is_empty() {
                break;
            }
            for row in self.batch.iter() {
                store.push(Row::of(row))?;
            }
        }
        self.drain_modifying()?;
        finish_events(&mut self.cx)?;
        self.root = None;
        self.stored = Some((store, StoreReader::default()));
        Ok(())
    }

    fn drain_modifying(&mut self) -> Result<()> {
        let stmt = self.stmt.clone();
        stmt.modifying.iter().try_for_each(|plan| crate::expr::drain(&mut self.cx, *plan))
    }

    fn end(&mut self) -> Result<()> {
        if self.stored.is_none() {
            self.drain_modifying()?;
        }
        self.finished = true;
        self.root = None;
        Ok(())
    }
}
