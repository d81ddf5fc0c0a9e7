//! Which variant of a plan runs for the values at hand ([`steppe_sql::planner::Sensitive`]).
//!
//! All variants of a statement's plan are right for all values: the choice changes nothing but
//! time. plan_cache_mode means what it does in PostgreSQL: the plan for unknown values, one that is
//! planned for the values each time, or, by default, the variant of the values' classes.

use std::sync::{Arc, OnceLock};

use steppe_catalog::Catalog;
use steppe_sql::bind::Params;
use steppe_sql::planner::{PlannerSettings, RowClasses, Sensitive};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Result};

use super::Session;
use super::plan::Wanted;
use crate::plan_cache::CachedPlan;
use crate::settings::live::PlanCacheMode;

/// Variants that are kept besides the plan for unknown values.
const VARIANTS_MAX: usize = 15;

/// The variants of a plan that values of its parameters decide between.
pub(crate) struct Variants {
    scans: Arc<[Sensitive]>,
    /// The classes that the plan for unknown values was made for.
    of_unknown: RowClasses,
    /// Filled from the front; never emptied, so that sessions look without a lock.
    made: [OnceLock<(RowClasses, Arc<CachedPlan>)>; VARIANTS_MAX],
}

impl Variants {
    /// None yet; `None`: no values make a difference.
    pub(super) fn of(
        scans: &Arc<[Sensitive]>,
        context: (&Catalog, &PlannerSettings, &IoContext),
    ) -> Option<Box<Variants>> {
        (!scans.is_empty()).then(|| {
            let of_unknown = RowClasses::of(scans, &[], context);
            let made = std::array::from_fn(|_| OnceLock::new());
            Box::new(Variants { scans: Arc::clone(scans), of_unknown, made })
        })
    }
}

/// Where a plan for some classes is found.
enum Found<'a> {
    /// It is the one for unknown values.
    Unknown,
    /// It was made earlier.
    Made(&'a Arc<CachedPlan>),
    /// It may be made, and put here.
    Vacant(&'a OnceLock<(RowClasses, Arc<CachedPlan>)>),
}

impl Variants {
    /// Once there is no room, the plan of the nearest classes.
    fn find(&self, classes: RowClasses) -> Found<'_> {
        if classes == self.of_unknown {
            return Found::Unknown;
        }
        let (mut nearest, mut distance) = (Found::Unknown, classes.distance(self.of_unknown));
        for slot in &self.made {
            let Some((of, plan)) = slot.get() else { return Found::Vacant(slot) };
            match classes.distance(*of) {
                0 => return Found::Made(plan),
                other if other < distance => (nearest, distance) = (Found::Made(plan), other),
                _ => {}
            }
        }
        nearest
    }
}

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

    /// As [`Self::for_values`], of a prepared statement.
    #[inline]
    pub(super) fn for_prepared_values(
        &mut self,
        plan: Arc<CachedPlan>,
        params: &[Datum],
    ) -> Result<Arc<CachedPlan>> {
        match self.live.plan_cache_mode {
            PlanCacheMode::Auto => self.for_values(plan, params),
            PlanCacheMode::Generic => Ok(plan),
            PlanCacheMode::Custom if params.is_empty() => Ok(plan),
            PlanCacheMode::Custom => self.plan_for_values(&plan, params).map(Arc::new),
        }
    }

    /// What estimates depend on besides values.
    pub(super) fn estimates_by(&self) -> (&Catalog, &PlannerSettings, &IoContext) {
        (&self.names.catalog, &self.live.planner, &self.env.io)
    }

    fn variant(&mut self, plan: Arc<CachedPlan>, params: &[Datum]) -> Result<Arc<CachedPlan>> {
        let Some(variants) = plan.variants.as_deref() else { return Ok(plan) };
        let classes = RowClasses::of(&variants.scans, params, self.estimates_by());
        let slot = match variants.find(classes) {
            Found::Unknown => return Ok(plan),
            Found::Made(variant) if self.is_as_planned(variant) => return Ok(Arc::clone(variant)),
            Found::Made(_) => return self.plan_for_values(&plan, params).map(Arc::new),
            Found::Vacant(slot) => slot,
        };
        let variant = Arc::new(self.plan_for_values(&plan, params)?);
        // A transaction that sees a catalog of its own keeps its plans to itself. Another session
        // may have filled the place meanwhile: then the next run finds out.
        if self.may_share() {
            let _ = slot.set((classes, Arc::clone(&variant)));
        }
        Ok(variant)
    }

    /// A plan of the same statement with values as examples.
    fn plan_for_values(&mut self, plan: &CachedPlan, values: &[Datum]) -> Result<CachedPlan> {
        let wanted = Wanted { key: &plan.key, for_cursor: false, values };
        let params = Params::fixed(plan.param_types());
        let variant = self.plan_as(&plan.statement, &plan.source, params, wanted)?;
        let (text, declared) = (Arc::clone(&plan.text), plan.declared.clone());
        Ok(CachedPlan { text, declared, ..variant })
    }
}
