//! The planner: a bound query becomes a tree of plan nodes.
//!
//! ```text
//!   Query ── virtual generated columns as their expressions  (virtual_columns)
//!     │      EXISTS and IN as joins, simple sub-selects merged  (prep, sublinks, pullup)
//!     │      other sub-selects planned (correlation becomes run-time parameters: subselect;
//!     │      EXISTS in two ways: hashed_exists)
//!     │      conditions factored, outer joins reduced, useless joins dropped  (simplify)
//!     │
//!     ├─ from     what follows from equalities with constants (equivalence)
//!     │           base relations: sequential scan (scan), by index (index_path, index_match,
//!     │           like_prefix), by bitmaps (bitmap), by ctid (tid); their costs (path_cost)
//!     │           join order and methods, cheapest first
//!     │           (join, join_graph, join_order, joinpath)
//!     │           or in an index's order                     (ordered)
//!     │           or of rows that are aggregated already     (eager_aggregate)
//!     │           partitioned tables: one leaf's scan for all (partition),
//!     │           joined and grouped leaf by leaf (partitionwise, leaf_match)
//!     │           tables that others inherit from: each one's scan (inherit)
//!     ├─ level    WITH (ctes), then FROM, then what stands above it over each of FROM's plans:
//!     │           upper      grouping, window, project_set, targets, distinct, limit, lock_rows;
//!     │                      the best plan is taken (ties)
//!     │           sorts only of what is not in order yet (pathkeys, sorting); set operations
//!     │           (union, set_op); by several threads where that is cheaper (parallel)
//!     └─ modify   INSERT, UPDATE, DELETE on top
//! ```
//!
//! Costs are in PostgreSQL's units (costsize.c) with its default parameters.
//! While planning, a [`Rel`] carries its *layout*: which column of which
//! range-table entry stands in which slot of its output row. Expressions turn
//! their `Var`s into slots when they are attached to a node.

mod bitmap;
mod by_value;
mod cost;
mod ctes;
mod distinct;
mod eager_aggregate;
mod equivalence;
mod exclusion;
mod group_keys;
mod grouping;
mod hashed_exists;
mod index;
mod index_match;
mod index_path;
mod inherit;
mod inline;
mod inline_functions;
mod join;
mod join_build;
mod join_clause;
mod join_cost;
mod join_graph;
mod join_order;
mod joinpath;
mod lateral;
mod leaf_match;
mod level;
mod like_prefix;
mod limit;
mod lock_rows;
mod lookup_path;
mod memoize;
mod merge_path;
mod modify;
mod never_null;
mod or_clauses;
mod or_lists;
mod ordered;
mod outer_joins;
mod parallel;
mod parallel_append;
mod partition;
mod partitionwise;
mod path;
mod path_cost;
mod pathkeys;
mod prep;
mod preprocess;
mod project_set;
mod pullup;
mod recheck;
mod remote;
mod row_mark;
mod rte_set;
mod scan;
mod search_cycle;
mod selectivity;
mod self_joins;
mod set_op;
mod simplify;
mod sorting;
mod stored_form;
mod sublinks;
mod subselect;
mod targets;
mod tid;
mod ties;
mod union;
mod upper;
mod useless_joins;
mod virtual_columns;
mod window;

pub use by_value::{RowClasses, Sensitive};
pub use exclusion::ConstraintExclusion;
pub use inline_functions::{index_exprs, inline_stored};
pub use like_prefix::pattern_end;
pub use parallel::ParallelSettings;
pub use path_cost::CostParameters;
pub use scan::type_width;

pub(crate) use cost::strip;
pub(crate) use index::same_ordering;
pub(crate) use rte_set::RteSet;

use crate::bind::{BindContext, without_domains};
use crate::expr::{ExecParamId, Expr, TypeRef};
use crate::plan::*;
use crate::query::*;
use hashbrown::{HashMap, HashSet};
use selectivity::{Bases, Origin};
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation};
use steppe_types::{Datum, Error, Oid, Result, interrupt};

