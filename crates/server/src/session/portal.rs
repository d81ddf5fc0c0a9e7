//! Prepared statements and portals: what the extended protocol, PREPARE and DECLARE
//! name, with bounds on their number and size.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use steppe_exec::{ExecEnv, Execution, LeafOfStatement, StoreReader, TupleStore};
use steppe_sql::ast;
use steppe_sql::query::Command;
use steppe_storage::Usage;
use steppe_txn::{RowId, Snapshot};
use steppe_types::{Datum, Error, Oid, Result, SqlState};

use super::cursor::Cursor;
use super::explain::BoundParams;
use super::sink::ResultFormats;
use super::tag::CommandTag;
use super::transaction::TransactionState;
use crate::plan_cache::CachedPlan;
use crate::statements::Temporary;
use crate::system_views::session::{ShownCursor, ShownStatement};

type Map<T> = HashMap<Box<str>, T, foldhash::fast::RandomState>;

/// Named statements, and portals, that one session may have.
const NAMED_MAX: usize = 10_000;
/// Bytes of text and parameters that they may take.
const BYTES_MAX: usize = 256 << 20;

/// Rows that took so long are worth the two changes of threads that lending the plan costs.
const LONG_TIME: Duration = Duration::from_millis(1);

/// What a prepared statement runs.
#[derive(Clone)]
pub(super) enum Body {
    /// Nothing.
    Empty,
    /// A plan.
    Plan(Arc<CachedPlan>),
    /// Anything else, with its types of parameters (which it cannot use).
    Utility(Arc<ast::Statement>),
}

/// A prepared statement.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) text: Arc<str>,
    pub(super) body: Body,
    /// As declared by Parse, for statements without a plan.
    pub(super) declared: Arc<[Oid]>,
    /// Microseconds since 2000-01-01 UTC.
    pub(super) prepared_at: i64,
    /// By PREPARE.
    pub(super) from_sql: bool,
    /// How often it was planned for its parameters, as far as that matters to its constants.
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
fn too_many(what: &str) -> Error {
    Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, format!("too many {what}")).detail(format!(
        "A session has {NAMED_MAX} at most, of {} MB of text and parameters.",
        BYTES_MAX >> 20
    ))
}

/// A session's prepared statements.
#[derive(Default)]
pub(super) struct Statements {
    named: Map<Prepared>,
    unnamed: Option<Prepared>,
    bytes: usize,
}

impl Statements {
    /// By name; the empty name is the unnamed statement.
    pub(super) fn get(&self, name: &str) -> Result<&Prepared> {
        let found = if name.is_empty() { self.unnamed.as_ref() } else { self.named.get(name) };
        found.ok_or_else(|| {
            let message = if name.is_empty() {
                "unnamed prepared statement does not exist".to_owned()
            } else {
                format!("prepared statement \"{name}\" does not exist")
            };
            Error::new(SqlState::INVALID_SQL_STATEMENT_NAME, message)
        })
    }

    /// Replaces the plan of a statement by one for the present catalog.
    pub(super) fn set_plan(&mut self, name: &str, plan: Arc<CachedPlan>) {
        let found = if name.is_empty() { self.unnamed.as_mut() } else { self.named.get_mut(name) };
        if let Some(prepared) = found {
            prepared.body = Body::Plan(plan);
        }
    }

    /// A statement was planned for its parameters.
    pub(super) fn count_custom_plan(&mut self, name: &str) {
        let found = if name.is_empty() { self.unnamed.as_mut() } else { self.named.get_mut(name) };
        if let Some(prepared) = found {
            prepared.custom_plans = prepared.custom_plans.saturating_add(1);
        }
    }

    /// 42P05 if the name is taken; the unnamed statement is replaced instead.
    pub(super) fn check_free(&self, name: &str) -> Result<()> {
        if name.is_empty() || !self.named.contains_key(name) {
            return Ok(());
        }
        let message = format!("prepared statement \"{name}\" already exists");
        Err(Error::new(SqlState::DUPLICATE_PREPARED_STATEMENT, message))
    }

