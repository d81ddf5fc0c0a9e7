//! Expressions over columns.

use super::{ColumnBatch, Vector};
use crate::context::ExecContext;
use crate::expr::{CExpr, Compiler, Row};
use steppe_sql::expr::Expr;
use steppe_types::{Datum, Result};

/// A kernel met what it does not handle, or an error: the rows are to be evaluated one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GiveUp;

/// An expression that is evaluated for a whole batch.
#[derive(Debug)]
pub(crate) enum VExpr {
    /// A column.
    Slot(usize),
    /// The same for all rows: a constant or a parameter.
    Same(CExpr),
}

impl VExpr {
    /// Compiles an expression; `None`: it has to be evaluated row by row.
    pub(crate) fn compile(expr: &Expr, compiler: &mut Compiler<'_>) -> Result<Option<VExpr>> {
        Ok(match expr {
            Expr::Slot { index, .. } => Some(VExpr::Slot(*index)),
            Expr::Const(..) | Expr::Param { .. } | Expr::ExecParam { .. } => {
                Some(VExpr::Same(compiler.expr(expr)?))
            }
            _ => None,
        })
    }

    /// Compiles a list; `None` if one of it has to be evaluated row by row.
    pub(crate) fn compile_list(
        exprs: &[Expr],
        compiler: &mut Compiler<'_>,
    ) -> Result<Option<Box<[VExpr]>>> {
        exprs.iter().map(|expr| VExpr::compile(expr, compiler)).collect()
    }

    /// The values for all rows of a batch.
    pub(crate) fn eval(
        &self,
        cx: &mut ExecContext,
        batch: &ColumnBatch,
    ) -> Result<Vector, GiveUp> {
        match self {
            VExpr::Slot(index) => batch.columns.get(*index).cloned().ok_or(GiveUp),
            VExpr::Same(expr) => {
                let value = expr.eval(cx, Row::EMPTY).map_err(|_| GiveUp)?;
                Ok(Vector::repeat(&value, batch.len()))
            }
        }
    }

    /// The rows for which the condition holds.
    pub(crate) fn select(
        &self,
        cx: &mut ExecContext,
        batch: &ColumnBatch,
    ) -> Result<Vec<u32>, GiveUp> {
        let values = self.eval(cx, batch)?;
        let holds = |i: &u32| matches!(values.datum(*i as usize), Ok(Datum::Bool(true)));
        Ok((0..batch.len() as u32).filter(holds).collect())
    }
}
