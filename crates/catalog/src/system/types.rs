//! Types in pg_attribute and information_schema.

use crate::builtin::{self, Row};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::sync::OnceLock;
use steppe_types::{Oid, oid};

/// PostgreSQL's storage of a type's values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Storage {
    /// typlen
    pub(super) len: i16,
    /// typbyval
    pub(super) by_value: bool,
    /// typalign
    pub(super) align: u8,
    /// typstorage
    pub(super) storage: u8,
    /// typsend
    send: Oid,
    /// typanalyze
    analyze: Oid,
}

/// typsend
pub(super) fn send_function(type_oid: Oid) -> Oid {
    storage(type_oid).send
}

/// typanalyze
pub(super) fn analyze_function(type_oid: Oid) -> Oid {
    storage(type_oid).analyze
}

/// The storage of a type; for an unknown type, that of a variable-width value.
pub(super) fn storage(type_oid: Oid) -> Storage {
    static STORAGE: OnceLock<HashMap<Oid, Storage>> = OnceLock::new();
    let read = |row: Row<'_>| {
        let first = |column| row.get(column).and_then(|t| t.bytes().next()).unwrap_or(0);
        let function = |column| row.get(column).and_then(|t| t.parse().ok()).unwrap_or(0);
        let storage = Storage {
            len: row.get("typlen")?.parse().ok()?,
            by_value: row.get("typbyval")? == "t",
            align: first("typalign"),
            storage: first("typstorage"),
            send: function("typsend"),
            analyze: function("typanalyze"),
        };
        Some((row.get("oid")?.parse().ok()?, storage))
    };
    let load = || {
        let rows = builtin::table("pg_type").into_iter().flat_map(|t| t.rows());
        rows.filter_map(read).collect()
    };
    // An enum's value is a label's OID there.
    let stored = if oid::is_enum_type(type_oid) { oid::ANYENUM } else { type_oid };
    let known = STORAGE.get_or_init(load).get(&stored).copied();
    // Rows are aligned for any column, and so are arrays of rows.
    let align = if builtin::ty(type_oid).is_some() { b'd' } else { b'i' };
    let variable = Storage { len: -1, by_value: false, align, storage: b'x', send: 0, analyze: 0 };
    known.unwrap_or(variable)
}

/// Whether the type's values are arrays (attndims is then 1: the declared number is not stored).
pub(super) fn is_array(type_oid: Oid) -> bool {
    builtin::ty(type_oid).is_some_and(|ty| ty.is_true_array())
}

/// format_type(type, NULL) of a type that is not an array: the type's SQL name.
pub(super) fn sql_name(type_oid: Oid) -> Cow<'static, str> {
    Cow::Borrowed(match type_oid {
        oid::BOOL => "boolean",
        oid::CHAR => "\"char\"",
        oid::INT2 => "smallint",
        oid::INT4 => "integer",
        oid::INT8 => "bigint",
        oid::FLOAT4 => "real",
        oid::FLOAT8 => "double precision",
        oid::BPCHAR => "character",
        oid::VARCHAR => "character varying",
        oid::TIME => "time without time zone",
        oid::TIMETZ => "time with time zone",
        oid::TIMESTAMP => "timestamp without time zone",
        oid::TIMESTAMPTZ => "timestamp with time zone",
        VARBIT => "bit varying",
        // These are keywords too, but are printed unquoted.
        BIT => "bit",
        oid::NUMERIC => "numeric",
        oid::INTERVAL => "interval",
        oid::JSON => "json",
        other => match builtin::ty(other) {
            Some(ty) => return super::definitions::quote_identifier(ty.name),
            None => "???",
        },
    })
}

const BIT: Oid = 1560;
const VARBIT: Oid = 1562;
/// The most bytes of a character in UTF8.
const CHARACTER_BYTES_MAX: i32 = 4;

/// information_schema._pg_char_max_length
pub(super) fn character_length(type_oid: Oid, typmod: i32) -> Option<i32> {
    match type_oid {
        _ if typmod < 0 => None,
        oid::BPCHAR | oid::VARCHAR => Some(typmod - 4),
        BIT | VARBIT => Some(typmod),
        _ => None,
    }
}

/// information_schema._pg_char_octet_length
pub(super) fn octet_length(type_oid: Oid, typmod: i32) -> Option<i32> {
    match type_oid {
        oid::TEXT | oid::BPCHAR | oid::VARCHAR => Some(if typmod < 0 {
            1 << 30
        } else {
            character_length(type_oid, typmod)
                .map_or(1 << 30, |n| n.saturating_mul(CHARACTER_BYTES_MAX))
        }),
        _ => None,
    }
}

/// information_schema._pg_numeric_precision, _radix and _scale.
pub(super) fn numeric_facts(type_oid: Oid, typmod: i32) -> (Option<i32>, Option<i32>, Option<i32>) {
    match type_oid {
        oid::INT2 => (Some(16), Some(2), Some(0)),
        oid::INT4 => (Some(32), Some(2), Some(0)),
        oid::INT8 => (Some(64), Some(2), Some(0)),
        oid::FLOAT4 => (Some(24), Some(2), None),
        oid::FLOAT8 => (Some(53), Some(2), None),
        oid::NUMERIC if typmod < 0 => (None, Some(10), None),
        oid::NUMERIC => {
            let packed = typmod - 4;
            (Some((packed >> 16) & 0xFFFF), Some(10), Some(packed & 0xFFFF))
        }
        _ => (None, None, None),
    }
}

/// information_schema._pg_datetime_precision
pub(super) fn datetime_precision(type_oid: Oid, typmod: i32) -> Option<i32> {
    match type_oid {
        oid::DATE => Some(0),
        oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ => {
            Some(if typmod < 0 { 6 } else { typmod })
        }
        oid::INTERVAL if typmod < 0 || typmod & 0xFFFF == 0xFFFF => Some(6),
        oid::INTERVAL => Some(typmod & 0xFFFF),
        _ => None,
    }
}

/// information_schema._pg_interval_type: the fields an interval is restricted to.
pub(super) fn interval_fields(type_oid: Oid, typmod: i32) -> Option<&'static str> {
    const MONTH: i32 = 1 << 1;
    const YEAR: i32 = 1 << 2;
    const DAY: i32 = 1 << 3;
    const HOUR: i32 = 1 << 10;
    const MINUTE: i32 = 1 << 11;
    const SECOND: i32 = 1 << 12;
    if type_oid != oid::INTERVAL || typmod < 0 {
        return None;
    }
    let fields = (typmod >> 16) & 0x7FFF;
    let named = [
        (YEAR, "YEAR"),
        (MONTH, "MONTH"),
        (DAY, "DAY"),
        (HOUR, "HOUR"),
        (MINUTE, "MINUTE"),
        (SECOND, "SECOND"),
        (YEAR | MONTH, "YEAR TO MONTH"),
        (DAY | HOUR, "DAY TO HOUR"),
        (DAY | HOUR | MINUTE, "DAY TO MINUTE"),
        (DAY | HOUR | MINUTE | SECOND, "DAY TO SECOND"),
        (HOUR | MINUTE, "HOUR TO MINUTE"),
        (HOUR | MINUTE | SECOND, "HOUR TO SECOND"),
        (MINUTE | SECOND, "MINUTE TO SECOND"),
    ];
    named.iter().find(|(mask, _)| *mask == fields).map(|(_, name)| *name)
}
