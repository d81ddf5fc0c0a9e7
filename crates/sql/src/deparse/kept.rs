//! Expressions that PostgreSQL's text would not be read back as. Where the catalog keeps the text, it
//! has a cast that does nothing, and the tree that is bound again has no trace of it:
//!
//! ```text
//!   ((a AND b) AND c)            ──▶  ((a AND b)::boolean AND c)              not one AND of three
//!   (ARRAY[x])::numeric[]        ──▶  (ARRAY[x]::integer[])::numeric[]        not x::numeric
//!   (ROW(1) = ROW(1, 2))         ──▶  (ROW(1)::record = ROW(1, 2)::record)    not one column with one
//! ```

use super::query::Printer;
use super::user_types::type_text;
use super::{operator_text, without_hidden_cast};
use crate::expr::{CallSyntax, Expr, TypeRef};
use steppe_types::oid;

impl Printer<'_> {
    /// The text of such an expression in the catalog. `None` for others.
    pub(super) fn kept_form(&self, expr: &Expr) -> Option<String> {
        if !self.style.kept {
            return None;
        }
        match expr {
            Expr::And(args) => self.nested(args, " AND "),
            Expr::Or(args) => self.nested(args, " OR "),
            Expr::Relabel { arg, ty, .. }
            | Expr::CoerceViaIo { arg, ty, .. }
            | Expr::ArrayCoerce { arg, ty, .. } => self.cast_of_array(arg, *ty),
            Expr::Func { args, syntax: CallSyntax::Operator(operator), .. } => match &args[..] {
                [left @ Expr::Row(_, oid::RECORD), right @ Expr::Row(_, oid::RECORD)] => {
                    let operator = operator_text(operator, self.style.io);
                    let (left, right) = (self.printed(left), self.printed(right));
                    Some(format!("({left}::record {operator} {right}::record)"))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// AND, or OR, whose first operand is another one.
    fn nested(&self, args: &[Expr], separator: &str) -> Option<String> {
        let (first, others) = args.split_first()?;
        let first = without_hidden_cast(first, self.style.io);
        if !matches!((first, separator), (Expr::And(_), " AND ") | (Expr::Or(_), " OR ")) {
            return None;
        }
        let first = format!("{}::boolean", self.printed(first));
        let others = others.iter().map(|other| self.printed(other));
        let operands: Vec<String> = std::iter::once(first).chain(others).collect();
        Some(format!("({})", operands.join(separator)))
    }

    /// A cast of ARRAY, whose type would be that of its elements.
    fn cast_of_array(&self, arg: &Expr, ty: TypeRef) -> Option<String> {
        let array = without_hidden_cast(arg, self.style.io);
        let Expr::Array { elements, ty: own, .. } = array else { return None };
        if elements.is_empty() {
            return None;
        }
        let (own, ty) = (type_text(*own, self.style.io), type_text(ty, self.style.io));
        Some(format!("({}::{own})::{ty}", self.printed(array)))
    }
}
