//! Changes to a table whose rows are in several leaves: each row is changed in its leaf.
//!
//! The leaves are a partitioned table's partitions, or a table and the tables that inherit from it.
//! Statements are written against the table that they name. Conditions, new values and RETURNING
//! see rows with its columns, and only stored rows have the leaf's layout. A leaf is opened when
//! its first row comes.
//!
//! If the new row of an UPDATE belongs to another partition, the old row is deleted and the new one
//! inserted there. INSERT into an inheritance parent stores rows in that table alone.

use super::checks::partition_violation;
use super::node::no_row;
use super::row::{Change, Changed, Outcome, change_row};
use super::{
    Captures, GeneratedColumn, Inserter, ModifyPlan, RowCommand, Target, TargetRules, Written,
    check_partition, commands_of,
};
use crate::access::{IndexAccess, TableAccess};
use crate::context::ExecContext;
use crate::expr::Compiler;
use crate::partition::{
    ByLeaf, ColumnMap, Definition, HANDLES_MAX, Models, PartitionCheck, RouteBuffers, Router,
    index_above, leaf_in, lock_leaf,
};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation};
use steppe_functions::FnContext;
use steppe_sql::bind::{stored_checks, stored_generated, stored_never_null};
use steppe_sql::plan::PlannedStmt;
use steppe_txn::{Engine, RelationLockMode};
use steppe_types::{Datum, Error, Oid, Result};

/// The leaves of a statement's target.
pub(crate) struct Partitioned {
    table: Arc<Relation>,
    /// Column of the child's output with the OID of a row's leaf.
    leaf: Option<usize>,
    /// ON CONFLICT's arbiters among the partitioned table's indexes. An empty list means any unique
    /// index.
    arbiters: Option<Box<[Oid]>>,
    commands: &'static [RowCommand],
    /// The columns that the statement assigns to, as the table has them.
    assigned: Box<[usize]>,
    /// `None`: the table is not partitioned.
    router: Option<Router>,
    /// The targets by leaf, with the epoch of the catalog that they were made from.
    targets: ByLeaf<(u64, Arc<Target>)>,
    models: Models<Arc<Target>>,
}

/// The leaves that an execution has opened. `None`: the leaf was dropped.
#[derive(Default)]
pub(crate) struct OpenLeaves {
    /// The first leaf. Mostly it is the only one.
    first: Option<(Oid, Option<Arc<Target>>)>,
    others: HashMap<Oid, Option<Arc<Target>>>,
    /// The catalog in force when a leaf was locked, if it is newer than the statement's.
    newer: Option<Arc<Catalog>>,
    buffers: RouteBuffers,
}

impl OpenLeaves {
    fn get(&self, leaf: Oid) -> Option<&Option<Arc<Target>>> {
        match &self.first {
            Some((first, target)) if *first == leaf => Some(target),
            _ => self.others.get(&leaf),
        }
    }

    fn put(&mut self, leaf: Oid, target: Option<Arc<Target>>) {
        match &mut self.first {
            Some((first, _)) if *first != leaf => {
                self.others.insert(leaf, target);
            }
            first => *first = Some((leaf, target)),
        }
    }
}

impl Partitioned {
    pub(crate) fn new(modify: &steppe_sql::plan::ModifyTable) -> Option<Box<Partitioned>> {
        let table = &modify.rel.relation;
        let is_partitioned = table.partition_key.is_some();
        if !is_partitioned && modify.leaf.is_none() {
            return None;
        }
        Some(Box::new(Partitioned {
            table: table.clone(),
            leaf: modify.leaf,
            arbiters: modify.on_conflict.as_ref().map(|c| c.arbiters.clone().into()),
            commands: commands_of(modify),
            assigned: Written::assigned_by(modify),
            router: is_partitioned.then(|| Router::new(table)),
            targets: ByLeaf::new(HANDLES_MAX),
            models: Models::default(),
        }))
    }

