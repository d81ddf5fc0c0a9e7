//! Row values: comparison, fields, expansion by `.*`, and subscripts (transformIndirection,
//! make_row_comparison_op, ParseComplexProjection).
//!
//! [`RowShape`] finds the names and types of a row's columns: by its type, or, where that is
//! `record`, by following it to where it was made.

use super::coerce::{element_of, is_row, is_row_array};
use super::expr::{any_or_all, lost_operand};
use super::names::Found;
use super::{Binder, ExprPlace, TARGETS_MAX};
use crate::ast::{self, ExprKind, Location, ObjectName};
use crate::expr::{Bounds, CallSyntax, Expr, Place, RowCompareOp, SubLinkKind, TypeRef};
use crate::query::{Query, Rte, RteColumn, RteKind, Target};
use std::sync::Arc;
use steppe_catalog::objects::{Function, Operator};
use steppe_catalog::{Catalog, Column, is_row_type};
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

/// The columns of a row value.
pub(super) struct RowShape {
    pub(super) columns: Vec<(Arc<str>, TypeRef)>,
}

impl Binder<'_> {
    /// A list in which `t.*` and `(row).*` stand for their columns (transformExpressionList).
    pub(crate) fn expr_list(&mut self, list: &[ast::Expr], place: ExprPlace) -> Result<Vec<Expr>> {
        let mut bound = Vec::with_capacity(list.len());
        for item in list {
            match self.expand(item, place)? {
                Some(columns) => bound.extend(columns.into_iter().map(|target| target.expr)),
                None => bound.push(self.expr(item, place)?),
            }
        }
        Ok(bound)
    }

    /// The fields of `ROW(…)` or `(…, …)`, which begins at `location` (transformRowExpr).
    pub(super) fn row_fields(
        &mut self,
        fields: &[ast::Expr],
        place: ExprPlace,
        location: Location,
    ) -> Result<Vec<Expr>> {
        let bound = self.expr_list(fields, place)?;
        if bound.len() > TARGETS_MAX {
            let message = format!("ROW expressions can have at most {TARGETS_MAX} entries");
            return Err(self.error(SqlState::TOO_MANY_COLUMNS, message, location));
        }
        Ok(bound)
    }

    /// The columns that `*`, `t.*` or `(row).*` stand for, or `None` for any other expression.
    pub(crate) fn expand(
        &mut self,
        expr: &ast::Expr,
        place: ExprPlace,
    ) -> Result<Option<Vec<Target>>> {
        let mut out = Vec::new();
        match &expr.kind {
            ExprKind::ColumnRef(column) if column.star => {
                self.expand_star(column, expr.location, &mut out)?;
            }
            ExprKind::Indirection { arg, path } => {
                let [rest @ .., ast::Indirection::Star] = path.as_slice() else { return Ok(None) };
                if rest.is_empty()
                    && let Some((found, _)) = self.row_reference(arg)?
                {
                    self.expand_entry(found, arg.location, &mut out);
                } else {
                    let row = self.indirection(arg, rest, place, expr.location)?;
                    self.expand_row(row, expr.location, &mut out)?;
                }
            }
            _ => return Ok(None),
        }
        Ok(Some(out))
    }

    /// All columns of an entry.
    pub(crate) fn expand_entry(&mut self, found: Found, location: Location, out: &mut Vec<Target>) {
        let live = self.entry(found).columns.iter().filter(|c| !c.dropped);
        let names: Vec<Arc<str>> = live.map(|c| c.name.clone()).collect();
        let columns = match self.whole_row(found, Place(location)) {
            Expr::Row(columns, _) => columns,
            scalar => vec![scalar],
        };
        let scope = self.scopes.len() - 1 - found.levels;
        let shown = names.len() - self.columns_not_in_star(scope, self.entry(found));
        for (expr, name) in columns.into_iter().zip(names).take(shown) {
            out.push(self.target(expr, name, location));
        }
    }

    pub(super) fn expand_row(
        &mut self,
        row: Expr,
        location: Location,
        out: &mut Vec<Target>,
    ) -> Result<()> {
        let Some(shape) = self.row_shape(&row) else {
            let ty = row.ty().oid;
            let (sqlstate, message) = if ty == oid::RECORD {
                let message = "record type has not been registered".to_owned();
                (SqlState::WRONG_OBJECT_TYPE, message)
            } else {
                let shown = self.format_type(ty, -1);
                (SqlState::WRONG_OBJECT_TYPE, format!("type {shown} is not composite"))
            };
            return Err(self.error(sqlstate, message, location));
        };
        for (index, (name, ty)) in shape.columns.into_iter().enumerate() {
            let arg = Box::new(row.clone());
            out.push(self.target(Expr::Field { arg, index, ty }, name, location));
        }
        Ok(())
    }

    /// An entry that an expression names as a whole, `t` or `t.*`, with its name.
    fn row_reference<'e>(&mut self, expr: &'e ast::Expr) -> Result<Option<(Found, &'e str)>> {
        let ExprKind::ColumnRef(column) = &expr.kind else { return Ok(None) };
        let (schema, name) = match column.parts.as_slice() {
            [name] => (None, name),
            [schema, name] if column.star => (Some(schema.as_str()), name),
            _ => return Ok(None),
        };
        if !column.star && self.unqualified(name, expr.location)?.is_some() {
            return Ok(None);
        }
        let found = self.find_relation(schema, name, expr.location)?;
        Ok(found.map(|found| (found, name.as_str())))
    }

    /// `(a, b) op (c, d)` (make_row_comparison_op).
    pub(super) fn row_compare(
        &mut self,
        op: &ObjectName,
        left: Vec<Expr>,
        right: Vec<Expr>,
        location: Location,
    ) -> Result<Expr> {
        if left.len() != right.len() {
            return Err(self.error(
                SqlState::SYNTAX_ERROR,
                "unequal number of entries in row expressions",
                location,
            ));
        }
        if left.is_empty() {
            return Err(self.error(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot compare rows of zero length",
                location,
            ));
        }
        let pairs: Vec<(Expr, Expr)> = left.into_iter().zip(right).collect();
        let per_column = |binder: &mut Self, name: &ObjectName| -> Result<Vec<Expr>> {
            let pairs = pairs.iter().cloned();
            pairs.map(|(l, r)| binder.comparison(name, l, r, location)).collect()
        };
        let mut columns = per_column(self, op)?;
        if columns.len() == 1 {
            return columns.pop().ok_or_else(lost_operand);
        }
        // A user's operator is in no operator family, which would tell what it means.
        let is_own = |column: &Expr| match column {
            Expr::Func { syntax: CallSyntax::Operator(op), .. } => !op.is_built_in(),
            _ => false,
        };
        if columns.iter().any(is_own) {
            return Err(self.no_row_comparison(op, location));
        }
        let row_op = match op.name() {
            "=" => return Ok(Expr::And(columns)),
            "<>" => return Ok(Expr::Or(columns)),
            "<" => RowCompareOp::Lt,
            "<=" => RowCompareOp::Le,
            ">" => RowCompareOp::Gt,
            ">=" => RowCompareOp::Ge,
            _ => return Err(self.no_row_comparison(op, location)),
        };
        let (less, equal) = (ObjectName::from("<"), ObjectName::from("="));
        let (mut lt, mut eq, mut l, mut r) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (less, equal) in per_column(self, &less)?.into_iter().zip(per_column(self, &equal)?) {
            let (Expr::Func { func, mut args, .. }, Expr::Func { func: eq_func, .. }) =
                (less, equal)
            else {
                return Err(Error::internal("an operator did not bind to a function"));
            };
            lt.push(func);
            eq.push(eq_func);
            r.push(args.pop().ok_or_else(lost_operand)?);
            l.push(args.pop().ok_or_else(lost_operand)?);
        }
        Ok(Expr::RowCompare { op: row_op, lt, eq, left: l, right: r })
    }

    /// 0A000 for an operator that does not compare rows.
    fn no_row_comparison(&self, op: &ObjectName, location: Location) -> Error {
        let message =
            format!("could not determine interpretation of row comparison operator {}", op.name());
        let hint = "Row comparison operators must be associated with btree operator families.";
        self.error(SqlState::FEATURE_NOT_SUPPORTED, message, location).hint(hint)
    }

    /// `left op right` in a comparison of rows: 42804 if it is no condition.
    fn comparison(
        &mut self,
        op: &ObjectName,
        left: Expr,
        right: Expr,
        location: Location,
    ) -> Result<Expr> {
        let comparison = self.operator(op, Some(left), right, location)?;
        let ty = comparison.ty().oid;
        if ty == oid::BOOL {
            return Ok(comparison);
        }
        let shown = self.format_type(ty, -1);
        let message = format!("row comparison operator must yield type boolean, not type {shown}");
        Err(self.error(SqlState::DATATYPE_MISMATCH, message, location))
    }

    /// `(a, b) op (SELECT …)`: at most one row, compared as a row.
    pub(super) fn row_compare_sub_select(
        &mut self,
        op: &ObjectName,
        fields: &[ast::Expr],
        query: &ast::SelectStmt,
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        let (query, columns) = self.sub_select(query, place, location)?;
        let left = self.expr_list(fields, place)?;
        let test = self.sub_select_test(op, left, &columns, location)?;
        let ty = TypeRef::plain(oid::BOOL);
        let test = Some(Box::new(test));
        Ok(Expr::SubLink { kind: SubLinkKind::Row, test, query: Box::new(query), ty })
    }

    /// The comparison of a left side with a sub-select's columns, as [`Expr::SubLinkColumn`]s.
    pub(super) fn sub_select_test(
        &mut self,
        op: &ObjectName,
        left: Vec<Expr>,
        columns: &[TypeRef],
        location: Location,
    ) -> Result<Expr> {
        if left.len() != columns.len() {
            let message = if left.len() < columns.len() {
                "subquery has too many columns"
            } else {
                "subquery has too few columns"
            };
            return Err(self.error(SqlState::SYNTAX_ERROR, message, location));
        }
        let column = |(index, ty): (usize, &TypeRef)| Expr::SubLinkColumn { index, ty: *ty };
        let right: Vec<Expr> = columns.iter().enumerate().map(column).collect();
        if left.len() > 1 {
            return self.row_compare(op, left, right, location);
        }
        let mut both = left.into_iter().chain(right);
        match (both.next(), both.next()) {
            (Some(l), Some(r)) => self.comparison(op, l, r, location),
            _ => Err(lost_operand()),
        }
    }

    /// `(a, b) [NOT] IN ((c, d), …)`.
    pub(super) fn row_in_list(
        &mut self,
        fields: &[ast::Expr],
        list: &[ast::Expr],
        negated: bool,
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        let op = ObjectName::from(if negated { "<>" } else { "=" });
        let mut comparisons = Vec::with_capacity(list.len());
        for item in list {
            let ExprKind::Row { fields: right, .. } = &item.kind else {
                return Err(self.unsupported("IN list mixing rows and scalars", item.location));
            };
            let (l, r) = (self.expr_list(fields, place)?, self.expr_list(right, place)?);
            comparisons.push(self.row_compare(&op, l, r, location)?);
        }
        Ok(any_or_all(comparisons, negated))
    }

    /// `arg.field`, `arg[1]`, `arg[1:2]`.
    pub(super) fn indirection(
        &mut self,
        arg: &ast::Expr,
        path: &[ast::Indirection],
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        let (mut value, path) = match (self.row_reference(arg)?, path) {
            (Some((found, table)), [ast::Indirection::Field(name), rest @ ..]) => {
                let Some(column) = self.column_of(found, name, location)? else {
                    return Err(self.error(
                        SqlState::UNDEFINED_COLUMN,
                        format!("column {table}.{name} does not exist"),
                        location,
                    ));
                };
                (column, rest)
            }
            _ => (self.expr(arg, place)?, path),
        };
        let mut subscripts: Vec<Bounds> = Vec::new();
        let mut slice = is_slice(path);
        for (at, step) in path.iter().enumerate() {
            if let Some(bounds) = self.bounds(step, slice, place)? {
                subscripts.push(bounds);
                continue;
            }
            match step {
                ast::Indirection::Field(name) => {
                    value =
                        self.subscripted(value, std::mem::take(&mut subscripts), slice, location)?;
                    slice = is_slice(&path[at + 1..]);
                    value = self.field(value, name, arg.leftmost())?;
                }
                _ => {
                    return Err(self.error(
                        SqlState::SYNTAX_ERROR,
                        "row expansion via \"*\" is not supported here",
                        location,
                    ));
                }
            }
        }
        self.subscripted(value, subscripts, slice, arg.leftmost())
    }

    fn subscripted(
        &mut self,
        value: Expr,
        subscripts: Vec<Bounds>,
        slice: bool,
        location: Location,
    ) -> Result<Expr> {
        if subscripts.is_empty() {
            return Ok(value);
        }
        let value = self.to_base(value);
        let container = value.ty();
        let element = match container.oid {
            // An array of a fixed length, from 0.
            oid::NAME => Some(oid::CHAR),
            ty => element_of(ty),
        };
        let Some(element) = element else {
            return Err(self.error(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "cannot subscript type {} because it does not support subscripting",
                    self.format_type(container.oid, -1)
                ),
                location,
            ));
        };
        let oid = match (slice, oid::vector_element_type(container.oid)) {
            (false, _) => element,
            // A part of a vector is an array like others.
            (true, Some(_)) => self.ctx.catalog.ty(element).map_or(container.oid, |t| t.array),
            (true, None) => container.oid,
        };
        let ty = TypeRef { oid, typmod: container.typmod };
        Ok(Expr::Subscript {
            array: Box::new(value),
            indices: subscripts,
            slice,
            assigned: None,
            ty,
        })
    }

    /// The bounds that one subscript gives, in a slice or alone; `None` for other steps
    /// (transformContainerSubscripts).
    pub(super) fn bounds(
        &mut self,
        step: &ast::Indirection,
        slice: bool,
        place: ExprPlace,
    ) -> Result<Option<Bounds>> {
        Ok(match step {
            ast::Indirection::Subscript(index) => {
                // Beside a slice, one subscript is the upper bound of a slice from 1.
                let one = || Expr::Const(Datum::Int4(1), TypeRef::plain(oid::INT4));
                Some((slice.then(one), Some(self.subscript(index, place)?)))
            }
            ast::Indirection::Slice { lower, upper } => {
                let lower = lower.as_ref().map(|e| self.subscript(e, place)).transpose()?;
                let upper = upper.as_ref().map(|e| self.subscript(e, place)).transpose()?;
                Some((lower, upper))
            }
            ast::Indirection::Field(_) | ast::Indirection::Star => None,
        })
    }

    fn subscript(&mut self, index: &ast::Expr, place: ExprPlace) -> Result<Expr> {
        let bound = self.expr(index, place)?;
        let to = TypeRef::plain(oid::INT4);
        let context = super::CoercionContext::Assignment;
        self.coerce(bound, to, context, CallSyntax::ImplicitCast)?.ok_or_else(|| {
            self.error(
                SqlState::DATATYPE_MISMATCH,
                "array subscript must have type integer",
                index.leftmost(),
            )
        })
    }

    /// `(row).name`.
    fn field(&mut self, value: Expr, name: &str, location: Location) -> Result<Expr> {
        let shape = self.row_shape(&value);
        let columns = shape.iter().flat_map(|shape| &shape.columns);
        if let Some((index, (_, ty))) = columns.enumerate().find(|(_, (n, _))| **n == *name) {
            let (arg, ty) = (Box::new(value), *ty);
            return Ok(Expr::Field { arg, index, ty });
        }
        let ty = value.ty().oid;
        let shown = self.format_type(ty, -1);
        let (sqlstate, message) = match ty {
            oid::RECORD => (
                SqlState::UNDEFINED_COLUMN,
                format!("could not identify column \"{name}\" in record data type"),
            ),
            _ if is_row_type(ty) => (
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{name}\" not found in data type {shown}"),
            ),
            _ => (
                SqlState::WRONG_OBJECT_TYPE,
                format!(
                    "column notation .{name} applied to type {shown}, which is not a composite \
                     type"
                ),
            ),
        };
        Err(self.error(sqlstate, message, location))
    }

    /// A query's output column that is a row of no declared type, or an array of rows: its name
    /// and type.
    pub(crate) fn record_column(&self, query: &Query) -> Option<(Arc<str>, Oid)> {
        let mut shown = query.output().iter().filter(|t| !t.hidden);
        let found = shown.find(|t| matches!(t.expr.ty().oid, oid::RECORD | oid::RECORD_ARRAY));
        found.map(|target| (target.name.clone(), target.expr.ty().oid))
    }

    pub(super) fn row_shape(&self, row: &Expr) -> Option<RowShape> {
        let entry = |rte: usize, levels: usize| -> Option<&Rte> {
            let scope = self.scopes.len().checked_sub(1 + levels)?;
            self.scopes[scope].rtes.get(rte)
        };
        self.shape_among(row, &entry)
    }

    /// Reports 42804 where an operator compares rows, or arrays of rows, with columns of different
    /// types. Reports 42883 where a column's type has no order. PostgreSQL finds both when it
    /// compares that column (record_eq).
    pub(super) fn check_record_columns(
        &self,
        operator: &Operator,
        left: &Expr,
        right: &Expr,
    ) -> Result<()> {
        let shapes = match (left.ty().oid, right.ty().oid) {
            (l, r) if is_row(l) && is_row(r) => (self.row_shape(left), self.row_shape(right)),
            (l, r) if is_row_array(l) && is_row_array(r) => {
                (self.element_shape(left), self.element_shape(right))
            }
            (l, r) if is_row(l) && is_row_array(r) => {
                (self.row_shape(left), self.element_shape(right))
            }
            _ => return Ok(()),
        };
        let (Some(left), Some(right)) = shapes else { return Ok(()) };
        if operator.result != oid::BOOL {
            return Ok(());
        }
        for (i, ((_, l), (_, r))) in left.columns.iter().zip(&right.columns).enumerate() {
            if l.oid != r.oid {
                let (l, r) = (self.format_type(l.oid, -1), self.format_type(r.oid, -1));
                let message = format!(
                    "cannot compare dissimilar column types {l} and {r} at record column {}",
                    i + 1
                );
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            }
            if l.oid == oid::UNKNOWN {
                let what = match &*operator.name {
                    "=" | "<>" => "an equality operator",
                    _ => "a comparison function",
                };
                let message = format!("could not identify {what} for type unknown");
                return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
            }
        }
        Ok(())
    }

    /// The shape of an array's elements.
    fn element_shape(&self, array: &Expr) -> Option<RowShape> {
        let entry = |rte: usize, levels: usize| -> Option<&Rte> {
            let scope = self.scopes.len().checked_sub(1 + levels)?;
            self.scopes[scope].rtes.get(rte)
        };
        self.element_shape_among(array, &entry)
    }

    /// [`Self::element_shape`] where columns come from the entries that `entry` finds.
    fn element_shape_among<'q>(
        &self,
        array: &Expr,
        entry: &dyn Fn(usize, usize) -> Option<&'q Rte>,
    ) -> Option<RowShape> {
        let of_parts = |parts: &[Expr]| {
            parts.iter().find_map(|part| match part.ty().oid {
                ty if is_row(ty) => self.shape_among(part, entry),
                ty if is_row_array(ty) => self.element_shape_among(part, entry),
                _ => None,
            })
        };
        if let Some(element) = element_of(array.ty().oid).filter(|ty| is_row_type(*ty)) {
            return self.shape_of_type(element);
        }
        match array {
            Expr::Array { elements, .. } => of_parts(elements),
            Expr::Func { args, .. } => of_parts(args),
            Expr::Aggregate(call) => of_parts(&call.args),
            Expr::Var { rte, column, levels_up, .. } => {
                let column = usize::try_from(*column).ok()?;
                match &entry(*rte, *levels_up)?.kind {
                    RteKind::Subquery { query, .. } => {
                        self.shape_in_output(query, column, |expr, entry| {
                            self.element_shape_among(expr, entry)
                        })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The shape of a row whose columns come from the entries that `entry` finds.
    fn shape_among<'q>(
        &self,
        row: &Expr,
        entry: &dyn Fn(usize, usize) -> Option<&'q Rte>,
    ) -> Option<RowShape> {
        match row {
            Expr::Row(fields, ty) => row_of_entry(fields, entry)
                .or_else(|| self.shape_of_type(*ty))
                .or_else(|| Some(row_of_fields(fields))),
            // A row that may be missing.
            Expr::Case { operand: None, whens, otherwise, .. }
                if matches!(&whens[..], [(_, Expr::Const(Datum::Null, _))]) =>
            {
                self.shape_among(otherwise, entry)
            }
            _ if is_row_type(row.ty().oid) => self.shape_of_type(row.ty().oid),
            Expr::Param { index, .. } => self.record_shape(*index),
            // An element of an array, or of several side by side.
            Expr::Func { args, .. } if args.iter().any(|a| is_row_array(a.ty().oid)) => {
                self.element_shape_among(row, entry)
            }
            Expr::Func { func, args, .. } => {
                let columns = out_columns(self.ctx.catalog, func, args);
                let columns = columns.map(|(n, ty)| (n.into(), TypeRef::plain(ty)));
                let columns: Vec<_> = columns.collect();
                (!columns.is_empty()).then_some(RowShape { columns })
            }
            Expr::Var { rte, column, levels_up, .. } => {
                let RteKind::Subquery { query, .. } = &entry(*rte, *levels_up)?.kind else {
                    return None;
                };
                self.shape_of_output(query, usize::try_from(*column).ok()?)
            }
            Expr::SubLink { kind: SubLinkKind::Scalar, query, .. } => {
                self.shape_of_output(query, 0)
            }
            Expr::Subscript { array, slice: false, assigned: None, .. } => {
                self.element_shape_among(array, entry)
            }
            _ => None,
        }
    }

    /// The columns of a row type.
    pub(super) fn shape_of_type(&self, ty: Oid) -> Option<RowShape> {
        let relation = self.ctx.catalog.relation_of_row_type(ty)?;
        let live = relation.columns.iter().filter(|column| !column.dropped);
        let column = |c: &Column| (c.name.clone(), TypeRef::of(c));
        Some(RowShape { columns: live.map(column).collect() })
    }

    fn shape_of_output(&self, query: &Query, column: usize) -> Option<RowShape> {
        self.shape_in_output(query, column, |expr, entry| self.shape_among(expr, entry))
    }

    /// The result of `shape` for an output column, whose own columns are those of the query's
    /// entries.
    fn shape_in_output<'q>(
        &self,
        query: &'q Query,
        column: usize,
        shape: impl FnOnce(&Expr, &dyn Fn(usize, usize) -> Option<&'q Rte>) -> Option<RowShape>,
    ) -> Option<RowShape> {
        let target = query.targets.iter().filter(|t| !t.hidden).nth(column)?;
        let entry = |rte: usize, levels: usize| match levels {
            0 => query.rtes.get(rte),
            _ => None,
        };
        shape(&target.expr, &entry)
    }
}

/// The shape of a row that is all of one entry's columns.
fn row_of_entry<'q>(
    fields: &[Expr],
    entry: &dyn Fn(usize, usize) -> Option<&'q Rte>,
) -> Option<RowShape> {
    let Some(Expr::Var { rte, levels_up, .. }) = fields.first() else { return None };
    let from = entry(*rte, *levels_up)?;
    let live: Vec<(usize, &RteColumn)> =
        from.columns.iter().enumerate().filter(|(_, c)| !c.dropped).collect();
    let is_column = |(field, (index, _)): (&Expr, &(usize, &RteColumn))| {
        matches!(field, Expr::Var { rte: r, levels_up: l, column, .. }
            if (r, l) == (rte, levels_up) && usize::try_from(*column) == Ok(*index))
    };
    if fields.len() != live.len() || !fields.iter().zip(&live).all(is_column) {
        return None;
    }
    Some(RowShape { columns: live.iter().map(|(_, c)| (c.name.clone(), c.ty)).collect() })
}

/// The shape of `ROW(…)`.
fn row_of_fields(fields: &[Expr]) -> RowShape {
    let named = |(i, e): (usize, &Expr)| (format!("f{}", i + 1).into(), e.ty());
    RowShape { columns: fields.iter().enumerate().map(named).collect() }
}

/// Whether a slice is among the subscripts before the next field: then all are bounds.
pub(super) fn is_slice(path: &[ast::Indirection]) -> bool {
    path.iter()
        .take_while(|step| !matches!(step, ast::Indirection::Field(_)))
        .any(|step| matches!(step, ast::Indirection::Slice { .. }))
}

/// The OUT columns of a call. The argument types decide the types of polymorphic columns.
pub fn result_columns<'p>(
    catalog: &Catalog,
    proc: &'p Function,
    inputs: &[Oid],
) -> impl Iterator<Item = (&'p str, Oid)> + use<'p> {
    let poly = super::coerce::resolve_polymorphic(catalog, inputs, &proc.args);
    let actual = move |ty: Oid| poly.and_then(|p| p.actual(ty)).unwrap_or(ty);
    proc.out_columns().map(move |(name, ty)| (name, actual(ty)))
}

/// The OUT columns of a call, polymorphic ones as its arguments make them.
pub(super) fn out_columns<'p>(
    catalog: &Catalog,
    proc: &'p Function,
    args: &[Expr],
) -> impl Iterator<Item = (&'p str, Oid)> + use<'p> {
    let inputs: Vec<Oid> = args.iter().map(|arg| arg.ty().oid).collect();
    result_columns(catalog, proc, &inputs)
}
