//! Many connections without a session: the server ends them in time, soon accepts others, and frees
//! their memory. The server is a separate process, so that its memory and descriptors are not the
//! test's.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::{Raw, TestDir, rows, sqlstate};

/// Sockets that are open at once on either side: within the usual limit of 1024 descriptors.
const AT_ONCE: usize = 500;

struct Server {
    child: Child,
    port: u16,
    _dir: TestDir,
}

impl Server {
    fn start(settings: &[&str]) -> Server {
        let dir = TestDir::new();
        let mut command = Command::new(env!("CARGO_BIN_EXE_steppe"));
        command.arg("serve").arg("--data-dir").arg(dir.0.join("data"));
        command.args(["--listen", "127.0.0.1:0", "-c", "shared_buffers=8MB"]);
        settings.iter().for_each(|setting| {
            command.args(["-c", setting]);
        });
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it is run");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its output is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says something");
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
        Server {
            child,
            port: port.unwrap_or_else(|| panic!("not a ready line: {line:?}")),
            _dir: dir,
        }
    }

    fn socket(&self) -> TcpStream {
        let socket = TcpStream::connect(("127.0.0.1", self.port)).expect("connects");
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out is set");
        socket
    }

    /// Opens a session. It tries again while the server still ends others.
    fn session(&self) -> Raw {
        let patience = Instant::now() + Duration::from_secs(20);
        loop {
            let mut raw = Raw { stream: self.socket() };
            raw.startup(&[("user", "postgres")]);
            if raw.until_ready().last().is_some_and(|message| message.tag == b'Z') {
                return raw;
            }
            assert!(Instant::now() < patience, "nobody is let in any more");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The resident memory, in bytes.
    fn resident(&self) -> u64 {
        let path = format!("/proc/{}/statm", self.child.id());
        let text = std::fs::read_to_string(path).expect("the server runs");
        let pages: u64 = text.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("a number");
        pages * 4096
    }

    fn descriptors(&self) -> usize {
        let path = format!("/proc/{}/fd", self.child.id());
        std::fs::read_dir(path).expect("the server runs").count()
    }

    /// Waits until the server has closed all sockets of the flood.
    fn settle(&self, descriptors: usize) {
        let patience = Instant::now() + Duration::from_secs(20);
        while self.descriptors() > descriptors {
            assert!(Instant::now() < patience, "{} descriptors stay open", self.descriptors());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A whole start-up packet.
fn startup_packet() -> Vec<u8> {
    let body = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    [&(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

/// Waits for the server to close the connection. Returns whether it did.
fn is_closed(socket: &mut TcpStream) -> bool {
    let mut byte = [0];
    matches!(socket.read(&mut byte), Ok(0)) || {
        // A reset counts as closed, a time-out does not.
        let error = socket.read(&mut byte).err();
        error.is_some_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset)
    }
}

#[test]
fn five_thousand_connects_leave_nothing_behind() {
    let server = Server::start(&["max_connections=20"]);
    let mut raw = server.session();
    raw.query("select 1");
    let descriptors = server.descriptors();
    let flood = |round: usize| {
        let mut sockets: Vec<TcpStream> = (0..AT_ONCE).map(|_| server.socket()).collect();
        let packet = startup_packet();
        for (i, socket) in sockets.iter_mut().enumerate() {
            // The clients send, in turn: no bytes, part of a packet, an encryption request,
            // nonsense.
            let bytes: &[u8] = match (i + round) % 4 {
                0 => b"",
                1 => &packet[..i % packet.len()],
                2 => &[0, 0, 0, 8, 4, 210, 22, 47],
                _ => b"GET / HTTP/1.1\r\n\r\n",
            };
            // The server may have closed the socket already.
            let _ = socket.write_all(bytes);
        }
        // The session continues meanwhile.
        drop(sockets);
    };
    // After the first rounds, the allocator and the runtime have their reserves.
    (0..2).for_each(flood);
    server.settle(descriptors);
    let before = server.resident();
    (0..10).for_each(flood);
    assert_eq!(rows(&raw.query("select 2")), [[Some("2".to_owned())]]);
    server.settle(descriptors);
    let grown = server.resident().saturating_sub(before);
    assert!(grown < 8 << 20, "{} KiB stay behind", grown >> 10);
    assert_eq!(rows(&server.session().query("select 3")), [[Some("3".to_owned())]]);
}

#[test]
fn half_open_startups_end_in_time() {
    let server = Server::start(&["authentication_timeout=1s"]);
    let begin = Instant::now();
    let packet = startup_packet();
    let mut sockets: Vec<TcpStream> = (0..50).map(|_| server.socket()).collect();
    for (i, socket) in sockets.iter_mut().enumerate() {
        socket.write_all(&packet[..i % packet.len()]).expect("the server takes bytes");
    }
    // A client that sends a byte now and then gets no more time.
    let mut slow = server.socket();
    let patience = Duration::from_secs(15);
    let mut sent = 0;
    while sent < packet.len() - 1 && begin.elapsed() < patience {
        if slow.write_all(&packet[sent..=sent]).is_err() {
            break;
        }
        sent += 1;
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(sent < packet.len() - 1, "a byte at a time is served for ever");
    for socket in &mut sockets {
        assert!(is_closed(socket), "a half-open start-up stays");
    }
    assert!(begin.elapsed() < patience, "it took {:?}", begin.elapsed());
    assert_eq!(rows(&server.session().query("select 1")), [[Some("1".to_owned())]]);
}

#[test]
fn sessions_beyond_max_connections_are_refused_and_leave_room() {
    let server = Server::start(&["max_connections=5"]);
    let mut sessions: Vec<Raw> = (0..5).map(|_| server.session()).collect();
    for _ in 0..100 {
        let mut raw = Raw { stream: server.socket() };
        raw.startup(&[("user", "postgres")]);
        let refusal = raw.until_ready();
        assert_eq!(sqlstate(&refusal).as_deref(), Some("53300"));
        assert_eq!(refusal[0].field(b'S').as_deref(), Some("FATAL"));
        assert_eq!(refusal[0].field(b'M').as_deref(), Some("sorry, too many clients already"));
    }
    sessions.pop();
    let _another = server.session();
    assert_eq!(rows(&sessions[0].query("select 1")), [[Some("1".to_owned())]]);
}

/// The number of files that a process may have open here.
fn descriptors_allowed() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

#[test]
fn connections_beside_a_thousand_silent_ones_are_told() {
    // Both ends of a thousand connections are more than the usual limit.
    if descriptors_allowed().is_none_or(|allowed| allowed < 2048) {
        return;
    }
    let server = Server::start(&[]);
    let silent: Vec<TcpStream> = (0..1000).map(|_| server.socket()).collect();
    let patience = Instant::now() + Duration::from_secs(20);
    let refusal = loop {
        let mut raw = Raw { stream: server.socket() };
        raw.startup(&[("user", "postgres")]);
        let answer = raw.until_ready();
        if sqlstate(&answer).is_some() {
            break answer;
        }
        // The server had not accepted the last of them yet.
        assert!(Instant::now() < patience, "a thousand and one are let in");
    };
    assert_eq!(sqlstate(&refusal).as_deref(), Some("53300"));
    assert_eq!(refusal[0].field(b'S').as_deref(), Some("FATAL"));
    assert_eq!(refusal[0].field(b'M').as_deref(), Some("sorry, too many clients already"));
    drop(silent);
    let _session = server.session();
}
