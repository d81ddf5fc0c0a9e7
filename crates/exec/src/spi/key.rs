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
use steppe_catalog::Catalog;
use steppe_functions::{Frame, SessionHost};
use steppe_sql::bind::Params;
use steppe_types::{Datum, Error, Oid, Result};

/// How a statement of a foreign key runs.
#[derive(Clone, Copy)]
pub(crate) enum RunOf {
    /// A change of the rows that refer to a key now. Its events run after those of the calling
    /// statement.
    Action,
    /// A check whether there is a row, at a snapshot of now.
    Check,
}

/// Makes a statement's text from a version of the catalog.
type MakeText = dyn Fn(&Catalog) -> Result<String> + Send + Sync;

/// A statement of a foreign key. It knows its tables and columns by number: its text is made with
/// each plan, since a table may be renamed while the statement that has changed the key still runs.
pub(crate) struct KeyStatement {
    text: Box<MakeText>,
    types: Box<[Oid]>,
    planned: Mutex<Option<(Arc<PreparedPlan>, Arc<str>)>>,
}

impl KeyStatement {
    pub(crate) fn new(
        text: impl Fn(&Catalog) -> Result<String> + Send + Sync + 'static,
        types: Vec<Oid>,
    ) -> KeyStatement {
        KeyStatement { text: Box::new(text), types: types.into(), planned: Mutex::new(None) }
    }

    /// The number of parameters.
    pub(crate) fn params(&self) -> usize {
        self.types.len()
    }

    /// The plan for a frame, and the text that it was made of.
    fn plan(
        &self,
        session: &dyn SessionHost,
        frame: &Frame,
    ) -> Result<(Arc<PreparedPlan>, Arc<str>)> {
        let epoch = frame.names.catalog.epoch;
        let is_good = |(plan, _): &&(Arc<PreparedPlan>, _)| match session.store() {
            Ok(store) => plan.is_good_for(epoch, store),
            Err(_) => plan.epoch == epoch,
        };
        if let Some(known) = self.planned.lock().as_ref().filter(is_good) {
            return Ok(known.clone());
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
        let text: Arc<str> = (self.text)(&frame.names.catalog)?.into();
        let statement = Arc::new(parse_one(&text)?.statement);
        let planned = prepare(&planning, &statement, &text, Params::fixed(&self.types))?;
        let plan = Arc::new(planned);
        if let Some(watch) = watch_of(session) {
            watch.planned(&plan, &text);
        }
        let planned = (plan, text);
        *self.planned.lock() = Some(planned.clone());
        Ok(planned)
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
            RunOf::Action => (0, Snapshot::NewestToChange),
            RunOf::Check => (1, Snapshot::Newest),
        };
        let params: Arc<[Datum]> = params.into();
        let ran = self.lend_leaving(matches!(of, RunOf::Action), |txn| {
            loop {
                let transaction = present(txn)?;
                transaction.rebase(&*session)?;
                let (version, frame) = (session.frame_version(), session.frame()?);
                let engine = Arc::clone(&frame.engine);
                let (plan, text) = statement.plan(&*session, &frame)?;
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
                        let of = (&*plan, &*text);
                        run_watched(watched, of, &params, within, txn, how, sink)?
                    }
                };
                if let Some(rows) = ran {
                    return Ok(rows);
                }
            }
        });
        ran.map_err(|error: Error| {
            let named = session.frame().and_then(|frame| (statement.text)(&frame.names.catalog));
            let shown = named.unwrap_or_default();
            error.within(format!("SQL statement \"{shown}\""))
        })
    }
}
