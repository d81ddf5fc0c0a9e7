//! Answers of servers, in a form that can be compared.

use std::error::Error as _;
use std::io;
use std::net::SocketAddr;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, NoTls, Row, SimpleQueryMessage};

use super::Failure;

/// How long either server may think about one statement, in milliseconds.
const STATEMENT_TIMEOUT_MS: u64 = 5_000;

/// A row's columns as text.
pub(super) type TextRow = Vec<Option<String>>;

/// A server's answer to a statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Rows(Vec<TextRow>),
    /// SQLSTATE and message.
    Error(String, String),
}

impl Answer {
    /// Sorts the rows, because the server's order has no meaning.
    pub(super) fn sorted(mut self) -> Answer {
        if let Answer::Rows(rows) = &mut self {
            rows.sort();
        }
        self
    }

    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Answer::Rows(_) => None,
            Answer::Error(code, _) => Some(code),
        }
    }

    /// The same rows or the same SQLSTATE.
    pub(super) fn agrees(&self, other: &Answer) -> bool {
        match (self, other) {
            (Answer::Error(code, _), Answer::Error(other, _)) => code == other,
            _ => self == other,
        }
    }

    /// For people: the first rows.
    pub(super) fn shown(&self) -> String {
        match self {
            Answer::Error(code, message) => format!("{code} {message}"),
            Answer::Rows(rows) => {
                let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "∅".into());
                let row = |row: &TextRow| row.iter().map(cell).collect::<Vec<_>>().join("|");
                let first: Vec<String> = rows.iter().take(12).map(row).collect();
                format!("{} rows: {}", rows.len(), first.join("  "))
            }
        }
    }

    fn of_error(error: &tokio_postgres::Error, sql: &str) -> Result<Answer, Failure> {
        let Some(answer) = error.as_db_error() else { return Err(lost(error, sql)) };
        Ok(Answer::Error(answer.code().code().into(), answer.message().into()))
    }
}

/// The failure of a session whose connection has ended without an answer.
pub(super) fn lost(error: &tokio_postgres::Error, sql: &str) -> Failure {
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    io::Error::other(format!("a server went away over: {sql}\n    {error} {cause}")).into()
}

/// A session of the user `postgres` whose statements end in time.
pub(super) async fn connect(address: SocketAddr, database: &str) -> Result<Client, Failure> {
    let config =
        format!("host={} port={} user=postgres dbname={database}", address.ip(), address.port());
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute(&format!("SET statement_timeout = {STATEMENT_TIMEOUT_MS}")).await?;
    Ok(client)
}

/// Asks by the simple protocol.
pub(super) async fn ask(client: &Client, sql: &str) -> Result<Answer, Failure> {
    let messages = match client.simple_query(sql).await {
        Ok(messages) => messages,
        Err(error) => return Answer::of_error(&error, sql),
    };
    let mut rows = Vec::new();
    for message in messages {
        if let SimpleQueryMessage::Row(row) = message {
            rows.push((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect());
        }
    }
    Ok(Answer::Rows(rows))
}

/// Prepares a query, all of whose columns are texts, and executes it once for each list of
/// parameters: the rows of all executions.
pub(super) async fn ask_prepared(
    client: &Client,
    sql: &str,
    executions: &[TextRow],
) -> Result<Answer, Failure> {
    let statement = match client.prepare(sql).await {
        Ok(statement) => statement,
        Err(error) => return Answer::of_error(&error, sql),
    };
    let mut rows = Vec::new();
    for (number, parameters) in executions.iter().enumerate() {
        let texts: Vec<TextParameter<'_>> =
            parameters.iter().map(|value| TextParameter(value.as_deref())).collect();
        let values: Vec<&(dyn ToSql + Sync)> =
            texts.iter().map(|text| text as &(dyn ToSql + Sync)).collect();
        let found = match client.query(&statement, &values).await {
            Ok(found) => found,
            Err(error) => return Answer::of_error(&error, sql),
        };
        for row in &found {
            rows.push(texts_of(number, row));
        }
    }
    Ok(Answer::Rows(rows))
}

fn texts_of(execution: usize, row: &Row) -> TextRow {
    let columns = (0..row.len()).map(|column| row.get::<_, Option<String>>(column));
    std::iter::once(Some(format!("execution {execution}"))).chain(columns).collect()
}

/// A parameter of any type, as its text.
#[derive(Debug)]
struct TextParameter<'a>(Option<&'a str>);

impl ToSql for TextParameter<'_> {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Some(text) = self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}
