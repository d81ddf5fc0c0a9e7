//! Programs that the benchmark starts: servers, which it stops however it ends, and
//! clients, which it waits for within a limit of time.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Failure, Result, interrupt};

const POLL: Duration = Duration::from_millis(10);
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// How a server program is started.
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    /// Environment variables in addition to the benchmark's own.
    pub(super) environment: Vec<(&'static str, String)>,
    /// The user that runs the program; `None` stands for the benchmark's own.
    pub(super) user: Option<&'static str>,
    /// The signal that stops the program.
    pub(super) stop_signal: &'static str,
    /// The file for its output.
    pub(super) log: PathBuf,
}

/// A running server program; dropping it stops it.
pub(super) struct Daemon {
    child: Child,
    stop_signal: &'static str,
    log: PathBuf,
}

impl Daemon {
    /// Starts a program.
    ///
    /// The kernel sends it `stop_signal` should the benchmark die without a chance to stop it
    /// (setpriv's pdeathsig). The kernel ties this signal to the *thread* that started the program,
    /// so call this on the main thread.
    pub(super) fn start(launch: &Launch) -> Result<Daemon> {
        let Launch { program, arguments, environment, user, stop_signal, log } = launch;
        let output = File::create(log)?;
        let mut command = as_user(program, *user, Some(stop_signal));
        command.args(arguments).envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdout(output.try_clone()?).stderr(output);
        command.stdin(Stdio::null()).process_group(0);
        let child = command.spawn().map_err(|error| {
            Failure::new(format!("cannot start {}: {error}", program.display()))
        })?;
        Ok(Daemon { child, stop_signal, log: log.clone() })
    }

