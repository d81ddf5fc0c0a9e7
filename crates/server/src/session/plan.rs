//! From a statement to a plan: the current catalog, the plan cache, planning.

use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

use steppe_catalog::Catalog;
use steppe_exec::prepare::{Planning, Variants, parse_one, prepare};
use steppe_functions::Host;
use steppe_sql::ast;
use steppe_sql::bind::Params;
use steppe_sql::parser::literals::LiftedLiteral;
use steppe_sql::plan::PlannedStmt;
use steppe_sql::query::Command;
use steppe_types::io::IoContext;
use steppe_types::{Datum, Error, Oid, Result, SqlState, oid, text_io};
use steppe_wire::backend::{self, Field};

use super::Session;
use crate::namespace::{FunctionSettings, SessionNamespace};
use crate::outbox;
use crate::plan_cache::{Cached, CachedPlan, KEY_BYTES_MAX, TEXT_KEY};
use crate::spi::{io_of, io_of_statement};

/// A plan with its parameters.
pub(super) type BoundPlan = (Arc<CachedPlan>, Arc<[Datum]>);

impl Session {
    /// The epoch of the catalog that statements see now.
    fn catalog_epoch(&self) -> u64 {
        match self.transaction.changes() {
            Some(changes) => changes.catalog().epoch,
            None => self.core.server.catalog.published_epoch(),
        }
    }

    /// Takes the current catalog and resolves the search path in it.
    pub(super) fn refresh_names(&mut self) {
        if let Some(transaction) =
            self.transaction.txn.as_mut().filter(|txn| txn.changes().is_some())
        {
            // Applies the transaction's own changes to the catalog that other transactions have
            // published.
            self.core.server.catalog.changes(transaction.for_ddl().1);
        }
        let epoch = self.catalog_epoch();
        let is_current = epoch == self.statement.env.catalog.epoch
            && self.namespace_version == self.core.namespace.version();
        if !is_current {
            self.resolve_names();
        }
    }

    /// As [`Self::refresh_names`], after a first call and a wait for locks. Only commits of other
    /// sessions can have changed the catalog since.
    pub(super) fn refresh_names_after_locks(&mut self) {
        let published = self.core.server.catalog.published_epoch();
        if self.transaction.changes().is_some() || published != self.statement.env.catalog.epoch {
            self.refresh_names();
        }
    }

    /// The catalog with the transaction's own changes.
    pub(super) fn newest_catalog(&self) -> Arc<Catalog> {
        match self.transaction.changes() {
            Some(changes) => Arc::clone(changes.catalog()),
            None => self.server().catalog.published(),
        }
    }

    fn resolve_names(&mut self) {
        let catalog = self.newest_catalog();
        let (live, then) = (&self.settings.live, &self.transaction.snapshot_catalog);
        let older = then.as_ref().filter(|then| then.epoch != catalog.epoch);
        // The plans must not be shared with other transactions, so the older catalog is part of
        // their hash.
        let seen = older.and_then(|then| catalog.with_partitions_of(then));
        let names = self.core.resolve(seen.map_or(catalog, Arc::new), &live.search_path);
        let state = foldhash::quality::FixedState::default();
        let deciding = (live.fingerprint, &names.path, older.map(|then| then.epoch));
        self.fingerprint = state.hash_one(deciding);
        let now = self.statement.env.transaction_timestamp;
        let io = IoContext { now, ..(*live.io).clone() };
        self.statement.env.io = io_of_statement(&io, &names, &self.core);
        self.statement.env.catalog = Arc::clone(&names.catalog);
        self.namespace = Arc::new(SessionNamespace {
            own: self.transaction.changes().map(|changes| Arc::clone(changes.catalog())),
            older: older.cloned(),
            io: io_of(&io, &names, &self.core.identity.user),
            settings: FunctionSettings::of(live),
            names,
        });
        self.namespace_version = self.core.namespace.put(Arc::clone(&self.namespace));
    }

    /// Whether a plan is valid for the current catalog and settings.
    pub(super) fn is_current(&self, plan: &CachedPlan) -> bool {
        plan.fingerprint == self.fingerprint && self.is_as_planned(plan)
    }

    /// Whether a plan is valid for the current catalog. A transaction's own version equals no
    /// other.
    #[inline]
    pub(super) fn is_as_planned(&self, plan: &CachedPlan) -> bool {
        let version = self.statement.env.catalog.epoch;
        match self.may_share() {
            true => plan.is_good_for(version, &self.core.server.catalog),
            false => plan.epoch == version,
        }
    }

