//! Steppe txn.
