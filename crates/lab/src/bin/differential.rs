//! Random statements against Steppe and PostgreSQL. See [`steppe_lab::differential`].

use std::path::PathBuf;
use std::process::ExitCode;

use steppe_lab::command_line::{self, number, unknown};
use steppe_lab::differential::{self, Options, Subject};

const USAGE: &str = "usage: differential --postgres HOST:PORT|BINARIES [--server BINARY] \
                     [--of statements|plans|constants|partitions|routines|triggers|keys|\
                     schedules] [--seed N] [--statements N|endless]";

fn set(options: &mut Options, name: &str, value: &str) -> Result<(), String> {
    match name {
        "--server" => options.server = PathBuf::from(value),
        "--postgres" => options.postgres = value.to_owned(),
        "--seed" => options.seed = number(name, value)?,
        "--of" if value == "statements" => options.subject = Subject::Statements,
        "--of" if value == "plans" => options.subject = Subject::Plans,
        "--of" if value == "constants" => options.subject = Subject::Constants,
        "--of" if value == "partitions" => options.subject = Subject::Partitions,
        "--of" if value == "routines" => options.subject = Subject::Routines,
        "--of" if value == "triggers" => options.subject = Subject::Triggers,
        "--of" if value == "keys" => options.subject = Subject::Keys,
        "--of" if value == "schedules" => options.subject = Subject::Schedules,
        "--statements" if value == "endless" => options.statements = None,
        "--statements" => options.statements = Some(number(name, value)?),
        _ => return unknown(name),
    }
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let default = Options {
        server: PathBuf::from("target/debug/steppe"),
        postgres: String::new(),
        subject: Subject::Statements,
        seed: 1,
        statements: Some(3000),
    };
    let options = match command_line::read("differential", USAGE, default, set) {
        Ok(options) => options,
        Err(status) => return status,
    };
    if options.postgres.is_empty() {
        let message = "--postgres is needed: it knows the answers";
        return command_line::wrong("differential", USAGE, message);
    }
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
