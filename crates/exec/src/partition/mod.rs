//! Partitioned tables at run time (docs/design.md 6.2).
//!
//! A compiled statement names the partitioned table and never its leaves. They are taken from the
//! catalog when the statement runs. Each leaf is locked when it is first touched, and code compiled
//! for it is kept with the statement, up to a bound.
//!
//! | file | subject |
//! |---|---|
//! | `leaf` | locking a leaf |
//! | `pruning` | which leaves a scan's conditions leave |
//! | `leaves` | in which order they are read |
//! | `known` | the same without running anything, for EXPLAIN |
//! | `alike` | leaves that what is compiled for one of them serves |
//! | `cache` | what has been compiled for leaves |
//! | `columns` | a leaf's columns may stand in another order than its parent's |
//! | `template` | a leaf's scan, made from the scan of its parent |
//! | `key` | the partition key of a row |
//! | `leaf_statement` | a statement that concerns one leaf, as if the client had named it |
//! | `route` | the leaf a row belongs to, and whether it may be where it is |

mod alike;
mod cache;
mod columns;
mod key;
mod known;
mod leaf;
mod leaf_statement;
mod leaves;
mod pruning;
mod route;
mod template;

pub(crate) use alike::{Definition, Models};
pub(crate) use cache::{ByLeaf, HANDLES_MAX, LeafCache};
pub use columns::ColumnMap;
pub(crate) use known::{KnownValues, Stage};
pub(crate) use leaf::{LockedLeaf, index_above, leaf_in, lock_leaf, lock_mode_of};
pub(crate) use leaf_statement::LeafStatements;
pub(crate) use leaves::Leaves;
pub(crate) use pruning::ScanPruning;
pub(crate) use route::{PartitionCheck, RouteBuffers, Router};
pub(crate) use template::{LeafMember, LeafSet, LeafTemplate, order_of, slot_name_parts};

pub use leaf::lock_mode;
