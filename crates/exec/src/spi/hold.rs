//! Rows of a function's INSERT that are held ([`crate::change`], `held`).

use super::prepared::Body;
use super::{Prepared, Spi};
use crate::watch::watch_of;
use steppe_types::{Datum, Result};

impl Spi<'_> {
    /// Holds the row of an INSERT, if it can be held. The result is the number of rows.
    pub(super) fn hold(
        &mut self,
        prepared: &mut Prepared,
        params: &[Datum],
    ) -> Result<Option<u64>> {
        let Body::Plan(planned) = &mut prepared.body else { return Ok(None) };
        let is_watched = || watch_of(&*self.cx.functions.session).is_some();
        if self.is_read_only || !planned.plan.can_be_held() || is_watched() {
            return Ok(None);
        }
        let version = self.session().frame_version();
        let version = match self.cx.holds(&planned.plan, version) {
            true => version,
            false => {
                planned.env.statement_timestamp = self.cx.functions.statement_timestamp;
                planned.env.transaction_timestamp = self.cx.functions.transaction_timestamp;
                // What is held of other statements is stored first.
                self.lend(|txn| planned.make_ready(txn, false))?;
                let version = planned.version();
                if !self.cx.begin_to_hold(&planned.plan, version, &planned.env)? {
                    return Ok(None);
                }
                version
            }
        };
        self.has_queried = true;
        let literals = &prepared.literals;
        let fill = &mut |out: &mut Vec<Datum>| planned.append_values(params, literals, out);
        self.cx.hold_row((&planned.plan, version), fill)?;
        Ok(Some(1))
    }
}
