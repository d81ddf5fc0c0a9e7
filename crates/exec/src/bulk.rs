//! Bulk loading: COPY's rows through an INSERT's target.
//!
//! The session plans `INSERT INTO t (a, b) VALUES ($1, $2)` with the columns that COPY names. Its
//! expressions give the value of each column of the table. If they are only parameters and
//! constants, a row is encoded as its fields are read, and a datum lives only for its column.
//! Otherwise (computed defaults, CHECK constraints) rows are kept as values and evaluated a batch
//! at a time.
//!
//! ```text
//!   fields ──▶ encoded rows ──────────────┐
//!   fields ──▶ values ──▶ expressions ──▶ Inserter ──▶ table, then each index
//! ```

use crate::change::{
    EventQueue, Inserter, ModifyPlan, OpenLeaves, RowCommand, Target, finish_events, null_violation,
};
use crate::context::ExecContext;
use crate::expr::{CExpr, Compiler, Row};
use crate::node::{CNode, CPlan, RemoteInsertPlan};
use crate::routine::in_session;
use crate::statement::{CompiledStmt, ExecEnv};
use crate::transaction::{StatementTxn, Transaction};
use std::sync::Arc;
use steppe_catalog::trigger::{TriggerLevel, TriggerTiming};
use steppe_catalog::{Catalog, Relation};
use steppe_functions::FnContext;
use steppe_sql::expr::Expr;
use steppe_sql::plan::PlannedStmt;
use steppe_sql::query::Command;
use steppe_txn::NewRows;
use steppe_types::row::RowWriter;
use steppe_types::{Datum, Error, Result};

/// The fields of a row, which can be read more than once.
pub trait Fields {
    /// Writes field `i` as the row's next column, without a datum if none is needed.
    fn write(&self, i: usize, row: &mut RowWriter<'_>) -> Result<()>;

    /// The value of field `i`. `None`: the column has its default.
    fn value(&self, i: usize) -> Result<Option<Datum>>;
}

/// Inserts many rows through one compiled INSERT.
pub struct BulkInsert {
    stmt: Arc<CompiledStmt>,
    inserter: Inserter,
    pending: Pending,
    defaults: Option<Defaults>,
    /// The condition over a row of the table that decides which rows are inserted.
    filter: Option<CExpr>,
    /// The triggers and checks to run after the last row. Each batch has a context of its own, and
    /// is lent this.
    events: Option<Box<EventQueue>>,
}

/// The expressions for fields that have the column's default.
struct Defaults {
    /// `INSERT INTO t (a, b) VALUES (DEFAULT, DEFAULT)`.
    stmt: Arc<CompiledStmt>,
    /// The table's columns of the fields.
    columns: Box<[usize]>,
}

/// A row that is held as values.
enum HeldRow {
    Fields {
        values: Vec<Datum>,
        /// The fields that take the default; NULL stands in for their values.
        defaulted: Vec<usize>,
    },
    /// All columns of the table: a filter has read the row.
    Full(Vec<Datum>),
}

/// Rows that are not stored yet.
enum Pending {
    Encoded {
        /// The source of each column.
        sources: Box<[Source]>,
        rows: NewRows,
        /// A row is too long to be stored unchanged.
        long: bool,
    },
    Values {
        fields: usize,
        rows: Vec<HeldRow>,
    },
}

#[derive(Clone)]
enum Source {
    Field(usize),
    Constant(Datum),
}

impl BulkInsert {
    /// Over an `INSERT … VALUES` of one row, with `fields` parameters, without ON
    /// CONFLICT and RETURNING.
    pub fn new(stmt: &Arc<CompiledStmt>, fields: usize) -> Result<BulkInsert> {
        if remote(stmt).is_some() {
            return Ok(BulkInsert {
                stmt: stmt.clone(),
                inserter: Inserter::default(),
                pending: Pending::Values { fields, rows: Vec::new() },
                defaults: None,
                filter: None,
                events: None,
            });
        }
        let (modify, exprs) = parts(stmt)?;
        let sources = exprs.iter().map(|expr| match expr {
            CExpr::Param(i) => Some(Source::Field(*i)),
            CExpr::Const(value) => Some(Source::Constant(value.clone())),
            _ => None,
        });
        let sources: Option<Box<[Source]>> = sources.collect();
        let pending = match sources {
            Some(sources) if is_stored_as_given(modify) => {
                Pending::Encoded { sources, rows: NewRows::default(), long: false }
            }
            _ => Pending::Values { fields, rows: Vec::new() },
        };
        let inserter = Inserter::default();
        Ok(BulkInsert {
            stmt: stmt.clone(),
            inserter,
            pending,
            defaults: None,
            filter: None,
            events: None,
        })
    }