/// Settings that plans depend on.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannerSettings {
    /// enable_seqscan
    pub seqscan: bool,
    /// enable_indexscan
    pub indexscan: bool,
    /// enable_indexonlyscan
    pub indexonlyscan: bool,
    /// enable_nestloop
    pub nestloop: bool,
    /// enable_hashjoin
    pub hashjoin: bool,
    /// enable_mergejoin
    pub mergejoin: bool,
    /// enable_hashagg
    pub hashagg: bool,
    /// enable_sort
    pub sort: bool,
    /// enable_incremental_sort
    pub incremental_sort: bool,
    /// enable_material
    pub material: bool,
    /// enable_memoize
    pub memoize: bool,
    /// enable_self_join_elimination
    pub self_join_elimination: bool,
    /// enable_eager_aggregate
    pub eager_aggregate: bool,
    /// min_eager_agg_group_size
    pub eager_group_rows_min: f64,
    /// enable_partitionwise_join
    pub partitionwise_join: bool,
    /// enable_partitionwise_aggregate
    pub partitionwise_aggregate: bool,
    /// enable_partition_pruning
    pub partition_pruning: bool,
    /// constraint_exclusion
    pub constraint_exclusion: ConstraintExclusion,
    /// enable_bitmapscan
    pub bitmapscan: bool,
    /// enable_tidscan
    pub tidscan: bool,
    /// work_mem in kB
    pub work_mem_kb: u64,
    /// hash_mem_multiplier
    pub hash_mem_multiplier: f64,
    /// from_collapse_limit
    pub from_collapse_limit: usize,
    /// join_collapse_limit
    pub join_collapse_limit: usize,
    /// geqo
    pub geqo: bool,
    /// geqo_threshold
    pub geqo_threshold: usize,
    /// The cost parameters.
    pub costs: CostParameters,
    /// Whether and how several threads run a plan.
    pub parallel: ParallelSettings,
}

impl Default for PlannerSettings {
    fn default() -> PlannerSettings {
        PlannerSettings {
            seqscan: true,
            indexscan: true,
            indexonlyscan: true,
            nestloop: true,
            hashjoin: true,
            mergejoin: true,
            hashagg: true,
            sort: true,
            incremental_sort: true,
            material: true,
            memoize: true,
            self_join_elimination: true,
            eager_aggregate: true,
            eager_group_rows_min: 8.0,
            partitionwise_join: false,
            partitionwise_aggregate: false,
            partition_pruning: true,
            constraint_exclusion: ConstraintExclusion::default(),
            bitmapscan: true,
            tidscan: true,
            work_mem_kb: 4096,
            hash_mem_multiplier: 2.0,
            from_collapse_limit: 8,
            join_collapse_limit: 8,
            geqo: true,
            geqo_threshold: 12,
            costs: CostParameters::default(),
            parallel: ParallelSettings::default(),
        }
    }
}

/// The current sizes of tables and other facts of the server; the catalog's statistics may be old
/// or missing.
pub trait TableSizes {
    /// (rows or entries, pages) as far as known without reading it.
    fn size(&self, relation: &Relation) -> (f64, f64);

    /// The rows that a table stores. [`Self::size`] takes a new table to be larger.
    fn stored_rows(&self, relation: &Relation) -> f64 {
        self.size(relation).0
    }

    /// The value that an index's first key has in its first entry or in its last, if it is not
    /// NULL.
    fn end(&self, _index: &Relation, _is_last: bool) -> Option<Datum> {
        None
    }

    /// The value that an expression without columns will have, as far as that is known. It is used
    /// for estimates only.
    fn value(&self, _expr: &Expr) -> Option<Datum> {
        None
    }
}

/// The context of planning besides the query.
pub struct PlannerContext<'a> {
    /// The catalog version the query was bound with.
    pub catalog: &'a Catalog,
    /// The schemas in which names are searched, the session's own temporary one among them.
    pub search_path: &'a [Oid],
    /// Settings.
    pub settings: &'a PlannerSettings,
    /// Sizes of tables.
    pub sizes: &'a dyn TableSizes,
    /// The catalog version that the transaction's snapshot was taken under, if that is an older
    /// one: an index built since may lack entries for row versions that only the snapshot sees
    /// (what PostgreSQL's pg_index.indcheckxmin is for).
    pub older: Option<&'a Catalog>,
    /// Binds stored expressions (checks, index expressions).
    pub io: &'a steppe_types::io::IoContext,
    /// Called now and then during the search for the order of joins: an error (57014) ends it.
    pub interrupts: &'a dyn Fn() -> steppe_types::Result<()>,
    /// Whether the evaluation of an expression's constants and parameters may fail.
    pub may_fail: &'a dyn Fn(&Expr) -> bool,
    /// Examples of the parameters' values, for estimates alone; empty if there are none.
    pub values: &'a [steppe_types::Datum],
}

