//! Stored tables, for code that scans, fills and rewrites them: DDL, VACUUM, ANALYZE.
//!
//! A table and its indexes are opened here as the executor's nodes open them. Expressions of the
//! catalog (checks, keys, defaults, values of generated columns) are compiled once, and evaluated
//! over each row.

pub use crate::access::{IndexAccess, TableAccess};
pub use crate::change::{
    JoinContext, ReferencedKeys, TableWriter, converts, lacks_key, missing_key, mixed_nulls,
    shown_key,
};
pub use crate::partition::ColumnMap;

use crate::context::ExecContext;
use crate::expr::{CExpr, Compiler, Row};
use std::sync::Arc;
use steppe_catalog::{Catalog, Relation};
use steppe_functions::FnContext;
use steppe_spill::TempSpace;
use steppe_sql::bind::over_row;
use steppe_sql::expr::Expr;
use steppe_sql::plan::PlannedStmt;
use steppe_txn::Engine;
use steppe_types::{Datum, Result};

/// Opens an index of a table, with the compiled expressions and predicate.
pub fn open_index(
    engine: &Engine,
    table: &Arc<Relation>,
    index: &Arc<Relation>,
    catalog: &Arc<Catalog>,
) -> Result<IndexAccess> {
    let stmt = PlannedStmt::nothing();
    let mut compiler = Compiler::new(&stmt, FnContext::pure(catalog.clone()));
    IndexAccess::open(engine, table, index, &mut compiler)
}

/// Evaluates expressions over a table's rows.
pub struct RowEvaluator {
    exprs: Box<[CExpr]>,
    context: ExecContext,
    out: Vec<Datum>,
    /// Whether users' functions are called, which may run statements.
    calls_routines: bool,
}

impl RowEvaluator {
    /// Compiles expressions bound over one table. `functions` is the session's state that their
    /// functions see.
    pub fn new(
        exprs: &[Expr],
        catalog: Arc<Catalog>,
        functions: FnContext,
    ) -> Result<RowEvaluator> {
        let stmt = PlannedStmt::nothing();
        let slots = exprs.iter().cloned().map(over_row).collect::<Result<Vec<_>>>()?;
        let exprs = Compiler::new(&stmt, FnContext::pure(catalog)).list(&slots)?;
        let calls_routines = slots.iter().any(crate::access::calls_routine);
        let (context, out) = (ExecContext::for_folding(functions), Vec::new());
        Ok(RowEvaluator { exprs, context, out, calls_routines })
    }

    /// Functions may keep rows in temporary files.
    pub fn with_temp(mut self, temp: Arc<TempSpace>) -> RowEvaluator {
        self.context = self.context.with_temp_space(temp);
        self
    }

    /// The expressions' values for a row.
    pub fn evaluate(&mut self, row: &[Datum]) -> Result<&[Datum]> {
        self.out.clear();
        let RowEvaluator { exprs, context, out, calls_routines } = self;
        let mut evaluate = |context: &mut ExecContext| -> Result<()> {
            for expr in exprs.iter() {
                out.push(expr.eval(context, Row::of(row))?);
            }
            Ok(())
        };
        match *calls_routines {
            true => crate::routine::borrowing(context, evaluate)?,
            false => evaluate(context)?,
        }
        Ok(&self.out)
    }
}
