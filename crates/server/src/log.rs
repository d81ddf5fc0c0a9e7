//! The server's log: one line an event on stderr, `time level key=value …`.
//!
//! ```text
//! 2026-03-01T12:00:00.123Z WARNING pid=7 user=ann message="…"
//! ```

use std::fmt::{Display, Write as _};
use std::io::Write as _;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use steppe_types::Error;
use steppe_types::error::Severity;

/// Levels in the order of log_min_messages (LOG ranks above ERROR there).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// NOTICE
    Notice,
    /// WARNING
    Warning,
    /// ERROR
    Error,
    /// LOG: information for the administrator.
    Log,
    /// FATAL
    Fatal,
    /// PANIC
    Panic,
}

impl Level {
    fn as_str(self) -> &'static str {
        match self {
            Level::Notice => "NOTICE",
            Level::Warning => "WARNING",
            Level::Error => "ERROR",
            Level::Log => "LOG",
            Level::Fatal => "FATAL",
            Level::Panic => "PANIC",
        }
    }
}

static THRESHOLD: AtomicU8 = AtomicU8::new(Level::Warning as u8);

/// Sets log_min_messages.
pub fn set_threshold(word: &str) {
    let level = match word {
        "warning" => Level::Warning,
        "error" => Level::Error,
        "log" => Level::Log,
        "fatal" => Level::Fatal,
        "panic" => Level::Panic,
        _ => Level::Notice,
    };
    THRESHOLD.store(level as u8, Ordering::Relaxed);
}

/// Writes a line. A failure to write the log does not stop the server.
pub fn write(level: Level, fields: &[(&str, &dyn Display)]) {
    if (level as u8) < THRESHOLD.load(Ordering::Relaxed) {
        return;
    }
    let mut line = timestamp();
    let _ = write!(line, " {}", level.as_str());
    for (name, value) in fields {
        let value = value.to_string();
        let plain = !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || c == '"');
        let _ =
            if plain { write!(line, " {name}={value}") } else { write!(line, " {name}={value:?}") };
    }
    line.push('\n');
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// LOG with a message.
pub fn info(message: impl Display) {
    write(Level::Log, &[("message", &message)]);
}

/// The most bytes of a message and of a statement in a line: a client chooses both.
const SHOWN_BYTES: usize = 1000;

fn shown(text: &str) -> &str {
    &text[..text.floor_char_boundary(SHOWN_BYTES)]
}

/// Writes a panic as one line of the log, instead of a backtrace.
pub fn panics_to_log() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or_default();
        write(Level::Error, &[("panic", &shown(message)), ("place", &place), ("thread", &thread)]);
    }));
}

/// Logs an error of a session, with the statement that it ran.
pub fn session_error(pid: u32, error: &Error, statement: &str) {
    let level = match error.fields().severity {
        Severity::Error => Level::Error,
        Severity::Fatal => Level::Fatal,
        Severity::Panic => Level::Panic,
        Severity::Warning => Level::Warning,
        Severity::Notice | Severity::Info | Severity::Debug => Level::Notice,
    };
    let statement = shown(statement);
    let sqlstate = error.sqlstate();
    let mut fields: Vec<(&str, &dyn Display)> = vec![("pid", &pid), ("sqlstate", &sqlstate)];
    let message = shown(error.message());
    fields.push(("message", &message));
    if !statement.is_empty() {
        fields.push(("statement", &statement));
    }
    write(level, &fields);
}

/// The present time, in UTC to the millisecond.
fn timestamp() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (now.as_secs() / 86_400, now.as_secs() % 86_400);
    // Civil date from days since 1970-01-01 (H. Hinnant's algorithm, years from March).
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        now.subsec_millis()
    )
}
