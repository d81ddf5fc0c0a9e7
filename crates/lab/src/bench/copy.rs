//! The COPY measurement. Rows are made beforehand, so that the time is that of the server and a
//! socket.

use std::fmt::Write;
use std::sync::Barrier;
use std::time::Instant;

use super::client::{Client, message};
use super::server::Server;
use super::{Failure, Result};

/// CopyData messages, in as many parts as there can be clients.
pub(super) struct CopyRows {
    rows: u64,
    parts: Vec<Vec<u8>>,
}

/// Divides evenly among 1, 2, 4, 8 or 16 clients.
const PARTS: u64 = 16;
/// Rows are sent in messages of about this size.
const MESSAGE_LEN: usize = 64 * 1024;

/// One COPY measurement.
pub(super) struct Run {
    pub(super) rows: u64,
    pub(super) seconds: f64,
}

impl CopyRows {
    /// Makes about `rows` rows for a table (bigint, integer, text, timestamp).
    pub(super) fn generate(rows: u64) -> Result<CopyRows> {
        let per_part = rows.div_ceil(PARTS);
        let mut parts = Vec::new();
        for part in 0..PARTS {
            let (mut messages, mut text) = (Vec::new(), String::new());
            for id in part * per_part..(part + 1) * per_part {
                push_row(&mut text, id);
                if text.len() >= MESSAGE_LEN {
                    messages.extend(message(b'd', text.as_bytes())?);
                    text.clear();
                }
            }
            messages.extend(message(b'd', text.as_bytes())?);
            parts.push(messages);
        }
        Ok(CopyRows { rows: per_part * PARTS, parts })
    }

    /// Copies all rows into `table`, each client its share, and takes the time from
    /// the first client's start to the last one's answer.
    pub(super) fn load(&self, server: &Server, table: &str, clients: u32) -> Result<Run> {
        let sql = format!("COPY {table} FROM STDIN");
        let connections =
            (0..clients).map(|_| Client::connect(server.port)).collect::<Result<Vec<_>>>()?;
        let start = Barrier::new(connections.len() + 1);
        let (counts, seconds) = std::thread::scope(|scope| {
            let loaders: Vec<_> = connections
                .into_iter()
                .enumerate()
                .map(|(number, mut client)| {
                    let parts = self.parts.iter().skip(number).step_by(clients as usize);
                    let (sql, start) = (sql.as_str(), &start);
                    scope.spawn(move || {
                        start.wait();
                        client.copy_in(sql, parts.map(Vec::as_slice))
                    })
                })
                .collect();
            start.wait();
            let started = Instant::now();
            let counts: Vec<_> = loaders
                .into_iter()
                .map(|loader| loader.join().unwrap_or_else(|_| Err(Failure::new("a loader died"))))
                .collect();
            (counts, started.elapsed().as_secs_f64())
        });
        let rows = counts.into_iter().sum::<Result<u64>>()?;
        if rows != self.rows {
            return Err(Failure::new(format!("{rows} rows were taken of {}", self.rows)));
        }
        Ok(Run { rows, seconds })
    }
}

/// A row of about 70 bytes whose values vary with its number.
fn push_row(text: &mut String, id: u64) {
    // The multiplier scatters consecutive numbers over the range of an integer.
    let a = id.wrapping_mul(2_654_435_761) % 2_147_483_648;
    let (second, minute, hour) = (id % 60, id / 60 % 60, id / 3600 % 24);
    let day = 1 + id / 86_400 % 28;
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{id}\t{a}\tthe text of row number {id}\t2025-06-{day:02} {hour:02}:{minute:02}:{second:02}.5"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_hold_every_row_once_in_whole_messages() {
        let copy = CopyRows::generate(10_001).unwrap();
        assert_eq!((copy.rows, copy.parts.len()), (10_016, 16));
        let mut text = Vec::new();
        for mut rest in copy.parts.iter().map(Vec::as_slice) {
            while let [b'd', a, b, c, d, ..] = *rest {
                let len = u32::from_be_bytes([a, b, c, d]) as usize;
                text.extend_from_slice(&rest[5..=len]);
                rest = &rest[1 + len..];
            }
            assert!(rest.is_empty());
        }
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), 10_016);
        for (id, line) in text.lines().enumerate() {
            let fields: Vec<_> = line.split('\t').collect();
            assert_eq!((fields.len(), fields[0]), (4, id.to_string().as_str()));
        }
        let last = "10015\t474067823\tthe text of row number 10015\t2025-06-01 02:46:55.5";
        assert_eq!(text.lines().last(), Some(last));
    }
}
