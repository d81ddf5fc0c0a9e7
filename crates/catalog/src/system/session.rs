//! The system catalogs' view of the session that reads them.

use crate::builtin;
use crate::relation::Relation;
use crate::snapshot::Catalog;
use crate::{BOOTSTRAP_SUPERUSER, PG_CATALOG, PUBLIC, SUPERUSER_NAME};
use std::borrow::Cow;
use std::sync::Arc;
use steppe_types::{Datum, Oid, Result};

/// The OID of the database "postgres".
pub const POSTGRES_DATABASE: Oid = 5;

/// The sources of the rows.
pub struct SystemContext<'a> {
    /// The catalog version that the statement sees.
    pub catalog: &'a Catalog,
    /// Name of the database.
    pub database: &'a str,
    /// The database's OID ([`POSTGRES_DATABASE`]).
    pub database_oid: Oid,
    /// The session.
    pub session: &'a dyn SessionView,
}

/// Facts that only the session layer has. Every method has a default for tests.
pub trait SessionView {
    /// pg_settings.
    fn settings(&self) -> Vec<Setting> {
        Vec::new()
    }

    /// The created roles, the bootstrap superuser first. The caller adds PostgreSQL's predefined
    /// roles.
    fn roles(&self) -> Vec<Role> {
        vec![Role::superuser(BOOTSTRAP_SUPERUSER, SUPERUSER_NAME)]
    }

    /// The last value of a sequence, if it has been used.
    fn sequence_last_value(&self, sequence: Oid) -> Option<i64> {
        let _ = sequence;
        None
    }

    /// A view's query in pg_get_viewdef's form for this session.
    fn view_definition(&self, view: &Relation) -> Option<String> {
        let _ = view;
        None
    }

    /// Whether each column of a view is assignable. `None`: its rows cannot be changed.
    fn updatable_columns(&self, view: &Arc<Relation>) -> Option<Vec<bool>> {
        let _ = view;
        None
    }

    /// The schemas in which names are looked for.
    fn search_path(&self) -> Vec<Oid> {
        vec![PG_CATALOG, PUBLIC]
    }

    /// The rows of a view about the running system (pg_stat_activity, pg_locks, pg_cursors …), by
    /// name, built with [`super::RowsBuilder`]. It is called first, for every relation of
    /// pg_catalog. `None`: the session has no rows for it.
    fn rows(&self, relation: &str) -> Result<Option<Vec<Vec<Datum>>>> {
        let _ = relation;
        Ok(None)
    }
}

/// A session for tests: one superuser, no settings.
pub struct NoSession;

impl SessionView for NoSession {}

/// A role (pg_authid).
#[derive(Clone, Debug)]
pub struct Role {
    /// OID.
    pub oid: Oid,
    /// Name.
    pub name: Cow<'static, str>,
    /// SUPERUSER
    pub superuser: bool,
    /// INHERIT
    pub inherit: bool,
    /// CREATEROLE
    pub create_role: bool,
    /// CREATEDB
    pub create_db: bool,
    /// LOGIN
    pub can_login: bool,
    /// REPLICATION
    pub replication: bool,
    /// BYPASSRLS
    pub bypass_rls: bool,
    /// CONNECTION LIMIT or -1.
    pub connection_limit: i32,
}

impl Role {
    /// A role with all rights.
    pub fn superuser(oid: Oid, name: impl Into<Cow<'static, str>>) -> Role {
        Role {
            oid,
            name: name.into(),
            superuser: true,
            inherit: true,
            create_role: true,
            create_db: true,
            can_login: true,
            replication: true,
            bypass_rls: true,
            connection_limit: -1,
        }
    }

    /// A role that can only have members.
    pub fn group(oid: Oid, name: impl Into<Cow<'static, str>>) -> Role {
        Role {
            superuser: false,
            create_role: false,
            create_db: false,
            can_login: false,
            replication: false,
            bypass_rls: false,
            ..Role::superuser(oid, name)
        }
    }
}

/// A setting in pg_settings' form.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// name
    pub name: String,
    /// The current value, without its unit.
    pub setting: String,
    /// unit
    pub unit: Option<String>,
    /// category
    pub category: String,
    /// short_desc
    pub description: Option<String>,
    /// context: user, superuser, sighup, postmaster, internal …
    pub context: String,
    /// vartype: bool, integer, real, string, enum.
    pub vartype: String,
    /// source: default, configuration file, session …
    pub source: String,
    /// min_val
    pub min: Option<String>,
    /// max_val
    pub max: Option<String>,
    /// enumvals
    pub values: Option<Vec<String>>,
    /// boot_val
    pub boot: Option<String>,
    /// reset_val
    pub reset: Option<String>,
    /// sourcefile
    pub source_file: Option<String>,
    /// sourceline
    pub source_line: Option<i32>,
    /// pending_restart
    pub pending_restart: bool,
}

impl Setting {
    /// A setting of PostgreSQL with its facts from pg_settings, at its boot value; `None` if
    /// PostgreSQL has no setting of that name.
    pub fn named(name: &str) -> Option<Setting> {
        let table = builtin::table("pg_settings")?;
        let row = table.rows().find(|r| r.get("name") == Some(name))?;
        let own = |column| row.get(column).map(str::to_string);
        let text = |column| own(column).unwrap_or_default();
        let values = row.get("enumvals").map(|list| {
            let list = list.trim_matches(['{', '}']).split(',');
            list.map(|value| value.trim_matches('"').to_string()).collect()
        });
        Some(Setting {
            name: name.to_string(),
            setting: text("boot_val"),
            unit: own("unit"),
            category: text("category"),
            description: None,
            context: text("context"),
            vartype: text("vartype"),
            source: "default".to_string(),
            min: own("min_val"),
            max: own("max_val"),
            values,
            boot: own("boot_val"),
            reset: own("boot_val"),
            source_file: None,
            source_line: None,
            pending_restart: false,
        })
    }
}
