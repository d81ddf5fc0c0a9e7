//! Values with their types, casts to a variable's type, and assignment to variables
//! (exec_assign_value, exec_cast_value and exec_move_row in pl_exec.c).
//!
//! A cast is the one that an assignment makes; where there is none, the value goes through its text.

use std::sync::Arc;

use steppe_types::{Datum, Error, Oid, Result, SqlState, oid, text_io};

use super::code::{SqlNumber, Var};
use super::frame::{Column, Shape};
use super::plans::{self, not_assigned};
use super::walk::{Run, State};
use crate::tree::SlotId;

const ERRCODE_UNDEFINED_COLUMN: SqlState = SqlState::UNDEFINED_COLUMN;

/// A value and its type.
#[derive(Clone, Debug, Default)]
pub(super) struct Value {
    pub(super) datum: Datum,
    pub(super) ty: Oid,
    pub(super) modifier: i32,
    /// The columns of a row.
    pub(super) shape: Option<Arc<Shape>>,
}

impl Value {
    /// NULL of a type.
    pub(super) fn null(ty: Oid) -> Value {
        Value { datum: Datum::Null, ty, modifier: -1, shape: None }
    }

    pub(super) fn of(datum: Datum, ty: Oid) -> Value {
        Value { datum, ty, modifier: -1, shape: None }
    }
}

