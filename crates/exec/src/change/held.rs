//! INSERT of one row by functions of AFTER ROW triggers, in batches.
//!
//! In general an INSERT of a function is a statement of its own (spi.c): it takes a snapshot, goes
//! down to the table's last leaf and writes a record of the log. An audit trigger makes one for each
//! row of the statement. Here such a row is *held*: it is computed, checked and encoded at once, and
//! stored later, together with those of the next calls.
//!
//! It is invisible to the function, the client and other sessions, for these reasons:
//!
//! * Held rows are stored before the first step that could look at the table, or leave a trace that
//!   others see. Such steps are other statements, savepoints and returns to one, messages, and calls
//!   of functions that do more than compute. All of them say so first ([`ExecContext::be_heard`]),
//!   because the triggers before a row rely on the same thing ([`super::quiet`]).
//! * Storing a held row can fail for no reason of the row's. The table has neither triggers, keys,
//!   CHECK constraints nor unique indexes, and the others' keys are columns of types whose keys are made
//!   of any value. The call that holds the row checks NOT NULL and the row's length, so that their
//!   errors have its context.
//! * A sequence is drawn from by the call that holds the row, so the values and their order are the
//!   same, and so is what currval tells. Others see the sequence move, but no row of the transaction.
//! * The row belongs to the command that it would have been stored by. That number shows in cmin, and
//!   decides which commands of the transaction see the row ([`steppe_txn::Txn::number_command`]).
//! * The rows of a table are stored in the order of their inserts.
//! * The table is locked before the first row is held, as for any statement, and the plan was found
//!   good. If the session's frame changes (a setting, the catalog), both are done again.
//!
//! Rows of SERIALIZABLE transactions are stored at once, because conflicts must show at once. The same
//! holds for statements that something watches, which is told of each.
//!
//! PostgreSQL's nearest relative is CopyMultiInsertBuffer (copyfrom.c).

use super::{Inserter, ModifyPlan, check_row};
use crate::context::ExecContext;
use crate::node::CNode;
use crate::point::{PointPlan, values_of};
use crate::prepare::PreparedPlan;
use crate::statement::ExecEnv;
use std::sync::Arc;
use steppe_catalog::Function;
use steppe_sql::expr::Expr;
use steppe_sql::plan::{PlanNode, PlannedStmt};
use steppe_txn::{IsolationLevel, NewRows};
use steppe_types::{Datum, Error, Result, oid};

/// The most rows of one statement that are held, and about the most bytes.
const ROWS_MAX: usize = 1024;
const BYTES_MAX: usize = 256 << 10;

/// The most statements whose rows are held at a time.
const INSERTS_MAX: usize = 4;

/// The functions of the program whose results depend on their arguments, the session's settings, the
/// clock and a sequence only, besides the IMMUTABLE ones.
const CALM: [&str; 37] = [
    "age",
    "array_to_json",
    "array_to_string",
    "clock_timestamp",
    "concat",
    "concat_ws",
    "current_database",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_user",
    "date",
    "date_part",
    "date_trunc",
    "extract",
    "format",
    "gen_random_uuid",
    "json_build_array",
    "json_build_object",
    "jsonb_build_array",
    "jsonb_build_object",
    "localtime",
    "localtimestamp",
    "nextval",
    "now",
    "row_to_json",
    "session_user",
    "statement_timestamp",
    "text",
    "time",
    "timestamp",
    "timestamptz",
    "to_char",
    "to_json",
    "to_jsonb",
    "transaction_timestamp",
    "uuidv7",
];

/// The inserts whose rows are held.
#[derive(Default)]
pub(crate) struct HeldInserts {
    inserts: Vec<HeldInsert>,
}

/// An INSERT of a function, and those of its rows that are held.
struct HeldInsert {
    plan: Arc<PreparedPlan>,
    /// The version of the session's frame for which the plan is good and its table is locked.
    version: u64,
    /// The context in which the values are computed, which has no transaction.
    context: ExecContext,
    rows: NewRows,
    inserter: Inserter,
    /// Buffers for the values of the plan's parameters, and for a row.
    values: Vec<Datum>,
    row: Vec<Datum>,
}

/// Appends the values of a plan's parameters.
type Fill<'a> = &'a mut dyn FnMut(&mut Vec<Datum>);

