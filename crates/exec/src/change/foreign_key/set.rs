//! The foreign keys that a command on a table meets, compiled with the command.
//!
//! Leaves with the same definition share the compiled parts. These parts therefore do not name the
//! table.

use super::action::Referenced;
use super::check::{Referencing, find_early};
use super::log::{KeyChange, lost, push, queue};
use super::violation::pick;
use crate::change::hooks::RowCommand;
use crate::change::{Target, TargetRules};
use crate::context::ExecContext;
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation};
use steppe_txn::{Engine, NewRows, RowId, RowMeta};
use steppe_types::{Datum, Error, Result, SqlState};

/// The foreign keys that a statement meets in a table.
#[derive(Default)]
pub(crate) struct KeyRules {
    insert: Option<Arc<KeySet>>,
    update: Option<Arc<KeySet>>,
    delete: Option<Arc<KeySet>>,
    /// The foreign keys that it meets in a session that replays a publisher's changes.
    replayed: Option<Box<KeyRules>>,
}

/// The foreign keys that one command meets.
pub(crate) struct KeySet {
    /// The columns of the table that are in keys, by position. A queued key has their values.
    pub(super) columns: Box<[usize]>,
    /// The table's own foreign keys.
    pub(super) references: Box<[Referencing]>,
    /// The foreign keys that refer to the table.
    pub(super) actions: Box<[Referenced]>,
    pub(super) command: RowCommand,
    /// A foreign key of the table is DEFERRABLE.
    pub(super) is_deferrable: bool,
    /// The columns of all its keys stay as they are, so that it concerns only rows that the
    /// transaction itself has written before, and whose checks may be deferred.
    pub(super) is_of_own: bool,
}

impl KeyRules {
    /// The foreign keys for a statement of these commands; `None` if there are none.
    pub(crate) fn of(
        relation: &Arc<Relation>,
        commands: &[RowCommand],
        rules: &TargetRules,
        (catalog, engine): (&Arc<Catalog>, Option<&Engine>),
    ) -> Result<Option<Arc<KeyRules>>> {
        let Some(engine) = engine else { return Ok(None) };
        let mut all = KeyRules::of_role(relation, commands, rules, (catalog, engine, false))?;
        if is_switched(relation) {
            let replayed = KeyRules::of_role(relation, commands, rules, (catalog, engine, true))?;
            all.replayed = (!replayed.is_empty()).then(|| Box::new(replayed));
        }
        Ok((!all.is_empty() || all.replayed.is_some()).then(|| Arc::new(all)))
    }

    /// The foreign keys that fire in sessions that replay changes, or in the others.
    fn of_role(
        relation: &Arc<Relation>,
        commands: &[RowCommand],
        rules: &TargetRules,
        (catalog, engine, replays): (&Arc<Catalog>, &Engine, bool),
    ) -> Result<KeyRules> {
        let mut all = KeyRules::default();
        for command in [RowCommand::Insert, RowCommand::Update, RowCommand::Delete] {
            // A row that moves is deleted here and inserted there.
            let moves = commands.contains(&RowCommand::Update) && rules.written.moves;
            if commands.contains(&command) || moves {
                let set = KeySet::of(relation, command, rules, (catalog, engine, replays))?;
                *all.command_mut(command) = set.map(Arc::new);
            }
        }
        Ok(all)
    }

    fn is_empty(&self) -> bool {
        self.insert.is_none() && self.update.is_none() && self.delete.is_none()
    }

    fn command(&self, command: RowCommand) -> Option<&Arc<KeySet>> {
        match command {
            RowCommand::Insert => self.insert.as_ref(),
            RowCommand::Update => self.update.as_ref(),
            RowCommand::Delete => self.delete.as_ref(),
            RowCommand::Truncate => None,
        }
    }

    fn command_mut(&mut self, command: RowCommand) -> &mut Option<Arc<KeySet>> {
        match command {
            RowCommand::Insert => &mut self.insert,
            RowCommand::Update => &mut self.update,
            RowCommand::Delete | RowCommand::Truncate => &mut self.delete,
        }
    }
}

