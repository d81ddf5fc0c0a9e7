//! The frame of a call: a value for each slot, and the columns of its records.

use std::sync::Arc;

use steppe_types::{Datum, Oid, oid};

use super::code::{Code, Var};
use crate::tree::SlotId;

/// A column of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: Arc<str>,
    pub(super) ty: Oid,
    pub(super) modifier: i32,
}

/// The columns that a record has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    /// The composite type, or `record`.
    pub(super) ty: Oid,
    pub(super) columns: Box<[Column]>,
}

impl Shape {
    /// The place of a column.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| &*column.name == name)
    }
}

/// The values of a call's variables.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// One for each slot. A record's is NULL or its columns; a record that has a shape and no value
    /// is a row of NULLs.
    pub(super) values: Vec<Datum>,
    /// The shapes of records, by slot; empty if the function has none.
    pub(super) shapes: Vec<Option<Arc<Shape>>>,
    /// The types that variables got while it runs: the subjects of CASE.
    pub(super) types: Vec<(SlotId, Oid, i32)>,
}

impl Frame {
    /// The frame of a call that begins.
    pub(super) fn new(code: &Code) -> Frame {
        let slots = code.vars.len();
        let shapes = if code.has_records { vec![None; slots] } else { Vec::new() };
        Frame { values: vec![Datum::Null; slots], shapes, types: Vec::new() }
    }

    #[inline]
    pub(super) fn value(&self, slot: SlotId) -> &Datum {
        &self.values[slot.0 as usize]
    }

    #[inline]
    pub(super) fn set(&mut self, slot: SlotId, value: Datum) {
        match self.replace(slot, value) {
            // These own nothing. Forgetting them saves the call that would find this out.
            old @ (Datum::Null | Datum::Bool(_) | Datum::Int4(_) | Datum::Int8(_)) => {
                std::mem::forget(old);
            }
            old => drop(old),
        }
    }

    /// Gives a variable a value, and returns the one before.
    #[inline]
    pub(super) fn replace(&mut self, slot: SlotId, value: Datum) -> Datum {
        std::mem::replace(&mut self.values[slot.0 as usize], value)
    }

    pub(super) fn shape(&self, slot: SlotId) -> Option<&Arc<Shape>> {
        self.shapes.get(slot.0 as usize)?.as_ref()
    }

    /// Gives a record a shape. An equal one that it has already stays, so that plans stay good.
    pub(super) fn set_shape(&mut self, slot: SlotId, shape: Arc<Shape>) {
        let Some(place) = self.shapes.get_mut(slot.0 as usize) else { return };
        match place {
            Some(old) if Arc::ptr_eq(old, &shape) || **old == *shape => {}
            _ => *place = Some(shape),
        }
    }

    /// Takes a record's value and shape.
    pub(super) fn unset(&mut self, slot: SlotId) {
        self.set(slot, Datum::Null);
        if let Some(shape) = self.shapes.get_mut(slot.0 as usize) {
            *shape = None;
        }
    }

    /// The type of a scalar variable.
    pub(super) fn type_of(&self, code: &Code, slot: SlotId) -> (Oid, i32, Oid) {
        if let Some((_, ty, modifier)) = self.types.iter().find(|(of, ..)| *of == slot) {
            return (*ty, *modifier, 0);
        }
        match code.var(slot) {
            Var::Scalar(scalar) => (scalar.ty.oid, scalar.ty.modifier, scalar.ty.collation),
            Var::Record(record) => (record.ty.oid, -1, 0),
            Var::Field { .. } | Var::Row(_) => (oid::RECORD, -1, 0),
        }
    }
}