impl HeldInsert {
    fn modify(plan: &PreparedPlan) -> Result<&ModifyPlan> {
        match &plan.compiled.root().kind {
            CNode::Modify(modify) => Ok(modify),
            _ => Err(Error::internal("a held row is of no INSERT")),
        }
    }

    /// Computes, checks and encodes a row.
    fn push(&mut self, fill: Fill<'_>, cx: &mut ExecContext) -> Result<()> {
        let HeldInsert { plan, context, rows, values, row, .. } = self;
        values.clear();
        fill(values);
        plan.compiled.check_constants(Some(values), &context.functions.catalog)?;
        context.put_params(values);
        let modify = HeldInsert::modify(plan)?;
        let exprs = values_of(modify).ok_or_else(|| Error::internal("a held row has no values"))?;
        row.clear();
        for expr in exprs {
            row.push(expr.eval(context, crate::expr::Row::EMPTY)?);
        }
        // The function's variables are the only owners of their values again.
        context.drop_params();
        check_row(&modify.target, row, context)?;
        let txn = &mut cx.txn()?.txn;
        let command = txn.number_command()?;
        rows.push_of(command, |out| modify.target.table.append_row(txn, row, &[], out))
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= ROWS_MAX || self.rows.bytes() >= BYTES_MAX
    }

    fn store(&mut self, cx: &mut ExecContext) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let modify = HeldInsert::modify(&self.plan)?;
        let stored = self.inserter.insert_encoded(&modify.target, &mut self.rows, cx);
        self.rows.clear();
        stored
    }
}

impl ExecContext {
    /// Lets the calls that follow hold rows, up to [`Self::end_holding`].
    pub(super) fn hold_rows(&mut self) {
        self.held.get_or_insert_default();
    }

    /// Whether the call that runs may hold rows.
    #[inline]
    pub(crate) fn may_hold_rows(&self) -> bool {
        self.held.is_some()
    }

    /// Whether rows of a plan can be held without more ado.
    pub(crate) fn holds(&self, plan: &Arc<PreparedPlan>, version: u64) -> bool {
        self.held.as_ref().is_some_and(|held| held.place(plan, version).is_some())
    }

    /// Begins to hold the rows of a plan that is good for this version of the frame, and whose table
    /// is locked. All held rows have been stored. False: its rows cannot be held.
    pub(crate) fn begin_to_hold(
        &mut self,
        plan: &Arc<PreparedPlan>,
        version: u64,
        env: &ExecEnv,
    ) -> Result<bool> {
        if self.txn()?.txn.isolation() == IsolationLevel::Serializable || !plan.can_be_held() {
            return Ok(false);
        }
        let Some(held) = &mut self.held else { return Ok(false) };
        held.inserts.retain(|insert| insert.version == version);
        held.inserts.truncate(INSERTS_MAX - 1);
        let context = plan.compiled.context(Arc::new([]), env, &mut None);
        let (rows, inserter, values, row) = Default::default();
        let plan = Arc::clone(plan);
        held.inserts.push(HeldInsert { plan, version, context, rows, inserter, values, row });
        Ok(true)
    }

    /// Holds the row of a plan with the values of its parameters that `fill` appends.
    pub(crate) fn hold_row(
        &mut self,
        (plan, version): (&Arc<PreparedPlan>, u64),
        fill: Fill<'_>,
    ) -> Result<()> {
        let Some(mut held) = self.held.take() else { return Err(nothing_held()) };
        let done = held.push((plan, version), fill, self);
        self.held = Some(held);
        done
    }

    /// Stores the rows that are held.
    #[inline]
    pub(crate) fn store_held(&mut self) -> Result<()> {
        match &self.held {
            None => Ok(()),
            Some(_) => self.store_all_held(),
        }
    }

    fn store_all_held(&mut self) -> Result<()> {
        let Some(mut held) = self.held.take() else { return Ok(()) };
        let stored = held.store(self);
        self.held = Some(held);
        stored
    }

    /// Stores the rows that are held; no more are from here on.
    pub(super) fn end_holding(&mut self) -> Result<()> {
        match self.held.take() {
            None => Ok(()),
            Some(mut held) => held.store(self),
        }
    }
}