    /// The leaf of a child's row. `None`: the leaf was dropped, or there is no row.
    pub(super) fn target_of(
        &self,
        source: &[Datum],
        open: &mut OpenLeaves,
        cx: &mut ExecContext,
    ) -> Result<Option<Arc<Target>>> {
        match self.leaf.and_then(|at| source.get(at)) {
            Some(Datum::Oid(leaf)) => self.open(*leaf, open, cx),
            Some(Datum::Null) => Ok(None),
            _ => Err(Error::internal("modify node's input does not say which leaf")),
        }
    }

    /// The leaf that a row of the partitioned table belongs to.
    pub(super) fn route(
        &self,
        root: &Target,
        row: &[Datum],
        open: &mut OpenLeaves,
        cx: &mut ExecContext,
    ) -> Result<Arc<Target>> {
        // The table may be a partition itself.
        check_partition(root, row, cx)?;
        let mut catalog = cx.functions.catalog.clone();
        let router = self.router.as_ref();
        let router =
            router.ok_or_else(|| Error::internal("no partitioned table to route rows of"))?;
        if let Some(default) = router.wrong_default(&catalog, row, cx)? {
            return Err(partition_violation(root, &default, row, &cx.functions));
        }
        let leaf = router.route(&catalog, row, &mut open.buffers, cx)?;
        if let Some(target) = self.open(leaf, open, cx)? {
            if let Some(newer) = &open.newer
                && let Some(default) = router.left_default(&catalog, newer, row, cx)?
            {
                return Err(partition_violation(root, &default, row, &cx.functions));
            }
            return Ok(target);
        }
        // Detached since the statement was planned.
        if let Some(newer) = cx.newer_than(&catalog)? {
            catalog = newer;
        }
        let leaf = router.route(&catalog, row, &mut open.buffers, cx)?;
        let target = self.lock(leaf, open, cx)?;
        open.put(leaf, target.clone());
        target
            .ok_or_else(|| Error::internal("the catalog routes rows to a partition that has gone"))
    }

    fn open(
        &self,
        leaf: Oid,
        open: &mut OpenLeaves,
        cx: &mut ExecContext,
    ) -> Result<Option<Arc<Target>>> {
        if let Some(found) = open.get(leaf) {
            return Ok(found.clone());
        }
        let target = self.lock(leaf, open, cx)?;
        open.put(leaf, target.clone());
        Ok(target)
    }

    /// Locks a leaf. `None`: it is no longer a partition.
    fn lock(
        &self,
        leaf: Oid,
        open: &mut OpenLeaves,
        cx: &mut ExecContext,
    ) -> Result<Option<Arc<Target>>> {
        let newer = lock_leaf(cx, leaf, RelationLockMode::RowExclusive)?;
        if newer.is_some() {
            open.newer.clone_from(&newer);
        }
        let planned = &cx.functions.catalog;
        if newer.is_none() {
            let of_version = |(epoch, target): &(_, Arc<Target>)| {
                (*epoch == planned.epoch).then(|| target.clone())
            };
            if let Some(found) = self.targets.get(leaf, of_version).flatten() {
                return Ok(Some(found));
            }
        }
        let (catalog, is_planned) = match newer {
            Some(newer) => (newer, false),
            None => (planned.clone(), true),
        };
        let Some(relation) = leaf_in(&catalog, leaf, &self.table) else { return Ok(None) };
        let engine = cx.txn()?.txn.engine();
        let target = if is_planned {
            let target = self.target(Definition::of(relation, &catalog), &catalog, engine)?;
            self.targets.put(leaf, (catalog.epoch, target.clone()));
            target
        } else {
            Arc::new(self.compile(&Definition::of(relation, &catalog), &catalog, engine)?)
        };
        Ok(Some(target))
    }

    /// A leaf in the catalog that the statement was planned against.
    fn target(
        &self,
        leaf: Definition,
        catalog: &Arc<Catalog>,
        engine: &Engine,
    ) -> Result<Arc<Target>> {
        if let Some(model) = self.models.of(std::slice::from_ref(&leaf), catalog.epoch) {
            return model.compiled.open_alike(engine, &leaf).map(Arc::new);
        }
        let target = Arc::new(self.compile(&leaf, catalog, engine)?);
        Ok(self.models.put([leaf], catalog.epoch, target).compiled.clone())
    }

