//! A table before it is in the catalog.
//!
//! The statement's elements are added to the builder one after the other; nothing reads the table
//! from the catalog meanwhile. [`TableBuilder::finish`] puts it there when its columns are complete,
//! since expressions of constraints may name the table, and once more with its constraints and
//! indexes. A table without these is put once.
//!
//! Names are chosen in PostgreSQL's order: sequences, inherited CHECKs, NOT NULLs, the indexes that
//! a partition has from its parent, CHECKs, the primary key, other keys, the indexes of LIKE.

use super::super::alter::Reach;
use super::super::constraint::{self, PendingConstraints};
use super::super::inherit::{self, Merged};
use super::super::like::{self, CopiedIndex};
use super::super::sequence::{self, SequenceOptions};
use super::super::{DdlContext, distribution, foreign_key, not_null, partition, trigger};
use super::default::bind_defaults;
use super::{create_storage, persistence_of_new};
use std::sync::Arc;
use steppe_catalog::{RelKind, Relation};
use steppe_sql::ast::{ConstraintKind, CreateTableStmt, RangeVar, TableElement};
use steppe_txn::RelationLockMode;
use steppe_types::Result;

/// A table that gets columns, and what their definitions ask for besides. Constraints and sequences
/// are made when the columns are complete.
pub(crate) struct TableParts {
    pub(crate) table: Relation,
    pub(crate) constraints: PendingConstraints,
    /// The sequences of serial and identity columns.
    pub(crate) sequences: Vec<SequenceOptions>,
}

impl TableParts {
    /// Makes the sequences, which are the defaults of their columns.
    pub(crate) fn create_sequences(&mut self, ctx: &mut DdlContext<'_>) -> Result<()> {
        for options in std::mem::take(&mut self.sequences) {
            sequence::create_owned(ctx, &mut self.table, options)?;
        }
        Ok(())
    }
}

/// A table that CREATE TABLE makes.
pub(crate) struct TableBuilder {
    pub(crate) parts: TableParts,
    /// The columns that come from the parents.
    pub(crate) merged: Merged,
    /// The partitioned table of which it is to be a partition.
    partitioned: Option<Arc<Relation>>,
    /// All tables that it inherits columns and constraints from.
    parents: Vec<Arc<Relation>>,
    /// The indexes of LIKE that serve no constraint.
    copied: Vec<CopiedIndex>,
}

impl TableBuilder {
    pub(super) fn new(table: Relation) -> TableBuilder {
        let constraints = PendingConstraints::of_new_table();
        TableBuilder {
            parts: TableParts { table, constraints, sequences: Vec::new() },
            merged: Merged::default(),
            partitioned: None,
            parents: Vec::new(),
            copied: Vec::new(),
        }
    }

    /// Gives the table the columns of its parents: of PARTITION OF or INHERITS.
    pub(super) fn inherit(
        &mut self,
        ctx: &mut DdlContext<'_>,
        create: &CreateTableStmt,
    ) -> Result<()> {
        let table = &mut self.parts.table;
        self.partitioned = partition::parent_of_new(ctx, create, table)?;
        self.parents = inherit::parents_of_new(ctx, create, table)?;
        table.inherits = self.parents.iter().map(|parent| parent.oid).collect();
        self.parents.extend(self.partitioned.clone());
        inherit::check_written_once(ctx, &create.elements)?;
        self.merged = Merged::new(ctx, &self.parents, table, self.partitioned.is_some())?;
        Ok(())
    }

    /// Adds a column, a constraint, or what LIKE copies.
    pub(super) fn add_element(
        &mut self,
        ctx: &mut DdlContext<'_>,
        element: &TableElement,
    ) -> Result<()> {
        match element {
            TableElement::Column(column) if self.partitioned.is_some() => {
                self.parts.refine_column(ctx, column)
            }
            TableElement::Column(column) => {
                match self.merged.merge_written(ctx, &mut self.parts, column)? {
                    true => Ok(()),
                    false => self.parts.add_column(ctx, column),
                }
            }
            TableElement::Constraint(c) => {
                let is_not_null = matches!(c.kind, ConstraintKind::NotNull { .. });
                not_null::check_partitioned(&self.parts.table, is_not_null && c.no_inherit)?;
                self.parts.constraints.add_table_constraint(c)
            }
            TableElement::Like(like) => {
                let copied = like::copy(ctx, &mut self.parts, &mut self.merged, like)?;
                self.copied.extend(copied);
                Ok(())
            }
        }
    }

    /// Sets the partition bound, the partition key and the distribution; the columns are complete.
    pub(super) fn place(
        &mut self,
        ctx: &mut DdlContext<'_>,
        create: &CreateTableStmt,
    ) -> Result<()> {
        let table = &mut self.parts.table;
        if let (Some(parent), Some(bound)) = (&self.partitioned, &create.partition_bound) {
            table.partition_of = Some(partition::partition_of(ctx, parent, table, bound)?);
        }
        if let Some(spec) = &create.partition_by {
            let columns = Arc::new(table.clone());
            table.partition_key = Some(Arc::new(partition::partition_key(ctx, &columns, spec)?));
        }
        table.distribution = distribution::of_new(ctx, create, table)?;
        Ok(())
    }

    /// Makes files, sequences, defaults, constraints and indexes, and puts the table.
    pub(super) fn finish(
        mut self,
        ctx: &mut DdlContext<'_>,
        name: &RangeVar,
        elements: &[TableElement],
    ) -> Result<()> {
        if self.parts.table.kind == RelKind::Table && !self.parts.table.is_distributed() {
            let persistence = persistence_of_new(ctx, name, self.parts.table.schema);
            create_storage(ctx, &mut self.parts.table, persistence)?;
        }
        // Other sessions do not see the table before the commit, but later statements of this one
        // lock it as usual.
        ctx.lock(self.parts.table.oid, RelationLockMode::AccessExclusive)?;
        self.parts.create_sequences(ctx)?;
        let TableParts { mut table, mut constraints, .. } = self.parts;
        bind_defaults(ctx, &mut table, elements)?;
        inherit::merge_checks(ctx, &self.parents, &mut table)?;
        not_null::create(ctx, &mut table, &self.parents, &mut constraints)?;
        ctx.put(table.clone())?;
        let mut gets_more = !constraints.is_empty() || !self.copied.is_empty();
        if let Some(parent) = &self.partitioned {
            partition::check_default_partition(ctx, parent, |default, _| default)?;
            // Its own constraints come on top of these, and take none of them for their own.
            partition::index_new_partition(ctx, parent, &mut table)?;
            trigger::clone_to_new_partition(ctx, parent, &mut table)?;
            gets_more |= !parent.indexes.is_empty() || !table.triggers.is_empty();
        }
        let foreign_keys = constraints.take_foreign_keys();
        constraint::add_all(ctx, &mut table, constraints)?;
        like::create_indexes(ctx, &mut table, self.copied)?;
        if let Some(parent) = &self.partitioned {
            foreign_key::clone_to_partition(ctx, parent, &mut table)?;
            gets_more |= parent.foreign_keys().next().is_some();
        }
        if gets_more {
            ctx.put(table.clone())?;
        }
        let mut foreign_keys = foreign_keys.iter();
        foreign_keys.try_for_each(|key| foreign_key::add(ctx, &mut table, key, Reach::WithChildren))
    }
}
