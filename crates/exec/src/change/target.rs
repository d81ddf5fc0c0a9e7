//! A table that is written to, with the constraints and the layout of its rows.
//!
//! The rules are compiled from the definition of a table and from the statement. They name no
//! table, so leaves with the same definition share them, and each leaf adds only its handles
//! ([`Target::open_alike`]). Statements see rows with the columns of the table that they name. A
//! leaf may have its columns in other places ([`Target::stored`], [`Target::seen`]).

use super::KeyRules;
use super::deferred::BatchChecks;
use super::events::EventMark;
use super::hooks::{HookSet, RowCommand, rewrites_updates};
use super::transition::Captures;
use super::writer::TableWriter;
use super::written::Written;
use crate::access::{IndexAccess, TableAccess};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::expr::{CExpr, Compiler, Row};
use crate::partition::{ColumnMap, Definition, PartitionCheck};
use std::borrow::Cow;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_sql::expr::Expr;
use steppe_txn::{Engine, RowId};
use steppe_types::{Datum, Error, Oid, Result};

/// A table that is written to.
pub(crate) struct Target {
    pub(crate) rules: Arc<TargetRules>,
    pub(crate) table: TableAccess,
    pub(crate) indexes: Box<[IndexAccess]>,
}

/// A column that is computed from others.
pub(crate) struct GeneratedColumn {
    pub(super) column: usize,
    /// The expression over the new row.
    value: CExpr,
    /// The columns that it is computed from.
    pub(super) reads: Box<[usize]>,
}

impl GeneratedColumn {
    pub(crate) fn compile_all(
        columns: &[(usize, Expr)],
        compiler: &mut Compiler<'_>,
    ) -> Result<Box<[GeneratedColumn]>> {
        fn collect(expr: &Expr, out: &mut Vec<usize>) {
            if let Expr::Slot { index, .. } = expr {
                out.push(*index);
            }
            expr.for_each_child(&mut |child| collect(child, out));
        }
        let compiled = columns.iter().map(|(column, expr)| {
            let mut reads = Vec::new();
            collect(expr, &mut reads);
            let value = compiler.expr(expr)?;
            Ok(GeneratedColumn { column: *column, value, reads: reads.into() })
        });
        compiled.collect()
    }

    fn compute(&self, row: &mut [Datum], cx: &mut ExecContext) -> Result<()> {
        let value = self.value.eval(cx, Row::of(row))?;
        let place = row.get_mut(self.column);
        *place.ok_or_else(|| Error::internal("generated column that is not there"))? = value;
        Ok(())
    }
}

/// The constraints of a table's rows, and the columns to compute.
pub(crate) struct TargetRules {
    /// ON CONFLICT: positions of the indexes that decide.
    pub(crate) arbiters: Box<[usize]>,
    /// Positions of NOT NULL columns that rows have values of.
    pub(crate) not_null: Box<[usize]>,
    pub(crate) generated: Box<[GeneratedColumn]>,
    /// Virtual generated columns that are NOT NULL, over the new row.
    pub(crate) never_null: Box<[(usize, CExpr)]>,
    /// CHECK constraints over the new row.
    pub(crate) checks: Box<[(Arc<str>, CExpr)]>,
    /// WITH CHECK OPTION: views' names and conditions over the new row.
    pub(crate) view_checks: Box<[(Arc<str>, CExpr)]>,
    /// The partition bounds of the rows.
    pub(crate) partition: Option<PartitionCheck>,
    /// The column order of a leaf, if it differs from that of the statement's table.
    pub(crate) columns: Option<ColumnMap>,
    /// The columns that an UPDATE writes.
    pub(crate) written: Written,
    /// The triggers that the statement meets, if there are any.
    pub(crate) hooks: Option<Arc<HookSet>>,
    /// The rows that are captured for transition tables, if there are any.
    pub(crate) captures: Option<Box<Captures>>,
    /// The foreign keys that the statement meets, if there are any.
    pub(crate) keys: Option<Arc<KeyRules>>,
}

impl std::ops::Deref for Target {
    type Target = TargetRules;

    fn deref(&self) -> &TargetRules {
        &self.rules
    }
}

impl TargetRules {
    /// The rules of a table for a statement of some commands, which assigns to some columns of the
    /// table that it names.
    pub(crate) fn for_statement(
        mut self,
        table: &Arc<Relation>,
        commands: &[RowCommand],
        assigned: &[usize],
        indexes: &[IndexAccess],
        (compiler, engine): (&mut Compiler<'_>, Option<&Engine>),
    ) -> Result<TargetRules> {
        let any = commands.contains(&RowCommand::Update) && rewrites_updates(table);
        self.written = Written::new(assigned, &self, indexes, any);
        self.hooks = HookSet::of(table, commands, &self, compiler)?;
        self.keys = KeyRules::of(table, commands, &self, (compiler.catalog(), engine))?;
        Ok(self)
    }

    /// Whether a row must satisfy any constraint to be stored.
    pub(crate) fn is_constrained(&self) -> bool {
        !self.not_null.is_empty()
            || !self.never_null.is_empty()
            || !self.checks.is_empty()
            || self.partition.is_some()
    }
}

impl Target {
    /// A table that is defined as this one is; the indexes are in the same order.
    pub(crate) fn open_alike(&self, engine: &Engine, leaf: &Definition) -> Result<Target> {
        let indexes = self.indexes.iter().zip(&leaf.indexes);
        Ok(Target {
            rules: self.rules.clone(),
            table: self.table.open_alike(engine, &leaf.table)?,
            indexes: indexes.map(|(i, new)| i.open_alike(engine, new)).collect::<Result<_>>()?,
        })
    }

