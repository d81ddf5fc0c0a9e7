//! suppress_redundant_updates_trigger (src/backend/utils/adt/trigfuncs.c): skips the UPDATE of a row
//! that changes no byte of it.

use super::{RowCommand, TriggerAnswer, TriggerCall};
use crate::spi::Spi;
use steppe_catalog::trigger::{TriggerLevel, TriggerTiming};
use steppe_types::{Error, Result, SqlState};

/// The function's prosrc.
pub(crate) const SOURCE: &str = "suppress_redundant_updates_trigger";

/// The function. 39P01 for a trigger that is not BEFORE UPDATE … FOR EACH ROW.
pub(crate) fn suppress_redundant_updates(
    call: &TriggerCall<'_>,
    _: &mut Spi<'_>,
) -> Result<TriggerAnswer> {
    let refused = |what: &str| {
        let message = format!("{SOURCE}: must be called {what}");
        Err(Error::new(SqlState::TRIGGER_PROTOCOL_VIOLATED, message))
    };
    if call.command != RowCommand::Update {
        return refused("on update");
    }
    if call.timing() != TriggerTiming::Before {
        return refused("before update");
    }
    if call.level() != TriggerLevel::Row {
        return refused("for each row");
    }
    match call.old == call.new {
        true => Ok(TriggerAnswer::Skip),
        false => Ok(TriggerAnswer::Same),
    }
}
