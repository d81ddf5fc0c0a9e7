//! The state of a running statement.
//!
//! Everything compiled is immutable and shared; parameters, sub-select results,
//! working tables, counters and the transaction's handle are here, in one object
//! per execution that every node and expression gets by `&mut`.

use crate::change::{EventQueue, HeldInserts, Quiet};
use crate::explain::TriggerRun;
use crate::expr::SubPlanState;
use crate::node::{OpenScans, RemoteRequest};
use crate::sought::Sought;
use crate::statement::CompiledStmt;
use crate::team::Team;
use crate::transaction::StatementTxn;
use crate::tuplestore::TupleStore;
use std::sync::Arc;
use steppe_catalog::Catalog;
use steppe_functions::{FnContext, SessionHost};
use steppe_spill::TempSpace;
use steppe_sql::expr::ExecParamId;
use steppe_storage::Usage;
use steppe_txn::{RowId, View};
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// The counters of one node, for EXPLAIN ANALYZE.
#[derive(Clone, Debug, Default)]
pub struct Instrument {
    /// The number of times the node was started.
    pub loops: u64,
    /// Rows handed up, over all loops.
    pub rows: u64,
    /// Rows dropped by the filter.
    pub filtered: u64,
    /// Pairs dropped by a join's ON condition.
    pub join_filtered: u64,
    /// Time until the first row, summed over loops.
    pub startup: std::time::Duration,
    /// Time in the node and below.
    pub total: std::time::Duration,
    /// Pages and log used by the node and those below it.
    pub usage: Usage,
    /// Bytes they read from spill files.
    pub spill_read_bytes: u64,
    /// Bytes they wrote to spill files.
    pub spill_written_bytes: u64,
    /// Descents of the index.
    pub searches: u64,
    /// Rows of the table that an index-only scan had to read.
    pub fetches: u64,
    /// Blocks of a bitmap's rows that it named one by one, and others.
    pub exact_blocks: u64,
    /// Blocks that it named whole.
    pub lossy_blocks: u64,
    /// Rows of them that did not satisfy its conditions.
    pub rechecked: u64,
    /// Details of the memory of a node that has its own.
    pub note: Option<Note>,
}

/// The groups that an incremental sort has sorted in one way.
#[derive(Clone, Debug, Default)]
pub struct SortGroups {
    /// The number of groups.
    pub count: u64,
    /// The methods' names, each once.
    pub methods: Vec<&'static str>,
    /// In memory.
    pub memory: SortSpace,
    /// On disk.
    pub disk: SortSpace,
}

/// The space that sorts of one kind took, in kilobytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct SortSpace {
    /// The space of all sorts together.
    pub total: u64,
    /// The space of the largest sort.
    pub peak: u64,
}

impl SortGroups {
    /// Counts the space and the method of a sort.
    pub(crate) fn add(&mut self, on_disk: bool, method: &'static str, kilobytes: u64) {
        if !self.methods.contains(&method) {
            self.methods.push(method);
        }
        let space = if on_disk { &mut self.disk } else { &mut self.memory };
        space.total += kilobytes;
        space.peak = space.peak.max(kilobytes);
    }
}

/// Details of a node's memory.
#[derive(Clone, Debug)]
pub enum Note {
    /// "Sort Method"
    Sort {
        /// The method's name.
        method: &'static str,
        /// On disk, not in memory.
        on_disk: bool,
        /// The space used.
        kilobytes: u64,
    },
    /// "Full-sort Groups" and "Pre-sorted Groups".
    IncrementalSort {
        /// Groups sorted by all keys.
        full: SortGroups,
        /// Large ones, sorted by the keys behind the prefix.
        prefix: SortGroups,
    },
    /// A hash aggregate's table.
    HashAggregate {
        /// The table and the spilled partitions.
        batches: u64,
        /// In memory.
        memory_kilobytes: u64,
        /// Spilled.
        disk_kilobytes: u64,
    },
    /// The cache of a Memoize.
    Memoize {
        /// Runs whose rows came from the cache.
        hits: u64,
        /// Other runs.
        misses: u64,
        /// Entries dropped for others.
        evictions: u64,
        /// Entries that memory did not hold alone.
        overflows: u64,
        /// The greatest memory use.
        kilobytes: u64,
    },
    /// The threads that a Gather had besides its own.
    Gather {
        /// The number of threads.
        launched: u64,
    },
    /// A hash join's table.
    Hash {
        /// Buckets.
        buckets: u64,
        /// Partitions.
        batches: u64,
        /// In memory.
        memory_kilobytes: u64,
    },
}

