//! The referenced rows, by key.
//!
//! A key is looked up in the unique index that the foreign key names; for a partitioned table in
//! that of the one leaf whose bounds take the key. The index of a partitioned table contains the
//! partition key, so the key's values decide the leaf.
//!
//! An entry of the index mostly tells that the view sees its row with this key
//! ([`Visibility::Definitive`]). The row is then locked without a look at it. The lock reads the
//! row's newest version, so a row that another transaction has changed is treated as after a look.
//! The keys of a batch are looked up together ([`steppe_txn::IndexStore::lookup_many`]). They have
//! the view of the statement, so it does not matter that earlier keys wait for locks afterwards.

use super::convert::converted;
use super::names::key_query;
use super::violation::shown;
use crate::access::{IndexAccess, TableAccess};
use crate::change::outcome::{Attempted, ChangeKind, ChangeOf, of_lock};
use crate::context::ExecContext;
use crate::node::has_key;
use crate::partition::{ColumnMap, index_above};
use crate::stored;
use hashbrown::HashMap;
use std::sync::Arc;
use steppe_catalog::{Catalog, ForeignKey, RelKind, Relation};
use steppe_functions::FnContext;
use steppe_txn::{
    Engine, Found, LookupKeys, RelationLockMode, RowBuf, RowId, RowLockMode, View, Visibility,
    WaitPolicy,
};
use steppe_types::{Datum, Error, Oid, Result};

/// The rows that a foreign key refers to.
pub struct ReferencedKeys {
    table: Arc<Relation>,
    index: Oid,
    /// The positions of the referenced columns, in the order of the constraint.
    columns: Box<[usize]>,
    /// Their types.
    types: Box<[Oid]>,
    /// A table without partitions.
    one: Option<KeyTable>,
}

/// A table with rows, and its index.
pub(super) struct KeyTable {
    table: TableAccess,
    index: IndexAccess,
    /// The positions of the referenced columns.
    columns: Box<[usize]>,
}

/// Buffers of look-ups.
#[derive(Default)]
pub(super) struct Buffers {
    postings: Vec<u8>,
    row: RowBuf,
    values: Vec<Datum>,
    found: Found,
    /// Rows to lock, and the places of their keys.
    rows: Vec<RowId>,
    places: Vec<usize>,
}

/// The rows that are locked between two checks for interrupts.
const TOGETHER: usize = 256;

/// The leaves that have been opened.
pub(super) type OpenLeaves = HashMap<Oid, KeyTable>;

impl KeyTable {
    fn open(
        engine: &Engine,
        table: &Arc<Relation>,
        index: &Arc<Relation>,
        columns: Box<[usize]>,
        catalog: &Arc<Catalog>,
    ) -> Result<KeyTable> {
        let index = stored::open_index(engine, table, index, catalog)?;
        Ok(KeyTable { table: TableAccess::open(engine, table)?, index, columns })
    }

    /// Appends the key in the form of the index.
    pub(super) fn encode(
        &self,
        key: &[Datum],
        values: &mut Vec<Datum>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        values.clear();
        values.resize(self.table.layout.len(), Datum::Null);
        for (column, value) in self.columns.iter().zip(key) {
            values[*column] = value.clone();
        }
        self.index.key_of(values, out).map(drop)
    }

    /// Whether a view has the key.
    fn has(&self, view: &View, key: &[u8], buffers: &mut Buffers) -> Result<bool> {
        self.find(view, key, buffers).map(|found| found.is_some())
    }

    /// The row that has a key in a view.
    fn find(&self, view: &View, key: &[u8], buffers: &mut Buffers) -> Result<Option<RowId>> {
        let Buffers { postings, row, .. } = buffers;
        let mut candidates = self.index.store.lookup_unique(view, key, postings)?;
        while let Some(candidate) = candidates.try_next()? {
            if self.is_it(view, key, candidate, row)? {
                return Ok(Some(candidate.0));
            }
        }
        Ok(None)
    }

