//! Names that are parameters: the variables of a function (p_pre_columnref_hook,
//! p_post_columnref_hook and p_paramref_hook in pl_comp.c and functions.c).
//!
//! ```text
//!   a column reference ─┬ a variable, if variables go first
//!                       ├ a column of a table
//!                       └ a variable, if no column has the name; 42702 if a column has, too
//! ```
//!
//! A variable becomes an ordinary parameter of the plan. Parameters are numbered by their first use
//! in the statement. [`Bound::variables`](super::Bound::variables) says which variable each of them
//! is, so that a run copies the values of no others.

use super::row::RowShape;
use super::sql_function::Returned;
use super::{Binder, CoercionContext, Params};
use crate::ast::{self, ExprKind, Location};
use crate::expr::{CallSyntax, Expr, Place, TypeRef};
use crate::query::{CursorName, Query};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use steppe_types::{Error, Oid, Result, SqlState, oid};

/// The names of a function that SQL in it may use.
///
/// A statement is planned again with the same variables when the catalog has changed, so its plan
/// owns them.
pub trait Variables: Send + Sync {
    /// The variable that the 1 to 3 parts of a column reference mean. A `*` after them is not among
    /// them. An error is one of the variable: it is a record without columns yet (55000).
    fn find(&self, parts: &[&str]) -> Result<Option<Variable>>;

    /// The variable of `$n`, which counts from 1.
    fn numbered(&self, n: u32) -> Result<Option<Variable>>;

    /// The meaning of a name that a column and a variable have.
    fn conflict(&self) -> Conflict;

    /// The result that the statement must return, as the last one of a function in SQL must.
    fn returned(&self) -> Option<&Returned> {
        None
    }
}

/// The meaning of a name that a column and a variable have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// It is ambiguous (42702).
    Error,
    /// The variable.
    PreferVariable,
    /// The column.
    PreferColumn,
}

/// The columns of a record: their names, types and type modifiers.
pub type RecordColumns = Arc<[(Arc<str>, Oid, i32)]>;

/// A variable of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its place among the values that a run is given.
    pub param: usize,
    /// Its type.
    pub ty: Oid,
    /// The length, precision or scale that its values have; -1 if they have none.
    pub modifier: i32,
    /// Its collation, or 0.
    pub collation: Oid,
    /// The number of the name's parts that it took. The rest are fields of a composite value.
    pub parts: usize,
    /// The columns of a record, whose type does not tell them.
    pub record: Option<RecordColumns>,
}

/// The variables of a statement that is bound, and the used ones among them.
#[derive(Clone)]
pub(super) struct InScope {
    names: Arc<dyn Variables>,
    /// The variables that are the statement's parameters, in the order of their numbers.
    used: Vec<Variable>,
    /// The type of the variable that an expression's value is assigned to.
    target: Option<TypeRef>,
}

impl InScope {
    /// The variables.
    pub(super) fn names(&self) -> &Arc<dyn Variables> {
        &self.names
    }

    /// The type of the variable that an expression's value is assigned to.
    pub(super) fn target(&self) -> Option<TypeRef> {
        self.target
    }

    /// The same over other variables.
    pub(super) fn over(&self, names: Arc<dyn Variables>) -> InScope {
        InScope { names, ..self.clone() }
    }
}

impl fmt::Debug for InScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variables").field("used", &self.used).finish_non_exhaustive()
    }
}

impl Params {
    /// The variables of a function.
    pub fn variables(names: Arc<dyn Variables>) -> Params {
        let scope = InScope { names, used: Vec::new(), target: None };
        Params { scope: Some(scope), ..Params::default() }
    }

    /// The variables of a function, for an expression that is assigned to one of this type.
    pub fn assigned(names: Arc<dyn Variables>, target: TypeRef) -> Params {
        let scope = InScope { names, used: Vec::new(), target: Some(target) };
        Params { scope: Some(scope), ..Params::default() }
    }

    /// The result that the statement must return.
    pub(super) fn returned(&self) -> Option<&Returned> {
        self.scope.as_ref()?.names.returned()
    }

