//! pg_snapshot and txid_snapshot, a snapshot by the numbers of transactions, written
//! `xmin:xmax:running,…` (src/backend/utils/adt/xid8funcs.c). Values are stored as that text.

use crate::number_io::invalid_syntax;
use crate::{Error, Result, SqlState};

/// A snapshot by the numbers of transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PgSnapshot {
    /// All transactions before it have ended.
    pub xmin: u64,
    /// Transactions from here on have not ended.
    pub xmax: u64,
    /// The transactions in between that have not ended, in order.
    pub running: Vec<u64>,
}

impl PgSnapshot {
    /// Reads a snapshot's text.
    pub fn parse(text: &str) -> Result<PgSnapshot> {
        read(text).ok_or_else(|| invalid_syntax("pg_snapshot", text))
    }

    /// The snapshot's text.
    pub fn shown(&self) -> String {
        let running: Vec<String> = self.running.iter().map(u64::to_string).collect();
        format!("{}:{}:{}", self.xmin, self.xmax, running.join(","))
    }

    /// Whether the snapshot sees a transaction's changes, if that has committed.
    pub fn sees(&self, xid: u64) -> bool {
        xid < self.xmin || (xid < self.xmax && self.running.binary_search(&xid).is_err())
    }

    /// Appends the binary form.
    pub fn send(&self, out: &mut Vec<u8>) {
        let count = i32::try_from(self.running.len()).unwrap_or(i32::MAX);
        out.extend_from_slice(&count.to_be_bytes());
        for number in [self.xmin, self.xmax].iter().chain(&self.running) {
            out.extend_from_slice(&number.to_be_bytes());
        }
    }

    /// Reads the binary form.
    pub fn receive(bytes: &[u8]) -> Result<PgSnapshot> {
        receive(bytes).ok_or_else(|| {
            let message = "invalid external pg_snapshot data";
            Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
        })
    }

    /// Takes the next running transaction, which must not be before the last. A repeated one counts
    /// once.
    fn push(&mut self, xid: u64) -> Option<()> {
        let last = self.running.last().copied().unwrap_or(self.xmin);
        if xid < last || xid >= self.xmax {
            return None;
        }
        if self.running.last() != Some(&xid) {
            self.running.push(xid);
        }
        Some(())
    }
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim_start();
    (text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn between(xmin: u64, xmax: u64) -> Option<PgSnapshot> {
    (xmin != 0 && xmax >= xmin).then_some(PgSnapshot { xmin, xmax, running: Vec::new() })
}

fn read(text: &str) -> Option<PgSnapshot> {
    let mut parts = text.splitn(3, ':');
    let mut snapshot = between(number(parts.next()?)?, number(parts.next()?)?)?;
    let running = parts.next()?;
    // A comma may come last.
    let running = running.strip_suffix(',').unwrap_or(running);
    for xid in running.split(',').filter(|_| !running.is_empty()) {
        snapshot.push(number(xid)?)?;
    }
    Some(snapshot)
}

fn receive(bytes: &[u8]) -> Option<PgSnapshot> {
    let (count, numbers) = bytes.split_first_chunk::<4>()?;
    let mut numbers = numbers.chunks(8).map(|b| b.try_into().ok().map(u64::from_be_bytes));
    let mut snapshot = between(numbers.next()??, numbers.next()??)?;
    if i32::from_be_bytes(*count) != i32::try_from(numbers.len()).ok()? {
        return None;
    }
    for xid in numbers {
        snapshot.push(xid?)?;
    }
    Some(snapshot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_shown_and_sent_again() {
        let snapshot = PgSnapshot::parse("12:18:14,14,16,").expect("is one");
        assert_eq!(snapshot.shown(), "12:18:14,16");
        assert_eq!(PgSnapshot::parse("12:12:").expect("is one").shown(), "12:12:");
        let mut bytes = Vec::new();
        snapshot.send(&mut bytes);
        assert_eq!(PgSnapshot::receive(&bytes).expect("is one"), snapshot);
        for end in 0..bytes.len() {
            assert!(PgSnapshot::receive(&bytes[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in [
            "",
            "1",
            "1:2",
            "0:1:",
            "31:12:",
            "12:13:0",
            "12:16:14,13",
            "12:13:a",
            "1:2:1,,1",
            "-1:2:",
        ] {
            assert!(PgSnapshot::parse(text).is_err(), "{text}");
        }
    }
}
