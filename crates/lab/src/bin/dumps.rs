//! Dumps of PostgreSQL and of Steppe, restored into each other. See [`steppe_lab::dumps`].

use std::path::PathBuf;
use std::process::ExitCode;

use steppe_lab::command_line::{self, unknown};
use steppe_lab::dumps::{self, Options};

const USAGE: &str = "usage: dumps [--server BINARY] [--postgres BINARIES] [--schemas DIR]";

fn set(options: &mut Options, name: &str, value: &str) -> Result<(), String> {
    match name {
        "--server" => options.server = PathBuf::from(value),
        "--postgres" => options.postgres = PathBuf::from(value),
        "--schemas" => options.schemas = PathBuf::from(value),
        _ => return unknown(name),
    }
    Ok(())
}

fn main() -> ExitCode {
    let default = Options {
        server: PathBuf::from("target/debug/steppe"),
        postgres: PathBuf::from("/usr/lib/postgresql/15/bin"),
        schemas: PathBuf::from("tests/dump"),
    };
    let options = match command_line::read("dumps", USAGE, default, set) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let result = dumps::run(&options, |line| println!("  {line}"));
    command_line::finish("dumps", "every dump restores", result)
}
