//! Expressions and predicates of indexes, bound from the text that the catalog keeps.
//!
//! The planner needs them to match conditions, the executor to compute keys, DDL to find the
//! columns that they read.

use super::{ExprPlace, stored_expr};
use crate::expr::Expr;
use std::sync::Arc;
use steppe_catalog::{Catalog, FunctionRef, IndexInfo, Relation, builtin};
use steppe_types::{Oid, Result};

/// The expressions that an index computes from a table's row. Columns are `Var { rte: 0, .. }`.
#[derive(Debug, Default)]
pub struct IndexExprs {
    /// For each key its expression; `None` for a plain column.
    pub keys: Vec<Option<Expr>>,
    /// Only rows for which this is true are in the index.
    pub predicate: Option<Expr>,
}

impl IndexExprs {
    /// Binds the expressions that the index stores as text; empty for an index over plain columns.
    pub fn bind(catalog: &Catalog, table: &Arc<Relation>, info: &IndexInfo) -> Result<IndexExprs> {
        let bind = |text: &str, place: ExprPlace| stored_expr(catalog, table, text, place);
        let key = |text: &Option<Arc<str>>| match text {
            Some(text) => bind(text, ExprPlace::IndexExpression).map(Some),
            None => Ok(None),
        };
        let predicate = info.predicate.as_ref();
        Ok(IndexExprs {
            keys: info.keys.iter().map(|k| key(&k.expression)).collect::<Result<_>>()?,
            predicate: predicate.map(|t| bind(t, ExprPlace::IndexPredicate)).transpose()?,
        })
    }

    /// Attribute numbers of the columns that expressions and predicate read.
    pub fn columns(&self) -> Vec<i16> {
        let mut out = Vec::new();
        self.keys.iter().flatten().chain(&self.predicate).for_each(|e| collect(e, &mut out));
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// Attribute numbers of the columns that an expression over one table reads, in the order in
/// which it names them.
pub fn columns_of(expr: &Expr) -> Vec<i16> {
    let mut out = Vec::new();
    collect(expr, &mut out);
    out
}

fn collect(expr: &Expr, out: &mut Vec<i16>) {
    if let Expr::Var { column, .. } = expr
        && *column >= 0
    {
        let attnum = *column as i16 + 1;
        if !out.contains(&attnum) {
            out.push(attnum);
        }
    }
    expr.for_each_child(&mut |child| collect(child, out));
}

/// `text || anynonarray` and `anynonarray || text`.
const TEXTANYCAT: Oid = 2003;
const ANYTEXTCAT: Oid = 2004;

/// Whether an expression calls a function that is not immutable: an index may not be over it.
pub fn is_mutable(expr: &Expr) -> bool {
    let mutable = |func: &FunctionRef| !func.is_immutable();
    let mutable_by_oid = |func: Oid| FunctionRef::built_in(func).is_none_or(|f| mutable(&f));
    let ty = |expr: &Expr| builtin::ty(expr.ty().oid);
    let here = match expr {
        // What is written beside a text is as immutable as its text is.
        Expr::Func { func, args, .. } if [ANYTEXTCAT, TEXTANYCAT].contains(&func.oid) => {
            args.iter().any(|arg| ty(arg).is_none_or(|t| mutable_by_oid(t.output)))
        }
        Expr::Func { func, .. } => mutable(func),
        Expr::Distinct { eq, .. } | Expr::NullIf { eq, .. } => mutable(eq),
        Expr::ScalarArrayOp { func, .. } => mutable(func),
        Expr::RowCompare { lt, eq, .. } => lt.iter().chain(eq).any(mutable),
        Expr::CoerceViaIo { arg, ty, .. } => {
            let output = builtin::ty(arg.ty().oid).map_or(0, |t| t.output);
            let input = builtin::ty(ty.oid).map_or(0, |t| t.input);
            mutable_by_oid(output) || mutable_by_oid(input)
        }
        _ => false,
    };
    here || expr.any_child(is_mutable)
}
