//! Assignment to elements and slices of a column's array (transformAssignmentIndirection,
//! transformAssignmentSubscripts).
//!
//! `SET a[1] = x` gives the column its old array with the assignment done. Several assignments to
//! one column each begin with the result of the one before.

use super::coerce::element_of;
use super::row::is_slice;
use super::{Binder, ExprPlace};
use crate::ast::{self, Indirection, Location};
use crate::expr::{Bounds, Expr, TypeRef};
use steppe_catalog::Column;
use steppe_types::{Error, Result, SqlState, oid};

/// The target of a value of INSERT or SET.
#[derive(Clone)]
pub(super) struct Assigned {
    /// The column's position.
    pub(super) column: usize,
    /// The part of it, if it is not the whole.
    pub(super) part: Option<Part>,
    /// Its place.
    pub(super) location: Location,
}

impl Assigned {
    /// A whole column.
    pub(super) fn whole(column: usize) -> Assigned {
        Assigned { column, part: None, location: Location::NONE }
    }
}

/// An element or a slice of an array.
#[derive(Clone)]
pub(super) struct Part {
    indices: Vec<Bounds>,
    slice: bool,
    /// The type of the assigned value.
    ty: TypeRef,
}

impl Part {
    /// The array, of a type, after a value has been assigned to the part.
    pub(super) fn set(self, array: Expr, ty: TypeRef, value: Expr) -> Expr {
        let Part { indices, slice, .. } = self;
        let (array, assigned) = (Box::new(array), Some(Box::new(value)));
        Expr::Subscript { array, indices, slice, assigned, ty }
    }
}

impl Binder<'_> {
    /// The part of a column that the steps after its name lead to.
    pub(super) fn assigned_part(
        &mut self,
        column: &Column,
        path: &[Indirection],
        place: ExprPlace,
        location: Location,
    ) -> Result<Option<Part>> {
        let Some(first) = path.first() else { return Ok(None) };
        let container = column.type_oid;
        if matches!(first, Indirection::Field(_)) {
            return Err(self.partial_target(column, container, first, location));
        }
        let Some(element) = element_of(container) else {
            // INSERT has no reference to the column that could have a place.
            let location =
                if place == ExprPlace::InsertTargets { Location::NONE } else { location };
            return Err(self.partial_target(column, container, first, location));
        };
        if oid::vector_element_type(container).is_some() {
            // As a domain over arrays, which an array is not made again.
            let array = self.ctx.catalog.ty(element).map_or(0, |ty| ty.array);
            let (from, to) = (self.format_type(array, -1), self.format_type(container, -1));
            let message = format!("cannot cast type {from} to {to}");
            return Err(self.error(SqlState::CANNOT_COERCE, message, location));
        }
        let slice = is_slice(path);
        let mut indices = Vec::with_capacity(path.len());
        for step in path {
            match self.bounds(step, slice, place)? {
                Some(bounds) => indices.push(bounds),
                None => return Err(self.partial_target(column, element, step, location)),
            }
        }
        let oid = if slice { container } else { element };
        Ok(Some(Part { indices, slice, ty: TypeRef { oid, typmod: column.typmod } }))
    }

    /// Coerces a value to its target.
    pub(super) fn assign_to(
        &mut self,
        value: Expr,
        column: &Column,
        target: &Assigned,
        location: Location,
    ) -> Result<Expr> {
        match &target.part {
            None => self.assign(value, column, location),
            Some(part) => {
                self.coerce_element_assignment(value, part.ty, &column.name, target.location)
            }
        }
    }

    /// 0A000 for DEFAULT in place of a part.
    pub(super) fn check_whole(&self, target: &Assigned) -> Result<()> {
        match target.part {
            None => Ok(()),
            Some(_) => Err(self.error(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot set an array element to DEFAULT",
                target.location,
            )),
        }
    }

    /// Refuses to assign to part of a column of another kind.
    fn partial_target(
        &self,
        column: &Column,
        of: steppe_types::Oid,
        step: &ast::Indirection,
        location: Location,
    ) -> Error {
        let ty = self.format_type(of, -1);
        match step {
            Indirection::Field(field) => self.error(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "cannot assign to field \"{field}\" of column \"{}\" because its type {ty} is not \
                     a composite type",
                    column.name
                ),
                location,
            ),
            _ if of == oid::NAME => {
                self.unsupported("assignment to an element of a name", location)
            }
            _ => self.error(
                SqlState::DATATYPE_MISMATCH,
                format!("cannot subscript type {ty} because it does not support subscripting"),
                location,
            ),
        }
    }
}
