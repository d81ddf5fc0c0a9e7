//! SET CONSTRAINTS, and the deferred checks of a transaction (AfterTriggerSetState and
//! AfterTriggerFireDeferred in src/backend/commands/trigger.c).

use steppe_functions::KeyCheck;
use steppe_sql::ast::{RangeVar, SetConstraintsStmt};
use steppe_types::{Error, Oid, Result, SqlState};

use super::Session;

impl Session {
    /// SET CONSTRAINTS. 42704 for an unknown constraint, 42809 if it would defer one that is not
    /// DEFERRABLE.
    pub(super) fn set_constraints(&mut self, set: &SetConstraintsStmt) -> Result<()> {
        let mut indexes = Vec::new();
        for name in &set.constraints {
            self.deferrable_keys(name, set.deferred, &mut indexes)?;
        }
        if !self.transaction.in_block() {
            return Ok(());
        }
        let depth = self.transaction.depth();
        let due = {
            let mut constraints = self.core.constraints.lock();
            constraints.save(depth);
            match set.constraints.is_empty() {
                true => constraints.set_all(set.deferred),
                false => constraints.set(&indexes, set.deferred),
            }
            constraints.take_due(depth, &self.namespace.names.catalog)
        };
        self.check_keys(due)
    }

    /// The indexes of the DEFERRABLE keys of this name, and of their partitions, in the first
    /// schema of the search path that has a constraint of that name.
    fn deferrable_keys(&self, name: &RangeVar, deferred: bool, out: &mut Vec<Oid>) -> Result<()> {
        let (catalog, wanted) = (self.newest_catalog(), name.name.as_str());
        let schemas = match &name.schema {
            None => self.namespace.names.path.to_vec(),
            Some(schema) => match catalog.schema_in(schema, &self.namespace.names.path) {
                Some(schema) => vec![schema.oid],
                None => {
                    let message = format!("schema \"{schema}\" does not exist");
                    return Err(Error::new(SqlState::INVALID_SCHEMA_NAME, message));
                }
            },
        };
        for schema in schemas {
            let mut found = false;
            for table in catalog.relations().filter(|table| table.schema == schema) {
                let named = table.constraints.iter().filter(|own| *own.name == *wanted);
                for constraint in named {
                    found = true;
                    let index = constraint.index().and_then(|index| catalog.relation(index));
                    let info = index.and_then(|index| Some((index, index.index.as_ref()?)));
                    match info.filter(|(_, info)| info.deferral.is_deferrable()) {
                        Some((index, _)) => {
                            out.extend(catalog.descendants(index).iter().map(|index| index.oid));
                        }
                        None if deferred => {
                            let message = format!("constraint \"{wanted}\" is not deferrable");
                            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                        }
                        None => {}
                    }
                }
            }
            if found {
                return Ok(());
            }
        }
        let message = format!("constraint \"{wanted}\" does not exist");
        Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
    }

    /// Runs the deferred checks at the end of the transaction.
    pub(super) fn check_deferred(&mut self) -> Result<()> {
        let checks = self.core.constraints.lock().take_all();
        self.check_keys(checks)
    }

    fn check_keys(&mut self, checks: Vec<KeyCheck>) -> Result<()> {
        if checks.is_empty() {
            return Ok(());
        }
        self.refresh_names();
        self.start_statement()?;
        let (env, txn) = (&self.statement.env, &mut self.transaction.txn);
        tokio::task::block_in_place(|| steppe_exec::check_keys(&checks, env, txn))?;
        self.end_statement();
        Ok(())
    }
}