    /// Lets fields have defaults. `stmt` inserts only defaults, and field `i` belongs to the
    /// table's column `columns[i]`.
    pub fn with_defaults(mut self, stmt: &Arc<CompiledStmt>, columns: &[usize]) -> BulkInsert {
        self.pending = Pending::Values { fields: columns.len(), rows: Vec::new() };
        self.defaults = Some(Defaults { stmt: stmt.clone(), columns: columns.into() });
        self
    }

    /// Inserts only rows that satisfy a condition. The condition is over a row of the table with
    /// its defaults, but without generated columns.
    pub fn with_filter(
        mut self,
        condition: &Expr,
        fields: usize,
        catalog: &Arc<Catalog>,
    ) -> Result<BulkInsert> {
        let plan = PlannedStmt::nothing();
        let mut compiler = Compiler::new(&plan, FnContext::pure(catalog.clone()));
        self.filter = Some(compiler.expr(condition)?);
        self.pending = Pending::Values { fields, rows: Vec::new() };
        Ok(self)
    }

    /// Whether the rows are sent to data nodes.
    pub fn is_on_nodes(&self) -> bool {
        remote(&self.stmt).is_some()
    }

    /// Whether rows are held as values until they are stored, and checked only then.
    pub fn holds_values(&self) -> bool {
        matches!(self.pending, Pending::Values { .. })
    }

    /// The number of rows that are not stored yet.
    pub fn pending_rows(&self) -> usize {
        self.pending.len()
    }

    /// Adds a row; false if the filter excludes it.
    ///
    /// Errors are those of `fields`, and 23502 for a NULL in a NOT NULL column. Other constraints
    /// are checked when the rows are stored.
    pub fn push(&mut self, fields: &impl Fields, env: &ExecEnv) -> Result<bool> {
        match &mut self.pending {
            Pending::Values { fields: count, rows } => {
                let (mut values, mut defaulted) = (Vec::with_capacity(*count), Vec::new());
                for i in 0..*count {
                    let value = fields.value(i)?;
                    defaulted.extend(value.is_none().then_some(i));
                    values.push(value.unwrap_or(Datum::Null));
                }
                let row = HeldRow::Fields { values, defaulted };
                let Some(filter) = &self.filter else {
                    rows.push(row);
                    return Ok(true);
                };
                let mut cx = self.stmt.context(Arc::new([]), env, &mut None);
                let full = row.full(row_exprs(&self.stmt)?, self.defaults.as_ref(), &mut cx)?;
                let holds = filter.holds(&mut cx, Row::of(&full))?;
                rows.extend(holds.then_some(HeldRow::Full(full)));
                Ok(holds)
            }
            Pending::Encoded { sources, rows, long } => {
                let target = &parts(&self.stmt)?.0.target;
                rows.push_with(|out| {
                    let start = out.len();
                    append_row(target, sources, fields, env, out)?;
                    *long |= !target.table.is_short(out.len() - start);
                    Ok::<(), Error>(())
                })?;
                Ok(true)
            }
        }
    }

    /// Stores the rows added since the last call. If it fails, its changes are undone and the rows
    /// are still held, so that [`Self::store_row`] finds the row that fails. Returns the number of
    /// rows stored. Triggers may have rejected some.
    pub fn flush(&mut self, env: &ExecEnv, txn: &mut Option<Transaction>) -> Result<u64> {
        if self.pending_rows() == 0 {
            return Ok(0);
        }
        let stored = self.store(None, env, txn)?;
        match &mut self.pending {
            Pending::Encoded { rows, long, .. } => {
                rows.clear();
                *long = false;
            }
            Pending::Values { rows, .. } => rows.clear(),
        }
        Ok(stored)
    }

    /// Stores the pending row `i`, and keeps holding it.
    pub fn store_row(
        &mut self,
        i: usize,
        env: &ExecEnv,
        txn: &mut Option<Transaction>,
    ) -> Result<()> {
        self.store(Some(i), env, txn).map(drop)
    }

    /// After all rows: whether [`Self::finish`] has work to do.
    pub fn has_events(&self) -> bool {
        self.has_triggers() || self.events.as_ref().is_some_and(|queue| !queue.is_empty())
    }

    /// Whether triggers are to see the statement or its rows. Then the caller must call
    /// [`Self::begin`] before the first row.
    pub fn has_triggers(&self) -> bool {
        parts(&self.stmt).is_ok_and(|(modify, _)| modify.target.hooks.is_some())
    }