    fn compile(
        &self,
        leaf: &Definition,
        catalog: &Arc<Catalog>,
        engine: &Engine,
    ) -> Result<Target> {
        let Definition { table: leaf, indexes, .. } = leaf;
        let stmt = PlannedStmt::nothing();
        let mut compiler = Compiler::new(&stmt, FnContext::pure(catalog.clone()));
        let indexes = indexes.iter();
        let indexes = indexes.map(|index| IndexAccess::open(engine, leaf, index, &mut compiler));
        let indexes = indexes.collect::<Result<Box<[_]>>>()?;
        let is_arbiter = |index: &IndexAccess| match &self.arbiters {
            None => false,
            Some(wanted) if wanted.is_empty() => true,
            Some(wanted) => wanted.iter().any(|oid| index_above(catalog, &index.relation, *oid)),
        };
        let arbiters = indexes.iter().enumerate().filter(|(_, i)| i.is_arbiter() && is_arbiter(i));
        let generated = stored_generated(catalog, leaf)?;
        let rules = TargetRules {
            arbiters: arbiters.map(|(at, _)| at).collect(),
            not_null: super::not_null_columns(leaf),
            generated: GeneratedColumn::compile_all(&generated, &mut compiler)?,
            never_null: compiler.each_of(&stored_never_null(catalog, leaf)?)?,
            checks: compiler.each_of(&stored_checks(catalog, leaf)?)?,
            // These see the row with the columns of the partitioned table.
            view_checks: Box::new([]),
            partition: PartitionCheck::new(leaf, &mut compiler)?,
            columns: ColumnMap::new(&self.table, leaf)?,
            written: Written::default(),
            hooks: None,
            keys: None,
            captures: Captures::of(&self.table, self.commands),
        };
        let (commands, within) = (self.commands, (&mut compiler, Some(engine)));
        let rules = rules.for_statement(leaf, commands, &self.assigned, &indexes, within)?;
        let table = TableAccess::open(engine, leaf)?;
        Ok(Target { rules: Arc::new(rules), table, indexes })
    }
}

impl ModifyPlan {
    /// UPDATE or DELETE of the row that a child's row names. `None`: it was not changed.
    pub(super) fn change<'s>(
        &self,
        source: &'s [Datum],
        open: &mut OpenLeaves,
        inserter: &mut Inserter,
        cx: &mut ExecContext,
    ) -> Result<Option<Change<'s>>> {
        if self.target.is_view() {
            return self.change_instead(source, cx);
        }
        let leaf = match &self.partitioned {
            None => None,
            Some(leaves) => match leaves.target_of(source, open, cx)? {
                None => return Ok(None),
                leaf => leaf,
            },
        };
        let target = leaf.as_deref().unwrap_or(&self.target);
        let from = target.oid();
        match change_row(self, target, source, cx)? {
            Outcome::Kept => Ok(None),
            Outcome::Done(changed) => {
                let system = self.system_of(&changed, target, cx)?;
                let source = Cow::Borrowed(source);
                Ok(Some(Change { changed, source, from, to: from, system }))
            }
            Outcome::Leaves { old, was, mut new } => {
                self.target.generate(&mut new, cx)?;
                let placed = self.insert(&[&new], open, inserter, cx)?.into_iter().next();
                // A trigger of the other leaf rejected the row, which is already deleted here.
                let Some(placed) = placed.ok_or_else(no_row)? else { return Ok(None) };
                let is = placed.id;
                // To a foreign key on the partitioned table, the row has changed its key.
                self.target.queue_keys(RowCommand::Update, is, (Some(&old), Some(&new)), cx)?;
                let system = self.system_of_moved((target, was), is, cx)?;
                let (mut source, mut to) = (source.to_vec(), from);
                let at = self.partitioned.as_ref().and_then(|leaves| leaves.leaf);
                if let Some(place) = at.and_then(|at| source.get_mut(at)) {
                    *place = Datum::Oid(placed.leaf);
                    to = placed.leaf;
                    new = placed.row.unwrap_or(new);
                }
                let changed = Changed::Updated { old, was, new, is };
                Ok(Some(Change { changed, source: Cow::Owned(source), from, to, system }))
            }
        }
    }
}
