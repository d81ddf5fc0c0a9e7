//! Functions about values' types: pg_typeof, format_type, pg_column_size …
//! (misc.c, format_type.c, varlena.c of src/backend/utils/adt).

use super::args::{given, oid as oid_at, text, text_datum};
use super::reg::CatalogNames;
use super::{CallInfo, Entry, arg, scalar, typed};
use crate::FnContext;
use steppe_catalog::system::type_alignment;
use steppe_catalog::{C_COLLATION, builtin};
use steppe_sql::bind::typename::format_type;
use steppe_types::datum::Array;
use steppe_types::physical::Physical;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid, stored, text_io};

/// Type functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("pg_typeof", typed(|_, call, _| Ok(Datum::Oid(argument_type(call))))),
    ("format_type", scalar(format_type_of)),
    ("pg_basetype", scalar(base_type)),
    ("pg_column_size", typed(column_size)),
    ("pg_column_compression", scalar(|_, _| Ok(Datum::Null))),
    ("pg_column_toast_chunk_id", scalar(|_, _| Ok(Datum::Null))),
    ("pg_collation_for", typed(collation_for)),
    ("pg_input_is_valid", scalar(input_is_valid)),
    ("pg_input_error_info", scalar(input_error)),
];

/// A bare NULL or string literal has no type yet.
fn argument_type(call: &CallInfo) -> Oid {
    call.args.first().copied().filter(|ty| *ty != oid::ANY).unwrap_or(oid::UNKNOWN)
}

/// `format_type(oid, typmod)`: without a modifier `bpchar` is `character`.
fn format_type_of(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let Some(type_oid) = given(args, 0) else { return Ok(Datum::Null) };
    let (type_oid, names) = (type_oid.as_oid()?, CatalogNames::of(cx));
    match given(args, 1) {
        None => text_datum(names.types().format(type_oid, -1)),
        Some(typmod) => text_datum(names.types().format_with_typmod(type_oid, typmod.as_int4()?)),
    }
}

/// The type below all domains.
fn base_type(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let type_oid = oid_at(args, 0)?;
    Ok(if cx.catalog.has_type(type_oid) {
        Datum::Oid(cx.catalog.base_type(type_oid).oid)
    } else {
        Datum::Null
    })
}

/// The bytes before a value of variable width in memory.
const HEADER: usize = 4;

fn column_size(args: &[Datum], call: &CallInfo, _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Int4(size_in_memory(arg(args, 0)?, argument_type(call))? as i32))
}

/// The bytes that PostgreSQL's form of a value takes in a row: short ones have a header of one byte.
#[inline]
pub fn size_in_row(value: &Datum, type_oid: Oid) -> Result<usize> {
    /// VARATT_SHORT_MAX, less its header.
    const SHORT_MAX: usize = 126;
    let size = size_in_memory(value, type_oid)?;
    let varies = builtin::ty(type_oid).is_none_or(|ty| ty.len == -1);
    Ok(if varies && size <= HEADER + SHORT_MAX { size - HEADER + 1 } else { size })
}

/// The same for a value outside a row: values of variable width have a header of four bytes.
#[inline]
pub fn size_in_memory(value: &Datum, type_oid: Oid) -> Result<usize> {
    Ok(match value {
        Datum::Text(v) if type_oid == oid::UNKNOWN => v.len() + 1,
        Datum::Text(_) if type_oid == oid::NAME => 64,
        Datum::Text(v) => v.len() + HEADER,
        Datum::Bytea(v) => v.len() + HEADER,
        Datum::TimeTz(..) => 12,
        Datum::Tid(..) => 6,
        Datum::Array(array) => size_of_array(array)?,
        Datum::Numeric(v) => {
            // Two bytes a group of four digits, after a header of two.
            let mut sent = Vec::new();
            v.send(&mut sent);
            HEADER + 2 + sent.len().saturating_sub(8)
        }
        other => {
            let physical = Physical::of_datum(other).unwrap_or(Physical::Any);
            match physical.fixed_width() {
                Some(width) => width,
                None => {
                    let mut out = Vec::new();
                    stored::write_variable(physical, other, &mut out)?;
                    HEADER + out.len()
                }
            }
        }
    })
}

/// The bytes of an array: its header, its dimensions, a bit for each element if any is NULL, and the
/// elements, each where its type wants it (src/include/utils/array.h).
fn size_of_array(array: &Array) -> Result<usize> {
    const ALIGNMENT: usize = 8;
    let mut size = 16 + 8 * array.dimensions.len();
    if array.elements.iter().any(Datum::is_null) {
        size += array.elements.len().div_ceil(8);
    }
    size = size.next_multiple_of(ALIGNMENT);
    let alignment = type_alignment(array.element_type);
    for element in array.elements.iter().filter(|element| !element.is_null()) {
        size += size_in_memory(element, array.element_type)?;
        size = size.next_multiple_of(alignment);
    }
    Ok(size)
}

fn collation_for(_: &[Datum], call: &CallInfo, _: &mut FnContext) -> Result<Datum> {
    let type_oid = argument_type(call);
    match builtin::collation_of(type_oid) {
        0 if type_oid == oid::UNKNOWN => text_datum("\"default\""),
        0 => Err(Error::new(
            SqlState::DATATYPE_MISMATCH,
            format!("collations are not supported by type {}", format_type(type_oid, -1)),
        )),
        C_COLLATION => text_datum("\"C\""),
        _ => text_datum("\"default\""),
    }
}

/// The error of reading the first argument as the type that the second names.
fn input_failure(args: &[Datum], cx: &FnContext) -> Result<Option<Error>> {
    let ty = CatalogNames::of(cx).parse_type(text(args, 1)?)?;
    Ok(text_io::input(ty.oid, ty.typmod, text(args, 0)?, &cx.io).err())
}

fn input_is_valid(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Bool(input_failure(args, cx)?.is_none()))
}

/// message, detail, hint, sql_error_code
fn input_error(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let row = match input_failure(args, cx)? {
        None => vec![Datum::Null; 4],
        Some(error) => {
            let text = |text: &Option<String>| text.clone().map_or(Datum::Null, Datum::text);
            let fields = error.fields();
            vec![
                Datum::text(error.message()),
                text(&fields.detail),
                text(&fields.hint),
                Datum::text(error.sqlstate().as_str()),
            ]
        }
    };
    Ok(Datum::Record(row.into()))
}
