//! The settings that new sessions start with, which a reload of steppe.conf replaces.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

use super::store::ServerSettings;
use super::value::Value;

/// The current [`ServerSettings`].
pub struct SharedSettings {
    current: RwLock<Arc<ServerSettings>>,
    /// Increases with every replacement. Sessions compare it, without the lock.
    generation: AtomicU64,
}

impl SharedSettings {
    /// The settings at the server's start.
    pub fn new(settings: ServerSettings) -> SharedSettings {
        SharedSettings { current: RwLock::new(Arc::new(settings)), generation: AtomicU64::new(1) }
    }

    /// The current settings.
    pub fn current(&self) -> Arc<ServerSettings> {
        Arc::clone(&self.current.read())
    }

    /// The generation of the current settings.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Replaces the settings.
    pub fn replace(&self, settings: ServerSettings) {
        *self.current.write() = Arc::new(settings);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// A value by PostgreSQL's name of the setting; the empty string for an unknown name.
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
