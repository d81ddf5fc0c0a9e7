//! WITH: each of its queries becomes a sub-plan that runs once for all its readers. A recursive one
//! becomes a RecursiveUnion (SS_process_ctes in subselect.c, generate_recursion_path in
//! prepunion.c). A query with one reference is merged before (`inline`).

use super::inline::inline_ctes;
use super::joinpath::output_names;
use super::level::lost_level;
use super::search_cycle;
use super::selectivity::origins;
use super::{CtePlan, Planner, node};
use crate::plan::*;
use crate::query::*;
use std::sync::Arc;
use steppe_types::Result;

impl Planner<'_> {
    /// WITH queries become sub-plans that run once.
    pub(crate) fn plan_ctes(&mut self, query: &mut Query) -> Result<()> {
        for (index, mut cte) in std::mem::take(&mut query.ctes).into_iter().enumerate() {
            let name = cte.name.clone();
            if cte.references == 0 && cte.query.command == Command::Select {
                // It has no reader, so it is not run.
                let unread = (CtePlan::SubPlan(usize::MAX), name, 0.0);
                self.cte_levels.last_mut().ok_or_else(lost_level)?.push(unread);
                continue;
            }
            search_cycle::add_columns(&mut cte, index)?;
            let outputs = origins(&cte.query);
            let plan = match cte.query.set_operation {
                Some(_) if cte.recursive => self.recursive_union(*cte.query, &name)?,
                _ => self.statement(*cte.query)?,
            };
            let rows = plan.cost.rows;
            self.subplans.push(plan);
            self.outputs.insert(self.subplans.len() - 1, outputs);
            let reference = (CtePlan::SubPlan(self.subplans.len() - 1), name, rows);
            self.cte_levels.last_mut().ok_or_else(lost_level)?.push(reference);
        }
        Ok(())
    }

    fn recursive_union(&mut self, mut query: Query, name: &Arc<str>) -> Result<Plan> {
        inline_ctes(&mut query);
        // The terms sit one level below the query that holds the set operation.
        self.cte_levels.push(Vec::new());
        let left = self.plan_ctes(&mut query);
        let operation = query.set_operation.take().ok_or_else(lost_level)?;
        let left = left.and_then(|()| self.query(*operation.left));
        let level = self.cte_levels.pop().ok_or_else(lost_level)?;
        let left = left?;
        let work_table = self.work_tables;
        self.work_tables += 1;
        let reference = (CtePlan::WorkTable(work_table), name.clone(), left.cost.rows * 10.0);
        self.cte_levels.last_mut().ok_or_else(lost_level)?.push(reference);
        self.cte_levels.push(level);
        let right = self.query(*operation.right);
        self.cte_levels.pop();
        self.cte_levels.last_mut().ok_or_else(lost_level)?.pop();
        let right = right?;
        let mut cost = left.cost;
        cost.total += right.cost.total * 10.0;
        cost.rows += right.cost.rows * 10.0;
        let (types, names) = (left.types.clone(), output_names(&left));
        let (left, right) = (Box::new(left), Box::new(right));
        let union = PlanNode::RecursiveUnion { left, right, all: operation.all, work_table };
        Ok(node(union, types, names, cost))
    }
}
