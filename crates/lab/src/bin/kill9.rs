//! `kill -9` under load with a ledger of what was promised. See [`steppe_lab::kill9`].

use std::path::PathBuf;
use std::process::ExitCode;

use steppe_lab::command_line::{self, number, unknown};
use steppe_lab::kill9::{self, Options};

const USAGE: &str = "usage: kill9 [--server BINARY] [--cycles N|endless] [--clients N] \
                     [--load-ms N] [--seed N]";

fn set(options: &mut Options, name: &str, value: &str) -> Result<(), String> {
    match name {
        "--server" => options.server = PathBuf::from(value),
        "--cycles" if value == "endless" => options.cycles = None,
        "--cycles" => options.cycles = Some(number(name, value)?),
        "--clients" => options.clients = number(name, value)?.clamp(1, 1000) as usize,
        "--load-ms" => options.load_ms_max = number(name, value)?.max(1),
        "--seed" => options.seed = number(name, value)?,
        _ => return unknown(name),
    }
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let default = Options {
        server: PathBuf::from("target/debug/steppe"),
        cycles: Some(20),
        clients: 6,
        load_ms_max: 1000,
        seed: command_line::seed_of_now(),
    };
    let options = match command_line::read("kill9", USAGE, default, set) {
        Ok(options) => options,
        Err(status) => return status,
    };
    println!("kill9: seed {}", options.seed);
    let result = kill9::run(&options, |line| println!("  {line}")).await;
    command_line::finish("kill9", "every promise was kept", result)
}
