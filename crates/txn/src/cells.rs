//! Small durable values beside transactions: sequences, and what the catalog counts.
//!
//! A cell is changed at once and for good: it is redone after a crash, and never
//! undone. Durable when the log is, up to the position returned. Each belongs to a database.

use steppe_storage::{LogHeader, Lsn};
use steppe_types::{Error, Result};

use crate::engine::Engine;
use crate::files::DatabaseId;

/// What [`Engine::cell_update`] runs: old value, buffer for the new one.
pub type CellUpdate<'a> = dyn FnMut(Option<&[u8]>, &mut Vec<u8>) -> Result<bool> + 'a;

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CellId {
    /// The database that it belongs to.
    pub database: DatabaseId,
    /// What the layer above knows it by.
    pub key: u64,
}

impl CellId {
    fn bytes(self) -> [u8; 13] {
        let mut bytes = [b'c'; 13];
        bytes[1..5].copy_from_slice(&self.database.0.to_be_bytes());
        bytes[5..].copy_from_slice(&self.key.to_be_bytes());
        bytes
    }
}

impl Engine {
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
    pub fn cell_put(&self, cell: CellId, value: &[u8]) -> Result<Lsn> {
        self.system_put(&cell.bytes(), Some(value))
    }

    /// Reads a cell.
    pub fn cell_get(&self, cell: CellId) -> Result<Option<Vec<u8>>> {
        self.system_get(&cell.bytes())
    }

    /// Changes a cell atomically: `f` sees the old value and fills in the new
    /// one; false leaves the cell as it is.
    pub fn cell_update(&self, cell: CellId, f: &mut CellUpdate<'_>) -> Result<Lsn> {
        let log = LogHeader::default();
        let appended = self.system.write(&cell.bytes(), log, |value, op| {
            let mut new = Vec::new();
            if f(value, &mut new)? {
                op.put(&new);
            }
            Ok::<(), Error>(())
        })?;
        Ok(appended.map_or(Lsn(0), |appended| appended.end))
    }

    /// Removes a cell.
    pub fn cell_remove(&self, cell: CellId) -> Result<Lsn> {
        self.system_put(&cell.bytes(), None)
    }
}
