//! The search path of functions that maintenance of a table calls: `pg_catalog, pg_temp`
//! (RestrictSearchPath). So what ANALYZE and the build of an index compute does not depend on the
//! session that runs them.

use super::DdlContext;
use std::sync::Arc;
use steppe_catalog::{Function, PG_CATALOG};
use steppe_functions::SessionHost;
use steppe_types::Result;

/// The setting, while the maintenance runs.
struct Restricted(Arc<dyn SessionHost>, u32);

impl Drop for Restricted {
    fn drop(&mut self) {
        self.0.leave_settings(self.1);
    }
}

/// Runs maintenance with that search path. Functions of the program do not use it, so it is set only
/// where users have made some.
pub(crate) fn restricted<T>(
    ctx: &mut DdlContext<'_>,
    run: impl FnOnce(&mut DdlContext<'_>) -> Result<T>,
) -> Result<T> {
    if ctx.catalog().stored::<Function>().is_empty() {
        return run(ctx);
    }
    let setting = ("search_path".into(), "pg_catalog, pg_temp".into());
    let level = ctx.session.enter_settings(&[setting])?;
    let _restricted = Restricted(Arc::clone(&ctx.session), level);
    let before = std::mem::replace(&mut ctx.search_path, vec![PG_CATALOG]);
    let done = run(ctx);
    ctx.search_path = before;
    done
}