impl HeldInserts {
    fn place(&self, plan: &Arc<PreparedPlan>, version: u64) -> Option<usize> {
        let is_it =
            |insert: &HeldInsert| Arc::ptr_eq(&insert.plan, plan) && insert.version == version;
        self.inserts.iter().position(is_it)
    }

    fn push(
        &mut self,
        (plan, version): (&Arc<PreparedPlan>, u64),
        fill: Fill<'_>,
        cx: &mut ExecContext,
    ) -> Result<()> {
        let at = self.place(plan, version).ok_or_else(nothing_held)?;
        let table = HeldInsert::modify(plan)?.target.oid();
        for (_, other) in self.inserts.iter_mut().enumerate().filter(|(of, _)| *of != at) {
            if HeldInsert::modify(&other.plan)?.target.oid() == table {
                other.store(cx)?;
            }
        }
        let insert = &mut self.inserts[at];
        insert.push(fill, cx)?;
        if insert.is_full() { insert.store(cx) } else { Ok(()) }
    }

    fn store(&mut self, cx: &mut ExecContext) -> Result<()> {
        self.inserts.iter_mut().try_for_each(|insert| insert.store(cx))
    }
}

impl PreparedPlan {
    /// Whether rows of it may be held: see the module's reasons.
    pub(crate) fn can_be_held(&self) -> bool {
        *self.holdable.get_or_init(|| {
            let compiled = &self.compiled;
            let is_insert = matches!(compiled.point(), Some(PointPlan::Insert));
            is_insert
                && HeldInsert::modify(self).is_ok_and(takes_each_row)
                && computes_calmly(compiled.planned())
        })
    }
}

/// Whether the table takes each row that is complete, of the right length and without a NULL where
/// none may be.
fn takes_each_row(modify: &ModifyPlan) -> bool {
    let target = &modify.target;
    let is_bare = modify.partitioned.is_none()
        && target.partition.is_none()
        && target.columns.is_none()
        && target.keys.is_none()
        && target.captures.is_none()
        && target.hooks.is_none()
        && target.generated.is_empty()
        && target.checks.is_empty()
        && target.never_null.is_empty()
        && target.view_checks.is_empty();
    let layout = &target.table.layout;
    is_bare && target.indexes.iter().all(|index| index.takes_each_key(|at| layout.is_fixed(at)))
}

/// Whether the values are computed from the parameters alone.
fn computes_calmly(planned: &PlannedStmt) -> bool {
    let PlanNode::Modify(modify) = &planned.plan.node else { return false };
    let exprs = match (&modify.child.node, &modify.child.project) {
        (PlanNode::Result { one_time_filter: None, child: None }, Some(exprs)) => exprs,
        (PlanNode::Values(lists), None) if lists.len() == 1 => &lists[0],
        _ => return false,
    };
    let is_bare = planned.subplans.is_empty() && planned.exec_params == 0;
    is_bare && exprs.iter().all(is_calm)
}

fn is_calm(expr: &Expr) -> bool {
    let is_so = match expr {
        Expr::Const(..)
        | Expr::Param { .. }
        | Expr::And(_)
        | Expr::Or(_)
        | Expr::Not(_)
        | Expr::IsNull { .. }
        | Expr::BoolTest { .. }
        | Expr::Case { .. }
        | Expr::CaseOperand(_)
        | Expr::Coalesce { .. }
        | Expr::Array { .. }
        | Expr::Row(..)
        | Expr::Field { .. }
        | Expr::Relabel { .. } => true,
        Expr::Func { func, .. }
        | Expr::Distinct { eq: func, .. }
        | Expr::NullIf { eq: func, .. }
        | Expr::ScalarArrayOp { func, .. } => is_calm_function(func),
        Expr::CoerceViaIo { arg, ty, .. } => {
            [ty.oid, arg.ty().oid].iter().all(|ty| *ty < oid::FIRST_NORMAL_OID)
        }
        _ => false,
    };
    is_so && expr.children().into_iter().all(is_calm)
}

fn is_calm_function(function: &Function) -> bool {
    function.is_built_in()
        && !crate::routine::is_routine(function)
        && (function.is_immutable() || CALM.contains(&&*function.name))
}

#[cold]
fn nothing_held() -> Error {
    Error::internal("a row is held of a plan that holds none")
}
