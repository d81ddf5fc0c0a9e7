//! Joins and aggregations leaf by leaf (enable_partitionwise_join,
//! enable_partitionwise_aggregate).
//!
//! Tables with the same bounds that are joined on their keys have matching rows only in
//! corresponding leaves; grouped by the key, a group's rows are all in one leaf. Then the join or
//! the aggregation becomes part of the scan's template:
//!
//! ```text
//!   Hash Join                            partition scan, leaf by leaf
//!    ├ partition scan of t    becomes     └ Hash Join
//!    └ partition scan of u                   ├ scan of t's leaf
//!                                            └ scan of u's leaf
//! ```
//!
//! Groups whose rows are in several leaves are made of states: each leaf's aggregation is
//! partial, and one above finalizes.
//!
//! One template serves all pairs of leaves, for any number of them. The corresponding leaves
//! (`leaf_match`) are found once, when the statement is planned, and only with these settings on:
//! that takes time by the number of leaves.

use super::equivalence::Fixed;
use super::grouping::Aggregation;
use super::index::over_entry;
use super::join::FromContext;
use super::join_clause::join_keys;
use super::leaf_match::{LeafJoin, Matching};
use super::scan::clamp_rows;
use super::{Planner, Rel, node};
use crate::expr::{Aggregate, Expr, SortKey, TypeRef};
use crate::partners::MatchedLeaves;
use crate::plan::*;
use crate::prune::{KeyOfScan, is_same};
use crate::query::{JoinKind, Query, Rte, RteKind};
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_partition::RowsKept;
use steppe_types::{Oid, Result, oid};

/// A scan of a partitioned table that consists of its template alone.
pub(super) struct LeafByLeaf<'p> {
    pub(super) rel: &'p ScanRelation,
    template: &'p Plan,
    conditions: &'p [Expr],
    pub(super) partners: &'p [PartnerTable],
    pub(super) matched: Option<&'p MatchedLeaves>,
}

impl<'p> LeafByLeaf<'p> {
    fn of(plan: &'p Plan) -> Option<LeafByLeaf<'p>> {
        match &plan.node {
            PlanNode::PartitionScan { rel, template, conditions, order, partners, matched }
                if plan.is_plain() && template.project.is_none() && order.is_empty() =>
            {
                let matched = matched.as_deref();
                Some(LeafByLeaf { rel, template, conditions, partners, matched })
            }
            _ => None,
        }
    }

    /// The tables whose keys determine the leaf of a row: a row of an outer join's other side may
    /// be missing, and of a FULL JOIN either.
    pub(super) fn tables(&self) -> impl Iterator<Item = &'p ScanRelation> {
        let is_full = self.partners.iter().any(|partner| partner.is_full);
        let needed = self.partners.iter().filter(|partner| partner.is_needed);
        let all = std::iter::once(self.rel).chain(needed.map(|partner| &partner.rel));
        all.filter(move |_| !is_full)
    }
}

