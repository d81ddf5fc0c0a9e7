//! From the planner's plan to compiled nodes.

use super::agg::{AggPlan, AggSort, CAggregate};
use super::bitmap_scan::BitmapPlan;
use super::cte::{CteScanPlan, RecursiveUnionPlan};
use super::expand::ExpandPlan;
use super::function_scan::{FromCall, FunctionScanPlan, ProjectSetPlan, SetTarget};
use super::gather::GatherPlan;
use super::hash_join::{ColumnJoin, HashJoinPlan};
use super::incremental_sort::IncrementalSortPlan;
use super::limit::LimitPlan;
use super::lock_rows::{CRowLock, LockRowsPlan, LockedRows};
use super::merge_append::MergeAppendPlan;
use super::merge_join::MergeJoinPlan;
use super::nest_loop::{ColumnLoop, NestLoopPlan};
use super::partition_scan::{PartitionScanPlan, Partner};
use super::remote_insert::RemoteInsertPlan;
use super::remote_query::{RemotePlan, Target as RemoteNodes};
use super::remote_rows::RemoteColumns;
use super::result::ResultPlan;
use super::seq_scan::SeqScanPlan;
use super::set_op::SetOpPlan;
use super::sort::{SortKeys, SortPlan};
use super::tid_scan::TidPlan;
use super::unique::UniquePlan;
use super::window::{CCall, WindowPlan};
use super::window_frame::{CFrame, CFrameBound, CFrameOffset};
use super::{CNode, CPlan};
use crate::access::{IndexAccess, ScanColumn, TableAccess};
use crate::aggregate::AggKind;
use crate::change::{
    Captures, ConflictPlan, GeneratedColumn, ModifyPlan, Partitioned, Target, TargetRules, Written,
    arbiters, commands_of, not_null_columns,
};
use crate::deps::count_nodes;
use crate::expr::{CExpr, Compiler, signature};
use crate::partition::{LeafCache, LeafTemplate, Models, PartitionCheck, ScanPruning};
use crate::routine::Columns;
use crate::sorter::SortColumn;
use crate::system_columns::VersionColumn;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use steppe_catalog::objects::FinishModify;
use steppe_catalog::{Function, RelKind, Relation};
use steppe_cluster::transaction::Effect;
use steppe_sql::expr::{Aggregate, Expr, SortKey, TypeRef, WindowCall};
use steppe_sql::plan::{
    AggMode, InnerRows, ModifyTable, Plan, PlanNode, PlannedStmt, RemoteEffect, RemoteInsert,
    RemoteQuery, RemoteTarget, RowLock, is_dealt_out,
};
use steppe_sql::query::{FrameBound, FrameOffset, LockStrength};
use steppe_txn::{Engine, RowLockMode};
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// Compiles plans; numbers nodes in pre-order, as EXPLAIN walks them.
pub(crate) struct PlanCompiler<'a, 'b> {
    pub(crate) exprs: &'b mut Compiler<'a>,
    /// The statement, for parts that are compiled only when they run.
    pub(crate) stmt: &'b Arc<PlannedStmt>,
    /// The engine; `None` compiles plans without tables.
    pub(crate) engine: Option<&'b Engine>,
    pub(crate) next_id: usize,
    /// Highest working table number + 1.
    pub(crate) work_tables: usize,
    /// The next Modify node gives the statement's row count.
    pub(crate) top: bool,
    /// The next Result node is one row of many, with this number of parameters.
    pub(crate) row_params: Option<usize>,
    /// The scans of partitioned tables that the threads of the next Gather share.
    pub(crate) shared_scans: Vec<Arc<CPlan>>,
    /// The scans of tables on nodes.
    pub(crate) scans: Vec<Arc<CPlan>>,
    /// The number of nodes around that may run the present one several times.
    pub(crate) loops: u32,
}

/// The child's rows, found by the threads that run the plan together, or by one of them with
/// `once`.
fn shared_rows(id: usize, child: Arc<CPlan>, once: bool) -> Arc<CPlan> {
    Arc::new(CPlan {
        id,
        columns: None,
        filter: None,
        project: None,
        width: child.width,
        dependencies: child.dependencies.clone(),
        kind: CNode::SharedRows { child, once },
    })
}

/// Compiles a plan tree.
pub(crate) fn compile_plan(compiler: &mut PlanCompiler<'_, '_>, plan: &Plan) -> Result<Arc<CPlan>> {
    compiler.plan(plan)
}