    /// Whether BEFORE ROW triggers of the table or of its partitions may see the rows. Then the
    /// caller must store rows one at a time: a row that a batch stores again would be seen again.
    pub fn fires_before_rows(&self, catalog: &Catalog) -> bool {
        let Ok((modify, _)) = parts(&self.stmt) else { return false };
        let fires = |table: &Relation| {
            table.triggers.iter().any(|trigger| {
                trigger.events.insert
                    && (trigger.timing, trigger.level) == (TriggerTiming::Before, TriggerLevel::Row)
            })
        };
        let mut tables = vec![&modify.target.table.relation];
        while let Some(table) = tables.pop() {
            if fires(table) {
                return true;
            }
            // Rows of an inheritance parent stay there.
            if table.partition_key.is_some() {
                let children = catalog.children(table.oid);
                tables.extend(children.filter_map(|child| catalog.relation(child)));
            }
        }
        false
    }

    /// Fires BEFORE STATEMENT triggers before the first row.
    pub fn begin(&mut self, env: &ExecEnv, txn: &mut Option<Transaction>) -> Result<()> {
        let mut cx = self.stmt.context(Arc::new([]), env, txn);
        let begun = parts(&self.stmt).and_then(|(modify, _)| modify.begin(&mut cx));
        self.events = cx.events.take();
        *txn = cx.take_txn().map(StatementTxn::into_transaction);
        begun
    }

    /// Runs the queued events after the last row, such as checks of DEFERRABLE constraints that are
    /// not deferred.
    pub fn finish(&mut self, env: &ExecEnv, txn: &mut Option<Transaction>) -> Result<()> {
        let mut cx = env.context(txn);
        cx.events = self.events.take();
        let ended = parts(&self.stmt).and_then(|(modify, _)| modify.end(&mut cx));
        let finished = ended.and_then(|()| finish_events(&mut cx));
        *txn = cx.take_txn().map(StatementTxn::into_transaction);
        finished
    }

    /// Stores one pending row, or all; none if it fails.
    fn store(
        &mut self,
        one: Option<usize>,
        env: &ExecEnv,
        txn: &mut Option<Transaction>,
    ) -> Result<u64> {
        in_session(&env.session, || self.store_within(one, env, txn))
    }

    fn store_within(
        &mut self,
        one: Option<usize>,
        env: &ExecEnv,
        txn: &mut Option<Transaction>,
    ) -> Result<u64> {
        let mut cx = self.stmt.context(Arc::new([]), env, txn);
        cx.events = self.events.take();
        let stored = cx.mark().and_then(|mark| {
            let stored = self.store_in(one, &mut cx);
            if stored.is_err() {
                cx.rollback_to(mark)?;
            }
            stored
        });
        self.events = cx.events.take();
        *txn = cx.take_txn().map(StatementTxn::into_transaction);
        stored
    }

