//! Cursors with names (portals, refcursor). A function opens one, and other functions of the
//! transaction and the client may use it. Functions use those of the client, too: the session has
//! them ([`ClientPortals`]), and lends one for each use. A name stands for one of either kind.
//!
//! Portals are numbered in the order in which they are opened. A rollback to a savepoint closes the ones
//! that were opened since (AtSubAbort_Portals).
//!
//! A portal is looked up by its name once. Its user keeps it and fetches without another look-up,
//! until it is closed. A loop *pins* its portal: nothing may close it, and the end of a transaction
//! within the loop leaves it open, with all its rows read (portalPinned, HoldPinnedPortals).

use super::place::CursorPlace;
use super::{Spi, SpiCursor};
use crate::routine::SessionRoutines;
use crate::sink::RowSink;
use crate::transaction::Transaction;
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use steppe_sql::ast::FetchDirection;
use steppe_sql::plan::ResultColumn;
use steppe_types::{Error, Result, SqlState};

/// The portals that the client has made: DECLARE, and Bind with a name.
pub trait ClientPortals: Send + Sync {
    /// Whether there is one of this name.
    fn has(&self, name: &str) -> bool;

    /// Lends one that has rows. The session has it again when it is dropped. 34000 if there is none,
    /// 55000 if it has failed.
    fn lend(&self, name: &str) -> Result<Box<dyn ClientCursor>>;

    /// Closes one. 34000 if there is none.
    fn close(&self, name: &str, txn: &mut Option<Transaction>) -> Result<()>;

    /// Closes all.
    fn close_all(&self, txn: &mut Option<Transaction>);
}

/// A portal that the client has made, lent to a function.
pub trait ClientCursor: Send {
    /// The columns of its rows.
    fn columns(&self) -> &[ResultColumn];

    /// FETCH: gives rows to the sink, and moves. Returns the number of rows.
    fn fetch(
        &mut self,
        txn: &mut Option<Transaction>,
        movement: (FetchDirection, i64),
        sink: &mut dyn RowSink,
    ) -> Result<u64>;
}

/// The most cursors with names that functions of one transaction may have open.
const OPEN_MAX: usize = 10_000;

/// The cursors that a session's functions have opened.
#[derive(Default)]
pub(crate) struct NamedCursors(Mutex<Open>, AtomicU64);

#[derive(Default)]
struct Open {
    named: HashMap<Arc<str>, Arc<SpiPortal>, foldhash::fast::RandomState>,
    /// The number of names that have been made.
    made: u64,
}

/// Options of DECLARE.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Declared {
    /// WITH HOLD.
    pub(super) hold: bool,
    /// BINARY.
    pub(super) binary: bool,
}

/// A cursor with a name. One session uses it, one function at a time.
pub struct SpiPortal {
    number: u64,
    name: Arc<str>,
    query: Arc<str>,
    can_scroll: bool,
    declared: Declared,
    /// WITH HOLD, and its transaction has committed.
    outlives: AtomicBool,
    /// When the statement began that opened it.
    opened_at: i64,
    /// `None`: the cursor is in use, or it is closed.
    cursor: Mutex<Option<Box<SpiCursor>>>,
    is_closed: AtomicBool,
    /// The number of loops over it.
    pins: AtomicU32,
    /// It is one of the client's. It is looked up for each use.
    of_client: Option<Arc<dyn ClientPortals>>,
}

impl SpiPortal {
    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Its query.
    pub fn query(&self) -> &Arc<str> {
        &self.query
    }

    /// Whether it can move backward.
    pub fn can_scroll(&self) -> bool {
        self.can_scroll
    }

    /// Whether it is WITH HOLD.
    pub fn is_holdable(&self) -> bool {
        self.declared.hold
    }

    /// Whether a client gets its rows in the binary format.
    pub fn is_binary(&self) -> bool {
        self.declared.binary
    }

    /// Its transaction commits.
    pub(super) fn outlives_its_transaction(&self) {
        self.outlives.store(true, Ordering::Relaxed);
    }

    fn is_to_be_held(&self) -> bool {
        self.declared.hold && !self.outlives.load(Ordering::Relaxed)
    }

    /// When the statement began that opened it: microseconds since 2000-01-01 UTC.
    pub fn opened_at(&self) -> i64 {
        self.opened_at
    }

    /// Whether it is open, so that it need not be looked up by its name.
    #[inline]
    pub fn is_open(&self) -> bool {
        !self.is_closed.load(Ordering::Relaxed)
    }

    /// One of the client's.
    fn of_client(name: &str, portals: Arc<dyn ClientPortals>) -> SpiPortal {
        SpiPortal {
            number: 0,
            name: name.into(),
            query: "".into(),
            can_scroll: false,
            declared: Declared::default(),
            outlives: AtomicBool::new(false),
            opened_at: 0,
            cursor: Mutex::new(None),
            is_closed: AtomicBool::new(true),
            pins: AtomicU32::new(0),
            of_client: Some(portals),
        }
    }

    fn is_pinned(&self) -> bool {
        self.pins.load(Ordering::Relaxed) > 0
    }

