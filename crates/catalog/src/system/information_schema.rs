//! information_schema's views (src/backend/catalog/information_schema.sql), as a superuser sees
//! them.

use super::classes::relkind;
use super::cluster::{role_name, roles};
use super::definitions::{Style, default_definition};
use super::rows::{Provider, RowsBuilder, optional, text};
use super::session::SystemContext;
use super::views::schema_name;
use super::{composites, domains, types};
use crate::builtin;
use crate::foreign_key::ForeignKey;
use crate::references::is_identity;
use crate::relation::{Column, Constraint, ConstraintKind, Relation, SequenceInfo};
use crate::trigger::{TriggerEvents, TriggerTiming};
use crate::{DEFAULT_COLLATION, PG_CATALOG, PUBLIC};
use hashbrown::HashMap;
use std::sync::{Arc, OnceLock};
use steppe_types::{Datum, Oid, oid};

/// The function that computes a view.
pub(super) fn provider(name: &str) -> Option<Provider> {
    Some(match name {
        "information_schema_catalog_name" => catalog_name,
        "schemata" => schemata,
        "tables" => tables,
        "columns" => columns,
        "views" => views,
        "sequences" => sequences,
        "table_constraints" => table_constraints,
        "check_constraints" => check_constraints,
        "attributes" => composites::attributes,
        "user_defined_types" => composites::user_defined_types,
        "domains" => domains::domains,
        "domain_constraints" => domains::constraints_view,
        "referential_constraints" => referential_constraints,
        "key_column_usage" => key_column_usage,
        "constraint_column_usage" => constraint_column_usage,
        "constraint_table_usage" => constraint_table_usage,
        "table_privileges" | "role_table_grants" => table_privileges,
        "enabled_roles" => enabled_roles,
        "triggers" => super::triggers::view_of_triggers,
        "triggered_update_columns" => super::triggers::triggered_update_columns,
        "routines" => super::routines::routines,
        "parameters" => super::routines::parameters,
        _ => return None,
    })
}

/// Views over features that Steppe does not have: they are always empty.
pub(super) const EMPTY: &[&str] = &[
    "_pg_foreign_data_wrappers",
    "_pg_foreign_servers",
    "_pg_foreign_table_columns",
    "_pg_foreign_tables",
    "_pg_user_mappings",
    "check_constraint_routine_usage",
    "column_column_usage",
    "column_options",
    "foreign_data_wrapper_options",
    "foreign_data_wrappers",
    "foreign_server_options",
    "foreign_servers",
    "foreign_table_options",
    "foreign_tables",
    "role_udt_grants",
    "routine_column_usage",
    "routine_routine_usage",
    "routine_sequence_usage",
    "routine_table_usage",
    "transforms",
    "user_mapping_options",
    "user_mappings",
];

/// yes_or_no
pub(super) fn yes(value: bool) -> Datum {
    static TEXTS: OnceLock<[Arc<str>; 2]> = OnceLock::new();
    let texts = TEXTS.get_or_init(|| ["NO".into(), "YES".into()]);
    Datum::Text(texts[usize::from(value)].clone())
}

pub(super) fn int4(value: Option<i32>) -> Datum {
    value.map_or(Datum::Null, Datum::Int4)
}

fn catalog_name(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    out.row([("catalog_name", text(context.database))]);
}

fn schemata(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    let roles = roles(context);
    for schema in context.catalog.schemas() {
        out.row([
            ("catalog_name", text(context.database)),
            ("schema_name", Datum::Text(schema.name.clone())),
            ("schema_owner", role_name(&roles, schema.owner)),
        ]);
    }
}

/// Tables and views, system catalogs included.
fn tables_and_views<'c>(context: &SystemContext<'c>) -> impl Iterator<Item = &'c Arc<Relation>> {
    context.catalog.relations().filter(|r| matches!(relkind(r), b'r' | b'v' | b'p'))
}

fn tables(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for relation in tables_and_views(context) {
        let view = relkind(relation) == b'v';
        let kind = match context.catalog.is_temporary(relation) {
            true => "LOCAL TEMPORARY",
            false if view => "VIEW",
            false => "BASE TABLE",
        };
        out.row([
            ("table_catalog", text(context.database)),
            ("table_schema", schema_name(context.catalog, relation.schema)),
            ("table_name", Datum::Text(relation.name.clone())),
            ("table_type", text(kind)),
            ("is_insertable_into", yes(!view || has_updatable_column(context, relation))),
            ("is_typed", yes(false)),
        ]);
    }
}

