//! Statements about one leaf (docs/design.md 6.3: routed when they are bound).
//!
//! If a statement's conditions fix the whole key of a partitioned table, it concerns one leaf. The
//! session finds the leaf, locks it before it takes the snapshot, and runs a statement made for
//! that leaf, as if the client had named it. Compared with a statement on a plain table, this costs
//! at most one look-up of the bounds.
//!
//! ```text
//!   UPDATE t SET a = $2 WHERE k = $1   ── k = $1 routes ──▶  leaf t_17  ── lock ──▶
//!   UPDATE t_17 SET a = $2 WHERE k = $1                     (kept for the next one)
//! ```
//!
//! The statement is compiled once for all leaves with the same definition ([`Definition`]), and each
//! leaf adds only its handles. So thousands of leaves do not need a copy of the statement each in the
//! processor's cache, and the first statement that meets a leaf compiles nothing.
//!
//! Correctness: the statement's rows are all in that leaf (docs/design.md 12.4, as for pruning),
//! and its new rows stay there. An UPDATE that assigns to a key column is not such a statement.

use super::alike::{Definition, Model, Models};
use super::cache::{ByLeaf, ByPlace, HANDLES_MAX};
use super::pruning::{LeafRouting, SlotValue};
use super::{ColumnMap, LeafMember, LeafSet, LeafTemplate, ScanPruning};
use crate::access::{IndexAccess, TableAccess};
use crate::change::ModifyPlan;
use crate::node::{CNode, CPlan, Exchange};
use crate::point::{PointPlan, PointTable};
use crate::statement::CompiledStmt;
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation};
use steppe_partition::RoutedPartition;
use steppe_sql::bind::{stored_checks, stored_generated, stored_never_null};
use steppe_sql::plan::{ModifyTable, Plan, PlanNode, PlannedStmt, ScanRelation};
use steppe_sql::query::Command;
use steppe_txn::Engine;
use steppe_types::{Error, Oid, Result};

/// The leaves' statements of a statement over one partitioned table.
pub(crate) struct LeafStatements {
    rel: ScanRelation,
    template: LeafTemplate,
    routing: LeafRouting,
    /// By leaf, in the catalog that the statement was planned against. `None`: the leaf needs the
    /// general plan, because its columns are in other places.
    statements: ByLeaf<Option<Arc<CompiledStmt>>>,
    /// The same, of leaves with places.
    placed: ByPlace<Option<Arc<CompiledStmt>>>,
    /// The point statements. `None`: the leaf's statement is none.
    points: ByPlace<Option<LeafPoint>>,
    /// The point statements of leaves that have no place, or had none at first.
    other_points: ByLeaf<Option<Arc<LeafPoint>>>,
    /// `None` as in `statements`.
    models: Models<Option<Arc<CompiledStmt>>>,
}

/// A leaf's handles, as a point statement uses them.
pub(crate) struct LeafPoint {
    statement: Arc<CompiledStmt>,
    index: IndexAccess,
    table: TableAccess,
    others: Box<[IndexAccess]>,
}

impl LeafPoint {
    /// A statement over a leaf that is defined as `model` is, which it was compiled for.
    fn of(
        statement: &Arc<CompiledStmt>,
        model: &Definition,
        leaf: &Definition,
        engine: &Engine,
    ) -> Result<LeafPoint> {
        let scan = PointPlan::scan(statement.root());
        let scan = scan.ok_or_else(|| Error::internal("point statement without a look-up"))?;
        let others = match statement.point() {
            Some(PointPlan::Change { others, .. }) => &others[..],
            _ => &[],
        };
        let open = |index: &IndexAccess| {
            let mut pairs = model.indexes.iter().zip(&leaf.indexes);
            let found = pairs.find(|(its, _)| its.oid == index.oid);
            let (_, relation) = found.ok_or_else(|| Error::internal("leaf without an index"))?;
            index.open_alike(engine, relation)
        };
        Ok(LeafPoint {
            index: open(&scan.index)?,
            table: scan.table.open_alike(engine, &leaf.table)?,
            others: others.iter().map(open).collect::<Result<_>>()?,
            statement: statement.clone(),
        })
    }

    /// The statement, compiled for this leaf or one with the same definition.
    pub(crate) fn statement(&self) -> &CompiledStmt {
        &self.statement
    }

    /// Prefetches the first memory that the statement reads.
    #[inline]
    fn prefetch(&self) {
        self.index.store.prefetch();
        self.table.prefetch();
    }

    /// The table to run it over.
    pub(crate) fn table(&self) -> PointTable<'_> {
        PointTable { table: &self.table, index: &self.index, others: &self.others }
    }
}

