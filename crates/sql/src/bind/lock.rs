//! FOR UPDATE and its kin (analyze.c's transformLockingClause).
//!
//! A clause reaches into sub-selects and views in FROM: the tables that they read
//! are locked there, where their rows are still rows of a table.

use super::Binder;
use crate::ast;
use crate::query::*;
use steppe_types::{Error, Result, SqlState};

impl Binder<'_> {
    /// The locking clauses of a SELECT.
    pub(crate) fn locking(&mut self, select: &ast::SelectStmt, query: &mut Query) -> Result<()> {
        for clause in &select.locking {
            let strength = match clause.strength {
                ast::LockStrength::KeyShare => LockStrength::KeyShare,
                ast::LockStrength::Share => LockStrength::Share,
                ast::LockStrength::NoKeyUpdate => LockStrength::NoKeyUpdate,
                ast::LockStrength::Update => LockStrength::Update,
            };
            check_lockable(query, strength)?;
            let wait = match clause.wait_policy {
                ast::LockWaitPolicy::Block => WaitPolicy::Block,
                ast::LockWaitPolicy::Skip => WaitPolicy::SkipLocked,
                ast::LockWaitPolicy::Error => WaitPolicy::NoWait,
            };
            let entries = match clause.of.is_empty() {
                true => query.entries_of_from(),
                false => self.named_entries(clause)?,
            };
            let rtes = &mut self.scope().rtes;
            lock_entries(query, rtes, &entries, RowLockClause::of(strength, wait), false)?;
        }
        Ok(())
    }

    /// The entries that `FOR UPDATE OF` names.
    fn named_entries(&mut self, clause: &ast::LockingClause) -> Result<Vec<usize>> {
        let strength = clause.strength.as_str();
        let items = self.scope().namespace.clone();
        let mut out = Vec::with_capacity(clause.of.len());
        for of in &clause.of {
            if of.schema.is_some() {
                let message = format!("{strength} must specify unqualified relation names");
                return Err(self.error(SqlState::SYNTAX_ERROR, message, of.location));
            }
            let scope = self.scope();
            let found = items
                .iter()
                .find(|i| i.relation_visible && *scope.rtes[i.rte].alias == *of.name.as_str());
            let Some(item) = found else {
                return Err(self.error(
                    SqlState::UNDEFINED_TABLE,
                    format!(
                        "relation \"{}\" in {strength} clause not found in FROM clause",
                        of.name
                    ),
                    of.location,
                ));
            };
            let refused = match &scope.rtes[item.rte].kind {
                RteKind::Relation(_) | RteKind::Subquery { .. } => None,
                RteKind::Function { .. } => Some("a function"),
                RteKind::Values(_) => Some("VALUES"),
                RteKind::Cte { .. } => Some("a WITH query"),
                RteKind::Join { .. } => Some("a join"),
            };
            if let Some(what) = refused {
                return Err(self.error(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("{strength} cannot be applied to {what}"),
                    of.location,
                ));
            }
            out.push(item.rte);
        }
        Ok(out)
    }
}

impl RowLockClause {
    fn of(strength: LockStrength, wait: WaitPolicy) -> RowLockClause {
        RowLockClause { rtes: Vec::new(), strength, wait, pushed_down: false }
    }
}

/// Locks range-table entries of a query: tables here, the tables of sub-selects in them.
fn lock_entries(
    query: &mut Query,
    rtes: &mut [Rte],
    entries: &[usize],
    clause: RowLockClause,
    pushed_down: bool,
) -> Result<()> {
    let nullable: Vec<usize> = query.from.iter().flat_map(FromItem::nullable_entries).collect();
    let mut tables = Vec::new();
    for entry in entries {
        match &mut rtes[*entry].kind {
            RteKind::Relation(_) => tables.push(*entry),
            RteKind::Subquery { query, .. } => lock_subquery(query, &clause)?,
            _ => continue,
        }
        if nullable.contains(entry) {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!(
                    "{} cannot be applied to the nullable side of an outer join",
                    clause.strength.as_str()
                ),
            ));
        }
    }
    for table in tables {
        add_lock(query, table, &clause, pushed_down);
    }
    Ok(())
}

fn lock_subquery(query: &mut Query, clause: &RowLockClause) -> Result<()> {
    check_lockable(query, clause.strength)?;
    let entries = query.entries_of_from();
    let mut rtes = std::mem::take(&mut query.rtes);
    let locked = lock_entries(query, &mut rtes, &entries, clause.clone(), true);
    query.rtes = rtes;
    locked
}

/// One lock a table: the stronger strength and the less patient policy win.
fn add_lock(query: &mut Query, table: usize, clause: &RowLockClause, pushed_down: bool) {
    if let Some(held) = query.row_locks.iter_mut().find(|l| l.rtes.contains(&table)) {
        held.strength = held.strength.max(clause.strength);
        held.wait = held.wait.max(clause.wait);
        held.pushed_down &= pushed_down;
        return;
    }
    query.row_locks.push(RowLockClause { rtes: vec![table], pushed_down, ..clause.clone() });
}

/// 0A000 where the rows of a query are no rows of a table any more (CheckSelectLocking).
fn check_lockable(query: &Query, strength: LockStrength) -> Result<()> {
    let sets = query.targets.iter().any(|t| crate::planner::returns_set(&t.expr));
    let refused = [
        (query.set_operation.is_some(), "UNION/INTERSECT/EXCEPT"),
        (!matches!(query.distinct, Distinct::No), "DISTINCT clause"),
        (!query.group_by.is_empty(), "GROUP BY clause"),
        (query.having.is_some(), "HAVING clause"),
        (query.has_aggregates, "aggregate functions"),
        (!query.windows.is_empty(), "window functions"),
        (sets, "set-returning functions in the target list"),
    ];
    match refused.iter().find(|(bad, _)| *bad) {
        Some((_, what)) => Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("{} is not allowed with {what}", strength.as_str()),
        )),
        None => Ok(()),
    }
}
