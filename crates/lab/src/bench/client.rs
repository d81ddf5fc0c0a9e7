//! The part of the client's protocol that the benchmark needs: queries with one value or all rows,
//! ready-made messages, and COPY in at the speed of a socket. It blocks, and does not use the codec
//! that is being measured.

use std::io::{BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use super::{Failure, Result, interrupt};

/// The time without a message after which a server counts as hung.
const SILENCE_LIMIT: Duration = Duration::from_secs(120);
/// All messages of these servers are short; a greater length is a broken stream.
const MESSAGE_LEN_MAX: usize = 1 << 20;
/// After each piece of this size the client checks whether to stop.
const PIECE_LEN: usize = 1 << 18;

/// The user and database of every connection.
pub(super) const USER: &str = "postgres";

pub(super) struct Client {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

/// The values of a row as text; a null has none.
pub(super) type Row = Vec<Option<String>>;

struct Message {
    tag: u8,
    body: Vec<u8>,
}

/// The answer to a statement.
#[derive(Debug, Default)]
struct Answer {
    /// The first column of the first row, if there is one and it is not null.
    value: Option<String>,
    /// The command tag.
    tag: String,
}

impl Client {
    pub(super) fn connect(port: u16) -> Result<Client> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let writer = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
        writer.set_nodelay(true)?;
        writer.set_read_timeout(Some(SILENCE_LIMIT))?;
        writer.set_write_timeout(Some(SILENCE_LIMIT))?;
        let mut client = Client { reader: BufReader::new(writer.try_clone()?), writer };
        client.start_up()?;
        Ok(client)
    }

    /// The bare connection, which is not used any more.
    pub(super) fn into_stream(self) -> TcpStream {
        self.writer
    }

    fn start_up(&mut self) -> Result<()> {
        let mut body = 196_608u32.to_be_bytes().to_vec();
        for word in ["user", USER, "database", USER, "application_name", "steppe bench", ""] {
            body.extend_from_slice(word.as_bytes());
            body.push(0);
        }
        let mut packet = word_len(body.len() + 4)?.to_vec();
        packet.append(&mut body);
        self.writer.write_all(&packet)?;
        loop {
            let message = self.read()?;
            match message.tag {
                b'R' if message.body != [0; 4] => {
                    return Err(Failure::new("the server wants a password"));
                }
                b'E' => return Err(Failure::new(error_text(&message.body))),
                b'Z' => return Ok(()),
                _ => {}
            }
        }
    }

    /// Runs statements by the simple protocol; returns the first value of the result.
    pub(super) fn query(&mut self, sql: &str) -> Result<Option<String>> {
        self.send_query(sql)?;
        let answer = self.finish()?;
        Ok(answer.value)
    }

    /// Runs a script whose statements end with the line, each by itself.
    pub(super) fn script(&mut self, script: &str) -> Result<()> {
        for statement in script.split(";\n").filter(|statement| !statement.trim().is_empty()) {
            interrupt::check()?;
            self.query(statement)?;
        }
        Ok(())
    }

    /// Runs a statement by the simple protocol; returns all rows, their values as text.
    pub(super) fn rows(&mut self, sql: &str) -> Result<Vec<Row>> {
        self.send_query(sql)?;
        let (mut rows, mut error) = (Vec::new(), None);
        loop {
            let message = self.read()?;
            match message.tag {
                b'D' => rows.push(columns(&message.body)),
                b'E' if error.is_none() => error = Some(Failure::new(error_text(&message.body))),
                b'Z' => return error.map_or(Ok(rows), Err),
                _ => {}
            }
        }
    }

    /// Sends messages that were made before, the last of which is Sync or Query; returns the number
    /// at the end of the command tag.
    pub(super) fn change(&mut self, messages: &[u8]) -> Result<u64> {
        self.writer.write_all(messages)?;
        let tag = self.finish()?.tag;
        let count = tag.rsplit(' ').next().and_then(|count| count.parse().ok());
        count.ok_or_else(|| Failure::new(format!("a change was answered {tag:?}")))
    }

    /// Runs a COPY ... FROM STDIN with ready-made CopyData messages; returns the number
    /// of rows that the server says it took.
    pub(super) fn copy_in(
        &mut self,
        sql: &str,
        messages: impl Iterator<Item = impl AsRef<[u8]>>,
    ) -> Result<u64> {
        self.send_query(sql)?;
        loop {
            match self.read()? {
                Message { tag: b'G', .. } => break,
                Message { tag: b'E', body } => return Err(Failure::new(error_text(&body))),
                Message { tag: b'Z', .. } => {
                    return Err(Failure::new(format!("not a COPY: {sql}")));
                }
                _ => {}
            }
        }
        for part in messages {
            for piece in part.as_ref().chunks(PIECE_LEN) {
                interrupt::check()?;
                self.writer.write_all(piece)?;
            }
        }
        self.send(b'c', &[])?;
        let answer = self.finish()?;
        let count = answer.tag.strip_prefix("COPY ").and_then(|count| count.parse().ok());
        count.ok_or_else(|| Failure::new(format!("COPY was answered {:?}", answer.tag)))
    }

    fn send_query(&mut self, sql: &str) -> Result<()> {
        let mut body = sql.as_bytes().to_vec();
        body.push(0);
        self.send(b'Q', &body)
    }

    /// Reads until the server is ready again; the first error is the result.
    fn finish(&mut self) -> Result<Answer> {
        let mut answer = Answer::default();
        let mut error = None;
        loop {
            let message = self.read()?;
            match message.tag {
                b'D' if answer.value.is_none() => answer.value = first_column(&message.body),
                b'C' => answer.tag = c_string(&message.body),
                b'E' if error.is_none() => error = Some(Failure::new(error_text(&message.body))),
                b'Z' => return error.map_or(Ok(answer), Err),
                _ => {}
            }
        }
    }

    fn send(&mut self, tag: u8, body: &[u8]) -> Result<()> {
        let message = message(tag, body)?;
        self.writer.write_all(&message)?;
        Ok(())
    }

    fn read(&mut self) -> Result<Message> {
        let mut header = [0; 5];
        self.reader.read_exact(&mut header)?;
        let [tag, len @ ..] = header;
        let len = u32::from_be_bytes(len) as usize;
        if !(4..=MESSAGE_LEN_MAX).contains(&len) {
            return Err(Failure::new(format!("the server sent a message of {len} bytes")));
        }
        let mut body = vec![0; len - 4];
        self.reader.read_exact(&mut body)?;
        Ok(Message { tag, body })
    }
}

/// A whole message.
pub(super) fn message(tag: u8, body: &[u8]) -> Result<Vec<u8>> {
    let mut message = Vec::with_capacity(body.len() + 5);
    message.push(tag);
    message.extend_from_slice(&word_len(body.len() + 4)?);
    message.extend_from_slice(body);
    Ok(message)
}

fn word_len(len: usize) -> Result<[u8; 4]> {
    u32::try_from(len)
        .map(u32::to_be_bytes)
        .map_err(|_| Failure::new(format!("a message of {len} bytes is too long")))
}

/// The text up to the first zero byte.
fn c_string(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// SQLSTATE and message of an ErrorResponse.
fn error_text(body: &[u8]) -> String {
    let field = |code: u8| {
        let field = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&code))?;
        Some(String::from_utf8_lossy(&field[1..]).into_owned())
    };
    format!(
        "ERROR {}: {}",
        field(b'C').unwrap_or_default(),
        field(b'M').unwrap_or_else(|| "no message".to_owned())
    )
}