impl KeySet {
    fn of(
        relation: &Arc<Relation>,
        command: RowCommand,
        rules: &TargetRules,
        (catalog, engine, replays): (&Arc<Catalog>, &Engine, bool),
    ) -> Result<Option<KeySet>> {
        let is_met = |columns: &[usize]| {
            command != RowCommand::Update || columns.iter().any(|at| rules.written.has(*at))
        };
        let mut set = KeySet {
            columns: Box::default(),
            references: Box::default(),
            actions: Box::default(),
            command,
            is_deferrable: false,
            is_of_own: true,
        };
        if command != RowCommand::Delete {
            let mut met = Vec::new();
            for (constraint, key) in relation.foreign_keys().filter(|(_, key)| !key.not_enforced) {
                let columns = positions(&constraint.columns);
                let enabled = relation.key_enabled(constraint.oid, false);
                // A key that MATCH FULL forbids is found by each UPDATE of its row.
                let has_mixed = key.match_full && columns.len() > 1;
                let is_written = has_mixed || is_met(&columns);
                let is_deferrable = key.deferral.is_deferrable();
                if (is_written || is_deferrable) && enabled.fires(replays) {
                    set.is_deferrable |= is_deferrable;
                    set.is_of_own &= !is_written;
                    let of = (&**relation, constraint, &**key);
                    let places = set.places(&columns);
                    met.push(Referencing::open(of, places, (catalog, engine))?);
                }
            }
            met.sort_unstable_by_key(Referencing::oid);
            set.references = met.into();
        }
        if command != RowCommand::Insert {
            set.actions = set.actions_on(relation, &is_met, (catalog, replays))?.into();
            set.is_of_own &= set.actions.is_empty();
        }
        Ok((!set.references.is_empty() || !set.actions.is_empty()).then_some(set))
    }

    /// The foreign keys that refer to the table, or to one that it is a partition of.
    fn actions_on(
        &mut self,
        relation: &Arc<Relation>,
        is_met: &dyn Fn(&[usize]) -> bool,
        (catalog, replays): (&Arc<Catalog>, bool),
    ) -> Result<Vec<Referenced>> {
        let mut met = Vec::new();
        let mut at = Some(relation);
        while let Some(table) = at {
            for reference in catalog.referencing(table.oid) {
                // The statements of the parent's constraint reach this partition's rows.
                if reference.key.not_enforced || reference.constraint.parent != 0 {
                    continue;
                }
                let columns = reference.key.columns.iter().map(|attnum| {
                    let name = &table.columns[*attnum as usize - 1].name;
                    let lost = || Error::internal("a partition lacks a column of its parent");
                    relation.column_index(name).ok_or_else(lost)
                });
                let columns = columns.collect::<Result<Vec<_>>>()?;
                let enabled = relation.key_enabled(reference.constraint.oid, true);
                if is_met(&columns) && enabled.fires(replays) {
                    let places = self.places(&columns);
                    met.push(Referenced::new(reference, table, places, self.command));
                }
            }
            at = table.partition_of.as_ref().and_then(|of| catalog.relation(of.parent));
        }
        met.sort_unstable_by_key(Referenced::oid);
        Ok(met)
    }

    /// The places of columns in a queued key. Missing columns are added to it.
    fn places(&mut self, columns: &[usize]) -> Box<[usize]> {
        let mut all = std::mem::take(&mut self.columns).into_vec();
        let place = |column: &usize| match all.iter().position(|own| own == column) {
            Some(at) => at,
            None => {
                all.push(*column);
                all.len() - 1
            }
        };
        let places = columns.iter().map(place).collect();
        self.columns = all.into();
        places
    }

    /// The columns of the table that are in keys, by position.
    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Whether a change concerns any foreign key.
    pub(super) fn concerns(&self, change: KeyChange<'_>) -> bool {
        self.references.iter().any(|key| key.concerns(change))
            || self.actions.iter().any(|key| key.concerns(change))
    }
}

/// Whether ALTER TABLE has switched a foreign key's triggers of a table.
fn is_switched(relation: &Relation) -> bool {
    !relation.key_triggers.is_empty()
}

/// Attribute numbers as positions.
pub(super) fn positions(attnums: &[i16]) -> Vec<usize> {
    attnums.iter().map(|attnum| *attnum as usize - 1).collect()
}

impl Target {
    /// The foreign keys that a command meets in a session that replays no changes.
    #[inline]
    fn keys(&self, command: RowCommand) -> Option<&Arc<KeySet>> {
        self.keys.as_deref()?.command(command)
    }

