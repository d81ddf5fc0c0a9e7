//! pg_trigger, pg_get_triggerdef, and information_schema's views of triggers.

use super::definitions::{
    Style, function_reference, qualified_name, quote_identifier, simple_quote_literal, visible_name,
};
use super::rows::{RowsBuilder, optional, text, vector};
use super::session::SystemContext;
use super::views::schema_name;
use crate::relation::Relation;
use crate::snapshot::Catalog;
use crate::trigger::{Trigger, TriggerTiming};
use std::sync::Arc;
use steppe_types::{Datum, Oid, oid};

/// OID of pg_trigger.
pub(super) const PG_TRIGGER: Oid = 2620;

/// All triggers with their relations.
pub fn triggers(catalog: &Catalog) -> impl Iterator<Item = (&Arc<Relation>, &Trigger)> {
    catalog.relations().flat_map(|r| r.triggers.iter().map(move |trigger| (r, trigger)))
}

/// A trigger by its OID, with its relation.
pub fn trigger_by_oid(catalog: &Catalog, oid: Oid) -> Option<(&Arc<Relation>, &Trigger)> {
    triggers(catalog).find(|(_, trigger)| trigger.oid == oid)
}

/// pg_trigger
pub(super) fn pg_trigger(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (relation, trigger) in triggers(context.catalog) {
        let constraint = trigger.constraint.as_ref();
        let deferral = constraint.map(|c| c.deferral).unwrap_or_default();
        let names = trigger.transition.as_deref();
        let mut arguments = Vec::new();
        for argument in &trigger.arguments {
            arguments.extend_from_slice(argument.as_bytes());
            arguments.push(0);
        }
        let columns = trigger.columns.iter().map(|attnum| Datum::Int2(*attnum)).collect();
        out.row([
            ("oid", Datum::Oid(trigger.oid)),
            ("tgrelid", Datum::Oid(relation.oid)),
            ("tgparentid", Datum::Oid(trigger.parent)),
            ("tgname", Datum::Text(trigger.name.clone())),
            ("tgfoid", Datum::Oid(trigger.function)),
            ("tgtype", Datum::Int2(trigger.type_bits())),
            ("tgenabled", Datum::Char(trigger.enabled.letter())),
            ("tgisinternal", Datum::Bool(false)),
            ("tgconstrrelid", Datum::Oid(constraint.map_or(0, |c| c.from))),
            ("tgconstrindid", Datum::Oid(0)),
            ("tgconstraint", Datum::Oid(constraint.map_or(0, |c| c.oid))),
            ("tgdeferrable", Datum::Bool(deferral.is_deferrable())),
            ("tginitdeferred", Datum::Bool(deferral.is_deferred())),
            ("tgnargs", Datum::Int2(trigger.arguments.len() as i16)),
            ("tgattr", vector(oid::INT2, columns)),
            ("tgargs", Datum::Bytea(arguments.into())),
            ("tgqual", optional(trigger.when.clone())),
            ("tgoldtable", optional(names.and_then(|names| names.old.clone()))),
            ("tgnewtable", optional(names.and_then(|names| names.new.clone()))),
        ]);
    }
    super::key_triggers::rows(context, out);
}

/// The rows of pg_constraint that constraint triggers have.
pub(super) fn constraint_rows(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (relation, trigger) in triggers(context.catalog) {
        let Some(constraint) = &trigger.constraint else { continue };
        out.row([
            ("oid", Datum::Oid(constraint.oid)),
            ("conname", Datum::Text(trigger.name.clone())),
            ("connamespace", Datum::Oid(relation.schema)),
            ("contype", Datum::Char(b't')),
            ("condeferrable", Datum::Bool(constraint.deferral.is_deferrable())),
            ("condeferred", Datum::Bool(constraint.deferral.is_deferred())),
            ("conenforced", Datum::Bool(true)),
            ("convalidated", Datum::Bool(true)),
            ("conrelid", Datum::Oid(relation.oid)),
            ("confupdtype", Datum::Char(b' ')),
            ("confdeltype", Datum::Char(b' ')),
            ("confmatchtype", Datum::Char(b' ')),
            ("conislocal", Datum::Bool(true)),
            ("connoinherit", Datum::Bool(true)),
        ]);
    }
}

/// pg_get_constraintdef of a constraint trigger, by the OID of its constraint.
pub fn constraint_trigger_definition(catalog: &Catalog, constraint: Oid) -> Option<&'static str> {
    let mut of_triggers = triggers(catalog).filter_map(|(_, trigger)| trigger.constraint);
    let found = of_triggers.find(|own| own.oid == constraint)?;
    Some(match (found.deferral.is_deferrable(), found.deferral.is_deferred()) {
        (false, _) => "TRIGGER",
        (true, false) => "TRIGGER DEFERRABLE",
        (true, true) => "TRIGGER DEFERRABLE INITIALLY DEFERRED",
    })
}

