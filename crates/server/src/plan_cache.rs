//! Plans shared between sessions, by statement shape (docs/design.md 7.4).
//!
//! The key is the statement's text with the types of its parameters. An entry is valid for one set
//! of the settings that plans depend on. It is valid for the catalog version that it was made for,
//! and for later versions as long as they leave its objects unchanged. The next session that plans
//! the statement replaces a stale entry. Each session keeps its recently used entries in its own
//! table, so that it asks the shared one once for each statement.

use std::hash::BuildHasher;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use parking_lot::Mutex;
use steppe_exec::prepare::{PreparedPlan, Variants};
use steppe_sql::parser::normalize::Parameters;
use steppe_types::Oid;

use crate::statements::{Statement, Statements};

/// A plan with the data that a session keeps of its statement. It is shared and immutable.
pub struct CachedPlan {
    /// The plan, and the input to plan it again.
    pub prepared: PreparedPlan,
    /// Its key in the cache; empty if it is not in the cache.
    pub key: Box<str>,
    /// The hash of the settings and the search path that it was planned under.
    pub fingerprint: u64,
    /// The text of this statement alone, if the source has several.
    pub text: Arc<str>,
    /// The counters of its runs, after its first run.
    pub(crate) counted: OnceLock<Arc<Statement>>,
    /// The plans that the parameters' values select from; `None` if this is one of them, or the
    /// only plan.
    pub(crate) variants: Option<Box<Variants<CachedPlan>>>,
    /// RowDescription with all columns in text format; empty if there are none.
    pub description: Box<[u8]>,
    /// The collations of the result's columns that are columns of tables or views, 0 for others.
    pub collations: Box<[Oid]>,
    /// It reads the views of the session's own prepared statements and cursors.
    pub shows_session: bool,
}

impl Deref for CachedPlan {
    type Target = PreparedPlan;

    #[inline]
    fn deref(&self) -> &PreparedPlan {
        &self.prepared
    }
}

impl CachedPlan {
    /// Whether its parameters are literals of the client's text.
    pub(crate) fn is_lifted(&self) -> bool {
        !self.key.is_empty() && !self.key.starts_with([TEXT_KEY, ROWS_KEY])
    }

    /// Whether its source is a text as a client has written it, with the client's parameters.
    pub(crate) fn has_own_text(&self) -> bool {
        self.key.is_empty() || self.key.starts_with(TEXT_KEY)
    }

    /// The counters of its runs.
    pub(crate) fn statement(&self, statements: &Statements) -> &Arc<Statement> {
        self.counted.get_or_init(|| {
            let parameters = if self.is_lifted() { Parameters::Lifted } else { Parameters::Own };
            let relations = self.compiled.planned().relations.iter();
            statements.statement(&self.text, parameters, relations.map(|(oid, _)| *oid))
        })
    }
}

/// An entry of the cache.
#[derive(Clone)]
pub enum Cached {
    /// A plan.
    Plan(Arc<CachedPlan>),
    /// With its literals lifted, the statement has another meaning or fails.
    NotLiftable {
        /// As in [`PreparedPlan::epoch`].
        epoch: u64,
    },
}

/// The first character of a key whose text keeps its literals.
pub const TEXT_KEY: char = '\u{1}';
/// The first character of a key of one row of a statement with many.
pub const ROWS_KEY: char = '\u{2}';

const SHARDS: usize = 16;
/// Entries of one shard: 4096 in all.
const SHARD_ENTRIES_MAX: usize = 256;
/// Longer keys are not worth the memory.
pub const KEY_BYTES_MAX: usize = 16 * 1024;

struct Entry {
    key: Box<str>,
    fingerprint: u64,
    cached: Cached,
    used: u64,
}

/// The shared table.
pub struct PlanCache {
    hasher: foldhash::quality::RandomState,
    shards: [Mutex<HashMap<u64, Entry, foldhash::fast::RandomState>>; SHARDS],
    clock: AtomicU64,
}

impl PlanCache {
    /// An empty cache.
    pub fn new() -> PlanCache {
        PlanCache {
            hasher: foldhash::quality::RandomState::default(),
            shards: std::array::from_fn(|_| Mutex::default()),
            clock: AtomicU64::new(0),
        }
    }

    /// The hash of a key, for look-ups.
    pub fn hash(&self, key: &str, fingerprint: u64) -> u64 {
        self.hasher.hash_one((key, fingerprint))
    }

    fn shard(&self, hash: u64) -> &Mutex<HashMap<u64, Entry, foldhash::fast::RandomState>> {
        &self.shards[hash as usize % SHARDS]
    }

    /// The entry of a key, for any catalog version.
    pub fn get(&self, hash: u64, key: &str, fingerprint: u64) -> Option<Cached> {
        let mut shard = self.shard(hash).lock();
        let entry = shard.get_mut(&hash)?;
        if *entry.key != *key || entry.fingerprint != fingerprint {
            return None;
        }
        entry.used = self.clock.fetch_add(1, Ordering::Relaxed);
        Some(entry.cached.clone())
    }

    /// Adds or replaces an entry. The least recently used one makes room.
    pub fn put(&self, hash: u64, key: &str, fingerprint: u64, cached: Cached) {
        if key.len() > KEY_BYTES_MAX {
            return;
        }
        let used = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut shard = self.shard(hash).lock();
        if shard.len() >= SHARD_ENTRIES_MAX && !shard.contains_key(&hash) {
            let oldest = shard.iter().min_by_key(|(_, entry)| entry.used).map(|(hash, _)| *hash);
            if let Some(oldest) = oldest {
                shard.remove(&oldest);
            }
        }
        shard.insert(hash, Entry { key: key.into(), fingerprint, cached, used });
    }
}

impl Default for PlanCache {
    fn default() -> PlanCache {
        PlanCache::new()
    }
}

/// Entries of a session's own table.
const LOCAL_ENTRIES_MAX: usize = 64;

/// A session's own table in front of the shared one.
#[derive(Default)]
pub struct LocalPlans {
    entries: HashMap<u64, Cached, foldhash::fast::RandomState>,
}

impl LocalPlans {
    /// The entry of a hash. The caller compares the plan's own key, because hashes may collide.
    #[inline]
    pub fn get(&self, hash: u64) -> Option<&Cached> {
        self.entries.get(&hash)
    }

    /// Adds an entry.
    pub fn put(&mut self, hash: u64, cached: Cached) {
        if self.entries.len() >= LOCAL_ENTRIES_MAX && !self.entries.contains_key(&hash) {
            self.entries.clear();
        }
        self.entries.insert(hash, cached);
    }

    /// DISCARD PLANS.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_bounded_and_keeps_what_is_used() {
        let cache = PlanCache::new();
        let name = |i: usize| format!("select {i}");
        let put = |i: usize| {
            let hash = cache.hash(&name(i), 0);
            cache.put(hash, &name(i), 0, Cached::NotLiftable { epoch: i as u64 });
        };
        put(0);
        for i in 1..20_000 {
            put(i);
            assert!(cache.get(cache.hash(&name(0), 0), &name(0), 0).is_some(), "{i}");
        }
        let total: usize = cache.shards.iter().map(|shard| shard.lock().len()).sum();
        assert!(total <= SHARDS * SHARD_ENTRIES_MAX);
        assert!(cache.get(cache.hash("other", 0), "other", 0).is_none());
        assert!(cache.get(cache.hash(&name(0), 0), "another key", 0).is_none());
    }
}
