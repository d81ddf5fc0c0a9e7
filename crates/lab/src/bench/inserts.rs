//! INSERT of 2,500 rows in one statement, from one client: with the values written out, and as
//! parameters, as psycopg's executemany and JDBC's rewriteBatchedInserts send them.
//!
//! The messages are made beforehand, so that the time is the server's.

use std::fmt::Write;
use std::time::{Duration, Instant};

use super::client::{Client, message};
use super::copy::Run;
use super::server::Server;
use super::workload::{Conditions, Data, Load, Section, Workload};
use super::{Result, interrupt};

/// Rows of one statement.
const ROWS: u64 = 2500;
/// Different statements, which take turns.
const STATEMENTS: u64 = 8;

/// The way in which values are sent to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// In the statement's text.
    Simple,
    /// As parameters, in text format; the statement is parsed anew each time.
    Extended,
}

/// One for each protocol.
pub(super) fn workloads() -> Vec<Workload> {
    let workload = |(protocol, name, how, table): (_, &str, &str, _)| Workload {
        name: name.to_owned(),
        title: format!("INSERT of {ROWS} rows, {how}, 1 client"),
        load: Load::Inserts(protocol),
        data: Data::Own {
            table,
            create: format!(
                "CREATE TABLE {table} (id bigint NOT NULL, a integer, b text, c timestamp)"
            ),
        },
        clients: 1,
        target_to_postgresql: Some(2.0),
        target_to_noop: None,
        section: Section::Inserts,
        group: name.to_owned(),
        flat: None,
        conditions: Conditions::default(),
    };
    let all = [
        (Protocol::Simple, "inserts-simple", "values in the text", "bench_inserts_simple"),
        (Protocol::Extended, "inserts-parameters", "parameters", "bench_inserts_parameters"),
    ];
    all.into_iter().map(workload).collect()
}

/// Inserts for some seconds.
pub(super) fn run(server: &Server, table: &str, protocol: Protocol, seconds: u32) -> Result<Run> {
    let statements = (0..STATEMENTS)
        .map(|n| match protocol {
            Protocol::Simple => simple(table, n * ROWS),
            Protocol::Extended => extended(table, n * ROWS),
        })
        .collect::<Result<Vec<_>>>()?;
    let mut client = Client::connect(server.port)?;
    let (started, limit) = (Instant::now(), Duration::from_secs(seconds.into()));
    let mut rows = 0;
    for statement in statements.iter().cycle() {
        interrupt::check()?;
        rows += client.change(statement)?;
        if started.elapsed() >= limit {
            break;
        }
    }
    Ok(Run { rows, seconds: started.elapsed().as_secs_f64() })
}

/// The values of a row.
fn values(id: u64) -> [String; 4] {
    let (minute, hour) = (id % 60, id / 60 % 24);
    let time = format!("2025-06-01 {hour:02}:{minute:02}:00.5");
    [id.to_string(), (id * 7919 % 100_003).to_string(), format!("the text of row {id}"), time]
}

fn simple(table: &str, first: u64) -> Result<Vec<u8>> {
    let mut sql = format!("INSERT INTO {table} VALUES ");
    for id in first..first + ROWS {
        let [id_text, a, b, c] = values(id);
        let comma = if id == first { "" } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(sql, "{comma}({id_text}, {a}, '{b}', '{c}')");
    }
    sql.push('\0');
    message(b'Q', sql.as_bytes())
}

/// Parse, Bind, Execute and Sync.
fn extended(table: &str, first: u64) -> Result<Vec<u8>> {
    let mut sql = format!("\0INSERT INTO {table} VALUES ");
    for row in 0..ROWS {
        let [a, b, c, d] = [1, 2, 3, 4].map(|column| row * 4 + column);
        let comma = if row == 0 { "" } else { ", " };
        let _ = write!(sql, "{comma}(${a}, ${b}, ${c}, ${d})");
    }
    // The message gives no parameter types.
    sql.push_str("\0\0\0");
    let mut messages = message(b'P', sql.as_bytes())?;
    // The unnamed portal and statement, all values as text.
    let mut bind = vec![0, 0, 0, 0];
    bind.extend_from_slice(&((ROWS * 4) as u16).to_be_bytes());
    for value in (first..first + ROWS).flat_map(values) {
        bind.extend_from_slice(&(value.len() as u32).to_be_bytes());
        bind.extend_from_slice(value.as_bytes());
    }
    bind.extend_from_slice(&[0, 0]);
    messages.extend(message(b'B', &bind)?);
    messages.extend(message(b'E', &[0; 5])?);
    messages.extend(message(b'S', &[])?);
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_has_all_its_rows() {
        let simple = String::from_utf8(simple("t", 0).unwrap().split_off(5)).unwrap();
        assert_eq!(simple.matches("(").count() as u64, ROWS);
        assert!(
            simple.ends_with(", (2499, 88990, 'the text of row 2499', '2025-06-01 17:39:00.5')\0")
        );
        let extended = extended("t", 0).unwrap();
        let last = format!("${})", ROWS * 4);
        assert!(String::from_utf8_lossy(&extended).contains(&last));
    }
}
