//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::Config;

/// The parsed command line.
#[derive(Debug)]
pub enum Command {
    /// Run the server.
    Serve(Box<Config>),
    /// Print this and stop.
    Print(String),
}

const HELP: &str = "\
Steppe: a PostgreSQL-compatible transactional database.

Usage: steppe COMMAND [options]

Commands:
  serve       run the server; `steppe serve --help` says how

Options:
  --help      show this
  --version   show the version

The quickest start, with data in ./data:

  steppe serve
  psql -h 127.0.0.1 -p 5433 -U postgres postgres
";

const SERVE_HELP: &str = "\
Runs the server until it is told to stop.

Usage: steppe serve [options]

Options:
  --data-dir DIR         where the data is (default ./data); an empty or missing
                         directory is initialised
  --listen ADDRESS:PORT  where clients connect (default 127.0.0.1:5433; port 0: any)
  --socket-dir DIR       also listen on the Unix socket DIR/.s.PGSQL.PORT
  --user NAME            started by root: run as this user of the operating system,
                         whose the data directory must be (a new one becomes it)
  -c NAME=VALUE          a setting; may be repeated
  --help                 show this
  --version              show the version

On standard output it prints one line when clients may connect:

  ready: listening on 127.0.0.1:5433

Settings have PostgreSQL's names, units and defaults. They are taken from
DIR/steppe.conf (made with the defaults as comments), overridden by -c, and by SET in
a session. SHOW ALL lists them, pg_settings says where each value comes from.

  steppe serve -c shared_buffers=4GB -c max_connections=500
  steppe serve -c log_statement=ddl -c log_min_duration_statement=250ms

Signals:
  SIGTERM, SIGINT        end the sessions, write everything, stop; a second one stops
                         at once, and the next start recovers
  SIGHUP                 read steppe.conf again, as SELECT pg_reload_conf() does

The log goes to standard error, one line an event: time, level, key=value. What is
logged: log_min_messages, log_connections, log_disconnections, log_statement,
log_min_duration_statement.

Run it as a user of its own (--user NAME where root starts it). As root it warns, and
COPY reads and writes no files: any client could replace any file of the machine.

Only clients of this machine are let in, until authentication is there. There are one
role and one database, both named postgres; clients that are not told otherwise take
the name of the operating system's user, so say -U postgres.
";

/// Reads the command line (without the program's name). The error is for the operator.
pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut arguments = arguments.peekable();
    match arguments.next().as_deref() {
        Some("serve") => {}
        Some("--help" | "-h" | "help") | None => return Ok(Command::Print(HELP.to_owned())),
        Some("--version" | "-V") => return Ok(Command::Print(version())),
        Some(other) => return Err(format!("unknown command \"{other}\"; try steppe --help")),
    }
    let mut config = Config::default();
    while let Some(argument) = arguments.next() {
        let (name, inline) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with("--") => {
                (name.to_owned(), Some(value.to_owned()))
            }
            _ => (argument.clone(), None),
        };
        let mut value = || {
            let value = inline.clone().or_else(|| arguments.next());
            value.ok_or_else(|| format!("option {name} needs a value"))
        };
        match name.as_str() {
            "--help" | "-h" => return Ok(Command::Print(SERVE_HELP.to_owned())),
            "--version" | "-V" => return Ok(Command::Print(version())),
            "--data-dir" | "-D" => config.data_dir = PathBuf::from(value()?),
            "--listen" => {
                let text = value()?;
                let address: SocketAddr =
                    text.parse().map_err(|_| format!("invalid address \"{text}\""))?;
                config.listen = address;
            }
            "--socket-dir" => config.socket_dir = Some(PathBuf::from(value()?)),
            "--user" => config.user = Some(value()?),
            "-c" => config.settings.push(setting(&value()?)?),
            _ if name.starts_with("-c") && name.len() > 2 => {
                config.settings.push(setting(&argument[2..])?);
            }
            _ => return Err(format!("unknown option \"{argument}\"; try steppe serve --help")),
        }
    }
    Ok(Command::Serve(Box::new(config)))
}

fn version() -> String {
    format!("steppe {} (PostgreSQL {})\n", env!("CARGO_PKG_VERSION"), crate::SERVER_VERSION)
}

/// Splits `name=value`. In a name, `-` may stand for `_`, as in PostgreSQL.
pub(crate) fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            Ok((name.trim().replace('-', "_"), value.to_owned()))
        }
        _ => Err(format!("-c {text} requires a value")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read() {
        let line = "serve --data-dir=/d --listen 127.0.0.1:0 -c work_mem=1MB -cfsync=on";
        let Ok(Command::Serve(config)) = run(line) else { panic!("not serve") };
        assert_eq!(config.data_dir, PathBuf::from("/d"));
        assert_eq!(config.listen.port(), 0);
        let settings: Vec<_> = config.settings.iter().map(|(n, v)| (&**n, &**v)).collect();
        assert_eq!(settings, [("work_mem", "1MB"), ("fsync", "on")]);
    }

    #[test]
    fn mistakes_are_named() {
        assert!(run("fly").unwrap_err().contains("unknown command"));
        assert!(run("serve --data-dir").unwrap_err().contains("needs a value"));
        assert!(run("serve --listen x").unwrap_err().contains("invalid address"));
        assert!(run("serve -c x").unwrap_err().contains("requires a value"));
        assert!(matches!(run("--help"), Ok(Command::Print(text)) if text.contains("serve")));
        assert!(
            matches!(run("serve --help"), Ok(Command::Print(text)) if text.contains("-c NAME"))
        );
        assert!(matches!(run("serve --version"), Ok(Command::Print(_))));
    }
}
