//! The steps above FROM and WHERE: grouping, windows, the select list, DISTINCT, ORDER BY and
//! LIMIT, one after another in each way that there is (create_grouping_paths to
//! create_ordered_paths in planner.c).
//!
//! FROM's rows were found in one way or in several, and they can be grouped by hash or sorted.
//! Every combination is made a whole plan, since a saving below may be lost above. `ties` decides
//! which of them is taken.

use super::eager_aggregate::JoinedStates;
use super::level::lost_level;
use super::sorting::has_order;
use super::targets::drop_hidden;
use super::ties::Finished;
use super::{Planner, Rel};
use crate::plan::*;
use crate::query::*;
use steppe_types::Result;

/// The input of a query's grouping, or its replacement.
#[derive(Clone)]
pub(super) enum Input {
    Rows(Rel),
    States(JoinedStates),
}

impl Input {
    fn rel(&self) -> &Rel {
        match self {
            Input::Rows(rel) => rel,
            Input::States(states) => &states.rel,
        }
    }

    pub(super) fn into_rel(self) -> Rel {
        match self {
            Input::Rows(rel) => rel,
            Input::States(states) => states.rel,
        }
    }
}

/// The strategies by which a query groups and leaves out duplicates.
#[derive(Clone, Copy)]
struct Strategy {
    groups: AggStrategy,
    distinct: AggStrategy,
}

impl Strategy {
    /// Whether rows come in an order of groups or of the rows that DISTINCT keeps.
    fn gives_order(self, query: &Query) -> bool {
        query.has_aggregates && self.groups == AggStrategy::Sorted
            || matches!(query.distinct, Distinct::All) && self.distinct == AggStrategy::Sorted
    }
}

impl Planner<'_> {
    /// Grouping, targets, DISTINCT, ORDER BY and LIMIT over FROM's rows, which were found in one
    /// way or in several: the total cost with each decides.
    pub(super) fn finish_select(
        &mut self,
        query: &mut Query,
        mut inputs: Vec<Input>,
    ) -> Result<Plan> {
        let rows = inputs.iter().map(|input| input.rel().plan.cost.rows);
        self.note_limit(query, rows.fold(0.0, f64::max));
        let mut ways = self.strategies(query);
        if inputs.len() == 1 && ways.len() == 1 {
            let (Some(input), Some(way)) = (inputs.pop(), ways.pop()) else {
                return Err(lost_level());
            };
            return self.finish_in_one_way(query, input, way);
        }
        let each = inputs.iter().flat_map(|input| ways.iter().map(move |way| (input, way)));
        let mut best: Option<Finished> = None;
        for (input, way) in each {
            let plan = self.finish_in_one_way(&mut query.clone(), input.clone(), *way)?;
            let finished = Finished::new(plan, way.gives_order(query));
            if best.as_ref().is_none_or(|best| finished.beats(best)) {
                best = Some(finished);
            }
        }
        best.map(|finished| finished.plan).ok_or_else(lost_level)
    }

    fn finish_in_one_way(
        &mut self,
        query: &mut Query,
        input: Input,
        way: Strategy,
    ) -> Result<Plan> {
        let rel = match (query.has_aggregates, input) {
            (true, Input::Rows(rel)) => self.grouping(query, rel, way.groups)?,
            (true, Input::States(states)) => self.grouping_of_states(query, states, way.groups)?,
            (false, input) => input.into_rel(),
        };
        let rel = match query.windows.is_empty() {
            true => rel,
            false => self.windows(query, rel)?,
        };
        let rel = self.project_sorted(query, rel, way.distinct)?;
        let plan = self.limit(query, rel.plan)?;
        Ok(drop_hidden(query, plan))
    }

    /// All the ways there are to choose from.
    fn strategies(&self, query: &Query) -> Vec<Strategy> {
        use AggStrategy::{Hashed, Sorted};
        let both: &[AggStrategy] = &[Hashed, Sorted];
        let groups = match query.has_aggregates {
            true => self.group_strategies(query),
            false => &both[..1],
        };
        let distinct = match &query.distinct {
            Distinct::All if query.targets.iter().all(|t| has_order(t.expr.ty())) => both,
            _ => &both[..1],
        };
        let pairs = groups.iter().flat_map(|g| distinct.iter().map(|d| (*g, *d)));
        pairs.map(|(groups, distinct)| Strategy { groups, distinct }).collect()
    }
}
