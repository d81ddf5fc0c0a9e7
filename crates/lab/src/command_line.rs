//! Command lines of the binaries: `--name value` pairs.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// Reads a command line into `options`: `set` takes each pair, and refuses a name that it does not
/// know with [`unknown`]. Prints an error and fails with the exit status.
pub fn read<T>(
    binary: &str,
    usage: &str,
    mut options: T,
    set: impl Fn(&mut T, &str, &str) -> Result<(), String>,
) -> Result<T, ExitCode> {
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--help" {
            println!("{usage}");
            return Err(ExitCode::SUCCESS);
        }
        let value = arguments.next().ok_or(format!("{name} needs a value"));
        if let Err(message) = value.and_then(|value| set(&mut options, &name, &value)) {
            return Err(wrong(binary, usage, &message));
        }
    }
    Ok(options)
}

/// Prints the error of a command line.
pub fn wrong(binary: &str, usage: &str, message: &str) -> ExitCode {
    eprintln!("{binary}: {message}\n{usage}");
    ExitCode::from(2)
}

/// A value that is a number.
pub fn number(name: &str, value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("{name} needs a number"))
}

/// The error of an unknown name.
pub fn unknown(name: &str) -> Result<(), String> {
    Err(format!("unknown option {name}"))
}

/// A seed that another run does not have.
pub fn seed_of_now() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    since_epoch.map_or(1, |time| time.as_secs())
}

/// Prints how a test ended: `success` is the last word if it passed.
pub fn finish<E: std::fmt::Display>(
    binary: &str,
    success: &str,
    result: Result<(), E>,
) -> ExitCode {
    match result {
        Ok(()) => {
            println!("{binary}: {success}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{binary}: {failure}");
            ExitCode::FAILURE
        }
    }
}
