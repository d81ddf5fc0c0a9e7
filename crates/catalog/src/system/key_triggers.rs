//! pg_trigger's rows of foreign keys: internal triggers that PostgreSQL has for them
//! (createForeignKeyActionTriggers, createForeignKeyCheckTriggers). Here the executor checks keys by
//! itself, and the rows only show what it does.
//!
//! A partitioned table's key has check triggers on each partition. (The rows that PostgreSQL has for
//! each partition of a referenced table are left out.)

use super::definitions::{
    Style, function_reference, qualified_name, quote_identifier, visible_name,
};
use super::rows::{RowsBuilder, vector};
use super::session::SystemContext;
use crate::foreign_key::{ForeignKey, ReferentialAction};
use crate::relation::{Constraint, Deferral, Relation};
use crate::snapshot::Catalog;
use crate::trigger::TriggerEnabled;
use std::sync::Arc;
use steppe_types::{Datum, Oid, oid};

/// AFTER ROW triggers by event, as pg_trigger.tgtype has them.
const ROW: i16 = 1;
const INSERT: i16 = 4;
const DELETE: i16 = 8;
const UPDATE: i16 = 16;

/// RI_FKey_check_ins and RI_FKey_check_upd.
const CHECKS: [Oid; 2] = [1644, 1645];

/// The functions of an action on DELETE and UPDATE: RI_FKey_cascade_del and RI_FKey_cascade_upd …
fn functions(action: ReferentialAction) -> [Oid; 2] {
    match action {
        ReferentialAction::Cascade => [1646, 1647],
        ReferentialAction::Restrict => [1648, 1649],
        ReferentialAction::SetNull => [1650, 1651],
        ReferentialAction::SetDefault => [1652, 1653],
        ReferentialAction::NoAction => [1654, 1655],
    }
}

/// An internal trigger.
struct KeyTrigger<'c> {
    oid: Oid,
    /// The trigger of the constraint above that it belongs to, or 0.
    parent: Oid,
    /// It acts on the removal of a key.
    acts: bool,
    event: i16,
    function: Oid,
    /// The table that it is on, and the other one.
    on: &'c Relation,
    other: Oid,
    constraint: &'c Constraint,
    key: &'c ForeignKey,
}

impl KeyTrigger<'_> {
    fn name(&self) -> String {
        format!("RI_ConstraintTrigger_{}_{}", if self.acts { "a" } else { "c" }, self.oid)
    }

    fn enabled(&self) -> TriggerEnabled {
        self.on.key_enabled(self.constraint.oid, self.acts)
    }

    /// Only checks, and NO ACTION, can wait for the transaction's end.
    fn deferral(&self) -> Deferral {
        let waits = !self.acts || functions(ReferentialAction::NoAction).contains(&self.function);
        if waits { self.key.deferral } else { Deferral::default() }
    }
}

/// The internal triggers of all foreign keys.
fn key_triggers(catalog: &Catalog) -> impl Iterator<Item = KeyTrigger<'_>> {
    let keys = |table| Relation::foreign_keys(table).map(move |(own, key)| (table, own, key));
    let keys = catalog.relations().map(Arc::as_ref).flat_map(keys);
    keys.flat_map(|(table, constraint, key)| of_key(catalog, table, constraint, key))
}

fn of_key<'c>(
    catalog: &'c Catalog,
    table: &'c Relation,
    constraint: &'c Constraint,
    key: &'c ForeignKey,
) -> Vec<KeyTrigger<'c>> {
    let (Some(oids), false) = (constraint.key_triggers.as_deref(), key.not_enforced) else {
        return Vec::new();
    };
    let above = table.parents().next().and_then(|parent| catalog.relation(parent));
    let above = above
        .and_then(|above| above.constraints.iter().find(|above| above.oid == constraint.parent));
    let above = above.and_then(|above| above.key_triggers.as_deref());
    let trigger = |at: usize, on: &'c Relation, event: i16, function: Oid| KeyTrigger {
        oid: oids[at],
        parent: above.map_or(0, |above| above[at]),
        acts: at < 2,
        event,
        function,
        on,
        other: if at < 2 { table.oid } else { key.table },
        constraint,
        key,
    };
    let mut found = Vec::with_capacity(4);
    let referenced = catalog.relation(key.table).filter(|_| constraint.parent == 0);
    if let Some(referenced) = referenced {
        found.push(trigger(0, referenced, DELETE, functions(key.on_delete)[0]));
        found.push(trigger(1, referenced, UPDATE, functions(key.on_update)[1]));
    }
    found.push(trigger(2, table, INSERT, CHECKS[0]));
    found.push(trigger(3, table, UPDATE, CHECKS[1]));
    found
}

/// The rows of pg_trigger.
pub(super) fn rows(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for trigger in key_triggers(context.catalog) {
        let deferral = trigger.deferral();
        out.row([
            ("oid", Datum::Oid(trigger.oid)),
            ("tgrelid", Datum::Oid(trigger.on.oid)),
            ("tgparentid", Datum::Oid(trigger.parent)),
            ("tgname", Datum::text(trigger.name())),
            ("tgfoid", Datum::Oid(trigger.function)),
            ("tgtype", Datum::Int2(ROW | trigger.event)),
            ("tgenabled", Datum::Char(trigger.enabled().letter())),
            ("tgisinternal", Datum::Bool(true)),
            ("tgconstrrelid", Datum::Oid(trigger.other)),
            ("tgconstrindid", Datum::Oid(trigger.key.index)),
            ("tgconstraint", Datum::Oid(trigger.constraint.oid)),
            ("tgdeferrable", Datum::Bool(deferral.is_deferrable())),
            ("tginitdeferred", Datum::Bool(deferral.is_deferred())),
            ("tgnargs", Datum::Int2(0)),
            ("tgattr", vector(oid::INT2, Vec::new())),
            ("tgargs", Datum::Bytea(Vec::new().into())),
            ("tgqual", Datum::Null),
            ("tgoldtable", Datum::Null),
            ("tgnewtable", Datum::Null),
        ]);
    }
}

/// pg_get_triggerdef of an internal trigger. `None`: there is no such one.
pub fn key_trigger_definition(catalog: &Catalog, oid: Oid, style: Style<'_>) -> Option<String> {
    let trigger = key_triggers(catalog).find(|trigger| trigger.oid == oid)?;
    let event = match trigger.event {
        INSERT => "INSERT",
        DELETE => "DELETE",
        _ => "UPDATE",
    };
    let on = match style.pretty {
        true => visible_name(catalog, trigger.on, style.search_path),
        false => qualified_name(catalog, trigger.on),
    };
    let from = visible_name(catalog, catalog.relation(trigger.other)?, style.search_path);
    let deferral = trigger.deferral();
    let not = if deferral.is_deferrable() { "" } else { "NOT " };
    let initially = if deferral.is_deferred() { "DEFERRED" } else { "IMMEDIATE" };
    Some(format!(
        "CREATE CONSTRAINT TRIGGER {} AFTER {event} ON {on} FROM {from} {not}DEFERRABLE INITIALLY \
         {initially} FOR EACH ROW EXECUTE FUNCTION {}()",
        quote_identifier(&trigger.name()),
        function_reference(catalog, trigger.function, style.search_path)
    ))
}