    /// Adds a statement.
    pub(super) fn put(&mut self, name: &str, prepared: Prepared) -> Result<()> {
        if name.is_empty() {
            self.unnamed = Some(prepared);
            return Ok(());
        }
        let bytes = self.bytes + prepared.text.len() + name.len();
        if self.named.len() >= NAMED_MAX || bytes > BYTES_MAX {
            return Err(too_many("prepared statements"));
        }
        self.bytes = bytes;
        self.named.insert(name.into(), prepared);
        Ok(())
    }

    /// Close, DEALLOCATE: whether there was one.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        if name.is_empty() {
            return self.unnamed.take().is_some();
        }
        let removed = self.named.remove(name);
        if let Some(prepared) = &removed {
            self.bytes -= prepared.text.len() + name.len();
        }
        removed.is_some()
    }

    /// A Query message ends the unnamed statement.
    pub(super) fn drop_unnamed(&mut self) {
        self.unnamed = None;
    }

    /// The named ones, for pg_prepared_statements.
    pub(super) fn shown(&self) -> Vec<ShownStatement> {
        let show = |name: &str, prepared: &Prepared| ShownStatement {
            name: name.into(),
            statement: Arc::clone(&prepared.text),
            prepared_at: prepared.prepared_at,
            parameters: prepared.param_types().into(),
            results: match &prepared.body {
                Body::Plan(plan) if !plan.description.is_empty() => {
                    Some(plan.compiled.columns().iter().map(|column| column.ty.oid).collect())
                }
                _ => None,
            },
            from_sql: prepared.from_sql,
        };
        self.named.iter().map(|(name, prepared)| show(name, prepared)).collect()
    }

    /// DEALLOCATE ALL.
    pub(super) fn clear(&mut self) {
        self.named.clear();
        self.bytes = 0;
    }
}

/// A plan with parameters, before, while and after it runs.
pub(super) struct PlanPortal {
    pub(super) plan: Arc<CachedPlan>,
    pub(super) params: Arc<[Datum]>,
    /// The one leaf that the parameters leave; it is locked.
    pub(super) leaf: Option<LeafOfStatement>,
    /// The row that it has waited for, as a point statement.
    pub(super) awaited: Option<RowId>,
    pub(super) execution: Option<Box<Execution>>,
    /// The snapshot that a suspended execution goes on looking at.
    pub(super) held: Option<Snapshot>,
    /// How it ended.
    pub(super) done: Option<CommandTag>,
    /// What its runs took that are not counted yet.
    pub(super) spent: Usage,
    pub(super) spilled: Temporary,
    /// How long the last rows took that were fetched aside.
    pub(super) took: Option<Duration>,
    /// Rows that are counted; `None`: nothing is.
    pub(super) counted_rows: Option<u64>,
    /// Rows handed up so far.
    pub(super) handed_rows: u64,
    /// Rows that were handed out by earlier Executes: the last one's tag does not count them.
    pub(super) told: u64,
    /// What it touches has been locked, in the transaction that it belongs to.
    pub(super) is_locked: bool,
    /// RowDescription goes ahead of the rows (simple protocol).
    pub(super) describes: bool,
    /// A cursor's: where its last row is, as the columns that are not sent tell.
    pub(super) place: Vec<Datum>,
    /// A cursor's: it keeps its execution and snapshot at the end, to be run again.
    pub(super) may_run_again: bool,
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
        }
    }

    /// Whether its next rows are made by a thread that gives way: they are likely to take long, and
    /// nobody waits for what it changes or locks meanwhile.
    pub(super) fn gives_way(&self) -> bool {
        let is_long = self.took.map_or(self.plan.is_heavy, |took| took >= LONG_TIME);
        is_long && self.plan.refused_read_only.is_none()
    }

    /// The tag of an Execute that came to the end. It counts only what this Execute has done.
    pub(super) fn tag(&mut self) -> Option<CommandTag> {
        let mut tag = self.done.clone()?;
        if let CommandTag::Rows(_, rows) = &mut tag {
            let told = std::mem::replace(&mut self.told, *rows);
            *rows -= told.min(*rows);
        }
        Some(tag)
    }

    /// Whether it has run and may not be run again: one that gives rows has none left, others
    /// would do their work twice.
    pub(super) fn is_spent(&self) -> bool {
        self.done.is_some() && !self.gives_rows()
    }

    /// Whether it is a query's, or that of a statement with RETURNING.
    pub(super) fn gives_rows(&self) -> bool {
        !self.plan.description.is_empty() || self.plan.compiled.planned().command == Command::Select
    }

    /// Lets go of what a suspended execution holds.
    pub(super) fn release(&mut self, transaction: &mut TransactionState) {
        self.execution = None;
        if let (Some(snapshot), Some(txn)) = (self.held.take(), &mut transaction.txn) {
            txn.txn.release_snapshot(snapshot);
        }
    }
}

