//! RETURN, RETURN NEXT and RETURN QUERY, and the result in the form that the caller expects
//! (exec_stmt_return, exec_stmt_return_next, exec_stmt_return_query and coerce_function_result_tuple
//! in pl_exec.c).

use std::sync::Arc;

use steppe_exec::RowSink;
use steppe_sql::plan::ResultColumn;
use steppe_sql::query::Command;
use steppe_types::{Datum, Error, Oid, Result, oid};

use super::code::{Query, Returned, SqlNumber, Var};
use super::context;
use super::frame::{Column, Shape};
use super::loops::OpenedBy;
use super::plans::{Plan, not_assigned};
use super::value::wrong_type;
use super::walk::{Flow, Run};

impl Run<'_, '_, '_> {
    /// RETURN.
    pub(super) fn return_value(&mut self, returned: &Returned) -> Result<Flow> {
        match returned {
            Returned::Nothing => {}
            Returned::Variable(slot) => self.returned = self.variable(*slot)?,
            Returned::Expression(number) => {
                self.returned = match self.code.returns_row {
                    false => self.eval_scalar(*number)?,
                    true => {
                        let value = self.eval_typed(*number)?;
                        if !value.datum.is_null() && !matches!(value.datum, Datum::Record(_)) {
                            return Err(no_row_returned());
                        }
                        value
                    }
                };
            }
        }
        self.has_returned = true;
        Ok(Flow::Return)
    }

    /// The columns of the rows that the function returns. Those of a composite type may have changed
    /// since the function was compiled.
    fn expected(&mut self) -> Result<(Arc<Shape>, bool)> {
        let result = &self.code.result;
        if self.code.returns_row && result.oid != oid::RECORD {
            return Ok((self.shape_of_type(result.oid)?, true));
        }
        match &self.expected {
            Some(shape) => Ok((Arc::clone(shape), self.code.returns_row)),
            None => Err(Error::internal("a function's result has no columns")),
        }
    }

    /// RETURN NEXT.
    pub(super) fn return_next(&mut self, returned: &Returned) -> Result<()> {
        let (expected, is_row) = self.expected()?;
        let value = match returned {
            Returned::Nothing => return Err(Error::internal("RETURN NEXT must have a parameter")),
            Returned::Variable(slot) => {
                let value = self.variable(*slot)?;
                if let Var::Record(record) = self.code.var(*slot)
                    && value.shape.is_none()
                {
                    return Err(not_assigned(&record.name));
                }
                value
            }
            Returned::Expression(number) => self.eval_typed(*number)?,
        };
        let is_variable = matches!(returned, Returned::Variable(_));
        let row = match (is_row, &value.datum) {
            (false, Datum::Record(_)) if expected.columns.len() == 1 && is_variable => {
                return Err(wrong_type("wrong result type supplied in RETURN NEXT"));
            }
            (false, _) => {
                let column = &expected.columns[0];
                let (ty, modifier) = (column.ty, column.modifier);
                vec![self.cast(value, ty, modifier)?].into()
            }
            // NULL is a row of NULLs.
            (true, Datum::Null) => vec![Datum::Null; expected.columns.len()].into(),
            (true, Datum::Record(row)) => {
                let row = Arc::clone(row);
                let shape = match value.shape {
                    Some(shape) => shape,
                    None => self.shape_of(value.ty, &value.datum)?,
                };
                let message = "wrong record type supplied in RETURN NEXT";
                self.converted(&shape, &expected, row, message)?
            }
            (true, _) if is_variable && expected.columns.len() == 1 => {
                let column = &expected.columns[0];
                let (ty, modifier) = (column.ty, column.modifier);
                vec![self.cast(value, ty, modifier)?].into()
            }
            (true, _) if is_variable => {
                return Err(wrong_type("wrong result type supplied in RETURN NEXT"));
            }
            (true, _) => return Err(no_row_returned()),
        };
        self.put_row(&row)
    }

    fn put_row(&mut self, row: &[Datum]) -> Result<()> {
        match &mut self.sink {
            Some(sink) => sink.row(row),
            None => Err(Error::not_supported(
                "set-valued function called in context that cannot accept a set",
            )),
        }
    }

    /// RETURN QUERY.
    pub(super) fn return_query(&mut self, query: &Query) -> Result<()> {
        let (expected, _) = self.expected()?;
        if let Query::Static(number) = query
            && self.return_rows(*number, &expected)?
        {
            return Ok(());
        }
        let (mut cursor, shown) = self.open_query(query, Some(false), OpenedBy::ReturnQuery)?;
        let shape = super::plans::shape_of_columns(cursor.columns());
        let message = "structure of query does not match function result type";
        if let Err(error) = self.check_shape(&shape, &expected, message) {
            cursor.close(self.spi);
            return Err(shown.located(error));
        }
        let Some(sink) = self.sink.as_deref_mut() else {
            return Err(Error::internal("a set has no receiver"));
        };
        let entered = context::enter_statement(&shown);
        let read = cursor.fetch(self.spi, 0, sink);
        drop(entered);
        cursor.close(self.spi);
        let rows = read.map_err(|error| shown.located(error))?;
        self.processed = rows;
        self.set_found(rows != 0);
        Ok(())
    }

    /// RETURN QUERY of a SELECT, which needs no cursor. False: it has not run, because it is no SELECT
    /// or its columns are not the expected ones.
    fn return_rows(&mut self, number: SqlNumber, expected: &Shape) -> Result<bool> {
        let code = self.code;
        let shown = &code.pieces[number.0 as usize].shown;
        let accepts = |columns: &[ResultColumn]| {
            columns.len() == expected.columns.len()
                && columns
                    .iter()
                    .zip(&expected.columns)
                    .all(|(given, wanted)| is_alike((given.ty.oid, given.ty.typmod), wanted))
        };
        let Some(sink) = self.sink.take() else {
            return Err(Error::internal("a set has no receiver"));
        };
        let ran = self.with_plan(number, |run, plan| {
            if plan.prepared.command() != Some(Command::Select) {
                return Ok(None);
            }
            let entered = context::enter_statement(shown);
            let ran = run.return_row(plan, &accepts, &mut *sink).and_then(|ran| match ran {
                Some(rows) => Ok(Some(rows)),
                None => {
                    let values = run.state.frame.read_all()?;
                    run.spi.run_accepted(&mut plan.prepared, values, &accepts, &mut *sink)
                }
            });
            drop(entered);
            ran.map_err(|error| shown.located(error))
        });
        self.sink = Some(sink);
        let Some(rows) = ran? else { return Ok(false) };
        self.processed = rows;
        self.set_found(rows != 0);
        Ok(true)
    }

    /// RETURN QUERY of a row that needs no plan to run. `None`: it needs it, or its columns are not the
    /// expected ones.
    fn return_row(
        &mut self,
        plan: &Plan,
        accepts: &dyn Fn(&[ResultColumn]) -> bool,
        sink: &mut dyn RowSink,
    ) -> Result<Option<u64>> {
        if !plan.is_row() || !accepts(plan.prepared.columns()) {
            return Ok(None);
        }
        match plan.eval_row(&mut self.state.frame, self.spi)? {
            Some(row) => sink.row(&row).map(|()| Some(1)),
            None => Ok(None),
        }
    }

    /// 42804 unless a row's columns have the expected types (build_attrmap_by_position).
    fn check_shape(&mut self, from: &Shape, to: &Shape, message: &str) -> Result<()> {
        if std::ptr::eq(from, to) {
            return Ok(());
        }
        for (at, (given, wanted)) in from.columns.iter().zip(&to.columns).enumerate() {
            if !is_alike((given.ty, given.modifier), wanted) {
                let (found, wanted_name) = (self.type_name(given.ty), self.type_name(wanted.ty));
                return Err(wrong_type(message).detail(format!(
                    "Returned type {found} does not match expected type {wanted_name} in column \
                     \"{}\" (position {}).",
                    wanted.name,
                    at + 1
                )));
            }
        }
        if from.columns.len() != to.columns.len() {
            return Err(wrong_type(message).detail(format!(
                "Number of returned columns ({}) does not match expected column count ({}).",
                from.columns.len(),
                to.columns.len()
            )));
        }
        Ok(())
    }

    /// A row in the expected columns (convert_tuples_by_position).
    fn converted(
        &mut self,
        from: &Shape,
        to: &Shape,
        row: Arc<[Datum]>,
        message: &str,
    ) -> Result<Arc<[Datum]>> {
        self.check_shape(from, to, message)?;
        Ok(row)
    }

    /// The result of a call that returns one value.
    pub(super) fn result(&mut self) -> Result<Datum> {
        let value = std::mem::take(&mut self.returned);
        let (ty, modifier) = (self.code.result.oid, self.code.result.modifier);
        if ty == oid::VOID {
            return Ok(Datum::Null);
        }
        if !self.code.returns_row || value.datum.is_null() {
            return self.cast(value, ty, modifier);
        }
        let Datum::Record(row) = &value.datum else { return Err(no_row_returned()) };
        let row = Arc::clone(row);
        if self.expected.is_none() && ty == oid::RECORD {
            return Ok(value.datum);
        }
        let (expected, _) = self.expected()?;
        let shape = match value.shape {
            Some(shape) => shape,
            None => self.shape_of(value.ty, &value.datum)?,
        };
        let message = "returned record type does not match expected record type";
        self.converted(&shape, &expected, row, message).map(Datum::Record)
    }

    /// The row that a trigger's function returns, in a table's columns.
    pub(super) fn returned_row(&mut self, expected: &Shape) -> Result<Option<Arc<[Datum]>>> {
        let value = std::mem::take(&mut self.returned);
        let Datum::Record(row) = &value.datum else { return Ok(None) };
        let row = Arc::clone(row);
        let shape = match value.shape {
            Some(shape) => shape,
            None => self.shape_of(value.ty, &value.datum)?,
        };
        let message = "returned row structure does not match the structure of the triggering table";
        self.converted(&shape, expected, row, message).map(Some)
    }
}

/// Whether a column of a type with a modifier may stand for another.
fn is_alike((ty, modifier): (Oid, i32), wanted: &Column) -> bool {
    ty == wanted.ty && (modifier == wanted.modifier || wanted.modifier < 0)
}

fn no_row_returned() -> Error {
    wrong_type("cannot return non-composite value from function returning composite type")
}
