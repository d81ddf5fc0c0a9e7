//! Leaves of partitioned tables come and go under load. See [`steppe_lab::ddl_load`].

use std::path::PathBuf;
use std::process::ExitCode;

use steppe_lab::ddl_load::{self, Options};

const USAGE: &str = "usage: ddl_load [--server BINARY | --postgres HOST:PORT|BINARIES] \
                     [--clients N] [--seconds N] [--seed N]";

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        server: PathBuf::from("target/debug/steppe"),
        postgres: None,
        clients: 16,
        seconds: 10,
        seed: 1,
    };
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(format!("{argument} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{argument} needs a number"));
        match argument.as_str() {
            "--server" => options.server = PathBuf::from(value),
            "--postgres" => options.postgres = Some(value),
            "--clients" => options.clients = number()?.clamp(1, 1000) as usize,
            "--seconds" => options.seconds = number()?,
            "--seed" => options.seed = number()?,
            _ => return Err(format!("unknown option {argument}")),
        }
    }
    Ok(options)
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("ddl_load: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match ddl_load::run(&options, |line| println!("ddl_load: {line}")).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("ddl_load: {failure}");
            ExitCode::FAILURE
        }
    }
}
