//! A server that speaks the protocol and does nothing. Its throughput under pgbench is the upper
//! bound for a real server on the machine.
//!
//! It answers unmodified `pgbench -n`: built-in and custom scripts, in simple, extended and
//! prepared mode, with pipelines. A query gets one row, any other statement its tag. It looks at a
//! statement's first words only and stores nothing.
//!
//! Each wake-up of a session costs one read for all messages that arrived and one write for all
//! their answers. Options choose how sessions are put on threads, because the real server uses the
//! placement that wins here. The default, pinned, needs no wake-ups between threads:
//!
//! - `--threads-as steal`: one work-stealing runtime, sessions move between its threads
//! - `--threads-as pinned`: one single-threaded runtime a thread, to which an acceptor deals
//!   connections in turn
//! - `--threads-as reuseport`: as pinned, but each has a listener of its own and the kernel deals
//!   them out (unevenly, by hash).

use std::collections::HashMap;
use std::future::Future;
use std::net::{SocketAddr, TcpStream as StdStream};
use std::process::ExitCode;

use bytes::{Buf, BytesMut};
use steppe_types::error::Severity;
use steppe_types::{Error, Oid, Result, SqlState, oid};
use steppe_wire::backend::{self, Field};
use steppe_wire::frontend::{self, Bind, FrontendMessage, Parse, Target};
use steppe_wire::startup::{self, Startup, StartupPacket};
use steppe_wire::{DataRow, Format, Phase, TransactionStatus, frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::mpsc;

const USAGE: &str = "usage: noop_server [--listen ADDRESS:PORT] [--threads N] \
                     [--threads-as steal|pinned|reuseport]";

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("noop_server: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let ran = match options.placement {
        Placement::Steal => run_stealing(&options),
        Placement::Pinned => run_pinned(&options),
        Placement::ReusePort => run_reuseport(&options),
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("noop_server: {}: {error}", options.listen);
            ExitCode::FAILURE
        }
    }
}

/// How sessions are put on threads.
enum Placement {
    Steal,
    Pinned,
    ReusePort,
}

struct Options {
    listen: SocketAddr,
    threads: usize,
    placement: Placement,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options {
            listen: SocketAddr::from(([127, 0, 0, 1], 5434)),
            threads: std::thread::available_parallelism().map_or(2, usize::from),
            placement: Placement::Pinned,
        };
        while let Some(name) = args.next() {
            let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
            let invalid = || format!("invalid value for {name}: {value}");
            match name.as_str() {
                "--listen" => options.listen = value.parse().map_err(|_| invalid())?,
                "--threads" => options.threads = value.parse().map_err(|_| invalid())?,
                "--threads-as" => {
                    options.placement = match value.as_str() {
                        "steal" => Placement::Steal,
                        "pinned" => Placement::Pinned,
                        "reuseport" => Placement::ReusePort,
                        _ => return Err(invalid()),
                    }
                }
                _ => return Err(format!("unknown option {name}")),
            }
        }
        options.threads = options.threads.max(1);
        Ok(options)
    }
}

type IoResult<T> = std::io::Result<T>;

fn run_stealing(options: &Options) -> IoResult<()> {
    let runtime =
        Builder::new_multi_thread().worker_threads(options.threads).enable_io().build()?;
    // The acceptor runs on a worker too: a block_on thread would wake for each.
    let listen = options.listen;
    let acceptor = runtime.spawn(async move { accept(TcpListener::bind(listen).await?).await });
    runtime.block_on(acceptor).map_err(std::io::Error::other)?
}

fn run_pinned(options: &Options) -> IoResult<()> {
    let mut workers = Vec::new();
    for _ in 0..options.threads {
        let (deal, mut dealt) = mpsc::unbounded_channel::<StdStream>();
        workers.push(deal);
        spawn_runtime(async move {
            while let Some(stream) = dealt.recv().await {
                tokio::spawn(serve(TcpStream::from_std(stream)?));
            }
            Ok(())
        });
    }
    let listener = std::net::TcpListener::bind(options.listen)?;
    announce(listener.local_addr()?);
    for worker in workers.iter().cycle() {
        let (stream, _) = listener.accept()?;
        stream.set_nonblocking(true)?;
        worker.send(stream).map_err(std::io::Error::other)?;
    }
    Ok(())
}

