//! Which nodes hand up columns, and their expressions over them.

use super::{CNode, ColumnPlan, PlanCompiler};
use crate::vector::VExpr;
use steppe_sql::expr::Expr;
use steppe_sql::plan::Plan;
use steppe_types::Result;

impl PlanCompiler<'_, '_> {
    /// How a node hands up columns; `None`: it handles rows.
    pub(super) fn column_plan(&mut self, kind: &CNode, plan: &Plan) -> Result<Option<ColumnPlan>> {
        if !makes_columns(kind) {
            return Ok(None);
        }
        let conjuncts: &[Expr] = match &plan.filter {
            None => &[],
            Some(Expr::And(conjuncts)) => conjuncts,
            Some(condition) => std::slice::from_ref(condition),
        };
        let Some(filter) = VExpr::compile_list(conjuncts, self.exprs)? else { return Ok(None) };
        let project = match &plan.project {
            None => None,
            Some(project) => match VExpr::compile_list(project, self.exprs)? {
                None => return Ok(None),
                project => project,
            },
        };
        Ok(Some(ColumnPlan { filter, project }))
    }
}

/// Whether a node of this kind can hand up columns.
fn makes_columns(kind: &CNode) -> bool {
    match kind {
        _ => false,
    }
}
