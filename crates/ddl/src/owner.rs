//! ALTER … OWNER TO.

use super::{DdlContext, create_statistics, function, operator, types};
use steppe_sql::ast::{AlterOwnerStmt, ObjectKind, ObjectRef};
use steppe_types::{Error, Result};

/// ALTER … OWNER TO: one role owns everything in this version.
pub(crate) fn alter_owner(ctx: &mut DdlContext<'_>, stmt: &AlterOwnerStmt) -> Result<&'static str> {
    if let (ObjectKind::Statistics, ObjectRef::Name(name)) = (stmt.kind, &stmt.object) {
        return create_statistics::check_exists(ctx, name).map(|()| "ALTER STATISTICS");
    }
    if let ObjectRef::Function(named) = &stmt.object
        && function::Kind::of(stmt.kind).is_some()
    {
        return function::check_owned(ctx, stmt.kind, named);
    }
    if let (ObjectKind::Operator, ObjectRef::Function(named)) = (stmt.kind, &stmt.object) {
        return operator::check_owned(ctx, named).map(|()| "ALTER OPERATOR");
    }
    match stmt.kind {
        ObjectKind::Type | ObjectKind::Domain => types::alter_owner(ctx, &stmt.object, stmt.kind),
        ObjectKind::Table => Ok("ALTER TABLE"),
        ObjectKind::Sequence => Ok("ALTER SEQUENCE"),
        ObjectKind::View => Ok("ALTER VIEW"),
        ObjectKind::Schema => Ok("ALTER SCHEMA"),
        other => Err(Error::not_supported(format!("ALTER {} … OWNER TO", other.as_str()))),
    }
}
