//! A transaction's deferred constraints, and the keys that it must check later.

use hashbrown::HashMap;
use steppe_catalog::Catalog;
use steppe_functions::KeyCheck;
use steppe_types::Oid;

/// The modes that SET CONSTRAINTS has set.
#[derive(Clone, Debug, Default)]
struct Modes {
    /// SET CONSTRAINTS ALL: whether all are deferred. `None` keeps each constraint's definition.
    all: Option<bool>,
    /// Later modes of single constraints, by their indexes.
    by_index: HashMap<Oid, bool>,
}

/// A transaction's deferred constraints.
#[derive(Debug, Default)]
pub(crate) struct Constraints {
    modes: Modes,
    /// Earlier modes, by the number of savepoints when they first changed.
    saved: Vec<(usize, Modes)>,
    pending: Vec<KeyCheck>,
    /// The keys that SET CONSTRAINTS has checked, by the number of savepoints. ROLLBACK TO may undo
    /// later changes that the check relied on, so these keys must be checked again.
    checked: Vec<(usize, KeyCheck)>,
}

impl Constraints {
    fn is_deferred(&self, index: Oid, catalog: &Catalog) -> bool {
        let by_definition = || {
            let info = catalog.relation(index).and_then(|relation| relation.index.as_ref());
            info.is_some_and(|info| info.deferral.is_deferred())
        };
        let said = self.modes.by_index.get(&index).copied().or(self.modes.all);
        said.unwrap_or_else(by_definition)
    }

    /// Keeps the keys of deferred constraints. Returns the others.
    pub(crate) fn keep(&mut self, checks: Vec<KeyCheck>, catalog: &Catalog) -> Vec<KeyCheck> {
        let (deferred, due): (Vec<_>, Vec<_>) =
            checks.into_iter().partition(|check| self.is_deferred(check.index, catalog));
        self.pending.extend(deferred);
        due
    }

    /// The keys that are no longer deferred. `depth` is the number of savepoints.
    pub(crate) fn take_due(&mut self, depth: usize, catalog: &Catalog) -> Vec<KeyCheck> {
        let pending = std::mem::take(&mut self.pending);
        let due = self.keep(pending, catalog);
        if depth > 0 {
            self.checked.extend(due.iter().map(|check| (depth, check.clone())));
        }
        due
    }

    /// The tables of the kept keys.
    pub(crate) fn tables(&self, catalog: &Catalog) -> Vec<Oid> {
        let mut indexes: Vec<Oid> = self.pending.iter().map(|check| check.index).collect();
        indexes.dedup();
        let table = |index: Oid| Some(catalog.relation(index)?.index.as_ref()?.table);
        indexes.into_iter().filter_map(table).collect()
    }

    /// Clears it at the end of the transaction. Most transactions have nothing to clear.
    pub(crate) fn forget(&mut self) {
        let Constraints { modes: Modes { all, by_index }, saved, pending, checked } = &*self;
        let is_new = all.is_none() && by_index.is_empty() && saved.is_empty();
        if !(is_new && pending.is_empty() && checked.is_empty()) {
            *self = Constraints::default();
        }
    }

    /// Takes all keys, at the end of the transaction.
    pub(crate) fn take_all(&mut self) -> Vec<KeyCheck> {
        std::mem::take(&mut self.pending)
    }

    /// Saves the modes before they change. `depth` is the number of savepoints.
    pub(crate) fn save(&mut self, depth: usize) {
        if self.saved.last().is_none_or(|(at, _)| *at < depth) {
            self.saved.push((depth, self.modes.clone()));
        }
    }

    pub(crate) fn set_all(&mut self, deferred: bool) {
        self.modes = Modes { all: Some(deferred), by_index: HashMap::new() };
    }

    pub(crate) fn set(&mut self, indexes: &[Oid], deferred: bool) {
        self.modes.by_index.extend(indexes.iter().map(|index| (*index, deferred)));
    }

    /// ROLLBACK TO the savepoint at position `at`.
    pub(crate) fn rollback_to(&mut self, at: usize) {
        let first = self.saved.iter().position(|(depth, _)| *depth > at);
        if let Some(modes) = first.and_then(|first| self.saved.drain(first..).next()) {
            self.modes = modes.1;
        }
        let undone = self.checked.extract_if(.., |(depth, _)| *depth > at);
        self.pending.extend(undone.map(|(_, check)| check));
    }

    /// RELEASE of the savepoint at position `at`.
    pub(crate) fn release(&mut self, at: usize) {
        self.saved.iter_mut().for_each(|(depth, _)| *depth = (*depth).min(at));
        self.saved.dedup_by_key(|(depth, _)| *depth);
        self.checked.iter_mut().for_each(|(depth, _)| *depth = (*depth).min(at));
        self.checked.retain(|(depth, _)| *depth > 0);
    }
}
