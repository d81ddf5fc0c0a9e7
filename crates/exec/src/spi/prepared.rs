//! A statement that a function keeps, and runs several times (SPI_prepare, plancache.c).
//!
//! ```text
//!   text ──▶ Prepared ── make_ready ──▶ the plan for the present catalog, relations locked
//!                            │ version of the session's frame unchanged: nothing to do
//!                            │ changed, objects of the plan untouched: the plan stays
//!                            └ otherwise: planned again, with the same variables
//! ```
//!
//! The plan may be one that another session has made ([`shared`](super::shared)). Its values select a
//! variant of the plan, as those of a client's prepared statement do ([`crate::prepare::Variants`]).

use super::shared::{Asking, Shared, SharedPlans};
use super::utility::Utility;
use super::{Spi, check_writable, present};
use crate::partition::lock_mode;
use crate::prepare::{Found, Planning, PreparedPlan, Variants, is_plannable, parse_one, prepare};
use crate::routine::{BoundCall, SessionRoutines, bind_call};
use crate::statement::ExecEnv;
use crate::transaction::Transaction;
use crate::watch::watch_of;
use std::sync::Arc;
use steppe_catalog::{CatalogStore, NameSpace};
use steppe_functions::{Frame, SessionHost};
use steppe_sql::ast::Statement;
use steppe_sql::bind::{Params, Variables};
use steppe_sql::expr::TypeRef;
use steppe_sql::plan::ResultColumn;
use steppe_sql::planner::PlannerSettings;
use steppe_sql::query::Command;
use steppe_txn::Engine;
use steppe_types::{Datum, Error, Oid, Result, SqlState};

/// The kind of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlKind {
    /// A statement.
    Statement,
    /// A query that is opened as a cursor with a name: its rows have their positions.
    Cursor,
    /// An expression, or anything else that may follow SELECT.
    Expression,
    /// An expression whose value is assigned to a variable of this type. The value is coerced as an
    /// assignment coerces it, and through text where no cast exists.
    Assignment {
        /// The type.
        ty: Oid,
        /// Its modifier.
        modifier: i32,
    },
}

/// An OUT or INOUT argument of a CALL: a column of the row that it answers.
#[derive(Clone, Debug)]
pub struct CallOutput {
    /// The place among the arguments as they are written; `None` if the argument is not.
    pub argument: Option<usize>,
    /// The argument's name.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Oid,
}

/// The word that an expression's text is parsed behind.
const SELECT: &str = "SELECT ";

/// A statement that a function may run several times. A copy shares the plans.
#[derive(Clone)]
pub struct Prepared {
    pub(super) body: Body,
    pub(super) text: Arc<str>,
    /// The text was made at run time, so a procedure that it calls must not end the transaction.
    pub(super) is_dynamic: bool,
    /// The values of the last parameters: literals of its text.
    pub(super) literals: Arc<[Datum]>,
}

#[derive(Clone)]
pub(super) enum Body {
    /// It has a plan.
    Plan(Box<Planned>),
    /// CALL.
    Call(Arc<Statement>, Params),
    /// Any other statement.
    Utility(Utility),
}

/// A statement with a plan.
#[derive(Clone)]
pub(super) struct Planned {
    pub(super) plan: Arc<PreparedPlan>,
    variants: Option<Arc<Variants<PreparedPlan>>>,
    /// The parameters as this session means them: another plan may be made with them.
    pub(super) params: Arc<Params>,
    /// The environment of its runs, as of the frame's version.
    pub(super) env: ExecEnv,
    pub(super) engine: Arc<Engine>,
    made_with: MadeWith,
    version: u64,
    way: Way,
}

/// How a text is planned.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    /// The number of characters that precede the function's text in the parsed text.
    before: usize,
    /// The rows have their positions.
    for_cursor: bool,
    /// Its text is not asked for the plan of another session: other statements may have the same one.
    is_alone: bool,
}

impl Way {
    /// For a cursor with a name.
    pub(super) const CURSOR: Way = Way { before: 0, for_cursor: true, is_alone: false };

