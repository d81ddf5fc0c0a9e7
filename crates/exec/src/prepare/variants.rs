//! The plans of one statement that values of its parameters decide between
//! ([`steppe_sql::planner::Sensitive`]).
//!
//! All variants of a statement's plan are right for all values, so the choice changes only the
//! time. Their number is bounded. When there is no room for more, the plan of the nearest classes
//! runs.

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
    /// Filled from the front and never emptied, so that sessions can read without a lock.
    made: [OfClasses<P>; VARIANTS_MAX],
}

/// The place of a plan for some classes.
pub enum Found<'a, P> {
    /// The plan for unknown values.
    Unknown,
    /// A plan that was made earlier.
    Made(&'a Arc<P>),
    /// The plan may be made, and put here.
    Vacant(Vacancy<'a, P>),
}

/// Room for the plan of some classes.
pub struct Vacancy<'a, P> {
    classes: RowClasses,
    slot: &'a OfClasses<P>,
}

impl<P> Variants<P> {
    /// An empty set of variants. `None`: values make no difference.
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

    /// The variant for these values. If there is no room for it, the plan of the nearest classes.
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
    /// Keeps a plan here. If another session has filled the place meanwhile, the plan is dropped.
    pub fn fill(self, plan: Arc<P>) {
        let _ = self.slot.set((self.classes, plan));
    }
}
