//! Statements of foreign keys (ri_PlanCheck, ri_PerformCheck).
//!
//! A statement is planned once. All sessions that run its compiled command share the plan. The plan
//! does not scan the whole table if an index can answer the statement.

use super::run::run_watched;
use super::{Answer, Spi, present};
use crate::partition::lock_mode;
use crate::prepare::{Planning, PreparedPlan, Snapshot, parse_one, prepare, run_in_place};
use crate::statement::ExecEnv;
use crate::watch::{Watched, watch_of};
use parking_lot::Mutex;
use std::sync::Arc;
use steppe_functions::{Frame, SessionHost};
use steppe_sql::bind::Params;
use steppe_types::{Datum, Error, Oid, Result};

/// How a statement of a foreign key runs.
#[derive(Clone, Copy)]
pub(crate) enum RunOf {
    /// A change of referencing rows. Its events run after those of the calling statement.
    Action,
    /// A check whether there is a row, at a snapshot of now.
    Check,
}

/// A statement of a foreign key.
pub(crate) struct KeyStatement {
    text: Arc<str>,
    types: Box<[Oid]>,
    plan: Mutex<Option<Arc<PreparedPlan>>>,
}

impl KeyStatement {
    pub(crate) fn new(text: String, types: Vec<Oid>) -> KeyStatement {
        KeyStatement { text: text.into(), types: types.into(), plan: Mutex::new(None) }
    }

    /// The number of parameters.
    pub(crate) fn params(&self) -> usize {
        self.types.len()
    }

    /// The plan for a frame.
    fn plan(&self, session: &dyn SessionHost, frame: &Frame) -> Result<Arc<PreparedPlan>> {
        let epoch = frame.names.catalog.epoch;
        let is_good = |plan: &Arc<PreparedPlan>| match session.store() {
            Ok(store) => plan.is_good_for(epoch, store),
            Err(_) => plan.epoch == epoch,
        };
        if let Some(plan) = self.plan.lock().as_ref().filter(|plan| is_good(plan)) {
            return Ok(Arc::clone(plan));
        }
        let mut planner = (*frame.planner).clone();
        planner.seqscan = false;
        let planning = Planning {
            names: &frame.names,
            io: &frame.io,
            planner: &planner,
            older: frame.older.as_deref(),
            engine: &frame.engine,
            interrupts: &|| session.check_interrupts(),
            for_cursor: false,
            values: &[],
        };
        let statement = Arc::new(parse_one(&self.text)?.statement);
        let planned = prepare(&planning, &statement, &self.text, Params::fixed(&self.types))?;
        let plan = Arc::new(planned);
        if let Some(watch) = watch_of(session) {
            watch.planned(&plan, &self.text);
        }
        *self.plan.lock() = Some(Arc::clone(&plan));
        Ok(plan)
    }
}

impl Spi<'_> {
    /// Runs a statement of a foreign key. Returns the number of rows that it has found (one at most)
    /// or changed.
    pub(crate) fn run_for_key(
        &mut self,
        statement: &KeyStatement,
        params: &[Datum],
        of: RunOf,
    ) -> Result<u64> {
        let (work_mem_bytes, temp) = (self.cx.work_mem_bytes, self.cx.temp()?);
        let session = Arc::clone(self.session());
        let functions = &self.cx.functions;
        let (now, start) = (functions.statement_timestamp, functions.transaction_timestamp);
        let how = match of {
            RunOf::Action => (0, Snapshot::New),
            RunOf::Check => (1, Snapshot::Newest),
        };
        let params: Arc<[Datum]> = params.into();
        let ran = self.lend_leaving(matches!(of, RunOf::Action), |txn| {
            loop {
                let transaction = present(txn)?;
                transaction.rebase(&*session)?;
                let (version, frame) = (session.frame_version(), session.frame()?);
                let engine = Arc::clone(&frame.engine);
                let plan = statement.plan(&*session, &frame)?;
                for (relation, mode) in &plan.compiled.planned().relations {
                    let wait = transaction.txn.lock_relation(*relation, lock_mode(*mode))?;
                    wait.map_or(Ok(()), |wait| session.block_on(wait))?;
                }
                // A change of a table before we had its lock has moved the version.
                transaction.rebase(&*session)?;
                if session.frame_version() != version {
                    continue;
                }
                let env = ExecEnv {
                    session: Arc::clone(&session),
                    io: frame.io,
                    catalog: frame.names.catalog,
                    statement_timestamp: now,
                    transaction_timestamp: start,
                    work_mem_bytes,
                    temp: Arc::clone(&temp),
                };
                let compiled = &plan.compiled;
                compiled.check_constants(Some(&params), &env.catalog)?;
                let sink = &mut Answer::default();
                let within = (&env, &*engine);
                let ran = match Watched::begin(&*session) {
                    None => run_in_place(compiled, &params, within, txn, how, sink)?,
                    Some(watched) => {
                        let of = (&*plan, &*statement.text);
                        run_watched(watched, of, &params, within, txn, how, sink)?
                    }
                };
                if let Some(rows) = ran {
                    return Ok(rows);
                }
            }
        });
        ran.map_err(|error: Error| error.context(format!("SQL statement \"{}\"", statement.text)))
    }
}
