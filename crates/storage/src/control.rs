//! The control file: the position where recovery starts.
//!
//! Two slots are written in turn, each with a sequence number and a checksum, and synced. The
//! newest valid slot is used. A torn write leaves the other slot intact.
//!
//! ```text
//!  slot (4096 bytes, at 0 and 4096):
//!  ┌ magic u64 ┬ version u32 ┬ crc32c u32 ┬ sequence u64 ┬ system id u64 ┬
//!  ┬ redo LSN u64 ┬ end of log u64 ┬ next generation u64 ┬ segment bytes u64 ┬
//!  ┬ state len u32 ┬ state … ┐
//! ```

use crate::error::{Result, StorageError};
use crate::wal::Lsn;
use steppe_vfs::File;

const SLOT_BYTES: usize = 4096;
const MAGIC: u64 = u64::from_le_bytes(*b"steppe\0c");
/// The format of the data directory that this program writes.
pub(crate) const VERSION: u32 = 10;
/// The oldest readable format: the data of an older directory is moved by dump and restore. Since
/// format 9 the keys of files and cells and the log have a database. Since format 10 the log's
/// records of removals name the newest deleter, and stored expressions name functions by OID.
const OLDEST_READ: u32 = 10;
const STATE: usize = 68;

/// The most bytes of the caller's state.
pub(crate) const MAX_STATE_LEN: usize = SLOT_BYTES - STATE;

/// The content of the control file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Control {
    /// Grows with each write.
    pub(crate) sequence: u64,
    /// The store's identity; the log's segments carry it too.
    pub(crate) system_id: u64,
    /// Redo starts at this position.
    pub(crate) redo: Lsn,
    /// The log was durable up to this position when the slot was written.
    pub(crate) durable: Lsn,
    /// Trees created after the checkpoint have at least this generation.
    pub(crate) next_generation: u64,
    /// Bytes of a log segment, fixed at creation.
    pub(crate) wal_segment_bytes: u64,
    /// State of the layer above, opaque to storage.
    pub(crate) state: Vec<u8>,
}

/// Writes `control` to the slot that its sequence number chooses, durably.
pub(crate) fn write(file: &dyn File, control: &Control) -> Result<()> {
    if control.state.len() > MAX_STATE_LEN {
        return Err(StorageError::Invalid("checkpoint state is too long".into()));
    }
    let mut slot = vec![0; SLOT_BYTES];
    slot[..8].copy_from_slice(&MAGIC.to_le_bytes());
    slot[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let words = [
        control.sequence,
        control.system_id,
        control.redo.0,
        control.durable.0,
        control.next_generation,
        control.wal_segment_bytes,
    ];
    for (index, word) in words.iter().enumerate() {
        let at = 16 + index * 8;
        slot[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
    slot[64..68].copy_from_slice(&(control.state.len() as u32).to_le_bytes());
    slot[STATE..STATE + control.state.len()].copy_from_slice(&control.state);
    let crc = slot_crc(&slot);
    slot[12..16].copy_from_slice(&crc.to_le_bytes());
    file.write_at(&slot, control.sequence % 2 * SLOT_BYTES as u64)?;
    file.sync_data()?;
    Ok(())
}

/// The newest valid slot; `None` if there is none.
pub(crate) fn read(file: &dyn File) -> Result<Option<Control>> {
    let mut newest: Option<Control> = None;
    for index in 0..2 {
        let mut slot = vec![0; SLOT_BYTES];
        file.read_at(&mut slot, index * SLOT_BYTES as u64)?;
        let control = decode(&slot, file)?;
        if let Some(control) = control
            && newest.as_ref().is_none_or(|n| n.sequence < control.sequence)
        {
            newest = Some(control);
        }
    }
    Ok(newest)
}

fn slot_crc(slot: &[u8]) -> u32 {
    let algorithm = crc_fast::CrcAlgorithm::Crc32Iscsi;
    let mut digest = crc_fast::Digest::new(algorithm);
    digest.update(&slot[..12]);
    digest.update(&slot[16..]);
    digest.finalize() as u32
}

/// `None` for a slot that was never completely written; an error for a slot of another version of
/// the program.
fn decode(slot: &[u8], file: &dyn File) -> Result<Option<Control>> {
    let word = |at: usize| u64::from_le_bytes(slot[at..at + 8].try_into().expect("8 bytes"));
    let half = |at: usize| u32::from_le_bytes(slot[at..at + 4].try_into().expect("4 bytes"));
    if word(0) != MAGIC || half(12) != slot_crc(slot) {
        return Ok(None);
    }
    if !(OLDEST_READ..=VERSION).contains(&half(8)) {
        return Err(StorageError::Incompatible { found: half(8), known: VERSION });
    }
    let state_len = half(64) as usize;
    let state = slot.get(STATE..STATE + state_len).ok_or_else(|| StorageError::Corrupt {
        file: file.path().to_path_buf(),
        page: None,
        what: "state reaches past the slot".into(),
    })?;
    Ok(Some(Control {
        sequence: word(16),
        system_id: word(24),
        redo: Lsn(word(32)),
        durable: Lsn(word(40)),
        next_generation: word(48),
        wal_segment_bytes: word(56),
        state: state.to_vec(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use steppe_vfs::{CrashVfs, OpenMode, Vfs};

    #[test]
    fn a_torn_slot_leaves_the_other() {
        let vfs = CrashVfs::new(1);
        let file = vfs.open(Path::new("control"), OpenMode::CREATE).unwrap();
        assert_eq!(read(&*file).unwrap(), None);
        let mut first = Control { sequence: 4, redo: Lsn(77), ..Control::default() };
        first.state = b"opaque".to_vec();
        write(&*file, &first).unwrap();
        let second = Control { sequence: 5, redo: Lsn(99), ..first.clone() };
        write(&*file, &second).unwrap();
        assert_eq!(read(&*file).unwrap(), Some(second));
        file.write_at(b"x", SLOT_BYTES as u64 + 300).unwrap();
        assert_eq!(read(&*file).unwrap(), Some(first));
    }

    #[test]
    fn another_version_is_told_apart_from_damage() {
        let vfs = CrashVfs::new(1);
        let file = vfs.open(Path::new("control"), OpenMode::CREATE).unwrap();
        write(&*file, &Control::default()).unwrap();
        let mut slot = vec![0; SLOT_BYTES];
        file.read_at(&mut slot, 0).unwrap();
        slot[8..12].copy_from_slice(&1u32.to_le_bytes());
        let crc = slot_crc(&slot);
        slot[12..16].copy_from_slice(&crc.to_le_bytes());
        file.write_at(&slot, 0).unwrap();
        let error = steppe_types::Error::from(read(&*file).unwrap_err());
        assert_eq!(error.message(), "database files are incompatible with server");
        assert!(error.fields().detail.as_ref().is_some_and(|detail| detail.contains("version 1,")));
    }
}