    #[inline]
    fn take(&self) -> Result<Box<SpiCursor>> {
        if let Some(portals) = &self.of_client {
            return Ok(Box::new(SpiCursor::of_client(portals.lend(&self.name)?)));
        }
        let mut place = self.cursor.lock();
        match place.take_if(|cursor| !cursor.has_failed()) {
            Some(cursor) => Ok(cursor),
            None if place.is_some() => Err(cannot_be_run(&self.name)),
            None if self.is_open() => Err(in_use(&self.name)),
            None => Err(undefined(&self.name)),
        }
    }

    #[inline]
    fn put_back(&self, cursor: Box<SpiCursor>) {
        if self.is_open() {
            *self.cursor.lock() = Some(cursor);
        }
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        *self.cursor.lock() = None;
    }
}

impl NamedCursors {
    /// Forgets the cursors: the transaction has ended. Loops that go on keep theirs, and those WITH
    /// HOLD stay.
    pub(crate) fn clear(&self) {
        self.0.lock().named.retain(|_, portal| {
            let stays = portal.is_pinned() || portal.outlives.load(Ordering::Relaxed);
            if !stays {
                portal.close();
            }
            stays
        });
    }

    /// The number of the cursor that was opened last.
    #[inline]
    pub(crate) fn last_opened(&self) -> u64 {
        self.1.load(Ordering::Relaxed)
    }

    /// Takes out the cursors that were opened after the one of this number.
    fn take_since(&self, last: u64) -> Vec<Arc<SpiPortal>> {
        let named = &mut self.0.lock().named;
        named.extract_if(|_, portal| portal.number > last).map(|(_, portal)| portal).collect()
    }

    /// Forgets all cursors: CLOSE ALL, DISCARD ALL.
    pub(crate) fn clear_all(&self) {
        let mut open = self.0.lock();
        open.named.values().for_each(|portal| portal.close());
        open.named.clear();
    }

    /// Those WITH HOLD of the present transaction.
    pub(crate) fn to_hold(&self) -> Vec<Arc<SpiPortal>> {
        let open = self.0.lock();
        open.named.values().filter(|portal| portal.is_to_be_held()).cloned().collect()
    }

    /// The open cursors.
    pub(crate) fn all(&self) -> Vec<Arc<SpiPortal>> {
        self.0.lock().named.values().cloned().collect()
    }

    /// Whether there is a cursor of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.lock().named.contains_key(name)
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<SpiPortal>> {
        self.0.lock().named.get(name).cloned()
    }

    fn pinned(&self) -> Vec<Arc<SpiPortal>> {
        let open = self.0.lock();
        open.named.values().filter(|portal| portal.is_pinned()).cloned().collect()
    }

    /// The row that a cursor is on, for WHERE CURRENT OF; `None` if there is none of this name.
    pub(crate) fn place(&self, name: &str) -> Option<Result<CursorPlace>> {
        let portal = self.find(name)?;
        let cursor = portal.cursor.lock();
        Some(match &*cursor {
            Some(cursor) => cursor.place(name),
            None => Err(in_use(name)),
        })
    }

    fn put(
        &self,
        name: Option<&str>,
        cursor: SpiCursor,
        (query, opened_at, declared): (&str, i64, Declared),
        is_clients: impl Fn(&str) -> bool,
    ) -> Result<Arc<SpiPortal>> {
        let mut open = self.0.lock();
        if open.named.len() >= OPEN_MAX {
            let message = "too many open cursors";
            return Err(Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, message));
        }
        let name: Arc<str> = match name {
            Some(name) if open.named.contains_key(name) || is_clients(name) => {
                let message = format!("cursor \"{name}\" already in use");
                return Err(Error::new(SqlState::DUPLICATE_CURSOR, message));
            }
            Some(name) => name.into(),
            None => loop {
                open.made += 1;
                let name = format!("<unnamed portal {}>", open.made);
                if !open.named.contains_key(&*name) && !is_clients(&name) {
                    break name.into();
                }
            },
        };
        let portal = Arc::new(SpiPortal {
            number: self.1.fetch_add(1, Ordering::Relaxed) + 1,
            name: Arc::clone(&name),
            query: query.into(),
            can_scroll: cursor.can_scroll(),
            declared,
            outlives: AtomicBool::new(false),
            opened_at,
            cursor: Mutex::new(Some(Box::new(cursor))),
            is_closed: AtomicBool::new(false),
            pins: AtomicU32::new(0),
            of_client: None,
        });
        open.named.insert(name, Arc::clone(&portal));
        Ok(portal)
    }
}

