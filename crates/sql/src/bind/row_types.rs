//! Coercions between rows, and rows from text (parse_coerce.c, rowtypes.c).
//!
//! A row of a relation's type is a record as it is. A record becomes such a row column by column.
//! That surely works only where it is written `ROW(…)`: any other has its columns checked when the
//! statement runs.

use super::coerce::element_of;
use super::expr::is_kept_by_relation;
use super::{Binder, ExprPlace};
use crate::deparse::unnamed::check_named;
use crate::expr::{CallSyntax, Expr, TypeRef};
use std::borrow::Cow;
use std::sync::Arc;
use steppe_catalog::builtin::CastContext;
use steppe_catalog::type_spelling::is_spelled;
use steppe_catalog::{Catalog, is_row_type};
use steppe_types::array_io::parse_record;
use steppe_types::io::{IoContext, TypeCatalog};
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid, text_io};

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
            Expr::Row(fields, from) if self.inherits(from, to) => {
                self.row_of_parent(fields, from, to).map(Some)
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
        let columns = self.ctx.catalog.row_declared(to).unwrap_or_default();
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
            row.push(self.coerce(field, target, context, syntax.clone())?.ok_or_else(|| {
                let [from, to] = [from, type_oid].map(|ty| self.format_type(ty, -1));
                refused(self, format!("Cannot cast type {from} to {to} in column {}.", i + 1))
            })?);
        }
        Ok(Expr::Row(row, to))
    }

    /// A row with the columns that the parent has, by their names (ConvertRowtypeExpr).
    fn row_of_parent(&self, fields: Vec<Expr>, from: Oid, to: Oid) -> Result<Expr> {
        let names = |ty: Oid| self.ctx.catalog.row_names(ty).unwrap_or_default();
        let (own, wanted) = (names(from), names(to));
        let column = |name: &Arc<str>| {
            let at = own.iter().position(|own| own == name)?;
            fields.get(at).cloned()
        };
        let row: Option<Vec<Expr>> = wanted.iter().map(column).collect();
        let row = row.ok_or_else(|| Error::internal("a child without its parent's column"))?;
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
    pub(super) fn reads_view(&self) -> bool {
        !self.around.is_empty() || self.ctx.io.catalog.is_none()
    }

    /// The context for reading a literal of a type, or of an array over it. A row in a view's text
    /// may have more columns now than were written.
    pub(super) fn io_for(&self, base: Oid) -> Cow<'_, IoContext> {
        if !is_own(base) || !self.reads_view() {
            return Cow::Borrowed(self.ctx.io);
        }
        let names = self.ctx.io.catalog.clone();
        let catalog: Arc<dyn TypeCatalog> =
            Arc::new(RowTypes { catalog: self.ctx.catalog.clone(), names });
        Cow::Owned(IoContext { catalog: Some(catalog), ..self.ctx.io.clone() })
    }
}

/// 0A000 for an expression that is kept as text, which would not say all of it.
pub(super) fn check_kept(expr: &Expr, place: ExprPlace) -> Result<()> {
    check_named(expr)?;
    if is_kept_by_relation(place) { check_rows(expr) } else { Ok(()) }
}

/// 0A000 for a row of a declared type in an expression that a table keeps. Such a text can name columns,
/// but no fields of rows.
fn check_rows(expr: &Expr) -> Result<()> {
    let is_row = |ty: Oid| is_row_type(ty) || element_of(ty).is_some_and(is_row_type);
    let is_named = match expr {
        Expr::Row(fields, _) if is_whole_row(fields) => false,
        Expr::Const(..)
        | Expr::Row(..)
        | Expr::Relabel { .. }
        | Expr::CoerceViaIo { .. }
        | Expr::ArrayCoerce { .. }
        | Expr::Array { .. } => is_row(expr.ty().oid),
        Expr::Field { arg, .. } => is_row(arg.ty().oid),
        _ => false,
    };
    if is_named {
        return Err(Error::not_supported("row types in expressions of tables"));
    }
    expr.try_for_each_child(&mut check_rows)
}

/// Whether these are the columns of one relation, in order. Then they are its row, whose type needs
/// no name. A cast to a row type needs one, and is refused where it is written.
fn is_whole_row(fields: &[Expr]) -> bool {
    let of = |field: &Expr| match field {
        Expr::Var { rte, column, levels_up, .. } => Some((*rte, *levels_up, *column)),
        _ => None,
    };
    let Some((rte, levels_up, _)) = fields.first().and_then(of) else { return false };
    let mut columns = (0..).zip(fields);
    columns.all(|(column, field)| of(field) == Some((rte, levels_up, column)))
}

/// Reads a value of a row type. `None` if it is no row type of the catalog.
pub fn read_row(
    catalog: &Catalog,
    type_oid: Oid,
    text: &str,
    context: &IoContext,
) -> Option<Result<Datum>> {
    let columns = catalog.row_columns(type_oid)?;
    let mut declared = catalog.row_declared(type_oid).into_iter().flatten();
    if declared.any(|(ty, _)| catalog.is_constrained(ty)) {
        let what = "reading a row with columns of a domain that has conditions";
        return Some(Err(Error::not_supported(what)));
    }
    Some(parse_record(&columns, text, context))
}

/// Reads a value of the type below a domain, whose conditions the caller checks. `None` if the type is
/// no domain of the catalog, nor an array over one.
pub fn read_of_domain(
    catalog: &Catalog,
    type_oid: Oid,
    text: &str,
    context: &IoContext,
) -> Option<Result<Datum>> {
    let held = catalog.held_type(type_oid);
    (held.oid != type_oid).then(|| text_io::input(held.oid, held.modifier, text, context))
}

/// Reads a value of an enum: 22P02 if there is no such label. `None` if the type is no enum of the
/// catalog.
pub fn read_label(
    catalog: &Catalog,
    type_oid: Oid,
    text: &str,
    path: &[Oid],
) -> Option<Result<Datum>> {
    let labels = catalog.enum_labels(type_oid)?;
    let name = || catalog.shown_type_name(type_oid, path);
    Some(match labels.named(text) {
        Some(label) => label.check_safe(&name()).map(|()| Datum::Enum(type_oid, label.order)),
        None => {
            let message = format!("invalid input value for enum {}: \"{text}\"", name());
            Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message))
        }
    })
}

/// Whether a type is a row type, or an enum, or a domain, or an array type over one: only a catalog
/// knows how values look.
pub fn is_own(type_oid: Oid) -> bool {
    is_row_type(type_oid)
        || is_spelled(type_oid)
        || element_of(type_oid).is_some_and(|element| is_row_type(element) || is_spelled(element))
}

/// The element type of an array type over a row type, an enum or a domain.
pub fn own_element(array: Oid) -> Option<Oid> {
    element_of(array).filter(|element| is_own(*element))
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
        own_element(array)
    }

    fn enum_label(&self, type_oid: Oid, order: f64) -> Option<Arc<str>> {
        self.catalog.enum_labels(type_oid)?.at(order).map(|label| label.name.clone())
    }

    fn input(
        &self,
        type_oid: Oid,
        _: i32,
        text: &str,
        context: &IoContext,
    ) -> Option<Result<Datum>> {
        if let Some(label) = read_label(&self.catalog, type_oid, text, &[]) {
            return Some(label);
        }
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
