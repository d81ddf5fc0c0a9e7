//! Statements of a transaction whose rows are streamed.
//!
//! ```text
//!   open ──► [BEGIN] [SAVEPOINT …] [Close …] Parse Bind Flush Execute(batch) Sync      one flight a node
//!   fetch ─► DataRow … DataRow  PortalSuspended ReadyForQuery ─► Execute(batch) Sync ─► …
//! ```
//!
//! Several statements can be open on one node at once. Each batch is a cycle of its own up to Sync,
//! and a portal survives it, because the transaction is open. At most one cycle of a node is under way: a
//! statement that needs the connection first reads the rest of the batch into its cursor's buffer.
//!
//! *Memory.* [`Participants::fetch`] returns after [`FETCH_BYTES`] of rows even if the batch has more, which stays
//! in the socket. A cursor's buffer holds the rest of one batch at most.
//!
//! *Consistent reads.* A statement on several nodes in READ COMMITTED passes the gate: until all Binds are
//! answered if it only reads, else until the first answer of each node ([README.md]). A statement that
//! waits for a row's lock has its snapshot. It leaves the gate, since the commit that has the lock may
//! wait there.
//!
//! PostgreSQL: exec_bind_message, exec_execute_message in src/backend/tcop/postgres.c.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use steppe_types::{Error, Oid, Result, SqlState, interrupt};
use steppe_wire::Format;
use steppe_wire::client::receive::BackendMessage;

use super::exchange::unexpected;
use super::participants::{Isolation, NEVER, Participants};
use super::session::{Effect, NodeSession};
use crate::connection::Step;
use crate::gate::Passage;
use crate::pool::replay::Settings;
use crate::wait::{self, Heed, Watched};
use crate::{Interest, NodeId, NodeSet};

/// The bytes of rows behind which a fetch returns.
const FETCH_BYTES: usize = 256 * 1024;
/// A statement without an answer for this time may wait for a lock.
const LOCK_LOOK: Duration = Duration::from_millis(20);
/// How long the question for it may take.
const LOCK_LOOK_TIME: Duration = Duration::from_secs(1);

/// A statement for nodes.
#[derive(Clone, Copy, Debug)]
pub struct RemoteStatement<'a> {
    /// Its text. It is prepared once a connection.
    pub text: &'a str,
    /// The types of its parameters.
    pub types: &'a [Oid],
    /// The formats of its columns: none (all text), one (for all), or one each.
    pub result_formats: &'a [Format],
    /// The effect that it may have.
    pub effect: Effect,
}

/// The values of the parameters, in text format; `None` is NULL.
pub type Values = Vec<Option<Vec<u8>>>;

/// A statement on one node whose rows are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CursorId(u64);

impl CursorId {
    /// It is no cursor of the transaction.
    pub const NONE: CursorId = CursorId(0);
}

/// The end of a fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// There may be more rows.
    More,
    /// There are no more rows: the command tag.
    Done(String),
}

/// The place of a cursor in its exchange.
#[derive(Debug)]
enum State {
    /// The answer to its Execute is under way.
    Running,
    /// The node has more rows.
    Suspended,
    Done(String),
    Failed(Error),
}

/// An open statement on one node.
#[derive(Debug)]
struct Cursor {
    node: NodeId,
    /// Its portal; the one without a name has all its rows in one batch.
    portal: String,
    /// The text and types of its statement, to forget it once the node no longer accepts it.
    statement: (Box<str>, Box<[Oid]>),
    batch: i32,
    effect: Effect,
    /// The level of savepoints that it was opened in.
    level: u32,
    /// The settings that it was opened with. All of its rows are printed with them.
    settings: Settings,
    state: State,
    /// The state once ReadyForQuery has come.
    next: Option<State>,
    /// Rows that came while another statement needed the connection.
    buffer: Vec<u8>,
    is_bound: bool,
    /// A row has come.
    is_answered: bool,
    is_closed: bool,
}

