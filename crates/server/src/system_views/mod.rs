//! What the system catalogs show of the server and the session: settings, activity,
//! locks, prepared statements, cursors.

mod activity;
mod database;
mod files;
mod io;
mod locks;
mod progress;
mod sequences;
pub(crate) mod session;
mod slru;
mod statements;
mod statistics;
mod wal;
mod xids;
mod zones;

pub(crate) use database::SessionEnd;
pub(crate) use io::{SavedServer, ServerStatistics};

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use steppe_catalog::system::session::POSTGRES_DATABASE;
use steppe_catalog::system::{self, SessionView, Setting, SystemContext};
use steppe_catalog::{RelKind, Relation};
use steppe_exec::functions::rules;
use steppe_types::datum::Array;
use steppe_types::{Datum, Error, Oid, Result, oid};

use crate::services::Core;
use crate::session::two_phase;
use crate::settings::definition::Kind;
use crate::settings::value::format_g;
use crate::spi::names_of;

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
        let state = server.sequences.get(&server.database, relation).ok()?;
        let (value, called) = state.position();
        called.then_some(value)
    }

    fn view_definition(&self, view: &Relation) -> Option<String> {
        let io = self.in_force.lock().frame.io.clone();
        rules::printed_view(&names_of(&self.names(), &self.identity.user), &io, view, false)
    }

    fn updatable_columns(&self, view: &Arc<Relation>) -> Option<Vec<bool>> {
        let io = self.in_force.lock().frame.io.clone();
        rules::updatable_columns(&names_of(&self.names(), &self.identity.user), &io, view)
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
            "pg_cursors" => session::cursors(&self.named.lock()).map(Some),
            "pg_prepared_statements" => session::statements(&self.named.lock()).map(Some),
            _ => match io::rows(self, relation)? {
                Some(rows) => Ok(Some(rows)),
                None => statistics::rows(self, relation),
            },
        }
    }
}

impl Core {
    /// Functions that only the server can compute, by prosrc.
    pub(crate) fn call_function(&self, source: &str, args: &[Datum]) -> Option<Result<Datum>> {
        Some(Ok(match (source, args) {
            ("pg_postmaster_start_time", _) => Datum::TimestampTz(self.server.started),
            ("pg_conf_load_time", _) => {
                Datum::TimestampTz(self.server.configured.load(Ordering::Relaxed))
            }
            ("pg_reload_conf", _) => Datum::Bool(self.server.reload()),
            ("pg_blocking_pids", [Datum::Int4(pid)]) => pids(&self.blocking_pids(*pid)),
            ("pg_safe_snapshot_blocking_pids", [Datum::Int4(pid)]) => {
                pids(&self.blocking_safe_snapshot(*pid))
            }
            ("pg_isolation_test_session_is_blocked", [Datum::Int4(pid), among]) => {
                return Some(self.is_blocked(*pid, among));
            }
            ("pg_prepared_xact", _) => return Some(two_phase::records(&self.server)),
            ("current_query", _) => Datum::text(self.control.activity.query()),
            ("pg_current_xact_id_if_assigned", _) => match self.handle.shared().xid() {
                0 => Datum::Null,
                xid => Datum::Xid8(xid),
            },
            ("inet_client_addr", _) => self.address(|[client, _]| show_ip(client)),
            ("inet_server_addr", _) => self.address(|[_, server]| show_ip(server)),
            ("inet_client_port", _) => self.address(|[client, _]| show_port(client)),
            ("inet_server_port", _) => self.address(|[_, server]| show_port(server)),
            ("pg_stat_reset", _) => {
                self.server.statistics.database.reset(self);
                Datum::text("")
            }
            ("pg_stat_reset_single_table_counters", [Datum::Oid(relation)]) => {
                let reset = self.server.statistics.database.reset_relation(self, *relation);
                return Some(reset.map(|()| Datum::text("")));
            }
            ("pg_stat_reset_shared", [Datum::Null]) => return Some(io::reset_shared(self, None)),
            ("pg_stat_reset_shared", [Datum::Text(target)]) => {
                return Some(io::reset_shared(self, Some(target)));
            }
            _ => {
                let of_log = wal::call(self, source, args);
                let or_of_xids = of_log.or_else(|| xids::call(self, source, args));
                let or_of_xids = or_of_xids.or_else(|| sequences::call(self, source, args));
                let or_of_xids = or_of_xids.or_else(|| files::call(self, source, args));
                let or_of_xids = or_of_xids.or_else(|| slru::call(self, source, args));
                let of_relation = || statistics::call(self, source, args).map(Ok);
                let or_of_xids = or_of_xids.or_else(of_relation);
                return or_of_xids.or_else(|| statements::call(self, source, args));
            }
        }))
    }

    /// Something of the addresses of the session's connection; NULL on a Unix socket.
    fn address(&self, show: impl Fn([SocketAddr; 2]) -> Datum) -> Datum {
        let mut addresses = None;
        let pid = i32::try_from(self.handle.pid()).unwrap_or(0);
        self.server.backends.with(pid, |backend| addresses = backend.addresses);
        addresses.map_or(Datum::Null, show)
    }

    /// Whose locks the session waits for, held or asked for before it.
    fn blocking_pids(&self, pid: i32) -> Vec<u32> {
        match u32::try_from(pid) {
            // A session that waits for a safe snapshot is blocked by nobody's lock.
            Ok(pid) if self.blocking_safe_snapshot(pid as i32).is_empty() => {
                self.server.database.locks().blocking(pid)
            }
            _ => Vec::new(),
        }
    }

    /// Whose serializable transactions the session waits for to have a safe snapshot.
    fn blocking_safe_snapshot(&self, pid: i32) -> Vec<u32> {
        let pid = u32::try_from(pid).unwrap_or(0);
        self.server.database.blocking_safe_snapshot(pid)
    }

    /// What PostgreSQL's isolation tester asks for: whether a session waits for a lock of one
    /// `among` these, or for a safe snapshot.
    fn is_blocked(&self, pid: i32, among: &Datum) -> Result<Datum> {
        let among = &among.as_array()?.elements;
        let is_among = |blocker: &u32| {
            among.iter().any(|pid| matches!(pid, Datum::Int4(pid) if *pid as u32 == *blocker))
        };
        let by_lock = self.blocking_pids(pid).iter().any(is_among);
        Ok(Datum::Bool(by_lock || !self.blocking_safe_snapshot(pid).is_empty()))
    }
}

fn show_ip(address: SocketAddr) -> Datum {
    Datum::text(address.ip().to_string())
}

fn show_port(address: SocketAddr) -> Datum {
    Datum::Int4(i32::from(address.port()))
}

/// What a function that returns rows hands to the executor.
pub(crate) fn records(elements: Vec<Datum>) -> Datum {
    let dimensions = match elements.len() {
        0 => Vec::new(),
        rows => vec![(i32::try_from(rows).unwrap_or(i32::MAX), 1)],
    };
    Datum::Array(Arc::new(Array { element_type: oid::RECORD, dimensions, elements }))
}

/// An int4[].
fn pids(pids: &[u32]) -> Datum {
    let elements: Vec<Datum> =
        pids.iter().map(|pid| Datum::Int4(i32::try_from(*pid).unwrap_or(i32::MAX))).collect();
    let dimensions =
        if elements.is_empty() { Vec::new() } else { vec![(elements.len() as i32, 1)] };
    Datum::Array(Arc::new(Array { element_type: oid::INT4, dimensions, elements }))
}