    /// Whether another session has published a catalog that this session's is not based on.
    pub(super) fn catalog_has_moved(&self) -> bool {
        let (published, seen) =
            (self.core.server.catalog.published_epoch(), self.statement.env.catalog.epoch);
        match self.transaction.changes() {
            Some(changes) => changes.base_epoch() != published || changes.catalog().epoch != seen,
            None => published != seen,
        }
    }

    /// Whether plans may be shared: the transaction must have no changes of the catalog.
    pub(super) fn may_share(&self) -> bool {
        self.transaction.changes().is_none()
    }

    /// The valid cache entry of a key.
    pub(super) fn cached(&mut self, hash: u64, key: &str) -> Option<Cached> {
        match self.planning.local_plans.get(hash) {
            Some(Cached::Plan(plan)) if *plan.key == *key && self.is_current(plan) => {
                return Some(Cached::Plan(Arc::clone(plan)));
            }
            Some(Cached::NotLiftable { epoch }) if *epoch == self.namespace.names.catalog.epoch => {
                return Some(Cached::NotLiftable { epoch: *epoch });
            }
            _ => {}
        }
        let cached = self.core.server.plans.get(hash, key, self.fingerprint)?;
        let is_current = match &cached {
            Cached::Plan(plan) => self.is_as_planned(plan),
            Cached::NotLiftable { epoch } => *epoch == self.namespace.names.catalog.epoch,
        };
        if !is_current {
            return None;
        }
        self.planning.local_plans.put(hash, cached.clone());
        Some(cached)
    }

    pub(super) fn remember(&mut self, hash: u64, key: &str, cached: Cached) {
        if key.len() <= KEY_BYTES_MAX {
            self.core.server.plans.put(hash, key, self.fingerprint, cached.clone());
            self.planning.local_plans.put(hash, cached);
        }
    }

    /// The plan of a Query message with its literals lifted into parameters (docs/design.md 7.4).
    /// With `None`, the caller takes the general way, which also finds any error.
    pub(super) fn lifted_plan(&mut self, text: &str) -> Result<Option<BoundPlan>> {
        let mut lifter = std::mem::take(&mut self.planning.lifter);
        let mut is_refused = false;
        let found = if self.may_share() && lifter.lift(text) {
            self.refresh_names();
            let hash = self.core.server.plans.hash(lifter.key(), self.fingerprint);
            match self.cached(hash, lifter.key()) {
                Some(Cached::Plan(plan)) => Some(plan),
                Some(Cached::NotLiftable { .. }) => None,
                None => self.plan_lifted(hash, lifter.key(), lifter.sql(), lifter.literals()),
            }
        } else {
            is_refused = true;
            None
        };
        let params = found.as_ref().and_then(|plan| {
            let types = plan.param_types().iter();
            let values = lifter.literals().iter().zip(types);
            values.map(|(literal, ty)| self.literal(literal, *ty, text)).collect()
        });
        self.planning.lifter = lifter;
        match is_refused {
            true => self.rows_of_literals(text),
            false => Ok(found.zip(params)),
        }
    }

    /// A literal as its parameter's value; `None` if it is not valid for that type.
    pub(super) fn literal(
        &self,
        literal: &LiftedLiteral,
        type_oid: Oid,
        text: &str,
    ) -> Option<Datum> {
        match (literal, type_oid) {
            (LiftedLiteral::Int4(value), oid::INT4) => Some(Datum::Int4(*value)),
            (LiftedLiteral::Int8(value), oid::INT8) => Some(Datum::Int8(*value)),
            (literal, _) => text_io::input(type_oid, -1, &literal.text(text), self.io()).ok(),
        }
    }

