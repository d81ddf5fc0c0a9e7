//! Runs the golden corpus (tests/sql) against Steppe or PostgreSQL, or lets
//! PostgreSQL write its expected output anew. See [`steppe_lab::golden`].

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use steppe_lab::golden::{self, Case, EXPECTED_MAJOR, Subject, Verdict};
use steppe_lab::oracle::Oracle;

const USAGE: &str = "\
usage: golden [--server BINARY] [--corpus DIR] [--jobs N] [NAME…]
       golden --views [NAME…]                                 each query as a view
       golden --postgres HOST:PORT|BINARIES [NAME…]           compare a PostgreSQL
       golden --update --postgres HOST:PORT|BINARIES [NAME…]  rewrite the expected output";

struct Options {
    server: PathBuf,
    corpus: PathBuf,
    jobs: usize,
    postgres: Option<String>,
    update: bool,
    views: bool,
    names: Vec<String>,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options {
            server: PathBuf::from("target/debug/steppe"),
            corpus: PathBuf::from("tests/sql"),
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            postgres: None,
            update: false,
            views: false,
            names: Vec::new(),
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--server" => options.server = PathBuf::from(value()?),
                "--corpus" => options.corpus = PathBuf::from(value()?),
                "--jobs" => {
                    options.jobs = value()?.parse().map_err(|_| "--jobs needs a number")?;
                }
                "--postgres" => options.postgres = Some(value()?),
                "--update" => options.update = true,
                "--views" => options.views = true,
                name if !name.starts_with('-') => options.names.push(name.to_owned()),
                _ => return Err(format!("unknown option {argument}")),
            }
        }
        if options.update && options.postgres.is_none() {
            return Err("--update needs --postgres: only PostgreSQL knows what to expect".into());
        }
        Ok(options)
    }

    fn subject(&self) -> std::io::Result<Subject> {
        match &self.postgres {
            None if self.views => Ok(Subject::Views(self.server.clone())),
            None => Ok(Subject::Steppe(self.server.clone())),
            Some(place) => Oracle::open(place).map(Subject::Postgres),
        }
    }
}

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("golden: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("golden: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs and prints; true if nothing failed.
fn run(options: &Options) -> std::io::Result<bool> {
    let subject = options.subject()?;
    let who = describe(&subject);
    if let (Subject::Postgres(oracle), true) = (&subject, options.update)
        && oracle.major() != EXPECTED_MAJOR
    {
        let wanted = format!("the expected output is of PostgreSQL {EXPECTED_MAJOR}, not {who}");
        return Err(std::io::Error::other(wanted));
    }
    let corpus = Path::new(&options.corpus);
    let mut tally = Tally::default();
    tally.play(&golden::load(corpus, &options.names)?, &subject, options, options.jobs);
    if let (Subject::Postgres(_), false) = (&subject, tally.failed.is_empty()) {
        let names = std::mem::take(&mut tally.failed);
        println!("golden: once more, one by one: {}", names.join(", "));
        tally.play(&golden::load(corpus, &names)?, &subject, options, 1);
    }
    let Tally { passed, excused, failed } = tally;
    println!("golden: {who}: {passed} passed, {} failed, {excused} excused", failed.len());
    Ok(failed.is_empty())
}

/// The verdicts on the cases.
///
/// Cases that fail on PostgreSQL are run a second time, alone. The corpus is compared with PostgreSQL
/// in order to check the corpus, and a case of several sessions may lose a race on a busy machine or
/// meet the locks of another case. A case that fails on Steppe has failed.
#[derive(Default)]
struct Tally {
    passed: usize,
    excused: usize,
    failed: Vec<String>,
}

impl Tally {
    fn play(&mut self, cases: &[Case], subject: &Subject, options: &Options, jobs: usize) {
        golden::run(cases, subject, options.update, jobs, |case, verdict| match verdict {
            Verdict::Passed | Verdict::Updated(false) => self.passed += 1,
            Verdict::Updated(true) => {
                self.passed += 1;
                println!("  rewritten  {}", case.name);
            }
            Verdict::Excused(reason) => {
                self.excused += 1;
                println!("  excused    {}: {reason}", case.name);
            }
            Verdict::Failed(difference) => {
                self.failed.push(case.name.clone());
                print!("  FAILED     {}: {difference}", case.name);
            }
        });
    }
}

fn describe(subject: &Subject) -> String {
    match subject {
        Subject::Steppe(_) => "Steppe".to_owned(),
        Subject::Views(_) => "Steppe's views".to_owned(),
        Subject::Postgres(oracle) => format!("PostgreSQL {}", oracle.major()),
    }
}
