//! Changes leaves of partitioned tables, or functions and triggers, under load. See [`steppe_lab::ddl_load`].

use std::path::PathBuf;
use std::process::ExitCode;

use steppe_lab::command_line::{self, number, unknown};
use steppe_lab::ddl_load::{self, Options, Subject};

const USAGE: &str = "usage: ddl_load [--server BINARY | --postgres HOST:PORT|BINARIES] \
                     [--of leaves|routines] [--clients N] [--seconds N] [--seed N]";

fn set(options: &mut Options, name: &str, value: &str) -> Result<(), String> {
    match name {
        "--server" => options.server = PathBuf::from(value),
        "--postgres" => options.postgres = Some(value.to_owned()),
        "--of" if value == "leaves" => options.subject = Subject::Leaves,
        "--of" if value == "routines" => options.subject = Subject::Routines,
        "--clients" => options.clients = number(name, value)?.clamp(1, 1000) as usize,
        "--seconds" => options.seconds = number(name, value)?,
        "--seed" => options.seed = number(name, value)?,
        _ => return unknown(name),
    }
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let default = Options {
        subject: Subject::Leaves,
        server: PathBuf::from("target/debug/steppe"),
        postgres: None,
        clients: 16,
        seconds: 10,
        seed: 1,
    };
    let options = match command_line::read("ddl_load", USAGE, default, set) {
        Ok(options) => options,
        Err(status) => return status,
    };
    match ddl_load::run(&options, |line| println!("ddl_load: {line}")).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("ddl_load: {failure}");
            ExitCode::FAILURE
        }
    }
}
