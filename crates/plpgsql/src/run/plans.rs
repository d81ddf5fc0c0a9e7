//! The plans of a routine's SQL.
//!
//! ```text
//!   State::plans[n]   the running call's own: no lock to evaluate an expression
//!        │ missing, or made for other columns of a record
//!        ▼
//!   Shared::plans[n]  the routine's: each call that begins deeper takes a copy
//!        │ missing
//!        ▼
//!   Spi::prepare_with
//! ```
//!
//! A variable is a parameter of the plan, numbered by its slot, so the frame is the list of values.
//! A plan that mentions a record is valid for the record's present columns only. When the session's
//! epoch has changed, the call checks whether the plan is still valid in the new catalog.

use std::sync::Arc;

use parking_lot::Mutex;
use steppe_exec::{Prepared, SimpleExpression, Spi, SqlKind};
use steppe_sql::bind::{Conflict, Variable, Variables};
use steppe_sql::plan::ResultColumn;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

use super::code::{Code, SqlNumber, Use, Var};
use super::fast::Fast;
use super::frame::{Column, Frame, Shape};
use super::growth::Growth;
use crate::names::{Named, Scope};
use crate::tree::SlotId;
use crate::types::VariableConflict;

/// A plan of a piece of SQL.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) prepared: Prepared,
    /// The expression alone, if it needs no executor.
    pub(super) simple: Option<SimpleExpression>,
    /// The expressions of its one row, if it reads nothing but variables.
    row: Option<Arc<[SimpleExpression]>>,
    /// The expression over integers and booleans alone.
    pub(super) fast: Option<Fast>,
    /// The variables that it reads.
    reads: Box<[u32]>,
    /// The expression as one that appends to a variable.
    pub(super) growth: Option<Growth>,
    /// The column of a record that takes the value as it is.
    pub(super) column: Option<(SlotId, usize)>,
    /// The records that it mentions, and the columns that they had.
    records: Box<[(SlotId, Option<Arc<Shape>>)]>,
    /// The columns of its rows.
    pub(super) shape: Arc<Shape>,
    /// The type of the first column.
    pub(super) ty: Oid,
    pub(super) modifier: i32,
    /// The session's epoch when the plan was last found valid.
    checked: u64,
}

/// The plans of a routine, for its next call.
pub(super) struct Shared {
    plans: Box<[Mutex<Option<Plan>>]>,
}

impl Shared {
    pub(super) fn new(code: &Code) -> Shared {
        Shared { plans: code.pieces.iter().map(|_| Mutex::new(None)).collect() }
    }

    /// Drops all plans.
    pub(super) fn clear(&self) {
        self.plans.iter().for_each(|plan| *plan.lock() = None);
    }
}

impl Plan {
    /// The columns of its rows. The catalog may have changed since the plan was made.
    pub(super) fn columns(&mut self) -> &Arc<Shape> {
        let columns = self.prepared.columns();
        let is_same = columns.len() == self.shape.columns.len()
            && columns.iter().zip(&self.shape.columns).all(|(column, known)| {
                let (ty, modifier) = (column.ty.oid, column.ty.typmod);
                ty == known.ty && modifier == known.modifier && column.name == known.name
            });
        if !is_same {
            self.shape = shape_of_columns(columns);
        }
        &self.shape
    }

    /// Whether the records that it mentions have the columns that it was made for. Equal columns are
    /// remembered, so that they are compared once.
    #[inline]
    fn fits(&mut self, frame: &Frame) -> bool {
        self.records.iter_mut().all(|(slot, shape)| match (shape, frame.shape(*slot)) {
            (None, None) => true,
            (Some(made), Some(now)) if Arc::ptr_eq(made, now) => true,
            (Some(made), Some(now)) if made == now => {
                *made = Arc::clone(now);
                true
            }
            _ => false,
        })
    }

    /// The records that it mentions, and the columns that they had.
    pub(super) fn records(&self) -> &[(SlotId, Option<Arc<Shape>>)] {
        &self.records
    }

    /// Its value, if it is an expression that needs no executor.
    #[inline]
    pub(super) fn eval(&self, frame: &mut Frame, spi: &mut Spi<'_>) -> Option<Result<Datum>> {
        let simple = self.simple.as_ref()?;
        let values = match frame.read(&self.reads) {
            Ok(values) => values,
            Err(error) => return Some(Err(error)),
        };
        match self.fast.as_ref().and_then(|fast| fast.eval(values)) {
            Some(value) => Some(Ok(value)),
            None => Some(spi.evaluate(simple, values)),
        }
    }

    /// Whether it may have a row without being run.
    #[inline]
    pub(super) fn is_row(&self) -> bool {
        self.row.is_some()
    }

