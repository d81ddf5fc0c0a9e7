//! What the system catalogs show of the server and the session: settings, activity,
//! prepared statements, cursors.

use std::sync::atomic::Ordering;

use steppe_catalog::RelKind;
use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_catalog::system::{self, RowsBuilder, SessionView, Setting, SystemContext};
use steppe_exec::SessionServices;
use steppe_types::{Datum, Error, Oid, Result};

use crate::services::Core;
use crate::settings::definition::Kind;
use crate::settings::value::format_g;

/// The rows of a virtual relation.
pub(crate) fn rows(core: &Core, relation: Oid) -> Result<Vec<Vec<Datum>>> {
    let names = core.names();
    if let Some(sequence) = names.catalog.relation(relation)
        && sequence.kind == RelKind::Sequence
    {
        let server = &core.server;
        let (last, called) = server.sequences.get(&server.database, sequence)?.position();
        return Ok(vec![vec![Datum::Int8(last), Datum::Int8(0), Datum::Bool(called)]]);
    }
    let context = SystemContext {
        catalog: &names.catalog,
        database: &core.identity.database,
        database_oid: POSTGRES_DATABASE,
        session: core,
    };
    match system::rows(relation, &context)? {
        Some(rows) => Ok(rows.to_vec()),
        None => {
            let relation = names.catalog.relation(relation);
            let name = relation.map_or("?", |relation| &relation.name);
            Err(Error::not_supported(format!("system catalog {name}")))
        }
    }
}

impl SessionView for Core {
    fn settings(&self) -> Vec<Setting> {
        let rows = self.settings.lock().rows();
        rows.into_iter()
            .map(|row| {
                let definition = row.definition;
                let (min, max) = match &definition.kind {
                    Kind::Int { min, max } => (Some(min.to_string()), Some(max.to_string())),
                    Kind::Real { min, max } => (Some(format_g(*min)), Some(format_g(*max))),
                    _ => (None, None),
                };
                let values = match &definition.kind {
                    Kind::Enum(words) => Some(words.iter().map(|word| (*word).into()).collect()),
                    _ => None,
                };
                Setting {
                    name: definition.name.to_owned(),
                    setting: row.setting.value.setting(),
                    unit: definition.unit.map(str::to_owned),
                    category: definition.category.to_owned(),
                    description: None,
                    context: definition.context.as_str().to_owned(),
                    vartype: definition.kind.as_str().to_owned(),
                    source: row.setting.source.as_str().to_owned(),
                    min,
                    max,
                    values,
                    boot: Some(definition.boot.setting()),
                    reset: Some(row.reset.setting()),
                    pending_restart: false,
                }
            })
            .collect()
    }

    fn sequence_last_value(&self, sequence: Oid) -> Option<i64> {
        let names = self.names();
        let relation = names.catalog.relation(sequence)?;
        let server = &self.server;
        let state = server.sequences.get(&server.database, relation).ok()?;
        let (value, called) = state.position();
        called.then_some(value)
    }

    fn rows(&self, relation: &str) -> Result<Option<Vec<Vec<Datum>>>> {
        match relation {
            "pg_stat_activity" => self.activity().map(Some),
            _ => Ok(None),
        }
    }
}

impl Core {
    /// pg_stat_activity: who is connected, and whether they are in a transaction.
    fn activity(&self) -> Result<Vec<Vec<Datum>>> {
        let mut builder = RowsBuilder::new("pg_stat_activity")?;
        let own = self.backend_pid();
        self.server.backends.for_each(|pid, backend| {
            let state = if pid == own || backend.control.is_running.load(Ordering::Relaxed) {
                "active"
            } else if backend.shared.xid() != 0 {
                "idle in transaction"
            } else {
                "idle"
            };
            builder.row([
                ("datid", Datum::Oid(POSTGRES_DATABASE)),
                ("datname", Datum::Text(backend.database.clone())),
                ("pid", Datum::Int4(pid)),
                ("usesysid", Datum::Oid(steppe_catalog::BOOTSTRAP_SUPERUSER)),
                ("usename", Datum::Text(backend.user.clone())),
                ("backend_start", Datum::TimestampTz(backend.started)),
                ("state", Datum::text(state)),
                ("backend_type", Datum::text("client backend")),
            ]);
        });
        builder.finish()
    }

    /// Functions that only the server can compute, by prosrc.
    pub(crate) fn call_function(&self, source: &str) -> Option<Datum> {
        match source {
            "pg_postmaster_start_time" | "pg_conf_load_time" => {
                Some(Datum::TimestampTz(self.server.started))
            }
            _ => None,
        }
    }
}
