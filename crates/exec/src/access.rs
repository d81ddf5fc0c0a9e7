//! Stored tables and indexes as plans use them: handles, row codecs, keys.
//!
//! ```text
//!   catalog Relation ──open──▶ TableAccess { layout, rows, overflow }
//!                              IndexAccess { key parts, postings }
//! ```
//!
//! Handles are opened when a statement is compiled and live in the plan cache:
//! they name trees by identity, so that a dropped table's are merely useless.
//!
//! The parts that depend only on a table's definition (the row layout, how keys are made) are
//! separate from the handles. Partitions with the same definition share them.

pub(crate) mod long_keys;
mod long_rows;

pub(crate) use long_rows::is_stub;

use crate::context::ExecContext;
use crate::expr::{CExpr, Compiler, Row};
use crate::routine;
use crate::system_columns::VersionColumn;
use long_keys::shorten;
use std::sync::Arc;
use steppe_catalog::{RelKind, Relation};
use steppe_functions::FnContext;
use steppe_sql::bind::index::IndexExprs;
use steppe_sql::bind::over_row;
use steppe_sql::expr::Expr;
use steppe_sql::plan::{ROW_ID, StoredForm, TABLE_OID};
use steppe_sql::planner::index_exprs;
use steppe_txn::{Engine, IndexStore, OverflowStore, RowId, RowMeta, TableStore, View};
use steppe_types::key::{KeyPart, encode_part};
use steppe_types::row::{ColumnRef, RowLayout};
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid, text_io};

/// A stored table.
pub struct TableAccess {
    pub(crate) layout: Arc<RowLayout>,
    rows: Option<TableStore>,
    /// The relation's OID, so that code for one of many leaves need not read the relation.
    pub(crate) oid: Oid,
    pub(crate) relation: Arc<Relation>,
    overflow: Option<OverflowStore>,
}

/// The value that a scan computes for one requested column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanColumn {
    /// Position of a stored column.
    Stored(usize),
    /// The hidden row id as bigint.
    RowId,
    TableOid,
    /// System columns such as xmin, which belong to the row's version.
    Version(VersionColumn),
    /// The stored form of a column's value.
    Form(StoredForm, usize),
}

impl ScanColumn {
    /// From an attribute number.
    pub(crate) fn from_attribute(attribute: i16) -> Result<ScanColumn> {
        Ok(match attribute {
            ROW_ID => ScanColumn::RowId,
            1.. => ScanColumn::Stored(attribute as usize - 1),
            TABLE_OID => ScanColumn::TableOid,
            other => match StoredForm::of(other) {
                Some((form, column)) => ScanColumn::Form(form, column as usize - 1),
                None => ScanColumn::Version(VersionColumn::from_attribute(other)?),
            },
        })
    }
}

impl TableAccess {
    /// Opens a table: 0A000 if it is distributed. All that reads and writes rows opens their table
    /// here, so none of it takes a distributed table for an empty one.
    pub fn open(engine: &Engine, relation: &Arc<Relation>) -> Result<TableAccess> {
        relation.refuse_distributed("this use")?;
        let mut layout = RowLayout::new(&relation.column_types());
        for (i, column) in relation.columns.iter().enumerate() {
            if let Some(text) = &column.missing {
                let io = steppe_types::io::IoContext::default();
                let value = text_io::input(column.type_oid, column.typmod, text, &io)?;
                layout.set_missing_value(i, value)?;
            }
        }
        Ok(TableAccess::with_layout(engine, relation, Arc::new(layout)))
    }

    /// Opens a table with the same definition as this one: 0A000 if it is distributed.
    pub(crate) fn open_alike(
        &self,
        engine: &Engine,
        relation: &Arc<Relation>,
    ) -> Result<TableAccess> {
        relation.refuse_distributed("this use")?;
        Ok(TableAccess::with_layout(engine, relation, self.layout.clone()))
    }

    fn with_layout(
        engine: &Engine,
        relation: &Arc<Relation>,
        layout: Arc<RowLayout>,
    ) -> TableAccess {
        let rows =
            relation.storage.map(|file| TableStore::open_counted(engine, file, relation.oid));
        let overflow = relation.overflow.map(|file| OverflowStore::open(engine, file));
        TableAccess { layout, rows, oid: relation.oid, relation: relation.clone(), overflow }
    }

    /// The rows; `None` if the relation has none of its own.
    pub fn rows(&self) -> Option<&TableStore> {
        self.rows.as_ref()
    }

