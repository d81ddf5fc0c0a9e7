//! Prepared statements and portals, which the extended protocol, PREPARE and DECLARE name. Their
//! number and size are limited. The lists of a session are in [`super::portals`] and
//! [`super::prepared_statements`].

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use steppe_exec::{ExecEnv, Execution, LeafOfStatement, StoreReader, Transaction, TupleStore};
use steppe_sql::ast;
use steppe_sql::query::Command;
use steppe_storage::Usage;
use steppe_txn::{RowId, Snapshot};
use steppe_types::{Datum, Error, Oid, Result, SqlState};

use super::cursor::Cursor;
use super::explain::BoundParams;
use super::explained_run::ExplainedRun;
use super::sink::ResultFormats;
use super::tag::CommandTag;
use crate::plan_cache::CachedPlan;
use crate::statements::Temporary;
use crate::system_views::session::ShownCursor;

pub(super) type Map<T> = HashMap<Box<str>, T, foldhash::fast::RandomState>;

/// Named statements, and named portals, that one session may have.
pub(super) const NAMED_MAX: usize = 10_000;
/// Bytes of text and parameters that each of the two may take.
pub(super) const BYTES_MAX: usize = 256 << 20;

/// Rows that took this long are worth the two changes of threads when the plan runs on another
/// thread.
const LONG_TIME: Duration = Duration::from_millis(1);

/// The content of a prepared statement.
#[derive(Clone)]
pub(super) enum Body {
    /// An empty statement.
    Empty,
    /// A plan.
    Plan(Arc<CachedPlan>),
    /// Any other statement.
    Utility(Arc<ast::Statement>),
}

/// A prepared statement.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) text: Arc<str>,
    pub(super) body: Body,
    /// The parameter types that Parse declares, for statements without a plan.
    pub(super) declared: Arc<[Oid]>,
    /// Microseconds since 2000-01-01 UTC.
    pub(super) prepared_at: i64,
    /// PREPARE has made it.
    pub(super) from_sql: bool,
    /// The number of custom plans so far. Only a plan with constants is counted.
    pub(super) custom_plans: u8,
}

impl Prepared {
    /// Types of the parameters.
    pub(super) fn param_types(&self) -> &[Oid] {
        match &self.body {
            Body::Plan(plan) => plan.param_types(),
            _ => &self.declared,
        }
    }
}

#[cold]
pub(super) fn too_many(what: &str) -> Error {
    Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, format!("too many {what}")).detail(format!(
        "A session has {NAMED_MAX} at most, of {} MB of text and parameters.",
        BYTES_MAX >> 20
    ))
}

/// A plan with parameters, before, during and after its run.
pub(super) struct PlanPortal {
    pub(super) plan: Arc<CachedPlan>,
    pub(super) params: Arc<[Datum]>,
    /// The one leaf that pruning by the parameters leaves. It is locked.
    pub(super) leaf: Option<LeafOfStatement>,
    /// The row that a point statement has waited for.
    pub(super) awaited: Option<RowId>,
    pub(super) execution: Option<Box<Execution>>,
    /// The snapshot of a suspended execution.
    pub(super) held: Option<Snapshot>,
    /// The tag at its end.
    pub(super) done: Option<CommandTag>,
    /// The use of resources by its runs that is not counted yet.
    pub(super) spent: Usage,
    pub(super) spilled: Temporary,
    /// How long the last fetch took if it was heavy (`run::aside`).
    pub(super) took: Option<Duration>,
    /// The rows counted so far; `None` if rows are not counted.
    pub(super) counted_rows: Option<u64>,
    /// Rows returned so far.
    pub(super) handed_rows: u64,
    /// Rows that earlier Executes returned. The last Execute's tag does not count them.
    pub(super) told: u64,
    /// The relations of the plan are locked in the transaction that the portal belongs to.
    pub(super) is_locked: bool,
    /// RowDescription is sent before the rows (simple protocol).
    pub(super) describes: bool,
    /// The position of a cursor's last row: its columns that are not sent.
    pub(super) place: Vec<Datum>,
    /// A cursor keeps its execution and snapshot at the end, so that it can run again.
    pub(super) may_run_again: bool,
    /// Its plan is told if its run is slow.
    pub(super) explained: Option<Box<ExplainedRun>>,
}

impl PlanPortal {
    /// A plan that has not started.
    pub(super) fn new(plan: Arc<CachedPlan>, params: Arc<[Datum]>) -> PlanPortal {
        PlanPortal {
            plan,
            params,
            leaf: None,
            awaited: None,
            execution: None,
            held: None,
            done: None,
            spent: Usage::default(),
            spilled: Temporary::default(),
            took: None,
            counted_rows: None,
            handed_rows: 0,
            told: 0,
            is_locked: false,
            describes: false,
            place: Vec::new(),
            may_run_again: false,
            explained: None,
        }
    }

    /// Whether a thread of low priority runs it next. It is then likely to take long, and no other
    /// session waits for its changes or locks.
    pub(super) fn gives_way(&self) -> bool {
        let is_long = self.took.map_or(self.plan.is_heavy, |took| took >= LONG_TIME);
        is_long && self.plan.refused_read_only.is_none()
    }

    /// The tag of an Execute that has reached the end. It counts only the rows of this Execute.
    pub(super) fn tag(&mut self) -> Option<CommandTag> {
        let mut tag = self.done.clone()?;
        if let CommandTag::Rows(_, rows) = &mut tag {
            let told = std::mem::replace(&mut self.told, *rows);
            *rows -= told.min(*rows);
        }
        Some(tag)
    }

    /// Whether it has run and may not run again. A portal that returns rows has none left; any
    /// other would make its changes twice.
    pub(super) fn is_spent(&self) -> bool {
        self.done.is_some() && !self.gives_rows()
    }

