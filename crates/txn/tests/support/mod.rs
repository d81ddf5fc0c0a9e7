//! A world of sessions and tables that runs at random from a seed, and a model
//! that says what must be seen: shared by the crash and the snapshot tests.
//!
//! Everything happens in one thread, in an order that the seed decides. The model
//! of the committed database is the list of commits in their order; a session's
//! model is the state its snapshot sees, with its own changes on top.

#![allow(dead_code, unreachable_pub, missing_docs)] // each test uses its part

pub mod model;
mod simulation;
pub mod world;

pub use simulation::{for_each_seed, open, options};
