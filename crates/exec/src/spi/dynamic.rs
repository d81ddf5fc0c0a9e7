//! Statements whose text a function makes at run time: EXECUTE in PL/pgSQL.
//!
//! PostgreSQL parses and plans each of them. Here texts that differ in literals alone share a plan,
//! as the statements of clients do (docs/design.md 7.4). The plans are the session's own. A text that
//! cannot be treated so, or whose literals are not valid, takes the general way, which finds any
//! error.

use super::prepared::Body;
use super::{Prepared, Spi, SqlKind};
use crate::routine::SessionRoutines;
use hashbrown::{Equivalent, HashMap};
use parking_lot::Mutex;
use std::sync::Arc;
use steppe_sql::bind::Params;
use steppe_sql::parser::literals::{LiftedLiteral, Lifter};
use steppe_types::io::IoContext;
use steppe_types::{Datum, Oid, oid, text_io};

/// The most shapes that a session remembers. One more makes it forget all.
const SHAPES_MAX: usize = 256;
/// Longer shapes are not remembered.
const SHAPE_BYTES_MAX: usize = 8192;

/// The plans of a session's dynamic statements, by shape.
#[derive(Default)]
pub(crate) struct DynamicPlans(Mutex<Shapes>);

#[derive(Default)]
struct Shapes {
    lifter: Lifter,
    /// `None`: a statement of this shape must be planned with its literals.
    plans: HashMap<Shape, Option<Prepared>, foldhash::fast::RandomState>,
}

/// The text without its literals, the types of its own parameters, and whether it is opened as a
/// cursor with a name.
#[derive(Hash, PartialEq, Eq)]
struct Shape {
    key: Box<str>,
    types: Box<[Oid]>,
    for_cursor: bool,
}

/// A shape that is looked up.
#[derive(Hash, Clone, Copy)]
struct Wanted<'a> {
    key: &'a str,
    types: &'a [Oid],
    for_cursor: bool,
}

impl Equivalent<Shape> for Wanted<'_> {
    fn equivalent(&self, shape: &Shape) -> bool {
        *self.key == *shape.key
            && *self.types == *shape.types
            && self.for_cursor == shape.for_cursor
    }
}

impl DynamicPlans {
    /// Forgets all plans.
    pub(crate) fn clear(&self) {
        self.0.lock().plans.clear();
    }

    fn put(&self, Wanted { key, types, for_cursor }: Wanted<'_>, plan: Option<Prepared>) {
        if key.len() > SHAPE_BYTES_MAX {
            return;
        }
        let plans = &mut self.0.lock().plans;
        if plans.len() >= SHAPES_MAX {
            plans.clear();
        }
        plans.insert(Shape { key: key.into(), types: types.into(), for_cursor }, plan);
    }
}

impl Spi<'_> {
    /// A statement with parameters of these types, over the plan of its shape. `None`: the text is no
    /// single statement, or takes the general way.
    pub fn prepare_like(&mut self, text: &Arc<str>, types: &[Oid]) -> Option<Prepared> {
        self.shaped(text, types, false)
    }

    /// The same for a query that is opened as a cursor with a name.
    pub(super) fn prepare_cursor_like(
        &mut self,
        text: &Arc<str>,
        types: &[Oid],
    ) -> Option<Prepared> {
        self.shaped(text, types, true)
    }

    #[inline]
    fn shaped(&mut self, text: &Arc<str>, types: &[Oid], for_cursor: bool) -> Option<Prepared> {
        let session = Arc::clone(self.session());
        let plans = &SessionRoutines::of(&*session).ok()?.dynamic;
        // Planning may call functions, which have texts of their own: the lifter is taken out.
        let mut lifter = std::mem::take(&mut plans.0.lock().lifter);
        let found = match lifter.lift_beside(text, types.len()) {
            true => self.of_shape(plans, &lifter, text, (types, for_cursor)),
            false => None,
        };
        plans.0.lock().lifter = lifter;
        found
    }

    fn of_shape(
        &mut self,
        plans: &DynamicPlans,
        lifter: &Lifter,
        text: &Arc<str>,
        (types, for_cursor): (&[Oid], bool),
    ) -> Option<Prepared> {
        let shape = Wanted { key: lifter.key(), types, for_cursor };
        let known = plans.0.lock().plans.get(&shape).cloned();
        let mut prepared = match known {
            Some(known) => self.up_to_date(known?, plans, shape)?,
            None => {
                let prepared = self.planned_shape(lifter, (types, for_cursor));
                plans.put(shape, prepared.clone());
                prepared?
            }
        };
        let Body::Plan(planned) = &prepared.body else { return None };
        let wanted = planned.plan.param_types().get(types.len()..)?;
        let io = self.io();
        let values = lifter.literals().iter().zip(wanted);
        prepared.literals =
            values.map(|(literal, ty)| value_of(literal, *ty, text, io)).collect::<Option<_>>()?;
        prepared.text = Arc::clone(text);
        Some(prepared)
    }

    /// A remembered statement for the session's present frame.
    #[inline]
    fn up_to_date(
        &self,
        mut prepared: Prepared,
        plans: &DynamicPlans,
        shape: Wanted<'_>,
    ) -> Option<Prepared> {
        let version = self.session().frame_version();
        if let Body::Plan(planned) = &mut prepared.body
            && planned.version() != version
        {
            planned.see(&**self.session(), version).ok()?;
            plans.put(shape, Some(prepared.clone()));
        }
        Some(prepared)
    }

    /// Plans a shape. `None` if a plan needs the values of the literals.
    fn planned_shape(
        &mut self,
        lifter: &Lifter,
        (types, for_cursor): (&[Oid], bool),
    ) -> Option<Prepared> {
        let literals = lifter.literals().iter().map(|literal| match literal {
            LiftedLiteral::Int4(_) => oid::INT4,
            LiftedLiteral::Int8(_) => oid::INT8,
            LiftedLiteral::Numeric { .. } => oid::NUMERIC,
            LiftedLiteral::Unknown { .. } => 0,
        });
        let declared: Vec<Oid> = types.iter().copied().chain(literals).collect();
        let params = Params::variable(&declared);
        let kind = if for_cursor { SqlKind::Cursor } else { SqlKind::Statement };
        let prepared = self.prepared(lifter.sql(), kind, params).ok()?;
        let Body::Plan(planned) = &prepared.body else { return None };
        let plan = &planned.plan;
        let fits = plan.param_types().len() == declared.len()
            && plan.param_types().starts_with(types)
            && !plan.depends_on_literals;
        fits.then_some(prepared)
    }
}

/// A literal as its parameter's value; `None` if it is not valid for that type.
fn value_of(literal: &LiftedLiteral, ty: Oid, text: &str, io: &IoContext) -> Option<Datum> {
    match (literal, ty) {
        (LiftedLiteral::Int4(value), oid::INT4) => Some(Datum::Int4(*value)),
        (LiftedLiteral::Int8(value), oid::INT8) => Some(Datum::Int8(*value)),
        _ => text_io::input(ty, -1, &literal.text(text), io).ok(),
    }
}
