//! TABLESPACE clauses. All files are in one place, which is called pg_default (tablespace.c).

use steppe_types::{Error, Result, SqlState};

/// 42704 for a tablespace that does not exist, 22023 for that of the relations that all databases
/// share.
pub(super) fn check(name: &str) -> Result<()> {
    match name {
        "pg_default" => Ok(()),
        "pg_global" => Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "only shared relations can be placed in pg_global tablespace",
        )),
        _ => {
            let message = format!("tablespace \"{name}\" does not exist");
            Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
        }
    }
}