fn columns(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    let owned = context.catalog.relations().filter_map(|r| r.sequence.as_deref());
    let identities: HashMap<(Oid, i16), &SequenceInfo> =
        owned.filter_map(|s| Some((s.owned_by?, s))).collect();
    for relation in tables_and_views(context) {
        let updatable = match relkind(relation) {
            b'v' => context.session.updatable_columns(relation).unwrap_or_default(),
            _ => vec![true; relation.columns.len()],
        };
        for (column, attnum) in relation.columns.iter().zip(1..) {
            if !column.dropped {
                let identity = identities.get(&(relation.oid, attnum)).copied();
                let identity = identity.filter(|_| column.identity.is_some());
                let changes = updatable.get(attnum as usize - 1).is_some_and(|changes| *changes);
                column_row(context, relation, (attnum, changes), identity, out);
            }
        }
    }
}

fn column_row(
    context: &SystemContext<'_>,
    relation: &Relation,
    (attnum, updatable): (i16, bool),
    sequence: Option<&SequenceInfo>,
    out: &mut RowsBuilder,
) {
    let column = &relation.columns[attnum as usize - 1];
    let (type_oid, typmod) = (column.type_oid, column.typmod);
    let (precision, radix, scale) = types::numeric_facts(type_oid, typmod);
    let collation = collation_name(column.collation);
    let of_collation = |datum: Datum| if collation.is_some() { datum } else { Datum::Null };
    let of_sequence =
        |value: fn(&SequenceInfo) -> i64| optional(sequence.map(|s| value(s).to_string()));
    let domain = domains::of_column(context.catalog, column.domain);
    let of_domain = |datum: Datum| if domain.is_some() { datum } else { Datum::Null };
    let named = domains::below(context.catalog, column.declared_type().0);
    let (shown, type_schema, type_name) = match context.catalog.own_type_name(named) {
        Some((schema, name)) => (text("USER-DEFINED"), schema, Some(name.to_string())),
        None => {
            let name = context.catalog.type_name(named);
            (data_type(named), name.as_ref().map_or(PG_CATALOG, |n| n.0), name.map(|n| n.1))
        }
    };
    let style = Style { pretty: false, search_path: &[PG_CATALOG, PUBLIC] };
    let default =
        column.default.as_ref().map(|text| default_definition(context.catalog, text, style));
    out.row([
        ("table_catalog", text(context.database)),
        ("table_schema", schema_name(context.catalog, relation.schema)),
        ("table_name", Datum::Text(relation.name.clone())),
        ("column_name", Datum::Text(column.name.clone())),
        ("ordinal_position", Datum::Int4(i32::from(attnum))),
        (
            "column_default",
            optional(default.clone().filter(|_| !column.generated && column.identity.is_none())),
        ),
        ("is_nullable", yes(!column.not_null)),
        ("data_type", shown),
        ("character_maximum_length", int4(types::character_length(type_oid, typmod))),
        ("character_octet_length", int4(types::octet_length(type_oid, typmod))),
        ("numeric_precision", int4(precision)),
        ("numeric_precision_radix", int4(radix)),
        ("numeric_scale", int4(scale)),
        ("datetime_precision", int4(types::datetime_precision(type_oid, typmod))),
        ("interval_type", optional(types::interval_fields(type_oid, typmod))),
        ("collation_catalog", of_collation(text(context.database))),
        ("collation_schema", of_collation(schema_name(context.catalog, PG_CATALOG))),
        ("collation_name", optional(collation)),
        ("domain_catalog", of_domain(text(context.database))),
        (
            "domain_schema",
            of_domain(schema_name(context.catalog, domain.as_ref().map_or(0, |domain| domain.0))),
        ),
        ("domain_name", optional(domain.as_ref().map(|domain| domain.1.to_string()))),
        ("udt_catalog", text(context.database)),
        ("udt_schema", schema_name(context.catalog, type_schema)),
        ("udt_name", optional(type_name)),
        ("dtd_identifier", text(attnum.to_string())),
        ("is_self_referencing", yes(false)),
        ("is_identity", yes(column.identity.is_some())),
        (
            "identity_generation",
            optional(column.identity.map(|c| if c == 'a' { "ALWAYS" } else { "BY DEFAULT" })),
        ),
        ("identity_start", of_sequence(|s| s.start)),
        ("identity_increment", of_sequence(|s| s.increment)),
        ("identity_maximum", of_sequence(|s| s.max)),
        ("identity_minimum", of_sequence(|s| s.min)),
        ("identity_cycle", yes(sequence.is_some_and(|s| s.cycle))),
        ("is_generated", text(if column.generated { "ALWAYS" } else { "NEVER" })),
        ("generation_expression", optional(default.filter(|_| column.generated))),
        ("is_updatable", yes(updatable)),
    ]);
}