impl PlanCompiler<'_, '_> {
    pub(super) fn plan(&mut self, plan: &Plan) -> Result<Arc<CPlan>> {
        let id = self.next_id;
        self.next_id += 1;
        let kind = self.node(plan)?;
        // Some nodes apply their filter and projection themselves.
        let (filters, projects) = match &kind {
            CNode::PartitionScan(scan) => (!scan.template.is_whole, !scan.template.is_whole),
            CNode::ProjectSet(_) => (true, false),
            _ => (true, true),
        };
        let filter = plan.filter.as_ref().filter(|_| filters);
        let project = plan.project.as_ref().filter(|_| projects);
        let project = match &kind {
            CNode::ParamRows(_) => project.map(|project| self.exprs.list(&over_row(project))),
            _ => project.map(|project| self.exprs.list(project)),
        };
        let filter = filter.map(|filter| self.exprs.expr(filter)).transpose()?;
        let columns = self.column_plan(&kind, plan)?;
        let is_shared = matches!(&kind, CNode::PartitionScan(scan) if scan.is_shared);
        let compiled = Arc::new(CPlan {
            id,
            columns: columns.map(Arc::new),
            filter: filter.map(Arc::new),
            project: project.transpose()?.map(Arc::from),
            width: plan.types.len(),
            dependencies: self.exprs.dependencies.of_plan(plan),
            kind,
        });
        if is_shared {
            self.shared_scans.push(compiled.clone());
        }
        if matches!(&compiled.kind, CNode::RemoteQuery(remote) if remote.effect == Effect::Read) {
            self.scans.push(compiled.clone());
        }
        Ok(compiled)
    }

    /// A child that runs several times.
    fn looped(&mut self, plan: &Plan) -> Result<Arc<CPlan>> {
        self.loops += 1;
        let compiled = self.plan(plan);
        self.loops -= 1;
        compiled
    }

    fn remote_query(&mut self, remote: &RemoteQuery) -> Result<RemotePlan> {
        let target = match &remote.target {
            RemoteTarget::Key { distribution, key, type_oid, .. } => {
                RemoteNodes::Key(Arc::clone(distribution), self.exprs.expr(key)?, *type_oid)
            }
            RemoteTarget::Parameter { distribution, place, type_oid, .. } => {
                RemoteNodes::Parameter(Arc::clone(distribution), *place, *type_oid)
            }
            RemoteTarget::Keys { distribution, place, type_oid } => {
                RemoteNodes::Keys(Arc::clone(distribution), *place, *type_oid)
            }
            RemoteTarget::Any(nodes) => RemoteNodes::Any(nodes.clone()),
            RemoteTarget::All(nodes) => RemoteNodes::All(nodes.clone()),
            RemoteTarget::Every(nodes) => RemoteNodes::Every(nodes.clone()),
        };
        let others = match &remote.target {
            RemoteTarget::Key { others, .. } | RemoteTarget::Parameter { others, .. } => {
                let compiled = others.iter().map(|other| {
                    let key = self.exprs.expr(&other.key)?;
                    Ok((key, other.type_oid, other.error.clone()))
                });
                compiled.collect::<Result<_>>()?
            }
            _ => Box::default(),
        };
        let types = remote.params.iter().map(|param| param.ty().oid);
        let types = std::iter::repeat_n(oid::TEXT, remote.params_before).chain(types);
        Ok(RemotePlan {
            text: Arc::clone(&remote.text),
            params: self.exprs.list(&remote.params)?,
            types: types.collect(),
            padding: remote.params_before,
            target,
            others,
            effect: match remote.effect {
                RemoteEffect::Read => Effect::Read,
                RemoteEffect::Rows => Effect::Rows,
                RemoteEffect::Any => Effect::Any,
            },
            columns: RemoteColumns::new(&remote.columns),
            is_kept: self.loops > 0,
            is_long: AtomicBool::new(false),
        })
    }

    fn remote_insert(
        &mut self,
        insert: &RemoteInsert,
        returned: &[TypeRef],
    ) -> Result<RemoteInsertPlan> {
        let counts = std::mem::take(&mut self.top);
        let relation = &insert.rel.relation;
        let distribution = relation.distribution.as_ref();
        let distribution =
            distribution.ok_or_else(|| Error::internal("the table is not distributed"))?;
        let typed = |at: usize| (at, relation.columns.get(at).map_or(0, |column| column.type_oid));
        let key = distribution.key().and_then(|key| usize::try_from(key - 1).ok());
        let params = self.exprs.list(&insert.params)?;
        let types = insert.columns.iter().map(|_| 0);
        Ok(RemoteInsertPlan {
            child: self.plan(&insert.child)?,
            text: Arc::clone(&insert.text),
            columns: insert.columns.iter().map(|at| typed(*at)).collect(),
            params,
            types: types.chain(insert.params.iter().map(|param| param.ty().oid)).collect(),
            distribution: Arc::clone(distribution),
            key: key.map(typed),
            conflict: insert.conflict,
            returned: RemoteColumns::new(returned),
            counts,
        })
    }

