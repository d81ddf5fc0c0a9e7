//! Ordered-set and hypothetical-set aggregates: `f(direct …) WITHIN GROUP (ORDER BY …)`
//! (ParseFuncOrColumn and unify_hypothetical_args in parse_func.c).
//!
//! The function is found by all of its arguments, the direct ones first. The bound call
//! keeps the direct ones as its arguments; the others are its sort keys.

use super::coerce::common_type;
use super::{Binder, ExprPlace};
use crate::ast::{self, Location};
use crate::expr::{Expr, TypeRef};
use steppe_catalog::objects::{AggregateKind, Function};
use steppe_types::{Error, Oid, Result, SqlState};

impl Binder<'_> {
    /// A call with WITHIN GROUP.
    pub(super) fn ordered_set(
        &mut self,
        call: &ast::FuncCall,
        place: ExprPlace,
        location: Location,
    ) -> Result<Expr> {
        let name = &call.name;
        let mut args = Vec::with_capacity(call.args.len() + call.order_by.len());
        for arg in &call.args {
            args.push(self.expr(&arg.value, place)?);
        }
        for item in &call.order_by {
            args.push(self.expr(&item.expr, ExprPlace::OrderBy)?);
        }
        let types: Vec<Oid> = args.iter().map(|arg| arg.ty().oid).collect();
        let mut names: Vec<Option<String>> = call.args.iter().map(|a| a.name.clone()).collect();
        names.resize(args.len(), None);
        let (proc, args, ty) = self.function(name, args, &names, call.variadic, location)?;
        let wrong_kind =
            |message: String| self.error(SqlState::WRONG_OBJECT_TYPE, message, location);
        let Some(info) = proc.aggregate() else {
            let name = name.name();
            let message =
                format!("WITHIN GROUP specified, but {name} is not an aggregate function");
            return Err(wrong_kind(message));
        };
        if info.kind == AggregateKind::Normal {
            return Err(wrong_kind(format!(
                "{} is not an ordered-set aggregate, so it cannot have WITHIN GROUP",
                name.name()
            )));
        }
        let is_hypothetical = info.kind == AggregateKind::HypotheticalSet;
        if let Some(hint) = self.direct_argument_hint(call, &proc, info.direct_args) {
            let signature = format!("{name}({})", self.format_signature(&types));
            let message = format!("function {signature} does not exist");
            return Err(self.error(SqlState::UNDEFINED_FUNCTION, message, location).hint(hint));
        }
        let (direct, sorted) = split(args, call.args.len());
        let (direct, sorted) = match is_hypothetical {
            true => self.unify(call, direct, sorted)?,
            false => (direct, sorted),
        };
        let keys = call.order_by.iter().zip(sorted);
        let keys = keys.map(|(item, expr)| super::group::sort_key(item, expr)).collect();
        self.aggregate(call, proc, (direct, keys), ty, place, location)
    }

    /// The hint for a wrong number of direct arguments.
    fn direct_argument_hint(
        &self,
        call: &ast::FuncCall,
        proc: &Function,
        wanted: usize,
    ) -> Option<String> {
        let (name, direct, sorted) = (&call.name, call.args.len(), call.order_by.len());
        if proc.variadic != 0 {
            return (direct != sorted).then(|| {
                format!(
                    "To use the hypothetical-set aggregate {name}, the number of hypothetical \
                     direct arguments (here {direct}) must match the number of ordering columns \
                     (here {sorted})."
                )
            });
        }
        let plural = if wanted == 1 { "" } else { "s" };
        (direct != wanted).then(|| {
            format!(
                "There is an ordered-set aggregate {name}, but it requires {wanted} direct \
                 argument{plural}, not {direct}."
            )
        })
    }

    /// A hypothetical value and the column it is compared with get one type.
    fn unify(
        &mut self,
        call: &ast::FuncCall,
        direct: Vec<Expr>,
        sorted: Vec<Expr>,
    ) -> Result<(Vec<Expr>, Vec<Expr>)> {
        let (mut values, mut columns) = (Vec::new(), Vec::new());
        let places = call.args.iter().map(|arg| arg.value.leftmost());
        for ((value, column), location) in direct.into_iter().zip(sorted).zip(places) {
            let (a, b) = (value.ty().oid, column.ty().oid);
            let Some(common) = common_type(self.ctx.catalog, &[b, a]) else {
                return Err(self.unmatched(b, a, location));
            };
            let ty = TypeRef::plain(common);
            values.push(self.coerce_implicit(value, ty)?);
            columns.push(self.coerce_implicit(column, ty)?);
        }
        Ok((values, columns))
    }

    fn unmatched(&self, column: Oid, value: Oid, location: Location) -> Error {
        let (column, value) = (self.format_type(column, -1), self.format_type(value, -1));
        let message = format!("WITHIN GROUP types {column} and {value} cannot be matched");
        self.error(SqlState::DATATYPE_MISMATCH, message, location)
    }
}

fn split(mut args: Vec<Expr>, at: usize) -> (Vec<Expr>, Vec<Expr>) {
    let sorted = args.split_off(at.min(args.len()));
    (args, sorted)
}