impl Run<'_, '_, '_> {
    /// `target := expression`
    #[inline]
    pub(super) fn assign(&mut self, target: SlotId, number: SqlNumber) -> Result<()> {
        if self.state.plans[number.0 as usize].is_none() {
            self.check_target(target, number)?;
        }
        let State { frame, plans, .. } = &mut *self.state;
        let own = &mut plans[number.0 as usize];
        let plan = plans::plan(own, number, (self.code, self.shared), frame, self.spi)?;
        let (is_as_typed, takes_null) = match self.code.var(target) {
            Var::Scalar(scalar) => {
                let (to, modifier) = (scalar.ty.oid, scalar.ty.modifier);
                let is_same = plan.ty == to && (modifier == -1 || plan.modifier == modifier);
                (is_same, !scalar.not_null)
            }
            _ => (false, false),
        };
        if let Some(growth) = &plan.growth
            && (is_as_typed && takes_null && growth.to == target.0)
            && growth.run(frame, self.spi)?
        {
            return Ok(());
        }
        let column = plan.column;
        let datum = match plan.eval(frame, self.spi) {
            Some(value) => value?,
            None => self.eval(number)?,
        };
        if let Some((record, at)) = column {
            return match self.state.frame.set_column(record, at, datum) {
                None => Ok(()),
                Some(datum) => self.assign_unlike(target, number, datum),
            };
        }
        if is_as_typed && (takes_null || !datum.is_null()) {
            self.state.frame.set(target, datum);
            return Ok(());
        }
        self.assign_unlike(target, number, datum)
    }

    /// Checks that a record has the field that is assigned. An assignment is planned with its target,
    /// so a wrong one is an error before the value is evaluated for the first time.
    #[cold]
    fn check_target(&mut self, target: SlotId, number: SqlNumber) -> Result<()> {
        let code = self.code;
        let Var::Field { record, name } = code.var(target) else { return Ok(()) };
        let shown = &code.pieces[number.0 as usize].shown;
        self.field_of(*record, name).map(drop).map_err(|error| shown.located(error))
    }

    #[cold]
    fn assign_unlike(&mut self, target: SlotId, number: SqlNumber, datum: Datum) -> Result<()> {
        self.check_target(target, number)?;
        let value = self.typed(number, datum)?;
        self.assign_value(target, value)
    }

    /// Assigns a value to any kind of variable.
    pub(super) fn assign_value(&mut self, target: SlotId, value: Value) -> Result<()> {
        let code = self.code;
        match code.var(target) {
            Var::Scalar(scalar) => {
                let (ty, modifier, _) = self.state.frame.type_of(code, target);
                let datum = self.cast(value, ty, modifier)?;
                if scalar.not_null && datum.is_null() {
                    return Err(null_not_allowed(&scalar.name));
                }
                self.state.frame.set(target, datum);
                Ok(())
            }
            Var::Record(record) => {
                if value.datum.is_null() {
                    if record.not_null {
                        return Err(null_not_allowed(&record.name));
                    }
                    self.state.frame.unset(target);
                    return Ok(());
                }
                let value = self.as_row(value, record.ty.oid)?;
                let Datum::Record(columns) = &value.datum else {
                    return Err(wrong_type(
                        "cannot assign non-composite value to a record variable",
                    ));
                };
                let shape = match value.shape {
                    Some(shape) => shape,
                    None => self.shape_of(value.ty, &value.datum)?,
                };
                self.move_row(target, &shape, Some(Arc::clone(columns)))
            }
            Var::Field { record, name } => self.assign_field(*record, name, value),
            Var::Row(_) => {
                if value.datum.is_null() {
                    return self.move_row(target, &no_columns(), None);
                }
                let Datum::Record(columns) = &value.datum else {
                    return Err(wrong_type("cannot assign non-composite value to a row variable"));
                };
                let shape = match value.shape {
                    Some(shape) => shape,
                    None => self.shape_of(value.ty, &value.datum)?,
                };
                self.move_row(target, &shape, Some(Arc::clone(columns)))
            }
        }
    }

    /// A value that is assigned to a record. One that is no row goes through its text.
    fn as_row(&mut self, value: Value, ty: Oid) -> Result<Value> {
        if matches!(value.datum, Datum::Record(_)) {
            return Ok(value);
        }
        if ty == oid::RECORD {
            let message = "input of anonymous composite types is not implemented";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let text = self.text_of(&value)?;
        let datum = steppe_types::text_io::input(ty, -1, &text, self.spi.io())?;
        Ok(Value { datum, ty, modifier: -1, shape: None })
    }

    /// Assigns to a field of a record.
    pub(super) fn assign_field(&mut self, record: SlotId, field: &str, value: Value) -> Result<()> {
        let (shape, at) = self.field_of(record, field)?;
        let (ty, modifier) = shape.columns[at].assigned();
        let datum = self.cast(value, ty, modifier)?;
        let frame = &mut self.state.frame;
        let old = std::mem::take(frame.place(record));
        let mut columns = match old {
            Datum::Record(columns) => columns,
            _ => vec![Datum::Null; shape.columns.len()].into(),
        };
        Arc::make_mut(&mut columns)[at] = datum;
        frame.set(record, Datum::Record(columns));
        Ok(())
    }

    /// The columns of a record that is about to have a field changed, and the field's place.
    pub(super) fn field_of(&mut self, record: SlotId, field: &str) -> Result<(Arc<Shape>, usize)> {
        let code = self.code;
        let Var::Record(of) = code.var(record) else {
            return Err(Error::internal("a field is not one of a record"));
        };
        let shape = match self.state.frame.shape(record) {
            Some(shape) => Arc::clone(shape),
            None if of.ty.oid == oid::RECORD => return Err(not_assigned(&of.name)),
            None => {
                let shape = self.shape_of_type(of.ty.oid)?;
                self.state.frame.set_shape(record, &shape);
                shape
            }
        };
        match shape.find(field) {
            Some(at) => Ok((shape, at)),
            None => {
                let message = format!("record \"{}\" has no field \"{field}\"", of.name);
                Err(Error::new(ERRCODE_UNDEFINED_COLUMN, message))
            }
        }
    }

    /// Assigns a row of these columns to a record or to a list of variables. `None`: there is no
    /// row, and all become NULL.
    pub(super) fn move_row(
        &mut self,
        target: SlotId,
        shape: &Arc<Shape>,
        row: Option<Arc<[Datum]>>,
    ) -> Result<()> {
        let code = self.code;
        match code.var(target) {
            Var::Record(record) if record.ty.oid == oid::RECORD => {
                self.state.frame.set_shape(target, shape);
                let nulls = || vec![Datum::Null; shape.columns.len()].into();
                let row = Datum::Record(row.unwrap_or_else(nulls));
                self.state.frame.set(target, row);
                Ok(())
            }
            Var::Record(record) => {
                let to = self.shape_of_type(record.ty.oid)?;
                let row = match row {
                    Some(row) => {
                        self.check_columns(to.columns.len(), shape.columns.len())?;
                        self.row_as(&to, shape, &row)?
                    }
                    // Without a row the variable becomes a row of NULLs, not NULL.
                    None => vec![Datum::Null; to.columns.len()].into(),
                };
                self.state.frame.set_shape(target, &to);
                self.state.frame.set(target, Datum::Record(row));
                Ok(())
            }
            Var::Row(fields) => {
                if row.is_some() {
                    self.check_columns(fields.len(), shape.columns.len())?;
                }
                for (at, (_, slot)) in fields.iter().enumerate() {
                    let column = shape.columns.get(at);
                    let value = match (&row, column) {
                        (Some(row), Some(column)) => Value {
                            datum: row.get(at).cloned().unwrap_or_default(),
                            ty: column.ty,
                            modifier: column.modifier,
                            shape: None,
                        },
                        _ => Value::null(oid::UNKNOWN),
                    };
                    self.assign_value(*slot, value)?;
                }
                Ok(())
            }
            _ => Err(Error::internal("a row is assigned to what takes none")),
        }
    }

    /// Assigns a row's values. A record takes them in place, if nothing else refers to its columns.
    pub(super) fn move_values(
        &mut self,
        target: SlotId,
        shape: &Arc<Shape>,
        values: &[Datum],
    ) -> Result<()> {
        match self.code.takes_any_row(target) {
            true => {
                self.state.frame.set_row(target, shape, values);
                Ok(())
            }
            false => self.move_row(target, shape, Some(values.into())),
        }
    }

    /// A row in a composite type's columns, by position. Missing columns are NULL. A row of the same
    /// types needs no casts.
    pub(super) fn row_as(
        &mut self,
        to: &Shape,
        from: &Shape,
        row: &Arc<[Datum]>,
    ) -> Result<Arc<[Datum]>> {
        let is_same = |(of, to): (&Column, &Column)| {
            of.ty == to.ty && (to.modifier == -1 || of.modifier == to.modifier)
        };
        let width = to.columns.len();
        if (row.len(), from.columns.len()) == (width, width)
            && from.columns.iter().zip(&to.columns).all(is_same)
        {
            return Ok(Arc::clone(row));
        }
        let mut columns = Vec::with_capacity(to.columns.len());
        for (at, column) in to.columns.iter().enumerate() {
            let datum = match (row.get(at), from.columns.get(at)) {
                (Some(datum), Some(of)) => {
                    let value = Value {
                        datum: datum.clone(),
                        ty: of.ty,
                        modifier: of.modifier,
                        shape: None,
                    };
                    self.cast(value, column.ty, column.modifier)?
                }
                _ => Datum::Null,
            };
            columns.push(datum);
        }
        Ok(columns.into())
    }

    /// strict_multi_assignment of plpgsql.extra_errors and plpgsql.extra_warnings.
    fn check_columns(&mut self, targets: usize, columns: usize) -> Result<()> {
        if targets == columns {
            return Ok(());
        }
        let Some((level, setting)) = self.extra_check("strict_multi_assignment") else {
            return Ok(());
        };
        let message = "number of source and target fields in assignment does not match";
        let error = Error::new(SqlState::DATATYPE_MISMATCH, message)
            .detail(format!("strict_multi_assignment check of {setting} is active."))
            .hint("Make sure the query returns the exact list of columns.");
        self.complain(level, error)
    }

    /// A value with the type of the expression that made it.
    fn typed(&mut self, number: SqlNumber, datum: Datum) -> Result<Value> {
        let plan = self.plan(number)?;
        let (ty, modifier) = (plan.ty, plan.modifier);
        let shape = self.shape_of_result(number, ty, &datum)?;
        Ok(Value { datum, ty, modifier, shape })
    }

    /// The value of a variable, with its type (exec_eval_datum).
    pub(super) fn variable(&mut self, slot: SlotId) -> Result<Value> {
        let code = self.code;
        match code.var(slot) {
            Var::Scalar(_) => {
                let (ty, modifier, _) = self.state.frame.type_of(code, slot);
                let datum = self.state.frame.value(slot)?.clone();
                Ok(Value { datum, ty, modifier, shape: None })
            }
            Var::Record(record) => {
                let shape = match self.state.frame.shape(slot) {
                    Some(shape) => Some(Arc::clone(shape)),
                    None if record.ty.oid == oid::RECORD => None,
                    None => Some(self.shape_of_type(record.ty.oid)?),
                };
                let ty = shape.as_ref().map_or(record.ty.oid, |shape| shape.ty);
                let datum = self.state.frame.value(slot)?.clone();
                Ok(Value { datum, ty, modifier: -1, shape })
            }
            Var::Field { record, name } => {
                let (shape, at) = self.field_of(*record, name)?;
                let datum = match self.state.frame.value(*record)? {
                    Datum::Record(columns) => columns.get(at).cloned().unwrap_or_default(),
                    _ => Datum::Null,
                };
                let column = &shape.columns[at];
                Ok(Value { datum, ty: column.ty, modifier: column.modifier, shape: None })
            }
            Var::Row(fields) => {
                let mut columns = Vec::with_capacity(fields.len());
                let mut row = Vec::with_capacity(fields.len());
                for (name, field) in fields {
                    let value = self.variable(*field)?;
                    let (ty, modifier) = (value.ty, value.modifier);
                    columns.push(Column::new(Arc::clone(name), ty, modifier));
                    row.push(value.datum);
                }
                let shape = Shape { ty: oid::RECORD, columns: columns.into() };
                let datum = Datum::Record(row.into());
                Ok(Value { datum, ty: oid::RECORD, modifier: -1, shape: Some(Arc::new(shape)) })
            }
        }
    }

    /// The columns of a composite type.
    pub(super) fn shape_of_type(&mut self, ty: Oid) -> Result<Arc<Shape>> {
        let epoch = self.spi.epoch();
        let known = self.state.row_types.iter().find(|(of, at, _)| (*of, *at) == (ty, epoch));
        if let Some((_, _, shape)) = known {
            return Ok(Arc::clone(shape));
        }
        let missing = || Error::internal(format!("type {ty} has no columns"));
        let catalog = self.spi.catalog_in_force()?;
        let of = (catalog.row_columns(ty), catalog.row_declared(ty), catalog.row_names(ty));
        let (Some(types), Some(declared), Some(names)) = of else { return Err(missing()) };
        let mut columns = Vec::with_capacity(types.len());
        for (((ty, modifier), (declared, _)), name) in types.into_iter().zip(declared).zip(names) {
            let domain = if declared == ty { 0 } else { declared };
            columns.push(Column { domain, ..Column::new(name, ty, modifier) });
        }
        let columns = columns.into();
        let shape = Arc::new(Shape { ty, columns });
        self.state.row_types.retain(|(of, ..)| *of != ty);
        self.state.row_types.push((ty, epoch, Arc::clone(&shape)));
        Ok(shape)
    }

    /// The columns of a composite value: those of its type, or for a record those of its values.
    pub(super) fn shape_of(&mut self, ty: Oid, datum: &Datum) -> Result<Arc<Shape>> {
        if ty != oid::RECORD {
            return self.shape_of_type(ty);
        }
        let Datum::Record(values) = datum else {
            return Err(Error::internal("a record has no columns"));
        };
        let column = |(at, value): (usize, &Datum)| {
            let ty = steppe_types::array_io::default_type_of(value);
            Column::new(format!("f{}", at + 1).into(), ty, -1)
        };
        let columns = values.iter().enumerate().map(column).collect();
        Ok(Arc::new(Shape { ty, columns }))
    }

    /// A value's text, as its type's output function writes it.
    pub(super) fn text_of(&self, value: &Value) -> Result<String> {
        text_io::output_string(value.ty, &value.datum, self.spi.io())
    }

    /// The SQL name of a type.
    pub(super) fn type_name(&mut self, ty: Oid) -> String {
        match self.spi.frame() {
            Ok(frame) => {
                let (catalog, path) = (&frame.names.catalog, &*frame.names.path);
                steppe_sql::bind::typename::TypeNames { catalog, path }.format(ty, -1)
            }
            Err(_) => "???".to_owned(),
        }
    }
}

/// The columns of no row.
pub(super) fn no_columns() -> Arc<Shape> {
    Arc::new(Shape { ty: oid::RECORD, columns: Box::new([]) })
}

/// 42804
pub(super) fn wrong_type(message: impl std::convert::Into<String>) -> Error {
    Error::new(SqlState::DATATYPE_MISMATCH, message)
}

fn null_not_allowed(name: &str) -> Error {
    let message = format!("null value cannot be assigned to variable \"{name}\" declared NOT NULL");
    Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
}
