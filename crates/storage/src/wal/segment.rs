//! The files of the log.
//!
//! ```text
//!   segment n:  0        512           4096                     4096 + segment size
//!               │ header │ zeros         │ log bytes n·size … (n+1)·size │
//!   header:     0        8         12           16          24             32            40
//!               │ magic  │ version │ header len │ system id │ segment size │ start LSN   │ crc32c │
//! ```
//!
//! The header lies outside the stream. The stream is continuous: byte `lsn` is in segment `lsn /
//! size` at offset `4096 + lsn % size`, and records may cross segment ends. Files have PostgreSQL's
//! names (24 hexadecimal digits: timeline 1, then the segment number in two parts), so that
//! position and name convert as in pg_walfile_name.
//!
//! A segment gets its final name only when it is complete. It is first written in full with zeros
//! (or recycled from one that is no longer needed) and synced, header included, under another name.
//! So the segments from the oldest to [`Segments::capacity_end`] always exist without a gap, and
//! writes into them allocate no disk space.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use steppe_vfs::{AlignedBuffer, DIRECT_ALIGNMENT, ErrorKind, File, OpenMode, Vfs};

use super::{Lsn, WalError};
use crate::usage::{Io, timed};

/// The offset of the log's bytes in a segment file; also the unit of writes.
pub(super) const BLOCK_SIZE: u64 = 4096;
pub(super) const BLOCK_BYTES: usize = BLOCK_SIZE as usize;

// Whole blocks of the log may be written past the page cache.
const _: () = assert!(BLOCK_BYTES.is_multiple_of(DIRECT_ALIGNMENT));

const MAGIC: [u8; 8] = *b"steppeWL";
const VERSION: u32 = 2;
const HEADER_LEN: usize = 44;

/// The mode in which segments are opened. The log is written once, in whole blocks, and rarely
/// read: in the page cache it would only take the place of pages that are read, and cost a copy.
const WRITE: OpenMode = OpenMode::READ_WRITE.direct();

/// A segment under construction. It is never read, and the next one overwrites it.
const TEMPORARY_NAME: &str = "walsegtemp";

/// The properties that all segments of one log share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// A power of two.
    pub(super) segment_size: u64,
    pub(super) system_id: u64,
}

impl Layout {
    pub(super) fn segment_of(&self, lsn: Lsn) -> u64 {
        lsn.0 / self.segment_size
    }

    pub(super) fn start_of(&self, segment: u64) -> Lsn {
        Lsn(segment * self.segment_size)
    }

    pub(super) fn offset_of(&self, lsn: Lsn) -> u64 {
        BLOCK_SIZE + lsn.0 % self.segment_size
    }

    fn file_size(&self) -> u64 {
        BLOCK_SIZE + self.segment_size
    }

    fn segments_per_log_id(&self) -> u64 {
        (1 << 32) / self.segment_size
    }

    pub(super) fn file_name(&self, segment: u64) -> String {
        let per_id = self.segments_per_log_id();
        format!("{:08X}{:08X}{:08X}", 1, segment / per_id, segment % per_id)
    }

    fn parse_name(&self, name: &str) -> Option<u64> {
        if name.len() != 24 || !name.is_ascii() {
            return None;
        }
        let part = |range| u64::from_str_radix(&name[range], 16).ok();
        let segment = part(8..16)? * self.segments_per_log_id() + part(16..24)?;
        (self.file_name(segment) == name).then_some(segment)
    }

    fn encode_header(&self, segment: u64) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(HEADER_LEN as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.system_id.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.segment_size.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.start_of(segment).0.to_le_bytes());
        let crc = crc_fast::crc32_iscsi(&bytes[..40]);
        bytes[40..44].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Whether the file is a complete segment of this log with this number.
    fn is_valid(&self, file: &dyn File, segment: u64) -> Result<bool, WalError> {
        let mut header = [0; HEADER_LEN];
        let read = file.read_at(&mut header, 0)?;
        Ok(read == HEADER_LEN
            && header == self.encode_header(segment)
            && file.len()? == self.file_size())
    }
}

