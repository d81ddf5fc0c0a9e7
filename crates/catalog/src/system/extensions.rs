//! Extensions in the system catalogs: pg_extension and related views, and the extensions' objects.

use super::classes::PG_CLASS;
use super::functions::PG_PROC;
use super::rows::{RowsBuilder, optional, text};
use super::session::SystemContext;
use crate::builtin;
use crate::extension::{AvailableExtension, PLPGSQL};
use crate::{BOOTSTRAP_SUPERUSER, PG_CATALOG};
use steppe_types::{Datum, Oid};

/// pg_class OID of pg_extension.
pub(super) const PG_EXTENSION: Oid = 3079;

/// pg_class OID of pg_language.
const PG_LANGUAGE: Oid = 2612;

/// pg_extension
pub(super) fn pg_extension(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    out.row([
        ("oid", Datum::Oid(PLPGSQL.oid)),
        ("extname", text(PLPGSQL.name)),
        ("extowner", Datum::Oid(BOOTSTRAP_SUPERUSER)),
        ("extnamespace", Datum::Oid(PG_CATALOG)),
        ("extrelocatable", Datum::Bool(false)),
        ("extversion", text(PLPGSQL.version)),
    ]);
    for extension in context.catalog.extensions() {
        out.row([
            ("oid", Datum::Oid(extension.oid)),
            ("extname", Datum::Text(extension.name.clone())),
            ("extowner", Datum::Oid(extension.owner)),
            ("extnamespace", Datum::Oid(extension.schema)),
            ("extrelocatable", Datum::Bool(false)),
            ("extversion", Datum::Text(extension.version.clone())),
        ]);
    }
}

/// pg_available_extensions
pub(super) fn pg_available_extensions(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    out.row([
        ("name", text(PLPGSQL.name)),
        ("default_version", text(PLPGSQL.version)),
        ("installed_version", text(PLPGSQL.version)),
        ("comment", text(PLPGSQL.comment)),
    ]);
    for extension in AvailableExtension::all() {
        let installed = context.catalog.extension_named(extension.name);
        out.row([
            ("name", text(extension.name)),
            ("default_version", text(extension.version)),
            ("installed_version", optional(installed.map(|e| e.version.clone()))),
            ("comment", text(extension.comment)),
        ]);
    }
}

/// pg_available_extension_versions
pub(super) fn pg_available_extension_versions(context: &SystemContext<'_>, out: &mut RowsBuilder) {
    out.row([
        ("name", text(PLPGSQL.name)),
        ("version", text(PLPGSQL.version)),
        ("installed", Datum::Bool(true)),
        ("superuser", Datum::Bool(true)),
        ("trusted", Datum::Bool(true)),
        ("relocatable", Datum::Bool(false)),
        ("schema", text("pg_catalog")),
        ("comment", text(PLPGSQL.comment)),
    ]);
    for extension in AvailableExtension::all() {
        let installed = context.catalog.extension_named(extension.name).is_some();
        out.row([
            ("name", text(extension.name)),
            ("version", text(extension.version)),
            ("installed", Datum::Bool(installed)),
            ("superuser", Datum::Bool(true)),
            ("trusted", Datum::Bool(false)),
            ("relocatable", Datum::Bool(false)),
            ("comment", text(extension.comment)),
        ]);
    }
}

/// The members of extensions for pg_depend: class and OID, and the extension's OID.
pub(super) fn members(context: &SystemContext<'_>) -> Vec<(Oid, Oid, Oid)> {
    let functions = PLPGSQL.functions.iter().map(|oid| (PG_PROC, *oid, PLPGSQL.oid));
    let mut found: Vec<_> = functions.collect();
    found.push((PG_LANGUAGE, PLPGSQL.language, PLPGSQL.oid));
    for extension in context.catalog.extensions() {
        let functions = builtin::functions_of_extension(&extension.name);
        found.extend(functions.iter().map(|proc| (PG_PROC, proc.oid, extension.oid)));
        found.extend(extension.members.iter().map(|oid| (PG_CLASS, *oid, extension.oid)));
    }
    found
}
