//! The services of the session for the executor and DDL, besides those for functions.
//!
//! The executor knows no sockets, settings or sequences. The server gives it a [`SessionHost`] for
//! each execution, which waits for locks, and knows the catalog in force.
//! The defaults are those without a session, as [`Host`]'s are.

use super::Host;
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;
use steppe_catalog::objects::{Function, Node, Text};
use steppe_catalog::{Catalog, CatalogChanges, CatalogStore, NameSpace, Relation, Sequences};
use steppe_cluster::pool::replay::Settings as NodeSettings;
use steppe_cluster::transaction::Participants;
use steppe_counting::RelationStatistics;
use steppe_counting::progress::Progress;
use steppe_spill::TempSpace;
use steppe_sql::ast::{IntoClause, SetStmt, Statement};
use steppe_sql::plan::ResultColumn;
use steppe_sql::planner::PlannerSettings;
use steppe_txn::{Engine, LockWait, Lsn, RowId, SessionHandle, Txn};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result};

/// A row's key that must be checked for uniqueness.
#[derive(Clone, Debug)]
pub struct KeyCheck {
    /// The index.
    pub index: Oid,
    /// The key, as it is stored there.
    pub key: Box<[u8]>,
    /// The row.
    pub row: RowId,
}

/// The context in which a function's statements are planned and run, at one point of the session.
#[derive(Clone)]
pub struct Frame {
    /// The catalog, with what the transaction has changed in it, and the search path.
    pub names: NameSpace,
    /// Settings that text input and output depend on; its names are those of the catalog.
    pub io: Arc<IoContext>,
    /// The optimiser's settings.
    pub planner: Arc<PlannerSettings>,
    /// The catalog in force when the transaction's snapshot was taken, if it is an older one.
    pub older: Option<Arc<Catalog>>,
    /// The database with the tables.
    pub engine: Arc<Engine>,
    /// The place of temporary files.
    pub temp: Arc<TempSpace>,
    /// maintenance_work_mem
    pub maintenance_work_mem_bytes: usize,
    /// default_statistics_target
    pub statistics_target: usize,
}

/// The rows of a transition table.
pub trait TransitionRows: Send + Sync {
    /// Appends rows from number `from` on, at most `count`; none past the last.
    fn read(&self, from: usize, count: usize, out: &mut Vec<Vec<Datum>>) -> Result<()>;
}

/// A table that the statements of a trigger's function find by its name while the trigger is called.
#[derive(Clone)]
pub struct TransitionTable {
    /// The table, as a virtual one.
    pub relation: Arc<Relation>,
    /// Its rows.
    pub rows: Arc<dyn TransitionRows>,
}

/// A statement without a plan that a function runs.
pub struct UtilityCall<'a> {
    /// The session.
    pub session: &'a Arc<dyn SessionHost>,
    /// The transaction of the statement that calls the function.
    pub txn: &'a mut Txn,
    /// The transaction's changes of the catalog so far.
    pub pending: &'a mut Option<CatalogChanges>,
    /// The statement.
    pub statement: &'a Statement,
    /// Its text, for error positions.
    pub source: &'a str,
    /// The tables that statements around it read or change: 55006 for DDL that would change one.
    pub in_use: Vec<Oid>,
    /// The function is not VOLATILE: 0A000 for a statement that changes something.
    pub is_read_only: bool,
}

/// A call of a user's function that is counted (pgstat_init_function_usage).
#[derive(Clone, Copy, Debug)]
pub struct CountedCall {
    /// The function.
    pub function: Oid,
    /// When it began.
    pub began: Instant,
    /// The time that the session's counted calls had taken before, in nanoseconds.
    pub before: u64,
    /// The time that the function's counted calls had taken before.
    pub own: u64,
}

/// The services of a session for the statements that it runs.
pub trait SessionHost: Host {
    /// Waits for a lock in this thread, and lets other sessions of the worker go on.
    fn block_on(&self, wait: LockWait) -> Result<()> {
        wait.wait_blocking()
    }

    /// Begins a command with progress, which is shown until the returned value is dropped.
    fn begin_progress(&self, progress: Progress) -> Arc<Progress> {
        Arc::new(progress)
    }