fn run_reuseport(options: &Options) -> IoResult<()> {
    let listen = options.listen;
    let threads: Vec<_> = (0..options.threads)
        .map(|_| {
            spawn_runtime(async move {
                let socket = match listen {
                    SocketAddr::V4(_) => TcpSocket::new_v4()?,
                    SocketAddr::V6(_) => TcpSocket::new_v6()?,
                };
                socket.set_reuseaddr(true)?;
                socket.set_reuseport(true)?;
                socket.bind(listen)?;
                accept(socket.listen(1024)?).await
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| std::io::Error::other("a thread panicked"))??;
    }
    Ok(())
}

/// Runs `main` on a single-threaded runtime on a thread of its own.
fn spawn_runtime(
    main: impl Future<Output = IoResult<()>> + Send + 'static,
) -> std::thread::JoinHandle<IoResult<()>> {
    std::thread::spawn(move || Builder::new_current_thread().enable_io().build()?.block_on(main))
}

fn announce(address: SocketAddr) {
    println!("ready on {address}");
}

async fn accept(listener: TcpListener) -> IoResult<()> {
    announce(listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(serve(stream));
    }
}

/// One connection, to its end.
async fn serve(mut stream: TcpStream) {
    // An error means that the client has closed the connection; the server ignores it.
    let _ = stream.set_nodelay(true);
    let _ = converse(&mut stream).await;
}

/// Reads what arrived, answers all of it, writes the answers, and so on.
async fn converse(stream: &mut TcpStream) -> IoResult<()> {
    let mut input = BytesMut::with_capacity(8 * 1024);
    let mut output = Vec::with_capacity(8 * 1024);
    let mut session = Session::default();
    loop {
        input.reserve(frame::read_ahead(&input));
        if stream.read_buf(&mut input).await? == 0 {
            return Ok(());
        }
        let used = session.answer_all(&input, &mut output);
        input.advance(used);
        if !output.is_empty() {
            stream.write_all(&output).await?;
            output.clear();
        }
        if session.is_over {
            return Ok(());
        }
    }
}

/// The answer to a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// One row of one int4.
    Integer,
    /// One row of one int8.
    Count,
    /// How pgbench_accounts is partitioned: it is not.
    Partitions,
    /// A tag with a row count of one.
    RowsTag(&'static str),
    /// A tag.
    Tag(&'static str),
    /// An empty query.
    Empty,
}

impl Answer {
    /// Chooses the answer by the statement's first word, and for a query by the queries of pgbench.
    fn to(query: &str) -> Result<Answer> {
        let query = skip_blanks_and_comments(query);
        let end = query.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(query.len());
        let (word, rest) = query.split_at(end);
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        Ok(if is("select") || is("values") || is("with") {
            if rest.contains("partstrat") {
                Answer::Partitions
            } else if rest.contains("count(") {
                Answer::Count
            } else {
                Answer::Integer
            }
        } else if is("update") {
            Answer::RowsTag("UPDATE")
        } else if is("insert") {
            Answer::RowsTag("INSERT 0")
        } else if is("delete") {
            Answer::RowsTag("DELETE")
        } else if let Some((_, tag)) = TAGS.iter().find(|(keyword, _)| is(keyword)) {
            Answer::Tag(tag)
        } else if query.trim_matches(|c: char| c == ';' || c.is_whitespace()).is_empty() {
            Answer::Empty
        } else {
            return Err(Error::not_supported(format!("{} here", word.to_uppercase())));
        })
    }

    fn fields(self) -> &'static [(&'static str, Oid, i16)] {
        match self {
            Answer::Integer => &[("abalance", oid::INT4, 4)],
            Answer::Count => &[("count", oid::INT8, 8)],
            Answer::Partitions => {
                &[("n", oid::INT8, 8), ("partstrat", oid::TEXT, -1), ("count", oid::INT8, 8)]
            }
            Answer::RowsTag(_) | Answer::Tag(_) | Answer::Empty => &[],
        }
    }

    /// RowDescription or NoData.
    fn describe(self, format: Format, out: &mut Vec<u8>) -> Result<()> {
        if self.fields().is_empty() {
            backend::no_data(out);
            return Ok(());
        }
        let fields = self
            .fields()
            .iter()
            .map(|&(name, type_oid, size)| Field { format, ..Field::new(name, type_oid, size) });
        backend::row_description(out, fields)
    }

    /// The row, if any, and the tag.
    fn execute(self, format: Format, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Answer::Tag(tag) => backend::command_complete(out, tag),
            Answer::RowsTag(verb) => backend::command_complete_rows(out, verb, 1),
            Answer::Empty => backend::empty_query_response(out),
            Answer::Integer | Answer::Count | Answer::Partitions => {
                let mut row = DataRow::begin(out);
                for &(_, type_oid, _) in self.fields() {
                    match (type_oid, format) {
                        (oid::TEXT, _) => row.null(),
                        (_, Format::Text) => row.text_int(1),
                        (oid::INT4, Format::Binary) => row.fixed(1i32.to_be_bytes()),
                        (_, Format::Binary) => row.fixed(1i64.to_be_bytes()),
                    }
                }
                row.finish()?;
                backend::command_complete_rows(out, "SELECT", 1);
            }
        }
        Ok(())
    }
}