impl PlannerContext<'_> {
    /// For binding what is kept as text, such as the bodies of functions.
    fn names(&self) -> BindContext<'_> {
        let PlannerContext { catalog, search_path, io, .. } = *self;
        BindContext { catalog, search_path, io, source: "" }
    }

    /// Whether an index has entries for all row versions that the snapshot may see: it was there,
    /// in the same place, when the snapshot was taken, or its table was not there at all.
    fn has_all_versions(&self, index: &Relation) -> bool {
        let Some(older) = self.older else { return true };
        let then = older.relation(index.oid);
        let table = index.index.as_ref().map(|info| info.table);
        then.is_some_and(|then| then.storage == index.storage)
            || table.is_some_and(|table| older.relation(table).is_none())
    }
}

/// Plans a bound query.
pub fn plan(ctx: &PlannerContext<'_>, bound: crate::bind::Bound) -> Result<PlannedStmt> {
    interrupt::catching(|| plan_interruptibly(ctx, bound))
}

/// The same; walks over the query end by unwinding, which leaves nothing behind.
fn plan_interruptibly(ctx: &PlannerContext<'_>, bound: crate::bind::Bound) -> Result<PlannedStmt> {
    let mut planner = Planner::new(ctx);
    planner.for_cursor = bound.positions.is_some();
    let command = bound.query.command;
    let mut columns = result_columns(ctx.catalog, &bound.query);
    let positions = bound.positions.as_ref().map_or(0, |positions| positions.tables.len());
    columns.truncate(columns.len() - 2 * positions);
    for (view, lock) in bound.views {
        planner.use_relation(view, lock);
    }
    let mut query = bound.query;
    let names = ctx.names();
    let inlined = inline_functions::inline(&names, &mut query)?;
    for (view, lock) in inlined.views {
        planner.use_relation(view, lock);
    }
    planner.param_types.clone_from(&bound.param_types);
    let mut plan = match planner.remote(&query)? {
        Some(remote) => remote,
        None => {
            without_domains(ctx.catalog, &mut query);
            // Only the session's own thread has the transaction's sessions on nodes.
            planner.is_parallel = !planner.for_cursor
                && !planner.has_remote_scans
                && parallel::may_be(ctx.settings, &query);
            virtual_columns::expand(ctx.catalog, &mut query)?;
            planner.statement(query)?
        }
    };
    hashed_exists::choose(&mut plan, &mut planner.subplans, planner.ctx.settings.costs);
    let mut mentions = bound.mentioned;
    mentions.extend(inlined.relations);
    mentions.extend(planner.relations.iter().map(|(oid, _)| *oid));
    mentions.append(&mut planner.referencing);
    mentions.sort_unstable();
    mentions.dedup();
    Ok(PlannedStmt {
        command,
        plan,
        subplans: planner.subplans,
        positions: bound.positions,
        exec_params: planner.exec_params,
        param_types: bound.param_types,
        variables: bound.variables,
        columns,
        relations: planner.relations,
        depends_on_literals: planner.depends_on_literals,
        constants: planner.constants.into(),
        sensitive: planner.sensitive.into(),
        mentions,
        functions: bound.functions.into_iter().chain(inlined.functions).collect(),
    })
}

/// The targets that a query returns.
fn result_targets(query: &Query) -> impl Iterator<Item = &Target> {
    let targets = match query.command {
        Command::Select => &query.targets,
        _ => &query.returning,
    };
    targets.iter().filter(|target| !target.hidden)
}

