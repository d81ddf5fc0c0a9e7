//! The check that a value fulfils the conditions of a domain (ExecEvalConstraintNotNull and
//! ExecEvalConstraintCheck).

use super::{Domain, Row};
use crate::context::ExecContext;
use std::sync::Arc;
use steppe_types::{Datum, Error, Result, SqlState};

/// The value, if the domain accepts it: 23502 for a refused NULL, 23514 for another refused value.
pub(super) fn check(domain: &Domain, cx: &mut ExecContext, row: Row<'_>) -> Result<Datum> {
    let value = domain.arg.eval(cx, row)?;
    let checks = &domain.checks;
    let of_domain = |error: Error| error.datatype(&checks.name.0, &checks.name.1);
    if checks.not_null && value.is_null() {
        let message = format!("domain {} does not allow null values", shown(domain, cx));
        return Err(of_domain(Error::new(SqlState::NOT_NULL_VIOLATION, message)));
    }
    // A condition may contain a cast to another domain.
    let outer = std::mem::replace(&mut cx.domain_value, value.clone());
    let refused = first_refused(domain, cx, row);
    cx.domain_value = outer;
    match refused? {
        None => Ok(value),
        Some(constraint) => {
            let message = format!(
                "value for domain {} violates check constraint \"{constraint}\"",
                shown(domain, cx)
            );
            let error = Error::new(SqlState::CHECK_VIOLATION, message).constraint(&constraint);
            Err(of_domain(error))
        }
    }
}

/// The domain's name as the session finds it: stored expressions are bound without a search path.
fn shown(domain: &Domain, cx: &ExecContext) -> String {
    let catalog = cx.functions.io.catalog.as_ref();
    let named = catalog.and_then(|catalog| catalog.type_name(domain.checks.domain));
    named.unwrap_or_else(|| domain.checks.shown.to_string())
}

/// The first constraint that refuses the value in the context.
fn first_refused(domain: &Domain, cx: &mut ExecContext, row: Row<'_>) -> Result<Option<Arc<str>>> {
    for (name, condition) in &domain.conditions {
        if condition.test(cx, row)? == Some(false) {
            return Ok(Some(Arc::clone(name)));
        }
    }
    Ok(None)
}
