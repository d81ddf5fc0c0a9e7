//! One SQL value.
//!
//! A `Datum` is 24 bytes: fixed-width types are inline, the others are reference-counted so that a
//! clone in the executor never copies the bytes. A datum knows only its representation: `varchar`,
//! `text` and `name` are all `Text`. The expression that made it knows the SQL type.

use crate::error::{Error, Result};
use crate::{interval::Interval, numeric::Numeric};
use std::sync::Arc;

/// One SQL value, or NULL.
#[derive(Clone, Debug, Default)]
pub enum Datum {
    /// SQL NULL of any type.
    #[default]
    Null,
    /// boolean
    Bool(bool),
    /// smallint
    Int2(i16),
    /// integer
    Int4(i32),
    /// bigint
    Int8(i64),
    /// real
    Float4(f32),
    /// double precision
    Float8(f64),
    /// oid, regclass and the other reg* types, xid, cid
    Oid(u32),
    /// text, varchar, bpchar (blank-padded as stored), name, unknown, cstring, json
    Text(Arc<str>),
    /// bytea
    Bytea(Arc<[u8]>),
    /// "char": one byte
    Char(u8),
    /// numeric
    Numeric(Numeric),
    /// date: days since 2000-01-01 (i32::MIN/MAX are -infinity/infinity)
    Date(i32),
    /// time without time zone: microseconds since midnight
    Time(i64),
    /// time with time zone: microseconds since midnight, zone in seconds west of UTC
    TimeTz(i64, i32),
    /// timestamp: microseconds since 2000-01-01 (i64::MIN/MAX are -infinity/infinity)
    Timestamp(i64),
    /// timestamptz: microseconds since 2000-01-01 00:00 UTC
    TimestampTz(i64),
    /// interval
    Interval(Arc<Interval>),
    /// uuid
    Uuid(Arc<[u8; 16]>),
    /// xid8
    Xid8(u64),
    /// pg_lsn: a position in the log
    PgLsn(u64),
    /// tid: block number, offset
    Tid(u32, u16),
    /// A value of an enum type: the type, and the place of the label in the type's order
    /// (pg_enum.enumsortorder). A label keeps its place for ever, so that stored values and keys stay
    /// in order when labels are added between others.
    Enum(crate::Oid, f64),
    /// An array (also int2vector and oidvector).
    Array(Arc<Array>),
    /// A composite value: its columns in order.
    Record(Arc<[Datum]>),
}

/// Whether two constants are the same: the representation and the bits must be equal (NaN equals
/// itself, 0.0 differs from -0.0). SQL's equality is [`crate::compare`].
impl PartialEq for Datum {
    fn eq(&self, other: &Datum) -> bool {
        use Datum::*;
        match (self, other) {
            (Null, Null) => true,
            (Bool(a), Bool(b)) => a == b,
            (Int2(a), Int2(b)) => a == b,
            (Int4(a), Int4(b)) => a == b,
            (Int8(a), Int8(b)) => a == b,
            (Float4(a), Float4(b)) => a.to_bits() == b.to_bits(),
            (Float8(a), Float8(b)) => a.to_bits() == b.to_bits(),
            (Oid(a), Oid(b)) => a == b,
            (Text(a), Text(b)) => a == b,
            (Bytea(a), Bytea(b)) => a == b,
            (Char(a), Char(b)) => a == b,
            // 1.0 and 1.00 are equal numbers but not the same constant.
            (Numeric(a), Numeric(b)) => a.to_string() == b.to_string(),
            (Date(a), Date(b)) => a == b,
            (Time(a), Time(b)) | (Timestamp(a), Timestamp(b)) => a == b,
            (TimestampTz(a), TimestampTz(b)) => a == b,
            (TimeTz(a, x), TimeTz(b, y)) => (a, x) == (b, y),
            (Interval(a), Interval(b)) => a == b,
            (Uuid(a), Uuid(b)) => a == b,
            (Xid8(a), Xid8(b)) | (PgLsn(a), PgLsn(b)) => a == b,
            (Tid(a, x), Tid(b, y)) => (a, x) == (b, y),
            (Enum(a, x), Enum(b, y)) => (a, x.to_bits()) == (b, y.to_bits()),
            (Array(a), Array(b)) => a == b,
            (Record(a), Record(b)) => a == b,
            _ => false,
        }
    }
}