/// The cursors of a transaction.
#[derive(Default)]
pub(super) struct Cursors {
    open: BTreeMap<CursorId, Cursor>,
    last: u64,
    abandoned: Arc<AbandonedCursors>,
}

/// Cursors that no one reads any more. Their readers ended without the transaction at hand.
#[derive(Debug, Default)]
pub struct AbandonedCursors(Mutex<Vec<CursorId>>);

impl AbandonedCursors {
    /// Adds a cursor, which may be closed already.
    pub fn add(&self, cursor: CursorId) {
        self.0.lock().push(cursor);
    }
}

/// How far an answer is read.
#[derive(Clone, Copy, Debug)]
enum Until {
    /// The snapshot of a statement that only reads is taken.
    Bound,
    /// The node has begun to execute the statement.
    Answered,
    /// This number of bytes of rows, or the end of the batch.
    Bytes(usize),
}

impl Cursor {
    fn is_at(&self, until: Until, rows: &[u8]) -> bool {
        let is_over = !matches!(self.state, State::Running);
        match until {
            Until::Bound => self.is_bound || self.next.is_some() || is_over,
            Until::Answered => self.is_answered || self.next.is_some() || is_over,
            Until::Bytes(bytes) => rows.len() >= bytes || is_over,
        }
    }

    /// Reads the answer of its Execute as far as the socket allows. The error: the connection is
    /// broken.
    fn read(
        &mut self,
        session: &mut NodeSession,
        until: Until,
        rows: &mut Vec<u8>,
    ) -> Result<Step<()>> {
        while !self.is_at(until, rows) {
            let flushed = session.connection().flush()?;
            if let Step::Waits(interest) = session.skip_prefix()? {
                return Ok(Step::Waits(interest));
            }
            if let Some(error) = session.take_prefix_error() {
                self.next = Some(State::Failed(error));
                continue;
            }
            let run = session.connection().receive_run(b'D')?;
            if !run.is_empty() {
                self.take_rows(run, rows);
                continue;
            }
            let noted = match session.connection().receive() {
                Ok(Step::Ready(message)) if message.tag() == b'D' => {
                    self.take_rows(message.bytes(), rows);
                    continue;
                }
                Ok(Step::Ready(message)) => {
                    let tag = message.tag();
                    message.decode().and_then(|message| self.note(tag, message))
                }
                Ok(Step::Waits(interest)) => {
                    let is_sent = flushed == Step::Ready(());
                    return Ok(Step::Waits(if is_sent { interest } else { Interest::Both }));
                }
                // The reason why the node has closed the connection.
                Err(error) => match self.next.take() {
                    Some(State::Failed(reason)) => return Err(reason),
                    _ => return Err(error),
                },
            };
            noted.map_err(|error| session.connection().violated(error))?;
            if !matches!(self.state, State::Running) {
                self.ended(session);
            }
        }
        Ok(Step::Ready(()))
    }

    fn take_rows(&mut self, messages: &[u8], rows: &mut Vec<u8>) {
        self.is_answered = true;
        if !self.is_closed {
            rows.extend_from_slice(messages);
        }
    }

    fn note(&mut self, tag: u8, message: BackendMessage<'_>) -> Result<()> {
        match message {
            BackendMessage::BindComplete => self.is_bound = true,
            BackendMessage::PortalSuspended => self.next = Some(State::Suspended),
            BackendMessage::CommandComplete(tag) => self.next = Some(State::Done(tag.to_owned())),
            BackendMessage::EmptyQueryResponse => self.next = Some(State::Done(String::new())),
            BackendMessage::ErrorResponse(error) => self.next = Some(State::Failed(error)),
            BackendMessage::NoticeResponse(_) => {}
            BackendMessage::ReadyForQuery(_) => match self.next.take() {
                Some(state) => self.state = state,
                None => return Err(unexpected(tag)),
            },
            _ => return Err(unexpected(tag)),
        }
        Ok(())
    }

