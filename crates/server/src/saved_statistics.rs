//! Saves the counters of the statistics views and pg_stat_statements across a restart, as in
//! PostgreSQL (pgstat.stat, pg_stat_statements.stat).
//!
//! ```text
//!   stop:   close the database ──▶ statistics.json, with where the log ends
//!   start:  read and remove it; does the log end there? ──▶ count on from there
//! ```
//!
//! A crash leaves no new file. An old file ends at an earlier log position than the log, so the
//! counters begin at 0: the last counts are lost. An unreadable file is reported, and does not
//! prevent a start.
//!
//! Pages read and written are counted by process: several servers in one process have the same
//! counts.

use serde::{Deserialize, Serialize};
use steppe_counting::accesses::SavedAccesses;

use crate::log;
use crate::server::Server;
use crate::statements::SavedStatements;
use crate::system_views::SavedServer;

/// A file of another format is not read.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Saved {
    format: u32,
    /// The log's end position.
    log_end: u64,
    accesses: SavedAccesses,
    server: SavedServer,
    /// `None` if pg_stat_statements.save is off.
    statements: Option<SavedStatements>,
}

/// Saves the counters of a server whose database is closed.
pub(crate) fn save(server: &Server) {
    let written = to_text(server).and_then(|text| server.data_dir.leave_statistics(&text));
    warn_if("could not save statistics", written);
}

fn to_text(server: &Server) -> Result<String, String> {
    let catalog = server.catalog.published();
    let counts = server.statistics.save(server, &catalog).map_err(|e| e.to_string())?;
    let saves_statements = server.settings.is_on("pg_stat_statements.save");
    let saved = Saved {
        format: FORMAT,
        log_end: server.engine.wal().insert_position().0,
        accesses: server.relation_statistics.save(&catalog),
        server: counts,
        statements: saves_statements.then(|| server.statements.save()),
    };
    serde_json::to_string(&saved).map_err(|error| error.to_string())
}

/// Continues from the saved counters.
pub(crate) fn restore(server: &Server) {
    let text = match server.data_dir.take_statistics() {
        Ok(Some(text)) => text,
        Ok(None) => return,
        Err(error) => return warn_if("could not read statistics", Err(error)),
    };
    warn_if("could not read statistics", restore_from(server, &text));
}

fn restore_from(server: &Server, text: &str) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Head {
        format: u32,
    }
    let head: Head = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if head.format != FORMAT {
        return Err(format!("they have format {}, this server reads {FORMAT}", head.format));
    }
    let saved: Saved = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if saved.log_end != server.engine.store().recovery_summary().end.0 {
        return Ok(());
    }
    let catalog = server.catalog.published();
    let restored = server.statistics.restore(saved.server, &server.engine, &catalog);
    restored.map_err(|error| error.to_string())?;
    server.relation_statistics.restore(saved.accesses);
    if let Some(statements) = saved.statements {
        server.statements.restore(statements);
    }
    Ok(())
}

fn warn_if(what: &str, result: Result<(), String>) {
    if let Err(error) = result {
        log::write(log::Level::Warning, &[("message", &what), ("error", &error)]);
    }
}
