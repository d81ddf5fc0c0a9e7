//! Bulk loading: COPY's rows through an INSERT's target.
//!
//! The session plans `INSERT INTO t (a, b) VALUES ($1, $2)` with the columns that
//! COPY names; here its expressions (defaults of the other columns included) are
//! evaluated with each row as the parameters, and rows go to the table and, in
//! key order, to its indexes a batch at a time.

use crate::expr::{CExpr, Row};
use crate::modify::{Inserter, ModifyPlan};
use crate::node::CNode;
use crate::statement::{CompiledStmt, ExecEnv};
use std::sync::Arc;
use steppe_sql::query::Command;
use steppe_txn::Txn;
use steppe_types::{Datum, Error, Result};

/// Rows put in at a time.
const BATCH_ROWS: usize = 1024;

/// Inserts many rows through one compiled INSERT.
pub struct BulkInsert {
    stmt: Arc<CompiledStmt>,
    inserter: Inserter,
    pending: Vec<Vec<Datum>>,
}

impl BulkInsert {
    /// Over an `INSERT … VALUES` of one row without ON CONFLICT and RETURNING.
    pub fn new(stmt: &Arc<CompiledStmt>) -> Result<BulkInsert> {
        let bulk =
            BulkInsert { stmt: stmt.clone(), inserter: Inserter::default(), pending: Vec::new() };
        bulk.parts()?;
        Ok(bulk)
    }

    /// The target and the row's expressions.
    fn parts(&self) -> Result<(&ModifyPlan, &[CExpr])> {
        let other = || Error::internal("bulk insert over another kind of statement");
        let CNode::Modify(modify) = &self.stmt.root().kind else { return Err(other()) };
        if modify.command != Command::Insert || modify.on_conflict.is_some() || modify.returning {
            return Err(other());
        }
        let child = &modify.child;
        match (&child.kind, &child.project) {
            (CNode::Result(_), Some(project)) => Ok((modify, project)),
            (CNode::Values(lists), None) if lists.len() == 1 => Ok((modify, &lists[0])),
            _ => Err(other()),
        }
    }

    /// Adds a row: the parameters' values. Rows are stored when there are enough of them.
    pub fn push(&mut self, row: Vec<Datum>, env: &ExecEnv, txn: &mut Option<Txn>) -> Result<()> {
        self.pending.push(row);
        if self.pending.len() >= BATCH_ROWS {
            return self.flush(env, txn);
        }
        Ok(())
    }

    /// Stores the rows that are still held.
    pub fn flush(&mut self, env: &ExecEnv, txn: &mut Option<Txn>) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let mut cx = self.stmt.context(Arc::new([]), env, txn)?;
        let pending = std::mem::take(&mut self.pending);
        let mut inserter = std::mem::take(&mut self.inserter);
        let result = self.parts().and_then(|(modify, exprs)| {
            cx.check_interrupts()?;
            let mut rows = Vec::with_capacity(pending.len());
            for values in pending {
                rows.push(full_row(exprs, values, &mut cx)?);
            }
            let slices: Vec<&[Datum]> = rows.iter().map(|r| &r[..]).collect();
            inserter.insert(&modify.target, &slices, &mut cx)
        });
        self.inserter = inserter;
        *txn = cx.take_txn().map(|t| t.txn);
        result
    }
}

/// All columns of a row from the values of those that were given.
fn full_row(
    exprs: &[CExpr],
    mut values: Vec<Datum>,
    cx: &mut crate::context::ExecContext,
) -> Result<Vec<Datum>> {
    // The usual case: a column is just one of the values, used once.
    if exprs.iter().all(|e| matches!(e, CExpr::Param(_) | CExpr::Const(_))) {
        return exprs
            .iter()
            .map(|e| match e {
                CExpr::Param(i) => values
                    .get_mut(*i)
                    .map(std::mem::take)
                    .ok_or_else(|| Error::internal("bulk row is too short")),
                other => other.eval(cx, Row::EMPTY),
            })
            .collect();
    }
    cx.set_params(values.into());
    exprs.iter().map(|e| e.eval(cx, Row::EMPTY)).collect()
}