    /// Its one row, if it reads nothing but variables. `None`: it must be run.
    pub(super) fn eval_row(
        &self,
        frame: &mut Frame,
        spi: &mut Spi<'_>,
    ) -> Result<Option<Vec<Datum>>> {
        match &self.row {
            Some(row) => spi.evaluate_row(row, frame.read(&self.reads)?),
            None => Ok(None),
        }
    }

    #[inline]
    fn is_good(&mut self, frame: &Frame, spi: &Spi<'_>) -> bool {
        let is_current = |simple: &SimpleExpression| spi.is_current(simple);
        self.fits(frame)
            && self.simple.as_ref().is_none_or(is_current)
            && self.row.as_deref().and_then(<[_]>::first).is_none_or(is_current)
    }
}

/// Finds or makes the plan of a piece for a call. `own` is the call's place for it.
#[inline]
pub(super) fn plan<'p>(
    own: &'p mut Option<Plan>,
    number: SqlNumber,
    (code, shared): (&Arc<Code>, &Shared),
    frame: &Frame,
    spi: &mut Spi<'_>,
) -> Result<&'p mut Plan> {
    let epoch = spi.epoch();
    let is_good = match own {
        Some(plan) if plan.checked == epoch && plan.records.is_empty() => true,
        Some(plan) => {
            let is_good = plan.is_good(frame, spi);
            plan.checked = epoch;
            is_good
        }
        None => false,
    };
    if !is_good {
        *own = Some(find_or_make(number, (code, shared), frame, spi)?);
    }
    own.as_mut().ok_or_else(|| Error::internal("a plan was lost"))
}

#[cold]
fn find_or_make(
    number: SqlNumber,
    (code, shared): (&Arc<Code>, &Shared),
    frame: &Frame,
    spi: &mut Spi<'_>,
) -> Result<Plan> {
    let place = &shared.plans[number.0 as usize];
    let kept = place.lock().clone();
    let kept = kept.and_then(|mut plan| plan.is_good(frame, spi).then_some(plan));
    let plan = match kept {
        Some(plan) => plan,
        None => {
            let plan = make(number, code, frame, spi)?;
            *place.lock() = Some(plan.clone());
            plan
        }
    };
    Ok(Plan { checked: spi.epoch(), ..plan })
}

fn make(number: SqlNumber, code: &Arc<Code>, frame: &Frame, spi: &mut Spi<'_>) -> Result<Plan> {
    let piece = &code.pieces[number.0 as usize];
    let names = Arc::new(Visible {
        code: Arc::clone(code),
        scope: piece.scope,
        shapes: frame.shapes().to_vec(),
        types: frame.types().to_vec(),
        mentioned: Mutex::default(),
    });
    let target = match piece.of {
        Use::Field(field) => Target::of(field, code, frame),
        _ => None,
    };
    let kind = match (&piece.of, &target) {
        (Use::Statement, _) => SqlKind::Statement,
        (Use::Cursor, _) => SqlKind::Cursor,
        (Use::Assigned(ty, modifier), _) => SqlKind::Assignment { ty: *ty, modifier: *modifier },
        (_, Some(target)) => SqlKind::Assignment { ty: target.ty, modifier: target.modifier },
        (Use::Expression | Use::Field(_), None) => SqlKind::Expression,
    };
    let prepared = spi
        .prepare_with(&piece.text, kind, names.clone())
        .map_err(|error| piece.shown.located(error))?;
    let simple = spi.simple(&prepared);
    let row = match piece.of {
        Use::Statement => spi.simple_row(&prepared),
        Use::Cursor | Use::Expression | Use::Assigned(..) | Use::Field(_) => None,
    };
    let fast = simple.as_ref().and_then(|simple| Fast::of(simple.expr()));
    let (ty, modifier) = match prepared.columns().first() {
        Some(column) => (column.ty.oid, column.ty.typmod),
        None => (oid::VOID, -1),
    };
    let mut mentioned = std::mem::take(&mut *names.mentioned.lock());
    if let Some(target) = &target
        && !mentioned.contains(&target.record)
    {
        mentioned.push(target.record);
    }
    let column = target
        .filter(|to| (to.ty, to.modifier) == (ty, modifier) || (to.ty == ty && to.modifier == -1));
    let column = column.map(|to| (to.record, to.column));
    let shape = |slot: SlotId| (slot, frame.shape(slot).cloned());
    let records = mentioned.into_iter().map(shape).collect();
    let shape = shape_of_columns(prepared.columns());
    let reads: Box<[u32]> = prepared.variables().iter().map(|slot| *slot as u32).collect();
    let growth = simple.as_ref().and_then(|whole| Growth::of(&prepared, whole, &reads, spi));
    Ok(Plan {
        prepared,
        simple,
        row,
        fast,
        reads,
        growth,
        column,
        records,
        shape,
        ty,
        modifier,
        checked: 0,
    })
}

