//! Steppe storage.
