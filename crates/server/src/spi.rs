//! The session's part in statements that functions run ([`steppe_exec::Spi`]): the catalog in
//! force, planning, DDL.
//!
//! While a statement runs the session itself is lent out, so that what functions change in the
//! catalog is kept here, and the session takes it over when it looks at the catalog next
//! ([`Core::take_changes`]).

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use steppe_catalog::{BOOTSTRAP_SUPERUSER, CatalogChanges, NameSpace};
use steppe_functions::reg::CatalogNames;
use steppe_functions::{Frame, SessionHost};
use steppe_txn::{RelationLockMode, SessionHandle};
use steppe_types::io::{IoContext, TypeCatalog};
use steppe_types::{Datum, Oid, Result};

use crate::services::Core;

/// What a session has told last of what is in force, for its functions.
pub(crate) struct InForce {
    /// search_path
    pub search_path: Arc<[String]>,
    /// What statements are planned and run with.
    pub frame: Frame,
}

/// The names that a running statement's values are read and shown with: of the catalog that it
/// was planned against, and behind it of what its functions have made since.
struct StatementNames {
    planned: Arc<CatalogNames>,
    core: Weak<Core>,
}

impl TypeCatalog for StatementNames {
    fn reg_input(&self, type_oid: Oid, text: &str) -> Result<Oid> {
        self.planned.reg_input(type_oid, text)
    }

    fn role(&self, name: &str) -> Result<Oid> {
        self.planned.role(name)
    }

    fn role_name(&self, role: Oid) -> Option<String> {
        self.planned.role_name(role)
    }

    fn element_type(&self, array: Oid) -> Option<Oid> {
        self.planned.element_type(array)
    }

    fn row_columns(&self, type_oid: Oid) -> Option<Vec<(Oid, i32)>> {
        self.planned.row_columns(type_oid)
    }

    fn row_names(&self, type_oid: Oid) -> Option<Vec<Arc<str>>> {
        self.planned.row_names(type_oid)
    }

    fn input(
        &self,
        type_oid: Oid,
        typmod: i32,
        text: &str,
        context: &IoContext,
    ) -> Option<Result<Datum>> {
        self.planned.input(type_oid, typmod, text, context)
    }

    fn reg_output(&self, type_oid: Oid, value: Oid, out: &mut Vec<u8>) -> bool {
        if self.planned.reg_output(type_oid, value, out) {
            return true;
        }
        let core = self.core.upgrade();
        let changed = core.filter(|core| core.changed_by_function.load(Ordering::Relaxed));
        let names = changed.and_then(|core| core.current_frame().io.catalog.clone());
        names.is_some_and(|names| names.reg_output(type_oid, value, out))
    }
}

/// What a session's statements read and show values with.
pub(crate) fn io_of_statement(
    io: &IoContext,
    names: &NameSpace,
    core: &Arc<Core>,
) -> Arc<IoContext> {
    let planned = names_of(names, &core.identity.user);
    let names = StatementNames { planned, core: Arc::downgrade(core) };
    Arc::new(IoContext { catalog: Some(Arc::new(names)), ..io.clone() })
}

/// How a session sees the names of a catalog version.
pub(crate) fn names_of(names: &NameSpace, user: &Arc<str>) -> Arc<CatalogNames> {
    let role = (Arc::clone(user), BOOTSTRAP_SUPERUSER);
    let (catalog, path) = (Arc::clone(&names.catalog), Arc::clone(&names.path));
    Arc::new(CatalogNames::new(catalog, path, role))
}

/// Text input and output with the names of a catalog version.
pub(crate) fn io_of(io: &IoContext, names: &NameSpace, user: &Arc<str>) -> Arc<IoContext> {
    Arc::new(IoContext { catalog: Some(names_of(names, user)), ..io.clone() })
}

impl Core {
    /// What is in force for what a function does next ([`SessionHost::frame`]).
    pub(crate) fn current_frame(&self) -> Frame {
        let frame = self.in_force.lock().frame.clone();
        let Some(newer) = self.newer_catalog(&frame.names.catalog) else { return frame };
        let mut in_force = self.in_force.lock();
        let names = self.resolve(newer, &in_force.search_path);
        in_force.frame.io = io_of(&in_force.frame.io, &names, &self.identity.user);
        in_force.frame.names = names;
        in_force.frame.clone()
    }

    /// What functions have changed in the catalog since the last time, if anything: the
    /// transaction's changes altogether.
    pub(crate) fn take_changes(&self) -> Option<Option<CatalogChanges>> {
        // Asked several times a statement, by the one session whose functions they are.
        if !self.changed_by_function.load(Ordering::Relaxed) {
            return None;
        }
        self.changed_by_function.store(false, Ordering::Relaxed);
        Some(self.changes().clone())
    }

    /// Whether a transaction apart can lock a table that this one uses: it is there for others,
    /// as this one sees it, and no lock of this one's is in the way.
    fn may_lock_apart(&self, table: Oid) -> bool {
        let published = self.server.catalog.published();
        let own = self.changes().as_ref().map(|changes| Arc::clone(changes.catalog()));
        let seen = own.as_ref().unwrap_or(&published).relation(table);
        let there = published.relation(table).zip(seen).is_some_and(|(a, b)| Arc::ptr_eq(a, b));
        let in_the_way = [
            RelationLockMode::ShareUpdateExclusive,
            RelationLockMode::Share,
            RelationLockMode::ShareRowExclusive,
            RelationLockMode::Exclusive,
            RelationLockMode::AccessExclusive,
        ];
        there && !in_the_way.into_iter().any(|mode| self.handle.holds_relation(table, mode))
    }

    /// [`SessionHost::session_apart`]
    pub(crate) fn new_session_apart(&self, table: Oid) -> Option<SessionHandle> {
        if !self.may_lock_apart(table) {
            return None;
        }
        let handle = self.server.database.new_session();
        let patience = self.handle.shared().deadlock_timeout();
        handle.shared().set_lock_timeout(Some(patience));
        Some(handle)
    }

    /// [`SessionHost::change_catalog`]. The changes are taken out meanwhile: what asks for the
    /// catalog in force needs their lock.
    pub(crate) fn change_of_function(
        &self,
        change: &mut dyn FnMut(&mut Option<CatalogChanges>) -> Result<()>,
    ) -> Result<()> {
        let mut pending = self.changes().take();
        let done = tokio::task::block_in_place(|| change(&mut pending));
        *self.changes() = pending.filter(|changes| !changes.is_empty());
        self.changed_by_function.store(true, Ordering::Relaxed);
        done
    }
}