/// The values of a DataRow; a truncated row ends early.
fn columns(row: &[u8]) -> Row {
    let mut rest = row.get(2..).unwrap_or_default();
    let mut values = Vec::new();
    while let Some((len, after)) = rest.split_first_chunk::<4>() {
        // -1, a null, is no usize.
        let len = usize::try_from(i32::from_be_bytes(*len)).ok();
        let value = len.map(|len| after.get(..len).unwrap_or_default());
        values.push(value.map(|value| String::from_utf8_lossy(value).into_owned()));
        rest = after.get(len.unwrap_or(0)..).unwrap_or_default();
    }
    values
}

fn first_column(row: &[u8]) -> Option<String> {
    let (_columns, rest) = row.split_first_chunk::<2>()?;
    let (len, rest) = rest.split_first_chunk::<4>()?;
    // -1, a null, is no usize.
    let len = usize::try_from(i32::from_be_bytes(*len)).ok()?;
    Some(String::from_utf8_lossy(rest.get(..len)?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_its_state_and_message() {
        let body = b"SERROR\0VERROR\0C42P01\0Mrelation \"t\" does not exist\0P15\0\0";
        assert_eq!(error_text(body), "ERROR 42P01: relation \"t\" does not exist");
        assert_eq!(error_text(b""), "ERROR : no message");
    }

    #[test]
    fn all_columns_are_read() {
        let row = columns(b"\0\x03\0\0\0\x0242\xff\xff\xff\xff\0\0\0\0");
        assert_eq!(row, [Some("42".to_owned()), None, Some(String::new())]);
        assert!(columns(b"\0").is_empty());
    }

    #[test]
    fn the_first_column_may_be_null_or_cut_off() {
        assert_eq!(first_column(b"\0\x01\0\0\0\x0242").as_deref(), Some("42"));
        assert_eq!(first_column(b"\0\x01\xff\xff\xff\xff"), None);
        assert_eq!(first_column(b"\0\x01\0\0\0\x094"), None);
        assert_eq!(first_column(b"\0"), None);
    }
}
