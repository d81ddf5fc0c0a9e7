//! SET CONSTRAINTS, for the client and in functions (AfterTriggerSetState in
//! src/backend/commands/trigger.c).

use super::{Spi, present};
use crate::change::run_deferred;
use steppe_catalog::system::triggers::triggers;
use steppe_catalog::{Catalog, Constraint, Relation};
use steppe_sql::ast::{RangeVar, SetConstraintsStmt};
use steppe_types::{Error, Oid, Result, SqlState};

impl Spi<'_> {
    /// SET CONSTRAINTS. The events that are no longer deferred run now.
    pub(super) fn set_constraints(&mut self, set: &SetConstraintsStmt) -> Result<()> {
        let frame = self.frame()?;
        let named = named_constraints(&frame.names.catalog, &frame.names.path, set)?;
        let env = self.env_of(&frame)?;
        self.lend(|txn| {
            let transaction = present(txn)?;
            transaction.set_constraints(named.as_deref(), set.deferred);
            let due = transaction.take_due(false);
            if due.is_empty() {
                return Ok(());
            }
            transaction.txn.start_statement()?;
            run_deferred(due, &env, txn)
        })
    }
}

/// The constraints that SET CONSTRAINTS names, and the ones of partitions. `None` is ALL. 42704 for an
/// unknown constraint, 42809 if it would defer one that is not DEFERRABLE.
pub fn named_constraints(
    catalog: &Catalog,
    path: &[Oid],
    set: &SetConstraintsStmt,
) -> Result<Option<Vec<Oid>>> {
    if set.constraints.is_empty() {
        return Ok(None);
    }
    let mut named = Vec::new();
    for name in &set.constraints {
        deferrable_constraints(catalog, path, (name, set.deferred), &mut named)?;
    }
    Ok(Some(named))
}

/// The DEFERRABLE constraints of this name, with those of partitions, in the first schema of
/// the search path that has a constraint of that name.
fn deferrable_constraints(
    catalog: &Catalog,
    path: &[Oid],
    (name, deferred): (&RangeVar, bool),
    out: &mut Vec<Oid>,
) -> Result<()> {
    let wanted = name.name.as_str();
    let schemas = match &name.schema {
        None => path.to_vec(),
        Some(schema) => match catalog.schema_in(schema, path) {
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
                match deferrable(catalog, table, constraint) {
                    Some(known) => out.extend(known),
                    None if deferred => {
                        return Err(not_deferrable(wanted));
                    }
                    None => {}
                }
            }
        }
        found |= deferrable_triggers(catalog, (schema, wanted), deferred, out)?;
        if found {
            return Ok(());
        }
    }
    let message = format!("constraint \"{wanted}\" does not exist");
    Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
}

/// The constraint triggers of this name in a schema. Whether there are any.
fn deferrable_triggers(
    catalog: &Catalog,
    (schema, wanted): (Oid, &str),
    deferred: bool,
    out: &mut Vec<Oid>,
) -> Result<bool> {
    let mut found = false;
    for (table, trigger) in triggers(catalog) {
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