    /// Whether the parameters are the variables of a function.
    pub fn are_variables(&self) -> bool {
        self.scope.is_some()
    }

    /// The variables that the parameters are.
    pub(super) fn used(&self) -> Vec<usize> {
        let used = self.scope.iter().flat_map(|scope| &scope.used);
        used.map(|variable| variable.param).collect()
    }
}

impl Binder<'_> {
    /// The variable of a name, where a variable takes precedence over a column.
    pub(super) fn variable_before(
        &mut self,
        column: &ast::ColumnRef,
        location: Location,
    ) -> Result<Option<Expr>> {
        match self.conflict() {
            Some(Conflict::PreferVariable) => self.variable(column, false, location),
            _ => Ok(None),
        }
    }

    /// The variable of a name that no column has.
    pub(super) fn variable_after(
        &mut self,
        column: &ast::ColumnRef,
        location: Location,
    ) -> Result<Option<Expr>> {
        match self.conflict() {
            Some(Conflict::PreferColumn | Conflict::Error) => self.variable(column, true, location),
            Some(Conflict::PreferVariable) | None => Ok(None),
        }
    }

    /// 42702 if a variable has the name of a column that was found, and neither is preferred.
    pub(super) fn check_no_variable(
        &mut self,
        column: &ast::ColumnRef,
        location: Location,
    ) -> Result<()> {
        if self.conflict() != Some(Conflict::Error)
            || self.variable(column, false, location)?.is_none()
        {
            return Ok(());
        }
        let mut name = ast::ObjectName(column.parts.clone()).to_string();
        if column.star {
            name.push_str(".*");
        }
        let message = format!("column reference \"{name}\" is ambiguous");
        Err(self
            .error(SqlState::AMBIGUOUS_COLUMN, message, location)
            .detail("It could refer to either a PL/pgSQL variable or a table column."))
    }

    /// The cursor of WHERE CURRENT OF. The name may be a variable of type refcursor, whose value is
    /// the cursor's name (transformCurrentOfExpr).
    pub(super) fn cursor_name(&mut self, name: &str, location: Location) -> Result<CursorName> {
        let variable = match &self.params.scope {
            Some(scope) => scope.names.find(&[name])?.filter(|found| found.ty == oid::REFCURSOR),
            None => None,
        };
        let number = variable.as_ref().map_or(0, |variable| variable.param);
        Ok(match variable.map(|variable| self.param_of(variable, location)) {
            Some(Expr::Param { index, .. }) => CursorName::Variable { number, param: index },
            _ => CursorName::Given(name.into()),
        })
    }

    /// `$number`, if it is a variable.
    pub(super) fn numbered_variable(
        &mut self,
        number: i32,
        location: Location,
    ) -> Result<Option<Expr>> {
        let Some(scope) = &self.params.scope else { return Ok(None) };
        let Ok(number) = u32::try_from(number) else { return Ok(None) };
        let found = scope.names.numbered(number)?;
        Ok(found.map(|variable| self.param_of(variable, location)))
    }

    /// Coerces the value of an expression to the type of the variable that it is assigned to
    /// (transformPLAssignStmt). A value that no cast fits is read from its text.
    pub(super) fn assign_to_variable(&mut self, query: &mut Query) -> Result<()> {
        let Some(to) = self.params.scope.as_ref().and_then(|scope| scope.target) else {
            return Ok(());
        };
        let mut shown = query.targets.iter_mut().filter(|target| !target.hidden);
        let (Some(target), None) = (shown.next(), shown.next()) else { return Ok(()) };
        let value = target.expr.clone();
        let context = CoercionContext::Assignment;
        let coerced = self.coerce(value.clone(), to, context, CallSyntax::ImplicitCast)?;
        target.expr = match coerced {
            Some(coerced) => coerced,
            None => self.coerce_via_io(value, to)?,
        };
        Ok(())
    }

    /// Rows of VALUES in which fields stand for `record.*`.
    pub(super) fn without_stars<'r>(
        &mut self,
        rows: &'r [Vec<ast::Expr>],
    ) -> Result<Cow<'r, [Vec<ast::Expr>]>> {
        let is_star = |expr: &ast::Expr| match &expr.kind {
            ExprKind::ColumnRef(column) => column.star && !column.parts.is_empty(),
            _ => false,
        };
        if self.params.scope.is_none() || !rows.iter().flatten().any(is_star) {
            return Ok(Cow::Borrowed(rows));
        }
        let mut expanded = Vec::with_capacity(rows.len());
        for row in rows {
            let mut fields = Vec::with_capacity(row.len());
            for expr in row {
                match &expr.kind {
                    ExprKind::ColumnRef(column) if is_star(expr) => {
                        let mut columns = Vec::new();
                        self.expand_star(column, expr.location, &mut columns)?;
                        fields.extend(columns.iter().map(|field| {
                            let mut column = ast::ColumnRef { star: false, ..column.clone() };
                            column.parts.push(field.name.to_string());
                            ast::Expr { kind: ExprKind::ColumnRef(column), ..expr.clone() }
                        }));
                    }
                    _ => fields.push(expr.clone()),
                }
            }
            expanded.push(fields);
        }
        Ok(Cow::Owned(expanded))
    }

    /// The columns of a record that is a variable.
    pub(super) fn record_shape(&self, param: usize) -> Option<RowShape> {
        let variable = self.params.scope.as_ref()?.used.get(param)?;
        let column = |(name, oid, typmod): &(Arc<str>, Oid, i32)| {
            (Arc::clone(name), TypeRef { oid: *oid, typmod: *typmod })
        };
        Some(RowShape { columns: variable.record.as_ref()?.iter().map(column).collect() })
    }

    fn conflict(&self) -> Option<Conflict> {
        Some(self.params.scope.as_ref()?.names.conflict())
    }

    /// The variable, or the field of one, that a name means. A record without the field is an error
    /// if the name can have no other meaning.
    fn variable(
        &mut self,
        column: &ast::ColumnRef,
        is_last_chance: bool,
        location: Location,
    ) -> Result<Option<Expr>> {
        let parts: Vec<&str> = column.parts.iter().map(String::as_str).collect();
        if !(1..=3 - usize::from(column.star)).contains(&parts.len()) {
            return Ok(None);
        }
        let Some(scope) = &self.params.scope else { return Ok(None) };
        // As in PostgreSQL, errors of a variable have no position.
        let Some(variable) = scope.names.find(&parts)? else { return Ok(None) };
        let taken = variable.parts;
        let is_row = variable.record.is_some() || super::coerce::is_row(variable.ty);
        match parts.get(taken..) {
            Some([]) if is_row || !column.star => Ok(Some(self.param_of(variable, location))),
            Some([field]) if is_row && !column.star => {
                let row = self.param_of(variable, location);
                let shape = self.row_shape(&row);
                let mut columns = shape.iter().flat_map(|shape| &shape.columns).enumerate();
                if let Some((index, (_, ty))) = columns.find(|(_, (name, _))| **name == **field) {
                    let (arg, ty) = (Box::new(row), *ty);
                    return Ok(Some(Expr::Field { arg, index, ty }));
                }
                if !is_last_chance {
                    return Ok(None);
                }
                let message = format!("record \"{}\" has no field \"{field}\"", parts[taken - 1]);
                Err(Error::new(SqlState::UNDEFINED_COLUMN, message))
            }
            _ => Ok(None),
        }
    }

    /// The parameter of a variable.
    fn param_of(&mut self, variable: Variable, location: Location) -> Expr {
        let ty = TypeRef { oid: variable.ty, typmod: variable.modifier };
        let at = Place(location);
        let Some(scope) = &mut self.params.scope else {
            return Expr::Param { index: variable.param, ty, at };
        };
        let used = scope.used.iter().position(|used| used.param == variable.param);
        let index = used.unwrap_or_else(|| {
            scope.used.push(variable);
            self.params.types.push(ty.oid);
            self.params.typmods.push(ty.typmod);
            scope.used.len() - 1
        });
        Expr::Param { index, ty, at }
    }
}