    /// Whether it is a query, or a statement with RETURNING.
    pub(super) fn gives_rows(&self) -> bool {
        !self.plan.description.is_empty() || self.plan.compiled.planned().command == Command::Select
    }

    /// Releases the execution and the snapshot of a suspended portal.
    pub(super) fn release(&mut self, txn: &mut Option<Transaction>) {
        self.execution = None;
        if let (Some(snapshot), Some(txn)) = (self.held.take(), txn) {
            txn.txn.release_snapshot(snapshot);
        }
    }

    /// It has returned its last row. `rows` is the number for its tag.
    pub(super) fn finish(&mut self, rows: u64, txn: &mut Option<Transaction>) {
        self.done = Some(CommandTag::of_command(self.plan.compiled.planned().command, rows));
        self.handed_rows = rows;
        self.keep_for_explanation();
        if !self.may_run_again {
            self.release(txn);
        }
    }
}

/// The progress of a portal whose statement has no plan.
pub(super) enum UtilityRun {
    /// It has not been run.
    NotYet,
    /// It has been run, and cannot run again.
    Done,
    /// It has been run, and returns its rows piece by piece.
    Rows(Box<RowsLeft>),
}

/// Rows that a client has not asked for yet, as DataRow messages, and the tag after them.
pub(super) struct RowsLeft {
    /// One message a row; beyond work_mem in a temporary file.
    messages: TupleStore,
    reader: StoreReader,
    next: usize,
    pub(super) tag: CommandTag,
}

impl RowsLeft {
    /// An empty store.
    pub(super) fn new(env: &ExecEnv) -> RowsLeft {
        let messages = TupleStore::new(1, env.work_mem_bytes, Some(Arc::clone(&env.temp)));
        RowsLeft { messages, reader: StoreReader::default(), next: 0, tag: CommandTag::Empty }
    }

    /// Takes the rows that a statement has put in `out` from `start` on.
    pub(super) fn take(&mut self, out: &mut Vec<u8>, start: usize) -> Result<()> {
        let mut rest = out.get(start..).unwrap_or_default();
        // The length includes itself, not the type byte before it.
        while let Some(length) = rest.get(1..).and_then(<[u8]>::first_chunk::<4>)
            && let Some((message, others)) =
                rest.split_at_checked(1 + u32::from_be_bytes(*length) as usize)
        {
            self.messages.append(&[Datum::Bytea(message.into())])?;
            rest = others;
        }
        out.truncate(start);
        Ok(())
    }

    /// Appends the next row to `out`. Returns false if there is none.
    pub(super) fn put_row(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        let mut row = Vec::with_capacity(1);
        if self.next >= self.messages.len() {
            return Ok(false);
        }
        self.messages.read_at(&mut self.reader, self.next, &mut row)?;
        if let Some(Datum::Bytea(message)) = row.first() {
            out.extend_from_slice(message);
        }
        self.next += 1;
        Ok(true)
    }
}

/// Keeps the running statement's rows instead of sending them: the client has asked for a part of
/// them.
pub(super) struct HeldRows {
    /// The start of the rows in the send buffer.
    pub(super) start: usize,
    pub(super) rows: RowsLeft,
}

/// The content of a portal.
pub(super) enum PortalBody {
    /// An empty statement.
    Empty,
    /// A plan.
    Plan(PlanPortal),
    /// Any other statement.
    Utility { statement: Arc<ast::Statement>, params: BoundParams, ran: UtilityRun },
    /// A cursor of DECLARE.
    Cursor(Cursor),
}

/// A portal.
pub(super) struct Portal {
    pub(super) body: PortalBody,
    pub(super) source: Arc<str>,
    pub(super) formats: ResultFormats,
    /// The number of savepoints when it was made.
    pub(super) depth: usize,
    /// Microseconds since 2000-01-01 UTC.
    pub(super) created_at: i64,
    /// The size of its parameters and text.
    pub(super) bytes: usize,
    /// It or its transaction has failed. It stays until the transaction ends, but cannot be run
    /// (PORTAL_FAILED).
    pub(super) has_failed: bool,
}

impl Portal {
    /// 55000 if it has failed.
    pub(super) fn check_runnable(&self, name: &str) -> Result<()> {
        if self.has_failed { Err(cannot_be_run(name)) } else { Ok(()) }
    }

    /// Ends it after an error.
    pub(super) fn fail(&mut self, txn: &mut Option<Transaction>) {
        self.release(txn);
        self.has_failed = true;
    }

    pub(super) fn release(&mut self, txn: &mut Option<Transaction>) {
        match &mut self.body {
            PortalBody::Plan(plan) => plan.release(txn),
            PortalBody::Cursor(cursor) => cursor.plan.release(txn),
            PortalBody::Empty | PortalBody::Utility { .. } => {}
        }
    }

    /// For pg_cursors.
    pub(super) fn shown(&self, name: &str) -> ShownCursor {
        let (is_holdable, is_binary, is_scrollable) = match &self.body {
            PortalBody::Cursor(cursor) => cursor.options(),
            _ => (false, self.formats == ResultFormats::Binary, false),
        };
        ShownCursor {
            name: name.into(),
            statement: Arc::clone(&self.source),
            is_holdable,
            is_binary,
            is_scrollable,
            created_at: self.created_at,
        }
    }
}

#[cold]
pub(super) fn cannot_be_run(name: &str) -> Error {
    Error::new(
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("portal \"{name}\" cannot be run"),
    )
}

#[cold]
pub(super) fn no_portal(what: &str, name: &str) -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, format!("{what} \"{name}\" does not exist"))
}
