//! Steppe catalog.
