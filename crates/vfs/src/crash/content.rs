//! The bytes of one simulated file: sparse, cheap to clone.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The unit that the disk writes atomically.
pub const SECTOR_SIZE: usize = 512;

const BLOCK_SIZE: usize = 8 * SECTOR_SIZE;

type Block = [u8; BLOCK_SIZE];

/// Bytes in copy-on-write blocks; an absent block is all zeros. Bytes at and
/// past `len` are always zero, so that extending a file shows zeros.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    len: u64,
    blocks: BTreeMap<u64, Arc<Block>>,
}

/// Calls `visit(block number, offset in block, range of the whole)` for each
/// block that `offset .. offset + len` touches.
fn for_each_block(offset: u64, len: usize, mut visit: impl FnMut(u64, usize, usize, usize)) {
    let mut done = 0;
    while done < len {
        let position = offset + done as u64;
        let within = usize::try_from(position % BLOCK_SIZE as u64).expect("below the block size");
        let count = (BLOCK_SIZE - within).min(len - done);
        visit(position / BLOCK_SIZE as u64, within, done, done + count);
        done += count;
    }
}

impl Content {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Reads up to the end of the file; returns the count.
    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> usize {
        let available = self.len.saturating_sub(offset);
        let count = usize::try_from(available).map_or(buffer.len(), |a| a.min(buffer.len()));
        self.read_padded(&mut buffer[..count], offset);
        count
    }

    /// Fills `buffer`, with zeros past the end of the file.
    pub(super) fn read_padded(&self, buffer: &mut [u8], offset: u64) {
        for_each_block(offset, buffer.len(), |block, within, from, to| {
            match self.blocks.get(&block) {
                Some(bytes) => {
                    buffer[from..to].copy_from_slice(&bytes[within..within + to - from]);
                }
                None => buffer[from..to].fill(0),
            }
        });
    }

    /// Writes, extending the file if need be.
    pub(super) fn write(&mut self, bytes: &[u8], offset: u64) {
        for_each_block(offset, bytes.len(), |block, within, from, to| {
            let part = &bytes[from..to];
            if !self.blocks.contains_key(&block) && part.iter().all(|&b| b == 0) {
                return;
            }
            let target = self.blocks.entry(block).or_insert_with(|| Arc::new([0; BLOCK_SIZE]));
            Arc::make_mut(target)[within..within + part.len()].copy_from_slice(part);
        });
        self.len = self.len.max(offset + bytes.len() as u64);
    }

    /// Cuts or extends.
    pub(super) fn set_len(&mut self, len: u64) {
        if len < self.len {
            let boundary = len / BLOCK_SIZE as u64;
            let mut cut_off = self.blocks.split_off(&boundary);
            let within = usize::try_from(len % BLOCK_SIZE as u64).expect("below the block size");
            if within > 0
                && let Some(mut last) = cut_off.remove(&boundary)
            {
                Arc::make_mut(&mut last)[within..].fill(0);
                self.blocks.insert(boundary, last);
            }
        }
        self.len = len;
    }

    /// Turns one bit over.
    pub(super) fn flip(&mut self, byte: u64, bit: u8) {
        let mut value = [0];
        self.read_padded(&mut value, byte);
        value[0] ^= 1 << (bit % 8);
        self.write(&value, byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_and_extending_shows_zeros() {
        let mut content = Content::default();
        content.write(&[7; 10_000], 100);
        assert_eq!(content.len(), 10_100);
        content.set_len(5_000);
        content.set_len(10_100);
        let mut bytes = vec![1; 20_000];
        assert_eq!(content.read(&mut bytes, 0), 10_100);
        assert!(bytes[..100].iter().all(|&b| b == 0));
        assert!(bytes[100..5_000].iter().all(|&b| b == 7));
        assert!(bytes[5_000..10_100].iter().all(|&b| b == 0));
        assert!(bytes[10_100..].iter().all(|&b| b == 1));
    }

    #[test]
    fn zeros_overwrite_data() {
        let mut content = Content::default();
        content.write(&[9; 600], 0);
        content.write(&[0; 600], 0);
        content.flip(599, 3);
        let mut bytes = [1; 600];
        content.read(&mut bytes, 0);
        assert!(bytes[..599].iter().all(|&b| b == 0));
        assert_eq!(bytes[599], 8);
    }

    #[test]
    fn clones_do_not_share_changes() {
        let mut a = Content::default();
        a.write(b"one", 0);
        let b = a.clone();
        a.write(b"two", 0);
        let mut bytes = [0; 3];
        b.read(&mut bytes, 0);
        assert_eq!(&bytes, b"one");
    }
}