/// data_type. Arrays are shown only as ARRAY.
pub(super) fn data_type(type_oid: Oid) -> Datum {
    let ty = builtin::ty(type_oid);
    if ty.is_some_and(|t| t.element != 0 && t.len == -1) {
        return text("ARRAY");
    }
    text(types::sql_name(type_oid))
}

/// The name of a collation other than the default one.
pub(super) fn collation_name(collation: Oid) -> Option<&'static str> {
    builtin::collation_name(collation).filter(|_| collation != DEFAULT_COLLATION)
}

/// Whether rows of a view can be inserted and updated: at least one column is assignable.
fn has_updatable_column(context: &SystemContext<'_>, view: &Arc<Relation>) -> bool {
    context.session.updatable_columns(view).is_some_and(|columns| columns.contains(&true))
}

/// Whether a view has an INSTEAD OF trigger for an event.
fn has_instead_of(view: &Relation, is_for: fn(&TriggerEvents) -> bool) -> bool {
    let mut triggers = view.triggers.iter();
    triggers.any(|trigger| trigger.timing == TriggerTiming::InsteadOf && is_for(&trigger.events))
}

fn check_option(view: &Relation) -> &'static str {
    let option = view.options.iter().find(|(name, _)| &**name == "check_option");
    match option.map(|(_, value)| &**value) {
        Some("cascaded") => "CASCADED",
        Some("local") => "LOCAL",
        _ => "NONE",
    }
}

fn views(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for view in context.catalog.relations().filter(|r| relkind(r) == b'v') {
        let changes = has_updatable_column(context, view);
        out.row([
            ("table_catalog", text(context.database)),
            ("table_schema", schema_name(context.catalog, view.schema)),
            ("table_name", Datum::Text(view.name.clone())),
            ("view_definition", optional(context.session.view_definition(view))),
            ("check_option", text(check_option(view))),
            ("is_updatable", yes(changes)),
            ("is_insertable_into", yes(changes)),
            ("is_trigger_updatable", yes(has_instead_of(view, |events| events.update))),
            ("is_trigger_deletable", yes(has_instead_of(view, |events| events.delete))),
            ("is_trigger_insertable_into", yes(has_instead_of(view, |events| events.insert))),
        ]);
    }
}

fn sequences(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for relation in context.catalog.relations() {
        let Some(info) = &relation.sequence else { continue };
        // The sequence of an identity column is a part of the column.
        if info.owned_by.is_some_and(|(table, attnum)| is_identity(context.catalog, table, attnum))
        {
            continue;
        }
        let (precision, radix, scale) = types::numeric_facts(info.type_oid, -1);
        out.row([
            ("sequence_catalog", text(context.database)),
            ("sequence_schema", schema_name(context.catalog, relation.schema)),
            ("sequence_name", Datum::Text(relation.name.clone())),
            ("data_type", data_type(info.type_oid)),
            ("numeric_precision", int4(precision)),
            ("numeric_precision_radix", int4(radix)),
            ("numeric_scale", int4(scale)),
            ("start_value", text(info.start.to_string())),
            ("minimum_value", text(info.min.to_string())),
            ("maximum_value", text(info.max.to_string())),
            ("increment", text(info.increment.to_string())),
            ("cycle_option", yes(info.cycle)),
        ]);
    }
}

/// All constraints with their tables.
fn constraints<'c>(
    context: &SystemContext<'c>,
) -> impl Iterator<Item = (&'c Arc<Relation>, &'c Constraint)> {
    context.catalog.relations().flat_map(|t| t.constraints.iter().map(move |c| (t, c)))
}

