//! The physical representation behind an SQL type.
//!
//! Many SQL types share one representation (`text`, `varchar` and `name` are all
//! [`Datum::Text`]). Row storage, index keys and the text and binary formats are
//! written once per representation and look it up here.

use crate::oid::{self, Oid, container_element_type};
use crate::{Datum, Error, Result};

/// How values of a type are represented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Physical {
    /// [`Datum::Bool`]
    Bool,
    /// [`Datum::Char`]
    Char,
    /// [`Datum::Int2`]
    Int2,
    /// [`Datum::Int4`]
    Int4,
    /// [`Datum::Int8`]
    Int8,
    /// [`Datum::Float4`]
    Float4,
    /// [`Datum::Float8`]
    Float8,
    /// [`Datum::Oid`]
    Oid,
    /// [`Datum::Date`]
    Date,
    /// [`Datum::Time`]
    Time,
    /// [`Datum::TimeTz`]
    TimeTz,
    /// [`Datum::Timestamp`]
    Timestamp,
    /// [`Datum::TimestampTz`]
    TimestampTz,
    /// [`Datum::Interval`]
    Interval,
    /// [`Datum::Uuid`]
    Uuid,
    /// [`Datum::Xid8`]
    Xid8,
    /// [`Datum::PgLsn`]
    PgLsn,
    /// [`Datum::Tid`]
    Tid,
    /// [`Datum::Enum`]
    Enum,
    /// [`Datum::Text`]
    Text,
    /// [`Datum::Bytea`]
    Bytea,
    /// [`Datum::Numeric`]
    Numeric,
    /// [`Datum::Array`]
    Array,
    /// Anything else (composite and not yet built-in types): any datum, which is stored with a tag
    /// of its representation.
    Any,
}

impl Physical {
    /// The representation of a type, by its OID.
    pub fn of(type_oid: Oid) -> Physical {
        match type_oid {
            oid::BOOL => Physical::Bool,
            oid::CHAR => Physical::Char,
            oid::INT2 => Physical::Int2,
            oid::INT4 => Physical::Int4,
            oid::INT8 => Physical::Int8,
            oid::FLOAT4 => Physical::Float4,
            oid::FLOAT8 => Physical::Float8,
            oid::OID
            | oid::XID
            | oid::CID
            | oid::REGPROC
            | oid::REGPROCEDURE
            | oid::REGOPER
            | oid::REGOPERATOR
            | oid::REGCLASS
            | oid::REGTYPE
            | oid::REGCONFIG
            | oid::REGNAMESPACE
            | oid::REGROLE
            | oid::REGCOLLATION => Physical::Oid,
            oid::DATE => Physical::Date,
            oid::TIME => Physical::Time,
            oid::TIMETZ => Physical::TimeTz,
            oid::TIMESTAMP => Physical::Timestamp,
            oid::TIMESTAMPTZ => Physical::TimestampTz,
            oid::INTERVAL => Physical::Interval,
            oid::UUID => Physical::Uuid,
            oid::XID8 => Physical::Xid8,
            oid::PG_LSN => Physical::PgLsn,
            oid::TID => Physical::Tid,
            oid::ANYENUM => Physical::Enum,
            oid::TEXT
            | oid::VARCHAR
            | oid::BPCHAR
            | oid::NAME
            | oid::UNKNOWN
            | oid::CSTRING
            | oid::REFCURSOR
            | oid::PG_NODE_TREE
            | oid::PG_SNAPSHOT
            | oid::TXID_SNAPSHOT
            | oid::JSON => Physical::Text,
            oid::BYTEA => Physical::Bytea,
            oid::NUMERIC => Physical::Numeric,
            oid::ANYARRAY => Physical::Array,
            other if container_element_type(other).is_some() => Physical::Array,
            other if oid::is_enum_type(other) => Physical::Enum,
            _ => Physical::Any,
        }
    }

    /// The representation a (non-null) datum has; `None` for NULL, `Any` for a
    /// composite value.
    pub fn of_datum(datum: &Datum) -> Option<Physical> {
        Some(match datum {
            Datum::Null => return None,
            Datum::Bool(_) => Physical::Bool,
            Datum::Char(_) => Physical::Char,
            Datum::Int2(_) => Physical::Int2,
            Datum::Int4(_) => Physical::Int4,
            Datum::Int8(_) => Physical::Int8,
            Datum::Float4(_) => Physical::Float4,
            Datum::Float8(_) => Physical::Float8,
            Datum::Oid(_) => Physical::Oid,
            Datum::Date(_) => Physical::Date,
            Datum::Time(_) => Physical::Time,
            Datum::TimeTz(..) => Physical::TimeTz,
            Datum::Timestamp(_) => Physical::Timestamp,
            Datum::TimestampTz(_) => Physical::TimestampTz,
            Datum::Interval(_) => Physical::Interval,
            Datum::Uuid(_) => Physical::Uuid,
            Datum::Xid8(_) => Physical::Xid8,
            Datum::PgLsn(_) => Physical::PgLsn,
            Datum::Tid(..) => Physical::Tid,
            Datum::Enum(..) => Physical::Enum,
            Datum::Text(_) => Physical::Text,
            Datum::Bytea(_) => Physical::Bytea,
            Datum::Numeric(_) => Physical::Numeric,
            Datum::Array(_) => Physical::Array,
            Datum::Record(_) => Physical::Any,
        })
    }

    /// Bytes a value takes when stored, or `None` for variable-width ones.
    pub fn fixed_width(self) -> Option<usize> {
        Some(match self {
            Physical::Bool | Physical::Char => 1,
            Physical::Int2 => 2,
            Physical::Int4 | Physical::Float4 | Physical::Oid | Physical::Date => 4,
            Physical::Tid => 6,
            Physical::Int8
            | Physical::Float8
            | Physical::Time
            | Physical::Timestamp
            | Physical::TimestampTz
            | Physical::Xid8
            | Physical::PgLsn => 8,
            Physical::TimeTz | Physical::Enum => 12,
            Physical::Interval | Physical::Uuid => 16,
            Physical::Text
            | Physical::Bytea
            | Physical::Numeric
            | Physical::Array
            | Physical::Any => return None,
        })
    }

    /// Whether a datum has this representation (NULL has every one).
    pub fn accepts(self, datum: &Datum) -> bool {
        self == Physical::Any || Physical::of_datum(datum).is_none_or(|p| p == self)
    }

    /// XX000 unless [`Self::accepts`] the datum. This finds a binder bug before it puts wrong bytes
    /// on a page.
    #[inline]
    pub fn check(self, datum: &Datum) -> Result<()> {
        if self.accepts(datum) { Ok(()) } else { Err(mismatch(self, datum)) }
    }
}

#[cold]
fn mismatch(expected: Physical, found: &Datum) -> Error {
    Error::internal(format!(
        "expected a value represented as {expected:?}, found {:?}",
        Physical::of_datum(found)
    ))
}
