//! The routines that a session has compiled, how deep its calls are, and its functions' cursors.

use super::{CallTypes, Routine};
use crate::spi::{
    ClientPortals, CursorPlace, DynamicPlans, ExecutedPlans, NamedCursors, OpenQueries,
    SessionFiles, SessionStatements, SharedPlans, SpiPortal,
};
use crate::watch::Watch;
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use steppe_catalog::FunctionRef;
use steppe_functions::SessionHost;
use steppe_types::{Error, Oid, Result, SqlState};

/// The deepest calls within calls. PostgreSQL's limit is its stack (max_stack_depth). Here the stack
/// grows, so the limit bounds its memory.
const DEPTH_MAX: u32 = 3_000;

/// The most routines that a session keeps. One more makes it forget all.
const ROUTINES_MAX: usize = 10_000;

/// A routine with the function and the types that it was compiled for.
struct Compiled {
    function: FunctionRef,
    types: Arc<CallTypes>,
    routine: Arc<dyn Routine>,
}

/// The routines of a session. The session keeps them for the executor
/// ([`steppe_functions::SessionHost::routines`]).
#[derive(Default)]
pub struct SessionRoutines {
    compiled: Mutex<HashMap<Oid, Vec<Compiled>, foldhash::fast::RandomState>>,
    depth: AtomicU32,
    /// The cursors that its functions have opened.
    pub(crate) cursors: NamedCursors,
    /// The portals that the client has made.
    pub(crate) portals: Option<Arc<dyn ClientPortals>>,
    /// The prepared statements of the session.
    pub(crate) statements: Option<Arc<dyn SessionStatements>>,
    /// COPY with the server's files.
    pub(crate) files: Option<Arc<dyn SessionFiles>>,
    /// The plans with which functions run prepared statements.
    pub(crate) executed: ExecutedPlans,
    /// The queries that its functions have open.
    pub(crate) queries: OpenQueries,
    /// The plans of texts that its functions have made.
    pub(crate) dynamic: DynamicPlans,
    /// The plans of its functions' statements that it shares with other sessions.
    pub(crate) shared: Arc<SharedPlans>,
    /// The watch over the statements of its functions.
    pub(crate) watch: Option<Arc<dyn Watch>>,
}

/// A call that is running. Dropping it ends the call.
pub(super) struct Depth<'r>(&'r SessionRoutines);

impl Drop for Depth<'_> {
    fn drop(&mut self) {
        self.0.depth.fetch_sub(1, Ordering::Relaxed);
    }
}

impl SessionRoutines {
    /// For a session with portals and prepared statements, which shares plans with others, and whose functions' statements
    /// are watched.
    pub fn watched_by(
        watch: Arc<dyn Watch>,
        shared: &Arc<SharedPlans>,
        portals: Arc<dyn ClientPortals>,
        statements: Arc<dyn SessionStatements>,
        files: Arc<dyn SessionFiles>,
    ) -> SessionRoutines {
        SessionRoutines {
            watch: Some(watch),
            shared: Arc::clone(shared),
            portals: Some(portals),
            statements: Some(statements),
            files: Some(files),
            ..SessionRoutines::default()
        }
    }

    /// Forgets all routines: DISCARD PLANS.
    pub fn forget(&self) {
        self.compiled.lock().clear();
        self.dynamic.clear();
        self.executed.clear();
    }

    /// The number of the cursor that its functions have opened last.
    pub fn last_opened_cursor(&self) -> u64 {
        self.cursors.last_opened()
    }

    /// Closes all cursors of its functions.
    pub fn close_cursors(&self) {
        self.cursors.clear_all();
    }

    /// Whether its functions have declared cursors WITH HOLD in the present transaction.
    pub fn has_cursors_to_hold(&self) -> bool {
        !self.cursors.to_hold().is_empty()
    }

    /// The cursor of a name that its functions have opened.
    pub fn open_cursor(&self, name: &str) -> Option<Arc<SpiPortal>> {
        self.cursors.find(name)
    }

    /// The transaction has ended: its functions' cursors are closed, but for those WITH HOLD.
    pub fn end_transaction(&self) {
        self.cursors.clear();
    }

    /// Whether its functions have opened a cursor of this name.
    pub fn has_cursor(&self, name: &str) -> bool {
        self.cursors.has(name)
    }

    /// The row that a cursor of its functions is on; `None` if there is no such cursor.
    pub fn cursor_place(&self, name: &str) -> Option<Result<CursorPlace>> {
        self.cursors.place(name)
    }

    /// The cursors that its functions have opened.
    pub fn open_cursors(&self) -> Vec<Arc<SpiPortal>> {
        self.cursors.all()
    }

    /// The routines of a session. 0A000 for a session that keeps none.
    pub(crate) fn of(session: &dyn SessionHost) -> Result<&SessionRoutines> {
        let routines = session.routines().and_then(|all| all.downcast_ref());
        routines.ok_or_else(|| Error::not_supported("a user's function in this context"))
    }

    /// Begins a call within the running calls. 54001 if there are too many.
    pub(super) fn deeper(&self) -> Result<Depth<'_>> {
        let before = self.depth.fetch_add(1, Ordering::Relaxed);
        let depth = Depth(self);
        match before < DEPTH_MAX {
            true => Ok(depth),
            false => Err(too_deep()),
        }
    }

    /// The routine of a function for these types, if the session has compiled it.
    pub(super) fn find(
        &self,
        function: &FunctionRef,
        types: &Arc<CallTypes>,
    ) -> Option<Arc<dyn Routine>> {
        let compiled = self.compiled.lock();
        let mut all = compiled.get(&function.oid)?.iter();
        let is_same = |c: &&Compiled| {
            c.function.is_version(function) && (Arc::ptr_eq(&c.types, types) || *c.types == **types)
        };
        all.find(is_same).map(|compiled| Arc::clone(&compiled.routine))
    }

    /// Keeps a routine, and forgets those of earlier versions of the function.
    pub(super) fn put(
        &self,
        function: &FunctionRef,
        types: &Arc<CallTypes>,
        routine: &Arc<dyn Routine>,
    ) {
        let mut compiled = self.compiled.lock();
        if compiled.len() >= ROUTINES_MAX {
            compiled.clear();
        }
        let of_function = compiled.entry(function.oid).or_default();
        of_function.retain(|compiled| compiled.function.is_version(function));
        if of_function.len() >= ROUTINES_MAX {
            of_function.clear();
        }
        let (function, types, routine) = (function.clone(), Arc::clone(types), Arc::clone(routine));
        of_function.push(Compiled { function, types, routine });
    }
}

/// 54001, with PostgreSQL's words.
#[cold]
pub fn too_deep() -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").hint(
        "Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), after \
         ensuring the platform's stack depth limit is adequate.",
    )
}
