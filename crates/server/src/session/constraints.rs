//! SET CONSTRAINTS, and the deferred checks of a transaction (AfterTriggerSetState and
//! AfterTriggerFireDeferred in src/backend/commands/trigger.c).

use steppe_catalog::system::triggers::triggers;
use steppe_catalog::{Catalog, Constraint, Relation};
use steppe_exec::DueEvents;
use steppe_sql::ast::{RangeVar, SetConstraintsStmt};
use steppe_types::{Error, Oid, Result, SqlState};

use super::Session;

impl Session {
    /// SET CONSTRAINTS. 42704 for an unknown constraint, 42809 if it would defer one that is not
    /// DEFERRABLE.
    pub(super) fn set_constraints(&mut self, set: &SetConstraintsStmt) -> Result<()> {
        let mut named = Vec::new();
        for name in &set.constraints {
            self.deferrable_constraints(name, set.deferred, &mut named)?;
        }
        if !self.transaction.in_block() {
            return Ok(());
        }
        let transaction = self.transaction.running()?;
        let named = (!set.constraints.is_empty()).then_some(&named[..]);
        transaction.set_constraints(named, set.deferred);
        let due = transaction.take_due(false);
        self.run_deferred(due)
    }

    /// The DEFERRABLE constraints of this name, with those of partitions, in the first schema of
    /// the search path that has a constraint of that name.
    fn deferrable_constraints(
        &self,
        name: &RangeVar,
        deferred: bool,
        out: &mut Vec<Oid>,
    ) -> Result<()> {
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
                    match deferrable(&catalog, table, constraint) {
                        Some(known) => out.extend(known),
                        None if deferred => {
                            return Err(not_deferrable(wanted));
                        }
                        None => {}
                    }
                }
            }
            found |= self.deferrable_triggers((schema, wanted), deferred, out)?;
            if found {
                return Ok(());
            }
        }
        let message = format!("constraint \"{wanted}\" does not exist");
        Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
    }

    /// The constraint triggers of this name in a schema. Whether there are any.
    fn deferrable_triggers(
        &self,
        (schema, wanted): (Oid, &str),
        deferred: bool,
        out: &mut Vec<Oid>,
    ) -> Result<bool> {
        let mut found = false;
        for (table, trigger) in triggers(&self.newest_catalog()) {
            let Some(constraint) = trigger.constraint else { continue };
            if table.schema != schema || *trigger.name != *wanted {
                continue;
            }
            found = true;
            if constraint.deferral.is_deferrable() {
                out.push(constraint.oid);
            } else if deferred {
                return Err(not_deferrable(wanted));
            }
        }
        Ok(found)
    }

    /// Runs the deferred events at the end of the transaction. They may queue others.
    pub(super) fn check_deferred(&mut self) -> Result<()> {
        loop {
            let running = self.transaction.txn.as_mut();
            let due = running.map(|running| running.take_due(true)).unwrap_or_default();
            if due.is_empty() {
                return Ok(());
            }
            self.run_deferred(due)?;
        }
    }

    fn run_deferred(&mut self, due: DueEvents) -> Result<()> {
        if due.is_empty() {
            return Ok(());
        }
        self.refresh_names();
        self.start_statement()?;
        let (env, txn) = (&self.statement.env, &mut self.transaction.txn);
        tokio::task::block_in_place(|| steppe_exec::run_deferred(due, env, txn))?;
        self.end_statement();
        Ok(())
    }
}

/// 42809
fn not_deferrable(constraint: &str) -> Error {
    let message = format!("constraint \"{constraint}\" is not deferrable");
    Error::new(SqlState::WRONG_OBJECT_TYPE, message)
}

/// The OIDs by which SET CONSTRAINTS knows a constraint and the ones of its partitions. `None`: it is
/// not DEFERRABLE.
fn deferrable(catalog: &Catalog, table: &Relation, constraint: &Constraint) -> Option<Vec<Oid>> {
    if let Some(key) = constraint.foreign_key() {
        let root = catalog.root_constraint(table, constraint);
        return key.deferral.is_deferrable().then(|| vec![root]);
    }
    let index = catalog.relation(constraint.index()?)?;
    let is_deferrable = index.index.as_ref()?.deferral.is_deferrable();
    let all = || catalog.descendants(index).iter().map(|index| index.oid).collect();
    is_deferrable.then(all)
}
