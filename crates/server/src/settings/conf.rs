//! steppe.conf: PostgreSQL's configuration syntax (guc-file.l), read and written.
//!
//! A line is `name = value`. The `=` is optional, and `#` starts a comment. Strings are in single
//! quotes with `''` and backslash escapes. The last line of a name counts. `include` is not
//! supported.

use super::definition;
use super::value::Value;

/// A line that sets a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name as written.
    pub name: String,
    /// The value, unquoted.
    pub value: String,
    /// The line, from 1.
    pub line: usize,
}

/// Reads a configuration file. An error names its line.
pub fn parse(text: &str) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        match parse_line(line) {
            Ok(None) => {}
            Ok(Some((name, value))) => entries.push(Entry { name, value, line: number }),
            Err(near) => return Err(format!("syntax error in line {number}, near \"{near}\"")),
        }
    }
    Ok(entries)
}

fn parse_line(line: &str) -> Result<Option<(String, String)>, String> {
    let line = line.trim_start();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let is_name =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.') || !c.is_ascii();
    let end = line.find(|c| !is_name(c)).unwrap_or(line.len());
    if end == 0 || line.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Err(first_word(line));
    }
    let (name, rest) = line.split_at(end);
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let (value, rest) = parse_value(rest)?;
    let rest = rest.trim_start();
    if !rest.is_empty() && !rest.starts_with('#') {
        return Err(first_word(rest));
    }
    Ok(Some((name.to_owned(), value)))
}

fn first_word(text: &str) -> String {
    text.split_whitespace().next().unwrap_or_default().to_owned()
}

/// The value at the start of `text`, and the rest.
fn parse_value(text: &str) -> Result<(String, &str), String> {
    let Some(quoted) = text.strip_prefix('\'') else {
        let end = text.find(|c: char| c.is_whitespace() || c == '#').unwrap_or(text.len());
        if end == 0 {
            return Err("end of line".to_owned());
        }
        return Ok((text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if chars.peek().is_some_and(|(_, next)| *next == '\'') => {
                chars.next();
                value.push('\'');
            }
            '\'' => return Ok((value, &quoted[at + 1..])),
            '\\' => value.extend(chars.next().map(|(_, escaped)| match escaped {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            })),
            other => value.push(other),
        }
    }
    Err(text.to_owned())
}

/// The settings that a new steppe.conf shows, as comments.
const SHOWN: &[(&str, &[&str])] = &[
    ("Connections", &["max_connections", "authentication_timeout", "idle_session_timeout"]),
    ("Memory", &["shared_buffers", "work_mem", "maintenance_work_mem", "wal_buffers"]),
    (
        "Write-ahead log",
        &[
            "synchronous_commit",
            "checkpoint_timeout",
            "max_wal_size",
            "min_wal_size",
            "wal_writer_delay",
        ],
    ),
    ("Locks", &["deadlock_timeout", "lock_timeout"]),
    (
        "Statements",
        &[
            "statement_timeout",
            "idle_in_transaction_session_timeout",
            "default_transaction_isolation",
            "default_transaction_read_only",
            "search_path",
        ],
    ),
    ("Formats", &["DateStyle", "TimeZone", "IntervalStyle", "extra_float_digits", "bytea_output"]),
    (
        "Logging",
        &[
            "log_min_messages",
            "log_statement",
            "log_min_duration_statement",
            "log_connections",
            "log_disconnections",
        ],
    ),
];

/// The text of a new steppe.conf: every line is a comment with the built-in value.
pub fn default_text() -> String {
    let mut text = String::from(
        "# Steppe's configuration. The syntax and the names are PostgreSQL's; every setting that\n\
         # SHOW ALL lists can stand here. A line without # overrides the built-in value it shows,\n\
         # `-c name=value` on the command line overrides both. Changes take effect at a reload (SIGHUP,\n\
         # SELECT pg_reload_conf()), those of memory and connections at a restart.\n",
    );
    for (heading, names) in SHOWN {
        text.push_str(&format!("\n# {heading}\n"));
        for name in *names {
            let Some(definition) = definition::find(name) else { continue };
            let shown = definition.boot.show(definition);
            let plain = match definition.boot {
                Value::Int(_) | Value::Real(_) => shown.chars().all(|c| c.is_ascii_digit()),
                Value::Text(_) => false,
                _ => !shown.contains(' '),
            };
            let value = if plain { shown } else { format!("'{}'", shown.replace('\'', "''")) };
            text.push_str(&format!("#{} = {value}\n", definition.name));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_postgresqls_syntax() {
        let text = "\n# all\nwork_mem = 64MB # more\nDateStyle 'iso, dmy'\n  a.b='it''s \\'x\\''\n";
        let entries = parse(text).unwrap();
        let pairs: Vec<_> = entries.iter().map(|e| (e.name.as_str(), e.value.as_str())).collect();
        assert_eq!(pairs, [("work_mem", "64MB"), ("DateStyle", "iso, dmy"), ("a.b", "it's 'x'")]);
        assert_eq!(entries[1].line, 4);
        for wrong in ["=x", "work_mem =", "a = 'x", "a = 1 2", "1 = 2"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_default_file_changes_nothing_and_can_be_uncommented() {
        let text = default_text();
        assert!(parse(&text).unwrap().is_empty());
        let uncommented: String = text
            .lines()
            .filter(|line| line.starts_with('#') && !line.starts_with("# "))
            .map(|line| format!("{}\n", &line[1..]))
            .collect();
        for entry in parse(&uncommented).unwrap() {
            let definition = definition::find(&entry.name).unwrap();
            assert_eq!(Value::parse(definition, &entry.value).unwrap(), definition.boot);
        }
    }
}
