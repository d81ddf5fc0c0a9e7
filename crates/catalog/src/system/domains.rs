//! Domains: their rows of pg_constraint, and information_schema's views about them.

use super::classes::PG_TYPE;
use super::definitions::{Style, default_definition};
use super::information_schema::{collation_name, data_type, int4, yes};
use super::rows::{RowsBuilder, optional, text};
use super::session::SystemContext;
use super::types;
use super::views::schema_name;
use crate::objects::{Domain, UserType};
use crate::{Catalog, INFORMATION_SCHEMA, PG_CATALOG, builtin};
use steppe_types::{Datum, Oid, oid};

/// A constraint of a domain.
pub struct DomainConstraint<'c> {
    /// OID.
    pub oid: Oid,
    /// Name.
    pub name: &'c std::sync::Arc<str>,
    /// The condition of a CHECK; `None` for NOT NULL.
    pub check: Option<&'c str>,
    /// Whether all values are known to fulfil it.
    pub validated: bool,
}

/// The constraints of a domain.
pub fn domain_constraints(domain: &Domain) -> impl Iterator<Item = DomainConstraint<'_>> {
    let not_null = domain.not_null.iter().map(|not_null| DomainConstraint {
        oid: not_null.oid,
        name: &not_null.name,
        check: None,
        validated: true,
    });
    let checks = domain.checks.iter().map(|check| DomainConstraint {
        oid: check.oid,
        name: &check.name,
        check: Some(&*check.expression),
        validated: check.validated,
    });
    not_null.chain(checks)
}

/// The users' domains.
fn domains_of(catalog: &Catalog) -> impl Iterator<Item = (&UserType, &Domain)> {
    let all = catalog.stored::<UserType>().iter();
    all.filter_map(|ty| Some((&**ty, ty.domain()?)))
}

/// The constraint of a domain with an OID.
pub fn find_domain_constraint(catalog: &Catalog, oid: Oid) -> Option<DomainConstraint<'_>> {
    domains_of(catalog).flat_map(|(_, domain)| domain_constraints(domain)).find(|c| c.oid == oid)
}

/// pg_get_constraintdef of a domain's constraint.
pub fn domain_constraint_definition(
    catalog: &Catalog,
    constraint: &DomainConstraint<'_>,
    style: Style<'_>,
) -> String {
    let not_valid = if constraint.validated { "" } else { " NOT VALID" };
    match constraint.check {
        None => "NOT NULL".to_owned(),
        Some(check) => {
            let condition = default_definition(catalog, check, style);
            format!("CHECK ({condition}){not_valid}")
        }
    }
}

/// pg_constraint's rows of domains.
pub(super) fn pg_constraint(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (ty, domain) in domains_of(context.catalog) {
        for constraint in domain_constraints(domain) {
            out.row([
                ("oid", Datum::Oid(constraint.oid)),
                ("conname", Datum::Text(constraint.name.clone())),
                ("connamespace", Datum::Oid(ty.schema)),
                ("contype", Datum::Char(if constraint.check.is_some() { b'c' } else { b'n' })),
                ("conenforced", Datum::Bool(true)),
                ("convalidated", Datum::Bool(constraint.validated)),
                ("contypid", Datum::Oid(ty.oid)),
                ("confupdtype", Datum::Char(b' ')),
                ("confdeltype", Datum::Char(b' ')),
                ("confmatchtype", Datum::Char(b' ')),
                ("conislocal", Datum::Bool(true)),
                ("conbin", optional(constraint.check)),
            ]);
        }
    }
}

/// pg_description's rows of users' types.
pub(super) fn descriptions(context: &SystemContext<'_>, row: &mut dyn FnMut(Oid, Oid, &str)) {
    for ty in context.catalog.stored::<UserType>().iter() {
        if let Some(comment) = &ty.comment {
            row(ty.oid, PG_TYPE, comment);
        }
    }
}

/// information_schema.domains
pub(super) fn domains(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for row in builtin::table("pg_type").into_iter().flat_map(|table| table.rows()) {
        let number =
            |column| row.get(column).and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
        if row.get("typtype") == Some("d") {
            let name = row.get("typname").unwrap_or_default();
            let base = (number("typbasetype") as Oid, number("typtypmod") as i32);
            let default = row.get("typdefault").map(str::to_owned);
            domain_row(context, (INFORMATION_SCHEMA, name), base, (0, default), out);
        }
    }
    let style = Style { pretty: false, search_path: &[PG_CATALOG, crate::PUBLIC] };
    for (ty, domain) in domains_of(context.catalog) {
        let default = domain.default.as_ref();
        let default = default.map(|text| default_definition(context.catalog, text, style));
        let base = (domain.base, domain.modifier);
        domain_row(context, (ty.schema, &ty.name), base, (domain.collation, default), out);
    }
}