/// A leaf that a scan of a partitioned table has touched, in an analyzed execution.
#[derive(Clone, Copy, Debug)]
pub struct LeafRun {
    /// The scan's number.
    pub scan: usize,
    /// The leaf.
    pub leaf: Oid,
    /// The number of the first of its nodes.
    pub first: usize,
}

/// The resources that a thread has used so far. The difference of two shows the use in between.
#[derive(Clone, Copy, Default)]
pub(crate) struct Resources {
    usage: Usage,
    spill: (u64, u64),
}

impl Resources {
    /// Until now.
    pub(crate) fn now() -> Resources {
        Resources { usage: Usage::now(), spill: steppe_spill::transferred() }
    }

    /// Until now, including the resources that helpers have used.
    pub(crate) fn of(cx: &ExecContext) -> Resources {
        let mut all = Resources::now();
        all.add(cx.helped);
        all
    }

    /// The difference to an earlier moment on the same thread.
    pub(crate) fn since(self, before: Resources) -> Resources {
        let spill = (self.spill.0 - before.spill.0, self.spill.1 - before.spill.1);
        Resources { usage: self.usage - before.usage, spill }
    }

    /// Adds the resources of another thread.
    pub(crate) fn add(&mut self, other: Resources) {
        self.usage += other.usage;
        self.spill = (self.spill.0 + other.spill.0, self.spill.1 + other.spill.1);
    }

    /// Pages and log, and bytes read from and written to spill files.
    pub(crate) fn parts(self) -> (Usage, (u64, u64)) {
        (self.usage, self.spill)
    }
}

impl Instrument {
    /// Adds the resources used.
    pub(crate) fn add_used(&mut self, used: Resources) {
        self.usage += used.usage;
        self.spill_read_bytes += used.spill.0;
        self.spill_written_bytes += used.spill.1;
    }

    /// Adds the counters of another thread's node of the same plan.
    pub(crate) fn add(&mut self, other: Instrument) {
        self.loops += other.loops;
        self.rows += other.rows;
        self.filtered += other.filtered;
        self.join_filtered += other.join_filtered;
        self.startup += other.startup;
        self.total += other.total;
        self.usage += other.usage;
        self.spill_read_bytes += other.spill_read_bytes;
        self.spill_written_bytes += other.spill_written_bytes;
        self.searches += other.searches;
        self.fetches += other.fetches;
        self.exact_blocks += other.exact_blocks;
        self.lossy_blocks += other.lossy_blocks;
        self.rechecked += other.rechecked;
        self.note = self.note.take().or(other.note);
    }
}

/// The versions that a kept result saw of the parameters it depends on.
pub(crate) struct Versions {
    ids: Arc<[ExecParamId]>,
    seen: Box<[u64]>,
}

impl Versions {
    /// Whether none of the parameters has been set since.
    pub(crate) fn current(&self, cx: &ExecContext) -> bool {
        self.ids.iter().zip(&self.seen).all(|(id, seen)| cx.version(*id) == *seen)
    }
}

