//! Foreign keys (src/backend/utils/adt/ri_triggers.c).
//!
//! PostgreSQL checks them in internal triggers, a query for each row. Here a statement's queue holds
//! the keys of the changed rows, and runs them at the statement's end:
//!
//! ```text
//!   a row is stored ──▶ KeySet::queue ──▶ event: a run of keys
//!                                             │ end of the statement
//!                        ┌────────────────────┴─────────────────────┐
//!        referencing row: the key must exist        referenced key is removed
//!          batch of keys, sorted, each once           NO ACTION, RESTRICT: a query for rows that
//!          look-up in the unique index                  refer to it
//!          KEY SHARE lock on the row, in memory       CASCADE and others: a statement on the
//!                                                       referencing table
//! ```
//!
//! Both see the database as it is at that moment. A referencing row of another transaction cannot
//! escape them. Its check locks the referenced row, and a change of a referenced key waits for that
//! lock. So either the check does not find the key, or the query finds the referencing row.
//!
//! If a check finds no key, it looks at the referencing row again. A row that has been deleted, or
//! has another key by now, needs none (RI_FKey_check).
//!
//! A deferred check is about one version of its row, and void if the transaction has replaced this
//! version since. So each new version of a row whose old one is the transaction's own is checked, even
//! if its key stays the same (RI_FKey_fk_upd_check_required). The changes of rows without plan nodes
//! ([`crate::point`]) leave such rows to the general way.
//!
//! | file | subject |
//! |---|---|
//! | `keys` | the referenced rows, by key: look-up and lock |
//! | `convert` | a referencing value as the referenced column has it |
//! | `set` | the foreign keys that a command on a table meets, compiled |
//! | `log` | the queue |
//! | `check` | referencing rows |
//! | `action` | removed referenced keys |
//! | `join` | whether all rows of a table have their keys |
//! | `names` | names in statements |
//! | `violation` | the errors |

mod action;
mod check;
mod convert;
mod join;
mod keys;
mod log;
mod names;
mod set;
mod violation;

pub(super) use check::{check_one, run_deferred_references};
pub use convert::converts;
pub use join::{JoinContext, lacks_key};
pub use keys::ReferencedKeys;
pub(super) use log::KeyLog;
pub(crate) use set::KeyRules;
pub(super) use set::KeySet;
pub use violation::{missing_key, mixed_nulls};

pub(super) use action::run_unreferenced;