fn result_columns(catalog: &Catalog, query: &Query) -> Vec<ResultColumn> {
    let held = |ty: TypeRef| match catalog.held_type(ty.oid) {
        held if held.oid == ty.oid => (ty, 0),
        held => (TypeRef { oid: held.oid, typmod: held.modifier }, ty.oid),
    };
    result_targets(query)
        .map(|t| {
            let ((ty, domain), origin) = (held(t.expr.ty()), t.origin.unwrap_or((0, 0)));
            ResultColumn { name: t.name.clone(), ty, domain, origin }
        })
        .collect()
}

/// A column of a range-table entry, as layouts name it. Attribute numbers are as in
/// [`PlanNode::SeqScan`]: from 1, or negative for system columns.
pub(crate) type ColumnId = (usize, i16);

/// A plan under construction.
#[derive(Clone, Debug)]
pub(crate) struct Rel {
    pub(crate) plan: Plan,
    /// The column in each output slot.
    pub(crate) layout: Vec<ColumnId>,
    /// The range-table entries that it covers.
    pub(crate) rtes: RteSet,
}

/// A CTE that references can reach: by query level, innermost last.
#[derive(Clone, Copy)]
pub(crate) enum CtePlan {
    /// Run once, scanned by every reference.
    SubPlan(usize),
    /// The CTE is the recursive term being planned: scan its working table.
    WorkTable(usize),
}

/// The planner's state for one statement.
pub(crate) struct Planner<'a> {
    pub(crate) ctx: &'a PlannerContext<'a>,
    pub(crate) subplans: Vec<Plan>,
    pub(crate) exec_params: usize,
    pub(crate) relations: Vec<(Oid, RelationLock)>,
    /// The tables whose foreign keys refer to changed tables. The plan runs statements on them.
    pub(crate) referencing: Vec<Oid>,
    /// CTEs in reach, one list a query level.
    pub(crate) cte_levels: Vec<Vec<(CtePlan, Arc<str>, f64)>>,
    pub(crate) work_tables: usize,
    /// See [`PlannedStmt::depends_on_literals`].
    pub(crate) depends_on_literals: bool,
    /// See [`PlannedStmt::constants`]; those of the query that is being planned.
    constants: Constants,
    /// See [`PlannedStmt::sensitive`].
    sensitive: Vec<Sensitive>,
    /// The entry that the query changes, while its FROM is planned.
    changed: Option<usize>,
    /// The cursor whose row that is.
    current_of: Option<CursorName>,
    /// The scan returns the positions of rows, which an index has as well.
    for_cursor: bool,
    /// The statement is one that several threads may run.
    is_parallel: bool,
    /// Types of `$1 …`.
    param_types: Vec<Oid>,
    /// Distributed tables are scanned.
    has_remote_scans: bool,
    /// The number of their parameters so far.
    scan_params: usize,
    /// Semi joins hand up the inner rows, too, for EvalPlanQual (`recheck`).
    keeps_partners: bool,
    /// The planned part is for a leaf: a partitioned table stands for its average leaf.
    in_leaf: bool,
    /// The number of runs of the scan that is planned, each for other values.
    scan_loops: f64,
    /// The sizes of partitioned tables, once computed.
    partitioned_sizes: HashMap<Oid, partition::PartitionedSize>,
    /// The rows of the entries of the query that is being planned.
    bases: Bases,
    /// The origins of the output columns of WITH queries, by their sub-plans.
    outputs: HashMap<usize, Arc<[Origin]>>,
}

impl<'a> Planner<'a> {
    fn new(ctx: &'a PlannerContext<'a>) -> Planner<'a> {
        Planner {
            ctx,
            subplans: Vec::new(),
            exec_params: 0,
            relations: Vec::new(),
            referencing: Vec::new(),
            cte_levels: Vec::new(),
            work_tables: 0,
            depends_on_literals: false,
            constants: Constants::default(),
            sensitive: Vec::new(),
            changed: None,
            current_of: None,
            for_cursor: false,
            is_parallel: false,
            param_types: Vec::new(),
            has_remote_scans: false,
            scan_params: 0,
            keeps_partners: false,
            in_leaf: false,
            scan_loops: 1.0,
            partitioned_sizes: HashMap::new(),
            bases: Bases::new(),
            outputs: HashMap::new(),
        }
    }

    fn statement(&mut self, query: Query) -> Result<Plan> {
        match query.command {
            Command::Select => self.query(query),
            Command::Insert => self.insert(query),
            Command::Update | Command::Delete => self.update_or_delete(query),
        }
    }

    /// Estimates over a query whose FROM is planned, or is being planned.
    pub(crate) fn estimator<'e>(&'e self, rtes: &'e [Rte]) -> cost::Estimator<'e> {
        cost::Estimator::new(self.ctx, rtes).with_bases(&self.bases).in_leaf(self.in_leaf)
    }

    pub(crate) fn new_param(&mut self) -> ExecParamId {
        self.exec_params += 1;
        self.exec_params - 1
    }

    /// Notes that a statement uses a relation, with the strongest lock it needs.
    pub(crate) fn use_relation(&mut self, oid: Oid, lock: RelationLock) {
        match self.relations.iter_mut().find(|(o, _)| *o == oid) {
            Some((_, held)) => *held = (*held).max(lock),
            None => self.relations.push((oid, lock)),
        }
    }
}

