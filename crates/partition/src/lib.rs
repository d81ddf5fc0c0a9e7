//! Declarative partitioning's arithmetic: which partition holds a row, and which can
//! hold rows that satisfy a predicate.
//!
//! Pure functions over [`steppe_types`]: no catalog, no I/O. Relations are OIDs.
//! The README states what must be true and why it is.
//!
//! - `bound`: the bound of a partition.
//! - `error`: why a bound is refused.
//! - `key`: the space of bytes that rows and bounds share.
//! - `map`: a parent's partitions, over `range`, `list` and `hash`, in `sorted` maps.
//! - `flat`: range bounds of a parent that many rows are routed through.
//! - `route`: routing through several levels.
//! - `prune`: predicates, their steps, sets of keys.
//! - `select`: the partitions that meet a set.
//! - `same`: parents with the same bounds.
//! - `merge`: parents whose partitions match one by one although their bounds differ.

mod bound;
mod error;
mod exact;
mod flat;
mod hash;
mod key;
mod list;
mod map;
mod merge;
mod prune;
mod range;
mod route;
mod same;
mod select;
mod sorted;

pub use bound::{BoundValue, PartitionBound, RangeDatum};
pub use error::{BoundError, BoundPlace};
pub use exact::make_exact;
pub use map::{PartitionMap, PartitionStrategy, RoutedPartition};
pub use merge::{JoinBounds, Pairs, RowsKept};
pub use prune::{Comparison, KeySet, Operand, Predicate, PruningSteps};
pub use route::{Route, route_to_leaf};
pub use select::{KeyOrder, Selected};
