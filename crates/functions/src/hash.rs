//! The hash support functions, as SQL can call them. They equal PostgreSQL's bit for bit, since
//! they choose hash partitions (hashfunc.c, see [`steppe_types::hashfuncs`]).

use super::args::int;
use super::{CallInfo, Entry, arg, typed};
use crate::FnContext;
use steppe_types::hashfuncs::{hash_value, hash_value_extended};
use steppe_types::{Datum, Result};

/// The type of the value, whose operator class determines the hash.
fn value_type(call: &CallInfo) -> u32 {
    call.args.first().copied().unwrap_or(0)
}

fn hash(args: &[Datum], call: &CallInfo, _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Int4(hash_value(value_type(call), arg(args, 0)?)? as i32))
}

fn hash_extended(args: &[Datum], call: &CallInfo, _: &mut FnContext) -> Result<Datum> {
    let seed = int(args, 1)? as u64;
    Ok(Datum::Int8(hash_value_extended(value_type(call), arg(args, 0)?, seed)? as i64))
}

/// Hash functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("hashbool", typed(hash)),
    ("hashboolextended", typed(hash_extended)),
    ("hashchar", typed(hash)),
    ("hashcharextended", typed(hash_extended)),
    ("hashint2", typed(hash)),
    ("hashint2extended", typed(hash_extended)),
    ("hashint4", typed(hash)),
    ("hashint4extended", typed(hash_extended)),
    ("hashint8", typed(hash)),
    ("hashint8extended", typed(hash_extended)),
    ("hashfloat4", typed(hash)),
    ("hashfloat4extended", typed(hash_extended)),
    ("hashfloat8", typed(hash)),
    ("hashfloat8extended", typed(hash_extended)),
    ("hashenum", typed(hash)),
    ("hashenumextended", typed(hash_extended)),
    ("hashoid", typed(hash)),
    ("hashoidextended", typed(hash_extended)),
    ("hashxid", typed(hash)),
    ("hashxidextended", typed(hash_extended)),
    ("hashxid8", typed(hash)),
    ("hashxid8extended", typed(hash_extended)),
    ("pg_lsn_hash", typed(hash)),
    ("pg_lsn_hash_extended", typed(hash_extended)),
    ("hashcid", typed(hash)),
    ("hashcidextended", typed(hash_extended)),
    ("hashtid", typed(hash)),
    ("hashtidextended", typed(hash_extended)),
    ("hashname", typed(hash)),
    ("hashnameextended", typed(hash_extended)),
    ("hashtext", typed(hash)),
    ("hashtextextended", typed(hash_extended)),
    ("hashbpchar", typed(hash)),
    ("hashbpcharextended", typed(hash_extended)),
    ("hashbytea", typed(hash)),
    ("hashbyteaextended", typed(hash_extended)),
    ("hash_numeric", typed(hash)),
    ("hash_numeric_extended", typed(hash_extended)),
    ("uuid_hash", typed(hash)),
    ("uuid_hash_extended", typed(hash_extended)),
    ("hashdate", typed(hash)),
    ("hashdateextended", typed(hash_extended)),
    ("time_hash", typed(hash)),
    ("time_hash_extended", typed(hash_extended)),
    ("timetz_hash", typed(hash)),
    ("timetz_hash_extended", typed(hash_extended)),
    ("timestamp_hash", typed(hash)),
    ("timestamp_hash_extended", typed(hash_extended)),
    ("timestamptz_hash", typed(hash)),
    ("timestamptz_hash_extended", typed(hash_extended)),
    ("interval_hash", typed(hash)),
    ("interval_hash_extended", typed(hash_extended)),
    ("hash_array", typed(hash)),
    ("hash_array_extended", typed(hash_extended)),
    ("hash_record", typed(hash)),
    ("hash_record_extended", typed(hash_extended)),
    ("hashoidvector", typed(hash)),
    ("hashoidvectorextended", typed(hash_extended)),
];