    fn node(&mut self, plan: &Plan) -> Result<CNode> {
        Ok(match &plan.node {
            PlanNode::Result { one_time_filter: None, child: None }
                if let Some(width) = self.row_params.take() =>
            {
                CNode::ParamRows(width)
            }
            PlanNode::Result { one_time_filter, child } => CNode::Result(ResultPlan {
                one_time_filter: self.exprs.option(one_time_filter)?,
                child: child.as_ref().map(|c| self.plan(c)).transpose()?,
            }),
            PlanNode::Values(lists) => {
                CNode::Values(lists.iter().map(|l| self.exprs.list(l)).collect::<Result<_>>()?)
            }
            PlanNode::RemoteQuery(remote) => {
                CNode::RemoteQuery(Box::new(self.remote_query(remote)?))
            }
            PlanNode::RemoteInsert(insert) => {
                CNode::RemoteInsert(Box::new(self.remote_insert(insert, &plan.types)?))
            }
            PlanNode::FunctionScan { calls, ordinality, columns, .. } => {
                let mut rest = &columns[..];
                let calls = calls.iter().map(|(e, width)| {
                    let own = rest.split_off(..*width).unwrap_or_default();
                    Ok((self.call_in_from(e, own)?, *width))
                });
                let calls = calls.collect::<Result<_>>()?;
                CNode::FunctionScan(FunctionScanPlan { calls, ordinality: *ordinality })
            }
            PlanNode::SeqScan { rel, columns, cursor, parallel } => CNode::SeqScan(SeqScanPlan {
                is_virtual: !matches!(rel.relation.kind, RelKind::Table),
                table: self.table(&rel.relation)?,
                columns: scan_columns(columns)?,
                cursor: cursor.clone(),
                shared_as: parallel.then_some(self.next_id - 1),
            }),
            PlanNode::Gather { child, workers, order } => {
                let keys = self.sort_keys(order, child.types.len())?.columns;
                let order = (!keys.is_empty()).then_some(keys);
                let child = self.plan(child)?;
                let scans = std::mem::take(&mut self.shared_scans).into();
                CNode::Gather(GatherPlan { workers: *workers, child, order, scans })
            }
            PlanNode::IndexScan { rel, index, range, backward, index_only, columns } => {
                CNode::IndexScan(Box::new(self.index_scan(
                    &rel.relation,
                    index,
                    range,
                    *backward,
                    *index_only,
                    columns,
                )?))
            }
            PlanNode::TidScan { rel, rows, columns, .. } => CNode::TidScan(Box::new(TidPlan {
                table: self.table(&rel.relation)?,
                columns: scan_columns(columns)?,
                rows: self.tid_rows(rows)?,
            })),
            PlanNode::BitmapScan { rel, bitmap, recheck, columns } => {
                CNode::BitmapScan(Box::new(BitmapPlan {
                    table: self.table(&rel.relation)?,
                    columns: scan_columns(columns)?,
                    recheck: self.exprs.expr(recheck)?,
                    bitmap: self.plan(bitmap)?,
                }))
            }
            PlanNode::BitmapIndexScan { rel, index, range } => CNode::BitmapIndexScan(Box::new(
                self.index_scan(&rel.relation, index, range, false, false, &[])?,
            )),
            PlanNode::BitmapAnd(inputs) => CNode::BitmapAnd(self.plans(inputs)?),
            PlanNode::BitmapOr(inputs) => CNode::BitmapOr(self.plans(inputs)?),
            PlanNode::PartitionScan { rel, template, conditions, order, partners, matched } => {
                let template_id = self.next_id;
                self.next_id += count_nodes(template);
                let leaf = LeafTemplate::of(plan)?;
                let leaf = leaf.ok_or_else(|| Error::internal("not a partition scan"))?;
                CNode::PartitionScan(Box::new(PartitionScanPlan {
                    stmt: self.stmt.clone(),
                    rel: rel.clone(),
                    keys: self.sort_keys(&leaf.order, leaf.plan.types.len())?.columns,
                    template: leaf,
                    template_id,
                    leaves: LeafCache::default(),
                    models: Models::default(),
                    pruning: ScanPruning::new(&rel.relation, conditions, order),
                    is_parameterized: PartitionScanPlan::is_parameterized(conditions),
                    partners: partners.iter().map(Partner::new).collect(),
                    matched: matched.clone(),
                    is_shared: is_dealt_out(template),
                }))
            }
            PlanNode::NestLoop { kind, outer, inner, params, on } => {
                let outer = self.plan(outer)?;
                let inner = self.looped(inner)?;
                let columns = ColumnLoop::compile(plan, (&outer, &inner), self.exprs)?;
                let params = params.iter().map(|(id, e)| Ok((*id, self.exprs.expr(e)?)));
                CNode::NestLoop(NestLoopPlan {
                    columns: columns.map(Arc::new),
                    kind: *kind,
                    outer,
                    inner,
                    params: params.collect::<Result<_>>()?,
                    on: self.exprs.option(on)?.map(Arc::new),
                })
            }
            PlanNode::HashJoin { .. } | PlanNode::MergeJoin { .. } => self.key_join(plan)?,
            PlanNode::Materialize(child) => CNode::Materialize(self.plan(child)?),
            PlanNode::Memoize { child, keys, is_binary, memory_factor } => {
                self.memoize(child, (keys, *is_binary), *memory_factor)?
            }
            PlanNode::Sort { child, keys, presorted, bound } => {
                let rows = child.cost.rows;
                let written = keys;
                let keys = self.sort_keys(keys, child.types.len())?;
                let bound = self.exprs.option(bound)?;
                let child = self.plan(child)?;
                match *presorted {
                    0 => {
                        let columns = self.sort_columns(written, &child, rows)?;
                        CNode::Sort(SortPlan { keys, bound, columns, child })
                    }
                    presorted => CNode::IncrementalSort(IncrementalSortPlan {
                        keys,
                        presorted,
                        bound,
                        child,
                    }),
                }
            }
            PlanNode::Limit { child, limit, offset, ties } => CNode::Limit(LimitPlan {
                limit: self.exprs.option(limit)?,
                offset: self.exprs.option(offset)?,
                ties: match ties {
                    Some(keys) => Some(self.sort_keys(keys, child.types.len())?),
                    None => None,
                },
                child: self.plan(child)?,
            }),
            PlanNode::Agg {
                child,
                strategy,
                mode,
                keys,
                aggregates,
                empty_groups,
                memory_factor,
            } => {
                let calls = aggregates.iter().enumerate();
                let call = |(i, call)| match mode {
                    AggMode::Finalize => self.state_of(call, keys.len() + i),
                    _ => self.aggregate(call),
                };
                let aggregates = calls.map(call).collect::<Result<Box<[_]>>>()?;
                let compiled_keys = self.exprs.list(keys)?;
                let child = self.plan(child)?;
                CNode::Agg(AggPlan {
                    columns: self.agg_columns(&plan.node, &child, &aggregates)?,
                    collects: aggregates.iter().any(|call| call.kind.collects()),
                    strategy: *strategy,
                    mode: *mode,
                    keys: compiled_keys,
                    key_types: keys.iter().map(|k| k.ty().oid).collect(),
                    aggregates,
                    empty_groups: empty_groups.clone().into(),
                    memory_factor: *memory_factor,
                    child,
                })
            }
            PlanNode::Expand { child, keys, sets, groupings } => {
                let mark = |(number, values): (usize, &Vec<i32>)| {
                    let number = std::iter::once(Datum::Int4(number as i32));
                    number.chain(values.iter().map(|v| Datum::Int4(*v))).collect()
                };
                CNode::Expand(ExpandPlan {
                    keys: self.exprs.list(keys)?,
                    sets: sets.clone().into(),
                    marks: groupings.iter().enumerate().map(mark).collect(),
                    child: self.plan(child)?,
                })
            }
            PlanNode::WindowAgg { .. } => self.window_agg(&plan.node)?,
            PlanNode::Unique { child, columns } => CNode::Unique(UniquePlan {
                columns: columns
                    .iter()
                    .map(|i| {
                        let ty = child.types.get(*i);
                        Ok((*i, ty.ok_or_else(|| Error::internal("Unique: no such column"))?.oid))
                    })
                    .collect::<Result<_>>()?,
                child: self.plan(child)?,
            }),
            PlanNode::Append(children) => CNode::Append(self.plans(children)?),
            PlanNode::MergeAppend { children, keys } => CNode::MergeAppend(MergeAppendPlan {
                children: children.iter().map(|c| self.plan(c)).collect::<Result<_>>()?,
                keys: self.sort_keys(keys, plan.types.len())?.columns,
            }),
            PlanNode::SetOp { op, all, left, right, order } => CNode::SetOp(SetOpPlan {
                op: *op,
                all: *all,
                order: self.sort_keys(order, left.types.len())?.columns,
                types: left.types.iter().map(|t| t.oid).collect(),
                left: self.plan(left)?,
                right: self.plan(right)?,
            }),
            PlanNode::SubqueryScan { child, .. } => CNode::Subquery(self.plan(child)?),
            PlanNode::ProjectSet(child) => self.project_set(plan, child)?,
            PlanNode::LockRows { child, locks, recheck, outer_joins } => {
                let recheck = self.exprs.option(recheck)?;
                let outer_joins = outer_joins
                    .iter()
                    .map(|(on, slots)| Ok((self.exprs.expr(on)?, slots.clone().into())))
                    .collect::<Result<_>>()?;
                self.lock_rows(child, locks, recheck, outer_joins)?
            }
            PlanNode::CteScan { plan, .. } => CNode::CteScan(CteScanPlan { plan: *plan }),
            PlanNode::RecursiveUnion { left, right, all, work_table } => {
                self.work_tables = self.work_tables.max(work_table + 1);
                CNode::RecursiveUnion(RecursiveUnionPlan {
                    all: *all,
                    work_table: *work_table,
                    types: left.types.iter().map(|t| t.oid).collect(),
                    left: self.plan(left)?,
                    right: self.looped(right)?,
                })
            }
            PlanNode::WorkTableScan { work_table, .. } => {
                self.work_tables = self.work_tables.max(work_table + 1);
                CNode::WorkTableScan(*work_table)
            }
            PlanNode::Modify(modify) => CNode::Modify(Box::new(self.modify(modify)?)),
        })
    }