    /// For a statement of a text that may have several.
    pub(super) const ALONE: Way = Way { before: 0, for_cursor: false, is_alone: true };
}

/// The settings that a plan depends on besides the catalog.
#[derive(Clone)]
struct MadeWith {
    path: Arc<[Oid]>,
    planner: Arc<PlannerSettings>,
}

impl Spi<'_> {
    /// Plans a statement with parameters of these types.
    pub fn prepare(&mut self, text: &str, types: &[Oid]) -> Result<Prepared> {
        match self.prepare_like(&Arc::from(text), types) {
            Some(prepared) => Ok(prepared),
            None => self.prepared(text, SqlKind::Statement, Params::fixed(types)),
        }
    }

    /// Plans a query with parameters of these types that is opened as a cursor with a name.
    pub fn prepare_cursor(&mut self, text: &str, types: &[Oid]) -> Result<Prepared> {
        match self.prepare_cursor_like(&Arc::from(text), types) {
            Some(prepared) => Ok(prepared),
            None => self.prepared(text, SqlKind::Cursor, Params::fixed(types)),
        }
    }

    /// Plans a statement or an expression over a function's variables. A statement without a plan
    /// is kept as it is. Positions in errors count the characters of `text`.
    pub fn prepare_with(
        &mut self,
        text: &str,
        kind: SqlKind,
        variables: Arc<dyn Variables>,
    ) -> Result<Prepared> {
        let params = match kind {
            SqlKind::Assignment { ty, modifier } => {
                Params::assigned(variables, TypeRef { oid: ty, typmod: modifier })
            }
            SqlKind::Statement | SqlKind::Cursor | SqlKind::Expression => {
                Params::variables(variables)
            }
        };
        self.prepared(text, kind, params)
    }

    pub(super) fn prepared(
        &mut self,
        text: &str,
        kind: SqlKind,
        params: Params,
    ) -> Result<Prepared> {
        let source: Arc<str> = match kind {
            SqlKind::Statement | SqlKind::Cursor => Arc::from(text),
            SqlKind::Expression | SqlKind::Assignment { .. } => {
                Arc::from(format!("{SELECT}{text}"))
            }
        };
        let is_dynamic = !params.are_variables();
        let before = source.len() - text.len();
        let way = Way { before, for_cursor: kind == SqlKind::Cursor, is_alone: false };
        let body = self.body(&source, params, way);
        let body = body.map_err(|error| moved_back(error, before))?;
        Ok(Prepared { body, text: Arc::from(text), is_dynamic, literals: Arc::default() })
    }

    fn body(&mut self, source: &Arc<str>, params: Params, way: Way) -> Result<Body> {
        let statement = Arc::new(parse_one(source)?.statement);
        if let Statement::Call(_) = &*statement {
            return Ok(Body::Call(statement, params));
        }
        if !is_plannable(&statement) {
            return self.utility_of(statement, params).map(Body::Utility);
        }
        let planned = self.planned(&statement, source, params, way)?;
        Ok(Body::Plan(Box::new(planned)))
    }

    /// Plans a statement of a text.
    pub(super) fn planned(
        &mut self,
        statement: &Arc<Statement>,
        source: &Arc<str>,
        params: Params,
        way: Way,
    ) -> Result<Planned> {
        let session = Arc::clone(self.session());
        let version = session.frame_version();
        let frame = session.frame()?;
        let env = self.env_of(&frame)?;
        let of = (statement, source, way);
        let Shared { plan, variants } = plan_or_find(&*session, &frame, of, &params)?;
        let params = Arc::new(params);
        let (made_with, engine) = (MadeWith::of(&frame), frame.engine);
        Ok(Planned { plan, variants, params, env, engine, made_with, version, way })
    }

    /// The environment of a statement of the function.
    pub(super) fn env_of(&self, frame: &Frame) -> Result<ExecEnv> {
        let Ok(temp) = self.cx.temp() else {
            return Err(Error::not_supported("a function that runs statements in this context"));
        };
        Ok(ExecEnv {
            session: Arc::clone(self.session()),
            io: Arc::clone(&frame.io),
            catalog: Arc::clone(&frame.names.catalog),
            statement_timestamp: self.cx.functions.statement_timestamp,
            transaction_timestamp: self.cx.functions.transaction_timestamp,
            work_mem_bytes: self.cx.work_mem_bytes,
            temp,
        })
    }

    /// The OUT and INOUT arguments of a CALL; none for another statement.
    pub fn call_outputs(&mut self, prepared: &Prepared) -> Result<Vec<CallOutput>> {
        let Body::Call(statement, params) = &prepared.body else { return Ok(Vec::new()) };
        let bound = self.bound_call(statement, prepared.text(), params)?;
        let output = |(column, argument): (&ResultColumn, &Option<usize>)| CallOutput {
            argument: *argument,
            name: Arc::clone(&column.name),
            ty: column.ty.oid,
        };
        Ok(bound.columns().iter().zip(bound.written_at()).map(output).collect())
    }

    /// The procedure of a CALL, and its arguments.
    pub(super) fn bound_call(
        &self,
        statement: &Statement,
        source: &str,
        params: &Params,
    ) -> Result<BoundCall> {
        let Statement::Call(call) = statement else {
            return Err(Error::internal("a CALL has become another statement"));
        };
        let frame = self.frame()?;
        bind_call(&frame.names, &frame.io, call, source, params.clone())
    }
}

