//! The golden corpus: SQL files whose expected output PostgreSQL wrote.
//!
//! ```text
//!   tests/sql/NAME.sql ── psql ──► Steppe ───────► output ─┐
//!                      └─ psql ──► PostgreSQL ─► expected/NAME.out ── equal?
//! ```
//!
//! psql runs a file as PostgreSQL's own regression tests do, echoing every line,
//! but with verbose errors: the expected output holds the SQLSTATE of each error
//! and the names of the table and constraint that it is about. Where in a
//! server's source an error was raised (LOCATION) is dropped. A file that begins with
//! `-- Sessions` or `-- Messages` is not for psql: see `sessions` and `messages`.
//!
//! The psql variable `scratch` names a folder for files that the server reads and writes.
//!
//! Each file gets an empty database: a fresh data directory of Steppe's, or a database of its own
//! in PostgreSQL. Two lists excuse failures, and an entry that is no longer true is a failure:
//!
//! - `pending.txt` names the files that Steppe does not pass yet, with the reason;
//! - a line `-- PostgreSQL 15 differs: why` in a file says that this version's
//!   answers are not those of the version that wrote the expected output (18).
//!
//! Files run in parallel, in PostgreSQL in databases of one server. A file that reads state which
//! all databases share (prepared transactions, SERIALIZABLE's locks and safe snapshots) has a line
//! `-- Alone: why`, and runs alone after the others.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::oracle::Oracle;
use crate::process::{ServerOptions, ServerProcess, TempDir};
use crate::{messages, round_trip, sessions};

/// The major version of PostgreSQL that writes the expected output.
pub const EXPECTED_MAJOR: u32 = 18;
/// psql is ended after this long.
const SCRIPT_TIMEOUT_SECONDS: &str = "120";
const SERVER_TIMEOUT: Duration = Duration::from_secs(60);
/// As PostgreSQL's own regression tests run.
pub(crate) const PREPARED: &str = "max_prepared_transactions=20";
/// Plans must not depend on the time of an analyze, and scripts of sessions would see an autovacuum
/// worker's locks. The oracle is started with this setting, too.
pub(crate) const AUTOVACUUM: &str = "autovacuum=off";
/// Lines of context before a difference, and lines shown of each side after it.
const CONTEXT_LINES: usize = 4;
const SHOWN_LINES: usize = 10;

/// One SQL file.
#[derive(Debug, Clone)]
pub struct Case {
    /// The file's name without its extension.
    pub name: String,
    script: PathBuf,
    expected: PathBuf,
    /// Major versions of PostgreSQL whose answers differ, and why.
    differs: Vec<(u32, String)>,
    /// Why Steppe does not pass it yet.
    pending: Option<String>,
    /// The case runs alone.
    alone: bool,
}

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The output is the expected one.
    Passed,
    /// The expected output was written anew: changed or not.
    Updated(bool),
    /// The output differs, and the reason is on a list.
    Excused(String),
    /// The output differs, with the difference. Or it is the expected one, against the list.
    Failed(String),
}

/// The server to test.
#[derive(Debug)]
pub enum Subject {
    /// A fresh server of this binary for each file.
    Steppe(PathBuf),
    /// A server of this binary, which must read back each query as itself from a view: see
    /// [`round_trip`].
    Views(PathBuf),
    /// A database of its own for each file.
    Postgres(Oracle),
}

