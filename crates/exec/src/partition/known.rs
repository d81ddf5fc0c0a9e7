//! The leaves of a scan, as far as they are known without running it, for EXPLAIN.
//!
//! PostgreSQL prunes three times. When it plans, it uses constants, and parameters whose values it
//! plans for. When execution starts, it uses stable functions. While it runs, it uses the values of
//! sub-selects and outer rows. We prune once, when a scan starts, but EXPLAIN shows the first two
//! separately as PostgreSQL does.

use super::leaves::{Kept, Leaves, LevelKept, Walk};
use super::pruning::{key_of, said_of, test_value};
use crate::context::ExecContext;
use crate::expr::{Compiler, Row};
use crate::statement::ExecEnv;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_functions::FnContext;
use steppe_partition::PruningSteps;
use steppe_sql::expr::{Expr, SortKey};
use steppe_sql::partners::partner;
use steppe_sql::plan::{Plan, PlanNode, PlannedStmt};
use steppe_sql::prune::Slot;
use steppe_types::{Datum, Error, Oid, Result};

/// The stage at which leaves are pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The statement is planned.
    Plan,
    /// The statement's execution starts.
    Start,
}

/// The sources of values.
#[derive(Clone, Copy)]
pub(crate) struct KnownValues<'a> {
    pub(crate) stmt: &'a PlannedStmt,
    pub(crate) env: &'a ExecEnv,
    /// Missing parameters are unknown.
    pub(crate) params: &'a [Datum],
}

impl KnownValues<'_> {
    /// The leaves of a partitioned table's scan, in the order wanted of it or by bounds.
    pub(crate) fn leaves_of(&self, scan: &Plan, stage: Stage, in_order: bool) -> Result<Leaves> {
        let PlanNode::PartitionScan { rel, conditions, order, partners, matched, .. } = &scan.node
        else {
            return Err(Error::internal("not a scan of a partitioned table"));
        };
        let matched = matched.as_deref();
        let order = if in_order { &order[..] } else { &[] };
        let mut found = self.leaves(stage, &rel.relation, conditions, order)?;
        matched.into_iter().for_each(|matched| found.keep_matched(matched));
        for (number, other) in partners.iter().enumerate().filter(|(_, other)| other.is_needed) {
            let table = &other.rel.relation;
            let kept = self.leaves(stage, table, &other.conditions, &[])?;
            let (root, table) = (rel.relation.oid, (number, table.oid));
            let joined = |leaf| partner(&self.env.catalog, matched, (leaf, root), table);
            found.keep_joined(joined, &kept)?;
        }
        Ok(found)
    }

    /// All leaves of a table, in the order of their bounds.
    pub(crate) fn all_leaves(&self, table: &Arc<Relation>) -> Result<Vec<Oid>> {
        Ok(self.leaves(Stage::Plan, table, &[], &[])?.oids)
    }

    fn leaves(
        &self,
        stage: Stage,
        table: &Arc<Relation>,
        conditions: &[Expr],
        order: &[SortKey],
    ) -> Result<Leaves> {
        let catalog = &self.env.catalog;
        let in_order = !order.is_empty();
        let walk = Walk { catalog, table: table.oid, in_order, wanted: usize::MAX };
        walk.leaves(&mut |parent, map| {
            let key = key_of(catalog, table, parent)?;
            let said = said_of(catalog, &key, (table, parent), conditions)?;
            let mut values: Vec<Option<Datum>> = Vec::with_capacity(said.slots.len());
            for slot in &said.slots {
                values.push(match slot {
                    Slot::Value(expr) => self.value(stage, expr),
                    Slot::Test(test) => test_value(test, &values, &self.env.io)?,
                });
            }
            let slot = |number: u32| Ok(values.get(number as usize).cloned().flatten());
            let steps = PruningSteps::compile(&said.predicate, key.len());
            let kept = Kept::Set(steps.evaluate(map, &slot, &self.env.io)?);
            Ok(LevelKept { kept, order: key.order(order, conditions) })
        })
    }

    fn value(&self, stage: Stage, expr: &Expr) -> Option<Datum> {
        if !is_known(stage, expr) {
            return None;
        }
        let catalog = self.env.catalog.clone();
        let compiled = Compiler::new(self.stmt, FnContext::pure(catalog)).expr(expr).ok()?;
        let mut cx = ExecContext::for_folding(self.env.functions());
        cx.set_params(self.params.into());
        // A value that cannot be computed prunes nothing, as when the scan runs.
        compiled.eval(&mut cx, Row::EMPTY).ok()
    }
}

fn is_known(stage: Stage, expr: &Expr) -> bool {
    let here = match expr {
        Expr::ExecParam { .. } | Expr::SubPlan(_) | Expr::SubLink { .. } => false,
        Expr::Func { func, .. } => {
            func.is_immutable() || !func.is_volatile() && stage == Stage::Start
        }
        _ => true,
    };
    here && expr.children().into_iter().all(|child| is_known(stage, child))
}