/// The state of one execution.
pub(crate) struct ExecContext {
    /// The session's state that functions can read.
    pub(crate) functions: FnContext,
    /// The version of the session's frame that they have; `None` before the first call of a user's
    /// function.
    pub(crate) frame_version: Option<u64>,
    /// The statement, unless it is code without one.
    pub(crate) statement: Option<Arc<CompiledStmt>>,
    params: Arc<[Datum]>,
    exec_params: Vec<Datum>,
    versions: Vec<u64>,
    /// The operand of the innermost CASE.
    pub(crate) case_operand: Datum,
    /// The value that the conditions of a domain are about.
    pub(crate) domain_value: Datum,
    pub(crate) subplans: Vec<SubPlanState>,
    /// Rows of the recursive unions' working tables.
    pub(crate) work_tables: Vec<Option<TupleStore>>,
    exec_param_count: usize,
    /// The transaction, if the statement touches stored tables.
    txn: Option<StatementTxn>,
    pub(crate) work_mem_bytes: usize,
    temp: Option<Arc<TempSpace>>,
    /// Counters by node id, if the statement is analyzed.
    pub(crate) instruments: Option<Vec<Instrument>>,
    /// The leaves of partitioned tables that have been touched, if the statement is analyzed.
    pub(crate) leaf_runs: Vec<LeafRun>,
    /// The triggers that have been called, if the statement is analyzed.
    pub(crate) trigger_runs: Vec<TriggerRun>,
    /// The view of an execution without a transaction, which can change nothing: a helper's.
    lent_view: Option<View>,
    /// The threads that run the part of the plan of this execution.
    team: Option<Arc<Team>>,
    /// Other threads may help.
    pub(crate) may_be_helped: bool,
    /// The resources that other threads have used for it.
    pub(crate) helped: Resources,
    /// Keys that hash joins look for in scans below them.
    sought: Vec<Arc<Sought>>,
    /// Rows inserted, updated or deleted.
    pub(crate) processed: u64,
    /// The only row that may be changed.
    pub(crate) awaited: Option<RowId>,
    /// The triggers and checks to run at the end of the statement, if there are any.
    pub(crate) events: Option<Box<EventQueue>>,
    /// The results of calls whose arguments never change, by the calls' numbers.
    constant_calls: Vec<(u64, Datum)>,
    /// Whether session_replication_role is replica, once a trigger has asked.
    pub(crate) replica: Option<bool>,
    /// Whether a trigger is called ahead of the rows before it.
    pub(crate) quiet: Quiet,
    /// The inserts of triggers' functions whose rows are not stored yet, if they may be held.
    pub(crate) held: Option<Box<HeldInserts>>,
    /// Its scans of tables on nodes.
    pub(crate) scans: OpenScans,
    /// The statement must begin again at a younger snapshot. The error is not sent to the client
    /// then.
    pub(crate) is_overtaken: bool,
    /// The statement's request to its nodes, evaluated before it starts.
    pub(crate) remote_request: Option<RemoteRequest>,
}

impl ExecContext {
    /// The context of an execution.
    pub(crate) fn new(
        functions: FnContext,
        params: Arc<[Datum]>,
        exec_param_count: usize,
        work_tables: usize,
        work_mem_bytes: usize,
        temp: Arc<TempSpace>,
        txn: Option<StatementTxn>,
    ) -> ExecContext {
        ExecContext {
            functions,
            frame_version: None,
            statement: None,
            params,
            exec_params: vec![Datum::Null; exec_param_count],
            versions: vec![0; exec_param_count + work_tables],
            case_operand: Datum::Null,
            domain_value: Datum::Null,
            subplans: Vec::new(),
            work_tables: (0..work_tables).map(|_| None).collect(),
            exec_param_count,
            txn,
            work_mem_bytes,
            temp: Some(temp),
            instruments: None,
            leaf_runs: Vec::new(),
            trigger_runs: Vec::new(),
            lent_view: None,
            team: None,
            may_be_helped: false,
            helped: Resources::default(),
            sought: Vec::new(),
            processed: 0,
            awaited: None,
            events: None,
            constant_calls: Vec::new(),
            replica: None,
            quiet: Quiet::Off,
            held: None,
            scans: OpenScans::default(),
            is_overtaken: false,
            remote_request: None,
        }
    }

    /// The same statement from its beginning, in this catalog.
    pub(crate) fn again(&self, catalog: Arc<Catalog>) -> ExecContext {
        ExecContext {
            functions: FnContext { catalog, ..self.functions.clone() },
            statement: self.statement.clone(),
            params: self.params.clone(),
            exec_params: vec![Datum::Null; self.exec_param_count],
            versions: vec![0; self.versions.len()],
            subplans: self.subplans.iter().map(|p| SubPlanState::new(p.plan.clone())).collect(),
            work_tables: self.work_tables.iter().map(|_| None).collect(),
            exec_param_count: self.exec_param_count,
            work_mem_bytes: self.work_mem_bytes,
            temp: self.temp.clone(),
            may_be_helped: self.may_be_helped,
            instruments: self
                .instruments
                .as_ref()
                .map(|all| vec![Instrument::default(); all.len()]),
            ..ExecContext::for_folding(self.functions.clone())
        }
    }

    /// The context of a thread that runs a part of the plan for this one.
    pub(crate) fn for_helper(&self, team: Arc<Team>) -> Result<ExecContext> {
        Ok(ExecContext {
            params: self.params.clone(),
            exec_params: self.exec_params.clone(),
            versions: self.versions.clone(),
            exec_param_count: self.exec_param_count,
            work_mem_bytes: self.work_mem_bytes,
            temp: self.temp.clone(),
            instruments: self
                .instruments
                .as_ref()
                .map(|all| vec![Instrument::default(); all.len()]),
            lent_view: Some(self.view()?.clone()),
            team: Some(team),
            ..ExecContext::for_folding(self.functions.clone())
        })
    }