    /// Prefetches the first memory that a look-up of a row reads.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if let Some(rows) = &self.rows {
            rows.prefetch();
        }
    }

    /// The rows of a table that is written to.
    pub fn rows_for_write(&self) -> Result<&TableStore> {
        self.rows.as_ref().ok_or_else(|| match self.relation.kind {
            RelKind::Table => Error::internal("table has no storage"),
            _ => Error::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied for table {}", self.relation.name),
            ),
        })
    }

    /// Appends the requested columns of a row, read through `view`, to `out`.
    #[inline]
    pub(crate) fn decode_columns(
        &self,
        row: &[u8],
        (id, meta): (RowId, RowMeta),
        view: &View,
        columns: &[ScanColumn],
        out: &mut Vec<Datum>,
    ) -> Result<()> {
        let row = &*self.whole(row)?;
        for column in columns {
            out.push(match column {
                ScanColumn::Stored(i) => self.decode_of_whole(row, *i)?,
                ScanColumn::RowId => Datum::Int8(id.0 as i64),
                ScanColumn::TableOid => Datum::Oid(self.oid),
                ScanColumn::Version(column) => column.value(self, view, id, meta)?,
                ScanColumn::Form(form, i) => self.stored_form(row, *i, *form)?,
            });
        }
        Ok(())
    }

    /// Appends stored columns of a row to `out`.
    pub(crate) fn decode_stored(
        &self,
        row: &[u8],
        columns: &[usize],
        out: &mut Vec<Datum>,
    ) -> Result<()> {
        let row = &*self.whole(row)?;
        for i in columns {
            out.push(self.decode_of_whole(row, *i)?);
        }
        Ok(())
    }

    /// One stored column's value.
    #[inline]
    pub fn decode_column(&self, row: &[u8], i: usize) -> Result<Datum> {
        self.decode_of_whole(&self.whole(row)?, i)
    }

    #[inline]
    fn decode_of_whole(&self, row: &[u8], i: usize) -> Result<Datum> {
        match self.layout.column_ref(row, i)? {
            ColumnRef::Bytes(bytes) => self.layout.decode_payload(i, bytes),
            ColumnRef::Null => Ok(Datum::Null),
            ColumnRef::OutOfLine(pointer) => self.layout.decode_payload(i, &self.fetch(pointer)?),
            ColumnRef::Missing => self.layout.decode_column(row, i),
        }
    }

    /// Appends all columns of a row to `out`.
    pub fn decode_all(&self, row: &[u8], out: &mut Vec<Datum>) -> Result<()> {
        let row = &*self.whole(row)?;
        self.layout.decode_with(row, &mut |_, pointer| self.fetch(pointer), out)
    }
}

/// An index of a stored table.
#[derive(Clone)]
pub struct IndexAccess {
    keys: Arc<IndexKeys>,
    /// Its entries.
    pub store: IndexStore,
    /// The index's OID.
    pub(crate) oid: Oid,
    /// The index as the catalog has it.
    pub relation: Arc<Relation>,
}

/// The definition of an index's keys.
pub struct IndexKeys {
    pub(crate) parts: Box<[KeyPart]>,
    /// The source of each part of a key.
    sources: Box<[KeySource]>,
    computed: Option<Computed>,
    pub(crate) unique: bool,
    /// The constraint is DEFERRABLE: keys are unique only once it is checked.
    pub deferrable: bool,
    /// NULLs are equal to each other: keys with NULLs are unique too.
    nulls_not_distinct: bool,
}

/// The source of a part of a key.
enum KeySource {
    /// Position of a column in the table.
    Column(usize),
    Expression(CExpr),
}

/// The additional parts of an index that is partial or has expressions.
struct Computed {
    predicate: Option<CExpr>,
    /// Positions of the columns that expressions and predicate read.
    columns: Box<[usize]>,
    /// Immutable functions see no state of the session.
    functions: FnContext,
    /// Whether users' functions are called, which may run statements.
    calls_routines: bool,
}

impl std::ops::Deref for IndexAccess {
    type Target = IndexKeys;

    fn deref(&self) -> &IndexKeys {
        &self.keys
    }
}

