//! Array functions that build arrays or measure them
//! (src/backend/utils/adt/arrayfuncs.c, array_userfuncs.c).

use super::args::{array, boolean, given, int4, text_datum};
use super::{CallInfo, Entry, arg, scalar, typed};
use crate::FnContext;
use std::sync::Arc;
use steppe_catalog::builtin;
use steppe_types::arith::out_of_range;
use steppe_types::compare::compare_as;
use steppe_types::datum::{Array, one_dimensional};
use steppe_types::interrupt::{self, interruptible};
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// Array functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("array_append", typed(append)),
    ("array_prepend", typed(prepend)),
    ("array_cat", scalar(concatenate)),
    ("array_ndims", scalar(|a, _| positive(array(a, 0)?.dimensions.len() as i32))),
    ("array_dims", scalar(dims)),
    ("array_lower", scalar(|a, _| of_dimension(a, |(_, lower)| lower))),
    ("array_upper", scalar(|a, _| of_dimension(a, |(length, lower)| lower + length - 1))),
    ("array_length", scalar(|a, _| of_dimension(a, |(length, _)| length))),
    ("array_cardinality", scalar(|a, _| Ok(Datum::Int4(array(a, 0)?.elements.len() as i32)))),
    ("array_fill", typed(fill)),
    ("array_fill_with_lower_bounds", typed(fill)),
    ("trim_array", scalar(trim)),
    ("array_larger", scalar(|a, _| pick(a, true))),
    ("array_smaller", scalar(|a, _| pick(a, false))),
    ("array_reverse", scalar(reverse)),
    ("array_sort", scalar(sort)),
    ("array_sort_order", scalar(sort)),
    ("array_sort_order_nulls_first", scalar(sort)),
    ("array_shuffle", scalar(shuffle)),
    ("array_sample", scalar(sample)),
];

/// PostgreSQL's MAXDIM.
const DIMENSIONS_MAX: usize = 6;
/// PostgreSQL's MaxArraySize.
const ELEMENTS_MAX: i64 = 134_217_727;

/// Length and lower bound of each dimension.
type Dimensions = Vec<(i32, i32)>;

pub(super) fn make(element_type: Oid, dimensions: Dimensions, elements: Vec<Datum>) -> Datum {
    // An array without elements has no dimensions.
    let dimensions = if elements.is_empty() { Vec::new() } else { dimensions };
    Datum::Array(Arc::new(Array { element_type, dimensions, elements }))
}

#[cold]
pub(super) fn subscript_error(message: impl Into<String>) -> Error {
    Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
}

/// The element type of a call's array result.
fn result_element(call: &CallInfo) -> Oid {
    builtin::ty(call.ret.oid).map_or(oid::UNKNOWN, |ty| ty.element)
}

fn positive(value: i32) -> Result<Datum> {
    Ok(if value > 0 { Datum::Int4(value) } else { Datum::Null })
}

/// A one-dimensional array's elements, lower bound and element type; a NULL array is empty.
fn list(value: Option<&Datum>, call: &CallInfo) -> Result<(Oid, i32, Vec<Datum>)> {
    let Some(value) = value else { return Ok((result_element(call), 1, Vec::new())) };
    let array = value.as_array()?;
    match array.dimensions.as_slice() {
        [] => Ok((array.element_type, 1, Vec::new())),
        [(_, lower)] => Ok((array.element_type, *lower, interrupt::cloned(&array.elements)?)),
        _ => Err(Error::new(
            SqlState::DATA_EXCEPTION,
            "argument must be empty or one-dimensional array",
        )),
    }
}

fn append(args: &[Datum], call: &CallInfo, _: &mut FnContext) -> Result<Datum> {
    let (element_type, lower, mut elements) = list(given(args, 0), call)?;
    elements.push(arg(args, 1)?.clone());
    lower.checked_add(elements.len() as i32).ok_or_else(|| out_of_range("integer"))?;
    Ok(make(element_type, vec![(elements.len() as i32, lower)], elements))
}

/// The lower bound stays: the old elements move up.
fn prepend(args: &[Datum], call: &CallInfo, _: &mut FnContext) -> Result<Datum> {
    let (element_type, lower, mut elements) = list(given(args, 1), call)?;
    elements.insert(0, arg(args, 0)?.clone());
    lower.checked_add(elements.len() as i32).ok_or_else(|| out_of_range("integer"))?;
    Ok(make(element_type, vec![(elements.len() as i32, lower)], elements))
}

fn concatenate(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (Some(left), Some(right)) = (given(args, 0), given(args, 1)) else {
        return Ok(given(args, 0).or(given(args, 1)).cloned().unwrap_or_default());
    };
    let (a, b) = (left.as_array()?, right.as_array()?);
    if a.elements.is_empty() {
        return Ok(right.clone());
    }
    if b.elements.is_empty() {
        return Ok(left.clone());
    }
    let dimensions = joined(&a.dimensions, &b.dimensions)?;
    check_count(a.elements.len() as i64 + b.elements.len() as i64)?;
    let mut elements = interrupt::cloned(&a.elements)?;
    elements.append(&mut interrupt::cloned(&b.elements)?);
    Ok(make(a.element_type, dimensions, elements))
}

