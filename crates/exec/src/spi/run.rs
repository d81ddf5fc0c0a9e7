//! Runs the statements of a function, planned or not (_SPI_execute_plan).

use super::prepared::{Body, Planned, not_allowed};
use super::{Prepared, Spi, utility};
use crate::prepare::{Kept, PreparedPlan, Snapshot, run_in_place, run_keeping};
use crate::routine::call_within;
use crate::sink::RowSink;
use crate::statement::ExecEnv;
use crate::transaction::Transaction;
use crate::watch::{Watched, timed};
use std::sync::Arc;
use steppe_sql::plan::ResultColumn;
use steppe_txn::Engine;
use steppe_types::{Datum, Error, Oid, Result};

/// The result of a statement.
#[derive(Debug, Default)]
pub struct Answer {
    /// Its rows.
    pub rows: Vec<Box<[Datum]>>,
    /// The number of rows that it returned or changed.
    pub processed: u64,
}

impl RowSink for Answer {
    fn row(&mut self, row: &[Datum]) -> Result<()> {
        self.rows.push(row.into());
        Ok(())
    }

    fn take_back(&mut self) -> bool {
        self.rows.clear();
        true
    }
}

/// The rows that a statement is to return.
struct Wanted<'a> {
    /// The number of rows after which it ends (0: all).
    limit: u64,
    /// Whether it is to run if it has these columns.
    accepts: &'a dyn Fn(&[ResultColumn]) -> bool,
}

/// Runs a statement in place, and tells what watches it. `None` as of [`run_in_place`].
#[cold]
pub(super) fn run_watched(
    mut watched: Watched,
    (plan, text): (&PreparedPlan, &str),
    values: &Arc<[Datum]>,
    (env, engine): (&ExecEnv, &Engine),
    txn: &mut Option<Transaction>,
    how: (u64, Snapshot),
    sink: &mut dyn RowSink,
) -> Result<Option<u64>> {
    let mut kept = Kept { measures_nodes: watched.measures_nodes, execution: None };
    let compiled = &plan.compiled;
    let ran = watched.measure(|| {
        run_keeping(compiled, values, (env, engine), txn, how, sink, Some(&mut kept))
    })?;
    if let Some(rows) = ran {
        watched.end(rows, (plan, text), (values, env), kept.execution.as_deref());
    }
    Ok(ran)
}

impl Answer {
    /// The one value of the one row.
    pub fn value(self) -> Result<Datum> {
        let value = self.rows.first().and_then(|row| row.first()).cloned();
        value.ok_or_else(|| Error::internal("a statement with one value had none"))
    }
}

impl Spi<'_> {
    /// Runs a statement to its end. A CALL answers one row of its OUT and INOUT arguments, if it has
    /// any.
    pub fn run(&mut self, prepared: &mut Prepared, params: &[Datum]) -> Result<Answer> {
        let mut answer = Answer::default();
        answer.processed = self.run_limited(prepared, params, 0, &mut answer)?;
        Ok(answer)
    }

    /// Runs a statement until it has returned `limit` rows (0: to its end). A statement that changes
    /// rows runs to its end. Returns the number of rows that it returned or changed.
    pub fn run_limited(
        &mut self,
        prepared: &mut Prepared,
        params: &[Datum],
        limit: u64,
        sink: &mut dyn RowSink,
    ) -> Result<u64> {
        if self.cx.may_hold_rows()
            && let Some(rows) = self.hold(prepared, params)?
        {
            return Ok(rows);
        }
        self.be_heard()?;
        let planned = match &mut prepared.body {
            Body::Plan(planned) => planned,
            Body::Call(..) if self.is_read_only => return Err(not_allowed("CALL")),
            Body::Call(statement, variables) => {
                let bound = self.bound_call(statement, &prepared.text, variables)?;
                let mut watched = Watched::begin(&**self.session());
                let row = timed(&mut watched, || {
                    self.without_control(prepared.is_dynamic, |spi| {
                        call_within(&bound, params, spi)
                    })
                })?;
                if let Some(watched) = watched {
                    watched.end_utility(&prepared.text);
                }
                let Some(row) = row else { return Ok(0) };
                sink.row(&row)?;
                return Ok(0);
            }
            Body::Utility(utility) => {
                let session = self.session();
                let mut watched = match utility.is_watched() {
                    true => Watched::begin(&**session),
                    false => None,
                };
                let of = utility::Run { source: &prepared.text, values: params, limit };
                let rows = timed(&mut watched, || {
                    self.without_control(prepared.is_dynamic, |spi| spi.utility(utility, &of, sink))
                })?;
                if let Some(watched) = watched {
                    watched.end_utility(&prepared.text);
                }
                return Ok(rows);
            }
        };
        let wanted = Wanted { limit, accepts: &|_| true };
        let text = &*prepared.text;
        let ran = self.run_planned(planned, (params, &prepared.literals), text, wanted, sink)?;
        Ok(ran.unwrap_or_default())
    }

    /// Runs a query to its end, if its columns are accepted. Returns the number of its rows. `None`:
    /// it has not run.
    pub fn run_accepted(
        &mut self,
        prepared: &mut Prepared,
        params: &[Datum],
        accepts: &dyn Fn(&[ResultColumn]) -> bool,
        sink: &mut dyn RowSink,
    ) -> Result<Option<u64>> {
        self.be_heard()?;
        let Body::Plan(planned) = &mut prepared.body else { return Ok(None) };
        let wanted = Wanted { limit: 0, accepts };
        self.run_planned(planned, (params, &prepared.literals), &prepared.text, wanted, sink)
    }

    /// Runs a statement with a plan. `None`: its columns are not accepted.
    fn run_planned(
        &mut self,
        planned: &mut Planned,
        (params, literals): (&[Datum], &[Datum]),
        text: &str,
        Wanted { limit, accepts }: Wanted<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<Option<u64>> {
        let is_read_only = self.is_read_only;
        let snapshot = if is_read_only { Snapshot::Callers } else { Snapshot::New };
        planned.env.statement_timestamp = self.cx.functions.statement_timestamp;
        planned.env.transaction_timestamp = self.cx.functions.transaction_timestamp;
        let values = planned.values(params, literals);
        self.lend(|txn| {
            loop {
                planned.make_ready(txn, is_read_only)?;
                let plan = planned.for_values(&values)?;
                if !accepts(plan.compiled.columns()) {
                    return Ok(None);
                }
                let within = (&planned.env, &*planned.engine);
                plan.compiled.check_constants(Some(&values), &planned.env.catalog)?;
                let how = (limit, snapshot);
                let ran = match Watched::begin(&*planned.env.session) {
                    None => run_in_place(&plan.compiled, &values, within, txn, how, sink)?,
                    Some(watched) => {
                        let statement = (&*plan, text);
                        run_watched(watched, statement, &values, within, txn, how, sink)?
                    }
                };
                if ran.is_some() {
                    return Ok(ran);
                }
            }
        })
    }

    /// Runs one statement, with a plan or without.
    pub fn execute(&mut self, text: &str) -> Result<Answer> {
        let mut prepared = self.prepare(text, &[])?;
        self.run(&mut prepared, &[])
    }

    /// The value of an expression over parameters: `$1 + $2`.
    pub fn value(&mut self, expression: &str, params: &[(Oid, Datum)]) -> Result<Datum> {
        let (types, values): (Vec<Oid>, Vec<Datum>) = params.iter().cloned().unzip();
        let mut prepared = self.prepare(&format!("SELECT {expression}"), &types)?;
        self.run(&mut prepared, &values)?.value()
    }
}
