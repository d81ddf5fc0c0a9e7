//! Array construction, subscripts and element-wise casts
//! (src/backend/utils/adt/arrayfuncs.c, executor's array expressions).

use super::{ArrayCoerce, ArrayCtor, CExpr, Row, Subscript};
use crate::context::ExecContext;
use std::sync::Arc;
use steppe_types::datum::{Array, one_dimensional};
use steppe_types::interrupt::{self, interruptible};
use steppe_types::text_io::NAME_BYTES_MAX;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// PostgreSQL's MAXDIM.
const DIMENSIONS_MAX: usize = 6;

/// `ARRAY[…]`; with `multidim` the elements are arrays that become one array
/// of one more dimension.
pub(super) fn construct(ctor: &ArrayCtor, cx: &mut ExecContext, row: Row<'_>) -> Result<Datum> {
    let values = ctor.elements.iter().map(|e| e.eval(cx, row)).collect::<Result<Vec<_>>>()?;
    if ctor.multidim {
        stack(ctor.element, values)
    } else {
        Ok(one_dimensional(ctor.element, values))
    }
}

/// Stacks arrays of equal dimensions; empty ones and NULLs are left out if all are empty.
pub(crate) fn stack(element_type: Oid, arrays: Vec<Datum>) -> Result<Datum> {
    let mismatch = || {
        Error::new(
            SqlState::ARRAY_SUBSCRIPT_ERROR,
            "multidimensional arrays must have array expressions with matching dimensions",
        )
    };
    let count = arrays.len();
    let mut inner: Option<Vec<(i32, i32)>> = None;
    let mut empty = 0;
    let mut elements = Vec::new();
    for value in arrays {
        let array = match value {
            Datum::Null => {
                empty += 1;
                continue;
            }
            Datum::Array(array) if array.dimensions.is_empty() => {
                empty += 1;
                continue;
            }
            Datum::Array(array) => array,
            _ => return Err(Error::internal("element of a nested array is not an array")),
        };
        match &inner {
            None => inner = Some(array.dimensions.clone()),
            Some(dimensions) if *dimensions == array.dimensions => {}
            Some(_) => return Err(mismatch()),
        }
        elements.append(&mut interrupt::cloned(&array.elements)?);
    }
    let Some(inner) = inner else { return Ok(one_dimensional(element_type, Vec::new())) };
    if empty > 0 {
        return Err(mismatch());
    }
    check_dimensions(inner.len() + 1)?;
    let mut dimensions = vec![(count as i32, 1)];
    dimensions.extend(inner);
    Ok(Datum::Array(Arc::new(Array { element_type, dimensions, elements })))
}

/// 54000 for more dimensions, or subscripts, than an array can have.
pub(super) fn check_dimensions(count: usize) -> Result<()> {
    if count <= DIMENSIONS_MAX {
        return Ok(());
    }
    Err(Error::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!(
            "number of array dimensions ({count}) exceeds the maximum allowed ({DIMENSIONS_MAX})"
        ),
    ))
}

/// `a[i][j]` or `a[i:j]`; NULL for a NULL or an element that is not there.
pub(super) fn subscript(s: &Subscript, cx: &mut ExecContext, row: Row<'_>) -> Result<Datum> {
    let array = match s.array.eval(cx, row)? {
        Datum::Null => return Ok(Datum::Null),
        Datum::Array(array) => array,
        Datum::Text(name) => return character(&name, s, cx, row),
        _ => return Err(Error::internal("subscripted value is not an array")),
    };
    let mut bounds = Vec::with_capacity(s.indices.len());
    for (lower, upper) in &s.indices {
        let Some(lower) = index_value(lower.as_ref(), cx, row)? else { return Ok(Datum::Null) };
        let Some(upper) = index_value(upper.as_ref(), cx, row)? else { return Ok(Datum::Null) };
        bounds.push((lower, upper));
    }
    if s.slice {
        return interrupt::catching(|| Ok(slice(&array, &bounds)));
    }
    let indices: Vec<i32> =
        bounds.iter().filter_map(|(lower, upper)| (*lower).or(*upper)).collect();
    Ok(element(&array, &indices).cloned().unwrap_or(Datum::Null))
}

