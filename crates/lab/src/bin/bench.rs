//! `bench`: the command around [`steppe_lab::bench`], which says what it does.

use std::process::ExitCode;

use steppe_lab::bench::{self, Failure, Options, Request};

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Request::Run(options)) => options,
        Ok(Request::Help(text)) => {
            print!("{text}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("bench: {message} (bench --help lists the options)");
            return ExitCode::from(2);
        }
    };
    match measure(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench: {failure}");
            // 130 is what a shell makes of an interrupted command.
            ExitCode::from(if failure == Failure::Interrupted { 130 } else { 1 })
        }
    }
}

fn measure(options: &Options) -> Result<(), Failure> {
    let report = bench::run(options)?;
    println!("\n{report}");
    options.write_output(&report)
}