/// An SQL array: dimensions and elements in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Type of the elements.
    pub element_type: crate::Oid,
    /// Length and lower bound of each dimension; empty for an empty array.
    pub dimensions: Vec<(i32, i32)>,
    /// The elements, row-major.
    pub elements: Vec<Datum>,
}

/// A one-dimensional array with lower bound 1.
pub fn one_dimensional(element_type: crate::Oid, elements: Vec<Datum>) -> Datum {
    let dimensions =
        if elements.is_empty() { Vec::new() } else { vec![(elements.len() as i32, 1)] };
    Datum::Array(Arc::new(Array { element_type, dimensions, elements }))
}

impl Datum {
    /// Whether this is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// A text datum.
    #[inline]
    pub fn text(s: impl Into<Arc<str>>) -> Datum {
        Datum::Text(s.into())
    }

    /// The representation's name, for internal errors.
    fn kind(&self) -> &'static str {
        match self {
            Datum::Null => "null",
            Datum::Bool(_) => "bool",
            Datum::Int2(_) => "int2",
            Datum::Int4(_) => "int4",
            Datum::Int8(_) => "int8",
            Datum::Float4(_) => "float4",
            Datum::Float8(_) => "float8",
            Datum::Oid(_) => "oid",
            Datum::Text(_) => "text",
            Datum::Bytea(_) => "bytea",
            Datum::Char(_) => "char",
            Datum::Numeric(_) => "numeric",
            Datum::Date(_) => "date",
            Datum::Time(_) => "time",
            Datum::TimeTz(..) => "timetz",
            Datum::Timestamp(_) => "timestamp",
            Datum::TimestampTz(_) => "timestamptz",
            Datum::Interval(_) => "interval",
            Datum::Uuid(_) => "uuid",
            Datum::Xid8(_) => "xid8",
            Datum::PgLsn(_) => "pg_lsn",
            Datum::Tid(..) => "tid",
            Datum::Enum(..) => "enum",
            Datum::Array(_) => "array",
            Datum::Record(_) => "record",
        }
    }
}

macro_rules! accessors {
    ($($(#[$doc:meta])* $name:ident -> $ty:ty, $pattern:pat => $value:expr;)*) => {
        impl Datum { $(
            $(#[$doc])*
            /// XX000 if the datum has another representation: a binder bug.
            #[inline]
            pub fn $name(&self) -> Result<$ty> {
                match self {
                    $pattern => Ok($value),
                    other => Err(Error::internal(format!(
                        concat!("expected ", stringify!($name), ", found {}"), other.kind()))),
                }
            }
        )* }
    };
}

accessors! {
    /// The boolean.
    as_bool -> bool, Datum::Bool(v) => *v;
    /// The smallint.
    as_int2 -> i16, Datum::Int2(v) => *v;
    /// The integer.
    as_int4 -> i32, Datum::Int4(v) => *v;
    /// The bigint.
    as_int8 -> i64, Datum::Int8(v) => *v;
    /// The real.
    as_float4 -> f32, Datum::Float4(v) => *v;
    /// The double precision.
    as_float8 -> f64, Datum::Float8(v) => *v;
    /// The oid.
    as_oid -> u32, Datum::Oid(v) => *v;
    /// The text.
    as_text -> &Arc<str>, Datum::Text(v) => v;
    /// The bytea.
    as_bytea -> &Arc<[u8]>, Datum::Bytea(v) => v;
    /// The numeric.
    as_numeric -> &Numeric, Datum::Numeric(v) => v;
    /// The date.
    as_date -> i32, Datum::Date(v) => *v;
    /// The time.
    as_time -> i64, Datum::Time(v) => *v;
    /// The timestamp.
    as_timestamp -> i64, Datum::Timestamp(v) => *v;
    /// The timestamptz.
    as_timestamptz -> i64, Datum::TimestampTz(v) => *v;
    /// The interval.
    as_interval -> &Arc<Interval>, Datum::Interval(v) => v;
    /// The uuid.
    as_uuid -> &Arc<[u8; 16]>, Datum::Uuid(v) => v;
    /// The position in the log.
    as_pg_lsn -> u64, Datum::PgLsn(v) => *v;
    as_xid8 -> u64, Datum::Xid8(v) => *v;
    /// The array.
    as_array -> &Arc<Array>, Datum::Array(v) => v;
}
