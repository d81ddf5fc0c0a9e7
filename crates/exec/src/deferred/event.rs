//! A deferred event, and its form as a row of the store.

use crate::change::RowCommand;
use steppe_catalog::Deferral;
use steppe_functions::KeyCheck;
use steppe_txn::RowId;
use steppe_types::{Datum, Error, Oid, Result};

/// A key of a foreign key's columns, in the order of the constraint.
#[derive(Clone, Debug)]
pub struct KeyOfRow {
    /// The table of the row.
    pub table: Oid,
    /// The table that has the constraint: the row's table, or one that refers to it.
    pub referencing: Oid,
    /// The constraint.
    pub constraint: Oid,
    /// The row.
    pub row: RowId,
    /// The key's values.
    pub key: Box<[Datum]>,
    /// The number of the command that has written the row's version with the key. It matters for a
    /// referencing row only.
    pub command: u32,
}

/// A changed row that a constraint trigger is to be called for.
#[derive(Clone, Debug)]
pub struct TriggerRow {
    /// The table that has the trigger.
    pub table: Oid,
    /// The trigger.
    pub trigger: Oid,
    /// Its constraint.
    pub constraint: Oid,
    /// The change.
    pub command: RowCommand,
    /// The row before the change.
    pub old: Option<Box<[Datum]>>,
    /// The row after it.
    pub new: Option<Box<[Datum]>>,
}

/// An event that outlives its statement.
#[derive(Clone, Debug)]
pub enum DeferredEvent {
    /// Another row may have this unique key.
    Unique(KeyCheck),
    /// The row's key must be in the referenced table.
    Reference(Box<KeyOfRow>),
    /// Rows may refer to the removed key only if a row has it again.
    Unreferenced(Box<KeyOfRow>),
    /// A constraint trigger is to be called.
    Trigger(Box<TriggerRow>),
}

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Unique,
    Reference,
    Unreferenced,
    Trigger,
}

/// The part that the events of one constraint and one table have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Class {
    pub(super) kind: Kind,
    /// The table whose change queues them; for a unique key its index.
    pub(super) table: Oid,
    /// The referencing table, or the trigger.
    other: Oid,
    /// The OID by which SET CONSTRAINTS knows the constraint: of a foreign key, or of a key's index.
    pub(super) constraint: Oid,
    command: RowCommand,
    /// INITIALLY DEFERRED
    is_initially_deferred: bool,
}

/// The columns of a row of the store: the class, the row, and two more by the kind of event. They
/// are the key, or the row before the change and the one after it.
pub(super) const WIDTH: usize = 4;

impl Class {
    /// The class of an event, and its row in the store.
    pub(super) fn of(event: DeferredEvent, initially: Deferral) -> (Class, RowId, [Datum; 2]) {
        let is_initially_deferred = initially.is_deferred();
        let record =
            |row: Option<Box<[Datum]>>| row.map_or(Datum::Null, |r| Datum::Record(r.into()));
        let class = |kind, (table, other, constraint), command| Class {
            kind,
            table,
            other,
            constraint,
            command,
            is_initially_deferred,
        };
        let of_key = |kind, of: KeyOfRow| {
            let oids = (of.table, of.referencing, of.constraint);
            let values = [Datum::Record(of.key.into()), Datum::Int8(i64::from(of.command))];
            (class(kind, oids, RowCommand::Insert), of.row, values)
        };
        match event {
            DeferredEvent::Unique(KeyCheck { index, key, row }) => {
                let values = [Datum::Bytea(key.into()), Datum::Null];
                (class(Kind::Unique, (index, 0, index), RowCommand::Insert), row, values)
            }
            DeferredEvent::Reference(of) => of_key(Kind::Reference, *of),
            DeferredEvent::Unreferenced(of) => of_key(Kind::Unreferenced, *of),
            DeferredEvent::Trigger(of) => {
                let TriggerRow { table, trigger, constraint, command, old, new } = *of;
                let class = class(Kind::Trigger, (table, trigger, constraint), command);
                (class, RowId(0), [record(old), record(new)])
            }
        }
    }

    /// The event of a row of the store.
    pub(super) fn event(self, row: RowId, values: [Datum; 2]) -> Result<DeferredEvent> {
        let Class { table, other, constraint, command, .. } = self;
        let record = |value: Datum| match value {
            Datum::Record(row) => Some(Box::from(&*row)),
            _ => None,
        };
        let [first, second] = values;
        let of_key = |key: Datum, command: Datum| {
            let (Some(key), Datum::Int8(command)) = (record(key), command) else {
                return Err(lost());
            };
            let (referencing, command) = (other, command as u32);
            Ok(Box::new(KeyOfRow { table, referencing, constraint, row, key, command }))
        };
        Ok(match self.kind {
            Kind::Unique => {
                let Datum::Bytea(key) = first else { return Err(lost()) };
                DeferredEvent::Unique(KeyCheck { index: table, key: Box::from(&*key), row })
            }
            Kind::Reference => DeferredEvent::Reference(of_key(first, second)?),
            Kind::Unreferenced => DeferredEvent::Unreferenced(of_key(first, second)?),
            Kind::Trigger => {
                let (old, new) = (record(first), record(second));
                let trigger = other;
                let of = TriggerRow { table, trigger, constraint, command, old, new };
                DeferredEvent::Trigger(Box::new(of))
            }
        })
    }

    pub(super) fn initially(self) -> Deferral {
        match self.is_initially_deferred {
            true => Deferral::InitiallyDeferred,
            false => Deferral::InitiallyImmediate,
        }
    }
}

#[cold]
pub(super) fn lost() -> Error {
    Error::internal("a deferred event's row is not there")
}
