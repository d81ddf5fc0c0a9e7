//! Array functions that search elements: `@>`, `<@`, `&&`, array_position, array_remove,
//! array_replace (src/backend/utils/adt/arrayfuncs.c, array_userfuncs.c).

use super::args::{array, given, int4};
use super::array::make;
use super::{Entry, arg, scalar};
use crate::FnContext;
use steppe_types::compare::equal_as;
use steppe_types::datum::{Array, one_dimensional};
use steppe_types::interrupt::{self, interruptible};
use steppe_types::{Datum, Error, Result, SqlState, oid};

/// Searching array functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("arraycontains", scalar(|a, _| contains(array(a, 0)?, array(a, 1)?))),
    ("arraycontained", scalar(|a, _| contains(array(a, 1)?, array(a, 0)?))),
    ("arrayoverlap", scalar(overlap)),
    ("array_position", scalar(position)),
    ("array_position_start", scalar(position)),
    ("array_positions", scalar(positions)),
    ("array_remove", scalar(remove)),
    ("array_replace", scalar(replace)),
];

/// Whether a non-null element is in the array.
fn has(array: &Array, element: &Datum) -> bool {
    array.elements.iter().any(|e| !e.is_null() && equal_as(array.element_type, e, element))
}

/// Whether an array has an element that is (`that_is_in`) or is not in another one. NULLs are in no
/// array.
fn has_one(array: &Array, that_is_in: bool, other: &Array) -> Result<bool> {
    let mut compared = 0;
    for element in &array.elements {
        compared += other.elements.len();
        if compared >= interrupt::CHECK_EVERY_ITEMS {
            interrupt::check()?;
            compared = 0;
        }
        if (!element.is_null() && has(other, element)) == that_is_in {
            return Ok(true);
        }
    }
    Ok(false)
}

fn contains(outer: &Array, inner: &Array) -> Result<Datum> {
    Ok(Datum::Bool(!has_one(inner, false, outer)?))
}

fn overlap(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    Ok(Datum::Bool(has_one(array(args, 0)?, true, array(args, 1)?)?))
}

/// IS NOT DISTINCT FROM
fn same(array: &Array, element: &Datum, wanted: &Datum) -> bool {
    match (element.is_null(), wanted.is_null()) {
        (false, false) => equal_as(array.element_type, element, wanted),
        (a, b) => a == b,
    }
}

fn one_dimension_only(array: &Array, doing: &str) -> Result<()> {
    if array.dimensions.len() <= 1 {
        return Ok(());
    }
    // PostgreSQL's limitation, with its error message.
    Err(Error::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!("{doing} multidimensional arrays is not supported"),
    ))
}

/// `array_position(array, element [, start])`
fn position(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let Some(value) = given(args, 0) else { return Ok(Datum::Null) };
    let array = value.as_array()?;
    one_dimension_only(array, "searching for elements in")?;
    let lower = array.dimensions.first().map_or(1, |(_, lower)| *lower);
    let start = match args.get(2) {
        None => lower,
        Some(Datum::Null) => {
            return Err(Error::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "initial position must not be null",
            ));
        }
        Some(_) => int4(args, 2)?,
    };
    let wanted = arg(args, 1)?;
    let skipped = usize::try_from(i64::from(start) - i64::from(lower)).unwrap_or(0);
    let found = array.elements.iter().enumerate().skip(skipped);
    let found = found.map(|(i, e)| (i, same(array, e, wanted))).find(|(_, same)| *same);
    Ok(found.map_or(Datum::Null, |(i, _)| Datum::Int4(lower + i as i32)))
}

fn positions(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let Some(value) = given(args, 0) else { return Ok(Datum::Null) };
    let array = value.as_array()?;
    one_dimension_only(array, "searching for elements in")?;
    let lower = array.dimensions.first().map_or(1, |(_, lower)| *lower);
    let wanted = arg(args, 1)?;
    let elements = interruptible(array.elements.iter().enumerate());
    let found = elements.filter(|(_, e)| same(array, e, wanted));
    let found = found.map(|(i, _)| Datum::Int4(lower + i as i32));
    Ok(one_dimensional(oid::INT4, interrupt::catching(|| Ok(found.collect()))?))
}

fn remove(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let Some(value) = given(args, 0) else { return Ok(Datum::Null) };
    let array = value.as_array()?;
    one_dimension_only(array, "removing elements from")?;
    let wanted = arg(args, 1)?;
    let elements = interruptible(array.elements.iter());
    let kept: Vec<Datum> = interrupt::catching(|| {
        Ok(elements.filter(|e| !same(array, e, wanted)).cloned().collect())
    })?;
    let lower = array.dimensions.first().map_or(1, |(_, lower)| *lower);
    Ok(make(array.element_type, vec![(kept.len() as i32, lower)], kept))
}

fn replace(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let Some(value) = given(args, 0) else { return Ok(Datum::Null) };
    let array = value.as_array()?;
    let (wanted, new) = (arg(args, 1)?, arg(args, 2)?);
    let swap = |e: &Datum| if same(array, e, wanted) { new.clone() } else { e.clone() };
    let elements = interruptible(array.elements.iter()).map(swap);
    let elements = interrupt::catching(|| Ok(elements.collect()))?;
    Ok(make(array.element_type, array.dimensions.clone(), elements))
}
