//! Objects of the server that are not in a schema: schemas themselves, databases, tablespaces,
//! roles, settings.

use super::acls;
use super::classes::PG_NAMESPACE;
use super::rows::{RowsBuilder, array, optional, text, text_array};
use super::session::{Role, Setting, SystemContext};
use crate::{BOOTSTRAP_SUPERUSER, LOCALE};
use steppe_types::{Datum, Oid, oid};

/// The tablespace pg_default, which contains all relations.
pub const PG_DEFAULT: Oid = 1663;
/// The tablespaces by OID and name.
pub const TABLESPACES: [(Oid, &str); 2] = [(PG_DEFAULT, "pg_default"), (1664, "pg_global")];
/// pg_database.encoding of UTF8.
const UTF8: i32 = 6;

/// pg_namespace
pub(super) fn pg_namespace(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for schema in context.catalog.schemas() {
        out.row([
            ("oid", Datum::Oid(schema.oid)),
            ("nspname", Datum::Text(schema.name.clone())),
            ("nspowner", Datum::Oid(schema.owner)),
            ("nspacl", acls::of(PG_NAMESPACE, schema.oid, 0)),
        ]);
    }
}

/// pg_database: the only database.
pub(super) fn pg_database(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    out.row([
        ("oid", Datum::Oid(context.database_oid)),
        ("datname", text(context.database)),
        ("datdba", Datum::Oid(BOOTSTRAP_SUPERUSER)),
        ("encoding", Datum::Int4(UTF8)),
        ("datlocprovider", Datum::Char(b'b')),
        ("datallowconn", Datum::Bool(true)),
        ("datconnlimit", Datum::Int4(-1)),
        ("dattablespace", Datum::Oid(PG_DEFAULT)),
        ("datcollate", text(LOCALE)),
        ("datctype", text(LOCALE)),
        ("datlocale", text(LOCALE)),
        ("datcollversion", text("1")),
    ]);
}

/// pg_tablespace
pub(super) fn pg_tablespace(_: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (oid, name) in TABLESPACES {
        out.row([
            ("oid", Datum::Oid(oid)),
            ("spcname", text(name)),
            ("spcowner", Datum::Oid(BOOTSTRAP_SUPERUSER)),
        ]);
    }
}

/// pg_database_owner, which owns the schema public.
pub(crate) const DATABASE_OWNER: Oid = 6171;

/// PostgreSQL's predefined roles (src/include/catalog/pg_authid.dat).
const PREDEFINED_ROLES: &[(Oid, &str)] = &[
    (DATABASE_OWNER, "pg_database_owner"),
    (6181, "pg_read_all_data"),
    (6182, "pg_write_all_data"),
    (3373, "pg_monitor"),
    (3374, "pg_read_all_settings"),
    (3375, "pg_read_all_stats"),
    (3377, "pg_stat_scan_tables"),
    (4569, "pg_read_server_files"),
    (4570, "pg_write_server_files"),
    (4571, "pg_execute_server_program"),
    (4200, "pg_signal_backend"),
    (4544, "pg_checkpoint"),
    (6337, "pg_maintain"),
    (4550, "pg_use_reserved_connections"),
    (6304, "pg_create_subscription"),
    (6392, "pg_signal_autovacuum_worker"),
];

/// The predefined roles that pg_monitor belongs to, by the OID of the membership.
const PG_MONITOR: Oid = 3373;
const MEMBERSHIPS: &[(Oid, Oid)] = &[(10308, 3374), (10309, 3375), (10310, 3377)];

/// The name of a predefined role.
pub fn predefined_role(role: Oid) -> Option<&'static str> {
    PREDEFINED_ROLES.iter().find(|(oid, _)| *oid == role).map(|(_, name)| *name)
}

/// The predefined role of this name.
pub fn role_named(name: &str) -> Option<Oid> {
    PREDEFINED_ROLES.iter().find(|(_, role)| *role == name).map(|(oid, _)| *oid)
}

/// All roles: the session's and the predefined ones.
pub(super) fn roles(context: &SystemContext<'_>) -> Vec<Role> {
    let mut roles = context.session.roles();
    roles.extend(PREDEFINED_ROLES.iter().map(|(oid, name)| Role::group(*oid, *name)));
    roles
}