/// Replaces columns by their slots in `layout`.
pub(crate) fn to_slots(expr: Expr, layout: &[ColumnId]) -> Result<Expr> {
    expr.transform(&mut |e| match e {
        Expr::Var { rte, column, levels_up: 0, ty, .. } => {
            let id = column_id(rte, column);
            match layout.iter().position(|l| *l == id) {
                Some(index) => Ok(Expr::Slot { index, ty }),
                None => Err(Error::internal(format!("column {id:?} is not in the plan's row"))),
            }
        }
        Expr::Var { .. } => Err(Error::internal("an outer column was left in a plan")),
        other => Ok(other),
    })
}

pub(crate) fn column_id(rte: usize, column: i32) -> ColumnId {
    // System columns and the row id keep their negative numbers.
    (rte, if column < 0 { column as i16 } else { column as i16 + 1 })
}

/// The range-table entries whose columns occur.
pub(crate) fn rtes_of(expr: &Expr) -> RteSet {
    match expr {
        Expr::Var { rte, levels_up: 0, .. } => return RteSet::one(*rte),
        Expr::Const(..) | Expr::Param { .. } => return RteSet::default(),
        _ => {}
    }
    let mut set = RteSet::default();
    collect_rtes(expr, &mut set);
    set
}

fn collect_rtes(expr: &Expr, set: &mut RteSet) {
    if let Expr::Var { rte, levels_up: 0, .. } = expr {
        set.insert(*rte);
    }
    expr.for_each_child(&mut |child| collect_rtes(child, set));
}

/// Collects the columns that occur.
pub(crate) fn collect_columns(expr: &Expr, out: &mut HashSet<ColumnId>) {
    if let Expr::Var { rte, column, levels_up: 0, .. } = expr {
        out.insert(column_id(*rte, *column));
    }
    expr.for_each_child(&mut |child| collect_columns(child, out));
}

/// Splits nested ANDs into a list of conditions.
pub(crate) fn conjuncts(expr: Expr, out: &mut Vec<Expr>) {
    match expr {
        Expr::And(args) => args.into_iter().for_each(|a| conjuncts(a, out)),
        Expr::Const(Datum::Bool(true), _) => {}
        other => out.push(other),
    }
}

/// Joins conditions by AND.
pub(crate) fn and_all(mut conditions: Vec<Expr>) -> Option<Expr> {
    match conditions.len() {
        0 => None,
        1 => conditions.pop(),
        _ => Some(Expr::And(conditions)),
    }
}

/// A plan node without filter and projection.
pub(crate) fn node(
    node: PlanNode,
    types: Vec<TypeRef>,
    names: Arc<[Arc<str>]>,
    cost: Cost,
) -> Plan {
    Plan { node, filter: None, project: None, types, slot_names: names, cost }
}

/// Whether a volatile function occurs.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    let here = match expr {
        Expr::Func { func, .. } => func.is_volatile(),
        // One that runs once has one result.
        Expr::SubPlan(sub) => !sub.runs_once(),
        _ => false,
    };
    here || expr.any_child(is_volatile)
}

/// Whether a set-returning function occurs.
pub(crate) fn returns_set(expr: &Expr) -> bool {
    matches!(expr, Expr::Func { func, .. } if func.retset) || expr.any_child(returns_set)
}