    /// Whether a command meets foreign keys in any session, for rows of other transactions.
    pub(crate) fn has_keys(&self, command: RowCommand) -> bool {
        self.sets(command).any(|set| !set.is_of_own)
    }

    /// Whether a command meets foreign keys in any session.
    pub(crate) fn has_keys_of_own(&self, command: RowCommand) -> bool {
        self.sets(command).next().is_some()
    }

    fn sets(&self, command: RowCommand) -> impl Iterator<Item = &Arc<KeySet>> {
        let rules = self.keys.as_deref();
        let replayed = rules.and_then(|rules| rules.replayed.as_deref());
        rules.into_iter().chain(replayed).filter_map(move |rules| rules.command(command))
    }

    /// The foreign keys that a command meets in this session, whose role decides
    /// (session_replication_role).
    #[inline]
    pub(crate) fn keys_met(
        &self,
        command: RowCommand,
        cx: &mut ExecContext,
    ) -> Result<Option<&Arc<KeySet>>> {
        let Some(rules) = self.keys.as_deref() else { return Ok(None) };
        Ok(match cx.is_replica()? {
            false => rules.command(command),
            true => rules.replayed.as_ref().and_then(|rules| rules.command(command)),
        })
    }

    /// Queues the keys of a changed row, if foreign keys concern it.
    #[inline]
    pub(crate) fn queue_keys(
        &self,
        command: RowCommand,
        row: RowId,
        (old, new): (Option<&[Datum]>, Option<&[Datum]>),
        cx: &mut ExecContext,
    ) -> Result<()> {
        match self.keys_met(command, cx)? {
            None => Ok(()),
            Some(set) => queue(&self.table.relation, set, row, (old, new), false, cx),
        }
    }

    /// Queues the keys of an updated row, if foreign keys concern it. `was`: the version before.
    #[inline]
    pub(crate) fn queue_updated_keys(
        &self,
        (row, was): (RowId, RowMeta),
        (old, new): (&[Datum], &[Datum]),
        cx: &mut ExecContext,
    ) -> Result<()> {
        let Some(set) = self.keys_met(RowCommand::Update, cx)? else { return Ok(()) };
        let replaces_own = was.xid() == cx.txn()?.txn.xid();
        if set.is_of_own && !replaces_own {
            return Ok(());
        }
        queue(&self.table.relation, set, row, (Some(old), Some(new)), replaces_own, cx)
    }

    /// 0A000 for a row that is about to move to another partition, if a foreign key refers to this
    /// one, or to a partitioned table that is a partition itself (ExecCrossPartitionUpdateForeignKey).
    pub(crate) fn check_may_move(&self, old: &[Datum]) -> Result<()> {
        let Some(set) = self.keys(RowCommand::Delete) else { return Ok(()) };
        let key = pick(&set.columns, old)?;
        let change = KeyChange::of(RowCommand::Delete, (RowId(0), 0, false), &key, key.len());
        let Some(change) = change else { return Err(lost()) };
        match set.actions.iter().find(|of| !of.is_of_root() && of.concerns(change)) {
            None => Ok(()),
            Some(_) => Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot move tuple across partitions when a non-root ancestor of the source \
                 partition is directly referenced in a foreign key",
            )),
        }
    }

    /// Looks up the keys of rows that COPY has inserted, and queues the missing ones. COPY changes no
    /// other rows.
    pub(crate) fn check_copied(
        &self,
        rows: &NewRows,
        ids: &[RowId],
        cx: &mut ExecContext,
    ) -> Result<()> {
        let Some(set) = self.keys_met(RowCommand::Insert, cx)? else { return Ok(()) };
        let mut values = Vec::with_capacity(ids.len() * set.columns.len());
        for at in 0..ids.len() {
            self.table.decode_stored(rows.row(at), &set.columns, &mut values)?;
        }
        let keys = ids.iter().zip(values.chunks_exact(set.columns.len()));
        let changes = keys.map(|(id, key)| KeyChange::inserted(*id, key, cx));
        let changes = changes.collect::<Result<Vec<_>>>()?;
        for at in find_early(set, &changes, cx)? {
            push(&self.table.relation, set, changes[at], cx)?;
        }
        Ok(())
    }
}
