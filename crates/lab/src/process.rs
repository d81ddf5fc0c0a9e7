//! A Steppe server as a child process.
//!
//! The server is told to listen on port 0; its `ready` line says where it is. The last lines of its
//! output are kept, so that a failing test can show them. A server whose handle is dropped is
//! killed: a test that panics leaves nothing behind.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How many lines of the server's output are kept.
const OUTPUT_LINES_MAX: usize = 200;

/// The user that root runs servers as, PostgreSQL's included: Debian's package makes it.
pub(crate) const UNPRIVILEGED: &str = "postgres";

/// Whether this process runs as root.
pub(crate) fn is_root() -> io::Result<bool> {
    let id = Command::new("id").arg("-u").output()?;
    Ok(id.stdout.trim_ascii() == b"0")
}

/// The options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The binary `steppe`.
    pub binary: PathBuf,
    /// Its data directory.
    pub data_dir: PathBuf,
    /// Settings, each `name=value`.
    pub settings: Vec<String>,
}

/// A running server.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    ready: Receiver<SocketAddr>,
    output: Arc<Mutex<VecDeque<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl ServerProcess {
    /// Starts a server and waits for its `ready` line.
    pub fn start(
        options: &ServerOptions,
        timeout: Duration,
    ) -> io::Result<(ServerProcess, SocketAddr)> {
        let mut server = ServerProcess::spawn(options)?;
        let address = server.wait_ready(timeout)?;
        Ok((server, address))
    }

    /// Starts a server and does not wait: it may still be in recovery.
    pub fn spawn(options: &ServerOptions) -> io::Result<ServerProcess> {
        let (output, stdout) = io::pipe()?;
        let stderr = stdout.try_clone()?;
        let mut command = Command::new(&options.binary);
        command.arg("serve").arg("--listen").arg("127.0.0.1:0");
        command.arg("--data-dir").arg(&options.data_dir);
        if is_root()? {
            command.args(["--user", UNPRIVILEGED]);
        }
        for setting in &options.settings {
            command.arg("-c").arg(setting);
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .map_err(|error| with_path(&error, &options.binary))?;
        // `command` holds our ends of the pipe's write side: the reader below
        // sees the end of the output only when they are closed.
        drop(command);
        let (sender, ready) = mpsc::channel();
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let reader = std::thread::spawn({
            let kept = Arc::clone(&kept);
            move || {
                for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                    let line = String::from_utf8_lossy(&line).into_owned();
                    if let Some(address) = ready_address(&line) {
                        // The channel has no receiver if the start was not awaited.
                        let _ = sender.send(address);
                    }
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    if kept.len() == OUTPUT_LINES_MAX {
                        kept.pop_front();
                    }
                    kept.push_back(line);
                }
            }
        });
        Ok(ServerProcess { child, ready, output: kept, reader: Some(reader) })
    }

    /// Waits for the `ready` line; an error says what the server printed instead.
    pub fn wait_ready(&mut self, timeout: Duration) -> io::Result<SocketAddr> {
        self.ready.recv_timeout(timeout).map_err(|error| {
            let what = match error {
                RecvTimeoutError::Timeout => format!("not ready after {timeout:?}"),
                RecvTimeoutError::Disconnected => "ended before it was ready".to_owned(),
            };
            io::Error::other(format!("the server {what}; it printed:\n{}", self.output()))
        })
    }

    /// The last lines that the server printed.
    pub fn output(&self) -> String {
        let kept = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().fold(String::new(), |text, line| text + "  " + line + "\n")
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The exit status, if the server has ended by itself.
    pub fn exited(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// `kill -9`.
    pub fn kill(mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// SIGTERM; the server must end by itself, successfully, within the time.
    pub fn stop(mut self, timeout: Duration) -> io::Result<()> {
        signal(self.pid(), "TERM")?;
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(status) = self.child.try_wait()? {
                if let Some(reader) = self.reader.take() {
                    // It ends with the server's output; a panic there loses output only.
                    let _ = reader.join();
                }
                if status.success() {
                    return Ok(());
                }
                let output = self.output();
                return Err(io::Error::other(format!(
                    "the server ended with {status} on SIGTERM; it printed:\n{output}"
                )));
            }
            if Instant::now() > deadline {
                let output = self.output();
                return Err(io::Error::other(format!(
                    "the server did not end within {timeout:?} of SIGTERM; it printed:\n{output}"
                )));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Fails only if the server has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal by name. The shell's own `kill` is used: it is always there.
fn signal(pid: u32, name: &str) -> io::Result<()> {
    let status = Command::new("sh").arg("-c").arg(format!("kill -{name} {pid}")).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other("kill failed")) }
}

/// The address in a line such as `ready: listening on 127.0.0.1:5433`.
fn ready_address(line: &str) -> Option<SocketAddr> {
    if !line.contains("ready") {
        return None;
    }
    let words = line.split(|c: char| c.is_whitespace() || ",;=\"".contains(c));
    words.filter_map(|word| word.parse().ok()).find(|address: &SocketAddr| address.port() != 0)
}

fn with_path(error: &io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// A directory that is removed when its handle is dropped.
#[derive(Debug)]
pub struct TempDir(PathBuf);

impl TempDir {
    /// Makes an empty directory whose name starts with `prefix`.
    pub fn new(prefix: &str) -> io::Result<TempDir> {
        static COUNTER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut name = OsString::from(prefix);
        name.push(format!("-{}-{number}", std::process::id()));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).map_err(|error| with_path(&error, &path))?;
        Ok(TempDir(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Leaves the directory where it is, as evidence.
    pub fn keep(self) -> PathBuf {
        let path = self.0.clone();
        std::mem::forget(self);
        path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // What cannot be removed is left to the system's own cleaning of its temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_the_ready_line_only() {
        let address: SocketAddr = "127.0.0.1:5433".parse().expect("an address");
        assert_eq!(ready_address("steppe ready on 127.0.0.1:5433"), Some(address));
        assert_eq!(ready_address("ready addr=127.0.0.1:5433 pid=7"), Some(address));
        assert_eq!(ready_address("listening on 127.0.0.1:5433"), None);
        assert_eq!(ready_address("ready on 127.0.0.1:0"), None);
    }

    #[test]
    fn a_server_that_ends_at_once_says_why() {
        let directory = TempDir::new("steppe-lab-process").expect("a directory");
        let options = ServerOptions {
            binary: PathBuf::from("/bin/echo"),
            data_dir: directory.path().to_owned(),
            settings: vec!["a=b".to_owned()],
        };
        let error = ServerProcess::start(&options, Duration::from_secs(10)).expect_err("ends");
        let text = error.to_string();
        assert!(text.contains("ended before it was ready"), "{text}");
        assert!(text.contains("serve --listen 127.0.0.1:0"), "{text}");
        assert!(text.contains("-c a=b"), "{text}");
    }
}
