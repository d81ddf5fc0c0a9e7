//! Assignment to elements and slices of arrays (array_set_element and array_set_slice in
//! arrayfuncs.c).
//!
//! An array of one dimension grows if a value is assigned outside it, with NULLs in between. An
//! array of several dimensions does not grow. An empty array becomes the assigned value.

use super::array::index_value;
use super::{CExpr, Row, Subscript};
use crate::context::ExecContext;
use std::sync::Arc;
use steppe_types::array_io::{ARRAY_ELEMENTS_MAX, array_too_large};
use steppe_types::datum::Array;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// First and last subscript of each dimension.
type Ranges = Vec<(i64, i64)>;

/// The array with `value` in the place that the subscripts name.
pub(super) fn assign(
    s: &Subscript,
    value: &CExpr,
    element: Oid,
    cx: &mut ExecContext,
    row: Row<'_>,
) -> Result<Datum> {
    let empty = || Arc::new(Array { element_type: element, dimensions: vec![], elements: vec![] });
    let array = match s.array.eval(cx, row)? {
        Datum::Null => empty(),
        Datum::Array(array) => array,
        _ => return Err(Error::internal("subscripted value is not an array")),
    };
    let null = || {
        Error::new(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            "array subscript in assignment must not be null",
        )
    };
    let mut bounds = Vec::with_capacity(s.indices.len());
    for (lower, upper) in &s.indices {
        let lower = index_value(lower.as_ref(), cx, row)?.ok_or_else(null)?;
        let upper = index_value(upper.as_ref(), cx, row)?.ok_or_else(null)?;
        bounds.push((lower.map(i64::from), upper.map(i64::from)));
    }
    let value = value.eval(cx, row)?;
    if !s.slice {
        let ranges: Ranges = bounds.iter().filter_map(|(_, at)| at.map(|at| (at, at))).collect();
        return set(array, element, ranges, vec![value], false);
    }
    match value {
        // Assigning NULL to a slice leaves the array unchanged.
        Datum::Null => Ok(Datum::Array(array)),
        Datum::Array(source) => assign_slice(array, element, &bounds, &source),
        _ => Err(Error::internal("value assigned to a slice is not an array")),
    }
}

/// The array with the elements of `source` in a slice, whose bounds may be left out. Fails with
/// 2202E where they do not fit, and 54000 where the array becomes too large.
pub fn assign_slice(
    array: Arc<Array>,
    element: Oid,
    bounds: &[(Option<i64>, Option<i64>)],
    source: &Array,
) -> Result<Datum> {
    let ranges = slice_ranges(&array, bounds)?;
    set(array, element, ranges, source.elements.clone(), true)
}

/// The slice's bounds. A bound that was left out is the array's own.
fn slice_ranges(array: &Array, bounds: &[(Option<i64>, Option<i64>)]) -> Result<Ranges> {
    let dimensions = &array.dimensions;
    if dimensions.is_empty() {
        let given = |bound: &(Option<i64>, Option<i64>)| match bound {
            (Some(lower), Some(upper)) => Ok((*lower, *upper)),
            _ => Err(wrong("array slice subscript must provide both boundaries").detail(
                "When assigning to a slice of an empty array value, slice boundaries must be fully \
                 specified.",
            )),
        };
        return bounds.iter().map(given).collect();
    }
    if dimensions.len() < bounds.len() {
        return Err(wrong("wrong number of array subscripts"));
    }
    let mut ranges = Vec::with_capacity(dimensions.len());
    for (i, (length, first)) in dimensions.iter().enumerate() {
        let (lower, upper) = bounds.get(i).copied().unwrap_or((None, None));
        let (length, first) = (i64::from(*length), i64::from(*first));
        let (lower, upper) = (lower.unwrap_or(first), upper.unwrap_or(first + length - 1));
        if lower > upper {
            return Err(wrong("upper bound cannot be less than lower bound"));
        }
        ranges.push((lower, upper));
    }
    Ok(ranges)
}