/// Two arrays side by side, or one as a further element of the other.
fn joined(a: &[(i32, i32)], b: &[(i32, i32)]) -> Result<Dimensions> {
    let incompatible = |detail: String| {
        Err(subscript_error("cannot concatenate incompatible arrays").detail(detail))
    };
    let (mut dimensions, added, fit, what) = match a.len() as i32 - b.len() as i32 {
        0 => (a.to_vec(), b[0].0, a[1..] == b[1..], "element dimensions"),
        1 => (a.to_vec(), 1, &a[1..] == b, "dimensions"),
        -1 => (b.to_vec(), 1, a == &b[1..], "dimensions"),
        _ => {
            return incompatible(format!(
                "Arrays of {} and {} dimensions are not compatible for concatenation.",
                a.len(),
                b.len()
            ));
        }
    };
    if !fit {
        return incompatible(format!(
            "Arrays with differing {what} are not compatible for concatenation."
        ));
    }
    dimensions[0].0 = dimensions[0].0.checked_add(added).ok_or_else(|| out_of_range("integer"))?;
    Ok(dimensions)
}

fn dims(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let array = array(args, 0)?;
    if array.dimensions.is_empty() {
        return Ok(Datum::Null);
    }
    let show = |(length, lower): &(i32, i32)| format!("[{lower}:{}]", lower + length - 1);
    text_datum(array.dimensions.iter().map(show).collect::<String>())
}

/// A property of dimension number `args[1]`; NULL if there is no such dimension.
fn of_dimension(args: &[Datum], what: fn((i32, i32)) -> i32) -> Result<Datum> {
    let number = usize::try_from(int4(args, 1)?).ok().and_then(|n| n.checked_sub(1));
    let dimension = number.and_then(|n| array(args, 0).ok()?.dimensions.get(n).copied());
    Ok(dimension.map_or(Datum::Null, |dimension| Datum::Int4(what(dimension))))
}

/// The integers of a dimension or lower-bound argument of array_fill.
fn bounds(args: &[Datum], i: usize) -> Result<Vec<i32>> {
    let null = |message: &str| Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message);
    let Some(value) = given(args, i) else {
        return Err(null("dimension array or low bound array cannot be null"));
    };
    let array = value.as_array()?;
    if array.dimensions.len() > 1 {
        return Err(subscript_error("wrong number of array subscripts")
            .detail("Dimension array must be one dimensional."));
    }
    let value = |element: &Datum| match element {
        Datum::Null => Err(null("dimension values cannot be null")),
        element => element.as_int4(),
    };
    array.elements.iter().map(value).collect()
}

fn too_large() -> Error {
    Error::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})"),
    )
}

/// Checks that an array of `count` elements may be made.
fn check_count(count: i64) -> Result<()> {
    if count > ELEMENTS_MAX {
        return Err(too_large());
    }
    interrupt::reserve(count as usize * size_of::<Datum>())
}

fn fill(args: &[Datum], call: &CallInfo, _: &mut FnContext) -> Result<Datum> {
    let lengths = bounds(args, 1)?;
    let lowers = if args.len() > 2 { bounds(args, 2)? } else { vec![1; lengths.len()] };
    let element_type = result_element(call);
    if lengths.len() > DIMENSIONS_MAX {
        return Err(Error::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!(
                "number of array dimensions ({}) exceeds the maximum allowed ({DIMENSIONS_MAX})",
                lengths.len()
            ),
        ));
    }
    if lowers.len() != lengths.len() {
        return Err(subscript_error("wrong number of array subscripts")
            .detail("Low bound array has different size than dimensions array."));
    }
    let mut count = i64::from(!lengths.is_empty());
    for length in &lengths {
        if *length < 0 {
            return Err(too_large());
        }
        count *= i64::from(*length);
        if count > ELEMENTS_MAX {
            return Err(too_large());
        }
    }
    check_count(count)?;
    for (length, lower) in lengths.iter().zip(&lowers) {
        if lower.checked_add(*length).is_none() {
            return Err(Error::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!("array lower bound is too large: {lower}"),
            ));
        }
    }
    let dimensions = lengths.into_iter().zip(lowers).collect();
    let (value, mut elements) = (arg(args, 0)?, Vec::with_capacity(count as usize));
    while elements.len() < count as usize {
        let more = (elements.len() + interrupt::CHECK_EVERY_ITEMS).min(count as usize);
        elements.resize(more, value.clone());
        interrupt::check()?;
    }
    Ok(make(element_type, dimensions, elements))
}

/// Size of one element of the first dimension.
fn stride(array: &Array) -> usize {
    array.dimensions.iter().skip(1).map(|(length, _)| *length as usize).product()
}