impl Prepared {
    /// The columns of its rows; none if it returns no rows.
    pub fn columns(&self) -> &[ResultColumn] {
        match &self.body {
            Body::Plan(planned) => planned.plan.compiled.columns(),
            Body::Utility(utility) => &utility.columns,
            Body::Call(..) => &[],
        }
    }

    /// The command of its plan; `None` if it has none.
    pub fn command(&self) -> Option<Command> {
        match &self.body {
            Body::Plan(planned) => Some(planned.plan.compiled.planned().command),
            Body::Call(..) | Body::Utility(_) => None,
        }
    }

    /// Whether it is a SELECT, or another statement that returns rows.
    pub fn returns_rows(&self) -> bool {
        self.command() == Some(Command::Select) || !self.columns().is_empty()
    }

    /// 42601 for a statement that returns no rows, where it must return some (must_return_tuples).
    pub fn check_returns_rows(&self) -> Result<()> {
        if self.returns_rows() {
            return Ok(());
        }
        let message = format!("{} query does not return tuples", self.command_name());
        Err(Error::new(SqlState::SYNTAX_ERROR, message))
    }

    /// The command of a statement that is no query, for messages.
    pub(super) fn command_name(&self) -> String {
        let change = match &self.body {
            Body::Plan(planned) => planned.plan.changes.map(str::to_owned),
            Body::Utility(_) | Body::Call(..) => None,
        };
        change.unwrap_or_else(|| command_of(&self.text))
    }

    /// The statement.
    pub fn statement(&self) -> &Statement {
        match &self.body {
            Body::Plan(planned) => &planned.plan.statement,
            Body::Call(statement, _) => statement,
            Body::Utility(utility) => &utility.statement,
        }
    }

    /// Its text, as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The variables that it mentions, by their places.
    pub fn variables(&self) -> &[usize] {
        match &self.body {
            Body::Plan(planned) => &planned.plan.compiled.planned().variables,
            Body::Call(..) | Body::Utility(_) => &[],
        }
    }
}

impl Planned {
    /// The values of the plan's parameters among those of a run.
    pub(super) fn values(&self, params: &[Datum], literals: &[Datum]) -> Arc<[Datum]> {
        if !self.params.are_variables() {
            return params.iter().chain(literals).cloned().collect();
        }
        let variables = &self.plan.compiled.planned().variables;
        let value = |at: &usize| params.get(*at).cloned().unwrap_or(Datum::Null);
        variables.iter().map(value).collect()
    }

    /// Appends what [`Self::values`] returns.
    pub(super) fn append_values(&self, params: &[Datum], literals: &[Datum], out: &mut Vec<Datum>) {
        if !self.params.are_variables() {
            out.extend(params.iter().chain(literals).cloned());
            return;
        }
        let variables = &self.plan.compiled.planned().variables;
        out.extend(variables.iter().map(|at| params.get(*at).cloned().unwrap_or(Datum::Null)));
    }

