//! Steppe wire.