/// The segment files of a log in a directory.
pub(super) struct Segments {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    layout: Layout,
    /// Held while a segment is created, recycled or removed.
    allocation: Mutex<()>,
    /// Handles of the segments that exist and are valid.
    open: Mutex<BTreeMap<u64, Arc<dyn File>>>,
    /// The end of the last existing segment.
    capacity_end: AtomicU64,
}

impl Segments {
    /// Opens a directory for reading, without any change.
    pub(super) fn for_reading(vfs: Arc<dyn Vfs>, dir: &Path, layout: Layout) -> Segments {
        Segments {
            vfs,
            dir: dir.to_path_buf(),
            layout,
            allocation: Mutex::new(()),
            open: Mutex::new(BTreeMap::new()),
            capacity_end: AtomicU64::new(0),
        }
    }

    /// Opens a directory in order to write from `start` on. The log before `start` is made durable
    /// (a killed process may have left it only in the page cache); bytes past `start` can no longer
    /// be read as records.
    pub(super) fn for_writing(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        layout: Layout,
        start: Lsn,
    ) -> Result<Segments, WalError> {
        vfs.create_dir_all(dir)?;
        let segments = Segments::for_reading(vfs, dir, layout);
        let first = layout.segment_of(start);
        if layout.start_of(first) != start {
            // This finds a missing segment before anything is changed.
            segments.existing(first)?;
        }
        let next_to_make = segments.adopt(first)?;
        segments.capacity_end.store(layout.start_of(next_to_make).0, Ordering::Release);
        segments.scrub(start)?;
        if next_to_make == first {
            segments.make_next()?;
        }
        Ok(segments)
    }

    /// Adopts the valid segments around `first`, where writing starts: syncs the segments up to it,
    /// removes leftovers, and returns the number of the first missing segment from `first` on.
    fn adopt(&self, first: u64) -> Result<u64, WalError> {
        let mut next = first;
        let mut removed = false;
        let names = self.vfs.list_dir(&self.dir)?;
        for name in &names {
            let path = self.dir.join(name);
            let Some(segment) = self.layout.parse_name(name) else {
                if name == TEMPORARY_NAME {
                    self.vfs.remove(&path)?;
                    removed = true;
                }
                continue;
            };
            let file = self.vfs.open(&path, WRITE)?;
            let valid = self.layout.is_valid(&*file, segment)?;
            if valid && segment <= first {
                file.sync_data()?;
            }
            if valid && segment == next {
                next += 1;
            } else if segment >= first {
                // The file is not connected to the log, or a crash interrupted its recycling. (A
                // file before `first` is no longer written: it stays unchanged.)
                self.vfs.remove(&path)?;
                removed = true;
                continue;
            }
            self.open.lock().insert(segment, file);
        }
        if removed || next > first {
            self.vfs.sync_dir(&self.dir)?;
        }
        Ok(next)
    }

