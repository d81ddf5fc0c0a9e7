//! The positions of sequences, for functions that take an OID (src/backend/commands/sequence.c).

use steppe_catalog::RelKind;
use steppe_exec::registry::Native;
use steppe_functions::arg;
use steppe_types::{Datum, Error, Result, SqlState};

use super::record;
use crate::services::SharedSession;

/// Functions by prosrc.
pub(super) const TABLE: &[(&str, Native)] = &[
    ("pg_sequence_last_value", value!(|core, args| last_value(core, arg(args, 0)?.as_oid()?))),
    ("pg_get_sequence_data", value!(|core, args| sequence_data(core, arg(args, 0)?.as_oid()?))),
];

fn last_value(core: &SharedSession, sequence: u32) -> Result<Datum> {
    Ok(match position(core, sequence)? {
        Some((last, true)) => Datum::Int8(last),
        _ => Datum::Null,
    })
}

/// The data of a sequence; NULLs for any other relation.
fn sequence_data(core: &SharedSession, oid: u32) -> Result<Datum> {
    let names = core.names();
    let relation = names.catalog.relation(oid);
    let is_sequence = relation.is_some_and(|relation| relation.kind == RelKind::Sequence);
    let position = if is_sequence { position(core, oid)? } else { None };
    let columns = match position {
        Some((last, called)) => [Datum::Int8(last), Datum::Bool(called)],
        None => [Datum::Null, Datum::Null],
    };
    Ok(record(columns))
}

/// A sequence's last value, and whether it was returned. `None` for another session's temporary
/// sequence.
fn position(core: &SharedSession, sequence: u32) -> Result<Option<(i64, bool)>> {
    let names = core.names();
    let relation = names.catalog.relation(sequence).ok_or_else(|| {
        let message = format!("could not open relation with OID {sequence}");
        Error::new(SqlState::INTERNAL_ERROR, message)
    })?;
    if relation.kind != RelKind::Sequence {
        let message = format!("cannot open relation \"{}\"", relation.name);
        let kinds = match relation.kind {
            RelKind::View => "views",
            RelKind::Composite => "composite types",
            RelKind::Index => "indexes",
            RelKind::PartitionedIndex => "partitioned indexes",
            RelKind::PartitionedTable => "partitioned tables",
            RelKind::Table | RelKind::Virtual | RelKind::Sequence => "tables",
        };
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
            .detail(format!("This operation is not supported for {kinds}.")));
    }
    let server = &core.server;
    Ok(Some(server.sequences.get(&server.engine, relation)?.position()))
}