    /// setpriv and the like replace themselves: this is the server's own id.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The end of what it printed, on one line.
    pub(super) fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(3).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
    }

    /// Stops it and waits until it has ended.
    pub(super) fn stop(&mut self) {
        if self.has_ended().is_some() {
            return;
        }
        let pid = self.child.id();
        // The shell's own kill: the program of that name is not everywhere.
        let kill = format!("kill -s {} {pid}", self.stop_signal);
        let _ = Command::new("sh").args(["-c", &kill]).status();
        let deadline = Instant::now() + STOP_LIMIT;
        while self.has_ended().is_none() {
            if Instant::now() > deadline {
                eprintln!("bench: process {pid} did not stop on {}: killed", self.stop_signal);
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A command to run `program` as `user`, killed with the thread that starts it by
/// `death_signal`. PG* variables of the caller's environment don't reach it.
pub(super) fn as_user(program: &Path, user: Option<&str>, death_signal: Option<&str>) -> Command {
    let mut command = if user.is_none() && death_signal.is_none() {
        Command::new(program)
    } else {
        let mut command = Command::new("setpriv");
        if let Some(user) = user {
            command.args(["--reuid", user, "--regid", user, "--init-groups"]);
        }
        if let Some(signal) = death_signal {
            command.args(["--pdeathsig", signal]);
        }
        command.arg(program);
        command
    };
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PG"))
    {
        command.env_remove(name);
    }
    command
}

/// Runs a client to its end and returns its standard output. Past `limit`, or when the
/// benchmark is asked to stop, it is killed.
pub(super) fn run_client(command: Command, scratch: &Path, limit: Duration) -> Result<String> {
    run_client_watched(command, scratch, limit, &mut |_| ())
}

/// The same; what it has printed so far is shown to `watch` every now and then.
pub(super) fn run_client_watched(
    mut command: Command,
    scratch: &Path,
    limit: Duration,
    watch: &mut dyn FnMut(&str),
) -> Result<String> {
    let (out_path, err_path) = (scratch.join("client.out"), scratch.join("client.err"));
    let name = Path::new(command.get_program()).display().to_string();
    // Files need no reader while the benchmark waits, as pipes would.
    command.stdin(Stdio::null()).process_group(0);
    command.stdout(File::create(&out_path)?).stderr(File::create(&err_path)?);
    let mut child =
        command.spawn().map_err(|error| Failure::new(format!("cannot start {name}: {error}")))?;
    let mut printed = 0;
    let status = wait(&mut child, limit, &name, &mut || {
        if fs::metadata(&out_path).is_ok_and(|file| file.len() > printed) {
            let text = fs::read_to_string(&out_path).unwrap_or_default();
            printed = text.len() as u64;
            watch(&text);
        }
    });
    if status.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    if status?.success() {
        return Ok(fs::read_to_string(&out_path)?);
    }
    Err(Failure::new(complaint(&fs::read_to_string(&err_path).unwrap_or_default(), &name)))
}

fn wait(
    child: &mut Child,
    limit: Duration,
    name: &str,
    watch: &mut dyn FnMut(),
) -> Result<ExitStatus> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        interrupt::check()?;
        watch();
        if Instant::now() > deadline {
            let seconds = limit.as_secs();
            return Err(Failure::new(format!("{name} was not done after {seconds} s: hung?")));
        }
        thread::sleep(POLL);
    }
}

/// The line of a client's standard error that names the first error.
fn complaint(stderr: &str, name: &str) -> String {
    let telling = ["error:", "ERROR:", "FATAL:", "fatal:"];
    let line = stderr
        .lines()
        .find(|line| telling.iter().any(|word| line.contains(word)))
        .or_else(|| stderr.lines().next());
    line.map_or_else(|| format!("{name} failed and did not say why"), str::to_owned)
}

/// Tries `attempt` until it succeeds, `limit` passes or the daemon has ended.
pub(super) fn await_ready(
    daemon: &mut Daemon,
    limit: Duration,
    attempt: impl Fn() -> Result<()>,
) -> Result<()> {
    let deadline = Instant::now() + limit;
    loop {
        interrupt::check()?;
        let Err(error) = attempt() else { return Ok(()) };
        if let Some(status) = daemon.has_ended() {
            return Err(Failure::new(format!("it ended ({status}): {}", daemon.last_words())));
        }
        if Instant::now() > deadline {
            let seconds = limit.as_secs();
            return Err(Failure::new(format!("it did not answer within {seconds} s: {error}")));
        }
        thread::sleep(POLL);
    }
}

/// Lets this process, and the servers that it starts from now on, have `files` open files.
pub(super) fn raise_file_limit(files: u32, scratch: &Path) -> Result<()> {
    let limits = fs::read_to_string("/proc/self/limits")?;
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = limit.and_then(|rest| rest.split_ascii_whitespace().next());
    if soft.and_then(|soft| soft.parse().ok()).is_some_and(|soft: u32| soft >= files) {
        return Ok(());
    }
    let mut command = Command::new("prlimit");
    command.args(["--pid", &std::process::id().to_string(), &format!("--nofile={files}:{files}")]);
    run_client(command, scratch, Duration::from_secs(10)).map(drop)
}

/// A folder that is removed when this value is dropped, unless `keep` is set.
pub(super) struct Scratch {
    path: PathBuf,
    keep: bool,
}

impl Scratch {
    pub(super) fn create(parent: &Path, keep: bool) -> io::Result<Scratch> {
        let path = parent.join(format!("steppe-bench-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Scratch { path, keep })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.keep {
            eprintln!("bench: kept {}", self.path.display());
        } else if let Err(error) = fs::remove_dir_all(&self.path) {
            eprintln!("bench: {} could not be removed: {error}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::TempDir;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    /// A scratch folder and the one that it is in.
    fn scratch() -> (Scratch, TempDir) {
        let parent = TempDir::new("steppe-bench-test").unwrap();
        (Scratch::create(parent.path(), false).unwrap(), parent)
    }

    #[test]
    fn a_client_that_hangs_is_killed() {
        let (scratch, _parent) = scratch();
        let limit = Duration::from_millis(100);
        let started = Instant::now();
        let failure = run_client(shell("sleep 60"), scratch.path(), limit).unwrap_err();
        assert!(failure.to_string().contains("hung"), "{failure}");
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_client_that_fails_is_quoted() {
        let (scratch, _parent) = scratch();
        let script = "echo noise >&2; echo 'sh: error: no luck' >&2; echo after >&2; exit 3";
        let failure =
            run_client(shell(script), scratch.path(), Duration::from_secs(10)).unwrap_err();
        assert_eq!(failure.to_string(), "sh: error: no luck");
        let said = run_client(shell("echo fine"), scratch.path(), Duration::from_secs(10)).unwrap();
        assert_eq!(said, "fine\n");
    }

    #[test]
    fn a_daemon_and_its_folder_go_with_their_values() {
        let (scratch, _parent) = scratch();
        let path = scratch.path().to_owned();
        let log = path.join("log");
        let daemon = Daemon::start(&Launch {
            program: "sh".into(),
            arguments: ["-c", "echo $GREETING; exec sleep 60"].map(str::to_owned).to_vec(),
            environment: vec![("GREETING", "hello".to_owned())],
            user: None,
            stop_signal: "TERM",
            log: log.clone(),
        })
        .unwrap();
        let pid = daemon.pid();
        let deadline = Instant::now() + Duration::from_secs(10);
        while fs::read_to_string(&log).unwrap().is_empty() && Instant::now() < deadline {
            thread::sleep(POLL);
        }
        assert_eq!(daemon.last_words(), "hello");
        drop(daemon);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        drop(scratch);
        assert!(!path.exists());
    }
}
