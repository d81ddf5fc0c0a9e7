//! Scripts of single protocol messages, which psql and drivers do not send or show. In the golden
//! corpus they are files that begin with `-- Messages`.
//!
//! ```text
//!   A: Parse s SELECT * FROM t         a line is a session's name and what it sends; `-` is the
//!   A: Bind - s 1 two ;; Execute - 2   unnamed statement or portal. Bind's parameters are text
//!   A: Describe S s ;; Close P -
//!   A: Run INSERT INTO t VALUES (1)    Parse, Bind and Execute, all unnamed
//!   A: Sync                            so far nothing has left; now all does, and is answered
//!   A: Query SELECT 1; SELECT 2        … as it is after Query, and after Flush
//! ```
//!
//! The answers are shown message by message. As with [`crate::sessions`], the script goes on when
//! each session has answered or waits for another's lock.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::sessions::without_numbers;

/// The first line of such a script.
const MARK: &str = "-- Messages";
/// The separator of messages on one line.
const SEPARATOR: &str = " ;; ";
/// The time limit for an answer that waits for no other session.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// The interval between looks at sessions that have not answered.
const LOOK: Duration = Duration::from_millis(5);

/// Whether a script is one of messages.
pub fn is_of_messages(script: &str) -> bool {
    script.starts_with(MARK)
}

/// Runs a script and returns its output.
pub fn run(script: &str, address: SocketAddr, database: &str) -> io::Result<String> {
    let mut stage = Stage {
        observer: Session::connect(address, database)?,
        place: (address, database.to_owned()),
        sessions: BTreeMap::new(),
        output: String::new(),
    };
    for line in script.lines() {
        stage.play(line)?;
    }
    match stage.sessions.iter().find(|(_, session)| session.is_running()) {
        Some((name, _)) => Err(io::Error::other(format!("{name} still waits at the end"))),
        None => Ok(stage.output),
    }
}

/// An answer that the server still has to send.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owed {
    /// A message of one of these types.
    One(&'static [u8]),
    /// Everything up to ReadyForQuery.
    Ready,
}

struct Session {
    stream: TcpStream,
    pid: i32,
    /// Messages that are not sent yet, and the answers to expect.
    gathered: (Vec<u8>, Vec<Owed>),
    received: Vec<u8>,
    /// The answers so far, as text.
    answer: String,
    owed: Vec<Owed>,
    /// After an error: nothing is answered up to the next Sync.
    is_skipping: bool,
    is_told_to_wait: bool,
}