impl LeafStatements {
    /// `None`: the statement is of another kind, or its conditions do not fix the key.
    pub(crate) fn of(
        stmt: &PlannedStmt,
        root: &CPlan,
        catalog: &Arc<Catalog>,
    ) -> Result<Option<Box<LeafStatements>>> {
        if !stmt.subplans.is_empty() {
            return Ok(None);
        }
        let scan = match (&stmt.plan.node, &root.kind) {
            (PlanNode::Modify(modify), CNode::Modify(compiled)) => {
                Some(&modify.child).filter(|_| stays_in_leaf(modify, compiled))
            }
            _ => Some(&stmt.plan),
        };
        let scan = scan.filter(|scan| is_of_one_table(scan));
        let Some(PlanNode::PartitionScan { rel, conditions, .. }) = scan.map(|s| &s.node) else {
            return Ok(None);
        };
        if rel.relation.partition_key.is_none() {
            // Routing never finds inheritance children.
            return Ok(None);
        }
        // A leaf's order may need additional columns behind the statement's.
        let template = scan.map_or(Ok(None), LeafTemplate::of)?;
        let template = template.filter(|t| t.is_whole && t.order.is_empty());
        let pruning = ScanPruning::new(&rel.relation, conditions, &[]);
        let Some(template) = template else { return Ok(None) };
        let Some(routing) = pruning.routing(stmt, catalog)? else { return Ok(None) };
        Ok(Some(Box::new(LeafStatements {
            rel: rel.clone(),
            template,
            statements: ByLeaf::default(),
            placed: ByPlace::of_compiled(routing.partitions()),
            points: ByPlace::of_handles(routing.partitions()),
            other_points: ByLeaf::new(HANDLES_MAX),
            routing,
            models: Models::default(),
        })))
    }

    /// The partitioned table.
    pub(crate) fn table(&self) -> Oid {
        self.rel.relation.oid
    }

    /// The leaf that an execution concerns. `None`: the general plan runs.
    pub(crate) fn leaf(
        &self,
        stmt: &PlannedStmt,
        catalog: &Arc<Catalog>,
        value: &mut SlotValue<'_>,
    ) -> Result<Option<RoutedPartition>> {
        self.routing.leaf(stmt, catalog, value, &mut |found| {
            let point = found.place.and_then(|place| self.points.get(place));
            if let Some(Some(point)) = point {
                point.prefetch();
            }
            point.is_some()
        })
    }

    /// Runs `f` over the point statement about a leaf, if it is one.
    pub(crate) fn with_point<R>(
        &self,
        stmt: &PlannedStmt,
        leaf: RoutedPartition,
        catalog: &Arc<Catalog>,
        engine: &Engine,
        f: impl FnOnce(&LeafPoint) -> Result<Option<R>>,
    ) -> Result<Option<R>> {
        let place = leaf.place.filter(|place| self.points.has_room(*place));
        let Some(place) = place else {
            if let Some(found) = self.other_points.get(leaf.relation, Clone::clone) {
                return found.as_deref().map_or(Ok(None), f);
            }
            let made = self.make_point(stmt, leaf.relation, catalog, engine)?.map(Arc::new);
            self.other_points.put(leaf.relation, made.clone());
            return made.as_deref().map_or(Ok(None), f);
        };
        if let Some(found) = self.points.get(place) {
            return found.as_ref().map_or(Ok(None), f);
        }
        // The point statement may have been made before places were known.
        let met = self.other_points.take(leaf.relation).flatten().and_then(Arc::into_inner);
        let made = match met {
            None => self.make_point(stmt, leaf.relation, catalog, engine)?,
            met => met,
        };
        self.points.put(place, made).as_ref().map_or(Ok(None), f)
    }