impl Spi<'_> {
    /// Whether there is a cursor of this name.
    pub fn has_cursor(&self, name: &str) -> bool {
        self.routines().is_ok_and(|routines| {
            routines.cursors.has(name) || routines.portals.as_ref().is_some_and(|it| it.has(name))
        })
    }

    /// Gives a cursor a name, which is made if it is not given. 42P03 if the name is taken.
    pub fn put_cursor(
        &mut self,
        name: Option<&str>,
        cursor: SpiCursor,
        query: &str,
    ) -> Result<Arc<SpiPortal>> {
        self.put_declared(name, cursor, query, Declared::default())
    }

    pub(super) fn put_declared(
        &mut self,
        name: Option<&str>,
        cursor: SpiCursor,
        query: &str,
        declared: Declared,
    ) -> Result<Arc<SpiPortal>> {
        self.be_heard()?;
        let opened_at = self.cx.functions.statement_timestamp;
        let SessionRoutines { cursors, portals, .. } = self.routines()?;
        let is_clients = |name: &str| portals.as_ref().is_some_and(|portals| portals.has(name));
        cursors.put(name, cursor, (query, opened_at, declared), is_clients)
    }

    /// The cursor of a name. 34000 if there is none.
    pub fn portal(&self, name: &str) -> Result<Arc<SpiPortal>> {
        let SessionRoutines { cursors, portals, .. } = self.routines()?;
        if let Some(portal) = cursors.find(name) {
            return Ok(portal);
        }
        match portals.as_ref().filter(|portals| portals.has(name)) {
            Some(portals) => Ok(Arc::new(SpiPortal::of_client(name, Arc::clone(portals)))),
            None => Err(undefined(name)),
        }
    }

    /// Uses the cursor of a name. 34000 if there is none.
    pub fn with_cursor<T>(
        &mut self,
        name: &str,
        f: impl FnOnce(&mut SpiCursor, &mut Spi<'_>) -> Result<T>,
    ) -> Result<T> {
        let portal = self.portal(name)?;
        self.with_portal(&portal, f)
    }

    /// Uses a cursor. 34000 if it has been closed.
    #[inline]
    pub fn with_portal<T>(
        &mut self,
        portal: &SpiPortal,
        f: impl FnOnce(&mut SpiCursor, &mut Spi<'_>) -> Result<T>,
    ) -> Result<T> {
        self.be_heard()?;
        let mut cursor = portal.take()?;
        let done = f(&mut cursor, self);
        portal.put_back(cursor);
        done
    }

    /// Closes the cursor of a name. 34000 if there is none, 24000 if a loop runs over it.
    pub fn close_cursor(&mut self, name: &str) -> Result<()> {
        self.be_heard()?;
        let portal = self.portal(name)?;
        if let Some(portals) = &portal.of_client {
            return self.lend(|txn| portals.close(name, txn));
        }
        if portal.is_pinned() {
            let message = format!("cannot drop pinned portal \"{name}\"");
            return Err(Error::new(SqlState::INVALID_CURSOR_STATE, message));
        }
        let Some(cursor) = portal.cursor.lock().take() else { return Err(in_use(name)) };
        self.routines()?.cursors.0.lock().named.remove(name);
        portal.close();
        cursor.close(self);
        Ok(())
    }

    /// A rollback to a savepoint closes the cursors that were opened since, after the one of this
    /// number.
    pub fn close_cursors_since(&mut self, last: u64) -> Result<()> {
        let cursors = &self.routines()?.cursors;
        if cursors.last_opened() == last {
            return Ok(());
        }
        for portal in cursors.take_since(last) {
            let cursor = portal.cursor.lock().take();
            portal.close();
            if let Some(cursor) = cursor {
                cursor.close(self);
            }
        }
        Ok(())
    }

    /// The number of the cursor that was opened last.
    pub(super) fn last_opened(&self) -> u64 {
        self.routines().map_or(0, |routines| routines.cursors.last_opened())
    }

    /// CLOSE ALL.
    pub(super) fn close_all_cursors(&mut self) -> Result<()> {
        for portal in self.routines()?.cursors.all() {
            // The query that calls the function goes on.
            if portal.cursor.lock().is_some() {
                self.close_cursor(&portal.name)?;
            }
        }
        if let Some(portals) = self.routines()?.portals.clone() {
            self.lend(|txn| {
                portals.close_all(txn);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Begins a loop over a cursor.
    pub fn pin(&mut self, portal: &SpiPortal) {
        portal.pins.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends a loop over a cursor.
    pub fn unpin(&mut self, portal: &SpiPortal) {
        portal.pins.fetch_sub(1, Ordering::Relaxed);
    }

    /// Makes the cursors that loops run over read all their rows, because the transaction is about
    /// to end ([`SpiCursor::hold`]).
    pub fn hold_pinned(&mut self) -> Result<()> {
        for portal in self.routines()?.cursors.pinned() {
            self.with_portal(&portal, |cursor, spi| cursor.hold(spi))?;
        }
        Ok(())
    }

    fn routines(&self) -> Result<&SessionRoutines> {
        SessionRoutines::of(&**self.session())
    }
}

#[cold]
fn undefined(name: &str) -> Error {
    let message = format!("cursor \"{name}\" does not exist");
    Error::new(SqlState::INVALID_CURSOR_NAME, message)
}

#[cold]
fn cannot_be_run(name: &str) -> Error {
    let message = format!("portal \"{name}\" cannot be run");
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

#[cold]
fn in_use(name: &str) -> Error {
    let message = format!("cannot use cursor \"{name}\" while it is active");
    Error::new(SqlState::OBJECT_IN_USE, message)
}