fn domain_row(
    context: &SystemContext<'_>,
    (schema, name): (Oid, &str),
    (base, modifier): (Oid, i32),
    (collation, default): (Oid, Option<String>),
    out: &mut RowsBuilder,
) {
    let (precision, radix, scale) = types::numeric_facts(base, modifier);
    let collation = collation_name(collation);
    let of_collation = |datum: Datum| if collation.is_some() { datum } else { Datum::Null };
    let base_name = context.catalog.type_name(base);
    let is_own = context.catalog.own_type_name(base).is_some();
    out.row([
        ("domain_catalog", text(context.database)),
        ("domain_schema", schema_name(context.catalog, schema)),
        ("domain_name", text(name)),
        ("data_type", if is_own { text("USER-DEFINED") } else { shown_type(base) }),
        ("character_maximum_length", int4(types::character_length(base, modifier))),
        ("character_octet_length", int4(types::octet_length(base, modifier))),
        ("collation_catalog", of_collation(text(context.database))),
        ("collation_schema", of_collation(schema_name(context.catalog, PG_CATALOG))),
        ("collation_name", optional(collation)),
        ("numeric_precision", int4(precision)),
        ("numeric_precision_radix", int4(radix)),
        ("numeric_scale", int4(scale)),
        ("datetime_precision", int4(types::datetime_precision(base, modifier))),
        ("interval_type", optional(types::interval_fields(base, modifier))),
        ("domain_default", optional(default)),
        ("udt_catalog", text(context.database)),
        (
            "udt_schema",
            schema_name(context.catalog, base_name.as_ref().map_or(PG_CATALOG, |name| name.0)),
        ),
        ("udt_name", optional(base_name.map(|name| name.1))),
        ("dtd_identifier", text("1")),
    ]);
}

/// The type that a domain is over; that of an array is shown, too.
fn shown_type(base: Oid) -> Datum {
    match builtin::ty(base).filter(|ty| ty.is_true_array()) {
        Some(array) => text(format!("{}[]", types::sql_name(array.element))),
        None => data_type(base),
    }
}

/// information_schema.domain_constraints
pub(super) fn constraints_view(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    let built_in =
        [("cardinal_number_domain_check", "cardinal_number"), ("yes_or_no_check", "yes_or_no")];
    for (constraint, domain) in built_in {
        constraint_row(context, INFORMATION_SCHEMA, constraint, domain, out);
    }
    for (ty, domain) in domains_of(context.catalog) {
        for constraint in domain_constraints(domain) {
            constraint_row(context, ty.schema, constraint.name, &ty.name, out);
        }
    }
}

fn constraint_row(
    context: &SystemContext<'_>,
    schema: Oid,
    constraint: &str,
    domain: &str,
    out: &mut RowsBuilder,
) {
    let schema = schema_name(context.catalog, schema);
    out.row([
        ("constraint_catalog", text(context.database)),
        ("constraint_schema", schema.clone()),
        ("constraint_name", text(constraint)),
        ("domain_catalog", text(context.database)),
        ("domain_schema", schema),
        ("domain_name", text(domain)),
        ("is_deferrable", yes(false)),
        ("initially_deferred", yes(false)),
    ]);
}

/// information_schema.check_constraints: those of domains.
pub(super) fn check_constraints(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    let style = Style { pretty: false, search_path: &[PG_CATALOG, crate::PUBLIC] };
    for (ty, domain) in domains_of(context.catalog) {
        for constraint in domain_constraints(domain) {
            let clause = match constraint.check {
                Some(check) => default_definition(context.catalog, check, style),
                None => "VALUE IS NOT NULL".to_owned(),
            };
            out.row([
                ("constraint_catalog", text(context.database)),
                ("constraint_schema", schema_name(context.catalog, ty.schema)),
                ("constraint_name", Datum::Text(constraint.name.clone())),
                ("check_clause", text(clause)),
            ]);
        }
    }
}

/// The type that a domain is over; any other type is its own.
pub(super) fn below(catalog: &Catalog, ty: Oid) -> Oid {
    catalog.domain(ty).map_or(ty, |domain| domain.base)
}

/// The domain that a column was declared with: its schema and its name.
pub(super) fn of_column(catalog: &Catalog, declared: Oid) -> Option<(Oid, std::sync::Arc<str>)> {
    match oid::is_domain(declared) {
        true => catalog.own_type_name(declared),
        false => None,
    }
}
