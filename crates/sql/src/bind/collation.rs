//! COLLATE: which collation a name means, and which of them are followed.
//!
//! Text is compared by its bytes, which is the order of code points: what the
//! database's own locale asks for, and the collations "C", "POSIX", ucs_basic and
//! pg_c_utf8. Those that sort otherwise are refused.

use super::typename::format_type;
use crate::ast::ObjectName;
use steppe_catalog::builtin::sorts_by_code_point;
use steppe_catalog::{Builtins, Catalog, PG_CATALOG};
use steppe_types::{Error, Oid, Result, SqlState};

/// The collation that values of a type have under COLLATE: 42804 where the type has none, 42704
/// (or 3F000) for a name that means none, 0A000 for one that is not followed.
pub fn collation(catalog: &Catalog, name: &ObjectName, type_oid: Oid) -> Result<Oid> {
    let builtins = Builtins::get();
    if builtins.collation_of(type_oid) == 0 {
        let ty = format_type(type_oid, -1);
        let message = format!("collations are not supported by type {ty}");
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    }
    let schema = match name.schema() {
        None => PG_CATALOG,
        Some(schema) => match catalog.schema_named(schema) {
            Some(schema) => schema.oid,
            None => {
                let message = format!("schema \"{schema}\" does not exist");
                return Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message));
            }
        },
    };
    let found = builtins.collation_named(name.name()).filter(|_| schema == PG_CATALOG);
    match found {
        Some(collation) if sorts_by_code_point(collation) => Ok(collation),
        None if !(schema == PG_CATALOG && is_elsewhere(name.name())) => {
            let message = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
            Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
        }
        _ => Err(Error::not_supported(format!("collation \"{}\"", name.name()))),
    }
}

/// Whether PostgreSQL has a collation of this name that is none of those here.
fn is_elsewhere(name: &str) -> bool {
    name.ends_with("-x-icu") || name == "pg_unicode_fast"
}