/// Reads the corpus: every file, or those named.
pub fn load(corpus: &Path, names: &[String]) -> io::Result<Vec<Case>> {
    let mut pending = read_pending(&corpus.join("pending.txt"))?;
    let mut cases = Vec::new();
    for entry in fs::read_dir(corpus).map_err(|error| with_path(&error, corpus))? {
        let script = entry?.path();
        if script.extension().is_none_or(|extension| extension != "sql") {
            continue;
        }
        let name = script.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let reason = pending.remove(&name);
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let text = fs::read_to_string(&script)?;
        cases.push(Case {
            expected: corpus.join("expected").join(&name).with_extension("out"),
            differs: differing_versions(&text),
            alone: text.lines().any(|line| line.starts_with("-- Alone: ")),
            pending: reason,
            name,
            script,
        });
    }
    if let Some(name) = pending.keys().next() {
        return Err(io::Error::other(format!("pending.txt names {name}: there is no such file")));
    }
    if let Some(name) = names.iter().find(|name| cases.iter().all(|case| case.name != **name)) {
        return Err(io::Error::other(format!("{name}.sql is not in {}", corpus.display())));
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

/// Each line: a file's name, then the reason.
fn read_pending(path: &Path) -> io::Result<BTreeMap<String, String>> {
    let text = fs::read_to_string(path).map_err(|error| with_path(&error, path))?;
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    lines
        .map(|line| match line.split_once(char::is_whitespace) {
            Some((name, reason)) => Ok((name.to_owned(), reason.trim().to_owned())),
            None => Err(io::Error::other(format!("pending.txt: {line} has no reason"))),
        })
        .collect()
}

fn differing_versions(script: &str) -> Vec<(u32, String)> {
    let marks = script.lines().filter_map(|line| line.strip_prefix("-- PostgreSQL "));
    let marks = marks.filter_map(|mark| mark.split_once(" differs: "));
    marks.filter_map(|(major, why)| Some((major.parse().ok()?, why.to_owned()))).collect()
}

/// Runs cases on `jobs` threads, then the cases that run alone, and hands each verdict to `report`
/// at once.
pub fn run(
    cases: &[Case],
    subject: &Subject,
    update: bool,
    jobs: usize,
    report: impl FnMut(&Case, &Verdict) + Send,
) {
    let next = AtomicUsize::new(0);
    let report = Mutex::new(report);
    let run_one = |case: &Case| {
        let verdict = judge(case, subject, update);
        let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
        (*report)(case, &verdict);
    };
    let (alone, together): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.alone);
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(case) = together.get(next.fetch_add(1, Ordering::Relaxed)) {
                    run_one(case);
                }
            });
        }
    });
    alone.into_iter().for_each(run_one);
}

fn judge(case: &Case, subject: &Subject, update: bool) -> Verdict {
    let judged = match subject {
        Subject::Steppe(binary) => judge_steppe(case, binary),
        Subject::Views(binary) => judge_views(case, binary),
        Subject::Postgres(oracle) if update => update_expected(case, oracle),
        Subject::Postgres(oracle) => judge_postgres(case, oracle),
    };
    judged.unwrap_or_else(|error| Verdict::Failed(format!("{error}\n")))
}

fn judge_steppe(case: &Case, binary: &Path) -> io::Result<Verdict> {
    let directory = TempDir::new("steppe-golden")?;
    let options = steppe_options(binary, directory.path());
    let difference = steppe_difference(case, &options);
    let excuse = case.pending.as_deref().map(|reason| ("pending.txt", reason));
    Ok(excused(difference.transpose(), excuse))
}

/// Whether the queries of a script are views that read back as themselves.
fn judge_views(case: &Case, binary: &Path) -> io::Result<Verdict> {
    let script = fs::read_to_string(&case.script).map_err(|e| with_path(&e, &case.script))?;
    if sessions::is_for_sessions(&script) || messages::is_of_messages(&script) {
        return Ok(Verdict::Passed);
    }
    let directory = TempDir::new("steppe-views")?;
    let instrumented = directory.path().join("script.sql");
    fs::write(&instrumented, round_trip::instrumented(&script))?;
    let options = steppe_options(binary, directory.path());
    let (mut server, address) = ServerProcess::start(&options, SERVER_TIMEOUT)?;
    let output = run_psql(&instrumented, address, "postgres")?;
    if let Some(status) = server.exited()? {
        let message = format!("the server ended with {status}:\n{}", server.output());
        return Ok(Verdict::Failed(message));
    }
    server.stop(SERVER_TIMEOUT)?;
    let complaints = round_trip::complaints(&script, &output);
    Ok(match complaints.is_empty() {
        true => Verdict::Passed,
        false => {
            Verdict::Failed(format!("views that read back as others:\n{}\n", complaints.join("\n")))
        }
    })
}