    /// Plans a lifted statement. A failure is cached, too.
    fn plan_lifted(
        &mut self,
        hash: u64,
        key: &str,
        sql: &str,
        literals: &[LiftedLiteral],
    ) -> Option<Arc<CachedPlan>> {
        let declared: Vec<Oid> = literals
            .iter()
            .map(|literal| match literal {
                LiftedLiteral::Int4(_) => oid::INT4,
                LiftedLiteral::Int8(_) => oid::INT8,
                LiftedLiteral::Numeric { .. } => oid::NUMERIC,
                LiftedLiteral::Unknown { .. } => 0,
            })
            .collect();
        let planned = parse_one(sql).and_then(|parsed| {
            let statement = Arc::new(parsed.statement);
            let wanted = Wanted { key, for_cursor: false, values: &[] };
            self.plan_as(&statement, &Arc::from(sql), Params::variable(&declared), wanted)
        });
        // More parameters than literals mean that the text has its own parameters.
        let fits = |plan: &CachedPlan| plan.param_types().len() == literals.len();
        let plan = planned.ok().filter(|p| fits(p) && !p.depends_on_literals).map(Arc::new);
        if let Some(plan) = &plan {
            self.count_planning(plan);
        }
        let cached = match &plan {
            Some(plan) => Cached::Plan(Arc::clone(plan)),
            None => Cached::NotLiftable { epoch: self.namespace.names.catalog.epoch },
        };
        self.remember(hash, key, cached);
        plan
    }

    /// The plan of a statement with its literals, by its text and its parameters' types. `parsed`
    /// is the parsed statement, if there is one.
    pub(super) fn text_plan(
        &mut self,
        text: &str,
        parsed: Option<&Arc<ast::Statement>>,
        declared: &[Oid],
    ) -> Result<Option<Arc<CachedPlan>>> {
        self.refresh_names();
        let mut key = String::with_capacity(text.len() + 8);
        key.push(TEXT_KEY);
        key.push_str(text);
        for ty in declared {
            key.push_str(&format!("\u{1}{ty}"));
        }
        let hash = self.core.server.plans.hash(&key, self.fingerprint);
        if self.may_share()
            && let Some(Cached::Plan(plan)) = self.cached(hash, &key)
        {
            return Ok(Some(plan));
        }
        let Some(statement) = parsed else { return Ok(None) };
        let source = Arc::from(text);
        let plan = self.plan(statement, &source, Params::variable(declared), &key)?;
        if self.may_share() {
            self.remember(hash, &key, Cached::Plan(Arc::clone(&plan)));
        }
        Ok(Some(plan))
    }

    /// The same statement's plan for the current catalog, with the same columns.
    pub(super) fn replan(&mut self, old: &Arc<CachedPlan>) -> Result<Arc<CachedPlan>> {
        self.plan_again(old).and_then(|plan| same_columns(old, plan))
    }

    /// The same statement's plan for the current catalog. Its columns may differ.
    pub(super) fn plan_again(&mut self, old: &Arc<CachedPlan>) -> Result<Arc<CachedPlan>> {
        self.refresh_names();
        if self.is_current(old) {
            return Ok(Arc::clone(old));
        }
        if old.compiled.row_params().is_some() {
            return self.rows_again(old);
        }
        if let Some(plan) = self.shared_again(old) {
            return Ok(plan);
        }
        // The plan is not shared: its text alone may infer other types for another session.
        let params = Params::fixed(old.param_types());
        match old.compiled.planned().positions {
            None => self.plan(&old.statement, &old.source, params, ""),
            Some(_) => self.plan_cursor(&old.statement, &old.source, params),
        }
    }

    /// The shared plan of a statement, from the cache or new, if its parameters still have the same
    /// types. Inferred types may change.
    fn shared_again(&mut self, old: &Arc<CachedPlan>) -> Option<Arc<CachedPlan>> {
        if !self.may_share() || old.key.is_empty() {
            return None;
        }
        let hash = self.core.server.plans.hash(&old.key, self.fingerprint);
        let plan = match self.cached(hash, &old.key) {
            Some(Cached::Plan(plan)) => plan,
            _ => {
                let params = old.declared.clone();
                let plan = self.plan(&old.statement, &old.source, params, &old.key).ok()?;
                self.remember(hash, &old.key, Cached::Plan(Arc::clone(&plan)));
                plan
            }
        };
        (plan.param_types() == old.param_types()).then_some(plan)
    }

    /// Binds, plans and compiles a statement.
    pub(super) fn plan(
        &mut self,
        statement: &Arc<ast::Statement>,
        source: &Arc<str>,
        params: Params,
        key: &str,
    ) -> Result<Arc<CachedPlan>> {
        let wanted = Wanted { key, for_cursor: false, values: &[] };
        let plan = self.plan_as(statement, source, params, wanted)?;
        self.count_planning(&plan);
        Ok(Arc::new(plan))
    }