impl Planner<'_> {
    /// A join of each leaf with the corresponding one, where that gives the join.
    pub(super) fn partitionwise_join(
        &mut self,
        from: &FromContext<'_>,
        kind: JoinKind,
        outer: &Rel,
        inner: &Rel,
        on: &[Expr],
        single: &Option<(usize, Vec<Expr>)>,
    ) -> Result<Option<Rel>> {
        // Rows that are to be changed or locked are found by one scan of their table.
        let is_read = |rel: &Rel| rel.layout.iter().all(|column| column.1 != ROW_ID);
        // A RIGHT JOIN comes as a LEFT one.
        let is_kind = kind != JoinKind::Right;
        if !self.ctx.settings.partitionwise_join || !is_kind || !is_read(outer) || !is_read(inner) {
            return Ok(None);
        }
        let (Some(left), Some(right)) = (LeafByLeaf::of(&outer.plan), LeafByLeaf::of(&inner.plan))
        else {
            return Ok(None);
        };
        let clauses: Vec<_> = on.iter().map(|on| self.clause(on.clone())).collect();
        let keys = join_keys(&clauses, &outer.rtes, &inner.rtes);
        let sides = keys.iter().filter_map(|key| key.sides(&clauses));
        let mut pairs: Vec<(Expr, Expr)> = sides.map(|(a, b, _)| (a.clone(), b.clone())).collect();
        pairs.extend(pairs_within(&from.fixed));
        let joined = LeafJoin { rtes: from.rtes, pairs: &pairs, kept: rows_kept(kind) };
        let Some(matching) = self.matching(&joined, &left, &right)? else { return Ok(None) };
        let of_leaf = |rel: &Rel, template: &Plan| Rel { plan: template.clone(), ..rel.clone() };
        let (a, b) = (of_leaf(outer, left.template), of_leaf(inner, right.template));
        let before = std::mem::replace(&mut self.in_leaf, true);
        let joined = self.cheapest_join(from, kind, a, b, on.to_vec(), single.clone());
        self.in_leaf = before;
        let Rel { plan: template, layout, rtes } = joined?;
        let matched = match matching {
            Matching::SameBounds => None,
            Matching::Listed(matched) => Some(Arc::new(matched)),
        };
        let leaves = match &matched {
            Some(matched) => matched.rows().len() as f64,
            None => self.partitioned_size(left.rel.relation.oid)?.leaves,
        };
        let cost = times(&template.cost, leaves.max(1.0));
        let (types, names) = (template.types.clone(), template.slot_names.clone());
        // Either side's leaf of a FULL JOIN may be the only one with rows.
        let is_full = kind == JoinKind::Full;
        let scan = PlanNode::PartitionScan {
            rel: left.rel.clone(),
            template: Box::new(template),
            conditions: if is_full { Vec::new() } else { left.conditions.to_vec() },
            order: Vec::new(),
            partners: partners(kind, &left, &right),
            matched,
        };
        Ok(Some(Rel { plan: node(scan, types, names, cost), layout, rtes }))
    }

    /// The partition key of a table or of a partition of it over a query's entry. `None` if the
    /// entry is not found.
    pub(super) fn key_over_entry(
        &self,
        rtes: &[Rte],
        (rel, level): (&ScanRelation, Oid),
    ) -> Result<Vec<Expr>> {
        let is_entry = |rte: &Rte| match &rte.kind {
            RteKind::Relation(relation) => {
                relation.oid == rel.relation.oid && rte.alias == rel.alias
            }
            _ => false,
        };
        let entry = rtes.iter().position(is_entry);
        let level = self.ctx.catalog.relation(level);
        let key = level.and_then(|level| Some((level, level.partition_key.as_ref()?)));
        let (Some(entry), Some((level, key))) = (entry, key) else { return Ok(Vec::new()) };
        let table: &Arc<Relation> = &rel.relation;
        let key = KeyOfScan::new(self.ctx.catalog, table, level, key)?;
        Ok(key.exprs().map(|expr| over_entry(expr.clone(), entry)).collect())
    }

    /// The partitions that are partitioned again.
    pub(super) fn partitioned_again(&self, table: Oid) -> Vec<Oid> {
        let catalog = self.ctx.catalog;
        let is_leaf = |oid| catalog.relation(oid).is_none_or(|part| part.partition_key.is_none());
        catalog.children(table).filter(|oid| !is_leaf(*oid)).collect()
    }

    /// Whether all rows of a group are in one leaf, since it is grouped by the partition key.
    pub(super) fn groups_by_leaf(&self, query: &Query, keys: &[Expr], rel: &Rel) -> Result<bool> {
        if !self.ctx.settings.partitionwise_aggregate
            || query.grouping_sets.is_some()
            || keys.iter().any(super::returns_set)
        {
            return Ok(false);
        }
        let Some(scan) = LeafByLeaf::of(&rel.plan) else { return Ok(false) };
        for table in scan.tables() {
            let mut levels = vec![table.relation.oid];
            let mut are_keys = true;
            while let Some(level) = levels.pop().filter(|_| are_keys) {
                let columns = self.key_over_entry(&query.rtes, (table, level))?;
                let is_key = |column: &Expr| keys.iter().any(|key| is_same(key, column));
                are_keys = !columns.is_empty() && columns.iter().all(is_key);
                levels.extend(self.partitioned_again(level));
            }
            if are_keys {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether an aggregation can be made of states, one of each leaf.
    pub(super) fn is_partial(&self, query: &Query, child: &Plan, what: &Aggregation) -> bool {
        self.ctx.settings.partitionwise_aggregate
            && query.grouping_sets.is_none()
            && LeafByLeaf::of(child).is_some()
            && what.has_states()
    }

    /// The aggregation of the states that each leaf's own aggregation ends with, and how many
    /// these are.
    pub(super) fn aggregation_in_parts(
        &mut self,
        child: Plan,
        what: &Aggregation,
    ) -> Result<(Rel, f64)> {
        let mut part = what.of_a_part();
        let parts = self.over_each_leaf(child, |planner, leaf, _| {
            part.groups = part.groups.min(leaf.cost.rows);
            planner.aggregation(leaf, part)
        })?;
        let states = parts.plan.cost.rows;
        Ok((self.aggregation(parts.plan, what.of_states())?, states))
    }

    /// The plan that `make` returns for a scan's template and the number of leaves, run for each
    /// leaf.
    pub(super) fn over_each_leaf(
        &mut self,
        mut scan: Plan,
        make: impl FnOnce(&mut Self, Plan, f64) -> Result<Rel>,
    ) -> Result<Rel> {
        let PlanNode::PartitionScan { rel, template, .. } = &mut scan.node else {
            return Err(steppe_types::Error::internal("not a scan of a partitioned table"));
        };
        let leaves = self.partitioned_size(rel.relation.oid)?.leaves.max(1.0);
        let made = make(self, (**template).clone(), leaves)?;
        scan.types = made.plan.types.clone();
        scan.slot_names = made.plan.slot_names.clone();
        scan.cost = times(&made.plan.cost, leaves);
        **template = made.plan;
        Ok(Rel { plan: scan, ..made })
    }
}

impl Aggregation {
    /// Whether all of its aggregates can be made of states.
    pub(super) fn has_states(&self) -> bool {
        self.aggregates.iter().all(|aggregate| state_type(aggregate).is_some())
    }

    /// From some of the rows to states.
    pub(super) fn of_a_part(&self) -> Aggregation {
        let states = self.aggregates.iter().filter_map(state_type);
        Aggregation {
            mode: AggMode::Partial,
            having: None,
            kept: 1.0,
            types: self.keys.iter().map(Expr::ty).chain(states).collect(),
            ..self.clone()
        }
    }

    /// From states to results.
    pub(super) fn of_states(&self) -> Aggregation {
        let slot = |(index, key): (usize, &Expr)| Expr::Slot { index, ty: key.ty() };
        let keys: Vec<Expr> = self.keys.iter().enumerate().map(slot).collect();
        let sort = self.sort.iter().zip(&keys);
        let sort = sort.map(|(key, expr)| SortKey { expr: expr.clone(), ..*key }).collect();
        Aggregation { mode: AggMode::Finalize, keys, sort, ..self.clone() }
    }
}

/// The sides whose rows a join keeps though they find no partner.
fn rows_kept(kind: JoinKind) -> RowsKept {
    match kind {
        JoinKind::Left | JoinKind::Anti => RowsKept::First,
        JoinKind::Full => RowsKept::Both,
        _ => RowsKept::None,
    }
}

/// Every two expressions of the same value.
fn pairs_within(fixed: &Fixed) -> impl Iterator<Item = (Expr, Expr)> {
    let pairs = |same: &'_ Vec<Expr>| {
        let pairs = same.iter().flat_map(|a| same.iter().map(|b| (a.clone(), b.clone())));
        pairs.collect::<Vec<_>>()
    };
    fixed.iter().flat_map(pairs)
}

/// The tables joined to the leading table of `left`.
fn partners(kind: JoinKind, left: &LeafByLeaf<'_>, right: &LeafByLeaf<'_>) -> Vec<PartnerTable> {
    let is_full = kind == JoinKind::Full;
    let (rel, conditions) = (right.rel.clone(), right.conditions.to_vec());
    let right_needed = matches!(kind, JoinKind::Inner | JoinKind::Semi);
    let first = PartnerTable { rel, conditions, is_needed: right_needed, is_full };
    let of_side = |side: &[PartnerTable], is_needed: bool| -> Vec<PartnerTable> {
        let partners = side.iter().cloned();
        let as_needed = |p: PartnerTable| PartnerTable { is_needed: p.is_needed && is_needed, ..p };
        partners.map(as_needed).collect()
    };
    let mut all = of_side(left.partners, !is_full);
    all.push(first);
    all.extend(of_side(right.partners, right_needed));
    all
}

/// The type of an aggregate's state as a value. `None` for an aggregate that cannot be combined
/// from states.
fn state_type(aggregate: &Aggregate) -> Option<TypeRef> {
    let is_plain = !aggregate.distinct && aggregate.order_by.is_empty();
    let name = aggregate.func.built_in_name().filter(|_| is_plain)?;
    let first = aggregate.args.first().map_or(0, |arg| arg.ty().oid);
    let is_float = matches!(first, oid::FLOAT4 | oid::FLOAT8);
    let array = |of: Oid| oid::array_type_of(of).map(TypeRef::plain);
    match name {
        "count" | "min" | "max" | "bool_and" | "bool_or" | "every" | "bit_and" | "bit_or"
        | "bit_xor" | "any_value" => Some(aggregate.ty),
        "sum" | "avg" if first == oid::INTERVAL => array(oid::INT8),
        "sum" => Some(aggregate.ty),
        "avg" | "stddev" | "stddev_samp" | "stddev_pop" | "variance" | "var_samp" | "var_pop" => {
            array(if is_float { oid::FLOAT8 } else { oid::NUMERIC })
        }
        "corr" | "covar_pop" | "covar_samp" | "regr_sxx" | "regr_syy" | "regr_sxy"
        | "regr_avgx" | "regr_avgy" | "regr_r2" | "regr_slope" | "regr_intercept" => {
            array(oid::FLOAT8)
        }
        "regr_count" | "array_agg" => Some(aggregate.ty),
        "string_agg" => array(oid::BYTEA),
        _ => None,
    }
}

/// The cost of doing something for `leaves` leaves.
fn times(leaf: &Cost, leaves: f64) -> Cost {
    Cost { total: leaf.total * leaves, rows: clamp_rows(leaf.rows * leaves), ..*leaf }
}
