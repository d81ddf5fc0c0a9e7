//! Cursors with names (portals, refcursor). A function opens one, and other functions of the
//! transaction and the client may use it.
//!
//! A portal is looked up by its name once. Its user keeps it and fetches without another look-up,
//! until it is closed. A loop *pins* its portal: nothing may close it, and the end of a transaction
//! within the loop leaves it open, with all its rows read (portalPinned, HoldPinnedPortals).

use super::{Spi, SpiCursor};
use crate::routine::SessionRoutines;
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use steppe_types::{Error, Result, SqlState};

/// The most cursors with names that functions of one transaction may have open.
const OPEN_MAX: usize = 10_000;

/// The cursors that a session's functions have opened.
#[derive(Default)]
pub(crate) struct NamedCursors(Mutex<Open>);

#[derive(Default)]
struct Open {
    named: HashMap<Arc<str>, Arc<SpiPortal>, foldhash::fast::RandomState>,
    /// The number of names that have been made.
    made: u64,
}

/// A cursor with a name. One session uses it, one function at a time.
pub struct SpiPortal {
    name: Arc<str>,
    query: Arc<str>,
    can_scroll: bool,
    /// When the statement began that opened it.
    opened_at: i64,
    /// `None`: the cursor is in use, or it is closed.
    cursor: Mutex<Option<Box<SpiCursor>>>,
    is_closed: AtomicBool,
    /// The number of loops over it.
    pins: AtomicU32,
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

    /// When the statement began that opened it: microseconds since 2000-01-01 UTC.
    pub fn opened_at(&self) -> i64 {
        self.opened_at
    }

    /// Whether it is open.
    #[inline]
    pub fn is_open(&self) -> bool {
        !self.is_closed.load(Ordering::Relaxed)
    }

    fn is_pinned(&self) -> bool {
        self.pins.load(Ordering::Relaxed) > 0
    }

    #[inline]
    fn take(&self) -> Result<Box<SpiCursor>> {
        match self.cursor.lock().take() {
            Some(cursor) => Ok(cursor),
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
    /// Forgets the cursors: the transaction has ended. Loops that go on keep theirs.
    pub(crate) fn clear(&self) {
        self.0.lock().named.retain(|_, portal| {
            if !portal.is_pinned() {
                portal.close();
            }
            portal.is_pinned()
        });
    }

    /// The open cursors.
    pub(crate) fn all(&self) -> Vec<Arc<SpiPortal>> {
        self.0.lock().named.values().cloned().collect()
    }

    /// Whether there is a cursor of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.lock().named.contains_key(name)
    }

    fn find(&self, name: &str) -> Option<Arc<SpiPortal>> {
        self.0.lock().named.get(name).cloned()
    }

    fn pinned(&self) -> Vec<Arc<SpiPortal>> {
        let open = self.0.lock();
        open.named.values().filter(|portal| portal.is_pinned()).cloned().collect()
    }

    fn put(
        &self,
        name: Option<&str>,
        cursor: SpiCursor,
        (query, opened_at): (&str, i64),
    ) -> Result<Arc<SpiPortal>> {
        let mut open = self.0.lock();
        if open.named.len() >= OPEN_MAX {
            let message = "too many open cursors";
            return Err(Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, message));
        }
        let name: Arc<str> = match name {
            Some(name) if open.named.contains_key(name) => {
                let message = format!("cursor \"{name}\" already in use");
                return Err(Error::new(SqlState::DUPLICATE_CURSOR, message));
            }
            Some(name) => name.into(),
            None => {
                open.made += 1;
                format!("<unnamed portal {}>", open.made).into()
            }
        };
        let portal = Arc::new(SpiPortal {
            name: Arc::clone(&name),
            query: query.into(),
            can_scroll: cursor.can_scroll(),
            opened_at,
            cursor: Mutex::new(Some(Box::new(cursor))),
            is_closed: AtomicBool::new(false),
            pins: AtomicU32::new(0),
        });
        open.named.insert(name, Arc::clone(&portal));
        Ok(portal)
    }
}

impl Spi<'_> {
    /// Whether there is a cursor of this name.
    pub fn has_cursor(&self, name: &str) -> bool {
        self.routines().is_ok_and(|routines| routines.cursors.has(name))
    }

    /// Gives a cursor a name, which is made if it is not given. 42P03 if the name is taken.
    pub fn put_cursor(
        &mut self,
        name: Option<&str>,
        cursor: SpiCursor,
        query: &str,
    ) -> Result<Arc<SpiPortal>> {
        self.be_heard()?;
        let opened_at = self.cx.functions.statement_timestamp;
        self.routines()?.cursors.put(name, cursor, (query, opened_at))
    }

    /// The cursor of a name. 34000 if there is none.
    pub fn portal(&self, name: &str) -> Result<Arc<SpiPortal>> {
        self.routines()?.cursors.find(name).ok_or_else(|| undefined(name))
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
        if portal.is_pinned() {
            let message = format!("cannot drop pinned portal \"{name}\"");
            return Err(Error::new(SqlState::INVALID_CURSOR_STATE, message));
        }
        let cursor = portal.take()?;
        self.routines()?.cursors.0.lock().named.remove(name);
        portal.close();
        cursor.close(self);
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
fn in_use(name: &str) -> Error {
    let message = format!("cannot use cursor \"{name}\" while it is active");
    Error::new(SqlState::OBJECT_IN_USE, message)
}
