//! The frame of a call: a value for each slot, and the columns of its records.

use std::sync::Arc;

use steppe_types::{Datum, Oid, Result, interrupt, oid};

use super::code::{Code, Var};
use crate::tree::SlotId;

/// A column of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: Arc<str>,
    pub(super) ty: Oid,
    pub(super) modifier: i32,
    /// The domain that it was declared with, or 0. Its values are those of `ty`.
    pub(super) domain: Oid,
}

impl Column {
    /// A column that is of no domain.
    pub(super) fn new(name: Arc<str>, ty: Oid, modifier: i32) -> Column {
        Column { name, ty, modifier, domain: 0 }
    }

    /// The type and the modifier that a value gets that is assigned to it.
    pub(super) fn assigned(&self) -> (Oid, i32) {
        if self.domain == 0 { (self.ty, self.modifier) } else { (self.domain, -1) }
    }
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

/// A text that grows: the variable's value with room behind it.
#[derive(Debug)]
struct Growing {
    slot: u32,
    text: String,
    /// Whether the variable's datum is this text. If not, it is [`Datum::Null`] until it is read.
    is_shown: bool,
}

/// Texts that are shorter than this are copied sooner than kept.
const GROWS_FROM: usize = 64;

/// Copies a value. A place that holds an integer already gets the number alone, as in
/// [`Width::set`](super::fast::Width::set).
#[inline]
fn copy(place: &mut Datum, value: &Datum) {
    match (&mut *place, value) {
        (Datum::Int4(old), Datum::Int4(value)) => *old = *value,
        (Datum::Int8(old), Datum::Int8(value)) => *old = *value,
        _ => place.clone_from(value),
    }
}

/// The values of a call's variables.
///
/// A variable to which a program appends again and again has its text in a buffer. Its datum is made
/// when it is read, and once for all reads until the next append. So each reader says which variables
/// it reads ([`Frame::read`]).
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// One for each slot. A record's is NULL or its columns; a record that has a shape and no value
    /// is a row of NULLs.
    values: Vec<Datum>,
    growing: Vec<Growing>,
    /// The shapes of records, by slot; empty if the function has none.
    shapes: Vec<Option<Arc<Shape>>>,
    /// The types that variables got while it runs: the subjects of CASE.
    types: Vec<(SlotId, Oid, i32)>,
    /// A number that changes when a record's columns or a variable's type do.
    version: u64,
    /// The number of times that a variable got another type.
    retyped: u64,
}

impl Frame {
    /// The frame of a call that begins.
    pub(super) fn new(code: &Code) -> Frame {
        let slots = code.vars.len();
        let shapes = if code.has_records { vec![None; slots] } else { Vec::new() };
        let values = vec![Datum::Null; slots];
        Frame { values, growing: Vec::new(), shapes, types: Vec::new(), version: 0, retyped: 0 }
    }

    /// Drops the values of a call that has ended.
    pub(super) fn clear(&mut self) {
        self.growing.clear();
        self.values.iter_mut().for_each(|value| *value = Datum::Null);
        let mut shapes = self.shapes.iter_mut();
        if shapes.by_ref().any(|shape| shape.take().is_some()) {
            shapes.for_each(|shape| *shape = None);
            self.version += 1;
        }
    }

    /// As [`Self::clear`], but leaves these records alone. Their next rows take the place of the last.
    pub(super) fn clear_but(&mut self, records: [Option<SlotId>; 2]) {
        let is_kept = |at: usize| records.iter().flatten().any(|slot| slot.0 as usize == at);
        self.growing.clear();
        for (at, value) in self.values.iter_mut().enumerate() {
            if !is_kept(at) {
                *value = Datum::Null;
            }
        }
        for (at, shape) in self.shapes.iter_mut().enumerate() {
            if shape.is_some() && !is_kept(at) {
                *shape = None;
                self.version += 1;
            }
        }
    }

    /// A number that changes when a record's columns or a variable's type do.
    #[inline]
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The values, for a reader of these variables.
    #[inline]
    pub(super) fn read(&mut self, slots: &[u32]) -> Result<&[Datum]> {
        if !self.growing.is_empty() {
            self.show(|slot| slots.contains(&slot))?;
        }
        Ok(&self.values)
    }

    /// The values, for a reader of all variables.
    pub(super) fn read_all(&mut self) -> Result<&[Datum]> {
        self.show(|_| true)?;
        Ok(&self.values)
    }

    /// The values, for code that reads and writes no text.
    #[inline]
    pub(super) fn without_texts(&mut self) -> &mut [Datum] {
        &mut self.values
    }

    #[inline]
    pub(super) fn value(&mut self, slot: SlotId) -> Result<&Datum> {
        Ok(&self.read(&[slot.0])?[slot.0 as usize])
    }

