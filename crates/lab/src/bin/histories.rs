//! Histories of lists at each isolation level, across `kill -9`. See [`steppe_lab::histories`].

use std::path::PathBuf;
use std::process::ExitCode;

use steppe_lab::command_line::{self, number, unknown};
use steppe_lab::histories::{self, Options};

const USAGE: &str = "usage: histories [--server BINARY] [--rounds N|endless] [--clients N] \
                     [--load-ms N] [--seed N]";

fn set(options: &mut Options, name: &str, value: &str) -> Result<(), String> {
    match name {
        "--server" => options.server = PathBuf::from(value),
        "--rounds" if value == "endless" => options.rounds = None,
        "--rounds" => options.rounds = Some(number(name, value)?),
        "--clients" => options.clients = number(name, value)?.clamp(1, 90) as usize,
        "--load-ms" => options.load_ms = number(name, value)?.max(1),
        "--seed" => options.seed = number(name, value)?,
        _ => return unknown(name),
    }
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let default = Options {
        server: PathBuf::from("target/debug/steppe"),
        rounds: Some(3),
        clients: 6,
        load_ms: 500,
        seed: command_line::seed_of_now(),
    };
    let options = match command_line::read("histories", USAGE, default, set) {
        Ok(options) => options,
        Err(status) => return status,
    };
    println!("histories: seed {}", options.seed);
    let result = histories::run(&options, |line| println!("  {line}")).await;
    command_line::finish("histories", "no anomaly", result)
}
