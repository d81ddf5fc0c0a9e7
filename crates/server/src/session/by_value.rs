//! Selects the variant of a plan for the present values ([`steppe_exec::prepare::Variants`]).
//!
//! plan_cache_mode has PostgreSQL's meaning. It selects the generic plan, a custom plan each time,
//! or, by default, the variant for the values' classes.

use std::sync::Arc;

use steppe_catalog::Catalog;
use steppe_exec::prepare::Found;
use steppe_sql::bind::Params;
use steppe_sql::planner::PlannerSettings;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Result};

use super::Session;
use super::plan::Wanted;
use crate::plan_cache::CachedPlan;
use crate::settings::live::PlanCacheMode;

impl Session {
    /// The variant of a locked plan for the parameters of one run.
    #[inline]
    pub(super) fn for_values(
        &mut self,
        plan: Arc<CachedPlan>,
        params: &[Datum],
    ) -> Result<Arc<CachedPlan>> {
        match plan.variants.is_some() {
            true => self.variant(plan, params),
            false => Ok(plan),
        }
    }

    /// As [`Self::for_values`], for a prepared statement.
    #[inline]
    pub(super) fn for_prepared_values(
        &mut self,
        plan: Arc<CachedPlan>,
        params: &[Datum],
    ) -> Result<Arc<CachedPlan>> {
        match self.settings.live.plan_cache_mode {
            PlanCacheMode::Auto => self.for_values(plan, params),
            PlanCacheMode::Generic => Ok(plan),
            PlanCacheMode::Custom if params.is_empty() => Ok(plan),
            PlanCacheMode::Custom => self.plan_for_values(&plan, params).map(Arc::new),
        }
    }

    /// The other inputs of estimates, besides values.
    pub(super) fn estimates_by(&self) -> (&Catalog, &PlannerSettings, &IoContext) {
        (&self.namespace.names.catalog, &self.settings.live.planner, &self.statement.env.io)
    }

    fn variant(&mut self, plan: Arc<CachedPlan>, params: &[Datum]) -> Result<Arc<CachedPlan>> {
        let Some(variants) = plan.variants.as_deref() else { return Ok(plan) };
        let vacancy = match variants.find(params, self.estimates_by()) {
            Found::Unknown => return Ok(plan),
            Found::Made(variant) if self.is_as_planned(variant) => return Ok(Arc::clone(variant)),
            Found::Made(_) => return self.plan_for_values(&plan, params).map(Arc::new),
            Found::Vacant(vacancy) => vacancy,
        };
        let variant = Arc::new(self.plan_for_values(&plan, params)?);
        // A transaction with its own catalog version does not share its plans.
        if self.may_share() {
            vacancy.fill(Arc::clone(&variant));
        }
        Ok(variant)
    }

    /// A custom plan of the same statement for these values.
    fn plan_for_values(&mut self, plan: &CachedPlan, values: &[Datum]) -> Result<CachedPlan> {
        let wanted = Wanted { key: &plan.key, for_cursor: false, values };
        let params = Params::fixed(plan.param_types());
        let mut variant = self.plan_as(&plan.statement, &plan.source, params, wanted)?;
        variant.text = Arc::clone(&plan.text);
        variant.prepared.declared = plan.declared.clone();
        self.count_planning(&variant);
        Ok(variant)
    }
}
