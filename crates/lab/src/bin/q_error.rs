//! How far row estimates are off, Steppe's beside PostgreSQL's. See [`steppe_lab::q_error`].

use std::path::PathBuf;
use std::process::ExitCode;

use steppe_lab::command_line::{self, unknown};
use steppe_lab::q_error::{self, Options};

const USAGE: &str =
    "usage: q_error [--server BINARY] [--postgres BINARIES] [--corpus DIR] [--shown FACTOR]";

fn set(options: &mut Options, name: &str, value: &str) -> Result<(), String> {
    match name {
        "--server" => options.server = PathBuf::from(value),
        "--postgres" => options.postgres = PathBuf::from(value),
        "--corpus" => options.corpus = PathBuf::from(value),
        "--shown" => options.shown = command_line::number(name, value)? as f64,
        _ => return unknown(name),
    }
    Ok(())
}

fn main() -> ExitCode {
    let default = Options {
        server: PathBuf::from("target/debug/steppe"),
        postgres: PathBuf::from("/usr/lib/postgresql/15/bin"),
        corpus: PathBuf::from("tests/q_error"),
        shown: f64::INFINITY,
    };
    let options = match command_line::read("q_error", USAGE, default, set) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let result = q_error::run(&options, |line| println!("  {line}"));
    command_line::finish("q_error", "estimates are compared", result)
}
