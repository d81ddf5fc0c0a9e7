//! Views with INSTEAD OF triggers as targets of INSERT, UPDATE and DELETE (rewriteTargetView's
//! exception in rewriteHandler.c).
//!
//! The statement's target is the view itself. The target's entry in the range table stands for the
//! rows that the triggers return, which RETURNING sees. UPDATE and DELETE read the view by another
//! entry. Its rows are the old rows, which the query returns for the triggers.

use super::Binder;
use super::view::{TARGET, ViewAction, moved_to};
use crate::ast::RangeVar;
use crate::query::*;
use std::sync::Arc;
use steppe_catalog::Relation;
use steppe_catalog::trigger::{Trigger, TriggerTiming};
use steppe_types::Result;

/// Whether a view has an INSTEAD OF trigger for an action, enabled or not (view_has_instead_trigger).
pub(super) fn has_instead_of(view: &Relation, action: ViewAction) -> bool {
    let is_for = |trigger: &Trigger| match action {
        ViewAction::Insert => trigger.events.insert,
        ViewAction::Update => trigger.events.update,
        ViewAction::Delete => trigger.events.delete,
    };
    view.triggers.iter().any(|t| t.timing == TriggerTiming::InsteadOf && is_for(t))
}

impl Binder<'_> {
    /// Makes a view with an INSTEAD OF trigger the target. UPDATE and DELETE also read it.
    pub(super) fn instead_of_target(
        &mut self,
        view: &Arc<Relation>,
        range_var: &RangeVar,
        action: ViewAction,
        query: &mut Query,
    ) -> Result<()> {
        let target = self.add_relation_rte(view.clone(), range_var.alias.as_ref(), false)?;
        debug_assert_eq!(target, TARGET);
        query.result_relation = Some(target);
        if action != ViewAction::Insert {
            let rows = self.view(view, range_var)?;
            query.targets = self.all_columns_of(view, rows);
            self.scope().instead_rows = Some(rows);
        }
        Ok(())
    }

    /// Makes a SET of an array's part change the array in the row that is read.
    pub(super) fn assign_over_rows_read(&mut self, query: &mut Query) {
        let Some(rows) = self.scope().instead_rows else { return };
        for (_, value) in &mut query.assignments {
            let whole = std::mem::replace(value, crate::expr::Expr::Default(value.ty()));
            *value = moved_to(whole, rows);
        }
    }

    /// From now on the view's name means the rows that the triggers return.
    pub(super) fn show_returned_rows(&mut self, query: &Query) {
        let scope = self.scope();
        let (Some(rows), Some(target)) = (scope.instead_rows, query.result_relation) else {
            return;
        };
        for item in scope.namespace.iter_mut().filter(|item| item.rte == rows) {
            item.rte = target;
        }
    }
}