    /// Whether a candidate of a key has it in a view.
    fn is_it(
        &self,
        view: &View,
        key: &[u8],
        (id, visibility): (RowId, Visibility),
        row: &mut RowBuf,
    ) -> Result<bool> {
        if visibility == Visibility::Definitive {
            return Ok(true);
        }
        let Some(rows) = self.table.rows() else { return Ok(false) };
        Ok(rows.get(view, id, row)?.is_some() && has_key(&self.table, &self.index, row.row(), key)?)
    }

    /// Finds the row with a key as the running command sees it, and locks it KEY SHARE. False:
    /// there is none. 40001 above READ COMMITTED if the row has been changed since the snapshot.
    pub(super) fn lock(
        &self,
        key: &[u8],
        buffers: &mut Buffers,
        cx: &mut ExecContext,
    ) -> Result<bool> {
        let view = cx.txn()?.txn.view();
        match self.find(&view, key, buffers)? {
            Some(id) => self.lock_row(id, key, cx),
            None => Ok(false),
        }
    }

    /// As [`Self::lock`], for many keys in the order of the index. Calls `missing` with the
    /// positions of the keys that no row has. The rows are locked in the order of the keys. Most have
    /// the version that the view sees, and no other transaction is at them. Runs of these are locked
    /// together.
    pub(super) fn lock_many(
        &self,
        keys: &LookupKeys,
        buffers: &mut Buffers,
        cx: &mut ExecContext,
        missing: &mut dyn FnMut(usize),
    ) -> Result<()> {
        let view = cx.txn()?.txn.view();
        let mut found = std::mem::take(&mut buffers.found);
        let mut from = 0;
        while from < keys.len() {
            self.index.store.lookup_many(&view, keys, from, 2 * keys.len(), &mut found)?;
            buffers.places.clear();
            buffers.rows.clear();
            for i in 0..found.keys() {
                let key = keys.key(from + i);
                let candidates =
                    found.rows_of(i).map(|at| (found.rows()[at], found.visibility(at)));
                match self.first_of(&view, key, candidates, &mut buffers.row)? {
                    Some(id) => {
                        buffers.places.push(from + i);
                        buffers.rows.push(id);
                    }
                    None => missing(from + i),
                }
            }
            self.lock_all(keys, buffers, cx, missing)?;
            from += found.keys();
            // A key with more entries than that is looked up by itself.
            if from < keys.len() {
                if !self.lock(keys.key(from), buffers, cx)? {
                    missing(from);
                }
                from += 1;
            }
        }
        buffers.found = found;
        Ok(())
    }

    /// The first candidate of a key that has it in a view.
    fn first_of(
        &self,
        view: &View,
        key: &[u8],
        candidates: impl Iterator<Item = (RowId, Visibility)>,
        row: &mut RowBuf,
    ) -> Result<Option<RowId>> {
        for candidate in candidates {
            if self.is_it(view, key, candidate, row)? {
                return Ok(Some(candidate.0));
            }
        }
        Ok(None)
    }

    /// Locks the rows among the buffers, which have the keys at these places, one after the other.
    fn lock_all(
        &self,
        keys: &LookupKeys,
        buffers: &mut Buffers,
        cx: &mut ExecContext,
        missing: &mut dyn FnMut(usize),
    ) -> Result<()> {
        let Buffers { places, rows, .. } = buffers;
        let (store, mut done) = (self.table.rows_for_write()?, 0);
        while done < rows.len() {
            cx.check_interrupts()?;
            let next = &rows[done..rows.len().min(done + TOGETHER)];
            let locked = store.share_rows(&mut cx.txn()?.txn, next, RowLockMode::KeyShare)?;
            done += locked;
            if locked < next.len() {
                let at = places[done];
                if !self.lock_row(rows[done], keys.key(at), cx)? {
                    missing(at);
                }
                done += 1;
            }
        }
        Ok(())
    }

