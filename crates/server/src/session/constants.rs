//! Errors of a plan's constants, at the same time as PostgreSQL's planning (exec::constants has the
//! rule).
//!
//! PostgreSQL makes a custom plan for the first five runs of a prepared statement, then a generic
//! plan (choose_custom_plan in plancache.c). If constants fail in the generic plan, they fail at
//! each further run. PostgreSQL then chooses the cheaper kind. Here the generic plan is kept in any
//! case.

use steppe_types::{Datum, Result};

use super::Session;
use crate::plan_cache::CachedPlan;
use crate::settings::live::PlanCacheMode;

/// The number of custom plans of a prepared statement.
const CUSTOM_PLANS: u8 = 5;

impl Session {
    /// Fails if constants of a plan fail with these parameters.
    #[inline]
    pub(super) fn check_constants(&self, plan: &CachedPlan, params: &[Datum]) -> Result<()> {
        plan.compiled.check_constants(Some(params), &self.namespace.names.catalog)
    }

    /// As [`Self::check_constants`], for any parameters.
    pub(super) fn check_constants_alone(&self, plan: &CachedPlan) -> Result<()> {
        plan.compiled.check_constants(None, &self.namespace.names.catalog)
    }

    /// As [`Self::check_constants`], for a prepared statement.
    #[inline]
    pub(super) fn check_prepared(
        &mut self,
        name: &str,
        plan: &CachedPlan,
        params: &[Datum],
    ) -> Result<()> {
        match plan.compiled.has_constants() {
            true => self.check_prepared_constants(name, plan, params),
            false => Ok(()),
        }
    }

    #[cold]
    fn check_prepared_constants(
        &mut self,
        name: &str,
        plan: &CachedPlan,
        params: &[Datum],
    ) -> Result<()> {
        let is_custom = match self.settings.live.plan_cache_mode {
            PlanCacheMode::Generic => false,
            PlanCacheMode::Custom => true,
            PlanCacheMode::Auto => self.statements.get(name)?.custom_plans < CUSTOM_PLANS,
        };
        // Without parameters, custom and generic plan are the same.
        if !is_custom && !params.is_empty() {
            return self.check_constants_alone(plan);
        }
        self.check_constants(plan, params)?;
        self.statements.count_custom_plan(name);
        Ok(())
    }
}
