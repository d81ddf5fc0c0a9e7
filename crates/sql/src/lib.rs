//! Steppe sql.