fn table_constraints(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (table, constraint) in constraints(context) {
        let kind = match constraint.kind {
            ConstraintKind::Primary { .. } => "PRIMARY KEY",
            ConstraintKind::Unique { .. } => "UNIQUE",
            ConstraintKind::Check { .. } | ConstraintKind::NotNull => "CHECK",
            ConstraintKind::ForeignKey(_) => "FOREIGN KEY",
        };
        let foreign = constraint.foreign_key();
        let unique = matches!(constraint.kind, ConstraintKind::Unique { .. });
        let index = constraint.index().and_then(|i| context.catalog.relation(i));
        let info = index.and_then(|i| i.index.as_ref());
        let distinct = !info.is_some_and(|i| i.nulls_not_distinct);
        let deferral = info.map(|i| i.deferral).or(foreign.map(|key| key.deferral));
        let deferral = deferral.unwrap_or_default();
        let schema = schema_name(context.catalog, table.schema);
        out.row([
            ("constraint_catalog", text(context.database)),
            ("constraint_schema", schema.clone()),
            ("constraint_name", Datum::Text(constraint.name.clone())),
            ("table_catalog", text(context.database)),
            ("table_schema", schema),
            ("table_name", Datum::Text(table.name.clone())),
            ("constraint_type", text(kind)),
            ("is_deferrable", yes(deferral.is_deferrable())),
            ("initially_deferred", yes(deferral.is_deferred())),
            ("enforced", yes(foreign.is_none_or(|key| !key.not_enforced))),
            ("nulls_distinct", if unique { yes(distinct) } else { Datum::Null }),
        ]);
    }
}

fn check_constraints(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (table, constraint) in constraints(context) {
        let clause = match &constraint.kind {
            ConstraintKind::Check { expression } => {
                let path = [PG_CATALOG, PUBLIC];
                context.catalog.with_names(expression, &path).into_owned()
            }
            ConstraintKind::NotNull => match constrained_columns(table, constraint).next() {
                Some((_, column)) => format!("{} IS NOT NULL", column.name),
                None => continue,
            },
            _ => continue,
        };
        out.row([
            ("constraint_catalog", text(context.database)),
            ("constraint_schema", schema_name(context.catalog, table.schema)),
            ("constraint_name", Datum::Text(constraint.name.clone())),
            ("check_clause", text(clause)),
        ]);
    }
    domains::check_constraints(context, out);
}

/// The columns of a constraint with their positions in it, from 1.
fn constrained_columns<'c>(
    table: &'c Relation,
    constraint: &'c Constraint,
) -> impl Iterator<Item = (i32, &'c Column)> {
    numbered_columns(table, &constraint.columns)
}

/// Columns by their attribute numbers, with their positions in the list, from 1.
fn numbered_columns<'c>(
    table: &'c Relation,
    attnums: &'c [i16],
) -> impl Iterator<Item = (i32, &'c Column)> {
    (1..).zip(attnums).filter_map(|(position, attnum)| {
        let column = usize::try_from(attnum - 1).ok().and_then(|i| table.columns.get(i));
        column.map(|c| (position, c))
    })
}

fn key_column_usage(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (table, constraint) in constraints(context) {
        let foreign = constraint.foreign_key();
        if constraint.index().is_none() && foreign.is_none() {
            continue;
        }
        let schema = schema_name(context.catalog, table.schema);
        for (position, column) in constrained_columns(table, constraint) {
            let referenced = foreign.and_then(|key| place_in_index(context, key, position));
            out.row([
                ("constraint_catalog", text(context.database)),
                ("constraint_schema", schema.clone()),
                ("constraint_name", Datum::Text(constraint.name.clone())),
                ("table_catalog", text(context.database)),
                ("table_schema", schema.clone()),
                ("table_name", Datum::Text(table.name.clone())),
                ("column_name", Datum::Text(column.name.clone())),
                ("ordinal_position", Datum::Int4(position)),
                ("position_in_unique_constraint", referenced.map_or(Datum::Null, Datum::Int4)),
            ]);
        }
    }
}

/// The place, from 1, of a foreign key's referenced column among the columns of the index.
fn place_in_index(context: &SystemContext<'_>, key: &ForeignKey, position: i32) -> Option<i32> {
    let attnum = *key.columns.get(usize::try_from(position - 1).ok()?)?;
    let info = context.catalog.relation(key.index)?.index.as_ref()?;
    let at = info.keys.iter().position(|own| own.attnum == attnum)?;
    i32::try_from(at + 1).ok()
}

