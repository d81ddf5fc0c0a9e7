//! The program as a separate process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::{Raw, TestDir};

/// A running server.
pub struct Steppe {
    pub child: Child,
    pub port: u16,
}

/// The command that starts it.
pub fn command(dir: &TestDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_steppe"));
    command.arg("serve").arg("--data-dir").arg(dir.0.join("data"));
    command.args(["--listen", "127.0.0.1:0", "-c", "shared_buffers=8MB"]);
    command
}

impl Steppe {
    pub fn start(dir: &TestDir) -> Steppe {
        Steppe::start_with(dir, &[])
    }

    pub fn start_with(dir: &TestDir, settings: &[&str]) -> Steppe {
        let mut command = command(dir);
        for setting in settings {
            command.args(["-c", setting]);
        }
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        Steppe::ready(child.expect("the server is run"))
    }

    /// Waits for its ready line.
    pub fn ready(mut child: Child) -> Steppe {
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its output is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says something");
        let address = line.trim().strip_prefix("ready: listening on 127.0.0.1:");
        let port = address.and_then(|port| port.parse().ok());
        Steppe { child, port: port.unwrap_or_else(|| panic!("not a ready line: {line:?}")) }
    }

    pub fn connect(&self) -> Raw {
        let stream = std::net::TcpStream::connect(("127.0.0.1", self.port)).expect("connects");
        let mut raw = Raw { stream };
        raw.startup(&[("user", "postgres")]);
        raw.until_ready();
        raw
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status().expect("kill is run");
        assert!(sent.success());
    }
}

impl Drop for Steppe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