/// The array with the first of `values` in the places of `ranges`, row by row.
fn set(
    array: Arc<Array>,
    element: Oid,
    ranges: Ranges,
    values: Vec<Datum>,
    slice: bool,
) -> Result<Datum> {
    let old: Vec<(i64, i64)> =
        array.dimensions.iter().map(|(n, lower)| (i64::from(*lower), i64::from(*n))).collect();
    if !old.is_empty() && old.len() != ranges.len() {
        return Err(wrong("wrong number of array subscripts"));
    }
    let spans = ranges.iter().map(|(first, last)| last - first + 1).collect::<Vec<i64>>();
    let dimensions = dimensions_with(&old, &ranges)?;
    let total = count(dimensions.iter().map(|(_, length)| *length))?;
    check_bounds(&dimensions)?;
    let wanted = count(spans.iter().copied())?;
    if slice && values.len() < wanted {
        return Err(wrong("source array too small"));
    }
    let mut elements = match old == dimensions {
        true => array.elements.clone(),
        false => vec![Datum::Null; total],
    };
    if let ([(old_first, _)], [(first, _)], false) = (&old[..], &dimensions[..], old == dimensions)
    {
        let at = usize::try_from(old_first - first).unwrap_or_default();
        for (place, value) in elements[at..].iter_mut().zip(&array.elements) {
            *place = value.clone();
        }
    }
    for (i, value) in values.into_iter().take(wanted).enumerate() {
        let place = place_of(i, &spans, &ranges, &dimensions);
        *elements.get_mut(place).ok_or_else(|| wrong("array subscript out of range"))? = value;
    }
    let narrow = |(first, length): &(i64, i64)| (*length as i32, *first as i32);
    let dimensions = match total {
        0 => Vec::new(),
        _ => dimensions.iter().map(narrow).collect(),
    };
    Ok(Datum::Array(Arc::new(Array { element_type: element, dimensions, elements })))
}

/// First subscript and length of each dimension once `ranges` are among them.
fn dimensions_with(old: &[(i64, i64)], ranges: &Ranges) -> Result<Vec<(i64, i64)>> {
    match old {
        [] => Ok(ranges.iter().map(|(first, last)| (*first, last - first + 1)).collect()),
        [(first, length)] => {
            let (from, to) = ranges[0];
            let start = from.min(*first);
            let end = to.max(first + length - 1);
            Ok(vec![(start, end - start + 1)])
        }
        several => {
            for ((first, length), (from, to)) in several.iter().zip(ranges) {
                if from < first || *to >= first + length {
                    return Err(wrong("array subscript out of range"));
                }
            }
            Ok(several.to_vec())
        }
    }
}

/// The number of elements of dimensions with these lengths.
fn count(lengths: impl Iterator<Item = i64>) -> Result<usize> {
    let mut total: i64 = 1;
    for length in lengths {
        total = match total.checked_mul(length) {
            Some(total) if length >= 0 && total <= ARRAY_ELEMENTS_MAX as i64 => total,
            _ => return Err(array_too_large()),
        };
    }
    usize::try_from(total).map_err(|_| array_too_large())
}

/// 54000 if a last subscript would not be an integer (ArrayCheckBounds).
fn check_bounds(dimensions: &[(i64, i64)]) -> Result<()> {
    match dimensions.iter().find(|(first, length)| first + length > i64::from(i32::MAX)) {
        None => Ok(()),
        Some((first, _)) => Err(Error::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!("array lower bound is too large: {first}"),
        )),
    }
}

/// The place of the `i`th element of the ranges among all elements.
fn place_of(i: usize, spans: &[i64], ranges: &Ranges, dimensions: &[(i64, i64)]) -> usize {
    let (mut rest, mut place, mut stride) = (i as i64, 0i64, 1i64);
    for ((span, (from, _)), (first, length)) in spans.iter().zip(ranges).zip(dimensions).rev() {
        place += (from + rest % span - first) * stride;
        rest /= span;
        stride *= length;
    }
    usize::try_from(place).unwrap_or(usize::MAX)
}

#[cold]
fn wrong(message: &'static str) -> Error {
    Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
}
