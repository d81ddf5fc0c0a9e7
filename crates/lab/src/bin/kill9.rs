//! `kill -9` under load with a ledger of what was promised. See [`steppe_lab::kill9`].

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use steppe_lab::kill9::{self, Options};

const USAGE: &str = "usage: kill9 [--server BINARY] [--cycles N|endless] [--clients N] \
                     [--load-ms N] [--seed N]";

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut options = Options {
        server: PathBuf::from("target/debug/steppe"),
        cycles: Some(20),
        clients: 6,
        load_ms_max: 1000,
        seed: since_epoch.map_or(1, |time| time.as_secs()),
    };
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(format!("{argument} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{argument} needs a number"));
        match argument.as_str() {
            "--server" => options.server = PathBuf::from(value),
            "--cycles" if value == "endless" => options.cycles = None,
            "--cycles" => options.cycles = Some(number()?),
            "--clients" => options.clients = number()?.clamp(1, 1000) as usize,
            "--load-ms" => options.load_ms_max = number()?.max(1),
            "--seed" => options.seed = number()?,
            _ => return Err(format!("unknown option {argument}")),
        }
    }
    Ok(options)
}

#[tokio::main]
async fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("kill9: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    println!("kill9: seed {}", options.seed);
    match kill9::run(&options, |line| println!("  {line}")).await {
        Ok(()) => {
            println!("kill9: every promise was kept");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("kill9: {failure}");
            ExitCode::FAILURE
        }
    }
}