    /// A context for tests of code that writes to temporary files.
    #[cfg(test)]
    pub(crate) fn with_temp(temp: Arc<TempSpace>) -> ExecContext {
        let functions = FnContext::pure(Arc::new(steppe_catalog::Catalog::default()));
        ExecContext { temp: Some(temp), ..ExecContext::for_folding(functions) }
    }

    /// A context in which only constant expressions can be evaluated.
    pub(crate) fn for_folding(functions: FnContext) -> ExecContext {
        ExecContext {
            functions,
            frame_version: None,
            statement: None,
            params: Arc::new([]),
            exec_params: Vec::new(),
            versions: Vec::new(),
            case_operand: Datum::Null,
            domain_value: Datum::Null,
            subplans: Vec::new(),
            work_tables: Vec::new(),
            exec_param_count: 0,
            txn: None,
            work_mem_bytes: 0,
            temp: None,
            instruments: None,
            leaf_runs: Vec::new(),
            trigger_runs: Vec::new(),
            lent_view: None,
            team: None,
            may_be_helped: false,
            helped: Resources::default(),
            sought: Vec::new(),
            processed: 0,
            awaited: None,
            events: None,
            constant_calls: Vec::new(),
            replica: None,
            quiet: Quiet::Off,
            held: None,
            scans: OpenScans::default(),
            is_overtaken: false,
            remote_request: None,
        }
    }

    /// `$index+1`.
    #[inline]
    pub(crate) fn param(&self, index: usize) -> Result<&Datum> {
        self.params.get(index).ok_or_else(|| {
            Error::new(
                SqlState::UNDEFINED_PARAMETER,
                format!("there is no parameter ${}", index + 1),
            )
        })
    }

    /// Replaces the external parameters.
    pub(crate) fn set_params(&mut self, params: Arc<[Datum]>) {
        self.constant_calls.clear();
        self.params = params;
    }

    /// As [`Self::set_params`], with as many values as before in the same memory, if nothing else
    /// refers to it.
    pub(crate) fn put_params(&mut self, values: &mut Vec<Datum>) {
        self.constant_calls.clear();
        match Arc::get_mut(&mut self.params).filter(|own| own.len() == values.len()) {
            Some(own) => own.iter_mut().zip(values.drain(..)).for_each(|(own, new)| *own = new),
            None => self.params = values.drain(..).collect(),
        }
    }

    /// Makes the external parameters NULL.
    pub(crate) fn drop_params(&mut self) {
        match Arc::get_mut(&mut self.params) {
            Some(own) => own.fill(Datum::Null),
            None => self.params = Arc::default(),
        }
    }

    /// The result of a call whose arguments never change, if it has been made.
    pub(crate) fn constant_call(&self, call: u64) -> Option<&Datum> {
        self.constant_calls.iter().find(|(number, _)| *number == call).map(|(_, value)| value)
    }

    /// Keeps the result of such a call.
    pub(crate) fn keep_constant_call(&mut self, call: u64, value: Datum) {
        self.constant_calls.push((call, value));
    }

    /// The statement's parameters.
    pub(crate) fn all_params(&self) -> &Arc<[Datum]> {
        &self.params
    }

    /// A run-time parameter's value.
    #[inline]
    pub(crate) fn exec_param(&self, id: ExecParamId) -> &Datum {
        const NULL: &Datum = &Datum::Null;
        self.exec_params.get(id).unwrap_or(NULL)
    }

    /// Sets a run-time parameter. Results kept for its old value are stale.
    #[inline]
    pub(crate) fn set_exec_param(&mut self, id: ExecParamId, value: Datum) {
        if let (Some(slot), Some(version)) =
            (self.exec_params.get_mut(id), self.versions.get_mut(id))
        {
            *slot = value;
            *version += 1;
        }
    }

    /// Says that a working table has new rows.
    pub(crate) fn touch_work_table(&mut self, work_table: usize) {
        if let Some(version) = self.versions.get_mut(self.exec_param_count + work_table) {
            *version += 1;
        }
    }

    fn version(&self, id: ExecParamId) -> u64 {
        self.versions.get(id).copied().unwrap_or(0)
    }

