//! Triggers: CREATE, ALTER, DROP and COMMENT ON TRIGGER, ENABLE and DISABLE TRIGGER
//! (src/backend/commands/trigger.c).
//!
//! A trigger is a part of its relation, which the statements replace under a lock in mode SHARE ROW
//! EXCLUSIVE or stronger. The relation has its triggers in the order of their names, which is the
//! order in which they fire.
//!
//! A row trigger of a partitioned table has a clone on each partition. The clones are made with the
//! trigger, and with each later partition. They are renamed, enabled, disabled and dropped with the
//! trigger. A partition that is detached loses its clones.
//!
//! | file | subject |
//! |---|---|
//! | `create` | CREATE TRIGGER |
//! | `check` | what a statement may ask of a kind of relation |
//! | `transition` | REFERENCING |
//! | `clones` | the triggers of partitions |
//! | `alter` | RENAME, ENABLE, DISABLE, COMMENT |
//! | `drop` | DROP TRIGGER |
//! | `columns` | the columns that a trigger names |

mod alter;
mod check;
mod clones;
mod columns;
mod create;
mod drop;
mod transition;

pub(super) use alter::{comment, rename, switch, switch_name};
pub(super) use clones::{clone_to_new_partition, clone_to_partition, drop_clones};
pub(super) use columns::{check_retype, depends_on, reprint};
pub(super) use create::create_trigger;
pub(super) use drop::{check_is_no_trigger, drop_triggers, remove};
pub(super) use transition::check_child;

use super::DdlContext;
use steppe_catalog::Relation;
use steppe_catalog::trigger::Trigger;
use steppe_types::{Error, Result, SqlState};

/// 42704
fn undefined(relation: &Relation, name: &str) -> Error {
    let message = format!("trigger \"{name}\" for table \"{}\" does not exist", relation.name);
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}

/// 42710
fn exists(relation: &Relation, name: &str) -> Error {
    let message = format!("trigger \"{name}\" for relation \"{}\" already exists", relation.name);
    Error::new(SqlState::DUPLICATE_OBJECT, message)
}

fn named<'r>(relation: &'r Relation, name: &str) -> Option<&'r Trigger> {
    relation.triggers.iter().find(|trigger| *trigger.name == *name)
}

/// Puts a relation with other triggers, in the order of their names.
fn put(ctx: &mut DdlContext<'_>, relation: &Relation, mut triggers: Vec<Trigger>) -> Result<()> {
    triggers.sort_by(|a, b| a.name.cmp(&b.name));
    ctx.put(Relation { triggers: triggers.into(), ..relation.clone() })
}