/// The name of a role, or its number if the role does not exist (pg_get_userbyid).
pub(super) fn role_name(roles: &[Role], oid: Oid) -> Datum {
    match roles.iter().find(|r| r.oid == oid) {
        Some(role) => text(&*role.name),
        None => text(format!("unknown (OID={oid})")),
    }
}

/// pg_authid
pub(super) fn pg_authid(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    role_rows(context, Datum::Null, out);
}

/// pg_roles: pg_authid without passwords.
pub(super) fn pg_roles(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    role_rows(context, text("********"), out);
}

fn role_rows(context: &SystemContext<'_>, password: Datum, out: &mut RowsBuilder) {
    for role in roles(context) {
        out.row([
            ("oid", Datum::Oid(role.oid)),
            ("rolname", text(&*role.name)),
            ("rolsuper", Datum::Bool(role.superuser)),
            ("rolinherit", Datum::Bool(role.inherit)),
            ("rolcreaterole", Datum::Bool(role.create_role)),
            ("rolcreatedb", Datum::Bool(role.create_db)),
            ("rolcanlogin", Datum::Bool(role.can_login)),
            ("rolreplication", Datum::Bool(role.replication)),
            ("rolbypassrls", Datum::Bool(role.bypass_rls)),
            ("rolconnlimit", Datum::Int4(role.connection_limit)),
            ("rolpassword", password.clone()),
        ]);
    }
}

/// pg_auth_members
pub(super) fn pg_auth_members(_: &SystemContext<'_>, out: &mut RowsBuilder) {
    for (oid, role) in MEMBERSHIPS {
        out.row([
            ("oid", Datum::Oid(*oid)),
            ("roleid", Datum::Oid(*role)),
            ("member", Datum::Oid(PG_MONITOR)),
            ("grantor", Datum::Oid(BOOTSTRAP_SUPERUSER)),
            ("inherit_option", Datum::Bool(true)),
            ("set_option", Datum::Bool(true)),
        ]);
    }
}

/// pg_user
pub(super) fn pg_user(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    user_rows(context, text("********"), out);
}

/// pg_shadow
pub(super) fn pg_shadow(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    user_rows(context, Datum::Null, out);
}

fn user_rows(context: &SystemContext<'_>, password: Datum, out: &mut RowsBuilder) {
    for role in roles(context).into_iter().filter(|r| r.can_login) {
        out.row([
            ("usename", text(&*role.name)),
            ("usesysid", Datum::Oid(role.oid)),
            ("usecreatedb", Datum::Bool(role.create_db)),
            ("usesuper", Datum::Bool(role.superuser)),
            ("userepl", Datum::Bool(role.replication)),
            ("usebypassrls", Datum::Bool(role.bypass_rls)),
            ("passwd", password.clone()),
        ]);
    }
}

/// pg_group: the roles that cannot log in.
pub(super) fn pg_group(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for role in roles(context).into_iter().filter(|r| !r.can_login) {
        let members = MEMBERSHIPS.iter().filter(|(_, of)| *of == role.oid);
        out.row([
            ("groname", text(&*role.name)),
            ("grosysid", Datum::Oid(role.oid)),
            ("grolist", array(oid::OID, members.map(|_| Datum::Oid(PG_MONITOR)).collect())),
        ]);
    }
}

/// pg_settings
pub(super) fn pg_settings(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    for setting in context.session.settings() {
        setting_row(setting, out);
    }
}

fn setting_row(setting: Setting, out: &mut RowsBuilder) {
    out.row([
        ("name", text(setting.name)),
        ("setting", text(setting.setting)),
        ("unit", optional(setting.unit)),
        ("category", text(setting.category)),
        ("short_desc", optional(setting.description)),
        ("context", text(setting.context)),
        ("vartype", text(setting.vartype)),
        ("source", text(setting.source)),
        ("min_val", optional(setting.min)),
        ("max_val", optional(setting.max)),
        ("enumvals", setting.values.map_or(Datum::Null, |v| text_array(v.into_iter()))),
        ("boot_val", optional(setting.boot)),
        ("reset_val", optional(setting.reset)),
        ("sourcefile", optional(setting.source_file)),
        ("sourceline", setting.source_line.map_or(Datum::Null, Datum::Int4)),
        ("pending_restart", Datum::Bool(setting.pending_restart)),
    ]);
}