    /// Locks the statement's relations. Afterwards it is planned for the catalog in force.
    pub(super) fn make_ready(
        &mut self,
        txn: &mut Option<Transaction>,
        is_read_only: bool,
    ) -> Result<()> {
        self.make_locked(txn, Some(is_read_only))
    }

    /// As [`Self::make_ready`]. `is_read_only`: of the function that runs it. `None`: it is not run.
    pub(super) fn make_locked(
        &mut self,
        txn: &mut Option<Transaction>,
        is_read_only: Option<bool>,
    ) -> Result<()> {
        let session = Arc::clone(&self.env.session);
        let transaction = present(txn)?;
        loop {
            transaction.rebase(&*session)?;
            let version = session.frame_version();
            if version != self.version {
                self.see(&*session, version)?;
            }
            if let (Some(command), Some(is_read_only)) = (self.plan.changes, is_read_only) {
                if is_read_only {
                    return Err(not_allowed(command));
                }
                if let Some(command) = self.plan.refused_read_only {
                    check_writable(&transaction.txn, command)?;
                }
            }
            for (relation, mode) in &self.plan.compiled.planned().relations {
                if let Some(wait) = transaction.txn.lock_relation(*relation, lock_mode(*mode))? {
                    session.block_on(wait)?;
                }
            }
            // A change of a table before we had its lock has moved the version.
            transaction.rebase(&*session)?;
            if session.frame_version() == version {
                return Ok(());
            }
        }
    }

    /// Takes the names and settings of a new frame, and plans again if the plan depends on what has
    /// changed.
    #[cold]
    pub(super) fn see(&mut self, session: &dyn SessionHost, version: u64) -> Result<()> {
        let frame = session.frame()?;
        let epoch = frame.names.catalog.epoch;
        let is_good =
            self.made_with.is(&frame.names, &frame.planner) && is_good(session, &self.plan, epoch);
        if !is_good {
            let (statement, source) = (&self.plan.statement, &self.plan.source);
            let of = (statement, source, self.way);
            let found = plan_or_find(session, &frame, of, &self.params);
            let found = found.map_err(|error| moved_back(error, self.way.before))?;
            (self.plan, self.variants) = (found.plan, found.variants);
            self.made_with = MadeWith::of(&frame);
        }
        self.env.io = frame.io;
        self.env.catalog = frame.names.catalog;
        self.version = version;
        Ok(())
    }

    /// The plan for these values.
    pub(super) fn for_values(&self, values: &[Datum]) -> Result<Arc<PreparedPlan>> {
        let Some(variants) = &self.variants else { return Ok(Arc::clone(&self.plan)) };
        let context = (&*self.env.catalog, &*self.made_with.planner, &*self.env.io);
        let (session, epoch) = (&*self.env.session, self.env.catalog.epoch);
        let vacancy = match variants.find(values, context) {
            Found::Unknown => return Ok(Arc::clone(&self.plan)),
            Found::Made(variant) if is_good(session, variant, epoch) => {
                return Ok(Arc::clone(variant));
            }
            Found::Made(_) => None,
            Found::Vacant(vacancy) => Some(vacancy),
        };
        let (statement, source) = (&self.plan.statement, &self.plan.source);
        let params = (*self.params).clone();
        let frame = session.frame()?;
        let of = (statement, source, self.way);
        let variant = Arc::new(plan(session, &frame, of, params, values)?);
        if variant.epoch != epoch {
            return Ok(Arc::clone(&self.plan));
        }
        if let Some(vacancy) = vacancy {
            vacancy.fill(Arc::clone(&variant));
        }
        Ok(variant)
    }

    /// The version of the frame that it is ready for.
    pub(super) fn version(&self) -> u64 {
        self.version
    }
}

impl MadeWith {
    fn of(frame: &Frame) -> MadeWith {
        MadeWith { path: Arc::clone(&frame.names.path), planner: Arc::clone(&frame.planner) }
    }