impl IndexAccess {
    /// Opens an index of a table.
    pub(crate) fn open(
        engine: &Engine,
        table: &Arc<Relation>,
        relation: &Arc<Relation>,
        compiler: &mut Compiler<'_>,
    ) -> Result<IndexAccess> {
        let info =
            relation.index.as_ref().ok_or_else(|| Error::internal("relation is not an index"))?;
        table.refuse_distributed("this use")?;
        let mut parts = Vec::with_capacity(info.keys.len());
        let mut sources = Vec::with_capacity(info.keys.len());
        let computes = info.predicate.is_some() || info.keys.iter().any(|k| k.attnum <= 0);
        let bound = match computes {
            true => index_exprs(compiler.catalog(), table, info)?,
            false => IndexExprs::default(),
        };
        let computed = computes.then(|| Computed::new(&bound, compiler)).transpose()?;
        let mut exprs = bound.keys.into_iter();
        for key in &info.keys {
            sources.push(match exprs.next().flatten() {
                Some(expr) => KeySource::Expression(compiler.expr(&over_row(expr)?)?),
                None => KeySource::Column(key.attnum as usize - 1),
            });
            parts.push(KeyPart {
                type_oid: key.type_oid,
                descending: key.descending,
                nulls_first: key.nulls_first,
            });
        }
        let keys = Arc::new(IndexKeys {
            parts: parts.into(),
            sources: sources.into(),
            computed,
            unique: info.is_unique_now(),
            deferrable: info.unique && info.deferral.is_deferrable(),
            nulls_not_distinct: info.nulls_not_distinct,
        });
        IndexAccess::with_keys(engine, relation, keys)
    }

    /// Opens an index with the same definition as this one.
    pub(crate) fn open_alike(
        &self,
        engine: &Engine,
        relation: &Arc<Relation>,
    ) -> Result<IndexAccess> {
        IndexAccess::with_keys(engine, relation, self.keys.clone())
    }

    fn with_keys(
        engine: &Engine,
        relation: &Arc<Relation>,
        keys: Arc<IndexKeys>,
    ) -> Result<IndexAccess> {
        let storage = relation.storage.ok_or_else(|| Error::internal("index has no storage"))?;
        let store = IndexStore::open(engine, storage, keys.unique);
        Ok(IndexAccess { keys, store, oid: relation.oid, relation: relation.clone() })
    }
}

impl IndexKeys {
    /// Whether ON CONFLICT considers it as an arbiter.
    pub(crate) fn is_arbiter(&self) -> bool {
        self.unique || self.deferrable
    }

    /// Whether it takes the key of each row: it is not unique, and its keys are columns of a fixed
    /// length or strings, which it shortens if they are too long ([`long_keys`]).
    pub(crate) fn takes_each_key(&self, is_fixed: impl Fn(usize) -> bool) -> bool {
        const STRINGS: [Oid; 4] = [oid::TEXT, oid::VARCHAR, oid::BPCHAR, oid::BYTEA];
        let is_taken = |(source, part): (&KeySource, &KeyPart)| match source {
            KeySource::Column(column) => is_fixed(*column) || STRINGS.contains(&part.type_oid),
            KeySource::Expression(_) => false,
        };
        let mut keys = self.sources.iter().zip(&self.parts);
        !self.is_arbiter() && self.computed.is_none() && keys.all(is_taken)
    }

    /// The place of a table's column among the keys.
    pub(crate) fn place_of(&self, column: usize) -> Option<usize> {
        self.sources.iter().position(|s| matches!(s, KeySource::Column(c) if *c == column))
    }

    /// Whether the key, or whether there is one, depends on a column.
    pub(crate) fn reads(&self, column: usize) -> bool {
        self.place_of(column).is_some()
            || self.computed.as_ref().is_some_and(|c| c.columns.contains(&column))
    }

    /// Positions of the key's columns, if a foreign key may refer to the key: it is unique, over
    /// all rows, of columns only.
    pub(crate) fn referable_columns(&self) -> impl Iterator<Item = (usize, &KeyPart)> {
        let referable = self.unique && self.computed.is_none();
        let columns = self.sources.iter().zip(&self.parts).filter(move |_| referable);
        columns.filter_map(|(source, part)| match source {
            KeySource::Column(column) => Some((*column, part)),
            KeySource::Expression(_) => None,
        })
    }
}

impl IndexAccess {
    /// Makes keys within a statement. Users' functions in the index's expressions run their statements
    /// in its transaction.
    pub(crate) fn within<T>(&self, cx: &mut ExecContext, run: impl FnOnce() -> T) -> T {
        match self.computed.as_ref().is_some_and(|computed| computed.calls_routines) {
            true => routine::lending(cx, run),
            false => run(),
        }
    }

