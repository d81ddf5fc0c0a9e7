//! A prepared plan: a statement that can be run, and how long the plan is good.
//!
//! A plan is immutable and shared between sessions. It is good for the catalog version that it was
//! made for. It stays good for later published versions as long as the objects that it mentions are
//! unchanged.

use crate::statement::CompiledStmt;
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use steppe_catalog::{Catalog, CatalogStore, Mentions, RelKind};
use steppe_sql::ast::Statement;
use steppe_sql::bind::Params;
use steppe_sql::plan::{Plan, PlanNode, PlannedStmt, RelationLock};
use steppe_sql::query::{Command, LockStrength};
use steppe_storage::Usage;
use steppe_types::Oid;

/// Plans that the optimiser expects to cost more (in PostgreSQL's units) run where
/// they hold up no other session.
const HEAVY_COST: f64 = 2_000.0;

/// A statement that can be run: shared, immutable.
pub struct PreparedPlan {
    /// The syntax tree, for planning it again.
    pub statement: Arc<Statement>,
    /// The text that positions in errors refer to.
    pub source: Arc<str>,
    /// The declared types of parameters. The other types are inferred from the statement.
    pub declared: Params,
    /// The plan.
    pub compiled: Arc<CompiledStmt>,
    /// The catalog version it was planned for.
    pub epoch: u64,
    /// A published version, the same or a later one, up to which no object of the plan has changed.
    good_until: AtomicU64,
    /// The objects of the plan, if it may be good for later versions.
    mentions: Option<Mentions>,
    /// The command, if the plan changes or locks rows: a function that is not VOLATILE refuses it.
    pub changes: Option<&'static str>,
    /// The command that a READ ONLY transaction refuses: the plan changes or locks rows of a table
    /// that is not temporary.
    pub refused_read_only: Option<&'static str>,
    /// Whether it is over partitioned tables, which may gain partitions before it runs.
    pub reads_partitions: bool,
    /// The plan is likely to take long: it runs where it holds up no other session.
    pub is_heavy: bool,
    /// The plan was made for its literals, which parameters cannot replace.
    pub depends_on_literals: bool,
    /// The cost of planning it.
    pub planning: PlanningCost,
    /// Whether rows that it inserts may be held, once that is known ([`crate::change`], `held`).
    pub(crate) holdable: OnceLock<bool>,
    /// The counters of the watch over functions' statements ([`crate::watch`]).
    pub noted: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// The cost of planning a statement that was bound, as PostgreSQL measures it around its planner.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanningCost {
    /// Its time.
    pub nanos: u64,
    /// The pages that it has read.
    pub usage: Usage,
}

impl PreparedPlan {
    /// For a statement that has just been compiled against this version of the catalog.
    pub(super) fn new(
        statement: Arc<Statement>,
        source: Arc<str>,
        declared: Params,
        (compiled, planning): (CompiledStmt, PlanningCost),
        catalog: &Catalog,
    ) -> PreparedPlan {
        let planned = compiled.planned();
        let changes = changes(planned);
        PreparedPlan {
            statement,
            source,
            declared,
            epoch: catalog.epoch,
            good_until: AtomicU64::new(catalog.epoch),
            mentions: Mentions::of(&planned.mentions, &planned.functions, catalog),
            changes,
            refused_read_only: changes.filter(|_| changes_lasting(planned, catalog)),
            reads_partitions: reads_partitions(planned, catalog),
            is_heavy: planned.plan.cost.total > HEAVY_COST,
            depends_on_literals: planned.depends_on_literals,
            compiled: Arc::new(compiled),
            planning,
            holdable: OnceLock::new(),
            noted: OnceLock::new(),
        }
    }

    /// Types of the parameters.
    pub fn param_types(&self) -> &[Oid] {
        &self.compiled.planned().param_types
    }

    /// Whether it locks rows or changes some.
    pub fn writes(&self) -> bool {
        let relations = &self.compiled.planned().relations;
        relations.iter().any(|(_, lock)| *lock != RelationLock::AccessShare)
    }

    /// Whether planning for a published version of the catalog would give this plan.
    #[inline]
    pub fn is_good_for(&self, version: u64, catalogs: &CatalogStore) -> bool {
        self.epoch == version || self.has_outlived(version, catalogs)
    }

    fn has_outlived(&self, version: u64, catalogs: &CatalogStore) -> bool {
        let Some(mentions) = self.mentions.as_ref().filter(|_| self.epoch < version) else {
            return false;
        };
        let known = self.good_until.load(Ordering::Relaxed);
        let is_good = version <= known || catalogs.is_untouched(known, version, mentions);
        if is_good && version > known {
            self.good_until.fetch_max(version, Ordering::Relaxed);
        }
        is_good
    }
}

/// Whether a plan changes or locks rows of a table that is not temporary. A READ ONLY transaction may
/// write temporary tables (execMain.c, ExecCheckXactReadOnly).
fn changes_lasting(planned: &PlannedStmt, catalog: &Catalog) -> bool {
    let is_temporary = |oid| catalog.relation(oid).is_some_and(|r| catalog.is_temporary(r));
    let lasts = |(oid, lock): &(Oid, RelationLock)| {
        *lock != RelationLock::AccessShare && !is_temporary(*oid)
    };
    planned.relations.iter().any(lasts)
}

/// The command of a plan that changes or locks rows.
fn changes(planned: &PlannedStmt) -> Option<&'static str> {
    if planned.relations.iter().all(|(_, lock)| *lock == RelationLock::AccessShare) {
        return None;
    }
    Some(match planned.command {
        Command::Insert => "INSERT",
        Command::Update => "UPDATE",
        Command::Delete => "DELETE",
        Command::Select if planned.subplans.iter().any(modifies) => "SELECT",
        Command::Select => match lock_strength(&planned.plan) {
            LockStrength::KeyShare => "SELECT FOR KEY SHARE",
            LockStrength::Share => "SELECT FOR SHARE",
            LockStrength::NoKeyUpdate => "SELECT FOR NO KEY UPDATE",
            LockStrength::Update => "SELECT FOR UPDATE",
        },
    })
}

/// The mode in which a SELECT locks rows.
fn lock_strength(plan: &Plan) -> LockStrength {
    match &plan.node {
        PlanNode::Limit { child, .. } | PlanNode::Result { child: Some(child), .. } => {
            lock_strength(child)
        }
        PlanNode::LockRows { locks, .. } => {
            locks.first().map_or(LockStrength::Update, |lock| lock.strength)
        }
        _ => LockStrength::Update,
    }
}

fn reads_partitions(planned: &PlannedStmt, catalog: &Catalog) -> bool {
    let is_partitioned =
        |oid| catalog.relation(oid).is_some_and(|r| r.kind == RelKind::PartitionedTable);
    planned.relations.iter().any(|(oid, _)| is_partitioned(*oid))
}

fn modifies(plan: &Plan) -> bool {
    matches!(plan.node, PlanNode::Modify(_) | PlanNode::RemoteInsert(_))
}
