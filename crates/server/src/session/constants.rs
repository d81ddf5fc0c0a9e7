//! Where a plan's constants fail: where PostgreSQL would plan (exec::constants has the rule).
//!
//! Statements are planned for the parameters that they run with. A prepared one is so the first
//! five times, then once for any parameters (choose_custom_plan in plancache.c): if constants fail
//! in that, they do so each time. Which of the two is cheaper afterwards is left out of account:
//! it is the plan for any parameters that is kept.

use steppe_types::{Datum, Result};

use super::Session;
use crate::plan_cache::CachedPlan;
use crate::settings::live::PlanCacheMode;

/// A prepared statement is planned for its parameters so many times.
const CUSTOM_PLANS: u8 = 5;

impl Session {
    /// Fails if constants of a plan do that is about to run with these parameters.
    #[inline]
    pub(super) fn check_constants(&self, plan: &CachedPlan, params: &[Datum]) -> Result<()> {
        plan.compiled.check_constants(Some(params), &self.namespace.names.catalog)
    }

    /// As [`Self::check_constants`], whatever the parameters will be.
    pub(super) fn check_constants_alone(&self, plan: &CachedPlan) -> Result<()> {
        plan.compiled.check_constants(None, &self.namespace.names.catalog)
    }

    /// As [`Self::check_constants`], of a prepared statement.
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
        // Without parameters there is one plan.
        if !is_custom && !params.is_empty() {
            return self.check_constants_alone(plan);
        }
        self.check_constants(plan, params)?;
        self.statements.count_custom_plan(name);
        Ok(())
    }
}
