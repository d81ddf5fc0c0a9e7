//! A server for a test. It runs in this process, in its own directory.

#![allow(dead_code, unreachable_pub, missing_docs)] // Each test file uses its part.

pub mod both;
pub mod postgres;
pub mod process;
pub mod two_nodes;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use steppe_server::{Config, Running};
use tokio_postgres::{Client, SimpleQueryMessage};

/// Runs a test with clients of tokio-postgres.
pub fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(test);
}

/// A small random generator with a seed, so that a failure can be repeated.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// The rows of a simple query, columns joined by `|`.
pub async fn rows_of(client: &Client, sql: &str) -> Vec<String> {
    try_rows_of(client, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"))
}

/// As [`rows_of`], for a query that may fail.
pub async fn try_rows_of(client: &Client, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let messages = client.simple_query(sql).await?;
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            let columns = (0..row.len()).map(|i| row.get(i).unwrap_or("NULL"));
            Some(columns.collect::<Vec<_>>().join("|"))
        }
        _ => None,
    };
    Ok(messages.iter().filter_map(row).collect())
}

/// A directory that is removed when dropped.
pub struct TestDir(pub PathBuf);

impl TestDir {
    pub fn new() -> TestDir {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("steppe-server-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a directory in the temporary directory");
        TestDir(path)
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running server.
pub struct TestServer {
    pub address: SocketAddr,
    running: Option<Running>,
    config: Config,
    _dir: TestDir,
}

impl TestServer {
    pub fn start() -> TestServer {
        TestServer::start_with(&[])
    }

    pub fn start_with(settings: &[(&str, &str)]) -> TestServer {
        let dir = TestDir::new();
        let mut config = Config {
            data_dir: dir.0.join("data"),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            ..Config::default()
        };
        config.settings.push(("shared_buffers".into(), "8MB".into()));
        config.settings.push(("log_min_messages".into(), "panic".into()));
        // Counters belong to the process, and the servers of other tests count, too.
        config.settings.push(("autovacuum".into(), "off".into()));
        config.settings.extend(settings.iter().map(|(n, v)| ((*n).into(), (*v).into())));
        let running = Running::start(&config).expect("the server starts");
        TestServer { address: running.address(), running: Some(running), config, _dir: dir }
    }

    /// Stops the server, and starts it again on the same data.
    pub fn restart(&mut self) {
        self.stop_now();
        let running = Running::start(&self.config).expect("the server starts again");
        self.address = running.address();
        self.running = Some(running);
    }

    /// A tokio-postgres client.
    pub async fn client(&self) -> Client {
        let options =
            format!("host=127.0.0.1 port={} user=postgres dbname=postgres", self.address.port());
        let connected = tokio_postgres::connect(&options, tokio_postgres::NoTls).await;
        let (client, connection) = connected.expect("the client connects");
        tokio::spawn(async move {
            // It ends with an error if a test makes the server end it.
            let _ = connection.await;
        });
        client
    }

    /// A raw connection past its start-up.
    pub fn raw(&self) -> Raw {
        let mut raw = self.connect();
        raw.startup(&[("user", "postgres")]);
        raw.until_ready();
        raw
    }

    /// A raw connection before its start-up packet.
    pub fn connect(&self) -> Raw {
        let stream = TcpStream::connect(self.address).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out is set");
        Raw { stream }
    }

    /// The number of spill files that statements have made.
    pub fn spill_files(&self) -> u64 {
        self.running.as_ref().map_or(0, |running| running.server().temp.files_made())
    }

    pub fn stop(mut self) {
        self.stop_now();
    }

    /// It runs on a separate thread, as a test may be in an async context.
    fn stop_now(&mut self) {
        let Some(running) = self.running.take() else { return };
        let stopped = std::thread::spawn(move || running.stop()).join();
        if !std::thread::panicking() {
            stopped.expect("no panic").expect("the server stops");
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop_now();
    }
}

/// A message from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub tag: u8,
    pub body: Vec<u8>,
}

impl Message {
    /// A field of an ErrorResponse or NoticeResponse.
    pub fn field(&self, code: u8) -> Option<String> {
        let mut fields = self.body.split(|b| *b == 0);
        let found = fields.find(|field| field.first() == Some(&code))?;
        Some(String::from_utf8_lossy(&found[1..]).into_owned())
    }

    /// The columns of a DataRow, as text.
    pub fn columns(&self) -> Vec<Option<String>> {
        let mut rest = &self.body[2..];
        let mut columns = Vec::new();
        while let Some((word, more)) = rest.split_first_chunk::<4>() {
            match usize::try_from(i32::from_be_bytes(*word)) {
                Ok(len) => {
                    columns.push(Some(String::from_utf8_lossy(&more[..len]).into_owned()));
                    rest = &more[len..];
                }
                Err(_) => {
                    columns.push(None);
                    rest = more;
                }
            }
        }
        columns
    }
}

/// A connection whose bytes the test writes itself.
pub struct Raw {
    pub stream: TcpStream,
}

/// A typed message.
pub fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

pub fn query(text: &str) -> Vec<u8> {
    message(b'Q', &[text.as_bytes(), b"\0"].concat())
}

pub fn parse(name: &str, text: &str) -> Vec<u8> {
    message(b'P', &[name.as_bytes(), b"\0", text.as_bytes(), b"\0\0\0"].concat())
}

/// Bind with text parameters and text results.
pub fn bind(portal: &str, statement: &str, params: &[&str]) -> Vec<u8> {
    let mut body = [portal.as_bytes(), b"\0", statement.as_bytes(), b"\0\0\0"].concat();
    body.extend_from_slice(&(params.len() as u16).to_be_bytes());
    for param in params {
        body.extend_from_slice(&(param.len() as u32).to_be_bytes());
        body.extend_from_slice(param.as_bytes());
    }
    body.extend_from_slice(&[0, 0]);
    message(b'B', &body)
}

pub fn execute(portal: &str, max_rows: i32) -> Vec<u8> {
    message(b'E', &[portal.as_bytes(), b"\0", &max_rows.to_be_bytes()].concat())
}

pub fn describe(kind: u8, name: &str) -> Vec<u8> {
    message(b'D', &[&[kind], name.as_bytes(), b"\0"].concat())
}

pub fn sync() -> Vec<u8> {
    message(b'S', b"")
}

impl Raw {
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server takes bytes");
    }

    pub fn startup(&mut self, parameters: &[(&str, &str)]) {
        self.startup_version(3 << 16, parameters);
    }

    pub fn startup_version(&mut self, version: u32, parameters: &[(&str, &str)]) {
        let mut body = version.to_be_bytes().to_vec();
        for (name, value) in parameters {
            body.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
        }
        body.push(0);
        let mut packet = (body.len() as u32 + 4).to_be_bytes().to_vec();
        packet.extend_from_slice(&body);
        self.send(&packet);
    }

    /// The next message; `None` if the server has closed the connection.
    pub fn receive(&mut self) -> Option<Message> {
        let mut header = [0; 5];
        self.stream.read_exact(&mut header).ok()?;
        let len = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let mut body = vec![0; len - 4];
        self.stream.read_exact(&mut body).ok()?;
        Some(Message { tag: header[0], body })
    }

    /// All messages up to ReadyForQuery, or to the end.
    pub fn until_ready(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        while let Some(message) = self.receive() {
            let done = message.tag == b'Z';
            messages.push(message);
            if done {
                break;
            }
        }
        messages
    }

    /// Runs a Query message.
    pub fn query(&mut self, text: &str) -> Vec<Message> {
        self.send(&query(text));
        self.until_ready()
    }

    /// The types of the messages that answer these bytes.
    pub fn tags(&mut self, bytes: &[u8]) -> String {
        self.send(bytes);
        tags(&self.until_ready())
    }
}

pub fn tags(messages: &[Message]) -> String {
    messages.iter().map(|message| char::from(message.tag)).collect()
}

/// The rows among messages.
pub fn rows(messages: &[Message]) -> Vec<Vec<Option<String>>> {
    messages.iter().filter(|m| m.tag == b'D').map(Message::columns).collect()
}

/// SQLSTATE of the error among messages.
pub fn sqlstate(messages: &[Message]) -> Option<String> {
    messages.iter().find(|message| message.tag == b'E')?.field(b'C')
}