    fn make_point(
        &self,
        stmt: &PlannedStmt,
        leaf: Oid,
        catalog: &Arc<Catalog>,
        engine: &Engine,
    ) -> Result<Option<LeafPoint>> {
        let leaf = definition(leaf, catalog)?;
        let model = self.model(stmt, &leaf, catalog, engine)?;
        match (&model.compiled, &model.leaves[..]) {
            (Some(statement), [of]) if statement.is_point() => {
                LeafPoint::of(statement, of, &leaf, engine).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The statement about a leaf, if it has one.
    pub(crate) fn statement(
        &self,
        stmt: &PlannedStmt,
        RoutedPartition { relation: leaf, place }: RoutedPartition,
        catalog: &Arc<Catalog>,
        engine: &Engine,
    ) -> Result<Option<Arc<CompiledStmt>>> {
        let place = place.filter(|place| self.placed.has_room(*place));
        if let Some(found) = place.and_then(|place| self.placed.get(place)) {
            return Ok(found.clone());
        }
        let made = match self.statements.get(leaf, Clone::clone) {
            Some(found) => found,
            None => self.make_statement(stmt, leaf, catalog, engine)?,
        };
        match place {
            Some(place) => {
                self.placed.put(place, made.clone());
            }
            None => self.statements.put(leaf, made.clone()),
        }
        Ok(made)
    }

    fn make_statement(
        &self,
        stmt: &PlannedStmt,
        leaf: Oid,
        catalog: &Arc<Catalog>,
        engine: &Engine,
    ) -> Result<Option<Arc<CompiledStmt>>> {
        let definition = definition(leaf, catalog)?;
        let model = self.model(stmt, &definition, catalog, engine)?;
        let leaves = std::slice::from_ref(&definition);
        Ok(match &model.compiled {
            Some(compiled) if model.leaves[0].table.oid != leaf => {
                let leaves = Exchange { from: &model.leaves, to: leaves, engine };
                match compiled.over(&leaves)? {
                    Some(statement) => Some(Arc::new(statement)),
                    None => self.compile(stmt, &definition.table, catalog, engine)?,
                }
            }
            compiled => compiled.clone(),
        })
    }

    /// The statement about a leaf with this definition, and that leaf.
    fn model(
        &self,
        stmt: &PlannedStmt,
        leaf: &Definition,
        catalog: &Arc<Catalog>,
        engine: &Engine,
    ) -> Result<Arc<Model<Option<Arc<CompiledStmt>>>>> {
        if let Some(model) = self.models.of(std::slice::from_ref(leaf), catalog.epoch) {
            return Ok(model);
        }
        let made = self.compile(stmt, &leaf.table, catalog, engine)?;
        Ok(self.models.put([Definition::of(&leaf.table, catalog)], catalog.epoch, made))
    }

    fn compile(
        &self,
        stmt: &PlannedStmt,
        leaf: &Arc<Relation>,
        catalog: &Arc<Catalog>,
        engine: &Engine,
    ) -> Result<Option<Arc<CompiledStmt>>> {
        let Some(planned) = self.plan_for(stmt, leaf, catalog)? else { return Ok(None) };
        let made = CompiledStmt::compile(Arc::new(planned), catalog, engine)?;
        Ok(Some(Arc::new(made)).filter(|made| is_of_leaf_alone(made.root())))
    }

    /// The plan of the statement about a leaf.
    fn plan_for(
        &self,
        stmt: &PlannedStmt,
        leaf: &Arc<Relation>,
        catalog: &Catalog,
    ) -> Result<Option<PlannedStmt>> {
        let plan = match &stmt.plan.node {
            PlanNode::Modify(modify) => {
                if ColumnMap::new(&modify.rel.relation, leaf)?.is_some() {
                    return Ok(None);
                }
                let modify = ModifyTable {
                    rel: ScanRelation { relation: leaf.clone(), alias: modify.rel.alias.clone() },
                    indexes: catalog.indexes_of(leaf).cloned().collect(),
                    child: self.scan_of(leaf, catalog)?,
                    leaf: None,
                    generated: stored_generated(catalog, leaf)?,
                    never_null: stored_never_null(catalog, leaf)?,
                    checks: stored_checks(catalog, leaf)?,
                    ..(**modify).clone()
                };
                Plan { node: PlanNode::Modify(Box::new(modify)), ..stmt.plan.clone() }
            }
            _ => self.scan_of(leaf, catalog)?,
        };
        Ok(Some(PlannedStmt { plan, ..stmt.clone() }))
    }

    fn scan_of(&self, leaf: &Arc<Relation>, catalog: &Catalog) -> Result<Plan> {
        let member = LeafMember {
            table: self.rel.clone(),
            leaf: Some(leaf.clone()),
            alias: self.rel.alias.clone(),
        };
        self.template.plan_of(catalog, &LeafSet { members: vec![member] })
    }
}

fn definition(leaf: Oid, catalog: &Catalog) -> Result<Definition> {
    let relation = catalog.relation(leaf);
    let relation = relation.ok_or_else(|| Error::internal("routed to no relation"))?;
    Ok(Definition::of(relation, catalog))
}

/// Whether a scan joins nothing leaf by leaf.
fn is_of_one_table(scan: &Plan) -> bool {
    matches!(&scan.node, PlanNode::PartitionScan { partners, .. } if partners.is_empty())
}

/// Whether a change is one that the leaf's own statement can make.
fn stays_in_leaf(modify: &ModifyTable, compiled: &ModifyPlan) -> bool {
    matches!(modify.command, Command::Update | Command::Delete)
        && compiled.partitioned.is_some()
        && modify.on_conflict.is_none()
        && modify.view_checks.is_empty()
        && compiled.target.hooks.is_none()
}

/// Whether a statement about a leaf can do without the table: an UPDATE changes no columns that
/// decide where a row belongs, and no triggers are met, of which some would be the table's.
fn is_of_leaf_alone(root: &CPlan) -> bool {
    let CNode::Modify(modify) = &root.kind else { return true };
    let moves = modify.command == Command::Update && modify.target.written.moves;
    !moves && modify.target.hooks.is_none()
}