/// `name[i]`: a byte of a name, which is an array of them in PostgreSQL.
fn character(name: &str, s: &Subscript, cx: &mut ExecContext, row: Row<'_>) -> Result<Datum> {
    if s.slice {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "slices of fixed-length arrays not implemented",
        ));
    }
    let [(_, Some(index))] = &s.indices[..] else { return Ok(Datum::Null) };
    let Some(Some(index)) = index_value(Some(index), cx, row)? else { return Ok(Datum::Null) };
    let at = usize::try_from(index).ok().filter(|at| *at <= NAME_BYTES_MAX);
    let byte = |at: usize| name.as_bytes().get(at).copied().unwrap_or(0);
    Ok(at.map_or(Datum::Null, |at| Datum::Char(byte(at))))
}

/// A subscript. `Some(None)`: it was left out. `None`: it is NULL.
pub(super) fn index_value(
    index: Option<&CExpr>,
    cx: &mut ExecContext,
    row: Row<'_>,
) -> Result<Option<Option<i32>>> {
    match index {
        None => Ok(Some(None)),
        Some(e) => match e.eval(cx, row)? {
            Datum::Null => Ok(None),
            Datum::Int4(v) => Ok(Some(Some(v))),
            Datum::Int2(v) => Ok(Some(Some(i32::from(v)))),
            _ => Err(Error::internal("array subscript is not an integer")),
        },
    }
}

/// The element at the given subscripts.
pub(crate) fn element<'a>(array: &'a Array, indices: &[i32]) -> Option<&'a Datum> {
    if indices.len() != array.dimensions.len() || indices.is_empty() {
        return None;
    }
    let mut position = 0usize;
    for (index, (length, lower)) in indices.iter().zip(&array.dimensions) {
        let offset = i64::from(*index) - i64::from(*lower);
        if offset < 0 || offset >= i64::from(*length) {
            return None;
        }
        position = position * *length as usize + offset as usize;
    }
    array.elements.get(position)
}

/// `a[i:j]`: the part within bounds, renumbered from 1. Dimensions without a subscript are taken
/// whole.
fn slice(array: &Array, bounds: &[(Option<i32>, Option<i32>)]) -> Datum {
    let nothing = || one_dimensional(array.element_type, Vec::new());
    if array.dimensions.is_empty() || bounds.len() > array.dimensions.len() {
        return nothing();
    }
    let mut ranges = Vec::with_capacity(array.dimensions.len());
    for (i, (length, lower)) in array.dimensions.iter().enumerate() {
        let (from, to) = bounds.get(i).copied().unwrap_or((None, None));
        let first = i64::from(from.unwrap_or(*lower)).max(i64::from(*lower)) - i64::from(*lower);
        let last = i64::from(*lower) + i64::from(*length) - 1;
        let last = i64::from(to.map_or(last as i32, |t| t)).min(last) - i64::from(*lower);
        if first > last {
            return nothing();
        }
        ranges.push((first as usize, last as usize));
    }
    let mut elements = Vec::new();
    copy_slice(array, &ranges, 0, 0, &mut elements);
    let dimensions = ranges.iter().map(|(first, last)| ((last - first + 1) as i32, 1)).collect();
    Datum::Array(Arc::new(Array { element_type: array.element_type, dimensions, elements }))
}

fn copy_slice(
    array: &Array,
    ranges: &[(usize, usize)],
    depth: usize,
    position: usize,
    out: &mut Vec<Datum>,
) {
    let length = array.dimensions[depth].0 as usize;
    let (first, last) = ranges[depth];
    for i in interruptible(first..=last) {
        let at = position * length + i;
        if depth + 1 == ranges.len() {
            out.extend(array.elements.get(at).cloned());
        } else {
            copy_slice(array, ranges, depth + 1, at, out);
        }
    }
}

/// Casts each element by an expression over the CASE operand.
pub(super) fn coerce(c: &ArrayCoerce, cx: &mut ExecContext, row: Row<'_>) -> Result<Datum> {
    let array = match c.arg.eval(cx, row)? {
        Datum::Null => return Ok(Datum::Null),
        Datum::Array(array) => array,
        _ => return Err(Error::internal("cast of array elements over another value")),
    };
    let outer = std::mem::take(&mut cx.case_operand);
    let mut convert = |element: &Datum| {
        cx.case_operand = element.clone();
        c.element.eval(cx, row)
    };
    let elements = interruptible(array.elements.iter()).map(&mut convert);
    let elements = interrupt::catching(|| elements.collect::<Result<Vec<_>>>());
    cx.case_operand = outer;
    Ok(Datum::Array(Arc::new(Array {
        element_type: c.element_type,
        dimensions: array.dimensions.clone(),
        elements: elements?,
    })))
}
