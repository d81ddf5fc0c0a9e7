//! Rows with the names of their types, which only the catalog has: `ROW(1, 2)::t`, `NULL::t`.

use super::query::Printer;
use super::simple_quote_literal;
use crate::expr::Expr;
use std::sync::Arc;
use steppe_catalog::{Relation, builtin, is_row_type};
use steppe_types::{Datum, Oid, text_io};

impl Printer<'_> {
    /// A row, or an array of rows, that has its type from a cast.
    pub(super) fn typed_row(&self, expr: &Expr) -> Option<String> {
        let ty = expr.ty().oid;
        let array = builtin::ty(ty).filter(|ty| ty.is_true_array());
        let relation = self.relation_of_row_type(array.map_or(ty, |array| array.element))?;
        let text = match expr {
            Expr::Row(fields, _) => {
                let fields: Vec<String> = fields.iter().map(|field| self.arg(field)).collect();
                format!("ROW({})", fields.join(", "))
            }
            Expr::Const(Datum::Null, _) => "NULL".to_owned(),
            Expr::Const(value, _) => {
                simple_quote_literal(&text_io::output_string(ty, value, self.style.io).ok()?)
            }
            Expr::Relabel { arg, .. } | Expr::CoerceViaIo { arg, .. } => {
                format!("({})", self.printed(arg))
            }
            _ => return None,
        };
        self.note(relation.oid, 0);
        // A value depends on each column.
        if matches!(expr, Expr::Row(..) | Expr::Const(Datum::Record(_) | Datum::Array(_), _)) {
            let live = (1..).zip(&relation.columns).filter(|(_, column)| !column.dropped);
            live.for_each(|(attnum, _)| self.note(relation.oid, attnum));
        }
        let brackets = if array.is_some() { "[]" } else { "" };
        Some(format!("{text}::{}{brackets}", (self.style.relation_name)(&relation)))
    }

    /// The relation whose row type this is.
    pub(super) fn relation_of_row_type(&self, ty: Oid) -> Option<Arc<Relation>> {
        let ty = builtin::ty(ty).filter(|ty| is_row_type(ty.oid))?;
        (self.style.relation)(ty.relation)
    }
}