    /// Locks the row that has a key in the view of the running command. False: it has been deleted.
    fn lock_row(&self, id: RowId, key: &[u8], cx: &mut ExecContext) -> Result<bool> {
        let rows = self.table.rows_for_write()?;
        loop {
            let txn = &mut cx.txn()?.txn;
            let of = ChangeOf::new(ChangeKind::Lock, id, &self.table.relation, txn);
            let outcome = rows.lock_row(txn, id, RowLockMode::KeyShare, WaitPolicy::Block)?;
            match of_lock(outcome, &of)? {
                Attempted::Done => return Ok(true),
                Attempted::Wait(wait, at) => at.wait(wait, cx)?,
                Attempted::Newer(newest) => {
                    return has_key(&self.table, &self.index, &newest.row, key);
                }
                _ => return Ok(false),
            }
        }
    }
}

impl ReferencedKeys {
    /// Opens the referenced table of a foreign key.
    pub fn open(
        engine: &Engine,
        key: &ForeignKey,
        catalog: &Arc<Catalog>,
    ) -> Result<ReferencedKeys> {
        let gone = || Error::internal("the referenced table of a foreign key is not there");
        let table = catalog.relation(key.table).ok_or_else(gone)?;
        let index = catalog.relation(key.index).ok_or_else(gone)?;
        let columns: Box<[usize]> = key.columns.iter().map(|c| *c as usize - 1).collect();
        let types =
            columns.iter().map(|c| catalog.base_type(table.columns[*c].type_oid).oid).collect();
        let one = match table.kind {
            RelKind::PartitionedTable => None,
            _ => Some(KeyTable::open(engine, table, index, columns.clone(), catalog)?),
        };
        Ok(ReferencedKeys { table: table.clone(), index: key.index, columns, types, one })
    }

    /// An error of looking a key up and locking its row, with the context that it has in PostgreSQL,
    /// where a statement does this.
    #[cold]
    pub(super) fn within(&self, error: Error, catalog: &Catalog) -> Error {
        let columns = self.columns.iter().map(|at| *at as i16 + 1);
        let query = key_query(catalog, &self.table, columns);
        error.within(format!("SQL statement \"{query}\""))
    }

    /// The referenced table.
    pub(super) fn table(&self) -> &Arc<Relation> {
        &self.table
    }

    /// The table, if it has no partitions.
    pub(super) fn whole(&self) -> Option<&KeyTable> {
        self.one.as_ref()
    }

    /// The values as the referenced columns have them. `None`: no row can have the key.
    pub fn converted(&self, values: &[&Datum]) -> Option<Vec<Datum>> {
        let mut key = Vec::with_capacity(values.len());
        self.convert(values.iter().copied(), &mut key).then_some(key)
    }

