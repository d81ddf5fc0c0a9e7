//! Which constraints a transaction has deferred, and the keys that are to be checked because of it.

use hashbrown::HashMap;
use steppe_catalog::Catalog;
use steppe_functions::KeyCheck;
use steppe_types::Oid;

/// What SET CONSTRAINTS has said.
#[derive(Clone, Debug, Default)]
struct Modes {
    /// Of all constraints; the others are as they were defined.
    all: Option<bool>,
    /// Of these constraints' indexes, after that.
    by_index: HashMap<Oid, bool>,
}

/// A transaction's deferred constraints.
#[derive(Debug, Default)]
pub(crate) struct Constraints {
    modes: Modes,
    /// What the modes were, by the number of savepoints there were when they first changed.
    saved: Vec<(usize, Modes)>,
    pending: Vec<KeyCheck>,
    /// What SET CONSTRAINTS has checked, by the number of savepoints there were: what was done
    /// since is undone with them, and the keys are to be checked again.
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

    /// Keeps the keys of deferred constraints; the others.
    pub(crate) fn keep(&mut self, checks: Vec<KeyCheck>, catalog: &Catalog) -> Vec<KeyCheck> {
        let (deferred, due): (Vec<_>, Vec<_>) =
            checks.into_iter().partition(|check| self.is_deferred(check.index, catalog));
        self.pending.extend(deferred);
        due
    }

    /// The keys that are not deferred any more, with so many savepoints.
    pub(crate) fn take_due(&mut self, depth: usize, catalog: &Catalog) -> Vec<KeyCheck> {
        let pending = std::mem::take(&mut self.pending);
        let due = self.keep(pending, catalog);
        if depth > 0 {
            self.checked.extend(due.iter().map(|check| (depth, check.clone())));
        }
        due
    }

    /// The tables that keys are of.
    pub(crate) fn tables(&self, catalog: &Catalog) -> Vec<Oid> {
        let mut indexes: Vec<Oid> = self.pending.iter().map(|check| check.index).collect();
        indexes.dedup();
        let table = |index: Oid| Some(catalog.relation(index)?.index.as_ref()?.table);
        indexes.into_iter().filter_map(table).collect()
    }

    /// The transaction has ended. Most have nothing here, and make nothing new.
    pub(crate) fn forget(&mut self) {
        let Constraints { modes: Modes { all, by_index }, saved, pending, checked } = &*self;
        let is_new = all.is_none() && by_index.is_empty() && saved.is_empty();
        if !(is_new && pending.is_empty() && checked.is_empty()) {
            *self = Constraints::default();
        }
    }

    /// All keys, at the end of the transaction.
    pub(crate) fn take_all(&mut self) -> Vec<KeyCheck> {
        std::mem::take(&mut self.pending)
    }

    /// Before the modes change, with so many savepoints.
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

    /// ROLLBACK TO the savepoint before which there were `at` others.
    pub(crate) fn rollback_to(&mut self, at: usize) {
        let first = self.saved.iter().position(|(depth, _)| *depth > at);
        if let Some(modes) = first.and_then(|first| self.saved.drain(first..).next()) {
            self.modes = modes.1;
        }
        let undone = self.checked.extract_if(.., |(depth, _)| *depth > at);
        self.pending.extend(undone.map(|(_, check)| check));
    }

    /// RELEASE of that savepoint.
    pub(crate) fn release(&mut self, at: usize) {
        self.saved.iter_mut().for_each(|(depth, _)| *depth = (*depth).min(at));
        self.saved.dedup_by_key(|(depth, _)| *depth);
        self.checked.iter_mut().for_each(|(depth, _)| *depth = (*depth).min(at));
        self.checked.retain(|(depth, _)| *depth > 0);
    }
}