    /// Appends the key of a row (all its columns' values) to `out`, in the form stored in the
    /// index. Returns whether the store is to treat the key as having a NULL. `None`: a partial
    /// index leaves the row out.
    pub(crate) fn key_of(&self, values: &[Datum], out: &mut Vec<u8>) -> Result<Option<bool>> {
        let start = out.len();
        let has_null = self.whole_key_of(values, out)?;
        shorten(out, start)?;
        Ok(has_null)
    }

    fn whole_key_of(&self, values: &[Datum], out: &mut Vec<u8>) -> Result<Option<bool>> {
        let has_null = match &self.computed {
            None => self.plain_key(values, out)?,
            Some(computed) => {
                let has_null =
                    computed.within(|context| match computed.takes(context, values)? {
                        true => self.computed_key(context, values, out).map(Some),
                        false => Ok(None),
                    })?;
                match has_null {
                    Some(has_null) => has_null,
                    None => return Ok(None),
                }
            }
        };
        Ok(Some(has_null && !self.nulls_not_distinct))
    }

    fn plain_key(&self, values: &[Datum], out: &mut Vec<u8>) -> Result<bool> {
        let mut has_null = false;
        for (source, part) in self.sources.iter().zip(&self.parts) {
            let value = source.column(values)?;
            has_null |= value.is_null();
            encode_part(value, part, out)?;
        }
        Ok(has_null)
    }

    #[cold]
    fn computed_key(
        &self,
        context: &mut ExecContext,
        values: &[Datum],
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let mut has_null = false;
        for (source, part) in self.sources.iter().zip(&self.parts) {
            let computed;
            let value = match source {
                KeySource::Column(_) => source.column(values)?,
                KeySource::Expression(expr) => {
                    computed = expr.eval(context, Row::of(values))?;
                    &computed
                }
            };
            has_null |= value.is_null();
            encode_part(value, part, out)?;
        }
        Ok(has_null)
    }

    /// The same for stored bytes.
    pub fn key_of_row(
        &self,
        table: &TableAccess,
        row: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<bool>> {
        let start = out.len();
        let has_null = self.whole_key_of_row(table, row, out)?;
        shorten(out, start)?;
        Ok(has_null)
    }

    /// The same, but the key is never shortened.
    pub(crate) fn whole_key_of_row(
        &self,
        table: &TableAccess,
        row: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<bool>> {
        let row = &*table.whole(row)?;
        if let Some(computed) = &self.computed {
            return self.whole_key_of(&self.needed_values(table, computed, row)?, out);
        }
        let mut has_null = false;
        for (source, part) in self.sources.iter().zip(&self.parts) {
            let KeySource::Column(column) = source else { continue };
            let value = table.decode_column(row, *column)?;
            has_null |= value.is_null();
            encode_part(&value, part, out)?;
        }
        Ok(Some(has_null && !self.nulls_not_distinct))
    }

    /// The values of the columns that the index reads. Others are NULL.
    fn needed_values(
        &self,
        table: &TableAccess,
        computed: &Computed,
        row: &[u8],
    ) -> Result<Vec<Datum>> {
        let mut values = vec![Datum::Null; table.layout.len()];
        let plain = self.sources.iter().filter_map(|source| match source {
            KeySource::Column(column) => Some(*column),
            KeySource::Expression(_) => None,
        });
        for column in plain.chain(computed.columns.iter().copied()) {
            values[column] = table.decode_column(row, column)?;
        }
        Ok(values)
    }

    /// The values of a row's key, for error messages.
    pub(crate) fn key_values(&self, values: &[Datum]) -> Result<Vec<Datum>> {
        let Some(computed) = &self.computed else {
            return self.sources.iter().map(|source| source.column(values).cloned()).collect();
        };
        computed.within(|context| {
            let mut value = |source: &KeySource| match source {
                KeySource::Expression(expr) => expr.eval(context, Row::of(values)),
                KeySource::Column(_) => source.column(values).cloned(),
            };
            self.sources.iter().map(&mut value).collect()
        })
    }
}

impl KeySource {
    fn column<'v>(&self, values: &'v [Datum]) -> Result<&'v Datum> {
        let value = match self {
            KeySource::Column(column) => values.get(*column),
            KeySource::Expression(_) => None,
        };
        value.ok_or_else(|| Error::internal("index refers to a column that is not there"))
    }
}

impl Computed {
    fn new(bound: &IndexExprs, compiler: &mut Compiler<'_>) -> Result<Computed> {
        let predicate = bound.predicate.clone().map(over_row).transpose()?;
        Ok(Computed {
            predicate: compiler.option(&predicate)?,
            columns: bound.columns().into_iter().map(|attnum| attnum as usize - 1).collect(),
            functions: FnContext::pure(compiler.catalog().clone()),
            calls_routines: bound.keys.iter().flatten().chain(&bound.predicate).any(calls_routine),
        })
    }