    fn plans(&mut self, plans: &[Plan]) -> Result<Box<[Arc<CPlan>]>> {
        plans.iter().map(|plan| self.plan(plan)).collect()
    }

    pub(super) fn table(&mut self, relation: &Arc<Relation>) -> Result<TableAccess> {
        let engine = self
            .engine
            .ok_or_else(|| Error::internal("plan touches a table, and there is no engine"))?;
        TableAccess::open(engine, relation)
    }

    pub(super) fn index(
        &mut self,
        table: &Arc<Relation>,
        relation: &Arc<Relation>,
    ) -> Result<IndexAccess> {
        let engine = self
            .engine
            .ok_or_else(|| Error::internal("plan touches an index, and there is no engine"))?;
        IndexAccess::open(engine, table, relation, self.exprs)
    }

    /// A call in FROM that gives these columns.
    fn call_in_from(&mut self, expr: &Expr, columns: &[(Arc<str>, TypeRef)]) -> Result<FromCall> {
        let column = |(name, ty): &(Arc<str>, TypeRef)| (Arc::clone(name), ty.oid, ty.typmod);
        let is_record = expr.ty().oid == oid::RECORD;
        let columns: Option<Columns> = is_record.then(|| columns.iter().map(column).collect());
        if let Some(call) = self.exprs.set_call(expr, columns.as_ref())? {
            return Ok(FromCall::Set(call));
        }
        let of_row = columns.map(|columns| self.exprs.row_call(expr, &columns)).transpose()?;
        let call = match of_row.flatten() {
            Some(call) => call,
            None => self.exprs.expr(expr)?,
        };
        Ok(FromCall::Scalar(match &call {
            // A result of one column is that column's value, not a row.
            CExpr::RoutineCall(routine) if routine.gives_one_column() => {
                CExpr::Field { arg: Box::new(call), index: 0 }
            }
            _ => call,
        }))
    }

