//! The settings that new sessions start with, which a reload of steppe.conf replaces.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

use super::store::ServerSettings;
use super::value::Value;

/// One [`ServerSettings`] after the other.
pub struct SharedSettings {
    current: RwLock<Arc<ServerSettings>>,
    /// Grows with every replacement: sessions look at this, not at the lock.
    generation: AtomicU64,
}

impl SharedSettings {
    /// Those of a server's start.
    pub fn new(settings: ServerSettings) -> SharedSettings {
        SharedSettings { current: RwLock::new(Arc::new(settings)), generation: AtomicU64::new(1) }
    }

    /// Those in force.
    pub fn current(&self) -> Arc<ServerSettings> {
        Arc::clone(&self.current.read())
    }

    /// Which those are.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Others come into force.
    pub fn replace(&self, settings: ServerSettings) {
        *self.current.write() = Arc::new(settings);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// A value by PostgreSQL's name of the setting; the empty string if there is none.
    pub fn get(&self, name: &str) -> Value {
        self.current.read().get(name)
    }

    /// A number, in its base unit.
    pub fn int(&self, name: &str) -> i64 {
        self.current.read().int(name)
    }

    /// Whether a Boolean setting is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name) == Value::Bool(true)
    }
}
