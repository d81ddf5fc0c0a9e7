//! The parts of the simulation.

mod clients;
pub(crate) mod life;
mod network;
pub(crate) mod node;
mod readers;
mod recovering;
pub(crate) mod world;
