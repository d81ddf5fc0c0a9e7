//! The plans of one statement that values of its parameters decide between
//! ([`steppe_sql::planner::Sensitive`]).
//!
//! What it guarantees: all variants of a statement's plan are right for all values: the choice
//! changes nothing but time. Their number is bounded; once there is no room for more, the plan of
//! the nearest classes runs.

use std::sync::{Arc, OnceLock};
use steppe_catalog::Catalog;
use steppe_sql::planner::{PlannerSettings, RowClasses, Sensitive};
use steppe_types::Datum;
use steppe_types::io::IoContext;

/// Variants that are kept besides the plan for unknown values.
const VARIANTS_MAX: usize = 15;

/// A plan, and the classes that it was made for.
type OfClasses<P> = OnceLock<(RowClasses, Arc<P>)>;

/// The variants of a plan that values of its parameters decide between.
pub struct Variants<P> {
    scans: Arc<[Sensitive]>,
    /// The classes that the plan for unknown values was made for.
    of_unknown: RowClasses,
    /// Filled from the front; never emptied, so that sessions look without a lock.
    made: [OfClasses<P>; VARIANTS_MAX],
}

/// Where a plan for some classes is found.
pub enum Found<'a, P> {
    /// It is the one for unknown values.
    Unknown,
    /// It was made earlier.
    Made(&'a Arc<P>),
    /// It may be made, and put here.
    Vacant(Vacancy<'a, P>),
}

/// Room for the plan of some classes.
pub struct Vacancy<'a, P> {
    classes: RowClasses,
    slot: &'a OfClasses<P>,
}

impl<P> Variants<P> {
    /// None yet; `None`: no values make a difference.
    pub fn of(
        scans: &Arc<[Sensitive]>,
        context: (&Catalog, &PlannerSettings, &IoContext),
    ) -> Option<Box<Variants<P>>> {
        (!scans.is_empty()).then(|| {
            let of_unknown = RowClasses::of(scans, &[], context);
            let made = std::array::from_fn(|_| OnceLock::new());
            Box::new(Variants { scans: Arc::clone(scans), of_unknown, made })
        })
    }

    /// The variant for these values; once there is no room, the plan of the nearest classes.
    pub fn find(
        &self,
        values: &[Datum],
        context: (&Catalog, &PlannerSettings, &IoContext),
    ) -> Found<'_, P> {
        let classes = RowClasses::of(&self.scans, values, context);
        if classes == self.of_unknown {
            return Found::Unknown;
        }
        let (mut nearest, mut distance) = (Found::Unknown, classes.distance(self.of_unknown));
        for slot in &self.made {
            let Some((of, plan)) = slot.get() else {
                return Found::Vacant(Vacancy { classes, slot });
            };
            match classes.distance(*of) {
                0 => return Found::Made(plan),
                other if other < distance => (nearest, distance) = (Found::Made(plan), other),
                _ => {}
            }
        }
        nearest
    }
}

impl<P> Vacancy<'_, P> {
    /// Keeps a plan here. Another session may have filled the place meanwhile: then the next run
    /// finds out.
    pub fn fill(self, plan: Arc<P>) {
        let _ = self.slot.set((self.classes, plan));
    }
}
