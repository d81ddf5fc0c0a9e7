//! Steppe server.
