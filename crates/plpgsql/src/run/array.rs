//! Assignment to a part of a variable: array elements, slices, fields of composite values in them
//! (array_set_element and array_set_slice in arrayfuncs.c, transformAssignmentIndirection).
//!
//! The value is taken out of the frame, changed and put back. An array with one owner is
//! changed in place, so filling one takes linear time. An array of one dimension grows where a value
//! is assigned outside it, with NULLs in between.

use std::sync::Arc;

use steppe_exec::assign_slice;
use steppe_types::array_io::{ARRAY_ELEMENTS_MAX, array_too_large};
use steppe_types::datum::Array;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

use super::code::{AssignPart, SqlNumber, Step, Var};
use super::fast::Width;
use super::value::{Value, wrong_type};
use super::walk::Run;

/// Arrays with fewer elements, and subscripts before this one, are far from the limits of an array.
const IN_PLACE_MAX: usize = ARRAY_ELEMENTS_MAX / 2;
const IN_PLACE_END: i64 = i32::MAX as i64 - 1;

/// A step whose subscripts have their values.
enum Place {
    Element(Vec<i64>),
    Slice(Vec<(Option<i64>, Option<i64>)>),
    Field(Arc<str>),
}

impl Run<'_, '_, '_> {
    /// `variable[…].field := expression`
    pub(super) fn assign_part(&mut self, of: &AssignPart) -> Result<()> {
        self.change_part(of).map_err(|error| match error.fields().position {
            Some(_) => self.piece(of.value).shown.located(error),
            None => error,
        })
    }

    fn change_part(&mut self, of: &AssignPart) -> Result<()> {
        if let [Step::Elements(subscripts)] = &*of.path
            && let [subscript] = **subscripts
            && let Var::Scalar(scalar) = self.code.var(of.target)
            && let Some(element) = element_of(scalar.ty.oid)
            && scalar.ty.modifier == -1
        {
            return self.change_element(of, subscript, element);
        }
        self.change_any_part(of)
    }

    /// An element of a variable's array of one dimension.
    fn change_element(
        &mut self,
        of: &AssignPart,
        subscript: SqlNumber,
        element: Oid,
    ) -> Result<()> {
        let at = self.subscript(subscript)?;
        let mut value = self.eval_scalar(of.value)?;
        if value.ty != element {
            value.shape = self.shape_of_result(of.value, value.ty, &value.datum)?;
        }
        let value = self.cast(value, element, -1)?;
        let place = self.state.frame.place(of.target);
        let Err(value) = set_in_place(place, at, value) else { return Ok(()) };
        let old = std::mem::take(place);
        let (new, done) = match set_element(old, element, &[at], value) {
            Ok(new) => (new, Ok(())),
            Err((error, old)) => (old.unwrap_or_default(), Err(error)),
        };
        self.state.frame.set(of.target, new);
        done
    }

    fn change_any_part(&mut self, of: &AssignPart) -> Result<()> {
        let code = self.code;
        let mut places = Vec::with_capacity(of.path.len());
        for step in &of.path {
            places.push(self.place(step)?);
        }
        let value = self.eval_typed(of.value)?;
        match code.var(of.target) {
            Var::Scalar(_) | Var::Record(_) => {
                let (ty, modifier, _) = self.state.frame.type_of(code, of.target);
                if let Var::Record(_) = code.var(of.target)
                    && self.state.frame.shape(of.target).is_none()
                {
                    let shape = self.shape_of_type(ty)?;
                    self.state.frame.set_shape(of.target, &shape);
                }
                // The frame gives the value up, so that it has one owner.
                self.state.frame.value(of.target)?;
                let old = std::mem::take(self.state.frame.place(of.target));
                let kept = (places.len() > 1).then(|| old.clone());
                match self.with_part(old, (ty, modifier), &places, value) {
                    Ok(new) => self.state.frame.set(of.target, new),
                    Err((error, old)) => {
                        self.state.frame.set(of.target, kept.or(old).unwrap_or_default());
                        return Err(error);
                    }
                }
                Ok(())
            }
            Var::Field { record, name } => {
                let Value { datum: whole, ty, modifier, .. } = self.variable(of.target)?;
                let new = self
                    .with_part(whole, (ty, modifier), &places, value)
                    .map_err(|(error, _)| error)?;
                let value = Value { datum: new, ty, modifier, shape: None };
                let (record, name) = (*record, Arc::clone(name));
                self.assign_field(record, &name, value)
            }
            Var::Row(_) => Err(Error::internal("a row is assigned to by parts")),
        }
    }

    /// The values of a step's subscripts.
    fn place(&mut self, step: &Step) -> Result<Place> {
        match step {
            Step::Field(name) => Ok(Place::Field(Arc::clone(name))),
            Step::Elements(subscripts) => {
                let mut list = Vec::with_capacity(subscripts.len());
                for subscript in subscripts {
                    list.push(self.subscript(*subscript)?);
                }
                Ok(Place::Element(list))
            }
            Step::Slices(bounds) => {
                let mut list = Vec::with_capacity(bounds.len());
                for (lower, upper) in bounds {
                    let lower = lower.map(|lower| self.subscript(lower)).transpose()?;
                    let upper = upper.map(|upper| self.subscript(upper)).transpose()?;
                    list.push((lower, upper));
                }
                Ok(Place::Slice(list))
            }
        }
    }

    fn subscript(&mut self, number: SqlNumber) -> Result<i64> {
        let datum = self.eval(number)?;
        // An integer, or a value of a domain over it, stays as it is.
        if let Datum::Int4(value) = datum {
            return Ok(i64::from(value));
        }
        let plan = self.plan(number)?;
        let value = Value { datum, ty: plan.ty, modifier: plan.modifier, shape: None };
        match self.cast(value, oid::INT4, -1)? {
            Datum::Int4(value) => Ok(i64::from(value)),
            _ => Err(Error::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "array subscript in assignment must not be null",
            )),
        }
    }

    /// Changes a part of a value. An error returns the old value too, unless it is already changed.
    fn with_part(
        &mut self,
        old: Datum,
        (ty, modifier): (Oid, i32),
        places: &[Place],
        value: Value,
    ) -> std::result::Result<Datum, (Error, Option<Datum>)> {
        let Some((place, rest)) = places.split_first() else {
            return self.cast(value, ty, modifier).map_err(|error| (error, Some(old)));
        };
        match place {
            Place::Field(name) => {
                self.with_field(old, ty, name, rest, value).map_err(|error| (error, None))
            }
            Place::Element(subscripts) => {
                let Some(element) = element_of(ty) else {
                    return Err((self.not_subscriptable(ty), Some(old)));
                };
                let part = if rest.is_empty() { Datum::Null } else { element_at(&old, subscripts) };
                let new = self.with_part(part, (element, modifier), rest, value);
                match new {
                    Ok(new) => set_element(old, element, subscripts, new),
                    Err((error, _)) => Err((error, Some(old))),
                }
            }
            Place::Slice(bounds) => {
                let Some(element) = element_of(ty) else {
                    return Err((self.not_subscriptable(ty), Some(old)));
                };
                match self.cast(value, ty, modifier) {
                    Ok(new) => set_slice(old, element, bounds, new),
                    Err(error) => Err((error, Some(old))),
                }
            }
        }
    }

    fn with_field(
        &mut self,
        old: Datum,
        ty: Oid,
        name: &str,
        rest: &[Place],
        value: Value,
    ) -> Result<Datum> {
        let shape = match self.shape_of_type(ty) {
            Ok(shape) => shape,
            Err(_) => {
                let shown = self.type_name(ty);
                return Err(wrong_type(format!(
                    "cannot assign to field \"{name}\" because its type {shown} is not a composite type"
                )));
            }
        };
        let Some(at) = shape.find(name) else {
            let shown = self.type_name(ty);
            let message = format!(
                "cannot assign to field \"{name}\" of column because there is no such column in \
                 data type {shown}"
            );
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
        };
        let mut columns = match old {
            Datum::Record(columns) => columns,
            _ => vec![Datum::Null; shape.columns.len()].into(),
        };
        let part = columns.get(at).cloned().unwrap_or_default();
        let column = &shape.columns[at];
        let new = self
            .with_part(part, (column.ty, column.modifier), rest, value)
            .map_err(|(error, _)| error)?;
        if let Some(place) = Arc::make_mut(&mut columns).get_mut(at) {
            *place = new;
        }
        Ok(Datum::Record(columns))
    }

    fn not_subscriptable(&mut self, ty: Oid) -> Error {
        let name = self.type_name(ty);
        let message =
            format!("cannot subscript type {name} because it does not support subscripting");
        wrong_type(message).at(Some(1))
    }
}

