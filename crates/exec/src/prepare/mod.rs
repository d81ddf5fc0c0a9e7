//! The front door to the executor: from a statement's text to a plan that can be run.
//!
//! ```text
//!   text ──parse_one──▶ Statement ──prepare──▶ PreparedPlan ──▶ point path, Execution
//!                                     │
//!                                     ├ bind      names, in the path of a catalog version
//!                                     ├ plan      sizes of tables, settings, examples of values
//!                                     └ compile   expressions, nodes
//! ```
//!
//! Every statement is planned here and in the same way, from the inputs in [`Planning`]: statements
//! of client messages, cursors, COPY and functions. Planning calls the session only to check for
//! interrupts. It takes no locks: the caller locks the plan's relations, and then checks that the
//! plan is still good ([`PreparedPlan::is_good_for`]).
//!
//! | file | subject |
//! |---|---|
//! | `plan` | a prepared plan: what is known of it, how long it is good |
//! | `sizes` | how large tables and indexes are, as the optimiser asks |
//! | `run` | a statement run to its end in place, as functions do |
//! | `variants` | the plans that values of parameters decide between |

mod plan;
mod run;
mod sizes;
mod variants;

pub use plan::{PlanningCost, PreparedPlan};
pub(crate) use run::{Kept, begin_in_place, has_row_at, run_keeping};
pub use run::{Snapshot, run_in_place};
pub use variants::{Found, Vacancy, Variants};

use crate::constants;
use crate::fold::fold_conditions;
use crate::statement::CompiledStmt;
use sizes::Sizes;
use std::sync::Arc;
use std::time::Instant;
use steppe_catalog::{Catalog, NameSpace};
use steppe_sql::ast::Statement;
use steppe_sql::bind::{self, BindContext, Params, Unbound};
use steppe_sql::expr::Expr;
use steppe_sql::parser::{self, ParsedStatement};
use steppe_sql::planner::{self, PlannerContext, PlannerSettings};
use steppe_storage::Usage;
use steppe_txn::Engine;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// The inputs of binding and planning a statement.
pub struct Planning<'a> {
    /// The catalog and the search path.
    pub names: &'a NameSpace,
    /// Settings that literals depend on.
    pub io: &'a Arc<IoContext>,
    /// The optimiser's settings.
    pub planner: &'a PlannerSettings,
    /// The catalog that the transaction's snapshot was taken under, if that is an older one.
    pub older: Option<&'a Catalog>,
    /// The engine with the tables.
    pub engine: &'a Engine,
    /// The check for interrupts, called now and then.
    pub interrupts: &'a dyn Fn() -> Result<()>,
    /// The rows must carry their positions, for a cursor.
    pub for_cursor: bool,
    /// Examples of the parameters' values, for estimates alone; empty if there are none.
    pub values: &'a [Datum],
}

/// The one statement of a text.
pub fn parse_one(text: &str) -> Result<ParsedStatement> {
    only(parser::parse(text)?)
}

/// The one statement of a text that has been parsed.
pub fn only(mut statements: Vec<ParsedStatement>) -> Result<ParsedStatement> {
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => Err(Error::new(
            SqlState::SYNTAX_ERROR,
            "cannot insert multiple commands into a prepared statement",
        )),
    }
}

/// Whether a statement has a plan.
pub fn is_plannable(statement: &Statement) -> bool {
    match statement {
        Statement::Select(select) => !select.has_into(),
        Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_) => true,
        _ => false,
    }
}

/// Binds, plans and compiles a statement. The types of parameters that are not declared are
/// inferred from the statement.
pub fn prepare(
    planning: &Planning<'_>,
    statement: &Arc<Statement>,
    source: &Arc<str>,
    declared: Params,
) -> Result<PreparedPlan, Unbound> {
    let compiled = compile(planning, statement, source, declared.clone())?;
    let of = Arc::clone(statement);
    Ok(PreparedPlan::new(of, Arc::clone(source), declared, compiled, &planning.names.catalog))
}

fn compile(
    planning: &Planning<'_>,
    statement: &Statement,
    source: &str,
    params: Params,
) -> Result<(CompiledStmt, PlanningCost), Unbound> {
    let Planning { names, io, planner: settings, older, engine, interrupts, .. } = *planning;
    let catalog = &names.catalog;
    let context = BindContext { catalog, search_path: &names.path, io, source };
    let mut bound = bind::bind_query(&context, statement, params)?;
    // Rows of nodes have no positions here.
    let is_here = |oid: &Oid| !catalog.relation(*oid).is_some_and(|table| table.is_distributed());
    if planning.for_cursor && bound.mentioned.iter().all(is_here) {
        bound.add_positions();
    }
    let (begun, used) = (Instant::now(), Usage::now());
    fold_conditions(&mut bound.query, catalog);
    let sizes = &Sizes::new(engine, catalog, io);
    let search_path = &names.path;
    let may_fail = &|expr: &Expr| constants::may_fail(expr, catalog);
    let values = planning.values;
    let context = PlannerContext {
        catalog,
        search_path,
        older,
        settings,
        sizes,
        io,
        interrupts,
        may_fail,
        values,
    };
    let planned = Arc::new(planner::plan(&context, bound)?);
    let compiled = CompiledStmt::compile(planned, catalog, engine)?;
    let nanos = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Ok((compiled, PlanningCost { nanos, usage: Usage::now() - used }))
}