    /// Ensures that no bytes from `start` on can be read as a record. After a crash valid records
    /// may exist past the end of the log, cut off from it by a lost one; a new log that happens to
    /// reach exactly their start must not continue with them. A record contains its own position in
    /// its second word, so it is enough to wipe the chunks in which a word does so.
    fn scrub(&self, start: Lsn) -> Result<(), WalError> {
        const CHUNK: u64 = 1 << 18;
        let mut buffer = vec![0; usize::try_from(CHUNK).expect("a small constant")];
        let mut position = start.0;
        let capacity_end = self.capacity_end();
        let mut wiped = Vec::new();
        while position < capacity_end.0 {
            let segment = self.layout.segment_of(Lsn(position));
            let segment_end = self.layout.start_of(segment + 1).0;
            let len = (segment_end - position).min(CHUNK);
            let bytes = &mut buffer[..usize::try_from(len).expect("at most the chunk")];
            let file = self.existing(segment)?;
            let offset = self.layout.offset_of(Lsn(position));
            file.read_exact_at(bytes, offset)?;
            let names_itself = |(index, word): (usize, &[u8])| {
                let at = position + (index * 8) as u64;
                word == at.wrapping_sub(8).to_le_bytes()
            };
            if bytes.chunks_exact(8).enumerate().any(names_itself) {
                bytes.fill(0);
                file.write_at(bytes, offset)?;
                wiped.push(file);
            }
            position += len;
        }
        wiped.iter().try_for_each(|file| file.sync_data().map_err(WalError::Io))
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The end of the last existing segment.
    pub(super) fn capacity_end(&self) -> Lsn {
        Lsn(self.capacity_end.load(Ordering::Acquire))
    }

    pub(super) fn path_of(&self, lsn: Lsn) -> PathBuf {
        self.dir.join(self.layout.file_name(self.layout.segment_of(lsn)))
    }

    /// An error for damage of the log at `lsn`.
    pub(super) fn corrupt(&self, lsn: Lsn, reason: &str) -> WalError {
        WalError::Corrupt {
            file: self.path_of(lsn),
            offset: self.layout.offset_of(lsn),
            lsn,
            reason: reason.to_owned(),
        }
    }

    /// The file of a segment, if it exists and is valid.
    pub(super) fn file(&self, segment: u64) -> Result<Option<Arc<dyn File>>, WalError> {
        if let Some(file) = self.open.lock().get(&segment) {
            return Ok(Some(Arc::clone(file)));
        }
        let path = self.dir.join(self.layout.file_name(segment));
        let file = match self.vfs.open(&path, WRITE) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        if !self.layout.is_valid(&*file, segment)? {
            return Ok(None);
        }
        self.open.lock().insert(segment, Arc::clone(&file));
        Ok(Some(file))
    }

    /// The file of a segment that must exist.
    pub(super) fn existing(&self, segment: u64) -> Result<Arc<dyn File>, WalError> {
        self.file(segment)?.ok_or_else(|| {
            self.corrupt(self.layout.start_of(segment), "the segment is missing or invalid")
        })
    }

    /// Reads the stream from `lsn`; reads fewer bytes if the segments end before.
    pub(super) fn read(&self, lsn: Lsn, buffer: &mut [u8]) -> Result<usize, WalError> {
        let mut done = 0;
        while done < buffer.len() {
            let at = Lsn(lsn.0 + done as u64);
            let segment = self.layout.segment_of(at);
            let Some(file) = self.file(segment)? else { break };
            let left = self.layout.start_of(segment + 1).0 - at.0;
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            let count = left.min(buffer.len() - done);
            file.read_exact_at(&mut buffer[done..done + count], self.layout.offset_of(at))?;
            done += count;
        }
        Ok(done)
    }

    /// Whether a file with the segment's name exists, valid or not.
    pub(super) fn name_exists(&self, segment: u64) -> Result<bool, WalError> {
        Ok(self.vfs.exists(&self.dir.join(self.layout.file_name(segment)))?)
    }

    /// Whether a file with the segment's name exists and is too short.
    pub(super) fn is_cut_short(&self, segment: u64) -> Result<bool, WalError> {
        let path = self.dir.join(self.layout.file_name(segment));
        match self.vfs.open(&path, OpenMode::READ) {
            Ok(file) => Ok(file.len()? < self.layout.file_size()),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// As [`Segments::read`] within one segment, but without a check of its header, in order to
    /// search for records past damage.
    pub(super) fn read_unchecked(&self, lsn: Lsn, buffer: &mut [u8]) -> Result<usize, WalError> {
        let path = self.path_of(lsn);
        match self.vfs.open(&path, OpenMode::READ) {
            Ok(file) => Ok(file.read_at(buffer, self.layout.offset_of(lsn))?),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(0),
            Err(e) => Err(e.into()),
        }
    }

    /// Creates one more segment at the end. A full disk is [`WalError::NoSpace`] and leaves no file
    /// behind.
    pub(super) fn make_next(&self) -> Result<(), WalError> {
        let _allocation = self.allocation.lock();
        let segment = self.layout.segment_of(self.capacity_end());
        let temporary = self.dir.join(TEMPORARY_NAME);
        let made =
            self.write_new(&temporary, segment).and_then(|()| self.install(&temporary, segment));
        match made {
            Err(WalError::Io(e)) if e.is_out_of_space() => {
                // Frees the space that the attempt took. If even that fails, the next attempt
                // overwrites the file; the first error is the important one.
                let _ = self.vfs.remove(&temporary);
                Err(WalError::NoSpace(e.to_string().into()))
            }
            other => other,
        }
    }

    fn write_new(&self, path: &Path, segment: u64) -> Result<(), WalError> {
        timed(Io::LogSegment, || {
            let file = self.vfs.open(path, OpenMode::TRUNCATE.direct())?;
            self.write_header(&*file, segment)?;
            file.allocate(self.layout.file_size())?;
            Ok::<_, WalError>(file.sync_all()?)
        })?;
        crate::usage::log_segment_made(self.layout.file_size());
        Ok(())
    }

    /// Writes the whole block before the log's bytes.
    fn write_header(&self, file: &dyn File, segment: u64) -> Result<(), WalError> {
        let mut block = AlignedBuffer::new(BLOCK_BYTES);
        block.extend_from_slice(&self.layout.encode_header(segment));
        block.pad_to(BLOCK_BYTES);
        Ok(file.write_at(&block, 0)?)
    }

    /// Gives a complete file the name of the segment after the last one. The caller holds the
    /// allocation lock.
    fn install(&self, path: &Path, segment: u64) -> Result<(), WalError> {
        let name = self.dir.join(self.layout.file_name(segment));
        self.vfs.rename(path, &name)?;
        self.vfs.sync_dir(&self.dir)?;
        let file = self.vfs.open(&name, WRITE)?;
        self.open.lock().insert(segment, file);
        self.capacity_end.store(self.layout.start_of(segment + 1).0, Ordering::Release);
        Ok(())
    }

    /// Gives up the segments that end at or before `lsn`. While the log's capacity ends before
    /// `recycle_until` they become its next segments; the others are removed. Returns the number of
    /// segments given up.
    pub(super) fn remove_before(&self, lsn: Lsn, recycle_until: Lsn) -> Result<usize, WalError> {
        let _allocation = self.allocation.lock();
        let first_kept = self.layout.segment_of(lsn);
        let mut removed = 0;
        let names = self.vfs.list_dir(&self.dir)?;
        for segment in names.iter().filter_map(|name| self.layout.parse_name(name)) {
            if segment >= first_kept {
                continue;
            }
            self.open.lock().remove(&segment);
            let path = self.dir.join(self.layout.file_name(segment));
            removed += 1;
            if self.capacity_end() < recycle_until {
                self.recycle(&path)?;
            } else {
                self.vfs.remove(&path)?;
            }
        }
        if removed > 0 {
            self.vfs.sync_dir(&self.dir)?;
        }
        Ok(removed)
    }

    /// The header changes under the old name and is durable before the new name is. If a crash
    /// leaves a file whose header does not match its name, the file is not a segment.
    fn recycle(&self, path: &Path) -> Result<(), WalError> {
        let next = self.layout.segment_of(self.capacity_end());
        let file = self.vfs.open(path, WRITE)?;
        if file.len()? != self.layout.file_size() {
            return Ok(self.vfs.remove(path)?);
        }
        self.write_header(&*file, next)?;
        file.sync_data()?;
        self.install(path, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_vfs::CrashVfs;

    const LAYOUT: Layout = Layout { segment_size: 1 << 16, system_id: 77 };

    fn open(vfs: &CrashVfs, start: Lsn) -> Result<Segments, WalError> {
        Segments::for_writing(Arc::new(vfs.clone()), Path::new("pg_wal"), LAYOUT, start)
    }

    #[test]
    fn names_are_postgresqls() {
        let layout = Layout { segment_size: 16 << 20, system_id: 1 };
        assert_eq!(layout.file_name(0x1_23), "000000010000000100000023");
        assert_eq!(layout.parse_name("000000010000000100000023"), Some(0x1_23));
        assert_eq!(layout.parse_name("0000000100000001FFFFFFFF"), None);
        assert_eq!(layout.parse_name("000000020000000100000023"), None);
        assert_eq!(layout.parse_name("000000010000000100000é"), None);
        assert_eq!(layout.parse_name(TEMPORARY_NAME), None);
    }

    #[test]
    fn segments_are_made_read_over_and_recycled() {
        let vfs = CrashVfs::new(1);
        let start = LAYOUT.start_of(1);
        let segments = open(&vfs, start).expect("opens");
        segments.make_next().expect("makes");
        assert_eq!(segments.capacity_end(), LAYOUT.start_of(3));
        let first = segments.existing(1).expect("exists");
        first
            .write_at(b"left", LAYOUT.offset_of(Lsn(start.0 + LAYOUT.segment_size - 4)))
            .expect("writes");
        segments.existing(2).expect("exists").write_at(b"right", BLOCK_SIZE).expect("writes");
        let mut bytes = [0; 9];
        let at = Lsn(LAYOUT.start_of(2).0 - 4);
        assert_eq!(segments.read(at, &mut bytes).expect("reads"), 9);
        assert_eq!(&bytes, b"leftright");
        let near_end = Lsn(LAYOUT.start_of(3).0 - 5);
        assert_eq!(segments.read(near_end, &mut bytes).expect("reads short"), 5);

        let until = LAYOUT.start_of(4);
        assert_eq!(segments.remove_before(LAYOUT.start_of(2), until).expect("recycles"), 1);
        assert_eq!(segments.capacity_end(), until);
        assert!(segments.file(1).expect("asks").is_none());
        assert!(segments.file(3).expect("asks").is_some());
        assert_eq!(segments.remove_before(LAYOUT.start_of(3), until).expect("removes"), 1);
        assert_eq!(segments.capacity_end(), until);
    }

    #[test]
    fn a_full_disk_leaves_nothing_behind() {
        let vfs = CrashVfs::new(1);
        let segments = open(&vfs, LAYOUT.start_of(1)).expect("opens");
        vfs.set_free_space(Some(10_000));
        assert!(matches!(segments.make_next(), Err(WalError::NoSpace(_))));
        let names = vfs.list_dir(Path::new("pg_wal")).expect("lists");
        assert_eq!(names, [LAYOUT.file_name(1)]);
        vfs.set_free_space(Some(100_000));
        segments.make_next().expect("makes");
    }

    #[test]
    fn a_crash_while_segments_are_made_or_recycled_leaves_a_gapless_log() {
        for seed in 0..30 {
            for cut in 1..40 {
                let vfs = CrashVfs::new(seed);
                let before = open(&vfs, LAYOUT.start_of(1)).expect("opens");
                before.make_next().expect("makes");
                vfs.cut_power_at(cut);
                let _ = before.make_next();
                let _ = before.remove_before(LAYOUT.start_of(2), LAYOUT.start_of(5));
                let _ = before.make_next();
                let vfs = vfs.crash();
                let after = open(&vfs, Lsn(LAYOUT.start_of(2).0 + 8)).expect("opens");
                let last = LAYOUT.segment_of(after.capacity_end());
                assert!(last >= 3);
                for segment in 2..last {
                    after.existing(segment).expect("no gap");
                }
            }
        }
    }

    #[test]
    fn writing_in_the_middle_of_a_missing_segment_is_refused() {
        let vfs = CrashVfs::new(1);
        let result = open(&vfs, Lsn(LAYOUT.start_of(1).0 + 8));
        assert!(matches!(result, Err(WalError::Corrupt { .. })));
    }
}
