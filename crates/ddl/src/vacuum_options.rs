//! The options of VACUUM and ANALYZE (vacuum.c: ExecVacuum).
//!
//! All options are read and refused as in PostgreSQL. Some have no effect here, because rows are
//! not frozen, and pages are not skipped.

use super::DdlContext;
use super::reloptions::{def_boolean, def_text};
use steppe_sql::ast::{DefElem, DefValue, VacuumStmt};
use steppe_types::{Error, Result, SqlState};

/// The most workers of PARALLEL (MAX_PARALLEL_WORKER_LIMIT).
const WORKERS_MAX: i32 = 1024;
/// Kilobytes of BUFFER_USAGE_LIMIT that are not 0.
const RING_LEAST: f64 = 128.0;
const RING_MOST: f64 = 16_777_216.0;

/// The parsed options.
#[derive(Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools)]
pub(super) struct Options {
    pub(super) analyze: bool,
    pub(super) skip_locked: bool,
    /// ONLY_DATABASE_STATS, which leaves all tables alone.
    pub(super) only_database_stats: bool,
    full: bool,
    freeze: bool,
    disable_page_skipping: bool,
    skip_database_stats: bool,
    without_toast: bool,
    has_ring: bool,
    is_parallel: bool,
}

/// The options of a statement.
pub(super) fn of(ctx: &DdlContext<'_>, stmt: &VacuumStmt) -> Result<Options> {
    let mut options = Options::default();
    for option in &stmt.options {
        match option.name.as_str() {
            "verbose" => drop(def_boolean(option)?),
            "skip_locked" => options.skip_locked = def_boolean(option)?,
            "buffer_usage_limit" => options.has_ring = ring(option)?,
            _ if stmt.is_vacuum => options.read(ctx, option)?,
            name => {
                let message = format!("unrecognized ANALYZE option \"{name}\"");
                return Err(ctx.error(SqlState::SYNTAX_ERROR, message, option.location));
            }
        }
    }
    if stmt.is_vacuum {
        options.check(stmt)?;
    }
    Ok(options)
}

impl Options {
    /// An option that only VACUUM has.
    fn read(&mut self, ctx: &DdlContext<'_>, option: &DefElem) -> Result<()> {
        let wrong = |message| Err(ctx.error(SqlState::SYNTAX_ERROR, message, option.location));
        match option.name.as_str() {
            "analyze" => self.analyze = def_boolean(option)?,
            "freeze" => self.freeze = def_boolean(option)?,
            "full" => self.full = def_boolean(option)?,
            "disable_page_skipping" => self.disable_page_skipping = def_boolean(option)?,
            "index_cleanup" if def_text(option).as_deref() == Some("auto") => {}
            "index_cleanup" | "process_main" | "truncate" => drop(def_boolean(option)?),
            "process_toast" => self.without_toast = !def_boolean(option)?,
            "skip_database_stats" => self.skip_database_stats = def_boolean(option)?,
            "only_database_stats" => self.only_database_stats = def_boolean(option)?,
            "parallel" => match &option.value {
                None => {
                    return wrong(format!(
                        "parallel option requires a value between 0 and {WORKERS_MAX}"
                    ));
                }
                Some(DefValue::Integer(workers)) if (0..=WORKERS_MAX).contains(workers) => {
                    self.is_parallel = *workers > 0;
                }
                Some(DefValue::Integer(_)) => {
                    return wrong(format!(
                        "parallel workers for vacuum must be between 0 and {WORKERS_MAX}"
                    ));
                }
                Some(_) => {
                    let message = "parallel requires an integer value";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                }
            },
            name => return wrong(format!("unrecognized VACUUM option \"{name}\"")),
        }
        Ok(())
    }

    /// Refuses options that exclude each other.
    fn check(&self, stmt: &VacuumStmt) -> Result<()> {
        let has_columns = stmt.relations.iter().any(|relation| !relation.columns.is_empty());
        let beside = self.analyze
            || self.freeze
            || self.full
            || self.skip_locked
            || self.disable_page_skipping
            || self.skip_database_stats;
        let refused = [
            (self.full && self.is_parallel, "VACUUM FULL cannot be performed in parallel"),
            (
                self.full && self.has_ring && !self.analyze,
                "BUFFER_USAGE_LIMIT cannot be specified for VACUUM FULL",
            ),
            (
                has_columns && !self.analyze,
                "ANALYZE option must be specified when a column list is provided",
            ),
            (
                self.full && self.disable_page_skipping,
                "VACUUM option DISABLE_PAGE_SKIPPING cannot be used with FULL",
            ),
            (self.full && self.without_toast, "PROCESS_TOAST required with VACUUM FULL"),
            (
                self.only_database_stats && !stmt.relations.is_empty(),
                "ONLY_DATABASE_STATS cannot be specified with a list of tables",
            ),
            (
                self.only_database_stats && beside,
                "ONLY_DATABASE_STATS cannot be specified with other VACUUM options",
            ),
        ];
        match refused.iter().find(|(is_so, _)| *is_so) {
            Some((_, message)) => Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, *message)),
            None => Ok(()),
        }
    }
}

/// BUFFER_USAGE_LIMIT: kilobytes, or a number with a unit. Whether it is more than 0.
fn ring(option: &DefElem) -> Result<bool> {
    let Some(text) = def_text(option) else {
        let message = format!("{} requires a parameter", option.name);
        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
    };
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..end].trim().parse::<f64>(), &text[end..]);
    let factor = match unit {
        "B" => Some(1.0 / 1024.0),
        "" | "kB" => Some(1.0),
        "MB" => Some(1024.0),
        "GB" => Some(1024.0 * 1024.0),
        "TB" => Some(1024.0 * 1024.0 * 1024.0),
        _ => None,
    };
    let refused = Error::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!(
            "BUFFER_USAGE_LIMIT option must be 0 or between {RING_LEAST} kB and {RING_MOST} kB"
        ),
    );
    match (number, factor) {
        (Ok(number), Some(factor)) => {
            let kilobytes = (number * factor).round_ties_even();
            match kilobytes == 0.0 || (RING_LEAST..=RING_MOST).contains(&kilobytes) {
                true => Ok(kilobytes > 0.0),
                false => Err(refused),
            }
        }
        (Ok(_), None) => Err(refused
            .hint("Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".")),
        (Err(_), _) => Err(refused),
    }
}