    /// The answer has ended: another statement can use the connection.
    fn ended(&mut self, session: &mut NodeSession) {
        session.runs = None;
        match &mut self.state {
            State::Done(tag) => session.note_tag(self.effect, tag.as_bytes()),
            State::Failed(error) => {
                // Its result type may have changed: the next transaction prepares it again.
                if error.sqlstate() == SqlState::FEATURE_NOT_SUPPORTED {
                    let (text, types) = &self.statement;
                    session.connection().forget_statement(text, types);
                }
                *error = session.named(error.clone());
            }
            State::Running | State::Suspended => {}
        }
    }

    fn fail(&mut self, session: &mut NodeSession, error: Error) -> Error {
        let error = session.named(error);
        session.runs = None;
        self.state = State::Failed(error.clone());
        error
    }
}

impl Participants {
    /// Opens a statement on each of the targets with their parameters, and asks for the first `batch`
    /// rows; zero asks for all. With several targets no commit over several nodes is seen half. Errors:
    /// those of the pool, 55P03 at the deadline of the gate, and the nodes' own, which can also come from
    /// the first fetch.
    pub fn open(
        &mut self,
        statement: &RemoteStatement<'_>,
        targets: &[(NodeId, Values)],
        batch: u32,
        deadline: Option<Instant>,
    ) -> Result<Vec<CursorId>> {
        let mut all = self.open_together(&[(*statement, targets)], batch, deadline)?;
        Ok(all.pop().unwrap_or_default())
    }