fn steppe_options(binary: &Path, directory: &Path) -> ServerOptions {
    ServerOptions {
        binary: binary.to_owned(),
        data_dir: directory.join("data"),
        settings: ["shared_buffers=16MB", AUTOVACUUM, PREPARED].map(str::to_owned).to_vec(),
    }
}

/// The difference between Steppe's output and the expected one, if any.
fn steppe_difference(case: &Case, options: &ServerOptions) -> io::Result<Option<String>> {
    let (mut server, address) = ServerProcess::start(options, SERVER_TIMEOUT)?;
    let output = play(&case.script, address, "postgres")?;
    if let Some(status) = server.exited()? {
        return Ok(Some(format!("the server ended with {status}:\n{}", server.output())));
    }
    let difference = compare(case, &output)?;
    match difference {
        Some(_) => Ok(difference),
        None => server.stop(SERVER_TIMEOUT).map(|()| None),
    }
}

fn judge_postgres(case: &Case, oracle: &Oracle) -> io::Result<Verdict> {
    let difference = compare(case, &ask(case, oracle)?)?;
    let mark = case.differs.iter().find(|(major, _)| *major == oracle.major());
    Ok(excused(difference.map(Ok), mark.map(|(_, why)| ("the mark in the file", why.as_str()))))
}

fn update_expected(case: &Case, oracle: &Oracle) -> io::Result<Verdict> {
    let output = ask(case, oracle)?;
    let changed = fs::read_to_string(&case.expected).map_or(true, |text| text != output);
    if changed {
        fs::write(&case.expected, output).map_err(|error| with_path(&error, &case.expected))?;
    }
    Ok(Verdict::Updated(changed))
}

fn ask(case: &Case, oracle: &Oracle) -> io::Result<String> {
    let database = format!("golden_{}", case.name);
    oracle.create_database(&database)?;
    let output = play(&case.script, oracle.address(), &database)?;
    oracle.drop_database(&database)?;
    Ok(output)
}

/// Weighs a difference, or a failure to find out, against the list that excuses it.
fn excused(difference: Option<io::Result<String>>, excuse: Option<(&str, &str)>) -> Verdict {
    let difference = difference.map(|found| found.unwrap_or_else(|error| format!("{error}\n")));
    match (difference, excuse) {
        (None, None) => Verdict::Passed,
        (None, Some((list, _))) => {
            Verdict::Failed(format!("passes although excused ({list}): remove the excuse\n"))
        }
        (Some(_), Some((_, reason))) => Verdict::Excused(reason.to_owned()),
        (Some(difference), None) => Verdict::Failed(difference),
    }
}

/// Runs a script and returns all that is to be seen of it.
fn play(script: &Path, address: SocketAddr, database: &str) -> io::Result<String> {
    let text = fs::read_to_string(script).map_err(|error| with_path(&error, script))?;
    if sessions::is_for_sessions(&text) {
        return sessions::run(&text, address, database);
    }
    if messages::is_of_messages(&text) {
        return messages::run(&text, address, database);
    }
    run_psql(script, address, database)
}

/// Runs a script through psql and returns all that it printed.
fn run_psql(script: &Path, address: SocketAddr, database: &str) -> io::Result<String> {
    let scratch = TempDir::new("steppe-golden-files")?;
    // The server may run as another user.
    fs::set_permissions(scratch.path(), Permissions::from_mode(0o777))?;
    let (mut reader, writer) = io::pipe()?;
    let mut command = Command::new("timeout");
    command
        .args(["-k", "5", SCRIPT_TIMEOUT_SECONDS, "psql", "-X", "-a", "-q"])
        .args(["-v", "VERBOSITY=verbose", "-v", "ON_ERROR_STOP=0", "-P", "pager=off"])
        .args(["-v", &format!("scratch={}", scratch.path().display())])
        .args(["-U", "postgres", "-d", database, "-h", &address.ip().to_string()])
        .args(["-p", &address.port().to_string()])
        .env("LC_ALL", "C")
        .env("PGCLIENTENCODING", "UTF8")
        .env("PGTZ", "UTC")
        .env("PGDATESTYLE", "ISO, MDY")
        .env_remove("PGOPTIONS")
        .env_remove("PGSERVICE")
        .current_dir(script.parent().unwrap_or(Path::new(".")))
        .stdin(File::open(script)?)
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut child = command.spawn()?;
    // It holds the pipe's write side: reading would never end.
    drop(command);
    let mut output = Vec::new();
    reader.read_to_end(&mut output)?;
    let status = child.wait()?;
    let mut text = without_locations(&String::from_utf8_lossy(&output));
    if status.code() == Some(124) {
        let _ = writeln!(text, "psql was ended after {SCRIPT_TIMEOUT_SECONDS} seconds");
    }
    Ok(text)
}