/// Commands whose tag needs no count.
const TAGS: &[(&str, &str)] = &[
    ("begin", "BEGIN"),
    ("start", "START TRANSACTION"),
    ("end", "COMMIT"),
    ("commit", "COMMIT"),
    ("rollback", "ROLLBACK"),
    ("abort", "ROLLBACK"),
    ("savepoint", "SAVEPOINT"),
    ("release", "RELEASE"),
    ("set", "SET"),
    ("vacuum", "VACUUM"),
    ("analyze", "ANALYZE"),
    ("truncate", "TRUNCATE TABLE"),
    ("checkpoint", "CHECKPOINT"),
];

fn skip_blanks_and_comments(mut query: &str) -> &str {
    loop {
        query = query.trim_start();
        match query.strip_prefix("--") {
            Some(comment) => query = comment.split_once('\n').map_or("", |(_, rest)| rest),
            None => return query,
        }
    }
}

/// A prepared statement.
#[derive(Clone, Copy)]
struct Statement {
    answer: Answer,
    params: u16,
}

/// A portal: a statement with its result format.
#[derive(Clone, Copy)]
struct Portal {
    answer: Answer,
    format: Format,
}

/// The protocol's state of one connection.
#[derive(Default)]
struct Session {
    started: bool,
    is_over: bool,
    in_transaction: bool,
    /// An error came in a batch of extended messages: skip to its Sync.
    skipping: bool,
    statements: HashMap<Box<str>, Statement>,
    portals: HashMap<Box<str>, Portal>,
}

impl Session {
    /// Answers the whole messages in `input`; returns how many bytes they were.
    fn answer_all(&mut self, input: &[u8], out: &mut Vec<u8>) -> usize {
        let mut used = 0;
        while !self.is_over {
            let step = if self.started {
                self.answer_one(&input[used..], out)
            } else {
                self.start(&input[used..], out)
            };
            match step {
                Ok(Some(len)) => used += len,
                Ok(None) => break,
                Err(error) => {
                    // Only lost framing comes up to here.
                    backend::error_response(out, &error.severity(Severity::Fatal));
                    self.is_over = true;
                }
            }
        }
        used
    }