    /// The present versions of some parameters.
    pub(crate) fn versions(&self, ids: &Arc<[ExecParamId]>) -> Versions {
        Versions { ids: ids.clone(), seen: ids.iter().map(|id| self.version(*id)).collect() }
    }

    /// 57014 if the statement is to stop.
    #[inline]
    pub(crate) fn check_interrupts(&self) -> Result<()> {
        if let Some(team) = &self.team {
            team.check()?;
        }
        self.functions.session.check_interrupts()
    }

    /// The transaction.
    pub(crate) fn txn(&mut self) -> Result<&mut StatementTxn> {
        self.txn
            .as_mut()
            .ok_or_else(|| Error::internal("statement needs a transaction and has none"))
    }

    /// The view that the statement reads.
    #[inline]
    pub(crate) fn view(&self) -> Result<&View> {
        let view = self.txn.as_ref().map(|txn| &txn.view).or(self.lent_view.as_ref());
        view.ok_or_else(|| Error::internal("statement needs a transaction and has none"))
    }

    /// Lets an execution without a transaction read.
    pub(crate) fn lend_view(&mut self, view: View) {
        self.lent_view = Some(view);
    }

    /// The threads that run this part of the plan, if there are several.
    pub(crate) fn team(&self) -> Option<&Arc<Team>> {
        self.team.as_ref()
    }

    /// Sets the threads that run the next part of the plan; returns the previous ones.
    pub(crate) fn set_team(&mut self, team: Option<Arc<Team>>) -> Option<Arc<Team>> {
        std::mem::replace(&mut self.team, team)
    }

    /// Lends the transaction for the duration of a fetch.
    pub(crate) fn lend_txn(&mut self, txn: Option<StatementTxn>) {
        self.txn = txn;
    }

    /// Gives the transaction back to the session.
    pub(crate) fn take_txn(&mut self) -> Option<StatementTxn> {
        self.txn.take()
    }

    /// The catalog in force, if it is newer than the plan's. A statement checks it after it has
    /// locked something while it runs.
    pub(crate) fn newer_catalog(&mut self) -> Result<Option<Arc<Catalog>>> {
        let FnContext { session, catalog, .. } = &self.functions;
        newer_catalog(&mut self.txn, &**session, catalog)
    }

    /// The catalog in force, if it is newer than this one.
    pub(crate) fn newer_than(&mut self, catalog: &Arc<Catalog>) -> Result<Option<Arc<Catalog>>> {
        newer_catalog(&mut self.txn, &*self.functions.session, catalog)
    }

    /// The same context with a space for temporary files.
    pub(crate) fn with_temp_space(self, temp: Arc<TempSpace>) -> ExecContext {
        ExecContext { temp: Some(temp), ..self }
    }

    /// The space for temporary files.
    pub(crate) fn temp(&self) -> Result<Arc<TempSpace>> {
        self.temp.clone().ok_or_else(|| Error::internal("no temporary space in this context"))
    }

    /// An empty row store bounded by work_mem.
    pub(crate) fn new_store(&self, width: usize) -> TupleStore {
        TupleStore::new(width, self.work_mem_bytes, self.temp.clone())
    }

    /// The keys of a scan's rows that are of use.
    #[inline]
    pub(crate) fn sought(&self, scan: usize) -> Option<&Arc<Sought>> {
        self.sought.iter().find(|sought| sought.scan == scan)
    }

    /// Says which keys of a scan's rows are of use from now on.
    pub(crate) fn seek(&mut self, sought: Sought) {
        self.seek_all(sought.scan);
        self.sought.push(Arc::new(sought));
    }

    /// Makes all of a scan's rows of use from now on.
    pub(crate) fn seek_all(&mut self, scan: usize) {
        self.sought.retain(|sought| sought.scan != scan);
    }

    /// The counters of a node, if the statement is analyzed.
    #[inline]
    pub(crate) fn instrument(&mut self, node: usize) -> Option<&mut Instrument> {
        self.instruments.as_mut().and_then(|all| all.get_mut(node))
    }
}

fn newer_catalog(
    txn: &mut Option<StatementTxn>,
    session: &dyn SessionHost,
    planned: &Arc<Catalog>,
) -> Result<Option<Arc<Catalog>>> {
    if let Some(txn) = txn {
        txn.rebase(session)?;
    }
    Ok(session.newer_catalog(planned))
}
