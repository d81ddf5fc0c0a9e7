//! The list of a session's prepared statements, which the extended protocol and PREPARE name.
//! Functions of the session use those with names: PREPARE, EXECUTE, DEALLOCATE.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use steppe_exec::spi::{NewStatement, SessionStatement, SessionStatements};
use steppe_types::{Error, Result, SqlState};

use super::plan::{collations, describe};
use super::portal::{BYTES_MAX, Body, Map, NAMED_MAX, Prepared, too_many};
use crate::plan_cache::CachedPlan;
use crate::system_views::session::ShownStatement;

/// A session's prepared statements with names. The session is lent out while a statement runs, and
/// the statement's functions reach them here.
#[derive(Clone, Default)]
pub(crate) struct NamedStatements(Arc<Mutex<Named>>);

#[derive(Default)]
struct Named {
    statements: Map<Prepared>,
    bytes: usize,
}

impl NamedStatements {
    fn get(&self, name: &str) -> Result<Prepared> {
        self.0.lock().statements.get(name).cloned().ok_or_else(|| {
            let message = format!("prepared statement \"{name}\" does not exist");
            Error::new(SqlState::INVALID_SQL_STATEMENT_NAME, message)
        })
    }

    /// 42P05 if the name is taken.
    fn check_free(&self, name: &str) -> Result<()> {
        if !self.0.lock().statements.contains_key(name) {
            return Ok(());
        }
        let message = format!("prepared statement \"{name}\" already exists");
        Err(Error::new(SqlState::DUPLICATE_PREPARED_STATEMENT, message))
    }

    fn put(&self, name: &str, prepared: Prepared) -> Result<()> {
        let named = &mut *self.0.lock();
        let bytes = named.bytes + prepared.text.len() + name.len();
        if named.statements.len() >= NAMED_MAX || bytes > BYTES_MAX {
            return Err(too_many("prepared statements"));
        }
        named.bytes = bytes;
        named.statements.insert(name.into(), prepared);
        Ok(())
    }

    fn remove(&self, name: &str) -> bool {
        let named = &mut *self.0.lock();
        let removed = named.statements.remove(name);
        if let Some(prepared) = &removed {
            named.bytes -= prepared.text.len() + name.len();
        }
        removed.is_some()
    }

    /// DEALLOCATE of one (26000 if there is none), or of all.
    pub(crate) fn deallocate(&self, name: Option<&str>) -> Result<()> {
        match name {
            None => *self.0.lock() = Named::default(),
            Some(name) if self.remove(name) => {}
            Some(name) => return self.get(name).map(drop),
        }
        Ok(())
    }

    /// All of them, for pg_prepared_statements.
    pub(crate) fn shown(&self) -> Vec<ShownStatement> {
        let show = |name: &str, prepared: &Prepared| ShownStatement {
            name: name.into(),
            statement: Arc::clone(&prepared.text),
            prepared_at: prepared.prepared_at,
            parameters: prepared.param_types().into(),
            results: match &prepared.body {
                Body::Plan(plan) if !plan.description.is_empty() => {
                    Some(plan.compiled.columns().iter().map(|column| column.ty.oid).collect())
                }
                _ => None,
            },
            from_sql: prepared.from_sql,
        };
        self.0.lock().statements.iter().map(|(name, prepared)| show(name, prepared)).collect()
    }
}

/// Functions of the session use its statements.
impl SessionStatements for NamedStatements {
    fn find(&self, name: &str) -> Result<SessionStatement> {
        let prepared = self.get(name)?;
        let types = prepared.param_types().into();
        Ok(match &prepared.body {
            Body::Plan(plan) => SessionStatement {
                statement: Some(Arc::clone(&plan.statement)),
                source: Arc::clone(&plan.source),
                types,
                columns: plan.compiled.columns().into(),
            },
            body => SessionStatement {
                statement: match body {
                    Body::Utility(statement) => Some(Arc::clone(statement)),
                    _ => None,
                },
                source: prepared.text,
                types,
                columns: Arc::default(),
            },
        })
    }

    /// The session plans the statement again when the client runs it, with its own names.
    fn put(&self, name: &str, new: NewStatement<'_>) -> Result<()> {
        self.check_free(name)?;
        let planned = new.plan.compiled.planned();
        let (source, declared) = (Arc::clone(&new.plan.source), Arc::from(new.types));
        let plan = CachedPlan {
            key: Box::default(),
            fingerprint: 0,
            text: Arc::clone(&source),
            counted: OnceLock::new(),
            description: describe(planned)?,
            collations: collations(planned, new.catalog),
            shows_session: new.plan.compiled.reads_virtual(crate::system_views::session::VIEWS),
            variants: None,
            prepared: new.plan,
        };
        let prepared = Prepared {
            text: source,
            body: Body::Plan(Arc::new(plan)),
            declared,
            prepared_at: new.prepared_at,
            from_sql: true,
            custom_plans: 0,
        };
        NamedStatements::put(self, name, prepared)
    }
}

/// A session's prepared statements.
#[derive(Default)]
pub(super) struct Statements {
    named: NamedStatements,
    /// The statement that drivers use. It is kept separately, so that it needs no look-up.
    unnamed: Option<Prepared>,
}

impl Statements {
    /// With these named statements, which functions reach.
    pub(super) fn of(named: NamedStatements) -> Statements {
        Statements { named, unnamed: None }
    }

    /// The statement of this name. The empty name is the unnamed statement.
    pub(super) fn get(&self, name: &str) -> Result<Prepared> {
        if !name.is_empty() {
            return self.named.get(name);
        }
        self.unnamed.clone().ok_or_else(|| {
            let message = "unnamed prepared statement does not exist";
            Error::new(SqlState::INVALID_SQL_STATEMENT_NAME, message)
        })
    }

    /// Changes a statement, if there is one of this name.
    fn change(&mut self, name: &str, change: impl FnOnce(&mut Prepared)) {
        match name.is_empty() {
            true => self.unnamed.as_mut().map(change),
            false => self.named.0.lock().statements.get_mut(name).map(change),
        };
    }

    /// Replaces the plan of a statement by one for the present catalog.
    pub(super) fn set_plan(&mut self, name: &str, plan: Arc<CachedPlan>) {
        self.change(name, |prepared| prepared.body = Body::Plan(plan));
    }

    /// Counts a custom plan of a statement.
    pub(super) fn count_custom_plan(&mut self, name: &str) {
        self.change(name, |prepared| {
            prepared.custom_plans = prepared.custom_plans.saturating_add(1);
        });
    }

    /// 42P05 if the name is taken; the unnamed statement is replaced instead.
    pub(super) fn check_free(&self, name: &str) -> Result<()> {
        if name.is_empty() { Ok(()) } else { self.named.check_free(name) }
    }

    /// Adds a statement.
    pub(super) fn put(&mut self, name: &str, prepared: Prepared) -> Result<()> {
        if name.is_empty() {
            self.unnamed = Some(prepared);
            return Ok(());
        }
        self.named.put(name, prepared)
    }

    /// Close. Returns whether the statement existed.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        match name.is_empty() {
            true => self.unnamed.take().is_some(),
            false => self.named.remove(name),
        }
    }

    /// A Query message ends the unnamed statement.
    pub(super) fn drop_unnamed(&mut self) {
        self.unnamed = None;
    }

    /// DEALLOCATE of one (26000 if there is none), or of all.
    pub(super) fn deallocate(&mut self, name: Option<&str>) -> Result<()> {
        self.named.deallocate(name)
    }
}