/// The type of an array's elements.
pub(super) fn element_of(ty: Oid) -> Option<Oid> {
    let ty = steppe_catalog::builtin::ty(ty)?;
    (ty.element != 0 && ty.is_true_array()).then_some(ty.element)
}

/// An element; NULL for one that is not there.
fn element_at(array: &Datum, subscripts: &[i64]) -> Datum {
    let Datum::Array(array) = array else { return Datum::Null };
    offset(array, subscripts).and_then(|at| array.elements.get(at)).cloned().unwrap_or_default()
}

/// The place of an element that is in an array.
fn offset(array: &Array, subscripts: &[i64]) -> Option<usize> {
    if array.dimensions.len() != subscripts.len() {
        return None;
    }
    let mut at = 0usize;
    for ((length, first), subscript) in array.dimensions.iter().zip(subscripts) {
        let within = subscript.checked_sub(i64::from(*first))?;
        if within < 0 || within >= i64::from(*length) {
            return None;
        }
        at = at * (*length as usize) + within as usize;
    }
    Some(at)
}

type Changed = std::result::Result<Datum, (Error, Option<Datum>)>;

/// Where an element of an array of one dimension is put in place.
enum InPlace<'a> {
    Element(&'a mut Datum),
    /// Behind the elements, whose number this is.
    Behind(&'a mut Vec<Datum>, &'a mut i32),
}