    fn project_set(&mut self, plan: &Plan, child: &Plan) -> Result<CNode> {
        let targets = plan.project.iter().flatten().map(|e| {
            Ok(match self.exprs.set_call(e, None)? {
                Some(call) => SetTarget::Set(call),
                None => SetTarget::Scalar(self.exprs.expr(e)?),
            })
        });
        let targets = targets.collect::<Result<_>>()?;
        Ok(CNode::ProjectSet(ProjectSetPlan { targets, child: self.plan(child)? }))
    }

    fn key_join(&mut self, plan: &Plan) -> Result<CNode> {
        match &plan.node {
            PlanNode::HashJoin { kind, outer, inner, keys, on, memory_factor, inner_rows } => {
                let types = keys.iter().map(|(outer, inner, eq)| join_type(outer, inner, eq));
                let types = types.collect();
                let outer_keys =
                    keys.iter().map(|(k, ..)| self.exprs.expr(k)).collect::<Result<_>>()?;
                let inner_keys =
                    keys.iter().map(|(_, k, _)| self.exprs.expr(k)).collect::<Result<_>>()?;
                let on = self.exprs.option(on)?;
                let outer = self.plan(outer)?;
                // EXPLAIN shows a Hash node above the inner side.
                let hash_id = self.next_id;
                self.next_id += 1;
                let inner = self.plan(inner)?;
                let inner = match inner_rows {
                    InnerRows::Own => inner,
                    shared => shared_rows(hash_id, inner, *shared == InnerRows::Once),
                };
                let columns = ColumnJoin::compile(plan, (&outer, &inner), self.exprs)?;
                Ok(CNode::HashJoin(HashJoinPlan {
                    columns,
                    kind: *kind,
                    outer,
                    inner,
                    outer_keys,
                    inner_keys,
                    types,
                    on,
                    memory_factor: *memory_factor,
                    hash_id,
                }))
            }
            PlanNode::MergeJoin { kind, outer, inner, keys, on } => {
                Ok(CNode::MergeJoin(MergeJoinPlan {
                    kind: *kind,
                    types: keys.iter().map(|(k, _)| k.ty().oid).collect(),
                    outer_keys: keys
                        .iter()
                        .map(|(k, _)| self.exprs.expr(k))
                        .collect::<Result<_>>()?,
                    inner_keys: keys
                        .iter()
                        .map(|(_, k)| self.exprs.expr(k))
                        .collect::<Result<_>>()?,
                    on: self.exprs.option(on)?,
                    outer: self.plan(outer)?,
                    inner: self.plan(inner)?,
                }))
            }
            _ => Err(Error::internal("not a join on keys")),
        }
    }

