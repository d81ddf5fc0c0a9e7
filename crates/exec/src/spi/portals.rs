//! Cursors with names (portals, refcursor). A function opens one, and other functions of the
//! transaction and the client may use it.

use super::{Spi, SpiCursor};
use crate::routine::SessionRoutines;
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::sync::Arc;
use steppe_types::{Error, Result, SqlState};

/// The most cursors with names that functions of one transaction may have open.
const OPEN_MAX: usize = 10_000;

/// The cursors that a session's functions have opened.
#[derive(Default)]
pub(crate) struct NamedCursors(Mutex<Open>);

#[derive(Default)]
struct Open {
    /// `None`: the cursor is in use.
    named: HashMap<Arc<str>, Option<Named>, foldhash::fast::RandomState>,
    /// The number of names that have been made.
    made: u64,
}

struct Named {
    cursor: SpiCursor,
    query: Arc<str>,
}

impl NamedCursors {
    /// Forgets all cursors: the transaction has ended.
    pub(crate) fn clear(&self) {
        self.0.lock().named.clear();
    }

    /// The names of the open cursors, with their queries.
    pub(crate) fn shown(&self) -> Vec<(Arc<str>, Arc<str>)> {
        let open = self.0.lock();
        let shown = open.named.iter();
        shown
            .filter_map(|(name, named)| {
                Some((Arc::clone(name), Arc::clone(&named.as_ref()?.query)))
            })
            .collect()
    }

    /// Whether there is a cursor of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.lock().named.contains_key(name)
    }

    fn put(&self, name: Option<&str>, cursor: SpiCursor, query: &str) -> Result<Arc<str>> {
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
        open.named.insert(Arc::clone(&name), Some(Named { cursor, query: query.into() }));
        Ok(name)
    }

    fn take(&self, name: &str) -> Result<Named> {
        match self.0.lock().named.get_mut(name) {
            None => Err(undefined(name)),
            Some(named) => named.take().ok_or_else(|| in_use(name)),
        }
    }

    fn put_back(&self, name: &str, named: Named) {
        if let Some(place) = self.0.lock().named.get_mut(name) {
            *place = Some(named);
        }
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
    ) -> Result<Arc<str>> {
        self.be_heard()?;
        self.routines()?.cursors.put(name, cursor, query)
    }

    /// Uses the cursor of a name. 34000 if there is none.
    pub fn with_cursor<T>(
        &mut self,
        name: &str,
        f: impl FnOnce(&mut SpiCursor, &mut Spi<'_>) -> Result<T>,
    ) -> Result<T> {
        self.be_heard()?;
        let mut named = self.routines()?.cursors.take(name)?;
        let done = f(&mut named.cursor, self);
        self.routines()?.cursors.put_back(name, named);
        done
    }

    /// Closes the cursor of a name. 34000 if there is none.
    pub fn close_cursor(&mut self, name: &str) -> Result<()> {
        self.be_heard()?;
        let named = self.routines()?.cursors.take(name)?;
        self.routines()?.cursors.0.lock().named.remove(name);
        named.cursor.close(self);
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