    fn store_in(&mut self, one: Option<usize>, cx: &mut ExecContext) -> Result<u64> {
        cx.check_interrupts()?;
        if let Some(remote) = remote(&self.stmt) {
            let Pending::Values { rows, .. } = &self.pending else { return Ok(0) };
            let range = one.map_or(0..rows.len(), |i| i..i + 1);
            let (exprs, defaults) = (row_exprs(&self.stmt)?, self.defaults.as_ref());
            let full = rows[range].iter().map(|row| row.full(exprs, defaults, cx));
            let full = full.collect::<Result<Vec<_>>>()?;
            return remote.insert(&full, cx);
        }
        let (modify, exprs) = parts(&self.stmt)?;
        let target = &modify.target;
        let range = one.map_or(0..self.pending.len(), |i| i..i + 1);
        let all = range.len() as u64;
        match &mut self.pending {
            Pending::Encoded { rows, long: false, .. } if one.is_none() => {
                self.inserter.insert_encoded(target, rows, cx)?;
                target.check_copied(rows, self.inserter.ids(), cx)?;
                Ok(all)
            }
            Pending::Encoded { rows, .. } => {
                let mut again = NewRows::default();
                for i in range {
                    append_stored(target, rows.row(i), &mut again, cx)?;
                }
                self.inserter.insert_encoded(target, &mut again, cx)?;
                target.check_copied(&again, self.inserter.ids(), cx)?;
                Ok(all)
            }
            Pending::Values { rows, .. } => {
                let defaults = self.defaults.as_ref();
                let full = rows[range].iter().map(|row| row.full(exprs, defaults, cx));
                let mut full = full.collect::<Result<Vec<_>>>()?;
                // BEFORE ROW triggers see the rows before these are computed.
                if target.before_row(RowCommand::Insert).is_none() {
                    full.iter_mut().try_for_each(|row| target.generate(row, cx))?;
                }
                let slices: Vec<&[Datum]> = full.iter().map(|row| &row[..]).collect();
                let open = &mut OpenLeaves::default();
                let placed = modify.insert(&slices, open, &mut self.inserter, cx)?;
                Ok(all - placed.iter().filter(|placed| placed.is_none()).count() as u64)
            }
        }
    }
}

impl Pending {
    fn len(&self) -> usize {
        match self {
            Pending::Encoded { rows, .. } => rows.len(),
            Pending::Values { rows, .. } => rows.len(),
        }
    }
}

/// The target and the row's expressions.
fn parts(stmt: &CompiledStmt) -> Result<(&ModifyPlan, &[CExpr])> {
    let other = || Error::internal("bulk insert over another kind of statement");
    let CNode::Modify(modify) = &stmt.root().kind else { return Err(other()) };
    if modify.command != Command::Insert || modify.on_conflict.is_some() || modify.returning {
        return Err(other());
    }
    Ok((modify, exprs_of(&modify.child)?))
}

/// The INSERT on data nodes.
fn remote(stmt: &CompiledStmt) -> Option<&RemoteInsertPlan> {
    match &stmt.root().kind {
        CNode::RemoteInsert(remote) => Some(remote),
        _ => None,
    }
}

/// The row's expressions.
fn row_exprs(stmt: &CompiledStmt) -> Result<&[CExpr]> {
    match remote(stmt) {
        Some(remote) => exprs_of(&remote.child),
        None => parts(stmt).map(|(_, exprs)| exprs),
    }
}

/// The expressions of a plan of one row.
fn exprs_of(child: &CPlan) -> Result<&[CExpr]> {
    match (&child.kind, &child.project) {
        (CNode::Result(_), Some(project)) => Ok(project),
        (CNode::Values(lists), None) if lists.len() == 1 => Ok(&lists[0]),
        // A table without columns.
        (CNode::Result(_), None) => Ok(&[]),
        _ => Err(Error::internal("bulk insert of another kind of rows")),
    }
}

/// Whether a row may be encoded as it is read: its checks need no values, and the target is one
/// table.
fn is_stored_as_given(modify: &ModifyPlan) -> bool {
    let target = &modify.target;
    let computes =
        !target.checks.is_empty() || !target.generated.is_empty() || !target.never_null.is_empty();
    let is_one_table = target.partition.is_none() && modify.partitioned.is_none();
    !computes && is_one_table && target.hooks.is_none()
}

/// Appends the row that the fields make.
fn append_row(
    target: &Target,
    sources: &[Source],
    fields: &impl Fields,
    env: &ExecEnv,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    let layout = &target.table.layout;
    let mut writer = layout.start_row(out);
    for source in sources {
        match source {
            Source::Constant(value) => writer.push(value)?,
            Source::Field(i) => fields.write(*i, &mut writer)?,
        }
    }
    let complete = writer.finish()?;
    let has_null = || target.not_null.iter().any(|i| layout.is_null(&out[start..], *i));
    if complete && !has_null() {
        return Ok(());
    }
    // The row is long, or may not be stored: speed does not matter.
    let values = sources.iter().map(|source| match source {
        Source::Constant(value) => Ok(value.clone()),
        Source::Field(i) => fields.value(*i)?.ok_or_else(no_defaults),
    });
    let values = values.collect::<Result<Vec<_>>>()?;
    if let Some(column) = target.not_null.iter().find(|i| values[**i].is_null()) {
        return Err(null_violation(target, *column, &values, &env.functions()));
    }
    out.truncate(start);
    layout.encode(&values, out)
}

fn no_defaults() -> Error {
    Error::internal("bulk insert does not know the defaults")
}

/// Appends a row that was encoded whole, and moves long values out of line.
fn append_stored(
    target: &Target,
    row: &[u8],
    out: &mut NewRows,
    cx: &mut ExecContext,
) -> Result<()> {
    if target.table.is_short(row.len()) {
        out.push(row);
        return Ok(());
    }
    let mut values = Vec::new();
    target.table.decode_all(row, &mut values)?;
    let txn = &mut cx.txn()?.txn;
    out.push_with(|out| target.table.append_row(txn, &values, &[], out))
}

impl HeldRow {
    /// All columns of the table.
    fn full(
        &self,
        exprs: &[CExpr],
        defaults: Option<&Defaults>,
        cx: &mut ExecContext,
    ) -> Result<Vec<Datum>> {
        let (values, defaulted) = match self {
            HeldRow::Full(row) => return Ok(row.clone()),
            HeldRow::Fields { values, defaulted } => (values, defaulted),
        };
        cx.set_params(values.as_slice().into());
        let mut row = exprs.iter().map(|e| e.eval(cx, Row::EMPTY)).collect::<Result<Vec<_>>>()?;
        if let Some(defaults) = defaults {
            let exprs = row_exprs(&defaults.stmt)?;
            for field in defaulted {
                let column = defaults.columns[*field];
                row[column] = exprs[column].eval(cx, Row::EMPTY)?;
            }
        }
        Ok(row)
    }
}
