//! Postgres-XL's functions for the connections to data nodes (poolutils.c).

use steppe_exec::registry::Native;
use steppe_types::{Datum, Result};

use crate::services::SharedSession;

/// Functions by prosrc.
pub(super) const TABLE: &[(&str, Native)] = &[("pgxc_pool_reload", value!(reload))];

/// Closes connections that are idle, and used ones when their transactions end.
fn reload(core: &SharedSession, _: &[Datum]) -> Result<Datum> {
    core.server.cluster.reload(&core.names().catalog);
    Ok(Datum::Bool(true))
}
