//! The session's part in statements that functions run ([`steppe_exec::Spi`]): the current catalog,
//! planning, DDL.
//!
//! While a statement runs, the session itself is lent out. Functions change the catalog in the
//! transaction that they borrow ([`steppe_exec::Transaction`]). The version that is then current is
//! in the session's [`crate::namespace::NamespaceCell`].

use std::sync::{Arc, Weak};

use steppe_catalog::{BOOTSTRAP_SUPERUSER, Catalog, NameSpace};
use steppe_functions::Frame;
use steppe_functions::reg::CatalogNames;
use steppe_txn::{RelationLockMode, SessionHandle};
use steppe_types::io::{IoContext, TypeCatalog};
use steppe_types::{Datum, Oid, Result};

use crate::namespace::SessionNamespace;
use crate::services::SharedSession;

/// The names with which a running statement reads and shows values. They are those of the catalog
/// that it was planned against, and then those of objects that its functions have made since.
struct StatementNames {
    planned: Arc<CatalogNames>,
    /// That catalog's epoch.
    epoch: u64,
    core: Weak<SharedSession>,
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

    fn type_name(&self, type_oid: Oid) -> Option<String> {
        self.planned.type_name(type_oid)
    }

    fn operator_name(&self, operator: Oid) -> Option<String> {
        self.planned.operator_name(operator)
    }

    fn enum_label(&self, type_oid: Oid, order: f64) -> Option<Arc<str>> {
        let newer =
            || self.core.upgrade()?.names_made_since(self.epoch)?.enum_label(type_oid, order);
        self.planned.enum_label(type_oid, order).or_else(newer)
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
        let newer = self.core.upgrade().and_then(|core| core.names_made_since(self.epoch));
        newer.is_some_and(|names| names.reg_output(type_oid, value, out))
    }
}

/// The names and settings with which a session's statements read and show values.
pub(crate) fn io_of_statement(
    io: &IoContext,
    names: &NameSpace,
    core: &Arc<SharedSession>,
) -> Arc<IoContext> {
    let planned = names_of(names, &core.identity.user);
    let epoch = names.catalog.epoch;
    let names = StatementNames { planned, epoch, core: Arc::downgrade(core) };
    Arc::new(IoContext { catalog: Some(Arc::new(names)), ..io.clone() })
}

/// The names of a catalog version as a session sees them.
pub(crate) fn names_of(names: &NameSpace, user: &Arc<str>) -> Arc<CatalogNames> {
    let role = (Arc::clone(user), BOOTSTRAP_SUPERUSER);
    let (catalog, path) = (Arc::clone(&names.catalog), Arc::clone(&names.path));
    Arc::new(CatalogNames::new(catalog, path, role))
}

/// Text input and output with the names of a catalog version.
pub(crate) fn io_of(io: &IoContext, names: &NameSpace, user: &Arc<str>) -> Arc<IoContext> {
    Arc::new(IoContext { catalog: Some(names_of(names, user)), ..io.clone() })
}

impl SharedSession {
    /// The frame for a function's next statement ([`SessionHost::frame`]).
    pub(crate) fn current_frame(&self) -> Frame {
        let mut namespace = self.namespace.get();
        let published = &self.server.catalog;
        let is_left_behind = published.published_epoch() != namespace.names.catalog.epoch;
        if namespace.own.is_none() && is_left_behind {
            namespace = self.see(published.published(), None);
        }
        self.frame_of(&namespace, Arc::clone(&namespace.io))
    }

    /// The version of the frame for a function's next statement ([`SessionHost::frame_version`]).
    pub(crate) fn current_frame_version(&self) -> u64 {
        if self.namespace.is_left_behind(self.server.catalog.published_epoch()) {
            self.see(self.server.catalog.published(), None);
        }
        self.namespace.version()
    }

    /// The current catalog, unless it is this one ([`SessionHost::newer_catalog`]).
    pub(crate) fn catalog_unlike(&self, planned: &Catalog) -> Option<Arc<Catalog>> {
        let catalogs = &self.server.catalog;
        let published = catalogs.published_epoch();
        if published == planned.epoch && self.namespace.is_published(published) {
            return None;
        }
        let in_force = match &self.namespace.get().own {
            None if catalogs.published_epoch() == planned.epoch => return None,
            None => catalogs.published(),
            Some(own) => Arc::clone(own),
        };
        (in_force.epoch != planned.epoch).then_some(in_force)
    }

    /// The names of the transaction's own version of the catalog, if its epoch is not this one.
    fn names_made_since(&self, epoch: u64) -> Option<Arc<dyn TypeCatalog>> {
        let namespace = self.namespace.get();
        let made = namespace.own.as_ref().filter(|own| own.epoch != epoch);
        made.and_then(|_| namespace.io.catalog.clone())
    }

    /// The transaction's own version of the catalog has changed to this one
    /// ([`SessionHost::see_catalog`]).
    pub(crate) fn see_own_catalog(&self, catalog: &Arc<Catalog>) {
        let seen = self.namespace.get();
        if seen.own.as_ref().is_none_or(|own| own.epoch != catalog.epoch) {
            self.see(Arc::clone(catalog), Some(Arc::clone(catalog)));
        }
    }

    /// The transaction has no version of the catalog any more ([`SessionHost::forget_catalog`]).
    pub(crate) fn forget_own_catalog(&self) {
        self.see(self.server.catalog.published(), None);
    }

    /// Makes another catalog the current one.
    fn see(&self, catalog: Arc<Catalog>, own: Option<Arc<Catalog>>) -> Arc<SessionNamespace> {
        let before = self.namespace.get();
        let names = self.resolve(catalog, &before.settings.search_path);
        let io = io_of(&before.io, &names, &self.identity.user);
        let namespace = Arc::new(SessionNamespace { names, own, io, ..(*before).clone() });
        self.namespace.put(Arc::clone(&namespace));
        namespace
    }

    /// Whether a separate transaction can lock a table that this one uses: other sessions see the
    /// same table, and no lock of this transaction conflicts.
    fn may_lock_apart(&self, table: Oid) -> bool {
        let published = self.server.catalog.published();
        let namespace = self.namespace.get();
        let seen = namespace.own.as_ref().unwrap_or(&published).relation(table);
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
        let handle = self.server.engine.new_session(self.server.catalog.database_id());
        let patience = self.handle.shared().deadlock_timeout();
        handle.shared().set_lock_timeout(Some(patience));
        Some(handle)
    }
}