    /// As [`Self::converted`], into a buffer. False: no row can have the key.
    pub(super) fn convert<'v>(
        &self,
        values: impl Iterator<Item = &'v Datum>,
        key: &mut Vec<Datum>,
    ) -> bool {
        key.clear();
        for (value, ty) in values.zip(&self.types) {
            let Some(value) = converted(value, *ty) else { return false };
            key.push(value);
        }
        true
    }

    /// `(names)=(values)` of a converted key.
    pub fn shown(&self, key: &[Datum], cx: &FnContext) -> String {
        shown(&self.table, &self.columns, key, cx)
    }

    /// The OID of the table with the rows that may have a key: the table or its leaf. `None`: no
    /// leaf takes the key.
    pub fn place_of(&self, key: &[Datum], catalog: &Catalog) -> Result<Option<Oid>> {
        if self.one.is_some() {
            return Ok(Some(self.table.oid));
        }
        let mut place = Some(self.table.oid);
        let mut scratch = Vec::new();
        while let Some(relation) = place.and_then(|oid| catalog.relation(oid)) {
            let (Some(by), Some(map)) =
                (&relation.partition_key, catalog.partition_map(relation.oid)?)
            else {
                break;
            };
            let values = by.columns.iter().map(|column| {
                let name = relation.columns.get(column.attnum as usize - 1).map(|c| &c.name);
                let is_it =
                    |at: &usize| self.table.columns.get(*at).map(|column| &column.name) == name;
                let at = self.columns.iter().position(is_it);
                let missing =
                    || Error::internal("a unique key lacks a column of the partition key");
                at.and_then(|at| key.get(at)).cloned().ok_or_else(missing)
            });
            let values = values.collect::<Result<Vec<_>>>()?;
            scratch.clear();
            place = map.route(&values, &mut scratch)?;
        }
        Ok(place)
    }

    /// Opens a leaf.
    fn open_leaf(
        &self,
        leaf: Oid,
        catalog: &Arc<Catalog>,
        engine: &Engine,
    ) -> Result<Option<KeyTable>> {
        let Some(leaf) = catalog.relation(leaf) else { return Ok(None) };
        let index = catalog
            .indexes_of(leaf)
            .find(|index| index_above(catalog, index, self.index))
            .ok_or_else(|| Error::internal("a leaf has no part of the referenced index"))?;
        let map = ColumnMap::new(&self.table, leaf)?;
        let columns = self.columns.iter().map(|column| match &map {
            Some(map) => map.in_leaf(*column),
            None => Ok(*column),
        });
        let columns = columns.collect::<Result<Box<[_]>>>()?;
        KeyTable::open(engine, leaf, index, columns, catalog).map(Some)
    }

    /// The table with the rows at a place, open and locked.
    pub(super) fn at<'k>(
        &'k self,
        place: Oid,
        leaves: &'k mut OpenLeaves,
        cx: &mut ExecContext,
    ) -> Result<Option<&'k KeyTable>> {
        if let Some(one) = &self.one {
            return Ok(Some(one));
        }
        if !leaves.contains_key(&place) {
            if let Some(wait) = cx.txn()?.txn.lock_relation(place, RelationLockMode::RowShare)? {
                cx.functions.session.block_on(wait)?;
            }
            let newer = cx.newer_catalog()?;
            let catalog = newer.unwrap_or_else(|| Arc::clone(&cx.functions.catalog));
            let engine = Arc::clone(cx.txn()?.txn.engine());
            let Some(opened) = self.open_leaf(place, &catalog, &engine)? else {
                return Ok(None);
            };
            leaves.insert(place, opened);
        }
        Ok(leaves.get(&place))
    }

    /// The first of some keys that a view does not have, as their positions. For statements that
    /// hold locks on both tables. `keys` are [`ReferencedKeys::converted`].
    pub fn first_missing(
        &self,
        keys: &[Vec<Datum>],
        (view, catalog, engine): (&View, &Arc<Catalog>, &Engine),
        check: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<usize>> {
        let (mut leaves, mut buffers) = (OpenLeaves::new(), Buffers::default());
        let mut sorted = Vec::with_capacity(keys.len());
        let mut missing: Option<usize> = None;
        for (at, key) in keys.iter().enumerate() {
            let table = match (&self.one, self.place_of(key, catalog)?) {
                (Some(one), Some(place)) => Some((place, one)),
                (None, Some(place)) => {
                    if !leaves.contains_key(&place)
                        && let Some(opened) = self.open_leaf(place, catalog, engine)?
                    {
                        leaves.insert(place, opened);
                    }
                    leaves.get(&place).map(|leaf| (place, leaf))
                }
                (_, None) => None,
            };
            let Some((place, table)) = table else {
                missing = missing.or(Some(at));
                continue;
            };
            let mut encoded = Vec::new();
            table.encode(key, &mut buffers.values, &mut encoded)?;
            sorted.push((place, encoded, at));
        }
        sorted.sort_unstable();
        sorted.dedup_by(|a, b| (a.0, &a.1) == (b.0, &b.1));
        for (n, (place, encoded, at)) in sorted.iter().enumerate() {
            if n % 1024 == 0 {
                check()?;
            }
            let table = self.one.as_ref().or_else(|| leaves.get(place));
            let has = match table {
                Some(table) => table.has(view, encoded, &mut buffers)?,
                None => false,
            };
            if !has {
                missing = Some(missing.map_or(*at, |least| least.min(*at)));
            }
        }
        Ok(missing)
    }
}

impl Buffers {
    /// Values of a row, to make its key from.
    pub(super) fn values(&mut self) -> &mut Vec<Datum> {
        &mut self.values
    }
}
