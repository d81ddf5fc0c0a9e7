//! Steppe exec.