    /// Keys over rows of `width` columns: columns by name, the rest computed after them.
    pub(crate) fn sort_keys(&mut self, keys: &[SortKey], width: usize) -> Result<SortKeys> {
        let mut columns = Vec::with_capacity(keys.len());
        let mut computed = Vec::new();
        for key in keys {
            let index = match &key.expr {
                Expr::Slot { index, .. } if *index < width => *index,
                other => {
                    computed.push(self.exprs.expr(other)?);
                    width + computed.len() - 1
                }
            };
            columns.push(SortColumn {
                index,
                type_oid: key.expr.ty().oid,
                descending: key.descending,
                nulls_first: key.nulls_first,
            });
        }
        Ok(SortKeys { columns: columns.into(), computed: computed.into() })
    }

    /// An aggregate of states that are in a slot of the child's output.
    fn state_of(&mut self, aggregate: &Aggregate, index: usize) -> Result<CAggregate> {
        let kind = AggKind::compile(aggregate, self.exprs)?;
        let args = self.exprs.list(&[Expr::Slot { index, ty: aggregate.ty }])?;
        let ret = aggregate.ty.oid;
        let direct = Box::new([]);
        Ok(CAggregate { kind, args, filter: None, sort: None, distinct: None, direct, ret })
    }

    fn aggregate(&mut self, aggregate: &Aggregate) -> Result<CAggregate> {
        let kind = AggKind::compile(aggregate, self.exprs)?;
        let args = self.exprs.list(&aggregate.args)?;
        let filter = self.exprs.option(&aggregate.filter)?;
        let ret = aggregate.ty.oid;
        if aggregate.is_ordered_set() {
            // The sorted values are WITHIN GROUP's; the arguments are direct.
            let sort = Some(self.agg_sort(&[], &aggregate.order_by, false)?);
            let (direct, args) = (args, Box::new([]));
            return Ok(CAggregate { kind, args, filter, sort, distinct: None, direct, ret });
        }
        let sort = if aggregate.distinct || !aggregate.order_by.is_empty() {
            Some(self.agg_sort(&aggregate.args, &aggregate.order_by, aggregate.distinct)?)
        } else {
            None
        };
        let distinct = match &aggregate.args[..] {
            [arg] if aggregate.is_distinct_by_hash() => Some(arg.ty().oid),
            _ => None,
        };
        Ok(CAggregate { kind, args, filter, sort, distinct, direct: Box::new([]), ret })
    }

    /// The sorted rows have the arguments and the additional expressions of ORDER BY. DISTINCT
    /// sorts by all arguments, those of ORDER BY first.
    fn agg_sort(&mut self, args: &[Expr], order_by: &[SortKey], distinct: bool) -> Result<AggSort> {
        let mut row = self.exprs.list(args)?.into_vec();
        let mut columns = Vec::new();
        let mut sorted = vec![false; args.len()];
        for key in order_by {
            let same = args.iter().position(|a| format!("{a:?}") == format!("{:?}", key.expr));
            let index = match same {
                Some(index) => {
                    sorted[index] = true;
                    index
                }
                None => {
                    row.push(self.exprs.expr(&key.expr)?);
                    row.len() - 1
                }
            };
            columns.push(SortColumn {
                index,
                type_oid: key.expr.ty().oid,
                descending: key.descending,
                nulls_first: key.nulls_first,
            });
        }
        if distinct {
            for (index, _) in sorted.iter().enumerate().filter(|(_, sorted)| !**sorted) {
                let type_oid = args[index].ty().oid;
                let (descending, nulls_first) = (false, false);
                columns.push(SortColumn { index, type_oid, descending, nulls_first });
            }
        }
        let keys = SortKeys { columns: columns.into(), computed: Box::new([]) };
        Ok(AggSort { keys, row: row.into(), distinct })
    }

