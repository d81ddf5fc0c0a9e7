//! Steppe lab.
