//! Steppe vfs.
