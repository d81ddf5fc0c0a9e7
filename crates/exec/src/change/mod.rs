//! The one way of changing rows: INSERT, UPDATE and DELETE by a plan's node, by a point statement,
//! by COPY.
//!
//! | file | subject |
//! |---|---|
//! | `node` | the plan node: batches in, RETURNING out |
//! | `target` | the table: what its rows must satisfy, and how they are laid out |
//! | `row` | changes of one row, step by step, with READ COMMITTED's recheck |
//! | `insert` | INSERT of rows: in runs, a batch each |
//! | `route` | each row of a partitioned or inherited table to its leaf |
//! | `conflict` | INSERT … ON CONFLICT |
//! | `outcome` | what became of an attempt, as the engine answers it |
//! | `writer` | batches of rows to the table and, sorted, to its indexes |
//! | `written` | which columns an UPDATE writes, and what follows |
//! | `mark` | points to which a part of a statement is taken back |
//! | `hooks` | the triggers that the statement meets, compiled |
//! | `trigger` | calling them |
//! | `quiet` | BEFORE ROW triggers of a batch of rows that are inserted |
//! | `held` | rows that AFTER ROW triggers insert, stored together |
//! | `constraint_trigger` | triggers that are deferred |
//! | `transition` | the rows of transition tables |
//! | `truncate` | triggers of TRUNCATE |
//! | `redundant` | suppress_redundant_updates_trigger |
//! | `instead` | INSTEAD OF triggers of views |
//! | `events` | what is done at the end of the statement |
//! | `queued_rows` | the rows for triggers until then |
//! | `put_off` | which of that is deferred |
//! | `deferred` | keys of DEFERRABLE constraints, which are checked later |
//! | `foreign_key` | foreign keys: checks of referencing rows, actions on them |
//! | `checks` | NOT NULL, CHECK, and the errors with their details |
//! | `returned` | what RETURNING is over, and its system columns |
//!
//! A statement that fails half-way leaves its changes to the session, which undoes them to the
//! statement's start (an undo position).

mod checks;
mod conflict;
mod constraint_trigger;
mod deferred;
mod events;
mod foreign_key;
mod held;
mod hooks;
mod insert;
mod instead;
mod mark;
mod node;
pub(crate) mod outcome;
mod put_off;
mod queued_rows;
mod quiet;
pub(crate) mod redundant;
mod returned;
mod route;
mod row;
mod target;
mod transition;
mod trigger;
mod truncate;
mod writer;
mod written;

pub use checks::shown_key;
pub(crate) use checks::{
    check_partition, check_row, check_views, duplicate_key, null_violation, shown,
};
pub(crate) use conflict::ConflictPlan;
pub use deferred::run_deferred;
pub(crate) use events::{EventMark, EventQueue, finish as finish_events};
pub(crate) use foreign_key::KeyRules;
pub use foreign_key::{JoinContext, ReferencedKeys, converts, lacks_key, missing_key, mixed_nulls};
pub(crate) use held::HeldInserts;
pub(crate) use hooks::commands_of;
pub use hooks::{OldAndNew, RowCommand};
pub(crate) use node::{ModifyPlan, start};
pub(crate) use quiet::Quiet;
pub(crate) use route::{OpenLeaves, Partitioned};
pub(crate) use target::{GeneratedColumn, Target, TargetRules, arbiters, not_null_columns};
pub(crate) use transition::Captures;
pub use trigger::{TriggerAnswer, TriggerCall, TriggerRows};
pub use truncate::{fire_truncate, has_truncate_triggers};
pub(crate) use writer::Inserter;
pub use writer::TableWriter;
pub(crate) use written::Written;