/// The referenced keys of foreign keys.
fn referential_constraints(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (table, constraint) in constraints(context) {
        let Some(key) = constraint.foreign_key() else { continue };
        let unique = context.catalog.relation(key.table).and_then(|referenced| {
            let of = referenced.constraints.iter().find(|own| own.index() == Some(key.index))?;
            Some((referenced.schema, of.name.clone()))
        });
        let (unique_schema, unique_name) = match unique {
            Some((schema, name)) => (schema_name(context.catalog, schema), Datum::Text(name)),
            None => (Datum::Null, Datum::Null),
        };
        let unique_catalog = match unique_name {
            Datum::Null => Datum::Null,
            _ => text(context.database),
        };
        out.row([
            ("constraint_catalog", text(context.database)),
            ("constraint_schema", schema_name(context.catalog, table.schema)),
            ("constraint_name", Datum::Text(constraint.name.clone())),
            ("unique_constraint_catalog", unique_catalog),
            ("unique_constraint_schema", unique_schema),
            ("unique_constraint_name", unique_name),
            ("match_option", text(if key.match_full { "FULL" } else { "NONE" })),
            ("update_rule", text(key.on_update.words())),
            ("delete_rule", text(key.on_delete.words())),
        ]);
    }
}

fn constraint_column_usage(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (table, constraint) in constraints(context) {
        if constraint.kind == ConstraintKind::NotNull {
            continue;
        }
        let schema = schema_name(context.catalog, table.schema);
        // Those of a foreign key are the referenced ones.
        let (of, attnums) = match constraint.foreign_key() {
            None => (table, &constraint.columns[..]),
            Some(key) => match context.catalog.relation(key.table) {
                Some(referenced) => (referenced, &key.columns[..]),
                None => continue,
            },
        };
        for (_, column) in numbered_columns(of, attnums) {
            out.row([
                ("table_catalog", text(context.database)),
                ("table_schema", schema_name(context.catalog, of.schema)),
                ("table_name", Datum::Text(of.name.clone())),
                ("column_name", Datum::Text(column.name.clone())),
                ("constraint_catalog", text(context.database)),
                ("constraint_schema", schema.clone()),
                ("constraint_name", Datum::Text(constraint.name.clone())),
            ]);
        }
    }
}

/// Only keys are listed, as in PostgreSQL's view.
fn constraint_table_usage(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (table, constraint) in constraints(context) {
        let foreign = constraint.foreign_key();
        if constraint.index().is_none() && foreign.is_none() {
            continue;
        }
        let schema = schema_name(context.catalog, table.schema);
        let of = foreign.and_then(|key| context.catalog.relation(key.table)).unwrap_or(table);
        out.row([
            ("table_catalog", text(context.database)),
            ("table_schema", schema_name(context.catalog, of.schema)),
            ("table_name", Datum::Text(of.name.clone())),
            ("constraint_catalog", text(context.database)),
            ("constraint_schema", schema),
            ("constraint_name", Datum::Text(constraint.name.clone())),
        ]);
    }
}

/// The owner's privileges, and on the system catalogs the right of PUBLIC to read.
fn table_privileges(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    const PRIVILEGES: [&str; 7] =
        ["INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"];
    let roles = roles(context);
    for table in tables_and_views(context) {
        let owner = role_name(&roles, table.owner);
        let mut grant = |grantee: Datum, privilege: &'static str, grantable| {
            out.row([
                ("grantor", owner.clone()),
                ("grantee", grantee),
                ("table_catalog", text(context.database)),
                ("table_schema", schema_name(context.catalog, table.schema)),
                ("table_name", Datum::Text(table.name.clone())),
                ("privilege_type", text(privilege)),
                ("is_grantable", yes(grantable)),
                ("with_hierarchy", yes(privilege == "SELECT")),
            ]);
        };
        for privilege in PRIVILEGES {
            grant(owner.clone(), privilege, true);
        }
        if table.oid < oid::FIRST_NORMAL_OID {
            grant(text("PUBLIC"), "SELECT", false);
        }
    }
}

fn enabled_roles(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for role in roles(context) {
        out.row([("role_name", text(&*role.name))]);
    }
}