/// The place of an element that an array of one dimension has or that would follow the others, if
/// nothing else refers to the array.
#[inline]
fn place_of(array: &mut Datum, at: i64) -> Option<InPlace<'_>> {
    let Datum::Array(array) = array else { return None };
    let Array { dimensions, elements, .. } = Arc::get_mut(array)?;
    let [(length, first)] = dimensions.as_mut_slice() else { return None };
    let within = usize::try_from(at - i64::from(*first)).ok()?;
    let end = elements.len();
    if within < end {
        return elements.get_mut(within).map(InPlace::Element);
    }
    let may_grow = within == end && end < IN_PLACE_MAX && at < IN_PLACE_END;
    may_grow.then_some(InPlace::Behind(elements, length))
}

/// Sets an element in place, if it has a place. Otherwise returns the value; [`set_element`] is the
/// general way.
#[inline]
pub(super) fn set_in_place(
    array: &mut Datum,
    at: i64,
    value: Datum,
) -> std::result::Result<(), Datum> {
    match place_of(array, at) {
        Some(InPlace::Element(element)) => *element = value,
        Some(InPlace::Behind(elements, length)) => {
            elements.push(value);
            *length += 1;
        }
        None => return Err(value),
    }
    Ok(())
}

/// Sets an element of an array of integers in place, as [`set_in_place`] does.
#[inline]
pub(super) fn set_number(array: &mut Datum, at: i64, width: Width, value: i64) -> Option<()> {
    match place_of(array, at)? {
        InPlace::Element(element) => width.set(element, value),
        InPlace::Behind(elements, length) => {
            width.push(elements, value)?;
            *length += 1;
            Some(())
        }
    }
}

/// Whether an element may be put behind the others in place: the array has one dimension, nothing
/// else refers to it, and it is far from the limits.
#[inline]
pub(super) fn may_push(array: &Datum) -> bool {
    let Datum::Array(array) = array else { return false };
    let [(length, first)] = array.dimensions[..] else { return false };
    let end = i64::from(first) + i64::from(length);
    Arc::strong_count(array) == 1 && array.elements.len() < IN_PLACE_MAX && end < IN_PLACE_END
}

/// Puts an integer behind the elements of an array of one dimension, in place.
#[inline]
pub(super) fn push_number(array: &mut Datum, width: Width, value: i64) -> Option<()> {
    let Datum::Array(of) = array else { return None };
    let [(length, first)] = of.dimensions[..] else { return None };
    set_number(array, i64::from(first) + i64::from(length), width, value)
}

