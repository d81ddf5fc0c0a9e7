//! Referencing rows: their keys must be in the referenced table (RI_FKey_check).
//!
//! The keys of a batch are looked up in the order of the index, each once. If several are missing,
//! the error is that of the first row, and of its first constraint.

use super::keys::{Buffers, OpenLeaves, ReferencedKeys};
use super::log::KeyChange;
use super::set::{KeySet, positions};
use super::violation::{missing_key, mixed_nulls, pick};
use crate::access::TableAccess;
use crate::access::long_keys::group_of;
use crate::change::Target;
use crate::change::hooks::RowCommand;
use crate::change::put_off::PutOff;
use crate::context::ExecContext;
use crate::deferred::{DeferredEvent, KeyOfRow};
use hashbrown::HashMap;
use std::ops::Range;
use std::sync::Arc;
use steppe_catalog::{Catalog, Constraint, Deferral, ForeignKey, Relation};
use steppe_txn::{Engine, IsolationLevel, LookupKeys, RelationLockMode, RowBuf, RowId};
use steppe_types::{Datum, Error, Oid, Result};

/// A foreign key, on the side of the referencing table.
pub(in crate::change) struct Referencing {
    /// The constraint's OID; for a partition that of the root's constraint.
    oid: Oid,
    name: Arc<str>,
    /// The places of the key's columns among the columns of a queued key.
    places: Box<[usize]>,
    match_full: bool,
    deferral: Deferral,
    keys: ReferencedKeys,
}

/// Which of some values are NULL.
#[derive(PartialEq)]
enum Nulls {
    None,
    Some,
    All,
}

impl Referencing {
    pub(super) fn open(
        (table, constraint, key): (&Relation, &Constraint, &ForeignKey),
        places: Box<[usize]>,
        (catalog, engine): (&Arc<Catalog>, &Engine),
    ) -> Result<Referencing> {
        Ok(Referencing {
            oid: catalog.root_constraint(table, constraint),
            name: Arc::clone(&constraint.name),
            places,
            match_full: key.match_full,
            deferral: key.deferral,
            keys: ReferencedKeys::open(engine, key, catalog)?,
        })
    }

    pub(super) fn oid(&self) -> Oid {
        self.oid
    }

    pub(super) fn deferral(&self) -> Deferral {
        self.deferral
    }

    /// Moves the check of a row to the transaction's deferred events.
    pub(super) fn defer(
        &self,
        relation: &Relation,
        change: KeyChange<'_>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let of = KeyOfRow {
            table: relation.oid,
            referencing: relation.oid,
            constraint: self.oid,
            row: change.row,
            key: pick(&self.places, change.new.unwrap_or_default())?.into(),
            command: change.command,
        };
        cx.defer(DeferredEvent::Reference(Box::new(of)), self.deferral)
    }

    fn key<'r>(&self, version: &'r [Datum]) -> impl Iterator<Item = &'r Datum> + use<'r, '_> {
        self.places.iter().filter_map(|at| version.get(*at))
    }

    fn nulls(&self, version: &[Datum]) -> Nulls {
        match self.key(version).filter(|value| value.is_null()).count() {
            0 => Nulls::None,
            all if all == self.places.len() => Nulls::All,
            _ => Nulls::Some,
        }
    }

    /// Whether a change needs a check (RI_FKey_fk_upd_check_required). The deferred check of an own
    /// version is void once that version is replaced, so the new version needs one.
    pub(super) fn concerns(&self, change: KeyChange<'_>) -> bool {
        let Some(new) = change.new else { return false };
        match self.nulls(new) {
            Nulls::All => false,
            Nulls::Some => self.match_full,
            Nulls::None => {
                change.replaces_own && self.deferral.is_deferrable()
                    || change.old.is_none_or(|old| !self.key(old).eq(self.key(new)))
            }
        }
    }
}

