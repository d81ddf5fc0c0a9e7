//! Assignment to elements and slices of a column's array, and to fields of its row
//! (transformAssignmentIndirection, transformAssignmentSubscripts).
//!
//! `SET a[1] = x` gives the column its old array with that element changed, and `SET c.x = 1` its
//! old row with that field changed. Several assignments to one column each begin with the result of
//! the one before.

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

/// A part of a column: an element or a slice of an array, a field of a row, or a part of such a part.
#[derive(Clone)]
pub(super) struct Part {
    steps: Vec<Step>,
    /// The type of the assigned value.
    ty: TypeRef,
}

/// One step from a value to a part of it.
#[derive(Clone)]
enum Step {
    /// An element or a slice of an array, and the type of an element.
    Element { indices: Vec<Bounds>, slice: bool, element: TypeRef },
    /// A field of a row, and the types of all of its fields.
    Field { index: usize, fields: Vec<TypeRef> },
}

impl Part {
    /// The whole value, of a type, after a value has been assigned to the part.
    pub(super) fn set(self, whole: Expr, ty: TypeRef, value: Expr) -> Expr {
        set_at(&self.steps, whole, ty, value)
    }
}

fn set_at(steps: &[Step], whole: Expr, ty: TypeRef, value: Expr) -> Expr {
    let Some((step, rest)) = steps.split_first() else { return value };
    match step {
        Step::Element { indices, slice, element } => {
            let (array, indices, slice) = (Box::new(whole), indices.clone(), *slice);
            let assigned = match rest.is_empty() {
                true => value,
                false => {
                    let (array, indices) = (array.clone(), indices.clone());
                    let ty = *element;
                    let old = Expr::Subscript { array, indices, slice, assigned: None, ty };
                    set_at(rest, old, ty, value)
                }
            };
            Expr::Subscript { array, indices, slice, assigned: Some(Box::new(assigned)), ty }
        }
        Step::Field { index, fields } => {
            let mut row: Vec<Expr> =
                fields.iter().enumerate().map(|(i, ty)| field_of(&whole, i, *ty)).collect();
            if let (Some(field), Some(ty)) = (row.get_mut(*index), fields.get(*index)) {
                let old = std::mem::replace(field, Expr::Default(*ty));
                *field = set_at(rest, old, *ty, value);
            }
            Expr::Row(row, ty.oid)
        }
    }
}

/// A field of a row; NULL of a row that is NULL.
fn field_of(row: &Expr, index: usize, ty: TypeRef) -> Expr {
    match row {
        Expr::Row(fields, _) if index < fields.len() => fields[index].clone(),
        _ => Expr::Field { arg: Box::new(row.clone()), index, ty },
    }
}

/// Whether an assignment to a column is one to a part of it, which may be followed by others.
pub(super) fn is_of_part(value: &Expr, column: usize) -> bool {
    let is_own =
        |arg: &Expr| matches!(arg, Expr::Var { rte: 0, column: c, .. } if *c == column as i32);
    match value {
        Expr::Subscript { assigned, .. } => assigned.is_some(),
        Expr::Row(fields, _) => {
            fields.iter().any(|field| matches!(field, Expr::Field { arg, .. } if is_own(arg)))
        }
        _ => false,
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
        if path.is_empty() {
            return Ok(None);
        }
        if column.domain != 0 {
            let what = "assignment to a part of a column of a domain";
            return Err(self.unsupported(what, location));
        }
        let (mut ty, mut steps) = (TypeRef::held(column), Vec::new());
        let mut path = path;
        while let Some(first) = path.first() {
            let step = match first {
                Indirection::Field(name) => {
                    path = &path[1..];
                    self.assigned_field(column, ty, name, location)?
                }
                _ => {
                    let length =
                        path.iter().take_while(|s| !matches!(s, Indirection::Field(_))).count();
                    let (own, rest) = path.split_at(length);
                    path = rest;
                    self.assigned_element(column, ty, own, place, location)?
                }
            };
            ty = match &step {
                Step::Element { slice: true, .. } => ty,
                Step::Element { element, .. } => *element,
                Step::Field { index, fields } => fields[*index],
            };
            if self.base_of(ty.oid) != ty.oid && !path.is_empty() {
                let what = "assignment to a part of a value of a domain";
                return Err(self.unsupported(what, location));
            }
            steps.push(step);
        }
        Ok(Some(Part { steps, ty }))
    }

    /// A step to a field of a row.
    fn assigned_field(
        &self,
        column: &Column,
        of: TypeRef,
        name: &str,
        location: Location,
    ) -> Result<Step> {
        let (Some(fields), Some(names)) =
            (self.ctx.catalog.row_declared(of.oid), self.ctx.catalog.row_names(of.oid))
        else {
            let step = Indirection::Field(name.to_owned());
            return Err(self.partial_target(column, of.oid, &step, location));
        };
        let Some(index) = names.iter().position(|known| **known == *name) else {
            let ty = self.format_type(of.oid, -1);
            let message = format!(
                "cannot assign to field \"{name}\" of column \"{}\" because there is no such column \
                 in data type {ty}",
                column.name
            );
            return Err(self.error(SqlState::UNDEFINED_COLUMN, message, location));
        };
        let fields = fields.into_iter().map(|(oid, typmod)| TypeRef { oid, typmod }).collect();
        Ok(Step::Field { index, fields })
    }

    /// A step to an element or a slice of an array.
    fn assigned_element(
        &mut self,
        column: &Column,
        of: TypeRef,
        path: &[Indirection],
        place: ExprPlace,
        location: Location,
    ) -> Result<Step> {
        let Some(first) = path.first() else {
            return Err(Error::internal("a subscript without an index"));
        };
        let container = of.oid;
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
        Ok(Step::Element { indices, slice, element: TypeRef { oid: element, typmod: of.typmod } })
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
                let is_field = matches!(part.steps.last(), Some(Step::Field { .. }));
                let (ty, name) = (part.ty, &column.name);
                match is_field {
                    true => self.coerce_field_assignment(value, ty, name, target.location),
                    false => self.coerce_element_assignment(value, ty, name, target.location),
                }
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
