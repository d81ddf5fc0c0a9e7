//! Rows as the model knows them, and states of the database.

use std::collections::{BTreeMap, BTreeSet};

use steppe_txn::FileId;

/// A row: its bytes follow from this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub key: u32,
    pub null: bool,
    pub group: u8,
    pub stamp: u32,
    pub len: u32,
    pub big: bool,
}

/// (id, chunks) of an out-of-line value.
pub type Reference = (u64, u32);

const HEAD: usize = 15;

fn filler(stamp: u32, len: u32) -> Vec<u8> {
    // Half of all values compress well.
    let step = if stamp.is_multiple_of(2) { 0 } else { 0x9E37_79B9 };
    (0..len).map(|i| (stamp.wrapping_add(i.wrapping_mul(step)) >> 13) as u8).collect()
}

impl Row {
    pub fn big_value(&self) -> Vec<u8> {
        filler(self.stamp, self.len)
    }

    pub fn encode(&self, reference: Option<Reference>) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&self.key.to_le_bytes());
        bytes.push(u8::from(self.null));
        bytes.push(self.group);
        bytes.extend_from_slice(&self.stamp.to_le_bytes());
        bytes.extend_from_slice(&self.len.to_le_bytes());
        bytes.push(u8::from(self.big));
        match reference {
            Some((id, chunks)) => {
                bytes.extend_from_slice(&id.to_le_bytes());
                bytes.extend_from_slice(&chunks.to_le_bytes());
            }
            None => bytes.extend_from_slice(&filler(self.stamp, self.len)),
        }
        bytes
    }

    /// Checks the bytes and reads them.
    pub fn decode(bytes: &[u8]) -> (Row, Option<Reference>) {
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4"));
        let row = Row {
            key: u32_at(0),
            null: bytes[4] != 0,
            group: bytes[5],
            stamp: u32_at(6),
            len: u32_at(10),
            big: bytes[14] != 0,
        };
        if row.big {
            let id = u64::from_le_bytes(bytes[HEAD..HEAD + 8].try_into().expect("8"));
            return (row, Some((id, u32_at(HEAD + 8))));
        }
        assert_eq!(&bytes[HEAD..], filler(row.stamp, row.len), "torn row: {row:?}");
        (row, None)
    }

    pub fn unique_key(&self) -> Vec<u8> {
        let mut key = vec![u8::from(self.null)];
        key.extend_from_slice(&self.key.to_be_bytes());
        key
    }

    pub fn group_key(&self) -> Vec<u8> {
        vec![self.group, self.group ^ 0x55]
    }
}

/// Tables by number, rows by row id.
pub type State = BTreeMap<u32, BTreeMap<u64, Row>>;

/// Whether a table's files are unlogged.
pub fn is_unlogged(number: u32) -> bool {
    number % 3 == 1
}

/// What a crash leaves of a state.
pub fn without_unlogged(state: &State) -> State {
    let rows_of = |(&number, rows): (&u32, &BTreeMap<u64, Row>)| {
        (number, if is_unlogged(number) { BTreeMap::new() } else { rows.clone() })
    };
    state.iter().map(rows_of).collect()
}

/// A prepared transaction.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    pub changes: Changes,
    /// The files of tables that it has made, or made anew.
    pub created: BTreeMap<u32, [FileId; 4]>,
    /// Rows that it has locked.
    pub rows: BTreeSet<(u32, u64)>,
    /// A relation that it has locked.
    pub relation: Option<u32>,
}

/// What a transaction has changed, or an event in the log that changes which are prepared.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub prepares: Option<(String, Box<Prepared>)>,
    pub ends: Option<String>,
    pub tables: BTreeMap<u32, bool>,
    pub rows: BTreeMap<(u32, u64), Option<Row>>,
}

impl Prepared {
    /// A crash has emptied the unlogged tables.
    pub fn forget_unlogged(&mut self) {
        self.changes.rows.retain(|(number, _), _| !is_unlogged(*number));
        self.rows.retain(|(number, _)| !is_unlogged(*number));
    }
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.tables.is_empty()
    }

    pub fn apply_to_prepared(&self, prepared: &mut BTreeMap<String, Prepared>) {
        if let Some((gid, new)) = &self.prepares {
            prepared.insert(gid.clone(), (**new).clone());
        }
        if let Some(gid) = &self.ends {
            prepared.remove(gid);
        }
    }

    pub fn apply(&self, state: &mut State) {
        for (&table, &exists) in &self.tables {
            if exists {
                state.entry(table).or_default();
            }
        }
        for (&(table, id), row) in &self.rows {
            let Some(rows) = state.get_mut(&table) else { continue };
            match row {
                Some(row) => rows.insert(id, row.clone()),
                None => rows.remove(&id),
            };
        }
        for (table, _) in self.tables.iter().filter(|(_, exists)| !**exists) {
            state.remove(table);
        }
    }
}
