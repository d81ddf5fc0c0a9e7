//! concat, concat_ws, format, `||` with any other type: these functions print their arguments as
//! their types' output functions do. Also functions that count NULL arguments.

use super::args::{array, given, text, text_datum};
use super::{CallInfo, Entry, typed};
use crate::FnContext;
use std::borrow::Cow;
use steppe_types::interrupt::{self, interruptible};
use steppe_types::text::{concat_ws, format::format};
use steppe_types::text_io::output_string;
use steppe_types::{Datum, Error, Result, oid};

/// Functions of arguments of any type, by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("text_concat", typed(|a, call, cx| join("", a, 0, call, cx))),
    ("text_concat_ws", typed(concat_with_separator)),
    ("text_format", typed(text_format)),
    ("text_format_nv", typed(text_format)),
    ("pg_num_nulls", typed(|a, call, _| count(a, call, true))),
    ("pg_num_nonnulls", typed(|a, call, _| count(a, call, false))),
    ("array_to_text", typed(array_to_text)),
    ("array_to_text_null", typed(array_to_text)),
];

/// The text of an argument of any type; `None` for NULL.
pub(super) fn shown<'a>(
    args: &'a [Datum],
    i: usize,
    call: &CallInfo,
    cx: &FnContext,
) -> Result<Option<Cow<'a, str>>> {
    match given(args, i) {
        None => Ok(None),
        Some(Datum::Text(text)) => Ok(Some(Cow::Borrowed(text))),
        Some(value) => {
            let type_oid = call.args.get(i).copied().unwrap_or(oid::UNKNOWN);
            output_string(type_oid, value, &cx.io).map(|text| Some(Cow::Owned(text)))
        }
    }
}

/// The arguments from the `first` on, which are an array's elements where the call says VARIADIC.
/// The result is None if that array is NULL.
fn spread<'a>(args: &'a [Datum], first: usize, call: &CallInfo) -> Result<Option<&'a [Datum]>> {
    if !call.variadic {
        return Ok(Some(args.get(first..).unwrap_or_default()));
    }
    match args.last() {
        None | Some(Datum::Null) => Ok(None),
        Some(array) => Ok(Some(&array.as_array()?.elements)),
    }
}

/// The texts of [`spread`]'s arguments; `None` if their array is NULL.
fn shown_all<'a>(
    args: &'a [Datum],
    first: usize,
    call: &CallInfo,
    cx: &FnContext,
) -> Result<Option<Vec<Option<Cow<'a, str>>>>> {
    if !call.variadic {
        let all = (first..args.len()).map(|i| shown(args, i, call, cx));
        return all.collect::<Result<Vec<_>>>().map(Some);
    }
    let Some(elements) = spread(args, first, call)? else { return Ok(None) };
    let type_oid = array(args, args.len() - 1)?.element_type;
    let print = |element: &'a Datum| match element {
        Datum::Null => Ok(None),
        Datum::Text(text) => Ok(Some(Cow::Borrowed(&**text))),
        value => output_string(type_oid, value, &cx.io).map(|text| Some(Cow::Owned(text))),
    };
    elements.iter().map(print).collect::<Result<Vec<_>>>().map(Some)
}

/// NULL if VARIADIC's array is NULL.
fn join(
    separator: &str,
    args: &[Datum],
    first: usize,
    call: &CallInfo,
    cx: &FnContext,
) -> Result<Datum> {
    match shown_all(args, first, call, cx)? {
        None => Ok(Datum::Null),
        Some(parts) => text_datum(concat_ws(separator, parts.iter().map(Option::as_deref))?),
    }
}

/// `num_nulls`, `num_nonnulls`
fn count(args: &[Datum], call: &CallInfo, nulls: bool) -> Result<Datum> {
    let Some(counted) = spread(args, 0, call)? else { return Ok(Datum::Null) };
    Ok(Datum::Int4(counted.iter().filter(|value| value.is_null() == nulls).count() as i32))
}

/// A NULL separator makes the whole NULL.
fn concat_with_separator(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    match given(args, 0) {
        None => Ok(Datum::Null),
        Some(separator) => join(separator.as_text()?, args, 1, call, cx),
    }
}

fn text_format(args: &[Datum], call: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    if given(args, 0).is_none() {
        return Ok(Datum::Null);
    }
    let arguments = shown_all(args, 1, call, cx)?.unwrap_or_default();
    text_datum(format(text(args, 0)?, &arguments)?)
}

/// `array_to_string(array, separator [, text for NULL])`; without that text NULLs
/// are left out.
fn array_to_text(args: &[Datum], _: &CallInfo, cx: &mut FnContext) -> Result<Datum> {
    if given(args, 0).is_none() || given(args, 1).is_none() {
        return Ok(Datum::Null);
    }
    let null = given(args, 2).map(Datum::as_text).transpose()?;
    let array = array(args, 0)?;
    let print = |element: &Datum| match element {
        Datum::Null => Ok(null.map(|text| text.to_string())),
        value => output_string(array.element_type, value, &cx.io).map(Some),
    };
    let elements = interruptible(array.elements.iter());
    let parts = interrupt::catching(|| elements.map(print).collect::<Result<Vec<_>>>())?;
    let separator = text(args, 1)?;
    let size: usize = parts.iter().flatten().map(|part| part.len() + separator.len()).sum();
    if size > 1 << 30 {
        return Err(Error::new(
            steppe_types::SqlState::PROGRAM_LIMIT_EXCEEDED,
            "requested length too large",
        ));
    }
    text_datum(concat_ws(separator, parts.iter().map(Option::as_deref))?)
}
