//! FOR UPDATE and its kin: LockRows above the sort (planner.c, where grouping_planner adds it).
//!
//! Rows are locked after they are sorted and before LIMIT counts them, so that no more of them are
//! locked than come out.

use super::joinpath::output_names;
use super::recheck::Recheck;
use super::targets::{drop_hidden, targets_over};
use super::{ColumnId, Planner, Rel, RteSet, and_all, node, to_slots};
use crate::expr::Expr;
use crate::plan::*;
use crate::query::*;
use steppe_types::{Error, Result};

impl Planner<'_> {
    /// FOR UPDATE: rows are locked after sorting, so that a LIMIT locks no more than it returns.
    /// The raw columns travel through the sort, since a locked row may have to be read again.
    pub(super) fn finish_locking(
        &mut self,
        query: &Query,
        rel: Rel,
        recheck: Recheck,
    ) -> Result<Plan> {
        let layout = rel.layout.clone();
        let Recheck { conditions, outer_joins } = recheck;
        let recheck = and_all(conditions).map(|e| to_slots(e, &layout)).transpose()?;
        let padded = |rtes: &RteSet| {
            let inside = |(_, id): &(usize, &ColumnId)| rtes.contains(id.0);
            layout.iter().enumerate().filter(inside).map(|(slot, _)| slot).collect()
        };
        let outer_joins = outer_joins
            .into_iter()
            .map(|(on, rtes)| Ok((to_slots(on, &layout)?, padded(&rtes))))
            .collect::<Result<_>>()?;
        let names = output_names(&rel.plan);
        let exprs = targets_over(query, &layout)?;
        let rel = self.order(query, rel, &exprs, None)?;
        let locks = self.row_locks(query, &layout)?;
        let cost = rel.plan.cost;
        let types = rel.plan.types.clone();
        let lock = PlanNode::LockRows { child: Box::new(rel.plan), locks, recheck, outer_joins };
        let mut plan = node(lock, types, names, cost);
        plan.types = exprs.iter().map(Expr::ty).collect();
        plan.project = Some(exprs);
        let plan = self.limit(query, plan)?;
        Ok(drop_hidden(query, plan))
    }

    fn row_locks(&mut self, query: &Query, layout: &[ColumnId]) -> Result<Vec<RowLock>> {
        let mut locks: Vec<RowLock> = Vec::new();
        for clause in &query.row_locks {
            for rte in &clause.rtes {
                let RteKind::Relation(relation) = &query.rtes[*rte].kind else { continue };
                let row_id = layout.iter().position(|c| *c == (*rte, ROW_ID)).ok_or_else(|| {
                    Error::internal("the row id of a locked table is not in the plan's row")
                })?;
                let leaf = layout.iter().position(|c| *c == (*rte, TABLE_OID));
                let leaf = leaf.filter(|_| self.is_in_many_tables(&query.rtes[*rte]));
                for member in self.members(&query.rtes[*rte]) {
                    self.use_relation(member.relation.oid, RelationLock::RowShare);
                }
                let of_table = |(slot, id): (usize, &ColumnId)| {
                    (id.0 == *rte && id.1 != ROW_ID).then_some((slot, id.1))
                };
                let columns = layout.iter().enumerate().filter_map(of_table).collect();
                let alias = query.rtes[*rte].alias.clone();
                let rel = ScanRelation { relation: relation.clone(), alias };
                self.use_relation(relation.oid, RelationLock::RowShare);
                locks.push(RowLock {
                    rel,
                    row_id,
                    leaf,
                    columns,
                    strength: clause.strength,
                    wait: clause.wait,
                });
            }
        }
        Ok(locks)
    }
}
