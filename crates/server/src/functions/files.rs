//! The server's files that functions list (src/backend/utils/adt/genfile.c).

use std::fs::Metadata;
use std::time::{Duration, UNIX_EPOCH};

use steppe_catalog::system::{PG_DEFAULT, TABLESPACES};
use steppe_exec::registry::Native;
use steppe_functions::arg;
use steppe_types::{Datum, Error, Result, SqlState};

use crate::services::{SharedSession, micros_since_2000};

/// Functions by prosrc.
pub(super) const TABLE: &[(&str, Native)] = &[
    ("pg_ls_tmpdir_noargs", rows!(|core, _| temporary(core, PG_DEFAULT))),
    ("pg_ls_tmpdir_1arg", rows!(|core, args| temporary(core, arg(args, 0)?.as_oid()?))),
];

/// Spill files with name, size and last modification. All are in pg_default.
fn temporary(core: &SharedSession, tablespace: u32) -> Result<Vec<Vec<Datum>>> {
    if !TABLESPACES.iter().any(|(oid, _)| *oid == tablespace) {
        let message = format!("tablespace with OID {tablespace} does not exist");
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
    }
    let mut rows = Vec::new();
    // If there is no directory, no statement has spilled yet.
    let entries = std::fs::read_dir(core.server.data_dir.temporary());
    for entry in entries.into_iter().flatten().flatten().filter(|_| tablespace == PG_DEFAULT) {
        // A file that was removed meanwhile is not listed.
        let Ok(file) = entry.metadata() else { continue };
        if file.is_file() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let size = i64::try_from(file.len()).unwrap_or(i64::MAX);
            rows.push(vec![Datum::text(name), Datum::Int8(size), written(&file)]);
        }
    }
    Ok(rows)
}

/// The last modification in whole seconds, as in PostgreSQL.
fn written(file: &Metadata) -> Datum {
    let since = file.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.map_or(Datum::Null, |since| {
        Datum::TimestampTz(micros_since_2000(Duration::from_secs(since.as_secs())))
    })
}