    /// Evaluates some of it.
    fn within<T>(&self, run: impl FnOnce(&mut ExecContext) -> Result<T>) -> Result<T> {
        match self.calls_routines {
            true => routine::at_statement(&self.functions, run),
            false => {
                let functions = routine::with_session(&self.functions);
                run(&mut ExecContext::for_folding(functions))
            }
        }
    }

    /// Whether a partial index includes the row.
    fn takes(&self, context: &mut ExecContext, values: &[Datum]) -> Result<bool> {
        match &self.predicate {
            Some(predicate) => predicate.holds(context, Row::of(values)),
            None => Ok(true),
        }
    }
}

/// Whether an expression calls a user's function.
pub(crate) fn calls_routine(expr: &Expr) -> bool {
    matches!(expr, Expr::Func { func, .. } if routine::is_routine(func))
        || expr.any_child(calls_routine)
}

/// A search value as a key column's type sees it.
#[derive(Clone, Debug)]
pub(crate) enum KeyValue {
    /// There is such a value.
    Exact(Datum),
    /// The value lies between two of the column's type: above this one, below the next.
    Above(Datum),
    /// The value lies below every value of the column's type.
    BelowAll,
    /// The value lies above every value of the column's type.
    AboveAll,
}

/// Converts a search value to the key's type: an operator family compares numbers of
/// different widths, and days with moments.
pub(crate) fn key_value(value: Datum, type_oid: Oid) -> Result<KeyValue> {
    use steppe_types::oid;
    const DAY: i64 = 86_400_000_000;
    let integer = |v: i64, low: i64, high: i64, make: fn(i64) -> Datum| match v {
        v if v < low => KeyValue::BelowAll,
        v if v > high => KeyValue::AboveAll,
        v => KeyValue::Exact(make(v)),
    };
    let wide = match value {
        Datum::Int2(v) => Some(i64::from(v)),
        Datum::Int4(v) => Some(i64::from(v)),
        Datum::Int8(v) => Some(v),
        _ => None,
    };
    Ok(match (type_oid, &value, wide) {
        (oid::INT2, _, Some(v)) => {
            integer(v, i64::from(i16::MIN), i64::from(i16::MAX), |v| Datum::Int2(v as i16))
        }
        (oid::INT4, _, Some(v)) => {
            integer(v, i64::from(i32::MIN), i64::from(i32::MAX), |v| Datum::Int4(v as i32))
        }
        (oid::INT8, _, Some(v)) => KeyValue::Exact(Datum::Int8(v)),
        (oid::FLOAT8, Datum::Float4(v), _) => KeyValue::Exact(Datum::Float8(f64::from(*v))),
        (oid::FLOAT4, Datum::Float8(v), _) => float4_key(*v),
        (oid::TIMESTAMP, Datum::Date(d), _) => {
            match steppe_types::datetime::arith::date_to_timestamp(*d) {
                Ok(midnight) => KeyValue::Exact(Datum::Timestamp(midnight)),
                // After the last moment that is no infinity: dates reach further.
                Err(_) => KeyValue::Above(Datum::Timestamp(i64::MAX - 1)),
            }
        }
        (oid::DATE, Datum::Timestamp(t), _) => match *t {
            i64::MIN => KeyValue::Exact(Datum::Date(i32::MIN)),
            i64::MAX => KeyValue::Exact(Datum::Date(i32::MAX)),
            t if t.rem_euclid(DAY) == 0 => KeyValue::Exact(Datum::Date(t.div_euclid(DAY) as i32)),
            t => KeyValue::Above(Datum::Date(t.div_euclid(DAY) as i32)),
        },
        (oid::DATE | oid::TIMESTAMP, Datum::TimestampTz(_), _)
        | (oid::TIMESTAMPTZ, Datum::Date(_) | Datum::Timestamp(_), _) => {
            return Err(Error::not_supported("an index search across time zones"));
        }
        _ => KeyValue::Exact(value),
    })
}

fn float4_key(v: f64) -> KeyValue {
    let near = v as f32;
    if v.is_nan() || f64::from(near) == v {
        return KeyValue::Exact(Datum::Float4(near));
    }
    let below = if f64::from(near) > v { near.next_down() } else { near };
    KeyValue::Above(Datum::Float4(below))
}