    fn window_agg(&mut self, plan: &PlanNode) -> Result<CNode> {
        let PlanNode::WindowAgg {
            child, partition_by, order_by, frame, calls, run_condition, ..
        } = plan
        else {
            return Err(Error::internal("not a window aggregation"));
        };
        let bound = |b: &mut Self, bound: &FrameBound| {
            let offset = |b: &mut Self, o: &FrameOffset| {
                let in_range =
                    o.in_range.as_ref().map(|f| b.exprs.scalar_function(f)).transpose()?;
                Ok::<_, Error>(CFrameOffset { value: b.exprs.expr(&o.value)?, in_range })
            };
            Ok::<_, Error>(match bound {
                FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => {
                    CFrameBound::Unbounded
                }
                FrameBound::CurrentRow => CFrameBound::CurrentRow,
                FrameBound::Preceding(o) => CFrameBound::Preceding(offset(b, o)?),
                FrameBound::Following(o) => CFrameBound::Following(offset(b, o)?),
            })
        };
        let keys = |order_by: &[SortKey]| {
            let column = |(index, key): (usize, &SortKey)| SortColumn {
                index,
                type_oid: key.expr.ty().oid,
                descending: key.descending,
                nulls_first: key.nulls_first,
            };
            order_by.iter().enumerate().map(column).collect()
        };
        Ok(CNode::WindowAgg(Box::new(WindowPlan {
            partition_by: self.exprs.list(partition_by)?,
            partition_types: partition_by.iter().map(|e| e.ty().oid).collect(),
            frame: CFrame {
                mode: frame.mode,
                start: bound(self, &frame.start)?,
                end: bound(self, &frame.end)?,
                exclusion: frame.exclusion,
                keys: keys(order_by),
                order_by: order_by
                    .iter()
                    .map(|k| self.exprs.expr(&k.expr))
                    .collect::<Result<_>>()?,
            },
            calls: calls.iter().map(|c| self.window_call(c)).collect::<Result<_>>()?,
            run_condition: self.exprs.option(run_condition)?,
            child: self.plan(child)?,
        })))
    }