fn without_locations(output: &str) -> String {
    let lines = output.split_inclusive('\n');
    lines.filter(|line| !line.starts_with("LOCATION:  ")).collect()
}

/// Compares output with what is expected; says where the first difference is and
/// leaves the whole output for a look with `diff`.
fn compare(case: &Case, output: &str) -> io::Result<Option<String>> {
    let expected =
        fs::read_to_string(&case.expected).map_err(|error| with_path(&error, &case.expected))?;
    if expected == output {
        return Ok(None);
    }
    let results = Path::new("target").join("golden");
    fs::create_dir_all(&results)?;
    let result = results.join(&case.name).with_extension("out");
    fs::write(&result, output)?;
    let mut text = describe_difference(&expected, output);
    let (expected, result) = (case.expected.display(), result.display());
    let _ = writeln!(text, "    all of it: diff -u {expected} {result}");
    Ok(Some(text))
}

fn describe_difference(expected: &str, output: &str) -> String {
    let (want, have): (Vec<_>, Vec<_>) = (expected.lines().collect(), output.lines().collect());
    let same = want.iter().zip(&have).take_while(|(w, h)| w == h).count();
    let mut text = format!("first difference at line {} of the expected output\n", same + 1);
    for line in &want[same.saturating_sub(CONTEXT_LINES)..same] {
        let _ = writeln!(text, "      {line}");
    }
    for (sign, lines) in [('-', &want), ('+', &have)] {
        for line in lines.iter().skip(same).take(SHOWN_LINES) {
            let _ = writeln!(text, "    {sign} {line}");
        }
    }
    let others = want.len().abs_diff(have.len());
    if others > 0 {
        let _ = writeln!(text, "    ({} lines expected, {} found)", want.len(), have.len());
    }
    text
}

fn with_path(error: &io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_shown_with_its_line() {
        let text = describe_difference("a\nb\nc\n", "a\nB\nc\n");
        assert!(text.starts_with("first difference at line 2"), "{text}");
        assert!(text.contains("      a\n    - b\n    - c\n    + B\n    + c\n"), "{text}");
        let shorter = describe_difference("a\nb\n", "a\n");
        assert!(shorter.contains("(2 lines expected, 1 found)"), "{shorter}");
    }

    #[test]
    fn locations_are_dropped_and_nothing_else() {
        let output = "ERROR:  22012: division by zero\nLOCATION:  int4div, int.c:842\nselect 1;\n";
        assert_eq!(without_locations(output), "ERROR:  22012: division by zero\nselect 1;\n");
    }

    #[test]
    fn an_excuse_must_be_true() {
        let differs = || Some(Ok("line 1".to_owned()));
        assert_eq!(excused(None, None), Verdict::Passed);
        assert_eq!(excused(differs(), None), Verdict::Failed("line 1".to_owned()));
        let excuse = Some(("pending.txt", "no COPY"));
        assert_eq!(excused(differs(), excuse), Verdict::Excused("no COPY".to_owned()));
        assert!(matches!(excused(None, excuse), Verdict::Failed(_)));
    }

    #[test]
    fn versions_that_differ_are_read_from_the_script() {
        let script =
            "-- Joins.\n-- PostgreSQL 15 differs: plan names\n-- PostgreSQL 1x differs: no";
        assert_eq!(differing_versions(script), [(15, "plan names".to_owned())]);
    }
}