/// Checks the rows of a batch, under the constraints whose checks are not put off.
pub(super) fn check(
    set: &KeySet,
    relation: &Arc<Relation>,
    changes: &[KeyChange<'_>],
    put_off: &PutOff,
    cx: &mut ExecContext,
) -> Result<()> {
    if set.references.iter().all(|key| put_off.has(key.oid, key.deferral)) {
        return Ok(());
    }
    let txn = &mut cx.txn()?.txn;
    let outer = txn.suspend_statement();
    txn.use_command();
    let started = txn.start_statement();
    let checked = started.and_then(|()| check_now(set, relation, changes, put_off, cx));
    cx.txn()?.txn.resume_statement(outer);
    checked
}

fn check_now(
    set: &KeySet,
    relation: &Arc<Relation>,
    changes: &[KeyChange<'_>],
    put_off: &PutOff,
    cx: &mut ExecContext,
) -> Result<()> {
    let mut first: Option<(usize, Error)> = None;
    for key in set.references.iter().filter(|key| !put_off.has(key.oid, key.deferral)) {
        let concerned = changes.iter().enumerate().filter(|(_, change)| key.concerns(**change));
        let concerned: Vec<(usize, KeyChange<'_>)> = concerned.map(|(at, c)| (at, *c)).collect();
        let failed = first_missing(key, set.columns(), relation, &concerned, cx)?;
        if let Some((at, error)) = failed
            && first.as_ref().is_none_or(|(least, _)| at < *least)
        {
            first = Some((at, error));
        }
    }
    first.map_or(Ok(()), |(_, error)| Err(error))
}

/// Checks the one row that a statement has inserted, at the statement's end and without a queue.
pub(in crate::change) fn check_one(
    target: &Target,
    set: &KeySet,
    id: RowId,
    row: &[Datum],
    cx: &mut ExecContext,
) -> Result<()> {
    let is_deferrable = |key: &Referencing| key.deferral.is_deferrable();
    if cx.events.is_some() || set.references.iter().any(is_deferrable) {
        return target.queue_keys(RowCommand::Insert, id, (None, Some(row)), cx);
    }
    let txn = &mut cx.txn()?.txn;
    txn.use_command();
    txn.start_statement()?;
    let mut buffers = Buffers::default();
    for key in &set.references {
        if !find_one(key, set.columns(), row, &mut buffers, cx)? {
            let new = pick(set.columns(), row)?;
            let change = KeyChange::inserted(id, &new, cx)?;
            return check_now(set, &target.table.relation, &[change], &PutOff::default(), cx);
        }
    }
    Ok(())
}

/// Whether the key of a row needs no check, or has been found in a table without partitions.
fn find_one(
    key: &Referencing,
    columns: &[usize],
    row: &[Datum],
    buffers: &mut Buffers,
    cx: &mut ExecContext,
) -> Result<bool> {
    let values = key.places.iter().filter_map(|at| columns.get(*at).and_then(|at| row.get(*at)));
    let values: Vec<&Datum> = values.collect();
    match values.iter().filter(|value| value.is_null()).count() {
        0 => {}
        nulls => return Ok(nulls == values.len() || !key.match_full),
    }
    let Some(table) = key.keys.whole() else { return Ok(false) };
    let Some(values) = key.keys.converted(&values) else { return Ok(false) };
    let mut encoded = Vec::new();
    table.encode(&values, buffers.values(), &mut encoded)?;
    let locked = table.lock(&encoded, buffers, cx);
    locked.map_err(|error| key.keys.within(error, &cx.functions.catalog))
}

/// Looks the keys of inserted rows up before the end of the statement. Returns the positions of the
/// rows to check again at its end: their keys are not there yet, or a constraint may be deferred.
///
/// The row of a key that is found is locked, so it stays. A check at the end of the statement would
/// find it too, unless the statement itself changes referenced rows.
pub(super) fn find_early(
    set: &KeySet,
    changes: &[KeyChange<'_>],
    cx: &mut ExecContext,
) -> Result<Vec<usize>> {
    if set.references.iter().any(|key| key.deferral.is_deferrable()) {
        return Ok((0..changes.len()).collect());
    }
    let txn = &mut cx.txn()?.txn;
    let outer = txn.suspend_statement();
    txn.use_command();
    let started = txn.start_statement();
    let found = started.and_then(|()| {
        let mut again = Vec::new();
        for key in &set.references {
            let concerned = changes.iter().enumerate().filter(|(_, change)| key.concerns(**change));
            let concerned: Vec<(usize, KeyChange<'_>)> =
                concerned.map(|(at, change)| (at, *change)).collect();
            let missing = missing(key, &concerned, cx)?;
            again.extend(missing.into_iter().filter_map(|n| Some(concerned.get(n)?.0)));
        }
        again.sort_unstable();
        again.dedup();
        Ok(again)
    });
    cx.txn()?.txn.resume_statement(outer);
    found
}

/// Looks the keys of rows up. Returns the first row that fails, with its error.
fn first_missing(
    key: &Referencing,
    columns: &[usize],
    relation: &Arc<Relation>,
    changes: &[(usize, KeyChange<'_>)],
    cx: &mut ExecContext,
) -> Result<Option<(usize, Error)>> {
    for n in missing(key, changes, cx)? {
        let (at, change) = &changes[n];
        if let Some(error) = confirm(key, columns, relation, *change, cx)? {
            return Ok(Some((*at, error)));
        }
    }
    Ok(None)
}

/// Looks the keys of rows up, and locks the rows that have them. Returns the positions of the keys
/// that are not there.
///
/// A partitioned table is read at the newest snapshot in each isolation level (detectNewRows of
/// RI_FKey_check): a key that is committed since the transaction's snapshot is found there, and one
/// that is deleted since is not.
fn missing(
    key: &Referencing,
    changes: &[(usize, KeyChange<'_>)],
    cx: &mut ExecContext,
) -> Result<Vec<usize>> {
    // A partition's own foreign keys are not among the locks of the statement.
    let referenced = key.keys.table().oid;
    if let Some(wait) = cx.txn()?.txn.lock_relation(referenced, RelationLockMode::RowShare)? {
        cx.functions.session.block_on(wait)?;
    }
    let txn = &mut cx.txn()?.txn;
    if key.keys.whole().is_some() || txn.isolation() == IsolationLevel::ReadCommitted {
        return missing_in_view(key, changes, cx);
    }
    let outer = txn.suspend_statement();
    txn.use_command();
    txn.look_at_newest();
    let started = txn.start_statement();
    let found = started.and_then(|()| missing_in_view(key, changes, cx));
    cx.txn()?.txn.resume_statement(outer);
    found
}

fn missing_in_view(
    key: &Referencing,
    changes: &[(usize, KeyChange<'_>)],
    cx: &mut ExecContext,
) -> Result<Vec<usize>> {
    let missing = look_up(key, changes, cx);
    missing.map_err(|error| key.keys.within(error, &cx.functions.catalog))
}

fn look_up(
    key: &Referencing,
    changes: &[(usize, KeyChange<'_>)],
    cx: &mut ExecContext,
) -> Result<Vec<usize>> {
    let (mut leaves, mut buffers) = (OpenLeaves::new(), Buffers::default());
    let mut failed: Vec<usize> = Vec::new();
    let mut sought = SoughtKeys::default();
    sought.places.reserve(changes.len());
    let catalog = Arc::clone(&cx.functions.catalog);
    let mut values = Vec::with_capacity(key.places.len());
    for (n, (_, change)) in changes.iter().enumerate() {
        let new = change.new.unwrap_or_default();
        if key.nulls(new) == Nulls::Some || !key.keys.convert(key.key(new), &mut values) {
            failed.push(n);
            continue;
        }
        let place = key.keys.place_of(&values, &catalog)?;
        let table = match place {
            Some(place) => key.keys.at(place, &mut leaves, cx)?.map(|table| (place, table)),
            None => None,
        };
        let Some((place, table)) = table else {
            failed.push(n);
            continue;
        };
        let start = sought.bytes.len();
        table.encode(&values, buffers.values(), &mut sought.bytes)?;
        sought.places.push((place, start..sought.bytes.len(), n));
    }
    sought.sort();
    for of_table in sought.places.chunk_by(|a, b| a.0 == b.0) {
        let Some((place, ..)) = of_table.first() else { continue };
        let Some(table) = key.keys.at(*place, &mut leaves, cx)? else {
            failed.extend(of_table.iter().map(|(.., n)| *n));
            continue;
        };
        let (mut keys, mut rows) = (LookupKeys::default(), Vec::new());
        for same in of_table.chunk_by(|a, b| sought.bytes[a.1.clone()] == sought.bytes[b.1.clone()])
        {
            let Some((_, range, _)) = same.first() else { continue };
            let key = &sought.bytes[range.clone()];
            // A key that is not whole in the index is looked up by itself.
            if group_of(key).is_none() {
                keys.push(key);
                rows.push(same);
            } else if !table.lock(key, &mut buffers, cx)? {
                failed.extend(same.iter().map(|(.., n)| *n));
            }
        }
        let missing = &mut |i: usize| failed.extend(rows[i].iter().map(|(.., n)| *n));
        table.lock_many(&keys, &mut buffers, cx, missing)?;
    }
    failed.sort_unstable();
    Ok(failed)
}

/// The place of a key's row, where the key is among the bytes, the position among the changes.
type SoughtKey = (Oid, Range<usize>, usize);

/// Keys as their index has them.
#[derive(Default)]
struct SoughtKeys {
    bytes: Vec<u8>,
    places: Vec<SoughtKey>,
}

impl SoughtKeys {
    /// By place, and there in the order of the index.
    fn sort(&mut self) {
        let SoughtKeys { bytes, places } = self;
        places.sort_unstable_by(|a, b| {
            let key = |of: &SoughtKey| &bytes[of.1.clone()];
            (a.0, key(a), a.2).cmp(&(b.0, key(b), b.2))
        });
    }
}

/// The error of a row without a referenced one; `None` if the row is not there any more, or has
/// another key.
#[cold]
fn confirm(
    key: &Referencing,
    columns: &[usize],
    relation: &Arc<Relation>,
    change: KeyChange<'_>,
    cx: &mut ExecContext,
) -> Result<Option<Error>> {
    let engine = Arc::clone(cx.txn()?.txn.engine());
    // DDL of the transaction may have given the table another file.
    let newer = cx.newer_catalog()?;
    let catalog = newer.unwrap_or_else(|| Arc::clone(&cx.functions.catalog));
    let Some(relation) = catalog.relation(relation.oid) else { return Ok(None) };
    let positions: Vec<usize> = key.places.iter().map(|at| columns[*at]).collect();
    let values = pick(&key.places, change.new.unwrap_or_default())?;
    let table = TableAccess::open(&engine, relation)?;
    let (mut buffer, view) = (RowBuf::new(), cx.txn()?.txn.view());
    let Some(rows) = table.rows() else { return Ok(None) };
    if rows.get(&view, change.row, &mut buffer)?.is_none() {
        return Ok(None);
    }
    let row = table.whole(buffer.row())?;
    let now = positions.iter().map(|at| table.decode_column(&row, *at));
    if now.collect::<Result<Vec<_>>>()? != values {
        return Ok(None);
    }
    Ok(Some(match key.nulls(change.new.unwrap_or_default()) {
        Nulls::Some => mixed_nulls(relation, &key.name, &cx.functions),
        _ => {
            let of = (&**relation, &positions[..]);
            missing_key(of, &key.name, &values, key.keys.table(), &cx.functions)
        }
    }))
}

/// Runs deferred checks of rows. The checks of one table and one constraint are made together. The
/// error is that of the first row that fails.
pub(in crate::change) fn run_deferred_references(
    checks: &[KeyOfRow],
    cx: &mut ExecContext,
) -> Result<()> {
    let mut groups: HashMap<(Oid, Oid), Vec<usize>> = HashMap::new();
    for (at, check) in checks.iter().enumerate() {
        groups.entry((check.table, check.constraint)).or_default().push(at);
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    groups.sort_unstable();
    let mut first: Option<(usize, Error)> = None;
    for mut group in groups {
        if let Some((least, _)) = &first {
            group.retain(|at| at < least);
        }
        first = first_deferred(checks, &group, cx)?.or(first);
    }
    first.map_or(Ok(()), |(_, error)| Err(error))
}

/// The first of some checks of one table and one constraint that fails, with its error. A check is
/// void if its version of the row is not the row's newest one: either the row has been deleted, or the
/// newest version has a check of its own.
fn first_deferred(
    checks: &[KeyOfRow],
    group: &[usize],
    cx: &mut ExecContext,
) -> Result<Option<(usize, Error)>> {
    let Some(KeyOfRow { table, constraint: oid, .. }) = group.first().map(|at| &checks[*at]) else {
        return Ok(None);
    };
    let catalog = Arc::clone(&cx.functions.catalog);
    // The table, or the constraint, may have been dropped.
    let Some(relation) = catalog.relation(*table) else { return Ok(None) };
    let is_it = |own: &&Constraint| catalog.root_constraint(relation, own) == *oid;
    let own = relation.constraints.iter().find(is_it);
    let Some((constraint, key)) = own.and_then(|own| Some((own, own.foreign_key()?))) else {
        return Ok(None);
    };
    let engine = Arc::clone(cx.txn()?.txn.engine());
    for locked in [key.table, relation.oid] {
        if let Some(wait) = cx.txn()?.txn.lock_relation(locked, RelationLockMode::RowShare)? {
            cx.functions.session.block_on(wait)?;
        }
    }
    let columns = positions(&constraint.columns);
    let places = (0..columns.len()).collect();
    let opened = Referencing::open((&**relation, constraint, &**key), places, (&catalog, &engine))?;
    cx.txn()?.txn.start_statement()?;
    let table = TableAccess::open(&engine, relation)?;
    let Some(rows) = table.rows() else { return Ok(None) };
    for group in group.chunks(1024) {
        let versions: Vec<(RowId, u32)> =
            group.iter().map(|at| (checks[*at].row, checks[*at].command)).collect();
        let are_live = rows.are_versions_of(&cx.txn()?.txn, &versions)?;
        let live = group.iter().zip(are_live).filter(|(_, is_live)| *is_live);
        let changes: Vec<(usize, KeyChange<'_>)> =
            live.map(|(at, _)| (*at, KeyChange::of_check(&checks[*at]))).collect();
        let failed = first_missing(&opened, &columns, relation, &changes, cx)?;
        if failed.is_some() {
            return Ok(failed);
        }
    }
    Ok(None)
}
