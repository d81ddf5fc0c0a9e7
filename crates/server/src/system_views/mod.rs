//! The system views of the server and the session: settings, activity, locks, prepared statements,
//! cursors.

mod activity;
mod cluster;
mod database;
mod functions;
pub(crate) mod io;
mod locks;
mod progress;
pub(crate) mod session;
pub(crate) mod slru;
pub(crate) mod statistics;
mod zones;

pub(crate) use database::SessionEnd;
pub(crate) use io::{SavedServer, ServerStatistics};

use std::sync::Arc;

use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_catalog::system::{self, SessionView, Setting, SystemContext};
use steppe_catalog::{RelKind, Relation};
use steppe_functions::rules;
use steppe_types::{Datum, Error, Oid, Result};

use crate::services::SharedSession;
use crate::session::two_phase;
use crate::settings::definition::Kind;
use crate::settings::value::format_g;
use crate::spi::names_of;

/// The rows of a virtual relation.
pub(crate) fn rows(core: &SharedSession, relation: Oid) -> Result<Vec<Vec<Datum>>> {
    let names = core.names();
    if let Some(sequence) = names.catalog.relation(relation)
        && sequence.kind == RelKind::Sequence
    {
        let server = &core.server;
        let (last, called) = server.sequences.get(&server.engine, sequence)?.position();
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

impl SessionView for SharedSession {
    fn settings(&self) -> Vec<Setting> {
        let rows = self.settings.lock().rows();
        let file = self.server.data_dir.configuration_path().display().to_string();
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
                    setting: match self.modes.show(definition.name) {
                        Some(shown) => shown.to_owned(),
                        None => row.setting.value.setting(),
                    },
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
                    source_file: row.setting.source.line().map(|_| file.clone()),
                    source_line: row.setting.source.line(),
                    pending_restart: row.pending_restart,
                }
            })
            .collect()
    }

    fn sequence_last_value(&self, sequence: Oid) -> Option<i64> {
        let names = self.names();
        let relation = names.catalog.relation(sequence)?;
        let server = &self.server;
        let state = server.sequences.get(&server.engine, relation).ok()?;
        let (value, called) = state.position();
        called.then_some(value)
    }

    fn view_definition(&self, view: &Relation) -> Option<String> {
        let namespace = self.namespace.get();
        let names = names_of(&namespace.names, &self.identity.user);
        rules::printed_view(&names, &namespace.io, view, false).ok().flatten()
    }

    fn updatable_columns(&self, view: &Arc<Relation>) -> Option<Vec<bool>> {
        let namespace = self.namespace.get();
        let names = names_of(&namespace.names, &self.identity.user);
        rules::updatable_columns(&names, &namespace.io, view)
    }

    fn search_path(&self) -> Vec<Oid> {
        self.namespace.get().names.path.to_vec()
    }

    fn rows(&self, relation: &str) -> Result<Option<Vec<Vec<Datum>>>> {
        match relation {
            "pg_stat_activity" => activity::rows(self).map(Some),
            "pg_stat_ssl" => activity::encryption(self, relation, "ssl").map(Some),
            "pg_stat_gssapi" => activity::encryption(self, relation, "encrypted").map(Some),
            "pg_stat_database_conflicts" => database::conflicts(self).map(Some),
            "pg_stat_progress_copy" => progress::copies(self).map(Some),
            "pg_stat_progress_vacuum" => progress::rows(self, relation).map(Some),
            "pg_stat_progress_analyze" => progress::rows(self, relation).map(Some),
            "pg_stat_progress_create_index" => progress::rows(self, relation).map(Some),
            "pg_locks" => locks::rows(self).map(Some),
            "pg_timezone_abbrevs" => zones::abbreviations(self).map(Some),
            "pg_prepared_xacts" => two_phase::rows(&self.server).map(Some),
            "pgxc_prepared_xacts" => cluster::in_doubt(&self.server).map(Some),
            "pg_cursors" => {
                let mut portals = self.portals.shown();
                portals.extend(self.unnamed_portal.lock().clone());
                session::cursors(&portals, &self.routines.open_cursors()).map(Some)
            }
            "pg_prepared_statements" => session::statements(&self.statements.shown()).map(Some),
            "pg_stat_user_functions" | "pg_stat_xact_user_functions" => {
                functions::rows(self, relation)
            }
            _ => match io::rows(self, relation)? {
                Some(rows) => Ok(Some(rows)),
                None => statistics::rows(self, relation),
            },
        }
    }
}
