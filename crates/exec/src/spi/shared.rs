//! Plans of functions' statements, which all sessions share.
//!
//! ```text
//!   a session's Planned ──▶ PreparedPlan ◀── another session's Planned
//!                               │ what is compiled for its leaves, once for all sessions
//! ```
//!
//! A function's code belongs to a session, but a plan does not: it is a function of its inputs. They
//! are the text, the catalog, the search path, the settings that literals and the optimiser depend on,
//! and what the names of variables mean ([`Answers`]). A session whose inputs are those of a kept
//! plan runs that plan. PostgreSQL plans in each backend; the plan tells a user nothing about where
//! it was made.
//!
//! Only plans for the published catalog are shared, because a version of a transaction's own, or one
//! with a trigger's transition tables, is no other session's. Expressions that read no relation are
//! not kept: it costs little to make their plans again, and they would push out others.

use crate::prepare::{PreparedPlan, Variants};
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::hash::BuildHasher;
use std::sync::Arc;
use steppe_catalog::CatalogStore;
use steppe_functions::Frame;
use steppe_sql::bind::{Answers, Params};
use steppe_sql::planner::PlannerSettings;
use steppe_types::Oid;
use steppe_types::io::IoContext;

/// The most plans. One more takes the place of the one that no session has found for longest.
const PLANS_MAX: usize = 2048;
/// Longer texts are not kept.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// A plan, with the plans that the values of its parameters select from.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) plan: Arc<PreparedPlan>,
    pub(super) variants: Option<Arc<Variants<PreparedPlan>>>,
}

/// The session's part of a plan's inputs.
struct Inputs {
    path: Arc<[Oid]>,
    planner: Arc<PlannerSettings>,
    /// Without a catalog.
    io: IoContext,
    answers: Answers,
}

struct Kept {
    inputs: Inputs,
    shared: Shared,
    /// When a session has found it last.
    used: u64,
}

#[derive(Default)]
struct Plans {
    /// By the hash of the text.
    by_text: HashMap<u64, Vec<Kept>, foldhash::fast::RandomState>,
    clock: u64,
    /// The epoch of the catalog for which outdated plans were dropped last.
    swept: u64,
}

/// The shared plans. The server keeps them for its sessions.
#[derive(Default)]
pub struct SharedPlans {
    hasher: foldhash::quality::RandomState,
    plans: Mutex<Plans>,
}

/// A session that asks for a plan.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    /// The text that is parsed.
    pub(super) source: &'a str,
    /// The rows must have their positions.
    pub(super) for_cursor: bool,
    pub(super) params: &'a Params,
    /// Its catalog is the published one of `catalogs`.
    pub(super) frame: &'a Frame,
    pub(super) catalogs: &'a CatalogStore,
}

impl Asking<'_> {
    /// Whether a plan is the one that would be made now.
    fn gets(&self, kept: &Kept) -> bool {
        let (inputs, plan, frame) = (&kept.inputs, &kept.shared.plan, self.frame);
        *plan.source == *self.source
            && plan.compiled.planned().positions.is_some() == self.for_cursor
            && plan.is_good_for(frame.names.catalog.epoch, self.catalogs)
            && inputs.path == frame.names.path
            && inputs.planner == frame.planner
            && read_alike(&inputs.io, &frame.io)
            && inputs.answers.are_of(self.params)
    }
}

/// Whether literals mean the same. (`now` is none: each run reads it.)
fn read_alike(a: &IoContext, b: &IoContext) -> bool {
    a.datetime == b.datetime
        && a.bytea_output == b.bytea_output
        && a.extra_float_digits == b.extra_float_digits
        && a.array_nulls == b.array_nulls
}

impl SharedPlans {
    /// The plan that another session has made.
    pub(super) fn find(&self, asking: Asking<'_>) -> Option<Shared> {
        self.plans.lock().find(self.hasher.hash_one(asking.source), asking)
    }

    /// Keeps a plan that was made with these answers. Returns the plan of another session that was
    /// quicker.
    pub(super) fn keep(
        &self,
        asking: Asking<'_>,
        answers: Answers,
        shared: &Shared,
    ) -> Option<Shared> {
        let is_worth_it = !shared.plan.compiled.planned().relations.is_empty();
        if !is_worth_it || asking.source.len() > TEXT_BYTES_MAX {
            return None;
        }
        let hash = self.hasher.hash_one(asking.source);
        let plans = &mut *self.plans.lock();
        if let Some(other) = plans.find(hash, asking) {
            return Some(other);
        }
        plans.make_room(asking);
        let Frame { names, planner, io, .. } = asking.frame;
        let inputs = Inputs {
            path: Arc::clone(&names.path),
            planner: Arc::clone(planner),
            io: IoContext { catalog: None, ..(**io).clone() },
            answers,
        };
        plans.clock += 1;
        let kept = Kept { inputs, shared: shared.clone(), used: plans.clock };
        plans.by_text.entry(hash).or_default().push(kept);
        None
    }
}

impl Plans {
    fn find(&mut self, hash: u64, asking: Asking<'_>) -> Option<Shared> {
        let kept = self.by_text.get_mut(&hash)?.iter_mut().find(|kept| asking.gets(kept))?;
        self.clock += 1;
        kept.used = self.clock;
        Some(kept.shared.clone())
    }

    /// Drops outdated plans, and the one that no session has found for longest if there are too many.
    fn make_room(&mut self, Asking { frame, catalogs, .. }: Asking<'_>) {
        let epoch = frame.names.catalog.epoch;
        if self.swept != epoch {
            self.swept = epoch;
            self.retain(|kept| kept.shared.plan.is_good_for(epoch, catalogs));
        }
        if self.by_text.values().map(Vec::len).sum::<usize>() >= PLANS_MAX {
            let oldest = self.by_text.values().flatten().map(|kept| kept.used).min();
            self.retain(|kept| Some(kept.used) != oldest);
        }
    }

    fn retain(&mut self, is_kept: impl Fn(&Kept) -> bool) {
        self.by_text.retain(|_, of_text| {
            of_text.retain(&is_kept);
            !of_text.is_empty()
        });
    }
}