/// The array with a value at an element.
fn set_element(old: Datum, element: Oid, subscripts: &[i64], value: Datum) -> Changed {
    let mut array = match old {
        Datum::Array(array) => array,
        _ => Arc::new(Array { element_type: element, dimensions: vec![], elements: vec![] }),
    };
    let fail = |message, array| Err((wrong(message), Some(Datum::Array(array))));
    if let Some(at) = offset(&array, subscripts) {
        Arc::make_mut(&mut array).elements[at] = value;
        return Ok(Datum::Array(array));
    }
    match array.dimensions.len() {
        0 => {
            let dimensions: Vec<(i32, i32)> =
                subscripts.iter().map(|subscript| (1, *subscript as i32)).collect();
            if let Some(first) = subscripts.iter().find(|first| **first >= i64::from(i32::MAX)) {
                return Err((lower_too_large(*first), Some(Datum::Array(array))));
            }
            let elements = vec![value];
            Ok(Datum::Array(Arc::new(Array { element_type: element, dimensions, elements })))
        }
        dimensions if dimensions != subscripts.len() => {
            fail("wrong number of array subscripts", array)
        }
        1 => grown(array, subscripts[0], value),
        _ => fail("array subscript out of range", array),
    }
}

/// A one-dimensional array that grows to an element outside it.
fn grown(mut array: Arc<Array>, at: i64, value: Datum) -> Changed {
    let (length, first) = array.dimensions[0];
    let (length, first) = (i64::from(length), i64::from(first));
    let (start, end) = (first.min(at), (first + length - 1).max(at));
    let total = end - start + 1;
    if total > ARRAY_ELEMENTS_MAX as i64 {
        return Err((array_too_large(), Some(Datum::Array(array))));
    }
    if end >= i64::from(i32::MAX) {
        return Err((lower_too_large(start), Some(Datum::Array(array))));
    }
    let changed = Arc::make_mut(&mut array);
    changed.dimensions[0] = (total as i32, start as i32);
    if at < first {
        let nulls = (first - at) as usize;
        changed.elements.splice(0..0, std::iter::repeat_n(Datum::Null, nulls));
        changed.elements[0] = value;
    } else {
        changed.elements.resize(total as usize - 1, Datum::Null);
        changed.elements.push(value);
    }
    Ok(Datum::Array(array))
}

/// The array with the elements of another one in a slice.
fn set_slice(
    old: Datum,
    element: Oid,
    bounds: &[(Option<i64>, Option<i64>)],
    value: Datum,
) -> Changed {
    let array = match old {
        Datum::Array(array) => array,
        _ => Arc::new(Array { element_type: element, dimensions: vec![], elements: vec![] }),
    };
    match value {
        // Assigning NULL to a slice leaves the array unchanged.
        Datum::Null => Ok(Datum::Array(array)),
        Datum::Array(source) => assign_slice(Arc::clone(&array), element, bounds, &source)
            .map_err(|error| (error, Some(Datum::Array(array)))),
        _ => Err((
            Error::internal("value assigned to a slice is not an array"),
            Some(Datum::Array(array)),
        )),
    }
}

#[cold]
fn wrong(message: &'static str) -> Error {
    Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
}

#[cold]
fn lower_too_large(first: i64) -> Error {
    let message = format!("array lower bound is too large: {first}");
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways from the same arrays: the same array, or the value back.
    #[test]
    fn in_place_as_the_general_way() {
        let array = |dimensions: &[(i32, i32)], elements: &[i32]| {
            Datum::Array(Arc::new(Array {
                element_type: oid::INT4,
                dimensions: dimensions.to_vec(),
                elements: elements.iter().map(|element| Datum::Int4(*element)).collect(),
            }))
        };
        let starts = || {
            [
                Datum::Null,
                array(&[], &[]),
                array(&[(3, 1)], &[1, 2, 3]),
                array(&[(2, -4)], &[1, 2]),
                array(&[(2, i32::MAX - 3)], &[1, 2]),
                array(&[(2, 1), (1, 1)], &[1, 2]),
            ]
        };
        let far = i64::from(i32::MAX);
        let mut changed = 0;
        for at in (-7..8).chain(far - 5..=far) {
            for value in [Datum::Int4(9), Datum::Null] {
                for (start, general) in starts().into_iter().zip(starts()) {
                    let mut fast = start;
                    let shared = fast.clone();
                    assert!(set_in_place(&mut fast, at, value.clone()).is_err(), "it is shared");
                    drop(shared);
                    let general = set_element(general, oid::INT4, &[at], value.clone());
                    match set_in_place(&mut fast, at, value.clone()) {
                        Ok(()) => {
                            changed += 1;
                            let general = general.map_err(|(error, _)| error).expect("an array");
                            assert_eq!(fast, general);
                        }
                        Err(back) => assert_eq!(back, value),
                    }
                }
            }
        }
        // Three elements and their follower, two and theirs, two at the end of the subscripts.
        assert_eq!(changed, 2 * (4 + 3 + 2));
    }
}