impl Session {
    fn connect(address: SocketAddr, database: &str) -> io::Result<Session> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut startup = vec![0; 4];
        startup.extend((3_i32 << 16).to_be_bytes());
        startup.extend(format!("user\0postgres\0database\0{database}\0\0").bytes());
        let length = startup.len() as u32;
        startup[..4].copy_from_slice(&length.to_be_bytes());
        stream.write_all(&startup)?;
        stream.set_nonblocking(true)?;
        let mut session = Session {
            stream,
            pid: 0,
            gathered: Default::default(),
            received: Vec::new(),
            answer: String::new(),
            owed: vec![Owed::Ready],
            is_skipping: false,
            is_told_to_wait: false,
        };
        session.wait()?;
        session.answer.clear();
        Ok(session)
    }

    fn is_running(&self) -> bool {
        !self.owed.is_empty()
    }

    /// Adds one message to the unsent ones. Whether they are to be sent now.
    fn gather(&mut self, text: &str) -> io::Result<bool> {
        let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
        let mut words = rest.split(' ').map(|word| if word == "-" { "" } else { word });
        let mut name = || words.next().unwrap_or_default();
        let (tag, body, owed): (u8, Vec<u8>, _) = match kind {
            "Run" => {
                for part in [format!("Parse - {rest}"), "Bind - -".into(), "Execute -".into()] {
                    self.gather(&part)?;
                }
                return Ok(false);
            }
            "Query" => (b'Q', strings(&[rest]), Owed::Ready),
            "Sync" => (b'S', Vec::new(), Owed::Ready),
            "Flush" => (b'H', Vec::new(), Owed::One(b"")),
            "Parse" => {
                let (name, sql) = rest.split_once(' ').unwrap_or((rest, ""));
                let name = if name == "-" { "" } else { name };
                (b'P', [strings(&[name, sql]), vec![0; 2]].concat(), Owed::One(b"1"))
            }
            "Bind" => {
                let mut body = strings(&[name(), name()]);
                let values: Vec<&str> = words.collect();
                body.extend([0; 2]);
                body.extend((values.len() as u16).to_be_bytes());
                for value in values {
                    body.extend((value.len() as u32).to_be_bytes());
                    body.extend(value.bytes());
                }
                (b'B', [body, vec![0; 2]].concat(), Owed::One(b"2"))
            }
            "Describe" => (b'D', strings(&[name(), name()]), Owed::One(b"Tn")),
            "Execute" => {
                let portal = strings(&[name()]);
                let rows: i32 = name().parse().unwrap_or(0);
                (b'E', [portal, rows.to_be_bytes().to_vec()].concat(), Owed::One(b"CIs"))
            }
            "Close" => (b'C', strings(&[name(), name()]), Owed::One(b"3")),
            _ => return Err(io::Error::other(format!("no such message: {text}"))),
        };
        // In Describe and Close the kind of object is a byte, not a string.
        let body = match tag {
            b'D' | b'C' => {
                body.iter().enumerate().filter(|(i, _)| *i != 1).map(|(_, b)| *b).collect()
            }
            _ => body,
        };
        self.gathered.0.push(tag);
        self.gathered.0.extend((body.len() as u32 + 4).to_be_bytes());
        self.gathered.0.extend(body);
        if owed != Owed::One(b"") {
            self.gathered.1.push(owed);
        }
        Ok(matches!(tag, b'Q' | b'S' | b'H'))
    }

    fn send(&mut self) -> io::Result<()> {
        let (bytes, owed) = std::mem::take(&mut self.gathered);
        self.stream.set_nonblocking(false)?;
        self.stream.write_all(&bytes)?;
        self.stream.set_nonblocking(true)?;
        self.owed = owed;
        if self.is_skipping {
            self.forget_skipped();
        }
        Ok(())
    }

    /// Up to the next Sync nothing is answered.
    fn forget_skipped(&mut self) {
        let ready = self.owed.iter().position(|owed| *owed == Owed::Ready);
        self.owed.drain(..ready.unwrap_or(self.owed.len()));
    }

    /// Reads the messages that have arrived.
    fn look(&mut self) -> io::Result<()> {
        let mut piece = [0; 4096];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(io::Error::other("the server has closed a connection")),
                Ok(count) => self.received.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        while let Some(frame) = steppe_wire::frame::peek_backend(&self.received)
            .map_err(|error| io::Error::other(error.to_string()))?
        {
            let (tag, body, length) = (frame.tag, frame.body.to_vec(), frame.wire_len());
            self.received.drain(..length);
            self.take(tag, &body);
        }
        Ok(())
    }

    fn take(&mut self, tag: u8, body: &[u8]) {
        if tag == b'K' {
            self.pid = int(body, 0);
        }
        show(tag, body, &mut self.answer);
        match self.owed.first() {
            Some(Owed::One(_)) if tag == b'E' => {
                self.is_skipping = true;
                self.forget_skipped();
            }
            Some(Owed::One(types)) if types.contains(&tag) => drop(self.owed.remove(0)),
            Some(Owed::Ready) if tag == b'Z' => {
                self.is_skipping = false;
                self.owed.remove(0);
            }
            _ => {}
        }
    }

    fn wait(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        while self.is_running() {
            self.look()?;
            if Instant::now() > deadline {
                return Err(io::Error::other(format!("no answer within {ANSWER_TIMEOUT:?}")));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// Strings as the protocol has them.
fn strings(parts: &[&str]) -> Vec<u8> {
    parts.iter().flat_map(|part| part.bytes().chain([0])).collect()
}

fn int(body: &[u8], at: usize) -> i32 {
    let bytes = body.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, i32::from_be_bytes)
}

/// A message, on a line of its own.
fn show(tag: u8, body: &[u8], output: &mut String) {
    let text = match tag {
        b'1' => "ParseComplete".to_owned(),
        b'2' => "BindComplete".to_owned(),
        b'3' => "CloseComplete".to_owned(),
        b'n' => "NoData".to_owned(),
        b's' => "PortalSuspended".to_owned(),
        b'I' => "EmptyQueryResponse".to_owned(),
        b'G' => "CopyInResponse".to_owned(),
        b'H' => "CopyOutResponse".to_owned(),
        b'C' => format!("CommandComplete {}", string(body)),
        b'Z' => format!("ReadyForQuery {}", char::from(body.first().copied().unwrap_or(b'?'))),
        b't' => {
            let types: Vec<String> = body[2..].chunks(4).map(|ty| int(ty, 0).to_string()).collect();
            format!("ParameterDescription {}", types.join(" "))
        }
        b'T' => format!("RowDescription {}", columns(&body[2..])),
        b'D' => format!("DataRow {}", values(&body[2..])),
        b'E' | b'N' => error(body),
        // Settings, the key to cancel by, and COPY's data.
        _ => return,
    };
    let _ = writeln!(output, "  {text}");
}

fn string(body: &[u8]) -> String {
    String::from_utf8_lossy(body.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

/// Names of columns, with the numbers of their types.
fn columns(mut rest: &[u8]) -> String {
    let mut columns = Vec::new();
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        columns.push(format!("{}:{}", string(rest), int(rest, end + 7)));
        rest = rest.get(end + 19..).unwrap_or_default();
    }
    columns.join(" ")
}

fn values(mut rest: &[u8]) -> String {
    let mut values = Vec::new();
    while rest.len() >= 4 {
        let length = usize::try_from(int(rest, 0));
        let end = 4 + length.unwrap_or(0);
        let value = String::from_utf8_lossy(rest.get(4..end).unwrap_or_default());
        values.push(if length.is_ok() { value.into_owned() } else { "NULL".to_owned() });
        rest = rest.get(end..).unwrap_or_default();
    }
    values.join("|")
}

/// An error or notice, with its routine if clients depend on that.
fn error(body: &[u8]) -> String {
    let field = |code: u8| {
        let mut fields = body.split(|byte| *byte == 0);
        let found = fields.find(|field| field.first() == Some(&code))?;
        Some(without_numbers(&String::from_utf8_lossy(&found[1..])))
    };
    let of = |code| field(code).unwrap_or_default();
    let mut text = format!("{} {}: {}", of(b'V'), of(b'C'), of(b'M'));
    for (code, label) in [(b'D', "detail"), (b'H', "hint")] {
        if let Some(part) = field(code) {
            let _ = write!(text, " ({label}: {part})");
        }
    }
    if let Some(routine) = field(b'R').filter(|routine| routine == "RevalidateCachedQuery") {
        let _ = write!(text, " in {routine}");
    }
    text
}

/// The sessions of a script and what they have said.
struct Stage {
    place: (SocketAddr, String),
    observer: Session,
    sessions: BTreeMap<String, Session>,
    output: String,
}

impl Stage {
    fn play(&mut self, line: &str) -> io::Result<()> {
        self.output.push_str(line);
        self.output.push('\n');
        if line.trim().is_empty() || line.starts_with("--") {
            return Ok(());
        }
        let Some((name, messages)) = line.split_once(": ") else {
            return Err(io::Error::other(format!("no session is named: {line}")));
        };
        if !self.sessions.contains_key(name) {
            let session = Session::connect(self.place.0, &self.place.1)?;
            self.sessions.insert(name.to_owned(), session);
        }
        let session = self.sessions.get_mut(name).ok_or_else(|| io::Error::other("lost"))?;
        if session.is_running() {
            return Err(io::Error::other(format!("{name} has not answered yet: {line}")));
        }
        let mut sends = false;
        for message in messages.split(SEPARATOR) {
            sends = session.gather(message)?;
        }
        if !sends {
            return Ok(());
        }
        session.send()?;
        self.settle()?;
        self.show(name);
        Ok(())
    }

    /// Waits until each session has answered, or waits for another's lock.
    fn settle(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        while !self.is_settled()? {
            if Instant::now() > deadline {
                return Err(io::Error::other(format!("no answer within {ANSWER_TIMEOUT:?}")));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    fn is_settled(&mut self) -> io::Result<bool> {
        let running = self.running()?;
        for session in self.sessions.values_mut().filter(|session| session.is_running()) {
            let asked = format!("Query SELECT cardinality(pg_blocking_pids({})) > 0", session.pid);
            self.observer.gather(&asked)?;
            self.observer.send()?;
            self.observer.wait()?;
            if !std::mem::take(&mut self.observer.answer).contains("DataRow t") {
                return Ok(false);
            }
        }
        // A session that has answered since the first look may have released locks of the others.
        Ok(self.running()? == running)
    }

    /// How many sessions have not answered yet.
    fn running(&mut self) -> io::Result<usize> {
        let mut running = 0;
        for session in self.sessions.values_mut() {
            session.look()?;
            running += usize::from(session.is_running());
        }
        Ok(running)
    }

    /// Shows the answers that have come, first that of `name`.
    fn show(&mut self, name: &str) {
        let (mut first, mut others) = (String::new(), String::new());
        for (each, session) in &mut self.sessions {
            let output = if each == name { &mut first } else { &mut others };
            if session.is_running() {
                if !session.is_told_to_wait {
                    session.is_told_to_wait = true;
                    let _ = writeln!(output, "{each} waits");
                }
                continue;
            }
            if std::mem::take(&mut session.is_told_to_wait) {
                let _ = writeln!(output, "{each} goes on");
            }
            output.push_str(&std::mem::take(&mut session.answer));
        }
        self.output.push_str(&first);
        self.output.push_str(&others);
    }
}