/// pg_get_triggerdef: the CREATE TRIGGER statement.
pub fn trigger_definition(
    catalog: &Catalog,
    relation: &Relation,
    trigger: &Trigger,
    style: Style<'_>,
) -> String {
    let kind = if trigger.constraint.is_some() { "CONSTRAINT " } else { "" };
    let name = quote_identifier(&trigger.name);
    let on = match style.pretty {
        true => visible_name(catalog, relation, style.search_path),
        false => qualified_name(catalog, relation),
    };
    let timing = timing_word(trigger.timing);
    let events = events_text(relation, trigger);
    let mut out = format!("CREATE {kind}TRIGGER {name} {timing} {events} ON {on} ");
    if let Some(constraint) = &trigger.constraint {
        if let Some(from) = catalog.relation(constraint.from) {
            let from = visible_name(catalog, from, style.search_path);
            out.push_str(&format!("FROM {from} "));
        }
        let not = if constraint.deferral.is_deferrable() { "" } else { "NOT " };
        let initially = if constraint.deferral.is_deferred() { "DEFERRED" } else { "IMMEDIATE" };
        out.push_str(&format!("{not}DEFERRABLE INITIALLY {initially} "));
    }
    if let Some(names) = &trigger.transition {
        out.push_str("REFERENCING ");
        for (word, name) in [("OLD", &names.old), ("NEW", &names.new)] {
            if let Some(name) = name {
                out.push_str(&format!("{word} TABLE AS {} ", quote_identifier(name)));
            }
        }
    }
    out.push_str(if trigger.is_row() { "FOR EACH ROW " } else { "FOR EACH STATEMENT " });
    if let Some(when) = &trigger.when {
        out.push_str(&format!("WHEN ({}) ", style.expression(catalog, when)));
    }
    out.push_str(&action(catalog, trigger, style));
    out
}

fn timing_word(timing: TriggerTiming) -> &'static str {
    match timing {
        TriggerTiming::Before => "BEFORE",
        TriggerTiming::After => "AFTER",
        TriggerTiming::InsteadOf => "INSTEAD OF",
    }
}

fn events_text(relation: &Relation, trigger: &Trigger) -> String {
    let columns: Vec<_> =
        trigger.columns.iter().filter_map(|c| column_name(relation, *c)).collect();
    let update = match columns.is_empty() {
        true => "UPDATE".to_owned(),
        false => {
            let names: Vec<_> = columns.iter().map(|name| quote_identifier(name)).collect();
            format!("UPDATE OF {}", names.join(", "))
        }
    };
    let events = trigger.events;
    let named = [
        (events.insert, "INSERT"),
        (events.delete, "DELETE"),
        (events.update, &*update),
        (events.truncate, "TRUNCATE"),
    ];
    let named: Vec<&str> = named.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    named.join(" OR ")
}

fn column_name(relation: &Relation, attnum: i16) -> Option<&Arc<str>> {
    let position = usize::try_from(attnum - 1).ok()?;
    relation.columns.get(position).map(|column| &column.name)
}

/// `EXECUTE FUNCTION f(…)`.
fn action(catalog: &Catalog, trigger: &Trigger, style: Style<'_>) -> String {
    let function = function_reference(catalog, trigger.function, style.search_path);
    let arguments: Vec<String> =
        trigger.arguments.iter().map(|argument| simple_quote_literal(argument)).collect();
    format!("EXECUTE FUNCTION {function}({})", arguments.join(", "))
}

/// The events of information_schema.triggers, in the order of their bits.
const EVENTS: [(i16, &str); 3] = [(4, "INSERT"), (8, "DELETE"), (16, "UPDATE")];

/// information_schema.triggers
pub(super) fn view_of_triggers(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    let path = context.session.search_path();
    let style = Style { pretty: false, search_path: &path };
    for (relation, trigger) in triggers(context.catalog) {
        let schema = schema_name(context.catalog, relation.schema);
        let bits = trigger.type_bits();
        let names = trigger.transition.as_deref();
        for (event, word) in EVENTS.into_iter().filter(|(event, _)| bits & event != 0) {
            // The triggers of the same event and timing that fire before this one, by name.
            let is_before = |other: &&Trigger| {
                let same = other.type_bits();
                same & event != 0 && same & (1 | 66) == bits & (1 | 66) && other.name < trigger.name
            };
            let order = 1 + relation.triggers.iter().filter(is_before).count() as i32;
            let level = if trigger.is_row() { "ROW" } else { "STATEMENT" };
            out.row([
                ("trigger_catalog", text(context.database)),
                ("trigger_schema", schema.clone()),
                ("trigger_name", Datum::Text(trigger.name.clone())),
                ("event_manipulation", text(word)),
                ("event_object_catalog", text(context.database)),
                ("event_object_schema", schema.clone()),
                ("event_object_table", Datum::Text(relation.name.clone())),
                ("action_order", Datum::Int4(order)),
                ("action_condition", optional(trigger.when.clone())),
                ("action_statement", text(action(context.catalog, trigger, style))),
                ("action_orientation", text(level)),
                ("action_timing", text(timing_word(trigger.timing))),
                ("action_reference_old_table", optional(names.and_then(|n| n.old.clone()))),
                ("action_reference_new_table", optional(names.and_then(|n| n.new.clone()))),
            ]);
        }
    }
}

/// information_schema.triggered_update_columns
pub(super) fn triggered_update_columns(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (relation, trigger) in triggers(context.catalog) {
        let schema = schema_name(context.catalog, relation.schema);
        for column in trigger.columns.iter().filter_map(|c| column_name(relation, *c)) {
            out.row([
                ("trigger_catalog", text(context.database)),
                ("trigger_schema", schema.clone()),
                ("trigger_name", Datum::Text(trigger.name.clone())),
                ("event_object_catalog", text(context.database)),
                ("event_object_schema", schema.clone()),
                ("event_object_table", Datum::Text(relation.name.clone())),
                ("event_object_column", Datum::Text(column.clone())),
            ]);
        }
    }
}