    fn window_call(&mut self, call: &WindowCall) -> Result<CCall> {
        let args = self.exprs.list(&call.args)?;
        let filter = self.exprs.option(&call.filter)?;
        if !call.aggregate {
            return CCall::window(&call.func, args);
        }
        let as_aggregate = Aggregate {
            func: call.func.clone(),
            args: call.args.clone(),
            distinct: false,
            order_by: Vec::new(),
            filter: None,
            star: call.star,
            levels_up: 0,
            ty: call.ty,
            at: steppe_sql::expr::Place::NONE,
        };
        let spends_state =
            |a: &steppe_catalog::objects::Aggregate| a.finish_modify == FinishModify::ReadWrite;
        if !call.func.is_built_in() && call.func.aggregate().is_some_and(spends_state) {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!(
                    "aggregate function {} does not support use as a window function",
                    signature(&call.func)
                ),
            ));
        }
        let kind = AggKind::compile(&as_aggregate, self.exprs)?;
        Ok(CCall::Aggregate { kind, args, filter, ret: call.ty.oid })
    }

    fn lock_rows(
        &mut self,
        child: &Plan,
        locks: &[RowLock],
        recheck: Option<CExpr>,
        outer_joins: Box<[(CExpr, Box<[usize]>)]>,
    ) -> Result<CNode> {
        let compiled = locks.iter().map(|lock| {
            let columns = lock.columns.iter();
            let rows = LockedRows {
                table: Arc::new(self.table(&lock.rel.relation)?),
                columns: columns
                    .map(|(slot, attribute)| Ok((*slot, ScanColumn::from_attribute(*attribute)?)))
                    .collect::<Result<_>>()?,
            };
            Ok(CRowLock {
                rows,
                leaf: lock.leaf,
                row_id: lock.row_id,
                mode: match lock.strength {
                    LockStrength::KeyShare => RowLockMode::KeyShare,
                    LockStrength::Share => RowLockMode::Share,
                    LockStrength::NoKeyUpdate => RowLockMode::NoKeyUpdate,
                    LockStrength::Update => RowLockMode::Update,
                },
                wait: lock.wait,
            })
        });
        let locks = compiled.collect::<Result<_>>()?;
        Ok(CNode::LockRows(LockRowsPlan { locks, recheck, outer_joins, child: self.plan(child)? }))
    }

    /// The target of a writing statement. The indexes of a partitioned table have no entries.
    pub(crate) fn target(&mut self, modify: &ModifyTable) -> Result<Target> {
        let relation = &modify.rel.relation;
        let stored = modify.indexes.iter().filter(|_| relation.partition_key.is_none());
        let indexes = stored.map(|i| self.index(relation, i)).collect::<Result<Box<[_]>>>()?;
        let arbiters = match &modify.on_conflict {
            Some(conflict) => arbiters(&indexes, &conflict.arbiters),
            None => Box::new([]),
        };
        let rules = TargetRules {
            arbiters,
            partition: PartitionCheck::new(relation, self.exprs)?,
            columns: None,
            not_null: not_null_columns(relation),
            generated: GeneratedColumn::compile_all(&modify.generated, self.exprs)?,
            never_null: self.exprs.each_of(&modify.never_null)?,
            checks: self.exprs.each_of(&modify.checks)?,
            view_checks: self.exprs.each_of(&modify.view_checks)?,
            written: Written::default(),
            hooks: None,
            keys: None,
            captures: Captures::of(relation, commands_of(modify)),
        };
        let (commands, assigned) = (commands_of(modify), Written::assigned_by(modify));
        let within = (&mut *self.exprs, self.engine);
        let rules = rules.for_statement(relation, commands, &assigned, &indexes, within)?;
        Ok(Target { rules: Arc::new(rules), table: self.table(relation)?, indexes })
    }

    fn modify(&mut self, modify: &ModifyTable) -> Result<ModifyPlan> {
        let counts = std::mem::take(&mut self.top);
        let target = self.target(modify)?;
        let on_conflict = match &modify.on_conflict {
            None => None,
            Some(conflict) => Some(ConflictPlan {
                update: match &conflict.update {
                    None => None,
                    Some((assignments, filter)) => {
                        Some((self.exprs.each_of(assignments)?, self.exprs.option(filter)?))
                    }
                },
                system: conflict
                    .system
                    .iter()
                    .map(|column| VersionColumn::from_attribute(*column))
                    .collect::<Result<_>>()?,
            }),
        };
        let child = self.plan(&modify.child)?;
        Ok(ModifyPlan {
            command: modify.command,
            commands: commands_of(modify),
            target,
            partitioned: Partitioned::new(modify),
            row_id: modify.row_id,
            assignments: self.exprs.each_of(&modify.assignments)?.into(),
            recheck: self.exprs.option(&modify.recheck)?.map(Arc::new),
            on_conflict,
            returning: modify.returning,
            returning_versions: modify.returning_versions.is_some(),
            system: version_columns(&modify.system)?,
            returning_system: version_columns(&modify.returning_system)?,
            counts,
            row_by_row: self.exprs.runs_volatile,
            child,
        })
    }
}

fn version_columns<T: Copy>(columns: &[(T, i16)]) -> Result<Arc<[(T, VersionColumn)]>> {
    columns.iter().map(|(at, c)| Ok((*at, VersionColumn::from_attribute(*c)?))).collect()
}

pub(super) fn scan_columns(columns: &[i16]) -> Result<Arc<[ScanColumn]>> {
    columns.iter().map(|c| ScanColumn::from_attribute(*c)).collect()
}

/// The type a join key is hashed and compared as.
fn join_type(outer: &Expr, inner: &Expr, eq: &Function) -> Oid {
    let bpchar = eq.args.iter().all(|t| *t == oid::BPCHAR);
    match (outer.ty().oid, inner.ty().oid) {
        _ if bpchar => oid::BPCHAR,
        // Compared as text: blanks count.
        (oid::BPCHAR, other) if other != oid::BPCHAR => other,
        (oid::BPCHAR, _) => oid::TEXT,
        (other, _) => other,
    }
}

/// A row's expressions over the row's own parameters.
fn over_row(project: &[Expr]) -> Vec<Expr> {
    let of_row = |expr: Expr| match expr {
        Expr::Param { index, ty, .. } => Ok::<_, Infallible>(Expr::Slot { index, ty }),
        other => Ok(other),
    };
    let over = |expr: &Expr| match expr.clone().transform(&mut { of_row }) {
        Ok(over) => over,
        Err(never) => match never {},
    };
    project.iter().map(over).collect()
}