    fn start(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Option<usize>> {
        let Some((packet, len)) = startup::peek(input)? else { return Ok(None) };
        match packet {
            StartupPacket::SslRequest | StartupPacket::GssEncRequest => out.push(b'N'),
            StartupPacket::Cancel(_) => self.is_over = true,
            StartupPacket::Startup(startup) => {
                self.started = true;
                welcome(&startup, out);
            }
        }
        Ok(Some(len))
    }

    fn answer_one(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Option<usize>> {
        let Some(frame) = frame::peek(input, Phase::Ready)? else { return Ok(None) };
        if !self.skipping || matches!(frame.tag, b'S' | b'X') {
            let answered = frontend::decode(frame).and_then(|message| self.answer(message, out));
            if let Err(error) = answered {
                backend::error_response(out, &error);
                if frame.tag == b'Q' {
                    self.ready(out);
                } else {
                    self.skipping = true;
                }
            }
        }
        Ok(Some(frame.wire_len()))
    }

    fn answer(&mut self, message: FrontendMessage<'_>, out: &mut Vec<u8>) -> Result<()> {
        match message {
            FrontendMessage::Query(query) => {
                let answer = Answer::to(query)?;
                if !answer.fields().is_empty() {
                    answer.describe(Format::Text, out)?;
                }
                self.execute(answer, Format::Text, out)?;
                self.ready(out);
            }
            FrontendMessage::Parse(parse) => self.parse(&parse, out)?,
            FrontendMessage::Bind(bind) => self.bind(&bind, out)?,
            FrontendMessage::Describe(target) => self.describe(target, out)?,
            FrontendMessage::Execute { portal, .. } => {
                let Portal { answer, format } = self.portal(portal)?;
                self.execute(answer, format, out)?;
            }
            FrontendMessage::Close(target) => {
                match target {
                    Target::Statement(name) => drop(self.statements.remove(name)),
                    Target::Portal(name) => drop(self.portals.remove(name)),
                }
                backend::close_complete(out);
            }
            FrontendMessage::Sync => {
                self.skipping = false;
                self.ready(out);
            }
            FrontendMessage::Terminate => self.is_over = true,
            FrontendMessage::Flush => {}
            // COPY was never begun: PostgreSQL ignores what is left of one.
            FrontendMessage::CopyData(_)
            | FrontendMessage::CopyDone
            | FrontendMessage::CopyFail(_) => {}
            FrontendMessage::FunctionCall(_) | FrontendMessage::AuthResponse(_) => {
                return Err(Error::not_supported("this message"));
            }
        }
        Ok(())
    }

    fn parse(&mut self, parse: &Parse<'_>, out: &mut Vec<u8>) -> Result<()> {
        let answer = Answer::to(parse.query)?;
        let statement = Statement { answer, params: count_params(parse.query) };
        put(&mut self.statements, parse.statement, statement);
        backend::parse_complete(out);
        Ok(())
    }

    fn bind(&mut self, bind: &Bind<'_>, out: &mut Vec<u8>) -> Result<()> {
        let Statement { answer, .. } = self.statement(bind.statement)?;
        let portal = Portal { answer, format: bind.result_formats.get(0)? };
        put(&mut self.portals, bind.portal, portal);
        backend::bind_complete(out);
        Ok(())
    }

    fn describe(&mut self, target: Target<'_>, out: &mut Vec<u8>) -> Result<()> {
        match target {
            Target::Statement(name) => {
                let Statement { answer, params } = self.statement(name)?;
                backend::parameter_description(out, &vec![oid::INT4; usize::from(params)]);
                answer.describe(Format::Text, out)
            }
            Target::Portal(name) => {
                let Portal { answer, format } = self.portal(name)?;
                answer.describe(format, out)
            }
        }
    }

    fn execute(&mut self, answer: Answer, format: Format, out: &mut Vec<u8>) -> Result<()> {
        match answer {
            Answer::Tag("BEGIN" | "START TRANSACTION") => self.in_transaction = true,
            Answer::Tag("COMMIT" | "ROLLBACK") => self.in_transaction = false,
            _ => {}
        }
        answer.execute(format, out)
    }

    fn ready(&self, out: &mut Vec<u8>) {
        let status = if self.in_transaction {
            TransactionStatus::InTransaction
        } else {
            TransactionStatus::Idle
        };
        backend::ready_for_query(out, status);
    }

    fn statement(&self, name: &str) -> Result<Statement> {
        self.statements.get(name).copied().ok_or_else(|| {
            Error::new(
                SqlState::INVALID_SQL_STATEMENT_NAME,
                format!("prepared statement \"{name}\" does not exist"),
            )
        })
    }

    fn portal(&self, name: &str) -> Result<Portal> {
        self.portals.get(name).copied().ok_or_else(|| {
            Error::new(SqlState::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist"))
        })
    }
}

/// Replaces or adds; allocates a name only the first time.
fn put<T>(map: &mut HashMap<Box<str>, T>, name: &str, value: T) {
    match map.get_mut(name) {
        Some(old) => *old = value,
        None => drop(map.insert(name.into(), value)),
    }
}

/// The highest `$n` of a statement.
fn count_params(query: &str) -> u16 {
    let numbers = query.split('$').skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok()
    });
    numbers.max().unwrap_or(0)
}

/// Lets the client in, with the settings that psql and pgbench look at.
fn welcome(startup: &Startup<'_>, out: &mut Vec<u8>) {
    if startup.must_negotiate() {
        backend::negotiate_protocol_version(out, startup.protocol, &startup.unrecognized);
    }
    backend::authentication_ok(out);
    for (name, value) in [
        ("server_version", "18.0 (noop)"),
        ("server_encoding", "UTF8"),
        ("client_encoding", "UTF8"),
        ("DateStyle", "ISO, MDY"),
        ("TimeZone", "UTC"),
        ("integer_datetimes", "on"),
        ("standard_conforming_strings", "on"),
    ] {
        backend::parameter_status(out, name, value);
    }
    backend::backend_key_data(out, 1, &[0; 4]);
    backend::ready_for_query(out, TransactionStatus::Idle);
}