    /// The counts of the relations of the session's database.
    fn relation_statistics(&self) -> Arc<RelationStatistics> {
        Arc::new(RelationStatistics::new(steppe_txn::DatabaseId::POSTGRES))
    }

    /// Runs work that may take long, and lets other sessions of the worker go on.
    fn in_place(&self, work: &mut dyn FnMut()) {
        work();
    }

    /// The catalog in force, if it is newer than the one the statement was planned against: asked
    /// after a lock was taken in the middle of a statement. What the transaction has changed itself
    /// is in force as it was last told ([`Self::see_catalog`]).
    fn newer_catalog(&self, planned: &Arc<Catalog>) -> Option<Arc<Catalog>> {
        let _ = planned;
        None
    }

    /// The current row of a cursor in a table; `None` if the cursor's row is in another table.
    fn cursor_row(
        &self,
        cursor: &str,
        table: &Relation,
        catalog: &Catalog,
    ) -> Result<Option<RowId>> {
        let _ = (cursor, table, catalog);
        Err(Error::not_supported("WHERE CURRENT OF in this context"))
    }

    /// Functions see this catalog from now on: the transaction's own version.
    fn see_catalog(&self, catalog: &Arc<Catalog>) {
        let _ = catalog;
    }

    /// The transaction has no version of its own any more: functions see the published catalog.
    fn forget_catalog(&self) {}

    /// The states of the sequences, for DDL that has locked the sequence that it changes.
    fn sequences(&self) -> Result<&Sequences> {
        Err(Error::not_supported("sequences in this context"))
    }

    /// The rows of a virtual catalog table, in its column order.
    fn virtual_rows(&self, relation: Oid) -> Result<Vec<Vec<Datum>>> {
        let _ = relation;
        Err(Error::not_supported("this system catalog"))
    }

    /// The running thread begins to work for the statement, as a parallel worker.
    fn begin_helping(&self) {}

    /// The running thread has ended its work as a parallel worker.
    fn end_helping(&self) {}

    /// The context in which a function's statements are planned and run, at this point.
    fn frame(&self) -> Result<Frame> {
        Err(Error::not_supported("a function that runs statements in this context"))
    }

    /// A number that changes with each frame. It is cheap to ask for.
    fn frame_version(&self) -> u64 {
        self.frame().map_or(0, |frame| frame.names.catalog.epoch)
    }

    /// The functions of users that the session has compiled. The executor knows the type.
    fn routines(&self) -> Option<&(dyn Any + Send + Sync)> {
        None
    }

    /// Puts the settings of a function's SET clauses in force, and returns their level. Needs one
    /// [`Self::leave_settings`].
    fn enter_settings(&self, settings: &[(Text, Text)]) -> Result<u32> {
        let _ = settings;
        Err(Error::not_supported("SET clauses of functions in this context"))
    }

    /// Ends a level of [`Self::enter_settings`]: earlier values are in force again.
    fn leave_settings(&self, level: u32) {
        let _ = level;
    }

    /// Begins a level of settings, for a savepoint of a function.
    fn begin_settings(&self) -> u32 {
        0
    }

    /// Ends a level of [`Self::begin_settings`] and those within it. The settings that were made in
    /// it stay, or are taken back.
    fn end_settings(&self, level: u32, keep: bool) {
        let _ = (level, keep);
    }

    /// Counts a call of a user's function that begins, if track_functions says so. Needs one
    /// [`Self::end_function`].
    fn begin_function(&self, function: &Function) -> Option<CountedCall> {
        let _ = function;
        None
    }

    /// Ends a counted call.
    fn end_function(&self, call: CountedCall) {
        let _ = call;
    }

    /// The stored catalog.
    fn store(&self) -> Result<&CatalogStore> {
        Err(Error::not_supported("a function that changes the catalog in this context"))
    }

    /// Runs a statement of a function's text that has no plan: DDL and other utility statements.
    fn utility(&self, call: UtilityCall<'_>) -> Result<()> {
        let _ = call;
        Err(Error::not_supported("a function that changes the catalog in this context"))
    }