    /// As [`Self::plan`], for the query of a cursor: its rows carry their positions.
    pub(super) fn plan_cursor(
        &mut self,
        query: &Arc<ast::Statement>,
        source: &Arc<str>,
        params: Params,
    ) -> Result<Arc<CachedPlan>> {
        let wanted = Wanted { key: "", for_cursor: true, values: &[] };
        let plan = self.plan_as(query, source, params, wanted)?;
        self.count_planning(&plan);
        Ok(Arc::new(plan))
    }

    /// As [`Self::plan`], with options. The caller counts the planning.
    pub(super) fn plan_as(
        &mut self,
        statement: &Arc<ast::Statement>,
        source: &Arc<str>,
        params: Params,
        wanted: Wanted<'_>,
    ) -> Result<CachedPlan> {
        outbox::send_now();
        // The time of planning is part of neither the last run's time nor the next one's.
        self.end_run_before_planning();
        let planning = Planning {
            names: &self.namespace.names,
            io: &self.statement.env.io,
            planner: &self.settings.live.planner,
            older: self.namespace.older.as_deref(),
            engine: &self.core.server.engine,
            interrupts: &|| self.core.check_interrupts(),
            for_cursor: wanted.for_cursor,
            values: wanted.values,
        };
        let prepared = prepare(&planning, statement, source, params).map_err(|unbound| {
            self.planning.unbound_relations = unbound.mentioned;
            unbound.error
        })?;
        let planned = prepared.compiled.planned();
        Ok(CachedPlan {
            key: wanted.key.into(),
            fingerprint: self.fingerprint,
            text: self.own_text(source),
            counted: OnceLock::new(),
            description: describe(planned)?,
            collations: collations(planned, &self.namespace.names.catalog),
            shows_session: prepared.compiled.reads_virtual(crate::system_views::session::VIEWS),
            // A plan for given values is itself a variant.
            variants: match wanted.values {
                [] => Variants::of(&planned.sensitive, self.estimates_by()),
                _ => None,
            },
            prepared,
        })
    }
}

/// The options of planning.
pub(super) struct Wanted<'a> {
    /// The plan's key in the cache.
    pub key: &'a str,
    /// The plan's rows carry their positions.
    pub for_cursor: bool,
    /// Values of the parameters to plan for; empty if there are none.
    pub values: &'a [Datum],
}

/// Refuses a plan with other columns: the client knows those of the prepared statement
/// (equalRowTypes).
pub(super) fn same_columns(old: &CachedPlan, new: Arc<CachedPlan>) -> Result<Arc<CachedPlan>> {
    let (before, now) = (old.compiled.columns(), new.compiled.columns());
    let mut pairs = before.iter().zip(now);
    let are_alike = before.len() == now.len()
        && pairs.all(|(a, b)| a.name == b.name && a.ty == b.ty)
        && old.collations == new.collations;
    if are_alike {
        return Ok(new);
    }
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "cached plan must not change result type")
        .raised_in("plancache.c", 860, "RevalidateCachedQuery"))
}

/// The columns' collations. An ALTER TABLE may change them without a change of name or type.
pub(super) fn collations(planned: &PlannedStmt, catalog: &Catalog) -> Box<[Oid]> {
    let collation = |(table, attnum): (Oid, i16)| {
        let column = usize::try_from(attnum - 1).ok();
        let found = column.and_then(|at| catalog.relation(table)?.columns.get(at));
        found.map_or(0, |column| column.collation)
    };
    planned.columns.iter().map(|column| collation(column.origin)).collect()
}

/// RowDescription of a plan with all columns in text format.
pub(super) fn describe(planned: &PlannedStmt) -> Result<Box<[u8]>> {
    let mut out = Vec::new();
    if !planned.columns.is_empty() || planned.command == Command::Select {
        let formats = super::sink::ResultFormats::Text;
        put_description(&mut out, &planned.columns, &formats)?;
    }
    Ok(out.into())
}

/// Appends RowDescription.
pub(super) fn put_description(
    out: &mut Vec<u8>,
    columns: &[steppe_sql::plan::ResultColumn],
    formats: &super::sink::ResultFormats,
) -> Result<()> {
    let fields = columns.iter().enumerate().map(|(i, column)| Field {
        name: &column.name,
        table_oid: column.origin.0,
        column: column.origin.1,
        type_oid: column.ty.oid,
        type_size: steppe_catalog::builtin::ty(column.ty.oid).map_or(-1, |ty| ty.len),
        type_modifier: column.ty.typmod,
        format: formats.get(i),
    });
    backend::row_description(out, fields)
}
