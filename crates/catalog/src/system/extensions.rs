//! Extensions in the system catalogs: pg_extension and related views, and the extensions' objects.

use super::classes::PG_CLASS;
use super::facts::{self, Rows};
use super::rows::{RowsBuilder, optional, text};
use super::session::SystemContext;
use super::shape::Shape;
use crate::builtin;
use crate::extension::AvailableExtension;
use std::sync::Arc;
use steppe_types::{Datum, Error, Oid, Result};

/// pg_class OID of pg_extension.
pub(super) const PG_EXTENSION: Oid = 3079;
/// pg_class OID of pg_proc.
pub(super) const PG_PROC: Oid = 1255;

/// pg_extension
pub(super) fn pg_extension(context: &SystemContext<'_>, out: &mut RowsBuilder) {
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
    let mut found = Vec::new();
    for extension in context.catalog.extensions() {
        let functions = builtin::functions_of_extension(&extension.name);
        found.extend(functions.iter().map(|proc| (PG_PROC, proc.oid, extension.oid)));
        found.extend(extension.members.iter().map(|oid| (PG_CLASS, *oid, extension.oid)));
    }
    found
}

/// The rows of pg_proc if an extension is installed.
pub(super) fn pg_proc(shape: &Shape, context: &SystemContext<'_>) -> Result<Option<Rows>> {
    if shape.name != "pg_proc" || context.catalog.extensions().next().is_none() {
        return Ok(None);
    }
    let built_in = facts::rows(shape)?;
    let mut rows = built_in.map(|rows| (*rows).clone()).unwrap_or_default();
    let namespace = shape.position("pronamespace");
    let namespace = namespace.ok_or_else(|| Error::internal("pg_proc has no namespaces"))?;
    for extension in context.catalog.extensions() {
        let brought = builtin::table_of_extension(&extension.name);
        for mut row in facts::rows_of(brought, &extension.name, shape)? {
            row[namespace] = Datum::Oid(extension.schema);
            rows.push(row);
        }
    }
    Ok(Some(Arc::new(rows)))
}