    /// Opens several statements whose snapshots belong together: those of one statement of the client.
    /// Otherwise as [`Self::open`].
    pub fn open_together(
        &mut self,
        statements: &[(RemoteStatement<'_>, &[(NodeId, Values)])],
        batch: u32,
        deadline: Option<Instant>,
    ) -> Result<Vec<Vec<CursorId>>> {
        self.close_abandoned();
        let deadline = deadline.unwrap_or_else(|| Instant::now() + NEVER);
        let nodes: NodeSet =
            statements.iter().flat_map(|(_, on)| *on).map(|(node, _)| *node).collect();
        let all: Vec<NodeId> = nodes.iter().collect();
        self.take_snapshots(&all, deadline)?;
        for node in &all {
            self.joined(*node, deadline)?;
        }
        let passage = match self.mode().isolation {
            Isolation::ReadCommitted => self.pass(nodes, deadline)?,
            Isolation::RepeatableRead => None,
        };
        let mut opened = Vec::new();
        for (statement, targets) in statements {
            let mut cursors = Vec::new();
            for (node, values) in *targets {
                // A node may be there twice.
                self.joined(*node, deadline)?;
                cursors.push(self.start(statement, *node, values, batch)?);
            }
            opened.push(cursors);
        }
        let only_reads = statements.iter().all(|(statement, _)| statement.effect == Effect::Read);
        let effect = if only_reads { Effect::Read } else { Effect::Any };
        match passage {
            Some(passage) => self.leave_gate(passage, &opened.concat(), effect, deadline)?,
            // It is on its way before the caller asks for rows.
            None => self.flush(&all)?,
        }
        Ok(opened)
    }

    /// Appends rows to `rows`, as DataRow messages. It waits for some. Errors: the
    /// node's own, 08006 its connection is lost, and the statement's interrupts.
    pub fn fetch(&mut self, cursor: CursorId, rows: &mut Vec<u8>) -> Result<Fetched> {
        let before = rows.len();
        loop {
            self.check_usable()?;
            let known = self.cursors.open.get_mut(&cursor).ok_or_else(not_open)?;
            rows.append(&mut known.buffer);
            match &known.state {
                State::Failed(error) => return Err(error.clone()),
                State::Done(tag) => return Ok(Fetched::Done(tag.clone())),
                State::Suspended | State::Running if rows.len() - before >= FETCH_BYTES => {
                    return Ok(Fetched::More);
                }
                State::Suspended if rows.len() > before => return Ok(Fetched::More),
                State::Suspended => self.next_batch(cursor)?,
                State::Running => {
                    let until = Until::Bytes(before + FETCH_BYTES);
                    self.read(&[cursor], until, None, Some(rows))?;
                }
            }
        }
    }

    /// As [`Self::fetch`], for a caller that waits as a future, and of a statement whose rows come in
    /// one batch. It returns once `rows` is `enough` bytes long.
    pub fn fetch_step(
        &mut self,
        cursor: CursorId,
        rows: &mut Vec<u8>,
        enough: usize,
    ) -> Result<Step<Fetched>> {
        self.check_usable()?;
        let step = self.read_one(cursor, Until::Bytes(enough), Some(rows))?;
        let known = self.cursors.open.get(&cursor).ok_or_else(not_open)?;
        Ok(match (&known.state, step) {
            (State::Failed(error), _) => return Err(error.clone()),
            (State::Done(tag), _) => Step::Ready(Fetched::Done(tag.clone())),
            (_, Step::Waits(interest)) => Step::Waits(interest),
            (_, Step::Ready(())) => Step::Ready(Fetched::More),
        })
    }

    /// The socket of a cursor's node.
    pub fn descriptor(&mut self, cursor: CursorId) -> Result<BorrowedFd<'_>> {
        let node = self.cursors.open.get(&cursor).ok_or_else(not_open)?.node;
        let session = self.sessions.get_mut(&node).ok_or_else(not_open)?;
        Ok(session.connection().descriptor())
    }

    /// Ends a statement whose client wants it to end. Returns the reason.
    pub fn stop_in_place(&mut self, cursor: CursorId, reason: Error) -> Error {
        self.stop(&[cursor], reason)
    }

    /// Ends a cursor. The rest of its batch is discarded when the connection is needed next.
    pub fn close(&mut self, cursor: CursorId) {
        let Some(known) = self.cursors.open.get_mut(&cursor) else { return };
        known.is_closed = true;
        known.buffer = Vec::new();
        if !matches!(known.state, State::Running) {
            self.forget(cursor);
        }
    }

    /// Where readers that end without the transaction leave their cursors.
    pub fn abandoned(&self) -> &Arc<AbandonedCursors> {
        &self.cursors.abandoned
    }

    /// Closes what has been abandoned since the last statement.
    fn close_abandoned(&mut self) {
        let abandoned = std::mem::take(&mut *self.cursors.abandoned.0.lock());
        for cursor in abandoned {
            self.close(cursor);
        }
    }

    /// Runs a statement without parameters on all these nodes, for DDL. The first error is returned.
    pub fn run_on_all(&mut self, nodes: &[NodeId], text: &str, deadline: Instant) -> Result<()> {
        self.take_snapshots(nodes, deadline)?;
        for node in nodes {
            let session = self.joined(*node, deadline)?;
            session.expect(Effect::Any);
            session.bind(text)?;
            session.execute();
        }
        let answers = self.run(nodes, deadline, NodeSession::advance)?;
        answers.into_iter().collect::<Result<Vec<_>>>().map(drop)
    }

    /// Appends the statement on one node.
    fn start(
        &mut self,
        statement: &RemoteStatement<'_>,
        node: NodeId,
        values: &Values,
        batch: u32,
    ) -> Result<CursorId> {
        self.cursors.last += 1;
        let id = CursorId(self.cursors.last);
        let portal = if batch == 0 { String::new() } else { format!("p{}", id.0) };
        let batch = i32::try_from(batch).unwrap_or(i32::MAX);
        let (level, settings) = (self.level, self.settings().clone());
        let session = self.sessions.get_mut(&node).ok_or_else(not_open)?;
        session.expect(statement.effect);
        session.start(statement, values, &portal, batch)?;
        session.runs = Some(id);
        let cursor = Cursor {
            node,
            portal,
            statement: (statement.text.into(), statement.types.into()),
            batch,
            effect: statement.effect,
            level,
            settings,
            state: State::Running,
            next: None,
            buffer: Vec::new(),
            is_bound: false,
            is_answered: false,
            is_closed: false,
        };
        self.cursors.open.insert(id, cursor);
        Ok(id)
    }

    fn next_batch(&mut self, cursor: CursorId) -> Result<()> {
        let known = self.cursors.open.get(&cursor).ok_or_else(not_open)?;
        let (node, settings) = (known.node, known.settings.clone());
        let session = self.joined_with(node, Some(&settings), Instant::now() + NEVER)?;
        session.runs = Some(cursor);
        let known = self.cursors.open.get_mut(&cursor).ok_or_else(not_open)?;
        known.state = State::Running;
        let session = self.sessions.get_mut(&node).ok_or_else(not_open)?;
        session.execute_portal(&known.portal, known.batch);
        Ok(())
    }

    fn forget(&mut self, cursor: CursorId) {
        let Some(known) = self.cursors.open.remove(&cursor) else { return };
        if !known.portal.is_empty()
            && let Some(session) = self.sessions.get_mut(&known.node)
        {
            session.close_portal(known.portal);
        }
    }

    /// Sends what is to be sent, as far as the sockets take it.
    fn flush(&mut self, nodes: &[NodeId]) -> Result<()> {
        for session in self.of(nodes) {
            let sent = session.connection().flush();
            sent.map_err(|error| session.named(error))?;
        }
        Ok(())
    }

    /// Leaves the gate once each statement has its snapshot.
    fn leave_gate(
        &mut self,
        passage: Passage,
        cursors: &[CursorId],
        effect: Effect,
        deadline: Instant,
    ) -> Result<()> {
        let until = if effect == Effect::Read { Until::Bound } else { Until::Answered };
        loop {
            let look_at = match until {
                Until::Bound => deadline,
                Until::Answered | Until::Bytes(_) => deadline.min(Instant::now() + LOCK_LOOK),
            };
            if self.read(cursors, until, Some(look_at), None)? {
                break;
            }
            if Instant::now() >= deadline {
                return Err(self.stop(cursors, too_late()));
            }
            if self.all_wait_for_rows(cursors, until)? {
                break;
            }
        }
        drop(passage);
        let failed =
            cursors.iter().find_map(|cursor| match &self.cursors.open.get(cursor)?.state {
                State::Failed(error) => Some(error.clone()),
                _ => None,
            });
        failed.map_or(Ok(()), Err)
    }

    /// Whether each statement without an answer waits for a row's lock.
    fn all_wait_for_rows(&mut self, cursors: &[CursorId], until: Until) -> Result<bool> {
        for cursor in cursors {
            let Some(known) = self.cursors.open.get(cursor) else { continue };
            if !known.is_at(until, &[]) && !self.waits_for_row(known.node)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Asks another session of the node. A wait for a table's lock is none: it comes before the snapshot.
    fn waits_for_row(&self, node: NodeId) -> Result<bool> {
        let Some(session) = self.sessions.get(&node) else { return Ok(false) };
        let Some(process) = session.process_id() else { return Ok(false) };
        let sql = format!(
            "SELECT wait_event_type = 'Lock' AND wait_event IN ('transactionid', 'tuple') \
             FROM pg_catalog.pg_stat_activity WHERE pid = {process}"
        );
        let deadline = Instant::now() + LOCK_LOOK_TIME;
        let asked = self
            .lease(node, deadline)
            .and_then(|mut lease| lease.query_in_place_until(&sql, Some(deadline)));
        match asked {
            Ok(answers) => Ok(answers.first().and_then(|answer| answer.text(0, 0)) == Some("t")),
            Err(error) if error.sqlstate() == SqlState::QUERY_CANCELED => Err(error),
            // The pool has no other connection, or the node is at its limit: it is asked again.
            Err(_) => interrupt::check().map(|()| false),
        }
    }

    /// Reads the answers of running statements until all are `until`: true. False at the deadline. Rows
    /// go to `rows`, else to the cursors' buffers.
    fn read(
        &mut self,
        cursors: &[CursorId],
        until: Until,
        deadline: Option<Instant>,
        mut rows: Option<&mut Vec<u8>>,
    ) -> Result<bool> {
        loop {
            let mut interests = Vec::new();
            for cursor in cursors {
                if let Step::Waits(interest) = self.read_one(*cursor, until, rows.as_deref_mut())? {
                    interests.push((*cursor, interest));
                }
            }
            if interests.is_empty() {
                return Ok(true);
            }
            let mut watched = Vec::new();
            for (node, session) in &mut self.sessions {
                let is_of = |cursor: &CursorId| session.runs == Some(*cursor);
                if let Some((_, interest)) = interests.iter().find(|(cursor, _)| is_of(cursor)) {
                    debug_assert_eq!(*node, session.node());
                    watched.push(Watched::new(session.connection().descriptor(), *interest));
                }
            }
            match wait::any(&mut watched, deadline, Heed::Statement) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(interrupt) => {
                    drop(watched);
                    return Err(self.stop(cursors, interrupt));
                }
            }
        }
    }

    fn read_one(
        &mut self,
        cursor: CursorId,
        until: Until,
        rows: Option<&mut Vec<u8>>,
    ) -> Result<Step<()>> {
        let Some(known) = self.cursors.open.get_mut(&cursor) else { return Ok(Step::Ready(())) };
        if !matches!(known.state, State::Running) {
            return Ok(Step::Ready(()));
        }
        let session = self.sessions.get_mut(&known.node).ok_or_else(not_open)?;
        let mut own = std::mem::take(&mut known.buffer);
        let step = known.read(session, until, rows.unwrap_or(&mut own));
        // A read changes the buffer only through `own`.
        known.buffer = own;
        let step = step.map_err(|error| known.fail(session, error));
        if known.is_closed && !matches!(known.state, State::Running) {
            self.forget(cursor);
        }
        step
    }

    /// Cancels running statements. The node's part of the transaction has failed.
    fn stop(&mut self, cursors: &[CursorId], reason: Error) -> Error {
        for cursor in cursors {
            let Some(known) = self.cursors.open.get_mut(cursor) else { continue };
            let Some(session) = self.sessions.get_mut(&known.node) else { continue };
            if matches!(known.state, State::Running) {
                session.settle(&reason);
                session.runs = None;
                known.state = State::Failed(reason.clone());
            }
        }
        reason
    }

    // ----- for the other uses of the connections -----

    /// Frees the connection for another statement: what is under way goes to its cursor's buffer.
    pub(super) fn free(&mut self, node: NodeId) -> Result<()> {
        let running = self.sessions.get(&node).and_then(|session| session.runs);
        running.map_or(Ok(()), |cursor| {
            self.read(&[cursor], Until::Bytes(usize::MAX), None, None).map(drop)
        })
    }

    /// Frees all connections.
    pub(super) fn free_all(&mut self) -> Result<()> {
        let nodes: Vec<NodeId> = self.sessions.keys().copied().collect();
        nodes.into_iter().try_for_each(|node| self.free(node))
    }

    /// Ends the cursors that were opened in a level that is to be undone, or inside of it. The others
    /// keep what is under way.
    pub(super) fn undo_cursors(&mut self, level: u32) -> Result<()> {
        let is_in = |(id, cursor): (&CursorId, &Cursor)| (cursor.level >= level).then_some(*id);
        let inside: Vec<CursorId> = self.cursors.open.iter().filter_map(is_in).collect();
        self.stop(&inside, not_open());
        for id in inside {
            if let Some(cursor) = self.cursors.open.get_mut(&id) {
                cursor.state = State::Failed(not_open());
                // The node has closed its portal.
                cursor.portal.clear();
            }
        }
        self.free_all()
    }
}

/// 34000: the node has no such portal.
#[cold]
fn not_open() -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, "the statement on the node is not open any more")
}

#[cold]
fn too_late() -> Error {
    Error::new(SqlState::CONNECTION_FAILURE, "a node has not answered in time")
}
