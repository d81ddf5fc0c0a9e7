//! Coercions between rows, and rows from text (parse_coerce.c, rowtypes.c).
//!
//! A row of a relation's type is a record as it is. A record becomes such a row column by column.
//! That surely works only where it is written `ROW(…)`: any other has its columns checked when the
//! statement runs.

use super::Binder;
use super::coerce::element_of;
use crate::expr::{CallSyntax, Expr, TypeRef};
use std::borrow::Cow;
use std::sync::Arc;
use steppe_catalog::builtin::CastContext;
use steppe_catalog::{Catalog, is_row_type};
use steppe_types::array_io::parse_record;
use steppe_types::io::{IoContext, TypeCatalog};
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid};

impl Binder<'_> {
    /// A row, or an array of rows, as one of another row type.
    pub(super) fn coerce_row(
        &mut self,
        expr: Expr,
        to: Oid,
        context: CastContext,
        syntax: CallSyntax,
    ) -> Result<Option<Expr>> {
        match expr {
            expr if matches!(to, oid::RECORD | oid::RECORD_ARRAY) => Ok(Some(expr)),
            Expr::Row(fields, oid::RECORD) => {
                self.record_to_row(fields, to, context, syntax).map(Some)
            }
            expr if self.inherits(expr.ty().oid, to) => {
                Err(Error::not_supported("conversion of a row to a parent's row type"))
            }
            _ => Ok(None),
        }
    }

    /// `ROW(…)` as a row of a relation's type (coerce_record_to_complex).
    fn record_to_row(
        &mut self,
        fields: Vec<Expr>,
        to: Oid,
        context: CastContext,
        syntax: CallSyntax,
    ) -> Result<Expr> {
        let columns = self.ctx.catalog.row_columns(to).unwrap_or_default();
        let refused = |binder: &Self, detail: String| {
            let message = format!("cannot cast type record to {}", binder.format_type(to, -1));
            Error::new(SqlState::CANNOT_COERCE, message).detail(detail)
        };
        let mut fields = fields;
        if self.reads_view() {
            // A view's text: the table has been given columns since.
            let added = columns.iter().skip(fields.len());
            fields.extend(added.map(|column| Expr::Const(Datum::Null, TypeRef::plain(column.0))));
        }
        if fields.len() != columns.len() {
            let few = if fields.len() < columns.len() { "few" } else { "many" };
            return Err(refused(self, format!("Input has too {few} columns.")));
        }
        let mut row = Vec::with_capacity(fields.len());
        for (i, (field, (type_oid, typmod))) in fields.into_iter().zip(columns).enumerate() {
            let from = field.ty().oid;
            let target = TypeRef { oid: type_oid, typmod };
            row.push(self.coerce(field, target, context, syntax)?.ok_or_else(|| {
                let [from, to] = [from, type_oid].map(|ty| self.format_type(ty, -1));
                refused(self, format!("Cannot cast type {from} to {to} in column {}.", i + 1))
            })?);
        }
        Ok(Expr::Row(row, to))
    }

    /// Whether a row type's relation is another's descendant (typeInheritsFrom).
    fn inherits(&self, child: Oid, parent: Oid) -> bool {
        let catalog = self.ctx.catalog;
        let of = |ty| catalog.relation_of_row_type(ty);
        let (Some(child), Some(parent)) = (of(child), of(parent)) else { return false };
        catalog.descendants(parent).iter().any(|relation| relation.oid == child.oid)
    }

    /// Whether a view's text is being bound.
    fn reads_view(&self) -> bool {
        !self.around.is_empty() || self.ctx.io.catalog.is_none()
    }

    /// The context for reading a literal of a type, or of an array over it. A row in a view's text
    /// may have more columns now than were written.
    pub(super) fn io_for(&self, base: Oid) -> Cow<'_, IoContext> {
        if !is_row_type(base) || !self.reads_view() {
            return Cow::Borrowed(self.ctx.io);
        }
        let names = self.ctx.io.catalog.clone();
        let catalog: Arc<dyn TypeCatalog> =
            Arc::new(RowTypes { catalog: self.ctx.catalog.clone(), names });
        Cow::Owned(IoContext { catalog: Some(catalog), ..self.ctx.io.clone() })
    }
}

/// Reads a value of a row type. `None` if it is no row type of the catalog.
pub fn read_row(
    catalog: &Catalog,
    type_oid: Oid,
    text: &str,
    context: &IoContext,
) -> Option<Result<Datum>> {
    let columns = catalog.row_columns(type_oid)?;
    Some(parse_record(&columns, text, context))
}

/// The element type of an array type over a row type.
pub fn row_element(array: Oid) -> Option<Oid> {
    element_of(array).filter(|element| is_row_type(*element))
}

/// The row types as a view's text names their values, and the session's names behind them.
struct RowTypes {
    catalog: Catalog,
    names: Option<Arc<dyn TypeCatalog>>,
}

impl RowTypes {
    fn names(&self) -> Result<&Arc<dyn TypeCatalog>> {
        self.names.as_ref().ok_or_else(|| Error::not_supported("names of objects in a stored row"))
    }
}

impl TypeCatalog for RowTypes {
    fn reg_input(&self, type_oid: Oid, text: &str) -> Result<Oid> {
        self.names()?.reg_input(type_oid, text)
    }

    fn reg_output(&self, type_oid: Oid, value: Oid, out: &mut Vec<u8>) -> bool {
        self.names.as_ref().is_some_and(|names| names.reg_output(type_oid, value, out))
    }

    fn role(&self, name: &str) -> Result<Oid> {
        self.names()?.role(name)
    }

    fn role_name(&self, role: Oid) -> Option<String> {
        self.names.as_ref()?.role_name(role)
    }

    fn element_type(&self, array: Oid) -> Option<Oid> {
        row_element(array)
    }

    fn input(
        &self,
        type_oid: Oid,
        _: i32,
        text: &str,
        context: &IoContext,
    ) -> Option<Result<Datum>> {
        let columns = self.catalog.row_columns(type_oid)?;
        let whole = parse_record(&columns, text, context);
        // The table may have been given columns since the view was made.
        let written = (0..columns.len()).rev();
        let mut shorter =
            written.filter_map(|count| parse_record(&columns[..count], text, context).ok());
        Some(match whole {
            Ok(row) => Ok(row),
            Err(error) => match shorter.next() {
                Some(Datum::Record(row)) => {
                    let added = std::iter::repeat_n(Datum::Null, columns.len() - row.len());
                    Ok(Datum::Record(row.iter().cloned().chain(added).collect()))
                }
                _ => Err(error),
            },
        })
    }
}
