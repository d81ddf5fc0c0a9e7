//! Several scans of one execution on one node, as one statement.
//!
//! ```text
//!   SELECT 0, s.a, s.b, NULL FROM (first scan) s     rows of the first scan
//!   UNION ALL
//!   SELECT 1, NULL, NULL, s.a FROM (second scan) s   rows of the second, from the same snapshot
//! ```
//!
//! In READ COMMITTED a node takes a snapshot for each Bind. A commit on this node alone, which no gate
//! keeps out, may come between two of them. One statement has one snapshot. The rows come in any order: those
//! of a scan that the plan is not reading are kept until it does, in a file when they are many.

use super::remote_query::RemotePlan;
use crate::context::ExecContext;
use crate::expr::Row;
use crate::tuplestore::{StoreReader, TupleStore};
use parking_lot::Mutex;
use std::fmt::Write as _;
use std::sync::Arc;
use steppe_cluster::Format;
use steppe_cluster::transaction::{
    AbandonedCursors, CursorId, Effect, Fetched, RemoteStatement, first_row, malformed,
};
use steppe_sql::bind::typename::format_type;
use steppe_types::{Datum, Error, Oid, Result, oid};

/// One statement for several scans. Its parameters are those of all, which have numbers of their own.
pub(super) struct Union {
    text: String,
    types: Vec<Oid>,
    formats: Vec<Format>,
    /// The position of the first column of each scan.
    firsts: Vec<usize>,
}

impl Union {
    pub(super) fn of(scans: &[&RemotePlan]) -> Union {
        let mut union = Union {
            text: String::new(),
            types: Vec::new(),
            formats: vec![Format::Binary],
            firsts: Vec::new(),
        };
        for (number, scan) in scans.iter().enumerate() {
            union.firsts.push(union.formats.len());
            union.formats.extend_from_slice(&scan.columns.formats);
            let end = scan.types.len();
            if union.types.len() < end {
                union.types.resize(end, oid::TEXT);
            }
            union.types[scan.padding..end].copy_from_slice(&scan.types[scan.padding..]);
            let between = if number > 0 { " UNION ALL " } else { "" };
            // Writing to a String does not fail.
            let _ = write!(union.text, "{between}SELECT {number}::pg_catalog.int2");
            for (other, scan) in scans.iter().enumerate() {
                for (column, ty) in scan.columns.types.iter().enumerate() {
                    let _ = match other == number {
                        true => write!(union.text, ", s.c{column}"),
                        false => write!(union.text, ", NULL::{}", format_type(ty.oid, -1)),
                    };
                }
            }
            let names: Vec<String> =
                (0..scan.columns.types.len()).map(|i| format!("c{i}")).collect();
            let names =
                if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) };
            let _ = write!(union.text, " FROM ({}) s{names}", scan.text);
        }
        union
    }

    pub(super) fn statement(&self) -> RemoteStatement<'_> {
        RemoteStatement {
            text: &self.text,
            types: &self.types,
            result_formats: &self.formats,
            effect: Effect::Read,
        }
    }

    /// The parts of the scans of the statement that a node runs.
    pub(super) fn parts(
        &self,
        cursor: CursorId,
        abandoned: &Arc<AbandonedCursors>,
        cx: &ExecContext,
    ) -> Vec<Part> {
        let kept = || Some((cx.new_store(1), StoreReader::default()));
        let shared = Arc::new(Mutex::new(Shared {
            cursor,
            is_done: false,
            fetched: Vec::new(),
            kept: self.firsts.iter().map(|_| kept()).collect(),
            abandoned: Arc::clone(abandoned),
        }));
        let part = |(number, first): (usize, &usize)| Part {
            shared: Arc::clone(&shared),
            number,
            first: *first,
        };
        self.firsts.iter().enumerate().map(part).collect()
    }
}

/// The statement on one node.
struct Shared {
    cursor: CursorId,
    is_done: bool,
    fetched: Vec<u8>,
    /// DataRow messages by scan, or `None` if the plan wants no more of them.
    kept: Vec<Option<(TupleStore, StoreReader)>>,
    abandoned: Arc<AbandonedCursors>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.abandoned.add(self.cursor);
    }
}

/// The rows of one scan in it.
pub(super) struct Part {
    shared: Arc<Mutex<Shared>>,
    number: usize,
    /// The position of its first column.
    pub(super) first: usize,
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(kept) = self.shared.lock().kept.get_mut(self.number) {
            *kept = None;
        }
    }
}

impl Part {
    /// Appends some rows of the scan to `rows`, as DataRow messages. False at the end.
    pub(super) fn fetch(&self, rows: &mut Vec<u8>, cx: &mut ExecContext) -> Result<bool> {
        let shared = &mut *self.shared.lock();
        if shared.take_kept(self.number, rows)? {
            return Ok(true);
        }
        while rows.is_empty() && !shared.is_done {
            shared.fetch(self.number, rows, cx)?;
        }
        Ok(!rows.is_empty())
    }
}

impl Shared {
    /// Takes a kept row.
    fn take_kept(&mut self, number: usize, rows: &mut Vec<u8>) -> Result<bool> {
        let Some(Some((store, reader))) = self.kept.get_mut(number) else { return Ok(false) };
        let mut row = Vec::with_capacity(1);
        match store.read_one(reader, &mut row)? {
            true => match row.as_slice() {
                [Datum::Bytea(message)] => rows.extend_from_slice(message),
                _ => return Err(Error::internal("a kept row is none")),
            },
            false => {
                store.clear();
                *reader = StoreReader::default();
            }
        }
        Ok(!rows.is_empty())
    }

    /// Fetches rows, of which those of one scan are appended to `rows`, and the others kept.
    fn fetch(&mut self, number: usize, rows: &mut Vec<u8>, cx: &mut ExecContext) -> Result<()> {
        let session = Arc::clone(&cx.functions.session);
        let participants = cx.txn()?.participants(&*session)?;
        self.fetched.clear();
        if let Fetched::Done(_) = participants.fetch(self.cursor, &mut self.fetched)? {
            self.is_done = true;
            participants.close(self.cursor);
        }
        let mut rest = &self.fetched[..];
        while !rest.is_empty() {
            let (values, length) = first_row(rest)?;
            let (message, after) = rest.split_at(length);
            rest = after;
            let of = match values.iter().next() {
                Some(Some(&[high, low])) => usize::from(u16::from_be_bytes([high, low])),
                _ => return Err(malformed()),
            };
            if of == number {
                rows.extend_from_slice(message);
                continue;
            }
            if let Some((store, _)) = self.kept.get_mut(of).ok_or_else(malformed)? {
                store.push(Row::of(&[Datum::Bytea(message.into())]))?;
            }
        }
        Ok(())
    }
}