    fn is(&self, names: &NameSpace, planner: &Arc<PlannerSettings>) -> bool {
        self.path == names.path && self.planner == *planner
    }
}

/// The command of a statement that is no query, by its first words.
fn command_of(text: &str) -> String {
    let mut words = text.split_ascii_whitespace().map(str::to_ascii_uppercase);
    let first = words.next().unwrap_or_default();
    match (first.as_str(), words.next()) {
        ("CREATE" | "ALTER" | "DROP", Some(second)) => format!("{first} {second}"),
        _ => first,
    }
}

/// Whether planning for a version of the catalog would give this plan.
fn is_good(session: &dyn SessionHost, plan: &PreparedPlan, epoch: u64) -> bool {
    match session.store() {
        Ok(store) => plan.is_good_for(epoch, store),
        Err(_) => plan.epoch == epoch,
    }
}

/// The plan of a statement for a frame: that of another session, if there is one.
fn plan_or_find(
    session: &dyn SessionHost,
    frame: &Frame,
    of: (&Arc<Statement>, &Arc<str>, Way),
    params: &Params,
) -> Result<Shared> {
    let with_variants = |plan: PreparedPlan| {
        let context = (&*frame.names.catalog, &*frame.planner, &*frame.io);
        let variants = Variants::of(&plan.compiled.planned().sensitive, context).map(Arc::from);
        Shared { plan: Arc::new(plan), variants }
    };
    let shared = if of.2.is_alone { None } else { shared_plans(session, frame) };
    let Some((plans, catalogs)) = shared else {
        return plan(session, frame, of, params.clone(), &[]).map(with_variants);
    };
    let asking = Asking { source: of.1, for_cursor: of.2.for_cursor, params, frame, catalogs };
    if let Some(found) = plans.find(asking) {
        return Ok(found);
    }
    let (planned, answers) = params.noted(|params| plan(session, frame, of, params, &[]));
    let mut planned = planned?;
    planned.declared = params.clone();
    let made = with_variants(planned);
    let other = answers.and_then(|answers| plans.keep(asking, answers, &made));
    Ok(other.unwrap_or(made))
}

/// The plans that a session shares, if its frame has the published catalog: neither a version of its
/// transaction's own, nor one with transition tables or the partitions of an older version.
fn shared_plans<'s>(
    session: &'s dyn SessionHost,
    frame: &Frame,
) -> Option<(&'s SharedPlans, &'s CatalogStore)> {
    let catalogs = session.store().ok()?;
    let is_published = Arc::ptr_eq(&catalogs.published(), &frame.names.catalog);
    let plans = &*SessionRoutines::of(session).ok()?.shared;
    (is_published && frame.older.is_none()).then_some((plans, catalogs))
}

/// Plans a statement for a frame.
pub(super) fn plan(
    session: &dyn SessionHost,
    frame: &Frame,
    (statement, source, way): (&Arc<Statement>, &Arc<str>, Way),
    params: Params,
    values: &[Datum],
) -> Result<PreparedPlan> {
    let planning = Planning {
        names: &frame.names,
        io: &frame.io,
        planner: &frame.planner,
        older: frame.older.as_deref(),
        engine: &frame.engine,
        interrupts: &|| session.check_interrupts(),
        for_cursor: way.for_cursor,
        values,
    };
    let plan = prepare(&planning, statement, source, params)?;
    if let Some(watch) = watch_of(session) {
        watch.planned(&plan, source.get(way.before..).unwrap_or(source));
    }
    Ok(plan)
}

/// 0A000 for a change by a function that is not VOLATILE.
#[cold]
pub(super) fn not_allowed(command: &str) -> Error {
    let message = format!("{command} is not allowed in a non-volatile function");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// An error whose position counts from behind `before` characters.
fn moved_back(error: Error, before: usize) -> Error {
    let Some(at) = error.fields().position else { return error };
    let before = u32::try_from(before).unwrap_or(u32::MAX);
    error.without_position().at(Some(at.saturating_sub(before).max(1)))
}
