//! A session whose answers are written down in full: rows, command tags' counts, notices in their
//! place, and every field of an error that does not tell where in the server's source it arose.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_postgres::error::DbError;
use tokio_postgres::{AsyncMessage, Client, NoTls, SimpleQueryMessage};

use super::super::Failure;
use super::super::answer::lost;

/// How long either server may think about one statement, in milliseconds.
const STATEMENT_TIMEOUT_MS: u64 = 20_000;

/// A session keeps this many bytes of notices of a statement. Triggers that fire each other until
/// the stack ends, each with a notice and its context, would send gigabytes.
const NOTICE_BYTES_MAX: usize = 64 << 20;

/// The fields of an error in the order in which they are shown.
const FIELDS: [&str; 8] =
    ["DETAIL", "HINT", "CONTEXT", "SCHEMA", "TABLE", "COLUMN", "DATATYPE", "CONSTRAINT"];

/// The answer to a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Testimony {
    /// Notices, rows and counts, one a line.
    pub(super) lines: Vec<String>,
    /// SQLSTATE and all that the error says.
    pub(super) error: Option<(String, String)>,
    /// Whether later notices were not kept.
    pub(super) is_cut: bool,
}

impl Testimony {
    /// The SQLSTATE, if the statement failed.
    pub(super) fn code(&self) -> Option<&str> {
        self.error.as_ref().map(|(code, _)| code.as_str())
    }

    /// The part that does not depend on the order in which the server meets rows. The lines are in
    /// alphabetical order. DETAIL and CONTEXT are left out, because they tell of the first row that
    /// is wrong. PostgreSQL numbers the copies of a constraint for partitions (`k1_1`), which
    /// Steppe does not: the numbers are left out.
    pub(super) fn without_order(mut self) -> Testimony {
        for line in &mut self.lines {
            *line = plain(line);
        }
        self.lines.sort();
        if let Some((_, error)) = &mut self.error {
            *error = plain(error);
        }
        self
    }

    /// For people: the lines from the first on that differs, and the error.
    pub(super) fn shown(&self, beside: &Testimony) -> String {
        let common = self.lines.iter().zip(&beside.lines).take_while(|(a, b)| a == b).count();
        let mut shown = format!("(after {common} equal lines)");
        for line in self.lines.iter().skip(common).take(6) {
            shown.push_str("\n        ");
            shown.push_str(line);
        }
        if let Some((_, error)) = &self.error {
            shown.push_str("\n        ");
            shown.push_str(error);
        }
        shown
    }
}

/// The notices of a statement.
#[derive(Default)]
struct Heard {
    notices: Vec<String>,
    bytes: usize,
}

impl Heard {
    fn add(&mut self, notice: String) {
        self.bytes = self.bytes.saturating_add(notice.len());
        if !self.is_cut() {
            self.notices.push(notice);
        }
    }

    fn is_cut(&self) -> bool {
        self.bytes > NOTICE_BYTES_MAX
    }
}

/// A session of the user `postgres`.
pub(super) struct Witness {
    client: Client,
    heard: Arc<Mutex<Heard>>,
}

impl Witness {
    pub(super) async fn connect(address: SocketAddr, database: &str) -> Result<Witness, Failure> {
        let config = format!(
            "host={} port={} user=postgres dbname={database}",
            address.ip(),
            address.port()
        );
        let (client, mut connection) = tokio_postgres::connect(&config, NoTls).await?;
        let heard = Arc::new(Mutex::new(Heard::default()));
        let hearing = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Some(Ok(message)) =
                std::future::poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notice(notice) = message {
                    let mut heard = hearing.lock().unwrap_or_else(PoisonError::into_inner);
                    heard.add(described(&notice));
                }
            }
        });
        client.batch_execute(&format!("SET statement_timeout = {STATEMENT_TIMEOUT_MS}")).await?;
        Ok(Witness { client, heard })
    }

    fn heard(&self) -> Heard {
        std::mem::take(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs statements whose answer does not matter.
    pub(super) async fn prepare(&self, sql: &str) -> Result<(), Failure> {
        let done = self.client.batch_execute(sql).await;
        self.heard();
        done.map_err(|error| lost(&error, sql))
    }

    /// Asks by the simple protocol.
    pub(super) async fn ask(&self, sql: &str) -> Result<Testimony, Failure> {
        let answer = self.client.simple_query(sql).await;
        let heard = self.heard();
        let is_cut = heard.is_cut();
        let mut testimony = Testimony { lines: heard.notices, error: None, is_cut };
        let messages = match answer {
            Ok(messages) => messages,
            Err(error) => {
                let Some(answer) = error.as_db_error() else { return Err(lost(&error, sql)) };
                testimony.error = Some((answer.code().code().to_owned(), described(answer)));
                return Ok(testimony);
            }
        };
        for message in messages {
            match message {
                SimpleQueryMessage::Row(row) => {
                    let cell = |column| row.get(column).unwrap_or("∅");
                    let cells: Vec<&str> = (0..row.len()).map(cell).collect();
                    testimony.lines.push(cells.join("|"));
                }
                SimpleQueryMessage::CommandComplete(rows) => {
                    testimony.lines.push(format!("({rows})"));
                }
                _ => {}
            }
        }
        Ok(testimony)
    }
}

/// A notice or an error without DETAIL, CONTEXT and the numbers of constraints' copies.
fn plain(line: &str) -> String {
    let mut line = line.to_owned();
    for field in [" DETAIL: ", " CONTEXT: "] {
        if let Some((before, after)) = line.split_once(field) {
            let next = FIELDS.iter().filter_map(|name| after.find(&format!(" {name}: "))).min();
            line = format!("{before}{}", next.map_or("", |at| &after[at..]));
        }
    }
    for copy in 1..9 {
        line = line.replace(&format!("_{copy}\""), "\"");
        line.truncate(line.strip_suffix(&format!("_{copy}")).unwrap_or(&line).len());
    }
    line
}

/// All fields of an error or a notice but file, line and routine. Portals have no numbers, and an
/// expression is called as PostgreSQL 16 and later call it.
fn described(error: &DbError) -> String {
    let mut text = format!("{} {}: {}", error.severity(), error.code().code(), error.message());
    let values = [
        error.detail(),
        error.hint(),
        error.where_(),
        error.schema(),
        error.table(),
        error.column(),
        error.datatype(),
        error.constraint(),
    ];
    for (name, value) in FIELDS.iter().zip(values) {
        if let Some(value) = value {
            text.push_str(&format!(" {name}: {}", value.replace('\n', " / ")));
        }
    }
    let text = text.replace(" SQL expression \"", " PL/pgSQL expression \"");
    let mut parts = text.split("<unnamed portal ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str("<unnamed portal ");
        text.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_digit()));
    }
    text
}