    /// The name and the value of a setting, as SHOW has them. 42704 if there is none.
    fn shown_setting(&self, name: &str) -> Result<(String, String)> {
        match self.setting(name)? {
            Some(value) => Ok((name.to_owned(), value)),
            None => Err(Error::not_supported("SHOW in this context")),
        }
    }

    /// The rows of SHOW ALL.
    fn all_settings(&self) -> Result<Vec<Vec<Datum>>> {
        Err(Error::not_supported("SHOW ALL in this context"))
    }

    /// Makes the table of a CREATE TABLE AS or SELECT INTO that a function runs. `None`: it exists,
    /// and IF NOT EXISTS allows that.
    fn create_table_as(
        &self,
        call: UtilityCall<'_>,
        into: &IntoClause,
        columns: &[ResultColumn],
        if_not_exists: bool,
    ) -> Result<Option<Arc<Relation>>> {
        let _ = (call, into, columns, if_not_exists);
        Err(Error::not_supported("a function that changes the catalog in this context"))
    }

    /// The name and the checked value of a setting that a function's SET clause gives, as the
    /// function keeps them.
    fn checked_setting(&self, clause: &SetStmt) -> Result<(String, String)> {
        let _ = clause;
        Err(Error::not_supported("SET in a function's definition in this context"))
    }

    /// An engine session for a transaction of its own that may lock a table. `None`: this session's
    /// locks conflict, or it has changed the table.
    fn session_apart(&self, table: Oid) -> Result<Option<SessionHandle>> {
        let _ = table;
        Err(Error::not_supported("a transaction apart in this context"))
    }

    /// The call of a relation's trigger begins. Its function's statements find these tables.
    fn enter_trigger(&self, relation: Oid, tables: Option<Arc<[TransitionTable]>>) {
        let _ = (relation, tables);
    }

    /// The call of a user's function begins. True: it needs an end ([`Self::leave_function`]), because
    /// a trigger with transition tables is being called. Its function finds them; a function that
    /// this one calls does not.
    fn enter_function(&self) -> bool {
        false
    }

    /// The call of a user's function has ended, well or not.
    fn leave_function(&self) {}

    /// The relations whose triggers are being called: statements change their rows.
    fn relations_in_use(&self) -> Vec<Oid> {
        Vec::new()
    }

    /// A trigger's call has ended, well or not.
    fn leave_trigger(&self) {}

    /// The rows of a transition table of the trigger that is being called.
    fn transition_rows(&self, relation: Oid) -> Option<Arc<dyn TransitionRows>> {
        let _ = relation;
        None
    }

    /// Introduces a node that CREATE or ALTER NODE has described to its database. The node gets the
    /// tables that transactions over nodes need. Returns the database's identity, or 0 if the node was
    /// not reached; the client was warned then. Errors: a word of the connection that is not supported,
    /// or the statement's interrupt.
    fn introduce_node(&self, node: &Node) -> Result<u64> {
        let _ = node;
        Ok(0)
    }

    /// Runs statements on a node, by themselves: outside the transaction, in a session of their own.
    /// Returns the first value of the last one's first row, or else its command tag. Errors: the
    /// node's, 08001 if it cannot be reached, or the statement's interrupt.
    fn run_on_node(&self, node: &Node, text: &str) -> Result<Option<String>> {
        let _ = (node, text);
        Err(Error::not_supported("statements on nodes in this context"))
    }

    /// New sessions on nodes for the running transaction: of the session's user and database, with its
    /// settings, and the transaction's modes. This sends nothing.
    fn participants(&self) -> Result<Participants> {
        Err(Error::not_supported("tables on nodes in this context"))
    }

    /// The settings that the session's statements on nodes run with now.
    fn node_settings(&self) -> NodeSettings {
        NodeSettings::default()
    }

    /// The answer waits until the log is durable up to here.
    fn must_be_durable(&self, up_to: Lsn) {
        let _ = up_to;
    }
}

/// The services without a session: for constant folding, where only pure functions run.
pub struct NoSession;

impl Host for NoSession {}

impl SessionHost for NoSession {}