    /// Queues the events of rows that were inserted together, row by row. `since`: before them.
    pub(super) fn queue_inserted(
        &self,
        rows: &[&[Datum]],
        ids: &[RowId],
        since: EventMark,
        cx: &mut ExecContext,
    ) -> Result<()> {
        if !self.queues_inserted() {
            return Ok(());
        }
        let mut checks = BatchChecks::since(since, cx);
        for (row, id) in rows.iter().zip(ids) {
            checks.queue(*id, cx);
            self.queue_keys(RowCommand::Insert, *id, (None, Some(row)), cx)?;
            self.queue_after(RowCommand::Insert, None, Some(row), cx)?;
        }
        Ok(())
    }

    /// Whether an inserted row may have events.
    pub(super) fn queues_inserted(&self) -> bool {
        let is_unique_later = || self.indexes.iter().any(|index| index.deferrable);
        self.is_observed() || self.keys.is_some() || is_unique_later()
    }

    /// Whether triggers, or transition tables, may be told of changes.
    pub(super) fn is_observed(&self) -> bool {
        self.hooks.is_some() || self.captures.is_some()
    }

    pub(super) fn oid(&self) -> Oid {
        self.table.oid
    }

    /// The writer of the table's rows.
    pub(super) fn writer(&self) -> TableWriter<'_> {
        TableWriter::with_indexes(&self.table, None, &self.indexes)
    }

    /// A row of the statement's table as this one stores it.
    pub(crate) fn stored<'r>(&self, row: &'r [Datum]) -> Cow<'r, [Datum]> {
        match &self.columns {
            None => Cow::Borrowed(row),
            Some(map) => Cow::Owned(map.row_in_leaf(row)),
        }
    }

    /// A row stored here as the statement's table has it.
    pub(crate) fn seen(&self, row: Vec<Datum>) -> Vec<Datum> {
        match &self.columns {
            None => row,
            Some(map) => map.row_in_parent(&row),
        }
    }

    /// [`Self::stored`] of a row that is not needed any more.
    pub(super) fn stored_of(&self, row: Vec<Datum>) -> Vec<Datum> {
        match &self.columns {
            None => row,
            Some(map) => map.row_in_leaf(&row),
        }
    }

    /// Computes the generated columns of a new row, whose other columns are known.
    pub(crate) fn generate(&self, row: &mut [Datum], cx: &mut ExecContext) -> Result<()> {
        self.generated.iter().try_for_each(|generated| generated.compute(row, cx))
    }

    /// Computes the generated columns that depend on what an UPDATE sets. The others stay
    /// unchanged.
    pub(super) fn generate_again(&self, row: &mut [Datum], cx: &mut ExecContext) -> Result<()> {
        let again = self.written.generated.iter().filter_map(|at| self.generated.get(*at));
        again.into_iter().try_for_each(|generated| generated.compute(row, cx))
    }

    /// The rows of a batch with their generated columns, if the table has any. BEFORE ROW triggers
    /// see the rows before these are computed.
    pub(super) fn completed(
        &self,
        rows: &RowBatch,
        cx: &mut ExecContext,
    ) -> Result<Option<Vec<Vec<Datum>>>> {
        if self.generated.is_empty() || self.before_row(RowCommand::Insert).is_some() {
            return Ok(None);
        }
        let mut completed: Vec<Vec<Datum>> = rows.iter().map(<[Datum]>::to_vec).collect();
        completed.iter_mut().try_for_each(|row| self.generate(row, cx))?;
        Ok(Some(completed))
    }
}

/// Positions of the NOT NULL columns. Virtual columns are left out: no row stores them.
pub(crate) fn not_null_columns(relation: &Relation) -> Box<[usize]> {
    let columns = relation.columns.iter().enumerate();
    columns.filter(|(_, c)| c.not_null && !c.dropped && !c.is_virtual).map(|(i, _)| i).collect()
}

/// Arbiter indexes by OID.
pub(crate) fn arbiters(indexes: &[IndexAccess], oids: &[Oid]) -> Box<[usize]> {
    let positions = indexes.iter().enumerate();
    positions
        .filter(|(_, i)| i.is_arbiter() && (oids.is_empty() || oids.contains(&i.relation.oid)))
        .map(|(at, _)| at)
        .collect()
}
