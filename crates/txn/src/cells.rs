//! Small durable values beside transactions: sequences, and the catalog's root.
//!
//! A cell is changed at once and for good: it is redone after a crash, and never
//! undone. Durable when the log is, up to the position returned.

use steppe_storage::{LogHeader, Lsn};
use steppe_types::{Error, Result};

use crate::database::Database;

/// What [`Database::cell_update`] runs: old value, buffer for the new one.
pub type CellUpdate<'a> = dyn FnMut(Option<&[u8]>, &mut Vec<u8>) -> Result<bool> + 'a;

fn cell_key(key: u64) -> [u8; 9] {
    let mut bytes = [b'c'; 9];
    bytes[1..].copy_from_slice(&key.to_be_bytes());
    bytes
}

fn blob_key(name: &str) -> Vec<u8> {
    [b"b", name.as_bytes()].concat()
}

impl Database {
    fn system_put(&self, key: &[u8], value: Option<&[u8]>) -> Result<Lsn> {
        let appended = self.system.write(key, LogHeader::default(), |_, op| {
            match value {
                Some(value) => op.put(value),
                None => op.remove(),
            }
            Ok::<(), Error>(())
        })?;
        Ok(appended.map_or(Lsn(0), |appended| appended.end))
    }

    fn system_get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut value = Vec::new();
        Ok(self.system.read(key, &mut value)?.then_some(value))
    }

    /// Sets a cell (at most 2600 bytes).
    pub fn cell_put(&self, key: u64, value: &[u8]) -> Result<Lsn> {
        self.system_put(&cell_key(key), Some(value))
    }

    /// Reads a cell.
    pub fn cell_get(&self, key: u64) -> Result<Option<Vec<u8>>> {
        self.system_get(&cell_key(key))
    }

    /// Changes a cell atomically: `f` sees the old value and fills in the new
    /// one; false leaves the cell as it is.
    pub fn cell_update(&self, key: u64, f: &mut CellUpdate<'_>) -> Result<Lsn> {
        let log = LogHeader::default();
        let appended = self.system.write(&cell_key(key), log, |value, op| {
            let mut new = Vec::new();
            if f(value, &mut new)? {
                op.put(&new);
            }
            Ok::<(), Error>(())
        })?;
        Ok(appended.map_or(Lsn(0), |appended| appended.end))
    }

    /// Removes a cell.
    pub fn cell_remove(&self, key: u64) -> Result<Lsn> {
        self.system_put(&cell_key(key), None)
    }

    /// Sets a named value (at most 2600 bytes): where the layer above keeps the
    /// roots of its own structures.
    pub fn system_blob_put(&self, name: &str, value: &[u8]) -> Result<Lsn> {
        self.system_put(&blob_key(name), Some(value))
    }

    /// Reads a named value.
    pub fn system_blob_get(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.system_get(&blob_key(name))
    }
}
