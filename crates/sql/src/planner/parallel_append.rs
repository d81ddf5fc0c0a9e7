//! Several threads' scans of many tables: partitions, inheritance children, inputs of UNION ALL
//! (add_paths_to_append_rel in allpaths.c, cost_append in costsize.c).
//!
//! Each input's rows are dealt out by themselves. All threads take one input after the other. One
//! thread reads an input of a part or two, while others read the next ones.

use super::Planner;
use super::parallel::{Shared, TableIs, has_safe_expressions, without_node};
use super::scan::clamp_rows;
use crate::plan::*;
use steppe_catalog::Relation;

impl Planner<'_> {
    /// The inputs' rows, each of them dealt out: dear ones first.
    pub(super) fn dealt_out_append(&self, plan: &Plan, inputs: &[Plan]) -> Option<Shared> {
        let parts = inputs.iter().map(|input| self.dealt_out_member(input));
        let parts = parts.collect::<Option<Vec<Shared>>>()?;
        let most = parts.iter().map(|part| part.workers).max()?;
        let workers = self.append_workers(most, parts.len() as f64)?;
        let divisor = self.divisor(workers);
        let (mut total, mut rows) = (0.0, 0.0);
        for part in &parts {
            total += part.plan.cost.total;
            rows += part.plan.cost.rows * self.divisor(part.workers) / divisor;
        }
        let cost = Cost { total, rows: clamp_rows(rows), ..plan.cost };
        let mut inputs: Vec<Plan> = parts.into_iter().map(|part| part.plan).collect();
        inputs.sort_by(|a, b| {
            let by_start = b.cost.startup.total_cmp(&a.cost.startup);
            by_start.then(b.cost.total.total_cmp(&a.cost.total))
        });
        let node = PlanNode::Append(inputs);
        Some(Shared { plan: Plan { node, cost, ..without_node(plan) }, workers })
    }

    /// The rows of a partitioned table's leaves, those of each dealt out.
    pub(super) fn dealt_out_leaves(&self, plan: &Plan) -> Option<Shared> {
        let PlanNode::PartitionScan { rel, template, conditions, order, partners, .. } = &plan.node
        else {
            return None;
        };
        if !order.is_empty() || !partners.is_empty() || !self.pays_for_workers(&rel.relation) {
            return None;
        }
        // The cost of the scan is that of its leaves.
        let leaves =
            (plan.cost.total / template.cost.total.max(f64::MIN_POSITIVE)).round().max(1.0);
        let Shared { plan: part, workers: most } = self.dealt_out_member(template)?;
        let workers = self.append_workers(most, leaves)?;
        let rows = part.cost.rows * leaves * self.divisor(most) / self.divisor(workers);
        let cost = Cost { total: part.cost.total * leaves, rows: clamp_rows(rows), ..plan.cost };
        let node = PlanNode::PartitionScan {
            rel: rel.clone(),
            template: Box::new(part),
            conditions: conditions.clone(),
            order: Vec::new(),
            partners: Vec::new(),
            matched: None,
        };
        Some(Shared { plan: Plan { node, cost, ..without_node(plan) }, workers })
    }

    /// Whether the rows of a partitioned table are worth workers. A leaf that was never analysed is
    /// taken to have ten pages, so that its plan is good for more rows than it has by now. That
    /// guess, made for each of thousands of leaves, must not alone start workers: they cost at once.
    fn pays_for_workers(&self, table: &Relation) -> bool {
        let Some((guessed, stored)) = self.rows_guessed_and_stored(table) else { return true };
        let setup = self.ctx.settings.parallel.setup_cost;
        guessed <= stored || stored * self.costs().cpu_tuple >= setup
    }

    fn dealt_out_member(&self, input: &Plan) -> Option<Shared> {
        match &input.node {
            PlanNode::SeqScan { .. } | PlanNode::BitmapScan { .. } => {
                let is_safe = has_safe_expressions(input);
                is_safe.then(|| self.dealt_out_table(input, TableIs::Member)).flatten()
            }
            _ => self.dealt_out(input),
        }
    }

    /// The number of workers for `inputs` inputs, one of which needs `most`.
    fn append_workers(&self, most: usize, inputs: f64) -> Option<usize> {
        let settings = &self.ctx.settings.parallel;
        let by_number = inputs.max(1.0).log2() as usize + 1;
        settings.append.then(|| most.max(by_number).min(settings.workers_max))
    }
}
