//! Functions that make JSON: json_build_object, json_build_array, to_json, row_to_json
//! (src/backend/utils/adt/json.c). Drivers' catalog queries use them. Functions that read json are
//! missing.

use super::args::{given, text_datum};
use super::{CallInfo, Entry, typed};
use crate::FnContext;
use std::fmt::Write;
use steppe_types::datetime::DateStyle;
use steppe_types::datum::Array;
use steppe_types::interrupt::interruptible;
use steppe_types::io::IoContext;
use steppe_types::physical::Physical;
use steppe_types::text_io::output_string;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// Functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("json_build_object", typed(build_object)),
    ("json_build_object_noargs", typed(|_, _, _| text_datum("{}"))),
    ("json_build_array", typed(build_array)),
    ("json_build_array_noargs", typed(|_, _, _| text_datum("[]"))),
    ("to_json", typed(to_json)),
    ("row_to_json", typed(to_json)),
];

fn argument_type(call: &CallInfo, i: usize) -> Oid {
    call.args.get(i).copied().unwrap_or(oid::UNKNOWN)
}

fn build_object(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    if !args.len().is_multiple_of(2) {
        return Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "argument list must have even number of elements",
        )
        .hint(
            "The arguments of json_build_object() must consist of alternating keys and values.",
        ));
    }
    let io = json_io(&cx.io);
    let mut out = String::from("{");
    for i in (0..args.len()).step_by(2) {
        let Some(key) = given(args, i) else {
            let message = "null value not allowed for object key";
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        };
        out.push_str(if i == 0 { "" } else { ", " });
        let is_scalar = !matches!(key, Datum::Array(_) | Datum::Record(_));
        if !is_scalar || argument_type(call, i) == oid::JSON {
            let message = "key value must be scalar, not array, composite, or json";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        let mut text = String::new();
        value(key, argument_type(call, i), &io, &mut text)?;
        match text.starts_with('"') {
            true => out.push_str(&text),
            false => escape_json(&text, &mut out),
        }
        out.push_str(" : ");
        value(&args[i + 1], argument_type(call, i + 1), &io, &mut out)?;
    }
    out.push('}');
    text_datum(out)
}

fn build_array(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    let io = json_io(&cx.io);
    let mut out = String::from("[");
    for (i, argument) in args.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { ", " });
        value(argument, argument_type(call, i), &io, &mut out)?;
    }
    out.push(']');
    text_datum(out)
}

fn to_json(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    let Some(argument) = given(args, 0) else { return Ok(Datum::Null) };
    let mut out = String::new();
    value(argument, argument_type(call, 0), &json_io(&cx.io), &mut out)?;
    text_datum(out)
}

/// Dates are written as ISO 8601 under any DateStyle.
fn json_io(io: &IoContext) -> IoContext {
    let mut io = io.clone();
    io.datetime.date_style = DateStyle::Iso;
    io
}

/// A value (datum_to_json_internal).
fn value(datum: &Datum, type_oid: Oid, io: &IoContext, out: &mut String) -> Result<()> {
    match datum {
        Datum::Null => out.push_str("null"),
        Datum::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Datum::Array(array) => {
            let mut elements = array.elements.iter();
            elements_of(array, 0, &mut elements, io, out)?;
        }
        Datum::Record(columns) => row(columns, type_oid, io, out)?,
        other => {
            let text = output_string(type_oid, other, io)?;
            match Physical::of(type_oid) {
                _ if type_oid == oid::JSON => out.push_str(&text),
                Physical::Int2
                | Physical::Int4
                | Physical::Int8
                | Physical::Float4
                | Physical::Float8
                | Physical::Numeric
                    if !text.ends_with(|c: char| c.is_alphabetic()) =>
                {
                    out.push_str(&text);
                }
                Physical::Timestamp => escape_json(&text.replacen(' ', "T", 1), out),
                Physical::TimestampTz => {
                    let mut text = text.replacen(' ', "T", 1);
                    // The zone in XML Schema's form always has minutes.
                    if text
                        .len()
                        .checked_sub(3)
                        .is_some_and(|at| text[at..].starts_with(['+', '-']))
                    {
                        text.push_str(":00");
                    }
                    escape_json(&text, out);
                }
                _ => escape_json(&text, out),
            }
        }
    }
    Ok(())
}

/// A row of a table's type (composite_to_json). A record has no names of columns.
fn row(columns: &[Datum], type_oid: Oid, io: &IoContext, out: &mut String) -> Result<()> {
    let catalog = io.catalog.as_ref();
    let shape = catalog.and_then(|c| c.row_names(type_oid).zip(c.row_columns(type_oid)));
    let Some((names, types)) = shape.filter(|(names, _)| names.len() == columns.len()) else {
        return Err(Error::not_supported("records in JSON"));
    };
    out.push('{');
    for (i, (column, (name, (type_oid, _)))) in
        columns.iter().zip(names.iter().zip(types)).enumerate()
    {
        out.push_str(if i == 0 { "" } else { "," });
        escape_json(name, out);
        out.push(':');
        value(column, type_oid, io, out)?;
    }
    out.push('}');
    Ok(())
}

/// The elements of an array's dimension, nested.
fn elements_of<'a>(
    array: &Array,
    dimension: usize,
    elements: &mut impl Iterator<Item = &'a Datum>,
    io: &IoContext,
    out: &mut String,
) -> Result<()> {
    let length = array.dimensions.get(dimension).map_or(0, |(length, _)| *length);
    out.push('[');
    for i in interruptible(0..length) {
        out.push_str(if i == 0 { "" } else { "," });
        if dimension + 1 < array.dimensions.len() {
            elements_of(array, dimension + 1, elements, io, out)?;
        } else if let Some(element) = elements.next() {
            value(element, array.element_type, io, out)?;
        }
    }
    out.push(']');
    Ok(())
}

/// A string with its quotes, as JSON and YAML write it (escape_json).
pub fn escape_json(text: &str, out: &mut String) {
    out.push('"');
    for c in interruptible(text.chars()) {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