    /// The value of a variable that is no text, to be changed in its place.
    #[inline]
    pub(super) fn place(&mut self, slot: SlotId) -> &mut Datum {
        &mut self.values[slot.0 as usize]
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

    /// Gives a variable a value, and returns the datum before.
    #[inline]
    pub(super) fn replace(&mut self, slot: SlotId, value: Datum) -> Datum {
        if !self.growing.is_empty() {
            self.growing.retain(|growing| growing.slot != slot.0);
        }
        std::mem::replace(&mut self.values[slot.0 as usize], value)
    }

    /// Makes the datums of texts that have grown.
    #[cold]
    fn show(&mut self, is_read: impl Fn(u32) -> bool) -> Result<()> {
        for growing in &mut self.growing {
            if !growing.is_shown && is_read(growing.slot) {
                interrupt::reserve(growing.text.len())?;
                self.values[growing.slot as usize] = Datum::Text(growing.text.as_str().into());
                growing.is_shown = true;
            }
        }
        Ok(())
    }

    /// The text of a variable, to which its caller appends. `None` for NULL and for a short text.
    #[inline]
    pub(super) fn growing(&mut self, slot: SlotId) -> Option<&mut String> {
        let at = match self.growing.iter().position(|growing| growing.slot == slot.0) {
            Some(at) => at,
            None => self.grow(slot)?,
        };
        let growing = &mut self.growing[at];
        if std::mem::take(&mut growing.is_shown) {
            self.values[slot.0 as usize] = Datum::Null;
        }
        Some(&mut growing.text)
    }

    fn grow(&mut self, slot: SlotId) -> Option<usize> {
        let Datum::Text(text) = &self.values[slot.0 as usize] else { return None };
        if text.len() < GROWS_FROM {
            return None;
        }
        let text = text.to_string();
        self.growing.push(Growing { slot: slot.0, text, is_shown: true });
        Some(self.growing.len() - 1)
    }

    pub(super) fn shape(&self, slot: SlotId) -> Option<&Arc<Shape>> {
        self.shapes.get(slot.0 as usize)?.as_ref()
    }

    /// A shape, or the equal one that a record has: so that they are compared once.
    pub(super) fn known_shape(&self, slot: SlotId, shape: Arc<Shape>) -> Arc<Shape> {
        match self.shape(slot) {
            Some(known) if **known == *shape => Arc::clone(known),
            _ => shape,
        }
    }

    /// Gives a record a shape. An equal one that it has already stays, so that plans stay good.
    #[inline]
    pub(super) fn set_shape(&mut self, slot: SlotId, shape: &Arc<Shape>) {
        let Some(place) = self.shapes.get_mut(slot.0 as usize) else { return };
        match place {
            Some(old) if Arc::ptr_eq(old, shape) || *old == *shape => {}
            _ => {
                *place = Some(Arc::clone(shape));
                self.version += 1;
            }
        }
    }

    /// Gives a record a row of these columns, in place if nothing else refers to its columns.
    #[inline]
    pub(super) fn set_row(&mut self, slot: SlotId, shape: &Arc<Shape>, values: &[Datum]) {
        self.set_shape(slot, shape);
        let place = &mut self.values[slot.0 as usize];
        if let Datum::Record(columns) = place
            && columns.len() == values.len()
            && let Some(columns) = Arc::get_mut(columns)
        {
            columns.iter_mut().zip(values).for_each(|(place, value)| copy(place, value));
            return;
        }
        *place = Datum::Record(values.into());
    }

    /// The columns of a record that is not NULL.
    #[inline]
    pub(super) fn record(&self, slot: SlotId) -> Option<&Arc<[Datum]>> {
        match &self.values[slot.0 as usize] {
            Datum::Record(columns) => Some(columns),
            _ => None,
        }
    }

    /// A record's columns; they are moved out of it if nothing else refers to them.
    pub(super) fn take_row(&mut self, slot: SlotId) -> Vec<Datum> {
        match &mut self.values[slot.0 as usize] {
            Datum::Record(columns) => match Arc::get_mut(columns) {
                Some(own) => own.iter_mut().map(std::mem::take).collect(),
                None => columns.to_vec(),
            },
            _ => Vec::new(),
        }
    }

    /// Gives a column of a record a value, in place. The value comes back if the record is NULL or
    /// something else refers to its columns.
    #[inline]
    pub(super) fn set_column(&mut self, slot: SlotId, at: usize, value: Datum) -> Option<Datum> {
        if let Datum::Record(columns) = &mut self.values[slot.0 as usize]
            && let Some(place) = Arc::get_mut(columns).and_then(|columns| columns.get_mut(at))
        {
            *place = value;
            return None;
        }
        Some(value)
    }

    /// Takes a record's value and shape.
    pub(super) fn unset(&mut self, slot: SlotId) {
        self.set(slot, Datum::Null);
        if let Some(shape) = self.shapes.get_mut(slot.0 as usize)
            && shape.take().is_some()
        {
            self.version += 1;
        }
    }

    /// The shapes of records, by slot.
    pub(super) fn shapes(&self) -> &[Option<Arc<Shape>>] {
        &self.shapes
    }

    /// Gives a variable another type.
    pub(super) fn set_type(&mut self, slot: SlotId, ty: Oid, modifier: i32) {
        self.types.retain(|(of, ..)| *of != slot);
        self.types.push((slot, ty, modifier));
        self.version += 1;
        self.retyped += 1;
    }

    /// The types that variables got while it runs.
    pub(super) fn types(&self) -> &[(SlotId, Oid, i32)] {
        &self.types
    }

    /// The number of times that a variable got another type.
    pub(super) fn retyped(&self) -> u64 {
        self.retyped
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