/// Drops the last `n` elements of the first dimension.
fn trim(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let (array, n) = (array(args, 0)?, int4(args, 1)?);
    let length = array.dimensions.first().map_or(0, |(length, _)| *length);
    if !(0..=length).contains(&n) {
        return Err(subscript_error(format!(
            "number of elements to trim must be between 0 and {length}"
        )));
    }
    let kept = (length - n) as usize * stride(array);
    // A slice begins at 1 again.
    let mut dimensions: Dimensions =
        array.dimensions.iter().map(|(length, _)| (*length, 1)).collect();
    if let Some(first) = dimensions.first_mut() {
        first.0 = length - n;
    }
    Ok(make(array.element_type, dimensions, interrupt::cloned(&array.elements[..kept])?))
}

fn pick(args: &[Datum], larger: bool) -> Result<Datum> {
    let (a, b) = (arg(args, 0)?, arg(args, 1)?);
    let type_oid = oid::array_type_of(a.as_array()?.element_type).unwrap_or(oid::ANYARRAY);
    let first = if larger {
        compare_as(type_oid, a, b).is_gt()
    } else {
        compare_as(type_oid, a, b).is_lt()
    };
    Ok(if first { a.clone() } else { b.clone() })
}

/// Puts the elements of the first dimension in another order, whole sub-arrays at a time.
fn rearranged(array: &Array, order: &[usize], keep_lower: bool) -> Result<Datum> {
    let stride = stride(array);
    let part = |i: &usize| array.elements[i * stride..(i + 1) * stride].iter().cloned();
    let elements = interruptible(order.iter().flat_map(part));
    let elements = interrupt::catching(|| Ok(elements.collect()))?;
    let mut dimensions = array.dimensions.clone();
    if let Some(first) = dimensions.first_mut() {
        *first = (order.len() as i32, if keep_lower { first.1 } else { 1 });
    }
    Ok(make(array.element_type, dimensions, elements))
}

fn first_length(array: &Array) -> usize {
    array.dimensions.first().map_or(0, |(length, _)| *length as usize)
}

fn reverse(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let array = array(args, 0)?;
    let order: Vec<usize> = (0..first_length(array)).rev().collect();
    rearranged(array, &order, true)
}

/// `array_sort(array [, descending [, nulls_first]])`
fn sort(args: &[Datum], _: &mut FnContext) -> Result<Datum> {
    let array = array(args, 0)?;
    let descending = if args.len() > 1 { boolean(args, 1)? } else { false };
    let nulls_first = if args.len() > 2 { boolean(args, 2)? } else { descending };
    let (stride, nested) = (stride(array), array.dimensions.len() > 1);
    let part = |i: usize| &array.elements[i * stride..(i + 1) * stride];
    let mut order: Vec<usize> = (0..first_length(array)).collect();
    let mut compared = 0;
    let compare = |a: &usize, b: &usize| {
        compared += 1;
        if compared % interrupt::CHECK_EVERY_ITEMS == 0 {
            interrupt::check_unwinding();
        }
        let (a, b) = (part(*a), part(*b));
        if !nested && (a[0].is_null() || b[0].is_null()) {
            let order = a[0].is_null().cmp(&b[0].is_null());
            return if nulls_first { order.reverse() } else { order };
        }
        let order = a
            .iter()
            .zip(b)
            .map(|(a, b)| compare_as(array.element_type, a, b))
            .find(|order| order.is_ne())
            .unwrap_or(std::cmp::Ordering::Equal);
        if descending { order.reverse() } else { order }
    };
    interrupt::catching(|| {
        order.sort_by(compare);
        Ok(())
    })?;
    rearranged(array, &order, true)
}

/// The first `count` of a random order (Fisher-Yates).
fn drawn(array: &Array, count: usize, cx: &FnContext) -> Result<Vec<usize>> {
    let mut order: Vec<usize> = (0..first_length(array)).collect();
    for i in 0..count.min(order.len()) {
        if i % interrupt::CHECK_EVERY_ITEMS == interrupt::CHECK_EVERY_ITEMS - 1 {
            interrupt::check()?;
        }
        let left = (order.len() - i) as f64;
        let chosen = i + (cx.host().random() * left) as usize;
        let last = order.len() - 1;
        order.swap(i, chosen.min(last));
    }
    order.truncate(count);
    Ok(order)
}

fn shuffle(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let array = array(args, 0)?;
    rearranged(array, &drawn(array, first_length(array), cx)?, true)
}

fn sample(args: &[Datum], cx: &mut FnContext) -> Result<Datum> {
    let (array, count) = (array(args, 0)?, int4(args, 1)?);
    let length = first_length(array);
    match usize::try_from(count) {
        Ok(count) if count <= length => {
            if count == 0 {
                return Ok(one_dimensional(array.element_type, Vec::new()));
            }
            rearranged(array, &drawn(array, count, cx)?, false)
        }
        _ => Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("sample size must be between 0 and {length}"),
        )),
    }
}
