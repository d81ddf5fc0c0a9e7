//! Names behind OIDs: what the reg* types read and print (src/backend/utils/adt/regproc.c).

use std::sync::Arc;

use steppe_catalog::{BOOTSTRAP_SUPERUSER, Builtins, Catalog, PG_CATALOG};
use steppe_sql::bind::typename::format_type;
use steppe_sql::deparse::quote_identifier;
use steppe_types::io::TypeCatalog;
use steppe_types::{Error, Oid, Result, SqlState, oid};

use crate::services::NameSpace;
use crate::settings::check::split_identifiers;

/// The catalog and search path that names are looked up in.
pub(crate) struct RegNames {
    catalog: Arc<Catalog>,
    path: Arc<[Oid]>,
}

impl RegNames {
    /// Over the names in force.
    pub(crate) fn new(names: &NameSpace) -> RegNames {
        RegNames { catalog: Arc::clone(&names.catalog), path: Arc::clone(&names.path) }
    }

    fn class(&self, text: &str) -> Result<Oid> {
        let parts = name_parts(text)?;
        let found = match parts.as_slice() {
            [name] => {
                self.path.iter().find_map(|schema| self.catalog.relation_named(*schema, name))
            }
            [schema, name] | [_, schema, name] => self
                .catalog
                .schema_named(schema)
                .and_then(|schema| self.catalog.relation_named(schema.oid, name)),
            _ => return Err(invalid_name(text)),
        };
        found.map(|relation| relation.oid).ok_or_else(|| {
            let name = parts.join(".");
            Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
        })
    }

    fn class_name(&self, value: Oid) -> Option<String> {
        let relation = self.catalog.relation(value)?;
        let mut seen = self.path.iter().find_map(|schema| {
            self.catalog.relation_named(*schema, &relation.name).map(|found| found.oid)
        });
        let name = quote_identifier(&relation.name);
        if seen.take() == Some(value) {
            return Some(name);
        }
        let schema = self.catalog.schema(relation.schema)?;
        Some(format!("{}.{name}", quote_identifier(&schema.name)))
    }

    fn type_oid(text: &str) -> Result<Oid> {
        // The parser knows how a type is written: as the target of a cast.
        let parsed = steppe_sql::parser::parse(&format!("SELECT NULL::{text}"));
        let parsed = parsed.ok().and_then(|mut all| all.pop());
        if let Some(statement) = parsed
            && let Some(name) = cast_target(&statement.statement)
        {
            return steppe_sql::bind::typename::resolve_type_name(name).map(|ty| ty.oid);
        }
        let message = format!("type \"{text}\" does not exist");
        Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
    }

    fn proc(text: &str) -> Result<Oid> {
        let parts = name_parts(text)?;
        let name = parts.last().map(String::as_str).unwrap_or_default();
        let mut found = Builtins::get().procs_named(name).map(|proc| proc.oid);
        match (found.next(), found.next()) {
            (Some(oid), None) => Ok(oid),
            (Some(_), Some(_)) => {
                let message = format!("more than one function named \"{text}\"");
                Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, message))
            }
            (None, _) => {
                let message = format!("function \"{text}\" does not exist");
                Err(Error::new(SqlState::UNDEFINED_FUNCTION, message))
            }
        }
    }
}

fn cast_target(statement: &steppe_sql::ast::Statement) -> Option<&steppe_sql::ast::TypeName> {
    let steppe_sql::ast::Statement::Select(select) = statement else { return None };
    let steppe_sql::ast::SelectBody::Select(core) = &select.body else { return None };
    let [target] = core.targets.as_slice() else { return None };
    match &target.value.kind {
        steppe_sql::ast::ExprKind::Cast { type_name, .. } => Some(type_name),
        _ => None,
    }
}

#[cold]
fn invalid_name(text: &str) -> Error {
    let message = format!("improper relation name (too many dotted names): {text}");
    Error::new(SqlState::SYNTAX_ERROR, message)
}

/// `schema.name` as its parts (stringToQualifiedNameList).
fn name_parts(text: &str) -> Result<Vec<String>> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut is_quoted = false;
    for c in text.trim().chars() {
        if c == '"' {
            is_quoted = !is_quoted;
        }
        if c == '.' && !is_quoted {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(c);
        }
    }
    parts.push(part);
    let split = parts.iter().map(|part| match split_identifiers(part) {
        Some(mut names) if names.len() == 1 => names.pop(),
        _ => None,
    });
    split
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| Error::new(SqlState::INVALID_NAME, "invalid name syntax"))
}

impl TypeCatalog for RegNames {
    fn reg_input(&self, type_oid: Oid, text: &str) -> Result<Oid> {
        match type_oid {
            oid::REGCLASS => self.class(text),
            oid::REGTYPE => RegNames::type_oid(text),
            oid::REGPROC => RegNames::proc(text),
            oid::REGNAMESPACE => {
                let parts = name_parts(text)?;
                let name = parts.first().map(String::as_str).unwrap_or_default();
                self.catalog.schema_named(name).map(|schema| schema.oid).ok_or_else(|| {
                    let message = format!("schema \"{name}\" does not exist");
                    Error::new(SqlState::INVALID_SCHEMA_NAME, message)
                })
            }
            // Any role name is let in; all of them are the owner of everything.
            oid::REGROLE => Ok(BOOTSTRAP_SUPERUSER),
            _ => Err(Error::not_supported("names of this object identifier type")),
        }
    }

    fn reg_output(&self, type_oid: Oid, value: Oid, out: &mut Vec<u8>) -> bool {
        let builtins = Builtins::get();
        let name = match type_oid {
            oid::REGCLASS => self.class_name(value),
            oid::REGTYPE => builtins.ty(value).map(|ty| format_type(ty.oid, -1)),
            oid::REGPROC => builtins.proc(value).map(|proc| quote_identifier(proc.name)),
            oid::REGPROCEDURE => builtins.proc(value).map(|proc| {
                let types = proc.args.iter().map(|ty| format_type(*ty, -1));
                let types = types.collect::<Vec<_>>().join(",");
                format!("{}({types})", quote_identifier(proc.name))
            }),
            oid::REGOPER => builtins.operator(value).map(|operator| operator.name.to_string()),
            oid::REGNAMESPACE => {
                self.catalog.schema(value).map(|schema| quote_identifier(&schema.name))
            }
            oid::REGROLE if value == BOOTSTRAP_SUPERUSER => Some("postgres".to_owned()),
            _ => None,
        };
        debug_assert!(self.path.contains(&PG_CATALOG), "pg_catalog is always searched");
        if let Some(name) = &name {
            out.extend_from_slice(name.as_bytes());
        }
        name.is_some()
    }
}
