//! Casts of values at run time (exec_cast_value in pl_exec.c).
//!
//! A cast is the one that an assignment makes, and goes through text where there is none. Casts
//! among built-in types are called directly. The others are expressions over one parameter, which
//! the call keeps.

use std::sync::Arc;

use steppe_catalog::builtin::{self, CastContext};
use steppe_exec::{Prepared, SimpleExpression, SqlKind};
use steppe_sql::bind::{Conflict, Variable, Variables};
use steppe_types::{Datum, Oid, Result, oid};

use super::plans::collation_of;
use super::value::Value;
use super::walk::Run;

/// A type and its modifier.
type Typed = (Oid, i32);

/// A cast as an expression.
pub(super) struct Cast {
    from: Typed,
    to: Typed,
    prepared: Prepared,
    simple: Option<SimpleExpression>,
}

impl Run<'_, '_, '_> {
    /// Converts a value to another type.
    #[inline]
    pub(super) fn cast(&mut self, value: Value, to: Oid, modifier: i32) -> Result<Datum> {
        if value.ty == to && (modifier == -1 || value.modifier == modifier) {
            return Ok(value.datum);
        }
        match (&value.datum, to) {
            (Datum::Int4(number), oid::INT8) => Ok(Datum::Int8(i64::from(*number))),
            (Datum::Text(_), oid::TEXT) if is_string(value.ty) => Ok(value.datum),
            _ => self.cast_unlike(value, (to, modifier)),
        }
    }

    #[cold]
    fn cast_unlike(&mut self, value: Value, to: Typed) -> Result<Datum> {
        let Value { datum, ty, modifier, shape } = value;
        let catalog = self.spi.catalog_in_force()?;
        let kind = catalog.ty(to.0).map_or(b'b', |ty| ty.kind);
        if datum.is_null() && kind != b'd' {
            return Ok(Datum::Null);
        }
        if let Datum::Record(row) = &datum
            && kind == b'c'
        {
            let to = self.shape_of_type(to.0)?;
            let from = match shape {
                Some(shape) => shape,
                None => self.shape_of(ty, &datum)?,
            };
            return self.row_as(&to, &from, row).map(Datum::Record);
        }
        let is_built_in = ty < oid::FIRST_NORMAL_OID && to.0 < oid::FIRST_NORMAL_OID;
        let has_cast = ty == to.0
            || builtin::cast(ty, to.0).is_some_and(|cast| cast.context != CastContext::Explicit);
        if is_built_in && has_cast {
            let io = Arc::clone(self.spi.io());
            return steppe_types::cast::cast(&datum, ty, to.0, to.1, false, &io);
        }
        let from = match (datum.is_null(), ty) {
            // NULL itself: a domain may not take it.
            (true, _) => (0, -1),
            (false, oid::UNKNOWN) => (oid::TEXT, -1),
            (false, ty) => (ty, modifier),
        };
        self.cast_by_expression(datum, from, to)
    }

    fn cast_by_expression(&mut self, datum: Datum, from: Typed, to: Typed) -> Result<Datum> {
        let found = self.state.casts.iter().position(|cast| {
            let is_current = |simple| self.spi.is_current(simple);
            cast.from == from && cast.to == to && cast.simple.as_ref().is_none_or(is_current)
        });
        let at = match found {
            Some(at) => at,
            None => {
                self.state.casts.retain(|cast| cast.from != from || cast.to != to);
                let kind = SqlKind::Assignment { ty: to.0, modifier: to.1 };
                let text = if from.0 == 0 { "NULL" } else { "$1" };
                let prepared = self.spi.prepare_with(text, kind, Arc::new(One(from)))?;
                let simple = self.spi.simple(&prepared);
                self.state.casts.push(Cast { from, to, prepared, simple });
                self.state.casts.len() - 1
            }
        };
        let cast = &mut self.state.casts[at];
        match &cast.simple {
            Some(simple) => self.spi.evaluate(simple, &[datum]),
            None => self.spi.run(&mut cast.prepared, &[datum])?.value(),
        }
    }
}

fn is_string(ty: Oid) -> bool {
    matches!(ty, oid::TEXT | oid::VARCHAR | oid::UNKNOWN)
}

/// `$1`, of a type.
struct One(Typed);

impl Variables for One {
    fn find(&self, _: &[&str]) -> Result<Option<Variable>> {
        Ok(None)
    }

    fn numbered(&self, n: u32) -> Result<Option<Variable>> {
        let (ty, modifier) = self.0;
        let collation = collation_of(ty);
        let one = Variable { param: 0, ty, modifier, collation, parts: 1, record: None };
        Ok((n == 1).then_some(one))
    }

    fn conflict(&self) -> Conflict {
        Conflict::PreferVariable
    }
}