/// A field that an expression is assigned to, in a record whose columns are known. The expression
/// itself coerces its value, as that of an assignment to a variable does. So a plan is one for the
/// record's present columns, as if it mentioned the record.
struct Target {
    record: SlotId,
    column: usize,
    ty: Oid,
    modifier: i32,
}

impl Target {
    /// The field, if its type is a built-in one that is no row.
    fn of(field: SlotId, code: &Code, frame: &Frame) -> Option<Target> {
        let Var::Field { record, name } = code.var(field) else { return None };
        let shape = frame.shape(*record)?;
        let column = shape.find(name)?;
        let (ty, modifier) = shape.columns[column].assigned();
        let is_plain = ty < oid::FIRST_NORMAL_OID && ty != oid::RECORD && ty != oid::VOID;
        is_plain.then_some(Target { record: *record, column, ty, modifier })
    }
}

/// The columns of a query.
pub(super) fn shape_of_columns(columns: &[ResultColumn]) -> Arc<Shape> {
    let column = |column: &ResultColumn| {
        Column::new(Arc::clone(&column.name), column.ty.oid, column.ty.typmod)
    };
    Arc::new(Shape { ty: oid::RECORD, columns: columns.iter().map(column).collect() })
}

/// The names that a piece of SQL sees.
struct Visible {
    code: Arc<Code>,
    scope: Scope,
    shapes: Vec<Option<Arc<Shape>>>,
    types: Vec<(SlotId, Oid, i32)>,
    /// The records that were asked for.
    mentioned: Mutex<Vec<SlotId>>,
}

impl Variables for Visible {
    fn find(&self, parts: &[&str]) -> Result<Option<Variable>> {
        let Some(found) = self.code.names.find(self.scope, parts) else { return Ok(None) };
        match found.named {
            Named::Label(_) => Ok(None),
            Named::Scalar(slot) => Ok(Some(self.scalar(slot, found.parts))),
            Named::Record(slot) => self.record(slot, found.parts, parts.len()).map(Some),
        }
    }

    fn numbered(&self, n: u32) -> Result<Option<Variable>> {
        self.find(&[&format!("${n}")])
    }

    fn conflict(&self) -> Conflict {
        match self.code.conflict {
            VariableConflict::Error => Conflict::Error,
            VariableConflict::UseVariable => Conflict::PreferVariable,
            VariableConflict::UseColumn => Conflict::PreferColumn,
        }
    }
}

impl Visible {
    fn scalar(&self, slot: SlotId, parts: usize) -> Variable {
        let changed = self.types.iter().find(|(of, ..)| *of == slot);
        let (ty, modifier, collation) = match (changed, self.code.var(slot)) {
            (Some((_, ty, modifier)), _) => (*ty, *modifier, collation_of(*ty)),
            (None, Var::Scalar(scalar)) => (scalar.ty.oid, scalar.ty.modifier, scalar.ty.collation),
            (None, _) => (oid::RECORD, -1, 0),
        };
        Variable { param: slot.0 as usize, ty, modifier, collation, parts, record: None }
    }

    /// 55000 for a field of a record without columns.
    fn record(&self, slot: SlotId, parts: usize, all_parts: usize) -> Result<Variable> {
        let Var::Record(record) = self.code.var(slot) else {
            return Err(Error::internal("a record's slot holds something else"));
        };
        {
            let mut mentioned = self.mentioned.lock();
            if !mentioned.contains(&slot) {
                mentioned.push(slot);
            }
        }
        let shape = self.shapes.get(slot.0 as usize).and_then(Option::as_ref);
        if shape.is_none() && record.ty.oid == oid::RECORD && all_parts > parts {
            return Err(not_assigned(&record.name));
        }
        let column = |column: &Column| (Arc::clone(&column.name), column.ty, column.modifier);
        let columns = shape.map(|shape| shape.columns.iter().map(column).collect());
        Ok(Variable {
            param: slot.0 as usize,
            ty: record.ty.oid,
            modifier: -1,
            collation: 0,
            parts,
            record: columns.filter(|_| record.ty.oid == oid::RECORD),
        })
    }
}

/// 55000: a record without columns has no fields.
pub(super) fn not_assigned(name: &str) -> Error {
    let message = format!("record \"{name}\" is not assigned yet");
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .detail("The tuple structure of a not-yet-assigned record is indeterminate.")
}

/// The collation of a type's values.
pub(super) fn collation_of(ty: Oid) -> Oid {
    steppe_catalog::builtin::ty(ty).map_or(0, |ty| ty.collation)
}