/// How far a portal has come whose statement has no plan.
pub(super) enum UtilityRun {
    /// It has not been run.
    NotYet,
    /// It has been run, and cannot be again.
    Done,
    /// It has been run, and gives its rows piece by piece.
    Rows(Box<RowsLeft>),
}

/// Rows that a client has not asked for yet, as DataRow messages, and what follows them.
pub(super) struct RowsLeft {
    /// One message each; past work_mem in a temporary file.
    messages: TupleStore,
    reader: StoreReader,
    next: usize,
    pub(super) tag: CommandTag,
}

impl RowsLeft {
    /// None yet.
    pub(super) fn new(env: &ExecEnv) -> RowsLeft {
        let messages = TupleStore::new(1, env.work_mem_bytes, Some(Arc::clone(&env.temp)));
        RowsLeft { messages, reader: StoreReader::default(), next: 0, tag: CommandTag::Empty }
    }

    /// Takes the rows that a statement has put at the end of `out`, from `start` on.
    pub(super) fn take(&mut self, out: &mut Vec<u8>, start: usize) -> Result<()> {
        let mut rest = out.get(start..).unwrap_or_default();
        // The length counts itself, not the type byte before it.
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

    /// Appends the next row to `out`; false if there is none.
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

/// What the running statement's rows are put by for, instead of being sent: the client asked for
/// a part of them.
pub(super) struct HeldRows {
    /// Where they begin in the send buffer.
    pub(super) start: usize,
    pub(super) rows: RowsLeft,
}

/// What a portal runs.
pub(super) enum PortalBody {
    /// Nothing.
    Empty,
    /// A plan.
    Plan(PlanPortal),
    /// Anything else.
    Utility { statement: Arc<ast::Statement>, params: BoundParams, ran: UtilityRun },
    /// DECLARE's.
    Cursor(Cursor),
}

/// A portal.
pub(super) struct Portal {
    pub(super) body: PortalBody,
    pub(super) source: Arc<str>,
    pub(super) formats: ResultFormats,
    /// Savepoints there were when it was made.
    pub(super) depth: usize,
    /// Microseconds since 2000-01-01 UTC.
    pub(super) created_at: i64,
    /// What its parameters and text take.
    pub(super) bytes: usize,
    /// An error ended it or its transaction: it is there until the transaction ends, and cannot be
    /// run (PORTAL_FAILED).
    pub(super) has_failed: bool,
}

/// A session's portals. Each lives in a box, since it is taken out to be run and put back.
#[derive(Default)]
pub(super) struct Portals {
    named: Map<Box<Portal>>,
    /// The one that drivers use: by itself, so that finding it costs no look-up.
    unnamed: Option<Box<Portal>>,
    /// What all of them take.
    bytes: usize,
}

impl Portals {
    /// By name.
    pub(super) fn get(&self, name: &str) -> Result<&Portal> {
        let found = if name.is_empty() { self.unnamed.as_ref() } else { self.named.get(name) };
        found.map(|portal| &**portal).ok_or_else(|| no_portal("portal", name))
    }

    /// Takes a portal out in order to run it; [`Portals::put_back`] follows.
    pub(super) fn take(&mut self, name: &str) -> Result<Box<Portal>> {
        self.take_any(name).ok_or_else(|| no_portal("portal", name))
    }

    fn take_any(&mut self, name: &str) -> Option<Box<Portal>> {
        let taken = if name.is_empty() { self.unnamed.take() } else { self.named.remove(name) };
        if let Some(portal) = &taken {
            self.bytes -= portal.bytes;
        }
        taken
    }

    /// A cursor that rows are changed by.
    pub(super) fn cursor_mut(&mut self, name: &str) -> Result<&mut Cursor> {
        match self.named.get_mut(name).map(|portal| &mut portal.body) {
            Some(PortalBody::Cursor(cursor)) => Ok(cursor),
            None => Err(no_portal("cursor", name)),
            Some(PortalBody::Plan(plan))
                if plan.plan.compiled.planned().command == Command::Select =>
            {
                Err(Error::not_supported("WHERE CURRENT OF a portal of the extended protocol"))
            }
            Some(_) => {
                let message = format!("cursor \"{name}\" is not a SELECT query");
                Err(Error::new(SqlState::INVALID_CURSOR_STATE, message))
            }
        }
    }

    /// Takes a cursor out.
    pub(super) fn take_cursor(&mut self, name: &str) -> Result<Box<Portal>> {
        self.take_any(name).ok_or_else(|| no_portal("cursor", name))
    }

    /// 42P03 if there is such a portal.
    pub(super) fn check_free(&self, what: &str, name: &str) -> Result<()> {
        if name.is_empty() || !self.named.contains_key(name) {
            return Ok(());
        }
        let message = format!("{what} \"{name}\" already exists");
        Err(Error::new(SqlState::DUPLICATE_CURSOR, message))
    }

    /// Adds a portal.
    pub(super) fn put(&mut self, name: &str, portal: Box<Portal>) -> Result<()> {
        let bytes = self.bytes + portal.bytes;
        if self.named.len() >= NAMED_MAX || bytes > BYTES_MAX {
            return Err(too_many("portals"));
        }
        self.put_back(name, portal);
        Ok(())
    }

    /// Puts back what [`Portals::take`] took.
    pub(super) fn put_back(&mut self, name: &str, portal: Box<Portal>) {
        self.bytes += portal.bytes;
        if name.is_empty() {
            self.unnamed = Some(portal);
        } else {
            self.named.insert(name.into(), portal);
        }
    }

    /// Close: whether there was one.
    pub(super) fn remove(&mut self, name: &str, transaction: &mut TransactionState) -> bool {
        let Some(mut portal) = self.take_any(name) else { return false };
        portal.release(transaction);
        true
    }

    /// CLOSE ALL.
    pub(super) fn remove_all(&mut self, transaction: &mut TransactionState) {
        for portal in self.all_mut() {
            portal.release(transaction);
        }
        self.clear();
    }

    pub(super) fn clear(&mut self) {
        self.named.clear();
        self.unnamed = None;
        self.bytes = 0;
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Box<Portal>> {
        self.named.values_mut().chain(&mut self.unnamed)
    }

    /// Only cursors WITH HOLD outlive their transaction.
    pub(super) fn end_transaction(&mut self, transaction: &mut TransactionState) {
        if self.named.is_empty() && self.unnamed.is_none() {
            return;
        }
        self.retain(transaction, |portal| match &portal.body {
            PortalBody::Cursor(cursor) => cursor.is_held(),
            _ => false,
        });
    }

    /// An error aborts the transaction, or what came after the savepoint at position `at`: the
    /// portals that were made in it fail (AtAbort_Portals, AtSubAbort_Portals).
    pub(super) fn fail_deeper(&mut self, at: Option<usize>, transaction: &mut TransactionState) {
        for portal in self.all_mut() {
            let is_held = matches!(&portal.body, PortalBody::Cursor(cursor) if cursor.is_held());
            if !is_held && at.is_none_or(|at| portal.depth > at) {
                portal.fail(transaction);
            }
        }
    }

    /// ROLLBACK TO the savepoint at position `at`: portals made after it go.
    pub(super) fn drop_deeper(&mut self, at: usize, transaction: &mut TransactionState) {
        self.retain(transaction, |portal| portal.depth <= at);
    }

    /// RELEASE of the savepoint at position `at`: portals belong to the level below.
    pub(super) fn lower_depth(&mut self, at: usize) {
        for portal in self.all_mut() {
            portal.depth = portal.depth.min(at);
        }
    }

    fn retain(&mut self, transaction: &mut TransactionState, keep: impl Fn(&Portal) -> bool) {
        let mut bytes = 0;
        let mut keeps = |portal: &mut Box<Portal>| {
            let keeps = keep(portal);
            if keeps {
                bytes += portal.bytes;
            } else {
                portal.release(transaction);
            }
            keeps
        };
        self.named.retain(|_, portal| keeps(portal));
        self.unnamed.take_if(|portal| !keeps(portal));
        self.bytes = bytes;
    }

    /// All of them, for pg_cursors.
    pub(super) fn shown(&self) -> Vec<ShownCursor> {
        let show = |name: &str, portal: &Portal| {
            let (is_holdable, is_binary, is_scrollable) = match &portal.body {
                PortalBody::Cursor(cursor) => cursor.options(),
                _ => (false, portal.formats == ResultFormats::Binary, false),
            };
            ShownCursor {
                name: name.into(),
                statement: Arc::clone(&portal.source),
                is_holdable,
                is_binary,
                is_scrollable,
                created_at: portal.created_at,
            }
        };
        let named = self.named.iter().map(|(name, portal)| show(name, portal));
        named.chain(self.unnamed.iter().map(|portal| show("", portal))).collect()
    }

    /// The relations that cursors read which have not been run to their end at a COMMIT.
    pub(super) fn read_by_cursors(&self) -> Vec<Oid> {
        let cursors = self.named.values().filter_map(|portal| match &portal.body {
            PortalBody::Cursor(cursor) if !cursor.is_held() && !portal.has_failed => Some(cursor),
            _ => None,
        });
        let relations = |cursor: &Cursor| cursor.plan.plan.compiled.planned().relations.to_vec();
        cursors.flat_map(relations).map(|(oid, _)| oid).collect()
    }

    /// The cursors to be kept beyond the transaction, by name.
    pub(super) fn cursors_mut(&mut self) -> impl Iterator<Item = &mut Cursor> {
        self.named.values_mut().filter_map(|portal| match &mut portal.body {
            PortalBody::Cursor(cursor) if !portal.has_failed => Some(cursor),
            _ => None,
        })
    }
}

impl Portal {
    /// 55000 unless it may be run.
    pub(super) fn check_runnable(&self, name: &str) -> Result<()> {
        if self.has_failed { Err(cannot_be_run(name)) } else { Ok(()) }
    }

    /// Ends it as an error does.
    pub(super) fn fail(&mut self, transaction: &mut TransactionState) {
        self.release(transaction);
        self.has_failed = true;
    }

    fn release(&mut self, transaction: &mut TransactionState) {
        match &mut self.body {
            PortalBody::Plan(plan) => plan.release(transaction),
            PortalBody::Cursor(cursor) => cursor.plan.release(transaction),
            PortalBody::Empty | PortalBody::Utility { .. } => {}
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
fn no_portal(what: &str, name: &str) -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, format!("{what} \"{name}\" does not exist"))
}
