//! Random statements against Steppe and PostgreSQL. See [`steppe_lab::differential`].

use std::path::PathBuf;
use std::process::ExitCode;

use steppe_lab::differential::{self, Options, Subject};

const USAGE: &str = "usage: differential --postgres HOST:PORT|BINARIES [--server BINARY] \
                     [--of statements|partitions] [--seed N] [--statements N|endless]";

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        server: PathBuf::from("target/debug/steppe"),
        postgres: String::new(),
        subject: Subject::Statements,
        seed: 1,
        statements: Some(3000),
    };
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(format!("{argument} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{argument} needs a number"));
        match argument.as_str() {
            "--server" => options.server = PathBuf::from(value),
            "--postgres" => options.postgres = value,
            "--seed" => options.seed = number()?,
            "--of" if value == "statements" => options.subject = Subject::Statements,
            "--of" if value == "partitions" => options.subject = Subject::Partitions,
            "--statements" if value == "endless" => options.statements = None,
            "--statements" => options.statements = Some(number()?),
            _ => return Err(format!("unknown option {argument}")),
        }
    }
    if options.postgres.is_empty() {
        return Err("--postgres is needed: it knows the answers".into());
    }
    Ok(options)
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("differential: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match differential::run(&options, |line| println!("  {line}")).await {
        Ok(report) => {
            println!("differential: seed {}: {report}", options.seed);
            if report.different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(failure) => {
            eprintln!("differential: {failure}");
            ExitCode::FAILURE
        }
    }
}
